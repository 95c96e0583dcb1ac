//! `VERSUS other`: each row ends with where the member stands on another board.

use redis::Connection;

use crate::script::{script, Dice};
use crate::support::*;

/// A schema, and how many scores it takes.
const LAYOUTS: [(&str, usize); 8] = [
    ("", 1),
    ("ASC", 1),
    ("FIELD a DIGITS 2 FIELD b ASC DIGITS 2", 2),
    ("FIELD a ASC RANGE -9 99 TIES SHARED", 1),
    ("FIELD a INT FIELD b ASC INT", 2),
    ("FIELD a INT FIELD b INT FIELD c INT FIELD d INT", 4),
    ("FIELD a INT TIES FIRST", 1),
    ("FIELD a ASC INT FIELD b INT FIELD c INT FIELD d INT TIES LAST", 4),
];

/// A board, and what a person would note about it.
struct Noted {
    key: String,
    /// Of each field.
    ascending: Vec<bool>,
    members: Vec<(String, Vec<i64>)>,
}

impl Noted {
    /// A board with some of the members `m0` … `m29` and scores that are often equal, some of them too long for a score.
    fn random(con: &mut Connection, dice: &mut Dice, key: &str, (schema, fields): (&str, usize)) -> Noted {
        if !schema.is_empty() {
            expect(con, &format!("RANK.CREATE {key} {schema}"), "+OK");
        }
        let digits = schema.contains("DIGITS") || schema.contains("RANGE");
        let mut members = Vec::new();
        for member in 0..30 {
            if dice.once_in(3) {
                continue;
            }
            let score = |dice: &mut Dice| match dice.roll(4) {
                0 if !digits && fields > 1 => [1 << 40, -(1 << 50), 1 << 60][dice.roll(3)],
                _ => dice.roll(4) as i64,
            };
            let scores: Vec<i64> = (0..fields).map(|_| score(dice)).collect();
            let words: Vec<String> = scores.iter().map(i64::to_string).collect();
            expect(con, &format!("RANK.ADD {key} {} m{member}", words.join(" ")), "1");
            members.push((format!("m{member}"), scores));
        }
        let parts: Vec<&str> =
            if schema.contains("FIELD") { schema.split("FIELD").skip(1).collect() } else { vec![schema] };
        let ascending = parts.iter().map(|part| part.contains("ASC")).collect();
        Noted { key: key.to_owned(), ascending, members }
    }

    fn is_better(&self, a: &[i64], b: &[i64]) -> bool {
        let differs = a.iter().zip(b).zip(&self.ascending).find(|((a, b), _)| a != b);
        differs.is_some_and(|((a, b), ascending)| (a < b) == *ascending)
    }

    /// What a row about this member ends with.
    fn standing(&self, con: &mut Connection, member: &str, kind: &str) -> String {
        let Some((_, scores)) = self.members.iter().find(|(name, _)| name == member) else { return "nil".into() };
        let mut better: Vec<&[i64]> = self
            .members
            .iter()
            .map(|(_, other)| other.as_slice())
            .filter(|other| self.is_better(other, scores))
            .collect();
        let rank = match kind {
            "COMPETITION" => 1 + better.len(),
            "DENSE" => {
                better.sort_unstable();
                better.dedup();
                1 + better.len()
            }
            // The position, as a list of the whole board has it.
            _ => {
                let rows = reply(con, &format!("RANK.TOPN {} 99", self.key));
                1 + names(&rows).iter().position(|name| name == member).expect("a row")
            }
        };
        let is_float = self.members.iter().all(|(_, scores)| scores.len() == 1) && is_plain(con, &self.key);
        let shown: Vec<String> =
            scores.iter().map(|score| if is_float { format!("\"{score}\"") } else { score.to_string() }).collect();
        format!("[{rank}, {}]", shown.join(", "))
    }
}

fn is_plain(con: &mut Connection, key: &str) -> bool {
    reply(con, &format!("RANK.INFO {key}")).contains(r#""layout", "plain""#)
}

/// The members in the rows of a reply.
fn names(reply: &str) -> Vec<String> {
    let begins_name = |part: &&str| part.starts_with('m') && part[1..].bytes().all(|byte| byte.is_ascii_digit());
    reply.split('"').filter(begins_name).map(str::to_owned).collect()
}

/// What the reply to a read is with the standings behind each of its rows.
fn with_standings(con: &mut Connection, read: &str, other: &Noted, kind: &str) -> String {
    let mut answer = reply(con, &format!("{read} {kind}"));
    for name in names(&answer) {
        let standing = other.standing(con, &name, kind);
        let row = answer.find(&format!("\"{name}\"")).expect("the name");
        let end = row + answer[row..].find(']').expect("the end of the row");
        // Marked, so that it is not found again.
        answer.replace_range(end..end, &format!(", {standing}"));
        answer.replace_range(row..row + name.len() + 2, &format!("\"~{name}\""));
    }
    answer.replace('~', "")
}

on_every_server! {
    fn every_layout_against_every_other(server: Server) {
        let mut con = server.connect();
        let mut dice = Dice::new(42);
        for left in LAYOUTS {
            for right in LAYOUTS {
                script(&mut con, "FLUSHALL => +OK");
                let own = Noted::random(&mut con, &mut dice, "left", left);
                let other = Noted::random(&mut con, &mut dice, "right", right);
                let (member, scores) = own.members[dice.roll(own.members.len())].clone();
                let scores = scores.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
                for read in [
                    "RANK.GET left MEMBER", "RANK.TOPN left 9", "RANK.TOPN left 0", "RANK.RANGE left 3 12", "RANK.RANGE left -3 -1",
                    "RANK.PAGE left 2 5", "RANK.AROUND left MEMBER 3 FILL", "RANK.BYSCORE left 1 3 LIMIT 1 7",
                    "RANK.AMONG left 5 MEMBER m1 m2 m3 m4", "RANK.AFTER left 6 SCORES", "RANK.BEFORE left 6 SCORES",
                ] {
                    let read = read.replace("MEMBER", &member).replace("SCORES", &scores);
                    for kind in ["COMPETITION", "DENSE", "ORDINAL"] {
                        let expected = with_standings(&mut con, &read, &other, kind);
                        expect(&mut con, &format!("{read} VERSUS right {kind}"), &expected);
                    }
                }
                let same = with_standings(&mut con, "RANK.TOPN left 99", &own, "DENSE");
                expect(&mut con, "RANK.TOPN left 99 VERSUS left DENSE", &same);
            }
        }
    }

    fn what_a_row_says(server: Server) {
        let boards = r#"
            RANK.CREATE now FIELD gold INT FIELD silver INT TIES FIRST DATA players => +OK
            RANK.ADD now AT 1800000000000 5 1 ann 5 1 bob 3 9 eve => 3
            HSET players ann {"a":"1"} => 1
            RANK.ADD before 10 bob 20 ann 20 zoe => 3
            RANK.CREATE medals FIELD gold INT FIELD silver ASC INT => +OK
            RANK.ADD medals 2 7 ann 2 7 bob => 2"#;
        script(&mut server.connect(), boards);
        // The kind of rank is that of the row: ORDINAL on a board with tie times, unless the call says otherwise.
        script(&mut server.connect(), r#"
            RANK.TOPN now 3 VERSUS before => [[1, "bob", 5, 1, [3, "10"]], [2, "ann", 5, 1, [2, "20"]], [3, "eve", 3, 9, nil]]
            RANK.TOPN now 3 VERSUS before COMPETITION => [[1, "bob", 5, 1, [3, "10"]], [1, "ann", 5, 1, [1, "20"]], [3, "eve", 3, 9, nil]]
            RANK.GET now ann VERSUS before WITHDATA WITHTIME DENSE => [1, "ann", 5, 1, 1800000000000, ["a", "1"], [1, "20"]]
            RANK.GET now eve WITHDATA VERSUS before => [3, "eve", 3, 9, nil, nil]
            RANK.GET before ann VERSUS medals => [1, "ann", "20", [1, 2, 7]]
            RANK.GET before zoe VERSUS medals => [1, "zoe", "20", nil]
            RANK.GET before nobody VERSUS medals => nil
            RANK.GET now bob VERSUS before JSON => "{\"rank\":1,\"member\":\"bob\",\"scores\":{\"gold\":5,\"silver\":1},\"versus\":{\"rank\":3,\"score\":10}}"
            RANK.GET now eve VERSUS before JSON WITHDATA => "{\"rank\":3,\"member\":\"eve\",\"scores\":{\"gold\":3,\"silver\":9},\"data\":null,\"versus\":null}"
            RANK.AMONG before 2 bob ann JSON VERSUS medals => "[{\"place\":1,\"rank\":1,\"member\":\"ann\",\"score\":20,\"versus\":{\"rank\":1,\"scores\":{\"gold\":2,\"silver\":7}}},{\"place\":2,\"rank\":3,\"member\":\"bob\",\"score\":10,\"versus\":{\"rank\":1,\"scores\":{\"gold\":2,\"silver\":7}}}]"
            RANK.PAGE before 1 1 VERSUS medals => [1, 3, 3, [[1, "zoe", "20", nil]]]
            RANK.PAGE before 3 1 VERSUS medals JSON => "{\"page\":3,\"pages\":3,\"members\":3,\"rows\":[{\"rank\":3,\"member\":\"bob\",\"score\":10,\"versus\":{\"rank\":1,\"scores\":{\"gold\":2,\"silver\":7}}}]}"
            RANK.TOPN nothing 9 VERSUS before => []
            RANK.TOPN before 1 VERSUS nothing => [[1, "zoe", "20", nil]]
            RANK.TOPN before 1 VERSUS nothing JSON DENSE => "[{\"rank\":1,\"member\":\"zoe\",\"score\":20,\"versus\":null}]"
        "#);
        script(&mut server.connect_resp3(), r#"
            RANK.GET now bob VERSUS before => [1, "bob", 5, 1, [3, 10f]]
            RANK.GET now eve VERSUS before => [3, "eve", 3, 9, nil]
            RANK.GET before ann VERSUS before => [1, "ann", 20f, [1, 20f]]
        "#);
    }

    /// `ASC` and `DESC` are for boards without a schema, on either side.
    fn both_boards_are_read_from_the_same_end(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD left 1 a 2 b 3 c => 3
            RANK.ADD right 10 a 20 b => 2
            RANK.CREATE asc ASC => +OK
            RANK.ADD asc 10 a 20 b => 2
            RANK.GET left a VERSUS right => [3, "a", "1", [2, "10"]]
            RANK.GET left a ASC VERSUS right => [1, "a", "1", [1, "10"]]
            RANK.GET left a VERSUS right DESC => [3, "a", "1", [2, "10"]]
            RANK.GET left b ASC VERSUS asc => [2, "b", "2", [2, "20"]]
            RANK.GET left b DESC VERSUS asc => [2, "b", "2", [2, "20"]]
            RANK.GET asc a ASC VERSUS left => SCHEMA ASC and DESC are only valid on a board without a schema
        "#);
    }

    fn a_period_beside_the_whole_board_and_an_archive(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE {g}all FIELD score INT PERIOD DAY {g}day: => +OK
            RANK.ADD {g}all 5 ann 9 bob => 2
            RANK.INCR {g}all 7 ann => 12
            RANK.CREATE {g}past FIELD score INT => +OK
            RANK.ADD {g}past 100 bob => 1
            RANK.TOPN {g}all 2 PERIOD day VERSUS {g}all => [[1, "ann", 12, [1, 12]], [2, "bob", 9, [2, 9]]]
            RANK.TOPN {g}all 2 VERSUS {g}past PERIOD day => [[1, "ann", 12, nil], [2, "bob", 9, [1, 100]]]
            RANK.TOPN {g}all 2 PERIOD day -1 VERSUS {g}past => []
            COPY {g}all {g}yesterday => 1
            RANK.ADD {g}all 99 eve => 1
            RANK.TOPN {g}all 2 VERSUS {g}yesterday => [[1, "eve", 99, nil], [2, "ann", 12, [1, 12]]]
        "#);
    }

    fn dense_ranks_of_both_boards_share_their_hops(server: Server) {
        let mut con = server.connect();
        for member in 0..40 {
            expect(&mut con, &format!("RANK.ADD left {member} m{member}"), "1");
            expect(&mut con, &format!("RANK.ADD right {member} m{}", 39 - member), "1");
        }
        script(&mut con, r#"
            CONFIG SET rank.max-hops 40 => +OK
            RANK.GET left m20 DENSE VERSUS right => [20, "m20", "20", [21, "19"]]
            RANK.AMONG left 3 m0 m1 m2 DENSE => [[1, 38, "m2", "2"], [2, 39, "m1", "1"], [3, 40, "m0", "0"]]
            RANK.TOPN left 1 DENSE VERSUS right => [[1, "m39", "39", [40, "0"]]]
            RANK.RANGE left 39 40 DENSE VERSUS right => [[39, "m1", "1", [2, "38"]], [40, "m0", "0", [1, "39"]]]
            CONFIG SET rank.max-hops 38 => +OK
            RANK.GET left m20 DENSE => [20, "m20", "20"]
            RANK.GET left m20 DENSE VERSUS right => TOOBIG in VERSUS 'right': a DENSE rank would visit more than 38 distinct scores: use COMPETITION, or raise rank.max-hops
            RANK.GET left m20 VERSUS right => [20, "m20", "20", [21, "19"]]
        "#);
    }

    fn errors_name_the_other_board(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 1 a => 1
            SET text x => +OK
            RANK.TOPN b 1 VERSUS text => WRONGTYPE in VERSUS 'text': Operation against a key holding the wrong kind of value
            RANK.CREATE packed FIELD x DIGITS 3 => +OK
            ZADD packed 1.5 a => 1
            RANK.GET b a VERSUS packed => DAMAGED in VERSUS 'packed': element 'a' does not decode under the board's schema: ZREM it; RANK.VERIFY finds the others
            RANK.CREATE s:2:{2} SHARD 0 2 => +OK
            RANK.GET s:2:{2} a VERSUS b => SCHEMA VERSUS is not valid with shards: a rank on one of them is not a rank on the whole board
            RANK.GET b a VERSUS s:2:{2} => SCHEMA in VERSUS 's:2:{2}': VERSUS is not valid with shards: a rank on one of them is not a rank on the whole board
            RANK.GET b a VERSUS => ERR VERSUS needs a value
            RANK.GET b a VERSUS b VERSUS b => ERR VERSUS is specified more than once
            RANK.POP b VERSUS b => ERR unknown option 'VERSUS'
            RANK.STATS b VERSUS b => ERR unknown option 'VERSUS'
            RANK.QUERY b a VERSUS b => ERR unknown option 'VERSUS'
            RANK.FORSCORE b 1 VERSUS b => ERR unknown option 'VERSUS'
        "#);
    }

    /// Members can have any name.
    fn the_other_key_is_found_by_its_position(server: Server) {
        script(&mut server.connect(), r#"
            COMMAND GETKEYS RANK.GET k VERSUS => ["k"]
            COMMAND GETKEYS RANK.GET k VERSUS VERSUS o => ["k", "o"]
            COMMAND GETKEYS RANK.GET k VERSUS DENSE versus VERSUS JSON => ["k", "VERSUS"]
            COMMAND GETKEYS RANK.GET k m VERSUS => ["k"]
            COMMAND GETKEYS RANK.GET k m WITHDATA PERIOD day VERSUS o => ["k", "o"]
            COMMAND GETKEYS RANK.GET k m PERIOD day -1 VERSUS o JSON => ["k", "o"]
            COMMAND GETKEYS RANK.GET k m PERIOD day 2026-11-16 VERSUS o => ["k", "o"]
            COMMAND GETKEYS RANK.TOPN k 5 VERSUS o ASC => ["k", "o"]
            COMMAND GETKEYS RANK.TOPN k VERSUS o => ["k"]
            COMMAND GETKEYS RANK.RANGE k 1 -1 VERSUS o => ["k", "o"]
            COMMAND GETKEYS RANK.PAGE k 1 10 VERSUS o => ["k", "o"]
            COMMAND GETKEYS RANK.AROUND k VERSUS 3 FILL VERSUS o => ["k", "o"]
            COMMAND GETKEYS RANK.BYSCORE k (1 inf LIMIT 1 2 VERSUS o => ["k", "o"]
            COMMAND GETKEYS RANK.AMONG k 2 VERSUS VERSUS => ["k"]
            COMMAND GETKEYS RANK.AMONG k 3 VERSUS a VERSUS VERSUS o => ["k", "o"]
            COMMAND GETKEYS RANK.AMONG k 9 a VERSUS o => ["k"]
            COMMAND GETKEYS RANK.AMONG k 9223372036854775807 a VERSUS o => ["k"]
            COMMAND GETKEYS RANK.AFTER k 9 1 2.5 inf AT 5 MEMBER VERSUS VERSUS o => ["k", "o"]
            COMMAND GETKEYS RANK.AFTER k 9 1 MEMBER VERSUS => ["k"]
            COMMAND GETKEYS RANK.BEFORE k 9 1 VERSUS o MEMBER VERSUS => ["k", "o"]
            COMMAND GETKEYS RANK.BEFORE k 9 1 VERSUS o VERSUS p => ["k", "o"]
        "#);
    }

    fn both_keys_need_permission(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.ADD mine 1 a => 1
            RANK.ADD mine:old 2 a => 1
            RANK.ADD theirs 3 a => 1
            ACL SETUSER reader on nopass %R~mine* +@all => +OK
            AUTH reader pass => +OK
            RANK.GET mine a VERSUS mine:old => [1, "a", "1", [1, "2"]]
        "#);
        for read in [
            "GET mine a", "TOPN mine 1", "RANGE mine 1 1", "PAGE mine 1 1", "AROUND mine a 1", "BYSCORE mine 0 9", "AMONG mine 1 a",
            "AFTER mine 1 5", "BEFORE mine 1 0",
        ] {
            let answer = reply(&mut con, &format!("RANK.{read} VERSUS theirs"));
            assert!(answer.starts_with("NOPERM"), "{read}: {answer}");
            assert!(!is_error(&reply(&mut con, &format!("RANK.{read} VERSUS mine:old"))), "{read}");
        }
    }

    fn both_keys_are_in_one_slot(kind: Kind) {
        let cluster = Cluster::start(kind, false);
        let mut client = cluster.client();
        assert_ne!(cluster.slot_of("left"), cluster.slot_of("right"));
        assert_eq!(client.line("RANK.ADD left 1 VERSUS 2 b"), "2");
        assert_eq!(client.line("RANK.ADD {left}2 5 VERSUS"), "1");
        assert!(client.line("RANK.GET left VERSUS VERSUS right").starts_with("CROSSSLOT"));
        assert!(client.line("RANK.AMONG left 2 VERSUS b VERSUS right").starts_with("CROSSSLOT"));
        assert!(client.line("RANK.AFTER left 9 5 MEMBER VERSUS VERSUS right").starts_with("CROSSSLOT"));
        assert_eq!(client.line("RANK.GET left VERSUS VERSUS {left}2"), r#"[2, "VERSUS", "1", [1, "5"]]"#);
        assert_eq!(client.line("RANK.AMONG left 2 VERSUS b VERSUS {left}2"), r#"[[1, 1, "b", "2", nil], [2, 2, "VERSUS", "1", [1, "5"]]]"#);
    }

    /// As the server does for all commands with several keys.
    fn while_the_slot_moves_a_key_may_be_on_the_other_node(kind: Kind) {
        let cluster = Cluster::start(kind, false);
        let mut client = cluster.client();
        client.line("RANK.ADD {s}left 1 a");
        client.line("RANK.ADD {s}right 5 a");
        let slot = cluster.slot_of("s");
        let (source, target) = (cluster.owner(slot), cluster.another_primary(slot));
        let mut con = source.connect();
        expect(&mut target.connect(), &format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(source)), "+OK");
        expect(&mut con, &format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(target)), "+OK");
        expect(&mut con, "RANK.GET {s}left a VERSUS {s}right", r#"[1, "a", "1", [1, "5"]]"#);
        expect(&mut con, &format!("MIGRATE 127.0.0.1 {} {{s}}right 0 5000", target.port()), "+OK");
        let answer = reply(&mut con, "RANK.GET {s}left a VERSUS {s}right");
        assert!(answer.starts_with("TRYAGAIN"), "{answer}");
        expect(&mut con, "RANK.GET {s}left a", r#"[1, "a", "1"]"#);
    }
}
