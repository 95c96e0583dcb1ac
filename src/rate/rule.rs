//! One rule: a limit of units in a window.

use super::clock::MICROS_OF_MILLI;
use super::duration::parse_duration;
use crate::calendar::{Offset, Unit};
use crate::error::{Error, Result};
use crate::words::Word;

/// The largest limit, the largest bucket, and the largest cost.
pub(super) const MAX_LIMIT: u64 = 1_000_000_000;

/// How long the units of a rule count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// 1 ms to 366 days.
    Millis(u64),
    /// Only with `CALENDAR`.
    Calendar(Unit, Offset),
}

/// A rule. Its numbers are always within their bounds, so sums and products in the algorithms cannot overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub(super) limit: u64,
    pub(super) window: Window,
    /// The size of a bucket of `GCRA`, if the rule names it.
    pub(super) burst: Option<u64>,
}

impl Rule {
    /// `limit`, `window` and `burst` as the client wrote them, in two words or split at the slashes of one.
    pub(super) fn parse(limit: &[u8], window: Option<&[u8]>, burst: Option<&[u8]>) -> Result<Rule> {
        let limit = parse_limit(limit)?;
        let window = parse_window(window.ok_or_else(|| Error::limit_without_window(limit))?)?;
        let burst = burst.map(|burst| burst.number_in("burst", 1..=MAX_LIMIT)).transpose()?;
        Ok(Rule { limit, window, burst })
    }

    pub(super) fn capacity(&self) -> u64 {
        self.burst.unwrap_or(self.limit)
    }

    /// The length of the window in milliseconds; a calendar's windows have none.
    pub(super) fn millis(&self) -> u64 {
        match self.window {
            Window::Millis(millis) => millis,
            Window::Calendar(..) => 0,
        }
    }

    pub(super) fn micros(&self) -> u64 {
        self.millis().saturating_mul(MICROS_OF_MILLI)
    }

    /// `micros` + window; neither comes near the end of an i64.
    pub(super) fn window_after(&self, micros: i64) -> i64 {
        micros.saturating_add_unsigned(self.micros())
    }

    pub(super) fn window_before(&self, micros: i64) -> i64 {
        micros.saturating_sub_unsigned(self.micros())
    }
}

fn parse_window(text: &[u8]) -> Result<Window> {
    match Unit::parse(text) {
        // The offset is an option of the call, which comes later.
        Some(unit) => Ok(Window::Calendar(unit, Offset::default())),
        None => parse_duration("window", text).map(Window::Millis),
    }
}

pub fn parse_limit(word: impl Word) -> Result<u64> {
    word.number_in("limit", 1..=MAX_LIMIT)
}
