//! Schedules: items that become due at a time, are claimed for a while, and are acknowledged or become due again.
//!
//! The scores of one sorted set hold the whole state. This module is pure: it takes scores and times, and returns
//! moves.

mod schedule;
mod score;
#[cfg(test)]
mod tests;

pub use schedule::{
    acknowledge, add, add_again, next_due, prolong, tally, Acknowledged, Addition, ClaimRequest, Dead, NextDue,
    TakenItem, Tally,
};
pub use score::{Claim, ItemState, LeaseEnd, Serials, MAX_DURATION_MS, MAX_NOW_MS, MAX_TIME_MS};
