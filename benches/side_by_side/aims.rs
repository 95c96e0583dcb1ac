//! What the project set itself, and whether it is there. A figure that is not there yet is missed, however close.
//!
//! Ratios are of pipelined traffic, where the server's own work counts most.

use crate::document::{grouped, size};
use crate::listener::Listener;
use crate::memory::SORTED_SET;
use crate::results::{Mixed, Results, Sent};
use crate::support::Kind;

pub struct Aim {
    /// The heading under which a person says why it is missed: short, and for good.
    pub name: &'static str,
    pub says: &'static str,
    bound: Bound,
    /// For one server alone.
    on: Option<Kind>,
    figures: &'static [Figure],
}

#[derive(Clone, Copy)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

use Bound::{AtLeast, AtMost};
use Figure::{BytesOfASortedSet, Instructions, NanosAMember, Ratio, Tail, Updates};
use Listener::{Aof, Nobody, Replica};

enum Figure {
    /// How many times as fast, at these numbers of members.
    Ratio(&'static str, Listener, &'static [u64]),
    /// Of our side of a comparison.
    Instructions(&'static str),
    /// Of our side of a comparison about whole boards.
    NanosAMember(&'static str, u64),
    /// Whichever is more: the `ZADD` or the `ZREM` that a replica gets for one job of ours. What else it gets counts as
    /// more than enough, but for `MULTI` and `EXEC`.
    Updates(&'static str),
    /// Memory of a layout, as a multiple of a plain sorted set's.
    BytesOfASortedSet(&'static str),
    /// The slowest of a thousand requests of mixed traffic, as a multiple of the other side's.
    Tail,
}

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

const INT3: &str = "spilled: RANK.ADD, three INT / ZADD";
const TIMED: &str = "spilled: RANK.ADD, FLOAT with TIES FIRST / ZADD";
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
        "packed63",
        "`RANK.ADD` on a `packed63` board compared with `ZADD`",
        AtLeast(0.9),
        &[Ratio("packed63: RANK.ADD, three BITS 20 / ZADD", Nobody, LARGE)],
    ),
    aim(
        "spilled-instructions",
        "`RANK.ADD` on a `spilled` board (three `INT`; `FLOAT` with `TIES FIRST`), instructions",
        AtMost(13_000.0),
        &[Instructions(INT3), Instructions(TIMED)],
    ),
    aim(
        "spilled",
        "`RANK.ADD` on a `spilled` board (three `INT`; `FLOAT` with `TIES FIRST`) compared with `ZADD`",
        AtLeast(0.4),
        &[Ratio(INT3, Nobody, MIDDLE), Ratio(TIMED, Nobody, MIDDLE)],
    ),
    aim(
        "spilled-updates",
        "`ZADD` and `ZREM` commands of each kind that one update of a `spilled` board sends to replicas",
        AtMost(1.0),
        &[Updates(INT3), Updates(TIMED)],
    ),
    aim(
        "spilled-by-hand",
        "`RANK.ADD` on a `spilled` board compared with Lua that keeps the same by hand",
        AtLeast(2.0),
        &[Ratio("spilled: RANK.ADD, three INT / Lua, the same by hand", Nobody, LARGE)],
    ),
    aim(
        "get",
        "`RANK.GET` compared with `ZSCORE` and `ZCOUNT` in a pipeline",
        AtLeast(1.0),
        &[Ratio("RANK.GET / ZSCORE, ZCOUNT in a pipeline", Nobody, TO_MIDDLE)],
    ),
    aim(
        "get-spilled-instructions",
        "`RANK.GET` on a `spilled` board, instructions",
        AtMost(13_500.0),
        &[Instructions("spilled: RANK.GET / RANK.GET plain")],
    ),
    aim(
        "get-spilled",
        "`RANK.GET` on a `spilled` board compared with a plain one; the second with 1000 first scores",
        AtLeast(0.6),
        &[
            Ratio("spilled: RANK.GET / RANK.GET plain", Nobody, LARGE),
            Ratio("spilled, 1000 first scores: RANK.GET / RANK.GET plain", Nobody, LARGE),
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
        "The same on a `packed` and on a `packed63` board",
        AtLeast(2.0),
        &[
            Ratio("packed: RANK.GET / Lua ZSCORE, ZCOUNT", Nobody, LARGE),
            Ratio("packed63: RANK.GET / Lua ZSCORE, ZCOUNT", Nobody, LARGE),
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
        "memory-packed63",
        "Memory of a `packed63` board compared with a sorted set's",
        AtMost(1.05),
        &[BytesOfASortedSet("packed63, three BITS 20")],
    ),
];

/// One figure of an aim.
pub struct Measured {
    /// What tells it apart from the others of the aim, if anything does.
    pub at: String,
    pub value: f64,
    pub is_met: bool,
}

impl Aim {
    pub fn bound(&self) -> String {
        // 0.667, 13,000
        let thousands = |bound: f64| if bound < 1000.0 { bound.to_string() } else { grouped(bound) };
        match self.bound {
            AtLeast(bound) => format!("at least {}", thousands(bound)),
            AtMost(bound) => format!("at most {}", thousands(bound)),
        }
    }

    pub fn is_for(&self, server: &str) -> bool {
        self.on.is_none_or(|kind| server.starts_with(&format!("{kind:?}")))
    }

    /// What was measured of it on this server.
    pub fn measured(&self, results: &Results, server: &str) -> Vec<Measured> {
        if !self.is_for(server) {
            return Vec::new();
        }
        self.figures.iter().flat_map(|figure| self.of_figure(figure, results, server)).collect()
    }

    pub fn is_missed(&self, results: &Results) -> bool {
        results.servers().iter().any(|server| self.measured(results, server).iter().any(|it| !it.is_met))
    }

    fn of_figure(&self, figure: &Figure, results: &Results, server: &str) -> Vec<Measured> {
        let measured = |at: String, value: f64| Measured {
            at,
            value,
            is_met: match self.bound {
                AtLeast(bound) => value >= bound,
                AtMost(bound) => value <= bound,
            },
        };
        let one = |value: Option<f64>| value.map(|value| measured(String::new(), value)).into_iter().collect();
        match figure {
            Ratio(comparison, listener, sizes) => sizes
                .iter()
                .filter_map(|members| {
                    let ratio = results.ratio(server, comparison, *members, *listener)?.ratio;
                    let at = match listener {
                        Nobody if sizes.len() > 1 => size(*members),
                        Nobody => String::new(),
                        Aof => "AOF".into(),
                        Replica => "replica".into(),
                    };
                    Some(measured(at, ratio))
                })
                .collect(),
            Instructions(comparison) => one(results
                .instructions
                .iter()
                .find(|it| it.server == server && it.comparison == *comparison && it.listener == Nobody)
                .map(|it| it.ours as f64)),
            NanosAMember(comparison, members) => {
                one(results.ratio(server, comparison, *members, Nobody).map(|it| 1e9 / it.ours / *members as f64))
            }
            Updates(comparison) => {
                let ratios = results.ratios.iter().filter(|it| it.server == server && it.comparison == *comparison);
                one(ratios.filter_map(|it| it.sent.as_ref()).map(|(ours, _)| updates(ours)).next())
            }
            BytesOfASortedSet(layout) => {
                let bytes = |name: &str| {
                    results
                        .memory
                        .iter()
                        .find(|it| it.server == server && it.layout == name)
                        .map(|it| it.bytes_a_member)
                };
                one(bytes(layout).zip(bytes(SORTED_SET)).map(|(bytes, sorted_set)| bytes / sorted_set))
            }
            Tail => {
                let side = |is_ours| results.mixed.iter().find(|it| it.server == server && it.is_ours == is_ours);
                let tail = |side: &Mixed| side.p999;
                one(side(true).map(tail).zip(side(false).map(tail)).map(|(ours, theirs)| ours / theirs))
            }
        }
    }

    /// The comparisons that it is about: all must exist.
    pub fn comparisons(&self) -> impl Iterator<Item = &'static str> {
        self.figures.iter().filter_map(|figure| match figure {
            Ratio(name, ..) | Instructions(name) | NanosAMember(name, _) | Updates(name) => Some(*name),
            BytesOfASortedSet(_) | Tail => None,
        })
    }
}

fn updates(sent: &Sent) -> f64 {
    let mut most = 0.0_f64;
    for (command, count) in &sent.commands {
        most = match command.as_str() {
            "multi" | "exec" => most,
            "zadd" | "zrem" => most.max(*count),
            _ => f64::INFINITY,
        };
    }
    most
}

/// How many aims are met, and how many were measured.
pub fn tally(results: &Results) -> (usize, usize) {
    let is_measured = |aim: &&Aim| results.servers().iter().any(|server| !aim.measured(results, server).is_empty());
    let measured: Vec<&Aim> = AIMS.iter().filter(is_measured).collect();
    (measured.iter().filter(|aim| !aim.is_missed(results)).count(), measured.len())
}
