//! Rate limits.

use super::{Doc, DELETES, READS, UPDATES};

pub const CHECK: Doc = Doc {
    name: "rate.check",
    syntax: "key {limit window|rule} ... [SLIDING|FIXED|COUNTER|GCRA] [BURST n] [COST n] [NOW ms]",
    summary: "Takes units from a rate limiter, or says how long to wait for them.",
    complexity: "O(R*log(N)) for R rules and N calls in a SLIDING log; O(R) with FIXED, COUNTER and GCRA.",
    since: "0.1.0",
    flags: "write deny-oom fast",
    categories: "write sortedset hash fast",
    keys: UPDATES,
};

pub const PEEK: Doc = Doc {
    name: "rate.peek",
    syntax: CHECK.syntax,
    summary: "Says what RATE.CHECK would say, and takes nothing.",
    complexity: CHECK.complexity,
    since: "0.1.0",
    flags: "readonly fast",
    categories: "read sortedset hash fast",
    keys: READS,
};

pub const RESET: Doc = Doc {
    name: "rate.reset",
    syntax: "key",
    summary: "Forgets a rate limiter.",
    complexity: "O(1), the memory is freed in the background.",
    since: "0.1.0",
    flags: "write fast",
    categories: "write sortedset hash fast",
    keys: DELETES,
};
