//! `SLIDING`: exact, the units of the last window. One that is exactly a window old no longer counts.
//!
//! All rules share one log. It remembers the longest window that it has seen, so that a call with a short one never
//! removes entries that a longer one needs. The expiry is set an eighth of that window later than needed, and older
//! entries are dropped when it moves, or once they are an eighth of the log: in steady traffic, a call that passes only
//! adds one element.

use super::call::{wait_for, Change, RetryAfter, RuleResult, RuleResults};
use super::clock::{micros_of, slack, Clock, MICROS_OF_MILLI};
use super::log::{Log, LogEntry};
use super::request::{Action, Request, Rule};
use crate::error::{Error, Result};
use crate::zset::{Condition, Direction, SortedSet};

/// How many entries are checked one by one to find the end of a wait, before the search bisects. If costs are similar,
/// the answer is among the first few.
const STEPS_BEFORE_BISECTION: usize = 4;
/// Stale entries are dropped once one in this many of the log's units is theirs.
const DROP_FRACTION: u64 = 8;

/// A limiter in a log, and what a call found out about it.
pub(super) struct SlidingLimiter<'r> {
    request: &'r Request,
    rules: &'r [Rule],
    clock: Clock,
    /// The time of the call: not before the newest entry.
    at: i64,
    ends: Option<Ends>,
    /// The longest window that the log has seen, this call's included.
    longest_ms: u64,
    /// Entries with a time up to and including this one are older than that.
    stale_through: i64,
    stale_units: u64,
    /// The log is as long as it may be.
    must_drop_stale: bool,
    refund: Refund,
}

/// A log that is not empty.
#[derive(Clone, Copy)]
struct Ends {
    oldest: LogEntry,
    newest: LogEntry,
}

/// The entries that give back what a call gives back.
#[derive(Default)]
struct Refund {
    /// So many of the newest are removed.
    removed: u64,
    /// Then the newest that is left is replaced by the second one.
    shortened: Option<(LogEntry, LogEntry)>,
}

impl Ends {
    /// Every call reads both ends, so it notices if the key is a leaderboard and not a log.
    fn of<S: SortedSet>(log: &mut Log<S>) -> Result<Option<Ends>> {
        let ends = log.oldest()?.zip(log.newest()?);
        Ok(ends.map(|(oldest, newest)| Ends { oldest, newest }))
    }

    /// The first entry after a time; `None` if there is none.
    fn first_after<S: SortedSet>(&self, log: &mut Log<S>, micros: i64) -> Result<Option<LogEntry>> {
        if self.oldest.micros > micros {
            Ok(Some(self.oldest))
        } else if self.newest.micros <= micros {
            Ok(None)
        } else {
            log.first_after(micros)
        }
    }

    /// The units of all entries.
    fn units(&self) -> Result<u64> {
        units_between(self.oldest.total, self.newest.end())
    }
}

impl<'r> SlidingLimiter<'r> {
    pub fn new(request: &'r Request, rules: &'r [Rule], clock: Clock) -> SlidingLimiter<'r> {
        SlidingLimiter {
            request,
            rules,
            clock,
            at: 0,
            ends: None,
            longest_ms: 0,
            stale_through: 0,
            stale_units: 0,
            must_drop_stale: false,
            refund: Refund::default(),
        }
    }

    /// Evaluates the rules of the key with its log. Appends the result of each rule.
    pub fn evaluate<S: SortedSet>(&mut self, set: &mut S, results: &mut RuleResults) -> Result<()> {
        let log = &mut Log(set);
        self.ends = Ends::of(log)?;
        let newest = self.ends.map(|ends| ends.newest);
        self.at = self.clock.not_before(newest.map(|newest| newest.micros));
        let windows = self.rules.iter().map(Rule::millis);
        self.longest_ms = windows.chain(newest.map(|newest| newest.window_ms)).max().unwrap_or(0);
        self.stale_through = self.at.saturating_sub(micros_of(self.longest_ms));
        let Some(ends) = self.ends else {
            results.extend(self.rules.iter().map(|rule| self.result_of_empty(rule)));
            return Ok(());
        };
        let first_live = ends.first_after(log, self.stale_through)?;
        self.stale_units = units_between(ends.oldest.total, first_live.map_or(ends.newest.end(), |live| live.total))?;
        let full_until = self.full_until(log, first_live)?;
        let mut denies = false;
        for rule in self.rules {
            let first = match first_live {
                Some(live) if rule.millis() == self.longest_ms => Some(live),
                _ => ends.first_after(log, rule.window_before(self.at))?,
            };
            let mut result = self.result(log, rule, ends, first)?;
            if let Some(until) = full_until {
                result.remaining = 0;
                result.wait = result.wait.max(RetryAfter::Micros(self.clock.until(until)));
            }
            denies |= result.denies();
            results.push(result);
        }
        match self.request.action {
            Action::Check if self.request.cost > 0 && (!denies || self.request.force) => self.check_total(ends),
            Action::Refund => self.find_refund(log.0),
            _ => Ok(()),
        }
    }

    /// An error if the call cannot be counted.
    fn check_total(&self, ends: Ends) -> Result<()> {
        let cost = self.request.cost;
        ends.newest.end().checked_add(cost).ok_or_else(|| Error::limiter_overflow(cost))?;
        ends.units().map(drop)
    }

    /// When a full log has room for another entry. Stale entries do not count, because they are dropped first.
    fn full_until<S: SortedSet>(&mut self, log: &mut Log<S>, first_live: Option<LogEntry>) -> Result<Option<i64>> {
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
        RuleResult { capacity: rule.limit, remaining: rule.limit, wait, reset_if_taken, ..RuleResult::default() }
    }

    /// What a rule says of the call, by the entries from `first` on, which are within its window.
    fn result<S: SortedSet>(
        &self,
        log: &mut Log<S>,
        rule: &Rule,
        ends: Ends,
        first: Option<LogEntry>,
    ) -> Result<RuleResult> {
        let empty = self.result_of_empty(rule);
        let Some(first) = first else { return Ok(empty) };
        let used = units_between(first.total, ends.newest.end())?;
        let remaining = rule.limit.saturating_sub(used);
        let cost = self.request.cost;
        let mut until_room = 0;
        if remaining < cost && cost <= rule.limit {
            let room_needed = rule.limit.saturating_sub(cost);
            let leaves = time_when_left(log, first, ends.newest, used.saturating_sub(room_needed))?;
            until_room = self.clock.until(rule.window_after(leaves));
        }
        let wait = wait_for(cost, remaining, rule.limit, || until_room);
        let reset = if used > 0 { self.clock.until(rule.window_after(ends.newest.micros)) } else { 0 };
        Ok(RuleResult { remaining, wait, reset, ..empty })
    }

    /// The most units that the totals of the log have room for.
    pub fn room(&self) -> u64 {
        u64::MAX.saturating_sub(self.ends.map_or(0, |ends| ends.newest.end()))
    }

    /// Makes a change. Returns whether there was anything to write. A log is never closed.
    ///
    /// Should the server refuse to remove entries, they stay: old ones count for nothing, and are dropped by the next call;
    /// units that were to be given back stay taken.
    pub fn apply<S: SortedSet>(&self, change: Change, set: &mut S) -> bool {
        match change {
            Change::Take { units, .. } => self.append(units, set),
            Change::Close | Change::Settle => return false,
            Change::Refund => return self.refund.apply(set),
        }
        true
    }

    fn append<S: SortedSet>(&self, cost: u64, set: &mut S) {
        let expiry = set.expiry();
        let total = self.ends.map_or(0, |ends| ends.newest.end());
        let units = self.ends.and_then(|ends| ends.units().ok()).unwrap_or(0).saturating_add(cost);
        let longest = self.longest_ms.saturating_mul(MICROS_OF_MILLI);
        let matters = self.clock.until(self.at).saturating_add(longest.into());
        let lasts = expiry.is_some_and(|at_ms| at_ms >= self.clock.expire_at_ms(matters));
        let entry = LogEntry { micros: self.at, total, cost, window_ms: self.longest_ms };
        // Adds before it drops: a key that vanished in between would lose its expiry.
        set.put(&S::Element::from(&entry.element()), self.at as f64, Condition::Any);
        // Two more commands with a call cost less than one more with each of two calls.
        let is_much = !lasts || self.stale_units.saturating_mul(DROP_FRACTION) >= units;
        if self.must_drop_stale || (self.stale_units > 0 && is_much) {
            let _ = set.remove_through(self.stale_through);
        }
        if !lasts {
            set.expire_at(self.clock.expire_at_ms(matters.saturating_add(slack(longest).into())));
        }
    }

    /// Finds what gives the call's cost back: the newest entries go, no further back than the call's longest window, and
    /// one may get a lower cost. The last entry of a log stays, with a cost of 0.
    fn find_refund<S: SortedSet>(&mut self, set: &mut S) -> Result<()> {
        let longest = self.rules.iter().map(Rule::micros).max().unwrap_or(0);
        let bound = self.at.saturating_sub_unsigned(longest);
        let (len, mut rest) = (set.len(), self.request.cost);
        let Refund { removed, shortened } = &mut self.refund;
        for (element, score) in set.cursor(.., Direction::Down) {
            let entry = LogEntry::decode(score, element.as_ref()).ok_or_else(Error::not_a_log)?;
            if rest == 0 || entry.micros <= bound {
                break;
            }
            if entry.cost > rest || removed.saturating_add(1) >= len {
                let shorter = LogEntry { cost: entry.cost.saturating_sub(rest), ..entry };
                *shortened = Some((entry, shorter)).filter(|(before, after)| before != after);
                break;
            }
            rest = rest.saturating_sub(entry.cost);
            *removed = removed.saturating_add(1);
        }
        Ok(())
    }
}

impl Refund {
    fn apply<S: SortedSet>(&self, set: &mut S) -> bool {
        let len = set.len();
        if self.removed > 0 {
            let _ = set.remove_indexes(len.saturating_sub(self.removed), len.saturating_sub(1));
        }
        if let Some((before, after)) = self.shortened {
            set.put(&S::Element::from(&after.element()), after.micros as f64, Condition::Any);
            set.remove(&S::Element::from(&before.element()));
        }
        self.removed > 0 || self.shortened.is_some()
    }
}

fn units_between(total: u64, end: u64) -> Result<u64> {
    end.checked_sub(total).ok_or_else(Error::not_a_log)
}

/// The time of the entry that has to leave the window for `units` to have left it, counted from `first` on. Totals grow
/// with time, so this is a binary search by time: O(log n) reads of the log.
fn time_when_left<S: SortedSet>(log: &mut Log<S>, first: LogEntry, newest: LogEntry, units: u64) -> Result<i64> {
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
            // In a log that nobody meddled with, this is `next.micros`. The bounds make the search end in any other too.
            low = next.micros.max(probe.saturating_add(1)).min(high);
        }
    }
    Ok(high)
}
