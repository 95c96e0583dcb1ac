//! What the module costs beside what one would use without it: both sides of each comparison in
//! turns on the same server, so that a busy machine slows both alike. The ratio is the result.
//!
//! `make bench ARGS='--quick --server redis --only RANK.ADD'`; `ARGS=--help` lists the options.

mod aims;
mod charts;
mod checks;
mod client;
mod comparison;
mod console;
mod document;
mod duel;
mod growth;
mod instructions;
mod listener;
mod machine;
mod measure;
mod memory;
mod mixed;
mod options;
mod plan;
mod rehearsal;
mod results;
mod session;
mod shards;
mod stops;
mod template;

// The tests' server guard: a process that ends with its owner is the same need here.
#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, unused_imports, unused_macros, reason = "the tests use more of it")]
mod support;

use std::process::ExitCode;

use console::Console;
use machine::Machine;
use options::Options;
use plan::{plan, Task};
use results::Results;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            println!("{text}");
            if text == options::HELP {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

/// The error is what to show instead of measuring.
fn run() -> Result<(), String> {
    let options = Options::parse(std::env::args().skip(1))?;
    // Before anything is measured, not after half an hour.
    rehearsal::run()?;
    if options.check {
        return Ok(());
    }
    let (tasks, skipped) = plan(&options);
    let machine = Machine::this(options.quick);
    let mut results = match options.add {
        true => Results::of_the_last_run()?,
        false => Results::new(machine.clone()),
    };
    if !tasks.is_empty() {
        if !options.add {
            Results::set_the_last_run_aside();
        }
        results.machine.add(machine);
        results.skipped = skipped;
    }
    let console = Console::new(tasks.iter().map(Task::steps).sum());
    console.say(&results.machine.to_string());
    for task in &tasks {
        task.run(&options, &console, &mut results);
    }
    console.summary(&results);
    if let Some(dir) = &options.write {
        document::write(dir, &results)?;
        charts::draw(&dir.join("charts"), &results)?;
    }
    Ok(())
}
