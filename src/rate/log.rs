//! The log of a `SLIDING` limiter: one sorted-set element for each call that passed.
//!
//! The score is the time in microseconds. The element is `total+cost`: the units of all calls before this one since the
//! log began, in 20 digits, and the units of this one; their sum is the next element's total. So elements are unique,
//! their lexical order within a microsecond is the order of the calls, and the units between two elements are the
//! difference of their totals, however many elements lie between.

use super::clock::MAX_MICROS;
use super::error::RateError;
use super::rule::MAX_LIMIT;
use super::text::{digits, push_number, push_padded, stored_number, Text};

const TOTAL_DIGITS: usize = 20;

/// Reads of a log in O(log n) each. The implementation makes entries with [`Entry::decode`].
pub trait Log {
    fn oldest(&mut self) -> Result<Option<Entry>, RateError>;

    /// Of several in the newest microsecond the lexically last.
    fn newest(&mut self) -> Result<Option<Entry>, RateError>;

    /// The first entry whose time is greater than `micros`, which may be negative.
    fn first_after(&mut self, micros: i64) -> Result<Option<Entry>, RateError>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(super) micros: i64,
    pub(super) total: u64,
    pub(super) cost: u64,
}

impl Entry {
    /// Anything that a limiter would not have written is [`RateError::NotALog`].
    pub fn decode(score: f64, element: &[u8]) -> Result<Entry, RateError> {
        Entry::decode_checked(score, element).ok_or(RateError::NotALog)
    }

    fn decode_checked(score: f64, element: &[u8]) -> Option<Entry> {
        // The cast saturates and makes NaN 0, so that only a whole number in range survives the way back.
        let micros = score as i64;
        if !(0..=MAX_MICROS).contains(&micros) || micros as f64 != score {
            return None;
        }
        let (total, cost) = element.split_at_checked(TOTAL_DIGITS)?;
        let total = digits(total)?;
        let cost = stored_number(cost.strip_prefix(b"+")?, 1..=MAX_LIMIT)?;
        total.checked_add(cost)?;
        Some(Entry { micros, total, cost })
    }

    /// All units up to and with this entry; [`Entry::decode`] made sure of the sum.
    pub(super) fn end(self) -> u64 {
        self.total.saturating_add(self.cost)
    }

    pub(super) fn element(self) -> Text {
        let mut element = Text::new();
        push_padded(&mut element, self.total, TOTAL_DIGITS);
        element.push(b"+");
        push_number(&mut element, self.cost);
        element
    }
}
