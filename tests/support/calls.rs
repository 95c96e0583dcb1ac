//! Random calls of the module's commands, made from the documentation that a server has of them.

use std::collections::BTreeSet;

use redis::{Connection, Value};

use super::script::Dice;
use super::{cmd, cmdv, is_error, reply, show};

#[path = "../../src/fuzz/generator.rs"]
mod generator;

pub use generator::{Call, Generator, Kind, Random, Shape, STRANGE_KEYS};

impl Random for Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.roll(bound)
    }
}

/// Makes calls of all commands of the module.
#[track_caller]
pub fn generator(con: &mut Connection) -> Generator {
    let names = items(&cmd(con, "COMMAND LIST FILTERBY MODULE rank").expect("COMMAND LIST")).iter().map(text).collect();
    let mut names: Vec<String> = names;
    names.sort();
    let shapes = names.iter().map(|name| {
        let docs = cmd(con, &format!("COMMAND DOCS {name}")).expect("COMMAND DOCS");
        let docs = field(&docs, name).unwrap_or_else(|| panic!("{name} is not documented"));
        (
            name.clone(),
            Shape::Sequence(field(docs, "arguments").map_or(&[] as &[Value], items).iter().map(shape).collect()),
        )
    });
    Generator::new(shapes.collect())
}

fn shape(argument: &Value) -> Shape {
    let token = field(argument, "token").map(text);
    let name = || field(argument, "name").map(text).unwrap_or_default();
    let parts = || items(field(argument, "arguments").expect("parts")).iter().map(shape).collect();
    let flags: Vec<String> = field(argument, "flags").map_or(&[] as &[Value], items).iter().map(text).collect();
    let has = |flag: &str| flags.iter().any(|it| it == flag);
    let kind = field(argument, "type").map(text).expect("a type");
    let (inner, token) = match kind.as_str() {
        "pure-token" => (Shape::Token(token.expect("a token")), None),
        "oneof" => (Shape::Choice(parts()), token),
        "block" => (Shape::Sequence(parts()), token),
        "key" => (Shape::Value(name(), Kind::Key), token),
        "integer" => (Shape::Value(name(), Kind::Integer), token),
        "double" => (Shape::Value(name(), Kind::Double), token),
        "unix-time" => (Shape::Value(name(), Kind::Time), token),
        _ => (Shape::Value(name(), Kind::Text), token),
    };
    Shape::argument(inner, token.as_deref(), has("optional"), has("multiple"))
}

pub fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) | Value::Set(items) => items,
        _ => &[],
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        other => panic!("not a text: {}", show(other)),
    }
}

/// A field of a map, which RESP2 sends flat.
fn field<'v>(map: &'v Value, name: &str) -> Option<&'v Value> {
    match map {
        Value::Map(pairs) => pairs.iter().find(|(field, _)| text(field) == name).map(|(_, value)| value),
        flat => items(flat).chunks(2).find(|pair| text(&pair[0]) == name).map(|pair| &pair[1]),
    }
}

/// Remembers the tokens that a call returned, so that later calls use them.
pub fn learn(generator: &mut Generator, call: &Call, reply: &Value) {
    let key = call.args.get(1).cloned().unwrap_or_default();
    match call.command() {
        "due.claim" => {
            for row in items(reply) {
                if let [Value::BulkString(item), Value::Int(token), ..] = items(row) {
                    generator.hold(&key, item, *token);
                }
            }
        }
        "due.move" => {
            if let (Value::Int(token @ 1..), Some(item)) = (reply, call.args.last()) {
                generator.hold(&key, item, *token);
            }
        }
        "rate.acquire" => {
            if let Some(Value::Int(token @ 1..)) = items(reply).get(5) {
                generator.hold(&key, b"", *token);
            }
        }
        _ => {}
    }
}

/// Whether a single connection would wait for ever.
pub fn may_wait(call: &Call) -> bool {
    call.args.iter().any(|arg| arg.eq_ignore_ascii_case(b"BLOCK"))
}

/// The words of a call. What would wait is called by a script, where nothing waits.
pub fn without_waiting(call: &Call) -> Vec<Vec<u8>> {
    let script: &[&[u8]] = match may_wait(call) {
        true => &[b"EVAL", b"return redis.pcall(unpack(ARGV))", b"0"],
        false => &[],
    };
    script.iter().map(|word| word.to_vec()).chain(call.args.iter().cloned()).collect()
}

/// Empties the database and makes all keys anew.
#[track_caller]
pub fn begin_chapter(generator: &mut Generator, con: &mut Connection) {
    generator.forget();
    assert_eq!(reply(con, "FLUSHALL"), "+OK");
    for line in generator.set_up() {
        let made = reply(con, &line);
        assert!(!is_error(&made), "{line}: {made}");
    }
    for (command, key) in [("SET", 0), ("RPUSH", 1), ("SADD", 2)] {
        cmdv(con, &[command.as_bytes(), STRANGE_KEYS[key], b"x"]).expect("a key");
    }
}

/// Leaves out the commands that only read.
#[track_caller]
pub fn only_writes(generator: &mut Generator, con: &mut Connection) {
    generator.only(|name| reply(con, &format!("COMMAND INFO {name}")).contains("+write"));
}

type IsCase = fn(&Generator, &Call, &Value) -> bool;

/// What is worth being met, beside every option of every command.
const CASES: &[(&str, IsCase)] = &[
    ("GCRA with a penalty", |_, call, reply| {
        matches!(call.command(), "rate.check" | "rate.all")
            && has(call, "GCRA")
            && is_verdict_of_a_closed_limiter(reply)
    }),
    ("a call that several rules deny", |_, call, reply| {
        call.command() == "rate.all" && matches!(items(reply), [Value::Int(1), .., Value::Int(2..)])
    }),
    ("AGAIN during a claim", |generator, call, reply| {
        let is_held = call.args.last().is_some_and(|item| generator.is_held(&call.args[1], item));
        call.command() == "due.add" && has(call, "AGAIN") && is_held && *reply == Value::Int(0)
    }),
    ("an item that is claimed again", |_, call, reply| {
        call.command() == "due.claim"
            && items(reply).iter().any(|row| matches!(items(row).get(2), Some(Value::Int(2..))))
    }),
    ("an item that is acknowledged", |_, call, reply| call.command() == "due.ack" && matches!(reply, Value::Int(1..))),
    ("a lease that is renewed", |_, call, reply| call.command() == "rate.renew" && *reply == Value::Int(1)),
    ("a score that a full board refused", |_, call, reply| call.command() == "rank.incr" && *reply == Value::Nil),
    ("members that a board lost", |_, call, reply| call.command() == "rank.trim" && matches!(reply, Value::Int(2..))),
    ("a board that was rotated", |_, call, reply| call.command() == "rank.rotate" && matches!(reply, Value::Int(1..))),
];

fn has(call: &Call, token: &str) -> bool {
    call.tokens.iter().any(|it| it == token)
}

/// Denied, and by no rule.
fn is_verdict_of_a_closed_limiter(reply: &Value) -> bool {
    let is_closed = |verdict: &Value| matches!(items(verdict), [Value::Int(1), _, _, _, _, Value::Int(0), ..]);
    is_closed(reply) || items(reply).iter().any(is_closed)
}

/// What a run has not met yet: a run that misses something proves less than it says.
#[derive(Debug)]
pub struct Unmet {
    cases: BTreeSet<&'static str>,
    options: BTreeSet<String>,
    /// How many options there are.
    all: usize,
}

impl Unmet {
    pub fn new(generator: &Generator) -> Unmet {
        let options: BTreeSet<String> = generator.options().into_iter().collect();
        Unmet { cases: CASES.iter().map(|(case, _)| *case).collect(), all: options.len(), options }
    }

    /// A call that returned no error.
    pub fn met(&mut self, generator: &Generator, call: &Call, reply: &Value) {
        for option in call.options() {
            self.options.remove(&option);
        }
        for (case, _) in CASES.iter().filter(|(_, is_met)| is_met(generator, call, reply)) {
            self.cases.remove(case);
        }
    }

    /// Fails if a case was never met, or more than a few options: one that has just been added may need words that the
    /// generator does not know yet.
    #[track_caller]
    pub fn check(&self) {
        println!("never without an error: {:?}", self.options);
        assert!(self.cases.is_empty(), "never met: {:?}", self.cases);
        assert!(self.options.len() * 20 <= self.all, "never without an error, of {}: {:?}", self.all, self.options);
    }
}
