//! `GCRA`: a bucket of units that refills evenly, at limit / window. What is stored is the debt, what is missing from a full
//! bucket, as of a millisecond, in units × microseconds. In this unit everything is a whole number: a unit is a debt of
//! `window`, and each microsecond pays back `limit`.

use super::call::{wait_for, RuleResult};
use super::clock::MICROS_OF_MILLI;
use super::request::{Rule, Settlement};
use super::text::{WindowState, MAX_UNITS};

/// The result at `at`, which is not before the state, and the state if the cost is counted, maybe by `FORCE`.
pub(super) fn evaluate(
    state: Option<WindowState>,
    rule: &Rule,
    cost: u64,
    at: i64,
    force: bool,
) -> (RuleResult, WindowState) {
    let capacity = rule.capacity();
    let full = debt_of(capacity, rule);
    let debt = state.map_or(0, |state| debt_at(state, rule, at));
    // A unit that is refilled in part is not there yet.
    let remaining = full.saturating_sub(debt).checked_div(debt_of(1, rule)).unwrap_or(0);
    let remaining = u64::try_from(remaining).unwrap_or(u64::MAX);
    let wanted = debt.saturating_add(debt_of(cost, rule));
    // `FORCE` owes at most twice the bucket, unless more was owed before. `WAIT` may owe more.
    let taken = if force { wanted.min(full.saturating_mul(2).max(debt)) } else { wanted };
    let result = RuleResult {
        capacity,
        remaining,
        // A call passes once the debt, its own cost included, fits the bucket.
        wait: wait_for(cost, remaining, capacity, || micros_to_pay(wanted.saturating_sub(full), rule)),
        reset: micros_to_pay(debt, rule),
        reset_if_taken: micros_to_pay(taken, rule),
        ..RuleResult::default()
    };
    (result, state_of(taken, rule, at))
}

/// Gives units back; `None` if nothing is owed.
pub(super) fn refund(state: WindowState, rule: &Rule, units: u64, at: i64) -> Option<WindowState> {
    let debt = debt_at(state, rule, at);
    let left = debt.saturating_sub(debt_of(units, rule));
    (debt > 0).then(|| if left == 0 { WindowState { amount: 0, ..state } } else { state_of(left, rule, at) })
}

/// Corrects what a call took at `by.at`. Returns the new state, and how many units were given back; negative if more are
/// counted. `None` if nothing changes.
///
/// What the rule has refilled since then is not given back: if the bucket was full in between, these units would have been
/// lost, and giving them back would let through more than if the true cost had been known. The time of the state stays: a
/// clock that is set back sees no less debt than it would have seen then.
pub(super) fn settle(state: Option<WindowState>, rule: &Rule, by: &Settlement, at: i64) -> Option<(WindowState, i64)> {
    let owed = state.map_or(0, |state| debt_at(state, rule, at));
    let missing = by.missing();
    if missing > 0 {
        let most = debt_of(MAX_UNITS, rule);
        let owed = owed.saturating_add(debt_of(missing, rule)).min(most.max(owed));
        // As of the time of the state, the debt is higher by what was paid back since.
        let earlier = state.map(|state| {
            let amount = owed.saturating_add(paid_back(state.micros(), at, rule));
            WindowState { amount, ..state }
        });
        let after = earlier.filter(|state| state.amount <= most).unwrap_or_else(|| state_of(owed, rule, at));
        return Some((after, -missing.cast_signed()));
    }
    let unit = debt_of(1, rule).max(1);
    let refilled = u64::try_from(paid_back(by.at, at, rule).div_ceil(unit)).unwrap_or(u64::MAX);
    let owed_units = u64::try_from(owed.div_ceil(unit)).unwrap_or(u64::MAX);
    let back = by.reserved.saturating_sub(by.used.max(refilled)).min(owed_units);
    let state = state.filter(|_| back > 0)?;
    let amount = state.amount.saturating_sub(debt_of(back, rule).min(owed));
    Some((WindowState { amount, ..state }, back.cast_signed()))
}

/// The largest debt after a call that passed.
pub(super) fn largest_amount(rule: &Rule) -> u128 {
    state_of(debt_of(rule.capacity(), rule), rule, MICROS_OF_MILLI as i64 - 1).amount
}

fn debt_at(state: WindowState, rule: &Rule, at: i64) -> u128 {
    state.amount.saturating_sub(paid_back(state.micros(), at, rule))
}

/// The debt that is paid back between two times.
fn paid_back(from: i64, to: i64, rule: &Rule) -> u128 {
    let elapsed = u128::from(to.saturating_sub(from).max(0).unsigned_abs());
    elapsed.saturating_mul(rule.limit.into())
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
