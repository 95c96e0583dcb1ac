//! Changes to a board. Everything a client can get wrong was found out before the first of them.

use super::layout::Place;
use super::marker::{marker_bytes, Id, Marker, MARKER_START};
use super::schema::{Order, Rules, Schema, TieRule, Ties, Update};
use super::store::{Only, Part, Put, Store};
use super::value::Value;
use super::{Board, Found};
use crate::error::{Error, Result, Shown};

/// So many members a write rebuilds the `members` companion for; beyond that it would stop the server.
const MOST_REBUILT: u64 = 10_000;

/// Elements looked at between two looks at the clock.
const CHECKED_AT_ONCE: u64 = 1000;

/// How a write treats what is there.
#[derive(Clone, Copy, Debug)]
pub struct WriteRules {
    /// `Any`, `New` or `Existing`.
    pub only: Only,
    pub update: Update,
    pub keep: Option<u64>,
    /// Unix milliseconds, for ties.
    pub now: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Added,
    Changed,
    /// The score was the same, or the rules did not let it change.
    Unchanged,
    /// A newcomer that is not better than the worst of a full board.
    Refused,
}

/// How a trim treats the members that leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leavers {
    Named,
    Unnamed,
}

impl<S: Store> Board<S> {
    /// Must come before the first write, with the members it is about: mends the `members` companion where it does
    /// not fit, so that nothing can go wrong half-way.
    pub fn prepare_write<'m>(&mut self, members: impl ExactSizeIterator<Item = &'m S::Name>) -> Result<()>
    where
        S::Name: 'm,
    {
        if self.schema.layout.spills() && !self.members_fit.get() && !self.check_members()? {
            self.mend_members()?;
        }
        // An element that does not decode must be met before the first write, not by the second.
        if members.len() > 1 && !self.schema.layout.is_plain() {
            for member in members {
                self.find_or_mend(member)?;
            }
        }
        Ok(())
    }

    /// As many entries as members, but not the right ones, is possible: a copy that was renamed over its original, say.
    pub fn find_or_mend(&mut self, member: &S::Name) -> Result<Option<Found<S::Name>>> {
        match self.find(member) {
            Err(Error::MembersOutOfStep) => {
                self.mend_members()?;
                self.find(member)
            }
            found => found,
        }
    }

    fn mend_members(&mut self) -> Result<()> {
        if self.members() > MOST_REBUILT {
            return Err(Error::MembersTooManyToRebuild);
        }
        self.rebuild_members()
    }

    /// Notes an element's spilled bytes in the `members` companion.
    fn enter(&mut self, element: &S::Name) -> Result<()> {
        let Some(marker) = &self.marker else { return Ok(()) };
        let (spill, member) = element.as_ref().split_at_checked(self.schema.layout.spill_len()).unwrap_or_default();
        self.store.set_entry(Part::Members, &marker.id, member, spill)
    }

    /// Whether a member may have this score: a marker must never be made, moved or taken for a member.
    pub fn check_member(&self, member: &S::Name, values: &[Value]) -> Result<()> {
        // Hardly a name begins like that, and one byte tells.
        if member.as_ref().first() != MARKER_START.first() || self.schema.layout.spills() {
            return Ok(());
        }
        if !member.as_ref().starts_with(MARKER_START) {
            return Ok(());
        }
        let is_marker = self.marker.as_ref().is_some_and(|marker| marker.element.as_ref() == member.as_ref());
        if is_marker || values.first() == Some(&Value::Float(f64::NEG_INFINITY)) {
            return Err(Error::ReservedMember);
        }
        Ok(())
    }

    /// Sets a member's scores.
    pub fn set(&mut self, member: &S::Name, values: &[Value], rules: &WriteRules) -> Result<Outcome> {
        let lone_score = self.schema.layout.lone_score(values);
        if let (None, Some(score)) = (rules.keep, lone_score) {
            // The score says it all: one look-up does what is asked.
            let put = self.store.put(member, score, self.only(rules));
            self.follow_marker(member)?;
            return Ok(match put {
                Put::Added => {
                    self.drop_old_attributes(member)?;
                    Outcome::Added
                }
                Put::Changed => Outcome::Changed,
                Put::Nothing => Outcome::Unchanged,
            });
        }
        let old = self.find_or_mend(member)?;
        let unwanted = match &old {
            Some(_) if rules.only == Only::New => true,
            None if rules.only == Only::Existing => true,
            Some(old) => rules.update == Update::Best && !self.schema.better(values, &old.decoded.values),
            None => false,
        };
        if unwanted {
            self.keep_best(rules.keep)?;
            return Ok(Outcome::Unchanged);
        }
        self.place(member, old, values, rules)
    }

    fn only(&self, rules: &WriteRules) -> Only {
        match (rules.update, rules.only, self.schema.order()) {
            (Update::Set, only, _) | (Update::Best, only @ Only::New, _) => only,
            (Update::Best, Only::Existing, Order::Descending) => Only::ExistingRaise,
            (Update::Best, Only::Existing, Order::Ascending) => Only::ExistingLower,
            (Update::Best, _, Order::Descending) => Only::Raise,
            (Update::Best, _, Order::Ascending) => Only::Lower,
        }
    }

    /// Puts a member where its values belong; the rules about what may change were applied before.
    pub fn place(
        &mut self,
        member: &S::Name,
        old: Option<Found<S::Name>>,
        values: &[Value],
        rules: &WriteRules,
    ) -> Result<Outcome> {
        let Some(old) = old else { return self.add_newcomer(member, values, rules) };
        let outcome = if old.decoded.values.as_slice() == values {
            Outcome::Unchanged
        } else {
            let time = match self.schema.rules.ties {
                Ties::ByTime(TieRule::Joined, _) => old.decoded.time.unwrap_or(0),
                _ => self.schema.layout.time_at(rules.now),
            };
            let place = self.schema.layout.encode(values, time);
            let element = self.element(&place.spill, member);
            self.store.put(&element, place.score, Only::Any);
            if element.as_ref() != old.element.as_ref() {
                self.store.remove(&old.element);
                self.enter(&element)?;
            }
            self.follow_marker(&element)?;
            Outcome::Changed
        };
        self.keep_best(rules.keep)?;
        Ok(outcome)
    }

    fn add_newcomer(&mut self, member: &S::Name, values: &[Value], rules: &WriteRules) -> Result<Outcome> {
        let place = self.schema.layout.encode(values, self.schema.layout.time_at(rules.now));
        let full = rules.keep.filter(|keep| self.members() >= *keep);
        if let Some(keep) = full {
            if !self.beats(&place, keep.saturating_sub(1))? {
                self.keep_best(full)?;
                return Ok(Outcome::Refused);
            }
        }
        let element = self.element(&place.spill, member);
        self.store.put(&element, place.score, Only::Any);
        self.follow_marker(&element)?;
        self.drop_old_attributes(member)?;
        if self.schema.layout.spills() {
            self.enter(&element)?;
        }
        self.keep_best(full)?;
        Ok(Outcome::Added)
    }

    /// Attributes of a member that a core command removed must not come back with the name.
    fn drop_old_attributes(&mut self, member: &S::Name) -> Result<()> {
        let Some(id) = self.marker.as_ref().map(|marker| marker.id) else { return Ok(()) };
        self.store.remove_entry_or_foreign(Part::Data, &id, member.as_ref())?;
        self.drop_idle_marker();
        Ok(())
    }

    /// Whether a place is strictly better, by fields and time, than the member at a position.
    fn beats(&self, place: &Place, position: u64) -> Result<bool> {
        if self.schema.explicit && !self.schema.layout.spills() && position + 1 == self.members() {
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

    fn keep_best(&mut self, keep: Option<u64>) -> Result<()> {
        let Some(keep) = keep else { return Ok(()) };
        match self.members().saturating_sub(keep) {
            0 => Ok(()),
            1 => {
                let mut worst = None;
                self.elements(keep, 1, self.direction(), &mut |element, _| {
                    worst = Some(element);
                    Ok(())
                })?;
                worst.map_or(Ok(()), |element| self.remove_element(&element))?;
                self.store.note_evicted(1);
                self.drop_idle_marker();
                Ok(())
            }
            _ => {
                let (count, _) = self.trim(keep, Leavers::Unnamed)?;
                self.store.note_evicted(count);
                Ok(())
            }
        }
    }

    fn remove_element(&mut self, element: &S::Name) -> Result<()> {
        self.store.remove(element);
        self.follow_marker(element)?;
        self.forget(element)
    }

    /// Takes an element's member out of the companions.
    fn forget(&mut self, element: &S::Name) -> Result<()> {
        if self.marker.is_none() {
            return Ok(());
        }
        let member = element.as_ref().get(self.schema.layout.spill_len()..).unwrap_or_default();
        if self.schema.layout.spills() {
            self.store.remove_entry(Part::Members, member)?;
        }
        self.store.remove_entry(Part::Data, member)
    }

    /// Must come before the first [`remove`](Board::remove), with all members that are to go.
    pub fn prepare_removal<'m>(&mut self, members: impl ExactSizeIterator<Item = &'m S::Name>) -> Result<()>
    where
        S::Name: 'm,
    {
        // Where the element is the member nothing can go wrong, and what does not decode may go.
        if self.schema.layout.spills() {
            self.prepare_write(members)?;
        }
        Ok(())
    }

    pub fn remove(&mut self, member: &S::Name) -> Result<bool> {
        let element = if self.schema.layout.spills() {
            self.find_or_mend(member)?.map(|found| found.element)
        } else {
            self.locate(member)?.map(|(element, _)| element)
        };
        let Some(element) = element else { return Ok(false) };
        self.remove_element(&element)?;
        self.drop_idle_marker();
        Ok(true)
    }

    /// Keeps the best `keep`: how many left, and if asked for, which, best first.
    pub fn trim(&mut self, keep: u64, leavers: Leavers) -> Result<(u64, Vec<S::Name>)> {
        let members = self.members();
        let count = members.saturating_sub(keep);
        if count == 0 {
            return Ok((0, Vec::new()));
        }
        let mut leaving = Vec::new();
        if leavers == Leavers::Named || self.marker.is_some() {
            self.elements(keep, count, self.direction(), &mut |element, _| {
                leaving.push(element);
                Ok(())
            })?;
        }
        let (first, last) = match self.order {
            Order::Descending => (0, count - 1),
            Order::Ascending => (keep, members - 1),
        };
        let (marker, markers) = self.markers_at;
        if first < marker && marker <= last {
            self.store.remove_range(marker + markers, last + markers)?;
            self.store.remove_range(first, marker - 1)?;
        } else {
            self.store.remove_range(self.store_index(first), self.store_index(last))?;
        }
        for element in &leaving {
            self.follow_marker(element)?;
            self.forget(element)?;
        }
        self.drop_idle_marker();
        if leavers == Leavers::Unnamed {
            leaving.clear();
        }
        Ok((count, leaving))
    }

    /// Removes all members, keeps the schema and the expiry: how many there were.
    pub fn clear(&mut self) -> Result<u64> {
        let members = self.members();
        if members > 0 {
            self.store.clear(self.marker.as_ref().map(|marker| &marker.element))?;
        }
        if self.marker.is_some() {
            for part in Part::ALL {
                self.store.drop_companion(part)?;
            }
        }
        self.drop_idle_marker();
        Ok(members)
    }

    /// Gives the board a schema; `false` if it has this one already.
    pub fn create(&mut self, rules: Rules, adopt: bool, id: Id) -> Result<bool> {
        if self.schema.explicit {
            return if self.schema.rules == rules {
                Ok(false)
            } else {
                Err(Error::OtherSchema(self.schema.rules.to_string()))
            };
        }
        let schema = Schema::new(rules);
        if self.members() > 0 {
            self.check_adoption(&schema, adopt)?;
        }
        self.give_schema(&schema, id)?;
        Ok(true)
    }

    /// Gives a schema to a board whose elements were seen to decode under it.
    pub fn create_checked(&mut self, rules: Rules, id: Id) -> Result<()> {
        self.give_schema(&Schema::new(rules), id)
    }

    fn give_schema(&mut self, schema: &Schema, id: Id) -> Result<()> {
        if schema.layout.spills() {
            // Nothing is written yet: a companion that cannot be must be found out now.
            self.store.companion(Part::Members, &id)?;
        }
        // Attributes that are there already belong to the board under its old id.
        let id = self.marker.as_ref().map_or(id, |marker| marker.id);
        self.write_marker(id, &schema.rules)?;
        self.members_fit.set(!self.schema.layout.spills());
        if self.schema.layout.spills() && self.members() <= MOST_REBUILT {
            // The elements decode, but their companion was lost or is another board's. That of a larger board is for
            // RANK.VERIFY with REPAIR, which goes in steps.
            self.rebuild_members()?;
        }
        self.keep_best(self.schema.rules.keep)
    }

    fn check_adoption(&self, schema: &Schema, adopt: bool) -> Result<()> {
        if schema.layout.is_plain() {
            let lowest = self.store.count_below(f64::NEG_INFINITY, true)?;
            let highest = self.store.card() - self.store.count_below(f64::INFINITY, false)?;
            let infinite = lowest.saturating_sub(self.markers()) + highest;
            return if infinite > 0 { Err(Error::InfiniteScores) } else { Ok(()) };
        }
        if !adopt {
            return Err(Error::OnlyPlain);
        }
        self.check_decodes(schema, 0, || false).map(drop)
    }

    /// Whether there is so much to look at before the board may have this schema that it should be done in steps.
    pub fn adopts_in_steps(&self, schema: &Schema) -> bool {
        !self.schema.explicit && self.members() > MOST_REBUILT && !schema.layout.is_plain() && !schema.layout.is_dense()
    }

    /// Looks at elements from a position on, whether they decode under another schema, until it is `late`: the position
    /// to go on from, or `None` at the end.
    pub fn check_decodes(&self, schema: &Schema, from: u64, late: impl Fn() -> bool) -> Result<Option<u64>> {
        let check = |element: S::Name, score: f64| {
            let decoded = schema.layout.decode(score, element.as_ref());
            decoded.map(drop).ok_or_else(|| Error::AdoptUndecodable(Shown::new(element.as_ref())))
        };
        let members = self.members();
        if schema.layout.is_dense() {
            // What lies between two scores that decode decodes.
            self.elements(0, 1, self.direction(), &mut |element, score| check(element, score))?;
            let worst = members.saturating_sub(1);
            self.elements(worst, 1, self.direction(), &mut |element, score| check(element, score))?;
            return Ok(None);
        }
        let mut from = from;
        while from < members {
            self.elements(from, CHECKED_AT_ONCE, self.direction(), &mut |element, score| check(element, score))?;
            from = from.saturating_add(CHECKED_AT_ONCE);
            if late() {
                return Ok(Some(from));
            }
        }
        Ok(None)
    }

    /// Changes the bound and the update rule: the fields stay.
    pub fn alter(&mut self, keep: Option<Option<u64>>, update: Option<Update>) -> Result<()> {
        let Some(marker) = &self.marker else { return Err(Error::NoSchema) };
        if !self.schema.explicit {
            return Err(Error::NoSchema);
        }
        let mut rules = self.schema.rules.clone();
        rules.keep = keep.unwrap_or(rules.keep);
        rules.update = update.unwrap_or(rules.update);
        let id = marker.id;
        if rules.keep.is_some_and(|keep| keep < self.members()) {
            self.prepare_write([].iter())?;
        }
        if rules != self.schema.rules {
            self.write_marker(id, &rules)?;
        }
        self.keep_best(rules.keep)
    }

    /// Adds before it removes, so that the key never vanishes in between.
    fn write_marker(&mut self, id: Id, rules: &Rules) -> Result<()> {
        let element = self.store.name(&marker_bytes(id, Some(rules)));
        self.store.put(&element, f64::NEG_INFINITY, Only::Any);
        if let Some(old) = self.marker.take() {
            self.store.remove(&old.element);
        }
        self.set_marker(Marker::find(&self.store)?);
        if let Some(schema) = self.marker.as_ref().and_then(|marker| marker.schema.clone()) {
            self.order = schema.order();
            self.schema = schema;
        }
        Ok(())
    }
}
