//! The keys of periods are named by a schema alone: whoever writes or reads needs permission for each of them, in a
//! cluster they are in one slot, and replicas, restarts and crashes have all of a write or nothing.

use std::thread;

use redis::Connection;

use crate::script::script;
use crate::support::*;
use crate::workload::{assert_same, assert_same_bytes, check_boards, snapshot};

/// 2023-11-14T22:13:20Z
const AT: i64 = 1_700_000_000_000;
const DAY_MS: i64 = 86_400_000;
const LONG: &str = "PERIOD MONTH {g}:month: PAST 400 PERIOD YEAR {g}:year: PAST 50";
const TRY_AGAIN: &str = "TRYAGAIN the slot is moving, and a key that the board's schema names is on the other node";

/// A connection of a user with these rules.
fn user(server: &Server, rules: &str) -> Connection {
    expect(&mut server.connect(), &format!("ACL SETUSER u reset on nopass {rules}"), "+OK");
    let mut con = server.connect();
    expect(&mut con, "AUTH u x", "+OK");
    con
}

/// The same call by itself, in a transaction and in a script.
#[track_caller]
fn every_way(con: &mut Connection, command: &str) -> Vec<String> {
    let mut answers = vec![reply(con, command)];
    expect(con, "MULTI", "+OK");
    assert_eq!(reply(con, command), "+QUEUED", "{command}");
    answers.push(reply(con, "EXEC").trim_start_matches('[').trim_end_matches(']').to_owned());
    answers.push(reply(con, &format!(r#"EVAL "return redis.pcall(unpack(ARGV))" 0 {command}"#)));
    answers
}

fn writes() -> Vec<String> {
    vec![
        format!("RANK.ADD {{g}} AT {AT} 9 ann"),
        format!("RANK.ADD {{g}} AT {AT} WITHRANK PERIOD year 9 new"),
        format!("RANK.MULTISET {{g}} AT {AT} 9 ann 8 bob"),
        format!("RANK.INCR {{g}} AT {AT} 1 ann"),
        "RANK.REM {g} ann".to_owned(),
    ]
}

const READS: &[&str] = &[
    "RANK.TOPN {g} 5 PERIOD year 2023",
    "RANK.GET {g} ann PERIOD year",
    "RANK.SCORE {g} ann PERIOD year 2023",
    "RANK.COUNT {g} PERIOD year -1",
    "RANK.FORSCORE {g} 5 PERIOD year 1999",
    "RANK.PERIODS {g}",
    "RANK.PERIODS {g} year JSON",
];

on_every_server! {
    fn permission_for_the_board_is_none_for_its_periods(server: Server) {
        let mut con = server.connect();
        expect(&mut con, &format!("RANK.CREATE {{g}} {LONG}"), "+OK");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} 5 ann"), "1");
        // The year is out of reach, whether it is there or not.
        for rules in ["+@all ~{g} ~{g}:month:*", "+@all ~{g} ~{g}:month:* %R~{g}:year:*"] {
            let mut user = user(&server, rules);
            let before = snapshot(&mut con);
            for write in writes() {
                for answer in every_way(&mut user, &write) {
                    assert!(answer.starts_with("NOPERM this user has no permissions to access '{g}:year:"), "{write}: {answer}");
                }
            }
            assert_same(&before, &snapshot(&mut con), rules);
            let may_read = rules.contains("%R");
            for read in READS {
                for answer in every_way(&mut user, read) {
                    assert_eq!(answer.starts_with("NOPERM"), !may_read, "{read}: {answer}");
                }
            }
            expect(&mut user, "RANK.TOPN {g} 5 PERIOD month 2023-11", r#"[[1, "ann", "5"]]"#);
        }
        let mut user = user(&server, "+@all ~{g}*");
        for write in writes() {
            for answer in every_way(&mut user, &write) {
                assert!(!answer.starts_with("NOPERM"), "{write}: {answer}");
            }
        }
    }

    /// A marker is an element that anybody who may `ZADD` can write.
    fn a_forged_marker_opens_no_door(server: Server) {
        let mut con = server.connect();
        script(&mut con, &format!("RANK.CREATE secret:2023 => +OK\n RANK.ADD secret:2023 7 eve => 1\n HSET secret:2024 a b => 1\n RANK.CREATE mine => +OK\n RANK.ADD mine AT {AT} 1 a => 1"));
        let before = snapshot(&mut con);
        let mut user = user(&server, "+@all ~mine*");
        for schema in ["PERIOD YEAR secret: PAST 50", "PERIOD YEAR secret: PAST 1000", "PERIOD YEAR mine: PAST 50 PERIOD MONTH secret:"] {
            assert_eq!(show_result(&cmdv(&mut user, &["ZREMRANGEBYRANK", "mine", "0", "0"])), "1");
            assert_eq!(show_result(&cmdv(&mut user, &["ZADD", "mine", "-inf", &format!("\0rank 2 FIELD score DESC FLOAT {schema} BOARD mine")])), "1");
            for command in ["RANK.ADD mine 9 x", "RANK.INCR mine 9 a", "RANK.REM mine a"] {
                let answer = reply(&mut user, command);
                assert!(answer.starts_with("NOPERM this user has no permissions to access 'secret:"), "{schema}, {command}: {answer}");
            }
            let unit = if schema.contains("MONTH") { "month" } else { "year 2023" };
            let answer = reply(&mut user, &format!("RANK.TOPN mine 5 PERIOD {unit}"));
            assert!(answer.starts_with("NOPERM"), "{schema}: {answer}");
            expect(&mut user, "RANK.SCORE mine a", "\"1\"");
        }
        // What no client could have said is no marker.
        for schema in [
            "PERIOD YEAR a: PERIOD YEAR b:", "PERIOD YEAR a: PAST 1001", "PERIOD EVERY 0m FROM 0 a:", "PERIOD EVERY 61s FROM 0 a:", "PERIOD YEAR a: PERIOD DAY a:",
            "OFFSET +01:00", "PERIOD YEAR a: OFFSET +99:00", "PERIOD EVERY 1d FROM 9999999999999999000 a:", "PERIOD YEAR %ZZ",
        ] {
            assert_eq!(show_result(&cmdv(&mut user, &["ZREMRANGEBYRANK", "mine", "0", "0"])), "1");
            assert_eq!(show_result(&cmdv(&mut user, &["ZADD", "mine", "-inf", &format!("\0rank 2 FIELD score DESC FLOAT {schema} BOARD mine")])), "1");
            for command in ["RANK.ADD mine 9 x", "RANK.REM mine a", "RANK.TOPN mine 5 PERIOD year", "RANK.PERIODS mine"] {
                let answer = reply(&mut user, command);
                assert!(answer.starts_with("DAMAGED the board's marker"), "{schema}, {command}: {answer}");
            }
        }
        expect(&mut con, "DEL mine", "1");
        let mut after = snapshot(&mut con);
        after.retain(|key, _| !key.contains("mine"));
        let mut before = before;
        before.retain(|key, _| !key.contains("mine"));
        assert_same(&before, &after, "the server");
    }

    fn a_replica_without_the_module_and_a_replay_have_the_same(kind: Kind) {
        let mut primary = Server::builder(kind).tcp().appendonly().config("appendfsync always").start();
        let replica = Server::builder(kind).without_module().replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        let mut con = primary.connect();
        for (board, schema) in [("plain", ""), ("spilled", "FIELD a INT TIES JOINED KEEP 5 DATA h"), ("packed", "FIELD a BITS 9 TIES FIRST UPDATE BEST")] {
            let periods = LONG.replace("{g}", board);
            expect(&mut con, &format!("RANK.CREATE {board} {schema} {periods} PERIOD HOUR {board}:hour: PAST 5"), "+OK");
            for step in 0..60 {
                let at = AT + step * 7 * DAY_MS;
                reply(&mut con, &format!("RANK.ADD {board} AT {at} {} m{}", step * 37 % 100, step % 9));
                reply(&mut con, &format!("RANK.INCR {board} AT {at} {} m{}", step % 5, step % 7));
                reply(&mut con, &format!("RANK.ADD {board} {} now{}", step % 50, step % 4));
            }
            reply(&mut con, &format!("RANK.REM {board} m1 now2"));
        }
        check_boards(&mut con, false);
        let before = snapshot(&mut con);
        expect(&mut con, "WAIT 1 0", "1");
        assert_same_bytes(&before, &snapshot(&mut replica.connect()), "the replica");
        primary.kill9();
        primary.restart();
        assert_same(&before, &snapshot(&mut primary.connect()), "the primary after its replay");
    }

    /// A crash in the midst of writes that begin new periods: each write is there in all of its boards, or in none.
    fn a_crash_at_a_rollover_leaves_no_half(kind: Kind) {
        let mut server = Server::builder(kind).appendonly().config("appendfsync always").start();
        expect(&mut server.connect(), "RANK.CREATE {g} FIELD a INT FIELD b INT PERIOD MONTH {g}:month: PAST 900", "+OK");
        let mut acknowledged = 0;
        for round in 0..3 {
            let mut con = server.connect();
            let from = acknowledged;
            let writer = thread::spawn(move || {
                let mut last = from;
                // Each write is the first of a month.
                for step in from + 1..from + 190 {
                    let at = AT - (step % 300) * 31 * DAY_MS;
                    if reply(&mut con, &format!("RANK.ADD {{g}} AT {at} {step} {step} m{step}")) != "1" {
                        break;
                    }
                    last = step;
                }
                last
            });
            let goal = from + 20 * (round + 1);
            wait_until(|| reply(&mut server.connect(), "RANK.COUNT {g}").parse().is_ok_and(|count: i64| count >= goal) || writer.is_finished());
            server.kill9();
            acknowledged = writer.join().expect("the writer ends");
            server.restart();
            let mut con = server.connect();
            let count: i64 = reply(&mut con, "RANK.COUNT {g}").parse().expect("a count");
            assert!(count >= acknowledged, "{acknowledged} acknowledged, {count} there");
            acknowledged = count;
            // Every member is on the board and on one period, which has its expiry.
            let keys: Vec<String> = redis::cmd("KEYS").arg("{g}:month:*").query(&mut con).expect("KEYS");
            let mut in_periods = 0;
            for key in &keys {
                in_periods += reply(&mut con, &format!("RANK.COUNT {key}")).parse::<i64>().expect("a count");
                assert_ne!(reply(&mut con, &format!("PEXPIRETIME {key}")), "-1", "{key}");
            }
            assert_eq!(in_periods, count);
            check_boards(&mut con, false);
        }
    }

    fn periods_are_in_the_slot_of_their_board(kind: Kind) {
        let cluster = Cluster::start(kind, false);
        let mut client = cluster.client();
        for (command, prefix) in [
            ("RANK.CREATE s PERIOD YEAR s", "s"), ("RANK.CREATE s PERIOD YEAR year:", "year:"), ("RANK.CREATE {s} PERIOD YEAR {t}:", "{t}:"),
            ("RANK.CREATE {s} PERIOD YEAR {s}: PERIOD DAY {s", "{s"), ("RANK.CREATE {s} PERIOD YEAR {}{s}:", "{}{s}:"),
        ] {
            let expected = format!("CROSSSLOT '{prefix}', which the board's schema names, is in another slot: give both keys the same hash tag");
            assert_eq!(client.line(command), expected, "{command}");
        }
        assert_eq!(client.line("RANK.CREATE s PERIOD YEAR {s}:y: PAST 50"), "+OK");
        assert_eq!(client.line("RANK.ALTER s PERIOD DAY day:"), "CROSSSLOT 'day:', which the board's schema names, is in another slot: give both keys the same hash tag");
        assert_eq!(client.line(&format!("RANK.ADD s AT {AT} 5 ann")), "1");
        assert_eq!(client.line("RANK.TOPN s 5 PERIOD year 2023"), r#"[[1, "ann", "5"]]"#);
        // A forged prefix.
        assert_eq!(client.send(&["ZREMRANGEBYRANK", "s", "0", "0"]), "1");
        assert_eq!(client.send(&["ZADD", "s", "-inf", "\0rank 2 FIELD score DESC FLOAT PERIOD YEAR else: PAST 50 BOARD s"]), "1");
        for command in [format!("RANK.ADD s AT {AT} 6 ann"), "RANK.REM s ann".into(), "RANK.TOPN s 5 PERIOD year 2023".into(), "RANK.PERIODS s".into()] {
            let answer = client.line(&command);
            assert!(answer.starts_with("CROSSSLOT 'else:"), "{command}: {answer}");
        }
        assert_eq!(client.line("RANK.SCORE s ann"), "\"5\"");
    }

    fn a_period_on_the_other_node_says_try_again(kind: Kind) {
        let cluster = Cluster::start(kind, false);
        let slot = cluster.slot_of("s");
        let mut client = cluster.client();
        assert_eq!(client.line("RANK.CREATE s PERIOD YEAR {s}:y: PAST 50 PERIOD MONTH {s}:m: PAST 400"), "+OK");
        assert_eq!(client.line(&format!("RANK.ADD s AT {AT} 5 ann")), "1");
        let (from, to) = (cluster.owner(slot), cluster.another_primary(slot));
        let mut source = from.connect();
        expect(&mut to.connect(), &format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(from)), "+OK");
        expect(&mut source, &format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(to)), "+OK");
        expect(&mut source, &format!("MIGRATE 127.0.0.1 {} {{s}}:m:2023-11 0 5000", to.port()), "+OK");
        let before = snapshot(&mut source);
        for command in [
            format!("RANK.ADD s AT {AT} 6 ann"), format!("RANK.INCR s AT {AT} 6 ann"), "RANK.REM s ann".into(), "RANK.TOPN s 5 PERIOD month 2023-11".into(), "RANK.PERIODS s".into(),
        ] {
            expect(&mut source, &command, TRY_AGAIN);
        }
        assert_same(&before, &snapshot(&mut source), "the source");
        // What touches the board, or a period that is here, goes on.
        expect(&mut source, "RANK.SCORE s ann", "\"5\"");
        expect(&mut source, "RANK.SCORE s ann PERIOD year 2023", "\"5\"");
        for key in ["{s}:y:2023", "s"] {
            expect(&mut source, &format!("MIGRATE 127.0.0.1 {} {key} 0 5000", to.port()), "+OK");
        }
        for node in [to, from] {
            expect(&mut node.connect(), &format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(to)), "+OK");
        }
        assert_eq!(client.line(&format!("RANK.ADD s AT {AT} WITHRANK PERIOD month 6 ann")), r#"[[1, 1, "ann", "6", "5"]]"#);
    }
}
