//! What an operator would graph: counters since the module was loaded, shown by `INFO rank`.

use std::sync::atomic::{AtomicU64, Ordering};

pub struct Counter {
    pub name: &'static str,
    value: AtomicU64,
}

impl Counter {
    const fn new(name: &'static str) -> Counter {
        Counter { name, value: AtomicU64::new(0) }
    }

    pub fn add(&self, count: u64) {
        // The server runs commands one at a time: a plain addition, made legal.
        self.value.store(self.get().wrapping_add(count), Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}

/// Calls of any command of the module.
pub static CALLS: Counter = Counter::new("calls");
/// Calls that ended with an error.
pub static ERRORS: Counter = Counter::new("errors");
/// Boards and companions that a call changed.
pub static WRITES: Counter = Counter::new("writes");
/// Newcomers that a full board did not take.
pub static REFUSED: Counter = Counter::new("members_refused");
/// Members that left a bounded board for a better one.
pub static EVICTED: Counter = Counter::new("members_evicted");
/// Companions that were rebuilt by a write.
pub static REBUILT: Counter = Counter::new("companions_rebuilt");
/// Companions that were dropped because their board was gone.
pub static DROPPED: Counter = Counter::new("companions_dropped");
/// Companions that went along with a renamed or moved board.
pub static FOLLOWED: Counter = Counter::new("companions_followed");

pub static ALL: [&Counter; 8] = [&CALLS, &ERRORS, &WRITES, &REFUSED, &EVICTED, &REBUILT, &DROPPED, &FOLLOWED];
