//! Shards on a real cluster: answers are exact under load, while slots move and while a primary dies, and nothing that was
//! acknowledged by a replica is lost.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;

use crate::cluster::{check, reshard};
use crate::shards::key_of;
use crate::shards_exact::judge;
use crate::support::programs::url;
use crate::support::*;

const SHARDS: usize = 16;

/// Nobody is to take over because a busy machine kept a primary waiting.
fn start(kind: Kind) -> Cluster {
    Cluster::start_with(kind, true, |builder| builder.config("cluster-node-timeout 30000"))
}

/// The program that writes and judges, and the lines that it prints.
struct Judge {
    child: Child,
    answers: mpsc::Receiver<String>,
}

impl Judge {
    fn start(cluster: &Cluster) -> Option<Judge> {
        let mut command = judge(&url(&cluster.nodes[0]), &["meanwhile", "0", "--cluster"])?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Python");
        let (sender, answers) = mpsc::channel();
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Some(Judge { child, answers })
    }

    /// Waits until so many more rounds of questions were answered, each as it should be.
    #[track_caller]
    fn wait_for_answers(&self, more: usize) {
        for _ in 0..more {
            let line = self.answers.recv_timeout(4 * deadline()).expect("an answer that is right: see above");
            assert!(line.starts_with("answered "), "{line}");
        }
    }

    /// It looks whether anything was lost that a replica had.
    #[track_caller]
    fn end(mut self) {
        drop(self.child.stdin.take());
        let last = self.answers.iter().last();
        assert!(self.child.wait().expect("Python").success(), "something was wrong: see above");
        assert!(last.as_ref().is_some_and(|line| line.starts_with("done: ")), "{last:?}");
    }
}

/// Also if the test fails.
impl Drop for Judge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

on_every_server! {
    fn answers_are_exact_while_slots_move(kind: Kind) {
        let cluster = start(kind);
        let Some(load) = Judge::start(&cluster) else { return };
        load.wait_for_answers(1);
        for shard in [0, 5, 0, 11] {
            reshard(&cluster, &key_of("many", shard, SHARDS));
        }
        load.wait_for_answers(1);
        load.end();
        check(&cluster);
    }

    fn nothing_acknowledged_is_lost_when_a_primary_dies(kind: Kind) {
        let mut cluster = start(kind);
        let slot = cluster.slot_of(&key_of("many", 3, SHARDS));
        let Some(load) = Judge::start(&cluster) else { return };
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
        check(&cluster);
    }
}
