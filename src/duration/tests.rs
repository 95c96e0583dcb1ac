use super::*;

#[test]
fn units() {
    let cases: [(&str, Option<u64>); 18] = [
        ("0", Some(0)),
        ("0d", Some(0)),
        ("1", Some(1_000)),
        ("007s", Some(7_000)),
        ("+5ms", Some(5)),
        ("5s", Some(5_000)),
        ("5m", Some(300_000)),
        ("5h", Some(18_000_000)),
        ("2d", Some(172_800_000)),
        ("366d", Some(366 * MILLIS_OF_DAY)),
        ("367d", None),
        ("9223372036854775807d", None),
        ("-1", None),
        ("", None),
        ("s", None),
        ("1.5s", None),
        ("5S", None),
        ("5 s", None),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_duration(text.as_bytes(), 0..=366 * MILLIS_OF_DAY), expected, "{text}");
    }
    assert_eq!(parse_duration(b"0", 1..=5_000), None);
}
