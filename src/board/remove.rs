//! Removes members, one by one or many at once.
//!
//! Several members are checked before the first of them is removed, so an error means that nothing was removed.

use super::members::Stored;
use super::{Board, Row};
use crate::error::{Error, Result};
use crate::zset::SortedSet;

impl<S: SortedSet> Board<S> {
    /// The members to remove. Everything that can be wrong with them has been checked.
    pub fn prepare_removal(&self, names: &[S::Element]) -> Result<Vec<Stored<S::Element>>> {
        // Members that do not decode are removed too.
        names.iter().filter_map(|name| self.members.locate(name).transpose()).collect()
    }

    /// Removes members. Returns how many there were: the same one may be given twice.
    pub fn commit_removal(&mut self, members: &[Stored<S::Element>]) -> u64 {
        members.iter().filter(|member| self.members.remove(member)).count() as u64
    }

    /// Removes all members but the best `keep`. Returns how many were removed and, if `wanted`, these members, best first.
    pub fn trim(&mut self, keep: u64, wanted: bool) -> Result<(u64, Vec<Stored<S::Element>>)> {
        self.members.truncate(keep, wanted)
    }

    /// Removes all members, and keeps the schema and the expiry. Tie times are counted from `since` from now on. Returns how
    /// many members there were.
    pub fn clear(&mut self, since: i64) -> Result<u64> {
        self.members.clear(since)
    }

    /// The positions of the best or the worst `count` members: the first position, and the number of members.
    pub fn positions_at_end(&mut self, count: u64, worst: bool) -> Result<(u64, u64)> {
        let members = self.members.len()?;
        let count = count.min(members);
        Ok((if worst { members - count } else { 0 }, count))
    }

    /// Removes the members of rows that were just read. Either all are removed or none.
    pub fn remove_rows(&mut self, rows: &[Row]) -> Result<Vec<Stored<S::Element>>> {
        let mut members = Vec::with_capacity(rows.len());
        for row in rows {
            // On a damaged board a name may be there twice, or have lost its entries. Then a look-up finds another member
            // or none, the row would stay, and every call would return it again.
            let found = self.find(&S::Element::from(row.member()))?;
            match found.filter(|found| found.values == row.values && found.time == row.time) {
                Some(found) => members.push(found.stored),
                None => return Err(Error::index_differs(row.member())),
            }
        }
        self.commit_removal(&members);
        Ok(members)
    }
}
