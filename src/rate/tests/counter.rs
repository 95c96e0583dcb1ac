use super::*;

#[test]
fn one_rule() {
    assert_table(
        "10 10s COUNTER",
        &[
            (12_000, 0, [0, 10, 10, 0, 0, 1]),
            // Aligned to the epoch: 2 s into [10 s, 20 s).
            (12_000, 8, [0, 10, 2, 0, 18_000, 1]),
            // 8(10 - e') + 3 * 10 <= 10 * 10 at e' = 1.25 s of the next window.
            (19_000, 3, [1, 10, 2, 2_250, 11_000, 1]),
            (21_249, 3, [1, 10, 2, 1, 8_751, 1]),
            (21_250, 3, [0, 10, 0, 0, 18_750, 1]),
            // 8(10 - e) / 10 rounds up: 7 + 3 at 21.25 s, 6 + 3 from 22.5 s on.
            (22_499, 1, [1, 10, 0, 1, 17_501, 1]),
            (22_500, 1, [0, 10, 0, 0, 17_500, 1]),
            // c + n > L: the current window has to become the previous one. 4(10 - e') <= 0.
            (22_500, 10, [1, 10, 0, 17_500, 17_500, 1]),
            (22_500, 11, [1, 10, 0, -1, 17_500, 1]),
            // c + n = L: passes with the next window.
            (22_500, 6, [1, 10, 0, 7_500, 17_500, 1]),
            (29_999, 6, [1, 10, 5, 1, 10_001, 1]),
            (30_000, 6, [0, 10, 0, 0, 20_000, 1]),
            // Only the previous window counts any more.
            (45_000, 0, [0, 10, 7, 0, 5_000, 1]),
            (50_000, 0, [0, 10, 10, 0, 0, 1]),
        ],
    );
}

#[test]
fn a_clock_that_goes_back_stands_still() {
    assert_table(
        "2 10s COUNTER",
        &[
            (21_000, 2, [0, 2, 0, 0, 19_000, 1]),
            (5_000, 1, [1, 2, 0, 30_000, 35_000, 1]),
            (34_999, 1, [1, 2, 0, 1, 5_001, 1]),
            (35_000, 1, [0, 2, 0, 0, 15_000, 1]),
            (15_000, 0, [0, 2, 0, 0, 35_000, 1]),
        ],
    );
}

#[test]
fn several_rules_take_from_all_or_none() {
    assert_table(
        "2/1s 3/10s COUNTER",
        &[
            (0, 2, [0, 2, 0, 0, 2_000, 1]),
            (500, 1, [1, 2, 0, 1_000, 1_500, 1]),
            (2_000, 1, [0, 3, 0, 0, 18_000, 2]),
            // 3(10 - e') / 10 <= 2
            (2_000, 1, [1, 3, 0, 11_334, 18_000, 2]),
        ],
    );
}

#[test]
fn the_largest_numbers() {
    assert_table(
        "1000000000 366d COUNTER",
        &[
            (0, 1_000_000_000, [0, 1_000_000_000, 0, 0, 63_244_800_000, 1]),
            // A billionth of the window, 31.6224 ms, is enough for one unit.
            (0, 1, [1, 1_000_000_000, 0, 31_622_400_032, 63_244_800_000, 1]),
            (31_622_400_031, 1, [1, 1_000_000_000, 0, 1, 31_622_399_969, 1]),
            (31_622_400_032, 1, [0, 1_000_000_000, 0, 0, 63_244_799_968, 1]),
        ],
    );
}

#[test]
fn the_text_reads_as_documented() {
    let mut limiter = Limiter::default();
    limiter.run("10 10s COUNTER COST 3", Action::Check, 5_000_000).unwrap();
    limiter.run("10 10s COUNTER COST 2", Action::Check, 12_000_000).unwrap();
    // Milliseconds in base 36, the current window, the previous one.
    assert_eq!(limiter.line(), "rate 1 counter10s 0000099c 2 3");
    assert_eq!(limiter.log.expiry(), Some(30_000));
}
