//! Rate limiters, pure: a request, a clock and the stored state go in; a verdict and what to write come out.
//!
//! The server side parses with [`Request::parse`], shows the key through [`Log`] (sorted set) or [`Fields`] (hash), asks
//! [`check_log`] or [`check_hash`], and applies the write it gets back, if any. A denied call, a peek and a cost of 0 give
//! no write at all.
//!
//! Times are microseconds since the epoch. All arithmetic is on integers: what a double would round away is what lets a
//! limiter leak.

mod clock;
mod counter;
mod fixed;
mod gcra;
mod hash;
mod log;
#[cfg(any(test, fuzzing))]
#[allow(missing_docs)]
pub mod memory;
mod request;
mod rule;
mod sliding;
mod text;
mod verdict;

#[cfg(test)]
mod tests;

pub use clock::Clock;
pub use hash::{check_hash, recognise_hash, Fields, HashWrite};
pub use log::{Entry, Log};
pub use request::{Algorithm, Request};
pub use sliding::{check_log, recognise_log, Append};
pub use verdict::Mode;
