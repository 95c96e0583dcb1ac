//! Bytes a member for each layout, beside a plain sorted set and beside a sorted set with a hash; and bytes a limiter,
//! of which every member has one, beside a string with an expiry.
//!
//! They are a difference of `used_memory`, less the buffers of clients: all that the server allocated, index entries
//! and rounding up included, which `MEMORY USAGE` of a key would leave out.

use crate::comparison::keys::{CODED, OVERFLOWING, PACKED, SCHEMA, SIMPLE, THEIRS, TIMED};
use crate::comparison::{Count, Key};
use crate::console::Console;
use crate::results::Memory;
use crate::session::Session;
use crate::support::reply;

pub struct Layout {
    pub name: &'static str,
    /// In the chart; none if it is not in there.
    pub label: &'static str,
    key: Key,
    /// Without the module.
    pub is_core: bool,
    /// Each member is a key of its own, which a sorted set is no measure of.
    pub is_limiter: bool,
}

const BOARD: Layout = Layout { name: "", label: "", key: THEIRS, is_core: false, is_limiter: false };
const CORE: Layout = Layout { is_core: true, ..BOARD };
const LIMITER: Layout = Layout { is_limiter: true, ..BOARD };

/// A key that every member has, made by one command.
const fn of_each(fill: &'static str) -> Key {
    Key { create: None, fill, count: Count::Members }
}

/// The two that others are compared with.
pub const SORTED_SET: &str = "sorted set (ZADD)";
pub const WITH_HASH: &str = "sorted set + hash of two more scores";

pub const LAYOUTS: &[Layout] = &[
    Layout { name: SORTED_SET, label: "sorted set", ..CORE },
    Layout { name: "plain, with a schema", label: "plain", key: SCHEMA, ..BOARD },
    Layout { name: "packed, DIGITS 7 and 6", label: "packed, two scores", key: PACKED, ..BOARD },
    Layout { name: WITH_HASH, label: "sorted set + hash, three scores", key: SIMPLE, ..CORE },
    Layout {
        name: "sorted set of packed members + hash",
        key: Key {
            create: None,
            fill: "ZADD hand $score 0123456789abcdef$each ; HSET hand:members $each 0123456789abcdef$each",
            count: Count::Members,
        },
        ..CORE
    },
    Layout { name: "coded, FLOAT, TIES FIRST", label: "coded, one score and a time", key: TIMED, ..BOARD },
    Layout { name: "coded, three INT", label: "coded, three scores", key: CODED, ..BOARD },
    Layout {
        name: "coded, one entry: INT of 63 bits, TIES FIRST",
        label: "coded, one entry each",
        key: OVERFLOWING,
        ..BOARD
    },
    Layout {
        name: "coded, three entries: three INT of 63 bits",
        key: Key {
            create: Some("RANK.CREATE most FIELD a INT FIELD b INT FIELD c INT"),
            fill: "RANK.ADD most $wide $wide $wide $each",
            count: Count::Members,
        },
        ..BOARD
    },
    Layout {
        name: "plain, with one attribute of 9 digits",
        key: Key {
            create: Some("RANK.CREATE data DATA notes"),
            fill: "RANK.ADD data $score $each ; RANK.SETDATA data $each note $score",
            count: Count::Members,
        },
        ..BOARD
    },
    Layout {
        name: "string with an expiry (SET PX)",
        label: "string with an expiry",
        key: of_each("SET $each 100 PX 86400000"),
        is_core: true,
        ..LIMITER
    },
    Layout { name: "limiter, FIXED", key: of_each("RATE.CHECK $each 100 1d FIXED"), ..LIMITER },
    Layout { name: "limiter, COUNTER", key: of_each("RATE.CHECK $each 100 1d COUNTER"), ..LIMITER },
    Layout { name: "limiter, GCRA", label: "GCRA", key: of_each("RATE.CHECK $each 100 1d GCRA"), ..LIMITER },
    Layout { name: "limiter, CALENDAR", key: of_each("RATE.CHECK $each 100 day CALENDAR"), ..LIMITER },
    Layout {
        name: "limiter, SLIDING, one call",
        label: "SLIDING, one call",
        key: of_each("RATE.CHECK $each 100 1d"),
        ..LIMITER
    },
    Layout {
        name: "limiter, SLIDING, four calls",
        label: "SLIDING, four calls",
        key: of_each(
            "RATE.CHECK $each 100 1d ; RATE.CHECK $each 100 1d ; RATE.CHECK $each 100 1d ; RATE.CHECK $each 100 1d",
        ),
        ..LIMITER
    },
    Layout { name: "leases, one held", key: of_each("RATE.ACQUIRE $each 100 1d"), ..LIMITER },
];

pub fn steps(members: u64) -> u64 {
    LAYOUTS.iter().map(|layout| Session::steps_to_fill(&[&layout.key], members)).sum()
}

pub fn weigh(session: &mut Session, layout: &'static Layout, console: &Console) -> Memory {
    assert_eq!(reply(&mut session.con, "FLUSHALL SYNC"), "+OK");
    let used = |session: &Session| {
        let field = |name| session.info(name).parse::<f64>().expect("a number of bytes");
        field("used_memory") - field("mem_clients_normal")
    };
    let before = used(session);
    session.fill(&[&layout.key], console);
    Memory {
        server: session.name.clone(),
        layout: layout.name.into(),
        members: session.members(),
        bytes_a_member: (used(session) - before) / session.members() as f64,
    }
}
