//! DUE: items become due, are claimed once at a time, and are acknowledged or become due again.

use crate::support::*;

/// What `DUE.CLAIM` gives an item at its first attempt.
fn claimed(item: &str, until: i64, attempt: i64, due: i64) -> String {
    format!("[\"{item}\", {}, {attempt}, {due}]", until * 512 + attempt)
}

on_every_server! {
    fn what_is_due_is_claimed_earliest_first(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q AT 3000 c", "1");
        expect(&mut con, "DUE.ADD q AT 1000 a b", "2");
        expect(&mut con, "DUE.CLAIM q COUNT 10 NOW 999", "[]");
        let (a, b) = (claimed("a", 31_000, 1, 1000), claimed("b", 31_000, 1, 1000));
        expect(&mut con, "DUE.CLAIM q COUNT 10 NOW 1000", &format!("[{a}, {b}]"));
        expect(&mut con, "DUE.CLAIM q COUNT 10 NOW 1000", "[]");
        // Without COUNT one; a lease that ended is among the others by its end.
        expect(&mut con, "DUE.CLAIM q NOW 40000 LEASE 5s", &format!("[{}]", claimed("c", 45_000, 1, 3000)));
        expect(&mut con, "DUE.CLAIM q NOW 40000 LEASE 5s", &format!("[{}]", claimed("a", 45_000, 2, 31_000)));
        // Scores are as documented: the end of the lease, less 2^44, and the attempt in 512ths.
        expect(&mut con, "ZMSCORE q a b", r#"["-17592185999415.996", "-17592186013415.998"]"#);
        expect(&mut con, "ZRANGEBYSCORE q 0 inf", "[]");
    }

    fn nothing_but_its_last_token_acknowledges_an_item(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q AT 1000 a", "1");
        expect(&mut con, "DUE.CLAIM q NOW 1000 LEASE 1s", &format!("[{}]", claimed("a", 2000, 1, 1000)));
        let first = 2000 * 512 + 1;
        expect(&mut con, "DUE.ACK q 1 a", "0");
        expect(&mut con, &format!("DUE.ACK q {first} b"), "0");
        expect(&mut con, "DUE.CLAIM q NOW 1999 LEASE 1s", "[]");
        expect(&mut con, "DUE.CLAIM q NOW 2000 LEASE 1ms", &format!("[{}]", claimed("a", 2001, 2, 2000)));
        let second = 2001 * 512 + 2;
        expect(&mut con, &format!("DUE.ACK q {first} a"), "0");
        expect(&mut con, &format!("DUE.MOVE q AT 9000 {first} a"), "0");
        // The lease has long ended, and nobody has claimed the item since.
        expect(&mut con, &format!("DUE.ACK q {first} a {second} a {second} a"), "1");
        expect(&mut con, "EXISTS q", "0");
        expect(&mut con, &format!("DUE.ACK q {second} a"), "0");
    }

    fn an_item_is_moved_by_its_holder(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q AT 1000 a", "1");
        expect(&mut con, "DUE.CLAIM q NOW 1000", &format!("[{}]", claimed("a", 31_000, 1, 1000)));
        expect(&mut con, &format!("DUE.MOVE q AT 5000 {} a", 31_000 * 512 + 1), &(5000 * 512 + 1).to_string());
        expect(&mut con, "DUE.CLAIM q NOW 4999", "[]");
        expect(&mut con, "DUE.CLAIM q NOW 5000 LEASE 1s", &format!("[{}]", claimed("a", 6000, 2, 5000)));
        expect(&mut con, &format!("DUE.MOVE q AT 9000 {} a", 6000 * 512 + 2), &(9000 * 512 + 2).to_string());
        expect(&mut con, &format!("DUE.MOVE q AT 9000 {} a", 9000 * 512 + 2), &(9000 * 512 + 2).to_string());
        expect(&mut con, &format!("DUE.MOVE q AT 9000 {} nobody", 9000 * 512 + 2), "0");
        expect(&mut con, &format!("DUE.MOVE none AT 9000 {} a", 9000 * 512 + 2), "0");
        let moved = reply(&mut con, &format!("DUE.MOVE q IN 1h {} a", 9000 * 512 + 2));
        expect(&mut con, &format!("DUE.ACK q {moved} a"), "1");
        expect(&mut con, "EXISTS none", "0");
    }

    fn additions_move_what_nobody_holds(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q XX AT 1000 a", "0");
        expect(&mut con, "EXISTS q", "0");
        expect(&mut con, "DUE.ADD q NX AT 1000 a a", "1");
        expect(&mut con, "DUE.ADD q NX AT 2000 a b", "1");
        expect(&mut con, "DUE.ADD q XX AT 3000 b c", "0");
        expect(&mut con, "DUE.ADD q AT 4000 b c", "1");
        expect(&mut con, "ZRANGE q 0 -1 WITHSCORES", r#"["a", "1000", "b", "4000", "c", "4000"]"#);
        // Held until long after now.
        let row = reply(&mut con, "DUE.CLAIM q LEASE 1d");
        expect(&mut con, "DUE.ADD q AT 5000 a", "0");
        expect(&mut con, "DUE.ADD q XX AT 5000 a", "0");
        let token = row.split(", ").nth(1).unwrap();
        // A claim that ended long ago holds nothing.
        assert_ne!(reply(&mut con, &format!("DUE.MOVE q AT 10 {token} a")), "0");
        expect(&mut con, "DUE.ADD q AT 5000 a", "0");
        expect(&mut con, "ZSCORE q a", r#""5000""#);
        // Names are bytes, also those that are options elsewhere.
        expect(&mut con, r#"DUE.ADD names AT 1 NX "" "\x00\n%s" AT"#, "4");
        expect(&mut con, "DUE.POP names COUNT 9", r#"[["", 1], ["\x00\n%s", 1], ["AT", 1], ["NX", 1]]"#);
    }

    fn what_is_popped_is_gone(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.POP q", "[]");
        expect(&mut con, "ZADD q 1000.9 a 1001.2 b 5000 c", "3");
        expect(&mut con, "DUE.POP q NOW 1000", r#"[["a", 1000]]"#);
        expect(&mut con, "DUE.CLAIM q NOW 1500 LEASE 10", &format!("[{}]", claimed("b", 11_500, 1, 1001)));
        expect(&mut con, "DUE.POP q COUNT 9 NOW 6000", r#"[["c", 5000]]"#);
        expect(&mut con, "DUE.POP q COUNT 9 NOW 20000", r#"[["b", 11500]]"#);
        expect(&mut con, "EXISTS q", "0");
    }

    fn a_schedule_is_any_sorted_set_and_what_is_no_time_is_left_alone(server: Server) {
        let mut con = server.connect();
        let all = "ZADD q 1767225600000.123 python 17592186044415 last 17592186044416 after inf never -inf before \
                   -5 minus -17592186043416 zero -17592186043415.5 half -100.3 none";
        expect(&mut con, all, "9");
        let info = |due, claimed, next| {
            format!(r#"["items", 9, "due", {due}, "claimed", {claimed}, "invalid", 6, "next_ms", {next}]"#)
        };
        // `half` reads as the 256th claim, up to 1000.
        expect(&mut con, "DUE.INFO q NOW 0", &info(0, 1, 1000));
        expect(&mut con, "DUE.INFO q NOW 1000", &info(1, 0, 1000));
        expect(&mut con, "DUE.INFO q", &info(2, 0, 1000));
        expect(&mut con, "DUE.POP q COUNT 100 NOW 14000000000000", r#"[["half", 1000], ["python", 1767225600000]]"#);
        expect(&mut con, "DUE.POP q COUNT 100 NOW 14000000000000", "[]");
        expect(&mut con, "ZCARD q", "7");
        expect(&mut con, "DUE.INFO none", r#"["items", 0, "due", 0, "claimed", 0, "invalid", 0, "next_ms", -1]"#);
        let mut con = server.connect_resp3();
        let map = r#"{"items": 0, "due": 0, "claimed": 0, "invalid": 0, "next_ms": -1}"#;
        expect(&mut con, "DUE.INFO none", map);
        expect(&mut con, "DUE.POP q NOW 1000", "[]");
    }

    /// The same answers, whatever encoding the sorted set has.
    fn large_schedules_are_like_small_ones(server: Server) {
        let mut con = server.connect();
        for (key, listpack) in [("small", "1000"), ("large", "0")] {
            expect(&mut con, &format!("CONFIG SET zset-max-listpack-entries {listpack}"), "+OK");
            for i in 0..300 {
                expect(&mut con, &format!("DUE.ADD {key} AT {} i{i}", i * 7 % 300), "1");
            }
        }
        assert_ne!(reply(&mut con, "OBJECT ENCODING small"), reply(&mut con, "OBJECT ENCODING large"));
        for line in ["COUNT 50 NOW 40", "COUNT 100 NOW 100 LEASE 50ms", "COUNT 100 NOW 150 LEASE 1s", "COUNT 999 NOW 300"] {
            let answers = ["small", "large"].map(|key| reply(&mut con, &format!("DUE.CLAIM {key} {line}")));
            assert!(answers[0].len() > 1000);
            assert_eq!(answers[0], answers[1], "{line}");
            let dumps = ["small", "large"].map(|key| reply(&mut con, &format!("ZRANGE {key} 0 -1 WITHSCORES")));
            assert_eq!(dumps[0], dumps[1], "{line}");
        }
    }

    fn bad_input_changes_nothing(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "SET text x", "+OK");
        expect(&mut con, "ZADD q 1 a", "1");
        let before = reply(&mut con, "DEBUG DIGEST");
        let duration = "a whole number with ms, s, m, h, d or none for seconds";
        for (line, error) in [
            ("DUE.ADD q", "ERR wrong number of arguments for 'due.add' command".to_owned()),
            ("DUE.ADD q AT 5", "ERR wrong number of arguments for 'due.add' command".into()),
            ("DUE.ADD q NX AT 5", "ERR wrong number of arguments for 'due.add' command".into()),
            ("DUE.ADD q 5 a b", "ERR expected AT ms or IN duration, got '5'".into()),
            ("DUE.ADD q NX XX AT 5 a", "ERR NX and XX are mutually exclusive".into()),
            ("DUE.ADD q NX NX AT 5 a", "ERR NX is given twice".into()),
            ("DUE.ADD q AT -1 a", "ERR AT takes 0 to 17592186044415, got -1".into()),
            ("DUE.ADD q AT 17592186044416 a", "ERR AT takes 0 to 17592186044415, got 17592186044416".into()),
            ("DUE.ADD q AT 5.5 a", "ERR AT takes 0 to 17592186044415, got 5.5".into()),
            ("DUE.ADD q IN -1 a", format!("ERR IN takes 0 to 36500d, {duration}, got -1")),
            ("DUE.ADD q IN 5w a", format!("ERR IN takes 0 to 36500d, {duration}, got 5w")),
            ("DUE.ADD text AT 5 a", "WRONGTYPE Operation against a key holding the wrong kind of value".into()),
            ("DUE.CLAIM q COUNT 0", "ERR COUNT takes 1 to 10000, got 0".into()),
            ("DUE.CLAIM q COUNT 10001", "ERR COUNT takes 1 to 10000, got 10001".into()),
            ("DUE.CLAIM q COUNT", "ERR COUNT needs a value".into()),
            ("DUE.CLAIM q LEASE 0", format!("ERR LEASE takes 1ms to 36500d, {duration}, got 0")),
            ("DUE.CLAIM q BLOCK x", format!("ERR BLOCK takes 0 to 36500d, {duration}, got x")),
            ("DUE.CLAIM q NOW -1", "ERR NOW takes 0 to 14438586044415, got -1".into()),
            ("DUE.CLAIM q NOW 1 NOW 1", "ERR NOW is given twice".into()),
            ("DUE.CLAIM q X", "ERR unknown option 'X'".into()),
            ("DUE.CLAIM text BLOCK 0", "WRONGTYPE Operation against a key holding the wrong kind of value".into()),
            ("DUE.POP q LEASE 5", "ERR unknown option 'LEASE'".into()),
            ("DUE.POP text", "WRONGTYPE Operation against a key holding the wrong kind of value".into()),
            ("DUE.ACK q 5", "ERR wrong number of arguments for 'due.ack' command".into()),
            ("DUE.ACK q 5 a 6", "ERR wrong number of arguments for 'due.ack' command".into()),
            ("DUE.ACK q 5 a x b", "ERR token takes an integer, as DUE.CLAIM returned it, got x".into()),
            ("DUE.ACK text 5 a", "WRONGTYPE Operation against a key holding the wrong kind of value".into()),
            ("DUE.MOVE q AT 5 x a", "ERR token takes an integer, as DUE.CLAIM returned it, got x".into()),
            ("DUE.MOVE q AT 5 1 a b", "ERR wrong number of arguments for 'due.move' command".into()),
            ("DUE.MOVE q ON 5 1 a", "ERR expected AT ms or IN duration, got 'ON'".into()),
            ("DUE.MOVE text IN 5 1 a", "WRONGTYPE Operation against a key holding the wrong kind of value".into()),
            ("DUE.INFO q X", "ERR unknown option 'X'".into()),
            ("DUE.INFO q NOW", "ERR NOW needs a value".into()),
            ("DUE.INFO text", "WRONGTYPE Operation against a key holding the wrong kind of value".into()),
        ] {
            expect(&mut con, line, &error);
        }
        assert_eq!(reply(&mut con, "DEBUG DIGEST"), before);
        expect(&mut con, "CONFIG SET rank.max-rows 5", "+OK");
        expect(&mut con, "DUE.CLAIM q COUNT 6", "ERR the reply would have 6 rows, more than rank.max-rows (5): read fewer at a time");
        assert_eq!(reply(&mut con, "DEBUG DIGEST"), before);
    }

    fn flags_and_keys_are_true(server: Server) {
        let mut con = server.connect();
        for (command, flags) in [
            ("due.add", "[+write, +denyoom, +module, +fast]"),
            ("due.claim", "[+write, +denyoom, +module, +blocking, +fast]"),
            ("due.pop", "[+write, +module, +blocking, +fast]"),
            ("due.ack", "[+write, +module, +fast]"),
            ("due.move", "[+write, +denyoom, +module, +fast]"),
            ("due.info", "[+readonly, +module]"),
        ] {
            let info = reply(&mut con, &format!("COMMAND INFO {command}"));
            let words: Vec<&str> = flags.trim_matches(['[', ']']).split(", ").collect();
            let shown = info.split('[').nth(3).unwrap_or_default().split(']').next().unwrap_or_default();
            let mut got: Vec<&str> = shown.split(", ").collect();
            let mut expected = words.clone();
            got.sort_unstable();
            expected.sort_unstable();
            assert_eq!(got, expected, "{command}: {info}");
        }
        for line in ["DUE.ADD k IN 5 a b", "DUE.CLAIM k COUNT 5", "DUE.POP k", "DUE.ACK k 1 a", "DUE.MOVE k IN 5 1 a", "DUE.INFO k"] {
            expect(&mut con, &format!("COMMAND GETKEYS {line}"), r#"["k"]"#);
        }
    }

    fn a_user_needs_the_command_and_the_key(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "ACL SETUSER worker on nopass -@all +due.claim +due.ack ~jobs", "+OK");
        expect(&mut con, "DUE.ADD jobs AT 1 a", "1");
        expect(&mut con, "AUTH worker x", "+OK");
        let row = reply(&mut con, "DUE.CLAIM jobs");
        assert!(row.starts_with("[[\"a\", "), "{row}");
        expect(&mut con, &format!("DUE.ACK jobs {} a", row.split(", ").nth(1).unwrap()), "1");
        for line in ["DUE.CLAIM other", "DUE.CLAIM other BLOCK 0", "DUE.ADD jobs IN 5 b", "DUE.POP jobs", "DUE.INFO jobs"] {
            let got = reply(&mut con, line);
            assert!(got.starts_with("NOPERM"), "{line}: {got}");
        }
    }
}
