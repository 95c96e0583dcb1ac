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
