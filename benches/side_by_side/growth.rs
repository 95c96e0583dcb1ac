//! What one read or write takes as a board grows. Core commands run on the same sorted set as ours.

use crate::comparison::keys::{CODED, OURS};
use crate::comparison::Key;
use crate::results::{quantile, Record};
use crate::session::{Effort, Session};

const BATCH: u64 = 100;
/// A job of the warm-up for so many members.
const MEMBERS_WARMED: u64 = 10;

pub const NEEDS: &[&Key] = &[&OURS, &CODED];

const OPERATIONS: &[(&str, &str)] = &[
    ("ZADD", "ZADD ours $score $member"),
    ("RANK.ADD", "RANK.ADD ours $score $member"),
    ("RANK.ADD, coded", "RANK.ADD coded $low $low $low $member"),
    ("RANK.INCR WITHRANK", "RANK.INCR ours WITHRANK $delta $member"),
    ("ZREVRANK", "ZREVRANK ours $member"),
    ("RANK.GET", "RANK.GET ours $member"),
    ("RANK.GET, coded", "RANK.GET coded $member"),
    ("ZREVRANGE of 10, by index", "ZREVRANGE ours 490 499 WITHSCORES"),
    ("RANK.RANGE of 10", "RANK.RANGE ours 491 500"),
    ("RANK.TOPN 10", "RANK.TOPN ours 10"),
    ("RANK.AROUND 5", "RANK.AROUND ours $member 5"),
    ("RANK.BYSCORE of 10", "RANK.BYSCORE ours -inf $score LIMIT 0 10"),
];

/// All operations in turns, so that a busy moment slows them alike.
pub fn measure(session: &mut Session, effort: Effort, mut put: impl FnMut(Record)) {
    let warm = session.members() / MEMBERS_WARMED;
    let mut sides: Vec<_> = OPERATIONS
        .iter()
        .map(|(name, command)| {
            let template = session.template(command);
            let jobs = session.jobs_in_a_slice(&[&template], BATCH, effort, warm);
            (name, template, jobs, Vec::new())
        })
        .collect();
    for _ in 0..effort.rounds {
        for (_, template, jobs, micros) in &mut sides {
            let numbers = session.numbers(*jobs);
            micros.push(session.time(template, numbers, BATCH).cpu_us());
        }
    }
    for (name, _, _, micros) in sides {
        put(Record::new("growth", &session.name, name, session.members(), &[("us", quantile(micros, 0.5))]));
    }
}
