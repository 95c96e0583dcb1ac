//! Time that only goes forward.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Milliseconds since some moment. Deadlines and timers go by them, due times by the server's clock, which may be set.
pub fn ticks() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the answer; should there be none, it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    let (seconds, nanos) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    seconds.saturating_mul(1_000).saturating_add(nanos / 1_000_000)
}

/// How far the server's clock was ahead of the ticks when last asked.
static AHEAD: AtomicI64 = AtomicI64::new(i64::MIN);

/// A clock that was set back by less matters to no timer.
const SLACK_MS: i64 = 50;

/// Whether the server's clock has been set back since this was last asked: its timers go by it, and would be late.
pub fn was_set_back(now_ms: i64) -> bool {
    let ahead = now_ms.saturating_sub_unsigned(ticks());
    let before = AHEAD.swap(ahead, Relaxed);
    ahead < before.saturating_sub(SLACK_MS)
}
