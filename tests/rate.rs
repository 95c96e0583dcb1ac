//! `RATE.*`: what a call is told, and what bad input gets.

use crate::script::script;
use crate::support::*;

const ALGORITHMS: [&str; 4] = ["SLIDING", "FIXED", "COUNTER", "GCRA"];
const STRINGS: [&str; 3] = ["FIXED", "COUNTER", "GCRA"];

/// A time of the caller's, in ms, at which every window of a whole number of minutes begins.
const T: u64 = 1_800_000_000_000;

/// Lines of `time since T in ms`, call, reply.
fn at_times(con: &mut redis::Connection, lines: &[(u64, &str, &str)]) {
    for (ms, line, expected) in lines {
        expect(con, &format!("{line} NOW {}", T + ms), expected);
    }
}

on_every_server! {
    fn sliding_counts_the_last_window(server: Server) {
        at_times(&mut server.connect(), &[
            (0, "RATE.CHECK k 2 60", "[0, 2, 1, 0, 60000, 1]"),
            (10_000, "RATE.CHECK k 2 60", "[0, 2, 0, 0, 60000, 1]"),
            (20_000, "RATE.CHECK k 2 60", "[1, 2, 0, 40000, 50000, 1]"),
            (59_999, "RATE.CHECK k 2 60", "[1, 2, 0, 1, 10001, 1]"),
            (60_000, "RATE.CHECK k 2 60", "[0, 2, 0, 0, 60000, 1]"),
            (60_000, "RATE.CHECK k 2 60", "[1, 2, 0, 10000, 60000, 1]"),
            (60_000, "RATE.PEEK k 2 60", "[1, 2, 0, 10000, 60000, 1]"),
            (70_000, "RATE.PEEK k 2 60", "[0, 2, 1, 0, 50000, 1]"),
            (999_999, "RATE.PEEK k 2 60", "[0, 2, 2, 0, 0, 1]"),
        ]);
    }

    fn fixed_opens_a_window_with_its_first_unit(server: Server) {
        at_times(&mut server.connect(), &[
            (5, "RATE.CHECK k 2 1s FIXED", "[0, 2, 1, 0, 1000, 1]"),
            (1_004, "RATE.CHECK k 2 1s FIXED", "[0, 2, 0, 0, 1, 1]"),
            (1_004, "RATE.CHECK k 2 1s FIXED", "[1, 2, 0, 1, 1, 1]"),
            (1_005, "RATE.CHECK k 2 1s FIXED", "[0, 2, 1, 0, 1000, 1]"),
        ]);
    }

    fn counter_weighs_the_previous_window(server: Server) {
        at_times(&mut server.connect(), &[
            (0, "RATE.CHECK k 10 1m COUNTER COST 10", "[0, 10, 0, 0, 120000, 1]"),
            (60_000, "RATE.CHECK k 10 1m COUNTER", "[1, 10, 0, 6000, 60000, 1]"),
            (90_000, "RATE.CHECK k 10 1m COUNTER COST 5", "[0, 10, 0, 0, 90000, 1]"),
        ]);
    }

    fn gcra_refills_a_bucket(server: Server) {
        at_times(&mut server.connect(), &[
            (0, "RATE.CHECK k 10 1s GCRA BURST 2", "[0, 2, 1, 0, 100, 1]"),
            (0, "RATE.CHECK k 10 1s GCRA BURST 2", "[0, 2, 0, 0, 200, 1]"),
            (0, "RATE.CHECK k 10 1s GCRA BURST 2", "[1, 2, 0, 100, 200, 1]"),
            (99, "RATE.CHECK k 10 1s GCRA BURST 2", "[1, 2, 0, 1, 101, 1]"),
            (100, "RATE.CHECK k 10 1s GCRA BURST 2", "[0, 2, 0, 0, 200, 1]"),
            (100, "RATE.CHECK k 10 1s GCRA BURST 2 COST 3", "[1, 2, 0, -1, 200, 1]"),
        ]);
    }

    fn a_rule_is_written_in_one_word_or_two(server: Server) {
        let mut con = server.connect();
        for rule in ["100 60", "100 60s", "100/60", "100/1m", "100 60000ms", "+100/01m"] {
            expect(&mut con, &format!("RATE.PEEK none {rule}"), "[0, 100, 100, 0, 0, 1]");
        }
        expect(&mut con, "rate.peek none 3/1s 7 2h 5/1d sliding cost 1", "[0, 3, 3, 0, 0, 1]");
    }

    fn several_rules_take_all_or_nothing(server: Server) {
        let mut con = server.connect();
        for algorithm in ALGORITHMS {
            let call = format!("RATE.CHECK {algorithm} 2/1s 3/1m {algorithm}");
            expect(&mut con, &format!("{call} NOW {T}"), &match algorithm {
                "COUNTER" => "[0, 2, 1, 0, 2000, 1]".into(),
                "GCRA" => "[0, 2, 1, 0, 500, 1]".to_string(),
                _ => "[0, 2, 1, 0, 1000, 1]".into(),
            });
            for _ in 0..3 {
                let denied = reply(&mut con, &format!("{call} COST 2 NOW {T}"));
                assert!(denied.starts_with("[1, 2, 1, "), "{algorithm}: {denied}");
            }
            // Nothing of the denied calls was taken from the rule that had room for them.
            let left = reply(&mut con, &format!("RATE.PEEK {algorithm} 3/1m {algorithm} NOW {T}"));
            assert!(left.starts_with("[0, 3, 2, 0, "), "{algorithm}: {left}");
        }
    }

    fn every_call_of_a_microsecond_counts(server: Server) {
        let mut con = server.connect();
        for algorithm in ALGORITHMS {
            for left in (0..300).rev() {
                let answer = reply(&mut con, &format!("RATE.CHECK {algorithm} 300 1h {algorithm} NOW {T}"));
                assert!(answer.starts_with(&format!("[0, 300, {left}, 0, ")), "{algorithm}: {answer}");
            }
            let answer = reply(&mut con, &format!("RATE.CHECK {algorithm} 300 1h {algorithm} NOW {T}"));
            assert!(answer.starts_with("[1, 300, 0, "), "{algorithm}: {answer}");
        }
        expect(&mut con, "ZCARD SLIDING", "300");
    }

    fn a_clock_that_goes_back_lets_no_more_through(server: Server) {
        let mut con = server.connect();
        for algorithm in ALGORITHMS {
            let mut call = |ms: u64| reply(&mut con, &format!("RATE.CHECK {algorithm} 2/1m {algorithm} NOW {ms}"));
            assert!(call(T).starts_with("[0, 2, 1, "));
            assert!(call(T - 3_600_000).starts_with("[0, 2, 0, "), "{algorithm}");
            for back in [0, 1, 60_000, 60_001, 1_000_000, T] {
                assert!(call(T - back).starts_with("[1, 2, 0, "), "{algorithm} {back} ms back");
            }
        }
    }

    fn the_servers_clock_counts_without_now(server: Server) {
        let mut con = server.connect();
        for algorithm in ALGORITHMS {
            let call = format!("RATE.CHECK {algorithm} 1/50ms {algorithm}");
            assert!(reply(&mut con, &call).starts_with("[0, 1, 0, 0, "), "{algorithm}");
            wait_until(|| reply(&mut con, &call).starts_with("[0, "));
        }
    }

    fn a_log_may_be_longer_than_a_small_encoding(server: Server) {
        let mut con = server.connect();
        for i in 0..1_000 {
            expect(&mut con, &format!("RATE.CHECK k 1000 1s NOW {}", T + i),
                   &format!("[0, 1000, {}, 0, 1000, 1]", 999 - i));
        }
        expect(&mut con, "OBJECT ENCODING k", r#""skiplist""#);
        expect(&mut con, &format!("RATE.CHECK k 1000 1s COST 500 NOW {}", T + 999), "[1, 1000, 0, 500, 1000, 1]");
        // What is stale goes when the expiry moves, or once it is an eighth of the log.
        expect(&mut con, &format!("RATE.CHECK k 1000 1s NOW {}", T + 1_000), "[0, 1000, 0, 0, 1000, 1]");
        expect(&mut con, "ZCARD k", "1001");
        expect(&mut con, &format!("RATE.CHECK k 1000 1s NOW {}", T + 1_001), "[0, 1000, 0, 0, 1000, 1]");
        expect(&mut con, "ZCARD k", "1000");
        expect(&mut con, &format!("RATE.CHECK k 1000 1s NOW {}", T + 1_002), "[0, 1000, 0, 0, 1000, 1]");
        expect(&mut con, "ZCARD k", "1001");
        expect(&mut con, &format!("RATE.CHECK k 1000 1s NOW {}", T + 1_500), "[0, 1000, 497, 0, 1000, 1]");
        expect(&mut con, "ZCARD k", "503");
        expect(&mut con, &format!("RATE.CHECK k 1000 1s NOW {}", T + 9_000), "[0, 1000, 999, 0, 1000, 1]");
        expect(&mut con, "ZRANGE k 0 -1 WITHSCORES", r#"["2rw/1s", "1800000009000000"]"#);
    }

    fn reset_forgets_a_limiter(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RATE.RESET k", "0");
        for algorithm in ALGORITHMS {
            let peek = format!("RATE.PEEK k 1/1m 5/2m {algorithm} NOW {T}");
            expect(&mut con, &peek, "[0, 1, 1, 0, 0, 1]");
            assert!(reply(&mut con, &format!("RATE.CHECK k 1/1m 5/2m {algorithm} NOW {T}")).starts_with("[0, 1, 0, 0, "));
            assert!(reply(&mut con, &peek).starts_with("[1, 1, 0, "));
            expect(&mut con, "RATE.RESET k", "1");
            expect(&mut con, "EXISTS k", "0");
            expect(&mut con, "RATE.RESET k", "0");
            expect(&mut con, &peek, "[0, 1, 1, 0, 0, 1]");
        }
    }

    fn algorithms_are_side_by_side_in_one_string(server: Server) {
        let mut con = server.connect();
        expect(&mut con, &format!("RATE.CHECK k 5/1h 9/2h FIXED COST 5 NOW {T}"), "[0, 5, 0, 0, 3600000, 1]");
        expect(&mut con, &format!("RATE.CHECK k 5/1h GCRA COST 6 NOW {T}"), "[1, 5, 5, -1, 0, 1]");
        expect(&mut con, &format!("RATE.CHECK k 5/1h GCRA NOW {T}"), "[0, 5, 4, 0, 720000, 1]");
        expect(&mut con, &format!("RATE.PEEK k 5/1h FIXED NOW {T}"), "[1, 5, 0, 3600000, 3600000, 1]");
        expect(&mut con, "TYPE k", "+string");
        expect(&mut con, "GET k", r#""rate 1 fixed1h mywpiww0 5 fixed2h mywpiww0 5 gcra1h mywpiww0 1njchs0""#);
        expect(&mut con, "PEXPIRETIME k", &(T + 7_200_000).to_string());
        // Two versions of a rule in turn, at one moment: each lets through what it would alone.
        let mut passed = 0;
        for call in 0..200 {
            let algorithm = ["FIXED", "GCRA"][call % 2];
            passed += i32::from(reply(&mut con, &format!("RATE.CHECK turn 5/1m {algorithm} NOW {T}")).starts_with("[0, "));
        }
        assert_eq!(passed, 10);
    }

    fn each_rule_has_its_burst(server: Server) {
        let mut con = server.connect();
        expect(&mut con, &format!("RATE.CHECK k 10/1s/20 1000/1h GCRA COST 20 EACH NOW {T}"),
               "[[0, 20, 0, 0, 2000, 1], [0, 1000, 980, 0, 72000, 2]]");
        expect(&mut con, &format!("RATE.CHECK k 10/1s/20 1000/1h GCRA NOW {T}"), "[1, 20, 0, 100, 2000, 1]");
    }

    fn a_calendar_has_windows_of_its_own(server: Server) {
        // T is 2027-01-15T08:00:00Z, a Friday.
        at_times(&mut server.connect(), &[
            (0, "RATE.CHECK k 2/day 9/month CALENDAR", "[0, 2, 1, 0, 57600000, 1]"),
            (57_599_999, "RATE.CHECK k 2/day 9/month CALENDAR", "[0, 2, 0, 0, 1, 1]"),
            (57_599_999, "RATE.CHECK k 2/day 9/month CALENDAR", "[1, 2, 0, 1, 1, 1]"),
            (57_600_000, "RATE.CHECK k 2/day 9/month CALENDAR", "[0, 2, 1, 0, 86400000, 1]"),
            (57_600_000, "RATE.PEEK k 9/month CALENDAR", "[0, 9, 6, 0, 1382400000, 1]"),
            (0, "RATE.CHECK z 2 DAY CALENDAR OFFSET +16:00", "[0, 2, 1, 0, 86400000, 1]"),
            (0, "RATE.CHECK z 2 week CALENDAR", "[0, 2, 1, 0, 230400000, 1]"),
            (0, "RATE.CHECK z 2 year CALENDAR OFFSET -08:00", "[0, 2, 1, 0, 30326400000, 1]"),
            (0, "RATE.CHECK z 2 hour CALENDAR OFFSET +05:45", "[0, 2, 1, 0, 900000, 1]"),
        ]);
    }

    fn what_is_given_back_can_be_taken_again(server: Server) {
        let mut con = server.connect();
        for algorithm in ALGORITHMS {
            let call = |command: &str, cost: u64| format!("RATE.{command} {algorithm} 5/1h 50/1d {algorithm} COST {cost} NOW {T}");
            expect(&mut con, &call("REFUND", 3), "[0, 5, 5, 0, 0, 1]");
            expect(&mut con, &format!("EXISTS {algorithm}"), "0");
            assert!(reply(&mut con, &call("CHECK", 5)).starts_with("[0, 5, 0, 0, "));
            assert!(reply(&mut con, &call("CHECK", 1)).starts_with("[1, 5, 0, "));
            let answer = reply(&mut con, &call("REFUND", 2));
            assert!(answer.starts_with("[0, 5, 2, 0, "), "{algorithm}: {answer}");
            assert!(reply(&mut con, &call("CHECK", 2)).starts_with("[0, 5, 0, 0, "));
            expect(&mut con, &call("REFUND", 99), "[0, 5, 5, 0, 0, 1]");
            expect(&mut con, &call("PEEK", 5), "[0, 5, 5, 0, 0, 1]");
        }
        for algorithm in STRINGS {
            expect(&mut con, &format!("EXISTS {algorithm}"), "0");
        }
        expect(&mut con, "ZRANGE SLIDING 0 -1", r#"["10+0/1d"]"#);
    }

    fn a_refund_of_many_calls(server: Server) {
        let mut con = server.connect();
        for call in 0..500 {
            assert!(reply(&mut con, &format!("RATE.CHECK k 1000 1h NOW {}", T + call / 7)).starts_with("[0, "));
        }
        let answer = reply(&mut con, &format!("RATE.REFUND k 1000 1h COST 321 NOW {}", T + 90));
        assert!(answer.starts_with("[0, 1000, 821, 0, "), "{answer}");
        expect(&mut con, "ZCARD k", "179");
        assert_ne!(reply(&mut con, "PTTL k"), "-1");
    }

    fn force_counts_what_it_denies(server: Server) {
        at_times(&mut server.connect(), &[
            (0, "RATE.CHECK s 5/1m FORCE COST 4", "[0, 5, 1, 0, 60000, 1]"),
            (1_000, "RATE.CHECK s 5/1m FORCE COST 4", "[1, 5, 0, 60000, 60000, 1]"),
            (60_000, "RATE.PEEK s 5/1m", "[0, 5, 1, 0, 1000, 1]"),
            (0, "RATE.CHECK f 5/1m FIXED FORCE COST 9", "[1, 5, 0, -1, 60000, 1]"),
            (0, "RATE.REFUND f 5/1m FIXED COST 5", "[0, 5, 1, 0, 60000, 1]"),
            // No deeper than twice the bucket.
            (0, "RATE.CHECK g 60/1m/10 GCRA FORCE COST 1000", "[1, 10, 0, -1, 20000, 1]"),
            (10_000, "RATE.PEEK g 60/1m/10 GCRA", "[1, 10, 0, 1000, 10000, 1]"),
            (0, "RATE.CHECK c 5/1m COUNTER FORCE COST 10", "[1, 5, 0, -1, 120000, 1]"),
            (0, "RATE.PEEK c 5/1m COUNTER", "[1, 5, 0, 96000, 120000, 1]"),
        ]);
    }

    fn a_penalty_closes_a_limiter(server: Server) {
        for algorithm in STRINGS {
            let mut con = server.connect();
            let mut call = |ms: u64, words: &str| reply(&mut con, &format!("RATE.{words} NOW {}", T + ms));
            assert!(call(0, &format!("CHECK {algorithm} 1/1s {algorithm} PENALTY 1m")).starts_with("[0, 1, 0, "));
            assert_eq!(call(0, &format!("CHECK {algorithm} 1/1s {algorithm} PENALTY 1m")), "[1, 1, 0, 60000, 60000, 0]");
            // Whatever rules later calls bring; and it is not prolonged.
            assert_eq!(call(10_000, &format!("CHECK {algorithm} 99/1h FIXED PENALTY 1h")), "[1, 99, 0, 50000, 50000, 0]");
            assert_eq!(call(10_000, &format!("PEEK {algorithm} 99/1h GCRA")), "[1, 99, 0, 50000, 50000, 0]");
            assert_eq!(call(10_000, &format!("CHECK {algorithm} 99/1h GCRA COST 0")), "[0, 99, 0, 0, 50000, 0]");
            assert_eq!(call(10_000, &format!("CHECK {algorithm} 9/1h GCRA COST 10")), "[1, 9, 0, -1, 50000, 0]");
            call(10_000, &format!("REFUND {algorithm} 1/1s {algorithm}"));
            assert_eq!(call(59_999, &format!("PEEK {algorithm} 9/1h GCRA")), "[1, 9, 0, 1, 1, 0]");
            assert_eq!(call(60_000, &format!("PEEK {algorithm} 9/1h GCRA")), "[0, 9, 9, 0, 0, 1]");
            expect(&mut con, &format!("PEXPIRETIME {algorithm}"), &(T + 60_000).to_string());
        }
    }

    fn several_keys_take_all_or_nothing(server: Server) {
        let mut con = server.connect();
        for algorithm in ALGORITHMS {
            let tag = format!("{{{algorithm}}}");
            let all = format!("RATE.ALL 3 {tag}user {tag}address {tag}all 2/1h 3/1h 100/1h {algorithm} NOW {T}");
            let each = |reply: &str| reply.split("], [").map(|six| six.trim_matches(['[', ']']).split(", ").nth(2).unwrap().to_string()).collect::<Vec<_>>();
            assert!(reply(&mut con, &all).starts_with("[0, 2, 1, 0, "));
            expect(&mut con, &format!("RATE.RESET {tag}user"), "1");
            assert!(reply(&mut con, &all).starts_with("[0, 3, 1, 0, ") || reply(&mut con, &all).starts_with("[0, "));
            let standing = reply(&mut con, &format!("{all} COST 0 EACH"));
            let denied = reply(&mut con, &format!("{all} COST 3 EACH"));
            assert_eq!(each(&standing), each(&denied), "{algorithm}: nothing was taken");
            let denied = reply(&mut con, &format!("{all} COST 101"));
            assert!(denied.starts_with("[1, 2, ") && denied.contains(", -1, "), "{denied}");
        }
        // Rules for the same key are several rules of that key.
        expect(&mut con, &format!("RATE.ALL 3 a b a 2/1m 9/1m 5/1h FIXED EACH NOW {T}"),
               "[[0, 2, 1, 0, 60000, 1], [0, 9, 8, 0, 60000, 2], [0, 5, 4, 0, 3600000, 3]]");
        expect(&mut con, &format!("RATE.ALL 2 a b 9/1m 1/1m FIXED NOW {T}"), "[1, 1, 0, 60000, 60000, 2]");
        for (args, error) in [
            ("0 a 1/1m", "ERR numkeys takes 1 to 100, got 0"),
            ("x a 1/1m", "ERR numkeys takes 1 to 100, got x"),
            ("9 a 1/1m", "ERR numkeys is 9 but 3 arguments follow"),
            ("2 a b 1/1m", "ERR RATE.ALL takes a rule for each key, but numkeys is 2 and the number of rules is 1"),
            ("1 a 1/1m 2/2m", "ERR RATE.ALL takes a rule for each key, but numkeys is 1 and the number of rules is 2"),
            ("2 a a 1/1m 2/1m", "ERR each rule needs its own window; 1m is repeated"),
            ("2 a b", "ERR rule takes a limit and a window, got none"),
        ] {
            expect(&mut con, &format!("RATE.ALL {args} FIXED"), error);
        }
        expect(&mut con, "ZADD board 5 ann", "1");
        expect(&mut con, "RATE.ALL 2 new board 1/1m 1/1m", "WRONGTYPE the key holds a sorted set that is not a limiter");
        expect(&mut con, "EXISTS new", "0");
        expect(&mut con, "COMMAND GETKEYS RATE.ALL 2 x y 1/1m 1/1m", r#"["x", "y"]"#);
    }

    fn answers_as_json(server: Server) {
        at_times(&mut server.connect(), &[
            (0, "RATE.CHECK j 5/1m FIXED JSON",
             r#""{\"limited\":false,\"rule\":1,\"limit\":5,\"remaining\":4,\"retry_after_ms\":0,\"reset_after_ms\":60000}""#),
            (0, "RATE.CHECK j 5/1m FIXED JSON EACH COST 5",
             r#""{\"limited\":true,\"rule\":1,\"limit\":5,\"remaining\":4,\"retry_after_ms\":60000,\"reset_after_ms\":60000,\"rules\":[{\"limited\":true,\"rule\":1,\"limit\":5,\"remaining\":4,\"retry_after_ms\":60000,\"reset_after_ms\":60000}]}""#),
        ]);
    }

    fn a_cost_of_nothing_always_passes_and_writes_nothing(server: Server) {
        let mut con = server.connect();
        for algorithm in ALGORITHMS {
            expect(&mut con, &format!("RATE.CHECK k 1 1m {algorithm} COST 0"), "[0, 1, 1, 0, 0, 1]");
            expect(&mut con, "EXISTS k", "0");
            assert!(reply(&mut con, &format!("RATE.CHECK k 1 1m {algorithm}")).starts_with("[0, 1, 0, 0, "));
            assert!(reply(&mut con, &format!("RATE.CHECK k 1 1m {algorithm} COST 0")).starts_with("[0, 1, 0, 0, "));
            expect(&mut con, "RATE.RESET k", "1");
        }
    }

    fn bad_arguments_are_named(server: Server) {
        let mut con = server.connect();
        let window = "ERR window takes 1ms to 366d, a whole number with ms, s, m, h, d or none for seconds, got ";
        let limit = "ERR limit takes 1 to 1000000000, got ";
        let cost = "ERR COST takes 0 to 1000000000, got ";
        for (args, error) in [
            ("0 60", format!("{limit}0")),
            ("-1 60", format!("{limit}-1")),
            ("1000000001 60 FIXED", format!("{limit}1000000001")),
            ("x 60", format!("{limit}x")),
            ("1.5/60", format!("{limit}1.5")),
            ("\"\\x00\\xff%s\" 60", format!("{limit}\\x00\\xff%s")),
            ("10 0", format!("{window}0")),
            ("10 -5", format!("{window}-5")),
            ("10 367d", format!("{window}367d")),
            ("10 99999999999999999999", format!("{window}99999999999999999999")),
            ("10/1w", format!("{window}1w")),
            ("10 1.5s", format!("{window}1.5s")),
            ("60", "ERR limit 60 has no window: write 60/1m, or 60 60".into()),
            ("60/", "ERR limit 60 has no window: write 60/1m, or 60 60".into()),
            ("60 GCRA", "ERR limit 60 has no window: write 60/1m, or 60 60".into()),
            ("GCRA", "ERR rule takes a limit and a window, got none".into()),
            ("10/1m 20/60s", "ERR each rule needs its own window; 1m is repeated".into()),
            ("10/1m BURST 5", "ERR BURST is only valid with GCRA".into()),
            ("10/1m FIXED BURST 5", "ERR BURST is only valid with GCRA".into()),
            ("10/1m GCRA BURST 0", "ERR BURST takes 1 to 1000000000, got 0".into()),
            ("10/1m COST -1", format!("{cost}-1")),
            ("10/1m COST 1000000001", format!("{cost}1000000001")),
            ("10/1s 20/1m GCRA BURST 5", "ERR BURST takes a single rule: with several, write limit/window/burst".into()),
            ("10/day", "ERR the window 'day' is only valid with CALENDAR".into()),
            ("10/1d CALENDAR", "ERR CALENDAR takes the windows hour, day, week, month and year".into()),
            ("10/day CALENDAR OFFSET 2h", "ERR OFFSET takes +hh:mm or -hh:mm, got 2h".into()),
            ("10/1d FIXED OFFSET +02:00", "ERR OFFSET is only valid with CALENDAR".into()),
            ("10/1m COST", "ERR COST needs a value".into()),
            ("10/1m NOW -1", "ERR NOW takes 0 to 9007199254740, got -1".into()),
            ("10/1m NOW 9007199254741", "ERR NOW takes 0 to 9007199254740, got 9007199254741".into()),
            ("10/1m COST 1 COST 1", "ERR COST is specified more than once".into()),
            ("10/1m GCRA FIXED", "ERR GCRA and FIXED are mutually exclusive".into()),
            ] {
            for command in ["CHECK", "PEEK"] {
                expect(&mut con, &format!("RATE.{command} k {args}"), &error);
            }
        }
        let options = "ERR option takes SLIDING, FIXED, COUNTER, GCRA, CALENDAR, BURST, OFFSET, COST";
        expect(&mut con, "RATE.CHECK k 10/1m WHEN 5", &format!("{options}, UPTO, FORCE, PENALTY, WAIT, STAMP, NOW, EACH or JSON, got WHEN"));
        expect(&mut con, "RATE.PEEK k 10/1m FORCE", &format!("{options}, UPTO, WAIT, NOW, EACH or JSON, got FORCE"));
        expect(&mut con, "RATE.REFUND k 10/1m FIXED PENALTY 5", &format!("{options}, NOW, EACH or JSON, got PENALTY"));
        expect(&mut con, "RATE.CHECK k 10/1m PENALTY 5", "ERR PENALTY is not valid with SLIDING: name FIXED, COUNTER, GCRA or CALENDAR");
        for (line, name) in [("RATE.CHECK k", "rate.check"), ("RATE.PEEK", "rate.peek"), ("RATE.RESET a b", "rate.reset")] {
            expect(&mut con, line, &format!("ERR wrong number of arguments for '{name}' command"));
        }
        expect(&mut con, "DBSIZE", "0");
    }

    fn a_log_has_a_largest_limit(kind: Kind) {
        let server = Server::builder(kind).args(&["rate-max-log", "500"]).start();
        let mut con = server.connect();
        let error = |most| format!(
            "TOOBIG limit takes 1 to {most} with SLIDING (rank.rate-max-log), got 501; COUNTER and GCRA take more"
        );
        expect(&mut con, "RATE.CHECK k 500 1h 501 1d", &error(500));
        expect(&mut con, "RATE.CHECK k 501 1h COUNTER COST 501 NOW 0", "[0, 501, 0, 0, 7200000, 1]");
        expect(&mut con, "CONFIG SET rank.rate-max-log 501", "+OK");
        expect(&mut con, "RATE.CHECK l 501 1h NOW 0", "[0, 501, 500, 0, 3600000, 1]");
        expect(&mut con, "CONFIG SET rank.rate-max-log 5", "+OK");
        expect(&mut con, "RATE.PEEK l 501 1h", &error(5));
        assert!(reply(&mut con, "CONFIG SET rank.rate-max-log 0").starts_with("ERR "));
    }

    fn sums_stop_short_of_an_overflow(server: Server) {
        let mut con = server.connect();
        for algorithm in ALGORITHMS {
            let call = format!("RATE.CHECK k 100000 366d {algorithm} COST 1000000000 NOW 9007199254740");
            expect(&mut con, &call, "[1, 100000, 100000, -1, 0, 1]");
        }
        expect(&mut con, "ZADD k 5 d3w5e11264sgsa+3/1s", "1");
        expect(&mut con, "RATE.CHECK k 9 1s NOW 0 COST 3", "ERR COST 3 would overflow the limiter");
        expect(&mut con, "ZCARD k", "1");
        expect(&mut con, "TTL k", "-1");
    }

    fn what_one_window_has_seen_lets_nothing_through_in_another(server: Server) {
        let mut con = server.connect();
        for algorithm in ["FIXED", "GCRA"] {
            script(&mut con, &format!(r#"
                FLUSHALL => +OK
                RATE.CHECK f 1/10s {algorithm} NOW 1900000000000 => [0, 1, 0, 0, 10000, 1]
                RATE.CHECK f 1/1s {algorithm} NOW 1900000020000 => [0, 1, 0, 0, 1000, 1]
                RATE.PEEK f 1/10s {algorithm} NOW 1900000005000 => [1, 1, 0, 5000, 5000, 1]
                RATE.PEEK f 1/10s 2/1s {algorithm} NOW 1900000005000 => [1, 1, 0, 5000, 5000, 1]
            "#));
        }
    }
}
