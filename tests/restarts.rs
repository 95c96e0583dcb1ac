//! Whatever ends a server, and however it starts again: every acknowledged write is there, and every board is whole.

use std::sync::{Arc, Mutex};
use std::thread;

use redis::Connection;

use crate::script::script;
use crate::support::*;
use crate::workload::{assert_same, check_boards, snapshot, Workload};

const BOARDS: &[(&str, &str, usize)] = &[
    ("plain", "DATA plain.data OWNED", 1),
    ("packed", "FIELD a DIGITS 9 FIELD b DIGITS 6 DATA players", 2),
    ("spilled", "FIELD a INT FIELD b INT DATA spilled.data OWNED", 2),
    ("late", "FIELD a INT TIES LAST DATA players", 1),
];

/// Writers that go on until the server is gone: one member each on every board, whose score and
/// attribute is the number of the round. What they were told is what must be there.
struct Load {
    writers: Vec<thread::JoinHandle<()>>,
    acknowledged: Arc<Mutex<Vec<u64>>>,
}

const WRITERS: usize = 3;

impl Load {
    fn start(server: &Server, from: u64) -> Self {
        for (board, schema, _) in BOARDS {
            expect(&mut server.connect(), &format!("RANK.CREATE {board} {schema}"), "+OK");
        }
        let acknowledged = Arc::new(Mutex::new(vec![from; WRITERS]));
        let writers = (0..WRITERS).map(|writer| {
            let (mut con, acknowledged) = (server.connect(), acknowledged.clone());
            thread::spawn(move || {
                for round in from + 1.. {
                    if !write_round(&mut con, writer, round) {
                        return;
                    }
                    acknowledged.lock().expect("no writer fails")[writer] = round;
                }
            })
        });
        Load { writers: writers.collect(), acknowledged }
    }

    fn rounds(&self) -> u64 {
        self.acknowledged.lock().expect("no writer fails").iter().copied().min().unwrap_or(0)
    }

    #[track_caller]
    fn wait_for_rounds(&self, more: u64) {
        let goal = self.rounds() + more;
        wait_until(|| self.rounds() >= goal);
    }

    /// Waits for the writers, who have lost their server, and compares what they were told with what is there.
    #[track_caller]
    fn check(self, con: &mut Connection) -> u64 {
        self.writers.into_iter().for_each(|writer| writer.join().expect("no writer fails"));
        let acknowledged = self.acknowledged.lock().expect("no writer fails").clone();
        for (writer, round) in acknowledged.iter().enumerate() {
            for (board, _, _) in BOARDS {
                let score = reply(con, &format!("RANK.SCORE {board} w{writer}"));
                let data = reply(con, &format!("RANK.GETDATA {board} w{writer} round"));
                assert!(
                    number(&score) >= *round && number(&data) >= *round,
                    "{board} w{writer}: {round} acknowledged, {score} {data} there"
                );
            }
        }
        check_boards(con, false);
        acknowledged.into_iter().max().unwrap_or(0)
    }
}

/// The first number in a reply.
fn number(text: &str) -> u64 {
    let digits: String = text.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// Whether the server is still there.
fn write_round(con: &mut Connection, writer: usize, round: u64) -> bool {
    for (board, _, fields) in BOARDS {
        for command in [
            format!("RANK.ADD {board} {} w{writer}", format!("{round} ").repeat(*fields)),
            format!("RANK.SETDATA {board} w{writer} round {round}"),
            format!("RANK.ADD {board} {} passing{writer}", "1 ".repeat(*fields)),
            format!("RANK.REM {board} passing{writer}"),
        ] {
            let answer = reply(con, &command);
            if answer.starts_with("CLIENT") {
                return false;
            }
            assert!(["0", "1"].contains(&answer.as_str()), "{command}: {answer}");
        }
    }
    true
}

/// A server with all kinds of data after a random workload.
fn with_data(builder: Builder, seed: u64) -> Server {
    let server = builder.start();
    let mut con = server.connect();
    let mut workload = Workload::new(&mut con, seed, "");
    workload.set_up(&mut con);
    for _ in 0..700 {
        workload.step(&mut con);
    }
    check_boards(&mut con, false);
    server
}

fn rewrite(server: &Server) {
    let mut con = server.connect();
    wait_until(|| reply(&mut con, "BGREWRITEAOF").contains("started"));
    server.wait_for_aof_rewrite();
    assert_eq!(server.info("aof_last_bgrewrite_status"), "ok");
}

on_every_server! {
    fn a_kill_in_the_middle_of_a_load_loses_nothing_that_was_acknowledged(kind: Kind) {
        let mut server = Server::builder(kind).appendonly().config("appendfsync always").start();
        let mut round = 0;
        // With the preamble and without, and the second time on top of what the first left.
        for preamble in ["yes", "no"] {
            expect(&mut server.connect(), &format!("CONFIG SET aof-use-rdb-preamble {preamble}"), "+OK");
            let load = Load::start(&server, round);
            load.wait_for_rounds(15);
            rewrite(&server);
            load.wait_for_rounds(5);
            server.kill9();
            server.restart();
            round = load.check(&mut server.connect());
            check_boards(&mut server.connect(), false);
        }
    }

    fn a_kill_in_the_middle_of_a_load_changes_no_limiters_verdict(kind: Kind) {
        const LIMIT: u64 = 90_000;
        // By the caller's clock, so that what a limiter has left depends on nothing but the calls it let pass.
        let call = |command: &str, algorithm: &str, writer: usize| {
            format!("RATE.{command} limit{writer}{algorithm} {LIMIT}/1d {algorithm} NOW 1900000000000")
        };
        let algorithms = ["SLIDING", "FIXED", "COUNTER", "GCRA"];
        let mut server = Server::builder(kind).appendonly().config("appendfsync always").start();
        let passed = Arc::new(Mutex::new([[0_u64; 4]; WRITERS]));
        for _ in 0..2 {
            let before = passed.lock().expect("no writer fails").iter().flatten().sum::<u64>();
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let (mut con, passed) = (server.connect(), passed.clone());
                    thread::spawn(move || loop {
                        for (at, algorithm) in algorithms.iter().enumerate() {
                            let answer = reply(&mut con, &call("CHECK", algorithm, writer));
                            if answer.starts_with("CLIENT") {
                                return;
                            }
                            assert!(answer.starts_with(&format!("[0, {LIMIT}, ")), "{algorithm}: {answer}");
                            passed.lock().expect("no writer fails")[writer][at] += 1;
                        }
                    })
                })
                .collect();
            let count = || passed.lock().expect("no writer fails").iter().flatten().sum::<u64>();
            wait_until(|| count() >= before + 300);
            rewrite(&server);
            wait_until(|| count() >= before + 500);
            server.kill9();
            writers.into_iter().for_each(|writer| writer.join().expect("no writer fails"));
            server.restart();
            let mut con = server.connect();
            for writer in 0..WRITERS {
                for (at, algorithm) in algorithms.iter().enumerate() {
                    let told = passed.lock().expect("no writer fails")[writer][at];
                    let peek = reply(&mut con, &call("PEEK", algorithm, writer));
                    let left: u64 = peek.split(", ").nth(2).and_then(|left| left.parse().ok()).expect("what is left");
                    // The one call whose answer got lost may count.
                    assert!([told, told + 1].contains(&(LIMIT - left)), "{algorithm}: {told} passed, {peek} now");
                    passed.lock().expect("no writer fails")[writer][at] = LIMIT - left;
                }
            }
        }
    }

    fn a_restart_from_either_kind_of_aof_gives_the_same_data_with_and_without_the_module(kind: Kind) {
        for preamble in ["yes", "no"] {
            let mut server = with_data(Server::builder(kind).appendonly().config(&format!("aof-use-rdb-preamble {preamble}")), 61);
            rewrite(&server);
            let mut con = server.connect();
            let mut workload = Workload::new(&mut con, 62, "");
            (0..200).for_each(|_| workload.step(&mut con));
            // A rewrite may change a key's encoding, which is no difference.
            rewrite(&server);
            let before = reply(&mut con, "DEBUG DIGEST");
            let tops: Vec<String> = ["spilled", "late", "joined"].iter().map(|board| reply(&mut con, &format!("RANK.TOPN {board} 99 WITHDATA"))).collect();
            server.kill9();
            server.restart_with(Builder::without_module);
            expect(&mut server.connect(), "DEBUG DIGEST", &before);
            server.restart_with(|builder| builder.args(&[]));
            expect(&mut server.connect(), "DEBUG DIGEST", &before);
            let mut con = server.connect();
            for (board, top) in ["spilled", "late", "joined"].iter().zip(tops) {
                expect(&mut con, &format!("RANK.TOPN {board} 99 WITHDATA"), &top);
            }
            check_boards(&mut con, false);
        }
    }

    fn a_reload_in_place_keeps_every_board(kind: Kind) {
        let mut server = with_data(Server::builder(kind).appendonly(), 63);
        let mut con = server.connect();
        let before = snapshot(&mut con);
        for reload in ["DEBUG RELOAD", "DEBUG LOADAOF", "DEBUG RELOAD NOSAVE NOFLUSH MERGE"] {
            let answer = reply(&mut con, reload);
            assert!(answer == "+OK" || reload.contains("MERGE"), "{reload}: {answer}");
            assert_same(&before, &snapshot(&mut con), reload);
        }
        server.restart();
        assert_same(&before, &snapshot(&mut server.connect()), "the server after a restart");
        check_boards(&mut server.connect(), false);
    }

    /// A board is one key: what expires takes its index along, and leaves the hash, which is the user's.
    fn what_expired_while_the_server_was_down_leaves_nothing_to_tidy_up(kind: Kind) {
        let mut server = Server::builder(kind).start();
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE b FIELD a INT FIELD b INT DATA h OWNED => +OK
            RANK.ADD b DATA {"k":"v"} 1 2 x => 1
            RANK.MULTISET c 1 2 x => 1
        "#);
        let Ok(redis::Value::Array(time)) = cmd(&mut con, "TIME") else { panic!("no time") };
        let soon = number(&show(&time[0])) + 1;
        expect(&mut con, &format!("EXPIREAT b {soon}"), "1");
        server.shutdown_save();
        let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
        wait_until(|| now() > soon);
        server.restart();
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.GET b x => nil
            RANK.INFO b => nil
            RANK.SCORE c x => [1, 2]
            HGET h x => "{\"k\":\"v\"}"
        "#);
        wait_until(|| reply(&mut con, "DBSIZE") == "2");
    }
}
