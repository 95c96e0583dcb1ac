//! The charts: results turned into bars and lines.

mod axis;
mod bars;
mod canvas;
mod lines;

use std::fs;
use std::path::Path;

use plotters::style::RGBColor;

use crate::comparison::{all, Against};
use crate::growth::{self, OPERATIONS};
use crate::judgement::judge;
use crate::memory::LAYOUTS;
use crate::results::{Pace, Results};
use crate::stops::CASES;
use axis::{short, Scale};
use bars::{Bar, Bars, Row};
use lines::{Line, Lines, Panel};

/// From small boards to large ones.
const SIZES: [RGBColor; 5] =
    [RGBColor(158, 202, 225), RGBColor(74, 144, 198), RGBColor(8, 81, 156), RGBColor(8, 48, 107), RGBColor(3, 19, 43)];
const SERVERS: [RGBColor; 2] = [RGBColor(200, 70, 62), RGBColor(64, 99, 191)];
const CORE: RGBColor = RGBColor(140, 149, 159);
const OPERATION: [RGBColor; 8] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 92, 0),
    RGBColor(44, 140, 44),
    RGBColor(190, 40, 50),
    RGBColor(130, 90, 180),
    RGBColor(140, 86, 75),
    RGBColor(210, 80, 170),
    RGBColor(0, 140, 155),
];

/// Draws all charts for which there are results.
pub fn draw(dir: &Path, results: &Results) -> Result<(), String> {
    fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for server in results.servers() {
        let file = |name: &str| dir.join(file_name(name, server));
        for (against, name) in [(Against::Core, "core"), (Against::Today, "today"), (Against::ThreeKeys, "three-keys")]
        {
            let chart = ratios(results, server, against);
            if !chart.rows.is_empty() {
                bars::draw(&chart, &file(name))?;
            }
        }
        let chart = growth(results, server);
        if chart.panels.iter().all(|panel| !panel.lines.is_empty()) {
            lines::draw(&chart, &file("growth"))?;
        }
    }
    for (chart, name) in [(memory(results), "memory.svg"), (stops(results), "stops.svg")] {
        if !chart.rows.is_empty() {
            bars::draw(&chart, &dir.join(name))?;
        }
    }
    Ok(())
}

/// `core-redis.svg`: without the version, so that a newer one takes its place.
pub fn file_name(name: &str, server: &str) -> String {
    let kind = server.split(' ').next().unwrap_or_default().to_lowercase();
    format!("{name}-{kind}.svg")
}

fn ratios(results: &Results, server: &str, against: Against) -> Bars {
    let measured = || results.ratios.iter().filter(|ratio| ratio.server == server && ratio.pace == Pace::Pipelined);
    let comparisons = all().filter(|comparison| comparison.against == against);
    let comparisons: Vec<_> = comparisons.filter(|it| measured().any(|ratio| ratio.comparison == it.name)).collect();
    let mut sizes: Vec<u64> = measured().map(|ratio| ratio.members).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let rows = comparisons.iter().map(|comparison| {
        let bar = |members: &u64| {
            let ratio = measured().find(|it| it.comparison == comparison.name && it.members == *members)?;
            let is_alarming = judge(comparison, ratio).is_some_and(|verdict| !verdict.is_met);
            Some(Bar { value: ratio.ratio, spread: Some(ratio.spread), is_alarming })
        };
        Row {
            label: comparison.name.into(),
            is_pale: false,
            bars: sizes.iter().map(bar).collect(),
            marker: comparison.aim,
        }
    });
    let other = match against {
        Against::Core => "the core's own commands",
        Against::Today => "what people write today",
        Against::ThreeKeys => "a ranking in three keys by Lua scripts",
        Against::Ourselves => "another board",
    };
    Bars {
        title: format!("redis-rank beside {other}, {server}"),
        subtitle: "How many times as fast, pipelined; the thin line spans the quartiles; red figures miss their aim"
            .into(),
        axis: "times as fast (to the right of the line at 1: redis-rank is faster)".into(),
        scale: Scale::Log,
        base: Some(1.0),
        series: sizes.iter().map(|size| format!("{} members", short(*size as f64))).zip(SIZES).collect(),
        marker: Some("aim"),
        rows: rows.collect(),
    }
}

fn growth(results: &Results, server: &str) -> Lines {
    let panel = |title, panel: growth::Panel| {
        let mut colors = OPERATION.iter().cycle();
        let lines = OPERATIONS.iter().filter(|operation| operation.panel == panel).map(|operation| {
            let measured = results.growth.iter().filter(|it| it.server == server && it.operation == operation.name);
            let mut points: Vec<_> = measured.map(|it| (it.members as f64, it.micros)).collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            Line {
                name: operation.name.into(),
                color: if operation.is_core { CORE } else { *colors.next().unwrap_or(&CORE) },
                is_thick: operation.is_core,
                points,
            }
        });
        Panel { title, lines: lines.filter(|line| line.points.len() > 1).collect() }
    };
    Lines {
        title: format!("As a board grows, {server}"),
        subtitle: "Microseconds of one command, pipelined; thick and grey: the core's own".into(),
        across: "members",
        panels: vec![
            panel("Reads, µs", growth::Panel::Reads),
            panel("Lists, µs", growth::Panel::Lists),
            panel("Writes, µs", growth::Panel::Writes),
        ],
    }
}

/// A bar for each server.
fn by_server(
    results: &Results,
    names: impl Iterator<Item = (&'static str, bool)>,
    figure: impl Fn(&str, &str) -> Option<f64>,
) -> (Vec<(String, RGBColor)>, Vec<Row>) {
    let servers = results.servers();
    let rows = names.map(|(name, is_pale)| {
        let bar = |server: &&str| figure(server, name).map(|value| Bar { value, spread: None, is_alarming: false });
        Row { label: name.into(), is_pale, bars: servers.iter().map(bar).collect(), marker: None }
    });
    let rows = rows.filter(|row| row.bars.iter().any(Option::is_some)).collect();
    (servers.iter().map(|server| (*server).to_owned()).zip(SERVERS).collect(), rows)
}

fn memory(results: &Results) -> Bars {
    let names = LAYOUTS.iter().filter(|layout| !layout.is_limiter).map(|layout| (layout.name, layout.is_core));
    let (series, rows) = by_server(results, names, |server, name| {
        results.memory.iter().find(|it| it.server == server && it.layout == name).map(|it| it.bytes_a_member)
    });
    let members = results.memory.first().map_or(0, |memory| memory.members);
    Bars {
        title: "Memory".into(),
        subtitle: format!(
            "Bytes per member, {} members with names of about 13 characters; pale: without redis-rank",
            short(members as f64)
        ),
        axis: "bytes a member".into(),
        scale: Scale::Linear,
        base: None,
        series,
        marker: None,
        rows,
    }
}

fn stops(results: &Results) -> Bars {
    let ours = |name: &str| results.stops.iter().any(|stop| stop.command == name && stop.is_ours);
    let names = CASES.iter().map(|case| (case.name, !ours(case.name)));
    let (series, rows) = by_server(results, names, |server, name| {
        results.stops.iter().find(|it| it.server == server && it.command == name).map(|it| it.executing.max(0.001))
    });
    let members = results.stops.first().map_or(0, |stop| stop.members);
    Bars {
        title: "The longest stops".into(),
        subtitle: format!(
            "Milliseconds in which the server does nothing else, {} members; pale: core commands",
            short(members as f64)
        ),
        axis: "ms".into(),
        scale: Scale::Log,
        base: None,
        series,
        marker: None,
        rows,
    }
}
