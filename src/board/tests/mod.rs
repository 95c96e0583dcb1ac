//! Boards in memory, and what they are compared with.

#[cfg(test)]
mod damage;
#[cfg(test)]
mod exports;
mod model;
mod naive;
#[cfg(test)]
mod periods;
#[cfg(test)]
mod points;
#[cfg(test)]
mod random;

pub use model::Model;
pub use naive::{Member, Naive, EPOCH};

/// What fuzz targets need to make boards of their own.
pub use super::layout::Place;
pub use super::marker::{marker_bytes, MARKER_START};
pub use super::periods::Periods;
pub use super::schema::{Data, Field, FieldType, Rules, Schema, TieRule, Ties, TimeUnit};
pub use super::value::Tuple;
