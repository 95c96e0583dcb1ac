//! `RATE.*`: what a call is told, and what bad input gets.

use crate::script::script;
use crate::support::*;

const ALGORITHMS: [&str; 4] = ["SLIDING", "FIXED", "COUNTER", "GCRA"];

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
        // One that drops a few, one that drops many, one that drops all the others.
        expect(&mut con, &format!("RATE.CHECK k 1000 1s NOW {}", T + 1_001), "[0, 1000, 1, 0, 1000, 1]");
        expect(&mut con, "ZCARD k", "999");
        expect(&mut con, &format!("RATE.CHECK k 1000 1s NOW {}", T + 1_500), "[0, 1000, 499, 0, 1000, 1]");
        expect(&mut con, "ZCARD k", "501");
        expect(&mut con, &format!("RATE.CHECK k 1000 1s NOW {}", T + 9_000), "[0, 1000, 999, 0, 1000, 1]");
        expect(&mut con, "ZRANGE k 0 -1 WITHSCORES", r#"["00000000000000001002+1", "1800000009000000"]"#);
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

    fn another_algorithm_of_the_same_type_starts_anew(server: Server) {
        let mut con = server.connect();
        expect(&mut con, &format!("RATE.CHECK k 5/1h 9/2h FIXED COST 5 NOW {T}"), "[0, 5, 0, 0, 3600000, 1]");
        expect(&mut con, "PEXPIREAT k 9000000000000", "1");
        expect(&mut con, &format!("RATE.CHECK k 5/1h GCRA COST 6 NOW {T}"), "[1, 5, 5, -1, 0, 1]");
        expect(&mut con, &format!("RATE.PEEK k 5/1h FIXED NOW {T}"), "[1, 5, 0, 3600000, 3600000, 1]");
        expect(&mut con, &format!("RATE.CHECK k 5/1h GCRA NOW {T}"), "[0, 5, 4, 0, 720000, 1]");
        expect(&mut con, "HLEN k", "2");
        expect(&mut con, "HGET k rate", r#""v1 gcra""#);
        expect(&mut con, "PEXPIRETIME k", &(T + 720_000).to_string());
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
        let cost = "ERR COST takes 0 to 9223372036854775807, got ";
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
            ("60", "ERR limit 60 has no window".into()),
            ("60/", "ERR limit 60 has no window".into()),
            ("60 GCRA", "ERR limit 60 has no window".into()),
            ("GCRA", "ERR rule takes a limit and a window, got none".into()),
            ("10/1m 20/60s", "ERR rules take different windows, got 60000ms twice".into()),
            ("10/1m BURST 5", "ERR BURST goes with GCRA alone".into()),
            ("10/1m FIXED BURST 5", "ERR BURST goes with GCRA alone".into()),
            ("10/1m GCRA BURST 0", "ERR BURST takes 1 to 1000000000, got 0".into()),
            ("10/1m COST -1", format!("{cost}-1")),
            ("10/1m COST 9223372036854775808", format!("{cost}9223372036854775808")),
            ("10/1m COST", "ERR COST needs a value".into()),
            ("10/1m NOW -1", "ERR NOW takes 0 to 9007199254740, got -1".into()),
            ("10/1m NOW 9007199254741", "ERR NOW takes 0 to 9007199254740, got 9007199254741".into()),
            ("10/1m COST 1 COST 1", "ERR COST is given twice".into()),
            ("10/1m GCRA FIXED", "ERR algorithm is given twice".into()),
            ("10/1m WHEN 5", "ERR option takes SLIDING, FIXED, COUNTER, GCRA, BURST, COST or NOW, got WHEN".into()),
        ] {
            for command in ["CHECK", "PEEK"] {
                expect(&mut con, &format!("RATE.{command} k {args}"), &error);
            }
        }
        for (line, name) in [("RATE.CHECK k", "rate.check"), ("RATE.PEEK", "rate.peek"), ("RATE.RESET a b", "rate.reset")] {
            expect(&mut con, line, &format!("ERR wrong number of arguments for '{name}' command"));
        }
        expect(&mut con, "DBSIZE", "0");
    }

    fn a_log_has_a_largest_limit(kind: Kind) {
        let server = Server::builder(kind).args(&["rate-max-log", "500"]).start();
        let mut con = server.connect();
        let error = |most| format!(
            "ERR limit takes 1 to {most} with SLIDING (rank.rate-max-log), got 501; COUNTER and GCRA take more"
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
            let call = format!("RATE.CHECK k 100000 366d {algorithm} COST 9223372036854775807 NOW 9007199254740");
            expect(&mut con, &call, "[1, 100000, 100000, -1, 0, 1]");
        }
        expect(&mut con, "ZADD k 5 18446744073709551610+3", "1");
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
