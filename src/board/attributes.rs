//! Attributes of a member: one JSON object, stored in a field of the board's hash.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

/// Attributes by name, in the order they were written.
pub type Attributes = Map<String, Json>;

/// `None` if it is not a JSON object.
pub fn parse_object(text: &[u8]) -> Option<Attributes> {
    serde_json::from_slice(text).ok()
}

/// Sets attributes to texts: how many are new, and whether anything changed. With `keep_old`, existing ones stay.
pub fn set_attributes(attributes: &mut Attributes, pairs: &[(&str, &str)], keep_old: bool) -> (u64, bool) {
    let (mut added, mut changed) = (0, false);
    for (name, value) in pairs {
        let value = Json::from(*value);
        match attributes.get(*name) {
            None => added += 1,
            Some(old) if keep_old || *old == value => continue,
            Some(_) => {}
        }
        changed = true;
        attributes.insert((*name).to_owned(), value);
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
