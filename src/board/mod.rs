//! Boards: what a sorted set means under a schema, and everything that is asked of it or written to it.
//!
//! Nothing here knows of the server. A board works on any `zset::SortedSet`, so tests and fuzzing use one in memory. How
//! members are stored is the matter of `members` alone; all else speaks of members and of their positions, which count
//! from the best, from 0. A schema (`schema`, `schema_text`) says how they are ordered. Reads are in `rank`, `listing`,
//! `point` and `scan`, changes in `write`, `remove` and `create`.

mod attributes;
mod create;
mod difference;
mod listing;
mod load;
mod members;
mod periods;
mod point;
mod rank;
mod remove;
mod scan;
mod schema;
mod schema_text;
mod value;
mod write;

#[cfg(any(test, fuzzing))]
pub mod tests;

use std::cmp::Ordering;
use std::sync::Arc;

pub use attributes::{as_string, is_object, parse_object, remove_attributes, set_attributes, Attributes};
pub use create::renewed_since;
pub use listing::{Group, Row};
pub use load::{lines_of, LoadLine};
pub use members::{forget_schemas, Member, Report, Stored, MARKER_START};
pub use periods::{Period, PeriodUnit, Periods};
pub use point::Point;
pub use rank::{FieldBound, RankKind};
pub use scan::{ScanCursor, ScanStep};
pub use schema::{Order, Rules, Schema, Update};
pub use schema_text::{client_data, Alteration, Creation, ALTER_SYNTAX, CREATE_SYNTAX};
pub use value::{Tuple, Value};
pub use write::{MemberChange, Pair, Pairs, Plan, ReportLevel, WriteMode, WriteRequest, WriteResult};

use crate::error::{Error, Result};
use crate::zset::SortedSet;
use members::Members;

pub struct Board<S: SortedSet> {
    members: Members<S>,
    /// How many distinct scores `DENSE` ranks may still hop over.
    hops: u64,
}

impl<S: SortedSet> Board<S> {
    /// Opens a board that is not damaged, or does not exist yet.
    #[inline]
    pub fn open(set: S) -> Result<Board<S>> {
        Members::open(set).map(Board::of)
    }

    /// Opens a board to repair it: the marker may come after other elements.
    pub fn open_damaged(set: S) -> Result<Board<S>> {
        Members::open_damaged(set).map(Board::of)
    }

    /// Opens a board to set its schema: the marker may be lost.
    pub fn open_to_adopt(set: S) -> Result<Board<S>> {
        Members::open_to_adopt(set).map(Board::of)
    }

    #[inline]
    fn of(members: Members<S>) -> Board<S> {
        Board { members, hops: u64::MAX }
    }

    /// Gives the key back, to rename it.
    pub fn into_set(self) -> S {
        self.members.into_set()
    }

    /// The name of the key.
    pub fn key(&self) -> &S::Element {
        self.members.key()
    }

    pub fn exists(&self) -> bool {
        self.members.exists()
    }

    /// When the key expires, in Unix milliseconds.
    pub fn expiry(&self) -> Option<i64> {
        self.members.expiry()
    }

    pub fn expire_at(&mut self, at_ms: i64) {
        self.members.expire_at(at_ms);
    }

    pub fn schema(&self) -> &Arc<Schema> {
        self.members.schema()
    }

    /// What tie times are counted from, in Unix milliseconds; `None` on a board without them.
    pub fn since(&self) -> Option<i64> {
        self.schema().layout.has_time().then_some(self.members.since())
    }

    /// Treats a missing board as if it had this schema.
    pub fn use_schema(&mut self, schema: impl Into<Arc<Schema>>, since: i64) {
        self.members.use_schema(schema.into(), since);
    }

    pub fn schema_text(&self) -> Option<&[u8]> {
        self.members.schema_text()
    }

    pub fn set_max_hops(&mut self, hops: u64) {
        self.hops = hops;
    }

    /// How many hops `DENSE` ranks may still make.
    pub fn hops_left(&self) -> u64 {
        self.hops
    }

    /// Sets the direction in which the board is read. Only for boards without a schema: a schema says it already.
    pub fn read_from(&mut self, order: Order) -> Result<()> {
        if self.schema().explicit {
            return Err(Error::has_schema());
        }
        self.members.set_order(order);
        Ok(())
    }

    #[inline]
    pub fn members(&mut self) -> Result<u64> {
        self.members.len()
    }

    /// How many members have index entries, because their score does not hold all of their values or their name is special.
    pub fn overflow(&mut self) -> Result<u64> {
        self.members.overflow()
    }

    #[inline]
    pub fn find(&self, name: &S::Element) -> Result<Option<Member<S::Element>>> {
        self.members.find(name)
    }

    pub fn has(&self, name: &S::Element) -> bool {
        matches!(self.members.locate(name), Ok(Some(_)))
    }

    pub fn position(&mut self, of: &Stored<S::Element>) -> Result<u64> {
        self.members.position(of)
    }

    /// Compares two members. The better one is less.
    pub fn compare(&self, a: &Stored<S::Element>, b: &Stored<S::Element>) -> Ordering {
        self.members.compare(a, b)
    }

    /// One step of about `count` elements of a check for damage, or of its repair. It ends early when it is `late`.
    pub fn verify(&mut self, from: u64, count: u64, repair: bool, late: impl Fn() -> bool) -> Result<Report> {
        self.members.verify(from, count, repair, late)
    }
}
