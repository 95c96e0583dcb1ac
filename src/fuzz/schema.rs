//! The text of a schema, as clients write it and as it stands in a marker.

use super::check_error;
use crate::board::fuzzing::{marker_bytes, Model, Rules, Schema, MARKER_START};
use crate::board::Board;

/// Any text is refused with a readable error, or means something that reads back as itself.
pub fn schema(bytes: &[u8]) {
    let words: Vec<&[u8]> = bytes.split(|byte| *byte == b' ').collect();
    match Rules::parse_create(&words) {
        Ok((rules, _)) => reads_back(&rules),
        Err(error) => check_error(&error),
    }
    match Rules::parse(&words) {
        Ok(rules) => reads_back(&rules),
        Err(error) => check_error(&error),
    }
    // All of the marker's text, and what follows its id.
    for start in [MARKER_START, b"\0rank 1 0123456789abcdef "] {
        let mut model = Model::default();
        model.insert(f64::NEG_INFINITY, &[start, bytes].concat());
        match Board::open(model) {
            Ok(board) if board.schema().explicit => reads_back(&board.schema().rules),
            Ok(_) => {}
            Err(error) => check_error(&error),
        }
    }
}

fn reads_back(rules: &Rules) {
    let text = rules.to_string();
    let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
    assert_eq!(Rules::parse(&words).as_ref().ok(), Some(rules), "{text}");
    let (layout, id) = (Schema::new(rules.clone()).layout, *b"0123456789abcdef");
    assert_eq!(layout.spills(), layout.name() == "spilled", "{text}");
    let mut model = Model::default();
    model.insert(f64::NEG_INFINITY, &marker_bytes(id, Some(rules)));
    let board = Board::open(model).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!((&board.schema().rules, board.members()), (rules, 0));
    assert!(board.marker().is_some_and(|marker| marker.id == id));
}
