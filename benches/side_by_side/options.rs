//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::support::Kind;

const HELP: &str = "\
make bench ARGS='…'

  --quick                       10k and 100k members, short rounds, no instruction counts: rough, takes two minutes
  --large                       add 10M members for core commands and growth: needs 10 GB of memory
  --server redis|valkey|all     servers to measure (default: all)
  --section NAME[,NAME…]        sections to measure: comparisons, growth, memory, latency, shards, instructions
  --only TEXT                   only comparisons whose name contains TEXT
  --members N[,N…]              numbers of members (default: 10000,100000,1000000)
  --add                         keep the results of the last run that are not measured again
  --write DIR                   write tables to DIR/benchmarks.md and charts to DIR/charts/ (the project's own: docs);
                                with --add --section none, write the last run again";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Section {
    Comparisons,
    Growth,
    Memory,
    Latency,
    Shards,
    Instructions,
}

const SECTIONS: [Section; 6] =
    [Section::Comparisons, Section::Growth, Section::Memory, Section::Latency, Section::Shards, Section::Instructions];

/// The smallest board of the section on growth.
const SMALLEST: u64 = 1000;
/// With more members than these the comparisons with the core commands alone fit a usual machine's memory.
pub const LARGEST_FOR_ALL: u64 = 1_000_000;

/// How long to measure.
pub struct Effort {
    pub rounds: usize,
    /// What a side of a round takes, about. Short, and many of them: what disturbs one side of a round disturbs the other.
    pub slice: Duration,
    /// For all of the mixed traffic.
    pub mixed: Duration,
    /// How often a command that stops the server is run.
    pub stops: usize,
}

pub struct Options {
    pub servers: Vec<Kind>,
    pub sizes: Vec<u64>,
    pub effort: Effort,
    pub quick: bool,
    pub add: bool,
    pub write: Option<PathBuf>,
    /// `None`: all of them, but for what a quick run has no time for.
    sections: Option<Vec<Section>>,
    only: Option<String>,
}

impl Effort {
    /// The longest that a warm-up may take.
    pub fn patience(&self) -> Duration {
        self.slice * 4 * self.rounds as u32
    }
}

impl Options {
    /// The error is what to show instead of measuring.
    pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
        let (mut quick, mut large, mut sizes) = (false, false, None);
        let mut options = Options {
            servers: vec![Kind::Redis, Kind::Valkey],
            sizes: vec![10_000, 100_000, LARGEST_FOR_ALL],
            effort: Effort { rounds: 31, slice: Duration::from_millis(15), mixed: Duration::from_secs(10), stops: 3 },
            quick: false,
            add: false,
            write: None,
            sections: None,
            only: None,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n\n{HELP}"));
            match arg.as_str() {
                // Cargo's own, which it gives to every benchmark.
                "--bench" => {}
                "--quick" => quick = true,
                "--large" => large = true,
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
                "--members" => {
                    let list: Result<Vec<u64>, _> = value()?.split(',').map(str::parse).collect();
                    sizes = Some(list.map_err(|error| format!("--members: {error}"))?);
                }
                _ => return Err(HELP.into()),
            }
        }
        if quick {
            options.sizes = vec![10_000, 100_000];
            options.effort =
                Effort { rounds: 5, slice: Duration::from_millis(2), mixed: Duration::from_secs(1), stops: 1 };
        }
        options.quick = quick;
        options.sizes = sizes.unwrap_or(options.sizes);
        options.sizes.extend(large.then_some(10_000_000));
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

    /// The boards of the section on growth.
    pub fn growing_sizes(&self) -> Vec<u64> {
        let mut sizes = [&[SMALLEST], &self.sizes[..]].concat();
        sizes.dedup();
        sizes
    }

    /// The board of the sections on memory and latency.
    pub fn large_size(&self) -> u64 {
        self.sizes.iter().copied().filter(|members| *members <= LARGEST_FOR_ALL).max().unwrap_or(LARGEST_FOR_ALL)
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
