//! Sixteen shards answer as one board with the same members does, and while they are written to every answer lies between
//! what was true when it started and what was true when it ended: by the Python client, see shards_exact.py.

use std::process::Command;

use redis::{Connection, Value};

use crate::script::Dice;
use crate::shards::{crc16, key_of};
use crate::support::programs::*;
use crate::support::*;

/// The judge, if there is a client here.
pub fn judge(url: &str, words: &[&str]) -> Option<Command> {
    let mut command = python("tests/shards_exact.py")?;
    command.arg(url).args(words);
    Some(command)
}

on_every_server! {
    fn every_answer_is_that_of_one_board(kind: Kind) {
        let server = Server::builder(kind).tcp().start();
        let Some(mut command) = judge(&url(&server), &["equal"]) else { return };
        let printed = output(&mut command);
        assert!(printed.ends_with("\nlopsided\n"), "{printed}");
    }

    fn answers_during_writes_were_true_meanwhile(kind: Kind) {
        let server = Server::builder(kind).tcp().start();
        let Some(mut command) = judge(&url(&server), &["meanwhile", "20"]) else { return };
        let printed = output(&mut command);
        assert!(printed.contains("\nanswered 20\ndone: "), "{printed}");
    }

    /// As the guide describes it: scan the old shards, load each line into the new shard of its member.
    fn the_number_of_shards_can_change(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a INT FIELD b ASC INT TIES FIRST", "FIELD a RANGE -500 500 FIELD b BITS 9 TIES LAST S", "FIELD a FIELD b"] {
            expect(&mut con, "FLUSHALL", "+OK");
            let mut create = |count: usize| -> Vec<String> {
                let keys: Vec<String> = (0..count).map(|shard| key_of("many", shard, count)).collect();
                for (shard, key) in keys.iter().enumerate() {
                    expect(&mut con, &format!("RANK.CREATE {key} {schema} SHARD {shard} {count}"), "+OK");
                }
                keys
            };
            let (old, new) = (create(16), create(64));
            let mut dice = Dice::new(64);
            for number in 0..1000 {
                let member = format!("m{number}");
                let key = &old[crc16(member.as_bytes()) % 16];
                let at = if schema.contains("TIES") { format!("AT {}", 1_700_000_000_000 + dice.roll(9) * 1000) } else { String::new() };
                expect(&mut con, &format!("RANK.ADD {key} {at} {} {} {member}", dice.roll(40), dice.roll(40)), "1");
            }
            let before = lines_of(&mut con, &old);
            assert_eq!(before.len(), 1000);
            for line in &before {
                let member = line.strip_prefix("{\"member\":\"").and_then(|rest| rest.split('"').next()).expect("a member");
                let key = new[crc16(member.as_bytes()) % 64].as_bytes();
                assert_eq!(show_result(&cmdv(&mut con, &[b"RANK.LOAD", key, b"NX", line.as_bytes()])), "1", "{line}");
            }
            assert_eq!(lines_of(&mut con, &new), before, "{schema}");
        }
    }
}

/// The lines of whole boards, as `RANK.SCAN` gives them, in order.
fn lines_of(con: &mut Connection, keys: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    for key in keys {
        let mut cursor = "0".to_owned();
        loop {
            let Ok(Value::Array(step)) = cmd(con, &format!("RANK.SCAN {key} {cursor} COUNT 100 WITHTIME JSON")) else {
                panic!("no step")
            };
            let [Value::BulkString(next), Value::BulkString(text)] = step.as_slice() else { panic!("{step:?}") };
            lines.extend(String::from_utf8_lossy(text).lines().map(str::to_owned));
            cursor = String::from_utf8_lossy(next).into_owned();
            if cursor == "0" {
                break;
            }
        }
    }
    lines.sort();
    lines
}
