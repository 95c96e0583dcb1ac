//! The options of the module: their names, bounds, defaults and values. The server sets them from its configuration file
//! and by `CONFIG SET rank.…`; load arguments, which the server does not check, are read here.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::error::{Error, Escaped, Result};
use crate::number::parse_integer;

pub struct Number {
    /// Without the prefix `rank.`.
    pub name: &'static str,
    pub min: i64,
    pub max: i64,
    pub value: AtomicI64,
}

impl Number {
    const fn new(name: &'static str, min: i64, max: i64, default: i64) -> Number {
        Number { name, min, max, value: AtomicI64::new(default) }
    }

    pub fn get(&self) -> i64 {
        self.value.load(Ordering::Relaxed)
    }

    /// As a bound: 0 is none.
    pub fn bound(&self) -> u64 {
        match self.get() {
            0 => u64::MAX,
            most => most.unsigned_abs(),
        }
    }
}

/// An option that is `yes` or `no`; the default is `no`.
pub struct Switch {
    /// Without the prefix `rank.`.
    pub name: &'static str,
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

pub static NUMBERS: [&Number; 3] = [&MAX_ROWS, &RATE_MAX_LOG, &MAX_HOPS];

/// An error if a reply would have more rows than allowed.
pub fn check_rows(rows: u64) -> Result<()> {
    let most = MAX_ROWS.bound();
    if rows > most {
        return Err(Error::too_many_rows(rows, most));
    }
    Ok(())
}

pub fn cl_throttle() -> bool {
    CL_THROTTLE.value.load(Ordering::Relaxed)
}

/// Sets what the module's load arguments say, names and values, or returns what is wrong with them. A name may have the
/// prefix `rank.`.
pub fn read_load_arguments<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> Result<(), String> {
    while let Some(word) = words.next() {
        let (name, value) = (word.strip_prefix(b"rank.").unwrap_or(word), words.next());
        if name == CL_THROTTLE.name.as_bytes() {
            let is_on = match value {
                Some(b"yes") => true,
                Some(b"no") => false,
                _ => return Err(format!("{} takes yes or no", CL_THROTTLE.name)),
            };
            CL_THROTTLE.value.store(is_on, Ordering::Relaxed);
        } else if let Some(option) = NUMBERS.iter().find(|option| option.name.as_bytes() == name) {
            let value = value.and_then(parse_integer).filter(|value| (option.min..=option.max).contains(value));
            let refused = || format!("{} takes {} to {}", option.name, option.min, option.max);
            option.value.store(value.ok_or_else(refused)?, Ordering::Relaxed);
        } else {
            return Err(format!("unknown load argument '{}'", Escaped(word)));
        }
    }
    Ok(())
}
