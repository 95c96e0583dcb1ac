use super::*;

fn entry(total: u64, cost: u64, window_ms: u64) -> LogEntry {
    LogEntry { micros: 0, total, cost, window_ms }
}

#[test]
fn one_rule() {
    assert_table(
        "3 10s",
        &[
            (0, 1, [0, 3, 2, 0, 10_000, 1]),
            (1_000, 1, [0, 3, 1, 0, 10_000, 1]),
            // The same microsecond counts as two calls.
            (1_000, 1, [0, 3, 0, 0, 10_000, 1]),
            (5_000, 1, [1, 3, 0, 5_000, 6_000, 1]),
            (9_999, 1, [1, 3, 0, 1, 1_001, 1]),
            // Exactly a window old no longer counts.
            (10_000, 1, [0, 3, 0, 0, 10_000, 1]),
            (10_000, 2, [1, 3, 0, 1_000, 10_000, 1]),
            (10_000, 4, [1, 3, 0, -1, 10_000, 1]),
            (11_000, 2, [0, 3, 0, 0, 10_000, 1]),
            (11_000, 0, [0, 3, 0, 0, 10_000, 1]),
            // The clock goes back: it stands still at 11 s, the waits include the gap.
            (5_000, 1, [1, 3, 0, 15_000, 16_000, 1]),
            (5_000, 0, [0, 3, 0, 0, 16_000, 1]),
            // As good as new.
            (21_000, 0, [0, 3, 3, 0, 0, 1]),
            (21_000, 3, [0, 3, 0, 0, 10_000, 1]),
            (21_000, 3, [1, 3, 0, 10_000, 10_000, 1]),
        ],
    );
}

#[test]
fn a_clock_that_went_back_records_at_the_newest_time() {
    assert_table(
        "2 1s",
        &[
            (10_000, 1, [0, 2, 1, 0, 1_000, 1]),
            (9_000, 1, [0, 2, 0, 0, 2_000, 1]),
            (10_999, 1, [1, 2, 0, 1, 1, 1]),
            (11_000, 2, [0, 2, 0, 0, 1_000, 1]),
        ],
    );
}

#[test]
fn several_rules_take_from_all_or_none() {
    assert_table(
        "2/1s 3/10s",
        &[
            (0, 1, [0, 2, 1, 0, 1_000, 1]),
            (0, 1, [0, 2, 0, 0, 1_000, 1]),
            (0, 1, [1, 2, 0, 1_000, 1_000, 1]),
            (1_000, 1, [0, 3, 0, 0, 10_000, 2]),
            // Rule 1 has room; rule 2 denies, and rule 1 is not charged.
            (1_500, 1, [1, 3, 0, 8_500, 9_500, 2]),
            (1_500, 0, [0, 3, 0, 0, 9_500, 2]),
            // Never fits rule 1, however long rule 2 has to wait.
            (1_500, 3, [1, 2, 1, -1, 500, 1]),
            (10_000, 2, [0, 2, 0, 0, 1_000, 1]),
            // Both deny: the longest wait.
            (10_000, 2, [1, 3, 0, 10_000, 10_000, 2]),
        ],
    );
}

#[test]
fn the_first_of_equals() {
    assert_table(
        "5/1s 5/10s",
        &[(0, 2, [0, 5, 3, 0, 1_000, 1]), (1_000, 3, [0, 5, 0, 0, 10_000, 2]), (1_000, 6, [1, 5, 2, -1, 1_000, 1])],
    );
}

#[test]
fn waits_round_up_to_whole_milliseconds() {
    assert_micros_table(
        "1 1ms",
        [
            (10, 1, [0, 1, 0, 0, 1, 1]),
            (11, 1, [1, 1, 0, 1, 1, 1]),
            (1_009, 1, [1, 1, 0, 1, 1, 1]),
            (1_010, 1, [0, 1, 0, 0, 1, 1]),
            // 1 us behind: 1.001 ms to wait.
            (1_009, 1, [1, 1, 0, 2, 2, 1]),
        ],
    );
}

#[test]
fn the_log_reads_as_documented() {
    let mut limiter = Limiter::default();
    for (ms, cost) in [(1_000, 3), (1_000, 1), (2_500, 2)] {
        limiter.run(&format!("10 2s COST {cost}"), Action::Check, ms * 1_000).unwrap();
    }
    let texts: Vec<_> = limiter.log.elements().iter().map(|(at, text)| (*at as i64, text.as_slice())).collect();
    let expected: [(i64, &[u8]); 3] = [(1_000_000, b"10+3/2s"), (1_000_000, b"13/2s"), (2_500_000, b"14+2/2s")];
    assert_eq!(texts, expected);
    // A second more than the first call needed, which lasts for the third.
    assert_eq!(limiter.log.expiry(), Some(5_500));

    // Totals go on where old elements leave.
    limiter.run("10 2s", Action::Check, 3_000_000).unwrap();
    let texts: Vec<_> = limiter.log.elements().iter().map(|(_, text)| text.as_slice()).collect();
    assert_eq!(texts, [&b"14+2/2s"[..], b"16/2s"]);
}

#[test]
fn the_expiry_moves_once_in_an_eighth_of_the_longest_window() {
    let mut limiter = Limiter::default();
    let mut expiry = |words: &str, ms: i64| {
        limiter.run(words, Action::Check, ms * 1_000).unwrap();
        limiter.log.expiry()
    };
    assert_eq!(expiry("999 80s", 0), Some(90_000));
    assert_eq!(expiry("999 80s", 10_000), Some(90_000));
    assert_eq!(expiry("999 80s", 10_001), Some(100_001));
    // A short window never shortens the memory of a longer one.
    assert_eq!(expiry("999 1s", 20_002), Some(110_002));
    // At least a second.
    let mut limiter = Limiter::default();
    limiter.run("9 10ms", Action::Check, 0).unwrap();
    assert_eq!(limiter.log.expiry(), Some(1_010));
}

#[test]
fn what_is_stale_goes_once_it_is_an_eighth_of_the_log() {
    let mut limiter = Limiter::default();
    let mut drops = 0;
    let mut before = 0;
    for call in 0..10_000_i64 {
        // A hundred calls in a window.
        assert_eq!(limiter.run("100 100ms", Action::Check, call * 1_000).unwrap()[0], 0);
        let len = limiter.log.len() as usize;
        drops += i64::from(len <= before);
        before = len;
        assert!(len <= 100 * 8 / 7 + 1, "{len} entries");
    }
    assert!((500..=800).contains(&drops), "{drops} drops");
}

#[test]
fn a_short_rule_keeps_the_history_of_a_longer_one() {
    let mut limiter = Limiter::default();
    for ms in 0..5 {
        limiter.run("5 1h", Action::Check, ms * 1_000).unwrap();
    }
    // These do not fit the hour, and see a second of it only.
    for second in 1..100 {
        let reply = limiter.run("9 1s", Action::Check, second * 1_000_000).unwrap();
        assert_eq!(reply[0], 0);
    }
    assert_eq!(limiter.run("104 1h", Action::Check, 100_000_000).unwrap()[..3], [1, 104, 0]);
    assert_eq!(limiter.run("105 1h", Action::Check, 100_000_000).unwrap()[..3], [0, 105, 0]);
}

#[test]
fn a_log_that_is_full_denies() {
    let request = |words: &str| request(words, Action::Check, 5).unwrap();
    let mut limiter = Limiter::default();
    let mut check = |words: &str, ms: i64| {
        let clock = Clock::new(ms * 1_000, None);
        limiter.run_by(&request(words), clock).unwrap().verdict().unwrap().reply()
    };
    assert_eq!(check("5 1h", 0)[0], 0);
    for second in 1..5 {
        assert_eq!(check("5 1s", second * 1_000)[0], 0);
    }
    // Five entries within the hour, though only the last one is within the second.
    assert_eq!(check("5 1s", 5_000), [1, 5, 0, 3_595_000, 0, 1]);
    assert_eq!(check("5 1s COST 0", 5_000)[0], 0);
    assert_eq!(check("5 1s", 3_600_000)[0], 0);
    assert_eq!(check("5 1s", 3_600_000), [1, 5, 0, 1_000, 1_000, 1]);
}

#[test]
fn a_refund_shortens_or_removes_the_newest() {
    let mut limiter = Limiter::default();
    let texts = |limiter: &Limiter| -> Vec<String> {
        limiter.log.elements().iter().map(|(_, text)| String::from_utf8(text.clone()).unwrap()).collect()
    };
    for (ms, cost) in [(0, 3), (1, 2), (1, 4)] {
        limiter.run(&format!("20 1m COST {cost}"), Action::Check, ms * 1_000).unwrap();
    }
    assert_eq!(limiter.run("20 1m COST 5", Action::Refund, 2_000).unwrap(), [0, 20, 16, 0, 59_999, 1]);
    assert_eq!(texts(&limiter), ["10+3/1m", "13/1m"]);
    // Never above full, and never an empty log.
    assert_eq!(limiter.run("20 1m COST 50", Action::Refund, 2_000).unwrap(), [0, 20, 20, 0, 0, 1]);
    assert_eq!(texts(&limiter), ["10+0/1m"]);
    assert_eq!(limiter.run("20 1m COST 7", Action::Check, 2_000).unwrap(), [0, 20, 13, 0, 60_000, 1]);
    assert_eq!(texts(&limiter), ["10+0/1m", "10+7/1m"]);
    // No further back than the longest rule's window.
    assert_eq!(limiter.run("20 1ms COST 50", Action::Refund, 90_000).unwrap(), [0, 20, 20, 0, 0, 1]);
    assert_eq!(limiter.run("20 1m", Action::Peek, 90_000).unwrap()[2], 13);
}

#[test]
fn expiry_is_by_the_later_of_both_clocks() {
    for (server, caller, expected) in
        [(5_000_000, None, 6_000), (5_000_000, Some(1_000_000), 6_000), (5_000_000, Some(9_000_000), 10_000)]
    {
        for algorithm in ["SLIDING", "FIXED", "GCRA"] {
            let request = parse(&format!("1 1s {algorithm}")).unwrap();
            let mut limiter = Limiter::default();
            limiter.run_by(&request, Clock::new(server, caller)).unwrap();
            let slack = if algorithm == "FIXED" { 0 } else { 1_000 };
            assert_eq!(limiter.log.expiry(), Some(expected + slack), "{algorithm} {server} {caller:?}");
        }
    }
}

#[test]
fn reads_stay_few_however_long_the_log() {
    for units in [100, 10_000, 100_000] {
        let mut limiter = Limiter::default();
        for unit in 0..units {
            limiter.log.insert((unit * 7) as f64, &entry(unit as u64, 1, 60_000).element());
        }
        for (cost, most_reads) in [(1, 2), (2, 3), (3, 4), (units / 2, 40), (units, 40)] {
            limiter.log.reads = 0;
            let words = format!("{units} 60s COST {cost}");
            let reply = limiter.run(&words, Action::Check, units * 7).unwrap();
            let leaves_us = (cost - 1) * 7 + 60_000_000 - units * 7;
            assert_eq!((reply[0], reply[3]), (1, (leaves_us + 999) / 1_000), "{words}");
            let reads = limiter.log.reads;
            // A full log is also asked how many of its entries are stale.
            let most_reads = most_reads + usize::from(units as u64 == MAX_LOG);
            assert!(reads <= most_reads, "{words}: {reads} reads");
        }
    }
}

#[test]
fn elements_read_back_and_sort_as_their_calls() {
    let around = |power: u32| [36_u64.pow(power) - 1, 36_u64.pow(power), 36_u64.pow(power) + 1];
    let mut totals: Vec<u64> = (0..13).flat_map(around).chain([7, u64::MAX - 1_000_000_000]).collect();
    totals.sort_unstable();
    totals.dedup();
    let mut last = Vec::new();
    for total in totals {
        // A refund may leave a call of 0 units, which has the total of the next one.
        for cost in [0, 1, 2, 35, 36, 1_000_000_000] {
            for window_ms in [1, 999, 1_000, 60_000, 61_000, 86_400_000, 366 * 86_400_000] {
                let entry = entry(total, cost, window_ms);
                let element = entry.element().to_vec();
                assert_eq!(LogEntry::decode(0.0, &element), Some(entry));
                if cost <= 1 && window_ms == 60_000 {
                    assert!(last < element, "{last:?} {element:?}");
                    last = element;
                }
            }
        }
    }
    assert_eq!(entry(36_002, 1, 60_000).element().as_slice(), b"3rs2/1m");
    assert_eq!(entry(36_002, 5, 60_000).element().as_slice(), b"3rs2+5/1m");
    assert_eq!(entry(u64::MAX, 0, 1).element().as_slice(), b"d3w5e11264sgsf+0/1ms");
}
