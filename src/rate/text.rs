//! Short texts that limiters store, and the numbers in them.

use std::ops::{Deref, RangeInclusive};

/// An element or a name. The longest has 43 bytes, so a fixed buffer is enough, and calls need no allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// Zeros after `len`.
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
pub(super) fn read_number(text: &[u8], range: RangeInclusive<u64>) -> Option<(u64, &[u8])> {
    if matches!(text, [b'0', b'0'..=b'9', ..]) {
        return None;
    }
    let (mut number, mut rest) = (0_u64, text);
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        number = number.checked_mul(10)?.checked_add((digit - b'0').into())?;
        rest = after;
    }
    (rest.len() < text.len() && range.contains(&number)).then_some((number, rest))
}
