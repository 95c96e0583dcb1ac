//! Random writes of every kind, and what must hold after any of them: shared by the tests that kill,
//! replicate, migrate and reload servers in the middle of a load.

use std::collections::BTreeMap;

use redis::{Connection, Value};

use super::script::Dice;
use super::*;

/// The boards that a workload creates, one of each layout and some with rules of their own. `@` stands for the prefix.
pub const SCHEMAS: &[(&str, &str)] = &[
    ("plain", "DATA @players"),
    ("bounded", "KEEP 7 DATA @bounded.data OWNED"),
    ("packed", "FIELD a DIGITS 3 FIELD b ASC DIGITS 3 DATA @players"),
    ("timed", "FIELD a RANGE -50 50 TIES FIRST S"),
    ("wide", "FIELD a BITS 30 FIELD b BITS 30 DATA @wide.data OWNED"),
    ("spilled", "FIELD a INT FIELD b ASC INT DATA @spilled.data OWNED"),
    ("late", "FIELD a FLOAT FIELD b INT TIES LAST KEEP 9 UPDATE BEST DATA @players"),
    ("joined", "FIELD a ASC INT TIES JOINED"),
];

/// Makes commands, the same for the same seed.
pub struct Workload {
    dice: Dice,
    /// In front of every key: several workloads share a server, and in a cluster a hash tag keeps
    /// the keys of one together.
    prefix: String,
    with_rates: bool,
    /// What must come next: a board that was deleted is made anew.
    follow_up: Option<String>,
}

impl Workload {
    pub fn new(con: &mut Connection, seed: u64, prefix: &str) -> Self {
        let with_rates = reply(con, "COMMAND INFO RATE.CHECK") != "[nil]";
        Workload { dice: Dice::new(seed), prefix: prefix.into(), with_rates, follow_up: None }
    }

    pub fn create_boards(&self) -> Vec<String> {
        let create = |(name, schema): &(&str, &str)| self.create(name, schema);
        SCHEMAS.iter().map(create).collect()
    }

    fn create(&self, name: &str, schema: &str) -> String {
        format!("RANK.CREATE {}{name} {}", self.prefix, schema.replace('@', &self.prefix))
    }

    /// Scores that every board takes, so many as it has fields.
    fn scores(&mut self, fields: usize) -> String {
        (0..fields).map(|_| format!("{} ", self.dice.roll(40))).collect()
    }

    fn member(&mut self) -> String {
        match self.dice.roll(12) {
            0 => r#""\x00\xff % {}""#.into(),
            number => format!("m{number}"),
        }
    }

    fn record(&mut self) -> String {
        format!(r#"{{"a{}":{},"b":[true,null],"c":"x"}}"#, self.dice.roll(3), self.dice.roll(9))
    }

    /// A member as `RANK.LOAD` takes it.
    fn line(&mut self, fields: usize) -> String {
        let (member, a, b) = (self.dice.roll(12), self.dice.roll(40), self.dice.roll(40));
        let scores = match fields {
            1 => format!(r#""score":{a}"#),
            _ => format!(r#""scores":{{"a":{a},"b":{b}}}"#),
        };
        let data = if self.dice.once_in(3) { self.record() } else { "null".into() };
        format!(r#"{{"member":"m{member}",{scores},"time":{},"data":{data}}} "#, 1_700_000_000_000_usize + a * 1000)
    }

    /// The next command: a write of the module, or now and then of the core.
    pub fn next_command(&mut self) -> String {
        if let Some(command) = self.follow_up.take() {
            return command;
        }
        let (name, schema) = SCHEMAS[self.dice.roll(SCHEMAS.len())];
        let fields = schema.matches("FIELD").count().max(1);
        let (key, spare) = (format!("{}{name}", self.prefix), format!("{}spare", self.prefix));
        let (scores, member) = (self.scores(fields), self.member());
        match self.dice.roll(48) {
            0..=8 => format!("RANK.ADD {key} {scores} {member}"),
            9..=12 => {
                let (more, other) = (self.scores(fields), self.member());
                format!("RANK.ADD {key} CH {scores} {member} {more} {other}")
            }
            13 => format!("RANK.MULTISET {key} BEST WITHRANK {scores} {member}"),
            14 => {
                let kept = if fields > 1 { format!("* {}", self.scores(fields - 1)) } else { scores };
                format!("RANK.ADD {key} BOARD {fields} {kept} {member}")
            }
            15 | 16 => format!("RANK.INCR {key} {} {member}", "1 ".repeat(fields)),
            17..=19 => format!("RANK.REM {key} {member} m1"),
            20 => format!("RANK.TRIM {key} 8 RETURN"),
            21 => format!("RANK.TRIM {key} {}", 3 + self.dice.roll(6)),
            22 => format!("RANK.CLEAR {key}"),
            23 => format!("RANK.ALTER {key} UPDATE {}", self.dice.pick(&["SET", "BEST"])),
            24..=26 => format!("RANK.SETDATA {key} {member} a{} v{}", self.dice.roll(3), self.dice.roll(9)),
            27 => format!("RANK.PUTDATA {key} {member} {}", self.record()),
            28..=30 => {
                let record = self.record();
                format!("RANK.ADD {key} DATA {record} {scores} {member}")
            }
            31 => format!("RANK.DELDATA {key} {member}{}", self.dice.pick(&["", " a1", " a0 a2"])),
            32 => format!("RANK.VERIFY {key} REPAIR"),
            33 => {
                let archive = format!("{key}.{}", self.dice.roll(3));
                let data = if schema.contains("OWNED") { format!(" DATA {archive}.data") } else { String::new() };
                format!("RANK.ROTATE {key} {archive}{data}")
            }
            34 => format!("RANK.MULTISET {spare} {} {member}", self.scores(2)),
            35 => format!("{} {spare}", self.dice.pick(&["DEL", "UNLINK"])),
            36 => format!("RENAME {spare} {}away", self.prefix),
            37 => format!("ZREM {key} {member}"),
            38 => self.create(name, schema),
            39 if self.dice.once_in(4) => {
                self.follow_up = Some(self.create(name, schema));
                format!("{} {key}", self.dice.pick(&["DEL", "UNLINK"]))
            }
            39 => format!("PEXPIRE {key} {}", 1_000_000 + self.dice.roll(1000)),
            40 => {
                let data = self.dice.pick(&["NODATA", "DATA @players", "DATA @joined.data OWNED"]);
                format!("RANK.ALTER {}joined {}", self.prefix, data.replace('@', &self.prefix))
            }
            41 => {
                let record = self.record();
                format!("HSET {}players {member} {record}", self.prefix)
            }
            // A sorted set without a schema.
            42 => {
                let score = self.dice.roll(40);
                format!("RANK.ADD {}bare KEEP 9 {score} {member}", self.prefix)
            }
            43 => format!("RANK.REM {}bare {member} m1 m2", self.prefix),
            44 => format!("RANK.POP {key} {} {}", self.dice.roll(3), self.dice.pick(&["", "WORST", "WITHTIME"])),
            45 | 46 => {
                let lines: String = (0..1 + self.dice.roll(3)).map(|_| self.line(fields)).collect();
                format!("RANK.LOAD {key} {}{lines}", self.dice.pick(&["", "NX "]))
            }
            _ if self.with_rates => self.rate_command(),
            _ => format!("RANK.MULTISET {spare} NX 1 1 {member}"),
        }
    }

    fn rate_command(&mut self) -> String {
        let algorithm = self.dice.pick(&["SLIDING", "FIXED", "COUNTER", "GCRA"]);
        let key = format!("{}limit.{algorithm}{}", self.prefix, self.dice.roll(3));
        match self.dice.roll(12) {
            0 => format!("RATE.RESET {key}"),
            _ => format!("RATE.CHECK {key} 20/1h 300/1d {algorithm} COST {}", 1 + self.dice.roll(3)),
        }
    }

    /// The next command alone, in a transaction or in a script.
    pub fn step(&mut self, con: &mut Connection) {
        let mut command = self.next_command();
        let answer = match self.dice.roll(24) {
            0 | 1 => {
                let second = self.next_command();
                expect(con, "MULTI", "+OK");
                let queued = [reply(con, &command), reply(con, &second)];
                assert_eq!(queued, ["+QUEUED", "+QUEUED"], "{command} | {second}");
                command = format!("{command} | {second}");
                reply(con, "EXEC")
            }
            2 => reply(con, &format!(r#"EVAL "return redis.pcall(unpack(ARGV))" 0 {command}"#)),
            _ => reply(con, &command),
        };
        assert!(is_expected(&answer), "{command}: {answer}");
    }
}

/// What a random workload may be told: that a key, a member, attributes or room is missing, and nothing else.
fn is_expected(answer: &str) -> bool {
    let harmless = [
        "no such key",
        "the key has no board with a schema",
        "is not on the board",
        "the archive key already exists",
        "different schema",
        "has no hash for attributes",
        "owns its hash",
        "with DATA hash OWNED",
    ];
    let never = ["internal error", "BOARD is ", "WRONGTYPE", "NOPERM", "CROSSSLOT", "DAMAGED"];
    !answer.starts_with("CLIENT")
        && !never.iter().any(|text| answer.contains(text))
        && (!["ERR ", "SCHEMA ", "NOBOARD ", "OUTOFRANGE ", "TOOBIG "].iter().any(|code| answer.contains(code))
            || harmless.iter().any(|text| answer.contains(text)))
}

/// All keys of the selected database.
#[track_caller]
pub fn all_keys(con: &mut Connection) -> Vec<Vec<u8>> {
    let Ok(Value::Array(keys)) = cmd(con, "KEYS *") else { panic!("no keys") };
    let mut keys: Vec<Vec<u8>> = keys.iter().map(bytes).collect();
    keys.sort();
    keys
}

pub fn bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::BulkString(bytes) => bytes.clone(),
        other => show(other).into_bytes(),
    }
}

/// A field of a map that RESP2 sends flat.
#[track_caller]
pub fn field(map: &Value, name: &str) -> Value {
    let Value::Array(flat) = map else { panic!("no map: {}", show(map)) };
    let at = flat.iter().position(|item| bytes(item) == name.as_bytes());
    at.and_then(|at| flat.get(at + 1)).unwrap_or_else(|| panic!("no {name} in {}", show(map))).clone()
}

/// What `RANK.VERIFY` found in all its steps: undecodable, missing, orphaned, duplicated, repaired.
pub type Verified = [i64; 5];

#[track_caller]
pub fn verify(con: &mut Connection, key: &[u8], repair: bool) -> Verified {
    verify_by(con, key, repair, cmdv)
}

/// The same, where `call` makes each step.
#[track_caller]
pub fn verify_by(
    con: &mut Connection,
    key: &[u8],
    repair: bool,
    mut call: impl FnMut(&mut Connection, &[Vec<u8>]) -> redis::RedisResult<Value>,
) -> Verified {
    let (mut sums, mut cursor) = ([0; 5], b"0".to_vec());
    loop {
        let mut args = vec![b"RANK.VERIFY".to_vec(), key.to_vec(), b"CURSOR".to_vec(), cursor];
        args.extend(repair.then(|| b"REPAIR".to_vec()));
        let report = call(con, &args).unwrap_or_else(|error| panic!("{}: {error}", key.escape_ascii()));
        for (sum, name) in sums.iter_mut().zip(["undecodable", "missing", "orphaned", "duplicated", "repaired"]) {
            let Value::Int(count) = field(&report, name) else { panic!("{}", show(&report)) };
            *sum += count;
        }
        cursor = bytes(&field(&report, "cursor"));
        if cursor == b"0" {
            return sums;
        }
    }
}

/// Everything that must hold of the boards of a database, at any time and after any trouble: every board is whole, and
/// the module has no key of its own.
///
/// `healed`: a core command may have damaged them, so let REPAIR mend first.
#[track_caller]
pub fn check_boards(con: &mut Connection, healed: bool) {
    for key in all_keys(con) {
        assert!(!key.starts_with(b"rank:"), "a key that nobody named: {}", key.escape_ascii());
        if reply_to(con, &[b"TYPE", key.as_slice()]) == "+zset" && !is_log(&key) {
            if healed {
                verify(con, &key, true);
            }
            assert_eq!(verify(con, &key, false), [0; 5], "{}", key.escape_ascii());
        }
    }
}

fn is_log(key: &[u8]) -> bool {
    String::from_utf8_lossy(key).contains("limit.")
}

pub fn reply_to<A: AsRef<[u8]>>(con: &mut Connection, args: &[A]) -> String {
    show_result(&cmdv(con, args))
}

/// One key as two servers must agree on it, down to the bytes of its DUMP where these do not depend
/// on the server's random hash seed.
#[derive(Debug, PartialEq, Eq)]
pub struct Stored {
    kind: String,
    expiry: String,
    content: Vec<String>,
    encoding: String,
    dump: Option<String>,
}

/// The whole database.
pub fn snapshot(con: &mut Connection) -> BTreeMap<String, Stored> {
    let mut all = BTreeMap::new();
    for key in all_keys(con) {
        let kind = reply_to(con, &[b"TYPE", key.as_slice()]);
        let (read, is_sorted): (&[&[u8]], bool) = match kind.as_str() {
            "+zset" => (&[b"ZRANGE", &key, b"0", b"-1", b"WITHSCORES"], true),
            "+hash" => (&[b"HGETALL", &key], false),
            _ => (&[b"GET", &key], true),
        };
        let mut content: Vec<String> = match cmdv(con, read) {
            // Versions print the same score differently.
            Ok(Value::Array(flat)) if kind == "+zset" => {
                let score = |value| String::from_utf8_lossy(&bytes(value)).parse::<f64>().expect("a score");
                flat.chunks(2).map(|pair| format!("{} {:?}", show(&pair[0]), score(&pair[1]))).collect()
            }
            Ok(Value::Array(flat)) => {
                flat.chunks(2).map(|pair| format!("{:?}", pair.iter().map(show).collect::<Vec<_>>())).collect()
            }
            other => vec![show_result(&other)],
        };
        if !is_sorted {
            content.sort();
        }
        let encoding = reply_to(con, &[b"OBJECT".as_slice(), b"ENCODING", &key]);
        let dump = (!encoding.contains("hashtable")).then(|| reply_to(con, &[b"DUMP", key.as_slice()]));
        // A limiter that is rewritten in place is `raw` here and `embstr` where a SET made it. Its bytes are the same.
        let encoding = if kind == "+string" { String::new() } else { encoding };
        let expiry = reply_to(con, &[b"PEXPIRETIME", key.as_slice()]);
        all.insert(key.escape_ascii().to_string(), Stored { kind, expiry, content, encoding, dump });
    }
    all
}

/// Compares whole databases; tells the keys that differ, not all of them.
#[track_caller]
pub fn assert_same_bytes(ours: &BTreeMap<String, Stored>, theirs: &BTreeMap<String, Stored>, who: &str) {
    for key in ours.keys().chain(theirs.keys()) {
        assert_eq!(ours.get(key), theirs.get(key), "{key} differs on {who}");
    }
}

/// The same, but for encodings: a server that loads a file chooses them anew.
#[track_caller]
pub fn assert_same(ours: &BTreeMap<String, Stored>, theirs: &BTreeMap<String, Stored>, who: &str) {
    let content = |stored: Option<&Stored>| stored.map(|it| (it.kind.clone(), it.expiry.clone(), it.content.clone()));
    for key in ours.keys().chain(theirs.keys()) {
        assert_eq!(content(ours.get(key)), content(theirs.get(key)), "{key} differs on {who}");
    }
}
