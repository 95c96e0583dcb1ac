//! Attributes of members: JSON objects in a hash that the schema names, which any client may read and write as well.

use serde_json::Value as Json;

use crate::script::script;
use crate::support::attributes::*;
use crate::support::stored::info;
use crate::support::*;
use crate::workload::{assert_same, snapshot};

const NO_DATA: &str = "SCHEMA the board has no hash for attributes: set one with RANK.ALTER key DATA hash";

on_every_server! {
    fn attributes_are_set_read_and_removed(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE b DATA h => +OK
            RANK.ADD b 5 ann 7 bob => 2
            RANK.SETDATA b ann name Ann country NL => 2
            RANK.SETDATA b ann name Anna age 5 => 1
            RANK.SETDATA b ann NX name Other town Delft => 1
            # An even number of arguments: NX is the name of an attribute.
            RANK.SETDATA b ann NX 5 => 1
            RANK.SETDATA b ann nx NX 6 other 7 => 1
            RANK.GETDATA b ann => ["name", "Anna", "country", "NL", "age", "5", "town", "Delft", "NX", "5", "other", "7"]
            RANK.GETDATA b ann town none name town => ["Delft", nil, "Anna", "Delft"]
            RANK.GETDATA b bob => []
            RANK.GETDATA b bob name => [nil]
            RANK.DELDATA b bob => 0
            RANK.DELDATA b ann age none age => 1
            HGET h ann => "{\"name\":\"Anna\",\"country\":\"NL\",\"town\":\"Delft\",\"NX\":\"5\",\"other\":\"7\"}"
            RANK.DELDATA b ann => 5
            HEXISTS h ann => 0
            RANK.DELDATA b ann => 0
            RANK.DELDATA b ann name => 0
            RANK.SETDATA b ann a "\xff" => ERR value takes UTF-8 text, got \xff
            RANK.SETDATA b ann "\xff" a => ERR attr takes UTF-8 text, got \xff
            RANK.SETDATA b ann odd => ERR wrong number of arguments for 'rank.setdata' command
            RANK.SETDATA b ann NX => ERR wrong number of arguments for 'rank.setdata' command
            RANK.SETDATA b ann odd a b => ERR wrong number of arguments for 'rank.setdata' command
            RANK.PUTDATA b ann => ERR wrong number of arguments for 'rank.putdata' command
            RANK.PUTDATA b ann {} {} => ERR wrong number of arguments for 'rank.putdata' command
            RANK.GETDATA b => ERR wrong number of arguments for 'rank.getdata' command
            RANK.DELDATA b => ERR wrong number of arguments for 'rank.deldata' command
            EXISTS h => 0
        "#);
    }

    fn the_schema_names_the_hash_and_changes_its_mind(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b => +OK\n RANK.ADD b 5 ann => 1\n HSET h ann {\"n\":1} => 1\n HSET other ann {\"n\":2} => 1");
        for (alter, data, row) in [
            ("DATA h", "\"h\"", r#"[1, "ann", "5", ["n", "1"]]"#),
            ("DATA other OWNED", "\"other\"", r#"[1, "ann", "5", ["n", "2"]]"#),
            ("data h owned", "\"h\"", r#"[1, "ann", "5", ["n", "1"]]"#),
            ("DATA h", "\"h\"", r#"[1, "ann", "5", ["n", "1"]]"#),
            ("NODATA", "nil", NO_DATA),
            ("NODATA KEEP 5", "nil", NO_DATA),
            ("UPDATE BEST DATA none KEEP 7", "\"none\"", r#"[1, "ann", "5", nil]"#),
        ] {
            expect(&mut con, &format!("RANK.ALTER b {alter}"), "+OK");
            assert_eq!(info(&mut con, "b", "data"), data, "{alter}");
            expect(&mut con, "RANK.GET b ann WITHDATA", row);
        }
        // The hashes were never touched.
        script(&mut con, r#"
            HGETALL h => ["ann", "{\"n\":1}"]
            HGETALL other => ["ann", "{\"n\":2}"]
            EXISTS none => 0
            RANK.ALTER b DATA => ERR DATA needs a value
            RANK.ALTER b DATA like => ERR DATA takes a key name other than LIKE and DATA, got like
            RANK.ALTER b DATA DATA => ERR DATA takes a key name other than LIKE and DATA, got DATA
            RANK.ALTER b DATA h NODATA => ERR DATA and NODATA are mutually exclusive
            RANK.ALTER b NODATA DATA h => ERR NODATA and DATA are mutually exclusive
            RANK.ALTER b DATA h DATA h => ERR DATA is specified more than once
            RANK.ALTER b OWNED => ERR unknown option 'OWNED'
            RANK.CREATE new DATA Like => ERR DATA takes a key name other than LIKE and DATA, got Like
            EXISTS new => 0
        "#);
    }

    fn any_client_and_any_number_of_boards_share_a_hash(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE day DATA players => +OK
            RANK.CREATE week FIELD a INT DATA players => +OK
            RANK.CREATE all FIELD a DIGITS 3 TIES FIRST DATA players => +OK
            RANK.ADD day 5 ann => 1
            RANK.ADD week 50 ann 40 bob => 2
            RANK.ADD all 500 ann => 1
            HSET players ann {"name":"Ann","age":5,"vip":true} => 1
            RANK.GET day ann WITHDATA => [1, "ann", "5", ["name", "Ann", "age", "5", "vip", "true"]]
            RANK.GET week ann WITHDATA => [1, "ann", 50, ["name", "Ann", "age", "5", "vip", "true"]]
            RANK.GET all ann WITHDATA => [1, "ann", 500, ["name", "Ann", "age", "5", "vip", "true"]]
            RANK.SETDATA week ann name Anna => 0
            HGET players ann => "{\"name\":\"Anna\",\"age\":5,\"vip\":true}"
            RANK.GETDATA all ann name => ["Anna"]
            # Whoever has a record: the hash is not this board's.
            RANK.SETDATA day stranger name S => 1
            RANK.GETDATA week stranger => ["name", "S"]
            RANK.PUTDATA day other {"x":1} => +OK
            RANK.DELDATA all other => 1
            HEXISTS players other => 0
            # Who leaves a board, and a board that goes, leave it alone.
            RANK.REM day ann => 1
            RANK.TRIM week 1 => 1
            RANK.CLEAR all => 1
            DEL day => 1
            HLEN players => 2
            RANK.ADD week 60 ann => 0
            RANK.GET week ann WITHDATA => [1, "ann", 60, ["name", "Anna", "age", "5", "vip", "true"]]
        "#);
        expect(&mut con, "DBSIZE", "3");
    }

    fn types_are_kept(server: Server) {
        let mut con = server.connect();
        let record = r#"{"n":5,"big":9007199254740993,"f":1.5,"m":-0.25,"t":true,"z":null,"l":[1,"a",{}],"o":{"k":[false]},"s":"5","e":""}"#;
        let shown = r#"["n", "5", "big", "9007199254740993", "f", "1.5", "m", "-0.25", "t", "true", "z", "null", "l", "[1,\"a\",{}]", "o", "{\"k\":[false]}", "s", "5", "e", ""]"#;
        script(&mut con, "RANK.CREATE b DATA h => +OK\n RANK.ADD b 5 put 5 add 5 hset => 3");
        expect(&mut con, &format!("RANK.PUTDATA b put {record}"), "+OK");
        expect(&mut con, &format!("RANK.ADD b DATA {record} 6 add"), "0");
        expect(&mut con, &format!("HSET h hset {record}"), "1");
        let expected: Json = serde_json::from_str(record).expect("JSON");
        for member in ["put", "add", "hset"] {
            expect(&mut con, &format!("RANK.GETDATA b {member}"), shown);
            assert_eq!(json_reply(&mut con, &format!("RANK.GET b {member} WITHDATA JSON"))["data"], expected, "{member}");
            assert_eq!(json_reply(&mut con, &format!("HGET h {member}")), expected, "{member}");
            // What is set beside them is text, and changes no other.
            expect(&mut con, &format!("RANK.SETDATA b {member} n 6 new 7"), "1");
            expect(&mut con, &format!("RANK.DELDATA b {member} f"), "1");
            let mut changed = expected.clone();
            changed["n"] = "6".into();
            changed["new"] = "7".into();
            changed.as_object_mut().expect("an object").remove("f");
            assert_eq!(json_reply(&mut con, &format!("HGET h {member}")), changed, "{member}");
        }
        // An object replaces all that was there.
        script(&mut con, r#"
            RANK.PUTDATA b put {"only":1} => +OK
            RANK.GETDATA b put => ["only", "1"]
            RANK.ADD b DATA {"only":2} 6 add => 0
            RANK.GETDATA b add => ["only", "2"]
            RANK.PUTDATA b put {} => +OK
            RANK.GETDATA b put => []
        "#);
        for mut con in [server.connect(), server.connect_resp3()] {
            let is_map = reply(&mut con, "RANK.GETDATA b hset").starts_with('{');
            let row = reply(&mut con, "RANK.GET b hset WITHDATA");
            assert_eq!(row.contains('{') && row.ends_with("}]"), is_map, "{row}");
        }
    }

    fn what_is_no_object_is_refused_before_anything_is_written(server: Server) {
        let mut con = server.connect();
        board(&mut con, "DATA h");
        let before = snapshot(&mut con);
        for text in ["", "5", "null", "[1]", r#"\"a\""#, r#"{\"a\":}"#, r#"{\"a\":1"#, r#"{\"a\":1} x"#, "{a:1}", r"\xff", r#"{\"a\":\"\xff\"}"#] {
            for write in ["PUTDATA b ann J", "ADD b DATA J 9 ann", "ADD b CH DATA J 9 new", "MULTISET b DATA J 9 new"] {
                let line = format!("RANK.{}", write.replace('J', &format!("\"{text}\"")));
                let got = reply(&mut con, &line);
                assert!(is_error(&got) && got.contains(" takes a JSON object, got "), "{line}: {got}");
            }
        }
        assert_same(&before, &snapshot(&mut con), "the server");
        // Both call it by the name that the documentation gives it.
        for write in ["PUTDATA b ann x", "ADD b DATA x 9 ann"] {
            expect(&mut con, &format!("RANK.{write}"), "ERR json takes a JSON object, got x");
        }
    }

    fn add_with_data_is_the_score_and_the_record_in_one_call(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE b DATA h => +OK
            RANK.ADD b DATA {"n":1} 5 ann => 1
            RANK.GET b ann WITHDATA => [1, "ann", "5", ["n", "1"]]
            RANK.ADD b CH WITHRANK DATA {"m":2} 7 ann => [[1, 1, "ann", "7", "5"]]
            HGET h ann => "{\"m\":2}"
            # On the board afterwards, whatever became of the score.
            RANK.ADD b NX DATA {"m":3} 9 ann => 0
            RANK.ADD b BEST DATA {"m":4} 1 ann => 0
            RANK.GET b ann WITHDATA => [1, "ann", "7", ["m", "4"]]
            RANK.ADD b NX DATA {"m":5} 9 bob => 1
            RANK.MULTISET b DATA {"m":6} 9 bob => 0
            HGET h bob => "{\"m\":6}"
            # Not on the board: nothing is written.
            RANK.ADD b XX DATA {"m":7} 9 eve => 0
            RANK.ADD b KEEP 2 DATA {"m":7} 1 eve => 0
            RANK.CREATE full KEEP 1 DATA h => +OK
            RANK.ADD full DATA {"m":8} 5 zoe => 1
            RANK.ADD full DATA {"m":9} 5 eve => 0
            HEXISTS h eve => 0
            RANK.ADD full DATA {"m":10} 6 eve => 1
            HMGET h zoe eve => ["{\"m\":8}", "{\"m\":10}"]
            RANK.CREATE spilled FIELD a INT FIELD b INT KEEP 1 DATA h => +OK
            RANK.ADD spilled DATA {"s":1} 5 5 sue => 1
            RANK.ADD spilled DATA {"s":2} 5 4 tim => 0
            RANK.ADD spilled DATA {"s":3} AT 1700000000000 5 5 sue => 0
            HMGET h sue tim => ["{\"s\":3}", nil]
        "#);
    }

    fn incr_with_data_is_the_sum_and_the_record_in_one_call(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE b DATA h => +OK
            RANK.INCR b DATA {"n":1} 5 ann => "5"
            RANK.INCR b WITHRANK DATA {"m":2} 0 ann => [1, 1, "ann", "5", "5"]
            RANK.GET b ann WITHDATA => [1, "ann", "5", ["m", "2"]]
            RANK.INCR b 2 ann => "7"
            HGET h ann => "{\"m\":2}"
            RANK.INCR b DATA {} inf ann => ERR delta takes a finite number, got inf
            HGET h ann => "{\"m\":2}"
            # Not on the board: nothing is written.
            RANK.CREATE full KEEP 1 DATA h => +OK
            RANK.INCR full DATA {"m":8} 5 zoe => "5"
            RANK.INCR full DATA {"m":9} 5 eve => nil
            HEXISTS h eve => 0
            RANK.CREATE spilled FIELD a INT FIELD b INT TIES FIRST DATA h PERIOD DAY day: => +OK
            RANK.INCR spilled BOARD 2 DATA {"s":1} 1 4000000000000000 sue => [1, 4000000000000000]
            RANK.GET spilled sue WITHDATA PERIOD day => [1, "sue", 1, 4000000000000000, ["s", "1"]]
        "#);
    }

    fn add_with_data_needs_one_member_and_a_hash(server: Server) {
        let mut con = server.connect();
        board(&mut con, "DATA h");
        script(&mut con, "RANK.CREATE no => +OK\n ZADD bare 1 x => 1");
        let before = snapshot(&mut con);
        for (line, error) in [
            (r#"ADD b DATA {"a":1} 1 x 2 y"#, "ERR DATA is only valid with one member"),
            (r#"ADD b DATA {"a":1} 1 x 2 x"#, "ERR DATA is only valid with one member"),
            (r#"ADD b DATA {"a":1} DATA {"a":1} 1 x"#, "ERR DATA is specified more than once"),
            (r#"ADD no DATA {"a":1} 1 x"#, NO_DATA),
            (r#"ADD bare DATA {"a":1} 1 x"#, NO_DATA),
            (r#"ADD none DATA {"a":1} 1 x"#, NO_DATA),
            (r#"MULTISET none DATA {"a":1} 1 x"#, NO_DATA),
            (r#"MULTISET none DATA {"a":1} 1 2 x"#, NO_DATA),
            (r#"ADD b DATA {"a":1} nan x"#, "OUTOFRANGE field 'score' takes a finite number, got nan"),
            (r#"INCR b DATA {"a":1} DATA {"a":1} 1 x"#, "ERR DATA is specified more than once"),
            (r#"INCR b DATA [1] 1 x"#, "ERR json takes a JSON object, got [1]"),
            (r#"INCR b DATA {"a":1} 1 2 x"#, "ERR expected a delta and a member, got 3 arguments (options go first)"),
            (r#"INCR no DATA {"a":1} 1 x"#, NO_DATA),
            (r#"INCR bare DATA {"a":1} 1 x"#, NO_DATA),
            (r#"INCR none DATA {"a":1} 1 x"#, NO_DATA),
        ] {
            expect(&mut con, &format!("RANK.{line}"), error);
        }
        assert_same(&before, &snapshot(&mut con), "the server");
    }

    fn a_board_without_a_hash_has_no_attributes(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE no => +OK\n RANK.ADD no 5 ann 7 bob => 2\n ZADD bare 5 ann 7 bob => 2");
        let before = snapshot(&mut con);
        for key in ["no", "bare", "none"] {
            for command in [
                "SETDATA b ann k v", "SETDATA b ann NX k v", "PUTDATA b ann {}", "GETDATA b ann", "GETDATA b ann k", "GETDATA b stranger",
                "DELDATA b ann", "DELDATA b ann k",
            ] {
                expect(&mut con, &format!("RANK.{}", command.replacen(" b ", &format!(" {key} "), 1)), NO_DATA);
            }
        }
        for key in ["no", "bare"] {
            for read in READS {
                for json in ["", " JSON"] {
                    expect(&mut con, &format!("RANK.{} WITHDATA{json}", read.replacen(" b", &format!(" {key}"), 1)), NO_DATA);
                }
            }
        }
        assert_same(&before, &snapshot(&mut con), "the server");
    }

    fn every_read_can_have_them(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE b DATA h => +OK
            RANK.ADD b 5 ann 7 bob 5 "\xff" => 3
            HSET h ann {"name":"Ann","age":5} "\xff" {} => 2
        "#);
        let ann = r#"[2, "ann", "5", ["name", "Ann", "age", "5"]]"#;
        let (bob, odd) = (r#"[1, "bob", "7", nil]"#, r#"[2, "\xff", "5", []]"#);
        let (in_group, odd_in_group) = (r#"["ann", ["name", "Ann", "age", "5"]]"#, r#"["\xff", []]"#);
        for (read, expected) in [
            ("GET b ann", ann.to_string()),
            ("GET b stranger", "nil".into()),
            ("TOPN b 5", format!("[{bob}, {odd}, {ann}]")),
            ("TOPN b 0", "[]".into()),
            ("RANGE b 3 3", format!("[{ann}]")),
            ("PAGE b 1 5", format!("[1, 1, 3, [{bob}, {odd}, {ann}]]")),
            ("AROUND b ann 1", format!("[{odd}, {ann}]")),
            ("BYSCORE b 5 5", format!("[{odd}, {ann}]")),
            ("AMONG b 1 ann", r#"[[1, 2, "ann", "5", ["name", "Ann", "age", "5"]]]"#.into()),
            ("QUERY b ann", format!("[2, [{in_group}, {odd_in_group}]]")),
            ("QUERY b ann LIMIT 1 1", format!("[2, [{odd_in_group}]]")),
            ("QUERY b bob DENSE", r#"[1, [["bob", nil]]]"#.into()),
            ("QUERY b stranger", "nil".into()),
            ("STATS b", format!(r#"[[1, [["bob", nil]]], [2, [{in_group}, {odd_in_group}]]]"#)),
            ("STATS b LIMIT 0 1", r#"[[1, [["bob", nil]]]]"#.into()),
        ] {
            expect(&mut con, &format!("RANK.{read} WITHDATA"), &expected);
        }
        script(&mut server.connect_resp3(), r#"
            RANK.GET b ann WITHDATA => [2, "ann", 5f, {"name": "Ann", "age": "5"}]
            RANK.GET b bob WITHDATA => [1, "bob", 7f, nil]
            RANK.QUERY b ann WITHDATA => [2, [["ann", {"name": "Ann", "age": "5"}], ["\xff", {}]]]
            RANK.GETDATA b ann => {"name": "Ann", "age": "5"}
            RANK.GETDATA b ann age none => ["5", nil]
            RANK.GETDATA b bob => {}
        "#);
        let (ann, bob) = (r#"{"rank":2,"member":"ann","score":5,"data":{"name":"Ann","age":5}}"#, r#"{"rank":1,"member":"bob","score":7,"data":null}"#);
        let odd = r#"{"rank":2,"member":{"base64":"/w=="},"score":5,"data":{}}"#;
        let group = r#"[{"member":"ann","data":{"name":"Ann","age":5}},{"member":{"base64":"/w=="},"data":{}}]"#;
        for (read, expected) in [
            ("GET b ann", ann.to_string()),
            ("TOPN b 5", format!("[{bob},{odd},{ann}]")),
            ("RANGE b 1 1", format!("[{bob}]")),
            ("PAGE b 3 1", format!(r#"{{"page":3,"pages":3,"members":3,"rows":[{ann}]}}"#)),
            ("AROUND b bob 0", format!("[{bob}]")),
            ("BYSCORE b 5 5 LIMIT 1 1", format!("[{ann}]")),
            ("AMONG b 1 bob", r#"[{"place":1,"rank":1,"member":"bob","score":7,"data":null}]"#.into()),
            ("QUERY b ann", format!(r#"{{"rank":2,"users":{group}}}"#)),
            ("STATS b", format!(r#"[[1,[{{"member":"bob","data":null}}]],[2,{group}]]"#)),
        ] {
            let got = cmd(&mut con, &format!("RANK.{read} JSON WITHDATA")).expect("JSON");
            let redis::Value::BulkString(text) = got else { panic!("{read}: {}", show(&got)) };
            assert_eq!(String::from_utf8_lossy(&text), expected, "{read}");
        }
    }

    fn groups_with_attributes_are_those_without(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a", "FIELD a DIGITS 3", "FIELD a INT", "FIELD a INT TIES FIRST", "FIELD a BITS 20 TIES LAST"] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE b {schema} DATA h => +OK"));
            for (at, member) in ["d", "b", "c", "a"].iter().enumerate() {
                expect(&mut con, &format!("RANK.ADD b AT {} DATA {{\"n\":{at}}} {} {member}", 1_700_000_000_000_u64 + at as u64, at / 3), "1");
            }
            for read in ["QUERY b c", "QUERY b c LIMIT 1 1", "STATS b", "STATS b DENSE", "QUERY b a ORDINAL"] {
                let without = reply(&mut con, &format!("RANK.{read}"));
                let mut with = without.clone();
                for (at, member) in ["d", "b", "c", "a"].iter().enumerate() {
                    with = with.replace(&format!("\"{member}\""), &format!(r#"["{member}", ["n", "{at}"]]"#));
                }
                expect(&mut con, &format!("RANK.{read} WITHDATA"), &with);
            }
        }
    }

    fn what_a_client_wrote_that_is_no_object_is_shown_as_it_is(server: Server) {
        let mut con = server.connect();
        board(&mut con, "DATA h");
        for (value, shown, json) in [
            ("text", r#""text""#, r#""text""#),
            (r#""""#, r#""""#, r#""""#),
            ("5", r#""5""#, r#""5""#),
            ("null", r#""null""#, r#""null""#),
            ("[1,2]", r#""[1,2]""#, r#""[1,2]""#),
            (r#"{"n":1"#, r#""{\"n\":1""#, r#""{\"n\":1""#),
            (r#""say \"hi\"\n""#, r#""say \"hi\"\n""#, r#""say \"hi\"\n""#),
            (r#""\xff\xfe""#, r#""\xff\xfe""#, r#"{"base64":"//4="}"#),
        ] {
            expect(&mut con, &format!("HSET h ann {value}"), "0");
            expect(&mut con, "RANK.GET b ann WITHDATA", &format!(r#"[2, "ann", "5", {shown}]"#));
            expect(&mut con, "RANK.QUERY b ann WITHDATA", &format!(r#"[2, [["ann", {shown}]]]"#));
            let expected: Json = serde_json::from_str(json).expect("JSON");
            assert_eq!(json_reply(&mut con, "RANK.GET b ann WITHDATA JSON")["data"], expected, "{value}");
            assert_eq!(json_reply(&mut con, "RANK.STATS b WITHDATA JSON")[1][1][0]["data"], expected, "{value}");
            for write in ["SETDATA b ann k v", "SETDATA b ann NX k v"] {
                expect(&mut con, &format!("RANK.{write}"), "ERR the attributes of 'ann' are not a JSON object: replace them with RANK.PUTDATA");
            }
            expect(&mut con, "HGET h ann", shown);
            expect(&mut server.connect(), "RANK.GET b bob WITHDATA", r#"[1, "bob", "7", ["n", "2"]]"#);
        }
        script(&mut con, r#"
            RANK.PUTDATA b ann {"n":3} => +OK
            RANK.SETDATA b ann k v => 1
            HSET h ann text => 0
            RANK.ADD b DATA {"n":4} 5 ann => 0
            RANK.GETDATA b ann => ["n", "4"]
            HDEL h ann => 1
        "#);
        // So deep that a reader could fall over it.
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
        expect(&mut con, &format!("HSET h ann {deep}"), "1");
        for read in ["RANK.GET b ann WITHDATA", "RANK.GET b ann WITHDATA JSON", "RANK.GETDATA b ann", "RANK.SETDATA b ann k v"] {
            let got = reply(&mut con, read);
            assert!(!got.starts_with("CLIENT"), "{read}: {got}");
        }
    }

    fn a_hash_may_have_any_name(server: Server) {
        let mut con = server.connect();
        for name in [r#""""#, r#"" ""#, r#""a b""#, r#""a\nb\r""#, r#""\x00""#, r#""%""#, r#""%20%zz""#, r#""\xff\xfe""#, r#""OWNED""#, r#""KEEP""#, r#""{}""#, r#""b:data""#] {
            for schema in ["", "FIELD a INT"] {
                script(&mut con, &format!(r#"
                    FLUSHALL => +OK
                    RANK.CREATE b {schema} DATA {name} OWNED => +OK
                    RANK.ADD b DATA {{"n":1}} 5 ann => 1
                    RANK.SETDATA b ann k v => 1
                    HGET {name} ann => "{{\"n\":1,\"k\":\"v\"}}"
                    RANK.GETDATA b ann => ["n", "1", "k", "v"]
                    RANK.CREATE b {schema} DATA {name} OWNED => +OK
                    DEBUG RELOAD => +OK
                    RANK.GETDATA b ann n => ["1"]
                    RANK.ROTATE b old DATA other => 1
                    HEXISTS other ann => 1
                    RANK.ADD b 5 ann => 1
                    RANK.PUTDATA b ann {{"n":2}} => +OK
                    RANK.REM b ann => 1
                    EXISTS {name} => 0
                    DBSIZE => 3
                "#));
                assert_eq!(info(&mut con, "b", "data"), name);
            }
        }
        // And so may a board.
        for key in [r#""a b\n""#, r#""%""#, r#""""#, r#""\x00\xff""#] {
            script(&mut con, &format!(r#"
                FLUSHALL => +OK
                RANK.CREATE {key} DATA h OWNED => +OK
                RANK.ADD {key} DATA {{"n":1}} 5 ann => 1
                COPY {key} copy => 1
                RANK.CLEAR copy => 1
                HLEN h => 1
                RANK.REM {key} ann => 1
                EXISTS h => 0
            "#));
        }
        // The board itself is no hash, though a RENAME may give it the name of its own.
        expect(&mut con, "RANK.CREATE other DATA self", "+OK");
        expect(&mut con, "RANK.ADD other 1 a", "1");
        expect(&mut con, "RENAME other self", "+OK");
        expect(&mut con, "RANK.GETDATA self a", "WRONGTYPE the board keeps its attributes in 'self', which is not a hash");
        for write in ["RANK.ADD self DATA {} 1 a", "RANK.REM self a", "RANK.CLEAR self", "RANK.ROTATE self x DATA y"] {
            let got = reply(&mut con, write);
            assert!(!got.starts_with("CLIENT") && !got.contains("internal"), "{write}: {got}");
        }
    }

    fn members_may_have_any_name(server: Server) {
        let mut con = server.connect();
        for schema in ["", "FIELD a INT"] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE b {schema} DATA h OWNED => +OK"));
            for name in [r#""""#, r#""\x00""#, r#""a b\n""#, r#""\xff""#, r#""NX""#, r#""%s%n""#] {
                script(&mut con, &format!(r#"
                    RANK.ADD b DATA {{"n":1}} 5 {name} => 1
                    HGET h {name} => "{{\"n\":1}}"
                    RANK.SETDATA b {name} k v => 1
                    RANK.GETDATA b {name} => ["n", "1", "k", "v"]
                    RANK.REM b {name} => 1
                    EXISTS h => 0
                "#));
            }
        }
    }

    /// Each was quadratic, or could be.
    fn many_attributes_are_read_written_and_removed_in_linear_time(server: Server) {
        const ATTRIBUTES: usize = 80_000;
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b DATA h => +OK\n RANK.ADD b 5 ann => 1");
        let names: Vec<String> = (0..ATTRIBUTES).map(|number| format!("attribute{number}")).collect();
        let pairs = names.iter().flat_map(|name| [name.clone(), "v".into()]);
        let call = |command: &str, args: Vec<String>| -> Vec<String> {
            [command, "b", "ann"].map(String::from).into_iter().chain(args).collect()
        };
        for (args, expected) in [
            (call("RANK.SETDATA", pairs.collect()), ATTRIBUTES.to_string()),
            (call("RANK.GETDATA", names.clone()), "[".into()),
            (call("RANK.DELDATA", names.iter().rev().cloned().collect()), ATTRIBUTES.to_string()),
        ] {
            let got = show_result(&cmdv(&mut con, &args));
            assert!(got.starts_with(&expected), "{}: {}", args[0], &got[..got.len().min(100)]);
            let stat = server.info(&format!("cmdstat_{}", args[0].to_lowercase()));
            let usec = stat.split(',').find_map(|part| part.strip_prefix("usec=")?.parse::<u64>().ok()).expect("a time");
            // Time says nothing of a server under valgrind.
            assert!(usec < 2_000_000 || server_wrapper().is_some(), "{} took {usec} us", args[0]);
        }
        expect(&mut con, "RANK.GETDATA b ann", "[]");
    }

    fn the_hash_keeps_its_expiry(server: Server) {
        let mut con = server.connect();
        board(&mut con, "DATA h OWNED");
        expect(&mut con, "PEXPIREAT h 4000000000000", "1");
        for write in ["SETDATA b ann k v", "PUTDATA b ann {}", "ADD b DATA {} 6 ann", "DELDATA b ann", "REM b ann", "SETDATA b bob k v"] {
            let got = reply(&mut con, &format!("RANK.{write}"));
            assert!(!is_error(&got), "{write}: {got}");
            expect(&mut con, "PEXPIRETIME h", "4000000000000");
        }
    }

    fn who_watches_the_hash_sees_attributes_change_and_who_watches_the_board_does_not(server: Server) {
        let (mut of_hash, mut of_board, mut con) = (server.connect(), server.connect(), server.connect());
        board(&mut con, "DATA h OWNED");
        for (change, hash_changes, board_changes) in [
            ("SETDATA b ann k v", true, false), ("SETDATA b ann k v", false, false), ("SETDATA b ann NX k w", false, false),
            ("PUTDATA b ann {\"k\":1,\"l\":2}", true, false), ("DELDATA b ann none", false, false), ("DELDATA b ann k", true, false),
            ("ADD b DATA {\"k\":2} 5 ann", true, false), ("ADD b 6 ann", false, true), ("DELDATA b nobody", false, false),
            ("REM b ann", true, true), ("REM b ann", false, false), ("GETDATA b bob", false, false), ("CLEAR b", true, true),
        ] {
            expect(&mut of_hash, "WATCH h", "+OK");
            expect(&mut of_board, "WATCH b", "+OK");
            let got = reply(&mut con, &format!("RANK.{change}"));
            assert!(!is_error(&got), "{change}: {got}");
            for (watcher, changes) in [(&mut of_hash, hash_changes), (&mut of_board, board_changes)] {
                script(watcher, "MULTI => +OK\n PING => +QUEUED");
                assert_eq!(reply(watcher, "EXEC"), if changes { "nil" } else { "[+PONG]" }, "{change}");
            }
        }
    }

    fn numbers_stay_as_they_were_written(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE b DATA h => +OK
            RANK.PUTDATA b m {"n":12345678901234567890123,"e":1e2} => +OK
            RANK.SETDATA b m q 1 => 1
            HGET h m => "{\"n\":12345678901234567890123,\"e\":1e2,\"q\":\"1\"}"
            HSET h w {} => 1
            RANK.DELDATA b w none => 0
            HGET h w => "{}"
        "#);
    }

    /// JSON libraries give some names a meaning of their own. Here they are just names.
    fn values_stay_as_they_were_given(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE b DATA h", "+OK");
        expect(&mut con, "RANK.ADD b 5 m", "1");
        for value in [
            r#"{"$serde_json::private::Number":"5"}"#,
            r#"{"$serde_json::private::RawValue":"{}"}"#,
            r#"[ 1e2 , -0.0, 1e999,{"a" : [true,null]} ]"#,
            r#"["\u0041\ud83d\ude00"]"#,
        ] {
            let object = format!(r#"{{"x":{value}}}"#);
            assert_eq!(show_result(&cmdv(&mut con, &["RANK.PUTDATA", "b", "m", &object])), "+OK");
            assert_eq!(text(&mut con, "HGET h m"), object);
            expect(&mut con, "RANK.SETDATA b m y 1 z 2", "2");
            expect(&mut con, "RANK.DELDATA b m z", "1");
            let object = format!(r#"{{"x":{value},"y":"1"}}"#);
            assert_eq!(text(&mut con, "HGET h m"), object);
            let row = format!(r#"{{"rank":1,"member":"m","score":5,"data":{object}}}"#);
            assert_eq!(text(&mut con, "RANK.GET b m WITHDATA JSON"), row);
            let lines = texts(cmd(&mut con, "RANK.SCAN b 0 WITHDATA JSON")).remove(1);
            assert!(lines.contains(&format!(r#""data":{object}"#)), "{lines}");
            expect(&mut con, "HDEL h m", "1");
            assert_eq!(show_result(&cmdv(&mut con, &["RANK.LOAD", "b", lines.trim()])), "0");
            assert_eq!(text(&mut con, "HGET h m"), object);
            assert_eq!(texts(cmd(&mut con, "RANK.GETDATA b m x")), [value]);
        }
        // A name of that kind, and one whose value is one.
        expect(&mut con, "RANK.SETDATA b m $serde_json::private::Number 5", "1");
        expect(&mut con, "RANK.GETDATA b m $serde_json::private::Number", r#"["5"]"#);
    }

    fn a_value_that_is_nested_too_deeply_is_refused(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE b DATA h", "+OK");
        // Brackets in a string do not count.
        let inner = r#""[{\"[""#;
        let nested = |depth: usize| format!("{{\"x\":{}{inner}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(show_result(&cmdv(&mut con, &["RANK.PUTDATA", "b", "m", &nested(126)])), "+OK");
        for depth in [127, 1_000_000] {
            let got = show_result(&cmdv(&mut con, &["RANK.PUTDATA", "b", "m", &nested(depth)]));
            assert!(got.starts_with("ERR json takes a JSON object, got "), "{got}");
        }
    }
}
