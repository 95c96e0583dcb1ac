//! The key of a rate limiter: a sorted set, the log of `SLIDING`, or a hash, the state of the others.
//!
//! Writes are low-level, and each is propagated as the plain command that does the same. Nothing in here is reached unless
//! a call passed, so that a denied call leaves no trace.

use std::ffi::CStr;
use std::os::raw::{c_int, c_longlong};
use std::ptr;

use redis_module::raw::{self, RedisModuleString};
use smallvec::SmallVec;

use super::context::{Ctx, EventClass};
use super::key::{Access, Key, KeyType};
use super::text::Text;
use crate::error::{Error, Result};
use crate::rate::{self, Append, Entry, Fields, HashWrite, Log, RateError};

/// How many stale entries are held at once while a log is cleared of them.
const CHUNK: usize = 128;

pub struct Limiter {
    ctx: Ctx,
    name: Text,
    /// `None` for a key that does not exist and is not opened for writing.
    key: Option<Key>,
}

impl Limiter {
    pub fn open(ctx: Ctx, name: Text, access: Access) -> Limiter {
        let key = Key::open(ctx, &name, access);
        Limiter { ctx, name, key }
    }

    /// `None` if there is no key.
    pub fn log(&self) -> Result<Option<LogKey<'_>>> {
        match self.existing()? {
            None => Ok(None),
            Some((key, KeyType::SortedSet)) => Ok(Some(LogKey { key })),
            Some(_) => Err(Error::WrongType),
        }
    }

    /// `None` if there is no key.
    pub fn hash(&self) -> Result<Option<HashKey<'_>>> {
        match self.existing()? {
            None => Ok(None),
            Some((key, KeyType::Hash)) => Ok(Some(HashKey { key })),
            Some(_) => Err(Error::WrongType),
        }
    }

    fn existing(&self) -> Result<Option<(&Key, KeyType)>> {
        let Some(key) = &self.key else { return Ok(None) };
        match key.kind() {
            KeyType::Empty => Ok(None),
            KeyType::Other => Err(Error::WrongType),
            kind => Ok(Some((key, kind))),
        }
    }

    /// Adds before it drops: a key that vanished in between would lose its expiry, here and on the replicas.
    pub fn append(&mut self, append: &Append) {
        let Some(key) = &self.key else { return };
        let element = Text::new(&append.element);
        // SAFETY: the key is open for writing, and empty or a sorted set; the server copies the element.
        unsafe { api!(RedisModule_ZsetAdd)(key.raw(), append.micros as f64, element.raw(), ptr::null_mut()) };
        self.replicate_add(append.micros, &element);
        if let Some(through) = append.drop_through {
            drop_through(key, through);
            self.replicate_drop(through);
        }
        let expires = self.expire_no_earlier(key, append.expire_at_ms);

        self.ctx.signal_modified(&self.name);
        self.announce(EventClass::SortedSet, c"zadd");
        if append.drop_through.is_some() {
            self.announce(EventClass::SortedSet, c"zremrangebyscore");
        }
        if expires {
            self.announce(EventClass::Generic, c"expire");
        }
    }

    pub fn write(&mut self, write: &HashWrite) {
        let Some(key) = &self.key else { return };
        if write.replace {
            self.unlink_key(key);
        }
        let fields: SmallVec<[(Text, Text); 2]> =
            write.fields.iter().map(|(name, value)| (Text::new(name), Text::new(value))).collect();
        let mut args: SmallVec<[*mut RedisModuleString; 7]> = SmallVec::new();
        args.push(self.name.raw());
        for (name, value) in &fields {
            let end: *mut RedisModuleString = ptr::null_mut();
            let flags = raw::REDISMODULE_HASH_NONE as c_int;
            // SAFETY: the key is open for writing, and empty or a hash; the list ends with a null; strings are copied.
            unsafe { api!(RedisModule_HashSet)(key.raw(), flags, name.raw(), value.raw(), end) };
            args.extend([name.raw(), value.raw()]);
        }
        self.ctx.replicate(c"HSET", &mut args);
        let expires = self.expire_no_earlier(key, write.expire_at_ms);

        self.ctx.signal_modified(&self.name);
        if write.replace {
            self.announce(EventClass::Generic, c"del");
        }
        self.announce(EventClass::Hash, c"hset");
        if expires {
            self.announce(EventClass::Generic, c"expire");
        }
    }

    /// Whether there was a limiter; an error if there is something else.
    pub fn forget(&mut self) -> Result<bool> {
        match self.existing()? {
            None => return Ok(false),
            Some((key, KeyType::Hash)) => rate::recognise_hash(&mut HashKey { key })?,
            Some((key, _)) => rate::recognise_log(&mut LogKey { key })?,
        }
        let Some(key) = &self.key else { return Ok(false) };
        self.unlink_key(key);
        self.ctx.signal_modified(&self.name);
        self.announce(EventClass::Generic, c"del");
        Ok(true)
    }

    fn unlink_key(&self, key: &Key) {
        // SAFETY: the key is open for writing; the handle stays good, for a key that is empty now.
        unsafe { api!(RedisModule_UnlinkKey)(key.raw()) };
        self.ctx.replicate(c"UNLINK", &mut [self.name.raw()]);
    }

    /// Whether the expiry moved: a later one stays, since another window set it.
    fn expire_no_earlier(&self, key: &Key, at_ms: i64) -> bool {
        // SAFETY: the key is open for writing, and not empty.
        unsafe {
            // Negative for none.
            if api!(RedisModule_GetAbsExpire)(key.raw()) >= at_ms {
                return false;
            }
            api!(RedisModule_SetAbsExpire)(key.raw(), at_ms);
            let (name, at) = (self.name.raw(), at_ms as c_longlong);
            api!(RedisModule_Replicate)(self.ctx.raw(), c"PEXPIREAT".as_ptr(), c"sl".as_ptr(), name, at);
        }
        true
    }

    fn replicate_add(&self, micros: i64, element: &Text) {
        let (name, score) = (self.name.raw(), micros as c_longlong);
        // SAFETY: the strings are alive; `l` takes a long long.
        unsafe {
            api!(RedisModule_Replicate)(self.ctx.raw(), c"ZADD".as_ptr(), c"sls".as_ptr(), name, score, element.raw());
        }
    }

    fn replicate_drop(&self, through: i64) {
        let (name, through) = (self.name.raw(), through as c_longlong);
        // SAFETY: the strings are alive; `l` takes a long long.
        unsafe {
            api!(RedisModule_Replicate)(
                self.ctx.raw(),
                c"ZREMRANGEBYSCORE".as_ptr(),
                c"scl".as_ptr(),
                name,
                c"-inf".as_ptr(),
                through,
            );
        }
    }

    fn announce(&self, class: EventClass, event: &CStr) {
        self.ctx.notify(class, event, &self.name);
    }
}

/// Removes the entries up to and including a time. In chunks: a sorted set must not change under an iterator.
fn drop_through(key: &Key, micros: i64) {
    loop {
        let mut stale: SmallVec<[Text; 4]> = SmallVec::new();
        // SAFETY: the key is an open sorted set, which nothing changes while the iterator lives; elements are ours.
        unsafe {
            api!(RedisModule_ZsetFirstInScoreRange)(key.raw(), f64::NEG_INFINITY, micros as f64, 0, 0);
            while stale.len() < CHUNK && api!(RedisModule_ZsetRangeEndReached)(key.raw()) == 0 {
                stale.extend(Text::take(api!(RedisModule_ZsetRangeCurrentElement)(key.raw(), ptr::null_mut())));
                api!(RedisModule_ZsetRangeNext)(key.raw());
            }
            api!(RedisModule_ZsetRangeStop)(key.raw());
        }
        for element in &stale {
            // SAFETY: the key is a sorted set, opened for writing.
            unsafe { api!(RedisModule_ZsetRem)(key.raw(), element.raw(), ptr::null_mut()) };
        }
        if stale.len() < CHUNK {
            return;
        }
    }
}

/// A sorted set, open at least for reading.
pub struct LogKey<'a> {
    key: &'a Key,
}

enum End {
    First,
    Last,
}

impl LogKey<'_> {
    /// The entry at one end of those after a time, or of all.
    fn entry(&self, after: Option<i64>, end: End) -> Result<Option<Entry>, RateError> {
        let (min, without_min) = after.map_or((f64::NEG_INFINITY, 0), |micros| (micros as f64, 1));
        let mut score = 0.0;
        // SAFETY: the key is an open sorted set, which nothing changes while the iterator lives; the element is ours.
        let element = unsafe {
            let start = match end {
                End::First => api!(RedisModule_ZsetFirstInScoreRange),
                End::Last => api!(RedisModule_ZsetLastInScoreRange),
            };
            start(self.key.raw(), min, f64::INFINITY, without_min, 0);
            let element = Text::take(api!(RedisModule_ZsetRangeCurrentElement)(self.key.raw(), &mut score));
            api!(RedisModule_ZsetRangeStop)(self.key.raw());
            element
        };
        element.map(|element| Entry::decode(score, element.bytes())).transpose()
    }
}

impl Log for LogKey<'_> {
    fn oldest(&mut self) -> Result<Option<Entry>, RateError> {
        self.entry(None, End::First)
    }

    fn newest(&mut self) -> Result<Option<Entry>, RateError> {
        self.entry(None, End::Last)
    }

    fn first_after(&mut self, micros: i64) -> Result<Option<Entry>, RateError> {
        self.entry(Some(micros), End::First)
    }
}

/// A hash, open at least for reading.
pub struct HashKey<'a> {
    key: &'a Key,
}

impl Fields for HashKey<'_> {
    fn read<T>(
        &mut self,
        field: &[u8],
        parse: impl FnOnce(&[u8]) -> Result<T, RateError>,
    ) -> Result<Option<T>, RateError> {
        let field = Text::new(field);
        let mut value: *mut RedisModuleString = ptr::null_mut();
        let end: *mut RedisModuleString = ptr::null_mut();
        let flags = raw::REDISMODULE_HASH_NONE as c_int;
        // SAFETY: the key is an open hash; the list of fields ends with a null; the value that is returned is ours.
        let value = unsafe {
            api!(RedisModule_HashGet)(self.key.raw(), flags, field.raw(), &raw mut value, end);
            Text::take(value)
        };
        value.map(|value| parse(value.bytes())).transpose()
    }
}
