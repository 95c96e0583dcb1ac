//! Open keys.

use std::os::raw::c_int;
use std::ptr::NonNull;

use redis_module::raw::{self, RedisModuleKey};

use super::context::Ctx;
use super::text::Text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Like every look-up of the module, one that counts no hit or miss and causes no event.
    Read,
    /// A read that does not count as a use of the key either: for keys the client did not name.
    Peek,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    Empty,
    SortedSet,
    Hash,
    Other,
}

pub struct Key {
    raw: NonNull<RedisModuleKey>,
}

impl Key {
    /// `None` for a key that does not exist and is not opened for writing.
    pub fn open(ctx: Ctx, name: &Text, access: Access) -> Option<Key> {
        let mode = match access {
            Access::Read => silent_mode(),
            Access::Peek => silent_mode() | raw::REDISMODULE_OPEN_KEY_NOTOUCH,
            Access::Write => raw::REDISMODULE_READ | raw::REDISMODULE_WRITE,
        };
        // SAFETY: context and name are alive.
        NonNull::new(unsafe { api!(RedisModule_OpenKey)(ctx.raw(), name.raw(), mode as c_int) }).map(|raw| Key { raw })
    }

    pub fn raw(&self) -> *mut RedisModuleKey {
        self.raw.as_ptr()
    }

    pub fn kind(&self) -> KeyType {
        // SAFETY: the key is open.
        match unsafe { api!(RedisModule_KeyType)(self.raw()) } as isize {
            raw::REDISMODULE_KEYTYPE_EMPTY => KeyType::Empty,
            raw::REDISMODULE_KEYTYPE_ZSET => KeyType::SortedSet,
            raw::REDISMODULE_KEYTYPE_HASH => KeyType::Hash,
            _ => KeyType::Other,
        }
    }

    pub fn len(&self) -> u64 {
        // SAFETY: the key is open.
        unsafe { api!(RedisModule_ValueLength)(self.raw()) as u64 }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the key is ours, and closed once.
        unsafe { api!(RedisModule_CloseKey)(self.raw()) };
    }
}

/// 7.0 has no flags for silence, but opens for writing silently; nothing is written through it.
fn silent_mode() -> u32 {
    // SAFETY: reads a pointer that was set when the module was loaded.
    if unsafe { raw::RedisModule_GetOpenKeyModesAll }.is_some() {
        raw::REDISMODULE_READ | raw::REDISMODULE_OPEN_KEY_NOSTATS | raw::REDISMODULE_OPEN_KEY_NONOTIFY
    } else {
        raw::REDISMODULE_READ | raw::REDISMODULE_WRITE
    }
}
