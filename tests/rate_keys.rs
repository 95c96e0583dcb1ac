//! `RATE.*` on keys that are somebody else's: nothing changes, and the error says what is there.

use crate::support::*;

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
const NOT_A_LOG: &str = "WRONGTYPE the key holds a sorted set that is not a limiter";
const NOT_A_LIMITER: &str = "WRONGTYPE the key holds a string that is not a limiter";
const NO_LEASES: &str = "WRONGTYPE the key holds a sorted set that has no leases";

/// The key, and what each kind of call is told of it.
fn refuses(con: &mut redis::Connection, key: &str, sliding: &str, string: &str, lease: &str, reset: &str) {
    let state = |con: &mut redis::Connection| (reply(con, &format!("DUMP {key}")), reply(con, &format!("PTTL {key}")));
    let before = state(con);
    assert_ne!(before.0, "nil");
    for command in ["CHECK", "PEEK", "REFUND", "ALL 1"] {
        expect(con, &format!("RATE.{command} {key} 10 1m"), sliding);
        for algorithm in ["FIXED", "COUNTER", "GCRA"] {
            expect(con, &format!("RATE.{command} {key} 10 1m {algorithm}"), string);
        }
    }
    expect(con, &format!("RATE.ACQUIRE {key} 5 1m"), lease);
    expect(con, &format!("RATE.HELD {key}"), lease);
    expect(con, &format!("RATE.RENEW {key} 5 1m"), lease);
    expect(con, &format!("RATE.RELEASE {key} 5"), lease);
    expect(con, &format!("RATE.RESET {key}"), reset);
    assert_eq!(state(con), before);
}

on_every_server! {
    fn other_types(server: Server) {
        let mut con = server.connect();
        for make in ["HSET k rate 1", "RPUSH k x", "SADD k x", "XADD k * f v"] {
            expect(&mut con, "DEL k", if make == "HSET k rate 1" { "0" } else { "1" });
            assert!(!reply(&mut con, make).contains("ERR"));
            refuses(&mut con, "k", WRONG_TYPE, WRONG_TYPE, WRONG_TYPE, WRONG_TYPE);
        }
    }

    fn leaderboards(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "ZADD plain 5 ann 7 bob", "2");
        expect(&mut con, "RANK.CREATE marked FIELD s INT", "+OK");
        expect(&mut con, "RANK.CREATE full FIELD s FLOAT TIES FIRST", "+OK");
        expect(&mut con, "RANK.ADD full 100 10/1s", "1");
        // A board whose members look like a log's still has its marker at the end.
        expect(&mut con, "RANK.CREATE alike KEEP 5", "+OK");
        expect(&mut con, "RANK.ADD alike 100 10/1s", "1");
        // A log somebody wrote a name into, at either end.
        expect(&mut con, "ZADD below 100 10/1s 5 ann", "2");
        expect(&mut con, "ZADD above 100 10/1s 500 ann", "2");
        expect(&mut con, "ZADD infinite inf 10/1s", "1");
        expect(&mut con, "ZADD late -5 last 500 ann", "2");
        for key in ["plain", "marked", "full", "alike", "below", "above", "infinite", "late"] {
            refuses(&mut con, key, NOT_A_LOG, WRONG_TYPE, NO_LEASES, NOT_A_LOG);
        }
    }

    fn strings(server: Server) {
        let mut con = server.connect();
        for text in ["5", "-9223372036854775808", "ann", "\"\"", "\"rate 2 gcra1m mwlm6nuq 00zrcag\"", "\"rate 1 gcra1m mwlm6nuq 00zrcag \"",
                     "\"\\x00\\xff%s%n and something longer than that\"", "\"rate 1 gcra1m mwlm6nuq zzzzzzzzzzzzzzzzz\""] {
            expect(&mut con, &format!("SET k {text}"), "+OK");
            let encoding = reply(&mut con, "OBJECT ENCODING k");
            refuses(&mut con, "k", WRONG_TYPE, NOT_A_LIMITER, WRONG_TYPE, NOT_A_LIMITER);
            if text == "5" {
                expect(&mut con, "OBJECT ENCODING k", &encoding);
                expect(&mut con, "INCR k", "6");
            }
        }
        expect(&mut con, "SETBIT bits 7 1", "0");
        refuses(&mut con, "bits", WRONG_TYPE, NOT_A_LIMITER, WRONG_TYPE, NOT_A_LIMITER);
    }

    fn a_limiter_of_another_kind(server: Server) {
        let mut con = server.connect();
        assert!(reply(&mut con, "RATE.CHECK log 1 1m").starts_with("[0, "));
        assert!(reply(&mut con, "RATE.CHECK string 1 1m GCRA").starts_with("[0, "));
        assert!(reply(&mut con, "RATE.ACQUIRE leases 1 1m").starts_with("[0, "));
        let holds = |what: &str| format!("WRONGTYPE the key holds {what}: RATE.RESET it or use another key");
        let log = holds("a SLIDING limiter, a sorted set");
        let string = holds("a FIXED, COUNTER, GCRA or CALENDAR limiter, a string");
        let leases = holds("leases, a sorted set");
        for command in ["CHECK", "PEEK", "REFUND"] {
            expect(&mut con, &format!("RATE.{command} log 1 1m GCRA"), &log);
            expect(&mut con, &format!("RATE.{command} string 1 1m"), &string);
            expect(&mut con, &format!("RATE.{command} leases 1 1m"), &leases);
            expect(&mut con, &format!("RATE.{command} leases 1 1m COUNTER"), &leases);
        }
        expect(&mut con, "RATE.ACQUIRE log 1 1m", &log);
        expect(&mut con, "RATE.HELD string", &string);
        for key in ["log", "string", "leases"] {
            expect(&mut con, &format!("RATE.RESET {key}"), "1");
        }
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
