//! Removes members from one end of the board, for `RANK.POP`.

use super::index::misindexed;
use super::{Board, Row};
use crate::error::Result;
use crate::zset::SortedSet;

impl<S: SortedSet> Board<S> {
    /// The positions of the best or the worst `count` members: the first position, and the number of members.
    pub fn positions_at_end(&mut self, count: u64, worst: bool) -> Result<(u64, u64)> {
        let members = self.members()?;
        let count = count.min(members);
        Ok((if worst { members - count } else { 0 }, count))
    }

    /// Removes the members of rows that were just read. Either all are removed or none.
    pub fn remove_rows(&mut self, rows: &[Row]) -> Result<()> {
        let mut elements = Vec::with_capacity(rows.len());
        for row in rows {
            // On a damaged board a name may be there twice, or have lost its entries. Then a look-up finds another element
            // or none, the row would stay, and every call would return it again.
            let found = self.find(&S::Element::from(row.member()))?;
            match found.filter(|found| found.decoded.values == row.values && found.decoded.time == row.time) {
                Some(found) => elements.push(found.element),
                None => return Err(misindexed(row.member())),
            }
        }
        self.commit_removal(elements);
        Ok(())
    }
}
