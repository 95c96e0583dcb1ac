//! A limiter's key in memory, for tests and fuzzing.

use super::*;
use crate::command;
use crate::docs::Keywords;
use crate::error::Result;
use crate::words::{Options, Words};
use crate::zset::{MemorySet, SortedSet};

/// The request of a command, from its words after the key.
pub fn request(words: &[&[u8]], action: Action, max_log: u64) -> Result<Request> {
    static CHECK: Keywords = Keywords::of(command::rate::CHECK.doc.syntax);
    static PEEK: Keywords = Keywords::of(command::rate::PEEK.doc.syntax);
    static REFUND: Keywords = Keywords::of(command::rate::REFUND.doc.syntax);
    static SETTLE: Keywords = Keywords::of(command::rate::SETTLE.doc.syntax);
    let keywords = match action {
        Action::Check => &CHECK,
        Action::Peek => &PEEK,
        Action::Refund => &REFUND,
        Action::Settle => &SETTLE,
    };
    Request::parse(Options::in_front(Words::new(words), keywords), action, max_log)
}

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

    fn set(&mut self) -> &mut MemorySet {
        &mut self.log
    }

    fn expiry(&self) -> Option<i64> {
        self.log.expiry()
    }

    fn set_text(&mut self, text: &[u8], expire_at_ms: i64) {
        self.text = Some(text.to_vec());
        self.log.expire_at(expire_at_ms);
    }

    fn overwrite(&mut self, offset: usize, bytes: &[u8]) {
        assert!(!bytes.is_empty() && self.log.expiry().is_some(), "an expiry that stays is there");
        let text = self.text.as_mut().expect("only a text that is there is overwritten");
        text[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn unlink(&mut self) {
        **self = Limiter::default();
    }
}
