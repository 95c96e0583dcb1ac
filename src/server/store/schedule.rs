//! A sorted set as a schedule.

use std::os::raw::c_int;

use redis_module::raw;

use super::effects::Change;
use super::walk::current;
use super::zset::{is_sorted_set, score_of};
use crate::board::MARKER_START;
use crate::due::{Items, ReadItems};
use crate::error::{Error, Result};
use crate::server::api::{Access, Ctx, Key, KeyType, Text};
use crate::server::Call;

/// A schedule that is only looked at. It calls no core command, so that a timer can use it: on Redis 7.0 the clock
/// advances there, and a call could free an expired key that is open.
pub struct ScheduleReader<'c> {
    key: Option<Key<'c>>,
}

impl<'c> ScheduleReader<'c> {
    /// Opens a key without touching it. An error for a key of another type.
    pub fn open(ctx: Ctx<'c>, name: &Text<'c>) -> Result<ScheduleReader<'c>> {
        let key = Key::open(ctx, name, Access::Look);
        let present = is_sorted_set(key.as_ref())?;
        Ok(ScheduleReader { key: key.filter(|_| present) })
    }
}

impl<'c> ReadItems for ScheduleReader<'c> {
    type Item = Text<'c>;

    fn walk(&self, scores: (f64, f64), visit: &mut dyn FnMut(Text<'c>, f64) -> bool) {
        if let Some(key) = &self.key {
            walk(key, scores, visit);
        }
    }
}

pub struct Schedule<'c> {
    call: &'c Call<'c>,
    name: Text<'c>,
    /// `None` for a key that does not exist and is not opened for writing.
    key: Option<Key<'c>>,
    present: bool,
}

impl<'c> Schedule<'c> {
    /// An error for a key of another type.
    pub fn open(call: &'c Call<'c>, name: Text<'c>, access: Access) -> Result<Schedule<'c>> {
        let key = Key::open(call.ctx, &name, access);
        let present = is_sorted_set(key.as_ref())?;
        if let Some(key) = key.as_ref().filter(|_| present) {
            check_no_board(key)?;
        }
        Ok(Schedule { call, name, key, present })
    }

    fn key(&self) -> Option<&Key<'c>> {
        self.key.as_ref().filter(|_| self.present)
    }
}

/// An error if the sorted set is a board with a schema, whose marker is at -inf.
fn check_no_board(key: &Key) -> Result<()> {
    // SAFETY: the key is an open sorted set, and nothing changes it while the iterator lives.
    let lowest = unsafe {
        api!(RedisModule_ZsetFirstInScoreRange)(key.raw(), f64::NEG_INFINITY, f64::NEG_INFINITY, 0, 0);
        let is_empty = api!(RedisModule_ZsetRangeEndReached)(key.raw()) != 0;
        if is_empty {
            None
        } else {
            current(key)
        }
    };
    match lowest {
        Some((element, _)) if element.bytes().starts_with(MARKER_START) => Err(Error::board_not_schedule()),
        _ => Ok(()),
    }
}

/// Visits the elements with scores in a range, lowest first.
fn walk<'c>(key: &Key<'c>, (low, high): (f64, f64), visit: &mut dyn FnMut(Text<'c>, f64) -> bool) {
    // SAFETY: the key is an open sorted set, and nothing changes it while the iterator lives.
    unsafe {
        api!(RedisModule_ZsetFirstInScoreRange)(key.raw(), low, high, 0, 1);
        while api!(RedisModule_ZsetRangeEndReached)(key.raw()) == 0 {
            let Some((item, score)) = current(key) else { break };
            if !visit(item, score) {
                break;
            }
            api!(RedisModule_ZsetRangeNext)(key.raw());
        }
        api!(RedisModule_ZsetRangeStop)(key.raw());
    }
}

impl<'c> ReadItems for Schedule<'c> {
    type Item = Text<'c>;

    fn walk(&self, scores: (f64, f64), visit: &mut dyn FnMut(Text<'c>, f64) -> bool) {
        if let Some(key) = self.key() {
            walk(key, scores, visit);
        }
    }
}

impl<'c> Items for Schedule<'c> {
    fn card(&self) -> u64 {
        self.key().map_or(0, Key::len)
    }

    fn score(&self, item: &Text<'c>) -> Option<f64> {
        score_of(self.key()?, item)
    }

    fn count_below(&self, score: f64) -> Result<u64> {
        if !self.present {
            return Ok(0);
        }
        self.call.ctx.zcount_below(&self.name, score, false)
    }

    fn put(&mut self, item: &Text<'c>, score: f64) -> bool {
        let Some(key) = &self.key else { return false };
        let mut flags: c_int = 0;
        // SAFETY: the key is open for writing, and empty or a sorted set; the server copies the item.
        unsafe { api!(RedisModule_ZsetAdd)(key.raw(), score, item.raw(), &mut flags) };
        let changed = flags as u32 & (raw::REDISMODULE_ZADD_ADDED | raw::REDISMODULE_ZADD_UPDATED) != 0;
        if changed {
            self.present = true;
            self.call.note(&self.name, Change::Zadd(score, item.clone(), c"zadd"));
        }
        changed
    }

    fn remove(&mut self, item: &Text<'c>) {
        let Some(key) = self.key() else { return };
        let mut removed = 0;
        // SAFETY: the key is an open sorted set, opened for writing.
        unsafe { api!(RedisModule_ZsetRem)(key.raw(), item.raw(), &mut removed) };
        if removed == 0 {
            return;
        }
        // The server deletes a key with its last element.
        self.present = key.kind() == KeyType::SortedSet;
        self.call.note(&self.name, Change::Zrem(item.clone()));
        if !self.present {
            self.call.note(&self.name, Change::Vanish);
        }
    }
}
