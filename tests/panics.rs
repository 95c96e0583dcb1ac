//! A panic in a handler ends the command, not the server: also in a module that was linked elsewhere, with another
//! unwinder.

use std::path::Path;

use crate::support::*;

on_every_server! {
    /// The module finds no function that reads a score, which every server since 7.0 has.
    fn a_panic_is_an_error_of_one_call(kind: Kind) {
        let loader = compiled(Path::new("tests/fixtures/without.c"));
        let line = format!("loadmodule {} RedisModule_ZsetScore {}", loader.path().display(), module_path().display());
        let server = Server::builder(kind).without_module().config(&line).start();
        let mut con = server.connect();
        expect(&mut con, "ZADD board 5 ann 7 bob", "2");
        for _ in 0..3 {
            expect(&mut con, "RANK.GET board ann", "ERR internal error in redis-rank, see the server log");
            expect(&mut con, "RANK.TOPN board 1", r#"[[1, "bob", "7"]]"#);
        }
        expect(&mut con, "EVAL \"return redis.pcall('RANK.GET', KEYS[1], 'ann')['err']\" 1 board", r#""ERR internal error in redis-rank, see the server log""#);
        expect(&mut con, "ZSCORE board ann", r#""5""#);
        assert_eq!(server.take_panics(), 4);
    }
}
