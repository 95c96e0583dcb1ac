//! Commands that read.

use super::{Doc, READS};

/// The options of every read that returns rows.
macro_rules! row_options {
    () => {
        "[COMPETITION|DENSE|ORDINAL] [WITHDATA] [ASC|DESC] [JSON]"
    };
}

macro_rules! group_options {
    () => {
        "[LIMIT offset count] [COMPETITION|DENSE|ORDINAL] [ASC|DESC] [JSON]"
    };
}

const FAST: &str = "readonly fast";
const SLOW: &str = "readonly";
const FAST_CATEGORIES: &str = "read sortedset fast";
const SLOW_CATEGORIES: &str = "read sortedset slow";
const RANK_COST: &str = "O(log(N)); with DENSE O(D*log(N)) for D better scores.";
const ROWS_COST: &str = "O(log(N)+M) with M rows returned; with DENSE O(D*log(N)) more for D better scores.";

/// Everything but what differs from read to read.
const fn read(name: &'static str, syntax: &'static str, summary: &'static str, complexity: &'static str) -> Doc {
    Doc { name, syntax, summary, complexity, since: "0.1.0", flags: SLOW, categories: SLOW_CATEGORIES, keys: READS }
}

const fn fast_read(name: &'static str, syntax: &'static str, summary: &'static str, complexity: &'static str) -> Doc {
    Doc { flags: FAST, categories: FAST_CATEGORIES, ..read(name, syntax, summary, complexity) }
}

pub const GET: Doc = fast_read(
    "rank.get",
    concat!("key member ", row_options!()),
    "Returns the row of a member: rank, name, scores.",
    RANK_COST,
);

pub const SCORE: Doc = fast_read("rank.score", "key member", "Returns the scores of a member.", "O(1)");

pub const QUERY: Doc = read(
    "rank.query",
    concat!("key member ", group_options!()),
    "Returns the rank of a member and all members with the same scores.",
    ROWS_COST,
);

pub const STATS: Doc = read(
    "rank.stats",
    concat!("key ", group_options!()),
    "Returns ranks and the members that share them, best first.",
    "O(N), or O(log(N)+M) with LIMIT and M members returned.",
);

pub const TOPN: Doc = read("rank.topn", concat!("key n ", row_options!()), "Returns the best n rows.", ROWS_COST);

pub const RANGE: Doc = read(
    "rank.range",
    concat!("key start stop ", row_options!()),
    "Returns rows by position, from 1; negative positions count from the end.",
    ROWS_COST,
);

pub const PAGE: Doc = read(
    "rank.page",
    concat!("key page size ", row_options!()),
    "Returns one page of rows, with the number of pages and members.",
    ROWS_COST,
);

pub const AROUND: Doc = read(
    "rank.around",
    concat!("key member distance [FILL] ", row_options!()),
    "Returns the rows around a member.",
    ROWS_COST,
);

pub const BYSCORE: Doc = read(
    "rank.byscore",
    concat!("key min max [LIMIT offset count] ", row_options!()),
    "Returns the rows whose first field is within bounds.",
    ROWS_COST,
);

pub const AMONG: Doc = read(
    "rank.among",
    concat!("key nummembers member [member ...] ", row_options!()),
    "Ranks some members among each other, and on the board.",
    "O(M*log(N)) for M members.",
);

pub const COUNT: Doc = fast_read(
    "rank.count",
    "key [min max]",
    "Counts the members, or those whose first field is within bounds.",
    "O(1), or O(log(N)) with bounds.",
);

pub const FORSCORE: Doc = fast_read(
    "rank.forscore",
    "key score ... [COMPETITION|DENSE|ORDINAL]",
    "Returns the rank that a newcomer with these scores would get.",
    RANK_COST,
);

pub const PERCENTILE: Doc = fast_read(
    "rank.percentile",
    "key member",
    "Returns the share of members, in percent, that are worse than a member.",
    "O(log(N))",
);

pub const SCOREAT: Doc =
    fast_read("rank.scoreat", "key percentile", "Returns the score at a percentile of the board.", "O(log(N))");
