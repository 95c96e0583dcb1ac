//! Boards, companions and limiters in which somebody has been writing.

use super::check_error;
use super::input::Input;
use crate::board::fuzzing::{marker_bytes, Model, Schema, MARKER_START};
use crate::board::{
    Board, Companion, FieldBound, Kind, Leavers, Only, Part, Store, Update, Value, WriteRules, ID_ENTRY,
};
use crate::error::Result;
use crate::rate::memory::{Limiter, MemoryHash, MemoryLog};
use crate::rate::{Clock, Mode, Request};

const ID: [u8; 16] = *b"0123456789abcdef";
const OTHER_ID: [u8; 16] = *b"fedcba9876543210";
const KINDS: [Kind; 3] = [Kind::Competition, Kind::Dense, Kind::Ordinal];

/// Whatever lies under a board's, a companion's or a limiter's key: an answer or an error, and a repair that repairs.
pub fn stored(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    match input.below(4) {
        0 => limiter(&mut input),
        1 => names(&mut input),
        _ => board(&mut input),
    }
}

/// A companion's key leads back to its board, and lies in the board's slot.
fn names(input: &mut Input) {
    let board = input.bytes();
    for part in Part::ALL {
        if let Some(key) = part.key(board) {
            assert_eq!(Part::board_of(&key), Some(board), "{}", key.escape_ascii());
            assert_eq!(slot_name(&key), slot_name(board), "{}", key.escape_ascii());
        }
    }
    let key = [b"rank:data:", input.bytes()].concat();
    if let Some(board) = Part::board_of(&key) {
        assert_eq!(Part::Data.key(board).as_deref(), Some(key.as_slice()));
    }
}

/// The bytes of a key that its slot depends on.
fn slot_name(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|byte| *byte == b'{') else { return key };
    let inside = &key[open + 1..];
    match inside.iter().position(|byte| *byte == b'}') {
        Some(length) if length > 0 => &inside[..length],
        _ => key,
    }
}

fn board(input: &mut Input) {
    let rules = input.rules();
    let schema = Schema::new(rules.clone());
    let mut model = Model::default();
    match input.below(8) {
        0 => {}
        1 => model.insert(f64::NEG_INFINITY, &marker_bytes(ID, None)),
        2 => model.insert(f64::NEG_INFINITY, &[MARKER_START, input.bytes()].concat()),
        _ => model.insert(f64::NEG_INFINITY, &marker_bytes(ID, Some(&rules))),
    }
    let mut names: Vec<Vec<u8>> = Vec::new();
    for _ in 0..input.below(12) {
        let (values, name) = (input.tuple(&schema), input.bytes());
        let place = schema.layout.encode(&values, schema.layout.time_at(input.word() as i64));
        let score = if input.bool() { place.score } else { input.score(place.score) };
        let element = if input.bool() { [place.spill.as_slice(), name].concat() } else { name.to_vec() };
        model.insert(score, &element);
        if input.bool() {
            model.insert_entry(Part::Members, &[b":", name].concat(), &place.spill);
        }
        names.push(name.to_vec());
    }
    for _ in 0..input.below(6) {
        let part = input.pick(&Part::ALL);
        let name = match input.below(4) {
            0 => input.bytes().to_vec(),
            1 => names.first().cloned().unwrap_or_default(),
            2 => [b":".as_slice(), names.last().map_or(b"", Vec::as_slice)].concat(),
            _ => [b":", input.bytes()].concat(),
        };
        let bytes = input.pick(&[&b"{\"k\":\"v\"}"[..], b"{", b"[]", b"{\"k\":{\"a\":[1,null]}}"]);
        model.insert_entry(part, &name, if input.bool() { bytes } else { input.bytes() });
    }
    for part in Part::ALL {
        match input.below(4) {
            0 => {}
            1 => model.insert_entry(part, ID_ENTRY, input.bytes()),
            2 => model.insert_entry(part, ID_ENTRY, &OTHER_ID),
            _ => model.insert_entry(part, ID_ENTRY, &ID),
        }
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
    let done = match input.below(12) {
        0 | 1 => read(&mut board, &name, input),
        2 | 3 => write(&mut board, &name, input),
        4 => board.remove(&name).map(drop),
        5 => {
            let n = u64::from(input.byte() % 8);
            board.prepare_write([].iter()).and_then(|()| board.trim(n, Leavers::Named).map(drop))
        }
        6 => board.clear().map(drop),
        7 => board.verify(0, 1000, input.bool(), || false).map(drop),
        8 => board.set_attributes(&name, &[("a", "b")], input.bool(), ID).map(drop),
        9 => board.remove_attributes(&name, &[], ID).map(drop),
        10 => board.create(schema.rules.clone(), input.bool(), ID).map(drop),
        _ => board.alter(Some(input.bool().then_some(3)), Some(Update::Best)),
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
            board.group_names(group, first, count, &mut |_| Ok(()))?;
        }
        board.attribute_map(name)?;
    }
    let bound = |input: &mut Input| {
        let float = input.bool();
        let value = if float { Value::Float(input.score(0.0)) } else { Value::Integer(input.word() as i64) };
        FieldBound::new(value, input.bool())
    };
    let (min, max) = (bound(input), bound(input));
    let (start, end) = board.first_field_positions(min, max)?;
    assert!(start <= end && end <= board.members(), "{start} to {end} of {}", board.members());
    board.rows(first, count, kind, &mut |_| Ok(()))?;
    let start = board.skip_groups(0, first)?;
    let end = board.skip_groups(start, count)?;
    board.groups(start, end, kind, |_, _| Ok(()))
}

fn write(board: &mut Board<Model>, name: &Vec<u8>, input: &mut Input) -> Result<()> {
    let schema = board.schema().clone();
    let values = input.tuple(&schema);
    let rules = WriteRules {
        only: input.pick(&[Only::Any, Only::New, Only::Existing]),
        update: input.pick(&[Update::Set, Update::Best]),
        keep: input.bool().then(|| 1 + u64::from(input.byte() % 8)),
        now: input.word() as i64,
    };
    board.check_member(name, &values)?;
    board.prepare_write([name, name].into_iter())?;
    board.set(name, &values, &rules)?;
    Ok(())
}

/// After a repair there is nothing left to be repaired, and no element is without its entry.
fn repair(model: Model) {
    let Ok(mut board) = Board::open(model) else { return };
    if let Err(error) = board.verify(0, u64::MAX, true, || false) {
        return check_error(&error);
    }
    let Ok(mut board) = Board::open(board.store) else { panic!("a repair that broke the board") };
    let report = board.verify(0, u64::MAX, false, || false).expect("what could be repaired can be verified");
    assert_eq!((report.missing, report.orphaned), (0, 0), "left after a repair: {:?}", report.examples);
    let Some(id) = board.marker().map(|marker| marker.id) else { return };
    if report.undecodable == 0 && board.schema().layout.spills() && board.members() > 0 {
        assert_eq!(board.store.companion(Part::Members, &id).ok(), Some(Companion::Stamped(board.members())));
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
