//! Rows as replies: RESP, or one JSON text.

use base64::prelude::{Engine, BASE64_STANDARD};

use super::options::ReadOptions;
use super::ServerBoard;
use crate::board::{parse_object, Row, Value};
use crate::config::check_rows;
use crate::error::Result;
use crate::number::FloatText;
use crate::server::{Reply, Text};

/// The members at some positions, as the options want them.
pub fn rows(board: &ServerBoard, first: u64, count: u64, options: &ReadOptions, reply: &Reply) -> Result<()> {
    if options.json {
        let mut json = Vec::new();
        json_rows(board, first, count, options, &mut json)?;
        reply.bulk(&json);
        return Ok(());
    }
    resp_rows(board, first, count, options, reply, || ())
}

/// `begin` replies what comes before the rows, once nothing can go wrong any more: an error inside a reply would be
/// taken for one of its elements.
pub fn resp_rows(
    board: &ServerBoard,
    first: u64,
    count: u64,
    options: &ReadOptions,
    reply: &Reply,
    begin: impl Fn(),
) -> Result<()> {
    let found = board.rows_from(first, count);
    check_rows(found)?;
    board.check_rows_decode(first, count)?;
    let mut started = false;
    board.rows(first, count, options.kind(board), &mut |row| {
        if !started {
            // Not earlier: by now nothing can go wrong any more.
            begin();
            reply.array(found);
            started = true;
        }
        resp_row(board, &row, options, reply)
    })?;
    if !started {
        begin();
        reply.array(0);
    }
    Ok(())
}

pub fn json_rows(board: &ServerBoard, first: u64, count: u64, options: &ReadOptions, json: &mut Vec<u8>) -> Result<()> {
    check_rows(board.rows_from(first, count))?;
    let mut list = JsonList::begin(json);
    board.rows(first, count, options.kind(board), &mut |row| json_row(board, &row, options, list.next()))?;
    list.end();
    Ok(())
}

pub fn row(board: &ServerBoard, row: &Row, options: &ReadOptions, reply: &Reply) -> Result<()> {
    if options.json {
        let mut json = Vec::new();
        json_row(board, row, options, &mut json)?;
        reply.bulk(&json);
        return Ok(());
    }
    resp_row(board, row, options, reply)
}

fn resp_row(board: &ServerBoard, row: &Row, options: &ReadOptions, reply: &Reply) -> Result<()> {
    reply.array(2 + row.values.len() as u64 + u64::from(options.data));
    reply.count(row.rank);
    resp_member(board, row, options, reply)
}

/// The part of a row behind its rank.
pub fn resp_member(board: &ServerBoard, row: &Row, options: &ReadOptions, reply: &Reply) -> Result<()> {
    reply.bulk(row.member);
    row.values.iter().for_each(|value| reply.value(*value));
    if options.data {
        resp_data(board.attributes(row.member)?, reply);
    }
    Ok(())
}

fn resp_data(data: Option<Text>, reply: &Reply) {
    match data.and_then(|text| parse_object(text.bytes())) {
        Some(map) => resp_object(&map, reply),
        None => reply.null(),
    }
}

/// Attributes as a map.
pub fn resp_object(map: &serde_json::Map<String, serde_json::Value>, reply: &Reply) {
    reply.map(map.len());
    for (name, value) in map {
        reply.bulk(name.as_bytes());
        reply.json_value(value);
    }
}

fn json_row(board: &ServerBoard, row: &Row, options: &ReadOptions, json: &mut Vec<u8>) -> Result<()> {
    json.push(b'{');
    json_member(board, row, options, json)
}

/// The row behind its opening brace, which may be followed by other names first.
pub fn json_member(board: &ServerBoard, row: &Row, options: &ReadOptions, json: &mut Vec<u8>) -> Result<()> {
    json.extend_from_slice(b"\"rank\":");
    json_integer(row.rank, json);
    json.extend_from_slice(b",\"member\":");
    json_name(row.member, json);
    match row.values {
        [value] => {
            json.extend_from_slice(b",\"score\":");
            json_value(*value, json);
        }
        values => {
            json.extend_from_slice(b",\"scores\":{");
            for (i, (field, value)) in board.schema().fields().iter().zip(values).enumerate() {
                if i > 0 {
                    json.push(b',');
                }
                json_name(field.name.as_bytes(), json);
                json.push(b':');
                json_value(*value, json);
            }
            json.push(b'}');
        }
    }
    if options.data {
        json.extend_from_slice(b",\"data\":");
        let data = board.attributes(row.member)?;
        let object = data.as_ref().filter(|text| parse_object(text.bytes()).is_some());
        json.extend_from_slice(object.map_or(b"null", |text| text.bytes()));
    }
    json.push(b'}');
    Ok(())
}

pub fn json_integer(value: u64, json: &mut Vec<u8>) {
    json.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn json_value(value: Value, json: &mut Vec<u8>) {
    match value {
        Value::Integer(value) => json.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        Value::Float(value) if value.is_finite() => json.extend_from_slice(FloatText::new().print(value).as_bytes()),
        Value::Float(value) => json_name(FloatText::new().print(value).as_bytes(), json),
    }
}

/// A name as a JSON string; one that is not UTF-8 as base64.
pub fn json_name(name: &[u8], json: &mut Vec<u8>) {
    // Without a short cut, so that many bytes are as quick as one.
    let is_plain = |byte: &u8| matches!(byte, 0x20..0x7F) & (*byte != b'"') & (*byte != b'\\');
    if name.iter().fold(true, |all, byte| all & is_plain(byte)) {
        json.push(b'"');
        json.extend_from_slice(name);
        json.push(b'"');
        return;
    }
    match std::str::from_utf8(name) {
        // Writing to memory does not fail.
        Ok(name) => serde_json::to_writer(json, name).unwrap_or_default(),
        Err(_) => {
            json.extend_from_slice(b"{\"base64\":\"");
            json.extend_from_slice(BASE64_STANDARD.encode(name).as_bytes());
            json.extend_from_slice(b"\"}");
        }
    }
}

/// A JSON array in the making.
pub struct JsonList<'j> {
    json: &'j mut Vec<u8>,
    empty: bool,
}

impl JsonList<'_> {
    pub fn begin(json: &mut Vec<u8>) -> JsonList<'_> {
        json.push(b'[');
        JsonList { json, empty: true }
    }

    /// Where the next element goes.
    pub fn next(&mut self) -> &mut Vec<u8> {
        if !self.empty {
            self.json.push(b',');
        }
        self.empty = false;
        self.json
    }

    pub fn end(self) {
        self.json.push(b']');
    }
}
