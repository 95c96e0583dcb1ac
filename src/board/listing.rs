//! Rows and groups of rows, best first.
//!
//! A list looks up the rank of its first row alone. The walk counts the others, which follow from it. Reads only.

use std::sync::Arc;

use smallvec::SmallVec;

use super::layout::Decoded;
use super::rank::{RankKind, LONG_GROUP};
use super::value::Tuple;
use super::{decode, name_of, Board, Found};
use crate::error::Result;
use crate::zset::{Direction, SortedSet, WalkStart};

type NameBytes = SmallVec<[u8; 32]>;

pub struct Row {
    pub rank: u64,
    member: NameBytes,
    pub values: Tuple,
    /// The tie time in Unix milliseconds, where the board keeps times.
    pub time: Option<i64>,
}

impl Row {
    #[inline]
    fn new(member: &[u8], Decoded { values, time }: Decoded, rank: u64) -> Row {
        Row { rank, member: NameBytes::from_slice(member), values, time }
    }

    pub fn member(&self) -> &[u8] {
        &self.member
    }
}

#[derive(Clone, Default)]
pub struct Group {
    pub rank: u64,
    /// The names of the members in one buffer. Copying them is faster than holding a server string for each.
    names: Vec<u8>,
    /// Where each name ends.
    ends: Vec<usize>,
    /// Whether they are listed from the last name on.
    backwards: bool,
}

impl Group {
    fn push(&mut self, name: &[u8]) {
        self.names.extend_from_slice(name);
        self.ends.push(self.names.len());
    }

    fn restart(&mut self, rank: u64) {
        self.rank = rank;
        self.names.clear();
        self.ends.clear();
    }

    fn name(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(index).and_then(|end| self.names.get(start..*end)).unwrap_or_default()
    }

    /// The names, in the order groups are listed in.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let count = self.ends.len();
        (0..count).map(move |i| self.name(if self.backwards { count - 1 - i } else { i }))
    }
}

/// Keeps the rank while walking from the best to the worst.
struct RankCounter {
    kind: RankKind,
    position: u64,
    /// The rank of the last member; before the list begins, that of its first member.
    rank: u64,
    began: bool,
}

impl RankCounter {
    fn new(kind: RankKind, position: u64, rank: u64) -> RankCounter {
        RankCounter { kind, position, rank, began: false }
    }

    /// The rank of the next member, which is equal to the last one or not.
    fn next(&mut self, is_equal: bool) -> u64 {
        self.position += 1;
        match self.kind {
            RankKind::Ordinal => self.rank = self.position,
            RankKind::Competition if self.began && !is_equal => self.rank = self.position,
            RankKind::Dense if self.began && !is_equal => self.rank += 1,
            _ => {}
        }
        self.began = true;
        self.rank
    }
}

impl<S: SortedSet> Board<S> {
    pub fn rows_from(&mut self, first: u64, count: u64) -> Result<u64> {
        Ok(self.members()?.saturating_sub(first).min(count))
    }

    pub fn rows(&mut self, first: u64, count: u64, kind: RankKind) -> Result<Vec<Row>> {
        self.rows_from_start(first, None, count, kind)
    }

    /// The rows from a position on that is at a known member, or not far before it.
    pub fn rows_near(
        &mut self,
        (member, position): (&Found<S::Element>, u64),
        first: u64,
        count: u64,
        kind: RankKind,
    ) -> Result<Vec<Row>> {
        let steps = position.checked_sub(first);
        let near = (&member.element, member.score);
        let direction = self.towards_best();
        let known = steps.and_then(|steps| self.store.step(near, steps, direction));
        self.rows_from_start(first, known, count, kind)
    }

    /// The rows from a position on. The element there may be known.
    fn rows_from_start(
        &mut self,
        first: u64,
        known: Option<(S::Element, f64)>,
        count: u64,
        kind: RankKind,
    ) -> Result<Vec<Row>> {
        let found = self.rows_from(first, count)?;
        let mut rows = Vec::with_capacity(usize::try_from(found).unwrap_or(0));
        if found == 0 {
            return Ok(rows);
        }
        let mut first_score = None;
        let (schema, since) = (Arc::clone(&self.schema), self.since);
        self.elements_from(first, known, count, self.direction(), &mut |element, score| {
            first_score.get_or_insert(score);
            let element = element.as_ref();
            rows.push(Row::new(name_of(&schema, element), decode(&schema, since, element, score)?, 0));
            Ok(())
        })?;
        if let (Some(row), Some(score)) = (rows.first(), first_score) {
            let rank = self.rank_of_first(first, row, score, kind)?;
            let mut counter = RankCounter::new(kind, first, rank);
            let mut last: Option<&Tuple> = None;
            for Row { rank, values, .. } in &mut rows {
                *rank = counter.next(last == Some(&*values));
                last = Some(values);
            }
        }
        Ok(rows)
    }

    /// The rank of a row at a position, which begins a list.
    fn rank_of_first(&mut self, position: u64, row: &Row, score: f64, kind: RankKind) -> Result<u64> {
        if kind == RankKind::Ordinal || position == 0 {
            return Ok(position + 1);
        }
        if kind == RankKind::Competition && self.schema.layout.scores_hold_all() {
            if let Some(equals) = self.equals_before(row.member(), score) {
                return Ok((position + 1).saturating_sub(equals));
            }
        }
        self.rank_for(&row.values, kind)
    }

    /// How many members with the same score are before one; `None` if they are too many to step through.
    fn equals_before(&mut self, own: &[u8], score: f64) -> Option<u64> {
        if self.store.count_at(score, 2) < 2 {
            return Some(0);
        }
        let equals = self.store.cursor(score..=score, self.direction()).take(LONG_GROUP as usize + 1);
        equals.zip(0..).find(|((element, _), _)| element.as_ref() == own).map(|(_, before)| before)
    }

    #[inline]
    pub fn row(&mut self, found: Found<S::Element>, kind: RankKind) -> Result<Row> {
        let rank = self.rank(&found, kind)?;
        Ok(self.row_ranked(found, rank))
    }

    #[inline]
    pub fn row_ranked(&self, found: Found<S::Element>, rank: u64) -> Row {
        self.row_of(&found.element, found.decoded, rank)
    }

    #[inline]
    pub(super) fn row_of(&self, element: &S::Element, decoded: Decoded, rank: u64) -> Row {
        Row::new(self.name_of(element), decoded, rank)
    }

    /// The groups of equal members between two positions at which groups begin, of which `skipped` come before. Each is
    /// visited as soon as it is complete, and then reused: a whole board is not held twice.
    pub fn groups(
        &mut self,
        first: u64,
        end: u64,
        skipped: u64,
        kind: RankKind,
        visit: &mut dyn FnMut(&Group),
    ) -> Result<()> {
        if self.schema.layout.is_plain() {
            // The score is the value. (Decoding it, RANK.STATS would take 3 % more instructions.)
            return self.groups_by(first, end, skipped, kind, |_, score| Ok(score), visit);
        }
        let (schema, since) = (Arc::clone(&self.schema), self.since);
        let values = |element: &S::Element, score| Ok(decode(&schema, since, element.as_ref(), score)?.values);
        self.groups_by(first, end, skipped, kind, values, visit)
    }

    fn groups_by<V: PartialEq>(
        &mut self,
        first: u64,
        end: u64,
        skipped: u64,
        kind: RankKind,
        values_of: impl Fn(&S::Element, f64) -> Result<V>,
        visit: &mut dyn FnMut(&Group),
    ) -> Result<()> {
        let rank = if kind == RankKind::Dense { skipped + 1 } else { first + 1 };
        let mut counter = RankCounter::new(kind, first, rank);
        let mut group = Group { rank, backwards: self.lists_backwards(), ..Group::default() };
        let mut last: Option<V> = None;
        let schema = Arc::clone(&self.schema);
        self.elements(first, end.saturating_sub(first), self.direction(), &mut |element, score| {
            let values = values_of(&element, score)?;
            let is_equal = last.as_ref() == Some(&values);
            let rank = counter.next(is_equal);
            if !is_equal {
                if last.is_some() {
                    visit(&group);
                }
                group.restart(rank);
                last = Some(values);
            }
            group.push(name_of(&schema, element.as_ref()));
            Ok(())
        })?;
        if last.is_some() {
            visit(&group);
        }
        Ok(())
    }

    /// A group is listed by ascending name where ties are shared, and by the tie rule elsewhere.
    fn lists_backwards(&self) -> bool {
        !self.schema.layout.has_time() && self.direction() == Direction::Down
    }

    /// Some of the members between two positions of one group, in the order groups are listed in.
    pub fn group_names(&mut self, (first, end): (u64, u64), offset: u64, count: u64, rank: u64) -> Result<Group> {
        let count = end.saturating_sub(first).saturating_sub(offset).min(count);
        let mut group = Group { rank, ..Group::default() };
        if count > 0 {
            let (start, direction) = if self.lists_backwards() {
                (end - 1 - offset, Direction::Up)
            } else {
                (first + offset, self.direction())
            };
            let schema = Arc::clone(&self.schema);
            self.elements(start, count, direction, &mut |element, _| {
                group.push(name_of(&schema, element.as_ref()));
                Ok(())
            })?;
        }
        Ok(group)
    }

    pub fn values_at(&mut self, position: u64) -> Result<Option<Tuple>> {
        if position >= self.members()? {
            return Ok(None);
        }
        let index = self.index_at(position)?;
        let Some((element, score)) = self.store.at(index)? else { return Ok(None) };
        Ok(Some(self.decode(&element, score)?.values))
    }

    /// Visits up to `count` elements of members, from a position on.
    pub(super) fn elements(
        &mut self,
        first: u64,
        count: u64,
        direction: Direction,
        visit: &mut dyn FnMut(S::Element, f64) -> Result<()>,
    ) -> Result<()> {
        self.elements_from(first, None, count, direction, visit)
    }

    /// Like `elements`. If the element at the first position is known, it need not be looked up.
    fn elements_from(
        &mut self,
        first: u64,
        known: Option<(S::Element, f64)>,
        count: u64,
        direction: Direction,
        visit: &mut dyn FnMut(S::Element, f64) -> Result<()>,
    ) -> Result<()> {
        let members = self.members()?;
        // A walk ends with the last member, so it never reaches what is below.
        let reach = if direction == self.direction() { members.saturating_sub(first) } else { first + 1 };
        let mut left = count.min(reach);
        if left == 0 || first >= members {
            return Ok(());
        }
        let from = WalkStart { index: self.index_at(first)?, element: known };
        let mut walk = self.store.walk(from, direction)?;
        while left > 0 {
            let Some((element, score)) = walk.next_element()? else { break };
            visit(element, score)?;
            left -= 1;
        }
        Ok(())
    }
}
