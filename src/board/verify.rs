//! Compares members with the index and repairs the index, a step at a time.

use super::index::split_entry;
use super::layout::MEMBER_TAG;
use super::store::{Only, Store};
use super::Board;
use crate::error::{Damage, Error, Result};

const MOST_EXAMPLES: usize = 10;
/// Elements between two looks at the clock. They take little time compared with a step.
const STRIDE: u64 = 100;
/// A step checks at least this many elements, however slow the machine is: a small board always takes one step.
const LEAST: u64 = 300;

/// What a step found.
#[derive(Default)]
pub struct Report {
    /// Where to continue; 0 at the end.
    pub cursor: u64,
    /// Members looked at.
    pub checked: u64,
    /// Elements that no board of this schema has.
    pub undecodable: u64,
    /// Members without an index entry.
    pub missing: u64,
    /// Index entries without a member.
    pub orphaned: u64,
    pub repaired: u64,
    /// Some of the names.
    pub examples: Vec<Vec<u8>>,
}

impl Report {
    fn example(&mut self, name: &[u8]) {
        if self.examples.len() < MOST_EXAMPLES && !self.examples.iter().any(|known| known == name) {
            self.examples.push(name.to_vec());
        }
    }

    fn undecodable(&mut self, element: &[u8]) {
        self.undecodable += 1;
        self.example(element);
    }
}

impl<S: Store> Board<S> {
    /// One step of about `count` elements, from the server's own cursor on. It ends early when it is `late`.
    pub fn verify(&mut self, from: u64, count: u64, repair: bool, late: impl Fn() -> bool) -> Result<Report> {
        let mut report = Report { cursor: from, ..Report::default() };
        let mut left = count;
        while left > 0 {
            let (next, elements) = self.store.scan(report.cursor, left.min(STRIDE))?;
            for element in &elements {
                // A repair of another element may have removed it.
                if let Some(score) = self.store.score(element) {
                    self.verify_element(element, score, repair, &mut report);
                }
            }
            report.cursor = next;
            left = left.saturating_sub(elements.len() as u64);
            if next == 0 || (count - left > LEAST && late()) {
                break;
            }
        }
        Ok(report)
    }

    fn verify_element(&mut self, element: &S::Name, score: f64, repair: bool, report: &mut Report) {
        if score == f64::NEG_INFINITY && self.marker.is_some() {
            return self.verify_lowest(element, repair, report);
        }
        report.checked += 1;
        if self.decode(element, score).is_err() || self.marker.is_some() && score.is_infinite() {
            report.undecodable(element.as_ref());
            // No spilled board writes such an element. It belongs to no member, and breaks searches in the index.
            if repair && self.schema.layout.spills() && element.as_ref().first() != Some(&MEMBER_TAG) {
                self.store.remove(element);
                report.repaired += 1;
            }
            return;
        }
        if self.schema.layout.spills() && self.store.score(&self.entry_of(element)) != Some(f64::NEG_INFINITY) {
            report.missing += 1;
            report.example(self.name_of(element));
            if repair {
                self.repair_entry(element, report);
            }
        }
    }

    /// An element at -inf of a board with a schema: its marker, an index entry, or nothing that belongs there.
    fn verify_lowest(&mut self, element: &S::Name, repair: bool, report: &mut Report) {
        if self.marker.as_ref().is_some_and(|marker| marker.as_ref() == element.as_ref()) {
            return;
        }
        let Some((name, spill)) = split_entry(element.as_ref()).filter(|_| self.is_entry(element.as_ref())) else {
            report.undecodable(element.as_ref());
            if repair {
                self.store.remove(element);
                report.repaired += 1;
            }
            return;
        };
        let member = self.element_of(name, spill);
        // One that does not decode is reported as such, and keeps its entry.
        let is_there = self.store.score(&member).is_some_and(|score| score > f64::NEG_INFINITY);
        if !is_there {
            report.orphaned += 1;
            report.example(name);
            if repair {
                self.store.remove(element);
                report.repaired += 1;
            }
            return;
        }
        // A name with two entries has two elements, and each entry matches its own.
        let name = self.store.name(name);
        if let Err(Error::Damaged(Damage::Index(_))) = self.look_up(&name) {
            let others = self.other_elements(&name, &member);
            if !others.is_empty() {
                report.orphaned += 1;
                report.example(name.as_ref());
            }
            if repair {
                self.keep_better(member, others, report);
            }
        }
    }

    /// The elements that other entries of a name lead to.
    fn other_elements(&self, name: &S::Name, own: &S::Name) -> Vec<S::Name> {
        let mut others = Vec::new();
        self.entries_of(name, &mut |spill| {
            let element = self.element_of(name.as_ref(), spill);
            if element.as_ref() != own.as_ref() && self.store.score(&element).is_some_and(|s| s > f64::NEG_INFINITY) {
                others.push(element);
            }
        });
        others
    }

    /// Of several elements for one name the best stays.
    fn keep_better(&mut self, own: S::Name, others: Vec<S::Name>, report: &mut Report) {
        let mut best = own;
        for other in others {
            let scores = (self.store.score(&best).unwrap_or(0.0), self.store.score(&other).unwrap_or(0.0));
            let worse = if self.best_first((scores.0, best.as_ref()), (scores.1, other.as_ref())).is_lt() {
                other
            } else {
                std::mem::replace(&mut best, other)
            };
            self.remove_element(&worse);
            report.repaired += 1;
        }
    }

    /// Gives a member its entry, unless the name has a better element.
    fn repair_entry(&mut self, element: &S::Name, report: &mut Report) {
        let name = self.member_of(element);
        let others = self.other_elements(&name, element);
        let entry = self.entry_of(element);
        self.store.put(&entry, f64::NEG_INFINITY, Only::Any);
        report.repaired += 1;
        self.keep_better(element.clone(), others, report);
    }
}
