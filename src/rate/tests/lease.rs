//! Leases against a list of holders.

use proptest::prelude::*;

use super::*;
use crate::rate::lease::{last_token, lease_end};

fn acquire(leases: &mut MemorySet, limit: u64, lease_ms: u64, clock: Clock) -> Result<[i64; 6]> {
    let verdict = Leases::new(leases, clock)?.acquire(limit, lease_ms)?;
    assert!(leases.is_empty() || is_leases(leases));
    Ok(verdict.reply())
}

#[test]
fn tokens_grow_whatever_the_clock_does() {
    let mut leases = MemorySet::default();
    let mut last = 0;
    for (ms, caller) in [(5_000, None), (5_000, None), (5_000, Some(1_000_000)), (4_000, None), (9_000, None)] {
        let [limited, limit, _, retry, _, token] =
            acquire(&mut leases, 9, 1_000, Clock::new(ms * 1_000, caller)).unwrap();
        assert_eq!((limited, limit, retry), (0, 9, 0));
        assert!(token > last, "{token} after {last}");
        last = token;
    }
    assert_eq!(last, 9_000_000);
}

#[test]
fn a_lock() {
    let mut leases = MemorySet::default();
    let clock = |ms: i64| Clock::new(ms * 1_000, None);
    assert_eq!(acquire(&mut leases, 1, 1_000, clock(0)).unwrap(), [0, 1, 0, 0, 1_000, 1]);
    assert_eq!(acquire(&mut leases, 1, 1_000, clock(400)).unwrap(), [1, 1, 0, 600, 600, 0]);
    assert_eq!(Leases::new(&mut leases, clock(400)).unwrap().held_ms(), Ok((1, 600)));
    let mut renewed = leases.clone();
    assert_eq!(Leases::new(&mut renewed, clock(400)).unwrap().renew(1, 2_000), Ok(true));
    assert_eq!((renewed.score(&b"1".to_vec()), renewed.expiry()), (Some(2_400_000.0), Some(2_400)));
    // It ends on the microsecond.
    assert_eq!(Leases::new(&mut leases, clock(1_000)).unwrap().renew(1, 2_000), Ok(false));
    assert_eq!(acquire(&mut leases, 1, 1_000, clock(1_000)).unwrap(), [0, 1, 0, 0, 1_000, 1_000_000]);
    assert_eq!(leases.elements(), [(-1_000_000.0, b"last".to_vec()), (2_000_000.0, b"1000000".to_vec())]);
    assert_eq!(Leases::new(&mut MemorySet::default(), clock(0)).unwrap().held_ms(), Ok((0, -1)));
}

#[test]
fn tokens_end_where_scores_are_no_longer_exact() {
    let mut leases: MemorySet = [(-9_007_199_254_740_992.0, b"last")].into_iter().collect();
    assert_eq!(acquire(&mut leases, 1, 1_000, Clock::new(0, None)), Err(Error::tokens_used_up()));
}

#[test]
fn a_lease_ends_when_it_was_promised_to_or_is_refused() {
    let too_late = || Error::lease_ends_too_late(9_007_199_254_740);
    let (latest, year) = (9_007_199_254_740, 366 * 86_400_000);
    let clock = |ms: i64| Clock::new(0, Some(ms * 1_000));
    let mut leases = MemorySet::default();
    assert_eq!(acquire(&mut leases, 2, year, clock(latest)), Err(too_late()));
    assert_eq!(acquire(&mut leases, 2, 1, clock(latest)), Err(too_late()));
    assert_eq!(leases, MemorySet::default());
    let start = latest - year as i64;
    assert_eq!(acquire(&mut leases, 2, year, clock(start)).unwrap()[..5], [0, 2, 1, 0, year as i64]);
    let mut holders = Leases::new(&mut leases, clock(start + 1)).unwrap();
    assert_eq!(holders.renew(start * 1_000, year), Err(too_late()));
}

#[test]
fn what_is_not_a_lease() {
    assert_eq!(last_token(-5.0, b"last"), Some(5));
    for (score, element) in [
        (5.0, &b"last"[..]),
        (-5.0, b"first"),
        (0.0, b"last"),
        (-0.5, b"last"),
        (f64::NEG_INFINITY, b"last"),
        (f64::NAN, b"last"),
    ] {
        assert_eq!(last_token(score, element), None, "{score}");
    }
    for text in ["", "0", "-1", "x", "9007199254740993"] {
        assert_eq!(token(text.as_bytes()), None, "{text}");
    }
    for score in [-1.0, 0.5, f64::INFINITY, f64::NAN] {
        assert_eq!(lease_end(score), None, "{score}");
    }
}

proptest! {
    #[test]
    fn as_a_list_of_holders_says(
        steps in proptest::collection::vec((0_u8..8, -3_i64..9, 1_u64..4, 1_u64..12, any::<proptest::sample::Index>()), 1..80),
    ) {
        let mut leases = MemorySet::default();
        // Tokens, and the ms at which their leases end.
        let mut holders: Vec<(i64, i64)> = Vec::new();
        let (mut now, mut last) = (1_000_i64, 0_i64);
        for (kind, step, limit, lease, index) in steps {
            now += step;
            let clock = Clock::new(now * 1_000, None);
            let at = now * 1_000;
            let mut held: Vec<(i64, i64)> = holders.iter().copied().filter(|(_, end)| *end > at).collect();
            held.sort_by_key(|(_, end)| *end);
            let wait = |end: i64| (end - now * 1_000 + 999) / 1_000;
            match kind {
                0..=3 => {
                    let reply = acquire(&mut leases, limit, lease, clock).unwrap();
                    if (held.len() as u64) < limit {
                        last = (last + 1).max(at);
                        let end = at + lease as i64 * 1_000;
                        let reset = held.iter().map(|(_, end)| *end).max().unwrap_or(0).max(end);
                        prop_assert_eq!(reply, [0, limit as i64, limit as i64 - held.len() as i64 - 1, 0, wait(reset), last]);
                        // What ended is gone, also for a clock that goes back.
                        holders.retain(|(_, end)| *end > at);
                        holders.push((last, end));
                    } else {
                        let reset = held.last().unwrap().1;
                        prop_assert_eq!(reply, [1, limit as i64, 0, wait(held[0].1), wait(reset), 0]);
                    }
                    let live = holders.iter().filter(|(_, end)| *end > at).count();
                    prop_assert!(live as u64 <= limit.max(held.len() as u64));
                }
                4..=5 if !holders.is_empty() => {
                    let (token, _) = holders[index.index(holders.len())];
                    let is_held = held.iter().any(|(held, _)| *held == token);
                    prop_assert_eq!(Leases::new(&mut leases, clock).unwrap().renew(token, lease), Ok(is_held));
                    let own = holders.iter_mut().filter(|(held, _)| *held == token && is_held);
                    own.for_each(|(_, end)| *end = at + lease as i64 * 1_000);
                }
                6 if !holders.is_empty() => {
                    let place = index.index(holders.len());
                    let (token, _) = holders[place];
                    let is_held = held.iter().any(|(held, _)| *held == token);
                    let released = Leases::new(&mut leases, clock).unwrap().release(&[token, token]);
                    prop_assert_eq!(released, Ok(u64::from(is_held)));
                    if is_held {
                        holders.remove(place);
                    }
                }
                _ => {
                    let expected = (held.len() as u64, held.first().map_or(-1, |(_, end)| wait(*end)));
                    prop_assert_eq!(Leases::new(&mut leases, clock).unwrap().held_ms(), Ok(expected));
                }
            }
        }
    }
}
