//! `RANK.SCAN` and `RANK.LOAD`: a board as lines, read while it changes, and written again as it was.

use std::collections::{BTreeMap, BTreeSet};

use redis::{Connection, Value};

use crate::script::{script, Dice};
use crate::support::boards::*;
use crate::support::*;

/// The cursor of a step, and what came with it.
#[track_caller]
fn step(con: &mut Connection, args: &[&str]) -> (String, Value) {
    let got = cmdv(con, args);
    match got {
        Ok(Value::Array(parts)) if parts.len() == 2 => match &parts[0] {
            Value::BulkString(cursor) => (String::from_utf8_lossy(cursor).into_owned(), parts[1].clone()),
            other => panic!("no cursor: {}", show(other)),
        },
        other => panic!("{args:?}: {}", show_result(&other)),
    }
}

/// All lines of a board.
#[track_caller]
fn lines(con: &mut Connection, key: &str, options: &[&str]) -> Vec<Vec<u8>> {
    let (mut cursor, mut lines) = ("0".to_owned(), Vec::new());
    loop {
        let args = [&["RANK.SCAN", key, &cursor, "JSON"], options].concat();
        let (next, text) = step(con, &args);
        let Value::BulkString(text) = text else { panic!("no text: {}", show(&text)) };
        lines.extend(text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec));
        if next == "0" {
            return lines;
        }
        cursor = next;
    }
}

/// The members of a step, and the rows without their names.
fn members(rows: &Value) -> BTreeMap<Vec<u8>, String> {
    let Value::Array(rows) = rows else { panic!("no rows: {}", show(rows)) };
    let row = |row: &Value| match row {
        Value::Array(parts) => match &parts[0] {
            Value::BulkString(name) => (name.clone(), show(&Value::Array(parts[1..].to_vec()))),
            other => panic!("no name: {}", show(other)),
        },
        other => panic!("no row: {}", show(other)),
    };
    rows.iter().map(row).collect()
}

/// What a list says, without ranks.
#[track_caller]
fn standings(con: &mut Connection, key: &str) -> BTreeMap<Vec<u8>, String> {
    let Ok(Value::Array(rows)) = cmd(con, &format!("RANK.TOPN {key} 100000 WITHTIME")) else { panic!("no rows") };
    let unranked = |row: &Value| match row {
        Value::Array(parts) => Value::Array(parts[1..].to_vec()),
        other => panic!("no row: {}", show(other)),
    };
    members(&Value::Array(rows.iter().map(unranked).collect()))
}

fn load(con: &mut Connection, key: &str, lines: &[Vec<u8>]) -> String {
    let args: Vec<&[u8]> =
        [b"RANK.LOAD".as_slice(), key.as_bytes()].into_iter().chain(lines.iter().map(Vec::as_slice)).collect();
    replyv(con, &args)
}

/// With the empty name and others that are not text, and enough of them for the large encoding.
fn fill_odd(con: &mut Connection, key: &str, schema: &'static str, large: bool) -> Filled {
    let mut names: Vec<Vec<u8>> =
        [&b""[..], b"\0", b"\xff\xfe", b"\x01\0\0\0\x01a", b"a\nb\"\\", "Zoë \u{1f600}".as_bytes(), b"a"]
            .iter()
            .map(|name| name.to_vec())
            .collect();
    if large {
        names.extend((0..600).map(|number| format!("m{number}").into_bytes()));
    }
    Filled::with(con, key, schema, names)
}

on_every_server! {
    fn every_layout_comes_back_as_it_was(server: Server) {
        let mut con = server.connect();
        for schema in SCHEMAS {
            for (large, count) in [(false, "1"), (true, "7"), (true, "100000")] {
                expect(&mut con, "FLUSHALL", "+OK");
                let filled = fill_odd(&mut con, "b", schema, large);
                let data: [&[u8]; 5] = [br#"{"name":"Ann"}"#, b"{\n \"level\" : 7.50, \"big\": 12345678901234567890123 }", b"Bob", b"[1]", b"{}"];
                let with_data = *schema != BARE;
                if with_data {
                    expect(&mut con, "RANK.ALTER b DATA h", "+OK");
                    for (name, data) in filled.names.iter().zip(data.iter().cycle()).skip(1) {
                        cmdv(&mut con, &[b"HSET".as_slice(), b"h", name, data]).expect("HSET");
                    }
                }
                let options: &[&str] = if with_data { &["COUNT", count, "WITHTIME", "WITHDATA"] } else { &["COUNT", count, "WITHTIME"] };
                let scanned = lines(&mut con, "b", options);
                assert!(scanned.iter().collect::<BTreeSet<_>>().len() == filled.names.len(), "{schema}: {}", scanned.len());
                let (mut cursor, mut rows) = ("0".to_owned(), BTreeMap::new());
                loop {
                    let (next, step) = step(&mut con, &["RANK.SCAN", "b", &cursor, "COUNT", count, "WITHTIME"]);
                    rows.extend(members(&step));
                    if next == "0" {
                        break;
                    }
                    cursor = next;
                }
                assert_eq!(rows, standings(&mut con, "b"), "{schema}");
                if with_data {
                    expect(&mut con, "RANK.CREATE c LIKE b", "+OK");
                    expect(&mut con, "RANK.ALTER c DATA i", "+OK");
                }
                let mut new = 0;
                for batch in scanned.chunks(50) {
                    new += load(&mut con, "c", batch).parse::<usize>().unwrap_or_else(|error| panic!("{schema}: {error}"));
                }
                assert_eq!(new, filled.names.len(), "{schema}");
                for read in ["TOPN K 100000 WITHTIME", "TOPN K 100000 ORDINAL JSON WITHTIME", "STATS K"] {
                    let [b, c] = ["b", "c"].map(|key| reply(&mut con, &format!("RANK.{}", read.replace('K', key))));
                    assert_eq!(b, c, "{schema}: {read}");
                }
                let unmarked = |elements: Vec<(Vec<u8>, f64)>| elements.into_iter().filter(|(name, _)| !name.starts_with(b"\0rank ")).collect::<Vec<_>>();
                assert_eq!(unmarked(elements(&mut con, "c")), unmarked(elements(&mut con, "b")), "{schema}");
                if with_data {
                    let [h, i] = ["h", "i"].map(|hash| {
                        let Ok(Value::Array(flat)) = cmd(&mut con, &format!("HGETALL {hash}")) else { panic!("no hash") };
                        flat.chunks(2).map(|pair| (show(&pair[0]), show(&pair[1]).replace("\\n", " "))).collect::<BTreeMap<_, _>>()
                    });
                    assert_eq!(h, i, "{schema}");
                }
                // A second time nothing is new, and nothing changes.
                let digest = reply(&mut con, "DEBUG DIGEST");
                assert_eq!(load(&mut con, "c", &scanned), "0");
                expect(&mut con, "DEBUG DIGEST", &digest);
                let report = reply(&mut con, "RANK.VERIFY c COUNT 100000");
                assert!(report.ends_with(r#""undecodable", 0, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", []]"#), "{report}");
            }
        }
    }

    /// 100 updates between two steps; members come and go beside those that stay.
    fn a_scan_returns_every_member_that_stays(server: Server) {
        let mut con = server.connect();
        let mut dice = Dice::new(7);
        for schema in SCHEMAS {
            expect(&mut con, "FLUSHALL", "+OK");
            let filled = fill_odd(&mut con, "b", schema, true);
            let staying: BTreeSet<Vec<u8>> = filled.names.iter().cloned().collect();
            let (mut cursor, mut seen, mut steps) = ("0".to_owned(), BTreeSet::new(), 0);
            // Who begins or ceases to fit its score between two steps is the one exception.
            let mut moved = BTreeSet::new();
            let fits = |con: &mut Connection, name: &[u8]| replyv(con, &[b"ZSCORE", b"b".as_slice(), name]) != "nil";
            loop {
                let (next, rows) = step(&mut con, &["RANK.SCAN", "b", &cursor, "COUNT", "20"]);
                seen.extend(members(&rows).into_keys());
                steps += 1;
                if next == "0" {
                    break;
                }
                cursor = next;
                for number in 0..100 {
                    let name = match number % 10 {
                        0 => format!("guest{}", dice.roll(2000)).into_bytes(),
                        _ => filled.names[dice.roll(filled.names.len())].clone(),
                    };
                    let mut args = vec![b"RANK.ADD".to_vec(), b"b".to_vec()];
                    args.extend(scores(schema, dice.roll(500), dice.roll(500)).into_iter().chain([name.clone()]));
                    let before = fits(&mut con, &name);
                    let got = replyv(&mut con, &args);
                    assert!(["0", "1"].contains(&got.as_str()), "{schema}: {got}");
                    if fits(&mut con, &name) != before {
                        moved.insert(name);
                    }
                    if number % 20 == 0 {
                        replyv(&mut con, &[b"RANK.REM".to_vec(), b"b".to_vec(), format!("guest{}", dice.roll(2000)).into_bytes()]);
                    }
                }
            }
            assert!(steps > 5, "{schema}: only {steps} steps");
            let may_be_lost = |name: &&Vec<u8>| moved.contains(*name);
            let lost: Vec<_> = staying.difference(&seen).filter(|name| !may_be_lost(name)).map(|name| name.escape_ascii().to_string()).collect();
            assert!(lost.is_empty(), "{schema}: {lost:?} were left out");
            let moving = schema.contains("TIES FIRST") || schema.contains("TIES LAST") || schema.contains("FIELD d");
            assert!(moving || moved.iter().all(|name| !staying.contains(name)), "{schema}: this test is to see all of them");
        }
    }

    fn a_scan_survives_a_change_of_the_encoding(server: Server) {
        let mut con = server.connect();
        for schema in [BARE, "FIELD a ASC", "FIELD a DIGITS 3 FIELD b ASC DIGITS 3", "FIELD a INT FIELD b ASC INT"] {
            expect(&mut con, "FLUSHALL", "+OK");
            let filled = fill_odd(&mut con, "b", schema, false);
            expect(&mut con, "CONFIG SET rank.max-rows 3", "+OK");
            let (cursor, rows) = step(&mut con, &["RANK.SCAN", "b", "0", "COUNT", "100"]);
            assert_eq!(members(&rows).len(), 3, "{schema}");
            let mut seen: BTreeSet<Vec<u8>> = members(&rows).into_keys().collect();
            // Past the small encoding while the scan is under way.
            for number in 0..300 {
                let mut args = vec![b"RANK.ADD".to_vec(), b"b".to_vec()];
                args.extend(scores(schema, number, number).into_iter().chain([format!("new{number}").into_bytes()]));
                assert_eq!(replyv(&mut con, &args), "1");
            }
            expect(&mut con, "OBJECT ENCODING b", r#""skiplist""#);
            // A step holds at least one bucket of the server's table.
            expect(&mut con, "CONFIG SET rank.max-rows 50", "+OK");
            let mut cursor = cursor;
            while cursor != "0" {
                let (next, rows) = step(&mut con, &["RANK.SCAN", "b", &cursor, "COUNT", "100"]);
                assert!(members(&rows).len() <= 50, "{schema}: {}", show(&rows));
                seen.extend(members(&rows).into_keys());
                cursor = next;
            }
            let staying: BTreeSet<Vec<u8>> = filled.names.into_iter().collect();
            assert!(seen.is_superset(&staying), "{schema}: {:?}", staying.difference(&seen));
            expect(&mut con, "CONFIG SET rank.max-rows 0", "+OK");
        }
    }

    fn rows_have_no_ranks(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD set 50 a -inf b => 2
            RANK.CREATE b FIELD x BITS 10 FIELD y INT TIES FIRST DATA h => +OK
            RANK.ADD b AT 1700000000000 DATA {"n":1} 5 6 a => 1
            RANK.SCAN b 0 => ["0", [["a", 5, 6]]]
            RANK.SCAN b 0 WITHTIME => ["0", [["a", 5, 6, 1700000000000]]]
            RANK.SCAN b 0 WITHDATA => ["0", [["a", 5, 6, ["n", "1"]]]]
            RANK.SCAN b 0 WITHDATA WITHTIME COUNT 5 JSON => ["0", "{\"member\":\"a\",\"scores\":{\"x\":5,\"y\":6},\"time\":1700000000000,\"data\":{\"n\":1}}"]
            RANK.SCAN set 0 WITHTIME JSON => ["0", "{\"member\":\"b\",\"score\":\"-inf\",\"time\":null}\n{\"member\":\"a\",\"score\":50,\"time\":null}"]
            RANK.SCAN none 0 => ["0", []]
            RANK.SCAN none 0 JSON WITHDATA => ["0", ""]
            RANK.CREATE empty => +OK
            RANK.SCAN empty 0 => ["0", []]
            RANK.SCAN set 0 WITHDATA => SCHEMA the board has no hash for attributes: set one with RANK.ALTER key DATA hash
            RANK.SCAN set x => ERR cursor takes 0 or a cursor that RANK.SCAN returned, got x
            RANK.SCAN set -1 => ERR cursor takes 0 or a cursor that RANK.SCAN returned, got -1
            RANK.SCAN set n?? => ERR cursor takes 0 or a cursor that RANK.SCAN returned, got n??
            RANK.SCAN b x17 => ERR cursor takes 0 or a cursor that RANK.SCAN returned, got x17
            RANK.SCAN b nYQ => ["0", []]
            RANK.SCAN b 0 COUNT 0 => ERR COUNT takes 1 or more, got 0
            RANK.SCAN b 0 COUNT 1 COUNT 2 => ERR COUNT is specified more than once
            RANK.SCAN b 0 DENSE => ERR unknown option 'DENSE'
        "#);
        expect(&mut server.connect_resp3(), "RANK.SCAN b 0 WITHDATA WITHTIME", r#"["0", [["a", 5, 6, 1700000000000, {"n": "1"}]]]"#);
    }

    /// However many are asked for, a step holds what fits its time, and the bound on rows.
    fn a_step_is_bounded(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a DIGITS 6", "FIELD a INT"] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE b {schema} => +OK"));
            let fill = "for i = 1, 100 do local a = {} for j = 1, 1000 do a[#a + 1] = j a[#a + 1] = i .. ':' .. j end redis.call('RANK.ADD', KEYS[1], unpack(a)) end";
            assert_eq!(show_result(&cmdv(&mut con, &["EVAL", fill, "1", "b"])), "nil");
            let (next, rows) = step(&mut con, &["RANK.SCAN", "b", "0", "COUNT", "9223372036854775807"]);
            assert!(next != "0" && members(&rows).len() < 100_000, "{schema}: all in one step");
            expect(&mut con, "CONFIG SET rank.max-rows 50", "+OK");
            let (mut cursor, mut seen) = (next, members(&rows).len());
            for _ in 0..50 {
                let (next, rows) = step(&mut con, &["RANK.SCAN", "b", &cursor, "COUNT", "1000"]);
                assert!((1..=50).contains(&members(&rows).len()), "{schema}: {} rows", members(&rows).len());
                (cursor, seen) = (next, seen + members(&rows).len());
            }
            expect(&mut con, "CONFIG SET rank.max-rows 0", "+OK");
            while cursor != "0" {
                let (next, rows) = step(&mut con, &["RANK.SCAN", "b", &cursor, "COUNT", "100000"]);
                (cursor, seen) = (next, seen + members(&rows).len());
            }
            assert_eq!(seen, 100_000, "{schema}: nothing was written, so nobody comes twice");
        }
    }

    /// The server fetches buckets of its hash table as a whole: they hold more than a small bound.
    fn no_reply_holds_more_rows_than_are_allowed(server: Server) {
        let mut con = server.connect();
        for (schema, names) in [("FIELD a DIGITS 6", 300), ("FIELD a INT FIELD b INT", 300), ("FIELD a INT FIELD b INT", 40)] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE b {schema} => +OK"));
            let scores = if schema.contains("FIELD b") { "1 9000000000000000000" } else { "7" };
            for name in 0..names {
                expect(&mut con, &format!("RANK.ADD b {scores} m{name}"), "1");
            }
            for most in [1, 2, 3, 10] {
                expect(&mut con, &format!("CONFIG SET rank.max-rows {most}"), "+OK");
                let (mut cursor, mut seen) = ("0".to_owned(), Vec::new());
                loop {
                    let (next, rows) = step(&mut con, &["RANK.SCAN", "b", &cursor, "COUNT", "100"]);
                    let found = members(&rows);
                    assert!(found.len() <= most, "{schema}: {} rows of {most}", found.len());
                    seen.extend(found.into_keys());
                    if next == "0" {
                        break;
                    }
                    cursor = next;
                }
                expect(&mut con, "CONFIG SET rank.max-rows 0", "+OK");
                let distinct: BTreeSet<_> = seen.iter().collect();
                assert_eq!((seen.len(), distinct.len()), (names, names), "{schema}: each of them once");
            }
        }
    }

    /// Hash tables that grow and shrink between the steps have other buckets.
    fn nobody_is_missed_while_buckets_change(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE b FIELD a DIGITS 6", "+OK");
        let stays = |name: usize| name.is_multiple_of(40);
        for name in 0..6000 {
            expect(&mut con, &format!("RANK.ADD b 7 m{name}"), "1");
        }
        expect(&mut con, "CONFIG SET rank.max-rows 2", "+OK");
        let (mut cursor, mut seen, mut next_name) = ("0".to_owned(), BTreeSet::new(), 0);
        loop {
            let (next, rows) = step(&mut con, &["RANK.SCAN", "b", &cursor, "COUNT", "2"]);
            seen.extend(members(&rows).into_keys());
            if next == "0" {
                break;
            }
            cursor = next;
            // Nearly all leave while the scan runs.
            for name in (next_name..6000).take(4).filter(|name| !stays(*name)) {
                expect(&mut con, &format!("RANK.REM b m{name}"), "1");
            }
            next_name += 4;
        }
        for name in (0..6000).filter(|name| stays(*name)) {
            assert!(seen.contains(format!("m{name}").as_bytes()), "m{name}");
        }
    }

    fn a_load_is_all_or_nothing(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a", "FIELD a DIGITS 3", "FIELD a BITS 30 FIELD b BITS 30", "FIELD a INT TIES FIRST DATA h"] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE b {schema} => +OK"));
            let before = reply(&mut con, "DEBUG DIGEST");
            let good = if schema.contains("FIELD b") { r#"{"member":"a","scores":{"a":1,"b":2}}"# } else { r#"{"member":"a","score":1}"# };
            for bad in ["x", "{}", r#"{"member":"z"}"#, r#"{"member":"z","score":"x","scores":{"a":"x","b":1}}"#, r#"{"member":"z","score":0.5e999}"#] {
                let got = replyv(&mut con, &["RANK.LOAD", "b", good, bad]);
                assert!(is_error(&got) && got.contains(" line 2: "), "{schema}, {bad}: {got}");
                expect(&mut con, "DEBUG DIGEST", &before);
            }
            assert_eq!(replyv(&mut con, &["RANK.LOAD", "b", good]), "1");
        }
        script(&mut con, r#"
            RANK.LOAD plain {"member":"a","score":1} "{\"member\":\"\\u0000rank x\",\"score\":1}" => ERR a member name cannot start with '\x00rank ': it is reserved for the schema
            EXISTS plain => 0
            RANK.LOAD plain {"member":"a","score":1,"data":{}} => SCHEMA the board has no hash for attributes: set one with RANK.ALTER key DATA hash
            RANK.LOAD plain {"member":"a","scores":{"gold":1}} => NOBOARD line 1: "scores" needs a board with fields: create it with RANK.CREATE first
            EXISTS plain => 0
            RANK.LOAD plain {"member":"a","score":1,"time":1700000000000,"data":null} {"member":"b","score":"inf"} => 2
            ZRANGE plain 0 -1 WITHSCORES => ["a", "1", "b", "inf"]
            RANK.LOAD plain => ERR wrong number of arguments for 'rank.load' command
            RANK.LOAD plain NX => ERR wrong number of arguments for 'rank.load' command
            RANK.LOAD plain "" => 0
            SET text x => +OK
            RANK.LOAD text {"member":"a","score":1} => WRONGTYPE Operation against a key holding the wrong kind of value
        "#);
    }

    /// A member of a damaged board that cannot be written stops the lines before it too.
    fn a_load_that_meets_damage_writes_nothing(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b FIELD a INT FIELD b INT => +OK\n RANK.ADD b 3 9000000000000000000 a 2 2 b 1 1 c => 3");
        let element = elements(&mut con, "b").pop().expect("an element").0;
        let entry = elements(&mut con, "b")[1].0.clone();
        for gone in [entry, element] {
            assert_eq!(replyv(&mut con, &["COPY", "b", "sound"]), "1");
            assert_eq!(replyv(&mut con, &[b"ZREM".as_slice(), b"b", &gone]), "1");
            let before = reply(&mut con, "DEBUG DIGEST");
            let lines = [r#"{"member":"e","scores":{"a":1,"b":1}}"#, r#"{"member":"a","scores":{"a":3,"b":9000000000000000000}}"#];
            let got = replyv(&mut con, &["RANK.LOAD", "b", lines[0], lines[1]]);
            assert!(got.starts_with("DAMAGED the board is damaged"), "{got}");
            // Whoever is there is returned, or the damage reported.
            let got = reply(&mut con, "RANK.SCAN b 0");
            assert!(got.starts_with("DAMAGED the board is damaged"), "{got}");
            expect(&mut con, "DEBUG DIGEST", &before);
            expect(&mut con, "RENAME sound b", "+OK");
        }
    }

    fn a_load_follows_the_rules_of_the_board(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE keep FIELD a INT TIES FIRST KEEP 2 DATA h OWNED => +OK
            RANK.LOAD keep {"member":"a","score":5,"time":1700000000000,"data":{"n":1}} {"member":"b","score":4,"data":{"n":2}} {"member":"c","score":6,"data":{"n":3}} {"member":"d","score":1,"data":{"n":4}} => 2
            RANK.TOPN keep 9 => [[1, "c", 6], [2, "a", 5]]
            HGETALL h => ["a", "{\"n\":1}", "c", "{\"n\":3}"]
            RANK.LOAD keep {"member":"e","score":7} => 1
            HGETALL h => ["c", "{\"n\":3}"]
            RANK.CREATE best UPDATE BEST => +OK
            RANK.LOAD best {"member":"a","score":5} => 1
            RANK.LOAD best {"member":"a","score":4} {"member":"b","score":1} => 1
            RANK.TOPN best 9 => [[1, "a", "5"], [2, "b", "1"]]
            RANK.CREATE nx DATA i => +OK
            RANK.LOAD nx {"member":"a","score":5,"data":{"n":1}} => 1
            RANK.LOAD nx NX {"member":"a","score":9,"data":{"n":2}} {"member":"b","score":3,"data":{"n":3}} {"member":"b","score":4,"data":{"n":4}} => 1
            RANK.TOPN nx 9 WITHDATA JSON => "[{\"rank\":1,\"member\":\"a\",\"score\":5,\"data\":{\"n\":1}},{\"rank\":2,\"member\":\"b\",\"score\":3,\"data\":{\"n\":3}}]"
            RANK.LOAD nx nx {"member":"c","score":1} => 1
            RANK.LOAD nx {"member":"a","score":9,"data":null} => 0
            HGET i a => "{\"n\":1}"
            RANK.LOAD nx "{\"member\":\"x\",\"score\":1}\n\n{\"member\":\"y\",\"score\":2,\"rank\":7}\n" => 2
        "#);
    }

    fn a_load_needs_permission_for_the_attributes(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE b DATA h => +OK
            RANK.ADD b 1 a => 1
            ACL SETUSER guest on nopass +@all ~b %R~h => +OK
            AUTH guest x => +OK
            RANK.LOAD b {"member":"b","score":2,"data":{}} => NOPERM this user has no permissions to access 'h', which the board's schema names
            RANK.COUNT b => 1
            RANK.LOAD b {"member":"b","score":2} => 1
            RANK.SCAN b 0 WITHDATA => ["0", [["a", "1", nil], ["b", "2", nil]]]
            AUTH default x => +OK
            ACL SETUSER guest resetkeys ~b => +OK
            AUTH guest x => +OK
            RANK.SCAN b 0 WITHDATA => NOPERM this user has no permissions to access 'h', which the board's schema names
            AUTH default x => +OK
        "#);
    }
}
