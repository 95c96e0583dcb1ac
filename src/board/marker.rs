//! The element at -inf that carries a board's schema.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::index::looks_like_entry;
use super::schema::{Rules, Schema};
use super::store::{Direction, Store};
use crate::error::{Damage, Error, Result, Shown};

/// What every marker starts with; NUL makes it sort before index entries and members.
pub const MARKER_START: &[u8] = b"\0rank ";
const VERSION: &[u8] = b"1";

/// How many elements at -inf are checked if the first one is not a marker.
const MOST_BEHIND: usize = 16;

/// Most servers have few different schemas. A client that creates many, or long ones, must not fill the memory.
const MOST_INTERNED: usize = 4096;
const LONGEST_INTERNED: usize = 1024;

/// Parsed schemas by their text. Another schema has another text, so nothing can go stale. Only the main thread uses
/// this, but it is not thread-local: a thread-local would keep the code in memory after `MODULE UNLOAD`.
static INTERNED: LazyLock<Mutex<Interned>> = LazyLock::new(Mutex::default);
static IMPLICIT: LazyLock<Arc<Schema>> = LazyLock::new(make_implicit);

#[derive(Default)]
struct Interned {
    schemas: HashMap<Box<[u8]>, Arc<Schema>>,
    /// The two that were read last: commands come in runs on one kind of board, and on its periods.
    last: [Option<Parsed>; 2],
}

/// The text of a schema, and the schema.
type Parsed = (Box<[u8]>, Arc<Schema>);

/// A board's marker.
pub struct Marker<N> {
    /// The element itself.
    pub element: N,
    /// What it says.
    pub schema: Arc<Schema>,
}

fn make_implicit() -> Arc<Schema> {
    Arc::new(Schema::implicit())
}

/// The schema of a sorted set that has none of its own.
pub fn implicit_schema() -> Arc<Schema> {
    Arc::clone(&IMPLICIT)
}

impl<N: AsRef<[u8]>> Marker<N> {
    /// Finds the marker; an error if it is not in its place. Costs almost nothing on a sorted set without one.
    #[inline]
    pub fn find<S: Store<Name = N>>(store: &S) -> Result<Option<Marker<N>>> {
        match store.lowest() {
            None => Ok(None),
            Some((element, more)) if element.as_ref().starts_with(MARKER_START) => {
                let schema = read(element.as_ref())?;
                // Without an index the marker is alone at -inf.
                if more && !schema.layout.spills() {
                    return Err(Error::Damaged(Damage::Stray));
                }
                Ok(Some(Marker { element, schema }))
            }
            // A member of a sorted set without a schema, or damage.
            Some(_) => match Marker::find_anywhere(store)? {
                None => Ok(None),
                Some(_) => Err(Error::Damaged(Damage::MarkerBehind)),
            },
        }
    }

    /// Finds a marker that may come after other elements.
    #[cold]
    pub fn find_anywhere<S: Store<Name = N>>(store: &S) -> Result<Option<Marker<N>>> {
        let (mut marker, mut entries, mut seen) = (None, false, 0);
        store.walk_score(f64::NEG_INFINITY, Direction::Up, &mut |element: N| {
            entries |= looks_like_entry(element.as_ref());
            if element.as_ref().starts_with(MARKER_START) {
                marker = Some(element);
            }
            seen += 1;
            marker.is_none() && seen <= MOST_BEHIND
        });
        let Some(element) = marker else {
            return if entries { Err(Error::Damaged(Damage::MarkerLost)) } else { Ok(None) };
        };
        let schema = read(element.as_ref())?;
        Ok(Some(Marker { element, schema }))
    }
}

/// The text of a marker, as a person reads it.
pub fn marker_text(marker: &[u8]) -> &[u8] {
    marker.get(MARKER_START.len()..).unwrap_or_default()
}

/// The schema of a marker.
fn read(marker: &[u8]) -> Result<Arc<Schema>> {
    let text = marker_text(marker);
    match text.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix(b" ")) {
        Some(schema) => intern(schema),
        None => Err(unreadable(text)),
    }
}

#[cold]
fn unreadable(text: &[u8]) -> Error {
    match text.split(|byte| *byte == b' ').next().unwrap_or_default() {
        VERSION => Error::BadMarker(Shown::new(text)),
        version => Error::MarkerVersion(Shown::new(version)),
    }
}

/// The bytes of a marker.
pub fn marker_bytes(rules: &Rules) -> Vec<u8> {
    [MARKER_START, VERSION, b" ", rules.to_string().as_bytes()].concat()
}

/// Frees the parsed schemas, before the module is unloaded.
pub fn forget_schemas() {
    *INTERNED.lock().unwrap_or_else(PoisonError::into_inner) = Interned::default();
}

fn intern(text: &[u8]) -> Result<Arc<Schema>> {
    if text.len() > LONGEST_INTERNED {
        return parse(text);
    }
    let mut interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
    for (known, schema) in interned.last.iter().flatten() {
        if **known == *text {
            return Ok(Arc::clone(schema));
        }
    }
    let schema = interned.look_up(text)?;
    interned.last.swap(0, 1);
    interned.last[0] = Some((text.into(), Arc::clone(&schema)));
    Ok(schema)
}

fn parse(text: &[u8]) -> Result<Arc<Schema>> {
    let words: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
    let rules = Rules::parse(&words).map_err(|_| Error::BadMarker(Shown::new(text)))?;
    Ok(Arc::new(Schema::new(rules)))
}

impl Interned {
    fn look_up(&mut self, text: &[u8]) -> Result<Arc<Schema>> {
        if let Some(schema) = self.schemas.get(text) {
            return Ok(Arc::clone(schema));
        }
        let schema = parse(text)?;
        if self.schemas.len() >= MOST_INTERNED {
            self.schemas.clear();
        }
        self.schemas.insert(text.into(), Arc::clone(&schema));
        Ok(schema)
    }
}
