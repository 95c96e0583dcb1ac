//! Leaderboards beside what people write today, each as its best cached script and, where it exists, as a pipeline.
//!
//! A pipeline is not the same job: other commands may run in between, and no command sees the answer of one before it.
//! It goes without `MULTI`, which would only slow it down.

use super::core::PLAIN;
use super::keys::{BY_HAND, CODED, PACKED, SIMPLE, THEIRS};
use super::{Comparison, Count, Key, Script, Sizes, State, Topic};
use crate::checks::{both_answer, both_rank, rank_and_score, rows, standing};

/// So long that few of the next are among the best 500.
const STREAM_LENGTH: u64 = 30_000;

const BEST_OURS: Key = Key {
    create: Some("RANK.CREATE best KEEP 500"),
    fill: "RANK.ADD best $score $stranger",
    count: Count::Exactly(STREAM_LENGTH),
};
const BEST_SCRIPT: Key = Key {
    create: None,
    fill: "EVALSHA @add_and_trim 1 best:script $score $stranger 500",
    count: Count::Exactly(STREAM_LENGTH),
};
/// A board of its own for each comparison: both sides must have seen the same stream.
const BEST_OURS_TOO: Key = Key {
    create: Some("RANK.CREATE best2 KEEP 500"),
    fill: "RANK.ADD best2 $score $stranger",
    count: Count::Exactly(STREAM_LENGTH),
};
const BEST_PIPELINE: Key = Key {
    create: None,
    fill: "ZADD best:pipeline $score $stranger ; ZREMRANGEBYRANK best:pipeline 0 -501",
    count: Count::Exactly(STREAM_LENGTH),
};

pub const SCRIPTS: &[Script] = &[
    Script {
        name: "rank",
        text: "local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score then return false end
return {redis.call('ZCOUNT', KEYS[1], '(' .. score, '+inf') + 1, score}",
    },
    Script {
        name: "incr_with_rank",
        text: "local score = redis.call('ZSCORE', KEYS[1], ARGV[2])
local before = score and redis.call('ZCOUNT', KEYS[1], '(' .. score, '+inf') + 1
score = redis.call('ZINCRBY', KEYS[1], ARGV[1], ARGV[2])
return {redis.call('ZCOUNT', KEYS[1], '(' .. score, '+inf') + 1, before, score}",
    },
    Script {
        name: "incr_with_position",
        text: "local before = redis.call('ZREVRANK', KEYS[1], ARGV[2])
local score = redis.call('ZINCRBY', KEYS[1], ARGV[1], ARGV[2])
return {redis.call('ZREVRANK', KEYS[1], ARGV[2]) + 1, before and before + 1, score}",
    },
    Script {
        name: "around",
        text: "local at = redis.call('ZREVRANK', KEYS[1], ARGV[1])
if not at then return {} end
return redis.call('ZREVRANGE', KEYS[1], math.max(0, at - ARGV[2]), at + ARGV[2], 'WITHSCORES')",
    },
    Script {
        name: "add_and_trim",
        text: "local added = redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[3])
return added",
    },
    Script {
        name: "add_tuple",
        text: "local new = struct.pack('>i8>i8', ARGV[2], ARGV[3]) .. ARGV[4]
local old = redis.call('HGET', KEYS[2], ARGV[4])
local added = redis.call('ZADD', KEYS[1], ARGV[1], new)
if old ~= new then
  if old then redis.call('ZREM', KEYS[1], old) end
  redis.call('HSET', KEYS[2], ARGV[4], new)
end
return old and 0 or added",
    },
    Script {
        name: "add_hash",
        text: "redis.call('HSET', KEYS[2], ARGV[4], ARGV[2] .. ',' .. ARGV[3])
return redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])",
    },
];

const TODAY: Comparison = Comparison { topic: Topic::Scripts, ..PLAIN };

const RANK: Comparison =
    Comparison { theirs: "EVALSHA @rank 1 theirs $member", reads_only: true, replies: both_rank, state: None, ..TODAY };

const INCR: Comparison = Comparison { is_listened_to: true, ours: "RANK.INCR ours WITHRANK $delta $member", ..TODAY };

const SEVERAL_SCORES: Comparison =
    Comparison { is_listened_to: true, ours: "RANK.ADD coded $low $low $low $member", state: None, ..TODAY };

/// A script, or a pipeline, counts what it adds and removes at once: replies differ, boards do not.
const STREAM: Comparison =
    Comparison { is_listened_to: true, sizes: Sizes::Only(&[100_000]), replies: both_answer, ..TODAY };

pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "RANK.GET / Lua ZSCORE, ZCOUNT",
        ours: "RANK.GET ours $member",
        replies: rank_and_score,
        ..RANK
    },
    Comparison {
        // A client must wait for the first answer before it can ask for the second: here it is spared that.
        name: "RANK.GET / ZSCORE, ZCOUNT in a pipeline",
        ours: "RANK.GET ours $member",
        theirs: "ZSCORE theirs $member ; ZCOUNT theirs ($score +inf",
        replies: both_answer,
        ..RANK
    },
    Comparison {
        // Half of the answer, by the core itself: as near as anything that looks up a rank can come.
        name: "for scale: the core's ZREVRANK alone / Lua ZSCORE, ZCOUNT",
        ours: "ZREVRANK ours $member",
        replies: both_answer,
        ..RANK
    },
    Comparison {
        name: "packed: RANK.GET / Lua ZSCORE, ZCOUNT",
        needs: &[&PACKED, &THEIRS],
        ours: "RANK.GET packed $member",
        ..RANK
    },
    Comparison {
        name: "RANK.INCR WITHRANK / Lua ZSCORE, ZCOUNT, ZINCRBY, ZCOUNT",
        theirs: "EVALSHA @incr_with_rank 1 theirs $delta $member",
        replies: standing,
        ..INCR
    },
    Comparison {
        // Positions differ from ranks where scores are equal: less than what is asked for, and what many make do with.
        name: "RANK.INCR WITHRANK / Lua ZREVRANK, ZINCRBY, ZREVRANK",
        theirs: "EVALSHA @incr_with_position 1 theirs $delta $member",
        replies: both_answer,
        ..INCR
    },
    Comparison {
        name: "RANK.INCR WITHRANK / ZREVRANK, ZINCRBY, ZREVRANK in a pipeline",
        theirs: "ZREVRANK theirs $member ; ZINCRBY theirs $delta $member ; ZREVRANK theirs $member",
        replies: both_answer,
        ..INCR
    },
    Comparison {
        name: "RANK.AROUND 5 / Lua ZREVRANK, ZREVRANGE",
        ours: "RANK.AROUND ours $member 5",
        theirs: "EVALSHA @around 1 theirs $member 5",
        pipeline: 50,
        reads_only: true,
        replies: rows,
        ..TODAY
    },
    Comparison {
        name: "coded: RANK.ADD, three INT / Lua, the same by hand",
        needs: &[&CODED, &BY_HAND],
        theirs: "EVALSHA @add_tuple 2 hand hand:members $low $low $low $member",
        ..SEVERAL_SCORES
    },
    Comparison {
        name: "coded: RANK.ADD, three INT / Lua HSET, ZADD (ties by name)",
        needs: &[&CODED, &SIMPLE],
        theirs: "EVALSHA @add_hash 2 simple simple:more $low $low $low $member",
        ..SEVERAL_SCORES
    },
    Comparison {
        name: "coded: RANK.ADD, three INT / HSET, ZADD in a pipeline (ties by name)",
        needs: &[&CODED, &SIMPLE],
        theirs: "HSET simple:more $member 123456789,$score ; ZADD simple $score $member",
        replies: both_answer,
        ..SEVERAL_SCORES
    },
    Comparison {
        name: "a stream into KEEP 500: RANK.ADD / Lua ZADD, ZREMRANGEBYRANK",
        needs: &[&BEST_OURS, &BEST_SCRIPT],
        ours: "RANK.ADD best $score $stranger",
        theirs: "EVALSHA @add_and_trim 1 best:script $score $stranger 500",
        state: Some(State { ours: "RANK.TOPN best 500", theirs: "ZREVRANGE best:script 0 -1 WITHSCORES", same: rows }),
        ..STREAM
    },
    Comparison {
        name: "a stream into KEEP 500: RANK.ADD / ZADD, ZREMRANGEBYRANK in a pipeline",
        needs: &[&BEST_OURS_TOO, &BEST_PIPELINE],
        ours: "RANK.ADD best2 $score $stranger",
        theirs: "ZADD best:pipeline $score $stranger ; ZREMRANGEBYRANK best:pipeline 0 -501",
        state: Some(State {
            ours: "RANK.TOPN best2 500",
            theirs: "ZREVRANGE best:pipeline 0 -1 WITHSCORES",
            same: rows,
        }),
        ..STREAM
    },
];
