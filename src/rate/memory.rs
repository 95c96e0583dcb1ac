//! Naive limiters and leases in memory, for tests of the algorithms.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::error::Result;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryLog {
    pub elements: BTreeSet<(i64, Vec<u8>)>,
    pub reads: std::rc::Rc<std::cell::Cell<usize>>,
}

fn entry((micros, element): &(i64, Vec<u8>)) -> Result<Entry> {
    Entry::decode(*micros as f64, element)
}

impl Log for MemoryLog {
    fn oldest(&mut self) -> Result<Option<Entry>> {
        self.reads.set(self.reads.get() + 1);
        self.elements.first().map(entry).transpose()
    }

    fn newest(&mut self) -> Result<Option<Entry>> {
        self.reads.set(self.reads.get() + 1);
        self.elements.last().map(entry).transpose()
    }

    fn first_after(&mut self, micros: i64) -> Result<Option<Entry>> {
        self.reads.set(self.reads.get() + 1);
        self.elements.range((micros.saturating_add(1), vec![])..).next().map(entry).transpose()
    }

    fn entries(&mut self) -> u64 {
        self.elements.len() as u64
    }

    fn len_through(&mut self, micros: i64) -> Result<u64> {
        Ok(self.elements.iter().filter(|(at, _)| *at <= micros).count() as u64)
    }

    fn walk_back(&mut self, visit: &mut dyn FnMut(Entry) -> bool) -> Result<()> {
        for element in self.elements.iter().rev() {
            if !visit(entry(element)?) {
                break;
            }
        }
        Ok(())
    }
}

/// A key, which may hold either kind of limiter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limiter {
    pub log: Option<MemoryLog>,
    pub text: Option<Vec<u8>>,
    pub expire_at_ms: Option<i64>,
}

impl Limiter {
    /// What the server does with a request for one key.
    pub fn run_by(&mut self, request: &Request, clock: Clock) -> Result<Answer> {
        run(request, clock, &mut [KeyRules::whole(self, request)])
    }

    fn append(&mut self, append: &Append) {
        let log = self.log.get_or_insert_default();
        let before = log.elements.len();
        log.elements.insert((append.micros, append.element.to_vec()));
        assert_eq!(log.elements.len(), before + 1, "an element is never written over");
        if let Some(through) = append.drop_through {
            let kept = log.elements.split_off(&(through + 1, vec![]));
            assert!(!log.elements.is_empty(), "there was something to drop");
            log.elements = kept;
        }
        self.expire_at_ms = append.expire_at_ms.or(self.expire_at_ms);
    }

    fn give_back(&mut self, give_back: &GiveBack) {
        let elements = &mut self.log.get_or_insert_default().elements;
        for _ in 0..give_back.remove_newest {
            elements.pop_last();
        }
        if let Some((micros, before, after)) = &give_back.shorten {
            assert!(elements.remove(&(*micros, before.to_vec())), "what is shortened is there");
            assert!(elements.insert((*micros, after.to_vec())), "an element is never written over");
        }
        assert!(!elements.is_empty(), "a refund never empties a log");
    }
}

impl Key for &mut Limiter {
    type Log<'k>
        = MemoryLog
    where
        Self: 'k;

    fn text(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.text.as_deref())
    }

    fn log(&mut self) -> Result<Option<MemoryLog>> {
        Ok(self.log.clone())
    }

    fn expiry(&self) -> Option<i64> {
        self.expire_at_ms
    }

    fn write_string(&mut self, write: &StringWrite) {
        match write {
            StringWrite::Set { text, expire_at_ms } => {
                (self.text, self.expire_at_ms) = (Some(text.to_vec()), Some(*expire_at_ms));
            }
            StringWrite::Overwrite { offset, bytes } => {
                assert!(!bytes.is_empty() && self.expire_at_ms.is_some(), "an expiry that stays is there");
                let text = self.text.as_mut().expect("only a text that is there is overwritten");
                text[*offset..*offset + bytes.len()].copy_from_slice(bytes);
            }
            StringWrite::Unlink => **self = Limiter::default(),
        }
    }

    fn write_log(&mut self, write: &LogWrite) {
        match write {
            LogWrite::Append(append) => self.append(append),
            LogWrite::GiveBack(give_back) => self.give_back(give_back),
        }
    }
}

/// A sorted set of leases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryLeases {
    pub last: i64,
    pub ends: BTreeMap<i64, i64>,
}

impl Leases for MemoryLeases {
    fn last(&mut self) -> Result<i64> {
        Ok(self.last)
    }

    fn held_after(&mut self, micros: i64) -> Result<u64> {
        Ok(self.ends.values().filter(|end| **end > micros).count() as u64)
    }

    fn next_end(&mut self, micros: i64) -> Result<Option<i64>> {
        Ok(self.ends.values().copied().filter(|end| *end > micros).min())
    }

    fn latest_end(&mut self) -> Result<Option<i64>> {
        Ok(self.ends.values().copied().max())
    }

    fn end_of(&mut self, token: i64) -> Result<Option<i64>> {
        Ok(self.ends.get(&token).copied())
    }
}
