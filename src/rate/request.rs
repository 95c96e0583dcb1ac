//! The arguments of `RATE.CHECK` and similar commands, after the keys.

use std::iter::Peekable;
use std::ops::RangeInclusive;

use smallvec::SmallVec;

use super::clock::{micros_of, MAX_MILLIS};
use super::duration::{parse_duration, MAX_WINDOW_MS};
use super::rule::{parse_number, Rule, Window, MAX_LIMIT};
use crate::calendar::Offset;
use crate::error::{set_once, Error, Result};

/// How a limiter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The one that lives in a sorted set; the others live in a string.
    Sliding,
    /// Windows that open with their first unit.
    Fixed,
    /// The current window, and the part of the previous one that still counts.
    Counter,
    /// A bucket that refills evenly.
    Gcra,
    /// Hours, days, weeks, months or years.
    Calendar,
}

/// What a call wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// To take units, and return what is left afterwards.
    Check,
    /// To return whether it could take units, and what is left now.
    Peek,
    /// To give units back.
    Refund,
}

/// At least one rule; few calls have more than two.
pub type RuleList = SmallVec<[Rule; 2]>;

/// The most rules of a call. More would make a call slow, and nobody needs them.
const MAX_RULES: usize = 100;

/// What a call asks of its limiters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// In the order of the call.
    pub rules: RuleList,
    /// How to count.
    pub algorithm: Algorithm,
    /// What it wants.
    pub action: Action,
    /// How many units.
    pub cost: u64,
    /// Whether the units count even if the call is denied.
    pub force: bool,
    /// For how many milliseconds a denied call closes its limiter.
    pub penalty_ms: Option<u64>,
    /// The caller's clock in microseconds, if the call has `NOW`.
    pub now: Option<i64>,
    /// Whether the reply has the numbers of every rule.
    pub each: bool,
    /// Whether the reply is JSON.
    pub json: bool,
    /// The most entries that a log may have.
    pub max_log: u64,
}

impl Request {
    /// `rule [rule ...] [options]`; `max_log` is the largest limit of a `SLIDING` rule.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a [u8]>, action: Action, max_log: u64) -> Result<Request> {
        let mut words = words.into_iter().peekable();
        let mut rules = parse_rules(&mut words)?;
        let options = RequestOptions::parse(words, action)?;
        let algorithm = options.algorithm.unwrap_or(Algorithm::Sliding);
        set_bursts(&mut rules, algorithm, options.burst)?;
        set_windows(&mut rules, algorithm, options.offset)?;
        if algorithm == Algorithm::Sliding {
            if options.penalty_ms.is_some() {
                return Err(Error::penalty_with_sliding());
            }
            if let Some(over) = rules.iter().find(|rule| rule.limit > max_log) {
                return Err(Error::limit_over_log(over.limit, max_log));
            }
        }
        Ok(Request {
            rules,
            algorithm,
            action,
            cost: options.cost.unwrap_or(1),
            force: options.force.is_some(),
            penalty_ms: options.penalty_ms,
            now: options.now_ms.map(micros_of),
            each: options.each.is_some(),
            json: options.json.is_some(),
            max_log,
        })
    }

    /// One rule of `GCRA`, as redis-cell's command has it: a bucket of `max_burst` + 1 units.
    pub fn of_cell(max_burst: i64, count: i64, period: i64, quantity: i64) -> Result<Request> {
        let most = MAX_LIMIT as i64;
        let limit = within("count", count, 1..=most)?;
        let window =
            Window::Millis(within("period", period, 1..=(MAX_WINDOW_MS / 1_000) as i64)?.saturating_mul(1_000));
        let burst = within("max_burst", max_burst, 0..=most - 1)?.saturating_add(1);
        Ok(Request {
            rules: SmallVec::from_iter([Rule { limit, window, burst: Some(burst) }]),
            algorithm: Algorithm::Gcra,
            action: Action::Check,
            cost: within("quantity", quantity, 0..=most)?,
            force: false,
            penalty_ms: None,
            now: None,
            each: false,
            json: false,
            max_log: 0,
        })
    }

    /// The rules at these places, which are for one key.
    pub fn rules_at(&self, numbers: &[usize]) -> Result<RuleList> {
        let rules: RuleList = numbers.iter().filter_map(|number| self.rules.get(*number)).copied().collect();
        Request::check_windows(rules.iter())?;
        Ok(rules)
    }

    /// Whether the rules of one key have different windows.
    pub fn check_windows<'r>(rules: impl Iterator<Item = &'r Rule> + Clone) -> Result<()> {
        for (place, rule) in rules.clone().enumerate() {
            if rules.clone().skip(place.saturating_add(1)).any(|other| other.window == rule.window) {
                return Err(match rule.window {
                    Window::Millis(millis) => Error::window_twice(&format!("{millis}ms")),
                    Window::Calendar(unit, _) => Error::window_twice(unit.name()),
                });
            }
        }
        Ok(())
    }
}

/// Sets the size of buckets: each rule names its own, or `BURST` names that of a single rule.
fn set_bursts(rules: &mut RuleList, algorithm: Algorithm, burst: Option<u64>) -> Result<()> {
    if algorithm != Algorithm::Gcra && (burst.is_some() || rules.iter().any(|rule| rule.burst.is_some())) {
        return Err(Error::burst_without_gcra());
    }
    match (burst, rules.as_mut_slice()) {
        (None, _) => Ok(()),
        (Some(_), [rule]) => set_once(&mut rule.burst, burst.unwrap_or(rule.limit), "BURST"),
        (Some(_), _) => Err(Error::burst_of_several()),
    }
}

/// Checks that calendar windows and `OFFSET` are only used with `CALENDAR`.
fn set_windows(rules: &mut RuleList, algorithm: Algorithm, offset: Option<Offset>) -> Result<()> {
    let by_calendar = algorithm == Algorithm::Calendar;
    if offset.is_some() && !by_calendar {
        return Err(Error::offset_without_calendar());
    }
    for rule in rules.iter_mut() {
        match &mut rule.window {
            Window::Calendar(_, place) if by_calendar => *place = offset.unwrap_or_default(),
            Window::Calendar(unit, _) => return Err(Error::unit_without_calendar(unit.name())),
            Window::Millis(_) if by_calendar => return Err(Error::calendar_without_unit()),
            Window::Millis(_) => {}
        }
    }
    Ok(())
}

/// The rules in front of the options.
fn parse_rules<'a>(words: &mut Peekable<impl Iterator<Item = &'a [u8]>>) -> Result<RuleList> {
    let mut rules = RuleList::new();
    // After a rule, what does not even begin like a number is an option, if misspelt, rather than a bad limit.
    let is_rule = |word: &[u8], is_first| begins_like_number(word) || (is_first && Keyword::of(word).is_none());
    while let Some(word) = words.next_if(|word| is_rule(word, rules.is_empty())) {
        if rules.len() >= MAX_RULES {
            return Err(Error::too_many_rules(MAX_RULES));
        }
        let mut keys = word.splitn(3, |byte| *byte == b'/');
        let limit = keys.next().unwrap_or_default();
        rules.push(match keys.next() {
            Some(window) => Rule::parse(limit, Some(window).filter(|window| !window.is_empty()), keys.next())?,
            None => {
                // An option or another rule in one word means that the window was forgotten.
                let window = words.next_if(|next| Keyword::of(next).is_none() && !next.contains(&b'/'));
                Rule::parse(limit, window, None)?
            }
        });
    }
    if rules.is_empty() {
        return Err(Error::no_rule());
    }
    Ok(rules)
}

fn begins_like_number(word: &[u8]) -> bool {
    matches!(word.first(), Some(b'0'..=b'9' | b'+' | b'-' | b'/'))
}

#[derive(Default)]
struct RequestOptions {
    algorithm: Option<Algorithm>,
    burst: Option<u64>,
    offset: Option<Offset>,
    cost: Option<u64>,
    force: Option<()>,
    penalty_ms: Option<u64>,
    now_ms: Option<u64>,
    each: Option<()>,
    json: Option<()>,
}

impl RequestOptions {
    fn parse<'a>(mut words: impl Iterator<Item = &'a [u8]>, action: Action) -> Result<RequestOptions> {
        let mut options = RequestOptions::default();
        while let Some(word) = words.next() {
            let keyword = Keyword::of(word).filter(|keyword| keyword.is_for(action));
            let mut value = |option: &'static str| words.next().ok_or_else(|| Error::without_value(option));
            let mut number = |option: &'static str, range: RangeInclusive<u64>| {
                value(option).and_then(|value| parse_number(option, value, range))
            };
            match keyword.ok_or_else(|| unknown_option(word, action))? {
                Keyword::Algorithm(named) => set_once(&mut options.algorithm, named, "algorithm")?,
                Keyword::Burst => set_once(&mut options.burst, number("BURST", 1..=MAX_LIMIT)?, "BURST")?,
                Keyword::Cost => set_once(&mut options.cost, number("COST", 0..=MAX_LIMIT)?, "COST")?,
                Keyword::Now => set_once(&mut options.now_ms, number("NOW", 0..=MAX_MILLIS)?, "NOW")?,
                Keyword::Force => set_once(&mut options.force, (), "FORCE")?,
                Keyword::Each => set_once(&mut options.each, (), "EACH")?,
                Keyword::Json => set_once(&mut options.json, (), "JSON")?,
                Keyword::Penalty => {
                    let millis = parse_duration("PENALTY", value("PENALTY")?)?;
                    set_once(&mut options.penalty_ms, millis, "PENALTY")?;
                }
                Keyword::Offset => {
                    let text = value("OFFSET")?;
                    let refuse = || Error::takes("OFFSET", "+hh:mm or -hh:mm", text);
                    set_once(&mut options.offset, Offset::parse(text).ok_or_else(refuse)?, "OFFSET")?;
                }
            }
        }
        Ok(options)
    }
}

fn within(what: &'static str, value: i64, range: RangeInclusive<i64>) -> Result<u64> {
    let (least, most) = (range.start().unsigned_abs(), range.end().unsigned_abs());
    let refuse = || Error::takes_between(what, least, most, value.to_string().as_bytes());
    u64::try_from(value).ok().filter(|_| range.contains(&value)).ok_or_else(refuse)
}

/// How many keys `RATE.ALL` names: as many as it may have rules.
pub fn parse_key_count(text: &[u8]) -> Result<u64> {
    parse_number("numkeys", text, 1..=MAX_RULES as u64)
}

/// `NOW ms` behind a command that takes nothing else, in microseconds.
pub fn parse_now(text: &[u8]) -> Result<i64> {
    parse_number("NOW", text, 0..=MAX_MILLIS).map(micros_of)
}

#[derive(Clone, Copy)]
enum Keyword {
    Algorithm(Algorithm),
    Burst,
    Offset,
    Cost,
    Force,
    Penalty,
    Now,
    Each,
    Json,
}

impl Keyword {
    fn of(word: &[u8]) -> Option<Keyword> {
        // Most words are numbers, and are asked twice; of the others the first letters say nearly all.
        let (name, keyword) = match (word.first()?.to_ascii_uppercase(), word.len()) {
            (b'S', _) => ("SLIDING", Keyword::Algorithm(Algorithm::Sliding)),
            (b'F', _) if word.get(1)?.eq_ignore_ascii_case(&b'I') => ("FIXED", Keyword::Algorithm(Algorithm::Fixed)),
            (b'F', _) => ("FORCE", Keyword::Force),
            (b'C', 4) => ("COST", Keyword::Cost),
            (b'C', 8) => ("CALENDAR", Keyword::Algorithm(Algorithm::Calendar)),
            (b'C', _) => ("COUNTER", Keyword::Algorithm(Algorithm::Counter)),
            (b'G', _) => ("GCRA", Keyword::Algorithm(Algorithm::Gcra)),
            (b'B', _) => ("BURST", Keyword::Burst),
            (b'O', _) => ("OFFSET", Keyword::Offset),
            (b'P', _) => ("PENALTY", Keyword::Penalty),
            (b'N', _) => ("NOW", Keyword::Now),
            (b'E', _) => ("EACH", Keyword::Each),
            (b'J', _) => ("JSON", Keyword::Json),
            _ => return None,
        };
        word.eq_ignore_ascii_case(name.as_bytes()).then_some(keyword)
    }

    fn is_for(&self, action: Action) -> bool {
        action == Action::Check || !matches!(self, Keyword::Force | Keyword::Penalty)
    }
}

fn unknown_option(word: &[u8], action: Action) -> Error {
    let takes = match action {
        Action::Check => {
            "SLIDING, FIXED, COUNTER, GCRA, CALENDAR, BURST, OFFSET, COST, FORCE, PENALTY, NOW, EACH or JSON"
        }
        Action::Peek | Action::Refund => {
            "SLIDING, FIXED, COUNTER, GCRA, CALENDAR, BURST, OFFSET, COST, NOW, EACH or JSON"
        }
    };
    Error::takes("option", takes, word)
}
