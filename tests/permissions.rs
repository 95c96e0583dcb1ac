//! Whoever uses a board needs permission for every key that is used: those of the command line, and the hash that the
//! schema names. A marker is an element that anybody who may `ZADD` can forge, so what it says gives no rights.
//! (That permissions follow commands and keys at all: command_docs.)

use redis::{Connection, Value};

use crate::script::script;
use crate::support::*;
use crate::workload::{assert_same, snapshot};

/// A connection of a user with these rules.
fn user(server: &Server, rules: &str) -> Connection {
    expect(&mut server.connect(), &format!("ACL SETUSER u reset on nopass {rules}"), "+OK");
    let mut con = server.connect();
    expect(&mut con, "AUTH u x", "+OK");
    con
}

#[track_caller]
fn refused(con: &mut Connection, commands: &[&str]) {
    for command in commands {
        let answer = reply(con, command);
        assert!(answer.starts_with("NOPERM"), "{command}: {answer}");
    }
}

/// Everything that reads attributes of a board `B` with ann and bob.
const READS: &[&str] = &[
    "RANK.GETDATA B ann",
    "RANK.GETDATA B ann n",
    "RANK.GET B ann WITHDATA",
    "RANK.TOPN B 5 WITHDATA",
    "RANK.RANGE B 1 -1 WITHDATA JSON",
    "RANK.PAGE B 1 5 WITHDATA",
    "RANK.AROUND B ann 1 WITHDATA",
    "RANK.BYSCORE B -inf inf WITHDATA",
    "RANK.AMONG B 1 ann WITHDATA",
    "RANK.AFTER B 5 9 WITHDATA",
    "RANK.SCAN B 0 WITHDATA",
    "RANK.BEFORE B 5 0 WITHDATA JSON",
    "RANK.QUERY B ann WITHDATA",
    "RANK.STATS B WITHDATA JSON",
];

/// Everything that writes them.
const WRITES: &[&str] = &[
    "RANK.SETDATA B ann n 2",
    "RANK.SETDATA B ann NX m 2",
    "RANK.PUTDATA B ann {}",
    "RANK.DELDATA B ann",
    "RANK.DELDATA B ann n",
    "RANK.ADD B DATA {} 9 ann",
    "RANK.ADD B DATA {} 9 new",
    "RANK.MULTISET B DATA {} 9 ann",
    "RANK.LOAD B {\"member\":\"ann\",\"score\":9,\"data\":{}}",
];

/// What takes entries out of a hash that the board owns.
const REMOVALS: &[&str] = &[
    "RANK.REM B ann",
    "RANK.TRIM B 1",
    "RANK.TRIM B 1 RETURN",
    "RANK.POP B",
    "RANK.POP B 1 WORST WITHTIME",
    "RANK.CLEAR B",
    "RANK.ADD B KEEP 2 9 new",
    "RANK.ALTER B KEEP 1",
];

fn on(board: &str, commands: &[&str]) -> Vec<String> {
    commands
        .iter()
        .map(|command| command.replace(" B ", &format!(" {board} ")).replace(" B", &format!(" {board}")))
        .collect()
}

/// The same call by itself, in a transaction, in a script and in a function.
#[track_caller]
fn every_way(con: &mut Connection, command: &str) -> Vec<String> {
    let mut answers = vec![reply(con, command)];
    expect(con, "MULTI", "+OK");
    assert_eq!(reply(con, command), "+QUEUED", "{command}");
    let answer = reply(con, "EXEC");
    answers.push(answer.trim_start_matches('[').trim_end_matches(']').into());
    answers.push(reply(con, &format!(r#"EVAL "return redis.pcall(unpack(ARGV))" 0 {command}"#)));
    answers.push(reply(con, &format!("FCALL any 0 {command}")));
    answers
}

/// A function that calls whatever it is told.
const LIBRARY: &str =
    "#!lua name=l\n redis.register_function('any', function(keys, args) return redis.pcall(unpack(args)) end)";

on_every_server! {
    fn every_key_of_a_call_must_be_allowed(server: Server) {
        script(&mut server.connect(), r#"
            RANK.CREATE secret FIELD a INT FIELD b INT DATA secret.h => +OK
            RANK.ADD secret DATA {"k":"v"} 1 2 x => 1
        "#);
        let mut con = user(&server, "+@all ~mine* ~LIKE ~like ~DATA");
        script(&mut con, "RANK.CREATE mine FIELD a INT DATA mine.h => +OK\n RANK.CREATE mine.own DATA mine.own.h OWNED => +OK");
        let before = snapshot(&mut server.connect());
        refused(&mut con, &[
            "RANK.ADD secret 1 2 x", "RANK.GETDATA secret x", "RANK.TOPN secret 9 WITHDATA", "RANK.INFO secret", "RANK.VERIFY secret", "RANK.CLEAR secret",
            "RANK.CREATE mine2 LIKE secret", "RANK.CREATE mine2 like secret", "RANK.CREATE LIKE LIKE secret", "RANK.CREATE like LiKe secret",
            "RANK.ROTATE mine archive", "RANK.ROTATE secret mine3", "RANK.DELDATA secret x", "RANK.SETDATA secret x k w",
            // The hash, where the command line names it.
            "RANK.CREATE mine2 DATA secret.h", "RANK.CREATE mine2 data secret.h OWNED", "RANK.CREATE mine2 FIELD a INT KEEP 5 DATA secret.h",
            "RANK.CREATE DATA DATA secret.h", "RANK.ALTER mine DATA secret.h", "RANK.ALTER mine KEEP 5 data secret.h OWNED", "RANK.ALTER DATA DATA secret.h",
            "RANK.ROTATE mine.own mine2 DATA other", "RANK.ROTATE mine.own mine2 data secret.h", "RANK.ROTATE mine.own DATA DATA other",
        ]);
        for body in [
            "RANK.ADD', 'secret', 1, 2, 'x'", "RANK.GETDATA', 'secret', 'x'", "RANK.CREATE', 'mine2', 'LIKE', 'secret'", "RANK.ROTATE', 'mine', 'other'",
            "RANK.CREATE', 'mine2', 'DATA', 'secret.h'", "RANK.ALTER', 'mine', 'DATA', 'secret.h'", "RANK.ROTATE', 'mine.own', 'mine2', 'DATA', 'other'",
        ] {
            let answer = show_result(&cmdv(&mut con, &["EVAL", &format!("return redis.call('{body})"), "0"]));
            assert!(answer.contains("NOPERM") || answer.contains("can't access") || answer.contains("No permissions"), "{body}: {answer}");
        }
        assert_same(&before, &snapshot(&mut server.connect()), "the server");
        // What is allowed works.
        script(&mut con, r#"
            RANK.CREATE LIKE LIKE mine => +OK
            RANK.CREATE DATA DATA mine.h => +OK
            RANK.ALTER DATA DATA mine.other => +OK
            RANK.ROTATE mine.own mine.old DATA mine.old.h => 0
            DEL LIKE DATA => 2
        "#);
    }

    /// The key specs find the keys by the words LIKE and DATA, which are no names.
    fn the_keys_of_a_call_are_those_that_it_means(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            COMMAND GETKEYS RANK.CREATE board FIELD likes INT => ["board"]
            COMMAND GETKEYS RANK.CREATE board FIELD data-1 INT FIELD a => ["board"]
            COMMAND GETKEYS RANK.CREATE board LIKE other => ["board", "other"]
            COMMAND GETKEYS RANK.CREATE LIKE like LIKES => ["LIKE", "LIKES"]
            COMMAND GETKEYS RANK.CREATE board FIELD a INT KEEP 5 DATA players => ["board", "players"]
            COMMAND GETKEYS RANK.CREATE board data players OWNED => ["board", "players"]
            COMMAND GETKEYS RANK.CREATE DATA DATA players => ["DATA", "players"]
            COMMAND GETKEYS RANK.ALTER board KEEP 5 => ["board"]
            COMMAND GETKEYS RANK.ALTER board NODATA => ["board"]
            COMMAND GETKEYS RANK.ALTER board KEEP 5 DATA players OWNED => ["board", "players"]
            COMMAND GETKEYS RANK.ALTER DATA DATA players => ["DATA", "players"]
            COMMAND GETKEYS RANK.ROTATE board archive => ["board", "archive"]
            COMMAND GETKEYS RANK.ROTATE board archive DATA players => ["board", "archive", "players"]
            COMMAND GETKEYS RANK.ROTATE DATA data data DATAS => ["DATA", "data", "DATAS"]
            # Not an option: a member, a value, a record.
            COMMAND GETKEYS RANK.ADD board DATA {"a":1} 5 DATA => ["board"]
            COMMAND GETKEYS RANK.SETDATA board LIKE DATA x => ["board"]
            COMMAND GETKEYS RANK.REM board DATA LIKE => ["board"]
            COMMAND GETKEYS RANK.GET board DATA WITHDATA => ["board"]
        "#);
        let mut con = user(&server, "+@all ~board*");
        expect(&mut con, "RANK.CREATE board FIELD likes INT FIELD data1 INT", "+OK");
        for word in ["LIKE", "like", "Like", "DATA", "data", "dATA"] {
            let mut admin = server.connect();
            for (line, argument) in [("RANK.CREATE board2 FIELD W INT", "FIELD"), ("RANK.CREATE board2 FIELD a INT FIELD W", "FIELD"), ("RANK.CREATE board2 DATA W", "DATA"), ("RANK.ALTER board DATA W", "DATA")] {
                let got = reply(&mut admin, &line.replace('W', word));
                assert!(got.starts_with(&format!("ERR {argument} takes ")) && got.ends_with(&format!("other than LIKE and DATA, got {word}")), "{line}: {got}");
            }
        }
        expect(&mut con, "EXISTS board2", "0");
    }

    fn reading_and_writing_a_board_are_different_permissions(server: Server) {
        script(&mut server.connect(), "RANK.CREATE b FIELD a INT FIELD b INT DATA b.h => +OK\n RANK.ADD b DATA {\"k\":\"v\"} 1 2 x => 1");
        let before = snapshot(&mut server.connect());
        let mut reader = user(&server, "+@all %R~b* %W~new*");
        for read in ["RANK.GET b x WITHDATA", "RANK.INFO b", "RANK.GETDATA b x", "RANK.STATS b", "RANK.COUNT b", "RANK.SCORE b x"] {
            let answer = reply(&mut reader, read);
            assert!(!answer.starts_with("NOPERM"), "{read}: {answer}");
        }
        refused(&mut reader, &["RANK.ADD b 1 2 x", "RANK.REM b x", "RANK.SETDATA b x k w", "RANK.PUTDATA b x {}", "RANK.DELDATA b x", "RANK.VERIFY b", "RANK.TRIM b 0",
            "RANK.CLEAR b", "RANK.INCR b 1 1 x", "RANK.ALTER b KEEP 1", "RANK.CREATE b", "RANK.ROTATE b new", "RANK.GET new x"]);
        assert_same(&before, &snapshot(&mut server.connect()), "the server");
    }

    /// The hash is a key that the command line does not name, and its permissions count all the same.
    fn attributes_need_permission_for_the_hash_itself(server: Server) {
        let mut admin = server.connect();
        assert_eq!(show_result(&cmdv(&mut admin, &["FUNCTION", "LOAD", LIBRARY])), "\"l\"");
        let refusal = "NOPERM this user has no permissions to access 'h', which the board's schema names";
        for schema in ["", "FIELD a INT"] {
            script(&mut admin, &format!(r#"
                FLUSHALL => +OK
                RANK.CREATE b {schema} DATA h => +OK
                RANK.CREATE own {schema} DATA h OWNED => +OK
                RANK.ADD b 5 ann 7 bob => 2
                RANK.ADD own 5 ann 7 bob => 2
                HSET h ann {{"n":1}} bob {{}} => 2
            "#));
            let before = snapshot(&mut admin);
            for (rules, reads, writes) in [("", false, false), ("%R~h", true, false), ("%W~h", false, true), ("~h", true, true)] {
                let mut con = user(&server, &format!("+@all ~b ~own ~z {rules}"));
                // What does without attributes needs nothing.
                for line in ["RANK.GET b ann", "RANK.TOPN own 5", "RANK.INFO own", "RANK.REM b nobody", "RANK.ADD b 5 ann", "RANK.VERIFY own"] {
                    let got = reply(&mut con, line);
                    assert!(!got.starts_with("NOPERM"), "{rules}: {line}: {got}");
                }
                for command in on("b", READS).into_iter().chain(on("own", READS)) {
                    for got in every_way(&mut con, &command) {
                        assert_eq!(got == refusal, !reads, "{rules}: {command}: {got}");
                    }
                }
                let writing = on("b", WRITES).into_iter().chain(on("own", WRITES)).chain(on("own", REMOVALS));
                for command in writing.filter(|_| !writes) {
                    for got in every_way(&mut con, &command) {
                        assert_eq!(got, refusal, "{rules}: {command}");
                    }
                }
                assert_same(&before, &snapshot(&mut admin), "the server");
            }
            let mut con = user(&server, "+@all ~b ~own ~h");
            for command in on("b", WRITES).into_iter().chain(on("own", WRITES)).chain(on("own", REMOVALS)).chain(on("b", REMOVALS)) {
                for got in every_way(&mut con, &command) {
                    assert!(!got.contains("NOPERM"), "{command}: {got}");
                }
            }
        }
    }

    /// A board that does not own the hash never writes to it by itself.
    fn a_shared_hash_is_no_business_of_those_who_remove_members(server: Server) {
        for command in on("b", REMOVALS) {
            script(&mut server.connect(), "FLUSHALL => +OK\n RANK.CREATE b DATA h => +OK\n RANK.ADD b 5 ann 7 bob => 2\n HSET h ann {} => 1");
            let mut con = user(&server, "+@all ~b");
            let got = reply(&mut con, &command);
            assert!(!got.starts_with("NOPERM"), "{command}: {got}");
            expect(&mut server.connect(), "HLEN h", "1");
        }
    }

    /// Nobody leaves, so there is nothing to take out of the hash.
    fn a_write_that_removes_nobody_needs_no_permission_for_an_owned_hash(server: Server) {
        for schema in ["", "FIELD a INT"] {
            script(&mut server.connect(), &format!("FLUSHALL => +OK\n RANK.CREATE own {schema} DATA h OWNED => +OK\n RANK.ADD own 5 ann => 1"));
            let mut con = user(&server, "+@all ~own");
            for line in ["RANK.ADD own 9 eve", "RANK.ADD own 8 ann", "RANK.INCR own 1 ann", "RANK.ALTER own UPDATE BEST", "RANK.ALTER own NODATA"] {
                let got = reply(&mut con, line);
                assert!(!got.starts_with("NOPERM"), "{schema}: {line}: {got}");
            }
        }
    }

    /// A write that shows ranks and scores of a period reads the period.
    fn ranks_of_a_period_need_permission_to_read_it(server: Server) {
        let mut admin = server.connect();
        assert_eq!(show_result(&cmdv(&mut admin, &["FUNCTION", "LOAD", LIBRARY])), "\"l\"");
        script(&mut admin, "RANK.CREATE b PERIOD DAY p: PERIOD YEAR y: => +OK\n RANK.ADD b 5 victim => 1");
        let before = snapshot(&mut admin);
        let shows = [
            "RANK.INCR b WITHRANK PERIOD day 0 victim",
            "RANK.ADD b XX BEST WITHRANK PERIOD day -999 victim",
            "RANK.ADD b WITHRANK PERIOD day 5 victim",
            "RANK.MULTISET b WITHRANK PERIOD day 5 victim",
        ];
        let others = ["RANK.ADD b 5 victim", "RANK.INCR b 0 victim", "RANK.ADD b WITHRANK 5 victim", "RANK.ADD b WITHRANK PERIOD year 5 victim"];
        for (rules, may_show, may_write) in [("%W~p:*", false, true), ("~p:*", true, true), ("%R~p:*", false, false), ("", false, false)] {
            let mut con = user(&server, &format!("+@all ~b ~y:* {rules}"));
            for (commands, may) in [(&shows, may_show), (&others, may_write)] {
                for command in commands {
                    for got in every_way(&mut con, command) {
                        assert_eq!(got.starts_with("NOPERM this user has no permissions to access 'p:"), !may, "{rules}: {command}: {got}");
                    }
                }
            }
            assert_same(&before, &snapshot(&mut admin), "the server");
        }
    }

    fn a_forged_marker_opens_nobody_elses_hash(server: Server) {
        let mut admin = server.connect();
        assert_eq!(show_result(&cmdv(&mut admin, &["FUNCTION", "LOAD", LIBRARY])), "\"l\"");
        let refusal = "NOPERM this user has no permissions to access 'secret.h', which the board's schema names";
        for (schema, owned) in [("", ""), ("", " OWNED"), ("FIELD a INT", " OWNED"), ("FIELD a BITS 20 TIES FIRST", "")] {
            script(&mut admin, &format!(r#"
                FLUSHALL => +OK
                RANK.CREATE secret {schema} DATA secret.h{owned} => +OK
                HSET secret.h ann {{"n":1}} bob {{"n":2}} => 2
            "#));
            // Byte by byte as somebody else's board has it, but with the owner's name changed to one's own.
            let Ok(Value::Array(first)) = cmd(&mut admin, "ZRANGE secret 0 0") else { panic!("no marker") };
            let Some(Value::BulkString(marker)) = first.first() else { panic!("no marker: {first:?}") };
            let marker = String::from_utf8_lossy(marker).replace("OWNED secret", "OWNED mine");
            let before = snapshot(&mut admin);
            let mut con = user(&server, "+@all ~mine*");
            // A board of one's own, and its marker replaced.
            expect(&mut con, &format!("RANK.CREATE mine {schema}"), "+OK");
            expect(&mut con, "RANK.ADD mine 5 ann 7 bob", "2");
            expect(&mut con, "ZREMRANGEBYRANK mine 0 0", "1");
            assert_eq!(show_result(&cmdv(&mut con, &["ZADD", "mine", "-inf", &marker])), "1");
            let content = reply(&mut con, "ZRANGE mine 0 -1 WITHSCORES");
            for command in on("mine", READS).into_iter().chain(on("mine", WRITES)) {
                for got in every_way(&mut con, &command) {
                    assert_eq!(got, refusal, "{schema}{owned}: {command}");
                }
            }
            if !owned.is_empty() {
                for command in on("mine", REMOVALS) {
                    for got in every_way(&mut con, &command) {
                        assert_eq!(got, refusal, "{schema}{owned}: {command}");
                    }
                }
                let got = reply(&mut con, "RANK.ROTATE mine mine2 DATA mine.h");
                assert!(got.starts_with("NOPERM"), "{got}");
            }
            assert_eq!(reply(&mut con, "ZRANGE mine 0 -1 WITHSCORES"), content, "{schema}{owned}");
            // A copy of the board, and one like it, open nothing either.
            script(&mut con, "COPY mine mine3 => 1\n RANK.CREATE mine4 LIKE mine => +OK\n RANK.ADD mine4 5 ann => 1");
            for board in ["mine3", "mine4"] {
                refused(&mut con, &on(board, READS).iter().map(String::as_str).collect::<Vec<_>>());
                refused(&mut con, &on(board, WRITES).iter().map(String::as_str).collect::<Vec<_>>());
            }
            expect(&mut con, "DEL mine mine3 mine4", "3");
            assert_same(&before, &snapshot(&mut admin), "the server");
        }
    }

    fn categories_where_the_server_has_them(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.ADD b 1 x", "1");
        // From 7.2 on; `ACL CAT` lists them only later.
        let has_categories = reply(&mut con, "COMMAND INFO RANK.ADD").contains("+@sortedset");
        assert_eq!(has_categories, !server.info("redis_version").starts_with("7.0."));
        if !has_categories {
            return;
        }
        let mut reader = user(&server, "+@read ~*");
        expect(&mut reader, "RANK.COUNT b", "1");
        refused(&mut reader, &["RANK.ADD b 1 y", "RANK.CLEAR b", "RANK.VERIFY b", "RANK.SETDATA b x k v", "RANK.PUTDATA b x {}"]);
        let mut writer = user(&server, "+@sortedset -@slow ~*");
        expect(&mut writer, "RANK.ADD b 1 y", "1");
        refused(&mut writer, &["RANK.CLEAR b", "RANK.CREATE b"]);
    }

    fn crafted_names_lead_nowhere(server: Server) {
        let mut admin = server.connect();
        // What one might want to reach: other boards and their hashes, and keys that look as if they belonged to a board.
        script(&mut admin, r#"
            RANK.CREATE secret FIELD a INT FIELD b INT DATA secret.h OWNED => +OK
            RANK.ADD secret DATA {"k":"v"} 1 2 x => 1
            RANK.MULTISET {secret} 1 2 x => 1
            HSET h a b => 1
            HSET rank:data:mine a b => 1
            HSET rank:data:{mine} a b => 1
            HSET rank:members:{mine} a b => 1
            SET plain text => +OK
        "#);
        let before = snapshot(&mut admin);
        let mut con = user(&server, "+@all -@dangerous ~mine* ~{mine* ~}mine*");
        let names: &[&[u8]] = &[
            b"mine", b"mine}", b"mine}{secret", b"mine}{secret}", b"mine{secret}", b"mine{}{secret}", b"mine:{secret}", b"{mine", b"{mine}x", b"{mine{secret}",
            b"mine\0{secret}", b"mine\0", b"mine\r\nDEL secret", b"mine*", b"mine{secret", b"}mine", b"}mine{secret}", b"mine OWNED secret", b"mine DATA secret.h",
            b"mine%", b"mine%00", b"mine%20OWNED%20secret",
        ];
        for name in names {
            let hash = [name, b".h".as_slice()].concat();
            let commands: &[&[&[u8]]] = &[
                &[b"RANK.CREATE", name, b"FIELD", b"a", b"INT", b"FIELD", b"b", b"INT", b"DATA", &hash, b"OWNED"],
                &[b"RANK.ADD", name, b"DATA", b"{}", b"1", b"2", b"x"], &[b"RANK.SETDATA", name, b"x", b"k", b"v"],
                &[b"RANK.GETDATA", name, b"x"], &[b"RANK.VERIFY", name, b"REPAIR"], &[b"RANK.ROTATE", name, b"mine{secret}rotated", b"DATA", b"mine.rotated.h"],
                &[b"RANK.GETDATA", b"mine{secret}rotated", b"x"], &[b"RANK.DELDATA", name, b"x"], &[b"RANK.REM", name, b"x"], &[b"RANK.CLEAR", name],
            ];
            for command in commands {
                let answer = show_result(&cmdv(&mut con, command));
                let shown = command.iter().map(|word| word.escape_ascii().to_string()).collect::<Vec<_>>().join(" ");
                assert!(!answer.starts_with("CLIENT") && !answer.contains("internal") && !answer.contains("ERR"), "{shown}: {answer}");
            }
            let gone = show_result(&cmdv(&mut con, &[b"DEL".as_slice(), b"mine{secret}rotated", b"mine.rotated.h", name, &hash]));
            assert_eq!(gone, "3", "{}", name.escape_ascii());
            assert_same(&before, &snapshot(&mut admin), "the server");
        }
    }
}
