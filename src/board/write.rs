//! Sets and increments scores. Everything that can be wrong is checked before the first change.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::index::{misindexed, needs_wrapping};
use super::layout::{Decoded, SortKey};
use super::marker::{Marker, MARKER_START};
use super::schema::{Order, TieRule, Ties, Update};
use super::store::{Only, Put, Store};
use super::value::{Tuple, Value};
use super::{Board, Found};
use crate::error::{Error, Result};

/// What the values of a write are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scores {
    /// The new scores.
    Set,
    /// Increments; for one member only.
    Add,
}

/// The options of a write.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// What the values are.
    pub scores: Scores,
    /// `Any`, `New` or `Existing`.
    pub only: Only,
    /// Whether a score may become worse.
    pub update: Update,
    /// The most members that stay.
    pub keep: Option<u64>,
    /// Unix milliseconds, for ties.
    pub now: i64,
    /// Whether ranks before and after are wanted.
    pub ranks: bool,
}

/// Scores and members; usually one pair.
pub type Pairs<N> = SmallVec<[(Tuple, N); 1]>;

/// The rank of a member before a write, and its rank and scores afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The rank before.
    pub before: Option<u64>,
    /// The rank and the scores afterwards.
    pub after: Option<(u64, Tuple)>,
}

/// What a write did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
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
    /// The scores after an increment; `None` if the member is not on the board.
    pub sum: Option<Tuple>,
    /// For each pair, if ranks were asked for.
    pub standings: Vec<Standing>,
}

/// How a write begins.
pub enum Start<N> {
    /// It is done: whether the member is new, and its score.
    Done(bool, f64),
    /// It needs the whole board, which has this marker.
    Board(Option<Marker<N>>),
}

/// A member of a write.
pub(super) struct State<N> {
    /// As it was on the board.
    pub(super) before: Option<Found<N>>,
    /// The rank it had, if ranks were asked for.
    rank: Option<u64>,
    now: Now<N>,
}

/// What a write did to a member so far.
enum Now<N> {
    Nothing,
    Put(Found<N>),
    /// A better one pushed it out.
    Left,
}

impl<N> State<N> {
    /// As it is on the board.
    #[inline]
    fn now(&self) -> Option<&Found<N>> {
        match &self.now {
            Now::Nothing => self.before.as_ref(),
            Now::Put(found) => Some(found),
            Now::Left => None,
        }
    }
}

/// What a write needs to know of the board before its first change.
pub struct Plan<N> {
    /// The score that the only member gets, if that is all there is to write.
    score: Option<f64>,
    /// Its values, if they are a sum.
    sum: Option<Tuple>,
    /// The distinct members of the pairs.
    pub(super) states: SmallVec<[State<N>; 1]>,
    /// For each pair which of them it is.
    pub(super) places: SmallVec<[usize; 1]>,
}

impl<N> Default for Plan<N> {
    fn default() -> Plan<N> {
        Plan { score: None, sum: None, states: SmallVec::new(), places: SmallVec::new() }
    }
}

impl<S: Store> Board<S> {
    /// Begins a write. Without a schema, `lone` (one score or increment, one member, no options) is written at once, as
    /// `ZADD` or `ZINCRBY` would: it is the most common write.
    #[inline(always)]
    pub fn begin(store: &mut S, scores: Scores, lone: Option<(f64, S::Name)>) -> Result<Start<S::Name>> {
        let marker = Marker::find(store)?;
        if let (None, Some((number, member))) = (&marker, &lone) {
            check_unreserved(member.as_ref())?;
            let old = if scores == Scores::Add { store.score(member) } else { None };
            let score = old.unwrap_or(0.0) + number + 0.0;
            // A sum that is not finite is an error, which the general code reports.
            if score.is_finite() {
                let added = old != Some(score) && store.put(member, score, Only::Any) == Put::Added;
                return Ok(Start::Done(added, score));
            }
        }
        Ok(Start::Board(marker))
    }

    /// Sets or increments the scores of members, in order. Every such write goes through here. If it fails, nothing has
    /// changed.
    #[inline(always)]
    pub fn write(&mut self, write: &Write, pairs: &[(Tuple, S::Name)]) -> Result<Written> {
        let mut plan = Plan::default();
        self.plan(write, pairs, &mut plan)?;
        // The first pair was not checked: the first change shows by itself what is wrong with it.
        self.commit(write, pairs, &mut plan)
    }

    /// Looks up what a write needs, and finds everything that can be wrong with it. Nothing is changed, so several boards
    /// can be prepared before the first of them is written to.
    pub fn prepare(&self, write: &Write, pairs: &[(Tuple, S::Name)]) -> Result<Plan<S::Name>> {
        let mut plan = Plan::default();
        self.plan(write, pairs, &mut plan)?;
        if let (Some(pair), Some(state)) = (pairs.first(), plan.states.first()) {
            self.check_pair(write, pair, state)?;
        }
        Ok(plan)
    }

    /// The same, except for errors that writing the first pair would find by itself.
    #[inline(always)]
    fn plan(&self, write: &Write, pairs: &[(Tuple, S::Name)], plan: &mut Plan<S::Name>) -> Result<()> {
        self.check_names(pairs)?;
        match (pairs, write.keep, write.ranks) {
            ([pair], None, false) if self.plan_score(write, pair, plan)? => Ok(()),
            _ => self.plan_members(write, pairs, plan),
        }
    }

    /// If the score holds all values and nothing else matters, a single member does not have to be looked up. Returns
    /// whether that is so.
    #[inline(always)]
    fn plan_score(&self, write: &Write, (values, member): &(Tuple, S::Name), plan: &mut Plan<S::Name>) -> Result<bool> {
        let layout = &self.schema.layout;
        // A member that fits, on a board where all others fit too, is an element under its own name.
        let may_be_lone =
            !layout.is_coded() || !layout.has_time() && self.has_no_entries() && !needs_wrapping(member.as_ref());
        if !may_be_lone {
            return Ok(false);
        }
        if write.scores == Scores::Add {
            plan.sum = Some(self.values_then(self.find(member)?.as_ref(), values, write)?);
        }
        plan.score = layout.lone_score(plan.sum.as_ref().unwrap_or(values));
        Ok(plan.score.is_some())
    }

    /// Members are looked up once, before the first change, so no lookup can fail halfway.
    fn plan_members(&self, write: &Write, pairs: &[(Tuple, S::Name)], plan: &mut Plan<S::Name>) -> Result<()> {
        self.look_up_all(pairs, plan)?;
        self.check_write(write, pairs, plan)?;
        if write.ranks {
            for state in &mut plan.states {
                state.rank = self.rank_of(state)?;
            }
        }
        Ok(())
    }

    /// Writes what was looked up.
    #[inline(always)]
    pub fn commit(&mut self, write: &Write, pairs: &[(Tuple, S::Name)], plan: &mut Plan<S::Name>) -> Result<Written> {
        let mut written = Written::default();
        match (plan.score, pairs) {
            (Some(score), [(_, member)]) => {
                self.commit_score(write, member, score, &mut written);
                written.sum = plan.sum.take();
            }
            _ => self.commit_members(write, pairs, plan, &mut written)?,
        }
        Ok(written)
    }

    /// If the score holds all values and nothing else matters, one low-level write is enough, as in `ZADD`.
    #[inline(always)]
    fn commit_score(&mut self, write: &Write, member: &S::Name, score: f64, written: &mut Written) {
        match self.store.put(member, score, self.only(write)) {
            Put::Added => written.added = 1,
            Put::Changed => written.changed = 1,
            Put::Nothing => {}
        }
    }

    fn commit_members(
        &mut self,
        write: &Write,
        pairs: &[(Tuple, S::Name)],
        Plan { states, places, .. }: &mut Plan<S::Name>,
        written: &mut Written,
    ) -> Result<()> {
        for ((values, member), place) in pairs.iter().zip(&*places) {
            let Some(state) = states.get_mut(*place) else { continue };
            self.look_again(state, written);
            let values = self.values_then(state.now(), values, write)?;
            if self.is_wanted(state, &values, write) {
                self.place(member, state, values, write, written)?;
            }
            self.keep_best(write.keep, written)?;
        }
        for state in &mut *states {
            self.look_again(state, written);
            match (&state.before, &state.now) {
                (None, Now::Put(_)) => written.added += 1,
                (Some(before), Now::Put(now)) if before.decoded.values != now.decoded.values => written.changed += 1,
                _ => {}
            }
        }
        if let Some(left) = &mut self.left {
            // A member may have left and come back.
            let is_there = |place: &usize| states.get(*place).is_some_and(|state| state.now().is_some());
            let there = places.iter().zip(pairs).filter(|(place, _)| is_there(place));
            let there: HashSet<&[u8]> = there.map(|(_, (_, member))| member.as_ref()).collect();
            left.retain(|member| !there.contains(member.as_ref()));
        }
        if let (Scores::Add, Some(state)) = (write.scores, states.first()) {
            written.sum = state.now().map(|now| Tuple::from_slice(&now.decoded.values));
            written.refused = u64::from(written.sum.is_none());
        }
        if write.ranks {
            let standings: Vec<Standing> = states.iter().map(|state| self.standing(state)).collect::<Result<_>>()?;
            written.standings = places.iter().filter_map(|place| standings.get(*place).cloned()).collect();
        }
        Ok(())
    }

    fn only(&self, write: &Write) -> Only {
        match (write.update, write.only, self.schema.order()) {
            (Update::Set, only, _) | (Update::Best, only @ Only::New, _) => only,
            (Update::Best, Only::Existing, Order::Descending) => Only::ExistingRaise,
            (Update::Best, Only::Existing, Order::Ascending) => Only::ExistingLower,
            (Update::Best, _, Order::Descending) => Only::Raise,
            (Update::Best, _, Order::Ascending) => Only::Lower,
        }
    }

    /// Checks that these members can be on this board: their names are not markers, and belong to its shard.
    #[inline(always)]
    pub(super) fn check_names(&self, pairs: &[(Tuple, S::Name)]) -> Result<()> {
        if !self.schema.layout.is_coded() {
            pairs.iter().try_for_each(|(_, member)| check_unreserved(member.as_ref()))?;
        }
        match self.schema.rules.shard {
            Some(shard) => pairs.iter().try_for_each(|(_, member)| shard.check(member.as_ref(), self.store.key_name())),
            None => Ok(()),
        }
    }

    /// The members of the pairs, as they are on the board.
    #[inline(always)]
    pub(super) fn look_up_all(&self, pairs: &[(Tuple, S::Name)], plan: &mut Plan<S::Name>) -> Result<()> {
        // With one pair there is nothing to compare.
        let mut known: Option<HashMap<&[u8], usize>> = (pairs.len() > 1).then(HashMap::new);
        for (_, member) in pairs {
            let next = plan.states.len();
            let place = known.as_mut().map_or(next, |known| *known.entry(member.as_ref()).or_insert(next));
            plan.places.push(place);
            if place == next {
                plan.states.push(State { before: self.find(member)?, rank: None, now: Now::Nothing });
            }
        }
        Ok(())
    }

    /// A better member may have pushed this one out.
    #[inline]
    fn look_again(&self, state: &mut State<S::Name>, written: &Written) {
        if written.evicted > 0 && state.now().is_some_and(|now| self.store.score(&now.element).is_none()) {
            state.now = Now::Left;
        }
    }

    /// The rank of a member that is on the board, in its default kind.
    fn rank_of(&self, state: &State<S::Name>) -> Result<Option<u64>> {
        state.now().map(|now| self.rank(now, self.default_kind())).transpose()
    }

    fn standing(&self, state: &State<S::Name>) -> Result<Standing> {
        let values = state.now().map(|now| now.decoded.values.clone());
        Ok(Standing { before: state.rank, after: self.rank_of(state)?.zip(values) })
    }

    /// Checks everything that can go wrong after the first pair is written.
    fn check_write(&self, write: &Write, pairs: &[(Tuple, S::Name)], plan: &Plan<S::Name>) -> Result<()> {
        if !self.schema.layout.is_coded() {
            return Ok(());
        }
        for (pair, place) in pairs.iter().zip(&plan.places).skip(1) {
            plan.states.get(*place).map_or(Ok(()), |state| self.check_pair(write, pair, state))?;
        }
        match write.keep {
            Some(keep) if self.members()? + pairs.len() as u64 > keep => {
                self.check_leavers(keep.saturating_sub(pairs.len() as u64))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the new values are in the range of their fields, and that there is no element in the member's new place
    /// that its entries do not lead to.
    pub(super) fn check_pair(
        &self,
        write: &Write,
        (values, member): &(Tuple, S::Name),
        state: &State<S::Name>,
    ) -> Result<()> {
        let values = self.values_then(state.now(), values, write)?;
        if !self.schema.layout.is_coded() {
            return Ok(());
        }
        let (key, _) = self.target(state, &values, write);
        let element = self.element(&key, member);
        let is_own = state.now().is_some_and(|now| now.element.as_ref() == element.as_ref());
        if !is_own && self.store.score(&element).is_some() {
            return Err(misindexed(member.as_ref()));
        }
        Ok(())
    }

    /// The values that a member will have, if the rules let it change.
    #[inline(always)]
    fn values_then(&self, now: Option<&Found<S::Name>>, values: &[Value], write: &Write) -> Result<Tuple> {
        match (write.scores, now) {
            (Scores::Set, _) => Ok(Tuple::from_slice(values)),
            (Scores::Add, Some(now)) => self.schema.add(&now.decoded.values, values),
            (Scores::Add, None) => self.schema.add(&self.schema.origin(), values),
        }
    }

    /// Whether the rules let it change.
    #[inline]
    fn is_wanted(&self, state: &State<S::Name>, values: &[Value], write: &Write) -> bool {
        match state.now() {
            None => write.only != Only::Existing,
            Some(_) if write.only == Only::New => false,
            Some(now) if write.update == Update::Best => self.schema.better(values, &now.decoded.values),
            Some(now) => now.decoded.values.as_slice() != values,
        }
    }

    /// Where a member with these values belongs, and its tie time.
    #[inline]
    fn target(&self, state: &State<S::Name>, values: &[Value], write: &Write) -> (SortKey, Option<i64>) {
        let time = match (self.schema.rules.ties, state.now()) {
            (Ties::Shared, _) => None,
            (Ties::ByTime(TieRule::Joined, _), Some(now)) => now.decoded.time,
            _ => Some(write.now),
        };
        (self.schema.layout.encode(values, time.unwrap_or(0), self.since), time)
    }

    /// Puts a member in its place, unless the board is full and the member is not good enough.
    #[inline]
    fn place(
        &mut self,
        member: &S::Name,
        state: &mut State<S::Name>,
        values: Tuple,
        write: &Write,
        written: &mut Written,
    ) -> Result<()> {
        let (key, time) = self.target(state, &values, write);
        if let (None, Some(keep)) = (state.now(), write.keep) {
            if self.members()? >= keep && !self.beats(&key, keep.saturating_sub(1))? {
                written.refused += 1;
                return Ok(());
            }
        }
        let score = key.score;
        let element = self.element(&key, member);
        match state.now() {
            Some(old) if old.element.as_ref() == element.as_ref() => {
                self.store.put(&element, score, Only::Any);
            }
            old => {
                if self.store.put(&element, score, Only::New) == Put::Nothing {
                    return Err(misindexed(member.as_ref()));
                }
                let old = old.map(|old| &old.element);
                self.replace_entries(old, Some(&element));
                if let Some(old) = old {
                    self.store.remove(old);
                }
            }
        }
        written.overflowed += u64::from(!key.tail.is_empty());
        state.now = Now::Put(Found { element, score, decoded: Decoded { values, time } });
        Ok(())
    }

    /// Whether a place is strictly better, by fields and time, than the member at a position.
    fn beats(&self, key: &SortKey, position: u64) -> Result<bool> {
        if self.schema.explicit && key.tail.is_empty() && position + 1 == self.members()? {
            // The position is that of the worst member, and no other code has this score: is any score on the far side?
            return Ok(match self.order {
                Order::Descending => self.store.any_between(self.top_of_others(), key.score),
                Order::Ascending => self.store.any_between(key.score, f64::INFINITY),
            });
        }
        let Some((element, score)) = self.store.at(self.index_at(position)?)? else { return Ok(false) };
        // Where the scores are equal, both codes fit or neither does. If both do, they are equal.
        let tail = self.split(&element).map_or(&[][..], |(tail, _)| tail);
        let tail = if key.tail.is_empty() { &[] } else { tail };
        Ok(self.best_first((key.score, &key.tail), (score, tail)).is_lt())
    }

    #[inline]
    fn keep_best(&mut self, keep: Option<u64>, written: &mut Written) -> Result<()> {
        let Some(keep) = keep else { return Ok(()) };
        match self.members()?.saturating_sub(keep) {
            0 => return Ok(()),
            1 => {
                if let Some((worst, _)) = self.store.at(self.index_at(keep)?)? {
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
pub(super) fn check_unreserved(member: &[u8]) -> Result<()> {
    // Few names begin like that, and the first byte tells them apart.
    if member.first() == MARKER_START.first() && member.starts_with(MARKER_START) {
        return Err(Error::ReservedMember);
    }
    Ok(())
}
