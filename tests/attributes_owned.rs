//! `DATA hash OWNED`: attributes that leave with their member.

use crate::script::script;
use crate::support::attributes::*;
use crate::support::stored::info;
use crate::support::*;
use crate::workload::{assert_same, snapshot};

on_every_server! {
    fn the_entries_of_an_owned_hash_leave_with_their_member(server: Server) {
        let mut con = server.connect();
        for schema in ["", "FIELD a", "FIELD a DIGITS 3", "FIELD a BITS 60", "FIELD a INT", "FIELD a TIES FIRST"] {
            for (leave, left) in [
                ("RANK.REM b ann", "bob"),
                ("RANK.REM b nobody ann bob ann", ""),
                ("RANK.TRIM b 1", "bob"),
                ("RANK.TRIM b 1 RETURN", "bob"),
                ("RANK.TRIM b 0", ""),
                ("RANK.POP b WORST", "bob"),
                ("RANK.POP b WITHDATA", "ann"),
                ("RANK.POP b 9 WORST WITHDATA JSON", ""),
                ("RANK.CLEAR b", ""),
                ("RANK.ADD b KEEP 2 9 eve", "bob"),
                ("RANK.ADD b KEEP 1 9 eve 8 fay", ""),
                ("RANK.ADD b KEEP 1 1 eve", "bob"),
                ("RANK.ADD b KEEP 2 9 eve 10 ann", "ann"),
                (r#"RANK.ADD b KEEP 2 DATA {"n":3} 9 eve"#, "bob eve"),
                ("RANK.ALTER b KEEP 1", "bob"),
                ("RANK.ALTER b KEEP 1 NODATA", "bob"),
                ("RANK.ALTER b KEEP 1 DATA other", "bob"),
                ("RANK.ALTER b KEEP 1 DATA other OWNED", "bob"),
                ("RANK.REM b nobody", "ann bob"),
                ("RANK.TRIM b 2", "ann bob"),
                ("RANK.ADD b KEEP 2 1 eve", "ann bob"),
            ] {
                for owned in [true, false] {
                    board(&mut con, &format!("{schema} DATA h {}", if owned { "OWNED" } else { "" }));
                    let answer = reply(&mut con, leave);
                    assert!(!is_error(&answer), "{schema}: {leave}: {answer}");
                    let kept = if leave.contains("DATA {") { "ann bob eve" } else { "ann bob" };
                    assert_eq!(recorded(&mut con), if owned { left } else { kept }, "{schema}, owned: {owned}: {leave}");
                }
            }
            // A board with its own bound: a newcomer, an increment, and who comes back.
            for (leave, left) in [("RANK.ADD b 9 eve", "bob"), ("RANK.INCR b 9 eve", "bob"), ("RANK.INCR b 1 eve", "ann bob"), ("RANK.ADD b 9 eve 10 ann", "ann")] {
                board(&mut con, &format!("{schema} KEEP 2 DATA h OWNED"));
                reply(&mut con, leave);
                assert_eq!(recorded(&mut con), left, "{schema}: {leave}");
            }
        }
    }

    /// A sorted set that becomes a board.
    fn what_a_bound_trims_as_a_board_is_made_leaves_an_owned_hash(server: Server) {
        let mut con = server.connect();
        for (schema, left) in [("KEEP 1 DATA h OWNED", "bob"), ("ASC KEEP 1 DATA h OWNED", "ann"), ("KEEP 1 DATA h", "ann bob"), ("DATA h OWNED", "ann bob")] {
            script(&mut con, "FLUSHALL => +OK\n ZADD b 5 ann 7 bob => 2\n HSET h ann {} bob {} => 2");
            expect(&mut con, &format!("RANK.CREATE b {schema}"), "+OK");
            assert_eq!(recorded(&mut con), left, "{schema}");
        }
    }

    fn only_members_have_entries_in_an_owned_hash(server: Server) {
        let mut con = server.connect();
        for schema in ["", "FIELD a INT"] {
            board(&mut con, &format!("{schema} DATA h OWNED"));
            script(&mut con, r#"
                HSET h stranger {"n":3} => 1
                RANK.SETDATA b stranger k v => ERR 'stranger' is not on the board: add the member first
                RANK.SETDATA b stranger NX k v => ERR 'stranger' is not on the board: add the member first
                RANK.PUTDATA b stranger {} => ERR 'stranger' is not on the board: add the member first
                RANK.GETDATA b stranger => nil
                RANK.GETDATA b stranger n => nil
                RANK.DELDATA b stranger => 0
                RANK.DELDATA b stranger n => 0
                HGET h stranger => "{\"n\":3}"
                RANK.GETDATA b ann => ["n", "1"]
                RANK.SETDATA b ann n 2 => 0
                RANK.DELDATA b ann n => 1
                RANK.PUTDATA b ann {"k":1} => +OK
            "#);
        }
    }

    fn a_core_command_leaves_the_hash_alone(server: Server) {
        let mut con = server.connect();
        for command in ["ZREM b ann bob", "ZREMRANGEBYRANK b 1 -1", "DEL b", "UNLINK b", "SET b x", "PEXPIRE b 1"] {
            board(&mut con, "DATA h OWNED");
            reply(&mut con, command);
            wait_until(|| reply(&mut server.connect(), "RANK.GET b ann") != r#"[2, "ann", "5"]"#);
            assert_eq!(recorded(&mut con), "ann bob", "{command}");
        }
        // Under the same name again, the hash is the new board's.
        script(&mut con, "DEL b => 0\n RANK.CREATE b DATA h OWNED => +OK\n RANK.ADD b 1 ann => 1\n RANK.CLEAR b => 1\n EXISTS h => 0");
    }

    fn a_board_under_another_name_owns_nothing(server: Server) {
        let mut con = server.connect();
        for way in ["COPY", "RENAME", "RESTORE"] {
            board(&mut con, "DATA h OWNED");
            match way {
                "COPY" => expect(&mut con, "COPY b c", "1"),
                "RENAME" => expect(&mut con, "RENAME b c", "+OK"),
                _ => {
                    let Ok(redis::Value::BulkString(dump)) = cmd(&mut con, "DUMP b") else { panic!("no dump") };
                    assert_eq!(show_result(&cmdv(&mut con, &[b"RESTORE".as_slice(), b"c", b"0", &dump])), "+OK");
                }
            }
            script(&mut con, r#"
                RANK.GET c ann WITHDATA => [2, "ann", "5", ["n", "1"]]
                RANK.SETDATA c stranger n 3 => 1
                RANK.GETDATA c stranger => ["n", "3"]
                RANK.REM c ann => 1
                RANK.TRIM c 0 => 1
                RANK.ADD c 5 ann 7 bob => 2
                RANK.ADD c KEEP 1 9 eve => 1
                RANK.CLEAR c => 1
                HLEN h => 3
                RANK.ROTATE c c2 DATA h2 => SCHEMA DATA is only valid for a board with DATA hash OWNED
                RANK.ROTATE c c2 => 0
                # Until it is told that it does.
                RANK.ADD c 5 ann 7 bob => 2
                RANK.ALTER c DATA h OWNED => +OK
                RANK.SETDATA c stranger n 3 => ERR 'stranger' is not on the board: add the member first
                RANK.REM c ann => 1
                HEXISTS h ann => 0
                RANK.CLEAR c => 1
                EXISTS h => 0
            "#);
        }
        // The same name in another database is the same name.
        board(&mut con, "DATA h OWNED");
        script(&mut con, "MOVE b 1 => 1\n MOVE h 1 => 1\n SELECT 1 => +OK\n RANK.REM b ann => 1\n HEXISTS h ann => 0");
    }

    fn a_board_that_is_back_under_its_name_owns_its_hash_again(server: Server) {
        let mut con = server.connect();
        board(&mut con, "DATA h OWNED");
        script(&mut con, "RENAME b c => +OK\n RENAME c b => +OK\n RANK.REM b ann => 1\n HEXISTS h ann => 0");
        // A copy in the original's place.
        script(&mut con, "COPY b c => 1\n RANK.ADD b 5 zoe => 1\n RENAME c b => +OK\n RANK.GET b zoe => nil\n RANK.CLEAR b => 1\n EXISTS h => 0");
    }

    fn like_takes_the_hash_but_not_to_own_it(server: Server) {
        let mut con = server.connect();
        for owned in ["", " OWNED"] {
            board(&mut con, &format!("DATA h{owned}"));
            script(&mut con, "RANK.CREATE c LIKE b => +OK");
            assert_eq!(info(&mut con, "c", "data"), "\"h\"");
            assert_eq!(info(&mut con, "c", "schema"), "\"2 FIELD score DESC FLOAT DATA h\"");
            script(&mut con, "RANK.ADD c 1 ann => 1\n RANK.GET c ann WITHDATA => [1, \"ann\", \"1\", [\"n\", \"1\"]]\n RANK.CLEAR c => 1\n HLEN h => 2");
            script(&mut con, "RANK.CREATE c LIKE b => +OK\n RANK.CREATE c DATA h => +OK");
        }
    }

    fn rotate_gives_the_archive_an_owned_hash_of_its_own(server: Server) {
        let mut con = server.connect();
        for schema in ["", "FIELD a INT", "FIELD a BITS 20 TIES FIRST KEEP 5"] {
            board(&mut con, &format!("{schema} DATA h OWNED"));
            script(&mut con, r#"
                PEXPIREAT b 4000000000000 => 1
                RANK.ROTATE b old => SCHEMA the board owns its hash: name one for the archive with DATA hash
                RANK.ROTATE b old DATA like => ERR DATA takes a key name other than LIKE and DATA, got like
                RANK.ROTATE b old DATA => ERR DATA needs a value
                EXISTS old => 0
                RANK.ROTATE b old DATA old.h => 2
                EXISTS h => 0
                HGETALL old.h => ["ann", "{\"n\":1}", "bob", "{\"n\":2}"]
                RANK.GETDATA old ann => ["n", "1"]
                RANK.COUNT b => 0
                PEXPIRETIME old => 4000000000000
                TTL b => -1
                # Each has its own from now on.
                RANK.ADD b DATA {"n":3} 5 ann => 1
                HGETALL h => ["ann", "{\"n\":3}"]
                RANK.REM old ann => 1
                HGETALL old.h => ["bob", "{\"n\":2}"]
                RANK.CLEAR b => 1
                EXISTS h => 0
                HLEN old.h => 1
            "#);
            for (key, data) in [("b", "\"h\""), ("old", "\"old.h\"")] {
                assert_eq!(info(&mut con, key, "data"), data);
                assert!(info(&mut con, key, "schema").replace('"', " ").contains(&format!(" OWNED {key} ")), "{key}");
            }
            // A hash that is there already is nobody's to overwrite.
            script(&mut con, "RANK.ADD b DATA {\"n\":4} 5 ann => 1\n HSET taken x y => 1");
            let before = snapshot(&mut con);
            for line in ["RANK.ROTATE b new DATA taken", "RANK.ROTATE b new DATA h", "RANK.ROTATE b old DATA new.h", "RANK.ROTATE b new DATA b"] {
                let got = reply(&mut con, line);
                assert!(is_error(&got), "{line}: {got}");
            }
            assert_same(&before, &snapshot(&mut con), "the server");
        }
        // Nothing to rename.
        script(&mut con, "FLUSHALL => +OK\n RANK.CREATE b DATA h OWNED => +OK\n RANK.ADD b 1 a => 1\n RANK.ROTATE b old DATA old.h => 1\n EXISTS h old.h => 0");
        assert_eq!(info(&mut con, "old", "data"), "\"old.h\"");
    }

    /// One of the two would overwrite the other.
    fn an_archive_and_its_hash_are_two_keys(server: Server) {
        let mut con = server.connect();
        for schema in ["", "FIELD a INT"] {
            board(&mut con, &format!("{schema} DATA h OWNED"));
            let before = snapshot(&mut con);
            let got = reply(&mut con, "RANK.ROTATE b new DATA new");
            assert!(is_error(&got), "{got}");
            assert_same(&before, &snapshot(&mut con), "the server");
        }
    }

    fn rotate_of_a_board_that_owns_nothing_leaves_the_hash(server: Server) {
        let mut con = server.connect();
        for data in ["DATA h", ""] {
            board(&mut con, data);
            script(&mut con, r#"
                RANK.ROTATE b old DATA h2 => SCHEMA DATA is only valid for a board with DATA hash OWNED
                RANK.ROTATE b old => 2
                HLEN h => 2
                RANK.ADD b 1 ann => 1
            "#);
            let expected = if data.is_empty() { "nil" } else { "\"h\"" };
            assert_eq!([info(&mut con, "b", "data"), info(&mut con, "old", "data")], [expected, expected]);
        }
        script(&mut con, "ZADD bare 1 x => 1\n RANK.ROTATE bare old2 DATA h2 => SCHEMA DATA is only valid for a board with DATA hash OWNED\n EXISTS old2 => 0");
    }

    fn a_hash_of_another_type_is_an_error_that_changes_nothing(server: Server) {
        let mut con = server.connect();
        let refused = "WRONGTYPE the board keeps its attributes in 'h', which is not a hash";
        for (owned, other) in [("", "SET h x"), (" OWNED", "RPUSH h x"), (" OWNED", "ZADD h 1 x")] {
            board(&mut con, &format!("DATA h{owned}"));
            expect(&mut con, "DEL h", "1");
            reply(&mut con, other);
            let before = snapshot(&mut con);
            let mut lines: Vec<String> = READS.iter().flat_map(|read| [format!("{read} WITHDATA"), format!("{read} WITHDATA JSON")]).collect();
            lines.extend(["SETDATA b ann k v", "PUTDATA b ann {}", "GETDATA b ann", "GETDATA b ann k", "DELDATA b ann", "DELDATA b ann k", "ADD b DATA {} 9 ann"].map(String::from));
            if !owned.is_empty() {
                lines.extend(["REM b ann", "TRIM b 1", "TRIM b 1 RETURN", "ADD b KEEP 2 9 eve", "ALTER b KEEP 1"].map(String::from));
            }
            for line in lines {
                expect(&mut con, &format!("RANK.{line}"), refused);
                expect(&mut con, "PING", "+PONG");
            }
            assert_same(&before, &snapshot(&mut con), "the server");
            // What needs no attributes works.
            expect(&mut con, "RANK.GET b ann", r#"[2, "ann", "5"]"#);
            if owned.is_empty() {
                script(&mut con, "RANK.ADD b 9 eve => 1\n RANK.REM b eve => 1\n RANK.TRIM b 1 => 1\n RANK.ALTER b NODATA => +OK");
            }
        }
    }

    /// Nobody leaves, so there is nothing to take out of the hash.
    fn a_write_that_removes_nobody_does_without_an_owned_hash(server: Server) {
        let mut con = server.connect();
        for schema in ["", "FIELD a INT"] {
            board(&mut con, &format!("{schema} DATA h OWNED"));
            script(&mut con, "DEL h => 1\n SET h x => +OK");
            for write in ["ADD b 9 eve", "ADD b 8 ann", "INCR b 1 ann", "ALTER b UPDATE BEST", "ALTER b KEEP 9", "ALTER b DATA other", "ALTER b NODATA"] {
                let got = reply(&mut con, &format!("RANK.{write}"));
                assert!(!got.starts_with("WRONGTYPE"), "{schema}: {write}: {got}");
            }
            expect(&mut con, "RANK.COUNT b", "3");
        }
    }

    fn no_two_boards_own_one_hash_and_no_board_is_its_own(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE s DATA s => ERR DATA takes a key other than the board's own, got s
            RANK.CREATE o DATA h OWNED => +OK
            RANK.ALTER o DATA o OWNED => ERR DATA takes a key other than the board's own, got o
            RANK.ADD o 1 m => 1
            RANK.ROTATE o arch DATA h => ERR archive and DATA take two new key names, other than the board's key and hash
            RANK.ROTATE o h DATA h2 => ERR archive and DATA take two new key names, other than the board's key and hash
            RANK.ROTATE o arch DATA arch => ERR archive and DATA take two new key names, other than the board's key and hash
            RANK.ROTATE o arch DATA h2 => 1
            RANK.SETDATA arch m k v => 1
            EXISTS h => 0
            HGET h2 m => "{\"k\":\"v\"}"
        "#);
    }

    fn an_archive_has_all_that_the_board_had(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE o KEEP 2 DATA h OWNED => +OK
            ZADD o 1 x 2 y 3 z => 3
            HSET h x {"a":1} => 1
            RANK.ROTATE o a DATA h5 => 3
            RANK.COUNT a => 3
            RANK.GETDATA a x => ["a", "1"]
        "#);
    }

    fn owning_a_hash_takes_the_permission_to_write_to_it(server: Server) {
        let (mut con, mut reader) = (server.connect(), server.connect());
        expect(&mut con, "ACL SETUSER reader on >x +@all ~b* %R~h", "+OK");
        expect(&mut reader, "AUTH reader x", "+OK");
        let refused = "NOPERM this user has no permissions to access 'h', which the board's schema names";
        expect(&mut reader, "RANK.CREATE b DATA h OWNED", refused);
        expect(&mut reader, "RANK.CREATE b DATA h", "+OK");
        expect(&mut reader, "RANK.ALTER b DATA h OWNED", refused);
    }
}
