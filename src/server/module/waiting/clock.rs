//! The two clocks of waits, and when keys that clients wait for are checked: few keys often, many keys evenly spread over
//! time. Reads clocks, and nothing else of the server.

use crate::server::api::Ctx;

/// The time on both clocks.
pub struct Now {
    /// Milliseconds of the monotonic clock. Deadlines and checks use it.
    pub ticks: u64,
    /// Unix milliseconds of the server's clock, which can be set. Due times use it.
    pub server_ms: i64,
}

impl Now {
    pub fn read(ctx: Ctx) -> Now {
        Now { ticks: ctx.monotonic_micros() / 1_000, server_ms: ctx.now() }
    }

    /// The time on a client's own clock, which is so many milliseconds ahead of the monotonic one.
    pub fn on_own_clock(&self, ahead: i64) -> i64 {
        ahead.saturating_add_unsigned(self.ticks)
    }
}

/// How long clients are served before the server runs what others sent.
const TURN_MICROS: u64 = 1_000;

/// The time of one turn.
#[derive(Clone, Copy)]
pub struct Budget {
    ends: u64,
}

impl Budget {
    pub fn start(ctx: Ctx) -> Budget {
        Budget { ends: ctx.monotonic_micros().saturating_add(TURN_MICROS) }
    }

    pub fn is_spent(&self, ctx: Ctx) -> bool {
        ctx.monotonic_micros() >= self.ends
    }
}

/// Regular checks are at multiples of this many milliseconds, so that the server wakes up for many keys at once.
const BUCKET_MS: u64 = 10;
/// A key is checked this often, in milliseconds, if clients wait for few keys.
const SHORTEST_MS: u64 = 100;
/// A key is checked at least this often, in milliseconds, for however many keys clients wait.
const LONGEST_MS: u64 = 500;
/// A key is checked this often, in milliseconds, if its checks are costly.
const COSTLY_MS: u64 = 1_000;
/// How many keys may be checked in a millisecond before each is checked less often.
const KEYS_PER_MS: u64 = 20;
/// How many keys with successive ids are checked together. What belongs to them is often close together in memory,
/// which halves the time of a check.
const TOGETHER: u64 = 20;

/// When the key of the queue with this id is checked next, if clients wait for `keys` keys. Ids begin with 0 and are used
/// again, so the checks are spread evenly. The time depends on the id alone, so a delay of the server does not bunch
/// them up for good.
pub fn regular_check(ticks: u64, id: u64, keys: u64) -> u64 {
    let buckets = (keys / KEYS_PER_MS).clamp(SHORTEST_MS, LONGEST_MS) / BUCKET_MS;
    let next = (ticks / BUCKET_MS).saturating_add(1);
    let wait = (id / TOGETHER % buckets + buckets - next % buckets) % buckets;
    next.saturating_add(wait).saturating_mul(BUCKET_MS)
}

/// When a key is checked next whose checks are costly.
pub fn costly_check(ticks: u64) -> u64 {
    ticks.saturating_add(COSTLY_MS)
}

#[cfg(test)]
mod tests;
