//! `COUNTER`: the counts of the current and the previous window, aligned to the epoch. The previous one counts for the
//! part of it that is still within a sliding window. Stored as the millisecond of the newest unit and the counts then.

use super::clock::MICROS_OF_MILLI;
use super::rule::Rule;
use super::strings::RuleEvaluation;
use super::verdict::{wait_for, RuleResult};
use super::window::{WindowState, MAX_UNITS};
use crate::error::Result;

/// What the rule says at `at`, which is not before the state.
pub(super) fn evaluate(state: Option<WindowState>, rule: &Rule, cost: u64, at: i64) -> Result<RuleEvaluation> {
    let counts = Counts::at(state, rule.micros(), at);
    let capacity = rule.limit;
    let remaining = capacity.saturating_sub(counts.weight());
    let current = counts.current.saturating_add(cost).min(MAX_UNITS);
    Ok(RuleEvaluation {
        result: RuleResult {
            capacity,
            remaining,
            wait: wait_for(cost, remaining, capacity, || Ok(counts.wait(capacity, cost).into()))?,
            reset: counts.reset().into(),
            reset_if_taken: Counts { current: 1, ..counts }.reset().into(),
            closed: false,
        },
        taken: Counts { current, ..counts }.state(at),
        most: capacity.into(),
    })
}

/// Gives units back to the current window, then to the previous one; `None` if there is nothing to give back.
pub(super) fn refund(state: WindowState, rule: &Rule, units: u64, at: i64) -> Option<WindowState> {
    let counts = Counts::at(Some(state), rule.micros(), at);
    let rest = units.saturating_sub(counts.current);
    let current = counts.current.saturating_sub(units);
    let previous = counts.previous.saturating_sub(rest);
    (counts.current > 0 || counts.previous > 0).then(|| Counts { current, previous, ..counts }.state(at))
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
    fn at(state: Option<WindowState>, window: u64, at: i64) -> Counts {
        let at = at.unsigned_abs();
        // Windows are 1 ms or longer; the bounds keep a division by zero out of reach of any mistake.
        let window = window.max(1);
        let index = at / window;
        let (previous, current) = match state {
            None => (0, 0),
            Some(state) => match index.saturating_sub(state.micros().unsigned_abs() / window) {
                0 => (state.previous, state.units()),
                1 => (state.units(), 0),
                _ => (0, 0),
            },
        };
        Counts { previous, current, window, to_end: window - at % window }
    }

    fn state(self, at: i64) -> WindowState {
        let at_ms = at.max(0).unsigned_abs() / MICROS_OF_MILLI;
        WindowState { at_ms, amount: self.current.into(), previous: self.previous }
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
