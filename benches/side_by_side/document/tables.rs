//! Each table of the page for readers, from the results.

use super::answer::answer;
use super::markdown::{ratio, size, strings, Table};
use super::Part;
use crate::charts::CHARTS;
use crate::comparison::{all, Comparison, Topic};
use crate::console::thousands;
use crate::growth::OPERATIONS;
use crate::listener::Listener;
use crate::memory::{LAYOUTS, SORTED_SET, WITH_HASH};
use crate::results::{Pace, Ratio, Results, Sent};
use crate::stops::CASES;

pub const PARTS: &[Part] = &[
    Part("answer", |results| with_charts(&["scripts.svg"], answer(results))),
    Part("machine", machine),
    Part("scripts", |results| ratios(results, Topic::Scripts)),
    Part("core", |results| with_charts(&["writes.svg", "reads.svg"], ratios(results, Topic::Core))),
    Part("limits", |results| with_charts(&["limits.svg"], ratios(results, Topic::Limits))),
    Part("schedules", |results| ratios(results, Topic::Schedules)),
    Part("three-keys", |results| ratios(results, Topic::ThreeKeys)),
    Part("ourselves", |results| ratios(results, Topic::Ourselves)),
    Part("sent", sent),
    Part("memory", |results| with_charts(&["memory.svg"], memory(results))),
    Part("growth", |results| with_charts(&["growth.svg"], growth(results))),
    Part("blocking", |results| with_charts(&["blocking.svg"], blocking(results))),
    Part("latency", |results| with_charts(&["latency.svg"], latency(results))),
    Part("shards", shards),
    Part("speeds", speeds),
];

/// A part without figures has no charts either.
fn with_charts(files: &[&str], text: String) -> String {
    if text.is_empty() {
        return text;
    }
    let chart = |file: &&str| {
        let text = CHARTS.iter().find(|chart| chart.file == *file).map_or("", |chart| chart.text);
        format!("![{text}](charts/{file})\n\n")
    };
    files.iter().map(chart).collect::<String>() + &text
}

pub fn machine(results: &Results) -> String {
    let servers = results.servers();
    if servers.is_empty() {
        return String::new();
    }
    let builds = match &results.machine.builds[..] {
        [build] => format!("commit {build}"),
        builds => format!("commits {}, measured on different days", builds.join(" and ")),
    };
    let skipped: String = results.skipped.iter().map(|line| format!("\n- Skipped: {line}")).collect();
    format!("- {}\n- {}; redis-rank at {builds}{skipped}", results.machine, servers.join(" and "))
}

/// A table for each server.
fn by_server(results: &Results, table: impl Fn(&str) -> Option<String>) -> String {
    let part = |server: &str| Some(format!("**{server}**\n\n{}\n", table(server)?));
    results.servers().into_iter().filter_map(part).collect()
}

/// The column of a pipelined ratio: how many members, and who listened.
type Column = (Listener, u64);

fn head((listener, members): &Column) -> String {
    match listener {
        Listener::Nobody => size(*members),
        Listener::Aof => format!("{}, AOF", size(*members)),
        Listener::Replica => format!("{}, replica", size(*members)),
    }
}

fn ratios(results: &Results, topic: Topic) -> String {
    by_server(results, |server| {
        let measured = |comparison: &Comparison| {
            let name = comparison.name;
            let of_it = move |it: &&Ratio| it.server == server && it.comparison == name && it.pace == Pace::Pipelined;
            results.ratios.iter().filter(of_it)
        };
        let comparisons: Vec<&Comparison> = all().filter(|it| it.topic == topic && measured(it).count() > 0).collect();
        let mut columns: Vec<Column> =
            comparisons.iter().flat_map(|it| measured(it).map(|it| (it.listener, it.members))).collect();
        columns.sort_by_key(|(listener, members)| (*listener as u8, *members));
        columns.dedup();
        if columns.is_empty() {
            return None;
        }
        let mut table = Table::new(&[strings(["times as fast"]), columns.iter().map(head).collect()].concat());
        for comparison in comparisons {
            let cell = |(listener, members): &Column| {
                results.ratio(server, comparison.name, *members, *listener).map_or(String::new(), |it| {
                    let unsteady = if it.is_steady() { "" } else { " ~" };
                    format!("{}{unsteady}", ratio(it.ratio))
                })
            };
            table.row(&[strings([comparison.name]), columns.iter().map(cell).collect()].concat());
        }
        Some(table.finish())
    })
}

/// What reaches the AOF and the replicas.
fn sent(results: &Results) -> String {
    by_server(results, |server| {
        let measured: Vec<_> = results.ratios.iter().filter(|it| it.server == server && it.sent.is_some()).collect();
        measured.first()?;
        let heads = ["one job", "bytes", "commands", "bytes, other side", "commands, other side"];
        let mut table = Table::new(&strings(heads));
        for it in measured {
            let Some((ours, theirs)) = &it.sent else { continue };
            let bytes = |sent: &Sent| format!("{:.0}", sent.bytes);
            table.row(&[it.comparison.clone(), bytes(ours), commands(ours), bytes(theirs), commands(theirs)]);
        }
        Some(table.finish())
    })
}

/// `MULTI`, 2 `ZADD`, `EXEC`; in brackets what not every job sends.
fn commands(sent: &Sent) -> String {
    let command = |(name, count): &(String, f64)| {
        let name = format!("`{}`", name.to_uppercase());
        match count.round() {
            1.0 if *count > 0.9 => name,
            count if count > 1.0 => format!("{count} {name}"),
            _ => format!("({name})"),
        }
    };
    sent.commands.iter().map(command).collect::<Vec<_>>().join(", ")
}

/// All that was measured of each comparison: absolute figures, which say more of the machine than of anything else.
fn speeds(results: &Results) -> String {
    by_server(results, |server| {
        let measured: Vec<_> = results.ratios.iter().filter(|it| it.server == server).collect();
        measured.first()?;
        let heads = ["comparison", "members", "per second, ours / theirs", "ratio", "quartiles", "CPU ratio"];
        let mut table = Table::new(&strings(heads));
        for it in measured {
            let at = match it.pace {
                Pace::Pipelined => head(&(it.listener, it.members)),
                Pace::OneByOne => format!("{}, one by one", size(it.members)),
            };
            table.row(&[
                it.comparison.clone(),
                at,
                format!("{} / {}", thousands(it.ours), thousands(it.theirs)),
                ratio(it.ratio),
                format!("{}–{}", ratio(it.spread.0), ratio(it.spread.1)),
                if it.cpu_ratio.is_finite() { ratio(it.cpu_ratio) } else { String::new() },
            ]);
        }
        Some(table.finish())
    })
}

fn growth(results: &Results) -> String {
    by_server(results, |server| {
        let measured: Vec<_> = results.growth.iter().filter(|growth| growth.server == server).collect();
        let mut sizes: Vec<u64> = measured.iter().map(|growth| growth.members).collect();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.is_empty() {
            return None;
        }
        let mut table =
            Table::new(&[strings(["µs per command"]), sizes.iter().map(|members| size(*members)).collect()].concat());
        for operation in OPERATIONS {
            let mut cells = vec![operation.name.to_owned()];
            cells.extend(sizes.iter().map(|members| {
                let found = measured.iter().find(|it| it.operation == operation.name && it.members == *members);
                found.map_or(String::new(), |it| format!("{:.1}", it.micros))
            }));
            table.row(&cells);
        }
        Some(table.finish())
    })
}

fn memory(results: &Results) -> String {
    by_server(results, |server| {
        let bytes = |layout: &str| {
            results.memory.iter().find(|it| it.server == server && it.layout == layout).map(|it| it.bytes_a_member)
        };
        let heads = ["layout", "bytes per member", "of a sorted set", "of a sorted set + hash"];
        let mut table = Table::new(&strings(heads));
        let mut is_empty = true;
        for layout in LAYOUTS {
            let Some(own) = bytes(layout.name) else { continue };
            let against = |name| match bytes(name) {
                Some(other) if !layout.is_limiter => ratio(own / other),
                _ => String::new(),
            };
            table.row(&[layout.name.into(), format!("{own:.0}"), against(SORTED_SET), against(WITH_HASH)]);
            is_empty = false;
        }
        (!is_empty).then(|| table.finish())
    })
}

fn latency(results: &Results) -> String {
    if results.mixed.is_empty() {
        return String::new();
    }
    let heads = "server, side, requests per second, p50 in µs, p99 in µs, p99.9 in µs, quartiles of p99.9";
    let mut table = Table::new(&strings(heads.split(", ")));
    for it in &results.mixed {
        let micros = |value: f64| format!("{value:.0}");
        table.row(&[
            it.server.clone(),
            if it.is_ours { "redis-rank" } else { "core commands and scripts" }.into(),
            thousands(it.per_second),
            micros(it.p50),
            micros(it.p99),
            micros(it.p999),
            format!("{}–{}", micros(it.p999_spread.0), micros(it.p999_spread.1)),
        ]);
    }
    table.finish()
}

fn blocking(results: &Results) -> String {
    if results.stops.is_empty() {
        return String::new();
    }
    let servers = results.servers();
    let mut heads = strings(["command"]);
    for server in &servers {
        heads.extend([format!("{server}, ms"), "others wait, ms".into()]);
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
    table.finish()
}

fn shards(results: &Results) -> String {
    by_server(results, |server| {
        let measured: Vec<_> = results.shards.iter().filter(|it| it.server == server).collect();
        measured.first()?;
        let heads = "nodes, board, members, writes/s, ranks/s, one rank, one page of 10, rounds of a page, \
                     CPU of a write, CPU of a rank, CPU of a page";
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
