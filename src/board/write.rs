//! Sets and increments scores. Everything that can be wrong is checked before the first change.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::layout::{Decoded, Place};
use super::marker::{Marker, MARKER_START};
use super::schema::{Order, TieRule, Ties, Update};
use super::store::{Only, Put, Store};
use super::value::{Tuple, Value};
use super::{Board, Found};
use crate::error::{Damage, Error, Result, Shown};

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
    /// It was not on the board.
    pub(super) is_new: bool,
    /// The values it had, once it has others.
    before: Option<Tuple>,
    /// Its element.
    now: Option<Found<N>>,
}

/// A write whose members were looked up.
// There is one a board and command, on the stack: a box would cost every write an allocation.
#[allow(clippy::large_enum_variant)]
pub enum Plan<N> {
    /// One member's score says it all.
    Score(f64),
    /// The members as they stand.
    Members(Members<N>),
}

/// The members of a write as they stand before it.
pub struct Members<N> {
    states: SmallVec<[State<N>; 1]>,
    /// For each pair which of them it is.
    places: SmallVec<[usize; 1]>,
    /// The rank of each, if ranks were asked for.
    ranks: Vec<Option<u64>>,
}

/// The distinct members of some pairs, and for each pair the index of its member.
pub(super) type States<N> = (SmallVec<[State<N>; 1]>, SmallVec<[usize; 1]>);

/// Where a write puts a member, and what its element says then.
struct Target {
    place: Place,
    decoded: Decoded,
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

    /// Sets or increments the scores of members, in order: the one entry for every such write.
    #[inline]
    pub fn write(&mut self, write: &Write, pairs: &[(Tuple, S::Name)]) -> Result<Written> {
        let plan = self.plan(write, pairs)?;
        self.commit(write, pairs, plan)
    }

    /// Looks up what a write needs, and finds out all that can be wrong with it. Nothing is changed: several boards can be
    /// prepared before the first of them is written to.
    pub fn prepare(&self, write: &Write, pairs: &[(Tuple, S::Name)]) -> Result<Plan<S::Name>> {
        let plan = self.plan(write, pairs)?;
        if let (Plan::Members(members), Some(pair)) = (&plan, pairs.first()) {
            let state = members.states.first();
            self.values_then(state.and_then(|state| state.now.as_ref()), &pair.0, write)?;
            self.check_pair(write, pair, state)?;
        }
        Ok(plan)
    }

    /// The same, but for what the first change shows by itself where it is the first of all.
    #[inline]
    fn plan(&self, write: &Write, pairs: &[(Tuple, S::Name)]) -> Result<Plan<S::Name>> {
        self.check_names(pairs)?;
        if let ([(values, _)], None, false, Scores::Set) = (pairs, write.keep, write.ranks, write.scores) {
            if let Some(score) = self.schema.layout.lone_score(values) {
                return Ok(Plan::Score(score));
            }
        }
        // Members are looked up once, before the first change, so no lookup can fail halfway.
        let (states, places) = self.states(pairs)?;
        self.check_write(write, pairs, &states, &places)?;
        let ranks = if write.ranks { self.ranks(&states)? } else { Vec::new() };
        Ok(Plan::Members(Members { states, places, ranks }))
    }

    /// Writes what was looked up.
    #[inline]
    pub fn commit(&mut self, write: &Write, pairs: &[(Tuple, S::Name)], plan: Plan<S::Name>) -> Result<Written> {
        match plan {
            Plan::Score(score) => Ok(self.commit_score(write, pairs, score)),
            Plan::Members(members) => self.commit_members(write, pairs, members),
        }
    }

    fn commit_members(
        &mut self,
        write: &Write,
        pairs: &[(Tuple, S::Name)],
        Members { mut states, places, ranks: before }: Members<S::Name>,
    ) -> Result<Written> {
        let mut written = Written::default();
        for ((values, member), place) in pairs.iter().zip(&places) {
            let Some(state) = states.get_mut(*place) else { continue };
            self.look_again(state, &written);
            let values = self.values_then(state.now.as_ref(), values, write)?;
            if self.is_wanted(state.now.as_ref(), &values, write) {
                let target = self.target(state.now.as_ref(), values, write);
                self.place(member, state, target, write.keep, &mut written)?;
            }
            self.keep_best(write.keep, &mut written)?;
        }
        for state in &mut states {
            self.look_again(state, &written);
            let Some(now) = &state.now else { continue };
            let changed = state.before.as_ref().is_some_and(|before| *before != now.decoded.values);
            written.added += u64::from(state.is_new);
            written.changed += u64::from(changed && !state.is_new);
        }
        if let Some(left) = &mut self.left {
            // A member may have left and come back.
            let is_there = |place: &usize| states.get(*place).is_some_and(|state| state.now.is_some());
            let there = places.iter().zip(pairs).filter(|(place, _)| is_there(place));
            let there: HashSet<&[u8]> = there.map(|(_, (_, member))| member.as_ref()).collect();
            left.retain(|member| !there.contains(member.as_ref()));
        }
        if let (Scores::Add, Some(state)) = (write.scores, states.first()) {
            written.sum = state.now.as_ref().map(|now| now.decoded.values.clone());
            written.refused = u64::from(written.sum.is_none());
        }
        if write.ranks {
            let after = self.ranks(&states)?;
            for place in places {
                let (before, after) = (before.get(place).copied().flatten(), after.get(place).copied().flatten());
                let now = states.get(place).and_then(|state| state.now.as_ref());
                let after = after.zip(now.map(|now| now.decoded.values.clone()));
                written.standings.push(Standing { before, after });
            }
        }
        Ok(written)
    }

    /// Where the score says it all, one low-level write does what is asked, as `ZADD` does it.
    fn commit_score(&mut self, write: &Write, pairs: &[(Tuple, S::Name)], score: f64) -> Written {
        let mut written = Written::default();
        for (_, member) in pairs {
            match self.store.put(member, score, self.only(write)) {
                Put::Added => written.added += 1,
                Put::Changed => written.changed += 1,
                Put::Nothing => {}
            }
        }
        written
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

    /// Whether these members may be on this board: names that are no marker, and that belong to its shard.
    #[inline(always)]
    pub(super) fn check_names(&self, pairs: &[(Tuple, S::Name)]) -> Result<()> {
        if !self.schema.layout.spills() {
            pairs.iter().try_for_each(|(_, member)| check_unreserved(member.as_ref()))?;
        }
        match self.schema.rules.shard {
            Some(shard) => pairs.iter().try_for_each(|(_, member)| shard.check(member.as_ref(), self.store.key_name())),
            None => Ok(()),
        }
    }

    /// The members of the pairs, as they are on the board.
    pub(super) fn states(&self, pairs: &[(Tuple, S::Name)]) -> Result<States<S::Name>> {
        let (mut states, mut places) = States::default();
        // With one pair there is nothing to compare.
        let mut known: Option<HashMap<&[u8], usize>> = (pairs.len() > 1).then(HashMap::new);
        for (_, member) in pairs {
            let next = states.len();
            let place = known.as_mut().map_or(next, |known| *known.entry(member.as_ref()).or_insert(next));
            places.push(place);
            if place < next {
                continue;
            }
            let now = self.find_indexed(member)?;
            states.push(State { is_new: now.is_none(), before: None, now });
        }
        Ok((states, places))
    }

    /// A member may have had to leave for a better one.
    fn look_again(&self, state: &mut State<S::Name>, written: &Written) {
        if written.evicted > 0 {
            let left = state.now.take_if(|found| self.store.score(&found.element).is_none());
            state.before = state.before.take().or(left.map(|found| found.decoded.values));
        }
    }

    /// The rank of each member that is on the board, in its default kind.
    fn ranks(&self, states: &[State<S::Name>]) -> Result<Vec<Option<u64>>> {
        let rank = |found: &Found<S::Name>| self.rank(found, self.default_kind());
        states.iter().map(|state| state.now.as_ref().map(rank).transpose()).collect()
    }

    /// Whether anything can go wrong once the first pair is written.
    fn check_write(
        &self,
        write: &Write,
        pairs: &[(Tuple, S::Name)],
        states: &[State<S::Name>],
        places: &[usize],
    ) -> Result<()> {
        if !self.schema.layout.spills() {
            return Ok(());
        }
        self.check_size()?;
        if write.ranks {
            // Ranks need the number of members: find out now if it is wrong, not after the write.
            self.members()?;
        }
        // Writing the first element shows by itself whether it is new.
        for (pair, place) in pairs.iter().zip(places).skip(1) {
            self.check_pair(write, pair, states.get(*place))?;
        }
        match write.keep {
            Some(keep) if self.members()? + pairs.len() as u64 > keep => {
                self.check_leavers(keep.saturating_sub(pairs.len() as u64))
            }
            _ => Ok(()),
        }
    }

    /// An element that the index does not know must not be where a pair puts its member.
    pub(super) fn check_pair(
        &self,
        write: &Write,
        (values, member): &(Tuple, S::Name),
        state: Option<&State<S::Name>>,
    ) -> Result<()> {
        if !self.schema.layout.spills() {
            return Ok(());
        }
        let old = state.and_then(|state| state.now.as_ref());
        let target = self.target(old, self.values_then(old, values, write)?, write);
        let element = self.element(&target.place.spill, member);
        if old.is_none_or(|old| old.element.as_ref() != element.as_ref()) && self.store.score(&element).is_some() {
            return Err(unindexed(member));
        }
        Ok(())
    }

    /// The values that a member will have, if the rules let it change.
    fn values_then(&self, old: Option<&Found<S::Name>>, values: &[Value], write: &Write) -> Result<Tuple> {
        match (write.scores, old) {
            (Scores::Set, _) => Ok(Tuple::from_slice(values)),
            (Scores::Add, Some(old)) => self.schema.add(&old.decoded.values, values),
            (Scores::Add, None) => self.schema.add(&self.schema.origin(), values),
        }
    }

    /// Whether the rules let it change.
    fn is_wanted(&self, old: Option<&Found<S::Name>>, values: &[Value], write: &Write) -> bool {
        match old {
            None => write.only != Only::Existing,
            Some(_) if write.only == Only::New => false,
            Some(old) if write.update == Update::Best => self.schema.better(values, &old.decoded.values),
            Some(old) => old.decoded.values.as_slice() != values,
        }
    }

    /// Where a member with these values belongs.
    fn target(&self, old: Option<&Found<S::Name>>, values: Tuple, write: &Write) -> Target {
        let time = match (self.schema.rules.ties, old) {
            (Ties::Shared, _) => None,
            (Ties::ByTime(TieRule::Joined, _), Some(old)) => old.decoded.time,
            _ => Some(self.schema.layout.time_at(write.now)),
        };
        let place = self.schema.layout.encode(&values, time.unwrap_or(0));
        Target { place, decoded: Decoded { values, time } }
    }

    /// Puts a member where it belongs, if a full board takes it.
    fn place(
        &mut self,
        member: &S::Name,
        state: &mut State<S::Name>,
        Target { place, decoded }: Target,
        keep: Option<u64>,
        written: &mut Written,
    ) -> Result<()> {
        if let (None, Some(keep)) = (&state.now, keep) {
            if self.members()? >= keep && !self.beats(&place, keep.saturating_sub(1))? {
                written.refused += 1;
                return Ok(());
            }
        }
        let score = place.score;
        let element = self.element(&place.spill, member);
        let entry = match state.now.take() {
            // The index has its element, but not its score.
            Some(old) if old.element.as_ref() == element.as_ref() => {
                self.store.put(&element, score, Only::Any);
                state.before.get_or_insert(old.decoded.values);
                old.entry
            }
            old => {
                if self.store.put(&element, score, Only::New) == Put::Nothing {
                    return Err(unindexed(member));
                }
                let entry = self.put_entry(&element);
                match old {
                    Some(old) => {
                        self.remove_indexed(&old.element, old.entry);
                        state.before.get_or_insert(old.decoded.values);
                    }
                    None => self.recount_by(1),
                }
                entry
            }
        };
        state.now = Some(Found { element, entry, score, decoded });
        Ok(())
    }

    /// Whether a place is strictly better, by fields and time, than the member at a position.
    fn beats(&self, place: &Place, position: u64) -> Result<bool> {
        if self.schema.explicit && !self.schema.layout.spills() && position + 1 == self.members()? {
            // The position is that of the worst member, and scores hold all fields: is any score on the far side?
            return Ok(match self.order {
                Order::Descending => self.store.any_between(f64::NEG_INFINITY, place.score),
                Order::Ascending => self.store.any_between(place.score, f64::INFINITY),
            });
        }
        let mut beats = false;
        self.elements(position, 1, self.direction(), &mut |element, score| {
            let spill = element.as_ref().get(..self.schema.layout.spill_len()).unwrap_or_default();
            beats = self.best_first((place.score, &place.spill), (score, spill)).is_lt();
            Ok(())
        })?;
        Ok(beats)
    }

    fn keep_best(&mut self, keep: Option<u64>, written: &mut Written) -> Result<()> {
        let Some(keep) = keep else { return Ok(()) };
        match self.members()?.saturating_sub(keep) {
            0 => return Ok(()),
            1 => {
                let mut worst = None;
                self.elements(keep, 1, self.direction(), &mut |element, _| {
                    worst = Some(element);
                    Ok(())
                })?;
                if let Some(element) = worst {
                    self.remove_member(&element);
                }
                written.evicted += 1;
            }
            _ => written.evicted += self.trim(keep, false)?.0,
        }
        Ok(())
    }
}

/// An element for this member is there, and the index does not know it.
#[cold]
fn unindexed<N: AsRef<[u8]>>(member: &N) -> Error {
    Error::Damaged(Damage::Index(Shown::new(member.as_ref())))
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
