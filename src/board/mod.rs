//! Boards, independent of the server: schema, order, ranks and writes on a `Store`.

mod attributes;
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
mod store;
mod value;
mod verify;
mod write;

#[cfg(any(test, fuzzing))]
#[allow(missing_docs)]
pub mod tests;

use std::cell::Cell;
use std::sync::Arc;

pub use attributes::{parse_object, remove_attributes, set_attributes, Attributes};
pub use create::Alteration;
pub use layout::Decoded;
pub use listing::{Group, Row};
pub use load::{lines_of, Line, Loaded};
pub use marker::forget_schemas;
pub use periods::{client_period, parse_offset, parse_unit, Period, PeriodUnit, Periods};
pub use point::Point;
pub use rank::{FieldBound, Kind};
pub use scan::{Cursor, Step};
pub use schema::{Order, Rules, Schema, Update};
pub use schema_text::{client_data, parse_update};
pub use store::{Direction, Only, Put, Spot, Store};
pub use value::{Tuple, Value};
pub use write::{Pairs, Plan, Scores, Standing, Start, Write, Written};

use crate::error::{Damage, Error, Result, Shown};
use index::joined;
use marker::{marker_text, Marker};

/// A sorted set as a leaderboard.
pub struct Board<S: Store> {
    /// The sorted set.
    pub store: S,
    /// The element that carries the schema.
    marker: Option<S::Name>,
    schema: Arc<Schema>,
    order: Order,
    /// How many members a spilled board has, once they were counted.
    counted: Cell<Option<u64>>,
    /// How many distinct scores `DENSE` ranks may still hop over.
    hops: Cell<u64>,
    /// Names of members that left, if the command wants to know them.
    left: Option<Vec<S::Name>>,
}

/// A member that was found on the board.
pub struct Found<N> {
    /// Its element.
    pub element: N,
    /// Its index entry, on a spilled board.
    entry: Option<N>,
    /// The score of the element.
    pub score: f64,
    /// What the element says.
    pub decoded: Decoded,
}

/// The element of a member, its score, and on a spilled board its index entry.
type Located<N> = (N, f64, Option<N>);

impl<S: Store> Board<S> {
    /// Opens a board that is not damaged, or does not exist yet.
    #[inline(always)]
    pub fn open(store: S) -> Result<Board<S>> {
        let marker = Marker::find(&store)?;
        Ok(Board::with_marker(store, marker))
    }

    /// Opens a board to repair it: the marker may come after other elements.
    pub fn open_damaged(store: S) -> Result<Board<S>> {
        let marker = Marker::find_anywhere(&store)?;
        Ok(Board::with_marker(store, marker))
    }

    /// Opens a board to set its schema: the marker may be lost.
    pub fn open_to_adopt(store: S) -> Result<Board<S>> {
        let marker = match Marker::find(&store) {
            Err(Error::Damaged(Damage::MarkerLost)) => None,
            found => found?,
        };
        Ok(Board::with_marker(store, marker))
    }

    /// The board of a store whose marker was found.
    #[inline(always)]
    pub fn with_marker(store: S, marker: Option<Marker<S::Name>>) -> Board<S> {
        let (marker, schema) = match marker {
            Some(Marker { element, schema }) => (Some(element), schema),
            None => (None, marker::implicit_schema()),
        };
        Board {
            order: schema.order(),
            store,
            marker,
            schema,
            counted: Cell::new(None),
            hops: Cell::new(u64::MAX),
            left: None,
        }
    }

    /// How members are ordered.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Treats a missing board as if it had this schema.
    pub fn assume(&mut self, schema: impl Into<Arc<Schema>>) {
        self.schema = schema.into();
        self.order = self.schema.order();
    }

    /// The text of the schema, if the board has one of its own.
    pub fn schema_text(&self) -> Option<&[u8]> {
        self.marker.as_ref().map(|marker| marker_text(marker.as_ref()))
    }

    /// Bounds what `DENSE` ranks may cost.
    pub fn set_max_hops(&self, hops: u64) {
        self.hops.set(hops);
    }

    /// From now on the names of members that leave are kept, for [`Board::left`].
    pub fn note_leavers(&mut self) {
        self.left = Some(Vec::new());
    }

    /// The members that left and are not back.
    pub fn left(&self) -> &[S::Name] {
        self.left.as_deref().unwrap_or_default()
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

    /// How many members there are.
    #[inline(always)]
    pub fn members(&self) -> Result<u64> {
        let members = self.present()?;
        if self.schema.layout.spills() {
            let entries = self.store.card().saturating_sub(members + 1);
            if entries != members && self.store.card() > 0 {
                return Err(Error::Damaged(Damage::Count { members, entries }));
            }
        }
        Ok(members)
    }

    /// How many elements are above -inf. On a damaged board some may not be members, or be missing from the index.
    #[inline(always)]
    fn present(&self) -> Result<u64> {
        let card = self.store.card();
        if !self.schema.layout.spills() || card == 0 {
            return Ok(card.saturating_sub(u64::from(self.marker.is_some())));
        }
        self.count(card)
    }

    fn count(&self, card: u64) -> Result<u64> {
        if let Some(counted) = self.counted.get() {
            return Ok(counted);
        }
        let counted = card.saturating_sub(self.store.count_below(f64::NEG_INFINITY, true)?);
        self.counted.set(Some(counted));
        Ok(counted)
    }

    /// Checks that a spilled board has an odd number of elements: a marker, and two for each member. Writes use this,
    /// because counting members for each write would cost too much.
    fn check_size(&self) -> Result<()> {
        if self.schema.layout.spills() && self.store.card() > 0 && self.store.card().is_multiple_of(2) {
            return Err(Error::Damaged(Damage::Size));
        }
        Ok(())
    }

    /// Updates the cached number of members, so that a write counts them once.
    fn recount_by(&self, change: i64) {
        self.counted.set(self.counted.get().map(|members| members.saturating_add_signed(change)));
    }

    /// How many elements are below all members: the marker, and the index.
    fn foundation(&self) -> Result<u64> {
        Ok(self.store.card().saturating_sub(self.present()?))
    }

    #[inline(always)]
    fn decode(&self, element: &S::Name, score: f64) -> Result<Decoded> {
        match self.schema.layout.decode(score, element.as_ref()) {
            Some(decoded) => Ok(decoded),
            None => Err(Error::Undecodable(Shown::new(element.as_ref()))),
        }
    }

    /// The member's name inside its element.
    pub fn name_of<'e>(&self, element: &'e S::Name) -> &'e [u8] {
        element.as_ref().get(self.schema.layout.spill_len()..).unwrap_or_default()
    }

    /// The member of an element as a name of its own.
    fn member_of(&self, element: &S::Name) -> S::Name {
        if self.schema.layout.spills() {
            self.store.name(self.name_of(element))
        } else {
            element.clone()
        }
    }

    fn element(&self, spill: &[u8], member: &S::Name) -> S::Name {
        if spill.is_empty() {
            return member.clone();
        }
        joined([spill, member.as_ref(), &[]], |element| self.store.name(element))
    }

    /// A member that was found on the board.
    #[inline(always)]
    pub fn find(&self, member: &S::Name) -> Result<Option<Found<S::Name>>> {
        let found = self.find_indexed(member)?;
        if found.is_none() {
            // A member that lost its entry is still on the board.
            self.members()?;
        }
        Ok(found)
    }

    /// Whether a member is on the board, as far as its index says.
    pub fn has(&self, member: &S::Name) -> bool {
        matches!(self.locate(member), Ok(Some(_)))
    }

    /// A member as the index has it.
    #[inline(always)]
    fn find_indexed(&self, member: &S::Name) -> Result<Option<Found<S::Name>>> {
        let Some((element, score, entry)) = self.locate(member)? else { return Ok(None) };
        let decoded = self.decode(&element, score)?;
        Ok(Some(Found { element, entry, score, decoded }))
    }

    /// The element of a member, which may not decode.
    fn locate(&self, member: &S::Name) -> Result<Option<Located<S::Name>>> {
        if self.schema.layout.spills() {
            return if self.store.card() > 1 { self.look_up(member) } else { Ok(None) };
        }
        let found = self.store.score(member).map(|score| (member.clone(), score, None));
        // On a board with a schema no member is at -inf.
        Ok(found.filter(|(_, score, _)| self.marker.is_none() || *score > f64::NEG_INFINITY))
    }

    /// Positions count members from the best on, from 0.
    fn index_at(&self, position: u64) -> Result<u64> {
        Ok(match self.order {
            Order::Descending => self.store.card().saturating_sub(position + 1),
            Order::Ascending => self.foundation()? + position,
        })
    }

    /// The position of a member's element.
    pub fn position(&self, element: &S::Name) -> Result<Option<u64>> {
        let Some(index) = self.store.index(element)? else { return Ok(None) };
        Ok(Some(match self.order {
            Order::Descending => self.store.card().saturating_sub(index + 1),
            Order::Ascending => index.saturating_sub(self.foundation()?),
        }))
    }
}
