//! Periods: their text, and which are fed and kept.

use proptest::prelude::*;

use super::*;
use crate::board::{Period, PeriodUnit};
use crate::calendar::{Cycle, Offset, Unit};
use crate::words::Words;

const DAY_MS: i64 = 86_400_000;

fn cycle() -> impl Strategy<Value = Cycle> {
    let offset = prop_oneof![Just("+00:00"), Just("-12:00"), Just("+14:00"), Just("+05:45"), Just("-23:59")];
    let offset = offset.prop_map(|text| Offset::parse(text.as_bytes()).expect("an offset"));
    let every = (1_i64..1000, 0_i64..2_000_000_000)
        .prop_map(|(minutes, second)| Cycle::Every { length_ms: minutes * 60_000, from_ms: second * 1000 });
    prop_oneof![3 => (0_usize..5, offset).prop_map(|(unit, offset)| Cycle::Calendar(Unit::ALL[unit], offset)), 1 => every]
}

fn parse(text: &str) -> Result<Rules, String> {
    let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
    Creation::parse(b"b", Words::new(&words)).map(|creation| creation.rules).map_err(|error| error.to_string())
}

#[test]
fn texts() {
    let cases = [
        ("PERIOD DAY p", "PERIOD DAY p"),
        ("period day p past 1", "PERIOD DAY p"),
        ("PERIOD YEAR y: PERIOD HOUR h: PAST 0", "PERIOD HOUR h: PAST 0 PERIOD YEAR y:"),
        ("PERIOD EVERY 1440m FROM 0 e:", "PERIOD EVERY 1d FROM 0 e:"),
        ("PERIOD EVERY 90m FROM +1000 e:", "PERIOD EVERY 90m FROM 1000 e:"),
        ("PERIOD EVERY 36h FROM 0 e: PAST 1000", "PERIOD EVERY 36h FROM 0 e: PAST 1000"),
        ("OFFSET -00:30 PERIOD WEEK %", "PERIOD WEEK %25 OFFSET -00:30"),
        ("PERIOD MONTH PAST PAST 3 OFFSET +00:00", "PERIOD MONTH PAST PAST 3"),
        ("PERIOD DAY a: PERIOD WEEK a:b", "PERIOD DAY a: PERIOD WEEK a:b"),
    ];
    for (words, text) in cases {
        let rules = parse(words).unwrap_or_else(|error| panic!("{words}: {error}"));
        let full = format!("FIELD score DESC FLOAT {text} BOARD b");
        assert_eq!(rules.to_string(), full, "{words}");
        let again: Vec<&[u8]> = full.split(' ').map(str::as_bytes).collect();
        assert_eq!(Rules::parse(&again).as_ref().ok(), Some(&rules), "{full}");
    }
}

#[test]
fn alterations() {
    let unit = |word: &str| PeriodUnit::parse(word.as_bytes()).expect("a unit");
    let rules = parse("PERIOD DAY d: PAST 7 PERIOD WEEK w: OFFSET +09:00").expect("rules");
    let day = parse("PERIOD DAY new: PAST 2").expect("rules").periods.of(unit("day")).expect("a day").clone();
    let altered = rules.periods.altered(vec![(unit("day"), Some(day.clone()))], None, b"b").expect("another day");
    assert_eq!(altered.to_string(), " PERIOD DAY new: PAST 2 PERIOD WEEK w: OFFSET +09:00 BOARD b");
    let none = rules.periods.altered(vec![(unit("day"), None), (unit("week"), None)], None, b"b").expect("none");
    assert_eq!(none, Periods::default());
    let first =
        none.altered(vec![(unit("day"), Some(day.clone()))], Offset::parse(b"-01:00"), b"b").expect("the first");
    assert_eq!(first.to_string(), " PERIOD DAY new: PAST 2 OFFSET -01:00 BOARD b");
    assert!(first.altered(Vec::new(), Offset::parse(b"-02:00"), b"b").is_err());
    // Under another name, all at once.
    assert!(altered.altered(vec![(unit("day"), None)], None, b"copy").is_err());
    let taken = altered.altered(vec![(unit("day"), Some(day)), (unit("week"), None)], None, b"copy").expect("all");
    assert_eq!(taken.to_string(), " PERIOD DAY new: PAST 2 OFFSET +09:00 BOARD copy");
}

#[test]
fn periods_belong_to_a_board_under_its_name() {
    let rules = parse("PERIOD DAY d:").expect("rules");
    assert_eq!(rules.periods.check_owner(b"b"), Ok(()));
    assert!(rules.periods.check_owner(b"copy").is_err());
    let words: Vec<&[u8]> = b"FIELD score PERIOD DAY d:".split(|byte| *byte == b' ').collect();
    let without_record = Rules::parse(&words).expect("a schema of 0.3.0");
    assert!(without_record.periods.check_owner(b"b").is_err());
    assert_eq!(parse("KEEP 5").expect("rules").periods.check_owner(b"copy"), Ok(()));
}

proptest! {
    /// A write goes to a period if and only if it is one of those that are kept, and they are the last ones.
    #[test]
    fn what_is_fed_is_kept(cycle in cycle(), past in 0_u16..20, now in 0_i64..4_000_000_000_000, ago in -40 * DAY_MS..4_000 * DAY_MS) {
        let period = Period { cycle, prefix: b"p".to_vec(), past };
        let kept: Vec<_> = period.kept(now).collect();
        prop_assert!(kept.len() <= usize::from(past) + 1);
        prop_assert!(kept.windows(2).all(|pair| pair[1].end == pair[0].start));
        if let Some(newest) = kept.first() {
            prop_assert!(newest.start <= now && now < newest.end);
        }
        let at = now - ago;
        let fed = period.span_of_write(at, now);
        prop_assert_eq!(fed.map(|(span, _)| span), kept.iter().find(|span| span.start <= at && at < span.end).copied());
        if let Some((span, expires)) = fed {
            prop_assert!(expires > now && expires == period.expires(span));
            prop_assert!(past > 0 || expires == span.end);
        }
    }

    /// Whatever the prefixes and times, two periods of a board have two keys.
    #[test]
    fn keys_never_meet(a in "[a1-3:]{0,3}", b in "[a1-3:]{0,3}", one in cycle(), other in cycle(),
                       early in 0_i64..4_000_000_000_000, late in 250_000_000_000_000_i64..500_000_000_000_000) {
        let period = |cycle, prefix: &str| Period { cycle, prefix: prefix.into(), past: 1 };
        let list = vec![period(one, &a), period(other, &b)];
        if let Ok(periods) = Periods::new(list, None) {
            let key = |period: &Period, at| period.cycle.containing(at).map(|span| period.key(span).to_vec());
            let keys: Vec<_> = periods.iter().map(|period| [key(period, early), key(period, late)]).collect();
            for key in keys[0].iter().flatten() {
                prop_assert!(!keys[1].iter().flatten().any(|other| other == key));
            }
        }
    }
}
