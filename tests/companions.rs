//! The `members` hash of spilled boards: what it holds, what it is called, and that nothing done
//! behind its back makes a board lie.

use std::collections::BTreeSet;

use redis::{Connection, Value};

use crate::layouts::{info, stored};
use crate::support::*;

/// The reads that look a member up.
const LOOKUPS: &[&str] =
    &["GET k x", "SCORE k x", "QUERY k x", "AROUND k x 1", "AMONG k 1 x", "PERCENTILE k x", "GET k nobody"];

/// The reads that do without.
const SCANS: &[&str] = &[
    "TOPN k 9",
    "RANGE k 1 -1",
    "STATS k",
    "PAGE k 1 9",
    "BYSCORE k -inf inf",
    "COUNT k",
    "FORSCORE k 1 2",
    "SCOREAT k 1",
];

/// The hash of a board, in order; empty if there is none.
#[track_caller]
pub fn hash(con: &mut Connection, key: &str) -> BTreeSet<(String, String)> {
    let Ok(Value::Array(flat)) = cmdv(con, &["HGETALL", key]) else { panic!("no hash {key}") };
    flat.chunks(2).map(|pair| (show(&pair[0]), show(&pair[1]))).collect()
}

/// That `companion` has exactly what the sorted set says, of a board with `fields` 8-byte fields in
/// front of its members.
#[track_caller]
fn agree(con: &mut Connection, board: &str, companion: &str, fields: usize) {
    let (mut expected, mut id) = (BTreeSet::new(), String::new());
    for (element, score) in stored(con, board) {
        if score == f64::NEG_INFINITY {
            id = String::from_utf8_lossy(&element).split(' ').nth(2).expect("an id").into();
        } else {
            let (bytes, member) = element.split_at(fields * 8);
            let entry = [b":", member].concat();
            expected.insert((show(&Value::BulkString(entry)), show(&Value::BulkString(bytes.into()))));
        }
    }
    // A board without members needs no hash, but may have one.
    let got = hash(con, companion);
    if !(expected.is_empty() && got.is_empty()) {
        expected.insert((r#""id""#.into(), format!("\"{id}\"")));
    }
    assert_eq!(got, expected, "{board} {companion}");
}

/// A board `k` of two INT fields with members x, y and z.
#[track_caller]
fn board(con: &mut Connection, more: &str) {
    expect(con, "FLUSHALL", "+OK");
    expect(con, &format!("RANK.CREATE k FIELD a INT FIELD b ASC INT {more}"), "+OK");
    expect(con, "RANK.ADD k 1 1 x 2 2 y 3 3 z", "3");
    agree(con, "k", "rank:members:{k}", 2);
}

#[track_caller]
fn out_of_step(con: &mut Connection) {
    for read in LOOKUPS {
        let got = reply(con, &format!("RANK.{read}"));
        assert!(got.starts_with("ERR ") && got.contains("members"), "{read}: {got}");
    }
    for read in SCANS.iter().filter(|read| !read.starts_with("SCOREAT")) {
        let got = reply(con, &format!("RANK.{read}"));
        assert!(!got.starts_with("ERR "), "{read}: {got}");
    }
}

/// What a cluster hashes of a key.
fn hash_tag(key: &str) -> &str {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    tag.filter(|tag| !tag.is_empty()).unwrap_or(key)
}

on_every_server! {
    fn the_hash_maps_each_member_to_its_bytes(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE k FIELD a INT FIELD b ASC FLOAT", "+OK");
        expect(&mut con, "EXISTS rank:members:{k}", "0");
        expect(&mut con, r#"RANK.ADD k 5 0.5 x 5 0.5 id 5 0.5 "" 5 0.5 ":" 5 0.5 "\x00%s\n\xff""#, "5");
        let id = info(&mut con, "k", "schema").split(' ').nth(1).expect("an id").to_string();
        let bytes = r#""\x80\x00\x00\x00\x00\x00\x00\x05@\x1f\xff\xff\xff\xff\xff\xff""#;
        let mut expected = BTreeSet::from([(r#""id""#.to_string(), format!("\"{id}\""))]);
        for entry in [r#"":x""#, r#"":id""#, r#"":""#, r#""::""#, r#"":\x00%s\n\xff""#] {
            expected.insert((entry.into(), bytes.into()));
        }
        assert_eq!(hash(&mut con, "rank:members:{k}"), expected);
        assert_eq!(info(&mut con, "k", "keys"), r#"["rank:members:{k}"]"#);
        expect(&mut con, r#"RANK.GET k "\x00%s\n\xff""#, r#"[1, "\x00%s\n\xff", 5, "0.5"]"#);
        expect(&mut con, "RANK.SCORE k id", r#"[5, "0.5"]"#);
    }

    fn packed_boards_are_one_key(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a", "FIELD a DIGITS 3 FIELD b ASC DIGITS 3", "FIELD a BITS 60", "FIELD a BITS 9 TIES FIRST"] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE a}}b {schema}"), "+OK");
            let scores = if schema.contains(" b ") { "1 2" } else { "1" };
            expect(&mut con, &format!("RANK.ADD a}}b {scores} x {scores} y"), "2");
            expect(&mut con, "RANK.REM a}b x", "1");
            expect(&mut con, "KEYS *", r#"["a}b"]"#);
        }
    }

    fn a_companion_is_named_after_its_board_and_in_its_slot(server: Server) {
        let mut con = server.connect();
        let names = [
            ("a", "rank:members:{a}"), ("{a}b", "rank:members::{a}b"), ("a{b", "rank:members:{a{b}"),
            ("{a}", "rank:members::{a}"), ("a}{b}", "rank:members::a}{b}"), ("{a}{}", "rank:members::{a}{}"),
            ("x{a}b}", "rank:members::x{a}b}"), ("{{a}}", "rank:members::{{a}}"), ("{", "rank:members:{{}"),
        ];
        for (number, (key, companion)) in names.iter().enumerate() {
            assert_eq!(hash_tag(key), hash_tag(companion), "{key}");
            expect(&mut con, &format!("RANK.MULTISET {key} {number} 7 x"), "1");
            agree(&mut con, key, companion, 2);
        }
        // All at once, among them boards that differ by their braces alone.
        for (number, (key, companion)) in names.iter().enumerate() {
            expect(&mut con, &format!("RANK.SCORE {key} x"), &format!("[{number}, 7]"));
            assert_eq!(info(&mut con, key, "keys"), format!("[\"{companion}\"]"));
        }
        expect(&mut con, "DBSIZE", &(names.len() * 2).to_string());
        expect(&mut con, "RANK.REM a x", "1");
        expect(&mut con, "RANK.SCORE {a} x", "[3, 7]");
    }

    fn a_key_that_can_have_no_companion_is_refused(server: Server) {
        let mut con = server.connect();
        for key in [r#""""#, "a}b", "{}x", "a{}b", "}", "{}{a}"] {
            expect(&mut con, "FLUSHALL", "+OK");
            for line in ["RANK.CREATE K FIELD a INT", "RANK.MULTISET K 1 2 x", "RANK.CREATE K FIELD a TIES FIRST"] {
                let got = reply(&mut con, &line.replace(" K ", &format!(" {key} ")));
                assert!(got.starts_with("ERR ") && got.contains("companion"), "{line} {key}: {got}");
                expect(&mut con, "DBSIZE", "0");
            }
            board(&mut con, "");
            for line in [format!("RANK.CREATE {key} LIKE k"), format!("RANK.ROTATE k {key}")] {
                let got = reply(&mut con, &line);
                assert!(got.starts_with("ERR ") && got.contains("companion"), "{line}: {got}");
            }
            expect(&mut con, "DBSIZE", "2");
            agree(&mut con, "k", "rank:members:{k}", 2);

            // A board that came under such a name: what needs no companion still works.
            expect(&mut con, &format!("COPY k {key}"), "1");
            let content = show_result(&cmd(&mut con, &format!("ZRANGE {key} 0 -1 WITHSCORES")));
            for line in [format!("RANK.GET {key} x"), format!("RANK.ADD {key} 1 1 n"), format!("RANK.REM {key} x")] {
                let got = reply(&mut con, &line);
                assert!(got.starts_with("ERR ") && got.contains("companion"), "{line}: {got}");
            }
            assert_eq!(show_result(&cmd(&mut con, &format!("ZRANGE {key} 0 -1 WITHSCORES"))), content);
            expect(&mut con, &format!("RANK.TOPN {key} 1"), r#"[[1, "z", 3, 3]]"#);
            expect(&mut con, &format!("RANK.COUNT {key}"), "3");
        }
    }

    fn nothing_is_orphaned(server: Server) {
        let mut con = server.connect();
        for (more, lines) in [
            ("", &["RANK.REM k y nobody y", "RANK.REM k x z"][..]),
            ("", &["RANK.TRIM k 2", "RANK.TRIM k 1 RETURN", "RANK.TRIM k 0"]),
            ("", &["RANK.CLEAR k", "RANK.ADD k 1 1 x"]),
            ("", &["RANK.ADD k 9 9 x 8 8 x 7 7 x", "RANK.INCR k 1 1 x", "RANK.INCR k 0 0 x", "RANK.INCR k 5 5 new"]),
            ("", &["RANK.ADD k KEEP 2 9 9 n 1 0 m 8 8 o", "RANK.ADD k XX 5 5 n 5 5 p", "RANK.ADD k NX 5 5 n 6 6 q"]),
            ("KEEP 3", &["RANK.ADD k 9 9 a 9 9 b 9 9 c 9 9 d", "RANK.ADD k 0 0 e", "RANK.INCR k 10 0 f", "RANK.ADD k 0 0 a"]),
            ("UPDATE BEST", &["RANK.ADD k 0 0 x 9 9 x", "RANK.ADD k SET 0 0 x"]),
            ("", &["RANK.ALTER k KEEP 1", "RANK.ALTER k NOKEEP", "RANK.ADD k 1 1 n"]),
        ] {
            board(&mut con, more);
            for line in lines {
                let got = reply(&mut con, line);
                assert!(!got.starts_with("ERR "), "{line}: {got}");
                agree(&mut con, "k", "rank:members:{k}", 2);
            }
        }
        board(&mut con, "");
        expect(&mut con, "RANK.ROTATE k {k}old", "3");
        agree(&mut con, "{k}old", "rank:members::{k}old", 2);
        agree(&mut con, "k", "rank:members:{k}", 2);
        expect(&mut con, "RANK.GET {k}old x", r#"[3, "x", 1, 1]"#);
        expect(&mut con, "RANK.GET k x", "nil");
        expect(&mut con, "RANK.ADD k 1 1 x", "1");
        agree(&mut con, "k", "rank:members:{k}", 2);
        agree(&mut con, "{k}old", "rank:members::{k}old", 2);
    }

    fn what_was_done_behind_its_back_is_noticed_and_mended(server: Server) {
        let mut con = server.connect();
        let w = r#""\x80\x00\x00\x00\x00\x00\x00\x05\x7f\xff\xff\xff\xff\xff\xff\xfaw""#;
        let y = r#""\x80\x00\x00\x00\x00\x00\x00\x02\x7f\xff\xff\xff\xff\xff\xff\xfdy""#;
        let (add, remove) = (format!("ZADD k 5 {w}"), format!("ZREM k {y}"));
        for (harm, done) in [
            (add.as_str(), "1"), (&remove, "1"), ("ZREMRANGEBYRANK k 1 1", "1"), ("DEL rank:members:{k}", "1"),
            ("HDEL rank:members:{k} :x", "1"), ("HSET rank:members:{k} :v 1", "1"), ("HDEL rank:members:{k} id", "1"),
            ("HSET rank:members:{k} id 0000000000000000", "0"),
        ] {
            for write in [
                "RANK.ADD k 4 4 n", "RANK.ADD k 1 1 x", "RANK.INCR k 1 1 n", "RANK.REM k z", "RANK.REM k nobody",
                "RANK.TRIM k 1", "RANK.TRIM k 9", "RANK.CLEAR k", "RANK.ADD k KEEP 1 9 9 n",
            ] {
                board(&mut con, "");
                expect(&mut con, harm, done);
                out_of_step(&mut con);
                let got = reply(&mut con, write);
                assert!(!got.starts_with("ERR "), "{harm}; {write}: {got}");
                agree(&mut con, "k", "rank:members:{k}", 2);
            }
        }
        board(&mut con, "");
        expect(&mut con, &add, "1");
        expect(&mut con, "RANK.ADD k WITHRANK 6 6 n 4 4 w", r#"[[1, nil, "n", 6, 6], [2, 1, "w", 4, 4]]"#);
        expect(&mut con, "RANK.GET k w", r#"[2, "w", 4, 4]"#);
        expect(&mut con, "RANK.COUNT k", "5");

        // As many entries as members, but not the same: the sorted set is the truth.
        board(&mut con, "");
        expect(&mut con, &add, "1");
        expect(&mut con, &remove, "1");
        let got = reply(&mut con, "RANK.GET k y");
        assert!(got == "nil" || got.starts_with("ERR "), "a member that is gone: {got}");
        expect(&mut con, "RANK.GET k x", r#"[3, "x", 1, 1]"#);
        reply(&mut con, "RANK.VERIFY k REPAIR");
        agree(&mut con, "k", "rank:members:{k}", 2);
    }

    fn beyond_ten_thousand_members_a_write_does_not_rebuild(server: Server) {
        let mut con = server.connect();
        for (members, rebuilds) in [(10_000, true), (10_001, false)] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, "RANK.CREATE k FIELD a INT FIELD b INT", "+OK");
            let pairs: Vec<String> = (0..members).map(|number| format!("{number} 1 m{number}")).collect();
            expect(&mut con, &format!("RANK.ADD k {}", pairs.join(" ")), &members.to_string());
            expect(&mut con, "DEL rank:members:{k}", "1");
            let lookup = reply(&mut con, "RANK.GET k m5");
            assert!(lookup.starts_with("ERR ") && lookup.contains("members"), "{lookup}");
            if rebuilds {
                expect(&mut con, "RANK.ADD k 5 2 m5", "0");
                agree(&mut con, "k", "rank:members:{k}", 2);
                continue;
            }
            for write in ["RANK.ADD k 5 2 m5", "RANK.ADD k 5 2 new", "RANK.INCR k 1 1 m5", "RANK.REM k m5"] {
                let got = reply(&mut con, write);
                assert!(got.starts_with("ERR ") && got.contains("RANK.VERIFY"), "{write}: {got}");
            }
            expect(&mut con, "ZCARD k", &(members + 1).to_string());
            expect(&mut con, "EXISTS rank:members:{k}", "0");
            expect(&mut con, "RANK.TOPN k 1", r#"[[1, "m10000", 10000, 1]]"#);

            // What the error names goes in steps, and mends it.
            let (mut cursor, mut steps) = ("0".to_string(), 0);
            while steps == 0 || cursor != "0" {
                let Ok(Value::Array(step)) = cmd(&mut con, &format!("RANK.VERIFY k REPAIR CURSOR {cursor} COUNT 3000")) else {
                    panic!("no step from cursor {cursor}")
                };
                (cursor, steps) = (show(&step[1]).trim_matches('"').into(), steps + 1);
            }
            assert!(steps > 3, "{steps}");
            agree(&mut con, "k", "rank:members:{k}", 2);
            expect(&mut con, "RANK.ADD k 5 2 m5", "0");
        }
    }

    fn a_stale_companion_is_ignored_and_dropped_by_the_next_write(server: Server) {
        let mut con = server.connect();
        expect(&mut con, r#"HSET rank:members:{k} id 0123456789abcdef ":x" "\x80\x00\x00\x00\x00\x00\x00\x05" ":ghost" z"#, "3");
        expect(&mut con, "RANK.CREATE k FIELD a INT FIELD b ASC INT", "+OK");
        assert_eq!(info(&mut con, "k", "keys"), "[]");
        for (read, expected) in [("GET k x", "nil"), ("SCORE k ghost", "nil"), ("TOPN k 9", "[]"), ("COUNT k", "0")] {
            expect(&mut con, &format!("RANK.{read}"), expected);
        }
        expect(&mut con, "RANK.ADD k 1 1 y", "1");
        agree(&mut con, "k", "rank:members:{k}", 2);
        expect(&mut con, "RANK.GET k ghost", "nil");
    }

    fn a_companion_of_another_type_is_an_error_and_stays(server: Server) {
        let mut con = server.connect();
        for (other, kind) in [("SET rank:members:{k} v", "string"), ("RPUSH rank:members:{k} v", "list")] {
            board(&mut con, "");
            expect(&mut con, "DEL rank:members:{k}", "1");
            reply(&mut con, other);
            let content = stored(&mut con, "k");
            for line in LOOKUPS.iter().map(|read| format!("RANK.{read}")).chain(
                ["RANK.ADD k 4 4 n", "RANK.INCR k 1 1 x", "RANK.REM k x"].map(String::from))
            {
                let got = reply(&mut con, &line);
                assert!(got.starts_with("ERR ") || got.starts_with("WRONGTYPE "), "{line}: {got}");
            }
            assert_eq!(stored(&mut con, "k"), content);
            expect(&mut con, "TYPE rank:members:{k}", &format!("+{kind}"));
            expect(&mut con, "RANK.TOPN k 1", r#"[[1, "z", 3, 3]]"#);
            expect(&mut con, "DEL rank:members:{k}", "1");
            expect(&mut con, "RANK.ADD k 4 4 n", "1");
            agree(&mut con, "k", "rank:members:{k}", 2);
        }
    }

    fn a_deleted_board_takes_its_companion_along(server: Server) {
        let mut con = server.connect();
        for end in ["DEL k", "UNLINK k", "PEXPIRE k 1", "SET k v", "ZREMRANGEBYRANK k 0 -1"] {
            board(&mut con, "");
            reply(&mut con, end);
            wait_until(|| reply(&mut server.connect(), "EXISTS rank:members:{k}") == "0");
        }
        // Made again at once: the new board's companion is the new board's.
        board(&mut con, "");
        for line in ["MULTI", "DEL k", "RANK.CREATE k FIELD a INT FIELD b ASC INT", "RANK.ADD k 7 7 x", "EXEC"] {
            reply(&mut con, line);
        }
        for _ in 0..50 {
            expect(&mut con, "RANK.GET k x", r#"[1, "x", 7, 7]"#);
            expect(&mut con, "RANK.GET k y", "nil");
        }
        agree(&mut con, "k", "rank:members:{k}", 2);
        board(&mut con, "");
        expect(&mut con, "DEL k", "1");
        expect(&mut con, "RANK.MULTISET k 8 8 x", "1");
        expect(&mut con, "RANK.GET k y", "nil");
        agree(&mut con, "k", "rank:members:{k}", 2);
    }

    fn a_copied_or_renamed_board_is_whole_after_its_next_write(server: Server) {
        let mut con = server.connect();
        for line in ["COPY k {k}2", "RENAME k {k}2"] {
            board(&mut con, "");
            reply(&mut con, line);
            expect(&mut con, "RANK.TOPN {k}2 1", r#"[[1, "z", 3, 3]]"#);
            expect(&mut con, "RANK.ADD {k}2 4 4 n", "1");
            expect(&mut con, "RANK.GET {k}2 x", r#"[4, "x", 1, 1]"#);
            agree(&mut con, "{k}2", "rank:members::{k}2", 2);
        }
        // The copy's companion has the right id and as many entries, but is of what was there before.
        board(&mut con, "");
        expect(&mut con, "COPY k {k}2", "1");
        expect(&mut con, "RANK.ADD {k}2 9 9 x", "0");
        expect(&mut con, "COPY k {k}2 REPLACE", "1");
        let got = reply(&mut con, "RANK.GET {k}2 x");
        assert!(got.starts_with("ERR ") || got == r#"[3, "x", 1, 1]"#, "{got}");
        expect(&mut con, "RANK.ADD {k}2 CH 8 8 x", "1");
        expect(&mut con, "RANK.TOPN {k}2 9", r#"[[1, "x", 8, 8], [2, "z", 3, 3], [3, "y", 2, 2]]"#);
        agree(&mut con, "{k}2", "rank:members::{k}2", 2);

        board(&mut con, "");
        expect(&mut con, "RENAME k other", "+OK");
        wait_until(|| reply(&mut server.connect(), "RANK.GET other x") == r#"[3, "x", 1, 1]"#);
        wait_until(|| reply(&mut server.connect(), "EXISTS rank:members:{k}") == "0");
        agree(&mut con, "other", "rank:members:{other}", 2);
    }
}
