//! The key of a rate limiter: a sorted set, which is the log of `SLIDING` or leases, or a string, which has the numbers
//! of the other algorithms.
//!
//! A key is opened without being changed, and written only if `rate::run` has something to write. So a denied call without
//! `FORCE` or `PENALTY` leaves no trace.

use smallvec::SmallVec;

use super::effects::Effect;
use super::zset::ZSet;
use crate::error::{Error, Result};
use crate::rate::{self, LEASES, LOG, SHORTEST_TEXT, STRING_LIMITER};
use crate::server::api::{Access, KeyType, Text};
use crate::server::Call;
use crate::zset::SortedSet;

pub struct Limiter<'c> {
    set: ZSet<'c>,
}

impl<'c> Limiter<'c> {
    /// Opens the key, whatever it holds.
    pub fn open(call: &'c Call<'c>, name: Text<'c>, access: Access) -> Limiter<'c> {
        Limiter { set: ZSet::open_any(call, name, access) }
    }

    /// The leases; an error if something else is there.
    pub fn leases(&mut self) -> Result<&mut ZSet<'c>> {
        self.check(KeyType::SortedSet)?;
        match self.content() {
            Some(other) if other != LEASES => Err(Error::holds_other(other)),
            None if self.set.exists() => Err(Error::not_leases()),
            _ => Ok(&mut self.set),
        }
    }

    /// An error that says what is there, if it is of another type.
    #[inline]
    fn check(&mut self, wanted: KeyType) -> Result<()> {
        if self.set.kind == KeyType::Empty || self.set.kind == wanted {
            return Ok(());
        }
        Err(self.content().map_or_else(Error::wrong_type, Error::holds_other))
    }

    /// What a limiter or leases have written to the key; `None` if it is empty, or somebody else's.
    fn content(&mut self) -> Option<&'static str> {
        let kind = self.set.kind;
        match kind {
            KeyType::SortedSet if rate::is_leases(&mut self.set) => Some(LEASES),
            KeyType::SortedSet if rate::is_log(&mut self.set) => Some(LOG),
            KeyType::String if self.limiter_text().is_ok_and(rate::is_string_limiter) => Some(STRING_LIMITER),
            _ => None,
        }
    }

    /// The text of a string that is long enough for a limiter's. Reading a shorter one could change how the server stores
    /// it.
    fn limiter_text(&mut self) -> Result<&[u8]> {
        match self.set.key.as_mut().filter(|key| key.len() >= SHORTEST_TEXT as u64) {
            Some(key) => Ok(key.bytes()),
            None => Err(Error::not_a_string_limiter()),
        }
    }

    /// Deletes a limiter. Returns whether there was one; an error if there is something else.
    pub fn reset(&mut self) -> Result<bool> {
        let content = self.content();
        match self.set.kind {
            KeyType::Empty => return Ok(false),
            _ if content.is_some() => self.set.unlink(),
            KeyType::SortedSet => return Err(Error::not_a_log()),
            KeyType::String => return Err(Error::not_a_string_limiter()),
            KeyType::Hash | KeyType::Other => return Err(Error::wrong_type()),
        }
        Ok(true)
    }
}

impl<'c> rate::LimiterKey for Limiter<'c> {
    type Set = ZSet<'c>;

    fn text(&mut self) -> Result<Option<&[u8]>> {
        self.check(KeyType::String)?;
        if self.set.kind == KeyType::Empty {
            return Ok(None);
        }
        self.limiter_text().map(Some)
    }

    fn log(&mut self) -> Result<&mut ZSet<'c>> {
        self.check(KeyType::SortedSet)?;
        Ok(&mut self.set)
    }

    fn set(&mut self) -> &mut ZSet<'c> {
        &mut self.set
    }

    fn expiry(&self) -> Option<i64> {
        self.set.expiry()
    }

    fn set_text(&mut self, text: &[u8], expire_at_ms: i64) {
        let Some(key) = &mut self.set.key else { return };
        let text = Text::new(text);
        key.set_bytes(&text);
        key.expire_at(expire_at_ms);
        self.set.kind = KeyType::String;
        self.set.note(Effect::Set(text, expire_at_ms));
    }

    fn overwrite(&mut self, offset: usize, bytes: &[u8]) {
        let Some(key) = &mut self.set.key else { return };
        key.overwrite(offset, bytes);
        self.set.note(Effect::Setrange(offset, SmallVec::from_slice(bytes)));
    }

    fn unlink(&mut self) {
        self.set.unlink();
    }
}
