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
use super::names::kept;
use super::text::Text;
use crate::error::{Error, Result};
use crate::rate::{self, Append, Entry, Fields, HashWrite, Log, RateError};

/// So many stale entries are removed one by one; for more, one call of the core is cheaper.
const FEW: usize = 16;

pub struct Limiter<'a> {
    ctx: Ctx,
    name: Text<'a>,
    /// `None` for a key that does not exist and is not opened for writing.
    key: Option<Key>,
    /// Set by the first change: somebody listens to what is propagated.
    heard: bool,
}

impl<'a> Limiter<'a> {
    pub fn open(ctx: Ctx, name: Text<'a>, access: Access) -> Limiter<'a> {
        let key = Key::open(ctx, &name, access);
        Limiter { ctx, name, key, heard: true }
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
        self.heard = !self.ctx.changed_unheard();
        let Some(key) = &self.key else { return };
        let is_new = key.kind() == KeyType::Empty;
        let element = Text::new(&append.element);
        // SAFETY: the key is open for writing, and empty or a sorted set; the server copies the element.
        unsafe { api!(RedisModule_ZsetAdd)(key.raw(), append.micros as f64, element.raw(), ptr::null_mut()) };
        self.replicate_add(append.micros, &element);
        self.signal();
        self.announce(EventClass::SortedSet, c"zadd");
        if let Some(through) = append.drop_through {
            self.drop_through(through);
        }
        self.expire(append.expire_at_ms, is_new);
    }

    fn drop_through(&mut self, micros: i64) {
        let Some(key) = &self.key else { return };
        match few_entries_through(key, micros) {
            Some(stale) => {
                for element in &stale {
                    // SAFETY: the key is a sorted set, opened for writing.
                    unsafe { api!(RedisModule_ZsetRem)(key.raw(), element.raw(), ptr::null_mut()) };
                }
                self.replicate_drop(micros);
                self.announce(EventClass::SortedSet, c"zremrangebyscore");
            }
            None => {
                // The call changes the key behind the handle.
                self.key = None;
                // Should the server refuse, the entries stay: they count for nothing, and the next call drops them.
                let _ = self.ctx.zremrangebyscore_through(&self.name, micros);
                self.key = Key::open(self.ctx, &self.name, Access::Write);
            }
        }
    }

    pub fn write(&mut self, write: &HashWrite) {
        self.heard = !self.ctx.changed_unheard();
        let Some(key) = &self.key else { return };
        let is_new = write.replace || key.kind() == KeyType::Empty;
        if write.replace {
            self.unlink(key);
        }
        let fields: SmallVec<[(Text, Text); 2]> =
            write.fields.iter().map(|(name, value)| (kept(name), Text::new(value))).collect();
        let mut args: SmallVec<[*mut RedisModuleString; 7]> = SmallVec::new();
        args.push(self.name.raw());
        for (name, value) in &fields {
            let end: *mut RedisModuleString = ptr::null_mut();
            let flags = raw::REDISMODULE_HASH_NONE as c_int;
            // SAFETY: the key is open for writing, and empty or a hash; the list ends with a null; strings are copied.
            unsafe { api!(RedisModule_HashSet)(key.raw(), flags, name.raw(), value.raw(), end) };
            args.extend([name.raw(), value.raw()]);
        }
        if self.heard {
            self.ctx.replicate(c"HSET", &mut args);
        }
        self.signal();
        self.announce(EventClass::Hash, c"hset");
        if let Some(at_ms) = write.expire_at_ms {
            self.expire(at_ms, is_new);
        }
    }

    /// Whether there was a limiter; an error if there is something else.
    pub fn forget(&mut self) -> Result<bool> {
        match self.existing()? {
            None => return Ok(false),
            Some((key, KeyType::Hash)) => rate::recognise_hash(&mut HashKey { key })?,
            Some((key, _)) => rate::recognise_log(&mut LogKey { key })?,
        }
        self.heard = !self.ctx.changed_unheard();
        let Some(key) = &self.key else { return Ok(false) };
        self.unlink(key);
        self.signal();
        Ok(true)
    }

    fn unlink(&self, key: &Key) {
        // SAFETY: the key is open for writing; the handle stays good, for a key that is empty now.
        unsafe { api!(RedisModule_UnlinkKey)(key.raw()) };
        if self.heard {
            self.ctx.replicate(c"UNLINK", &mut [self.name.raw()]);
        }
        self.announce(EventClass::Generic, c"del");
    }

    /// A later expiry that the key has stays: another window set it.
    fn expire(&self, at_ms: i64, is_new: bool) {
        let Some(key) = &self.key else { return };
        // SAFETY: the key is open for writing, and not empty; `l` takes a long long.
        unsafe {
            // Negative for none.
            if !is_new && api!(RedisModule_GetAbsExpire)(key.raw()) >= at_ms {
                return;
            }
            api!(RedisModule_SetAbsExpire)(key.raw(), at_ms);
            if self.heard {
                let (name, at) = (self.name.raw(), at_ms as c_longlong);
                api!(RedisModule_Replicate)(self.ctx.raw(), c"PEXPIREAT".as_ptr(), c"sl".as_ptr(), name, at);
            }
        }
        self.announce(EventClass::Generic, c"expire");
    }

    fn replicate_add(&self, micros: i64, element: &Text) {
        if !self.heard {
            return;
        }
        let (name, score) = (self.name.raw(), micros as c_longlong);
        // SAFETY: the strings are alive; `l` takes a long long.
        unsafe {
            api!(RedisModule_Replicate)(self.ctx.raw(), c"ZADD".as_ptr(), c"sls".as_ptr(), name, score, element.raw());
        }
    }

    fn replicate_drop(&self, through: i64) {
        if !self.heard {
            return;
        }
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

    /// For `WATCH` and client-side caches; after the write, as the core does it.
    fn signal(&self) {
        self.ctx.signal_modified(&self.name);
    }

    fn announce(&self, class: EventClass, event: &CStr) {
        self.ctx.notify(class, event, &self.name);
    }
}

/// The entries up to and including a time, `None` if there are more than a few. They are removed later: a sorted set must
/// not change under an iterator.
fn few_entries_through(key: &Key, micros: i64) -> Option<SmallVec<[Text<'static>; FEW]>> {
    let mut entries = SmallVec::new();
    // SAFETY: the key is an open sorted set, which nothing changes while the iterator lives; elements are ours.
    unsafe {
        api!(RedisModule_ZsetFirstInScoreRange)(key.raw(), f64::NEG_INFINITY, micros as f64, 0, 0);
        while entries.len() <= FEW && api!(RedisModule_ZsetRangeEndReached)(key.raw()) == 0 {
            entries.extend(Text::take(api!(RedisModule_ZsetRangeCurrentElement)(key.raw(), ptr::null_mut())));
            api!(RedisModule_ZsetRangeNext)(key.raw());
        }
        api!(RedisModule_ZsetRangeStop)(key.raw());
    }
    (entries.len() <= FEW).then_some(entries)
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
        let field = kept(field);
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
