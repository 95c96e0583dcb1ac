//! What `COMMAND DOCS`, `COMMAND INFO` and redis-cli's hints know about each command.

mod syntax;

pub use syntax::{Arg, ArgType};

/// One command, as data.
pub struct Doc {
    /// In lower case.
    pub name: &'static str,
    /// The arguments in the notation of `syntax`; arity and `COMMAND DOCS` follow from it.
    pub syntax: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// What it costs.
    pub complexity: &'static str,
    /// The first version that has it.
    pub since: &'static str,
    effect: Effect,
    /// O(log n) or better.
    pub is_fast: bool,
    may_block: bool,
    /// The handler reports its keys: in cluster mode, Redis 7.0 looks at key positions and ignores key specs.
    tells_keys: bool,
    /// The keys among its arguments.
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

/// What happens to a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KeyUse {
    /// Returns data of the value.
    Read,
    /// Changes or adds data, and may return data.
    Update,
    /// Changes or adds data, and returns none.
    Change,
    /// Only removes data.
    Delete,
    /// Removes data, and may return it.
    Pop,
    /// Creates the key.
    Insert,
}

/// Where a key is among the arguments, and what happens to it.
pub struct KeySpec {
    /// Where it is.
    pub at: KeyAt,
    /// What happens to it.
    pub usage: KeyUse,
}

/// Where a key is.
pub enum KeyAt {
    /// At this index.
    Index(i32),
    /// After this word, which is at this index or later.
    Keyword(&'static str, i32),
    /// After the number at this index, which says how many keys there are.
    Numbered(i32),
    /// Only the handler knows.
    Told,
}

impl KeySpec {
    /// The key at an index.
    pub const fn at(index: i32, usage: KeyUse) -> KeySpec {
        KeySpec { at: KeyAt::Index(index), usage }
    }

    /// The keys after a number, which is at this index and says how many there are.
    pub const fn numbered(index: i32, usage: KeyUse) -> KeySpec {
        KeySpec { at: KeyAt::Numbered(index), usage }
    }

    /// A key whose place the handler tells.
    pub const fn told(usage: KeyUse) -> KeySpec {
        KeySpec { at: KeyAt::Told, usage }
    }

    /// The key after a word, which is at this index or later.
    pub const fn behind(word: &'static str, from: i32, usage: KeyUse) -> KeySpec {
        KeySpec { at: KeyAt::Keyword(word, from), usage }
    }
}

impl Doc {
    const fn new(
        name: &'static str,
        syntax: &'static str,
        summary: &'static str,
        complexity: &'static str,
        effect: Effect,
    ) -> Doc {
        let keys = match effect {
            Effect::Reads => const { &[KeySpec::at(1, KeyUse::Read)] },
            Effect::Grows => const { &[KeySpec::at(1, KeyUse::Update)] },
            Effect::Shrinks => const { &[KeySpec::at(1, KeyUse::Delete)] },
        };
        let (is_fast, may_block, tells_keys) = (false, false, false);
        Doc { name, syntax, summary, complexity, since: "0.1.0", effect, is_fast, may_block, tells_keys, keys }
    }

    /// A command that uses no keys: its reply depends on its arguments alone.
    pub const fn pure(
        name: &'static str,
        syntax: &'static str,
        summary: &'static str,
        complexity: &'static str,
    ) -> Doc {
        Doc::new(name, syntax, summary, complexity, Effect::Reads).keys(&[])
    }

    /// A command that reads its first argument.
    pub const fn read(
        name: &'static str,
        syntax: &'static str,
        summary: &'static str,
        complexity: &'static str,
    ) -> Doc {
        Doc::new(name, syntax, summary, complexity, Effect::Reads)
    }

    /// A command that writes to its first argument.
    pub const fn write(
        name: &'static str,
        syntax: &'static str,
        summary: &'static str,
        complexity: &'static str,
    ) -> Doc {
        Doc::new(name, syntax, summary, complexity, Effect::Grows)
    }

    /// A command that removes something from its first argument.
    pub const fn remove(
        name: &'static str,
        syntax: &'static str,
        summary: &'static str,
        complexity: &'static str,
    ) -> Doc {
        Doc::new(name, syntax, summary, complexity, Effect::Shrinks)
    }

    /// O(log n) or better.
    pub const fn fast(self) -> Doc {
        Doc { is_fast: true, ..self }
    }

    /// May block its client.
    pub const fn blocking(self) -> Doc {
        Doc { may_block: true, ..self }
    }

    /// The first version that has it.
    pub const fn since(self, since: &'static str) -> Doc {
        Doc { since, ..self }
    }

    /// Sets other keys than the first argument, or another use of it.
    pub const fn keys(self, keys: &'static [KeySpec]) -> Doc {
        Doc { keys, ..self }
    }

    /// Some keys follow words or a number; the handler reports where they are.
    pub const fn tells_keys(self) -> Doc {
        Doc { tells_keys: true, ..self }
    }

    /// Flags as `RM_CreateCommand` takes them.
    pub fn flags(&self) -> String {
        let effect = match self.effect {
            Effect::Reads => "readonly",
            Effect::Grows => "write deny-oom",
            Effect::Shrinks => "write",
        };
        let fast = if self.is_fast { " fast" } else { "" };
        let keys = if self.tells_keys { " getkeys-api" } else { "" };
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

    /// The arguments as a tree.
    pub fn args(&self) -> Vec<Arg> {
        syntax::parse(self.syntax)
    }

    /// As the server counts: the command's name included, negative for "at least".
    pub fn arity(&self) -> i32 {
        syntax::arity(&self.args())
    }
}
