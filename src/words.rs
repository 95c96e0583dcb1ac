//! The only reader of words: a client's arguments, the text of a schema, the rules of a rate limit.
//!
//! [`Words`] are taken from the front, each once. A command takes its fixed arguments with [`Words::required`], then loops
//! over its options: it matches [`Word::upper`], takes their values with [`Words::value_of`], and keeps each in a
//! [`Setting`], which refuses an option that is given twice or beside one that excludes it. Words that are numbers are read
//! by the methods of [`Word`], whose errors name the argument and what it takes. Nothing here knows of the server.

use std::ops::RangeInclusive;

use smallvec::SmallVec;

use crate::calendar::MAX_MS;
use crate::error::{Error, Result};
use crate::number::parse_integer;

/// One word: a string of the server, or bytes.
pub trait Word: Copy {
    fn bytes(&self) -> &[u8];

    /// Whether it is this keyword. Keywords are case-insensitive.
    fn is(&self, keyword: &str) -> bool {
        self.bytes().eq_ignore_ascii_case(keyword.as_bytes())
    }

    /// In upper case, to match it with keywords.
    fn upper(&self) -> SmallVec<[u8; 16]> {
        let mut upper = SmallVec::from_slice(self.bytes());
        upper.make_ascii_uppercase();
        upper
    }

    fn refuse(&self, what: &str, takes: &str) -> Error {
        Error::takes(what, takes, self.bytes())
    }

    fn integer(&self, what: &str) -> Result<i64> {
        self.integer_in(what, "an integer", i64::MIN..=i64::MAX)
    }

    /// An integer in a range, which an error describes as `takes`.
    fn integer_in(&self, what: &str, takes: &str, range: RangeInclusive<i64>) -> Result<i64> {
        parse_integer(self.bytes()).filter(|value| range.contains(value)).ok_or_else(|| self.refuse(what, takes))
    }

    /// An integer of at least `least`, 0 or 1.
    fn count(&self, what: &str, least: i64) -> Result<u64> {
        let takes = if least == 0 { "0 or more" } else { "1 or more" };
        self.integer_in(what, takes, least..=i64::MAX).map(i64::unsigned_abs)
    }

    fn number_in(&self, what: &str, range: RangeInclusive<u64>) -> Result<u64> {
        let value = parse_integer(self.bytes()).and_then(|value| u64::try_from(value).ok());
        let (least, most) = (*range.start(), *range.end());
        let refuse = || Error::takes_between(what, least, most, self.bytes());
        value.filter(|value| range.contains(value)).ok_or_else(refuse)
    }

    /// A Unix time in milliseconds.
    fn time(&self, what: &str) -> Result<i64> {
        self.number_in(what, 0..=MAX_MS.unsigned_abs()).map(u64::cast_signed)
    }
}

impl Word for &[u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// Words that are still to be read.
#[derive(Debug)]
pub struct Words<'w, W> {
    rest: &'w [W],
}

impl<W> Clone for Words<'_, W> {
    fn clone(&self) -> Self {
        Words { rest: self.rest }
    }
}

impl<'w, W: Word> Words<'w, W> {
    pub fn new(words: &'w [W]) -> Words<'w, W> {
        Words { rest: words }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn peek(&self) -> Option<W> {
        self.rest.first().copied()
    }

    /// Takes the next word if it is this keyword.
    pub fn next_if(&mut self, keyword: &str) -> bool {
        let found = self.peek().is_some_and(|word| word.is(keyword));
        if found {
            self.next();
        }
        found
    }

    /// The next `count` words apart from the others; fewer if there are fewer.
    pub fn take_first(&mut self, count: usize) -> Words<'w, W> {
        let (first, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        Words { rest: first }
    }

    /// A fixed argument.
    pub fn required(&mut self) -> Result<W> {
        self.next().ok_or_else(Error::arity)
    }

    pub fn value_of(&mut self, option: &str) -> Result<W> {
        self.next().ok_or_else(|| Error::without_value(option))
    }

    /// An error if there are more words.
    pub fn end(&self) -> Result<()> {
        if self.is_empty() {
            Ok(())
        } else {
            Err(Error::arity())
        }
    }
}

impl<W: Word> Iterator for Words<'_, W> {
    type Item = W;

    fn next(&mut self) -> Option<W> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest.len(), Some(self.rest.len()))
    }
}

impl<W: Word> ExactSizeIterator for Words<'_, W> {}

/// The value of an option, or of several that exclude each other, and which of them was given.
#[derive(Debug)]
pub struct Setting<T>(Option<(T, &'static str)>);

impl<T> Default for Setting<T> {
    fn default() -> Self {
        Setting(None)
    }
}

impl<T> Setting<T> {
    pub fn set(&mut self, value: T, option: &'static str) -> Result<()> {
        match self.0.replace((value, option)) {
            None => Ok(()),
            Some((_, other)) if other == option => Err(Error::given_twice(option)),
            Some((_, other)) => Err(Error::mutually_exclusive(other, option)),
        }
    }

    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    pub fn as_ref(&self) -> Option<&T> {
        self.0.as_ref().map(|(value, _)| value)
    }

    pub fn get(self) -> Option<T> {
        self.0.map(|(value, _)| value)
    }
}
