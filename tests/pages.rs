//! `RANK.AFTER` and `RANK.BEFORE`: pages of a list that changes while it is read, on every layout.

use std::cmp::Ordering;

use redis::{Connection, Value};

use crate::script::{script, Dice};
use crate::support::boards::*;
use crate::support::*;

/// A row as a client sees it, and as it compares rows.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    rank: i64,
    name: Vec<u8>,
    scores: Vec<i64>,
    time: Option<i64>,
}

fn whole(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        Value::BulkString(text) => String::from_utf8_lossy(text).parse().expect("a whole number"),
        other => panic!("not a number: {}", show(other)),
    }
}

/// The rows of a read, which is sent with `WITHTIME`.
#[track_caller]
fn rows(con: &mut Connection, mut args: Vec<Vec<u8>>) -> Vec<Row> {
    args.push(b"WITHTIME".to_vec());
    let got = cmdv(con, &args);
    let Ok(Value::Array(rows)) = &got else { panic!("{}", show_result(&got)) };
    let row = |row: &Value| {
        let Value::Array(parts) = row else { panic!("no row: {}", show(row)) };
        let [rank, Value::BulkString(name), scores @ .., time] = parts.as_slice() else { panic!("{}", show(row)) };
        let time = (*time != Value::Nil).then(|| whole(time));
        Row { rank: whole(rank), name: name.clone(), scores: scores.iter().map(whole).collect(), time }
    };
    rows.iter().map(row).collect()
}

/// A place in the order of a board.
#[derive(Clone, Debug)]
struct Place {
    scores: Vec<i64>,
    at: Option<i64>,
    name: Option<Vec<u8>>,
}

impl Place {
    fn of(row: &Row) -> Place {
        Place { scores: row.scores.clone(), at: row.time, name: Some(row.name.clone()) }
    }

    fn words(&self) -> Vec<Vec<u8>> {
        let mut words: Vec<Vec<u8>> = self.scores.iter().map(|score| score.to_string().into_bytes()).collect();
        if let Some(name) = &self.name {
            words.extend([b"MEMBER".to_vec(), name.clone()]);
        }
        if let Some(at) = self.at {
            words.extend([b"AT".to_vec(), at.to_string().into_bytes()]);
        }
        words
    }

    /// Where a row stands beside the place, best first; equal to what the place leaves out.
    fn beside(&self, row: &Row, schema: &str) -> Ordering {
        let ascending: Vec<bool> = match schema {
            BARE => vec![false],
            _ => schema.split("FIELD ").skip(1).map(|field| field.contains("ASC")).collect(),
        };
        for ((a, b), ascending) in row.scores.iter().zip(&self.scores).zip(&ascending) {
            let order = if *ascending { a.cmp(b) } else { b.cmp(a) };
            if order.is_ne() {
                return order;
            }
        }
        let by_time = match (self.at, row.time) {
            (None, Some(_)) => return Ordering::Equal,
            (Some(at), Some(time)) if schema.contains("LAST") => at.cmp(&time),
            (Some(at), Some(time)) => time.cmp(&at),
            _ => Ordering::Equal,
        };
        let by_name = self.name.as_ref().map_or(Ordering::Equal, |name| {
            if ascending[0] {
                row.name.cmp(name)
            } else {
                name.cmp(&row.name)
            }
        });
        by_time.then(by_name)
    }
}

/// The rows after and before a place, by a list of all rows.
#[track_caller]
fn assert_beside(con: &mut Connection, schema: &str, place: &Place, kind: &str) {
    let all = rows(con, words(&format!("RANK.TOPN b 100000 {kind}")));
    let n = 3;
    for command in ["RANK.AFTER", "RANK.BEFORE"] {
        let mut args = words(&format!("{command} b {n}"));
        args.extend(place.words().into_iter().chain(words(kind)));
        let wanted = if command == "RANK.AFTER" { Ordering::Greater } else { Ordering::Less };
        let expected: Vec<&Row> = all.iter().filter(|row| place.beside(row, schema) == wanted).collect();
        let expected = match command {
            "RANK.AFTER" => &expected[..expected.len().min(n)],
            _ => &expected[expected.len().saturating_sub(n)..],
        };
        let got = rows(con, args.clone());
        assert_eq!(got.iter().collect::<Vec<_>>(), expected, "{schema}: {command} {place:?} {kind}");
    }
    if let (Some(name), true) = (&place.name, place.at.is_some() || !schema.contains("TIES")) {
        let strictly_before = all.iter().filter(|row| place.beside(row, schema).is_lt()).count();
        let mut args = words("RANK.FORSCORE b");
        args.extend(place.words().into_iter().chain(words("ORDINAL")));
        let got = cmdv(con, &args);
        assert_eq!(show_result(&got), (strictly_before + 1).to_string(), "{schema}: {}", name.escape_ascii());
    }
}

on_every_server! {
    fn pages_of_every_layout_follow_each_other(server: Server) {
        let mut con = server.connect();
        for schema in SCHEMAS {
            for fill in [Filled::small, Filled::large] {
                expect(&mut con, "FLUSHALL", "+OK");
                fill(&mut con, "b", schema);
                for kind in ["", "COMPETITION", "DENSE", "ORDINAL"] {
                    let all = rows(&mut con, words(&format!("RANK.TOPN b 100000 {kind}")));
                    let mut listed = rows(&mut con, words(&format!("RANK.TOPN b 5 {kind}")));
                    while let Some(last) = listed.last().cloned() {
                        let mut args = words("RANK.AFTER b 5");
                        args.extend(Place::of(&last).words().into_iter().chain(words(kind)));
                        let page = rows(&mut con, args);
                        if page.is_empty() {
                            break;
                        }
                        listed.extend(page);
                    }
                    assert_eq!(listed, all, "{schema}: forward, {kind}");
                    let mut listed = rows(&mut con, words(&format!("RANK.RANGE b -5 -1 {kind}")));
                    while let Some(first) = listed.first().cloned() {
                        let mut args = words("RANK.BEFORE b 5");
                        args.extend(Place::of(&first).words().into_iter().chain(words(kind)));
                        let page = rows(&mut con, args);
                        if page.is_empty() {
                            break;
                        }
                        listed.splice(0..0, page);
                    }
                    assert_eq!(listed, all, "{schema}: backward, {kind}");
                }
            }
        }
    }

    /// A place is where somebody stood, or nobody ever did; the board goes on changing.
    fn a_page_begins_at_its_place_whatever_happened_since(server: Server) {
        let mut con = server.connect();
        let mut dice = Dice::new(13);
        for (number, schema) in SCHEMAS.iter().enumerate() {
            for (fill, encoding) in [(Filled::small as fn(&mut _, &_, _) -> _, number), (Filled::large, number + 1)] {
                encode_as(&mut con, ENCODINGS[encoding % 2]);
                expect(&mut con, "FLUSHALL", "+OK");
                let filled = fill(&mut con, "b", schema);
                for step in 0..60 {
                    let all = rows(&mut con, words("RANK.TOPN b 100000"));
                    let mut place = Place::of(&all[dice.roll(all.len())]);
                    match dice.roll(8) {
                        0 => place.scores[0] += 1,
                        1 => place.name = None,
                        2 => (place.name, place.at) = (None, None),
                        3 => place.name = Some(b"m".to_vec()),
                        4 => place.name = Some(b"".to_vec()),
                        5 => place.at = place.at.map(|at| at + 10_000),
                        _ => {}
                    }
                    for _ in 0..dice.roll(4) {
                        let name = filled.names[dice.roll(filled.names.len())].clone();
                        let mut args = words("RANK.ADD b");
                        if schema.contains("TIES") {
                            args.extend(words(&format!("AT {}", 1_700_000_000_000 + dice.roll(5) * 10_000)));
                        }
                        args.extend(scores(schema, dice.roll(20), dice.roll(50)).into_iter().chain([name.clone()]));
                        let got = replyv(&mut con, &args);
                        assert!(["0", "1"].contains(&got.as_str()), "{got}");
                        if dice.once_in(3) && all.len() > 4 {
                            replyv(&mut con, &[b"RANK.REM".to_vec(), b"b".to_vec(), name]);
                        }
                    }
                    assert_beside(&mut con, schema, &place, ["", "COMPETITION", "DENSE", "ORDINAL"][step % 4]);
                }
            }
        }
    }

    fn a_group_of_many_equals_is_paged_by_name(server: Server) {
        let mut con = server.connect();
        for (schema, fields) in [("ASC", ""), ("FIELD a INT", ""), ("FIELD a FLOAT TIES LAST", "AT 1700000000000")] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE b {schema} => +OK"));
            let pairs: String = (0..500).map(|i| format!(" 7 m{:03}", i * 2)).collect();
            expect(&mut con, &format!("RANK.ADD b {fields} 1 first 9 last{pairs}"), "502");
            for name in ["m000", "m001", "m499", "m500", "m998", "m999", "a", "z", ""] {
                let at = if fields.is_empty() { None } else { Some(1_700_000_000_000) };
                let place = Place { scores: vec![7], at, name: Some(name.into()) };
                let schema = if schema == "ASC" { "FIELD a ASC" } else { schema };
                assert_beside(&mut con, schema, &place, "ORDINAL");
            }
        }
    }

    fn what_a_place_leaves_out_means_all_equals(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE b FIELD a BITS 10 TIES FIRST => +OK
            RANK.ADD b AT 1700000001000 5 a => 1
            RANK.ADD b AT 1700000002000 5 b 5 c => 2
            RANK.ADD b AT 1700000003000 5 d 3 e 7 f => 3
            RANK.AFTER b 9 5 => [[6, "e", 3]]
            RANK.BEFORE b 9 5 => [[1, "f", 7]]
            RANK.AFTER b 9 5 AT 1700000002000 => [[5, "d", 5], [6, "e", 3]]
            RANK.BEFORE b 9 5 AT 1700000002000 => [[1, "f", 7], [2, "a", 5]]
            RANK.AFTER b 1 5 AT 1700000002000 MEMBER c => [[4, "b", 5]]
            RANK.BEFORE b 1 5 AT 1700000002000 MEMBER b => [[3, "c", 5]]
            RANK.AFTER b 9 5 MEMBER a => [[6, "e", 3]]
            RANK.AFTER b 0 5 => []
            RANK.AFTER b 9 0 => []
            RANK.BEFORE b 9 1023 => []
            RANK.AFTER b 2 1023 WITHTIME => [[1, "f", 7, 1700000003000], [2, "a", 5, 1700000001000]]
            RANK.FORSCORE b 5 => 6
            RANK.FORSCORE b 5 AT 1700000001500 => 3
            RANK.FORSCORE b 5 AT 1700000002000 => 5
            RANK.FORSCORE b 5 MEMBER c => 6
            RANK.FORSCORE b 5 AT 1700000002000 MEMBER c => 3
            RANK.FORSCORE b 5 MEMBER b AT 1700000002000 => 4
            RANK.FORSCORE b 5 AT 1700000002000 MEMBER b COMPETITION => 2
            RANK.FORSCORE b 5 AT 1700000002000 MEMBER b DENSE => 2
            RANK.CREATE last FIELD a BITS 10 TIES LAST => +OK
            RANK.ADD last AT 1700000001000 5 a => 1
            RANK.ADD last AT 1700000002000 5 b 5 c => 2
            RANK.FORSCORE last 5 => 1
            RANK.FORSCORE last 5 AT 1700000002000 => 1
            RANK.FORSCORE last 5 AT 1700000001500 => 3
            RANK.FORSCORE last 5 AT 1700000002000 MEMBER b => 2
            RANK.AFTER last 9 5 AT 1700000002000 => [[3, "a", 5]]
        "#);
    }

    fn places_on_a_board_without_a_schema_follow_its_reading(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD set 50 a 50 b 30 c inf d -inf e => 5
            RANK.AFTER set 2 50 MEMBER b => [[2, "a", "50"], [4, "c", "30"]]
            RANK.AFTER set 2 50 MEMBER b ASC => [[5, "d", "inf"]]
            RANK.BEFORE set 2 50 MEMBER b ASC => [[2, "c", "30"], [3, "a", "50"]]
            RANK.BEFORE set 2 50 MEMBER b DESC => [[1, "d", "inf"]]
            RANK.AFTER set 2 inf => [[2, "b", "50"], [2, "a", "50"]]
            RANK.BEFORE set 9 -inf JSON => "[{\"rank\":1,\"member\":\"d\",\"score\":\"inf\"},{\"rank\":2,\"member\":\"b\",\"score\":50},{\"rank\":2,\"member\":\"a\",\"score\":50},{\"rank\":4,\"member\":\"c\",\"score\":30}]"
            RANK.AFTER set 9 -inf => []
            RANK.FORSCORE set 50 MEMBER a => 2
            RANK.FORSCORE set 50 MEMBER a ORDINAL => 3
            RANK.FORSCORE set 50 ORDINAL => 4
        "#);
    }

    fn a_missing_board_has_no_rows_beside_any_place(server: Server) {
        script(&mut server.connect(), r#"
            RANK.AFTER none 5 1 => []
            RANK.AFTER none 5 1 2 3 AT 1700000000000 MEMBER a WITHDATA WITHTIME => []
            RANK.BEFORE none 5 1 2 JSON => "[]"
            RANK.FORSCORE none 1 2 3 => 1
            RANK.FORSCORE none 1 AT 5 MEMBER a => 1
            RANK.AFTER none 5 x => OUTOFRANGE field 'score' takes a number, inf or -inf, got x
            RANK.FORSCORE none x => OUTOFRANGE field 'score' takes a number, inf or -inf, got x
            RANK.AFTER none 5 => ERR wrong number of arguments for 'rank.after' command
        "#);
    }

    fn a_place_that_cannot_be_is_refused(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE two FIELD a BITS 10 FIELD b BITS 10 => +OK
            RANK.CREATE timed FIELD a BITS 10 TIES FIRST => +OK
            RANK.AFTER two 5 1 => ERR expected 2 scores, got 1
            RANK.AFTER two 5 1 JSON => OUTOFRANGE field 'b' takes 0 to 1023, got JSON
            RANK.BEFORE two 5 1 2 3 => ERR expected 2 scores, got 3
            RANK.AFTER two -1 1 2 => ERR n takes 0 or more, got -1
            RANK.AFTER two 5 1 2 AT 1700000000000 => SCHEMA AT is only valid on a board with TIES FIRST, LAST or JOINED
            RANK.FORSCORE two 1 2 AT 1700000000000 => SCHEMA AT is only valid on a board with TIES FIRST, LAST or JOINED
            RANK.AFTER two 5 1 2 MEMBER => ERR MEMBER needs a value
            RANK.AFTER two 5 1 2 MEMBER a MEMBER b => ERR MEMBER is specified more than once
            RANK.AFTER two 5 1 2 LIMIT 0 1 => ERR unknown option 'LIMIT'
            RANK.AFTER two 5 1 2 ASC => SCHEMA ASC and DESC are only valid on a board without a schema
            RANK.AFTER timed 5 1 AT -5 => ERR AT takes 0 to 9007199254740991, got -5
            RANK.FORSCORE two 1 2 JSON => ERR unknown option 'JSON'
            RANK.TOPN two 5 MEMBER a => ERR unknown option 'MEMBER'
        "#);
    }

    fn withtime_is_in_every_read_of_rows(server: Server) {
        let (mut con, mut resp3) = (server.connect(), server.connect_resp3());
        script(&mut con, r#"
            RANK.CREATE b FIELD a BITS 10 TIES FIRST DATA h => +OK
            RANK.ADD b AT 1700000001000 5 a => 1
            RANK.CREATE shared => +OK
            RANK.ADD shared 5 a => 1
            RANK.CREATE seconds FIELD a INT TIES LAST S => +OK
            RANK.ADD seconds AT 1700000001999 5 a => 1
        "#);
        for con in [&mut con, &mut resp3] {
            for read in [
                "GET b a", "TOPN b 1", "RANGE b 1 1", "PAGE b 1 1", "AROUND b a 0", "BYSCORE b 5 5", "AMONG b 1 a",
                "AFTER b 1 6", "BEFORE b 1 4",
            ] {
                let row = reply(con, &format!("RANK.{read} WITHTIME WITHDATA"));
                assert!(row.contains(r#""a", 5, 1700000001000, nil]"#), "{read}: {row}");
                let json = reply(con, &format!("RANK.{read} WITHDATA JSON WITHTIME"));
                assert!(json.contains(r#"\"score\":5,\"time\":1700000001000,\"data\":null}"#), "{read}: {json}");
                let row = reply(con, &format!("RANK.{} WITHTIME", read.replace(" b ", " shared ")));
                assert!(row.contains(", nil]"), "{read}: {row}");
                let json = reply(con, &format!("RANK.{} WITHTIME JSON", read.replace(" b ", " shared ")));
                assert!(json.contains(r#"\"time\":null}"#), "{read}: {json}");
            }
            expect(con, "RANK.GET seconds a WITHTIME", r#"[1, "a", 5, 1700000001000]"#);
            expect(con, "RANK.GET b a WITHTIME WITHTIME", "ERR WITHTIME is specified more than once");
            for read in ["QUERY b a", "STATS b", "FORSCORE b 5"] {
                expect(con, &format!("RANK.{read} WITHTIME"), "ERR unknown option 'WITHTIME'");
            }
        }
    }
}
