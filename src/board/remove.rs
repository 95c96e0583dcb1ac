//! Removes members and their index entries, one by one or many at once.
//!
//! Several members are checked before the first of them is removed, so an error means that nothing was removed.

use std::sync::Arc;

use super::index::split_wrapped;
use super::marker::marker_bytes;
use super::schema::Order;
use super::{decode, Board};
use crate::error::Result;
use crate::zset::{Condition, SortedSet};

impl<S: SortedSet> Board<S> {
    pub fn remove(&mut self, members: &[S::Element]) -> Result<u64> {
        let elements = self.prepare_removal(members)?;
        Ok(self.commit_removal(elements))
    }

    /// The elements of members to remove. Everything that can be wrong with them has been checked.
    pub fn prepare_removal(&self, members: &[S::Element]) -> Result<Vec<S::Element>> {
        // Elements that do not decode are removed too.
        let locate = |member| Ok(self.locate(member)?.map(|(element, _)| element));
        members.iter().filter_map(|member| locate(member).transpose()).collect()
    }

    pub fn commit_removal(&mut self, elements: Vec<S::Element>) -> u64 {
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

    /// Removes all members but the best `keep`. Returns how many were removed and, if `wanted`, their elements, best first.
    pub fn trim(&mut self, keep: u64, wanted: bool) -> Result<(u64, Vec<S::Element>)> {
        let count = self.members()?.saturating_sub(keep);
        if count == 0 {
            return Ok((0, Vec::new()));
        }
        self.check_leavers(keep)?;
        let mut leaving = Vec::new();
        if wanted || !self.has_no_entries() || self.departed.is_some() {
            self.elements(keep, count, self.direction(), &mut |element, _| {
                leaving.push(element);
                Ok(())
            })?;
        }
        let first = match self.order {
            Order::Descending => self.elements_below_members()?,
            Order::Ascending => self.elements_below_members()? + keep,
        };
        self.store.remove_indexes(first, first + count - 1)?;
        leaving.iter().for_each(|element| self.replace_entries(Some(element), None));
        self.note_departed(leaving.iter());
        Ok((count, leaving))
    }

    /// Removes all members, and keeps the schema and the expiry. Tie times are counted from `since` from now on. Returns how
    /// many members there were.
    pub fn clear(&mut self, since: i64) -> Result<u64> {
        let members = self.members()?;
        if members > 0 {
            if self.marker.is_some() {
                self.marker = Some(S::Element::from(&marker_bytes(&self.schema.rules, since)));
                self.since = since;
            }
            let expiry = self.store.expiry();
            self.store.unlink();
            if let Some(marker) = &self.marker {
                self.store.put(marker, f64::NEG_INFINITY, Condition::Any);
                if let Some(at_ms) = expiry {
                    self.store.expire_at(at_ms);
                }
            }
            self.entries = Some(0);
        }
        Ok(members)
    }

    /// Whether the members from a position on can be removed: on a coded board they decode, and have their entries.
    pub(super) fn check_leavers(&mut self, first: u64) -> Result<()> {
        if !self.schema.layout.is_coded() {
            return Ok(());
        }
        let (schema, since, mut wrapped) = (Arc::clone(&self.schema), self.since, Vec::new());
        self.elements(first, u64::MAX, self.direction(), &mut |element, score| {
            decode(&schema, since, element.as_ref(), score)?;
            if split_wrapped(element.as_ref()).is_some() {
                wrapped.push(element);
            }
            Ok(())
        })?;
        wrapped.iter().try_for_each(|element| self.check_entries(element))
    }

    pub(super) fn remove_member(&mut self, element: &S::Element) {
        self.store.remove(element);
        self.replace_entries(Some(element), None);
        self.note_departed([element].into_iter());
    }

    fn note_departed<'e>(&mut self, elements: impl Iterator<Item = &'e S::Element>)
    where
        S::Element: 'e,
    {
        if let Some(mut departed) = self.departed.take() {
            departed.extend(elements.map(|element| self.member_of(element)));
            self.departed = Some(departed);
        }
    }
}
