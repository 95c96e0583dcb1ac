//! What the module costs beside what one would use without it: both sides of each comparison in turns on the same server,
//! so that a busy machine slows both alike. The ratio is the result.
//!
//! `make bench ARGS='--quick --server redis-7.0 --only RANK.ADD'`; `ARGS=--help` lists the options.

mod blocking;
mod checks;
mod comparison;
mod duel;
mod growth;
mod memory;
mod mixed;
mod results;
mod server;
mod session;
mod template;
mod waiters;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use comparison::{Comparison, Key};
use lexopt::prelude::{Long, ValueExt};
use results::Results;
use server::{Setting, SETTINGS};
use session::{Effort, Session};

const HELP: &str = "\
make bench ARGS='…'

  --quick           short rounds, no board of a million members, growth to 100k: rough
  --server NAME     redis-7.0, redis-8.6, valkey-9.1 or the path of a server; again for another (default: these three)
  --section NAME    comparisons, memory, blocking, mixed, waiters or growth; again for another (default: all)
  --only TEXT       only comparisons whose names contain TEXT
  --json PATH       where results go (default: target/bench.json)
  --add             keep the results in that file that are not measured again";

const SECTIONS: [&str; 6] = ["comparisons", "memory", "blocking", "mixed", "waiters", "growth"];
/// Boards of this size are measured with an AOF and a replica.
const LISTENED: u64 = 100_000;
const LARGE: u64 = 1_000_000;

struct Options {
    quick: bool,
    servers: Vec<String>,
    sections: Vec<String>,
    only: String,
    json: PathBuf,
    add: bool,
}

impl Options {
    fn parse() -> Result<Options, lexopt::Error> {
        let mut options = Options {
            quick: false,
            servers: Vec::new(),
            sections: Vec::new(),
            only: String::new(),
            json: "target/bench.json".into(),
            add: false,
        };
        let mut parser = lexopt::Parser::from_env();
        while let Some(arg) = parser.next()? {
            match arg {
                Long("quick") => options.quick = true,
                Long("server") => options.servers.push(parser.value()?.string()?),
                Long("section") => options.sections.push(parser.value()?.string()?),
                Long("only") => options.only = parser.value()?.string()?.to_lowercase(),
                Long("json") => options.json = parser.value()?.into(),
                Long("add") => options.add = true,
                // Cargo's own, which it gives to every benchmark.
                Long("bench") => {}
                Long("help") => {
                    println!("{HELP}");
                    std::process::exit(0);
                }
                _ => return Err(arg.unexpected()),
            }
        }
        match options.sections.iter().find(|name| !SECTIONS.contains(&name.as_str())) {
            Some(name) => Err(format!("there is no section {name}\n\n{HELP}").into()),
            None => Ok(options),
        }
    }

    fn has(&self, section: &str) -> bool {
        self.sections.is_empty() || self.sections.iter().any(|name| name == section)
    }

    fn effort(&self) -> Effort {
        match self.quick {
            true => Effort { rounds: 7, slice: Duration::from_millis(5) },
            false => Effort { rounds: 11, slice: Duration::from_millis(10) },
        }
    }

    fn largest(&self) -> u64 {
        if self.quick {
            LISTENED
        } else {
            LARGE
        }
    }
}

fn main() -> ExitCode {
    match Options::parse().map_err(|error| error.to_string()).and_then(|options| run(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(text) => {
            println!("{text}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all was measured; the error is what to show instead.
fn run(options: &Options) -> Result<bool, String> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let mut results = Results::new(&options.json, options.add, args.join(" "))?;
    let mut grows = options.has("growth");
    for program in server::programs(&options.servers) {
        match program {
            Ok(program) => measure(&program, options, std::mem::take(&mut grows), &mut results),
            Err(text) => results.fail(text),
        }
    }
    results.save();
    let failures = &results.run().failures;
    failures.iter().for_each(|text| println!("FAILED {text}"));
    Ok(failures.is_empty())
}

/// `grows`: whether growth is measured, which takes long, and is nearly the same on every server.
fn measure(program: &Path, options: &Options, grows: bool, results: &mut Results) {
    let (effort, largest) = (options.effort(), options.largest());
    let session = |members, setting, needs: &[&Key]| {
        let mut session = Session::start(program, members, setting);
        println!("{}, {members} members, {setting:?}", session.name);
        session.fill(needs);
        session
    };
    if options.has("comparisons") {
        for setting in SETTINGS {
            for members in [100, 10_000, LISTENED, LARGE].into_iter().filter(|members| *members <= largest) {
                let chosen = |it: &&Comparison| {
                    it.sizes.contains(&members)
                        && (setting == Setting::Quiet || it.is_listened_to && members == LISTENED)
                        && format!("{} / {}", it.name, it.beside).to_lowercase().contains(&options.only)
                };
                let comparisons: Vec<&Comparison> = comparison::all().filter(chosen).collect();
                if comparisons.is_empty() {
                    continue;
                }
                let needs: Vec<&Key> = comparisons.iter().flat_map(|it| it.needs).copied().collect();
                task("comparisons", results, |results| {
                    let mut session = session(members, setting, &needs);
                    for comparison in comparisons {
                        match duel::compare(&mut session, comparison, effort) {
                            Ok(record) => results.put(record),
                            Err(text) => results.fail(format!("{}: {text}", session.name)),
                        }
                    }
                });
            }
        }
    }
    if options.has("blocking") {
        task("blocking", results, |results| {
            let mut session = session(largest, Setting::Quiet, blocking::NEEDS);
            blocking::measure(&mut session, effort, |record| results.put(record));
        });
    }
    if options.has("mixed") {
        task("mixed", results, |results| {
            let mut session = session(LISTENED, Setting::Quiet, mixed::NEEDS);
            mixed::measure(&mut session, effort, |record| results.put(record));
        });
    }
    if options.has("memory") {
        task("memory", results, |results| memory::measure(program, |record| results.put(record)));
    }
    if options.has("waiters") {
        task("waiters", results, |results| waiters::measure(program, effort, |record| results.put(record)));
    }
    if grows {
        for members in
            [1000, 10_000, 100_000, 1_000_000, 10_000_000].into_iter().take(if options.quick { 3 } else { 5 })
        {
            task("growth", results, |results| {
                let mut session = session(members, Setting::Quiet, growth::NEEDS);
                growth::measure(&mut session, effort, |record| results.put(record));
            });
        }
    }
}

/// A panic, such as an error that a server replied, ends this task alone.
fn task(name: &str, results: &mut Results, run: impl FnOnce(&mut Results)) {
    let outcome = catch_unwind(AssertUnwindSafe(|| run(results)));
    if let Err(panic) = outcome {
        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        results.fail(format!("{name}: {text}"));
    }
}
