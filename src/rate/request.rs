//! The arguments of `RATE.CHECK` and similar commands, after the keys. All are read and checked here, before a key is
//! opened.

use std::ops::RangeInclusive;

use smallvec::SmallVec;

use super::clock::{micros_of, MAX_MILLIS};
use super::duration::{parse_duration, MAX_WINDOW_MS};
use super::rule::{Rule, Window, MAX_LIMIT};
use crate::calendar::Offset;
use crate::duration::duration_text;
use crate::error::{Error, Result};
use crate::words::{Setting, Word, Words};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The units of the last window, exactly. This one is stored in a sorted set, the others in a string.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub rules: RuleList,
    pub algorithm: Algorithm,
    pub action: Action,
    pub cost: u64,
    /// Whether the units count even if the call is denied.
    pub force: bool,
    /// For how many milliseconds a denied call closes its limiter.
    pub penalty_ms: Option<u64>,
    /// The caller's clock in microseconds, if the call has `NOW`.
    pub now: Option<i64>,
    pub each: bool,
    pub json: bool,
    pub max_log: u64,
}

impl Request {
    /// `rule [rule ...] [options]`; `max_log` is the largest limit of a `SLIDING` rule.
    pub fn parse<W: Word>(mut words: Words<W>, action: Action, max_log: u64) -> Result<Request> {
        let mut rules = parse_rules(&mut words)?;
        let (mut algorithm, mut burst, mut offset) = (Setting::default(), Setting::default(), Setting::default());
        let (mut cost, mut penalty_ms, mut now_ms) = (Setting::default(), Setting::default(), Setting::default());
        let (mut force, mut each, mut json) = (Setting::default(), Setting::default(), Setting::default());
        while let Some(word) = words.next() {
            match word.upper().as_slice() {
                b"SLIDING" => algorithm.set(Algorithm::Sliding, "algorithm")?,
                b"FIXED" => algorithm.set(Algorithm::Fixed, "algorithm")?,
                b"COUNTER" => algorithm.set(Algorithm::Counter, "algorithm")?,
                b"GCRA" => algorithm.set(Algorithm::Gcra, "algorithm")?,
                b"CALENDAR" => algorithm.set(Algorithm::Calendar, "algorithm")?,
                b"BURST" => burst.set(words.value_of("BURST")?.number_in("BURST", 1..=MAX_LIMIT)?, "BURST")?,
                b"COST" => cost.set(words.value_of("COST")?.number_in("COST", 0..=MAX_LIMIT)?, "COST")?,
                b"NOW" => now_ms.set(words.value_of("NOW")?.number_in("NOW", 0..=MAX_MILLIS)?, "NOW")?,
                b"EACH" => each.set((), "EACH")?,
                b"JSON" => json.set((), "JSON")?,
                b"FORCE" if action == Action::Check => force.set((), "FORCE")?,
                b"PENALTY" if action == Action::Check => {
                    penalty_ms.set(parse_duration("PENALTY", words.value_of("PENALTY")?)?, "PENALTY")?;
                }
                b"OFFSET" => {
                    let value = words.value_of("OFFSET")?;
                    let parsed = Offset::parse(value.bytes());
                    offset.set(parsed.ok_or_else(|| value.refuse("OFFSET", "+hh:mm or -hh:mm"))?, "OFFSET")?;
                }
                _ => return Err(unknown_option(word, action)),
            }
        }
        let (algorithm, penalty_ms) = (algorithm.get().unwrap_or(Algorithm::Sliding), penalty_ms.get());
        set_bursts(&mut rules, algorithm, burst.get())?;
        set_windows(&mut rules, algorithm, offset.get())?;
        if algorithm == Algorithm::Sliding {
            if penalty_ms.is_some() {
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
            cost: cost.get().unwrap_or(1),
            force: force.is_set(),
            penalty_ms,
            now: now_ms.get().map(micros_of),
            each: each.is_set(),
            json: json.is_set(),
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

    /// The rules at these positions, which are for one key. An error if two of them have the same window.
    pub fn rules_at(&self, positions: &[usize]) -> Result<RuleList> {
        let rules: RuleList = positions.iter().filter_map(|position| self.rules.get(*position)).copied().collect();
        Request::check_windows(rules.iter())?;
        Ok(rules)
    }

    /// Checks that the rules of one key have different windows: a key has one state for each window.
    pub fn check_windows<'r>(rules: impl Iterator<Item = &'r Rule> + Clone) -> Result<()> {
        for (place, rule) in rules.clone().enumerate() {
            if rules.clone().skip(place.saturating_add(1)).any(|other| other.window == rule.window) {
                return Err(match rule.window {
                    Window::Millis(millis) => Error::window_twice(&duration_text(millis)),
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
        (Some(burst), [rule]) => match rule.burst.replace(burst) {
            None => Ok(()),
            Some(_) => Err(Error::given_twice("BURST")),
        },
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
            Window::Calendar(_, own) if by_calendar => *own = offset.unwrap_or_default(),
            Window::Calendar(unit, _) => return Err(Error::unit_without_calendar(unit.name())),
            Window::Millis(_) if by_calendar => return Err(Error::calendar_without_unit()),
            Window::Millis(_) => {}
        }
    }
    Ok(())
}

/// Every option, in the order in which an error names them.
const OPTIONS: [&str; 13] = [
    "SLIDING", "FIXED", "COUNTER", "GCRA", "CALENDAR", "BURST", "OFFSET", "COST", "FORCE", "PENALTY", "NOW", "EACH",
    "JSON",
];

/// The rules in front of the options.
fn parse_rules<W: Word>(words: &mut Words<W>) -> Result<RuleList> {
    let mut rules = RuleList::new();
    while let Some(word) = words.peek() {
        let bytes = word.bytes();
        // After a rule, what does not even begin like a number is an option, if misspelt, rather than a bad limit.
        if !begins_like_number(bytes) && (!rules.is_empty() || is_option(bytes)) {
            break;
        }
        words.next();
        if rules.len() >= MAX_RULES {
            return Err(Error::too_many_rules(MAX_RULES));
        }
        let mut parts = bytes.splitn(3, |byte| *byte == b'/');
        let limit = parts.next().unwrap_or_default();
        rules.push(match parts.next() {
            Some(window) => Rule::parse(limit, Some(window).filter(|window| !window.is_empty()), parts.next())?,
            None => {
                // An option or another rule in one word means that the window was forgotten.
                let is_window = |word: &[u8]| !is_option(word) && !word.contains(&b'/');
                let window = words.peek().filter(|next| is_window(next.bytes()));
                words.take_first(usize::from(window.is_some()));
                Rule::parse(limit, window.as_ref().map(Word::bytes), None)?
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

fn is_option(word: &[u8]) -> bool {
    !begins_like_number(word) && OPTIONS.iter().any(|option| word.eq_ignore_ascii_case(option.as_bytes()))
}

#[cold]
fn unknown_option(word: impl Word, action: Action) -> Error {
    let is_valid = |option: &&str| action == Action::Check || !matches!(*option, "FORCE" | "PENALTY");
    let valid: Vec<&str> = OPTIONS.into_iter().filter(is_valid).collect();
    word.refuse("option", &valid.join(", ").replace(", JSON", " or JSON"))
}

fn within(what: &'static str, value: i64, range: RangeInclusive<i64>) -> Result<u64> {
    let (least, most) = (range.start().unsigned_abs(), range.end().unsigned_abs());
    let refuse = || Error::takes_between(what, least, most, value.to_string().as_bytes());
    u64::try_from(value).ok().filter(|_| range.contains(&value)).ok_or_else(refuse)
}

/// How many keys `RATE.ALL` names: as many as it may have rules.
pub fn parse_key_count(word: impl Word) -> Result<u64> {
    word.number_in("numkeys", 1..=MAX_RULES as u64)
}

/// `NOW ms` behind a command that takes nothing else, in microseconds.
pub fn parse_now(word: impl Word) -> Result<i64> {
    word.number_in("NOW", 0..=MAX_MILLIS).map(micros_of)
}
