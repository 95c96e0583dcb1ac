//! Numbers as limiters store them: decimal, without leading zeros.

use std::ops::{Deref, RangeInclusive};

use crate::number::leading_number;

/// A stored name, value or element. The longest there is has 43 bytes; a fixed buffer keeps the heap, and the bookkeeping of
/// a growing one, off the way of every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// Zeros behind `len`.
    bytes: [u8; Text::CAPACITY],
    len: usize,
}

impl Text {
    const CAPACITY: usize = 48;

    /// A text to append to.
    pub(super) fn new() -> Text {
        Text { bytes: [0; Text::CAPACITY], len: 0 }
    }

    /// Appends some bytes.
    pub(super) fn push(&mut self, piece: &[u8]) {
        let end = self.len.saturating_add(piece.len());
        debug_assert!(end <= Text::CAPACITY, "no stored text is that long");
        if let Some(free) = self.bytes.get_mut(self.len..end) {
            free.copy_from_slice(piece);
            self.len = end;
        }
    }

    /// Appends a number.
    pub(super) fn push_number(&mut self, number: impl itoa::Integer) {
        self.push(itoa::Buffer::new().format(number).as_bytes());
    }

    /// Appends a number, behind a space unless it is the first.
    pub(super) fn push_spaced(&mut self, number: impl itoa::Integer) {
        if self.len > 0 {
            self.push(b" ");
        }
        self.push_number(number);
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Exactly so many numbers with one space between.
pub(super) fn read_numbers<const N: usize>(text: &[u8]) -> Option<[u128; N]> {
    let mut numbers = [0; N];
    let mut rest = text;
    for (place, number) in numbers.iter_mut().enumerate() {
        if place > 0 {
            rest = rest.strip_prefix(b" ")?;
        }
        if matches!(rest, [b'0', b'0'..=b'9', ..]) {
            return None;
        }
        (*number, rest) = leading_number(rest)?;
    }
    rest.is_empty().then_some(numbers)
}

/// The number, if it is in the range.
pub(super) fn within<T: TryFrom<u128> + PartialOrd>(number: u128, range: RangeInclusive<T>) -> Option<T> {
    T::try_from(number).ok().filter(|number| range.contains(number))
}
