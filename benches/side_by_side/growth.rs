//! What one read or write takes as a board grows.

use crate::comparison::keys::{CODED, OURS};
use crate::comparison::Key;
use crate::measure::quantile;
use crate::options::Effort;
use crate::results::Growth;
use crate::session::Session;
use crate::template::Pacing;

const PACING: Pacing = Pacing::pipelined(100);
/// Jobs of the warm-up for each hundred members.
const WARMED: u64 = 10;

pub struct Operation {
    pub name: &'static str,
    command: &'static str,
}

const fn operation(name: &'static str, command: &'static str) -> Operation {
    Operation { name, command }
}

/// Core commands run on the same sorted set as ours: what differs is the command.
pub const NEEDS: &[&Key] = &[&OURS, &CODED];

pub const OPERATIONS: &[Operation] = &[
    operation("ZADD", "ZADD ours $score $member"),
    operation("RANK.ADD", "RANK.ADD ours $score $member"),
    operation("RANK.ADD, coded", "RANK.ADD coded $low $low $low $member"),
    operation("ZINCRBY", "ZINCRBY ours $delta $member"),
    operation("RANK.INCR", "RANK.INCR ours $delta $member"),
    operation("RANK.INCR WITHRANK", "RANK.INCR ours WITHRANK $delta $member"),
    operation("RANK.ADD and RANK.REM", "RANK.ADD ours $score new:$number ; RANK.REM ours new:$number"),
    operation("ZSCORE", "ZSCORE ours $member"),
    operation("RANK.SCORE", "RANK.SCORE ours $member"),
    operation("ZREVRANK", "ZREVRANK ours $member"),
    operation("RANK.GET", "RANK.GET ours $member"),
    operation("RANK.GET, coded", "RANK.GET coded $member"),
    operation("RANK.FORSCORE", "RANK.FORSCORE ours $score"),
    operation("RANK.COUNT", "RANK.COUNT ours $score inf"),
    operation("RANK.PERCENTILE", "RANK.PERCENTILE ours $member"),
    operation("RANK.SCOREAT", "RANK.SCOREAT ours 37.5"),
    operation("ZREVRANGE of 10", "ZREVRANGE ours 490 499 WITHSCORES"),
    operation("RANK.RANGE of 10", "RANK.RANGE ours 491 500"),
    operation("RANK.TOPN 10", "RANK.TOPN ours 10"),
    operation("RANK.AROUND 5", "RANK.AROUND ours $member 5"),
    operation("RANK.BYSCORE of 10", "RANK.BYSCORE ours -inf $score LIMIT 0 10"),
    operation("RANK.AMONG 3", "RANK.AMONG ours 3 $member $member $member"),
    operation("RANK.QUERY", "RANK.QUERY ours $member"),
    operation("RANK.STATS of 10", "RANK.STATS ours LIMIT 0 10"),
];

/// All operations in turns, so that a busy moment slows them alike.
pub fn measure(session: &mut Session, effort: &Effort) -> Vec<Growth> {
    let warm = (session.members() / 100 * WARMED, effort.warm_up());
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
