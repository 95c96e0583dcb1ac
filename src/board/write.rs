//! Changes to members. Everything that can be wrong is found out before the first of them.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::layout::Place;
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

/// A write as a client wants it, apart from scores and members.
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

/// Scores and members, mostly one such pair.
pub type Pairs<N> = SmallVec<[(Tuple, N); 1]>;

/// Where a member stood before a write, and its rank and scores afterwards.
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
    /// Newcomers that a full board did not take.
    pub refused: u64,
    /// Members that had to leave for better ones.
    pub evicted: u64,
    /// What an increment left; `None` if the member is not on the board.
    pub sum: Option<Tuple>,
    /// For each pair, if ranks were asked for.
    pub standings: Vec<Standing>,
}

/// How a write begins.
pub enum Start<N> {
    /// It is done: whether the member is new, and its score.
    Done(bool, f64),
    /// There is more to it than a score, and this marker.
    Board(Option<Marker<N>>),
}

/// A member of a write: what it had, and where it stands now.
pub(super) struct State<N> {
    pub(super) before: Option<Tuple>,
    now: Option<Found<N>>,
}

/// Each member of some pairs once, and for each pair which it is.
pub(super) type States<N> = (SmallVec<[State<N>; 1]>, SmallVec<[usize; 1]>);

impl<S: Store> Board<S> {
    /// Begins a write. Where there is no schema, `lone` (a score or an increment, and a member, and no options) is
    /// written at once, as `ZADD` or `ZINCRBY` would: it is the commonest of all writes.
    #[inline(always)]
    pub fn begin(store: &mut S, scores: Scores, lone: Option<(f64, S::Name)>) -> Result<Start<S::Name>> {
        let marker = Marker::find(store)?;
        if let (None, Some((number, member))) = (&marker, &lone) {
            check_unreserved(member.as_ref())?;
            let old = if scores == Scores::Add { store.score(member) } else { None };
            let score = old.unwrap_or(0.0) + number + 0.0;
            // A sum that is not finite is an error, which the long way tells.
            if score.is_finite() {
                let added = old != Some(score) && store.put(member, score, Only::Any) == Put::Added;
                return Ok(Start::Done(added, score));
            }
        }
        Ok(Start::Board(marker))
    }

    /// Sets or increments the scores of members, in order: the one entry for every such write.
    pub fn write(&mut self, write: &Write, pairs: &[(Tuple, S::Name)]) -> Result<Written> {
        let mut written = Written::default();
        if !self.schema.layout.spills() {
            pairs.iter().try_for_each(|(_, member)| check_unreserved(member.as_ref()))?;
        }
        if let ([(values, member)], None, false) = (pairs, write.keep, write.ranks) {
            if self.write_score(write, values, member, &mut written) {
                return Ok(written);
            }
        }
        // Members are looked up once, before the first change: no look-up can fail half-way.
        let (mut states, places) = self.states(pairs)?;
        self.check_write(write, pairs, &states, &places)?;
        let before = if write.ranks { self.ranks(&states)? } else { Vec::new() };
        for ((values, member), place) in pairs.iter().zip(&places) {
            if let Some(state) = states.get_mut(*place) {
                let old = self.still_there(state.now.take(), &written);
                state.now = self.set(member, old, values, write, &mut written)?;
            }
        }
        for state in &mut states {
            state.now = self.still_there(state.now.take(), &written);
            match (&state.before, &state.now) {
                (None, Some(_)) => written.added += 1,
                (Some(before), Some(now)) => written.changed += u64::from(*before != now.decoded.values),
                _ => {}
            }
        }
        if let Some(left) = &mut self.left {
            // Somebody may have left and come back.
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

    /// The members of the pairs as they stand.
    pub(super) fn states(&self, pairs: &[(Tuple, S::Name)]) -> Result<States<S::Name>> {
        let (mut states, mut places) = States::default();
        let mut known: HashMap<&[u8], usize> = HashMap::new();
        for (_, member) in pairs {
            let place = states.len();
            if pairs.len() > 1 {
                if let Some(place) = known.get(member.as_ref()) {
                    places.push(*place);
                    continue;
                }
                known.insert(member.as_ref(), place);
            }
            let now = self.find_indexed(member)?;
            states.push(State { before: now.as_ref().map(|found| found.decoded.values.clone()), now });
            places.push(place);
        }
        Ok((states, places))
    }

    /// A member may have had to leave for a better one.
    fn still_there(&self, found: Option<Found<S::Name>>, written: &Written) -> Option<Found<S::Name>> {
        found.filter(|found| written.evicted == 0 || self.store.score(&found.element).is_some())
    }

    /// The rank of each member that is on the board, in its default kind.
    fn ranks(&self, states: &[State<S::Name>]) -> Result<Vec<Option<u64>>> {
        let rank = |found: &Found<S::Name>| self.rank(found, self.default_kind());
        states.iter().map(|state| state.now.as_ref().map(rank).transpose()).collect()
    }

    /// Where the score says it all, one look-up does what is asked, as `ZADD` does it. Whether it was done.
    fn write_score(&mut self, write: &Write, values: &[Value], member: &S::Name, written: &mut Written) -> bool {
        if write.scores == Scores::Add {
            return false;
        }
        let Some(score) = self.schema.layout.lone_score(values) else { return false };
        match self.store.put(member, score, self.only(write)) {
            Put::Added => written.added = 1,
            Put::Changed => written.changed = 1,
            Put::Nothing => {}
        }
        true
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

    /// Whether anything can go wrong once the first pair is written.
    pub(super) fn check_write(
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
            // Ranks need the number of members, and must not find out afterwards that it is wrong.
            self.members()?;
        }
        for ((values, member), place) in pairs.iter().zip(places) {
            let old = states.get(*place).and_then(|state| state.now.as_ref());
            let values = self.values_then(old, values, write)?;
            let place = self.place_of(old, &values, write);
            let element = self.element(&place.spill, member);
            // An element that the index does not know must not be there.
            if old.is_none_or(|old| old.element.as_ref() != element.as_ref()) && self.store.score(&element).is_some() {
                return Err(Error::Damaged(Damage::Index(Shown::new(member.as_ref()))));
            }
        }
        match write.keep {
            Some(keep) if self.members()? + pairs.len() as u64 > keep => {
                self.check_leavers(keep.saturating_sub(pairs.len() as u64))
            }
            _ => Ok(()),
        }
    }

    /// The values that a member will have, if the rules let it change.
    fn values_then(&self, old: Option<&Found<S::Name>>, values: &[Value], write: &Write) -> Result<Tuple> {
        match write.scores {
            Scores::Set => Ok(Tuple::from_slice(values)),
            Scores::Add => match old {
                Some(old) => self.schema.add(&old.decoded.values, values),
                None => self.schema.add(&self.schema.origin(), values),
            },
        }
    }

    /// Where a member with these values belongs.
    fn place_of(&self, old: Option<&Found<S::Name>>, values: &[Value], write: &Write) -> Place {
        let time = match (self.schema.rules.ties, old) {
            (Ties::ByTime(TieRule::Joined, _), Some(old)) => old.decoded.time.unwrap_or(0),
            _ => self.schema.layout.time_at(write.now),
        };
        self.schema.layout.encode(values, time)
    }

    /// Whether the members from a position on can be removed: on a spilled board each has its entry.
    pub(super) fn check_leavers(&self, first: u64) -> Result<()> {
        if !self.schema.layout.spills() {
            return Ok(());
        }
        self.elements(first, u64::MAX, self.direction(), &mut |element, score| {
            self.decode(&element, score)?;
            self.check_entry(&element)
        })
    }

    pub(super) fn check_entry(&self, element: &S::Name) -> Result<()> {
        match self.store.score(&self.entry_of(element)) {
            Some(f64::NEG_INFINITY) => Ok(()),
            _ => Err(Error::Damaged(Damage::Index(Shown::new(self.name_of(element))))),
        }
    }

    /// Sets a member's scores: where it stands then, unless it has to leave at once.
    fn set(
        &mut self,
        member: &S::Name,
        old: Option<Found<S::Name>>,
        values: &[Value],
        write: &Write,
        written: &mut Written,
    ) -> Result<Option<Found<S::Name>>> {
        let values = &*self.values_then(old.as_ref(), values, write)?;
        let wanted = match &old {
            Some(_) if write.only == Only::New => false,
            None => write.only != Only::Existing,
            Some(old) if write.update == Update::Best => self.schema.better(values, &old.decoded.values),
            Some(old) => old.decoded.values.as_slice() != values,
        };
        let now = if wanted { self.place(member, old, values, write, written)? } else { old };
        self.keep_best(write.keep, written)?;
        Ok(now)
    }

    /// Puts a member where its values belong, if a full board takes it.
    fn place(
        &mut self,
        member: &S::Name,
        old: Option<Found<S::Name>>,
        values: &[Value],
        write: &Write,
        written: &mut Written,
    ) -> Result<Option<Found<S::Name>>> {
        let place = self.place_of(old.as_ref(), values, write);
        if let (None, Some(keep)) = (&old, write.keep) {
            if self.members()? >= keep && !self.beats(&place, keep.saturating_sub(1))? {
                written.refused += 1;
                return Ok(None);
            }
        }
        let element = self.element(&place.spill, member);
        let entry = self.put_member(&element, place.score);
        match old {
            Some(old) if old.element.as_ref() != element.as_ref() => self.remove_indexed(&old.element, old.entry),
            Some(_) => {}
            None => self.recount_by(1),
        }
        // The score and the element hold all that there is to say.
        let decoded = self.schema.layout.decode(place.score, element.as_ref()).ok_or(Error::Internal)?;
        Ok(Some(Found { element, entry, score: place.score, decoded }))
    }

    /// Writes a member, and on a spilled board its entry.
    fn put_member(&mut self, element: &S::Name, score: f64) -> Option<S::Name> {
        self.store.put(element, score, Only::Any);
        let entry = self.schema.layout.spills().then(|| self.entry_of(element))?;
        self.store.put(&entry, f64::NEG_INFINITY, Only::Any);
        Some(entry)
    }

    /// Removes an element, and on a spilled board its entry.
    pub(super) fn remove_element(&mut self, element: &S::Name) {
        let entry = self.schema.layout.spills().then(|| self.entry_of(element));
        self.remove_indexed(element, entry);
    }

    fn remove_indexed(&mut self, element: &S::Name, entry: Option<S::Name>) {
        self.store.remove(element);
        if let Some(entry) = entry {
            self.store.remove(&entry);
        }
    }

    /// Whether a place is strictly better, by fields and time, than the member at a position.
    fn beats(&self, place: &Place, position: u64) -> Result<bool> {
        if self.schema.explicit && !self.schema.layout.spills() && position + 1 == self.members()? {
            // The position is that of the worst, and scores say it all: is there one on the far side?
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

    pub(super) fn remove_member(&mut self, element: &S::Name) {
        self.remove_element(element);
        self.recount_by(-1);
        self.note_left([element].into_iter());
    }

    fn note_left<'e>(&mut self, elements: impl Iterator<Item = &'e S::Name>)
    where
        S::Name: 'e,
    {
        if let Some(mut left) = self.left.take() {
            left.extend(elements.map(|element| self.member_of(element)));
            self.left = Some(left);
        }
    }

    /// Removes members: how many were there.
    pub fn remove(&mut self, members: &[S::Name]) -> Result<u64> {
        // Where the element is the member nothing can go wrong, and what does not decode may go.
        if self.schema.layout.spills() {
            self.check_size()?;
        }
        let locate = |member| Ok(self.locate(member)?.map(|(element, ..)| element));
        let elements: Vec<Option<S::Name>> = members.iter().map(locate).collect::<Result<_>>()?;
        let mut removed = 0;
        for element in elements.into_iter().flatten() {
            // The same name may be there twice.
            if self.store.score(&element).is_some() {
                self.remove_member(&element);
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Keeps the best `keep`: how many left, and if they are `wanted`, which elements, best first.
    pub fn trim(&mut self, keep: u64, wanted: bool) -> Result<(u64, Vec<S::Name>)> {
        let count = self.members()?.saturating_sub(keep);
        if count == 0 {
            return Ok((0, Vec::new()));
        }
        self.check_leavers(keep)?;
        let spills = self.schema.layout.spills();
        let mut leaving = Vec::new();
        if wanted || spills || self.left.is_some() {
            self.elements(keep, count, self.direction(), &mut |element, _| {
                leaving.push(element);
                Ok(())
            })?;
        }
        let first = match self.order {
            Order::Descending => self.foundation()?,
            Order::Ascending => self.foundation()? + keep,
        };
        self.store.remove_range(first, first + count - 1)?;
        self.recount_by(-i64::try_from(count).unwrap_or(i64::MAX));
        if spills {
            for element in &leaving {
                let entry = self.entry_of(element);
                self.store.remove(&entry);
            }
        }
        self.note_left(leaving.iter());
        Ok((count, leaving))
    }

    /// Removes all members, keeps the schema and the expiry: how many there were.
    pub fn clear(&mut self) -> Result<u64> {
        let members = self.members()?;
        if members > 0 {
            self.store.clear(self.marker.as_ref().map(|marker| &marker.element))?;
            self.counted.set(None);
        }
        Ok(members)
    }
}

/// A marker must never be made, moved or taken for a member.
#[inline]
pub(super) fn check_unreserved(member: &[u8]) -> Result<()> {
    // Hardly a name begins like that, and one byte tells.
    if member.first() == MARKER_START.first() && member.starts_with(MARKER_START) {
        return Err(Error::ReservedMember);
    }
    Ok(())
}
