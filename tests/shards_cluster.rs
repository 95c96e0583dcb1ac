//! Shards on a real cluster: answers are exact under load, while slots move and while a primary dies, and nothing that was
//! acknowledged by a replica is lost.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;

use crate::cluster::{check, reshard};
use crate::script::Dice;
use crate::shards_exact::{check_answers, Climbers, CLIMBERS};
use crate::support::shards::{crc16, keys_of};
use crate::support::*;

const SHARDS: usize = 16;
const SCHEMA: &str = "FIELD a INT";
const WRITERS: usize = 2;

/// Nobody is to take over because a busy machine kept a primary waiting.
fn start(kind: Kind) -> Cluster {
    Cluster::start_with(kind, true, |builder| builder.config("cluster-node-timeout 30000"))
}

/// Makes the shards, with everybody where they start.
#[track_caller]
fn create(cluster: &Cluster, climbers: &Climbers) -> Vec<String> {
    let mut client = cluster.client();
    let keys = keys_of(&mut client, "many", SHARDS);
    let keys: Vec<String> = keys.into_iter().map(|key| String::from_utf8(key).expect("a name")).collect();
    for (shard, key) in keys.iter().enumerate() {
        assert_eq!(client.line(&format!("RANK.CREATE {key} {SCHEMA} SHARD {shard} {SHARDS}")), "+OK");
    }
    for (score, member) in climbers.first_writes() {
        let key = &keys[crc16(&member) % SHARDS];
        assert_eq!(client.send(&[b"RANK.ADD", key.as_bytes(), score.to_string().as_bytes(), &member]), "1");
    }
    for node in cluster.nodes.iter().filter(|node| node.info("role") == "slave") {
        let primary = cluster.nodes.iter().find(|primary| primary.port().to_string() == node.info("master_port"));
        node.wait_for_sync(primary.expect("a primary"));
    }
    keys
}

/// Clients that write, and one that asks for everything and judges it.
struct Load {
    stop: Arc<AtomicBool>,
    /// Rounds of questions that were answered.
    answered: Arc<AtomicU64>,
    reader: thread::JoinHandle<usize>,
    writers: Vec<thread::JoinHandle<u64>>,
}

impl Load {
    fn start(cluster: &Cluster, keys: &[String], climbers: &Arc<Climbers>) -> Load {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let writers = (0..WRITERS).map(|writer| {
            let (climbers, stop, keys, mut client) = (climbers.clone(), stop.clone(), keys.to_vec(), cluster.client());
            thread::spawn(move || {
                let mut dice = Dice::new(writer as u64);
                let mut acknowledged = 0;
                while !stop.load(Ordering::Relaxed) {
                    let at = dice.roll(CLIMBERS / WRITERS) * WRITERS + writer;
                    climbers.step(at, &mut dice, &mut |score, member| {
                        let key = &keys[crc16(member) % SHARDS];
                        let answer = client.send(&[b"RANK.ADD", key.as_bytes(), score.to_string().as_bytes(), member]);
                        assert!(["0", "1"].contains(&answer.as_str()), "{answer}");
                        let is_certain = client.is_replicated();
                        acknowledged += u64::from(is_certain);
                        is_certain
                    });
                }
                acknowledged
            })
        });
        let writers = writers.collect();
        let (climbers, stopped, done, mut client) =
            (climbers.clone(), stop.clone(), answered.clone(), cluster.client());
        let reader = thread::spawn(move || {
            let mut dice = Dice::new(99);
            while !stopped.load(Ordering::Relaxed) {
                check_answers(&mut client, "many", SCHEMA, &climbers, &mut dice);
                done.fetch_add(1, Ordering::Relaxed);
            }
            client.tried_again
        });
        Load { stop, answered, reader, writers }
    }

    /// Waits until so many more questions were answered, or nobody answers any more.
    #[track_caller]
    fn wait_for_answers(&self, more: u64) {
        let goal = self.answered.load(Ordering::Relaxed) + more;
        wait_until(|| self.answered.load(Ordering::Relaxed) >= goal || self.reader.is_finished());
    }

    #[track_caller]
    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        let tried_again = self.reader.join().expect("the reader was told nothing wrong");
        let writers = self.writers.into_iter().map(|writer| writer.join().expect("no writer fails"));
        let acknowledged: u64 = writers.sum();
        assert!(acknowledged > 0, "no write was acknowledged");
        let answered = self.answered.load(Ordering::Relaxed);
        println!("{answered} rounds of questions, {acknowledged} acknowledged writes, {tried_again} tries again");
    }
}

on_every_server! {
    fn answers_are_exact_while_slots_move(kind: Kind) {
        let cluster = start(kind);
        let climbers = Arc::new(Climbers::new());
        let keys = create(&cluster, &climbers);
        let load = Load::start(&cluster, &keys, &climbers);
        load.wait_for_answers(1);
        for key in [&keys[0], &keys[5], &keys[0], &keys[11]] {
            reshard(&cluster, key);
        }
        load.wait_for_answers(1);
        load.end();
        climbers.check(&mut cluster.client(), "many", SCHEMA);
        check(&cluster);
    }

    fn nothing_acknowledged_is_lost_when_a_primary_dies(kind: Kind) {
        let mut cluster = start(kind);
        let climbers = Arc::new(Climbers::new());
        let keys = create(&cluster, &climbers);
        let slot = cluster.slot_of(&keys[3]);
        let load = Load::start(&cluster, &keys, &climbers);
        load.wait_for_answers(1);
        cluster.fail_over(slot);
        load.wait_for_answers(1);

        cluster.wait_for_replicas();
        let old = cluster.owner(slot).port();
        let at = cluster.nodes.iter().position(|node| node.port() == old).expect("the owner");
        let replica = cluster.replica_of(slot);
        for node in &cluster.nodes {
            expect(&mut node.connect(), "CONFIG SET cluster-node-timeout 2000", "+OK");
        }
        cluster.nodes[at].kill9();
        let mut con = cluster.nodes[replica].connect();
        wait_until(|| reply(&mut con, "ROLE").contains("master"));
        wait_until(|| reply(&mut con, "CLUSTER INFO").contains("cluster_state:ok"));
        // Nobody else is to be taken for dead from now on.
        for node in cluster.nodes.iter().filter(|node| node.port() != old) {
            expect(&mut node.connect(), "CONFIG SET cluster-node-timeout 30000", "+OK");
        }
        load.wait_for_answers(2);
        cluster.restart(at);
        wait_until(|| cluster.nodes[at].info("role") == "slave");
        cluster.wait_until_whole();
        load.wait_for_answers(1);
        load.end();
        climbers.check(&mut cluster.client(), "many", SCHEMA);
        check(&cluster);
    }
}
