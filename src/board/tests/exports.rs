//! Boards that are scanned while they change, and loaded again.

use std::collections::HashMap;

use proptest::prelude::*;

use super::random::{apply, name, op, rules, value, PLAIN_WRITE};
use super::*;
use crate::board::{
    lines_of, Board, LoadLine, Pair, RankKind, ScanCursor, ScanStep, Schema, Update, Value, WriteRequest, WriteResult,
};
use crate::error::Error;
use crate::zset::{Condition, MemorySet};

fn board_of(rules: &Rules) -> Board<MemorySet> {
    let mut board = Board::open(MemorySet::default()).unwrap();
    create(&mut board, rules);
    board
}

fn tuple(rules: &Rules, seeds: &[u64]) -> Tuple {
    rules.fields.iter().zip(seeds).map(|(field, seed)| value(field.kind, *seed)).collect()
}

/// Name, scores and time of each member, as a line has them.
fn standings(board: &mut Board<MemorySet>) -> Vec<(Vec<u8>, Tuple, Option<i64>)> {
    let rows = board.rows(0, u64::MAX, RankKind::Ordinal).unwrap();
    rows.iter().map(|row| (row.member().to_vec(), row.values.clone(), row.time)).collect()
}

fn line(name: &[u8], values: &Tuple, time: Option<i64>) -> LoadLine<'static> {
    LoadLine { member: name.to_vec().into(), values: values.clone(), time, data: None }
}

/// What `RANK.LOAD` does: how many members are new.
fn load(board: &mut Board<MemorySet>, lines: &[LoadLine], condition: Condition) -> WriteResult<Vec<u8>> {
    let Rules { update, keep, .. } = board.schema().rules;
    let pair = |line: &LoadLine| Pair { at: line.time, ..Pair::new(line.values.clone(), line.member.to_vec()) };
    let pairs: Vec<Pair<Vec<u8>>> = lines.iter().map(pair).collect();
    board.write(&WriteRequest { condition, update, keep, ..PLAIN_WRITE }, &pairs).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whoever is on the board throughout is returned, with scores that it had at some time.
    #[test]
    fn a_scan_returns_who_stays(rules in rules(), ops in prop::collection::vec(op(), 1..30), most in 1_u64..4,
                                moves in prop::collection::vec((0_u8..12, prop::collection::vec(any::<u64>(), 4)), 60)) {
        let mut board = board_of(&rules);
        let mut naive = Naive { rules: rules.clone(), members: Vec::new() };
        for op in ops {
            apply(op, &mut board, &mut naive, |seeds| tuple(&rules, seeds));
        }
        let staying: Vec<Vec<u8>> = standings(&mut board).into_iter().map(|(name, ..)| name).collect();
        let (mut cursor, mut seen, mut moves) = (ScanCursor::End, HashMap::new(), moves.into_iter());
        loop {
            let mut rows = 0;
            let step = ScanStep { count: 2, most };
            cursor = board.scan(&cursor, step, &mut |row| {
                rows += 1;
                seen.insert(row.member().to_vec(), (row.values, row.time));
                true
            }).unwrap();
            prop_assert!(rows <= most, "{rows} rows in a step");
            prop_assert_eq!(ScanCursor::parse(cursor.to_string().as_bytes()), Some(cursor.clone()));
            if cursor == ScanCursor::End {
                break;
            }
            for (index, seeds) in moves.by_ref().take(3) {
                let write = WriteRequest { now: EPOCH + 7, ..PLAIN_WRITE };
                board.write(&write, &[Pair::new(tuple(&rules, &seeds), name(index))]).unwrap();
            }
        }
        for name in staying {
            prop_assert!(seen.contains_key(&name), "{} was left out", name.escape_ascii());
        }
    }

    /// A fresh board that is loaded with what a scan returned is the same board; loading it again changes nothing.
    #[test]
    fn what_was_scanned_can_be_loaded(rules in rules(), ops in prop::collection::vec(op(), 1..30), chunk in 1_usize..9) {
        let mut board = board_of(&rules);
        let mut naive = Naive { rules: rules.clone(), members: Vec::new() };
        for op in ops {
            apply(op, &mut board, &mut naive, |seeds| tuple(&rules, seeds));
        }
        let mut lines = Vec::new();
        let step = ScanStep { count: 100, most: u64::MAX };
        let end = board.scan(&ScanCursor::End, step, &mut |row| {
            lines.push(line(row.member(), &row.values, row.time));
            true
        }).unwrap();
        prop_assert_eq!(end, ScanCursor::End);
        let mut fresh = board_of(&rules);
        let added: u64 = lines.chunks(chunk).map(|lines| load(&mut fresh, lines, Condition::Any).added).sum();
        prop_assert_eq!(added, naive.members.len() as u64);
        prop_assert_eq!(standings(&mut fresh), standings(&mut board));
        prop_assert_eq!(fresh.set().elements(), board.set().elements());
        prop_assert_eq!(load(&mut fresh, &lines, Condition::Any).added, 0);
        prop_assert_eq!(load(&mut fresh, &lines, Condition::New).added, 0);
        prop_assert_eq!(fresh.set().elements(), board.set().elements());
    }

    /// A load writes each name once, with what its lines result in; who leaves a bounded board is known in the end.
    #[test]
    fn a_load_writes_each_name_once(rules in rules(), keep in prop::option::of(1_u64..6), best in any::<bool>(), nx in any::<bool>(),
                                   first in lines(), then in lines()) {
        let rules = Rules { keep, update: if best { Update::Best } else { Update::Set }, ..rules };
        let (mut board, mut naive) = (board_of(&rules), Naive { rules: rules.clone(), members: Vec::new() });
        for (batch, only_new) in [(first, false), (then, nx)] {
            let before: Vec<Vec<u8>> = naive.members.iter().map(|member| member.name.clone()).collect();
            let loaded: Vec<LoadLine> = batch.iter().map(|(index, seeds, at)| line(&name(*index), &tuple(&rules, seeds), Some(EPOCH + at))).collect();
            let condition = if only_new { Condition::New } else { Condition::Any };
            let result = load(&mut board, &loaded, condition);
            let mut named: Vec<u8> = Vec::new();
            for (index, ..) in &batch {
                if !named.contains(index) {
                    named.push(*index);
                }
            }
            for index in named {
                // What its lines make of a member, were it alone on a board without a bound.
                let before = naive.get(&name(index)).cloned();
                let mut alone = Naive { rules: rules.clone(), members: before.iter().cloned().collect() };
                for (_, seeds, at) in batch.iter().filter(|(other, ..)| *other == index) {
                    let write = WriteRequest { condition, update: rules.update, now: EPOCH + at, ..PLAIN_WRITE };
                    alone.set(&name(index), &tuple(&rules, seeds), &write);
                }
                let Some(after) = alone.members.first() else { continue };
                if before.is_none_or(|before| before.values != after.values) {
                    let write = WriteRequest { keep, now: after.time * naive.unit_ms(), ..PLAIN_WRITE };
                    naive.set(&name(index), &after.values, &write);
                }
            }
            let new = naive.members.iter().filter(|member| !before.contains(&member.name)).count();
            prop_assert_eq!(result.added, new as u64);
            let expected: Vec<Vec<u8>> = naive.sorted().into_iter().map(|member| member.name).collect();
            let listed: Vec<Vec<u8>> = standings(&mut board).into_iter().map(|(name, ..)| name).collect();
            prop_assert_eq!(&listed, &expected);
            for removed in result.removed {
                let name = removed.name();
                prop_assert!(!expected.iter().any(|there| there == name), "{} is there", name.escape_ascii());
            }
        }
    }
}

proptest! {
    /// Whatever a line or a cursor is, it is taken or refused.
    #[test]
    fn any_line_and_cursor_is_taken_or_refused(bytes in any::<Vec<u8>>(), rules in rules(),
                                               json in r#"\{("(member|score|scores|time|data|x)":("a"|-?[0-9]{1,25}|null|\{"f0":1\}|\[\]|"inf"),?){0,4}\}"#) {
        let schema = Schema::new(rules);
        for text in [bytes.as_slice(), json.as_bytes()] {
            if let Err(problem) = LoadLine::parse(&schema, text) {
                prop_assert!(problem.to_string().bytes().all(|byte| matches!(byte, b' '..=b'~')), "{problem}");
            }
        }
        let _ = ScanCursor::parse(&bytes);
    }
}

type Batch = Vec<(u8, Vec<u64>, i64)>;

fn lines() -> impl Strategy<Value = Batch> {
    prop::collection::vec((0_u8..12, prop::collection::vec(any::<u64>(), 4), 0_i64..5000), 0..12)
}

fn schema(text: &str) -> Schema {
    if text.is_empty() {
        return Schema::implicit();
    }
    Schema::new(Rules::parse(&text.split(' ').map(str::as_bytes).collect::<Vec<_>>()).unwrap())
}

#[test]
fn lines_say_who_has_what() {
    let two = "FIELD gold BITS 10 FIELD silver FLOAT";
    type Case = (&'static str, &'static str, &'static [u8], &'static [Value], Option<&'static str>);
    let cases: &[Case] = &[
        ("", r#"{"member":"ann","score":5}"#, b"ann", &[Value::Float(5.0)], None),
        (
            "",
            r#" { "score" : "-inf", "member" : "", "time" : null, "data" : null } "#,
            b"",
            &[Value::Float(f64::NEG_INFINITY)],
            None,
        ),
        (
            "",
            r#"{"rank":1,"place":2,"member":{"base64":"/w=="},"score":1e+300}"#,
            b"\xff",
            &[Value::Float(1e300)],
            None,
        ),
        (
            "",
            r#"{"member":"a\u0000\n","score":0.1,"data":{"n": [1, 2.50]}}"#,
            b"a\0\n",
            &[Value::Float(0.1)],
            Some(r#"{"n": [1, 2.50]}"#),
        ),
        ("", r#"{"member":"a","score":1,"data":"Bob \"B\""}"#, b"a", &[Value::Float(1.0)], Some("Bob \"B\"")),
        (
            two,
            r#"{"member":"a","scores":{"silver":0.5,"gold":7}}"#,
            b"a",
            &[Value::Integer(7), Value::Float(0.5)],
            None,
        ),
    ];
    for (text, json, member, values, data) in cases {
        let line =
            LoadLine::parse(&schema(text), json.as_bytes()).unwrap_or_else(|problem| panic!("{json}: {problem}"));
        assert_eq!((line.member.as_ref(), line.values.as_slice()), (*member, *values), "{json}");
        assert_eq!(line.data.as_deref(), data.map(str::as_bytes), "{json}");
    }
    let timed = schema("FIELD gold BITS 10 TIES FIRST");
    let time = |json: &str| LoadLine::parse(&timed, json.as_bytes()).map(|line| line.time);
    assert_eq!(time(r#"{"member":"a","score":1,"time":1700000000000}"#), Ok(Some(1_700_000_000_000)));
    assert_eq!(time(r#"{"member":"a","score":1}"#), Ok(None));
    assert_eq!(time(r#"{"member":"a","score":1,"time":0}"#), Ok(Some(0)));
    assert_eq!(time(r#"{"member":"a","score":1,"time":9007199254740991}"#), Ok(Some(9_007_199_254_740_991)));
    let too_late = time(r#"{"member":"a","score":1,"time":9007199254740992}"#);
    assert_eq!(too_late, Err(Error::bad_time(b"9007199254740992")));
}

#[test]
fn lines_that_say_something_else_are_refused() {
    let two = "FIELD gold BITS 10 FIELD silver INT";
    let cases = [
        ("", "5", r#"expected a JSON object such as {"member":"ann","score":5}, got 5"#),
        (
            "",
            r#"{"member":"a","score":1"#,
            r#"expected a JSON object such as {"member":"ann","score":5}, got {\"member\":\"a\",\"score\":1"#,
        ),
        (
            "",
            r#"{"member":"a","score":1}{}"#,
            r#"expected a JSON object such as {"member":"ann","score":5}, got {\"member\":\"a\",\"score\":1}{}"#,
        ),
        ("", r#"{"score":1}"#, r#""member" is missing"#),
        ("", r#"{"member":"a"}"#, r#""score" is missing"#),
        (two, r#"{"member":"a"}"#, r#""scores" is missing"#),
        ("", r#"{"member":5,"score":1}"#, r#""member" takes a string or {"base64":"..."}, got 5"#),
        (
            "",
            r#"{"member":{"base64":"?"},"score":1}"#,
            r#""member" takes a string or {"base64":"..."}, got {\"base64\":\"?\"}"#,
        ),
        ("", r#"{"member":"a","score":true}"#, "field 'score' takes a number, inf or -inf, got true"),
        ("", r#"{"member":"a","score":1,"scores":{}}"#, r#""score" and "scores" are mutually exclusive"#),
        (
            "",
            r#"{"member":"a","scores":{"score":1}}"#,
            r#""scores" needs a board with fields: create it with RANK.CREATE first"#,
        ),
        (two, r#"{"member":"a","score":1}"#, r#"the board has 2 fields: use "scores" with one score for each"#),
        (
            two,
            r#"{"member":"a","scores":[1]}"#,
            r#""scores" takes a JSON object with one score for each field, got [1]"#,
        ),
        (two, r#"{"member":"a","scores":{"gold":1}}"#, "field 'silver' has no score"),
        (two, r#"{"member":"a","scores":{"gold":1,"silver":2,"bronze":3}}"#, "the board has no field 'bronze'"),
        (two, r#"{"member":"a","scores":{"gold":2000,"silver":2}}"#, "field 'gold' takes 0 to 1023, got 2000"),
        (
            "",
            r#"{"member":"a","score":1,"time":-1}"#,
            r#""time" takes a Unix time in ms from 0 to 9007199254740991, or null, got -1"#,
        ),
        (
            "",
            r#"{"member":"a","score":1,"time":"x"}"#,
            r#""time" takes a Unix time in ms from 0 to 9007199254740991, or null, got \"x\""#,
        ),
        ("", r#"{"member":"a","score":1,"data":5}"#, r#""data" takes a JSON object, a string or null, got 5"#),
        ("", r#"{"member":"a","score":1,"name":"x"}"#, "unknown name 'name'"),
    ];
    for (text, json, problem) in cases {
        let got = LoadLine::parse(&schema(text), json.as_bytes()).map(drop).expect_err(json).to_string();
        assert_eq!(got.split_once(' ').map(|(_, message)| message), Some(problem), "{json}");
    }
}

#[test]
fn texts_are_cut_into_lines() {
    let texts: [&[u8]; 4] = [b"a\nb\r\n", b"", b"\n \n", b"c"];
    assert_eq!(lines_of(texts.into_iter()).collect::<Vec<_>>(), [b"a".as_slice(), b"b\r", b"c"]);
}
