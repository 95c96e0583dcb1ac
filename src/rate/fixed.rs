//! `FIXED`: a window [start, start + window) that opens with its first unit, in the millisecond of that unit.
//! `CALENDAR`: the same with the windows of a calendar. What is stored is the start of the latest window, and its units.

use super::call::{wait_for, RuleResult};
use super::clock::{micros_of, MICROS_OF_MILLI};
use super::request::{Rule, Settlement, Window};
use super::text::{WindowState, MAX_UNITS};
use crate::calendar::Cycle;

/// The result at `at`, which is not before the state, and the state if the cost is counted.
pub(super) fn evaluate(state: Option<WindowState>, rule: &Rule, cost: u64, at: i64) -> (RuleResult, WindowState) {
    // The window that is open, or the one that a unit would open now.
    let (start, end) = window_at(rule, at);
    let open = state.filter(|state| is_open(state, rule, start));
    let (start, end) = match (open, rule.window) {
        (Some(state), Window::Millis(millis)) => (state.at_ms, state.at_ms.saturating_add(millis)),
        _ => (start, end),
    };
    let used = open.map_or(0, |state| state.units());
    let remaining = rule.limit.saturating_sub(used);
    // All units come back at once, when the window ends.
    let until_end = u128::try_from(micros_of(end).saturating_sub(at)).unwrap_or(0);
    let result = RuleResult {
        capacity: rule.limit,
        remaining,
        wait: wait_for(cost, remaining, rule.limit, || until_end),
        reset: if used > 0 { until_end } else { 0 },
        reset_if_taken: until_end,
        ..RuleResult::default()
    };
    let amount = used.saturating_add(cost).min(MAX_UNITS).into();
    (result, WindowState { at_ms: start, amount, previous: 0 })
}

/// Gives units back to the open window; `None` if none is open.
pub(super) fn refund(state: WindowState, rule: &Rule, units: u64, at: i64) -> Option<WindowState> {
    let (start, _) = window_at(rule, at);
    let amount = state.amount.saturating_sub(units.into());
    is_open(&state, rule, start).then_some(WindowState { amount, ..state })
}

/// Corrects what a call took at `by.at`, if that is in the window that is open. Returns the new state, and how many units
/// were given back; negative if more are counted. `None` if nothing changes.
pub(super) fn settle(state: Option<WindowState>, rule: &Rule, by: &Settlement, at: i64) -> Option<(WindowState, i64)> {
    let (start, end) = window_at(rule, at);
    let is_fixed = matches!(rule.window, Window::Millis(_));
    let at_ms = by.at.max(0).unsigned_abs() / MICROS_OF_MILLI;
    let is_within = |start: u64| (start..start.saturating_add(rule.millis())).contains(&at_ms);
    let window = match state {
        Some(state) if is_fixed && is_open(&state, rule, start) => Some(state).filter(|state| is_within(state.at_ms)),
        Some(state) if !is_fixed && is_open(&state, rule, start) => Some(state),
        // A call that reserved nothing opened no window. It would have opened one then.
        _ if is_fixed && by.reserved == 0 && is_within_now(at_ms, rule, at) => {
            let was_open = state.is_some_and(|state| is_within(state.at_ms));
            (!was_open).then_some(WindowState { at_ms, amount: 0, previous: 0 })
        }
        _ => Some(WindowState { at_ms: start, amount: 0, previous: 0 }).filter(|_| !is_fixed || at_ms == start),
    };
    let window = window.filter(|_| is_fixed || (start..end).contains(&at_ms))?;
    let (units, settled) = by.correct(window.units());
    (settled != 0).then_some((WindowState { amount: units.into(), ..window }, settled))
}

/// Whether a window that opened at `start_ms` is still open.
fn is_within_now(start_ms: u64, rule: &Rule, at: i64) -> bool {
    at < micros_of(start_ms.saturating_add(rule.millis()))
}

/// Start and end of the window that a unit would open now, in milliseconds.
fn window_at(rule: &Rule, at: i64) -> (u64, u64) {
    let at_ms = at.max(0).unsigned_abs() / MICROS_OF_MILLI;
    match rule.window {
        Window::Millis(millis) => (at_ms, at_ms.saturating_add(millis)),
        Window::Calendar(unit, offset) => {
            let at_ms = i64::try_from(at_ms).unwrap_or(i64::MAX);
            let span = Cycle::Calendar(unit, offset).containing(at_ms);
            // East of Greenwich the first one starts before the epoch.
            span.map_or((0, 0), |span| (span.start.max(0).unsigned_abs(), span.end.max(0).unsigned_abs()))
        }
    }
}

/// Whether a window is still open when a unit without one would open one at `start`.
fn is_open(state: &WindowState, rule: &Rule, start: u64) -> bool {
    match rule.window {
        Window::Millis(millis) => start < state.at_ms.saturating_add(millis),
        Window::Calendar(..) => state.at_ms >= start,
    }
}
