//! Companions compared with the sorted set, and mended, a step at a time.

use super::companion::MEMBER_ENTRY;
use super::store::{Companion, Part, Store};
use super::Board;
use crate::error::Result;

const MOST_EXAMPLES: usize = 10;

/// Where a verification stands; a client carries it as one number, 0 at the start and the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Elements,
    Entries(Part),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    stage: Stage,
    /// The server's own cursor inside the stage.
    scan: u64,
}

/// The stage is in the lowest digits, because the server's cursors use the highest bits of a word last.
const STAGES: u64 = 3;

#[derive(Default)]
pub struct Report {
    pub cursor: u64,
    /// Members looked at.
    pub checked: u64,
    pub undecodable: u64,
    pub missing: u64,
    pub orphaned: u64,
    pub repaired: u64,
    pub examples: Vec<Vec<u8>>,
}

impl Report {
    fn example(&mut self, name: &[u8]) {
        // One may be missed by both companions.
        if self.examples.len() < MOST_EXAMPLES && !self.examples.iter().any(|known| known == name) {
            self.examples.push(name.to_vec());
        }
    }
}

impl Cursor {
    fn new(number: u64) -> Cursor {
        let stage = match number % STAGES {
            0 => Stage::Elements,
            1 => Stage::Entries(Part::Members),
            _ => Stage::Entries(Part::Data),
        };
        Cursor { stage, scan: number / STAGES }
    }

    fn number(self) -> u64 {
        let stage = match self.stage {
            Stage::Elements => 0,
            Stage::Entries(Part::Members) => 1,
            Stage::Entries(Part::Data) => 2,
        };
        self.scan.saturating_mul(STAGES).saturating_add(stage)
    }

    /// The number to go on from, once the server's cursor inside this stage is `scan`.
    fn next(self, scan: u64) -> u64 {
        let next_stage = match (scan, self.stage) {
            (0, Stage::Elements) => Stage::Entries(Part::Members),
            (0, Stage::Entries(Part::Members)) => Stage::Entries(Part::Data),
            (0, Stage::Entries(Part::Data)) => return 0,
            (_, stage) => stage,
        };
        Cursor { stage: next_stage, scan }.number()
    }
}

/// Between two looks at the clock: short beside what a step may take.
const STRIDE: u64 = 100;
/// So many elements and entries are looked at however slow the machine is: small boards take one step, always.
const LEAST: u64 = 300;

impl<S: Store> Board<S> {
    /// One step of about `count` elements and entries; fewer where it is `late` before.
    pub fn verify(&mut self, from: u64, count: u64, repair: bool, late: impl Fn() -> bool) -> Result<Report> {
        let mut report = Report { cursor: from, ..Report::default() };
        let mut left = count;
        while left > 0 {
            let cursor = Cursor::new(report.cursor);
            let stride = left.min(STRIDE);
            let (scan, seen) = match cursor.stage {
                Stage::Elements => self.verify_elements(cursor.scan, stride, repair, &mut report)?,
                Stage::Entries(part) => self.verify_entries(part, cursor.scan, stride, repair, &mut report)?,
            };
            report.cursor = cursor.next(scan);
            left = left.saturating_sub(seen as u64);
            if report.cursor == 0 || (count - left > LEAST && late()) {
                break;
            }
        }
        if repair && report.cursor == 0 {
            self.drop_idle_marker();
        }
        Ok(report)
    }

    fn verify_elements(&mut self, scan: u64, count: u64, repair: bool, report: &mut Report) -> Result<(u64, usize)> {
        if repair && scan == 0 {
            self.drop_foreign()?;
        }
        let (scan, elements) = self.store.scan(scan, count)?;
        let mut stamped = self.members_are_stamped()?;
        for (element, score) in &elements {
            self.verify_element(element, *score, &mut stamped, repair, report)?;
        }
        Ok((scan, elements.len()))
    }

    /// Whether there is a `members` companion of this board's to be asked.
    fn members_are_stamped(&self) -> Result<bool> {
        match &self.marker {
            Some(marker) if self.schema.layout.spills() => {
                Ok(matches!(self.store.companion(Part::Members, &marker.id)?, Companion::Stamped(_)))
            }
            _ => Ok(false),
        }
    }

    /// A companion of another board is none of this one's.
    fn drop_foreign(&mut self) -> Result<()> {
        let Some(id) = self.marker.as_ref().map(|marker| marker.id) else { return Ok(()) };
        for part in Part::ALL {
            if self.store.companion(part, &id).is_ok_and(|state| state == Companion::Foreign) {
                self.store.drop_companion(part)?;
            }
        }
        Ok(())
    }

    fn verify_element(
        &mut self,
        element: &S::Name,
        score: f64,
        stamped: &mut bool,
        repair: bool,
        report: &mut Report,
    ) -> Result<()> {
        if self.is_marker(element, score) {
            return self.verify_marker(element, repair, report);
        }
        report.checked += 1;
        let infinite = self.schema.explicit && score.is_infinite();
        if infinite || self.decode(element, score).is_err() {
            report.undecodable += 1;
            report.example(element.as_ref());
            return Ok(());
        }
        if self.schema.layout.spills() {
            self.verify_entry_of(element, score, stamped, repair, report)?;
        }
        Ok(())
    }

    /// A union of two boards has two markers, of which one counts.
    fn verify_marker(&mut self, element: &S::Name, repair: bool, report: &mut Report) -> Result<()> {
        if self.marker.as_ref().is_some_and(|marker| marker.element.as_ref() == element.as_ref()) {
            return Ok(());
        }
        report.undecodable += 1;
        report.example(element.as_ref());
        if repair {
            self.store.remove(element);
            report.repaired += 1;
        }
        Ok(())
    }

    /// `stamped` says whether there is a companion, and from the first entry that is made there is.
    fn verify_entry_of(
        &mut self,
        element: &S::Name,
        score: f64,
        stamped: &mut bool,
        repair: bool,
        report: &mut Report,
    ) -> Result<()> {
        let Some(id) = self.marker.as_ref().map(|marker| marker.id) else { return Ok(()) };
        let member = self.member_of(element).to_vec();
        let own = element.as_ref().get(..self.schema.layout.spill_len()).unwrap_or_default();
        let entry = if *stamped { self.store.entry(Part::Members, &member)? } else { None };
        if entry.as_ref().is_some_and(|entry| entry.as_ref() == own) {
            return Ok(());
        }
        report.missing += 1;
        report.example(&member);
        if !repair {
            return Ok(());
        }
        if let Some(other) = entry.map(|entry| self.store.name(&[entry.as_ref(), &member].concat())) {
            match self.store.score(&other) {
                // A second element of the same member, made by a core command: the better one stays.
                Some(other_score)
                    if self.best_first((other_score, other.as_ref()), (score, element.as_ref())).is_lt() =>
                {
                    self.store.remove(element);
                    report.repaired += 1;
                    return Ok(());
                }
                Some(_) => {
                    self.store.remove(&other);
                }
                // The entry that is overwritten here would have been found without an element later.
                None => report.orphaned += 1,
            }
        }
        let own = own.to_vec();
        self.store.set_entry(Part::Members, &id, &member, &own)?;
        *stamped = true;
        report.repaired += 1;
        Ok(())
    }

    fn verify_entries(
        &mut self,
        part: Part,
        scan: u64,
        count: u64,
        repair: bool,
        report: &mut Report,
    ) -> Result<(u64, usize)> {
        let Some(id) = self.marker.as_ref().map(|marker| marker.id) else { return Ok((0, 0)) };
        if !matches!(self.store.companion(part, &id), Ok(Companion::Stamped(_))) {
            return Ok((0, 0));
        }
        let (scan, entries) = self.store.scan_entries(part, scan, count)?;
        let seen = entries.len();
        for (field, bytes) in entries {
            let member = field.strip_prefix(&[MEMBER_ENTRY]);
            let there = match (member, part) {
                (Some(member), Part::Members) => self.schema.layout.spills() && self.has_element(&bytes, member),
                (Some(member), Part::Data) => self.may_be_on_board(member, repair)?,
                // Somebody's own, which counts as an entry all the same.
                (None, _) => false,
            };
            if there {
                continue;
            }
            report.orphaned += 1;
            report.example(member.unwrap_or(&field));
            if repair {
                self.store.remove_field(part, &field)?;
                report.repaired += 1;
            }
        }
        Ok((scan, seen))
    }

    fn has_element(&self, spill: &[u8], member: &[u8]) -> bool {
        let element = self.store.name(&[spill, member].concat());
        self.store.score(&element).is_some_and(|score| !self.is_marker(&element, score))
    }

    /// False only for a member that is certainly not there: attributes are not lost over a doubt.
    fn may_be_on_board(&self, member: &[u8], repaired: bool) -> Result<bool> {
        if !self.schema.layout.spills() {
            return Ok(self.has_element(b"", member));
        }
        Ok(match self.store.entry(Part::Members, member)? {
            Some(spill) if spill.as_ref().len() == self.schema.layout.spill_len() => {
                self.has_element(spill.as_ref(), member)
            }
            // Where there are as many entries as members, who has none is no member.
            None if self.check_members()? => false,
            // Entries were mended in the stage before, if they were.
            _ => !repaired,
        })
    }

    /// Gives entries to all elements, in a new companion; of two elements of one member the better stays.
    pub(super) fn rebuild_members(&mut self) -> Result<()> {
        let Some(id) = self.marker.as_ref().map(|marker| marker.id) else { return Ok(()) };
        let mut elements = Vec::new();
        self.elements(0, u64::MAX, self.direction(), &mut |element, score| {
            self.decode(&element, score)?;
            elements.push(element);
            Ok(())
        })?;
        if !elements.is_empty() {
            self.store.note_rebuilt();
        }
        self.store.drop_companion(Part::Members)?;
        for element in elements {
            let (spill, member) = element.as_ref().split_at_checked(self.schema.layout.spill_len()).unwrap_or_default();
            if self.store.entry(Part::Members, member)?.is_some() {
                self.store.remove(&element);
            } else {
                self.store.set_entry(Part::Members, &id, member, spill)?;
            }
        }
        self.members_fit.set(true);
        Ok(())
    }
}
