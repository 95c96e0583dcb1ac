//! What `COMMAND DOCS`, `COMMAND INFO` and redis-cli's hints know of each command.

mod attributes;
mod board;
mod rate;
mod read;
mod syntax;
mod write;

pub use attributes::*;
pub use board::*;
pub use rate::*;
pub use read::*;
pub use syntax::{Arg, ArgType};
pub use write::*;

/// One command, as data.
pub struct Doc {
    pub name: &'static str,
    /// The arguments in the notation of `syntax`; arity and `COMMAND DOCS` follow from it.
    pub syntax: &'static str,
    pub summary: &'static str,
    pub complexity: &'static str,
    pub since: &'static str,
    /// Flags as `RM_CreateCommand` takes them.
    pub flags: &'static str,
    /// Categories for ACLs, where the server lets modules set them.
    pub categories: &'static str,
    pub keys: &'static [KeySpec],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KeyUse {
    /// Returns something of the value.
    Read,
    /// Changes or adds to the value, and may return something of it.
    Update,
    /// Only takes away.
    Delete,
    /// Takes away, and may return what it took.
    Pop,
    /// Creates the key.
    Insert,
}

/// Where a key stands among the arguments, and what happens to it.
pub struct KeySpec {
    pub at: KeyAt,
    pub usage: KeyUse,
}

pub enum KeyAt {
    Index(i32),
    /// Behind this word.
    Keyword(&'static str),
}

impl Doc {
    pub fn args(&self) -> Vec<Arg> {
        syntax::parse(self.syntax)
    }

    /// As the server counts: the command's name included, negative for "at least".
    pub fn arity(&self) -> i32 {
        syntax::arity(&self.args())
    }
}

const READS: &[KeySpec] = &[KeySpec { at: KeyAt::Index(1), usage: KeyUse::Read }];
const UPDATES: &[KeySpec] = &[KeySpec { at: KeyAt::Index(1), usage: KeyUse::Update }];
const POPS: &[KeySpec] = &[KeySpec { at: KeyAt::Index(1), usage: KeyUse::Pop }];
const DELETES: &[KeySpec] = &[KeySpec { at: KeyAt::Index(1), usage: KeyUse::Delete }];
