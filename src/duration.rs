//! Durations as clients write them, for windows, leases and waits: `500ms`, `30s`, `5m`, `2h`, `1d`, or seconds as `30`.
//! One parser, so that they are the same in every command.

use std::ops::RangeInclusive;

use crate::error::Result;
use crate::number::parse_integer;
use crate::words::Word;

#[cfg(test)]
mod tests;

pub const MILLIS_OF_DAY: u64 = 86_400_000;

/// Longest first.
const UNITS: [(&str, u64); 5] =
    [("d", MILLIS_OF_DAY), ("h", MILLIS_OF_DAY / 24), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Parses a duration, in milliseconds. `None` if it is not a duration, or not in the range.
pub fn parse_duration(text: &[u8], range: RangeInclusive<u64>) -> Option<u64> {
    // Shortest first, because what ends with `ms` ends with `s` too.
    let unit = UNITS.iter().rev().find_map(|(unit, millis)| Some((text.strip_suffix(unit.as_bytes())?, *millis)));
    let (number, millis) = unit.unwrap_or((text, 1_000));
    u64::try_from(parse_integer(number)?).ok()?.checked_mul(millis).filter(|value| range.contains(value))
}

/// The same for a client's argument. An error names it, and the range.
pub fn duration_in(word: impl Word, what: &str, range: RangeInclusive<u64>) -> Result<u64> {
    let (least, most) = (*range.start(), *range.end());
    parse_duration(word.bytes(), range).ok_or_else(|| {
        let (least, most) = (duration_text(least), duration_text(most));
        word.refuse(what, &format!("{least} to {most}, a whole number with ms, s, m, h, d or none for seconds"))
    })
}

/// With the longest unit of which it is a multiple; `0` has none.
pub fn duration_text(millis: u64) -> String {
    let (unit, length) = longest_unit(millis);
    let number = millis.checked_div(length).unwrap_or(0);
    if number == 0 {
        "0".to_owned()
    } else {
        format!("{number}{unit}")
    }
}

/// The longest unit of which a duration is a multiple, and its milliseconds.
pub fn longest_unit(millis: u64) -> (&'static str, u64) {
    UNITS.into_iter().find(|(_, length)| millis.is_multiple_of(*length)).unwrap_or(("ms", 1))
}
