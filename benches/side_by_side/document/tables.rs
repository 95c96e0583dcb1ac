//! Each table of the document, from the results.

use super::markdown::{ratio, size, strings, Table};
use crate::charts::file_name;
use crate::comparison::{all, Against, Comparison};
use crate::console::thousands;
use crate::growth::OPERATIONS;
use crate::judgement::{by_subject, bytes_against, judge, judge_memory, tally};
use crate::memory::{Layout, LAYOUTS, SORTED_SET, WITH_HASH};
use crate::results::{Memory, Pace, Ratio, Results};
use crate::stops::CASES;

/// The name of its marker, a heading, and what makes it: nothing where there are no results.
pub struct Part(pub &'static str, pub &'static str, pub fn(&Results) -> String);

pub const PARTS: &[Part] = &[
    Part("machine", "The machine", machine),
    Part("aims", "Aims", aims),
    Part("core", "Against the core commands", |results| ratios(results, Against::Core, "core")),
    Part("today", "Against what people write today", |results| ratios(results, Against::Today, "today")),
    Part("three-keys", "Against a ranking in three keys", |results| ratios(results, Against::ThreeKeys, "three-keys")),
    Part("ourselves", "What a choice costs", |results| ratios(results, Against::Ourselves, "")),
    Part("growth", "Growth", growth),
    Part("memory", "Memory", memory),
    Part("mixed", "Mixed traffic", mixed),
    Part("stops", "Longest blocking times", stops),
    Part("shards", "Shards", shards),
    Part("instructions", "Instructions", instructions),
    Part("speeds", "Speeds", speeds),
];

fn machine(results: &Results) -> String {
    let servers = results.servers();
    if servers.is_empty() {
        return String::new();
    }
    let skipped: String = results.skipped.iter().map(|line| format!("\n- Skipped: {line}")).collect();
    format!("- {}\n- {}; no persistence, over a Unix socket{skipped}", results.machine, servers.join(", "))
}

fn aims(results: &Results) -> String {
    let (met, missed) = tally(results);
    if met + missed.len() == 0 {
        return String::new();
    }
    let lines: String = by_subject(&missed).iter().map(|line| format!("\n- missed: {line}")).collect();
    format!("{met} of {} aims are met.\n{lines}", met + missed.len())
}

/// A table for each server, below its chart.
fn by_server(results: &Results, chart: &str, table: impl Fn(&str) -> Option<String>) -> String {
    let part = |server: &str| {
        let table = table(server)?;
        let file = file_name(chart, server);
        let chart = if chart.is_empty() { String::new() } else { format!("![{server}](charts/{file})\n\n") };
        Some(format!("**{server}**\n\n{chart}{table}\n"))
    };
    results.servers().into_iter().filter_map(part).collect()
}

/// What was measured of some comparisons on one server.
struct Measured<'r> {
    comparisons: Vec<&'static Comparison>,
    ratios: Vec<&'r Ratio>,
}

impl<'r> Measured<'r> {
    fn new(results: &'r Results, server: &str, is_wanted: impl Fn(&Comparison) -> bool) -> Option<Measured<'r>> {
        let ratios: Vec<_> = results.ratios.iter().filter(|ratio| ratio.server == server).collect();
        let is_measured = |comparison: &&Comparison| ratios.iter().any(|ratio| ratio.comparison == comparison.name);
        let comparisons: Vec<_> = all().filter(|comparison| is_wanted(comparison)).filter(is_measured).collect();
        (!comparisons.is_empty()).then_some(Measured { comparisons, ratios })
    }

    /// The numbers of members for which there is a ratio.
    fn sizes(&self, pace: Pace) -> Vec<u64> {
        let of_these = |ratio: &&&Ratio| self.comparisons.iter().any(|it| it.name == ratio.comparison);
        let ratios = self.ratios.iter().filter(|ratio| ratio.pace == pace).filter(of_these);
        let mut sizes: Vec<u64> = ratios.map(|ratio| ratio.members).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    fn find(&self, comparison: &Comparison, pace: Pace, members: u64) -> Option<&'r Ratio> {
        let mut ratios = self.ratios.iter().copied();
        ratios.find(|it| it.comparison == comparison.name && it.pace == pace && it.members == members)
    }

    fn of<'s>(&'s self, comparison: &'s Comparison) -> impl Iterator<Item = &'r Ratio> + 's {
        self.ratios.iter().copied().filter(|ratio| ratio.comparison == comparison.name)
    }
}

fn ratios(results: &Results, against: Against, chart: &str) -> String {
    by_server(results, chart, |server| {
        let measured = Measured::new(results, server, |comparison| comparison.against == against)?;
        let (pipelined, one_by_one) = (measured.sizes(Pace::Pipelined), measured.sizes(Pace::OneByOne));
        let mut heads = strings(["comparison", "aim"]);
        heads.extend(pipelined.iter().map(|members| size(*members)));
        heads.extend(one_by_one.iter().map(|members| format!("{}, one by one", size(*members))));
        heads.push("verdict".into());
        let mut table = Table::new(&heads);
        for comparison in &measured.comparisons {
            let mut cells =
                vec![comparison.name.to_owned(), comparison.aim.map_or(String::new(), |aim| aim.to_string())];
            cells.extend(pipelined.iter().map(|members| {
                measured.find(comparison, Pace::Pipelined, *members).map_or(String::new(), with_spread)
            }));
            cells.extend(one_by_one.iter().map(|members| {
                measured.find(comparison, Pace::OneByOne, *members).map_or(String::new(), |it| ratio(it.ratio))
            }));
            cells.push(verdict(comparison, measured.of(comparison)));
            table.row(&cells);
        }
        Some(table.finish())
    })
}

fn with_spread(it: &Ratio) -> String {
    let unsteady = if it.is_steady() { "" } else { " ~" };
    format!("**{}** ({}–{}){unsteady}", ratio(it.ratio), ratio(it.spread.0), ratio(it.spread.1))
}

fn verdict<'r>(comparison: &Comparison, ratios: impl Iterator<Item = &'r Ratio>) -> String {
    let judged: Vec<_> = ratios.filter_map(|ratio| Some((ratio.members, judge(comparison, ratio)?))).collect();
    let missed: Vec<String> =
        judged.iter().filter(|(_, verdict)| !verdict.is_met).map(|(members, _)| size(*members)).collect();
    match (judged.len(), missed.len()) {
        (0, _) => String::new(),
        (_, 0) => "met".into(),
        (all, some) if all == some => "**missed**".into(),
        _ => format!("**missed** at {}", missed.join(", ")),
    }
}

/// Absolute figures, which say more of the machine than of anything else.
fn speeds(results: &Results) -> String {
    by_server(results, "", |server| {
        let measured = Measured::new(results, server, |_| true)?;
        let mut heads = vec!["jobs a second".to_owned()];
        let columns: Vec<(Pace, u64)> = [Pace::Pipelined, Pace::OneByOne]
            .into_iter()
            .flat_map(|pace| measured.sizes(pace).into_iter().map(move |members| (pace, members)))
            .collect();
        heads.extend(columns.iter().map(|(pace, members)| match pace {
            Pace::Pipelined => size(*members),
            Pace::OneByOne => format!("{}, one by one", size(*members)),
        }));
        let mut table = Table::new(&heads);
        for comparison in &measured.comparisons {
            let mut cells = vec![comparison.name.to_owned()];
            cells.extend(columns.iter().map(|(pace, members)| {
                let both = |it: &Ratio| format!("{} / {}", thousands(it.ours), thousands(it.theirs));
                measured.find(comparison, *pace, *members).map_or(String::new(), both)
            }));
            table.row(&cells);
        }
        Some(table.finish())
    })
}

fn growth(results: &Results) -> String {
    by_server(results, "growth", |server| {
        let measured: Vec<_> = results.growth.iter().filter(|growth| growth.server == server).collect();
        let mut sizes: Vec<u64> = measured.iter().map(|growth| growth.members).collect();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.is_empty() {
            return None;
        }
        let mut table =
            Table::new(&[strings(["µs of one"]), sizes.iter().map(|members| size(*members)).collect()].concat());
        for operation in OPERATIONS {
            let mut cells = vec![operation.name.to_owned()];
            cells.extend(sizes.iter().map(|members| {
                let found = measured.iter().find(|it| it.operation == operation.name && it.members == *members);
                found.map_or(String::new(), |it| format!("{:.2} ({:.2}–{:.2})", it.micros, it.spread.0, it.spread.1))
            }));
            table.row(&cells);
        }
        Some(table.finish())
    })
}

fn memory(results: &Results) -> String {
    let chart = "![bytes a member](charts/memory.svg)\n\n";
    let tables = by_server(results, "", |server| {
        let heads = ["layout", "bytes per member", "of a sorted set", "of a sorted set + hash", "aim", "verdict"];
        let mut table = Table::new(&strings(heads));
        let measured: Vec<(&Layout, &Memory)> = LAYOUTS
            .iter()
            .filter_map(|layout| {
                let memory = results.memory.iter().find(|it| it.server == server && it.layout == layout.name);
                memory.map(|memory| (layout, memory))
            })
            .collect();
        for (layout, memory) in &measured {
            let other = |other| bytes_against(results, memory, other).filter(|_| !layout.is_limiter);
            let against = |name| other(name).map_or(String::new(), ratio);
            let verdict = judge_memory(results, layout, memory);
            table.row(&[
                layout.name.into(),
                format!("{:.1}", memory.bytes_a_member),
                against(SORTED_SET),
                against(WITH_HASH),
                layout.aim.map_or(String::new(), |aim| format!("at most {aim}")),
                verdict.map_or("", |verdict| if verdict.is_met { "met" } else { "**missed**" }).into(),
            ]);
        }
        (!measured.is_empty()).then(|| table.finish())
    });
    if tables.is_empty() {
        tables
    } else {
        format!("{chart}{tables}")
    }
}

fn mixed(results: &Results) -> String {
    if results.mixed.is_empty() {
        return String::new();
    }
    let heads = ["server", "members", "side", "requests a second", "p50, µs", "p99, µs", "p99.9, µs", "longest, µs"];
    let mut table = Table::new(&strings(heads));
    for it in &results.mixed {
        let micros = |value: f64| format!("{value:.0}");
        table.row(&[
            it.server.clone(),
            size(it.members),
            it.side.clone(),
            thousands(it.per_second),
            micros(it.p50),
            micros(it.p99),
            micros(it.p999),
            micros(it.longest),
        ]);
    }
    table.finish()
}

fn stops(results: &Results) -> String {
    if results.stops.is_empty() {
        return String::new();
    }
    let servers = results.servers();
    let mut heads = strings(["command"]);
    for server in &servers {
        heads.extend([format!("{server}, ms"), "others wait".into()]);
    }
    let mut table = Table::new(&heads);
    for case in CASES {
        let mut cells = vec![case.name.to_owned()];
        for server in &servers {
            let stop = results.stops.iter().find(|it| it.server == *server && it.command == case.name);
            cells.extend(stop.map_or([String::new(), String::new()], |stop| {
                [format!("{:.2}", stop.executing), format!("{:.2}", stop.waiting)]
            }));
        }
        table.row(&cells);
    }
    format!("![stops](charts/stops.svg)\n\n{}\n{}", table.finish(), longest(results))
}

fn longest(results: &Results) -> String {
    let longest = |server: &str| {
        let ours = results.stops.iter().filter(|stop| stop.server == server && stop.is_ours);
        ours.max_by(|one, other| one.executing.total_cmp(&other.executing))
    };
    let line = |stop: &crate::results::Stop| {
        let (members, command, executing) = (size(stop.members), &stop.command, stop.executing);
        format!("Longest blocking time on {} with {members} members: {command}, {executing:.0} ms.\n", stop.server)
    };
    results.servers().into_iter().filter_map(longest).map(line).collect()
}

fn shards(results: &Results) -> String {
    by_server(results, "", |server| {
        let measured: Vec<_> = results.shards.iter().filter(|it| it.server == server).collect();
        measured.first()?;
        let heads = "nodes, board, members, writes/s, ranks/s, one rank, one page of 10, rounds of a page, \
                     cpu of a write, cpu of a rank, cpu of a page";
        let mut table = Table::new(&strings(heads.split(", ")));
        for it in measured {
            let board = if it.shards == 1 { "one key".into() } else { format!("{} shards", it.shards) };
            let micros = [it.rank_micros, it.page_micros].map(|micros| format!("{micros:.0} µs"));
            let cpu = [it.write_cpu, it.rank_cpu, it.page_cpu].map(|micros| format!("{micros:.1} µs"));
            let mut cells = vec![it.nodes.to_string(), board, size(it.members)];
            cells.extend([thousands(it.writes), thousands(it.ranks)]);
            cells.extend(micros);
            cells.push(format!("{:.1}", it.page_rounds));
            cells.extend(cpu);
            table.row(&cells);
        }
        Some(table.finish())
    })
}

fn instructions(results: &Results) -> String {
    by_server(results, "", |server| {
        let measured: Vec<_> = results.instructions.iter().filter(|it| it.server == server).collect();
        let mut table = Table::new(&strings(["instructions of one job", "ours", "theirs", "theirs / ours"]));
        for it in &measured {
            let quotient = it.theirs as f64 / it.ours as f64;
            table.row(&[it.comparison.clone(), it.ours.to_string(), it.theirs.to_string(), ratio(quotient)]);
        }
        (!measured.is_empty()).then(|| table.finish())
    })
}
