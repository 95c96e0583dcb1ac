//! The shape of every reply in RESP2, RESP3 and JSON, and names of any bytes.

use crate::script::script;
use crate::support::*;

on_every_server! {
    fn scores_are_doubles_in_resp3_and_text_in_resp2(server: Server) {
        let (mut resp2, mut resp3) = (server.connect(), server.connect_resp3());
        expect(&mut resp2, "RANK.ADD b 1.5 a -3 b inf c", "3");
        for (command, in_resp2, in_resp3) in [
            ("GET b a", r#"[2, "a", "1.5"]"#, r#"[2, "a", 1.5f]"#),
            ("GET b nobody", "nil", "nil"),
            ("SCORE b b", r#""-3""#, "-3f"),
            ("SCORE b c", r#""inf""#, "inff"),
            ("QUERY b a", r#"[2, ["a"]]"#, r#"[2, ["a"]]"#),
            ("STATS b LIMIT 0 1", r#"[[1, ["c"]]]"#, r#"[[1, ["c"]]]"#),
            ("TOPN b 1", r#"[[1, "c", "inf"]]"#, r#"[[1, "c", inff]]"#),
            ("RANGE b 2 2", r#"[[2, "a", "1.5"]]"#, r#"[[2, "a", 1.5f]]"#),
            ("PAGE b 3 1", r#"[3, 3, 3, [[3, "b", "-3"]]]"#, r#"[3, 3, 3, [[3, "b", -3f]]]"#),
            ("AROUND b b 0", r#"[[3, "b", "-3"]]"#, r#"[[3, "b", -3f]]"#),
            ("BYSCORE b -9 0", r#"[[3, "b", "-3"]]"#, r#"[[3, "b", -3f]]"#),
            ("AMONG b 1 a", r#"[[1, 2, "a", "1.5"]]"#, r#"[[1, 2, "a", 1.5f]]"#),
            ("COUNT b", "3", "3"),
            ("FORSCORE b 0", "3", "3"),
            ("PERCENTILE b c", r#""66.66666666666667""#, "66.66666666666667f"),
            ("SCOREAT b 50", r#""1.5""#, "1.5f"),
            ("INCR b 0 a", r#""1.5""#, "1.5f"),
            ("INCR b WITHRANK 0 a", r#"[2, 2, "a", "1.5", "1.5"]"#, r#"[2, 2, "a", 1.5f, 1.5f]"#),
            ("ADD b WITHRANK 1.5 a", r#"[[2, 2, "a", "1.5", "1.5"]]"#, r#"[[2, 2, "a", 1.5f, 1.5f]]"#),
        ] {
            expect(&mut resp2, &format!("RANK.{command}"), in_resp2);
            expect(&mut resp3, &format!("RANK.{command}"), in_resp3);
        }
    }

    fn json_is_one_text_in_either_protocol(server: Server) {
        let (mut resp2, mut resp3) = (server.connect(), server.connect_resp3());
        expect(&mut resp2, "RANK.ADD b 1.5 a -3 b inf c -inf d 1e300 e 1e21 f", "6");
        for (command, json) in [
            ("GET b a JSON", r#"{"rank":4,"member":"a","score":1.5}"#),
            ("get b c json", r#"{"rank":1,"member":"c","score":"inf"}"#),
            ("GET b d JSON", r#"{"rank":6,"member":"d","score":"-inf"}"#),
            ("GET b e JSON", r#"{"rank":2,"member":"e","score":1e+300}"#),
            ("QUERY b a JSON", r#"{"rank":4,"users":["a"]}"#),
            ("STATS b JSON LIMIT 3 2", r#"[[4,["a"]],[5,["b"]]]"#),
            ("TOPN b 0 JSON", "[]"),
            ("TOPN b 1 JSON", r#"[{"rank":1,"member":"c","score":"inf"}]"#),
            ("RANGE b 5 4 JSON", "[]"),
            ("RANGE b 4 5 JSON", r#"[{"rank":4,"member":"a","score":1.5},{"rank":5,"member":"b","score":-3}]"#),
            ("PAGE b 2 4 JSON", r#"{"page":2,"pages":2,"members":6,"rows":[{"rank":5,"member":"b","score":-3},{"rank":6,"member":"d","score":"-inf"}]}"#),
            ("PAGE none 2 4 JSON", r#"{"page":2,"pages":0,"members":0,"rows":[]}"#),
            ("AROUND b b 0 JSON", r#"[{"rank":5,"member":"b","score":-3}]"#),
            ("BYSCORE b 0 2 JSON", r#"[{"rank":4,"member":"a","score":1.5}]"#),
            ("AMONG b 2 a b JSON", r#"[{"place":1,"rank":4,"member":"a","score":1.5},{"place":2,"rank":5,"member":"b","score":-3}]"#),
            ("AMONG b 1 nobody JSON", "[]"),
        ] {
            for con in [&mut resp2, &mut resp3] {
                let value = cmd(con, &format!("RANK.{command}")).unwrap_or_else(|error| panic!("{command}: {error}"));
                let redis::Value::BulkString(text) = value else { panic!("{command} replied {}", show(&value)) };
                assert_eq!(String::from_utf8_lossy(&text), json, "{command}");
            }
        }
    }

    fn limits_answer_alike_in_either_protocol(server: Server) {
        for mut con in [server.connect(), server.connect_resp3()] {
            expect(&mut con, "FLUSHALL", "+OK");
            script(&mut con, r#"
                RATE.CHECK k 5/1m 9/1h FIXED NOW 1700000000000 => [0, 5, 4, 0, 60000, 1]
                RATE.CHECK k 5/1m 9/1h FIXED EACH NOW 1700000000000 => [[0, 5, 3, 0, 60000, 1], [0, 9, 7, 0, 3600000, 2]]
                RATE.CHECK k 5/1m FIXED COST 9 JSON NOW 1700000000000 => "{\"limited\":true,\"rule\":1,\"limit\":5,\"remaining\":3,\"retry_after_ms\":-1,\"reset_after_ms\":60000}"
                RATE.PEEK k 5/1m FIXED NOW 1700000000000 => [0, 5, 3, 0, 60000, 1]
                RATE.REFUND k 5/1m FIXED NOW 1700000000000 => [0, 5, 4, 0, 60000, 1]
                RATE.ALL 2 a b 5/1m 3/1m GCRA NOW 1700000000000 => [0, 3, 2, 0, 20000, 2]
                RATE.CHECK k 5/day CALENDAR OFFSET -01:00 NOW 1700000000000 => [0, 5, 4, 0, 10000000, 1]
                RATE.ACQUIRE l 2 1m NOW 1700000000000 => [0, 2, 1, 0, 60000, 1700000000000000]
                RATE.ACQUIRE l 1 1m JSON NOW 1700000000000 => "{\"limited\":true,\"limit\":1,\"remaining\":0,\"retry_after_ms\":60000,\"reset_after_ms\":60000,\"token\":0}"
                RATE.HELD l NOW 1700000000000 => [1, 60000]
                RATE.RENEW l 1700000000000000 2m NOW 1700000000000 => 1
                RATE.RENEW l 5 2m NOW 1700000000000 => 0
                RATE.RELEASE l 5 => 0
                RATE.RESET l => 1
                RATE.RESET l => 0
                RATE.CHECK k 5 => ERR limit 5 has no window: write 5/1m, or 5 60
            "#);
        }
    }

    fn withdata_ends_the_row_of_a_member_without_attributes_with_null(server: Server) {
        for mut con in [server.connect(), server.connect_resp3()] {
            script(&mut con, r#"
                DEL b => 0
                RANK.CREATE b DATA h => +OK
                RANK.ADD b 5 a => 1
                RANK.GET b a WITHDATA JSON => "{\"rank\":1,\"member\":\"a\",\"score\":5,\"data\":null}"
                RANK.GET b nobody WITHDATA => nil
            "#);
            for read in ["GET", "TOPN 1", "RANGE 1 1", "PAGE 1 1", "AROUND a 0", "BYSCORE 5 5", "AMONG 1 a"] {
                let read = if read == "GET" { "GET b a".into() } else { read.replacen(' ', " b ", 1) };
                let row = reply(&mut con, &format!("RANK.{read} WITHDATA"));
                assert_eq!(row.matches(", nil]").count(), 1, "{read}: {row}");
            }
            expect(&mut con, "DEL b", "1");
        }
    }

    fn whatever_the_name_json_is_json(server: Server) {
        let mut con = server.connect();
        for (name, json) in [
            (b"plain".as_slice(), r#""plain""#),
            (b"", r#""""#),
            (b"a\x00b", "\"a\\u0000b\""),
            (b"100% %s %n", r#""100% %s %n""#),
            (b"line\nbreak\r\t", r#""line\nbreak\r\t""#),
            (br#"say "hi" \ /"#, r#""say \"hi\" \\ /""#),
            ("é 🦀".as_bytes(), "\"é 🦀\""),
            (b"\x7f\x1f", "\"\u{7f}\\u001f\""),
            (b"\xff\xfe", r#"{"base64":"//4="}"#),
            (b"ok\xc3", r#"{"base64":"b2vD"}"#),
        ] {
            let text = |args: &[&[u8]], con: &mut redis::Connection| match cmdv(con, args) {
                Ok(redis::Value::BulkString(text)) => String::from_utf8(text).expect("JSON is UTF-8"),
                other => panic!("{args:?} replied {other:?}"),
            };
            cmd(&mut con, "DEL b").expect("DEL");
            assert_eq!(show_result(&cmdv(&mut con, &[b"RANK.ADD".as_slice(), b"b", b"1", name])), "1");
            assert_eq!(show_result(&cmdv(&mut con, &[b"ZSCORE".as_slice(), b"b", name])), r#""1""#);
            let row = format!(r#"{{"rank":1,"member":{json},"score":1}}"#);
            assert_eq!(text(&[b"RANK.GET", b"b", name, b"JSON"], &mut con), row);
            assert_eq!(text(&[b"RANK.TOPN", b"b", b"1", b"JSON"], &mut con), format!("[{row}]"));
            let group = format!(r#"{{"rank":1,"users":[{json}]}}"#);
            assert_eq!(text(&[b"RANK.QUERY", b"b", name, b"JSON"], &mut con), group);
            assert_eq!(text(&[b"RANK.STATS", b"b", b"JSON"], &mut con), format!("[[1,[{json}]]]"));
        }
    }

    fn keys_and_members_are_bytes(server: Server) {
        let mut con = server.connect();
        for name in [
            r#""""#, r#""a\x00b""#, r#""%s%n%d""#, r#""line\nbreak""#, r#""\xff\xfe""#, r#""\"quoted\" \\""#, r#""é""#, "NX",
            "{}",
        ] {
            let shown = name.replace('é', r"\xc3\xa9");
            let shown = if shown.starts_with('"') { shown } else { format!("\"{shown}\"") };
            script(&mut con, &format!(r#"
                RANK.CREATE {name} KEEP 5 => +OK
                RANK.ADD {name} WITHRANK 1 {name} => [[1, nil, {shown}, "1", nil]]
                RANK.INCR {name} 1 {name} => "2"
                RANK.TOPN {name} 1 => [[1, {shown}, "2"]]
                RANK.QUERY {name} {name} => [1, [{shown}]]
                RANK.AMONG {name} 1 {name} => [[1, 1, {shown}, "2"]]
                RANK.TRIM {name} 0 RETURN => [{shown}]
                RANK.ROTATE {name} archive => 0
                RANK.CREATE archive2 LIKE {name} => +OK
                DEL {name} archive archive2 => 3
            "#));
        }
    }

    fn integers_too_large_for_json_readers_are_still_exact(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 9007199254740993 a 0.30000000000000004 b 5e-324 c 1.7976931348623157e308 d => 4
            RANK.SCORE b a => "9007199254740992"
            RANK.SCORE b b => "0.30000000000000004"
            RANK.SCORE b c => "5e-324"
            RANK.SCORE b d => "1.7976931348623157e+308"
            RANK.GET b b JSON => "{\"rank\":3,\"member\":\"b\",\"score\":0.30000000000000004}"
            RANK.GET b a JSON => "{\"rank\":2,\"member\":\"a\",\"score\":9007199254740992}"
        "#);
    }

    fn floats_are_read_in_decimal_and_exponent_notation(server: Server) {
        let mut con = server.connect();
        for (text, score) in [
            ("5", "5"), ("+5", "5"), ("-5", "-5"), ("007", "7"), ("5.", "5"), (".5", "0.5"), ("1e3", "1000"),
            ("1E+3", "1000"), ("1e-3", "0.001"),
            ("-.5e1", "-5"), ("1e-400", "0"), ("inf", "inf"), ("+inf", "inf"), ("-inf", "-inf"),
        ] {
            expect(&mut con, &format!("RANK.ADD b CH {text} m"), "1");
            expect(&mut con, "RANK.SCORE b m", &format!("\"{score}\""));
            expect(&mut con, "DEL b", "1");
        }
        for text in [
            "", " 5", "5 ", "x", "nan", "NaN", "-nan", "0x10", "1e400", "-1e400", "infinit", "1e", "e5", "--5", "1_000",
            "1,5", ".", "5\0",
        ] {
            let got = show_result(&cmdv(&mut con, &["RANK.ADD", "b", text, "m"]));
            let shown = if text.is_empty() { "''".into() } else { text.replace('\0', r"\x00") };
            assert_eq!(got, format!("OUTOFRANGE field 'score' takes a number, inf or -inf, got {shown}"), "{text:?}");
        }
        expect(&mut con, "EXISTS b", "0");
    }
}
