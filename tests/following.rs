//! Companions follow their board: dropped soon after it is gone, taken along when it is renamed or
//! moved, healed by the next write where a core command came between.

use redis::{Connection, Value};

use crate::script::script;
use crate::support::*;
use crate::workload::{all_keys, assert_same, check_boards, snapshot};

/// A board with both companions: one member `x`, one attribute `k` that is the board's first name.
#[track_caller]
fn make(con: &mut Connection, board: &str) {
    script(con, &format!("RANK.MULTISET {board} 1 2 x => 1\n RANK.SETDATA {board} x k {board} => 1"));
}

fn companions(board: &str) -> [String; 2] {
    let name = if board.contains('}') { format!(":{board}") } else { format!("{{{board}}}") };
    [format!("rank:members:{name}"), format!("rank:data:{name}")]
}

/// That the board of this name is the one that was made as `made`, with all that belongs to it.
#[track_caller]
fn whole(con: &mut Connection, board: &str, made: &str) {
    let [members, data] = companions(board);
    script(
        con,
        &format!(
            r#"
        RANK.GETDATA {board} x => ["k", "{made}"]
        RANK.SCORE {board} x => [1, 2]
        EXISTS {members} {data} => 2
        RANK.VERIFY {board} => ["cursor", 0, "checked", 1, "undecodable", 0, "missing", 0, "orphaned", 0, "repaired", 0, "examples", []]
    "#
        ),
    );
}

fn keys(con: &mut Connection) -> Vec<String> {
    all_keys(con).iter().map(|key| key.escape_ascii().to_string()).collect()
}

/// Waits until these are all the keys there are.
#[track_caller]
fn wait_for_keys(con: &mut Connection, expected: &[&str]) {
    let mut expected: Vec<String> = expected.iter().map(|key| key.to_string()).collect();
    expected.sort();
    let start = std::time::Instant::now();
    loop {
        let seen = keys(con);
        if seen == expected {
            return;
        }
        assert!(start.elapsed() < deadline(), "the keys are {seen:?}, not {expected:?}");
    }
}

#[track_caller]
fn wait_for_whole(con: &mut Connection, board: &str, made: &str) {
    let [members, data] = companions(board);
    wait_until(|| reply(con, &format!("EXISTS {members} {data}")) == "2");
    whole(con, board, made);
}

/// One round trip for all lines, so that nothing of the server's own comes between.
fn pipelined(con: &mut Connection, lines: &[&str]) {
    let mut pipe = redis::pipe();
    for line in lines {
        let mut words = line.split(' ');
        let command = pipe.cmd(words.next().expect("a command"));
        words.for_each(|word| {
            command.arg(word);
        });
    }
    pipe.exec(con).expect("all of them work");
}

/// Makes the keeper look at everything, and waits until it has.
#[track_caller]
fn scan_to_the_end(con: &mut Connection) {
    script(con, "CONFIG SET hz 100 => +OK\n SELECT 15 => +OK\n HSET rank:data:{orphan} id 0123456789abcdef => 1\n SWAPDB 1 2 => +OK");
    wait_for_keys(con, &[]);
    expect(con, "SELECT 0", "+OK");
}

on_every_server! {
    fn whatever_ends_a_board_drops_its_companions_everywhere(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        let replica = Server::builder(kind).without_module().replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        let mut con = primary.connect();
        script(&mut con, "ZADD other 1 a => 1\n RPUSH list 1 => 1");
        for end in [
            "DEL b", "UNLINK b", "PEXPIRE b 1", "PEXPIREAT b 1", "SET b x", "COPY other b REPLACE", "ZUNIONSTORE b 1 other",
            "SORT list STORE b", "ZREMRANGEBYRANK b 0 -1", "ZPOPMIN b 9", "EVAL \"redis.call('DEL', KEYS[1])\" 1 b",
        ] {
            make(&mut con, "b");
            let answer = reply(&mut con, end);
            assert!(!answer.starts_with("ERR"), "{end}: {answer}");
            wait_until(|| reply(&mut con, "EXISTS rank:members:{b} rank:data:{b}") == "0");
            reply(&mut con, "DEL b");
            wait_for_keys(&mut con, &["list", "other"]);
        }
        replica.wait_for_sync(&primary);
        wait_for_keys(&mut replica.connect(), &["list", "other"]);
        assert_same(&snapshot(&mut con), &snapshot(&mut replica.connect()), "the replica");
    }

    fn renaming_another_key_onto_a_board_leaves_nothing_of_the_old_one(server: Server) {
        let mut con = server.connect();
        make(&mut con, "b");
        script(&mut con, "ZADD other 1 a => 1\n RENAME other b => +OK");
        wait_for_keys(&mut con, &["b"]);
        // Another board: its companions take the place of the old ones.
        script(&mut con, "DEL b => 1");
        make(&mut con, "b");
        make(&mut con, "c");
        expect(&mut con, "RENAME c b", "+OK");
        wait_for_keys(&mut con, &["b", "rank:data:{b}", "rank:members:{b}"]);
        whole(&mut con, "b", "c");
    }

    fn eviction_drops_companions(server: Server) {
        let mut con = server.connect();
        for board in ["a", "b", "c"] {
            make(&mut con, board);
            expect(&mut con, &format!("EXPIRE {board} 10000"), "1");
        }
        script(&mut con, "CONFIG SET maxmemory-policy volatile-ttl => +OK\n CONFIG SET maxmemory 1 => +OK");
        wait_until(|| {
            reply(&mut con, "SET x 1");
            reply(&mut con, "EXISTS a b c") == "0"
        });
        expect(&mut con, "CONFIG SET maxmemory 0", "+OK");
        wait_until(|| !keys(&mut con).iter().any(|key| key.starts_with("rank:")));
    }

    fn a_renamed_board_takes_its_companions_along(server: Server) {
        let mut con = server.connect();
        make(&mut con, "b");
        let mut now = "b".to_string();
        for (command, next) in [("RENAME", "c"), ("RENAMENX", "{c}d"), ("RENAME", "x{c}"), ("RENAME", "e{f"), ("RENAME", "b")] {
            let answer = reply(&mut con, &format!("{command} {now} {next}"));
            assert!(["+OK", "1"].contains(&answer.as_str()), "{answer}");
            wait_for_whole(&mut con, next, "b");
            now = next.into();
            let [members, data] = companions(next);
            wait_for_keys(&mut con, &[next, &members, &data]);
        }
        expect(&mut con, "RENAME b b", "+OK");
        // Where no companion can have a name, nothing is left behind.
        expect(&mut con, "RENAME b b}", "+OK");
        wait_for_keys(&mut con, &["b}"]);
    }

    fn a_board_that_was_renamed_twice_at_once_keeps_its_attributes(server: Server) {
        let mut con = server.connect();
        make(&mut con, "a");
        script(&mut con, "MULTI => +OK\n RENAME a b => +QUEUED\n RENAME b c => +QUEUED\n EXEC => [+OK, +OK]");
        wait_for_keys(&mut con, &["c", "rank:data:{c}", "rank:members:{c}"]);
        whole(&mut con, "c", "a");
        pipelined(&mut con, &["RENAME c d", "RENAME d e", "RENAME e f"]);
        wait_for_keys(&mut con, &["f", "rank:data:{f}", "rank:members:{f}"]);
        whole(&mut con, "f", "a");
    }

    fn two_boards_that_change_places_keep_their_attributes(server: Server) {
        let mut con = server.connect();
        make(&mut con, "p");
        make(&mut con, "q");
        script(&mut con, "MULTI => +OK\n RENAME p t => +QUEUED\n RENAME q p => +QUEUED\n RENAME t q => +QUEUED\n EXEC => [+OK, +OK, +OK]");
        wait_for_keys(&mut con, &["p", "q", "rank:data:{p}", "rank:data:{q}", "rank:members:{p}", "rank:members:{q}"]);
        wait_for_whole(&mut con, "p", "q");
        wait_for_whole(&mut con, "q", "p");
    }

    fn a_board_that_is_renamed_away_and_made_anew_at_once_gives_two_whole_boards(server: Server) {
        let mut con = server.connect();
        make(&mut con, "b");
        script(&mut con, r#"
            MULTI => +OK
            RENAME b old => +QUEUED
            RANK.MULTISET b 1 2 x => +QUEUED
            RANK.SETDATA b x k new => +QUEUED
            EXEC => [+OK, 1, 1]
        "#);
        wait_for_whole(&mut con, "b", "new");
        wait_for_whole(&mut con, "old", "b");
    }

    fn a_board_that_moves_to_another_database_takes_its_companions_along(server: Server) {
        let mut con = server.connect();
        make(&mut con, "b");
        script(&mut con, "SELECT 5 => +OK\n HSET rank:data:{b} id 0123456789abcdef :x old => 2\n SELECT 0 => +OK\n MOVE b 5 => 1");
        wait_for_keys(&mut con, &[]);
        expect(&mut con, "SELECT 5", "+OK");
        wait_for_whole(&mut con, "b", "b");
        expect(&mut con, "DEL b", "1");
        wait_for_keys(&mut con, &[]);
    }

    fn a_board_that_is_deleted_and_made_anew_at_once_is_whole(server: Server) {
        let mut con = server.connect();
        make(&mut con, "old");
        expect(&mut con, "RENAME old b", "+OK");
        wait_for_whole(&mut con, "b", "old");
        script(&mut con, r#"
            MULTI => +OK
            DEL b => +QUEUED
            RANK.MULTISET b 1 2 x => +QUEUED
            RANK.SETDATA b x k b => +QUEUED
            EXEC => [1, 1, 1]
        "#);
        whole(&mut con, "b", "b");
        // The keeper was here: it drops the companions of the next one that goes.
        make(&mut con, "c");
        expect(&mut con, "DEL c", "1");
        wait_for_keys(&mut con, &["b", "rank:data:{b}", "rank:members:{b}"]);
        whole(&mut con, "b", "b");
        pipelined(&mut con, &["DEL b", "RANK.MULTISET b 1 2 x", "RANK.SETDATA b x k again"]);
        make(&mut con, "c");
        expect(&mut con, "DEL c", "1");
        wait_for_keys(&mut con, &["b", "rank:data:{b}", "rank:members:{b}"]);
        whole(&mut con, "b", "again");
    }

    fn copies_restored_boards_and_removed_elements_heal_by_the_next_write(server: Server) {
        let mut con = server.connect();
        make(&mut con, "b");
        script(&mut con, "RANK.ADD b 3 4 y => 1\n COPY b c => 1\n RANK.COUNT c => 2");
        assert!(reply(&mut con, "RANK.SCORE c y").contains("out of step"));
        script(&mut con, "RANK.ADD c 5 6 z => 1\n RANK.SCORE c y => [3, 4]\n RANK.GETDATA c x => []");

        let Ok(Value::BulkString(dump)) = cmd(&mut con, "DUMP b") else { panic!("no dump") };
        assert_eq!(show_result(&cmdv(&mut con, &[b"RESTORE".as_slice(), b"d", b"0", &dump])), "+OK");
        script(&mut con, "RANK.REM d y => 1\n RANK.SCORE d x => [1, 2]");

        let Ok(Value::Array(elements)) = cmd(&mut con, "ZRANGE b -1 -1") else { panic!("no element") };
        let Value::BulkString(element) = &elements[0] else { panic!("no element") };
        assert_eq!(show_result(&cmdv(&mut con, &[b"ZREM".as_slice(), b"b", element])), "1");
        assert!(reply(&mut con, "RANK.SCORE b x").contains("out of step"));
        script(&mut con, "RANK.ADD b 7 8 z => 1\n RANK.SCORE b x => [1, 2]\n RANK.SCORE b y => nil");
        check_boards(&mut con, false);
    }

    fn companions_that_came_key_by_key_go_with_their_board(server: Server) {
        // As a backup tool, MIGRATE and atomic slot migration bring them.
        let elsewhere = Server::builder(server.kind()).start();
        make(&mut elsewhere.connect(), "b");
        let mut con = server.connect();
        scan_to_the_end(&mut con);
        for name in ["b", "rank:members:{b}", "rank:data:{b}"] {
            let Ok(Value::BulkString(dump)) = cmdv(&mut elsewhere.connect(), &["DUMP", name]) else { panic!("no dump") };
            assert_eq!(show_result(&cmdv(&mut con, &[b"RESTORE", name.as_bytes(), b"0", &dump])), "+OK");
        }
        whole(&mut con, "b", "b");
        expect(&mut con, "DEL b", "1");
        wait_for_keys(&mut con, &[]);
    }

    fn databases_that_are_swapped_keep_their_boards(server: Server) {
        let mut con = server.connect();
        make(&mut con, "b");
        expect(&mut con, "SWAPDB 0 3", "+OK");
        make(&mut con, "c");
        expect(&mut con, "SELECT 3", "+OK");
        whole(&mut con, "b", "b");
        expect(&mut con, "DEL b", "1");
        wait_for_keys(&mut con, &[]);
        expect(&mut con, "SELECT 0", "+OK");
        whole(&mut con, "c", "c");
        expect(&mut con, "DEL c", "1");
        wait_for_keys(&mut con, &[]);
    }

    fn after_everything_was_flushed_new_boards_are_followed_too(server: Server) {
        let mut con = server.connect();
        for flush in ["FLUSHALL", "FLUSHDB", "FLUSHALL ASYNC"] {
            make(&mut con, "b");
            make(&mut con, "c");
            expect(&mut con, flush, "+OK");
            make(&mut con, "b");
            whole(&mut con, "b", "b");
            expect(&mut con, "DEL b", "1");
            wait_for_keys(&mut con, &[]);
        }
    }

    fn what_was_orphaned_while_the_module_was_away_is_dropped_at_the_next_start(kind: Kind) {
        let mut server = Server::builder(kind).start();
        for db in [0, 7] {
            let mut con = server.connect();
            expect(&mut con, &format!("SELECT {db}"), "+OK");
            for board in ["gone", "kept", "changed"] {
                make(&mut con, board);
            }
        }
        server.restart_with(Builder::without_module);
        for db in [0, 7] {
            script(&mut server.connect(), &format!("SELECT {db} => +OK"));
            let mut con = server.connect();
            script(&mut con, &format!("SELECT {db} => +OK\n DEL gone => 1\n SET changed x => +OK\n HSET rank:data:{{mine}} a b => 1"));
        }
        server.restart_with(|builder| builder.args(&[]));
        for db in [0, 7] {
            let mut con = server.connect();
            expect(&mut con, &format!("SELECT {db}"), "+OK");
            wait_for_keys(&mut con, &["changed", "kept", "rank:data:{kept}", "rank:data:{mine}", "rank:members:{kept}"]);
            whole(&mut con, "kept", "kept");
            expect(&mut con, "DEL kept", "1");
            wait_for_keys(&mut con, &["changed", "rank:data:{mine}"]);
        }
    }

    fn a_promoted_replica_follows_boards_from_then_on(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        make(&mut primary.connect(), "before");
        let replica = Server::builder(kind).replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        make(&mut primary.connect(), "after");
        replica.wait_for_sync(&primary);
        let mut con = replica.connect();
        expect(&mut con, "REPLICAOF NO ONE", "+OK");
        whole(&mut con, "before", "before");
        whole(&mut con, "after", "after");
        // Whether the scan that follows a promotion has come past them or not.
        expect(&mut con, "DEL after before", "2");
        wait_for_keys(&mut con, &[]);
    }

    fn what_is_somebody_elses_stays(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            HSET rank:data:{gone} a b => 1
            HSET rank:members:{plain} id me :x y => 2
            ZADD plain 1 x => 1
            SET rank:data:{plain} text => +OK
            RPUSH rank:members:{gone} x => 1
            HSET rank:other:{gone} id 0123456789abcdef => 1
            HSET rank:data:no-braces id 0123456789abcdef => 1
            HSET rank:data:{gone}x id 0123456789abcdef => 1
        "#);
        let before = snapshot(&mut con);
        script(&mut con, "RANK.ADD plain 2 x => 0\n RANK.REM plain x => 1\n ZADD plain 1 x => 1\n ZADD gone 1 x => 1\n DEL gone => 1");
        make(&mut con, "b");
        expect(&mut con, "DEL b", "1");
        wait_until(|| reply(&mut con, "EXISTS rank:data:{b} rank:members:{b}") == "0");
        scan_to_the_end(&mut con);
        assert_same(&before, &snapshot(&mut con), "the same server, later");
    }

    fn boards_whose_names_differ_by_braces_never_meet(server: Server) {
        let mut con = server.connect();
        let boards = ["a", "{a}", "{a}a", "a{a}", "{{a}", "{a"];
        for board in boards {
            make(&mut con, board);
        }
        assert_eq!(keys(&mut con).len(), 3 * boards.len());
        for board in boards {
            whole(&mut con, board, board);
        }
        for (at, board) in boards.iter().enumerate() {
            expect(&mut con, &format!("DEL {board}"), "1");
            wait_until(|| keys(&mut con).len() == 3 * (boards.len() - 1 - at));
            for other in &boards[at + 1..] {
                whole(&mut con, other, other);
            }
        }
    }

    fn nothing_is_dropped_while_writes_are_paused(kind: Kind) {
        // A write of the server's own during a pause would be lost by a failover: servers end themselves over it.
        let server = Server::builder(kind).appendonly().config("hz 100").start();
        let mut con = server.connect();
        for end in ["SET b 1", "DEL b", "RENAME b c", "PEXPIRE b 1"] {
            expect(&mut con, "FLUSHALL", "+OK");
            make(&mut con, "b");
            script(&mut con, &format!("MULTI => +OK\n {end} => +QUEUED\n CLIENT PAUSE 100000 WRITE => +QUEUED"));
            let answer = reply(&mut con, "EXEC");
            assert!(answer.ends_with("+OK]"), "{end}: {answer}");
            // Several rounds of the server's own work.
            let round = |server: &Server| server.info("uptime_in_seconds").parse::<u64>().expect("seconds");
            let start = round(&server);
            wait_until(|| round(&server) > start);
            expect(&mut con, "CLIENT UNPAUSE", "+OK");
            wait_until(|| reply(&mut con, "EXISTS rank:data:{b} rank:members:{b}") == "0");
            if end.starts_with("RENAME") {
                wait_for_whole(&mut con, "c", "b");
            }
        }
    }
}

on_every_server! {
    fn what_is_not_a_companion_is_never_touched(server: Server) {
        let mut con = server.connect();
        // A hash of somebody's own beside a board, met by the scan.
        script(&mut con, "RANK.CREATE b KEEP 5 => +OK\n HSET rank:data:{b} mine 1 => 1\n SWAPDB 1 2 => +OK");
        scan_to_the_end(&mut con);
        expect(&mut con, "HGET rank:data:{b} mine", "\"1\"");
        // A key under the name that a companion would get by a rename, a rotation, or while it steps aside.
        script(&mut con, "SET rank:members:{c} mine => +OK\n RANK.MULTISET a 1 2 x => 1\n RENAME a c => +OK");
        wait_until(|| reply(&mut con, "EXISTS rank:members:{a}") == "0");
        expect(&mut con, "GET rank:members:{c}", "\"mine\"");
        script(&mut con, "SET rank:members:{arch} mine => +OK\n RANK.MULTISET r 1 2 x => 1");
        assert!(reply(&mut con, "RANK.ROTATE r arch").contains("another type"));
        script(&mut con, "GET rank:members:{arch} => \"mine\"\n RANK.SCORE r x => [1, 2]\n EXISTS arch => 0");
        make(&mut con, "p");
        make(&mut con, "q");
        expect(&mut con, "SET rank:members:{p}~ mine", "+OK");
        script(&mut con, "MULTI => +OK\n RENAME p t => +QUEUED\n RENAME q p => +QUEUED\n RENAME t q => +QUEUED\n EXEC => [+OK, +OK, +OK]");
        wait_for_whole(&mut con, "p", "q");
        wait_for_whole(&mut con, "q", "p");
        expect(&mut con, "GET rank:members:{p}~", "\"mine\"");
    }

    fn a_transaction_or_script_that_moves_a_board_sees_it_whole(server: Server) {
        let mut con = server.connect();
        make(&mut con, "a");
        script(&mut con, r#"
            MULTI => +OK
            RENAME a b => +QUEUED
            RANK.GET b x => +QUEUED
            RANK.TOPN b 5 WITHDATA => +QUEUED
            EXEC => [+OK, [1, "x", 1, 2], [[1, "x", 1, 2, ["k", "a"]]]]
        "#);
        wait_for_keys(&mut con, &["b", "rank:data:{b}", "rank:members:{b}"]);
        expect(
            &mut con,
            "EVAL \"redis.call('RENAME', 'b', 'c'); return redis.call('RANK.GETDATA', 'c', 'x')\" 2 b c",
            r#"["k", "a"]"#,
        );
        wait_for_keys(&mut con, &["c", "rank:data:{c}", "rank:members:{c}"]);
        script(&mut con, "MULTI => +OK\n MOVE c 3 => +QUEUED\n EXEC => [1]");
        wait_for_keys(&mut con, &[]);
        expect(&mut con, "SELECT 3", "+OK");
        whole(&mut con, "c", "a");
        script(&mut con, r#"
            MULTI => +OK
            MOVE c 0 => +QUEUED
            SELECT 0 => +QUEUED
            RENAME c d => +QUEUED
            EXEC => [1, +OK, +OK]
        "#);
        wait_for_keys(&mut con, &["d", "rank:data:{d}", "rank:members:{d}"]);
        whole(&mut con, "d", "a");
    }
}
