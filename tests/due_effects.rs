//! DUE: what it leaves in the AOF and on replicas is plain ZADD and ZREM, and nothing is lost or done twice.

use std::collections::BTreeMap;

use redis::{Connection, Value};

use crate::support::*;

/// The commands that `MONITOR`-like eyes see on a replica: what its primary propagated, by the AOF.
fn aof(server: &Server) -> Vec<String> {
    let dir = server.dir().join("appendonlydir");
    let mut text = String::new();
    for entry in std::fs::read_dir(dir).expect("an AOF") {
        let path = entry.expect("a file").path();
        if path.to_string_lossy().ends_with(".incr.aof") {
            text += &String::from_utf8_lossy(&std::fs::read(path).expect("a file"));
        }
    }
    let mut lines = text.split("\r\n");
    let mut commands = Vec::new();
    while let Some(count) = lines.next().and_then(|line| line.strip_prefix('*')) {
        let words = (0..count.parse::<usize>().expect("a count")).filter_map(|_| lines.nth(1));
        commands.push(words.collect::<Vec<_>>().join(" "));
    }
    commands.retain(|command| !command.starts_with("SELECT"));
    commands
}

fn rows(value: Result<Value, redis::RedisError>) -> Vec<(String, i64)> {
    let Ok(Value::Array(rows)) = value else { panic!("no rows: {value:?}") };
    let row = |row: &Value| match row {
        Value::Array(cells) => match cells.as_slice() {
            [Value::BulkString(item), Value::Int(token), ..] => (String::from_utf8_lossy(item).into_owned(), *token),
            _ => panic!("{row:?}"),
        },
        _ => panic!("{row:?}"),
    };
    rows.iter().map(row).collect()
}

fn claim(con: &mut Connection, line: &str) -> Vec<(String, i64)> {
    rows(cmd(con, line))
}

on_every_server! {
    fn effects_are_plain_and_few(kind: Kind) {
        // With `everysec` the server puts off writing to the file while another thread syncs it.
        let server = Server::builder(kind).appendonly().config("appendfsync no").start();
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q AT 1767225601000 a b c", "3");
        expect(&mut con, "DUE.ADD q AT 1767225601000 a b c", "0");
        expect(&mut con, "DUE.CLAIM q COUNT 9 NOW 1767225600999", "[]");
        let first = claim(&mut con, "DUE.CLAIM q COUNT 2 NOW 1767225601000 LEASE 1s");
        let second = claim(&mut con, "DUE.CLAIM q COUNT 9 NOW 1767225601000 LEASE 1s");
        assert_eq!((first.len(), second.len()), (2, 1));
        let moved: i64 = reply(&mut con, &format!("DUE.MOVE q AT 1767225603000 {} a", first[0].1)).parse().expect("a token");
        expect(&mut con, &format!("DUE.MOVE q AT 1767225604000 {} a", first[0].1), "0");
        expect(&mut con, &format!("DUE.ACK q {} b 7 c 7 nobody", first[1].1), "1");
        expect(&mut con, "DUE.ACK q 7 c", "0");
        expect(&mut con, "DUE.POP q COUNT 9 NOW 1767225609000", r#"[["c", 1767225602000], ["a", 1767225603000]]"#);
        let score = |token: i64| 2 * token - (1 << 53);
        assert_eq!(
            aof(&server),
            [
                "ZADD q 1767225601000 a 1767225601000 b 1767225601000 c".to_owned(),
                format!("ZADD q {} a {} b", score(first[0].1), score(first[1].1)),
                format!("ZADD q {} c", score(second[0].1)),
                format!("ZADD q {} a", score(moved)),
                "ZREM q b".to_owned(),
                "ZREM q c a".to_owned(),
            ]
        );
    }

    fn events_and_watch_are_as_of_the_core(server: Server) {
        let (mut con, mut watcher) = (server.connect(), server.connect());
        expect(&mut con, "CONFIG SET notify-keyspace-events KEA", "+OK");
        let mut listener = server.connect();
        expect(&mut con, "DUE.ADD q AT 1767225601000 a", "1");
        let mut pubsub = listener.as_pubsub();
        pubsub.psubscribe("__keyspace@0__:q").expect("a subscription");
        let mut token = 0;
        for (line, events) in [
            ("DUE.ADD q AT 1767225601000 a", vec![]),
            ("DUE.ADD q AT 1767225601000 b", vec!["zadd"]),
            ("DUE.CLAIM q NOW 1767225600000", vec![]),
            ("DUE.INFO q", vec![]),
            ("DUE.CLAIM q NOW 1767225601000 LEASE 1s COUNT 2", vec!["zadd"]),
            ("DUE.ACK q 1 a", vec![]),
            ("DUE.ACK q TOKEN a", vec!["zrem"]),
            ("DUE.POP q NOW 1767225605000", vec!["zrem", "del"]),
            ("DUE.POP q NOW 1767225605000", vec![]),
        ] {
            expect(&mut watcher, "WATCH q", "+OK");
            let got = reply(&mut con, &line.replace("TOKEN", &token.to_string()));
            assert!(!is_error(&got), "{line}: {got}");
            if line.contains("COUNT 2") {
                token = got.split(", ").nth(1).and_then(|token| token.parse::<i64>().ok()).expect("a token");
            }
            expect(&mut watcher, "MULTI", "+OK");
            let ran = reply(&mut watcher, "EXEC") == "[]";
            assert_eq!(ran, events.is_empty(), "{line}");
            for event in events {
                assert_eq!(pubsub.get_message().expect("an event").get_payload::<String>().unwrap(), event, "{line}");
            }
        }
        expect(&mut con, "PUBLISH __keyspace@0__:q end", "1");
        assert_eq!(pubsub.get_message().expect("the end").get_payload::<String>().unwrap(), "end");
    }

    /// Also what timers take for those who wait.
    fn replicas_with_and_without_the_module_are_equal(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        let with = Server::builder(kind).replica_of(&primary).start();
        let without = Server::builder(kind).replica_of(&primary).without_module().start();
        let mut con = primary.connect();
        let waiters: Vec<_> = (0..4)
            .map(|i| {
                let mut waiting = primary.connect();
                let command = if i % 2 == 0 { "DUE.CLAIM" } else { "DUE.POP" };
                std::thread::spawn(move || reply(&mut waiting, &format!("{command} q BLOCK 0 COUNT 2")))
            })
            .collect();
        wait_until(|| primary.info("blocked_clients") == "4");
        for i in 0..40 {
            expect(&mut con, &format!("DUE.ADD q IN {}ms i{i}", i * 5), "1");
        }
        waiters.into_iter().for_each(|waiter| assert_ne!(waiter.join().unwrap(), "[]"));
        let taken = claim(&mut con, "DUE.CLAIM q COUNT 9");
        for (item, token) in &taken {
            expect(&mut con, &format!("DUE.ACK q {token} {item}"), "1");
        }
        for replica in [&with, &without] {
            replica.wait_for_sync(&primary);
            assert_eq!(reply(&mut replica.connect(), "DEBUG DIGEST"), reply(&mut con, "DEBUG DIGEST"));
        }
        let refused = reply(&mut with.connect(), "DUE.CLAIM q BLOCK 0");
        assert!(refused.starts_with("READONLY"), "{refused}");
        assert!(reply(&mut with.connect(), "DUE.INFO q").starts_with("[\"items\""));
    }

    fn what_nobody_acknowledged_is_due_again_after_a_crash(kind: Kind) {
        let mut server = Server::builder(kind).appendonly().config("appendfsync always").start();
        let mut con = server.connect();
        for i in 0..50 {
            expect(&mut con, &format!("DUE.ADD q AT 1767225601000 i{i}"), "1");
        }
        let held = claim(&mut con, "DUE.CLAIM q COUNT 30 NOW 1767225601000 LEASE 1s");
        for (item, token) in &held[..10] {
            expect(&mut con, &format!("DUE.ACK q {token} {item}"), "1");
        }
        let before = reply(&mut con, "DEBUG DIGEST");
        server.kill9();
        server.restart();
        let mut con = server.connect();
        assert_eq!(reply(&mut con, "DEBUG DIGEST"), before);
        // What nobody had is due at once, what the dead had when their leases end.
        assert_eq!(claim(&mut con, "DUE.CLAIM q COUNT 99 NOW 1767225601999 LEASE 1d").len(), 20);
        let again: Vec<String> = claim(&mut con, "DUE.CLAIM q COUNT 99 NOW 1767225602000").into_iter().map(|(item, _)| item).collect();
        let mut expected: Vec<String> = held[10..].iter().map(|(item, _)| item.clone()).collect();
        let mut again = again;
        expected.sort_unstable();
        again.sort_unstable();
        assert_eq!(again, expected);
        expect(&mut con, &format!("DUE.ACK q {} {}", held[10].1, held[10].0), "0");
    }

    fn eight_claimers_have_each_item_once(server: Server) {
        const ITEMS: usize = 10_000;
        let mut con = server.connect();
        for i in 0..ITEMS / 100 {
            let items: Vec<String> = (0..100).map(|j| format!("i{}", i * 100 + j)).collect();
            expect(&mut con, &format!("DUE.ADD q AT {i} {}", items.join(" ")), "100");
        }
        expect(&mut con, "CONFIG RESETSTAT", "+OK");
        let workers: Vec<_> = (0..8)
            .map(|_| {
                let mut con = server.connect();
                std::thread::spawn(move || {
                    let mut mine = Vec::new();
                    loop {
                        let rows = claim(&mut con, "DUE.CLAIM q");
                        let Some((item, token)) = rows.into_iter().next() else { return mine };
                        assert_eq!(reply(&mut con, &format!("DUE.ACK q {token} {item}")), "1");
                        mine.push(item);
                    }
                })
            })
            .collect();
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        for worker in workers {
            worker.join().expect("a worker").into_iter().for_each(|item| *times.entry(item).or_default() += 1);
        }
        assert_eq!(times.len(), ITEMS);
        assert!(times.values().all(|count| *count == 1));
        expect(&mut con, "EXISTS q", "0");
        // Two calls an item, and the one by which each worker saw that it was done.
        let calls = |command: &str| -> usize {
            let stats = server.info(&format!("cmdstat_{command}"));
            stats.split(',').next().and_then(|word| word.strip_prefix("calls=")).unwrap().parse().unwrap()
        };
        assert_eq!((calls("due.claim"), calls("due.ack")), (ITEMS + 8, ITEMS));
    }

    fn transactions_and_scripts_do_not_wait(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "MULTI", "+OK");
        expect(&mut con, "DUE.CLAIM q BLOCK 0", "+QUEUED");
        expect(&mut con, "DUE.ADD q AT 1 a b", "+QUEUED");
        expect(&mut con, "DUE.POP q BLOCK 0", "+QUEUED");
        expect(&mut con, "EXEC", r#"[[], 2, [["a", 1]]]"#);
        let script = "return {redis.call('DUE.POP', KEYS[1], 'BLOCK', '0'), redis.call('DUE.CLAIM', KEYS[1], 'BLOCK', '0')}";
        expect(&mut con, &format!("EVAL \"{script}\" 1 q"), r#"[[["b", 1]], []]"#);
        let library = format!("#!lua name=lib\\nredis.register_function('f', function(KEYS) {script} end)");
        expect(&mut con, &format!("FUNCTION LOAD \"{library}\""), r#""lib""#);
        expect(&mut con, "FCALL f 1 q", "[[], []]");
    }
}
