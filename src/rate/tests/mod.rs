//! The limiters on stores of their own, with clocks the tests set.

mod calendar;
mod counter;
mod fixed;
mod gcra;
mod keys;
mod lease;
mod lease_interleavings;
mod model;
mod parsing;
mod properties;
mod settlements;
mod side_by_side;
mod sliding;
mod stored;
mod string_interleavings;
mod waits;

use super::memory::Limiter;
use super::*;
use crate::error::{Error, Result};
use crate::zset::{MemorySet, SortedSet};

pub(super) const MAX_LOG: u64 = 100_000;

pub(super) fn request(words: &str, action: Action, max_log: u64) -> Result<Request> {
    let words: Vec<&[u8]> = words.split_whitespace().map(str::as_bytes).collect();
    super::memory::request(&words, action, max_log)
}

pub(super) fn parse_for(words: &str, action: Action) -> Result<Request> {
    let request = request(words, action, MAX_LOG)?;
    Request::check_windows(request.rules.iter())?;
    Ok(request)
}

pub(super) fn parse(words: &str) -> Result<Request> {
    parse_for(words, Action::Check)
}

impl Limiter {
    /// At a time in microseconds that is the server's and the caller's.
    pub fn run(&mut self, words: &str, action: Action, micros: i64) -> Result<[i64; 6]> {
        let answer = self.run_by(&parse_for(words, action)?, Clock::new(micros, None))?;
        Ok(answer.verdict()?.reply())
    }

    /// The six numbers, and what the options add.
    pub fn reply(&mut self, words: &str, action: Action, micros: i64) -> Result<Vec<i64>> {
        let verdict = self.run_by(&parse_for(words, action)?, Clock::new(micros, None))?.verdict()?;
        Ok(verdict.reply().into_iter().chain(verdict.more.iter().map(|(_, value)| value)).collect())
    }

    /// The text of a string limiter.
    pub fn line(&self) -> String {
        String::from_utf8(self.text.clone().unwrap_or_default()).expect("a text")
    }
}

/// One line of a table: at this millisecond, this cost, `[limited, limit, remaining, retry, reset, rule]`.
pub(super) type TableLine = (i64, u64, [i64; 6]);

/// Before each check a peek must give the same verdict and wait and change nothing.
pub(super) fn assert_table(words: &str, lines: &[TableLine]) {
    assert_micros_table(words, lines.iter().map(|(ms, cost, reply)| (ms * 1_000, *cost, *reply)));
}

pub(super) fn assert_micros_table(words: &str, lines: impl IntoIterator<Item = TableLine>) {
    let mut limiter = Limiter::default();
    for (micros, cost, expected) in lines {
        let words = format!("{words} COST {cost}");
        let case = format!("{words} at {micros} us");
        let before = limiter.clone();
        let peeked = limiter.run(&words, Action::Peek, micros).expect(&case);
        assert_eq!(limiter, before, "a peek changed something: {case}");
        let checked = limiter.run(&words, Action::Check, micros).expect(&case);
        assert_eq!(checked, expected, "{case}");
        let [limited, limit, remaining, retry, _, rule] = checked;
        assert_eq!((peeked[0], peeked[1], peeked[3], peeked[5]), (limited, limit, retry, rule), "{case}");
        if limited == 1 || cost == 0 {
            assert_eq!(limiter, before, "denied, and yet something changed: {case}");
            assert_eq!(peeked, checked, "{case}");
        } else {
            assert_eq!(peeked[2], remaining + cost as i64, "{case}");
        }
    }
}
