//! One rule: so many units in such a window.

use std::ops::RangeInclusive;

use crate::duration::{parse_duration, MILLIS_OF_DAY};
use crate::error::{Error, Result, Shown};
use crate::number::parse_integer;

/// The largest limit, and the largest bucket.
pub(super) const MAX_LIMIT: u64 = 1_000_000_000;
const MAX_WINDOW_MS: u64 = 366 * MILLIS_OF_DAY;

/// Always within its bounds, which is what keeps the algorithms' sums and products within theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub limit: u64,
    pub window_ms: u64,
}

impl Rule {
    /// `limit` and `window` as the client wrote them, in two words or split at the slash of one.
    pub fn parse(limit: &[u8], window: Option<&[u8]>) -> Result<Rule> {
        let limit = parse_number("limit", limit, 1..=MAX_LIMIT)?;
        let window = window.ok_or(Error::LimitWithoutWindow(limit))?;
        let takes = "1ms to 366d, a whole number with ms, s, m, h, d or none for seconds";
        let window_ms = window_millis(window);
        let window_ms = window_ms.ok_or_else(|| Error::Takes { what: "window", takes, got: Shown::new(window) })?;
        Ok(Rule { limit, window_ms })
    }

    /// The length of the window in microseconds.
    pub fn window_micros(self) -> u64 {
        self.window_ms.saturating_mul(1_000)
    }

    /// `micros` + window; neither comes near the end of an i64.
    pub fn window_after(self, micros: i64) -> i64 {
        micros.saturating_add_unsigned(self.window_micros())
    }

    /// `micros` - window.
    pub fn window_before(self, micros: i64) -> i64 {
        micros.saturating_sub_unsigned(self.window_micros())
    }
}

/// A number in a range, as a client writes it.
pub(super) fn parse_number(what: &'static str, text: &[u8], range: RangeInclusive<u64>) -> Result<u64> {
    let (least, most) = (*range.start(), *range.end());
    integer_within(text, range).ok_or_else(|| Error::TakesBetween { what, least, most, got: Shown::new(text) })
}

fn window_millis(text: &[u8]) -> Option<u64> {
    parse_duration(text, 1..=MAX_WINDOW_MS)
}

fn integer_within(text: &[u8], range: RangeInclusive<u64>) -> Option<u64> {
    u64::try_from(parse_integer(text)?).ok().filter(|value| range.contains(value))
}
