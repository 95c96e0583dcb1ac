//! What a board is: made, described, altered, cleared and rotated, with a schema and without.

use redis::Connection;

use crate::script::script;
use crate::support::*;

const FUNCTIONS: &str = "#!lua name=l
    redis.register_function('add', function(k, a) return redis.call('RANK.ADD', k[1], a[1], a[2]) end)
    local function top(k, a) return redis.call('RANK.TOPN', k[1], a[1]) end
    redis.register_function{function_name='top', callback=top, flags={'no-writes'}}";

/// The schema in the board's marker.
#[track_caller]
fn marker(con: &mut Connection, key: &str) -> String {
    let shown = reply(con, &format!("ZRANGE {key} 0 0 WITHSCORES"));
    let text = shown.strip_prefix(r#"["\x00rank 2 "#).and_then(|rest| rest.strip_suffix(r#"", "-inf"]"#));
    text.unwrap_or_else(|| panic!("no marker: {shown}")).into()
}

/// `RANK.INFO` of a board with one FLOAT field, as RESP2 has it.
fn info(members: u64, order: &str, keep: &str, update: &str, schema: &str) -> String {
    format!(
        "[\"members\", {members}, \"fields\", [[\"name\", \"score\", \"order\", \"{order}\", \"type\", \"FLOAT\"]], \
         \"ties\", \"SHARED\", \"keep\", {keep}, \"update\", \"{update}\", \"layout\", \"plain\", \"overflow\", 0, \
         \"since\", nil, \
         \"data\", nil, \"periods\", [], \"shard\", nil, \"schema\", {schema}]"
    )
}

on_every_server! {
    fn every_sorted_set_is_a_board(server: Server) {
        script(&mut server.connect(), r#"
            ZADD z 10 c 50 a 30 b => 3
            RANK.TOPN z 2 => [[1, "a", "50"], [2, "b", "30"]]
            RANK.ADD z 40 d => 1
            ZRANGE z 0 -1 WITHSCORES => ["c", "10", "b", "30", "d", "40", "a", "50"]
            # On a new key, what ZADD would leave, but for -0.
            RANK.ADD new 1 a -0 b -inf c inf d => 4
            ZRANGE new 0 -1 WITHSCORES => ["c", "-inf", "b", "0", "a", "1", "d", "inf"]
        "#);
        expect(&mut server.connect(), "RANK.INFO new", &info(4, "DESC", "nil", "SET", "nil"));
        expect(&mut server.connect(), "RANK.INFO none", "nil");
    }

    fn minus_zero_is_zero_in_both_encodings(server: Server) {
        let mut con = server.connect();
        for encoding in ["listpack", "skiplist"] {
            let most = if encoding == "listpack" { 128 } else { 0 };
            script(&mut con, &format!(r#"
                CONFIG SET zset-max-listpack-entries {most} => +OK
                RANK.ADD {encoding} -0 a -0.0 b 0 c -1e-400 d => 4
                OBJECT ENCODING {encoding} => "{encoding}"
                ZRANGE {encoding} 0 -1 WITHSCORES => ["a", "0", "b", "0", "c", "0", "d", "0"]
                RANK.INCR {encoding} -0 a => "0"
                RANK.INCR {encoding} -0 e => "0"
                RANK.FORSCORE {encoding} -0 => 1
                RANK.COUNT {encoding} -0 -0 => 5
                RANK.GET {encoding} a JSON => "{{\"rank\":1,\"member\":\"a\",\"score\":0}}"
            "#));
        }
    }

    fn info_describes_a_board(server: Server) {
        let (mut con, mut resp3) = (server.connect(), server.connect_resp3());
        script(&mut con, r#"
            RANK.CREATE b ASC KEEP 3 UPDATE BEST => +OK
            RANK.ADD b 5 a 7 b => 2
            RANK.CREATE plain => +OK
        "#);
        let schema = marker(&mut con, "b");
        assert_eq!(schema, "FIELD score ASC FLOAT KEEP 3 UPDATE BEST");
        expect(&mut con, "RANK.INFO b", &info(2, "ASC", "3", "BEST", &format!("\"2 {schema}\"")));
        let resp3_info = format!(
            "{{\"members\": 2, \"fields\": [{{\"name\": \"score\", \"order\": \"ASC\", \"type\": \"FLOAT\"}}], \
             \"ties\": \"SHARED\", \"keep\": 3, \"update\": \"BEST\", \"layout\": \"plain\", \"overflow\": 0, \
             \"since\": nil, \
             \"data\": nil, \"periods\": [], \"shard\": nil, \"schema\": \"2 {schema}\"}}"
        );
        expect(&mut resp3, "RANK.INFO b", &resp3_info);
        expect(&mut resp3, "RANK.INFO none", "nil");
        expect(&mut con, "RANK.INFO plain", &info(0, "DESC", "nil", "SET", "\"2 FIELD score DESC FLOAT\""));
    }

    fn the_same_schema_again_changes_nothing(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b => +OK\n RANK.CREATE k ASC KEEP 7 UPDATE BEST => +OK");
        let before = (marker(&mut con, "b"), marker(&mut con, "k"));
        script(&mut con, r#"
            RANK.CREATE b DESC => +OK
            RANK.CREATE b FIELD score => +OK
            rank.create b field score desc float ties shared update set => +OK
            RANK.CREATE b TIES SHARED => +OK
            RANK.CREATE k UPDATE BEST KEEP 007 ASC => +OK
            RANK.CREATE k FIELD score ASC KEEP 7 UPDATE BEST => +OK
            RANK.CREATE k LIKE k => +OK
            ZCARD b => 1
        "#);
        assert_eq!((marker(&mut con, "b"), marker(&mut con, "k")), before);
    }

    fn another_schema_is_refused(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b KEEP 5 => +OK\n RANK.CREATE other ASC => +OK\n RANK.ADD b 1 a => 1");
        let before = marker(&mut con, "b");
        for (other, difference) in [
            ("", "KEEP 5, asked for no KEEP: use RANK.ALTER to change it"),
            ("KEEP 6", "KEEP 5, asked for KEEP 6: use RANK.ALTER to change it"),
            ("KEEP 5 UPDATE BEST", "UPDATE SET, asked for UPDATE BEST: use RANK.ALTER to change it"),
            ("KEEP 5 DATA h", "no DATA, asked for DATA h: use RANK.ALTER to change it"),
            ("ASC KEEP 5", "FIELD score DESC FLOAT, asked for FIELD score ASC FLOAT: use another key (fields, ties, SHARD and SINCE cannot change)"),
            ("FIELD points KEEP 5", "FIELD score DESC FLOAT, asked for FIELD points DESC FLOAT: use another key (fields, ties, SHARD and SINCE cannot change)"),
            ("LIKE other", "FIELD score DESC FLOAT, asked for FIELD score ASC FLOAT; KEEP 5, asked for no KEEP: use another key (fields, ties, SHARD and SINCE cannot change)"),
        ] {
            let error = format!("SCHEMA the board has a different schema: {difference}");
            expect(&mut con, format!("RANK.CREATE b {other}").trim(), &error);
        }
        assert_eq!(marker(&mut con, "b"), before);
        expect(&mut con, "RANK.TOPN b 9", r#"[[1, "a", "1"]]"#);
    }

    fn like_takes_the_schema_of_another_board(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE a FIELD points ASC KEEP 2 UPDATE BEST => +OK
            RANK.ADD a 1 x => 1
            RANK.CREATE b LIKE a => +OK
            RANK.COUNT b => 0
            RANK.CREATE b LIKE a => +OK
            ZADD set 1 x 2 y 3 z => 3
            RANK.CREATE set LIKE a => +OK
            RANK.TOPN set 9 => [[1, "x", "1"], [2, "y", "2"]]
            RANK.CREATE c LIKE none => NOBOARD the key has no board with a schema: create it with RANK.CREATE
            EXISTS c => 0
            SET s x => +OK
            RANK.CREATE c LIKE s => WRONGTYPE Operation against a key holding the wrong kind of value
        "#);
        for board in ["a", "b", "set"] {
            assert_eq!(marker(&mut con, board), "FIELD points ASC FLOAT KEEP 2 UPDATE BEST");
        }
    }

    fn a_sorted_set_becomes_a_plain_board_only(server: Server) {
        script(&mut server.connect(), r#"
            ZADD z 5 a 3 b 4 c => 3
            RANK.CREATE z FIELD n INT => SCHEMA the sorted set already has members: use one FLOAT field with TIES SHARED, or ADOPT if its scores fit the schema
            RANK.CREATE z FIELD n FIELD m => SCHEMA the sorted set already has members: use one FLOAT field with TIES SHARED, or ADOPT if its scores fit the schema
            RANK.CREATE z TIES FIRST => SCHEMA the sorted set already has members: use one FLOAT field with TIES SHARED, or ADOPT if its scores fit the schema
            ZCARD z => 3
            RANK.CREATE z ASC => +OK
            RANK.TOPN z 9 => [[1, "b", "3"], [2, "c", "4"], [3, "a", "5"]]
            ZADD inf 1 a inf b => 2
            RANK.CREATE inf => SCHEMA the sorted set has infinite scores: a board with a schema takes finite scores only
            ZADD ninf 1 a -inf b => 2
            RANK.CREATE ninf => SCHEMA the sorted set has infinite scores: a board with a schema takes finite scores only
            ZADD both -inf a inf b => 2
            RANK.CREATE both KEEP 1 => SCHEMA the sorted set has infinite scores: a board with a schema takes finite scores only
            ZRANGE both 0 -1 WITHSCORES => ["a", "-inf", "b", "inf"]
        "#);
    }

    fn keep_trims_the_set_that_becomes_a_board(server: Server) {
        script(&mut server.connect(), r#"
            ZADD desc 1 a 2 b 3 c 4 d 5 e => 5
            COPY desc asc => 1
            EXPIRE desc 1000 => 1
            RANK.CREATE desc KEEP 2 => +OK
            RANK.TOPN desc 9 => [[1, "e", "5"], [2, "d", "4"]]
            TTL desc => 1000
            RANK.CREATE asc ASC KEEP 2 => +OK
            RANK.TOPN asc 9 => [[1, "a", "1"], [2, "b", "2"]]
            ZCARD asc => 3
        "#);
    }

    fn alter_changes_the_bound_and_the_rule(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b => +OK\n RANK.ADD b 1 a 2 b 3 c => 3\n EXPIRE b 1000 => 1");
        for (change, schema) in [
            ("KEEP 3 UPDATE BEST", "FIELD score DESC FLOAT KEEP 3 UPDATE BEST"),
            ("UPDATE SET", "FIELD score DESC FLOAT KEEP 3"),
            ("KEEP 2", "FIELD score DESC FLOAT KEEP 2"),
            ("KEEP 2", "FIELD score DESC FLOAT KEEP 2"),
            ("DATA h KEEP 2", "FIELD score DESC FLOAT KEEP 2 DATA h"),
            ("UPDATE BEST DATA h OWNED", "FIELD score DESC FLOAT KEEP 2 UPDATE BEST DATA h OWNED b"),
            ("nodata", "FIELD score DESC FLOAT KEEP 2 UPDATE BEST"),
            ("UPDATE BEST NOKEEP", "FIELD score DESC FLOAT UPDATE BEST"),
        ] {
            expect(&mut con, &format!("RANK.ALTER b {change}"), "+OK");
            assert_eq!(marker(&mut con, "b"), schema, "after {change}");
        }
        script(&mut con, r#"
            RANK.TOPN b 9 => [[1, "c", "3"], [2, "b", "2"]]
            TTL b => 1000
            RANK.ADD b 1 b 9 d => 1
            RANK.TOPN b 9 => [[1, "d", "9"], [2, "c", "3"], [3, "b", "2"]]
            RANK.ALTER none KEEP 1 => NOBOARD the key has no board with a schema: create it with RANK.CREATE
            ZADD z 1 a => 1
            RANK.ALTER z KEEP 1 => NOBOARD the key has no board with a schema: create it with RANK.CREATE
            EXISTS none => 0
        "#);
    }

    fn clear_keeps_schema_and_expiry(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b ASC KEEP 9 => +OK\n RANK.ADD b 1 a 2 b => 2\n EXPIRE b 1000 => 1");
        let before = marker(&mut con, "b");
        script(&mut con, r#"
            RANK.CLEAR b => 2
            TTL b => 1000
            RANK.COUNT b => 0
            RANK.CLEAR b => 0
            ZADD z 1 a 2 b => 2
            RANK.CLEAR z => 2
            EXISTS z => 0
            RANK.CLEAR z => 0
        "#);
        assert_eq!(marker(&mut con, "b"), before);
    }

    fn rotate_starts_anew_under_the_same_schema(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE week ASC KEEP 9 => +OK\n RANK.ADD week 1 a 2 b => 2\n EXPIRE week 1000 => 1");
        let schema = marker(&mut con, "week");
        script(&mut con, r#"
            RANK.ROTATE week week:1 => 2
            RANK.TOPN week:1 9 => [[1, "a", "1"], [2, "b", "2"]]
            TTL week:1 => 1000
            RANK.COUNT week => 0
            TTL week => -1
            RANK.ADD week 5 c => 1
            RANK.ROTATE week week:1 => ERR the archive key already exists
            RANK.ROTATE week week => ERR the archive key already exists
            SET s x => +OK
            RANK.ROTATE week s => ERR the archive key already exists
            RANK.TOPN week 9 => [[1, "c", "5"]]
            GET s => "x"
            RANK.ROTATE none archive => ERR no such key
            EXISTS none archive => 0
            ZADD z 1 a 2 b => 2
            RANK.ROTATE z z:1 => 2
            EXISTS z => 0
            ZRANGE z:1 0 -1 => ["a", "b"]
        "#);
        assert_eq!([marker(&mut con, "week:1"), marker(&mut con, "week")], [schema.clone(), schema]);
    }

    fn the_marker_never_shows_and_never_counts(server: Server) {
        let mut con = server.connect();
        for order in ["ASC", "DESC"] {
            let (best, worst) = if order == "ASC" { ("-5", "5") } else { ("5", "-5") };
            let rows = format!(r#"[[1, "a", "{best}"], [2, "b", "0"], [3, "c", "{worst}"]]"#);
            script(&mut con, &format!(r#"
                RANK.CREATE {order} {order} => +OK
                RANK.TOPN {order} 9 => []
                RANK.STATS {order} => nil
                RANK.SCOREAT {order} 0 => nil
                RANK.PAGE {order} 1 5 => [1, 0, 0, []]
                RANK.BYSCORE {order} -inf inf => []
                RANK.FORSCORE {order} 0 => 1
                RANK.ADD {order} WITHRANK {best} a 0 b {worst} c => [[1, nil, "a", "{best}", nil], [2, nil, "b", "0", nil], [3, nil, "c", "{worst}", nil]]
                RANK.TOPN {order} 9 => {rows}
                RANK.RANGE {order} 1 -1 => {rows}
                RANK.RANGE {order} -1 -1 => [[3, "c", "{worst}"]]
                RANK.RANGE {order} -3 -3 => [[1, "a", "{best}"]]
                RANK.RANGE {order} -9 9 ORDINAL => {rows}
                RANK.TOPN {order} 9 DENSE => {rows}
                RANK.PAGE {order} 2 2 => [2, 2, 3, [[3, "c", "{worst}"]]]
                RANK.AROUND {order} c 1 FILL => {rows}
                RANK.AROUND {order} a 1 FILL => {rows}
                RANK.AROUND {order} a 2 => {rows}
                RANK.BYSCORE {order} -inf +inf => {rows}
                RANK.COUNT {order} => 3
                RANK.COUNT {order} -inf inf => 3
                RANK.STATS {order} => [[1, ["a"]], [2, ["b"]], [3, ["c"]]]
                RANK.FORSCORE {order} {worst} ORDINAL => 4
                RANK.PERCENTILE {order} c => "0"
                RANK.SCOREAT {order} 0 => "{worst}"
                RANK.SCOREAT {order} 100 => "{best}"
                RANK.TRIM {order} 2 RETURN => ["c"]
                RANK.CLEAR {order} => 2
            "#));
            let name = format!(r#""\x00rank 2 {}""#, marker(&mut con, order));
            script(&mut con, &format!(r#"
                RANK.GET {order} {name} => nil
                RANK.SCORE {order} {name} => nil
                RANK.QUERY {order} {name} => nil
                RANK.AROUND {order} {name} 1 => nil
                RANK.PERCENTILE {order} {name} => nil
                RANK.AMONG {order} 1 {name} => []
                RANK.REM {order} {name} => 0
                ZCARD {order} => 1
            "#));
        }
    }

    fn nobody_can_take_the_markers_name(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b KEEP 3 => +OK\n RANK.ADD b 1 a => 1");
        let schema = marker(&mut con, "b");
        for write in ["ADD b 5", "ADD b NX 5", "INCR b 5", "MULTISET b 5"] {
            let got = reply(&mut con, &format!(r#"RANK.{write} "\x00rank 2 {schema}""#));
            assert!(got.starts_with("ERR a member name cannot start with"), "{write} replied {got}");
            assert_eq!(marker(&mut con, "b"), schema, "{write} replied {got}");
        }
        expect(&mut con, "RANK.TOPN b 9", r#"[[1, "a", "1"]]"#);
    }

    fn a_board_moves_with_its_schema(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE b ASC UPDATE BEST => +OK
            RANK.ADD b 5 a => 1
            RENAME b c => +OK
            RANK.ADD c 9 a 1 b => 1
            RANK.TOPN c 9 => [[1, "b", "1"], [2, "a", "5"]]
            COPY c d => 1
            RANK.TOPN d 9 => [[1, "b", "1"], [2, "a", "5"]]
            ZREM d a b => 2
            RANK.COUNT d => 0
            RANK.ADD d 3 x 2 x 4 x => 1
            RANK.SCORE d x => "2"
        "#);
    }

    fn a_board_travels_by_dump_and_restore(kind: Kind) {
        let (from, to) = (Server::builder(kind).start(), Server::builder(kind).start());
        let mut con = from.connect();
        script(&mut con, r#"
            RANK.CREATE plain ASC KEEP 3 => +OK
            RANK.ADD plain 5 a 3 b => 2
            RANK.CREATE spilled FIELD n INT TIES FIRST => +OK
            RANK.ADD spilled 5 a 7 b => 2
        "#);
        for key in ["plain", "spilled"] {
            let Ok(redis::Value::BulkString(dump)) = cmd(&mut con, &format!("DUMP {key}")) else { panic!("no dump") };
            let restore = [b"RESTORE".as_slice(), b"c", b"0", &dump, b"REPLACE"];
            assert_eq!(show_result(&cmdv(&mut to.connect(), &restore)), "+OK");
            for read in ["INFO K", "TOPN K 9", "GET K b", "GET K nobody"] {
                let expected = reply(&mut con, &format!("RANK.{}", read.replace('K', key)));
                expect(&mut to.connect(), &format!("RANK.{}", read.replace('K', "c")), &expected);
            }
            expect(&mut to.connect(), "RANK.ADD c 1 z", "1");
            expect(&mut to.connect(), "RANK.REM c z a", "2");
        }
    }

    fn an_unknown_format_is_an_error_and_no_plain_board(server: Server) {
        let mut con = server.connect();
        let unknown = "SCHEMA the board has format version 3, this module reads version 2: upgrade redis-rank";
        // The format before stores other scores: reading it as this one would give wrong answers.
        let old = "SCHEMA the board has format version 1, this module reads version 2: \
                   export it with RANK.SCAN of the older module, and load it into a new board";
        for (version, error) in [("3", unknown), ("1", old)] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!(r#"ZADD b -inf "\x00rank {version} FIELD a DESC INT" 5 a"#), "2");
            for command in ["TOPN b 1", "ADD b 6 b", "INFO b", "COUNT b", "CREATE b", "CLEAR b", "REM b a", "GET b a", "VERIFY b REPAIR"] {
                expect(&mut con, &format!("RANK.{command}"), error);
            }
            expect(&mut con, "ZCARD b", "2");
        }
    }

    fn the_data_outlive_the_module(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE b ASC => +OK
            RANK.ADD b 5 a 3 b => 2
            RANK.ADD plain 1 x => 1
            MODULE UNLOAD rank => +OK
            ZRANGE b (-inf inf BYSCORE WITHSCORES => ["b", "3", "a", "5"]
            ZRANGE plain 0 -1 WITHSCORES => ["x", "1"]
            ZADD b 1 c => 1
        "#);
        let module = module_path();
        let load = ["MODULE", "LOAD", module.to_str().expect("a UTF-8 path")];
        assert_eq!(show_result(&cmdv(&mut con, &load)), "+OK");
        expect(&mut con, "RANK.TOPN b 9", r#"[[1, "c", "1"], [2, "b", "3"], [3, "a", "5"]]"#);
    }

    fn boards_work_in_transactions_scripts_and_functions(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            MULTI => +OK
            RANK.CREATE b => +QUEUED
            RANK.ADD b 5 a 7 b => +QUEUED
            RANK.GET b a => +QUEUED
            RANK.ADD b x c => +QUEUED
            RANK.TOPN b 1 JSON => +QUEUED
            EXEC => [+OK, 2, [2, "a", "5"], OUTOFRANGE field 'score' takes a finite number, got x, "[{\"rank\":1,\"member\":\"b\",\"score\":7}]"]
            EVAL "return redis.call('RANK.ADD', KEYS[1], 'WITHRANK', 9, 'c')" 1 b => [[1, nil, "c", "9", nil]]
            EVAL "return redis.call('RANK.GET', KEYS[1], 'nobody')" 1 b => nil
            EVAL_RO "return redis.pcall('RANK.ADD', KEYS[1], 9, 'd')" 1 b => ERR Write commands are not allowed from read-only scripts.
            EVAL "return redis.pcall('RANK.ADD', KEYS[1], 'x', 'd')" 1 b => OUTOFRANGE field 'score' takes a finite number, got x
            EVAL_RO "return redis.call('RANK.TOPN', KEYS[1], 2)" 1 b => [[1, "c", "9"], [2, "b", "7"]]
            EVAL "redis.setresp(3); return redis.call('RANK.SCORE', KEYS[1], 'c').double" 1 b => 9
        "#);
        assert_eq!(show_result(&cmdv(&mut con, &["FUNCTION", "LOAD", FUNCTIONS])), "\"l\"");
        script(&mut con, r#"
            FCALL add 1 b 11 d => 1
            FCALL_RO top 1 b 1 => [[1, "d", "11"]]
        "#);
    }
}
