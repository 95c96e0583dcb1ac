//! The element at -inf that carries a board's schema.
//!
//! A schema lives in the sorted set itself, so that it follows every rename, copy, dump and replication of the key. It is
//! the first element, so that finding it, or finding that there is none, takes one look at the lower end.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::code::TOP_OF_INDEX;
use super::index::is_entry_of_member;
use crate::board::schema::{Rules, Schema, Ties};
use crate::calendar::MAX_MS;
use crate::error::{Error, Result};
use crate::number::parse_integer;
use crate::zset::{Direction, SortedSet};

pub const MARKER_START: &[u8] = b"\0rank ";
const VERSION: &[u8] = b"2";
/// What comes before the last word of the text of a board with tie times.
const SINCE: &[u8] = b" SINCE ";

/// How many elements at -inf are checked if the first one is not a marker.
const MOST_BEHIND: usize = 16;

/// Most servers have few different schemas. A client that creates many, or long ones, must not fill the memory.
const MOST_KEPT: usize = 4096;
const LONGEST_KEPT: usize = 1024;

/// Parsed schemas by their text, without `SINCE`. Another schema has another text, so nothing can go stale. Only the main
/// thread uses this, but it is not thread-local: a thread-local would keep the code in memory after `MODULE UNLOAD`.
static SCHEMAS: Mutex<BTreeMap<Box<[u8]>, Arc<Schema>>> = Mutex::new(BTreeMap::new());
static IMPLICIT: LazyLock<Arc<Schema>> = LazyLock::new(|| Arc::new(Schema::implicit()));

pub struct Marker<N> {
    pub element: N,
    pub schema: Arc<Schema>,
    /// Unix milliseconds that tie times are counted from. It differs from board to board, and so is not part of the schema,
    /// which boards share.
    pub since: i64,
    pub has_entries: bool,
}

pub fn implicit_schema() -> Arc<Schema> {
    Arc::clone(&IMPLICIT)
}

impl<N: AsRef<[u8]>> Marker<N> {
    /// Finds the marker; an error if it is not in its place. Costs almost nothing on a sorted set without one.
    #[inline]
    pub fn find<S: SortedSet<Element = N>>(set: &mut S) -> Result<Option<Marker<N>>> {
        let mut lowest = set.cursor(..=TOP_OF_INDEX, Direction::Up);
        let Some((element, score)) = lowest.next() else { return Ok(None) };
        if score == f64::NEG_INFINITY && element.as_ref().starts_with(MARKER_START) {
            let next = lowest.next();
            if next.as_ref().is_some_and(|(_, score)| *score == f64::NEG_INFINITY) {
                return Err(Error::stray_element());
            }
            return Marker::read(element, next.is_some()).map(Some);
        }
        drop(lowest);
        // A member of a sorted set without a schema, or damage.
        if score > f64::NEG_INFINITY {
            let is_lost = is_entry_of_member(set, element.as_ref(), score);
            return if is_lost { Err(Error::marker_lost()) } else { Ok(None) };
        }
        match Marker::find_anywhere(set)? {
            None => Ok(None),
            Some(_) => Err(Error::marker_behind()),
        }
    }

    /// Finds a marker that may come after other elements.
    #[cold]
    pub fn find_anywhere<S: SortedSet<Element = N>>(set: &mut S) -> Result<Option<Marker<N>>> {
        let lowest = set.cursor(..=f64::NEG_INFINITY, Direction::Up).take(MOST_BEHIND + 1);
        let marker = lowest.map(|(element, _)| element).find(|element| element.as_ref().starts_with(MARKER_START));
        marker.map(|element| Marker::read(element, true)).transpose()
    }

    fn read(element: N, has_others_below: bool) -> Result<Marker<N>> {
        let (schema, since) = read(marker_text(element.as_ref()))?;
        let has_entries = has_others_below && schema.layout.is_coded();
        Ok(Marker { element, schema, since, has_entries })
    }
}

/// The text of a marker, as a person reads it.
pub fn marker_text(marker: &[u8]) -> &[u8] {
    marker.get(MARKER_START.len()..).unwrap_or_default()
}

/// The schema in the text of a marker, and what its tie times are counted from.
fn read(text: &[u8]) -> Result<(Arc<Schema>, i64)> {
    let Some(rest) = text.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix(b" ")) else {
        return Err(unreadable(text));
    };
    let (schema, since) = match split_since(rest) {
        Some((schema, since)) => (parsed(schema)?, Some(since)),
        None => (parsed(rest)?, None),
    };
    if schema.layout.has_time() == since.is_some() {
        Ok((schema, since.unwrap_or(0)))
    } else {
        Err(Error::bad_marker(text))
    }
}

/// Takes `SINCE ms`, which is always last, from the text of a marker.
fn split_since(text: &[u8]) -> Option<(&[u8], i64)> {
    let last = text.iter().rposition(|byte| *byte == b' ')?;
    let schema = text.get(..=last)?.strip_suffix(SINCE)?;
    let since = parse_integer(text.get(last + 1..)?).filter(|ms| (0..=MAX_MS).contains(ms))?;
    Some((schema, since))
}

#[cold]
fn unreadable(text: &[u8]) -> Error {
    match text.split(|byte| *byte == b' ').next().unwrap_or_default() {
        VERSION => Error::bad_marker(text),
        version => Error::marker_version(version),
    }
}

/// The bytes of a marker. The time is left out on a board that keeps none.
pub fn marker_bytes(rules: &Rules, since: i64) -> Vec<u8> {
    let since = if rules.ties == Ties::Shared { String::new() } else { format!(" SINCE {since}") };
    [MARKER_START, VERSION, b" ", rules.to_string().as_bytes(), since.as_bytes()].concat()
}

/// Frees the parsed schemas, before the module is unloaded.
pub fn forget_schemas() {
    SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// The schema of a text, which is parsed when it is met for the first time.
fn parsed(text: &[u8]) -> Result<Arc<Schema>> {
    let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(schema) = schemas.get(text) {
        return Ok(Arc::clone(schema));
    }
    let words: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
    let rules = Rules::parse(&words).map_err(|_| Error::bad_marker(text))?;
    let schema = Arc::new(Schema::new(rules));
    if text.len() <= LONGEST_KEPT {
        if schemas.len() >= MOST_KEPT {
            schemas.clear();
        }
        schemas.insert(text.into(), Arc::clone(&schema));
    }
    Ok(schema)
}
