//! Permission on a board covers its companions and nothing else, and no board name, however crafted,
//! leads anywhere else. (That permissions follow commands and keys at all: command_docs.)

use redis::Connection;

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

on_every_server! {
    fn a_board_is_enough_to_use_its_companions_and_no_way_to_reach_them(server: Server) {
        let mut con = user(&server, "+@all ~mine*");
        script(&mut con, r#"
            RANK.MULTISET mine 1 2 x => 1
            RANK.SETDATA mine x k v => 1
            RANK.GETDATA mine x => ["k", "v"]
            RANK.SCORE mine x => [1, 2]
            RANK.TOPN mine 1 WITHDATA => [[1, "x", 1, 2, ["k", "v"]]]
            RANK.VERIFY mine REPAIR => ["cursor", 0, "checked", 1, "undecodable", 0, "missing", 0, "orphaned", 0, "repaired", 0, "examples", []]
            RANK.ROTATE mine mine-old => 1
            RANK.GETDATA mine-old x k => ["v"]
            RENAME mine-old mine-older => +OK
        "#);
        // The keeper follows with its own rights, whoever renamed.
        let mut admin = server.connect();
        wait_until(|| reply(&mut admin, "EXISTS rank:data:{mine-older} rank:members:{mine-older}") == "2");
        expect(&mut con, "RANK.GETDATA mine-older x k", r#"["v"]"#);
        expect(&mut con, "DEL mine-older", "1");
        wait_until(|| reply(&mut admin, "KEYS rank:*") == "[]");
        refused(&mut con, &["HGETALL rank:data:{mine}", "HSET rank:members:{mine} a b", "DEL rank:data:{mine}", "RANK.ADD rank:data:{mine} 1 x"]);
    }

    fn every_key_of_a_call_must_be_allowed(server: Server) {
        script(&mut server.connect(), "RANK.MULTISET secret 1 2 x => 1\n RANK.SETDATA secret x k v => 1");
        let mut con = user(&server, "+@all ~mine* ~LIKE ~like");
        script(&mut con, "RANK.MULTISET mine 1 2 x => 1");
        let before = snapshot(&mut server.connect());
        refused(&mut con, &[
            "RANK.ADD secret 1 2 x", "RANK.GETDATA secret x", "RANK.TOPN secret 9 WITHDATA", "RANK.INFO secret", "RANK.VERIFY secret", "RANK.CLEAR secret",
            "RANK.CREATE mine2 LIKE secret", "RANK.CREATE mine2 like secret", "RANK.CREATE LIKE LIKE secret", "RANK.CREATE like LiKe secret",
            "RANK.ROTATE mine archive", "RANK.ROTATE secret mine3", "RANK.DELDATA secret x", "RANK.SETDATA secret x k w",
        ]);
        for body in ["RANK.ADD', 'secret', 1, 2, 'x'", "RANK.GETDATA', 'secret', 'x'", "RANK.CREATE', 'mine2', 'LIKE', 'secret'", "RANK.ROTATE', 'mine', 'other'"] {
            let answer = show_result(&cmdv(&mut con, &["EVAL", &format!("return redis.call('{body})"), "0"]));
            assert!(answer.contains("NOPERM") || answer.contains("can't access") || answer.contains("No permissions"), "{body}: {answer}");
        }
        assert_same(&before, &snapshot(&mut server.connect()), "the server");
    }

    fn reading_and_writing_are_different_permissions(server: Server) {
        script(&mut server.connect(), "RANK.MULTISET b 1 2 x => 1\n RANK.SETDATA b x k v => 1\n RANK.CREATE like LIKE b => +OK");
        let before = snapshot(&mut server.connect());
        let mut reader = user(&server, "+@all %R~b* %W~new*");
        for read in ["RANK.GET b x WITHDATA", "RANK.INFO b", "RANK.GETDATA b x", "RANK.STATS b", "RANK.COUNT b", "RANK.SCORE b x"] {
            let answer = reply(&mut reader, read);
            assert!(!answer.starts_with("NOPERM"), "{read}: {answer}");
        }
        refused(&mut reader, &["RANK.ADD b 1 2 x", "RANK.REM b x", "RANK.SETDATA b x k w", "RANK.DELDATA b x", "RANK.VERIFY b", "RANK.TRIM b 0",
            "RANK.CLEAR b", "RANK.INCR b 1 1 x", "RANK.ALTER b KEEP 1", "RANK.CREATE b", "RANK.ROTATE b new", "RANK.GET new x"]);
        assert_same(&before, &snapshot(&mut server.connect()), "the server");
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
        refused(&mut reader, &["RANK.ADD b 1 y", "RANK.CLEAR b", "RANK.VERIFY b", "RANK.SETDATA b x k v"]);
        let mut writer = user(&server, "+@sortedset -@slow ~*");
        expect(&mut writer, "RANK.ADD b 1 y", "1");
        refused(&mut writer, &["RANK.CLEAR b", "RANK.CREATE b"]);
    }

    fn crafted_names_lead_nowhere(server: Server) {
        let mut admin = server.connect();
        // What one might want to reach: other boards' companions, hashes that look like some, and plain keys.
        script(&mut admin, r#"
            RANK.MULTISET secret 1 2 x => 1
            RANK.SETDATA secret x k v => 1
            RANK.MULTISET {secret} 1 2 x => 1
            RANK.SETDATA {secret} x k v => 1
            HSET rank:data: a b => 1
            HSET rank:data:{} a b => 1
            HSET rank:data:: a b => 1
            HSET rank:data:mine a b => 1
            HSET rank:data::mine a b => 1
            HSET rank:data:{mine a b => 1
            HSET rank:data:mine} a b => 1
            HSET rank:members:{mine}{secret} id 0123456789abcdef => 1
            HSET rank:data:{mine}{secret} id 0123456789abcdef => 1
            HSET rank:data:{mine}:{secret} id 0123456789abcdef => 1
            SET rank:data::{mine} text => +OK
            SET plain text => +OK
        "#);
        let before = snapshot(&mut admin);
        let mut con = user(&server, "+@all -@dangerous ~mine* ~{mine* ~}mine*");
        let names: &[&[u8]] = &[
            b"mine", b"mine}", b"mine}{secret", b"mine}{secret}", b"mine{secret}", b"mine{}{secret}", b"mine:{secret}", b"{mine", b"{mine}x", b"{mine{secret}",
            b"mine\0{secret}", b"mine\0", b"mine\r\nDEL secret", b"mine*", b"mine{secret", b"}mine", b"}mine{secret}", b"mine}:rank:data:{secret}",
        ];
        for name in names {
            let commands: &[&[&[u8]]] = &[
                &[b"RANK.MULTISET", name, b"1", b"2", b"x"], &[b"RANK.ADD", name, b"1", b"x"], &[b"RANK.SETDATA", name, b"x", b"k", b"v"],
                &[b"RANK.GETDATA", name, b"x"], &[b"RANK.VERIFY", name, b"REPAIR"], &[b"RANK.ROTATE", name, b"mine{secret}rotated"],
                &[b"RANK.DELDATA", name, b"x"], &[b"RANK.REM", name, b"x"], &[b"RANK.CLEAR", name],
                &[b"DEL", b"mine{secret}rotated", name],
            ];
            for command in commands {
                let answer = show_result(&cmdv(&mut con, command));
                assert!(!answer.starts_with("CLIENT") && !answer.contains("internal"), "{}: {answer}", name.escape_ascii());
            }
        }
        wait_until(|| !reply(&mut admin, "KEYS rank:*rotated*").contains("rank:"));
        wait_until(|| reply(&mut admin, "EXISTS rank:data:{mine} rank:members:{mine}") == "0");
        let after = snapshot(&mut admin);
        assert_same(&before, &after, "the server");
    }
}
