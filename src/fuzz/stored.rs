//! Boards and limiters that somebody has tampered with.

use super::check_error;
use super::codec::element_of;
use super::input::Input;
use crate::board::tests::{entry_scores, marker_bytes, Creation, Schema, MARKER_START};
use crate::board::{Alteration, Board, Detail, FieldBound, Pair, RankKind, Update, Value, WriteMode, WriteRequest};
use crate::error::Result;
use crate::rate::memory::Limiter;
use crate::rate::{Action, Clock, Request};
use crate::words::Words;
use crate::zset::{Condition, MemorySet, SortedSet};

const KINDS: [RankKind; 3] = [RankKind::Competition, RankKind::Dense, RankKind::Ordinal];

/// Whatever is stored under the key of a board or a limiter: commands answer or return an error, and a repair works.
pub fn stored(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.below(3) {
        0 => limiter(&mut input),
        _ => board(&mut input),
    }
}

fn board(input: &mut Input) {
    let rules = input.rules();
    let schema = Schema::new(rules.clone());
    let mut model = MemorySet::default();
    let since = 1_577_836_800_000;
    match input.below(8) {
        0 => {}
        1 => model.insert(f64::NEG_INFINITY, &[MARKER_START, input.bytes()].concat()),
        _ => model.insert(f64::NEG_INFINITY, &marker_bytes(&rules, since)),
    }
    let mut names: Vec<Vec<u8>> = Vec::new();
    for _ in 0..input.below(12) {
        let (values, name) = (input.tuple(&schema), input.bytes());
        let key = schema.layout.encode(&values, input.word() as i64, since);
        let score = if input.bool() { key.score } else { input.score(key.score) };
        let element = if input.bool() { element_of(&schema, &key, name) } else { name.to_vec() };
        model.insert(score, &element);
        if input.bool() {
            for (number, score) in entry_scores(&key.tail) {
                model.insert(score, &[&[1, number], name].concat());
            }
        }
        names.push(name.to_vec());
    }
    for _ in 0..input.below(4) {
        model.insert(f64::NEG_INFINITY, input.bytes());
    }
    let mut steps = 0;
    while steps == 0 || (!input.is_empty() && steps < 16) {
        steps += 1;
        model = step(model, &schema, &names, input);
    }
    repair(model);
}

/// Opens the board, runs one operation, and returns the resulting data.
fn step(model: MemorySet, schema: &Schema, names: &[Vec<u8>], input: &mut Input) -> MemorySet {
    let before = model.clone();
    let mut board = match Board::open(model) {
        Ok(board) => board,
        Err(error) => {
            check_error(&error);
            return before;
        }
    };
    let name = match input.below(3) {
        0 => input.bytes().to_vec(),
        _ => names.get(input.below(12)).cloned().unwrap_or_default(),
    };
    let done = match input.below(10) {
        0 | 1 => read(&mut board, &name, input),
        2 | 3 => write(&mut board, &name, input),
        4 => board.remove(&[name]).map(drop),
        5 => board.trim(u64::from(input.byte() % 8), true).map(drop),
        6 => board.clear(0).map(drop),
        7 => board.verify(0, 1000, input.bool(), || false).map(drop),
        8 => {
            let (since, adopt) = (input.bool().then_some(1_577_836_800_000), input.bool());
            board.create(Creation { rules: schema.rules.clone(), since, adopt }, b"b", 0)
        }
        _ => {
            let words: &[&[u8]] =
                if input.bool() { &[b"KEEP", b"3", b"UPDATE", b"BEST"] } else { &[b"NOKEEP", b"UPDATE", b"BEST"] };
            let alteration = Alteration::parse(b"b", Words::new(words)).expect("words of RANK.ALTER");
            alteration.apply(&board.schema().rules).and_then(|rules| board.alter(rules))
        }
    };
    if let Err(error) = done {
        check_error(&error);
    }
    board.store
}

fn read(board: &mut Board<MemorySet>, name: &Vec<u8>, input: &mut Input) -> Result<()> {
    let kind = input.pick(&KINDS);
    let (first, count) = (u64::from(input.byte() % 16), u64::from(input.byte()));
    if let Ok(Some(found)) = board.find(name) {
        board.position(&found.element)?;
        let group = board.group_positions(&found.decoded.values, &found).ok();
        for kind in KINDS {
            if let Err(error) = board.rank(&found, kind) {
                check_error(&error);
            }
        }
        if let Some(group) = group {
            board.group_names(group, first, count, 1)?;
        }
    }
    let bound = |input: &mut Input| {
        let float = input.bool();
        let value = if float { Value::Float(input.score(0.0)) } else { Value::Integer(input.word() as i64) };
        FieldBound::new(value, input.bool())
    };
    let (min, max) = (bound(input), bound(input));
    let (start, end) = board.first_field_positions(min, max)?;
    assert!(start <= end && end <= board.members()?, "{start} to {end}");
    board.rows(first, count, kind)?;
    let start = board.skip_groups(0, first)?;
    let end = board.skip_groups(start, count)?;
    board.groups(start, end, first, kind, &mut |group| assert!(group.names().len() > 0))
}

fn write(board: &mut Board<MemorySet>, name: &[u8], input: &mut Input) -> Result<()> {
    let schema = board.schema().clone();
    let values = input.tuple(&schema);
    let write = WriteRequest {
        mode: if input.byte() == 1 { WriteMode::Add } else { WriteMode::Set },
        condition: input.pick(&[Condition::Any, Condition::New, Condition::Existing]),
        update: input.pick(&[Update::Set, Update::Best]),
        keep: input.bool().then(|| 1 + u64::from(input.byte() % 8)),
        now: input.word() as i64,
        detail: input.pick(&[Detail::Nothing, Detail::Scores, Detail::Ranks]),
    };
    let before = board.store.clone();
    let kept = if schema.fields().len() > 1 { u32::from(input.byte() & 1) } else { 0 };
    let pair = Pair { kept, ..Pair::new(values, name.to_owned()) };
    let written = if write.mode == WriteMode::Set && input.bool() {
        board.write(&write, &[pair.clone(), pair])
    } else {
        board.write(&write, &[pair])
    };
    if written.is_err() {
        assert_eq!(board.store.elements(), before.elements(), "an error that wrote");
    }
    written.map(drop)
}

/// After a repair there is nothing left to be repaired, and every member has its entry.
fn repair(model: MemorySet) {
    let Ok(mut board) = Board::open_damaged(model) else { return };
    for _ in 0..3 {
        if let Err(error) = board.verify(0, u64::MAX, true, || false) {
            return check_error(&error);
        }
    }
    let Ok(mut board) = Board::open(board.store) else { panic!("a repair that left damage") };
    let report = board.verify(0, u64::MAX, false, || false).expect("what could be repaired can be verified");
    let left = (report.missing, report.orphaned, report.duplicated);
    assert_eq!(left, (0, 0, 0), "left after a repair: {:?}", report.examples);
    if report.undecodable == 0 {
        board.members().expect("as many entries as members");
    }
}

fn limiter(input: &mut Input) {
    let windows = ["1s", "1m", "366d", "1ms"];
    let requests = [
        "5 1s",
        "5 1s 9 1m",
        "100000 366d 1 1ms",
        "5 1s COST 1000000000",
        "9 1s COST 3",
        "1000000000 1s 1 366d FIXED COST 1000000000",
        "3 1ms FIXED",
        "5 1s 9 1m FIXED",
        "1000000000 1s 1 366d COUNTER COST 1000000000",
        "3 1ms COUNTER",
        "5 1s 9 1m COUNTER",
        "1000000000 1s 1 366d GCRA COST 1000000000 FORCE",
        "3 1ms GCRA",
        "5/1s/1000000000 9 1m GCRA",
        "5/day 9/year CALENDAR",
        "5/week CALENDAR OFFSET +01:00 PENALTY 366d",
        "3 1s FIXED COST 5 PENALTY 1ms FORCE",
        "9 1m COST 1000000000 FORCE",
    ];
    let mut text = input.pick(&[&b"rate 1"[..], b"rate 1", b"rate 1", b"rate 2", b""]).to_vec();
    for _ in 0..input.below(12) {
        let name = match input.below(3) {
            0 => input.pick(&["closed", "day", "year-23:59", "week+01:00", "hour"]).to_string(),
            _ => format!("{}{}", input.pick(&["fixed", "counter", "gcra"]), input.pick(&windows)),
        };
        let number = |input: &mut Input| base36(input.word() >> input.below(64));
        let numbers: Vec<String> = (0..1 + input.below(3)).map(|_| number(input)).collect();
        let slot = format!(" {name} {}", numbers.join(" "));
        text.extend_from_slice(if input.byte() == 7 { input.bytes() } else { slot.as_bytes() });
    }
    let mut log = MemorySet::default();
    for _ in 0..input.below(8) {
        let micros = (input.word() >> (11 + input.below(53))) as i64;
        let element = match input.below(3) {
            0 => input.bytes().to_vec(),
            _ => {
                let (total, cost) = (input.word() >> input.below(64), input.word() % 1_000_000_001);
                format!("{total:020}+{cost}+{}", 1 + input.word() % 31_622_400_000).into_bytes()
            }
        };
        log.insert(micros as f64, &element);
    }
    let mut limiter = Limiter { log, text: Some(text) };
    for _ in 0..1 + input.below(6) {
        let words = input.pick(&requests);
        let action = input.pick(&[Action::Check, Action::Peek, Action::Refund]);
        let only_checks = words.contains("FORCE") || words.contains("PENALTY");
        let action = if only_checks { Action::Check } else { action };
        let request =
            Request::parse(Words::new(&words.split(' ').map(str::as_bytes).collect::<Vec<_>>()), action, 100_000)
                .expect("a request");
        let clock = Clock::new((input.word() >> 11) as i64, input.bool().then(|| (input.word() >> 11) as i64));
        let before = limiter.clone();
        match limiter.run_by(&request, clock).and_then(|answer| answer.verdict()) {
            Ok(verdict) => {
                let [limited, limit, remaining, retry, reset, rule] = verdict.reply();
                assert!((0..=1).contains(&limited) && (0..=2).contains(&rule) && limit > 0, "{words}");
                assert!(
                    (0..=limit).contains(&remaining) && retry >= -1 && reset >= 0,
                    "{words}: {remaining} {retry} {reset}"
                );
                assert_eq!(limited == 1, retry != 0, "{words}");
                if action == Action::Peek || (limited == 1 && !only_checks) {
                    assert_eq!((&limiter.text, limiter.log.expiry()), (&before.text, before.log.expiry()), "{words}");
                }
            }
            Err(error) => {
                check_error(&error);
                assert_eq!((&limiter.text, &limiter.log), (&before.text, &before.log), "{words}: an error that wrote");
            }
        }
        assert!(limiter.log.reads < 2_000, "{words}: a search without end");
    }
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    while number > 0 || digits.is_empty() {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0'));
        number /= 36;
    }
    digits.iter().rev().collect()
}
