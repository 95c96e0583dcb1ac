//! Random calls against the naive models, and what must hold whatever the calls were.

use proptest::prelude::*;

use super::model::{Model, ModelCall, ModelRule};
use super::*;

const ALGORITHMS: [&str; 4] = ["SLIDING", "FIXED", "COUNTER", "GCRA"];

fn rule_set() -> impl Strategy<Value = Vec<ModelRule>> {
    let windows = proptest::sample::subsequence(vec![1_u64, 2, 3, 5, 7, 13, 20], 1..=3).prop_shuffle();
    (windows, proptest::collection::vec(1_u64..9, 3)).prop_map(|(windows, limits)| {
        let rules = windows.into_iter().zip(limits);
        rules.map(|(window_ms, limit)| ModelRule { limit, window_ms }).collect()
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

type Steps = Vec<(usize, i64, u64, bool)>;

fn history() -> impl Strategy<Value = (Vec<Vec<ModelRule>>, Option<u64>, Steps)> {
    let sets = proptest::collection::vec(rule_set(), 1..4);
    let steps = proptest::collection::vec((0_usize..4, step(), cost(), any::<bool>()), 1..40);
    (sets, proptest::option::of(1_u64..9), steps)
}

fn calls((sets, burst, steps): &(Vec<Vec<ModelRule>>, Option<u64>, Steps), algorithm: &str) -> Vec<ModelCall> {
    let mut now = 1_000_000;
    steps
        .iter()
        .map(|(set, step, cost, peek)| {
            now += step;
            ModelCall {
                rules: sets[set % sets.len()].clone(),
                burst: burst.filter(|_| algorithm == "GCRA"),
                cost: *cost,
                mode: if *peek { Mode::Peek } else { Mode::Check },
                now,
            }
        })
        .collect()
}

fn words(call: &ModelCall, algorithm: &str) -> String {
    let rules: Vec<_> = call.rules.iter().map(|rule| format!("{}/{}ms", rule.limit, rule.window_ms)).collect();
    let burst = call.burst.map_or(String::new(), |burst| format!("BURST {burst}"));
    format!("{} {algorithm} {burst} COST {}", rules.join(" "), call.cost)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn as_the_naive_model_says(history in history()) {
        for algorithm in ALGORITHMS {
            let mut limiter = Limiter::default();
            let mut model = Model::new(algorithm);
            for call in calls(&history, algorithm) {
                let words = words(&call, algorithm);
                let reply = limiter.run(&words, call.mode, call.now).unwrap();
                prop_assert_eq!(reply, model.run(&call), "{} at {}", words, call.now);
            }
        }
    }

    #[test]
    fn retry_is_the_least_wait(history in history()) {
        for algorithm in ALGORITHMS {
            let mut limiter = Limiter::default();
            for call in calls(&history, algorithm) {
                let words = words(&call, algorithm);
                let [limited, _, _, retry, ..] = limiter.run(&words, call.mode, call.now).unwrap();
                let mut limited_after = |ms: i64| limiter.run(&words, Mode::Peek, call.now + ms * 1_000).unwrap()[0];
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

    /// A key that goes when its expiry says so takes nothing along that still matters, and does not stay for nothing.
    #[test]
    fn a_key_expires_when_it_is_as_good_as_new(history in history()) {
        for algorithm in ALGORITHMS {
            let mut limiter = Limiter::default();
            let mut calls = calls(&history, algorithm);
            let rules = calls[0].rules.clone();
            for call in &mut calls {
                call.rules = rules.clone();
                limiter.run(&words(call, algorithm), Mode::Check, call.now).unwrap();
            }
            let Some(expire_at_ms) = limiter.expire_at_ms else { continue };
            let mut as_new = true;
            for rule in rules {
                let call = ModelCall { rules: vec![rule], cost: 0, ..calls[0].clone() };
                let words = words(&call, algorithm);
                // The server keeps it to the end of that millisecond.
                let gone = (expire_at_ms + 1) * 1_000;
                let fresh = Limiter::default().run(&words, Mode::Peek, gone).unwrap();
                let kept = limiter.run(&words, Mode::Peek, gone).unwrap();
                prop_assert_eq!(kept, fresh, "{}", words);
                as_new &= limiter.run(&words, Mode::Peek, expire_at_ms * 1_000 - 1).unwrap()[4] == 0;
            }
            prop_assert!(!as_new, "{} expires late", algorithm);
        }
    }
}
