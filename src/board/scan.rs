//! Returns all members of a board in steps, while the board may change.
//!
//! The server's own cursor returns every member that stays on the board during the whole scan, whatever its score does
//! meanwhile. Only one that begins or ceases to fit its score between two steps can be missed (see `members`).

use std::hash::{DefaultHasher, Hash, Hasher};

use base64::prelude::{Engine, BASE64_URL_SAFE_NO_PAD};

use super::{Board, Row};
use crate::error::Result;
use crate::zset::SortedSet;

/// How many elements are fetched at a time with the server's cursor: few enough to take little time.
const STRIDE: u64 = 32;
/// A step ends after this many fetches without an element. A hash table that has shrunk can have many empty buckets.
const MAX_EMPTY_FETCHES: u64 = 100;
/// The first characters of cursors that are not numbers, as the server's are.
const NAME_TAG: u8 = b'n';
const WITHIN_TAG: u8 = b'w';

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanCursor {
    /// As an argument: the scan begins. As a result: it is over.
    End,
    Server(u64),
    /// After this name, on a board that one fetch returns as a whole.
    Name(Vec<u8>),
    /// After this name, within what a fetch at this cursor of the server returns: more than one reply may hold.
    Within {
        cursor: u64,
        name: Vec<u8>,
        seen: u64,
    },
}

impl ScanCursor {
    /// Parses a cursor. `None` if no scan can have returned it.
    pub fn parse(text: &[u8]) -> Option<ScanCursor> {
        match text {
            b"0" => Some(ScanCursor::End),
            [NAME_TAG, name @ ..] => BASE64_URL_SAFE_NO_PAD.decode(name).ok().map(ScanCursor::Name),
            [WITHIN_TAG, parts @ ..] => {
                let mut parts = std::str::from_utf8(parts).ok()?.splitn(3, '.');
                let (cursor, seen) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
                let name = BASE64_URL_SAFE_NO_PAD.decode(parts.next()?).ok()?;
                Some(ScanCursor::Within { cursor, name, seen })
            }
            number => std::str::from_utf8(number).ok()?.parse().ok().map(ScanCursor::Server),
        }
    }
}

impl std::fmt::Display for ScanCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ScanCursor::End => f.write_str("0"),
            ScanCursor::Server(cursor) => cursor.fmt(f),
            ScanCursor::Name(name) => write!(f, "{}{}", char::from(NAME_TAG), BASE64_URL_SAFE_NO_PAD.encode(name)),
            ScanCursor::Within { cursor, name, seen } => {
                let name = BASE64_URL_SAFE_NO_PAD.encode(name);
                write!(f, "{}{cursor}.{seen}.{name}", char::from(WITHIN_TAG))
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ScanStep {
    /// About this many rows.
    pub count: u64,
    pub most: u64,
}

impl<S: SortedSet> Board<S> {
    /// One step of a scan. Passes rows to `visit` until it returns false. The ranks of these rows have no meaning.
    /// Returns the next cursor. The server returns a small sorted set as a whole: if that is too much for one step, the
    /// members are returned in the order of their names.
    pub fn scan(
        &mut self,
        from: &ScanCursor,
        step: ScanStep,
        visit: &mut dyn FnMut(Row) -> bool,
    ) -> Result<ScanCursor> {
        let members = self.members.len()?;
        if members == 0 {
            return Ok(ScanCursor::End);
        }
        let (mut cursor, after) = match from {
            ScanCursor::End => (0, None),
            ScanCursor::Server(cursor) => (*cursor, None),
            ScanCursor::Name(name) => (0, Some(name.as_slice())),
            ScanCursor::Within { cursor, .. } => (*cursor, None),
        };
        let mut within = match from {
            ScanCursor::Within { name, seen, .. } => Some((name.as_slice(), *seen)),
            _ => None,
        };
        let (mut rows, mut stride, mut empty_fetches) = (0, STRIDE, 0);
        loop {
            let wanted = if within.is_some() { 1 } else { step.count.saturating_sub(rows).clamp(1, stride) };
            let (next, mut names) = self.members.scan(cursor, wanted)?;
            let found = names.len() as u64;
            if found == members && (found > step.most || after.is_some()) {
                return self.scan_whole(names, after, step.most, visit);
            }
            if rows + found > step.most {
                // Fetch fewer elements at a time if possible. Otherwise leave these for the next step.
                if wanted > 1 {
                    stride = 1;
                    continue;
                }
                if rows > 0 {
                    return Ok(ScanCursor::Server(cursor));
                }
            }
            if found > step.most || within.is_some() {
                names.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
                let returned = within.take().map_or(0, |(after, seen)| names_returned(&names, after, seen));
                let end = returned.saturating_add(usize::try_from(step.most).unwrap_or(usize::MAX));
                if let (true, Some(last)) = (end < names.len(), names.get(end - 1)) {
                    let seen = hash_of(names.iter().take(end));
                    for name in names.iter().take(end).skip(returned) {
                        self.visit_member(name, visit)?;
                    }
                    return Ok(ScanCursor::Within { cursor, name: last.as_ref().to_vec(), seen });
                }
                names.drain(..returned);
            }
            let mut going = true;
            for name in &names {
                going &= self.visit_member(name, visit)?;
            }
            (cursor, rows) = (next, rows + names.len() as u64);
            empty_fetches += u64::from(found == 0);
            if cursor == 0 {
                return Ok(ScanCursor::End);
            }
            if !going || rows >= step.count || empty_fetches >= MAX_EMPTY_FETCHES {
                return Ok(ScanCursor::Server(cursor));
            }
        }
    }

    /// One step through all members in the order of their names, starting after one.
    fn scan_whole(
        &self,
        mut names: Vec<S::Element>,
        after: Option<&[u8]>,
        most: u64,
        visit: &mut dyn FnMut(Row) -> bool,
    ) -> Result<ScanCursor> {
        names.retain(|name| after.is_none_or(|after| name.as_ref() > after));
        names.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
        let has_more = names.len() as u64 > most;
        names.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        for name in &names {
            self.visit_member(name, visit)?;
        }
        Ok(names.last().filter(|_| has_more).map_or(ScanCursor::End, |name| ScanCursor::Name(name.as_ref().to_vec())))
    }

    fn visit_member(&self, name: &S::Element, visit: &mut dyn FnMut(Row) -> bool) -> Result<bool> {
        Ok(match self.find(name)? {
            Some(member) => visit(Row::of(member, 0)),
            None => true,
        })
    }
}

/// How many of the names, which are in order, were returned up to this one. None if there are others now: when the server's
/// hash table grows or shrinks, a fetch returns other members. They are all returned then, some of them once more.
fn names_returned<N: AsRef<[u8]>>(names: &[N], after: &[u8], seen: u64) -> usize {
    let returned = names.partition_point(|name| name.as_ref() <= after);
    if hash_of(names.iter().take(returned)) == seen {
        returned
    } else {
        0
    }
}

fn hash_of<'n, N: AsRef<[u8]> + 'n>(names: impl Iterator<Item = &'n N>) -> u64 {
    let mut hasher = DefaultHasher::new();
    names.for_each(|name| name.as_ref().hash(&mut hasher));
    hasher.finish()
}
