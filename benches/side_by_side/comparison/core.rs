//! Leaderboards beside the core commands on sorted sets, and beside other boards of ours: what a choice costs.

use super::keys::{CODED, INDEXED, OURS, PACKED, SORTED, THEIRS, THOUSAND, TIED, TIMED};
use super::{Comparison, Key, State};
use crate::checks::{both_answer, equal, groups, rows, same_position};

/// The first is small enough for the compact encoding of sorted sets.
const EVERY_SIZE: &[u64] = &[100, 100_000, 1_000_000];
pub const LARGE: &[u64] = &[100_000, 1_000_000];
const ONE_SIZE: &[u64] = &[100_000];

const SAME_TOP: Option<State> =
    Some(State { ours: "RANK.TOPN ours 1000", theirs: "ZREVRANGE theirs 0 999 WITHSCORES", same: rows });

/// What most comparisons have in common: a pair of equal sorted sets.
pub const PLAIN: Comparison = Comparison {
    topic: "core",
    name: "",
    beside: "",
    sizes: ONE_SIZE,
    is_listened_to: false,
    needs: &[&OURS, &THEIRS],
    ours: "",
    theirs: "",
    pipeline: 200,
    reads_only: false,
    replies: equal,
    state: SAME_TOP,
};

const WRITE: Comparison = Comparison { sizes: EVERY_SIZE, is_listened_to: true, ..PLAIN };
const READ: Comparison = Comparison { sizes: LARGE, reads_only: true, ..PLAIN };
const OTHER_BOARD: Comparison =
    Comparison { beside: "ZADD", theirs: "ZADD sorted $score $member", state: None, ..WRITE };
const SMALL: &[u64] = &[100, 100_000];
const WHOLE_BOARD: Comparison =
    Comparison { beside: "ZREVRANGE 0 -1 WITHSCORES", pipeline: 1, reads_only: true, replies: groups, ..PLAIN };

const CHOICE: Comparison = Comparison { topic: "choice", replies: both_answer, state: None, ..PLAIN };
const GET: Comparison =
    Comparison { beside: "without a schema", theirs: "RANK.GET ours $member", reads_only: true, ..CHOICE };

const FED: Key = Key::board(
    "RANK.CREATE fed PERIOD DAY fed:day: PERIOD WEEK fed:week: PERIOD MONTH fed:month:",
    "RANK.ADD fed $score $each",
);
const APART: [Key; 4] = [
    Key::board("RANK.CREATE apart:all DESC", "RANK.ADD apart:all $score $each"),
    Key::board("RANK.CREATE apart:day DESC", "RANK.ADD apart:day $score $each"),
    Key::board("RANK.CREATE apart:week DESC", "RANK.ADD apart:week $score $each"),
    Key::board("RANK.CREATE apart:month DESC", "RANK.ADD apart:month $score $each"),
];

pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "RANK.ADD",
        beside: "ZADD",
        ours: "RANK.ADD ours $score $member",
        theirs: "ZADD theirs $score $member",
        ..WRITE
    },
    Comparison {
        name: "RANK.INCR",
        beside: "ZINCRBY",
        ours: "RANK.INCR ours $delta $member",
        theirs: "ZINCRBY theirs $delta $member",
        ..WRITE
    },
    Comparison {
        name: "RANK.ADD, DIGITS 7 and 6",
        sizes: SMALL,
        needs: &[&PACKED, &SORTED],
        ours: "RANK.ADD packed $bits20 $tied $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "RANK.ADD, three INT",
        needs: &[&CODED, &SORTED],
        ours: "RANK.ADD coded $low $low $low $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "RANK.ADD, FLOAT with TIES FIRST",
        sizes: SMALL,
        needs: &[&TIMED, &SORTED],
        ours: "RANK.ADD timed $points $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "RANK.ADD, index entry (63-bit INT, TIES FIRST)",
        sizes: SMALL,
        needs: &[&INDEXED, &SORTED],
        ours: "RANK.ADD indexed $wide $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "RANK.SCORE",
        beside: "ZSCORE",
        ours: "RANK.SCORE ours $member",
        theirs: "ZSCORE theirs $member",
        ..READ
    },
    Comparison {
        // Half of our answer: no score, and equals have different ranks.
        name: "RANK.GET",
        beside: "ZREVRANK",
        ours: "RANK.GET ours $member",
        theirs: "ZREVRANK theirs $member",
        replies: same_position,
        ..READ
    },
    Comparison {
        name: "RANK.TOPN 100",
        beside: "ZREVRANGE 0 99 WITHSCORES",
        sizes: ONE_SIZE,
        ours: "RANK.TOPN ours 100",
        theirs: "ZREVRANGE theirs 0 99 WITHSCORES",
        pipeline: 20,
        replies: rows,
        ..READ
    },
    Comparison {
        name: "RANK.STATS JSON, distinct scores",
        ours: "RANK.STATS ours JSON",
        theirs: "ZREVRANGE theirs 0 -1 WITHSCORES",
        ..WHOLE_BOARD
    },
    Comparison {
        name: "RANK.STATS JSON, 1,000 scores",
        needs: &[&THOUSAND],
        ours: "RANK.STATS thousand JSON",
        theirs: "ZREVRANGE thousand 0 -1 WITHSCORES",
        state: None,
        ..WHOLE_BOARD
    },
    Comparison { name: "RANK.GET, three INT", needs: &[&CODED, &OURS], ours: "RANK.GET coded $member", ..GET },
    Comparison {
        name: "RANK.GET, FLOAT with TIES FIRST",
        needs: &[&TIMED, &OURS],
        ours: "RANK.GET timed $member",
        ..GET
    },
    Comparison {
        name: "RANK.GET COMPETITION, TIES FIRST, 1,000 scores",
        needs: &[&TIED, &OURS],
        ours: "RANK.GET tied $member COMPETITION",
        ..GET
    },
    Comparison { name: "RANK.GET, index entry", needs: &[&INDEXED, &OURS], ours: "RANK.GET indexed $member", ..GET },
    Comparison {
        name: "RANK.ADD with 3 periods",
        beside: "4 times RANK.ADD",
        needs: &[&FED, &APART[0], &APART[1], &APART[2], &APART[3]],
        ours: "RANK.ADD fed $score $member",
        theirs: "RANK.ADD apart:all $score $member ; RANK.ADD apart:day $score $member ; \
                 RANK.ADD apart:week $score $member ; RANK.ADD apart:month $score $member",
        pipeline: 25,
        ..CHOICE
    },
];
