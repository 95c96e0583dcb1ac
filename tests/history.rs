//! A checker: from what clients asked, what they were told and when, it proves what docs/guarantees.md promises of claims,
//! leases and counters. It knows nothing of the servers but when a failover may have lost what no replica had.

mod tests;

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
                if grant.token == next.token && !self.may_be_strangers(grant.call, next.call) {
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
            let later = |grant: &&Grant| grant.token != *token && grant.order(self) > own.order(self);
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
                        if !self.may_be_strangers(ack, next.call) {
                            let (at, known) = (ack.end, if ack.replicated { "known" } else { "not known" });
                            found.push(format!(
                                "item {item} was given to {} after it was acknowledged at {at}, {known} to be replicated; \
                                 the claim was from {} to {}",
                                next.token, next.call.start, next.call.end
                            ));
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
