//! Ranks: how many members, or groups of equal members, are better.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::code::TOP_OF_INDEX;
use super::index::WRAPPED_TAG;
use super::layout::SortKey;
use super::schema::{Order, Ties};
use super::store::{Direction, Store};
use super::value::{Tuple, Value};
use super::{Board, Found};
use crate::error::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
    /// The bytes are a whole element, not the beginning of several.
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

/// Few elements usually share a score. Up to this many are checked one by one; beyond it, positions are bisected.
/// It is small in tests, whose boards are small, so that they bisect too.
const NEARBY: u64 = if cfg!(test) { 2 } else { 4 };

/// Longer groups are hopped over instead of stepped through.
pub(super) const LONG_GROUP: u64 = if cfg!(test) { 3 } else { 64 };

impl<S: Store> Board<S> {
    pub fn default_kind(&self) -> Kind {
        match self.schema.rules.ties {
            Ties::Shared => Kind::Competition,
            Ties::ByTime(..) => Kind::Ordinal,
        }
    }

    pub fn rank(&self, found: &Found<S::Name>, kind: Kind) -> Result<u64> {
        Ok(1 + match kind {
            Kind::Competition => self.better(&found.decoded.values, Some(found))?,
            Kind::Dense => self.better_groups(&found.decoded.values, None)?,
            Kind::Ordinal => self.position(&found.element)?.unwrap_or(0),
        })
    }

    /// The rank that a newcomer with these values would get, behind its equals.
    pub fn rank_for(&self, values: &[Value], kind: Kind) -> Result<u64> {
        let members = self.members()?;
        Ok(1 + match kind {
            Kind::Competition => self.better(values, None)?,
            Kind::Dense => self.better_groups(values, None)?,
            Kind::Ordinal => members.saturating_sub(self.worse(values)?),
        })
    }

    pub fn compare(&self, a: &Found<S::Name>, b: &Found<S::Name>) -> Ordering {
        self.best_first((a.score, a.element.as_ref()), (b.score, b.element.as_ref()))
    }

    /// The same for scores and elements.
    pub(super) fn best_first(&self, a: (f64, &[u8]), b: (f64, &[u8])) -> Ordering {
        // A skiplist keeps the sign of a zero that a core command wrote. It does not matter for the order.
        let ascending = (a.0 + 0.0).total_cmp(&(b.0 + 0.0)).then_with(|| a.1.cmp(b.1));
        match self.order {
            Order::Descending => ascending.reverse(),
            Order::Ascending => ascending,
        }
    }

    pub fn better(&self, values: &[Value], own: Option<&Found<S::Name>>) -> Result<u64> {
        let lone_score = match own {
            // A member that fits has its score with its equals alone.
            Some(own) if !self.schema.layout.has_time() && self.split(&own.element).is_none() => Some(own.score),
            _ => self.schema.layout.lone_score(values),
        };
        let index = match (lone_score, self.order) {
            (Some(score), order) => self.index_of_score(score, order == Order::Descending, own)?,
            (None, order) => self.index_of(&self.group_edge(values, order == Order::Descending), own)?,
        };
        self.better_than_index(index)
    }

    /// How many members are on the better side of an index between elements.
    pub(super) fn better_than_index(&self, index: u64) -> Result<u64> {
        Ok(match self.order {
            Order::Descending => self.store.card().saturating_sub(index),
            Order::Ascending => index.saturating_sub(self.elements_below_members()?),
        })
    }

    pub fn worse(&self, values: &[Value]) -> Result<u64> {
        let edge = self.group_edge(values, self.order == Order::Ascending);
        Ok(self.members()?.saturating_sub(self.better_than_index(self.index_of(&edge, None)?)?))
    }

    fn group_edge(&self, values: &[Value], above: bool) -> Edge {
        Edge::at(self.schema.layout.group_edge(values, above), above)
    }

    fn index_of_score(&self, score: f64, after: bool, own: Option<&Found<S::Name>>) -> Result<u64> {
        match own {
            Some(own) if own.score == score => self.store.count_below_own(&own.element, score, after),
            _ => self.store.count_below(score, after),
        }
    }

    /// How many elements are below the edge. `own` is a member of the group that the edge belongs to.
    pub(super) fn index_of(&self, edge: &Edge, own: Option<&Found<S::Name>>) -> Result<u64> {
        let score = edge.score;
        if edge.bytes.is_empty() && !edge.whole {
            return self.index_of_score(score, edge.after, own);
        }
        if let Some(own) = own {
            // Counting is cheaper than looking at names. A single member needs no name, and many names cost
            // too much.
            match self.store.count_at(score, NEARBY + 1) {
                1 => return Ok(self.store.index(&own.element)?.unwrap_or(0) + u64::from(edge.after)),
                count if count > NEARBY => return self.gallop(edge, self.store.index(&own.element)?.unwrap_or(0)),
                _ => {}
            }
        }
        // Start at the side of the score's group where the edge of a good member is.
        let direction = if edge.after { Direction::Down } else { Direction::Up };
        let mut steps = 0;
        let mut reached = true;
        self.store.walk_score(score, direction, &mut |element| {
            if edge.is_above(element.as_ref(), score) == edge.after {
                return false;
            }
            reached = steps < NEARBY;
            steps += u64::from(reached);
            reached
        });
        if reached {
            let outer = self.store.count_below(score, edge.after)?;
            return Ok(if edge.after { outer.saturating_sub(steps) } else { outer + steps });
        }
        self.bisect(edge, self.store.count_below(score, false)?, self.store.count_below(score, true)?)
    }

    fn index_is_below(&self, index: u64, edge: &Edge) -> Result<bool> {
        Ok(self.store.at(index)?.is_some_and(|(element, score)| edge.is_above(element.as_ref(), score)))
    }

    /// The edge's index, searched in steps that double from a member of its group on.
    fn gallop(&self, edge: &Edge, own: u64) -> Result<u64> {
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

    fn bisect(&self, edge: &Edge, mut low: u64, mut high: u64) -> Result<u64> {
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

    /// Uses up one of the distinct scores that a `DENSE` rank may pass.
    fn hop(&self) -> Result<()> {
        self.hops.set(self.hops.get().checked_sub(1).ok_or_else(|| Error::too_many_hops(crate::config::max_hops()))?);
        Ok(())
    }

    pub(super) fn towards_best(&self) -> Direction {
        match self.order {
            Order::Descending => Direction::Up,
            Order::Ascending => Direction::Down,
        }
    }

    pub(super) fn top_of_others(&self) -> f64 {
        if self.schema.layout.is_coded() {
            TOP_OF_INDEX
        } else {
            f64::NEG_INFINITY
        }
    }

    /// How many distinct values better than these are on the board, up to and with `until`. So several members, best
    /// first, share one walk.
    pub fn better_groups(&self, values: &[Value], until: Option<&Tuple>) -> Result<u64> {
        let mut groups = 0;
        if let Some(nearest) = self.better(values, None)?.checked_sub(1) {
            self.walk_groups(nearest, self.towards_best(), &mut |values, _| {
                self.hop()?;
                groups += 1;
                Ok(until != Some(values))
            })?;
        }
        Ok(groups)
    }

    /// The position after this many groups, starting from the first position of a group.
    pub fn skip_groups(&self, from: u64, groups: u64) -> Result<u64> {
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
        &self,
        from: u64,
        direction: Direction,
        visit: &mut dyn FnMut(&Tuple, u64) -> Result<bool>,
    ) -> Result<()> {
        let members = self.members()?;
        let towards_worst = direction == self.direction();
        let mut next = Some(from).filter(|from| *from < members);
        let mut last: Option<(f64, Tuple)> = None;
        while let Some(mut position) = next {
            let (mut run, mut is_over) = (0, false);
            self.store.walk(self.index_at(position)?.into(), direction, &mut |element, score| {
                // Where scores hold all values, members with equal scores are not decoded.
                let is_equal = matches!(&last, Some((own, _)) if *own == score && self.schema.layout.has_lone_scores());
                let values = if is_equal { None } else { Some(self.decode(&element, score)?.values) };
                if let Some(values) = values.filter(|values| last.as_ref().is_none_or(|(_, own)| own != values)) {
                    if !visit(&values, position)? {
                        is_over = true;
                        return Ok(false);
                    }
                    (last, run) = (Some((score, values)), 0);
                }
                run += 1;
                let step = if towards_worst { position.checked_add(1) } else { position.checked_sub(1) };
                is_over = step.is_none_or(|step| step >= members);
                position = step.unwrap_or(0);
                Ok(!is_over && run < LONG_GROUP)
            })?;
            let (false, Some((_, values))) = (is_over, &last) else { return Ok(()) };
            next = if towards_worst {
                Some(members.saturating_sub(self.worse(values)?)).filter(|position| *position < members)
            } else {
                self.better(values, None)?.checked_sub(1)
            };
        }
        Ok(())
    }

    /// The positions of the members with these values: the first, and the one after the last.
    pub fn group_positions(&self, values: &[Value], own: &Found<S::Name>) -> Result<(u64, u64)> {
        let first = self.better(values, Some(own))?;
        Ok((first, self.members()?.saturating_sub(self.worse(values)?)))
    }

    /// The positions of the members whose first field lies between two bounds.
    pub fn first_field_positions(&self, min: FieldBound, max: FieldBound) -> Result<(u64, u64)> {
        let members = self.members()?;
        let (Some(low), Some(high)) = (self.field_edge(min, false)?, self.field_edge(max, true)?) else {
            return Ok((0, 0));
        };
        let better_than = |edge| self.better_than_index(self.index_of(edge, None)?);
        let (low, high) = (better_than(&low)?, better_than(&high)?);
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

/// One end of a range over the first field, `(5` exclusive. Integers stay exact.
#[derive(Clone, Copy, Debug)]
pub struct FieldBound {
    /// The value, as near as a double can be.
    pub value: Value,
    /// What the client wrote, rounded down, and whether it was whole: for integer fields, where a double may be too coarse.
    pub floor: (i128, bool),
    pub exclusive: bool,
}

impl FieldBound {
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
