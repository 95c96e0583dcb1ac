//! A sorted set as a board's store: low-level calls on a key that is opened once, and what they changed.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::os::raw::c_int;

use redis_module::raw;

use super::changes::Changes;
use super::context::Ctx;
use super::family::climbs_for_ranks;
use super::hash::Hash;
pub use super::key::Access;
use super::key::{Key, KeyType};
use super::text::Text;
use super::walk::current;
use crate::board::{Companion, Direction, Entry, Id, Only, Part, Put, Store};
use crate::error::{Error, Result};
use crate::stats;

/// So many elements do not fit a processor's cache.
const LARGE: u64 = 50_000;

/// Those that were asked for.
type Companions<'a> = [Option<Hash<'a>>; Part::ALL.len()];

pub struct ZSet<'a> {
    ctx: Ctx,
    name: Text<'a>,
    access: Access,
    key: Option<Key>,
    /// The key holds a sorted set.
    present: bool,
    /// How many elements there are, until they change.
    card: Cell<Option<u64>>,
    changes: Changes<'a>,
    /// Boxed, because most commands move the handle about and need none.
    companions: RefCell<Option<Box<Companions<'a>>>>,
}

impl<'a> ZSet<'a> {
    pub fn open(ctx: Ctx, name: Text<'a>, access: Access) -> Result<ZSet<'a>> {
        let (key, present) = ZSet::open_key(ctx, &name, access)?;
        Ok(ZSet {
            ctx,
            name,
            access,
            key,
            present,
            card: Cell::new(None),
            changes: Changes::none(),
            companions: RefCell::new(None),
        })
    }

    /// The key, and whether it holds a sorted set.
    fn open_key(ctx: Ctx, name: &Text, access: Access) -> Result<(Option<Key>, bool)> {
        let key = Key::open(ctx, name, access);
        match key.as_ref().map_or(KeyType::Empty, Key::kind) {
            KeyType::Empty => Ok((key, false)),
            KeyType::SortedSet => Ok((key, true)),
            _ => Err(Error::WrongType),
        }
    }

    fn reopen(&mut self) -> Result<()> {
        self.card.set(None);
        (self.key, self.present) = (None, false);
        (self.key, self.present) = ZSet::open_key(self.ctx, &self.name, self.access)?;
        Ok(())
    }

    pub fn exists(&self) -> bool {
        self.present
    }

    pub(super) fn ctx(&self) -> Ctx {
        self.ctx
    }

    pub(super) fn key_name(&self) -> &Text<'a> {
        &self.name
    }

    /// Whether a ZCOUNT, for all its work, is quicker than a ZRANK.
    fn is_better_counted(&self) -> bool {
        climbs_for_ranks() && self.card() > LARGE
    }

    /// The event that a changed score is announced by, `zadd` unless said otherwise.
    pub fn announce_as(&mut self, event: &'static CStr) {
        self.changes.announce_as(event);
    }

    pub(super) fn key(&self) -> Option<&Key> {
        self.key.as_ref().filter(|_| self.present)
    }

    fn with_companion<T>(&self, part: Part, act: impl FnOnce(&mut Hash<'a>) -> T) -> Result<T> {
        let mut companions = self.companions.borrow_mut();
        let place = companions.get_or_insert_default().get_mut(part as usize).ok_or(Error::Internal)?;
        match place {
            Some(hash) => Ok(act(hash)),
            None => Ok(act(place.insert(Hash::open(self.ctx, part, &self.name, self.access)?))),
        }
    }

    /// The key of a companion that exists and is this board's.
    pub fn companion_key(&self, part: Part, id: &Id) -> Result<Option<Text<'a>>> {
        let found = self.with_companion(part, |hash| match hash.state(id) {
            Companion::Stamped(_) => Some(hash.name().clone()),
            _ => None,
        });
        match found {
            Err(Error::NoCompanionName) => Ok(None),
            found => found,
        }
    }

    #[inline]
    fn commit(&mut self) {
        if !self.changes.is_empty() {
            self.changes.commit(self.ctx, &self.name, self.present);
        }
    }
}

/// Iterators over scores are not stopped where they are not gone on with: they hold nothing, and the server forgets one when
/// the next is started or the key closed.
impl<'a> Store for ZSet<'a> {
    type Name = Text<'a>;

    fn name(&self, bytes: &[u8]) -> Text<'a> {
        Text::new(bytes)
    }

    fn card(&self) -> u64 {
        self.card.get().unwrap_or_else(|| {
            let card = self.key().map_or(0, Key::len);
            self.card.set(Some(card));
            card
        })
    }

    fn score(&self, element: &Text<'a>) -> Option<f64> {
        let key = self.key()?;
        let mut score = 0.0;
        // SAFETY: the key is an open sorted set.
        let status = unsafe { api!(RedisModule_ZsetScore)(key.raw(), element.raw(), &mut score) };
        (status == raw::REDISMODULE_OK as c_int).then_some(score)
    }

    fn index(&self, element: &Text<'a>) -> Result<Option<u64>> {
        if !self.exists() {
            return Ok(None);
        }
        self.ctx.zrank(&self.name, element)
    }

    /// By the element at the edge and its ZRANK: a ZCOUNT would parse two bounds and walk the skiplist four times.
    fn count_below(&self, score: f64, inclusive: bool) -> Result<u64> {
        if self.is_better_counted() {
            return self.ctx.zcount_below(&self.name, score, inclusive);
        }
        let (range, direction) = if inclusive {
            ((f64::NEG_INFINITY, score), Direction::Down)
        } else {
            ((score, f64::INFINITY), Direction::Up)
        };
        let mut edge = None;
        self.iterate(range, direction, &mut |key| {
            // SAFETY: the iterator stands on an element.
            edge = unsafe { current(key) };
            Ok::<bool, Error>(false)
        })?;
        let Some((element, _)) = edge else { return Ok(if inclusive { 0 } else { self.card() }) };
        Ok(self.index(&element)?.unwrap_or(0) + u64::from(inclusive))
    }

    fn count_below_own(&self, own: &Text<'a>, score: f64, inclusive: bool) -> Result<u64> {
        if self.is_better_counted() || self.count_at(score, 2) > 1 {
            return self.count_below(score, inclusive);
        }
        // Nobody else has the score: no need to make a string of the element at the edge.
        Ok(self.index(own)?.unwrap_or(0) + u64::from(inclusive))
    }

    fn at(&self, index: u64) -> Result<Option<(Text<'a>, f64)>> {
        if index >= self.card() {
            return Ok(None);
        }
        let element = self.ctx.zrange(&self.name, index, index)?.text_at(0);
        Ok(element.and_then(|element| self.score(&element).map(|score| (element, score))))
    }

    fn next_score(&self, score: f64, direction: Direction) -> Option<f64> {
        let range = match direction {
            Direction::Up => (score.next_up(), f64::INFINITY),
            Direction::Down => (f64::NEG_INFINITY, score.next_down()),
        };
        if score == f64::INFINITY && direction == Direction::Up
            || score == f64::NEG_INFINITY && direction == Direction::Down
        {
            return None;
        }
        let mut next = None;
        let done: Result<(), ()> = self.iterate(range, direction, &mut |key| {
            // SAFETY: the iterator stands on an element.
            next = unsafe { current(key) }.map(|(_, score)| score);
            Ok(false)
        });
        done.ok().and(next)
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

    fn lowest(&self) -> Option<(Text<'a>, bool)> {
        let key = self.key()?;
        // SAFETY: the key is an open sorted set, and nothing changes it while the iterator lives.
        unsafe {
            let ended = api!(RedisModule_ZsetRangeEndReached);
            api!(RedisModule_ZsetFirstInScoreRange)(key.raw(), f64::NEG_INFINITY, f64::NEG_INFINITY, 0, 0);
            let mut lowest = None;
            if ended(key.raw()) == 0 {
                lowest = current(key);
                api!(RedisModule_ZsetRangeNext)(key.raw());
            }
            let more = ended(key.raw()) == 0;
            lowest.map(|(element, _)| (element, more))
        }
    }

    fn walk_score(&self, score: f64, direction: Direction, visit: &mut dyn FnMut(Text<'a>) -> bool) {
        let _: Result<(), ()> = self.iterate((score, score), direction, &mut |key| {
            // SAFETY: the iterator stands on an element.
            Ok(unsafe { current(key) }.is_some_and(|(element, _)| visit(element)))
        });
    }

    fn walk(
        &self,
        from: u64,
        direction: Direction,
        visit: &mut dyn FnMut(Text<'a>, f64) -> Result<bool>,
    ) -> Result<()> {
        self.walk_from(from, direction, visit)
    }

    fn put(&mut self, element: &Text<'a>, score: f64, only: Only) -> Put {
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
        self.changes.put(element, score);
        put
    }

    fn remove(&mut self, element: &Text<'a>) -> bool {
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
        self.changes.remove(element);
        true
    }

    fn remove_range(&mut self, first: u64, last: u64) -> Result<()> {
        // The call announces itself; what came before it must come before it. It may delete the key under the handle.
        self.commit();
        self.key = None;
        let removed = self.ctx.zremrangebyrank(&self.name, first, last);
        self.reopen()?;
        removed.map(drop)
    }

    fn clear(&mut self, marker: Option<&Text<'a>>) -> Result<()> {
        self.commit();
        let Some(key) = self.key() else { return Ok(()) };
        // SAFETY: the key is open for writing.
        let expiry = unsafe { api!(RedisModule_GetAbsExpire)(key.raw()) };
        self.key = None;
        // Freed in the background: a million members must not stop the server.
        self.ctx.write(c"UNLINK", &mut [self.name.raw()])?;
        self.reopen()?;
        if let Some(marker) = marker {
            self.put(marker, f64::NEG_INFINITY, Only::Any);
            self.commit();
            if expiry >= 0 {
                let at = Text::new(expiry.to_string().as_bytes());
                // Valkey keeps the expiry with the value, and moves the value for it: no handle may be open.
                self.key = None;
                let expires = self.ctx.write(c"PEXPIREAT", &mut [self.name.raw(), at.raw()]);
                self.reopen()?;
                expires?;
            }
        }
        Ok(())
    }

    fn companion(&self, part: Part, id: &Id) -> Result<Companion> {
        let state = self.with_companion(part, |hash| hash.state(id))?;
        if state == Companion::Absent && self.exists() && self.ctx.is_cluster() {
            // An error here means that the slot is moving and the companion may be on the other node.
            let name = self.with_companion(part, |hash| hash.name().clone())?;
            self.ctx.exists(&[&self.name, &name])?;
        }
        Ok(state)
    }

    fn entry(&self, part: Part, member: &[u8]) -> Result<Option<Text<'a>>> {
        self.with_companion(part, |hash| hash.entry(member))
    }

    fn set_entry(&mut self, part: Part, id: &Id, member: &[u8], bytes: &[u8]) -> Result<()> {
        self.with_companion(part, |hash| hash.set_entry(id, member, bytes))
    }

    fn remove_entry(&mut self, part: Part, member: &[u8]) -> Result<()> {
        ignore_unnamable(self.with_companion(part, |hash| hash.remove_entry(member)).map(drop))
    }

    fn remove_entry_or_foreign(&mut self, part: Part, id: &Id, member: &[u8]) -> Result<()> {
        ignore_unnamable(self.with_companion(part, |hash| match hash.state(id) {
            Companion::Absent => {}
            Companion::Stamped(_) => drop(hash.remove_entry(member)),
            Companion::Foreign => hash.unlink(),
        }))
    }

    fn remove_field(&mut self, part: Part, field: &[u8]) -> Result<()> {
        self.with_companion(part, |hash| hash.remove_field(Text::new(field))).map(drop)
    }

    fn drop_companion(&mut self, part: Part) -> Result<()> {
        ignore_unnamable(self.with_companion(part, Hash::unlink))
    }

    fn note_evicted(&mut self, count: u64) {
        stats::EVICTED.add(count);
    }

    fn note_rebuilt(&mut self) {
        stats::REBUILT.add(1);
    }

    fn scan(&self, cursor: u64, count: u64) -> Result<(u64, Vec<(Text<'a>, f64)>)> {
        if !self.exists() {
            return Ok((0, Vec::new()));
        }
        let (next, elements) = self.ctx.zscan(&self.name, cursor, count)?;
        let elements = elements.into_iter();
        Ok((next, elements.filter_map(|element| self.score(&element).map(|score| (element, score))).collect()))
    }

    fn scan_entries(&self, part: Part, cursor: u64, count: u64) -> Result<(u64, Vec<Entry>)> {
        self.with_companion(part, |hash| hash.scan(cursor, count))?
    }
}

/// A board whose companion cannot exist, or is somebody else's key, has no entry to remove.
fn ignore_unnamable(result: Result<()>) -> Result<()> {
    match result {
        Err(Error::NoCompanionName | Error::CompanionType { .. }) => Ok(()),
        other => other,
    }
}

impl Drop for ZSet<'_> {
    /// Also when a handler panics: what was done is propagated, so that replicas and AOF never differ.
    fn drop(&mut self) {
        self.commit();
        let Some(companions) = self.companions.get_mut() else { return };
        if let Some(true) = companions.get(Part::Data as usize).map(|data| data.as_ref().is_some_and(Hash::changed)) {
            // Attributes are part of the board: who watches it watches them.
            self.ctx.signal_modified(&self.name);
        }
    }
}
