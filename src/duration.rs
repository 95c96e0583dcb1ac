//! Durations as clients write them, for windows, leases and waits: `500ms`, `30s`, `5m`, `2h`, `1d`, or seconds as `30`.

use std::ops::RangeInclusive;

use crate::number::parse_integer;

/// The first suffix that matches wins: `ms` is before `s`, and no unit, which means seconds, is last.
const MILLIS_OF_UNIT: [(&[u8], u64); 6] =
    [(b"ms", 1), (b"s", 1_000), (b"m", 60_000), (b"h", MILLIS_OF_DAY / 24), (b"d", MILLIS_OF_DAY), (b"", 1_000)];

/// The milliseconds of a day.
pub const MILLIS_OF_DAY: u64 = 86_400_000;

/// Parses a duration, in milliseconds. `None` if it is not a duration, or not in the range.
pub fn parse_duration(text: &[u8], range: RangeInclusive<u64>) -> Option<u64> {
    let (number, millis) =
        MILLIS_OF_UNIT.iter().find_map(|(unit, millis)| Some((text.strip_suffix(*unit)?, *millis)))?;
    u64::try_from(parse_integer(number)?).ok()?.checked_mul(millis).filter(|value| range.contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        let cases: [(&str, Option<u64>); 18] = [
            ("0", Some(0)),
            ("0d", Some(0)),
            ("1", Some(1_000)),
            ("007s", Some(7_000)),
            ("+5ms", Some(5)),
            ("5s", Some(5_000)),
            ("5m", Some(300_000)),
            ("5h", Some(18_000_000)),
            ("2d", Some(172_800_000)),
            ("366d", Some(366 * MILLIS_OF_DAY)),
            ("367d", None),
            ("9223372036854775807d", None),
            ("-1", None),
            ("", None),
            ("s", None),
            ("1.5s", None),
            ("5S", None),
            ("5 s", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_duration(text.as_bytes(), 0..=366 * MILLIS_OF_DAY), expected, "{text}");
        }
        assert_eq!(parse_duration(b"0", 1..=5_000), None);
    }
}
