use super::*;

#[test]
fn one_rule() {
    assert_table(
        "3 10s FIXED",
        &[
            // Opens with its first unit, wherever that is.
            (4_000, 0, [0, 3, 3, 0, 0, 1]),
            (4_000, 1, [0, 3, 2, 0, 10_000, 1]),
            (5_000, 2, [0, 3, 0, 0, 9_000, 1]),
            (13_999, 1, [1, 3, 0, 1, 1, 1]),
            (13_999, 4, [1, 3, 0, -1, 1, 1]),
            (14_000, 2, [0, 3, 1, 0, 10_000, 1]),
            (14_000, 2, [1, 3, 1, 10_000, 10_000, 1]),
            // Behind the start of the window: stands still there.
            (10_000, 1, [0, 3, 0, 0, 14_000, 1]),
            (10_000, 1, [1, 3, 0, 14_000, 14_000, 1]),
            (24_000, 0, [0, 3, 3, 0, 0, 1]),
        ],
    );
}

#[test]
fn several_rules_take_from_all_or_none() {
    assert_table(
        "2/1s 3/10s FIXED",
        &[
            (0, 2, [0, 2, 0, 0, 1_000, 1]),
            (500, 1, [1, 2, 0, 500, 500, 1]),
            (1_000, 2, [1, 3, 1, 9_000, 9_000, 2]),
            // Rule 1 was not opened by the denied call.
            (1_500, 1, [0, 3, 0, 0, 8_500, 2]),
            (2_000, 1, [1, 3, 0, 8_000, 8_000, 2]),
            (10_000, 2, [0, 2, 0, 0, 1_000, 1]),
        ],
    );
}

#[test]
fn a_window_opens_in_the_millisecond_of_its_first_unit() {
    assert_micros_table(
        "1 1ms FIXED",
        [(10, 1, [0, 1, 0, 0, 1, 1]), (999, 1, [1, 1, 0, 1, 1, 1]), (1_000, 1, [0, 1, 0, 0, 1, 1])],
    );
    let mut limiter = Limiter::default();
    limiter.run("1 1ms FIXED", Action::Check, 10).unwrap();
    assert_eq!(limiter.log.expiry(), Some(1));
}

#[test]
fn limits_may_change_and_rules_come_and_go() {
    let mut limiter = Limiter::default();
    let mut check = |words: &str, ms: i64| limiter.run(words, Action::Check, ms * 1_000).unwrap();
    assert_eq!(check("5 10s FIXED COST 4", 0), [0, 5, 1, 0, 10_000, 1]);
    assert_eq!(check("3 10s FIXED", 0), [1, 3, 0, 10_000, 10_000, 1]);
    assert_eq!(check("3 10s FIXED COST 0", 0), [0, 3, 0, 0, 10_000, 1]);
    assert_eq!(check("6 10s 1 1s FIXED", 0), [0, 1, 0, 0, 1_000, 2]);
    assert_eq!(check("6 10s FIXED", 0), [0, 6, 0, 0, 10_000, 1]);
    assert_eq!(limiter.log.expiry(), Some(10_000));
    assert_eq!(limiter.line(), "rate 1 fixed10s 00000000 6 fixed1s 00000000 1");
}
