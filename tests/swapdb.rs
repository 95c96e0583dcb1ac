//! `repl-diskless-load swapdb`: a replica that goes on answering from its old data while it loads new ones.

use crate::support::*;
use crate::workload::{assert_same, check_boards, snapshot};

const READS: &[&str] = &[
    "RANK.GET b m7 WITHDATA",
    "RANK.SCORE p m7",
    "RANK.TOPN p 3 PERIOD day",
    "RATE.PEEK lm7 9 1h GCRA NOW 1",
    "RATE.HELD lock",
    "DUE.INFO q",
    "RANK.INFO b",
];

on_every_server! {
    fn a_replica_answers_while_it_loads(kind: Kind) {
        let primary = Server::builder(kind).tcp().config("repl-backlog-size 16kb").start();
        // By default a server that loads looks at its clients after every 2 MB.
        let replica = Server::builder(kind)
            .config("repl-diskless-load swapdb")
            .config("loading-process-events-interval-bytes 1024")
            .replica_of(&primary)
            .start();
        replica.wait_for_sync(&primary);
        let mut con = primary.connect();
        for line in ["RANK.CREATE b FIELD a INT FIELD b INT TIES FIRST DATA d", "RANK.CREATE p PERIOD DAY day:"] {
            expect(&mut con, line, "+OK");
        }
        let fill = |con: &mut redis::Connection, round: usize| {
            let (mut pipeline, scores) = (redis::pipe(), round.to_string());
            for member in 0..400 {
                let member = format!("m{member}");
                pipeline.cmd("RANK.ADD").arg(&["b", "DATA", "{\"x\":1}", &scores, &scores, &member]).ignore();
                pipeline.cmd("RANK.ADD").arg(&["p", &scores, &member]).ignore();
                pipeline.cmd("RATE.CHECK").arg(&[format!("l{member}").as_str(), "9", "1h", "GCRA"]).ignore();
                pipeline.cmd("DUE.ADD").arg(&["q", "AT", "1", &member]).ignore();
            }
            let _: () = pipeline.query(con).expect("writes");
        };
        fill(&mut con, 1);
        replica.wait_for_sync(&primary);

        // It loses touch for longer than the backlog lasts, and so has to load all again, slowly.
        let mut there = replica.connect();
        let mut round = || {
            let mut pipeline = redis::pipe();
            for line in READS.iter().chain(&["INFO persistence"]) {
                pipeline.add_command(line.split(' ').fold(redis::Cmd::new(), |mut command, word| command.arg(word).to_owned()));
            }
            let replies: Vec<redis::Value> = pipeline.query(&mut there).expect("answers");
            let mut replies: Vec<String> = replies.iter().map(show).collect();
            let info = replies.pop().expect("the last one");
            (replies, info.contains("async_loading:1"))
        };
        let (old, _) = round();
        expect(&mut replica.connect(), "REPLICAOF 127.0.0.1 1", "+OK");
        fill(&mut con, 2);
        expect(&mut con, "CONFIG SET rdb-key-save-delay 5000", "+OK");
        expect(&mut replica.connect(), &format!("REPLICAOF 127.0.0.1 {}", primary.port()), "+OK");
        wait_until(|| round().1);
        let mut answers = 0;
        loop {
            let (got, is_loading) = round();
            if !is_loading {
                break;
            }
            // All of it is old, and nobody is told to come back later.
            assert_eq!(got, old);
            answers += 1;
        }
        assert!(answers > 0, "nothing was asked while it loaded");
        println!("{answers} rounds of answers while it loaded");
        replica.wait_for_sync(&primary);
        assert_ne!(round().0, old);
        let mut there = replica.connect();
        assert_same(&snapshot(&mut con), &snapshot(&mut there), "the replica");
        check_boards(&mut con, false);
    }
}
