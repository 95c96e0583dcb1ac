//! Schedules beside the loops that people write today: scan for what is due, and remove it before another loop does.

use super::core::PLAIN;
use super::{Comparison, Key, Script};
use crate::checks::{acknowledged, one_taken};

/// What is due later, and in nobody's way.
const OURS: Key = Key::times(100_000, "ZADD schedule 9000000000000 later:$number");
const THEIRS: Key = Key::times(100_000, "ZADD scanned 9000000000000 later:$number");

pub const SCRIPTS: &[Script] = &[(
    // A second sorted set remembers who works on what, for another loop that looks for items to try again.
    "claim",
    "local items = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1], 'LIMIT', 0, 1)
if items[1] then
  redis.call('ZREM', KEYS[1], items[1])
  redis.call('ZADD', KEYS[2], ARGV[1] + 30000, items[1])
end
return items",
)];

const SCHEDULES: Comparison = Comparison {
    topic: "schedules",
    is_listened_to: true,
    needs: &[&OURS, &THEIRS],
    ours: "ZADD schedule $tick $number ; DUE.POP schedule NOW $tick",
    pipeline: 100,
    replies: one_taken,
    state: None,
    ..PLAIN
};

pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "DUE.CLAIM, DUE.ACK",
        beside: "Lua: ZRANGEBYSCORE, ZREM, ZADD, then ZREM",
        // Tokens cannot be predicted, and a pipeline cannot read them. So one more `ZADD`, which only our side has, puts a
        // claim with a known token in place of the one that was made.
        ours: "ZADD schedule $tick $number ; DUE.CLAIM schedule NOW $tick ; ZADD schedule -$claim $number ; \
               DUE.ACK schedule $token $number",
        theirs: "ZADD scanned $tick $number ; EVALSHA @claim 2 scanned working $tick ; ZREM working $number",
        replies: acknowledged,
        ..SCHEDULES
    },
    Comparison {
        name: "DUE.POP",
        beside: "ZRANGEBYSCORE and ZREM, one loop",
        theirs: "ZADD scanned $tick $number ; ZRANGEBYSCORE scanned 0 $tick LIMIT 0 1 ; ZREM scanned $number",
        ..SCHEDULES
    },
    Comparison {
        // Each sees the item before the first of them has removed it.
        name: "DUE.POP",
        beside: "ZRANGEBYSCORE and ZREM, eight loops that race",
        theirs: "ZADD scanned $tick $number ; \
                 ZRANGEBYSCORE scanned 0 $tick LIMIT 0 1 ; ZRANGEBYSCORE scanned 0 $tick LIMIT 0 1 ; \
                 ZRANGEBYSCORE scanned 0 $tick LIMIT 0 1 ; ZRANGEBYSCORE scanned 0 $tick LIMIT 0 1 ; \
                 ZRANGEBYSCORE scanned 0 $tick LIMIT 0 1 ; ZRANGEBYSCORE scanned 0 $tick LIMIT 0 1 ; \
                 ZRANGEBYSCORE scanned 0 $tick LIMIT 0 1 ; ZRANGEBYSCORE scanned 0 $tick LIMIT 0 1 ; \
                 ZREM scanned $number ; ZREM scanned $number ; ZREM scanned $number ; ZREM scanned $number ; \
                 ZREM scanned $number ; ZREM scanned $number ; ZREM scanned $number ; ZREM scanned $number",
        ..SCHEDULES
    },
];
