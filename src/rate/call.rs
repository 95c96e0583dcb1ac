//! One call on its keys. All keys are evaluated first, then all writes are computed, then they are made, and only then
//! the reply. So a call takes from all of its keys or from none, and nothing fails halfway.

use smallvec::{smallvec, SmallVec};

use super::clock::Clock;
use super::request::{Action, Algorithm, Request};
use super::rule::Rule;
use super::sliding::{LogWrite, SlidingLimiter};
use super::strings::{StringLimiter, StringWrite};
use super::verdict::{verdict, RuleResult, RuleResults, Verdict};
use crate::error::{Error, Result};
use crate::zset::SortedSet;

/// The key of a limiter, which may not exist yet.
pub trait LimiterKey {
    type Set: SortedSet;

    /// The text of a string limiter; `None` if there is no key.
    fn text(&mut self) -> Result<Option<&[u8]>>;

    /// The log of `SLIDING`, empty if there is no key; an error if the key holds another type.
    fn log(&mut self) -> Result<&mut Self::Set>;

    fn expiry(&self) -> Option<i64>;

    fn write_string(&mut self, write: &StringWrite);
}

/// A key, and the rules of the call that are for it.
pub struct KeyRules<'r, K> {
    key: K,
    rules: &'r [Rule],
    /// The positions of the rules in the call. With a single key they are not needed.
    positions: &'r [usize],
}

impl<'r, K> KeyRules<'r, K> {
    /// For a call on this key alone.
    pub fn whole(key: K, request: &'r Request) -> KeyRules<'r, K> {
        KeyRules { key, rules: &request.rules, positions: &[] }
    }

    /// For a call on several keys: the rules at these positions in the call are for this one.
    pub fn some(key: K, rules: &'r [Rule], positions: &'r [usize]) -> KeyRules<'r, K> {
        KeyRules { key, rules, positions }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyAction {
    Nothing,
    /// The call passes, and is counted.
    Take,
    /// The call is denied, but it is counted (`FORCE`), or closes the limiter (`PENALTY`), or both.
    Deny {
        counts: bool,
        closes: bool,
    },
    Refund,
}

impl KeyAction {
    /// What to do with a key, from the results of its own rules and of all rules of the call.
    fn of(request: &Request, all: &[RuleResult], own: &[RuleResult]) -> KeyAction {
        match request.action {
            _ if request.cost == 0 => KeyAction::Nothing,
            Action::Peek => KeyAction::Nothing,
            Action::Refund => KeyAction::Refund,
            Action::Check if !all.iter().any(RuleResult::denies) => KeyAction::Take,
            Action::Check => {
                let closes = request.penalty_ms.is_some() && own.iter().any(RuleResult::denies);
                let writes = (request.force || closes) && !own.iter().any(|result| result.closed);
                if writes {
                    KeyAction::Deny { counts: request.force, closes }
                } else {
                    KeyAction::Nothing
                }
            }
        }
    }
}

// There is one for each key of a call, on the stack: a box would cost every call an allocation.
#[allow(clippy::large_enum_variant)]
enum Evaluated<'r> {
    Sliding(SlidingLimiter<'r>),
    String(StringLimiter<'r>),
}

type AllEvaluated<'r> = SmallVec<[Evaluated<'r>; 1]>;

impl Evaluated<'_> {
    fn write<K: LimiterKey>(
        &mut self,
        action: KeyAction,
        results: &[RuleResult],
        key: &mut K,
    ) -> Result<Option<KeyWrite<'_>>> {
        if action == KeyAction::Nothing {
            return Ok(None);
        }
        let expiry = key.expiry();
        Ok(match self {
            Evaluated::Sliding(limiter) => limiter.write(action, key.log()?, expiry)?.map(KeyWrite::Log),
            Evaluated::String(limiter) => limiter.write(action, results, expiry)?.map(KeyWrite::String),
        })
    }
}

enum KeyWrite<'l> {
    Log(LogWrite),
    String(StringWrite<'l>),
}

pub struct Answer {
    results: RuleResults,
    consumed: Option<u64>,
}

impl Answer {
    pub fn verdict(&self) -> Result<Verdict> {
        verdict(&self.results, self.consumed).ok_or_else(Error::no_rule)
    }

    pub fn each(&self) -> impl ExactSizeIterator<Item = Verdict> + '_ {
        self.results.iter().enumerate().map(|(place, result)| result.verdict(place as u64 + 1, self.consumed))
    }

    /// The verdict as JSON; with `each`, also that of every rule.
    pub fn json(&self, each: bool) -> Result<String> {
        let verdict = self.verdict()?.json();
        if !each {
            return Ok(verdict);
        }
        let rules: Vec<String> = self.each().map(|verdict| verdict.json()).collect();
        Ok(format!("{},\"rules\":[{}]}}", verdict.trim_end_matches('}'), rules.join(",")))
    }
}

/// Runs a call: on all of its keys, or on none.
pub fn run<K: LimiterKey>(request: &Request, clock: Clock, keys: &mut [KeyRules<K>]) -> Result<Answer> {
    let (mut evaluated, mut results) = (AllEvaluated::new(), RuleResults::new());
    for key_rules in keys.iter_mut() {
        evaluate(request, key_rules.rules, clock, &mut key_rules.key, &mut results, &mut evaluated)?;
    }
    let mut is_taken = false;
    let mut writes: SmallVec<[Option<KeyWrite>; 1]> = SmallVec::new();
    let mut rest = results.as_slice();
    for (evaluated, key_rules) in evaluated.iter_mut().zip(keys.iter_mut()) {
        let own = rest.split_off(..key_rules.rules.len()).unwrap_or_default();
        let action = KeyAction::of(request, &results, own);
        is_taken = action == KeyAction::Take;
        writes.push(evaluated.write(action, own, &mut key_rules.key)?);
    }
    // From here on nothing can fail: the type of each key was checked above.
    let mut is_changed = false;
    for (write, key_rules) in writes.iter().zip(keys.iter_mut()) {
        match write {
            None => continue,
            Some(KeyWrite::Log(write)) => write.apply(key_rules.key.log()?),
            Some(KeyWrite::String(write)) => key_rules.key.write_string(write),
        }
        is_changed = true;
    }
    if is_taken || !(is_changed || request.action == Action::Refund) {
        return Ok(Answer { results: in_order(keys, results), consumed: is_taken.then_some(request.cost) });
    }
    // A refund, a penalty and a call that was forced are told how things stand afterwards. If somebody tampered with a
    // log where only this second look reads it, they are told how things stood before: what was written stays.
    let told = afterwards(request, clock, keys);
    Ok(told.unwrap_or_else(|_| Answer { results: in_order(keys, results), consumed: None }))
}

#[cold]
fn afterwards<K: LimiterKey>(request: &Request, clock: Clock, keys: &mut [KeyRules<K>]) -> Result<Answer> {
    let cost = if request.action == Action::Refund { 0 } else { request.cost };
    let peek = Request { action: Action::Peek, cost, ..request.clone() };
    let mut results = RuleResults::new();
    for key_rules in keys.iter_mut() {
        evaluate(&peek, key_rules.rules, clock, &mut key_rules.key, &mut results, &mut SmallVec::new())?;
    }
    Ok(Answer { results: in_order(keys, results), consumed: None })
}

/// Evaluates the rules of one key: appends their results, and the state from which the write is computed.
#[inline]
fn evaluate<'r, K: LimiterKey>(
    request: &'r Request,
    rules: &'r [Rule],
    clock: Clock,
    key: &mut K,
    results: &mut RuleResults,
    evaluated: &mut AllEvaluated<'r>,
) -> Result<()> {
    if request.algorithm == Algorithm::Sliding {
        let limiter = SlidingLimiter::evaluate(request, rules, clock, key.log()?, results)?;
        evaluated.push(Evaluated::Sliding(limiter));
        return Ok(());
    }
    evaluated.push(Evaluated::String(StringLimiter::new(request, rules, clock)));
    match evaluated.last_mut() {
        Some(Evaluated::String(limiter)) => limiter.evaluate(key.text()?, results),
        _ => Ok(()),
    }
}

/// Sorts results from the order of the keys into the order of the call's rules.
fn in_order<K>(keys: &[KeyRules<K>], results: RuleResults) -> RuleResults {
    if keys.len() == 1 {
        return results;
    }
    let mut ordered = smallvec![RuleResult::default(); results.len()];
    let positions = keys.iter().flat_map(|key_rules| key_rules.positions);
    for (position, result) in positions.zip(results) {
        if let Some(place) = ordered.get_mut(*position) {
            *place = result;
        }
    }
    ordered
}
