//! What a review found: replies that must not break off, and writes that must not be left half-way.

use crate::script::script;
use crate::support::*;

on_every_server! {
    /// An error inside an array would be read as one of its elements, and everything behind it as the rest.
    fn an_error_is_the_whole_reply(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b => +OK\n RANK.ADD b 1 a 2 b 3 c => 3\n SET rank:data:{b} x => +OK");
        for read in ["TOPN b 3", "GET b a", "AMONG b 2 a b", "PAGE b 1 2", "AROUND b a 1", "RANGE b 1 2", "BYSCORE b 1 2"] {
            for json in ["", " JSON"] {
                let answer = reply(&mut con, &format!("RANK.{read} WITHDATA{json}"));
                assert!(answer.starts_with("ERR the board's data key holds another type"), "{read}: {answer}");
                expect(&mut con, "PING", "+PONG");
            }
        }
        let answer = reply(&mut con, "EVAL \"return redis.pcall('RANK.TOPN', KEYS[1], 3, 'WITHDATA')\" 1 b");
        assert!(answer.starts_with("ERR the board's data key"), "{answer}");
        expect(&mut con, "EVAL \"return redis.call('PING')\" 0", "+PONG");
        script(&mut con, "RANK.CREATE p FIELD a DIGITS 3 => +OK\n RANK.ADD p 1 a 2 b => 2\n ZADD p 2.5 bad => 1");
        for read in ["PAGE p 3 1 DENSE", "RANGE p 3 3 DENSE", "STATS p LIMIT 2 1 DENSE", "GET p a DENSE", "TOPN p 3"] {
            let answer = reply(&mut con, &format!("RANK.{read}"));
            assert!(answer.starts_with("ERR the board has an element its schema cannot decode"), "{read}: {answer}");
            expect(&mut con, "PING", "+PONG");
        }
    }

    fn a_batch_that_meets_a_bad_element_writes_nothing(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a DIGITS 3", "FIELD a DIGITS 3 TIES FIRST S", "FIELD a DIGITS 3 KEEP 2"] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE p {schema} => +OK\n ZADD p 1.5 bad => 1"));
            for write in ["ADD p CH 5 ok 6 bad", "ADD p 5 ok 6 bad", "ADD p WITHRANK 5 ok 6 bad"] {
                let before = reply(&mut con, "DEBUG DIGEST");
                let answer = reply(&mut con, &format!("RANK.{write}"));
                if answer.starts_with("ERR") {
                    assert_eq!(reply(&mut con, "DEBUG DIGEST"), before, "{schema}: {write}");
                } else {
                    // A score may be set over a bad one where nothing needs to know it: then all of it is written.
                    script(&mut con, "RANK.SCORE p bad => 6\n RANK.SCORE p ok => 5\n ZADD p 1.5 bad => 0\n ZREM p ok => 1");
                }
            }
        }
    }

    /// What is to be tidied up after a write may be out of reach; the write is whole all the same.
    fn a_companion_that_cannot_be_looked_at_leaves_no_write_half_done(server: Server) {
        let mut con = server.connect();
        for spoil in ["DEL rank:data:{b}\n SET rank:data:{b} text", "RENAME b b}c"] {
            script(&mut con, "FLUSHALL => +OK\n ZADD b 1 a 2 b 3 c 4 d => 4\n RANK.SETDATA b c x y => 1");
            spoil.lines().for_each(|line| assert!(!reply(&mut con, line).starts_with("ERR"), "{line}"));
            let key = if spoil.starts_with("DEL") { "b" } else { "b}c" };
            script(&mut con, &format!(r#"
                RANK.REM {key} a b => 2
                RANK.ADD {key} 5 e 6 f => 2
                RANK.ADD {key} KEEP 3 7 g => 1
                RANK.TRIM {key} 2 => 1
                RANK.TOPN {key} 5 => [[1, "g", "7"], [2, "f", "6"]]
                RANK.CLEAR {key} => 2
            "#));
        }
    }

    /// A name at -inf that sorts before the marker moves it.
    fn names_before_the_marker_move_it_within_a_command(server: Server) {
        let mut con = server.connect();
        for (fill, write, left) in [
            ("ZADD b 5 \"\\x00a\" 4 p 3 q 2 r", "RANK.ADD b KEEP 2 -inf \"\\x00a\"", r#"[[1, "p", "4"], [2, "q", "3"]]"#),
            ("ZADD b -inf \"\\x00a\" 4 p 3 q 2 r 1 s", "RANK.ADD b KEEP 2 9 \"\\x00a\"", r#"[[1, "\x00a", "9"], [2, "p", "4"]]"#),
            ("ZADD b -inf \"\\x00a\" 5 p", "RANK.ADD b KEEP 2 7 y 8 z", r#"[[1, "z", "8"], [2, "y", "7"]]"#),
        ] {
            script(&mut con, "FLUSHALL => +OK");
            reply(&mut con, fill);
            script(&mut con, "RANK.SETDATA b p k v => 1");
            reply(&mut con, write);
            expect(&mut con, "RANK.TOPN b 9", left);
            let attributes = if left.contains("\"p\"") { r#"["k", "v"]"# } else { "nil" };
            expect(&mut con, "RANK.GETDATA b p", attributes);
        }
    }

    fn a_bad_element_can_be_removed_by_its_name(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a DIGITS 3", "FIELD a BITS 30 FIELD b BITS 30", "FIELD a DIGITS 3 TIES FIRST S"] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE p {schema} => +OK\n ZADD p 1.5 bad 1.25 worse => 2"));
            script(&mut con, "RANK.REM p nobody bad => 1\n RANK.REM p worse => 1\n RANK.COUNT p => 0\n ZCARD p => 1");
        }
    }

    fn a_copy_that_comes_over_its_original_has_its_own_members(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE b FIELD a INT FIELD b INT => +OK
            RANK.ADD b 1 1 x 2 2 y => 2
            COPY b b2 => 1
            RANK.REM b x => 1
            RANK.ADD b 3 3 z => 1
            RANK.SETDATA b z k v => 1
            RENAME b2 b => +OK
        "#);
        wait_until(|| reply(&mut con, "EXISTS rank:members:{b} rank:data:{b}") == "0");
        script(&mut con, r#"
            RANK.ADD b 9 9 x => 0
            RANK.TOPN b 5 => [[1, "x", 9, 9], [2, "y", 2, 2]]
            RANK.GET b z => nil
            RANK.INCR b 1 1 y => [3, 3]
        "#);
    }

    fn a_rotation_that_cannot_be_whole_is_none(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE n FIELD a INT FIELD b INT => +OK\n SET rank:members:{n} x => +OK");
        assert!(reply(&mut con, "RANK.ROTATE n old").contains("another type"));
        script(&mut con, "EXISTS n => 1\n EXISTS old => 0");
    }

    fn look_ups_of_the_keeper_are_no_misses(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.MULTISET m 1 2 x => 1\n RANK.SETDATA m x k v => 1");
        let misses = server.info("keyspace_misses");
        expect(&mut con, "DEL m", "1");
        wait_until(|| server.info("rank_companions_dropped") == "2");
        assert_eq!(server.info("keyspace_misses"), misses);
    }

    fn whole_percentiles_of_whole_positions_are_whole(server: Server) {
        let mut con = server.connect();
        for score in 0..=100 {
            expect(&mut con, &format!("RANK.ADD q {score} m{score}"), "1");
        }
        for percentile in 0..=100 {
            expect(&mut con, &format!("RANK.SCOREAT q {percentile}"), &format!("\"{percentile}\""));
        }
    }

    fn who_a_bound_removes_is_not_reported_as_there(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            ZADD k 1 a 2 b 3 c => 3
            RANK.ADD k KEEP 2 CH 0 a => 0
            RANK.CREATE kk KEEP 2 => +OK
            RANK.ADD kk 5 a 6 b => 2
            ZADD kk 3 c => 1
            RANK.INCR kk -1 c => nil
            RANK.COUNT kk => 2
        "#);
    }

    fn who_is_pushed_out_and_comes_back_was_there_before(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            ZADD o 5 a 4 b => 2
            RANK.ADD o KEEP 2 6 c 7 b => 1
            RANK.CREATE k KEEP 2 => +OK
            RANK.ADD k 5 a 4 b => 2
            RANK.ADD k 6 c 7 b => 1
            RANK.ADD k CH 8 a 7 b => 1
        "#);
    }

    fn bounds_on_integer_fields_are_exact_however_they_are_written(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE i FIELD a INT => +OK
            RANK.ADD i 9007199254740992 x 9007199254740993 y 9007199254740994 z => 3
            RANK.COUNT i 9007199254740993 inf => 2
            RANK.COUNT i 9007199254740993.0 inf => 2
            RANK.COUNT i 9.007199254740993e15 inf => 2
            RANK.COUNT i (9007199254740993.0 inf => 1
            RANK.COUNT i 9007199254740992.5 inf => 2
            RANK.COUNT i (9007199254740992.5 inf => 2
            RANK.COUNT i -inf 9007199254740993.5 => 2
            RANK.COUNT i -inf (9007199254740993.5 => 2
            RANK.COUNT i -1e400 9e99 => ERR min takes a number, inf or -inf, with ( before it to leave it out, got -1e400
            RANK.COUNT i -1e300 1e300 => 3
        "#);
    }
}
