//! `GCRA`: a bucket that refills at limit / window. Stored as `newest debt`: what was missing from a full bucket at the
//! newest time a unit was taken, in unit · ns, in which a refill is elapsed · limit and never leaves a fraction.

use super::clock::MAX_MICROS;
use super::hash::{Judged, Window};
use super::request::Request;
use super::rule::{Rule, MAX_LIMIT};
use super::text::{read_numbers, within, Text};
use super::verdict::{wait_for, Standing};
use crate::error::Result;

const NANOS_OF_MICRO: u128 = 1_000;

/// The state of one window of `GCRA`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gcra {
    newest: i64,
    debt: u128,
}

impl Window for Gcra {
    const HEADER: &'static str = "v1 gcra";
    const PREFIX: &'static str = "gcra:";

    fn parse(value: &[u8], rule: Rule) -> Option<Gcra> {
        let [newest, debt] = read_numbers(value)?;
        Some(Gcra { newest: within(newest, 0..=MAX_MICROS)?, debt: within(debt, 1..=debt_of(MAX_LIMIT, rule))? })
    }

    fn push(&self, value: &mut Text) {
        value.push_spaced(self.newest);
        value.push_spaced(self.debt);
    }

    fn newest(&self) -> i64 {
        self.newest
    }

    fn judge(state: Option<Gcra>, request: &Request, rule: Rule, at: i64) -> Result<Judged<Gcra>> {
        let cost = request.cost;
        let capacity = request.burst.unwrap_or(rule.limit);
        let full = debt_of(capacity, rule);
        let debt = state.map_or(0, |state| state.debt_at(at, rule));
        let room = full.saturating_sub(debt);
        let left = room.checked_div(debt_of(1, rule)).unwrap_or(0);
        let left = u64::try_from(left).unwrap_or(u64::MAX);

        let taken = debt.saturating_add(debt_of(cost, rule));
        let wait = wait_for(cost, left, capacity, || Ok(refill_micros(taken.saturating_sub(full), rule)))?;
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
    u128::from(rule.limit).saturating_mul(NANOS_OF_MICRO)
}

/// Microseconds, rounded up, until a debt is paid.
fn refill_micros(debt: u128, rule: Rule) -> u128 {
    debt.div_ceil(refill_of_micro(rule).max(1))
}
