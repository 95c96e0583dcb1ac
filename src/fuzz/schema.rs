//! The text of a schema, as clients write it and as it stands in a marker.

use super::documented::arguments_of;
use super::input::Input;
use super::{check_error, reached};
use crate::board::tests::{marker_bytes, Codec, Rules, Schema, MARKER_START};
use crate::board::{Board, Creation};
use crate::words::Words;
use crate::zset::MemorySet;

/// Any text is refused with a readable error, or gives a schema whose text parses to the same schema.
pub fn schema(bytes: &[u8]) {
    any_text(bytes);
    // What RANK.CREATE takes, nearly.
    let (_, words) = arguments_of(&["rank.create"], &mut Input::new(bytes));
    any_text(&words.join(&b' '));
}

fn any_text(text: &[u8]) {
    let words: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
    match Creation::parse(b"b", Words::new(&words)) {
        Ok(creation) => {
            reads_back(&creation.rules);
            reached(format!("a schema with {} fields", creation.rules.fields.len().min(2)));
        }
        Err(error) => check_error(&error),
    }
    match Rules::parse(&words) {
        Ok(rules) => reads_back(&rules),
        Err(error) => check_error(&error),
    }
    // All of the marker's text, and what follows its version.
    let plain = marker_bytes(&Rules::parse(&[b"FIELD", b"a"]).expect("a schema"), 0);
    let version = plain.windows(5).position(|word| word == b"FIELD").expect("the schema");
    for start in [MARKER_START, &plain[..version]] {
        let mut model = MemorySet::default();
        model.insert(f64::NEG_INFINITY, &[start, text].concat());
        match Board::open(model) {
            Ok(board) => {
                reads_back(&board.schema().rules);
                reached("a marker that was read");
            }
            Err(error) => check_error(&error),
        }
    }
}

fn reads_back(rules: &Rules) {
    let text = rules.to_string();
    let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
    assert_eq!(Rules::parse(&words).as_ref().ok(), Some(rules), "{text}");
    let layout = Schema::new(rules.clone()).layout;
    assert_eq!(layout.is_coded(), layout.name() == "coded", "{text}");
    let mut model = MemorySet::default();
    model.insert(f64::NEG_INFINITY, &marker_bytes(rules, 0));
    let mut board = Board::open(model).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!((board.members().ok(), &board.schema().rules), (Some(0), rules));
}
