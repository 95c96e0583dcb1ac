//! What a comparison is: data, for the tables beside this file.

mod core;
pub mod keys;
mod limits;
mod periods;
mod schedules;
mod three_keys;
mod today;

use crate::checks::Same;

/// The same job done in two ways. Jobs are templates: see `template`.
pub struct Comparison {
    pub name: &'static str,
    pub topic: Topic,
    pub sizes: Sizes,
    /// Whether it is measured with an AOF and with a replica too: writes that people make all day.
    pub is_listened_to: bool,
    pub needs: &'static [&'static Key],
    pub ours: &'static str,
    pub theirs: &'static str,
    /// Jobs sent at once, where they are not sent one by one.
    pub pipeline: u64,
    /// Whether each side runs as many jobs as fit its time, since nothing is written: else both run the same, so that
    /// their keys stay equal.
    pub reads_only: bool,
    /// Whether a reply of ours means what one of theirs does, for the same number. The replies of a job with several
    /// commands are an array.
    pub replies: Same,
    /// Two reads that must agree before and after.
    pub state: Option<State>,
}

/// The table of the document that shows it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Leaderboards beside the server's own command for the same.
    Core,
    /// Leaderboards beside a cached script, or a pipeline, as people write them.
    Scripts,
    /// Leaderboards beside a ranking in three keys, by scripts.
    ThreeKeys,
    Limits,
    Schedules,
    /// Another board or log of ours: what a choice costs.
    Ourselves,
}

#[derive(Clone, Copy)]
pub enum Sizes {
    /// At each number of members that is measured.
    All,
    /// At these, since the number is part of the comparison.
    Only(&'static [u64]),
}

pub struct State {
    pub ours: &'static str,
    pub theirs: &'static str,
    pub same: Same,
}

/// A key, or a family of keys, and how it is filled.
pub struct Key {
    pub create: Option<&'static str>,
    /// Run with the numbers from 0 on.
    pub fill: &'static str,
    pub count: Count,
}

#[derive(Clone, Copy)]
pub enum Count {
    Members,
    Exactly(u64),
}

/// A cached script: what people write today, at its best.
pub struct Script {
    pub name: &'static str,
    pub text: &'static str,
}

impl Comparison {
    pub fn is_at(&self, members: u64) -> bool {
        match self.sizes {
            Sizes::All => true,
            Sizes::Only(sizes) => sizes.contains(&members),
        }
    }
}

pub fn all() -> impl Iterator<Item = &'static Comparison> {
    [
        core::COMPARISONS,
        today::COMPARISONS,
        three_keys::COMPARISONS,
        limits::COMPARISONS,
        schedules::COMPARISONS,
        periods::COMPARISONS,
    ]
    .into_iter()
    .flatten()
}

pub fn scripts() -> impl Iterator<Item = &'static Script> {
    [today::SCRIPTS, three_keys::SCRIPTS, limits::SCRIPTS, schedules::SCRIPTS].into_iter().flatten()
}
