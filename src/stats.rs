//! Counters since the module was loaded, shown by `INFO rank`, for an operator's graphs. A call adds to one or two of
//! them; totals are summed when they are shown.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

use crate::error::{Error, ErrorKind};

/// A counter, with the name that `INFO` shows, without the prefix `rank_`.
pub struct Counter {
    name: &'static str,
    value: AtomicU64,
}

impl Counter {
    const fn new(name: &'static str) -> Counter {
        Counter { name, value: AtomicU64::new(0) }
    }

    pub fn add(&self, count: u64) {
        // The server runs commands one at a time, so this needs no atomic addition.
        self.value.store(self.get().wrapping_add(count), Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}

pub struct Family {
    calls: Counter,
    errors: Counter,
    /// What was refused although the call was valid.
    pub denied: Counter,
}

impl Family {
    const fn new(calls: &'static str, errors: &'static str, denied: &'static str) -> Family {
        Family { calls: Counter::new(calls), errors: Counter::new(errors), denied: Counter::new(denied) }
    }

    /// The family of a command, by its name in lower case.
    pub const fn of(command: &str) -> &'static Family {
        match command.as_bytes() {
            [b'r', b'a', b'n', b'k', b'.', ..] => &RANK,
            [b'd', b'u', b'e', b'.', ..] => &DUE,
            // `CL.THROTTLE` is a limiter too.
            _ => &RATE,
        }
    }

    pub fn calls(&self) -> u64 {
        self.calls.get()
    }

    pub fn called(&self) {
        self.calls.add(1);
    }

    pub fn failed(&self, error: &Error) {
        self.errors.add(1);
        match error.kind() {
            ErrorKind::Damaged => DAMAGED.add(1),
            ErrorKind::TooBig => TOO_BIG.add(1),
            _ => {}
        }
    }
}

/// `RANK.*`. Denied: newcomers that a full board refused.
pub static RANK: Family = Family::new("rank_calls", "rank_errors", "members_refused");
/// `RATE.*` and `CL.THROTTLE`. Denied: calls and leases.
pub static RATE: Family = Family::new("rate_calls", "rate_errors", "rate_denied");
/// `DUE.*`. Denied: tokens that are no longer held.
pub static DUE: Family = Family::new("due_calls", "due_errors", "due_denied");

/// Checks of keys that clients wait for.
pub static DUE_CHECKS: Counter = Counter::new("due_checks");
pub static WRITES: Counter = Counter::new("writes");
/// Elements of schedules that were looked at to find what is due.
pub static DUE_ELEMENTS: Counter = Counter::new("due_elements");
/// Turns in which the timer served blocked clients, after each of which the server ran what others sent.
pub static DUE_TURNS: Counter = Counter::new("due_turns");
/// Members that a better one pushed out of a bounded board.
pub static EVICTED: Counter = Counter::new("members_evicted");
/// Members that were written and did not fit their score.
pub static OVERFLOWED: Counter = Counter::new("members_overflowed");
static DAMAGED: Counter = Counter::new("damaged");
static TOO_BIG: Counter = Counter::new("too_big");

pub static SLIDING: Verdicts = Verdicts::new("rate_sliding_allowed", "rate_sliding_denied");
pub static FIXED: Verdicts = Verdicts::new("rate_fixed_allowed", "rate_fixed_denied");
pub static COUNTER: Verdicts = Verdicts::new("rate_counter_allowed", "rate_counter_denied");
pub static GCRA: Verdicts = Verdicts::new("rate_gcra_allowed", "rate_gcra_denied");
pub static CALENDAR: Verdicts = Verdicts::new("rate_calendar_allowed", "rate_calendar_denied");
pub static LEASES: Verdicts = Verdicts::new("rate_leases_granted", "rate_leases_denied");

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
            RATE.denied.add(1);
            self.denied.add(1);
        } else {
            self.allowed.add(1);
        }
    }
}

/// The call that took longest, of those that were timed.
pub struct Slowest(Mutex<(u64, &'static str)>);

pub static SLOWEST: Slowest = Slowest(Mutex::new((0, "none")));

impl Slowest {
    pub fn note(&self, command: &'static str, micros: u64) {
        if let Ok(mut slowest) = self.0.try_lock() {
            if micros > slowest.0 {
                *slowest = (micros, command);
            }
        }
    }

    /// Microseconds, and the command's name. A crash report asks too, and must not wait.
    pub fn get(&self) -> (u64, &'static str) {
        self.0.try_lock().map_or((0, "none"), |slowest| *slowest)
    }
}

/// The counters, in the order in which `INFO` shows them.
pub fn all() -> impl Iterator<Item = (&'static str, u64)> {
    let sum = |of: fn(&Family) -> &Counter| [&RANK, &RATE, &DUE].into_iter().map(|family| of(family).get()).sum();
    let totals = [("calls", sum(|family| &family.calls)), ("errors", sum(|family| &family.errors))];
    let of_family = |family: &'static Family| [&family.calls, &family.errors, &family.denied];
    let limits = [&SLIDING, &FIXED, &COUNTER, &GCRA, &CALENDAR, &LEASES];
    let singles = std::iter::once(&WRITES)
        .chain(of_family(&RANK))
        .chain([&EVICTED, &OVERFLOWED, &DAMAGED, &TOO_BIG])
        .chain(of_family(&RATE))
        .chain(limits.into_iter().flat_map(|limit| [&limit.allowed, &limit.denied]))
        .chain(of_family(&DUE))
        .chain([&DUE_CHECKS, &DUE_ELEMENTS, &DUE_TURNS]);
    totals.into_iter().chain(singles.map(|counter| (counter.name, counter.get())))
}
