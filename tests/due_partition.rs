//! DUE: in a partition of a cluster, the minority hands out nothing once it says `CLUSTERDOWN`, and the majority does not
//! hand out again what had reached it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::support::*;

/// How many partitions; `make test-servers` asks for more.
fn rounds() -> usize {
    std::env::var("RANK_PARTITION_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3)
}

/// A time is as the server has it: Unix milliseconds.
fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis() as i64
}

fn short_timeout(builder: Builder) -> Builder {
    builder.config("cluster-node-timeout 2000").config("cluster-replica-validity-factor 0")
}

/// One every so many milliseconds.
const EVERY_MS: i64 = 25;
const ITEMS: i64 = 2000;

fn items_of(rows: &redis::Value) -> BTreeMap<String, i64> {
    let rows: Vec<(String, i64)> = redis::from_redis_value(rows.clone()).expect("rows");
    rows.into_iter().collect()
}

/// Cuts off the primary of a slot, and lets the others go on without it.
fn partition(cluster: &Cluster, key: &str) {
    let slot = cluster.slot_of(key);
    let replica = &cluster.nodes[cluster.replica_of(slot)];
    let primary = cluster.owner(slot);
    let others: Vec<&Server> = cluster.nodes.iter().filter(|node| node.port() != primary.port()).collect();
    let mut con = primary.connect();
    let start = now();
    for from in (0..ITEMS).step_by(100) {
        let mut pipeline = redis::pipe();
        for i in from..from + 100 {
            let item = format!("i{i}");
            pipeline.cmd("DUE.ADD").arg(&[key, "AT", &(start + i * EVERY_MS).to_string(), &item]);
        }
        let _: Vec<i64> = pipeline.query(&mut con).expect("new items");
    }
    // Several clients wait, and wait again, until they are told that the cluster is down.
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let (mut con, key) = (primary.connect(), key.to_owned());
            std::thread::spawn(move || {
                let mut got = BTreeMap::new();
                loop {
                    match cmdv(&mut con, &["DUE.POP", &key, "BLOCK", "0"]) {
                        Ok(rows) => got.extend(items_of(&rows)),
                        error => return (got, show_result(&error)),
                    }
                }
            })
        })
        .collect();
    wait_until(|| reply(&mut con, &format!("ZCARD {key}")).parse::<i64>().expect("a number") < ITEMS - 20);
    // The replica has all that was popped so far, and gets nothing more.
    let left = reply(&mut con, &format!("ZRANGE {key} 0 -1"));
    assert_eq!(reply(&mut con, "WAIT 1 10000"), "1");
    for node in &others {
        node.signal(libc::SIGSTOP);
    }
    wait_until(|| reply(&mut con, &format!("DUE.POP {key}.none")).starts_with("CLUSTERDOWN"));
    let down = now();
    let mut delivered = BTreeMap::new();
    for worker in workers {
        let (got, error) = worker.join().expect("a worker");
        assert!(error.starts_with("CLUSTERDOWN"), "{error}");
        for (item, due) in got {
            assert!(due <= down, "{item} was due {} ms after the node said CLUSTERDOWN", due - down);
            assert_eq!(delivered.insert(item, due), None);
        }
    }
    // Nor does anybody who begins to wait now.
    for _ in 0..100 {
        let got = reply(&mut con, &format!("DUE.POP {key} BLOCK 0"));
        assert!(got.starts_with("CLUSTERDOWN"), "{got}");
    }
    // Now the majority is all there is, and elects a primary.
    primary.signal(libc::SIGSTOP);
    for node in &others {
        node.signal(libc::SIGCONT);
    }
    wait_until(|| replica.info("role") == "master");
    let mut elected = replica.connect();
    let mut again = BTreeMap::new();
    let last = start + ITEMS * EVERY_MS;
    wait_until(|| match cmdv(&mut elected, &["DUE.POP", key, "COUNT", "10000", "NOW", &last.to_string()]) {
        Ok(rows) => {
            let rows = items_of(&rows);
            let done = rows.is_empty();
            again.extend(rows);
            done
        }
        // Until all slots are served.
        Err(_) => false,
    });
    let replicated: BTreeSet<&String> =
        delivered.keys().filter(|item| !left.contains(&format!("\"{item}\""))).collect();
    assert!(replicated.len() >= 20, "only {} were popped before the partition", replicated.len());
    let twice: Vec<_> = replicated.iter().filter(|item| again.contains_key(**item)).collect();
    assert!(twice.is_empty(), "delivered twice: {twice:?}");
    let all: BTreeSet<&String> = delivered.keys().chain(again.keys()).collect();
    assert_eq!(all.len() as i64, ITEMS, "something was lost");
    println!(
        "{} on one side, {} on the other, {} on both",
        delivered.len(),
        again.len(),
        delivered.len() + again.len() - all.len()
    );
    primary.signal(libc::SIGCONT);
    cluster.wait_until_whole();
    cluster.wait_for_replicas();
}

on_every_server! {
    /// Each primary of a cluster is cut off once: until votes are forgotten, a second election may fail (redis#8752).
    fn nothing_is_delivered_on_both_sides_of_a_partition(kind: Kind) {
        let mut left = rounds();
        while left > 0 {
            let cluster = Cluster::start_with(kind, true, short_timeout);
            // Keys with a hash tag, one in the slots of each primary.
            let mut keys = BTreeMap::new();
            for key in (0..100).map(|i| format!("{{q{i}}}")) {
                keys.entry(usize::from(cluster.slot_of(&key)) * 3 / 16384).or_insert(key);
            }
            for key in keys.values().take(left) {
                partition(&cluster, key);
            }
            left = left.saturating_sub(keys.len());
        }
    }
}
