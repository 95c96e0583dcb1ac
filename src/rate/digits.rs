//! The texts that limiters store, and the numbers in them: base 36, in digits and lower-case letters, as
//! `parseInt(text, 36)` of JavaScript and `int(text, 36)` of Python read them. In decimal an allowed call would send a
//! third more digits to the AOF and the replicas.

use smallvec::SmallVec;

use super::request::MAX_WINDOW_MS;
use crate::duration::{longest_unit, parse_duration};

/// The text of a string limiter, or an element of a log. Most are short enough to need no allocation.
pub type ShortText = SmallVec<[u8; 64]>;

const BASE: u64 = 36;
const DIGITS: &[u8; BASE as usize] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// Numbers of this many digits fit 64 bits, in which nearly all calls calculate.
const FEW: usize = 12;
const ABOVE_FEW: u128 = (BASE as u128).pow(FEW as u32);

/// The number of 1 to 24 digits at the start of a text, and what follows it; leading zeros are fine.
pub(super) fn leading(text: &[u8]) -> Option<(u128, &[u8])> {
    let mut length = 0;
    let mut digits = text.iter().take(2 * FEW + 1).map_while(|byte| digit(*byte)).fuse().inspect(|_| length += 1);
    let first = digits.by_ref().take(FEW).fold(0, |value: u64, digit| value.wrapping_mul(BASE).wrapping_add(digit));
    let value =
        digits.fold(u128::from(first), |value, digit| value.wrapping_mul(BASE.into()).wrapping_add(digit.into()));
    let rest = text.get(length..).filter(|_| (1..=2 * FEW).contains(&length))?;
    Some((value, rest))
}

/// The value of a digit; `None` for any other byte.
pub(super) fn digit(byte: u8) -> Option<u64> {
    match byte {
        b'0'..=b'9' => Some((byte - b'0').into()),
        b'a'..=b'z' => Some((byte - b'a' + 10).into()),
        _ => None,
    }
}

/// Writes a number over a place, with zeros in front of it. Returns where the first digit is that changed, the width of the
/// place if none did; `None` if the number does not fit.
pub(super) fn fill(place: &mut [u8], number: u128) -> Option<usize> {
    let (mut high, mut low) = match u64::try_from(number) {
        Ok(number) => (0, number),
        Err(_) => (u64::try_from(number / ABOVE_FEW).ok()?, (number % ABOVE_FEW) as u64),
    };
    let (width, mut changed) = (place.len(), 0);
    for (at, byte) in (1..).zip(place.iter_mut().rev()) {
        let digit = DIGITS.get((low % BASE) as usize).copied().unwrap_or(b'0');
        if *byte != digit {
            *byte = digit;
            changed = at;
        }
        low /= BASE;
        if at == FEW {
            low += std::mem::take(&mut high);
        }
    }
    (low == 0 && high == 0).then_some(width - changed)
}

pub(super) fn width(number: u128) -> usize {
    match u64::try_from(number) {
        Ok(number) => number.checked_ilog(BASE).map_or(1, |log| log as usize + 1),
        Err(_) => width(number / ABOVE_FEW) + FEW,
    }
}

/// Appends a number without leading zeros.
pub(super) fn push(text: &mut ShortText, number: u64) {
    let start = text.len();
    text.resize(start.saturating_add(width(number.into())), b'0');
    fill(text.get_mut(start..).unwrap_or_default(), number.into());
}

/// Appends a duration with the longest unit of which it is a multiple: `500ms`, `90s`, `1m`, `12h`, `366d`.
pub(super) fn push_duration(text: &mut ShortText, millis: u64) {
    let (unit, length) = longest_unit(millis);
    text.extend_from_slice(itoa::Buffer::new().format(millis.checked_div(length).unwrap_or(0)).as_bytes());
    text.extend_from_slice(unit.as_bytes());
}

/// Parses a duration from 1 ms to 366 days.
pub(super) fn millis(text: &[u8]) -> Option<u64> {
    parse_duration(text, 1..=MAX_WINDOW_MS)
}

/// Parses what [`push_duration`] wrote: another form of the same duration is not accepted.
pub(super) fn stored_millis(text: &[u8]) -> Option<u64> {
    let millis = millis(text)?;
    let number = text.strip_suffix(longest_unit(millis).0.as_bytes())?;
    matches!((number.first()?, number.last()?), (b'1'..=b'9', b'0'..=b'9')).then_some(millis)
}
