//! The calendar beside a naive one, which counts days from 1970 on, one by one.

use super::*;

const MONTHS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Every day from 1970-01-01 to the end of 2101: year, month, day, and days since Monday.
fn naive_days() -> Vec<(i64, i64, i64, i64)> {
    let (mut days, mut weekday) = (Vec::new(), 3);
    for year in 1970..=2101 {
        for month in 1..=12 {
            let length = MONTHS[month as usize - 1] + i64::from(month == 2 && is_leap(year));
            for day in 1..=length {
                days.push((year, month, day, weekday));
                weekday = (weekday + 1) % 7;
            }
        }
    }
    days
}

fn offset(text: &str) -> Offset {
    Offset::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn every_day_has_its_date_week_month_and_year() {
    let days = naive_days();
    for text in ["+00:00", "-12:00", "+14:00", "+05:45", "-23:59", "+23:59"] {
        let offset = offset(text);
        let midnight = |day: usize| day as i64 * DAY_MS - offset.ms();
        let starts_with = |same: &dyn Fn(usize) -> bool, mut day: usize| {
            while day > 0 && same(day - 1) {
                day -= 1;
            }
            day
        };
        for at in (400..days.len() - 400).step_by(13) {
            let (year, month, day, weekday) = days[at];
            let week = at - weekday as usize;
            let month_start = starts_with(&|other| (days[other].0, days[other].1) == (year, month), at);
            let next_month = at + days[at..].iter().position(|other| other.1 != month).expect("a next month");
            let year_start = starts_with(&|other| days[other].0 == year, at);
            let next_year = at + days[at..].iter().position(|other| other.0 != year).expect("a next year");
            let monday = days[week];
            let cases = [
                (Unit::Day, at, at + 1, format!("{year}-{month:02}-{day:02}")),
                (Unit::Week, week, week + 7, format!("{}-{:02}-{:02}", monday.0, monday.1, monday.2)),
                (Unit::Month, month_start, next_month, format!("{year}-{month:02}")),
                (Unit::Year, year_start, next_year, format!("{year}")),
            ];
            for (unit, first, next, id) in cases {
                let cycle = Cycle::Calendar(unit, offset);
                let expected = Span { start: midnight(first), end: midnight(next) };
                let last_instant = midnight(at + 1) - 1;
                for ms in [midnight(at), midnight(at) + 12_345_678, last_instant] {
                    assert_eq!(cycle.containing(ms), Some(expected), "{unit:?} {text} {id}");
                }
                assert_eq!(cycle.id(expected), id);
                assert_eq!(cycle.named(id.as_bytes()), Some(expected), "{unit:?} {text} {id}");
                let before = cycle.containing(expected.start - 1).expect("a span before");
                let after = cycle.containing(expected.end).expect("a span after");
                assert_eq!((before.end, after.start), (expected.start, expected.end));
                assert_eq!(cycle.neighbour(expected, -1), Some(before));
                assert_eq!(cycle.neighbour(expected, 1), Some(after));
                assert_eq!(cycle.neighbour(expected, 0), Some(expected));
            }
            let hours = Cycle::Calendar(Unit::Hour, offset);
            for hour in [0, 9, 23] {
                let start = midnight(at) + hour * HOUR_MS;
                let span = Span { start, end: start + HOUR_MS };
                assert_eq!(hours.containing(start), Some(span));
                assert_eq!(hours.containing(start + HOUR_MS - 1), Some(span));
                let id = format!("{year}-{month:02}-{day:02}T{hour:02}");
                assert_eq!((hours.id(span), hours.named(id.as_bytes())), (id.clone(), Some(span)));
            }
        }
    }
}

#[test]
fn many_neighbours_away_is_as_far_as_one_by_one() {
    for unit in Unit::ALL {
        let cycle = Cycle::Calendar(unit, offset("+09:00"));
        let first = cycle.containing(1_700_000_000_000).expect("a span");
        let (mut later, mut earlier) = (first, first);
        for by in 1..=100 {
            later = cycle.containing(later.end).expect("later");
            earlier = cycle.containing(earlier.start - 1).expect("earlier");
            assert_eq!(cycle.neighbour(first, by), Some(later));
            assert_eq!(cycle.neighbour(first, -by), Some(earlier));
        }
        assert_eq!(cycle.neighbour(first, i64::MAX), None);
        assert_eq!(cycle.neighbour(first, i64::MIN), None);
    }
}

#[test]
fn spans_of_one_length_begin_with_the_first() {
    let from_ms = 1_767_225_600_000;
    let cycle = Cycle::Every { length_ms: 14 * DAY_MS, from_ms };
    let first = Span { start: from_ms, end: from_ms + 14 * DAY_MS };
    assert_eq!(cycle.containing(from_ms - 1), None);
    assert_eq!(cycle.containing(from_ms), Some(first));
    assert_eq!(cycle.containing(first.end - 1), Some(first));
    assert_eq!(cycle.containing(first.end), cycle.neighbour(first, 1));
    assert_eq!(cycle.neighbour(first, -1), None);
    assert_eq!(cycle.id(first), "2026-01-01T00:00:00");
    assert_eq!(cycle.named(b"2026-01-01T00:00:00"), Some(first));
    assert_eq!(cycle.named(b"2026-01-02T00:00:00"), None);
    assert_eq!(cycle.neighbour(first, i64::MAX), None);
}

#[test]
fn what_is_no_name_is_none() {
    let cycle = |unit| Cycle::Calendar(unit, Offset::default());
    for (unit, id) in [
        (Unit::Day, "2026-02-29"),
        (Unit::Day, "2026-13-01"),
        (Unit::Day, "2026-00-01"),
        (Unit::Day, "2026-1-1"),
        (Unit::Day, "2026-11"),
        (Unit::Day, "2026-11-16T00"),
        (Unit::Day, "26-11-16"),
        (Unit::Day, "+026-11-16"),
        (Unit::Day, ""),
        (Unit::Day, "-"),
        (Unit::Day, "2026-11-16-01"),
        (Unit::Week, "2026-11-17"),
        (Unit::Hour, "2026-11-16T24"),
        (Unit::Hour, "2026-11-16T09:00"),
        (Unit::Month, "2026-11-16"),
        (Unit::Year, "2026-11"),
        (Unit::Year, "999999999"),
    ] {
        assert_eq!(cycle(unit).named(id.as_bytes()), None, "{unit:?} {id}");
    }
    assert!(cycle(Unit::Day).named(b"2024-02-29").is_some());
    assert!(cycle(Unit::Week).named(b"2026-11-16").is_some());
}

#[test]
fn offsets_are_read_and_written_alike() {
    for text in ["+00:00", "+09:00", "-12:00", "+05:45", "-23:59"] {
        assert_eq!(offset(text).to_string(), text);
    }
    for text in ["", "9", "09:00", "+9", "+24:00", "+00:60", "+0900", "+09:0", "+-9:00", "+009:00", "UTC"] {
        assert_eq!(Offset::parse(text.as_bytes()), None, "{text}");
    }
    assert!(offset("-00:00").is_zero());
}

#[test]
fn the_ends_of_time_are_in_a_span_too() {
    for unit in Unit::ALL {
        for text in ["-23:59", "+00:00", "+23:59"] {
            for ms in [0, MAX_MS, i64::MAX, i64::MIN] {
                let cycle = Cycle::Calendar(unit, offset(text));
                let span = cycle.containing(ms).expect("a span");
                let inside = ms.clamp(-MAX_MS, MAX_MS);
                assert!(span.start <= inside && inside < span.end, "{unit:?} {text} {ms}");
                cycle.id(span);
            }
        }
    }
}
