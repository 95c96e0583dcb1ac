//! One rule: so many units in such a window.

use std::iter;
use std::ops::RangeInclusive;

use super::error::RateError;
use crate::error::Shown;
use crate::number::parse_integer;

pub(super) const MAX_LIMIT: u64 = 1_000_000_000;
const MAX_WINDOW_MS: u64 = 366 * 24 * 60 * 60 * 1_000;
const MILLIS_OF_UNIT: [(&[u8], u64); 5] = [
    // `ms` before `s`: the first suffix that matches wins.
    (b"ms", 1),
    (b"s", 1_000),
    (b"m", 60_000),
    (b"h", 3_600_000),
    (b"d", 86_400_000),
];
const MILLIS_WITHOUT_UNIT: u64 = 1_000;

/// Always within its bounds, which is what keeps the algorithms' sums and products within theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    limit: u64,
    window_ms: u64,
}

impl Rule {
    /// `limit` and `window` as the client wrote them, in two words or split at the slash of one.
    pub(super) fn parse(limit: &[u8], window: Option<&[u8]>) -> Result<Rule, RateError> {
        let limit = parse_limit("limit", limit)?;
        let window = window.ok_or(RateError::LimitWithoutWindow { limit })?;
        let window_ms = window_millis(window).ok_or_else(|| RateError::Window { got: Shown::new(window) })?;
        Ok(Rule { limit, window_ms })
    }

    pub(super) fn limit(self) -> u64 {
        self.limit
    }

    pub(super) fn window_ms(self) -> u64 {
        self.window_ms
    }

    pub(super) fn window_micros(self) -> u64 {
        self.window_ms.saturating_mul(1_000)
    }

    /// `micros` + window; neither comes near the end of an i64.
    pub(super) fn window_after(self, micros: i64) -> i64 {
        micros.saturating_add_unsigned(self.window_micros())
    }

    pub(super) fn window_before(self, micros: i64) -> i64 {
        micros.saturating_sub_unsigned(self.window_micros())
    }
}

/// The rules of a call, of which there is at least one. That one has a place of its own: few calls bring more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    first: Rule,
    more: Vec<Rule>,
}

impl Rules {
    pub(super) fn new(first: Rule) -> Rules {
        Rules { first, more: Vec::new() }
    }

    pub(super) fn push(&mut self, rule: Rule) {
        self.more.push(rule);
    }

    pub(super) fn len(&self) -> usize {
        self.more.len().saturating_add(1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Rule> + '_ {
        iter::once(self.first).chain(self.more.iter().copied())
    }

    pub(super) fn longest_window(&self) -> Rule {
        let longer = |a: Rule, b: &Rule| if b.window_ms > a.window_ms { *b } else { a };
        self.more.iter().fold(self.first, longer)
    }
}

/// A limit, or a bucket's size, which has the same bounds.
pub(super) fn parse_limit(argument: &'static str, text: &[u8]) -> Result<u64, RateError> {
    parse_number(argument, text, 1, MAX_LIMIT)
}

pub(super) fn parse_number(argument: &'static str, text: &[u8], least: u64, most: u64) -> Result<u64, RateError> {
    integer_within(text, least..=most).ok_or_else(|| RateError::Number { argument, least, most, got: Shown::new(text) })
}

fn window_millis(text: &[u8]) -> Option<u64> {
    let (number, millis) = MILLIS_OF_UNIT
        .iter()
        .find_map(|(unit, millis)| Some((text.strip_suffix(*unit)?, *millis)))
        .unwrap_or((text, MILLIS_WITHOUT_UNIT));
    Some(integer_within(number, 1..=MAX_WINDOW_MS / millis)?.saturating_mul(millis))
}

fn integer_within(text: &[u8], range: RangeInclusive<u64>) -> Option<u64> {
    u64::try_from(parse_integer(text)?).ok().filter(|value| range.contains(value))
}
