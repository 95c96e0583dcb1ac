//! What the reads answer, on boards of either direction.

use redis::{Connection, Value};

use crate::script::{script, Dice};
use crate::support::boards::{encode_as, ENCODINGS};
use crate::support::*;

/// 50 50 30 30 10, the table of the ranks: on a board without a schema, and on one of each direction.
const BOARDS: &str = "
    RANK.ADD set 50 a 50 b 30 c 30 d 10 e => 5
    RANK.CREATE desc => +OK
    RANK.ADD desc 50 a 50 b 30 c 30 d 10 e => 5
    RANK.CREATE asc ASC => +OK
    RANK.ADD asc 10 a 10 b 30 c 30 d 50 e => 5";

/// The names in the rows of a reply, one letter each.
#[track_caller]
fn names(con: &mut Connection, command: &str) -> String {
    let shown = reply(con, command);
    let name = |row: &str| row.split('"').nth(1).map(String::from);
    shown.split("], [").filter_map(name).collect()
}

on_every_server! {
    fn every_kind_of_rank_on_ties(server: Server) {
        let mut con = server.connect();
        script(&mut con, BOARDS);
        for (kind, ranks) in [("", [1, 1, 3, 3, 5]), ("COMPETITION", [1, 1, 3, 3, 5]), ("DENSE", [1, 1, 2, 2, 3])] {
            let [a, b, c, d, e] = ranks;
            script(&mut con, &format!(r#"
                RANK.TOPN set 9 {kind} => [[{b}, "b", "50"], [{a}, "a", "50"], [{d}, "d", "30"], [{c}, "c", "30"], [{e}, "e", "10"]]
                RANK.TOPN desc 9 {kind} => [[{b}, "b", "50"], [{a}, "a", "50"], [{d}, "d", "30"], [{c}, "c", "30"], [{e}, "e", "10"]]
                RANK.TOPN asc 9 {kind} => [[{a}, "a", "10"], [{b}, "b", "10"], [{c}, "c", "30"], [{d}, "d", "30"], [{e}, "e", "50"]]
                RANK.TOPN set 9 ASC {kind} => [[1, "e", "10"], [2, "c", "30"], [2, "d", "30"], [{last}, "a", "50"], [{last}, "b", "50"]]
                RANK.TOPN set 9 {kind} DESC => [[{b}, "b", "50"], [{a}, "a", "50"], [{d}, "d", "30"], [{c}, "c", "30"], [{e}, "e", "10"]]
            "#, last = if kind == "DENSE" { 3 } else { 4 }));
            for (member, rank) in [("set a", a), ("set b", b), ("desc c", c), ("asc d", d), ("asc e", e)] {
                let got = reply(&mut con, &format!("RANK.GET {member} {kind}"));
                assert!(got.starts_with(&format!("[{rank}, ")), "{kind} of {member}: {got}");
            }
        }
        script(&mut con, r#"
            RANK.TOPN set 9 ORDINAL => [[1, "b", "50"], [2, "a", "50"], [3, "d", "30"], [4, "c", "30"], [5, "e", "10"]]
            RANK.TOPN asc 9 ORDINAL => [[1, "a", "10"], [2, "b", "10"], [3, "c", "30"], [4, "d", "30"], [5, "e", "50"]]
            RANK.TOPN set 9 ORDINAL ASC => [[1, "e", "10"], [2, "c", "30"], [3, "d", "30"], [4, "a", "50"], [5, "b", "50"]]
            RANK.GET set a ORDINAL => [2, "a", "50"]
            RANK.GET desc a ORDINAL => [2, "a", "50"]
            RANK.GET asc b ORDINAL => [2, "b", "10"]
            RANK.GET set b ORDINAL ASC => [5, "b", "50"]
            RANK.RANGE set 2 3 DENSE => [[1, "a", "50"], [2, "d", "30"]]
            RANK.AROUND set c 1 DENSE => [[2, "d", "30"], [2, "c", "30"], [3, "e", "10"]]
            RANK.BYSCORE set 10 30 DENSE => [[2, "d", "30"], [2, "c", "30"], [3, "e", "10"]]
            RANK.PAGE set 2 3 ORDINAL => [2, 2, 5, [[4, "c", "30"], [5, "e", "10"]]]
            RANK.PAGE set 2 3 => [2, 2, 5, [[3, "c", "30"], [5, "e", "10"]]]
        "#);
    }

    fn a_board_with_a_schema_has_its_own_direction(server: Server) {
        let mut con = server.connect();
        script(&mut con, BOARDS);
        let error = "SCHEMA ASC and DESC are only valid on a board without a schema";
        for read in [
            "GET b a", "QUERY b a", "STATS b", "TOPN b 1", "RANGE b 1 2", "PAGE b 1 1", "AROUND b a 1", "BYSCORE b 1 2",
            "AMONG b 1 a",
        ] {
            for (board, direction) in [("desc", "DESC"), ("desc", "ASC"), ("asc", "ASC")] {
                expect(&mut con, &format!("RANK.{} {direction}", read.replacen(" b", &format!(" {board}"), 1)), error);
            }
            expect(&mut con, &format!("RANK.{read} ASC DESC"), "ERR ASC and DESC are mutually exclusive");
        }
    }

    fn get_and_score_of_one_member(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 0.1 a 1e300 b 100 c 1e21 d 123456789012345680000 e => 5
            RANK.GET b a => [5, "a", "0.1"]
            RANK.GET b b => [1, "b", "1e+300"]
            RANK.SCORE b c => "100"
            RANK.SCORE b d => "1e+21"
            RANK.SCORE b e => "123456789012345680000"
            RANK.SCORE b nobody => nil
            RANK.GET b nobody => nil
            RANK.GET b nobody JSON => nil
            RANK.GET none a => nil
            RANK.SCORE none a => nil
        "#);
    }

    /// Wherever a list begins, its rows are those of the whole list: in the middle of small and of very large groups of
    /// equal scores, near the ends and far from them.
    fn a_part_of_a_board_is_a_part_of_its_whole_list(server: Server) {
        let mut con = server.connect();
        let schemas = ["DESC", "ASC", "FIELD a DIGITS 4 FIELD b DIGITS 2", "TIES FIRST", "FIELD a ASC INT FIELD b INT"];
        for (schema, encoding) in schemas.iter().flat_map(|schema| ENCODINGS.map(|encoding| (schema, encoding))) {
            encode_as(&mut con, encoding);
            expect(&mut con, &format!("RANK.CREATE b {schema}"), "+OK");
            let fields = if schema.starts_with("FIELD") { 2 } else { 1 };
            let mut add = words("RANK.ADD b");
            for (score, equals) in [1, 1, 3, 1, 70, 2, 400, 1, 1, 130, 5, 200, 1].into_iter().enumerate() {
                for i in 0..equals {
                    add.extend((0..fields).map(|field| format!("{}", if field == 0 { score } else { 7 })));
                    add.push(format!("m{score}-{i}"));
                }
            }
            let added = (add.len() - 2) / (fields + 1);
            assert_eq!(cmdv(&mut con, &add), Ok(Value::Int(added as i64)));
            let mut dice = Dice::new(7);
            for kind in ["COMPETITION", "ORDINAL", "DENSE"] {
                let whole = rows_of(&mut con, &format!("RANK.TOPN b 10000 {kind}"));
                assert_eq!(whole.len(), added);
                for _ in 0..120 {
                    let (at, distance) = (dice.roll(added), dice.roll(90));
                    let (first, end) = (at.saturating_sub(distance), added.min(at + distance + 1));
                    let Value::Array(row) = &whole[at] else { panic!("no row: {}", show(&whole[at])) };
                    let name = show(&row[1]);
                    let around = format!("RANK.AROUND b {} {distance} {kind}", name.trim_matches('"'));
                    assert_eq!(rows_of(&mut con, &around), whole[first..end], "{schema}: {around}");
                    let range = format!("RANK.RANGE b {} {end} {kind}", first + 1);
                    assert_eq!(rows_of(&mut con, &range), whole[first..end], "{schema}: {range}");
                }
            }
            expect(&mut con, "DEL b", "1");
        }
    }

    fn ranges_are_positions_from_either_end(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.ADD b 5 a 4 b 3 c 2 d 1 e => 5");
        let rows = |members: &str| -> String {
            let row = |name: char| format!(r#"[{}, "{name}", "{}"]"#, name as u8 - b'a' + 1, b'f' - name as u8);
            format!("[{}]", members.chars().map(row).collect::<Vec<_>>().join(", "))
        };
        for (range, members) in [
            ("1 1", "a"), ("1 3", "abc"), ("2 -2", "bcd"), ("-2 -1", "de"), ("-3 4", "cd"), ("1 -1", "abcde"),
            ("4 99", "de"),
            ("-99 2", "ab"), ("-99 99", "abcde"), ("6 9", ""), ("3 2", ""), ("-1 -2", ""), ("-99 -98", ""),
            ("2 -5", ""),
            ("9223372036854775807 9223372036854775807", ""), ("-9223372036854775808 9223372036854775807", "abcde"),
        ] {
            expect(&mut con, &format!("RANK.RANGE b {range}"), &rows(members));
        }
        for (n, members) in [("0", ""), ("1", "a"), ("5", "abcde"), ("9223372036854775807", "abcde")] {
            expect(&mut con, &format!("RANK.TOPN b {n}"), &rows(members));
        }
        for (page, header, members) in [
            ("1 2", "1, 3, 5", "ab"), ("2 2", "2, 3, 5", "cd"), ("3 2", "3, 3, 5", "e"), ("4 2", "4, 3, 5", ""),
            ("1 5", "1, 1, 5", "abcde"), ("2 5", "2, 1, 5", ""), ("2 9223372036854775807", "2, 1, 5", ""),
            ("9223372036854775807 1", "9223372036854775807, 5, 5", ""),
            ("9223372036854775807 9223372036854775807", "9223372036854775807, 1, 5", ""),
        ] {
            expect(&mut con, &format!("RANK.PAGE b {page}"), &format!("[{header}, {}]", rows(members)));
        }
        for (around, members) in [
            ("c 0", "c"), ("c 1", "bcd"), ("a 1", "ab"), ("e 1", "de"), ("a 1 FILL", "abc"), ("b 2 FILL", "abcde"),
            ("e 1 fill", "cde"),
            ("d 1 FILL", "cde"), ("a 9 FILL", "abcde"), ("c 9", "abcde"), ("a 0 FILL", "a"),
            ("b 9223372036854775807 FILL", "abcde"),
        ] {
            expect(&mut con, &format!("RANK.AROUND b {around}"), &rows(members));
        }
        script(&mut con, r#"
            RANK.AROUND b nobody 1 => nil
            RANK.AROUND b nobody 1 JSON => nil
            RANK.AROUND none a 1 => nil
            RANK.RANGE none 1 -1 => []
            RANK.TOPN none 5 => []
            RANK.PAGE none 1 5 => [1, 0, 0, []]
            RANK.PAGE none 3 5 => [3, 0, 0, []]
            RANK.PAGE b 0 2 => ERR page takes 1 or more, got 0
            RANK.PAGE b -7 2 => ERR page takes 1 or more, got -7
        "#);
    }

    fn scores_within_bounds(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.ADD desc 1 a 2 b 3 c 4 d inf e -inf f => 6
            RANK.CREATE asc ASC => +OK
            RANK.ADD asc 1 a 2 b 3 c 4 d => 4
        "#);
        for (bounds, on_asc, on_desc) in [
            ("2 3", "bc", "cb"), ("(2 3", "c", "c"), ("2 (3", "b", "b"), ("(2 (3", "", ""), ("(2 2", "", ""),
            ("3 2", "", ""), ("2.5 9", "cd", "dc"),
            ("-inf 2", "ab", "baf"), ("(-inf 2", "ab", "ba"), ("3 inf", "cd", "edc"), ("3 +inf", "cd", "edc"),
            ("3 (inf", "cd", "dc"),
            ("-inf +inf", "abcd", "edcbaf"), ("inf -inf", "", ""), ("+inf inf", "", "e"), ("-inf -inf", "", "f"),
            ("(-inf -inf", "", ""),
        ] {
            for (board, expected) in [("asc", on_asc), ("desc", on_desc)] {
                assert_eq!(names(&mut con, &format!("RANK.BYSCORE {board} {bounds}")), expected, "{board} {bounds}");
                expect(&mut con, &format!("RANK.COUNT {board} {bounds}"), &expected.len().to_string());
            }
        }
        script(&mut con, r#"
            RANK.BYSCORE desc 1 4 LIMIT 1 2 => [[3, "c", "3"], [4, "b", "2"]]
            RANK.BYSCORE desc 1 4 LIMIT 0 0 => []
            RANK.BYSCORE desc 1 4 LIMIT 9 1 => []
            RANK.BYSCORE desc 1 4 LIMIT 3 9 => [[5, "a", "1"]]
            RANK.BYSCORE desc 1 4 LIMIT 2 -1 => [[4, "b", "2"], [5, "a", "1"]]
            RANK.BYSCORE desc 1 4 ASC LIMIT 0 1 => [[2, "a", "1"]]
            RANK.BYSCORE asc 2 4 JSON LIMIT 0 1 => "[{\"rank\":2,\"member\":\"b\",\"score\":2}]"
            RANK.BYSCORE none 1 2 => []
            RANK.COUNT none => 0
            RANK.COUNT none 1 2 => 0
            RANK.COUNT desc => 6
        "#);
    }

    fn among_ranks_inside_a_group(server: Server) {
        let mut con = server.connect();
        script(&mut con, BOARDS);
        script(&mut con, r#"
            RANK.AMONG set 3 e a c => [[1, 1, "a", "50"], [2, 3, "c", "30"], [3, 5, "e", "10"]]
            RANK.AMONG set 5 e d c b stranger => [[1, 1, "b", "50"], [2, 3, "d", "30"], [2, 3, "c", "30"], [4, 5, "e", "10"]]
            RANK.AMONG set 4 e d c b DENSE => [[1, 1, "b", "50"], [2, 2, "d", "30"], [2, 2, "c", "30"], [3, 3, "e", "10"]]
            RANK.AMONG set 4 e d c b ORDINAL => [[1, 1, "b", "50"], [2, 3, "d", "30"], [3, 4, "c", "30"], [4, 5, "e", "10"]]
            RANK.AMONG set 4 c c e c => [[1, 3, "c", "30"], [2, 5, "e", "10"]]
            RANK.AMONG asc 3 e d c => [[1, 3, "c", "30"], [1, 3, "d", "30"], [3, 5, "e", "50"]]
            RANK.AMONG set 2 a e ASC => [[1, 1, "e", "10"], [2, 4, "a", "50"]]
            RANK.AMONG set 1 stranger => []
            RANK.AMONG none 2 a b => []
            # An option's name is a member where members stand.
            RANK.ADD words 1 JSON 2 DENSE => 2
            RANK.AMONG words 2 JSON DENSE => [[1, 1, "DENSE", "2"], [2, 2, "JSON", "1"]]
        "#);
    }

    fn the_rank_a_newcomer_would_get(server: Server) {
        let mut con = server.connect();
        script(&mut con, BOARDS);
        for (board, score, ranks) in [
            ("set", "60", [1, 1, 1]), ("set", "50", [1, 1, 3]), ("set", "40", [3, 2, 3]), ("set", "30", [3, 2, 5]),
            ("set", "5", [6, 4, 6]),
            ("set", "inf", [1, 1, 1]), ("set", "-inf", [6, 4, 6]), ("desc", "30", [3, 2, 5]), ("asc", "30", [3, 2, 5]),
            ("asc", "5", [1, 1, 1]), ("asc", "60", [6, 4, 6]), ("asc", "-1e308", [1, 1, 1]), ("none", "5", [1, 1, 1]),
        ] {
            for (kind, rank) in ["COMPETITION", "DENSE", "ORDINAL"].iter().zip(ranks) {
                expect(&mut con, &format!("RANK.FORSCORE {board} {score} {kind}"), &rank.to_string());
            }
            expect(&mut con, &format!("RANK.FORSCORE {board} {score}"), &ranks[0].to_string());
        }
    }

    fn percentiles_and_the_scores_at_them(server: Server) {
        let mut con = server.connect();
        script(&mut con, BOARDS);
        script(&mut con, r#"
            RANK.PERCENTILE set a => "60"
            RANK.PERCENTILE set c => "20"
            RANK.PERCENTILE set e => "0"
            RANK.PERCENTILE asc b => "60"
            RANK.PERCENTILE set nobody => nil
            RANK.PERCENTILE none a => nil
            RANK.ADD three 1 a 2 b 4 c => 3
            RANK.PERCENTILE three b => "33.333333333333336"
            RANK.SCOREAT three 0 => "1"
            RANK.SCOREAT three 100 => "4"
            RANK.SCOREAT three 50 => "2"
            RANK.SCOREAT three 25 => "1.5"
            RANK.SCOREAT three 87.5 => "3.5"
            RANK.SCOREAT asc 0 => "50"
            RANK.SCOREAT asc 100 => "10"
            RANK.SCOREAT asc 12.5 => "40"
            RANK.SCOREAT none 50 => nil
            RANK.ADD one 7 a => 1
            RANK.SCOREAT one 0 => "7"
            RANK.SCOREAT one 33 => "7"
            RANK.PERCENTILE one a => "0"
            RANK.ADD huge -1.5e308 a 1.5e308 b => 2
            RANK.SCOREAT huge 50 => "0"
        "#);
        let mut resp3 = server.connect_resp3();
        script(&mut resp3, r#"
            RANK.PERCENTILE three b => 33.333333333333336f
            RANK.SCOREAT three 25 => 1.5f
            RANK.SCOREAT none 25 => nil
        "#);
    }

    fn no_percentile_is_not_a_number(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD up inf a inf b 1 c => 3
            RANK.SCOREAT up 75 => "inf"
            RANK.SCOREAT up 100 => "inf"
            RANK.SCOREAT up 0 => "1"
            RANK.SCOREAT up 25 => "inf"
            RANK.ADD down -inf a -inf b => 2
            RANK.SCOREAT down 50 => "-inf"
            RANK.ADD both -inf a inf b => 2
            RANK.SCOREAT both 0 => "-inf"
            RANK.SCOREAT both 100 => "inf"
        "#);
        assert_ne!(reply(&mut server.connect(), "RANK.SCOREAT both 50").to_lowercase(), "\"nan\"");
    }

    fn large_boards_answer_as_small_ones_do(server: Server) {
        let mut con = server.connect();
        let pairs: String = (1..=1000).map(|i| format!(" {} m{i:04}", i / 2)).collect();
        expect(&mut con, &format!("RANK.ADD b{pairs}"), "1000");
        script(&mut con, r#"
            OBJECT ENCODING b => "skiplist"
            RANK.TOPN b 3 => [[1, "m1000", "500"], [2, "m0999", "499"], [2, "m0998", "499"]]
            RANK.GET b m0500 => [500, "m0500", "250"]
            RANK.GET b m0500 DENSE => [251, "m0500", "250"]
            RANK.GET b m0500 ORDINAL => [501, "m0500", "250"]
            RANK.RANGE b -2 -1 => [[998, "m0002", "1"], [1000, "m0001", "0"]]
            RANK.PAGE b 334 3 => [334, 334, 1000, [[1000, "m0001", "0"]]]
            RANK.AROUND b m0001 1 FILL => [[998, "m0003", "1"], [998, "m0002", "1"], [1000, "m0001", "0"]]
            RANK.BYSCORE b (498 499 => [[2, "m0999", "499"], [2, "m0998", "499"]]
            RANK.COUNT b 100 (200 => 200
            RANK.FORSCORE b 250 ORDINAL => 502
            RANK.QUERY b m0500 => [500, ["m0500", "m0501"]]
            RANK.PERCENTILE b m0500 => "49.9"
            RANK.SCOREAT b 50 => "250"
            RANK.STATS b LIMIT 499 1 => [[998, ["m0002", "m0003"]]]
            RANK.AMONG b 2 m0001 m1000 => [[1, 1, "m1000", "500"], [2, 1000, "m0001", "0"]]
        "#);
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// The rows of a read.
#[track_caller]
fn rows_of(con: &mut Connection, read: &str) -> Vec<Value> {
    match cmdv(con, &words(read)) {
        Ok(Value::Array(rows)) => rows,
        other => panic!("{read}: {}", show_result(&other)),
    }
}
