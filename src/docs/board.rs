//! Commands about a board as a whole.

use super::{Doc, KeyAt, KeySpec, KeyUse, DELETES, READS, UPDATES};

pub const CREATE: Doc = Doc {
    name: "rank.create",
    syntax: "key [ASC|DESC|{FIELD name [ASC|DESC] [FLOAT|INT|BITS n|DIGITS n|{RANGE lo hi}]} ...] \
             [TIES {SHARED|{FIRST [MS|S]}|{LAST [MS|S]}|{JOINED [MS|S]}}] [KEEP n] [UPDATE {SET|BEST}] [ADOPT] \
             [LIKE other]",
    summary: "Gives a board its schema: fields, ties, bound, update rule; or that of another board.",
    complexity: "O(1) on a new board; O(log(N)+M) where KEEP removes M members; O(N) with ADOPT.",
    since: "0.1.0",
    // 7.0 takes the keys of a cluster's commands from positions, not specs: the handler tells where LIKE's is.
    flags: "write deny-oom blocking getkeys-api",
    categories: "write sortedset slow",
    keys: &[
        KeySpec { at: KeyAt::Index(1), usage: KeyUse::Update },
        KeySpec { at: KeyAt::Keyword("LIKE"), usage: KeyUse::Read },
    ],
};

pub const ALTER: Doc = Doc {
    name: "rank.alter",
    syntax: "key [KEEP n|NOKEEP] [UPDATE {SET|BEST}]",
    summary: "Changes a board's bound and update rule.",
    complexity: "O(1), or O(log(N)+M) where KEEP removes M members.",
    since: "0.1.0",
    flags: "write deny-oom",
    categories: "write sortedset slow",
    keys: UPDATES,
};

pub const INFO: Doc = Doc {
    name: "rank.info",
    syntax: "key",
    summary: "Returns a board's size, schema, layout and companion keys.",
    complexity: "O(1)",
    since: "0.1.0",
    flags: "readonly fast",
    categories: "read sortedset fast",
    keys: READS,
};

pub const CLEAR: Doc = Doc {
    name: "rank.clear",
    syntax: "key",
    summary: "Removes all members of a board and keeps its schema and expiry.",
    complexity: "O(1), the memory is freed in the background.",
    since: "0.1.0",
    flags: "write",
    categories: "write sortedset slow",
    keys: DELETES,
};

pub const ROTATE: Doc = Doc {
    name: "rank.rotate",
    syntax: "key archive",
    summary: "Renames a board to an archive and starts it anew with the same schema.",
    complexity: "O(1)",
    since: "0.1.0",
    flags: "write",
    categories: "write sortedset slow",
    keys: &[
        KeySpec { at: KeyAt::Index(1), usage: KeyUse::Update },
        KeySpec { at: KeyAt::Index(2), usage: KeyUse::Insert },
    ],
};

pub const VERIFY: Doc = Doc {
    name: "rank.verify",
    syntax: "key [REPAIR] [CURSOR cursor] [COUNT count]",
    summary: "Compares a board with its companion keys, a step at a time, and mends them.",
    complexity: "O(M*log(N)) for a step of M entries.",
    since: "0.1.0",
    flags: "write deny-oom",
    categories: "write sortedset slow",
    keys: UPDATES,
};
