//! `STAMP` and `RATE.SETTLE`: whatever is settled, and in whatever order, no more is let through than if the true cost of
//! each call had been known when it was made.

use proptest::prelude::*;

use super::*;

fn settle(words: &str, reserved: u64, used: u64, at_ms: i64) -> String {
    format!("{words} COST {reserved} ACTUAL {used} AT {at_ms}")
}

/// For each line: at this millisecond, settle these units reserved and used at this millisecond; then `remaining`,
/// `reset_after_ms` and `settled`.
fn assert_settled(words: &str, checks: &[(i64, u64)], lines: &[(i64, u64, u64, i64, [i64; 3])]) {
    let mut limiter = Limiter::default();
    for (ms, cost) in checks {
        let reply = limiter.reply(&format!("{words} COST {cost} STAMP"), Action::Check, ms * 1_000).unwrap();
        assert_eq!((reply[0], reply[6]), (0, *ms), "{words}");
    }
    for (ms, reserved, used, at_ms, expected) in lines {
        let words = settle(words, *reserved, *used, *at_ms);
        let reply = limiter.reply(&words, Action::Settle, ms * 1_000).expect(&words);
        assert_eq!((reply[0], [reply[2], reply[4], reply[6]]), (0, *expected), "{words} at {ms}");
        assert!(limiter.text.as_deref().is_none_or(is_string_limiter));
    }
}

#[test]
fn fixed() {
    assert_settled(
        "10/1s FIXED",
        &[(5_000, 4), (5_500, 3)],
        &[
            (5_600, 4, 1, 5_000, [6, 400, 3]),
            (5_600, 3, 5, 5_500, [4, 400, -2]),
            // Past the limit.
            (5_600, 0, 7, 5_500, [0, 400, -7]),
            (5_600, 9, 9, 5_500, [0, 400, 0]),
            (5_700, 13, 0, 5_500, [10, 0, 13]),
            (5_700, 13, 0, 5_500, [10, 0, 0]),
            // After the window.
            (6_000, 4, 0, 5_500, [10, 0, 0]),
            (6_000, 0, 4, 5_500, [10, 0, 0]),
        ],
    );
    // Before the window that is open.
    assert_settled("10/1s FIXED", &[(5_000, 4), (6_200, 3)], &[(6_300, 4, 0, 5_000, [7, 900, 0])]);
    // A call that reserved nothing opens its window when it is settled.
    assert_settled("10/1s FIXED", &[(5_000, 0)], &[(5_600, 0, 3, 5_000, [7, 400, -3])]);
}

#[test]
fn a_window_that_is_settled_to_nothing_stays_where_it_opened() {
    let mut limiter = Limiter::default();
    limiter.run("10/1s FIXED COST 4", Action::Check, 5_000_000).unwrap();
    limiter.run(&settle("10/1s FIXED", 4, 0, 5_000), Action::Settle, 5_400_000).unwrap();
    assert_eq!((limiter.line().as_str(), limiter.log.expiry()), ("rate 1 fixed1s 000003uw 0", Some(6_000)));
    assert_eq!(limiter.run("10/1s FIXED", Action::Check, 5_500_000).unwrap(), [0, 10, 9, 0, 500, 1]);
}

#[test]
fn calendar() {
    let hour = 3_600_000;
    assert_settled(
        "10/hour CALENDAR",
        &[(hour, 4), (2 * hour - 1, 3)],
        &[
            (2 * hour - 1, 3, 8, 2 * hour - 1, [0, 1, -5]),
            (2 * hour - 1, 4, 1, hour, [1, 1, 3]),
            (2 * hour, 4, 1, hour, [10, 0, 0]),
            (2 * hour, 3, 9, 2 * hour - 1, [10, 0, 0]),
            // The key is gone, and is made again.
            (2 * hour + 5, 3, 9, 2 * hour, [4, hour - 5, -6]),
        ],
    );
}

#[test]
fn counter() {
    assert_settled(
        "10/1s COUNTER",
        &[(5_000, 4), (6_500, 2)],
        &[
            // In the previous window: 1 unit of 4, half of which counts.
            (6_500, 4, 1, 5_000, [7, 1_500, 3]),
            (6_500, 2, 3, 6_500, [6, 1_500, -1]),
            (6_500, 4, 6, 5_000, [5, 1_500, -2]),
            (7_000, 4, 0, 5_000, [7, 1_000, 0]),
            (7_999, 2, 0, 6_500, [9, 1, 2]),
            (8_000, 2, 0, 6_500, [10, 0, 0]),
        ],
    );
    // In the window before that of the newest unit.
    assert_settled(
        "10/1s COUNTER",
        &[(5_500, 4)],
        &[(6_000, 4, 0, 5_500, [10, 0, 4]), (6_000, 1, 3, 5_500, [8, 1_000, -2])],
    );
}

#[test]
fn gcra() {
    // 10 units a second: one in 100 ms.
    assert_settled(
        "10/1s GCRA",
        &[(5_000, 8)],
        &[
            // Two and a half units have been refilled: at most five are given back.
            (5_250, 8, 0, 5_000, [9, 50, 5]),
            (5_250, 8, 8, 5_000, [9, 50, 0]),
            (5_250, 0, 30, 5_000, [0, 3_050, -30]),
            // A later AT is the clock.
            (5_250, 4, 4, 5_350, [0, 2_950, 0]),
        ],
    );
    assert_settled("10/1s GCRA", &[(5_000, 8)], &[(5_000, 8, 3, 5_000, [7, 300, 5])]);
    // The bucket was full in between, and another call took what is owed now: it is not given back.
    assert_settled("10/1s GCRA", &[(5_000, 8), (6_000, 9)], &[(6_000, 8, 0, 5_000, [1, 900, 0])]);
    // A key that is gone is made again, if units are missing.
    assert_settled("10/1s GCRA", &[], &[(9_000, 3, 3, 5_000, [10, 0, 0]), (9_000, 3, 5, 5_000, [8, 200, -2])]);
}

#[test]
fn each_rule_settles_by_itself() {
    let mut limiter = Limiter::default();
    let words = "9/1s 20/10s COUNTER";
    limiter.run(&format!("{words} COST 6 STAMP"), Action::Check, 5_000_000).unwrap();
    let request = parse_for(&format!("{} EACH", settle(words, 6, 2, 5_000)), Action::Settle).unwrap();
    let answer = limiter.run_by(&request, Clock::new(7_500_000, None)).unwrap();
    let each: Vec<_> = answer.each().map(|verdict| (verdict.remaining, verdict.more.settled)).collect();
    assert_eq!(each, [(9, Some(0)), (18, Some(4))]);
    // The reported rule's: the one with the fewest units left.
    assert_eq!(answer.verdict().unwrap().more.settled, Some(0));
    assert!(answer.json(true).unwrap().contains(
        "\"rule\":1,\"limit\":9,\"remaining\":9,\"retry_after_ms\":0,\"reset_after_ms\":0,\"settled\":0,\"rules\":["
    ));
}

#[test]
fn it_lifts_no_penalty() {
    let mut limiter = Limiter::default();
    limiter.run("2/1s FIXED COST 2 STAMP", Action::Check, 0).unwrap();
    limiter.run("2/1s FIXED PENALTY 1m", Action::Check, 0).unwrap();
    let reply = limiter.reply(&settle("2/1s FIXED", 2, 0, 0), Action::Settle, 0).unwrap();
    assert_eq!(reply, [0, 2, 0, 0, 60_000, 0, 2]);
    assert_eq!(limiter.run("2/1s FIXED", Action::Check, 1_000).unwrap()[..1], [1]);
}

#[test]
fn the_stamp_is_the_earliest_of_the_rules() {
    let mut limiter = Limiter::default();
    limiter.run("9/1s GCRA", Action::Check, 5_000_999).unwrap();
    // The clock goes back: the first rule stands still at the newest time, the second one has none.
    let reply = limiter.reply("9/1s 9/1m GCRA STAMP", Action::Check, 4_000_999).unwrap();
    assert_eq!(reply[6], 4_000);
    let reply = limiter.reply("9/1s GCRA STAMP", Action::Check, 4_000_999).unwrap();
    assert_eq!(reply[6], 5_000);
}

#[test]
fn exclusions_say_what_to_do() {
    for (words, action, expected) in [
        ("5/1s COST 2 UPTO FORCE", Action::Check, "UPTO and FORCE are mutually exclusive"),
        ("5/1s GCRA COST 2 UPTO WAIT 1s", Action::Check, "UPTO and WAIT are mutually exclusive"),
        ("5/1s GCRA WAIT 1s FORCE", Action::Check, "WAIT and FORCE are mutually exclusive"),
        ("5/1s GCRA STAMP FORCE", Action::Check, "STAMP and FORCE are mutually exclusive"),
        ("5/1s UPTO", Action::Check, "UPTO follows a cost: write COST n UPTO"),
        (
            "5/1s FIXED WAIT 1s",
            Action::Check,
            "WAIT is only valid with GCRA: add GCRA, or leave WAIT out and use retry_after_ms",
        ),
        (
            "5/1s GCRA WAIT 61m",
            Action::Check,
            "WAIT takes 0 to 1h, a whole number with ms, s, m, h, d or none for seconds, got 61m",
        ),
        ("5/1s STAMP", Action::Check, "STAMP is not valid with SLIDING: name FIXED, COUNTER, GCRA or CALENDAR"),
        (
            "5/1s COST 1 ACTUAL 1 AT 5",
            Action::Settle,
            "RATE.SETTLE is not valid with SLIDING: name FIXED, COUNTER, GCRA or CALENDAR",
        ),
        (
            "5/1s GCRA COST 1 ACTUAL 1",
            Action::Settle,
            "RATE.SETTLE takes COST reserved ACTUAL used AT ms, where AT is the at_ms of STAMP",
        ),
    ] {
        let error = parse_for(words, action).expect_err(words).to_string();
        assert_eq!(error, format!("ERR {expected}"), "{words}");
    }
}

/// A call, with what it is known to have used.
#[derive(Clone, Debug)]
struct Counted {
    now: i64,
    units: i128,
}

/// What a rule has left at `at`, and its newest time, after calls whose true costs were known when they were made.
fn truth(algorithm: &str, (limit, window): (i128, i64), calls: &[Counted], at: i64) -> i128 {
    let (mut newest, mut start, mut used, mut debt) = (0, None, 0, 0);
    let (mut before, mut index) = (0, 0);
    let window_wide = i128::from(window);
    let mut advance = |now: i64, units: Option<i128>| -> i128 {
        let at = now.max(newest);
        match algorithm {
            "FIXED" | "CALENDAR" => {
                if start.is_none_or(|start| at >= start + window) {
                    used = 0;
                    if units.is_some() {
                        start = Some(if algorithm == "FIXED" { at / 1_000 * 1_000 } else { at / window * window });
                        newest = start.unwrap_or(0).max(0);
                    }
                }
                used += units.unwrap_or(0);
                limit - used
            }
            "COUNTER" => {
                (before, used) = match at / window - index {
                    0 => (before, used),
                    1 => (used, 0),
                    _ => (0, 0),
                };
                index = at / window;
                if units.is_some() {
                    newest = at / 1_000 * 1_000;
                }
                used += units.unwrap_or(0);
                limit - used - (before * i128::from(window - at % window) + window_wide - 1) / window_wide
            }
            _ => {
                debt = (debt - i128::from(at - newest) * limit).max(0) + units.unwrap_or(0) * window_wide;
                newest = at;
                limit - (debt + window_wide - 1) / window_wide
            }
        }
    };
    for call in calls {
        advance(call.now, Some(call.units));
    }
    advance(at, None).max(0)
}

#[derive(Clone, Debug)]
enum Step {
    /// A call that reserves so much.
    Reserve(u64),
    /// The first, second … of those that were made turns out to have used so much.
    Settle(usize, u64),
    /// The key is evicted.
    Evict,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1_u64..6).prop_map(Step::Reserve),
        7 => (0_usize..6, 0_u64..14).prop_map(|(which, used)| Step::Settle(which, used)),
        1 => Just(Step::Evict),
    ]
}

const LATER: [i64; 8] = [0, 1, 3, 7, 10, 11, 20, 45];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_more_is_let_through_than_with_the_true_costs(
        steps in proptest::collection::vec((step(), 0_i64..6, 0_i64..12), 1..40),
        limit in 1_u64..9,
        goes_back: bool,
    ) {
        for algorithm in ["FIXED", "COUNTER", "GCRA", "CALENDAR"] {
            // A tenth of a window is one tick.
            let (words, tick, window) = match algorithm {
                "CALENDAR" => (format!("{limit}/hour CALENDAR"), 360_000_000, 3_600_000_000),
                _ => (format!("{limit}/10ms {algorithm}"), 1_000, 10_000),
            };
            let rule = (i128::from(limit), window);
            let (mut limiter, mut now, mut server) = (Limiter::default(), 5 * window, 5 * window);
            // The calls whose units count, by their true costs as far as they are known; and those that are not settled.
            let mut calls: Vec<Counted> = Vec::new();
            let mut open: Vec<(Option<usize>, u64, i64)> = Vec::new();
            for (step, forward, back) in &steps {
                now += forward * tick;
                if goes_back && *back > 8 {
                    now = (now - (back - 7) * tick).max(window);
                }
                server = now.max(server);
                // Keys that a clock behind the server's would miss are not the settlement's.
                if !goes_back && limiter.log.expiry().is_some_and(|at_ms| server / 1_000 > at_ms) {
                    limiter = Limiter::default();
                }
                let clock = Clock::new(server, Some(now));
                match step {
                    Step::Reserve(units) => {
                        let request = parse(&format!("{words} COST {units} STAMP")).unwrap();
                        let verdict = limiter.run_by(&request, clock).unwrap().verdict().unwrap();
                        if !verdict.limited {
                            calls.push(Counted { now, units: i128::from(*units) });
                            open.push((Some(calls.len() - 1), *units, verdict.more.at_ms.unwrap()));
                        }
                    }
                    Step::Settle(which, used) if !open.is_empty() => {
                        let (call, reserved, at_ms) = open.remove(which % open.len());
                        // What was evicted cannot be given back: it would be taken from later calls.
                        let used = if call.is_some() { *used } else { reserved + used };
                        let request = parse_for(&settle(&words, reserved, used, at_ms), Action::Settle).unwrap();
                        let verdict = limiter.run_by(&request, clock).unwrap().verdict().unwrap();
                        let settled = verdict.more.settled.unwrap();
                        let most = reserved as i64 - used as i64;
                        prop_assert!((most.min(0)..=most.max(0)).contains(&settled), "{} of {}", settled, most);
                        match call {
                            // After its window nothing is settled. Nobody can tell, but a clock that is set back.
                            Some(_) if goes_back && settled == 0 && most < 0 => {}
                            Some(call) => calls[call].units = i128::from(used),
                            // Of a call that was evicted, only what is missing is known again.
                            None if settled < 0 => calls.push(Counted { now: at_ms * 1_000, units: i128::from(-settled) }),
                            None => {}
                        }
                    }
                    Step::Settle(..) => {}
                    Step::Evict if goes_back => {}
                    Step::Evict => {
                        limiter = Limiter::default();
                        calls.clear();
                        open.iter_mut().for_each(|(call, ..)| *call = None);
                    }
                }
                let mut in_order = calls.clone();
                if !goes_back {
                    in_order.sort_by_key(|call| call.now);
                }
                let earlier = if goes_back { &[-9_i64, -4, -1][..] } else { &[] };
                for later in earlier.iter().chain(&LATER) {
                    let at = (now + later * tick).max(0);
                    let peek = parse_for(&format!("{words} COST 0"), Action::Peek).unwrap();
                    let mut copy = limiter.clone();
                    let left = copy.run_by(&peek, Clock::new(server, Some(at))).unwrap().verdict().unwrap().remaining;
                    let most = truth(algorithm, rule, &in_order, at);
                    prop_assert!(
                        i128::from(left) <= most,
                        "{}: {} left at {}, {} with the true costs {:?}; {}", words, left, at, most, calls, limiter.line()
                    );
                }
            }
        }
    }
}
