//! What the project set itself, and whether it is there. Near misses count as misses.
//!
//! Ratios are of pipelined traffic, where the server's own work counts most.

mod table;

use crate::document::{grouped, size};
use crate::listener::Listener;
use crate::memory::SORTED_SET;
use crate::results::{Mixed, Results, Sent};
use crate::support::Kind;

pub struct Aim {
    /// The heading under which a person says why it is missed: short, and for good.
    pub name: &'static str,
    pub says: &'static str,
    bound: Bound,
    /// For one server alone.
    on: Option<Kind>,
    figures: &'static [Figure],
}

#[derive(Clone, Copy)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

use Bound::{AtLeast, AtMost};
use Figure::{BytesOfASortedSet, Instructions, NanosAMember, Ratio, Tail, Updates};
use Listener::{Aof, Nobody, Replica};

pub use table::AIMS;

enum Figure {
    /// How many times as fast, at these numbers of members.
    Ratio(&'static str, Listener, &'static [u64]),
    /// Of our side of a comparison.
    Instructions(&'static str),
    /// Of our side of a comparison about whole boards.
    NanosAMember(&'static str, u64),
    /// Whichever is more: the `ZADD` or the `ZREM` that a replica gets for one job of ours. What else it gets counts as
    /// more than enough, but for `MULTI` and `EXEC`.
    Updates(&'static str),
    /// Memory of a layout, as a multiple of a plain sorted set's.
    BytesOfASortedSet(&'static str),
    /// The slowest of a thousand requests of mixed traffic, as a multiple of the other side's.
    Tail,
}

/// One figure of an aim.
pub struct Measured {
    /// What tells it apart from the others of the aim, if anything does.
    pub at: String,
    pub value: f64,
    pub is_met: bool,
}

impl Aim {
    pub fn bound(&self) -> String {
        // 0.667, 13,000
        let thousands = |bound: f64| if bound < 1000.0 { bound.to_string() } else { grouped(bound) };
        match self.bound {
            AtLeast(bound) => format!("at least {}", thousands(bound)),
            AtMost(bound) => format!("at most {}", thousands(bound)),
        }
    }

    pub fn is_for(&self, server: &str) -> bool {
        self.on.is_none_or(|kind| server.starts_with(&format!("{kind:?}")))
    }

    /// What was measured of it on this server.
    pub fn measured(&self, results: &Results, server: &str) -> Vec<Measured> {
        if !self.is_for(server) {
            return Vec::new();
        }
        self.figures.iter().flat_map(|figure| self.of_figure(figure, results, server)).collect()
    }

    pub fn is_missed(&self, results: &Results) -> bool {
        results.servers().iter().any(|server| self.measured(results, server).iter().any(|it| !it.is_met))
    }

    fn of_figure(&self, figure: &Figure, results: &Results, server: &str) -> Vec<Measured> {
        let measured = |at: String, value: f64| Measured {
            at,
            value,
            is_met: match self.bound {
                AtLeast(bound) => value >= bound,
                AtMost(bound) => value <= bound,
            },
        };
        let one = |value: Option<f64>| value.map(|value| measured(String::new(), value)).into_iter().collect();
        match figure {
            Ratio(comparison, listener, sizes) => sizes
                .iter()
                .filter_map(|members| {
                    let ratio = results.ratio(server, comparison, *members, *listener)?.ratio;
                    let at = match listener {
                        Nobody if sizes.len() > 1 => size(*members),
                        Nobody => String::new(),
                        Aof => "AOF".into(),
                        Replica => "replica".into(),
                    };
                    Some(measured(at, ratio))
                })
                .collect(),
            Instructions(comparison) => one(results
                .instructions
                .iter()
                .find(|it| it.server == server && it.comparison == *comparison && it.listener == Nobody)
                .map(|it| it.ours as f64)),
            NanosAMember(comparison, members) => {
                one(results.ratio(server, comparison, *members, Nobody).map(|it| 1e9 / it.ours / *members as f64))
            }
            Updates(comparison) => {
                let ratios = results.ratios.iter().filter(|it| it.server == server && it.comparison == *comparison);
                one(ratios.filter_map(|it| it.sent.as_ref()).map(|(ours, _)| updates(ours)).next())
            }
            BytesOfASortedSet(layout) => {
                let bytes = |name: &str| {
                    results
                        .memory
                        .iter()
                        .find(|it| it.server == server && it.layout == name)
                        .map(|it| it.bytes_a_member)
                };
                one(bytes(layout).zip(bytes(SORTED_SET)).map(|(bytes, sorted_set)| bytes / sorted_set))
            }
            Tail => {
                let side = |is_ours| results.mixed.iter().find(|it| it.server == server && it.is_ours == is_ours);
                let tail = |side: &Mixed| side.p999;
                one(side(true).map(tail).zip(side(false).map(tail)).map(|(ours, theirs)| ours / theirs))
            }
        }
    }

    /// The comparisons that it is about: all must exist.
    pub fn comparisons(&self) -> impl Iterator<Item = &'static str> {
        self.figures.iter().filter_map(|figure| match figure {
            Ratio(name, ..) | Instructions(name) | NanosAMember(name, _) | Updates(name) => Some(*name),
            BytesOfASortedSet(_) | Tail => None,
        })
    }
}

fn updates(sent: &Sent) -> f64 {
    let mut most = 0.0_f64;
    for (command, count) in &sent.commands {
        most = match command.as_str() {
            "multi" | "exec" => most,
            "zadd" | "zrem" => most.max(*count),
            _ => f64::INFINITY,
        };
    }
    most
}

/// How many aims are met, and how many were measured.
pub fn tally(results: &Results) -> (usize, usize) {
    let is_measured = |aim: &&Aim| results.servers().iter().any(|server| !aim.measured(results, server).is_empty());
    let measured: Vec<&Aim> = AIMS.iter().filter(is_measured).collect();
    (measured.iter().filter(|aim| !aim.is_missed(results)).count(), measured.len())
}
