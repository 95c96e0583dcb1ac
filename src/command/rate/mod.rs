//! `RATE.*`: rate limits and leases. `CL.THROTTLE` of redis-cell is one of them.

mod cell;
mod check;
mod lease;

pub use cell::THROTTLE;
pub use check::{ALL, CHECK, PEEK, REFUND, RESET, SETTLE};
pub use lease::{ACQUIRE, HELD, RELEASE, RENEW};
