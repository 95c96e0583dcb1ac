//! How members are stored, and what tests and fuzz targets need to store some themselves.

#[cfg(test)]
mod codes;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod wall;

pub use super::index::{entry_scores, split_entry, split_wrapped};
pub use super::layout::SortKey;
pub use super::marker::marker_bytes;

use super::layout::Decoded;
use super::{Layout, Members};
use crate::board::value::Value;
use crate::zset::SortedSet;

impl<S: SortedSet> Members<S> {
    pub fn set(&mut self) -> &mut S {
        &mut self.set
    }
}

/// What a layout does, for those that may not know it otherwise.
pub trait Codec {
    fn is_coded(&self) -> bool;
    fn encode(&self, values: &[Value], at: i64, since: i64) -> SortKey;
    fn decode(&self, score: f64, element: &[u8], since: i64) -> Option<Decoded>;
    fn edge(&self, values: &[Value], time: Option<i64>, since: i64, highest: bool) -> SortKey;
    fn score_only(&self, values: &[Value]) -> Option<f64>;
}

impl Codec for Layout {
    fn is_coded(&self) -> bool {
        self.is_coded()
    }

    fn encode(&self, values: &[Value], at: i64, since: i64) -> SortKey {
        self.encode(values, at, since)
    }

    fn decode(&self, score: f64, element: &[u8], since: i64) -> Option<Decoded> {
        self.decode(score, element, since)
    }

    fn edge(&self, values: &[Value], time: Option<i64>, since: i64, highest: bool) -> SortKey {
        self.edge(values, time, since, highest)
    }

    fn score_only(&self, values: &[Value]) -> Option<f64> {
        self.score_only(values)
    }
}
