//! `FIXED`, `COUNTER`, `GCRA` and `CALENDAR`: one string, which holds the numbers of every algorithm and window that the
//! key has seen, side by side.

use smallvec::SmallVec;

use super::call::{Change, LimiterKey, RuleResult, RuleResults};
use super::clock::{slack, Clock, MICROS_OF_MILLI};
use super::request::{Action, Algorithm, Request, Rule, Settlement};
use super::text::{LimiterText, WindowName, WindowState};
use super::{counter, fixed, gcra};
use crate::error::Result;

/// A limiter in a string, and what a call found out about it.
pub(super) struct StringLimiter<'r> {
    request: &'r Request,
    rules: &'r [Rule],
    clock: Clock,
    stored: LimiterText,
    /// For each rule, the window of the text that it uses, and its state if the call is counted.
    windows: SmallVec<[(WindowName, WindowState); 2]>,
    /// For each rule, the units that a settlement gave back.
    pub settled: SmallVec<[i64; 2]>,
}

impl<'r> StringLimiter<'r> {
    pub fn new(request: &'r Request, rules: &'r [Rule], clock: Clock) -> StringLimiter<'r> {
        StringLimiter {
            request,
            rules,
            clock,
            stored: LimiterText::default(),
            windows: SmallVec::new(),
            settled: SmallVec::new(),
        }
    }

    /// Evaluates the rules of the key, whose text is `None` if there is no key. Appends the result of each rule.
    pub fn evaluate(&mut self, text: Option<&[u8]>, results: &mut RuleResults) -> Result<()> {
        if let Some(text) = text {
            self.stored.read(text)?;
        }
        let before = results.len();
        self.evaluate_stored(self.request.cost, results);
        let may_write = self.request.action == Action::Check && self.request.cost > 0;
        if may_write || self.request.action == Action::Settle {
            self.check_room(results.get(before..).unwrap_or_default())?;
        }
        Ok(())
    }

    fn evaluate_stored(&mut self, cost: u64, results: &mut RuleResults) {
        let (request, clock) = (self.request, self.clock);
        let closed_for = self.stored.get(WindowName::Closed).map_or(0, |closed| clock.until(closed.micros()));
        for rule in self.rules {
            let name = WindowName::of(request.algorithm, rule);
            let state = self.stored.get(name);
            // Each window has its own newest time: that another window has seen a later one must let nothing through here.
            let at = clock.not_before(state.map(|state| state.micros()));
            let (result, taken) = match request.algorithm {
                Algorithm::Counter => counter::evaluate(state, rule, cost, at),
                Algorithm::Gcra => gcra::evaluate(state, rule, cost, at, request.force),
                _ => fixed::evaluate(state, rule, cost, at),
            };
            let mut result = result.shift_waits(clock.until(at));
            if let Some(wait_ms) = request.wait_ms {
                result = result.passes_within(wait_ms);
            }
            results.push(if closed_for > 0 { result.closed_for(closed_for, cost) } else { result });
            self.windows.push((name, taken));
        }
    }

    /// An error if the text has no room for what the call would write.
    #[inline]
    fn check_room(&self, results: &[RuleResult]) -> Result<()> {
        let denies = results.iter().any(RuleResult::denies);
        let mut names: SmallVec<[WindowName; 4]> = SmallVec::new();
        if !denies || self.request.force {
            names.extend(self.windows.iter().map(|(name, _)| *name));
        }
        if denies && self.request.penalty_ms.is_some() {
            names.push(WindowName::Closed);
        }
        self.stored.check_room(&names, self.clock)
    }

    /// Makes a change, with the results of the key's rules. Returns whether there was anything to write.
    pub fn apply(&mut self, change: Change, results: &[RuleResult], key: &mut impl LimiterKey) -> bool {
        let matters = match change {
            Change::Take { units, closes } => {
                let mut fewer = RuleResults::new();
                if units != self.request.cost {
                    self.windows.clear();
                    self.evaluate_stored(units, &mut fewer);
                }
                self.take();
                if closes {
                    self.close();
                }
                let results = if fewer.is_empty() { results } else { &fewer };
                results.iter().map(|result| result.reset_if_taken).max()
            }
            Change::Close => {
                self.close();
                results.iter().map(|result| result.reset).max()
            }
            Change::Refund | Change::Settle => {
                let is_changed = match &self.request.settlement {
                    Some(by) => self.settle(by),
                    None => self.refund(),
                };
                if !is_changed {
                    return false;
                }
                if self.stored.is_empty() {
                    key.unlink();
                    return true;
                }
                self.windows.clear();
                let mut after = RuleResults::new();
                self.evaluate_stored(self.request.cost, &mut after);
                // A window that was settled to nothing stays until its end.
                let matters = |result: &RuleResult| match change {
                    Change::Settle => result.reset_if_taken,
                    _ => result.reset,
                };
                after.iter().map(matters).max()
            }
        };
        self.write(matters.unwrap_or(0), key)
    }

    fn take(&mut self) {
        for (rule, (name, taken)) in self.rules.iter().zip(&self.windows) {
            self.stored.set(*name, *taken, || largest_amount(*name, rule));
        }
    }

    fn close(&mut self) {
        if let Some(millis) = self.request.penalty_ms {
            let end = WindowState { at_ms: self.clock.after_millis(millis), amount: 0, previous: 0 };
            self.stored.set(WindowName::Closed, end, || 0);
        }
    }

    /// Gives the call's cost back to every rule. Returns whether there was anything to give back to.
    fn refund(&mut self) -> bool {
        let (request, mut changed) = (self.request, false);
        for (rule, (name, _)) in self.rules.iter().zip(&self.windows) {
            let Some(state) = self.stored.get(*name) else { continue };
            let at = self.clock.not_before(Some(state.micros()));
            let refunded = match request.algorithm {
                Algorithm::Counter => counter::refund(state, rule, request.cost, at),
                Algorithm::Gcra => gcra::refund(state, rule, request.cost, at),
                _ => fixed::refund(state, rule, request.cost, at),
            };
            let Some(refunded) = refunded else { continue };
            changed = true;
            if refunded.is_empty() {
                self.stored.remove(*name);
            } else {
                self.stored.set(*name, refunded, || largest_amount(*name, rule));
            }
        }
        changed
    }

    /// Corrects every rule by itself. Returns whether anything changed.
    fn settle(&mut self, by: &Settlement) -> bool {
        let (request, mut changed) = (self.request, false);
        for (rule, (name, _)) in self.rules.iter().zip(&self.windows) {
            let state = self.stored.get(*name);
            let at = self.clock.not_before(state.map(|state| state.micros()));
            let settled = match request.algorithm {
                Algorithm::Counter => counter::settle(state, rule, by, at),
                Algorithm::Gcra => gcra::settle(state, rule, by, at),
                _ => fixed::settle(state, rule, by, at),
            };
            self.settled.push(settled.map_or(0, |(_, units)| units));
            let Some((state, _)) = settled else { continue };
            changed = true;
            // Even if nothing is left: a window stays where the reservation opened it, and the newest time is not forgotten.
            self.stored.set(*name, state, || largest_amount(*name, rule));
        }
        changed
    }

    /// The earliest time, in milliseconds, at which the units of a rule count.
    pub fn counts_at_ms(&self) -> u64 {
        let newest = |name| self.stored.get(name).map(|state| state.micros());
        let at = self.windows.iter().map(|(name, _)| self.clock.not_before(newest(*name))).min();
        at.unwrap_or(0).max(0).unsigned_abs() / MICROS_OF_MILLI
    }

    /// Writes the text, which matters to the call's own rules for so many microseconds. Returns whether it has changed.
    fn write(&mut self, matters: u128, key: &mut impl LimiterKey) -> bool {
        self.stored.tidy(self.clock);
        let expiry = key.expiry();
        let is_of_call = |name| self.windows.iter().any(|(own, _)| *own == name);
        let others = self.stored.others_matter_for(is_of_call, self.clock, expiry);
        let least = self.clock.expire_at_ms(matters.max(others));
        let most = self.clock.expire_at_ms(matters.saturating_add(self.slack()).max(others));
        let stays = expiry.is_some_and(|at_ms| (least..=most).contains(&at_ms));
        match self.stored.changed() {
            Some((_, [])) if stays => return false,
            Some((offset, bytes)) if stays => key.overwrite(offset, bytes),
            _ => key.set_text(self.stored.text(), most),
        }
        true
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

/// The largest number of units, or debt, that calls of a rule leave if none is forced.
fn largest_amount(name: WindowName, rule: &Rule) -> u128 {
    match name {
        WindowName::Gcra(_) => gcra::largest_amount(rule),
        _ => rule.limit.into(),
    }
}
