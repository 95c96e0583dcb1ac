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

/// Adds an item, or moves one that nobody holds. Returns whether the item is new.
pub fn add<S: Items>(items: &mut S, item: &S::Item, at: i64, now: i64, only: Only) -> bool {
    let before = items.score(item).map(State::of);
    let wanted = match before {
        None => only != Only::Existing,
        // The holder keeps the item, and its token stays valid. Once the lease has ended, the item is moved.
        Some(State::Claimed(hold)) if hold.until > now => false,
        Some(_) => only != Only::New,
    };
    wanted && items.put(item, at as f64) && before.is_none()
}

/// The first items that are due, earliest first.
fn ready<S: Items>(items: &S, now: i64, count: usize) -> Vec<Ready<S::Item>> {
    // Both ranges are sorted by due time. So the first `count` of both are among the first `count` of each.
    let mut found = first_due(items, lapsed_by(now), count);
    found.extend(first_due(items, due_by(now), count));
    found.sort_by_key(|ready| ready.due);
    found.truncate(count);
    found
}

fn first_due<S: Items>(items: &S, scores: Scores, count: usize) -> Vec<Ready<S::Item>> {
    let mut found = Vec::new();
    items.walk(scores, &mut |item, score| {
        let state = State::of(score);
        found.extend(state.due().map(|due| Ready { item, due, before: state.hold() }));
        found.len() < count
    });
    found
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
    /// Claims or pops items that are due, earliest first.
    pub fn take<S: Items>(self, items: &mut S, now: i64, serials: &Serials) -> Vec<Row<S::Item>> {
        let ready = ready(items, now, self.count);
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

/// Removes an item that is done. Returns false if the token is not the item's current one.
pub fn acknowledge<S: Items>(items: &mut S, token: i64, item: &S::Item) -> bool {
    let held = held(items, token, item).is_some();
    if held {
        items.remove(item);
    }
    held
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
