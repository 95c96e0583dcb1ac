//! What a board with tie times counts them from: the default, periods, copies and boards that start anew; that it changes
//! how long codes are, and never an order or a time.

use redis::{Connection, Value};

use crate::script::script;
use crate::support::boards::{elements, lose_marker, replyv};
use crate::support::codes::Coder;
use crate::support::stored::{info, marker, stored};
use crate::support::*;
use crate::workload::verify;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

fn now(con: &mut Connection) -> i64 {
    let time: (i64, i64) = redis::cmd("TIME").query(con).expect("TIME");
    time.0 * 1000 + time.1 / 1000
}

#[track_caller]
fn since(con: &mut Connection, key: &str) -> i64 {
    info(con, key, "since").parse().unwrap_or_else(|_| panic!("{key} has no times"))
}

/// That a board counts its times from the hour in which `make` made it.
#[track_caller]
fn counts_from_this_hour(con: &mut Connection, key: &str, make: impl FnOnce(&mut Connection)) {
    let before = now(con) / HOUR_MS * HOUR_MS;
    make(con);
    let after = now(con) / HOUR_MS * HOUR_MS;
    let since = since(con, key);
    assert!(since == before || since == after, "{key}: {since}, not {before}");
}

/// Sets the marker's SINCE back, as if the board had been made long ago.
#[track_caller]
fn make_older(con: &mut Connection, key: &str, schema: &str, ms: i64) {
    let old = stored(con, key)[0].0.clone();
    let new = marker(&format!("{schema} SINCE {ms}"));
    assert_eq!(replyv(con, &[b"ZADD".as_slice(), key.as_bytes(), b"-inf", &new]), "1");
    assert_eq!(replyv(con, &[b"ZREM".as_slice(), key.as_bytes(), &old]), "1");
}

on_every_server! {
    fn the_default_is_this_hour(server: Server) {
        let mut con = server.connect();
        for (number, ties) in ["FIRST", "LAST S", "JOINED MS"].iter().enumerate() {
            let key = format!("k{number}");
            counts_from_this_hour(&mut con, &key, |con| expect(con, &format!("RANK.CREATE {key} FIELD a DESC INT TIES {ties}"), "+OK"));
            let since = since(&mut con, &key);
            let ties = ties.trim_end_matches(" MS");
            assert_eq!(stored(&mut con, &key), [(marker(&format!("FIELD a DESC INT TIES {ties} SINCE {since}")), f64::NEG_INFINITY)]);
        }
        for schema in ["", "FIELD a INT", "FIELD a DIGITS 3"] {
            expect(&mut con, format!("RANK.CREATE s {schema}").trim(), "+OK");
            assert_eq!(info(&mut con, "s", "since"), "nil", "{schema}");
            expect(&mut con, "DEL s", "1");
        }
        expect(&mut con, "ZADD z 1 a", "1");
        assert_eq!(info(&mut con, "z", "since"), "nil");
    }

    /// Hours apart, by clients that all declare the board they write to.
    fn the_same_schema_again_is_the_same_board(server: Server) {
        let mut con = server.connect();
        let schema = "FIELD a DESC INT TIES FIRST";
        expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
        make_older(&mut con, "k", schema, 1_600_000_000_000);
        expect(&mut con, "RANK.ADD k AT 1700000000000 5 a", "1");
        let before = elements(&mut con, "k");
        script(&mut con, &format!(r#"
            RANK.CREATE k {schema} => +OK
            RANK.CREATE k FIELD a INT TIES FIRST MS => +OK
            RANK.CREATE k {schema} SINCE 1600000000000 => +OK
            RANK.CREATE k SINCE 01600000000000 {schema} => +OK
            RANK.CREATE k {schema} ADOPT => +OK
            RANK.CREATE k {schema} SINCE 1600000000001 => SCHEMA the board has a different schema: SINCE 1600000000000, asked for SINCE 1600000000001: use another key (fields, ties, SHARD and SINCE cannot change)
            RANK.CREATE k FIELD a INT TIES LAST SINCE 0 => SCHEMA the board has a different schema: TIES FIRST, asked for TIES LAST; SINCE 1600000000000, asked for SINCE 0: use another key (fields, ties, SHARD and SINCE cannot change)
        "#));
        assert_eq!(elements(&mut con, "k"), before);
        // What can be altered is, and times stay what they are.
        script(&mut con, "RANK.ALTER k KEEP 7 UPDATE BEST => +OK\n RANK.GET k a WITHTIME => [1, \"a\", 5, 1700000000000]");
        assert_eq!(info(&mut con, "k", "schema"), "\"2 FIELD a DESC INT TIES FIRST KEEP 7 UPDATE BEST SINCE 1600000000000\"");
        script(&mut con, "RANK.ALTER k NOKEEP UPDATE SET => +OK");
        assert_eq!(elements(&mut con, "k"), before);
    }

    fn a_board_that_starts_anew_counts_anew(server: Server) {
        let mut con = server.connect();
        let schema = "FIELD a DESC INT TIES LAST DATA h";
        script(&mut con, &format!("RANK.CREATE k {schema} SINCE 5000 => +OK\n EXPIRE k 5000 => 1"));
        // Nothing leaves, so nothing changes.
        script(&mut con, "RANK.CLEAR k => 0");
        assert_eq!(since(&mut con, "k"), 5000);
        script(&mut con, "RANK.ADD k 1 a => 1\n RANK.REM k a => 1\n RANK.CLEAR k => 0\n RANK.ADD k 1 a 2 b => 2\n RANK.TRIM k 0 => 2\n RANK.ADD k 1 a => 1\n RANK.POP k => [[1, \"a\", 1]]");
        assert_eq!(since(&mut con, "k"), 5000);
        script(&mut con, "RANK.ADD k 1 a => 1");
        counts_from_this_hour(&mut con, "k", |con| expect(con, "RANK.CLEAR k", "1"));
        assert_eq!(stored(&mut con, "k").len(), 1);
        script(&mut con, "TTL k => 5000\n RANK.ADD k 1 a => 1");
        assert_eq!(info(&mut con, "k", "overflow"), "0");
        // The archive keeps what its times are counted from.
        script(&mut con, &format!("RANK.CREATE r {schema} SINCE 5000 => +OK\n RANK.ADD r AT 1700000000000 1 a => 1"));
        counts_from_this_hour(&mut con, "r", |con| expect(con, "RANK.ROTATE r old", "1"));
        assert_eq!(since(&mut con, "old"), 5000);
        expect(&mut con, "RANK.GET old a WITHTIME", r#"[1, "a", 1, 1700000000000]"#);
        // A board with a hash of its own is rewritten on the way.
        script(&mut con, "RANK.CREATE o TIES FIRST DATA oh OWNED SINCE 5000 => +OK\n RANK.ADD o AT 7000 DATA {} 1 a => 1");
        counts_from_this_hour(&mut con, "o", |con| expect(con, "RANK.ROTATE o oo DATA ooh", "1"));
        script(&mut con, "RANK.GET oo a WITHTIME => [1, \"a\", \"1\", 7000]\n HLEN ooh => 1");
        assert_eq!(since(&mut con, "oo"), 5000);
        // LIKE takes the rules, and counts for itself.
        counts_from_this_hour(&mut con, "like", |con| expect(con, "RANK.CREATE like LIKE old", "+OK"));
        expect(&mut con, "RANK.CREATE like LIKE old", "+OK");
        expect(&mut con, "RANK.CREATE old LIKE like", "+OK");
        assert_eq!(since(&mut con, "old"), 5000);
    }

    fn a_copy_is_what_the_original_is(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE k FIELD a INT TIES FIRST SINCE 1700000000123", "+OK");
        for (at, member) in [(1_700_000_000_122_i64, "early"), (1_700_000_000_123, "then"), (1_800_000_000_000, "late"), (0, "first")] {
            expect(&mut con, &format!("RANK.ADD k AT {at} 5 {member}"), "1");
        }
        let rows = reply(&mut con, "RANK.TOPN k 9 WITHTIME");
        assert_eq!(rows, r#"[[1, "first", 5, 0], [2, "early", 5, 1700000000122], [3, "then", 5, 1700000000123], [4, "late", 5, 1800000000000]]"#);
        let Ok(Value::BulkString(dump)) = cmd(&mut con, "DUMP k") else { panic!("no dump") };
        assert_eq!(replyv(&mut con, &[b"RESTORE".as_slice(), b"restored", b"0", &dump]), "+OK");
        script(&mut con, "COPY k copy => 1\n RENAME k renamed => +OK");
        for key in ["restored", "copy", "renamed"] {
            assert_eq!(since(&mut con, key), 1_700_000_000_123, "{key}");
            expect(&mut con, &format!("RANK.TOPN {key} 9 WITHTIME"), &rows);
        }
        expect(&mut con, "DEBUG RELOAD", "+OK");
        expect(&mut con, "RANK.TOPN copy 9 WITHTIME", &rows);
    }

    /// Whatever is before it, after it, or long after it: one order, by the clock and by AT alike.
    fn times_are_exact_wherever_they_lie(server: Server) {
        let mut con = server.connect();
        let times: Vec<i64> = vec![0, 1, 999_999, 1_500_000_000_000, 1_699_999_999_999, 1_700_000_000_000, 1_700_000_000_001,
            1_701_073_741_823, 1_701_073_741_824, 1_750_000_000_000, 2_500_000_000_000, 9_007_199_254_740_991];
        for rule in ["FIRST", "LAST", "JOINED"] {
            for direction in ["DESC", "ASC"] {
                for since in ["0", "1700000000000", "9007199254740991"] {
                    expect(&mut con, "FLUSHALL", "+OK");
                    expect(&mut con, &format!("RANK.CREATE k FIELD a {direction} INT TIES {rule} SINCE {since}"), "+OK");
                    for at in times.iter().rev() {
                        expect(&mut con, &format!("RANK.ADD k AT {at} 5 t{at}"), "1");
                    }
                    let mut expected = times.clone();
                    if rule == "LAST" {
                        expected.reverse();
                    }
                    let rows: Vec<String> = expected.iter().enumerate().map(|(place, at)| format!("[{}, \"t{at}\", 5, {at}]", place + 1)).collect();
                    expect(&mut con, "RANK.TOPN k 99 WITHTIME", &format!("[{}]", rows.join(", ")));
                    for (place, at) in expected.iter().enumerate() {
                        expect(&mut con, &format!("RANK.GET k t{at} ORDINAL"), &format!("[{}, \"t{at}\", 5]", place + 1));
                        expect(&mut con, &format!("RANK.FORSCORE k 5 ORDINAL AT {at} MEMBER t{at}"), &(place + 1).to_string());
                    }
                    expect(&mut con, "RANK.GET k t0 COMPETITION", "[1, \"t0\", 5]");
                    assert_eq!(verify(&mut con, b"k", false), [0; 5]);
                }
            }
        }
    }

    fn adoption_needs_it(server: Server) {
        let mut con = server.connect();
        const NEEDS: &str = "ERR ADOPT of a board with tie times needs SINCE ms: the one that RANK.INFO showed, or 0 if it is not known";
        let schema = "FIELD a INT TIES FIRST";
        expect(&mut con, &format!("RANK.CREATE k {schema} SINCE 1700000000000"), "+OK");
        for (at, member) in [(1_700_000_000_005_i64, "a"), (1_700_000_000_001, "b"), (1_700_000_900_000, "c"), (1_750_000_000_000, "d")] {
            expect(&mut con, &format!("RANK.ADD k AT {at} 5 {member}"), "1");
        }
        let sound = elements(&mut con, "k");
        lose_marker(&mut con, "k");
        expect(&mut con, &format!("RANK.CREATE k {schema} ADOPT"), NEEDS);
        expect(&mut con, "COPY k unknown", "1");
        expect(&mut con, &format!("RANK.CREATE k {schema} SINCE 1700000000000 ADOPT"), "+OK");
        assert_eq!(elements(&mut con, "k"), sound);
        // If nobody knows it, 0 keeps the order: of old members, and of what the clock brings.
        expect(&mut con, &format!("RANK.CREATE unknown {schema} ADOPT SINCE 0"), "+OK");
        expect(&mut con, "RANK.ADD unknown 5 now", "1");
        expect(&mut con, "RANK.TOPN unknown 9", r#"[[1, "b", 5], [2, "a", 5], [3, "c", 5], [4, "d", 5], [5, "now", 5]]"#);
        expect(&mut con, "RANK.GET unknown a WITHTIME", r#"[2, "a", 5, 5]"#);
        assert_eq!(verify(&mut con, b"unknown", false), [0; 5]);
        // A key that is not there has nothing to adopt.
        counts_from_this_hour(&mut con, "new", |con| expect(con, &format!("RANK.CREATE new {schema} ADOPT"), "+OK"));
    }

    fn a_period_counts_from_its_start(server: Server) {
        let mut con = server.connect();
        let schema = "FIELD a INT TIES FIRST";
        let from = 1_577_836_800_000_i64;
        expect(&mut con, &format!("RANK.CREATE {{g}} {schema} SINCE 1000 PERIOD HOUR {{g}}:h: PAST 5 PERIOD DAY {{g}}:d: PAST 5 PERIOD WEEK {{g}}:w: PERIOD MONTH {{g}}:m: PERIOD YEAR {{g}}:y: PERIOD EVERY 14d FROM {from} {{g}}:e: OFFSET +09:00"), "+OK");
        let at = now(&mut con);
        expect(&mut con, &format!("RANK.ADD {{g}} AT {at} 5 a"), "1");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {} 5 b", at - DAY_MS), "1");
        let Ok(Value::Array(periods)) = cmd(&mut con, "RANK.PERIODS {g}") else { panic!("no periods") };
        let mut seen = 0;
        for period in &periods {
            let field = |name: &str| show(&crate::workload::field(period, name)).trim_matches('"').to_owned();
            let key = field("key");
            if field("members") == "0" {
                continue;
            }
            seen += 1;
            assert_eq!(since(&mut con, &key).to_string(), field("start"), "{key}");
            // In milliseconds a period of a year or less is short enough for any of these.
            assert_eq!(info(&mut con, &key, "overflow"), "0", "{key}");
            // It goes on to count from its start when it is emptied, unlike its parent.
            let members = field("members");
            expect(&mut con, &format!("RANK.CLEAR {key}"), &members);
            assert_eq!(since(&mut con, &key).to_string(), field("start"), "{key}");
        }
        assert!(seen >= 6, "{seen} of {}", periods.len());
        assert_eq!(since(&mut con, "{g}"), 1000);
        expect(&mut con, &format!("RANK.ADD {{g}} AT {at} 6 a"), "0");
        for unit in ["hour", "day", "week", "month", "year", "every"] {
            expect(&mut con, &format!("RANK.TOPN {{g}} 9 WITHTIME PERIOD {unit}"), &format!("[[1, \"a\", 6, {at}]]"));
        }
        // A period that somebody made beforehand has the same fields and ties: it is fed, and counts as it was told.
        let Ok(Value::Array(periods)) = cmd(&mut con, "RANK.PERIODS {g} hour") else { panic!("no periods") };
        let key = show(&crate::workload::field(&periods[2], "key")).trim_matches('"').to_owned();
        expect(&mut con, &format!("RANK.CREATE {key} {schema} SINCE 77"), "+OK");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {} 5 b", at - 2 * HOUR_MS), "0");
        expect(&mut con, &format!("RANK.GET {key} b WITHTIME"), &format!("[1, \"b\", 5, {}]", at - 2 * HOUR_MS));
        assert_eq!(since(&mut con, &key), 77);
    }

    fn seconds_are_counted_in_whole_ones(server: Server) {
        let mut con = server.connect();
        for direction in ["DESC", "ASC"] {
            let schema = format!("FIELD a {direction} BITS 20 TIES FIRST S SINCE 1700000000999");
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            // A time within the second of SINCE is not before it, and all of a second are equal.
            for (at, member) in [(1_700_000_000_000_i64, "a"), (1_700_000_000_999, "b"), (1_700_000_001_000, "c"), (1_699_999_999_999, "d")] {
                expect(&mut con, &format!("RANK.ADD k AT {at} 5 {member}"), "1");
                let expected = Coder::new(&schema, 0).stored(&["5"], at, member.as_bytes());
                assert!(stored(&mut con, "k").contains(&expected.0), "{member}");
            }
            assert_eq!(info(&mut con, "k", "overflow"), "1");
            let equals = if direction == "ASC" { ["a", "b"] } else { ["b", "a"] };
            expect(&mut con, "RANK.TOPN k 9 WITHTIME", &format!(
                r#"[[1, "d", 5, 1699999999000], [2, "{}", 5, 1700000000000], [3, "{}", 5, 1700000000000], [4, "c", 5, 1700000001000]]"#, equals[0], equals[1]));
        }
    }

    /// Schemas are parsed once and kept by their text; what a board counts from is not part of that text.
    fn many_boards_with_times_take_no_memory_of_the_modules(server: Server) {
        let mut con = server.connect();
        let boards = if server_wrapper().is_some() { 2_000 } else { 100_000 };
        // Made by the core, each with a time of its own, and looked at by the module.
        let lua = "for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do \
                     redis.call('DEL', 'k') \
                     redis.call('ZADD', 'k', '-inf', '\\0rank 2 FIELD a DESC INT TIES FIRST SINCE ' .. i) \
                     if redis.call('RANK.COUNT', 'k') ~= 0 then return i end \
                   end return 'ok'";
        let run = |con: &mut Connection, from: usize, to: usize| {
            assert_eq!(replyv(con, &["EVAL", lua, "1", "k", &from.to_string(), &to.to_string()]), "\"ok\"");
        };
        let memory = |server: &Server| server.info("used_memory").parse::<i64>().expect("a number");
        run(&mut con, 0, boards / 10);
        let before = memory(&server);
        for chunk in 0..10 {
            run(&mut con, chunk * boards / 10, (chunk + 1) * boards / 10);
        }
        let grown = memory(&server) - before;
        assert!(grown < 200_000, "{grown} bytes for {boards} boards");
    }
}
