//! Sorted sets, hashes and limiters on open keys, and the one recorder of what was changed.

mod effects;
mod hash;
mod limiter;
mod listeners;
mod named;
mod schedule;
mod walk;
mod zset;

pub use effects::{Change, Effects};
pub use hash::Hash;
pub use limiter::Limiter;
pub use listeners::listen;
pub use schedule::Schedule;
pub use zset::ZSet;
