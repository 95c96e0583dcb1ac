//! How much of a limiter's calls reaches the AOF and the replicas.

use crate::support::*;

/// A time of the caller's, in ms, ahead of the server's clock.
const T: u64 = 1_800_000_000_000;
const CALLS: u64 = 10_000;

/// Commands that a replica has run, without the link's own.
fn commands_run(replica: &Server) -> u64 {
    let stats = reply(&mut replica.connect(), "INFO commandstats");
    let of = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let is_effect =
            ["set", "setrange", "zadd", "zremrangebyscore", "pexpireat", "multi", "exec", "unlink"].contains(&name);
        rest.split(',').next()?.parse::<u64>().ok().filter(|_| is_effect)
    };
    stats.split("\\r\\n").filter_map(of).sum()
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

    /// `SET` for a new window or a new expiry, `SETRANGE` of the digits that changed for the rest. By the offset of
    /// replication, which counts the same bytes as the AOF.
    fn an_allowed_call_sends_what_changed(kind: Kind) {
        let primary = Server::builder(kind).tcp().config("repl-ping-replica-period 3600").start();
        let replica = Server::builder(kind).without_module().replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        let offset = || primary.info("master_repl_offset").parse::<u64>().expect("an offset");
        let mut con = primary.connect();
        // Steady traffic just below the limit, or far below it, and never quite even, so that no digit is spared by chance.
        // Before there was SETRANGE, a call of any string limiter took 85 to 100 bytes.
        for (rules, step_ms, most) in [
            ("100/1m FIXED", 611, 55),
            ("1000/1m FIXED", 61, 55),
            ("1000000/day CALENDAR", 61, 55),
            ("1000/1m COUNTER", 61, 60),
            ("100/1m GCRA", 601, 65),
            ("100/1m GCRA", 1_000, 68),
            ("100/1m GCRA", 2_000, 72),
            ("1000/1m GCRA", 61, 62),
            ("10/1m/30 GCRA", 6_001, 82),
            ("1000/1h GCRA", 3_601, 66),
            ("10000/1d GCRA", 8_641, 66),
            ("1000000000/1m GCRA", 61, 70),
            ("1000/1m SLIDING", 61, 72),
            ("10000/10m SLIDING", 61, 72),
        ] {
            let before = offset();
            for batch in 0..CALLS / 100 {
                let mut pipe = redis::pipe();
                for number in batch * 100..(batch + 1) * 100 {
                    pipe.cmd("RATE.CHECK").arg("limit:0001").arg(rules.split(' ').collect::<Vec<_>>());
                    pipe.arg("NOW").arg(T + number * step_ms + number * 7_919 % (step_ms / 2));
                }
                let replies: Vec<Vec<i64>> = pipe.query(&mut con).expect("replies");
                assert!(replies.iter().all(|reply| reply[0] == 0), "{rules}: every call passes");
            }
            let sent = offset() - before;
            assert!(sent <= CALLS * most, "{rules} every {step_ms} ms: {} bytes in 100 calls", sent * 100 / CALLS);
            expect(&mut con, "RATE.RESET limit:0001", "1");
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
