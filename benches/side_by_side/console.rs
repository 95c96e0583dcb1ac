//! What a person sees while it runs: a bar, where there is a terminal, and a line for each result.

use indicatif::{ProgressBar, ProgressStyle};

use crate::aims::{tally, AIMS};
use crate::comparison::Comparison;
use crate::listener::Listener;
use crate::results::{Growth, Instructions, Memory, Mixed, Pace, Ratio, Results, Shards, Stop};

pub struct Console {
    bar: ProgressBar,
}

impl Console {
    pub fn new(steps: u64) -> Console {
        let style = ProgressStyle::with_template("{percent:>3}% {bar:30} {eta:>4} left  {wide_msg}");
        // Hidden by itself where nobody is watching.
        Console { bar: ProgressBar::new(steps).with_style(style.expect("a valid template")) }
    }

    pub fn doing(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    pub fn step(&self, steps: u64) {
        self.bar.inc(steps);
    }

    pub fn say(&self, line: &str) {
        self.bar.suspend(|| println!("{line}"));
    }

    /// What follows was measured there.
    pub fn server(&self, name: &str, members: u64, listener: Listener) {
        self.say(&format!("\n{name}, {members} members, {}", listener.label()));
    }

    pub fn ratio(&self, comparison: &Comparison, ratio: &Ratio) {
        let pace = match ratio.pace {
            Pace::Pipelined => "",
            Pace::OneByOne => "  one by one",
        };
        let name = if ratio.pace == Pace::Pipelined { comparison.name } else { "" };
        let unsteady = if ratio.is_steady() { "" } else { "  (unsteady)" };
        let (low, high) = ratio.spread;
        self.say(&format!(
            "{name:<80}{:>9}/s{:>9}/s{:>9.2}  ({low:.2} to {high:.2})  cpu {:.2}{pace}{unsteady}",
            thousands(ratio.ours),
            thousands(ratio.theirs),
            ratio.ratio,
            ratio.cpu_ratio,
        ));
    }

    pub fn growth(&self, growth: &Growth) {
        let (low, high) = growth.spread;
        self.say(&format!("{:<80}{:>9.2} µs  ({low:.2} to {high:.2})", growth.operation, growth.micros));
    }

    pub fn memory(&self, memory: &Memory) {
        self.say(&format!("{:<80}{:>9.1} bytes per member", memory.layout, memory.bytes_a_member));
    }

    pub fn mixed(&self, mixed: &Mixed) {
        let Mixed { is_ours, per_second, p50, p99, p999, p999_spread: (low, high), .. } = mixed;
        let side = if *is_ours { "redis-rank" } else { "core commands and scripts" };
        self.say(&format!(
            "{side}: {per_second:.0}/s, p50 {p50:.0} µs, p99 {p99:.0}, p99.9 {p999:.0} ({low:.0} to {high:.0})"
        ));
    }

    pub fn stop(&self, stop: &Stop) {
        self.say(&format!("{:<80}{:>9.2} ms, others wait {:.2} ms", stop.command, stop.executing, stop.waiting));
    }

    pub fn shards(&self, it: &Shards) {
        self.say(&format!(
            "{:>4} shards on {} nodes: {:>6} writes/s, {:>6} ranks/s, a rank {:.0} µs, a page {:.0} µs in {:.1} rounds; \
             cpu: a write {:.2} µs, a rank {:.1}, a page {:.0}",
            it.shards,
            it.nodes,
            thousands(it.writes),
            thousands(it.ranks),
            it.rank_micros,
            it.page_micros,
            it.page_rounds,
            it.write_cpu,
            it.rank_cpu,
            it.page_cpu
        ));
    }

    pub fn instructions(&self, instructions: &Instructions) {
        let Instructions { comparison, ours, theirs, .. } = instructions;
        let ratio = *theirs as f64 / *ours as f64;
        self.say(&format!("{comparison:<80}{ours:>9} instructions, theirs {theirs:>9}, ratio {ratio:.2}"));
    }

    pub fn summary(&self, results: &Results) {
        self.bar.finish_and_clear();
        let (met, measured) = tally(results);
        println!("\n{met} of {measured} aims met");
        for aim in AIMS.iter().filter(|aim| aim.is_missed(results)) {
            println!("  missed: {} ({}): {}", aim.name, aim.bound(), aim.says);
        }
        results.skipped.iter().for_each(|line| println!("SKIPPED {line}"));
    }
}

pub fn thousands(number: f64) -> String {
    match number {
        10_000.0.. => format!("{:.0}k", number / 1000.0),
        100.0.. => format!("{number:.0}"),
        _ => format!("{number:.1}"),
    }
}
