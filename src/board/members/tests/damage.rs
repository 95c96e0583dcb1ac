//! A write that meets damage changes nothing, wherever in the call it meets it.

use crate::board::tests::{create, Rules};
use crate::board::{Board, Pair, ReportLevel, Update, WriteMode, WriteRequest, WriteResult};
use crate::error::{ErrorKind, Result};
use crate::zset::{Condition, MemorySet};

const NOW: i64 = 5_000;

fn board(schema: &str) -> Board<MemorySet> {
    let words: Vec<&[u8]> = schema.split(' ').map(str::as_bytes).collect();
    let mut board = Board::open(MemorySet::default()).unwrap();
    create(&mut board, &Rules::parse(&words).unwrap());
    board
}

fn add(board: &mut Board<MemorySet>, names: &[&str], now: i64) -> Result<WriteResult<Vec<u8>>> {
    let fields = board.schema().fields().len();
    // A double that takes more bits than its score has.
    let values = board.schema().parse_tuple(std::iter::repeat_n(&b"5e-324"[..], fields)).unwrap();
    let pairs: Vec<Pair<Vec<u8>>> =
        names.iter().map(|name| Pair::new(values.clone(), name.as_bytes().to_vec())).collect();
    let write = WriteRequest {
        mode: WriteMode::Set,
        condition: Condition::Any,
        update: Update::Set,
        keep: None,
        now,
        report: ReportLevel::Nothing,
        names_removed: false,
    };
    board.write(&write, &pairs)
}

/// The elements of members that were put there without their entries.
fn unindexed(schema: &str, names: &[&str]) -> Vec<(f64, Vec<u8>)> {
    let mut other = board(schema);
    add(&mut other, names, NOW).unwrap();
    other.set().elements().iter().filter(|(score, _)| *score > -4.0).cloned().collect()
}

#[test]
fn an_element_that_no_entry_leads_to_stops_the_whole_write() {
    for schema in ["FIELD a FLOAT TIES FIRST", "FIELD a FLOAT FIELD b FLOAT", "FIELD a FLOAT TIES JOINED S"] {
        for names in
            [&["x"][..], &["x", "new"], &["new", "x"], &["old", "x"], &["new", "old", "y", "x"], &["new", "x", "new"]]
        {
            let mut board = board(schema);
            add(&mut board, &["old"], 1).unwrap();
            for (score, element) in unindexed(schema, &["x", "y"]) {
                board.set().insert(score, &element);
            }
            let before = board.set().elements().to_vec();
            let written = add(&mut board, names, NOW);
            let is_damage = written.as_ref().is_err_and(|error| error.kind() == ErrorKind::Damaged);
            assert!(is_damage, "{schema}: {names:?}: {written:?}");
            assert_eq!(board.set().elements(), before, "{schema}: {names:?}");
            assert_eq!(add(&mut board, &["new"], NOW).unwrap().added, 1, "{schema}: the rest works on");
        }
    }
}

#[test]
fn entries_stay_where_only_the_score_changes() {
    let mut board = board("FIELD a INT FIELD b FLOAT TIES JOINED");
    let entries = |board: &mut Board<MemorySet>| -> Vec<(f64, Vec<u8>)> {
        board.set().elements().iter().filter(|(_, element)| element.starts_with(b"\x01")).cloned().collect()
    };
    let values = board.schema().parse_tuple([&b"5"[..], b"5e-324"].into_iter()).unwrap();
    let write = WriteRequest {
        mode: WriteMode::Set,
        condition: Condition::Any,
        update: Update::Set,
        keep: None,
        now: 9,
        report: ReportLevel::Nothing,
        names_removed: false,
    };
    board.write(&write, &[Pair::new(values, b"ann".to_vec())]).unwrap();
    let before = (entries(&mut board), board.set().elements().last().cloned().unwrap());
    let deltas = board.schema().parse_deltas([&b"1"[..], b"0"].into_iter()).unwrap();
    let write = WriteRequest { mode: WriteMode::Add, now: 10, ..write };
    assert_eq!(board.write(&write, &[Pair::new(deltas, b"ann".to_vec())]).unwrap().changed, 1);
    let after = (entries(&mut board), board.set().elements().last().cloned().unwrap());
    assert!(before.0.len() > 1 && before.0 == after.0);
    assert!(before.1 .1 == after.1 .1 && before.1 .0 < after.1 .0, "the element keeps its name, and moves up");
    assert_eq!(board.members().unwrap(), 1);
}

#[test]
fn a_step_of_verify_ends_in_a_table_that_shrank() {
    let mut set = board("FIELD a INT").into_set();
    set.empty_scans = 1_000;
    let mut board = Board::open_damaged(set).unwrap();
    let cut = board.verify(0, 1_000, false, || true).unwrap();
    assert!((1..10).contains(&cut.cursor), "one step made {} of 1000 scans", cut.cursor);
    // What it has not seen is left for the next step.
    let whole = board.verify(cut.cursor, 1_000, false, || false).unwrap();
    assert_eq!((cut.checked, whole.cursor), (0, 0));
}
