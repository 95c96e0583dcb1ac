//! Limiters in memory, as naive as can be, for tests of what judges by them.

use std::collections::{BTreeMap, BTreeSet};

use super::{check_hash, check_log, Algorithm, Append, Clock, Entry, Fields, HashWrite, Log, Mode, Request};
use crate::error::Result;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryLog {
    pub elements: BTreeSet<(i64, Vec<u8>)>,
    pub reads: usize,
}

fn entry((micros, element): &(i64, Vec<u8>)) -> Result<Entry> {
    Entry::decode(*micros as f64, element)
}

impl Log for MemoryLog {
    fn oldest(&mut self) -> Result<Option<Entry>> {
        self.reads += 1;
        self.elements.first().map(entry).transpose()
    }

    fn newest(&mut self) -> Result<Option<Entry>> {
        self.reads += 1;
        self.elements.last().map(entry).transpose()
    }

    fn first_after(&mut self, micros: i64) -> Result<Option<Entry>> {
        self.reads += 1;
        self.elements.range((micros + 1, vec![])..).next().map(entry).transpose()
    }
}

pub type MemoryHash = BTreeMap<Vec<u8>, Vec<u8>>;

impl Fields for MemoryHash {
    fn read<T>(&mut self, field: &[u8], parse: impl FnOnce(&[u8]) -> Result<T>) -> Result<Option<T>> {
        self.get(field).map(|value| parse(value)).transpose()
    }
}

/// A key, which may hold either kind of limiter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limiter {
    pub log: Option<MemoryLog>,
    pub hash: Option<MemoryHash>,
    pub expire_at_ms: Option<i64>,
}

impl Limiter {
    /// What the server does with a request.
    pub fn run_by(&mut self, request: &Request, mode: Mode, clock: Clock) -> Result<[i64; 6]> {
        if request.algorithm == Algorithm::Sliding {
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
