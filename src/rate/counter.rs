//! `COUNTER`: two counts, of the current and the previous window aligned to the epoch; the previous one counts by the part
//! of it that a sliding window would still see. Stored as `newest previous current`, the newest time a unit was taken
//! and the counts as of then.

use super::clock::MAX_MICROS;
use super::hash::{Judged, Window};
use super::request::Request;
use super::rule::{Rule, MAX_LIMIT};
use super::text::{read_numbers, within, Text};
use super::verdict::{wait_for, Standing};
use crate::error::Result;

/// The state of one window of `COUNTER`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    newest: i64,
    previous: u64,
    current: u64,
}

impl Window for Counter {
    const HEADER: &'static str = "v1 counter";
    const PREFIX: &'static str = "counter:";

    fn parse(value: &[u8], _: Rule) -> Option<Counter> {
        let [newest, previous, current] = read_numbers(value)?;
        Some(Counter {
            newest: within(newest, 0..=MAX_MICROS)?,
            previous: within(previous, 0..=MAX_LIMIT)?,
            current: within(current, 1..=MAX_LIMIT)?,
        })
    }

    fn push(&self, value: &mut Text) {
        value.push_spaced(self.newest);
        value.push_spaced(self.previous);
        value.push_spaced(self.current);
    }

    fn newest(&self) -> i64 {
        self.newest
    }

    fn judge(state: Option<Counter>, request: &Request, rule: Rule, at: i64) -> Result<Judged<Counter>> {
        let cost = request.cost;
        let counts = Counts::at(state, rule.window_micros(), at);
        let capacity = rule.limit;
        let left = capacity.saturating_sub(counts.weight());
        Ok(Judged {
            standing: Standing {
                capacity,
                left,
                wait: wait_for(cost, left, capacity, || Ok(counts.wait(capacity, cost).into()))?,
                reset: counts.reset().into(),
                reset_if_taken: Counts { current: 1, ..counts }.reset().into(),
            },
            taken: Counter { newest: at, previous: counts.previous, current: counts.current.saturating_add(cost) },
            ends_as_before: counts.current > 0,
        })
    }
}

/// The two counts as of a moment, and how far that is from the end of its window.
#[derive(Clone, Copy)]
struct Counts {
    previous: u64,
    current: u64,
    window: u64,
    /// 1 ..= window
    to_end: u64,
}

impl Counts {
    fn at(state: Option<Counter>, window: u64, at: i64) -> Counts {
        let at = at.unsigned_abs();
        // Windows are 1 ms or longer; the bounds keep a division by zero out of reach of any mistake.
        let window = window.max(1);
        let index = at / window;
        let (previous, current) = match state {
            None => (0, 0),
            Some(state) => match index.saturating_sub(state.newest.unsigned_abs() / window) {
                0 => (state.previous, state.current),
                1 => (state.current, 0),
                _ => (0, 0),
            },
        };
        Counts { previous, current, window, to_end: window - at % window }
    }

    /// Units that count now, rounded up: c + p(W − e)/W.
    fn weight(self) -> u64 {
        let share = product(self.previous, self.to_end).div_ceil(u128::from(self.window));
        self.current.saturating_add(u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// The least wait after which `cost`, which fits `limit` but not now, passes: either the previous window's share
    /// shrinks enough before the current one ends, or the current window has to become the previous one and shrink.
    fn wait(self, limit: u64, cost: u64) -> u64 {
        let free_after = |counted: u64| limit.saturating_sub(cost).checked_sub(counted);
        match free_after(self.current) {
            Some(free) => self.to_end.saturating_sub(self.bearable(free, self.previous)),
            None => {
                let free = free_after(0).unwrap_or(0);
                let next_end = self.to_end.saturating_add(self.window);
                next_end.saturating_sub(self.bearable(free, self.current))
            }
        }
    }

    /// How far from the end of a window `units` of the one before weigh no more than `free`.
    fn bearable(self, free: u64, units: u64) -> u64 {
        let distance = product(free, self.window).checked_div(u128::from(units));
        distance.and_then(|distance| u64::try_from(distance).ok()).unwrap_or(u64::MAX)
    }

    fn reset(self) -> u64 {
        if self.current > 0 {
            self.to_end.saturating_add(self.window)
        } else if self.previous > 0 {
            self.to_end
        } else {
            0
        }
    }
}

fn product(left: u64, right: u64) -> u128 {
    u128::from(left).saturating_mul(u128::from(right))
}
