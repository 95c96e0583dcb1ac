//! How much of a limiter's calls reaches the AOF and the replicas.

use std::fs;

use crate::support::*;

/// A time of the caller's, in ms, ahead of the server's clock.
const T: u64 = 1_800_000_000_000;
const CALLS: u64 = 10_000;

/// Commands that a replica has run, without the link's own.
fn commands_run(replica: &Server) -> u64 {
    let stats = reply(&mut replica.connect(), "INFO commandstats");
    let of = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let is_effect = ["set", "zadd", "zremrangebyscore", "pexpireat", "multi", "exec", "unlink"].contains(&name);
        rest.split(',').next()?.parse::<u64>().ok().filter(|_| is_effect)
    };
    stats.split("\\r\\n").filter_map(of).sum()
}

fn aof_bytes(server: &Server) -> u64 {
    let files = fs::read_dir(server.dir().join("appendonlydir")).expect("an AOF directory");
    files.map(|file| file.expect("an entry").metadata().expect("its size").len()).sum()
}

on_every_server! {
    fn an_allowed_call_is_one_command(kind: Kind) {
        let primary = Server::builder(kind).tcp().config("repl-ping-replica-period 3600").start();
        let replica = Server::builder(kind).without_module().replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        let mut con = primary.connect();
        for (rules, most) in [
            ("1000/1m FIXED", 100), ("1000/1m COUNTER", 100), ("1000/1m GCRA", 100), ("1000000/day CALENDAR", 100),
            ("1000/1m SLIDING", 120),
        ] {
            let before = commands_run(&replica);
            for batch in 0..CALLS / 100 {
                let mut pipe = redis::pipe();
                for call in 0..100 {
                    let ms = T + (batch * 100 + call) * 61;
                    pipe.cmd("RATE.CHECK").arg(format!("k:{}", rules.len())).arg(rules.split(' ').collect::<Vec<_>>());
                    pipe.arg("NOW").arg(ms);
                }
                let replies: Vec<Vec<i64>> = pipe.query(&mut con).expect("replies");
                assert!(replies.iter().all(|reply| reply[0] == 0), "{rules}: every call passes");
            }
            replica.wait_for_sync(&primary);
            wait_until(|| commands_run(&replica) >= before + CALLS);
            let run = commands_run(&replica) - before;
            assert!(run * 100 <= CALLS * most, "{rules}: {run} commands for {CALLS} calls");
            assert!(most > 100 || run == CALLS, "{rules}: {run} commands for {CALLS} calls");
            expect(&mut con, "FLUSHALL", "+OK");
        }
    }

    fn an_allowed_call_adds_a_hundred_bytes_to_the_aof(kind: Kind) {
        let server = Server::builder(kind).appendonly().config("appendfsync always").start();
        let mut con = server.connect();
        // Costs that take long enough to refill, so that no key expires meanwhile.
        for (rule, cost) in [("10/1m/30", 9), ("100/1m", 40), ("1000/1h", 40), ("10000/1d", 40)] {
            let check = format!("RATE.CHECK limit:0001 {rule} GCRA COST {cost}");
            for call in 0..20 {
                let before = aof_bytes(&server);
                assert!(reply(&mut con, &check).starts_with("[0, "));
                let first = aof_bytes(&server) - before;
                assert!(reply(&mut con, &check).starts_with("[0, "));
                let second = aof_bytes(&server) - before - first;
                // The very first write also selects a database.
                assert!((call == 0 || first <= 100) && second <= 100, "{rule}: {first} and {second} bytes");
                expect(&mut con, "RATE.RESET limit:0001", "1");
            }
        }
    }

    fn a_restart_in_the_middle_changes_no_verdict(kind: Kind) {
        let mut server = Server::builder(kind).appendonly().config("appendfsync always").start();
        let untouched = Server::builder(kind).start();
        let rules = ["7/1s", "7/1s FIXED", "7/1s COUNTER", "7/1s/9 GCRA", "70/hour CALENDAR"];
        for round in 0..6 {
            for call in 0..60 {
                let now = T + round * 1_300 + call * 41;
                for (key, rule) in rules.iter().enumerate() {
                    let line = format!("RATE.CHECK k{key} {rule} NOW {now}");
                    let expected = reply(&mut untouched.connect(), &line);
                    expect(&mut server.connect(), &line, &expected);
                }
            }
            server.kill9();
            server.restart();
        }
    }
}
