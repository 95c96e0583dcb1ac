//! Leaderboards beside the core commands on sorted sets.

use super::keys::{CODED, IRREGULAR, OURS, OVERFLOWING, PACKED, SCHEMA, SORTED, THEIRS, THOUSAND, TIED, TIMED};
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

const ADD: Comparison = Comparison {
    name: "RANK.ADD / ZADD",
    is_listened_to: true,
    ours: "RANK.ADD ours $score $member",
    theirs: "ZADD theirs $score $member",
    ..PLAIN
};

/// Small enough for the compact encoding of sorted sets.
const SMALL: &[u64] = &[50, 100];

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
    ADD,
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
        name: "coded: RANK.ADD, three INT / ZADD",
        needs: &[&CODED, &SORTED],
        ours: "RANK.ADD coded $low $low $low $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "coded: RANK.ADD, FLOAT with TIES FIRST / ZADD",
        needs: &[&TIMED, &SORTED],
        ours: "RANK.ADD timed $points $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "coded, one entry: RANK.ADD, INT of 63 bits with TIES FIRST / ZADD",
        needs: &[&OVERFLOWING, &SORTED],
        ours: "RANK.ADD overflowing $wide $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "coded, one entry: RANK.ADD, irregular FLOAT with TIES FIRST / ZADD",
        needs: &[&IRREGULAR, &SORTED],
        ours: "RANK.ADD irregular 0.$wide $member",
        ..OTHER_BOARD
    },
    Comparison { name: "small board, plain: RANK.ADD / ZADD", sizes: Sizes::Only(SMALL), ..ADD },
    Comparison {
        name: "small board, coded: RANK.ADD, three INT / ZADD",
        sizes: Sizes::Only(SMALL),
        needs: &[&CODED, &SORTED],
        ours: "RANK.ADD coded $low $low $low $member",
        ..OTHER_BOARD
    },
    Comparison {
        name: "small board, coded: RANK.ADD, FLOAT with TIES FIRST / ZADD",
        sizes: Sizes::Only(SMALL),
        needs: &[&TIMED, &SORTED],
        ours: "RANK.ADD timed $points $member",
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
        name: "coded: RANK.GET, three INT / RANK.GET plain",
        needs: &[&CODED, &OURS],
        ours: "RANK.GET coded $member",
        ..GET_PLAIN
    },
    Comparison {
        name: "coded: RANK.GET, FLOAT with TIES FIRST / RANK.GET plain",
        needs: &[&TIMED, &OURS],
        ours: "RANK.GET timed $member",
        ..GET_PLAIN
    },
    Comparison {
        name: "coded, 1000 scores: RANK.GET COMPETITION / RANK.GET plain",
        needs: &[&TIED, &OURS],
        ours: "RANK.GET tied $member COMPETITION",
        ..GET_PLAIN
    },
    Comparison {
        name: "coded, one entry: RANK.GET / RANK.GET plain",
        needs: &[&OVERFLOWING, &OURS],
        ours: "RANK.GET overflowing $member",
        ..GET_PLAIN
    },
];
