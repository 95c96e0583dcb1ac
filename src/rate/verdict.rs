//! The results of a call's rules, the verdict that they make together, and its forms: an array, JSON, and the reply of
//! redis-cell.

use smallvec::SmallVec;

use super::clock::{millis, millis_rounded_up};
use crate::error::Result;

/// The reply to the client. All fields except `limited` are about the rule that `rule` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub limited: bool,
    /// The most that the rule lets through at once.
    pub limit: u64,
    pub remaining: u64,
    pub retry_after: RetryAfter,
    /// Microseconds until that rule is fully replenished.
    pub reset_after: u128,
    /// From 1, in the order of the call; 0 for a limiter that a penalty closed.
    pub rule: u64,
}

impl Verdict {
    /// `[limited, limit, remaining, retry_after_ms, reset_after_ms, rule]`
    pub fn reply(&self) -> [i64; 6] {
        let (limited, reset) = (i64::from(self.limited), millis_rounded_up(self.reset_after));
        [limited, integer(self.limit), integer(self.remaining), self.retry_ms(), reset, integer(self.rule)]
    }

    fn retry_ms(&self) -> i64 {
        match self.retry_after {
            RetryAfter::None => 0,
            RetryAfter::Micros(wait) => millis_rounded_up(wait),
            RetryAfter::Forever => -1,
        }
    }

    pub fn json(&self) -> String {
        format!("{{\"limited\":{},\"rule\":{},{}}}", self.limited, self.rule, self.json_numbers())
    }

    /// For a lease, whose token is in the place of the rule.
    pub fn lease_json(&self) -> String {
        format!("{{\"limited\":{},{},\"token\":{}}}", self.limited, self.json_numbers(), self.rule)
    }

    fn json_numbers(&self) -> String {
        let [_, limit, remaining, retry, reset, _] = self.reply();
        format!("\"limit\":{limit},\"remaining\":{remaining},\"retry_after_ms\":{retry},\"reset_after_ms\":{reset}")
    }

    /// `[limited, limit, remaining, retry_after, reset_after]` in seconds, as redis-cell returns it. `retry_after` is
    /// -1 for a call that passes. Parts of a second round up, but parts of a millisecond do not.
    pub fn cell_reply(&self) -> [i64; 5] {
        let seconds = |micros: u128| millis(micros).saturating_add(999) / 1_000;
        let retry = match self.retry_after {
            RetryAfter::Micros(wait) => seconds(wait),
            RetryAfter::None | RetryAfter::Forever => -1,
        };
        [i64::from(self.limited), integer(self.limit), integer(self.remaining), retry, seconds(self.reset_after)]
    }
}

fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// How long until a call could pass, on the caller's clock. Ordered so that the greatest is the one to report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetryAfter {
    #[default]
    None,
    /// 128 bits, because the largest bucket at the slowest rate takes longer to fill than 64 bits can say.
    Micros(u128),
    Forever,
}

pub(super) type RuleResults = SmallVec<[RuleResult; 2]>;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RuleResult {
    /// The most that the rule ever lets through at once.
    pub capacity: u64,
    pub remaining: u64,
    pub wait: RetryAfter,
    /// Microseconds until it is fully replenished, if the call is not taken.
    pub reset: u128,
    /// The same if the call is taken.
    pub reset_if_taken: u128,
    pub closed: bool,
}

impl RuleResult {
    /// The same result with all waits longer by this: they count from the caller's clock, which may be behind the one that
    /// decides.
    pub fn shift_waits(self, behind: u128) -> RuleResult {
        let later = |wait: u128| if wait == 0 { 0 } else { wait.saturating_add(behind) };
        RuleResult {
            wait: match self.wait {
                RetryAfter::Micros(wait) => RetryAfter::Micros(later(wait)),
                other => other,
            },
            reset: later(self.reset),
            reset_if_taken: later(self.reset_if_taken),
            ..self
        }
    }

    /// The same result for a limiter that a penalty closes for this long.
    pub fn closed_for(self, micros: u128, cost: u64) -> RuleResult {
        RuleResult {
            remaining: 0,
            wait: if cost == 0 { RetryAfter::None } else { self.wait.max(RetryAfter::Micros(micros)) },
            reset: self.reset.max(micros),
            closed: true,
            ..self
        }
    }

    pub fn denies(&self) -> bool {
        self.wait != RetryAfter::None
    }

    pub fn verdict(&self, number: u64, consumed: Option<u64>) -> Verdict {
        Verdict {
            limited: self.denies(),
            limit: self.capacity,
            remaining: self.remaining.saturating_sub(consumed.unwrap_or(0)),
            retry_after: self.wait,
            reset_after: if consumed.is_some() { self.reset_if_taken } else { self.reset },
            rule: if self.closed { 0 } else { number },
        }
    }
}

/// The answer to a call, from the results of all rules, in order. `consumed` is what was taken from each.
pub(super) fn verdict(results: &[RuleResult], consumed: Option<u64>) -> Option<Verdict> {
    let numbered = || (1_u64..).zip(results);
    // Strict comparisons: the first of equals stays.
    let longest_wait = numbered().reduce(|best, next| if next.1.wait > best.1.wait { next } else { best })?;
    let (number, result) = if longest_wait.1.denies() {
        longest_wait
    } else {
        // All rules lose the same cost, so that the rule with the fewest units left now is the one afterwards.
        numbered().reduce(|best, next| if next.1.remaining < best.1.remaining { next } else { best })?
    };
    Some(result.verdict(number, consumed))
}

/// How long until a call could pass. In all algorithms, the units left are a whole number, and a call passes if it costs no
/// more than that.
pub(super) fn wait_for(
    cost: u64,
    remaining: u64,
    capacity: u64,
    wait_if_denied: impl FnOnce() -> Result<u128>,
) -> Result<RetryAfter> {
    if cost <= remaining {
        Ok(RetryAfter::None)
    } else if cost > capacity {
        Ok(RetryAfter::Forever)
    } else {
        wait_if_denied().map(RetryAfter::Micros)
    }
}
