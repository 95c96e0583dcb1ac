//! Leaderboards beside the core commands on sorted sets.

use super::keys::{OURS, PACKED, PACKED63, SCHEMA, SORTED, SPILLED, THEIRS, THOUSAND, TIED, TIMED};
use super::{Comparison, Sizes, State, Topic};
use crate::checks::{both_answer, equal, groups, rows};

const SAME_TOP: Option<State> =
    Some(State { ours: "RANK.TOPN ours 1000", theirs: "ZREVRANGE theirs 0 999 WITHSCORES", same: rows });

/// What most comparisons have in common: a pair of equal sorted sets.
pub const PLAIN: Comparison = Comparison {
    name: "",
    topic: Topic::Core,
    sizes: Sizes::All,
    is_listened_to: false,
    needs: &[&OURS, &THEIRS],
    ours: "",
    theirs: "",
    pipeline: 200,
    reads_only: false,
    replies: equal,
    state: SAME_TOP,
};

const OTHER_BOARD: Comparison =
    Comparison { is_listened_to: true, theirs: "ZADD sorted $score $member", state: None, ..PLAIN };

const WHOLE_BOARD: Comparison =
    Comparison { sizes: Sizes::Only(&[100_000]), pipeline: 1, reads_only: true, replies: groups, ..PLAIN };

/// What another layout costs.
const GET_PLAIN: Comparison = Comparison {
    topic: Topic::Ourselves,
    theirs: "RANK.GET ours $member",
    reads_only: true,
    replies: both_answer,
    state: None,
    ..PLAIN
};

pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "RANK.ADD / ZADD",
        is_listened_to: true,
        ours: "RANK.ADD ours $score $member",
        theirs: "ZADD theirs $score $member",
        ..PLAIN
    },
    Comparison {
        name: "RANK.INCR / ZINCRBY",
        is_listened_to: true,
        ours: "RANK.INCR ours $delta $member",
        theirs: "ZINCRBY theirs $delta $member",
        ..PLAIN
    },
    Comparison {
        name: "RANK.TOPN 100 / ZREVRANGE 0 99 WITHSCORES",
        ours: "RANK.TOPN ours 100",
        theirs: "ZREVRANGE theirs 0 99 WITHSCORES",
        pipeline: 20,
        reads_only: true,
        replies: rows,
        ..PLAIN
    },
    Comparison {
        name: "RANK.SCORE / ZSCORE",
        ours: "RANK.SCORE ours $member",
        theirs: "ZSCORE theirs $member",
        reads_only: true,
        ..PLAIN
    },
    Comparison {
        name: "RANK.ADD with a schema / ZADD",
        needs: &[&SCHEMA, &SORTED],
        ours: "RANK.ADD schema $score $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "packed: RANK.ADD, DIGITS 7 and 6 / ZADD",
        needs: &[&PACKED, &SORTED],
        ours: "RANK.ADD packed $bits20 $tied $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "packed63: RANK.ADD, three BITS 20 / ZADD",
        needs: &[&PACKED63, &SORTED],
        ours: "RANK.ADD packed63 $bits20 $bits20 $bits20 $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "spilled: RANK.ADD, three INT / ZADD",
        needs: &[&SPILLED, &SORTED],
        ours: "RANK.ADD spilled $score $score $score $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "spilled: RANK.ADD, FLOAT with TIES FIRST / ZADD",
        needs: &[&TIMED, &SORTED],
        ours: "RANK.ADD timed $score $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "RANK.STATS JSON, 100k members, distinct scores / ZREVRANGE 0 -1",
        ours: "RANK.STATS ours JSON",
        theirs: "ZREVRANGE theirs 0 -1 WITHSCORES",
        ..WHOLE_BOARD
    },
    Comparison {
        name: "RANK.STATS JSON, 100k members, 1000 scores / ZREVRANGE 0 -1",
        needs: &[&THOUSAND],
        ours: "RANK.STATS thousand JSON",
        theirs: "ZREVRANGE thousand 0 -1 WITHSCORES",
        state: None,
        ..WHOLE_BOARD
    },
    Comparison {
        name: "spilled: RANK.GET / RANK.GET plain",
        needs: &[&SPILLED, &OURS],
        ours: "RANK.GET spilled $member",
        ..GET_PLAIN
    },
    Comparison {
        name: "spilled, 1000 first scores: RANK.GET / RANK.GET plain",
        needs: &[&TIED, &OURS],
        ours: "RANK.GET tied $member",
        ..GET_PLAIN
    },
];
