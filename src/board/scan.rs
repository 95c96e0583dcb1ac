//! Returns all members of a board in steps, while the board may change.
//!
//! A spilled board is scanned in the order of its index, which is sorted by name. An update moves the element of a
//! member, but not its index entry. Other boards are scanned with the server's own cursor, which gives the same
//! guarantee: a member that is on the board during the whole scan is returned at least once.

use base64::prelude::{Engine, BASE64_URL_SAFE_NO_PAD};

use super::index::{entry_start, split_entry, ENTRY_TAG};
use super::store::Store;
use super::{Board, Row};
use crate::error::{Damage, Error, Result, Shown};

/// How many elements are fetched at a time with the server's cursor: few enough to take little time.
const STRIDE: u64 = 32;
/// A step ends after this many fetches without an element. A hash table that has shrunk can have many empty buckets.
const MOST_IN_VAIN: u64 = 100;
/// The first character of a cursor that is a name. The server's cursors are numbers.
const NAME_TAG: u8 = b'n';

/// Where a scan continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// At the beginning. As a result: the scan is over.
    End,
    /// At the server's own cursor.
    Server(u64),
    /// After this name.
    Name(Vec<u8>),
}

impl Cursor {
    /// Parses a cursor. `None` if no scan can have returned it.
    pub fn parse(text: &[u8]) -> Option<Cursor> {
        match text {
            b"0" => Some(Cursor::End),
            [NAME_TAG, name @ ..] => BASE64_URL_SAFE_NO_PAD.decode(name).ok().map(Cursor::Name),
            number => std::str::from_utf8(number).ok()?.parse().ok().map(Cursor::Server),
        }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cursor::End => f.write_str("0"),
            Cursor::Server(cursor) => cursor.fmt(f),
            Cursor::Name(name) => write!(f, "{}{}", char::from(NAME_TAG), BASE64_URL_SAFE_NO_PAD.encode(name)),
        }
    }
}

/// How long a step of a scan may be.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// About this many rows.
    pub count: u64,
    /// Never more than this many.
    pub most: u64,
}

impl<S: Store> Board<S> {
    /// One step of a scan. Passes rows to `visit` until it returns false. The ranks of these rows have no meaning.
    /// Returns the next cursor.
    pub fn scan(&self, from: &Cursor, step: Step, visit: &mut dyn FnMut(Row) -> bool) -> Result<Cursor> {
        // Fails on a damaged board: a member without an index entry would be left out silently.
        if self.members()? == 0 {
            return Ok(Cursor::End);
        }
        match (self.schema.layout.spills(), from) {
            (true, Cursor::End) => self.scan_index(None, step, visit),
            (true, Cursor::Name(name)) => self.scan_index(Some(name), step, visit),
            (true, Cursor::Server(cursor)) => Err(Error::BadCursor(Shown::new(cursor.to_string().as_bytes()))),
            (false, Cursor::Server(cursor)) => self.scan_server(*cursor, None, step, visit),
            (false, Cursor::End) => self.scan_server(0, None, step, visit),
            (false, Cursor::Name(name)) => self.scan_server(0, Some(name), step, visit),
        }
    }

    /// Scans the index of a spilled board, starting after a name.
    fn scan_index(&self, behind: Option<&[u8]>, step: Step, visit: &mut dyn FnMut(Row) -> bool) -> Result<Cursor> {
        let start = behind.map_or(vec![ENTRY_TAG], |name| [&entry_start(name), name].concat());
        let most = step.count.min(step.most);
        let (mut is_proven, mut rows, mut going) = (false, 0, true);
        let mut last: Option<Vec<u8>> = None;
        let mut result = Ok(Cursor::End);
        self.store.walk_bytes(&start, &mut |element: S::Name, score: f64| {
            if !is_proven && !self.is_proven_absent(Some((element.clone(), score, false))) {
                result = Err(Error::Damaged(Damage::Index(Shown::new(behind.unwrap_or_default()))));
                return false;
            }
            is_proven = true;
            if score > f64::NEG_INFINITY {
                // The index ends where the members begin.
                return false;
            }
            if behind.is_some() && element.as_ref().starts_with(&start) {
                return true;
            }
            if !going || rows >= most {
                result = Ok(last.take().map_or(Cursor::End, Cursor::Name));
                return false;
            }
            match self.entry_row(&element) {
                // Two entries for one name are damage. The next step could not continue between them.
                Ok(row) if last.as_deref() == Some(row.member()) => {
                    result = Err(Error::Damaged(Damage::Index(Shown::new(row.member()))));
                    false
                }
                Ok(row) => {
                    last = Some(row.member().to_vec());
                    rows += 1;
                    going = visit(row);
                    true
                }
                Err(error) => {
                    result = Err(error);
                    false
                }
            }
        });
        result
    }

    /// The row of the member that an index entry points to.
    fn entry_row(&self, entry: &S::Name) -> Result<Row> {
        let Some((name, spill)) = split_entry(entry.as_ref()).filter(|_| self.is_entry(entry.as_ref())) else {
            return Err(Error::Damaged(Damage::Stray));
        };
        let element = self.element_of(name, spill);
        let score = self.store.score(&element).filter(|score| *score > f64::NEG_INFINITY);
        let score = score.ok_or_else(|| Error::Damaged(Damage::Index(Shown::new(name))))?;
        let decoded = self.decode(&element, score)?;
        Ok(self.row_of(&element, decoded, 0))
    }

    /// Scans with the server's cursor. The server returns a small sorted set as a whole. If that is too much for one
    /// step, the members are returned in the order of their names, starting after `behind`.
    fn scan_server(
        &self,
        from: u64,
        behind: Option<&[u8]>,
        step: Step,
        visit: &mut dyn FnMut(Row) -> bool,
    ) -> Result<Cursor> {
        let (mut cursor, mut rows, mut stride, mut in_vain) = (from, 0, STRIDE, 0);
        loop {
            let wanted = step.count.saturating_sub(rows).clamp(1, stride);
            let (next, mut elements) = self.store.scan(cursor, wanted)?;
            elements.retain(|element| self.marker.as_ref().is_none_or(|m| m.as_ref() != element.as_ref()));
            let found = elements.len() as u64;
            if found == self.members()? && (found > step.most || behind.is_some()) {
                return self.scan_whole(elements, behind, step.most, visit);
            }
            if rows + found > step.most {
                // Fetch fewer elements at a time if possible. Otherwise leave these for the next step.
                if wanted > 1 {
                    stride = 1;
                    continue;
                }
                if rows > 0 {
                    return Ok(Cursor::Server(cursor));
                }
            }
            let mut going = true;
            for element in elements {
                going &= self.visit_element(element, visit)?;
            }
            (cursor, rows) = (next, rows + found);
            in_vain += u64::from(found == 0);
            if cursor == 0 {
                return Ok(Cursor::End);
            }
            if !going || rows >= step.count || in_vain >= MOST_IN_VAIN {
                return Ok(Cursor::Server(cursor));
            }
        }
    }

    /// One step through all members in the order of their names, starting after `behind`.
    fn scan_whole(
        &self,
        mut elements: Vec<S::Name>,
        behind: Option<&[u8]>,
        most: u64,
        visit: &mut dyn FnMut(Row) -> bool,
    ) -> Result<Cursor> {
        elements.retain(|element| behind.is_none_or(|name| element.as_ref() > name));
        elements.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
        let has_more = elements.len() as u64 > most;
        elements.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        let last = elements.last().filter(|_| has_more).map(|element| element.as_ref().to_vec());
        for element in elements {
            self.visit_element(element, visit)?;
        }
        Ok(last.map_or(Cursor::End, Cursor::Name))
    }

    fn visit_element(&self, element: S::Name, visit: &mut dyn FnMut(Row) -> bool) -> Result<bool> {
        let Some(score) = self.store.score(&element) else { return Ok(true) };
        let decoded = self.decode(&element, score)?;
        Ok(visit(self.row_of(&element, decoded, 0)))
    }
}
