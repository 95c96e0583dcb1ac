//! The periods of a board: which keys a write goes to, and how long each of them is kept. This module is pure: it
//! takes times, and returns key names and times.

use std::fmt;

use smallvec::SmallVec;

use super::schema_text::{decode, is_key_word, Encoded};
use crate::calendar::{Cycle, Offset, Span, Unit, DAY_MS, MINUTE_MS};
use crate::duration::{parse_duration, MILLIS_OF_DAY};
use crate::error::{Error, Result};
use crate::words::{check_name, Word, Words, MAX_KEY_NAME};

/// The most past periods that a board can keep, over all of its units.
const MAX_PAST: i64 = 1000;
/// How many past periods are kept unless a client says otherwise.
const DEFAULT_PAST: u16 = 1;
const MAX_EVERY_MS: u64 = 366 * MILLIS_OF_DAY;
const SECOND_MS: i64 = 1000;
/// The units for the length of an `EVERY` period in the schema text, longest first.
const LENGTHS: [(i64, char); 3] = [(24 * 60 * MINUTE_MS, 'd'), (60 * MINUTE_MS, 'h'), (MINUTE_MS, 'm')];

/// The unit of a period. A board has at most one period of each unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeriodUnit {
    Calendar(Unit),
    Every,
}

/// One of a board's periods, such as its days. Each span of time has a board of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    pub cycle: Cycle,
    /// The beginning of the key of each board.
    pub prefix: Vec<u8>,
    /// How many past boards are kept in addition to the current one.
    pub past: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Periods {
    /// Sorted by unit, shortest first.
    list: Vec<Period>,
    offset: Offset,
    /// The key of the board that feeds them. Under another name, a copy say, the board has the same marker, and must not
    /// feed them too.
    owner: Option<Vec<u8>>,
}

impl PeriodUnit {
    const TAKES: &'static str = "HOUR, DAY, WEEK, MONTH, YEAR or EVERY";

    pub fn parse(word: &[u8]) -> Option<PeriodUnit> {
        if word.eq_ignore_ascii_case(b"EVERY") {
            return Some(PeriodUnit::Every);
        }
        Unit::parse(word).map(PeriodUnit::Calendar)
    }

    /// Reads the value of an option.
    pub fn read(words: &mut Words<impl Word>, option: &str) -> Result<PeriodUnit> {
        let word = words.value_of(option)?;
        PeriodUnit::parse(word.bytes()).ok_or_else(|| word.refuse(option, PeriodUnit::TAKES))
    }

    pub fn name(self) -> &'static str {
        match self {
            PeriodUnit::Calendar(unit) => unit.name(),
            PeriodUnit::Every => "every",
        }
    }
}

impl Period {
    pub fn unit(&self) -> PeriodUnit {
        match self.cycle {
            Cycle::Calendar(unit, _) => PeriodUnit::Calendar(unit),
            Cycle::Every { .. } => PeriodUnit::Every,
        }
    }

    pub fn key(&self, span: Span) -> SmallVec<[u8; 64]> {
        let mut key = SmallVec::from_slice(&self.prefix);
        self.cycle.write_id(span, &mut |bytes| key.extend_from_slice(bytes));
        key
    }

    pub fn expires(&self, span: Span) -> i64 {
        self.cycle.neighbour(span, i64::from(self.past)).map_or(span.end, |last| last.end)
    }

    /// The span that a write at this time belongs to, and when its board expires. `None` if the span has not begun or
    /// is no longer kept.
    pub fn span_of_write(&self, at: i64, now: i64) -> Option<(Span, i64)> {
        let span = self.cycle.containing(at)?;
        let expires = self.expires(span);
        (span.start <= now && now < expires).then_some((span, expires))
    }

    /// All spans that are kept, newest first.
    pub fn kept(&self, now: i64) -> impl Iterator<Item = Span> + '_ {
        let current = self.cycle.containing(now);
        let before = move |by| current.and_then(|span| self.cycle.neighbour(span, -i64::from(by)));
        (0..=self.past).map_while(before)
    }
}

impl Periods {
    pub fn new(mut list: Vec<Period>, offset: Option<Offset>) -> Result<Periods> {
        if list.is_empty() && offset.is_some() {
            return Err(Error::offset_without_period());
        }
        list.sort_by_key(Period::unit);
        for (i, period) in list.iter().enumerate() {
            let clashes = |other: &Period| period.prefix == other.prefix || may_meet(&period.prefix, &other.prefix);
            if list.iter().take(i).any(clashes) {
                return Err(Error::period_prefixes(&period.prefix));
            }
        }
        let past: i64 = list.iter().map(|period| i64::from(period.past)).sum();
        if past > MAX_PAST {
            return Err(Error::past_together(past));
        }
        let offset = offset.unwrap_or_default();
        for period in &mut list {
            if let Cycle::Calendar(_, moved) = &mut period.cycle {
                *moved = offset;
            }
        }
        Ok(Periods { list, offset, owner: None })
    }

    /// Says which board feeds the periods.
    pub fn set_owner(&mut self, key: Option<&[u8]>) {
        self.owner = key.filter(|_| !self.is_empty()).map(<[u8]>::to_vec);
    }

    /// An error if the board that feeds the periods has another name than this key.
    pub fn check_owner(&self, key: &[u8]) -> Result<()> {
        if self.is_empty() || self.owner.as_deref() == Some(key) {
            return Ok(());
        }
        let units: Vec<&str> = self.list.iter().map(|period| period.unit().name()).collect();
        Err(Error::periods_of_another(self.owner.as_deref(), &units.join(", ")))
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Period> {
        self.list.iter()
    }

    pub fn offset(&self) -> Offset {
        self.offset
    }

    pub fn of(&self, unit: PeriodUnit) -> Result<&Period> {
        self.list.iter().find(|period| period.unit() == unit).ok_or_else(|| Error::no_such_period(unit.name()))
    }

    /// Replaces the period of each given unit, or removes it if the new one is `None`. The offset can only be set
    /// together with the first periods of a board. Periods of a board under another name are replaced all at once, and then
    /// are this board's.
    pub fn altered(
        &self,
        changes: Vec<(PeriodUnit, Option<Period>)>,
        offset: Option<Offset>,
        key: &[u8],
    ) -> Result<Periods> {
        if offset.is_some() && !self.is_empty() {
            return Err(Error::offset_is_set());
        }
        if changes.is_empty() && offset.is_none() {
            return Ok(self.clone());
        }
        let is_named = |period: &Period| changes.iter().any(|(unit, _)| *unit == period.unit());
        if !self.list.iter().all(is_named) {
            self.check_owner(key)?;
        }
        let mut list: Vec<Period> = self.list.iter().filter(|period| !is_named(period)).cloned().collect();
        list.extend(changes.iter().filter_map(|(_, period)| period.clone()));
        let inherited = (!list.is_empty() && !self.is_empty()).then_some(self.offset);
        let mut periods = Periods::new(list, offset.or(inherited))?;
        if !periods.is_empty() {
            // The marker records it.
            check_name("the key of a board with PERIOD", key, MAX_KEY_NAME)?;
        }
        periods.set_owner(Some(key));
        Ok(periods)
    }
}

/// Writes the period as `RANK.CREATE` takes it. The offset is missing, because it belongs to all periods together.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PERIOD {}", self.unit().name().to_ascii_uppercase())?;
        if let Cycle::Every { length_ms, from_ms } = self.cycle {
            let whole = LENGTHS.iter().find(|(unit_ms, _)| length_ms % unit_ms == 0);
            let (unit_ms, letter) = whole.unwrap_or(&(MINUTE_MS, 'm'));
            write!(f, " {}{letter} FROM {from_ms}", length_ms / unit_ms)?;
        }
        write!(f, " {}", Encoded(&self.prefix))?;
        if self.past != DEFAULT_PAST {
            write!(f, " PAST {}", self.past)?;
        }
        Ok(())
    }
}

impl fmt::Display for Periods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.iter().try_for_each(|period| write!(f, " {period}"))?;
        if !self.offset.is_zero() {
            write!(f, " OFFSET {}", self.offset)?;
        }
        match &self.owner {
            Some(owner) => write!(f, " BOARD {}", Encoded(owner)),
            None => Ok(()),
        }
    }
}

/// Reads the words after `PERIOD`. `board` is the key of the client's board; there is none for the words of a marker.
/// The offset is set later, because it belongs to all periods together.
pub(super) fn read_period(words: &mut Words<impl Word>, board: Option<&[u8]>) -> Result<Period> {
    let cycle = match PeriodUnit::read(words, "PERIOD")? {
        PeriodUnit::Calendar(unit) => Cycle::Calendar(unit, Offset::default()),
        PeriodUnit::Every => read_every(words)?,
    };
    let word = words.value_of("PERIOD")?;
    let prefix = match board {
        // In the command's key specification, these words mean that the next argument is a key.
        Some(_) if is_key_word(word.bytes()) => None,
        Some(_) => Some(word.bytes().to_vec()),
        None => decode(word.bytes()),
    };
    let prefix = prefix.ok_or_else(|| word.refuse("PERIOD", "a prefix other than LIKE and DATA"))?;
    check_name("PERIOD", &prefix, MAX_KEY_NAME)?;
    let past = if words.next_if("PAST") {
        words.value_of("PAST")?.integer_in("PAST", "0 to 1000", 0..=MAX_PAST)? as u16
    } else {
        DEFAULT_PAST
    };
    Ok(Period { cycle, prefix, past })
}

fn read_every(words: &mut Words<impl Word>) -> Result<Cycle> {
    let word = words.value_of("EVERY")?;
    let length = parse_duration(word.bytes(), 1..=MAX_EVERY_MS).and_then(|ms| i64::try_from(ms).ok());
    let length = length.filter(|ms| ms % MINUTE_MS == 0);
    let length_ms = length.ok_or_else(|| word.refuse("EVERY", "1m to 366d in whole minutes"))?;
    if !words.next_if("FROM") {
        return Err(Error::without_value("EVERY ... FROM"));
    }
    let word = words.value_of("FROM")?;
    let from = word.time("FROM").ok().filter(|ms| ms % SECOND_MS == 0);
    let from_ms = from.ok_or_else(|| word.refuse("FROM", "a Unix time in milliseconds, of a whole second"))?;
    Ok(Cycle::Every { length_ms, from_ms })
}

pub(super) fn read_offset(words: &mut Words<impl Word>) -> Result<Offset> {
    let word = words.value_of("OFFSET")?;
    Offset::parse(word.bytes()).ok_or_else(|| word.refuse("OFFSET", "+hh:mm or -hh:mm, less than a day"))
}

/// Whether a board with this key and this `SINCE` is, by all signs, that of a period: its key ends with the id of a period
/// that starts at `SINCE`, whatever the offset is.
pub fn is_period(key: &[u8], since: i64) -> bool {
    let starts_then = |cycle: Cycle, length: usize, tolerance: i64| {
        let id = key.len().checked_sub(length).and_then(|at| key.get(at..));
        id.and_then(|id| cycle.named(id)).is_some_and(|span| (span.start - since).abs() <= tolerance)
    };
    let calendar = |unit, length| starts_then(Cycle::Calendar(unit, Offset::default()), length, DAY_MS);
    calendar(Unit::Hour, 13)
        || calendar(Unit::Day, 10)
        || calendar(Unit::Month, 7)
        || calendar(Unit::Year, 4)
        || starts_then(Cycle::Every { length_ms: SECOND_MS, from_ms: 0 }, 19, 0)
}

/// Whether two prefixes of different lengths could lead to the same key. An id begins with a year of four digits, and
/// has no other run of four digits. So that is only possible if the longer prefix is the shorter one followed by
/// digits, which could be mistaken for digits of a year.
fn may_meet(a: &[u8], b: &[u8]) -> bool {
    let rest = a.strip_prefix(b).or_else(|| b.strip_prefix(a));
    rest.is_some_and(|rest| rest.iter().all(u8::is_ascii_digit))
}
