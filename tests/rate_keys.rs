//! `RATE.*` on keys that are somebody else's: nothing changes, and the error says what is there.

use crate::support::*;

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_A_LOG: &str = "ERR key holds a sorted set that is not a limiter";
const NOT_A_LIMITER: &str = "ERR key holds a hash that is not a limiter";

/// The key, and what each kind of call is told of it.
fn refuses(con: &mut redis::Connection, key: &str, sliding: &str, hash: &str, reset: &str) {
    let state = |con: &mut redis::Connection| (reply(con, &format!("DUMP {key}")), reply(con, &format!("PTTL {key}")));
    let before = state(con);
    assert_ne!(before.0, "nil");
    for command in ["CHECK", "PEEK"] {
        expect(con, &format!("RATE.{command} {key} 10 1m"), sliding);
        for algorithm in ["FIXED", "COUNTER", "GCRA"] {
            expect(con, &format!("RATE.{command} {key} 10 1m {algorithm}"), hash);
        }
    }
    expect(con, &format!("RATE.RESET {key}"), reset);
    assert_eq!(state(con), before);
}

on_every_server! {
    fn other_types(server: Server) {
        let mut con = server.connect();
        for make in ["SET k x", "RPUSH k x", "SADD k x", "XADD k * f v", "SETBIT k 7 1", "PFADD k x"] {
            expect(&mut con, "DEL k", if make == "SET k x" { "0" } else { "1" });
            assert!(!reply(&mut con, make).contains("ERR"));
            refuses(&mut con, "k", WRONG_TYPE, WRONG_TYPE, WRONG_TYPE);
        }
    }

    fn leaderboards(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "ZADD plain 5 ann 7 bob", "2");
        expect(&mut con, "RANK.CREATE marked FIELD s INT", "+OK");
        expect(&mut con, "RANK.CREATE full FIELD s FLOAT TIES FIRST", "+OK");
        expect(&mut con, "RANK.ADD full 100 00000000000000000000+1", "1");
        // A board whose members look like a log's still has its marker at the end.
        expect(&mut con, "RANK.CREATE alike KEEP 5", "+OK");
        expect(&mut con, "RANK.ADD alike 100 00000000000000000000+1", "1");
        // A log somebody wrote a name into, at either end.
        expect(&mut con, "ZADD below 100 00000000000000000000+1 5 ann", "2");
        expect(&mut con, "ZADD above 100 00000000000000000000+1 500 ann", "2");
        expect(&mut con, "ZADD infinite inf 00000000000000000000+1", "1");
        for key in ["plain", "marked", "full", "alike", "below", "above", "infinite"] {
            refuses(&mut con, key, NOT_A_LOG, WRONG_TYPE, NOT_A_LOG);
        }
    }

    fn hashes(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "HSET user name ann", "1");
        expect(&mut con, "HSET other rate 5", "1");
        expect(&mut con, "HSET newer rate \"v2 gcra\"", "1");
        expect(&mut con, "HSET binary \"\\x00\\xff\" \"\\x00\\xff\"", "1");
        for key in ["user", "other", "newer", "binary"] {
            refuses(&mut con, key, WRONG_TYPE, NOT_A_LIMITER, NOT_A_LIMITER);
        }
        expect(&mut con, "HSET bent rate \"v1 gcra\" gcra:60000ms \"\\x00%n\"", "2");
        expect(&mut con, "RATE.CHECK bent 10 1m GCRA",
               "ERR key holds a hash that is not a limiter: field 'gcra:60000ms' is \\x00%n");
        expect(&mut con, "HGET bent gcra:60000ms", r#""\x00%n""#);
        expect(&mut con, "RATE.RESET bent", "1");
    }

    fn a_limiter_of_the_other_type(server: Server) {
        let mut con = server.connect();
        assert!(reply(&mut con, "RATE.CHECK log 1 1m").starts_with("[0, "));
        expect(&mut con, "RATE.CHECK log 1 1m GCRA", WRONG_TYPE);
        assert!(reply(&mut con, "RATE.CHECK hash 1 1m GCRA").starts_with("[0, "));
        expect(&mut con, "RATE.CHECK hash 1 1m", WRONG_TYPE);
        expect(&mut con, "RATE.RESET log", "1");
        expect(&mut con, "RATE.RESET hash", "1");
    }

    fn names_of_any_bytes(server: Server) {
        let mut con = server.connect();
        for key in [&b""[..], b"\0", b"%s%n", b"\xff\xfe", b"a\r\nb", b"{", &[b'x'; 5_000]] {
            for algorithm in ["SLIDING", "FIXED", "COUNTER", "GCRA"] {
                let call = |con: &mut redis::Connection| {
                    let args = [b"RATE.CHECK", key, b"1", b"1h", algorithm.as_bytes()];
                    show_result(&cmdv(con, &args))
                };
                assert!(call(&mut con).starts_with("[0, 1, 0, 0, "));
                assert!(call(&mut con).starts_with("[1, 1, 0, "));
                assert_eq!(show_result(&cmdv(&mut con, &[b"RATE.RESET", key])), "1");
            }
        }
    }
}
