//! The only reader of words: a client's arguments, the text of a schema, the rules of a rate limit.
//!
//! [`Words`] are taken from the front, each once. A command takes its fixed arguments with [`Words::required`], then loops
//! over its [`Options`], which are the keywords of its own syntax line. Words that are numbers are read by the methods of
//! [`Word`], whose errors name the argument and what it takes. Nothing here knows of the server.

use std::ops::RangeInclusive;

use smallvec::SmallVec;

#[cfg(test)]
mod tests;

use crate::calendar::MAX_MS;
use crate::docs::{Keyword, Keywords};
use crate::error::{Error, Result};
use crate::number::parse_integer;

/// The longest name of a key in a schema, and of a sharded board: short commands return such names many times.
pub const MAX_KEY_NAME: usize = 512;
/// The longest name of a member of a board with a schema: index entries repeat it.
pub const MAX_MEMBER_NAME: usize = 65_535;

/// Checks that a name is not too long.
#[inline]
pub fn check_name(what: &str, name: &[u8], most: usize) -> Result<()> {
    if name.len() <= most {
        Ok(())
    } else {
        Err(Error::name_too_long(what, most, name.len()))
    }
}

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

/// The options of a command: keywords of its syntax line, in any order, with the values that follow them.
///
/// ```text
/// while let Some(option) = options.next()? {
///     match option {
///         "KEEP" => keep = Some(options.value()?.count("KEEP", 1)?),
///         "NX" => condition = Condition::New,
///         _ => return Err(options.unknown()),
///     }
/// }
/// ```
///
/// The last arm is for keywords that only follow another one, as `MS` in `TIES FIRST MS`.
#[derive(Debug)]
pub struct Options<'w, W> {
    pub words: Words<'w, W>,
    keywords: &'static Keywords,
    /// The bits of those that were given.
    given: u64,
    last: Option<(&'static str, W)>,
    /// Other arguments follow, so the first word that is no keyword ends the options.
    are_in_front: bool,
}

impl<'w, W: Word> Options<'w, W> {
    /// All the words are options and their values.
    #[inline]
    pub fn new(words: Words<'w, W>, keywords: &'static Keywords) -> Options<'w, W> {
        Options { words, keywords, given: 0, last: None, are_in_front: false }
    }

    /// Options may be in front of other arguments.
    #[inline]
    pub fn in_front(words: Words<'w, W>, keywords: &'static Keywords) -> Options<'w, W> {
        Options { are_in_front: true, ..Options::new(words, keywords) }
    }

    /// The next option as the syntax line has it; `None` after the last. An error if it was given before, or one that
    /// excludes it.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "`?` in the loop is shorter than on each item of an iterator")]
    pub fn next(&mut self) -> Result<Option<&'static str>> {
        let Some(word) = self.words.peek() else { return Ok(None) };
        let Some(keyword) = self.keywords.find(word.bytes()) else {
            return if self.are_in_front { Ok(None) } else { Err(Error::unknown_option(word.bytes())) };
        };
        if self.given & keyword.conflicts != 0 {
            return Err(self.conflict(keyword));
        }
        self.words.next();
        self.given |= keyword.bit;
        self.last = Some((keyword.word, word));
        Ok(Some(keyword.word))
    }

    #[cold]
    fn conflict(&self, keyword: &Keyword) -> Error {
        let before = self.given & keyword.conflicts;
        let other = self.keywords.iter().find(|other| other.bit & before != 0).filter(|other| other.bit != keyword.bit);
        match other {
            Some(other) => Error::mutually_exclusive(other.word, keyword.word),
            None => Error::given_twice(keyword.word),
        }
    }

    pub fn keywords(&self) -> &'static Keywords {
        self.keywords
    }

    pub fn is_keyword(&self, word: &[u8]) -> bool {
        self.keywords.find(word).is_some()
    }

    /// The value of the last option.
    #[inline]
    pub fn value(&mut self) -> Result<W> {
        self.words.value_of(self.last.map_or("", |(option, _)| option))
    }

    /// The error for the last option, if it is none of the command's own.
    #[cold]
    pub fn unknown(&self) -> Error {
        match &self.last {
            Some((_, word)) => Error::unknown_option(word.bytes()),
            None => Error::internal(),
        }
    }
}

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
