//! What the module costs beside what one would use without it: both sides of each comparison in
//! turns on the same server, so that a busy machine slows both alike. The ratio is the result.
//!
//! `make bench ARGS='--quick --server redis --only RANK.ADD'`; `ARGS=--help` lists the options.

mod charts;
mod checks;
mod client;
mod comparison;
mod console;
mod document;
mod duel;
mod growth;
mod instructions;
mod judgement;
mod machine;
mod measure;
mod memory;
mod mixed;
mod options;
mod plan;
mod results;
mod session;
mod shards;
mod stops;
mod template;

// The tests' server guard: a process that ends with its owner is the same need here.
#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, unused_imports, unused_macros, reason = "the tests use more of it")]
mod support;

use console::Console;
use options::Options;
use plan::{plan, Task};
use results::Results;

fn main() {
    if let Err(text) = run() {
        println!("{text}");
    }
}

/// The error is what to show instead of measuring.
fn run() -> Result<(), String> {
    let options = Options::parse(std::env::args().skip(1))?;
    let mut results = if options.add { Results::of_the_last_run()? } else { Results::new(options.quick) };
    let (tasks, skipped) = plan(&options);
    let console = Console::new(tasks.iter().map(Task::steps).sum());
    console.say(&results.machine.to_string());
    results.skipped = skipped;
    for task in &tasks {
        task.run(&options, &console, &mut results);
        // After each, so that what a later one breaks is not lost.
        results.save();
    }
    console.summary(&results);
    if let Some(dir) = &options.write {
        document::write(dir, &results)?;
        charts::draw(&dir.join("charts"), &results)?;
    }
    Ok(())
}
