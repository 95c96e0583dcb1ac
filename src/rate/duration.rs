//! Durations of limiters: from 1 ms to 366 days, and as a limiter stores them, `500ms`, `90s`, `1m`, `12h`, `366d`.

use super::digits::Text;
use crate::duration::MILLIS_OF_DAY;
use crate::error::{Error, Result, Shown};

pub(super) const MAX_WINDOW_MS: u64 = 366 * MILLIS_OF_DAY;

/// From the longest to the shortest.
const UNITS: [(&[u8], u64); 5] =
    [(b"d", MILLIS_OF_DAY), (b"h", MILLIS_OF_DAY / 24), (b"m", 60_000), (b"s", 1_000), (b"ms", 1)];

/// A whole number of milliseconds, as a client writes it.
pub fn parse_duration(what: &'static str, text: &[u8]) -> Result<u64> {
    let takes = "1ms to 366d, a whole number with ms, s, m, h, d or none for seconds";
    millis(text).ok_or_else(|| Error::Takes { what, takes, got: Shown::new(text) })
}

/// The same for what a limiter wrote; `None` for anything else.
pub(super) fn millis(text: &[u8]) -> Option<u64> {
    crate::duration::parse_duration(text, 1..=MAX_WINDOW_MS)
}

/// Writes it with the longest unit of which it is a multiple.
pub(super) fn push_duration(text: &mut Text, millis: u64) {
    let unit = UNITS.iter().find(|(_, of_unit)| millis.is_multiple_of(*of_unit));
    if let Some((name, of_unit)) = unit {
        text.extend_from_slice(itoa::Buffer::new().format(millis / of_unit).as_bytes());
        text.extend_from_slice(name);
    }
}
