//! A limiter's key in memory, for tests and fuzzing.

use super::*;
use crate::error::Result;
use crate::zset::{MemorySet, SortedSet};

/// A key, which may hold either kind of limiter. The expiry is kept with the set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limiter {
    pub log: MemorySet,
    pub text: Option<Vec<u8>>,
}

impl Limiter {
    /// What the server does with a request for one key.
    pub fn run_by(&mut self, request: &Request, clock: Clock) -> Result<Answer> {
        let had_log = !self.log.is_empty();
        let answer = run(request, clock, &mut [KeyRules::whole(&mut *self, request)]);
        assert!(!had_log || !self.log.is_empty(), "a call never empties a log");
        answer
    }
}

impl LimiterKey for &mut Limiter {
    type Set = MemorySet;

    fn text(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.text.as_deref())
    }

    fn log(&mut self) -> Result<&mut MemorySet> {
        Ok(&mut self.log)
    }

    fn expiry(&self) -> Option<i64> {
        self.log.expiry()
    }

    fn write_string(&mut self, write: &StringWrite) {
        match write {
            StringWrite::Set { text, expire_at_ms } => {
                self.text = Some(text.to_vec());
                self.log.expire_at(*expire_at_ms);
            }
            StringWrite::Overwrite { offset, bytes } => {
                assert!(!bytes.is_empty() && self.log.expiry().is_some(), "an expiry that stays is there");
                let text = self.text.as_mut().expect("only a text that is there is overwritten");
                text[*offset..*offset + bytes.len()].copy_from_slice(bytes);
            }
            StringWrite::Unlink => **self = Limiter::default(),
        }
    }
}
