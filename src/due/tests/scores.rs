//! What scores say, and that they say it exactly.

use proptest::prelude::*;

use crate::due::{Claim, ItemState, LeaseEnd, Serials, MAX_TIME_MS};

const END: f64 = 17_592_186_044_416.0;
/// 2^53.
const LOWEST: f64 = -9_007_199_254_740_992.0;
const EPOCH: i64 = 1_577_836_800_000;
/// The first time after the latest end of a lease: 2^31 ms before 2^41 ms after the epoch.
const LEASES_END: i64 = EPOCH + (1 << 41) - (1 << 31);

fn claim(until: i64, serial: i64, attempt: i64, again: bool) -> ItemState {
    ItemState::Claimed(Claim { until, serial, attempt, again })
}

#[test]
fn states() {
    let cases = [
        (0.0, ItemState::Waiting(0)),
        (-0.0, ItemState::Waiting(0)),
        (0.999, ItemState::Waiting(0)),
        (1_767_225_600_000.0, ItemState::Waiting(1_767_225_600_000)),
        (1_767_225_600_000.75, ItemState::Waiting(1_767_225_600_000)),
        (END - 1.0, ItemState::Waiting(MAX_TIME_MS)),
        (END - 0.001, ItemState::Waiting(MAX_TIME_MS)),
        (END, ItemState::Invalid),
        (f64::INFINITY, ItemState::Invalid),
        (f64::NEG_INFINITY, ItemState::Invalid),
        (f64::NAN, ItemState::Invalid),
        (f64::MAX, ItemState::Invalid),
        (f64::MIN, ItemState::Invalid),
        (-f64::MIN_POSITIVE, ItemState::Invalid),
        (-0.3, ItemState::Invalid),
        (-5.0, ItemState::Invalid),
        // Negated times, from 1970 to 2248.
        (-1_000.0, ItemState::Invalid),
        (-1_767_225_600_000.0, ItemState::Invalid),
        (-8_796_093_022_207.0, ItemState::Invalid),
        // Below all claims, and attempt 0.
        (LOWEST - 2.0, ItemState::Invalid),
        (LOWEST, ItemState::Invalid),
        (LOWEST + 1.0, ItemState::Invalid),
        (LOWEST + 2.0, claim(EPOCH, 0, 1, false)),
        (LOWEST + 3.0, claim(EPOCH, 0, 1, true)),
        (LOWEST + 62.0, claim(EPOCH, 0, 31, false)),
        (LOWEST + 64.0, ItemState::Invalid),
        (LOWEST + 66.0, claim(EPOCH, 1, 1, false)),
        (LOWEST + 4_095.0, claim(EPOCH, 63, 31, true)),
        (LOWEST + 4_098.0, claim(EPOCH + 1, 0, 1, false)),
        // Where doubles have fractions.
        (LOWEST / 4.0 + 2.0, claim(EPOCH + (3 << 39), 0, 1, false)),
        (LOWEST / 4.0 + 2.25, ItemState::Invalid),
        (-8_796_093_022_209.0, claim(LEASES_END - 1, 63, 31, true)),
        (-8_796_093_022_208.0, ItemState::Invalid),
    ];
    for (score, state) in cases {
        assert_eq!(ItemState::of(score), state, "{score}");
    }
}

#[test]
fn a_lease_ends_at_a_time_that_a_score_can_hold() {
    for ms in [EPOCH, 1_767_225_600_000, LEASES_END - 1] {
        assert!(LeaseEnd::new(ms).is_ok(), "{ms}");
    }
    for ms in [i64::MIN, -1, 0, 31_000, EPOCH - 1, LEASES_END, MAX_TIME_MS, i64::MAX] {
        assert!(LeaseEnd::new(ms).is_err(), "{ms}");
    }
}

#[test]
fn attempts_stay_at_the_most_that_fits_and_tokens_still_differ() {
    let serials = Serials::starting_from(u64::MAX - 5);
    let until = LeaseEnd::new(EPOCH + 10).unwrap();
    let mut claim = Claim::after(None, until, &serials);
    let mut tokens = std::collections::BTreeSet::from([claim.token()]);
    for _ in 0..63 {
        let next = Claim::after(Some(claim), until, &serials);
        assert!(tokens.insert(next.token()), "{next:?} after {claim:?}");
        claim = next;
    }
    assert_eq!((claim.until, claim.attempt), (EPOCH + 10, 31));
}

/// The mark may be set while a client holds the item, and is gone with the next claim.
#[test]
fn the_mark_is_no_part_of_the_token() {
    let (serials, until) = (Serials::starting_from(0), LeaseEnd::new(EPOCH).unwrap());
    let claim = Claim::after(None, until, &serials);
    let marked = Claim { again: true, ..claim };
    assert_eq!(claim.token(), marked.token());
    assert_ne!(claim.score(), marked.score());
    assert!(marked.moved(until, &serials).again);
    assert!(!Claim::after(Some(marked), until, &serials).again);
}

fn claims() -> impl Strategy<Value = Claim> {
    let fields = (EPOCH..LEASES_END, 0_i64..64, 1_i64..32, any::<bool>());
    fields.prop_map(|(until, serial, attempt, again)| Claim { until, serial, attempt, again })
}

proptest! {
    /// Also through the text that replicas and the AOF get.
    #[test]
    fn a_claim_reads_back(claim in claims()) {
        prop_assert!(claim.score() < 0.0 && claim.score().fract() == 0.0);
        prop_assert_eq!(ItemState::of(claim.score()), ItemState::Claimed(claim));
        let text = crate::number::float_text(claim.score());
        prop_assert_eq!(text.parse::<f64>().unwrap(), claim.score());
        prop_assert!((1..1 << 52).contains(&claim.token()));
        let parts = (claim.until - EPOCH) << 11 | claim.serial << 5 | claim.attempt;
        prop_assert_eq!(claim.token(), parts);
    }

    #[test]
    fn claims_are_in_the_order_of_their_ends(a in claims(), b in claims()) {
        prop_assume!(a.until < b.until);
        prop_assert!(a.score() < b.score());
    }
}
