//! A sorted set in memory, as naive as can be.

use std::collections::HashMap;
use std::ops::RangeBounds;

use super::{score_bounds, Condition, Cursor, Direction, PutResult, SortedSet};
use crate::error::Result;

#[derive(Clone, Debug, Default)]
pub struct MemorySet {
    /// By score, then by name.
    elements: Vec<(f64, Vec<u8>)>,
    scores: HashMap<Vec<u8>, f64>,
    expiry: Option<i64>,
    key: Vec<u8>,
    /// How many cursors were started.
    pub reads: usize,
    /// So many steps of a scan find nothing: the hash table has shrunk, and has mostly empty buckets.
    pub empty_scans: u64,
}

/// How often a set was read is not part of what it holds.
impl PartialEq for MemorySet {
    fn eq(&self, other: &MemorySet) -> bool {
        self.elements == other.elements && self.expiry == other.expiry
    }
}

impl MemorySet {
    fn place(&self, score: f64, element: &[u8]) -> Result<usize, usize> {
        self.elements.binary_search_by(|(s, e)| s.total_cmp(&score).then_with(|| e.as_slice().cmp(element)))
    }

    fn find(&self, element: &[u8]) -> Option<usize> {
        self.scores.get(element).and_then(|score| self.place(*score, element).ok())
    }

    /// What a core command would do.
    pub fn insert(&mut self, score: f64, element: &[u8]) {
        self.remove(&element.to_vec());
        self.scores.insert(element.to_vec(), score);
        let (Ok(place) | Err(place)) = self.place(score, element);
        self.elements.insert(place, (score, element.to_vec()));
    }

    /// Scores and elements, lowest first.
    pub fn elements(&self) -> &[(f64, Vec<u8>)] {
        &self.elements
    }
}

impl<E: AsRef<[u8]>> FromIterator<(f64, E)> for MemorySet {
    fn from_iter<I: IntoIterator<Item = (f64, E)>>(elements: I) -> MemorySet {
        let mut set = MemorySet::default();
        elements.into_iter().for_each(|(score, element)| set.insert(score, element.as_ref()));
        set
    }
}

pub struct MemoryCursor<'s> {
    set: &'s mut MemorySet,
    /// The indexes that are left.
    left: std::ops::Range<usize>,
    direction: Direction,
}

impl MemoryCursor<'_> {
    fn next_index(&mut self) -> Option<usize> {
        match self.direction {
            Direction::Up => self.left.next(),
            Direction::Down => self.left.next_back(),
        }
    }
}

impl Iterator for MemoryCursor<'_> {
    type Item = (Vec<u8>, f64);

    fn next(&mut self) -> Option<(Vec<u8>, f64)> {
        let index = self.next_index()?;
        let (score, element) = &self.set.elements[index];
        Some((element.clone(), *score))
    }
}

impl<'s> Cursor<'s> for MemoryCursor<'s> {
    type Set = MemorySet;

    fn skip_one(&mut self) -> bool {
        self.next_index().is_some()
    }

    fn into_set(self) -> &'s mut MemorySet {
        self.set
    }
}

impl SortedSet for MemorySet {
    type Element = Vec<u8>;
    type Cursor<'s> = MemoryCursor<'s>;

    fn key(&self) -> &Vec<u8> {
        &self.key
    }

    fn len(&self) -> u64 {
        self.elements.len() as u64
    }

    fn score(&self, element: &Vec<u8>) -> Option<f64> {
        self.scores.get(element).copied()
    }

    fn index(&self, element: &Vec<u8>) -> Result<Option<u64>> {
        Ok(self.find(element).map(|i| i as u64))
    }

    fn range(&self, first: u64, last: u64) -> Result<Vec<(Vec<u8>, f64)>> {
        let elements = self.elements.iter().take(last as usize + 1).skip(first as usize);
        Ok(elements.map(|(score, element)| (element.clone(), *score)).collect())
    }

    fn cursor(&mut self, scores: impl RangeBounds<f64>, direction: Direction) -> MemoryCursor<'_> {
        self.reads += 1;
        let [(min, without_min), (max, without_max)] = score_bounds(&scores);
        let first = self.elements.partition_point(|(score, _)| *score < min || without_min && *score == min);
        let end = self.elements.partition_point(|(score, _)| *score < max || !without_max && *score == max);
        MemoryCursor { set: self, left: first..end, direction }
    }

    fn scan(&self, cursor: u64, _: u64) -> Result<(u64, Vec<Vec<u8>>)> {
        if cursor < self.empty_scans {
            return Ok((cursor + 1, Vec::new()));
        }
        Ok((0, self.elements.iter().map(|(_, name)| name.clone()).collect()))
    }

    fn expiry(&self) -> Option<i64> {
        self.expiry
    }

    fn put(&mut self, element: &Vec<u8>, score: f64, only: Condition) -> PutResult {
        let old = self.score(element);
        let allowed = match (only, old) {
            (Condition::Any, _) => true,
            (Condition::New, old) => old.is_none(),
            (Condition::Existing, old) => old.is_some(),
            (Condition::Raise, old) => old.is_none_or(|old| score > old),
            (Condition::Lower, old) => old.is_none_or(|old| score < old),
            (Condition::ExistingRaise, old) => old.is_some_and(|old| score > old),
            (Condition::ExistingLower, old) => old.is_some_and(|old| score < old),
        };
        if !allowed || old == Some(score) {
            return PutResult::Nothing;
        }
        self.insert(score, element);
        if old.is_some() {
            PutResult::Changed
        } else {
            PutResult::Added
        }
    }

    fn remove(&mut self, element: &Vec<u8>) -> bool {
        let found = self.find(element);
        self.scores.remove(element);
        found.map(|i| self.elements.remove(i)).is_some()
    }

    fn remove_indexes(&mut self, first: u64, last: u64) -> Result<()> {
        // As the server does: what lies outside is nothing to remove.
        let end = self.elements.len().min(last as usize + 1);
        for (_, element) in self.elements.drain(end.min(first as usize)..end) {
            self.scores.remove(&element);
        }
        Ok(())
    }

    fn remove_through(&mut self, score: i64) -> Result<()> {
        let elements: Vec<Vec<u8>> =
            self.cursor(0.0..=score as f64, Direction::Up).map(|(element, _)| element).collect();
        elements.iter().for_each(|element| _ = self.remove(element));
        Ok(())
    }

    fn unlink(&mut self) {
        *self = MemorySet { reads: self.reads, ..MemorySet::default() };
    }

    fn expire_at(&mut self, at_ms: i64) {
        self.expiry = Some(at_ms);
    }
}
