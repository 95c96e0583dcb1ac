//! Rows and groups of rows, best first.

use super::layout::Decoded;
use super::rank::Kind;
use super::store::{Direction, Store};
use super::value::{Tuple, Value};
use super::{Board, Found};
use crate::error::Result;

/// One line of a board.
pub struct Row<N> {
    /// From 1.
    pub rank: u64,
    /// The element of the member.
    pub element: N,
    /// Where the name begins in the element.
    pub name_at: usize,
    /// One value for each field.
    pub values: Tuple,
    /// The tie time in Unix milliseconds, where the board keeps times.
    pub time: Option<i64>,
}

impl<N: AsRef<[u8]>> Row<N> {
    /// The member's name.
    pub fn member(&self) -> &[u8] {
        self.element.as_ref().get(self.name_at..).unwrap_or_default()
    }
}

/// Members that share a rank, group after group.
pub struct Groups<N> {
    /// The elements of all groups.
    elements: Vec<N>,
    name_at: usize,
    /// The rank of each group, and where it ends in `elements`.
    ranks: Vec<(u64, usize)>,
}

impl<N: AsRef<[u8]>> Groups<N> {
    /// How many groups there are.
    pub fn count(&self) -> u64 {
        self.ranks.len() as u64
    }

    /// Rank and members of each group.
    pub fn iter(&self) -> impl Iterator<Item = (u64, impl ExactSizeIterator<Item = &[u8]>)> {
        let mut start = 0;
        self.ranks.iter().map(move |(rank, end)| {
            let group = self.elements.get(start..*end).unwrap_or_default();
            start = *end;
            (*rank, group.iter().map(|element| element.as_ref().get(self.name_at..).unwrap_or_default()))
        })
    }
}

/// Keeps the rank while walking from the best to the worst. Members with equal values, `V`, are equal.
struct Counter<V> {
    kind: Kind,
    position: u64,
    rank: u64,
    last: Option<V>,
}

impl<V: PartialEq> Counter<V> {
    /// The rank of the next member, and whether a group begins with it.
    fn next(&mut self, values: V) -> (u64, bool) {
        self.position += 1;
        let begins = self.last.as_ref() != Some(&values);
        if begins {
            match self.kind {
                _ if self.last.is_none() => {}
                Kind::Competition => self.rank = self.position,
                Kind::Dense => self.rank += 1,
                Kind::Ordinal => {}
            }
            self.last = Some(values);
        }
        if self.kind == Kind::Ordinal {
            self.rank = self.position;
        }
        (self.rank, begins)
    }
}

impl<S: Store> Board<S> {
    /// How many of `count` rows exist from a position on. The first rows need no count, because each is looked at anyway.
    pub fn rows_from(&self, first: u64, count: u64) -> Result<u64> {
        let members = if first == 0 { self.present()? } else { self.members()? };
        Ok(members.saturating_sub(first).min(count))
    }

    /// The rows from a position on.
    pub fn rows(&self, first: u64, count: u64, kind: Kind) -> Result<Vec<Row<S::Name>>> {
        let found = self.rows_from(first, count)?;
        let mut rows = Vec::with_capacity(usize::try_from(found).unwrap_or(0));
        if found == 0 {
            return Ok(rows);
        }
        let name_at = self.schema.layout.spill_len();
        let rank = self.rank_at(first, kind)?;
        if self.schema.layout.is_plain() {
            let mut counter = Counter { kind, position: first, rank, last: None };
            self.elements(first, count, self.direction(), &mut |element, score| {
                let (rank, _) = counter.next(score);
                let values = Tuple::from_slice(&[Value::Float(score + 0.0)]);
                rows.push(Row { rank, element, name_at, values, time: None });
                Ok(())
            })?;
            return Ok(rows);
        }
        let mut counter = Counter { kind, position: first, rank, last: None };
        self.elements(first, count, self.direction(), &mut |element, score| {
            let decoded = self.decode(&element, score)?;
            let (rank, _) = counter.next(decoded.values.clone());
            rows.push(self.row_of(element, decoded, rank));
            Ok(())
        })?;
        Ok(rows)
    }

    /// The row of a member.
    #[inline(always)]
    pub fn row(&self, found: Found<S::Name>, kind: Kind) -> Result<Row<S::Name>> {
        let rank = self.rank(&found, kind)?;
        Ok(self.row_ranked(found, rank))
    }

    /// The row of a member whose rank is known.
    #[inline]
    pub fn row_ranked(&self, found: Found<S::Name>, rank: u64) -> Row<S::Name> {
        self.row_of(found.element, found.decoded, rank)
    }

    #[inline]
    pub(super) fn row_of(&self, element: S::Name, decoded: Decoded, rank: u64) -> Row<S::Name> {
        let layout = &self.schema.layout;
        let time = decoded.time.map(|time| layout.unix_ms(time));
        Row { rank, element, name_at: layout.spill_len(), values: decoded.values, time }
    }

    /// The groups of equal members between two positions at which groups begin, of which `skipped` come before.
    pub fn groups(&self, first: u64, end: u64, skipped: u64, kind: Kind) -> Result<Groups<S::Name>> {
        if self.schema.layout.is_plain() {
            return self.groups_by(first, end, skipped, kind, |_, score| Ok(score));
        }
        self.groups_by(first, end, skipped, kind, |element, score| Ok(self.decode(element, score)?.values))
    }

    fn groups_by<V: PartialEq>(
        &self,
        first: u64,
        end: u64,
        skipped: u64,
        kind: Kind,
        values_of: impl Fn(&S::Name, f64) -> Result<V>,
    ) -> Result<Groups<S::Name>> {
        let count = end.saturating_sub(first);
        let capacity = usize::try_from(self.rows_from(first, count)?).unwrap_or(0);
        let mut elements: Vec<S::Name> = Vec::with_capacity(capacity);
        let mut ranks: Vec<(u64, usize)> = Vec::new();
        let rank = if kind == Kind::Dense { skipped + 1 } else { first + 1 };
        let mut counter = Counter { kind, position: first, rank, last: None };
        self.elements(first, count, self.direction(), &mut |element, score| {
            let (rank, begins) = counter.next(values_of(&element, score)?);
            elements.push(element);
            match ranks.last_mut() {
                Some((_, end)) if !begins => *end = elements.len(),
                _ => ranks.push((rank, elements.len())),
            }
            Ok(())
        })?;
        if self.lists_backwards() {
            let mut start = 0;
            for (_, end) in &ranks {
                if let Some(group) = elements.get_mut(start..*end) {
                    group.reverse();
                }
                start = *end;
            }
        }
        Ok(Groups { elements, name_at: self.schema.layout.spill_len(), ranks })
    }

    /// A group is listed by ascending name where ties are shared, and by the tie rule elsewhere.
    fn lists_backwards(&self) -> bool {
        !self.schema.layout.has_time() && self.direction() == Direction::Down
    }

    /// Some of the members between two positions of one group, in the order groups are listed in.
    pub fn group_names(&self, (first, end): (u64, u64), offset: u64, count: u64, rank: u64) -> Result<Groups<S::Name>> {
        let count = end.saturating_sub(first).saturating_sub(offset).min(count);
        let mut elements = Vec::new();
        if count > 0 {
            let (start, direction) = if self.lists_backwards() {
                (end - 1 - offset, Direction::Up)
            } else {
                (first + offset, self.direction())
            };
            self.elements(start, count, direction, &mut |element, _| {
                elements.push(element);
                Ok(())
            })?;
        }
        let ranks = vec![(rank, elements.len())];
        Ok(Groups { elements, name_at: self.schema.layout.spill_len(), ranks })
    }

    /// The values of the member at a position.
    pub fn values_at(&self, position: u64) -> Result<Option<Tuple>> {
        if position >= self.members()? {
            return Ok(None);
        }
        let Some((element, score)) = self.store.at(self.index_at(position)?)? else { return Ok(None) };
        Ok(Some(self.decode(&element, score)?.values))
    }

    fn rank_at(&self, position: u64, kind: Kind) -> Result<u64> {
        if kind == Kind::Ordinal || position == 0 {
            return Ok(position + 1);
        }
        match self.values_at(position)? {
            Some(values) => self.rank_for(&values, kind),
            None => Ok(position + 1),
        }
    }

    /// This many elements from a position on.
    pub(super) fn elements(
        &self,
        first: u64,
        count: u64,
        direction: Direction,
        visit: &mut dyn FnMut(S::Name, f64) -> Result<()>,
    ) -> Result<()> {
        let members = self.present()?;
        // A walk ends with the last member, so it never reaches what is below.
        let reach = if direction == self.direction() { members.saturating_sub(first) } else { first + 1 };
        let mut left = count.min(reach);
        if left == 0 || first >= members {
            return Ok(());
        }
        self.store.walk(self.index_at(first)?, direction, &mut |element, score| {
            visit(element, score)?;
            left -= 1;
            Ok(left > 0)
        })
    }

    /// The position after this many groups, by walking.
    pub(super) fn walk_groups(&self, from: u64, groups: u64) -> Result<u64> {
        let (mut position, mut left) = (from, self.members()?.saturating_sub(from));
        let (mut seen, mut last) = (0, None);
        if groups == 0 || left == 0 {
            return Ok(from);
        }
        self.store.walk(self.index_at(from)?, self.direction(), &mut |element, score| {
            let values = self.decode(&element, score)?.values;
            if last.as_ref() != Some(&values) {
                seen += 1;
                if seen > groups {
                    return Ok(false);
                }
                last = Some(values);
            }
            position += 1;
            left -= 1;
            Ok(left > 0)
        })?;
        Ok(position)
    }
}
