//! A score `*`: the field stays as it is, and the others are written. (Random writes: model, periods_model.)

use crate::script::script;
use crate::support::stored::info;
use crate::support::*;
use crate::workload::{assert_same, check_boards, snapshot, verify};

/// 2023-11-14T22:13:20Z
const AT: i64 = 1_700_000_000_000;
const MONTH_MS: i64 = 30 * 86_400_000;

on_every_server! {
    fn one_field_is_set_and_the_others_stay(server: Server) {
        let mut con = server.connect();
        for schema in [
            // Packed; coded, and all of it fits; coded, and some does not.
            "FIELD gold DIGITS 3 FIELD silver ASC DIGITS 3 FIELD bronze RANGE -500 500",
            "FIELD gold INT FIELD silver ASC INT FIELD bronze INT",
            "FIELD gold INT FIELD silver INT FIELD bronze INT TIES FIRST",
            "FIELD gold BITS 40 FIELD silver BITS 40 FIELD bronze BITS 40 TIES JOINED S",
        ] {
            script(&mut con, &format!(r#"
                FLUSHALL => +OK
                RANK.CREATE b {schema} => +OK
                RANK.ADD b 46 37 38 gbr 26 18 26 chn 10 18 14 fra => 3
                RANK.ADD b CH * 40 * gbr => 1
                RANK.SCORE b gbr => [46, 40, 38]
                RANK.ADD b CH 47 * * gbr * * 30 chn => 2
                RANK.SCORE b gbr => [47, 40, 38]
                RANK.SCORE b chn => [26, 18, 30]
                RANK.MULTISET b CH * 1 2 chn => 1
                RANK.SCORE b chn => [26, 1, 2]
                # One after the other, also of the same member.
                RANK.ADD b CH 5 * * gbr * 6 * gbr * * 7 gbr => 1
                RANK.SCORE b gbr => [5, 6, 7]
                RANK.ADD b CH * 5 * gbr * 6 * gbr => 0
                # What is there already is no change.
                RANK.ADD b CH 5 * 7 gbr * * 2 chn => 0
                RANK.ADD b CH XX * 99 * gbr * 9 * nobody => 1
                RANK.ADD b CH NX * 1 * gbr => 0
                RANK.SCORE b gbr => [5, 99, 7]
                RANK.SCORE b fra => [10, 18, 14]
                RANK.COUNT b => 3
            "#));
            assert_eq!(verify(&mut con, b"b", false), [0; 5], "{schema}");
        }
    }

    /// A member that fits its score and one that does not are stored differently: both ways, by one field.
    fn a_member_begins_and_ceases_to_fit(server: Server) {
        let mut con = server.connect();
        for ties in ["", "TIES FIRST", "TIES LAST S", "TIES JOINED"] {
            script(&mut con, &format!(r#"
                FLUSHALL => +OK
                RANK.CREATE b FIELD a BITS 4 FIELD b FLOAT FIELD c ASC INT {ties} => +OK
                RANK.ADD b 1 2 3 x 1 2 4 y => 2
            "#));
            assert_eq!(info(&mut con, "b", "overflow"), "0", "{ties}");
            script(&mut con, r#"
                RANK.ADD b CH * * 9223372036854775807 x => 1
                RANK.SCORE b x => [1, "2", 9223372036854775807]
            "#);
            assert_eq!(info(&mut con, "b", "overflow"), "1", "{ties}");
            script(&mut con, r#"
                # The long one stays.
                RANK.ADD b CH 7 0.1 * x * 0.123456789 * y => 2
                RANK.SCORE b x => [7, "0.1", 9223372036854775807]
                RANK.SCORE b y => [1, "0.123456789", 4]
                RANK.ADD b CH * * 9223372036854775807 x => 0
                RANK.ADD b CH * 2 3 x * 2 * y => 2
                RANK.SCORE b x => [7, "2", 3]
                RANK.SCORE b y => [1, "2", 4]
            "#);
            assert_eq!(info(&mut con, "b", "overflow"), "0", "{ties}");
            assert_eq!(verify(&mut con, b"b", false), [0; 5], "{ties}");
        }
        // Names that are stored like what does not fit.
        for name in [r#""\x00a""#, r#""\x01""#, r#""\x02\x80""#] {
            script(&mut con, &format!("RANK.ADD b 1 2 3 {name} => 1\n RANK.ADD b CH * 5 * {name} => 1\n RANK.SCORE b {name} => [1, \"5\", 3]"));
        }
        assert_eq!(verify(&mut con, b"b", false), [0; 5]);
    }

    fn a_new_member_starts_from_0_or_the_nearest_value_in_range(server: Server) {
        let mut con = server.connect();
        for (schema, scores) in [
            ("FIELD a DIGITS 2 FIELD b DIGITS 2", "[0, 1]"),
            ("FIELD a INT FIELD b DIGITS 2", "[0, 1]"),
            ("FIELD a FLOAT FIELD b DIGITS 2", "[\"0\", 1]"),
            ("FIELD a BITS 62 FIELD b DIGITS 2", "[0, 1]"),
            ("FIELD a RANGE 5 10 FIELD b DIGITS 2", "[5, 1]"),
            ("FIELD a RANGE -10 -5 FIELD b DIGITS 2", "[-5, 1]"),
            ("FIELD a RANGE -10 10 FIELD b DIGITS 2", "[0, 1]"),
            ("FIELD a RANGE 5 10 FIELD b DIGITS 2 TIES FIRST", "[5, 1]"),
            ("FIELD a ASC RANGE 4611686018427387904 9223372036854775807 FIELD b DIGITS 2", "[4611686018427387904, 1]"),
        ] {
            script(&mut con, &format!(r#"
                FLUSHALL => +OK
                RANK.CREATE b {schema} => +OK
                RANK.ADD b * 1 x => 1
                RANK.SCORE b x => {scores}
                RANK.ADD b BEST * 1 y => 1
                RANK.SCORE b y => {scores}
                RANK.ADD b NX * 1 z * 9 x => 1
                RANK.SCORE b x => {scores}
                RANK.SCORE b z => {scores}
                RANK.ADD b XX * 1 stranger => 0
                RANK.SCORE b stranger => nil
                RANK.MULTISET b * 1 w => 1
            "#));
        }
    }

    fn best_compares_the_scores_that_result(server: Server) {
        let mut con = server.connect();
        for (option, rule) in [("BEST ", ""), ("", " UPDATE BEST")] {
            for schema in ["FIELD a DIGITS 3 FIELD b ASC DIGITS 3", "FIELD a INT FIELD b ASC INT", "FIELD a INT FIELD b ASC INT TIES FIRST"] {
                script(&mut con, &format!(r#"
                    FLUSHALL => +OK
                    RANK.CREATE k {schema}{rule} => +OK
                    RANK.ADD k 5 50 x => 1
                    # Lower is better in b.
                    RANK.ADD k CH {option}* 60 x => 0
                    RANK.ADD k CH {option}* 50 x => 0
                    RANK.ADD k CH {option}* 40 x => 1
                    RANK.ADD k CH {option}4 * x => 0
                    RANK.ADD k CH {option}6 * x => 1
                    RANK.SCORE k x => [6, 40]
                    RANK.ADD k CH {option}7 99 x * 98 x * 99 x => 1
                    RANK.SCORE k x => [7, 98]
                    RANK.ADD k CH SET * 99 x => 1
                    RANK.SCORE k x => [7, 99]
                    RANK.ADD k XX CH {option}* 1 x => 1
                    RANK.SCORE k x => [7, 1]
                "#));
            }
        }
    }

    fn each_period_judges_for_itself(server: Server) {
        let mut con = server.connect();
        let december = AT + MONTH_MS;
        for schema in ["FIELD a DIGITS 3 FIELD b DIGITS 3", "FIELD a INT FIELD b INT", "FIELD a INT FIELD b INT TIES LAST"] {
            script(&mut con, &format!(r#"
                FLUSHALL => +OK
                RANK.CREATE {{g}} {schema} UPDATE BEST PERIOD MONTH {{g}}:month: PAST 400 PERIOD YEAR {{g}}:year: PAST 50 => +OK
                RANK.ADD {{g}} AT {AT} 5 50 ann => 1
                # December has no ann yet: 0 in the field that stays.
                RANK.ADD {{g}} AT {december} WITHRANK PERIOD month * 20 ann => [[1, nil, "ann", 0, 20, nil, nil]]
                RANK.SCORE {{g}} ann => [5, 50]
                RANK.SCORE {{g}} ann PERIOD year 2023 => [5, 50]
                RANK.SCORE {{g}} ann PERIOD month 2023-11 => [5, 50]
                RANK.ADD {{g}} AT {december} WITHRANK PERIOD month * 30 ann => [[1, 1, "ann", 0, 30, 0, 20]]
                RANK.ADD {{g}} AT {december} WITHRANK * 60 ann => [[1, 1, "ann", 5, 60, 5, 50]]
                RANK.SCORE {{g}} ann PERIOD month 2023-12 => [0, 60]
                # Better than 0, not better than 5.
                RANK.ADD {{g}} AT {december} CH 4 * ann => 0
                RANK.SCORE {{g}} ann => [5, 60]
                RANK.SCORE {{g}} ann PERIOD month 2023-12 => [4, 60]
                RANK.ADD {{g}} AT {december} SET CH 3 * ann => 1
                RANK.SCORE {{g}} ann => [3, 60]
                RANK.SCORE {{g}} ann PERIOD year 2023 => [3, 60]
                RANK.SCORE {{g}} ann PERIOD month 2023-12 => [3, 60]
                RANK.SCORE {{g}} ann PERIOD month 2023-11 => [5, 50]
                # Only who is there.
                RANK.ADD {{g}} AT {AT} 1 1 bob => 1
                RANK.ADD {{g}} AT {december} XX CH * 2 bob => 1
                RANK.SCORE {{g}} bob => [1, 2]
                RANK.SCORE {{g}} bob PERIOD month 2023-12 => nil
                RANK.SCORE {{g}} bob PERIOD year 2023 => [1, 2]
            "#));
            check_boards(&mut con, false);
        }
    }

    fn withrank_tells_all_scores_before_and_after(server: Server) {
        let (mut con, mut resp3) = (server.connect(), server.connect_resp3());
        for schema in ["FIELD a DIGITS 3 FIELD b RANGE 5 99", "FIELD a INT FIELD b RANGE 5 99", "FIELD a INT FIELD b RANGE 5 99 TIES FIRST"] {
            script(&mut con, &format!(r#"
                FLUSHALL => +OK
                RANK.CREATE k {schema} => +OK
                RANK.ADD k WITHRANK 5 * x 7 9 y => [[2, nil, "x", 5, 5, nil, nil], [1, nil, "y", 7, 9, nil, nil]]
                RANK.ADD k WITHRANK 8 * x * 10 y => [[1, 2, "x", 8, 5, 5, 5], [2, 1, "y", 7, 10, 7, 9]]
                RANK.ADD k WITHRANK 8 * x => [[1, 1, "x", 8, 5, 8, 5]]
                RANK.ADD k WITHRANK BEST 7 * x => [[1, 1, "x", 8, 5, 8, 5]]
                RANK.ADD k WITHRANK 1 * x * 6 x => [[2, 1, "x", 1, 6, 8, 5], [2, 1, "x", 1, 6, 8, 5]]
                RANK.ADD k WITHRANK XX * 6 nobody => [[nil, nil, "nobody", nil, nil, nil, nil]]
                RANK.ADD k WITHRANK KEEP 2 * 7 z => [[nil, nil, "z", nil, nil, nil, nil]]
                RANK.ADD k WITHRANK KEEP 2 9 * z 1 * x => [[1, nil, "z", 9, 5, nil, nil], [nil, 2, "x", nil, nil, 1, 6]]
                RANK.INCR k WITHRANK 1 1 z => [1, 1, "z", 10, 6, 9, 5]
                RANK.MULTISET k WITHRANK * 8 z => [[1, 1, "z", 10, 8, 10, 6]]
            "#));
        }
        script(&mut resp3, r#"
            RANK.CREATE f FIELD a FIELD b => +OK
            RANK.ADD f WITHRANK 0.5 * x => [[1, nil, "x", 0.5f, 0f, nil, nil]]
            RANK.ADD f WITHRANK * -0.25 x => [[1, 1, "x", 0.5f, -0.25f, 0.5f, 0f]]
        "#);
    }

    fn the_time_moves_only_with_a_score(server: Server) {
        let mut con = server.connect();
        for (ties, after) in [("FIRST", 30_000), ("LAST", 30_000), ("JOINED", 10_000)] {
            for scores in [["5", "6"], ["5", "9007199254740993"]] {
                let [a, b] = scores;
                script(&mut con, &format!(r#"
                    FLUSHALL => +OK
                    RANK.CREATE k FIELD a INT FIELD b INT FIELD c INT TIES {ties} SINCE {AT} => +OK
                    RANK.ADD k AT {joined} {a} {b} 7 x => 1
                    RANK.ADD k CH AT {again} * {b} * x {a} * 7 x * * 7 x => 0
                    RANK.ADD k BEST CH AT {again} * * 6 x => 0
                    RANK.GET k x WITHTIME => [1, "x", {a}, {b}, 7, {joined}]
                    RANK.ADD k CH AT {later} * * 8 x => 1
                    RANK.GET k x WITHTIME => [1, "x", {a}, {b}, 8, {moved}]
                    # A new member has the time of its write.
                    RANK.ADD k AT {again} {a} * * y => 1
                    RANK.GET k y WITHTIME => [2, "y", {a}, 0, 0, {again}]
                "#, joined = AT + 10_000, again = AT + 20_000, later = AT + 30_000, moved = AT + after));
            }
        }
    }

    fn attributes_and_bounds_go_with_it(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE b FIELD a INT FIELD b INT KEEP 2 DATA h OWNED => +OK
            RANK.ADD b DATA {"n":1} 5 * x => 1
            RANK.ADD b DATA {"n":2} * 7 x => 0
            RANK.GET b x WITHDATA => [1, "x", 5, 7, ["n", "2"]]
            RANK.ADD b DATA {"n":3} 6 * y => 1
            # Not better than the worst.
            RANK.ADD b DATA {"n":4} * 9 z => 0
            HEXISTS h z => 0
            RANK.ADD b 7 * z => 1
            HKEYS h => ["y"]
            RANK.TOPN b 9 => [[1, "z", 7, 0], [2, "y", 6, 0]]
            # Down to the last place: who is on the board stays.
            RANK.ADD b CH 1 * z => 1
            RANK.TOPN b 9 => [[1, "y", 6, 0], [2, "z", 1, 0]]
        "#);
        check_boards(&mut con, false);
    }

    fn in_transactions_and_scripts(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE b FIELD a INT FIELD b INT => +OK
            MULTI => +OK
            RANK.ADD b 1 * x => +QUEUED
            RANK.ADD b * 2 x => +QUEUED
            RANK.ADD b * * x => +QUEUED
            RANK.SCORE b x => +QUEUED
            EXEC => [1, 0, ERR a member needs at least one score other than *, [1, 2]]
            EVAL "redis.call('RANK.ADD', KEYS[1], '*', 5, 'x') return redis.call('RANK.SCORE', KEYS[1], 'x')" 1 b => [1, 5]
        "#);
    }

    fn where_it_is_an_error(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE two FIELD a INT FIELD b DIGITS 2 => +OK
            RANK.CREATE three FIELD a INT FIELD b INT FIELD c INT => +OK
            RANK.CREATE one FIELD a INT => +OK
            RANK.CREATE float TIES FIRST => +OK
            ZADD bare 5 a => 1
            RANK.ADD two 1 2 a 3 4 b => 2
        "#);
        let before = snapshot(&mut con);
        script(&mut con, r#"
            RANK.ADD two * * a => ERR a member needs at least one score other than *
            RANK.ADD two 5 6 a * * b => ERR a member needs at least one score other than *
            RANK.MULTISET two * * a => ERR a member needs at least one score other than *
            RANK.ADD two 5 * a * 100 b => OUTOFRANGE field 'b' takes 0 to 99, got 100
            RANK.ADD two ** 5 a => OUTOFRANGE field 'a' takes a signed 64-bit integer, got **
            RANK.ADD two *5 5 a => OUTOFRANGE field 'a' takes a signed 64-bit integer, got *5
            # Too few or too many scores are not an option.
            RANK.ADD three * 5 a => ERR expected 3 scores before each member, got 3 arguments (options go first)
            RANK.ADD two * 5 * a => ERR expected 2 scores before each member, got 4 arguments (options go first)
            RANK.ADD two NX * a => ERR expected 2 scores before each member, got 2 arguments (options go first)
            RANK.INCR three * 5 a => ERR expected 3 deltas and a member, got 3 arguments (options go first)
            # One field.
            RANK.ADD one * a => OUTOFRANGE field 'a' takes a signed 64-bit integer, got *
            RANK.ADD float * a => OUTOFRANGE field 'score' takes a finite number, got *
            RANK.ADD bare * a => OUTOFRANGE field 'score' takes a number, inf or -inf, got *
            RANK.ADD none * a => OUTOFRANGE field 'score' takes a number, inf or -inf, got *
            RANK.MULTISET one * a => OUTOFRANGE field 'a' takes a signed 64-bit integer, got *
            RANK.MULTISET none * a => OUTOFRANGE field 'score' takes a number, inf or -inf, got *
            # Increments have 0, and lines leave nothing out.
            RANK.INCR two * 5 a => ERR delta takes a signed 64-bit integer, got *
            RANK.INCR bare * a => ERR delta takes a finite number, got *
            # A board that MULTISET would make.
            RANK.MULTISET none * 5 a => NOBOARD the board does not exist: * needs a board that RANK.CREATE made
            RANK.MULTISET none 5 * * a => NOBOARD the board does not exist: * needs a board that RANK.CREATE made
            RANK.MULTISET none XX 5 * a => NOBOARD the board does not exist: * needs a board that RANK.CREATE made
            RANK.MULTISET none * * a => ERR a member needs at least one score other than *
            RANK.MULTISET none * 5 a 5 * b => NOBOARD the board does not exist: create it with RANK.CREATE before adding several members
            RANK.MULTISET none BOARD 2 * 5 a => NOBOARD the key has no board with a schema: create it with RANK.CREATE
            # It has no place.
            RANK.FORSCORE two * 5 => OUTOFRANGE field 'a' takes a signed 64-bit integer, got *
            RANK.AFTER two 1 * 5 => OUTOFRANGE field 'a' takes a signed 64-bit integer, got *
        "#);
        for line in [r#"{"member":"a","scores":{"a":"*","b":1}}"#, r#"{"member":"a","scores":{"b":1}}"#, r#"{"member":"a","scores":{"a":null,"b":1}}"#] {
            let got = show_result(&cmdv(&mut con, &["RANK.LOAD", "two", line]));
            assert!(is_error(&got) && got.contains(" line 1: "), "{line}: {got}");
        }
        assert_same(&before, &snapshot(&mut con), "wrong calls");
    }

    fn a_member_may_have_that_name(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.ADD bare 5 * => 1
            RANK.INCR bare 1 * => "6"
            RANK.CREATE two FIELD a INT FIELD b INT => +OK
            RANK.ADD two 1 2 * => 1
            RANK.ADD two CH * 3 * => 1
            RANK.TOPN two 9 => [[1, "*", 1, 3]]
            RANK.MULTISET three 1 2 3 * => 1
            RANK.TOPN three 9 => [[1, "*", 1, 2, 3]]
        "#);
    }

    fn a_damaged_member_keeps_nothing(server: Server) {
        let mut con = server.connect();
        for (schema, bad) in [("FIELD a DIGITS 3 FIELD b DIGITS 3", "1.5"), ("FIELD a INT FIELD b INT", "3.5")] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE k {schema} => +OK\n RANK.ADD k 1 2 ok => 1\n ZADD k {bad} bad => 1"));
            let before = snapshot(&mut con);
            for write in ["ADD k * 5 bad", "ADD k * 5 ok * 5 bad", "ADD k * 5 bad * 5 ok", "ADD k WITHRANK 5 * bad", "MULTISET k 5 * bad"] {
                let answer = reply(&mut con, &format!("RANK.{write}"));
                assert!(answer.contains("element 'bad'"), "{schema}: {write}: {answer}");
                assert_same(&before, &snapshot(&mut con), write);
            }
        }
    }
}
