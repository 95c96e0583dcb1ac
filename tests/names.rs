//! Names have a longest length where one short call could make the server keep or send them many times.

use redis::Connection;

use crate::support::boards::{elements, replyv};
use crate::support::*;

const KEY: usize = 512;
const MEMBER: usize = 65_535;

/// Sends a line in which `@` is a name of so many bytes.
#[track_caller]
fn with_name(con: &mut Connection, line: &str, length: usize) -> String {
    let name = "n".repeat(length);
    let words: Vec<String> = line.split(' ').map(|word| word.replace('@', &name)).collect();
    replyv(con, &words)
}

fn too_long(what: &str, most: usize) -> String {
    format!("ERR {what} takes a name of at most {most} bytes, got {} bytes", most + 1)
}

on_every_server! {
    fn names_of_keys_in_schemas_and_of_shards(server: Server) {
        let mut con = server.connect();
        for (what, line) in [
            ("DATA", "RANK.CREATE b DATA @"),
            ("DATA", "RANK.CREATE b DATA @ OWNED"),
            ("PERIOD", "RANK.CREATE b PERIOD DAY @"),
            ("PERIOD", "RANK.CREATE b PERIOD EVERY 1d FROM 0 @ PAST 1000"),
            ("DATA", "RANK.ALTER made DATA @"),
            ("PERIOD", "RANK.ALTER made PERIOD HOUR @"),
            ("DATA", "RANK.ROTATE owner archive DATA @"),
            ("the key of a board with OWNED", "RANK.CREATE @ DATA h OWNED"),
            ("the key of a board with PERIOD", "RANK.CREATE @ PERIOD DAY day:"),
            ("name", "RANK.SHARDS @ 1024"),
            ("name", "RANK.SHARD @ 1024 m"),
        ] {
            for line_before in ["FLUSHALL", "RANK.CREATE made", "RANK.CREATE owner DATA h OWNED", "RANK.ADD owner 1 a"] {
                assert!(!is_error(&reply(&mut con, line_before)), "{line_before}");
            }
            let before = reply(&mut con, "DEBUG DIGEST");
            assert_eq!(with_name(&mut con, line, KEY + 1), too_long(what, KEY), "{line}");
            assert_eq!(reply(&mut con, "DEBUG DIGEST"), before, "{line}");
            let answer = with_name(&mut con, line, KEY);
            assert!(!is_error(&answer), "{line}: {answer}");
        }
        let most = KEY + ":2:{2}".len();
        let answer = with_name(&mut con, "RANK.CREATE @:2:{2} SHARD 0 2", KEY + 1);
        assert_eq!(answer, too_long("the key of a shard", most));
        assert_eq!(with_name(&mut con, "RANK.CREATE @:2:{2} SHARD 0 2", KEY), "+OK");
    }

    fn names_of_members_of_boards_with_a_schema(server: Server) {
        let mut con = server.connect();
        let error = too_long("member", MEMBER);
        for schema in ["KEEP 9", "FIELD a DIGITS 3", "FIELD a INT FIELD b INT TIES FIRST"] {
            let scores = if schema.contains("FIELD b") { "1 2" } else { "1" };
            for line in [
                format!("RANK.ADD b {scores} @"),
                format!("RANK.ADD b {scores} short {scores} @"),
                format!("RANK.MULTISET b {scores} @"),
                format!("RANK.INCR b {scores} @"),
                "RANK.PUTDATA b @ {}".to_owned(),
                "RANK.SETDATA b @ a 1".to_owned(),
            ] {
                assert!(!is_error(&reply(&mut con, "FLUSHALL")));
                expect(&mut con, &format!("RANK.CREATE b DATA h {schema}"), "+OK");
                let before = reply(&mut con, "DEBUG DIGEST");
                assert_eq!(with_name(&mut con, &line, MEMBER + 1), error, "{schema}: {line}");
                assert_eq!(reply(&mut con, "DEBUG DIGEST"), before, "{schema}: {line}");
                let answer = with_name(&mut con, &line, MEMBER);
                assert!(!is_error(&answer), "{schema}: {line}: {answer}");
            }
        }
        // As sorted sets take any name, so does a board without a schema.
        assert_eq!(with_name(&mut con, "RANK.ADD plain 1 @", MEMBER + 1), "1");
        assert_eq!(with_name(&mut con, "RANK.MULTISET new 1 2 @", MEMBER + 1), error);
        expect(&mut con, "EXISTS new", "0");
        // What a core command left there can be removed.
        assert_eq!(with_name(&mut con, "ZADD b 1 @", MEMBER + 1), "1");
        assert_eq!(with_name(&mut con, "HSET h @ {}", MEMBER + 1), "1");
        assert_eq!(with_name(&mut con, "RANK.DELDATA b @", MEMBER + 1), "0");
        expect(&mut con, "HLEN h", "1");
    }

    /// 514 MB, 500 MB and 200 MB once, for a few bytes or a single call.
    fn a_short_call_cannot_take_much_memory(server: Server) {
        let mut con = server.connect();
        let before = used(&mut con);
        assert!(with_name(&mut con, "RANK.SHARDS @ 1024", 500_000).starts_with("ERR name takes"));
        assert!(with_name(&mut con, "RANK.CREATE b PERIOD HOUR @ PAST 1000", 500_000).starts_with("ERR PERIOD takes"));
        let fields = (0..32).map(|field| format!("FIELD f{field} INT")).collect::<Vec<_>>().join(" ");
        expect(&mut con, &format!("RANK.CREATE wide {fields}"), "+OK");
        let scores = vec!["9000000000000000000"; 32].join(" ");
        assert!(with_name(&mut con, &format!("RANK.ADD wide {scores} @"), 5_000_000).starts_with("ERR member takes"));
        // The longest of each: replies and entries are at most some megabytes.
        assert!(with_name(&mut con, "RANK.SHARDS @ 1024", KEY).len() < 600_000);
        assert_eq!(with_name(&mut con, "RANK.CREATE b PERIOD HOUR @ PAST 1000", KEY), "+OK");
        assert!(reply(&mut con, "RANK.PERIODS b JSON").len() < 1_000_000);
        assert_eq!(with_name(&mut con, &format!("RANK.ADD wide {scores} @"), MEMBER), "1");
        let grown = used(&mut con) - before;
        assert!(grown < 20_000_000, "{grown} bytes");
    }

    /// A marker is an element that anybody can write.
    fn a_forged_schema_has_no_longer_names(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE b PERIOD HOUR N", "+OK");
        let marker = stored_marker(&mut con);
        for (length, is_read) in [(KEY, true), (KEY + 1, false)] {
            expect(&mut con, "DEL b", "1");
            let forged = marker.replace(" N", &format!(" {}", "n".repeat(length)));
            assert_eq!(replyv(&mut con, &["ZADD", "b", "-inf", &forged]), "1");
            let answer = reply(&mut con, "RANK.PERIODS b");
            assert_eq!(!is_error(&answer), is_read, "{answer}");
            assert!(is_read || answer.starts_with("DAMAGED the board's marker is not a schema"), "{answer}");
        }
    }
}

fn used(con: &mut Connection) -> i64 {
    let info = reply(con, "INFO memory");
    let field = info.split("used_memory:").nth(1).expect("used_memory");
    field.split("\\r").next().expect("a line").parse().expect("a number")
}

fn stored_marker(con: &mut Connection) -> String {
    let (element, _) = elements(con, "b").into_iter().next().expect("a marker");
    String::from_utf8(element).expect("a text")
}
