//! The machine's name, the day and the build, so that figures are not compared across any of them.

use std::fs;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
pub struct Machine {
    pub processor: String,
    pub threads: usize,
    pub memory_gib: u64,
    /// Year, month and day, in UTC.
    pub date: String,
    /// Of the last minute, before anything was measured.
    pub load: String,
    pub quick: bool,
    /// The commits that last changed the module's source: one, unless a later run of another build was added.
    pub builds: Vec<String>,
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
            builds: vec![build()],
        }
    }

    /// What is measured now joins what was measured then.
    pub fn add(&mut self, now: Machine) {
        let known = self.builds.clone();
        let quick = self.quick || now.quick;
        *self = Machine { quick, builds: known.clone(), ..now.clone() };
        self.builds.extend(now.builds.into_iter().filter(|build| !known.contains(build)));
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Machine { processor, threads, memory_gib, date, load, quick, builds: _ } = self;
        write!(f, "{processor}, {threads} threads, {memory_gib} GiB, load {load}, {date}")?;
        f.write_str(if *quick { ", quick and rough" } else { "" })
    }
}

/// The last commit that changed the module, and a plus sign if it was changed since.
fn build() -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["log", "-1", "--format=%h", "--", "src"]).filter(|commit| !commit.is_empty());
    let is_changed = git(&["status", "--porcelain", "--", "src"]).is_some_and(|text| !text.is_empty());
    format!("{}{}", commit.unwrap_or_else(|| "unknown".into()), if is_changed { "+" } else { "" })
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
