//! Boards and sorted sets that more than one measurement uses.

use super::{Count, Key};

/// A sorted set without a schema, twice: one for each side.
pub const OURS: Key = Key { create: None, fill: "ZADD ours $score $each", count: Count::Members };
pub const THEIRS: Key = Key { create: None, fill: "ZADD theirs $score $each", count: Count::Members };

/// A sorted set that may differ from these: what other boards are compared with.
pub const SORTED: Key = Key { create: None, fill: "ZADD sorted $score $each", count: Count::Members };

/// A thousand scores: large groups of equals.
pub const THOUSAND: Key = Key { create: None, fill: "ZADD thousand $tied $each", count: Count::Members };

/// The same as [`OURS`] with a schema.
pub const SCHEMA: Key =
    Key { create: Some("RANK.CREATE schema DESC"), fill: "RANK.ADD schema $score $each", count: Count::Members };

pub const PACKED: Key = Key {
    create: Some("RANK.CREATE packed FIELD a DIGITS 7 FIELD b DIGITS 6"),
    fill: "RANK.ADD packed $bits20 $tied $each",
    count: Count::Members,
};
pub const CODED: Key = Key {
    create: Some("RANK.CREATE coded FIELD a INT FIELD b INT FIELD c INT"),
    fill: "RANK.ADD coded $low $low $low $each",
    count: Count::Members,
};
/// Members that do not fit their score, with one index entry each.
pub const OVERFLOWING: Key = Key {
    create: Some("RANK.CREATE overflowing FIELD a INT TIES FIRST"),
    fill: "RANK.ADD overflowing $wide $each",
    count: Count::Members,
};
/// The same with numbers that have many decimals.
pub const IRREGULAR: Key = Key {
    create: Some("RANK.CREATE irregular FIELD a FLOAT TIES FIRST"),
    fill: "RANK.ADD irregular 0.$wide $each",
    count: Count::Members,
};
/// One score and the time at which it was reached.
pub const TIMED: Key = Key {
    create: Some("RANK.CREATE timed FIELD a FLOAT TIES FIRST"),
    fill: "RANK.ADD timed $points $each",
    count: Count::Members,
};
/// A thousand scores: large groups that only the time tells apart.
pub const TIED: Key = Key {
    create: Some("RANK.CREATE tied FIELD a INT TIES FIRST"),
    fill: "RANK.ADD tied $tied $each",
    count: Count::Members,
};
/// What a script keeps instead of a coded board: the same sorted set, the same hash.
pub const BY_HAND: Key =
    Key { create: None, fill: "EVALSHA @add_tuple 2 hand hand:members $low $low $low $each", count: Count::Members };
/// What is simpler, and does not order ties: the first score in a sorted set, the others in a hash.
pub const SIMPLE: Key = Key {
    create: None,
    fill: "ZADD simple $score $each ; HSET simple:more $each 123456789,$score",
    count: Count::Members,
};
