//! A sorted set as a board's store: low-level calls on a key that is opened once.

use std::cell::Cell;
use std::ffi::CStr;
use std::os::raw::c_int;

use redis_module::raw;

use super::effects::Change;
use super::named::{check_absent, check_named};
use super::walk::current;
use crate::board::{Direction, Lowest, Only, Put, Spot, Store};
use crate::error::{Error, Result};
use crate::server::api::{Access, Caller, Ctx, Key, KeyType, Text};
use crate::server::Call;

pub struct ZSet<'c> {
    call: &'c Call<'c>,
    name: Text<'c>,
    /// `None` for a key that does not exist and is not opened for writing.
    key: Option<Key<'c>>,
    present: bool,
    /// The number of elements, cached until it changes.
    card: Cell<Option<u64>>,
    put_event: &'static CStr,
}

impl<'c> ZSet<'c> {
    /// An error for a key of another type.
    #[inline]
    pub fn open(call: &'c Call<'c>, name: Text<'c>, access: Access) -> Result<ZSet<'c>> {
        let key = Key::open(call.ctx, &name, access);
        let present = is_sorted_set(key.as_ref())?;
        Ok(ZSet { call, name, key, present, card: Cell::new(None), put_event: c"zadd" })
    }

    /// Opens the board of a period, whose key is named by the schema of a board alone.
    pub fn open_period(
        call: &'c Call<'c>,
        caller: &Caller,
        board: &Text<'c>,
        name: Text<'c>,
        access: Access,
    ) -> Result<ZSet<'c>> {
        check_named(call, caller, board, &name, access)?;
        let period = ZSet::open(call, name, access)?;
        if !period.exists() {
            check_absent(call, board, &period.name)?;
        }
        Ok(period)
    }

    pub fn absent(call: &'c Call<'c>, name: Text<'c>) -> ZSet<'c> {
        ZSet { call, name, key: None, present: false, card: Cell::new(None), put_event: c"zadd" }
    }

    pub fn expire_at(&mut self, at_ms: i64) {
        if let Some(key) = self.key() {
            key.expire_at(at_ms);
            self.call.note(&self.name, Change::Pexpireat(at_ms));
        }
    }

    pub fn expiry(&self) -> Option<i64> {
        self.key().and_then(Key::expiry)
    }

    fn look(&mut self) -> Result<()> {
        self.card.set(None);
        self.present = is_sorted_set(self.key.as_ref())?;
        Ok(())
    }

    pub fn is_taken(call: &'c Call<'c>, name: &Text<'c>) -> bool {
        Key::open(call.ctx, name, Access::Read).is_some_and(|key| key.kind() != KeyType::Empty)
    }

    pub fn exists(&self) -> bool {
        self.present
    }

    pub fn name(&self) -> &Text<'c> {
        &self.name
    }

    pub(super) fn ctx(&self) -> Ctx<'c> {
        self.call.ctx
    }

    /// Announces changed scores with this event instead of `zadd`.
    pub fn announce_as(&mut self, event: &'static CStr) {
        self.put_event = event;
    }

    pub(super) fn key(&self) -> Option<&Key<'c>> {
        self.key.as_ref().filter(|_| self.present)
    }

    /// Runs a core command on the key, which propagates and announces itself. Earlier changes are propagated first.
    fn call(&mut self, command: &CStr, args: &[&Text]) -> Result<()> {
        let Some(key) = self.key.take() else { return Ok(()) };
        self.call.make_known();
        let (key, reply) = key.call(command, args);
        self.key = key;
        self.look()?;
        reply.map(drop)
    }

    /// The lowest element with this score or more.
    fn first_from(&self, score: f64) -> Option<(Text<'c>, f64)> {
        let mut first = None;
        let _: Result<(), ()> = self.iterate((score, f64::INFINITY), Direction::Up, &mut |key| {
            // SAFETY: the iterator is at an element.
            first = unsafe { current(key) };
            Ok(false)
        });
        first
    }

    /// Renames the key of the sorted set. This one is empty afterwards.
    pub fn rename(&mut self, to: &Text) -> Result<()> {
        self.call(c"RENAME", &[to])
    }
}

/// Whether the key holds a sorted set; an error if it holds something else.
#[inline]
pub(super) fn is_sorted_set(key: Option<&Key>) -> Result<bool> {
    match key.map_or(KeyType::Empty, Key::kind) {
        KeyType::Empty => Ok(false),
        KeyType::SortedSet => Ok(true),
        _ => Err(Error::wrong_type()),
    }
}

#[inline]
pub(super) fn score_of(key: &Key, element: &Text) -> Option<f64> {
    let mut score = 0.0;
    // SAFETY: the key is an open sorted set.
    let status = unsafe { api!(RedisModule_ZsetScore)(key.raw(), element.raw(), &mut score) };
    (status == raw::REDISMODULE_OK as c_int).then_some(score)
}

/// Iterators over scores need no stop: they hold nothing, and the server drops one when the next is started or the key
/// is closed.
impl<'c> Store for ZSet<'c> {
    type Name = Text<'c>;

    fn name(&self, bytes: &[u8]) -> Text<'c> {
        Text::new(bytes)
    }

    fn key_name(&self) -> &[u8] {
        self.name().bytes()
    }

    fn card(&self) -> u64 {
        self.card.get().unwrap_or_else(|| {
            let card = self.key().map_or(0, Key::len);
            self.card.set(Some(card));
            card
        })
    }

    fn score(&self, element: &Text<'c>) -> Option<f64> {
        score_of(self.key()?, element)
    }

    fn index(&self, element: &Text<'c>) -> Result<Option<u64>> {
        if !self.exists() {
            return Ok(None);
        }
        self.ctx().zrank(&self.name, element)
    }

    /// Uses the ZRANK of the element at the edge: a ZCOUNT would have to print and to parse the score.
    fn count_below(&self, score: f64, inclusive: bool) -> Result<u64> {
        if inclusive && score == f64::INFINITY {
            return Ok(self.card());
        }
        let from = if inclusive { score.next_up() } else { score };
        let Some((element, _)) = self.first_from(from) else { return Ok(self.card()) };
        Ok(self.index(&element)?.unwrap_or(0))
    }

    fn count_below_own(&self, own: &Text<'c>, score: f64, inclusive: bool) -> Result<u64> {
        if self.count_at(score, 2) > 1 {
            return self.count_below(score, inclusive);
        }
        // No other element has the score, so there is no need to make a string of the element at the edge.
        Ok(self.index(own)?.unwrap_or(0) + u64::from(inclusive))
    }

    fn at(&self, index: u64) -> Result<Option<(Text<'c>, f64)>> {
        if let Some(found) = self.at_end(index) {
            return Ok(found);
        }
        let element = self.ctx().zrange(&self.name, index, index)?.text_at(0);
        Ok(element.and_then(|element| self.score(&element).map(|score| (element, score))))
    }

    fn count_at(&self, score: f64, most: u64) -> u64 {
        let Some(key) = self.key() else { return 0 };
        let mut count = 0;
        // SAFETY: the key is an open sorted set, and nothing changes it while the iterator lives.
        unsafe {
            api!(RedisModule_ZsetFirstInScoreRange)(key.raw(), score, score, 0, 0);
            while count < most && api!(RedisModule_ZsetRangeEndReached)(key.raw()) == 0 {
                api!(RedisModule_ZsetRangeNext)(key.raw());
                count += 1;
            }
        }
        count
    }

    fn any_between(&self, low: f64, high: f64) -> bool {
        let Some(key) = self.key() else { return false };
        // SAFETY: the key is an open sorted set, and nothing changes it while the iterator lives.
        unsafe {
            api!(RedisModule_ZsetFirstInScoreRange)(key.raw(), low, high, 1, 1);
            api!(RedisModule_ZsetRangeEndReached)(key.raw()) == 0
        }
    }

    fn lowest(&self, most: f64) -> Option<Lowest<Text<'c>>> {
        let key = self.key()?;
        // SAFETY: the key is an open sorted set, and nothing changes it while the iterator lives.
        unsafe {
            let ended = api!(RedisModule_ZsetRangeEndReached);
            api!(RedisModule_ZsetFirstInScoreRange)(key.raw(), f64::NEG_INFINITY, most, 0, 0);
            if ended(key.raw()) != 0 {
                return None;
            }
            let (element, score) = current(key)?;
            let mut next = None;
            if score == f64::NEG_INFINITY {
                api!(RedisModule_ZsetRangeNext)(key.raw());
                if ended(key.raw()) == 0 {
                    next = current(key).map(|(_, score)| score);
                }
            }
            Some(Lowest { element, score, next })
        }
    }

    fn walk_score(&self, score: f64, direction: Direction, visit: &mut dyn FnMut(Text<'c>) -> bool) {
        let _: Result<(), ()> = self.iterate((score, score), direction, &mut |key| {
            // SAFETY: the iterator is at an element.
            Ok(unsafe { current(key) }.is_some_and(|(element, _)| visit(element)))
        });
    }

    fn step(&self, from: (&Text<'c>, f64), steps: u64, direction: Direction) -> Option<(Text<'c>, f64)> {
        self.step_from(from, steps, direction)
    }

    fn walk(
        &self,
        from: Spot<Text<'c>>,
        direction: Direction,
        visit: &mut dyn FnMut(Text<'c>, f64) -> Result<bool>,
    ) -> Result<()> {
        self.walk_from(from, direction, visit)
    }

    fn put(&mut self, element: &Text<'c>, score: f64, only: Only) -> Put {
        let existing_only = matches!(only, Only::Existing | Only::ExistingRaise | Only::ExistingLower);
        let Some(key) = self.key.as_ref().filter(|_| self.exists() || !existing_only) else {
            // A low-level write would leave an empty sorted set behind.
            return Put::Nothing;
        };
        let flags = match only {
            Only::Any => 0,
            Only::New => raw::REDISMODULE_ZADD_NX,
            Only::Existing => raw::REDISMODULE_ZADD_XX,
            Only::Raise => raw::REDISMODULE_ZADD_GT,
            Only::Lower => raw::REDISMODULE_ZADD_LT,
            Only::ExistingRaise => raw::REDISMODULE_ZADD_XX | raw::REDISMODULE_ZADD_GT,
            Only::ExistingLower => raw::REDISMODULE_ZADD_XX | raw::REDISMODULE_ZADD_LT,
        };
        let mut flags = flags as c_int;
        // SAFETY: the key is open for writing, and empty or a sorted set; the server copies the element.
        unsafe { api!(RedisModule_ZsetAdd)(key.raw(), score, element.raw(), &mut flags) };
        let done = flags as u32;
        let put = if done & raw::REDISMODULE_ZADD_ADDED != 0 {
            Put::Added
        } else if done & raw::REDISMODULE_ZADD_UPDATED != 0 {
            Put::Changed
        } else {
            return Put::Nothing;
        };
        self.present = true;
        self.card.set(None);
        self.call.note(&self.name, Change::Zadd(score, element.clone(), self.put_event));
        put
    }

    fn remove(&mut self, element: &Text<'c>) -> bool {
        let Some(key) = self.key() else { return false };
        let mut removed = 0;
        // SAFETY: the key is an open sorted set, opened for writing.
        unsafe { api!(RedisModule_ZsetRem)(key.raw(), element.raw(), &mut removed) };
        if removed == 0 {
            return false;
        }
        // The server deletes a key with its last element.
        self.present = key.kind() == KeyType::SortedSet;
        self.card.set(None);
        self.call.note(&self.name, Change::Zrem(element.clone()));
        if !self.present {
            self.call.note(&self.name, Change::Vanish);
        }
        true
    }

    fn remove_range(&mut self, first: u64, last: u64) -> Result<()> {
        let text = |index: u64| Text::new(itoa::Buffer::new().format(index).as_bytes());
        self.call(c"ZREMRANGEBYRANK", &[&text(first), &text(last)])
    }

    fn clear(&mut self, marker: Option<&Text<'c>>) -> Result<()> {
        let Some(key) = self.key() else { return Ok(()) };
        let expiry = key.expiry();
        // Freed in the background, so that a million members do not block the server.
        key.unlink();
        self.call.note(&self.name, Change::Unlink);
        self.look()?;
        if let Some(marker) = marker {
            self.put(marker, f64::NEG_INFINITY, Only::Any);
            if let Some(at_ms) = expiry {
                self.expire_at(at_ms);
            }
        }
        Ok(())
    }

    fn scan(&self, cursor: u64, count: u64) -> Result<(u64, Vec<Text<'c>>)> {
        if !self.exists() {
            return Ok((0, Vec::new()));
        }
        self.ctx().zscan(&self.name, cursor, count)
    }
}
