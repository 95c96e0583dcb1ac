//! Rows and groups of rows, best first.

use super::rank::Kind;
use super::store::{Direction, Store};
use super::value::{Tuple, Value};
use super::Board;
use crate::error::Result;

/// One line of a board.
pub struct Row<'a> {
    pub rank: u64,
    pub member: &'a [u8],
    pub values: &'a [Value],
}

/// Keeps the rank while walking from the best to the worst. Members with equal values, `V`, are equal.
struct Counter<V> {
    kind: Kind,
    position: u64,
    rank: u64,
    last: Option<V>,
}

impl<V: Clone + PartialEq> Counter<V> {
    fn next(&mut self, values: &V) -> u64 {
        self.position += 1;
        if self.last.as_ref() != Some(values) {
            match self.kind {
                _ if self.last.is_none() => {}
                Kind::Competition => self.rank = self.position,
                Kind::Dense => self.rank += 1,
                Kind::Ordinal => {}
            }
            self.last = Some(values.clone());
        }
        if self.kind == Kind::Ordinal {
            self.rank = self.position;
        }
        self.rank
    }
}

impl<S: Store> Board<S> {
    /// How many of `count` rows from a position on there are.
    pub fn rows_from(&self, first: u64, count: u64) -> u64 {
        self.members().saturating_sub(first).min(count)
    }

    /// The rows from a position on. Who replies as they come asks `check_rows_decode` first.
    pub fn rows(&self, first: u64, count: u64, kind: Kind, visit: &mut dyn FnMut(Row) -> Result<()>) -> Result<()> {
        if self.rows_from(first, count) == 0 {
            return Ok(());
        }
        if self.schema.layout.is_plain() {
            let mut counter = self.counter::<f64>(first, kind)?;
            return self.elements(first, count, self.direction(), &mut |element, score| {
                let (rank, values) = (counter.next(&score), [Value::Float(score + 0.0)]);
                visit(Row { rank, member: element.as_ref(), values: &values })
            });
        }
        let mut counter = self.counter::<Tuple>(first, kind)?;
        self.elements(first, count, self.direction(), &mut |element, score| {
            let decoded = self.decode(&element, score)?;
            let rank = counter.next(&decoded.values);
            visit(Row { rank, member: self.member_of(&element), values: &decoded.values })
        })
    }

    /// For the ranks of members from a position on.
    fn counter<V>(&self, first: u64, kind: Kind) -> Result<Counter<V>> {
        Ok(Counter { kind, position: first, rank: self.rank_at(first, kind)?, last: None })
    }

    /// The groups of equal members between two positions at which groups begin: rank, names.
    pub fn groups(
        &self,
        first: u64,
        end: u64,
        kind: Kind,
        visit: impl FnMut(u64, &[S::Name]) -> Result<()>,
    ) -> Result<()> {
        if self.schema.layout.is_plain() {
            return self.groups_by(first, end, kind, |_, score| Ok(score), visit);
        }
        self.groups_by(first, end, kind, |element, score| Ok(self.decode(element, score)?.values), visit)
    }

    fn groups_by<V: Clone + PartialEq>(
        &self,
        first: u64,
        end: u64,
        kind: Kind,
        values_of: impl Fn(&S::Name, f64) -> Result<V>,
        mut visit: impl FnMut(u64, &[S::Name]) -> Result<()>,
    ) -> Result<()> {
        let count = end.saturating_sub(first);
        if self.rows_from(first, count) == 0 {
            return Ok(());
        }
        let mut counter = self.counter::<V>(first, kind)?;
        let mut names: Vec<S::Name> = Vec::new();
        let mut rank_of_group = 0;
        let by_name = self.lists_backwards();
        let mut close = |names: &mut Vec<S::Name>, rank: u64| {
            if by_name {
                names.reverse();
            }
            let result = visit(rank, names);
            names.clear();
            result
        };
        self.elements(first, count, self.direction(), &mut |element, score| {
            let values = values_of(&element, score)?;
            let begins = counter.last.as_ref() != Some(&values);
            if begins && !names.is_empty() {
                close(&mut names, rank_of_group)?;
            }
            let rank = counter.next(&values);
            if begins {
                rank_of_group = rank;
            }
            names.push(element);
            Ok(())
        })?;
        if names.is_empty() {
            return Ok(());
        }
        close(&mut names, rank_of_group)
    }

    /// A group is listed by ascending name where ties are shared, and by the tie rule elsewhere.
    fn lists_backwards(&self) -> bool {
        !self.schema.layout.has_time() && self.direction() == Direction::Down
    }

    /// The names between two positions of one group, in the order groups are listed in.
    pub fn group_names(
        &self,
        (first, end): (u64, u64),
        offset: u64,
        count: u64,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let count = end.saturating_sub(first).saturating_sub(offset).min(count);
        if count == 0 {
            return Ok(());
        }
        let (start, direction) =
            if self.lists_backwards() { (end - 1 - offset, Direction::Up) } else { (first + offset, self.direction()) };
        self.elements(start, count, direction, &mut |element, _| visit(self.member_of(&element)))
    }

    pub fn name_of<'e>(&self, element: &'e S::Name) -> &'e [u8] {
        self.member_of(element)
    }

    /// The values of the member at a position.
    pub fn values_at(&self, position: u64) -> Result<Option<Tuple>> {
        if position >= self.members() {
            return Ok(None);
        }
        let Some((element, score)) = self.store.at(self.index_at(position))? else { return Ok(None) };
        Ok(Some(self.decode(&element, score)?.values))
    }

    fn rank_at(&self, position: u64, kind: Kind) -> Result<u64> {
        if kind == Kind::Ordinal || position == 0 {
            return Ok(position + 1);
        }
        match self.values_at(position)? {
            Some(values) => self.rank_for_group(&values, kind),
            None => Ok(position + 1),
        }
    }

    fn rank_for_group(&self, values: &[Value], kind: Kind) -> Result<u64> {
        match kind {
            Kind::Ordinal | Kind::Competition => Ok(1 + self.better(values, None)?),
            Kind::Dense => self.rank_for(values, kind),
        }
    }

    /// Whether all elements decode, before anything of them is replied. Plain ones always do.
    pub fn check_rows_decode(&self, first: u64, count: u64) -> Result<()> {
        if self.schema.layout.is_plain() {
            return Ok(());
        }
        self.elements(first, count, self.direction(), &mut |element, score| self.decode(&element, score).map(drop))
    }

    /// So many elements from a position on; the marker is passed over.
    pub(super) fn elements(
        &self,
        first: u64,
        count: u64,
        direction: Direction,
        visit: &mut dyn FnMut(S::Name, f64) -> Result<()>,
    ) -> Result<()> {
        let mut left = count;
        if left == 0 || first >= self.members() {
            return Ok(());
        }
        self.store.walk(self.index_at(first), direction, &mut |element, score| {
            if !self.is_marker(&element, score) {
                visit(element, score)?;
                left -= 1;
            }
            Ok(left > 0)
        })
    }

    /// The position behind so many groups, by walking.
    pub(super) fn walk_groups(&self, from: u64, groups: u64) -> Result<u64> {
        let mut position = from;
        let mut seen = 0;
        let mut last: Option<Tuple> = None;
        if groups == 0 {
            return Ok(from);
        }
        self.store.walk(self.index_at(from), self.direction(), &mut |element, score| {
            if self.is_marker(&element, score) {
                return Ok(true);
            }
            let values = self.decode(&element, score)?.values;
            if last.as_ref() != Some(&values) {
                seen += 1;
                if seen > groups {
                    return Ok(false);
                }
                last = Some(values);
            }
            position += 1;
            Ok(true)
        })?;
        Ok(position)
    }
}
