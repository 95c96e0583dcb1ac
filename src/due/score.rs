//! How a score encodes the state of an item.

use crate::duration::MILLIS_OF_DAY;

/// All times are before this one: 2^44 ms, in the year 2527. A time below it fits into a double with nine bits of
/// fraction.
const END_OF_TIME: i64 = 1 << 44;
/// Attempts are below this number, both in a token and in the fraction of a score.
const ATTEMPTS: i64 = 512;

/// The latest time an item can have, in Unix milliseconds.
pub const MAX_TIME_MS: i64 = END_OF_TIME - 1;
/// The longest lease, wait or delay: a hundred years.
pub const MAX_DURATION_MS: u64 = 36_500 * MILLIS_OF_DAY;
/// The latest value of the clock: the longest lease that begins then still ends before `END_OF_TIME`.
pub const MAX_NOW_MS: i64 = MAX_TIME_MS - MAX_DURATION_MS as i64;

/// The state of an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// Nobody holds it. It is due at this time.
    Waiting(i64),
    /// A client has claimed it. The lease may have ended.
    Claimed(Hold),
    /// The score is neither a time nor a claim: the item is never due.
    Invalid,
}

/// A claim: when it ends, and how often the item has been claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The end of the lease. From then on the item is due again.
    pub until: i64,
    /// Counted from 1 up to 511, where it stays.
    pub attempt: i64,
}

impl Hold {
    /// The claim that follows an earlier one. Its lease always ends later than the earlier one, so that its token is
    /// different.
    pub fn after(before: Option<Hold>, until: i64) -> Hold {
        match before {
            None => Hold { until, attempt: 1 },
            Some(before) => Hold {
                until: until.max(before.until.saturating_add(1)),
                attempt: before.attempt.saturating_add(1).min(ATTEMPTS - 1),
            },
        }
    }

    /// The token that acknowledges the item.
    pub fn token(self) -> i64 {
        self.until.saturating_mul(ATTEMPTS).saturating_add(self.attempt)
    }

    /// The score of the item. It is negative, which keeps claimed items apart from waiting ones.
    pub fn score(self) -> f64 {
        lowest_claim(self.until) + self.attempt as f64 / ATTEMPTS as f64
    }
}

/// The lowest score of a claim that ends at `until` or later.
fn lowest_claim(until: i64) -> f64 {
    until.saturating_sub(END_OF_TIME) as f64
}

/// A range of scores that excludes its end.
pub(super) type Scores = (f64, f64);

/// The scores of all waiting items.
pub(super) const WAITING: Scores = (0.0, END_OF_TIME as f64);
/// The scores of all claims. Other negative numbers in this range are invalid.
pub(super) const CLAIMED: Scores = (-END_OF_TIME as f64, 0.0);

/// The scores of waiting items that are due.
pub(super) fn due_by(now: i64) -> Scores {
    (WAITING.0, now.saturating_add(1) as f64)
}

/// The scores of claims whose leases have ended.
pub(super) fn lapsed_by(now: i64) -> Scores {
    (CLAIMED.0, lowest_claim(now.saturating_add(1)))
}

impl State {
    /// Decodes a score. The fraction of a waiting item's time is ignored.
    pub fn of(score: f64) -> State {
        if !(CLAIMED.0..WAITING.1).contains(&score) {
            return State::Invalid;
        }
        let whole = score.floor();
        if score >= 0.0 {
            return State::Waiting(whole as i64);
        }
        let attempt = ((score - whole) * ATTEMPTS as f64) as i64;
        let hold = Hold { until: (whole as i64).saturating_add(END_OF_TIME), attempt };
        // A number close to a claim's score is not a claim.
        let is_claim = (1..ATTEMPTS).contains(&attempt) && hold.score() == score;
        if is_claim {
            State::Claimed(hold)
        } else {
            State::Invalid
        }
    }

    /// When the item is due; `None` if it never is.
    pub fn due(self) -> Option<i64> {
        match self {
            State::Waiting(due) => Some(due),
            State::Claimed(hold) => Some(hold.until),
            State::Invalid => None,
        }
    }

    /// The claim, even if its lease has ended.
    pub fn hold(self) -> Option<Hold> {
        match self {
            State::Claimed(hold) => Some(hold),
            _ => None,
        }
    }
}
