//! Points in the order of a board: scores, then a tie time, then a name. No member has to be at a point.
//!
//! A point says where a page ended, so that the next page can begin there even if the board has changed. A point
//! without a time or without a name includes all members that are equal to it in the rest.

use super::layout::SortKey;
use super::rank::{Edge, RankKind};
use super::schema::{Order, TieRule, Ties};
use super::value::Tuple;
use super::Board;
use crate::error::{Error, Result};
use crate::zset::SortedSet;

pub struct Point<'n> {
    pub values: Tuple,
    pub at: Option<i64>,
    /// The name. On a board with tie times it is ignored if `at` is `None`.
    pub member: Option<&'n [u8]>,
}

/// Whether the members that are equal to a point count as before it or behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Equals {
    Before,
    Behind,
}

impl<S: SortedSet> Board<S> {
    /// The positions of up to `count` rows after a point: the first position, and the number of rows.
    pub fn positions_after(&mut self, point: &Point, count: u64) -> Result<(u64, u64)> {
        let first = self.before_point(point, Equals::Before)?;
        Ok((first, self.members()?.saturating_sub(first).min(count)))
    }

    /// The positions of up to `count` rows just before a point: the first position, and the number of rows.
    pub fn positions_before(&mut self, point: &Point, count: u64) -> Result<(u64, u64)> {
        let end = self.before_point(point, Equals::Behind)?;
        Ok((end.saturating_sub(count), end.min(count)))
    }

    /// The rank that a new member at this point would get. The point of a member gives the rank of this member.
    pub fn rank_at_point(&mut self, point: &Point, kind: RankKind) -> Result<u64> {
        self.time_of(point)?;
        if kind != RankKind::Ordinal {
            return self.rank_for(&point.values, kind);
        }
        let equals = if self.is_named(point) || self.newcomer_leads_equals() { Equals::Behind } else { Equals::Before };
        Ok(1 + self.before_point(point, equals)?)
    }

    /// Whether a new member would be better than the members with equal scores.
    fn newcomer_leads_equals(&self) -> bool {
        matches!(self.schema.rules.ties, Ties::ByTime(TieRule::Last, _))
    }

    /// Whether the point stands for a single name.
    fn is_named(&self, point: &Point) -> bool {
        point.member.is_some() && (point.at.is_some() || !self.schema.layout.has_time())
    }

    fn time_of(&self, point: &Point) -> Result<Option<i64>> {
        let Some(at) = point.at else { return Ok(None) };
        if !self.schema.layout.has_time() {
            return Err(Error::at_without_times());
        }
        Ok(Some(at))
    }

    fn before_point(&mut self, point: &Point, equals: Equals) -> Result<u64> {
        let time = self.time_of(point)?;
        let layout = &self.schema.layout;
        // In the sorted set, the edge is either above or below the members that are equal to the point.
        let above = (self.order == Order::Descending) == (equals == Equals::Behind);
        let key: SortKey = match time {
            Some(time) => layout.encode(&point.values, time, self.since),
            None => layout.group_edge(&point.values, above),
        };
        let Some(name) = point.member.filter(|_| self.is_named(point)) else {
            return self.better_than_edge(&Edge::at(key, above), None);
        };
        let element = self.element(&key, &S::Element::from(name));
        // Usually the member is still there, and its index can be looked up without a search.
        let index = match self.store.score(&element) {
            Some(score) if score == key.score => self.store.index(&element)?.map(|index| index + u64::from(above)),
            _ => None,
        };
        match index {
            Some(index) => self.better_than_index(index),
            None => self.better_than_edge(&Edge::at_element(key.score, element.as_ref(), above), None),
        }
    }
}
