//! Removes members and their index entries, one by one or many at once.

use super::schema::Order;
use super::store::{Only, Store};
use super::Board;
use crate::error::{Damage, Error, Result, Shown};

impl<S: Store> Board<S> {
    /// Removes members. Returns how many there were.
    pub fn remove(&mut self, members: &[S::Name]) -> Result<u64> {
        let elements = self.prepare_removal(members)?;
        Ok(self.commit_removal(elements))
    }

    /// The elements of members to remove. Everything that can be wrong with them has been checked.
    pub fn prepare_removal(&self, members: &[S::Name]) -> Result<Vec<S::Name>> {
        // If the element is the member's name, nothing can go wrong, and elements that do not decode are removed too.
        if self.schema.layout.spills() {
            self.check_size()?;
        }
        let locate = |member| Ok(self.locate(member)?.map(|(element, ..)| element));
        members.iter().filter_map(|member| locate(member).transpose()).collect()
    }

    /// Removes elements: how many were there.
    pub fn commit_removal(&mut self, elements: Vec<S::Name>) -> u64 {
        let mut removed = 0;
        for element in elements {
            // The same name may be given twice.
            if self.store.score(&element).is_some() {
                self.remove_member(&element);
                removed += 1;
            }
        }
        removed
    }

    /// Keeps the best `keep`. Returns how many left and, if `wanted`, their elements, best first.
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

    /// Removes all members, and keeps the schema and the expiry. Returns how many there were.
    pub fn clear(&mut self) -> Result<u64> {
        let members = self.members()?;
        if members > 0 {
            self.store.clear(self.marker.as_ref())?;
            self.counted.set(None);
        }
        Ok(members)
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

    /// Writes the entry of an element; on a board without an index there is none.
    pub(super) fn put_entry(&mut self, element: &S::Name) -> Option<S::Name> {
        let entry = self.schema.layout.spills().then(|| self.entry_of(element))?;
        self.store.put(&entry, f64::NEG_INFINITY, Only::Any);
        Some(entry)
    }

    /// Removes an element, and on a spilled board its entry.
    pub(super) fn remove_element(&mut self, element: &S::Name) {
        let entry = self.schema.layout.spills().then(|| self.entry_of(element));
        self.remove_indexed(element, entry.as_ref());
    }

    pub(super) fn remove_indexed(&mut self, element: &S::Name, entry: Option<&S::Name>) {
        self.store.remove(element);
        if let Some(entry) = entry {
            self.store.remove(entry);
        }
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
}
