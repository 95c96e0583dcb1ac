//! A store in memory, as naive as can be, for tests of what is built on it.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::companion::{ID_ENTRY, MEMBER_ENTRY};
use super::marker::Id;
use super::store::{Companion, Direction, Entry, Only, Part, Put, Store};
use crate::error::Result;

#[derive(Clone, Default)]
pub struct Model {
    elements: Vec<(f64, Vec<u8>)>,
    companions: BTreeMap<&'static str, BTreeMap<Vec<u8>, Vec<u8>>>,
}

fn compare(a: &(f64, Vec<u8>), b: &(f64, Vec<u8>)) -> Ordering {
    a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1))
}

fn entry(member: &[u8]) -> Vec<u8> {
    [&[MEMBER_ENTRY], member].concat()
}

impl Model {
    fn find(&self, element: &[u8]) -> Option<usize> {
        self.elements.iter().position(|(_, name)| name == element)
    }

    /// What a core command would do behind the board's back.
    pub fn insert(&mut self, score: f64, element: &[u8]) {
        self.elements.retain(|(_, name)| name != element);
        self.elements.push((score, element.to_vec()));
        self.elements.sort_by(compare);
    }

    /// What a core command would write into a companion; under any name, not only `:member`.
    pub fn insert_entry(&mut self, part: Part, name: &[u8], bytes: &[u8]) {
        self.companions.entry(part.name()).or_default().insert(name.to_vec(), bytes.to_vec());
    }

    pub fn elements(&self) -> &[(f64, Vec<u8>)] {
        &self.elements
    }

    /// The members of a companion, without its stamp.
    pub fn entries(&self, part: Part) -> Vec<Vec<u8>> {
        let fields = self.companions.get(part.name()).into_iter().flat_map(|entries| entries.keys());
        fields.filter_map(|field| Some(field.strip_prefix(&[MEMBER_ENTRY])?.to_vec())).collect()
    }
}

impl Store for Model {
    type Name = Vec<u8>;

    fn name(&self, bytes: &[u8]) -> Vec<u8> {
        bytes.to_vec()
    }

    fn card(&self) -> u64 {
        self.elements.len() as u64
    }

    fn score(&self, element: &Vec<u8>) -> Option<f64> {
        self.find(element).map(|i| self.elements[i].0)
    }

    fn index(&self, element: &Vec<u8>) -> Result<Option<u64>> {
        Ok(self.find(element).map(|i| i as u64))
    }

    fn count_below(&self, score: f64, inclusive: bool) -> Result<u64> {
        Ok(self.elements.iter().filter(|(s, _)| *s < score || inclusive && *s == score).count() as u64)
    }

    fn at(&self, index: u64) -> Result<Option<(Vec<u8>, f64)>> {
        Ok(self.elements.get(index as usize).map(|(score, name)| (name.clone(), *score)))
    }

    fn next_score(&self, score: f64, direction: Direction) -> Option<f64> {
        let scores = self.elements.iter().map(|(score, _)| *score);
        match direction {
            Direction::Up => scores.filter(|s| *s > score).min_by(f64::total_cmp),
            Direction::Down => scores.filter(|s| *s < score).max_by(f64::total_cmp),
        }
    }

    fn count_at(&self, score: f64, most: u64) -> u64 {
        most.min(self.elements.iter().filter(|(other, _)| *other == score).count() as u64)
    }

    fn any_between(&self, low: f64, high: f64) -> bool {
        self.elements.iter().any(|(score, _)| *score > low && *score < high)
    }

    fn lowest(&self) -> Option<(Vec<u8>, bool)> {
        let mut lowest = self.elements.iter().filter(|(score, _)| *score == f64::NEG_INFINITY);
        let (_, first) = lowest.next()?;
        Some((first.clone(), lowest.next().is_some()))
    }

    fn walk_score(&self, score: f64, direction: Direction, visit: &mut dyn FnMut(Vec<u8>) -> bool) {
        let mut names: Vec<_> =
            self.elements.iter().filter(|(s, _)| *s == score).map(|(_, name)| name.clone()).collect();
        if direction == Direction::Down {
            names.reverse();
        }
        for name in names {
            if !visit(name) {
                return;
            }
        }
    }

    fn walk(&self, from: u64, direction: Direction, visit: &mut dyn FnMut(Vec<u8>, f64) -> Result<bool>) -> Result<()> {
        let mut index = Some(from as usize);
        while let Some((score, name)) = index.and_then(|i| self.elements.get(i)) {
            if !visit(name.clone(), *score)? {
                break;
            }
            index = match direction {
                Direction::Up => index.map(|i| i + 1),
                Direction::Down => index.and_then(|i| i.checked_sub(1)),
            };
        }
        Ok(())
    }

    fn put(&mut self, element: &Vec<u8>, score: f64, only: Only) -> Put {
        let old = self.score(element);
        let allowed = match (only, old) {
            (Only::Any, _) => true,
            (Only::New, old) => old.is_none(),
            (Only::Existing, old) => old.is_some(),
            (Only::Raise, old) => old.is_none_or(|old| score > old),
            (Only::Lower, old) => old.is_none_or(|old| score < old),
            (Only::ExistingRaise, old) => old.is_some_and(|old| score > old),
            (Only::ExistingLower, old) => old.is_some_and(|old| score < old),
        };
        if !allowed || old == Some(score) {
            return Put::Nothing;
        }
        self.insert(score, element);
        if old.is_some() {
            Put::Changed
        } else {
            Put::Added
        }
    }

    fn remove(&mut self, element: &Vec<u8>) -> bool {
        let found = self.find(element);
        found.map(|i| self.elements.remove(i)).is_some()
    }

    fn remove_range(&mut self, first: u64, last: u64) -> Result<()> {
        // As the server does: what lies outside is nothing to remove.
        let end = self.elements.len().min(last as usize + 1);
        self.elements.drain(end.min(first as usize)..end);
        Ok(())
    }

    fn clear(&mut self, marker: Option<&Vec<u8>>) -> Result<()> {
        self.elements.retain(|(_, name)| Some(name) == marker);
        Ok(())
    }

    fn companion(&self, part: Part, id: &Id) -> Result<Companion> {
        Ok(match self.companions.get(part.name()) {
            None => Companion::Absent,
            Some(entries) if entries.get(ID_ENTRY).map(Vec::as_slice) == Some(id) => {
                Companion::Stamped(entries.len() as u64 - 1)
            }
            Some(_) => Companion::Foreign,
        })
    }

    fn entry(&self, part: Part, member: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.companions.get(part.name()).and_then(|entries| entries.get(&entry(member))).cloned())
    }

    fn set_entry(&mut self, part: Part, id: &Id, member: &[u8], bytes: &[u8]) -> Result<()> {
        let entries = self.companions.entry(part.name()).or_insert_with(|| [(ID_ENTRY.to_vec(), id.to_vec())].into());
        entries.insert(entry(member), bytes.to_vec());
        Ok(())
    }

    fn remove_entry_or_foreign(&mut self, part: Part, id: &Id, member: &[u8]) -> Result<()> {
        match self.companion(part, id)? {
            Companion::Absent => Ok(()),
            Companion::Stamped(_) => self.remove_entry(part, member),
            Companion::Foreign => self.drop_companion(part),
        }
    }

    fn remove_entry(&mut self, part: Part, member: &[u8]) -> Result<()> {
        self.remove_field(part, &entry(member))
    }

    fn remove_field(&mut self, part: Part, field: &[u8]) -> Result<()> {
        if let Some(entries) = self.companions.get_mut(part.name()) {
            if entries.remove(field).is_some() && entries.len() <= 1 {
                self.companions.remove(part.name());
            }
        }
        Ok(())
    }

    fn drop_companion(&mut self, part: Part) -> Result<()> {
        self.companions.remove(part.name());
        Ok(())
    }

    fn scan(&self, _: u64, _: u64) -> Result<(u64, Vec<(Vec<u8>, f64)>)> {
        Ok((0, self.elements.iter().map(|(score, name)| (name.clone(), *score)).collect()))
    }

    fn scan_entries(&self, part: Part, _: u64, _: u64) -> Result<(u64, Vec<Entry>)> {
        let entries = self.companions.get(part.name()).into_iter().flatten();
        let entries = entries.filter(|(field, _)| field.as_slice() != ID_ENTRY);
        Ok((0, entries.map(|(field, bytes)| (field.clone(), bytes.clone())).collect()))
    }
}
