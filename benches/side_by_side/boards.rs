//! Leaderboards beside sorted sets.

use crate::checks::{both_answer, both_rank, equal, groups, rank_and_score, rows, standing};
use crate::comparison::{Comparison, Count, Key, Memory, Scale, Script, State};

/// A sorted set without a schema, twice: one for each side.
const OURS: Key = Key { create: None, fill: "ZADD ours $score $each", count: Count::Members };
const THEIRS: Key = Key { create: None, fill: "ZADD theirs $score $each", count: Count::Members };

/// The same with a schema.
const SCHEMA: Key =
    Key { create: Some("RANK.CREATE schema DESC"), fill: "RANK.ADD schema $score $each", count: Count::Members };

const PACKED: Key = Key {
    create: Some("RANK.CREATE packed FIELD a DIGITS 7 FIELD b DIGITS 6"),
    fill: "RANK.ADD packed $bits20 $tied $each",
    count: Count::Members,
};
const PACKED63: Key = Key {
    create: Some("RANK.CREATE packed63 FIELD a BITS 20 FIELD b BITS 20 FIELD c BITS 20"),
    fill: "RANK.ADD packed63 $bits20 $bits20 $bits20 $each",
    count: Count::Members,
};
const SPILLED: Key = Key {
    create: Some("RANK.CREATE spilled FIELD a INT FIELD b INT FIELD c INT"),
    fill: "RANK.ADD spilled $score $score $score $each",
    count: Count::Members,
};
/// A thousand values of the first field: large groups that only the spilled bytes tell apart.
const TIED: Key = Key {
    create: Some("RANK.CREATE tied FIELD a INT FIELD b INT FIELD c INT"),
    fill: "RANK.ADD tied $tied $score $score $each",
    count: Count::Members,
};
/// What a script would keep instead of a spilled board: the same sorted set, the same hash.
const BY_HAND: Key = Key {
    create: None,
    fill: "EVALSHA @add_tuple 2 hand hand:members $score $score $score $each",
    count: Count::Members,
};
/// What is simpler, and does not order ties: the first score in a sorted set, the others in a hash.
const SIMPLE: Key = Key {
    create: None,
    fill: "EVALSHA @add_hash 2 simple simple:more $score $score $score $each",
    count: Count::Members,
};

const BEST_OURS: Key = Key {
    create: Some("RANK.CREATE best KEEP 500"),
    fill: "RANK.ADD best $score $stranger",
    count: Count::Exactly(100_000),
};
const BEST_THEIRS: Key = Key {
    create: None,
    fill: "EVALSHA @add_and_trim 1 best:theirs $score $stranger 500",
    count: Count::Exactly(100_000),
};
const THOUSAND_SCORES: Key = Key { create: None, fill: "ZADD thousand $tied $each", count: Count::Members };

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
        text: "redis.call('HSET', KEYS[2], ARGV[4], ARGV[2] .. ' ' .. ARGV[3])
return redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])",
    },
];

const SAME_TOP: Option<State> =
    Some(State { ours: "RANK.TOPN ours 1000", theirs: "ZREVRANGE theirs 0 999 WITHSCORES", same: rows });

/// What most comparisons have in common: a pair of equal sorted sets.
const PLAIN: Comparison = Comparison {
    name: "",
    target: None,
    scale: Scale::Growing,
    needs: &[&OURS, &THEIRS],
    ours: "",
    theirs: "",
    pipeline: 200,
    replies: equal,
    state: SAME_TOP,
};

pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "RANK.ADD / ZADD",
        target: Some(0.95),
        ours: "RANK.ADD ours $score $member",
        theirs: "ZADD theirs $score $member",
        ..PLAIN
    },
    Comparison {
        name: "RANK.INCR / ZINCRBY",
        target: Some(0.95),
        ours: "RANK.INCR ours $delta $member",
        theirs: "ZINCRBY theirs $delta $member",
        ..PLAIN
    },
    Comparison {
        name: "RANK.GET / Lua ZSCORE, ZCOUNT",
        target: Some(2.2),
        ours: "RANK.GET ours $member",
        theirs: "EVALSHA @rank 1 theirs $member",
        replies: rank_and_score,
        ..PLAIN
    },
    Comparison {
        name: "RANK.INCR WITHRANK / Lua ZSCORE, ZCOUNT, ZINCRBY, ZCOUNT",
        target: Some(2.0),
        ours: "RANK.INCR ours WITHRANK $delta $member",
        theirs: "EVALSHA @incr_with_rank 1 theirs $delta $member",
        replies: standing,
        ..PLAIN
    },
    Comparison {
        name: "RANK.INCR WITHRANK / Lua ZREVRANK, ZINCRBY, ZREVRANK",
        target: Some(2.0),
        ours: "RANK.INCR ours WITHRANK $delta $member",
        theirs: "EVALSHA @incr_with_position 1 theirs $delta $member",
        // Positions differ from ranks where scores are equal.
        replies: both_answer,
        ..PLAIN
    },
    Comparison {
        name: "RANK.TOPN 100 / ZREVRANGE 0 99 WITHSCORES",
        target: Some(0.8),
        ours: "RANK.TOPN ours 100",
        theirs: "ZREVRANGE theirs 0 99 WITHSCORES",
        pipeline: 20,
        replies: rows,
        ..PLAIN
    },
    Comparison {
        name: "RANK.ADD with a schema / ZADD",
        needs: &[&SCHEMA, &THEIRS],
        ours: "RANK.ADD schema $score $member",
        theirs: "ZADD theirs $score $member",
        state: None,
        ..PLAIN
    },
    Comparison {
        name: "packed: RANK.ADD, DIGITS 7 and 6 / ZADD",
        needs: &[&PACKED, &THEIRS],
        ours: "RANK.ADD packed $bits20 $tied $member",
        theirs: "ZADD theirs $score $member",
        state: None,
        ..PLAIN
    },
    Comparison {
        name: "packed63: RANK.ADD, three BITS 20 / ZADD",
        target: Some(0.9),
        needs: &[&PACKED63, &THEIRS],
        ours: "RANK.ADD packed63 $bits20 $bits20 $bits20 $member",
        theirs: "ZADD theirs $score $member",
        state: None,
        ..PLAIN
    },
    Comparison {
        name: "packed: RANK.GET / Lua ZSCORE, ZCOUNT",
        target: Some(2.0),
        needs: &[&PACKED, &THEIRS],
        ours: "RANK.GET packed $member",
        theirs: "EVALSHA @rank 1 theirs $member",
        replies: both_rank,
        state: None,
        ..PLAIN
    },
    Comparison {
        name: "packed63: RANK.GET / Lua ZSCORE, ZCOUNT",
        target: Some(2.0),
        needs: &[&PACKED63, &THEIRS],
        ours: "RANK.GET packed63 $member",
        theirs: "EVALSHA @rank 1 theirs $member",
        replies: both_rank,
        state: None,
        ..PLAIN
    },
    Comparison {
        name: "spilled: RANK.ADD, three INT / ZADD",
        target: Some(0.65),
        needs: &[&SPILLED, &THEIRS],
        ours: "RANK.ADD spilled $score $score $score $member",
        theirs: "ZADD theirs $score $member",
        state: None,
        ..PLAIN
    },
    Comparison {
        name: "spilled: RANK.ADD, three INT / Lua, the same by hand",
        target: Some(2.0),
        needs: &[&SPILLED, &BY_HAND],
        ours: "RANK.ADD spilled $score $score $score $member",
        theirs: "EVALSHA @add_tuple 2 hand hand:members $score $score $score $member",
        state: None,
        ..PLAIN
    },
    Comparison {
        name: "spilled: RANK.ADD, three INT / Lua HSET, ZADD (no ties)",
        needs: &[&SPILLED, &SIMPLE],
        ours: "RANK.ADD spilled $score $score $score $member",
        theirs: "EVALSHA @add_hash 2 simple simple:more $score $score $score $member",
        state: None,
        ..PLAIN
    },
    Comparison {
        name: "spilled: RANK.GET / RANK.GET plain",
        target: Some(0.6),
        needs: &[&SPILLED, &OURS],
        ours: "RANK.GET spilled $member",
        theirs: "RANK.GET ours $member",
        replies: both_answer,
        state: None,
        ..PLAIN
    },
    Comparison {
        name: "spilled, 1000 first scores: RANK.GET / RANK.GET plain",
        target: Some(0.6),
        needs: &[&TIED, &OURS],
        ours: "RANK.GET tied $member",
        theirs: "RANK.GET ours $member",
        replies: both_answer,
        state: None,
        ..PLAIN
    },
    Comparison {
        name: "KEEP 500: RANK.ADD / Lua ZADD, ZREMRANGEBYRANK",
        target: Some(4.0),
        scale: Scale::Fixed,
        needs: &[&BEST_OURS, &BEST_THEIRS],
        ours: "RANK.ADD best $score $stranger",
        theirs: "EVALSHA @add_and_trim 1 best:theirs $score $stranger 500",
        // A script counts what it adds and removes at once.
        replies: both_answer,
        state: Some(State { ours: "RANK.TOPN best 500", theirs: "ZREVRANGE best:theirs 0 -1 WITHSCORES", same: rows }),
        ..PLAIN
    },
    Comparison {
        name: "RANK.STATS JSON, 100k members, distinct / ZREVRANGE 0 -1",
        target: Some(0.667),
        scale: Scale::Fixed,
        ours: "RANK.STATS ours JSON",
        theirs: "ZREVRANGE theirs 0 -1 WITHSCORES",
        pipeline: 1,
        replies: groups,
        ..PLAIN
    },
    Comparison {
        name: "RANK.STATS JSON, 100k members, 1000 scores / ZREVRANGE 0 -1",
        target: Some(0.667),
        scale: Scale::Fixed,
        needs: &[&THOUSAND_SCORES],
        ours: "RANK.STATS thousand JSON",
        theirs: "ZREVRANGE thousand 0 -1 WITHSCORES",
        pipeline: 1,
        replies: groups,
        state: None,
    },
];

pub const MEMORY: &[Memory] = &[
    Memory {
        name: "memory: packed63 / sorted set",
        target: Some(1.05),
        needs: &[&PACKED63, &THEIRS],
        ours: &["packed63"],
        theirs: &["theirs"],
    },
    Memory {
        name: "memory: spilled and its hash / sorted set and hash by hand",
        target: None,
        needs: &[&SPILLED, &BY_HAND],
        ours: &["spilled", "rank:members:{spilled}"],
        theirs: &["hand", "hand:members"],
    },
];
