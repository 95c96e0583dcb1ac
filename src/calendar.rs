//! Hours, days, weeks, months and years, moved by an offset, and spans of a fixed length. Pure: times in, times out.
//!
//! All times are Unix milliseconds. A span is [start, end): its last instant is the millisecond before its end.

#[cfg(test)]
mod tests;

use std::fmt;

pub const MINUTE_MS: i64 = 60_000;
pub const HOUR_MS: i64 = 60 * MINUTE_MS;
pub const DAY_MS: i64 = 24 * HOUR_MS;
const WEEK_DAYS: i64 = 7;
/// Days from a Monday to 1970-01-01, a Thursday.
const MONDAY_TO_EPOCH: i64 = 3;
/// The latest time that the module accepts: later times are not exact as doubles.
pub const MAX_MS: i64 = (1 << 53) - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    Hour,
    Day,
    /// From Monday on.
    Week,
    Month,
    Year,
}

/// How far local time is ahead of UTC, less than a day either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    minutes: i16,
}

/// How time is divided into spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// By the calendar, in local time with this offset from UTC.
    Calendar(Unit, Offset),
    /// Spans of one length, the first of which starts at `from_ms`, a whole second.
    Every {
        /// In milliseconds, whole minutes.
        length_ms: i64,
        from_ms: i64,
    },
}

/// [start, end) in Unix milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub start: i64,
    pub end: i64,
}

/// A day of the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Date {
    year: i64,
    month: i64,
    day: i64,
}

impl Unit {
    /// All of them, shortest first.
    pub const ALL: [Unit; 5] = [Unit::Hour, Unit::Day, Unit::Week, Unit::Month, Unit::Year];

    /// The unit of this name, in any case.
    pub fn parse(word: &[u8]) -> Option<Unit> {
        Unit::ALL.into_iter().find(|unit| word.eq_ignore_ascii_case(unit.name().as_bytes()))
    }

    pub fn name(self) -> &'static str {
        match self {
            Unit::Hour => "hour",
            Unit::Day => "day",
            Unit::Week => "week",
            Unit::Month => "month",
            Unit::Year => "year",
        }
    }
}

impl Offset {
    /// `+hh:mm` or `-hh:mm`.
    pub fn parse(text: &[u8]) -> Option<Offset> {
        let [sign @ (b'+' | b'-'), h @ .., b':', m1, m2] = text else { return None };
        let (hours, minutes) = (number(h, 2)?, number(&[*m1, *m2], 2)?);
        if hours > 23 || minutes > 59 {
            return None;
        }
        let minutes = i16::try_from(hours * 60 + minutes).ok()?;
        Some(Offset { minutes: if *sign == b'-' { -minutes } else { minutes } })
    }

    pub fn is_zero(self) -> bool {
        self.minutes == 0
    }

    fn ms(self) -> i64 {
        i64::from(self.minutes) * MINUTE_MS
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, minutes) = (if self.minutes < 0 { '-' } else { '+' }, self.minutes.unsigned_abs());
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

impl Cycle {
    /// The span that a time is in; `None` before the first of `Every`.
    pub fn containing(self, ms: i64) -> Option<Span> {
        match self {
            Cycle::Calendar(unit, offset) => Some(calendar_span(unit, offset, ms)),
            Cycle::Every { length_ms, from_ms } => {
                let since = ms.checked_sub(from_ms).filter(|since| *since >= 0)?;
                let start = from_ms.checked_add(since.checked_div(length_ms)?.checked_mul(length_ms)?)?;
                Some(Span { start, end: start.checked_add(length_ms)? })
            }
        }
    }

    /// The span so many later, or earlier; `None` where there is none.
    pub fn neighbour(self, span: Span, by: i64) -> Option<Span> {
        let step_ms = match self {
            Cycle::Calendar(Unit::Hour, _) => HOUR_MS,
            Cycle::Calendar(Unit::Day, _) => DAY_MS,
            Cycle::Calendar(Unit::Week, _) => WEEK_DAYS * DAY_MS,
            Cycle::Calendar(Unit::Month, offset) => return months_later(span, by, offset, Unit::Month),
            Cycle::Calendar(Unit::Year, offset) => return months_later(span, by.checked_mul(12)?, offset, Unit::Year),
            Cycle::Every { length_ms, .. } => length_ms,
        };
        let start =
            span.start.checked_add(by.checked_mul(step_ms)?).filter(|start| start.unsigned_abs() <= MAX_MS as u64)?;
        match self {
            Cycle::Every { from_ms, .. } if start < from_ms => None,
            _ => Some(Span { start, end: start.checked_add(step_ms)? }),
        }
    }

    /// The name of a span: `2026-11-16T09`, `2026-11-16` (of a week, its Monday), `2026-11`, `2026`, or the start of one
    /// of `Every` as `2026-11-16T00:00:00`.
    pub fn id(self, span: Span) -> String {
        let mut id = String::new();
        self.write_id(span, &mut |bytes| id.push_str(&String::from_utf8_lossy(bytes)));
        id
    }

    /// The same, piece by piece. By hand: every write to a board with periods makes several.
    pub fn write_id(self, span: Span, write: &mut impl FnMut(&[u8])) {
        let (local, unit) = match self {
            Cycle::Calendar(unit, offset) => (span.start.saturating_add(offset.ms()), Some(unit)),
            Cycle::Every { .. } => (span.start, None),
        };
        let Date { year, month, day } = Date::of_day(local.div_euclid(DAY_MS));
        let of_day = local.rem_euclid(DAY_MS);
        let (hour, minute, second) = (of_day / HOUR_MS, of_day / MINUTE_MS % 60, of_day / 1000 % 60);
        if (0..10_000).contains(&year) {
            [year / 100, year % 100].iter().for_each(|part| write(&two_digits(*part)));
        } else {
            write(format!("{year:04}").as_bytes());
        }
        let rest: &[(u8, i64)] = match unit {
            Some(Unit::Hour) => &[(b'-', month), (b'-', day), (b'T', hour)],
            Some(Unit::Day | Unit::Week) => &[(b'-', month), (b'-', day)],
            Some(Unit::Month) => &[(b'-', month)],
            Some(Unit::Year) => &[],
            None => &[(b'-', month), (b'-', day), (b'T', hour), (b':', minute), (b':', second)],
        };
        for (mark, part) in rest {
            let [tens, ones] = two_digits(*part);
            write(&[*mark, tens, ones]);
        }
    }

    /// The span of this name; `None` for what is none, such as the name of a week that is no Monday's.
    pub fn named(self, id: &[u8]) -> Option<Span> {
        let (date, time) = match id.iter().position(|byte| *byte == b'T') {
            Some(at) => (id.get(..at)?, Some(id.get(at + 1..)?)),
            None => (id, None),
        };
        let mut parts = date.split(|byte| *byte == b'-');
        let year = number(parts.next().filter(|year| year.len() >= 4)?, 6)?;
        let month = parts.next().map_or(Some(1), |month| number(month, 2))?;
        let day = parts.next().map_or(Some(1), |day| number(day, 2))?;
        let mut times = time.into_iter().flat_map(|time| time.split(|byte| *byte == b':'));
        let mut next = || times.next().map_or(Some(0), |part| number(part, 2));
        let of_day = next()? * HOUR_MS + next()? * MINUTE_MS + next()? * 1000;
        let local = Date { year, month, day }.days()?.checked_mul(DAY_MS)?.checked_add(of_day)?;
        let offset = match self {
            Cycle::Calendar(_, offset) => offset.ms(),
            Cycle::Every { .. } => 0,
        };
        // Only the name that the span itself has is a name of it.
        self.containing(local.checked_sub(offset)?).filter(|span| self.id(*span).as_bytes() == id)
    }
}

fn calendar_span(unit: Unit, offset: Offset, ms: i64) -> Span {
    let local = ms.clamp(-MAX_MS, MAX_MS) + offset.ms();
    let day = local.div_euclid(DAY_MS);
    let (start, end) = match unit {
        Unit::Hour => {
            let start = local.div_euclid(HOUR_MS) * HOUR_MS;
            (start, start + HOUR_MS)
        }
        Unit::Day => (day * DAY_MS, (day + 1) * DAY_MS),
        Unit::Week => {
            let monday = day - (day + MONDAY_TO_EPOCH).rem_euclid(WEEK_DAYS);
            (monday * DAY_MS, (monday + WEEK_DAYS) * DAY_MS)
        }
        Unit::Month => {
            let date = Date::of_day(day);
            (date.month_start(0) * DAY_MS, date.month_start(1) * DAY_MS)
        }
        Unit::Year => {
            let january = Date { month: 1, ..Date::of_day(day) };
            (january.month_start(0) * DAY_MS, january.month_start(12) * DAY_MS)
        }
    };
    Span { start: start - offset.ms(), end: end - offset.ms() }
}

fn months_later(span: Span, by: i64, offset: Offset, unit: Unit) -> Option<Span> {
    // More months than there are days in the calendar lead nowhere.
    let by = Some(by).filter(|by| by.unsigned_abs() <= MAX_MS as u64 / DAY_MS as u64)?;
    let date = Date::of_day((span.start + offset.ms()).div_euclid(DAY_MS));
    let start = date.month_start(by).checked_mul(DAY_MS)? - offset.ms();
    (start.unsigned_abs() <= MAX_MS as u64).then(|| calendar_span(unit, offset, start))
}

impl Date {
    /// The date of a day, counted from 1970-01-01. Years begin in March here, so that the leap day ends them.
    fn of_day(day: i64) -> Date {
        /// Days of 400 years, in which the calendar repeats.
        const ERA: i64 = 146_097;
        /// Days from 0000-03-01 to 1970-01-01.
        const TO_EPOCH: i64 = 719_468;
        let day = day + TO_EPOCH;
        let (era, of_era) = (day.div_euclid(ERA), day.rem_euclid(ERA));
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Date { year, month, day: of_year - (153 * from_march + 2) / 5 + 1 }
    }

    /// Days from 1970-01-01; `None` for a date that there is not.
    fn days(self) -> Option<i64> {
        if !(1..=12).contains(&self.month) || !(1..=31).contains(&self.day) {
            return None;
        }
        let days = self.month_start(0) + self.day - 1;
        (Date::of_day(days) == self).then_some(days)
    }

    /// The day, from 1970-01-01, on which the month so many later begins.
    fn month_start(self, later: i64) -> i64 {
        let months = self.year * 12 + self.month - 1 + later;
        // Years from March on.
        let (year, from_march) = ((months - 2).div_euclid(12), (months - 2).rem_euclid(12));
        let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        year * 365 + leap_days + (153 * from_march + 2) / 5 - 719_468
    }
}

/// Of a number below 100.
fn two_digits(number: i64) -> [u8; 2] {
    [number / 10 % 10, number % 10].map(|digit| b'0' + digit as u8)
}

/// A decimal number of 1 to `most` digits.
fn number(digits: &[u8], most: usize) -> Option<i64> {
    if digits.is_empty() || digits.len() > most || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}
