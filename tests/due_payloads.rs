//! DUE: payloads, triggers that arrive during the work (`AGAIN`), and items that keep failing (`ATTEMPTS n DEAD key`).

mod naive;

use redis::Connection;

use crate::support::*;

use self::naive::*;

/// A time at which leases may end, long before the server's clock.
const T: i64 = 1_767_225_600_000;

/// The token in the first row of a reply.
#[track_caller]
fn token(rows: &str) -> i64 {
    rows.split(", ").nth(1).and_then(|token| token.parse().ok()).unwrap_or_else(|| panic!("no token in {rows}"))
}

/// Claims and returns the one row that is expected, with `TOKEN` in place of the token, which comes with it.
#[track_caller]
fn claim(con: &mut Connection, line: &str) -> (String, i64) {
    let rows = reply(con, line);
    let token = token(&rows);
    (rows.replace(&token.to_string(), "TOKEN"), token)
}

/// Blocks in a thread of its own.
fn wait_in_thread(server: &Server, line: &str) -> std::thread::JoinHandle<String> {
    let (mut con, line, before) = (server.connect(), line.to_owned(), server.blocked());
    let waiting = std::thread::spawn(move || reply(&mut con, &line));
    wait_until(|| server.blocked() == before + 1);
    waiting
}

on_every_server! {
    fn a_payload_comes_and_goes_with_its_item(server: Server) {
        let mut con = server.connect();
        expect(&mut con, &format!("DUE.ADD q DATA h one AT {T} a"), "1");
        expect(&mut con, &format!("DUE.ADD q AT {T} b"), "1");
        expect(&mut con, "HGETALL h", r#"["a", "one"]"#);
        // A refused item keeps its payload, and one that is new or moved has the new one.
        expect(&mut con, &format!("DUE.ADD q NX DATA h two AT {T} a"), "0");
        expect(&mut con, &format!("DUE.ADD q XX DATA h two AT {T} none"), "0");
        expect(&mut con, "HGETALL h", r#"["a", "one"]"#);
        expect(&mut con, &format!("DUE.ADD q XX DATA h \"tw\\x00o\\xff\" AT {T} a"), "0");
        let (rows, first) = claim(&mut con, &format!("DUE.CLAIM q DATA h LEASE 36500 NOW {T}"));
        assert_eq!(rows, format!(r#"[["a", TOKEN, 1, {T}, "tw\x00o\xff"]]"#));
        // A lease that has ended, by the server's clock: a new time may come with a new payload.
        expect(&mut con, &format!("DUE.ADD q XX DATA h three AT {T} a"), "0");
        expect(&mut con, "HGET h a", r#""three""#);
        expect(&mut con, &format!("DUE.ACK q {first} a"), "0");
        // While it is claimed, neither does an addition move it nor replace its payload.
        let (_, first) = claim(&mut con, "DUE.CLAIM q LEASE 1d");
        for only in ["", "NX ", "XX "] {
            expect(&mut con, &format!("DUE.ADD q {only}DATA h four AT {T} a"), "0");
        }
        let moved = reply(&mut con, &format!("DUE.MOVE q IN 2d {first} a"));
        expect(&mut con, &format!("DUE.ADD q DATA h four AT {T} a"), "0");
        expect(&mut con, "HGET h a", r#""three""#);
        // An outdated token acknowledges nothing, and leaves the payload.
        expect(&mut con, &format!("DUE.ACK q DATA h {first} a"), "0");
        expect(&mut con, "HEXISTS h a", "1");
        expect(&mut con, &format!("DUE.ACK q DATA h {moved} a"), "1");
        expect(&mut con, "EXISTS h", "0");
        // An item without a payload has null.
        expect(&mut con, &format!("DUE.POP q DATA h NOW {T}"), &format!(r#"[["b", {T}, nil]]"#));
        expect(&mut con, &format!("DUE.ADD q DATA h five AT {T} a"), "1");
        expect(&mut con, &format!("DUE.POP q DATA h COUNT 5 NOW {T}"), &format!(r#"[["a", {T}, "five"]]"#));
        expect(&mut con, "EXISTS q h", "0");
        // Without DATA the payload stays: a claim of a worker that does not know it loses nothing.
        expect(&mut con, &format!("DUE.ADD q DATA h six AT {T} a"), "1");
        let (rows, second) = claim(&mut con, &format!("DUE.CLAIM q NOW {T}"));
        assert_eq!(rows, format!(r#"[["a", TOKEN, 1, {T}]]"#));
        expect(&mut con, &format!("DUE.ACK q {second} a"), "1");
        expect(&mut con, "HGET h a", r#""six""#);
    }

    fn items_may_be_named_like_options(server: Server) {
        let mut con = server.connect();
        let names = "DATA DEAD AGAIN AT IN NX XX LEASE COUNT BLOCK NOW ATTEMPTS again data \"\" 5";
        expect(&mut con, &format!("DUE.ADD q AT {T} {names}"), "16");
        expect(&mut con, &format!("COMMAND GETKEYS DUE.ADD q AT {T} DATA DEAD k AGAIN"), r#"["q"]"#);
        expect(&mut con, "DEL q", "1");
        for name in ["DATA", "DEAD", "AGAIN", "AT", "NX"] {
            expect(&mut con, &format!("DUE.ADD q NX DATA h text-of-{name} AT {T} {name}"), "1");
            expect(&mut con, &format!("COMMAND GETKEYS DUE.ADD q NX DATA h text-of-{name} AT {T} {name}"), r#"["q", "h"]"#);
        }
        for name in ["DATA", "DEAD", "AGAIN", "AT", "NX"] {
            expect(&mut con, &format!("DUE.ADD q DATA h again-{name} AGAIN {name}"), "0");
        }
        let rows = reply(&mut con, &format!("DUE.CLAIM q COUNT 9 DATA h NOW {T}"));
        for name in ["DATA", "DEAD", "AGAIN", "AT", "NX"] {
            let row = rows.split("], [").find(|row| row.contains(&format!("\"{name}\""))).expect("a row");
            let token: i64 = row.split(", ").nth(1).and_then(|token| token.parse().ok()).expect("a token");
            assert!(row.contains(&format!("again-{name}")), "{row}");
            expect(&mut con, &format!("COMMAND GETKEYS DUE.ACK q DATA h {token} {name}"), r#"["q", "h"]"#);
            expect(&mut con, &format!("DUE.ACK q DATA h {token} {name}"), "1");
        }
        expect(&mut con, "EXISTS q h", "0");
    }

    fn a_trigger_during_the_work_is_not_lost(server: Server) {
        let mut con = server.connect();
        // Not claimed: due now at the latest.
        expect(&mut con, "DUE.ADD q IN 1d later", "1");
        expect(&mut con, "DUE.ADD q AT 5 earlier", "1");
        expect(&mut con, "DUE.ADD q AGAIN later earlier new", "1");
        expect(&mut con, "ZSCORE q earlier", r#""5""#);
        let scores = ["later", "new"].map(|item| reply(&mut con, &format!("ZSCORE q {item}")));
        let now: i64 = reply(&mut con, "TIME").split('"').nth(1).and_then(|seconds| seconds.parse().ok()).expect("a time");
        for score in scores {
            let ms: i64 = score.trim_matches('"').parse().expect("a number");
            assert!((now - 100..=now).contains(&(ms / 1000)), "{ms} at {now}");
        }
        expect(&mut con, "DEL q", "1");

        // Claimed: it stays when it is acknowledged, due at once, as if it were new.
        expect(&mut con, &format!("DUE.ADD q DATA h one AT {T} a"), "1");
        let (_, first) = claim(&mut con, &format!("DUE.CLAIM q LEASE 1s NOW {T}"));
        let (rows, second) = claim(&mut con, &format!("DUE.CLAIM q LEASE 1s NOW {}", T + 1000));
        assert_eq!(rows, format!(r#"[["a", TOKEN, 2, {}]]"#, T + 1000));
        assert_ne!(first, second);
        expect(&mut con, "DUE.ADD q DATA h two AGAIN a", "0");
        expect(&mut con, "HGET h a", r#""two""#);
        // The lease goes on, and so does its token.
        expect(&mut con, &format!("DUE.CLAIM q NOW {}", T + 1999), "[]");
        expect(&mut con, &format!("DUE.ACK q DATA h {first} a"), "0");
        expect(&mut con, &format!("DUE.ACK q DATA h {second} a"), "1");
        expect(&mut con, "HGET h a", r#""two""#);
        let due: i64 = reply(&mut con, "ZSCORE q a").trim_matches('"').parse().expect("a time");
        assert!(due > T);
        expect(&mut con, &format!("DUE.CLAIM q NOW {}", due - 1), "[]");
        let (rows, third) = claim(&mut con, &format!("DUE.CLAIM q DATA h LEASE 1s NOW {due}"));
        assert_eq!(rows, format!(r#"[["a", TOKEN, 1, {due}, "two"]]"#));
        // The claim cleared the mark.
        expect(&mut con, &format!("DUE.ACK q DATA h {third} a"), "1");
        expect(&mut con, "EXISTS q h", "0");

        // A move keeps the mark, and neither it nor AGAIN resets the attempts; the next claim clears it.
        expect(&mut con, &format!("DUE.ADD q AT {T} a"), "1");
        let (_, first) = claim(&mut con, &format!("DUE.CLAIM q LEASE 1s NOW {T}"));
        expect(&mut con, "DUE.ADD q AGAIN a", "0");
        let moved = reply(&mut con, &format!("DUE.MOVE q AT {} {first} a", T + 5000));
        let (rows, second) = claim(&mut con, &format!("DUE.CLAIM q LEASE 1s NOW {}", T + 5000));
        assert_eq!(rows, format!(r#"[["a", TOKEN, 2, {}]]"#, T + 5000));
        expect(&mut con, &format!("DUE.ACK q {moved} a"), "0");
        expect(&mut con, &format!("DUE.ACK q {second} a"), "1");
        expect(&mut con, "EXISTS q", "0");

        // Also after the lease has ended, as long as nobody else has claimed it.
        expect(&mut con, &format!("DUE.ADD q AT {T} a"), "1");
        let (_, first) = claim(&mut con, &format!("DUE.CLAIM q LEASE 1ms NOW {T}"));
        expect(&mut con, "DUE.ADD q DATA h late AGAIN a", "0");
        expect(&mut con, &format!("DUE.ACK q DATA h {first} a"), "1");
        expect(&mut con, "ZCARD q", "1");
        expect(&mut con, "HGET h a", r#""late""#);
    }

    fn what_keeps_failing_goes_to_the_dead(server: Server) {
        let mut con = server.connect();
        expect(&mut con, &format!("DUE.ADD q DATA h poison AT {T} a"), "1");
        expect(&mut con, &format!("DUE.ADD q AT {} b", T + 500), "1");
        let mut now = T;
        for attempt in 1..=2 {
            let (rows, _) = claim(&mut con, &format!("DUE.CLAIM q LEASE 100ms ATTEMPTS 2 DEAD d DATA h NOW {now}"));
            assert_eq!(rows, format!(r#"[["a", TOKEN, {attempt}, {now}, "poison"]]"#));
            now += 100;
        }
        // In the same command as others are claimed. Its payload stays.
        let (rows, _) = claim(&mut con, &format!("DUE.CLAIM q COUNT 5 LEASE 100ms ATTEMPTS 2 DEAD d DATA h NOW {}", T + 500));
        assert_eq!(rows, format!(r#"[["b", TOKEN, 1, {}, nil]]"#, T + 500));
        expect(&mut con, "ZRANGE d 0 -1 WITHSCORES", &format!(r#"["a", "{}"]"#, T + 500));
        expect(&mut con, "ZSCORE q a", "nil");
        expect(&mut con, "HGET h a", r#""poison""#);
        // A dead item is an item of a schedule: it can be tried again.
        let (rows, _) = claim(&mut con, &format!("DUE.CLAIM d DATA h NOW {}", T + 500));
        assert_eq!(rows, format!(r#"[["a", TOKEN, 1, {}, "poison"]]"#, T + 500));
        // Other claimers count by their own number, and none without one.
        for (attempt, options) in [(2, ""), (3, "ATTEMPTS 30 DEAD d"), (4, "ATTEMPTS 4 DEAD d")] {
            let at = T + 400 + 100 * attempt;
            let (rows, _) = claim(&mut con, &format!("DUE.CLAIM q LEASE 100ms {options} NOW {at}"));
            assert!(rows.starts_with(&format!("[[\"b\", TOKEN, {attempt}, ")), "{rows}");
        }
        // Nobody else is due, and still it moves.
        expect(&mut con, &format!("DUE.CLAIM q ATTEMPTS 4 DEAD d NOW {}", T + 900), "[]");
        expect(&mut con, "EXISTS q", "0");
        expect(&mut con, "ZSCORE d b", &format!(r#""{}""#, T + 900));
    }

    fn one_call_moves_a_thousand_dead_items(server: Server) {
        let mut con = server.connect();
        let items: Vec<String> = (0..2500).map(|i| format!("i{i:04}")).collect();
        expect(&mut con, &format!("DUE.ADD q AT {T} {}", items.join(" ")), "2500");
        assert!(reply(&mut con, &format!("DUE.CLAIM q COUNT 2500 LEASE 1ms NOW {T}")).starts_with("[["));
        expect(&mut con, &format!("DUE.ADD q AT {} waiting", T + 1), "1");
        for (dead, row) in [(1000, true), (2000, false), (2500, false)] {
            let rows = reply(&mut con, &format!("DUE.CLAIM q ATTEMPTS 1 DEAD d LEASE 1d NOW {}", T + 10));
            assert_eq!(rows.starts_with("[[\"waiting\", "), row, "{rows}");
            expect(&mut con, "ZCARD d", &dead.to_string());
        }
        expect(&mut con, "ZCARD q", "1");
    }

    fn mistakes_change_nothing(server: Server) {
        let mut con = server.connect();
        expect(&mut con, &format!("DUE.ADD q DATA h text AT {T} a"), "1");
        expect(&mut con, "SET string x", "+OK");
        expect(&mut con, "RPUSH list x", "1");
        expect(&mut con, "RANK.CREATE board KEEP 5", "+OK");
        let before = reply(&mut con, "DEBUG DIGEST");
        let wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";
        for (line, error) in [
            (format!("DUE.ADD q DATA h text AT {T} a b"), "ERR DATA is only valid with one item"),
            (format!("DUE.ADD q DATA q text AT {T} b"), "ERR DATA takes a separate key, got q"),
            (format!("DUE.ADD q DATA h x DATA h y AT {T} b"), "ERR DATA is specified more than once"),
            (format!("DUE.ADD q DATA string text AT {T} b"), wrong_type),
            (format!("DUE.ADD q DATA list text AT {T} b"), wrong_type),
            ("DUE.ADD q DATA h".into(), "ERR DATA needs a value"),
            ("DUE.ADD q DATA h text".into(), "ERR wrong number of arguments for 'due.add' command"),
            ("DUE.ADD q DATA h text AGAIN".into(), "ERR wrong number of arguments for 'due.add' command"),
            ("DUE.ADD q NX AGAIN b".into(), "ERR NX and AGAIN are mutually exclusive"),
            ("DUE.ADD q XX AGAIN a".into(), "ERR XX and AGAIN are mutually exclusive"),
            (format!("DUE.CLAIM q ATTEMPTS 3 NOW {T}"), "ERR ATTEMPTS and DEAD are only valid together"),
            (format!("DUE.CLAIM q DEAD d NOW {T}"), "ERR ATTEMPTS and DEAD are only valid together"),
            (format!("DUE.CLAIM q ATTEMPTS 0 DEAD d NOW {T}"), "ERR ATTEMPTS takes 1 to 30, got 0"),
            (format!("DUE.CLAIM q ATTEMPTS 31 DEAD d NOW {T}"), "ERR ATTEMPTS takes 1 to 30, got 31"),
            (format!("DUE.CLAIM q ATTEMPTS 3 DEAD q NOW {T}"), "ERR DEAD takes a separate key, got q"),
            (format!("DUE.CLAIM q ATTEMPTS 3 DEAD h DATA h NOW {T}"), "ERR DATA takes a separate key, got h"),
            (format!("DUE.CLAIM q DATA h ATTEMPTS 3 DEAD h NOW {T}"), "ERR DEAD takes a separate key, got h"),
            (format!("DUE.CLAIM q ATTEMPTS 3 DEAD string NOW {T}"), wrong_type),
            (format!("DUE.CLAIM q ATTEMPTS 3 DEAD board NOW {T}"), "WRONGTYPE the key holds a leaderboard, not a schedule: use another key"),
            (format!("DUE.CLAIM q DATA string NOW {T}"), wrong_type),
            (format!("DUE.POP q DATA string NOW {T}"), wrong_type),
            (format!("DUE.POP q ATTEMPTS 3 DEAD d NOW {T}"), "ERR unknown option 'ATTEMPTS'"),
            ("DUE.ACK q DATA string 5 a".into(), wrong_type),
            ("DUE.ACK q DATA q 5 a".into(), "ERR DATA takes a separate key, got q"),
        ] {
            expect(&mut con, &line, error);
        }
        assert_eq!(reply(&mut con, "DEBUG DIGEST"), before);
    }

    fn every_key_is_known_to_the_server(server: Server) {
        let mut con = server.connect();
        for (line, keys) in [
            ("DUE.ADD q DATA h text AT 5 a", r#"["q", "h"]"#),
            ("DUE.ADD q NX DATA h text IN 5 a", r#"["q", "h"]"#),
            ("DUE.ADD q AGAIN DATA h", r#"["q"]"#),
            ("DUE.ADD q DATA h AT AT 5 DATA", r#"["q", "h"]"#),
            ("DUE.CLAIM q COUNT 5 DEAD d ATTEMPTS 3 DATA h", r#"["q", "d", "h"]"#),
            ("DUE.CLAIM q DATA h BLOCK 5 ATTEMPTS 3 DEAD d", r#"["q", "h", "d"]"#),
            ("DUE.POP q DATA DATA", r#"["q", "DATA"]"#),
            ("DUE.ACK q DATA h 1 a 2 DATA", r#"["q", "h"]"#),
            ("DUE.ACK q 1 DATA", r#"["q"]"#),
            ("DUE.MOVE q IN 5 1 DATA", r#"["q"]"#),
        ] {
            expect(&mut con, &format!("COMMAND GETKEYS {line}"), keys);
        }
    }

    fn every_key_needs_permission(server: Server) {
        let mut con = server.connect();
        expect(&mut con, &format!("DUE.ADD q DATA h text AT {T} a"), "1");
        let lines = [
            format!("DUE.ADD q DATA h text AT {T} b"),
            "DUE.ADD q DATA h text AGAIN b".into(),
            format!("DUE.CLAIM q DATA h NOW {T}"),
            "DUE.CLAIM q DATA h BLOCK 0".into(),
            format!("DUE.POP q DATA h NOW {T}"),
            "DUE.ACK q DATA h 5 a".into(),
        ];
        expect(&mut con, "ACL SETUSER one on nopass +@all ~q", "+OK");
        let mut one = server.connect();
        expect(&mut one, "AUTH one x", "+OK");
        let before = reply(&mut con, "DEBUG DIGEST");
        for line in &lines {
            let got = reply(&mut one, line);
            assert!(got.starts_with("NOPERM"), "{line}: {got}");
        }
        expect(&mut con, "ACL SETUSER one ~h", "+OK");
        let got = reply(&mut one, &format!("DUE.CLAIM q ATTEMPTS 3 DEAD d NOW {T}"));
        assert!(got.starts_with("NOPERM"), "{got}");
        // Reading a payload is enough to claim, not to pop, add or acknowledge.
        expect(&mut con, "ACL SETUSER reads on nopass +@all ~q %R~h", "+OK");
        let mut reads = server.connect();
        expect(&mut reads, "AUTH reads x", "+OK");
        for line in [&lines[0], &lines[1], &lines[4], &lines[5]] {
            let got = reply(&mut reads, line);
            assert!(got.starts_with("NOPERM"), "{line}: {got}");
        }
        assert_eq!(reply(&mut con, "DEBUG DIGEST"), before);
        let (rows, _) = claim(&mut reads, &format!("DUE.CLAIM q DATA h NOW {T}"));
        assert_eq!(rows, format!(r#"[["a", TOKEN, 1, {T}, "text"]]"#));
        // The dead are only written.
        expect(&mut con, "ACL SETUSER buries on nopass +@all ~q %W~d", "+OK");
        let mut buries = server.connect();
        expect(&mut buries, "AUTH buries x", "+OK");
        let far = T + 3_600_000;
        expect(&mut buries, &format!("DUE.CLAIM q ATTEMPTS 1 DEAD d NOW {far}"), "[]");
        expect(&mut con, "ZCARD d", "1");
    }

    fn a_waiter_has_payloads_and_buries_the_dead(server: Server) {
        let mut con = server.connect();
        let waiting = wait_in_thread(&server, "DUE.CLAIM q DATA h BLOCK 0 ATTEMPTS 1 DEAD d LEASE 1d");
        // An item that others had: it moves to the dead, and the waiter waits on.
        expect(&mut con, "MULTI", "+OK");
        expect(&mut con, &format!("DUE.ADD q DATA h poison AT {T} dead"), "+QUEUED");
        expect(&mut con, &format!("DUE.CLAIM q LEASE 1ms NOW {T}"), "+QUEUED");
        assert!(reply(&mut con, "EXEC").starts_with("[1, [[\"dead\", "));
        wait_until(|| reply(&mut con, "ZCARD d") == "1");
        assert_eq!((server.blocked(), reply(&mut con, "EXISTS q")), (1, "0".into()));
        expect(&mut con, "HGET h dead", r#""poison""#);
        expect(&mut con, "DUE.ADD q DATA h fine IN 50ms alive", "1");
        let rows = waiting.join().expect("an answer");
        assert!(rows.starts_with("[[\"alive\", ") && rows.ends_with(", \"fine\"]]"), "{rows}");
        // Those who pop take the payload along.
        let waiting = wait_in_thread(&server, "DUE.POP p DATA h BLOCK 0");
        expect(&mut con, "DUE.ADD p DATA h text IN 50ms x", "1");
        let rows = waiting.join().expect("an answer");
        assert!(rows.starts_with("[[\"x\", ") && rows.ends_with(", \"text\"]]"), "{rows}");
        expect(&mut con, "HEXISTS h x", "0");
    }

    fn a_waiter_writes_nothing_if_a_key_has_become_something_else(server: Server) {
        let mut con = server.connect();
        let wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";
        for (taken, line) in [
            ("d", "DUE.CLAIM q ATTEMPTS 1 DEAD d BLOCK 0"),
            ("h", "DUE.CLAIM q DATA h BLOCK 0"),
            ("h", "DUE.POP q DATA h BLOCK 0"),
        ] {
            let waiting = wait_in_thread(&server, line);
            expect(&mut con, &format!("SET {taken} x"), "+OK");
            expect(&mut con, "ZADD q 5 a", "1");
            assert_eq!(waiting.join().expect("an answer"), wrong_type, "{line}");
            expect(&mut con, "ZRANGE q 0 -1 WITHSCORES", r#"["a", "5"]"#);
            expect(&mut con, &format!("DEL q {taken}"), "2");
        }
    }

    fn a_waiter_needs_permission_for_every_key_when_it_is_served(server: Server) {
        let mut con = server.connect();
        for line in ["DUE.CLAIM q DATA h BLOCK 0", "DUE.CLAIM q ATTEMPTS 1 DEAD h BLOCK 0", "DUE.POP q DATA h BLOCK 0"] {
            expect(&mut con, "ACL SETUSER worker on nopass +@all resetkeys ~q ~h", "+OK");
            let mut worker = server.connect();
            expect(&mut worker, "AUTH worker x", "+OK");
            let line_of = line.to_owned();
            let waiting = std::thread::spawn(move || reply(&mut worker, &line_of));
            wait_until(|| server.blocked() == 1);
            expect(&mut con, "ACL SETUSER worker resetkeys ~q", "+OK");
            expect(&mut con, "DUE.ADD q DATA h text AT 1 a", "1");
            let got = waiting.join().expect("an answer");
            assert!(got.starts_with("NOPERM "), "{line}: {got}");
            expect(&mut con, "ZRANGE q 0 -1 WITHSCORES", r#"["a", "1"]"#);
            expect(&mut con, "HGETALL h", r#"["a", "text"]"#);
            expect(&mut con, "DEL q h", "2");
        }
    }

    fn keys_share_a_slot(kind: Kind) {
        let cluster = Cluster::start(kind, false);
        let mut client = cluster.client();
        let crossed = |got: String, line: &str| assert!(got.starts_with("CROSSSLOT"), "{line}: {got}");
        for line in [
            format!("DUE.ADD {{q}} DATA {{h}} text AT {T} a"),
            "DUE.ADD {q} DATA {h} text AGAIN a".into(),
            "DUE.CLAIM {q} DATA {h}".into(),
            "DUE.CLAIM {q} DATA {h} BLOCK 0".into(),
            "DUE.CLAIM {q} ATTEMPTS 3 DEAD {d}".into(),
            "DUE.POP {q} DATA {h}".into(),
            "DUE.ACK {q} DATA {h} 5 a".into(),
        ] {
            crossed(client.line(&line), &line);
        }
        assert_eq!(client.line(&format!("DUE.ADD {{q}} DATA {{q}}:h text AT {T} a")), "1");
        let rows = client.line(&format!("DUE.CLAIM {{q}} DATA {{q}}:h ATTEMPTS 1 DEAD {{q}}:d LEASE 1ms NOW {T}"));
        assert!(rows.ends_with(", \"text\"]]"), "{rows}");
        assert_eq!(client.line(&format!("DUE.CLAIM {{q}} ATTEMPTS 1 DEAD {{q}}:d NOW {}", T + 5)), "[]");
        assert_eq!(client.line("ZCARD {q}:d"), "1");
    }

    /// While some of the keys are on either node, nothing is written.
    fn a_slot_that_moves_is_tried_again(kind: Kind) {
        let cluster = Cluster::start(kind, false);
        let slot = cluster.slot_of("{q}");
        let (from, to) = (cluster.owner(slot), cluster.another_primary(slot));
        let mut con = from.connect();
        expect(&mut con, &format!("DUE.ADD {{q}} DATA {{q}}:h text AT {T} a"), "1");
        expect(&mut to.connect(), &format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(from)), "+OK");
        expect(&mut con, &format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(to)), "+OK");
        expect(&mut con, &format!("MIGRATE 127.0.0.1 {} {{q}}:h 0 5000", to.port()), "+OK");
        for line in [
            format!("DUE.ADD {{q}} DATA {{q}}:h other AT {T} b"),
            "DUE.ADD {q} DATA {q}:h other AGAIN a".into(),
            format!("DUE.CLAIM {{q}} DATA {{q}}:h NOW {T}"),
            format!("DUE.CLAIM {{q}} DATA {{q}}:h BLOCK 0 NOW {T}"),
            format!("DUE.POP {{q}} DATA {{q}}:h NOW {T}"),
            "DUE.ACK {q} DATA {q}:h 5 a".into(),
            format!("DUE.CLAIM {{q}} ATTEMPTS 1 DEAD {{q}}:d NOW {T}"),
        ] {
            let got = reply(&mut con, &line);
            assert!(got.starts_with("TRYAGAIN"), "{line}: {got}");
            let mut other = to.connect();
            expect(&mut other, "ASKING", "+OK");
            let got = reply(&mut other, &line);
            assert!(got.starts_with("TRYAGAIN"), "{line} on the other node: {got}");
        }
        expect(&mut con, "ZRANGE {q} 0 -1 WITHSCORES", &format!(r#"["a", "{T}"]"#));
        expect(&mut con, &format!("MIGRATE 127.0.0.1 {} {{q}} 0 5000", to.port()), "+OK");
        for node in [to, from] {
            expect(&mut node.connect(), &format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(to)), "+OK");
        }
        let rows = cluster.client().line(&format!("DUE.POP {{q}} DATA {{q}}:h NOW {T}"));
        assert_eq!(rows, format!(r#"[["a", {T}, "text"]]"#));
    }

    fn effects_are_plain_and_few(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        let replica = Server::builder(kind).replica_of(&primary).without_module().start();
        let mut con = primary.connect();
        replica.wait_for_sync(&primary);
        let mut monitor = replica.connect();
        expect(&mut con, &format!("DUE.ADD q DATA h one AT {T} a"), "1");
        expect(&mut con, &format!("DUE.ADD q NX DATA h two AT {T} a"), "0");
        let (_, first) = claim(&mut con, &format!("DUE.CLAIM q DATA h LEASE 1s NOW {T}"));
        expect(&mut con, "DUE.ADD q DATA h three AGAIN a", "0");
        expect(&mut con, "DUE.ADD q DATA h three AGAIN a", "0");
        expect(&mut con, &format!("DUE.ACK q DATA h {first} a"), "1");
        let due = reply(&mut con, "ZSCORE q a").trim_matches('"').parse::<i64>().expect("a time");
        let (_, second) = claim(&mut con, &format!("DUE.CLAIM q DATA h LEASE 1s NOW {due}"));
        expect(&mut con, &format!("DUE.CLAIM q DATA h ATTEMPTS 1 DEAD d LEASE 1s NOW {}", due + 1000), "[]");
        expect(&mut con, &format!("DUE.ACK q DATA h {second} a"), "0");
        expect(&mut con, &format!("DUE.POP d DATA h NOW {}", due + 1000), &format!(r#"[["a", {}, "three"]]"#, due + 1000));
        replica.wait_for_sync(&primary);
        assert_eq!(reply(&mut replica.connect(), "DEBUG DIGEST"), reply(&mut con, "DEBUG DIGEST"));
        let stats = reply(&mut monitor, "INFO commandstats");
        let calls = |command: &str| -> u64 {
            let line = stats.split("\\r\\n").find(|line| line.starts_with(&format!("cmdstat_{command}:calls=")));
            line.and_then(|line| line.split(['=', ',']).nth(1)).map_or(0, |calls| calls.parse().expect("a number"))
        };
        // ADD, CLAIM, AGAIN (once: the second changed nothing), ACK, CLAIM, the dead.
        assert_eq!([calls("zadd"), calls("zrem"), calls("hset"), calls("hdel")], [6, 2, 2, 1], "{stats}");
        // Commands that change one key are sent alone.
        assert_eq!(calls("multi"), calls("exec"));
        assert_eq!(calls("exec"), 4, "{stats}");
        assert!(!stats.contains("due."), "{stats}");
    }

    /// Steps at random, now and then a crash, and after each step all keys are as in a naive account.
    fn random_steps_and_crashes_agree_with_a_naive_account(kind: Kind) {
        let mut server = Server::builder(kind).appendonly().config("appendfsync always").start();
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        let mut naive = Naive::default();
        let mut con = server.connect();
        for step in 0..1500 {
            let line = naive.step(&mut random);
            let got = cmd(&mut con, &line);
            naive.check(&line, &got);
            naive.compare(&mut con, &line);
            if step % 150 == 149 {
                server.kill9();
                server.restart();
                con = server.connect();
                naive.compare(&mut con, "kill -9");
            }
        }
        assert!(naive.buried > 10 && naive.marked > 10, "{} buried, {} marked", naive.buried, naive.marked);
    }

    /// An AOF that ends behind any transaction has no payload without its item, and no item without its payload.
    fn no_power_cut_parts_an_item_from_its_payload(kind: Kind) {
        let server = Server::builder(kind).appendonly().config("appendfsync no").start();
        let mut con = server.connect();
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut naive = Naive { always_with_data: true, ..Naive::default() };
        for _ in 0..400 {
            let line = naive.step(&mut random);
            let got = cmd(&mut con, &line);
            naive.check(&line, &got);
        }
        let file = std::fs::read_dir(server.dir().join("appendonlydir")).expect("an AOF").map(|entry| entry.expect("a file").path())
            .find(|path| path.to_string_lossy().ends_with(".incr.aof")).expect("a file");
        let text = std::fs::read(file).expect("the AOF");
        let without = Server::builder(kind).without_module().start();
        let mut replayed = without.connect();
        let mut transactions = 0;
        for transaction in transactions_of(&text) {
            for words in &transaction {
                let got = cmdv(&mut replayed, words);
                assert!(got.is_ok(), "{got:?}");
            }
            transactions += 1;
            let mut items = strings(&cmd(&mut replayed, "ZRANGE q 0 -1"));
            items.extend(strings(&cmd(&mut replayed, "ZRANGE d 0 -1")));
            assert_eq!(items, strings(&cmd(&mut replayed, "HKEYS h")), "after {transaction:?}");
        }
        assert!(transactions > 200 && naive.buried > 0, "{transactions} transactions, {} buried", naive.buried);
        assert_eq!(reply(&mut replayed, "DEBUG DIGEST"), reply(&mut con, "DEBUG DIGEST"));
    }
}
