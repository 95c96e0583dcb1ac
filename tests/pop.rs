//! `RANK.POP`: rows that leave the board from one end, all or none.

use crate::script::script;
use crate::support::boards::*;
use crate::support::*;

on_every_server! {
    fn the_best_or_the_worst_leave_with_the_rows_they_had(server: Server) {
        let mut con = server.connect();
        for schema in SCHEMAS {
            for fill in [Filled::small, Filled::large] {
                for (worst, n) in [("", 3), ("WORST", 3), ("", 5000), ("WORST", 5000)] {
                    for kind in ["", "DENSE", "ORDINAL", "COMPETITION"] {
                        expect(&mut con, "FLUSHALL", "+OK");
                        let filled = fill(&mut con, "b", schema);
                        let members = filled.names.len();
                        let n = n.min(members);
                        let range = match worst {
                            "" => format!("RANK.RANGE b 1 {n}"),
                            _ => format!("RANK.RANGE b -{n} -1"),
                        };
                        let Ok(redis::Value::Array(mut rows)) = cmd(&mut con, &format!("{range} {kind} WITHTIME")) else {
                            panic!("no rows")
                        };
                        if worst == "WORST" {
                            rows.reverse();
                        }
                        let rest = match worst {
                            "" => format!("RANK.RANGE b {} -1 ORDINAL", n + 1),
                            _ => format!("RANK.TOPN b {} ORDINAL", members - n),
                        };
                        let Ok(redis::Value::Array(rest)) = cmd(&mut con, &rest) else { panic!("no rows") };
                        let popped = reply(&mut con, &format!("RANK.POP b {n} {worst} {kind} WITHTIME"));
                        assert_eq!(popped, show(&redis::Value::Array(rows)), "{schema} {worst} {n} {kind}");
                        let left = cmd(&mut con, "RANK.TOPN b 100000 ORDINAL").expect("rows");
                        let redis::Value::Array(left) = left else { panic!("no rows") };
                        let without_rank = |row: &redis::Value| match row {
                            redis::Value::Array(parts) => show(&redis::Value::Array(parts[1..].to_vec())),
                            other => panic!("no row: {}", show(other)),
                        };
                        let shown = |rows: &[redis::Value]| rows.iter().map(without_rank).collect::<Vec<_>>();
                        assert_eq!(shown(&left), shown(&rest), "{schema} {worst} {n}");
                        expect(&mut con, "EXISTS b", if *schema == BARE && n == members { "0" } else { "1" });
                        if *schema != BARE || n < members {
                            let report = reply(&mut con, "RANK.VERIFY b COUNT 100000");
                            assert!(report.ends_with(r#""undecodable", 0, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", []]"#), "{report}");
                        }
                    }
                }
            }
        }
    }

    fn one_is_popped_unless_a_number_says_otherwise(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 1 a 2 b 3 c 4 d 5 e => 5
            RANK.POP b => [[1, "e", "5"]]
            RANK.POP b WORST => [[4, "a", "1"]]
            RANK.POP b 0 => []
            RANK.POP b JSON => "[{\"rank\":1,\"member\":\"d\",\"score\":4}]"
            RANK.POP b 1 ASC => [[1, "b", "2"]]
            RANK.POP b 9 => [[1, "c", "3"]]
            EXISTS b => 0
            RANK.POP b => []
            RANK.POP b JSON => "[]"
            RANK.POP none 5 WITHDATA => []
            RANK.CREATE c KEEP 5 => +OK
            RANK.POP c => []
            RANK.ADD c 1 a => 1
            RANK.POP c 5 => [[1, "a", "1"]]
            EXISTS c => 1
            RANK.POP c -1 => ERR n takes 0 or more, got -1
            RANK.POP c 1.5 => ERR n takes 0 or more, got 1.5
            RANK.POP c x => ERR unknown option 'x'
            RANK.POP c 1 2 => ERR unknown option '2'
            RANK.POP c WORST WORST => ERR WORST is specified more than once
            RANK.POP c ASC => SCHEMA ASC and DESC are only valid on a board without a schema
            RANK.POP c WITHDATA => SCHEMA the board has no hash for attributes: set one with RANK.ALTER key DATA hash
        "#);
    }

    fn attributes_are_those_from_before(server: Server) {
        for mut con in [server.connect(), server.connect_resp3()] {
            script(&mut con, r#"
                FLUSHALL => +OK
                RANK.CREATE b FIELD a INT DATA h OWNED => +OK
                RANK.ADD b DATA {"n":1} 5 a => 1
                RANK.ADD b DATA {"n":2} 4 b => 1
                RANK.ADD b 3 c => 1
                RANK.POP b WITHDATA JSON => "[{\"rank\":1,\"member\":\"a\",\"score\":5,\"data\":{\"n\":1}}]"
                HKEYS h => ["b"]
                RANK.POP b 5 WORST WITHDATA JSON => "[{\"rank\":2,\"member\":\"c\",\"score\":3,\"data\":null},{\"rank\":1,\"member\":\"b\",\"score\":4,\"data\":{\"n\":2}}]"
                EXISTS h => 0
                RANK.CREATE s DATA shared => +OK
                RANK.ADD s DATA {"n":1} 5 a => 1
                RANK.POP s WITHDATA JSON => "[{\"rank\":1,\"member\":\"a\",\"score\":5,\"data\":{\"n\":1}}]"
                HKEYS shared => ["a"]
            "#);
        }
    }

    fn a_pop_that_is_refused_changes_nothing(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a", "FIELD a DIGITS 3", "FIELD a INT TIES FIRST", "FIELD a INT DATA h OWNED"] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE b {schema} => +OK\n RANK.ADD b 3 a 2 b 1 c => 3"));
            let before = reply(&mut con, "DEBUG DIGEST");
            script(&mut con, r#"
                CONFIG SET rank.max-rows 2 => +OK
                RANK.POP b 3 => TOOBIG the reply would have 3 rows, more than rank.max-rows (2): read fewer at a time
                RANK.POP b 9 WORST JSON => TOOBIG the reply would have 3 rows, more than rank.max-rows (2): read fewer at a time
                CONFIG SET rank.max-rows 0 => +OK
                CONFIG SET rank.max-hops 1 => +OK
                RANK.POP b WORST DENSE => TOOBIG a DENSE rank would visit more than 1 distinct scores: use COMPETITION, or raise rank.max-hops
                CONFIG SET rank.max-hops 100000 => +OK
            "#);
            expect(&mut con, "DEBUG DIGEST", &before);
        }
        script(&mut con, r#"
            RANK.CREATE o FIELD a INT DATA oh OWNED => +OK
            RANK.ADD o DATA {} 1 a => 1
            ACL SETUSER guest on nopass +@all ~o %R~oh => +OK
            AUTH guest x => +OK
            RANK.POP o => NOPERM this user has no permissions to access 'oh', which the board's schema names
            AUTH default x => +OK
            ACL SETUSER guest resetkeys ~o %W~oh => +OK
            AUTH guest x => +OK
            RANK.POP o WITHDATA => NOPERM this user has no permissions to access 'oh', which the board's schema names
            RANK.POP o => [[1, "a", 1]]
            AUTH default x => +OK
        "#);
    }

    /// A member without its index entry cannot leave: nobody does.
    fn a_damaged_board_keeps_its_members(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b FIELD a INT FIELD b INT => +OK\n RANK.ADD b 3 3 a 2 9000000000000000000 b 1 1 c => 3");
        let entry = elements(&mut con, "b")[1].0.clone();
        assert_eq!(replyv(&mut con, &[b"ZREM".as_slice(), b"b", &entry]), "1");
        let before = reply(&mut con, "DEBUG DIGEST");
        for pop in ["RANK.POP b 2", "RANK.POP b 2 WORST"] {
            let got = reply(&mut con, pop);
            assert!(got.starts_with("DAMAGED the board is damaged"), "{got}");
            expect(&mut con, "DEBUG DIGEST", &before);
        }
        expect(&mut con, "RANK.POP b", r#"[[1, "a", 3, 3]]"#);
    }
}
