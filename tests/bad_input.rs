//! What bad input gets: the error that names the argument, and nothing written.

use crate::script::script;
use crate::support::*;

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

/// A key of every type, and boards of every kind.
const KEYS: &str = r#"
    RANK.ADD b 5 a 7 b => 2
    RANK.CREATE s KEEP 3 => +OK
    RANK.ADD s 5 a 7 b => 2
    RANK.CREATE t FIELD p DIGITS 3 TIES FIRST => +OK
    RANK.CREATE ts FIELD p DIGITS 3 TIES FIRST S => +OK
    RANK.CREATE sp FIELD p INT TIES FIRST => +OK
    RANK.CREATE d DATA h => +OK
    RANK.CREATE o DATA h OWNED => +OK
    SET string x => +OK
    RPUSH list x => 1
    SADD set x => 1
    HSET hash f v => 1
    XADD stream 1-1 f v => "1-1""#;

on_every_server! {
    fn every_wrong_call_says_what_it_takes(server: Server) {
        let mut con = server.connect();
        script(&mut con, KEYS);
        let before = reply(&mut con, "DEBUG DIGEST");
        script(&mut con, r#"
            # Positions, pages, counts.
            RANK.RANGE b 0 1 => ERR start takes a position from 1, or a negative one, got 0
            RANK.RANGE b 1 0 => ERR stop takes a position from 1, or a negative one, got 0
            RANK.RANGE b x 1 => ERR start takes a position from 1, or a negative one, got x
            RANK.RANGE b 1 1.5 => ERR stop takes a position from 1, or a negative one, got 1.5
            RANK.RANGE b 1 99999999999999999999 => ERR stop takes a position from 1, or a negative one, got 99999999999999999999
            RANK.PAGE b 1 0 => ERR size takes 1 or more, got 0
            RANK.PAGE b 1 -1 => ERR size takes 1 or more, got -1
            RANK.PAGE b x 1 => ERR page takes 1 or more, got x
            RANK.TOPN b -1 => ERR n takes 0 or more, got -1
            RANK.TOPN b x => ERR n takes 0 or more, got x
            RANK.TRIM b -1 => ERR n takes 0 or more, got -1
            RANK.AROUND b a -1 => ERR distance takes 0 or more, got -1
            RANK.AROUND none a x => ERR distance takes 0 or more, got x
            RANK.AMONG b 0 a => ERR nummembers takes 1 or more, got 0
            RANK.AMONG b x a => ERR nummembers takes 1 or more, got x
            RANK.AMONG b 3 a b => ERR nummembers is 3 but 2 members follow
            RANK.AMONG b 9223372036854775807 a b => ERR nummembers is 9223372036854775807 but 2 members follow
            RANK.AMONG b 1 a b => ERR unknown option 'b'
            RANK.SCOREAT b 101 => ERR percentile takes 0 to 100, got 101
            RANK.SCOREAT b -0.1 => ERR percentile takes 0 to 100, got -0.1
            RANK.SCOREAT b nan => ERR percentile takes 0 to 100, got nan
            RANK.QUERY b a LIMIT -1 2 => ERR LIMIT offset takes 0 or more, got -1
            RANK.STATS b LIMIT 0 x => ERR LIMIT count takes an integer, got x

            # Scores.
            RANK.ADD b x a => OUTOFRANGE field 'score' takes a number, inf or -inf, got x
            RANK.ADD b nan a => OUTOFRANGE field 'score' takes a number, inf or -inf, got nan
            RANK.ADD b 0x10 a => OUTOFRANGE field 'score' takes a number, inf or -inf, got 0x10
            RANK.ADD b 1e400 a => OUTOFRANGE field 'score' takes a number, inf or -inf, got 1e400
            RANK.ADD b 9 x 9 y bad z => OUTOFRANGE field 'score' takes a number, inf or -inf, got bad
            RANK.ADD s inf a => OUTOFRANGE field 'score' takes a finite number, got inf
            RANK.ADD s 1 x -inf a => OUTOFRANGE field 'score' takes a finite number, got -inf
            RANK.INCR b x a => ERR delta takes a finite number, got x
            RANK.INCR b nan new => ERR delta takes a finite number, got nan
            RANK.FORSCORE b x => OUTOFRANGE field 'score' takes a number, inf or -inf, got x
            RANK.FORSCORE s inf => OUTOFRANGE field 'score' takes a finite number, got inf
            RANK.BYSCORE b x 1 => ERR min takes a number, inf or -inf, or ( and a number to exclude it, got x
            RANK.BYSCORE b 1 (x => ERR max takes a number, inf or -inf, or ( and a number to exclude it, got (x
            RANK.COUNT b 1 nan => ERR max takes a number, inf or -inf, or ( and a number to exclude it, got nan

            # Pairs that do not match.
            RANK.ADD b 1 a 2 => ERR expected score-member pairs, got 3 arguments (options go first)
            RANK.ADD s CH 1 a 2 => ERR expected score-member pairs, got 3 arguments (options go first)
            RANK.ADD b NX CH => ERR expected score-member pairs, got 0 arguments (options go first)
            RANK.INCR b 1 2 a => ERR expected a delta and a member, got 3 arguments (options go first)

            # Options.
            RANK.GET b a FOO => ERR unknown option 'FOO'
            RANK.GET b a JSON json => ERR JSON is specified more than once
            RANK.GET b a DENSE ORDINAL => ERR DENSE and ORDINAL are mutually exclusive
            RANK.GET b a DENSE DENSE => ERR DENSE is specified more than once
            RANK.GET b a ASC DESC => ERR ASC and DESC are mutually exclusive
            RANK.GET s a ASC => SCHEMA ASC and DESC are only valid on a board without a schema
            RANK.STATS b WITHDATA WITHDATA => ERR WITHDATA is specified more than once
            RANK.QUERY b a WITHDATA => SCHEMA the board has no hash for attributes: set one with RANK.ALTER key DATA hash
            RANK.TOPN b 1 LIMIT 0 1 => ERR unknown option 'LIMIT'
            RANK.GET b a FILL => ERR unknown option 'FILL'
            RANK.FORSCORE b 1 JSON => ERR unknown option 'JSON'
            RANK.TRIM b 1 FOO => ERR unknown option 'FOO'
            RANK.ADD b NX XX 1 a => ERR NX and XX are mutually exclusive
            RANK.ADD b NX BEST 1 a => ERR NX and BEST are mutually exclusive
            RANK.ADD b SET BEST 1 a => ERR SET and BEST are mutually exclusive
            RANK.ADD b CH CH 1 a => ERR CH is specified more than once
            RANK.ADD b KEEP 0 1 a => ERR KEEP takes 1 or more, got 0
            RANK.ADD b KEEP x 1 a => ERR KEEP takes 1 or more, got x
            RANK.ADD s KEEP 3 1 a => SCHEMA the board already has KEEP 3: leave KEEP out, or change it with RANK.ALTER

            # Times.
            RANK.ADD t AT -1 1 a => ERR AT takes 0 to 9007199254740991, got -1
            RANK.INCR t AT 9007199254740992 1 a => ERR AT takes 0 to 9007199254740991, got 9007199254740992
            RANK.ADD ts AT x 1 a => ERR AT takes 0 to 9007199254740991, got x
            RANK.ADD sp AT 9007199254740992 1 a => ERR AT takes 0 to 9007199254740991, got 9007199254740992
            RANK.CREATE new SINCE 0 => ERR SINCE is only valid with TIES FIRST, LAST or JOINED
            RANK.CREATE new FIELD a INT TIES SHARED SINCE 0 => ERR SINCE is only valid with TIES FIRST, LAST or JOINED
            RANK.CREATE new TIES FIRST SINCE => ERR SINCE needs a value
            RANK.CREATE new TIES FIRST SINCE -1 => ERR SINCE takes 0 to 9007199254740991, got -1
            RANK.CREATE new TIES FIRST SINCE 9007199254740992 => ERR SINCE takes 0 to 9007199254740991, got 9007199254740992
            RANK.CREATE new TIES FIRST SINCE now => ERR SINCE takes 0 to 9007199254740991, got now
            RANK.CREATE new TIES FIRST SINCE 1 SINCE 1 => ERR SINCE is specified more than once
            RANK.ALTER t SINCE 5 => ERR unknown option 'SINCE'

            # Attributes.
            RANK.SETDATA d a odd => ERR wrong number of arguments for 'rank.setdata' command
            RANK.SETDATA d a k "\xff" => ERR value takes UTF-8 text, got \xff
            RANK.SETDATA o nobody k v => ERR 'nobody' is not on the board: add the member first
            RANK.SETDATA b a k v => SCHEMA the board has no hash for attributes: set one with RANK.ALTER key DATA hash
            RANK.PUTDATA d a [1] => ERR json takes a JSON object, got [1]
            RANK.PUTDATA o nobody {} => ERR 'nobody' is not on the board: add the member first
            RANK.ADD d DATA x 1 a => ERR json takes a JSON object, got x
            RANK.ADD d DATA {} 1 a 2 b => ERR DATA is only valid with one member
            RANK.ADD s DATA {} 1 a => SCHEMA the board has no hash for attributes: set one with RANK.ALTER key DATA hash
            RANK.ROTATE o new => SCHEMA the board owns its hash: name one for the archive with DATA hash
            RANK.ROTATE b new FOO => ERR unknown option 'FOO'
            RANK.ROTATE d new DATA h => SCHEMA DATA is only valid for a board with DATA hash OWNED

            # Schemas.
            RANK.CREATE new KEEP 0 => ERR KEEP takes 1 or more, got 0
            RANK.CREATE new FIELD a!b => ERR FIELD takes a name of 1 to 64 characters A-Z a-z 0-9 _ - other than LIKE and DATA, got a!b
            RANK.CREATE new FIELD like => ERR FIELD takes a name of 1 to 64 characters A-Z a-z 0-9 _ - other than LIKE and DATA, got like
            RANK.CREATE new DATA data => ERR DATA takes a key name other than LIKE and DATA, got data
            RANK.CREATE new DATA => ERR DATA needs a value
            RANK.CREATE s KEEP 4 => SCHEMA the board has a different schema: KEEP 3, asked for KEEP 4: use RANK.ALTER to change it
            RANK.CREATE new FIELD a FIELD a => ERR field 'a' is specified more than once
            RANK.CREATE new UPDATE X => ERR UPDATE takes SET or BEST, got X
            RANK.CREATE new TIES X => ERR TIES takes SHARED, FIRST, LAST or JOINED, got X
            RANK.CREATE new FOO => ERR unknown option 'FOO'
            RANK.CREATE new LIKE b KEEP 3 => ERR unknown option 'KEEP'
            RANK.CREATE new LIKE => ERR LIKE needs a value
            RANK.CREATE new KEEP => ERR KEEP needs a value
            RANK.ALTER s FOO => ERR unknown option 'FOO'
            RANK.ALTER s KEEP 1 NOKEEP => ERR KEEP and NOKEEP are mutually exclusive
            RANK.ALTER s UPDATE => ERR UPDATE needs a value
        "#);
        expect(&mut con, "DEBUG DIGEST", &before);
    }

    fn every_command_refuses_wrong_numbers_of_arguments(server: Server) {
        let mut con = server.connect();
        script(&mut con, KEYS);
        let before = reply(&mut con, "DEBUG DIGEST");
        for line in [
            "CREATE", "ALTER", "INFO", "INFO b x", "CLEAR", "CLEAR b x", "ROTATE b", "ADD", "ADD b",
            "ADD b 1", "MULTISET b 1", "INCR b 1",
            "INCR b", "REM b", "TRIM b", "GET b", "SCORE b", "SCORE b a x", "QUERY b", "STATS", "TOPN b", "RANGE b 1",
            "PAGE b 1", "AROUND b a", "AFTER b 1", "BEFORE b 1", "POP", "SCAN b", "LOAD b", "LOAD b NX",
            "BYSCORE b 1", "AMONG b 1", "COUNT", "COUNT b 1", "COUNT b 1 2 3", "FORSCORE b", "PERCENTILE b",
            "PERCENTILE b a x", "SCOREAT b",
            "SCOREAT b 1 2", "SETDATA d a", "SETDATA d a k", "PUTDATA d a", "PUTDATA d a {} {}", "GETDATA d", "DELDATA d", "VERIFY",
        ] {
            let name = line.split(' ').next().unwrap_or_default().to_lowercase();
            let error = format!("ERR wrong number of arguments for 'rank.{name}' command");
            expect(&mut con, &format!("RANK.{line}"), &error);
        }
        expect(&mut con, "DEBUG DIGEST", &before);
    }

    fn keys_of_other_types_are_refused(server: Server) {
        let mut con = server.connect();
        script(&mut con, KEYS);
        let before = reply(&mut con, "DEBUG DIGEST");
        for key in ["string", "list", "set", "hash", "stream"] {
            for line in [
                "CREATE k", "CREATE k KEEP 3", "CREATE new LIKE k", "CREATE k LIKE s", "ALTER k KEEP 1", "INFO k",
                "CLEAR k", "ROTATE k new", "ADD k 1 a",
                "ADD k XX 1 a", "MULTISET k 1 a", "MULTISET k 1 2 a", "INCR k 1 a", "REM k a", "TRIM k 1", "GET k a",
                "SCORE k a", "QUERY k a", "STATS k",
                "TOPN k 0", "RANGE k 1 2", "PAGE k 1 1", "AROUND k a 1", "BYSCORE k 1 2", "AMONG k 1 a", "AFTER k 1 1", "BEFORE k 1 1", "POP k", "SCAN k 0", "LOAD k {\"member\":\"a\",\"score\":1}", "COUNT k",
                "COUNT k 1 2", "FORSCORE k 1",
                "PERCENTILE k a", "SCOREAT k 50", "SETDATA k a x y", "PUTDATA k a {}", "GETDATA k a", "DELDATA k a", "VERIFY k", "VERIFY k REPAIR",
                "GET k a WITHDATA", "ADD k DATA {} 1 a", "ALTER k DATA h", "ROTATE k new DATA h",
            ] {
                let words: Vec<&str> = line.split(' ').map(|word| if word == "k" { key } else { word }).collect();
                expect(&mut con, &format!("RANK.{}", words.join(" ")), WRONG_TYPE);
            }
        }
        expect(&mut con, "DEBUG DIGEST", &before);
    }

    fn arguments_are_checked_before_the_key(server: Server) {
        let mut con = server.connect();
        script(&mut con, KEYS);
        for (line, error) in [
            ("RANGE none 0 1", "ERR start takes a position from 1, or a negative one, got 0"),
            ("PAGE none 1 0", "ERR size takes 1 or more, got 0"),
            ("TOPN string -1", "ERR n takes 0 or more, got -1"),
            ("GET none a FOO", "ERR unknown option 'FOO'"),
            ("CREATE string KEEP 0", "ERR KEEP takes 1 or more, got 0"),
            ("ADD none nan a", "OUTOFRANGE field 'score' takes a number, inf or -inf, got nan"),
            ("INCR none nan a", "ERR delta takes a finite number, got nan"),
            ("PUTDATA string a x", "ERR json takes a JSON object, got x"),
            ("ALTER string DATA like", "ERR DATA takes a key name other than LIKE and DATA, got like"),
            ("ADD string DATA x 1 a", "ERR json takes a JSON object, got x"),
        ] {
            expect(&mut con, &format!("RANK.{line}"), error);
        }
        expect(&mut con, "EXISTS none", "0");
    }

    fn errors_are_one_line_of_ascii(server: Server) {
        let mut con = server.connect();
        script(&mut con, KEYS);
        let words = |words: &[&'static str]| words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>();
        for bytes in [
            b"\r\n+OK\r\n".as_slice(), b"\x00\x01\x7f", b"\xff\xfe\xc3\xa9", b"%s%n%d%x", b"'\"\\", &[b'x'; 5000], &[0xff; 3000], b"",
        ] {
            for (before, after) in [
                (&["RANK.ADD", "b"][..], &["a"][..]), (&["RANK.GET", "b", "a"], &[]), (&["RANK.RANGE", "b"], &["1"]),
                (&["RANK.CREATE", "new"], &[]),
                (&["RANK.CREATE", "new", "FIELD"], &[]), (&["RANK.BYSCORE", "b", "1"], &[]),
                (&["RANK.AMONG", "b"], &["a"]), (&["RANK.INCR", "b"], &["a"]),
                (&["RANK.ADD", "b", "KEEP"], &["1", "a"]), (&["RANK.CREATE", "new", "TIES"], &[]),
                (&["RANK.SCOREAT", "b"], &[]),
            ] {
                let args = [words(before), vec![bytes], words(after)].concat();
                let got = show_result(&cmdv(&mut con, &args));
                assert!(is_error(&got) && got.len() < 500, "{before:?}: {got}");
                assert!(got.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{before:?}: {got}");
                expect(&mut con, "PING", "+PONG");
            }
        }
    }
}
