//! The four layouts: which schema gets which, which bytes exactly lie in the sorted set, and that no read can tell them
//! apart.

use redis::{Connection, Value};

use crate::support::*;

/// 2020-01-01T00:00:00Z, from which boards count their times.
pub const EPOCH_MS: i64 = 1_577_836_800_000;

/// One field of `RANK.INFO`, rendered.
#[track_caller]
pub fn info(con: &mut Connection, key: &str, field: &str) -> String {
    let Ok(Value::Array(flat)) = cmd(con, &format!("RANK.INFO {key}")) else { panic!("no RANK.INFO of {key}") };
    let name = Value::BulkString(field.into());
    let at = flat.chunks(2).find(|pair| pair[0] == name).unwrap_or_else(|| panic!("no {field} in {flat:?}"));
    show(&at[1])
}

/// All elements and scores, lowest first, the marker included.
#[track_caller]
pub fn stored(con: &mut Connection, key: &str) -> Vec<(Vec<u8>, f64)> {
    let Ok(Value::Array(flat)) = cmdv(con, &["ZRANGE", key, "0", "-1", "WITHSCORES"]) else { panic!("no {key}") };
    let bytes = |value: &Value| match value {
        Value::BulkString(bytes) => bytes.clone(),
        other => panic!("not a string: {other:?}"),
    };
    let score = |value| String::from_utf8(bytes(value)).ok()?.parse().ok();
    flat.chunks(2).map(|pair| (bytes(&pair[0]), score(&pair[1]).expect("a number"))).collect()
}

/// The element that holds a board's schema.
pub fn marker(schema: &str) -> Vec<u8> {
    [b"\0rank 2 ", schema.as_bytes()].concat()
}

/// The element of a member of a spilled board.
pub fn member_element(spilled: &[u64], name: &[u8]) -> Vec<u8> {
    let bytes: Vec<u8> = spilled.iter().flat_map(|slot| slot.to_be_bytes()).collect();
    [b"\x02", bytes.as_slice(), name].concat()
}

/// The element by which a spilled board finds a member by its name.
pub fn index_entry(spilled: &[u64], name: &[u8]) -> Vec<u8> {
    let bytes: Vec<u8> = spilled.iter().flat_map(|slot| slot.to_be_bytes()).collect();
    let length = u32::try_from(name.len()).expect("a length").to_be_bytes();
    [b"\x01", length.as_slice(), name, &bytes].concat()
}

/// Everything that a board holds, in the sorted set's own order: by score, then by bytes.
pub fn in_order(mut elements: Vec<(Vec<u8>, f64)>) -> Vec<(Vec<u8>, f64)> {
    elements.sort_by(|(one, low), (other, high)| low.total_cmp(high).then(one.cmp(other)));
    elements
}

/// Schemas on both sides of every limit, with their layout and bits.
const CHOICES: &[(&str, &str, &str)] = &[
    ("DESC", "plain", "nil"),
    ("ASC KEEP 5 UPDATE BEST", "plain", "nil"),
    ("FIELD a", "plain", "nil"),
    ("FIELD a ASC FLOAT TIES SHARED", "plain", "nil"),
    ("FIELD a FLOAT TIES FIRST", "spilled", "nil"),
    ("FIELD a FLOAT FIELD b FLOAT", "spilled", "nil"),
    ("FIELD a INT", "spilled", "nil"),
    ("FIELD a DIGITS 3 FIELD b FLOAT", "spilled", "nil"),
    ("FIELD a DIGITS 3 FIELD b INT", "spilled", "nil"),
    ("FIELD a BITS 1", "packed", "1"),
    ("FIELD a BITS 53", "packed", "53"),
    ("FIELD a BITS 54", "packed63", "54"),
    ("FIELD a BITS 62", "packed63", "62"),
    ("FIELD a BITS 40 FIELD b BITS 22", "packed63", "62"),
    ("FIELD a BITS 40 FIELD b BITS 23", "spilled", "nil"),
    ("FIELD a DIGITS 3 FIELD b DIGITS 3 FIELD c DIGITS 3", "packed", "30"),
    ("FIELD a DIGITS 15", "packed", "50"),
    ("FIELD a DIGITS 16", "packed63", "54"),
    ("FIELD a DIGITS 9 FIELD b DIGITS 9", "packed63", "60"),
    ("FIELD a DIGITS 9 FIELD b DIGITS 10", "spilled", "nil"),
    ("FIELD a RANGE -5 5", "packed", "4"),
    ("FIELD a RANGE 7 8", "packed", "1"),
    ("FIELD a RANGE -9007199254740992 -9007199254740991", "packed", "1"),
    ("FIELD a RANGE 9007199254740993 9007199254740996", "packed63", "2"),
    ("FIELD a RANGE -9007199254740994 -9007199254740993", "packed63", "1"),
    ("FIELD a RANGE 0 9214364837600034815", "packed63", "63"),
    ("FIELD a RANGE 0 9214364837600034816", "spilled", "nil"),
    ("FIELD a RANGE -9223372036854775808 9223372036854775807", "spilled", "nil"),
    ("FIELD a BITS 12 TIES FIRST", "packed", "53"),
    ("FIELD a BITS 13 TIES LAST MS", "packed63", "54"),
    ("FIELD a BITS 21 TIES JOINED", "packed63", "62"),
    ("FIELD a BITS 22 TIES FIRST", "spilled", "nil"),
    ("FIELD a BITS 21 TIES LAST S", "packed", "53"),
    ("FIELD a BITS 30 TIES JOINED S", "packed63", "62"),
    ("FIELD a BITS 31 TIES FIRST S", "spilled", "nil"),
];

/// Schema, scores, the stored score.
const PACKED: &[(&str, &str, f64)] = &[
    ("FIELD gold DIGITS 3 FIELD silver DIGITS 3 FIELD bronze DIGITS 3", "46 37 38", 46_037_038.0),
    ("FIELD gold DIGITS 3 FIELD silver DIGITS 3 FIELD bronze DIGITS 3", "0 0 7", 7.0),
    // What runs against the first field is inverted: hi - v.
    ("FIELD points DIGITS 3 FIELD cards ASC DIGITS 2", "12 3", 1_296.0),
    ("FIELD time ASC DIGITS 3 FIELD points DIGITS 2", "12 3", 1_296.0),
    ("FIELD time ASC DIGITS 3 FIELD cards ASC DIGITS 2", "12 3", 1_203.0),
    ("FIELD p BITS 4 FIELD q ASC BITS 4", "2 15", 32.0),
    // The first field is signed and unshifted, the rest is never negative.
    ("FIELD d RANGE -10 10 FIELD p DIGITS 2", "-3 7", -293.0),
    ("FIELD d RANGE -10 10 FIELD p DIGITS 2", "-3 0", -300.0),
    ("FIELD d RANGE -10 10 FIELD p DIGITS 2", "-1 99", -1.0),
    ("FIELD d RANGE -10 10 FIELD p DIGITS 2", "0 0", 0.0),
    ("FIELD d ASC RANGE -10 10 FIELD p DIGITS 2", "-10 0", -901.0),
    ("FIELD y RANGE 1900 2100", "1984", 1984.0),
    // The radix of a RANGE is its number of values.
    ("FIELD p DIGITS 2 FIELD d RANGE -5 5", "7 -2", 80.0),
    ("FIELD p DIGITS 2 FIELD d ASC RANGE -5 5", "7 -2", 84.0),
    ("FIELD y RANGE -20 -10 FIELD d RANGE 100 102 FIELD z RANGE -1 1", "-12 101 1", -103.0),
];

/// Schema, scores, the bits of the stored score above 2^52.
const PACKED63: &[(&str, &str, u64)] = &[
    ("FIELD a BITS 40 FIELD b BITS 20", "0 0", 0),
    ("FIELD a BITS 40 FIELD b BITS 20", "1 2", 0x10_0002),
    ("FIELD a BITS 40 FIELD b BITS 20", "1099511627775 1048575", (1 << 60) - 1),
    ("FIELD a BITS 40 FIELD b ASC BITS 20", "1 0", 0x1F_FFFF),
    ("FIELD a ASC BITS 40 FIELD b ASC BITS 20", "1 0", 0x10_0000),
    ("FIELD a ASC BITS 40 FIELD b BITS 20", "1 0", 0x1F_FFFF),
    ("FIELD a DIGITS 9 FIELD b DIGITS 9", "123456789 987654321", 123_456_789_987_654_321),
    ("FIELD a RANGE -4611686018427387904 0", "-4611686018427387904", 0),
    ("FIELD a RANGE -4611686018427387904 0", "-1", 0x3FFF_FFFF_FFFF_FFFF),
    ("FIELD a RANGE 0 9214364837600034815", "9214364837600034815", 0x7FDF_FFFF_FFFF_FFFF),
    ("FIELD a BITS 50 FIELD b RANGE -500 499", "3 -1", 3_499),
];

/// Schema, scores, the stored score, the bytes in front of the member.
const SPILLED: &[(&str, &str, f64, &[u64])] = &[
    // A first INT: the nearest double in the score, all of it in front of the member.
    ("FIELD a INT", "5", 5.0, &[0x8000_0000_0000_0005]),
    ("FIELD a ASC INT", "5", 5.0, &[0x8000_0000_0000_0005]),
    ("FIELD a INT", "-1", -1.0, &[0x7FFF_FFFF_FFFF_FFFF]),
    ("FIELD a INT", "9007199254740993", 9007199254740992.0, &[0x8020_0000_0000_0001]),
    ("FIELD a INT", "9223372036854775807", 9223372036854775808.0, &[u64::MAX]),
    ("FIELD a INT", "-9223372036854775808", -9223372036854775808.0, &[0]),
    ("FIELD a INT FIELD b INT", "1 -2", 1.0, &[0x8000_0000_0000_0001, 0x7FFF_FFFF_FFFF_FFFE]),
    ("FIELD a INT FIELD b ASC INT", "1 -2", 1.0, &[0x8000_0000_0000_0001, 0x8000_0000_0000_0001]),
    ("FIELD a ASC INT FIELD b INT", "1 -2", 1.0, &[0x8000_0000_0000_0001, 0x8000_0000_0000_0001]),
    // A first FLOAT is exact in the score.
    ("FIELD a FIELD b", "0.5 0.5", 0.5, &[0xBFE0_0000_0000_0000]),
    ("FIELD a FIELD b", "-1.5 -0.5", -1.5, &[0x401F_FFFF_FFFF_FFFF]),
    ("FIELD a FIELD b ASC", "0.5 0.5", 0.5, &[0x401F_FFFF_FFFF_FFFF]),
    ("FIELD a ASC FIELD b ASC", "0.5 0.5", 0.5, &[0xBFE0_0000_0000_0000]),
    ("FIELD a FIELD b", "-0 -0", 0.0, &[0x8000_0000_0000_0000]),
    ("FIELD a FIELD b BITS 3", "2.5 7", 2.5, &[0x8000_0000_0000_0007]),
    // Bounded leading fields are packed, as many as fit.
    ("FIELD a DIGITS 2 FIELD b DIGITS 2 FIELD c", "12 34 1", 1_234.0, &[0xBFF0_0000_0000_0000]),
    ("FIELD a RANGE -9 9 FIELD b ASC DIGITS 2 FIELD c INT", "-2 34 1", -135.0, &[0x8000_0000_0000_0001]),
    ("FIELD a BITS 40 FIELD b BITS 40", "3 4", 3.0, &[0x8000_0000_0000_0004]),
    ("FIELD a BITS 20 FIELD b BITS 33 FIELD c BITS 20", "1 0 5", 8589934592.0, &[0x8000_0000_0000_0005]),
    ("FIELD a BITS 53 FIELD b INT", "9007199254740991 0", 9007199254740991.0, &[1 << 63]),
    // One that is too wide for the score is there twice.
    ("FIELD a BITS 54 FIELD b INT", "9007199254740993 0", 9007199254740992.0, &[0x8020_0000_0000_0001, 1 << 63]),
];

/// Two fields that every layout can hold, `p` the higher the better and `c` the lower.
const LAYOUTS: &[(&str, &str)] = &[
    ("packed", "FIELD p DIGITS 3 FIELD c ASC DIGITS 3"),
    ("packed", "FIELD p RANGE -9 999 FIELD c ASC BITS 8"),
    ("packed63", "FIELD p BITS 30 FIELD c ASC BITS 30"),
    ("spilled", "FIELD p INT FIELD c ASC INT"),
    ("spilled", "FIELD p BITS 54 FIELD c ASC BITS 60"),
    ("spilled", "FIELD p DIGITS 3 FIELD c ASC INT"),
    ("spilled", "FIELD p FLOAT FIELD c ASC FLOAT"),
];

/// Every read on the same eight members, and what it gives whatever the layout.
const READS: &[(&str, &str)] = &[
    ("GET k a", r#"[3, "a", 50, 2]"#),
    ("GET k e", r#"[6, "e", 10, 3]"#),
    ("GET k e DENSE", r#"[5, "e", 10, 3]"#),
    ("GET k e ORDINAL", r#"[7, "e", 10, 3]"#),
    ("GET k x", "nil"),
    ("GET k a JSON", r#""{\"rank\":3,\"member\":\"a\",\"scores\":{\"p\":50,\"c\":2}}""#),
    ("GET k x JSON", "nil"),
    ("SCORE k g", "[10, 4]"),
    ("SCORE k x", "nil"),
    ("QUERY k e", r#"[6, ["e", "f"]]"#),
    ("QUERY k f LIMIT 1 1 DENSE", r#"[5, ["f"]]"#),
    ("QUERY k e ORDINAL", r#"[6, ["e", "f"]]"#),
    ("QUERY k x", "nil"),
    ("QUERY k c JSON", r#""{\"rank\":1,\"users\":[\"b\",\"c\"]}""#),
    ("STATS k", r#"[[1, ["b", "c"]], [3, ["a"]], [4, ["d"]], [5, ["h"]], [6, ["e", "f"]], [8, ["g"]]]"#),
    ("STATS k LIMIT 3 2 DENSE", r#"[[4, ["h"]], [5, ["e", "f"]]]"#),
    ("STATS k LIMIT 0 2 ORDINAL JSON", r#""[[1,[\"b\",\"c\"]],[3,[\"a\"]]]""#),
    ("TOPN k 3", r#"[[1, "c", 50, 1], [1, "b", 50, 1], [3, "a", 50, 2]]"#),
    ("TOPN k 3 ORDINAL", r#"[[1, "c", 50, 1], [2, "b", 50, 1], [3, "a", 50, 2]]"#),
    ("TOPN k 0", "[]"),
    (
        "TOPN k 100 DENSE",
        r#"[[1, "c", 50, 1], [1, "b", 50, 1], [2, "a", 50, 2], [3, "d", 30, 0], [4, "h", 30, 1], [5, "f", 10, 3], [5, "e", 10, 3], [6, "g", 10, 4]]"#,
    ),
    ("TOPN k 1 JSON", r#""[{\"rank\":1,\"member\":\"c\",\"scores\":{\"p\":50,\"c\":1}}]""#),
    ("RANGE k 2 4", r#"[[1, "b", 50, 1], [3, "a", 50, 2], [4, "d", 30, 0]]"#),
    ("RANGE k -2 -1 DENSE", r#"[[5, "e", 10, 3], [6, "g", 10, 4]]"#),
    ("RANGE k 8 100", r#"[[8, "g", 10, 4]]"#),
    ("RANGE k 9 100", "[]"),
    ("RANGE k 0 1", "ERR start takes a position from 1, or a negative one, got 0"),
    ("PAGE k 2 3", r#"[2, 3, 8, [[4, "d", 30, 0], [5, "h", 30, 1], [6, "f", 10, 3]]]"#),
    ("PAGE k 3 3 ORDINAL", r#"[3, 3, 8, [[7, "e", 10, 3], [8, "g", 10, 4]]]"#),
    ("PAGE k 9 3 ORDINAL", r#"[9, 3, 8, []]"#),
    (
        "PAGE k 1 1 JSON",
        r#""{\"page\":1,\"pages\":8,\"members\":8,\"rows\":[{\"rank\":1,\"member\":\"c\",\"scores\":{\"p\":50,\"c\":1}}]}""#,
    ),
    ("AROUND k a 1", r#"[[1, "b", 50, 1], [3, "a", 50, 2], [4, "d", 30, 0]]"#),
    ("AROUND k g 1", r#"[[6, "e", 10, 3], [8, "g", 10, 4]]"#),
    ("AROUND k g 1 FILL DENSE", r#"[[5, "f", 10, 3], [5, "e", 10, 3], [6, "g", 10, 4]]"#),
    ("AROUND k c 1 FILL", r#"[[1, "c", 50, 1], [1, "b", 50, 1], [3, "a", 50, 2]]"#),
    ("AROUND k x 1", "nil"),
    ("BYSCORE k 10 30", r#"[[4, "d", 30, 0], [5, "h", 30, 1], [6, "f", 10, 3], [6, "e", 10, 3], [8, "g", 10, 4]]"#),
    ("BYSCORE k (10 (50 DENSE", r#"[[3, "d", 30, 0], [4, "h", 30, 1]]"#),
    ("BYSCORE k (30 inf LIMIT 1 1", r#"[[1, "b", 50, 1]]"#),
    ("BYSCORE k -inf 29", r#"[[6, "f", 10, 3], [6, "e", 10, 3], [8, "g", 10, 4]]"#),
    ("BYSCORE k 50 30", "[]"),
    ("BYSCORE k -inf inf LIMIT 6 -1", r#"[[6, "e", 10, 3], [8, "g", 10, 4]]"#),
    ("AMONG k 4 g c x c", r#"[[1, 1, "c", 50, 1], [2, 8, "g", 10, 4]]"#),
    ("AMONG k 3 d b c", r#"[[1, 1, "c", 50, 1], [1, 1, "b", 50, 1], [3, 4, "d", 30, 0]]"#),
    ("AMONG k 3 d b c DENSE", r#"[[1, 1, "c", 50, 1], [1, 1, "b", 50, 1], [2, 3, "d", 30, 0]]"#),
    ("AMONG k 3 d b c ORDINAL", r#"[[1, 1, "c", 50, 1], [2, 2, "b", 50, 1], [3, 4, "d", 30, 0]]"#),
    ("AMONG k 1 x", "[]"),
    ("COUNT k", "8"),
    ("COUNT k 10 30", "5"),
    ("COUNT k (10 (50", "2"),
    ("COUNT k -inf +inf", "8"),
    // Bounds need not be values that the field could have.
    ("COUNT k 10.5 30.5", "2"),
    ("COUNT k -100 5000", "8"),
    ("COUNT k (-99999999999999999999 1e300", "8"),
    ("FORSCORE k 50 2", "3"),
    ("FORSCORE k 50 2 ORDINAL", "4"),
    ("FORSCORE k 50 2 DENSE", "2"),
    ("FORSCORE k 10 3 ORDINAL", "8"),
    ("FORSCORE k 40 9", "4"),
    ("FORSCORE k 40 9 DENSE", "3"),
    ("FORSCORE k 999 0 ORDINAL", "1"),
    ("FORSCORE k 0 99", "9"),
    ("PERCENTILE k a", r#""62.5""#),
    ("PERCENTILE k b", r#""75""#),
    ("PERCENTILE k g", r#""0""#),
    ("PERCENTILE k x", "nil"),
];

/// Reads of boards with one field, on five members with 50 50 30 30 10.
const ONE_FIELD_READS: &[(&str, &str)] = &[
    ("SCORE k c", "30"),
    ("GET k d JSON", r#""{\"rank\":3,\"member\":\"d\",\"score\":30}""#),
    (
        "TOPN k 9 JSON",
        r#""[{\"rank\":1,\"member\":\"b\",\"score\":50},{\"rank\":1,\"member\":\"a\",\"score\":50},{\"rank\":3,\"member\":\"d\",\"score\":30},{\"rank\":3,\"member\":\"c\",\"score\":30},{\"rank\":5,\"member\":\"e\",\"score\":10}]""#,
    ),
    ("STATS k JSON", r#""[[1,[\"a\",\"b\"]],[3,[\"c\",\"d\"]],[5,[\"e\"]]]""#),
    ("QUERY k d DENSE JSON", r#""{\"rank\":2,\"users\":[\"c\",\"d\"]}""#),
    ("FORSCORE k 30 ORDINAL", "5"),
    ("FORSCORE k 31 DENSE", "2"),
    ("SCOREAT k 0", r#""10""#),
    ("SCOREAT k 12.5", r#""20""#),
    ("SCOREAT k 50", r#""30""#),
    ("SCOREAT k 100", r#""50""#),
];

/// A reply with doubles as RESP2 and RESP3 show them, next to one with integers.
fn as_integers(shown: &str, protocol: u8) -> String {
    let mut text = shown.to_string();
    for number in [0, 1, 2, 3, 4, 10, 30, 50] {
        text = match protocol {
            2 => text.replace(&format!("\"{number}\""), &number.to_string()),
            _ => text
                .replace(&format!(" {number}f"), &format!(" {number}"))
                .replace(&format!("[{number}f"), &format!("[{number}")),
        };
    }
    text
}

on_every_server! {
    fn no_read_can_tell_one_layout_from_another(server: Server) {
        for (layout, schema) in LAYOUTS {
            let mut con = server.connect();
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            assert_eq!(info(&mut con, "k", "layout"), format!("\"{layout}\""), "{schema}");
            expect(&mut con, "RANK.ADD k 50 2 a 50 1 b 50 1 c 30 0 d 10 3 e 10 3 f 10 4 g 30 1 h", "8");
            for (mut con, protocol) in [(server.connect(), 2), (server.connect_resp3(), 3)] {
                for (read, expected) in READS {
                    let mut got = reply(&mut con, &format!("RANK.{read}"));
                    // A percentile is a double whatever the fields are.
                    let percentile = read.starts_with("PERCENTILE");
                    if percentile && protocol == 3 && got != "nil" {
                        got = format!("\"{}\"", got.trim_end_matches('f'));
                    } else if schema.contains("FLOAT") && !percentile {
                        got = as_integers(&got, protocol);
                    }
                    assert_eq!(&got, expected, "RESP{protocol} {read} on {schema}");
                }
            }
            let refused = reply(&mut con, "RANK.SCOREAT k 50");
            assert!(refused.starts_with("ERR ") && refused.contains("field"), "{refused}");
        }
    }

    fn no_read_of_one_field_can_tell_one_layout_from_another(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD p", "FIELD p DIGITS 3", "FIELD p BITS 60", "FIELD p INT", "FIELD p RANGE -9 50"] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            expect(&mut con, "RANK.ADD k 50 a 50 b 30 c 30 d 10 e", "5");
            for (read, expected) in ONE_FIELD_READS {
                let got = reply(&mut con, &format!("RANK.{read}"));
                let got = if schema == "FIELD p" && read.starts_with("SCORE ") { as_integers(&got, 2) } else { got };
                assert_eq!(&got, expected, "{read} on {schema}");
            }
        }
    }

    fn the_schema_alone_chooses_the_layout(server: Server) {
        let mut con = server.connect();
        for (number, (schema, layout, bits)) in CHOICES.iter().enumerate() {
            let key = format!("k{number}");
            expect(&mut con, &format!("RANK.CREATE {key} {schema}"), "+OK");
            let got = ["layout", "bits", "members", "data"].map(|field| info(&mut con, &key, field)).join(" ");
            assert_eq!(got, format!("\"{layout}\" {bits} 0 nil"), "{schema}");
        }
    }

    fn thirty_two_fields_are_a_board(server: Server) {
        let mut con = server.connect();
        for (number, (kind, layout)) in
            [("BITS 1", "packed"), ("RANGE -1 1", "packed"), ("BITS 2", "spilled"), ("INT", "spilled")].iter().enumerate()
        {
            let key = format!("k{number}");
            let fields: Vec<String> = (1..=32).map(|field| format!("FIELD f{field} {kind}")).collect();
            let scores: Vec<String> = (0..32).map(|field| (field % 2).to_string()).collect();
            expect(&mut con, &format!("RANK.CREATE {key} {}", fields.join(" ")), "+OK");
            assert_eq!(info(&mut con, &key, "layout"), format!("\"{layout}\""), "{kind}");
            expect(&mut con, &format!("RANK.ADD {key} {} x", scores.join(" ")), "1");
            expect(&mut con, &format!("RANK.SCORE {key} x"), &format!("[{}]", scores.join(", ")));
        }
    }

    fn info_tells_all_about_a_board(server: Server) {
        let (mut con, mut resp3) = (server.connect(), server.connect_resp3());
        expect(&mut con, "RANK.INFO none", "nil");
        expect(&mut con, "ZADD z 1 a 2 b", "2");
        expect(&mut resp3, "RANK.INFO z",
            r#"{"members": 2, "fields": [{"name": "score", "order": "DESC", "type": "FLOAT"}], "ties": "SHARED", "keep": nil, "update": "SET", "layout": "plain", "bits": nil, "data": nil, "periods": [], "shard": nil, "schema": nil}"#);

        let schema = "FIELD a ASC INT FIELD b DESC RANGE -5 5 FIELD c DESC FLOAT TIES LAST S KEEP 7 UPDATE BEST DATA players";
        expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
        expect(&mut con, "RANK.ADD k 1 2 3 x", "1");
        expect(&mut resp3, "RANK.INFO k", &format!(
            r#"{{"members": 1, "fields": [{{"name": "a", "order": "ASC", "type": "INT"}}, {{"name": "b", "order": "DESC", "type": "RANGE -5 5"}}, {{"name": "c", "order": "DESC", "type": "FLOAT"}}], "ties": "LAST S", "keep": 7, "update": "BEST", "layout": "spilled", "bits": nil, "data": "players", "periods": [], "shard": nil, "schema": "2 {schema}"}}"#
        ));
        assert_eq!(stored(&mut con, "k")[0], (marker(schema), f64::NEG_INFINITY));
    }

    fn the_marker_is_one_line_of_readable_text(server: Server) {
        let mut con = server.connect();
        for (words, text) in [
            ("", "FIELD score DESC FLOAT"),
            ("ASC TIES SHARED UPDATE SET", "FIELD score ASC FLOAT"),
            ("keep 007 update best field a ties joined ms", "FIELD a DESC FLOAT TIES JOINED KEEP 7 UPDATE BEST"),
            ("FIELD gold DIGITS 3 FIELD b ASC INT TIES FIRST S KEEP 5 UPDATE BEST DATA players",
             "FIELD gold DESC DIGITS 3 FIELD b ASC INT TIES FIRST S KEEP 5 UPDATE BEST DATA players"),
            ("DATA players OWNED", "FIELD score DESC FLOAT DATA players OWNED k"),
            // Names are one word whatever is in them.
            (r#"DATA "a b\n\x00%\xff~!""#, "FIELD score DESC FLOAT DATA a%20b%0A%00%25%FF~!"),
            (r#"DATA """#, "FIELD score DESC FLOAT DATA %"),
        ] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {words}"), "+OK");
            assert_eq!(stored(&mut con, "k"), [(marker(text), f64::NEG_INFINITY)], "{words}");
            assert_eq!(info(&mut con, "k", "schema"), format!("\"2 {text}\""), "{words}");
        }
        expect(&mut con, r#"RANK.CREATE "a key\n%" DATA h OWNED"#, "+OK");
        expect(&mut con, r#"ZRANGE "a key\n%" 0 0"#, r#"["\x00rank 2 FIELD score DESC FLOAT DATA h OWNED a%20key%0A%25"]"#);
        expect(&mut con, r#"RANK.CREATE "" DATA h OWNED"#, "+OK");
        expect(&mut con, r#"ZRANGE "" 0 0"#, r#"["\x00rank 2 FIELD score DESC FLOAT DATA h OWNED %"]"#);
    }

    fn scores_and_elements_are_as_documented(server: Server) {
        let mut con = server.connect();
        let packed = PACKED.iter().map(|row| (row.0, row.1, row.2, "packed", [].as_slice()));
        let packed63 = PACKED63.iter().map(|row| (row.0, row.1, f64::from_bits(row.2 + (1 << 52)), "packed63", [].as_slice()));
        let spilled = SPILLED.iter().map(|row| (row.0, row.1, row.2, "spilled", row.3));
        for (schema, scores, score, layout, bytes) in packed.chain(packed63).chain(spilled) {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            expect(&mut con, &format!(r#"RANK.ADD k {scores} "m\xff""#), "1");
            let name = b"m\xff".as_slice();
            let text = info(&mut con, "k", "schema");
            let mut expected = vec![(marker(text.trim_matches('"').trim_start_matches("1 ")), f64::NEG_INFINITY)];
            if layout == "spilled" {
                expected.push((index_entry(bytes, name), f64::NEG_INFINITY));
                expected.push((member_element(bytes, name), score));
            } else {
                expected.push((name.to_vec(), score));
            }
            let bits = |elements: &[(Vec<u8>, f64)]| -> Vec<(Vec<u8>, u64)> {
                elements.iter().map(|(element, score)| (element.clone(), score.to_bits())).collect()
            };
            assert_eq!(bits(&stored(&mut con, "k")), bits(&expected), "{schema}: {scores}");
            assert_eq!(info(&mut con, "k", "layout"), format!("\"{layout}\""), "{schema}");
        }
    }

    /// Whatever the names, in the small encoding and the large: one marker, then an entry for each member, then the
    /// members in order; through updates and removals too.
    fn a_spilled_board_has_an_index_entry_for_each_member(server: Server) {
        let mut con = server.connect();
        let long = vec![b'n'; 70_000];
        let names: &[&[u8]] = &[
            b"", b"a", b"ab", b"\0", b"\0rank ", b"\0rank 2 FIELD a DESC INT", b"\x01", b"\x01\0\0\0\x01a", b"\x02",
            b"\x02\x80\0\0\0\0\0\0\x05a", b"\xff", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"%s\r\n", &long,
        ];
        for (encoding, entries, value) in [("listpack", 1000, 100_000), ("skiplist", 0, 64)] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("CONFIG SET zset-max-listpack-entries {entries} zset-max-listpack-value {value}"), "+OK");
            expect(&mut con, "RANK.CREATE k FIELD a INT FIELD b ASC INT", "+OK");
            let mut board: Vec<(Vec<u8>, i64, i64)> = Vec::new();
            let check = |con: &mut Connection, board: &[(Vec<u8>, i64, i64)]| {
                let mut expected = vec![(marker("FIELD a DESC INT FIELD b ASC INT"), f64::NEG_INFINITY)];
                for (name, a, b) in board {
                    // The sign bit flipped; b runs the other way, so its bytes are complemented.
                    let slots = [(*a as u64) ^ (1 << 63), !((*b as u64) ^ (1 << 63))];
                    expected.push((index_entry(&slots, name), f64::NEG_INFINITY));
                    expected.push((member_element(&slots, name), *a as f64));
                }
                let (got, expected) = (stored(con, "k"), in_order(expected));
                assert!(got == expected, "{encoding}: {} elements, {} expected", got.len(), expected.len());
                assert_eq!(got.len(), 2 * board.len() + 1);
                for (name, a, b) in board {
                    let score = show_result(&cmdv(con, &[b"RANK.SCORE", b"k".as_slice(), name]));
                    assert_eq!(score, format!("[{a}, {b}]"), "{}", name.escape_ascii());
                }
            };
            for (number, name) in names.iter().enumerate() {
                let (a, b) = ([5, -5, i64::MAX, i64::MIN][number % 4], number as i64 / 3 - 2);
                for (command, reply) in [("RANK.ADD", "1"), ("RANK.ADD", "0")] {
                    let args = [command.as_bytes(), b"k", a.to_string().as_bytes(), b.to_string().as_bytes(), name].map(<[u8]>::to_vec);
                    assert_eq!(show_result(&cmdv(&mut con, &args)), reply, "{}", name.escape_ascii());
                }
                board.push((name.to_vec(), a, b));
            }
            check(&mut con, &board);
            expect(&mut con, "OBJECT ENCODING k", &format!("\"{encoding}\""));
            // An update moves the element and its entry; nothing stays behind.
            for (name, a, b) in &mut board {
                (*a, *b) = (a.wrapping_add(1), b.wrapping_neg());
                let args = [b"RANK.ADD".as_slice(), b"k", b"CH", a.to_string().as_bytes(), b.to_string().as_bytes(), name].map(<[u8]>::to_vec);
                assert_eq!(show_result(&cmdv(&mut con, &args)), "1", "{}", name.escape_ascii());
            }
            check(&mut con, &board);
            // A name that is not there has no entry, however close it is to one that has.
            for name in [b"A".as_slice(), b"abc", b"\0\0", b"\x01\x01", b"\x02\x02", b"\xff\xff", b"\0rank", &long[1..]] {
                assert_eq!(show_result(&cmdv(&mut con, &[b"RANK.GET", b"k".as_slice(), name])), "nil", "{}", name.escape_ascii());
                assert_eq!(show_result(&cmdv(&mut con, &[b"RANK.REM", b"k".as_slice(), name])), "0", "{}", name.escape_ascii());
            }
            while let Some((name, ..)) = board.pop() {
                assert_eq!(show_result(&cmdv(&mut con, &[b"RANK.REM", b"k".as_slice(), &name])), "1", "{}", name.escape_ascii());
                check(&mut con, &board);
            }
        }
    }

    fn no_layout_needs_another_key(server: Server) {
        let mut con = server.connect();
        for key in ["k", "{k}x", "a}b", "{}x", "rank:data:{k}", r#""""#] {
            for schema in ["FIELD a", "FIELD a DIGITS 3", "FIELD a BITS 60", "FIELD a BITS 9 TIES FIRST", "FIELD a INT", "FIELD a TIES LAST"] {
                expect(&mut con, "FLUSHALL", "+OK");
                expect(&mut con, &format!("RANK.CREATE {key} {schema}"), "+OK");
                expect(&mut con, &format!("RANK.ADD {key} 1 x 2 y"), "2");
                expect(&mut con, &format!("RANK.ADD {key} 3 x"), "0");
                expect(&mut con, &format!("RANK.REM {key} y"), "1");
                expect(&mut con, &format!("RANK.COUNT {key}"), "1");
                expect(&mut con, "DBSIZE", "1");
                expect(&mut con, &format!("RANK.CLEAR {key}"), "1");
                expect(&mut con, &format!("ZCARD {key}"), "1");
            }
        }
    }

    fn a_name_that_begins_like_a_marker_is_refused_where_it_could_be_taken_for_one(server: Server) {
        let mut con = server.connect();
        let refused = r"ERR a member name cannot start with '\x00rank ': it is reserved for the schema";
        for schema in ["", "DESC", "FIELD a DIGITS 3", "FIELD a BITS 60", "FIELD a BITS 9 TIES FIRST"] {
            expect(&mut con, "FLUSHALL", "+OK");
            if !schema.is_empty() {
                expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            }
            expect(&mut con, "RANK.ADD k 5 a", "1");
            let before = stored(&mut con, "k");
            for name in [r#""\x00rank ""#, r#""\x00rank 2 FIELD a DESC INT""#] {
                for write in ["ADD k 5", "ADD k 7 b 5", "ADD k NX 5", "ADD k XX 5", "ADD k KEEP 1 9", "INCR k 5", "MULTISET k 5"] {
                    expect(&mut con, &format!("RANK.{write} {name}"), refused);
                }
                for (read, expected) in [("GET", "nil"), ("SCORE", "nil"), ("QUERY", "nil"), ("PERCENTILE", "nil"), ("REM", "0")] {
                    expect(&mut con, &format!("RANK.{read} k {name}"), expected);
                }
            }
            assert_eq!(stored(&mut con, "k"), before, "{schema}");
            // One byte less is a name like any other.
            expect(&mut con, r#"RANK.ADD k 5 "\x00rank""#, "1");
            expect(&mut con, r#"RANK.REM k "\x00rank""#, "1");
        }
        for schema in ["FIELD a INT", "FIELD a TIES FIRST"] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            expect(&mut con, r#"RANK.ADD k 5 "\x00rank 2 FIELD a DESC INT""#, "1");
            expect(&mut con, r#"RANK.REM k "\x00rank 2 FIELD a DESC INT""#, "1");
            expect(&mut con, "ZCARD k", "1");
        }
    }

    fn an_update_keeps_the_expiry_of_the_key(server: Server) {
        let mut con = server.connect();
        for schema in ["", "FIELD a", "FIELD a DIGITS 3", "FIELD a BITS 60", "FIELD a INT", "FIELD a TIES FIRST"] {
            expect(&mut con, "FLUSHALL", "+OK");
            if !schema.is_empty() {
                expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            }
            expect(&mut con, "RANK.ADD k 1 x", "1");
            expect(&mut con, "PEXPIREAT k 4102444800000", "1");
            for write in ["RANK.ADD k 2 x", "RANK.INCR k 0 x", "RANK.INCR k 1 x", "RANK.ADD k KEEP 1 9 y"] {
                let got = reply(&mut con, write);
                assert!(!got.starts_with("ERR "), "{write}: {got}");
                expect(&mut con, "PEXPIRETIME k", "4102444800000");
            }
        }
    }

    fn a_marker_of_another_version_is_an_error(server: Server) {
        let mut con = server.connect();
        expect(&mut con, r#"ZADD k -inf "\x00rank 2 FIELD a DESC INT" 1 x"#, "2");
        for line in ["RANK.TOPN k 1", "RANK.GET k x", "RANK.COUNT k", "RANK.INFO k", "RANK.ADD k 1 y", "RANK.REM k x", "RANK.CREATE k FIELD a INT"] {
            let got = reply(&mut con, line);
            assert!(got.starts_with("ERR ") && got.contains("version 2"), "{line}: {got}");
        }
        expect(&mut con, "ZCARD k", "2");
    }
}
