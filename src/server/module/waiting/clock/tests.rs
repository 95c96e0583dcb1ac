use super::*;

#[test]
fn every_key_is_checked_often_enough_and_checks_are_spread() {
    for (keys, every) in [(1, 100), (2_000, 100), (6_000, 300), (10_000, 500), (1_000_000, 500)] {
        for ticks in [0, 7, 10, 123_456_789] {
            let mut in_slot = std::collections::BTreeMap::<u64, u64>::new();
            for number in 0..keys {
                let at = regular_check(ticks, number, keys);
                assert!(ticks < at && at <= ticks + every, "{at} after {ticks}");
                assert_eq!(regular_check(at, number, keys), at + every);
                *in_slot.entry(at).or_default() += 1;
            }
            let even = keys.div_ceil(TOGETHER).div_ceil(every / BUCKET_MS) * TOGETHER;
            assert!(in_slot.values().all(|count| *count <= even), "{keys} keys: {in_slot:?}");
        }
    }
}
