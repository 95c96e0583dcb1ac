//! Histories that are as promised, and the same with one fault each.

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
    is_rejected(&with([claim(30, 3, given, 1), longer, claim(140, 3, token(241, 9, 2), 2)]), "item 3 has two holders");
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

/// While there are two primaries, the old one knows nothing of what the new one is told, and what it does itself is lost.
#[test]
fn what_the_old_primary_did_is_no_fault() {
    let (first, other) = (token(130, 7, 1), token(240, 8, 2));
    let on_the_old = |call: Call| Call { replicated: false, ..call };
    let split = |calls: [Call; 3]| {
        let mut history = with(calls).without_left(3);
        history.losses.push((T + 20 * MS, T + 300 * MS));
        history
    };
    // Given out there, after it was acknowledged here; by another token, and by the same one.
    for token in [other, first] {
        let again = claim(140, 3, token, 2);
        let calls = |again: Call| [claim(30, 3, first, 1), ack(120, 3, first, 1), again];
        assert_eq!(split(calls(on_the_old(again.clone()))).violations(), Vec::<String>::new());
        assert!(split(calls(again)).violations().iter().any(|found| found.contains("after it was acknowledged")));
    }
    // Given out there, and then acknowledged here by who had it before.
    let calls = |again: Call| [claim(30, 3, first, 1), again, ack(150, 3, first, 1)];
    assert_eq!(split(calls(on_the_old(claim(140, 3, other, 2)))).violations(), Vec::<String>::new());
    is_rejected(&split(calls(claim(140, 3, other, 2))), "the stale token");
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
