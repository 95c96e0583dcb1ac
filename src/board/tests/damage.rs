//! A write that meets damage changes nothing, wherever in the call it meets it.

use super::*;
use crate::board::{Board, Only, Scores, Store, Update, Write, Written};
use crate::error::{Damage, Error, Result};

const NOW: i64 = 5_000;

fn board(schema: &str) -> Board<Model> {
    let words: Vec<&[u8]> = schema.split(' ').map(str::as_bytes).collect();
    let mut board = Board::open(Model::default()).unwrap();
    board.create(Rules::parse(&words).unwrap(), false, b"board").unwrap();
    board
}

fn add(board: &mut Board<Model>, names: &[&str], now: i64) -> Result<Written> {
    let fields = board.schema().fields().len();
    let values = board.schema().parse_tuple(std::iter::repeat_n(&b"7"[..], fields)).unwrap();
    let pairs: Vec<(Tuple, Vec<u8>)> = names.iter().map(|name| (values.clone(), name.as_bytes().to_vec())).collect();
    let write = Write { scores: Scores::Set, only: Only::Any, update: Update::Set, keep: None, now, ranks: false };
    board.write(&write, &pairs)
}

/// The elements of members that were put there without their entries.
fn unindexed(schema: &str, names: &[&str]) -> Vec<(f64, Vec<u8>)> {
    let mut other = board(schema);
    add(&mut other, names, NOW).unwrap();
    other.store.elements().iter().filter(|(score, _)| *score > f64::NEG_INFINITY).cloned().collect()
}

#[test]
fn an_element_that_the_index_does_not_know_stops_the_whole_write() {
    for schema in ["FIELD a FLOAT TIES FIRST", "FIELD a INT FIELD b INT", "FIELD a FLOAT TIES JOINED S"] {
        for names in
            [&["x"][..], &["x", "new"], &["new", "x"], &["old", "x"], &["new", "old", "y", "x"], &["new", "x", "new"]]
        {
            let mut board = board(schema);
            add(&mut board, &["old"], 1).unwrap();
            // Two of them, so that the size gives nothing away.
            for (score, element) in unindexed(schema, &["x", "y"]) {
                board.store.insert(score, &element);
            }
            let before = board.store.elements().to_vec();
            let written = add(&mut board, names, NOW);
            assert!(matches!(written, Err(Error::Damaged(Damage::Index(_)))), "{schema}: {names:?}: {written:?}");
            assert_eq!(board.store.elements(), before, "{schema}: {names:?}");
            assert_eq!(add(&mut board, &["new"], NOW).unwrap().added, 1, "{schema}: the rest works on");
        }
    }
}

#[test]
fn an_entry_stays_where_only_the_score_changes() {
    let mut board = board("FIELD a FLOAT TIES JOINED");
    add(&mut board, &["ann"], 1).unwrap();
    let entry = board.store.elements().iter().find(|(_, element)| element.starts_with(b"\x01")).cloned().unwrap();
    let element = board.store.elements().last().cloned().unwrap().1;
    let write = Write { scores: Scores::Add, only: Only::Any, update: Update::Set, keep: None, now: 9, ranks: false };
    let pair = (board.schema().parse_deltas([&b"5"[..]].into_iter()).unwrap(), b"ann".to_vec());
    assert_eq!(board.write(&write, &[pair]).unwrap().changed, 1);
    assert_eq!(board.store.score(&element), Some(12.0));
    assert!(board.store.elements().contains(&entry));
    assert_eq!(board.members().unwrap(), 1);
}
