//! What the module needs of a sorted set. Boards, schedules, the logs of limiters and leases are all kept in one.
//!
//! `server::ZSet` is a sorted set on an open key. [`MemorySet`] is one in memory, for tests and fuzzing. Both have the
//! few methods that a server documents; everything else is built on them here, so both behave alike.
//!
//! A server allows one iterator on an open key, and no change while it is used. So a [`Cursor`] borrows the set mutably:
//! a second one, or a change during a walk, does not compile. Cursors move in one direction only.

use std::ops::{Bound, RangeBounds};
use std::vec;

use crate::error::Result;

#[cfg(any(test, fuzzing))]
mod memory;
#[cfg(any(test, fuzzing))]
pub use memory::MemorySet;

/// How far from an end, or inside a group of equal scores, stepping is cheaper than a call that jumps. Small in tests,
/// whose sets are small, so that they jump too.
const NEAR: u64 = if cfg!(test) { 3 } else { 64 };
/// Elements fetched by the first call where a cursor cannot start: most walks are short. Each further call fetches twice
/// as many, up to `LARGEST_CHUNK`.
const FIRST_CHUNK: u64 = if cfg!(test) { 1 } else { 16 };
const LARGEST_CHUNK: u64 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Up,
    Down,
}

/// Which elements a write may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Condition {
    #[default]
    Any,
    New,
    Existing,
    /// New, or existing with a lower score.
    Raise,
    /// New, or existing with a higher score.
    Lower,
    ExistingRaise,
    ExistingLower,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutResult {
    Added,
    Changed,
    Nothing,
}

/// Where a walk begins.
pub struct WalkStart<E> {
    pub index: u64,
    /// This element and its score, if they are known: looking them up costs as much as many steps.
    pub element: Option<(E, f64)>,
}

impl<E> From<u64> for WalkStart<E> {
    fn from(index: u64) -> WalkStart<E> {
        WalkStart { index, element: None }
    }
}

/// Returns elements in one direction.
pub trait Cursor<'s>: Iterator<Item = (<Self::Set as SortedSet>::Element, f64)> {
    type Set: SortedSet;

    /// Passes the next element without reading it. Returns whether there was one.
    fn skip_one(&mut self) -> bool;

    fn into_set(self) -> &'s mut Self::Set;
}

/// Indexes count from the lowest element. A key that does not exist is an empty sorted set.
pub trait SortedSet: Sized {
    type Element: AsRef<[u8]> + Clone + for<'b> From<&'b [u8]>;
    type Cursor<'s>: Cursor<'s, Set = Self> + Iterator<Item = (Self::Element, f64)>
    where
        Self: 's;

    /// The name of the key.
    fn key(&self) -> &Self::Element;
    fn len(&self) -> u64;
    fn score(&self, element: &Self::Element) -> Option<f64>;
    fn index(&self, element: &Self::Element) -> Result<Option<u64>>;
    /// The elements between two indexes, both included.
    fn range(&self, first: u64, last: u64) -> Result<Vec<(Self::Element, f64)>>;
    /// The elements with scores in a range.
    fn cursor(&mut self, scores: impl RangeBounds<f64>, direction: Direction) -> Self::Cursor<'_>;
    /// About `count` elements from the server's cursor on, and the next cursor; 0 at the end.
    fn scan(&self, cursor: u64, count: u64) -> Result<(u64, Vec<Self::Element>)>;
    /// When the key expires, in Unix milliseconds.
    fn expiry(&self) -> Option<i64>;

    fn put(&mut self, element: &Self::Element, score: f64, only: Condition) -> PutResult;
    /// Whether the element was there.
    fn remove(&mut self, element: &Self::Element) -> bool;
    /// Removes the elements between two indexes, both included.
    fn remove_indexes(&mut self, first: u64, last: u64) -> Result<()>;
    /// Removes the elements with scores from 0 to this one, both included.
    fn remove_through(&mut self, score: i64) -> Result<()>;
    /// Removes everything, in constant time. The expiry goes with it.
    fn unlink(&mut self);
    fn expire_at(&mut self, at_ms: i64);

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn first(&mut self, scores: impl RangeBounds<f64>) -> Option<(Self::Element, f64)> {
        self.cursor(scores, Direction::Up).next()
    }

    fn last(&mut self, scores: impl RangeBounds<f64>) -> Option<(Self::Element, f64)> {
        self.cursor(scores, Direction::Down).next()
    }

    /// Whether any element has a score in a range.
    fn has_any(&mut self, scores: impl RangeBounds<f64>) -> bool {
        self.cursor(scores, Direction::Up).skip_one()
    }

    /// How many elements have exactly this score; counts up to `most`.
    fn count_at(&mut self, score: f64, most: u64) -> u64 {
        let mut cursor = self.cursor(score..=score, Direction::Up);
        let mut count = 0;
        while count < most && cursor.skip_one() {
            count += 1;
        }
        count
    }

    /// How many elements have a score below (`inclusive`: or at) this one. Asks for the index of the element at the edge:
    /// a `ZCOUNT` would have to print and to parse the score.
    fn count_below(&mut self, score: f64, inclusive: bool) -> Result<u64> {
        let min = if inclusive { Bound::Excluded(score) } else { Bound::Included(score) };
        match self.first((min, Bound::Unbounded)) {
            Some((element, _)) => Ok(self.index(&element)?.unwrap_or(0)),
            None => Ok(self.len()),
        }
    }

    fn at(&mut self, index: u64) -> Result<Option<(Self::Element, f64)>> {
        let Some(above) = self.len().checked_sub(index).and_then(|from_here| from_here.checked_sub(1)) else {
            return Ok(None);
        };
        let (steps, direction) = if above < index { (above, Direction::Down) } else { (index, Direction::Up) };
        if steps > NEAR {
            return Ok(self.range(index, index)?.pop());
        }
        let mut cursor = self.cursor(.., direction);
        (0..steps).for_each(|_| _ = cursor.skip_one());
        Ok(cursor.next())
    }

    /// The element this many steps from one whose score is known; `None` if there is none, or it is too far to step there.
    fn step(&mut self, from: (&Self::Element, f64), steps: u64, direction: Direction) -> Option<(Self::Element, f64)> {
        if steps > NEAR {
            return None;
        }
        let mut cursor = self.cursor(scores_from(from.1, direction), direction);
        let found = find(&mut cursor, from.0)?;
        match steps.checked_sub(1) {
            None => Some(found),
            Some(between) => {
                (0..between).for_each(|_| _ = cursor.skip_one());
                cursor.next()
            }
        }
    }

    /// Walks from an index on.
    fn walk(&mut self, from: impl Into<WalkStart<Self::Element>>, direction: Direction) -> Result<Walk<'_, Self>> {
        let WalkStart { index, element } = from.into();
        let Some(above) = self.len().checked_sub(index).and_then(|from_here| from_here.checked_sub(1)) else {
            return Ok(Walk::chunks(self, None, direction));
        };
        let steps = if direction == Direction::Up { index } else { above };
        if element.is_none() && steps <= NEAR {
            let mut cursor = self.cursor(.., direction);
            (0..steps).for_each(|_| _ = cursor.skip_one());
            return Ok(Walk::Steps { first: None, cursor });
        }
        let first = match element {
            Some(known) => Some(known),
            None => self.range(index, index)?.pop(),
        };
        let Some((first, score)) = first else { return Ok(Walk::chunks(self, None, direction)) };
        // A cursor can only start at the edge of a group of equal scores.
        let mut cursor = self.cursor(scores_from(score, direction), direction);
        Ok(match find(&mut cursor, &first) {
            first @ Some(_) => Walk::Steps { first, cursor },
            None => Walk::chunks(cursor.into_set(), Some(index), direction),
        })
    }
}

/// The scores that a cursor from this one on passes.
fn scores_from(score: f64, direction: Direction) -> (Bound<f64>, Bound<f64>) {
    match direction {
        Direction::Up => (Bound::Included(score), Bound::Unbounded),
        Direction::Down => (Bound::Unbounded, Bound::Included(score)),
    }
}

/// Moves a cursor behind an element, if that is near.
fn find<E: AsRef<[u8]>>(cursor: &mut impl Iterator<Item = (E, f64)>, element: &E) -> Option<(E, f64)> {
    cursor.take(NEAR as usize + 1).find(|(other, _)| other.as_ref() == element.as_ref())
}

/// A walk from an index on: with a cursor where it can start there, otherwise with calls.
pub enum Walk<'s, S: SortedSet + 's> {
    Steps {
        /// What the cursor has just passed.
        first: Option<(S::Element, f64)>,
        cursor: S::Cursor<'s>,
    },
    Chunks {
        set: &'s mut S,
        /// Where the next chunk begins; `None` at the end.
        next: Option<u64>,
        length: u64,
        direction: Direction,
        /// In the order of the walk.
        fetched: vec::IntoIter<(S::Element, f64)>,
    },
}

impl<'s, S: SortedSet> Walk<'s, S> {
    fn chunks(set: &'s mut S, next: Option<u64>, direction: Direction) -> Walk<'s, S> {
        Walk::Chunks { set, next, length: FIRST_CHUNK, direction, fetched: Vec::new().into_iter() }
    }

    // Not inlined, it adds 2 % to the instructions of RANK.STATS.
    #[inline]
    pub fn next_element(&mut self) -> Result<Option<(S::Element, f64)>> {
        match self {
            Walk::Steps { first, cursor } => Ok(first.take().or_else(|| cursor.next())),
            Walk::Chunks { set, next, length, direction, fetched } => {
                if let Some(found) = fetched.next() {
                    return Ok(Some(found));
                }
                let Some(index) = next.filter(|index| *index < set.len()) else { return Ok(None) };
                let mut chunk;
                match direction {
                    Direction::Up => {
                        let last = index.saturating_add(*length - 1);
                        chunk = set.range(index, last)?;
                        *next = last.checked_add(1);
                    }
                    Direction::Down => {
                        let first = index.saturating_sub(*length - 1);
                        chunk = set.range(first, index)?;
                        chunk.reverse();
                        *next = first.checked_sub(1);
                    }
                }
                *length = (*length * 2).min(LARGEST_CHUNK);
                *fetched = chunk.into_iter();
                Ok(fetched.next())
            }
        }
    }
}

/// The bounds of a range of scores as a server takes them: each with whether it is excluded.
pub fn score_bounds(scores: &impl RangeBounds<f64>) -> [(f64, bool); 2] {
    let bound = |bound: Bound<&f64>, unbounded| match bound {
        Bound::Included(score) => (*score, false),
        Bound::Excluded(score) => (*score, true),
        Bound::Unbounded => (unbounded, false),
    };
    [bound(scores.start_bound(), f64::NEG_INFINITY), bound(scores.end_bound(), f64::INFINITY)]
}
