//! Replicas, with the module and without: the same keys byte by byte after any workload, and nothing
//! lost that a replica had acknowledged when it is promoted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;

use redis::{Connection, Value};

use crate::script::script;
use crate::support::*;
use crate::workload::{assert_same, assert_same_bytes, check_boards, snapshot, Workload};

/// Steps of the random workload: enough that every command comes in every state.
const STEPS: usize = 1500;

const BOARDS: [&str; 3] = ["plain", "spilled", "timed"];

/// Writers, one on each board, that go on until their server is a primary no more. The score is how often the loop went
/// round: what was acknowledged is the highest one that `WAIT` saw at the replica.
struct Load {
    writers: Vec<thread::JoinHandle<i64>>,
    stop: Arc<AtomicBool>,
}

impl Load {
    /// Comes back when the replica has seen some rounds of each.
    #[track_caller]
    fn start(primary: &Server, replica: &Server) -> Load {
        replica.wait_for_sync(primary);
        script(
            &mut primary.connect(),
            "RANK.CREATE plain => +OK\n RANK.CREATE spilled FIELD a INT FIELD b INT => +OK\n RANK.CREATE timed FIELD a INT TIES FIRST => +OK",
        );
        let stop = Arc::new(AtomicBool::new(false));
        let writers = BOARDS.map(|board| {
            let (mut con, stop) = (primary.connect(), stop.clone());
            let fields = if board == "spilled" { 2 } else { 1 };
            thread::spawn(move || {
                let mut acknowledged = 0;
                for round in 1.. {
                    let score = format!("{round} ").repeat(fields);
                    let write = reply(&mut con, &format!("RANK.ADD {board} {score} w"));
                    let data = reply(&mut con, &format!("RANK.SETDATA {board} w round {round}"));
                    let lost = |answer: &str| answer.contains("READONLY") || answer.starts_with("CLIENT");
                    if lost(&write) || lost(&data) || stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let known = ["0", "1"];
                    assert!(known.contains(&write.as_str()) && known.contains(&data.as_str()), "{write} {data}");
                    match cmd(&mut con, "WAIT 1 5000") {
                        Ok(Value::Int(1)) => acknowledged = round,
                        _ => break,
                    }
                }
                acknowledged
            })
        });
        wait_until(|| {
            let mut con = replica.connect();
            // Two digits, ten rounds.
            BOARDS.iter().all(|board| reply(&mut con, &format!("RANK.GETDATA {board} w round")).len() > 5)
        });
        Load { writers: writers.into(), stop }
    }

    /// Compares what the writers were told with what is there.
    #[track_caller]
    fn check(self, con: &mut Connection) {
        self.stop.store(true, Ordering::Relaxed);
        for (board, writer) in BOARDS.iter().zip(self.writers) {
            let acknowledged: i64 = writer.join().expect("no writer fails");
            let row = show_result(&cmdv(con, &["RANK.GET", board, "w", "WITHDATA", "JSON"]));
            let number =
                |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>().parse::<i64>().unwrap_or(0);
            let round = number(&reply(con, &format!("RANK.GETDATA {board} w round")));
            assert!(
                acknowledged > 0 && round >= acknowledged,
                "{board}: {acknowledged} acknowledged, {round} there: {row}"
            );
            let score = number(reply(con, &format!("RANK.SCORE {board} w")).split(',').next().unwrap_or_default());
            assert!(score >= acknowledged, "{board}: {acknowledged} acknowledged, score {score}");
        }
        check_boards(con, false);
    }
}

on_every_server! {
    fn replicas_end_with_the_same_bytes(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        let mut con = primary.connect();
        let mut workload = Workload::new(&mut con, 60, "");
        for command in workload.create_boards() {
            expect(&mut con, &command, "+OK");
        }
        // One is there from the start, one comes in the middle and gets a snapshot.
        let plain = Server::builder(kind).without_module().replica_of(&primary).start();
        plain.wait_for_sync(&primary);
        for _ in 0..STEPS {
            workload.step(&mut con);
        }
        let equal = Server::builder(kind).config("repl-diskless-load swapdb").replica_of(&primary).start();
        equal.wait_for_sync(&primary);
        for _ in 0..STEPS {
            workload.step(&mut con);
        }
        // What the keeper still has to do is done once no companion is without its board.
        wait_until(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check_boards(&mut primary.connect(), true))).is_ok());
        plain.wait_for_sync(&primary);
        equal.wait_for_sync(&primary);
        let ours = snapshot(&mut con);
        assert_same_bytes(&ours, &snapshot(&mut plain.connect()), "the replica without the module");
        assert_same(&ours, &snapshot(&mut equal.connect()), "the replica with the module");
        // The one with the module answers as the primary does, companions included.
        let mut replica = equal.connect();
        for key in ["plain", "bounded", "packed", "timed", "wide", "spilled", "late", "joined"] {
            for read in ["RANK.TOPN KEY 99 WITHDATA", "RANK.GET KEY m1 WITHDATA", "RANK.INFO KEY", "RANK.GETDATA KEY m2", "RANK.STATS KEY"] {
                let read = read.replace("KEY", key);
                let expected = reply(&mut con, &read);
                expect(&mut replica, &read, &expected);
            }
        }
        for write in ["RANK.SETDATA plain m1 a b", "RANK.DELDATA plain m1", "RANK.VERIFY spilled", "RANK.VERIFY spilled REPAIR"] {
            expect(&mut replica, write, "READONLY You can't write against a read only replica.");
        }
    }

    fn a_replica_never_drops_or_mends_by_itself(kind: Kind) {
        let primary = Server::builder(kind).without_module().tcp().start();
        let mut con = primary.connect();
        // The primary has no module: nobody tends these.
        script(&mut con, "HSET rank:data:{gone} id 0123456789abcdef :x {} => 2\n ZADD b 1 x => 1");
        let replica = Server::builder(kind).config("hz 100").replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        script(&mut con, "HSET rank:data:{b} id 0123456789abcdef :x {} => 2\n DEL b => 1");
        replica.wait_for_sync(&primary);
        let rounds = |server: &Server| server.info("uptime_in_seconds").parse::<u64>().expect("seconds");
        let start = rounds(&replica);
        wait_until(|| rounds(&replica) > start);
        assert_same(&snapshot(&mut con), &snapshot(&mut replica.connect()), "the replica");
        // Once it is the primary itself, it does.
        expect(&mut replica.connect(), "REPLICAOF NO ONE", "+OK");
        wait_until(|| reply(&mut replica.connect(), "DBSIZE") == "0");
    }

    fn a_failover_under_load_loses_nothing_that_was_acknowledged(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        let replica = Server::builder(kind).tcp().replica_of(&primary).start();
        let load = Load::start(&primary, &replica);
        expect(&mut primary.connect(), &format!("FAILOVER TO 127.0.0.1 {} TIMEOUT 20000", replica.port()), "+OK");
        wait_until(|| replica.info("role") == "master" && primary.info("role") == "slave");
        let mut con = replica.connect();
        load.check(&mut con);
        primary.wait_for_sync(&replica);
        assert_same(&snapshot(&mut con), &snapshot(&mut primary.connect()), "the former primary");
        // And back to writing.
        script(&mut con, "RANK.ADD spilled 1000000000 1 z => 1\n RANK.GET spilled z => [1, \"z\", 1000000000, 1]");
    }

    fn a_replica_that_takes_over_from_a_dead_primary_has_all_that_was_acknowledged(kind: Kind) {
        let mut primary = Server::builder(kind).tcp().start();
        let replica = Server::builder(kind).tcp().replica_of(&primary).start();
        let load = Load::start(&primary, &replica);
        primary.kill9();
        let mut con = replica.connect();
        expect(&mut con, "REPLICAOF NO ONE", "+OK");
        load.check(&mut con);
        // It is the one who cleans up now.
        script(&mut con, "RANK.ADD spilled 1000000000 1 z => 1\n DEL spilled => 1");
        wait_until(|| reply(&mut con, "EXISTS rank:members:{spilled} rank:data:{spilled}") == "0");
    }
}
