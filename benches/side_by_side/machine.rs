//! The machine's name and the day, so that figures are not compared across machines.

use std::fs;
use std::thread::available_parallelism;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct Machine {
    pub processor: String,
    pub threads: usize,
    pub memory_gib: u64,
    /// Year, month and day, in UTC.
    pub date: String,
    /// Of the last minute, before anything was measured.
    pub load: String,
    pub quick: bool,
}

impl Machine {
    pub fn this(quick: bool) -> Machine {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            line.split_once(':').map(|(_, value)| value.trim().to_owned())
        };
        let kib = field(&read("/proc/meminfo"), "MemTotal").and_then(|text| text.split(' ').next()?.parse().ok());
        Machine {
            processor: field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.into()),
            threads: available_parallelism().map_or(1, usize::from),
            memory_gib: kib.map_or(0, |kib: u64| kib >> 20),
            date: date(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().into(),
            quick,
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Machine { processor, threads, memory_gib, date, load, quick } = self;
        write!(f, "{processor}, {threads} threads, {memory_gib} GiB, load {load}, {date}")?;
        f.write_str(if *quick { ", quick and rough" } else { "" })
    }
}

/// The civil date of a Unix time: years begin in March, so that a leap day is the last one.
fn date(seconds: u64) -> String {
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (month, day) = ((month + 2) % 12 + 1, day - (153 * month + 2) / 5 + 1);
    format!("{}-{month:02}-{day:02}", era * 400 + year + u64::from(month <= 2))
}
