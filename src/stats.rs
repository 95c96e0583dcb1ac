//! Counters since the module was loaded, shown by `INFO rank`, for an operator's graphs.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter, with the name that `INFO` shows.
pub struct Counter {
    /// Without the module's.
    pub name: &'static str,
    value: AtomicU64,
}

impl Counter {
    const fn new(name: &'static str) -> Counter {
        Counter { name, value: AtomicU64::new(0) }
    }

    /// Counts so many more.
    pub fn add(&self, count: u64) {
        // The server runs commands one at a time, so this needs no atomic addition.
        self.value.store(self.get().wrapping_add(count), Ordering::Relaxed);
    }

    /// How many there were.
    pub fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}

/// Calls of any command of the module.
pub static CALLS: Counter = Counter::new("calls");
/// Calls that ended with an error.
pub static ERRORS: Counter = Counter::new("errors");
/// Calls that changed something.
pub static WRITES: Counter = Counter::new("writes");
/// Newcomers that a full board refused.
pub static REFUSED: Counter = Counter::new("members_refused");
/// Members that a better one pushed out of a bounded board.
pub static EVICTED: Counter = Counter::new("members_evicted");
/// Calls that met a damaged board.
pub static DAMAGED: Counter = Counter::new("damaged");

/// Calls of `RATE.CHECK … SLIDING`.
pub static SLIDING: Verdicts = Verdicts::new("rate_sliding_allowed", "rate_sliding_denied");
/// The same for `FIXED`.
pub static FIXED: Verdicts = Verdicts::new("rate_fixed_allowed", "rate_fixed_denied");
/// The same for `COUNTER`.
pub static COUNTER: Verdicts = Verdicts::new("rate_counter_allowed", "rate_counter_denied");
/// The same for `GCRA`.
pub static GCRA: Verdicts = Verdicts::new("rate_gcra_allowed", "rate_gcra_denied");

/// The same for `CALENDAR`.
pub static CALENDAR: Verdicts = Verdicts::new("rate_calendar_allowed", "rate_calendar_denied");
/// The same for `RATE.ACQUIRE`.
pub static LEASES: Verdicts = Verdicts::new("rate_leases_granted", "rate_leases_denied");

/// Calls that passed and that were denied.
pub struct Verdicts {
    allowed: Counter,
    denied: Counter,
}

impl Verdicts {
    const fn new(allowed: &'static str, denied: &'static str) -> Verdicts {
        Verdicts { allowed: Counter::new(allowed), denied: Counter::new(denied) }
    }

    /// Counts a call.
    pub fn add(&self, denied: bool) {
        if denied {
            self.denied.add(1);
        } else {
            self.allowed.add(1);
        }
    }
}

/// All that `INFO` shows.
pub static ALL: [&Counter; 18] = [
    &CALLS,
    &ERRORS,
    &WRITES,
    &REFUSED,
    &EVICTED,
    &DAMAGED,
    &SLIDING.allowed,
    &SLIDING.denied,
    &FIXED.allowed,
    &FIXED.denied,
    &COUNTER.allowed,
    &COUNTER.denied,
    &GCRA.allowed,
    &GCRA.denied,
    &CALENDAR.allowed,
    &CALENDAR.denied,
    &LEASES.allowed,
    &LEASES.denied,
];
