//! `COUNTER`: windows that are aligned to the epoch. The previous one counts for the part of it that is within the last
//! `window`, as if its units had come evenly. What is stored is the time of the newest unit, and the counts then.

use super::call::{wait_for, RuleResult};
use super::clock::MICROS_OF_MILLI;
use super::request::{Rule, Settlement};
use super::text::{WindowState, MAX_UNITS};

/// The result at `at`, which is not before the state, and the state if the cost is counted.
pub(super) fn evaluate(state: Option<WindowState>, rule: &Rule, cost: u64, at: i64) -> (RuleResult, WindowState) {
    let counts = Counts::at(state, rule.micros(), at);
    let capacity = rule.limit;
    let remaining = capacity.saturating_sub(counts.weight());
    let current = counts.current.saturating_add(cost).min(MAX_UNITS);
    let result = RuleResult {
        capacity,
        remaining,
        wait: wait_for(cost, remaining, capacity, || counts.wait(capacity, cost).into()),
        reset: counts.reset().into(),
        reset_if_taken: Counts { current: 1, ..counts }.reset().into(),
        ..RuleResult::default()
    };
    (result, Counts { current, ..counts }.state(at))
}

/// Gives units back to the current window, then to the previous one; `None` if both are empty.
pub(super) fn refund(state: WindowState, rule: &Rule, units: u64, at: i64) -> Option<WindowState> {
    let counts = Counts::at(Some(state), rule.micros(), at);
    let rest = units.saturating_sub(counts.current);
    let current = counts.current.saturating_sub(units);
    let previous = counts.previous.saturating_sub(rest);
    (counts.current > 0 || counts.previous > 0).then(|| Counts { current, previous, ..counts }.state(at))
}

/// Corrects what a call took at `by.at`, in the window of that time, if it still counts. Returns the new state, and how many
/// units were given back; negative if more are counted. `None` if nothing changes.
pub(super) fn settle(state: Option<WindowState>, rule: &Rule, by: &Settlement, at: i64) -> Option<(WindowState, i64)> {
    let window = rule.micros().max(1);
    let index = |micros: i64| micros.max(0).unsigned_abs() / window;
    if index(at).saturating_sub(index(by.at)) > 1 {
        return None;
    }
    // As of the newest unit: a settlement is not one, and a clock that is set back must not see another time.
    let newest = state.map_or(by.at, |state| state.micros().max(by.at));
    let mut counts = Counts::at(state, window, newest);
    let units = match index(newest).saturating_sub(index(by.at)) {
        0 => &mut counts.current,
        1 => &mut counts.previous,
        _ => return None,
    };
    let settled;
    (*units, settled) = by.correct(*units);
    (settled != 0).then(|| (counts.state(newest), settled))
}

/// The units of both windows at a moment, and how far that is from the end of its window.
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
        // A rule's window is never 0: this says so to the compiler, and to who reads the divisions.
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

    /// Units that count now, rounded up: current + previous × to_end / window.
    fn weight(self) -> u64 {
        let share = product(self.previous, self.to_end).div_ceil(u128::from(self.window));
        self.current.saturating_add(u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// How long until `cost`, which `limit` could allow but does not now, passes. The call passes as soon as the window
    /// before counts for no more than what `limit` leaves free.
    fn wait(self, limit: u64, cost: u64) -> u64 {
        let free_beside = |current: u64| limit.saturating_sub(cost).checked_sub(current);
        match free_beside(self.current) {
            // In this window, because the previous one counts for less and less.
            Some(free) => self.to_end.saturating_sub(self.to_end_when_at_most(free, self.previous)),
            // In the next one: this one is then the previous one, and the next one is empty.
            None => {
                let free = free_beside(0).unwrap_or(0);
                let end_of_next = self.to_end.saturating_add(self.window);
                end_of_next.saturating_sub(self.to_end_when_at_most(free, self.current))
            }
        }
    }

    /// How far it is to the end of a window when `units` of the window before it begin to count for no more than `free`.
    fn to_end_when_at_most(self, free: u64, units: u64) -> u64 {
        let to_end = product(free, self.window).checked_div(u128::from(units));
        to_end.and_then(|to_end| u64::try_from(to_end).ok()).unwrap_or(u64::MAX)
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
