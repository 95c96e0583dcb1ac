//! `rank.max-rows` and `rank.max-hops`: at load, in redis.conf, by `CONFIG SET`, and what they refuse.

use crate::script::script;
use crate::support::*;

const BOARD: &str = "RANK.ADD b 9 a 9 b 9 c 5 d 5 e 1 f => 6";

fn too_many(rows: u64, most: u64) -> String {
    format!("TOOBIG the reply would have {rows} rows, more than rank.max-rows ({most}): read fewer at a time")
}

on_every_server! {
    fn without_a_bound_replies_are_as_long_as_asked(server: Server) {
        let mut con = server.connect();
        script(&mut con, BOARD);
        expect(&mut con, "CONFIG GET rank.max-rows", r#"["rank.max-rows", "0"]"#);
        for read in ["TOPN b 9", "STATS b", "RANGE b 1 -1"] {
            assert!(reply(&mut con, &format!("RANK.{read}")).starts_with("[["), "{read}");
        }
    }

    fn a_read_beyond_the_bound_says_so(server: Server) {
        let mut con = server.connect();
        script(&mut con, BOARD);
        expect(&mut con, "CONFIG SET rank.max-rows 2", "+OK");
        for (read, rows) in [
            ("TOPN b 3", 3), ("TOPN b 99", 6), ("RANGE b 1 3", 3), ("RANGE b -3 -1", 3), ("PAGE b 1 3", 3),
            ("AROUND b c 1 FILL", 3), ("AROUND b d 1", 3),
            ("BYSCORE b 5 9", 5), ("BYSCORE b -inf inf LIMIT 0 3", 3), ("AMONG b 3 a b c", 3), ("QUERY b a", 3),
            ("QUERY b a LIMIT 0 3", 3), ("AFTER b 3 99", 3), ("BEFORE b 3 -9", 3),
            ("TOPN b 3 JSON", 3), ("QUERY b a JSON", 3),
        ] {
            expect(&mut con, &format!("RANK.{read}"), &too_many(rows, 2));
        }
        for read in ["STATS b", "STATS b LIMIT 0 1", "STATS b LIMIT 1 9", "STATS b JSON"] {
            let got = reply(&mut con, &format!("RANK.{read}"));
            assert!(got.starts_with("TOOBIG the reply would have "), "{read}: {got}");
            assert!(got.ends_with(" rows, more than rank.max-rows (2): read fewer at a time"), "{read}: {got}");
        }
        for read in [
            "TOPN b 2", "TOPN none 99", "RANGE b 5 99", "PAGE b 1 2", "PAGE b 9 5", "AROUND b f 1", "BYSCORE b 5 8",
            "BYSCORE b 0 9 LIMIT 4 9",
            "AMONG b 2 a b", "AMONG b 3 a b a", "AMONG b 3 a b stranger", "QUERY b d", "QUERY b a LIMIT 1 9",
            "STATS b LIMIT 1 1", "STATS b LIMIT 2 9",
            "GET b a", "COUNT b", "AFTER b 2 99", "AFTER b 9 -9", "BEFORE b 9 99",
        ] {
            let got = reply(&mut con, &format!("RANK.{read}"));
            assert!(!is_error(&got), "{read}: {got}");
        }
    }

    /// Refused as a whole, before anything is written.
    /// It is refused before the scores are counted, not after.
    fn too_many_groups_are_refused_at_once(server: Server) {
        let mut con = server.connect();
        let scores = 50_000;
        expect(&mut con, &format!("EVAL \"for i = 1, {scores} do redis.call('ZADD', KEYS[1], i, i) end\" 1 b"), "nil");
        expect(&mut con, "CONFIG SET rank.max-rows 100", "+OK");
        expect(&mut con, "CONFIG RESETSTAT", "+OK");
        expect(&mut con, "RANK.STATS b LIMIT 0 45000", &too_many(101, 100));
        let micros = |con: &mut redis::Connection| {
            let stats = reply(con, "INFO commandstats");
            let (_, of_stats) = stats.split_once("cmdstat_rank.stats:").expect("its statistics");
            let usec = of_stats.split(',').find_map(|field| field.strip_prefix("usec=")).expect("its time");
            usec.parse::<u64>().expect("a number")
        };
        let refused = micros(&mut con);
        expect(&mut con, "CONFIG SET rank.max-rows 0", "+OK");
        expect(&mut con, "CONFIG RESETSTAT", "+OK");
        reply(&mut con, "RANK.STATS b LIMIT 0 45000");
        let whole = micros(&mut con);
        assert!(refused * 10 < whole, "{refused} us to refuse, {whole} us to reply");
    }

    fn a_write_whose_reply_would_exceed_the_bound_writes_nothing(server: Server) {
        let mut con = server.connect();
        for schema in ["", "FIELD a", "FIELD a DIGITS 3", "FIELD a INT", "FIELD a INT TIES FIRST DATA h OWNED"] {
            expect(&mut con, "CONFIG SET rank.max-rows 2", "+OK");
            script(&mut con, "FLUSHALL => +OK");
            if !schema.is_empty() {
                expect(&mut con, &format!("RANK.CREATE b {schema}"), "+OK");
            }
            script(&mut con, BOARD);
            let before = reply(&mut con, "DEBUG DIGEST");
            for (write, rows) in [
                ("TRIM b 3 RETURN", 3), ("TRIM b 0 RETURN", 6), ("ADD b WITHRANK 1 x 2 y 3 z", 3), ("ADD b CH WITHRANK 9 a 9 a 9 a 9 a", 4),
                ("MULTISET b WITHRANK 1 x 2 y 3 z", 3), ("ADD b XX WITHRANK 1 x 2 y 3 z", 3),
            ] {
                expect(&mut con, &format!("RANK.{write}"), &too_many(rows, 2));
                expect(&mut con, "DEBUG DIGEST", &before);
            }
            // What has no rows to return has no bound.
            expect(&mut con, "RANK.ADD b 1 x 2 y 3 z", "3");
            expect(&mut con, "RANK.TRIM b 6", "3");
            let rows = reply(&mut con, "RANK.ADD b WITHRANK 7 x 8 y");
            assert!(rows.starts_with("[[") && rows.contains("\"y\""), "{schema}: {rows}");
            let left = reply(&mut con, "RANK.TRIM b 6 RETURN");
            assert_eq!(left.matches('"').count(), 4, "{schema}: {left}");
            assert!(!is_error(&reply(&mut con, "RANK.INCR b WITHRANK 1 a")), "{schema}");
        }
    }

    fn a_dense_rank_beyond_the_bound_says_so(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "CONFIG GET rank.max-hops", r#"["rank.max-hops", "100000"]"#);
        let too_far = "TOOBIG a DENSE rank would visit more than 20 distinct scores: use COMPETITION, or raise rank.max-hops";
        for schema in ["", "FIELD a", "FIELD a DIGITS 3", "FIELD a BITS 60", "FIELD a INT", "FIELD a INT TIES FIRST", "FIELD a BITS 20 TIES LAST"] {
            script(&mut con, "FLUSHALL => +OK\n CONFIG SET rank.max-hops 20 => +OK");
            if !schema.is_empty() {
                expect(&mut con, &format!("RANK.CREATE b {schema}"), "+OK");
            }
            // m0 is the worst of a hundred; three others share each score.
            let pairs: String = (0..100).map(|number| format!(" {number} m{number} {number} n{number} {number} o{number}")).collect();
            expect(&mut con, &format!("RANK.ADD b{pairs}"), "300");
            for read in ["GET b m0", "GET b m70", "QUERY b m10", "RANGE b -3 -1", "PAGE b 10 30", "AROUND b m5 2", "BYSCORE b 0 3", "AMONG b 3 m99 m0 m98", "FORSCORE b 1"] {
                expect(&mut con, &format!("RANK.{read} DENSE"), too_far);
                expect(&mut con, "PING", "+PONG");
            }
            for read in ["GET b m99", "GET b m85", "QUERY b m90", "TOPN b 20", "AROUND b m90 2", "BYSCORE b 90 95", "AMONG b 3 m99 m90 m85", "FORSCORE b 90", "STATS b LIMIT 0 5"] {
                let got = reply(&mut con, &format!("RANK.{read} DENSE"));
                assert!(!is_error(&got), "{schema}: {read}: {got}");
            }
            // Other ranks have no such bound, and 0 is none.
            for read in ["GET b m0 COMPETITION", "GET b m0 ORDINAL", "TOPN b 300 COMPETITION", "RANGE b -3 -1 COMPETITION"] {
                let got = reply(&mut con, &format!("RANK.{read}"));
                assert!(!is_error(&got), "{schema}: {read}: {got}");
            }
            for bound in ["0", "101"] {
                expect(&mut con, &format!("CONFIG SET rank.max-hops {bound}"), "+OK");
                for (member, rank) in [("m0", 100), ("m70", 30)] {
                    let row = reply(&mut con, &format!("RANK.GET b {member} DENSE"));
                    assert!(row.starts_with(&format!("[{rank}, \"{member}\"")), "{schema}: {row}");
                }
            }
        }
    }

    fn the_hops_are_bounded_at_load_in_the_file_and_at_run_time(kind: Kind) {
        let loaded = Server::builder(kind).args(&["max-hops", "2"]).start();
        let by_full_name = Server::builder(kind).args(&["rank.max-hops", "2"]).start();
        let in_file = Server::builder(kind).config("rank.max-hops 2").start();
        for server in [&loaded, &by_full_name, &in_file] {
            script(&mut server.connect(), r#"
                CONFIG GET rank.max-hops => ["rank.max-hops", "2"]
                RANK.ADD b 9 a 8 b 7 c 6 d 5 e => 5
                RANK.GET b e DENSE => TOOBIG a DENSE rank would visit more than 2 distinct scores: use COMPETITION, or raise rank.max-hops
                CONFIG SET rank.max-hops 9 => +OK
                RANK.GET b e DENSE => [5, "e", "5"]
            "#);
            for value in ["-1", "x", "1.5", "99999999999999999999"] {
                let got = reply(&mut server.connect(), &format!("CONFIG SET rank.max-hops {value}"));
                assert!(is_error(&got), "{value}: {got}");
            }
            expect(&mut server.connect(), "CONFIG GET rank.max-hops", r#"["rank.max-hops", "9"]"#);
        }
        for line in ["rank.max-hops -1", "rank.max-hops many"] {
            assert!(Server::builder(kind).config(line).try_start().is_err(), "started with {line}");
        }
        assert!(Server::builder(kind).args(&["max-hops", "-1"]).try_start().is_err());
    }

    fn the_bound_is_set_at_load_in_the_file_and_at_run_time(kind: Kind) {
        let loaded = Server::builder(kind).args(&["max-rows", "2"]).start();
        let by_full_name = Server::builder(kind).args(&["rank.max-rows", "2"]).start();
        let in_file = Server::builder(kind).config("rank.max-rows 2").start();
        for server in [&loaded, &by_full_name, &in_file] {
            let mut con = server.connect();
            script(&mut con, BOARD);
            script(&mut con, &format!(r#"
                CONFIG GET rank.max-rows => ["rank.max-rows", "2"]
                RANK.TOPN b 3 => {}
                CONFIG SET rank.max-rows 5 => +OK
                RANK.TOPN b 1 => [[1, "c", "9"]]
                RANK.TOPN b 6 => {}
                CONFIG SET rank.max-rows 0 => +OK
                RANK.COUNT b => 6
            "#, too_many(3, 2), too_many(6, 5)));
            assert!(reply(&mut con, "RANK.TOPN b 6").starts_with("[["));
        }
    }

    fn a_rewritten_file_remembers_the_bound(kind: Kind) {
        let mut server = Server::builder(kind).start();
        script(&mut server.connect(), "CONFIG SET rank.max-rows 7 => +OK\n CONFIG REWRITE => +OK");
        server.restart();
        expect(&mut server.connect(), "CONFIG GET rank.max-rows", r#"["rank.max-rows", "7"]"#);
    }

    /// As the operations guide says.
    fn a_reloaded_module_has_its_defaults_unless_options_are_passed(kind: Kind) {
        let server = Server::builder(kind).config("rank.max-rows 7").start();
        let module = module_path();
        let path = module.to_str().expect("a UTF-8 path");
        script(&mut server.connect(), &format!(r#"
            CONFIG GET rank.max-rows => ["rank.max-rows", "7"]
            MODULE UNLOAD rank => +OK
            MODULE LOAD {path} => +OK
            CONFIG GET rank.max-rows => ["rank.max-rows", "0"]
            MODULE UNLOAD rank => +OK
            MODULE LOADEX {path} CONFIG rank.max-rows 9 => +OK
            CONFIG GET rank.max-rows => ["rank.max-rows", "9"]
        "#));
    }

    fn values_out_of_bounds_are_refused(server: Server) {
        let mut con = server.connect();
        for value in ["-1", "x", "", "1.5", "99999999999999999999"] {
            let got = show_result(&cmdv(&mut con, &["CONFIG", "SET", "rank.max-rows", value]));
            assert!(is_error(&got), "{value}: {got}");
            expect(&mut con, "CONFIG GET rank.max-rows", r#"["rank.max-rows", "0"]"#);
        }
        expect(&mut con, "CONFIG SET rank.max-rows 9223372036854775807", "+OK");
    }

    fn the_module_does_not_load_with_bad_arguments(kind: Kind) {
        for args in [
            &["max-rows", "-1"][..], &["max-rows", "many"], &["max-rows"], &["max-rows", ""],
            &["max-rows", "99999999999999999999"],
            &["max-rows", "1", "%s%n", "x"], &["max-rows", "%s%n"], &["no-such-option", "1"], &["max-rows", "é"],
            &["5"],
        ] {
            let log = Server::builder(kind).args(args).try_start().err().unwrap_or_else(|| panic!("{args:?} loaded"));
            assert!(log.contains("Can't load module") && !log.contains("BUG REPORT"), "{args:?}: {log}");
        }
        let log = Server::builder(kind).args(&["max-rows", "-1"]).try_start().err().unwrap_or_default();
        assert!(log.contains("max-rows takes 0 to 9223372036854775807"), "{log}");
        for line in ["rank.max-rows -1", "rank.max-rows many", "rank.no-such-option 1"] {
            assert!(Server::builder(kind).config(line).try_start().is_err(), "started with {line}");
        }
        // By command too, and the server lives on.
        let server = Server::builder(kind).without_module().start();
        let mut con = server.connect();
        let module = module_path();
        let mut load = |rows| {
            let command = ["MODULE", "LOAD", module.to_str().expect("a UTF-8 path"), "max-rows", rows];
            show_result(&cmdv(&mut con, &command))
        };
        let refused = load("-1");
        assert!(is_error(&refused), "{refused}");
        assert!(!server.has_module());
        assert_eq!(load("4"), "+OK");
        expect(&mut con, "CONFIG GET rank.max-rows", r#"["rank.max-rows", "4"]"#);
    }
}
