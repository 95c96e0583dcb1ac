//! Replicas and restarts, with the module and without, end with the same data.

use redis::Connection;

use crate::script::{script, Dice};
use crate::support::*;

fn digest(server: &Server) -> String {
    reply(&mut server.connect(), "DEBUG DIGEST")
}

/// A few hundred writes of every kind over boards of every kind, some of them in transactions and scripts.
fn busy_day(con: &mut Connection, seed: u64) {
    script(con, "RANK.CREATE k KEEP 5 => +OK\n RANK.CREATE asc ASC UPDATE BEST => +OK\n EXPIRE k 5000 => 1");
    let mut dice = Dice::new(seed);
    for step in 0..400 {
        let key = dice.pick(&["set", "k", "asc"]);
        let (score, member) = (dice.roll(40), format!("m{}", dice.roll(12)));
        let command = match dice.roll(12) {
            0 => format!("RANK.INCR {key} 1.1 {member}"),
            1 => format!("RANK.REM {key} {member}"),
            2 => format!("RANK.TRIM {key} 8"),
            3 => format!("RANK.ADD set KEEP 6 {score} {member} 50 top{step}"),
            4 => format!("EVAL \"return redis.call('RANK.ADD', KEYS[1], ARGV[1], ARGV[2])\" 1 {key} {score} {member}"),
            5 if step % 40 == 0 => format!("RANK.ROTATE {key} archive{step}"),
            6 if step % 50 == 0 => format!("RANK.CLEAR {key}"),
            7 if step % 10 == 0 => format!("RANK.ALTER k KEEP {}", 3 + dice.roll(5)),
            _ => format!("RANK.ADD {key} {score} {member} {} \"\\x00%\\xff\"", dice.roll(9)),
        };
        if dice.once_in(10) {
            script(con, "MULTI => +OK");
            reply(con, &command);
            reply(con, &format!("RANK.ADD {key} 1 in-transaction"));
            reply(con, "EXEC");
        } else {
            let answer = reply(con, &command);
            assert!(!answer.starts_with("ERR") || answer == "ERR no such key", "{command}: {answer}");
        }
    }
}

on_every_server! {
    fn a_replica_without_the_module_has_the_same_data(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        let plain = Server::builder(kind).without_module().replica_of(&primary).start();
        let equal = Server::builder(kind).replica_of(&primary).start();
        plain.wait_for_sync(&primary);
        equal.wait_for_sync(&primary);
        let mut con = primary.connect();
        busy_day(&mut con, 1);
        plain.wait_for_sync(&primary);
        equal.wait_for_sync(&primary);
        assert_eq!((digest(&plain), digest(&equal)), (digest(&primary), digest(&primary)));

        // Reads run on the replica, writes do not.
        let mut replica = equal.connect();
        for read in ["TOPN k 9", "STATS asc JSON", "INFO k", "COUNT set", "GET set m1", "PAGE asc 1 2"] {
            let on_primary = reply(&mut con, &format!("RANK.{read}"));
            expect(&mut replica, &format!("RANK.{read}"), &on_primary);
        }
        for write in [
            "CREATE x", "ALTER k KEEP 9", "CLEAR k", "ROTATE k x", "ADD k 1 a", "MULTISET k 1 a", "INCR k 1 a",
            "REM k a", "TRIM k 1",
        ] {
            expect(&mut replica, &format!("RANK.{write}"), "READONLY You can't write against a read only replica.");
        }
    }

    fn a_restart_from_the_aof_without_the_module_has_the_same_data(kind: Kind) {
        let mut server = Server::builder(kind).appendonly().config("appendfsync no").start();
        busy_day(&mut server.connect(), 2);
        let before = digest(&server);
        server.kill9();
        server.restart_with(Builder::without_module);
        assert_eq!(digest(&server), before);
        // Once more from a rewritten file, into a server with the module.
        expect(&mut server.connect(), "BGREWRITEAOF", "+Background append only file rewriting started");
        wait_until(|| server.info("aof_rewrite_in_progress") == "0");
        server.kill9();
        server.restart_with(|builder| builder.args(&[]));
        assert_eq!(digest(&server), before);
        let top = reply(&mut server.connect(), "RANK.TOPN k 1");
        assert!(top.starts_with("[[1, "), "{top}");
    }

    fn a_restart_from_an_rdb_keeps_boards(kind: Kind) {
        let mut server = Server::builder(kind).start();
        busy_day(&mut server.connect(), 3);
        let (before, info) = (digest(&server), reply(&mut server.connect(), "RANK.INFO k"));
        server.restart();
        assert_eq!((digest(&server), reply(&mut server.connect(), "RANK.INFO k")), (before, info));
    }

    fn a_board_travels_by_dump_and_restore(kind: Kind) {
        let (from, to) = (Server::builder(kind).start(), Server::builder(kind).start());
        let mut con = from.connect();
        script(&mut con, "RANK.CREATE b ASC KEEP 3 => +OK\n RANK.ADD b 5 a 3 b => 2");
        let Ok(redis::Value::BulkString(dump)) = cmd(&mut con, "DUMP b") else { panic!("no dump") };
        let restore = [b"RESTORE".as_slice(), b"c", b"0", &dump];
        assert_eq!(show_result(&cmdv(&mut to.connect(), &restore)), "+OK");
        let info = reply(&mut con, "RANK.INFO b");
        expect(&mut to.connect(), "RANK.INFO c", &info);
        expect(&mut to.connect(), "RANK.TOPN c 9", r#"[[1, "b", "3"], [2, "a", "5"]]"#);
    }
}
