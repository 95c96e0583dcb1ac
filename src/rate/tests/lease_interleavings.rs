//! All interleavings of what two clients do with the leases of one key, while the clock goes forward and back, clients die
//! and the server restarts.

use std::hash::Hash;

use super::*;
use crate::explore::{self, explore};
use crate::number::float_text;

const MS: i64 = 1_000;
const START: i64 = 1_000 * MS;
const CLIENTS: [usize; 2] = [0, 1];
/// How many tokens a client remembers.
const REMEMBERED: usize = 2;

#[derive(Clone, Debug)]
enum Step {
    Acquire {
        client: usize,
        limit: u64,
        lease_ms: u64,
    },
    Renew {
        client: usize,
        place: usize,
        lease_ms: u64,
    },
    Release {
        client: usize,
        places: Vec<usize>,
    },
    /// In microseconds.
    Clock(i64),
    Dies {
        client: usize,
    },
}

#[derive(Clone)]
struct Leased {
    stored: MemorySet,
    now: i64,
    /// What each client was given, the latest first.
    tokens: [Vec<i64>; 2],
    /// What the documents promise: the leases that were granted and not released, with their ends. One that has ended is
    /// forgotten when another one is granted.
    granted: Vec<(i64, i64)>,
    /// The largest token so far, for as long as the key lives.
    largest: i64,
}

impl Leased {
    fn new() -> Leased {
        let tokens = [Vec::new(), Vec::new()];
        Leased { stored: MemorySet::default(), now: START, tokens, granted: Vec::new(), largest: 0 }
    }

    fn leases(&mut self) -> Leases<'_, MemorySet> {
        Leases::new(&mut self.stored, Clock::new(self.now, None)).expect("leases")
    }

    fn live(&self) -> Vec<(i64, i64)> {
        self.granted.iter().copied().filter(|(_, end)| *end > self.now).collect()
    }

    fn is_live(&self, token: i64) -> bool {
        self.live().iter().any(|(live, _)| *live == token)
    }

    fn acquire(&mut self, client: usize, limit: u64, lease_ms: u64) {
        let live = self.live();
        let before = self.stored.clone();
        let holders = self.leases();
        let [limited, .., remaining, _, _, token] = holders.acquire(limit, lease_ms).expect("a verdict").reply();
        assert_eq!(limited == 1, live.len() as u64 >= limit, "{live:?} are live");
        if limited == 1 {
            assert_eq!((token, &self.stored), (0, &before), "a denied call wrote");
            return;
        }
        assert_eq!(remaining, (limit as usize - live.len() - 1) as i64);
        assert!(token > self.largest, "the token {token} after {}", self.largest);
        self.largest = token;
        self.granted = live;
        self.granted.push((token, self.now + lease_ms as i64 * MS));
        self.tokens[client].insert(0, token);
        self.tokens[client].truncate(REMEMBERED);
    }

    fn renew(&mut self, token: i64, lease_ms: u64) {
        let (is_live, before) = (self.is_live(token), self.stored.clone());
        assert_eq!(self.leases().renew(token, lease_ms), Ok(is_live));
        if is_live {
            let end = self.now + lease_ms as i64 * MS;
            self.granted.iter_mut().filter(|(live, _)| *live == token).for_each(|lease| lease.1 = end);
        } else {
            assert_eq!(self.stored, before, "a stale token changed something");
        }
    }

    fn release(&mut self, tokens: &[i64]) {
        let before = self.stored.clone();
        let mut released: Vec<i64> = tokens.iter().copied().filter(|token| self.is_live(*token)).collect();
        released.sort_unstable();
        released.dedup();
        assert_eq!(self.leases().release(tokens), Ok(released.len() as u64));
        self.granted.retain(|(token, _)| !released.contains(token));
        assert!(!released.is_empty() || self.stored == before, "a stale token changed something");
    }

    /// The server removes the key after its expiry, and with it the last token.
    fn expire(&mut self) {
        if self.stored.expiry().is_some_and(|at_ms| self.now / MS > at_ms) {
            assert_eq!(self.live(), [], "the key expired while a lease was held");
            let from = self.now;
            assert!(from > self.largest, "tokens would not grow: {from} after {}", self.largest);
            *self = Leased { now: from, tokens: self.tokens.clone(), ..Leased::new() };
        }
    }

    fn check(&mut self) {
        // The server stops and starts again: what is stored is all there is, as text.
        let elements = self.stored.elements().iter();
        let mut restored: MemorySet = elements
            .map(|(score, element)| (float_text(*score).parse::<f64>().expect("a number"), element.clone()))
            .collect();
        self.stored.expiry().into_iter().for_each(|at_ms| restored.expire_at(at_ms));
        assert_eq!(restored, self.stored);
        assert!(restored.is_empty() || is_leases(&mut restored));
        self.stored = restored;

        let live = self.live();
        let next = live.iter().map(|(_, end)| *end).min();
        let next_ms = next.map_or(-1, |end| (end - self.now + MS - 1) / MS);
        assert_eq!(self.leases().held_ms(), Ok((live.len() as u64, next_ms)));
        for token in self.tokens.concat() {
            let is_live = self.is_live(token);
            assert_eq!(self.leases().holds(token), Ok(is_live));
            if !is_live {
                let before = self.stored.clone();
                assert_eq!(self.leases().renew(token, 5), Ok(false));
                assert_eq!(self.leases().release(&[token]), Ok(0));
                assert_eq!(self.stored, before, "a stale token changed something");
            }
        }
    }
}

impl explore::World for Leased {
    type Step = Step;

    fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = [-MS, -1, 1, MS, 2 * MS].map(Step::Clock).to_vec();
        for client in CLIENTS {
            for (limit, lease_ms) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
                steps.push(Step::Acquire { client, limit, lease_ms });
            }
            for place in 0..self.tokens[client].len() {
                steps.extend([1, 2].map(|lease_ms| Step::Renew { client, place, lease_ms }));
                steps.push(Step::Release { client, places: vec![place] });
            }
            if self.tokens[client].len() > 1 {
                steps.push(Step::Release { client, places: vec![0, 1, 0] });
            }
            if !self.tokens[client].is_empty() {
                steps.push(Step::Dies { client });
            }
        }
        steps
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Acquire { client, limit, lease_ms } => self.acquire(client, limit, lease_ms),
            Step::Renew { client, place, lease_ms } => self.renew(self.tokens[client][place], lease_ms),
            Step::Release { client, ref places } => {
                let tokens: Vec<i64> = places.iter().map(|place| self.tokens[client][*place]).collect();
                self.release(&tokens);
            }
            Step::Clock(step) => {
                self.now += step;
                self.expire();
            }
            Step::Dies { client } => self.tokens[client].clear(),
        }
        self.check();
    }

    fn key(&self) -> impl Hash {
        // Only differences of times matter, and clients that know the same are interchangeable.
        let since = |micros: i64| micros - self.now;
        let mut tokens = self.tokens.clone().map(|tokens| tokens.into_iter().map(since).collect::<Vec<_>>());
        tokens.sort_unstable();
        let leases: Vec<(i64, i64)> = self.granted.iter().map(|(token, end)| (since(*token), since(*end))).collect();
        // An expiry is in whole milliseconds of the clock.
        let expiry = self.stored.expiry().map(|at_ms| at_ms - self.now / MS);
        let stored: Vec<(i64, Option<i64>)> = self
            .stored
            .elements()
            .iter()
            .map(|(score, element)| {
                let token = token(element);
                (since(if token.is_some() { *score as i64 } else { -*score as i64 }), token.map(since))
            })
            .collect();
        (leases, stored, tokens, expiry, self.now % MS, since(self.largest).max(-1_000 * MS))
    }
}

#[test]
fn leases_are_what_was_promised_in_every_interleaving() {
    let explored = explore("leases", Leased::new(), 6);
    assert!(explored.states > 5_000, "{} states", explored.states);
}
