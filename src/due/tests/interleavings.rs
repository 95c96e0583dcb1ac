//! All interleavings of what two clients do with two items, while the clock goes forward and back, clients die and the
//! server restarts. After every step the schedule must be what the naive model says.

use std::hash::Hash;

use super::model::{element, Known, Step, World, TODAY};
use crate::due::{Claim, ItemState, LeaseEnd, Serials};
use crate::explore::{self, explore};
use crate::number::float_text;
use crate::zset::{Condition, MemorySet};

const ITEMS: [u8; 2] = [0, 1];
const CLIENTS: [usize; 2] = [0, 1];

/// What a client does, or what happens to it.
#[derive(Clone, Debug)]
enum Act {
    /// A command, or what others do.
    Of(usize, Step),
    /// The client forgets every token that it was given.
    Dies(usize),
}

/// A schedule, and the last token that each client was given for each item.
struct Schedule {
    world: World,
    tokens: [[Option<i64>; 2]; 2],
    /// The serial number of the oldest claim that anybody remembers.
    oldest: u64,
    /// How many claims are remembered.
    remembered: u64,
}

impl Clone for Schedule {
    fn clone(&self) -> Schedule {
        let World { list, dead, known, given, now, .. } = &self.world;
        let world = World {
            list: list.clone(),
            dead: dead.clone(),
            known: known.clone(),
            given: given.clone(),
            now: *now,
            serials: Serials::starting_from(self.oldest + self.remembered),
        };
        Schedule { world, ..*self }
    }
}

/// The claim with this token.
fn claim_of(token: i64) -> Claim {
    match ItemState::of(-((1_i64 << 53) as f64) + (token << 1) as f64) {
        ItemState::Claimed(claim) => claim,
        other => panic!("{token} is a token of {other:?}"),
    }
}

/// The place of a token among those that are given to the model.
fn place(client: usize, item: u8) -> usize {
    client * ITEMS.len() + usize::from(item)
}

impl Schedule {
    fn new(oldest: u64) -> Schedule {
        let world = World {
            list: MemorySet::default(),
            dead: MemorySet::default(),
            known: Default::default(),
            given: Vec::new(),
            now: TODAY,
            serials: Serials::starting_from(oldest),
        };
        Schedule { world, tokens: [[None; 2]; 2], oldest, remembered: 0 }
    }

    /// The server stops and starts again: what is stored is all there is, as text.
    fn restart(&mut self) {
        let stored = self.world.list.elements().iter();
        let stored: Vec<(f64, Vec<u8>)> =
            stored.map(|(score, item)| (float_text(*score).parse().expect("a number"), item.clone())).collect();
        let restored: MemorySet = stored.into_iter().collect();
        assert_eq!(restored, self.world.list);
        for (score, item) in restored.elements() {
            let known = self.world.known.get(&item[0]);
            match (ItemState::of(*score), known) {
                (ItemState::Invalid, None) => {}
                (ItemState::Waiting(_), Some(Known { held: None, .. })) => {}
                (ItemState::Claimed(claim), Some(Known { held: Some(_), .. })) => assert_eq!(claim.score(), *score),
                (state, known) => panic!("{state:?} is stored, {known:?} is known"),
            }
        }
    }

    /// Moves the clock back to where it was, with all times, and numbers the claims from the oldest on. Only differences of
    /// times, and the order of claims, matter.
    fn normalize(&mut self) {
        let later = TODAY - self.world.now;
        let age = |claim: &Claim| (self.oldest + 62 - claim.serial as u64) & 63;
        let stored = self.world.list.elements().iter().filter_map(|(score, _)| ItemState::of(*score).claim());
        let known = self.tokens.iter().flatten().flatten().map(|token| claim_of(*token));
        let mut ages: Vec<u64> = stored.chain(known).map(|claim| age(&claim)).collect();
        ages.sort_unstable();
        ages.dedup();
        ages.reverse();
        let renewed = |claim: Claim| {
            let rank = ages.iter().position(|other| *other == age(&claim)).expect("an age") as u64;
            Claim { until: claim.until + later, serial: ((self.oldest + rank) & 63) as i64, ..claim }
        };
        let moved = |(score, item): &(f64, Vec<u8>)| {
            let score = match ItemState::of(*score) {
                ItemState::Waiting(due) => (due + later) as f64,
                ItemState::Claimed(claim) => renewed(claim).score(),
                ItemState::Invalid => *score,
            };
            (score, item.clone())
        };
        let list: MemorySet = self.world.list.elements().iter().map(moved).collect();
        let tokens = self.tokens.map(|of| of.map(|token| token.map(|token| renewed(claim_of(token)).token())));
        for known in self.world.known.values_mut() {
            known.due += later;
            known.held = known.held.map(|(token, attempt)| (renewed(claim_of(token)).token(), attempt));
        }
        self.remembered = ages.len() as u64;
        self.tokens = tokens;
        self.world.list = list;
        self.world.now = TODAY;
        self.world.dead = self.world.dead.elements().iter().map(|(_, item)| (TODAY as f64, item.clone())).collect();
        self.world.serials = Serials::starting_from(self.oldest + self.remembered);
    }
}

impl explore::World for Schedule {
    type Step = Act;

    fn steps(&self) -> Vec<Act> {
        let now = self.world.now;
        let mut acts = Vec::new();
        // What anybody may do. Who does it makes no difference.
        for to in [now - 1, now + 1, now + 2] {
            acts.push(Act::Of(0, Step::Clock { to }));
        }
        for item in ITEMS {
            for at in [now - 1, now, now + 1] {
                let only = [Condition::Any, Condition::New, Condition::Existing];
                acts.extend(only.map(|only| Act::Of(0, Step::Add { item, at, only })));
            }
            acts.push(Act::Of(0, Step::Again { item }));
            acts.push(Act::Of(0, Step::Cancel { item }));
            acts.push(Act::Of(0, Step::Spoil { item, score: -5.0 }));
        }
        acts.extend([1, 2].map(|count| Act::Of(0, Step::Pop { count })));
        for client in CLIENTS {
            for (count, lease) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
                let attempts = [None, Some(1), Some(2)];
                let claim = |attempts, units| Act::Of(client, Step::Claim { count, lease, attempts, units });
                acts.extend(attempts.map(|attempts| claim(attempts, None)));
                // A limiter that has one unit left, or none.
                acts.extend([(Some(1), Some(1)), (Some(1), Some(0))].map(|(attempts, units)| claim(attempts, units)));
            }
            let held = ITEMS.map(|item| self.tokens[client][usize::from(item)].map(|_| place(client, item)));
            for got in held.into_iter().flatten() {
                for again_at in [None, Some(now), Some(now + 1)] {
                    acts.push(Act::Of(client, Step::Ack { got: vec![got], again_at }));
                }
                acts.push(Act::Of(client, Step::Ack { got: vec![got, got], again_at: None }));
                let ends = [now - 1, now, now + 1, now + 2];
                acts.extend(ends.map(|until| Act::Of(client, Step::Move { got, until })));
            }
            if let [Some(first), Some(second)] = held {
                for again_at in [None, Some(now + 1)] {
                    acts.push(Act::Of(client, Step::Ack { got: vec![first, second], again_at }));
                }
            }
            if self.tokens[client] != [None; 2] {
                acts.push(Act::Dies(client));
            }
        }
        acts
    }

    fn take(&mut self, act: &Act) {
        match act {
            Act::Dies(client) => self.tokens[*client] = [None; 2],
            Act::Of(client, step) => {
                // No item has the number 9: a place for the tokens that a client has not.
                let given = CLIENTS.into_iter().flat_map(|client| ITEMS.map(|item| (client, item)));
                let tokens = self.tokens;
                let given = given.map(|(client, item)| match tokens[client][usize::from(item)] {
                    Some(token) => (item, token),
                    None => (9, 0),
                });
                self.world.given = given.collect();
                let before = self.world.known.clone();
                self.world.step(step);
                self.world.check();
                let token = |known: Option<&Known>| known.and_then(|known| known.held).map(|(token, _)| token);
                for item in ITEMS {
                    let now = token(self.world.known.get(&item));
                    if now.is_some() && now != token(before.get(&item)) {
                        self.tokens[*client][usize::from(item)] = now;
                    }
                }
            }
        }
        self.restart();
        self.normalize();
    }

    fn key(&self) -> impl Hash {
        // Clients that know the same are interchangeable.
        let mut tokens = self.tokens;
        tokens.sort_unstable();
        let scores = ITEMS.map(|item| {
            let stored = self.world.list.elements().iter().find(|(_, name)| *name == element(item));
            (
                stored.map(|(score, _)| score.to_bits()),
                self.world.dead.elements().iter().any(|(_, name)| *name == element(item)),
            )
        });
        (scores, tokens)
    }
}

/// A lease that has ended, and a token that is not the current one, are what a client is told of by a 0: the model checks
/// that nothing changes then.
#[test]
fn a_schedule_is_what_the_model_says_in_every_interleaving() {
    let explored = explore("schedules", Schedule::new(0), 6);
    assert!(explored.states > 5_000, "{} states", explored.states);
}

/// The same where serial numbers begin again at 0.
#[test]
fn a_schedule_is_what_the_model_says_where_serial_numbers_begin_again() {
    let explored = explore("schedules, serial numbers from 62", Schedule::new(62), 6);
    assert!(explored.states > 5_000, "{} states", explored.states);
}

#[test]
fn tokens_are_read_as_they_are_written() {
    let until = LeaseEnd::new(TODAY + 5).expect("a time");
    let claim = Claim::after(None, until, &Serials::starting_from(7));
    assert_eq!(claim_of(claim.token()), claim);
}
