//! Replicas, with the module and without: the same keys byte by byte after any workload, whenever they attach, and
//! nothing lost that one had acknowledged when it is promoted. (What exactly is sent: effects. Restarts: restarts.)

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;

use redis::{Connection, Value};

use crate::script::{script, Dice};
use crate::support::codes::entries_of;
use crate::support::*;
use crate::workload::{assert_same, assert_same_bytes, check_boards, snapshot, Workload};

/// Steps of the random workload: enough that every command comes in every state.
const STEPS: usize = 1500;

const BOARDS: [&str; 3] = ["plain", "spilled", "timed"];

/// Every command that writes, on the boards of a workload.
const WRITES: &[&str] = &[
    "RANK.CREATE x",
    "RANK.ALTER plain KEEP 9",
    "RANK.CLEAR plain",
    "RANK.ROTATE plain x",
    "RANK.ADD plain 1 a",
    "RANK.ADD plain DATA {} 1 a",
    "RANK.MULTISET plain 1 a",
    "RANK.INCR plain 1 a",
    "RANK.REM plain a",
    "RANK.TRIM plain 1",
    "RANK.POP plain",
    "RANK.LOAD plain {\"member\":\"a\",\"score\":1}",
    "RANK.SETDATA plain m1 a b",
    "RANK.PUTDATA plain m1 {}",
    "RANK.DELDATA plain m1",
    "RANK.VERIFY spilled",
    "RANK.VERIFY spilled REPAIR",
    "RATE.CHECK limit 5/1m",
    "RATE.RESET limit",
];

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
            "RANK.CREATE plain DATA h => +OK\n RANK.CREATE spilled FIELD a INT FIELD b INT DATA sh OWNED => +OK\n \
             RANK.CREATE timed FIELD a INT TIES FIRST DATA th => +OK",
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
            let round = |board: &str| reply(&mut con, &format!("RANK.GETDATA {board} w round"));
            // Two digits, ten rounds.
            BOARDS.map(round).iter().all(|round| round.starts_with("[\"") && round.len() > 5)
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

/// Random writes of every kind by some clients at once, until they are told to stop.
struct Traffic {
    writers: Vec<thread::JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
}

impl Traffic {
    fn start(server: &Server, seed: u64) -> Traffic {
        let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let writers = (0..2).map(|writer| {
            let (mut con, stop, done) = (server.connect(), stop.clone(), done.clone());
            // Each has boards of its own: two that create and delete the same ones meet each other's.
            let mut workload = Workload::new(&mut con, seed * 10 + writer, &format!("p{writer}."));
            thread::spawn(move || {
                workload.set_up(&mut con);
                while !stop.load(Ordering::Relaxed) {
                    workload.step(&mut con);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        Traffic { writers: writers.collect(), stop, done }
    }

    #[track_caller]
    fn wait_for(&self, more: u64) {
        let goal = self.done.load(Ordering::Relaxed) + more;
        wait_until(|| {
            self.done.load(Ordering::Relaxed) >= goal || self.writers.iter().any(thread::JoinHandle::is_finished)
        });
    }

    #[track_caller]
    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.writers.into_iter().for_each(|writer| writer.join().expect("no writer fails"));
    }
}

/// A listener that attaches to a server in the middle of its traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listener {
    Diskless,
    OnDisk,
    Aof,
    AofOffAndOn,
    BehindASave,
}

fn attach(listener: Listener, primary: &Server, replica: &Server) {
    let mut con = primary.connect();
    let follow = format!("REPLICAOF 127.0.0.1 {}", primary.port());
    match listener {
        Listener::Diskless | Listener::OnDisk | Listener::BehindASave => {
            let diskless = if listener == Listener::Diskless { "yes" } else { "no" };
            expect(&mut con, &format!("CONFIG SET repl-diskless-sync {diskless}"), "+OK");
            if listener == Listener::BehindASave {
                assert!(reply(&mut con, "BGSAVE").starts_with("+Background"));
            }
            expect(&mut replica.connect(), &follow, "+OK");
        }
        Listener::Aof => expect(&mut con, "CONFIG SET appendonly yes", "+OK"),
        Listener::AofOffAndOn => {
            for turn in ["yes", "no", "yes"] {
                expect(&mut con, &format!("CONFIG SET appendonly {turn}"), "+OK");
            }
        }
    }
}

on_every_server! {
    fn replicas_end_with_the_same_bytes(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        let mut con = primary.connect();
        let mut workload = Workload::new(&mut con, 60, "");
        workload.set_up(&mut con);
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
        workload.check_reach();
        check_boards(&mut con, false);
        plain.wait_for_sync(&primary);
        equal.wait_for_sync(&primary);
        let ours = snapshot(&mut con);
        assert_same_bytes(&ours, &snapshot(&mut plain.connect()), "the replica without the module");
        assert_same(&ours, &snapshot(&mut equal.connect()), "the replica with the module");
        let digests = [&primary, &plain, &equal].map(|server| reply(&mut server.connect(), "DEBUG DIGEST"));
        assert!(digests.iter().all(|digest| digest == &digests[0]), "{digests:?}");
        // The one with the module answers as the primary does, attributes included.
        let mut replica = equal.connect();
        for key in workload.generator.boards() {
            for read in [
                "RANK.TOPN KEY 99 WITHDATA", "RANK.GET KEY m1 WITHDATA", "RANK.INFO KEY", "RANK.GETDATA KEY m2", "RANK.STATS KEY", "RANK.QUERY KEY m3 WITHDATA JSON",
                "RANK.COUNT KEY", "RANK.PAGE KEY 1 2", "RANK.AROUND KEY m4 2", "RANK.SCORE KEY m5", "RANK.PERCENTILE KEY m6",
            ] {
                let read = read.replace("KEY", &key);
                let expected = reply(&mut con, &read);
                expect(&mut replica, &read, &expected);
            }
        }
        for write in WRITES {
            expect(&mut replica, write, "READONLY You can't write against a read only replica.");
        }
    }

    /// Nobody listens, and the module may know it: whoever comes then, in the middle of any traffic, misses nothing and
    /// gets nothing twice.
    fn a_listener_that_attaches_at_any_moment_ends_with_the_same_data(kind: Kind) {
        let replica = Server::builder(kind).start();
        let mut dice = Dice::new(90);
        for (round, first) in [Listener::Diskless, Listener::Aof, Listener::OnDisk, Listener::BehindASave, Listener::AofOffAndOn, Listener::Diskless].into_iter().enumerate() {
            let mut primary = Server::builder(kind).tcp().config("appendfsync no").config("repl-backlog-ttl 1").start();
            let traffic = Traffic::start(&primary, 90 + round as u64);
            traffic.wait_for(100 + dice.roll(900) as u64);
            attach(first, &primary, &replica);
            // Another one while the first is still on its way, or later.
            traffic.wait_for(dice.roll(400) as u64);
            let second = if matches!(first, Listener::Aof | Listener::AofOffAndOn) { Listener::OnDisk } else { Listener::Aof };
            attach(second, &primary, &replica);
            traffic.wait_for(dice.roll(400) as u64);
            let mut con = primary.connect();
            primary.wait_for_aof_rewrite();
            wait_until(|| replica.info("master_link_status") == "up");
            traffic.wait_for(200);
            traffic.end();
            check_boards(&mut con, false);
            replica.wait_for_sync(&primary);
            let (ours, digest) = (snapshot(&mut con), reply(&mut con, "DEBUG DIGEST"));
            assert_same(&ours, &snapshot(&mut replica.connect()), &format!("the replica, {first:?}"));
            expect(&mut replica.connect(), "DEBUG DIGEST", &digest);
            // Alone again, as another server next time.
            script(&mut replica.connect(), "REPLICAOF NO ONE => +OK\n FLUSHALL => +OK");
            primary.kill9();
            primary.restart_with(Builder::appendonly);
            assert_same(&ours, &snapshot(&mut primary.connect()), &format!("the server after a restart, {first:?}"));
            expect(&mut primary.connect(), "DEBUG DIGEST", &digest);
        }
    }

    /// The last listener goes, writes go on, and the next one comes.
    fn a_listener_that_comes_back_misses_nothing(kind: Kind) {
        let primary = Server::builder(kind).tcp().config("repl-backlog-ttl 1").start();
        let replica = Server::builder(kind).start();
        let traffic = Traffic::start(&primary, 70);
        let mut dice = Dice::new(70);
        for round in 0..3 {
            traffic.wait_for(100 + dice.roll(300) as u64);
            attach([Listener::Diskless, Listener::OnDisk, Listener::BehindASave][round], &primary, &replica);
            wait_until(|| replica.info("master_link_status") == "up");
            traffic.wait_for(dice.roll(200) as u64);
            script(&mut replica.connect(), "REPLICAOF NO ONE => +OK\n FLUSHALL => +OK");
            // The backlog goes a second after the last replica, and then nobody listens.
            wait_until(|| primary.info("repl_backlog_active") == "0");
            // Enough writes for the module to have seen it.
            traffic.wait_for(if round == 0 { 9_000 } else { 100 });
        }
        attach(Listener::Diskless, &primary, &replica);
        traffic.wait_for(100);
        traffic.end();
        replica.wait_for_sync(&primary);
        assert_same(&snapshot(&mut primary.connect()), &snapshot(&mut replica.connect()), "the replica");
        let digest = reply(&mut primary.connect(), "DEBUG DIGEST");
        expect(&mut replica.connect(), "DEBUG DIGEST", &digest);
    }

    fn a_replica_changes_nothing_by_itself(kind: Kind) {
        let primary = Server::builder(kind).without_module().tcp().start();
        let mut con = primary.connect();
        let replica = Server::builder(kind).config("hz 100").replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        // A damaged board, and keys that look as if they were somebody's.
        let (entry, score) = entries_of(&[5, 4], b"x").remove(0);
        for (score, element) in [("-inf".to_owned(), b"\0rank 2 FIELD a DESC INT".to_vec()), (score.to_string(), entry)] {
            cmdv(&mut con, &[b"ZADD".as_slice(), b"b", score.as_bytes(), &element]).expect("ZADD");
        }
        script(&mut con, "HSET rank:data:{b} :x {} => 1\n HSET h x {} => 1");
        replica.wait_for_sync(&primary);
        let mut reader = replica.connect();
        for read in ["RANK.GET b x", "RANK.COUNT b", "RANK.TOPN b 9", "RANK.INFO b", "RANK.SCORE b nobody"] {
            let answer = reply(&mut reader, read);
            assert!(!answer.starts_with("CLIENT") && !answer.contains("internal"), "{read}: {answer}");
        }
        let answer = reply(&mut reader, "RANK.GET b x");
        assert!(answer.starts_with("DAMAGED the board is damaged"), "{answer}");
        let rounds = |server: &Server| server.info("uptime_in_seconds").parse::<u64>().expect("seconds");
        let start = rounds(&replica);
        wait_until(|| rounds(&replica) > start);
        assert_same(&snapshot(&mut con), &snapshot(&mut reader), "the replica");
        // As the primary it mends when it is told to.
        expect(&mut reader, "REPLICAOF NO ONE", "+OK");
        let answer = reply(&mut reader, "RANK.VERIFY b REPAIR");
        assert!(answer.contains(r#""orphaned", 1"#) && answer.contains(r#""repaired", 1"#), "{answer}");
        script(&mut reader, "RANK.ADD b 1 x => 1\n RANK.GET b x => [1, \"x\", 1]\n DBSIZE => 3");
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
        // It writes on, to the board and to its hash.
        script(&mut con, "RANK.ADD spilled DATA {\"n\":1} 1000000000 1 z => 1\n RANK.GET spilled z WITHDATA => [1, \"z\", 1000000000, 1, [\"n\", \"1\"]]\n RANK.CLEAR spilled => 2\n EXISTS sh => 0");
    }
}
