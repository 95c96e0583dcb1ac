//! Each aim. One that a later aim contradicts is replaced by it.

use super::Bound::{AtLeast, AtMost};
use super::Figure::{BytesOfASortedSet, Instructions, NanosAMember, Ratio, Tail, Updates};
use super::{Aim, Bound, Figure};
use crate::listener::Listener::{Aof, Nobody, Replica};
use crate::support::Kind;

const MIDDLE: &[u64] = &[100_000];
const LARGE: &[u64] = &[1_000_000];
const ENDS: &[u64] = &[10_000, 1_000_000];
const TO_MIDDLE: &[u64] = &[10_000, 100_000];
const ALL: &[u64] = &[10_000, 100_000, 1_000_000];

const fn aim(name: &'static str, says: &'static str, bound: Bound, figures: &'static [Figure]) -> Aim {
    Aim { name, says, bound, on: None, figures }
}

const fn on(kind: Kind, aim: Aim) -> Aim {
    Aim { on: Some(kind), ..aim }
}

const INT3: &str = "coded: RANK.ADD, three INT / ZADD";
const TIMED: &str = "coded: RANK.ADD, FLOAT with TIES FIRST / ZADD";
const TOPN: &str = "RANK.TOPN 100 / ZREVRANGE 0 99 WITHSCORES";
const STATS_TIED: &str = "1000 scores: all ranks, RANK.STATS JSON";
const STATS_DISTINCT: &str = "distinct scores: all ranks, RANK.STATS JSON";

pub const AIMS: &[Aim] = &[
    aim(
        "add-listened",
        "`RANK.ADD` compared with `ZADD`, with an AOF and with a replica",
        AtLeast(0.92),
        &[Ratio("RANK.ADD / ZADD", Aof, MIDDLE), Ratio("RANK.ADD / ZADD", Replica, MIDDLE)],
    ),
    aim(
        "incr-listened",
        "`RANK.INCR` compared with `ZINCRBY`, with an AOF and with a replica",
        AtLeast(0.95),
        &[Ratio("RANK.INCR / ZINCRBY", Aof, MIDDLE), Ratio("RANK.INCR / ZINCRBY", Replica, MIDDLE)],
    ),
    aim(
        "packed-listened",
        "`RANK.ADD` on a `packed` board compared with `ZADD`, with an AOF and with a replica",
        AtLeast(0.9),
        &[
            Ratio("packed: RANK.ADD, DIGITS 7 and 6 / ZADD", Aof, MIDDLE),
            Ratio("packed: RANK.ADD, DIGITS 7 and 6 / ZADD", Replica, MIDDLE),
        ],
    ),
    aim("add", "`RANK.ADD` compared with `ZADD`", AtLeast(0.95), &[Ratio("RANK.ADD / ZADD", Nobody, ENDS)]),
    aim("incr", "`RANK.INCR` compared with `ZINCRBY`", AtLeast(0.95), &[Ratio("RANK.INCR / ZINCRBY", Nobody, ENDS)]),
    aim(
        "coded",
        "`RANK.ADD` on a `coded` board compared with `ZADD`",
        AtLeast(0.9),
        &[Ratio("coded: RANK.ADD, three INT / ZADD", Nobody, LARGE)],
    ),
    aim(
        "coded-instructions",
        "`RANK.ADD` on a `coded` board (three `INT`; `FLOAT` with `TIES FIRST`), instructions",
        AtMost(13_000.0),
        &[Instructions(INT3), Instructions(TIMED)],
    ),
    aim(
        "coded",
        "`RANK.ADD` on a `coded` board (three `INT`; `FLOAT` with `TIES FIRST`) compared with `ZADD`",
        AtLeast(0.4),
        &[Ratio(INT3, Nobody, MIDDLE), Ratio(TIMED, Nobody, MIDDLE)],
    ),
    aim(
        "coded-updates",
        "`ZADD` and `ZREM` commands of each kind that one update of a `coded` board sends to replicas",
        AtMost(1.0),
        &[Updates(INT3), Updates(TIMED)],
    ),
    aim(
        "coded-by-hand",
        "`RANK.ADD` on a `coded` board compared with Lua that keeps the same by hand",
        AtLeast(2.0),
        &[Ratio("coded: RANK.ADD, three INT / Lua, the same by hand", Nobody, LARGE)],
    ),
    aim(
        "get",
        "`RANK.GET` compared with `ZSCORE` and `ZCOUNT` in a pipeline",
        AtLeast(1.0),
        &[Ratio("RANK.GET / ZSCORE, ZCOUNT in a pipeline", Nobody, TO_MIDDLE)],
    ),
    aim(
        "get-coded-instructions",
        "`RANK.GET` on a `coded` board, instructions",
        AtMost(13_500.0),
        &[Instructions("coded: RANK.GET, three INT / RANK.GET plain")],
    ),
    aim(
        "get-coded",
        "`RANK.GET` on a `coded` board compared with a plain one; the second with 1000 first scores",
        AtLeast(0.6),
        &[
            Ratio("coded: RANK.GET, three INT / RANK.GET plain", Nobody, LARGE),
            Ratio("coded, 1000 scores: RANK.GET COMPETITION / RANK.GET plain", Nobody, LARGE),
        ],
    ),
    aim(
        "get-lua",
        "`RANK.GET` compared with Lua with `ZSCORE` and `ZCOUNT`",
        AtLeast(2.2),
        &[Ratio("RANK.GET / Lua ZSCORE, ZCOUNT", Nobody, ENDS)],
    ),
    aim(
        "get-lua-packed",
        "The same on a `packed` and on a `coded` board",
        AtLeast(2.0),
        &[
            Ratio("packed: RANK.GET / Lua ZSCORE, ZCOUNT", Nobody, LARGE),
            Ratio("packed: RANK.GET / Lua ZSCORE, ZCOUNT", Nobody, LARGE),
        ],
    ),
    aim(
        "incr-withrank",
        "`RANK.INCR WITHRANK` compared with Lua with ranks",
        AtLeast(2.0),
        &[Ratio("RANK.INCR WITHRANK / Lua ZSCORE, ZCOUNT, ZINCRBY, ZCOUNT", Nobody, ENDS)],
    ),
    aim(
        "incr-withrank-positions",
        "`RANK.INCR WITHRANK` compared with Lua with positions, which does less",
        AtLeast(2.0),
        &[Ratio("RANK.INCR WITHRANK / Lua ZREVRANK, ZINCRBY, ZREVRANK", Nobody, ENDS)],
    ),
    aim(
        "stats",
        "`RANK.STATS JSON` of 100k members (1,000 scores; distinct scores), nanoseconds per member",
        AtMost(150.0),
        &[NanosAMember(STATS_TIED, 100_000), NanosAMember(STATS_DISTINCT, 100_000)],
    ),
    aim(
        "stats-three-keys",
        "`RANK.STATS JSON` with 1,000 scores compared with a script on three keys",
        AtLeast(3.0),
        &[Ratio(STATS_TIED, Nobody, MIDDLE)],
    ),
    aim(
        "stats-three-keys-distinct",
        "The same with distinct scores",
        AtLeast(8.0),
        &[Ratio(STATS_DISTINCT, Nobody, MIDDLE)],
    ),
    aim(
        "stats-zrevrange",
        "`RANK.STATS JSON` compared with `ZREVRANGE 0 -1` (distinct scores; 1,000 scores)",
        AtLeast(0.667),
        &[
            Ratio("RANK.STATS JSON, 100k members, distinct scores / ZREVRANGE 0 -1", Nobody, MIDDLE),
            Ratio("RANK.STATS JSON, 100k members, 1000 scores / ZREVRANGE 0 -1", Nobody, MIDDLE),
        ],
    ),
    aim(
        "rank-three-keys",
        "One rank compared with a script on three keys (`RANK.QUERY`, then `RANK.GET`; 1,000 scores, then distinct ones)",
        AtLeast(1000.0),
        &[
            Ratio("1000 scores: a user's rank, RANK.QUERY JSON", Nobody, MIDDLE),
            Ratio("distinct scores: a user's rank, RANK.QUERY JSON", Nobody, MIDDLE),
            Ratio("1000 scores: a user's rank without its equals, RANK.GET", Nobody, MIDDLE),
            Ratio("distinct scores: a user's rank without its equals, RANK.GET", Nobody, MIDDLE),
        ],
    ),
    on(
        Kind::Valkey,
        aim(
            "topn-valkey",
            "`RANK.TOPN 100` compared with `ZREVRANGE 0 99 WITHSCORES`, on Valkey",
            AtLeast(0.65),
            &[Ratio(TOPN, Nobody, ALL)],
        ),
    ),
    on(Kind::Redis, aim("topn-redis", "The same on Redis", AtLeast(0.8), &[Ratio(TOPN, Nobody, ALL)])),
    aim(
        "around",
        "`RANK.AROUND 5` compared with Lua with `ZREVRANK` and `ZREVRANGE`",
        AtLeast(2.0),
        &[Ratio("RANK.AROUND 5 / Lua ZREVRANK, ZREVRANGE", Nobody, ALL)],
    ),
    aim(
        "keep",
        "A stream into a board with `KEEP 500` compared with Lua with `ZADD` and `ZREMRANGEBYRANK`",
        AtLeast(4.0),
        &[Ratio("a stream into KEEP 500: RANK.ADD / Lua ZADD, ZREMRANGEBYRANK", Nobody, MIDDLE)],
    ),
    aim(
        "periods",
        "`RANK.ADD` on a board with three periods compared with four `RANK.ADD`",
        AtLeast(0.91),
        &[Ratio("RANK.ADD with 3 periods / 4 times RANK.ADD, pipelined", Nobody, MIDDLE)],
    ),
    aim(
        "tail",
        "99.9th percentile of mixed traffic on 1M members, as a part of that of core commands and scripts",
        AtMost(0.667),
        &[Tail],
    ),
    aim(
        "rate-incr",
        "`RATE.CHECK` compared with `INCR` (`GCRA`; `FIXED`)",
        AtLeast(0.5),
        &[Ratio("RATE.CHECK GCRA / INCR", Nobody, MIDDLE), Ratio("RATE.CHECK FIXED / INCR", Nobody, MIDDLE)],
    ),
    aim(
        "rate-denied",
        "`RATE.CHECK SLIDING` that denies, compared with `GET`",
        AtLeast(0.8),
        &[Ratio("RATE.CHECK SLIDING, denied / GET", Nobody, MIDDLE)],
    ),
    aim(
        "rate-sliding",
        "`RATE.CHECK SLIDING` compared with Lua with a sorted set",
        AtLeast(3.0),
        &[Ratio("RATE.CHECK SLIDING / Lua with a sorted set", Nobody, MIDDLE)],
    ),
    aim(
        "rate-fixed",
        "`RATE.CHECK FIXED` compared with Lua with `INCR` and `PEXPIRE`",
        AtLeast(2.0),
        &[Ratio("RATE.CHECK FIXED / Lua INCR, PEXPIRE", Nobody, MIDDLE)],
    ),
    aim(
        "rate-log",
        "`RATE.CHECK SLIDING` with a log of 10,000 calls compared with one of 100 (passing; denied)",
        AtLeast(0.667),
        &[
            Ratio("RATE.CHECK SLIDING, passing, log of 10000 / of 100", Nobody, MIDDLE),
            Ratio("RATE.CHECK SLIDING, denied, log of 10000 / of 100", Nobody, MIDDLE),
        ],
    ),
    aim(
        "due",
        "`DUE.POP` compared with eight loops that race with `ZRANGEBYSCORE` and `ZREM`",
        AtLeast(3.0),
        &[Ratio("DUE.POP / ZRANGEBYSCORE and ZREM, eight loops that race", Nobody, MIDDLE)],
    ),
    aim(
        "memory-coded",
        "Memory of a `coded` board compared with a sorted set's",
        AtMost(1.05),
        &[BytesOfASortedSet("coded, three INT")],
    ),
];
