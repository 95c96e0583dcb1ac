//! Rate limits beside what people write today.

use super::{Comparison, Count, Key, Script, Sizes, Topic};
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
    Script {
        // The client names the keys of this window and of the one before.
        name: "counter",
        text: "local current = tonumber(redis.call('GET', KEYS[1]) or 0)
local previous = tonumber(redis.call('GET', KEYS[2]) or 0)
local rest = 1 - ARGV[3] % ARGV[2] / ARGV[2]
if previous * rest + current >= tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 2 * ARGV[2])
return 1",
    },
    Script {
        // The time at which the bucket is full again, as most libraries keep it.
        name: "gcra",
        text: "local full = math.max(ARGV[3], tonumber(redis.call('GET', KEYS[1]) or 0)) + ARGV[2] / ARGV[1]
local wait = full - ARGV[3]
if wait > tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', math.ceil(wait))
return 1",
    },
];

/// What they have in common: random ones of 100,000 keys.
const LIMITS: Comparison = Comparison {
    name: "",
    topic: Topic::Limits,
    sizes: Sizes::Only(&[100_000]),
    is_listened_to: true,
    needs: &[],
    ours: "",
    theirs: "",
    pipeline: 200,
    reads_only: false,
    replies: verdict,
    state: None,
};

/// Against the least that a counter can be, which only counts.
const INCR: Comparison = Comparison { replies: passes, ..LIMITS };

/// What writes nothing has nobody listening.
const DENIED: Comparison = Comparison { is_listened_to: false, ..LIMITS };

const LOG_LENGTH: Comparison = Comparison { topic: Topic::Ourselves, is_listened_to: false, ..LIMITS };

pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "RATE.CHECK FIXED / INCR",
        ours: "RATE.CHECK fixed:incr:$key 100 10m FIXED",
        theirs: "INCR counter:fixed:$key",
        ..INCR
    },
    Comparison {
        name: "RATE.CHECK CALENDAR / INCR",
        ours: "RATE.CHECK calendar:$key 100 day CALENDAR",
        theirs: "INCR counter:calendar:$key",
        ..INCR
    },
    Comparison {
        name: "RATE.CHECK COUNTER / INCR",
        ours: "RATE.CHECK counter:ours:$key 100 10m COUNTER",
        theirs: "INCR counter:counter:$key",
        ..INCR
    },
    Comparison {
        name: "RATE.CHECK GCRA / INCR",
        ours: "RATE.CHECK gcra:$key 100 10m GCRA",
        theirs: "INCR counter:$key",
        ..INCR
    },
    Comparison {
        name: "RATE.CHECK SLIDING / INCR",
        ours: "RATE.CHECK sliding:incr:$key 100 10m SLIDING",
        theirs: "INCR counter:sliding:$key",
        ..INCR
    },
    Comparison {
        name: "RATE.CHECK SLIDING, denied / GET",
        needs: &[&FULL, &STRINGS],
        ours: "RATE.CHECK full:$slot 100 1d",
        theirs: "GET string:$slot",
        replies: denied,
        ..DENIED
    },
    Comparison {
        name: "RATE.CHECK FIXED / Lua INCR, PEXPIRE",
        ours: "RATE.CHECK fixed:$key 100 10m FIXED",
        theirs: "EVALSHA @fixed 1 fixed:theirs:$key 100 600000",
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK COUNTER / Lua GET, GET, INCR, PEXPIRE",
        ours: "RATE.CHECK counter:lua:$key 100 10m COUNTER",
        theirs: "EVALSHA @counter 2 this:$key last:$key 100 600000 $now",
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK GCRA / Lua GET, SET",
        ours: "RATE.CHECK gcra:lua:$key 100 10m GCRA",
        theirs: "EVALSHA @gcra 1 gcra:theirs:$key 100 600000 $now",
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK SLIDING / Lua with a sorted set",
        ours: "RATE.CHECK sliding:$key 100 10m SLIDING",
        theirs: "EVALSHA @sliding 1 sliding:theirs:$key $now 600000 100 $number",
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK FIXED / INCR, PEXPIRE NX in a pipeline",
        ours: "RATE.CHECK fixed:too:$key 100 10m FIXED",
        theirs: "INCR window:$key ; PEXPIRE window:$key 600000 NX",
        ..INCR
    },
    Comparison {
        // It records denied calls too, since no command of a pipeline sees the count before it.
        name: "RATE.CHECK SLIDING / ZREMRANGEBYSCORE, ZCARD, ZADD, PEXPIRE in a pipeline",
        ours: "RATE.CHECK sliding:too:$key 100 10m SLIDING",
        theirs:
            "ZREMRANGEBYSCORE log:$key 0 $ago ; ZCARD log:$key ; ZADD log:$key $now $number ; PEXPIRE log:$key 600000",
        ..INCR
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
