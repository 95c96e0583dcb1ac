//! A store in memory, as naive as can be.

use std::cmp::Ordering;

use crate::board::{Direction, Lowest, Only, Put, Spot, Store};
use crate::error::Result;

/// A sorted set as a sorted list.
#[derive(Clone, Default)]
pub struct Model {
    elements: Vec<(f64, Vec<u8>)>,
}

fn compare(a: &(f64, Vec<u8>), b: &(f64, Vec<u8>)) -> Ordering {
    a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1))
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

    /// Scores and elements, lowest first.
    pub fn elements(&self) -> &[(f64, Vec<u8>)] {
        &self.elements
    }
}

impl Store for Model {
    type Name = Vec<u8>;

    fn name(&self, bytes: &[u8]) -> Vec<u8> {
        bytes.to_vec()
    }

    fn key_name(&self) -> &[u8] {
        b"board"
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

    fn count_at(&self, score: f64, most: u64) -> u64 {
        most.min(self.elements.iter().filter(|(other, _)| *other == score).count() as u64)
    }

    fn any_between(&self, low: f64, high: f64) -> bool {
        self.elements.iter().any(|(score, _)| *score > low && *score < high)
    }

    fn lowest(&self, most: f64) -> Option<Lowest<Vec<u8>>> {
        let mut below = self.elements.iter().filter(|(score, _)| *score <= most);
        let (score, element) = below.next()?;
        let next = below.next().map(|(score, _)| *score).filter(|_| *score == f64::NEG_INFINITY);
        Some(Lowest { element: element.clone(), score: *score, next })
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

    /// No further than a few steps, as if the rest were too far.
    fn step(&self, (element, _): (&Vec<u8>, f64), steps: u64, direction: Direction) -> Option<(Vec<u8>, f64)> {
        let own = self.find(element).filter(|_| steps <= 2)?;
        let index = match direction {
            Direction::Up => own + steps as usize,
            Direction::Down => own.checked_sub(steps as usize)?,
        };
        self.elements.get(index).map(|(score, name)| (name.clone(), *score))
    }

    fn walk(
        &self,
        from: Spot<Vec<u8>>,
        direction: Direction,
        visit: &mut dyn FnMut(Vec<u8>, f64) -> Result<bool>,
    ) -> Result<()> {
        if let Some((element, score)) = from.element {
            assert_eq!(self.elements.get(from.index as usize), Some(&(score, element)), "a spot is where it says");
        }
        let mut index = Some(from.index as usize);
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

    fn scan(&self, _: u64, _: u64) -> Result<(u64, Vec<Vec<u8>>)> {
        Ok((0, self.elements.iter().map(|(_, name)| name.clone()).collect()))
    }
}
