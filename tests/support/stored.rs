//! What a board holds, and what it says of itself.

use redis::{Connection, Value};

use super::{cmd, cmdv, show};

/// 2020-01-01T00:00:00Z.
pub const EPOCH_MS: i64 = 1_577_836_800_000;

/// One field of `RANK.INFO`, rendered.
#[track_caller]
pub fn info(con: &mut Connection, key: &str, field: &str) -> String {
    let Ok(Value::Array(flat)) = cmd(con, &format!("RANK.INFO {key}")) else { panic!("no RANK.INFO of {key}") };
    let name = Value::BulkString(field.into());
    let at = flat.chunks(2).find(|pair| pair[0] == name).unwrap_or_else(|| panic!("no {field} in {flat:?}"));
    show(&at[1])
}

/// All elements and scores, lowest first, the marker included.
#[track_caller]
pub fn stored(con: &mut Connection, key: &str) -> Vec<(Vec<u8>, f64)> {
    let Ok(Value::Array(flat)) = cmdv(con, &["ZRANGE", key, "0", "-1", "WITHSCORES"]) else { panic!("no {key}") };
    let bytes = |value: &Value| match value {
        Value::BulkString(bytes) => bytes.clone(),
        other => panic!("not a string: {other:?}"),
    };
    let score = |value| String::from_utf8(bytes(value)).ok()?.parse().ok();
    flat.chunks(2).map(|pair| (bytes(&pair[0]), score(&pair[1]).expect("a number"))).collect()
}

/// The element that holds a board's schema.
pub fn marker(schema: &str) -> Vec<u8> {
    [b"\0rank 2 ", schema.as_bytes()].concat()
}

/// Everything that a board holds, in the sorted set's own order: by score, then by bytes.
pub fn in_order(mut elements: Vec<(Vec<u8>, f64)>) -> Vec<(Vec<u8>, f64)> {
    elements.sort_by(|(one, low), (other, high)| low.total_cmp(high).then(one.cmp(other)));
    elements
}
