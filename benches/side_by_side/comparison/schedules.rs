//! Schedules beside the loops that people write today: scan for what is due, and remove it before another loop does.

use super::{Against, Comparison, Count, Key, Sizes};
use crate::checks::one_taken;

/// What is due later, and in nobody's way.
const OURS: Key =
    Key { create: None, fill: "ZADD schedule 9000000000000 later:$number", count: Count::Exactly(100_000) };
const THEIRS: Key =
    Key { create: None, fill: "ZADD scanned 9000000000000 later:$number", count: Count::Exactly(100_000) };

const SCHEDULES: Comparison = Comparison {
    name: "",
    against: Against::Today,
    aim: None,
    aimed_at: &[],
    sizes: Sizes::Only(&[100_000]),
    needs: &[&OURS, &THEIRS],
    ours: "ZADD schedule $tick $number ; DUE.POP schedule NOW $tick",
    theirs: "",
    pipeline: 100,
    reads_only: false,
    replies: one_taken,
    state: None,
};

pub const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "DUE.POP / ZRANGEBYSCORE and ZREM, one loop",
        theirs: "ZADD scanned $tick $number ; ZRANGEBYSCORE scanned 0 $tick LIMIT 0 1 ; ZREM scanned $number",
        ..SCHEDULES
    },
    Comparison {
        // Each sees the item before the first of them has removed it.
        name: "DUE.POP / ZRANGEBYSCORE and ZREM, eight loops that race",
        aim: Some(3.0),
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
