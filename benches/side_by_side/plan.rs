//! What there is to do, known before it is begun, so that a progress bar can tell how far it is.

use crate::comparison::{all, Comparison, Key};
use crate::console::Console;
use crate::instructions::Callgrind;
use crate::listener::{Listener, LISTENERS};
use crate::memory::LAYOUTS;
use crate::options::{Options, Section};
use crate::results::Results;
use crate::session::Session;
use crate::stops::CASES;
use crate::support::Kind;
use crate::{duel, growth, instructions, memory, mixed, shards, stops};

/// Each has a server of its own.
pub enum Task {
    /// Comparisons on boards of one size.
    Comparisons {
        kind: Kind,
        members: u64,
        listener: Listener,
        comparisons: Vec<&'static Comparison>,
    },
    Growth {
        kind: Kind,
        members: u64,
    },
    Memory {
        kind: Kind,
        members: u64,
    },
    Latency {
        kind: Kind,
        members: u64,
    },
    Blocking {
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
        listener: Listener,
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
    let selected = |listener| {
        let is_heard = move |comparison: &&Comparison| listener == Listener::Nobody || comparison.is_listened_to;
        all().filter(|comparison| options.selects(comparison.name)).filter(is_heard)
    };
    let members = options.large_size();
    // What takes little time comes first.
    for (section, task) in [
        (Section::Latency, Task::Latency { kind, members }),
        (Section::Blocking, Task::Blocking { kind, members }),
        (Section::Memory, Task::Memory { kind, members }),
    ] {
        tasks.extend(options.has(section).then_some(task));
    }
    if options.has(Section::Instructions) {
        for listener in [Listener::Nobody, Listener::Aof].into_iter().filter(|it| options.hears(*it)) {
            let comparisons = selected(listener).filter(|comparison| instructions::is_hot(comparison)).collect();
            tasks.push(Task::Instructions { kind, listener, comparisons });
        }
    }
    if options.has(Section::Comparisons) {
        for listener in LISTENERS.into_iter().filter(|it| options.hears(*it)) {
            let sizes = match listener {
                Listener::Nobody => options.sizes.clone(),
                _ => vec![options.listened_size()],
            };
            for members in sizes {
                let comparisons: Vec<_> = selected(listener).filter(|it| it.is_at(members)).collect();
                tasks.extend((!comparisons.is_empty()).then_some(Task::Comparisons {
                    kind,
                    members,
                    listener,
                    comparisons,
                }));
            }
        }
    }
    // Shards are the clients' work: what they cost is nearly the same on every server.
    if options.has(Section::Shards) && Some(&kind) == options.servers.first() {
        tasks.push(Task::Shards { kind, members });
    }
    if options.has(Section::Growth) {
        tasks.extend(options.growing_sizes().into_iter().map(|members| Task::Growth { kind, members }));
    }
}

impl Task {
    pub fn steps(&self) -> u64 {
        match self {
            Task::Comparisons { members, comparisons, .. } => {
                Session::steps_to_fill(&needs(comparisons), *members) + comparisons.len() as u64
            }
            Task::Growth { members, .. } => Session::steps_to_fill(growth::NEEDS, *members) + 1,
            Task::Memory { members, .. } => memory::steps(*members),
            Task::Latency { members, .. } => Session::steps_to_fill(mixed::NEEDS, *members) + 1,
            Task::Blocking { members, .. } => Session::steps_to_fill(stops::NEEDS, *members) + CASES.len() as u64,
            Task::Shards { .. } => shards::CASES.len() as u64,
            Task::Instructions { comparisons, .. } => {
                Session::steps_to_fill(&needs(comparisons), instructions::MEMBERS) + comparisons.len() as u64
            }
        }
    }

    pub fn run(&self, options: &Options, console: &Console, results: &mut Results) {
        let effort = &options.effort;
        let start = |kind: &Kind, members: &u64, listener: Listener, needs: &[&'static Key]| {
            let mut session = Session::start(*kind, *members, listener);
            console.server(&session.name, *members, listener);
            session.fill(needs, console);
            session
        };
        match self {
            Task::Comparisons { kind, members, listener, comparisons } => {
                let mut session = start(kind, members, *listener, &needs(comparisons));
                for comparison in comparisons {
                    console.doing(comparison.name);
                    for ratio in duel::compare(&mut session, comparison, effort) {
                        console.ratio(comparison, &ratio);
                        results.put(ratio);
                    }
                    console.step(1);
                }
            }
            Task::Growth { kind, members } => {
                let mut session = start(kind, members, Listener::Nobody, growth::NEEDS);
                console.doing("growth");
                for growth in growth::measure(&mut session, effort) {
                    console.growth(&growth);
                    results.put(growth);
                }
                console.step(1);
            }
            Task::Memory { kind, members } => {
                let mut session = start(kind, members, Listener::Nobody, &[]);
                for layout in LAYOUTS {
                    let memory = memory::weigh(&mut session, layout, console);
                    console.memory(&memory);
                    results.put(memory);
                }
            }
            Task::Latency { kind, members } => {
                let mut session = start(kind, members, Listener::Nobody, mixed::NEEDS);
                console.doing("mixed traffic");
                for mixed in mixed::measure(&mut session, effort) {
                    console.mixed(&mixed);
                    results.put(mixed);
                }
                console.step(1);
            }
            Task::Blocking { kind, members } => {
                let mut session = start(kind, members, Listener::Nobody, stops::NEEDS);
                for case in CASES {
                    console.doing(case.name);
                    let stop = stops::measure(&mut session, case, effort.stops);
                    console.stop(&stop);
                    results.put(stop);
                    console.step(1);
                }
            }
            Task::Shards { kind, members } => {
                console.server(&format!("{kind:?}, a cluster"), *members, Listener::Nobody);
                for case in shards::CASES {
                    let shards = shards::measure(*kind, *case, *members, effort, console);
                    console.shards(&shards);
                    results.put(shards);
                    console.step(1);
                }
            }
            Task::Instructions { kind, listener, comparisons } => {
                let mut callgrind = Callgrind::start(*kind, *listener, &needs(comparisons), console);
                console.server(&callgrind.session.name, instructions::MEMBERS, *listener);
                for comparison in comparisons {
                    console.doing(comparison.name);
                    let Some(instructions) = callgrind.measure(comparison) else {
                        results.skipped.push(format!("Instructions: {kind:?} has no symbol processCommand"));
                        return;
                    };
                    console.instructions(&instructions);
                    results.put(instructions);
                    console.step(1);
                }
            }
        }
    }
}

fn needs(comparisons: &[&'static Comparison]) -> Vec<&'static Key> {
    comparisons.iter().flat_map(|comparison| comparison.needs).copied().collect()
}
