//! The documents and charts with made-up figures, before anything is measured: what would be found missing after half an
//! hour is found in a moment.

use crate::aims::AIMS;
use crate::charts::{Chart, BLOCKING, CHARTS, LIMITS_INCR, LIMITS_LUA, READS, SCRIPTS, WRITES};
use crate::comparison::all;
use crate::document;
use crate::growth::OPERATIONS;
use crate::listener::{Listener, LISTENERS};
use crate::machine::Machine;
use crate::memory::LAYOUTS;
use crate::results::{Growth, Instructions, Memory, Mixed, Pace, Ratio, Results, Sent, Shards, Stop};
use crate::stops::CASES;

/// Where bars begin.
const LABELS: f64 = 276.0;

/// Figures of all sizes: short ones and long ones must both fit.
const SCALES: [f64; 3] = [0.01, 1.0, 40_000.0];

pub fn run() -> Result<(), String> {
    names_exist()?;
    // Nothing, and one server alone, are as good as both.
    check(&Results::new(Machine::this(true)), 0)?;
    check(&made_up(&["Redis 7.0.15"], 1.0), CHARTS.len())?;
    for scale in SCALES {
        check(&made_up(&["Redis 7.0.15", "Valkey 9.1.2"], scale), CHARTS.len())?;
    }
    Ok(())
}

fn names_exist() -> Result<(), String> {
    let labelled = [SCRIPTS, WRITES, READS, LIMITS_INCR, LIMITS_LUA].concat();
    let comparisons = AIMS.iter().flat_map(|aim| aim.comparisons()).chain(labelled.iter().map(|(_, name)| *name));
    for name in comparisons {
        all().find(|it| it.name == name).ok_or_else(|| format!("no comparison is called {name}"))?;
    }
    for name in BLOCKING {
        CASES.iter().find(|case| case.name == *name).ok_or_else(|| format!("no case is called {name}"))?;
    }
    Ok(())
}

fn check(results: &Results, charts: usize) -> Result<(), String> {
    let text = document::rehearse(results)?;
    let mut drawn = 0;
    for Chart { file, draw, .. } in CHARTS {
        if let Some(svg) = draw(results) {
            fits(&svg).map_err(|error| format!("{file}: {error}"))?;
            drawn += 1;
            if !text.contains(&format!("(charts/{file})")) {
                return Err(format!("no document shows {file}"));
            }
        }
    }
    match drawn == charts {
        true => Ok(()),
        false => Err(format!("{charts} charts are to be drawn, and {drawn} were")),
    }
}

/// Whether it is well-formed, all its numbers are numbers, and no text leaves the picture.
fn fits(svg: &str) -> Result<(), String> {
    if svg.contains("NaN") || svg.contains("inf\"") {
        return Err("a place that is no number".into());
    }
    let (_, body) = svg.split_once("</style>").ok_or("no style")?;
    for line in body.lines().filter(|line| line.starts_with("<text")) {
        let attribute = |name: &str| line.split(&format!(" {name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
        let x: f64 = attribute("x").and_then(|x| x.parse().ok()).ok_or("a text without a place")?;
        let text = line.split('>').nth(1).and_then(|rest| rest.strip_suffix("</text")).ok_or("an unclosed text")?;
        // Of a wide font, on average.
        let letter = match attribute("class") {
            Some("title") => 18.0 * 0.61,
            Some("head") => 14.0 * 0.65,
            Some("small" | "value") => 13.0 * 0.57,
            _ => 14.0 * 0.54,
        };
        let width = text.chars().count() as f64 * letter;
        let (left, right) = match attribute("text-anchor") {
            Some("start") => (x, x + width),
            Some("middle") => (x - width / 2.0, x + width / 2.0),
            _ => (x - width, x),
        };
        // Names of bars stay to the left of them.
        let is_name = matches!(attribute("class"), Some("" | "head")) && x < LABELS;
        if left < 0.0 || right > if is_name { LABELS } else { 800.0 } {
            return Err(format!("'{text}' reaches from {left:.0} to {right:.0}"));
        }
    }
    Ok(())
}

fn made_up(servers: &[&str], scale: f64) -> Results {
    let mut results = Results::new(Machine::this(true));
    let sent = || Sent { bytes: 60.0 * scale, commands: vec![("zadd".into(), 1.0), ("expire".into(), 0.2)] };
    for server in servers {
        let server = || (*server).to_owned();
        for comparison in all() {
            for (members, listener) in [10_000, 100_000].into_iter().flat_map(|it| LISTENERS.map(|who| (it, who))) {
                results.ratios.push(Ratio {
                    server: server(),
                    comparison: comparison.name.into(),
                    members,
                    listener,
                    pace: Pace::Pipelined,
                    ours: 1e5,
                    theirs: 1e5 / scale,
                    ratio: scale,
                    spread: (0.9 * scale, 1.3 * scale),
                    cpu_ratio: scale,
                    sent: (listener == Listener::Replica).then(|| (sent(), sent())),
                });
            }
            results.instructions.push(Instructions {
                server: server(),
                comparison: comparison.name.into(),
                listener: Listener::Nobody,
                members: 5000,
                ours: 12_345,
                theirs: 1000,
            });
        }
        for (operation, members) in OPERATIONS.iter().flat_map(|it| [1000, 1_000_000].map(|members| (it, members))) {
            let (operation, micros) = (operation.name.into(), scale * (members as f64).log10());
            results.growth.push(Growth { server: server(), operation, members, micros, spread: (micros, micros) });
        }
        for layout in LAYOUTS {
            let (layout, bytes_a_member) = (layout.name.into(), 100.0);
            results.memory.push(Memory { server: server(), layout, members: 1_000_000, bytes_a_member });
        }
        for (place, case) in CASES.iter().enumerate() {
            let executing = scale * place as f64 * 0.01;
            let command = case.name.into();
            results.stops.push(Stop { server: server(), command, members: 1_000_000, executing, waiting: executing });
        }
        for is_ours in [true, false] {
            results.mixed.push(Mixed {
                server: server(),
                is_ours,
                members: 1_000_000,
                rounds: 15,
                per_second: 1e5,
                p50: scale,
                p99: 2.0 * scale,
                p999: 3.0 * scale,
                p999_spread: (scale, 4.0 * scale),
            });
        }
        results.shards.push(Shards {
            server: server(),
            nodes: 3,
            shards: 16,
            members: 1_000_000,
            writes: 1e5,
            ranks: 1e4,
            write_cpu: 3.0,
            rank_cpu: 40.0,
            page_cpu: 800.0,
            rank_micros: 100.0,
            page_micros: 1000.0,
            page_rounds: 5.7,
        });
    }
    results
}
