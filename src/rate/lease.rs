//! Leases: how many holders there are at once. A sorted set of tokens at the microsecond their leases end, and of one
//! more element, `last`, at minus the last token.
//!
//! A token is the time in microseconds, or one more than the last token, whichever is later. So tokens grow while the
//! key lives, whatever the clock does, and with the clock beyond that. A clock that goes back sees more leases, never
//! fewer.

use super::clock::{millis_rounded_up, Clock, MAX_MICROS, MAX_MILLIS, MICROS_OF_MILLI};
use super::verdict::{RuleResult, Verdict, Wait};
use crate::error::{Error, Result};
use crate::number::parse_integer;

/// The element at minus the last token.
pub const LAST: &[u8] = b"last";

/// Reads of leases in O(log n) each. The implementation decodes with [`last_token`], [`token`] and [`lease_end`].
pub trait Leases {
    /// The last token; an error if the first element is another one.
    fn last(&mut self) -> Result<i64>;

    /// How many have an end later than this one.
    fn held_after(&mut self, micros: i64) -> Result<u64>;

    /// The first end later than this one; `None` if there is none.
    fn next_end(&mut self, micros: i64) -> Result<Option<i64>>;

    /// The latest end; `None` if there are no leases.
    fn latest_end(&mut self) -> Result<Option<i64>>;

    /// When the lease of a token ends; `None` for a token that is not there.
    fn end_of(&mut self, token: i64) -> Result<Option<i64>>;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub token: i64,
    pub end: i64,
    /// Leases that ended are dropped: those with an end up to and including this time.
    pub drop_through: i64,
    /// The expiry in Unix ms. If the key has a later one, that stays: it belongs to another lease.
    pub expire_at_ms: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewal {
    pub end: i64,
    /// Unix ms, when the last lease ends.
    pub expire_at_ms: i64,
}

pub struct Holders<'l, L> {
    leases: Option<&'l mut L>,
    clock: Clock,
    last: i64,
    at: i64,
}

impl<'l, L: Leases> Holders<'l, L> {
    /// `None` if there is no key.
    pub fn new(mut leases: Option<&'l mut L>, clock: Clock) -> Result<Holders<'l, L>> {
        let last = match &mut leases {
            Some(leases) => Some(leases.last()?),
            None => None,
        };
        Ok(Holders { leases, clock, last: last.unwrap_or(0), at: clock.not_before(None) })
    }

    /// How many leases are held, and the microseconds until the next one ends.
    fn held(&mut self) -> Result<(u64, Option<u128>)> {
        let Some(leases) = &mut self.leases else { return Ok((0, None)) };
        let next = leases.next_end(self.at)?.map(|end| self.clock.until(end));
        Ok((leases.held_after(self.at)?, next))
    }

    /// The same in milliseconds, -1 if no lease is held.
    pub fn held_ms(&mut self) -> Result<(u64, i64)> {
        let (held, next) = self.held()?;
        Ok((held, next.map_or(-1, millis_rounded_up)))
    }

    /// Grants a lease if fewer than `limit` are held. The verdict's `rule` is the token, 0 if it was denied.
    pub fn acquire(mut self, limit: u64, lease_ms: u64) -> Result<(Verdict, Option<Grant>)> {
        let (held, next) = self.held()?;
        let end = self.end_after(lease_ms)?;
        let latest = match &mut self.leases {
            Some(leases) => leases.latest_end()?.map_or(0, |latest| self.clock.until(latest)),
            None => 0,
        };
        let remaining = limit.saturating_sub(held);
        let result = RuleResult {
            capacity: limit,
            remaining,
            wait: if remaining > 0 { Wait::None } else { Wait::Micros(next.unwrap_or(0)) },
            reset: latest,
            reset_if_taken: self.clock.until(end).max(latest),
            closed: false,
        };
        if remaining == 0 {
            return Ok((result.verdict(0, None), None));
        }
        let token = self.last.saturating_add(1).max(self.at);
        if token > MAX_MICROS {
            return Err(Error::tokens_used_up());
        }
        let expire_at_ms = self.clock.expire_at_ms(self.clock.until(end));
        let grant = Grant { token, end, drop_through: self.at, expire_at_ms };
        Ok((result.verdict(token.unsigned_abs(), Some(1)), Some(grant)))
    }

    /// Sets a new end for a lease; `None` if it is no longer held.
    pub fn renew(&mut self, token: i64, lease_ms: u64) -> Result<Option<Renewal>> {
        if !self.holds(token)? {
            return Ok(None);
        }
        let end = self.end_after(lease_ms)?;
        Ok(Some(Renewal { end, expire_at_ms: self.clock.expire_at_ms(self.clock.until(end)) }))
    }

    /// Whether the lease of this token has not ended.
    pub fn holds(&mut self, token: i64) -> Result<bool> {
        let Some(leases) = &mut self.leases else { return Ok(false) };
        Ok(leases.end_of(token)?.is_some_and(|end| end > self.at))
    }

    /// An end that a score cannot hold would have to be moved, to an earlier time than the caller was promised.
    fn end_after(&self, lease_ms: u64) -> Result<i64> {
        let end = self.at.saturating_add_unsigned(lease_ms.saturating_mul(MICROS_OF_MILLI));
        Some(end).filter(|end| *end <= MAX_MICROS).ok_or_else(|| Error::lease_ends_too_late(MAX_MILLIS))
    }
}
