//! From what each rule says to the one answer.

use super::clock::millis_rounded_up;
use crate::error::Result;

/// Whether a call may consume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Consumes if it passes, and tells what is left afterwards.
    Check,
    /// Tells whether it would pass, and what is left as it stands.
    Peek,
}

/// What the client is told. All fields but `limited` are about the rule that `rule` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the call is denied.
    pub limited: bool,
    /// The most that the rule lets through at once.
    pub limit: u64,
    /// Units left.
    pub remaining: u64,
    /// When the call could pass.
    pub retry_after: Wait,
    /// Microseconds until that rule is as good as new.
    pub reset_after: u128,
    /// From 1, in the order of the call.
    pub rule: u64,
}

impl Verdict {
    /// `[limited, limit, remaining, retry_after_ms, reset_after_ms, rule]`
    pub fn reply(&self) -> [i64; 6] {
        let retry = match self.retry_after {
            Wait::None => 0,
            Wait::Micros(wait) => millis_rounded_up(wait),
            Wait::Forever => -1,
        };
        let integer = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let (limited, reset) = (i64::from(self.limited), millis_rounded_up(self.reset_after));
        [limited, integer(self.limit), integer(self.remaining), retry, reset, integer(self.rule)]
    }
}

/// How long until a call could pass, on the caller's clock. The order is that of the answer: never fits before any wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// It passes now.
    None,
    /// A bucket of the largest size that is refilled at the slowest rate takes more of them than a u64 holds.
    Micros(u128),
    /// It never could.
    Forever,
}

/// What one rule says of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    /// The most that the rule ever lets through at once.
    pub capacity: u64,
    /// Units left as it stands.
    pub left: u64,
    pub wait: Wait,
    /// Microseconds until it is as good as new, as it stands.
    pub reset: u128,
    /// The same if the call is taken.
    pub reset_if_taken: u128,
}

/// In all four algorithms whole units are left, and a call passes if it costs no more than that.
pub(super) fn wait_for(
    cost: u64,
    left: u64,
    capacity: u64,
    wait_if_denied: impl FnOnce() -> Result<u128>,
) -> Result<Wait> {
    if cost <= left {
        Ok(Wait::None)
    } else if cost > capacity {
        Ok(Wait::Forever)
    } else {
        wait_if_denied().map(Wait::Micros)
    }
}

/// The rules of a call, one by one.
pub(super) struct Tally {
    cost: u64,
    rules: u64,
    longest_wait: Option<(u64, Standing)>,
    fewest_left: Option<(u64, Standing)>,
    longest_reset: u128,
}

impl Tally {
    pub(super) fn new(cost: u64) -> Tally {
        Tally { cost, rules: 0, longest_wait: None, fewest_left: None, longest_reset: 0 }
    }

    pub(super) fn add(&mut self, standing: Standing) {
        self.rules = self.rules.saturating_add(1);
        // Strict comparisons: the first of equals stays.
        if self.longest_wait.is_none_or(|(_, other)| standing.wait > other.wait) {
            self.longest_wait = Some((self.rules, standing));
        }
        if self.fewest_left.is_none_or(|(_, other)| standing.left < other.left) {
            self.fewest_left = Some((self.rules, standing));
        }
        self.longest_reset = self.longest_reset.max(standing.reset_if_taken);
    }

    /// Microseconds until every rule of the call is as good as new if the call is taken.
    pub(super) fn longest_reset(&self) -> u128 {
        self.longest_reset
    }

    /// The answer, and whether the call consumes.
    pub(super) fn verdict(&self, mode: Mode) -> Option<(Verdict, bool)> {
        let (slowest, slowest_standing) = self.longest_wait?;
        let limited = slowest_standing.wait != Wait::None;
        let consumes = !limited && self.cost > 0 && mode == Mode::Check;
        // All rules lose the same cost, so that the rule with the fewest units left now is the one afterwards.
        let (rule, standing) = if limited { (slowest, slowest_standing) } else { self.fewest_left? };
        let verdict = Verdict {
            limited,
            limit: standing.capacity,
            remaining: if consumes { standing.left.saturating_sub(self.cost) } else { standing.left },
            retry_after: standing.wait,
            reset_after: if consumes { standing.reset_if_taken } else { standing.reset },
            rule,
        };
        Some((verdict, consumes))
    }
}
