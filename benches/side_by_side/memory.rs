//! Bytes a member, and bytes a limiter: a difference of `used_memory`, less the buffers of clients. So index entries and
//! what the allocator rounds up are included, which `MEMORY USAGE` of a key leaves out.

use std::path::Path;

use redis::cmd;

use crate::comparison::keys::{CODED, INDEXED, IRREGULAR, PACKED, SCHEMA, SIMPLE, THEIRS, TIMED};
use crate::comparison::Key;
use crate::results::Record;
use crate::server::Setting;
use crate::session::Session;

const MEMBERS: u64 = 100_000;

/// A name, and what is filled.
type Layout = (&'static str, Key);

const fn each(fill: &'static str) -> Key {
    Key::filled(fill)
}

const LAYOUTS: &[Layout] = &[
    ("sorted set (ZADD)", THEIRS),
    ("plain: one score", SCHEMA),
    ("packed: DIGITS 7 and 6", PACKED),
    ("coded: FLOAT with TIES FIRST", TIMED),
    ("coded: three INT", CODED),
    ("coded, index entry: 63-bit INT, TIES FIRST", INDEXED),
    ("coded, index entry: long decimals, TIES FIRST", IRREGULAR),
    (
        "coded, two index entries: two INT of 63 bits",
        Key::board("RANK.CREATE two FIELD a INT FIELD b INT", "RANK.ADD two $wide $wide $each"),
    ),
    (
        "coded, three index entries: three INT of 63 bits",
        Key::board("RANK.CREATE most FIELD a INT FIELD b INT FIELD c INT", "RANK.ADD most $wide $wide $wide $each"),
    ),
    ("by hand: sorted set + hash of two more scores", SIMPLE),
    (
        "by hand: sorted set of packed members + hash",
        each("ZADD hand $score 0123456789abcdef$each ; HSET hand:members $each 0123456789abcdef$each"),
    ),
    ("attributes alone: 30 bytes of JSON", each("HSET data $each {\"name\":\"Ann\",\"country\":\"PT\"}")),
    ("an item of a schedule", each("DUE.ADD jobs AT $tick $each")),
    ("a call in a SLIDING log of 100,000", each("RATE.CHECK log 100000 1d")),
    ("a lease, 100,000 on one key", each("RATE.ACQUIRE pool 100000 1d")),
    ("string with an expiry (SET PX)", each("SET $each 100 PX 86400000")),
    ("limiter: FIXED", each("RATE.CHECK $each 100 1d FIXED")),
    ("limiter: CALENDAR", each("RATE.CHECK $each 100 day CALENDAR")),
    ("limiter: COUNTER", each("RATE.CHECK $each 100 1d COUNTER")),
    ("limiter: GCRA", each("RATE.CHECK $each 100 1d GCRA")),
    ("limiter: GCRA, two rules", each("RATE.CHECK $each 100/1d 10/1m GCRA")),
    ("limiter: SLIDING, one call", each("RATE.CHECK $each 100 1d")),
    ("limiter: SLIDING, 100 calls", each("RATE.CHECK calls:$slot 100 1d")),
    ("limiter: one lease", each("RATE.ACQUIRE $each 100 1d")),
    ("limiter: 100 leases", each("RATE.ACQUIRE leases:$slot 100 1d")),
];

pub fn measure(program: &Path, mut put: impl FnMut(Record)) {
    let mut session = Session::start(program, MEMBERS, Setting::Quiet);
    let used = |session: &Session| {
        let field = |name| session.server.info(name).parse::<f64>().expect("a number of bytes");
        field("used_memory") - field("mem_clients_normal")
    };
    for (name, key) in LAYOUTS {
        cmd("FLUSHALL").arg("SYNC").query::<()>(&mut session.con).expect("FLUSHALL");
        let before = used(&session);
        session.fill(&[key]);
        // `$slot` counts to a thousand.
        let keys = if key.fill.contains("$slot") { 1000 } else { MEMBERS };
        let bytes = (used(&session) - before) / keys as f64;
        put(Record::new("memory", &session.name, name, MEMBERS, &[("bytes", bytes)]));
    }
}
