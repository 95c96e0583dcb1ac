//! `GCRA`: a bucket of units that refills evenly, at limit / window. What is stored is the debt, what is missing from a full
//! bucket, as of a millisecond, in units × microseconds. In this unit everything is a whole number: a unit is a debt of
//! `window`, and each microsecond pays back `limit`.

use super::call::{wait_for, RuleResult};
use super::clock::MICROS_OF_MILLI;
use super::request::Rule;
use super::text::WindowState;

/// The result at `at`, which is not before the state, and the state if the cost is counted.
pub(super) fn evaluate(state: Option<WindowState>, rule: &Rule, cost: u64, at: i64) -> (RuleResult, WindowState) {
    let capacity = rule.capacity();
    let full = debt_of(capacity, rule);
    let debt = state.map_or(0, |state| debt_at(state, rule, at));
    // A unit that is refilled in part is not there yet.
    let remaining = full.saturating_sub(debt).checked_div(debt_of(1, rule)).unwrap_or(0);
    let remaining = u64::try_from(remaining).unwrap_or(u64::MAX);
    let wanted = debt.saturating_add(debt_of(cost, rule));
    // `FORCE` owes at most twice the bucket, unless a larger bucket owed more before.
    let taken = wanted.min(full.saturating_mul(2).max(debt));
    let result = RuleResult {
        capacity,
        remaining,
        // A call passes once the debt, its own cost included, fits the bucket.
        wait: wait_for(cost, remaining, capacity, || micros_to_pay(wanted.saturating_sub(full), rule)),
        reset: micros_to_pay(debt, rule),
        reset_if_taken: micros_to_pay(taken, rule),
        closed: false,
    };
    (result, state_of(taken, rule, at))
}

/// Gives units back; `None` if nothing is owed.
pub(super) fn refund(state: WindowState, rule: &Rule, units: u64, at: i64) -> Option<WindowState> {
    let debt = debt_at(state, rule, at);
    let left = debt.saturating_sub(debt_of(units, rule));
    (debt > 0).then(|| if left == 0 { WindowState { amount: 0, ..state } } else { state_of(left, rule, at) })
}

/// The largest debt after a call that passed.
pub(super) fn largest_amount(rule: &Rule) -> u128 {
    state_of(debt_of(rule.capacity(), rule), rule, MICROS_OF_MILLI as i64 - 1).amount
}

fn debt_at(state: WindowState, rule: &Rule, at: i64) -> u128 {
    let elapsed = u128::from(at.saturating_sub(state.micros()).max(0).unsigned_abs());
    state.amount.saturating_sub(elapsed.saturating_mul(rule.limit.into()))
}

/// The state with this debt at `at`. It is stored as of the beginning of the millisecond, so what has been paid back since
/// then is added.
fn state_of(debt: u128, rule: &Rule, at: i64) -> WindowState {
    let at = at.max(0).unsigned_abs();
    let since = u128::from(at % MICROS_OF_MILLI).saturating_mul(rule.limit.into());
    WindowState { at_ms: at / MICROS_OF_MILLI, amount: debt.saturating_add(since), previous: 0 }
}

fn debt_of(units: u64, rule: &Rule) -> u128 {
    u128::from(units).saturating_mul(rule.micros().into())
}

/// Microseconds until a debt is paid back, rounded up.
fn micros_to_pay(debt: u128, rule: &Rule) -> u128 {
    let limit = rule.limit.max(1);
    // Most debts fit 64 bits, where a division takes a tenth of the time.
    match u64::try_from(debt) {
        Ok(debt) => debt.div_ceil(limit).into(),
        Err(_) => debt.div_ceil(limit.into()),
    }
}
