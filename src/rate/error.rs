//! Everything that can be wrong with a call or with what is stored, and the words for it.

use std::fmt;

use crate::error::Shown;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateError {
    /// A number that is none, or out of its bounds.
    Number {
        argument: &'static str,
        least: u64,
        most: u64,
        got: Shown,
    },
    NoRule,
    LimitWithoutWindow {
        limit: u64,
    },
    Window {
        got: Shown,
    },
    WindowTwice {
        window_ms: u64,
    },
    LimitOverLog {
        limit: u64,
        max_log: u64,
    },
    UnknownOption {
        got: Shown,
    },
    OptionWithoutValue {
        option: &'static str,
    },
    OptionTwice {
        option: &'static str,
    },
    BurstWithoutGcra,
    /// A sorted set with an element that a log would not have: a leaderboard, say.
    NotALog,
    /// A hash without the header of a limiter, or with one this version does not know.
    NotAHashLimiter,
    /// A field of a limiter's hash that no limiter wrote.
    Field {
        name: Shown,
        value: Shown,
    },
    /// A total of units that would not fit its integer.
    Overflow {
        cost: u64,
    },
}

impl fmt::Display for RateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateError::Number { argument, least, most, got } => {
                write!(out, "{argument} takes {least} to {most}, got {got}")
            }
            RateError::NoRule => write!(out, "rule takes a limit and a window, got none"),
            RateError::LimitWithoutWindow { limit } => write!(out, "limit {limit} has no window"),
            RateError::Window { got } => write!(
                out,
                "window takes 1ms to 366d, a whole number with ms, s, m, h, d or none for seconds, got {got}"
            ),
            RateError::WindowTwice { window_ms } => {
                write!(out, "rules take different windows, got {window_ms}ms twice")
            }
            RateError::LimitOverLog { limit, max_log } => write!(
                out,
                "limit takes 1 to {max_log} with SLIDING (rank.rate-max-log), got {limit}; COUNTER and GCRA take more"
            ),
            RateError::UnknownOption { got } => {
                write!(out, "option takes SLIDING, FIXED, COUNTER, GCRA, BURST, COST or NOW, got {got}")
            }
            RateError::OptionWithoutValue { option } => write!(out, "{option} has no value"),
            RateError::OptionTwice { option } => write!(out, "{option} is given twice"),
            RateError::BurstWithoutGcra => write!(out, "BURST goes with GCRA alone"),
            RateError::NotALog => {
                write!(out, "key holds a sorted set that is not a limiter")
            }
            RateError::NotAHashLimiter => write!(out, "key holds a hash that is not a limiter"),
            RateError::Field { name, value } => {
                write!(out, "key holds a hash that is not a limiter: field '{name}' is {value}")
            }
            RateError::Overflow { cost } => {
                write!(out, "COST {cost} would overflow the limiter")
            }
        }
    }
}

impl std::error::Error for RateError {}
