//! Everything that touches the server. All `unsafe` of the module is in here.

#[macro_use]
mod api;
#[cfg(any(test, fuzzing))]
pub mod absent;
mod call;
mod changes;
mod context;
mod family;
mod filter;
mod follow;
mod hash;
mod info;
mod journey;
mod keeper;
mod key;
mod limiter;
mod names;
mod propagation;
mod register;
mod reply;
mod steps;
mod stopwatch;
mod text;
mod walk;
mod watch;
mod zset;

pub use context::{Call, Ctx};
pub use hash::Hash;
pub use keeper::make_room;
pub use key::{Key, KeyType};
pub use limiter::Limiter;
pub use register::{run, start, stop, Command};
pub use reply::Reply;
pub use steps::{Job, Progress};
pub use stopwatch::Stopwatch;
pub use text::{Arg, Args, Text};
pub use watch::Watch;
pub use zset::{Access, ZSet};
