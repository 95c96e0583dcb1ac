//! The time of a call: the caller's clock (`NOW`), which verdicts use, and the server's, which expiries use.

/// The latest time a limiter can record: sorted-set scores are doubles, exact up to here.
pub(super) const MAX_MICROS: i64 = 1 << 53;
pub(super) const MICROS_OF_MILLI: u64 = 1_000;
pub(super) const MAX_MILLIS: u64 = MAX_MICROS as u64 / MICROS_OF_MILLI;

/// Verdicts use the caller's clock. The server's clock is only used for the expiry. Without `NOW` they are the same.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    caller: i64,
    server: i64,
}

impl Clock {
    /// `caller_micros` is what `NOW` said, if the call has it.
    pub fn new(server_micros: i64, caller_micros: Option<i64>) -> Clock {
        let server = server_micros.clamp(0, MAX_MICROS);
        let caller = caller_micros.map_or(server, |micros| micros.clamp(0, MAX_MICROS));
        Clock { caller, server }
    }

    /// The same, but the caller's clock is not before a time.
    pub(super) fn not_earlier(self, micros: i64) -> Clock {
        Clock { caller: self.caller.max(micros), ..self }
    }

    /// The time that verdicts use: if the clock is behind the newest recorded time, it is that time.
    pub(super) fn not_before(self, newest: Option<i64>) -> i64 {
        newest.map_or(self.caller, |newest| newest.max(self.caller))
    }

    /// Microseconds the caller has to wait for a moment; 0 if it has passed.
    pub(super) fn until(self, micros: i64) -> u128 {
        u128::try_from(micros.saturating_sub(self.caller)).unwrap_or(0)
    }

    /// When a key can expire that matters for `wait` microseconds on the caller's clock. It counts from the later of the
    /// two clocks, so that a replay of old times does not write keys that have already expired. Rounded down, because the
    /// server keeps a key until the end of the millisecond in which it expires.
    pub(super) fn expire_at_ms(self, wait: u128) -> i64 {
        let now = u128::from(self.caller.max(self.server).unsigned_abs());
        millis(now.saturating_add(wait))
    }

    /// This many milliseconds after the current one on the caller's clock.
    pub(super) fn after_millis(self, millis: u64) -> u64 {
        (self.caller.unsigned_abs() / MICROS_OF_MILLI).saturating_add(millis)
    }

    /// Microseconds until a key expires that has this expiry.
    pub(super) fn until_expiry(self, at_ms: i64) -> u128 {
        let at = at_ms.saturating_mul(MICROS_OF_MILLI as i64);
        u128::try_from(at.saturating_sub(self.caller.max(self.server))).unwrap_or(0)
    }
}

/// How much later than needed a key may expire, so that most calls need not move its expiry: an eighth of the longest
/// window, and at least a second. In microseconds, as the window.
pub(super) fn slack(window: u64) -> u64 {
    (window / 8).max(1_000 * MICROS_OF_MILLI)
}

/// A time that a string limiter stores, in microseconds.
pub(super) fn micros_of(millis: u64) -> i64 {
    i64::try_from(millis.saturating_mul(MICROS_OF_MILLI)).unwrap_or(i64::MAX)
}

/// Rounded up: a wait that is too short would lead to another denied call.
pub(super) fn millis_rounded_up(micros: u128) -> i64 {
    millis(micros.saturating_add(999))
}

/// Rounded down; the largest value if it does not fit.
pub(super) fn millis(micros: u128) -> i64 {
    match i64::try_from(micros) {
        Ok(micros) => micros / 1_000,
        Err(_) => i64::try_from(micros / 1_000).unwrap_or(i64::MAX),
    }
}
