//! How members are stored. This is the only place that knows: everything above it speaks of members and of positions.
//!
//! A board is one sorted set. Each member has an element, whose score and bytes follow from its values and its tie time
//! (`layout`, `code`). A member that does not fit its score has index entries, by which it is found (`index`). The schema
//! is in an element of its own, the marker (`marker`). So there are two coordinates: the server counts *indexes* of
//! elements from the lowest, and boards count *positions* of members from the best. Only positions leave this module.
//!
//! `search` finds positions, `change` writes, `verify` and `adopt` deal with what core commands did to a board. What they
//! share is private to this module, so nothing outside can touch an element.

mod adopt;
mod change;
mod code;
mod index;
mod layout;
mod marker;
mod search;
#[cfg(any(test, fuzzing))]
pub mod tests;
mod verify;

use std::cmp::Ordering;
use std::sync::Arc;

pub use layout::Layout;
pub use marker::{forget_schemas, MARKER_START};
pub use search::{Near, Place, Side};
pub use verify::Report;

use super::schema::{Order, Schema};
use super::value::Tuple;
use crate::error::{Error, Result};
use crate::zset::{self, Direction, SortedSet, WalkStart};
use code::TOP_OF_INDEX;
use index::{needs_wrapping, split_entry, split_wrapped, wrapped, ENTRY_TAG, WRAPPED_TAG};
use layout::{Decoded, SortKey};
use marker::{marker_text, Marker};

/// The members of a board, in the sorted set that holds them.
pub struct Members<S: SortedSet> {
    set: S,
    /// The element that carries the schema.
    marker: Option<S::Element>,
    schema: Arc<Schema>,
    /// Unix milliseconds that tie times are counted from; 0 on a board without them.
    since: i64,
    order: Order,
    /// How many index entries there are, once that is known.
    entries: Option<u64>,
}

/// Where a member is in the sorted set.
#[derive(Clone, Debug)]
pub struct Stored<N> {
    element: N,
    /// Where the name begins in the element.
    name_at: usize,
    score: f64,
}

/// A member with its scores, and where they are stored.
#[derive(Clone, Debug)]
pub struct Member<N> {
    pub values: Tuple,
    /// The tie time in Unix milliseconds, where the board keeps times.
    pub time: Option<i64>,
    pub stored: Stored<N>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    Best,
    Worst,
}

impl<N: AsRef<[u8]>> Stored<N> {
    pub fn name(&self) -> &[u8] {
        self.element.as_ref().get(self.name_at..).unwrap_or_default()
    }

    /// Whether the member has index entries: its score does not hold all of its values, or its name is special.
    pub fn overflows(&self) -> bool {
        self.name_at > 0
    }

    /// What is left of the member's code behind the score.
    fn tail(&self) -> &[u8] {
        self.element.as_ref().get(1..self.name_at).unwrap_or_default()
    }
}

/// What an element of a board with this schema says. Not a method: during a walk the members are borrowed.
#[inline]
fn decode(schema: &Schema, since: i64, element: &[u8], score: f64) -> Result<Decoded> {
    match schema.layout.decode(score, element, since) {
        Some(decoded) => Ok(decoded),
        None => Err(Error::undecodable(element)),
    }
}

impl<S: SortedSet> Members<S> {
    /// Opens a board that is not damaged, or does not exist yet.
    #[inline]
    pub fn open(mut set: S) -> Result<Members<S>> {
        let marker = Marker::find(&mut set)?;
        Ok(Members::with_marker(set, marker))
    }

    /// Opens a board to repair it: the marker may come after other elements.
    pub fn open_damaged(mut set: S) -> Result<Members<S>> {
        let marker = match Marker::find_anywhere(&mut set)? {
            None => Marker::find(&mut set)?,
            found => found,
        };
        Ok(Members::with_marker(set, marker))
    }

    /// Opens a board to set its schema: the marker may be lost.
    pub fn open_to_adopt(mut set: S) -> Result<Members<S>> {
        let marker = match Marker::find(&mut set) {
            Err(error) if error == Error::marker_lost() => None,
            found => found?,
        };
        Ok(Members::with_marker(set, marker))
    }

    #[inline]
    fn with_marker(set: S, marker: Option<Marker<S::Element>>) -> Members<S> {
        let (marker, schema, since, entries) = match marker {
            Some(Marker { element, schema, since, has_entries }) => {
                (Some(element), schema, since, if has_entries { None } else { Some(0) })
            }
            None => (None, marker::implicit_schema(), 0, Some(0)),
        };
        Members { order: schema.order(), set, marker, schema, since, entries }
    }

    /// Gives the sorted set back, for what is done to the key as a whole.
    pub fn into_set(self) -> S {
        self.set
    }

    /// The name of the key.
    pub fn key(&self) -> &S::Element {
        self.set.key()
    }

    pub fn exists(&self) -> bool {
        !self.set.is_empty()
    }

    /// When the key expires, in Unix milliseconds.
    pub fn expiry(&self) -> Option<i64> {
        self.set.expiry()
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// What tie times are counted from, in Unix milliseconds; 0 on a board without them.
    pub fn since(&self) -> i64 {
        self.since
    }

    /// Treats a missing board as if it had this schema.
    pub fn use_schema(&mut self, schema: Arc<Schema>, since: i64) {
        self.order = schema.order();
        self.schema = schema;
        self.since = since;
    }

    pub fn schema_text(&self) -> Option<&[u8]> {
        self.marker.as_ref().map(|marker| marker_text(marker.as_ref()))
    }

    /// The order in which scores are read, from the best on.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Reads the board from the other end. Only for boards without a schema: a schema says it already.
    pub fn set_order(&mut self, order: Order) {
        self.order = order;
    }

    #[inline]
    pub fn len(&mut self) -> Result<u64> {
        Ok(self.set.len().saturating_sub(self.elements_below()?))
    }

    /// How many elements are below all members: the marker, and the index.
    fn elements_below(&mut self) -> Result<u64> {
        let marker = u64::from(self.marker.is_some());
        if let Some(entries) = self.entries {
            return Ok(marker + entries);
        }
        let below = self.set.count_below(TOP_OF_INDEX, true)?;
        self.entries = Some(below.saturating_sub(marker));
        Ok(below)
    }

    fn has_no_entries(&self) -> bool {
        self.entries == Some(0)
    }

    /// How many members have index entries.
    pub fn overflow(&mut self) -> Result<u64> {
        if self.has_no_entries() {
            return Ok(0);
        }
        let first_entries = self.set.count_below(index::lowest_first_entry(), false)?;
        Ok(self.set.count_below(TOP_OF_INDEX, true)?.saturating_sub(first_entries))
    }

    #[inline]
    pub fn find(&self, name: &S::Element) -> Result<Option<Member<S::Element>>> {
        let Some(stored) = self.locate(name)? else { return Ok(None) };
        let Decoded { values, time, .. } = decode(&self.schema, self.since, stored.element.as_ref(), stored.score)?;
        Ok(Some(Member { values, time, stored }))
    }

    /// Where a member is. What is there may not decode.
    #[inline]
    pub fn locate(&self, name: &S::Element) -> Result<Option<Stored<S::Element>>> {
        let is_coded = self.schema.layout.is_coded();
        if !is_coded || !needs_wrapping(name.as_ref()) {
            if let Some(score) = self.set.score(name) {
                // On a board with a schema no member is at -inf.
                let is_member = self.marker.is_none() || score > f64::NEG_INFINITY;
                return Ok(is_member.then(|| Stored { element: name.clone(), name_at: 0, score }));
            }
        }
        if !is_coded || self.has_no_entries() {
            return Ok(None);
        }
        index::look_up(&self.set, name.as_ref())
    }

    /// A member of this name, with these values and this time, as it would be stored.
    #[inline]
    pub fn member(&self, name: &S::Element, values: Tuple, time: Option<i64>) -> Member<S::Element> {
        let key = self.schema.layout.encode(&values, time.unwrap_or(0), self.since);
        Member { values, time, stored: self.stored_at(&key, name) }
    }

    /// A member of this name at a place.
    #[inline]
    fn stored_at(&self, key: &SortKey, name: &S::Element) -> Stored<S::Element> {
        let tail = if self.schema.layout.is_coded() { key.tail_before(name.as_ref()) } else { &[] };
        match tail {
            [] => Stored { element: name.clone(), name_at: 0, score: key.score },
            tail => Stored { element: wrapped::<S>(tail, name.as_ref()), name_at: 1 + tail.len(), score: key.score },
        }
    }

    /// An element that was read, which may not decode.
    fn stored(&self, element: S::Element, score: f64) -> Stored<S::Element> {
        let name_at = self.split(&element).map_or(0, |(tail, _)| 1 + tail.len());
        Stored { element, name_at, score }
    }

    /// The tail and the name of a member's element, if it is a wrapped one.
    fn split<'e>(&self, element: &'e S::Element) -> Option<(&'e [u8], &'e [u8])> {
        if self.schema.layout.is_coded() {
            split_wrapped(element.as_ref())
        } else {
            None
        }
    }

    /// The direction from the best element to the worst.
    fn direction(&self, towards: Towards) -> Direction {
        match (self.order, towards) {
            (Order::Descending, Towards::Worst) | (Order::Ascending, Towards::Best) => Direction::Down,
            (Order::Descending, Towards::Best) | (Order::Ascending, Towards::Worst) => Direction::Up,
        }
    }

    /// Compares two members. The better one is less.
    pub fn compare(&self, a: &Stored<S::Element>, b: &Stored<S::Element>) -> Ordering {
        self.best_first((a.score, a.element.as_ref()), (b.score, b.element.as_ref()))
    }

    /// Compares two elements by score and bytes. The better one is less.
    fn best_first(&self, a: (f64, &[u8]), b: (f64, &[u8])) -> Ordering {
        // A skiplist keeps the sign of a zero that a core command wrote. It does not matter for the order.
        let ascending = (a.0 + 0.0).total_cmp(&(b.0 + 0.0)).then_with(|| a.1.cmp(b.1));
        match self.order {
            Order::Descending => ascending.reverse(),
            Order::Ascending => ascending,
        }
    }

    /// Walks from a position on, over members only. A member near the position, whose own position is known, saves a search.
    pub fn walk(&mut self, from: u64, towards: Towards, near: Option<&Near<S::Element>>) -> Result<Walk<'_, S>> {
        let members = self.len()?;
        let reach = match towards {
            Towards::Worst => members.saturating_sub(from),
            Towards::Best if from < members => from + 1,
            Towards::Best => 0,
        };
        let towards_best = self.direction(Towards::Best);
        let known = near.and_then(|near| {
            let steps = near.position?.checked_sub(from)?;
            self.set.step((&near.stored.element, near.stored.score), steps, towards_best)
        });
        let start = WalkStart { index: self.index_at(from)?, element: known };
        let direction = self.direction(towards);
        let elements = if reach > 0 { Some(self.set.walk(start, direction)?) } else { None };
        let (schema, since) = (&*self.schema, self.since);
        Ok(Walk { elements, schema, since, left: reach, last: None, values: Tuple::new(), time: None })
    }

    /// About `count` members from the server's cursor on, and the next cursor; 0 at the end. Every member that stays during
    /// the whole scan is among them: one that fits its score has an element of its name, whatever its score does
    /// meanwhile, and of one that does not, the first index entry keeps its name.
    pub fn scan(&self, cursor: u64, count: u64) -> Result<(u64, Vec<S::Element>)> {
        let (next, elements) = self.set.scan(cursor, count)?;
        let mut names = Vec::with_capacity(elements.len());
        for element in elements {
            names.extend(self.scanned_name(element)?);
        }
        Ok((next, names))
    }

    /// The member that is returned when a scan meets an element.
    fn scanned_name(&self, element: S::Element) -> Result<Option<S::Element>> {
        if self.is_marker(&element) {
            return Ok(None);
        }
        if !self.schema.layout.is_coded() {
            return Ok(Some(element));
        }
        match element.as_ref().first() {
            Some(&ENTRY_TAG) => {
                let first = split_entry(element.as_ref()).filter(|(number, _)| *number == 0);
                Ok(first.map(|(_, name)| S::Element::from(name)))
            }
            // A wrapped member is returned when the scan meets its first entry.
            Some(&WRAPPED_TAG) => {
                let score = self.set.score(&element).unwrap_or(f64::NAN);
                decode(&self.schema, self.since, element.as_ref(), score)?;
                self.check_entries(&element).map(|()| None)
            }
            _ => Ok(Some(element)),
        }
    }

    fn is_marker(&self, element: &S::Element) -> bool {
        self.marker.as_ref().is_some_and(|marker| marker.as_ref() == element.as_ref())
    }
}

/// A walk over members in one direction. It lends their values: a list copies what it needs, and a count nothing.
pub struct Walk<'m, S: SortedSet + 'm> {
    elements: Option<zset::Walk<'m, S>>,
    schema: &'m Schema,
    since: i64,
    /// How many members are left: what lies behind the last one is not a member.
    left: u64,
    /// The score of the last member, and whether it is wrapped.
    last: Option<(f64, bool)>,
    /// What the last member has.
    values: Tuple,
    time: Option<i64>,
}

/// A member that a walk has reached.
pub struct Step<'w, N> {
    pub stored: Stored<N>,
    pub values: &'w Tuple,
    pub time: Option<i64>,
    /// Whether it has the same values as the one before.
    pub is_equal: bool,
}

impl<S: SortedSet> Walk<'_, S> {
    #[inline]
    pub fn next(&mut self) -> Result<Option<Step<'_, S::Element>>> {
        let Some((elements, left)) = self.elements.as_mut().zip(self.left.checked_sub(1)) else { return Ok(None) };
        let Some((element, score)) = elements.next_element()? else { return Ok(None) };
        self.left = left;
        let layout = &self.schema.layout;
        let is_wrapped = layout.is_coded() && element.as_ref().first().is_some_and(|first| *first <= WRAPPED_TAG);
        // Where nothing but the name stands behind the score, equal scores mean equal values and times.
        let (name_at, is_equal) = if self.last == Some((score, false)) && !is_wrapped {
            (0, true)
        } else {
            let Decoded { values, time, name_at } = decode(self.schema, self.since, element.as_ref(), score)?;
            let is_equal = self.last.is_some() && values.as_slice() == self.values.as_slice();
            (self.values, self.time) = (values, time);
            (name_at, is_equal)
        };
        self.last = Some((score, is_wrapped));
        Ok(Some(Step { stored: Stored { element, name_at, score }, values: &self.values, time: self.time, is_equal }))
    }

    /// The values of the member that the walk is at.
    pub fn into_values(self) -> Tuple {
        self.values
    }
}
