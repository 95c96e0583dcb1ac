//! Points in the order of a board: scores, then a tie time, then a name. No member has to be at a point.
//!
//! A point says where a page ended, so that the next page can begin there even if the board has changed. A point
//! without a time or without a name includes all members that are equal to it in the rest.

use super::members::{Place, Side};
use super::rank::RankKind;
use super::schema::{TieRule, Ties};
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

impl<S: SortedSet> Board<S> {
    /// The positions of up to `count` rows after a point: the first position, and the number of rows.
    pub fn positions_after(&mut self, point: &Point, count: u64) -> Result<(u64, u64)> {
        let first = self.position_of_point(point, Side::BetterOrAt)?;
        Ok((first, self.rows_from(first, count)?))
    }

    /// The positions of up to `count` rows just before a point: the first position, and the number of rows.
    pub fn positions_before(&mut self, point: &Point, count: u64) -> Result<(u64, u64)> {
        let end = self.position_of_point(point, Side::Better)?;
        Ok((end.saturating_sub(count), end.min(count)))
    }

    /// The rank that a new member at this point would get. The point of a member gives the rank of this member.
    pub fn rank_at_point(&mut self, point: &Point, kind: RankKind) -> Result<u64> {
        self.check_point(point)?;
        if kind != RankKind::Ordinal {
            return self.rank_for(&point.values, kind);
        }
        let leads_equals = self.is_named(point) || self.newcomer_leads_equals();
        Ok(1 + self.position_of_point(point, if leads_equals { Side::Better } else { Side::BetterOrAt })?)
    }

    /// Whether a new member would be better than the members with equal scores.
    fn newcomer_leads_equals(&self) -> bool {
        matches!(self.schema().rules.ties, Ties::ByTime(TieRule::Last, _))
    }

    /// Whether the point stands for a single name.
    fn is_named(&self, point: &Point) -> bool {
        point.member.is_some() && (point.at.is_some() || !self.schema().layout.has_time())
    }

    fn check_point(&self, point: &Point) -> Result<()> {
        if point.at.is_some() && !self.schema().layout.has_time() {
            return Err(Error::at_without_times());
        }
        Ok(())
    }

    fn position_of_point(&mut self, point: &Point, side: Side) -> Result<u64> {
        self.check_point(point)?;
        let name = point.member.filter(|_| self.is_named(point));
        let place = Place { values: &point.values, time: point.at, name };
        self.members.position_at(&place, side, None)
    }
}
