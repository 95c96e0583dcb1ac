//! Attributes of a member: one JSON object, stored in a field of the board's hash.
//!
//! Values are kept as the text that they were given as. A general JSON value would not do: it would lose digits of numbers,
//! or give some names a meaning of their own.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::value::{to_raw_value, RawValue};

/// The JSON text of each attribute, by name, in the order they were written.
pub type Attributes = IndexMap<String, Box<RawValue>>;

/// Deeper values would be too much for the JSON parsers of some clients.
const MAX_DEPTH: usize = 128;

/// `None` if it is not a JSON object.
pub fn parse_object(text: &[u8]) -> Option<Attributes> {
    serde_json::from_slice(text).ok().filter(|_| is_shallow(text))
}

pub fn is_object(text: &[u8]) -> bool {
    serde_json::from_slice(text).is_ok_and(|json: &RawValue| json.get().starts_with('{')) && is_shallow(text)
}

/// Whether a JSON text is not nested too deeply.
fn is_shallow(json: &[u8]) -> bool {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    json.iter().all(|byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth < MAX_DEPTH
    })
}

/// The contents of a string; `None` for any other value.
pub fn as_string(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

/// Sets attributes to texts: how many are new, and whether anything changed. With `keep_old`, existing ones stay.
pub fn set_attributes(attributes: &mut Attributes, pairs: &[(&str, &str)], keep_old: bool) -> (u64, bool) {
    let (mut added, mut changed) = (0, false);
    for (name, value) in pairs {
        match attributes.get(*name) {
            None => added += 1,
            Some(old) if keep_old || as_string(old).is_some_and(|old| old == *value) => continue,
            Some(_) => {}
        }
        // A string is always JSON.
        if let Ok(value) = to_raw_value(value) {
            attributes.insert((*name).to_owned(), value);
            changed = true;
        }
    }
    (added, changed)
}

/// Removes the named attributes, or all of them if none is named. Returns how many there were.
pub fn remove_attributes(attributes: &mut Attributes, names: &[&[u8]]) -> u64 {
    let before = attributes.len();
    if names.is_empty() {
        attributes.clear();
    } else {
        let names: HashSet<&[u8]> = names.iter().copied().collect();
        // In one pass that keeps the order of the others.
        attributes.retain(|name, _| !names.contains(name.as_bytes()));
    }
    (before - attributes.len()) as u64
}
