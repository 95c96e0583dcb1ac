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

/// Calls of `RATE.CHECK` that passed and that were denied, one pair for each algorithm.
pub static SLIDING: Verdicts = Verdicts::new("rate_sliding_allowed", "rate_sliding_denied");
pub static FIXED: Verdicts = Verdicts::new("rate_fixed_allowed", "rate_fixed_denied");
pub static COUNTER: Verdicts = Verdicts::new("rate_counter_allowed", "rate_counter_denied");
pub static GCRA: Verdicts = Verdicts::new("rate_gcra_allowed", "rate_gcra_denied");

pub struct Verdicts {
    allowed: Counter,
    denied: Counter,
}

impl Verdicts {
    const fn new(allowed: &'static str, denied: &'static str) -> Verdicts {
        Verdicts { allowed: Counter::new(allowed), denied: Counter::new(denied) }
    }

    pub fn add(&self, denied: bool) {
        if denied {
            self.denied.add(1);
        } else {
            self.allowed.add(1);
        }
    }
}

pub static ALL: [&Counter; 16] = [
    &CALLS,
    &ERRORS,
    &WRITES,
    &REFUSED,
    &EVICTED,
    &REBUILT,
    &DROPPED,
    &FOLLOWED,
    &SLIDING.allowed,
    &SLIDING.denied,
    &FIXED.allowed,
    &FIXED.denied,
    &COUNTER.allowed,
    &COUNTER.denied,
    &GCRA.allowed,
    &GCRA.denied,
];
