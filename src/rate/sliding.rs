//! `SLIDING`: exact, the units of the last window. One that is exactly a window old no longer counts.
//!
//! All rules share one log. It remembers the longest window that it has seen, so that a call with a short one never
//! removes entries that a longer one needs. The expiry is set an eighth of that window later than needed, and older
//! entries are dropped when it moves, or once they are an eighth of the log: in steady traffic, a call that passes only
//! adds one element.

use super::call::KeyAction;
use super::clock::{micros_of, slack, Clock, MICROS_OF_MILLI};
use super::digits::ShortText;
use super::log::{Entry, Log};
use super::request::Request;
use super::rule::Rule;
use super::verdict::{wait_for, RetryAfter, RuleResult, RuleResults};
use crate::error::{Error, Result};
use crate::zset::{Condition, Direction, SortedSet};

/// How many entries are checked one by one to find the end of a wait, before the search bisects. If costs are similar,
/// the answer is among the first few.
const STEPS_BEFORE_BISECTION: usize = 4;
/// Stale entries are dropped once one in this many of the log's units is theirs.
const DROP_FRACTION: u64 = 8;

/// What a call writes to its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogWrite {
    /// A call that passes, or is forced.
    Append {
        /// The new element's score; exact in a double.
        micros: i64,
        element: ShortText,
        /// Entries to drop: those with a time up to and including this one. `None` if there are none, or few.
        drop_through: Option<i64>,
        /// The expiry to set, in Unix ms. `None` if the key lasts long enough as it is.
        expire_at_ms: Option<i64>,
    },
    Refund {
        remove_newest: u64,
        /// Then the newest remaining entry is replaced: its score, the old element, and the new one.
        shorten: Option<(i64, ShortText, ShortText)>,
    },
}

impl LogWrite {
    /// Should the server refuse to remove entries, they stay: old ones count for nothing, and are dropped by the next
    /// call; units that were to be given back stay taken.
    pub(super) fn apply<S: SortedSet>(&self, set: &mut S) {
        match self {
            // Adds before it drops: a key that vanished in between would lose its expiry.
            LogWrite::Append { micros, element, drop_through, expire_at_ms } => {
                set.put(&S::Element::from(element), *micros as f64, Condition::Any);
                if let Some(through) = drop_through {
                    let _ = set.remove_through(*through);
                }
                if let Some(at_ms) = expire_at_ms {
                    set.expire_at(*at_ms);
                }
            }
            LogWrite::Refund { remove_newest, shorten } => {
                let len = set.len();
                if *remove_newest > 0 {
                    let _ = set.remove_indexes(len.saturating_sub(*remove_newest), len.saturating_sub(1));
                }
                if let Some((micros, before, after)) = shorten {
                    set.put(&S::Element::from(after), *micros as f64, Condition::Any);
                    set.remove(&S::Element::from(before));
                }
            }
        }
    }
}

/// The result of a call on one log, before it is written.
pub struct SlidingLimiter<'r> {
    request: &'r Request,
    rules: &'r [Rule],
    clock: Clock,
    at: i64,
    ends: Option<Ends>,
    /// The longest window that the log has seen, this call's included.
    longest_ms: u64,
    /// Entries with a time up to and including this one are older than that.
    stale_through: i64,
    stale_units: u64,
    /// The log is as long as it may be.
    must_drop_stale: bool,
}

/// A log that is not empty.
#[derive(Clone, Copy)]
struct Ends {
    oldest: Entry,
    newest: Entry,
}

impl Ends {
    /// Every call reads both ends, so it notices if the key is a leaderboard and not a log.
    fn of<S: SortedSet>(log: &mut Log<S>) -> Result<Option<Ends>> {
        let ends = log.oldest()?.zip(log.newest()?);
        Ok(ends.map(|(oldest, newest)| Ends { oldest, newest }))
    }

    /// The first entry after a time; `None` if there is none.
    fn first_after<S: SortedSet>(&self, log: &mut Log<S>, micros: i64) -> Result<Option<Entry>> {
        if self.oldest.micros > micros {
            Ok(Some(self.oldest))
        } else if self.newest.micros <= micros {
            Ok(None)
        } else {
            log.first_after(micros)
        }
    }
}

impl<'r> SlidingLimiter<'r> {
    /// Evaluates the rules of a key with its log. Appends the result of each rule.
    pub fn evaluate<S: SortedSet>(
        request: &'r Request,
        rules: &'r [Rule],
        clock: Clock,
        set: &mut S,
        results: &mut RuleResults,
    ) -> Result<SlidingLimiter<'r>> {
        let log = &mut Log(set);
        let ends = Ends::of(log)?;
        let at = clock.not_before(ends.map(|ends| ends.newest.micros));
        let longest_ms =
            rules.iter().map(Rule::millis).chain(ends.map(|ends| ends.newest.window_ms)).max().unwrap_or(0);
        let mut limiter = SlidingLimiter {
            request,
            rules,
            clock,
            at,
            ends,
            longest_ms,
            stale_through: at.saturating_sub(micros_of(longest_ms)),
            stale_units: 0,
            must_drop_stale: false,
        };
        let Some(ends) = ends else {
            results.extend(rules.iter().map(|rule| limiter.result_of_empty(rule)));
            return Ok(limiter);
        };
        let first_live = ends.first_after(log, limiter.stale_through)?;
        limiter.stale_units =
            units_between(ends.oldest.total, first_live.map_or(ends.newest.end(), |live| live.total))?;
        let full_until = limiter.full_until(log, first_live)?;
        for rule in rules {
            let first = match first_live {
                Some(live) if rule.millis() == longest_ms => Some(live),
                _ => ends.first_after(log, rule.window_before(at))?,
            };
            let mut result = limiter.result(log, rule, ends, first)?;
            if let Some(until) = full_until {
                result.remaining = 0;
                result.wait = result.wait.max(RetryAfter::Micros(clock.until(until)));
            }
            results.push(result);
        }
        Ok(limiter)
    }

    /// When a full log has room for another entry. Stale entries do not count, because they are dropped first.
    fn full_until<S: SortedSet>(&mut self, log: &mut Log<S>, first_live: Option<Entry>) -> Result<Option<i64>> {
        let len = log.0.len();
        if len < self.request.max_log || self.request.cost == 0 {
            return Ok(None);
        }
        let stale = log.0.count_below(self.stale_through as f64, true)?;
        self.must_drop_stale = stale > 0;
        let is_full = len.saturating_sub(stale) >= self.request.max_log;
        Ok(first_live.filter(|_| is_full).map(|live| live.micros.saturating_add(micros_of(self.longest_ms))))
    }

    fn result_of_empty(&self, rule: &Rule) -> RuleResult {
        let wait = if self.request.cost > rule.limit { RetryAfter::Forever } else { RetryAfter::None };
        let reset_if_taken = self.clock.until(rule.window_after(self.at));
        RuleResult { capacity: rule.limit, remaining: rule.limit, wait, reset: 0, reset_if_taken, closed: false }
    }

    /// What a rule says of the call, by the entries from `first` on, which are within its window.
    fn result<S: SortedSet>(
        &self,
        log: &mut Log<S>,
        rule: &Rule,
        ends: Ends,
        first: Option<Entry>,
    ) -> Result<RuleResult> {
        let empty = self.result_of_empty(rule);
        let Some(first) = first else { return Ok(empty) };
        let used = units_between(first.total, ends.newest.end())?;
        let remaining = rule.limit.saturating_sub(used);
        let cost = self.request.cost;
        let wait = wait_for(cost, remaining, rule.limit, || {
            let room_needed = rule.limit.saturating_sub(cost);
            let leaves = time_when_left(log, first, ends.newest, used.saturating_sub(room_needed))?;
            Ok(self.clock.until(rule.window_after(leaves)))
        })?;
        let reset = if used > 0 { self.clock.until(rule.window_after(ends.newest.micros)) } else { 0 };
        Ok(RuleResult { remaining, wait, reset, ..empty })
    }

    /// What to write to the log, if anything. `expiry` is that of the key.
    pub(super) fn write<S: SortedSet>(
        &self,
        action: KeyAction,
        set: &mut S,
        expiry: Option<i64>,
    ) -> Result<Option<LogWrite>> {
        match action {
            KeyAction::Nothing => Ok(None),
            KeyAction::Take | KeyAction::Deny { .. } => self.take(expiry).map(Some),
            KeyAction::Refund => self.refund(set),
        }
    }

    fn take(&self, expiry: Option<i64>) -> Result<LogWrite> {
        let cost = self.request.cost;
        let (first, total) = self.ends.map_or((0, 0), |ends| (ends.oldest.total, ends.newest.end()));
        total.checked_add(cost).ok_or_else(|| Error::limiter_overflow(cost))?;
        let entry = Entry { micros: self.at, total, cost, window_ms: self.longest_ms };
        let units = units_between(first, total)?;
        let stale = self.stale_units;
        let longest = self.longest_ms.saturating_mul(MICROS_OF_MILLI);
        let matters = self.clock.until(self.at).saturating_add(longest.into());
        let lasts = expiry.is_some_and(|at_ms| at_ms >= self.clock.expire_at_ms(matters));
        // Two more commands with a call cost less than one more with each of two calls.
        let is_much = !lasts || stale.saturating_mul(DROP_FRACTION) >= units.saturating_add(cost);
        let drops = self.must_drop_stale || (stale > 0 && is_much);
        Ok(LogWrite::Append {
            micros: self.at,
            element: entry.element(),
            drop_through: drops.then_some(self.stale_through),
            expire_at_ms: (!lasts).then(|| self.clock.expire_at_ms(matters.saturating_add(slack(longest).into()))),
        })
    }

    /// Gives the call's cost back: removes the newest entries, no further back than the call's longest window, and may
    /// reduce the cost of one. The last entry of a log stays, with a cost of 0. `None` if there is nothing to give back.
    fn refund<S: SortedSet>(&self, set: &mut S) -> Result<Option<LogWrite>> {
        let longest = self.rules.iter().map(Rule::micros).max().unwrap_or(0);
        let bound = self.at.saturating_sub_unsigned(longest);
        let (len, mut rest) = (set.len(), self.request.cost);
        let (mut removed, mut shortened) = (0_u64, None);
        for (element, score) in set.cursor(.., Direction::Down) {
            let entry = Entry::decode(score, element.as_ref()).ok_or_else(Error::not_a_log)?;
            if rest == 0 || entry.micros <= bound {
                break;
            }
            if entry.cost > rest || removed.saturating_add(1) >= len {
                shortened = Some((entry, Entry { cost: entry.cost.saturating_sub(rest), ..entry }));
                break;
            }
            rest = rest.saturating_sub(entry.cost);
            removed = removed.saturating_add(1);
        }
        let shorten = shortened
            .filter(|(before, after)| before != after)
            .map(|(before, after)| (before.micros, before.element(), after.element()));
        let changed = removed > 0 || shorten.is_some();
        Ok(changed.then_some(LogWrite::Refund { remove_newest: removed, shorten }))
    }
}

fn units_between(total: u64, end: u64) -> Result<u64> {
    end.checked_sub(total).ok_or_else(Error::not_a_log)
}

/// The time of the entry with which the oldest `units`, counted from `first`, have left the window. Totals grow with
/// time, so this is a binary search by time, and takes O(log n) reads of the log.
fn time_when_left<S: SortedSet>(log: &mut Log<S>, first: Entry, newest: Entry, units: u64) -> Result<i64> {
    if units <= first.cost {
        return Ok(first.micros);
    }
    // The answer is within low ..= high throughout.
    let mut low = first.micros;
    let mut high = newest.micros;
    let mut steps = 0;
    while low < high {
        let probe = if steps < STEPS_BEFORE_BISECTION { low } else { i64::midpoint(low, high) };
        steps += 1;
        let next = log.first_after(probe)?.ok_or_else(Error::not_a_log)?;
        if units_between(first.total, next.total)? >= units {
            high = probe;
        } else if units_between(first.total, next.end())? >= units {
            return Ok(next.micros);
        } else {
            // The bounds only matter if somebody meddled with the log: the search ends all the same.
            low = next.micros.max(probe.saturating_add(1)).min(high);
        }
    }
    Ok(high)
}
