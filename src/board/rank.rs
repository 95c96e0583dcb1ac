//! Ranks: how many members, or groups of equal members, are better. Reads only.

use super::members::{Member, Near, Place, Side, Towards};
use super::schema::{Order, Ties};
use super::value::{Tuple, Value};
use super::Board;
use crate::error::{Error, Result};
use crate::number::{floor_of_decimal, parse_extended, parse_integer};
use crate::zset::SortedSet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankKind {
    /// Better members.
    Competition,
    /// Better distinct values.
    Dense,
    /// Members before this one in the board's order.
    Ordinal,
}

/// Longer groups are hopped over instead of stepped through.
pub(super) const LONG_GROUP: u64 = if cfg!(test) { 3 } else { 64 };

impl<S: SortedSet> Board<S> {
    pub fn default_kind(&self) -> RankKind {
        match self.schema().rules.ties {
            Ties::Shared => RankKind::Competition,
            Ties::ByTime(..) => RankKind::Ordinal,
        }
    }

    pub fn rank(&mut self, member: &Member<S::Element>, kind: RankKind) -> Result<u64> {
        Ok(1 + match kind {
            RankKind::Competition => self.better(&member.values, Some(member))?,
            RankKind::Dense => self.better_groups(&member.values, None)?,
            RankKind::Ordinal => self.members.position(&member.stored)?,
        })
    }

    /// The rank that a newcomer with these values would get, behind its equals.
    pub fn rank_for(&mut self, values: &[Value], kind: RankKind) -> Result<u64> {
        Ok(1 + match kind {
            RankKind::Competition => self.better(values, None)?,
            RankKind::Dense => self.better_groups(values, None)?,
            RankKind::Ordinal => self.members.position_at(&Place::of(values), Side::BetterOrAt, None)?,
        })
    }

    /// How many members are better than these values. A member that has them makes the search shorter.
    #[inline]
    pub fn better(&mut self, values: &[Value], own: Option<&Member<S::Element>>) -> Result<u64> {
        let near = own.map(|own| Near { stored: &own.stored, position: None });
        self.members.position_at(&Place::of(values), Side::Better, near)
    }

    pub fn worse(&mut self, values: &[Value]) -> Result<u64> {
        let end = self.members.position_at(&Place::of(values), Side::BetterOrAt, None)?;
        Ok(self.members.len()?.saturating_sub(end))
    }

    /// Counts the distinct values on the board that are better than these; stops after `until`. A caller that has the rank of
    /// a better member passes its values, and so counts no value twice.
    pub fn better_groups(&mut self, values: &[Value], until: Option<&Tuple>) -> Result<u64> {
        let Some(nearest) = self.better(values, None)?.checked_sub(1) else { return Ok(0) };
        let (mut groups, most) = (0, self.hops);
        let walked = self.walk_groups(nearest, Towards::Best, &mut |values, _| {
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
        let members = self.members.len()?;
        if groups >= members {
            return Ok(members);
        }
        let (mut seen, mut end) = (0, members);
        self.walk_groups(from, Towards::Worst, &mut |_, position| {
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
        towards: Towards,
        visit: &mut dyn FnMut(&Tuple, u64) -> Result<bool>,
    ) -> Result<()> {
        let mut next = Some(from);
        while let Some(start) = next {
            let mut walk = self.members.walk(start, towards, None)?;
            let (mut steps, mut run) = (0, 0);
            while run < LONG_GROUP {
                let Some(step) = walk.next()? else { return Ok(()) };
                if !step.is_equal {
                    let position = if towards == Towards::Worst { start + steps } else { start - steps };
                    if !visit(step.values, position)? {
                        return Ok(());
                    }
                    run = 0;
                }
                run += 1;
                steps += 1;
            }
            let values = walk.into_values();
            next = match towards {
                Towards::Worst => Some(self.members.position_at(&Place::of(&values), Side::BetterOrAt, None)?),
                Towards::Best => self.better(&values, None)?.checked_sub(1),
            };
        }
        Ok(())
    }

    /// The positions of the members with these values: the first, and the one after the last.
    pub fn group_positions(&mut self, own: &Member<S::Element>) -> Result<(u64, u64)> {
        let first = self.better(&own.values, Some(own))?;
        Ok((first, self.members.position_at(&Place::of(&own.values), Side::BetterOrAt, None)?))
    }

    /// The positions of the members whose first field lies between two bounds: the first, and the one after the last.
    pub fn first_field_positions(&mut self, min: FieldBound, max: FieldBound) -> Result<(u64, u64)> {
        let (min, max) = (self.field_value(min, false), self.field_value(max, true));
        let (Some(min), Some(max)) = (min, max) else { return Ok((0, 0)) };
        let ((best, without_best), (worst, without_worst)) = match self.members.order() {
            Order::Descending => (max, min),
            Order::Ascending => (min, max),
        };
        let side = |counts_equals| if counts_equals { Side::BetterOrAt } else { Side::Better };
        let first = self.members.position_at(&Place::of(&[best]), side(without_best), None)?;
        let end = self.members.position_at(&Place::of(&[worst]), side(!without_worst), None)?;
        Ok(if first < end { (first, end) } else { (0, 0) })
    }

    /// The value of the first field that a bound stands for, and whether it is excluded; `None` if no value of the field is
    /// within the bound.
    fn field_value(&self, bound: FieldBound, is_max: bool) -> Option<(Value, bool)> {
        match self.schema().fields().first().and_then(|field| field.kind.bounds()) {
            None => Some((Value::Float(bound.value.as_f64()), bound.exclusive)),
            Some(bounds) => Some((Value::Integer(bound.nearest_integer(bounds, is_max)?), false)),
        }
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
