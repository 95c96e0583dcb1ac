//! A long load: hundreds of connections, all commands, replicas with and without the module, an AOF
//! rewrite and a failover in the middle; then everything is checked. And a long history of claims, leases and increments
//! under kills, stops and failovers, which is checked as [`crate::under_faults`] checks a short one.
//!
//! `make soak MINUTES=10`; not a part of the suite.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::*;
use crate::under_faults::check_history;
use crate::workload::{assert_same, check_boards, snapshot, Workload};

const CONNECTIONS: u64 = 200;

/// Reads of every kind, on the boards of a workload.
const READS: &[&str] = &[
    "RANK.TOPN KEY 10 WITHDATA",
    "RANK.GET KEY m1 DENSE",
    "RANK.STATS KEY JSON",
    "RANK.AROUND KEY m2 2 FILL",
    "RANK.PAGE KEY 1 5 JSON",
    "RANK.QUERY KEY m3",
    "RANK.PERCENTILE KEY m4",
    "RANK.COUNT KEY",
    "RANK.INFO KEY",
    "RANK.AMONG KEY 2 m1 m2",
    "RANK.BYSCORE KEY -inf inf LIMIT 0 5",
];

#[derive(Default)]
struct Held {
    calls: AtomicU64,
    errors: AtomicU64,
    turned_away: AtomicU64,
}

/// One client: random commands, and a counter of its own that tells what it was promised.
fn client(servers: [&Server; 2], number: u64, end: Instant, held: &Held) -> (u64, u64) {
    let (mut at, mut con) = (0, servers[0].connect());
    // Ten clients share the boards of a prefix: they get into each other's way.
    let prefix = format!("p{}.", number % (CONNECTIONS / 10));
    let mut workload = Workload::new(&mut con, number, &prefix);
    let (mut promised, mut in_doubt) = (0, 0);
    while Instant::now() < end {
        let read = READS[usize::try_from(held.calls.load(Ordering::Relaxed)).unwrap_or(0) % READS.len()]
            .replace("KEY", &format!("{prefix}spilled"));
        for command in [workload.next_command(), read, format!("RANK.INCR counters 1 0 client{number}")] {
            let answer = reply(&mut con, &command);
            held.calls.fetch_add(1, Ordering::Relaxed);
            assert!(!answer.contains("internal error"), "{command}: {answer}");
            let is_count = command.starts_with("RANK.INCR counters");
            if answer.starts_with("CLIENT") || answer.starts_with("READONLY") || answer.starts_with("UNBLOCKED") {
                // A failover: the other one is the primary now.
                held.turned_away.fetch_add(1, Ordering::Relaxed);
                in_doubt += u64::from(is_count && answer.starts_with("CLIENT"));
                at = 1 - at;
                con = servers[at].connect();
            } else if is_error(&answer) {
                held.errors.fetch_add(1, Ordering::Relaxed);
            } else if is_count {
                promised += 1;
            }
        }
    }
    (promised, in_doubt)
}

/// Half of the time is for each test, and half of that for each kind of server.
fn for_each_server(test: impl Fn(Kind, Duration)) {
    let minutes: f64 = std::env::var("RANK_SOAK_MINUTES").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    for kind in [Kind::Redis, Kind::Valkey] {
        if kind.is_available_or_skip(module_path!()) {
            test(kind, Duration::from_secs_f64(minutes * 15.0));
        }
    }
}

#[test]
#[ignore = "takes minutes: make soak MINUTES=10"]
fn a_long_load_loses_nothing() {
    for_each_server(soak);
}

#[test]
#[ignore = "takes minutes: make soak MINUTES=10"]
fn a_long_history_is_as_promised() {
    for_each_server(|kind, time| check_history("a long history", kind, &[], time));
}

fn soak(kind: Kind, time: Duration) {
    let primary = Server::builder(kind).tcp().appendonly().config("maxclients 1000").start();
    let replica = Server::builder(kind).tcp().appendonly().replica_of(&primary).start();
    let plain = Server::builder(kind).without_module().replica_of(&primary).start();
    replica.wait_for_sync(&primary);
    plain.wait_for_sync(&primary);
    let mut con = primary.connect();
    expect(&mut con, "RANK.CREATE counters FIELD count INT FIELD other INT", "+OK");
    for prefix in 0..CONNECTIONS / 10 {
        Workload::new(&mut con, 0, &format!("p{prefix}.")).set_up(&mut con);
    }
    let (start, end) = (Instant::now(), Instant::now() + time);
    let held = Held::default();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|number| {
                let (servers, held) = ([&primary, &replica], &held);
                scope.spawn(move || client(servers, number, end, held))
            })
            .collect();
        let until = |part: f64| thread::sleep((start + time.mul_f64(part)).saturating_duration_since(Instant::now()));
        until(0.3);
        assert!(reply(&mut primary.connect(), "BGREWRITEAOF").contains("started"));
        until(0.5);
        expect(&mut primary.connect(), &format!("FAILOVER TO 127.0.0.1 {} TIMEOUT 20000", replica.port()), "+OK");
        wait_until(|| replica.info("role") == "master");
        until(0.7);
        assert!(reply(&mut replica.connect(), "BGREWRITEAOF").contains("started"));
        let mut con = replica.connect();
        let mut lost = 0;
        for (number, client) in clients.into_iter().enumerate() {
            let (promised, in_doubt) = client.join().expect("no client fails");
            let score = reply(&mut con, &format!("RANK.SCORE counters client{number}"));
            let there: u64 =
                score.trim_start_matches('[').split(',').next().and_then(|text| text.parse().ok()).unwrap_or(0);
            lost += promised.saturating_sub(there);
            assert!(
                there <= promised + in_doubt,
                "client {number}: {there} counted, {promised} promised, {in_doubt} in doubt"
            );
        }
        println!(
            "{kind:?}: {:.0} s, {CONNECTIONS} connections, {} calls, {} errors a client can expect, {} turned away by the failover, {lost} writes lost",
            time.as_secs_f64(), held.calls.load(Ordering::Relaxed), held.errors.load(Ordering::Relaxed), held.turned_away.load(Ordering::Relaxed)
        );
        assert_eq!(lost, 0);
    });
    check_boards(&mut replica.connect(), false);
    primary.wait_for_sync(&replica);
    let ours = snapshot(&mut replica.connect());
    assert_same(&ours, &snapshot(&mut primary.connect()), "the former primary");
    wait_until(|| plain.info("master_link_status") == "up");
    plain.wait_for_sync(&primary);
    assert_same(&ours, &snapshot(&mut plain.connect()), "the replica without the module");
    println!("{kind:?}: {} keys, the same on three servers; every board is whole", ours.len());
}
