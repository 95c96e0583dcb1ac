//! What a comparison is: data, for the tables beside this file.

mod core;
pub mod keys;
mod limits;
mod schedules;
mod scripts;
mod three_keys;

use crate::checks::Same;

/// The same job done in two ways. Jobs are templates: see `template`.
pub struct Comparison {
    /// The table of the document that shows it.
    pub topic: &'static str,
    pub name: &'static str,
    pub beside: &'static str,
    /// The numbers of members with which it is measured.
    pub sizes: &'static [u64],
    /// Whether it is measured with an AOF and with a replica too: writes that people make all day.
    pub is_listened_to: bool,
    pub needs: &'static [&'static Key],
    pub ours: &'static str,
    pub theirs: &'static str,
    /// Jobs sent at once.
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

impl Count {
    pub fn of(self, members: u64) -> u64 {
        match self {
            Count::Members => members,
            Count::Exactly(count) => count,
        }
    }
}

impl Key {
    pub const fn board(create: &'static str, fill: &'static str) -> Key {
        Key { create: Some(create), fill, count: Count::Members }
    }

    pub const fn filled(fill: &'static str) -> Key {
        Key { create: None, fill, count: Count::Members }
    }

    pub const fn times(count: u64, fill: &'static str) -> Key {
        Key { create: None, fill, count: Count::Exactly(count) }
    }
}

/// A cached script, with its name: what people write today, at its best.
pub type Script = (&'static str, &'static str);

pub fn all() -> impl Iterator<Item = &'static Comparison> {
    [core::COMPARISONS, scripts::COMPARISONS, three_keys::COMPARISONS, limits::COMPARISONS, schedules::COMPARISONS]
        .into_iter()
        .flatten()
}

pub fn scripts() -> impl Iterator<Item = &'static Script> {
    [scripts::SCRIPTS, three_keys::SCRIPTS, limits::SCRIPTS, schedules::SCRIPTS].into_iter().flatten()
}
