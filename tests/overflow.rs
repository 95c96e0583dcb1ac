//! Members that begin and cease to fit their score, by every command that can do it: nothing is left behind, and nobody is
//! lost. (Whether all commands answer right meanwhile: model. Which bytes these are: layouts.)

use redis::Connection;

use crate::script::{script, Dice};
use crate::support::boards::{elements, replyv};
use crate::support::codes::Coder;
use crate::support::stored::{info, stored};
use crate::support::*;
use crate::workload::{snapshot, verify};

const SCHEMA: &str = "FIELD a INT FIELD b INT FIELD c INT";
/// Three times this one takes three index entries, once takes one.
const LONG: &str = "9000000000000000001";

/// That the board `key` has so many members, of whom so many have index entries, which are so many, and nothing is wrong.
#[track_caller]
fn holds(con: &mut Connection, key: &str, [members, overflow, entries]: [usize; 3]) {
    let got =
        [info(con, key, "members"), info(con, key, "overflow")].map(|count| count.parse::<usize>().expect("a count"));
    assert_eq!(got, [members, overflow], "{key}");
    assert_eq!(elements(con, key).len(), 1 + members + entries, "{key}");
    assert_eq!(verify(con, key.as_bytes(), false), [0; 5], "{key}");
}

on_every_server! {
    fn adding_and_incrementing(server: Server) {
        let mut con = server.connect();
        for entries in ["0", "128"] {
            script(&mut con, &format!("CONFIG SET zset-max-listpack-entries {entries} => +OK\n FLUSHALL => +OK\n RANK.CREATE k {SCHEMA} => +OK"));
            for (scores, overflow, entries) in [
                ("1 2 3".to_owned(), 0, 0),
                (format!("{LONG} 2 3"), 1, 1),
                (format!("{LONG} {LONG} {LONG}"), 1, 3),
                (format!("1 {LONG} {LONG}"), 1, 2),
                (format!("-1 -2 {LONG}"), 1, 1),
                ("-1 -2 -3".into(), 0, 0),
                (format!("{LONG} {LONG} {LONG}"), 1, 3),
                ("0 0 0".into(), 0, 0),
            ] {
                reply(&mut con, &format!("RANK.ADD k {scores} a"));
                expect(&mut con, "RANK.SCORE k a", &format!("[{}]", scores.replace(' ', ", ")));
                holds(&mut con, "k", [1, overflow, entries]);
            }
            // The last number that fits beside two small ones, and the next.
            expect(&mut con, "RANK.INCR k 0 0 4312929407 a", "[0, 0, 4312929407]");
            holds(&mut con, "k", [1, 0, 0]);
            expect(&mut con, "RANK.INCR k 0 0 1 a", "[0, 0, 4312929408]");
            holds(&mut con, "k", [1, 1, 1]);
            expect(&mut con, "RANK.INCR k 1 1 -1 a", "[1, 1, 4312929407]");
            holds(&mut con, "k", [1, 0, 0]);
            expect(&mut con, &format!("RANK.INCR k {LONG} 0 0 new"), &format!("[{LONG}, 0, 0]"));
            holds(&mut con, "k", [2, 1, 1]);
            // Several at once, the same one twice.
            expect(&mut con, &format!("RANK.ADD k CH {LONG} 1 1 a 1 1 1 a {LONG} 1 2 b 1 1 1 new 1 {LONG} 1 c 2 2 2 c"), "4");
            expect(&mut con, "RANK.TOPN k 9", &format!("[[1, \"b\", {LONG}, 1, 2], [2, \"c\", 2, 2, 2], [3, \"new\", 1, 1, 1], [3, \"a\", 1, 1, 1]]"));
            holds(&mut con, "k", [4, 1, 1]);
            // What is refused changes nothing.
            for refused in [format!("ADD k {LONG} 1 1 d {LONG} 1 x e"), format!("INCR k {LONG} 1 1 b"), format!("ADD k NX {LONG} 9 9 a"), format!("ADD k XX {LONG} 9 9 nobody"), format!("ADD k BEST 1 {LONG} 9 b")] {
                let before = elements(&mut con, "k");
                reply(&mut con, &format!("RANK.{refused}"));
                assert_eq!(elements(&mut con, "k"), before, "{refused}");
            }
            // BEST judges the values, however they are stored.
            expect(&mut con, &format!("RANK.ADD k CH BEST 1 1 {LONG} a"), "1");
            expect(&mut con, "RANK.ADD k CH BEST 2 0 0 a", "1");
            holds(&mut con, "k", [4, 1, 1]);
        }
    }

    fn bounds_trims_and_pops(server: Server) {
        let mut con = server.connect();
        let fill = |con: &mut Connection, rules: &str| {
            script(con, &format!("FLUSHALL => +OK\n RANK.CREATE k {SCHEMA} {rules} => +OK"));
            for number in 1..=8 {
                let other = if number % 2 == 0 { LONG } else { "5" };
                expect(con, &format!("RANK.ADD k {number} {other} {other} m{number}"), "1");
            }
        };
        fill(&mut con, "");
        holds(&mut con, "k", [8, 4, 8]);
        expect(&mut con, "RANK.TRIM k 6 RETURN", r#"["m2", "m1"]"#);
        holds(&mut con, "k", [6, 3, 6]);
        expect(&mut con, "RANK.TRIM k 4", "2");
        holds(&mut con, "k", [4, 2, 4]);
        expect(&mut con, "RANK.POP k", &format!(r#"[[1, "m8", 8, {LONG}, {LONG}]]"#));
        expect(&mut con, "RANK.POP k 2 WORST", &format!(r#"[[3, "m5", 5, 5, 5], [2, "m6", 6, {LONG}, {LONG}]]"#));
        holds(&mut con, "k", [1, 0, 0]);
        fill(&mut con, "");
        expect(&mut con, "RANK.ALTER k KEEP 3", "+OK");
        holds(&mut con, "k", [3, 2, 4]);
        // A newcomer pushes out the worst: one that fits, one that does not.
        expect(&mut con, &format!("RANK.ADD k 9 {LONG} 5 n1"), "1");
        holds(&mut con, "k", [3, 2, 3]);
        expect(&mut con, "RANK.ADD k 9 5 5 n2 10 5 5 n3 11 5 5 n4", "2");
        holds(&mut con, "k", [3, 1, 1]);
        expect(&mut con, "RANK.TOPN k 9", &format!(r#"[[1, "n4", 11, 5, 5], [2, "n3", 10, 5, 5], [3, "n1", 9, {LONG}, 5]]"#));
        // Who is no better is refused, by fields that are in the score and by fields that are not.
        for refused in [format!("9 {LONG} 5"), format!("9 {LONG} 4"), format!("9 {} 6", &LONG[1..]), "9 5 5".into(), "-5 5 5".into()] {
            let before = elements(&mut con, "k");
            expect(&mut con, &format!("RANK.ADD k {refused} late"), "0");
            assert_eq!(elements(&mut con, "k"), before, "{refused}");
        }
        expect(&mut con, &format!("RANK.ADD k 9 {LONG} 6 n5"), "1");
        holds(&mut con, "k", [3, 1, 1]);
        expect(&mut con, "RANK.SCORE k n1", "nil");
        fill(&mut con, "");
        expect(&mut con, "RANK.REM k m2 m1 m2 nobody m8", "3");
        holds(&mut con, "k", [5, 2, 4]);
        expect(&mut con, "RANK.CLEAR k", "5");
        holds(&mut con, "k", [0, 0, 0]);
        // KEEP of a command, and of a board that becomes one with a bound.
        fill(&mut con, "");
        expect(&mut con, &format!("RANK.ADD k KEEP 2 9 {LONG} {LONG} n"), "1");
        holds(&mut con, "k", [2, 2, 4]);
    }

    fn loads(server: Server) {
        let mut con = server.connect();
        let line = |member: &str, a: &str, b: &str| format!(r#"{{"member":"{member}","scores":{{"a":{a},"b":{b},"c":1}}}}"#);
        script(&mut con, &format!("RANK.CREATE k {SCHEMA} KEEP 3 => +OK"));
        let load = |con: &mut Connection, lines: &[String]| {
            let mut words = vec!["RANK.LOAD".to_owned(), "k".into()];
            words.extend(lines.iter().cloned());
            replyv(con, &words)
        };
        assert_eq!(load(&mut con, &[line("a", "1", LONG), line("b", "2", "2"), line("a", "3", "3"), line("b", "2", LONG)]), "2");
        holds(&mut con, "k", [2, 1, 1]);
        assert_eq!(load(&mut con, &[line("c", LONG, LONG), line("d", "4", "4"), line("e", "1", "1"), line("c", "9", "9")]), "2");
        holds(&mut con, "k", [3, 0, 0]);
        expect(&mut con, "RANK.TOPN k 9", r#"[[1, "c", 9, 9, 1], [2, "d", 4, 4, 1], [3, "a", 3, 3, 1]]"#);
        let before = elements(&mut con, "k");
        assert!(load(&mut con, &[line("c", LONG, LONG), line("d", "4", "1e300")]).starts_with("OUTOFRANGE line 2"));
        assert_eq!(elements(&mut con, "k"), before);
    }

    fn periods(server: Server) {
        let mut con = server.connect();
        let at = 1_700_000_000_000_i64;
        script(&mut con, &format!("RANK.CREATE {{g}} {SCHEMA} PERIOD YEAR {{g}}:y: PAST 900 PERIOD MONTH {{g}}:m: PAST 90 => +OK"));
        expect(&mut con, &format!("RANK.ADD {{g}} AT {at} {LONG} 1 1 a 1 1 1 b"), "2");
        expect(&mut con, &format!("RANK.INCR {{g}} AT {at} 1 1 {LONG} b"), &format!("[2, 2, {}2]", &LONG[..LONG.len() - 1]));
        let boards = ["{g}", "{g}:y:2023", "{g}:m:2023-11"];
        for board in boards {
            holds(&mut con, board, [2, 2, 2]);
        }
        expect(&mut con, &format!("RANK.ADD {{g}} AT {at} 1 1 1 a"), "0");
        for board in boards {
            holds(&mut con, board, [2, 1, 1]);
        }
        // Each board judges for itself.
        expect(&mut con, "RANK.ADD {g}:y:2023 5 5 5 a", "0");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {at} BEST 2 {LONG} 1 a"), "0");
        holds(&mut con, "{g}", [2, 2, 2]);
        holds(&mut con, "{g}:y:2023", [2, 1, 1]);
        // A sum that only one of them cannot hold.
        expect(&mut con, &format!("RANK.ADD {{g}}:m:2023-11 {LONG} 1 1 b"), "0");
        let before = snapshot(&mut con);
        assert!(reply(&mut con, &format!("RANK.INCR {{g}} AT {at} {LONG} 1 1 b")).starts_with("OUTOFRANGE in the board's period '{g}:m:2023-11'"));
        assert_eq!(snapshot(&mut con), before);
        expect(&mut con, "RANK.REM {g} a b", "2");
        for board in boards {
            holds(&mut con, board, [0, 0, 0]);
        }
    }

    /// Each step of a long life, byte by byte, with replicas and a restart behind it.
    fn what_replicas_and_files_have_is_the_same(kind: Kind) {
        let mut server = Server::builder(kind).tcp().appendonly().config("appendfsync always").start();
        let replica = Server::builder(kind).without_module().replica_of(&server).start();
        let mut con = server.connect();
        let mut dice = Dice::new(5);
        expect(&mut con, &format!("RANK.CREATE k {SCHEMA} TIES LAST SINCE 1700000000000"), "+OK");
        for _ in 0..600 {
            let scores = [0, 1, 2].map(|_| if dice.once_in(3) { LONG.to_owned() } else { dice.roll(9).to_string() }).join(" ");
            let member = ["a", "b", "\\x01c", "\\x02", "", "f", "g"][dice.roll(7)];
            let at = 1_699_999_999_990 + dice.roll(20);
            match dice.roll(12) {
                0 => reply(&mut con, &format!("RANK.REM k \"{member}\"")),
                1 => reply(&mut con, "RANK.TRIM k 4"),
                2 => reply(&mut con, &format!("RANK.ADD k KEEP 5 AT {at} {scores} \"{member}\" {scores} other")),
                _ => reply(&mut con, &format!("RANK.ADD k AT {at} {scores} \"{member}\"")),
            };
        }
        assert_eq!(verify(&mut con, b"k", false), [0; 5]);
        let before = (stored(&mut con, "k"), reply(&mut con, "RANK.TOPN k 99 WITHTIME"));
        replica.wait_for_sync(&server);
        assert_eq!(stored(&mut replica.connect(), "k"), before.0);
        for _ in 0..2 {
            server.kill9();
            server.restart();
            let mut con = server.connect();
            assert_eq!((stored(&mut con, "k"), reply(&mut con, "RANK.TOPN k 99 WITHTIME")), before);
            // Scheduled, where the replica that comes back is just being sent everything.
            let rewrite = reply(&mut con, "BGREWRITEAOF");
            assert!(rewrite.starts_with("+Background append only file rewriting "), "{rewrite}");
            server.wait_for_aof_rewrite();
        }
    }

    /// The values that people have, at every bound and at random: none of them overflows.
    fn what_people_store_fits(server: Server) {
        let mut con = server.connect();
        let mut dice = Dice::new(2);
        const SINCE: i64 = 1_700_000_000_000;
        const DAY: i64 = 86_400_000;
        let count = if server_wrapper().is_some() { 100 } else { 3_000 };
        // Schema, the largest value of each field, its denominator, days of tie times.
        let table: [(&str, i64, f64, i64); 9] = [
            ("FIELD a INT FIELD b INT FIELD c INT", 99_999, 1.0, 0),
            ("FIELD a INT FIELD b INT", 9_999_999, 1.0, 0),
            ("FIELD a INT TIES FIRST", 1_000_000, 1.0, 730),
            ("FIELD a INT TIES JOINED", 100_000, 1.0, 11 * 365),
            ("FIELD a INT TIES LAST", 16_000_000, 1.0, 99),
            ("FIELD a FLOAT TIES FIRST", 1_000_000, 1.0, 730),
            ("FIELD a ASC FLOAT TIES FIRST", 999_999, 1000.0, 99),
            ("FIELD a BITS 22 TIES LAST", (1 << 22) - 1, 1.0, 11 * 365),
            ("FIELD a ASC INT FIELD b INT FIELD c ASC INT", 99_999, 1.0, 0),
        ];
        for (number, (schema, most, per, days)) in table.into_iter().enumerate() {
            let key = format!("k{number}");
            let fields = schema.matches("FIELD").count();
            let since = if days > 0 { format!(" SINCE {SINCE}") } else { String::new() };
            expect(&mut con, &format!("RANK.CREATE {key} {schema}{since}"), "+OK");
            let coder = Coder::new(schema, SINCE);
            let bounds = [0, 1, 127, 128, 1151, 1152, 5247, 5248, 136_319, 136_320, 1_184_895, 1_184_896, most - 1, most];
            let value = |dice: &mut Dice| {
                let value = if dice.once_in(8) { bounds[dice.roll(bounds.len())].min(most) } else { dice.roll(most as usize + 1) as i64 };
                if schema.contains("FLOAT") { (value as f64 / per).to_string() } else { value.to_string() }
            };
            let mut pipe = redis::pipe();
            for member in 0..count {
                let scores: Vec<String> = match member {
                    0 => vec![if schema.contains("FLOAT") { (most as f64 / per).to_string() } else { most.to_string() }; fields],
                    1 => vec!["0".into(); fields],
                    _ => (0..fields).map(|_| value(&mut dice)).collect(),
                };
                let at = match member % 7 {
                    0 => SINCE + days * DAY,
                    1 => SINCE,
                    _ => SINCE + dice.roll((days * DAY) as usize + 1) as i64,
                };
                assert!(coder.code(&scores, at).len() <= 63, "{schema}: {scores:?} AT {at}");
                pipe.cmd("RANK.ADD").arg(&key);
                if days > 0 {
                    pipe.arg("AT").arg(at);
                }
                scores.iter().for_each(|score| {
                    pipe.arg(score);
                });
                pipe.arg(format!("m{member}"));
            }
            let added: Vec<i64> = pipe.query(&mut con).expect("all are written");
            assert!(added.iter().all(|added| *added == 1), "{schema}");
            let got = ["members", "overflow"].map(|field| info(&mut con, &key, field));
            assert_eq!(got, [count.to_string(), "0".into()], "{schema}");
            expect(&mut con, &format!("ZCARD {key}"), &(count + 1).to_string());
        }
        assert_eq!(server.info("rank_members_overflowed"), "0");
    }
}
