//! What `ADD`, `INCR`, `REM` and `TRIM` write, count and reply.

use crate::script::script;
use crate::support::*;

on_every_server! {
    fn add_counts_members_that_were_not_there_before(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 5 a 7 b => 2
            RANK.ADD b 6 a 8 c => 1
            RANK.ADD b CH 6 a 9 b 1 d => 2
            RANK.ADD b CH 6 a => 0
            RANK.ADD b ch 1 a 6 a => 0
            RANK.ADD b 1 e 2 e 3 e => 1
            RANK.ADD b CH 4 e 5 e => 1
            RANK.SCORE b e => "5"
            RANK.MULTISET b CH 6 e 1 f => 2
            RANK.COUNT b => 6
        "#);
    }

    fn nx_adds_only_and_xx_updates_only(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 5 a => 1
            RANK.ADD b NX 9 a 7 b => 1
            RANK.ADD b nx CH 9 a 1 c 2 c => 1
            RANK.TOPN b 9 => [[1, "b", "7"], [2, "a", "5"], [3, "c", "1"]]
            RANK.ADD b XX 9 a 9 x => 0
            RANK.ADD b CH xx 8 a 9 x => 1
            RANK.ADD none XX 1 a => 0
            EXISTS none => 0
            RANK.SCORE b a => "8"
            RANK.ADD b XX WITHRANK 6 a 9 x => [[2, 1, "a", "6", "8"], [nil, nil, "x", nil, nil]]
            RANK.ADD b NX WITHRANK 1 a 9 x => [[3, 2, "a", "6", "6"], [1, nil, "x", "9", nil]]
            RANK.ADD b NX XX 1 a => ERR NX and XX are mutually exclusive
        "#);
    }

    fn best_writes_only_what_is_better(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD desc 5 a => 1
            RANK.ADD desc BEST CH 4 a 1 b => 1
            RANK.ADD desc BEST CH 5 a 6 a 2 a => 1
            RANK.SCORE desc a => "6"
            RANK.ADD desc BEST XX CH 7 a 7 x => 1
            RANK.TOPN desc 9 => [[1, "a", "7"], [2, "b", "1"]]
            RANK.ADD desc NX BEST 1 c => ERR NX and BEST are mutually exclusive
            RANK.ADD desc SET BEST 1 c => ERR SET and BEST are mutually exclusive
            RANK.ADD desc NX SET 1 c => 1
            RANK.CREATE asc ASC UPDATE BEST => +OK
            RANK.ADD asc 5 a 6 a 4 a => 1
            RANK.SCORE asc a => "4"
            RANK.ADD asc SET CH 9 a => 1
            RANK.SCORE asc a => "9"
            RANK.ADD asc NX CH 1 a 1 b => 1
            RANK.ADD asc WITHRANK 20 a 0 b => [[2, 2, "a", "9", "9"], [1, 1, "b", "0", "1"]]
            RANK.ADD asc CH 10 a 3 a 8 a => 1
            RANK.SCORE asc a => "3"
        "#);
    }

    fn withrank_tells_of_before_and_after_the_whole_command(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b WITHRANK 50 a 50 b 30 c => [[1, nil, "a", "50", nil], [1, nil, "b", "50", nil], [3, nil, "c", "30", nil]]
            RANK.ADD b WITHRANK 60 c 10 a 20 a => [[1, 3, "c", "60", "30"], [3, 1, "a", "20", "50"], [3, 1, "a", "20", "50"]]
            RANK.ADD b CH WITHRANK 60 c => [[1, 1, "c", "60", "60"]]
            RANK.ADD b WITHRANK -0 z => [[4, nil, "z", "0", nil]]
        "#);
        script(&mut server.connect_resp3(), r#"
            RANK.ADD b WITHRANK 0.1 y => [[4, nil, "y", 0.1f, nil]]
            RANK.ADD b XX WITHRANK 0.1 nobody => [[nil, nil, "nobody", nil, nil]]
            RANK.INCR b WITHRANK 100 y => [1, 4, "y", 100.1f, 0.1f]
            RANK.INCR b 0 y => 100.1f
        "#);
    }

    fn a_full_board_takes_only_who_is_better_than_the_worst(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b KEEP 3 5 a 6 b 7 c => 3
            # Equal to the worst is not better.
            RANK.ADD b KEEP 3 5 d 4 e => 0
            RANK.TOPN b 9 => [[1, "c", "7"], [2, "b", "6"], [3, "a", "5"]]
            RANK.ADD b KEEP 3 5.5 d => 1
            RANK.TOPN b 9 => [[1, "c", "7"], [2, "b", "6"], [3, "d", "5.5"]]
            # Whoever is on the board stays, as long as nobody better comes.
            RANK.ADD b KEEP 3 CH 1 c => 1
            RANK.ADD b KEEP 3 WITHRANK 2 x 1 y => [[3, nil, "x", "2", nil], [nil, nil, "y", nil, nil]]
            RANK.TOPN b 9 => [[1, "b", "6"], [2, "d", "5.5"], [3, "x", "2"]]
            # A batch that overshoots: each pair in its turn, and the count is of who stayed.
            RANK.ADD b KEEP 3 1 p 8 q 9 r 10 s 11 t => 3
            RANK.TOPN b 9 => [[1, "t", "11"], [2, "s", "10"], [3, "r", "9"]]
            RANK.ADD new KEEP 2 1 a 2 b 3 c 4 d => 2
            RANK.TOPN new 9 => [[1, "d", "4"], [2, "c", "3"]]
        "#);
    }

    fn who_is_evicted_within_a_command_counts_by_its_end(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b KEEP 2 3 a 4 b => 2
            # c evicts a; d evicts b.
            RANK.ADD b KEEP 2 CH WITHRANK 5 c 6 d => [[2, nil, "c", "5", nil], [1, nil, "d", "6", nil]]
            # x evicts c, then c evicts d: x and c, and c only changed.
            RANK.ADD b KEEP 2 CH 7 x 8 c => 2
            RANK.TOPN b 9 => [[1, "c", "8"], [2, "x", "7"]]
            RANK.ADD b KEEP 2 WITHRANK 9 y 1 x => [[1, nil, "y", "9", nil], [nil, 2, "x", nil, "7"]]
        "#);
    }

    fn the_worst_is_the_last_in_board_order(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE desc KEEP 3 => +OK
            RANK.ADD desc 5 a 5 b 5 c 9 z => 3
            RANK.TOPN desc 9 => [[1, "z", "9"], [2, "c", "5"], [2, "b", "5"]]
            RANK.CREATE asc ASC KEEP 3 => +OK
            RANK.ADD asc 5 a 5 b 5 c 1 z => 3
            RANK.TOPN asc 9 => [[1, "z", "1"], [2, "a", "5"], [2, "b", "5"]]
            RANK.ADD asc 5 d => 0
            RANK.ADD asc 6 e => 0
            RANK.ADD asc 4 f => 1
            RANK.TOPN asc 9 => [[1, "z", "1"], [2, "f", "4"], [3, "a", "5"]]
            RANK.ADD asc KEEP 3 1 x => SCHEMA the board already has KEEP 3: leave KEEP out, or change it with RANK.ALTER
            RANK.ADD asc KEEP 9 1 x => SCHEMA the board already has KEEP 3: leave KEEP out, or change it with RANK.ALTER
            RANK.COUNT asc => 3
        "#);
    }

    fn a_board_larger_than_keep_shrinks_to_the_best(server: Server) {
        script(&mut server.connect(), r#"
            ZADD b 5 a 4 b 3 c 2 d 1 e => 5
            COPY b middle => 1
            COPY b update => 1
            COPY b refused => 1
            COPY b skipped => 1
            COPY b same => 1
            RANK.ADD b KEEP 3 10 x => 1
            RANK.TOPN b 9 => [[1, "x", "10"], [2, "a", "5"], [3, "b", "4"]]
            RANK.ADD middle KEEP 3 2.5 x => 0
            RANK.TOPN middle 9 => [[1, "a", "5"], [2, "b", "4"], [3, "c", "3"]]
            RANK.ADD update KEEP 3 9 e => 0
            RANK.TOPN update 9 => [[1, "e", "9"], [2, "a", "5"], [3, "b", "4"]]
            # Whatever comes of the pair, KEEP n keeps the best n.
            RANK.ADD refused KEEP 3 0 x => 0
            RANK.COUNT refused => 3
            RANK.ADD skipped NX KEEP 3 9 a => 0
            RANK.COUNT skipped => 3
            RANK.ADD same KEEP 3 5 a => 0
            RANK.COUNT same => 3
        "#);
    }

    fn incr_adds_to_a_score(server: Server) {
        script(&mut server.connect(), r#"
            RANK.INCR b 5 a => "5"
            RANK.INCR b -7.5 a => "-2.5"
            RANK.INCR b 0 a => "-2.5"
            RANK.INCR b 0 new => "0"
            RANK.COUNT b => 2
            RANK.INCR b WITHRANK 10 a => [1, 2, "a", "7.5", "-2.5"]
            RANK.INCR b WITHRANK 10 c => [1, nil, "c", "10", nil]
            RANK.INCR b withrank AT 1700000000000 0 c => [1, 1, "c", "10", "10"]
            RANK.CREATE best ASC UPDATE BEST => +OK
            RANK.INCR best 5 a => "5"
            RANK.INCR best 5 a => "10"
            RANK.CREATE full KEEP 2 => +OK
            RANK.ADD full 5 a 6 b => 2
            RANK.INCR full 5 c => nil
            RANK.INCR full WITHRANK 5 c => nil
            RANK.INCR full -100 b => "-94"
            RANK.INCR full -93 c => "-93"
            RANK.TOPN full 9 => [[1, "a", "5"], [2, "c", "-93"]]
            # The only holder of a score keeps it.
            RANK.INCR only 7 a => "7"
            RANK.INCR only 0 a => "7"
            ZRANGE only 0 -1 WITHSCORES => ["a", "7"]
        "#);
    }

    fn incr_never_leaves_what_is_not_a_finite_number(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 1e308 a inf up -inf down => 3
            RANK.INCR b 1e308 a => OUTOFRANGE field 'score' takes a finite number: 1e+308 cannot be incremented by 1e+308
            RANK.INCR b inf new => ERR delta takes a finite number, got inf
            RANK.INCR b nan a => ERR delta takes a finite number, got nan
            RANK.INCR b -inf up => ERR delta takes a finite number, got -inf
            RANK.INCR b 1 up => OUTOFRANGE field 'score' takes a finite number: inf cannot be incremented by 1
            RANK.INCR b x a => ERR delta takes a finite number, got x
            RANK.TOPN b 9 => [[1, "up", "inf"], [2, "a", "1e+308"], [3, "down", "-inf"]]
        "#);
    }

    fn rem_counts_who_was_there(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 1 a 2 b 3 c => 3
            RANK.REM b a a nobody => 1
            RANK.REM b nobody => 0
            RANK.REM b c b => 2
            EXISTS b => 0
            RANK.REM b a => 0
            RANK.CREATE s KEEP 2 => +OK
            RANK.ADD s 1 a => 1
            EXPIRE s 1000 => 1
            RANK.REM s a => 1
            RANK.COUNT s => 0
            EXISTS s => 1
            TTL s => 1000
        "#);
    }

    fn trim_keeps_the_best(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 1 a 2 b 3 c 4 d 5 e 1 f => 6
            RANK.TRIM b 6 => 0
            RANK.TRIM b 100 RETURN => []
            RANK.TRIM b 4 RETURN => ["f", "a"]
            RANK.TRIM b 3 => 1
            RANK.TRIM b 1 return => ["d", "c"]
            RANK.TOPN b 9 => [[1, "e", "5"]]
            RANK.TRIM none 1 => 0
            RANK.TRIM none 1 RETURN => []
            RANK.CREATE asc ASC => +OK
            RANK.ADD asc 1 a 2 b 2 c 3 d => 4
            RANK.TRIM asc 1 RETURN => ["b", "c", "d"]
            RANK.TRIM asc 0 => 1
            RANK.COUNT asc => 0
            EXISTS asc => 1
            RANK.TRIM b 0 RETURN => ["e"]
            EXISTS b => 0
        "#);
    }

    fn at_is_accepted_where_no_time_is_kept(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b AT 1700000000000 5 a => 1
            RANK.ADD b CH AT 0 WITHRANK 6 a => [[1, 1, "a", "6", "5"]]
            ZRANGE b 0 -1 WITHSCORES => ["a", "6"]
        "#);
    }

    fn the_first_write_may_be_of_thousands(server: Server) {
        let mut con = server.connect();
        let pairs: String = (0..3000).map(|i| format!(" {} m{i}", i % 1000)).collect();
        expect(&mut con, &format!("RANK.ADD b{pairs}"), "3000");
        expect(&mut con, "RANK.GET b m999", r#"[1, "m999", "999"]"#);
        expect(&mut con, "RANK.GET b m1998", r#"[4, "m1998", "998"]"#);
        expect(&mut con, &format!("RANK.ADD full KEEP 10{pairs}"), "10");
        expect(&mut con, "RANK.COUNT full", "10");
        expect(&mut con, "RANK.TRIM b 2990", "10");
    }
}
