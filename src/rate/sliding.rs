//! `SLIDING`: exact, the units of the last window. One that is exactly a window old no longer counts.

use super::clock::Clock;
use super::error::RateError;
use super::log::{Entry, Log};
use super::request::Request;
use super::rule::Rule;
use super::text::Text;
use super::verdict::{wait_for, Mode, Standing, Tally, Verdict};

/// Entries looked at one by one before the search for the end of a wait starts to bisect: with costs of like size the
/// answer is among the first few.
const STEPS_BEFORE_BISECTION: usize = 4;

/// What a call that passed leaves in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The new element's score; exact in a double.
    pub micros: i64,
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
    mut log: Option<&mut L>,
) -> Result<(Verdict, Option<Append>), RateError> {
    let ends = match log.as_deref_mut() {
        Some(log) => Ends::of(log)?,
        None => None,
    };
    let at = clock.not_before(ends.map(|ends| ends.newest.micros));
    let mut tally = Tally::new(request.cost);
    for rule in request.rules.iter() {
        let first = match (log.as_deref_mut(), ends) {
            (Some(log), Some(ends)) => ends.first_after(log, rule.window_before(at))?,
            _ => None,
        };
        tally.add(match (log.as_deref_mut(), ends, first) {
            (Some(log), Some(ends), Some(first)) => {
                let span = Span { first, newest: ends.newest };
                span.standing(log, rule, request.cost, clock, at)?
            }
            _ => untouched(rule, request.cost, clock, at)?,
        });
    }
    let (verdict, consumes) = tally.verdict(mode).ok_or(RateError::NoRule)?;
    let append = if consumes { Some(append(request, clock, ends, at)?) } else { None };
    Ok((verdict, append))
}

/// An error unless the sorted set under the key is a limiter's log.
pub fn recognise_log<L: Log>(log: &mut L) -> Result<(), RateError> {
    Ends::of(log)?.map(|_| ()).ok_or(RateError::NotALog)
}

#[derive(Clone, Copy)]
struct Ends {
    oldest: Entry,
    newest: Entry,
}

impl Ends {
    /// Both ends are looked at on every call: that is how a leaderboard under the key is noticed.
    fn of<L: Log>(log: &mut L) -> Result<Option<Ends>, RateError> {
        match (log.oldest()?, log.newest()?) {
            (Some(oldest), Some(newest)) => Ok(Some(Ends { oldest, newest })),
            _ => Ok(None),
        }
    }

    fn first_after<L: Log>(self, log: &mut L, micros: i64) -> Result<Option<Entry>, RateError> {
        if self.oldest.micros > micros {
            Ok(Some(self.oldest))
        } else if self.newest.micros <= micros {
            Ok(None)
        } else {
            log.first_after(micros)
        }
    }
}

/// The entries within a rule's window: the first of them, and the newest of the log.
#[derive(Clone, Copy)]
struct Span {
    first: Entry,
    newest: Entry,
}

impl Span {
    fn standing<L: Log>(
        self,
        log: &mut L,
        rule: Rule,
        cost: u64,
        clock: Clock,
        at: i64,
    ) -> Result<Standing, RateError> {
        let used = self.newest.end().checked_sub(self.first.total).ok_or(RateError::NotALog)?;
        let left = rule.limit().saturating_sub(used);
        let wait = wait_for(cost, left, rule.limit(), || {
            let room_needed = rule.limit().saturating_sub(cost);
            let leaves = self.leaves(log, used.saturating_sub(room_needed))?;
            Ok(clock.until(rule.window_after(leaves)))
        })?;
        Ok(Standing {
            capacity: rule.limit(),
            left,
            wait,
            reset: clock.until(rule.window_after(self.newest.micros)),
            reset_if_taken: clock.until(rule.window_after(at)),
        })
    }

    /// The time of the entry with which the oldest `units` have left. Totals grow with time, so this is a search by time,
    /// and what it asks the log stays logarithmic however many entries there are.
    fn leaves<L: Log>(self, log: &mut L, units: u64) -> Result<i64, RateError> {
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
            let next = log.first_after(probe)?.ok_or(RateError::NotALog)?;
            let left_by = |total: u64| total.checked_sub(self.first.total).ok_or(RateError::NotALog);
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

fn untouched(rule: Rule, cost: u64, clock: Clock, at: i64) -> Result<Standing, RateError> {
    Ok(Standing {
        capacity: rule.limit(),
        left: rule.limit(),
        wait: wait_for(cost, rule.limit(), rule.limit(), || Ok(0))?,
        reset: 0,
        reset_if_taken: clock.until(rule.window_after(at)),
    })
}

fn append(request: &Request, clock: Clock, ends: Option<Ends>, at: i64) -> Result<Append, RateError> {
    let overflow = RateError::Overflow { cost: request.cost };
    let entry = Entry { micros: at, total: ends.map_or(0, |ends| ends.newest.end()), cost: request.cost };
    if entry.total.checked_add(entry.cost).is_none() {
        return Err(overflow);
    }
    let longest = request.rules.longest_window();
    let stale = longest.window_before(at);
    Ok(Append {
        micros: at,
        element: entry.element(),
        drop_through: ends.filter(|ends| ends.oldest.micros <= stale).map(|_| stale),
        expire_at_ms: clock.expire_at_ms(clock.until(longest.window_after(at))),
    })
}
