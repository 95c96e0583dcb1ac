//! One call on its keys. All keys are evaluated first, which finds everything that can be wrong; then they are changed,
//! which cannot fail; and only then comes the reply. So a call takes from all of its keys or from none.

use smallvec::{smallvec, SmallVec};

use super::clock::{micros_of, millis, millis_rounded_up, Clock};
use super::request::{Action, Algorithm, Request, Rule};
use super::sliding::SlidingLimiter;
use super::strings::StringLimiter;
use crate::error::{Error, Result};
use crate::zset::SortedSet;

/// The key of a limiter, which may not exist yet.
pub trait LimiterKey {
    type Set: SortedSet;

    /// The text of a string limiter; `None` if there is no key, an error if the key holds another type.
    fn text(&mut self) -> Result<Option<&[u8]>>;

    /// The log of `SLIDING`, empty if there is no key; an error if the key holds another type.
    fn log(&mut self) -> Result<&mut Self::Set>;

    /// The log of a key that was checked.
    fn set(&mut self) -> &mut Self::Set;

    fn expiry(&self) -> Option<i64>;

    /// Makes the key this text, to expire at this time.
    fn set_text(&mut self, text: &[u8], expire_at_ms: i64);

    /// Writes over a part of the text that is there. Its length and its expiry stay.
    fn overwrite(&mut self, offset: usize, bytes: &[u8]);

    fn unlink(&mut self);
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

/// What a call does to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// So many units are counted, because the call passes or by `FORCE`. With `closes` the call is denied, and closes the limiter.
    Take { units: u64, closes: bool },
    /// The call is denied and closes the limiter (`PENALTY`).
    Close,
    /// The cost is given back.
    Refund,
    /// An earlier call is corrected.
    Settle,
}

impl Change {
    /// The change of a key, from the results of its own rules, and whether the call passes.
    fn of(request: &Request, passes: bool, own: &[RuleResult]) -> Option<Change> {
        match request.action {
            Action::Settle => Some(Change::Settle),
            _ if request.cost == 0 => None,
            Action::Peek => None,
            Action::Refund => Some(Change::Refund),
            Action::Check if passes => Some(Change::Take { units: request.cost, closes: false }),
            Action::Check if own.iter().any(|result| result.closed) => None,
            Action::Check => {
                let closes = request.penalty_ms.is_some() && own.iter().any(RuleResult::denies);
                match request.force {
                    true => Some(Change::Take { units: request.cost, closes }),
                    false => closes.then_some(Change::Close),
                }
            }
        }
    }
}

/// A limiter, with what a call found out about it.
// There is one for each key of a call, on the stack: a box would cost every call an allocation.
#[allow(clippy::large_enum_variant)]
enum Limiter<'r> {
    Sliding(SlidingLimiter<'r>),
    String(StringLimiter<'r>),
}

impl<'r> Limiter<'r> {
    fn new(request: &'r Request, rules: &'r [Rule], clock: Clock) -> Limiter<'r> {
        match request.algorithm {
            Algorithm::Sliding => Limiter::Sliding(SlidingLimiter::new(request, rules, clock)),
            _ => Limiter::String(StringLimiter::new(request, rules, clock)),
        }
    }

    /// Appends the results of the key's rules. All that can be wrong with the call is an error here.
    #[inline]
    fn evaluate<K: LimiterKey>(&mut self, key: &mut K, results: &mut RuleResults) -> Result<()> {
        match self {
            Limiter::Sliding(limiter) => limiter.evaluate(key.log()?, results),
            Limiter::String(limiter) => limiter.evaluate(key.text()?, results),
        }
    }

    fn counts_at_ms(&self) -> u64 {
        match self {
            Limiter::Sliding(_) => 0,
            Limiter::String(limiter) => limiter.counts_at_ms(),
        }
    }

    /// The most units that it can still count.
    fn room(&self) -> u64 {
        match self {
            Limiter::Sliding(limiter) => limiter.room(),
            Limiter::String(_) => u64::MAX,
        }
    }

    /// The units that a settlement gave back, for each rule.
    fn settled(&self) -> &[i64] {
        match self {
            Limiter::Sliding(_) => &[],
            Limiter::String(limiter) => &limiter.settled,
        }
    }

    /// Changes the key. Returns whether there was anything to write.
    #[inline]
    fn apply<K: LimiterKey>(&mut self, change: Change, results: &[RuleResult], key: &mut K) -> bool {
        match self {
            Limiter::Sliding(limiter) => limiter.apply(change, key.set()),
            Limiter::String(limiter) => limiter.apply(change, results, key),
        }
    }
}

type Limiters<'r> = SmallVec<[Limiter<'r>; 1]>;

/// Runs a call: on all of its keys, or on none.
pub fn run<K: LimiterKey>(request: &Request, clock: Clock, keys: &mut [KeyRules<K>]) -> Result<Answer> {
    let clock = request.settlement.map_or(clock, |settlement| clock.not_earlier(settlement.at));
    let granted_request;
    let (mut limiters, mut results) = (Limiters::new(), RuleResults::new());
    evaluate(request, clock, keys, &mut limiters, &mut results)?;
    let (mut request, mut told) = (request, Told { waits: request.wait_ms.is_some(), ..Told::default() });
    if request.upto {
        let granted = results.iter().map(|result| result.remaining).min().unwrap_or(0).min(request.cost);
        told.granted = Some(granted);
        if granted < request.cost {
            // Nothing granted is denied as a call for one unit is.
            granted_request = Request { cost: granted.max(1), ..request.clone() };
            request = &granted_request;
            limiters.clear();
            results.clear();
            evaluate(request, clock, keys, &mut limiters, &mut results)?;
        }
    }
    if request.stamp {
        told.at_ms = limiters.iter().map(Limiter::counts_at_ms).min();
    }
    let passes = !results.iter().any(RuleResult::denies);
    told.passes = passes;
    let (mut is_taken, mut is_changed) = (false, false);
    let mut rest = results.as_slice();
    for (limiter, key_rules) in limiters.iter_mut().zip(keys.iter_mut()) {
        let own = rest.split_off(..key_rules.rules.len()).unwrap_or_default();
        let Some(change) = Change::of(request, passes, own) else { continue };
        is_taken = passes && matches!(change, Change::Take { .. });
        is_changed |= limiter.apply(change, own, &mut key_rules.key);
    }
    let consumed = is_taken.then_some(request.cost);
    if !is_taken && (is_changed || request.action == Action::Refund) {
        // The reply to a refund, a settlement, a penalty or a forced call says how things stand afterwards. If somebody
        // tampered with a part of a log that only this second look reads, it says how things stood before: what was written
        // stays.
        let cost = if request.action == Action::Refund { 0 } else { request.cost };
        let peek = Request { action: Action::Peek, cost, ..request.clone() };
        let mut after = RuleResults::new();
        if evaluate(&peek, clock, keys, &mut Limiters::new(), &mut after).is_ok() {
            results = after;
        }
    }
    if request.action == Action::Settle {
        told.settled = limiters.first().map(|limiter| limiter.settled().into());
    }
    Ok(Answer { results: in_order(keys, results), consumed, told })
}

/// Evaluates all keys.
#[inline]
fn evaluate<'r, 'k: 'r, K: LimiterKey>(
    request: &'r Request,
    clock: Clock,
    keys: &mut [KeyRules<'k, K>],
    limiters: &mut Limiters<'r>,
    results: &mut RuleResults,
) -> Result<()> {
    for key_rules in keys {
        limiters.push(Limiter::new(request, key_rules.rules, clock));
        if let Some(limiter) = limiters.last_mut() {
            limiter.evaluate(&mut key_rules.key, results)?;
        }
    }
    Ok(())
}

/// What another command may take from a limiter, together with a write of its own: [`Allowance::evaluate`] finds all that
/// can be wrong, before either writes, and [`Allowance::take`] cannot fail. In between, the key must not change.
///
/// ```text
/// let allowance = Allowance::evaluate(&request, clock, &mut key)?;    // the request of Request::of_rate
/// // take at most allowance.units(), which may be none, then:
/// allowance.take(taken, &mut key);
/// ```
pub struct Allowance<'r> {
    limiter: Limiter<'r>,
    result: RuleResult,
}

impl<'r> Allowance<'r> {
    /// The request has one rule and a cost of 1.
    pub fn evaluate<K: LimiterKey>(request: &'r Request, clock: Clock, key: &mut K) -> Result<Allowance<'r>> {
        let (mut limiter, mut results) = (Limiter::new(request, &request.rules, clock), RuleResults::new());
        limiter.evaluate(key, &mut results)?;
        let result = results.first().copied().ok_or_else(Error::no_rule)?;
        Ok(Allowance { limiter, result })
    }

    /// How many units may be taken now.
    pub fn units(&self) -> u64 {
        if self.result.denies() {
            return 0;
        }
        self.result.remaining.min(self.limiter.room())
    }

    /// Microseconds on the caller's clock until a unit may be taken; 0 if one may be taken now.
    pub fn next_unit(&self) -> u128 {
        match self.result.wait {
            RetryAfter::None => 0,
            RetryAfter::Micros(wait) => wait,
            // One unit fits every bucket.
            RetryAfter::Forever => u128::MAX,
        }
    }

    /// Takes units, no more than [`Allowance::units`].
    pub fn take<K: LimiterKey>(mut self, units: u64, key: &mut K) {
        let units = units.min(self.units());
        if units > 0 {
            self.limiter.apply(Change::Take { units, closes: false }, &[self.result], key);
        }
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

pub(super) type RuleResults = SmallVec<[RuleResult; 2]>;

/// What one rule says of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RuleResult {
    /// The most that the rule ever lets through at once.
    pub capacity: u64,
    pub remaining: u64,
    pub wait: RetryAfter,
    /// How long a call that passes has to wait before it acts (`WAIT`), in microseconds.
    pub delay: u128,
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

    /// The same result of a call that also passes if it has to wait no longer than this.
    pub fn passes_within(self, millis: u64) -> RuleResult {
        let most = u128::from(micros_of(millis).unsigned_abs());
        match self.wait {
            RetryAfter::Micros(wait) if wait <= most => RuleResult { wait: RetryAfter::None, delay: wait, ..self },
            RetryAfter::Micros(wait) => RuleResult { wait: RetryAfter::Micros(wait.saturating_sub(most)), ..self },
            _ => self,
        }
    }

    /// The same result for a limiter that a penalty closes for this long.
    pub fn closed_for(self, micros: u128, cost: u64) -> RuleResult {
        RuleResult {
            remaining: 0,
            delay: 0,
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
            more: More::default(),
        }
    }
}

/// How long until a call could pass. In all algorithms the units left are a whole number, and a call passes if it costs no
/// more than that. Otherwise `until_room` says how long to wait.
pub(super) fn wait_for(cost: u64, remaining: u64, capacity: u64, until_room: impl FnOnce() -> u128) -> RetryAfter {
    if cost <= remaining {
        RetryAfter::None
    } else if cost > capacity {
        RetryAfter::Forever
    } else {
        RetryAfter::Micros(until_room())
    }
}

/// The answer to a call: the results of all rules, in order.
pub struct Answer {
    results: RuleResults,
    /// What was taken from each.
    consumed: Option<u64>,
    told: Told,
}

/// What a reply says behind the six numbers of a verdict.
#[derive(Default)]
struct Told {
    granted: Option<u64>,
    waits: bool,
    passes: bool,
    at_ms: Option<u64>,
    /// For each rule.
    settled: Option<SmallVec<[i64; 2]>>,
}

impl Answer {
    /// The verdict that the rules make together: that of the longest wait, or of the fewest units left.
    pub fn verdict(&self) -> Result<Verdict> {
        let numbered = || self.results.iter().enumerate();
        // Strict comparisons: the first of equals stays.
        let longest_wait = numbered().reduce(|best, next| if next.1.wait > best.1.wait { next } else { best });
        let longest_delay = || numbered().reduce(|best, next| if next.1.delay > best.1.delay { next } else { best });
        // All rules lose the same cost, so that the rule with the fewest units left now is the one afterwards.
        let fewest_left =
            || numbered().reduce(|best, next| if next.1.remaining < best.1.remaining { next } else { best });
        let denying = longest_wait.filter(|(_, result)| result.denies());
        let delaying = || longest_delay().filter(|(_, result)| self.told.waits && result.delay > 0);
        let (place, result) = denying.or_else(delaying).or_else(fewest_left).ok_or_else(Error::no_rule)?;
        Ok(self.verdict_of(place, result))
    }

    pub fn each(&self) -> impl ExactSizeIterator<Item = Verdict> + '_ {
        self.results.iter().enumerate().map(|(place, result)| self.verdict_of(place, result))
    }

    #[inline]
    fn verdict_of(&self, place: usize, result: &RuleResult) -> Verdict {
        let Told { granted, waits, passes, at_ms, settled } = &self.told;
        let delay = if *passes { result.delay } else { 0 };
        let more = More {
            granted: granted.map(integer),
            wait_ms: waits.then(|| millis_rounded_up(delay)),
            at_ms: at_ms.map(integer),
            settled: settled.as_ref().and_then(|settled| settled.get(place).copied()),
        };
        Verdict { more, ..result.verdict(place as u64 + 1, self.consumed) }
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
    pub more: More,
}

/// What some options add to a verdict, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct More {
    /// `UPTO`: how many units were taken.
    pub granted: Option<i64>,
    /// `WAIT`: how long to wait before acting.
    pub wait_ms: Option<i64>,
    /// `STAMP`: when the units count.
    pub at_ms: Option<i64>,
    /// `RATE.SETTLE`: how many units were given back; negative if more are counted.
    pub settled: Option<i64>,
}

impl More {
    /// Names and values of what there is.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, i64)> {
        let More { granted, wait_ms, at_ms, settled } = *self;
        let all = [("granted", granted), ("wait_ms", wait_ms), ("at_ms", at_ms), ("settled", settled)];
        all.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
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
        let more: String = self.more.iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect();
        format!(
            "\"limit\":{limit},\"remaining\":{remaining},\"retry_after_ms\":{retry},\"reset_after_ms\":{reset}{more}"
        )
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
