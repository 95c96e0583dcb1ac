//! Numbers as limiters store them.

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
    out.push(itoa::Buffer::new().format(value).as_bytes());
}

/// Zeros in front up to `width` digits, of which there are at most 20.
pub(super) fn push_padded(out: &mut Text, value: u64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value).as_bytes();
    out.push([b'0'; DIGITS_OF_U64].get(..width.saturating_sub(digits.len())).unwrap_or_default());
    out.push(digits);
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
    if text.is_empty() {
        return None;
    }
    let digit = |byte: &u8| Some(u64::from(byte.wrapping_sub(b'0'))).filter(|digit| *digit <= 9);
    // Two times eight cannot overflow, and neither can fewer than twenty in all.
    let mut value: u64 = 0;
    let mut rest = text;
    while let (Some((eight, others)), true) = (rest.split_first_chunk::<8>(), value < EIGHT_DIGITS) {
        value = value.wrapping_mul(EIGHT_DIGITS).wrapping_add(eight_digits(*eight)?);
        rest = others;
    }
    if text.len() >= DIGITS_OF_U64 {
        return rest.iter().try_fold(value, |value, byte| value.checked_mul(10)?.checked_add(digit(byte)?));
    }
    for byte in rest {
        value = value.wrapping_mul(10).wrapping_add(digit(byte)?);
    }
    Some(value)
}

const EIGHT_DIGITS: u64 = 100_000_000;

/// Eight digits at once: pairs of neighbours are added up, the one in front ten times, then pairs of pairs, then the halves.
fn eight_digits(text: [u8; 8]) -> Option<u64> {
    const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
    const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
    /// What lifts a byte over '9' to 0x80.
    const OVER_NINE: u64 = u64::from_le_bytes([0x7F - b'9'; 8]);
    let bytes = u64::from_le_bytes(text);
    let digits = bytes.wrapping_sub(ZEROS);
    if (digits | bytes.wrapping_add(OVER_NINE) | bytes) & HIGH_BITS != 0 {
        return None;
    }
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF)
}

/// Numbers with one space between.
pub(super) fn words<const N: usize>(text: &[u8]) -> Option<[&[u8]; N]> {
    let mut rest = Some(text);
    let mut words: [&[u8]; N] = [&[]; N];
    for word in &mut words {
        let text = rest?;
        match text.iter().position(|byte| *byte == b' ') {
            Some(space) => {
                let (before, behind) = text.split_at_checked(space)?;
                (*word, rest) = (before, behind.get(1..));
            }
            None => (*word, rest) = (text, None),
        }
    }
    rest.is_none().then_some(words)
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
