//! Rows and groups of rows, best first.
//!
//! A list looks up the rank of its first row alone. The walk counts the others, which follow from it. Reads only.

use smallvec::SmallVec;

use super::members::{Member, Near, Place, Side, Step, Towards};
use super::rank::RankKind;
use super::schema::Order;
use super::value::Tuple;
use super::Board;
use crate::error::Result;
use crate::zset::SortedSet;

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
    fn new<N: AsRef<[u8]>>(step: &Step<N>, rank: u64) -> Row {
        let member = NameBytes::from_slice(step.stored.name());
        Row { rank, member, values: Tuple::from_slice(step.values), time: step.time }
    }

    #[inline]
    pub fn of<N: AsRef<[u8]>>(member: Member<N>, rank: u64) -> Row {
        let name = NameBytes::from_slice(member.stored.name());
        Row { rank, member: name, values: member.values, time: member.time }
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
    #[inline]
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
        Ok(self.members.len()?.saturating_sub(first).min(count))
    }

    pub fn rows(&mut self, first: u64, count: u64, kind: RankKind) -> Result<Vec<Row>> {
        self.rows_from_start(first, count, kind, None)
    }

    /// The rows from a position on that is at a known member, or not far before it.
    pub fn rows_near(
        &mut self,
        (member, position): (&Member<S::Element>, u64),
        first: u64,
        count: u64,
        kind: RankKind,
    ) -> Result<Vec<Row>> {
        self.rows_from_start(first, count, kind, Some(Near { stored: &member.stored, position: Some(position) }))
    }

    fn rows_from_start(
        &mut self,
        first: u64,
        count: u64,
        kind: RankKind,
        near: Option<Near<S::Element>>,
    ) -> Result<Vec<Row>> {
        let found = self.rows_from(first, count)?;
        let mut rows = Vec::with_capacity(usize::try_from(found).unwrap_or(0));
        if found == 0 {
            return Ok(rows);
        }
        let mut walk = self.members.walk(first, Towards::Worst, near.as_ref())?;
        let Some(step) = walk.next()? else { return Ok(rows) };
        rows.push(Row::new(&step, 0));
        // The ranks of the others follow from that of the first, which is looked up when the walk is over.
        let start = step.stored;
        let mut counter = RankCounter::new(kind, first, 0);
        counter.next(false);
        while (rows.len() as u64) < found {
            let Some(step) = walk.next()? else { break };
            let rank = counter.next(step.is_equal);
            rows.push(Row::new(&step, rank));
        }
        drop(walk);
        let Some(row) = rows.first() else { return Ok(rows) };
        let near = Near { stored: &start, position: Some(first) };
        let rank = self.rank_of_first(row, near, kind)?;
        match kind {
            RankKind::Dense => rows.iter_mut().for_each(|row| row.rank += rank),
            _ => rows.iter_mut().take_while(|row| row.rank == 0).for_each(|row| row.rank = rank),
        }
        Ok(rows)
    }

    /// The rank of the row that begins a list.
    fn rank_of_first(&mut self, row: &Row, own: Near<S::Element>, kind: RankKind) -> Result<u64> {
        match own.position {
            Some(position) if kind == RankKind::Ordinal || position == 0 => Ok(position + 1),
            _ if kind == RankKind::Dense => self.rank_for(&row.values, kind),
            _ => Ok(1 + self.members.position_at(&Place::of(&row.values), Side::Better, Some(own))?),
        }
    }

    #[inline]
    pub fn row(&mut self, member: Member<S::Element>, kind: RankKind) -> Result<Row> {
        let rank = self.rank(&member, kind)?;
        Ok(Row::of(member, rank))
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
        let rank = if kind == RankKind::Dense { skipped + 1 } else { first + 1 };
        let mut counter = RankCounter::new(kind, first, rank);
        let mut group = Group { rank, backwards: self.lists_backwards(), ..Group::default() };
        let mut walk = self.members.walk(first, Towards::Worst, None)?;
        for left in (1..=end.saturating_sub(first)).rev() {
            let Some(step) = walk.next()? else { break };
            let rank = counter.next(step.is_equal);
            if !step.is_equal {
                if !group.ends.is_empty() {
                    visit(&group);
                }
                group.restart(rank);
            }
            group.push(step.stored.name());
            if left == 1 {
                visit(&group);
            }
        }
        Ok(())
    }

    /// A group is listed by ascending name where ties are shared, and by the tie rule elsewhere.
    fn lists_backwards(&self) -> bool {
        !self.schema().layout.has_time() && self.members.order() == Order::Descending
    }

    /// Some of the members between two positions of one group, in the order groups are listed in.
    pub fn group_names(&mut self, (first, end): (u64, u64), offset: u64, count: u64, rank: u64) -> Result<Group> {
        let count = end.saturating_sub(first).saturating_sub(offset).min(count);
        let mut group = Group { rank, ..Group::default() };
        if count > 0 {
            let mut walk = if self.lists_backwards() {
                self.members.walk(end - 1 - offset, Towards::Best, None)?
            } else {
                self.members.walk(first + offset, Towards::Worst, None)?
            };
            for _ in 0..count {
                let Some(step) = walk.next()? else { break };
                group.push(step.stored.name());
            }
        }
        Ok(group)
    }

    pub fn values_at(&mut self, position: u64) -> Result<Option<Tuple>> {
        let mut walk = self.members.walk(position, Towards::Worst, None)?;
        Ok(walk.next()?.map(|step| step.values.clone()))
    }
}
