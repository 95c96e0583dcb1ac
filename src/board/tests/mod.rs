//! Boards in memory, and what they are compared with.

#[cfg(test)]
mod exports;
mod naive;
#[cfg(test)]
mod periods;
#[cfg(test)]
mod points;
#[cfg(test)]
pub mod random;

pub use naive::{Member, Naive, EPOCH};

/// What fuzz targets need to make boards of their own.
pub use super::members::tests::{entry_scores, marker_bytes, split_wrapped, Codec, SortKey};
pub use super::members::MARKER_START;
pub use super::periods::Periods;
pub use super::schema::{DataHash, Field, FieldType, Rules, Schema, TieRule, Ties, TimeUnit};
pub use super::value::Tuple;
pub use super::Creation;

use super::Board;
use crate::zset::MemorySet;

impl Board<MemorySet> {
    pub fn set(&mut self) -> &mut MemorySet {
        self.members.set()
    }
}

/// Gives a board a schema, as `RANK.CREATE` does at the beginning of 2020.
pub fn create(board: &mut Board<MemorySet>, rules: &Rules) {
    let creation = Creation { rules: rules.clone(), since: None, adopt: false };
    board.create(creation, b"b", EPOCH, false).expect("a new board takes any schema");
}
