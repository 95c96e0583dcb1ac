//! The operations that the `DUE.*` commands perform on a schedule.

use super::score::{due_by, lapsed_by, Hold, LeaseEnd, Scores, Serials, State, CLAIMED, WAITING};
use crate::error::Result;

/// A sorted set that is only read.
pub trait ReadItems {
    /// The name of an item.
    type Item: Clone;

    /// Visits the items with scores in a range, lowest first, until `visit` says false.
    fn walk(&self, scores: Scores, visit: &mut dyn FnMut(Self::Item, f64) -> bool);
}

/// The operations on a sorted set that a schedule needs.
pub trait Items: ReadItems {
    /// How many elements there are.
    fn card(&self) -> u64;

    /// The score of an item.
    fn score(&self, item: &Self::Item) -> Option<f64>;

    /// How many scores are below this one.
    fn count_below(&self, score: f64) -> Result<u64>;

    /// Sets the score of an item. Returns whether it changed anything.
    fn put(&mut self, item: &Self::Item, score: f64) -> bool;

    /// Removes an item that exists.
    fn remove(&mut self, item: &Self::Item);
}

/// Which items `DUE.ADD` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// All items.
    Any,
    /// Only items that do not exist: `NX`.
    New,
    /// Only items that exist: `XX`.
    Existing,
}

/// What became of an item that was to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addition {
    /// `NX`, `XX` or a claim kept it from being added or moved.
    Refused,
    /// It existed.
    Existing,
    /// It is new.
    New,
}

/// An item that is due.
struct Ready<T> {
    item: T,
    /// When it became due.
    due: i64,
    /// The earlier claim, whose lease has ended.
    before: Option<Hold>,
}

/// An item that was claimed or popped.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<T> {
    /// Its name.
    pub item: T,
    /// When it became due.
    pub due: i64,
    /// The claim; `None` if the item was popped.
    pub hold: Option<Hold>,
}

/// Adds an item, or moves one that nobody holds.
pub fn add<S: Items>(items: &mut S, item: &S::Item, at: i64, now: i64, only: Only) -> Addition {
    let before = items.score(item).map(State::of);
    let wanted = match before {
        None => only != Only::Existing,
        // The holder keeps the item, and its token stays valid. Once the lease has ended, the item is moved.
        Some(State::Claimed(hold)) if hold.until > now => false,
        Some(_) => only != Only::New,
    };
    if !wanted {
        return Addition::Refused;
    }
    items.put(item, at as f64);
    before.map_or(Addition::New, |_| Addition::Existing)
}

/// Adds an item that is due now, or makes one due now at the latest. A claimed one is due as soon as it is acknowledged.
pub fn add_again<S: Items>(items: &mut S, item: &S::Item, now: i64) -> Addition {
    let before = items.score(item);
    let score = match before.map(State::of) {
        Some(State::Claimed(hold)) => Hold { again: true, ..hold }.score(),
        Some(State::Waiting(_)) => before.unwrap_or(0.0).min(now as f64),
        None | Some(State::Invalid) => now as f64,
    };
    items.put(item, score);
    before.map_or(Addition::New, |_| Addition::Existing)
}

/// At most this many items are moved to the dead ones in one call, which must not stop the server for long.
const MAX_DEAD: usize = 1_000;

/// Where items go that were claimed too often.
pub struct Dead<'s, S> {
    /// An item that was claimed this often is not claimed again.
    pub attempts: i64,
    /// The schedule of these items.
    pub items: &'s mut S,
}

/// The first items that are due, earliest first, and those that were claimed so often that they are not claimed again.
fn ready<S: Items>(items: &S, now: i64, count: usize, attempts: i64) -> (Vec<Ready<S::Item>>, Vec<S::Item>) {
    let mut dead = Vec::new();
    let mut first_due = |scores: Scores| {
        let mut found = Vec::new();
        items.walk(scores, &mut |item, score| {
            let state = State::of(score);
            match (state.due(), state.hold()) {
                (_, Some(hold)) if hold.attempt >= attempts => dead.push(item),
                (Some(due), before) => found.push(Ready { item, due, before }),
                (None, _) => {}
            }
            found.len() < count && (state.hold().is_none() || dead.len() < MAX_DEAD)
        });
        found
    };
    // Both ranges are sorted by due time. So the first `count` of both are among the first `count` of each.
    let mut found = first_due(lapsed_by(now));
    found.extend(first_due(due_by(now)));
    found.sort_by_key(|ready| ready.due);
    found.truncate(count);
    (found, dead)
}

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// At most this many items.
    pub count: usize,
    /// When the claim ends; `None` to pop the items.
    pub until: Option<LeaseEnd>,
}

impl Demand {
    /// Claims or pops items that are due, earliest first. Moves those that were claimed too often.
    pub fn take<S: Items>(
        self,
        items: &mut S,
        now: i64,
        serials: &Serials,
        dead: Option<Dead<S>>,
    ) -> Vec<Row<S::Item>> {
        let attempts = dead.as_ref().map_or(i64::MAX, |dead| dead.attempts);
        let (ready, given_up) = ready(items, now, self.count, attempts);
        if let Some(dead) = dead {
            for item in &given_up {
                dead.items.put(item, now as f64);
            }
            given_up.iter().for_each(|item| items.remove(item));
        }
        match self.until {
            Some(until) => claim(items, ready, until, serials),
            None => pop(items, ready),
        }
    }
}

/// Claims items that are due.
fn claim<S: Items>(items: &mut S, ready: Vec<Ready<S::Item>>, until: LeaseEnd, serials: &Serials) -> Vec<Row<S::Item>> {
    let claimed = ready.into_iter().map(|Ready { item, due, before }| {
        let hold = Hold::after(before, until, serials);
        items.put(&item, hold.score());
        Row { item, due, hold: Some(hold) }
    });
    claimed.collect()
}

/// Removes items that are due.
fn pop<S: Items>(items: &mut S, ready: Vec<Ready<S::Item>>) -> Vec<Row<S::Item>> {
    ready.iter().for_each(|ready| items.remove(&ready.item));
    ready.into_iter().map(|Ready { item, due, .. }| Row { item, due, hold: None }).collect()
}

/// What became of acknowledged items.
#[derive(Debug, PartialEq, Eq)]
pub struct Acknowledged<'c, T> {
    /// How many stay, due now, because they were added again in the meantime.
    pub again: usize,
    /// Those that were removed.
    pub done: Vec<&'c T>,
}

/// Ends claims. Ignores tokens that are not the item's current one.
pub fn acknowledge<'c, S: Items>(items: &mut S, claims: &'c [(i64, S::Item)], now: i64) -> Acknowledged<'c, S::Item> {
    // Changes of one kind after the other, so that each kind is propagated as one command.
    let mut again = 0;
    for (token, item) in claims {
        if held(items, *token, item).is_some_and(|hold| hold.again) {
            items.put(item, now as f64);
            again += 1;
        }
    }
    let mut done = Vec::new();
    for (token, item) in claims {
        if held(items, *token, item).is_some() {
            items.remove(item);
            done.push(item);
        }
    }
    Acknowledged { again, done }
}

/// Changes the end of a lease. Returns the new token, or `None` if the token is not the item's current one.
pub fn prolong<S: Items>(items: &mut S, token: i64, item: &S::Item, until: LeaseEnd, serials: &Serials) -> Option<i64> {
    let hold = held(items, token, item)?.moved(until, serials);
    items.put(item, hold.score());
    Some(hold.token())
}

fn held<S: Items>(items: &S, token: i64, item: &S::Item) -> Option<Hold> {
    State::of(items.score(item)?).hold().filter(|hold| hold.token() == token)
}

/// When the first item is due. The time can be in the past.
pub fn next_due<S: ReadItems>(items: &S) -> Option<i64> {
    let first = |scores| {
        let mut due = None;
        items.walk(scores, &mut |_, score| {
            due = State::of(score).due();
            due.is_none()
        });
        due
    };
    first(WAITING).into_iter().chain(first(CLAIMED)).min()
}

/// What `DUE.INFO` returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All items.
    pub items: u64,
    /// Items that can be claimed now.
    pub due: u64,
    /// Items that are claimed, and whose lease has not ended.
    pub claimed: u64,
    /// Items that are never due.
    pub invalid: u64,
}

/// Counts the items. Claims are counted one by one, because not every number in their range is one.
pub fn tally<S: Items>(items: &S, now: i64) -> Result<Tally> {
    let (_, due_end) = due_by(now);
    let below = items.count_below(WAITING.0)?;
    let waiting = items.count_below(WAITING.1)?.saturating_sub(below);
    let (mut lapsed, mut claimed) = (0, 0);
    items.walk(CLAIMED, &mut |_, score| {
        match State::of(score).hold() {
            Some(hold) if hold.until > now => claimed += 1,
            Some(_) => lapsed += 1,
            None => {}
        }
        true
    });
    let valid = waiting.saturating_add(lapsed).saturating_add(claimed);
    Ok(Tally {
        items: items.card(),
        due: items.count_below(due_end)?.saturating_sub(below).saturating_add(lapsed),
        claimed,
        invalid: items.card().saturating_sub(valid),
    })
}
