//! What `COMMAND DOCS`, `COMMAND INFO` and redis-cli's hints know about each command.

mod keywords;
mod syntax;

pub use keywords::{Keyword, Keywords};
pub use syntax::{ArgType, Argument};

type Str = &'static str;

/// Nothing was released before it, so every command of today exists since then.
const FIRST_RELEASE: Str = "0.4.0";

pub struct Doc {
    pub name: Str,
    /// The arguments in the notation of `syntax`; arity and `COMMAND DOCS` follow from it.
    pub syntax: Str,
    pub summary: Str,
    pub complexity: Str,
    pub since: Str,
    effect: Effect,
    /// O(log n) or better.
    pub is_fast: bool,
    may_block: bool,
    /// The handler reports its keys: in cluster mode, Redis 7.0 looks at key positions and ignores key specs.
    reports_keys: bool,
    pub keys: &'static [KeySpec],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Reads,
    /// May need more memory.
    Grows,
    /// Never needs more memory.
    Shrinks,
}

/// What happens to a key: whether its data is returned, changed, added or removed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KeyUse {
    Read,
    Update,
    Change,
    Delete,
    Pop,
    Insert,
}

/// Where a key is among the arguments, and what happens to it.
pub struct KeySpec {
    pub at: KeyAt,
    pub usage: KeyUse,
}

pub enum KeyAt {
    Index(i32),
    /// After this word, which is at this index or later.
    Keyword(Str, i32),
    /// After the number at this index, which says how many keys there are.
    Numbered(i32),
    /// Only the handler knows.
    Dynamic,
}

impl KeySpec {
    pub const fn at(index: i32, usage: KeyUse) -> KeySpec {
        KeySpec { at: KeyAt::Index(index), usage }
    }

    pub const fn numbered(index: i32, usage: KeyUse) -> KeySpec {
        KeySpec { at: KeyAt::Numbered(index), usage }
    }

    pub const fn dynamic(usage: KeyUse) -> KeySpec {
        KeySpec { at: KeyAt::Dynamic, usage }
    }

    pub const fn behind(word: Str, from: i32, usage: KeyUse) -> KeySpec {
        KeySpec { at: KeyAt::Keyword(word, from), usage }
    }
}

impl Doc {
    const fn new(name: Str, syntax: Str, summary: Str, complexity: Str, effect: Effect) -> Doc {
        let keys = match effect {
            Effect::Reads => const { &[KeySpec::at(1, KeyUse::Read)] },
            Effect::Grows => const { &[KeySpec::at(1, KeyUse::Update)] },
            Effect::Shrinks => const { &[KeySpec::at(1, KeyUse::Delete)] },
        };
        let (is_fast, may_block, reports_keys) = (false, false, false);
        Doc { name, syntax, summary, complexity, since: FIRST_RELEASE, effect, is_fast, may_block, reports_keys, keys }
    }

    /// A command that uses no keys: its reply depends on its arguments alone.
    pub const fn pure(name: Str, syntax: Str, summary: Str, complexity: Str) -> Doc {
        Doc::new(name, syntax, summary, complexity, Effect::Reads).keys(&[])
    }

    pub const fn read(name: Str, syntax: Str, summary: Str, complexity: Str) -> Doc {
        Doc::new(name, syntax, summary, complexity, Effect::Reads)
    }

    pub const fn write(name: Str, syntax: Str, summary: Str, complexity: Str) -> Doc {
        Doc::new(name, syntax, summary, complexity, Effect::Grows)
    }

    pub const fn remove(name: Str, syntax: Str, summary: Str, complexity: Str) -> Doc {
        Doc::new(name, syntax, summary, complexity, Effect::Shrinks)
    }

    pub const fn fast(self) -> Doc {
        Doc { is_fast: true, ..self }
    }

    pub const fn blocking(self) -> Doc {
        Doc { may_block: true, ..self }
    }

    /// Sets other keys than the first argument, or another use of it.
    pub const fn keys(self, keys: &'static [KeySpec]) -> Doc {
        Doc { keys, ..self }
    }

    /// Some keys follow words or a number; the handler reports where they are.
    pub const fn reports_keys(self) -> Doc {
        Doc { reports_keys: true, ..self }
    }

    /// Flags as `RM_CreateCommand` takes them.
    pub fn flags(&self) -> String {
        let effect = match self.effect {
            Effect::Reads => "readonly",
            Effect::Grows => "write deny-oom",
            Effect::Shrinks => "write",
        };
        let fast = if self.is_fast { " fast" } else { "" };
        let keys = if self.reports_keys { " getkeys-api" } else { "" };
        let blocking = if self.may_block { " blocking" } else { "" };
        [effect, fast, keys, blocking].concat()
    }

    /// Categories for ACLs, where the server lets modules set them.
    pub fn categories(&self) -> String {
        let effect = if self.effect == Effect::Reads { "read" } else { "write" };
        let types = if self.is_of_limits() { "sortedset string" } else { "sortedset" };
        let speed = if self.is_fast { "fast" } else { "slow" };
        let blocking = if self.may_block { " blocking" } else { "" };
        format!("{effect} {types} {speed}{blocking}")
    }

    fn is_of_limits(&self) -> bool {
        self.name.starts_with("rate.") || self.name.starts_with("cl.")
    }

    pub fn args(&self) -> Vec<Argument> {
        syntax::parse(self.syntax)
    }

    /// As the server counts: the command's name included, negative for "at least".
    pub fn arity(&self) -> i32 {
        syntax::arity(&self.args())
    }
}
