//! Everything that touches the server, and all `unsafe` of the module: `api` makes the module API safe, `store` has keys
//! and the recorder of effects, `module` is what the server calls.

#[macro_use]
mod api;
mod call;
mod module;
mod store;
#[cfg(any(test, fuzzing))]
pub mod tests;

pub use api::{Access, Arg, Args, Caller, Ctx, Options, Reply, Stopwatch, Text};
pub use call::Call;
pub use module::{
    notify_waiters, serve_waiters_first, start, wait, Command, Definition, Head, Runner, Turn, WaitRequest,
};
pub use store::{Hash, Limiter, ZSet};
