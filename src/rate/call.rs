//! One call on its keys: all keys are evaluated first, then written, then the reply is made.

use smallvec::{smallvec, SmallVec};

use super::clock::Clock;
use super::request::{Action, Algorithm, Request};
use super::rule::Rule;
use super::sliding::{LogWrite, SlidingLimiter};
use super::strings::{StringLimiter, StringWrite};
use super::verdict::{verdict, Standing, Standings, Verdict};
use crate::error::{Error, Result};
use crate::zset::SortedSet;

/// The key of a limiter, which may not exist yet.
pub trait Key {
    type Set: SortedSet;

    /// The text of a string limiter; `None` if there is no key.
    fn text(&mut self) -> Result<Option<&[u8]>>;

    /// The log of `SLIDING`, empty if there is no key; an error if the key holds another type.
    fn log(&mut self) -> Result<&mut Self::Set>;

    /// When the key expires, in Unix milliseconds.
    fn expiry(&self) -> Option<i64>;

    /// Makes the write of a string limiter.
    fn write_string(&mut self, write: &StringWrite);
}

/// A key, and the rules of the call that are for it.
pub struct Part<'r, K> {
    key: K,
    rules: &'r [Rule],
    /// The positions of the rules in the call. With a single key they are not needed.
    numbers: &'r [usize],
}

impl<'r, K> Part<'r, K> {
    /// All rules of a call are for this key.
    pub fn whole(key: K, request: &'r Request) -> Part<'r, K> {
        Part { key, rules: &request.rules, numbers: &[] }
    }

    /// The rules at these positions in the call are for this key.
    pub fn some(key: K, rules: &'r [Rule], numbers: &'r [usize]) -> Part<'r, K> {
        Part { key, rules, numbers }
    }
}

/// What happens to one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It stays as it is.
    Nothing,
    /// The call passes, and is counted.
    Take,
    /// The call is denied, but it is counted (`FORCE`), or closes the limiter (`PENALTY`), or both.
    Deny { counts: bool, closes: bool },
    /// Units are given back.
    Refund,
}

impl Outcome {
    /// For a key whose rules say this, in a call whose rules say all of these.
    fn of(request: &Request, all: &[Standing], own: &[Standing]) -> Outcome {
        match request.action {
            _ if request.cost == 0 => Outcome::Nothing,
            Action::Peek => Outcome::Nothing,
            Action::Refund => Outcome::Refund,
            Action::Check if !all.iter().any(Standing::denies) => Outcome::Take,
            Action::Check => {
                let closes = request.penalty_ms.is_some() && own.iter().any(Standing::denies);
                let writes = (request.force || closes) && !own.iter().any(|standing| standing.closed);
                if writes {
                    Outcome::Deny { counts: request.force, closes }
                } else {
                    Outcome::Nothing
                }
            }
        }
    }
}

// There is one for each key of a call, on the stack: a box would cost every call an allocation.
#[allow(clippy::large_enum_variant)]
enum Judged<'r> {
    Sliding(SlidingLimiter<'r>),
    String(StringLimiter<'r>),
}

type AllJudged<'r> = SmallVec<[Judged<'r>; 1]>;

impl Judged<'_> {
    /// What to write to the key.
    fn write<K: Key>(&mut self, outcome: Outcome, standings: &[Standing], key: &mut K) -> Result<Write<'_>> {
        let write = match (outcome, self) {
            (Outcome::Nothing, _) => None,
            (_, Judged::Sliding(limiter)) => {
                let expiry = key.expiry();
                limiter.write(outcome, key.log()?, expiry)?.map(Write::Log)
            }
            (_, Judged::String(limiter)) => limiter.write(outcome, standings, key.expiry())?.map(Write::String),
        };
        Ok(write.unwrap_or(Write::Nothing))
    }
}

enum Write<'l> {
    Nothing,
    Log(LogWrite),
    String(StringWrite<'l>),
}

/// The answer to a call.
pub struct Answer {
    standings: Standings,
    consumed: Option<u64>,
}

impl Answer {
    /// One verdict for all rules.
    pub fn verdict(&self) -> Result<Verdict> {
        verdict(&self.standings, self.consumed).ok_or_else(Error::no_rule)
    }

    /// One verdict for each rule.
    pub fn each(&self) -> impl ExactSizeIterator<Item = Verdict> + '_ {
        self.standings.iter().enumerate().map(|(place, standing)| standing.verdict(place as u64 + 1, self.consumed))
    }
}

/// Runs a call: on all of its keys, or on none.
pub fn run<K: Key>(request: &Request, clock: Clock, parts: &mut [Part<K>]) -> Result<Answer> {
    let (mut judged, mut standings) = (AllJudged::new(), Standings::new());
    for part in parts.iter_mut() {
        judge(request, part.rules, clock, &mut part.key, &mut standings, &mut judged)?;
    }
    let mut is_taken = false;
    let mut writes: SmallVec<[Write; 1]> = SmallVec::new();
    let mut rest = standings.as_slice();
    for (judged, part) in judged.iter_mut().zip(parts.iter_mut()) {
        let own = rest.split_off(..part.rules.len()).unwrap_or_default();
        let outcome = Outcome::of(request, &standings, own);
        is_taken = outcome == Outcome::Take;
        writes.push(judged.write(outcome, own, &mut part.key)?);
    }
    // From here on nothing can fail: the type of each key was checked above.
    let mut is_changed = false;
    for (write, part) in writes.iter().zip(parts.iter_mut()) {
        match write {
            Write::Nothing => continue,
            Write::Log(write) => write.apply(part.key.log()?),
            Write::String(write) => part.key.write_string(write),
        }
        is_changed = true;
    }
    if is_taken || !(is_changed || request.action == Action::Refund) {
        return Ok(Answer { standings: in_order(parts, standings), consumed: is_taken.then_some(request.cost) });
    }
    // A refund, a penalty and a call that was forced are told how things stand afterwards. If somebody tampered with a
    // log where only this second look reads it, they are told how things stood before: what was written stays.
    let told = afterwards(request, clock, parts);
    Ok(told.unwrap_or_else(|_| Answer { standings: in_order(parts, standings), consumed: None }))
}

#[cold]
fn afterwards<K: Key>(request: &Request, clock: Clock, parts: &mut [Part<K>]) -> Result<Answer> {
    let cost = if request.action == Action::Refund { 0 } else { request.cost };
    let peek = Request { action: Action::Peek, cost, ..request.clone() };
    let mut standings = Standings::new();
    for part in parts.iter_mut() {
        judge(&peek, part.rules, clock, &mut part.key, &mut standings, &mut SmallVec::new())?;
    }
    Ok(Answer { standings: in_order(parts, standings), consumed: None })
}

/// Appends what the rules of one key say, and what they are to write.
#[inline]
fn judge<'r, K: Key>(
    request: &'r Request,
    rules: &'r [Rule],
    clock: Clock,
    key: &mut K,
    standings: &mut Standings,
    judged: &mut AllJudged<'r>,
) -> Result<()> {
    if request.algorithm == Algorithm::Sliding {
        let limiter = SlidingLimiter::judge(request, rules, clock, key.log()?, standings)?;
        judged.push(Judged::Sliding(limiter));
        return Ok(());
    }
    judged.push(Judged::String(StringLimiter::new(request, rules, clock)));
    match judged.last_mut() {
        Some(Judged::String(limiter)) => limiter.judge(key.text()?, standings),
        _ => Ok(()),
    }
}

/// Sorts standings from the order of the keys into the order of the call's rules.
fn in_order<K>(parts: &[Part<K>], standings: Standings) -> Standings {
    if parts.len() == 1 {
        return standings;
    }
    let mut ordered = smallvec![Standing::default(); standings.len()];
    let numbers = parts.iter().flat_map(|part| part.numbers);
    for (number, standing) in numbers.zip(standings) {
        if let Some(place) = ordered.get_mut(*number) {
            *place = standing;
        }
    }
    ordered
}
