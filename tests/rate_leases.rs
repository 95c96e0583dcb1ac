//! Leases: never more than the limit, tokens that grow, and what is left of a holder that died.

use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;

use crate::support::*;

/// A time of the caller's, in ms, ahead of the server's clock.
const T: i64 = 1_800_000_000_000;

fn integers(text: &str) -> Vec<i64> {
    text.trim_matches(['[', ']'])
        .split(", ")
        .map(|number| number.parse().unwrap_or_else(|_| panic!("{text}")))
        .collect()
}

fn acquire(con: &mut redis::Connection, words: &str) -> Vec<i64> {
    integers(&reply(con, &format!("RATE.ACQUIRE {words}")))
}

on_every_server! {
    fn so_many_at_once(server: Server) {
        let mut con = server.connect();
        let (a, b) = (T * 1_000, T * 1_000 + 1_000_000);
        for (line, expected) in [
            (format!("RATE.HELD k NOW {T}"), "[0, -1]".into()),
            (format!("RATE.ACQUIRE k 2 10s NOW {T}"), format!("[0, 2, 1, 0, 10000, {a}]")),
            (format!("RATE.ACQUIRE k 2 5s NOW {}", T + 1_000), format!("[0, 2, 0, 0, 9000, {b}]")),
            (format!("RATE.ACQUIRE k 2 5s NOW {}", T + 2_000), "[1, 2, 0, 4000, 8000, 0]".into()),
            (format!("RATE.HELD k NOW {}", T + 2_000), "[2, 4000]".into()),
            // A lowered limit evicts nobody.
            (format!("RATE.ACQUIRE k 1 5s NOW {}", T + 2_000), "[1, 1, 0, 4000, 8000, 0]".into()),
            ("PEXPIRETIME k".into(), (T + 10_000).to_string()),
            (format!("RATE.RENEW k {b} 20s NOW {}", T + 2_000), "1".into()),
            ("PEXPIRETIME k".into(), (T + 22_000).to_string()),
            (format!("RATE.HELD k NOW {}", T + 10_000), "[1, 12000]".into()),
            // Too late: it ended on the microsecond.
            (format!("RATE.RENEW k {a} 20s NOW {}", T + 10_000), "0".into()),
            (format!("RATE.RELEASE k {b} {b} 5"), "1".into()),
            (format!("RATE.RELEASE k {b}"), "0".into()),
            (format!("RATE.HELD k NOW {}", T + 10_000), "[0, -1]".into()),
            (format!("RATE.ACQUIRE k 1 1s JSON NOW {}", T + 10_000), format!(
                r#""{{\"limited\":false,\"limit\":1,\"remaining\":0,\"retry_after_ms\":0,\"reset_after_ms\":1000,\"token\":{}}}""#,
                (T + 10_000) * 1_000)),
            ("ZRANGE k 0 -1".into(), format!(r#"["last", "{}"]"#, (T + 10_000) * 1_000)),
        ] {
            expect(&mut con, &line, &expected);
        }
    }

    fn bad_arguments_are_named(server: Server) {
        let mut con = server.connect();
        let lease = "ERR lease takes 1ms to 366d, a whole number with ms, s, m, h, d or none for seconds, got ";
        for (line, error) in [
            ("ACQUIRE k 0 1s", "ERR limit takes 1 to 1000000000, got 0".into()),
            ("ACQUIRE k 1 0s", format!("{lease}0s")),
            ("ACQUIRE k 1 366d NOW 9007199254740", "ERR the lease would end after 9007199254740, the latest time in ms".into()),
            ("ACQUIRE k 1 1s EACH", "ERR unknown option 'EACH'".into()),
            ("ACQUIRE k 1 1s NOW", "ERR NOW needs a value".into()),
            ("ACQUIRE k 1 1s NOW 1 NOW 1", "ERR NOW is specified more than once".into()),
            ("RENEW k x 1s", "ERR token takes a token of RATE.ACQUIRE, got x".into()),
            ("RENEW k 5 1w", format!("{lease}1w")),
            ("RELEASE k 5 0", "ERR token takes a token of RATE.ACQUIRE, got 0".into()),
            ("HELD k NOW x", "ERR NOW takes 0 to 9007199254740, got x".into()),
            ("RELEASE k", "ERR wrong number of arguments for 'rate.release' command".into()),
        ] {
            expect(&mut con, &format!("RATE.{line}"), &error);
        }
        expect(&mut con, "DBSIZE", "0");
    }

    fn tokens_grow_across_restarts_and_clocks_that_go_back(kind: Kind) {
        let mut server = Server::builder(kind).appendonly().config("appendfsync always").start();
        let mut last = 0;
        for now in [T, T, T - 3_600_000, T + 1, 0] {
            let granted = acquire(&mut server.connect(), &format!("k 99 1h NOW {now}"));
            assert_eq!(granted[0], 0);
            assert!(granted[5] > last, "{} after {last}", granted[5]);
            last = granted[5];
            server.kill9();
            server.restart();
        }
        // Those that were granted by a clock an hour back, or at the epoch, have ended by now.
        assert!(reply(&mut server.connect(), &format!("RATE.HELD k NOW {T}")).starts_with("[3, "));
    }

    fn fifty_clients_never_hold_more(server: Server) {
        const LIMIT: i64 = 5;
        let held = AtomicI64::new(0);
        let granted = AtomicI64::new(0);
        thread::scope(|scope| {
            for _ in 0..50 {
                scope.spawn(|| {
                    let mut con = server.connect();
                    for _ in 0..40 {
                        let answer = acquire(&mut con, &format!("k {LIMIT} 1h"));
                        if answer[0] == 1 {
                            continue;
                        }
                        granted.fetch_add(1, Ordering::SeqCst);
                        assert!(held.fetch_add(1, Ordering::SeqCst) < LIMIT, "too many at once");
                        thread::yield_now();
                        held.fetch_sub(1, Ordering::SeqCst);
                        expect(&mut con, &format!("RATE.RELEASE k {}", answer[5]), "1");
                    }
                });
            }
        });
        assert!(granted.load(Ordering::SeqCst) >= LIMIT);
        expect(&mut server.connect(), "RATE.HELD k", "[0, -1]");
    }

    fn a_holder_that_dies_frees_its_place(server: Server) {
        let mut con = server.connect();
        let first = acquire(&mut con, "k 1 30ms");
        assert_eq!(first[0], 0);
        wait_until(|| acquire(&mut con, "k 1 1h")[0] == 0);
        expect(&mut con, &format!("RATE.RELEASE k {}", first[5]), "0");
        expect(&mut con, &format!("RATE.RENEW k {} 1h", first[5]), "0");
        assert!(reply(&mut con, "RATE.HELD k").starts_with("[1, "));
    }

    fn many_leases_that_ended_go_at_once(server: Server) {
        let mut con = server.connect();
        for lease in 0..300 {
            assert_eq!(acquire(&mut con, &format!("k 500 {}ms NOW {T}", lease + 1))[0], 0);
        }
        assert!(reply(&mut con, &format!("RATE.HELD k NOW {}", T + 100)).starts_with("[200, "));
        assert_eq!(acquire(&mut con, &format!("k 500 1s NOW {}", T + 300))[2], 499);
        expect(&mut con, "ZCARD k", "2");
    }
}
