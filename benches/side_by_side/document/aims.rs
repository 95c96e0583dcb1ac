//! The page for developers: what the project set itself, what is there, and room for a person to say why not.

use super::markdown::{grouped, ratio, strings, Table};
use super::Part;
use crate::aims::{tally, Measured, AIMS};
use crate::listener::Listener;
use crate::results::{Instructions, Results};

pub const PARTS: &[Part] =
    &[Part("measured", super::tables::machine), Part("aims", aims), Part("instructions", instructions)];

/// What stands under the heading of an aim that is missed until somebody explains it.
const NOT_YET: &str = "Not explained yet.";

fn aims(results: &Results) -> String {
    let (met, measured) = tally(results);
    if measured == 0 {
        return String::new();
    }
    let servers = results.servers();
    let mut table = Table::new(&[&strings(["aim", "bound"])[..], &strings(&servers), &strings(["verdict"])].concat());
    for aim in AIMS {
        let mut cells = vec![aim.says.to_owned(), aim.bound()];
        cells.extend(servers.iter().map(|server| cell(&aim.measured(results, server))));
        let is_measured = servers.iter().any(|server| !aim.measured(results, server).is_empty());
        cells.push(match (is_measured, aim.is_missed(results)) {
            (false, _) => "not measured".into(),
            (true, false) => "met".into(),
            (true, true) => format!("[missed](#{})", aim.name),
        });
        table.row(&cells);
    }
    format!("{met} of {measured} aims are met. Figures that miss their aim are bold.\n\n{}", table.finish())
}

fn cell(figures: &[Measured]) -> String {
    let figure = |it: &Measured| {
        let value = if it.value.is_finite() { ratio(it.value) } else { "other commands".into() };
        let value = if it.is_met { value } else { format!("**{value}**") };
        if it.at.is_empty() {
            value
        } else {
            format!("{}: {value}", it.at)
        }
    };
    figures.iter().map(figure).collect::<Vec<_>>().join("; ")
}

/// Adds a heading for each aim that is missed and has none. What is there stays, whatever the figures are now.
pub fn ask_why(mut text: String, results: &Results) -> String {
    for aim in AIMS.iter().filter(|aim| aim.is_missed(results)) {
        let heading = format!("\n### {}\n", aim.name);
        if !text.contains(&heading) {
            text = format!("{}\n{heading}\n{} ({})\n", text.trim_end(), NOT_YET, aim.says);
        }
    }
    text
}

fn instructions(results: &Results) -> String {
    let of_server = |server: &&str| {
        let of = |comparison: &str, listener| {
            let is_it = |it: &&Instructions| it.comparison == comparison && it.listener == listener;
            results.instructions.iter().filter(|it| it.server == **server).find(is_it)
        };
        let quiet = results.instructions.iter().filter(|it| it.server == **server && it.listener == Listener::Nobody);
        let mut table = Table::new(&strings([
            "instructions per job",
            "redis-rank",
            "the other side",
            "redis-rank, AOF",
            "the other side, AOF",
        ]));
        let mut is_empty = true;
        for it in quiet {
            let aof = of(&it.comparison, Listener::Aof);
            let count = |count: u64| grouped(count as f64);
            table.row(&[
                it.comparison.clone(),
                count(it.ours),
                count(it.theirs),
                aof.map_or(String::new(), |it| count(it.ours)),
                aof.map_or(String::new(), |it| count(it.theirs)),
            ]);
            is_empty = false;
        }
        (!is_empty).then(|| format!("**{server}**\n\n{}\n", table.finish()))
    };
    results.servers().iter().filter_map(of_server).collect()
}
