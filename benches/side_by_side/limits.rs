//! Rate limits beside what people write today.

use crate::checks::{both_denied, both_pass, denied, passes, verdict};
use crate::comparison::{Comparison, Count, Key, Scale, Script};

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
    target: None,
    scale: Scale::Fixed,
    needs: &[],
    ours: "",
    theirs: "",
    pipeline: 200,
    replies: verdict,
    state: None,
};

pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "RATE.CHECK SLIDING / Lua with a sorted set",
        target: Some(3.0),
        ours: "RATE.CHECK sliding:$key 100 10m SLIDING",
        theirs: "EVALSHA @sliding 1 sliding:theirs:$key $now 600000 100 $number",
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK FIXED / Lua INCR, PEXPIRE",
        target: Some(2.0),
        ours: "RATE.CHECK fixed:$key 100 10m FIXED",
        theirs: "EVALSHA @fixed 1 fixed:theirs:$key 100 600000",
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK GCRA / INCR",
        target: Some(0.5),
        ours: "RATE.CHECK gcra:$key 100 10m GCRA",
        theirs: "INCR counter:$key",
        replies: passes,
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK SLIDING, denied / GET",
        target: Some(0.8),
        needs: &[&FULL, &STRINGS],
        ours: "RATE.CHECK full:$slot 100 1d",
        theirs: "GET string:$slot",
        replies: denied,
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK SLIDING, passing, log of 10000 / of 100",
        target: Some(0.667),
        needs: &[&LONG, &SHORT],
        ours: "RATE.CHECK long 10000 10000ms NOW $tick",
        theirs: "RATE.CHECK short 100 100ms NOW $tick",
        replies: both_pass,
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK SLIDING, denied, log of 10000 / of 100",
        target: Some(0.667),
        needs: &[&LONG_FULL, &FULL],
        ours: "RATE.CHECK longfull 10000 1d",
        theirs: "RATE.CHECK full:0 100 1d",
        replies: both_denied,
        ..LIMITS
    },
];
