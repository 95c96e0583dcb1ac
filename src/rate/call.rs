//! One call on its keys: judged first, all of them, then written, then answered.

use smallvec::{smallvec, SmallVec};

use super::clock::Clock;
use super::line::LineText;
use super::log::Log;
use super::request::{Action, Algorithm, Request, Rules};
use super::sliding::{LogWrite, SlidingLimiter};
use super::strings::{StringLimiter, StringWrite};
use super::verdict::{verdict, Standing, Verdict};
use crate::error::{Error, Result};

/// The key of a limiter, or one that may become a limiter's.
pub trait Key {
    /// Its log.
    type Log<'k>: Log
    where
        Self: 'k;

    /// The text of a string limiter; `None` if there is no key.
    fn text(&self) -> Result<Option<LineText>>;

    /// The log of `SLIDING`; `None` if there is no key.
    fn log(&self) -> Result<Option<Self::Log<'_>>>;

    /// When the key expires, in Unix milliseconds.
    fn expiry(&self) -> Option<i64>;

    /// Does what a string limiter wants.
    fn write_string(&mut self, write: &StringWrite);

    /// Does what a log wants.
    fn write_log(&mut self, write: &LogWrite);
}

/// A key, and the rules of the call that are for it.
pub struct Part<K> {
    key: K,
    rules: Rules,
    /// The places of the rules in the call; of a single key they say nothing new.
    numbers: SmallVec<[usize; 2]>,
}

impl<K> Part<K> {
    /// All rules of a call are for this key.
    pub fn whole(key: K, request: &Request) -> Part<K> {
        Part { key, rules: request.rules.clone(), numbers: SmallVec::new() }
    }

    /// The rules at these places are for this key.
    pub fn some(key: K, request: &Request, numbers: &[usize]) -> Result<Part<K>> {
        let rules: Rules = numbers.iter().filter_map(|number| request.rules.get(*number)).copied().collect();
        Request::check_windows(rules.iter())?;
        Ok(Part { key, rules, numbers: numbers.into() })
    }
}

/// What becomes of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It stays as it is.
    Nothing,
    /// The call passes, and is counted.
    Take,
    /// The call is denied. It is counted all the same, or closes the limiter, or both.
    Deny { counts: bool, closes: bool },
    /// Units are given back.
    Refund,
}

impl Outcome {
    /// For a key with these standings, in a call that has all of these.
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

enum Judged<'r> {
    Sliding(SlidingLimiter<'r>),
    String(StringLimiter<'r>),
}

impl<'r> Judged<'r> {
    fn of<K: Key>(request: &'r Request, part: &'r Part<K>, clock: Clock) -> Result<Judged<'r>> {
        let (rules, key) = (part.rules.as_slice(), &part.key);
        Ok(if request.algorithm == Algorithm::Sliding {
            Judged::Sliding(SlidingLimiter::judge(request, rules, clock, key.log()?.as_mut())?)
        } else {
            Judged::String(StringLimiter::judge(request, rules, clock, key.text()?.as_deref())?)
        })
    }

    fn standings(&self) -> &[Standing] {
        match self {
            Judged::Sliding(limiter) => limiter.standings(),
            Judged::String(limiter) => limiter.standings(),
        }
    }

    fn write<K: Key>(&mut self, outcome: Outcome, key: &K) -> Result<Write> {
        Ok(match self {
            Judged::Sliding(limiter) => Write::Log(limiter.write(outcome, key.log()?.as_mut())?),
            Judged::String(limiter) => Write::String(limiter.write(outcome, || key.expiry())?),
        })
    }
}

enum Write {
    Log(Option<LogWrite>),
    String(Option<StringWrite>),
}

/// What a call is told.
pub struct Answer {
    standings: SmallVec<[Standing; 2]>,
    consumed: Option<u64>,
}

impl Answer {
    /// In one.
    pub fn verdict(&self) -> Result<Verdict> {
        verdict(&self.standings, self.consumed).ok_or(Error::NoRule)
    }

    /// Rule by rule.
    pub fn each(&self) -> impl ExactSizeIterator<Item = Verdict> + '_ {
        self.standings.iter().enumerate().map(|(place, standing)| standing.verdict(place as u64 + 1, self.consumed))
    }
}

/// Runs a call: on all of its keys, or on none.
pub fn run<K: Key>(request: &Request, clock: Clock, parts: &mut [Part<K>]) -> Result<Answer> {
    let mut judged = judge_all(request, clock, parts)?;
    let standings = in_order(parts, &judged);
    let outcome = |judged: &Judged| Outcome::of(request, &standings, judged.standings());
    let mut is_taken = false;
    let mut writes: SmallVec<[Write; 1]> = SmallVec::new();
    for (judged, part) in judged.iter_mut().zip(parts.iter()) {
        let outcome = outcome(judged);
        is_taken = outcome == Outcome::Take;
        writes.push(if outcome == Outcome::Nothing { Write::Log(None) } else { judged.write(outcome, &part.key)? });
    }
    drop(judged);
    // From here on nothing can fail.
    let mut is_changed = false;
    for (write, part) in writes.iter().zip(parts.iter_mut()) {
        match write {
            Write::Log(Some(write)) => part.key.write_log(write),
            Write::String(Some(write)) => part.key.write_string(write),
            Write::Log(None) | Write::String(None) => continue,
        }
        is_changed = true;
    }
    if is_taken || !(is_changed || request.action == Action::Refund) {
        return Ok(Answer { standings, consumed: is_taken.then_some(request.cost) });
    }
    // A refund, a penalty and a call that was forced are told how things stand afterwards.
    afterwards(request, clock, parts)
}

fn afterwards<K: Key>(request: &Request, clock: Clock, parts: &[Part<K>]) -> Result<Answer> {
    let cost = if request.action == Action::Refund { 0 } else { request.cost };
    let peek = Request { action: Action::Peek, cost, ..request.clone() };
    let judged = judge_all(&peek, clock, parts)?;
    Ok(Answer { standings: in_order(parts, &judged), consumed: None })
}

fn judge_all<'r, K: Key>(
    request: &'r Request,
    clock: Clock,
    parts: &'r [Part<K>],
) -> Result<SmallVec<[Judged<'r>; 1]>> {
    let mut judged = SmallVec::new();
    for part in parts {
        judged.push(Judged::of(request, part, clock)?);
    }
    Ok(judged)
}

/// The standings of all keys in the order of the call's rules.
fn in_order<K>(parts: &[Part<K>], judged: &[Judged]) -> SmallVec<[Standing; 2]> {
    if let [only] = judged {
        return only.standings().into();
    }
    let rules = parts.iter().map(|part| part.rules.len()).sum();
    let mut all: SmallVec<[Standing; 2]> = smallvec![Standing::default(); rules];
    for (part, judged) in parts.iter().zip(judged) {
        for (number, standing) in part.numbers.iter().zip(judged.standings()) {
            if let Some(place) = all.get_mut(*number) {
                *place = *standing;
            }
        }
    }
    all
}
