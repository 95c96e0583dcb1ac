//! The limiters on stores of their own, with clocks the tests set.

mod counter;
mod fixed;
mod gcra;
mod model;
mod parsing;
mod properties;
mod sliding;
mod stored;

use std::collections::{BTreeMap, BTreeSet};

use super::*;

pub(super) const MAX_LOG: u64 = 100_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MemoryLog {
    pub elements: BTreeSet<(i64, Vec<u8>)>,
    pub reads: usize,
}

fn entry((micros, element): &(i64, Vec<u8>)) -> Result<Entry, RateError> {
    Entry::decode(*micros as f64, element)
}

impl Log for MemoryLog {
    fn oldest(&mut self) -> Result<Option<Entry>, RateError> {
        self.reads += 1;
        self.elements.first().map(entry).transpose()
    }

    fn newest(&mut self) -> Result<Option<Entry>, RateError> {
        self.reads += 1;
        self.elements.last().map(entry).transpose()
    }

    fn first_after(&mut self, micros: i64) -> Result<Option<Entry>, RateError> {
        self.reads += 1;
        self.elements.range((micros + 1, vec![])..).next().map(entry).transpose()
    }
}

pub(super) type MemoryHash = BTreeMap<Vec<u8>, Vec<u8>>;

impl Fields for MemoryHash {
    fn read<T>(
        &mut self,
        field: &[u8],
        parse: impl FnOnce(&[u8]) -> Result<T, RateError>,
    ) -> Result<Option<T>, RateError> {
        self.get(field).map(|value| parse(value)).transpose()
    }
}

/// A key, which may hold either kind of limiter.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Limiter {
    pub log: Option<MemoryLog>,
    pub hash: Option<MemoryHash>,
    pub expire_at_ms: Option<i64>,
}

pub(super) fn parse(words: &str) -> Result<Request, RateError> {
    Request::parse(words.split_whitespace().map(str::as_bytes), MAX_LOG)
}

impl Limiter {
    /// What the server does with a request, at a time in microseconds that is the server's and the caller's.
    pub fn run(&mut self, words: &str, mode: Mode, micros: i64) -> Result<[i64; 6], RateError> {
        self.run_by(&parse(words)?, mode, Clock::new(micros, None))
    }

    pub fn run_by(&mut self, request: &Request, mode: Mode, clock: Clock) -> Result<[i64; 6], RateError> {
        if request.algorithm() == Algorithm::Sliding {
            let (verdict, append) = check_log(request, mode, clock, self.log.as_mut())?;
            if let Some(append) = append {
                self.append(append);
            }
            Ok(verdict.reply())
        } else {
            let (verdict, write) = check_hash(request, mode, clock, self.hash.as_mut())?;
            if let Some(write) = write {
                self.write(write);
            }
            Ok(verdict.reply())
        }
    }

    fn append(&mut self, append: Append) {
        let log = self.log.get_or_insert_default();
        let before = log.elements.len();
        log.elements.insert((append.micros, append.element.to_vec()));
        assert_eq!(log.elements.len(), before + 1, "an element is never written over");
        if let Some(through) = append.drop_through {
            let kept = log.elements.split_off(&(through + 1, vec![]));
            assert!(!log.elements.is_empty(), "there was something to drop");
            log.elements = kept;
        }
        self.expire_at_ms = self.expire_at_ms.max(Some(append.expire_at_ms));
    }

    fn write(&mut self, write: HashWrite) {
        if write.replace {
            *self = Limiter::default();
        }
        let fields = write.fields.iter().map(|(name, value)| (name.to_vec(), value.to_vec()));
        self.hash.get_or_insert_default().extend(fields);
        self.expire_at_ms = self.expire_at_ms.max(write.expire_at_ms);
    }
}

/// One line of a table: at this millisecond, this cost, `[limited, limit, remaining, retry, reset, rule]`.
pub(super) type Line = (i64, u64, [i64; 6]);

/// Before each check a peek must give the same verdict and wait and change nothing.
pub(super) fn assert_table(words: &str, lines: &[Line]) {
    assert_micros_table(words, lines.iter().map(|(ms, cost, reply)| (ms * 1_000, *cost, *reply)));
}

pub(super) fn assert_micros_table(words: &str, lines: impl IntoIterator<Item = Line>) {
    let mut limiter = Limiter::default();
    for (micros, cost, expected) in lines {
        let words = format!("{words} COST {cost}");
        let case = format!("{words} at {micros} us");
        let before = limiter.clone();
        let peeked = limiter.run(&words, Mode::Peek, micros).expect(&case);
        assert!(same_store(&limiter, &before), "a peek changed something: {case}");
        let checked = limiter.run(&words, Mode::Check, micros).expect(&case);
        assert_eq!(checked, expected, "{case}");
        let [limited, limit, remaining, retry, _, rule] = checked;
        assert_eq!((peeked[0], peeked[1], peeked[3], peeked[5]), (limited, limit, retry, rule), "{case}");
        if limited == 1 || cost == 0 {
            assert!(same_store(&limiter, &before), "denied, and yet something changed: {case}");
            assert_eq!(peeked, checked, "{case}");
        } else {
            assert_eq!(peeked[2], remaining + cost as i64, "{case}");
        }
    }
}

/// How often a log was read is not part of what it holds.
fn same_store(one: &Limiter, other: &Limiter) -> bool {
    let elements = |limiter: &Limiter| limiter.log.as_ref().map(|log| log.elements.clone());
    elements(one) == elements(other) && one.hash == other.hash && one.expire_at_ms == other.expire_at_ms
}
