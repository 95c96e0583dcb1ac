//! `FIXED`, `COUNTER`, `GCRA` and `CALENDAR`: one string, which holds the numbers of every algorithm and window that the
//! key has seen, side by side.

use smallvec::SmallVec;

use super::call::Outcome;
use super::clock::{slack, Clock};
use super::line::Line;
use super::request::{Algorithm, Request};
use super::rule::Rule;
use super::slot::{Name, State};
use super::verdict::{Standing, Standings};
use super::{counter, fixed, gcra};
use crate::error::Result;

/// The result of a rule for a call, and the state after the call.
pub(super) struct Judged {
    /// Its waits count from the time that verdicts use.
    pub standing: Standing,
    /// The state if the call is counted, including by `FORCE`.
    pub taken: State,
    /// The largest amount after a call without `FORCE`.
    pub most: u128,
}

/// What to write to the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringWrite<'l> {
    /// It is to hold this text, and to expire then.
    Set {
        /// All of it.
        text: &'l [u8],
        /// Unix ms.
        expire_at_ms: i64,
    },
    /// These bytes replace as many of its text. Its length and its expiry stay.
    Overwrite {
        /// Where they begin.
        offset: usize,
        /// At least one.
        bytes: &'l [u8],
    },
    /// Nothing is left of it.
    Unlink,
}

/// The result of a call on one key, before it is written.
pub struct StringLimiter<'r> {
    request: &'r Request,
    rules: &'r [Rule],
    clock: Clock,
    line: Line,
    numbers: SmallVec<[Numbers; 2]>,
}

/// What a rule keeps in the text.
struct Numbers {
    name: Name,
    /// The state if the call is counted.
    taken: State,
    /// The largest amount to expect.
    most: u128,
}

impl<'r> StringLimiter<'r> {
    /// For the rules of a key, which are still to be evaluated.
    pub fn new(request: &'r Request, rules: &'r [Rule], clock: Clock) -> StringLimiter<'r> {
        StringLimiter { request, rules, clock, line: Line::default(), numbers: SmallVec::new() }
    }

    /// Evaluates the rules of a key with its text, `None` if the key does not exist. Appends the result of each rule.
    pub fn judge(&mut self, text: Option<&[u8]>, standings: &mut Standings) -> Result<()> {
        let (request, clock) = (self.request, self.clock);
        if let Some(text) = text {
            self.line.read(text)?;
        }
        let closed_for = self.line.get(Name::Closed).map_or(0, |closed| clock.until(closed.micros()));
        for rule in self.rules {
            let name = Name::of(request.algorithm, rule);
            let state = self.line.get(name);
            // Each by its own newest time: what another window has seen must not let a call through here.
            let at = clock.not_before(state.map(|state| state.micros()));
            let Judged { standing, taken, most } = match request.algorithm {
                Algorithm::Counter => counter::judge(state, rule, request.cost, at),
                Algorithm::Gcra => gcra::judge(state, rule, request.cost, at),
                _ => fixed::judge(state, rule, request.cost, at),
            }?;
            let standing = standing.seen_from_behind(clock.until(at));
            standings.push(if closed_for > 0 { standing.closed_for(closed_for, request.cost) } else { standing });
            self.numbers.push(Numbers { name, taken, most });
        }
        Ok(())
    }

    /// What to write to the key, if anything. `expiry` is its current expiry.
    pub(super) fn write(
        &mut self,
        outcome: Outcome,
        standings: &[Standing],
        expiry: Option<i64>,
    ) -> Result<Option<StringWrite<'_>>> {
        match outcome {
            Outcome::Nothing => Ok(None),
            Outcome::Take => self.check(true, false, standings, expiry),
            Outcome::Deny { counts, closes } => self.check(counts, closes, standings, expiry),
            Outcome::Refund => self.refund(expiry),
        }
    }

    /// Takes the call's cost from every rule, or closes the limiter, or both.
    fn check(
        &mut self,
        takes: bool,
        closes: bool,
        standings: &[Standing],
        expiry: Option<i64>,
    ) -> Result<Option<StringWrite<'_>>> {
        let mut wait = 0;
        for (Numbers { name, taken, most }, standing) in self.numbers.iter().zip(standings) {
            if takes {
                self.line.set(*name, *taken, *most);
            }
            wait = if takes { standing.reset_if_taken } else { standing.reset }.max(wait);
        }
        if let Some(millis) = self.request.penalty_ms.filter(|_| closes) {
            let end = State { at_ms: self.clock.after_millis(millis), amount: 0, previous: 0 };
            self.line.set(Name::Closed, end, 0);
        }
        self.text_for(wait, expiry)
    }

    /// Gives the call's cost back to every rule; `None` if there is nothing to give back to.
    fn refund(&mut self, expiry: Option<i64>) -> Result<Option<StringWrite<'_>>> {
        let mut changed = false;
        for (rule, Numbers { name, most, .. }) in self.rules.iter().zip(&self.numbers) {
            let Some(state) = self.line.get(*name) else { continue };
            let at = self.clock.not_before(Some(state.micros()));
            let units = self.request.cost;
            let refunded = match self.request.algorithm {
                Algorithm::Counter => counter::refund(state, rule, units, at),
                Algorithm::Gcra => gcra::refund(state, rule, units, at),
                _ => fixed::refund(state, rule, units, at),
            };
            let Some(refunded) = refunded else { continue };
            changed = true;
            if refunded.is_empty() {
                self.line.remove(*name);
            } else {
                self.line.set(*name, refunded, *most);
            }
        }
        if !changed {
            return Ok(None);
        }
        if self.line.is_empty() {
            return Ok(Some(StringWrite::Unlink));
        }
        // The rules say how long the new text matters, as they would say it of a text that was read.
        let mut after = Standings::new();
        StringLimiter::new(self.request, self.rules, self.clock).judge(Some(self.line.text()), &mut after)?;
        let wait = after.iter().map(|standing| standing.reset).max();
        self.text_for(wait.unwrap_or(0), expiry)
    }

    /// What to write if the call's own rules need the text for `wait` microseconds; `None` if nothing changed.
    fn text_for(&mut self, wait: u128, expiry: Option<i64>) -> Result<Option<StringWrite<'_>>> {
        self.line.tidy(self.clock)?;
        let is_of_call = |name| self.numbers.iter().any(|own| own.name == name);
        let others = self.line.others_matter_for(is_of_call, self.clock, expiry);
        let least = self.clock.expire_at_ms(wait.max(others));
        let most = self.clock.expire_at_ms(wait.saturating_add(self.slack()).max(others));
        let stays = expiry.is_some_and(|at_ms| (least..=most).contains(&at_ms));
        Ok(match self.line.changed() {
            Some((_, [])) if stays => None,
            Some((offset, bytes)) if stays => Some(StringWrite::Overwrite { offset, bytes }),
            _ => Some(StringWrite::Set { text: self.line.text(), expire_at_ms: most }),
        })
    }

    /// How much longer than needed the key may last, in microseconds. The expiry of a window stays until the window ends.
    /// A bucket is full later with every call: without slack, every call would have to move the expiry.
    fn slack(&self) -> u128 {
        match self.request.algorithm {
            Algorithm::Gcra => slack(self.rules.iter().map(Rule::micros).max().unwrap_or(0)).into(),
            _ => 0,
        }
    }
}

/// An error unless a text is a limiter's.
pub fn recognise_string(text: &[u8]) -> Result<()> {
    Line::default().read(text)
}
