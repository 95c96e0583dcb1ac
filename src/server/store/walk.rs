//! Walks through a sorted set: with iterators where they can start, otherwise with calls.

use super::zset::ZSet;
use crate::board::{Direction, Spot, Store};
use crate::error::Result;
use crate::server::api::{Key, Text};

/// How far from an end, or inside a group of equal scores, stepping is cheaper than a call that jumps.
const NEAR: u64 = 64;
/// Elements fetched by the first call where stepping cannot start: most walks are short. Each further call fetches twice as
/// many, up to `CHUNK`.
const FIRST_CHUNK: u64 = 16;
const CHUNK: u64 = 1024;
const EVERYTHING: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

impl<'c> ZSet<'c> {
    /// From a spot on, until `visit` says false or the end.
    pub(super) fn walk_from(
        &self,
        Spot { index, element }: Spot<Text<'c>>,
        direction: Direction,
        visit: &mut dyn FnMut(Text<'c>, f64) -> Result<bool>,
    ) -> Result<()> {
        let card = self.card();
        if index >= card {
            return Ok(());
        }
        let mut steps = if direction == Direction::Up { index } else { card - 1 - index };
        if element.is_none() && steps <= NEAR {
            return self.iterate(EVERYTHING, direction, &mut |key| {
                if steps > 0 {
                    steps -= 1;
                    return Ok(true);
                }
                // SAFETY: the iterator is at an element.
                unsafe { current(key) }.map_or(Ok(false), |(element, score)| visit(element, score))
            });
        }
        let first = match element {
            Some(known) => Some(known),
            // A call finds the element at an index.
            None => self.at(index)?,
        };
        let Some((first, score)) = first else { return Ok(()) };
        let reached = self.iterate_from((&first, score), direction, &mut |key| {
            // SAFETY: the iterator is at an element.
            unsafe { current(key) }.map_or(Ok(false), |(element, score)| visit(element, score))
        })?;
        if reached {
            return Ok(());
        }
        self.walk_chunks(index, direction, visit)
    }

    /// Steps from an element on, until `visit` says false or the end. Returns whether the element was reached: an iterator
    /// can only start at the edge of a group of equal scores.
    fn iterate_from<E>(
        &self,
        (first, score): (&Text<'c>, f64),
        direction: Direction,
        visit: &mut dyn FnMut(&Key) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let range = match direction {
            Direction::Up => (score, f64::INFINITY),
            Direction::Down => (f64::NEG_INFINITY, score),
        };
        let mut reached = false;
        let mut steps = 0;
        self.iterate(range, direction, &mut |key| {
            // SAFETY: the iterator is at an element.
            reached = reached || unsafe { current(key) }.is_some_and(|(element, _)| element.bytes() == first.bytes());
            if reached {
                return visit(key);
            }
            steps += 1;
            Ok(steps <= NEAR)
        })?;
        Ok(reached)
    }

    /// The element this many steps from another one; `None` if it is too far for stepping.
    pub(super) fn step_from(
        &self,
        from: (&Text<'c>, f64),
        mut steps: u64,
        direction: Direction,
    ) -> Option<(Text<'c>, f64)> {
        if steps > NEAR {
            return None;
        }
        let mut found = None;
        let _: Result<bool, ()> = self.iterate_from(from, direction, &mut |key| {
            if steps == 0 {
                // SAFETY: the iterator is at an element.
                found = unsafe { current(key) };
                return Ok(false);
            }
            steps -= 1;
            Ok(true)
        });
        found
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

    /// The element at an index that is near enough to an end to step there. The outer `None` means that it is not.
    pub(super) fn at_end(&self, index: u64) -> Option<Option<(Text<'c>, f64)>> {
        let above = self.card().checked_sub(index).and_then(|from_here| from_here.checked_sub(1));
        let (steps, direction) = match above {
            None => return Some(None),
            Some(above) if above < index => (above, Direction::Down),
            Some(_) => (index, Direction::Up),
        };
        if steps > NEAR {
            return None;
        }
        let (mut found, mut left) = (None, steps);
        let _: Result<(), ()> = self.iterate(EVERYTHING, direction, &mut |key| {
            if left == 0 {
                // SAFETY: the iterator is at an element.
                found = unsafe { current(key) };
                return Ok(false);
            }
            left -= 1;
            Ok(true)
        });
        Some(found)
    }

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
