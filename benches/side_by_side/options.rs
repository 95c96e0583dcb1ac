//! The command line.

use std::time::Duration;

use crate::support::Kind;

const HELP: &str = "\
make bench ARGS='…'

  --quick                       10k and 100k members, short rounds: two minutes, rough
  --server redis|valkey|all     which servers (default: redis)
  --only TEXT                   comparisons whose name has this text
  --members N[,N…]              other numbers of members than 10000,1000000
  --json                        one JSON object a line instead of a table";

/// How long to measure.
pub struct Effort {
    pub rounds: usize,
    /// What a side of a round takes, about. Short, and many of them: what disturbs one side of a round disturbs the other.
    pub slice: Duration,
}

pub struct Options {
    pub servers: Vec<Kind>,
    pub sizes: Vec<u64>,
    pub effort: Effort,
    pub json: bool,
    only: Option<String>,
}

impl Options {
    /// The error is what to show instead of measuring.
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut quick = false;
        let mut sizes = None;
        let mut options = Options {
            servers: vec![Kind::Redis],
            sizes: vec![10_000, 1_000_000],
            effort: Effort { rounds: 61, slice: Duration::from_millis(40) },
            json: false,
            only: None,
        };
        let mut args = args;
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} takes a value\n\n{HELP}"));
            match arg.as_str() {
                // Cargo's own, which it gives to every benchmark.
                "--bench" => {}
                "--quick" => quick = true,
                "--json" => options.json = true,
                "--only" => options.only = Some(value()?),
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
            options.effort = Effort { rounds: 21, slice: Duration::from_millis(15) };
        }
        options.sizes = sizes.unwrap_or(options.sizes);
        if options.sizes.iter().any(|members| *members < 1000) {
            return Err("--members takes 1000 or more".into());
        }
        Ok(options)
    }

    pub fn selects(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|text| name.to_lowercase().contains(&text.to_lowercase()))
    }
}
