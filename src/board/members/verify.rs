//! Compares members with the index and repairs the index, a step at a time.
//!
//! Core commands can change a board behind the module's back. This is the one place that looks for what they left, and
//! repairs it.

use super::index::{
    entry, entry_scores, is_entry, needs_wrapping, read_entries, split_entry, wrapped, Entries, ENTRY_TAG,
};
use super::{Members, Stored};
use crate::error::Result;
use crate::zset::SortedSet;

const MAX_EXAMPLES: usize = 10;
/// How many elements are checked between two looks at the clock. They take little time compared with a step.
const STRIDE: u64 = 100;
/// A step checks at least this many elements, however slow the machine is: a small board always takes one step.
const MIN_ELEMENTS: u64 = 300;

#[derive(Default)]
pub struct Report {
    /// Where to continue; 0 at the end.
    pub cursor: u64,
    pub checked: u64,
    /// Elements that no board of this schema has.
    pub undecodable: u64,
    /// Members that do not fit, and have no entries that lead to them.
    pub missing: u64,
    /// Entries that lead to no member.
    pub orphaned: u64,
    /// Elements of a name that has several, except the one that a look-up finds.
    pub duplicated: u64,
    pub repaired: u64,
    pub examples: Vec<Vec<u8>>,
}

impl Report {
    fn example(&mut self, name: &[u8]) {
        if self.examples.len() < MAX_EXAMPLES && !self.examples.iter().any(|known| known == name) {
            self.examples.push(name.to_vec());
        }
    }

    fn undecodable(&mut self, element: &[u8]) {
        self.undecodable += 1;
        self.example(element);
    }
}

impl<S: SortedSet> Members<S> {
    /// One step of about `count` elements, from the server's own cursor on. It ends early when it is `late`.
    pub fn verify(&mut self, from: u64, count: u64, repair: bool, late: impl Fn() -> bool) -> Result<Report> {
        let mut report = Report { cursor: from, ..Report::default() };
        let (mut left, mut scans) = (count, 0);
        while left > 0 {
            let (next, elements) = self.set.scan(report.cursor, left.min(STRIDE))?;
            for element in &elements {
                // A repair of another element may have removed it.
                if let Some(score) = self.set.score(element) {
                    self.verify_element(element, score, repair, &mut report);
                }
            }
            report.cursor = next;
            left = left.saturating_sub(elements.len() as u64);
            scans += STRIDE;
            // A hash table that has shrunk can have many empty buckets: they take time too.
            if next == 0 || (scans > MIN_ELEMENTS && late()) {
                break;
            }
        }
        Ok(report)
    }

    fn verify_element(&mut self, element: &S::Element, score: f64, repair: bool, report: &mut Report) {
        if self.is_marker(element) {
            return;
        }
        let is_coded = self.schema.layout.is_coded();
        if is_coded && element.as_ref().first() == Some(&ENTRY_TAG) && is_entry(element.as_ref(), score) {
            return self.verify_entry(element, repair, report);
        }
        let is_lowest = self.marker.is_some() && score == f64::NEG_INFINITY;
        report.checked += u64::from(!is_lowest);
        if is_lowest || !self.decodes(element, score) || self.marker.is_some() && score.is_infinite() {
            report.undecodable(element.as_ref());
            // Remove only what cannot be a member's element. Anything else has a member's name, and may be somebody's data.
            let is_foreign = is_lowest || is_coded && matches!(element.as_ref().first(), Some(0..=ENTRY_TAG));
            if repair && is_foreign {
                self.set.remove(element);
                report.repaired += 1;
            }
        } else if is_coded {
            self.verify_member(element, repair, report);
        }
    }

    fn decodes(&self, element: &S::Element, score: f64) -> bool {
        self.schema.layout.decode(score, element.as_ref(), self.since).is_some()
    }

    fn verify_entry(&mut self, element: &S::Element, repair: bool, report: &mut Report) {
        let Some((number, name)) = split_entry(element.as_ref()) else { return };
        let leads_to_member = match read_entries(&self.set, name) {
            Entries::Tail(tail) => {
                // A member that does not decode is reported when it is met, and keeps its entries. An element at -inf is removed.
                let is_part = usize::from(number) < entry_scores(&tail).count();
                let score = self.set.score(&wrapped::<S>(&tail, name));
                is_part && score.is_some_and(|score| score > f64::NEG_INFINITY)
            }
            Entries::Absent | Entries::Damaged => false,
        };
        if leads_to_member {
            return;
        }
        report.orphaned += 1;
        report.example(name);
        if repair {
            self.set.remove(element);
            self.entries = None;
            report.repaired += 1;
        }
    }

    /// An element that decodes: whether it is the only one of its name, and its entries lead to it.
    fn verify_member(&mut self, element: &S::Element, repair: bool, report: &mut Report) {
        let name = self.split(element).map_or_else(|| element.clone(), |(_, name)| S::Element::from(name));
        let others = self.other_elements(&name, element);
        if others.is_empty() && self.check_entries(element).is_ok() {
            return;
        }
        // If a name has two elements, the one that a look-up by name finds is right.
        let is_right = matches!(self.locate(&name), Ok(Some(found)) if found.element.as_ref() == element.as_ref());
        if others.is_empty() {
            report.missing += 1;
        } else if !is_right {
            report.duplicated += 1;
        }
        if others.is_empty() || !is_right {
            report.example(name.as_ref());
        }
        if repair && (others.is_empty() || !is_right) {
            self.keep_best_of(&name, element, others);
            report.repaired += 1;
        }
    }

    /// The other elements of a name that can be found: under its own name, and by its entries.
    fn other_elements(&self, name: &S::Element, own: &S::Element) -> Vec<S::Element> {
        let bare = Some(name.clone()).filter(|name| !needs_wrapping(name.as_ref()));
        let wrapped = match read_entries(&self.set, name.as_ref()) {
            Entries::Tail(tail) => Some(wrapped::<S>(&tail, name.as_ref())),
            Entries::Absent | Entries::Damaged => None,
        };
        let is_other = |other: &S::Element| other.as_ref() != own.as_ref() && self.set.score(other).is_some();
        bare.into_iter().chain(wrapped).filter(is_other).collect()
    }

    /// Of several elements for one name the best stays, with its entries.
    fn keep_best_of(&mut self, name: &S::Element, own: &S::Element, others: Vec<S::Element>) {
        let mut all: Vec<(f64, S::Element)> = others
            .into_iter()
            .chain([own.clone()])
            .map(|element| {
                let score = self.set.score(&element).unwrap_or(f64::NAN);
                (score, element)
            })
            .collect();
        // An element that does not decode is never the best.
        all.sort_by(|a, b| {
            let decodes = |(score, element): &(f64, S::Element)| self.decodes(element, *score);
            let order = self.best_first((a.0, a.1.as_ref()), (b.0, b.1.as_ref()));
            decodes(b).cmp(&decodes(a)).then(order)
        });
        let mut all = all.into_iter().map(|(_, element)| element);
        let Some(best) = all.next() else { return };
        let name_at = best.as_ref().len() - name.as_ref().len();
        let best = Stored { element: best, name_at, score: f64::NAN };
        self.replace_entries(None, Some(&best));
        let own = entry_scores(best.tail()).count();
        for number in own..=usize::from(u8::MAX) {
            let entry = entry::<S>(number as u8, name.as_ref());
            if !self.set.remove(&entry) {
                break;
            }
        }
        for other in all {
            self.set.remove(&other);
        }
        self.entries = None;
    }
}
