//! Everything that touches the server. All `unsafe` of the module is in here.

#[macro_use]
mod api;
mod call;
mod context;
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
mod text;
mod walk;
mod zset;

pub use context::Call;
pub use hash::Hash;
pub use keeper::make_room;
pub use key::{Key, KeyType};
pub use limiter::Limiter;
pub use register::{run, start, stop, Command};
pub use reply::Reply;
pub use text::{Arg, Args, Text};
pub use zset::{Access, ZSet};
