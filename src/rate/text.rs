//! Numbers as limiters store them and as clients send them, and client bytes made fit for an error message.

use crate::error::Shown;
use std::fmt;
use std::ops::{Deref, RangeInclusive};

/// A stored name, value or element. The longest there is has 43 bytes; a fixed buffer keeps the heap, and the bookkeeping of
/// a growing one, off the way of every call.
#[derive(Clone, Copy)]
pub struct Text {
    bytes: [u8; Text::CAPACITY],
    len: u8,
}

impl Text {
    const CAPACITY: usize = 47;

    pub(super) fn new() -> Text {
        Text { bytes: [0; Text::CAPACITY], len: 0 }
    }

    pub(super) fn of(text: &str) -> Text {
        let mut copy = Text::new();
        copy.push(text.as_bytes());
        copy
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        let start = usize::from(self.len);
        let end = start.saturating_add(piece.len());
        debug_assert!(end <= Text::CAPACITY, "no stored text is that long");
        if let Some(free) = self.bytes.get_mut(start..end) {
            free.copy_from_slice(piece);
            self.len = end as u8;
        }
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        **self == **other
    }
}

impl Eq for Text {}

impl fmt::Debug for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", Shown::new(self))
    }
}

const DIGITS_OF_U64: usize = 20;
/// A u128 is written and read as two halves of which each fits a u64.
const LOW_DIGITS: usize = 18;
const LOW_BASE: u128 = 1_000_000_000_000_000_000;

pub(super) fn push_number(out: &mut Text, value: u64) {
    push_padded(out, value, 1);
}

/// Zeros in front up to `width` digits, of which there are at most 20.
pub(super) fn push_padded(out: &mut Text, value: u64, width: usize) {
    let mut digits = [b'0'; DIGITS_OF_U64];
    let mut rest = value;
    let mut written = 0;
    for digit in digits.iter_mut().rev() {
        if rest == 0 && written >= width {
            break;
        }
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        written += 1;
    }
    let start = DIGITS_OF_U64.saturating_sub(written);
    out.push(digits.get(start..).unwrap_or_default());
}

/// For numbers below 10^37; stored debts have at most 26 digits.
pub(super) fn push_long_number(out: &mut Text, value: u128) {
    match u64::try_from(value) {
        Ok(short) => push_number(out, short),
        Err(_) => {
            push_number(out, (value / LOW_BASE) as u64);
            push_padded(out, (value % LOW_BASE) as u64, LOW_DIGITS);
        }
    }
}

/// One or more digits and nothing else.
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |byte: &u8| u64::from(byte.wrapping_sub(b'0'));
    if text.len() < DIGITS_OF_U64 {
        // Cannot overflow, and this is on the way of every call.
        return Some(text.iter().fold(0, |value: u64, byte| value.wrapping_mul(10).wrapping_add(digit(byte))));
    }
    text.iter().try_fold(0_u64, |value, byte| value.checked_mul(10)?.checked_add(digit(byte)))
}

/// A number exactly as `push_number` writes it.
pub(super) fn stored_number(text: &[u8], range: RangeInclusive<u64>) -> Option<u64> {
    if has_leading_zero(text) {
        return None;
    }
    digits(text).filter(|value| range.contains(value))
}

fn has_leading_zero(text: &[u8]) -> bool {
    text.len() > 1 && text.first() == Some(&b'0')
}

/// A number exactly as `push_long_number` writes it.
pub(super) fn stored_long_number(text: &[u8]) -> Option<u128> {
    if has_leading_zero(text) {
        return None;
    }
    if text.len() < DIGITS_OF_U64 {
        return digits(text).map(u128::from);
    }
    let (high, low) = text.split_at_checked(text.len().checked_sub(LOW_DIGITS)?)?;
    let high = u128::from(digits(high)?);
    high.checked_mul(LOW_BASE)?.checked_add(u128::from(digits(low)?))
}

/// A client's integer: an optional sign and digits, leading zeros are fine.
pub(super) fn client_integer(text: &[u8], range: RangeInclusive<u64>) -> Option<u64> {
    let value = match text.split_first() {
        Some((b'+', rest)) => digits(rest)?,
        Some((b'-', rest)) => digits(rest).filter(|value| *value == 0)?,
        _ => digits(text)?,
    };
    range.contains(&value).then_some(value)
}
