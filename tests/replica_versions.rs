//! A rolling upgrade of the servers: replicas that are newer than their primary, and take over from it.

use std::path::{Path, PathBuf};

use crate::support::*;
use crate::workload::{assert_same, check_boards, snapshot, Workload};

/// The oldest and the newest server of a kind that are here.
fn oldest_and_newest(kind: Kind) -> [(PathBuf, (u32, u32)); 2] {
    let version = |program: &Path| Server::builder(kind).program(program.into()).without_module().start().version();
    let mut all: Vec<(PathBuf, (u32, u32))> =
        kind.programs().into_iter().map(|program| (program.clone(), version(&program))).collect();
    all.sort_by_key(|(_, version)| *version);
    [all[0].clone(), all[all.len() - 1].clone()]
}

on_every_server! {
    fn a_newer_replica_has_the_same_and_takes_over(kind: Kind) {
        let [(old, old_version), (new, new_version)] = oldest_and_newest(kind);
        if old_version == new_version {
            return skip(module_path!(), &format!("{kind:?} {old_version:?} is the only version here (`make test-servers` fetches others)"));
        }
        println!("{kind:?} {old_version:?} -> {new_version:?}");
        let primary = Server::builder(kind).program(old).tcp().start();
        let mut con = primary.connect();
        let mut workload = Workload::new(&mut con, 31, "p.");
        workload.set_up(&mut con);
        (0..1500).for_each(|_| workload.step(&mut con));
        // What is there already comes as a snapshot, what is written from now on as commands.
        let replica = Server::builder(kind).program(new).tcp().replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        (0..1500).for_each(|_| workload.step(&mut con));
        for (line, expected) in [("DUE.ADD q AT 1 job other", "2"), ("RATE.CHECK limit.l 5/1h", "[0, 5, 4, 0, 3600000, 1]"), ("RATE.CHECK limit.g 5/1h GCRA", "[0, 5, 4, 0, 720000, 1]")] {
            expect(&mut con, line, expected);
        }
        let claimed = reply(&mut con, "DUE.CLAIM q LEASE 1h");
        let token = claimed.split(", ").nth(1).expect("a token").to_owned();
        let lease = reply(&mut con, "RATE.ACQUIRE lock 1 1h");
        let lock = lease.rsplit(' ').next().expect("a token").trim_end_matches(']').to_owned();
        replica.wait_for_sync(&primary);
        let ours = snapshot(&mut con);
        assert_same(&ours, &snapshot(&mut replica.connect()), "the newer replica");

        // The new server goes on where the old one was: with its boards, tokens and limits.
        drop(primary);
        let mut con = replica.connect();
        expect(&mut con, "REPLICAOF NO ONE", "+OK");
        expect(&mut con, &format!("DUE.ACK q {token} job"), "1");
        assert!(reply(&mut con, "RATE.ACQUIRE lock 1 1h").starts_with("[1, 1, 0, "));
        expect(&mut con, &format!("RATE.RELEASE lock {lock}"), "1");
        for limiter in ["RATE.CHECK limit.l 5/1h", "RATE.CHECK limit.g 5/1h GCRA"] {
            assert!(reply(&mut con, limiter).starts_with("[0, 5, 3, 0, "), "{limiter}");
        }
        (0..500).for_each(|_| workload.step(&mut con));
        check_boards(&mut con, true);
    }
}
