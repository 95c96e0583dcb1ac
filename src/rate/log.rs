//! The log of a `SLIDING` limiter: one sorted-set element for each call that passed.
//!
//! The score is the time in microseconds. The element is `total+cost+window`: the units of all calls before this one
//! since the log began, in 20 digits, the units of this one, and the longest window that the log has seen, in
//! milliseconds. Total and cost are the next element's total. So elements are unique, their lexical order within a
//! microsecond is the order of the calls, and the units between two elements are the difference of their totals, however
//! many elements lie between.

use super::clock::MAX_MICROS;
use super::duration::MAX_WINDOW_MS;
use super::rule::MAX_LIMIT;
use super::text::{read_number, Text};
use crate::error::{Error, Result};
use crate::number::leading_number;

const TOTAL_DIGITS: usize = 20;

/// Reads of a log in O(log n) each. The implementation makes entries with [`Entry::decode`].
pub trait Log {
    /// The first entry; `None` if the log is empty.
    fn oldest(&mut self) -> Result<Option<Entry>>;

    /// The last entry: of several in the newest microsecond the lexically last.
    fn newest(&mut self) -> Result<Option<Entry>>;

    /// The first entry whose time is greater than `micros`, which may be negative.
    fn first_after(&mut self, micros: i64) -> Result<Option<Entry>>;

    /// How many entries there are.
    fn entries(&mut self) -> u64;

    /// How many of them have a time up to and including this one.
    fn len_through(&mut self, micros: i64) -> Result<u64>;

    /// Shows the entries from the newest on, until `visit` has seen enough.
    fn walk_back(&mut self, visit: &mut dyn FnMut(Entry) -> bool) -> Result<()>;
}

/// A call that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub(super) micros: i64,
    pub(super) total: u64,
    pub(super) cost: u64,
    pub(super) window_ms: u64,
}

impl Entry {
    /// Anything that a limiter would not have written is [`Error::NotALog`].
    pub fn decode(score: f64, element: &[u8]) -> Result<Entry> {
        Entry::decode_checked(score, element).ok_or(Error::NotALog)
    }

    fn decode_checked(score: f64, element: &[u8]) -> Option<Entry> {
        // The cast saturates and makes NaN 0, so that only a whole number in range survives the way back.
        let micros = score as i64;
        if !(0..=MAX_MICROS).contains(&micros) || micros as f64 != score {
            return None;
        }
        let (total, rest) = leading_number(element)?;
        if element.len().checked_sub(rest.len()) != Some(TOTAL_DIGITS) {
            return None;
        }
        let total = u64::try_from(total).ok()?;
        let (cost, rest) = read_number(rest.strip_prefix(b"+")?, 0..=MAX_LIMIT)?;
        let (window_ms, rest) = read_number(rest.strip_prefix(b"+")?, 1..=MAX_WINDOW_MS)?;
        total.checked_add(cost)?;
        rest.is_empty().then_some(Entry { micros, total, cost, window_ms })
    }

    /// All units up to and including this entry. [`Entry::decode`] has checked that the sum fits.
    pub(super) fn end(self) -> u64 {
        self.total.saturating_add(self.cost)
    }

    /// The sorted-set element of this entry.
    pub(super) fn element(self) -> Text {
        let mut buffer = itoa::Buffer::new();
        let total = buffer.format(self.total).as_bytes();
        let mut element = Text::new();
        element.push([b'0'; TOTAL_DIGITS].get(total.len()..).unwrap_or_default());
        element.push(total);
        element.push(b"+");
        element.push_number(self.cost);
        element.push(b"+");
        element.push_number(self.window_ms);
        element
    }
}
