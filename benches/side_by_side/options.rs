//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::listener::{Listener, LISTENERS};
use crate::support::Kind;

pub const HELP: &str = "\
make bench ARGS='…'

  --quick                         10k and 100k members, short rounds, no instruction counts: rough, takes four minutes
  --large                         measure growth up to 10M members: needs 6 GB of memory
  --server redis|valkey|all       servers to measure (default: all)
  --section NAME[,NAME…]          sections to measure: comparisons, growth, memory, latency, blocking, shards,
                                  instructions; none: nothing
  --listener nobody|aof|replica   comparisons and instructions with this listener alone (default: each)
  --only TEXT                     only comparisons whose name contains TEXT
  --members N[,N…]                numbers of members (default: 10000,100000,1000000)
  --add                           keep the results of the last run that are not measured again
  --write DIR                     write benchmarks.md, aims.md and charts/ in DIR (the project's own: docs);
                                  with --add --section none, write the last run again
  --check                         check the documents and the charts with made-up figures, and measure nothing";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    Comparisons,
    Growth,
    Memory,
    Latency,
    Blocking,
    Shards,
    Instructions,
}

const SECTIONS: [Section; 7] = [
    Section::Comparisons,
    Section::Growth,
    Section::Memory,
    Section::Latency,
    Section::Blocking,
    Section::Shards,
    Section::Instructions,
];

/// The smallest board of the section on growth.
const SMALLEST: u64 = 1000;
/// Growth alone is measured with more.
const LARGEST: u64 = 1_000_000;
const VERY_LARGE: u64 = 10_000_000;
/// Boards of this size are measured with an AOF and a replica.
const LISTENED: u64 = 100_000;

/// How long to measure.
pub struct Effort {
    pub rounds: usize,
    /// What a side of a round takes, about. Short, and many of them: what disturbs one side of a round disturbs the other.
    pub slice: Duration,
    pub mixed_rounds: usize,
    /// Of each client of the mixed traffic, in each round.
    pub mixed_requests: u64,
    /// How often a command that stops the server is run.
    pub stops: usize,
}

pub struct Options {
    pub servers: Vec<Kind>,
    pub sizes: Vec<u64>,
    pub effort: Effort,
    pub quick: bool,
    pub add: bool,
    pub check: bool,
    pub large: bool,
    pub write: Option<PathBuf>,
    /// `None`: all of them, but for what a quick run has no time for.
    sections: Option<Vec<Section>>,
    listener: Option<Listener>,
    only: Option<String>,
}

impl Effort {
    /// The longest that all rounds of a comparison may take, where a single job takes longer than a slice.
    pub fn patience(&self) -> Duration {
        self.slice * 4 * self.rounds as u32
    }

    /// The longest that a warm-up may take.
    pub fn warm_up(&self) -> Duration {
        self.slice * 2 * self.rounds as u32
    }
}

impl Options {
    /// The error is what to show instead of measuring.
    pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut sizes = None;
        let mut options = Options {
            servers: vec![Kind::Redis, Kind::Valkey],
            sizes: vec![10_000, 100_000, LARGEST],
            effort: Effort {
                rounds: 31,
                slice: Duration::from_millis(15),
                mixed_rounds: 15,
                mixed_requests: 5000,
                stops: 3,
            },
            quick: false,
            add: false,
            check: false,
            large: false,
            write: None,
            sections: None,
            listener: None,
            only: None,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n\n{HELP}"));
            match arg.as_str() {
                // Cargo's own, which it gives to every benchmark.
                "--bench" => {}
                "--quick" => options.quick = true,
                "--large" => options.large = true,
                "--check" => options.check = true,
                "--add" => options.add = true,
                "--write" => options.write = Some(value()?.into()),
                "--only" => options.only = Some(value()?),
                "--section" => options.sections = Some(sections(&value()?)?),
                "--server" => {
                    options.servers = match value()?.as_str() {
                        "redis" => vec![Kind::Redis],
                        "valkey" => vec![Kind::Valkey],
                        "all" => vec![Kind::Redis, Kind::Valkey],
                        other => return Err(format!("--server takes redis, valkey or all, got {other}")),
                    }
                }
                "--listener" => {
                    let name = value()?;
                    let found = LISTENERS.into_iter().find(|it| format!("{it:?}").eq_ignore_ascii_case(&name));
                    options.listener =
                        Some(found.ok_or_else(|| format!("--listener takes nobody, aof or replica, got {name}"))?);
                }
                "--members" => {
                    let list: Result<Vec<u64>, _> = value()?.split(',').map(str::parse).collect();
                    sizes = Some(list.map_err(|error| format!("--members: {error}"))?);
                }
                _ => return Err(HELP.into()),
            }
        }
        if options.quick {
            options.sizes = vec![10_000, 100_000];
            options.effort =
                Effort { rounds: 5, slice: Duration::from_millis(2), mixed_rounds: 3, mixed_requests: 1000, stops: 1 };
        }
        options.sizes = sizes.unwrap_or(options.sizes);
        if options.sizes.iter().any(|members| *members < SMALLEST) {
            return Err(format!("--members takes {SMALLEST} or more"));
        }
        options.sizes.sort_unstable();
        options.sizes.dedup();
        Ok(options)
    }

    pub fn has(&self, section: Section) -> bool {
        match &self.sections {
            Some(sections) => sections.contains(&section),
            None => self.left_out() != Some(section),
        }
    }

    /// What a quick run leaves out unless it is asked for.
    pub fn left_out(&self) -> Option<Section> {
        (self.quick && self.sections.is_none()).then_some(Section::Instructions)
    }

    pub fn selects(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|text| name.to_lowercase().contains(&text.to_lowercase()))
    }

    pub fn hears(&self, listener: Listener) -> bool {
        self.listener.is_none_or(|only| only == listener)
    }

    /// The boards of the section on growth.
    pub fn growing_sizes(&self) -> Vec<u64> {
        let mut sizes = [&[SMALLEST], &self.sizes[..]].concat();
        sizes.extend(self.large.then_some(VERY_LARGE));
        sizes.dedup();
        sizes
    }

    /// The boards that are measured with an AOF and a replica.
    pub fn listened_size(&self) -> u64 {
        self.sizes.iter().copied().filter(|members| *members <= LISTENED).max().unwrap_or(LISTENED)
    }

    /// The board of the sections on memory, latency and blocking.
    pub fn large_size(&self) -> u64 {
        self.sizes.iter().copied().max().unwrap_or(LARGEST)
    }
}

fn sections(list: &str) -> Result<Vec<Section>, String> {
    let section = |name: &str| {
        let found = SECTIONS.into_iter().find(|section| format!("{section:?}").eq_ignore_ascii_case(name));
        found.ok_or_else(|| format!("--section does not know {name}\n\n{HELP}"))
    };
    if list == "none" {
        return Ok(Vec::new());
    }
    list.split(',').map(section).collect()
}
