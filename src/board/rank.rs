//! Ranks: how many members, or groups of equal members, are better.
//!
//! Members with equal fields lie between two edges of the sorted set, and a rank is the number of elements beyond one of
//! them. Where a score holds all fields an edge is a score; inside a group of equal scores it is found by galloping from
//! a known member, or by bisection, so that no group is ever walked through. Reads only.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::code::TOP_OF_INDEX;
use super::index::WRAPPED_TAG;
use super::layout::SortKey;
use super::schema::{Order, Ties};
use super::value::{Tuple, Value};
use super::{decode, Board, Found};
use crate::error::{Error, Result};
use crate::number::{floor_of_decimal, parse_extended, parse_integer};
use crate::zset::{Direction, SortedSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankKind {
    /// Better members.
    Competition,
    /// Better distinct values.
    Dense,
    /// Members before this one in the board's order.
    Ordinal,
}

/// A point in the order of the sorted set, between elements.
pub(super) struct Edge {
    score: f64,
    /// What the elements at this score are compared with. If it is empty, the edge is before or after all of them.
    bytes: SmallVec<[u8; 32]>,
    /// The bytes are a whole element, not the beginning that several elements share.
    whole: bool,
    /// The edge is after all elements that are equal to it, not before them.
    after: bool,
}

impl Edge {
    /// Before or `after` all members at this place.
    pub fn at(key: SortKey, after: bool) -> Edge {
        let mut bytes = SmallVec::new();
        if !key.tail.is_empty() {
            bytes.push(WRAPPED_TAG);
            bytes.extend_from_slice(&key.tail);
        }
        Edge { score: key.score, bytes, whole: false, after }
    }

    /// Before or `after` one element, whether it is there or not.
    pub fn at_element(score: f64, element: &[u8], after: bool) -> Edge {
        Edge { score, bytes: element.into(), whole: true, after }
    }

    fn is_above(&self, element: &[u8], score: f64) -> bool {
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

/// Longer groups are hopped over instead of stepped through.
pub(super) const LONG_GROUP: u64 = if cfg!(test) { 3 } else { 64 };

impl<S: SortedSet> Board<S> {
    pub fn default_kind(&self) -> RankKind {
        match self.schema.rules.ties {
            Ties::Shared => RankKind::Competition,
            Ties::ByTime(..) => RankKind::Ordinal,
        }
    }

    pub fn rank(&mut self, found: &Found<S::Element>, kind: RankKind) -> Result<u64> {
        Ok(1 + match kind {
            RankKind::Competition => self.better(&found.decoded.values, Some(found))?,
            RankKind::Dense => self.better_groups(&found.decoded.values, None)?,
            RankKind::Ordinal => self.position(&found.element)?.unwrap_or(0),
        })
    }

    /// The rank that a newcomer with these values would get, behind its equals.
    pub fn rank_for(&mut self, values: &[Value], kind: RankKind) -> Result<u64> {
        let members = self.members()?;
        Ok(1 + match kind {
            RankKind::Competition => self.better(values, None)?,
            RankKind::Dense => self.better_groups(values, None)?,
            RankKind::Ordinal => members.saturating_sub(self.worse(values)?),
        })
    }

    /// Compares two members. The better one is less.
    pub fn compare(&self, a: &Found<S::Element>, b: &Found<S::Element>) -> Ordering {
        self.best_first((a.score, a.element.as_ref()), (b.score, b.element.as_ref()))
    }

    /// Compares two places by score and element. The better one is less.
    pub(super) fn best_first(&self, a: (f64, &[u8]), b: (f64, &[u8])) -> Ordering {
        // A skiplist keeps the sign of a zero that a core command wrote. It does not matter for the order.
        let ascending = (a.0 + 0.0).total_cmp(&(b.0 + 0.0)).then_with(|| a.1.cmp(b.1));
        match self.order {
            Order::Descending => ascending.reverse(),
            Order::Ascending => ascending,
        }
    }

    pub fn better(&mut self, values: &[Value], own: Option<&Found<S::Element>>) -> Result<u64> {
        let above = self.order == Order::Descending;
        let score = match own {
            // Only members with equal values have the score of a member that fits.
            Some(own) if !self.schema.layout.has_time() && self.split(&own.element).is_none() => Some(own.score),
            _ => self.schema.layout.score_only(values),
        };
        match score {
            Some(score) => {
                let index = self.index_of_score(score, above, own)?;
                self.better_than_index(index)
            }
            None => self.better_than_edge(&self.group_edge(values, above), own),
        }
    }

    pub(super) fn better_than_edge(&mut self, edge: &Edge, own: Option<&Found<S::Element>>) -> Result<u64> {
        let index = self.index_of(edge, own)?;
        self.better_than_index(index)
    }

    /// How many members are on the better side of an index between elements.
    pub(super) fn better_than_index(&mut self, index: u64) -> Result<u64> {
        Ok(match self.order {
            Order::Descending => self.store.len().saturating_sub(index),
            Order::Ascending => index.saturating_sub(self.elements_below_members()?),
        })
    }

    pub fn worse(&mut self, values: &[Value]) -> Result<u64> {
        let edge = self.group_edge(values, self.order == Order::Ascending);
        Ok(self.members()?.saturating_sub(self.better_than_edge(&edge, None)?))
    }

    fn group_edge(&self, values: &[Value], above: bool) -> Edge {
        Edge::at(self.schema.layout.group_edge(values, above), above)
    }

    fn index_of_score(&mut self, score: f64, after: bool, own: Option<&Found<S::Element>>) -> Result<u64> {
        match own {
            // If no other element has the score, there is no need to make a string of the element at the edge.
            Some(own) if own.score == score && self.store.count_at(score, 2) == 1 => {
                Ok(self.store.index(&own.element)?.unwrap_or(0) + u64::from(after))
            }
            _ => self.store.count_below(score, after),
        }
    }

    /// How many elements are below the edge. `own` is a member of the group that the edge belongs to.
    fn index_of(&mut self, edge: &Edge, own: Option<&Found<S::Element>>) -> Result<u64> {
        let score = edge.score;
        if edge.bytes.is_empty() && !edge.whole {
            return self.index_of_score(score, edge.after, own);
        }
        match own {
            // Most members are alone at their score, which is cheaper to find out than to compare names.
            Some(own) => {
                let index = self.store.index(&own.element)?.unwrap_or(0);
                if self.store.count_at(score, 2) == 1 {
                    Ok(index + u64::from(edge.after))
                } else {
                    self.gallop(edge, index)
                }
            }
            None => {
                let (first, end) = (self.store.count_below(score, false)?, self.store.count_below(score, true)?);
                self.bisect(edge, first, end)
            }
        }
    }

    fn index_is_below(&mut self, index: u64, edge: &Edge) -> Result<bool> {
        Ok(self.store.at(index)?.is_some_and(|(element, score)| edge.is_above(element.as_ref(), score)))
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

    pub(super) fn towards_best(&self) -> Direction {
        match self.order {
            Order::Descending => Direction::Up,
            Order::Ascending => Direction::Down,
        }
    }

    /// Members have scores above this one; the marker and the index do not.
    pub(super) fn score_below_members(&self) -> f64 {
        if self.schema.layout.is_coded() {
            TOP_OF_INDEX
        } else {
            f64::NEG_INFINITY
        }
    }

    /// Counts the distinct values on the board that are better than these; stops after `until`. A caller that has the rank of
    /// a better member passes its values, and so counts no value twice.
    pub fn better_groups(&mut self, values: &[Value], until: Option<&Tuple>) -> Result<u64> {
        let Some(nearest) = self.better(values, None)?.checked_sub(1) else { return Ok(0) };
        let (mut groups, most) = (0, self.hops);
        let walked = self.walk_groups(nearest, self.towards_best(), &mut |values, _| {
            if groups == most {
                return Err(Error::too_many_hops(crate::config::MAX_HOPS.bound()));
            }
            groups += 1;
            Ok(until != Some(values))
        });
        self.hops -= groups;
        walked.map(|()| groups)
    }

    /// The position after this many groups, starting from the first position of a group.
    pub fn skip_groups(&mut self, from: u64, groups: u64) -> Result<u64> {
        let members = self.members()?;
        if groups >= members {
            return Ok(members);
        }
        let (mut seen, mut end) = (0, members);
        self.walk_groups(from, self.direction(), &mut |_, position| {
            seen += 1;
            if seen > groups {
                end = position;
            }
            Ok(seen <= groups)
        })?;
        Ok(end)
    }

    /// Visits the values of each group from a position on, and the position at which the walk meets it, until `visit` says
    /// false. Steps through small groups, and jumps over the rest of a large one.
    fn walk_groups(
        &mut self,
        from: u64,
        direction: Direction,
        visit: &mut dyn FnMut(&Tuple, u64) -> Result<bool>,
    ) -> Result<()> {
        let members = self.members()?;
        let towards_worst = direction == self.direction();
        let mut next = Some(from).filter(|from| *from < members);
        let mut last: Option<(f64, Tuple)> = None;
        while let Some(mut position) = next {
            let index = self.index_at(position)?;
            let mut run = 0;
            let mut walk = self.store.walk(index, direction)?;
            while run < LONG_GROUP {
                let Some((element, score)) = walk.next_element()? else { return Ok(()) };
                // Where scores hold all values, members with equal scores are not decoded.
                let is_equal = matches!(&last, Some((own, _)) if *own == score && self.schema.layout.scores_hold_all());
                if !is_equal {
                    let values = decode(&self.schema, self.since, element.as_ref(), score)?.values;
                    if last.as_ref().is_none_or(|(_, own)| *own != values) {
                        if !visit(&values, position)? {
                            return Ok(());
                        }
                        (last, run) = (Some((score, values)), 0);
                    }
                }
                run += 1;
                let step = if towards_worst { position.checked_add(1) } else { position.checked_sub(1) };
                match step.filter(|step| *step < members) {
                    Some(step) => position = step,
                    None => return Ok(()),
                }
            }
            drop(walk);
            let Some((_, values)) = &last else { return Ok(()) };
            next = if towards_worst {
                Some(members.saturating_sub(self.worse(values)?)).filter(|position| *position < members)
            } else {
                self.better(values, None)?.checked_sub(1)
            };
        }
        Ok(())
    }

    /// The positions of the members with these values: the first, and the one after the last.
    pub fn group_positions(&mut self, values: &[Value], own: &Found<S::Element>) -> Result<(u64, u64)> {
        let first = self.better(values, Some(own))?;
        Ok((first, self.members()?.saturating_sub(self.worse(values)?)))
    }

    /// The positions of the members whose first field lies between two bounds.
    pub fn first_field_positions(&mut self, min: FieldBound, max: FieldBound) -> Result<(u64, u64)> {
        let members = self.members()?;
        let (Some(low), Some(high)) = (self.field_edge(min, false)?, self.field_edge(max, true)?) else {
            return Ok((0, 0));
        };
        let (low, high) = (self.better_than_edge(&low, None)?, self.better_than_edge(&high, None)?);
        let (first, end) = match self.order {
            Order::Descending => (high, low),
            Order::Ascending => (low, high),
        };
        let (first, end) = (first.min(members), end.min(members));
        Ok(if first < end { (first, end) } else { (0, 0) })
    }

    /// Where a bound lies; `None` if no value of the field is within it.
    fn field_edge(&self, bound: FieldBound, is_max: bool) -> Result<Option<Edge>> {
        let integers = self.schema.fields().first().and_then(|field| field.kind.bounds());
        let (value, exclusive) = match (integers, bound) {
            (None, FieldBound { value, exclusive, .. }) => (Value::Float(value.as_f64()), exclusive),
            (Some(bounds), bound) => match bound.nearest_integer(bounds, is_max) {
                Some(value) => (Value::Integer(value), false),
                None => return Ok(None),
            },
        };
        // A maximum includes its value unless exclusive, a minimum lies before it unless exclusive.
        let after = is_max != exclusive;
        Ok(Some(Edge::at(self.schema.layout.first_field_edge(value, after), after)))
    }
}

/// One end of a range of values of the first field, as in `5`, or `(5` to exclude the value. Integers stay exact.
#[derive(Clone, Copy, Debug)]
pub struct FieldBound {
    /// The value, as near as a double can be.
    pub value: Value,
    /// What the client wrote, rounded down, and whether it was whole: for integer fields, where a double may be too coarse.
    pub floor: (i128, bool),
    pub exclusive: bool,
}

impl FieldBound {
    /// Parses what a client wrote: a number, or `(` and a number.
    pub fn parse(word: &[u8], what: &str) -> Result<FieldBound> {
        let exclusive = word.starts_with(b"(");
        let text = word.strip_prefix(b"(").unwrap_or(word);
        // Integers first: they are exact beyond 2^53.
        let value = parse_integer(text).map(Value::Integer).or_else(|| parse_extended(text).map(Value::Float));
        let takes = "a number, inf or -inf, or ( and a number to exclude it";
        let bound = FieldBound::new(value.ok_or_else(|| Error::takes(what, takes, word))?, exclusive);
        Ok(FieldBound { floor: floor_of_decimal(text).unwrap_or(bound.floor), ..bound })
    }

    pub fn new(value: Value, exclusive: bool) -> FieldBound {
        let floor = match value {
            Value::Integer(value) => (i128::from(value), true),
            // Casts of doubles saturate: infinities and huge values end up beyond any field.
            Value::Float(value) => (value.floor() as i128, value.fract() == 0.0),
        };
        FieldBound { value, floor, exclusive }
    }

    /// The nearest integer that the bound lets in, or `None` if it lets in none of the field's.
    fn nearest_integer(self, (lo, hi): (i64, i64), is_max: bool) -> Option<i64> {
        let (floor, whole) = self.floor;
        if is_max {
            let highest = floor.saturating_sub(i128::from(whole && self.exclusive));
            (highest >= i128::from(lo)).then(|| highest.min(i128::from(hi)) as i64)
        } else {
            let lowest = floor.saturating_add(i128::from(!whole || self.exclusive));
            (lowest <= i128::from(hi)).then(|| lowest.max(i128::from(lo)) as i64)
        }
    }
}
