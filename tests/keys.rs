//! A board is one key, and a key like any other: wherever it goes, the very next command answers right, and when it is
//! gone nothing of it is left.

use redis::{Connection, Value};

use crate::flood::Flood;
use crate::script::script;
use crate::support::boards::*;
use crate::support::*;
use crate::workload::{all_keys, bytes};

/// Boards of every schema, small and large, each under the name of its number.
#[track_caller]
fn fill_all(con: &mut Connection) -> Vec<(String, Filled, Vec<String>)> {
    let mut boards = Vec::new();
    for (number, schema) in SCHEMAS.iter().enumerate() {
        for size in ["small", "large"] {
            let key = format!("{size}-{number}");
            let board =
                if size == "small" { Filled::small(con, &key, schema) } else { Filled::large(con, &key, schema) };
            let answers = board.answers(con, &key);
            boards.push((key, board, answers));
        }
    }
    boards
}

#[track_caller]
fn dump(con: &mut Connection, key: &str) -> Vec<u8> {
    match cmdv(con, &["DUMP", key]) {
        Ok(Value::BulkString(dump)) => dump,
        other => panic!("no dump of {key}: {}", show_result(&other)),
    }
}

#[track_caller]
fn restore(con: &mut Connection, key: &str, dump: &[u8]) {
    assert_eq!(replyv(con, &[b"RESTORE", key.as_bytes(), b"0", dump, b"REPLACE"]), "+OK");
}

fn keys(con: &mut Connection) -> Vec<String> {
    all_keys(con).iter().map(|key| key.escape_ascii().to_string()).collect()
}

/// Sends all lines at once, so that nothing of the server's own comes between; what the last one answers.
fn pipelined(con: &mut Connection, lines: &[String]) -> Vec<Value> {
    let mut pipe = redis::pipe();
    for line in lines {
        let mut words = line.split(' ');
        let command = pipe.cmd(words.next().expect("a command"));
        words.for_each(|word| {
            command.arg(word);
        });
    }
    pipe.query(con).expect("all of them work")
}

/// A spilled board `b` with attributes in `players`.
#[track_caller]
fn with_attributes(con: &mut Connection) {
    script(
        con,
        r#"
        RANK.CREATE b FIELD a INT FIELD b INT DATA players => +OK
        RANK.ADD b 1 2 ann 3 4 bob => 2
        RANK.SETDATA b ann name Ann => 1
        RANK.SETDATA b bob name Bob => 1
    "#,
    );
}

/// That `key` is the board of [`with_attributes`].
#[track_caller]
fn has_attributes(con: &mut Connection, key: &str) {
    script(
        con,
        &format!(
            r#"
        RANK.GET {key} ann WITHDATA => [2, "ann", 1, 2, ["name", "Ann"]]
        RANK.TOPN {key} 9 WITHDATA => [[1, "bob", 3, 4, ["name", "Bob"]], [2, "ann", 1, 2, ["name", "Ann"]]]
        RANK.GETDATA {key} bob name => ["Bob"]
        RANK.VERIFY {key} => ["cursor", 0, "checked", 2, "undecodable", 0, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", []]
    "#
        ),
    );
}

/// That `b`, which was given a thousand seconds, still has most of them.
#[track_caller]
fn keeps_its_time(con: &mut Connection, after: &str) {
    let left: i64 = reply(con, "TTL b").parse().expect("seconds");
    assert!((900..=1000).contains(&left), "{after}: {left}");
}

/// Commands that make another key of a board. `NEW` where the other must not exist.
const WAYS: &[&str] = &[
    "RENAME b c",
    "RENAMENX b c NEW",
    "COPY b c NEW",
    "COPY b c REPLACE",
    "ZUNIONSTORE c 1 b",
    "ZINTERSTORE c 1 b AGGREGATE MAX",
    "ZRANGESTORE c b 0 -1",
    "ZRANGESTORE c b -inf +inf BYSCORE",
];

on_every_server! {
    fn under_another_name_a_board_is_what_it_was(server: Server) {
        let mut con = server.connect();
        let boards = fill_all(&mut con);
        let dumps: Vec<Vec<u8>> = boards.iter().map(|(key, ..)| dump(&mut con, key)).collect();
        expect(&mut con, "FLUSHDB", "+OK");
        for ((_, board, answers), all) in boards.iter().zip(&dumps) {
            let schema = board.schema;
            // What is there before under the other name: nothing, or a board with the same members and other scores.
            for occupied in [false, true] {
                for way in WAYS.iter().filter(|way| !occupied || !way.ends_with(" NEW")) {
                    restore(&mut con, "b", all);
                    if occupied {
                        restore(&mut con, "c", all);
                        board.assert_goes_on(&mut con, "c", "RESTORE");
                    }
                    let answer = reply(&mut con, way.trim_end_matches(" NEW"));
                    assert!(!is_error(&answer), "{schema}: {way}: {answer}");
                    board.assert_answers(&mut con, "c", answers, way);
                    board.assert_goes_on(&mut con, "c", way);
                    if way.starts_with("RENAME") {
                        assert_eq!(keys(&mut con), ["c"], "{schema}: {way}");
                    } else {
                        // The original does not notice what became of its copy.
                        board.assert_answers(&mut con, "b", answers, way);
                        assert_eq!(keys(&mut con), ["b", "c"], "{schema}: {way}");
                    }
                    expect(&mut con, "FLUSHDB", "+OK");
                }
            }
        }
    }

    fn in_another_database_a_board_is_what_it_was(server: Server) {
        let mut con = server.connect();
        let boards = fill_all(&mut con);
        for (key, board, answers) in &boards {
            script(&mut con, &format!("MOVE {key} 3 => 1\n SELECT 3 => +OK"));
            board.assert_answers(&mut con, key, answers, "MOVE");
            script(&mut con, &format!("COPY {key} copy DB 4 => 1\n SELECT 4 => +OK"));
            board.assert_answers(&mut con, "copy", answers, "COPY … DB");
            board.assert_goes_on(&mut con, "copy", "COPY … DB");
            expect(&mut con, "DEL copy", "1");
            expect(&mut con, "SELECT 0", "+OK");
        }
        assert!(keys(&mut con).is_empty());
        script(&mut con, "SWAPDB 3 0 => +OK");
        for (key, board, answers) in &boards {
            script(&mut con, &format!("RENAME {key} renamed => +OK"));
            board.assert_answers(&mut con, "renamed", answers, "SWAPDB and RENAME");
            script(&mut con, &format!("RENAME renamed {key} => +OK"));
            board.assert_goes_on(&mut con, key, "SWAPDB");
        }
        assert_eq!(keys(&mut con).len(), boards.len());
    }

    fn a_restored_board_is_what_it_was(server: Server) {
        let mut con = server.connect();
        for (key, board, answers) in fill_all(&mut con) {
            let old = dump(&mut con, &key);
            board.assert_goes_on(&mut con, &key, "nothing");
            // An older state comes back over a newer one.
            restore(&mut con, &key, &old);
            board.assert_answers(&mut con, &key, &answers, "RESTORE … REPLACE");
            board.assert_goes_on(&mut con, &key, "RESTORE … REPLACE");
        }
    }

    fn a_transaction_or_script_that_moves_a_board_sees_it_whole(server: Server) {
        let mut con = server.connect();
        with_attributes(&mut con);
        script(&mut con, r#"
            MULTI => +OK
            RENAME b c => +QUEUED
            RANK.GET c ann => +QUEUED
            RANK.ADD c 9 9 ann => +QUEUED
            RANK.TOPN c 5 => +QUEUED
            RENAME c b => +QUEUED
            RANK.ADD b 1 2 ann => +QUEUED
            EXEC => [+OK, [2, "ann", 1, 2], 0, [[1, "ann", 9, 9], [2, "bob", 3, 4]], +OK, 0]
            EVAL "redis.call('RENAME', 'b', 'c'); return redis.call('RANK.GET', 'c', 'ann', 'WITHDATA')" 2 b c => [2, "ann", 1, 2, ["name", "Ann"]]
            MULTI => +OK
            RENAME c b => +QUEUED
            EVAL_RO "return redis.call('RANK.GET', 'b', 'bob')" 1 b => +QUEUED
            EXEC => [+OK, [1, "bob", 3, 4]]
        "#);
        has_attributes(&mut con, "b");
        assert_eq!(keys(&mut con), ["b", "players"]);
    }

    /// Attributes were lost here once, because a scan had to find the board first.
    fn a_rename_right_after_a_restart_a_reload_or_a_swap_loses_nothing(kind: Kind) {
        let mut server = Server::builder(kind).config("appendonly no").start();
        with_attributes(&mut server.connect());
        let mut name = "b".to_string();
        // Keys that a scan would have to come past first.
        expect(&mut server.connect(), "DEBUG POPULATE 5000", "+OK");
        for round in 0..9 {
            let mut con = server.connect();
            match round % 3 {
                0 => {
                    server.restart();
                    con = server.connect();
                }
                1 => expect(&mut con, "DEBUG RELOAD", "+OK"),
                _ => script(&mut con, "SWAPDB 0 9 => +OK\n SELECT 9 => +OK"),
            }
            let next = format!("b{round}");
            pipelined(&mut con, &[format!("RENAME {name} {next}"), format!("RANK.GET {next} ann WITHDATA")]);
            has_attributes(&mut con, &next);
            if round % 3 == 2 {
                expect(&mut con, "SWAPDB 0 9", "+OK");
            }
            name = next;
        }
        let mut con = server.connect();
        script(&mut con, &format!("DBSIZE => 5002\n EXISTS {name} players => 2\n KEYS rank:* => []"));
    }

    fn a_rename_right_after_a_promotion_loses_nothing(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        with_attributes(&mut primary.connect());
        let boards = fill_all(&mut primary.connect());
        let replica = Server::builder(kind).replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        let mut con = replica.connect();
        pipelined(&mut con, &["REPLICAOF NO ONE".into(), "RENAME b c".into(), "RANK.GET c ann WITHDATA".into()]);
        has_attributes(&mut con, "c");
        for (key, board, answers) in &boards {
            expect(&mut con, &format!("RENAME {key} d"), "+OK");
            board.assert_answers(&mut con, "d", answers, "REPLICAOF NO ONE and RENAME");
            board.assert_goes_on(&mut con, "d", "REPLICAOF NO ONE");
            expect(&mut con, "DEL d", "1");
        }
        assert_eq!(keys(&mut con), ["c", "players"]);
    }

    fn after_a_power_cut_a_board_is_what_it_was(kind: Kind) {
        let mut server = Server::builder(kind).appendonly().config("appendfsync always").start();
        let boards = fill_all(&mut server.connect());
        for after in ["kill -9", "BGREWRITEAOF and kill -9", "DEBUG RELOAD"] {
            let mut con = server.connect();
            if after.starts_with("BGREWRITEAOF") {
                wait_until(|| !is_error(&reply(&mut con, "BGREWRITEAOF")));
                server.wait_for_aof_rewrite();
            }
            if after.starts_with("DEBUG") {
                expect(&mut con, after, "+OK");
            } else {
                server.kill9();
                server.restart();
                con = server.connect();
            }
            for (key, board, answers) in &boards {
                board.assert_answers(&mut con, key, answers, after);
            }
        }
        let mut con = server.connect();
        for (key, board, _) in &boards {
            board.assert_goes_on(&mut con, key, "restarts");
        }
        assert_eq!(keys(&mut con).len(), boards.len());
    }

    /// A copy that comes over its original must not be taken for it, though it has as many members.
    fn a_copy_that_comes_over_its_original_has_its_own_members(kind: Kind) {
        let server = Server::builder(kind).tcp().start();
        let other = Server::builder(kind).tcp().start();
        let (mut con, mut elsewhere) = (server.connect(), other.connect());
        for way in [
            "MULTI; DEL b; RENAME c b; EXEC", "RENAME c b", "COPY c b REPLACE", "ZUNIONSTORE b 1 c", "ZRANGESTORE b c 0 -1",
            "ZINTERSTORE b 1 c", "RESTORE", "MIGRATE", "MIGRATE COPY", "SWAPDB",
        ] {
            for con in [&mut con, &mut elsewhere] {
                expect(con, "FLUSHALL", "+OK");
            }
            script(&mut con, "RANK.MULTISET b 3 1 ann => 1\n COPY b c => 1\n RANK.REM b ann => 1\n RANK.ADD b 5 5 bob => 1");
            match way {
                "RESTORE" => {
                    let old = dump(&mut con, "c");
                    restore(&mut con, "b", &old);
                }
                "MIGRATE" | "MIGRATE COPY" => {
                    // The copy goes to the other server, and comes back over the board.
                    let copy = if way.ends_with("COPY") { "COPY " } else { "" };
                    script(&mut con, &format!("MIGRATE 127.0.0.1 {} c 0 5000 {copy}=> +OK", other.port()));
                    script(&mut elsewhere, &format!("RANK.GET c ann => [1, \"ann\", 3, 1]\n RENAME c b => +OK\n MIGRATE 127.0.0.1 {} b 0 5000 {copy}REPLACE => +OK", server.port()));
                }
                "SWAPDB" => script(&mut con, "MOVE c 1 => 1\n SELECT 1 => +OK\n RENAME c b => +OK\n SELECT 0 => +OK\n SWAPDB 0 1 => +OK"),
                lines => lines.split("; ").for_each(|line| {
                    let answer = reply(&mut con, line);
                    assert!(!answer.contains("ERR"), "{way}: {line}: {answer}");
                }),
            }
            script(&mut con, r#"
                RANK.GET b ann => [1, "ann", 3, 1]
                RANK.GET b bob => nil
                RANK.ADD b 4 4 ann => 0
                RANK.TOPN b 9 => [[1, "ann", 4, 4]]
                RANK.COUNT b => 1
                RANK.ADD b 5 5 bob => 1
                RANK.TOPN b 9 => [[1, "bob", 5, 5], [2, "ann", 4, 4]]
                RANK.VERIFY b => ["cursor", 0, "checked", 2, "undecodable", 0, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", []]
                KEYS rank:* => []
            "#);
        }
    }

    fn a_board_that_migrates_is_what_it_was(kind: Kind) {
        let (one, two) = (Server::builder(kind).tcp().start(), Server::builder(kind).tcp().start());
        let (mut here, mut there) = (one.connect(), two.connect());
        for (key, board, answers) in fill_all(&mut here) {
            expect(&mut here, &format!("MIGRATE 127.0.0.1 {} {key} 0 5000 COPY", two.port()), "+OK");
            board.assert_answers(&mut there, &key, &answers, "MIGRATE … COPY");
            board.assert_goes_on(&mut there, &key, "MIGRATE … COPY");
            expect(&mut here, &format!("MIGRATE 127.0.0.1 {} {key} 0 5000 REPLACE", two.port()), "+OK");
            board.assert_answers(&mut there, &key, &answers, "MIGRATE … REPLACE");
            expect(&mut there, &format!("MIGRATE 127.0.0.1 {} {key} 0 5000", one.port()), "+OK");
            board.assert_answers(&mut here, &key, &answers, "MIGRATE");
            board.assert_goes_on(&mut here, &key, "MIGRATE");
        }
        assert!(keys(&mut there).is_empty());
    }

    fn a_board_expires_whole(server: Server) {
        let mut con = server.connect();
        for schema in SCHEMAS {
            let board = Filled::small(&mut con, "b", schema);
            expect(&mut con, "EXPIRE b 1000", "1");
            board.assert_goes_on(&mut con, "b", "EXPIRE");
            keeps_its_time(&mut con, "several members");
            // Also where every update replaces the only member.
            expect(&mut con, "DEL b", "1");
            Filled::with(&mut con, "b", schema, vec![b"only".to_vec()]);
            expect(&mut con, "EXPIRE b 1000", "1");
            let score = |number| String::from_utf8(scores(schema, number, number).join(&b' ')).expect("digits");
            let mut writes = vec![format!("ADD b {} only", score(7)), format!("INCR b {} only", score(1)),
                format!("MULTISET b WITHRANK {} only", score(9)), "TRIM b 1".into(), "VERIFY b REPAIR".into()];
            if *schema != BARE {
                writes.extend(["ALTER b UPDATE BEST".into(), "REM b only".into(), format!("ADD b {} only", score(7)), "CLEAR b".into()]);
            }
            for write in &writes {
                let answer = reply(&mut con, &format!("RANK.{write}"));
                assert!(!is_error(&answer), "{schema}: {write}: {answer}");
                keeps_its_time(&mut con, write);
            }
            expect(&mut con, "PEXPIRE b 1", "1");
            wait_until(|| reply(&mut con, "EXISTS b") == "0");
            script(&mut con, "RANK.GET b only => nil\n RANK.COUNT b => 0\n RANK.INFO b => nil\n DBSIZE => 0");
        }
    }

    /// Boards of several keys were torn apart by eviction.
    fn a_board_is_evicted_whole_or_not_at_all(server: Server) {
        const BOARDS: usize = 300;
        const MEMBERS: usize = 30;
        let mut con = server.connect();
        let used = || server.info("used_memory").parse::<usize>().expect("bytes");
        let schemas = ["FIELD a INT FIELD b INT", "FIELD a DIGITS 3 FIELD b DIGITS 3", "FIELD a BITS 30 FIELD b BITS 30"];
        // Names of more than 64 bytes are not kept in the compact encoding.
        let name = |board: usize, member: usize| format!("m{member}{}", "x".repeat(board % 2 * 70));
        for policy in ["allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"] {
            script(&mut con, &format!("CONFIG SET maxmemory 0 => +OK\n FLUSHALL => +OK\n CONFIG SET maxmemory-policy {policy} => +OK\n CONFIG RESETSTAT => +OK"));
            let empty = used();
            for board in 0..BOARDS {
                let pairs: Vec<String> = (0..MEMBERS).map(|member| format!("{member} {board} {}", name(board, member))).collect();
                pipelined(&mut con, &[
                    format!("RANK.CREATE b{board} {}", schemas[board % 3]),
                    format!("RANK.ADD b{board} {}", pairs.join(" ")),
                    format!("EXPIRE b{board} {}", 10_000 + board),
                ]);
            }
            let most = empty + (used() - empty) / 2;
            expect(&mut con, &format!("CONFIG SET maxmemory {most}"), "+OK");
            wait_until(|| {
                // A write makes room first.
                reply(&mut con, "RANK.REM b0 nobody");
                reply(&mut con, "SET filler x");
                server.info("evicted_keys").parse::<usize>().expect("a count") > BOARDS / 5
            });
            expect(&mut con, "CONFIG SET maxmemory 0", "+OK");
            let mut survivors = 0;
            for board in 0..BOARDS {
                if reply(&mut con, &format!("EXISTS b{board}")) == "0" {
                    continue;
                }
                survivors += 1;
                let row = |member: usize| format!("[{}, \"{}\", {member}, {board}]", MEMBERS - member, name(board, member));
                let gets: Vec<String> = (0..MEMBERS).map(|member| format!("RANK.GET b{board} {}", name(board, member))).collect();
                for (member, got) in pipelined(&mut con, &gets).iter().enumerate() {
                    assert_eq!(show(got), row(member), "{policy}");
                }
                let rows: Vec<String> = (0..MEMBERS).rev().map(row).collect();
                expect(&mut con, &format!("RANK.TOPN b{board} 100"), &format!("[{}]", rows.join(", ")));
                expect(&mut con, &format!("RANK.VERIFY b{board}"), &format!(
                    r#"["cursor", 0, "checked", {MEMBERS}, "undecodable", 0, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", []]"#
                ));
            }
            assert!((1..BOARDS).contains(&survivors), "{policy}: {survivors} of {BOARDS} survived");
            // Nothing but boards is there, or was.
            let others: Vec<String> = keys(&mut con).into_iter().filter(|key| !key.starts_with('b') && key != "filler").collect();
            assert!(others.is_empty(), "{policy}: {others:?}");
        }
    }

    fn without_eviction_a_full_server_refuses_writes_that_grow(server: Server) {
        let mut con = server.connect();
        let boards = fill_all(&mut con);
        with_attributes(&mut con);
        script(&mut con, "CONFIG SET maxmemory-policy noeviction => +OK\n CONFIG SET maxmemory 1 => +OK");
        for write in [
            "RANK.ADD b 5 5 new", "RANK.ADD b 5 5 ann", "RANK.INCR b 1 1 ann", "RANK.CREATE new FIELD a INT",
            "RANK.MULTISET new 1 2 x", "RANK.SETDATA b ann k v",
        ] {
            let answer = reply(&mut con, write);
            assert!(answer.starts_with("OOM"), "{write}: {answer}");
        }
        for (key, board, answers) in &boards {
            // All but RANK.VERIFY, which may have to write.
            let (reads, verified) = (board.answers(&mut con, key), answers.len() - 1);
            assert!(reads[..verified] == answers[..verified], "{}", board.schema);
            let name = &board.names[0];
            assert_eq!(replyv(&mut con, &[b"RANK.REM", key.as_bytes(), name]), "1", "{}", board.schema);
        }
        expect(&mut con, "CONFIG SET maxmemory 0", "+OK");
        has_attributes(&mut con, "b");
        script(&mut con, "CONFIG SET maxmemory 1 => +OK\n RANK.TRIM b 1 => 1\n RANK.CLEAR b => 1\n RANK.GET b bob => nil\n KEYS rank:* => []");
    }

    /// Boards made and deleted one after the other once ended in OOM on an empty database.
    fn boards_that_are_made_and_deleted_leave_no_memory_behind(kind: Kind) {
        let rounds = if server_wrapper().is_some() { 3_000 } else { 60_000 };
        let server = Server::builder(kind).config("maxmemory 20mb").config("maxmemory-policy noeviction").start();
        let churn = |rounds: usize| {
            let mut flood = Flood::connect(&server);
            for round in 0..rounds {
                let board = format!("board-{round}");
                let field = format!("f{}", round % 20);
                let sent = flood.send(&["RANK.CREATE", &board, "FIELD", &field, "INT", "FIELD", "b", "INT"])
                    && flood.send(&["RANK.ADD", &board, "1", "2", "x", "3", "4", "y"])
                    && flood.send(&["RANK.MULTISET", "same", "1", "2", "x"])
                    && flood.send(&["DEL", &board, "same"]);
                assert!(sent, "the server is gone");
            }
            assert!(flood.flush(), "the server is gone");
        };
        let used = || server.info("used_memory").parse::<i64>().expect("bytes");
        churn(2_000);
        // The buffers of the flood go when the server notices that its client is gone.
        wait_until(|| server.info("connected_clients") == "1");
        let base = used();
        churn(rounds);
        wait_until(|| server.info("connected_clients") == "1");
        let (after, slack) = (used(), 500_000);
        assert!(after - base < slack, "{base} bytes before, {after} after");
        let mut con = server.connect();
        script(&mut con, "DBSIZE => 0\n RANK.MULTISET b 1 2 x => 1");
        let errors = reply(&mut con, "INFO errorstats");
        assert!(!errors.contains("errorstat_"), "{errors}");
    }

    fn losing_the_marker_costs_no_attributes(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a INT FIELD b INT", "FIELD a DIGITS 3 FIELD b DIGITS 3", "FIELD a BITS 30 FIELD b BITS 30"] {
            script(&mut con, &format!(r#"
                FLUSHALL => +OK
                RANK.CREATE b {schema} DATA players => +OK
                RANK.ADD b 1 2 ann 3 4 bob => 2
                RANK.SETDATA b ann name Ann => 1
                RANK.SETDATA b bob name Bob => 1
            "#));
            has_attributes(&mut con, "b");
            let Ok(Value::Array(popped)) = cmd(&mut con, "ZPOPMIN b") else { panic!("no marker") };
            assert!(bytes(&popped[0]).starts_with(b"\0rank 2 "), "{schema}: {}", show(&popped[0]));
            // Many rounds of the server's own work come and go.
            let cycles = |server: &Server| server.info("uptime_in_seconds").parse::<u64>().expect("seconds");
            let start = cycles(&server);
            wait_until(|| cycles(&server) > start);
            script(&mut con, &format!(r#"
                HGET players ann => "{{\"name\":\"Ann\"}}"
                HLEN players => 2
                RANK.CREATE b {schema} DATA players ADOPT => +OK
            "#));
            has_attributes(&mut con, "b");
            assert_eq!(keys(&mut con), ["b", "players"]);
        }
    }

    fn names_at_minus_infinity_do_not_hide_the_others(server: Server) {
        let names = if server_wrapper().is_some() { 5_000 } else { 200_000 };
        let mut con = server.connect();
        let mut flood = Flood::connect(&server);
        for chunk in 0..names / 1000 {
            let mut command = vec!["ZADD".to_string(), "plain".to_string()];
            command.extend((0..1000).flat_map(|at| ["-inf".to_string(), format!("\0name-{chunk}-{at}")]));
            assert!(flood.send(&command));
        }
        assert!(flood.flush());
        script(&mut con, &format!(r#"
            RANK.ADD plain 5 ann 7 bob => 2
            RANK.SCORE plain ann => "5"
            RANK.GET plain ann => [2, "ann", "5"]
            RANK.SCORE plain "\x00name-0-0" => "-inf"
            RANK.GET plain "\x00name-0-0" => [3, "\x00name-0-0", "-inf"]
            RANK.COUNT plain => {}
        "#, names + 2));
        // Before a marker there may be none; up to sixteen are looked behind.
        script(&mut con, "RANK.CREATE b FIELD a DIGITS 3 => +OK\n RANK.ADD b 5 ann => 1");
        for count in [1, 16] {
            for at in 0..count {
                reply(&mut con, &format!(r#"ZADD b -inf "\x00before-{at}""#));
            }
            let answer = reply(&mut con, "RANK.SCORE b ann");
            assert_eq!(answer, "DAMAGED the board is damaged: elements at -inf come before its marker; run RANK.VERIFY key REPAIR, or ZREM them and use RANK.CREATE key ... ADOPT");
        }
        expect(&mut con, "ZUNIONSTORE b 2 b plain", &(names + 19).to_string());
        let answer = reply(&mut con, "RANK.SCORE b bob");
        assert!(answer == "\"7\"" || answer.starts_with("DAMAGED the board is damaged"), "{answer}");
    }

    fn any_name_will_do_for_a_board(server: Server) {
        let mut con = server.connect();
        let long = "k".repeat(70_000);
        for key in ["", "a}b", "{}x", "}", "{}{a}", "rank:members:{k}", "rank:data:{k}", "rank:", "\0", "\0rank 1", "\n % \"", &long] {
            for command in [&["RANK.MULTISET", key, "3", "4", "ann"][..], &["RANK.ADD", key, "1", "2", "bob"]] {
                assert_eq!(replyv(&mut con, command), "1", "{}", key.escape_debug());
            }
            assert_eq!(replyv(&mut con, &["RANK.GET", key, "bob"]), r#"[2, "bob", 1, 2]"#);
            assert_eq!(replyv(&mut con, &["RENAME", key, "other"]), "+OK");
            expect(&mut con, "RANK.GET other bob", r#"[2, "bob", 1, 2]"#);
            assert_eq!(replyv(&mut con, &["RANK.ROTATE", "other", key]), "2");
            assert_eq!(replyv(&mut con, &["RANK.SCORE", key, "ann"]), "[3, 4]");
            script(&mut con, "RANK.COUNT other => 0\n DBSIZE => 2\n FLUSHALL => +OK");
        }
    }

    fn no_write_makes_a_key_that_nobody_named(server: Server) {
        let mut con = server.connect();
        for (key, board, _) in fill_all(&mut con) {
            board.assert_goes_on(&mut con, &key, "nothing");
        }
        script(&mut con, "RANK.MULTISET m 1 2 x => 1\n RANK.ROTATE m old => 1\n RANK.CREATE like LIKE old => +OK\n RANK.ALTER old KEEP 5 => +OK");
        with_attributes(&mut con);
        script(&mut con, r#"
            RANK.ADD b DATA {"name":"Eve"} 5 6 eve => 1
            RANK.TRIM b 2 => 1
            RANK.VERIFY b REPAIR => ["cursor", 0, "checked", 2, "undecodable", 0, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", []]
            RANK.CLEAR like => 0
            KEYS rank:* => []
        "#);
        assert_eq!(keys(&mut con).len(), SCHEMAS.len() * 2 + 5);
        // Deleting boards leaves what belongs to the user, and nothing else.
        for key in keys(&mut con).into_iter().filter(|key| key != "players") {
            let end = ["DEL", "UNLINK", "PEXPIRE"][key.len() % 3];
            assert_eq!(reply(&mut con, &format!("{end} {key}{}", if end == "PEXPIRE" { " 1" } else { "" })), "1");
        }
        wait_until(|| reply(&mut con, "DBSIZE") == "1");
        assert_eq!(keys(&mut con), ["players"]);
    }

    fn whatever_ends_a_board_ends_all_of_it(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        let replica = Server::builder(kind).without_module().replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        let mut con = primary.connect();
        script(&mut con, "ZADD other 1 a => 1\n RPUSH list 1 => 1");
        for end in [
            "DEL b", "UNLINK b", "PEXPIRE b 1", "PEXPIREAT b 1", "SET b x", "COPY other b REPLACE", "ZUNIONSTORE b 1 other",
            "SORT list STORE b", "ZREMRANGEBYRANK b 0 -1", "ZPOPMIN b 9", "EVAL \"redis.call('DEL', KEYS[1])\" 1 b",
        ] {
            with_attributes(&mut con);
            let answer = reply(&mut con, end);
            assert!(!is_error(&answer), "{end}: {answer}");
            if end.starts_with("PEXPIRE") {
                wait_until(|| reply(&mut con, "EXISTS b") == "0");
            }
            reply(&mut con, "DEL b");
            assert_eq!(keys(&mut con), ["list", "other", "players"], "{end}");
            // The next board of that name begins empty; the attributes are the user's.
            script(&mut con, "RANK.MULTISET b 8 8 ann => 1\n RANK.GET b bob => nil\n RANK.TOPN b 9 => [[1, \"ann\", 8, 8]]\n DEL b players => 2");
        }
        replica.wait_for_sync(&primary);
        assert_eq!(keys(&mut replica.connect()), ["list", "other"]);
    }
}
