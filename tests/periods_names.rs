//! The periods of a board belong to it under its name. A copy, or a board that was renamed, neither feeds nor empties them:
//! it says so, until one `RANK.ALTER` takes them over or drops them.

use redis::Connection;

use crate::support::*;

/// 2023-11-14T22:13:20Z. The periods are long, so that none of them ends.
const AT: i64 = 1_700_000_000_000;
const PERIODS: &str = "PERIOD MONTH {g}:month: PAST 500 PERIOD YEAR {g}:year: PAST 100";
const MONTH: &str = "{g}:month:2023-11";
const YEAR: &str = "{g}:year:2023";

fn error(owner: &str) -> String {
    format!(
        "SCHEMA the board's periods belong to {owner}, which feeds them: take each over with RANK.ALTER key PERIOD, or \
         drop it with NOPERIOD, all in one call (month, year)"
    )
}

/// A board with two members, on it and on its periods.
fn fill(con: &mut Connection, key: &str) {
    expect(con, &format!("RANK.CREATE {key} {PERIODS}"), "+OK");
    expect(con, &format!("RANK.ADD {key} AT {AT} 50 ann 70 bob"), "2");
}

const LIVE: &str = r#"[[1, "bob", "70"], [2, "ann", "50"]]"#;

#[track_caller]
fn check_live(con: &mut Connection) {
    for key in [MONTH, YEAR] {
        expect(con, &format!("RANK.TOPN {key} 9"), LIVE);
    }
}

/// What a board under another name does, and does not do.
#[track_caller]
fn check_stranger(con: &mut Connection, key: &str, owner: &str) {
    let error = error(owner);
    for write in [
        format!("RANK.ADD {key} AT {AT} 99 eve"),
        format!("RANK.ADD {key} BOARD 1 XX CH WITHRANK PERIOD year AT {AT} 99 ann"),
        format!("RANK.MULTISET {key} AT {AT} 99 eve 98 dan"),
        format!("RANK.INCR {key} AT {AT} 1 ann"),
        format!("RANK.REM {key} ann"),
        format!("RANK.CREATE {key} {PERIODS}"),
        format!("RANK.ALTER {key} PERIOD MONTH {{g}}:month: PAST 500"),
        format!("RANK.ALTER {key} KEEP 5 NOPERIOD year"),
        format!("RANK.ALTER {key} PERIOD DAY {{g}}:day:"),
    ] {
        expect(con, &write, &error);
    }
    // All else acts on this board alone.
    expect(con, &format!("RANK.TOPN {key} 9"), LIVE);
    expect(con, &format!("RANK.TOPN {key} 9 PERIOD year 2023"), LIVE);
    expect(con, &format!("RANK.ALTER {key} KEEP 500"), "+OK");
    expect(con, &format!(r#"RANK.LOAD {key} {{"member":"cid","score":1}}"#), "1");
    expect(con, &format!("RANK.TRIM {key} 2"), "1");
    expect(con, &format!("RANK.POP {key} 1"), r#"[[1, "bob", "70"]]"#);
    expect(con, &format!(r#"RANK.LOAD {key} {{"member":"bob","score":70}}"#), "1");
    expect(con, &format!("RANK.ALTER {key} NOKEEP"), "+OK");
    expect(con, &format!("RANK.ADD {key} 99 eve"), &error);
    check_live(con);
}

fn dump_and_restore(con: &mut Connection, from: &str, to: &str) {
    let Ok(redis::Value::BulkString(dump)) = cmdv(con, &["DUMP", from]) else { panic!("no dump of {from}") };
    let restored = cmdv(con, &[b"RESTORE".as_slice(), to.as_bytes(), b"0", &dump, b"REPLACE"]);
    assert_eq!(show_result(&restored), "+OK");
}

on_every_server! {
    fn a_copy_feeds_no_periods(server: Server) {
        let mut con = server.connect();
        fill(&mut con, "{g}");
        expect(&mut con, "COPY {g} {g}:backup", "1");
        check_stranger(&mut con, "{g}:backup", "'{g}'");
        expect(&mut con, "RANK.CLEAR {g}:backup", "2");
        expect(&mut con, &format!("RANK.ADD {{g}}:backup AT {AT} 1 eve"), &error("'{g}'"));
        check_live(&mut con);
        // The board itself goes on.
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} 80 cid"), "1");
        expect(&mut con, &format!("RANK.GET {YEAR} cid"), r#"[1, "cid", "80"]"#);
        expect(&mut con, "RANK.REM {g} cid", "1");
        check_live(&mut con);
    }

    fn a_renamed_or_restored_board_feeds_no_periods_until_it_has_its_name_again(server: Server) {
        let mut con = server.connect();
        fill(&mut con, "{g}");
        expect(&mut con, "RENAME {g} {g}:old", "+OK");
        check_stranger(&mut con, "{g}:old", "'{g}'");
        expect(&mut con, "RENAME {g}:old {g}", "+OK");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} 71 bob"), "0");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} 70 bob"), "0");
        dump_and_restore(&mut con, "{g}", "{g}:restored");
        check_stranger(&mut con, "{g}:restored", "'{g}'");
        expect(&mut con, "COPY {g}:restored {g} REPLACE", "1");
        expect(&mut con, &format!("RANK.INCR {{g}} AT {AT} 1 bob"), "\"71\"");
        expect(&mut con, &format!("RANK.GET {MONTH} bob"), r#"[1, "bob", "71"]"#);
    }

    fn one_alter_takes_periods_over_or_drops_them(server: Server) {
        let mut con = server.connect();
        fill(&mut con, "{g}");
        for key in ["{g}:both", "{g}:none", "{g}:one"] {
            expect(&mut con, &format!("COPY {{g}} {key}"), "1");
        }
        expect(&mut con, &format!("RANK.ALTER {{g}}:both {PERIODS}"), "+OK");
        expect(&mut con, &format!("RANK.ADD {{g}}:both AT {AT} 60 cid"), "1");
        expect(&mut con, &format!("RANK.GET {YEAR} cid"), r#"[2, "cid", "60"]"#);
        expect(&mut con, "RANK.REM {g}:both cid", "1");
        check_live(&mut con);
        // The other board still has its own.
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} 60 cid"), "1");
        expect(&mut con, "RANK.REM {g} cid", "1");

        expect(&mut con, "RANK.ALTER {g}:none NOPERIOD month NOPERIOD year", "+OK");
        expect(&mut con, "RANK.ADD {g}:none 60 cid", "1");
        expect(&mut con, "RANK.PERIODS {g}:none", "[]");

        expect(&mut con, "RANK.ALTER {g}:one NOPERIOD month PERIOD YEAR {g}:new: PAST 100", "+OK");
        expect(&mut con, &format!("RANK.ADD {{g}}:one AT {AT} 60 cid"), "1");
        expect(&mut con, "RANK.TOPN {g}:new:2023 9", r#"[[1, "cid", "60"]]"#);
        // Its own periods may be changed one by one.
        expect(&mut con, "RANK.ALTER {g}:one PERIOD DAY {g}:day:", "+OK");
        check_live(&mut con);
    }

    /// What an earlier version stored says nothing of a name.
    fn a_marker_without_a_name_counts_as_that_of_another_board(server: Server) {
        let mut con = server.connect();
        fill(&mut con, "{g}");
        let Ok(redis::Value::Array(first)) = cmd(&mut con, "ZRANGE {g} 0 0") else { panic!("no marker") };
        let marker: Vec<u8> = redis::from_redis_value(first.into_iter().next().expect("a marker")).expect("bytes");
        let record = b" BOARD {g}";
        let at = marker.windows(record.len()).position(|part| part == record).expect("the record");
        let older = [&marker[..at], &marker[at + record.len()..]].concat();
        cmdv(&mut con, &[b"ZADD".as_slice(), b"{g}", b"-inf", &older]).expect("a marker");
        cmdv(&mut con, &[b"ZREM".as_slice(), b"{g}", &marker]).expect("a marker");
        check_stranger(&mut con, "{g}", "another key");
        expect(&mut con, &format!("RANK.ALTER {{g}} {PERIODS}"), "+OK");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} 71 bob"), "0");
        expect(&mut con, &format!("RANK.GET {YEAR} bob"), r#"[1, "bob", "71"]"#);
    }

    fn a_database_that_was_swapped_has_its_boards_and_their_periods(server: Server) {
        let mut con = server.connect();
        fill(&mut con, "{g}");
        expect(&mut con, "SWAPDB 0 1", "+OK");
        expect(&mut con, "EXISTS {g}", "0");
        expect(&mut con, "SELECT 1", "+OK");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} 71 bob"), "0");
        expect(&mut con, &format!("RANK.GET {YEAR} bob"), r#"[1, "bob", "71"]"#);
        expect(&mut con, "MOVE {g} 2", "1");
        expect(&mut con, "SELECT 2", "+OK");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} 72 bob"), "0");
        expect(&mut con, &format!("RANK.TOPN {YEAR} 9"), r#"[[1, "bob", "72"]]"#);
    }

    fn a_board_like_another_has_no_periods(server: Server) {
        let mut con = server.connect();
        fill(&mut con, "{g}");
        expect(&mut con, "RANK.CREATE {g}:like LIKE {g}", "+OK");
        expect(&mut con, "RANK.ADD {g}:like 99 eve", "1");
        expect(&mut con, "RANK.ROTATE {g} {g}:archive", "SCHEMA a board with periods cannot be rotated");
        check_live(&mut con);
    }

    /// docs/guides/backups.md
    fn a_backup_leaves_the_live_board_alone_and_a_season_that_is_kept_stays(server: Server) {
        let mut con = server.connect();
        fill(&mut con, "{g}");
        expect(&mut con, "COPY {g} {g}:backup", "1");
        expect(&mut con, "MULTI", "+OK");
        expect(&mut con, &format!("COPY {YEAR} {{g}}:hall-of-fame:2023"), "+QUEUED");
        expect(&mut con, "PERSIST {g}:hall-of-fame:2023", "+QUEUED");
        expect(&mut con, "EXEC", "[1, 1]");
        expect(&mut con, "TTL {g}:hall-of-fame:2023", "-1");
        expect(&mut con, "RANK.ADD {g}:hall-of-fame:2023 1 late", "1");
        expect(&mut con, "RANK.REM {g}:hall-of-fame:2023 late", "1");
        check_live(&mut con);
        expect(&mut con, "RANK.REM {g}:backup ann", &error("'{g}'"));
        // Back from the backup.
        expect(&mut con, "RANK.CLEAR {g}", "2");
        expect(&mut con, "COPY {g}:backup {g} REPLACE", "1");
        expect(&mut con, &format!("RANK.INCR {{g}} AT {AT} 1 ann"), "\"51\"");
        expect(&mut con, &format!("RANK.GET {YEAR} ann"), r#"[2, "ann", "51"]"#);
    }

    fn a_board_that_was_migrated_keeps_its_name_and_its_periods(kind: Kind) {
        let (from, to) = (Server::builder(kind).tcp().start(), Server::builder(kind).tcp().start());
        let (mut con, mut there) = (from.connect(), to.connect());
        fill(&mut con, "{g}");
        expect(&mut con, &format!("MIGRATE 127.0.0.1 {} {{g}} 0 5000", to.port()), "+OK");
        expect(&mut there, &format!("RANK.ADD {{g}} AT {AT} 71 bob"), "0");
        expect(&mut there, &format!("RANK.TOPN {YEAR} 9"), r#"[[1, "bob", "71"]]"#);
        expect(&mut there, "RENAME {g} {g}:moved", "+OK");
        expect(&mut there, &format!("RANK.ADD {{g}}:moved AT {AT} 72 bob"), &error("'{g}'"));
    }
}
