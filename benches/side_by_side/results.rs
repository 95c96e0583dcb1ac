//! What was measured, apart from how it is shown: kept in a file from the first figure on, so that a run that is
//! interrupted is not lost, and a later one can add to it.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::listener::Listener;
use crate::machine::Machine;

#[derive(Serialize, Deserialize)]
pub struct Results {
    pub machine: Machine,
    pub ratios: Vec<Ratio>,
    pub growth: Vec<Growth>,
    pub memory: Vec<Memory>,
    pub mixed: Vec<Mixed>,
    pub stops: Vec<Stop>,
    pub shards: Vec<Shards>,
    pub instructions: Vec<Instructions>,
    /// What could not be measured, and why.
    pub skipped: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Pace {
    Pipelined,
    OneByOne,
}

/// Speeds are jobs a second.
#[derive(Clone, Serialize, Deserialize)]
pub struct Ratio {
    pub server: String,
    pub comparison: String,
    pub members: u64,
    pub listener: Listener,
    pub pace: Pace,
    pub ours: f64,
    pub theirs: f64,
    pub ratio: f64,
    /// The quartiles of the rounds' own ratios.
    pub spread: (f64, f64),
    pub cpu_ratio: f64,
    /// By one job of ours, and of theirs: where there is a replica.
    pub sent: Option<(Sent, Sent)>,
}

/// What one job sends to a replica.
#[derive(Clone, Serialize, Deserialize)]
pub struct Sent {
    pub bytes: f64,
    /// Each command, and how many of it.
    pub commands: Vec<(String, f64)>,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Growth {
    pub server: String,
    pub operation: String,
    pub members: u64,
    /// Median and quartiles of what one takes.
    pub micros: f64,
    pub spread: (f64, f64),
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Memory {
    pub server: String,
    pub layout: String,
    pub members: u64,
    pub bytes_a_member: f64,
}

/// Latencies in µs, each the median of the rounds.
#[derive(Clone, Serialize, Deserialize)]
pub struct Mixed {
    pub server: String,
    pub is_ours: bool,
    pub members: u64,
    pub rounds: usize,
    pub per_second: f64,
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    /// The quartiles of the rounds' own.
    pub p999_spread: (f64, f64),
}

/// How long one command keeps everybody else waiting, in ms.
#[derive(Clone, Serialize, Deserialize)]
pub struct Stop {
    pub server: String,
    pub command: String,
    pub members: u64,
    /// What the server says that the command took.
    pub executing: f64,
    /// The longest that another client waited for its `PING`.
    pub waiting: f64,
}

/// One board on the nodes of a cluster: jobs a second of all clients together, and what one waits for.
#[derive(Clone, Serialize, Deserialize)]
pub struct Shards {
    pub server: String,
    pub nodes: usize,
    /// 1: one key.
    pub shards: usize,
    pub members: u64,
    pub writes: f64,
    pub ranks: f64,
    /// What all servers together work for one, in µs of a processor.
    pub write_cpu: f64,
    pub rank_cpu: f64,
    pub page_cpu: f64,
    /// What one takes if nobody else asks.
    pub rank_micros: f64,
    pub page_micros: f64,
    /// On average.
    pub page_rounds: f64,
}

/// For one job.
#[derive(Clone, Serialize, Deserialize)]
pub struct Instructions {
    pub server: String,
    pub comparison: String,
    pub listener: Listener,
    pub members: u64,
    pub ours: u64,
    pub theirs: u64,
}

impl Ratio {
    /// Whether the machine was quiet enough to believe it: the rounds agree with each other, and with the whole.
    pub fn is_steady(&self) -> bool {
        let (low, high) = self.spread;
        (low..=high).contains(&self.ratio) && high / low < 1.25
    }
}

impl Results {
    pub fn new(machine: Machine) -> Results {
        Results {
            machine,
            ratios: Vec::new(),
            growth: Vec::new(),
            memory: Vec::new(),
            mixed: Vec::new(),
            stops: Vec::new(),
            shards: Vec::new(),
            instructions: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// Those of the last run, to which this one adds.
    pub fn of_the_last_run() -> Result<Results, String> {
        let path = path();
        let text = fs::read_to_string(&path).map_err(|error| format!("there is no last run to add to: {error}"))?;
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// A run that adds nothing to the last one leaves it beside its own.
    pub fn set_the_last_run_aside() {
        // There may be none.
        let _ = fs::rename(path(), path().with_extension("old.json"));
    }

    /// Takes the place of an earlier result of the same thing, and is in the file at once.
    pub fn put<R: Record>(&mut self, new: R) {
        let records = R::list(self);
        match records.iter_mut().find(|record| record.is_of_the_same(&new)) {
            Some(old) => *old = new,
            None => records.push(new),
        }
        self.save();
    }

    fn save(&self) {
        let text = serde_json::to_string_pretty(self).expect("plain data");
        let half_written = path().with_extension("new");
        let saved = fs::write(&half_written, text).and_then(|()| fs::rename(half_written, path()));
        saved.unwrap_or_else(|error| panic!("{}: {error}", path().display()));
    }

    /// The servers, in the order in which they were measured.
    pub fn servers(&self) -> Vec<&str> {
        let mut servers = Vec::new();
        let all = (self.ratios.iter().map(|record| &record.server))
            .chain(self.growth.iter().map(|record| &record.server))
            .chain(self.memory.iter().map(|record| &record.server))
            .chain(self.mixed.iter().map(|record| &record.server))
            .chain(self.stops.iter().map(|record| &record.server))
            .chain(self.shards.iter().map(|record| &record.server))
            .chain(self.instructions.iter().map(|record| &record.server));
        for server in all {
            if !servers.contains(&server.as_str()) {
                servers.push(server.as_str());
            }
        }
        servers
    }

    /// A pipelined comparison.
    pub fn ratio(&self, server: &str, comparison: &str, members: u64, listener: Listener) -> Option<&Ratio> {
        self.ratios.iter().find(|it| {
            it.pace == Pace::Pipelined
                && it.listener == listener
                && it.members == members
                && it.server == server
                && it.comparison == comparison
        })
    }
}

pub trait Record: Sized {
    fn is_of_the_same(&self, other: &Self) -> bool;
    fn list(results: &mut Results) -> &mut Vec<Self>;
}

/// Two records are of the same thing if these fields are equal.
macro_rules! records {
    ($($type:ident in $list:ident by $($field:ident)+;)+) => {$(
        impl Record for $type {
            fn is_of_the_same(&self, other: &Self) -> bool {
                $(self.$field == other.$field)&&+
            }

            fn list(results: &mut Results) -> &mut Vec<Self> {
                &mut results.$list
            }
        }
    )+};
}

records! {
    Ratio in ratios by server comparison members listener pace;
    Growth in growth by server operation members;
    Memory in memory by server layout;
    Mixed in mixed by server is_ours;
    Stop in stops by server command;
    Shards in shards by server nodes shards members;
    Instructions in instructions by server comparison listener;
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench-results.json")
}
