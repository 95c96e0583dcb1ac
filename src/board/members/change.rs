//! Changes. Whatever can fail is asked before the first change; a change itself does not fail.
//!
//! Updates add before they remove: otherwise the key could become empty in between, and lose its expiry.

use std::sync::Arc;

use super::index::{misindexed, needs_wrapping};
use super::marker::{marker_bytes, MARKER_START};
use super::{decode, Members, Stored};
use crate::board::schema::{Order, Rules, Schema};
use crate::board::value::Value;
use crate::error::{Error, Result};
use crate::zset::{Condition, PutResult, SortedSet};

impl<S: SortedSet> Members<S> {
    /// Checks that a member can have this name: it is no marker.
    #[inline]
    pub fn check_name(&self, name: &S::Element) -> Result<()> {
        // Compare the first byte first: hardly any name has that of a marker.
        let name = name.as_ref();
        if name.first() == MARKER_START.first() && name.starts_with(MARKER_START) && !self.schema.layout.is_coded() {
            return Err(Error::reserved_member());
        }
        Ok(())
    }

    /// Writes a member with these values by one `ZADD` of its name, if that is all that is stored of it, whatever was there
    /// before: its score says everything. On a coded board that is so as long as all members fit. `None` if it is not.
    #[inline]
    pub fn put_alone(&mut self, name: &S::Element, values: &[Value], only: Condition) -> Option<PutResult> {
        let is_alone = !self.schema.layout.is_coded() || self.has_no_entries() && !needs_wrapping(name.as_ref());
        let score = if is_alone { self.schema.layout.score_only(values)? } else { return None };
        Some(self.set.put(name, score, only))
    }

    /// The value of a member of a plain board, which is its score; `None` for another board. (Without this, `RANK.INCR` takes
    /// 29 % more of the module's instructions there.)
    #[inline]
    pub fn plain_value(&self, name: &S::Element) -> Option<Option<f64>> {
        self.schema.layout.is_plain().then(|| self.set.score(name))
    }

    /// Checks that the new element of a member is not there already, left over by damage.
    pub fn check_put(&self, new: &Stored<S::Element>, old: Option<&Stored<S::Element>>) -> Result<()> {
        if !new.overflows() && !old.is_some_and(Stored::overflows) {
            // The element is the bare name, and looking up the member has already looked for that.
            return Ok(());
        }
        let is_own = old.is_some_and(|old| old.element.as_ref() == new.element.as_ref());
        if !is_own && self.set.score(&new.element).is_some() {
            return Err(misindexed(new.name()));
        }
        Ok(())
    }

    /// Puts a member where it belongs, in place of the old one if it was there.
    #[inline]
    pub fn put(&mut self, new: &Stored<S::Element>, old: Option<&Stored<S::Element>>, only: Condition) -> PutResult {
        let put = self.set.put(&new.element, new.score, only);
        if !new.overflows() && !old.is_some_and(Stored::overflows) {
            return put;
        }
        let moved = old.filter(|old| old.element.as_ref() != new.element.as_ref());
        if moved.is_some() || old.is_none() {
            // If damage left the new element there without entries, it becomes this member's.
            self.replace_entries(old, Some(new));
        }
        if let Some(old) = moved {
            self.set.remove(&old.element);
        }
        put
    }

    /// Whether a member that was found before is still there.
    pub fn is_there(&self, member: &Stored<S::Element>) -> bool {
        self.set.score(&member.element).is_some()
    }

    /// Removes a member. Returns whether it was there.
    pub fn remove(&mut self, member: &Stored<S::Element>) -> bool {
        let was_there = self.set.remove(&member.element);
        if was_there {
            self.replace_entries(Some(member), None);
        }
        was_there
    }

    /// Checks that the worst `count` members can be removed: on a coded board they decode, and have their entries.
    pub fn check_removable(&mut self, count: u64) -> Result<()> {
        if !self.schema.layout.is_coded() {
            return Ok(());
        }
        let (schema, since, mut wrapped) = (Arc::clone(&self.schema), self.since, Vec::new());
        for (element, score) in self.elements_worst_first().take(usize::try_from(count).unwrap_or(usize::MAX)) {
            if decode(&schema, since, element.as_ref(), score)?.name_at > 0 {
                wrapped.push(element);
            }
        }
        wrapped.iter().try_for_each(|element| self.check_entries(element))
    }

    /// Removes the worst member, and returns it.
    #[inline]
    pub fn remove_worst(&mut self) -> Option<Stored<S::Element>> {
        let worst = self.worst()?;
        self.remove(&worst);
        Some(worst)
    }

    /// Removes all members but the best `keep`. Returns how many they were and, if `wanted`, the members, best first.
    pub fn truncate(&mut self, keep: u64, wanted: bool) -> Result<(u64, Vec<Stored<S::Element>>)> {
        let count = self.len()?.saturating_sub(keep);
        if count == 0 {
            return Ok((0, Vec::new()));
        }
        self.check_removable(count)?;
        let mut removed = Vec::new();
        if wanted || !self.has_no_entries() {
            let elements: Vec<_> =
                self.elements_worst_first().take(usize::try_from(count).unwrap_or(usize::MAX)).collect();
            removed.extend(elements.into_iter().rev().map(|(element, score)| self.stored(element, score)));
        }
        let first = match self.order {
            Order::Descending => self.elements_below()?,
            Order::Ascending => self.elements_below()? + keep,
        };
        self.set.remove_indexes(first, first + count - 1)?;
        removed.iter().for_each(|member| self.replace_entries(Some(member), None));
        Ok((count, removed))
    }

    /// Removes all members, and keeps the schema and the expiry. Tie times are counted from `since` from now on. Returns how
    /// many members there were.
    pub fn clear(&mut self, since: i64) -> Result<u64> {
        let members = self.len()?;
        if members > 0 {
            if self.marker.is_some() {
                self.marker = Some(S::Element::from(&marker_bytes(&self.schema.rules, since)));
                self.since = since;
            }
            let expiry = self.set.expiry();
            self.set.unlink();
            if let Some(marker) = &self.marker {
                self.set.put(marker, f64::NEG_INFINITY, Condition::Any);
                if let Some(at_ms) = expiry {
                    self.set.expire_at(at_ms);
                }
            }
            self.entries = Some(0);
        }
        Ok(members)
    }

    /// Writes another marker.
    pub fn set_rules(&mut self, rules: &Rules, since: i64) {
        let marker = S::Element::from(&marker_bytes(rules, since));
        self.set.put(&marker, f64::NEG_INFINITY, Condition::Any);
        if let Some(old) = self.marker.replace(marker) {
            self.set.remove(&old);
        }
        self.use_schema(Arc::new(Schema::new(rules.clone())), since);
    }

    pub fn expire_at(&mut self, at_ms: i64) {
        self.set.expire_at(at_ms);
    }
}
