//! A checker: from what clients asked, what they were told and when, it proves what docs/guarantees.md promises of claims,
//! leases and counters. It knows nothing of the servers but when a failover may have lost what no replica had.

use std::collections::{BTreeMap, BTreeSet};

/// What a client asked for. Every item is added once, by a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Add {
        item: u64,
    },
    Claim,
    Ack {
        item: u64,
        token: i64,
    },
    /// A lease of an item that is to end later.
    Move {
        item: u64,
        token: i64,
    },
    Acquire,
    Renew {
        token: i64,
    },
    Release {
        token: i64,
    },
    Count {
        counter: u64,
    },
}

/// An item that was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub item: u64,
    pub token: i64,
    pub attempt: u64,
    pub due_ms: i64,
}

/// What it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Nothing: it may have happened or not.
    Unknown,
    /// An error: it must not have happened.
    Refused,
    /// A number: how many, a token, 0, or the value of a counter.
    Number(i64),
    Rows(Vec<Row>),
}

/// One call. Times are in microseconds since 1970, by the clock that the servers have too.
#[derive(Clone, Debug)]
pub struct Call {
    pub start: i64,
    pub end: i64,
    pub ask: Ask,
    pub told: Told,
    /// The client knows, by `WAIT`, that the replica has it.
    pub replicated: bool,
}

/// All calls of a run, and what was there in the end.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub calls: Vec<Call>,
    /// From when to when a failover may have lost what was not replicated.
    pub losses: Vec<(i64, i64)>,
    pub items_left: BTreeSet<u64>,
    pub counters: BTreeMap<u64, i64>,
    /// How long every claim of an item lasts.
    pub claim_ms: i64,
    /// How long every lease on the lock lasts.
    pub lease_ms: i64,
}

/// How late the clock of a server may be that has just been stopped, or is busy.
const CLOCK_TOLERANCE: i64 = 20_000;
const MICROS_OF_MS: i64 = 1_000;
const FOREVER: i64 = i64::MAX;

/// When a claim ends, which its token says.
fn until_ms(token: i64) -> i64 {
    (token >> 11) + 1_577_836_800_000
}

/// For each item, tokens and the calls that named them.
type Uses<'h> = BTreeMap<u64, Vec<(i64, &'h Call)>>;

/// One token of an item: a claim, or a move of one.
#[derive(Clone, Copy)]
struct Grant<'h> {
    call: &'h Call,
    token: i64,
    /// The number of the claim; none for a move.
    attempt: Option<u64>,
    /// The token that a move replaced.
    replaced: Option<i64>,
}

impl Grant<'_> {
    fn granted_ms(&self, history: &History) -> i64 {
        until_ms(self.token) - history.claim_ms
    }

    /// What comes first. In the same millisecond an item can only be claimed and then moved, by who knows the claim.
    fn order(&self, history: &History) -> (i64, i64) {
        (self.granted_ms(history), self.call.start)
    }
}

impl History {
    /// Everything that is not as promised; empty if all is well.
    pub fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.check_items(&mut found);
        self.check_lock(&mut found);
        self.check_counters(&mut found);
        found
    }

    /// Whether a failover that began by then may have lost this call.
    fn is_lost_by(&self, call: &Call, by: i64) -> bool {
        !call.replicated && self.losses.iter().any(|(begin, end)| call.start <= *end && *begin <= by)
    }

    /// Whether either of two calls may have been lost before the other one was done.
    fn may_be_strangers(&self, one: &Call, other: &Call) -> bool {
        let by = one.end.max(other.end);
        self.is_lost_by(one, by) || self.is_lost_by(other, by)
    }

    fn check_items<'h>(&'h self, found: &mut Vec<String>) {
        let mut grants: BTreeMap<u64, Vec<Grant<'h>>> = BTreeMap::new();
        let mut adds: BTreeMap<u64, &'h Call> = BTreeMap::new();
        // The calls that named a token of an item.
        let (mut acks, mut moves): (Uses<'h>, Uses<'h>) = Default::default();
        for call in &self.calls {
            match (call.ask, &call.told) {
                (Ask::Add { item }, told) if *told != Told::Refused => drop(adds.insert(item, call)),
                (Ask::Claim, Told::Rows(rows)) => rows.iter().for_each(|row| {
                    let grant = Grant { call, token: row.token, attempt: Some(row.attempt), replaced: None };
                    grants.entry(row.item).or_default().push(grant);
                }),
                (Ask::Move { item, token }, told) => {
                    moves.entry(item).or_default().push((token, call));
                    let Told::Number(new @ 1..) = told else { continue };
                    let grant = Grant { call, token: *new, attempt: None, replaced: Some(token) };
                    grants.entry(item).or_default().push(grant);
                }
                (Ask::Ack { item, token }, _) => acks.entry(item).or_default().push((token, call)),
                _ => {}
            }
        }
        let unknown_claims: Vec<&Call> =
            self.calls.iter().filter(|call| call.ask == Ask::Claim && call.told == Told::Unknown).collect();
        for (item, grants) in &mut grants {
            grants.sort_by_key(|grant| grant.order(self));
            match adds.get(item) {
                Some(add) if add.start <= grants[0].call.end => {}
                _ => found.push(format!("item {item} was claimed, but not added before")),
            }
            self.check_grants(*item, grants, &unknown_claims, found);
            let of = |calls: &Uses<'h>| calls.get(item).cloned().unwrap_or_default();
            self.check_acks(*item, grants, &of(&acks), &of(&moves), found);
        }
        for (item, acks) in &acks {
            if !grants.contains_key(item) && acks.iter().any(|(_, ack)| ack.told == Told::Number(1)) {
                found.push(format!("item {item} was acknowledged, but nobody claimed it"));
            }
        }
        for (item, add) in &adds {
            let acks = acks.get(item).map_or(&[][..], Vec::as_slice);
            let is_left = self.items_left.contains(item);
            let done = acks.iter().any(|(_, ack)| ack.told == Told::Number(1) || ack.told == Told::Unknown);
            let was_told = add.told == Told::Number(1);
            if was_told && !done && !is_left && !self.is_lost_by(add, FOREVER) {
                found.push(format!("item {item} was added and is lost"));
            }
            let acknowledged =
                acks.iter().find(|(_, ack)| ack.told == Told::Number(1) && !self.is_lost_by(ack, FOREVER));
            if is_left && acknowledged.is_some() {
                found.push(format!("item {item} was acknowledged, and is there again"));
            }
        }
        for item in self.items_left.iter().filter(|item| !adds.contains_key(item)) {
            found.push(format!("item {item} is there, but nobody added it"));
        }
    }

    /// One claimer at a time, and every claim is counted.
    fn check_grants(&self, item: u64, grants: &[Grant], unknown: &[&Call], found: &mut Vec<String>) {
        for (place, grant) in grants.iter().enumerate() {
            if let Some(replaced) =
                grant.replaced.filter(|replaced| grants.iter().all(|other| other.token != *replaced))
            {
                found.push(format!("item {item}: the token {replaced} was moved, but never given"));
            }
            let end = until_ms(grant.token);
            for next in &grants[place + 1..] {
                // A move continues the claim whose token it replaced.
                let continues = next.replaced.is_some();
                if !continues && next.granted_ms(self) < end && !self.may_be_strangers(grant.call, next.call) {
                    found.push(format!("item {item} has two holders: {} and {}", grant.token, next.token));
                }
                if grant.token == next.token {
                    found.push(format!("item {item}: the token {} was given twice", grant.token));
                }
            }
        }
        let claims: Vec<(u64, &Grant)> = grants.iter().filter_map(|grant| Some((grant.attempt?, grant))).collect();
        for (place, (attempt, claim)) in claims.iter().enumerate() {
            let unknown_before = unknown.iter().filter(|call| call.start <= claim.call.end).count();
            if *attempt > (place + 1 + unknown_before) as u64 {
                found.push(format!("item {item}: attempt {attempt} is the claim number {}", place + 1));
            }
            if let Some((before, earlier)) = place.checked_sub(1).map(|before| claims[before]) {
                // 31 is as far as they are counted.
                let grows = before < *attempt || *attempt == 31;
                if !grows && !self.may_be_strangers(earlier.call, claim.call) {
                    found.push(format!("item {item}: attempt {attempt} after {before}"));
                }
            }
        }
    }

    /// What was acknowledged was held by that token, once and for good; and a token that is held is never refused.
    fn check_acks(
        &self,
        item: u64,
        grants: &[Grant],
        acks: &[(i64, &Call)],
        moves: &[(i64, &Call)],
        found: &mut Vec<String>,
    ) {
        for (place, (token, ack)) in acks.iter().enumerate() {
            let Some(own) = grants.iter().find(|grant| grant.token == *token && grant.call.start <= ack.end) else {
                if ack.told == Told::Number(1) {
                    found.push(format!("item {item} was acknowledged by the token {token}, which nobody was given"));
                }
                continue;
            };
            let later = |grant: &&Grant| grant.order(self) > own.order(self);
            match ack.told {
                Told::Number(1) => {
                    for next in grants.iter().filter(|next| later(next) && next.call.end < ack.start) {
                        if !self.may_be_strangers(next.call, ack) {
                            found.push(format!(
                                "item {item}: the stale token {token} acknowledged it after {}",
                                next.token
                            ));
                        }
                    }
                    for next in grants.iter().filter(|next| next.call.start > ack.end) {
                        if !self.is_lost_by(ack, next.call.end) {
                            found.push(format!("item {item} was given to {} after it was acknowledged", next.token));
                        }
                    }
                    for (_, other) in acks[place + 1..].iter().filter(|(_, other)| other.told == Told::Number(1)) {
                        if !self.may_be_strangers(ack, other) {
                            found.push(format!("item {item} was acknowledged twice"));
                        }
                    }
                }
                Told::Number(0) => {
                    let is_live = ack.end < until_ms(*token) * MICROS_OF_MS;
                    // Another call may have used the token up.
                    let is_used = acks.iter().chain(moves).any(|(other, call)| {
                        let is_other = !std::ptr::eq(*call, *ack) && call.start < ack.end;
                        other == token && is_other && call.told != Told::Refused
                    });
                    if is_live && !is_used && !self.may_be_strangers(own.call, ack) {
                        found.push(format!("item {item}: the live token {token} was refused"));
                    }
                }
                _ => {}
            }
        }
    }

    /// A lock has one holder at a time, and its tokens grow.
    fn check_lock(&self, found: &mut Vec<String>) {
        let mut grants: Vec<(i64, &Call)> = Vec::new();
        let mut others: BTreeMap<i64, Vec<&Call>> = BTreeMap::new();
        for call in &self.calls {
            match (call.ask, &call.told) {
                (Ask::Acquire, Told::Number(token)) if *token != 0 => grants.push((*token, call)),
                (Ask::Renew { token } | Ask::Release { token }, told) if *told != Told::Refused => {
                    others.entry(token).or_default().push(call);
                }
                _ => {}
            }
        }
        grants.sort_by_key(|(token, _)| *token);
        let order: Vec<(i64, &Call)> = grants.clone();
        self.check_order("the tokens of the lock", &order, found);
        let lease = self.lease_ms * MICROS_OF_MS;
        for (place, (token, acquired)) in grants.iter().enumerate() {
            let calls = others.get(token).map_or(&[][..], Vec::as_slice);
            let released =
                calls.iter().filter(|call| matches!(call.ask, Ask::Release { .. }) && call.told != Told::Number(0));
            let released = released.map(|call| call.start).min().unwrap_or(FOREVER);
            let renewed =
                calls.iter().filter(|call| matches!(call.ask, Ask::Renew { .. }) && call.told == Told::Number(1));
            let renewals: Vec<&&Call> = renewed.collect();
            let (end, by) = renewals
                .iter()
                .map(|call| (call.start + lease - CLOCK_TOLERANCE, **call))
                .chain([(*token + lease, *acquired)])
                .max_by_key(|(end, _)| *end)
                .expect("the lease itself");
            for (next, call) in &grants[place + 1..] {
                if *next >= end.min(released) {
                    break;
                }
                if !self.may_be_strangers(acquired, call) && !self.may_be_strangers(by, call) {
                    found.push(format!("the lock has two holders: {token} and {next}"));
                }
            }
            for call in calls.iter().filter(|call| call.told == Told::Number(0)) {
                let is_held = call.end < token + lease
                    && calls.iter().all(|other| {
                        std::ptr::eq(*other, *call)
                            || !matches!(other.ask, Ask::Release { .. })
                            || other.start > call.end
                    });
                if is_held && !self.may_be_strangers(acquired, call) {
                    found.push(format!("the live lease {token} was refused"));
                }
            }
        }
    }

    fn check_counters(&self, found: &mut Vec<String>) {
        let mut counters: BTreeMap<u64, Vec<&Call>> = BTreeMap::new();
        for call in &self.calls {
            if let Ask::Count { counter } = call.ask {
                counters.entry(counter).or_default().push(call);
            }
        }
        for (counter, calls) in &counters {
            let unknown = calls.iter().filter(|call| call.told == Told::Unknown).count() as i64;
            let mut told: Vec<(i64, &Call)> = calls
                .iter()
                .filter_map(|call| match call.told {
                    Told::Number(value) => Some((value, *call)),
                    _ => None,
                })
                .collect();
            let counted = self.counters.get(counter).copied().unwrap_or(0);
            let sure = told.iter().filter(|(_, call)| !self.is_lost_by(call, FOREVER)).count() as i64;
            let most = told.len() as i64 + unknown;
            if !(sure..=most).contains(&counted) {
                found.push(format!("counter {counter} is {counted}, not {sure} to {most}"));
            }
            told.sort_by_key(|(value, call)| (*value, call.start));
            for pair in told.windows(2) {
                if pair[0].0 == pair[1].0 && !self.may_be_strangers(pair[0].1, pair[1].1) {
                    found.push(format!("counter {counter} was {} twice", pair[0].0));
                }
            }
            self.check_order(&format!("the values of counter {counter}"), &told, found);
        }
    }

    /// Of two calls, one of which began when the other was done, the later one was told the larger number.
    fn check_order(&self, of: &str, sorted: &[(i64, &Call)], found: &mut Vec<String>) {
        let mut latest: Option<(i64, &Call)> = None;
        for (place, (number, call)) in sorted.iter().enumerate() {
            if let Some((before, earlier)) =
                latest.filter(|(before, earlier)| before < number && call.end < earlier.start)
            {
                let is_wrong =
                    |(_, earlier): &&(i64, &Call)| call.end < earlier.start && !self.may_be_strangers(earlier, call);
                if !self.may_be_strangers(earlier, call)
                    || sorted[..place].iter().any(|one| one.0 < *number && is_wrong(&one))
                {
                    found.push(format!("{of} do not grow: {number} was told before {before}"));
                }
            }
            if latest.is_none_or(|(_, earlier)| call.start > earlier.start) {
                latest = Some((*number, call));
            }
        }
    }
}

/// Histories that are as promised, and the same with one fault each.
mod tests {
    use super::*;

    const MS: i64 = 1_000;
    /// A moment in microseconds.
    const T: i64 = 1_767_225_600_000 * MS;

    /// The token of a claim that ends at this time after `T`, in milliseconds.
    fn token(until: i64, serial: i64, attempt: i64) -> i64 {
        (T / MS + until - 1_577_836_800_000) << 11 | serial << 5 | attempt
    }

    fn call(start: i64, end: i64, ask: Ask, told: Told) -> Call {
        Call { start: T + start * MS, end: T + end * MS, ask, told, replicated: true }
    }

    fn claim(start: i64, item: u64, token: i64, attempt: u64) -> Call {
        let due_ms = T / MS;
        call(start, start + 1, Ask::Claim, Told::Rows(vec![Row { item, token, attempt, due_ms }]))
    }

    fn ack(start: i64, item: u64, token: i64, told: i64) -> Call {
        call(start, start + 1, Ask::Ack { item, token }, Told::Number(told))
    }

    fn count(start: i64, told: i64) -> Call {
        call(start, start + 1, Ask::Count { counter: 0 }, Told::Number(told))
    }

    fn add(item: u64) -> Call {
        call(0, 1, Ask::Add { item }, Told::Number(1))
    }

    /// An item that is claimed, held longer and acknowledged; one whose lease ends before a second claim; one that nobody
    /// claims. A lock that is released, and one whose lease ends. A counter.
    fn sound() -> History {
        let (first, second) = (token(110, 0, 1), token(215, 1, 2));
        let (held, moved) = (token(120, 2, 1), token(170, 3, 1));
        let lock = |start: i64, told: i64| call(start, start + 1, Ask::Acquire, Told::Number(told));
        let calls = vec![
            add(1),
            add(2),
            add(3),
            claim(10, 1, first, 1),
            ack(105, 1, token(110, 5, 1), 0),
            claim(115, 1, second, 2),
            ack(116, 1, first, 0),
            ack(120, 1, second, 1),
            ack(122, 1, second, 0),
            claim(20, 2, held, 1),
            call(70, 71, Ask::Move { item: 2, token: held }, Told::Number(moved)),
            ack(72, 2, held, 0),
            ack(140, 2, moved, 1),
            lock(10, T + 10 * MS),
            lock(15, 0),
            call(20, 21, Ask::Release { token: T + 10 * MS }, Told::Number(1)),
            lock(21, T + 22 * MS),
            call(50, 51, Ask::Renew { token: T + 22 * MS }, Told::Number(1)),
            lock(180, T + 180 * MS),
            call(181, 182, Ask::Renew { token: T + 22 * MS }, Told::Number(0)),
            count(10, 1),
            count(12, 2),
            call(14, 15, Ask::Count { counter: 0 }, Told::Unknown),
            call(16, 17, Ask::Count { counter: 0 }, Told::Refused),
        ];
        History {
            calls,
            losses: Vec::new(),
            items_left: BTreeSet::from([3]),
            counters: BTreeMap::from([(0, 3)]),
            claim_ms: 100,
            lease_ms: 100,
        }
    }

    #[test]
    fn a_sound_history_is_accepted() {
        assert_eq!(sound().violations(), Vec::<String>::new());
    }

    /// That the history is rejected for this, and nothing else.
    #[track_caller]
    fn is_rejected(history: &History, complaint: &str) {
        let found = history.violations();
        assert!(found.len() == 1 && found[0].contains(complaint), "{complaint}: {found:?}");
    }

    fn with(calls: impl IntoIterator<Item = Call>) -> History {
        let mut history = sound();
        history.calls.extend(calls);
        history
    }

    #[test]
    fn an_item_that_is_lost_is_noticed() {
        let mut history = sound();
        history.items_left.clear();
        is_rejected(&history, "item 3 was added and is lost");
        // Unless a failover may have lost it.
        history.calls[2].replicated = false;
        is_rejected(&history, "item 3 was added and is lost");
        history.losses.push((T + 50 * MS, T + 60 * MS));
        assert_eq!(history.violations(), Vec::<String>::new());
        // It was too early for that.
        history.losses[0] = (T - 60 * MS, T - 50 * MS);
        is_rejected(&history, "item 3 was added and is lost");
    }

    #[test]
    fn an_item_that_comes_back_is_noticed() {
        let mut history = sound();
        history.items_left.insert(2);
        is_rejected(&history, "item 2 was acknowledged, and is there again");
        is_rejected(&with([claim(300, 2, token(400, 9, 2), 2)]), "was given to");
        is_rejected(&with([ack(150, 2, token(170, 3, 1), 1)]), "item 2 was acknowledged twice");
    }

    #[test]
    fn an_item_from_nowhere_is_noticed() {
        let mut history = sound();
        history.items_left.insert(9);
        is_rejected(&history, "item 9 is there, but nobody added it");
        let mut history = sound();
        history.items_left.insert(9);
        history.calls.push(call(0, 1, Ask::Add { item: 9 }, Told::Refused));
        is_rejected(&history, "item 9 is there, but nobody added it");
        is_rejected(&with([claim(10, 9, token(110, 7, 1), 1)]), "item 9 was claimed, but not added");
        is_rejected(&with([add(9), ack(10, 9, token(110, 7, 1), 1)]), "item 9 was acknowledged, but nobody claimed it");
    }

    #[test]
    fn two_holders_of_an_item_are_noticed() {
        let second = claim(60, 3, token(160, 8, 2), 2);
        let mut history = with([claim(30, 3, token(130, 7, 1), 1), second]);
        is_rejected(&history, "item 3 has two holders");
        // A claim that was made longer, too.
        let (given, moved) = (token(130, 7, 1), token(180, 8, 1));
        let longer = call(80, 81, Ask::Move { item: 3, token: given }, Told::Number(moved));
        is_rejected(
            &with([claim(30, 3, given, 1), longer, claim(140, 3, token(241, 9, 2), 2)]),
            "item 3 has two holders",
        );
        // Unless the first claim may be lost.
        let place = history.calls.len() - 2;
        history.calls[place].replicated = false;
        history.losses.push((T + 40 * MS, T + 50 * MS));
        assert_eq!(history.violations(), Vec::<String>::new());
        // What was replicated is not.
        history.calls[place].replicated = true;
        is_rejected(&history, "item 3 has two holders");
    }

    #[test]
    fn a_stale_token_that_counts_is_noticed() {
        let (first, second) = (token(130, 7, 1), token(240, 8, 2));
        is_rejected(
            &with([claim(30, 3, first, 1), claim(140, 3, second, 2), ack(150, 3, first, 1)]).without_left(3),
            "the stale token",
        );
        is_rejected(
            &with([claim(30, 3, first, 1), ack(40, 3, token(130, 9, 1), 1)]).without_left(3),
            "which nobody was given",
        );
        let moved = call(40, 41, Ask::Move { item: 3, token: token(130, 9, 1) }, Told::Number(token(140, 10, 1)));
        is_rejected(&with([claim(30, 3, first, 1), moved]), "was moved, but never given");
    }

    #[test]
    fn a_live_token_that_is_refused_is_noticed() {
        is_rejected(&with([claim(30, 3, token(130, 7, 1), 1), ack(60, 3, token(130, 7, 1), 0)]), "was refused");
        is_rejected(&with([call(181, 182, Ask::Renew { token: T + 180 * MS }, Told::Number(0))]), "the live lease");
    }

    #[test]
    fn attempts_that_are_not_counted_are_noticed() {
        let claims =
            |first: u64, second: u64| [claim(30, 3, token(130, 7, 1), first), claim(140, 3, token(240, 8, 2), second)];
        assert_eq!(with(claims(1, 2)).violations(), Vec::<String>::new());
        is_rejected(&with(claims(1, 1)), "attempt 1 after 1");
        is_rejected(&with(claims(1, 3)), "attempt 3 is the claim number 2");
        // A claim whose reply was lost is counted.
        let mut history = with(claims(1, 3));
        history.calls.push(call(132, 133, Ask::Claim, Told::Unknown));
        assert_eq!(history.violations(), Vec::<String>::new());
    }

    #[test]
    fn a_token_that_is_given_twice_is_noticed() {
        let found = with([claim(30, 3, token(130, 7, 1), 1), claim(140, 3, token(130, 7, 1), 2)]).violations();
        assert!(found.iter().any(|found| found.contains("was given twice")), "{found:?}");
    }

    #[test]
    fn two_holders_of_a_lock_are_noticed() {
        let lock = |start: i64| call(start, start + 1, Ask::Acquire, Told::Number(T + start * MS));
        is_rejected(&with([lock(240)]), "the lock has two holders");
        assert_eq!(with([lock(281)]).violations(), Vec::<String>::new());
        let release = |told| call(200, 201, Ask::Release { token: T + 180 * MS }, told);
        assert_eq!(with([lock(240), release(Told::Number(1))]).violations(), Vec::<String>::new());
        assert_eq!(with([lock(240), release(Told::Unknown)]).violations(), Vec::<String>::new());
        is_rejected(&with([lock(240), release(Told::Refused)]), "the lock has two holders");
        // A release that comes too late is none.
        let late = call(250, 251, Ask::Release { token: T + 180 * MS }, Told::Number(1));
        is_rejected(&with([lock(240), late]), "the lock has two holders");
        // One that was renewed holds longer.
        let renewed = call(260, 261, Ask::Renew { token: T + 180 * MS }, Told::Number(1));
        is_rejected(&with([lock(300), renewed]), "the lock has two holders");
    }

    #[test]
    fn tokens_of_a_lock_that_shrink_are_noticed() {
        let found = with([call(400, 401, Ask::Acquire, Told::Number(T - 500 * MS))]).violations();
        assert!(!found.is_empty());
        assert!(found.iter().all(|found| found.contains("the tokens of the lock do not grow")), "{found:?}");
    }

    #[test]
    fn counts_that_are_wrong_are_noticed() {
        for (counted, is_right) in [(1, false), (2, true), (3, true), (4, false)] {
            let mut history = sound();
            history.counters.insert(0, counted);
            match is_right {
                true => assert_eq!(history.violations(), Vec::<String>::new(), "{counted}"),
                false => is_rejected(&history, "counter 0 is"),
            }
        }
        let mut lost = sound();
        lost.counters.insert(0, 1);
        lost.losses.push((T + 13 * MS, T + 14 * MS));
        is_rejected(&lost, "counter 0 is");
        lost.calls.iter_mut().filter(|call| call.told == Told::Number(2)).for_each(|call| call.replicated = false);
        assert_eq!(lost.violations(), Vec::<String>::new());

        let mut history = with([count(20, 2)]);
        is_rejected(&history, "counter 0 was 2 twice");
        history = with([count(20, 4), count(22, 3)]);
        history.counters.insert(0, 4);
        is_rejected(&history, "the values of counter 0 do not grow");
    }

    impl History {
        fn without_left(mut self, item: u64) -> History {
            self.items_left.remove(&item);
            self
        }
    }
}
