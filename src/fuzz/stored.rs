//! Boards and limiters that somebody has tampered with.

use super::codec::element_of;
use super::documented::arguments_of;
use super::input::Input;
use super::{check_error, reached};
use crate::board::tests::{entry_scores, marker_bytes, Codec, Creation, Schema, MARKER_START};
use crate::board::{
    Alteration, Board, FieldBound, Pair, RankKind, ReportLevel, Update, Value, WriteMode, WriteRequest,
};
use crate::error::Result;
use crate::rate::memory::{self, Limiter};
use crate::rate::{Action, Clock, Request};
use crate::words::Words;
use crate::zset::{Condition, MemorySet, SortedSet};

const KINDS: [RankKind; 3] = [RankKind::Competition, RankKind::Dense, RankKind::Ordinal];

/// Whatever is stored under the key of a board or a limiter: commands answer or return an error, and a repair works.
pub fn stored(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.below(2) {
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
        4 => board.prepare_removal(&[name]).map(|found| _ = board.commit_removal(&found)),
        5 => board.trim(u64::from(input.byte() % 8), true).map(drop),
        6 => board.clear(0).map(drop),
        7 => board.verify(0, 1000, input.bool(), || false).map(drop),
        8 => {
            let (since, adopt) = (input.bool().then_some(1_577_836_800_000), input.bool());
            board.create(Creation { rules: schema.rules.clone(), since, adopt }, b"b", 0, false).map(drop)
        }
        _ => {
            let words: &[&[u8]] =
                if input.bool() { &[b"KEEP", b"3", b"UPDATE", b"BEST"] } else { &[b"NOKEEP", b"UPDATE", b"BEST"] };
            let alteration = Alteration::parse(b"b", Words::new(words)).expect("words of RANK.ALTER");
            alteration.apply(&board.schema().rules, board.key()).and_then(|rules| board.alter(rules, false).map(drop))
        }
    };
    if let Err(error) = done {
        check_error(&error);
    }
    board.into_set()
}

fn read(board: &mut Board<MemorySet>, name: &Vec<u8>, input: &mut Input) -> Result<()> {
    let kind = input.pick(&KINDS);
    let (first, count) = (u64::from(input.byte() % 16), u64::from(input.byte()));
    if let Ok(Some(found)) = board.find(name) {
        board.position(&found.stored)?;
        let group = board.group_positions(&found).ok();
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
        report: input.pick(&[ReportLevel::Nothing, ReportLevel::Scores, ReportLevel::Ranks]),
        names_removed: input.bool(),
    };
    let before = board.set().clone();
    let kept = if schema.fields().len() > 1 { u32::from(input.byte() & 1) } else { 0 };
    let pair = Pair { kept, ..Pair::new(values, name.to_owned()) };
    let written = if write.mode == WriteMode::Set && input.bool() {
        board.write(&write, &[pair.clone(), pair])
    } else {
        board.write(&write, &[pair])
    };
    if written.is_err() {
        assert_eq!(board.set().elements(), before.elements(), "an error that wrote");
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
    let Ok(mut board) = Board::open(board.into_set()) else { panic!("a repair that left damage") };
    let report = board.verify(0, u64::MAX, false, || false).expect("what could be repaired can be verified");
    let left = (report.missing, report.orphaned, report.duplicated);
    assert_eq!(left, (0, 0, 0), "left after a repair: {:?}", report.examples);
    if report.undecodable == 0 {
        board.members().expect("as many entries as members");
    }
}

/// A limiter that requests have written, and that somebody has tampered with in between.
fn limiter(input: &mut Input) {
    let mut limiter = Limiter::default();
    let (mut micros, mut is_tampered, mut last) = (1_700_000_000_000_000, false, None);
    for _ in 0..8 + input.below(16) {
        if input.below(8) == 7 {
            is_tampered |= tamper(&mut limiter, input);
            continue;
        }
        // Mostly the same rules as before: others would not look at what is stored.
        if last.is_none() || input.below(4) == 3 {
            last = Some(arguments_of(&["rate.check", "rate.peek", "rate.refund"], input));
        }
        let Some((call, words)) = &last else { return };
        let action = match call.command() {
            "rate.check" => Action::Check,
            "rate.peek" => Action::Peek,
            _ => Action::Refund,
        };
        let text = call.text();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let parsed = memory::request(&words, action, 100_000)
            .and_then(|request| Request::check_windows(request.rules.iter()).map(|()| request));
        let request = match parsed {
            Ok(request) => request,
            Err(error) => {
                check_error(&error);
                continue;
            }
        };
        micros = match input.below(16) {
            15 => (input.word() >> 11) as i64,
            step => micros + [0, 1, 999, 250_000, 60_000_000][step % 5],
        };
        let before = limiter.clone();
        limiter.log.reads = 0;
        match limiter.run_by(&request, Clock::new(micros, request.now)).and_then(|answer| answer.verdict()) {
            Ok(verdict) => {
                let [limited, limit, remaining, retry, reset, rule] = verdict.reply();
                let rules = request.rules.len() as i64;
                assert!((0..=1).contains(&limited) && (0..=rules).contains(&rule) && limit > 0, "{text}");
                assert!(
                    (0..=limit).contains(&remaining) && retry >= -1 && reset >= 0,
                    "{text}: {remaining} {retry} {reset}"
                );
                assert_eq!(limited == 1, retry != 0, "{text}");
                let may_write =
                    action != Action::Peek && (limited == 0 || request.force || request.penalty_ms.is_some());
                if !may_write {
                    assert_eq!((&limiter.text, limiter.log.expiry()), (&before.text, before.log.expiry()), "{text}");
                }
                let verdict = if limited == 1 { "denied" } else { "allowed" };
                reached(format!("{action:?} {:?} {verdict}", request.algorithm));
                if limited == 1 && request.penalty_ms.is_some() && limiter != before {
                    reached(format!("{:?} with a penalty", request.algorithm));
                }
                if is_tampered && limiter != before {
                    reached("a write to a limiter that was tampered with");
                }
            }
            Err(error) => {
                check_error(&error);
                assert_eq!((&limiter.text, &limiter.log), (&before.text, &before.log), "{text}: an error that wrote");
                assert!(is_tampered, "{text} on what limiters wrote: {error}");
                reached("an error of a limiter that was tampered with");
            }
        }
        assert!(limiter.log.reads < 2_000, "{text}: a search without end");
    }
}

/// Changes a few bytes of what is stored. Whether there was anything.
fn tamper(limiter: &mut Limiter, input: &mut Input) -> bool {
    if let Some(text) = &mut limiter.text {
        change(text, input);
        return true;
    }
    let Some((score, element)) = limiter.log.elements().get(input.below(8)).cloned() else { return false };
    let mut changed = element.clone();
    change(&mut changed, input);
    if input.bool() {
        limiter.log.remove(&element);
    }
    limiter.log.insert(input.score(score), &changed);
    true
}

fn change(bytes: &mut Vec<u8>, input: &mut Input) {
    for _ in 0..input.below(4) {
        let at = input.below(bytes.len().clamp(1, 256));
        match input.below(4) {
            _ if at >= bytes.len() => bytes.push(input.byte()),
            0 => drop(bytes.remove(at)),
            1 => bytes.insert(at, input.pick(b"0123456789abcdefghijklmnopqrstuvwxyz +/")),
            2 => bytes[at] = input.pick(b"0123456789abcdefghijklmnopqrstuvwxyz +/"),
            _ => bytes[at] ^= input.byte(),
        }
    }
}
