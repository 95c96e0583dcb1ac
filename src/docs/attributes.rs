//! Commands for the attributes of members.

use super::{Doc, DELETES, READS, UPDATES};

pub const SETDATA: Doc = Doc {
    name: "rank.setdata",
    syntax: "key member [NX] {attr value} ...",
    summary: "Sets attributes of a member, and returns how many are new.",
    complexity: "O(M) for M attributes of the member.",
    since: "0.1.0",
    flags: "write deny-oom fast",
    categories: "write sortedset fast",
    keys: UPDATES,
};

pub const GETDATA: Doc = Doc {
    name: "rank.getdata",
    syntax: "key member [attr ...]",
    summary: "Returns all attributes of a member, or those named.",
    complexity: "O(M) for M attributes of the member.",
    since: "0.1.0",
    flags: "readonly fast",
    categories: "read sortedset fast",
    keys: READS,
};

pub const DELDATA: Doc = Doc {
    name: "rank.deldata",
    syntax: "key member [attr ...]",
    summary: "Removes attributes of a member, all where none is named.",
    complexity: "O(M) for M attributes of the member.",
    since: "0.1.0",
    flags: "write fast",
    categories: "write sortedset fast",
    keys: DELETES,
};
