//! Positions: how many members are better than a place.
//!
//! Members at a place lie between two edges of the sorted set, and a position is the number of elements beyond one of them.
//! Where a score holds all of a place, an edge is a score. Inside a group of equal scores it is found by galloping from a
//! known member, or by bisection, so that no group is ever walked through.

use std::ops::Bound;

use smallvec::SmallVec;

use super::code::TOP_OF_INDEX;
use super::index::WRAPPED_TAG;
use super::layout::SortKey;
use super::{Members, Stored, Towards};
use crate::board::schema::Order;
use crate::board::value::Value;
use crate::error::Result;
use crate::zset::SortedSet;

/// A place in the order of a board, whether or not a member is there. What is left out stands for all members that are
/// equal in the rest.
#[derive(Clone, Copy, Debug)]
pub struct Place<'p> {
    /// The values of all fields, or of the first field alone.
    pub values: &'p [Value],
    /// The tie time in Unix milliseconds. Boards without times have none.
    pub time: Option<i64>,
    /// A name needs a time, on boards that have times.
    pub name: Option<&'p [u8]>,
}

impl<'p> Place<'p> {
    /// The place of all members with these values.
    pub fn of(values: &'p [Value]) -> Place<'p> {
        Place { values, time: None, name: None }
    }
}

/// Which members a position counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Better,
    BetterOrAt,
}

/// A member from which a search or a walk can start.
pub struct Near<'m, N> {
    pub stored: &'m Stored<N>,
    /// Its position, if that is known.
    pub position: Option<u64>,
}

/// A point in the order of the sorted set, between elements.
struct Edge {
    score: f64,
    /// What the elements at this score are compared with. If it is empty, the edge is before or after all of them.
    bytes: SmallVec<[u8; 32]>,
    /// The bytes are a whole element, not the beginning that several elements share.
    whole: bool,
    /// The edge is after all elements that are equal to it, not before them.
    after: bool,
}

impl Edge {
    /// Before or `after` all elements at this place.
    fn at(key: SortKey, after: bool) -> Edge {
        let mut bytes = SmallVec::new();
        if !key.tail.is_empty() {
            bytes.push(WRAPPED_TAG);
            bytes.extend_from_slice(&key.tail);
        }
        Edge { score: key.score, bytes, whole: false, after }
    }

    /// Before or `after` one element, whether it is there or not.
    fn at_element(score: f64, element: &[u8], after: bool) -> Edge {
        Edge { score, bytes: element.into(), whole: true, after }
    }

    /// Whether an element comes before the edge.
    fn is_after(&self, element: &[u8], score: f64) -> bool {
        if score != self.score {
            return score < self.score;
        }
        let length = if self.whole { element.len() } else { self.bytes.len() };
        let start = element.get(..length).unwrap_or(element);
        if self.after {
            start <= self.bytes.as_slice()
        } else {
            start < self.bytes.as_slice()
        }
    }
}

impl<S: SortedSet> Members<S> {
    /// The position of a member that was found on this board.
    pub fn position(&mut self, of: &Stored<S::Element>) -> Result<u64> {
        let index = self.set.index(&of.element)?;
        Ok(match (self.order, index) {
            (_, None) => 0,
            (Order::Descending, Some(index)) => self.set.len().saturating_sub(index + 1),
            (Order::Ascending, Some(index)) => index.saturating_sub(self.elements_below()?),
        })
    }

    /// How many members are better than a place, or better or at it: 0 to the number of members. `near` is a member at the
    /// place, if one is known.
    #[inline]
    pub fn position_at(&mut self, place: &Place, side: Side, near: Option<Near<S::Element>>) -> Result<u64> {
        // In the sorted set, the edge is either before or after the elements at the place.
        let after = (self.order == Order::Descending) == (side == Side::Better);
        let index = match self.score_of_place(place, near.as_ref()) {
            Some(score) => self.index_of_score(score, after, near.as_ref())?,
            None => self.index_of_place(place, after, near.as_ref())?,
        };
        Ok(match self.order {
            // Even the lowest value that a client can ask for lies above the marker.
            Order::Descending => self.set.len().saturating_sub(index.max(u64::from(self.marker.is_some()))),
            Order::Ascending => index.saturating_sub(self.elements_below()?),
        })
    }

    /// The score at which the members at a place are, and no others; `None` if no single score says that.
    #[inline]
    fn score_of_place(&self, place: &Place, near: Option<&Near<S::Element>>) -> Option<f64> {
        let layout = &self.schema.layout;
        match near {
            // Only members with equal values have the score of a member that fits.
            Some(Near { stored, .. }) if !stored.overflows() && !layout.has_time() => Some(stored.score),
            _ if place.name.is_some() || place.values.len() != self.schema.fields().len() => None,
            _ => layout.score_only(place.values),
        }
    }

    fn index_of_place(&mut self, place: &Place, after: bool, near: Option<&Near<S::Element>>) -> Result<u64> {
        let key = self.schema.layout.edge(place.values, place.time, self.since, after);
        let Some(name) = place.name else { return self.index_of_edge(&Edge::at(key, after), near) };
        let stored = self.stored_at(&key, &S::Element::from(name));
        // Usually the member is still there, and its index can be looked up without a search.
        if self.set.score(&stored.element) == Some(stored.score) {
            if let Some(index) = self.set.index(&stored.element)? {
                return Ok(index + u64::from(after));
            }
        }
        self.index_of_edge(&Edge::at_element(stored.score, stored.element.as_ref(), after), None)
    }

    /// The index of the element at a position.
    pub(super) fn index_at(&mut self, position: u64) -> Result<u64> {
        Ok(match self.order {
            Order::Descending => self.set.len().saturating_sub(position.saturating_add(1)),
            Order::Ascending => self.elements_below()?.saturating_add(position),
        })
    }

    fn index_of(&mut self, near: &Near<S::Element>) -> Result<u64> {
        match near.position {
            Some(position) => self.index_at(position),
            None => Ok(self.set.index(&near.stored.element)?.unwrap_or(0)),
        }
    }

    #[inline]
    fn index_of_score(&mut self, score: f64, after: bool, near: Option<&Near<S::Element>>) -> Result<u64> {
        match near {
            // If no other element has the score, there is no need to make a string of the element at the edge.
            Some(near) if near.stored.score == score && self.set.count_at(score, 2) == 1 => {
                Ok(self.index_of(near)? + u64::from(after))
            }
            _ => self.set.count_below(score, after),
        }
    }

    /// How many elements are below the edge. `near` is a member of the group that the edge belongs to.
    fn index_of_edge(&mut self, edge: &Edge, near: Option<&Near<S::Element>>) -> Result<u64> {
        let score = edge.score;
        if edge.bytes.is_empty() && !edge.whole {
            return self.index_of_score(score, edge.after, near);
        }
        match near {
            // Most members are alone at their score, which is cheaper to find out than to compare names.
            Some(near) => {
                let index = self.index_of(near)?;
                if self.set.count_at(score, 2) == 1 {
                    Ok(index + u64::from(edge.after))
                } else {
                    self.gallop(edge, index)
                }
            }
            None => {
                let (first, end) = (self.set.count_below(score, false)?, self.set.count_below(score, true)?);
                self.bisect(edge, first, end)
            }
        }
    }

    fn index_is_below(&mut self, index: u64, edge: &Edge) -> Result<bool> {
        Ok(self.set.at(index)?.is_some_and(|(element, score)| edge.is_after(element.as_ref(), score)))
    }

    /// The edge's index, searched in steps that double from a member of its group on.
    fn gallop(&mut self, edge: &Edge, own: u64) -> Result<u64> {
        let mut step = 1;
        if edge.after {
            let mut low = own + 1;
            while self.index_is_below(low + step - 1, edge)? {
                low += step;
                step *= 2;
            }
            return self.bisect(edge, low, low + step - 1);
        }
        let mut high = own;
        while high > 0 && !self.index_is_below(high.saturating_sub(step), edge)? {
            high = high.saturating_sub(step);
            step *= 2;
        }
        self.bisect(edge, high.saturating_sub(step), high)
    }

    fn bisect(&mut self, edge: &Edge, mut low: u64, mut high: u64) -> Result<u64> {
        while low < high {
            let middle = low + (high - low) / 2;
            if self.index_is_below(middle, edge)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Whether any member is worse than this one, by values and time. One look at the worst end.
    pub fn has_worse(&mut self, than: &Stored<S::Element>) -> bool {
        if !than.overflows() {
            // Members that share its score are equal: whoever is worse has a worse score.
            return match self.order {
                Order::Descending => self.set.has_any((self.below_members(), Bound::Excluded(than.score))),
                Order::Ascending => self.set.has_any((Bound::Excluded(than.score), Bound::Unbounded)),
            };
        }
        let Some(worst) = self.worst() else { return false };
        if worst.score == than.score && !worst.overflows() {
            // The score holds all of both codes, which are equal then: the other one is wrapped because of its name.
            return false;
        }
        self.best_first((than.score, than.tail()), (worst.score, worst.tail())).is_lt()
    }

    /// The worst member.
    pub(super) fn worst(&mut self) -> Option<Stored<S::Element>> {
        let (element, score) = self.elements_worst_first().next()?;
        Some(self.stored(element, score))
    }

    /// The elements of members, from the worst on. A cursor by score needs no call of a core command.
    pub(super) fn elements_worst_first(&mut self) -> S::Cursor<'_> {
        let scores = (self.below_members(), Bound::Unbounded);
        self.set.cursor(scores, self.direction(Towards::Best))
    }

    /// Members have scores above this bound; the marker and the index do not.
    fn below_members(&self) -> Bound<f64> {
        match (&self.marker, self.schema.layout.is_coded()) {
            (None, false) => Bound::Unbounded,
            (Some(_), false) => Bound::Excluded(f64::NEG_INFINITY),
            (_, true) => Bound::Excluded(TOP_OF_INDEX),
        }
    }
}
