//! A panic in a handler ends the command, not the server: also in a module that was linked elsewhere, with another
//! unwinder.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::support::*;

const INTERNAL: &str = "ERR internal error in redis-rank, see the server log";

/// A server whose module does not find a function that every server since 7.0 has.
fn without(kind: Kind, function: &str) -> Server {
    let loader = compiled(Path::new("tests/fixtures/without.c"));
    let line = format!("loadmodule {} RedisModule_{function} {}", loader.path().display(), module_path().display());
    Server::builder(kind).without_module().appendonly().config(&line).start()
}

on_every_server! {
    fn a_panic_is_an_error_of_one_call(kind: Kind) {
        let server = without(kind, "ZsetScore");
        let mut con = server.connect();
        expect(&mut con, "ZADD board 5 ann 7 bob", "2");
        for _ in 0..3 {
            expect(&mut con, "RANK.GET board ann", INTERNAL);
            expect(&mut con, "RANK.TOPN board 1", r#"[[1, "bob", "7"]]"#);
        }
        expect(&mut con, "EVAL \"return redis.pcall('RANK.GET', KEYS[1], 'ann')['err']\" 1 board", r#""ERR internal error in redis-rank, see the server log""#);
        expect(&mut con, "ZSCORE board ann", r#""5""#);
        assert_eq!(server.take_panics(), 4);
    }

    fn a_panic_while_propagating_is_an_error_of_one_call(kind: Kind) {
        for function in ["Replicate", "SignalModifiedKey", "NotifyKeyspaceEvent"] {
            let server = without(kind, function);
            let mut con = server.connect();
            for write in ["RANK.ADD board 5 ann", "RATE.CHECK limit 5/1m", "RATE.CHECK text 5/1m GCRA", "DUE.ADD jobs AT 5 a"] {
                expect(&mut con, write, INTERNAL);
            }
            expect(&mut con, "RANK.SCORE board ann", r#""5""#);
            assert_eq!(server.take_panics(), 4, "{function}");
        }
    }

    fn a_panic_while_an_error_is_replied_ends_nothing(kind: Kind) {
        let server = without(kind, "ReplyWithError");
        let mut client = UnixStream::connect(server.socket()).expect("a connection");
        client.write_all(b"RANK.GET board ann X\r\nPING\r\n").expect("written");
        let mut answer = [0; 7];
        client.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"+PONG\r\n");
        assert_eq!(server.take_panics(), 2);
    }

    fn a_panic_in_info_ends_nothing(kind: Kind) {
        let server = without(kind, "InfoAddFieldULongLong");
        expect(&mut server.connect(), "RANK.ADD board 5 ann", "1");
        assert!(reply(&mut server.connect(), "INFO everything").contains("redis_version"));
        assert!(server.take_panics() > 0);
    }
}
