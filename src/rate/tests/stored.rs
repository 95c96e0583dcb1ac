//! What lies under the key may be anybody's.

use proptest::prelude::*;

use super::*;

const HASH_ALGORITHMS: [&str; 3] = ["FIXED", "COUNTER", "GCRA"];

fn hash(fields: &[(&str, &str)]) -> MemoryHash {
    let bytes = |text: &str| text.as_bytes().to_vec();
    fields.iter().map(|(name, value)| (bytes(name), bytes(value))).collect()
}

fn run_on_hash(fields: &[(&str, &str)], words: &str) -> Result<[i64; 6]> {
    let mut limiter = Limiter { hash: Some(hash(fields)), ..Limiter::default() };
    let before = limiter.clone();
    let reply = limiter.run(words, Mode::Check, 1_000_000);
    if reply.is_err() {
        assert_eq!(limiter, before);
    }
    reply
}

#[test]
fn somebody_elses_hash() {
    for fields in [
        [("name", "value")].as_slice(),
        &[("rate", "10")],
        &[("rate", "v2 fixed")],
        &[("rate", "fixed")],
        &[("rate", "")],
        &[("fixed:60000ms", "0 1")],
    ] {
        for algorithm in HASH_ALGORITHMS {
            let words = format!("10 1s {algorithm}");
            assert_eq!(run_on_hash(fields, &words), Err(Error::NotAHashLimiter), "{fields:?}");
        }
        assert_eq!(recognise_hash(&mut hash(fields)), Err(Error::NotAHashLimiter));
    }
    assert_eq!(recognise_hash(&mut hash(&[("rate", "v1 gcra")])), Ok(()));
}

#[test]
fn values_no_limiter_wrote() {
    for (words, field, header, good, bad) in [
        (
            "10 1s FIXED",
            "fixed:1000ms",
            "v1 fixed",
            ["0 1", "9007199254740992 1000000000"],
            ["", "0", "0 0", "0 1 ", " 0 1", "0  1", "01 1", "0 01", "-1 1", "+1 1", "0 1 1"].as_slice(),
        ),
        (
            "10 1s FIXED",
            "fixed:1000ms",
            "v1 fixed",
            ["0 1", "1 1"],
            &["9007199254740993 1", "0 1000000001", "0 99999999999999999999", "0 x", "0 1.5"],
        ),
        (
            "10 1s COUNTER",
            "counter:1000ms",
            "v1 counter",
            ["0 0 1", "9007199254740992 1000000000 1000000000"],
            &["0 0 0", "0 1", "0 0 1 1", "0 1000000001 1", "0 0 1000000001", "0  1"],
        ),
        (
            "10 1s GCRA",
            "gcra:1000ms",
            "v1 gcra",
            ["0 1", "9007199254740992 1000000000000000000"],
            &[
                "0 0",
                "0 1000000000000000001",
                "0 340282366920938463463374607431768211456",
                "0 000000000000000000000000001",
                "0 1 1",
            ],
        ),
    ] {
        for value in good {
            let fields = [("rate", header), (field, value)];
            assert!(run_on_hash(&fields, words).is_ok(), "{field} {value}");
        }
        for value in bad {
            let error = run_on_hash(&[("rate", header), (field, value)], words).unwrap_err();
            let expected = format!("ERR key holds a hash that is not a limiter: field '{field}' is ");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }
}

#[test]
fn another_algorithm_starts_anew() {
    for old in HASH_ALGORITHMS {
        for new in HASH_ALGORITHMS {
            let mut limiter = Limiter::default();
            limiter.run(&format!("5 60s 9 1h {old} COST 5"), Mode::Check, 0).unwrap();
            let before = limiter.clone();
            let cost = 6;
            let denied = limiter.run(&format!("5 60s {new} COST {cost}"), Mode::Check, 0).unwrap();
            assert_eq!(denied[0], 1);
            assert_eq!(limiter, before, "a denied call replaces nothing");
            let reply = limiter.run(&format!("5 60s {new} COST 2"), Mode::Check, 0).unwrap();
            if old == new {
                assert_eq!((reply[0], limiter), (1, before));
            } else {
                assert_eq!((reply[0], reply[2]), (0, 3), "{old} {new}");
                assert_eq!(limiter.hash.unwrap().len(), 2);
                let reset = if new == "GCRA" { 24_000 } else { reply[4] };
                assert_eq!(limiter.expire_at_ms, Some(reset));
            }
        }
    }
}

#[test]
fn somebody_elses_sorted_set() {
    let good = (1_000_000.0, "00000000000000000000+1");
    assert!(Entry::decode(good.0, good.1.as_bytes()).is_ok());
    for (score, element) in [
        (f64::NEG_INFINITY, good.1),
        (f64::INFINITY, good.1),
        (f64::NAN, good.1),
        (-1.0, good.1),
        (0.5, good.1),
        (9_007_199_254_740_994.0, good.1),
        (1.0, "alice"),
        (1.0, ""),
        (1.0, "00000000000000000000"),
        (1.0, "00000000000000000000+"),
        (1.0, "00000000000000000000+0"),
        (1.0, "00000000000000000000+01"),
        (1.0, "00000000000000000000+1000000001"),
        (1.0, "00000000000000000000-1"),
        (1.0, "0000000000000000000+1"),
        (1.0, "000000000000000000000+1"),
        (1.0, "18446744073709551615+1"),
        (1.0, "99999999999999999999+1"),
        (1.0, "0000000000000000000x+1"),
    ] {
        assert_eq!(Entry::decode(score, element.as_bytes()), Err(Error::NotALog), "{element}");
    }
    // Either end gives it away.
    for foreign_at in [0, 9_000_000] {
        let elements = [(1_000_000, good.1.into()), (foreign_at, b"alice".to_vec())];
        let log = MemoryLog { elements: elements.into(), reads: 0 };
        assert_eq!(recognise_log(&mut log.clone()), Err(Error::NotALog));
        let mut limiter = Limiter { log: Some(log), ..Limiter::default() };
        for mode in [Mode::Check, Mode::Peek] {
            assert_eq!(limiter.run("5 1s", mode, 1_000_000), Err(Error::NotALog));
        }
    }
}

#[test]
fn a_total_that_would_overflow() {
    let elements = [(0, b"18446744073709551610+3".to_vec())];
    let log = MemoryLog { elements: elements.into(), reads: 0 };
    let mut limiter = Limiter { log: Some(log), ..Limiter::default() };
    let mut check = |cost| limiter.run(&format!("9 1s COST {cost}"), Mode::Check, 0);
    assert_eq!(check(3), Err(Error::LimiterOverflow(3)));
    assert_eq!(check(2), Ok([0, 9, 4, 0, 1_000, 1]));
    assert_eq!(check(1), Err(Error::LimiterOverflow(1)));
    assert_eq!(check(7), Ok([1, 9, 4, 1_000, 1_000, 1]));
}

const CALLS: [&str; 8] = [
    "5 1s",
    "100000 366d 1 1ms",
    "5 1s COST 9223372036854775807",
    "100000 366d COST 99999",
    "1000000000 1s 1 366d FIXED COST 1000000000",
    "1000000000 1s 1 366d COUNTER COST 1000000000",
    "1000000000 1s 1 366d GCRA COST 9223372036854775807",
    "1000000000 1s 1 366d GCRA BURST 1000000000 COST 1000000000",
];

fn any_time() -> impl Strategy<Value = i64> {
    prop_oneof![0_i64..10_000, any::<i64>(), Just(1_i64 << 53)]
}

proptest! {
    /// Totals out of order, times beyond all bounds, noise: an error or an answer, never a panic or a search without end.
    #[test]
    fn no_tampered_log_does_harm(
        elements in proptest::collection::btree_set(
            (any_time(), prop_oneof!["[0-9]{20}\\+[1-9][0-9]{0,9}", "0{17}[0-9]{3}\\+[1-9]", ".*"]),
            0..12,
        ),
        micros in any_time(),
    ) {
        let elements = elements.into_iter().map(|(at, text)| (at, text.into_bytes())).collect();
        let log = MemoryLog { elements, reads: 0 };
        for words in CALLS {
            let mut limiter = Limiter { log: Some(log.clone()), ..Limiter::default() };
            let _ = limiter.run(words, Mode::Peek, micros);
            prop_assert!(limiter.log.is_some_and(|log| log.reads < 200));
        }
    }

    #[test]
    fn no_tampered_hash_does_harm(
        values in proptest::collection::vec(
            prop_oneof![
                "[0-9]{1,16} [1-9][0-9]{0,25}",
                "[0-9]{1,16} [0-9]{1,10} [1-9][0-9]{0,9}",
                "[0-9 ]{0,60}",
                ".*",
            ],
            6,
        ),
        micros in any_time(),
    ) {
        let names = [
            "fixed:1000ms", "counter:1000ms", "gcra:1000ms",
            "fixed:31622400000ms", "counter:31622400000ms", "gcra:31622400000ms",
        ];
        let mut fields = hash(&[("rate", "v1 gcra")]);
        fields.extend(names.iter().zip(&values).map(|(name, value)| (name.as_bytes().to_vec(), value.clone().into_bytes())));
        for words in CALLS {
            let mut limiter = Limiter { hash: Some(fields.clone()), ..Limiter::default() };
            let _ = limiter.run(words, Mode::Check, micros);
            // What a limiter wrote, a limiter reads.
            let _ = limiter.run(words, Mode::Check, micros);
        }
    }

    #[test]
    fn no_words_do_harm(words in proptest::collection::vec(
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..8),
            "[0-9]{1,25}(ms|s|m|h|d|)".prop_map(String::into_bytes),
            "[+-]?[0-9]{1,3}/[0-9]{1,3}(ms|d)?".prop_map(String::into_bytes),
            "(GCRA|cost|BURST|now|Fixed)".prop_map(String::into_bytes),
        ],
        0..8,
    )) {
        if let Err(error) = Request::parse(words.iter().map(Vec::as_slice), MAX_LOG) {
            let text = error.to_string();
            prop_assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{}", text);
        }
    }
}
