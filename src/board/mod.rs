//! What a board is, apart from the server: schema, order, ranks and writes over a `Store`.

mod attributes;
mod companion;
mod layout;
mod listing;
mod marker;
#[cfg(any(test, fuzzing))]
mod model;
#[cfg(any(test, fuzzing))]
mod naive;
mod rank;
mod schema;
mod schema_text;
mod store;
mod value;
mod verify;
mod write;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::sync::Arc;

use smallvec::SmallVec;

pub use attributes::parse_object;
pub use companion::{ID_ENTRY, MEMBER_ENTRY};
pub use layout::Decoded;
pub use listing::Row;
pub use marker::{forget_schemas, Id, Marker};
pub use rank::{FieldBound, Kind};
pub use schema::{Order, Rules, Schema, Update};
pub use schema_text::parse_update;
pub use store::{Companion, Direction, Entry, Only, Part, Put, Store};
pub use value::{Tuple, Value};
pub use write::{Leavers, Outcome, WriteRules};

/// What fuzz targets need to make boards of their own.
#[cfg(any(test, fuzzing))]
pub mod fuzzing {
    pub use super::layout::Place;
    pub use super::marker::{marker_bytes, MARKER_START};
    pub use super::model::Model;
    pub use super::naive::Naive;
    pub use super::schema::{Field, FieldType, Rules, Schema, TieRule, Ties, TimeUnit};
}

use crate::error::{Error, Result, Shown};
use marker::MARKER_START;

pub struct Board<S: Store> {
    pub store: S,
    marker: Option<Marker<S::Name>>,
    /// Where markers are in the sorted set: the index of the first, and how many.
    markers_at: (u64, u64),
    schema: Arc<Schema>,
    order: Order,
    /// The `members` companion was seen to fit the sorted set, or there is none to need.
    members_fit: Cell<bool>,
    /// Whether the `data` companion is this board's, once it was asked for.
    has_data: Cell<Option<bool>>,
}

/// A member as it stands on the board.
pub struct Found<N> {
    pub element: N,
    pub score: f64,
    pub decoded: Decoded,
}

impl<S: Store> Board<S> {
    pub fn open(store: S) -> Result<Board<S>> {
        let marker = Marker::find(&store)?;
        Ok(Board::marked(store, marker))
    }

    /// A board whose marker was looked for.
    pub fn marked(store: S, marker: Option<Marker<S::Name>>) -> Board<S> {
        let schema = marker.as_ref().and_then(|marker| marker.schema.clone()).unwrap_or_else(marker::implicit_schema);
        Board {
            order: schema.order(),
            members_fit: Cell::new(!schema.layout.spills()),
            has_data: Cell::new(None),
            markers_at: Marker::place(marker.as_ref()),
            store,
            marker,
            schema,
        }
    }

    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Treats a missing board as if it had this schema.
    pub fn assume(&mut self, schema: Schema) {
        self.order = schema.order();
        self.schema = Arc::new(schema);
    }

    pub fn marker(&self) -> Option<&Marker<S::Name>> {
        self.marker.as_ref()
    }

    /// The direction the board is read in, from the best on.
    fn direction(&self) -> Direction {
        match self.order {
            Order::Descending => Direction::Down,
            Order::Ascending => Direction::Up,
        }
    }

    /// Reads the board from one end, whatever its schema; only for boards that have none.
    pub fn read_from(&mut self, order: Order) -> Result<()> {
        if self.schema.explicit {
            return Err(Error::HasSchema);
        }
        self.order = order;
        Ok(())
    }

    pub fn members(&self) -> u64 {
        self.store.card().saturating_sub(self.markers())
    }

    fn markers(&self) -> u64 {
        self.markers_at.1
    }

    /// After a change of this element, which may have stood before the marker, or stand there now.
    fn follow_marker(&mut self, changed: &S::Name) -> Result<()> {
        if changed.as_ref() < MARKER_START && self.marker.is_some() && !self.schema.explicit {
            self.set_marker(Marker::find(&self.store)?);
        }
        Ok(())
    }

    fn set_marker(&mut self, marker: Option<Marker<S::Name>>) {
        self.markers_at = Marker::place(marker.as_ref());
        self.marker = marker;
    }

    fn is_marker(&self, element: &S::Name, score: f64) -> bool {
        score == f64::NEG_INFINITY && element.as_ref().starts_with(MARKER_START)
    }

    fn decode(&self, element: &S::Name, score: f64) -> Result<Decoded> {
        let decoded = self.schema.layout.decode(score, element.as_ref());
        decoded.ok_or_else(|| Error::Undecodable(Shown::new(element.as_ref())))
    }

    /// The member's name inside its element.
    fn member_of<'e>(&self, element: &'e S::Name) -> &'e [u8] {
        element.as_ref().get(self.schema.layout.spill_len()..).unwrap_or_default()
    }

    fn element(&self, spill: &[u8], member: &S::Name) -> S::Name {
        if spill.is_empty() {
            return member.clone();
        }
        let mut element: SmallVec<[u8; 128]> = SmallVec::from_slice(spill);
        element.extend_from_slice(member.as_ref());
        self.store.name(&element)
    }

    pub fn find(&self, member: &S::Name) -> Result<Option<Found<S::Name>>> {
        let Some((element, score)) = self.locate(member)? else { return Ok(None) };
        let decoded = self.decode(&element, score)?;
        Ok(Some(Found { element, score, decoded }))
    }

    /// The element of a member and its score, which may not decode.
    fn locate(&self, member: &S::Name) -> Result<Option<(S::Name, f64)>> {
        let element = if self.schema.layout.spills() {
            if !self.members_fit.get() && !self.check_members()? {
                return Err(Error::MembersOutOfStep);
            }
            match self.store.entry(Part::Members, member.as_ref())? {
                Some(spill) => self.element(spill.as_ref(), member),
                None => return Ok(None),
            }
        } else {
            member.clone()
        };
        let Some(score) = self.store.score(&element) else {
            // A spilled element that its entry names must be there.
            return if self.schema.layout.spills() { Err(Error::MembersOutOfStep) } else { Ok(None) };
        };
        Ok(Some((element, score)).filter(|(element, score)| !self.is_marker(element, *score)))
    }

    /// Whether the `members` companion fits the sorted set.
    fn check_members(&self) -> Result<bool> {
        let fits = match &self.marker {
            None => true,
            Some(marker) => match self.store.companion(Part::Members, &marker.id)? {
                Companion::Stamped(entries) => entries == self.members(),
                Companion::Absent => self.members() == 0,
                Companion::Foreign => false,
            },
        };
        self.members_fit.set(fits);
        Ok(fits)
    }

    /// An index of the sorted set for one that counts members only, from the lowest on.
    fn store_index(&self, ascending: u64) -> u64 {
        let (first, count) = self.markers_at;
        if ascending >= first {
            ascending + count
        } else {
            ascending
        }
    }

    /// Positions count members from the best on, from 0.
    fn index_at(&self, position: u64) -> u64 {
        self.store_index(match self.order {
            Order::Descending => self.members().saturating_sub(position + 1),
            Order::Ascending => position,
        })
    }

    pub fn position(&self, element: &S::Name) -> Result<Option<u64>> {
        let Some(index) = self.store.index(element)? else { return Ok(None) };
        let (first, count) = self.markers_at;
        let ascending = if index > first { index.saturating_sub(count) } else { index };
        Ok(Some(match self.order {
            Order::Descending => self.members().saturating_sub(ascending + 1),
            Order::Ascending => ascending,
        }))
    }
}
