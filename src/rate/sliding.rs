//! `SLIDING`: exact, the units of the last window. One that is exactly a window old no longer counts.

use super::clock::Clock;
use super::log::{Entry, Log};
use super::request::Request;
use super::rule::Rule;
use super::text::Text;
use super::verdict::{wait_for, Mode, Standing, Tally, Verdict};
use crate::error::{Error, Result};

/// Entries looked at one by one before the search for the end of a wait starts to bisect: with costs of like size the
/// answer is among the first few.
const STEPS_BEFORE_BISECTION: usize = 4;

/// What a call that passed leaves in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The new element's score; exact in a double.
    pub micros: i64,
    /// The new element.
    pub element: Text,
    /// Entries to drop: those with a time up to and including this one. `None` if there are none.
    pub drop_through: Option<i64>,
    /// Unix ms. An expiry the key has already stays if it is later: calls with longer windows may come again.
    pub expire_at_ms: i64,
}

/// Judges a call by the log under the key, `None` if there is no key.
pub fn check_log<L: Log>(
    request: &Request,
    mode: Mode,
    clock: Clock,
    log: Option<&mut L>,
) -> Result<(Verdict, Option<Append>)> {
    let mut log = log.map(Ends::of).transpose()?.flatten();
    let at = clock.not_before(log.as_ref().map(|log| log.newest.micros));
    let mut tally = Tally::new(request.cost);
    for rule in &request.rules {
        let span = match &mut log {
            Some(log) => log.span(rule.window_before(at))?,
            None => None,
        };
        tally.add(standing(span, *rule, request.cost, clock, at)?);
    }
    let (verdict, consumes) = tally.verdict(mode).ok_or(Error::NoRule)?;
    if !consumes {
        return Ok((verdict, None));
    }

    let total = log.as_ref().map_or(0, |log| log.newest.end());
    total.checked_add(request.cost).ok_or(Error::LimiterOverflow(request.cost))?;
    let stale = request.rules.iter().map(|rule| rule.window_before(at)).min();
    let append = Append {
        micros: at,
        element: Entry { micros: at, total, cost: request.cost }.element(),
        drop_through: stale.filter(|stale| log.is_some_and(|log| log.oldest.micros <= *stale)),
        expire_at_ms: clock.expire_at_ms(tally.longest_reset()),
    };
    Ok((verdict, Some(append)))
}

/// An error unless the sorted set under the key is a limiter's log.
pub fn recognise_log<L: Log>(log: &mut L) -> Result<()> {
    Ends::of(log)?.map(|_| ()).ok_or(Error::NotALog)
}

/// A log that is not empty.
struct Ends<'l, L> {
    log: &'l mut L,
    oldest: Entry,
    newest: Entry,
}

impl<'l, L: Log> Ends<'l, L> {
    /// Both ends are looked at on every call: that is how a leaderboard under the key is noticed.
    fn of(log: &'l mut L) -> Result<Option<Ends<'l, L>>> {
        let ends = log.oldest()?.zip(log.newest()?);
        Ok(ends.map(|(oldest, newest)| Ends { log, oldest, newest }))
    }

    /// What is after a time; `None` if that is nothing.
    fn span(&mut self, micros: i64) -> Result<Option<Span<'_, L>>> {
        let first = if self.oldest.micros > micros {
            Some(self.oldest)
        } else if self.newest.micros <= micros {
            None
        } else {
            self.log.first_after(micros)?
        };
        Ok(first.map(|first| Span { log: self.log, first, newest: self.newest }))
    }
}

/// What a rule says of a call, by the entries within its window.
fn standing<L: Log>(span: Option<Span<L>>, rule: Rule, cost: u64, clock: Clock, at: i64) -> Result<Standing> {
    let (used, reset) = match &span {
        Some(span) => (span.used()?, clock.until(rule.window_after(span.newest.micros))),
        None => (0, 0),
    };
    let left = rule.limit.saturating_sub(used);
    let wait = wait_for(cost, left, rule.limit, || {
        // Nothing has to leave an empty window.
        let Some(span) = span else { return Ok(0) };
        let room_needed = rule.limit.saturating_sub(cost);
        let leaves = span.leaves(used.saturating_sub(room_needed))?;
        Ok(clock.until(rule.window_after(leaves)))
    })?;
    Ok(Standing { capacity: rule.limit, left, wait, reset, reset_if_taken: clock.until(rule.window_after(at)) })
}

/// The entries within a rule's window: the first of them, and the newest of the log.
struct Span<'l, L> {
    log: &'l mut L,
    first: Entry,
    newest: Entry,
}

impl<L: Log> Span<'_, L> {
    fn used(&self) -> Result<u64> {
        self.newest.end().checked_sub(self.first.total).ok_or(Error::NotALog)
    }

    /// The time of the entry with which the oldest `units` have left. Totals grow with time, so this is a search by time,
    /// and what it asks the log stays logarithmic however many entries there are.
    fn leaves(self, units: u64) -> Result<i64> {
        if units <= self.first.cost {
            return Ok(self.first.micros);
        }
        // The answer is within low ..= high throughout.
        let mut low = self.first.micros;
        let mut high = self.newest.micros;
        let mut steps = 0;
        while low < high {
            let probe = if steps < STEPS_BEFORE_BISECTION { low } else { i64::midpoint(low, high) };
            steps += 1;
            let next = self.log.first_after(probe)?.ok_or(Error::NotALog)?;
            let left_by = |total: u64| total.checked_sub(self.first.total).ok_or(Error::NotALog);
            if left_by(next.total)? >= units {
                high = probe;
            } else if left_by(next.end())? >= units {
                return Ok(next.micros);
            } else {
                // The bounds only matter if somebody meddled with the log: the search ends all the same.
                low = next.micros.max(probe.saturating_add(1)).min(high);
            }
        }
        Ok(high)
    }
}
