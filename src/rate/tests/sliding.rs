use super::*;

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
        limiter.run(&format!("10 2s COST {cost}"), Mode::Check, ms * 1_000).unwrap();
    }
    let log = limiter.log.clone().unwrap();
    let texts: Vec<_> = log.elements.iter().map(|(at, text)| (*at, text.as_slice())).collect();
    let expected: [(i64, &[u8]); 3] = [
        (1_000_000, b"00000000000000000000+3"),
        (1_000_000, b"00000000000000000003+1"),
        (2_500_000, b"00000000000000000004+2"),
    ];
    assert_eq!(texts, expected);
    assert_eq!(limiter.expire_at_ms, Some(4_500));

    // Totals go on where old elements leave.
    limiter.run("10 2s", Mode::Check, 3_000_000).unwrap();
    let texts: Vec<_> = limiter.log.unwrap().elements.into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, [b"00000000000000000004+2", b"00000000000000000006+1"]);
}

#[test]
fn what_a_longer_window_may_need_expires_later() {
    let mut limiter = Limiter::default();
    limiter.run("10 60s", Mode::Check, 0).unwrap();
    assert_eq!(limiter.expire_at_ms, Some(60_000));
    limiter.run("10 1s", Mode::Check, 500_000).unwrap();
    assert_eq!(limiter.expire_at_ms, Some(60_000));
    // The server keeps a key to the end of its last millisecond.
    limiter.run("10 60s", Mode::Check, 500_999).unwrap();
    assert_eq!(limiter.expire_at_ms, Some(60_500));
}

#[test]
fn expiry_is_by_the_later_of_both_clocks() {
    for (server, caller, expected) in
        [(5_000_000, None, 6_000), (5_000_000, Some(1_000_000), 6_000), (5_000_000, Some(9_000_000), 10_000)]
    {
        for algorithm in ["SLIDING", "FIXED", "GCRA"] {
            let request = parse(&format!("1 1s {algorithm}")).unwrap();
            let mut limiter = Limiter::default();
            limiter.run_by(&request, Mode::Check, Clock::new(server, caller)).unwrap();
            assert_eq!(limiter.expire_at_ms, Some(expected), "{algorithm} {server} {caller:?}");
        }
    }
}

#[test]
fn reads_stay_few_however_long_the_log() {
    for units in [100, 10_000, 100_000] {
        let mut limiter = Limiter::default();
        let mut log = MemoryLog::default();
        for unit in 0..units {
            log.elements.insert((unit * 7, format!("{unit:020}+1").into_bytes()));
        }
        limiter.log = Some(log);
        for (cost, most_reads) in [(1, 2), (2, 3), (3, 4), (units / 2, 40), (units, 40)] {
            limiter.log.as_mut().unwrap().reads = 0;
            let words = format!("{units} 60s COST {cost}");
            let reply = limiter.run(&words, Mode::Check, units * 7).unwrap();
            let leaves_us = (cost - 1) * 7 + 60_000_000 - units * 7;
            assert_eq!((reply[0], reply[3]), (1, (leaves_us + 999) / 1_000), "{words}");
            let reads = limiter.log.as_ref().unwrap().reads;
            assert!(reads <= most_reads, "{words}: {reads} reads");
        }
    }
}
