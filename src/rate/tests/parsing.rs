use super::*;

#[test]
fn ways_to_write_a_rule() {
    for (words, rules) in [
        ("100 60", vec![(100, 60_000)]),
        ("100 60s", vec![(100, 60_000)]),
        ("100 1m", vec![(100, 60_000)]),
        ("100/1m", vec![(100, 60_000)]),
        ("100/60", vec![(100, 60_000)]),
        ("1 1ms", vec![(1, 1)]),
        ("1000000000/366d gcra", vec![(1_000_000_000, 31_622_400_000)]),
        ("007 +5h", vec![(7, 18_000_000)]),
        ("5/1s 100 1m 1000/1d", vec![(5, 1_000), (100, 60_000), (1_000, 86_400_000)]),
    ] {
        let request = parse(words).expect(words);
        let parsed: Vec<_> = request.rules.iter().map(|rule| (rule.limit, rule.millis())).collect();
        assert_eq!(parsed, rules, "{words}");
    }
}

#[test]
fn options_in_any_order_and_case() {
    let request = parse("10 1s now 5 cost 3 Gcra burst 7").unwrap();
    assert_eq!(request, parse("10 1s GCRA BURST 7 COST 3 NOW 5").unwrap());
    assert_eq!(request.algorithm, Algorithm::Gcra);
    assert_eq!((request.rules[0].burst, request.cost, request.now), (Some(7), 3, Some(5_000)));

    let request = parse("10 1s").unwrap();
    assert_eq!(request.algorithm, Algorithm::Sliding);
    assert_eq!((request.rules[0].burst, request.cost, request.now), (None, 1, None));
    assert_eq!(parse("1 1 NOW 9007199254740").unwrap().now, Some(9_007_199_254_740_000));
    assert_eq!(parse("1 1 COST 1000000000").unwrap().cost, 1_000_000_000);
    assert_eq!(
        parse("10/1s/20 5/1m GCRA").unwrap().rules.iter().map(|rule| rule.burst).collect::<Vec<_>>(),
        [Some(20), None]
    );
    let request = parse("5/day 9 MONTH calendar offset -03:30 force penalty 90s each json").unwrap();
    assert_eq!((request.algorithm, request.force, request.each, request.json), (Algorithm::Calendar, true, true, true));
    assert_eq!(request.penalty_ms, Some(90_000));
}

#[test]
fn what_is_wrong_is_said() {
    let window = "window takes 1ms to 366d, a whole number with ms, s, m, h, d or none for seconds, got";
    let option =
        "option takes SLIDING, FIXED, COUNTER, GCRA, CALENDAR, BURST, OFFSET, COST, UPTO, FORCE, PENALTY, WAIT, STAMP, NOW, EACH or JSON, got";
    for (words, expected) in [
        ("", "rule takes a limit and a window, got none".to_string()),
        ("SLIDING", "rule takes a limit and a window, got none".to_string()),
        ("60", "limit 60 has no window: write 60/1m, or 60 60".to_string()),
        ("60/", "limit 60 has no window: write 60/1m, or 60 60".to_string()),
        ("60 COST 1", "limit 60 has no window: write 60/1m, or 60 60".to_string()),
        ("60 5/1s", "limit 60 has no window: write 60/1m, or 60 60".to_string()),
        ("1 1 5", "limit 5 has no window: write 5/1m, or 5 60".to_string()),
        ("0 60", "limit takes 1 to 1000000000, got 0".to_string()),
        ("-5 60", "limit takes 1 to 1000000000, got -5".to_string()),
        ("1000000001 60", "limit takes 1 to 1000000000, got 1000000001".to_string()),
        ("1.5 60", "limit takes 1 to 1000000000, got 1.5".to_string()),
        ("x 60", "limit takes 1 to 1000000000, got x".to_string()),
        ("/60", "limit takes 1 to 1000000000, got ''".to_string()),
        ("99999999999999999999999999 60", "limit takes 1 to 1000000000, got 99999999999999999999999999".to_string()),
        ("1 0", format!("{window} 0")),
        ("1 -1", format!("{window} -1")),
        ("1 0ms", format!("{window} 0ms")),
        ("1 367d", format!("{window} 367d")),
        ("1 31622401", format!("{window} 31622401")),
        ("1 31622400001ms", format!("{window} 31622400001ms")),
        ("1 99999999999999999999d", format!("{window} 99999999999999999999d")),
        ("1 1w", format!("{window} 1w")),
        ("1 1.5s", format!("{window} 1.5s")),
        ("1 ms", format!("{window} ms")),
        ("1/1/1", "BURST is only valid with GCRA".to_string()),
        ("1/1/0 GCRA", "burst takes 1 to 1000000000, got 0".to_string()),
        ("1/1/1 GCRA BURST 5", "BURST is specified more than once".to_string()),
        ("1/1 2/2 GCRA BURST 5", "BURST takes a single rule: with several, write limit/window/burst".to_string()),
        ("1 day", "the window 'day' is only valid with CALENDAR".to_string()),
        ("1/1d CALENDAR", "CALENDAR takes the windows hour, day, week, month and year".to_string()),
        ("1/day 2/DAY CALENDAR", "each rule needs its own window; day is repeated".to_string()),
        ("1/day CALENDAR OFFSET 2", "OFFSET takes +hh:mm or -hh:mm, got 2".to_string()),
        ("1/1d FIXED OFFSET +02:00", "OFFSET is only valid with CALENDAR".to_string()),
        ("1/1d PENALTY 5", "PENALTY is not valid with SLIDING: name FIXED, COUNTER, GCRA or CALENDAR".to_string()),
        (
            "1/1d FIXED PENALTY x",
            "PENALTY takes 1ms to 366d, a whole number with ms, s, m, h, d or none for seconds, got x".to_string(),
        ),
        ("5 1m 6 60", "each rule needs its own window; 1m is repeated".to_string()),
        ("1 1 LEAKY", format!("{option} LEAKY")),
        ("1 1 FIXED 2 2", format!("{option} 2")),
        ("1 1 FIXED GCRA", "FIXED and GCRA are mutually exclusive".to_string()),
        ("1 1 COST 1 COST 1", "COST is specified more than once".to_string()),
        ("1 1 COST", "COST needs a value".to_string()),
        ("1 1 COST -1", "COST takes 0 to 1000000000, got -1".to_string()),
        ("1 1 COST 1000000001", "COST takes 0 to 1000000000, got 1000000001".to_string()),
        ("1 1 NOW -1", "NOW takes 0 to 9007199254740, got -1".to_string()),
        ("1 1 NOW 9007199254741", "NOW takes 0 to 9007199254740, got 9007199254741".to_string()),
        ("1 1 GCRA BURST 0", "BURST takes 1 to 1000000000, got 0".to_string()),
        ("1 1 BURST 5", "BURST is only valid with GCRA".to_string()),
        ("1 1 FIXED BURST 5", "BURST is only valid with GCRA".to_string()),
        (
            "100001 1",
            "limit takes 1 to 100000 with SLIDING (rank.rate-max-log), got 100001; COUNTER and GCRA take more"
                .to_string(),
        ),
    ] {
        let error = parse(words).expect_err(words).to_string();
        assert_eq!(error.split_once(' ').map(|(_, message)| message), Some(expected.as_str()), "{words}");
    }
    assert!(parse("100000 1").is_ok());
    assert!(parse("100001 1 COUNTER").is_ok());
}

#[test]
fn foreign_bytes_are_shown_as_one_line_of_ascii() {
    let long = "y".repeat(100);
    for (word, shown) in [
        (b"\0\xff\n~ x".as_slice(), r"\x00\xff\n~ x".to_string()),
        (long.as_bytes(), format!("{}...", &long[..64])),
        (&[0xc3; 100], format!("{}...", r"\xc3".repeat(64))),
    ] {
        let error = memory::request(&[word, b"60"], Action::Check, MAX_LOG).unwrap_err();
        assert_eq!(error.to_string(), format!("ERR limit takes 1 to 1000000000, got {shown}"));
    }
}

#[test]
fn a_great_many_rules() {
    let words: Vec<_> = (1..=101).map(|ms| format!("5/{ms}ms")).collect();
    let rules = |words: &[String]| {
        let request = request(&words.join(" "), Action::Check, MAX_LOG);
        request.map(|request| request.rules.len())
    };
    assert_eq!(rules(&words[..100]), Ok(100));
    assert_eq!(rules(&words), Err(Error::too_many_rules(100)));
}

#[test]
fn only_a_check_forces_and_punishes() {
    let takes = "option takes SLIDING, FIXED, COUNTER, GCRA, CALENDAR, BURST, OFFSET, COST,";
    for (action, more) in [(Action::Peek, " UPTO, WAIT,"), (Action::Refund, ""), (Action::Settle, " ACTUAL, AT,")] {
        for option in ["FORCE", "PENALTY", "STAMP"] {
            let error = parse_for(&format!("1 1 FIXED {option} 5"), action).unwrap_err();
            assert_eq!(error.to_string(), format!("ERR {takes}{more} NOW, EACH or JSON, got {option}"));
        }
    }
}
