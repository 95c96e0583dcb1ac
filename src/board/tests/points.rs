//! Points in the order of a board, compared with a list.

use super::random::{name, KINDS};
use super::*;
use crate::board::{Board, Point, RankKind};

/// What is beside points near a member, whether or not somebody stands there.
pub(super) fn check_points(board: &mut Board<MemorySet>, naive: &Naive, sorted: &[Member], near: &Member) {
    let is_timed = naive.rules.ties != Ties::Shared;
    let times = if is_timed { vec![None, Some(near.time), Some(near.time + 1)] } else { vec![None] };
    for time in times {
        let at = time.map(|time| time * naive.unit_ms());
        for member in [None, Some(near.name.clone()), Some(name(0)), Some(name(3)), Some(b"a".to_vec())] {
            let member = member.as_deref();
            let point = Point { values: near.values.clone(), at, member };
            let beside = |other: &&Member| naive.beside(other, &near.values, time, member);
            let before: Vec<&Member> = sorted.iter().filter(|other| beside(other).is_lt()).collect();
            let behind: Vec<&Member> = sorted.iter().filter(|other| beside(other).is_gt()).collect();
            let listed = |(first, count): (u64, u64)| -> Vec<&Member> {
                sorted.iter().skip(first as usize).take(count as usize).collect()
            };
            let after = listed(board.positions_after(&point, 2).unwrap());
            assert_eq!(after, behind[..behind.len().min(2)], "after {at:?} {member:?} {}", naive.rules);
            let preceding = listed(board.positions_before(&point, 2).unwrap());
            assert_eq!(preceding, before[before.len().saturating_sub(2)..], "before {at:?} {member:?} {}", naive.rules);
            let is_named = member.is_some() && (time.is_some() || !is_timed);
            let leads = is_named || matches!(naive.rules.ties, Ties::ByTime(TieRule::Last, _));
            let ordinal = 1 + if leads { before.len() } else { sorted.len() - behind.len() } as u64;
            assert_eq!(
                board.rank_at_point(&point, RankKind::Ordinal).unwrap(),
                ordinal,
                "{at:?} {member:?} {}",
                naive.rules
            );
        }
    }
    let own = Point {
        values: near.values.clone(),
        at: is_timed.then(|| near.time * naive.unit_ms()),
        member: Some(&near.name),
    };
    let found = board.find(&near.name).unwrap().expect("the member is there");
    for kind in KINDS {
        assert_eq!(board.rank_at_point(&own, kind).unwrap(), board.rank(&found, kind).unwrap());
    }
}
