//! The key of a rate limiter: a sorted set, the log of `SLIDING`, or a string, the numbers of the others.
//!
//! Only a call that passes reaches the code that writes, so a denied call leaves no trace.

use smallvec::SmallVec;

use super::effects::Change;
use super::ends::{is_leases, is_log, LogKey};
use super::few::{elements_through, remove};
use crate::error::{Error, Result};
use crate::rate::{self, Append, GiveBack, LogWrite, StringWrite, SHORTEST_TEXT};
use crate::server::api::{Access, Key, KeyType, Text};
use crate::server::Call;

const LOG: &str = "a SLIDING limiter, a sorted set";
const LEASES: &str = "leases, a sorted set";
const NUMBERS: &str = "a FIXED, COUNTER, GCRA or CALENDAR limiter, a string";

pub struct Limiter<'c> {
    call: &'c Call<'c>,
    name: Text<'c>,
    /// `None` for a key that does not exist and is not opened for writing.
    key: Option<Key<'c>>,
}

impl<'c> Limiter<'c> {
    /// Opens the key, whatever it holds.
    pub fn open(call: &'c Call<'c>, name: Text<'c>, access: Access) -> Limiter<'c> {
        let key = Key::open(call.ctx, &name, access);
        Limiter { call, name, key }
    }

    /// The key, if it holds what is wanted; `None` if there is none, else an error that says what is there.
    pub(super) fn holding(&mut self, wanted: KeyType) -> Result<Option<&mut Key<'c>>> {
        let Some(key) = &mut self.key else { return Ok(None) };
        match key.kind() {
            KeyType::Empty => Ok(None),
            held if held == wanted => Ok(Some(key)),
            _ => Err(wrong_type(key)),
        }
    }

    /// Whether there was a limiter; an error if there is something else.
    pub fn forget(&mut self) -> Result<bool> {
        let Some(key) = &mut self.key else { return Ok(false) };
        match key.kind() {
            KeyType::Empty => return Ok(false),
            KeyType::SortedSet if is_leases(key) => {}
            KeyType::SortedSet => rate::check_is_log(&mut LogKey::new(self.call.ctx, &self.name, key))?,
            KeyType::String => rate::check_is_string_limiter(limiter_text(key)?)?,
            KeyType::Hash | KeyType::Other => return Err(Error::wrong_type()),
        }
        self.unlink();
        Ok(true)
    }

    fn unlink(&self) {
        let Some(key) = &self.key else { return };
        key.unlink();
        self.note(Change::Unlink);
    }

    /// Adds before it drops: a key that vanished in between would lose its expiry, here and on the replicas.
    fn append(&mut self, append: &Append) {
        self.add(append.micros as f64, Text::new(&append.element));
        if let Some(through) = append.drop_through {
            self.drop_through(through);
        }
        if let Some(at_ms) = append.expire_at_ms {
            self.expire(at_ms);
        }
    }

    fn give_back(&mut self, give_back: &GiveBack) {
        self.remove_newest(give_back.remove_newest);
        if let Some((micros, before, after)) = &give_back.shorten {
            self.add(*micros as f64, Text::new(after));
            self.remove_all(&[Text::new(before)]);
        }
    }

    pub(super) fn add(&self, score: f64, element: Text<'c>) {
        let Some(key) = &self.key else { return };
        key.zset_add(score, &element);
        self.note(Change::Zadd(score, element, c"zadd"));
    }

    pub(super) fn remove_all(&self, elements: &[Text<'c>]) {
        let Some(key) = &self.key else { return };
        for element in elements {
            remove(key, element);
            self.note(Change::Zrem(element.clone()));
        }
    }

    /// Drops elements with scores from 0 up to and including this one: a few one by one; for more, one call of the core is
    /// cheaper.
    pub(super) fn drop_through(&mut self, micros: i64) {
        let Some(key) = self.key.take() else { return };
        match elements_through(&key, micros) {
            Some(elements) => {
                elements.iter().for_each(|element| remove(&key, element));
                self.key = Some(key);
                if !elements.is_empty() {
                    self.note(Change::Zremrangebyscore(micros));
                }
            }
            None => {
                self.call.make_known();
                let through = Text::new(micros.to_string().as_bytes());
                // Should the server refuse, the elements stay: they count for nothing, and the next call drops them.
                (self.key, _) = key.call(c"ZREMRANGEBYSCORE", &[&Text::new(b"0"), &through]);
            }
        }
    }

    fn remove_newest(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        let Some(key) = self.key.take() else { return };
        self.call.make_known();
        let first = Text::new(format!("-{count}").as_bytes());
        // Should the server refuse, the units stay taken.
        (self.key, _) = key.call(c"ZREMRANGEBYRANK", &[&first, &Text::new(b"-1")]);
    }

    fn expire(&self, at_ms: i64) {
        let Some(key) = &self.key else { return };
        key.expire_at(at_ms);
        self.note(Change::Pexpireat(at_ms));
    }

    /// Lets the key last until `at_ms`, if it would expire earlier.
    pub(super) fn last_until(&self, at_ms: i64) {
        if self.key.as_ref().and_then(Key::expiry).is_none_or(|expiry| expiry < at_ms) {
            self.expire(at_ms);
        }
    }

    pub(super) fn name(&self) -> &Text<'c> {
        &self.name
    }

    pub(super) fn key(&self) -> Option<&Key<'c>> {
        self.key.as_ref()
    }

    pub(super) fn call(&self) -> &'c Call<'c> {
        self.call
    }

    fn note(&self, change: Change<'c>) {
        self.call.note(&self.name, change);
    }
}

impl<'c> rate::Key for Limiter<'c> {
    type Log<'k>
        = LogKey<'k>
    where
        Self: 'k;

    fn text(&mut self) -> Result<Option<&[u8]>> {
        self.holding(KeyType::String)?.map(limiter_text).transpose()
    }

    fn log(&mut self) -> Result<Option<LogKey<'_>>> {
        self.holding(KeyType::SortedSet)?;
        let exists = |key: &&Key| key.kind() != KeyType::Empty;
        Ok(self.key.as_ref().filter(exists).map(|key| LogKey::new(self.call.ctx, &self.name, key)))
    }

    fn expiry(&self) -> Option<i64> {
        self.key.as_ref().and_then(Key::expiry)
    }

    fn write_string(&mut self, write: &StringWrite) {
        let Some(key) = &mut self.key else { return };
        match write {
            StringWrite::Unlink => self.unlink(),
            StringWrite::Set { text, expire_at_ms } => {
                let text = Text::new(text);
                key.set_bytes(&text);
                key.expire_at(*expire_at_ms);
                self.note(Change::Set(text, *expire_at_ms));
            }
            StringWrite::Overwrite { offset, bytes } => {
                key.overwrite(*offset, bytes);
                self.note(Change::Setrange(*offset, SmallVec::from_slice(bytes)));
            }
        }
    }

    fn write_log(&mut self, write: &LogWrite) {
        match write {
            LogWrite::Append(append) => self.append(append),
            LogWrite::GiveBack(give_back) => self.give_back(give_back),
        }
    }
}

#[cold]
fn wrong_type(key: &mut Key) -> Error {
    match key.kind() {
        KeyType::SortedSet if is_leases(key) => Error::holds_other(LEASES),
        KeyType::SortedSet if is_log(key) => Error::holds_other(LOG),
        KeyType::String if limiter_text(key).and_then(rate::check_is_string_limiter).is_ok() => {
            Error::holds_other(NUMBERS)
        }
        _ => Error::wrong_type(),
    }
}

#[cold]
pub(super) fn not_a_log(key: &Key) -> Error {
    if is_leases(key) {
        Error::holds_other(LEASES)
    } else {
        Error::not_a_log()
    }
}

#[cold]
pub(super) fn not_leases(key: &Key) -> Error {
    if is_log(key) {
        Error::holds_other(LOG)
    } else {
        Error::not_leases()
    }
}

/// The text of a string that is long enough for a limiter's. Reading a shorter one could change how the server stores it.
fn limiter_text<'k>(key: &'k mut Key) -> Result<&'k [u8]> {
    if key.len() < SHORTEST_TEXT as u64 {
        return Err(Error::not_a_string_limiter());
    }
    Ok(key.bytes())
}
