//! The operations that the `DUE.*` commands perform on a schedule, on any [`SortedSet`], with the time as an argument.

use std::ops::Bound;

use super::score::{due_by, lapsed_by, Claim, ItemState, LeaseEnd, Serials, CLAIMED, WAITING};
use crate::error::Result;
use crate::stats;
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

/// How many elements that are no times a call may meet. Each costs one look-up of what comes behind its score.
const MAX_INVALID: u32 = 1_000;

/// A search for items that are due, in order of time.
struct Search<'d, E> {
    /// At most this many items.
    count: usize,
    /// Claims with so many attempts are dead.
    attempts: i64,
    dead: &'d mut Vec<E>,
    found: Vec<Ready<E>>,
}

impl<E> Search<'_, E> {
    /// Searches a range of scores from one on. Returns the last score that it looked at if it met too many elements that
    /// are no times.
    fn run<S: SortedSet<Element = E>>(
        &mut self,
        items: &mut S,
        from: Bound<f64>,
        end: f64,
        mut invalid: u32,
    ) -> Option<f64> {
        let mut from = from;
        let mut looked_at = 0;
        let hidden_behind = 'search: loop {
            for (item, score) in items.cursor((from, Bound::Excluded(end)), Direction::Up) {
                looked_at += 1;
                let state = ItemState::of(score);
                match (state.due(), state.claim()) {
                    (_, Some(claim)) if claim.attempt >= self.attempts => self.dead.push(item),
                    (Some(due), before) => self.found.push(Ready { item, due, before }),
                    (None, _) => {
                        let Some(left) = invalid.checked_sub(1) else { break 'search Some(score) };
                        invalid = left;
                        from = Bound::Excluded(score);
                        continue 'search;
                    }
                }
                if self.found.len() >= self.count || self.dead.len() >= MAX_DEAD {
                    break;
                }
            }
            break None;
        };
        stats::DUE_ELEMENTS.add(looked_at);
        hidden_behind
    }
}

/// What a claim found.
struct Found<E> {
    /// The first items that are due, earliest first.
    ready: Vec<Ready<E>>,
    /// Items that were claimed too often.
    dead: Vec<E>,
}

fn ready<S: SortedSet>(
    items: &mut S,
    now: i64,
    count: usize,
    attempts: i64,
    serials: &Serials,
) -> Result<Found<S::Element>> {
    let mut dead = Vec::new();
    // Both ranges are sorted by due time. So the first `count` of both are among the first `count` of each.
    let lapsed = lapsed_by(now);
    let mut search = Search { count, attempts, dead: &mut dead, found: Vec::new() };
    let hidden_behind = search.run(items, Bound::Included(lapsed.start), lapsed.end, MAX_INVALID / 2);
    if let Some(score) = hidden_behind {
        // What is behind so many elements is searched from another place in each call, so that nothing is hidden for ever.
        let before = items.count_below(score, true)?;
        let hidden = items.count_below(lapsed.end, false)?.saturating_sub(before);
        let place = serials.random(now).checked_rem(hidden).map(|place| items.at(before.saturating_add(place)));
        if let Some((_, score)) = place.transpose()?.flatten() {
            search.run(items, Bound::Included(score), lapsed.end, MAX_INVALID / 2);
        }
    }
    let mut found = search.found;
    let due = due_by(now);
    let mut search = Search { count, attempts: i64::MAX, dead: &mut Vec::new(), found: Vec::new() };
    search.run(items, Bound::Included(due.start), due.end, 0);
    found.append(&mut search.found);
    found.sort_by_key(|ready| ready.due);
    found.truncate(count);
    Ok(Found { ready: found, dead })
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
    /// Claims or pops items that are due, earliest first. Moves those that were claimed too often. `allow` is told how many
    /// items there are, and says how many of them are handed out; with `None` nothing is changed. It is called before the
    /// first change.
    pub fn take<S: SortedSet>(
        self,
        items: &mut S,
        now: i64,
        serials: &Serials,
        dead: Option<Dead<S>>,
        allow: impl FnOnce(usize) -> Result<Option<usize>>,
    ) -> Result<Vec<TakenItem<S::Element>>> {
        let attempts = dead.as_ref().map_or(i64::MAX, |dead| dead.attempts);
        let Found { mut ready, dead: given_up } = ready(items, now, self.count, attempts, serials)?;
        match allow(ready.len())? {
            Some(allowed) => ready.truncate(allowed),
            None => return Ok(Vec::new()),
        }
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
        Ok(taken.collect())
    }
}

/// What became of acknowledged items.
#[derive(Debug, PartialEq, Eq)]
pub struct Acknowledged<'c, T> {
    /// When those that stay are due: the earliest of them.
    pub next_due: Option<i64>,
    /// How many stay.
    pub again: usize,
    /// Those that were removed.
    pub done: Vec<&'c T>,
}

/// Ends claims. With `again_at` the items stay, and are due again then. Items that were added again in the meantime stay
/// in any case, and are due now at the latest. Ignores tokens that are not the item's current one.
pub fn acknowledge<'c, S: SortedSet>(
    items: &mut S,
    claims: &'c [(i64, S::Element)],
    now: i64,
    again_at: Option<i64>,
) -> Acknowledged<'c, S::Element> {
    // First all changes of one kind, then all of the other, so that each kind is propagated as one command.
    let (mut next_due, mut again) = (None, 0);
    for (token, item) in claims {
        let Some(claim) = held(items, *token, item) else { continue };
        let added_again = Some(now).filter(|_| claim.again);
        let Some(due) = again_at.into_iter().chain(added_again).min() else { continue };
        items.put(item, due as f64, Condition::Any);
        next_due = next_due.into_iter().chain([due]).min();
        again += 1;
    }
    let mut done = Vec::new();
    for (token, item) in claims {
        if held(items, *token, item).is_some() {
            items.remove(item);
            done.push(item);
        }
    }
    Acknowledged { next_due, again, done }
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

/// When the first item is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextDue {
    /// The time can be in the past. 0, if it is hidden behind too many elements that are no times: a claim has to find out.
    pub at: Option<i64>,
    /// Elements that are no times were met.
    pub met_invalid: bool,
}

/// Finds out when the first item is due. Looks at no more elements than a claim does.
pub fn next_due<S: SortedSet>(items: &mut S) -> NextDue {
    next_due_within(items, MAX_INVALID)
}

fn next_due_within<S: SortedSet>(items: &mut S, invalid: u32) -> NextDue {
    let waiting = items.first(WAITING).and_then(|(_, score)| ItemState::of(score).due());
    let (mut claimed, mut from) = (None, Bound::Included(CLAIMED.start));
    let mut met = 0;
    // Each look-up begins behind the score of the last element.
    while let Some((_, score)) = items.first((from, Bound::Excluded(CLAIMED.end))) {
        claimed = ItemState::of(score).due();
        if claimed.is_some() {
            break;
        }
        met += 1;
        from = Bound::Excluded(score);
        if met > invalid {
            claimed = Some(0);
            break;
        }
    }
    stats::DUE_ELEMENTS.add(u64::from(met) + 1);
    NextDue { at: waiting.into_iter().chain(claimed).min(), met_invalid: met > 0 }
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
    /// When the first item is due.
    pub next_due: Option<i64>,
}

/// Counts the items. Claims are counted one by one, because not every number in their range is one.
pub fn tally<S: SortedSet>(items: &mut S, now: i64) -> Result<Tally> {
    let next_due = next_due_within(items, u32::MAX).at;
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
        next_due,
    })
}
