//! Members equal on all fields: who comes first, and when their time moves.

use redis::{Connection, Value};

use crate::support::boards::replyv;
use crate::support::codes::Coder;
use crate::support::stored::{in_order, info, marker, stored, EPOCH_MS};
use crate::support::*;

/// Times are of the year 2020. With `SINCE` most of these members fit their score; without it they lie before it, and none
/// does.
const SINCES: &[&str] = &["", "SINCE 1577836800000"];

/// `{}` stands for the direction.
const MS: &[&str] = &[
    "FIELD a {} DIGITS 3",
    "FIELD a {} RANGE -900 900",
    "FIELD a {} INT",
    "FIELD a {} BITS 40",
    "FIELD a {} FLOAT",
    "FIELD a {} DIGITS 9 FIELD b RANGE 0 9 FIELD c DIGITS 9",
    "FIELD a {} INT FIELD b INT FIELD c RANGE -9000000000000000000 9000000000000000000",
];
const S: &[&str] = &["FIELD a {} BITS 20", "FIELD a {} BITS 40", "FIELD a {} INT"];

/// The members in board order.
#[track_caller]
fn order(con: &mut Connection, key: &str) -> String {
    let Ok(Value::Array(rows)) = cmd(con, &format!("RANK.TOPN {key} 1000")) else { panic!("no rows of {key}") };
    let member = |row: &Value| match row {
        Value::Array(row) => show(&row[1]).trim_matches('"').to_string(),
        other => panic!("not a row: {other:?}"),
    };
    rows.iter().map(member).collect::<Vec<_>>().join(" ")
}

/// Runs `test` on a board `k` of many schemas, both directions and each unit of time. It gets what
/// completes a score beyond its first field, and a function from a step to `AT …`.
fn on_every_board(
    server: &Server,
    rule: &str,
    more: &str,
    test: impl Fn(&mut Connection, &str, &dyn Fn(i64) -> String),
) {
    let mut con = server.connect();
    for (unit, step, boards) in [("MS", 1, MS), ("S", 1000, S)] {
        for schema in boards {
            for (direction, since) in ["DESC", "ASC"].iter().flat_map(|it| SINCES.iter().map(move |since| (it, since)))
            {
                let schema = schema.replace("{}", direction);
                expect(&mut con, "FLUSHALL", "+OK");
                expect(&mut con, &format!("RANK.CREATE k {schema} TIES {rule} {unit} {more} {since}"), "+OK");
                assert_eq!(info(&mut con, "k", "layout"), "\"coded\"", "{schema} {unit}");
                let rest = if schema.contains(" c ") { "3 7" } else { "" };
                test(&mut con, rest, &|at| format!("AT {}", EPOCH_MS + 10_000_000 + at * step));
            }
        }
    }
}

on_every_server! {
    fn who_was_first_last_or_joined_first_is_better(server: Server) {
        for (rule, expected) in [("FIRST", "a c b"), ("LAST", "b c a"), ("JOINED", "a b c")] {
            on_every_board(&server, rule, "", |con, rest, at| {
                for (member, score, time) in
                    [("b", 10, 2), ("a", 10, 1), ("c", 10, 3), ("b", 20, 4), ("b", 10, 5), ("a", 10, 9), ("c", 10, 8)]
                {
                    reply(con, &format!("RANK.ADD k {} {score} {rest} {member}", at(time)));
                }
                assert_eq!(order(con, "k"), expected, "{rule} {}", info(con, "k", "schema"));
                // Ranks of the board's kind, of the fields alone, and of groups.
                let first = expected.split(' ').next().expect("a member");
                let names = expected.split(' ').map(|name| format!("\"{name}\"")).collect::<Vec<_>>();
                for (number, name) in names.iter().enumerate() {
                    for (kind, rank) in [("", number + 1), ("ORDINAL", number + 1), ("COMPETITION", 1), ("DENSE", 1)] {
                        let row = reply(con, &format!("RANK.GET k {name} {kind}"));
                        assert!(row.starts_with(&format!("[{rank}, {name}, ")), "{kind} {row}");
                    }
                }
                expect(con, &format!("RANK.QUERY k {first}"), &format!("[1, [{}]]", names.join(", ")));
                expect(con, "RANK.STATS k", &format!("[[1, [{}]]]", names.join(", ")));
                expect(con, "RANK.QUERY k a ORDINAL LIMIT 1 1", &format!("[1, [{}]]", names[1]));
                let before_equals = rule == "LAST";
                let behind = if before_equals { "1" } else { "4" };
                expect(con, &format!("RANK.FORSCORE k 10 {rest} ORDINAL"), behind);
                expect(con, &format!("RANK.FORSCORE k 10 {rest}"), behind);
                expect(con, &format!("RANK.FORSCORE k 10 {rest} COMPETITION"), "1");
            });
        }
    }

    fn an_equal_score_does_not_move_the_time(server: Server) {
        for rule in ["FIRST", "LAST", "JOINED"] {
            on_every_board(&server, rule, "", |con, rest, at| {
                expect(con, &format!("RANK.ADD k {} 10 {rest} a", at(5)), "1");
                let (content, changes) = (stored(con, "k"), server.info("rdb_changes_since_last_save"));
                let zeros = if rest.is_empty() { "" } else { "0 0" };
                for same in [
                    format!("RANK.ADD k {} CH 10 {rest} a", at(9)),
                    format!("RANK.ADD k {} CH BEST 10 {rest} a", at(1)),
                    format!("RANK.ADD k CH 10 {rest} a 10 {rest} a"),
                ] {
                    expect(con, &same, "0");
                }
                reply(con, &format!("RANK.INCR k {} 0 {zeros} a", at(9)));
                assert_eq!(stored(con, "k"), content, "{rule}");
                assert_eq!(server.info("rdb_changes_since_last_save"), changes, "{rule}");
            });
        }
    }

    fn a_changed_score_moves_the_time_unless_joined(server: Server) {
        for (rule, after_incr) in [("FIRST", "b a"), ("LAST", "a b"), ("JOINED", "a b")] {
            on_every_board(&server, rule, "", |con, rest, at| {
                let deltas = if rest.is_empty() { "2" } else { "2 0 0" };
                expect(con, &format!("RANK.ADD k {} 8 {rest} a", at(1)), "1");
                expect(con, &format!("RANK.ADD k {} 10 {rest} b", at(2)), "1");
                reply(con, &format!("RANK.INCR k {} {deltas} a", at(3)));
                assert_eq!(order(con, "k"), after_incr, "{rule}");
                // Who leaves and comes back has joined anew.
                expect(con, "RANK.REM k a", "1");
                expect(con, &format!("RANK.ADD k {} 10 {rest} a", at(4)), "1");
                assert_eq!(order(con, "k"), if rule == "LAST" { "a b" } else { "b a" }, "{rule}");
            });
        }
    }

    fn equal_times_go_by_name(server: Server) {
        for rule in ["FIRST", "LAST", "JOINED"] {
            on_every_board(&server, rule, "", |con, rest, at| {
                // One command has one time, and seconds are all the time that S has.
                expect(con, &format!("RANK.ADD k {} 10 {rest} b 10 {rest} c 10 {rest} a", at(1)), "3");
                let schema = info(con, "k", "schema");
                // The last millisecond of the same second.
                let within = if schema.contains(" S SINCE") { at(1).replace("000", "999") } else { at(1) };
                expect(con, &format!("RANK.ADD k {within} 10 {rest} d"), "1");
                // The sorted set's own order, read from the board's end.
                let expected = if schema.contains("FIELD a ASC") { "a b c d" } else { "d c b a" };
                assert_eq!(order(con, "k"), expected, "{schema}");
            });
        }
    }

    fn the_time_is_stored_as_documented(server: Server) {
        let mut con = server.connect();
        // DESC boards store what was earlier as the higher under FIRST, ASC boards the other way.
        const SINCE: i64 = 1_700_000_000_500;
        for (schema, unit) in [
            ("FIELD a BITS 8 TIES FIRST", 1),
            ("FIELD a BITS 8 TIES LAST MS", 1),
            ("FIELD a BITS 8 TIES JOINED", 1),
            ("FIELD a ASC BITS 8 TIES FIRST", 1),
            ("FIELD a ASC BITS 8 TIES LAST", 1),
            ("FIELD a ASC BITS 8 TIES JOINED S", 1000),
            ("FIELD a BITS 8 TIES FIRST S", 1000),
            ("FIELD a BITS 8 TIES LAST S", 1000),
            ("FIELD a INT TIES FIRST", 1),
            ("FIELD a TIES LAST", 1),
            ("FIELD a ASC TIES LAST S", 1000),
            ("FIELD a ASC INT TIES JOINED S", 1000),
            ("FIELD a BITS 60 TIES FIRST", 1),
            ("FIELD a BITS 30 TIES LAST S", 1000),
        ] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema} SINCE {SINCE}"), "+OK");
            let coder = Coder::new(schema, SINCE);
            let last = (1_i64 << 53) - 1;
            // The classes of times begin at SINCE, and at the sums of these powers of two after it.
            let mut times = vec![0, 1, 999, 1000, EPOCH_MS, SINCE - 1, SINCE, SINCE + 1, SINCE + 499, SINCE + 500, last - 1000, last - 1, last];
            let widths = if unit == 1 { [30, 33, 36, 38] } else { [20, 25, 27, 31] };
            let mut edge = SINCE / unit;
            for width in widths {
                edge += 1_i64 << width;
                times.extend([-2, -1, 0, 1].map(|step| (edge + step) * unit));
            }
            for at in times {
                reply(&mut con, "RANK.REM k m");
                expect(&mut con, &format!("RANK.ADD k AT {at} 5 m"), "1");
                let (element, entries) = coder.stored(&["5"], at, b"m");
                let marker = (marker(info(&mut con, "k", "schema").trim_matches('"').trim_start_matches("2 ")), f64::NEG_INFINITY);
                let expected = in_order([vec![marker, element], entries].concat());
                assert_eq!(stored(&mut con, "k"), expected, "{schema} AT {at}");
                let shown = if schema.starts_with("FIELD a TIES") || schema.starts_with("FIELD a ASC TIES") { r#""5""# } else { "5" };
                expect(&mut con, "RANK.GET k m WITHTIME", &format!("[1, \"m\", {shown}, {}]", at / unit * unit));
            }
            // What is no such time is an error that names the range, never another time.
            for bad in ["-1", "9007199254740992", "9223372036854775807", "9223372036854775808", "x", "1.5", ""] {
                for write in ["ADD k AT", "ADD k NX AT", "MULTISET k AT", "INCR k AT"] {
                    let got = replyv(&mut con, &format!("RANK.{write} {bad} 5 n").split(' ').collect::<Vec<_>>());
                    assert!(got.starts_with("ERR AT takes 0 to 9007199254740991, got "), "{schema}: {write} {bad}: {got}");
                }
            }
            expect(&mut con, "RANK.COUNT k", "1");
        }
    }

    fn without_at_the_time_is_the_servers(server: Server) {
        let mut con = server.connect();
        let now = |con: &mut Connection| match cmd(con, "TIME") {
            Ok(Value::Array(time)) => {
                let part = |value| show(value).trim_matches('"').parse::<i64>().expect("a number");
                part(&time[0]) * 1000 + part(&time[1]) / 1000
            }
            other => panic!("TIME: {other:?}"),
        };
        expect(&mut con, "RANK.CREATE k FIELD a BITS 8 TIES LAST", "+OK");
        expect(&mut con, "RANK.CREATE s FIELD a BITS 8 TIES LAST S", "+OK");
        let before = now(&mut con);
        expect(&mut con, "RANK.ADD k 1 m 1 n", "2");
        expect(&mut con, "RANK.INCR k 1 i", "1");
        expect(&mut con, "RANK.ADD s 1 m", "1");
        let after = now(&mut con);
        let time = |con: &mut Connection, key: &str, member: &str| match cmd(con, &format!("RANK.GET {key} {member} WITHTIME")) {
            Ok(Value::Array(row)) => show(&row[3]).parse::<i64>().expect("a time"),
            other => panic!("no row: {other:?}"),
        };
        for (key, member, unit) in [("k", "m", 1), ("k", "i", 1), ("s", "m", 1000)] {
            let time = time(&mut con, key, member);
            assert!((before / unit..=after / unit).contains(&(time / unit)), "{key} {member}: {time} is not in {before}..={after}");
            assert_eq!(time % unit, 0);
        }
        assert_eq!(time(&mut con, "k", "m"), time(&mut con, "k", "n"), "one command, one time");
    }

    fn keep_compares_the_times_too(server: Server) {
        // The board holds b at 2 and c at 3; who of the newcomers at 1, 3 and 9 gets in?
        for (rule, early, same, late) in
            [("FIRST", "a b", "b c", "b c"), ("JOINED", "a b", "b c", "b c"), ("LAST", "c b", "c d", "z c")]
        {
            on_every_board(&server, rule, "KEEP 2", |con, rest, at| {
                for (member, time, expected) in [("a", 1, early), ("d", 3, same), ("z", 9, late)] {
                    expect(con, "RANK.CLEAR k", if member == "a" { "0" } else { "2" });
                    expect(con, &format!("RANK.ADD k {} 10 {rest} b", at(2)), "1");
                    expect(con, &format!("RANK.ADD k {} 10 {rest} c", at(3)), "1");
                    let content = stored(con, "k");
                    let entered = expected.contains(member);
                    let added = reply(con, &format!("RANK.ADD k {} 10 {rest} {member}", at(time)));
                    assert_eq!(added, if entered { "1" } else { "0" }, "{rule} {member}");
                    if member == "d" && rule == "LAST" {
                        let mut names: Vec<String> = order(con, "k").split(' ').map(String::from).collect();
                        names.sort();
                        assert_eq!(names.join(" "), expected);
                    } else {
                        assert_eq!(order(con, "k"), expected, "{rule} {member}");
                    }
                    assert_eq!(stored(con, "k") == content, !entered, "{rule} {member}");
                }
            });
        }
    }

    fn an_equal_newcomer_does_not_enter_a_full_shared_board(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a", "FIELD a DIGITS 3", "FIELD a BITS 60", "FIELD a INT"] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema} KEEP 2"), "+OK");
            expect(&mut con, "RANK.ADD k 10 m 10 n", "2");
            // Neither a name before the others nor one behind them helps.
            expect(&mut con, "RANK.ADD k WITHRANK 10 a 10 z", r#"[[nil, nil, "a", nil, nil], [nil, nil, "z", nil, nil]]"#);
            assert_eq!(order(&mut con, "k"), "n m", "{schema}");
            expect(&mut con, "RANK.ADD k 11 z", "1");
            assert_eq!(order(&mut con, "k"), "z n", "{schema}");
        }
    }

    fn shared_boards_rank_by_competition_and_list_groups_by_name(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a", "FIELD a DIGITS 3", "FIELD a BITS 60", "FIELD a INT"] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            expect(&mut con, "RANK.ADD k 50 a 50 b 30 d 30 c 10 e", "5");
            for (member, competition, dense, ordinal) in
                [("b", 1, 1, 1), ("a", 1, 1, 2), ("d", 3, 2, 3), ("c", 3, 2, 4), ("e", 5, 3, 5)]
            {
                for (kind, rank) in [("", competition), ("COMPETITION", competition), ("DENSE", dense), ("ORDINAL", ordinal)] {
                    let row = reply(&mut con, &format!("RANK.GET k {member} {kind}"));
                    assert!(row.starts_with(&format!("[{rank}, ")), "{schema}: {member} {kind} {row}");
                }
            }
            expect(&mut con, "RANK.STATS k", r#"[[1, ["a", "b"]], [3, ["c", "d"]], [5, ["e"]]]"#);
            expect(&mut con, "RANK.STATS k ORDINAL LIMIT 1 1", r#"[[3, ["c", "d"]]]"#);
            expect(&mut con, "RANK.QUERY k d", r#"[3, ["c", "d"]]"#);
            expect(&mut con, "RANK.FORSCORE k 30 ORDINAL", "5");
        }
    }

    fn rank_in_a_large_tie_group_does_not_walk_it(server: Server) {
        const GROUP: usize = 20_000;
        let mut con = server.connect();
        let time = |con: &mut Connection, key: &str, scores: &str, members: &[usize]| {
            expect(con, "CONFIG RESETSTAT", "+OK");
            for member in members {
                expect(con, &format!("RANK.GET {key} e{member:05} COMPETITION"), &format!("[11, \"e{member:05}\", {scores}]"));
            }
            let usec = server.info("cmdstat_rank.get");
            let usec = usec.split(',').find_map(|part| part.strip_prefix("usec_per_call="));
            usec.and_then(|usec| usec.parse::<f64>().ok()).expect("a time")
        };
        for (schema, equal, worse) in
            [("FIELD a INT FIELD b INT", "5, 5", "5, 4"), ("FIELD a FIELD b TIES FIRST", r#""5", "5""#, r#""5", "4""#)]
        {
            expect(&mut con, "FLUSHALL", "+OK");
            for (key, group) in [("small", 3), ("big", GROUP)] {
                expect(&mut con, &format!("RANK.CREATE {key} {schema}"), "+OK");
                let numbers: Vec<usize> = (0..group).collect();
                for chunk in numbers.chunks(2_000) {
                    let pairs: Vec<String> = chunk.iter().map(|number| format!("5 5 e{number:05}")).collect();
                    expect(&mut con, &format!("RANK.ADD {key} {}", pairs.join(" ")), &chunk.len().to_string());
                }
                let others: Vec<String> = (0..10).map(|number| format!("5 6 b{number} 5 4 w{number}")).collect();
                expect(&mut con, &format!("RANK.ADD {key} {}", others.join(" ")), "20");
            }
            let shared = !schema.contains("FIRST");
            for member in [0, 1, GROUP / 2, GROUP - 1] {
                let name = format!("e{member:05}");
                for (kind, rank) in [("COMPETITION", 11), ("DENSE", 2), ("ORDINAL", 10 + GROUP - member)] {
                    if shared || kind != "ORDINAL" {
                        expect(&mut con, &format!("RANK.GET big {name} {kind}"), &format!("[{rank}, \"{name}\", {equal}]"));
                    }
                }
                if shared {
                    expect(&mut con, &format!("RANK.QUERY big {name} LIMIT 1 2"), r#"[11, ["e00001", "e00002"]]"#);
                }
            }
            for (kind, rank) in [("COMPETITION", 11), ("DENSE", 2), ("ORDINAL", 11 + GROUP)] {
                expect(&mut con, &format!("RANK.FORSCORE big 5 5 {kind}"), &rank.to_string());
            }
            expect(&mut con, "RANK.GET big w0 COMPETITION", &format!("[{}, \"w0\", {worse}]", 11 + GROUP));
            expect(&mut con, "RANK.COUNT big 5 5", &(GROUP + 20).to_string());

            let small = time(&mut con, "small", equal, &[0, 1, 2].repeat(100));
            let big = time(&mut con, "big", equal, &(0..300).map(|number| number * 66).collect::<Vec<_>>());
            // A walk would take some fifty times as long.
            assert!(big < 15.0 * small, "{schema}: {big} us in a group of {GROUP}, {small} us in one of 3");
        }
    }

    /// Ranks that are counted by hopping from score to score: one walk for all members of a call.
    fn several_members_share_one_dense_walk(server: Server) {
        const MEMBERS: usize = 40_000;
        let mut con = server.connect();
        expect(&mut con, "CONFIG SET rank.max-hops 0", "+OK");
        for schema in ["FIELD a INT FIELD b INT", "FIELD a FIELD b TIES FIRST", "FIELD a BITS 20 FIELD b BITS 20"] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            let numbers: Vec<usize> = (0..MEMBERS).collect();
            for chunk in numbers.chunks(2_000) {
                let pairs: Vec<String> = chunk.iter().map(|number| format!("{number} 5 m{number}")).collect();
                expect(&mut con, &format!("RANK.ADD k {}", pairs.join(" ")), &chunk.len().to_string());
            }
            // The processor's time, since the machine may be busy.
            let spent = || ["used_cpu_user_main_thread", "used_cpu_sys_main_thread"].map(|field| server.info(field).parse::<f64>().expect("seconds")).iter().sum::<f64>();
            let time = |con: &mut Connection, line: &str, start: &str| {
                let before = spent();
                for _ in 0..20 {
                    let got = reply(con, line);
                    assert!(got.starts_with(start), "{schema}: {line}: {got}");
                }
                spent() - before
            };
            let one = time(&mut con, "RANK.GET k m0 DENSE", &format!("[{MEMBERS}, \"m0\""));
            let three = time(&mut con, "RANK.AMONG k 3 m2 m0 m1 DENSE", &format!("[[1, {}, \"m2\"", MEMBERS - 2));
            let rows = time(&mut con, "RANK.RANGE k -10 -1 DENSE", &format!("[[{}, \"m9\"", MEMBERS - 9));
            // A walk for each would take three times as long, and ten times.
            assert!(three < 1.5 * one, "{schema}: {three} s for three, {one} s for one");
            assert!(rows < 1.5 * one, "{schema}: {rows} s for ten rows, {one} s for one");
            // All scores differ, so every kind of rank is the same.
            expect(&mut con, "RANK.AMONG k 3 m2 m0 m39999 DENSE", &reply(&mut server.connect(), "RANK.AMONG k 3 m0 m2 m39999 COMPETITION"));
        }
    }
}
