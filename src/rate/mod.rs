//! Rate limiters and leases, pure: a request, a clock and the stored state go in; a verdict and what to write come out.
//!
//! A command parses its arguments with [`Request::parse`], opens each key as a [`LimiterKey`], and calls [`run`], which
//! evaluates every key, writes, and returns the answer. A peek and a cost of 0 write nothing, nor does a denied call
//! without `FORCE` or `PENALTY`. [`Holders`] does the same for leases.
//!
//! Times are microseconds since the epoch. All arithmetic uses integers: with doubles, rounding could let too many
//! calls through.

mod call;
mod clock;
mod counter;
mod digits;
mod duration;
mod fixed;
mod gcra;
mod lease;
mod limiter_text;
mod log;
#[cfg(any(test, fuzzing))]
pub mod memory;
mod request;
mod rule;
mod sliding;
mod strings;
mod verdict;
mod window;

#[cfg(test)]
mod tests;

pub use call::{run, Answer, KeyRules, LimiterKey};
pub use clock::Clock;
pub use duration::parse_duration;
pub use lease::{is_leases, token, Holders};
pub use limiter_text::SHORTEST_TEXT;
pub use log::{is_log, Entry};
pub use request::{parse_key_count, parse_now, Action, Algorithm, Request, RuleList};
pub use rule::{parse_limit, Rule};
pub use strings::{is_string_limiter, StringWrite};
pub use verdict::Verdict;

/// What a limiter's key may hold, for errors.
pub const LOG: &str = "a SLIDING limiter, a sorted set";
pub const LEASES: &str = "leases, a sorted set";
pub const NUMBERS: &str = "a FIXED, COUNTER, GCRA or CALENDAR limiter, a string";
