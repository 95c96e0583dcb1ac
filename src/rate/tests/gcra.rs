use super::*;

#[test]
fn a_bucket_of_limit() {
    assert_table(
        "10 1s GCRA",
        &[
            (0, 0, [0, 10, 10, 0, 0, 1]),
            (0, 10, [0, 10, 0, 0, 1_000, 1]),
            (0, 1, [1, 10, 0, 100, 1_000, 1]),
            (99, 1, [1, 10, 0, 1, 901, 1]),
            (100, 1, [0, 10, 0, 0, 1_000, 1]),
            (350, 2, [0, 10, 0, 0, 950, 1]),
            (350, 11, [1, 10, 0, -1, 950, 1]),
            (350, 10, [1, 10, 0, 950, 950, 1]),
            // Back: stands still at 350 ms.
            (100, 1, [1, 10, 0, 300, 1_200, 1]),
            (1_300, 0, [0, 10, 10, 0, 0, 1]),
        ],
    );
}

#[test]
fn a_burst_of_its_own() {
    assert_table(
        "60 1m BURST 3 GCRA",
        &[
            (0, 3, [0, 3, 0, 0, 3_000, 1]),
            (0, 4, [1, 3, 0, -1, 3_000, 1]),
            (500, 1, [1, 3, 0, 500, 2_500, 1]),
            (1_000, 1, [0, 3, 0, 0, 3_000, 1]),
            (2_000, 2, [1, 3, 1, 1_000, 2_000, 1]),
        ],
    );
    // A bucket larger than the limit.
    assert_table("1 1s BURST 5 GCRA", &[(0, 5, [0, 5, 0, 0, 5_000, 1]), (0, 2, [1, 5, 0, 2_000, 5_000, 1])]);
}

#[test]
fn refill_keeps_its_fractions() {
    // 3 units in 10 ms: one every 3.333 ms. A thousand calls later not a nanosecond is lost.
    let mut limiter = Limiter::default();
    let mut micros = 0;
    limiter.run("3 10ms GCRA COST 3", Action::Check, micros).unwrap();
    for call in 1..=3_000 {
        micros = (call * 10_000_i64 + 2) / 3;
        let early = limiter.run("3 10ms GCRA", Action::Check, micros - 1).unwrap();
        assert_eq!((early[0], early[3]), (1, 1), "call {call}");
        let reply = limiter.run("3 10ms GCRA", Action::Check, micros).unwrap();
        assert_eq!((reply[0], reply[2]), (0, 0), "call {call}");
    }
    assert_eq!(micros, 10_000_000);
    assert_eq!(limiter.line(), "rate 1 gcra10ms 000007ps n5c");
}

#[test]
fn rates_far_below_and_above_the_clock() {
    assert_table(
        "1000000000 1ms GCRA",
        &[
            (0, 1_000_000_000, [0, 1_000_000_000, 0, 0, 1, 1]),
            (0, 1, [1, 1_000_000_000, 0, 1, 1, 1]),
            (1, 1, [0, 1_000_000_000, 999_999_999, 0, 1, 1]),
        ],
    );
    assert_table(
        "1 366d GCRA",
        &[(0, 1, [0, 1, 0, 0, 31_622_400_000, 1]), (1, 1, [1, 1, 0, 31_622_399_999, 31_622_399_999, 1])],
    );
}

#[test]
fn the_longest_times() {
    let reset = 31_622_400_000 * 100_000_000;
    assert_table("1 366d BURST 100000000 GCRA", &[(0, 100_000_000, [0, 100_000_000, 0, 0, reset, 1])]);
    // Beyond what a reply can hold; a call that costs nothing passes all the same.
    let mut limiter = Limiter::default();
    limiter.run("1000000000 366d GCRA COST 1000000000", Action::Check, 0).unwrap();
    for (cost, expected) in [(0, [0, 1, 0, 0, i64::MAX, 1]), (1, [1, 1, 0, i64::MAX, i64::MAX, 1])] {
        for mode in [Action::Check, Action::Peek] {
            assert_eq!(limiter.run(&format!("1 366d GCRA COST {cost}"), mode, 0).unwrap(), expected, "{cost}");
        }
    }
    let mut taken = Limiter::default();
    let reply = taken.run("1 366d BURST 1000000000 GCRA COST 1000000000", Action::Check, 0).unwrap();
    assert_eq!((reply, taken.log.expiry()), ([0, 1_000_000_000, 0, 0, i64::MAX, 1], Some(i64::MAX)));
}

#[test]
fn several_rules_take_from_all_or_none() {
    assert_table(
        "2/1s 3/10s GCRA",
        &[
            (0, 2, [0, 2, 0, 0, 1_000, 1]),
            (0, 1, [1, 2, 0, 500, 1_000, 1]),
            (1_000, 1, [0, 3, 0, 0, 9_000, 2]),
            // A third of 10 s refills a unit, of which 1 s is over.
            (1_000, 1, [1, 3, 0, 2_334, 9_000, 2]),
            (3_333, 1, [1, 3, 0, 1, 6_667, 2]),
            (3_334, 1, [0, 3, 0, 0, 10_000, 2]),
        ],
    );
}

#[test]
fn the_expiry_stays_for_an_eighth_of_the_window() {
    let mut limiter = Limiter::default();
    let mut expiry = |words: &str, action: Action, ms: i64| {
        limiter.run(words, action, ms * 1_000).unwrap();
        limiter.log.expiry()
    };
    // 100 ms for a unit, so that the bucket is full again at 100 ms, and the key lasts for 10 s more.
    assert_eq!(expiry("800 80s GCRA", Action::Check, 0), Some(10_100));
    assert_eq!(expiry("800 80s GCRA COST 50", Action::Check, 0), Some(10_100));
    assert_eq!(expiry("800 80s GCRA COST 50", Action::Check, 100), Some(10_100));
    assert_eq!(expiry("800 80s GCRA", Action::Check, 5_000), Some(20_200));
    assert_eq!(expiry("800 80s GCRA", Action::Check, 10_000), Some(20_200));
    // What a refund leaves is full at 10,200 ms, ten seconds before the key would expire, and no earlier.
    assert_eq!(expiry("800 80s GCRA COST 1", Action::Refund, 10_000), Some(20_200));
    assert_eq!(expiry("800 80s GCRA COST 1", Action::Refund, 10_000), Some(20_100));
    // At least a second.
    assert_eq!(expiry("10 1s GCRA", Action::Check, 30_000), Some(31_100));
}

#[test]
fn the_longest_text_and_the_latest_time() {
    let latest = 9_007_199_254_740;
    assert_table(
        "1000000000 366d GCRA",
        &[
            (latest, 1_000_000_000, [0, 1_000_000_000, 0, 0, 31_622_400_000, 1]),
            (latest, 1, [1, 1_000_000_000, 0, 32, 31_622_400_000, 1]),
        ],
    );
    let mut limiter = Limiter::default();
    limiter.run("1000000000 366d GCRA COST 1000000000", Action::Check, latest * 1_000).unwrap();
    assert_eq!(limiter.line().len(), "rate 1 gcra366d 376ddu8ec 000000000000000".len());
    assert_eq!(limiter.log.expiry(), Some(latest + 31_622_400_000 / 8 * 9));
}
