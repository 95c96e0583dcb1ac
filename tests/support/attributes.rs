//! Boards with attributes, and how their replies read.

use redis::Connection;
use serde_json::Value as Json;

use super::{cmd, expect, reply, show_result};

/// Every read that has rows or members, on a board `b` with ann and bob.
pub const READS: &[&str] = &[
    "GET b ann",
    "TOPN b 5",
    "RANGE b 1 -1",
    "PAGE b 1 5",
    "AROUND b ann 1",
    "BYSCORE b -inf inf",
    "AMONG b 2 ann bob",
    "QUERY b ann",
    "STATS b",
];

/// A board `b` with ann at 5 and bob at 7, each with a record in the hash `h`.
#[track_caller]
pub fn board(con: &mut Connection, schema: &str) {
    expect(con, "FLUSHALL", "+OK");
    expect(con, &format!("RANK.CREATE b {schema}"), "+OK");
    expect(con, "RANK.ADD b 5 ann 7 bob", "2");
    expect(con, r#"HSET h ann {"n":1} bob {"n":2}"#, "2");
}

/// The members that the hash `h` has records of.
pub fn recorded(con: &mut Connection) -> String {
    let shown = reply(con, "HKEYS h");
    let mut names: Vec<&str> = shown.split('"').filter(|name| name.chars().all(char::is_alphanumeric)).collect();
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    names.join(" ")
}

/// The strings of a reply, which is one or an array of them.
pub fn texts(reply: redis::RedisResult<redis::Value>) -> Vec<String> {
    match reply {
        Ok(redis::Value::BulkString(text)) => vec![String::from_utf8_lossy(&text).into_owned()],
        Ok(redis::Value::Array(items)) => items.into_iter().flat_map(|item| texts(Ok(item))).collect(),
        other => panic!("strings, got {other:?}"),
    }
}

pub fn text(con: &mut Connection, line: &str) -> String {
    texts(cmd(con, line)).concat()
}

pub fn json_reply(con: &mut Connection, line: &str) -> Json {
    match cmd(con, line) {
        Ok(redis::Value::BulkString(text)) => {
            serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{line}: {error}"))
        }
        other => panic!("{line} replied {}", show_result(&other)),
    }
}
