//! `BOARD n`: a write says how many fields its board has. Without such a board nothing is written and nothing is made.

use redis::Connection;

use crate::script::script;
use crate::support::*;
use crate::workload::{assert_same, check_boards, snapshot};

/// 2023-11-14T22:13:20Z
const AT: i64 = 1_700_000_000_000;

const NO_BOARD: &str = "NOBOARD the key has no board with a schema: create it with RANK.CREATE";

/// Every write that takes `BOARD`, for a board with two fields.
fn writes(key: &str, fields: &str) -> Vec<String> {
    let line = r#"{"member":"new","scores":{"a":1,"b":2}}"#;
    [
        format!("RANK.ADD KEY {fields} 1 2 new"),
        format!("RANK.ADD KEY {fields} 1 2 new 3 4 newer"),
        format!("RANK.ADD KEY CH {fields} NX 1 2 new"),
        format!("RANK.ADD KEY {fields} XX 1 2 new"),
        format!("RANK.ADD KEY WITHRANK {fields} BEST AT {AT} 1 2 new"),
        format!("RANK.ADD KEY {fields} * 2 new"),
        format!("RANK.MULTISET KEY {fields} 1 2 new"),
        format!("RANK.MULTISET KEY WITHRANK {fields} 1 2 new"),
        format!("RANK.INCR KEY {fields} 1 2 new"),
        format!("RANK.INCR KEY AT {AT} {fields} WITHRANK 1 2 new"),
        format!("RANK.LOAD KEY {fields} {line}"),
        format!("RANK.LOAD KEY {fields} NX {line}"),
        format!("RANK.LOAD KEY NX {fields} {line}"),
    ]
    .map(|line| line.replace("KEY", key))
    .to_vec()
}

/// That all of them are refused, and nothing changes.
#[track_caller]
fn assert_refused(con: &mut Connection, key: &str, fields: &str, error: &str) {
    let before = snapshot(con);
    for write in writes(key, fields) {
        expect(con, &write, error);
        assert_same(&before, &snapshot(con), &write);
    }
}

/// That all of them are done.
#[track_caller]
fn assert_done(con: &mut Connection, key: &str, fields: &str) {
    for write in writes(key, fields) {
        reply(con, &format!("RANK.REM {key} new newer"));
        let declared = reply(con, &write);
        let score = reply(con, &format!("RANK.SCORE {key} new"));
        assert_eq!(score == "nil", write.contains(" XX "), "{write}: {declared}, {score}");
        // The same reply as without BOARD.
        reply(con, &format!("RANK.REM {key} new newer"));
        expect(con, &write.replace(&format!(" {fields}"), ""), &declared);
        expect(con, &format!("RANK.SCORE {key} new"), &score);
    }
}

on_every_server! {
    fn a_write_needs_the_board_that_it_declares(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.ADD bare 5 a => 1
            RANK.CREATE one INT => ERR unknown option 'INT'
            RANK.CREATE one FIELD a INT => +OK
            RANK.CREATE two FIELD a INT FIELD b INT => +OK
            RANK.CREATE three FIELD a DIGITS 3 FIELD b DIGITS 3 FIELD c DIGITS 3 => +OK
            SET string x => +OK
        "#);
        for fields in ["BOARD 2", "board 2", "BOARD +02"] {
            assert_refused(&mut con, "none", fields, NO_BOARD);
            assert_refused(&mut con, "bare", fields, NO_BOARD);
            assert_refused(&mut con, "one", fields, "SCHEMA BOARD is 2, but the board has 1 field");
            assert_refused(&mut con, "three", fields, "SCHEMA BOARD is 2, but the board has 3 fields");
            assert_refused(&mut con, "string", fields, "WRONGTYPE Operation against a key holding the wrong kind of value");
            assert_done(&mut con, "two", fields);
        }
        assert_refused(&mut con, "two", "BOARD 1", "SCHEMA BOARD is 1, but the board has 2 fields");
        assert_refused(&mut con, "two", "BOARD 33", "SCHEMA BOARD is 33, but the board has 2 fields");
        assert_refused(&mut con, "two", "BOARD 9223372036854775807", "SCHEMA BOARD is 9223372036854775807, but the board has 2 fields");
        script(&mut con, &format!(r#"
            EXISTS none => 0
            # One field: a sorted set without a schema is not the board that was declared.
            RANK.ADD none BOARD 1 5 a => {NO_BOARD}
            RANK.ADD bare BOARD 1 5 a => {NO_BOARD}
            RANK.INCR bare BOARD 1 5 a => {NO_BOARD}
            RANK.MULTISET none BOARD 1 5 a => {NO_BOARD}
            RANK.LOAD bare BOARD 1 {{"member":"x","score":1}} => {NO_BOARD}
            ZRANGE bare 0 -1 WITHSCORES => ["a", "5"]
            RANK.ADD one BOARD 1 5 a => 1
            RANK.INCR one BOARD 1 2 a => 7
            RANK.LOAD one BOARD 1 {{"member":"x","score":1}} => 1
        "#));
    }

    fn every_layout_is_a_board(server: Server) {
        let mut con = server.connect();
        for (schema, fields) in [
            ("ASC", 1), ("FIELD a", 1), ("FIELD a TIES FIRST", 1), ("FIELD a DIGITS 3 FIELD b DIGITS 3", 2), ("FIELD a INT FIELD b ASC INT", 2),
            ("FIELD a INT FIELD b FLOAT FIELD c BITS 40 TIES LAST S KEEP 5", 3),
        ] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE b {schema}"), "+OK");
            let scores = "7 ".repeat(fields);
            expect(&mut con, &format!("RANK.ADD b BOARD {fields} {scores} x"), "1");
            let before = snapshot(&mut con);
            for other in [fields - 1, fields + 1].into_iter().filter(|other| *other > 0) {
                let text = if fields == 1 { "field" } else { "fields" };
                let error = format!("SCHEMA BOARD is {other}, but the board has {fields} {text}");
                expect(&mut con, &format!("RANK.ADD b BOARD {other} {scores} x"), &error);
                expect(&mut con, &format!("RANK.ADD b BOARD {other} {} x", "8 ".repeat(other)), &error);
                expect(&mut con, &format!("RANK.INCR b BOARD {other} {scores} x"), &error);
            }
            assert_same(&before, &snapshot(&mut con), schema);
            // An emptied board is still one.
            script(&mut con, &format!("RANK.CLEAR b => 1\n RANK.ADD b BOARD {fields} {scores} x => 1"));
        }
    }

    /// What a client does that hears of no board, whatever became of it.
    fn a_board_is_made_when_it_is_missed(server: Server) {
        let mut con = server.connect();
        let (write, create) = ("RANK.ADD b BOARD 2 1 2 x", "RANK.CREATE b FIELD a INT FIELD b INT");
        for end in ["DEL b", "UNLINK b", "PEXPIRE b 0", "EXPIREAT b 1", "RENAME b away", "FLUSHDB", "MOVE b 1"] {
            script(&mut con, &format!(r#"
                FLUSHALL => +OK
                {write} => {NO_BOARD}
                {create} => +OK
                {write} => 1
                RANK.INCR b BOARD 2 1 1 x => [2, 3]
            "#));
            let answer = reply(&mut con, end);
            assert!(["1", "+OK"].contains(&answer.as_str()), "{end}: {answer}");
            script(&mut con, &format!(r#"
                {write} => {NO_BOARD}
                RANK.INCR b BOARD 2 1 1 x => {NO_BOARD}
                EXISTS b => 0
                {create} => +OK
                {write} => 1
                RANK.SCORE b x => [1, 2]
            "#));
        }
        // What RANK.ALTER changes is not of the writer's business.
        script(&mut con, &format!("RANK.ALTER b KEEP 5 UPDATE BEST => +OK\n {write} => 0\n RANK.ADD b BOARD 2 3 3 y => 1"));
    }

    fn in_transactions_and_scripts(server: Server) {
        let mut con = server.connect();
        script(&mut con, &format!(r#"
            MULTI => +OK
            RANK.ADD b BOARD 2 1 2 x => +QUEUED
            RANK.CREATE b FIELD a INT FIELD b INT => +QUEUED
            RANK.ADD b BOARD 2 1 2 x => +QUEUED
            RANK.INCR b BOARD 3 1 2 3 x => +QUEUED
            RANK.MULTISET b WITHRANK BOARD 2 3 * x => +QUEUED
            DEL b => +QUEUED
            RANK.MULTISET b BOARD 2 1 2 x => +QUEUED
            EXEC => [{NO_BOARD}, +OK, 1, SCHEMA BOARD is 3, but the board has 2 fields, [[1, 1, "x", 3, 2, 1, 2]], 1, {NO_BOARD}]
            EXISTS b => 0
        "#));
        // A script that asks first.
        let body = "local reply = redis.pcall('RANK.ADD', KEYS[1], 'BOARD', 2, 1, 2, 'x') \
            if type(reply) == 'table' and string.find(reply.err, '^NOBOARD ') then \
                redis.call('RANK.CREATE', KEYS[1], 'FIELD', 'a', 'INT', 'FIELD', 'b', 'INT') \
                return {'made', redis.call('RANK.ADD', KEYS[1], 'BOARD', 2, 1, 2, 'x')} \
            end \
            return {'there', reply}";
        assert_eq!(show_result(&cmdv(&mut con, &["EVAL", body, "1", "b"])), r#"["made", 1]"#);
        assert_eq!(show_result(&cmdv(&mut con, &["EVAL", body, "1", "b"])), r#"["there", 0]"#);
        // One that does not is ended by the error.
        let body = "redis.call('RANK.INCR', KEYS[1], 'BOARD', 2, 1, 2, 'x') return 1";
        let answer = show_result(&cmdv(&mut con, &["EVAL", body, "1", "other"]));
        assert!(answer.starts_with(NO_BOARD), "{answer}");
        let library = "#!lua name=lib\n redis.register_function('put', function(keys, args) \
            return redis.call('RANK.ADD', keys[1], 'BOARD', #args - 1, unpack(args)) end)";
        assert_eq!(show_result(&cmdv(&mut con, &["FUNCTION", "LOAD", library])), r#""lib""#);
        script(&mut con, "FCALL put 1 b 5 6 y => 1\n RANK.SCORE b y => [5, 6]");
        let answer = reply(&mut con, "FCALL put 1 b 5 y");
        assert!(answer.starts_with("SCHEMA BOARD is 1, but the board has 2 fields"), "{answer}");
        expect(&mut con, "EXISTS other", "0");
        check_boards(&mut con, false);
    }

    fn with_periods(server: Server) {
        let mut con = server.connect();
        assert_refused(&mut con, "{g}", "BOARD 2", NO_BOARD);
        // No board: its periods are not asked about either.
        script(&mut con, &format!(r#"
            RANK.ADD {{g}} BOARD 2 WITHRANK PERIOD year 1 2 x => {NO_BOARD}
            RANK.CREATE {{g}} FIELD a INT FIELD b INT PERIOD YEAR {{g}}:year: PAST 50 => +OK
        "#));
        assert_refused(&mut con, "{g}", "BOARD 3", "SCHEMA BOARD is 3, but the board has 2 fields");
        script(&mut con, &format!(r#"
            EXISTS {{g}}:year:2023 => 0
            RANK.ADD {{g}} BOARD 2 AT {AT} 5 6 x => 1
            RANK.INCR {{g}} BOARD 2 AT {AT} WITHRANK PERIOD year 1 1 x => [1, 1, "x", 6, 7, 5, 6]
            RANK.TOPN {{g}}:year:2023 5 => [[1, "x", 6, 7]]
            # A period is a board too.
            RANK.ADD {{g}}:year:2023 BOARD 2 1 1 y => 1
            RANK.ADD {{g}}:year:2024 BOARD 2 1 1 y => {NO_BOARD}
            # The board is gone, its periods are not.
            DEL {{g}} => 1
            RANK.ADD {{g}} BOARD 2 AT {AT} 9 9 x => {NO_BOARD}
            RANK.TOPN {{g}}:year:2023 5 => [[1, "x", 6, 7], [2, "y", 1, 1]]
        "#));
        assert_done(&mut con, "{g}:year:2023", "BOARD 2");
        check_boards(&mut con, false);
    }

    fn on_shards(server: Server) {
        let mut con = server.connect();
        let keys: Vec<String> = redis::cmd("RANK.SHARDS").arg("game").arg(4).query(&mut con).expect("the keys");
        let key: String = redis::cmd("RANK.SHARD").arg("game").arg(4).arg("ann").query(&mut con).expect("a key");
        let home = keys.iter().position(|other| *other == key).expect("a shard");
        let other = &keys[(home + 1) % 4];
        for key in &keys {
            expect(&mut con, &format!("RANK.ADD {key} BOARD 2 1 2 ann"), NO_BOARD);
        }
        expect(&mut con, "DBSIZE", "0");
        for (shard, key) in keys.iter().enumerate() {
            expect(&mut con, &format!("RANK.CREATE {key} FIELD a INT FIELD b INT SHARD {shard} 4"), "+OK");
        }
        script(&mut con, &format!(r#"
            RANK.ADD {key} BOARD 2 1 2 ann => 1
            RANK.ADD {key} BOARD 2 WITHRANK * 5 ann => [[1, 1, "ann", 1, 5, 1, 2]]
            RANK.INCR {key} BOARD 2 1 1 ann => [2, 6]
            RANK.ADD {key} BOARD 3 1 2 3 ann => SCHEMA BOARD is 3, but the board has 2 fields
            RANK.ADD {other} BOARD 2 1 2 ann => SCHEMA 'ann' belongs to shard {home} of 4: write to '{key}'
            RANK.ADD {other} BOARD 2 * 2 ann => SCHEMA 'ann' belongs to shard {home} of 4: write to '{key}'
            RANK.COUNT {other} => 0
            DEL {key} => 1
            RANK.ADD {key} BOARD 2 1 2 ann => {NO_BOARD}
            EXISTS {key} => 0
        "#));
    }

    fn what_board_takes(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b FIELD a INT FIELD b INT => +OK");
        let before = snapshot(&mut con);
        for command in ["ADD b", "MULTISET b", "INCR b", "LOAD b", "ADD none", "MULTISET none", "INCR none", "LOAD none"] {
            let rest = if command.starts_with("LOAD") { r#"{"member":"x","scores":{"a":1,"b":2}}"# } else { "1 2 x" };
            for (words, error) in [
                ("BOARD 0", "ERR BOARD takes 1 or more, got 0"),
                ("BOARD -1", "ERR BOARD takes 1 or more, got -1"),
                ("BOARD x", "ERR BOARD takes 1 or more, got x"),
                ("BOARD 2.0", "ERR BOARD takes 1 or more, got 2.0"),
                ("BOARD 9223372036854775808", "ERR BOARD takes 1 or more, got 9223372036854775808"),
                ("BOARD 2 BOARD 2", "ERR BOARD is specified more than once"),
            ] {
                let got = reply(&mut con, &format!("RANK.{command} {words} {rest}"));
                assert_eq!(got, error, "{command} {words}");
            }
        }
        assert_same(&before, &snapshot(&mut con), "wrong calls");
        script(&mut con, r#"
            RANK.LOAD b NX NX {"member":"x","scores":{"a":1,"b":2}} => ERR NX is specified more than once
            RANK.LOAD b BOARD 2 => ERR wrong number of arguments for 'rank.load' command
            RANK.ADD b NX CH BOARD => ERR BOARD needs a value
            # Behind the scores it is a name.
            RANK.ADD b BOARD 2 1 2 BOARD => 1
            RANK.INCR b BOARD 2 1 1 BOARD => [2, 3]
            RANK.TOPN b 5 => [[1, "BOARD", 2, 3]]
            RANK.REM b BOARD => 1
            # Reads and removals have none.
            RANK.TOPN b 5 BOARD 2 => ERR unknown option 'BOARD'
        "#);
    }
}
