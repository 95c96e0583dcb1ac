//! Not one bit is lost, whatever the type, the layout, the encoding and the way to disk or replica;
//! and the order is that of the tuples.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;

use redis::{Connection, Value};

use crate::script::Dice;
use crate::support::stored::{info, stored, EPOCH_MS};
use crate::support::*;

/// Any number of the range.
fn between(dice: &mut Dice, lo: i64, hi: i64) -> i64 {
    let span = (i128::from(hi) - i128::from(lo) + 1) as u128;
    (i128::from(lo) + (u128::from(dice.bits()) % span) as i128) as i64
}

fn pick<T: Copy>(dice: &mut Dice, items: &[T]) -> T {
    items[dice.roll(items.len())]
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Score {
    Integer(i64),
    Float(f64),
}

impl Score {
    fn text(self) -> String {
        match self {
            Score::Integer(number) => number.to_string(),
            Score::Float(number) => format!("{number:e}"),
        }
    }
}

/// A random schema with a few values for each field, so that there are ties on every one.
struct Schema {
    text: String,
    ascending: Vec<bool>,
    values: Vec<Vec<Score>>,
    ties: &'static str,
}

#[rustfmt::skip]
const FLOATS: &[f64] = &[
    0.0, 5e-324, -5e-324, 2.2250738585072014e-308, -2.225073858507201e-308, f64::MAX, f64::MIN, 0.1,
    0.30000000000000004, 1.0, -1.0, 1e300, 9007199254740993.0, -0.1, 3.5,
];

#[rustfmt::skip]
const INTEGERS: &[i64] = &[
    i64::MIN, i64::MIN + 1, -9_007_199_254_740_993, -9_007_199_254_740_992, -1, 0, 1, 9_007_199_254_740_992,
    9_007_199_254_740_993, 9_007_199_254_740_994, i64::MAX - 512, i64::MAX - 1, i64::MAX,
];

impl Schema {
    /// `width` bounds the bits of a bounded field; `unbounded` lets FLOAT and INT in.
    fn random(random: &mut Dice, width: u32, unbounded: bool) -> Self {
        let (mut text, mut ascending, mut values) = (String::new(), Vec::new(), Vec::new());
        for field in 0..=random.roll(4) {
            let asc = random.roll(2) == 0;
            let (name, pool) = Self::field(random, width, unbounded);
            let _ = write!(text, "FIELD f{field} {} {name} ", if asc { "ASC" } else { "DESC" });
            ascending.push(asc);
            values.push(pool);
        }
        let ties = pick(random, &["SHARED", "FIRST", "LAST", "JOINED"]);
        let _ = write!(text, "TIES {ties}");
        Schema { text, ascending, values, ties }
    }

    fn field(random: &mut Dice, width: u32, unbounded: bool) -> (String, Vec<Score>) {
        let size = 1 + random.roll(width as usize) as u32;
        let (name, lo, hi) = match random.roll(if unbounded { 6 } else { 3 }) {
            0 => (format!("BITS {}", size.min(62)), 0, (1_i64 << size.min(62)) - 1),
            1 => {
                let digits = (size * 3 / 10).clamp(1, 18);
                (format!("DIGITS {digits}"), 0, 10_i64.pow(digits) - 1)
            }
            2 => {
                let bound = 1_i64 << size.min(62);
                let lo = between(random, -bound, bound - 1);
                let hi = between(random, lo + 1, bound);
                (format!("RANGE {lo} {hi}"), lo, hi)
            }
            3 | 4 => return ("FLOAT".into(), (0..5).map(|_| Score::Float(pick(random, FLOATS))).collect()),
            _ => return ("INT".into(), (0..5).map(|_| Score::Integer(pick(random, INTEGERS))).collect()),
        };
        let mut pool = vec![lo, lo + 1, hi - 1, hi];
        pool.extend((0..2).map(|_| between(random, lo, hi)));
        (name, pool.into_iter().map(Score::Integer).collect())
    }

    fn compare(&self, one: &[Score], other: &[Score]) -> Ordering {
        let each = one.iter().zip(other).zip(&self.ascending).map(|((one, other), ascending)| {
            let (better, worse) = if *ascending { (one, other) } else { (other, one) };
            better.partial_cmp(worse).expect("no NaN")
        });
        each.fold(Ordering::Equal, Ordering::then)
    }

    /// Fields, then the tie rule's time.
    fn compare_entries(&self, one: &Entry, other: &Entry) -> Ordering {
        self.compare(&one.scores, &other.scores).then(match self.ties {
            "SHARED" => Ordering::Equal,
            "LAST" => other.time.cmp(&one.time),
            _ => one.time.cmp(&other.time),
        })
    }
}

#[derive(Clone, Debug)]
struct Entry {
    scores: Vec<Score>,
    time: i64,
}

fn score(value: &Value) -> Score {
    match value {
        Value::Int(number) => Score::Integer(*number),
        Value::Double(number) => Score::Float(*number),
        other => panic!("not a score: {other:?}"),
    }
}

/// Rank, member and scores of each row, from a RESP3 connection.
#[track_caller]
fn rows(con: &mut Connection, line: &str) -> Vec<(i64, String, Vec<Score>)> {
    let Ok(Value::Array(rows)) = cmd(con, line) else { panic!("no rows: {line}") };
    let row = |row: &Value| {
        let Value::Array(row) = row else { panic!("not a row: {row:?}") };
        let [Value::Int(rank), Value::BulkString(member), scores @ ..] = &row[..] else { panic!("not a row: {row:?}") };
        (*rank, String::from_utf8_lossy(member).into_owned(), scores.iter().map(score).collect())
    };
    rows.iter().map(row).collect()
}

/// Writes at random, and returns what the board must hold then.
fn fill(con: &mut Connection, random: &mut Dice, schema: &Schema) -> BTreeMap<String, Entry> {
    let mut model: BTreeMap<String, Entry> = BTreeMap::new();
    for _ in 0..70 {
        let member = format!("m{}", random.roll(40));
        if random.roll(10) == 0 {
            let expected = if model.remove(&member).is_some() { "1" } else { "0" };
            expect(con, &format!("RANK.REM k {member}"), expected);
            continue;
        }
        let scores: Vec<Score> = schema.values.iter().map(|pool| pick(random, pool)).collect();
        let time = between(random, 0, 20);
        let text = scores.iter().map(|score| score.text()).collect::<Vec<_>>().join(" ");
        let expected = if model.contains_key(&member) { "0" } else { "1" };
        expect(con, &format!("RANK.ADD k AT {} {text} {member}", EPOCH_MS + time), expected);
        let entry = model.entry(member).or_insert(Entry { scores: scores.clone(), time });
        if entry.scores != scores {
            let time = if schema.ties == "JOINED" { entry.time } else { time };
            *entry = Entry { scores, time };
        }
    }
    model
}

#[track_caller]
fn compare_with_model(con: &mut Connection, random: &mut Dice, schema: &Schema, model: &BTreeMap<String, Entry>) {
    let context = &schema.text;
    let mut sorted: Vec<&Entry> = model.values().collect();
    sorted.sort_by(|one, other| schema.compare_entries(one, other));
    let got = rows(con, "RANK.TOPN k 1000 COMPETITION");
    assert_eq!(got.len(), sorted.len(), "{context}");
    for (position, ((rank, member, scores), expected)) in got.iter().zip(&sorted).enumerate() {
        let entry = &model[member];
        assert_eq!((scores, schema.compare_entries(entry, expected)), (&entry.scores, Ordering::Equal), "{context}");
        let better = sorted.partition_point(|entry| schema.compare(&entry.scores, scores).is_lt());
        assert_eq!(*rank, better as i64 + 1, "{context}");
        if random.roll(8) == 0 {
            let mut distinct: Vec<&Vec<Score>> = sorted[..better].iter().map(|entry| &entry.scores).collect();
            distinct.dedup();
            for (kind, rank) in [("COMPETITION", better), ("DENSE", distinct.len()), ("ORDINAL", position)] {
                let row = reply(con, &format!("RANK.GET k {member} {kind}"));
                assert!(row.starts_with(&format!("[{}, ", rank + 1)), "{context}: {kind} {row}, not {}", rank + 1);
            }
            let (one, other) = (scores[0], pick(random, &schema.values[0]));
            let (min, max) = if one <= other { (one, other) } else { (other, one) };
            let open = random.roll(2) == 0;
            let above = |score: Score| score > min || score == min && !open;
            let within = sorted.iter().filter(|entry| above(entry.scores[0]) && entry.scores[0] <= max).count();
            let range = format!("{}{} {}", if open { "(" } else { "" }, min.text(), max.text());
            assert_eq!(reply(con, &format!("RANK.COUNT k {range}")), within.to_string(), "{context}: {range}");
            assert_eq!(rows(con, &format!("RANK.BYSCORE k {range}")).len(), within, "{context}: {range}");
        }
    }
}

/// Every sorted set with the bits of its scores.
fn content(server: &Server) -> String {
    let (mut con, mut text) = (server.connect(), String::new());
    let Ok(Value::Array(keys)) = cmd(&mut con, "KEYS *") else { panic!("no keys") };
    let mut keys: Vec<String> = keys.iter().map(|key| show(key).trim_matches('"').into()).collect();
    keys.sort();
    for key in keys {
        for (element, score) in stored(&mut con, &key) {
            let _ = writeln!(text, "{key} {} {element:?}", score.to_bits());
        }
    }
    text
}

const PERSISTENT: &[(&str, &str)] = &[
    ("digits", "FIELD a DIGITS 18"),
    ("wide", "FIELD a RANGE 0 9214364837600034815"),
    ("timed", "FIELD a BITS 21 TIES FIRST"),
    ("int", "FIELD a INT FIELD b ASC INT"),
    ("float", "FIELD a FLOAT FIELD b FLOAT TIES LAST"),
];

/// A server whose small encoding has room for a marker and its schema.
fn builder(kind: Kind) -> Builder {
    Server::builder(kind).config("zset-max-listpack-value 256")
}

/// Boards of each kind, one in the small encoding and one in the large.
fn fill_persistent(server: &Server) {
    let (mut con, mut random) = (server.connect(), Dice::new(1));
    for (name, schema) in PERSISTENT {
        for (size, count) in [("small", 30), ("large", 200)] {
            let key = format!("{name}:{size}");
            expect(&mut con, &format!("RANK.CREATE {key} {schema}"), "+OK");
            let (mut line, mut written) = (format!("RANK.ADD {key}"), Vec::new());
            for number in 0..count {
                let bits = random.bits();
                let scores = match *name {
                    "digits" => pick(&mut random, &[0, 1, 999_999_999_999_999_999, bits % 10_u64.pow(18)]).to_string(),
                    "wide" => pick(&mut random, &[0, (1 << 52) + 1, 9_214_364_837_600_034_815, bits >> 2]).to_string(),
                    "timed" => (bits >> 43).to_string(),
                    "int" => format!("{} {}", pick(&mut random, INTEGERS), bits as i64),
                    _ => format!("{:e} {:e}", pick(&mut random, FLOATS), pick(&mut random, FLOATS)),
                };
                let _ = write!(line, " {scores} m{number}");
                written.push(scores);
            }
            expect(&mut con, &line, &count.to_string());
            expect(&mut con, &format!("RANK.REM {key} m0"), "1");
            // Integers read back as they were written.
            for number in (1..count).filter(|_| !schema.contains(" b ")) {
                expect(&mut con, &format!("RANK.SCORE {key} m{number}"), &written[number]);
            }
            let encoding = if size == "small" { "listpack" } else { "skiplist" };
            expect(&mut con, &format!("OBJECT ENCODING {key}"), &format!("\"{encoding}\""));
        }
    }
}

on_every_server! {
    fn integers_are_exact_over_64_bits(server: Server) {
        let mut con = server.connect_resp3();
        for (schema, descending) in [("FIELD a INT", true), ("FIELD a ASC INT", false), ("FIELD z BITS 1 FIELD a INT", true)] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            let first = if schema.contains(" z ") { "0 " } else { "" };
            for number in (0..INTEGERS.len()).map(|index| INTEGERS[index * 5 % INTEGERS.len()]) {
                cmd(&mut con, &format!("RANK.ADD k {first}{number} n{number}")).expect("an integer");
            }
            let mut expected = INTEGERS.to_vec();
            if descending {
                expected.reverse();
            }
            let got: Vec<i64> = rows(&mut con, "RANK.TOPN k 100").iter().map(|(_, member, scores)| {
                let Some(Score::Integer(number)) = scores.last() else { panic!("no integer: {scores:?}") };
                assert_eq!(&format!("n{number}"), member);
                *number
            }).collect();
            assert_eq!(got, expected, "{schema}");
            for (position, number) in expected.iter().enumerate() {
                expect(&mut con, &format!("RANK.FORSCORE k {first}{number}"), &(position + 1).to_string());
                if first.is_empty() {
                    let row = format!("[[{}, \"n{number}\", {number}]]", position + 1);
                    expect(&mut con, &format!("RANK.BYSCORE k {number} {number}"), &row);
                    expect(&mut con, &format!("RANK.COUNT k {number} ({number}"), "0");
                    let above = INTEGERS.iter().filter(|other| *other > number).count().to_string();
                    expect(&mut con, &format!("RANK.COUNT k ({number} +inf"), &above);
                }
            }
        }
    }

    fn floats_are_exact_to_the_last_bit(server: Server) {
        let mut con = server.connect_resp3();
        let mut expected = FLOATS.to_vec();
        expected.sort_by(|one, other| other.total_cmp(one));
        for schema in ["FIELD a", "FIELD a TIES FIRST", "FIELD z BITS 1 FIELD a", "FIELD z INT FIELD a ASC"] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            let first = if schema.contains(" z ") { "0 " } else { "" };
            for number in FLOATS {
                expect(&mut con, &format!("RANK.ADD k {first}{number:e} {number}"), "1");
            }
            // Minus zero is zero, and equal to it.
            expect(&mut con, &format!("RANK.ADD k CH {first}-0.0 0"), "0");
            let mut got: Vec<u64> = rows(&mut con, "RANK.TOPN k 100").iter().map(|(_, _, scores)| match scores.last() {
                Some(Score::Float(number)) => number.to_bits(),
                other => panic!("no double: {other:?}"),
            }).collect();
            if schema.ends_with("ASC") {
                got.reverse();
            }
            assert_eq!(got, expected.iter().map(|number| number.to_bits()).collect::<Vec<_>>(), "{schema}");
        }
    }

    fn the_order_is_that_of_the_tuples(server: Server) {
        let (mut con, mut resp2, mut random) = (server.connect_resp3(), server.connect(), Dice::new(1));
        let mut layouts: BTreeMap<String, usize> = BTreeMap::new();
        for round in 0..240 {
            let schema = Schema::random(&mut random, [3, 11, 24, 63][round % 4], round % 3 == 0);
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {}", schema.text), "+OK");
            *layouts.entry(info(&mut resp2, "k", "layout")).or_default() += 1;
            let model = fill(&mut con, &mut random, &schema);
            compare_with_model(&mut con, &mut random, &schema, &model);
            if round % 20 == 0 {
                expect(&mut con, "DEBUG RELOAD", "+OK");
                compare_with_model(&mut con, &mut random, &schema, &model);
            }
        }
        assert!(layouts.len() == 3 && layouts.values().sum::<usize>() == 240, "every layout was met: {layouts:?}");
    }

    fn an_append_only_file_loses_no_bit(kind: Kind) {
        let mut server = builder(kind).appendonly().config("appendfsync always").start();
        fill_persistent(&server);
        let before = content(&server);
        server.kill9();
        server.restart();
        assert!(content(&server) == before, "replayed");
        for preamble in ["yes", "no"] {
            expect(&mut server.connect(), &format!("CONFIG SET aof-use-rdb-preamble {preamble}"), "+OK");
            cmd(&mut server.connect(), "BGREWRITEAOF").expect("a rewrite");
            server.wait_for_aof_rewrite();
            assert_eq!(server.info("aof_last_bgrewrite_status"), "ok");
            server.kill9();
            server.restart();
            assert!(content(&server) == before, "rewritten, with a preamble: {preamble}");
        }
    }

    fn a_snapshot_loses_no_bit(kind: Kind) {
        let mut server = builder(kind).start();
        fill_persistent(&server);
        let before = content(&server);
        expect(&mut server.connect(), "DEBUG RELOAD", "+OK");
        assert!(content(&server) == before, "reloaded");
        server.restart();
        assert!(content(&server) == before, "restarted");
    }

    fn a_replica_loses_no_bit_with_or_without_the_module(kind: Kind) {
        let primary = builder(kind).tcp().start();
        fill_persistent(&primary);
        let with = builder(kind).replica_of(&primary).start();
        let without = builder(kind).without_module().replica_of(&primary).start();
        with.wait_for_sync(&primary);
        without.wait_for_sync(&primary);
        let mut con = primary.connect();
        for (key, _) in PERSISTENT {
            expect(&mut con, &format!("RANK.CLEAR {key}:small"), "29");
        }
        expect(&mut con, "RANK.ADD int:small CH -9223372036854775808 9223372036854775807 a 9007199254740993 -1 b", "2");
        expect(&mut con, "RANK.INCR int:small 9223372036854775807 -1 a", "[-1, 9223372036854775806]");
        expect(&mut con, "RANK.ADD wide:small 9214364837600034815 a 4503599627370497 b", "2");
        expect(&mut con, "RANK.ADD timed:small 2097151 a 0 b", "2");
        expect(&mut con, "RANK.TRIM timed:large 100", "99");
        for replica in [&with, &without] {
            replica.wait_for_sync(&primary);
            assert!(content(replica) == content(&primary));
        }
        expect(&mut with.connect(), "RANK.TOPN int:small 1", r#"[[1, "b", 9007199254740993, -1]]"#);
    }
}
