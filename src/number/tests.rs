use super::*;

#[test]
fn integers() {
    let cases: [(&str, Option<i64>); 14] = [
        ("0", Some(0)),
        ("007", Some(7)),
        ("+5", Some(5)),
        ("-5", Some(-5)),
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775808", Some(i64::MIN)),
        ("00009223372036854775807", Some(i64::MAX)),
        ("9223372036854775808", None),
        ("-9223372036854775809", None),
        ("", None),
        ("-", None),
        ("1.0", None),
        ("0x10", None),
        (" 1", None),
    ];
    for (text, value) in cases {
        assert_eq!(parse_integer(text.as_bytes()), value, "{text}");
    }
}

#[test]
fn floats() {
    let cases: [(&str, Option<f64>); 22] = [
        ("100", Some(100.0)),
        ("0100", Some(100.0)),
        ("-0", Some(0.0)),
        ("-0.0", Some(0.0)),
        ("1e3", Some(1000.0)),
        ("1E+3", Some(1000.0)),
        (".5", Some(0.5)),
        ("5.", Some(5.0)),
        ("1e-400", Some(0.0)),
        ("4.9e-324", Some(5e-324)),
        ("1.7976931348623157e308", Some(f64::MAX)),
        ("9007199254740993", Some(9007199254740992.0)),
        ("1e400", None),
        ("nan", None),
        ("inf", None),
        ("infinity", None),
        ("0x10", None),
        ("1e", None),
        ("", None),
        (" 1", None),
        ("1 ", None),
        ("--1", None),
    ];
    for (text, value) in cases {
        let got = parse_finite(text.as_bytes());
        assert_eq!(got.map(f64::to_bits), value.map(f64::to_bits), "{text}");
    }
    assert_eq!(parse_extended(b"+Inf"), Some(f64::INFINITY));
    assert_eq!(parse_extended(b"-inf"), Some(f64::NEG_INFINITY));
    assert_eq!(parse_extended(b"infinity"), None);
}

#[test]
fn rounded_down() {
    let cases: [(&str, Option<(i128, bool)>); 18] = [
        ("9007199254740993.0", Some((9_007_199_254_740_993, true))),
        ("9007199254740993.5", Some((9_007_199_254_740_993, false))),
        ("-9007199254740993.5", Some((-9_007_199_254_740_994, false))),
        ("9.007199254740993e15", Some((9_007_199_254_740_993, true))),
        ("9.007199254740993E+15", Some((9_007_199_254_740_993, true))),
        ("90071992547409935e-1", Some((9_007_199_254_740_993, false))),
        ("1e3", Some((1000, true))),
        ("1.25e1", Some((12, false))),
        ("-1.25e1", Some((-13, false))),
        ("-0.5", Some((-1, false))),
        (".5", Some((0, false))),
        ("5.", Some((5, true))),
        ("1e-400", Some((0, false))),
        ("0e99999", Some((0, true))),
        ("1e40", None),
        ("inf", None),
        ("1e", None),
        ("1.2.3", None),
    ];
    for (text, value) in cases {
        assert_eq!(floor_of_decimal(text.as_bytes()), value, "{text}");
    }
}

#[test]
fn printed() {
    let cases = [
        (100.0, "100"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e300, "1e+300"),
        (1e-7, "1e-7"),
        (1.5, "1.5"),
        (123456.789012345, "123456.789012345"),
        (9007199254740993.0, "9007199254740992"),
        (1e17, "100000000000000000"),
        (1e21, "1e+21"),
        (5e-324, "5e-324"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
    ];
    for (value, text) in cases {
        assert_eq!(float_text(value), text);
    }
}

#[test]
fn numbers_in_front() {
    let cases: [(&str, Option<(u128, &str)>); 12] = [
        ("0", Some((0, ""))),
        ("7 8", Some((7, " 8"))),
        ("1234567/", Some((1_234_567, "/"))),
        ("12345678:", Some((12_345_678, ":"))),
        ("1700000000000000 60000000000", Some((1_700_000_000_000_000, " 60000000000"))),
        ("00000000000000000042+1", Some((42, "+1"))),
        ("18446744073709551615", Some((u64::MAX.into(), ""))),
        ("18446744073709551616", Some((1 << 64, ""))),
        ("340282366920938463463374607431768211455x", Some((u128::MAX, "x"))),
        ("340282366920938463463374607431768211456", None),
        ("", None),
        ("+1", None),
    ];
    for (text, number) in cases {
        assert_eq!(leading_number(text.as_bytes()), number.map(|(value, rest)| (value, rest.as_bytes())), "{text}");
    }
    // Whatever stands among eight digits that are read at once.
    for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
        for at in 0..8 {
            let mut text = *b"12345678";
            text[at] = byte;
            let expected = [0, 1, 12, 123, 1234, 12345, 123_456, 1_234_567][at];
            assert_eq!(leading_number(&text), (at > 0).then_some((expected, &text[at..])), "{byte} at {at}");
        }
    }
}
