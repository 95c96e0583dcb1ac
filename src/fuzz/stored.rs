//! Boards and limiters in which somebody has been writing.

use super::check_error;
use super::input::Input;
use crate::board::tests::{marker_bytes, Model, Schema, MARKER_START};
use crate::board::{Alteration, Board, FieldBound, Kind, Only, Scores, Update, Value, Write};
use crate::error::Result;
use crate::rate::memory::{Limiter, MemoryHash, MemoryLog};
use crate::rate::{Clock, Mode, Request};

const KINDS: [Kind; 3] = [Kind::Competition, Kind::Dense, Kind::Ordinal];

/// Whatever lies under a board's or a limiter's key: an answer or an error, and a repair that repairs.
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
    let mut model = Model::default();
    match input.below(8) {
        0 => {}
        1 => model.insert(f64::NEG_INFINITY, &[MARKER_START, input.bytes()].concat()),
        _ => model.insert(f64::NEG_INFINITY, &marker_bytes(&rules)),
    }
    let mut names: Vec<Vec<u8>> = Vec::new();
    for _ in 0..input.below(12) {
        let (values, name) = (input.tuple(&schema), input.bytes());
        let place = schema.layout.encode(&values, schema.layout.time_at(input.word() as i64));
        let score = if input.bool() { place.score } else { input.score(place.score) };
        let element = if input.bool() { [place.spill.as_slice(), name].concat() } else { name.to_vec() };
        model.insert(score, &element);
        if input.bool() {
            let length = (name.len() as u32).to_be_bytes();
            let spill = place.spill.get(1..).unwrap_or_default();
            model.insert(f64::NEG_INFINITY, &[&[1], &length[..], name, spill].concat());
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

/// Opens the board, does one thing, and gives back what it left.
fn step(model: Model, schema: &Schema, names: &[Vec<u8>], input: &mut Input) -> Model {
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
        6 => board.clear().map(drop),
        7 => board.verify(0, 1000, input.bool(), || false).map(drop),
        8 => board.create(schema.rules.clone(), input.bool(), b"b"),
        _ => {
            let keep = Some(input.bool().then_some(3));
            let alteration = Alteration { keep, update: Some(Update::Best), ..Alteration::default() };
            alteration.apply(&board.schema().rules).and_then(|rules| board.alter(rules))
        }
    };
    if let Err(error) = done {
        check_error(&error);
    }
    board.store
}

fn read(board: &mut Board<Model>, name: &Vec<u8>, input: &mut Input) -> Result<()> {
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
    board.groups(start, end, first, kind).map(drop)
}

fn write(board: &mut Board<Model>, name: &[u8], input: &mut Input) -> Result<()> {
    let schema = board.schema().clone();
    let values = input.tuple(&schema);
    let write = Write {
        scores: if input.byte() == 1 { Scores::Add } else { Scores::Set },
        only: input.pick(&[Only::Any, Only::New, Only::Existing]),
        update: input.pick(&[Update::Set, Update::Best]),
        keep: input.bool().then(|| 1 + u64::from(input.byte() % 8)),
        now: input.word() as i64,
        ranks: input.bool(),
    };
    let before = board.store.clone();
    let pair = (values, name.to_owned());
    let written = if write.scores == Scores::Set && input.bool() {
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
fn repair(model: Model) {
    let Ok(mut board) = Board::open_damaged(model) else { return };
    for _ in 0..3 {
        if let Err(error) = board.verify(0, u64::MAX, true, || false) {
            return check_error(&error);
        }
    }
    let Ok(mut board) = Board::open(board.store) else { panic!("a repair that left damage") };
    let report = board.verify(0, u64::MAX, false, || false).expect("what could be repaired can be verified");
    assert_eq!((report.missing, report.orphaned), (0, 0), "left after a repair: {:?}", report.examples);
    if report.undecodable == 0 {
        board.members().expect("as many entries as members");
    }
}

fn limiter(input: &mut Input) {
    let windows = ["1000ms", "60000ms", "31622400000ms", "1ms"];
    let requests = [
        "5 1s",
        "5 1s 9 1m",
        "100000 366d 1 1ms",
        "5 1s COST 9223372036854775807",
        "9 1s COST 3",
        "1000000000 1s 1 366d FIXED COST 1000000000",
        "3 1ms FIXED",
        "5 1s 9 1m FIXED",
        "1000000000 1s 1 366d COUNTER COST 1000000000",
        "3 1ms COUNTER",
        "5 1s 9 1m COUNTER",
        "1000000000 1s 1 366d GCRA COST 9223372036854775807",
        "3 1ms GCRA",
        "5 1s 9 1m GCRA BURST 1000000000",
    ];
    let mut hash = MemoryHash::new();
    for _ in 0..input.below(5) {
        let name = format!("{}:{}", input.pick(&["fixed", "counter", "gcra"]), input.pick(&windows));
        let value = match input.below(3) {
            0 => input.bytes().to_vec(),
            1 => format!("{} {}", input.word() >> input.below(64), input.word() >> input.below(64)).into_bytes(),
            _ => format!("{} {} {}", input.word() >> input.below(64), input.byte(), 1 + input.word() % 1_000_000_000)
                .into_bytes(),
        };
        hash.insert(name.into_bytes(), value);
    }
    let headers = [&b"v1 fixed"[..], b"v1 counter", b"v1 gcra", b"v2 gcra", b""];
    hash.insert(b"rate".to_vec(), input.pick(&headers).to_vec());
    let mut log = MemoryLog::default();
    for _ in 0..input.below(8) {
        let micros = (input.word() >> (11 + input.below(53))) as i64;
        let element = match input.below(3) {
            0 => input.bytes().to_vec(),
            _ => format!("{:020}+{}", input.word() >> input.below(64), 1 + input.word() % 1_000_000_000).into_bytes(),
        };
        log.elements.insert((micros, element));
    }
    let mut limiter = Limiter { log: Some(log), hash: Some(hash), expire_at_ms: None };
    for _ in 0..1 + input.below(6) {
        let words = input.pick(&requests);
        let request = Request::parse(words.split(' ').map(str::as_bytes), 100_000).expect("a request");
        let clock = Clock::new((input.word() >> 11) as i64, input.bool().then(|| (input.word() >> 11) as i64));
        let mode = input.pick(&[Mode::Check, Mode::Peek]);
        let before = limiter.clone();
        match limiter.run_by(&request, mode, clock) {
            Ok([limited, limit, remaining, retry, reset, rule]) => {
                assert!((0..=1).contains(&limited) && (1..=2).contains(&rule) && limit > 0, "{words}");
                assert!(
                    (0..=limit).contains(&remaining) && retry >= -1 && reset >= 0,
                    "{words}: {remaining} {retry} {reset}"
                );
                assert_eq!(limited == 1, retry != 0, "{words}");
                if limited == 1 || mode == Mode::Peek {
                    assert_eq!((&limiter.hash, limiter.expire_at_ms), (&before.hash, before.expire_at_ms), "{words}");
                }
            }
            Err(error) => {
                check_error(&error);
                assert_eq!(limiter.hash, before.hash, "{words}: an error that wrote");
            }
        }
        assert!(limiter.log.as_ref().is_none_or(|log| log.reads < 2_000), "{words}: a search without end");
    }
}
