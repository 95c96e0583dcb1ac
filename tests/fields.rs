//! What a field takes, and what it refuses: an error that names the field, its bounds and the value,
//! and nothing written.

use redis::Connection;

use crate::support::stored::{info, stored};
use crate::support::*;

/// The type, values it takes and how it shows them, and values it refuses.
struct Type {
    name: &'static str,
    bounds: &'static str,
    takes: &'static [(&'static str, &'static str)],
    refuses: &'static [&'static str],
}

const TYPES: &[Type] = &[
    Type {
        name: "BITS 1",
        bounds: "0 to 1",
        takes: &[("0", "0"), ("1", "1"), ("-0", "0"), ("+1", "1"), ("0001", "1")],
        refuses: &["-1", "2", "18446744073709551616", "0.5", "1e0", "x", "", " 1", "1 ", "0x1", "--1", "+", "nan"],
    },
    Type {
        name: "BITS 10",
        bounds: "0 to 1023",
        takes: &[("0", "0"), ("1023", "1023")],
        refuses: &["-1", "1024", "2000", "inf"],
    },
    Type {
        name: "BITS 62",
        bounds: "0 to 4611686018427387903",
        takes: &[("0", "0"), ("4611686018427387903", "4611686018427387903")],
        refuses: &["-1", "4611686018427387904", "9223372036854775808"],
    },
    Type { name: "DIGITS 1", bounds: "0 to 9", takes: &[("0", "0"), ("9", "9")], refuses: &["-1", "10"] },
    Type {
        name: "DIGITS 18",
        bounds: "0 to 999999999999999999",
        takes: &[("0", "0"), ("999999999999999999", "999999999999999999")],
        refuses: &["-1", "1000000000000000000"],
    },
    Type {
        name: "RANGE -5 5",
        bounds: "-5 to 5",
        takes: &[("-5", "-5"), ("5", "5"), ("-005", "-5")],
        refuses: &["-6", "6", "-5.0"],
    },
    Type {
        name: "RANGE -9223372036854775808 9223372036854775806",
        bounds: "-9223372036854775808 to 9223372036854775806",
        takes: &[("-9223372036854775808", "-9223372036854775808"), ("9223372036854775806", "9223372036854775806")],
        refuses: &["9223372036854775807", "-9223372036854775809"],
    },
    Type {
        name: "INT",
        bounds: "",
        takes: &[
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775807", "9223372036854775807"),
            ("-0", "0"),
        ],
        refuses: &["-9223372036854775809", "9223372036854775808", "1.5", "1e3", "inf", "nan", "abc", ""],
    },
    Type {
        name: "FLOAT",
        bounds: "",
        takes: &[
            ("1.7976931348623157e308", r#""1.7976931348623157e+308""#),
            ("-1.7976931348623157E+308", r#""-1.7976931348623157e+308""#),
            ("4.9406564584124654e-324", r#""5e-324""#),
            ("-0", r#""0""#),
            ("-0.0e5", r#""0""#),
            ("007.50", r#""7.5""#),
            ("1e3", r#""1000""#),
            ("0.1", r#""0.1""#),
            ("1e300", r#""1e+300""#),
        ],
        refuses: &["1e309", "-1.8e308", "inf", "+inf", "-inf", "nan", "NaN", "infinity", "0x10", "x", "", " 1", "1 "],
    },
];

/// Schemas that cannot be, and what the error must name.
const BAD_SCHEMAS: &[(&str, &[&str])] = &[
    ("FIELD a BITS 0", &["BITS", "1", "62", "0"]),
    ("FIELD a BITS 63", &["BITS", "1", "62", "63"]),
    ("FIELD a BITS -1", &["BITS", "-1"]),
    ("FIELD a BITS x", &["BITS", "x"]),
    ("FIELD a BITS", &["BITS"]),
    ("FIELD a DIGITS 0", &["DIGITS", "1", "18", "0"]),
    ("FIELD a DIGITS 19", &["DIGITS", "18", "19"]),
    ("FIELD a DIGITS", &["DIGITS"]),
    ("FIELD a RANGE 5 5", &["RANGE", "5"]),
    ("FIELD a RANGE 6 5", &["RANGE", "6", "5"]),
    ("FIELD a RANGE 0 9223372036854775808", &["RANGE", "9223372036854775808"]),
    ("FIELD a RANGE 1", &["RANGE"]),
    ("FIELD a RANGE 1.5 2", &["RANGE", "1.5"]),
    ("FIELD", &["FIELD"]),
    (r#"FIELD "" INT"#, &["name", "1", "64"]),
    (r#"FIELD "a b" INT"#, &["name", "a b"]),
    (r#"FIELD "a\x00" INT"#, &["name"]),
    (r#"FIELD "\xc3\xa9" INT"#, &["name"]),
    ("FIELD a.b INT", &["name", "a.b"]),
    // The key specs of RANK.CREATE look for these words.
    ("FIELD like INT", &["name", "other than LIKE and DATA", "like"]),
    ("FIELD a FIELD LIKE", &["name", "LIKE"]),
    ("FIELD Data", &["name", "other than LIKE and DATA", "Data"]),
    ("FIELD a DATA", &["DATA"]),
    ("DATA like", &["DATA takes a key name other than LIKE and DATA", "like"]),
    ("DATA Data", &["DATA takes a key name other than LIKE and DATA", "Data"]),
    ("DATA LIKE OWNED", &["DATA takes a key name other than LIKE and DATA", "LIKE"]),
    ("DATA a DATA b", &["DATA"]),
    ("OWNED", &["OWNED"]),
    ("DATA a KEEP 1 OWNED", &["OWNED"]),
    ("FIELD a INT FIELD b INT FIELD a FLOAT", &["'a'"]),
    ("FIELD a DOUBLE", &["DOUBLE"]),
    ("ASC FIELD a", &["FIELD"]),
    ("FIELD a TIES", &["TIES"]),
    ("FIELD a TIES NEVER", &["TIES", "NEVER"]),
    ("FIELD a TIES SHARED MS", &["MS"]),
    ("FIELD a KEEP 0", &["KEEP", "1", "0"]),
    ("FIELD a KEEP -1", &["KEEP", "-1"]),
    ("FIELD a KEEP x", &["KEEP", "x"]),
    ("FIELD a UPDATE WORST", &["UPDATE", "WORST"]),
    ("FIELD a KEEP 1 KEEP 2", &["KEEP"]),
    ("LIKE", &[]),
    ("NONSENSE", &["NONSENSE"]),
];

/// An error as SPEC section 10 wants it, with all of `needles` in it.
#[track_caller]
fn refused(con: &mut Connection, line: &str, needles: &[&str]) {
    let got = reply(con, line);
    let formed = is_error(&got) && got.is_ascii() && !got.contains(['\r', '\n']);
    assert!(
        formed && needles.iter().all(|needle| got.contains(needle)),
        "{line}\n     got: {got}\n   needs: {needles:?}"
    );
}

/// A board of two members on each layout, with the scores that `change` may use on `m`.
const BOARDS: &[&str] = &[
    "FIELD a DIGITS 3 FIELD b DIGITS 3",
    "FIELD a RANGE 0 999 FIELD b RANGE 0 999 FIELD c BITS 40",
    "FIELD a RANGE 0 999 FIELD b RANGE 0 999 FIELD c INT",
    "FIELD a RANGE 0 999 FIELD b RANGE 0 999 TIES FIRST",
    "FIELD a INT FIELD b RANGE 0 999",
];

on_every_server! {
    fn a_field_takes_its_bounds_and_nothing_beyond(server: Server) {
        let mut con = server.connect();
        for Type { name, bounds, takes, refuses } in TYPES {
            // Alone, first of two, and last: the three places where a value is encoded.
            for (schema, before, after) in [
                (format!("FIELD fld {name}"), "", ""),
                (format!("FIELD fld {name} FIELD z BITS 1"), "", "1"),
                (format!("FIELD z BITS 1 FIELD fld ASC {name}"), "1", ""),
            ] {
                expect(&mut con, "FLUSHALL", "+OK");
                expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
                for (value, shown) in *takes {
                    reply(&mut con, &format!("RANK.ADD k {before} {value} {after} m"));
                    let scores = [before, shown, after].into_iter().filter(|score| !score.is_empty());
                    let scores = scores.collect::<Vec<_>>().join(", ");
                    let expected = if schema.contains(" z ") { format!("[{scores}]") } else { scores };
                    assert_eq!(reply(&mut con, "RANK.SCORE k m"), expected, "{schema}: {value}");
                }
                let content = stored(&mut con, "k");
                for value in *refuses {
                    refused(&mut con, &format!("RANK.ADD k {before} \"{value}\" {after} m"), &["'fld'", bounds, value]);
                }
                assert_eq!(stored(&mut con, "k"), content, "{schema}");
            }
        }
    }

    fn errors_name_field_bounds_and_value(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE k FIELD gold BITS 10 FIELD silver RANGE -3 3", "+OK");
        expect(&mut con, "RANK.ADD k 2000 0 x", "OUTOFRANGE field 'gold' takes 0 to 1023, got 2000");
        expect(&mut con, "RANK.ADD k 0 -4 x", "OUTOFRANGE field 'silver' takes -3 to 3, got -4");
        expect(&mut con, "RANK.FORSCORE k 1024 0", "OUTOFRANGE field 'gold' takes 0 to 1023, got 1024");
        expect(&mut con, "RANK.ADD k 1 2", "ERR expected 2 scores before each member, got 2 arguments (options go first)");
        for line in ["RANK.ADD k 1 2 x 3 y", "RANK.MULTISET k 1 x", "RANK.ADD k 1 2 3 x", "RANK.ADD k CH 1 2",
            "RANK.INCR k 1 x", "RANK.INCR k 1 2 3 x", "RANK.FORSCORE k 1"]
        {
            refused(&mut con, line, &["2"]);
        }
        refused(&mut con, "RANK.FORSCORE k 1 2 3", &["3"]);
        expect(&mut con, "ZCARD k", "1");
    }

    fn a_schema_that_cannot_be_creates_nothing(server: Server) {
        let mut con = server.connect();
        for (schema, needles) in BAD_SCHEMAS {
            refused(&mut con, &format!("RANK.CREATE k {schema}"), needles);
        }
        let fields = |count| (1..=count).map(|field| format!(" FIELD f{field} BITS 1")).collect::<String>();
        refused(&mut con, &format!("RANK.CREATE k{}", fields(33)), &["32", "33"]);
        let scores = "1 ".repeat(33);
        refused(&mut con, &format!("RANK.MULTISET k {scores} x"), &["32", "33"]);
        refused(&mut con, &format!("RANK.CREATE k FIELD {} INT", "n".repeat(65)), &["64"]);
        refused(&mut con, "RANK.CREATE k LIKE none", &[]);
        expect(&mut con, "DBSIZE", "0");

        expect(&mut con, &format!("RANK.CREATE k{}", fields(32)), "+OK");
        expect(&mut con, &format!("RANK.CREATE l FIELD {} INT", "n".repeat(64)), "+OK");
        expect(&mut con, "RANK.CREATE n FIELD Az09_- ASC RANGE -1 0 FIELD field INT FIELD int FIELD asc ASC", "+OK");
        expect(&mut con, "RANK.CREATE o FIELD likes INT FIELD data-1 INT FIELD owned INT DATA OWNED OWNED", "+OK");
    }

    fn a_board_keeps_its_schema(server: Server) {
        let mut con = server.connect();
        let schema = "FIELD a DESC DIGITS 3 FIELD b ASC INT TIES FIRST KEEP 5 UPDATE BEST";
        expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
        expect(&mut con, "RANK.ADD k 1 2 x", "1");
        let text = info(&mut con, "k", "schema");
        for other in [
            "FIELD a DIGITS 3", "FIELD a DIGITS 3 FIELD b ASC INT TIES FIRST KEEP 5", "DESC",
            "FIELD a DIGITS 3 FIELD b ASC INT TIES FIRST S KEEP 5 UPDATE BEST",
            "FIELD a DIGITS 3 FIELD b ASC INT TIES FIRST KEEP 6 UPDATE BEST",
            "FIELD a DIGITS 3 FIELD c ASC INT TIES FIRST KEEP 5 UPDATE BEST",
            "FIELD a DIGITS 3 FIELD b INT TIES FIRST KEEP 5 UPDATE BEST",
            "FIELD b ASC INT FIELD a DIGITS 3 TIES FIRST KEEP 5 UPDATE BEST",
            "FIELD a DIGITS 3 FIELD b ASC INT TIES FIRST KEEP 5 UPDATE BEST DATA h",
        ] {
            refused(&mut con, &format!("RANK.CREATE k {other}"), &["the board has a different schema: ", ", asked for "]);
        }
        // The same in other words, and through LIKE.
        expect(&mut con, "RANK.CREATE k update best keep 5 ties first ms field a desc digits 3 field b asc int", "+OK");
        expect(&mut con, "RANK.CREATE l LIKE k", "+OK");
        expect(&mut con, "RANK.CREATE k LIKE l", "+OK");
        assert_eq!(info(&mut con, "k", "schema"), text);
        assert_eq!(info(&mut con, "l", "schema"), text);

        // A sorted set's scores would mean something else under a schema that is not plain.
        expect(&mut con, "ZADD z 1 a 2 b 3 c", "3");
        refused(&mut con, "RANK.CREATE z FIELD a DIGITS 3 FIELD b DIGITS 3", &[]);
        refused(&mut con, "RANK.CREATE z FIELD a INT", &[]);
        expect(&mut con, "ZCARD z", "3");
        expect(&mut con, "RANK.CREATE z FIELD a ASC KEEP 2", "+OK");
        expect(&mut con, "RANK.TOPN z 9", r#"[[1, "a", "1"], [2, "b", "2"]]"#);
        expect(&mut con, "ZADD i inf a", "1");
        refused(&mut con, "RANK.CREATE i ASC", &["inf"]);
        expect(&mut con, "ZRANGE i 0 -1 WITHSCORES", r#"["a", "inf"]"#);
    }

    fn multiset_makes_a_board_of_integers(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.MULTISET k 1 -2 9223372036854775807 x", "1");
        let text = info(&mut con, "k", "schema");
        assert_eq!(text, "\"2 FIELD s1 DESC INT FIELD s2 DESC INT FIELD s3 DESC INT\"");
        expect(&mut con, "RANK.MULTISET k CH 1 -1 0 x 1 -1 5 y", "2");
        expect(&mut con, "RANK.TOPN k 9", r#"[[1, "y", 1, -1, 5], [2, "x", 1, -1, 0]]"#);
        expect(&mut con, "RANK.MULTISET w WITHRANK 3 4 x", r#"[[1, nil, "x", 3, 4, nil, nil]]"#);
        // With one score it is RANK.ADD.
        expect(&mut con, "RANK.MULTISET p 1.5 x", "1");
        expect(&mut con, "ZRANGE p 0 -1 WITHSCORES", r#"["x", "1.5"]"#);
        // What is not one member with integers creates nothing.
        for line in ["1.5 2 x", "1 2 a 3 4 b", "1 9223372036854775808 x", "1 nan x", "KEEP 0 1 2 x"] {
            refused(&mut con, &format!("RANK.MULTISET new {line}"), &[]);
        }
        expect(&mut con, "RANK.MULTISET new XX 1 2 x", "0");
        expect(&mut con, "EXISTS new", "0");
    }

    fn a_batch_is_all_or_nothing(server: Server) {
        for (number, schema) in BOARDS.iter().enumerate() {
            let mut con = server.connect();
            let key = format!("k{number}");
            let third = if schema.contains(" c ") { "7" } else { "" };
            expect(&mut con, &format!("RANK.CREATE {key} {schema}"), "+OK");
            let batch = |scores: &str| format!("RANK.ADD {key} 1 1 {third} new 5 5 {third} m {scores} {third} last");
            refused(&mut con, &batch("1 1000"), &["'b'", "0 to 999", "1000"]);
            expect(&mut con, &format!("RANK.COUNT {key}"), "0");
            expect(&mut con, &format!("ZCARD {key}"), "1");
            expect(&mut con, &batch("2 999"), "3");
            let (content, changes) = (stored(&mut con, &key), server.info("rdb_changes_since_last_save"));
            refused(&mut con, &batch("0 1000").replace(" 5 5 ", " 6 6 "), &["'b'", "0 to 999", "1000"]);
            refused(&mut con, &batch("0 x").replace(" new ", " newer "), &["'b'", "x"]);
            refused(&mut con, &format!("RANK.ADD {key} 9 9 {third} m 9 9 {third}"), &[]);
            assert_eq!(stored(&mut con, &key), content, "{schema}");
            assert_eq!(server.info("rdb_changes_since_last_save"), changes, "{schema}");
        }
    }

    fn an_increment_stays_in_its_field(server: Server) {
        for (number, schema) in BOARDS.iter().enumerate() {
            let mut con = server.connect();
            let key = format!("k{number}");
            let (third, shown) = if schema.contains(" c ") { ("0", ", 0") } else { ("", "") };
            let mut incr = |deltas: &str, member: &str| reply(&mut con, &format!("RANK.INCR {key} {deltas} {third} {member}"));
            expect(&mut server.connect(), &format!("RANK.CREATE {key} {schema}"), "+OK");
            assert_eq!(incr("5 999", "m"), format!("[5, 999{shown}]"), "{schema}");
            // +0 of the only holder of a score loses nothing.
            assert_eq!(incr("0 0", "m"), format!("[5, 999{shown}]"), "{schema}");
            assert_eq!(incr("-5 -999", "m"), format!("[0, 0{shown}]"), "{schema}");
            for (deltas, needles) in [("0 -1", ["'b'", "0 to 999", "-1"]), ("1 1000", ["'b'", "0 to 999", "1000"]),
                ("0 9223372036854775807", ["'b'", "0 to 999", "9223372036854775807"]), ("0 x", ["", "", "x"])]
            {
                for member in ["m", "new"] {
                    let got = incr(deltas, member);
                    assert!(is_error(&got) && needles.iter().all(|text| got.contains(text)), "{schema}: {got}");
                }
            }
            assert_eq!(incr("7 1", "m"), format!("[7, 1{shown}]"), "{schema}");
            expect(&mut con, &format!("RANK.COUNT {key}"), "1");
        }
    }

    fn an_increment_never_overflows(server: Server) {
        let mut con = server.connect();
        for (schema, start, delta, field) in [
            ("FIELD a INT FIELD b INT", "9223372036854775807 0", "1 0", "'a'"),
            ("FIELD a INT FIELD b INT", "0 -9223372036854775808", "0 -1", "'b'"),
            ("FIELD a INT FIELD b INT", "1 1", "1 9223372036854775807", "'b'"),
            ("FIELD a FIELD b", "1e308 0", "1e308 0", "'a'"),
            ("FIELD a FIELD b", "0 -1.7e308", "0 -1.7e308", "'b'"),
            ("FIELD a", "1.7e308", "1e308", "'a'"),
            ("FIELD a INT", "1", "9223372036854775807", "'a'"),
        ] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            expect(&mut con, &format!("RANK.ADD k {start} m"), "1");
            let content = stored(&mut con, "k");
            refused(&mut con, &format!("RANK.INCR k {delta} m"), &[field]);
            assert_eq!(stored(&mut con, "k"), content, "{schema}");
        }
        // Without a schema there are infinities to add to, but no sum that is not a number.
        expect(&mut con, "ZADD z inf m", "1");
        refused(&mut con, "RANK.INCR z -inf m", &[]);
        refused(&mut con, "RANK.ADD z nan m", &["nan"]);
        expect(&mut con, "ZSCORE z m", r#""inf""#);
    }

    fn a_newcomer_is_incremented_from_zero_or_the_nearest_in_range(server: Server) {
        let mut con = server.connect();
        for (schema, delta, expected) in [
            ("FIELD a BITS 4", "15", "15"),
            ("FIELD a RANGE 5 10", "2", "7"),
            ("FIELD a RANGE -10 -5", "-2", "-7"),
            ("FIELD a RANGE -10 10", "-2", "-2"),
            ("FIELD a RANGE 5 10 FIELD b INT FIELD c FLOAT", "5 -3 0.5", r#"[10, -3, "0.5"]"#),
            ("FIELD a", "2.5", r#""2.5""#),
        ] {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            expect(&mut con, &format!("RANK.INCR k {delta} m"), expected);
        }
        expect(&mut con, "RANK.INCR k WITHRANK -1 n", r#"[2, nil, "n", "-1", nil]"#);
        expect(&mut con, "RANK.INCR k WITHRANK 4 n", r#"[1, 2, "n", "3", "-1"]"#);
        expect(&mut con, "RANK.CREATE full FIELD a DIGITS 2 KEEP 1", "+OK");
        expect(&mut con, "RANK.INCR full 5 m", "5");
        expect(&mut con, "RANK.INCR full 5 n", "nil");
        expect(&mut con, "RANK.INCR full 6 n", "6");
        expect(&mut con, "RANK.TOPN full 9", r#"[[1, "n", 6]]"#);
    }

    fn best_compares_whole_tuples(server: Server) {
        let mut con = server.connect();
        for schema in BOARDS.iter().filter(|schema| !schema.contains(" c ")) {
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE k {schema} UPDATE BEST"), "+OK");
            expect(&mut con, "RANK.ADD k 5 5 m", "1");
            for (scores, changed, after) in [
                ("4 999", "0", "[5, 5]"), ("5 4", "0", "[5, 5]"), ("5 5", "0", "[5, 5]"), ("5 6", "1", "[5, 6]"),
                ("6 0", "1", "[6, 0]"), ("5 999", "0", "[6, 0]"),
            ] {
                expect(&mut con, &format!("RANK.ADD k CH {scores} m"), changed);
                expect(&mut con, "RANK.SCORE k m", after);
            }
            expect(&mut con, "RANK.ADD k SET CH 1 1 m", "1");
            refused(&mut con, "RANK.ADD k NX BEST 1 1 m", &["NX", "BEST"]);
        }
    }
}
