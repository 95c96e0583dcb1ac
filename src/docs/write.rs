//! Commands that change members.

use super::{Doc, DELETES, POPS, UPDATES};

pub const ADD: Doc = Doc {
    name: "rank.add",
    syntax: "key [NX|XX] [SET|BEST] [KEEP n] [CH] [WITHRANK] [AT ms] {score ... member} ...",
    summary: "Sets the scores of members, and returns how many are new, or their old and new ranks.",
    complexity: "O(log(N)) for each member.",
    since: "0.1.0",
    flags: "write deny-oom fast",
    categories: "write sortedset fast",
    keys: UPDATES,
};

pub const MULTISET: Doc = Doc {
    name: "rank.multiset",
    syntax: ADD.syntax,
    summary: "Like RANK.ADD, and creates a board with as many INT fields as there are scores.",
    complexity: ADD.complexity,
    since: "0.1.0",
    flags: ADD.flags,
    categories: ADD.categories,
    keys: UPDATES,
};

pub const INCR: Doc = Doc {
    name: "rank.incr",
    syntax: "key [WITHRANK] [AT ms] delta ... member",
    summary: "Adds to each score of a member, and returns the new ones, or a row with old and new rank.",
    complexity: "O(log(N))",
    since: "0.1.0",
    flags: "write deny-oom fast",
    categories: "write sortedset fast",
    keys: UPDATES,
};

pub const REM: Doc = Doc {
    name: "rank.rem",
    syntax: "key member [member ...]",
    summary: "Removes members, with all that belongs to them.",
    complexity: "O(log(N)) for each member.",
    since: "0.1.0",
    flags: "write fast",
    categories: "write sortedset fast",
    keys: DELETES,
};

pub const TRIM: Doc = Doc {
    name: "rank.trim",
    syntax: "key n [RETURN]",
    summary: "Keeps the best n members, and returns how many or which ones left.",
    complexity: "O(log(N)+M) with M members removed.",
    since: "0.1.0",
    flags: "write",
    categories: "write sortedset slow",
    keys: POPS,
};
