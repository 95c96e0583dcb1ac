//! Rate limits beside what people write today.

use super::core::PLAIN;
use super::{Comparison, Key, Script};
use crate::checks::{denied, passes, verdict};

/// Every limiter has been called once, on both sides.
const CALLED: Key = Key::times(
    20_000,
    "RATE.CHECK fixed:$number 1000 10m FIXED ; RATE.CHECK calendar:$number 1000 day CALENDAR ; \
     RATE.CHECK counter:$number 1000 10m COUNTER ; RATE.CHECK gcra:$number 1000 10m GCRA ; \
     RATE.CHECK sliding:$number 1000 10m SLIDING ; INCR count:$number ; \
     EVALSHA @fixed 1 lua:fixed:$number 1000 600000 ; \
     EVALSHA @counter 2 this:$number last:$number 1000 600000 $now ; \
     EVALSHA @gcra 1 lua:gcra:$number 1000 600000 $now ; EVALSHA @sliding 1 log:$number $now 600000 1000 $number",
);
/// A thousand logs that are full.
const FULL: Key = Key::times(100_000, "RATE.CHECK full:$slot 100 1d ; SET string:$slot 100");

pub const SCRIPTS: &[Script] = &[
    (
        "sliding",
        "redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1] - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1",
    ),
    (
        "fixed",
        "local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return count <= tonumber(ARGV[1]) and 1 or 0",
    ),
    (
        // The client names the keys of this window and of the one before.
        "counter",
        "local current = tonumber(redis.call('GET', KEYS[1]) or 0)
local previous = tonumber(redis.call('GET', KEYS[2]) or 0)
local rest = 1 - ARGV[3] % ARGV[2] / ARGV[2]
if previous * rest + current >= tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 2 * ARGV[2])
return 1",
    ),
    (
        // The time at which the bucket is full again, as most libraries keep it.
        "gcra",
        "local full = math.max(ARGV[3], tonumber(redis.call('GET', KEYS[1]) or 0)) + ARGV[2] / ARGV[1]
local wait = full - ARGV[3]
if wait > tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', math.ceil(wait))
return 1",
    ),
];

const LIMITS: Comparison =
    Comparison { topic: "limits", is_listened_to: true, needs: &[&CALLED], replies: verdict, state: None, ..PLAIN };

/// Against the least that a counter can be, which only counts.
const INCR: Comparison = Comparison { beside: "INCR", theirs: "INCR count:$key", replies: passes, ..LIMITS };

pub const COMPARISONS: &[Comparison] = &[
    Comparison { name: "RATE.CHECK FIXED", ours: "RATE.CHECK fixed:$key 1000 10m FIXED", ..INCR },
    Comparison { name: "RATE.CHECK CALENDAR", ours: "RATE.CHECK calendar:$key 1000 day CALENDAR", ..INCR },
    Comparison { name: "RATE.CHECK COUNTER", ours: "RATE.CHECK counter:$key 1000 10m COUNTER", ..INCR },
    Comparison { name: "RATE.CHECK GCRA", ours: "RATE.CHECK gcra:$key 1000 10m GCRA", ..INCR },
    Comparison { name: "RATE.CHECK SLIDING", ours: "RATE.CHECK sliding:$key 1000 10m SLIDING", ..INCR },
    Comparison {
        name: "RATE.CHECK SLIDING, denied",
        beside: "GET",
        is_listened_to: false,
        needs: &[&FULL],
        ours: "RATE.CHECK full:$slot 100 1d",
        theirs: "GET string:$slot",
        replies: denied,
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK FIXED",
        beside: "Lua: INCR, PEXPIRE",
        ours: "RATE.CHECK fixed:$key 1000 10m FIXED",
        theirs: "EVALSHA @fixed 1 lua:fixed:$key 1000 600000",
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK COUNTER",
        beside: "Lua: GET, GET, INCR, PEXPIRE",
        ours: "RATE.CHECK counter:$key 1000 10m COUNTER",
        theirs: "EVALSHA @counter 2 this:$key last:$key 1000 600000 $now",
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK GCRA",
        beside: "Lua: GET, SET",
        ours: "RATE.CHECK gcra:$key 1000 10m GCRA",
        theirs: "EVALSHA @gcra 1 lua:gcra:$key 1000 600000 $now",
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK SLIDING",
        beside: "Lua: a log in a sorted set",
        ours: "RATE.CHECK sliding:$key 1000 10m SLIDING",
        theirs: "EVALSHA @sliding 1 log:$key $now 600000 1000 $number",
        ..LIMITS
    },
    Comparison {
        name: "RATE.CHECK FIXED",
        beside: "pipeline: INCR, PEXPIRE NX",
        is_listened_to: false,
        ours: "RATE.CHECK fixed:$key 1000 10m FIXED",
        theirs: "INCR lua:fixed:$key ; PEXPIRE lua:fixed:$key 600000 NX",
        ..INCR
    },
    Comparison {
        // It records denied calls too, since no command of a pipeline sees the count before it.
        name: "RATE.CHECK SLIDING",
        beside: "pipeline: ZREMRANGEBYSCORE, ZCARD, ZADD, PEXPIRE",
        is_listened_to: false,
        ours: "RATE.CHECK sliding:$key 1000 10m SLIDING",
        theirs:
            "ZREMRANGEBYSCORE log:$key 0 $ago ; ZCARD log:$key ; ZADD log:$key $now $number ; PEXPIRE log:$key 600000",
        ..INCR
    },
];
