//! A limiter whose calls arrive as `SETRANGE`: from an AOF, in the middle of a full sync, on a replica that takes over.
//!
//! `SETRANGE` on a key that is not there makes a string of zeros without an expiry. So these tests look for strings that
//! no limiter wrote, above all where keys expire before their last effects are applied.

use std::time::{SystemTime, UNIX_EPOCH};

use redis::Connection;

use crate::support::*;

/// A time of the caller's, in ms, ahead of the server's clock.
const T: u64 = 1_800_000_000_000;
const STRINGS: [&str; 4] = ["FIXED", "COUNTER", "GCRA", "CALENDAR"];
const KEYS: usize = 20;
/// For each key that a child process saves, in microseconds.
const SAVE_DELAY: u64 = 100_000;

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_millis() as u64
}

fn rule(algorithm: &str) -> &str {
    match algorithm {
        "CALENDAR" => "1000000/day",
        _ => "1000/1s",
    }
}

/// One call at a time of the caller's for every algorithm, on keys of their own and on one that all of them share.
fn calls_at(now: u64) -> Vec<String> {
    let of = |algorithm| {
        let rule = rule(algorithm);
        [
            format!("RATE.CHECK own:{algorithm} {rule} {algorithm} NOW {now}"),
            format!("RATE.CHECK shared {rule} {algorithm} COST {} NOW {now}", 1 + now % 7),
        ]
    };
    STRINGS.into_iter().flat_map(of).chain([format!("RATE.CHECK log 1000/1s NOW {now}")]).collect()
}

/// All keys with their bytes and their expiry.
fn contents(con: &mut Connection) -> Vec<String> {
    let keys = STRINGS.map(|algorithm| format!("own:{algorithm}")).into_iter().chain(["shared".into(), "log".into()]);
    keys.map(|key| {
        format!("{key} {} {}", reply(con, &format!("DUMP {key}")), reply(con, &format!("PEXPIRETIME {key}")))
    })
    .collect()
}

/// The keys of short limiters, which expire by the server's clock at about the same time.
fn short_keys() -> impl Iterator<Item = (String, &'static str)> {
    (0..KEYS).map(|number| (format!("short:{number}"), ["FIXED", "GCRA", "COUNTER"][number % 3]))
}

fn call_short_keys(con: &mut Connection) {
    for (key, algorithm) in short_keys() {
        let answer = reply(con, &format!("RATE.CHECK {key} 100000/1500ms {algorithm}"));
        assert!(answer.starts_with("[0, "), "{key}: {answer}");
    }
}

/// Every string is a limiter's, and expires.
fn assert_no_zeros(con: &mut Connection, where_: &str) {
    for (key, _) in short_keys() {
        let text = reply(con, &format!("GET {key}"));
        assert!(text == "nil" || text.starts_with("\"rate 1 "), "{where_}: {key} is {text}");
        assert_ne!(reply(con, &format!("PTTL {key}")), "-1", "{where_}: {key} never expires");
    }
}

fn rewrite(server: &Server) {
    wait_until(|| !is_error(&reply(&mut server.connect(), "BGREWRITEAOF")));
}

fn has_child(server: &Server) -> bool {
    let info = reply(&mut server.connect(), "INFO persistence");
    ["aof_rewrite_in_progress:1", "aof_rewrite_scheduled:1", "rdb_bgsave_in_progress:1"]
        .iter()
        .any(|field| info.contains(field))
}

on_every_server! {
    fn an_aof_rewritten_in_the_middle(kind: Kind) {
        for preamble in ["yes", "no"] {
            let preamble = format!("aof-use-rdb-preamble {preamble}");
            let mut server =
                Server::builder(kind).appendonly().config("appendfsync always").config(&preamble).start();
            let untouched = Server::builder(kind).start();
            for step in 0..40 {
                if step == 15 || step == 27 {
                    rewrite(&server);
                }
                for call in calls_at(T + step * 57) {
                    let expected = reply(&mut untouched.connect(), &call);
                    expect(&mut server.connect(), &call, &expected);
                }
                if step == 20 || step == 39 {
                    wait_until(|| !has_child(&server));
                    server.kill9();
                    server.restart();
                    assert_eq!(contents(&mut server.connect()), contents(&mut untouched.connect()), "{preamble}");
                }
            }
        }
    }

    /// The child saves a key after it has expired, and calls that came before that are in the file behind it.
    fn keys_that_expire_while_an_aof_is_rewritten_and_loaded(kind: Kind) {
        for preamble in ["yes", "no"] {
            let mut server = Server::builder(kind).appendonly().config("appendfsync always")
                .config(&format!("aof-use-rdb-preamble {preamble}")).start();
            let mut con = server.connect();
            call_short_keys(&mut con);
            let start = now_ms();
            expect(&mut con, &format!("CONFIG SET rdb-key-save-delay {SAVE_DELAY}"), "+OK");
            rewrite(&server);
            let mut rounds = 0;
            while now_ms() < start + 900 {
                call_short_keys(&mut con);
                rounds += 1;
            }
            assert!(rounds > 1 && has_child(&server), "{rounds} rounds while the child was at work");
            wait_until(|| now_ms() > start + 5_000 || !has_child(&server));
            // Their time has passed before the AOF is loaded.
            server.kill9();
            server.restart();
            assert_no_zeros(&mut server.connect(), preamble);
            call_short_keys(&mut server.connect());
            assert_no_zeros(&mut server.connect(), preamble);
        }
    }

    /// The same for the snapshot of a full sync, and then the replica takes over.
    fn keys_that_expire_during_a_full_sync(kind: Kind) {
        for diskless in ["yes", "no"] {
            let diskless = format!("repl-diskless-sync {diskless}");
            let primary = Server::builder(kind).tcp().config(&diskless).start();
            let mut con = primary.connect();
            expect(&mut con, &format!("CONFIG SET rdb-key-save-delay {SAVE_DELAY}"), "+OK");
            let replica = Server::builder(kind).tcp().start();
            call_short_keys(&mut con);
            let start = now_ms();
            expect(&mut replica.connect(), &format!("REPLICAOF 127.0.0.1 {}", primary.port()), "+OK");
            wait_until(|| has_child(&primary));
            while now_ms() < start + 900 {
                call_short_keys(&mut con);
            }
            assert!(has_child(&primary), "the snapshot ends after the calls");
            wait_until(|| replica.info("master_link_status") == "up");
            replica.wait_for_sync(&primary);
            assert_no_zeros(&mut replica.connect(), &diskless);
            expect(&mut replica.connect(), "REPLICAOF NO ONE", "+OK");
            call_short_keys(&mut replica.connect());
            assert_no_zeros(&mut replica.connect(), &diskless);
        }
    }

    fn a_replica_takes_over_in_the_middle(kind: Kind) {
        let mut primary = Server::builder(kind).tcp().start();
        let mut replica = Server::builder(kind).tcp().replica_of(&primary).start();
        let untouched = Server::builder(kind).start();
        for step in 0..60 {
            if step % 20 == 10 {
                replica.wait_for_sync(&primary);
                assert_eq!(contents(&mut replica.connect()), contents(&mut untouched.connect()));
                primary.kill9();
                expect(&mut replica.connect(), "REPLICAOF NO ONE", "+OK");
                primary = replica;
                replica = Server::builder(kind).tcp().replica_of(&primary).start();
                replica.wait_for_sync(&primary);
            }
            for call in calls_at(T + step * 57) {
                let expected = reply(&mut untouched.connect(), &call);
                expect(&mut primary.connect(), &call, &expected);
            }
        }
    }

    /// A replica that restarts from its own snapshot and continues where it was.
    fn a_replica_that_was_away_while_keys_expired(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        let mut replica = Server::builder(kind).without_module().replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        let mut con = primary.connect();
        call_short_keys(&mut con);
        let start = now_ms();
        replica.wait_for_sync(&primary);
        replica.shutdown_save();
        call_short_keys(&mut con);
        wait_until(|| now_ms() > start + 4_000);
        replica.restart();
        wait_until(|| replica.info("master_link_status") == "up");
        replica.wait_for_sync(&primary);
        assert_no_zeros(&mut replica.connect(), "after a restart");
    }

    /// Evicted on the primary, with or without an AOF behind it: the next call begins anew, everywhere.
    fn keys_that_are_evicted(kind: Kind) {
        let mut server = Server::builder(kind).tcp().appendonly().config("appendfsync always")
            .config("maxmemory-policy allkeys-random").start();
        let replica = Server::builder(kind).without_module().replica_of(&server).start();
        replica.wait_for_sync(&server);
        let mut con = server.connect();
        let call = |con: &mut Connection| {
            for number in 0..200 {
                for algorithm in ["FIXED", "GCRA"] {
                    let answer = reply(con, &format!("RATE.CHECK {algorithm}:{number} 1000/1h {algorithm}"));
                    assert!(answer.starts_with("[0, ") || answer.starts_with("OOM "), "{answer}");
                }
            }
        };
        call(&mut con);
        let used: u64 = server.info("used_memory").parse().expect("bytes");
        expect(&mut con, &format!("CONFIG SET maxmemory {}", used - 40_000), "+OK");
        for _ in 0..5 {
            call(&mut con);
        }
        assert_ne!(server.info("evicted_keys"), "0");
        expect(&mut con, "CONFIG SET maxmemory 0", "+OK");
        call(&mut con);
        replica.wait_for_sync(&server);
        let texts = |con: &mut Connection| -> Vec<String> {
            let key = |number: usize| ["FIXED", "GCRA"].map(|algorithm| format!("{algorithm}:{number}"));
            let texts = (0..200).flat_map(key).map(|key| reply(con, &format!("GET {key}")));
            texts.inspect(|text| assert!(text.starts_with("\"rate 1 "), "{text}")).collect()
        };
        let expected = texts(&mut con);
        assert_eq!(texts(&mut replica.connect()), expected);
        server.kill9();
        server.restart();
        assert_eq!(texts(&mut server.connect()), expected);
    }
}
