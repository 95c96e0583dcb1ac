//! What was measured: one JSON file, written again after each figure, so that a run that is interrupted is not lost.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::server::Setting;

#[derive(Serialize, Deserialize)]
pub struct Results {
    pub runs: Vec<Run>,
    pub records: Vec<Record>,
    #[serde(skip)]
    path: PathBuf,
}

/// Where and when, so that figures are not compared across machines or builds.
#[derive(Serialize, Deserialize)]
pub struct Run {
    started: String,
    options: String,
    processor: String,
    threads: usize,
    memory_gib: u64,
    /// Of the last minute, before anything was measured and at the end.
    load_before: String,
    load_after: String,
    /// The last commit, with a plus sign if something was changed since.
    commit: String,
    pub failures: Vec<String>,
}

#[derive(Serialize, Deserialize)]
pub struct Record {
    pub section: String,
    pub server: String,
    pub name: String,
    /// What it is compared with, or empty.
    pub beside: String,
    pub setting: Setting,
    pub members: u64,
    pub figures: BTreeMap<String, f64>,
}

impl Record {
    pub fn new(section: &str, server: &str, name: &str, members: u64, figures: &[(&str, f64)]) -> Record {
        // More digits than anybody can read, fewer than a double has.
        let rounded = |figure: f64| format!("{figure:.4e}").parse().expect("a number");
        Record {
            section: section.into(),
            server: server.into(),
            name: name.into(),
            beside: String::new(),
            setting: Setting::Quiet,
            members,
            figures: figures.iter().map(|(name, figure)| (name.to_string(), rounded(*figure))).collect(),
        }
    }

    fn is_of_the_same(&self, other: &Record) -> bool {
        let key = |it: &Record| (it.section.clone(), it.server.clone(), it.name.clone(), it.beside.clone(), it.members);
        key(self) == key(other) && self.setting == other.setting
    }
}

impl Results {
    /// With the results of the last run, if this one adds to them.
    pub fn new(path: &Path, adds: bool, options: String) -> Result<Results, String> {
        let mut results = match adds {
            true => {
                let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
                serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?
            }
            false => Results { runs: Vec::new(), records: Vec::new(), path: PathBuf::new() },
        };
        results.path = path.into();
        results.runs.push(Run::now(options));
        Ok(results)
    }

    pub fn put(&mut self, record: Record) {
        let figures: Vec<String> = record.figures.iter().map(|(name, figure)| format!("{name} {figure}")).collect();
        let beside = if record.beside.is_empty() { String::new() } else { format!(" / {}", record.beside) };
        println!("  {}{beside}: {}", record.name, figures.join(", "));
        match self.records.iter_mut().find(|old| old.is_of_the_same(&record)) {
            Some(old) => *old = record,
            None => self.records.push(record),
        }
        self.save();
    }

    pub fn run(&mut self) -> &mut Run {
        self.runs.last_mut().expect("this run")
    }

    pub fn fail(&mut self, what: String) {
        println!("FAILED {what}");
        self.run().failures.push(what);
        self.save();
    }

    pub fn save(&mut self) {
        self.run().load_after = load();
        let text = serde_json::to_string_pretty(self).expect("plain data");
        let new = self.path.with_extension("new");
        let saved = fs::write(&new, text + "\n").and_then(|()| fs::rename(&new, &self.path));
        saved.unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
    }
}

impl Run {
    fn now(options: String) -> Run {
        let field = |path, name| {
            let text = fs::read_to_string(path).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_once(':').map_or(String::new(), |(_, value)| value.trim().into())
        };
        let kib = field("/proc/meminfo", "MemTotal").split(' ').next().and_then(|text| text.parse().ok());
        Run {
            started: output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
            options,
            processor: field("/proc/cpuinfo", "model name"),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: kib.map_or(0, |kib: u64| kib >> 20),
            load_before: load(),
            load_after: String::new(),
            commit: output("git", &["describe", "--always", "--dirty=+"]),
            failures: Vec::new(),
        }
    }
}

fn load() -> String {
    fs::read_to_string("/proc/loadavg").unwrap_or_default().split(' ').next().unwrap_or_default().into()
}

fn output(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    output.map_or(String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().into())
}

/// Linear between neighbours.
pub fn quantile(mut values: Vec<f64>, q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = q * (values.len() - 1) as f64;
    let (low, high) = (values[place.floor() as usize], values[place.ceil() as usize]);
    low + (high - low) * place.fract()
}
