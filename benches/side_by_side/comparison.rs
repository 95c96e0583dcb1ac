//! What a comparison is: data, for the tables in `boards` and `limits`.

use crate::checks::Same;

/// How many members the keys of a [`Scale::Fixed`] comparison have.
pub const FIXED_MEMBERS: u64 = 100_000;

/// The same job done in two ways. Commands are templates: see `template`.
pub struct Comparison {
    pub name: &'static str,
    /// The least ratio of our speed to theirs; `None` where it is only good to know.
    pub target: Option<f64>,
    pub scale: Scale,
    pub needs: &'static [&'static Key],
    pub ours: &'static str,
    pub theirs: &'static str,
    /// Commands sent at once.
    pub pipeline: u64,
    /// Whether a reply of ours means what one of theirs does, for the same command number.
    pub replies: Same,
    /// Two reads that must agree before and after.
    pub state: Option<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// At each number of members.
    Growing,
    /// Once, since the number of members is part of the comparison.
    Fixed,
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

/// `MEMORY USAGE` of some keys beside that of others that hold the same.
pub struct Memory {
    pub name: &'static str,
    /// The largest ratio of our bytes to theirs.
    pub target: Option<f64>,
    pub needs: &'static [&'static Key],
    pub ours: &'static [&'static str],
    pub theirs: &'static [&'static str],
}

/// Cached scripts: what people write today, each at its best.
pub struct Script {
    pub name: &'static str,
    pub text: &'static str,
}
