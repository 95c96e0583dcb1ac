//! Sorted sets, hashes and limiters on open keys, and the one recorder of what was changed.

mod effects;
mod hash;
mod implicit_keys;
mod limiter;
mod propagation;
mod zset;

pub use effects::{Effect, Effects};
pub use hash::Hash;
pub use limiter::Limiter;
pub use propagation::subscribe;
pub use zset::ZSet;
