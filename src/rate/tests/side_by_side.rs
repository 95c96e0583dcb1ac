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
        limiter.expire_at_ms
    };
    assert_eq!(expiry("9 1s FIXED", 0), Some(1_000));
    assert_eq!(expiry("100 10s GCRA COST 50", 100), Some(5_100));
    // The bucket does not say how fast it refills, but the key's expiry does.
    assert_eq!(expiry("9 1s FIXED", 200), Some(5_100));
    assert_eq!(expiry("9 1s FIXED", 4_900), Some(5_900));
    assert_eq!(expiry("9 1s FIXED", 5_800), Some(5_900));
    assert_eq!(expiry("9 1m COUNTER", 5_800), Some(120_000));
    assert_eq!(expiry("9 1s FIXED COST 99 PENALTY 5m", 5_800), Some(305_800));
}

proptest! {
    #[test]
    fn each_counts_as_if_it_were_alone(calls in proptest::collection::vec(
        (proptest::sample::select(vec!["FIXED", "GCRA", "COUNTER"]), 1_u64..4, 0_i64..4, 1_u64..4), 1..60,
    )) {
        let mut both = Limiter::default();
        let mut alone = std::collections::BTreeMap::new();
        let mut now = 0;
        for (algorithm, window, step, cost) in calls {
            now += step * 1_000;
            let words = format!("5 {window}ms {algorithm} COST {cost}");
            let own: &mut Limiter = alone.entry((algorithm, window)).or_default();
            let reply = both.run(&words, Action::Check, now).unwrap();
            prop_assert_eq!(reply, own.run(&words, Action::Check, now).unwrap(), "{} at {}", words, now);
            let latest = alone.values().filter_map(|limiter| limiter.expire_at_ms).max();
            prop_assert!(both.expire_at_ms >= latest, "{:?} is before {:?}", both.expire_at_ms, latest);
        }
    }
}
