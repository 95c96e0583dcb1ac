//! What `CONFIG SET rank.…` and load arguments set.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::error::{Error, Result};

/// A numeric option: its name, its bounds, its default and its value.
pub struct Number {
    /// Without the prefix `rank.`.
    pub name: &'static str,
    /// The least value.
    pub min: i64,
    /// The largest value.
    pub max: i64,
    /// The default.
    pub default: i64,
    /// The current value.
    pub value: AtomicI64,
}

impl Number {
    const fn new(name: &'static str, min: i64, max: i64, default: i64) -> Number {
        Number { name, min, max, default, value: AtomicI64::new(default) }
    }

    fn get(&self) -> i64 {
        self.value.load(Ordering::Relaxed)
    }
}

/// The most rows or members one reply may hold; 0 for no bound.
pub static MAX_ROWS: Number = Number::new("max-rows", 0, i64::MAX, 0);
/// The largest limit a SLIDING rule may have.
pub static RATE_MAX_LOG: Number = Number::new("rate-max-log", 1, 1_000_000_000, 100_000);
/// How many distinct scores one command may hop over for `DENSE` ranks; 0 for no bound.
pub static MAX_HOPS: Number = Number::new("max-hops", 0, i64::MAX, 100_000);

/// Every option.
pub static ALL: [&Number; 3] = [&MAX_ROWS, &RATE_MAX_LOG, &MAX_HOPS];

/// An error if a reply would have more rows than allowed.
pub fn check_rows(rows: u64) -> Result<()> {
    let most = max_rows();
    if rows > most {
        return Err(Error::TooManyRows { rows, most });
    }
    Ok(())
}

/// The most rows that one reply may hold.
pub fn max_rows() -> u64 {
    match MAX_ROWS.get() {
        0 => u64::MAX,
        most => most.unsigned_abs(),
    }
}

/// How many hops one command may make.
pub fn max_hops() -> u64 {
    match MAX_HOPS.get() {
        0 => u64::MAX,
        most => most.unsigned_abs(),
    }
}

/// The largest limit that a `SLIDING` rule may have.
pub fn rate_max_log() -> u64 {
    RATE_MAX_LOG.get().max(0).unsigned_abs()
}

/// What is wrong with the module's load arguments, which the server does not check. Options with their full names are
/// also set here, because redis-module does not know full names in load arguments.
pub fn load_problem(args: &[&[u8]]) -> Option<String> {
    let mut words = args.iter();
    while let Some(name) = words.next() {
        let full = name.strip_prefix(b"rank.");
        let Some(option) = ALL.iter().find(|option| option.name.as_bytes() == full.unwrap_or(name)) else {
            return Some(format!("unknown load argument '{}'", crate::error::Shown::new(name)));
        };
        let value = words.next().and_then(|value| crate::number::parse_integer(value));
        let Some(value) = value.filter(|value| (option.min..=option.max).contains(value)) else {
            return Some(format!("{} takes {} to {}", option.name, option.min, option.max));
        };
        if full.is_some() {
            option.value.store(value, Ordering::Relaxed);
        }
    }
    None
}
