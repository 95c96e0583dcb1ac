//! The arguments of `RATE.CHECK` and `RATE.PEEK` after the key.

use std::iter::Peekable;
use std::ops::RangeInclusive;

use smallvec::SmallVec;

use super::clock::MAX_MICROS;
use super::rule::{parse_number, Rule, MAX_LIMIT};
use crate::error::{set_once, Error, Result, Shown};

const MAX_COST: u64 = i64::MAX as u64;
const MAX_NOW_MS: u64 = MAX_MICROS as u64 / 1_000;

/// How a limiter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The one that lives in a sorted set; the others live in a hash.
    Sliding,
    /// Windows that open with their first unit.
    Fixed,
    /// The current window, and the part of the previous one that still counts.
    Counter,
    /// A bucket that refills evenly.
    Gcra,
}

/// At least one, and few calls bring more than two.
pub(super) type Rules = SmallVec<[Rule; 2]>;

/// What a call asks of a limiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub(super) rules: Rules,
    /// How to count.
    pub algorithm: Algorithm,
    pub(super) burst: Option<u64>,
    pub(super) cost: u64,
    /// The caller's clock in microseconds, if the call brings one.
    pub now: Option<i64>,
}

impl Request {
    /// `rule [rule ...] [SLIDING|FIXED|COUNTER|GCRA] [BURST n] [COST n] [NOW ms]`; `max_log` is the largest limit of a
    /// `SLIDING` rule.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a [u8]>, max_log: u64) -> Result<Request> {
        let mut words = words.into_iter().peekable();
        let rules = parse_rules(&mut words)?;
        let (mut algorithm, mut burst, mut cost, mut now_ms) = (None, None, None, None);
        while let Some(word) = words.next() {
            let mut number = |option: &'static str, range: RangeInclusive<u64>| {
                parse_number(option, words.next().ok_or(Error::OptionWithoutValue(option))?, range)
            };
            match Keyword::of(word).ok_or_else(|| unknown_option(word))? {
                Keyword::Algorithm(named) => set_once(&mut algorithm, named, "algorithm")?,
                Keyword::Burst => set_once(&mut burst, number("BURST", 1..=MAX_LIMIT)?, "BURST")?,
                Keyword::Cost => set_once(&mut cost, number("COST", 0..=MAX_COST)?, "COST")?,
                Keyword::Now => set_once(&mut now_ms, number("NOW", 0..=MAX_NOW_MS)?, "NOW")?,
            }
        }
        let algorithm = algorithm.unwrap_or(Algorithm::Sliding);
        if burst.is_some() && algorithm != Algorithm::Gcra {
            return Err(Error::BurstWithoutGcra);
        }
        if algorithm == Algorithm::Sliding {
            if let Some(over) = rules.iter().find(|rule| rule.limit > max_log) {
                return Err(Error::LimitOverLog { limit: over.limit, max_log });
            }
        }
        let now = now_ms.map(|ms| ms.saturating_mul(1_000).cast_signed());
        Ok(Request { rules, algorithm, burst, cost: cost.unwrap_or(1), now })
    }
}

/// The rules in front of the options.
fn parse_rules<'a>(words: &mut Peekable<impl Iterator<Item = &'a [u8]>>) -> Result<Rules> {
    let mut rules = Rules::new();
    while let Some(word) = words.next_if(|word| Keyword::of(word).is_none()) {
        // After a rule, what does not even begin like a number is a misspelt option rather than a bad limit.
        if !rules.is_empty() && !matches!(word.first(), Some(b'0'..=b'9' | b'+' | b'-' | b'/')) {
            return Err(unknown_option(word));
        }
        let (limit, window) = match split_at_slash(word) {
            Some((limit, window)) => (limit, Some(window).filter(|window| !window.is_empty())),
            // An option or another rule in one word means that the window was forgotten.
            None => (word, words.next_if(|next| Keyword::of(next).is_none() && split_at_slash(next).is_none())),
        };
        rules.push(Rule::parse(limit, window)?);
    }
    match repeated_window(&rules) {
        _ if rules.is_empty() => Err(Error::NoRule),
        Some(window_ms) => Err(Error::WindowTwice(window_ms)),
        None => Ok(rules),
    }
}

fn split_at_slash(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = word.splitn(2, |byte| *byte == b'/');
    parts.next().zip(parts.next())
}

/// By sorting: nothing bounds the number of rules but the size of a command.
fn repeated_window(rules: &Rules) -> Option<u64> {
    let mut windows: SmallVec<[u64; 8]> = rules.iter().map(|rule| rule.window_ms).collect();
    windows.sort_unstable();
    let (twice, _) = windows.iter().zip(windows.iter().skip(1)).find(|(one, next)| one == next)?;
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

fn unknown_option(word: &[u8]) -> Error {
    let takes = "SLIDING, FIXED, COUNTER, GCRA, BURST, COST or NOW";
    Error::Takes { what: "option", takes, got: Shown::new(word) }
}
