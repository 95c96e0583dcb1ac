//! `GCRA`: a bucket that refills at limit / window. Stored as `newest debt`: what was missing from a full bucket at the
//! newest time a unit was taken, in unit · ns, in which a refill is elapsed · limit and never leaves a fraction.

use super::clock::MAX_MICROS;
use super::error::RateError;
use super::hash::{push_micros, Call, Judged, Window};
use super::request::Algorithm;
use super::rule::{Rule, MAX_LIMIT};
use super::text::{push_long_number, stored_long_number, stored_number, words, Text};
use super::verdict::{wait_for, Standing};

const NANOS_OF_MICRO: u128 = 1_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Gcra {
    newest: i64,
    debt: u128,
}

impl Window for Gcra {
    const ALGORITHM: Algorithm = Algorithm::Gcra;
    const PREFIX: &'static str = "gcra:";

    fn parse(value: &[u8], rule: Rule) -> Option<Gcra> {
        let [newest, debt] = words(value)?;
        let newest = stored_number(newest, 0..=MAX_MICROS as u64)?;
        let debt = stored_long_number(debt)?;
        let state = Gcra { newest: i64::try_from(newest).ok()?, debt };
        (1..=debt_of(MAX_LIMIT, rule)).contains(&debt).then_some(state)
    }

    fn push(&self, value: &mut Text) {
        push_micros(value, self.newest);
        value.push(b" ");
        push_long_number(value, self.debt);
    }

    fn newest(&self) -> i64 {
        self.newest
    }

    fn judge(state: Option<Gcra>, call: &Call, at: i64) -> Result<Judged<Gcra>, RateError> {
        let Call { rule, burst, cost } = *call;
        let capacity = burst.unwrap_or(rule.limit());
        let full = debt_of(capacity, rule);
        let debt = state.map_or(0, |state| state.debt_at(at, rule));
        let room = full.saturating_sub(debt);
        let left = room.checked_div(debt_of(1, rule)).unwrap_or(0);
        let left = u64::try_from(left).unwrap_or(u64::MAX);

        let taken = debt.saturating_add(debt_of(cost, rule));
        let wait =
            wait_for(cost, left, capacity, || Ok::<_, RateError>(refill_micros(taken.saturating_sub(full), rule)))?;
        Ok(Judged {
            standing: Standing {
                capacity,
                left,
                wait,
                reset: refill_micros(debt, rule),
                reset_if_taken: refill_micros(taken, rule),
            },
            taken: Gcra { newest: at, debt: taken },
            ends_as_before: false,
        })
    }
}

impl Gcra {
    fn debt_at(self, at: i64, rule: Rule) -> u128 {
        let elapsed = u128::from(at.saturating_sub(self.newest).max(0).unsigned_abs());
        self.debt.saturating_sub(elapsed.saturating_mul(refill_of_micro(rule)))
    }
}

/// What so many units weigh, in unit · ns.
fn debt_of(units: u64, rule: Rule) -> u128 {
    let window_nanos = u128::from(rule.window_micros()).saturating_mul(NANOS_OF_MICRO);
    u128::from(units).saturating_mul(window_nanos)
}

fn refill_of_micro(rule: Rule) -> u128 {
    u128::from(rule.limit()).saturating_mul(NANOS_OF_MICRO)
}

/// Microseconds, rounded up, until a debt is paid.
fn refill_micros(debt: u128, rule: Rule) -> u128 {
    debt.div_ceil(refill_of_micro(rule).max(1))
}
