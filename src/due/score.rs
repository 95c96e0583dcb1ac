//! What a score says of its item.

use crate::duration::MILLIS_OF_DAY;

/// No time is as late as this: 2^44 ms, in the year 2527. What lies below it fits a double beside nine bits of fraction.
const END_OF_TIME: i64 = 1 << 44;
/// A token has room for so many attempts, and so has the fraction of a score.
const ATTEMPTS: i64 = 512;

/// The latest time an item can have, in Unix milliseconds.
pub const MAX_TIME_MS: i64 = END_OF_TIME - 1;
/// The longest lease, wait or delay: a hundred years.
pub const MAX_DURATION_MS: u64 = 36_500 * MILLIS_OF_DAY;
/// The latest time that it can be: a lease that begins then still ends before the end of time.
pub const MAX_NOW_MS: i64 = MAX_TIME_MS - MAX_DURATION_MS as i64;

/// What an item does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// Nobody has it; it is due at this time.
    Waiting(i64),
    /// Somebody claimed it.
    Claimed(Hold),
    /// The score is neither a time nor a claim: the item is never due.
    Invalid,
}

/// A claim of an item: until when, and how often the item has been claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The end of the lease; from then on the item is due again.
    pub until: i64,
    /// From 1; it stays at the most that fits.
    pub attempt: i64,
}

impl Hold {
    /// The next claim of an item, which had this one before. Its lease ends later than the one before it, so that the
    /// token is another one.
    pub fn after(before: Option<Hold>, until: i64) -> Hold {
        match before {
            None => Hold { until, attempt: 1 },
            Some(before) => Hold {
                until: until.max(before.until.saturating_add(1)),
                attempt: before.attempt.saturating_add(1).min(ATTEMPTS - 1),
            },
        }
    }

    /// What the claimer acknowledges the item with.
    pub fn token(self) -> i64 {
        self.until.saturating_mul(ATTEMPTS).saturating_add(self.attempt)
    }

    /// The score of the item; negative, so that claimed items are not among those that wait.
    pub fn score(self) -> f64 {
        lowest_claim(self.until) + self.attempt as f64 / ATTEMPTS as f64
    }
}

/// The claims that end at `until` or later have scores from here on.
fn lowest_claim(until: i64) -> f64 {
    until.saturating_sub(END_OF_TIME) as f64
}

/// A range of scores, without its end.
pub(super) type Scores = (f64, f64);

/// The scores of all waiting items.
pub(super) const WAITING: Scores = (0.0, END_OF_TIME as f64);
/// The scores of all claims, and of other negative numbers.
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
    /// What a score says. A fraction of a millisecond of a waiting item is ignored.
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
        // A claim is what a claim would be written as, and nothing near it.
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

    /// The claim, live or lapsed.
    pub fn hold(self) -> Option<Hold> {
        match self {
            State::Claimed(hold) => Some(hold),
            _ => None,
        }
    }
}
