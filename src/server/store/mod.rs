//! Sorted sets, hashes and limiters on open keys, and the one recorder of what was changed.

mod effects;
mod ends;
mod few;
mod hash;
mod leases;
mod limiter;
mod listeners;
mod named;
mod schedule;
mod walk;
mod zset;

pub use effects::{Change, Effects, PROPAGATED};
pub use hash::Hash;
pub use leases::LeaseKey;
pub use limiter::Limiter;
pub use listeners::listen;
pub use schedule::{Schedule, ScheduleReader};
pub use zset::ZSet;
