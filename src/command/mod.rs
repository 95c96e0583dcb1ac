//! The commands: each parses all arguments, opens what it needs, acts, and replies.
//!
//! A command's documentation stands beside its handler, and `lib.rs` lists the commands. Handlers read words (`words`),
//! ask boards, limiters and schedules (`board`, `rate`, `due`), and are the only ones that put these and the server
//! together.

pub mod due;
pub mod rank;
pub mod rate;
