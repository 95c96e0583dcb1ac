//! Sets and increments scores. Everything that can be wrong is checked before the first change.
//!
//! A write has two steps. [`Board::plan`] looks up the members and finds whatever would fail; [`Board::commit`] changes the
//! sorted set. In between, other boards can be planned, so that a write to several boards is done on all of them or on none.

use std::collections::{HashMap, HashSet};
use std::ops::Bound;

use smallvec::SmallVec;

use super::index::{misindexed, needs_wrapping};
use super::layout::{Decoded, SortKey};
use super::marker::MARKER_START;
use super::schema::{Order, TieRule, Ties, Update};
use super::value::{Tuple, Value};
use super::{Board, Found};
use crate::error::{Error, Result};
use crate::zset::{Condition, PutResult, SortedSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scores {
    Set,
    Add,
}

#[derive(Clone, Copy, Debug)]
pub struct WriteRequest {
    pub scores: Scores,
    /// `Any`, `New` or `Existing`.
    pub only: Condition,
    pub update: Update,
    pub keep: Option<u64>,
    /// Unix milliseconds, for ties.
    pub now: i64,
    pub detail: Detail,
}

/// What a write tells about each pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    Nothing,
    Scores,
    Ranks,
}

/// When a board is committed, of all those that a command writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Its first pair needs no check in advance: if that fails, nothing has changed yet.
    First,
    Later,
}

/// A member and its scores.
#[derive(Clone, Debug)]
pub struct Pair<N> {
    pub values: Tuple,
    /// Fields that stay as they are, one bit for each. What `values` has there means nothing.
    pub kept: u32,
    pub member: N,
    /// The tie time, if it is not that of the write.
    pub at: Option<i64>,
}

impl<N> Pair<N> {
    pub fn new(values: Tuple, member: N) -> Pair<N> {
        Pair { values, kept: 0, member, at: None }
    }
}

pub type Pairs<N> = SmallVec<[Pair<N>; 1]>;

/// The scores of a member, and its rank if ranks were asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    pub rank: Option<u64>,
    pub values: Tuple,
}

/// A member before and after a write; `None` where it was not on the board.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberChange {
    pub before: Option<Standing>,
    pub after: Option<Standing>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct WriteResult {
    /// Members that are on the board and were not before.
    pub added: u64,
    /// Members that have another score.
    pub changed: u64,
    /// Newcomers that a full board refused.
    pub refused: u64,
    /// Members that better ones pushed out.
    pub evicted: u64,
    /// Members that were written and do not fit their score.
    pub overflowed: u64,
    /// For each pair, if they were asked for.
    pub changes: Vec<MemberChange>,
}

pub struct MemberWrite<N> {
    before: Option<Found<N>>,
    rank_before: Option<u64>,
    outcome: MemberOutcome<N>,
}

struct Target {
    values: Tuple,
    key: SortKey,
    time: Option<i64>,
}

enum MemberOutcome<N> {
    Unchanged,
    Put(Found<N>),
    Evicted,
}

impl<N> MemberWrite<N> {
    #[inline]
    fn now(&self) -> Option<&Found<N>> {
        match &self.outcome {
            MemberOutcome::Unchanged => self.before.as_ref(),
            MemberOutcome::Put(found) => Some(found),
            MemberOutcome::Evicted => None,
        }
    }
}

/// What a write needs to know of the board before its first change. It lives on the stack, for one call.
#[allow(clippy::large_enum_variant)]
pub enum Plan<N> {
    /// The only member gets this score, whatever it has now.
    ScoreOnly {
        score: f64,
        /// The score that it has, if that was looked up.
        before: Option<f64>,
    },
    Members {
        members: SmallVec<[MemberWrite<N>; 1]>,
        /// For each pair which of them it is.
        indexes: SmallVec<[usize; 1]>,
    },
}

impl<S: SortedSet> Board<S> {
    /// Plans and commits. If it fails, nothing has changed.
    pub fn write(&mut self, write: &WriteRequest, pairs: &[Pair<S::Element>]) -> Result<WriteResult> {
        let mut plan = self.plan(write, pairs, Turn::First)?;
        self.commit(write, pairs, &mut plan)
    }

    /// Looks up what a write needs, and finds everything that can be wrong with it.
    #[inline]
    pub fn plan(&mut self, write: &WriteRequest, pairs: &[Pair<S::Element>], turn: Turn) -> Result<Plan<S::Element>> {
        self.check_names(pairs)?;
        let wants_little =
            write.detail == Detail::Nothing || write.detail == Detail::Scores && write.scores == Scores::Add;
        if let ([pair], None, true) = (pairs, write.keep, wants_little) {
            if let Some(plan) = self.plan_score_only(write, pair)? {
                return Ok(plan);
            }
        }
        self.plan_members(write, pairs, turn)
    }

    /// Where the score holds all values and nothing else matters, a single member is written without a look-up. On a coded
    /// board that is so as long as all members fit. (Without this, `RANK.ADD` takes 10 % more instructions on such boards.)
    #[inline]
    fn plan_score_only(&self, write: &WriteRequest, pair: &Pair<S::Element>) -> Result<Option<Plan<S::Element>>> {
        let layout = &self.schema.layout;
        let is_own_element = !layout.is_coded() || self.has_no_entries() && !needs_wrapping(pair.member.as_ref());
        if layout.has_time() || pair.kept != 0 || !is_own_element {
            return Ok(None);
        }
        if write.scores == Scores::Set {
            return Ok(layout.score_only(&pair.values).map(|score| Plan::ScoreOnly { score, before: None }));
        }
        let found = self.find(&pair.member)?;
        let values = self.values_then(found.as_ref(), pair, write)?;
        let before = found.map(|found| found.score);
        Ok(layout.score_only(&values).map(|score| Plan::ScoreOnly { score, before }))
    }

    /// Members are looked up once, before the first change, so no lookup can fail halfway.
    fn plan_members(
        &mut self,
        write: &WriteRequest,
        pairs: &[Pair<S::Element>],
        turn: Turn,
    ) -> Result<Plan<S::Element>> {
        let mut members: SmallVec<[MemberWrite<S::Element>; 1]> = SmallVec::new();
        let mut indexes: SmallVec<[usize; 1]> = SmallVec::new();
        // With one pair there is nothing to compare.
        let mut known: Option<HashMap<&[u8], usize>> = (pairs.len() > 1).then(HashMap::new);
        for Pair { member, .. } in pairs {
            let next = members.len();
            let index = known.as_mut().map_or(next, |known| *known.entry(member.as_ref()).or_insert(next));
            indexes.push(index);
            if index == next {
                let before = self.find(member)?;
                let rank_before = match &before {
                    Some(found) if write.detail == Detail::Ranks => Some(self.rank(found, self.default_kind())?),
                    _ => None,
                };
                members.push(MemberWrite { before, rank_before, outcome: MemberOutcome::Unchanged });
            }
        }
        let unchecked = usize::from(turn == Turn::First);
        for (pair, index) in pairs.iter().zip(&indexes).skip(unchecked) {
            let Some(member) = members.get(*index) else { continue };
            let target = self.target(member.now(), pair, write)?;
            self.check_target(member, pair, &target)?;
        }
        if let Some(keep) = write.keep.filter(|_| self.schema.layout.is_coded()) {
            let newcomers = match write.only {
                Condition::Existing => 0,
                _ => members.iter().filter(|member| member.before.is_none()).count() as u64,
            };
            if self.members()? + newcomers > keep {
                // Each pair may change by one who is the last to stay.
                self.check_leavers(keep.saturating_sub(pairs.len() as u64))?;
            }
        }
        Ok(Plan::Members { members, indexes })
    }

    #[inline]
    pub fn commit(
        &mut self,
        write: &WriteRequest,
        pairs: &[Pair<S::Element>],
        plan: &mut Plan<S::Element>,
    ) -> Result<WriteResult> {
        match (plan, pairs) {
            (Plan::Members { members, indexes }, _) => self.commit_members(write, pairs, members, indexes),
            (Plan::ScoreOnly { score, before }, [Pair { member, .. }]) => {
                let mut written = WriteResult::default();
                // An increment by 0 changes nothing, not even the sign of a zero that a core command wrote.
                if *before != Some(*score) {
                    match self.store.put(member, *score, self.only(write)) {
                        PutResult::Added => written.added = 1,
                        PutResult::Changed => written.changed = 1,
                        PutResult::Nothing => {}
                    }
                }
                if write.detail == Detail::Scores {
                    let values = self.decode(member, *score)?.values;
                    written.changes.push(MemberChange { before: None, after: Some(Standing { rank: None, values }) });
                }
                Ok(written)
            }
            (Plan::ScoreOnly { .. }, _) => Err(Error::internal()),
        }
    }

    fn commit_members(
        &mut self,
        write: &WriteRequest,
        pairs: &[Pair<S::Element>],
        members: &mut [MemberWrite<S::Element>],
        indexes: &[usize],
    ) -> Result<WriteResult> {
        let mut written = WriteResult::default();
        for (i, (pair, index)) in pairs.iter().zip(indexes).enumerate() {
            let Some(member) = members.get_mut(*index) else { continue };
            self.note_eviction(member, &written);
            let target = self.target(member.now(), pair, write)?;
            if i == 0 {
                // The last check that may fail: nothing was changed yet.
                self.check_target(member, pair, &target)?;
            }
            if self.is_wanted(member, &target.values, write) {
                self.place(pair, member, target, write, &mut written)?;
            }
            self.keep_best(write.keep, &mut written)?;
        }
        for member in &mut *members {
            self.note_eviction(member, &written);
            match (&member.before, &member.outcome) {
                (None, MemberOutcome::Put(_)) => written.added += 1,
                (Some(before), MemberOutcome::Put(now)) if before.decoded.values != now.decoded.values => {
                    written.changed += 1
                }
                _ => {}
            }
        }
        if let Some(departed) = &mut self.departed {
            // A member may have left and come back.
            let is_there = |index: &usize| members.get(*index).is_some_and(|member| member.now().is_some());
            let there = indexes.iter().zip(pairs).filter(|(index, _)| is_there(index));
            let there: HashSet<&[u8]> = there.map(|(_, pair)| pair.member.as_ref()).collect();
            departed.retain(|member| !there.contains(member.as_ref()));
        }
        if write.detail > Detail::Nothing {
            let changes: Vec<MemberChange> =
                members.iter().map(|member| self.change(member, write)).collect::<Result<_>>()?;
            written.changes = indexes.iter().filter_map(|index| changes.get(*index).cloned()).collect();
        }
        Ok(written)
    }

    fn change(&mut self, member: &MemberWrite<S::Element>, write: &WriteRequest) -> Result<MemberChange> {
        let standing = |found: &Found<S::Element>, rank| Standing { rank, values: found.decoded.values.clone() };
        let before = member.before.as_ref().map(|found| standing(found, member.rank_before));
        let after = match member.now() {
            None => None,
            Some(found) if write.detail == Detail::Ranks => {
                Some(standing(found, Some(self.rank(found, self.default_kind())?)))
            }
            Some(found) => Some(standing(found, None)),
        };
        Ok(MemberChange { before, after })
    }

    fn only(&self, write: &WriteRequest) -> Condition {
        match (write.update, write.only, self.schema.order()) {
            (Update::Set, only, _) | (Update::Best, only @ Condition::New, _) => only,
            (Update::Best, Condition::Existing, Order::Descending) => Condition::ExistingRaise,
            (Update::Best, Condition::Existing, Order::Ascending) => Condition::ExistingLower,
            (Update::Best, _, Order::Descending) => Condition::Raise,
            (Update::Best, _, Order::Ascending) => Condition::Lower,
        }
    }

    /// Checks that these members can be on this board: their names are not markers, and belong to its shard.
    #[inline]
    fn check_names(&self, pairs: &[Pair<S::Element>]) -> Result<()> {
        if !self.schema.layout.is_coded() {
            pairs.iter().try_for_each(|pair| check_unreserved(pair.member.as_ref()))?;
        }
        match self.schema.rules.shard {
            Some(shard) => pairs.iter().try_for_each(|pair| shard.check(pair.member.as_ref(), self.store.key_name())),
            None => Ok(()),
        }
    }

    /// A better member may have pushed this one out.
    #[inline]
    fn note_eviction(&self, member: &mut MemberWrite<S::Element>, written: &WriteResult) {
        if written.evicted > 0 && member.now().is_some_and(|now| self.store.score(&now.element).is_none()) {
            member.outcome = MemberOutcome::Evicted;
        }
    }

    /// Checks that there is no element in the member's new place that its entries do not lead to.
    fn check_target(&self, member: &MemberWrite<S::Element>, pair: &Pair<S::Element>, target: &Target) -> Result<()> {
        let was_wrapped = member.now().is_some_and(|now| self.split(&now.element).is_some());
        if !self.schema.layout.is_coded() || !was_wrapped && target.key.tail_before(pair.member.as_ref()).is_empty() {
            // A name of its own was looked up, and is this member or nobody.
            return Ok(());
        }
        let element = self.element(&target.key, &pair.member);
        let is_own = member.now().is_some_and(|now| now.element.as_ref() == element.as_ref());
        if !is_own && self.store.score(&element).is_some() {
            return Err(misindexed(pair.member.as_ref()));
        }
        Ok(())
    }

    #[inline]
    fn values_then(
        &self,
        now: Option<&Found<S::Element>>,
        pair: &Pair<S::Element>,
        write: &WriteRequest,
    ) -> Result<Tuple> {
        let base = |now: Option<&Found<S::Element>>| {
            now.map_or_else(|| self.schema.origin(), |now| now.decoded.values.clone())
        };
        if write.scores == Scores::Add {
            return self.schema.add(&base(now), &pair.values);
        }
        let mut values = Tuple::from_slice(&pair.values);
        if pair.kept != 0 {
            for (i, (value, old)) in values.iter_mut().zip(base(now)).enumerate() {
                if pair.kept >> i & 1 == 1 {
                    *value = old;
                }
            }
        }
        Ok(values)
    }

    #[inline]
    fn is_wanted(&self, member: &MemberWrite<S::Element>, values: &[Value], write: &WriteRequest) -> bool {
        match member.now() {
            None => write.only != Condition::Existing,
            Some(_) if write.only == Condition::New => false,
            Some(now) if write.update == Update::Best => self.schema.better(values, &now.decoded.values),
            Some(now) => now.decoded.values.as_slice() != values,
        }
    }

    /// What a pair would make of a member, or what is wrong with its values.
    #[inline]
    fn target(&self, now: Option<&Found<S::Element>>, pair: &Pair<S::Element>, write: &WriteRequest) -> Result<Target> {
        let values = self.values_then(now, pair, write)?;
        let time = match (self.schema.rules.ties, now) {
            (Ties::Shared, _) => None,
            (Ties::ByTime(TieRule::Joined, _), Some(now)) => now.decoded.time,
            _ => Some(pair.at.unwrap_or(write.now)),
        };
        let key = self.schema.layout.encode(&values, time.unwrap_or(0), self.since);
        Ok(Target { values, key, time })
    }

    /// Puts a member in its place, unless the board is full and the member is not good enough.
    #[inline]
    fn place(
        &mut self,
        pair: &Pair<S::Element>,
        member: &mut MemberWrite<S::Element>,
        Target { values, key, time }: Target,
        write: &WriteRequest,
        written: &mut WriteResult,
    ) -> Result<()> {
        if let (None, Some(keep)) = (member.now(), write.keep) {
            if self.members()? >= keep && !self.beats(&key, keep.saturating_sub(1))? {
                written.refused += 1;
                return Ok(());
            }
        }
        let score = key.score;
        let element = self.element(&key, &pair.member);
        match member.now() {
            Some(old) if old.element.as_ref() == element.as_ref() => {
                self.store.put(&element, score, Condition::Any);
            }
            old => {
                // If it is there, although no entry leads to it, it becomes this member's: a write that has begun is finished.
                self.store.put(&element, score, Condition::Any);
                let old = old.map(|old| &old.element);
                self.replace_entries(old, Some(&element));
                if let Some(old) = old {
                    self.store.remove(old);
                }
            }
        }
        written.overflowed += u64::from(!key.tail.is_empty());
        member.outcome = MemberOutcome::Put(Found { element, score, decoded: Decoded { values, time } });
        Ok(())
    }

    /// Whether a place is strictly better, by fields and time, than the member at a position.
    fn beats(&mut self, key: &SortKey, position: u64) -> Result<bool> {
        if self.schema.explicit && key.tail.is_empty() && position + 1 == self.members()? {
            // The position is that of the worst member, and no other code has this score: is any score on the far side?
            return Ok(match self.order {
                Order::Descending => {
                    self.store.has_any((Bound::Excluded(self.top_of_others()), Bound::Excluded(key.score)))
                }
                Order::Ascending => self.store.has_any((Bound::Excluded(key.score), Bound::Excluded(f64::INFINITY))),
            });
        }
        let index = self.index_at(position)?;
        let Some((element, score)) = self.store.at(index)? else { return Ok(false) };
        // Where the scores are equal, both codes fit or neither does. If both do, they are equal.
        let tail = self.split(&element).map_or(&[][..], |(tail, _)| tail);
        let tail = if key.tail.is_empty() { &[] } else { tail };
        Ok(self.best_first((key.score, &key.tail), (score, tail)).is_lt())
    }

    #[inline]
    fn keep_best(&mut self, keep: Option<u64>, written: &mut WriteResult) -> Result<()> {
        let Some(keep) = keep else { return Ok(()) };
        match self.members()?.saturating_sub(keep) {
            0 => return Ok(()),
            1 => {
                let index = self.index_at(keep)?;
                if let Some((worst, _)) = self.store.at(index)? {
                    self.remove_member(&worst);
                }
                written.evicted += 1;
            }
            _ => written.evicted += self.trim(keep, false)?.0,
        }
        Ok(())
    }
}

/// No write may create, move or replace a marker.
#[inline]
pub fn check_unreserved(member: &[u8]) -> Result<()> {
    // Few names begin like that, and the first byte tells them apart.
    if member.first() == MARKER_START.first() && member.starts_with(MARKER_START) {
        return Err(Error::reserved_member());
    }
    Ok(())
}
