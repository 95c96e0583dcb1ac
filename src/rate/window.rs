//! What a string limiter keeps for one algorithm and window: a name and a few numbers.

use super::clock::{micros_of, MAX_MILLIS, MICROS_OF_MILLI};
use super::digits::ShortText;
use super::duration::{millis, push_duration};
use super::request::Algorithm;
use super::rule::{Rule, Window, MAX_LIMIT};
use crate::calendar::{Cycle, Offset, Unit};

/// The most units that `FORCE` can count, so that sums fit in 64 bits.
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
            WindowName::Gcra(millis(window)?)
        } else if let Some(window) = word.strip_prefix(b"fixed") {
            WindowName::Fixed(millis(window)?)
        } else if let Some(window) = word.strip_prefix(b"counter") {
            WindowName::Counter(millis(window)?)
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
            push_duration(text, millis);
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
            // Twice the largest bucket, as of the millisecond's start.
            WindowName::Gcra(millis) => {
                let unit = u128::from(millis.saturating_mul(MICROS_OF_MILLI));
                (2 * unit + u128::from(MICROS_OF_MILLI)).saturating_mul(u128::from(MAX_LIMIT))
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
