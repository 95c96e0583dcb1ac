//! A sorted set on an open key: boards, schedules, logs and leases. Changes are made by low-level calls and recorded, to
//! be propagated as plain commands when the command ends.

use std::cell::Cell;
use std::ffi::CStr;
use std::ops::RangeBounds;
use std::os::raw::c_int;

use redis_module::raw::{self, RedisModuleKey};
use smallvec::SmallVec;

use super::effects::Effect;
use super::implicit_keys::{check_absent, check_implicit};
use crate::error::{Error, Result};
use crate::server::api::{Access, Caller, CoreCommand, Ctx, Key, KeyType, Text};
use crate::server::Call;
use crate::zset::{score_bounds, Condition, Cursor, Direction, PutResult, SortedSet};

/// Up to this many elements are removed one by one; for more, one call of the core is cheaper.
const FEW: usize = 16;

pub struct ZSet<'c> {
    ctx: Ctx<'c>,
    /// Records what is changed. A set that is only looked at has none, and cannot be changed.
    call: Option<&'c Call<'c>>,
    name: Text<'c>,
    /// `None` for a key that does not exist and is not opened for writing.
    pub(super) key: Option<Key<'c>>,
    /// What the key holds. Only for limiters it may be a string.
    pub(super) kind: KeyType,
    /// The number of elements, cached until it changes.
    len: Cell<Option<u64>>,
    put_event: &'static CStr,
}

impl<'c> ZSet<'c> {
    /// An error for a key of another type.
    #[inline]
    pub fn open(call: &'c Call<'c>, name: Text<'c>, access: Access) -> Result<ZSet<'c>> {
        ZSet::open_any(call, name, access).checked()
    }

    /// Whatever the key holds: it may be another limiter's string.
    #[inline]
    pub(super) fn open_any(call: &'c Call<'c>, name: Text<'c>, access: Access) -> ZSet<'c> {
        let key = Key::open(call.ctx, &name, access);
        ZSet::of(call.ctx, Some(call), name, key)
    }

    /// Opens a key to look at it, without touching it. With cursors alone, a timer can use it: they call no core command.
    /// On Redis 7.0 the clock advances in a timer, and a call could free an expired key that is open.
    pub fn open_untouched(ctx: Ctx<'c>, name: Text<'c>) -> Result<ZSet<'c>> {
        let key = Key::open(ctx, &name, Access::ReadUntouched);
        ZSet::of(ctx, None, name, key).checked()
    }

    /// Opens the board of a period, whose key is named by the schema of a board alone.
    pub fn open_period(
        call: &'c Call<'c>,
        caller: &Caller,
        board: &Text<'c>,
        name: Text<'c>,
        access: Access,
    ) -> Result<ZSet<'c>> {
        check_implicit(call, caller, board, &name, access)?;
        let period = ZSet::open(call, name, access)?;
        if !period.exists() {
            check_absent(call, &period.name)?;
        }
        Ok(period)
    }

    pub fn absent(call: &'c Call<'c>, name: Text<'c>) -> ZSet<'c> {
        ZSet::of(call.ctx, Some(call), name, None)
    }

    #[inline]
    fn of(ctx: Ctx<'c>, call: Option<&'c Call<'c>>, name: Text<'c>, key: Option<Key<'c>>) -> ZSet<'c> {
        let kind = key.as_ref().map_or(KeyType::Empty, Key::kind);
        ZSet { ctx, call, name, key, kind, len: Cell::new(None), put_event: c"zadd" }
    }

    #[inline]
    fn checked(self) -> Result<ZSet<'c>> {
        match self.kind {
            KeyType::Empty | KeyType::SortedSet => Ok(self),
            _ => Err(Error::wrong_type()),
        }
    }

    pub fn is_taken(call: &'c Call<'c>, name: &Text<'c>) -> bool {
        Key::open(call.ctx, name, Access::Read).is_some_and(|key| key.kind() != KeyType::Empty)
    }

    pub fn exists(&self) -> bool {
        self.kind == KeyType::SortedSet
    }

    /// Announces changed scores with this event instead of `zadd`.
    pub fn announce_as(&mut self, event: &'static CStr) {
        self.put_event = event;
    }

    /// Renames the key. This set is empty afterwards.
    pub fn rename(&mut self, to: &Text) -> Result<()> {
        self.call(CoreCommand::RENAME, &[to])
    }

    /// The open key, if it holds a sorted set.
    fn open_key(&self) -> Option<&Key<'c>> {
        self.key.as_ref().filter(|_| self.exists())
    }

    pub(super) fn note(&self, change: Effect<'c>) {
        if let Some(call) = self.call {
            call.note(&self.name, change);
        }
    }

    /// What the key holds may have changed.
    fn refresh(&mut self) {
        self.len.set(None);
        self.kind = self.key.as_ref().map_or(KeyType::Empty, Key::kind);
    }

    /// Runs a core command on the key, which propagates and announces itself. Earlier changes are propagated first.
    fn call(&mut self, command: CoreCommand, args: &[&Text]) -> Result<()> {
        let (Some(call), Some(key)) = (self.call, self.key.take()) else { return Ok(()) };
        call.propagate_and_notify();
        let (key, reply) = key.call(command, args);
        self.key = key;
        self.refresh();
        reply.map(drop)
    }

    /// Removes an element without recording it. Returns whether it was there.
    fn remove_unrecorded(&mut self, element: &Text) -> bool {
        let Some(key) = self.open_key() else { return false };
        let mut removed = 0;
        // SAFETY: the key is an open sorted set, opened for writing; a cursor would borrow it.
        unsafe { api!(RedisModule_ZsetRem)(key.raw(), element.raw(), &mut removed) };
        if removed != 0 {
            self.refresh();
        }
        removed != 0
    }

    /// The server deletes a key with its last element.
    fn note_if_gone(&self) {
        if !self.exists() {
            self.note(Effect::Vanish);
        }
    }
}

impl<'c> SortedSet for ZSet<'c> {
    type Element = Text<'c>;
    type Cursor<'s>
        = KeyCursor<'s, 'c>
    where
        Self: 's;

    fn key(&self) -> &Text<'c> {
        &self.name
    }

    fn len(&self) -> u64 {
        self.len.get().unwrap_or_else(|| {
            let len = self.open_key().map_or(0, Key::len);
            self.len.set(Some(len));
            len
        })
    }

    #[inline]
    fn score(&self, element: &Text<'c>) -> Option<f64> {
        let key = self.open_key()?;
        let mut score = 0.0;
        // SAFETY: the key is an open sorted set.
        let status = unsafe { api!(RedisModule_ZsetScore)(key.raw(), element.raw(), &mut score) };
        (status == raw::REDISMODULE_OK as c_int).then_some(score)
    }

    fn index(&self, element: &Text<'c>) -> Result<Option<u64>> {
        if !self.exists() {
            return Ok(None);
        }
        self.ctx.zrank(&self.name, element)
    }

    fn range(&self, first: u64, last: u64) -> Result<Vec<(Text<'c>, f64)>> {
        if !self.exists() {
            return Ok(Vec::new());
        }
        let elements = self.ctx.zrange(&self.name, first, last)?.into_iter();
        Ok(elements.filter_map(|element| self.score(&element).map(|score| (element, score))).collect())
    }

    #[inline]
    fn cursor(&mut self, scores: impl RangeBounds<f64>, direction: Direction) -> KeyCursor<'_, 'c> {
        let key = self.open_key().map(Key::raw);
        if let Some(key) = key {
            let [(min, without_min), (max, without_max)] = score_bounds(&scores);
            // SAFETY: the key is an open sorted set, and the cursor borrows it until it stops the iteration.
            unsafe {
                let start = match direction {
                    Direction::Up => api!(RedisModule_ZsetFirstInScoreRange),
                    Direction::Down => api!(RedisModule_ZsetLastInScoreRange),
                };
                start(key, min, max, c_int::from(without_min), c_int::from(without_max));
            }
        }
        KeyCursor { set: self, iteration: Iteration { key, direction, state: IterationState::Before } }
    }

    fn scan(&self, cursor: u64, count: u64) -> Result<(u64, Vec<Text<'c>>)> {
        if !self.exists() {
            return Ok((0, Vec::new()));
        }
        self.ctx.zscan(&self.name, cursor, count)
    }

    fn expiry(&self) -> Option<i64> {
        self.key.as_ref().and_then(Key::expiry)
    }

    fn put(&mut self, element: &Text<'c>, score: f64, only: Condition) -> PutResult {
        let existing_only = matches!(only, Condition::Existing | Condition::ExistingRaise | Condition::ExistingLower);
        let may_write = self.call.is_some() && (self.kind == KeyType::SortedSet || !existing_only);
        let Some(key) = self.key.as_mut().filter(|_| may_write) else {
            // A low-level write of an existing element would leave an empty sorted set behind.
            return PutResult::Nothing;
        };
        let flags = match only {
            Condition::Any => 0,
            Condition::New => raw::REDISMODULE_ZADD_NX,
            Condition::Existing => raw::REDISMODULE_ZADD_XX,
            Condition::Raise => raw::REDISMODULE_ZADD_GT,
            Condition::Lower => raw::REDISMODULE_ZADD_LT,
            Condition::ExistingRaise => raw::REDISMODULE_ZADD_XX | raw::REDISMODULE_ZADD_GT,
            Condition::ExistingLower => raw::REDISMODULE_ZADD_XX | raw::REDISMODULE_ZADD_LT,
        };
        let mut flags = flags as c_int;
        // SAFETY: the key is open for writing, and empty or a sorted set; the server copies the element.
        unsafe { api!(RedisModule_ZsetAdd)(key.raw(), score, element.raw(), &mut flags) };
        let done = flags as u32;
        let put = if done & raw::REDISMODULE_ZADD_ADDED != 0 {
            PutResult::Added
        } else if done & raw::REDISMODULE_ZADD_UPDATED != 0 {
            PutResult::Changed
        } else {
            return PutResult::Nothing;
        };
        self.kind = KeyType::SortedSet;
        self.len.set(None);
        self.note(Effect::Zadd(score, element.clone(), self.put_event));
        put
    }

    fn remove(&mut self, element: &Text<'c>) -> bool {
        let removed = self.remove_unrecorded(element);
        if removed {
            self.note(Effect::Zrem(element.clone()));
            self.note_if_gone();
        }
        removed
    }

    fn remove_indexes(&mut self, first: u64, last: u64) -> Result<()> {
        let text = |index: u64| Text::new(itoa::Buffer::new().format(index).as_bytes());
        self.call(CoreCommand::ZREMRANGEBYRANK, &[&text(first), &text(last)])
    }

    fn remove_through(&mut self, score: i64) -> Result<()> {
        let cursor = self.cursor(0.0..=score as f64, Direction::Up);
        let few: SmallVec<[Text<'c>; FEW]> = cursor.map(|(element, _)| element).take(FEW + 1).collect();
        if few.len() > FEW {
            let through = Text::new(itoa::Buffer::new().format(score).as_bytes());
            return self.call(CoreCommand::ZREMRANGEBYSCORE, &[&Text::new(b"0"), &through]);
        }
        let removed = few.iter().filter(|element| self.remove_unrecorded(element)).count();
        if removed > 0 {
            self.note(Effect::Zremrangebyscore(score));
            self.note_if_gone();
        }
        Ok(())
    }

    fn unlink(&mut self) {
        let Some(key) = self.key.as_mut().filter(|_| self.kind != KeyType::Empty) else { return };
        key.unlink();
        self.refresh();
        self.note(Effect::Unlink);
    }

    fn expire_at(&mut self, at_ms: i64) {
        if let Some(key) = self.key.as_mut().filter(|_| self.kind != KeyType::Empty) {
            key.expire_at(at_ms);
            self.note(Effect::Pexpireat(at_ms));
        }
    }
}

pub struct KeyCursor<'s, 'c> {
    set: &'s mut ZSet<'c>,
    iteration: Iteration,
}

impl<'c> Iterator for KeyCursor<'_, 'c> {
    type Item = (Text<'c>, f64);

    #[inline]
    fn next(&mut self) -> Option<(Text<'c>, f64)> {
        // In a range without elements the first one is null, so there is no need to ask whether there is one.
        let key = match self.iteration.state {
            IterationState::Before => self.iteration.key?,
            _ => self.iteration.advance()?,
        };
        let mut score = 0.0;
        // SAFETY: the iteration is at an element, or the range has none; the string that is made is ours.
        let element = unsafe { Text::take(api!(RedisModule_ZsetRangeCurrentElement)(key, &mut score)) };
        self.iteration.state = if element.is_some() { IterationState::AtElement } else { IterationState::Ended };
        element.map(|element| (element, score))
    }
}

impl<'s, 'c> Cursor<'s> for KeyCursor<'s, 'c> {
    type Set = ZSet<'c>;

    #[inline]
    fn skip_one(&mut self) -> bool {
        self.iteration.advance().is_some()
    }

    fn into_set(self) -> &'s mut ZSet<'c> {
        self.set
    }
}

/// The iteration that the server keeps in an open key. Stopped when it is dropped.
struct Iteration {
    /// `None` for an empty set.
    key: Option<*mut RedisModuleKey>,
    direction: Direction,
    state: IterationState,
}

#[derive(PartialEq)]
enum IterationState {
    /// The server is at the first element, which was not returned yet.
    Before,
    AtElement,
    Ended,
}

impl Iteration {
    #[inline]
    fn advance(&mut self) -> Option<*mut RedisModuleKey> {
        let key = self.key?;
        // SAFETY: the key is an open sorted set with an iteration, and nothing else uses it.
        let is_there = unsafe {
            match (&self.state, self.direction) {
                (IterationState::Before, _) => api!(RedisModule_ZsetRangeEndReached)(key) == 0,
                (IterationState::AtElement, Direction::Up) => api!(RedisModule_ZsetRangeNext)(key) != 0,
                (IterationState::AtElement, Direction::Down) => api!(RedisModule_ZsetRangePrev)(key) != 0,
                (IterationState::Ended, _) => false,
            }
        };
        self.state = if is_there { IterationState::AtElement } else { IterationState::Ended };
        is_there.then_some(key)
    }
}

impl Drop for Iteration {
    #[inline]
    fn drop(&mut self) {
        if let Some(key) = self.key {
            // SAFETY: the key is open.
            unsafe { api!(RedisModule_ZsetRangeStop)(key) };
        }
    }
}
