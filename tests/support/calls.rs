//! Random calls of the module's commands, made from the documentation that a server has of them.

use redis::{Connection, Value};

use super::script::Dice;
use super::{cmd, show};

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
