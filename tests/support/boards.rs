//! Boards of every layout with names of every kind, and all that they answer.

use redis::{Connection, Value};

use super::{cmdv, show, show_result};

/// Every layout, in both directions, with and without times.
pub const SCHEMAS: &[&str] = &[
    BARE,
    "FIELD a ASC",
    "FIELD a DIGITS 3 FIELD b ASC DIGITS 3",
    "FIELD a RANGE -500 500 TIES FIRST S",
    "FIELD a BITS 30 FIELD b BITS 30",
    "FIELD a INT FIELD b ASC INT",
    "FIELD a FLOAT TIES LAST",
    "FIELD a ASC INT TIES JOINED",
    "FIELD a DIGITS 3 FIELD b INT",
    // Most of what follows does not fit its score.
    "FIELD a ASC FLOAT FIELD b INT FIELD c INT FIELD d INT",
    "FIELD a INT FIELD b INT FIELD c FLOAT TIES FIRST",
];

/// A sorted set without a schema.
pub const BARE: &str = "bare";

const YEAR_2023: usize = 1_700_000_000_000;

/// Sends one command and renders the reply.
pub fn replyv<A: AsRef<[u8]>>(con: &mut Connection, args: &[A]) -> String {
    show_result(&cmdv(con, args))
}

/// All elements and scores, lowest first, the marker and the index included; none if there is no such key.
#[track_caller]
pub fn elements<K: AsRef<[u8]>>(con: &mut Connection, key: K) -> Vec<(Vec<u8>, f64)> {
    let args: [&[u8]; 5] = [b"ZRANGE", key.as_ref(), b"0", b"-1", b"WITHSCORES"];
    let Ok(Value::Array(flat)) = cmdv(con, &args) else { panic!("no sorted set") };
    let bytes = |value: &Value| match value {
        Value::BulkString(bytes) => bytes.clone(),
        other => panic!("not a string: {}", show(other)),
    };
    let score = |value| String::from_utf8(bytes(value)).ok()?.parse().ok();
    flat.chunks(2).map(|pair| (bytes(&pair[0]), score(&pair[1]).expect("a score"))).collect()
}

/// The encodings of sorted sets.
pub const ENCODINGS: [&str; 2] = ["listpack", "skiplist"];

/// Whatever is written from now on is in this encoding, however large it is.
#[track_caller]
pub fn encode_as(con: &mut Connection, encoding: &str) {
    let entries = if encoding == "listpack" { "1000000" } else { "0" };
    let args = ["CONFIG", "SET", "zset-max-listpack-entries", entries, "zset-max-listpack-value", "1000000"];
    assert_eq!(replyv(con, &args), "+OK");
}

/// Takes the marker away, as `ZPOPMIN` does.
#[track_caller]
pub fn lose_marker(con: &mut Connection, key: &str) {
    assert_eq!(replyv(con, &["ZREMRANGEBYRANK", key, "0", "0"]), "1");
}

/// A board that was filled, and what it is known to hold.
pub struct Filled {
    pub schema: &'static str,
    pub names: Vec<Vec<u8>>,
}

impl Filled {
    /// A few members with short names: the compact encoding.
    #[track_caller]
    pub fn small(con: &mut Connection, key: &str, schema: &'static str) -> Filled {
        let names = ["", "\0", "\x01", "\x01\0\0\0\x01a", "\x02", "a", "a b\n%{}"];
        Filled::with(con, key, schema, names.iter().map(|name| name.as_bytes().to_vec()).collect())
    }

    /// More of them, one very long: the large encoding.
    #[track_caller]
    pub fn large(con: &mut Connection, key: &str, schema: &'static str) -> Filled {
        let mut names: Vec<Vec<u8>> = (0..100).map(|number| format!("m{number}").into_bytes()).collect();
        names.extend([b"".to_vec(), b"\0a".to_vec(), b"\x01".to_vec(), b"\x02".to_vec(), b"\xff".to_vec()]);
        names.extend([b"\x01\0\0\0\x02m1\x80\0\0\0\0\0\0\x01".to_vec(), b"\x02\x80\0\0\0\0\0\0\x01m1".to_vec()]);
        names.push(vec![b'n'; 65_535]);
        if layout_of(schema) == "coded" {
            names.push(b"\0rank 2 FIELD a DESC INT".to_vec());
        }
        Filled::with(con, key, schema, names)
    }

    #[track_caller]
    pub fn with(con: &mut Connection, key: &str, schema: &'static str, names: Vec<Vec<u8>>) -> Filled {
        if schema != BARE {
            let words = ["RANK.CREATE", key].into_iter().chain(schema.split(' '));
            assert_eq!(replyv(con, &words.collect::<Vec<_>>()), "+OK", "{schema}");
        }
        for (number, name) in names.iter().enumerate() {
            let mut args = vec![b"RANK.ADD".to_vec(), key.as_bytes().to_vec()];
            if schema.contains("TIES") {
                args.extend([b"AT".to_vec(), (YEAR_2023 + number % 5 * 10_000).to_string().into_bytes()]);
            }
            args.extend(scores(schema, number % 20, number * 7 % 50));
            args.push(name.clone());
            assert_eq!(replyv(con, &args), "1", "{schema}: {}", name.escape_ascii());
        }
        Filled { schema, names }
    }

    /// What every member is told, what lists and counts say, and that nothing is damaged.
    pub fn answers<K: AsRef<[u8]>>(&self, con: &mut Connection, key: K) -> Vec<String> {
        let mut answers = Vec::new();
        for name in self.names.iter().map(Vec::as_slice).chain([b"nobody".as_slice(), b"\x01nobody", b"m"]) {
            for command in ["RANK.GET", "RANK.SCORE"] {
                answers.push(replyv(con, &[command.as_bytes(), key.as_ref(), name]));
            }
        }
        let around: [&[u8]; 4] = [b"RANK.AROUND", key.as_ref(), &self.names[0], b"2"];
        answers.push(replyv(con, &around));
        for read in ["TOPN 1000", "RANGE -3 -1 ORDINAL", "STATS", "COUNT", "INFO", "VERIFY COUNT 100000"] {
            let mut words = read.split(' ').map(str::as_bytes);
            let command = [b"RANK.", words.next().unwrap_or_default()].concat();
            let args: Vec<&[u8]> = [command.as_slice(), key.as_ref()].into_iter().chain(words).collect();
            answers.push(replyv(con, &args));
        }
        answers
    }

    /// That the board of this name answers as it did before.
    #[track_caller]
    pub fn assert_answers<K: AsRef<[u8]>>(&self, con: &mut Connection, key: K, expected: &[String], after: &str) {
        let short = |text: &str| text.chars().take(500).collect::<String>();
        for (got, expected) in self.answers(con, key).iter().zip(expected) {
            assert!(
                got == expected,
                "{}, after {after}:\n     got: {}\nexpected: {}\n",
                self.schema,
                short(got),
                short(expected)
            );
        }
        let verified = expected.last().expect("a report");
        let clean = r#""undecodable", 0, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", []]"#;
        assert!(verified.ends_with(clean), "{}, after {after}: {verified}", self.schema);
    }

    /// That it can be written to: a newcomer, an update, a removal.
    #[track_caller]
    pub fn assert_goes_on<K: AsRef<[u8]>>(&self, con: &mut Connection, key: K, after: &str) {
        let key = key.as_ref();
        let mut write = |command: &str, scores: Vec<Vec<u8>>, name: &[u8], expected: &str| {
            let mut args = vec![command.as_bytes().to_vec(), key.to_vec()];
            args.extend(scores.into_iter().chain([name.to_vec()]));
            let got = replyv(con, &args);
            assert_eq!(got, expected, "{}, after {after}: {command} {}", self.schema, name.escape_ascii());
        };
        write("RANK.ADD", scores(self.schema, 3, 4), b"newcomer", "1");
        write("RANK.ADD", scores(self.schema, 5, 6), &self.names[0], "0");
        write("RANK.REM", Vec::new(), &self.names[1], "1");
        write("RANK.REM", Vec::new(), &self.names[1], "0");
        write("RANK.REM", Vec::new(), b"nobody", "0");
        write("RANK.SCORE", Vec::new(), &self.names[1], "nil");
        let shown = shown_scores(self.schema, &scores(self.schema, 5, 6));
        write("RANK.SCORE", Vec::new(), &self.names[0], &shown);
        // One came, one went.
        let count = self.names.len().to_string();
        assert_eq!(replyv(con, &[b"RANK.COUNT", key]), count, "{}, after {after}", self.schema);
        let report = replyv(con, &[b"RANK.VERIFY".as_slice(), key, b"COUNT", b"100000"]);
        assert!(
            report.contains(r#""missing", 0, "orphaned", 0, "duplicated", 0"#),
            "{}, after {after}: {report}",
            self.schema
        );
    }
}

/// As many scores as the schema has fields; where it has more than two, most are too long for a score.
pub fn scores(schema: &str, first: usize, second: usize) -> Vec<Vec<u8>> {
    let fields = schema.matches("FIELD").count().max(1);
    let long = if second.is_multiple_of(3) { 1 } else { 1_000_000_000_000_001 };
    let all = [first, second, second * long, first * long];
    all.iter().take(fields).map(|score| score.to_string().into_bytes()).collect()
}

/// Scores as `RANK.SCORE` answers with them.
pub fn shown_scores(schema: &str, scores: &[Vec<u8>]) -> String {
    let is_integer = |field: &str| ["INT", "BITS", "DIGITS", "RANGE"].iter().any(|kind| field.contains(kind));
    let fields: Vec<&str> = if schema == BARE { vec![""] } else { schema.split("FIELD ").skip(1).collect() };
    let shown: Vec<String> = fields
        .iter()
        .zip(scores)
        .map(|(field, score)| {
            let score = String::from_utf8_lossy(score);
            if is_integer(field) {
                score.into_owned()
            } else {
                format!("\"{score}\"")
            }
        })
        .collect();
    match shown.as_slice() {
        [one] => one.clone(),
        _ => format!("[{}]", shown.join(", ")),
    }
}

/// The layout of one of [`SCHEMAS`].
pub fn layout_of(schema: &str) -> &'static str {
    match schema {
        BARE | "FIELD a ASC" => "plain",
        "FIELD a DIGITS 3 FIELD b ASC DIGITS 3" => "packed",
        _ => "coded",
    }
}
