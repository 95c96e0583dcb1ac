//! Leaderboards beside what people write today, each as its best cached script and, where it exists, as a pipeline.
//!
//! A pipeline is not the same job: other commands may run in between, and no command sees the answer of one before it.
//! It goes without `MULTI`, which would only slow it down.

use super::core::{LARGE, PLAIN};
use super::keys::{CODED, CODED_BY_HAND, INDEXED, INDEXED_BY_HAND, SIMPLE, TIMED, TIMED_BY_HAND};
use super::{Comparison, Count, Key, Script, State};
use crate::checks::{both_answer, rank_and_score, rows, standing};

/// So long that few of the next are among the best 500.
const STREAM: u64 = 30_000;

const BEST: Key =
    Key { count: Count::Exactly(STREAM), ..Key::board("RANK.CREATE best KEEP 500", "RANK.ADD best $score $stranger") };
const BEST_SCRIPT: Key = Key::times(STREAM, "EVALSHA @add_and_trim 1 best:script $score $stranger 500");

pub const SCRIPTS: &[Script] = &[
    (
        "rank",
        "local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score then return false end
return {redis.call('ZCOUNT', KEYS[1], '(' .. score, '+inf') + 1, score}",
    ),
    (
        "incr_with_rank",
        "local score = redis.call('ZSCORE', KEYS[1], ARGV[2])
local before = score and redis.call('ZCOUNT', KEYS[1], '(' .. score, '+inf') + 1
score = redis.call('ZINCRBY', KEYS[1], ARGV[1], ARGV[2])
return {redis.call('ZCOUNT', KEYS[1], '(' .. score, '+inf') + 1, before, score}",
    ),
    (
        "incr_with_position",
        "local before = redis.call('ZREVRANK', KEYS[1], ARGV[2])
local score = redis.call('ZINCRBY', KEYS[1], ARGV[1], ARGV[2])
return {redis.call('ZREVRANK', KEYS[1], ARGV[2]) + 1, before and before + 1, score}",
    ),
    (
        "around",
        "local at = redis.call('ZREVRANK', KEYS[1], ARGV[1])
if not at then return {} end
return redis.call('ZREVRANGE', KEYS[1], math.max(0, at - ARGV[2]), at + ARGV[2], 'WITHSCORES')",
    ),
    (
        "add_and_trim",
        "local added = redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[3])
return added",
    ),
    (
        "add_tuple",
        "local new = struct.pack('>i8>i8', ARGV[2], ARGV[3]) .. ARGV[4]
local old = redis.call('HGET', KEYS[2], ARGV[4])
local added = redis.call('ZADD', KEYS[1], ARGV[1], new)
if old ~= new then
  if old then redis.call('ZREM', KEYS[1], old) end
  redis.call('HSET', KEYS[2], ARGV[4], new)
end
return old and 0 or added",
    ),
    (
        "add_timed",
        "local old = redis.call('HGET', KEYS[2], ARGV[3])
if old and tonumber(redis.call('ZSCORE', KEYS[1], old)) == tonumber(ARGV[1]) then return 0 end
local new = struct.pack('>i8', -ARGV[2]) .. ARGV[3]
if old then redis.call('ZREM', KEYS[1], old) end
redis.call('ZADD', KEYS[1], ARGV[1], new)
redis.call('HSET', KEYS[2], ARGV[3], new)
return old and 0 or 1",
    ),
    (
        // A number of Lua has 53 bits, so all digits are in front of the member.
        "add_wide",
        "local digits = string.rep('0', 19 - #ARGV[1]) .. ARGV[1]
local old = redis.call('HGET', KEYS[2], ARGV[3])
if old and string.sub(old, 1, 19) == digits then return 0 end
local new = digits .. struct.pack('>i8', -ARGV[2]) .. ARGV[3]
if old then redis.call('ZREM', KEYS[1], old) end
redis.call('ZADD', KEYS[1], ARGV[1], new)
redis.call('HSET', KEYS[2], ARGV[3], new)
return old and 0 or 1",
    ),
    (
        "position",
        "local element = redis.call('HGET', KEYS[2], ARGV[1])
return element and redis.call('ZREVRANK', KEYS[1], element)",
    ),
];

const SCRIPT: Comparison = Comparison { topic: "scripts", ..PLAIN };
const PIPELINE: Comparison = Comparison { topic: "pipelines", replies: both_answer, ..PLAIN };

/// A script counts what it adds and removes at once: replies differ, boards do not.
const BY_HAND: Comparison = Comparison { is_listened_to: true, state: None, ..SCRIPT };

pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "RANK.GET",
        beside: "Lua: ZSCORE, ZCOUNT",
        sizes: LARGE,
        ours: "RANK.GET ours $member",
        theirs: "EVALSHA @rank 1 theirs $member",
        reads_only: true,
        replies: rank_and_score,
        ..SCRIPT
    },
    Comparison {
        name: "RANK.GET, three INT",
        beside: "Lua: HGET, ZREVRANK",
        needs: &[&CODED, &CODED_BY_HAND],
        ours: "RANK.GET coded $member",
        theirs: "EVALSHA @position 2 hand hand:members $member",
        reads_only: true,
        replies: both_answer,
        state: None,
        ..SCRIPT
    },
    Comparison {
        name: "RANK.INCR WITHRANK",
        beside: "Lua: ZSCORE, ZCOUNT, ZINCRBY, ZCOUNT",
        sizes: LARGE,
        is_listened_to: true,
        ours: "RANK.INCR ours WITHRANK $delta $member",
        theirs: "EVALSHA @incr_with_rank 1 theirs $delta $member",
        replies: standing,
        ..SCRIPT
    },
    Comparison {
        // Positions differ from ranks where scores are equal: less than what is asked for, and what many make do with.
        name: "RANK.INCR WITHRANK",
        beside: "Lua: ZREVRANK, ZINCRBY, ZREVRANK",
        ours: "RANK.INCR ours WITHRANK $delta $member",
        theirs: "EVALSHA @incr_with_position 1 theirs $delta $member",
        replies: both_answer,
        ..SCRIPT
    },
    Comparison {
        name: "RANK.AROUND 5",
        beside: "Lua: ZREVRANK, ZREVRANGE",
        sizes: LARGE,
        ours: "RANK.AROUND ours $member 5",
        theirs: "EVALSHA @around 1 theirs $member 5",
        pipeline: 50,
        reads_only: true,
        replies: rows,
        ..SCRIPT
    },
    Comparison {
        name: "RANK.ADD, three INT",
        beside: "Lua: HGET, ZADD, ZREM, HSET",
        needs: &[&CODED, &CODED_BY_HAND],
        ours: "RANK.ADD coded $low $low $low $member",
        theirs: "EVALSHA @add_tuple 2 hand hand:members $low $low $low $member",
        ..BY_HAND
    },
    Comparison {
        name: "RANK.ADD, FLOAT with TIES FIRST",
        beside: "Lua: HGET, ZSCORE, ZREM, ZADD, HSET",
        needs: &[&TIMED, &TIMED_BY_HAND],
        ours: "RANK.ADD timed $points $member",
        theirs: "EVALSHA @add_timed 2 clock clock:members $points $now $member",
        ..BY_HAND
    },
    Comparison {
        name: "RANK.ADD, index entry (63-bit INT, TIES FIRST)",
        beside: "Lua: HGET, ZREM, ZADD, HSET",
        needs: &[&INDEXED, &INDEXED_BY_HAND],
        ours: "RANK.ADD indexed $wide $member",
        theirs: "EVALSHA @add_wide 2 wide wide:members $wide $now $member",
        ..BY_HAND
    },
    Comparison {
        name: "RANK.ADD, KEEP 500, of a stream",
        beside: "Lua: ZADD, ZREMRANGEBYRANK",
        is_listened_to: true,
        needs: &[&BEST, &BEST_SCRIPT],
        ours: "RANK.ADD best $score $stranger",
        theirs: "EVALSHA @add_and_trim 1 best:script $score $stranger 500",
        replies: both_answer,
        state: Some(State { ours: "RANK.TOPN best 500", theirs: "ZREVRANGE best:script 0 -1 WITHSCORES", same: rows }),
        ..SCRIPT
    },
    Comparison {
        // A client must wait for the first answer before it can ask for the second: here it is spared that.
        name: "RANK.GET",
        beside: "ZSCORE, ZCOUNT",
        ours: "RANK.GET ours $member",
        theirs: "ZSCORE theirs $member ; ZCOUNT theirs ($score +inf",
        reads_only: true,
        ..PIPELINE
    },
    Comparison {
        name: "RANK.INCR WITHRANK",
        beside: "ZREVRANK, ZINCRBY, ZREVRANK",
        ours: "RANK.INCR ours WITHRANK $delta $member",
        theirs: "ZREVRANK theirs $member ; ZINCRBY theirs $delta $member ; ZREVRANK theirs $member",
        ..PIPELINE
    },
    Comparison {
        name: "RANK.ADD, three INT",
        beside: "HSET, ZADD (ties by name)",
        needs: &[&CODED, &SIMPLE],
        ours: "RANK.ADD coded $low $low $low $member",
        theirs: "HSET simple:more $member 123456789,$score ; ZADD simple $score $member",
        state: None,
        ..PIPELINE
    },
];
