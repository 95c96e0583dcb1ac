//! The core commands that the module needs: it says which one is missing when it is loaded, so that no command finds out
//! after it has written; and it calls no others.

use std::collections::BTreeSet;
use std::path::Path;

use redis::Value;

use crate::calls::{generator, learn};
use crate::script::Dice;
use crate::support::*;

/// The list of `src/server/api/core_commands.rs`, which is one there as well.
const NEEDED: [&str; 16] = [
    "ZADD",
    "ZREM",
    "ZREMRANGEBYSCORE",
    "ZREMRANGEBYRANK",
    "SET",
    "SETRANGE",
    "HSET",
    "HDEL",
    "UNLINK",
    "PEXPIREAT",
    "RENAME",
    "ZRANK",
    "ZRANGE",
    "ZSCAN",
    "MEMORY",
    "PING",
];

/// The core commands that a server has run since its counters were reset, without those of the test itself.
fn called(con: &mut redis::Connection, by_the_test: &[&str]) -> BTreeSet<String> {
    let stats = reply(con, "INFO commandstats");
    let names = stats.split("cmdstat_").skip(1).filter_map(|line| line.split(':').next());
    // A subcommand follows a bar.
    let names = names.map(|name| name.split('|').next().unwrap_or(name).to_uppercase());
    let is_core = |name: &String| !["RANK.", "RATE.", "DUE.", "CALLER."].iter().any(|family| name.starts_with(family));
    names.filter(|name| is_core(name) && !by_the_test.contains(&name.as_str())).collect()
}

fn assert_needed(called: &BTreeSet<String>) {
    let others: Vec<_> = called.iter().filter(|name| !NEEDED.contains(&name.as_str())).collect();
    assert!(others.is_empty(), "the module calls commands that are not in its list: {others:?}");
}

on_every_server! {
    fn the_module_is_not_loaded_without_a_command_that_it_needs(kind: Kind) {
        for command in NEEDED {
            for name in ["\"\"", "another-name"] {
                let log = Server::builder(kind).config(&format!("rename-command {command} {name}")).try_start().err();
                let log = log.unwrap_or_else(|| panic!("loaded without {command}"));
                let expected = format!("redis-rank needs the command {command}, which rename-command has renamed");
                assert!(log.contains(&expected), "{log}");
            }
        }
        // Nor later on; and other commands may be renamed.
        let server = Server::builder(kind).without_module().config("rename-command UNLINK \"\"").start();
        let load = format!("MODULE LOAD {}", module_path().display());
        assert!(reply(&mut server.connect(), &load).starts_with("ERR Error loading the extension"));
        let others = ["FLUSHALL", "KEYS", "EXISTS", "ECHO", "ZCARD", "INFO"];
        let renamed = others.iter().fold(Server::builder(kind), |builder, it| builder.config(&format!("rename-command {it} x-{it}")));
        expect(&mut renamed.start().connect(), "RANK.ADD b 5 ann", "1");
    }

    /// With random calls of everything that the commands document.
    fn no_other_command_is_called(kind: Kind) {
        let caller = compiled(Path::new("tests/fixtures/caller.c"));
        let server = Server::builder(kind).config(&format!("loadmodule {}", caller.path().display())).appendonly().start();
        let mut con = server.connect();
        let mut generator = generator(&mut con);
        let set_up: Vec<String> = generator.set_up().collect();
        expect(&mut con, "CONFIG RESETSTAT", "+OK");
        let mut dice = Dice::new(1);
        let mut kinds = BTreeSet::new();
        for chapter in 0..16 {
            generator.forget();
            generator.now = 1_700_000_000_000 + chapter;
            expect(&mut con, "FLUSHALL", "+OK");
            for line in &set_up {
                assert!(!is_error(&reply(&mut con, line)), "{line}");
            }
            let calls = (0..1_000).map(|_| generator.call(&mut dice));
            let calls: Vec<_> = calls.filter(|call| !call.args.iter().any(|arg| arg.eq_ignore_ascii_case(b"BLOCK"))).collect();
            for call in calls {
                let args: Vec<&[u8]> = call.args.iter().map(Vec::as_slice).collect();
                let reply = cmdv(&mut con, &args).unwrap_or(Value::Nil);
                kinds.insert(call.command().to_owned());
                learn(&mut generator, &call, &reply);
            }
        }
        // A large board is walked by index. Clients that wait, scripts and other modules look for their user.
        expect(&mut con, "EVAL \"for i = 1, 500 do redis.call('RANK.ADD', 'big', i % 3, 'm' .. i) end\" 0", "nil");
        reply(&mut con, "RANK.RANGE big 200 300");
        reply(&mut con, "RANK.SCAN big 0");
        reply(&mut con, "RANK.TRIM big 5");
        expect(&mut con, "DUE.POP nothing BLOCK 1ms", "[]");
        expect(&mut con, "RANK.CREATE c DATA attributes", "+OK");
        expect(&mut con, "CALLER.RUN !C RANK.TOPN c 3 WITHDATA", "[]");
        let called = called(&mut con, &["CONFIG", "FLUSHALL", "EVAL", "INFO", "COMMAND", "CLIENT", "SELECT", "HELLO"]);
        assert_needed(&called);
        assert!(kinds.len() > 40, "{kinds:?}");
        for command in ["ZRANK", "ZRANGE", "ZSCAN", "ZREMRANGEBYRANK", "PING"] {
            assert!(called.contains(command), "{command} was not called: {called:?}");
        }
    }

    /// In a cluster, keys that only a schema names may be on another node. To ask for that leaves no trace of them.
    fn looking_for_keys_of_a_schema_leaves_no_trace_in_a_cluster(kind: Kind) {
        let cluster = Cluster::start(kind, false);
        let owner = cluster.owner(cluster.slot_of("s"));
        let mut con = owner.connect();
        expect(&mut con, "RANK.CREATE {s} FIELD a INT DATA {s}h PERIOD DAY {s}d: PERIOD WEEK {s}w: PAST 3", "+OK");
        expect(&mut con, "RANK.ADD {s} 5 ann", "1");
        expect(&mut con, "CONFIG SET notify-keyspace-events KEAm", "+OK");
        expect(&mut con, "CONFIG RESETSTAT", "+OK");
        let counts = || owner.infos(["keyspace_hits", "keyspace_misses"]);
        for command in [
            "RANK.TOPN {s} 3 WITHDATA", "RANK.TOPN {s} 3 PERIOD day -1", "RANK.TOPN {s} 3 WITHDATA PERIOD week", "RANK.PERIODS {s}",
            "RANK.GETDATA {s} ann",
        ] {
            assert!(!is_error(&reply(&mut con, command)), "{command}");
        }
        assert_eq!(counts(), ["0", "0"], "hits and misses");
        assert_needed(&called(&mut con, &["CONFIG", "INFO", "CLIENT", "CLUSTER", "SELECT", "HELLO", "REPLCONF", "PSYNC", "AUTH"]));
        // A write of a key that is not there yet signals it, which some servers count.
        if !owner.signals_count_as_look_ups() {
            expect(&mut con, "RANK.REM {s} ann", "1");
            expect(&mut con, "RANK.ADD {s} 5 ann", "1");
            assert_eq!(counts(), ["0", "0"], "hits and misses");
        }
    }
}
