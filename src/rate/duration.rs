//! Durations of limiters: from 1 ms to 366 days, and as a limiter stores them, `500ms`, `90s`, `1m`, `12h`, `366d`.

use super::digits::ShortText;
use crate::duration::{duration_in, longest_unit, MILLIS_OF_DAY};
use crate::error::Result;
use crate::words::Word;

pub(super) const MAX_WINDOW_MS: u64 = 366 * MILLIS_OF_DAY;

pub fn parse_duration(what: &str, word: impl Word) -> Result<u64> {
    duration_in(word, what, 1..=MAX_WINDOW_MS)
}

/// The same for what a limiter wrote; `None` for anything else.
pub(super) fn millis(text: &[u8]) -> Option<u64> {
    crate::duration::parse_duration(text, 1..=MAX_WINDOW_MS)
}

/// Writes it with the longest unit of which it is a multiple.
pub(super) fn push_duration(text: &mut ShortText, millis: u64) {
    let (unit, length) = longest_unit(millis);
    text.extend_from_slice(itoa::Buffer::new().format(millis.checked_div(length).unwrap_or(0)).as_bytes());
    text.extend_from_slice(unit.as_bytes());
}

/// Parses what [`push_duration`] wrote: another form of the same duration is not accepted.
pub(super) fn stored_millis(text: &[u8]) -> Option<u64> {
    let millis = millis(text)?;
    let number = text.strip_suffix(longest_unit(millis).0.as_bytes())?;
    matches!((number.first()?, number.last()?), (b'1'..=b'9', b'0'..=b'9')).then_some(millis)
}
