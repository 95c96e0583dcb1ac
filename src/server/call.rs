//! Core commands that have no low-level function, by `RM_Call`.

use std::ffi::CStr;
use std::io;
use std::os::raw::{c_int, c_longlong};

use redis_module::raw::{self, RedisModuleCallReply, RedisModuleString};

use super::context::Ctx;
use super::text::Text;
use crate::error::{Error, Result};
use crate::number::FloatText;

pub struct CallReply {
    raw: *mut RedisModuleCallReply,
}

impl CallReply {
    fn checked(raw: *mut RedisModuleCallReply) -> Result<CallReply> {
        CallReply::with_kind(raw).map(|(reply, _)| reply)
    }

    /// The reply and what it is: asking again would cost.
    fn with_kind(raw: *mut RedisModuleCallReply) -> Result<(CallReply, isize)> {
        if raw.is_null() {
            let error = io::Error::last_os_error();
            return Err(match error.kind() {
                // The cluster's answer for keys that are not, or not all, on this node.
                io::ErrorKind::PermissionDenied => Error::TryAgain,
                _ => Error::Server(format!("ERR the server refused a call of redis-rank: {error}")),
            });
        }
        let reply = CallReply { raw };
        let kind = reply.kind();
        if kind == raw::REDISMODULE_REPLY_ERROR {
            return Err(Error::Server(String::from_utf8_lossy(reply.bytes()).into_owned()));
        }
        Ok((reply, kind))
    }

    fn kind(&self) -> isize {
        // SAFETY: the reply is alive.
        unsafe { api!(RedisModule_CallReplyType)(self.raw) as isize }
    }

    fn bytes(&self) -> &[u8] {
        let mut length = 0;
        // SAFETY: the reply is alive as long as the slice, and has that many bytes.
        unsafe {
            let start = api!(RedisModule_CallReplyStringPtr)(self.raw, &mut length);
            if start.is_null() {
                return &[];
            }
            std::slice::from_raw_parts(start.cast(), length)
        }
    }

    /// An integer from 0 on; 0 for any other reply.
    pub fn count(&self) -> u64 {
        // SAFETY: the reply is alive; of one that is no integer the server says the least number.
        unsafe { api!(RedisModule_CallReplyInteger)(self.raw) }.max(0).unsigned_abs()
    }

    pub fn len(&self) -> usize {
        // SAFETY: the reply is alive.
        unsafe { api!(RedisModule_CallReplyLength)(self.raw) }
    }

    /// The reply of a scan: every string of its list, every second one, and so on.
    fn scanned<'a>(&self, every: usize) -> (u64, Vec<Text<'a>>) {
        let next = self.text_at(0).and_then(|text| std::str::from_utf8(text.bytes()).ok()?.parse().ok());
        (next.unwrap_or(0), self.texts_at(1, every))
    }

    /// The strings of an array inside the array.
    fn texts_at<'a>(&self, index: usize, every: usize) -> Vec<Text<'a>> {
        // SAFETY: the reply is alive; elements belong to it; the strings that are made are ours.
        unsafe {
            let list = api!(RedisModule_CallReplyArrayElement)(self.raw, index);
            if list.is_null() {
                return Vec::new();
            }
            let texts = (0..api!(RedisModule_CallReplyLength)(list)).step_by(every).filter_map(|i| {
                let element = api!(RedisModule_CallReplyArrayElement)(list, i);
                Text::take(api!(RedisModule_CreateStringFromCallReply)(element))
            });
            texts.collect()
        }
    }

    pub fn text_at<'a>(&self, index: usize) -> Option<Text<'a>> {
        // SAFETY: the reply is alive; elements belong to it; the string that is made is ours.
        unsafe {
            let element = api!(RedisModule_CallReplyArrayElement)(self.raw, index);
            if element.is_null() {
                return None;
            }
            Text::take(api!(RedisModule_CreateStringFromCallReply)(element))
        }
    }
}

impl Drop for CallReply {
    fn drop(&mut self) {
        // SAFETY: the reply is ours, and freed once.
        unsafe { api!(RedisModule_FreeCallReply)(self.raw) };
    }
}

impl Ctx {
    /// A write command that propagates and announces itself. No handle on its keys may be open.
    pub fn write(self, command: &CStr, args: &mut [*mut RedisModuleString]) -> Result<CallReply> {
        // SAFETY: the strings are alive during the call.
        CallReply::checked(unsafe {
            api!(RedisModule_Call)(self.raw(), command.as_ptr(), c"!v".as_ptr(), args.as_mut_ptr(), args.len())
        })
    }

    /// No handle on either key may be open.
    pub fn rename(self, from: &Text, to: &Text) -> Result<()> {
        self.write(c"RENAME", &mut [from.raw(), to.raw()]).map(drop)
    }

    pub fn zrank(self, key: &Text, element: &Text) -> Result<Option<u64>> {
        // SAFETY: the strings are alive during the call.
        let (reply, kind) = CallReply::with_kind(unsafe {
            api!(RedisModule_Call)(self.raw(), c"ZRANK".as_ptr(), c"ss".as_ptr(), key.raw(), element.raw())
        })?;
        Ok((kind == raw::REDISMODULE_REPLY_INTEGER).then(|| reply.count()))
    }

    /// How many elements have a score below (`inclusive`: or at) this one.
    pub fn zcount_below(self, key: &Text, score: f64, inclusive: bool) -> Result<u64> {
        let mut number = FloatText::new();
        let bound = [if inclusive { "" } else { "(" }, number.print(score)].concat();
        // SAFETY: strings and buffer are alive during the call.
        let reply = CallReply::checked(unsafe {
            api!(RedisModule_Call)(
                self.raw(),
                c"ZCOUNT".as_ptr(),
                c"scb".as_ptr(),
                key.raw(),
                c"-inf".as_ptr(),
                bound.as_ptr(),
                bound.len(),
            )
        })?;
        Ok(reply.count())
    }

    /// How many of the keys exist. In a cluster an error while their slot is moving and one of them is not here.
    pub fn exists(self, keys: &[&Text]) -> Result<u64> {
        let mut args: Vec<*mut RedisModuleString> = keys.iter().map(|key| key.raw()).collect();
        // SAFETY: the strings are alive during the call.
        let reply = CallReply::checked(unsafe {
            api!(RedisModule_Call)(self.raw(), c"EXISTS".as_ptr(), c"v".as_ptr(), args.as_mut_ptr(), args.len())
        })?;
        Ok(reply.count())
    }

    /// Selects the database, unless this server is no longer the one that serves the key: who waits between two steps of
    /// a command may find a replica, or a cluster's slot gone.
    pub fn check_is_serving(self, db: c_int, key: &Text) -> Result<()> {
        if !self.select(db) || !self.is_serving_primary() {
            return Err(Error::TryAgain);
        }
        if self.is_cluster() {
            self.exists(&[key])?;
        }
        Ok(())
    }

    /// Some keys of the selected database: the cursor to go on with, and names.
    pub fn scan_keys(self, cursor: u64, pattern: &str, count: u64) -> Result<(u64, Vec<Text<'static>>)> {
        let cursor = cursor.to_string();
        // SAFETY: strings and buffers are alive during the call; `l` takes a long long.
        let reply = CallReply::checked(unsafe {
            api!(RedisModule_Call)(
                self.raw(),
                c"SCAN".as_ptr(),
                c"bcbcl".as_ptr(),
                cursor.as_ptr(),
                cursor.len(),
                c"MATCH".as_ptr(),
                pattern.as_ptr(),
                pattern.len(),
                c"COUNT".as_ptr(),
                i64::try_from(count).unwrap_or(i64::MAX),
            )
        })?;
        Ok(reply.scanned(1))
    }

    /// ZSCAN: the cursor to go on with, and elements.
    pub fn zscan<'a>(self, key: &Text, cursor: u64, count: u64) -> Result<(u64, Vec<Text<'a>>)> {
        Ok(self.scan(c"ZSCAN", key, cursor, count)?.scanned(2))
    }

    /// HSCAN: the cursor to go on with, and fields and values in turn.
    pub fn hscan<'a>(self, key: &Text, cursor: u64, count: u64) -> Result<(u64, Vec<Text<'a>>)> {
        Ok(self.scan(c"HSCAN", key, cursor, count)?.scanned(1))
    }

    fn scan(self, command: &CStr, key: &Text, cursor: u64, count: u64) -> Result<CallReply> {
        let cursor = cursor.to_string();
        // SAFETY: strings and buffers are alive during the call; `l` takes a long long.
        CallReply::checked(unsafe {
            api!(RedisModule_Call)(
                self.raw(),
                command.as_ptr(),
                c"sbcl".as_ptr(),
                key.raw(),
                cursor.as_ptr(),
                cursor.len(),
                c"COUNT".as_ptr(),
                i64::try_from(count).unwrap_or(i64::MAX),
            )
        })
    }

    pub fn zrange(self, key: &Text, first: u64, last: u64) -> Result<CallReply> {
        self.by_index(c"ZRANGE", c"sll", key, first, last)
    }

    pub fn zremrangebyrank(self, key: &Text, first: u64, last: u64) -> Result<u64> {
        Ok(self.by_index(c"ZREMRANGEBYRANK", c"!sll", key, first, last)?.count())
    }

    /// Up to and including a score.
    pub fn zremrangebyscore_through(self, key: &Text, score: i64) -> Result<u64> {
        // SAFETY: the strings are alive during the call; `l` takes a long long.
        let reply = CallReply::checked(unsafe {
            api!(RedisModule_Call)(
                self.raw(),
                c"ZREMRANGEBYSCORE".as_ptr(),
                c"!scl".as_ptr(),
                key.raw(),
                c"-inf".as_ptr(),
                score as c_longlong,
            )
        })?;
        Ok(reply.count())
    }

    fn by_index(self, command: &CStr, format: &CStr, key: &Text, first: u64, last: u64) -> Result<CallReply> {
        // SAFETY: the strings are alive during the call; `l` takes a long long.
        CallReply::checked(unsafe {
            api!(RedisModule_Call)(
                self.raw(),
                command.as_ptr(),
                format.as_ptr(),
                key.raw(),
                first as c_longlong,
                last as c_longlong,
            )
        })
    }
}
