//! Bounds: what `KEEP` keeps and reports, and limits of reads that are exact however they are written.

use crate::script::script;
use crate::support::*;

on_every_server! {
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

    fn names_at_minus_infinity_are_the_first_to_leave(server: Server) {
        let mut con = server.connect();
        for (fill, write, left) in [
            ("ZADD b 5 \"\\x00a\" 4 p 3 q 2 r", "RANK.ADD b KEEP 2 -inf \"\\x00a\"", r#"[[1, "p", "4"], [2, "q", "3"]]"#),
            ("ZADD b -inf \"\\x00a\" 4 p 3 q 2 r 1 s", "RANK.ADD b KEEP 2 9 \"\\x00a\"", r#"[[1, "\x00a", "9"], [2, "p", "4"]]"#),
            ("ZADD b -inf \"\\x00a\" 5 p", "RANK.ADD b KEEP 2 7 y 8 z", r#"[[1, "z", "8"], [2, "y", "7"]]"#),
        ] {
            expect(&mut con, "FLUSHALL", "+OK");
            for line in [fill, write] {
                let answer = reply(&mut con, line);
                assert!(!is_error(&answer), "{line}: {answer}");
            }
            expect(&mut con, "RANK.TOPN b 9", left);
        }
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
            RANK.COUNT i -1e400 9e99 => ERR min takes a number, inf or -inf, or ( and a number to exclude it, got -1e400
            RANK.COUNT i -1e300 1e300 => 3
        "#);
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
}
