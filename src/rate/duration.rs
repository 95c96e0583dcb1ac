//! Durations of limiters: from 1 ms to 366 days, and as a limiter stores them, `500ms`, `90s`, `1m`, `12h`, `366d`.

use super::digits::ShortText;
use crate::duration::MILLIS_OF_DAY;
use crate::error::{Error, Result};

pub(super) const MAX_WINDOW_MS: u64 = 366 * MILLIS_OF_DAY;

/// A whole number of milliseconds, as a client writes it.
pub fn parse_duration(what: &'static str, text: &[u8]) -> Result<u64> {
    let takes = "1ms to 366d, a whole number with ms, s, m, h, d or none for seconds";
    millis(text).ok_or_else(|| Error::takes(what, takes, text))
}

/// The same for what a limiter wrote; `None` for anything else.
pub(super) fn millis(text: &[u8]) -> Option<u64> {
    crate::duration::parse_duration(text, 1..=MAX_WINDOW_MS)
}

/// Writes it with the longest unit of which it is a multiple.
pub(super) fn push_duration(text: &mut ShortText, millis: u64) {
    const HOUR: u64 = MILLIS_OF_DAY / 24;
    let (number, unit): (u64, &[u8]) = match millis {
        days if days.is_multiple_of(MILLIS_OF_DAY) => (days / MILLIS_OF_DAY, b"d"),
        hours if hours.is_multiple_of(HOUR) => (hours / HOUR, b"h"),
        minutes if minutes.is_multiple_of(60_000) => (minutes / 60_000, b"m"),
        seconds if seconds.is_multiple_of(1_000) => (seconds / 1_000, b"s"),
        millis => (millis, b"ms"),
    };
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    text.extend_from_slice(unit);
}

/// The same for what [`push_duration`] wrote: another form of the same duration is not accepted.
pub(super) fn stored_millis(text: &[u8]) -> Option<u64> {
    let millis = millis(text).filter(|_| matches!(text, [b'1'..=b'9', ..]))?;
    let is_shortest = match text {
        [.., b'm', b's'] => !millis.is_multiple_of(1_000),
        [.., b's'] => !millis.is_multiple_of(60_000),
        [.., b'm'] => !millis.is_multiple_of(MILLIS_OF_DAY / 24),
        [.., b'h'] => !millis.is_multiple_of(MILLIS_OF_DAY),
        [.., b'd'] => true,
        _ => false,
    };
    is_shortest.then_some(millis)
}
