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

/// An aim that is not met.
pub struct Missed {
    /// What it is about, with the aim.
    subject: String,
    /// Where, and what it is there.
    figure: String,
}

/// How many aims are met, and which are not.
pub fn tally(results: &Results) -> (usize, Vec<Missed>) {
    let (mut met, mut missed) = (0, Vec::new());
    let mut count = |verdict: Verdict, subject: String, figure: String| match verdict.is_met {
        true => met += 1,
        false => missed.push(Missed { subject, figure }),
    };
    for ratio in &results.ratios {
        let comparison = all().find(|comparison| comparison.name == ratio.comparison);
        if let Some(verdict) = comparison.and_then(|comparison| judge(comparison, ratio)) {
            let subject = format!("{}, at least {}", ratio.comparison, verdict.aim);
            count(verdict, subject, format!("{:.2} ({}, {} members)", ratio.ratio, ratio.server, ratio.members));
        }
    }
    for memory in &results.memory {
        let layout = LAYOUTS.iter().find(|layout| layout.name == memory.layout);
        if let Some(verdict) = layout.and_then(|layout| judge_memory(results, layout, memory)) {
            let subject = format!("memory of {}, at most {}", memory.layout, verdict.aim);
            let against = bytes_against(results, memory, SORTED_SET).unwrap_or_default();
            count(verdict, subject, format!("{against:.3} ({}, {} members)", memory.server, memory.members));
        }
    }
    (met, missed)
}

/// A line for each subject, with all its figures.
pub fn by_subject(missed: &[Missed]) -> Vec<String> {
    let mut lines: Vec<(&str, Vec<&str>)> = Vec::new();
    for Missed { subject, figure } in missed {
        match lines.iter_mut().find(|(known, _)| known == subject) {
            Some((_, figures)) => figures.push(figure),
            None => lines.push((subject, vec![figure])),
        }
    }
    lines.iter().map(|(subject, figures)| format!("{subject}: {}", figures.join(", "))).collect()
}
