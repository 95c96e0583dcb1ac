//! Calls on several keys: all of them or none.

use proptest::prelude::*;

use super::*;

fn run_all(limiters: &mut [Limiter], of: &[usize], request: &Request, micros: i64) -> Result<(Verdict, Vec<Verdict>)> {
    let numbers = |key: usize| (0..of.len()).filter(|number| of[*number] == key).collect::<Vec<_>>();
    let places: Vec<Vec<usize>> = (0..limiters.len()).map(numbers).collect();
    let rules: Vec<RuleList> = places.iter().map(|numbers| request.rules_at(numbers)).collect::<Result<_>>()?;
    let keys = limiters.iter_mut().zip(&rules).zip(&places);
    let mut keys: Vec<_> = keys.map(|((limiter, rules), numbers)| KeyRules::some(limiter, rules, numbers)).collect();
    let answer = run(request, Clock::new(micros, None), &mut keys)?;
    Ok((answer.verdict()?, answer.each().collect()))
}

#[test]
fn rules_for_the_same_key_are_several_rules_of_that_key() {
    let mut limiters = [Limiter::default(), Limiter::default()];
    let request = request("3/1s 9/1s 4/1m FIXED EACH COST 2", Action::Check, MAX_LOG).unwrap();
    let (verdict, each) = run_all(&mut limiters, &[0, 1, 0], &request, 0).unwrap();
    assert_eq!(verdict.reply(), [0, 3, 1, 0, 1_000, 1]);
    let each: Vec<_> = each.iter().map(Verdict::reply).collect();
    assert_eq!(each, [[0, 3, 1, 0, 1_000, 1], [0, 9, 7, 0, 1_000, 2], [0, 4, 2, 0, 60_000, 3]]);
    assert_eq!(limiters[0].line(), "rate 1 fixed1s 00000000 2 fixed1m 00000000 2");
    let twice = super::request("3/1s 9/1s FIXED", Action::Check, MAX_LOG).unwrap();
    assert_eq!(run_all(&mut limiters[..1], &[0, 0], &twice, 0).err(), Some(Error::window_twice("1s")));
}

#[test]
fn a_penalty_closes_the_keys_that_deny() {
    let mut limiters = [Limiter::default(), Limiter::default()];
    let request = request("1/1s 5/1s FIXED PENALTY 1m", Action::Check, MAX_LOG).unwrap();
    assert!(!run_all(&mut limiters, &[0, 1], &request, 0).unwrap().0.limited);
    let (verdict, each) = run_all(&mut limiters, &[0, 1], &request, 0).unwrap();
    assert_eq!(verdict.reply(), [1, 1, 0, 60_000, 60_000, 0]);
    assert_eq!(each[1].reply(), [0, 5, 4, 0, 1_000, 2]);
    assert_eq!(limiters[1].line(), "rate 1 fixed1s 00000000 1");
    assert_eq!(limiters[0].run("9 1h FIXED", Action::Check, 59_999_000).unwrap(), [1, 9, 0, 1, 1, 0]);
    let before = limiters.clone();
    // Neither a refund nor a second penalty changes that.
    assert_eq!(limiters[0].run("1 1s FIXED", Action::Refund, 1_000).unwrap()[5], 0);
    limiters[0].run("1 1s FIXED PENALTY 1h FORCE", Action::Check, 1_000).unwrap();
    assert_eq!(
        limiters[0].run("1 1s FIXED", Action::Peek, 1_000).unwrap()[3],
        before[0].clone().run("1 1s FIXED", Action::Peek, 1_000).unwrap()[3]
    );
    assert_eq!(limiters[0].run("1 1s FIXED", Action::Check, 60_000_000).unwrap()[0], 0);
}

proptest! {
    /// It passes if every key would let it through by itself, and then leaves what each would have left.
    #[test]
    fn all_or_none(
        algorithm in proptest::sample::select(vec!["SLIDING", "FIXED", "COUNTER", "GCRA"]),
        rules in proptest::collection::vec((1_u64..6, 1_u64..9), 3),
        calls in proptest::collection::vec((0_i64..4, 1_u64..4, 0_usize..4), 1..40),
    ) {
        let mut limiters = [Limiter::default(), Limiter::default(), Limiter::default()];
        let mut now = 0;
        for (step, cost, alone) in calls {
            now += step * 1_000;
            let word = |(limit, window): &(u64, u64)| format!("{limit}/{window}ms");
            if let Some(limiter) = limiters.get_mut(alone) {
                limiter.run(&format!("{} {algorithm} COST {cost}", word(&rules[alone])), Action::Check, now).unwrap();
                continue;
            }
            let words: Vec<String> = rules.iter().map(word).collect();
            let words = format!("{} {algorithm} COST {cost}", words.join(" "));
            let request = request(&words, Action::Check, MAX_LOG).unwrap();
            let mut expected = limiters.clone();
            let one = |rule| format!("{} {algorithm} COST {cost}", word(rule));
            let peeks: Vec<_> = expected.iter_mut().zip(&rules)
                .map(|(limiter, rule)| limiter.run(&one(rule), Action::Peek, now).unwrap()).collect();
            let denied = peeks.iter().any(|reply| reply[0] == 1);
            let checks: Vec<_> = expected.iter_mut().zip(&rules).filter(|_| !denied)
                .map(|(limiter, rule)| limiter.run(&one(rule), Action::Check, now).unwrap()).collect();
            let (verdict, each) = run_all(&mut limiters, &[0, 1, 2], &request, now).unwrap();
            prop_assert_eq!(verdict.limited, denied);
            let replies = if denied { peeks } else { checks };
            for (number, (each, expected)) in each.iter().zip(&replies).enumerate() {
                prop_assert_eq!(each.reply()[..5].to_vec(), expected[..5].to_vec());
                prop_assert_eq!(each.rule, number as u64 + 1);
            }
            for (limiter, expected) in limiters.iter().zip(&expected) {
                prop_assert_eq!(limiter, expected, "{}", words);
            }
        }
    }
}
