//! Removes members from one end of the board, for `RANK.POP`.

use super::store::Store;
use super::{Board, Row};
use crate::error::Result;

impl<S: Store> Board<S> {
    /// The positions of the best or the worst `count` members: the first position, and the number of members.
    pub fn positions_at_end(&self, count: u64, worst: bool) -> Result<(u64, u64)> {
        let members = self.members()?;
        let count = count.min(members);
        Ok((if worst { members - count } else { 0 }, count))
    }

    /// Removes the members of rows that were just read. Either all are removed or none.
    pub fn remove_rows(&mut self, rows: &[Row]) -> Result<()> {
        let members: Vec<S::Name> = rows.iter().map(|row| self.store.name(row.member())).collect();
        self.remove(&members).map(drop)
    }
}
