//! Rules, and the other arguments of `RATE.CHECK` and similar commands after the keys. All are read and checked here,
//! before a key is opened.

use std::ops::RangeInclusive;

use smallvec::SmallVec;

use super::clock::{micros_of, MAX_MILLIS, MICROS_OF_MILLI};
use super::text::MAX_UNITS;
use crate::calendar::{Offset, Unit};
use crate::duration::{duration_in, duration_text, MILLIS_OF_DAY};
use crate::error::{Error, Result};
use crate::words::{Options, Word, Words};

pub(super) const MAX_WINDOW_MS: u64 = 366 * MILLIS_OF_DAY;
/// The longest `WAIT`. A caller that has to wait for longer does better to ask again.
const MAX_WAIT_MS: u64 = MILLIS_OF_DAY / 24;

/// The largest limit, the largest bucket, and the largest cost.
pub(super) const MAX_LIMIT: u64 = 1_000_000_000;

/// How long the units of a rule count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// 1 ms to 366 days.
    Millis(u64),
    /// Only with `CALENDAR`.
    Calendar(Unit, Offset),
}

/// A rule. Its numbers are always within their bounds, so sums and products in the algorithms cannot overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub(super) limit: u64,
    pub(super) window: Window,
    /// The size of a bucket of `GCRA`, if the rule names it.
    pub(super) burst: Option<u64>,
}

impl Rule {
    /// `limit`, `window` and `burst` as the client wrote them, in two words or split at the slashes of one.
    pub(super) fn parse(limit: &[u8], window: Option<&[u8]>, burst: Option<&[u8]>) -> Result<Rule> {
        let limit = parse_limit(limit)?;
        let window = parse_window(window.ok_or_else(|| Error::limit_without_window(limit))?)?;
        let burst = burst.map(|burst| burst.number_in("burst", 1..=MAX_LIMIT)).transpose()?;
        Ok(Rule { limit, window, burst })
    }

    pub(super) fn capacity(&self) -> u64 {
        self.burst.unwrap_or(self.limit)
    }

    /// The length of the window in milliseconds; a calendar's windows have none.
    pub(super) fn millis(&self) -> u64 {
        match self.window {
            Window::Millis(millis) => millis,
            Window::Calendar(..) => 0,
        }
    }

    pub(super) fn micros(&self) -> u64 {
        self.millis().saturating_mul(MICROS_OF_MILLI)
    }

    /// `micros` + window; neither comes near the end of an i64.
    pub(super) fn window_after(&self, micros: i64) -> i64 {
        micros.saturating_add_unsigned(self.micros())
    }

    pub(super) fn window_before(&self, micros: i64) -> i64 {
        micros.saturating_sub_unsigned(self.micros())
    }
}

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

impl Algorithm {
    const ALL: [(&str, Algorithm); 5] = [
        ("SLIDING", Algorithm::Sliding),
        ("FIXED", Algorithm::Fixed),
        ("COUNTER", Algorithm::Counter),
        ("GCRA", Algorithm::Gcra),
        ("CALENDAR", Algorithm::Calendar),
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// To take units, and return what is left afterwards.
    Check,
    /// To return whether it could take units, and what is left now.
    Peek,
    /// To give units back.
    Refund,
    /// To correct what an earlier call took.
    Settle,
}

/// The correction of an earlier call, once it is known what it used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settlement {
    pub reserved: u64,
    pub used: u64,
    /// When the reserved units were counted, in microseconds.
    pub at: i64,
}

impl Settlement {
    /// The units that were used and not reserved.
    pub fn missing(&self) -> u64 {
        self.used.saturating_sub(self.reserved)
    }

    /// The units of a window after the correction, and how many were given back; negative if more are counted.
    pub fn correct(&self, units: u64) -> (u64, i64) {
        let back = self.reserved.saturating_sub(self.used).min(units);
        let after = units.saturating_sub(back).saturating_add(self.missing()).min(MAX_UNITS);
        (after, back.cast_signed().saturating_sub(self.missing().cast_signed()))
    }
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
    /// Whether the call takes what is left, if that is less than its cost.
    pub upto: bool,
    /// Whether the units count even if the call is denied.
    pub force: bool,
    /// For how many milliseconds a denied call closes its limiter.
    pub penalty_ms: Option<u64>,
    /// For how many milliseconds the caller would wait for its units, which it gets at once.
    pub wait_ms: Option<u64>,
    /// Whether the reply says when the units count.
    pub stamp: bool,
    pub(super) settlement: Option<Settlement>,
    /// The caller's clock in microseconds, if the call has `NOW`.
    pub now: Option<i64>,
    pub each: bool,
    pub json: bool,
    pub max_log: u64,
}

impl Default for Request {
    /// A check of one unit, as yet without rules.
    fn default() -> Request {
        Request {
            rules: RuleList::new(),
            algorithm: Algorithm::Sliding,
            action: Action::Check,
            cost: 1,
            upto: false,
            force: false,
            penalty_ms: None,
            wait_ms: None,
            stamp: false,
            settlement: None,
            now: None,
            each: false,
            json: false,
            max_log: 0,
        }
    }
}

impl Request {
    /// `rule [rule ...] [options]`; `max_log` is the largest limit of a `SLIDING` rule.
    pub fn parse<W: Word>(mut options: Options<W>, action: Action, max_log: u64) -> Result<Request> {
        let mut request = Request { rules: parse_rules(&mut options)?, action, max_log, ..Request::default() };
        let (mut burst, mut offset, mut used, mut settled_at) = (None, None, None, None);
        let mut cost = None;
        while let Some(option) = options.next()? {
            match option {
                "SLIDING" => request.algorithm = Algorithm::Sliding,
                "FIXED" => request.algorithm = Algorithm::Fixed,
                "COUNTER" => request.algorithm = Algorithm::Counter,
                "GCRA" => request.algorithm = Algorithm::Gcra,
                "CALENDAR" => request.algorithm = Algorithm::Calendar,
                "BURST" => burst = Some(options.value()?.number_in("BURST", 1..=MAX_LIMIT)?),
                "OFFSET" => {
                    let value = options.value()?;
                    let parsed = Offset::parse(value.bytes());
                    offset = Some(parsed.ok_or_else(|| value.refuse("OFFSET", "+hh:mm or -hh:mm"))?);
                }
                "COST" => {
                    cost = Some(options.value()?.number_in("COST", 0..=MAX_LIMIT)?);
                    request.upto = options.is_keyword(b"UPTO") && options.words.next_if("UPTO");
                }
                "UPTO" => return Err(Error::upto_without_cost()),
                "ACTUAL" => used = Some(options.value()?.number_in("ACTUAL", 0..=MAX_LIMIT)?),
                "AT" => settled_at = Some(micros_of(options.value()?.number_in("AT", 0..=MAX_MILLIS)?)),
                "WAIT" => request.wait_ms = Some(duration_in(options.value()?, "WAIT", 0..=MAX_WAIT_MS)?),
                "STAMP" => request.stamp = true,
                "FORCE" => request.force = true,
                "PENALTY" => request.penalty_ms = Some(parse_duration("PENALTY", options.value()?)?),
                "NOW" => request.now = Some(parse_now(options.value()?)?),
                "EACH" => request.each = true,
                "JSON" => request.json = true,
                _ => return Err(options.unknown()),
            }
        }
        if let Some(word) = options.words.peek() {
            return Err(unknown_option(word, &options));
        }
        request.cost = cost.unwrap_or(1);
        if action == Action::Settle {
            let (Some(reserved), Some(used), Some(at)) = (cost, used, settled_at) else {
                return Err(Error::incomplete_settlement());
            };
            request.settlement = Some(Settlement { reserved, used, at });
            // A settlement is never denied.
            request.cost = 0;
        }
        set_bursts(&mut request.rules, request.algorithm, burst)?;
        set_windows(&mut request.rules, request.algorithm, offset)?;
        request.check()?;
        Ok(request)
    }

    /// Checks the options that exclude each other, and those that only some algorithms have.
    fn check(&self) -> Result<()> {
        let excluded = [
            (self.upto && self.force, "UPTO", "FORCE"),
            (self.upto && self.wait_ms.is_some(), "UPTO", "WAIT"),
            (self.wait_ms.is_some() && self.force, "WAIT", "FORCE"),
            (self.stamp && self.force, "STAMP", "FORCE"),
        ];
        if let Some((_, one, other)) = excluded.iter().find(|(both, ..)| *both) {
            return Err(Error::mutually_exclusive(one, other));
        }
        if self.wait_ms.is_some() && self.algorithm != Algorithm::Gcra {
            return Err(Error::wait_without_gcra());
        }
        if self.algorithm != Algorithm::Sliding {
            return Ok(());
        }
        if self.settlement.is_some() {
            return Err(Error::not_with_sliding("RATE.SETTLE"));
        }
        if self.stamp {
            return Err(Error::not_with_sliding("STAMP"));
        }
        if self.penalty_ms.is_some() {
            return Err(Error::not_with_sliding("PENALTY"));
        }
        match self.rules.iter().find(|rule| rule.limit > self.max_log) {
            Some(over) => Err(Error::limit_over_log(over.limit, self.max_log)),
            None => Ok(()),
        }
    }

    /// One rule in one word, then maybe an algorithm, as another command takes them that consumes from a limiter.
    /// [`super::Allowance`] then says how many units it may take.
    pub fn of_rate<W: Word>(words: &mut Words<W>, now: Option<i64>, max_log: u64) -> Result<Request> {
        let rule = words.required()?;
        let mut parts = rule.bytes().splitn(3, |byte| *byte == b'/');
        let limit = parts.next().unwrap_or_default();
        let rule = Rule::parse(limit, parts.next().filter(|window| !window.is_empty()), parts.next())?;
        let named = words.peek().and_then(|word| Algorithm::ALL.into_iter().find(|(name, _)| word.is(name)));
        words.take_first(usize::from(named.is_some()));
        let algorithm = named.map_or(Algorithm::Sliding, |(_, algorithm)| algorithm);
        let mut request = Request { rules: SmallVec::from_iter([rule]), algorithm, now, max_log, ..Request::default() };
        set_bursts(&mut request.rules, algorithm, None)?;
        set_windows(&mut request.rules, algorithm, None)?;
        request.check()?;
        Ok(request)
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
            cost: within("quantity", quantity, 0..=most)?,
            ..Request::default()
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

/// The rules in front of the options.
fn parse_rules<W: Word>(options: &mut Options<W>) -> Result<RuleList> {
    let mut rules = RuleList::new();
    while let Some(word) = options.words.peek() {
        let bytes = word.bytes();
        // After a rule, what does not even begin like a number is an option, if misspelt, rather than a bad limit.
        if !begins_like_number(bytes) && (!rules.is_empty() || options.is_keyword(bytes)) {
            break;
        }
        options.words.next();
        if rules.len() >= MAX_RULES {
            return Err(Error::too_many_rules(MAX_RULES));
        }
        let mut parts = bytes.splitn(3, |byte| *byte == b'/');
        let limit = parts.next().unwrap_or_default();
        rules.push(match parts.next() {
            Some(window) => Rule::parse(limit, Some(window).filter(|window| !window.is_empty()), parts.next())?,
            None => {
                // An option, or another rule in one word, means that the window was forgotten.
                let is_window =
                    |word: &[u8]| !word.contains(&b'/') && (begins_like_number(word) || !options.is_keyword(word));
                let window = options.words.peek().filter(|next| is_window(next.bytes()));
                options.words.take_first(usize::from(window.is_some()));
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

fn parse_window(text: &[u8]) -> Result<Window> {
    match Unit::parse(text) {
        // The offset is an option of the call, which comes later.
        Some(unit) => Ok(Window::Calendar(unit, Offset::default())),
        None => parse_duration("window", text).map(Window::Millis),
    }
}

pub fn parse_limit(word: impl Word) -> Result<u64> {
    word.number_in("limit", 1..=MAX_LIMIT)
}

/// A duration of 1 ms to 366 days.
pub fn parse_duration(what: &str, word: impl Word) -> Result<u64> {
    duration_in(word, what, 1..=MAX_WINDOW_MS)
}

#[cold]
fn unknown_option<W: Word>(word: W, options: &Options<W>) -> Error {
    // RATE.ALL forces, but does not wait.
    if word.is("WAIT") && options.is_keyword(b"FORCE") {
        return Error::wait_for_all();
    }
    let mut known: Vec<&str> = options.keywords().iter().map(|keyword| keyword.word).collect();
    let last = known.pop().unwrap_or_default();
    word.refuse("option", &format!("{} or {last}", known.join(", ")))
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
