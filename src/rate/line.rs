//! The text of a string limiter: `rate 1`, then each algorithm and window with its numbers.
//!
//! `rate 1 gcra1m mhc4lxs0 000zik0zk fixed1h mhc4lxs0 2s`. Numbers keep the width they have for as long as they fit, so
//! that a call leaves a text of the same length, which the server rewrites in place.

use smallvec::SmallVec;

use super::clock::Clock;
use super::digits;
use super::slot::{Name, State};
use crate::error::{Error, Result};

/// What every limiter's text begins with: the word, and the version of the format.
const HEADER: &[u8] = b"rate 1";
/// Milliseconds since the epoch have as many digits until 2059.
const TIME_WIDTH: usize = 8;
/// Beyond so many, those that ended are forgotten. Before that they stay: a clock that goes back finds them.
const ROOMY: usize = 8;

/// A string limiter is longer than the longest integer, which the server would keep in another form than text.
pub const SHORTEST_TEXT: usize = 21;

/// Most are this short.
pub type LineText = SmallVec<[u8; 64]>;

#[derive(Clone, Debug)]
struct Slot {
    name: Name,
    state: State,
    amount_width: usize,
    previous_width: usize,
}

/// A parsed text.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    slots: SmallVec<[Slot; 1]>,
}

impl Line {
    /// Anything that a limiter would not have written is [`Error::NotAStringLimiter`].
    pub fn parse(text: &[u8]) -> Result<Line> {
        Line::parse_checked(text).ok_or(Error::NotAStringLimiter)
    }

    fn parse_checked(text: &[u8]) -> Option<Line> {
        let mut words = text.strip_prefix(HEADER)?.strip_prefix(b" ")?.split(|byte| *byte == b' ');
        let mut slots = SmallVec::new();
        while let Some(word) = words.next() {
            let name = Name::parse(word)?;
            let mut number = |is_there: bool| {
                let word = if is_there { words.next()? } else { b"0" };
                Some((digits::parse(word)?, word.len()))
            };
            let (at_ms, _) = number(true)?;
            let (amount, amount_width) = number(name.numbers() > 1)?;
            let (previous, previous_width) = number(name.numbers() > 2)?;
            let state = name.state(at_ms, amount, previous)?;
            slots.push(Slot { name, state, amount_width, previous_width });
        }
        Some(Line { slots })
    }

    pub fn text(&self) -> LineText {
        let mut text = LineText::from_slice(HEADER);
        for slot in &self.slots {
            text.push(b' ');
            slot.name.push(&mut text);
            let numbers = [
                (u128::from(slot.state.at_ms), TIME_WIDTH),
                (slot.state.amount, slot.amount_width),
                (slot.state.previous.into(), slot.previous_width),
            ];
            for (number, width) in numbers.into_iter().take(slot.name.numbers()) {
                text.push(b' ');
                digits::push(&mut text, number, width);
            }
        }
        text
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn get(&self, name: Name) -> Option<State> {
        self.slots.iter().find(|slot| slot.name == name).map(|slot| slot.state)
    }

    /// Sets the numbers of a name; `most` is the largest amount to expect, which a new place has room for.
    pub fn set(&mut self, name: Name, state: State, most: u128) {
        match self.slots.iter_mut().find(|slot| slot.name == name) {
            Some(slot) => slot.state = state,
            None => {
                let width = digits::width(most);
                self.slots.push(Slot { name, state, amount_width: width, previous_width: width });
            }
        }
    }

    pub fn remove(&mut self, name: Name) {
        self.slots.retain(|slot| slot.name != name);
    }

    /// Forgets what ended, if there is much of it.
    pub fn tidy(&mut self, clock: Clock) {
        if self.slots.len() > ROOMY {
            self.slots.retain(|slot| clock.until(slot.name.end(&slot.state)) > 0);
        }
    }

    /// Microseconds until the other names' numbers matter no longer. `expiry` is the key's, which was set with all of
    /// them in mind: it says when a bucket is full, which its numbers do not.
    pub fn others_matter_for(
        &self,
        mut is_of_call: impl FnMut(Name) -> bool,
        clock: Clock,
        expiry: impl Fn() -> Option<i64>,
    ) -> u128 {
        let others = self.slots.iter().filter(|slot| !is_of_call(slot.name));
        let wait = |slot: &Slot| {
            let wait = clock.until(slot.name.end(&slot.state));
            match slot.name {
                Name::Gcra(_) => expiry().map_or(wait, |at_ms| wait.min(clock.until_expiry(at_ms))),
                _ => wait,
            }
        };
        others.map(wait).max().unwrap_or(0)
    }
}
