//! A reply that is written once, and goes out as RESP or as one JSON text.
//!
//! Both have lists and records. A record is an object in JSON, where its fields have names; in RESP it is an array without
//! names, or a map.

use base64::prelude::{Engine, BASE64_STANDARD};

use crate::board::{is_object, parse_object, Attributes, Value};
use crate::number::FloatText;
use crate::server::{Reply, Text};

#[cfg(test)]
mod tests;

pub enum Output<'r, 'c> {
    Resp(&'r Reply<'c>),
    Json(Json),
}

#[derive(Default)]
pub struct Json {
    text: Vec<u8>,
    /// Whether a value was written, so that the next one on this level comes after a comma.
    needs_comma: bool,
}

impl Json {
    #[inline]
    fn begin(&mut self, bracket: u8) {
        self.separate();
        self.text.push(bracket);
        self.needs_comma = false;
    }

    #[inline]
    fn end(&mut self, bracket: u8) {
        self.text.push(bracket);
        self.needs_comma = true;
    }

    #[inline]
    fn separate(&mut self) {
        if self.needs_comma {
            self.text.push(b',');
        }
        self.needs_comma = true;
    }

    #[inline]
    fn field(&mut self, name: &str) {
        self.separate();
        self.text.push(b'"');
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(b"\":");
        self.needs_comma = false;
    }

    #[inline]
    fn raw(&mut self, value: &[u8]) {
        self.separate();
        self.text.extend_from_slice(value);
    }

    /// A string; a name that is not UTF-8 as base64.
    fn name(&mut self, name: &[u8]) {
        self.separate();
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        if name.iter().all(is_plain) {
            self.text.push(b'"');
            self.text.extend_from_slice(name);
            self.text.push(b'"');
            return;
        }
        match std::str::from_utf8(name) {
            // Writing to memory does not fail.
            Ok(name) => serde_json::to_writer(&mut self.text, name).unwrap_or_default(),
            Err(_) => {
                self.text.extend_from_slice(b"{\"base64\":\"");
                self.text.extend_from_slice(BASE64_STANDARD.encode(name).as_bytes());
                self.text.extend_from_slice(b"\"}");
            }
        }
    }
}

impl<'r, 'c> Output<'r, 'c> {
    pub fn new(reply: &'r Reply<'c>, json: bool) -> Output<'r, 'c> {
        if json {
            // Without room for a short text, RANK.GET with JSON takes 6 % more instructions.
            Output::Json(Json { text: Vec::with_capacity(512), ..Json::default() })
        } else {
            Output::Resp(reply)
        }
    }

    pub fn is_json(&self) -> bool {
        matches!(self, Output::Json(_))
    }

    /// A JSON text.
    pub fn into_text(self) -> Vec<u8> {
        match self {
            Output::Json(json) => json.text,
            Output::Resp(_) => Vec::new(),
        }
    }

    /// Sends a JSON text. RESP is on its way already.
    pub fn send(self, reply: &Reply) {
        if let Output::Json(json) = self {
            reply.bulk(&json.text);
        }
    }

    pub fn list(&mut self, length: u64) {
        match self {
            Output::Resp(reply) => reply.array(length),
            Output::Json(json) => json.begin(b'['),
        }
    }

    pub fn end_list(&mut self) {
        if let Output::Json(json) = self {
            json.end(b']');
        }
    }

    pub fn record(&mut self, fields: u64) {
        match self {
            Output::Resp(reply) => reply.array(fields),
            Output::Json(json) => json.begin(b'{'),
        }
    }

    /// A record that is a map in RESP.
    pub fn map(&mut self, fields: usize) {
        match self {
            Output::Resp(reply) => reply.map(fields),
            Output::Json(json) => json.begin(b'{'),
        }
    }

    /// The name of the next field of a map.
    pub fn map_field(&mut self, name: &str) {
        match self {
            Output::Resp(reply) => reply.bulk(name.as_bytes()),
            Output::Json(json) => json.field(name),
        }
    }

    pub fn end_record(&mut self) {
        if let Output::Json(json) = self {
            json.end(b'}');
        }
    }

    /// The name of the next field of a record.
    pub fn field(&mut self, name: &str) {
        if let Output::Json(json) = self {
            json.field(name);
        }
    }

    pub fn integer(&mut self, value: i64) {
        match self {
            Output::Resp(reply) => reply.integer(value),
            Output::Json(json) => json.raw(itoa::Buffer::new().format(value).as_bytes()),
        }
    }

    pub fn count(&mut self, value: u64) {
        self.integer(i64::try_from(value).unwrap_or(i64::MAX));
    }

    pub fn integer_or_null(&mut self, value: Option<i64>) {
        match value {
            Some(value) => self.integer(value),
            None => self.null(),
        }
    }

    pub fn null(&mut self) {
        match self {
            Output::Resp(reply) => reply.null(),
            Output::Json(json) => json.raw(b"null"),
        }
    }

    pub fn name(&mut self, name: &[u8]) {
        match self {
            Output::Resp(reply) => reply.bulk(name),
            Output::Json(json) => json.name(name),
        }
    }

    pub fn value(&mut self, value: Value) {
        match (self, value) {
            (Output::Resp(reply), value) => reply.value(value),
            (output, Value::Integer(value)) => output.integer(value),
            (Output::Json(json), Value::Float(value)) => match FloatText::new().print(value) {
                text if value.is_finite() => json.raw(text.as_bytes()),
                text => json.name(text.as_bytes()),
            },
        }
    }

    /// What the hash of attributes holds for a member: a map, a string, or null.
    pub fn attributes(&mut self, text: Option<&Text>) {
        let Some(text) = text.map(Text::bytes) else { return self.null() };
        match self {
            Output::Json(json) if is_object(text) => json.raw(text),
            Output::Json(json) => json.name(text),
            Output::Resp(reply) => match parse_object(text) {
                Some(attributes) => reply_object(&attributes, reply),
                None => reply.bulk(text),
            },
        }
    }
}

/// Attributes as a map.
pub fn reply_object(attributes: &Attributes, reply: &Reply) {
    reply.map(attributes.len());
    for (name, value) in attributes {
        reply.bulk(name.as_bytes());
        reply.json_value(value);
    }
}
