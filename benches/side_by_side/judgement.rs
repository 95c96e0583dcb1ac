//! Whether what was measured is what the project set itself.
//!
//! Aims are for pipelined traffic, where the server's own work counts most. A figure that is not there yet is missed,
//! however close.

use crate::comparison::{all, Comparison};
use crate::memory::{Layout, LAYOUTS, SORTED_SET};
use crate::results::{Memory, Pace, Ratio, Results};

pub struct Verdict {
    pub aim: f64,
    pub is_met: bool,
}

pub fn judge(comparison: &Comparison, ratio: &Ratio) -> Option<Verdict> {
    let aim = comparison.aim.filter(|_| ratio.pace == Pace::Pipelined && comparison.is_aimed_at(ratio.members))?;
    Some(Verdict { aim, is_met: ratio.ratio >= aim })
}

/// Its bytes as a multiple of those of another layout on the same server.
pub fn bytes_against(results: &Results, memory: &Memory, other: &str) -> Option<f64> {
    let is_other = |it: &&Memory| it.server == memory.server && it.members == memory.members && it.layout == other;
    results.memory.iter().find(is_other).map(|other| memory.bytes_a_member / other.bytes_a_member)
}

pub fn judge_memory(results: &Results, layout: &Layout, memory: &Memory) -> Option<Verdict> {
    let aim = layout.aim?;
    bytes_against(results, memory, SORTED_SET).map(|ratio| Verdict { aim, is_met: ratio <= aim })
}

/// How many aims are met, and which are not.
pub fn tally(results: &Results) -> (usize, Vec<String>) {
    let (mut met, mut missed) = (0, Vec::new());
    let mut count = |verdict: Option<Verdict>, line: String| match verdict {
        Some(Verdict { is_met: true, .. }) => met += 1,
        Some(Verdict { is_met: false, .. }) => missed.push(line),
        None => {}
    };
    for ratio in &results.ratios {
        if let Some(comparison) = all().find(|comparison| comparison.name == ratio.comparison) {
            let Ratio { server, comparison: name, members, ratio: figure, .. } = ratio;
            let aim = comparison.aim.unwrap_or_default();
            let line = format!("{name}: {figure:.2}, at least {aim} ({server}, {members} members)");
            count(judge(comparison, ratio), line);
        }
    }
    for memory in &results.memory {
        if let Some(layout) = LAYOUTS.iter().find(|layout| layout.name == memory.layout) {
            let Memory { server, layout: name, members, .. } = memory;
            count(judge_memory(results, layout, memory), format!("memory, {name} ({server}, {members} members)"));
        }
    }
    (met, missed)
}
