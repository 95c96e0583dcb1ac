//! What `CONFIG SET rank.…` and load arguments set.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

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

/// An option that is `yes` or `no`; the default is `no`.
pub struct Switch {
    /// Without the prefix `rank.`.
    pub name: &'static str,
    /// What it is now.
    pub value: AtomicBool,
}

/// The most rows or members one reply may hold; 0 for no bound.
pub static MAX_ROWS: Number = Number::new("max-rows", 0, i64::MAX, 0);
/// The largest limit a SLIDING rule may have.
pub static RATE_MAX_LOG: Number = Number::new("rate-max-log", 1, 1_000_000_000, 100_000);
/// How many distinct scores one command may hop over for `DENSE` ranks; 0 for no bound.
pub static MAX_HOPS: Number = Number::new("max-hops", 0, i64::MAX, 100_000);

/// Whether redis-cell's command is registered. Can only be set at load time.
pub static CL_THROTTLE: Switch = Switch { name: "cl-throttle", value: AtomicBool::new(false) };

/// Every option that is a number.
pub static ALL: [&Number; 3] = [&MAX_ROWS, &RATE_MAX_LOG, &MAX_HOPS];

/// An error if a reply would have more rows than allowed.
pub fn check_rows(rows: u64) -> Result<()> {
    let most = max_rows();
    if rows > most {
        return Err(Error::too_many_rows(rows, most));
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

/// Whether redis-cell's command is wanted.
pub fn cl_throttle() -> bool {
    CL_THROTTLE.value.load(Ordering::Relaxed)
}

/// What is wrong with the module's load arguments, which the server does not check. Options with their full names are
/// also set here, because redis-module does not know full names in load arguments.
pub fn load_problem(args: &[&[u8]]) -> Option<String> {
    let mut words = args.iter();
    while let Some(name) = words.next() {
        let full = name.strip_prefix(b"rank.");
        let (short, value) = (full.unwrap_or(name), words.next().copied());
        let problem = if short == CL_THROTTLE.name.as_bytes() {
            set_switch(&CL_THROTTLE, value)
        } else {
            set_number(short, value, full.is_some())
        };
        if problem.is_some() {
            return problem;
        }
    }
    None
}

fn set_switch(option: &Switch, value: Option<&[u8]>) -> Option<String> {
    match value {
        Some(b"yes") => option.value.store(true, Ordering::Relaxed),
        Some(b"no") => option.value.store(false, Ordering::Relaxed),
        _ => return Some(format!("{} takes yes or no", option.name)),
    }
    None
}

fn set_number(name: &[u8], value: Option<&[u8]>, is_unknown_to_crate: bool) -> Option<String> {
    let Some(option) = ALL.iter().find(|option| option.name.as_bytes() == name) else {
        return Some(format!("unknown load argument '{}'", crate::error::Escaped(name)));
    };
    let value = value.and_then(crate::number::parse_integer);
    let Some(value) = value.filter(|value| (option.min..=option.max).contains(value)) else {
        return Some(format!("{} takes {} to {}", option.name, option.min, option.max));
    };
    if is_unknown_to_crate {
        option.value.store(value, Ordering::Relaxed);
    }
    None
}
