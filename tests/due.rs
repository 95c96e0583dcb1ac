//! DUE: items become due, are claimed once at a time, and are acknowledged or become due again.

use redis::Connection;

use crate::support::*;

/// Tests claim at times of today, because leases cannot end before 2020.
const TODAY: i64 = 1_767_225_600_000;
const LEASES_BEGIN: i64 = 1_577_836_800_000;

/// A row of `DUE.CLAIM`.
#[derive(Debug, PartialEq)]
struct Claim {
    item: String,
    token: i64,
    attempt: i64,
    /// In milliseconds after `TODAY`.
    due: i64,
}

impl Claim {
    /// The end of the lease in milliseconds after `TODAY`, as the token has it.
    fn until(&self) -> i64 {
        (self.token >> 11) + LEASES_BEGIN - TODAY
    }
}

/// Claims at so many milliseconds after `TODAY`.
#[track_caller]
fn claim(con: &mut Connection, options: &str, now: i64) -> Vec<Claim> {
    let line = format!("DUE.CLAIM q {options} NOW {}", TODAY + now);
    let rows: Vec<(String, i64, i64, i64)> = redis::from_redis_value(cmd(con, &line).expect("rows")).expect("rows");
    rows.into_iter().map(|(item, token, attempt, due)| Claim { item, token, attempt, due: due - TODAY }).collect()
}

/// Item, attempt, due time and end of the lease of each claim.
fn shown(claims: &[Claim]) -> Vec<(&str, i64, i64, i64)> {
    claims.iter().map(|claim| (claim.item.as_str(), claim.attempt, claim.due, claim.until())).collect()
}

/// Adds items at so many milliseconds after `TODAY`.
#[track_caller]
fn add(con: &mut Connection, at: i64, items: &str, new: &str) {
    expect(con, &format!("DUE.ADD q AT {} {items}", TODAY + at), new);
}

/// The new token, or 0.
#[track_caller]
fn moved(con: &mut Connection, until: i64, token: i64, item: &str) -> i64 {
    reply(con, &format!("DUE.MOVE q AT {} {token} {item}", TODAY + until)).parse().expect("a token")
}

on_every_server! {
    fn what_is_due_is_claimed_earliest_first(server: Server) {
        let mut con = server.connect();
        add(&mut con, 3000, "c", "1");
        add(&mut con, 1000, "a b", "2");
        assert_eq!(claim(&mut con, "COUNT 10", 999), []);
        let first = claim(&mut con, "COUNT 10", 1000);
        assert_eq!(shown(&first), [("a", 1, 1000, 31_000), ("b", 1, 1000, 31_000)]);
        assert_eq!(claim(&mut con, "COUNT 10", 1000), []);
        // Without COUNT one; a lease that ended is among the others by its end.
        assert_eq!(shown(&claim(&mut con, "LEASE 5s", 40_000)), [("c", 1, 3000, 45_000)]);
        // Leases that end at the same time are in the order of their serial numbers, which begin anew after 63.
        let mut again = claim(&mut con, "LEASE 5s COUNT 2", 40_000);
        again.sort_by_key(|claim| claim.item.clone());
        assert_eq!(shown(&again), [("a", 2, 31_000, 45_000), ("b", 2, 31_000, 45_000)]);
        // Scores are as documented: -2^53, and twice the token.
        let scores = [&again[0], &again[1]].map(|claim| format!("\"{}\"", 2 * claim.token - (1 << 53)));
        let as_printed = reply(&mut con, "ZMSCORE q a b");
        let plain = |score: &str| score.trim_matches('"').parse::<f64>().expect("a number");
        let got: Vec<f64> = as_printed.trim_matches(['[', ']']).split(", ").map(plain).collect();
        assert_eq!(got, scores.map(|score| plain(&score)), "{as_printed}");
        expect(&mut con, "ZRANGEBYSCORE q 0 inf", "[]");
    }

    fn a_board_with_a_schema_is_no_schedule(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE b TIES FIRST", "+OK");
        expect(&mut con, "RANK.ADD b 5 ann", "1");
        let before = reply(&mut con, "DUMP b");
        for command in ["DUE.ADD b AT 1 x", "DUE.CLAIM b", "DUE.POP b", "DUE.ACK b 1 ann", "DUE.MOVE b IN 1s 1 ann", "DUE.INFO b"] {
            expect(&mut con, command, "WRONGTYPE the key holds a leaderboard, not a schedule: use another key");
        }
        assert_eq!(reply(&mut con, "DUMP b"), before);
    }

    fn nothing_but_its_last_token_acknowledges_an_item(server: Server) {
        let mut con = server.connect();
        add(&mut con, 1000, "a", "1");
        let first = claim(&mut con, "LEASE 1s", 1000)[0].token;
        expect(&mut con, "DUE.ACK q 1 a", "0");
        expect(&mut con, &format!("DUE.ACK q {first} b"), "0");
        assert_eq!(claim(&mut con, "LEASE 1s", 1999), []);
        let second = claim(&mut con, "LEASE 1ms", 2000);
        assert_eq!(shown(&second), [("a", 2, 2000, 2001)]);
        let second = second[0].token;
        expect(&mut con, &format!("DUE.ACK q {first} a"), "0");
        assert_eq!(moved(&mut con, 9000, first, "a"), 0);
        // The lease has long ended, and nobody has claimed the item since.
        expect(&mut con, &format!("DUE.ACK q {first} a {second} a {second} a"), "1");
        expect(&mut con, "EXISTS q", "0");
        expect(&mut con, &format!("DUE.ACK q {second} a"), "0");
    }

    /// Whatever happens to it between two claims.
    fn tokens_of_an_item_differ(server: Server) {
        let mut con = server.connect();
        let mut seen = std::collections::BTreeSet::new();
        // Removed and added again, claimed with the same end and at the same attempt.
        for _ in 0..60 {
            add(&mut con, 0, "a", "1");
            assert!(seen.insert(claim(&mut con, "LEASE 60s", 0)[0].token));
            expect(&mut con, "ZREM q a", "1");
        }
        seen.clear();
        // Moved there and back, then added again, and claimed by a clock that shows another time.
        for _ in 0..15 {
            add(&mut con, 0, "a", "1");
            let first = claim(&mut con, "LEASE 60s", 0)[0].token;
            let second = moved(&mut con, 10_000, first, "a");
            let third = moved(&mut con, 60_000, second, "a");
            expect(&mut con, &format!("ZADD q {TODAY} a"), "0");
            let fourth = claim(&mut con, "LEASE 30s", 30_000)[0].token;
            assert!([first, second, third, fourth].into_iter().all(|token| token > 0 && seen.insert(token)), "{seen:?}");
            expect(&mut con, &format!("DUE.ACK q {first} a {second} a {third} a"), "0");
            expect(&mut con, &format!("DUE.ACK q {fourth} a"), "1");
        }
    }

    fn a_lease_must_end_at_a_time_that_a_score_can_hold(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q AT 5 a", "1");
        let error = |end: i64| format!("ERR a lease ends between 1577836800000 and 3774712571903, this one would end at {end}");
        expect(&mut con, "DUE.CLAIM q NOW 1000", &error(31_000));
        expect(&mut con, "DUE.CLAIM q NOW 1577836799998 LEASE 1ms", &error(1_577_836_799_999));
        expect(&mut con, "DUE.CLAIM q NOW 3774712571903 LEASE 1ms", &error(3_774_712_571_904));
        expect(&mut con, "DUE.MOVE q AT 5 7 a", &error(5));
        expect(&mut con, "ZSCORE q a", r#""5""#);
        let row = reply(&mut con, "DUE.CLAIM q NOW 1577836799999 LEASE 1ms");
        assert!(row.starts_with("[[\"a\", "), "{row}");
        let row = reply(&mut con, "DUE.CLAIM q NOW 3774712571902 LEASE 1ms");
        let token = row.split(", ").nth(1).expect("a token");
        assert_ne!(reply(&mut con, &format!("DUE.MOVE q AT 1577836800000 {token} a")), "0");
        // Popping needs no lease.
        expect(&mut con, "ZADD q 5 b", "1");
        expect(&mut con, "DUE.POP q NOW 1000", r#"[["b", 5]]"#);
    }

    /// Done, and due again: the payload stays, attempts start over, and clients that wait are told.
    fn an_acknowledged_item_can_be_due_again(server: Server) {
        let mut con = server.connect();
        let claim = |con: &mut redis::Connection, options: &str| {
            let row = reply(con, &format!("DUE.CLAIM q {options}"));
            let parts: Vec<String> = row.trim_matches(['[', ']']).split(", ").map(str::to_owned).collect();
            (parts[1].clone(), parts[2].clone())
        };
        expect(&mut con, "DUE.ADD q DATA h text AT 1 a", "1");
        let (token, attempt) = claim(&mut con, "LEASE 1ms DATA h");
        assert_eq!(attempt, "1");
        wait_until(|| reply(&mut con, "DUE.INFO q").contains("\"due\", 1"));
        let (token_2, attempt) = claim(&mut con, "DATA h");
        assert_eq!(attempt, "2");
        // A token that is no longer held changes nothing.
        expect(&mut con, &format!("DUE.ACK q AT 5 DATA h {token} a"), "0");
        for options in ["DATA h AT 5", "AT 5 DATA h"] {
            let at = reply(&mut con, "ZSCORE q a");
            expect(&mut con, &format!("DUE.ACK q {options} {token_2} b"), "0");
            expect(&mut con, "ZSCORE q a", &at);
        }
        expect(&mut con, &format!("DUE.ACK q DATA h IN 1d {token_2} a {token_2} a"), "1");
        expect(&mut con, "HGET h a", "\"text\"");
        assert!(reply(&mut con, "DUE.INFO q").contains("\"items\", 1, \"due\", 0, \"claimed\", 0"));
        expect(&mut con, "DUE.ADD q AT 7 a", "0");
        let (token, attempt) = claim(&mut con, "");
        assert_eq!(attempt, "1");
        // One that was triggered meanwhile is due now at the latest.
        expect(&mut con, "DUE.ADD q AGAIN a", "0");
        expect(&mut con, &format!("DUE.ACK q IN 1d {token} a"), "1");
        let (token, _) = claim(&mut con, "");
        expect(&mut con, "DUE.ADD q AGAIN a", "0");
        expect(&mut con, &format!("DUE.ACK q AT 3 {token} a"), "1");
        expect(&mut con, "ZSCORE q a", "\"3\"");
        let (token, _) = claim(&mut con, "");
        let mut waiting = server.connect();
        let waiter = std::thread::spawn(move || reply(&mut waiting, "DUE.POP q BLOCK 0"));
        wait_until(|| server.info("blocked_clients") == "1");
        expect(&mut con, &format!("DUE.ACK q AT 9 {token} a"), "1");
        assert_eq!(waiter.join().expect("a reply"), r#"[["a", 9]]"#);
    }

    fn an_item_is_moved_by_its_holder(server: Server) {
        let mut con = server.connect();
        add(&mut con, 1000, "a", "1");
        let first = claim(&mut con, "", 1000)[0].token;
        assert_ne!(moved(&mut con, 5000, first, "a"), 0);
        assert_eq!(claim(&mut con, "", 4999), []);
        let second = claim(&mut con, "LEASE 1s", 5000);
        assert_eq!(shown(&second), [("a", 2, 5000, 6000)]);
        let third = moved(&mut con, 9000, second[0].token, "a");
        let fourth = moved(&mut con, 9000, third, "a");
        assert!(third != 0 && fourth != 0 && third != fourth);
        assert_eq!(moved(&mut con, 9000, third, "a"), 0);
        assert_eq!(moved(&mut con, 9000, fourth, "nobody"), 0);
        expect(&mut con, &format!("DUE.MOVE none IN 5 {fourth} a"), "0");
        // The attempts stay.
        let info = claim(&mut con, "LEASE 1s", 9000);
        assert_eq!(shown(&info), [("a", 3, 9000, 10_000)]);
        let last = reply(&mut con, &format!("DUE.MOVE q IN 1h {} a", info[0].token));
        expect(&mut con, &format!("DUE.ACK q {last} a"), "1");
        expect(&mut con, "EXISTS none", "0");
    }

    fn attempts_are_counted_up_to_31(server: Server) {
        let mut con = server.connect();
        add(&mut con, 0, "a", "1");
        for i in 0..40 {
            let claims = claim(&mut con, "LEASE 1ms", i);
            assert_eq!(shown(&claims), [("a", (i + 1).min(31), i, i + 1)]);
        }
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
        assert_ne!(reply(&mut con, &format!("DUE.MOVE q AT {LEASES_BEGIN} {token} a")), "0");
        expect(&mut con, "DUE.ADD q AT 5000 a", "0");
        expect(&mut con, "ZSCORE q a", r#""5000""#);
        // Names are bytes, also those that are options elsewhere.
        expect(&mut con, r#"DUE.ADD names AT 1 NX "" "\x00\n%s" AT"#, "4");
        expect(&mut con, "DUE.POP names COUNT 9", r#"[["", 1], ["\x00\n%s", 1], ["AT", 1], ["NX", 1]]"#);
    }

    fn what_is_popped_is_gone(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.POP q", "[]");
        expect(&mut con, "ZADD q 1767225601000.9 a 1767225601001.2 b 1767225605000 c", "3");
        expect(&mut con, "DUE.POP q NOW 1767225601000", r#"[["a", 1767225601000]]"#);
        assert_eq!(shown(&claim(&mut con, "LEASE 10", 1500)), [("b", 1, 1001, 11_500)]);
        expect(&mut con, "DUE.POP q COUNT 9 NOW 1767225606000", r#"[["c", 1767225605000]]"#);
        expect(&mut con, "DUE.POP q COUNT 9 NOW 1767225620000", r#"[["b", 1767225611500]]"#);
        expect(&mut con, "EXISTS q", "0");
    }

    fn a_schedule_is_any_sorted_set_and_what_is_no_time_is_left_alone(server: Server) {
        let mut con = server.connect();
        // `claimed` is what the lowest claim of all has, and `zero` would be its attempt 0.
        let all = "ZADD q 1767225600000.123 python 17592186044415 last 17592186044416 after inf never -inf before \
                   -5 minus -1767225600000 negated -9007199254740992 zero -9007199254740990 claimed -100.3 none \
                   -2251799813685246.25 fraction";
        expect(&mut con, all, "11");
        let info = |due, claimed, next: i64| {
            format!(r#"["items", 11, "due", {due}, "claimed", {claimed}, "invalid", 8, "next_ms", {next}]"#)
        };
        expect(&mut con, "DUE.INFO q NOW 0", &info(0, 1, LEASES_BEGIN));
        expect(&mut con, "DUE.INFO q NOW 1577836799999", &info(0, 1, LEASES_BEGIN));
        expect(&mut con, "DUE.INFO q NOW 1577836800000", &info(1, 0, LEASES_BEGIN));
        expect(&mut con, "DUE.INFO q", &info(2, 0, LEASES_BEGIN));
        let popped = r#"[["claimed", 1577836800000], ["python", 1767225600000]]"#;
        expect(&mut con, "DUE.POP q COUNT 100 NOW 14000000000000", popped);
        expect(&mut con, "DUE.POP q COUNT 100 NOW 14000000000000", "[]");
        expect(&mut con, "ZCARD q", "9");
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
                expect(&mut con, &format!("DUE.ADD {key} AT {} i{i}", TODAY + i * 7 % 300), "1");
            }
        }
        assert_ne!(reply(&mut con, "OBJECT ENCODING small"), reply(&mut con, "OBJECT ENCODING large"));
        for (options, now) in [("COUNT 50", 40), ("COUNT 100 LEASE 50ms", 100), ("COUNT 999 LEASE 1s", 150), ("COUNT 999", 300)] {
            // Everything but the serial numbers in tokens and scores, and the order of equal ends, which follows from them.
            let answers = ["small", "large"].map(|key| {
                let rows = cmd(&mut con, &format!("DUE.CLAIM {key} {options} NOW {}", TODAY + now)).expect("rows");
                let rows: Vec<(String, i64, i64, i64)> = redis::from_redis_value(rows).expect("rows");
                let rows = rows.into_iter().map(|(item, token, attempt, due)| (due, item, token >> 11, attempt));
                let mut rows = rows.collect::<Vec<_>>();
                assert!(rows.is_sorted_by_key(|row| row.0));
                rows.sort_unstable();
                rows
            });
            assert!(answers[0].len() > 40);
            assert_eq!(answers[0], answers[1], "{options}");
            let dumps = ["small", "large"].map(|key| {
                let items = cmd(&mut con, &format!("ZRANGE {key} 0 -1 WITHSCORES")).expect("items");
                let items: Vec<(String, f64)> = redis::from_redis_value(items).expect("items");
                let due = |score: f64| if score < 0.0 { ((score + 2_f64.powi(53)) / 4096.0).floor() } else { score };
                let mut items: Vec<(i64, String)> = items.into_iter().map(|(item, score)| (due(score) as i64, item)).collect();
                items.sort_unstable();
                items
            });
            assert_eq!(dumps[0], dumps[1], "{options}");
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
            ("DUE.ADD q NX NX AT 5 a", "ERR NX is specified more than once".into()),
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
            ("DUE.CLAIM q NOW 1 NOW 1", "ERR NOW is specified more than once".into()),
            ("DUE.CLAIM q X", "ERR unknown option 'X'".into()),
            ("DUE.CLAIM text BLOCK 0", "WRONGTYPE Operation against a key holding the wrong kind of value".into()),
            ("DUE.POP q LEASE 5", "ERR unknown option 'LEASE'".into()),
            ("DUE.POP text", "WRONGTYPE Operation against a key holding the wrong kind of value".into()),
            ("DUE.ACK q 5", "ERR wrong number of arguments for 'due.ack' command".into()),
            ("DUE.ACK q 5 a 6", "ERR wrong number of arguments for 'due.ack' command".into()),
            ("DUE.ACK q 5 a x b", "ERR token takes an integer, as DUE.CLAIM returned it, got x".into()),
            ("DUE.ACK text 5 a", "WRONGTYPE Operation against a key holding the wrong kind of value".into()),
            ("DUE.MOVE q IN 5 x a", "ERR token takes an integer, as DUE.CLAIM returned it, got x".into()),
            ("DUE.MOVE q IN 5 1 a b", "ERR wrong number of arguments for 'due.move' command".into()),
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
        expect(&mut con, "DUE.CLAIM q COUNT 6", "TOOBIG the reply would have 6 rows, more than rank.max-rows (5): read fewer at a time");
        assert_eq!(reply(&mut con, "DEBUG DIGEST"), before);
    }

    fn flags_and_keys_are_true(server: Server) {
        let mut con = server.connect();
        for (command, flags) in [
            ("due.add", "[+write, +denyoom, +module, +fast, +movablekeys]"),
            ("due.claim", "[+write, +denyoom, +module, +blocking, +fast, +movablekeys]"),
            ("due.pop", "[+write, +module, +blocking, +fast, +movablekeys]"),
            ("due.ack", "[+write, +module, +fast, +movablekeys]"),
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
