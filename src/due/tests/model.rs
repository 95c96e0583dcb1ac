//! Random steps of several workers, some of whom die, on a clock that also goes back.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::due::{
    acknowledge, add, add_again, next_due, prolong, tally, Addition, ClaimRequest, Dead, ItemState, LeaseEnd, Serials,
    Tally,
};
use crate::zset::{Condition, MemorySet, SortedSet};

pub(super) fn element(item: u8) -> Vec<u8> {
    vec![item]
}

/// Times of today: leases cannot end before 2020.
pub(super) const TODAY: i64 = 1_767_225_600_000;

fn end(ms: i64) -> LeaseEnd {
    LeaseEnd::new(ms).unwrap()
}

/// What the model knows of an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    pub due: i64,
    /// The token that acknowledges it, and the number of claims.
    pub held: Option<(i64, i64)>,
    /// It was added again since it was claimed.
    pub again: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Add {
        item: u8,
        at: i64,
        only: Condition,
    },
    Again {
        item: u8,
    },
    Claim {
        count: usize,
        lease: i64,
        /// After how many attempts items are given up.
        attempts: Option<i64>,
        /// How many units a limiter has left.
        units: Option<usize>,
    },
    Pop {
        count: usize,
    },
    /// With the token that some worker got once, of any item.
    Ack {
        got: Vec<usize>,
        /// When the items are due again.
        again_at: Option<i64>,
    },
    Move {
        got: usize,
        until: i64,
    },
    Forge {
        token: i64,
        item: u8,
    },
    Clock {
        to: i64,
    },
    /// `ZADD` of what is no time.
    Spoil {
        item: u8,
        score: f64,
    },
    Cancel {
        item: u8,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (item, time) = (0_u8..12, TODAY..TODAY + 400);
    let only = prop_oneof![Just(Condition::Any), Just(Condition::New), Just(Condition::Existing)];
    let bad = prop_oneof![
        Just(-5.0),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(1e18),
        Just(-1e18),
        Just(-(TODAY as f64))
    ];
    let step = prop_oneof![
        4 => (item.clone(), time.clone(), only).prop_map(|(item, at, only)| Step::Add { item, at, only }),
        2 => item.clone().prop_map(|item| Step::Again { item }),
        6 => (1_usize..5, 1_i64..60, proptest::option::of(1_i64..4), proptest::option::weighted(0.3, 0_usize..4))
            .prop_map(|(count, lease, attempts, units)| Step::Claim { count, lease, attempts, units }),
        1 => (1_usize..3).prop_map(|count| Step::Pop { count }),
        4 => (proptest::collection::vec(0_usize..1000, 1..4), proptest::option::weighted(0.3, time.clone()))
            .prop_map(|(got, again_at)| Step::Ack { got, again_at }),
        3 => (0_usize..1000, time.clone()).prop_map(|(got, until)| Step::Move { got, until }),
        1 => (0_i64..1 << 52, item.clone()).prop_map(|(token, item)| Step::Forge { token, item }),
        5 => time.prop_map(|to| Step::Clock { to }),
        1 => (item.clone(), bad).prop_map(|(item, score)| Step::Spoil { item, score }),
        1 => item.prop_map(|item| Step::Cancel { item }),
    ];
    proptest::collection::vec(step, 1..120)
}

/// The list that is tested, the model, and every claim that was ever given out.
pub(super) struct World {
    pub list: MemorySet,
    pub dead: MemorySet,
    pub known: BTreeMap<u8, Known>,
    pub given: Vec<(u8, i64)>,
    pub now: i64,
    pub serials: Serials,
}

impl World {
    /// What is due, earliest first; of equal ones those that were claimed before, then by serial number, attempt and name.
    fn due(&self) -> Vec<(i64, u8)> {
        let key = |(item, known): (&u8, &Known)| (known.due, known.held.map_or(i64::MAX, |(token, _)| token), *item);
        let mut due: Vec<_> = self.known.iter().filter(|(_, known)| known.due <= self.now).map(key).collect();
        due.sort_unstable();
        due.into_iter().map(|(due, _, item)| (due, item)).collect()
    }

    pub fn step(&mut self, step: &Step) {
        match *step {
            Step::Add { item, at, only } => self.add(item, at, only),
            Step::Again { item } => self.add_again(item),
            Step::Claim { count, lease, attempts, units } => self.take(count, Some(lease), attempts, units),
            Step::Pop { count } => self.take(count, None, None, None),
            Step::Ack { ref got, again_at } => {
                let claims = got.iter().filter_map(|got| self.given_once(*got));
                self.acknowledge(claims.map(|(item, token)| (token, item)).collect(), again_at);
            }
            Step::Forge { token, item } => self.acknowledge(vec![(token, item)], None),
            Step::Move { got, until } => {
                let Some((item, token)) = self.given_once(got) else { return };
                let held = self.holds(token, item);
                let before = self.list.clone();
                let new = prolong(&mut self.list, token, &element(item), end(until), &self.serials);
                assert_eq!(new.is_some(), held);
                match new {
                    Some(new) => {
                        let known = self.known.get_mut(&item).unwrap();
                        *known = Known { due: until, held: known.held.map(|(_, attempt)| (new, attempt)), ..*known };
                        self.given.push((item, new));
                    }
                    None => assert_eq!(self.list, before),
                }
            }
            Step::Clock { to } => self.now = to,
            Step::Spoil { item, score } => {
                self.known.remove(&item);
                self.list.insert(score, &[item]);
            }
            Step::Cancel { item } => {
                self.known.remove(&item);
                self.list.remove(&element(item));
            }
        }
    }

    fn given_once(&self, got: usize) -> Option<(u8, i64)> {
        self.given.get(got.checked_rem(self.given.len())?).copied()
    }

    fn holds(&self, token: i64, item: u8) -> bool {
        self.known.get(&item).is_some_and(|known| known.held.is_some_and(|(own, _)| own == token))
    }

    fn add(&mut self, item: u8, at: i64, only: Condition) {
        let there = self.list.score(&element(item)).is_some();
        let live = self.known.get(&item).is_some_and(|known| known.held.is_some() && known.due > self.now);
        let excluded = if there { Condition::New } else { Condition::Existing };
        let wanted = !live && only != excluded;
        let before = self.list.clone();
        let new = add(&mut self.list, &element(item), at, self.now, only);
        if wanted {
            assert_eq!(new, if there { Addition::Existing } else { Addition::New });
            self.known.insert(item, Known { due: at, held: None, again: false });
        } else {
            assert_eq!((new, &self.list), (Addition::Refused, &before));
        }
    }

    fn add_again(&mut self, item: u8) {
        let there = self.list.score(&element(item)).is_some();
        let new = add_again(&mut self.list, &element(item), self.now);
        assert_eq!(new, if there { Addition::Existing } else { Addition::New });
        let known = self.known.entry(item).or_insert(Known { due: i64::MAX, held: None, again: false });
        if known.held.is_some() {
            known.again = true;
        } else {
            known.due = known.due.min(self.now);
        }
    }

    /// Those that come back once too often before `count` others that come back.
    fn given_up(&self, count: usize, attempts: i64) -> Vec<u8> {
        let mut dead = Vec::new();
        let mut alive = 0;
        for (_, item) in self.due() {
            match self.known[&item].held {
                Some((_, attempt)) if alive < count && attempt >= attempts => dead.push(item),
                Some(_) => alive += 1,
                None => {}
            }
        }
        dead
    }

    fn take(&mut self, count: usize, lease: Option<i64>, attempts: Option<i64>, units: Option<usize>) {
        let denied = units == Some(0);
        // While a rule allows nothing, nothing moves.
        let attempts_now = attempts.filter(|_| !denied);
        let dead = attempts_now.map_or(Vec::new(), |attempts| self.given_up(count, attempts));
        for item in &dead {
            self.known.remove(item);
        }
        let tried = |item: &u8| self.known[item].held.map_or(0, |(_, attempt)| attempt);
        let alive = |(_, item): &(i64, u8)| attempts.is_none_or(|attempts| tried(item) < attempts);
        let handed_out = units.map_or(count, |units| count.min(units));
        let expected: Vec<(i64, u8)> = self.due().into_iter().filter(alive).take(handed_out).collect();
        let until = lease.map(|lease| end(self.now + lease));
        let mut graves = self.dead.clone();
        dead.iter().for_each(|item| graves.insert(self.now as f64, &[*item]));
        let bury = attempts.map(|attempts| Dead { attempts, items: &mut self.dead });
        let mut taken = None;
        let allow = |found: usize| {
            let allowed = units.map_or(found, |units| units.min(found));
            taken = Some(allowed).filter(|_| !denied);
            Ok(taken)
        };
        let rows = ClaimRequest { count, until }.take(&mut self.list, self.now, &self.serials, bury, allow).unwrap();
        // Units taken are items handed out.
        assert_eq!(taken.unwrap_or(0), rows.len());
        assert_eq!(rows.iter().map(|row| (row.due, row.item[0])).collect::<Vec<_>>(), expected);
        assert_eq!(self.dead, graves);
        assert!(dead.iter().all(|item| self.list.score(&element(*item)).is_none()));
        for row in rows {
            let item = row.item[0];
            let before = self.known.remove(&item).unwrap();
            let Some(lease) = lease else {
                assert_eq!(row.claim, None);
                continue;
            };
            let claim = row.claim.unwrap();
            assert_eq!(
                (claim.until, claim.attempt),
                (self.now + lease, before.held.map_or(1, |(_, n)| (n + 1).min(31)))
            );
            // Nobody who had the item before, however it came back, has the same token.
            let recent = self.given.iter().rev().take(63);
            assert!(recent.filter(|(old, _)| *old == item).all(|(_, old)| *old != claim.token()));
            let held = Some((claim.token(), claim.attempt));
            self.known.insert(item, Known { due: claim.until, held, again: false });
            self.given.push((item, claim.token()));
        }
    }

    fn acknowledge(&mut self, claims: Vec<(i64, u8)>, again_at: Option<i64>) {
        let before = self.list.clone();
        let named: Vec<_> = claims.iter().map(|(token, item)| (*token, element(*item))).collect();
        let got = acknowledge(&mut self.list, &named, self.now, again_at);
        let (mut next_due, mut again, mut done) = (None::<i64>, 0, Vec::new());
        for (token, item) in &claims {
            match self.known.get_mut(item) {
                Some(known) if known.held.is_none_or(|(own, _)| own != *token) => {}
                Some(known) if known.again || again_at.is_some() => {
                    let now = if known.again { self.now } else { i64::MAX };
                    let due = again_at.unwrap_or(i64::MAX).min(now);
                    *known = Known { due, held: None, again: false };
                    next_due = Some(next_due.map_or(due, |other| other.min(due)));
                    again += 1;
                }
                Some(_) => {
                    self.known.remove(item);
                    done.push(element(*item));
                }
                None => {}
            }
        }
        assert_eq!((got.next_due, got.again, got.done), (next_due, again, done.iter().collect()));
        if again == 0 && done.is_empty() {
            assert_eq!(self.list, before, "a stale token changed something");
        }
    }

    /// Nothing is lost, nothing is held twice, and the counts are right.
    pub fn check(&mut self) {
        for (score, item) in self.list.elements() {
            let state = ItemState::of(*score);
            match self.known.get(&item[0]) {
                Some(known) => {
                    assert_eq!(state.due(), Some(known.due));
                    assert_eq!(state.claim().map(|claim| (claim.token(), claim.attempt)), known.held);
                    assert_eq!(state.claim().is_some_and(|claim| claim.again), known.again);
                }
                None => assert_eq!(state, ItemState::Invalid),
            }
        }
        assert!(self.known.keys().all(|item| self.list.score(&element(*item)).is_some()), "an item was lost");
        let live = self.known.values().filter(|known| known.held.is_some() && known.due > self.now).count() as u64;
        let expected = Tally {
            items: self.list.len(),
            due: self.due().len() as u64,
            claimed: live,
            invalid: self.list.len() - self.known.len() as u64,
            next_due: self.known.values().map(|known| known.due).min(),
        };
        assert_eq!(tally(&mut self.list, self.now), Ok(expected));
        assert_eq!(next_due(&mut self.list).at, expected.next_due);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// A worker that dies between two steps is one that never acknowledges: all that it held is due again.
    #[test]
    fn no_item_is_lost_or_held_twice(steps in steps()) {
        let (list, dead, known, given) = (MemorySet::default(), MemorySet::default(), BTreeMap::new(), Vec::new());
        let mut world = World { list, dead, known, given, now: TODAY, serials: Serials::starting_from(0) };
        for step in &steps {
            world.step(step);
            world.check();
        }
        // Once every lease has ended, whatever nobody acknowledged is due.
        world.now = TODAY + 1_000;
        prop_assert_eq!(world.due().len(), world.known.len());
        world.take(100, Some(1), None, None);
        world.check();
    }
}

fn acknowledges(list: &mut MemorySet, token: i64) -> bool {
    acknowledge(list, &[(token, element(7))], TODAY, None).done == [&element(7)]
}

#[test]
fn an_expired_lease_is_acknowledged_until_somebody_claims_or_moves_the_item() {
    let mut list = MemorySet::default();
    let serials = Serials::starting_from(0);
    let claim = |list: &mut MemorySet, now: i64| {
        let rows = ClaimRequest { count: 1, until: Some(end(TODAY + now + 10)) }
            .take(list, TODAY + now, &serials, None, |found| Ok(Some(found)))
            .unwrap();
        rows.first().map(|row| row.claim.unwrap().token())
    };
    add(&mut list, &element(7), TODAY + 100, TODAY, Condition::Any);
    let first = claim(&mut list, 100).unwrap();
    assert_eq!(claim(&mut list, 109), None);
    let mut late = list.clone();
    assert!(acknowledges(&mut late, first));

    let second = claim(&mut list, 110).unwrap();
    assert!(!acknowledges(&mut list, first));
    assert_eq!(prolong(&mut list, first, &element(7), end(TODAY + 500), &serials), None);
    let moved = prolong(&mut list, second, &element(7), end(TODAY + 500), &serials).unwrap();
    assert!(!acknowledges(&mut list, second));
    assert!(acknowledges(&mut list, moved));
    assert_eq!(list, MemorySet::default());
}

#[test]
fn a_live_claim_is_not_moved_by_an_addition_and_a_lapsed_one_is() {
    let mut list = MemorySet::default();
    let serials = Serials::starting_from(0);
    let claim = |list: &mut MemorySet, now: i64| {
        let rows = ClaimRequest { count: 1, until: Some(end(TODAY + now + 10)) }
            .take(list, TODAY + now, &serials, None, |found| Ok(Some(found)))
            .unwrap();
        rows.first().map(|row| row.claim.unwrap().token())
    };
    add(&mut list, &element(7), TODAY + 100, TODAY, Condition::Any);
    let token = claim(&mut list, 100).unwrap();
    assert_eq!(add(&mut list, &element(7), TODAY + 200, TODAY + 109, Condition::Any), Addition::Refused);
    assert_eq!(next_due(&mut list).at, Some(TODAY + 110));
    assert_eq!(add(&mut list, &element(7), TODAY + 200, TODAY + 110, Condition::Any), Addition::Existing);
    assert_eq!(next_due(&mut list).at, Some(TODAY + 200));
    assert!(!acknowledges(&mut list, token));
}
