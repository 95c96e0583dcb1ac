//! `FIXED`, `COUNTER`, `GCRA` and `CALENDAR`: one string, which holds the numbers of every algorithm and window that the
//! key has seen, side by side.

use smallvec::SmallVec;

use super::call::KeyAction;
use super::clock::{slack, Clock};
use super::limiter_text::LimiterText;
use super::request::{Algorithm, Request};
use super::rule::Rule;
use super::verdict::{RuleResult, RuleResults};
use super::window::{WindowName, WindowState};
use super::{counter, fixed, gcra};
use crate::error::Result;

/// The result of a rule for a call, and the state after the call.
pub(super) struct RuleEvaluation {
    /// Its waits count from the time that verdicts use.
    pub result: RuleResult,
    /// The state if the call is counted, including by `FORCE`.
    pub taken: WindowState,
    /// The largest amount after a call without `FORCE`.
    pub most: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringWrite<'l> {
    /// The key is to hold this text and to expire at this time.
    Set {
        text: &'l [u8],
        expire_at_ms: i64,
    },
    /// These bytes are written over the text, from this offset on. Its length and its expiry stay.
    Overwrite {
        offset: usize,
        bytes: &'l [u8],
    },
    Unlink,
}

/// The result of a call on one key, before it is written.
pub struct StringLimiter<'r> {
    request: &'r Request,
    rules: &'r [Rule],
    clock: Clock,
    stored: LimiterText,
    updates: SmallVec<[WindowUpdate; 2]>,
}

/// What a call makes of one of the windows in the text.
struct WindowUpdate {
    name: WindowName,
    /// The state if the call is counted.
    taken: WindowState,
    /// The largest amount to expect.
    most: u128,
}

impl<'r> StringLimiter<'r> {
    pub fn new(request: &'r Request, rules: &'r [Rule], clock: Clock) -> StringLimiter<'r> {
        StringLimiter { request, rules, clock, stored: LimiterText::default(), updates: SmallVec::new() }
    }

    /// Evaluates the rules of a key with its text, `None` if the key does not exist. Appends the result of each rule.
    pub fn evaluate(&mut self, text: Option<&[u8]>, results: &mut RuleResults) -> Result<()> {
        let (request, clock) = (self.request, self.clock);
        if let Some(text) = text {
            self.stored.read(text)?;
        }
        let closed_for = self.stored.get(WindowName::Closed).map_or(0, |closed| clock.until(closed.micros()));
        for rule in self.rules {
            let name = WindowName::of(request.algorithm, rule);
            let state = self.stored.get(name);
            // Each window has its own newest time. If another window has seen a later one, that must not let a call through here.
            let at = clock.not_before(state.map(|state| state.micros()));
            let RuleEvaluation { result, taken, most } = match request.algorithm {
                Algorithm::Counter => counter::evaluate(state, rule, request.cost, at),
                Algorithm::Gcra => gcra::evaluate(state, rule, request.cost, at),
                _ => fixed::evaluate(state, rule, request.cost, at),
            }?;
            let result = result.shift_waits(clock.until(at));
            results.push(if closed_for > 0 { result.closed_for(closed_for, request.cost) } else { result });
            self.updates.push(WindowUpdate { name, taken, most });
        }
        Ok(())
    }

    /// What to write to the key, if anything. `expiry` is its current expiry.
    pub(super) fn write(
        &mut self,
        action: KeyAction,
        results: &[RuleResult],
        expiry: Option<i64>,
    ) -> Result<Option<StringWrite<'_>>> {
        match action {
            KeyAction::Nothing => Ok(None),
            KeyAction::Take => self.check(true, false, results, expiry),
            KeyAction::Deny { counts, closes } => self.check(counts, closes, results, expiry),
            KeyAction::Refund => self.refund(expiry),
        }
    }

    /// Takes the call's cost from every rule, or closes the limiter, or both.
    fn check(
        &mut self,
        takes: bool,
        closes: bool,
        results: &[RuleResult],
        expiry: Option<i64>,
    ) -> Result<Option<StringWrite<'_>>> {
        let mut wait = 0;
        for (WindowUpdate { name, taken, most }, result) in self.updates.iter().zip(results) {
            if takes {
                self.stored.set(*name, *taken, *most);
            }
            wait = if takes { result.reset_if_taken } else { result.reset }.max(wait);
        }
        if let Some(millis) = self.request.penalty_ms.filter(|_| closes) {
            let end = WindowState { at_ms: self.clock.after_millis(millis), amount: 0, previous: 0 };
            self.stored.set(WindowName::Closed, end, 0);
        }
        self.text_for(wait, expiry)
    }

    /// Gives the call's cost back to every rule; `None` if there is nothing to give back to.
    fn refund(&mut self, expiry: Option<i64>) -> Result<Option<StringWrite<'_>>> {
        let mut changed = false;
        for (rule, WindowUpdate { name, most, .. }) in self.rules.iter().zip(&self.updates) {
            let Some(state) = self.stored.get(*name) else { continue };
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
                self.stored.remove(*name);
            } else {
                self.stored.set(*name, refunded, *most);
            }
        }
        if !changed {
            return Ok(None);
        }
        if self.stored.is_empty() {
            return Ok(Some(StringWrite::Unlink));
        }
        // The rules say how long the new text matters, as they would say it of a text that was read.
        let mut after = RuleResults::new();
        StringLimiter::new(self.request, self.rules, self.clock).evaluate(Some(self.stored.text()), &mut after)?;
        let wait = after.iter().map(|result| result.reset).max();
        self.text_for(wait.unwrap_or(0), expiry)
    }

    /// What to write if the call's own rules need the text for `wait` microseconds; `None` if nothing changed.
    fn text_for(&mut self, wait: u128, expiry: Option<i64>) -> Result<Option<StringWrite<'_>>> {
        self.stored.tidy(self.clock)?;
        let is_of_call = |name| self.updates.iter().any(|own| own.name == name);
        let others = self.stored.others_matter_for(is_of_call, self.clock, expiry);
        let least = self.clock.expire_at_ms(wait.max(others));
        let most = self.clock.expire_at_ms(wait.saturating_add(self.slack()).max(others));
        let stays = expiry.is_some_and(|at_ms| (least..=most).contains(&at_ms));
        Ok(match self.stored.changed() {
            Some((_, [])) if stays => None,
            Some((offset, bytes)) if stays => Some(StringWrite::Overwrite { offset, bytes }),
            _ => Some(StringWrite::Set { text: self.stored.text(), expire_at_ms: most }),
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

/// Whether a text is one that a string limiter wrote.
pub fn is_string_limiter(text: &[u8]) -> bool {
    LimiterText::default().read(text).is_ok()
}
