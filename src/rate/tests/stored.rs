//! What lies under the key may be anybody's.

use proptest::prelude::*;

use super::*;

fn run_on(text: &str, words: &str) -> Result<[i64; 6]> {
    let mut limiter = Limiter { text: Some(text.as_bytes().to_vec()), ..Limiter::default() };
    let before = limiter.clone();
    let reply = limiter.run(words, Action::Check, 1_000_000);
    if reply.is_err() {
        assert_eq!(limiter, before);
    }
    reply
}

#[test]
fn somebody_elses_string() {
    for text in [
        "",
        "5",
        "rate",
        "rate 1",
        "rate 1 ",
        "rate 2 gcra1m 00000000 0",
        "rate 1 gcra1m",
        "rate 1 gcra1m 00000000",
        "rate 1 gcra1m 00000000 0 0",
        "rate 1 gcra1m  00000000 0",
        "rate 1 gcra1m 00000000 0 ",
        "rate 1 gcra1m 00000000 X",
        "rate 1 gcra1m 00000000 -1",
        "rate 1 gcra1w 00000000 0",
        "rate 1 gcra0s 00000000 0",
        "rate 1 gcra 00000000 0",
        "rate 1 gcra367d 00000000 0",
        // No bucket owes more than 10^18 units.
        "rate 1 gcra1ms 00000000 zzzzzzzzzzzzzzz",
        "rate 1 fixed1m zzzzzzzzz 1",
        "rate 1 fixed1m 00000000 zzzzzzzzzzzzz",
        "rate 1 fixed1m 00000000 0000000000000000000000001",
        "rate 1 counter1m 00000000 1",
        "rate 1 decade 00000000 1",
        "rate 1 day+2:0 00000000 1",
        "rate 1 closed5 00000000",
    ] {
        for algorithm in ["FIXED", "COUNTER", "GCRA"] {
            assert_eq!(run_on(text, &format!("10 1s {algorithm}")), Err(Error::not_a_string_limiter()), "{text:?}");
        }
        assert!(!is_string_limiter(text.as_bytes()), "{text:?}");
    }
    for text in
        ["rate 1 gcra1m 00000000 0", "rate 1 closed 1", "rate 1 day-11:30 0 z year 0 z", "rate 1 counter90s 0 1 2"]
    {
        assert!(is_string_limiter(text.as_bytes()), "{text}");
        assert!(run_on(text, "10 1s GCRA").is_ok(), "{text}");
    }
}

#[test]
fn a_text_of_a_limiter_is_never_as_short_as_an_integer() {
    for words in ["1 hour CALENDAR", "1 1s FIXED", "1 1s GCRA", "1 1s COUNTER", "1 1s FIXED COST 5 PENALTY 1"] {
        let mut limiter = Limiter::default();
        limiter.run(words, Action::Check, 0).unwrap();
        assert!(limiter.line().len() >= SHORTEST_TEXT && SHORTEST_TEXT > i64::MIN.to_string().len(), "{words}");
    }
}

#[test]
fn somebody_elses_sorted_set() {
    let good = (1_000_000.0, "10/1s");
    assert!(LogEntry::decode(good.0, good.1.as_bytes()).is_some());
    for (score, element) in [
        (f64::NEG_INFINITY, good.1),
        (f64::INFINITY, good.1),
        (f64::NAN, good.1),
        (-1.0, good.1),
        (0.5, good.1),
        (9_007_199_254_740_994.0, good.1),
        (1.0, "alice"),
        (1.0, ""),
        (1.0, "1"),
        (1.0, "10"),
        (1.0, "10/"),
        (1.0, "10+/1s"),
        (1.0, "10+5"),
        (1.0, "10/0s"),
        (1.0, "10/01s"),
        (1.0, "10/1000ms"),
        (1.0, "10/60s"),
        (1.0, "10/1"),
        (1.0, "10/367d"),
        (1.0, "10/1s/1s"),
        (1.0, "10/1s "),
        (1.0, "10+1/1s"),
        (1.0, "10+05/1s"),
        (1.0, "10+gjdgxt/1s"),
        (1.0, "10-5/1s"),
        (1.0, "20/1s"),
        (1.0, "200/1s"),
        (1.0, "205/1s"),
        (1.0, "1A/1s"),
        (1.0, "00/1s"),
        (1.0, "d3w5e11264sgsf/1s"),
        (1.0, "d3w5e11264sgsg+0/1s"),
        (1.0, "e13w5e11264sgsf/1s"),
    ] {
        assert_eq!(LogEntry::decode(score, element.as_bytes()), None, "{element}");
    }
    // Either end gives it away.
    for foreign_at in [0.0, 9_000_000.0] {
        let log: MemorySet = [good, (foreign_at, "alice")].into_iter().collect();
        assert!(!is_log(&mut log.clone()));
        let mut limiter = Limiter { log, ..Limiter::default() };
        for mode in [Action::Check, Action::Peek] {
            assert_eq!(limiter.run("5 1s", mode, 1_000_000), Err(Error::not_a_log()));
        }
    }
}

#[test]
fn a_total_that_would_overflow() {
    let log: MemorySet = [(0.0, b"d3w5e11264sgsa+3/1s")].into_iter().collect();
    let mut limiter = Limiter { log, ..Limiter::default() };
    let mut check = |cost| limiter.run(&format!("9 1s COST {cost}"), Action::Check, 0);
    assert_eq!(check(3), Err(Error::limiter_overflow(3)));
    assert_eq!(check(2), Ok([0, 9, 4, 0, 1_000, 1]));
    assert_eq!(check(1), Err(Error::limiter_overflow(1)));
    assert_eq!(check(7), Ok([1, 9, 4, 1_000, 1_000, 1]));
}

const CALLS: [&str; 8] = [
    "5 1s",
    "100000 366d 1 1ms",
    "5 1s COST 1000000000",
    "100000 366d COST 99999",
    "1000000000 1s 1 366d FIXED COST 1000000000",
    "1000000000 1s 1 366d COUNTER COST 1000000000",
    "1000000000 1s 1 366d GCRA COST 1000000000 FORCE",
    "1000000000/1s/1000000000 1/366d/1000000000 GCRA COST 1000000000",
];

fn any_time() -> impl Strategy<Value = i64> {
    prop_oneof![0_i64..10_000, any::<i64>(), Just(1_i64 << 53)]
}

proptest! {
    /// Totals out of order, times beyond all bounds, noise: an error or an answer, never a panic or a search without end.
    #[test]
    fn no_tampered_log_does_harm(
        elements in proptest::collection::btree_set(
            (any_time(), prop_oneof!["5[1-9a-z][0-9a-z]{4}(\\+[2-9a-z][0-9a-z]{0,4})?/[1-9][0-9]?[smh]", "(1[0-9a-z]|2[1-9a-z][0-9a-z])(\\+[02-9])?/[1-9]s", ".*"]),
            0..12,
        ),
        micros in any_time(),
    ) {
        let log: MemorySet = elements.into_iter().map(|(at, text)| (at as f64, text)).collect();
        for words in CALLS {
            let mut limiter = Limiter { log: log.clone(), ..Limiter::default() };
            let _ = limiter.run(words, Action::Peek, micros);
            prop_assert!(limiter.log.reads < 200);
        }
    }

    #[test]
    fn no_tampered_text_does_harm(
        slots in proptest::collection::vec(
            prop_oneof![
                "(gcra|fixed)(1s|366d) [0-9a-z]{1,9} [0-9a-z]{1,16}",
                "counter(1s|366d) [0-9a-z]{1,9} [0-9a-z]{1,12} [0-9a-z]{1,12}",
                "(day|year-23:59) [0-9a-z]{1,9} [0-9a-z]{1,12}",
                "closed [0-9a-z]{1,9}",
                ".*",
            ],
            0..12,
        ),
        micros in any_time(),
    ) {
        let text = format!("rate 1 {}", slots.join(" ")).into_bytes();
        for words in CALLS {
            let mut limiter = Limiter { text: Some(text.clone()), ..Limiter::default() };
            let _ = limiter.run(words, Action::Refund, micros);
            let read = limiter.run(words, Action::Check, micros);
            // What a limiter wrote, a limiter reads.
            prop_assert!(read.is_err() || limiter.run(words, Action::Check, micros).is_ok());
        }
    }

    #[test]
    fn no_words_do_harm(words in proptest::collection::vec(
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..8),
            "[0-9]{1,25}(ms|s|m|h|d|)".prop_map(String::into_bytes),
            "[+-]?[0-9]{1,3}/[0-9]{1,3}(ms|d)?".prop_map(String::into_bytes),
            "(GCRA|cost|BURST|now|Fixed|calendar|OFFSET|day|5/month|penalty|force|each|json)".prop_map(String::into_bytes),
        ],
        0..8,
    )) {
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        if let Err(error) = memory::request(&words, Action::Check, MAX_LOG) {
            let text = error.to_string();
            prop_assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{}", text);
        }
    }
}

#[test]
fn a_limiter_keeps_so_many_windows_and_no_more() {
    let mut limiter = Limiter::default();
    for hours in 1..=1_000 {
        let request = parse(&format!("5 {hours}h FIXED")).unwrap();
        assert_eq!(
            limiter.run_by(&request, Clock::new(5_000, None)).unwrap().verdict().unwrap().reply()[..3],
            [0, 5, 4]
        );
    }
    let before = limiter.clone();
    let one_more = parse("5 1001h FIXED").unwrap();
    assert_eq!(limiter.run_by(&one_more, Clock::new(5_000, None)).map(drop), Err(Error::too_many_windows(1_000)));
    assert_eq!(limiter, before);
    // Others still count, and one that has ended makes room.
    assert!(limiter.run_by(&parse("5 7h FIXED").unwrap(), Clock::new(5_000, None)).is_ok());
    assert!(limiter.run_by(&one_more, Clock::new(2 * 3_600_000_000, None)).is_ok());
    let text = ["rate 1".to_owned(), " fixed1h 00000000 1".repeat(1_001)].concat();
    assert!(!is_string_limiter(text.as_bytes()));
}
