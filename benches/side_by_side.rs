//! What the module costs beside what one would use without it: both sides of each comparison in
//! turns on the same server, so that a busy machine slows both alike. The ratio is the result.
//!
//! `make bench ARGS='--quick --server all --only RANK.ADD'`; `ARGS=--help` lists the options.

#[path = "side_by_side/boards.rs"]
mod boards;
#[path = "side_by_side/checks.rs"]
mod checks;
#[path = "side_by_side/client.rs"]
mod client;
#[path = "side_by_side/comparison.rs"]
mod comparison;
#[path = "side_by_side/limits.rs"]
mod limits;
#[path = "side_by_side/measure.rs"]
mod measure;
#[path = "side_by_side/options.rs"]
mod options;
#[path = "side_by_side/report.rs"]
mod report;
#[path = "side_by_side/session.rs"]
mod session;
#[path = "side_by_side/template.rs"]
mod template;

// The tests' server guard: a process that ends with its owner is the same need here.
#[path = "../tests/support/mod.rs"]
#[allow(dead_code, unused_imports, unused_macros, reason = "the tests use more of it")]
mod support;

use comparison::{Comparison, Memory, Scale};
use options::Options;
use report::Report;
use session::Session;
use support::Kind;

fn main() {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(text) => {
            println!("{text}");
            return;
        }
    };
    let comparisons: Vec<&Comparison> = boards::COMPARISONS
        .iter()
        .chain(limits::COMPARISONS)
        .filter(|comparison| options.selects(comparison.name))
        .collect();
    let memory: Vec<&Memory> = boards::MEMORY.iter().filter(|memory| options.selects(memory.name)).collect();

    let mut report = Report::new(&options);
    for kind in &options.servers {
        run_on(*kind, &options, &comparisons, &memory, &mut report);
    }
    report.summary();
}

fn run_on(kind: Kind, options: &Options, comparisons: &[&Comparison], memory: &[&Memory], report: &mut Report) {
    if kind.binary().is_none() {
        report.skip(&format!("{kind:?}: no such server here (`make test` fetches Valkey)"));
        return;
    }
    let of = |scale: Scale| comparisons.iter().copied().filter(move |comparison| comparison.scale == scale).collect();
    let growing: Vec<&Comparison> = of(Scale::Growing);
    if !growing.is_empty() || !memory.is_empty() {
        for members in &options.sizes {
            Session::start(kind, *members, &options.effort, report).run(&growing, memory);
        }
    }
    let fixed: Vec<&Comparison> = of(Scale::Fixed);
    if !fixed.is_empty() {
        Session::start(kind, comparison::FIXED_MEMBERS, &options.effort, report).run(&fixed, &[]);
    }
}
