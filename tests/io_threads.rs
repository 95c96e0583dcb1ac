//! Servers whose replies and requests pass through threads of their own.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::thread;

use redis::Value;

use crate::support::*;
use crate::workload::check_boards;

const CLIENTS: usize = 16;
const ROUNDS: usize = 20;
const BATCH: usize = 50;
const LIMIT: i64 = 2_000;

/// Threads for input and output, also where the server would find that it has too little to do for them.
fn start(kind: Kind) -> Server {
    let threads = Server::builder(kind).config("io-threads 3");
    let more = match kind {
        Kind::Redis => "io-threads-do-reads yes",
        Kind::Valkey => "events-per-io-thread 0",
    };
    threads.clone().config(more).try_start().unwrap_or_else(|_| threads.start())
}

on_every_server! {
    fn many_clients_at_once_are_told_the_truth(kind: Kind) {
        let server = start(kind);
        expect(&mut server.connect(), "CONFIG GET io-threads", r#"["io-threads", "3"]"#);
        expect(&mut server.connect(), "RANK.CREATE b FIELD n INT TIES FIRST KEEP 1000", "+OK");
        let (allowed, popped) = (AtomicI64::new(0), AtomicUsize::new(0));
        let items = CLIENTS * ROUNDS;
        let got = thread::scope(|scope| {
            // Half of them wait for what the others add.
            let waiters: Vec<_> = (0..CLIENTS).map(|_| {
                let (mut con, popped) = (server.connect(), &popped);
                scope.spawn(move || {
                    let mut got = Vec::new();
                    while popped.load(Ordering::Relaxed) < items {
                        let Ok(Value::Array(rows)) = cmd(&mut con, "DUE.POP q COUNT 3 BLOCK 100ms") else { panic!("no rows") };
                        popped.fetch_add(rows.len(), Ordering::Relaxed);
                        got.extend(rows.iter().map(show));
                    }
                    got
                })
            }).collect();
            for client in 0..CLIENTS {
                let (mut con, allowed) = (server.connect(), &allowed);
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let mut pipeline = redis::pipe();
                        for _ in 0..BATCH {
                            pipeline.cmd("RANK.INCR").arg(&["b", "1", "all"]).ignore();
                            pipeline.cmd("RATE.CHECK").arg(&["limit", &LIMIT.to_string(), "1h", "GCRA"]);
                        }
                        pipeline.cmd("RANK.TOPN").arg(&["b", "100", "WITHTIME"]).ignore();
                        let verdicts: Vec<Vec<i64>> = pipeline.query(&mut con).expect("verdicts");
                        assert_eq!(verdicts.len(), BATCH);
                        allowed.fetch_add(verdicts.iter().filter(|verdict| verdict[0] == 0).count() as i64, Ordering::Relaxed);
                        expect(&mut con, &format!("RANK.ADD b {round} {client}-{round}"), "1");
                        expect(&mut con, &format!("DUE.ADD q IN 10ms {client}-{round}"), "1");
                    }
                });
            }
            waiters.into_iter().flat_map(|waiter| waiter.join().expect("no waiter fails")).collect::<Vec<String>>()
        });
        let mut con = server.connect();
        expect(&mut con, "RANK.SCORE b all", &(CLIENTS * ROUNDS * BATCH).to_string());
        // The bucket was refilled a little meanwhile: less than one unit a second.
        let allowed = allowed.load(Ordering::Relaxed);
        assert!((LIMIT..LIMIT + 60).contains(&allowed), "{allowed} of {LIMIT}");
        assert_eq!((got.len(), got.iter().collect::<BTreeSet<_>>().len()), (items, items));
        check_boards(&mut con, false);
        let [reads, writes] = server.infos(["io_threaded_reads_processed", "io_threaded_writes_processed"]);
        println!("{kind:?}: {reads} reads and {writes} writes by threads");
        assert!(reads != "0" || writes != "0", "no thread did anything");
    }
}
