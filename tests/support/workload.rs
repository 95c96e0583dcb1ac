//! Random writes of every kind, and what must hold after any of them: shared by the tests that kill,
//! replicate, migrate and reload servers in the middle of a load.

use std::collections::{BTreeMap, BTreeSet};

use redis::{Connection, Value};

use super::calls::{generator, may_wait, only_writes, Generator};
use super::script::Dice;
use super::*;

/// Makes commands, the same for the same seed: what the module's commands can write, and now and then a core command.
pub struct Workload {
    dice: Dice,
    pub generator: Generator,
    /// The commands that have not been answered without an error.
    unmet: BTreeSet<String>,
    /// What must come next: a board that was deleted is made anew.
    follow_up: Option<String>,
}

impl Workload {
    /// `prefix` is in front of every key: several workloads share a server, and in a cluster a hash tag keeps the keys of
    /// one together.
    pub fn new(con: &mut Connection, seed: u64, prefix: &str) -> Self {
        let mut generator = generator(con);
        only_writes(&mut generator, con);
        (generator.prefix, generator.garbled, generator.is_lasting) = (prefix.into(), 0, true);
        let unmet = generator.commands().map(str::to_owned).collect();
        Workload { dice: Dice::new(seed), generator, unmet, follow_up: None }
    }

    #[track_caller]
    pub fn set_up(&self, con: &mut Connection) {
        for command in self.generator.set_up() {
            let answer = reply(con, &command);
            assert!(!is_error(&answer), "{command}: {answer}");
        }
    }

    /// The next command, as one types it.
    pub fn next_command(&mut self) -> String {
        if let Some(command) = self.follow_up.take() {
            return command;
        }
        if !self.dice.once_in(10) {
            return loop {
                let call = self.generator.call(&mut self.dice);
                if !may_wait(&call) {
                    break call.text();
                }
            };
        }
        let prefix = &self.generator.prefix;
        let boards: Vec<String> = self.generator.boards().collect();
        let (key, member) = (&boards[self.dice.roll(boards.len())], self.dice.roll(14));
        match self.dice.roll(8) {
            0 => format!("ZREM {key} m{member}"),
            1 => format!("PEXPIRE {key} {}", 10_000_000 + self.dice.roll(1000)),
            2 => format!("PERSIST {key}"),
            3 => format!("HSET {prefix}players m{member} {{\"b\":{}}}", self.dice.roll(9)),
            4 => format!("RENAME {prefix}spare {prefix}away"),
            5 => format!("{} {prefix}spare", self.dice.pick(&["DEL", "UNLINK"])),
            6 => format!("ZADD {prefix}due0 {} i{}", self.dice.roll(1 << 40), self.dice.roll(9)),
            _ => {
                let create = |line: &String| line.starts_with(&format!("RANK.CREATE {key} "));
                self.follow_up = self.generator.set_up().find(create);
                format!("{} {key}", self.dice.pick(&["DEL", "UNLINK"]))
            }
        }
    }

    /// The next command alone, in a transaction or in a script.
    #[track_caller]
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
            _ => {
                let value = cmd(con, &command);
                if value.is_ok() {
                    self.unmet.remove(command.split(' ').next().unwrap_or_default());
                }
                show_result(&value)
            }
        };
        let never = ["internal error", "BOARD says", "WRONGTYPE", "NOPERM", "CROSSSLOT", "DAMAGED"];
        let is_expected = !answer.starts_with("CLIENT") && !never.iter().any(|text| answer.contains(text));
        assert!(is_expected, "{command}: {answer}");
    }

    /// That every command that writes has done so.
    #[track_caller]
    pub fn check_reach(&self) {
        assert!(self.unmet.is_empty(), "never without an error: {:?}", self.unmet);
    }
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
    {
        let name = String::from_utf8_lossy(key);
        ["log", "lease", "due", "dead"].iter().any(|stem| name.contains(stem))
    }
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
