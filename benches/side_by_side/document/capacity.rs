//! What one key can hold, for the guide to clusters.

use super::markdown::{grouped, size, strings, Table};
use super::Part;
use crate::results::Results;

pub const PARTS: &[Part] = &[Part("capacity", capacity)];

/// A million members, ten million, and an estimate for a hundred million.
fn capacity(results: &Results) -> String {
    let Some(server) = results.servers().first().copied() else { return String::new() };
    let micros = |operation: &str, members: u64| {
        let is_it =
            |it: &&crate::results::Growth| it.server == server && it.operation == operation && it.members == members;
        results.growth.iter().find(is_it).map(|it| it.micros)
    };
    let both = |members| micros("RANK.ADD", members).zip(micros("RANK.GET", members));
    let bytes = results.memory.iter().find(|it| it.server == server && it.layout == crate::memory::SORTED_SET);
    let (Some(million), Some(ten), Some(bytes)) = (both(1_000_000), both(10_000_000), bytes) else {
        return String::new();
    };
    let (write, rank) = (ten.0 / million.0, ten.1 / million.1);
    let heads = ["members", "memory", "one write", "one rank", "writes per second, one node"];
    let mut table = Table::new(&strings(heads));
    let mut row = |members: u64, (write, rank): (f64, f64), about: &str| {
        let megabytes = members as f64 * bytes.bytes_a_member / 1e6;
        let memory = match megabytes {
            10_000.0.. => format!("{:.0} GB", megabytes / 1e3),
            1000.0.. => format!("{:.1} GB", megabytes / 1e3),
            _ => format!("{megabytes:.0} MB"),
        };
        // No more digits than such a figure is worth.
        let a_second = (1e3 / write).round() * 1e3;
        table.row(&[
            size(members),
            memory,
            format!("{about}{write:.0} µs"),
            format!("{about}{rank:.0} µs"),
            format!("{about}{}", grouped(a_second)),
        ]);
    };
    row(1_000_000, million, "");
    row(10_000_000, ten, "");
    row(100_000_000, (ten.0 * write, ten.1 * rank), "about ");
    format!(
        "{}\nThe first two rows are [measured](../benchmarks.md#growth) on {server}, with `RANK.ADD` and `RANK.GET` on a\n\
         board with one score and names of 13 characters. The last row is an estimate: memory grows with the\n\
         number of members, and the times grow again as they did from the first row to the second ({write:.1} and\n\
         {rank:.1} times).",
        table.finish()
    )
}
