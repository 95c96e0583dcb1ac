//! The element at -inf that carries a board's schema.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::schema::{Rules, Schema};
use super::store::{Direction, Store};
use crate::error::{Error, Result, Shown};

/// What every marker starts with; NUL makes it sort before ordinary names.
pub const MARKER_START: &[u8] = b"\0rank ";
const VERSION: &[u8] = b"1";
const ID_DIGITS: usize = 16;

/// Boards come in few shapes; a client that makes many must not fill the memory.
const MOST_INTERNED: usize = 4096;

/// Parsed schemas by their text, so that nothing can go stale: another schema is another text. Not thread-local, though
/// only the main thread comes here: see `server::keeper`.
static INTERNED: LazyLock<Mutex<Interned>> = LazyLock::new(Mutex::default);
static IMPLICIT: LazyLock<Arc<Schema>> = LazyLock::new(make_implicit);

#[derive(Default)]
struct Interned {
    schemas: HashMap<Box<[u8]>, Arc<Schema>>,
    /// The one that was read last: commands come in runs on one kind of board.
    last: Option<(Box<[u8]>, Arc<Schema>)>,
}

/// The board's id: 16 hexadecimal digits.
pub type Id = [u8; ID_DIGITS];

pub struct Marker<N> {
    pub element: N,
    /// Where it stands among the elements at -inf: first, but for odd names on sorted sets with attributes.
    pub index: u64,
    /// How many markers there are: a union of two boards has two. They stand side by side, and the first one counts.
    pub count: u64,
    pub id: Id,
    /// `None` on a sorted set that has attributes only.
    pub schema: Option<Arc<Schema>>,
}

fn make_implicit() -> Arc<Schema> {
    Arc::new(Schema::implicit())
}

/// The schema of a sorted set that has none of its own.
pub fn implicit_schema() -> Arc<Schema> {
    Arc::clone(&IMPLICIT)
}

impl<N: AsRef<[u8]>> Marker<N> {
    /// The index of the first marker, and how many there are.
    pub fn place(marker: Option<&Marker<N>>) -> (u64, u64) {
        marker.map_or((0, 0), |marker| (marker.index, marker.count))
    }

    /// Looks for the marker; costs next to nothing on a sorted set that has none.
    pub fn find<S: Store<Name = N>>(store: &S) -> Result<Option<Marker<N>>> {
        match store.lowest() {
            None => Ok(None),
            Some((element, false)) if element.as_ref().starts_with(MARKER_START) => {
                Marker::read(element, 0, 1).map(Some)
            }
            Some((_, false)) => Ok(None),
            Some((_, true)) => Marker::find_among_others(store),
        }
    }

    #[cold]
    fn find_among_others<S: Store<Name = N>>(store: &S) -> Result<Option<Marker<N>>> {
        let mut found = None;
        let (mut index, mut count) = (0, 0);
        store.walk_score(f64::NEG_INFINITY, Direction::Up, &mut |element: N| {
            let name = element.as_ref();
            if name.starts_with(MARKER_START) {
                count += 1;
                found.get_or_insert(element);
                return true;
            }
            // Names at -inf that sort before the marker's are possible on sorted sets with attributes.
            let before = name < MARKER_START;
            index += u64::from(before);
            before
        });
        found.map(|element| Marker::read(element, index, count)).transpose()
    }

    fn read(element: N, index: u64, count: u64) -> Result<Marker<N>> {
        let text = element.as_ref().get(MARKER_START.len()..).unwrap_or_default();
        let Some((id, schema)) = split(text) else { return Err(unreadable(text)) };
        let schema = schema.map(intern).transpose()?;
        Ok(Marker { element, index, count, id, schema })
    }

    /// The marker's text, as a person reads it.
    pub fn text(&self) -> &[u8] {
        self.element.as_ref().get(MARKER_START.len()..).unwrap_or_default()
    }
}

/// `1 id`, or `1 id schema`: the id, and the schema's text.
fn split(text: &[u8]) -> Option<(Id, Option<&[u8]>)> {
    let (id, rest) = text.strip_prefix(VERSION)?.strip_prefix(b" ")?.split_first_chunk::<ID_DIGITS>()?;
    // Without a short cut, so that sixteen are as quick as one.
    let is_id = id.iter().fold(true, |all, digit| all & digit.is_ascii_hexdigit());
    let schema = if rest.is_empty() { None } else { Some(rest.strip_prefix(b" ")?) };
    is_id.then_some((*id, schema))
}

#[cold]
fn unreadable(text: &[u8]) -> Error {
    match text.split(|byte| *byte == b' ').next().unwrap_or_default() {
        VERSION => Error::BadMarker(Shown::new(text)),
        version => Error::MarkerVersion(Shown::new(version)),
    }
}

/// The bytes of a marker.
pub fn marker_bytes(id: Id, rules: Option<&Rules>) -> Vec<u8> {
    let mut bytes = MARKER_START.to_vec();
    bytes.extend_from_slice(VERSION);
    bytes.push(b' ');
    bytes.extend_from_slice(&id);
    if let Some(rules) = rules {
        bytes.extend_from_slice(format!(" {rules}").as_bytes());
    }
    bytes
}

/// Gives up what was parsed, before the module goes.
pub fn forget_schemas() {
    *INTERNED.lock().unwrap_or_else(PoisonError::into_inner) = Interned::default();
}

fn intern(text: &[u8]) -> Result<Arc<Schema>> {
    let mut interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, schema)) = &interned.last {
        if **known == *text {
            return Ok(Arc::clone(schema));
        }
    }
    let schema = interned.look_up(text)?;
    interned.last = Some((text.into(), Arc::clone(&schema)));
    Ok(schema)
}

impl Interned {
    fn look_up(&mut self, text: &[u8]) -> Result<Arc<Schema>> {
        if let Some(schema) = self.schemas.get(text) {
            return Ok(Arc::clone(schema));
        }
        let words: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
        let rules = Rules::parse(&words).map_err(|_| Error::BadMarker(Shown::new(text)))?;
        let schema = Arc::new(Schema::new(rules));
        if self.schemas.len() >= MOST_INTERNED {
            self.schemas.clear();
        }
        self.schemas.insert(text.into(), Arc::clone(&schema));
        Ok(schema)
    }
}
