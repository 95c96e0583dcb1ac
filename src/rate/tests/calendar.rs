//! `CALENDAR` against a calendar that counts days one by one.

use proptest::prelude::*;

use super::*;

const DAY_MS: i64 = 86_400_000;

#[test]
fn leap_years_year_ends_and_weeks_across_years() {
    // 2024-02-28T23:59:59Z, a Wednesday in a leap year.
    let t = 1_709_164_799_000;
    for (words, ms, reset) in [
        ("9 hour", t, 1_000),
        ("9 day", t, 1_000),
        ("9 day", t + 1_000, DAY_MS),
        ("9 week", t, 3 * DAY_MS + DAY_MS + 1_000),
        ("9 month", t, DAY_MS + 1_000),
        ("9 year", t, 307 * DAY_MS + 1_000),
        // 2024-12-30T00:00:00Z, a Monday: its week ends in 2025.
        ("9 week", 1_735_516_800_000, 7 * DAY_MS),
        ("9 year", 1_735_516_800_000, 2 * DAY_MS),
        ("9 month", 1_735_516_800_000, 2 * DAY_MS),
        // In Kathmandu it is a quarter to six.
        ("9 day OFFSET +05:45", 1_735_516_800_000, DAY_MS - (5 * 60 + 45) * 60_000),
        ("9 day OFFSET -08:00", 1_735_516_800_000, 8 * 3_600_000),
        // East of Greenwich the epoch is in the middle of a day, and of a year.
        ("9 day OFFSET +01:00", 0, 23 * 3_600_000),
        ("9 year OFFSET +01:00", 0, 365 * DAY_MS - 3_600_000),
    ] {
        let (rule, offset) = words.split_at(words.find(" OFFSET").unwrap_or(words.len()));
        let mut limiter = Limiter::default();
        let reply = limiter.run(&format!("{rule} CALENDAR {offset}"), Action::Check, ms * 1_000).unwrap();
        assert_eq!(reply, [0, 9, 8, 0, reset, 1], "{words} at {ms}");
        assert_eq!(limiter.log.expiry(), Some(ms + reset), "{words} at {ms}");
    }
}

/// The name of the hour, day, week, month or year that a local time is in, by counting.
fn naive_name(unit: &str, local_ms: i64) -> (i64, i64) {
    let days = local_ms.div_euclid(DAY_MS);
    let (mut year, mut month, mut day) = (1970, 0, days);
    let is_leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let length =
        |year: i64, month: usize| [31, 28 + i64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month];
    while day < 0 {
        year -= 1;
        day += 365 + i64::from(is_leap(year));
    }
    while day >= length(year, month) {
        day -= length(year, month);
        (year, month) = if month == 11 { (year + 1, 0) } else { (year, month + 1) };
    }
    match unit {
        "hour" => (0, local_ms.div_euclid(3_600_000)),
        "day" => (0, days),
        // 1970-01-01 was a Thursday.
        "week" => (0, (days + 3).div_euclid(7)),
        "month" => (year, month as i64),
        _ => (year, 0),
    }
}

proptest! {
    #[test]
    fn as_a_naive_calendar_says(
        unit in proptest::sample::select(vec!["hour", "day", "week", "month", "year"]),
        offset in -1_439_i64..1_440,
        start in 0_i64..4_000_000_000_000,
        steps in proptest::collection::vec(prop_oneof![0_i64..100_000_000, 0_i64..10_000, 0_i64..9_000_000_000], 1..20),
    ) {
        let sign = if offset < 0 { '-' } else { '+' };
        let words = format!("3 {unit} CALENDAR OFFSET {sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60);
        let mut limiter = Limiter::default();
        let mut counts = std::collections::HashMap::new();
        let mut now = start;
        for step in steps {
            now += step;
            let used = counts.entry(naive_name(unit, now + offset * 60_000)).or_insert(0);
            let [limited, _, remaining, retry, reset, _] = limiter.run(&words, Action::Check, now * 1_000).unwrap();
            prop_assert_eq!(limited, i64::from(*used == 3));
            *used += 1 - limited;
            prop_assert_eq!(remaining, 3 - *used);
            if limited == 1 {
                prop_assert_eq!(retry, reset);
            }
            let name = |ms: i64| naive_name(unit, ms + offset * 60_000);
            prop_assert_eq!(name(now + reset - 1), name(now));
            prop_assert_ne!(name(now + reset), name(now));
        }
    }
}
