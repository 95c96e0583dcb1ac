//! `FIXED`: a window [start, start + window) that opens with its first unit, in the millisecond of that unit.
//! `CALENDAR`: the same with the windows of a calendar. Stored as the start of the open window and its units.

use super::clock::{micros_of, MICROS_OF_MILLI};
use super::rule::{Rule, Window};
use super::strings::RuleEvaluation;
use super::verdict::{wait_for, RuleResult};
use super::window::{WindowState, MAX_UNITS};
use crate::calendar::Cycle;
use crate::error::Result;

/// What the rule says at `at`, which is not before the state.
pub(super) fn evaluate(state: Option<WindowState>, rule: &Rule, cost: u64, at: i64) -> Result<RuleEvaluation> {
    let (start, end) = window_at(rule, at);
    let open = state.filter(|state| is_open(state, rule, start));
    let (start, end) = match (open, rule.window) {
        (Some(state), Window::Millis(millis)) => (state.at_ms, state.at_ms.saturating_add(millis)),
        _ => (start, end),
    };
    let used = open.map_or(0, |state| state.units());
    let closes = u128::try_from(micros_of(end).saturating_sub(at)).unwrap_or(0);
    let remaining = rule.limit.saturating_sub(used);
    let amount = used.saturating_add(cost).min(MAX_UNITS).into();
    Ok(RuleEvaluation {
        result: RuleResult {
            capacity: rule.limit,
            remaining,
            wait: wait_for(cost, remaining, rule.limit, || Ok(closes))?,
            reset: if used > 0 { closes } else { 0 },
            reset_if_taken: closes,
            closed: false,
        },
        taken: WindowState { at_ms: start, amount, previous: 0 },
        most: rule.limit.into(),
    })
}

pub(super) fn refund(state: WindowState, rule: &Rule, units: u64, at: i64) -> Option<WindowState> {
    let (start, _) = window_at(rule, at);
    let amount = state.amount.saturating_sub(units.into());
    is_open(&state, rule, start).then_some(WindowState { amount, ..state })
}

/// The window that a unit would open now.
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

/// Whether the window is that of a unit which would open one at `start`.
fn is_open(state: &WindowState, rule: &Rule, start: u64) -> bool {
    match rule.window {
        Window::Millis(millis) => start < state.at_ms.saturating_add(millis),
        Window::Calendar(..) => state.at_ms >= start,
    }
}
