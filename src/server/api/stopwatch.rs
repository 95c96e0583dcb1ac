//! How much CPU time a command has used, for commands that end a step before it blocks the server for long.

use std::time::Duration;

/// Measures the CPU time of this thread, so a step does not end earlier because the machine is busy with other work.
pub struct Stopwatch {
    started: Duration,
}

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch { started: spent() }
    }

    pub fn elapsed(&self) -> Duration {
        spent().saturating_sub(self.started)
    }
}

fn spent() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the answer; should there be none, it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}
