//! What there is to do, known before it is begun, so that a progress bar can tell how far it is.

use crate::comparison::{all, Against, Comparison, Key};
use crate::console::Console;
use crate::instructions::Callgrind;
use crate::memory::LAYOUTS;
use crate::options::{Options, Section, LARGEST_FOR_ALL};
use crate::results::{put, Results};
use crate::session::Session;
use crate::stops::CASES;
use crate::support::Kind;
use crate::{duel, growth, instructions, memory, mixed, shards, stops};

/// Each has a server of its own.
pub enum Task {
    /// Comparisons and growth, on boards of one size.
    Boards {
        kind: Kind,
        members: u64,
        comparisons: Vec<&'static Comparison>,
        growth: bool,
    },
    Memory {
        kind: Kind,
        members: u64,
    },
    Latency {
        kind: Kind,
        members: u64,
    },
    /// One board as one key and as shards, on clusters of several sizes.
    Shards {
        kind: Kind,
        members: u64,
    },
    Instructions {
        kind: Kind,
        comparisons: Vec<&'static Comparison>,
    },
}

/// The tasks, and why others cannot be done.
pub fn plan(options: &Options) -> (Vec<Task>, Vec<String>) {
    let (mut tasks, mut skipped) = (Vec::new(), Vec::new());
    for kind in &options.servers {
        if kind.binary().is_some() {
            plan_on(*kind, options, &mut tasks);
        } else {
            skipped.push(format!("{kind:?}: no such server here (`make test` fetches Valkey)"));
        }
    }
    skipped.extend(options.left_out().map(|section| format!("{section:?}: not in a quick run; --section has them")));
    if options.has(Section::Instructions) {
        if let Some(obstacle) = instructions::obstacle() {
            tasks.retain(|task| !matches!(task, Task::Instructions { .. }));
            skipped.push(obstacle);
        }
    }
    (tasks, skipped)
}

fn plan_on(kind: Kind, options: &Options, tasks: &mut Vec<Task>) {
    let selected = || all().filter(|comparison| options.selects(comparison.name));
    for members in options.growing_sizes() {
        let fits = |comparison: &&Comparison| comparison.against == Against::Core || members <= LARGEST_FOR_ALL;
        let is_measured = options.has(Section::Comparisons) && options.sizes.contains(&members);
        let comparisons: Vec<_> =
            selected().filter(|comparison| is_measured && comparison.is_at(members)).filter(fits).collect();
        let growth = options.has(Section::Growth);
        if growth || !comparisons.is_empty() {
            tasks.push(Task::Boards { kind, members, comparisons, growth });
        }
    }
    let members = options.large_size();
    if options.has(Section::Memory) {
        tasks.push(Task::Memory { kind, members });
    }
    if options.has(Section::Latency) {
        tasks.push(Task::Latency { kind, members });
    }
    if options.has(Section::Shards) {
        tasks.push(Task::Shards { kind, members });
    }
    if options.has(Section::Instructions) {
        let comparisons = selected().filter(|comparison| instructions::is_hot(comparison)).collect();
        tasks.push(Task::Instructions { kind, comparisons });
    }
}

impl Task {
    pub fn steps(&self) -> u64 {
        match self {
            Task::Boards { members, comparisons, growth, .. } => {
                Session::steps_to_fill(&boards(comparisons, *growth), *members)
                    + comparisons.len() as u64
                    + u64::from(*growth)
            }
            Task::Memory { members, .. } => memory::steps(*members),
            Task::Latency { members, .. } => {
                Session::steps_to_fill(&latency_boards(), *members) + mixed::STEPS + CASES.len() as u64
            }
            Task::Shards { .. } => shards::CASES.len() as u64,
            Task::Instructions { comparisons, .. } => {
                Session::steps_to_fill(&needs(comparisons), instructions::MEMBERS) + comparisons.len() as u64
            }
        }
    }

    pub fn run(&self, options: &Options, console: &Console, results: &mut Results) {
        let effort = &options.effort;
        match self {
            Task::Boards { kind, members, comparisons, growth } => {
                let mut session = Session::start(*kind, *members);
                console.server(&session.name, *members);
                session.fill(&boards(comparisons, *growth), console);
                for comparison in comparisons {
                    console.doing(comparison.name);
                    for ratio in duel::compare(&mut session, comparison, effort) {
                        console.ratio(comparison, &ratio);
                        put(&mut results.ratios, ratio);
                    }
                    console.step(1);
                }
                if *growth {
                    console.doing("growth");
                    for growth in growth::measure(&mut session, effort) {
                        console.growth(&growth);
                        put(&mut results.growth, growth);
                    }
                    console.step(1);
                }
            }
            Task::Memory { kind, members } => {
                let mut session = Session::start(*kind, *members);
                console.server(&session.name, *members);
                for layout in LAYOUTS {
                    let memory = memory::weigh(&mut session, layout, console);
                    console.memory(&memory);
                    put(&mut results.memory, memory);
                }
            }
            Task::Latency { kind, members } => {
                let mut session = Session::start(*kind, *members);
                console.server(&session.name, *members);
                session.fill(&latency_boards(), console);
                console.doing("mixed traffic");
                for mixed in mixed::measure(&mut session, effort.mixed) {
                    console.mixed(&mixed);
                    put(&mut results.mixed, mixed);
                    console.step(1);
                }
                for case in CASES {
                    console.doing(case.name);
                    let stop = stops::measure(&mut session, case, effort.stops);
                    console.stop(&stop);
                    put(&mut results.stops, stop);
                    console.step(1);
                }
            }
            Task::Shards { kind, members } => {
                console.server(&format!("{kind:?}, a cluster"), *members);
                for case in shards::CASES {
                    let shards = shards::measure(*kind, *case, *members, effort, console);
                    console.shards(&shards);
                    put(&mut results.shards, shards);
                    console.step(1);
                }
            }
            Task::Instructions { kind, comparisons } => {
                let mut callgrind = Callgrind::start(*kind, &needs(comparisons), console);
                console.server(&callgrind.session.name, instructions::MEMBERS);
                for comparison in comparisons {
                    console.doing(comparison.name);
                    let Some(instructions) = callgrind.measure(comparison) else {
                        results.skipped.push(format!("Instructions: {kind:?} has no symbol processCommand"));
                        return;
                    };
                    console.instructions(&instructions);
                    put(&mut results.instructions, instructions);
                    console.step(1);
                }
            }
        }
    }
}

fn needs(comparisons: &[&'static Comparison]) -> Vec<&'static Key> {
    comparisons.iter().flat_map(|comparison| comparison.needs).copied().collect()
}

fn boards(comparisons: &[&'static Comparison], growth: bool) -> Vec<&'static Key> {
    let growth = growth::NEEDS.iter().filter(|_| growth);
    needs(comparisons).into_iter().chain(growth.copied()).collect()
}

fn latency_boards() -> Vec<&'static Key> {
    [mixed::NEEDS, stops::NEEDS].concat()
}
