//! What `RATE.*` leaves behind: key, expiry, AOF, replicas, `WATCH`, events; and that a denied call leaves nothing.

use std::fs;

use redis::{Connection, Value};

use crate::support::*;

const ALGORITHMS: [&str; 4] = ["SLIDING", "FIXED", "COUNTER", "GCRA"];

/// A time of the caller's, in ms, ahead of the server's clock.
const T: u64 = 1_800_000_000_000;

/// Calls of every kind: taken and denied, on new and old keys, from scripts and transactions, dropping few and many.
fn traffic(con: &mut Connection) {
    for step in 0..60_u64 {
        let now = T + step * 37;
        for algorithm in ALGORITHMS {
            let rules = if algorithm == "SLIDING" { "9/100ms 20/1s" } else { "7/150ms 30/1s" };
            assert!(reply(con, &format!("RATE.CHECK {algorithm} {rules} {algorithm} NOW {now}")).starts_with('['));
            let cost = step % 5;
            assert!(reply(con, &format!("RATE.CHECK {algorithm} 500/1h {algorithm} COST {cost} NOW {now}"))
                .starts_with('['));
        }
        for cost in [0, step % 4] {
            assert!(reply(con, &format!("RATE.REFUND SLIDING 9/100ms COST {cost} NOW {now}")).starts_with("[0, "));
            assert!(reply(con, &format!("RATE.REFUND GCRA 7/150ms GCRA COST {cost} NOW {now}")).starts_with("[0, "));
        }
        assert!(reply(con, &format!("RATE.CHECK punished 3/1s FIXED FORCE PENALTY 100ms NOW {now}")).starts_with('['));
        assert!(reply(con, &format!("RATE.ALL 2 {{a}}1 {{a}}2 3/1s 9/1s COUNTER NOW {now}")).starts_with('['));
        assert!(
            reply(con, &format!("RATE.CHECK monthly 99/month CALENDAR OFFSET +05:30 NOW {now}")).starts_with("[0, ")
        );
        assert!(reply(con, &format!("RATE.ACQUIRE leased 3 {}ms NOW {now}", 50 + step)).starts_with('['));
        let other = ALGORITHMS[1 + step as usize % 3];
        assert!(reply(con, &format!("RATE.CHECK changing 9/1h {other} NOW {now}")).starts_with('['));
        let script = r#"EVAL "redis.call('RATE.CHECK', KEYS[1], '50/1s', 'NOW', ARGV[1]) return redis.call('RATE.CHECK', KEYS[1], '50/1s', 'NOW', ARGV[1])" 1"#;
        assert!(reply(con, &format!("{script} scripted {now}")).starts_with('['));
        expect(con, "MULTI", "+OK");
        expect(con, &format!("RATE.CHECK queued 3/1s NOW {now}"), "+QUEUED");
        expect(con, "RATE.RESET queued-gone", "+QUEUED");
        expect(con, &format!("RATE.CHECK queued-gone 3/1s GCRA NOW {now}"), "+QUEUED");
        assert!(reply(con, "EXEC").starts_with("[["));
    }
    for _ in 0..200 {
        assert!(reply(con, &format!("RATE.CHECK long 200/1s NOW {T}")).starts_with("[0, "));
    }
    expect(con, &format!("RATE.CHECK long 200/1s NOW {}", T + 1_000), "[0, 200, 199, 0, 1000, 1]");
    expect(con, "ZCARD long", "1");
    expect(con, &format!("RATE.CHECK gone 5/1h NOW {T}"), "[0, 5, 4, 0, 3600000, 1]");
    expect(con, "RATE.RESET gone", "1");
}

/// Every key with all its bytes and its expiry.
fn contents(con: &mut Connection) -> Vec<(String, String, String)> {
    let Ok(Value::Array(keys)) = cmd(con, "KEYS *") else { panic!("KEYS failed") };
    let mut keys: Vec<String> = keys.iter().map(show).collect();
    keys.sort();
    let mut of = |command: &str, key: &str| reply(con, &format!("{command} {key}"));
    keys.into_iter().map(|key| (of("DUMP", &key), of("PEXPIRETIME", &key), key)).collect()
}

fn peeks(con: &mut Connection) -> Vec<String> {
    let mut replies = Vec::new();
    for key in [
        "SLIDING",
        "FIXED",
        "COUNTER",
        "GCRA",
        "changing",
        "scripted",
        "queued",
        "queued-gone",
        "long",
        "punished",
        "{a}1",
    ] {
        for algorithm in ALGORITHMS {
            for cost in [1, 5, 50] {
                let call = format!("RATE.PEEK {key} 9/100ms 20/1s 500/1h {algorithm} COST {cost} NOW {}", T + 2_250);
                replies.push(reply(con, &call));
            }
        }
    }
    replies
}

fn aof(server: &Server) -> Vec<u8> {
    let files = fs::read_dir(server.dir().join("appendonlydir")).expect("an AOF directory");
    files.flat_map(|file| fs::read(file.expect("an entry").path()).expect("a file")).collect()
}

/// A server whose every trace of a write can be seen, and which makes none by itself.
fn observed(kind: Kind) -> Server {
    let builder = Server::builder(kind).tcp().appendonly().config("appendfsync always");
    builder.config("repl-ping-replica-period 3600").config("notify-keyspace-events KEA").start()
}

/// The events that `act` causes.
fn events(server: &Server, act: impl FnOnce()) -> Vec<String> {
    let mut con = server.connect();
    let mut events = con.as_pubsub();
    events.psubscribe("__keyevent@0__:*").expect("a subscription");
    events.subscribe("end").expect("a subscription");
    act();
    expect(&mut server.connect(), "PUBLISH end now", "1");
    let mut seen = Vec::new();
    loop {
        let message = events.get_message().expect("a message");
        match message.get_channel_name().strip_prefix("__keyevent@0__:") {
            Some(event) => seen.push(event.to_owned()),
            None => return seen,
        }
    }
}

on_every_server! {
    fn a_replica_without_the_module_has_the_same_bytes(kind: Kind) {
        let primary = observed(kind);
        let replica = Server::builder(kind).without_module().replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        traffic(&mut primary.connect());
        replica.wait_for_sync(&primary);
        let expected = contents(&mut primary.connect());
        assert_eq!(expected.len(), 14);
        assert!(expected.iter().all(|(_, expiry, _)| expiry.parse::<u64>().is_ok_and(|at| at > T)), "{expected:?}");
        assert_eq!(contents(&mut replica.connect()), expected);
        assert_eq!(replica.info("master_link_status"), "up");
    }

    fn a_crash_changes_no_verdict(kind: Kind) {
        let mut server = observed(kind);
        traffic(&mut server.connect());
        let expected = (peeks(&mut server.connect()), contents(&mut server.connect()));
        let text = String::from_utf8_lossy(&aof(&server)).to_ascii_uppercase();
        assert!(text.contains("ZREMRANGEBYSCORE") && text.contains("PEXPIREAT") && text.contains("PXAT") && text.contains("SETRANGE"));
        assert!(!text.contains("RATE."), "a command that reads the clock is in the AOF");
        server.kill9();
        server.restart();
        assert_eq!((peeks(&mut server.connect()), contents(&mut server.connect())), expected);
        server.kill9();
        server.restart_with(Builder::without_module);
        assert_eq!(contents(&mut server.connect()), expected.1);
    }

    fn what_is_denied_or_only_asked_leaves_no_trace(kind: Kind) {
        let primary = observed(kind);
        let replica = Server::builder(kind).replica_of(&primary).start();
        let mut con = primary.connect();
        for algorithm in ALGORITHMS {
            assert!(reply(&mut con, &format!("RATE.CHECK {algorithm} 2/1h 9/1d {algorithm} COST 2")).starts_with("[0, "));
        }
        expect(&mut con, "HSET hash f x", "1");
        assert!(reply(&mut con, "RATE.ACQUIRE leases 1 1h").starts_with("[0, "));
        replica.wait_for_sync(&primary);
        let traces = |server: &Server| {
            let numbers = ["master_repl_offset", "rdb_changes_since_last_save"].map(|field| server.info(field));
            (numbers, aof(server).len(), contents(&mut server.connect()))
        };
        let before = traces(&primary);
        let mut watcher = primary.connect();
        expect(&mut watcher, "WATCH SLIDING FIXED COUNTER GCRA none hash leases", "+OK");
        let caused = events(&primary, || {
            for algorithm in ALGORITHMS {
                for call in [
                    format!("RATE.CHECK {algorithm} 2/1h 9/1d {algorithm}"),
                    format!("RATE.CHECK {algorithm} 9/1d 2/1h {algorithm} COST 99"),
                    format!("RATE.CHECK {algorithm} 2/1h 50/2d {algorithm}"),
                    format!("RATE.PEEK {algorithm} 2/1h {algorithm}"),
                ] {
                    let answer = reply(&mut con, &call);
                    assert!(answer.starts_with("[1, "), "{call}: {answer}");
                }
                for call in [
                    format!("RATE.CHECK {algorithm} 2/1h {algorithm} COST 0"),
                    format!("RATE.PEEK {algorithm} 5/1h {algorithm}"),
                    format!("RATE.CHECK none 2/1h {algorithm} COST 0"),
                    format!("RATE.PEEK none 2/1h {algorithm}"),
                ] {
                    let answer = reply(&mut con, &call);
                    assert!(answer.starts_with("[0, "), "{call}: {answer}");
                }
                let denied = reply(&mut con, &format!("RATE.CHECK none 2/1h {algorithm} COST 3"));
                assert!(denied.starts_with("[1, 2, 2, -1, "), "{denied}");
                assert!(reply(&mut con, &format!("RATE.CHECK hash 2/1h {algorithm}")).starts_with("WRONGTYPE"));
            }
            assert!(reply(&mut con, "RATE.ALL 2 none FIXED 2/1h 2/1h FIXED COST 2").starts_with("[1, "));
            assert!(reply(&mut con, "RATE.REFUND none 2/1h").starts_with("[0, "));
            assert!(reply(&mut con, "RATE.ACQUIRE leases 1 1h").starts_with("[1, "));
            expect(&mut con, "RATE.RENEW leases 5 1h", "0");
            expect(&mut con, "RATE.RELEASE leases 5 6", "0");
            assert!(reply(&mut con, "RATE.HELD leases").starts_with("[1, "));
            expect(&mut con, "RATE.RESET none", "0");
            assert!(reply(&mut con, "RATE.RESET hash").starts_with("WRONGTYPE"));
            // In here, since the end of the subscription goes to the replicas.
            assert_eq!(traces(&primary), before);
        });
        assert_eq!(caused, Vec::<String>::new());
        expect(&mut watcher, "MULTI", "+OK");
        expect(&mut watcher, "PING", "+QUEUED");
        expect(&mut watcher, "EXEC", "[+PONG]");
    }

    fn events_are_those_of_the_core(kind: Kind) {
        let server = observed(kind);
        let mut con = server.connect();
        let mut of = |line: &str| events(&server, || assert!(!reply(&mut con, line).contains("ERR"), "{line}"));
        let now = |ms: u64| T + ms;
        assert_eq!(of(&format!("RATE.CHECK s 99/8s NOW {}", now(0))), ["zadd", "expire"]);
        assert_eq!(of(&format!("RATE.CHECK s 99/8s NOW {}", now(0))), ["zadd"]);
        assert_eq!(of(&format!("RATE.CHECK s 99/8s NOW {}", now(1_000))), ["zadd"]);
        assert_eq!(of(&format!("RATE.CHECK s 99/8s NOW {}", now(1_001))), ["zadd", "expire"]);
        assert_eq!(of(&format!("RATE.CHECK s 99/8s NOW {}", now(8_000))), ["zadd", "zremrangebyscore", "expire"]);
        for _ in 0..50 {
            of(&format!("RATE.CHECK s 99/8s NOW {}", now(8_001)));
        }
        assert_eq!(of(&format!("RATE.CHECK s 99/8s NOW {}", now(30_000))), ["zadd", "zremrangebyscore", "expire"]);
        assert_eq!(of("RATE.RESET s"), ["del"]);
        assert_eq!(of(&format!("RATE.CHECK h 99/1s FIXED NOW {}", now(0))), ["set", "expire"]);
        assert_eq!(of(&format!("RATE.CHECK h 99/1s FIXED NOW {}", now(5))), ["setrange"]);
        assert_eq!(of(&format!("RATE.CHECK h 99/1s GCRA NOW {}", now(5))), ["set", "expire"]);
        assert_eq!(of(&format!("RATE.CHECK h 99/1s GCRA NOW {}", now(6))), ["setrange"]);
        assert_eq!(of(&format!("RATE.CHECK h 99/1s FIXED NOW {}", now(7))), ["setrange"]);
        assert_eq!(of(&format!("RATE.REFUND h 99/1s FIXED NOW {}", now(7))), ["setrange"]);
        assert_eq!(of(&format!("RATE.REFUND h 99/1s GCRA COST 9 NOW {}", now(7))), ["set", "expire"]);
        assert_eq!(of(&format!("RATE.CHECK h 99/1s FIXED NOW {}", now(1_000))), ["set", "expire"]);
        // Whoever changed the expiry: the next call sets the one that the limiter needs.
        assert_eq!(of("PERSIST h"), ["persist"]);
        assert_eq!(of(&format!("RATE.CHECK h 99/1s FIXED NOW {}", now(1_001))), ["set", "expire"]);
        assert_eq!(of(&format!("RATE.REFUND h 99/1s FIXED COST 9 NOW {}", now(1_005))), ["del"]);
        assert_eq!(of(&format!("RATE.ACQUIRE l 2 1h NOW {}", now(0))), ["zadd", "expire"]);
        assert_eq!(of(&format!("RATE.ACQUIRE l 2 1s NOW {}", now(0))), ["zadd"]);
        assert_eq!(of(&format!("RATE.ACQUIRE l 2 1s NOW {}", now(5_000))), ["zadd", "zremrangebyscore"]);
    }

    fn a_key_expires_when_it_is_as_good_as_new(server: Server) {
        let mut con = server.connect();
        let mut expiry = |key: &str, rules: &str, ms: u64| {
            assert!(reply(&mut con, &format!("RATE.CHECK {key} {rules} NOW {}", T + ms)).starts_with("[0, "));
            reply(&mut con, &format!("PEXPIRETIME {key}")).parse::<u64>().expect("an expiry") - T
        };
        // A log stays for an eighth of its longest window longer, and for a second at least.
        assert_eq!(expiry("s", "9/1s", 0), 2_000);
        assert_eq!(expiry("s", "9/1s", 1_000), 2_000);
        assert_eq!(expiry("s", "9/1s 9/16s", 1_000), 19_000);
        assert_eq!(expiry("s", "9/1s", 2_000), 19_000);
        assert_eq!(expiry("f", "9/1s FIXED", 0), 1_000);
        assert_eq!(expiry("f", "9/1s FIXED", 999), 1_000);
        assert_eq!(expiry("f", "9/1s FIXED", 1_000), 2_000);
        assert_eq!(expiry("c", "9/1s COUNTER", 300), 2_000);
        assert_eq!(expiry("c", "9/1s COUNTER", 1_999), 3_000);
        // So does a bucket.
        assert_eq!(expiry("g", "10/1s GCRA COST 3", 0), 1_300);
        assert_eq!(expiry("g", "10/1s GCRA", 100), 1_300);
        assert_eq!(expiry("g", "10/1s GCRA COST 10", 1_000), 3_000);
        assert_eq!(expiry("tiny", "1000000000/1ms GCRA", 0), 1_000);
        expect(&mut con, "PERSIST s", "1");
        expect(&mut con, &format!("RATE.CHECK s 9/1s NOW {}", T + 5_000), "[0, 9, 8, 0, 1000, 1]");
        expect(&mut con, "PEXPIRETIME s", &(T + 23_000).to_string());
        // A caller's clock in the past: by the server's clock, and not at once.
        for algorithm in ALGORITHMS {
            assert!(reply(&mut con, &format!("RATE.CHECK past 1/1h {algorithm} NOW 0")).starts_with("[0, "));
            let left: i64 = reply(&mut con, "PTTL past").parse().expect("a time");
            assert!((3_500_000..=7_200_000 + 450_000).contains(&left), "{algorithm}: {left}");
            assert!(reply(&mut con, &format!("RATE.CHECK past 1/1h {algorithm} NOW 0")).starts_with("[1, "));
            expect(&mut con, "RATE.RESET past", "1");
        }
    }

    /// As with `PEXPIRE`: nobody sees a key that stays for longer than its window, or than the reply said.
    fn the_time_to_live_is_no_longer_than_the_reset(server: Server) {
        let mut con = server.connect();
        for algorithm in ALGORITHMS {
            for key in 0..50 {
                let answer = reply(&mut con, &format!("RATE.CHECK {algorithm}:{key} 9/1m {algorithm}"));
                let reset: i64 = answer.split(", ").nth(4).and_then(|reset| reset.parse().ok()).expect("a reset");
                let left: i64 = reply(&mut con, &format!("PTTL {algorithm}:{key}")).parse().expect("a time");
                let slack = if ["SLIDING", "GCRA"].contains(&algorithm) { 7_500 } else { 0 };
                assert!((1..=reset + slack).contains(&left), "{left} left after {answer}");
            }
        }
    }

    fn a_call_that_passes_breaks_a_watch(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DEBUG SET-ACTIVE-EXPIRE 0", "+OK");
        let mut watcher = server.connect();
        let mut broken_by = |prepare: &str, call: &str| {
            reply(&mut con, prepare);
            // By the clock: to look at the key would delete it.
            let expired = time_of(&mut con) + 3;
            wait_until(|| time_of(&mut con) > expired);
            expect(&mut watcher, "WATCH k short", "+OK");
            assert!(!reply(&mut con, call).contains("ERR"), "{call}");
            expect(&mut watcher, "MULTI", "+OK");
            expect(&mut watcher, "PING", "+QUEUED");
            expect(&mut watcher, "EXEC", "nil");
        };
        for algorithm in ALGORITHMS {
            broken_by("PING", &format!("RATE.CHECK k 9/1h {algorithm}"));
            broken_by("PING", &format!("RATE.CHECK k 9/1h {algorithm}"));
            broken_by("PING", "RATE.RESET k");
            // A key that has expired when it is watched, and is still in the way when it is written.
            broken_by("SET short x PX 1", &format!("RATE.CHECK short 9/30ms {algorithm}"));
        }
    }

    fn a_replica_peeks(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        let replica = Server::builder(kind).replica_of(&primary).start();
        let mut con = primary.connect();
        for algorithm in ALGORITHMS {
            assert!(reply(&mut con, &format!("RATE.CHECK {algorithm} 5/1h {algorithm} COST 3 NOW {T}")).starts_with("[0, "));
        }
        replica.wait_for_sync(&primary);
        for algorithm in ALGORITHMS {
            let call = format!("RATE.PEEK {algorithm} 5/1h {algorithm} COST 3 NOW {T}");
            let expected = reply(&mut con, &call);
            assert!(expected.starts_with("[1, 5, 2, "), "{expected}");
            expect(&mut replica.connect(), &call, &expected);
            let script = format!(
                "EVAL_RO \"return redis.call('RATE.PEEK', KEYS[1], '5/1h', '{algorithm}', 'COST', 3, 'NOW', {T})\" 1 {algorithm}"
            );
            expect(&mut replica.connect(), &script, &expected);
            let refused = reply(&mut replica.connect(), &format!("RATE.CHECK {algorithm} 5/1h {algorithm}"));
            assert!(refused.starts_with("READONLY "), "{refused}");
        }
    }

    fn look_ups_count_neither_hits_nor_misses(server: Server) {
        let mut con = server.connect();
        let of_signals = u64::from(server.signals_count_as_look_ups());
        let counts = || server.infos(["keyspace_hits", "keyspace_misses"]).map(|count| count.parse::<u64>().expect("a count"));
        let [hits, misses] = counts();
        assert!(reply(&mut con, "RATE.CHECK k 1 1h").starts_with("[0, "));
        assert!(reply(&mut con, "RATE.CHECK k 1 1h").starts_with("[1, "));
        expect(&mut con, "RATE.RESET none", "0");
        assert!(reply(&mut con, "RATE.PEEK k 1 1h").starts_with("[1, "));
        assert!(reply(&mut con, "RATE.PEEK none 1 1h").starts_with("[0, "));
        // The first check is the only write, and so the only signal.
        assert_eq!(counts(), [hits + of_signals, misses]);
    }

    fn a_full_memory_stops_checks_alone(server: Server) {
        let mut con = server.connect();
        assert!(reply(&mut con, "RATE.CHECK k 1 1h").starts_with("[0, "));
        expect(&mut con, "CONFIG SET maxmemory 1", "+OK");
        assert!(reply(&mut con, "RATE.CHECK k 1 1h").starts_with("OOM "));
        assert!(reply(&mut con, "RATE.PEEK k 1 1h").starts_with("[1, "));
        expect(&mut con, "RATE.RESET k", "1");
    }
}
