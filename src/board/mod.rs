//! Boards: what a sorted set means under a schema, and everything that is asked of it or written to it.
//!
//! Nothing here knows of the server. A board works on any `zset::SortedSet`, so tests and fuzzing use one in memory. A
//! schema (`schema`, `schema_text`) decides the layout of elements (`layout`, `code`, `index`), which is kept in the
//! sorted set itself (`marker`). Reads are in `rank`, `listing`, `point` and `scan`, changes in `write`, `remove`,
//! `create` and `verify`. Only those four call the mutators of the sorted set.

mod attributes;
mod code;
mod create;
mod difference;
mod index;
mod layout;
mod listing;
mod load;
mod marker;
mod periods;
mod point;
mod pop;
mod rank;
mod remove;
mod scan;
mod schema;
mod schema_text;
mod value;
mod verify;
mod write;

#[cfg(any(test, fuzzing))]
pub mod tests;

use std::sync::Arc;

pub use attributes::{as_string, is_object, parse_object, remove_attributes, set_attributes, Attributes};
pub use create::renewed_since;
pub use layout::Decoded;
pub use listing::{Group, Row};
pub use load::{lines_of, LoadLine};
pub use marker::{forget_schemas, Marker, MARKER_START};
pub use periods::{Period, PeriodUnit, Periods};
pub use point::Point;
pub use rank::{FieldBound, RankKind};
pub use scan::{ScanCursor, ScanStep};
pub use schema::{Order, Rules, Schema, Update};
pub use schema_text::{client_data, Alteration, Creation, ALTER_SYNTAX, CREATE_SYNTAX};
pub use value::{Tuple, Value};
pub use write::{Detail, MemberChange, Pair, Pairs, Plan, Standing, WriteMode, WriteRequest, WriteResult};

use crate::error::{Error, Result};
use crate::zset::{Direction, SortedSet};
use code::TOP_OF_INDEX;
use index::{needs_wrapping, split_wrapped, wrapped};
use layout::SortKey;
use marker::marker_text;

pub struct Board<S: SortedSet> {
    pub store: S,
    /// The element that carries the schema.
    marker: Option<S::Element>,
    schema: Arc<Schema>,
    /// Unix milliseconds that tie times are counted from; 0 on a board without them.
    since: i64,
    order: Order,
    /// How many index entries there are, once that is known.
    entries: Option<u64>,
    /// How many distinct scores `DENSE` ranks may still hop over.
    hops: u64,
    /// Names of members that left, if the command wants to know them.
    departed: Option<Vec<S::Element>>,
}

pub struct Found<N> {
    pub element: N,
    pub score: f64,
    pub decoded: Decoded,
}

/// What an element of a board with this schema says. Not a method: during a walk the board is borrowed.
#[inline]
fn decode(schema: &Schema, since: i64, element: &[u8], score: f64) -> Result<Decoded> {
    match schema.layout.decode(score, element, since) {
        Some(decoded) => Ok(decoded),
        None => Err(Error::undecodable(element)),
    }
}

/// The name of the member that has this element.
fn name_of<'e>(schema: &Schema, element: &'e [u8]) -> &'e [u8] {
    let wrapped = if schema.layout.is_coded() { split_wrapped(element) } else { None };
    wrapped.map_or(element, |(_, name)| name)
}

impl<S: SortedSet> Board<S> {
    /// Opens a board that is not damaged, or does not exist yet.
    #[inline]
    pub fn open(mut store: S) -> Result<Board<S>> {
        let marker = Marker::find(&mut store)?;
        Ok(Board::with_marker(store, marker))
    }

    /// Opens a board to repair it: the marker may come after other elements.
    pub fn open_damaged(mut store: S) -> Result<Board<S>> {
        let marker = match Marker::find_anywhere(&mut store)? {
            None => Marker::find(&mut store)?,
            found => found,
        };
        Ok(Board::with_marker(store, marker))
    }

    /// Opens a board to set its schema: the marker may be lost.
    pub fn open_to_adopt(mut store: S) -> Result<Board<S>> {
        let marker = match Marker::find(&mut store) {
            Err(error) if error == Error::marker_lost() => None,
            found => found?,
        };
        Ok(Board::with_marker(store, marker))
    }

    #[inline]
    pub fn with_marker(store: S, marker: Option<Marker<S::Element>>) -> Board<S> {
        let (marker, schema, since, entries) = match marker {
            Some(Marker { element, schema, since, has_entries }) => {
                (Some(element), schema, since, if has_entries { None } else { Some(0) })
            }
            None => (None, marker::implicit_schema(), 0, Some(0)),
        };
        Board { order: schema.order(), store, marker, schema, since, entries, hops: u64::MAX, departed: None }
    }

    /// The name of the key.
    pub fn key(&self) -> &S::Element {
        self.store.key()
    }

    pub fn exists(&self) -> bool {
        !self.store.is_empty()
    }

    /// When the key expires, in Unix milliseconds.
    pub fn expiry(&self) -> Option<i64> {
        self.store.expiry()
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// What tie times are counted from, in Unix milliseconds; `None` on a board without them.
    pub fn since(&self) -> Option<i64> {
        self.schema.layout.has_time().then_some(self.since)
    }

    /// Treats a missing board as if it had this schema.
    pub fn assume(&mut self, schema: impl Into<Arc<Schema>>, since: i64) {
        self.schema = schema.into();
        self.order = self.schema.order();
        self.since = since;
    }

    pub fn schema_text(&self) -> Option<&[u8]> {
        self.marker.as_ref().map(|marker| marker_text(marker.as_ref()))
    }

    pub fn set_max_hops(&mut self, hops: u64) {
        self.hops = hops;
    }

    /// How many hops `DENSE` ranks may still make.
    pub fn hops_left(&self) -> u64 {
        self.hops
    }

    /// From now on the names of members that leave are kept, for [`Board::departed`].
    pub fn note_departures(&mut self) {
        self.departed = Some(Vec::new());
    }

    pub fn departed(&self) -> &[S::Element] {
        self.departed.as_deref().unwrap_or_default()
    }

    /// The direction the board is read in, from the best on.
    fn direction(&self) -> Direction {
        match self.order {
            Order::Descending => Direction::Down,
            Order::Ascending => Direction::Up,
        }
    }

    /// Sets the direction in which the board is read. Only for boards without a schema: a schema says it already.
    pub fn read_from(&mut self, order: Order) -> Result<()> {
        if self.schema.explicit {
            return Err(Error::has_schema());
        }
        self.order = order;
        Ok(())
    }

    #[inline]
    pub fn members(&mut self) -> Result<u64> {
        Ok(self.store.len().saturating_sub(self.elements_below_members()?))
    }

    /// How many elements are below all members: the marker, and the index.
    fn elements_below_members(&mut self) -> Result<u64> {
        let marker = u64::from(self.marker.is_some());
        if let Some(entries) = self.entries {
            return Ok(marker + entries);
        }
        let below = self.store.count_below(TOP_OF_INDEX, true)?;
        self.entries = Some(below.saturating_sub(marker));
        Ok(below)
    }

    fn has_no_entries(&self) -> bool {
        self.entries == Some(0)
    }

    /// How many members have index entries, because their score does not hold all of their values or their name is special.
    pub fn overflow(&mut self) -> Result<u64> {
        if self.has_no_entries() {
            return Ok(0);
        }
        let first_entries = self.store.count_below(index::lowest_first_entry(), false)?;
        Ok(self.store.count_below(TOP_OF_INDEX, true)?.saturating_sub(first_entries))
    }

    #[inline]
    fn decode(&self, element: &S::Element, score: f64) -> Result<Decoded> {
        decode(&self.schema, self.since, element.as_ref(), score)
    }

    pub fn name_of<'e>(&self, element: &'e S::Element) -> &'e [u8] {
        name_of(&self.schema, element.as_ref())
    }

    fn member_of(&self, element: &S::Element) -> S::Element {
        self.split(element).map_or_else(|| element.clone(), |(_, name)| S::Element::from(name))
    }

    /// The element that a member has at this place.
    fn element(&self, key: &SortKey, member: &S::Element) -> S::Element {
        if !self.schema.layout.is_coded() {
            return member.clone();
        }
        match key.tail_before(member.as_ref()) {
            [] => member.clone(),
            tail => wrapped::<S>(tail, member.as_ref()),
        }
    }

    #[inline]
    pub fn find(&self, member: &S::Element) -> Result<Option<Found<S::Element>>> {
        let Some((element, score)) = self.locate(member)? else { return Ok(None) };
        let decoded = self.decode(&element, score)?;
        Ok(Some(Found { element, score, decoded }))
    }

    pub fn has(&self, member: &S::Element) -> bool {
        matches!(self.locate(member), Ok(Some(_)))
    }

    /// The element and the score of a member. They may not decode.
    fn locate(&self, member: &S::Element) -> Result<Option<(S::Element, f64)>> {
        let is_coded = self.schema.layout.is_coded();
        if !is_coded || !needs_wrapping(member.as_ref()) {
            if let Some(score) = self.store.score(member) {
                // On a board with a schema no member is at -inf.
                let is_member = self.marker.is_none() || score > f64::NEG_INFINITY;
                return Ok(is_member.then(|| (member.clone(), score)));
            }
        }
        if !is_coded || self.has_no_entries() {
            return Ok(None);
        }
        self.look_up_wrapped(member.as_ref())
    }

    /// The index of the element at a position. Positions count members from the best, indexes count elements from the lowest;
    /// both from 0.
    fn index_at(&mut self, position: u64) -> Result<u64> {
        Ok(match self.order {
            Order::Descending => self.store.len().saturating_sub(position + 1),
            Order::Ascending => self.elements_below_members()? + position,
        })
    }

    pub fn position(&mut self, element: &S::Element) -> Result<Option<u64>> {
        let Some(index) = self.store.index(element)? else { return Ok(None) };
        Ok(Some(match self.order {
            Order::Descending => self.store.len().saturating_sub(index + 1),
            Order::Ascending => index.saturating_sub(self.elements_below_members()?),
        }))
    }
}
