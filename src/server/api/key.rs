//! Open keys. A server call that may free the value takes the handle by value, and what changes the value takes it
//! mutably, so a handle or a slice of bytes that is out of date cannot be used.

use std::os::raw::c_int;
use std::ptr::NonNull;

use redis_module::raw::{self, RedisModuleKey};

use super::context::Ctx;
use super::core::CallReply;
use super::core_commands::CoreCommand;
use super::text::Text;
use crate::error::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A lookup that counts no hit or miss and causes no event, as all lookups of the module do.
    Read,
    /// The same, without changing the key's time of last use.
    ReadUntouched,
    /// A read or a write.
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    Empty,
    SortedSet,
    Hash,
    String,
    Other,
}

/// An open key. It lives no longer than the command, and a call that may free its value consumes it.
pub struct Key<'c> {
    ctx: Ctx<'c>,
    name: Text<'c>,
    access: Access,
    raw: NonNull<RedisModuleKey>,
}

impl<'c> Key<'c> {
    /// `None` for a key that does not exist and is not opened for writing.
    pub fn open(ctx: Ctx<'c>, name: &Text<'c>, access: Access) -> Option<Key<'c>> {
        let mode = match access {
            Access::Read => silent_mode(),
            Access::ReadUntouched => silent_mode() | raw::REDISMODULE_OPEN_KEY_NOTOUCH,
            Access::Write => raw::REDISMODULE_READ | raw::REDISMODULE_WRITE,
        };
        // SAFETY: context and name are alive.
        let raw = unsafe { api!(RedisModule_OpenKey)(ctx.raw(), name.raw(), mode as c_int) };
        NonNull::new(raw).map(|raw| Key { ctx, name: name.clone(), access, raw })
    }

    pub(in crate::server) fn raw(&self) -> *mut RedisModuleKey {
        self.raw.as_ptr()
    }

    pub fn kind(&self) -> KeyType {
        // SAFETY: the key is open.
        match unsafe { api!(RedisModule_KeyType)(self.raw()) } as isize {
            raw::REDISMODULE_KEYTYPE_EMPTY => KeyType::Empty,
            raw::REDISMODULE_KEYTYPE_ZSET => KeyType::SortedSet,
            raw::REDISMODULE_KEYTYPE_HASH => KeyType::Hash,
            raw::REDISMODULE_KEYTYPE_STRING => KeyType::String,
            _ => KeyType::Other,
        }
    }

    pub fn len(&self) -> u64 {
        // SAFETY: the key is open.
        unsafe { api!(RedisModule_ValueLength)(self.raw()) as u64 }
    }

    /// When the key expires, in Unix milliseconds.
    pub fn expiry(&self) -> Option<i64> {
        // Asked for the expiry of an empty key, Redis 8.6 follows a null pointer.
        if self.kind() == KeyType::Empty {
            return None;
        }
        // SAFETY: the key is open. Negative for none.
        Some(unsafe { api!(RedisModule_GetAbsExpire)(self.raw()) }).filter(|at_ms| *at_ms >= 0)
    }

    pub fn expire_at(&mut self, at_ms: i64) {
        // SAFETY: the key is open for writing.
        unsafe { api!(RedisModule_SetAbsExpire)(self.raw(), at_ms) };
    }

    /// The bytes of a string, where they are. Not by `&self`: whatever changes the key would free them. The server first
    /// gives a short string, or an integer, the form of a long one.
    pub fn bytes(&mut self) -> &[u8] {
        let mut length = 0;
        // SAFETY: the key is an open string; the bytes are there while nothing changes it.
        unsafe {
            let start = api!(RedisModule_StringDMA)(self.raw(), &mut length, raw::REDISMODULE_READ as c_int);
            if start.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(start.cast(), length)
            }
        }
    }

    /// Writes over a part of a string, and leaves its length and its expiry as they are.
    pub fn overwrite(&mut self, offset: usize, bytes: &[u8]) {
        let mut length = 0;
        // SAFETY: the key is open for writing, and a string, of which no more bytes are written than it has.
        unsafe {
            let start: *mut u8 =
                api!(RedisModule_StringDMA)(self.raw(), &mut length, raw::REDISMODULE_WRITE as c_int).cast();
            if !start.is_null() && offset.checked_add(bytes.len()).is_some_and(|end| end <= length) {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.add(offset), bytes.len());
            }
        }
    }

    /// Makes the key a string; it may lose its expiry.
    ///
    /// The server stores a new string in a short form, which the next call that reads it has to convert. So one of the
    /// same length is rewritten in place. On Redis 7.0 a new one is made in its long form at once: it takes as much memory
    /// there, lies beside its key, and calls on 100,000 keys took 10 % less time. Later servers were no faster, and on
    /// Valkey the short form saves 16 bytes of 107.
    pub fn set_bytes(&mut self, text: &Text) {
        let is_same_length = self.kind() == KeyType::String && self.len() == text.bytes().len() as u64;
        // SAFETY: the key is open for writing, and empty or a string; the server takes a reference of its own.
        unsafe {
            if !is_same_length && !is_redis_7_0() {
                api!(RedisModule_StringSet)(self.raw(), text.raw());
                return;
            }
            if !is_same_length {
                api!(RedisModule_StringTruncate)(self.raw(), text.bytes().len());
            }
        }
        self.overwrite(0, text.bytes());
    }

    /// Deletes the key, and frees its value in the background. The handle stays valid, for a key that is now empty.
    pub fn unlink(&mut self) {
        // SAFETY: the key is open for writing.
        unsafe { api!(RedisModule_UnlinkKey)(self.raw()) };
    }

    /// Runs a core command that may free the value, with this key as its first argument. The core command propagates
    /// and announces itself. The handle is closed before it and opened again after it.
    pub fn call(self, command: CoreCommand, args: &[&Text]) -> (Option<Key<'c>>, Result<CallReply>) {
        let (ctx, name, access) = (self.ctx, self.name.clone(), self.access);
        drop(self);
        let args: Vec<&Text> = std::iter::once(&name).chain(args.iter().copied()).collect();
        let reply = ctx.call(command, &args);
        (Key::open(ctx, &name, access), reply)
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        // SAFETY: the key is ours, and closed once.
        unsafe { api!(RedisModule_CloseKey)(self.raw()) };
    }
}

/// Redis 7.0 has no flags for a silent lookup. Opening for writing is silent there, so reads open for writing too.
fn silent_mode() -> u32 {
    if is_redis_7_0() {
        raw::REDISMODULE_READ | raw::REDISMODULE_WRITE
    } else {
        raw::REDISMODULE_READ | raw::REDISMODULE_OPEN_KEY_NOSTATS | raw::REDISMODULE_OPEN_KEY_NONOTIFY
    }
}

/// All later servers, and Valkey, have this function.
fn is_redis_7_0() -> bool {
    // SAFETY: reads a pointer that was set when the module was loaded.
    unsafe { raw::RedisModule_GetOpenKeyModesAll }.is_none()
}
