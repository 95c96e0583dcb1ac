//! Rows as replies: RESP, or one JSON text.

use std::collections::HashMap;

use base64::prelude::{Engine, BASE64_STANDARD};

use crate::board::{is_object, parse_object, Attributes, Row, Schema, Value};
use crate::number::FloatText;
use crate::server::{Hash, Reply, Text};

/// What is needed to show a row: the names of the fields, and what else to include.
pub struct RowFormat<'r, 'c> {
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
    #[inline]
    fn of(&self, member: &[u8]) -> Option<Option<Text<'c>>> {
        match self {
            Data::Unwanted => None,
            Data::Hash(hash) => Some(hash.get(member)),
            Data::Taken(records) => Some(records.get(member).cloned()),
        }
    }
}

impl<'c> RowFormat<'_, 'c> {
    /// One row.
    pub fn row(&self, row: &Row, reply: &Reply) {
        if self.json {
            let mut json = Vec::new();
            self.json_row(None, row, &mut json);
            reply.bulk(&json);
        } else {
            self.resp_row(None, row, reply);
        }
    }

    /// Rows as a list.
    pub fn rows(&self, rows: &[Row], reply: &Reply) {
        if self.json {
            let mut json = Vec::new();
            self.json_rows(rows, &mut json);
            return reply.bulk(&json);
        }
        reply.array(rows.len() as u64);
        rows.iter().for_each(|row| self.resp_row(None, row, reply));
    }

    /// Rows as a list inside a JSON text.
    pub fn json_rows(&self, rows: &[Row], json: &mut Vec<u8>) {
        let mut list = JsonList::begin(json);
        rows.iter().for_each(|row| self.json_row(None, row, list.next()));
        list.end();
    }

    /// `[place,] rank, member, score … [, time] [, attributes]`
    pub fn resp_row(&self, place: Option<u64>, row: &Row, reply: &Reply) {
        let record = self.record(row.member());
        reply.array(1 + u64::from(place.is_some()) + self.standing_len(row));
        place.into_iter().for_each(|place| reply.count(place));
        reply.count(row.rank);
        self.resp_standing(row, record.as_ref(), reply);
    }

    /// What the hash holds for a member, if that is wanted.
    #[inline]
    pub fn record(&self, member: &[u8]) -> Option<Record<'c>> {
        self.data.of(member).map(Record::read)
    }

    /// A row without ranks: `member, score … [, time] [, attributes]`
    pub fn resp_unranked(&self, row: &Row, record: Option<&Record>, reply: &Reply) {
        reply.array(self.standing_len(row));
        self.resp_standing(row, record, reply);
    }

    fn standing_len(&self, row: &Row) -> u64 {
        let more = u64::from(self.time) + u64::from(!matches!(self.data, Data::Unwanted));
        1 + row.values.len() as u64 + more
    }

    #[inline]
    fn resp_standing(&self, row: &Row, record: Option<&Record>, reply: &Reply) {
        reply.bulk(row.member());
        row.values.iter().for_each(|value| reply.value(*value));
        if self.time {
            row.time.map_or_else(|| reply.null(), |time| reply.integer(time));
        }
        if let Some(record) = record {
            record.reply(reply);
        }
    }

    /// A row without ranks, as one line of JSON.
    pub fn json_line(&self, row: &Row, json: &mut Vec<u8>) {
        let start = json.len();
        json.push(b'{');
        self.json_standing(row, json);
        json.push(b'}');
        // Attributes are as a client wrote them. In JSON a line can only end between values, where a space does as well.
        json.iter_mut().skip(start).filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    }

    /// `{"place":…,"rank":…,"member":…,"score":…,"time":…,"data":…}`
    pub fn json_row(&self, place: Option<u64>, row: &Row, json: &mut Vec<u8>) {
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
    fn json_standing(&self, row: &Row, json: &mut Vec<u8>) {
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
        let record = self.record(name);
        if record.is_some() {
            reply.array(2);
        }
        reply.bulk(name);
        if let Some(record) = record {
            record.reply(reply);
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

/// What the hash holds for a member.
pub enum Record<'c> {
    Attributes(Attributes),
    /// A value that is not a JSON object.
    Text(Text<'c>),
    Nothing,
}

impl<'c> Record<'c> {
    fn read(text: Option<Text<'c>>) -> Record<'c> {
        let Some(text) = text else { return Record::Nothing };
        parse_object(text.bytes()).map_or(Record::Text(text), Record::Attributes)
    }

    /// A map, a string or null.
    fn reply(&self, reply: &Reply) {
        match self {
            Record::Attributes(attributes) => resp_object(attributes, reply),
            Record::Text(text) => reply.bulk(text.bytes()),
            Record::Nothing => reply.null(),
        }
    }
}

fn json_record(record: Option<Text>, json: &mut Vec<u8>) {
    match record.as_ref().map(Text::bytes) {
        Some(text) if is_object(text) => json.extend_from_slice(text),
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
    if needs_no_escape(name) {
        json.reserve(name.len() + 2);
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

/// Whether a JSON string can hold these bytes without escapes. Checks eight bytes at a time.
fn needs_no_escape(name: &[u8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;
    // The high bit of a byte that is zero, if no byte before it is; of ASCII bytes only.
    let zeros = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes;
    let is_plain = |eight: [u8; 8]| {
        let bytes = u64::from_le_bytes(eight);
        let below_space = bytes.wrapping_sub(ONES * u64::from(b' '));
        let [quotes, backslashes, deletes] = [b'"', b'\\', 0x7F].map(|byte| zeros(bytes ^ (ONES * u64::from(byte))));
        (bytes | below_space | quotes | backslashes | deletes) & HIGH_BITS == 0
    };
    let (eights, rest) = name.as_chunks::<8>();
    let mut last = [b' '; 8];
    last.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
    eights.iter().all(|eight| is_plain(*eight)) && is_plain(last)
}

/// A JSON array that is being written.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each byte in each position of names whose length is around eight, because eight bytes are checked at a time.
    #[test]
    fn names_are_escaped_where_json_wants_it() {
        for length in 1..=17 {
            for place in 0..length {
                for byte in 0..=u8::MAX {
                    let mut name = vec![b'a'; length];
                    name[place] = byte;
                    let mut json = Vec::new();
                    json_name(&name, &mut json);
                    let expected = match std::str::from_utf8(&name) {
                        Ok(text) => serde_json::to_string(text).unwrap(),
                        Err(_) => format!("{{\"base64\":\"{}\"}}", BASE64_STANDARD.encode(&name)),
                    };
                    assert_eq!(String::from_utf8(json).unwrap(), expected);
                }
            }
        }
    }
}
