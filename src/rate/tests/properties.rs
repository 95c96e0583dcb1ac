//! Random calls against the naive models, and what must hold whatever the calls were.

use proptest::prelude::*;

use super::model::{Model, ModelCall, ModelRule, LONGEST_MS};
use super::*;

pub(super) const ALGORITHMS: [&str; 4] = ["SLIDING", "FIXED", "COUNTER", "GCRA"];

fn rule_set() -> impl Strategy<Value = Vec<ModelRule>> {
    let windows = proptest::sample::subsequence(vec![1_u64, 2, 3, 5, 7, 13, LONGEST_MS], 1..=3).prop_shuffle();
    let numbers = proptest::collection::vec((1_u64..9, proptest::option::of(1_u64..9)), 3);
    (windows, numbers).prop_map(|(windows, numbers)| {
        let rules = windows.into_iter().zip(numbers);
        rules.map(|(window_ms, (limit, burst))| ModelRule { limit, window_ms, burst }).collect()
    })
}

/// Steps of the clock in microseconds, back as well.
fn step() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => Just(0_i64),
        6 => 0_i64..3_000,
        2 => (0_i64..8).prop_map(|ms| ms * 1_000),
        1 => 0_i64..30_000,
        3 => -9_000_i64..0,
    ]
}

fn cost() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0_u64), 8 => Just(1_u64), 4 => 2_u64..5, 1 => 5_u64..12]
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    action: Action,
    force: bool,
    penalty_ms: Option<u64>,
}

fn kind() -> impl Strategy<Value = Kind> {
    let kind = |action, force, penalty_ms| Kind { action, force, penalty_ms };
    prop_oneof![
        8 => Just(kind(Action::Check, false, None)),
        3 => Just(kind(Action::Peek, false, None)),
        3 => Just(kind(Action::Refund, false, None)),
        2 => Just(kind(Action::Check, true, None)),
        1 => (1_u64..15).prop_map(move |ms| kind(Action::Check, false, Some(ms))),
        1 => (1_u64..15).prop_map(move |ms| kind(Action::Check, true, Some(ms))),
    ]
}

pub(super) type Steps = Vec<(usize, i64, u64, Kind)>;

pub(super) fn history() -> impl Strategy<Value = (Vec<Vec<ModelRule>>, Steps)> {
    let sets = proptest::collection::vec(rule_set(), 1..4);
    (sets, proptest::collection::vec((0_usize..4, step(), cost(), kind()), 1..40))
}

/// Strings know milliseconds. A log forgets what no window so far could see, so that its first call has the longest.
pub(super) fn calls((sets, steps): &(Vec<Vec<ModelRule>>, Steps), algorithm: &str) -> Vec<ModelCall> {
    let sliding = algorithm == "SLIDING";
    let mut now = 1_000_000;
    let first = ModelCall {
        rules: vec![ModelRule { limit: 9, window_ms: LONGEST_MS, burst: None }],
        cost: 1,
        action: Action::Check,
        force: false,
        penalty_ms: None,
        now,
    };
    let rest = steps.iter().map(|(set, step, cost, kind)| {
        now += if sliding { *step } else { step / 1_000 * 1_000 };
        let mut rules = sets[set % sets.len()].clone();
        rules.iter_mut().for_each(|rule| rule.burst = rule.burst.filter(|_| algorithm == "GCRA"));
        let Kind { action, force, penalty_ms } = *kind;
        ModelCall { rules, cost: *cost, action, force, penalty_ms: penalty_ms.filter(|_| !sliding), now }
    });
    std::iter::once(first).chain(rest).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn as_the_naive_model_says(history in history()) {
        for algorithm in ALGORITHMS {
            let mut limiter = Limiter::default();
            let mut model = Model::new(algorithm);
            for call in calls(&history, algorithm) {
                let words = call.words(algorithm);
                let before = limiter.clone();
                let reply = limiter.run(&words, call.action, call.now).unwrap();
                prop_assert_eq!(reply, model.run(&call), "{:?} {} at {}", call.action, words, call.now);
                let writes = call.force || call.penalty_ms.is_some() || call.action == Action::Refund;
                if !writes && (reply[0] == 1 || call.action == Action::Peek || call.cost == 0) {
                    prop_assert_eq!(&limiter, &before, "{} wrote", words);
                }
            }
        }
    }

    #[test]
    fn retry_is_the_least_wait(history in history()) {
        for algorithm in ALGORITHMS {
            let mut limiter = Limiter::default();
            for call in calls(&history, algorithm) {
                let words = call.words(algorithm);
                let [limited, _, _, retry, ..] = limiter.run(&words, call.action, call.now).unwrap();
                if call.action == Action::Refund {
                    continue;
                }
                let peek = ModelCall { force: false, penalty_ms: None, ..call.clone() }.words(algorithm);
                let mut limited_after = |ms: i64| limiter.run(&peek, Action::Peek, call.now + ms * 1_000).unwrap()[0];
                match (limited, retry) {
                    (0, retry) => prop_assert_eq!(retry, 0),
                    (_, -1) => prop_assert_eq!(limited_after(1_000_000), 1, "{}", words),
                    (_, retry) => {
                        prop_assert!(retry > 0);
                        prop_assert_eq!(limited_after(retry), 0, "{} at {}", words, call.now);
                        prop_assert_eq!(limited_after(retry - 1), 1, "{} at {}", words, call.now);
                    }
                }
            }
        }
    }

    /// A key that goes when its expiry says so takes nothing along that still matters.
    #[test]
    fn a_key_expires_no_earlier_than_it_is_replenished(history in history()) {
        for algorithm in ALGORITHMS {
            let mut limiter = Limiter::default();
            let mut latest = 0;
            let mut calls = calls(&history, algorithm);
            // One set of rules: a lower limit would take longer for what a higher one let through.
            let rules = calls.last().unwrap().rules.clone();
            calls.iter_mut().for_each(|call| call.rules = rules.clone());
            for call in calls {
                // The server's clock does not go back here: it is the one that keys expire by.
                latest = call.now.max(latest);
                let request = parse_for(&call.words(algorithm), call.action).unwrap();
                limiter.run_by(&request, Clock::new(latest, Some(latest))).unwrap();
                let Some(expire_at_ms) = limiter.log.expiry() else { continue };
                let gone = (expire_at_ms + 1) * 1_000;
                for rule in &call.rules {
                    let peek = ModelCall {
                        rules: vec![*rule], cost: 1, force: false, penalty_ms: None, ..call.clone()
                    };
                    let words = peek.words(algorithm);
                    let fresh = Limiter::default().run(&words, Action::Peek, gone).unwrap();
                    let kept = limiter.run(&words, Action::Peek, gone).unwrap();
                    prop_assert_eq!(kept, fresh, "{}", words);
                }
            }
        }
    }

    /// A bucket's key, and a log's, may stay for longer than it is needed. Nobody can tell.
    #[test]
    fn a_limiter_that_is_replenished_answers_as_a_new_one(history in history(), cost in 0_u64..9, later in 0_i64..9) {
        for algorithm in ALGORITHMS {
            let mut limiter = Limiter::default();
            let mut latest = 0;
            let mut calls = calls(&history, algorithm);
            let rules = calls.last().unwrap().rules.clone();
            calls.iter_mut().for_each(|call| call.rules = rules.clone());
            for call in &calls {
                latest = call.now.max(latest);
                limiter.run(&call.words(algorithm), call.action, latest).unwrap();
            }
            let call = calls.last().unwrap();
            let of = |rules: &[ModelRule], cost| ModelCall {
                rules: rules.to_vec(), cost, force: false, penalty_ms: None, ..call.clone()
            }.words(algorithm);
            let reset_of = |rule: &ModelRule| limiter.run(&of(&[*rule], 0), Action::Peek, latest).unwrap()[4];
            let replenished = latest + (rules.iter().map(reset_of).max().unwrap() + later) * 1_000;
            let mut fresh = Limiter::default();
            for step in 0..4 {
                let (words, now) = (of(&rules, cost), replenished + step * 1_000);
                let expected = fresh.run(&words, Action::Check, now).unwrap();
                prop_assert_eq!(limiter.run(&words, Action::Check, now).unwrap(), expected, "{} at {}", words, now);
            }
        }
    }

    #[test]
    fn a_check_and_a_refund_are_a_check_of_the_difference(
        history in history(), cost in 1_u64..6, back in 0_u64..6,
    ) {
        let back = back.min(cost);
        for algorithm in ALGORITHMS {
            let mut limiter = Limiter::default();
            let calls = calls(&history, algorithm);
            for call in &calls {
                limiter.run(&call.words(algorithm), call.action, call.now).unwrap();
            }
            let last = calls.last().unwrap();
            let of = |cost| ModelCall { cost, force: false, penalty_ms: None, ..last.clone() }.words(algorithm);
            let mut other = limiter.clone();
            if limiter.run(&of(cost), Action::Check, last.now).unwrap()[0] == 1 {
                continue;
            }
            let after = limiter.run(&of(back), Action::Refund, last.now).unwrap();
            other.run(&of(cost - back), Action::Check, last.now).unwrap();
            prop_assert_eq!(after, other.run(&of(0), Action::Peek, last.now).unwrap(), "{}", of(cost));
            for (later, cost) in [(0, 1), (0, 3), (1_000, 1), (2_000, 2), (7_000, 4), (19_000, 1), (40_000, 1)] {
                let peek = |limiter: &mut Limiter| limiter.run(&of(cost), Action::Peek, last.now + later).unwrap();
                prop_assert_eq!(peek(&mut limiter), peek(&mut other), "{} {} later", of(cost), later);
            }
        }
    }
}
