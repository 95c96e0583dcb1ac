//! Rows as replies: RESP, or one JSON text.

use std::collections::HashMap;

use base64::prelude::{Engine, BASE64_STANDARD};

use crate::board::{parse_object, Attributes, Row, Schema, Value};
use crate::number::FloatText;
use crate::server::{Hash, Reply, Text};

/// What a row needs beside itself: the names of the fields, and what else is wanted of a member.
pub struct Shown<'r, 'c> {
    pub schema: &'r Schema,
    pub data: Data<'r, 'c>,
    /// Whether rows have the tie time.
    pub time: bool,
    pub json: bool,
}

/// Where the attributes in rows come from.
pub enum Data<'r, 'c> {
    /// Rows have none.
    Unwanted,
    /// The hash, as it is.
    Hash(&'r Hash<'c>),
    /// What the hash held for each member before it was changed.
    Taken(HashMap<Vec<u8>, Text<'c>>),
}

impl<'c> Data<'_, 'c> {
    /// What there is for a member, if attributes are wanted.
    fn of(&self, member: &[u8]) -> Option<Option<Text<'c>>> {
        match self {
            Data::Unwanted => None,
            Data::Hash(hash) => Some(hash.get(member)),
            Data::Taken(records) => Some(records.get(member).cloned()),
        }
    }
}

impl Shown<'_, '_> {
    /// One row.
    pub fn row(&self, row: &Row<Text>, reply: &Reply) {
        if self.json {
            let mut json = Vec::new();
            self.json_row(None, row, &mut json);
            reply.bulk(&json);
        } else {
            self.resp_row(None, row, reply);
        }
    }

    /// Rows as a list.
    pub fn rows(&self, rows: &[Row<Text>], reply: &Reply) {
        if self.json {
            let mut json = Vec::new();
            self.json_rows(rows, &mut json);
            return reply.bulk(&json);
        }
        reply.array(rows.len() as u64);
        rows.iter().for_each(|row| self.resp_row(None, row, reply));
    }

    /// Rows as a list inside a JSON text.
    pub fn json_rows(&self, rows: &[Row<Text>], json: &mut Vec<u8>) {
        let mut list = JsonList::begin(json);
        rows.iter().for_each(|row| self.json_row(None, row, list.next()));
        list.end();
    }

    /// `[place,] rank, member, score … [, time] [, attributes]`
    pub fn resp_row(&self, place: Option<u64>, row: &Row<Text>, reply: &Reply) {
        let record = self.data.of(row.member());
        let more = u64::from(place.is_some()) + u64::from(self.time) + u64::from(record.is_some());
        reply.array(2 + row.values.len() as u64 + more);
        place.into_iter().for_each(|place| reply.count(place));
        reply.count(row.rank);
        reply.bulk(row.member());
        row.values.iter().for_each(|value| reply.value(*value));
        if self.time {
            row.time.map_or_else(|| reply.null(), |time| reply.integer(time));
        }
        if let Some(record) = record {
            resp_record(record, reply);
        }
    }

    /// `{"place":…,"rank":…,"member":…,"score":…,"time":…,"data":…}`
    pub fn json_row(&self, place: Option<u64>, row: &Row<Text>, json: &mut Vec<u8>) {
        json.push(b'{');
        if let Some(place) = place {
            json.extend_from_slice(b"\"place\":");
            json_integer(place, json);
            json.push(b',');
        }
        json.extend_from_slice(b"\"rank\":");
        json_integer(row.rank, json);
        json.push(b',');
        self.json_standing(row, json);
        json.push(b'}');
    }

    /// What a row says apart from ranks.
    fn json_standing(&self, row: &Row<Text>, json: &mut Vec<u8>) {
        json.extend_from_slice(b"\"member\":");
        json_name(row.member(), json);
        match row.values.as_slice() {
            [value] => {
                json.extend_from_slice(b",\"score\":");
                json_value(*value, json);
            }
            values => {
                json.extend_from_slice(b",\"scores\":{");
                for (i, (field, value)) in self.schema.fields().iter().zip(values).enumerate() {
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
        if self.time {
            json.extend_from_slice(b",\"time\":");
            match row.time {
                Some(time) => json_value(Value::Integer(time), json),
                None => json.extend_from_slice(b"null"),
            }
        }
        if let Some(record) = self.data.of(row.member()) {
            json.extend_from_slice(b",\"data\":");
            json_record(record, json);
        }
    }

    /// A name inside a group: `member`, or with attributes `[member, attributes]`.
    pub fn resp_name(&self, name: &[u8], reply: &Reply) {
        let record = self.data.of(name);
        if record.is_some() {
            reply.array(2);
        }
        reply.bulk(name);
        if let Some(record) = record {
            resp_record(record, reply);
        }
    }

    /// The same in JSON, where attributes make it `{"member":…,"data":…}`.
    pub fn json_name(&self, name: &[u8], json: &mut Vec<u8>) {
        let Some(record) = self.data.of(name) else { return json_name(name, json) };
        json.extend_from_slice(b"{\"member\":");
        json_name(name, json);
        json.extend_from_slice(b",\"data\":");
        json_record(record, json);
        json.push(b'}');
    }
}

/// What the hash holds for a member: a map, a string if it is no JSON object, or null.
fn resp_record(record: Option<Text>, reply: &Reply) {
    match record.as_ref().map(|text| (text.bytes(), parse_object(text.bytes()))) {
        Some((_, Some(attributes))) => resp_object(&attributes, reply),
        Some((text, None)) => reply.bulk(text),
        None => reply.null(),
    }
}

fn json_record(record: Option<Text>, json: &mut Vec<u8>) {
    match record.as_ref().map(Text::bytes) {
        Some(text) if parse_object(text).is_some() => json.extend_from_slice(text),
        Some(text) => json_name(text, json),
        None => json.extend_from_slice(b"null"),
    }
}

/// Attributes as a map.
pub fn resp_object(attributes: &Attributes, reply: &Reply) {
    reply.map(attributes.len());
    for (name, value) in attributes {
        reply.bulk(name.as_bytes());
        reply.json_value(value);
    }
}

/// A whole number.
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
