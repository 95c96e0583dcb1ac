//! `GCRA`: a bucket that refills at limit / window. Stored as the millisecond of the newest unit, and what was missing
//! from a full bucket at its start, in unit · us: a refill is elapsed · limit and never leaves a fraction.

use super::clock::MICROS_OF_MILLI;
use super::rule::Rule;
use super::strings::RuleEvaluation;
use super::verdict::{wait_for, RuleResult};
use super::window::WindowState;
use crate::error::Result;

/// What the rule says at `at`, which is not before the state.
pub(super) fn evaluate(state: Option<WindowState>, rule: &Rule, cost: u64, at: i64) -> Result<RuleEvaluation> {
    let capacity = rule.capacity();
    let full = debt_of(capacity, rule);
    let debt = state.map_or(0, |state| debt_at(state, rule, at));
    let remaining = full.saturating_sub(debt).checked_div(debt_of(1, rule)).unwrap_or(0);
    let remaining = u64::try_from(remaining).unwrap_or(u64::MAX);
    let wanted = debt.saturating_add(debt_of(cost, rule));
    let wait = wait_for(cost, remaining, capacity, || Ok(refill_micros(wanted.saturating_sub(full), rule)))?;
    // By force a bucket is emptied no deeper than twice, unless a larger one was there before.
    let taken = wanted.min(full.saturating_mul(2).max(debt));
    Ok(RuleEvaluation {
        result: RuleResult {
            capacity,
            remaining,
            wait,
            reset: refill_micros(debt, rule),
            reset_if_taken: refill_micros(taken, rule),
            closed: false,
        },
        taken: state_of(taken, rule, at),
        most: state_of(full, rule, MICROS_OF_MILLI as i64 - 1).amount,
    })
}

/// Gives units back to the bucket; `None` if it is full.
pub(super) fn refund(state: WindowState, rule: &Rule, units: u64, at: i64) -> Option<WindowState> {
    let debt = debt_at(state, rule, at);
    let remaining = debt.saturating_sub(debt_of(units, rule));
    (debt > 0).then(|| if remaining == 0 { WindowState { amount: 0, ..state } } else { state_of(remaining, rule, at) })
}

fn debt_at(state: WindowState, rule: &Rule, at: i64) -> u128 {
    let elapsed = u128::from(at.saturating_sub(state.micros()).max(0).unsigned_abs());
    state.amount.saturating_sub(elapsed.saturating_mul(rule.limit.into()))
}

/// The debt as of the start of the millisecond: what has been refilled since is added again.
fn state_of(debt: u128, rule: &Rule, at: i64) -> WindowState {
    let at = at.max(0).unsigned_abs();
    let since = u128::from(at % MICROS_OF_MILLI).saturating_mul(rule.limit.into());
    WindowState { at_ms: at / MICROS_OF_MILLI, amount: debt.saturating_add(since), previous: 0 }
}

/// The debt of this many units, in units × microseconds.
fn debt_of(units: u64, rule: &Rule) -> u128 {
    u128::from(units).saturating_mul(rule.micros().into())
}

/// Microseconds, rounded up, until a debt is paid.
fn refill_micros(debt: u128, rule: &Rule) -> u128 {
    let limit = rule.limit.max(1);
    // Most fit 64 bits, where a division costs a tenth.
    match u64::try_from(debt) {
        Ok(debt) => debt.div_ceil(limit).into(),
        Err(_) => debt.div_ceil(limit.into()),
    }
}
