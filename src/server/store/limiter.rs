//! The key of a rate limiter: a sorted set, the log of `SLIDING`, or a hash, the state of the others.
//!
//! Nothing that writes is reached unless a call passed, so that a denied call leaves no trace.

use std::os::raw::c_int;
use std::ptr;

use redis_module::raw::{self, RedisModuleString};
use smallvec::SmallVec;

use super::effects::Change;
use crate::error::{Error, Result};
use crate::rate::{self, Append, Entry, Fields, HashWrite, Log};
use crate::server::api::{kept, Access, Key, KeyType, Text};
use crate::server::Call;

/// So many stale entries are removed one by one; for more, one call of the core is cheaper.
const FEW: usize = 16;

/// The key of a limiter, or one that may become a limiter's.
pub struct Limiter<'c> {
    call: &'c Call<'c>,
    name: Text<'c>,
    /// `None` for a key that does not exist and is not opened for writing.
    key: Option<Key<'c>>,
}

impl<'c> Limiter<'c> {
    /// Whatever is there.
    pub fn open(call: &'c Call<'c>, name: Text<'c>, access: Access) -> Limiter<'c> {
        let key = Key::open(call.ctx, &name, access);
        Limiter { call, name, key }
    }

    /// The log of `SLIDING`; `None` if there is no key.
    pub fn log(&self) -> Result<Option<LogKey<'_>>> {
        Ok(self.holding(KeyType::SortedSet)?.map(|key| LogKey { key }))
    }

    /// The state of the other algorithms; `None` if there is no key.
    pub fn hash(&self) -> Result<Option<HashKey<'_>>> {
        Ok(self.holding(KeyType::Hash)?.map(|key| HashKey { key }))
    }

    fn holding(&self, kind: KeyType) -> Result<Option<&Key<'c>>> {
        let Some(key) = &self.key else { return Ok(None) };
        match key.kind() {
            KeyType::Empty => Ok(None),
            held if held == kind => Ok(Some(key)),
            _ => Err(Error::WrongType),
        }
    }

    /// Adds before it drops: a key that vanished in between would lose its expiry, here and on the replicas.
    pub fn append(&mut self, append: &Append) {
        let Some(key) = &self.key else { return };
        let is_new = key.kind() == KeyType::Empty;
        let (score, element) = (append.micros as f64, Text::new(&append.element));
        // SAFETY: the key is open for writing, and empty or a sorted set; the server copies the element.
        unsafe { api!(RedisModule_ZsetAdd)(key.raw(), score, element.raw(), ptr::null_mut()) };
        self.note(Change::Zadd(score, element, c"zadd"));
        if let Some(through) = append.drop_through {
            self.drop_through(through);
        }
        self.expire(append.expire_at_ms, is_new);
    }

    fn drop_through(&mut self, micros: i64) {
        let Some(key) = self.key.take() else { return };
        let Some(stale) = few_entries_through(&key, micros) else {
            self.call.make_known();
            let through = Text::new(micros.to_string().as_bytes());
            // Should the server refuse, the entries stay: they count for nothing, and the next call drops them.
            (self.key, _) = key.call(c"ZREMRANGEBYSCORE", &[&Text::new(b"-inf"), &through]);
            return;
        };
        for element in &stale {
            // SAFETY: the key is a sorted set, opened for writing.
            unsafe { api!(RedisModule_ZsetRem)(key.raw(), element.raw(), ptr::null_mut()) };
        }
        self.key = Some(key);
        self.note(Change::Zremrangebyscore(micros));
    }

    /// Sets fields of the hash.
    pub fn write(&mut self, write: &HashWrite) {
        let Some(key) = &self.key else { return };
        let is_new = write.replace || key.kind() == KeyType::Empty;
        if write.replace {
            self.unlink(key);
        }
        for (name, value) in &write.fields {
            let (name, value) = (kept(name), Text::new(value));
            let end: *mut RedisModuleString = ptr::null_mut();
            let flags = raw::REDISMODULE_HASH_NONE as c_int;
            // SAFETY: the key is open for writing, and empty or a hash; the list ends with a null; strings are copied.
            unsafe { api!(RedisModule_HashSet)(key.raw(), flags, name.raw(), value.raw(), end) };
            self.note(Change::Hset(name, value));
        }
        if let Some(at_ms) = write.expire_at_ms {
            self.expire(at_ms, is_new);
        }
    }

    /// Whether there was a limiter; an error if there is something else.
    pub fn forget(&mut self) -> Result<bool> {
        let Some(key) = &self.key else { return Ok(false) };
        match key.kind() {
            KeyType::Empty => return Ok(false),
            KeyType::SortedSet => rate::recognise_log(&mut LogKey { key })?,
            KeyType::Hash => rate::recognise_hash(&mut HashKey { key })?,
            KeyType::Other => return Err(Error::WrongType),
        }
        self.unlink(key);
        Ok(true)
    }

    fn unlink(&self, key: &Key) {
        key.unlink();
        self.note(Change::Unlink);
    }

    /// A later expiry that the key has stays: another window set it.
    fn expire(&self, at_ms: i64, is_new: bool) {
        let Some(key) = &self.key else { return };
        if is_new || key.expiry().is_none_or(|expiry| expiry < at_ms) {
            key.expire_at(at_ms);
            self.note(Change::Pexpireat(at_ms));
        }
    }

    fn note(&self, change: Change<'c>) {
        self.call.note(&self.name, change);
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
    key: &'a Key<'a>,
}

enum End {
    First,
    Last,
}

impl LogKey<'_> {
    /// The entry at one end of those after a time, or of all.
    fn entry(&self, after: Option<i64>, end: End) -> Result<Option<Entry>> {
        let (min, without_min) = after.map_or((f64::NEG_INFINITY, 0), |micros| (micros as f64, 1));
        let mut score = 0.0;
        // SAFETY: the key is an open sorted set, which nothing changes while the iterator lives; the element is ours.
        let element = unsafe {
            let start = match end {
                End::First => api!(RedisModule_ZsetFirstInScoreRange),
                End::Last => api!(RedisModule_ZsetLastInScoreRange),
            };
            start(self.key.raw(), min, f64::INFINITY, without_min, 0);
            Text::take(api!(RedisModule_ZsetRangeCurrentElement)(self.key.raw(), &mut score))
        };
        element.map(|element| Entry::decode(score, element.bytes())).transpose()
    }
}

impl Log for LogKey<'_> {
    fn oldest(&mut self) -> Result<Option<Entry>> {
        self.entry(None, End::First)
    }

    fn newest(&mut self) -> Result<Option<Entry>> {
        self.entry(None, End::Last)
    }

    fn first_after(&mut self, micros: i64) -> Result<Option<Entry>> {
        self.entry(Some(micros), End::First)
    }
}

/// A hash, open at least for reading.
pub struct HashKey<'a> {
    key: &'a Key<'a>,
}

impl Fields for HashKey<'_> {
    fn read<T>(&mut self, field: &[u8], parse: impl FnOnce(&[u8]) -> Result<T>) -> Result<Option<T>> {
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
