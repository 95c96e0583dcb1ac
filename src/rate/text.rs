//! Short texts that limiters store, and the numbers in them.

use std::ops::{Deref, RangeInclusive};

use crate::number::leading_number;

/// An element or a name. The longest there is has 43 bytes; a fixed buffer keeps the heap, and the bookkeeping of a
/// growing one, off the way of every call.
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
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// A number without leading zeros, and what follows it.
pub(super) fn read_number<T: TryFrom<u128> + PartialOrd>(text: &[u8], range: RangeInclusive<T>) -> Option<(T, &[u8])> {
    if matches!(text, [b'0', b'0'..=b'9', ..]) {
        return None;
    }
    let (number, rest) = leading_number(text)?;
    let number = T::try_from(number).ok().filter(|number| range.contains(number))?;
    Some((number, rest))
}
