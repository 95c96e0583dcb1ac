//! What is said about two schemas that differ.

use super::*;
use crate::board::Creation;
use crate::words::Words;

#[test]
fn what_differs_is_named() {
    let rules = |text: &str| {
        let words: Vec<&[u8]> = text.split(' ').filter(|word| !word.is_empty()).map(str::as_bytes).collect();
        Creation::parse(b"board:2:{0}", Words::new(&words)).expect("a schema").rules
    };
    let cases = [
        ("", "ASC", "FIELD score DESC FLOAT, asked for FIELD score ASC FLOAT", false),
        ("FIELD a FIELD b", "FIELD a", "2 fields, asked for 1 field", false),
        ("FIELD a FIELD b", "FIELD a FIELD b INT", "FIELD b DESC FLOAT, asked for FIELD b DESC INT", false),
        ("TIES FIRST", "TIES FIRST S", "TIES FIRST, asked for TIES FIRST S", false),
        ("KEEP 5", "", "KEEP 5, asked for no KEEP", true),
        ("", "UPDATE BEST", "UPDATE SET, asked for UPDATE BEST", true),
        ("DATA h", "DATA h OWNED", "DATA h, asked for DATA h OWNED", true),
        ("SHARD 1 2", "", "SHARD 1 2, asked for no SHARD", false),
        ("PERIOD DAY d:", "", "PERIOD DAY d: PAST 1, asked for no PERIOD DAY", true),
        ("KEEP 5", "DATA h", "KEEP 5, asked for no KEEP; no DATA, asked for DATA h", true),
        ("", "PERIOD DAY d:", "no PERIOD DAY, asked for PERIOD DAY d: PAST 1", true),
        ("PERIOD DAY d: PAST 7", "PERIOD DAY d:", "PERIOD DAY d: PAST 7, asked for PERIOD DAY d: PAST 1", true),
        ("PERIOD DAY d: OFFSET +01:00", "PERIOD DAY d:", "OFFSET +01:00, asked for OFFSET +00:00", true),
        (
            "PERIOD EVERY 1h FROM 0 e:",
            "PERIOD EVERY 1h FROM 1000 e:",
            "PERIOD EVERY 60m FROM 0 e: PAST 1, asked for PERIOD EVERY 60m FROM 1000 e: PAST 1",
            true,
        ),
        ("KEEP 5", "TIES LAST", "TIES SHARED, asked for TIES LAST; KEEP 5, asked for no KEEP", false),
    ];
    for (own, asked, differences, can_alter) in cases {
        let expected = Error::other_schema(differences, can_alter);
        assert_eq!(other_schema((&rules(own), None), (&rules(asked), None)), expected, "{own} / {asked}");
    }
}
