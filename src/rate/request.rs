//! The arguments of `RATE.CHECK` and `RATE.PEEK` after the key.

use std::iter::Peekable;

use smallvec::SmallVec;

use super::clock::MAX_MICROS;
use super::error::RateError;
use super::rule::{parse_limit, parse_number, Rule, Rules};
use crate::error::Shown;

const MAX_COST: u64 = i64::MAX as u64;
const MAX_NOW_MS: u64 = MAX_MICROS as u64 / 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The one that lives in a sorted set; the others live in a hash.
    Sliding,
    Fixed,
    Counter,
    Gcra,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub(super) rules: Rules,
    pub(super) algorithm: Algorithm,
    pub(super) burst: Option<u64>,
    pub(super) cost: u64,
    pub(super) now: Option<i64>,
}

impl Request {
    /// `rule [rule ...] [SLIDING|FIXED|COUNTER|GCRA] [BURST n] [COST n] [NOW ms]`; `max_log` is the largest limit of a
    /// `SLIDING` rule.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a [u8]>, max_log: u64) -> Result<Request, RateError> {
        let mut words = words.into_iter().peekable();
        let rules = parse_rules(&mut words)?;
        let options = Options::parse(words)?;
        let algorithm = options.algorithm.unwrap_or(Algorithm::Sliding);
        if options.burst.is_some() && algorithm != Algorithm::Gcra {
            return Err(RateError::BurstWithoutGcra);
        }
        if algorithm == Algorithm::Sliding {
            if let Some(over) = rules.iter().find(|rule| rule.limit() > max_log) {
                return Err(RateError::LimitOverLog { limit: over.limit(), max_log });
            }
        }
        Ok(Request { rules, algorithm, burst: options.burst, cost: options.cost.unwrap_or(1), now: options.now })
    }

    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The caller's clock in microseconds, if the call brings one.
    pub fn now(&self) -> Option<i64> {
        self.now
    }
}

fn parse_rules<'a>(words: &mut Peekable<impl Iterator<Item = &'a [u8]>>) -> Result<Rules, RateError> {
    let mut rules = Rules::new(next_rule(words, |_| true)?.ok_or(RateError::NoRule)?);
    // After a rule, what does not even begin like a number is a misspelt option rather than a bad limit.
    while let Some(rule) = next_rule(words, begins_like_a_number)? {
        rules.push(rule);
    }
    match repeated_window(&rules) {
        Some(window_ms) => Err(RateError::WindowTwice { window_ms }),
        None => Ok(rules),
    }
}

/// `None` at the end or before an option.
fn next_rule<'a>(
    words: &mut Peekable<impl Iterator<Item = &'a [u8]>>,
    may_begin: impl Fn(&[u8]) -> bool,
) -> Result<Option<Rule>, RateError> {
    let Some(word) = words.next_if(|word| Keyword::of(word).is_none()) else { return Ok(None) };
    if !may_begin(word) {
        return Err(RateError::UnknownOption { got: Shown::new(word) });
    }
    let rule = match split_at_slash(word) {
        Some((limit, window)) => Rule::parse(limit, (!window.is_empty()).then_some(window)),
        None => Rule::parse(word, words.next_if(|next| could_be_a_window(next))),
    };
    rule.map(Some)
}

fn begins_like_a_number(word: &[u8]) -> bool {
    matches!(word.first(), Some(b'0'..=b'9' | b'+' | b'-' | b'/'))
}

/// An option or another rule in one word means that the window was forgotten.
fn could_be_a_window(word: &[u8]) -> bool {
    Keyword::of(word).is_none() && split_at_slash(word).is_none()
}

fn split_at_slash(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let slash = word.iter().position(|byte| *byte == b'/')?;
    let (limit, rest) = word.split_at_checked(slash)?;
    Some((limit, rest.strip_prefix(b"/")?))
}

/// By sorting: nothing bounds the number of rules but the size of a command.
fn repeated_window(rules: &Rules) -> Option<u64> {
    if rules.len() < 2 {
        return None;
    }
    let mut windows: SmallVec<[u64; 8]> = rules.iter().map(|rule| rule.window_ms()).collect();
    windows.sort_unstable();
    let next_ones = windows.iter().skip(1);
    let (twice, _) = windows.iter().zip(next_ones).find(|(one, next)| one == next)?;
    Some(*twice)
}

enum Keyword {
    Algorithm(Algorithm),
    Burst,
    Cost,
    Now,
}

impl Keyword {
    fn of(word: &[u8]) -> Option<Keyword> {
        // Most words are numbers, and are asked twice; of the others the first letter says nearly all.
        let (name, keyword) = match word.first()?.to_ascii_uppercase() {
            b'S' => ("SLIDING", Keyword::Algorithm(Algorithm::Sliding)),
            b'F' => ("FIXED", Keyword::Algorithm(Algorithm::Fixed)),
            b'C' if word.len() == "COST".len() => ("COST", Keyword::Cost),
            b'C' => ("COUNTER", Keyword::Algorithm(Algorithm::Counter)),
            b'G' => ("GCRA", Keyword::Algorithm(Algorithm::Gcra)),
            b'B' => ("BURST", Keyword::Burst),
            b'N' => ("NOW", Keyword::Now),
            _ => return None,
        };
        word.eq_ignore_ascii_case(name.as_bytes()).then_some(keyword)
    }
}

#[derive(Default)]
struct Options {
    algorithm: Option<Algorithm>,
    burst: Option<u64>,
    cost: Option<u64>,
    now: Option<i64>,
}

impl Options {
    fn parse<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> Result<Options, RateError> {
        let mut options = Options::default();
        while let Some(word) = words.next() {
            let keyword = Keyword::of(word).ok_or_else(|| RateError::UnknownOption { got: Shown::new(word) })?;
            let mut value = |option| words.next().ok_or(RateError::OptionWithoutValue { option });
            match keyword {
                Keyword::Algorithm(algorithm) => {
                    set_once(&mut options.algorithm, "algorithm", algorithm)?;
                }
                Keyword::Burst => {
                    let burst = parse_limit("BURST", value("BURST")?)?;
                    set_once(&mut options.burst, "BURST", burst)?;
                }
                Keyword::Cost => {
                    let cost = parse_number("COST", value("COST")?, 0, MAX_COST)?;
                    set_once(&mut options.cost, "COST", cost)?;
                }
                Keyword::Now => {
                    let millis = parse_number("NOW", value("NOW")?, 0, MAX_NOW_MS)?;
                    let micros = i64::try_from(millis).unwrap_or(0).saturating_mul(1_000);
                    set_once(&mut options.now, "NOW", micros)?;
                }
            }
        }
        Ok(options)
    }
}

fn set_once<T>(slot: &mut Option<T>, option: &'static str, value: T) -> Result<(), RateError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(RateError::OptionTwice { option }),
    }
}
