//! The core commands that the module calls or propagates. The API refuses a command that was renamed or removed only when
//! it is needed, which can be after a write; so the module is not loaded without one of these.

use std::ffi::CStr;

/// The name of a core command. Only this file makes one, so no other command is called or propagated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreCommand(&'static CStr);

impl CoreCommand {
    pub fn name(self) -> &'static CStr {
        self.0
    }
}

macro_rules! core_commands {
    ($($name:ident)+) => {
        impl CoreCommand {
            $(pub const $name: CoreCommand = CoreCommand(
                match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name without NUL"),
                },
            );)+

            pub const ALL: &[CoreCommand] = &[$(CoreCommand::$name),+];
        }
    };
}

core_commands! {
    ZADD ZREM ZREMRANGEBYSCORE ZREMRANGEBYRANK SET SETRANGE HSET HDEL UNLINK PEXPIREAT RENAME
    ZRANK ZRANGE ZSCAN MEMORY PING
}
