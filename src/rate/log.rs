//! The log of a `SLIDING` limiter: one sorted-set element for each call that passed.
//!
//! The score is the time in microseconds. The element says the units of all calls before this one since the log began,
//! the units of this one, and the longest window that the log has seen: `3rs2+5/1m` is 36002 units, then 5, and a minute.
//! Most calls cost 1, and leave that out: `3rs2/1m`.
//!
//! The first digit of a total is the number of its digits, so totals of any length sort as numbers. Total and cost are
//! the next element's total. So elements are unique, their lexical order within a microsecond is the order of the calls
//! (`+` sorts before `/`, which puts a call of 0 units, left by a refund, before the next one), and the units between two
//! elements are the difference of their totals, however many elements lie between.

use std::ops::Bound;

use super::clock::MAX_MICROS;
use super::digits::{self, push_duration, stored_millis, ShortText};
use super::lease::is_leases;
use super::request::MAX_LIMIT;
use super::LEASES;
use crate::error::{Error, Result};
use crate::zset::SortedSet;

/// The log in a sorted set, which may be empty. Each read takes O(log n).
pub struct Log<'s, S>(pub &'s mut S);

impl<S: SortedSet> Log<'_, S> {
    pub(super) fn oldest(&mut self) -> Result<Option<LogEntry>> {
        let found = self.0.first(..);
        self.entry(found)
    }

    /// The last entry: of several in the newest microsecond the lexically last.
    pub(super) fn newest(&mut self) -> Result<Option<LogEntry>> {
        let found = self.0.last(..);
        self.entry(found)
    }

    /// The first entry whose time is greater than `micros`, which may be negative.
    pub(super) fn first_after(&mut self, micros: i64) -> Result<Option<LogEntry>> {
        let found = self.0.first((Bound::Excluded(micros as f64), Bound::Unbounded));
        self.entry(found)
    }

    fn entry(&mut self, found: Option<(S::Element, f64)>) -> Result<Option<LogEntry>> {
        let Some((element, score)) = found else { return Ok(None) };
        match LogEntry::decode(score, element.as_ref()) {
            None if is_leases(self.0) => Err(Error::holds_other(LEASES)),
            None => Err(Error::not_a_log()),
            entry => Ok(entry),
        }
    }
}

/// Whether a sorted set is a log, by both its ends.
pub fn is_log<S: SortedSet>(set: &mut S) -> bool {
    let mut log = Log(set);
    matches!((log.oldest(), log.newest()), (Ok(Some(_)), Ok(Some(_))))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub(super) micros: i64,
    pub(super) total: u64,
    pub(super) cost: u64,
    pub(super) window_ms: u64,
}

impl LogEntry {
    /// `None` for anything that a limiter would not have written.
    pub fn decode(score: f64, element: &[u8]) -> Option<LogEntry> {
        // The cast saturates and makes NaN 0, so that only a whole number in range survives the way back.
        let micros = score as i64;
        if !(0..=MAX_MICROS).contains(&micros) || micros as f64 != score {
            return None;
        }
        let (length, rest) = element.split_first()?;
        let (total, rest) = rest.split_at_checked(digits::digit(*length)? as usize)?;
        let (total, _) = number(total).filter(|(_, after)| after.is_empty())?;
        let (cost, rest) = match rest.strip_prefix(b"+") {
            // A cost of 1 is left out.
            Some(cost) => number(cost).filter(|(cost, _)| *cost != 1 && *cost <= MAX_LIMIT)?,
            None => (1, rest),
        };
        let window_ms = stored_millis(rest.strip_prefix(b"/")?)?;
        total.checked_add(cost)?;
        Some(LogEntry { micros, total, cost, window_ms })
    }

    /// All units up to and including this entry. [`LogEntry::decode`] has checked that the sum fits.
    pub(super) fn end(self) -> u64 {
        self.total.saturating_add(self.cost)
    }

    pub(super) fn element(self) -> ShortText {
        let mut element = ShortText::new();
        digits::push(&mut element, digits::width(self.total.into()) as u64);
        digits::push(&mut element, self.total);
        if self.cost != 1 {
            element.push(b'+');
            digits::push(&mut element, self.cost);
        }
        element.push(b'/');
        push_duration(&mut element, self.window_ms);
        element
    }
}

/// A number without leading zeros at the start of a text, and what follows it.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = digits::leading(text)?;
    let is_shortest = text.len().saturating_sub(rest.len()) == 1 || text.first() != Some(&b'0');
    u64::try_from(number).ok().filter(|_| is_shortest).map(|number| (number, rest))
}
