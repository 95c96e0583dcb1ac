//! Boards and sorted sets that more than one measurement uses.

use super::Key;

/// A sorted set without a schema, twice: one for each side.
pub const OURS: Key = Key::filled("ZADD ours $score $each");
pub const THEIRS: Key = Key::filled("ZADD theirs $score $each");
/// A sorted set that may differ from these: what other boards are compared with.
pub const SORTED: Key = Key::filled("ZADD sorted $score $each");
/// A thousand scores: large groups of equals.
pub const THOUSAND: Key = Key::filled("ZADD thousand $tied $each");

pub const SCHEMA: Key = Key::board("RANK.CREATE schema DESC", "RANK.ADD schema $score $each");
pub const PACKED: Key =
    Key::board("RANK.CREATE packed FIELD a DIGITS 7 FIELD b DIGITS 6", "RANK.ADD packed $bits20 $tied $each");
pub const CODED: Key =
    Key::board("RANK.CREATE coded FIELD a INT FIELD b INT FIELD c INT", "RANK.ADD coded $low $low $low $each");
/// One score and the time at which it was reached.
pub const TIMED: Key = Key::board("RANK.CREATE timed FIELD a FLOAT TIES FIRST", "RANK.ADD timed $points $each");
/// The same with a thousand scores: large groups that only the time tells apart.
pub const TIED: Key = Key::board("RANK.CREATE tied FIELD a INT TIES FIRST", "RANK.ADD tied $tied $each");
/// Members that do not fit their score, with one index entry each.
pub const INDEXED: Key = Key::board("RANK.CREATE indexed FIELD a INT TIES FIRST", "RANK.ADD indexed $wide $each");
/// The same with numbers that have many decimals.
pub const IRREGULAR: Key =
    Key::board("RANK.CREATE irregular FIELD a FLOAT TIES FIRST", "RANK.ADD irregular 0.$wide $each");

/// What scripts keep instead of such boards: a sorted set whose members begin with the lower scores or the time, and a
/// hash that finds them.
pub const CODED_BY_HAND: Key = Key::filled("EVALSHA @add_tuple 2 hand hand:members $low $low $low $each");
pub const TIMED_BY_HAND: Key = Key::filled("EVALSHA @add_timed 2 clock clock:members $points $now $each");
pub const INDEXED_BY_HAND: Key = Key::filled("EVALSHA @add_wide 2 wide wide:members $wide $now $each");
/// What is simpler, and does not order ties: the first score in a sorted set, the others in a hash.
pub const SIMPLE: Key = Key::filled("ZADD simple $score $each ; HSET simple:more $each 123456789,$score");
