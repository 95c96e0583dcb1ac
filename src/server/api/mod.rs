//! A safe interface to the module API: contexts, keys, strings, calls of core commands, replies. It knows nothing of
//! boards, limiters and schedules.

/// The function behind a pointer that every server since 7.0 sets.
macro_rules! api {
    ($name:ident) => {
        match redis_module::raw::$name {
            Some(function) => function,
            None => $crate::server::api::missing(stringify!($name)),
        }
    };
}

mod blocked;
mod context;
mod core;
mod core_commands;
mod key;
mod reply;
mod rights;
mod stopwatch;
mod text;

pub use blocked::{on_cron, Blocked, Timer};
pub use context::{Ctx, EventClass};
pub use core::Refusal;
pub use core_commands::CoreCommand;
pub use key::{Access, Key, KeyType};
pub use reply::Reply;
pub use rights::Caller;
pub use stopwatch::Stopwatch;
pub use text::{args_of, Arg, Args, Options, Text};

/// A missing function cannot happen on a server that loaded the module. If it does, this ends the command, not the server.
#[cold]
pub fn missing(name: &str) -> ! {
    #[cfg(any(test, fuzzing))]
    super::tests::absent::note_missing();
    std::panic::panic_any(format!("the server has no {name}"))
}
