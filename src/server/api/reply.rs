//! Replies, written piece by piece. Nothing may fail once a reply has begun: the server would send half of it.

use std::cell::Cell;
use std::ffi::CString;
use std::os::raw::{c_int, c_long};

use super::context::Ctx;
use serde_json::value::RawValue;

use crate::board::{as_string, Value};
use crate::number::FloatText;

/// A reply that is being written. [`Call::reply`](crate::server::Call::reply) returns one.
pub struct Reply<'c> {
    ctx: Ctx<'c>,
    resp3: Cell<Option<bool>>,
}

impl<'c> Reply<'c> {
    pub(in crate::server) fn new(ctx: Ctx<'c>) -> Reply<'c> {
        Reply { ctx, resp3: Cell::new(None) }
    }

    fn is_resp3(&self) -> bool {
        self.resp3.get().unwrap_or_else(|| {
            let resp3 = self.ctx.is_resp3();
            self.resp3.set(Some(resp3));
            resp3
        })
    }

    pub fn integer(&self, value: i64) {
        // SAFETY: the context is alive.
        unsafe { api!(RedisModule_ReplyWithLongLong)(self.ctx.raw(), value) };
    }

    pub fn integers(&self, values: &[i64]) {
        self.array(values.len() as u64);
        values.iter().for_each(|value| self.integer(*value));
    }

    pub fn count(&self, value: u64) {
        self.integer(i64::try_from(value).unwrap_or(i64::MAX));
    }

    pub fn count_or_null(&self, value: Option<u64>) {
        match value {
            Some(value) => self.count(value),
            None => self.null(),
        }
    }

    pub fn bulk(&self, bytes: &[u8]) {
        // SAFETY: context and bytes are alive.
        unsafe { api!(RedisModule_ReplyWithStringBuffer)(self.ctx.raw(), bytes.as_ptr().cast(), bytes.len()) };
    }

    /// A double (RESP2: a string).
    pub fn float(&self, value: f64) {
        if self.is_resp3() {
            // SAFETY: the context is alive.
            unsafe { api!(RedisModule_ReplyWithDouble)(self.ctx.raw(), value) };
        } else {
            // Not left to the server: 7.0 prints 0.1 as 0.10000000000000001.
            self.bulk(FloatText::new().print(value).as_bytes());
        }
    }

    pub fn value(&self, value: Value) {
        match value {
            Value::Float(value) => self.float(value),
            Value::Integer(value) => self.integer(value),
        }
    }

    /// An attribute: a string as it is, any other value as JSON.
    pub fn json_value(&self, value: &RawValue) {
        match as_string(value) {
            Some(text) => self.bulk(text.as_bytes()),
            None => self.bulk(value.get().as_bytes()),
        }
    }

    /// The score of a board with one field, an array of them for several.
    pub fn scores(&self, values: &[Value]) {
        if let [value] = values {
            return self.value(*value);
        }
        self.array(values.len() as u64);
        values.iter().for_each(|value| self.value(*value));
    }

    pub fn null(&self) {
        // SAFETY: the context is alive.
        unsafe { api!(RedisModule_ReplyWithNull)(self.ctx.raw()) };
    }

    pub fn ok(&self) {
        // SAFETY: the context is alive.
        unsafe { api!(RedisModule_ReplyWithSimpleString)(self.ctx.raw(), c"OK".as_ptr()) };
    }

    /// The head of an array with this many elements.
    pub fn array(&self, length: u64) {
        // SAFETY: the context is alive.
        unsafe { api!(RedisModule_ReplyWithArray)(self.ctx.raw(), length as c_long) };
    }

    /// The head of a map (RESP2: a flat array) with this many pairs.
    pub fn map(&self, pairs: usize) {
        // SAFETY: the context is alive.
        unsafe { api!(RedisModule_ReplyWithMap)(self.ctx.raw(), pairs as c_long) };
    }

    pub fn error(&self, message: &str) -> c_int {
        let message = CString::new(message).unwrap_or_default();
        // SAFETY: context and message are alive.
        unsafe { api!(RedisModule_ReplyWithError)(self.ctx.raw(), message.as_ptr()) }
    }

    /// The server's own error for a wrong number of arguments.
    pub fn wrong_arity(&self) -> c_int {
        // SAFETY: the context is alive.
        unsafe { api!(RedisModule_WrongArity)(self.ctx.raw()) }
    }
}
