//! Rate limits beside what people write today.

use super::{Against, Comparison, Count, Key, Script, Sizes};
use crate::checks::{both_denied, both_pass, denied, passes, verdict};

/// A thousand logs that are full.
const FULL: Key = Key { create: None, fill: "RATE.CHECK full:$slot 100 1d", count: Count::Exactly(100_000) };
const STRINGS: Key = Key { create: None, fill: "SET string:$slot 100", count: Count::Exactly(1000) };

/// Logs that lose a unit whenever they gain one.
const LONG: Key = Key { create: None, fill: "RATE.CHECK long 10000 10000ms NOW $tick", count: Count::Exactly(10_000) };
const SHORT: Key = Key { create: None, fill: "RATE.CHECK short 100 100ms NOW $tick", count: Count::Exactly(10_000) };

const LONG_FULL: Key = Key { create: None, fill: "RATE.CHECK longfull 10000 1d", count: Count::Exactly(10_000) };

pub const SCRIPTS: &[Script] = &[
    Script {
        name: "sliding",
        text: "redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1",
    },
    Script {
        name: "fixed",
        text: "local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return count <= tonumber(ARGV[1]) and 1 or 0",
    },
];

/// What they have in common: random ones of 100,000 keys.
const LIMITS: Comparison = Comparison {
    name: "",
    against: Against::Today,
    aim: None,
    aimed_at: &[],
    sizes: Sizes::Only(&[100_000]),
    needs: &[],
    ours: "",
    theirs: "",
    pipeline: 200,
    reads_only: false,
    replies: verdict,
    state: None,
};

const LOG_LENGTH: Comparison = Comparison { against: Against::Ourselves, aim: Some(0.667), ..LIMITS };

pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "RATE.CHECK GCRA / INCR",
        against: Against::Core,
        aim: Some(0.5),
        ours: "RATE.CHECK gcra:$key 100 10m GCRA",
        theirs: "INCR counter:$key",
        replies: passes,
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK FIXED / INCR",
        against: Against::Core,
        aim: Some(0.5),
        ours: "RATE.CHECK fixed:incr:$key 100 10m FIXED",
        theirs: "INCR counter:fixed:$key",
        replies: passes,
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK COUNTER / INCR",
        against: Against::Core,
        ours: "RATE.CHECK counter:ours:$key 100 10m COUNTER",
        theirs: "INCR counter:counter:$key",
        replies: passes,
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK SLIDING, denied / GET",
        against: Against::Core,
        aim: Some(0.8),
        needs: &[&FULL, &STRINGS],
        ours: "RATE.CHECK full:$slot 100 1d",
        theirs: "GET string:$slot",
        replies: denied,
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK SLIDING / Lua with a sorted set",
        aim: Some(3.0),
        ours: "RATE.CHECK sliding:$key 100 10m SLIDING",
        theirs: "EVALSHA @sliding 1 sliding:theirs:$key $now 600000 100 $number",
        ..LIMITS
    },
    Comparison {
        // It records denied calls too, since no command of a pipeline sees the count before it.
        name: "RATE.CHECK SLIDING / ZREMRANGEBYSCORE, ZCARD, ZADD, PEXPIRE in a pipeline",
        ours: "RATE.CHECK sliding:too:$key 100 10m SLIDING",
        theirs:
            "ZREMRANGEBYSCORE log:$key 0 $ago ; ZCARD log:$key ; ZADD log:$key $now $number ; PEXPIRE log:$key 600000",
        replies: passes,
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK FIXED / Lua INCR, PEXPIRE",
        aim: Some(2.0),
        ours: "RATE.CHECK fixed:$key 100 10m FIXED",
        theirs: "EVALSHA @fixed 1 fixed:theirs:$key 100 600000",
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK FIXED / INCR, PEXPIRE NX in a pipeline",
        ours: "RATE.CHECK fixed:too:$key 100 10m FIXED",
        theirs: "INCR window:$key ; PEXPIRE window:$key 600000 NX",
        replies: passes,
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK SLIDING, passing, log of 10000 / of 100",
        needs: &[&LONG, &SHORT],
        ours: "RATE.CHECK long 10000 10000ms NOW $tick",
        theirs: "RATE.CHECK short 100 100ms NOW $tick",
        replies: both_pass,
        ..LOG_LENGTH
    },
    Comparison {
        name: "RATE.CHECK SLIDING, denied, log of 10000 / of 100",
        needs: &[&LONG_FULL, &FULL],
        ours: "RATE.CHECK longfull 10000 1d",
        theirs: "RATE.CHECK full:0 100 1d",
        replies: both_denied,
        ..LOG_LENGTH
    },
];
