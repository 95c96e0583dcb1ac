//! What one read or write takes as a board grows.

use crate::comparison::keys::{OURS, PACKED63, SPILLED, THEIRS};
use crate::comparison::Key;
use crate::measure::quantile;
use crate::options::Effort;
use crate::results::Growth;
use crate::session::Session;
use crate::template::Pacing;

const PACING: Pacing = Pacing::pipelined(100);
/// Jobs of the warm-up for each hundred members.
const WARMED: u64 = 10;

/// What is drawn beside each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    Reads,
    Lists,
    Writes,
}

pub struct Operation {
    pub name: &'static str,
    pub panel: Panel,
    /// A core command, for comparison.
    pub is_core: bool,
    command: &'static str,
}

const READ: Operation = Operation { name: "", panel: Panel::Reads, is_core: false, command: "" };
const LIST: Operation = Operation { panel: Panel::Lists, ..READ };
const WRITE: Operation = Operation { panel: Panel::Writes, ..READ };

pub const NEEDS: &[&Key] = &[&OURS, &THEIRS, &PACKED63, &SPILLED];

pub const OPERATIONS: &[Operation] = &[
    Operation { name: "RANK.SCORE", command: "RANK.SCORE ours $member", ..READ },
    Operation { name: "RANK.GET", command: "RANK.GET ours $member", ..READ },
    Operation { name: "RANK.GET packed63", command: "RANK.GET packed63 $member", ..READ },
    Operation { name: "RANK.GET spilled", command: "RANK.GET spilled $member", ..READ },
    Operation { name: "RANK.FORSCORE", command: "RANK.FORSCORE ours $score", ..READ },
    Operation { name: "RANK.COUNT", command: "RANK.COUNT ours $score inf", ..READ },
    Operation { name: "RANK.PERCENTILE", command: "RANK.PERCENTILE ours $member", ..READ },
    Operation { name: "RANK.SCOREAT", command: "RANK.SCOREAT ours 37.5", ..READ },
    Operation { name: "ZREVRANK", is_core: true, command: "ZREVRANK theirs $member", ..READ },
    Operation { name: "RANK.TOPN 10", command: "RANK.TOPN ours 10", ..LIST },
    Operation { name: "RANK.RANGE of 10", command: "RANK.RANGE ours 491 500", ..LIST },
    Operation { name: "RANK.PAGE of 10", command: "RANK.PAGE ours 50 10", ..LIST },
    Operation { name: "RANK.BYSCORE of 10", command: "RANK.BYSCORE ours -inf $score LIMIT 0 10", ..LIST },
    Operation { name: "RANK.AROUND 5", command: "RANK.AROUND ours $member 5", ..LIST },
    Operation { name: "RANK.AMONG 3", command: "RANK.AMONG ours 3 $member $member $member", ..LIST },
    Operation { name: "RANK.QUERY", command: "RANK.QUERY ours $member", ..LIST },
    Operation { name: "RANK.STATS of 10", command: "RANK.STATS ours LIMIT 0 10", ..LIST },
    Operation { name: "ZREVRANGE of 10", is_core: true, command: "ZREVRANGE theirs 490 499 WITHSCORES", ..LIST },
    Operation { name: "RANK.ADD", command: "RANK.ADD ours $score $member", ..WRITE },
    Operation { name: "RANK.ADD packed63", command: "RANK.ADD packed63 $bits20 $bits20 $bits20 $member", ..WRITE },
    Operation { name: "RANK.ADD spilled", command: "RANK.ADD spilled $score $score $score $member", ..WRITE },
    Operation { name: "RANK.INCR", command: "RANK.INCR ours $delta $member", ..WRITE },
    Operation { name: "RANK.INCR WITHRANK", command: "RANK.INCR ours WITHRANK $delta $member", ..WRITE },
    Operation {
        name: "RANK.ADD, RANK.REM",
        command: "RANK.ADD ours $score new:$number ; RANK.REM ours new:$number",
        ..WRITE
    },
    Operation { name: "ZADD", is_core: true, command: "ZADD theirs $score $member", ..WRITE },
];

/// All operations in turns, so that a busy moment slows them alike.
pub fn measure(session: &mut Session, effort: &Effort) -> Vec<Growth> {
    let warm = (session.members() / 100 * WARMED, effort.patience());
    let sides: Vec<_> = OPERATIONS
        .iter()
        .map(|operation| {
            let template = session.template(operation.command);
            let jobs = session.jobs_in_a_slice(&[&template], PACING, effort.slice, warm);
            (operation, template, jobs)
        })
        .collect();
    let mut micros = vec![Vec::new(); sides.len()];
    for _ in 0..effort.rounds {
        for ((_, template, jobs), micros) in sides.iter().zip(&mut micros) {
            let numbers = session.numbers(*jobs);
            micros.push(1e6 / session.time(template, numbers, PACING).speed());
        }
    }
    let record = |operation: &Operation, micros: Vec<f64>| Growth {
        server: session.name.clone(),
        operation: operation.name.into(),
        members: session.members(),
        micros: quantile(micros.clone(), 0.5),
        spread: (quantile(micros.clone(), 0.25), quantile(micros, 0.75)),
    };
    sides.iter().zip(micros).map(|((operation, _, _), micros)| record(operation, micros)).collect()
}
