//! A board with three periods beside four boards that a client writes to one after the other: what the server does by
//! itself may cost at most a tenth more.

use super::{Comparison, Count, Key, Sizes, Topic};
use crate::checks::both_answer;

const fn board(create: &'static str, fill: &'static str) -> Key {
    Key { create: Some(create), fill, count: Count::Members }
}

const FED: Key = board(
    "RANK.CREATE fed PERIOD DAY fed:day: PERIOD WEEK fed:week: PERIOD MONTH fed:month:",
    "RANK.ADD fed $score $each",
);
const APART: [Key; 4] = [
    board("RANK.CREATE apart:all DESC", "RANK.ADD apart:all $score $each"),
    board("RANK.CREATE apart:day DESC", "RANK.ADD apart:day $score $each"),
    board("RANK.CREATE apart:week DESC", "RANK.ADD apart:week $score $each"),
    board("RANK.CREATE apart:month DESC", "RANK.ADD apart:month $score $each"),
];

pub const COMPARISONS: &[Comparison] = &[Comparison {
    name: "RANK.ADD with 3 periods / 4 times RANK.ADD, pipelined",
    topic: Topic::Ourselves,
    sizes: Sizes::Only(&[100_000]),
    is_listened_to: false,
    needs: &[&FED, &APART[0], &APART[1], &APART[2], &APART[3]],
    ours: "RANK.ADD fed $score $member",
    theirs: "RANK.ADD apart:all $score $member ; RANK.ADD apart:day $score $member ; \
             RANK.ADD apart:week $score $member ; RANK.ADD apart:month $score $member",
    pipeline: 25,
    reads_only: false,
    replies: both_answer,
    state: None,
}];
