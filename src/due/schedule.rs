//! The operations that the `DUE.*` commands perform on a schedule, on any [`SortedSet`], with the time as an argument.

use std::ops::Range;

use super::score::{due_by, lapsed_by, Claim, ItemState, LeaseEnd, Serials, CLAIMED, WAITING};
use crate::error::Result;
use crate::zset::{Condition, Direction, SortedSet};

/// What became of an item that was to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addition {
    /// `NX`, `XX` or a claim kept it from being added or moved.
    Refused,
    Existing,
    New,
}

/// An item that is due.
struct Ready<T> {
    item: T,
    /// When it became due.
    due: i64,
    /// The earlier claim, whose lease has ended.
    before: Option<Claim>,
}

/// An item that was claimed or popped.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenItem<T> {
    pub item: T,
    /// When it became due.
    pub due: i64,
    /// The claim; `None` if the item was popped.
    pub claim: Option<Claim>,
}

/// Adds an item, or moves one that nobody holds.
pub fn add<S: SortedSet>(items: &mut S, item: &S::Element, at: i64, now: i64, only: Condition) -> Addition {
    let before = items.score(item).map(ItemState::of);
    let wanted = match before {
        None => only != Condition::Existing,
        // The holder keeps the item, and its token stays valid. Once the lease has ended, the item is moved.
        Some(ItemState::Claimed(claim)) if claim.until > now => false,
        Some(_) => only != Condition::New,
    };
    if !wanted {
        return Addition::Refused;
    }
    items.put(item, at as f64, Condition::Any);
    before.map_or(Addition::New, |_| Addition::Existing)
}

/// Adds an item that is due now, or makes one due now at the latest. A claimed one is due as soon as it is acknowledged.
pub fn add_again<S: SortedSet>(items: &mut S, item: &S::Element, now: i64) -> Addition {
    let before = items.score(item);
    let score = match before.map(ItemState::of) {
        Some(ItemState::Claimed(claim)) => Claim { again: true, ..claim }.score(),
        Some(ItemState::Waiting(_)) => before.unwrap_or(0.0).min(now as f64),
        None | Some(ItemState::Invalid) => now as f64,
    };
    items.put(item, score, Condition::Any);
    before.map_or(Addition::New, |_| Addition::Existing)
}

/// At most this many items are moved to the dead ones in one call, which must not stop the server for long.
const MAX_DEAD: usize = 1_000;

/// `ATTEMPTS` and `DEAD`: when items are given up, and where they go.
pub struct Dead<'s, S> {
    /// An item that was claimed this often is not claimed again.
    pub attempts: i64,
    /// The schedule of these items.
    pub items: &'s mut S,
}

/// The first items with scores in a range that are due. Those that were claimed so often that they are not claimed again
/// are added to the dead ones.
fn first_due<S: SortedSet>(
    items: &mut S,
    scores: Range<f64>,
    count: usize,
    attempts: i64,
    dead: &mut Vec<S::Element>,
) -> Vec<Ready<S::Element>> {
    let mut found = Vec::new();
    for (item, score) in items.cursor(scores, Direction::Up) {
        let state = ItemState::of(score);
        match (state.due(), state.claim()) {
            (_, Some(claim)) if claim.attempt >= attempts => dead.push(item),
            (Some(due), before) => found.push(Ready { item, due, before }),
            (None, _) => {}
        }
        if found.len() >= count || state.claim().is_some() && dead.len() >= MAX_DEAD {
            break;
        }
    }
    found
}

/// The first items that are due, earliest first, and those that are dead.
fn ready<S: SortedSet>(
    items: &mut S,
    now: i64,
    count: usize,
    attempts: i64,
) -> (Vec<Ready<S::Element>>, Vec<S::Element>) {
    let mut dead = Vec::new();
    // Both ranges are sorted by due time. So the first `count` of both are among the first `count` of each.
    let mut found = first_due(items, lapsed_by(now), count, attempts, &mut dead);
    found.extend(first_due(items, due_by(now), count, attempts, &mut dead));
    found.sort_by_key(|ready| ready.due);
    found.truncate(count);
    (found, dead)
}

/// What a claim or a pop asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimRequest {
    /// At most this many items.
    pub count: usize,
    /// When the claim ends; `None` to pop the items.
    pub until: Option<LeaseEnd>,
}

impl ClaimRequest {
    /// Claims or pops items that are due, earliest first. Moves those that were claimed too often.
    pub fn take<S: SortedSet>(
        self,
        items: &mut S,
        now: i64,
        serials: &Serials,
        dead: Option<Dead<S>>,
    ) -> Vec<TakenItem<S::Element>> {
        let attempts = dead.as_ref().map_or(i64::MAX, |dead| dead.attempts);
        let (ready, given_up) = ready(items, now, self.count, attempts);
        if let Some(dead) = dead {
            for item in &given_up {
                dead.items.put(item, now as f64, Condition::Any);
            }
            given_up.iter().for_each(|item| _ = items.remove(item));
        }
        let taken = ready.into_iter().map(|Ready { item, due, before }| {
            let claim = self.until.map(|until| Claim::after(before, until, serials));
            match claim {
                Some(claim) => _ = items.put(&item, claim.score(), Condition::Any),
                None => _ = items.remove(&item),
            }
            TakenItem { item, due, claim }
        });
        taken.collect()
    }
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
pub fn acknowledge<'c, S: SortedSet>(
    items: &mut S,
    claims: &'c [(i64, S::Element)],
    now: i64,
) -> Acknowledged<'c, S::Element> {
    // First all changes of one kind, then all of the other, so that each kind is propagated as one command.
    let mut again = 0;
    for (token, item) in claims {
        if held(items, *token, item).is_some_and(|claim| claim.again) {
            items.put(item, now as f64, Condition::Any);
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
pub fn prolong<S: SortedSet>(
    items: &mut S,
    token: i64,
    item: &S::Element,
    until: LeaseEnd,
    serials: &Serials,
) -> Option<i64> {
    let claim = held(items, token, item)?.moved(until, serials);
    items.put(item, claim.score(), Condition::Any);
    Some(claim.token())
}

/// The claim of an item, if this is its current token.
fn held<S: SortedSet>(items: &S, token: i64, item: &S::Element) -> Option<Claim> {
    ItemState::of(items.score(item)?).claim().filter(|claim| claim.token() == token)
}

/// When the first item is due. The time can be in the past.
pub fn next_due<S: SortedSet>(items: &mut S) -> Option<i64> {
    let mut first = |scores| items.cursor(scores, Direction::Up).find_map(|(_, score)| ItemState::of(score).due());
    first(WAITING).into_iter().chain(first(CLAIMED)).min()
}

/// What `DUE.INFO` returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub items: u64,
    pub due: u64,
    /// Items that are claimed, and whose lease has not ended.
    pub claimed: u64,
    /// Items that are never due.
    pub invalid: u64,
}

/// Counts the items. Claims are counted one by one, because not every number in their range is one.
pub fn tally<S: SortedSet>(items: &mut S, now: i64) -> Result<Tally> {
    let below = items.count_below(WAITING.start, false)?;
    let waiting = items.count_below(WAITING.end, false)?.saturating_sub(below);
    let due = items.count_below(due_by(now).end, false)?.saturating_sub(below);
    let (mut lapsed, mut claimed) = (0, 0);
    for (_, score) in items.cursor(CLAIMED, Direction::Up) {
        match ItemState::of(score).claim() {
            Some(claim) if claim.until > now => claimed += 1,
            Some(_) => lapsed += 1,
            None => {}
        }
    }
    let valid = waiting.saturating_add(lapsed).saturating_add(claimed);
    Ok(Tally {
        items: items.len(),
        due: due.saturating_add(lapsed),
        claimed,
        invalid: items.len().saturating_sub(valid),
    })
}
