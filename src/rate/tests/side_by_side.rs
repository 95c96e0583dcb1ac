//! Algorithms and windows that share a string: each counts as if it were alone.

use proptest::prelude::*;

use super::*;

#[test]
fn in_turn_each_lets_through_what_it_would_alone() {
    let mut limiter = Limiter::default();
    let mut passed = [0, 0];
    for call in 0..200 {
        let algorithm = ["FIXED", "GCRA"][call % 2];
        let reply = limiter.run(&format!("5/1m {algorithm}"), Action::Check, 0).unwrap();
        passed[call % 2] += 1 - reply[0];
    }
    assert_eq!(passed, [5, 5]);
}

/// Two versions of a rule, in turn, while a deploy rolls out.
#[test]
fn a_rolling_deploy() {
    for (old, new) in [("5/1m FIXED", "5/1m GCRA"), ("10/1s GCRA", "20/2s GCRA"), ("9/1m COUNTER", "9/1m FIXED")] {
        let mut both = Limiter::default();
        let mut alone = [Limiter::default(), Limiter::default()];
        for call in 0..1_000 {
            let (words, micros) = ([old, new][call % 2], call as i64 * 137_000);
            let reply = both.run(words, Action::Check, micros).unwrap();
            assert_eq!(reply, alone[call % 2].run(words, Action::Check, micros).unwrap(), "{words} at {micros}");
        }
    }
}

#[test]
fn what_ended_is_forgotten_when_there_is_much_of_it() {
    let mut limiter = Limiter::default();
    for window in 1..=1_000_i64 {
        for algorithm in ["FIXED", "GCRA", "COUNTER"] {
            let words = format!("9 {window}ms {algorithm}");
            assert_eq!(limiter.run(&words, Action::Check, window * 10_000_000).unwrap()[0], 0);
        }
        assert!(limiter.line().len() < 400, "{}", limiter.line());
    }
}

#[test]
fn the_expiry_is_that_of_the_last_of_them() {
    let mut limiter = Limiter::default();
    let mut expiry = |words: &str, ms: i64| {
        limiter.run(words, Action::Check, ms * 1_000).unwrap();
        limiter.log.expiry()
    };
    assert_eq!(expiry("9 1s FIXED", 0), Some(1_000));
    // A bucket is full after 5 s, and the key lasts for an eighth of its window longer.
    assert_eq!(expiry("100 10s GCRA COST 50", 100), Some(6_350));
    // The bucket does not say how fast it refills, but the key's expiry does.
    assert_eq!(expiry("9 1s FIXED", 200), Some(6_350));
    assert_eq!(expiry("9 1s FIXED", 5_900), Some(6_900));
    assert_eq!(expiry("9 1s FIXED", 6_800), Some(6_900));
    assert_eq!(expiry("9 1m COUNTER", 6_800), Some(120_000));
    assert_eq!(expiry("9 1s FIXED COST 99 PENALTY 5m", 6_800), Some(306_800));
}

proptest! {
    #[test]
    fn each_counts_as_if_it_were_alone(calls in proptest::collection::vec(
        (proptest::sample::select(vec!["FIXED", "GCRA", "COUNTER"]), 1_u64..4, 0_i64..4, 1_u64..4), 1..60,
    )) {
        let mut both = Limiter::default();
        let mut alone = std::collections::BTreeMap::new();
        let (mut now, mut matters_until_ms) = (0, 0);
        for (algorithm, window, step, cost) in calls {
            now += step * 1_000;
            let words = format!("5 {window}ms {algorithm} COST {cost}");
            let own: &mut Limiter = alone.entry((algorithm, window)).or_default();
            let reply = both.run(&words, Action::Check, now).unwrap();
            prop_assert_eq!(reply, own.run(&words, Action::Check, now).unwrap(), "{} at {}", words, now);
            // The reply rounds up, and a key lasts until the end of the millisecond in which it expires.
            matters_until_ms = matters_until_ms.max(now / 1_000 + reply[4] - 1);
            prop_assert!(both.log.expiry() >= Some(matters_until_ms), "{:?} {}", both.log.expiry(), matters_until_ms);
        }
    }
}
