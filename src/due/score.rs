//! How a score encodes the state of an item.
//!
//! A waiting item has its time as its score. A claimed item has a negative whole number, -2^53 plus 53 bits:
//!
//! | bits | |
//! |---|---|
//! | 41 | the end of the lease, in milliseconds since 2020 |
//! | 6 | a serial number, which every claim and every move advances |
//! | 5 | attempts, 1 to 31 |
//! | 1 | the mark: due again as soon as it is acknowledged |
//!
//! Every such number is an exact double, and claims sort by the ends of their leases. The last 2^31 ms of the range of
//! times are not used, so scores above -2^43 are never claims: neither small negative numbers nor negated times.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::duration::MILLIS_OF_DAY;
use crate::error::{Error, Result};

/// All times of waiting items are before this one: 2^44 ms, in the year 2527.
const END_OF_TIME: i64 = 1 << 44;
/// Leases are counted from here: the beginning of 2020.
const LEASE_EPOCH: i64 = 1_577_836_800_000;

const LEASE_BITS: u32 = 41;
const SERIAL_BITS: u32 = 6;
const ATTEMPT_BITS: u32 = 5;
/// The bits below the end of the lease: serial number, attempts and mark.
const LOW_BITS: u32 = SERIAL_BITS + ATTEMPT_BITS + 1;
/// The end of the range of leases that is not used.
const UNUSED_LEASES: i64 = 1 << 31;
const MAX_ATTEMPT: i64 = (1 << ATTEMPT_BITS) - 1;
/// The score of the lowest claim, if the first attempt had the number 0.
const LOWEST_CLAIM: i64 = -(1 << (LEASE_BITS + LOW_BITS));

/// The latest time an item can have, in Unix milliseconds.
pub const MAX_TIME_MS: i64 = END_OF_TIME - 1;
/// The latest end of a lease, in Unix milliseconds.
const MAX_LEASE_END_MS: i64 = LEASE_EPOCH + (1 << LEASE_BITS) - UNUSED_LEASES - 1;
/// The longest lease, wait or delay: a hundred years.
pub const MAX_DURATION_MS: u64 = 36_500 * MILLIS_OF_DAY;
/// The latest value of the clock: the longest delay from then on still ends before `END_OF_TIME`.
pub const MAX_NOW_MS: i64 = MAX_TIME_MS - MAX_DURATION_MS as i64;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ItemState {
    /// Nobody holds it. It is due at this time.
    Waiting(i64),
    /// A client has claimed it. The lease may have ended.
    Claimed(Claim),
    /// The score is neither a time nor a claim: the item is never due.
    Invalid,
}

/// When a lease ends, in Unix milliseconds: a time that a score can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseEnd(i64);

impl LeaseEnd {
    /// An error for times that a score cannot hold.
    pub fn new(ms: i64) -> Result<LeaseEnd> {
        let (least, most) = (LEASE_EPOCH, MAX_LEASE_END_MS);
        if (least..=most).contains(&ms) {
            Ok(LeaseEnd(ms))
        } else {
            Err(Error::lease_end(least, most, ms))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The end of the lease, in Unix milliseconds. From then on the item is due again.
    pub until: i64,
    /// Differs between two claims of an item, unless a multiple of 64 claims lies between them.
    pub serial: i64,
    /// How often the item has been claimed, from 1 up to 31, where it stays.
    pub attempt: i64,
    /// It is due again as soon as it is acknowledged.
    pub again: bool,
}

impl Claim {
    /// The claim that follows an earlier one.
    pub fn after(before: Option<Claim>, until: LeaseEnd, serials: &Serials) -> Claim {
        let attempt = before.map_or(1, |before| before.attempt.saturating_add(1).min(MAX_ATTEMPT));
        Claim { until: until.0, serial: serials.next(), attempt, again: false }
    }

    /// The same claim with another end, and another token.
    pub fn moved(self, until: LeaseEnd, serials: &Serials) -> Claim {
        Claim { until: until.0, serial: serials.next(), ..self }
    }

    /// The token that acknowledges the item: all bits but the mark, which may be set while a client holds the item.
    pub fn token(self) -> i64 {
        self.bits() >> 1
    }

    pub fn score(self) -> f64 {
        LOWEST_CLAIM.saturating_add(self.bits()) as f64
    }

    fn bits(self) -> i64 {
        let lease = self.until.saturating_sub(LEASE_EPOCH) << LOW_BITS;
        lease | self.serial << (ATTEMPT_BITS + 1) | self.attempt << 1 | i64::from(self.again)
    }

    /// The claim with this score, if it is one.
    fn of(score: f64) -> Option<Claim> {
        if !CLAIMED.contains(&score) || score.fract() != 0.0 {
            return None;
        }
        let bits = (score as i64).saturating_sub(LOWEST_CLAIM);
        let claim = Claim {
            until: (bits >> LOW_BITS).saturating_add(LEASE_EPOCH),
            serial: bits >> (ATTEMPT_BITS + 1) & ((1 << SERIAL_BITS) - 1),
            attempt: bits >> 1 & MAX_ATTEMPT,
            again: bits & 1 == 1,
        };
        (claim.attempt > 0).then_some(claim)
    }
}

pub struct Serials {
    next: AtomicU64,
}

impl Serials {
    pub const fn starting_from(number: u64) -> Serials {
        Serials { next: AtomicU64::new(number) }
    }

    pub fn restart_from(&self, number: u64) {
        self.next.store(number, Relaxed);
    }

    /// A number that is another one in each millisecond and after each claim (splitmix64).
    pub(super) fn random(&self, now: i64) -> u64 {
        let claims = self.next.load(Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = claims.wrapping_add(now.cast_unsigned()).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn next(&self) -> i64 {
        let number = self.next.fetch_add(1, Relaxed) & ((1 << SERIAL_BITS) - 1);
        number.cast_signed()
    }
}

pub(super) const WAITING: Range<f64> = 0.0..END_OF_TIME as f64;
/// The scores of all claims. Other numbers in this range are invalid.
pub(super) const CLAIMED: Range<f64> = LOWEST_CLAIM as f64..-(UNUSED_LEASES << LOW_BITS) as f64;

pub(super) fn due_by(now: i64) -> Range<f64> {
    WAITING.start..now.saturating_add(1) as f64
}

pub(super) fn lapsed_by(now: i64) -> Range<f64> {
    let after = now.saturating_add(1).clamp(LEASE_EPOCH, MAX_LEASE_END_MS.saturating_add(1));
    let lease = after.saturating_sub(LEASE_EPOCH) << LOW_BITS;
    CLAIMED.start..LOWEST_CLAIM.saturating_add(lease) as f64
}

impl ItemState {
    /// Decodes a score. The fraction of a waiting item's time is ignored.
    pub fn of(score: f64) -> ItemState {
        if WAITING.contains(&score) {
            return ItemState::Waiting(score.floor() as i64);
        }
        Claim::of(score).map_or(ItemState::Invalid, ItemState::Claimed)
    }

    /// When the item is due; `None` if it never is.
    pub fn due(self) -> Option<i64> {
        match self {
            ItemState::Waiting(due) => Some(due),
            ItemState::Claimed(claim) => Some(claim.until),
            ItemState::Invalid => None,
        }
    }

    /// The claim, even if its lease has ended.
    pub fn claim(self) -> Option<Claim> {
        match self {
            ItemState::Claimed(claim) => Some(claim),
            _ => None,
        }
    }
}
