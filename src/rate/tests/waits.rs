//! `COST n UPTO` and `WAIT`: what is left instead of nothing, and a place in the queue instead of a denial.

use proptest::prelude::*;

use super::model::Model;
use super::properties::{calls, history, ALGORITHMS};
use super::*;

#[test]
fn what_is_left() {
    for (words, at_ms, expected) in [
        ("5/1s FIXED COST 3 UPTO", 0, vec![0, 5, 2, 0, 1_000, 1, 3]),
        ("5/1s FIXED COST 3 UPTO", 0, vec![0, 5, 0, 0, 1_000, 1, 2]),
        // Nothing is granted: denied as a call for one unit.
        ("5/1s FIXED COST 9 UPTO", 400, vec![1, 5, 0, 600, 600, 1, 0]),
        ("5/1s FIXED COST 0 UPTO", 400, vec![0, 5, 0, 0, 600, 1, 0]),
        // The rule with the fewest units left decides.
        ("9/1s 4/10s GCRA COST 1000000000 UPTO", 400, vec![0, 4, 0, 0, 10_000, 2, 4]),
        ("9/1s 4/10s GCRA COST 2 UPTO", 400, vec![1, 4, 0, 2_500, 10_000, 2, 0]),
        ("6/1s COUNTER COST 9 UPTO STAMP", 500, vec![0, 6, 0, 0, 1_500, 1, 6, 500]),
    ] {
        thread_local!(static LIMITER: std::cell::RefCell<Limiter> = Default::default());
        let reply = LIMITER.with_borrow_mut(|limiter| limiter.reply(words, Action::Check, at_ms * 1_000));
        assert_eq!(reply.unwrap(), expected, "{words}");
    }
    let mut limiter = Limiter::default();
    limiter.run("3 1s COST 2", Action::Check, 0).unwrap();
    let before = limiter.clone();
    assert_eq!(limiter.reply("3 1s COST 5 UPTO", Action::Peek, 0).unwrap(), [0, 3, 1, 0, 1_000, 1, 1]);
    assert_eq!(limiter, before);
    assert_eq!(limiter.reply("3 1s COST 5 UPTO", Action::Check, 0).unwrap(), [0, 3, 0, 0, 1_000, 1, 1]);
}

#[test]
fn nothing_granted_is_a_denial() {
    let mut limiter = Limiter::default();
    let words = "2/1s FIXED COST 2 UPTO PENALTY 1m";
    assert_eq!(limiter.reply(words, Action::Check, 0).unwrap(), [0, 2, 0, 0, 1_000, 1, 2]);
    assert_eq!(limiter.reply(words, Action::Check, 0).unwrap(), [1, 2, 0, 60_000, 60_000, 0, 0]);
    assert_eq!(limiter.reply("2/1s FIXED COST 0 UPTO", Action::Check, 0).unwrap()[..1], [0]);
}

#[test]
fn several_keys_and_each_rule() {
    let mut limiters = [Limiter::default(), Limiter::default()];
    let request = request("9/1s 4/1s FIXED COST 6 UPTO EACH", Action::Check, MAX_LOG).unwrap();
    let rules = [request.rules_at(&[0]).unwrap(), request.rules_at(&[1]).unwrap()];
    let positions = [[0], [1]];
    let keys = limiters.iter_mut().zip(&rules).zip(&positions);
    let mut keys: Vec<_> = keys.map(|((limiter, rules), at)| KeyRules::some(limiter, rules, at)).collect();
    let answer = run(&request, Clock::new(0, None), &mut keys).unwrap();
    let each: Vec<_> = answer.each().map(|verdict| (verdict.remaining, verdict.more.granted)).collect();
    assert_eq!(each, [(5, Some(4)), (0, Some(4))]);
    assert_eq!(
        answer.json(true).unwrap(),
        "{\"limited\":false,\"rule\":2,\"limit\":4,\"remaining\":0,\"retry_after_ms\":0,\"reset_after_ms\":1000,\"granted\":4,\
         \"rules\":[{\"limited\":false,\"rule\":1,\"limit\":9,\"remaining\":5,\"retry_after_ms\":0,\"reset_after_ms\":1000,\"granted\":4},\
         {\"limited\":false,\"rule\":2,\"limit\":4,\"remaining\":0,\"retry_after_ms\":0,\"reset_after_ms\":1000,\"granted\":4}]}"
    );
}

#[test]
fn a_turn_in_the_queue() {
    let mut limiter = Limiter::default();
    let mut ask = |words: &str, ms: i64| limiter.reply(words, Action::Check, ms * 1_000).unwrap();
    assert_eq!(ask("2/1s GCRA WAIT 2s", 0), [0, 2, 1, 0, 500, 1, 0]);
    assert_eq!(ask("2/1s GCRA WAIT 2s", 0), [0, 2, 0, 0, 1_000, 1, 0]);
    assert_eq!(ask("2/1s GCRA WAIT 2s", 0), [0, 2, 0, 0, 1_500, 1, 500]);
    assert_eq!(ask("2/1s GCRA WAIT 2s STAMP", 100), [0, 2, 0, 0, 1_900, 1, 900, 100]);
    assert_eq!(ask("2/1s GCRA COST 2 WAIT 2s", 100), [0, 2, 0, 0, 2_900, 1, 1_900]);
    // Denied: no place, and how long until the same call would pass.
    assert_eq!(ask("2/1s GCRA WAIT 2s", 100), [1, 2, 0, 400, 2_900, 1, 0]);
    assert_eq!(ask("2/1s GCRA WAIT 2s", 500), [0, 2, 0, 0, 3_000, 1, 2_000]);
    // Others see the whole debt.
    assert_eq!(ask("2/1s GCRA", 500), [1, 2, 0, 2_500, 3_000, 1]);
    assert_eq!(ask("2/1s GCRA COST 3 WAIT 1h", 500), [1, 2, 0, -1, 3_000, 1, 0]);
    assert_eq!(ask("2/1s GCRA COST 0 WAIT 1h", 500), [0, 2, 0, 0, 3_000, 1, 0]);
    // The clock goes back: the wait counts from the caller's clock.
    assert_eq!(ask("2/1s GCRA WAIT 1h", 400), [0, 2, 0, 0, 3_600, 1, 2_600]);
    // Forced calls add nothing to a debt of more than twice the bucket.
    assert_eq!(ask("2/1s GCRA COST 1 FORCE", 500), [1, 2, 0, 3_000, 3_500, 1]);
}

#[test]
fn the_longest_wait_of_several_rules_counts() {
    let mut limiter = Limiter::default();
    let words = "2/1s 3/6s GCRA COST 2 WAIT 5s EACH";
    limiter.reply(words, Action::Check, 0).unwrap();
    let request = parse(words).unwrap();
    let answer = limiter.run_by(&request, Clock::new(0, None)).unwrap();
    assert_eq!(answer.verdict().unwrap().rule, 2);
    assert_eq!(answer.each().map(|verdict| verdict.more.wait_ms).collect::<Vec<_>>(), [Some(1_000), Some(2_000)]);
    // The second rule denies: no verdict names a wait.
    let answer = limiter.run_by(&request, Clock::new(0, None)).unwrap();
    let waits: Vec<_> = answer.each().map(|verdict| (verdict.limited, verdict.more.wait_ms)).collect();
    assert_eq!(waits, [(false, Some(0)), (true, Some(0))]);
}

#[test]
fn a_hundred_turns_of_a_billion_units() {
    let mut limiter = Limiter::default();
    for call in 0..100 {
        let reply = limiter.reply("1000000000/1ms GCRA COST 1000000000 WAIT 1h", Action::Check, 0).unwrap();
        assert_eq!((reply[0], reply[6]), (0, call));
        assert!(is_string_limiter(limiter.text.as_deref().unwrap()));
    }
    assert!(limiter.log.expiry() >= Some(100));
}

/// A debt of 10^18 units: of `SETTLE`, which has no cap but this one.
#[test]
fn the_largest_debts() {
    for (rule, words) in [("1000000000/1ms", "gcra1ms"), ("1/366d/1000000000", "gcra366d")] {
        let unit: u128 = if words == "gcra1ms" { 1_000 } else { 31_622_400_000_000 };
        let mut limiter = Limiter::default();
        limiter.run(&format!("{rule} GCRA"), Action::Check, 0).unwrap();
        let mut digits = Vec::new();
        let mut amount = 999_999_999_500_000_000 * unit;
        while amount > 0 {
            digits.push(char::from_digit((amount % 36) as u32, 36).unwrap());
            amount /= 36;
        }
        let amount: String = digits.iter().rev().collect();
        limiter.text = Some(format!("rate 1 {words} 00000000 {amount}").into_bytes());
        for _ in 0..2 {
            let settle = format!("{rule} GCRA COST 0 ACTUAL 1000000000 AT 0");
            let reply = limiter.reply(&settle, Action::Settle, 0).unwrap();
            assert_eq!((reply[0], reply[2], reply[6]), (0, 0, -1_000_000_000));
            assert!(is_string_limiter(limiter.text.as_deref().unwrap()), "{}", limiter.line());
        }
        let denied = limiter.run(&format!("{rule} GCRA WAIT 1h"), Action::Check, 0).unwrap();
        assert!(denied[0] == 1 && denied[3] > 3_600_000, "{denied:?}");
        let back = limiter.run(&format!("{rule} GCRA COST 1000000000"), Action::Refund, 0).unwrap();
        assert!(back[4] < denied[4] || denied[4] == i64::MAX);
    }
}

/// One rule, as exact integers: the debt in unit · us.
#[derive(Clone, Copy)]
struct Bucket {
    limit: i128,
    window: i128,
    burst: i128,
    debt: i128,
    newest: i64,
}

impl Bucket {
    fn debt_at(&self, now: i64) -> i128 {
        let at = now.max(self.newest);
        (self.debt - i128::from(at - self.newest) * self.limit).max(0)
    }

    /// Microseconds on the caller's clock until a call of this cost may act; `None` for never.
    fn delay(&self, now: i64, cost: i128) -> Option<i128> {
        let over = self.debt_at(now) + cost * self.window - self.burst * self.window;
        match cost > self.burst {
            true => None,
            false if over <= 0 => Some(0),
            false => Some((over + self.limit - 1) / self.limit + i128::from((self.newest - now).max(0))),
        }
    }

    fn take(&mut self, now: i64, cost: i128) {
        let (debt, at) = (self.debt_at(now) + cost * self.window, now.max(self.newest));
        // Times are stored in milliseconds.
        self.newest = at / 1_000 * 1_000;
        self.debt = debt + i128::from(at - self.newest) * self.limit;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn as_much_as_is_left(history in history()) {
        for algorithm in ALGORITHMS {
            let (mut limiter, mut model) = (Limiter::default(), Model::new(algorithm));
            for (number, call) in calls(&history, algorithm).into_iter().enumerate() {
                let words = call.words(algorithm);
                if number % 3 == 0 || call.force || call.action == Action::Refund {
                    prop_assert_eq!(limiter.run(&words, call.action, call.now).unwrap(), model.run(&call));
                    continue;
                }
                let is_closed = model.closed_until > call.now;
                let left = if is_closed { 0 } else { model.all_left(&call).into_iter().min().unwrap() };
                let granted = left.min(call.cost);
                let mut judged = call.clone();
                judged.cost = granted.max(1).min(call.cost);
                let cost = format!("COST {}", call.cost);
                let words = words.replace(&cost, &format!("{cost} UPTO"));
                let mut expected = model.run(&judged).to_vec();
                expected.push(granted as i64);
                prop_assert_eq!(limiter.reply(&words, call.action, call.now).unwrap(), expected, "{}", words);
            }
        }
    }

    /// Exactly the integer model: nobody overtakes, and what acts is never more than the rule allows.
    #[test]
    fn who_asks_first_acts_first(
        rules in proptest::collection::vec((1_i128..9, 1_i128..9), 1..3),
        asks in proptest::collection::vec((0_i64..9_000, 0_i128..7, proptest::option::of(0_u64..40), -20_000_i64..9_000), 1..60),
        goes_back: bool,
    ) {
        let windows = [3_i128, 7];
        let mut buckets: Vec<Bucket> = rules.iter().zip(windows)
            .map(|((limit, burst), ms)| Bucket { limit: *limit, window: ms * 1_000, burst: *burst, debt: 0, newest: 0 }).collect();
        let words: Vec<String> = rules.iter().zip(windows).map(|((limit, burst), ms)| format!("{limit}/{ms}ms/{burst}")).collect();
        let words = format!("{} GCRA", words.join(" "));
        let (mut limiter, mut now) = (Limiter::default(), 100_000);
        // When units act.
        let mut acts: Vec<(i128, i128)> = Vec::new();
        for (step, cost, wait_ms, back) in asks {
            now = if goes_back { (now + step.max(0) + back.min(0)).max(0) } else { now + step };
            let wait = wait_ms.map_or(String::new(), |ms| format!(" WAIT {ms}ms"));
            let words = format!("{words} COST {cost}{wait}");
            let most = i128::from(wait_ms.unwrap_or(0)) * 1_000;
            let delays: Vec<_> = buckets.iter().map(|bucket| if cost == 0 { Some(0) } else { bucket.delay(now, cost) }).collect();
            let before = limiter.clone();
            let reply = limiter.reply(&words, Action::Check, now).unwrap();
            let longest = if delays.contains(&None) { None } else { delays.iter().flatten().max().copied() };
            match longest.filter(|delay| *delay <= most) {
                Some(delay) => {
                    prop_assert_eq!((reply[0], reply[3]), (0, 0), "{} at {}", words, now);
                    prop_assert_eq!(reply.get(6).copied(), wait_ms.map(|_| ((delay + 999) / 1_000) as i64));
                    if cost > 0 {
                        buckets.iter_mut().for_each(|bucket| bucket.take(now, cost));
                        acts.push((i128::from(now) + delay, cost));
                    }
                }
                None => {
                    prop_assert_eq!(&limiter, &before, "denied, and yet something changed");
                    let retry = longest.map_or(-1, |delay| ((delay - most + 999) / 1_000) as i64);
                    prop_assert_eq!((reply[0], reply[3], reply.get(6).copied()), (1, retry, wait_ms.map(|_| 0)), "{} at {}", words, now);
                }
            }
            for (bucket, (limit, burst)) in buckets.iter().zip(&rules) {
                let one = format!("{limit}/{}ms/{burst} GCRA COST 0", bucket.window / 1_000);
                let left = ((burst * bucket.window - bucket.debt_at(now)) / bucket.window).max(0) as i64;
                prop_assert_eq!(limiter.run(&one, Action::Peek, now).unwrap()[2], left);
            }
        }
        if !goes_back {
            prop_assert!(acts.is_sorted_by_key(|(at, _)| *at), "somebody overtook: {:?}", acts);
            // With several rules the longest wait counts, so that units act later than some of the rules would have let them.
            for bucket in buckets.iter().filter(|_| buckets.len() == 1) {
                for (place, (from, _)) in acts.iter().enumerate() {
                    let mut units = 0;
                    for (to, cost) in &acts[place..] {
                        units += cost;
                        prop_assert!(units * bucket.window <= bucket.burst * bucket.window + (to - from) * bucket.limit);
                    }
                }
            }
        }
    }
}
