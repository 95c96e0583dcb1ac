//! What was measured, apart from how it is shown: kept in a file, so that a later run can add to it.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::machine::Machine;

#[derive(Serialize, Deserialize)]
pub struct Results {
    pub machine: Machine,
    pub ratios: Vec<Ratio>,
    pub growth: Vec<Growth>,
    pub memory: Vec<Memory>,
    pub mixed: Vec<Mixed>,
    pub stops: Vec<Stop>,
    #[serde(default)]
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
    pub pace: Pace,
    pub ours: f64,
    pub theirs: f64,
    pub ratio: f64,
    /// The quartiles of the rounds' own ratios.
    pub spread: (f64, f64),
    pub cpu_ratio: f64,
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

/// Latencies in µs.
#[derive(Clone, Serialize, Deserialize)]
pub struct Mixed {
    pub server: String,
    pub side: String,
    pub members: u64,
    pub connections: usize,
    pub per_second: f64,
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    pub longest: f64,
}

/// How long one command keeps everybody else waiting, in ms.
#[derive(Clone, Serialize, Deserialize)]
pub struct Stop {
    pub server: String,
    pub command: String,
    pub is_ours: bool,
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
    pub fn new(quick: bool) -> Results {
        Results {
            machine: Machine::this(quick),
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

    pub fn save(&self) {
        let text = serde_json::to_string_pretty(self).expect("plain data");
        fs::write(path(), text).unwrap_or_else(|error| panic!("{}: {error}", path().display()));
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
}

/// A result that takes the place of an earlier one of the same thing.
pub trait Record {
    fn is_of_the_same(&self, other: &Self) -> bool;
}

pub fn put<R: Record>(records: &mut Vec<R>, new: R) {
    match records.iter_mut().find(|record| record.is_of_the_same(&new)) {
        Some(old) => *old = new,
        None => records.push(new),
    }
}

/// Two records are of the same thing if these fields are equal.
macro_rules! records {
    ($($type:ident by $($field:ident)+;)+) => {$(
        impl Record for $type {
            fn is_of_the_same(&self, other: &Self) -> bool {
                $(self.$field == other.$field)&&+
            }
        }
    )+};
}

records! {
    Ratio by server comparison members pace;
    Growth by server operation members;
    Memory by server layout members;
    Mixed by server side members;
    Stop by server command members;
    Shards by server nodes shards members;
    Instructions by server comparison;
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench-results.json")
}
