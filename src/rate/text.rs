//! The text of a string limiter: `rate 1`, then a name and numbers for each algorithm and window that the key has seen.
//!
//! `rate 1 gcra1m mhc4lxs0 000zik0zk fixed1h mhc4lxs0 2s`. Numbers keep the width they have for as long as they fit. So
//! most calls change only some digits, and only these are written and propagated.

use std::ops::Range;

use smallvec::SmallVec;

use super::clock::{micros_of, Clock, MAX_MILLIS, MICROS_OF_MILLI};
use super::digits::{self, ShortText};
use super::request::{Algorithm, Rule, Window, MAX_LIMIT};
use crate::calendar::{Cycle, Offset, Unit};
use crate::error::{Error, Result};

/// What every limiter's text begins with: the word, and the version of the format.
const HEADER: &[u8] = b"rate 1";
/// The digits of a time in milliseconds, until 2059.
const TIME_WIDTH: usize = 8;
/// If a text has more names than this, those that no longer matter are removed. Fewer stay, in case the clock goes back.
const COMPACT_ABOVE: usize = 8;
/// The most names in a text, so that no call takes long.
const MAX_WINDOWS: usize = 1_000;

/// A limiter's text is longer than any integer, which the server might store as a number instead of text.
pub const SHORTEST_TEXT: usize = 21;

/// The most units that a window can count, or that a bucket can owe, so that sums fit in 64 bits.
pub(super) const MAX_UNITS: u64 = 1_000_000_000_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowName {
    /// The end of a penalty.
    Closed,
    /// With the window in milliseconds.
    Fixed(u64),
    Counter(u64),
    Gcra(u64),
    Calendar(Unit, Offset),
}

/// The numbers that are stored for a window. Their meaning depends on the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowState {
    /// The time they are about, in Unix milliseconds: the start of a window, the newest unit, the end of a penalty.
    pub at_ms: u64,
    /// Units of the current window; of `GCRA` the debt; of a penalty nothing.
    pub amount: u128,
    /// Units of the previous window; only for `COUNTER`.
    pub previous: u64,
}

impl WindowState {
    /// Nothing is owed, which is the same as no state.
    pub fn is_empty(&self) -> bool {
        self.amount == 0 && self.previous == 0
    }

    /// The time in microseconds. A clock that is behind it counts as being at it.
    pub fn micros(&self) -> i64 {
        micros_of(self.at_ms)
    }

    pub fn units(&self) -> u64 {
        u64::try_from(self.amount).unwrap_or(MAX_UNITS)
    }
}

impl WindowName {
    pub fn of(algorithm: Algorithm, rule: &Rule) -> WindowName {
        match (algorithm, rule.window) {
            (_, Window::Calendar(unit, offset)) => WindowName::Calendar(unit, offset),
            (Algorithm::Counter, Window::Millis(millis)) => WindowName::Counter(millis),
            (Algorithm::Gcra, Window::Millis(millis)) => WindowName::Gcra(millis),
            (_, Window::Millis(millis)) => WindowName::Fixed(millis),
        }
    }

    /// The name at the start of a text, and what follows it, from a space on.
    pub fn parse(text: &[u8]) -> Option<(WindowName, &[u8])> {
        let (word, rest) = text.split_at_checked(text.iter().position(|byte| *byte == b' ')?)?;
        let name = if let Some(window) = word.strip_prefix(b"gcra") {
            WindowName::Gcra(digits::millis(window)?)
        } else if let Some(window) = word.strip_prefix(b"fixed") {
            WindowName::Fixed(digits::millis(window)?)
        } else if let Some(window) = word.strip_prefix(b"counter") {
            WindowName::Counter(digits::millis(window)?)
        } else if word == b"closed" {
            WindowName::Closed
        } else {
            let letters = word.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
            let (unit, offset) = word.split_at_checked(letters)?;
            let offset = if offset.is_empty() { Offset::default() } else { Offset::parse(offset)? };
            WindowName::Calendar(Unit::parse(unit)?, offset)
        };
        Some((name, rest))
    }

    pub fn push(self, text: &mut ShortText) {
        let mut windowed = |word: &[u8], millis: u64| {
            text.extend_from_slice(word);
            digits::push_duration(text, millis);
        };
        match self {
            WindowName::Closed => text.extend_from_slice(b"closed"),
            WindowName::Fixed(millis) => windowed(b"fixed", millis),
            WindowName::Counter(millis) => windowed(b"counter", millis),
            WindowName::Gcra(millis) => windowed(b"gcra", millis),
            WindowName::Calendar(unit, offset) => {
                text.extend_from_slice(unit.name().as_bytes());
                if !offset.is_zero() {
                    text.extend_from_slice(offset.to_string().as_bytes());
                }
            }
        }
    }

    /// How many numbers there are: the time, an amount, and the previous window's.
    pub fn numbers(self) -> usize {
        match self {
            WindowName::Closed => 1,
            WindowName::Counter(_) => 3,
            _ => 2,
        }
    }

    /// The numbers, if a limiter could have written them.
    pub fn state(self, [at_ms, amount, previous]: [u128; 3]) -> Option<WindowState> {
        let most = match self {
            // As of the beginning of the millisecond.
            WindowName::Gcra(millis) => {
                let unit = u128::from(millis.saturating_mul(MICROS_OF_MILLI));
                u128::from(MAX_UNITS).saturating_mul(unit).saturating_add(u128::from(MICROS_OF_MILLI * MAX_LIMIT))
            }
            _ => u128::from(MAX_UNITS),
        };
        let at_ms = u64::try_from(at_ms).ok().filter(|at_ms| *at_ms <= 2 * MAX_MILLIS)?;
        let previous = u64::try_from(previous).ok().filter(|previous| *previous <= MAX_UNITS)?;
        (amount <= most).then_some(WindowState { at_ms, amount, previous })
    }

    /// When the numbers no longer matter, in microseconds. For a bucket only the debt is known, not how fast it refills,
    /// so this is the latest possible time.
    pub fn end(self, state: &WindowState) -> i64 {
        let after = |millis: u64, windows: u64| micros_of(state.at_ms.saturating_add(millis.saturating_mul(windows)));
        match self {
            WindowName::Closed => state.micros(),
            WindowName::Fixed(millis) => after(millis, 1),
            WindowName::Counter(millis) => {
                let into = state.at_ms.checked_rem(millis).unwrap_or(0);
                let windows = if state.amount > 0 { 2 } else { 1 };
                after(millis, windows).saturating_sub(micros_of(into))
            }
            WindowName::Gcra(_) => state.micros().saturating_add(i64::try_from(state.amount).unwrap_or(i64::MAX)),
            WindowName::Calendar(unit, offset) => {
                let at_ms = i64::try_from(state.at_ms).unwrap_or(i64::MAX);
                let span = Cycle::Calendar(unit, offset).containing(at_ms);
                span.map_or(0, |span| span.end.saturating_mul(MICROS_OF_MILLI as i64))
            }
        }
    }
}

#[derive(Clone, Debug)]
struct StoredWindow {
    name: WindowName,
    state: WindowState,
    /// Where its numbers begin in the text.
    start: usize,
    /// How many digits each of them has.
    widths: [usize; 3],
}

impl StoredWindow {
    /// Whether its numbers still matter to the caller.
    fn matters(&self, clock: Clock) -> bool {
        clock.until(self.name.end(&self.state)) > 0
    }

    fn numbers(&self) -> impl Iterator<Item = (u128, usize)> {
        numbers(self.state).into_iter().zip(self.widths).take(self.name.numbers())
    }
}

fn numbers(WindowState { at_ms, amount, previous }: WindowState) -> [u128; 3] {
    [at_ms.into(), amount, previous.into()]
}

#[derive(Clone, Debug, Default)]
pub(super) struct LimiterText {
    text: ShortText,
    windows: SmallVec<[StoredWindow; 1]>,
    /// What differs from the text that was parsed; `None` if all of it may.
    changed: Option<Range<usize>>,
}

impl LimiterText {
    /// Fills an empty value from a text. Anything that a limiter would not have written is
    /// [`Error::not_a_string_limiter()`]. Does not return a new value, which is large and would be copied several times.
    pub fn read(&mut self, text: &[u8]) -> Result<()> {
        self.read_checked(text).ok_or_else(Error::not_a_string_limiter)
    }

    fn read_checked(&mut self, text: &[u8]) -> Option<()> {
        let mut rest = text.strip_prefix(HEADER)?;
        while !rest.is_empty() {
            let (name, mut numbers) = WindowName::parse(rest.strip_prefix(b" ")?)?;
            let start = text.len().saturating_sub(numbers.len()).saturating_add(1);
            let (mut values, mut widths) = ([0; 3], [0; 3]);
            for (value, width) in values.iter_mut().zip(&mut widths).take(name.numbers()) {
                let number = numbers.strip_prefix(b" ")?;
                (*value, numbers) = digits::leading(number)?;
                *width = number.len().saturating_sub(numbers.len());
            }
            self.windows.push(StoredWindow { name, state: name.state(values)?, start, widths });
            rest = numbers;
            if self.windows.len() > MAX_WINDOWS {
                return None;
            }
        }
        self.text.extend_from_slice(text);
        self.changed = Some(0..0);
        (!self.windows.is_empty()).then_some(())
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The part of the text that was changed, and where it begins; `None` if the whole text has to be written.
    pub fn changed(&self) -> Option<(usize, &[u8])> {
        let range = self.changed.clone()?;
        Some((range.start, self.text.get(range)?))
    }

    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    pub fn get(&self, name: WindowName) -> Option<WindowState> {
        self.windows.iter().find(|window| window.name == name).map(|window| window.state)
    }

    /// Sets the numbers of a name. A new name gets enough digits for an amount of `most`.
    pub fn set(&mut self, name: WindowName, state: WindowState, most: impl FnOnce() -> u128) {
        match self.windows.iter_mut().find(|window| window.name == name) {
            Some(window) => {
                let before = std::mem::replace(&mut window.state, state);
                match rewrite(&mut self.text, window, numbers(before)) {
                    Some(range) => self.changed = self.changed.take().map(|changed| join(changed, range)),
                    None => self.write(),
                }
            }
            None => {
                let width = digits::width(most());
                let mut window = StoredWindow { name, state, start: 0, widths: [TIME_WIDTH, width, width] };
                if self.windows.is_empty() {
                    self.text = ShortText::from_slice(HEADER);
                }
                append(&mut self.text, &mut window);
                self.windows.push(window);
                self.changed = None;
            }
        }
    }

    pub fn remove(&mut self, name: WindowName) {
        self.windows.retain(|window| window.name != name);
        self.write();
    }

    /// Removes names that no longer matter, if there are many names.
    pub fn tidy(&mut self, clock: Clock) {
        let before = self.windows.len();
        if before > COMPACT_ABOVE {
            self.windows.retain(|window| window.matters(clock));
        }
        if self.windows.len() < before {
            self.write();
        }
    }

    /// An error if too many names would matter, once these are set.
    pub fn check_room(&self, names: &[WindowName], clock: Clock) -> Result<()> {
        if self.windows.len().saturating_add(names.len()) <= MAX_WINDOWS {
            return Ok(());
        }
        let others = self.windows.iter().filter(|window| !names.contains(&window.name) && window.matters(clock));
        if others.count().saturating_add(names.len()) > MAX_WINDOWS {
            return Err(Error::too_many_windows(MAX_WINDOWS));
        }
        Ok(())
    }

    /// Writes the whole text again, with more digits where a number needs them.
    fn write(&mut self) {
        self.text = ShortText::from_slice(HEADER);
        self.windows.iter_mut().for_each(|window| append(&mut self.text, window));
        self.changed = None;
    }

    /// Microseconds until the numbers of the other names no longer matter. `expiry` is that of the key, which was set late
    /// enough for all of them. It is needed for buckets, whose numbers do not say when they will be full.
    pub fn others_matter_for(
        &self,
        mut is_of_call: impl FnMut(WindowName) -> bool,
        clock: Clock,
        expiry: Option<i64>,
    ) -> u128 {
        let others = self.windows.iter().filter(|window| !is_of_call(window.name));
        let wait = |window: &StoredWindow| {
            let wait = clock.until(window.name.end(&window.state));
            match window.name {
                WindowName::Gcra(_) => expiry.map_or(wait, |at_ms| wait.min(clock.until_expiry(at_ms))),
                _ => wait,
            }
        };
        others.map(wait).max().unwrap_or(0)
    }
}

/// Appends a window to a text, with room for its numbers.
fn append(text: &mut ShortText, window: &mut StoredWindow) {
    text.push(b' ');
    window.name.push(text);
    window.start = text.len().saturating_add(1);
    let mut widths = window.widths;
    for ((number, _), width) in window.numbers().zip(&mut widths) {
        *width = digits::width(number).max(*width);
        text.push(b' ');
        text.resize(text.len().saturating_add(*width), b'0');
    }
    window.widths = widths;
    rewrite(text, window, [0; 3]);
}

/// Writes the numbers of a window over those in the text, which are these. Returns what changed, from the first digit that
/// did to the end of the last number that did; `None` if a number does not fit.
fn rewrite(text: &mut [u8], window: &StoredWindow, before: [u128; 3]) -> Option<Range<usize>> {
    let (mut start, mut changed) = (window.start, 0..0);
    for ((number, width), before) in window.numbers().zip(before) {
        let end = start.saturating_add(width);
        if number != before {
            let first = digits::fill(text.get_mut(start..end)?, number)?;
            changed = join(changed, start.saturating_add(first)..end);
        }
        // Behind it is a space, or the end.
        start = end.saturating_add(1);
    }
    Some(changed)
}

/// The range from the start of the first to the end of the last; an empty one does not count.
fn join(one: Range<usize>, other: Range<usize>) -> Range<usize> {
    match (one.is_empty(), other.is_empty()) {
        (true, _) => other,
        (_, true) => one,
        _ => one.start.min(other.start)..one.end.max(other.end),
    }
}

/// Whether a text is one that a string limiter wrote.
pub fn is_string_limiter(text: &[u8]) -> bool {
    LimiterText::default().read(text).is_ok()
}
