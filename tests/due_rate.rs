//! DUE: `RATE` hands out as many items as a limiter allows, and takes as many units from it: exactly, whoever asks, whoever
//! waits, and whatever else the command does.

use std::thread::JoinHandle;

use redis::Connection;

use crate::support::*;

fn blocked(server: &Server) -> usize {
    server.info("blocked_clients").parse().expect("a number")
}

#[track_caller]
fn wait_for(server: &Server, line: &str) -> JoinHandle<String> {
    let before = blocked(server);
    let (mut con, line) = (server.connect(), line.to_owned());
    let waiting = std::thread::spawn(move || reply(&mut con, &line));
    wait_until(|| blocked(server) > before || waiting.is_finished());
    waiting
}

/// Units left in a limiter.
fn left(con: &mut Connection, limiter: &str, rule: &str) -> i64 {
    let peek = reply(con, &format!("RATE.PEEK {limiter} {rule}"));
    let numbers: Vec<i64> = peek.trim_matches(['[', ']']).split(", ").map(|it| it.parse().expect(&peek)).collect();
    numbers[2]
}

fn rows(reply: &str) -> usize {
    reply.matches("[\"").count()
}

on_every_server! {
    fn units_taken_are_items_handed_out(server: Server) {
        let mut con = server.connect();
        for rule in ["5/1h", "5/1h FIXED", "5/1h COUNTER", "5/1h GCRA", "5/year CALENDAR", "5/1h/5 gcra", "5/1h SLIDING"] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, "DUE.ADD q AT 1 a b c d e f g h", "8");
            // Nothing is spent on an empty schedule.
            expect(&mut con, &format!("DUE.CLAIM none RATE r {rule}"), "[]");
            assert_eq!(left(&mut con, "r", rule), 5, "{rule}");
            assert_eq!(rows(&reply(&mut con, &format!("DUE.CLAIM q COUNT 2 RATE r {rule}"))), 2, "{rule}");
            assert_eq!(left(&mut con, "r", rule), 3, "{rule}");
            assert_eq!(rows(&reply(&mut con, &format!("DUE.POP q RATE r {rule} COUNT 9"))), 3, "{rule}");
            assert_eq!(left(&mut con, "r", rule), 0, "{rule}");
            let before = reply(&mut con, "DEBUG DIGEST");
            expect(&mut con, &format!("DUE.CLAIM q COUNT 2 RATE r {rule}"), "[]");
            expect(&mut con, &format!("DUE.POP q COUNT 2 RATE r {rule}"), "[]");
            assert_eq!(reply(&mut con, "DEBUG DIGEST"), before, "{rule}");
            // Fewer items than units.
            expect(&mut con, "RATE.RESET r", "1");
            assert_eq!(rows(&reply(&mut con, &format!("DUE.POP q COUNT 9 RATE r {rule}"))), 3, "{rule}");
            assert_eq!(left(&mut con, "r", rule), 2, "{rule}");
        }
    }

    fn dead_items_take_no_units_and_stay_while_the_rule_denies(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q AT 1 a b", "2");
        assert_eq!(rows(&reply(&mut con, "DUE.CLAIM q COUNT 2 LEASE 1ms")), 2);
        wait_until(|| reply(&mut con, "DUE.INFO q").contains("\"due\", 2"));
        expect(&mut con, "DUE.ADD q AT 1 c", "1");
        expect(&mut con, "RATE.CHECK r 2/1h COST 2", "[0, 2, 0, 0, 3600000, 1]");
        let before = reply(&mut con, "DEBUG DIGEST");
        expect(&mut con, "DUE.CLAIM q COUNT 5 ATTEMPTS 1 DEAD dead RATE r 2/1h", "[]");
        assert_eq!(reply(&mut con, "DEBUG DIGEST"), before);
        expect(&mut con, "RATE.RESET r", "1");
        assert_eq!(rows(&reply(&mut con, "DUE.CLAIM q COUNT 5 ATTEMPTS 1 DEAD dead RATE r 2/1h")), 1);
        assert_eq!((left(&mut con, "r", "2/1h"), reply(&mut con, "ZCARD dead").as_str()), (1, "2"));
    }

    fn a_wrong_limiter_changes_nothing(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q AT 1 a", "1");
        expect(&mut con, "RANK.CREATE board FIELD a INT", "+OK");
        expect(&mut con, "DUE.ADD other AT 1 x", "1");
        expect(&mut con, "SET text x", "+OK");
        expect(&mut con, "RPUSH list x", "1");
        expect(&mut con, "RATE.CHECK log 5/1h", "[0, 5, 4, 0, 3600000, 1]");
        let before = reply(&mut con, "DEBUG DIGEST");
        for (command, error) in [
            ("DUE.CLAIM q RATE board 5/1h", "WRONGTYPE"),
            ("DUE.POP q RATE other 5/1h", "WRONGTYPE"),
            ("DUE.POP q RATE text 5/1h", "WRONGTYPE"),
            ("DUE.POP q RATE text 5/1h FIXED", "WRONGTYPE"),
            ("DUE.CLAIM q BLOCK 0 RATE list 5/1h", "WRONGTYPE"),
            ("DUE.CLAIM q RATE log 5/1h GCRA", "WRONGTYPE"),
            ("DUE.POP q RATE q 5/1h", "ERR RATE takes a separate key, got q"),
            ("DUE.POP q DATA h RATE h 5/1h", "ERR RATE takes a separate key, got h"),
            ("DUE.POP q RATE h 5/1h DATA h", "ERR DATA takes a separate key, got h"),
            ("DUE.CLAIM q RATE h 5/1h ATTEMPTS 1 DEAD h", "ERR DEAD takes a separate key, got h"),
            ("DUE.POP q RATE r 5", "ERR limit 5 has no window"),
            ("DUE.POP q RATE r 5/1h/7", "ERR"),
            ("DUE.POP q RATE r x/1h", "ERR limit takes"),
            ("DUE.POP q RATE r 5/year", "ERR"),
            ("DUE.POP q RATE r 5/1h CALENDAR", "ERR"),
            ("DUE.POP q RATE r 5/1h LEAKY", "ERR unknown option 'LEAKY'"),
            ("DUE.POP q RATE r 1000000/1h", "TOOBIG"),
            ("DUE.POP q RATE r", "ERR RATE needs a value"),
            ("DUE.POP q RATE r 5/1h RATE r 5/1h", "ERR RATE is specified more than once"),
        ] {
            let got = reply(&mut con, command);
            assert!(got.starts_with(error) && is_error(&got), "{command}: {got}");
            assert_eq!(reply(&mut con, "DEBUG DIGEST"), before, "{command}");
        }
    }

    fn keys_are_told_by_position_and_need_permission(server: Server) {
        let mut con = server.connect();
        for (command, keys) in [
            ("DUE.CLAIM q RATE r 5/1s", r#"["q", "r"]"#),
            ("DUE.CLAIM DATA DATA RATE RATE r 5/1s GCRA ATTEMPTS 1 DEAD d", r#"["DATA", "RATE", "r", "d"]"#),
            ("DUE.POP RATE BLOCK 1 RATE r 5/1s FIXED DATA h", r#"["RATE", "r", "h"]"#),
        ] {
            // Keys may be called like options.
            expect(&mut con, &format!("COMMAND GETKEYS {command}"), keys);
        }
        expect(&mut con, "ACL SETUSER worker on nopass +@all ~q", "+OK");
        expect(&mut con, "DUE.ADD q AT 1 a", "1");
        let mut worker = server.connect();
        expect(&mut worker, "AUTH worker x", "+OK");
        assert!(reply(&mut worker, "DUE.POP q RATE r 5/1s").starts_with("NOPERM"));
        expect(&mut con, "ACL SETUSER worker ~r", "+OK");
        expect(&mut worker, "DUE.POP q RATE r 5/1s", r#"[["a", 1]]"#);
    }

    fn a_waiter_wakes_when_the_rule_allows(server: Server) {
        let mut con = server.connect();
        // The rule allows the second item after half a second; the first client is first.
        let waiting: Vec<_> = (0..2).map(|_| wait_for(&server, "DUE.POP q BLOCK 0 RATE r 1/500ms")).collect();
        expect(&mut con, "DUE.ADD q AT 1 a b", "2");
        let got: Vec<String> = waiting.into_iter().map(|waiting| waiting.join().expect("a reply")).collect();
        assert_eq!(got, [r#"[["a", 1]]"#, r#"[["b", 1]]"#]);
        // One that is denied when it comes.
        expect(&mut con, "DUE.ADD q AT 1 a b", "2");
        expect(&mut con, "DUE.POP q RATE r2 1/500ms", r#"[["a", 1]]"#);
        assert_eq!(wait_for(&server, "DUE.POP q BLOCK 0 RATE r2 1/500ms").join().expect("a reply"), r#"[["b", 1]]"#);
        // A reset is seen by the regular look, and a wait ends with nothing.
        expect(&mut con, "DUE.ADD q AT 1 a b", "2");
        expect(&mut con, "DUE.POP q RATE r3 1/1h", r#"[["a", 1]]"#);
        expect(&mut con, "DUE.POP q BLOCK 50ms RATE r3 1/1h", "[]");
        let waiting = wait_for(&server, "DUE.POP q BLOCK 0 RATE r3 1/1h");
        server.wait_for_due_checks(5);
        assert!(!waiting.is_finished());
        expect(&mut con, "RATE.RESET r3", "1");
        assert_eq!(waiting.join().expect("a reply"), r#"[["b", 1]]"#);
        assert_eq!(left(&mut con, "r3", "1/1h"), 0);
    }

    fn a_waiter_whose_rule_denies_holds_up_nobody(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RATE.CHECK used 1/1h", "[0, 1, 0, 0, 3600000, 1]");
        let denied: Vec<_> = (0..3).map(|_| wait_for(&server, "DUE.POP q BLOCK 0 RATE used 1/1h")).collect();
        let others = ["DUE.POP q BLOCK 0", "DUE.POP q BLOCK 0 RATE r 9/1h"];
        let others: Vec<_> = others.iter().map(|line| wait_for(&server, line)).collect();
        expect(&mut con, "DUE.ADD q AT 1 a b c", "3");
        let got: Vec<String> = others.into_iter().map(|waiting| waiting.join().expect("a reply")).collect();
        assert_eq!(got, [r#"[["a", 1]]"#, r#"[["b", 1]]"#]);
        assert!(denied.iter().all(|waiting| !waiting.is_finished()));
        assert_eq!((blocked(&server), left(&mut con, "r", "9/1h")), (3, 8));
        expect(&mut con, "RATE.RESET used", "1");
        wait_until(|| blocked(&server) == 2);
        expect(&mut con, "ZCARD q", "0");
    }

    /// The server refuses the command of a client that waits: no unit is taken for it.
    fn a_refused_write_takes_no_units(server: Server) {
        let mut con = server.connect();
        let waiting = wait_for(&server, "DUE.POP q BLOCK 0 RATE r 5/1h");
        expect(&mut con, "CONFIG SET min-replicas-to-write 1", "+OK");
        expect(&mut con, "CONFIG SET min-replicas-to-write 0", "+OK");
        expect(&mut con, "MULTI", "+OK");
        reply(&mut con, "DUE.ADD q AT 1 a");
        reply(&mut con, "CONFIG SET min-replicas-to-write 1");
        reply(&mut con, "EXEC");
        server.wait_for_due_checks(4);
        assert!(!waiting.is_finished());
        assert_eq!(left(&mut con, "r", "5/1h"), 5);
        expect(&mut con, "CONFIG SET min-replicas-to-write 0", "+OK");
        assert_eq!(waiting.join().expect("a reply"), r#"[["a", 1]]"#);
        assert_eq!(left(&mut con, "r", "5/1h"), 4);
    }

    fn schedules_that_share_a_limiter_take_turns(server: Server) {
        let mut con = server.connect();
        let mut waiting = Vec::new();
        for key in ["q1", "q2"] {
            // So that many are waiting all the time.
            waiting.extend((0..20).map(|_| wait_for(&server, &format!("DUE.POP {key} BLOCK 0 RATE r 1/15ms"))));
        }
        let items: String = (0..20).map(|i| format!(" i{i}")).collect();
        expect(&mut con, &format!("EVAL \"for k = 1, 2 do redis.call('DUE.ADD', 'q' .. k, 'AT', 1, unpack(ARGV)) end\" 0{items}"), "nil");
        let cards = |con: &mut Connection| ["q1", "q2"].map(|key| reply(con, &format!("ZCARD {key}")).parse::<i64>().expect("a number"));
        let mut seen = 0;
        while blocked(&server) > 0 {
            let [one, other] = cards(&mut con);
            assert!((one - other).abs() <= 2, "{one} and {other} are left");
            seen += i32::from(one > 0 && one < 20);
        }
        assert!(seen > 0);
        waiting.into_iter().for_each(|waiting| assert_eq!(rows(&waiting.join().expect("a reply")), 1));
        assert_eq!(cards(&mut con), [0, 0]);
    }
}
