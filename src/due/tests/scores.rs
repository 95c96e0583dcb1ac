//! What scores say, and that they say it exactly.

use proptest::prelude::*;

use crate::due::{Hold, State, MAX_TIME_MS};

const END: f64 = 17_592_186_044_416.0;

fn claim(until: i64, attempt: i64) -> State {
    State::Claimed(Hold { until, attempt })
}

#[test]
fn states() {
    let cases = [
        (0.0, State::Waiting(0)),
        (-0.0, State::Waiting(0)),
        (0.999, State::Waiting(0)),
        (1_767_225_600_000.0, State::Waiting(1_767_225_600_000)),
        (1_767_225_600_000.75, State::Waiting(1_767_225_600_000)),
        (END - 1.0, State::Waiting(MAX_TIME_MS)),
        (END - 0.001, State::Waiting(MAX_TIME_MS)),
        (END, State::Invalid),
        (f64::INFINITY, State::Invalid),
        (f64::NEG_INFINITY, State::Invalid),
        (f64::MAX, State::Invalid),
        (-END - 0.5, State::Invalid),
        (-END, State::Invalid),
        (-5.0, State::Invalid),
        (-0.3, State::Invalid),
        (-f64::MIN_POSITIVE, State::Invalid),
        (-END + 1.0 / 512.0, claim(0, 1)),
        (-END + 1_000.0 + 511.0 / 512.0, claim(1_000, 511)),
        (-END + 1_000.0 + 1.0 / 1024.0, State::Invalid),
        (-1.0 / 512.0, claim(MAX_TIME_MS, 511)),
    ];
    for (score, state) in cases {
        assert_eq!(State::of(score), state, "{score}");
    }
}

#[test]
fn attempts_stay_at_the_most_that_fits() {
    let mut hold = Hold::after(None, 10);
    for _ in 0..600 {
        let next = Hold::after(Some(hold), 10);
        assert!(next.token() > hold.token(), "{next:?} after {hold:?}");
        hold = next;
    }
    assert_eq!(hold, Hold { until: 610, attempt: 511 });
}

proptest! {
    /// Also through the text that replicas and the AOF get.
    #[test]
    fn a_claim_reads_back(until in 0..=MAX_TIME_MS, attempt in 1_i64..512) {
        let hold = Hold { until, attempt };
        prop_assert!(hold.score() < 0.0);
        prop_assert_eq!(State::of(hold.score()), State::Claimed(hold));
        let text = crate::number::float_text(hold.score());
        prop_assert_eq!(text.parse::<f64>().unwrap(), hold.score());
        prop_assert_eq!((hold.token() / 512, hold.token() % 512), (until, attempt));
        prop_assert!(hold.token() < 1 << 53);
    }

    #[test]
    fn claims_are_in_the_order_of_their_ends(a in 0..=MAX_TIME_MS, b in 0..=MAX_TIME_MS, x in 1_i64..512, y in 1_i64..512) {
        prop_assume!(a < b);
        let (first, second) = (Hold { until: a, attempt: x }, Hold { until: b, attempt: y });
        prop_assert!(first.score() < second.score());
    }
}
