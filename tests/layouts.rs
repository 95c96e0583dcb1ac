//! The three layouts: which schema gets which, which bytes exactly lie in the sorted set, and that no read can tell them
//! apart.

use redis::Connection;

use crate::support::codes::Coder;
use crate::support::stored::{in_order, info, marker, stored};
use crate::support::*;

/// Schemas on both sides of every limit, with their layout.
const CHOICES: &[(&str, &str)] = &[
    ("DESC", "plain"),
    ("ASC KEEP 5 UPDATE BEST", "plain"),
    ("FIELD a", "plain"),
    ("FIELD a ASC FLOAT TIES SHARED", "plain"),
    ("FIELD a FLOAT TIES FIRST", "coded"),
    ("FIELD a FLOAT FIELD b FLOAT", "coded"),
    ("FIELD a INT", "coded"),
    ("FIELD a DIGITS 3 FIELD b FLOAT", "coded"),
    ("FIELD a DIGITS 3 FIELD b INT", "coded"),
    ("FIELD a BITS 1", "packed"),
    ("FIELD a BITS 53", "packed"),
    ("FIELD a BITS 54", "coded"),
    ("FIELD a BITS 40 FIELD b BITS 13", "packed"),
    ("FIELD a BITS 40 FIELD b BITS 14", "coded"),
    ("FIELD a BITS 40 FIELD b BITS 23", "coded"),
    ("FIELD a DIGITS 3 FIELD b DIGITS 3 FIELD c DIGITS 3", "packed"),
    ("FIELD a DIGITS 15", "packed"),
    ("FIELD a DIGITS 16", "coded"),
    ("FIELD a DIGITS 9 FIELD b DIGITS 6", "packed"),
    ("FIELD a DIGITS 9 FIELD b DIGITS 9", "coded"),
    ("FIELD a RANGE -5 5", "packed"),
    ("FIELD a RANGE 7 8", "packed"),
    ("FIELD a RANGE -9007199254740992 -9007199254740991", "packed"),
    ("FIELD a RANGE 9007199254740991 9007199254740992", "packed"),
    ("FIELD a RANGE 9007199254740993 9007199254740996", "coded"),
    ("FIELD a RANGE -9007199254740994 -9007199254740993", "coded"),
    ("FIELD a RANGE -9223372036854775808 9223372036854775807", "coded"),
    ("FIELD a BITS 1 TIES FIRST", "coded"),
    ("FIELD a DIGITS 3 TIES LAST S", "coded"),
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

/// Schemas of `coded` boards, and scores of members; with times after SINCE, before it and long after it.
const CODED: &[(&str, &[&str])] = &[
    ("FIELD a INT", &["0", "-1", "5", "127", "128", "4321", "-9223372036854775808", "9223372036854775807"]),
    ("FIELD a ASC INT", &["0", "5", "9007199254740993", "-9007199254740993"]),
    ("FIELD a INT FIELD b INT FIELD c INT", &["0 0 0", "99999 99999 99999", "1 -2 3", "9000000000000000000 1 1"]),
    ("FIELD a INT FIELD b ASC INT", &["1 -2", "9999999 9999999", "-1 9223372036854775807", "5 4300000000"]),
    (
        "FIELD a FIELD b",
        &["0.5 0.5", "-1.5 -0.5", "-0 -0", "0.1 1e300", "5e-324 -1.7976931348623157e308", "7 0.30000000000000004"],
    ),
    ("FIELD a ASC FIELD b", &["12.345 2.5", "4312929408 4312929407.5", "-12.345 1e-3"]),
    ("FIELD a FIELD b BITS 3", &["2.5 7", "-2.5 0"]),
    ("FIELD a BITS 40 FIELD b BITS 20", &["0 0", "1 2", "1099511627775 1048575"]),
    ("FIELD a ASC BITS 40 FIELD b BITS 40 FIELD c ASC BITS 3", &["0 0 7", "1099511627775 1 0"]),
    ("FIELD a DIGITS 9 FIELD b DIGITS 9", &["123456789 987654321"]),
    ("FIELD a RANGE -4611686018427387904 0", &["-4611686018427387904", "-1", "0"]),
    (
        "FIELD a RANGE -9223372036854775808 9223372036854775806 FIELD b BITS 1",
        &["-9223372036854775808 1", "9223372036854775806 0"],
    ),
    ("FIELD a INT TIES FIRST SINCE 1700000000000", &["0", "1000000", "-1", "4400000000"]),
    ("FIELD a ASC FLOAT TIES LAST SINCE 1700000000000", &["0.001", "999.999", "0.1234567"]),
    ("FIELD a BITS 22 TIES JOINED S SINCE 1700000000000", &["0", "4194303"]),
];

/// When their members came, as far as it matters.
const TIMES: [i64; 5] = [1_700_000_000_000, 1_731_536_000_123, 0, 1_699_999_999_999, (1 << 53) - 1];

/// Two fields that every layout can hold, `p` the higher the better and `c` the lower.
const LAYOUTS: &[(&str, &str)] = &[
    ("packed", "FIELD p DIGITS 3 FIELD c ASC DIGITS 3"),
    ("packed", "FIELD p RANGE -9 999 FIELD c ASC BITS 8"),
    ("coded", "FIELD p BITS 30 FIELD c ASC BITS 30"),
    ("coded", "FIELD p INT FIELD c ASC INT"),
    ("coded", "FIELD p DIGITS 3 FIELD c ASC INT"),
    ("coded", "FIELD p FLOAT FIELD c ASC FLOAT"),
    // Nobody fits.
    ("coded", "FIELD p BITS 54 FIELD c ASC BITS 60"),
    ("coded", "FIELD p RANGE -9000000000000000000 9000000000000000000 FIELD c ASC BITS 62"),
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
            assert!(is_error(&refused) && refused.contains("field"), "{refused}");
        }
    }

    fn no_read_of_one_field_can_tell_one_layout_from_another(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD p", "FIELD p DIGITS 3", "FIELD p BITS 60", "FIELD p INT", "FIELD p RANGE -9 50", "FIELD p RANGE -9000000000000000000 9000000000000000000"] {
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
        for (number, (schema, layout)) in CHOICES.iter().enumerate() {
            let key = format!("k{number}");
            expect(&mut con, &format!("RANK.CREATE {key} {schema}"), "+OK");
            let got = ["layout", "overflow", "members", "data"].map(|field| info(&mut con, &key, field)).join(" ");
            assert_eq!(got, format!("\"{layout}\" 0 0 nil"), "{schema}");
        }
    }

    fn thirty_two_fields_are_a_board(server: Server) {
        let mut con = server.connect();
        for (number, (kind, layout)) in
            [("BITS 1", "packed"), ("RANGE -1 1", "packed"), ("BITS 2", "coded"), ("INT", "coded"), ("FLOAT", "coded")].iter().enumerate()
        {
            let key = format!("k{number}");
            let fields: Vec<String> = (1..=32).map(|field| format!("FIELD f{field} {kind}")).collect();
            let scores: Vec<String> = (0..32).map(|field| (field % 2).to_string()).collect();
            expect(&mut con, &format!("RANK.CREATE {key} {}", fields.join(" ")), "+OK");
            assert_eq!(info(&mut con, &key, "layout"), format!("\"{layout}\""), "{kind}");
            expect(&mut con, &format!("RANK.ADD {key} {} x", scores.join(" ")), "1");
            let shown = |scores: &[String]| match *kind {
                "FLOAT" => format!("[\"{}\"]", scores.join("\", \"")),
                _ => format!("[{}]", scores.join(", ")),
            };
            expect(&mut con, &format!("RANK.SCORE {key} x"), &shown(&scores));
            // As long as an element can be: 32 fields of 67 or 85 bits.
            let long: Vec<String> = (0..32)
                .map(|field| match *kind {
                    "INT" => (i64::MAX - field).to_string(),
                    "FLOAT" => format!("0.{}0000000000001", field + 1),
                    _ => "1".into(),
                })
                .collect();
            expect(&mut con, &format!("RANK.ADD {key} CH {} x", long.join(" ")), "1");
            expect(&mut con, &format!("RANK.SCORE {key} x"), &shown(&long));
            expect(&mut con, &format!("RANK.ADD {key} {} y", long.join(" ")), "1");
            expect(&mut con, &format!("RANK.ADD {key} CH {} y", scores.join(" ")), "1");
            expect(&mut con, &format!("RANK.TOPN {key} 2"), &format!("[[1, \"x\", {}, [2, \"y\", {}]", &shown(&long)[1..], &shown(&scores)[1..]));
            expect(&mut con, &format!("RANK.REM {key} x y"), "2");
            expect(&mut con, &format!("ZCARD {key}"), "1");
        }
    }

    fn info_tells_all_about_a_board(server: Server) {
        let (mut con, mut resp3) = (server.connect(), server.connect_resp3());
        expect(&mut con, "RANK.INFO none", "nil");
        expect(&mut con, "ZADD z 1 a 2 b", "2");
        expect(&mut resp3, "RANK.INFO z",
            r#"{"members": 2, "fields": [{"name": "score", "order": "DESC", "type": "FLOAT"}], "ties": "SHARED", "keep": nil, "update": "SET", "layout": "plain", "overflow": 0, "since": nil, "data": nil, "periods": [], "shard": nil, "schema": nil}"#);

        let schema = "FIELD a ASC INT FIELD b DESC RANGE -5 5 FIELD c DESC FLOAT TIES LAST S KEEP 7 UPDATE BEST DATA players";
        let schema = format!("{schema} SINCE 1700000000000");
        expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
        expect(&mut con, "RANK.ADD k 1 2 3 x 1 2 0.1234567 y", "2");
        expect(&mut resp3, "RANK.INFO k", &format!(
            r#"{{"members": 2, "fields": [{{"name": "a", "order": "ASC", "type": "INT"}}, {{"name": "b", "order": "DESC", "type": "RANGE -5 5"}}, {{"name": "c", "order": "DESC", "type": "FLOAT"}}], "ties": "LAST S", "keep": 7, "update": "BEST", "layout": "coded", "overflow": 1, "since": 1700000000000, "data": "players", "periods": [], "shard": nil, "schema": "2 {schema}"}}"#
        ));
        assert_eq!(stored(&mut con, "k")[0], (marker(&schema), f64::NEG_INFINITY));
    }

    fn the_marker_is_one_line_of_readable_text(server: Server) {
        let mut con = server.connect();
        for (words, text) in [
            ("", "FIELD score DESC FLOAT"),
            ("ASC TIES SHARED UPDATE SET", "FIELD score ASC FLOAT"),
            ("keep 007 update best field a ties joined ms since 05", "FIELD a DESC FLOAT TIES JOINED KEEP 7 UPDATE BEST SINCE 5"),
            // What a board counts its times from is the last pair, wherever it was said.
            ("SINCE 1700000000000 FIELD gold DIGITS 3 FIELD b ASC INT TIES FIRST S KEEP 5 UPDATE BEST DATA players",
             "FIELD gold DESC DIGITS 3 FIELD b ASC INT TIES FIRST S KEEP 5 UPDATE BEST DATA players SINCE 1700000000000"),
            ("TIES FIRST DATA SINCE PERIOD DAY SINCE SINCE 7", "FIELD score DESC FLOAT TIES FIRST DATA SINCE PERIOD DAY SINCE BOARD k SINCE 7"),
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
        let bits = |elements: &[(Vec<u8>, f64)]| -> Vec<(Vec<u8>, u64)> {
            elements.iter().map(|(element, score)| (element.clone(), score.to_bits())).collect()
        };
        for (schema, scores, score) in PACKED {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            expect(&mut con, &format!(r#"RANK.ADD k {scores} "m\xff""#), "1");
            let got = stored(&mut con, "k");
            assert_eq!(bits(&got[1..]), bits(&[(b"m\xff".to_vec(), *score)]), "{schema}: {scores}");
            assert_eq!(info(&mut con, "k", "layout"), "\"packed\"", "{schema}");
        }
        for (schema, all) in CODED {
            let coder = Coder::new(schema, 0);
            for (number, scores) in all.iter().enumerate() {
                for at in &TIMES[..if schema.contains("TIES") { TIMES.len() } else { 1 }] {
                    expect(&mut con, "FLUSHALL", "+OK");
                    expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
                    expect(&mut con, &format!(r#"RANK.ADD k AT {at} {scores} "m\xff""#), "1");
                    let words: Vec<&str> = scores.split(' ').collect();
                    let (element, entries) = coder.stored(&words, *at, b"m\xff");
                    let expected = in_order([vec![element], entries.clone()].concat());
                    assert_eq!(bits(&stored(&mut con, "k")[1..]), bits(&expected), "{schema}: {scores} AT {at} ({number})");
                    let overflow = usize::from(!entries.is_empty());
                    let got = ["layout", "overflow", "members"].map(|field| info(&mut con, "k", field)).join(" ");
                    assert_eq!(got, format!("\"coded\" {overflow} 1"), "{schema}: {scores}");
                }
            }
        }
    }

    /// Whatever the names, in the small encoding and the large: one marker, then the entries of members that need some, then
    /// the members in order; through updates and removals too.
    fn every_element_is_where_it_belongs(server: Server) {
        const SCHEMA: &str = "FIELD a DESC INT FIELD b ASC INT FIELD c DESC FLOAT";
        let mut con = server.connect();
        let long = vec![b'n'; 65_535];
        let names: &[&[u8]] = &[
            b"", b"a", b"ab", b"\0", b"\0rank ", b"\0rank 2 FIELD a DESC INT", b"\x01", b"\x01\0a", b"\x01\x01a", b"\x02", b"\x02\0a",
            b"\x02\x01\0a", b"\xff", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"%s\r\n", &long, &long[1..],
        ];
        let coder = Coder::new(SCHEMA, 0);
        for (encoding, entries, value) in [("listpack", 1000, 100_000), ("skiplist", 0, 64)] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("CONFIG SET zset-max-listpack-entries {entries} zset-max-listpack-value {value}"), "+OK");
            expect(&mut con, &format!("RANK.CREATE k {SCHEMA}"), "+OK");
            let mut board: Vec<(Vec<u8>, [String; 3])> = Vec::new();
            let check = |con: &mut Connection, board: &[(Vec<u8>, [String; 3])]| {
                let mut expected = vec![(marker(SCHEMA), f64::NEG_INFINITY)];
                let mut overflow = 0;
                for (name, scores) in board {
                    let (element, entries) = coder.stored(scores, 0, name);
                    overflow += usize::from(!entries.is_empty());
                    expected.push(element);
                    expected.extend(entries);
                }
                let (got, expected) = (stored(con, "k"), in_order(expected));
                assert!(got == expected, "{encoding}: {} elements, {} expected", got.len(), expected.len());
                assert_eq!(info(con, "k", "overflow"), overflow.to_string());
                for (name, [a, b, c]) in board {
                    let score = show_result(&cmdv(con, &[b"RANK.SCORE", b"k".as_slice(), name]));
                    assert_eq!(score, format!("[{a}, {b}, \"{c}\"]"), "{}", name.escape_ascii());
                }
            };
            let write = |con: &mut Connection, name: &[u8], [a, b, c]: &[String; 3], expected: &str| {
                let args = [b"RANK.ADD".as_slice(), b"k", b"CH", a.as_bytes(), b.as_bytes(), c.as_bytes(), name].map(<[u8]>::to_vec);
                assert_eq!(show_result(&cmdv(con, &args)), expected, "{}", name.escape_ascii());
            };
            // Nothing, little, one entry, and two.
            let values = |number: usize| -> [String; 3] {
                let n = number as i64;
                let (a, b, c) = [
                    (5, -n, "0.5"), (5, n, "0.1234567"), (i64::MAX, i64::MIN + n, "2.5"), (-5, 7, "0"), (i64::MIN, n, "1234567.7654321"),
                ][number % 5];
                [a.to_string(), b.to_string(), c.to_string()]
            };
            for (number, name) in names.iter().enumerate() {
                let scores = values(number);
                write(&mut con, name, &scores, "1");
                write(&mut con, name, &scores, "0");
                board.push((name.to_vec(), scores));
            }
            check(&mut con, &board);
            expect(&mut con, "OBJECT ENCODING k", &format!("\"{encoding}\""));
            // Members begin and cease to fit; nothing stays behind.
            for round in 1..6 {
                for (number, (name, scores)) in board.iter_mut().enumerate() {
                    *scores = values(number * 2 + round * 3);
                    write(&mut con, name, scores, "1");
                }
                check(&mut con, &board);
            }
            // A name that is not there has no entry, however close it is to one that has.
            for name in [b"A".as_slice(), b"abc", b"\0\0", b"\x01\x01", b"\x02\x02", b"\xff\xff", b"\0rank", &long[2..]] {
                assert_eq!(show_result(&cmdv(&mut con, &[b"RANK.GET", b"k".as_slice(), name])), "nil", "{}", name.escape_ascii());
                assert_eq!(show_result(&cmdv(&mut con, &[b"RANK.REM", b"k".as_slice(), name])), "0", "{}", name.escape_ascii());
            }
            while let Some((name, ..)) = board.pop() {
                assert_eq!(show_result(&cmdv(&mut con, &[b"RANK.REM", b"k".as_slice(), &name])), "1", "{}", name.escape_ascii());
                check(&mut con, &board);
            }
        }
    }

    /// Bytes in front of a name can look like a part of it: a tail says itself where it ends.
    fn two_members_never_have_the_same_element(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a INT FIELD b INT", "FIELD a INT TIES FIRST SINCE 0", "FIELD a FLOAT FIELD b FLOAT TIES LAST SINCE 0"] {
            let fields = schema.matches("FIELD").count();
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            let at = if schema.contains("TIES") { 1_700_000_000_000_i64 } else { 0 };
            let coder = Coder::new(schema, 0);
            let scores = |number: i64| vec![(i64::MAX - number * 1024).to_string(); fields];
            // Each name is the whole of an element or entry before it, or a part of one.
            let mut names: Vec<Vec<u8>> = vec![b"a".to_vec(), b"".to_vec(), b"\x02".to_vec()];
            for number in 0..6 {
                let ((element, _), entries) = coder.stored(&scores(number), at, &names[number as usize % 3].clone());
                names.extend((1..element.len()).map(|from| element[from..].to_vec()));
                names.push(element);
                names.extend(entries.into_iter().map(|entry| entry.0));
            }
            names.sort();
            names.dedup();
            let mut elements = std::collections::BTreeSet::new();
            let mut expected = 1;
            for (number, name) in names.iter().enumerate() {
                let number = number as i64 % 7;
                let mut args = vec![b"RANK.ADD".to_vec(), b"k".to_vec(), b"AT".to_vec(), at.to_string().into_bytes()];
                args.extend(scores(number).into_iter().map(String::into_bytes));
                args.push(name.clone());
                assert_eq!(show_result(&cmdv(&mut con, &args)), "1", "{schema}: {}", name.escape_ascii());
                let (element, entries) = coder.stored(&scores(number), at, name);
                expected += 1 + entries.len();
                elements.extend([element].into_iter().chain(entries).map(|it| it.0));
            }
            assert_eq!(elements.len() + 1, expected, "{schema}");
            expect(&mut con, "ZCARD k", &expected.to_string());
            expect(&mut con, "RANK.COUNT k", &names.len().to_string());
            for (number, name) in names.iter().enumerate() {
                let got = show_result(&cmdv(&mut con, &[b"RANK.SCORE", b"k".as_slice(), name]));
                assert!(got.contains(&scores(number as i64 % 7)[0][..9]), "{schema}: {}: {got}", name.escape_ascii());
            }
            assert_eq!(crate::workload::verify(&mut con, b"k", false), [0; 5], "{schema}");
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
        for schema in ["", "DESC", "FIELD a DIGITS 3", "FIELD a BITS 53"] {
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
        for schema in ["FIELD a INT", "FIELD a BITS 60", "FIELD a BITS 9 TIES FIRST", "FIELD a TIES FIRST"] {
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
                assert!(!is_error(&got), "{write}: {got}");
                expect(&mut con, "PEXPIRETIME k", "4102444800000");
            }
        }
    }

    fn a_marker_of_another_version_is_an_error(server: Server) {
        let mut con = server.connect();
        for version in ["1", "3", "0", "22", "x"] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!(r#"ZADD k -inf "\x00rank {version} FIELD a DESC INT" 1 x"#), "2");
            for line in ["RANK.TOPN k 1", "RANK.GET k x", "RANK.COUNT k", "RANK.INFO k", "RANK.ADD k 1 y", "RANK.REM k x", "RANK.CREATE k FIELD a INT"] {
                let got = reply(&mut con, line);
                assert!(got.starts_with("SCHEMA ") && got.contains(&format!("format version {version}, this module reads version 2")), "{line}: {got}");
            }
            expect(&mut con, "ZCARD k", "2");
        }
        // Of this version, and yet no schema: SINCE is there exactly where times are, and is a time.
        for text in ["FIELD a DESC INT SINCE 5", "FIELD a DESC INT TIES FIRST", "FIELD a DESC INT TIES FIRST SINCE", "FIELD a DESC INT TIES FIRST SINCE -1",
            "FIELD a DESC INT TIES FIRST SINCE 9007199254740992", "FIELD a DESC INT TIES FIRST SINCE 5 SINCE 5", "FIELD a DESC INT TIES FIRST SINCE 5 KEEP 3"] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!(r#"ZADD k -inf "\x00rank 2 {text}" 1 x"#), "2");
            for line in ["RANK.TOPN k 1", "RANK.GET k x", "RANK.ADD k 1 y", "RANK.CREATE k FIELD a INT"] {
                let got = reply(&mut con, line);
                assert!(got.starts_with("DAMAGED the board's marker is not a schema: "), "{text}: {line}: {got}");
            }
        }
    }
}
