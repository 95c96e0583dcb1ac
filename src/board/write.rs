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

/// What a write does with the scores of a pair: sets them, or adds them to those of the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    Set,
    Add,
}

#[derive(Clone, Copy, Debug)]
pub struct WriteRequest {
    pub mode: WriteMode,
    /// `Any`, `New` or `Existing`.
    pub condition: Condition,
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

/// A member that is written to: as it was found, and what has become of it since.
pub struct MemberWrite<N> {
    before: Option<Found<N>>,
    rank_before: Option<u64>,
    outcome: MemberOutcome<N>,
}

/// What a pair makes of its member: the new values and tie time, and where they put the member in the sorted set.
struct Placement {
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
    /// The member as it stands after the pairs that were written so far.
    #[inline]
    fn current(&self) -> Option<&Found<N>> {
        match &self.outcome {
            MemberOutcome::Unchanged => self.before.as_ref(),
            MemberOutcome::Put(found) => Some(found),
            MemberOutcome::Evicted => None,
        }
    }
}

/// What a write needs to know of the board before its first change. It lives on the stack, for one call. It is empty where
/// [`Board::put_score`] will do.
pub struct Plan<N> {
    members: SmallVec<[MemberWrite<N>; 1]>,
    /// For each pair, the index of its member in `members`. A name may be given more than once.
    indexes: SmallVec<[usize; 1]>,
    /// What the first pair makes of its member. What other pairs make of theirs depends on the pairs before them, so that is
    /// only known when they are written.
    first: Option<Placement>,
}

impl<S: SortedSet> Board<S> {
    /// Plans and commits. If it fails, nothing has changed.
    pub fn write(&mut self, request: &WriteRequest, pairs: &[Pair<S::Element>]) -> Result<WriteResult> {
        let mut plan = self.plan(request, pairs)?;
        self.commit(request, pairs, &mut plan)
    }

    /// A shortcut for members whose score holds all their values: a single `ZADD` finds and writes the member, and nothing
    /// has to be planned. Returns what it did, or `None` if this member needs more. Increments are replaced by the sums.
    /// (Without this, `RANK.ADD` takes 12 % and `RANK.INCR` 19 % more instructions on a sorted set without a schema.)
    #[inline]
    pub fn put_score(
        &mut self,
        member: &S::Element,
        values: &mut [Value],
        mode: WriteMode,
        update: Update,
    ) -> Result<Option<PutResult>> {
        self.check_name(member)?;
        let before = if mode == WriteMode::Add { self.increment(member, values)? } else { None };
        let Some(score) = self.score_alone(member, values) else { return Ok(None) };
        // An increment by 0 changes nothing, not even the sign of a zero that a core command wrote.
        if before == Some(score) {
            return Ok(Some(PutResult::Nothing));
        }
        let condition = match (update, self.schema.order()) {
            (Update::Set, _) => Condition::Any,
            (Update::Best, Order::Descending) => Condition::Raise,
            (Update::Best, Order::Ascending) => Condition::Lower,
        };
        Ok(Some(self.store.put(member, score, condition)))
    }

    /// Replaces increments by the sums. Returns the score that the member has.
    #[inline]
    fn increment(&self, member: &S::Element, values: &mut [Value]) -> Result<Option<f64>> {
        if let ([Value::Float(value)], true) = (&mut *values, self.schema.layout.is_plain()) {
            // The score is the value. (Without this, `RANK.INCR` takes 3 % more instructions on such boards.)
            let before = self.store.score(member);
            let sum = before.unwrap_or(0.0) + *value + 0.0;
            if sum.is_finite() {
                *value = sum;
                return Ok(before);
            }
        }
        let found = self.find(member)?;
        let before = found.as_ref().map(|found| found.score);
        let base = found.map_or_else(|| self.schema.origin(), |found| found.decoded.values);
        let sums = self.schema.add(&base, values)?;
        values.iter_mut().zip(sums).for_each(|(value, sum)| *value = sum);
        Ok(before)
    }

    /// The score of a member with these values, if the score and the bare name are all that is stored for the member. On a
    /// coded board that is so as long as all members fit.
    #[inline]
    fn score_alone(&self, member: &S::Element, values: &[Value]) -> Option<f64> {
        let layout = &self.schema.layout;
        let is_own_element = !layout.is_coded() || self.has_no_entries() && !needs_wrapping(member.as_ref());
        if is_own_element {
            layout.score_only(values)
        } else {
            None
        }
    }

    /// Looks up what a write needs, and finds everything that can be wrong with it. Members are looked up once, before the
    /// first change, so no look-up can fail halfway.
    pub fn plan(&mut self, request: &WriteRequest, pairs: &[Pair<S::Element>]) -> Result<Plan<S::Element>> {
        pairs.iter().try_for_each(|pair| self.check_name(&pair.member))?;
        let is_simple = request.condition == Condition::Any && request.keep.is_none();
        if let ([pair @ Pair { kept: 0, .. }], WriteMode::Set, Detail::Nothing, true) =
            (pairs, request.mode, request.detail, is_simple)
        {
            if self.score_alone(&pair.member, &pair.values).is_some() {
                return Ok(Plan { members: SmallVec::new(), indexes: SmallVec::new(), first: None });
            }
        }
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
                    Some(found) if request.detail == Detail::Ranks => Some(self.rank(found, self.default_kind())?),
                    _ => None,
                };
                members.push(MemberWrite { before, rank_before, outcome: MemberOutcome::Unchanged });
            }
        }
        let mut first = None;
        for (pair, index) in pairs.iter().zip(&indexes) {
            let Some(member) = members.get(*index) else { continue };
            let placement = self.placement(member.current(), pair, request)?;
            self.check_placement(member, pair, &placement)?;
            first.get_or_insert(placement);
        }
        if let Some(keep) = request.keep.filter(|_| self.schema.layout.is_coded()) {
            let newcomers = match request.condition {
                Condition::Existing => 0,
                _ => members.iter().filter(|member| member.before.is_none()).count() as u64,
            };
            if self.members()? + newcomers > keep {
                // Each pair may evict one member more, so check as many members above the bound.
                self.check_leavers(keep.saturating_sub(pairs.len() as u64))?;
            }
        }
        Ok(Plan { members, indexes, first })
    }

    pub fn commit(
        &mut self,
        request: &WriteRequest,
        pairs: &[Pair<S::Element>],
        Plan { members, indexes, first }: &mut Plan<S::Element>,
    ) -> Result<WriteResult> {
        let mut written = WriteResult::default();
        if let ([pair], true) = (pairs, members.is_empty()) {
            let mut values = Tuple::from_slice(&pair.values);
            let put = self.put_score(&pair.member, &mut values, request.mode, request.update)?;
            written.added = u64::from(put == Some(PutResult::Added));
            written.changed = u64::from(put == Some(PutResult::Changed));
            return Ok(written);
        }
        for (pair, index) in pairs.iter().zip(&*indexes) {
            let Some(member) = members.get_mut(*index) else { continue };
            self.note_eviction(member, &written);
            let placement = match first.take() {
                Some(placement) => placement,
                None => self.placement(member.current(), pair, request)?,
            };
            if self.is_wanted(member, &placement.values, request) {
                self.place(pair, member, placement, request, &mut written)?;
            }
            self.keep_best(request.keep, &mut written)?;
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
            let is_there = |index: &usize| members.get(*index).is_some_and(|member| member.current().is_some());
            let there = indexes.iter().zip(pairs).filter(|(index, _)| is_there(index));
            let there: HashSet<&[u8]> = there.map(|(_, pair)| pair.member.as_ref()).collect();
            departed.retain(|member| !there.contains(member.as_ref()));
        }
        if request.detail > Detail::Nothing {
            let changes: Vec<MemberChange> =
                members.iter().map(|member| self.change(member, request)).collect::<Result<_>>()?;
            written.changes = indexes.iter().filter_map(|index| changes.get(*index).cloned()).collect();
        }
        Ok(written)
    }

    fn change(&mut self, member: &MemberWrite<S::Element>, request: &WriteRequest) -> Result<MemberChange> {
        let standing = |found: &Found<S::Element>, rank| Standing { rank, values: found.decoded.values.clone() };
        let before = member.before.as_ref().map(|found| standing(found, member.rank_before));
        let after = match member.current() {
            None => None,
            Some(found) if request.detail == Detail::Ranks => {
                Some(standing(found, Some(self.rank(found, self.default_kind())?)))
            }
            Some(found) => Some(standing(found, None)),
        };
        Ok(MemberChange { before, after })
    }

    /// Checks that a member can be on this board: its name is no marker, and belongs to its shard.
    #[inline]
    fn check_name(&self, member: &S::Element) -> Result<()> {
        // Compare the first byte first: hardly any name has that of a marker.
        let name = member.as_ref();
        if name.first() == MARKER_START.first() && name.starts_with(MARKER_START) && !self.schema.layout.is_coded() {
            return Err(Error::reserved_member());
        }
        match self.schema.rules.shard {
            Some(shard) => shard.check(name, self.store.key().as_ref()),
            None => Ok(()),
        }
    }

    /// Notes if a better member has pushed this one out in the meantime.
    #[inline]
    fn note_eviction(&self, member: &mut MemberWrite<S::Element>, written: &WriteResult) {
        if written.evicted > 0 && member.current().is_some_and(|found| self.store.score(&found.element).is_none()) {
            member.outcome = MemberOutcome::Evicted;
        }
    }

    /// Checks that the member's new element is not there already, left over by damage.
    fn check_placement(
        &self,
        member: &MemberWrite<S::Element>,
        pair: &Pair<S::Element>,
        placement: &Placement,
    ) -> Result<()> {
        let was_wrapped = member.current().is_some_and(|found| self.split(&found.element).is_some());
        if !self.schema.layout.is_coded() || !was_wrapped && placement.key.tail_before(pair.member.as_ref()).is_empty()
        {
            // The element is the bare name, and looking up the member has already looked for that.
            return Ok(());
        }
        let element = self.element(&placement.key, &pair.member);
        let is_own = member.current().is_some_and(|found| found.element.as_ref() == element.as_ref());
        if !is_own && self.store.score(&element).is_some() {
            return Err(misindexed(pair.member.as_ref()));
        }
        Ok(())
    }

    #[inline]
    fn new_values(
        &self,
        current: Option<&Found<S::Element>>,
        pair: &Pair<S::Element>,
        mode: WriteMode,
    ) -> Result<Tuple> {
        let base = |current: Option<&Found<S::Element>>| {
            current.map_or_else(|| self.schema.origin(), |current| current.decoded.values.clone())
        };
        if mode == WriteMode::Add {
            return self.schema.add(&base(current), &pair.values);
        }
        let mut values = Tuple::from_slice(&pair.values);
        if pair.kept != 0 {
            for (i, (value, old)) in values.iter_mut().zip(base(current)).enumerate() {
                if pair.kept >> i & 1 == 1 {
                    *value = old;
                }
            }
        }
        Ok(values)
    }

    #[inline]
    fn is_wanted(&self, member: &MemberWrite<S::Element>, values: &[Value], request: &WriteRequest) -> bool {
        match member.current() {
            None => request.condition != Condition::Existing,
            Some(_) if request.condition == Condition::New => false,
            Some(now) if request.update == Update::Best => self.schema.better(values, &now.decoded.values),
            Some(now) => now.decoded.values.as_slice() != values,
        }
    }

    /// What a pair would make of a member, or what is wrong with its values.
    #[inline]
    fn placement(
        &self,
        current: Option<&Found<S::Element>>,
        pair: &Pair<S::Element>,
        request: &WriteRequest,
    ) -> Result<Placement> {
        let values = self.new_values(current, pair, request.mode)?;
        let time = match (self.schema.rules.ties, current) {
            (Ties::Shared, _) => None,
            (Ties::ByTime(TieRule::Joined, _), Some(current)) => current.decoded.time,
            _ => Some(pair.at.unwrap_or(request.now)),
        };
        let key = self.schema.layout.encode(&values, time.unwrap_or(0), self.since);
        Ok(Placement { values, key, time })
    }

    /// Puts a member in its place, unless the board is full and the member is not good enough.
    #[inline]
    fn place(
        &mut self,
        pair: &Pair<S::Element>,
        member: &mut MemberWrite<S::Element>,
        Placement { values, key, time }: Placement,
        request: &WriteRequest,
        written: &mut WriteResult,
    ) -> Result<()> {
        if let (None, Some(keep)) = (member.current(), request.keep) {
            if self.members()? >= keep && !self.beats(&key, keep.saturating_sub(1))? {
                written.refused += 1;
                return Ok(());
            }
        }
        let score = key.score;
        let element = self.element(&key, &pair.member);
        match member.current() {
            Some(old) if old.element.as_ref() == element.as_ref() => {
                self.store.put(&element, score, Condition::Any);
            }
            old => {
                // If damage left this element there without entries, it becomes this member's: a write that has begun does not
                // fail.
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
            // The position is that of the worst member, and only equal members have the score of this key. So the key is
            // better if any member has a worse score.
            return Ok(match self.order {
                Order::Descending => {
                    self.store.has_any((Bound::Excluded(self.score_below_members()), Bound::Excluded(key.score)))
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
