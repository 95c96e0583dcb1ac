//! What a person, or a program, gets to see.

use std::fs;
use std::thread::available_parallelism;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::comparison::{Comparison, Memory};
use crate::measure::Outcome;
use crate::options::Options;
use crate::support::Kind;

pub struct Report {
    json: bool,
    server: String,
    bar: ProgressBar,
    judged: usize,
    missed: Vec<String>,
}

impl Report {
    pub fn new(options: &Options) -> Report {
        if !options.json {
            println!("{}; {} rounds", machine(), options.effort.rounds);
        }
        Report { json: options.json, server: String::new(), bar: ProgressBar::hidden(), judged: 0, missed: Vec::new() }
    }

    /// What follows was measured there.
    pub fn server(&mut self, kind: Kind, version: &str, members: u64) {
        self.server = format!("{kind:?} {version}");
        if !self.json {
            println!("\n{} with {members} members", self.server);
            println!(
                "{:<58}{:>11}{:>11}{:>8}  {:<13}{:>6}  target",
                "comparison", "ours/s", "theirs/s", "ratio", "quartiles", "cpu"
            );
        }
    }

    pub fn skip(&mut self, text: &str) {
        if self.json {
            println!("{}", json!({ "skipped": text, "server": self.server }));
        } else {
            println!("SKIPPED {text}");
        }
    }

    /// Starts a bar; there is none unless a person is watching.
    pub fn begin(&mut self, what: &str, steps: u64) {
        let style = ProgressStyle::with_template("{msg:58} {wide_bar} {eta:>4}").expect("a valid template");
        self.bar = ProgressBar::new(steps).with_style(style).with_message(what.to_owned());
        self.bar.tick();
    }

    pub fn step(&mut self, steps: u64) {
        self.bar.inc(steps);
    }

    pub fn end(&mut self) {
        self.bar.finish_and_clear();
    }

    pub fn outcome(&mut self, comparison: &Comparison, outcome: &Outcome, members: u64) {
        let passes = comparison.target.map(|target| outcome.ratio >= target);
        self.judge(comparison.name, members, passes);
        if self.json {
            let line = json!({
                "server": self.server, "members": members, "comparison": comparison.name,
                "ours": comparison.ours, "theirs": comparison.theirs,
                "ours_per_second": outcome.ours.round(), "theirs_per_second": outcome.theirs.round(),
                "ratio": outcome.ratio, "quartiles": [outcome.spread.0, outcome.spread.1],
                "cpu_ratio": outcome.cpu_ratio, "rounds": outcome.rounds,
                "at_least": comparison.target, "passes": passes, "steady": outcome.is_steady(),
            });
            println!("{line}");
            return;
        }
        println!(
            "{:<58}{:>11}{:>11}{:>8.2}  {:<13}{:>6.2}  {}{}",
            comparison.name,
            thousands(outcome.ours),
            thousands(outcome.theirs),
            outcome.ratio,
            format!("{:.2} to {:.2}", outcome.spread.0, outcome.spread.1),
            outcome.cpu_ratio,
            verdict("at least", comparison.target, passes),
            if outcome.is_steady() { "" } else { "  (unsteady)" },
        );
    }

    /// Bytes a member.
    pub fn memory(&mut self, memory: &Memory, ours: f64, theirs: f64, members: u64) {
        let ratio = ours / theirs;
        let passes = memory.target.map(|target| ratio <= target);
        let (ours, theirs) = (ours / members as f64, theirs / members as f64);
        self.judge(memory.name, members, passes);
        if self.json {
            let line = json!({
                "server": self.server, "members": members, "comparison": memory.name,
                "ours_bytes_a_member": ours, "theirs_bytes_a_member": theirs,
                "ratio": ratio, "at_most": memory.target, "passes": passes,
            });
            println!("{line}");
            return;
        }
        let (ours, theirs) = (format!("{ours:.1} B"), format!("{theirs:.1} B"));
        let verdict = verdict("at most", memory.target, passes);
        println!("{:<58}{ours:>11}{theirs:>11}{ratio:>8.3}  {:<13}{:>6}  {verdict}", memory.name, "", "");
    }

    fn judge(&mut self, name: &str, members: u64, passes: Option<bool>) {
        self.judged += usize::from(passes.is_some());
        if passes == Some(false) {
            self.missed.push(format!("{name} ({}, {members} members)", self.server));
        }
    }

    pub fn summary(&self) {
        if self.json {
            return;
        }
        println!("\n{} of {} targets reached", self.judged - self.missed.len(), self.judged);
        self.missed.iter().for_each(|name| println!("  missed: {name}"));
    }
}

fn verdict(bound: &str, target: Option<f64>, passes: Option<bool>) -> String {
    match (target, passes) {
        (Some(target), Some(true)) => format!("{bound} {target}"),
        (Some(target), _) => format!("{bound} {target}  MISSED"),
        _ => String::new(),
    }
}

fn thousands(number: f64) -> String {
    if number >= 10_000.0 {
        format!("{:.0}k", number / 1000.0)
    } else {
        format!("{number:.1}")
    }
}

/// The machine's name, so that figures are not compared across machines.
fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").ok().and_then(|info| {
        let line = info.lines().find(|line| line.starts_with("model name"))?;
        line.split_once(':').map(|(_, name)| name.trim().to_owned())
    });
    let threads = available_parallelism().map_or(1, usize::from);
    let load = fs::read_to_string("/proc/loadavg").ok();
    let load = load.as_deref().and_then(|load| load.split(' ').next()).unwrap_or("unknown");
    format!("{}, {threads} threads, load {load}", cpu.unwrap_or_else(|| std::env::consts::ARCH.into()))
}
