//! Attributes of members: one JSON object each, in the `data` companion.

use serde_json::{Map, Value as Json};

use super::marker::{marker_bytes, Id, Marker};
use super::store::{Companion, Only, Part, Store};
use super::Board;
use crate::error::{Error, Result, Shown};

impl<S: Store> Board<S> {
    /// The member's attributes as they are stored, a JSON object.
    pub fn attributes(&self, member: &[u8]) -> Result<Option<S::Name>> {
        if self.has_attributes()? {
            self.store.entry(Part::Data, member)
        } else {
            Ok(None)
        }
    }

    /// Whether any member has attributes. Once this was asked, `attributes` does not fail: ask before a reply begins.
    pub fn has_attributes(&self) -> Result<bool> {
        if let Some(known) = self.has_data.get() {
            return Ok(known);
        }
        let has = match self.marker.as_ref().map(|marker| self.store.companion(Part::Data, &marker.id)) {
            Some(Ok(Companion::Stamped(_))) => true,
            None | Some(Ok(Companion::Absent | Companion::Foreign) | Err(Error::NoCompanionName)) => false,
            Some(Err(error)) => return Err(error),
        };
        self.has_data.set(Some(has));
        Ok(has)
    }

    pub fn attribute_map(&self, member: &S::Name) -> Result<Map<String, Json>> {
        match self.attributes(member.as_ref())? {
            None => Ok(Map::new()),
            Some(text) => parse_object(text.as_ref()).ok_or_else(|| Error::BadAttributes(Shown::new(member.as_ref()))),
        }
    }

    /// Sets attributes of a member that is on the board: how many are new. With `keep_old`, existing ones stay.
    pub fn set_attributes(
        &mut self,
        member: &S::Name,
        attributes: &[(&str, &str)],
        keep_old: bool,
        new_id: Id,
    ) -> Result<u64> {
        if self.find_or_mend(member)?.is_none() {
            return Err(Error::NoSuchMember(Shown::new(member.as_ref())));
        }
        let mut map = self.attribute_map(member)?;
        let (mut added, mut changed) = (0, false);
        for (name, value) in attributes {
            let value = Json::from(*value);
            match map.get(*name) {
                None => added += 1,
                Some(old) if keep_old || *old == value => continue,
                Some(_) => {}
            }
            changed = true;
            map.insert((*name).to_owned(), value);
        }
        if changed {
            self.write_attributes(member, &map, new_id)?;
        }
        Ok(added)
    }

    /// Removes attributes, or all of them where none is named: how many there were.
    pub fn remove_attributes(&mut self, member: &S::Name, names: &[&[u8]], new_id: Id) -> Result<u64> {
        if self.find_or_mend(member)?.is_none() {
            return Ok(0);
        }
        let mut map = self.attribute_map(member)?;
        let before = map.len();
        if names.is_empty() {
            map.clear();
        }
        // The order of those that stay is theirs.
        map.retain(|name, _| !names.contains(&name.as_bytes()));
        if map.len() < before {
            self.write_attributes(member, &map, new_id)?;
        }
        Ok((before - map.len()) as u64)
    }

    fn write_attributes(&mut self, member: &S::Name, map: &Map<String, Json>, new_id: Id) -> Result<()> {
        let id = self.marker.as_ref().map_or(new_id, |marker| marker.id);
        // Before anything is written: whether the companion can be, and is this board's.
        if self.store.companion(Part::Data, &id)? == Companion::Foreign {
            self.store.drop_companion(Part::Data)?;
        }
        if map.is_empty() {
            self.store.remove_entry(Part::Data, member.as_ref())?;
            self.drop_idle_marker();
            return Ok(());
        }
        if self.marker.is_none() {
            let element = self.store.name(&marker_bytes(id, None));
            self.store.put(&element, f64::NEG_INFINITY, Only::Any);
            self.set_marker(Marker::find(&self.store)?);
        }
        let text = serde_json::to_vec(map).map_err(|_| Error::Internal)?;
        self.has_data.set(None);
        self.store.set_entry(Part::Data, &id, member.as_ref(), &text)
    }

    /// A sorted set without a schema has a marker only as long as it has attributes. Comes after writes, and must not fail:
    /// a companion that cannot be looked at may have some.
    pub(super) fn drop_idle_marker(&mut self) {
        let Some(marker) = self.marker.as_ref().filter(|_| !self.schema.explicit) else { return };
        if matches!(self.store.companion(Part::Data, &marker.id), Ok(Companion::Absent)) {
            self.store.remove(&marker.element);
            self.set_marker(None);
        }
    }
}

pub fn parse_object(text: &[u8]) -> Option<Map<String, Json>> {
    serde_json::from_slice(text).ok()
}
