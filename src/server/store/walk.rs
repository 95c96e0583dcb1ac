//! Walks through a sorted set: with iterators where they can start, otherwise with calls.

use super::zset::ZSet;
use crate::board::{Direction, Store};
use crate::error::Result;
use crate::server::api::{Key, Text};

/// How far from an end, or inside a group of equal scores, stepping is cheaper than a call that jumps.
const NEAR: u64 = 64;
/// Elements fetched by the first call where stepping cannot start: most walks are short. Each further call fetches twice as
/// many, up to `CHUNK`.
const FIRST_CHUNK: u64 = 16;
const CHUNK: u64 = 1024;

impl<'c> ZSet<'c> {
    /// From an index on, until `visit` says false or the end.
    pub(super) fn walk_from(
        &self,
        from: u64,
        direction: Direction,
        visit: &mut dyn FnMut(Text<'c>, f64) -> Result<bool>,
    ) -> Result<()> {
        let card = self.card();
        if from >= card {
            return Ok(());
        }
        if from.min(card - 1 - from) <= NEAR {
            return self.walk_from_end(from, card, direction, visit);
        }
        // A call finds the element at an index. An iterator can only start at the edge of a group of equal scores.
        let Some((first, start)) = self.at(from)? else { return Ok(()) };
        let range = match direction {
            Direction::Up => (start, f64::INFINITY),
            Direction::Down => (f64::NEG_INFINITY, start),
        };
        let mut reached = false;
        let mut steps = 0;
        self.iterate(range, direction, &mut |key| {
            // SAFETY: the iterator is at an element.
            let Some((element, score)) = (unsafe { current(key) }) else { return Ok(false) };
            reached = reached || element.bytes() == first.bytes();
            if reached {
                return visit(element, score);
            }
            steps += 1;
            Ok(steps <= NEAR)
        })?;
        if reached {
            return Ok(());
        }
        self.walk_chunks(from, direction, visit)
    }

    /// Steps through elements whose scores are in a range, both ends included, until `visit` says false.
    pub(super) fn iterate<E>(
        &self,
        (min, max): (f64, f64),
        direction: Direction,
        visit: &mut dyn FnMut(&Key) -> Result<bool, E>,
    ) -> Result<(), E> {
        let Some(key) = self.key() else { return Ok(()) };
        // SAFETY: the key is an open sorted set, and nothing changes it while the iterator lives.
        unsafe {
            let (start, step) = match direction {
                Direction::Up => (api!(RedisModule_ZsetFirstInScoreRange), api!(RedisModule_ZsetRangeNext)),
                Direction::Down => (api!(RedisModule_ZsetLastInScoreRange), api!(RedisModule_ZsetRangePrev)),
            };
            start(key.raw(), min, max, 0, 0);
            let ended = api!(RedisModule_ZsetRangeEndReached);
            let mut result = Ok(true);
            while matches!(result, Ok(true)) && ended(key.raw()) == 0 {
                result = visit(key);
                if matches!(result, Ok(true)) {
                    step(key.raw());
                }
            }
            api!(RedisModule_ZsetRangeStop)(key.raw());
            result.map(drop)
        }
    }

    /// Walks from an index near either end, after stepping to it.
    fn walk_from_end(
        &self,
        from: u64,
        card: u64,
        direction: Direction,
        visit: &mut dyn FnMut(Text<'c>, f64) -> Result<bool>,
    ) -> Result<()> {
        let Some(key) = self.key() else { return Ok(()) };
        let above = card - 1 - from;
        // SAFETY: the key is an open sorted set, and nothing changes it while the iterator lives.
        unsafe {
            let (next, previous) = (api!(RedisModule_ZsetRangeNext), api!(RedisModule_ZsetRangePrev));
            let everything = (f64::NEG_INFINITY, f64::INFINITY);
            let (start, approach) = if from <= above {
                (api!(RedisModule_ZsetFirstInScoreRange), next)
            } else {
                (api!(RedisModule_ZsetLastInScoreRange), previous)
            };
            start(key.raw(), everything.0, everything.1, 0, 0);
            for _ in 0..from.min(above) {
                approach(key.raw());
            }
            let step = if direction == Direction::Up { next } else { previous };
            let mut result = Ok(true);
            while matches!(result, Ok(true)) && api!(RedisModule_ZsetRangeEndReached)(key.raw()) == 0 {
                let Some((element, score)) = current(key) else { break };
                result = visit(element, score);
                step(key.raw());
            }
            api!(RedisModule_ZsetRangeStop)(key.raw());
            result.map(drop)
        }
    }

    /// Walks by calls, a chunk at a time.
    fn walk_chunks(
        &self,
        from: u64,
        direction: Direction,
        visit: &mut dyn FnMut(Text<'c>, f64) -> Result<bool>,
    ) -> Result<()> {
        let (mut next, mut chunk) = (Some(from), FIRST_CHUNK);
        while let Some(index) = next.filter(|index| *index < self.card()) {
            let (first, last) = match direction {
                Direction::Up => (index, index.saturating_add(chunk - 1)),
                Direction::Down => (index.saturating_sub(chunk - 1), index),
            };
            let reply = self.ctx().zrange(self.name(), first, last)?;
            for i in 0..reply.len() {
                let i = if direction == Direction::Up { i } else { reply.len() - 1 - i };
                let Some(element) = reply.text_at(i) else { return Ok(()) };
                let Some(score) = self.score(&element) else { return Ok(()) };
                if !visit(element, score)? {
                    return Ok(());
                }
            }
            next = match direction {
                Direction::Up => Some(last + 1),
                Direction::Down => first.checked_sub(1),
            };
            chunk = (chunk * 2).min(CHUNK);
        }
        Ok(())
    }
}

/// # Safety
/// The key must have an iterator that has not reached its end.
pub(super) unsafe fn current<'a>(key: &Key) -> Option<(Text<'a>, f64)> {
    let mut score = 0.0;
    // SAFETY: the string that is made is ours.
    let element = unsafe { Text::take(api!(RedisModule_ZsetRangeCurrentElement)(key.raw(), &mut score)) };
    element.map(|element| (element, score))
}
