//! Leases: how many holders there are at once. A sorted set of tokens at the microsecond their leases end, and of one
//! more element, `last`, at minus the last token.
//!
//! A token is the time in microseconds, or one more than the last token, whichever is later. So tokens grow while the
//! key lives, whatever the clock does, and with the clock beyond that. A clock that goes back sees more leases, never
//! fewer.

use std::ops::Bound;

use super::call::{RetryAfter, RuleResult, Verdict};
use super::clock::{millis_rounded_up, Clock, MAX_MICROS, MAX_MILLIS, MICROS_OF_MILLI};
use crate::error::{Error, Result};
use crate::number::parse_integer;
use crate::zset::{Condition, SortedSet};

/// The element at minus the last token.
const LAST: &[u8] = b"last";
/// Below this score there is only the last token.
const BELOW_ALL_ENDS: f64 = -0.5;

/// Whether a sorted set is one of leases, by both its ends.
pub fn is_leases<S: SortedSet>(set: &mut S) -> bool {
    let Some((first, score)) = set.first(..) else { return false };
    last_token(score, first.as_ref()).is_some()
        && set.last(..).is_some_and(|(last, score)| {
            last.as_ref() == first.as_ref() || (lease_end(score).is_some() && token(last.as_ref()).is_some())
        })
}

pub fn last_token(score: f64, element: &[u8]) -> Option<i64> {
    let token = whole(-score).filter(|token| (1..=MAX_MICROS).contains(token));
    token.filter(|_| element == LAST)
}

pub fn token(text: &[u8]) -> Option<i64> {
    parse_integer(text).filter(|token| (1..=MAX_MICROS).contains(token))
}

pub fn lease_end(score: f64) -> Option<i64> {
    whole(score).filter(|end| (0..=MAX_MICROS).contains(end))
}

fn whole(score: f64) -> Option<i64> {
    let whole = score as i64;
    (whole as f64 == score).then_some(whole)
}

/// The leases of a key.
pub struct Leases<'s, S> {
    set: &'s mut S,
    clock: Clock,
    /// The last token, 0 if there was none.
    last: i64,
    /// The time of the call, in microseconds.
    at: i64,
}

fn element<S: SortedSet>(token: i64) -> S::Element {
    S::Element::from(itoa::Buffer::new().format(token).as_bytes())
}

fn checked_end(score: f64) -> Result<i64> {
    lease_end(score).ok_or_else(Error::not_leases)
}

impl<'s, S: SortedSet> Leases<'s, S> {
    pub fn new(set: &'s mut S, clock: Clock) -> Result<Leases<'s, S>> {
        let last = match set.first(..) {
            Some((element, score)) => last_token(score, element.as_ref()).ok_or_else(Error::not_leases)?,
            None => 0,
        };
        Ok(Leases { set, clock, last, at: clock.not_before(None) })
    }

    /// How many leases are held, and the microseconds until the next one ends.
    fn held(&mut self) -> Result<(u64, Option<u128>)> {
        let next = self.set.first((Bound::Excluded(self.at as f64), Bound::Unbounded));
        let Some((next, score)) = next else { return Ok((0, None)) };
        let end = checked_end(score)?;
        // Mostly no lease has ended: then the next one to end is the first after the last token.
        let ended = self.set.has_any(BELOW_ALL_ENDS..=self.at as f64);
        let below = if ended { self.set.index(&next)?.unwrap_or(1) } else { 1 };
        Ok((self.set.len().saturating_sub(below), Some(self.clock.until(end))))
    }

    /// How many leases are held, and the milliseconds until the next one ends, or -1.
    pub fn held_ms(&mut self) -> Result<(u64, i64)> {
        let (held, next) = self.held()?;
        Ok((held, next.map_or(-1, millis_rounded_up)))
    }

    /// Grants a lease if fewer than `limit` are held. The verdict's `rule` is the token, 0 if it was denied.
    pub fn acquire(mut self, limit: u64, lease_ms: u64) -> Result<Verdict> {
        let (held, next) = self.held()?;
        let end = self.end_after(lease_ms)?;
        let latest = match self.set.last(BELOW_ALL_ENDS..) {
            Some((_, score)) => self.clock.until(checked_end(score)?),
            None => 0,
        };
        let remaining = limit.saturating_sub(held);
        let result = RuleResult {
            capacity: limit,
            remaining,
            wait: if remaining > 0 { RetryAfter::None } else { RetryAfter::Micros(next.unwrap_or(0)) },
            reset: latest,
            reset_if_taken: self.clock.until(end).max(latest),
            ..RuleResult::default()
        };
        if remaining == 0 {
            return Ok(result.verdict(0, None));
        }
        let token = self.last.saturating_add(1).max(self.at);
        if token > MAX_MICROS {
            return Err(Error::tokens_used_up());
        }
        // Adds before it drops: a key that vanished in between would lose its expiry.
        self.set.put(&element::<S>(token), end as f64, Condition::Any);
        self.set.put(&S::Element::from(LAST), -(token as f64), Condition::Any);
        // Should the server refuse, leases that ended stay: they count for nothing, and the next call drops them.
        let _ = self.set.remove_through(self.at);
        self.keep_key_until(end);
        Ok(result.verdict(token.unsigned_abs(), Some(1)))
    }

    /// Keeps the key until a lease ends. A later expiry stays, because another lease needs it.
    fn keep_key_until(&mut self, end: i64) {
        let at_ms = self.clock.expire_at_ms(self.clock.until(end));
        if self.set.expiry().is_none_or(|expiry| expiry < at_ms) {
            self.set.expire_at(at_ms);
        }
    }

    /// Sets a new end for a lease. Returns whether it was held.
    pub fn renew(&mut self, token: i64, lease_ms: u64) -> Result<bool> {
        let held = self.holds(token)?;
        if held {
            let end = self.end_after(lease_ms)?;
            self.set.put(&element::<S>(token), end as f64, Condition::Any);
            self.keep_key_until(end);
        }
        Ok(held)
    }

    /// Removes the leases of these tokens that were still held, and returns how many they were. The last token stays until
    /// the key expires.
    pub fn release(&mut self, tokens: &[i64]) -> Result<u64> {
        let mut held = Vec::with_capacity(tokens.len());
        for token in tokens {
            if self.holds(*token)? {
                held.push(*token);
            }
        }
        Ok(held.into_iter().filter(|token| self.set.remove(&element::<S>(*token))).count() as u64)
    }

    /// Whether the lease of this token has not ended.
    pub fn holds(&mut self, token: i64) -> Result<bool> {
        let score = self.set.score(&element::<S>(token));
        Ok(score.map(checked_end).transpose()?.is_some_and(|end| end > self.at))
    }

    /// An end that a score cannot hold would have to be moved, to an earlier time than the caller was promised.
    fn end_after(&self, lease_ms: u64) -> Result<i64> {
        let end = self.at.saturating_add_unsigned(lease_ms.saturating_mul(MICROS_OF_MILLI));
        Some(end).filter(|end| *end <= MAX_MICROS).ok_or_else(|| Error::lease_ends_too_late(MAX_MILLIS))
    }
}
