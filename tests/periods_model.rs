//! 400 simulated days of writes by `AT`, on every layout: the board of each period equals one that was fed separately,
//! element by element, with times and expiries, by a calendar that counts days one by one.

use std::collections::{BTreeMap, BTreeSet};

use redis::Connection;

use crate::script::Dice;
use crate::support::boards::{elements, encode_as, replyv, scores, ENCODINGS, SCHEMAS};
use crate::support::*;
use crate::workload::check_boards;

const DAY_MS: i64 = 86_400_000;
const HOUR_MS: i64 = 3_600_000;
const DAYS: i64 = 400;
const WRITES: usize = 700;
/// A board that is fed separately has this before its name.
const APART: &str = "apart:";

/// A day by the calendar, and how many have passed since Monday.
#[derive(Clone, Copy)]
struct Day {
    year: i64,
    month: i64,
    day: i64,
    weekday: i64,
}

/// Every day from 1970-01-01 on.
fn calendar() -> Vec<Day> {
    let (mut days, mut weekday) = (Vec::new(), 3);
    for year in 1970..2200 {
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        for month in 1..=12 {
            let length = match month {
                4 | 6 | 9 | 11 => 30,
                2 => 28 + i64::from(is_leap),
                _ => 31,
            };
            for day in 1..=length {
                days.push(Day { year, month, day, weekday });
                weekday = (weekday + 1) % 7;
            }
        }
    }
    days
}

/// How time is cut, told by days that are counted.
struct Calendar {
    days: Vec<Day>,
    offset_ms: i64,
    from_ms: i64,
}

/// So many of each are kept besides the current one.
const PAST: [(&str, i64); 6] = [("hour", 300), ("day", 405), ("week", 60), ("month", 15), ("year", 2), ("every", 140)];
const EVERY_MS: i64 = 3 * DAY_MS;

impl Calendar {
    /// The key of the period that a time is in, and its end.
    fn key(&self, unit: &str, ms: i64) -> Option<(String, i64)> {
        let local = ms + self.offset_ms;
        let at = usize::try_from(local / DAY_MS).expect("after 1970");
        let date = |day: Day| format!("{:04}-{:02}-{:02}", day.year, day.month, day.day);
        let day = self.days[at];
        let midnight = |index: usize| index as i64 * DAY_MS - self.offset_ms;
        let next = |changed: &dyn Fn(Day) -> bool| {
            at + self.days[at..].iter().position(|day| changed(*day)).expect("a next one")
        };
        let (id, end) = match unit {
            "hour" => (
                format!("{}T{:02}", date(day), local % DAY_MS / HOUR_MS),
                local / HOUR_MS * HOUR_MS + HOUR_MS - self.offset_ms,
            ),
            "day" => (date(day), midnight(at + 1)),
            "week" => {
                let monday = at - day.weekday as usize;
                (date(self.days[monday]), midnight(monday + 7))
            }
            "month" => (format!("{:04}-{:02}", day.year, day.month), midnight(next(&|other| other.month != day.month))),
            "year" => (format!("{:04}", day.year), midnight(next(&|other| other.year != day.year))),
            _ => {
                let start = (0..).map(|i| self.from_ms + i * EVERY_MS).take_while(|start| *start <= ms).last()?;
                let seconds = start % DAY_MS / 1000;
                let date = date(self.days[(start / DAY_MS) as usize]);
                (format!("{date}T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60), start + EVERY_MS)
            }
        };
        Some((format!("{unit}:{id}"), end))
    }

    /// When the board of a period is gone: so many more ends later.
    fn expires(&self, unit: &str, end: i64) -> i64 {
        let past = PAST.iter().find(|(name, _)| *name == unit).expect("a unit").1;
        (0..past).fold(end, |end, _| self.key(unit, end).expect("a later one").1)
    }
}

fn server_ms(con: &mut Connection) -> i64 {
    let time: (i64, i64) = redis::cmd("TIME").query(con).expect("TIME");
    time.0 * 1000 + time.1 / 1000
}

/// The options of a write: what each of the boards judges by itself.
fn options(dice: &mut Dice, schema: &str) -> Vec<String> {
    let choices: &[&[&str]] = match schema {
        _ if schema.contains("KEEP") => &[&[], &[], &["SET"], &["BEST"], &["NX"], &["XX"]],
        _ => &[&[], &[], &["SET"], &["BEST"], &["NX"], &["XX"], &["KEEP", "3"]],
    };
    choices[dice.roll(choices.len())].iter().map(|word| (*word).to_owned()).collect()
}

#[track_caller]
fn run(con: &mut Connection, schema: &str, offset: &str, offset_ms: i64, seed: u64) {
    assert_eq!(reply(con, "FLUSHALL"), "+OK");
    let now = server_ms(con);
    // The hour may end meanwhile.
    let schema = &if schema.contains("TIES") { format!("{schema} SINCE {now}") } else { schema.to_owned() };
    let from_ms = (now - 350 * DAY_MS) / 1000 * 1000;
    let calendar = Calendar { days: calendar(), offset_ms, from_ms };
    let mut words: Vec<String> =
        ["RANK.CREATE", "all"].into_iter().chain(schema.split(' ')).map(str::to_owned).collect();
    for (unit, past) in PAST {
        words.extend(["PERIOD".to_owned(), unit.to_owned()]);
        if unit == "every" {
            words.extend(["4320m".to_owned(), "FROM".to_owned(), from_ms.to_string()]);
        }
        words.extend([format!("{unit}:"), "PAST".to_owned(), past.to_string()]);
    }
    words.extend(["OFFSET".to_owned(), offset.to_owned()]);
    // 922 in all.
    assert_eq!(replyv(con, &words), "+OK", "{words:?}");

    let mut dice = Dice::new(seed);
    let mut expected: BTreeMap<String, i64> = BTreeMap::new();
    let mut left_out = BTreeSet::new();
    let create = |con: &mut Connection, key: &str| {
        let words: Vec<&str> = ["RANK.CREATE", key].into_iter().chain(schema.split(' ')).collect();
        assert_eq!(replyv(con, &words), "+OK");
    };
    create(con, &format!("{APART}all"));
    for _ in 0..WRITES {
        // Now and then on a boundary, or an instant before it. Never beyond the present.
        let mut at = now - dice.roll((DAYS * DAY_MS) as usize) as i64;
        if dice.once_in(4) {
            let unit = PAST[dice.roll(PAST.len())].0;
            if let Some((_, end)) = calendar.key(unit, at).filter(|(_, end)| *end <= now) {
                at = end - dice.roll(2) as i64;
            }
        }
        let member = format!("m{}", dice.roll(12));
        let write: Vec<String> = if dice.once_in(4) {
            let deltas = scores(schema, dice.roll(3), dice.roll(3));
            let deltas = deltas.iter().map(|delta| String::from_utf8_lossy(delta).into_owned());
            ["RANK.INCR", "", "AT", &at.to_string()]
                .map(str::to_owned)
                .into_iter()
                .chain(deltas)
                .chain([member])
                .collect()
        } else if dice.once_in(15) {
            vec!["RANK.REM".to_owned(), String::new(), member]
        } else {
            let mut write = ["RANK.ADD", "", "AT", &at.to_string()].map(str::to_owned).to_vec();
            write.extend(options(&mut dice, schema));
            for _ in 0..1 + dice.roll(3) / 2 {
                let mut values = scores(schema, dice.roll(400), dice.roll(30));
                // Each board keeps its own.
                if values.len() > 1 && dice.once_in(3) {
                    let kept = dice.roll(values.len());
                    values[kept] = b"*".to_vec();
                }
                write.extend(values.iter().map(|score| String::from_utf8_lossy(score).into_owned()));
                write.push(format!("m{}", dice.roll(12)));
            }
            write
        };
        // The ranks of the board, or of one of its periods.
        let ranks = if write[0] != "RANK.REM" && dice.once_in(3) { Some(dice.roll(PAST.len() + 1)) } else { None };
        let ranks_of = ranks.and_then(|ranks| Some(PAST.get(ranks)?.0));
        let to = |key: &str| {
            let mut words: Vec<String> =
                write.iter().map(|word| if word.is_empty() { key.to_owned() } else { word.clone() }).collect();
            let of_period = ranks_of.filter(|_| key == "all").map(|unit| ["PERIOD".to_owned(), unit.to_owned()]);
            let ranks = ranks.map(|_| "WITHRANK".to_owned()).into_iter().chain(of_period.into_iter().flatten());
            words.splice(2..2, ranks);
            words
        };
        let answer = replyv(con, &to("all"));
        let apart = replyv(con, &to(&format!("{APART}all")));
        assert!(ranks_of.is_some() || answer == apart, "{write:?}: {answer}, {apart}");
        assert!(!is_error(&answer), "{write:?}: {answer}");
        if write[0] == "RANK.REM" {
            expected.keys().for_each(|key| drop(replyv(con, &to(&format!("{APART}{key}")))));
            continue;
        }
        for (unit, _) in PAST {
            let Some((key, end)) = calendar.key(unit, at) else { continue };
            let expires = calendar.expires(unit, end);
            if (now..now + 2 * HOUR_MS).contains(&expires) {
                // It ends while the test runs, or just has: either is right.
                left_out.insert(key);
                continue;
            }
            let apart = format!("{APART}{key}");
            let is_made = expires > now && (expected.contains_key(&key) || !write.contains(&"XX".to_owned()));
            if is_made && expected.insert(key, expires).is_none() {
                create(con, &apart);
            }
            if is_made {
                let apart_answer = replyv(con, &to(&apart));
                assert!(!is_error(&apart_answer), "{write:?} to {apart}: {apart_answer}");
                assert!(ranks_of != Some(unit) || answer == apart_answer, "{write:?}: {answer}, {apart_answer}");
            }
        }
    }

    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(con).expect("KEYS");
    let fed: BTreeSet<&String> =
        keys.iter().filter(|key| !key.starts_with(APART) && *key != "all" && !left_out.contains(*key)).collect();
    assert_eq!(fed, expected.keys().filter(|key| !left_out.contains(*key)).collect(), "{schema} {offset}");
    assert!(fed.len() > 300 && left_out.len() < 10, "{} {}", fed.len(), left_out.len());
    for (key, expires) in expected.iter().filter(|(key, _)| !left_out.contains(*key)) {
        let apart = format!("{APART}{key}");
        if schema.contains("TIES") {
            // A period counts its times from its own start.
            assert_eq!(
                reply(con, &format!("RANK.TOPN {key} 20 WITHTIME")),
                reply(con, &format!("RANK.TOPN {apart} 20 WITHTIME"))
            );
        } else {
            assert_eq!(elements(con, key), elements(con, &apart), "{schema} {offset} {key}");
        }
        assert_eq!(reply(con, &format!("PEXPIRETIME {key}")), expires.to_string(), "{schema} {offset} {key}");
        for read in ["RANK.TOPN KEY 20 JSON", "RANK.GET KEY m3", "RANK.COUNT KEY"] {
            assert_eq!(reply(con, &read.replace("KEY", key)), reply(con, &read.replace("KEY", &apart)), "{key}");
        }
        let (unit, id) = key.split_once(':').expect("a prefix");
        assert_eq!(
            reply(con, &format!("RANK.TOPN all 20 PERIOD {unit} {id}")),
            reply(con, &format!("RANK.TOPN {key} 20"))
        );
    }
    let all = |con: &mut Connection, key: &str| elements(con, key).split_off(1);
    assert_eq!(all(con, "all"), all(con, "apart:all"), "{schema}");
    check_boards(con, false);
}

on_every_server! {
    fn periods_equal_boards_that_are_fed_separately(server: Server) {
        let mut con = server.connect();
        let offsets = [("+00:00", 0), ("+09:00", 9 * HOUR_MS), ("-12:00", -12 * HOUR_MS), ("+14:00", 14 * HOUR_MS), ("+05:45", 345 * 60_000)];
        for (number, (schema, encoding)) in SCHEMAS.iter().flat_map(|schema| ENCODINGS.map(|encoding| (schema, encoding))).enumerate() {
            let (offset, offset_ms) = offsets[number % offsets.len()];
            encode_as(&mut con, encoding);
            // Every layout, with each rule of the board on some of them.
            let rules = ["", " KEEP 4", " UPDATE BEST", " KEEP 3 UPDATE BEST"][number / 2 % 4];
            let schema = format!("{}{rules}", if *schema == boards::BARE { "DESC" } else { schema });
            run(&mut con, &schema, offset, offset_ms, number as u64);
            expect(&mut con, "OBJECT ENCODING all", &format!("\"{encoding}\""));
        }
    }
}
