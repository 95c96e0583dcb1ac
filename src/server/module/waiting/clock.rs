//! A clock that only goes forward.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Milliseconds of the monotonic clock. Deadlines and timers use it. Due times use the server's clock, which can be
/// set.
pub fn ticks() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the call. If the call fails, it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    let (seconds, nanos) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    seconds.saturating_mul(1_000).saturating_add(nanos / 1_000_000)
}

/// How far the server's clock was ahead of `ticks` at the last call of `was_set_back`.
static AHEAD: AtomicI64 = AtomicI64::new(i64::MIN);

/// If the clock is set back by less than this, the timer does not have to be restarted.
const SLACK_MS: i64 = 50;

/// Whether the server's clock was set back since the last call. The server's timers use this clock and would fire
/// late.
pub fn was_set_back(now_ms: i64) -> bool {
    let ahead = now_ms.saturating_sub_unsigned(ticks());
    let before = AHEAD.swap(ahead, Relaxed);
    ahead < before.saturating_sub(SLACK_MS)
}
