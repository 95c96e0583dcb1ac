//! Rate limiters and leases, pure: a request, a clock and the stored state go in; a verdict and what to write come out.
//!
//! A command parses its arguments with [`Request::parse`], opens each key as a [`LimiterKey`], and calls [`run`], which
//! evaluates every key, writes, and returns the answer. A peek and a cost of 0 write nothing, nor does a denied call
//! without `FORCE` or `PENALTY`. [`Leases`] does the same for leases.
//!
//! Times are microseconds since the epoch. All arithmetic uses integers: with doubles, rounding could let too many
//! calls through.

mod call;
mod clock;
mod counter;
mod digits;
mod fixed;
mod gcra;
mod lease;
mod log;
#[cfg(any(test, fuzzing))]
pub mod memory;
mod request;
mod sliding;
mod strings;
mod text;

#[cfg(test)]
mod tests;

pub use call::{run, Allowance, Answer, KeyRules, LimiterKey, More, Verdict};
pub use clock::Clock;
pub use lease::{is_leases, token, Leases};
pub use log::{is_log, LogEntry};
pub use request::{
    parse_duration, parse_key_count, parse_limit, parse_now, Action, Algorithm, Request, Rule, RuleList,
};
pub use text::{is_string_limiter, SHORTEST_TEXT};

/// What a limiter's key may hold, for errors.
pub const LOG: &str = "a SLIDING limiter, a sorted set";
pub const LEASES: &str = "leases, a sorted set";
pub const STRING_LIMITER: &str = "a FIXED, COUNTER, GCRA or CALENDAR limiter, a string";
