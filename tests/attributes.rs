//! Attributes of members: set, read in rows, gone with their member.

use crate::script::script;
use crate::support::*;

on_every_server! {
    fn attributes_are_set_read_and_removed(server: Server) {
        script(&mut server.connect(), r#"
            RANK.ADD b 5 ann 7 bob => 2
            RANK.SETDATA b ann name Ann country NL => 2
            RANK.SETDATA b ann name Anna age 5 => 1
            RANK.SETDATA b ann NX name Other town Delft => 1
            RANK.SETDATA b ann NX 5 => 1
            RANK.GETDATA b ann => ["name", "Anna", "country", "NL", "age", "5", "town", "Delft", "NX", "5"]
            RANK.GETDATA b ann town none name => ["Delft", nil, "Anna"]
            RANK.GETDATA b bob => []
            RANK.GETDATA b bob name => [nil]
            RANK.GETDATA b nobody => nil
            RANK.DELDATA b nobody => 0
            RANK.DELDATA b ann age none age => 1
            RANK.DELDATA b ann => 4
            RANK.DELDATA b ann => 0
            RANK.SETDATA b nobody a b => ERR 'nobody' is not on the board: attributes are for members
            RANK.SETDATA b ann a "\xff" => ERR value takes UTF-8 text, got \xff
            RANK.SETDATA b ann "\xff" a => ERR attr takes UTF-8 text, got \xff
            RANK.SETDATA b ann odd => ERR wrong number of arguments for 'rank.setdata' command
        "#);
    }

    fn every_row_can_have_them(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.ADD b 5 ann 7 bob => 2\n RANK.SETDATA b ann name Ann => 1");
        let ann = r#"[2, "ann", "5", ["name", "Ann"]]"#;
        let bob = r#"[1, "bob", "7", nil]"#;
        for (read, expected) in [
            ("GET b ann", ann.to_string()),
            ("TOPN b 5", format!("[{bob}, {ann}]")),
            ("RANGE b 2 2", format!("[{ann}]")),
            ("PAGE b 1 5", format!("[1, 1, 2, [{bob}, {ann}]]")),
            ("AROUND b ann 1", format!("[{bob}, {ann}]")),
            ("BYSCORE b 5 5", format!("[{ann}]")),
            ("AMONG b 1 ann", r#"[[1, 2, "ann", "5", ["name", "Ann"]]]"#.to_string()),
        ] {
            expect(&mut con, &format!("RANK.{read} WITHDATA"), &expected);
        }
        expect(&mut con, "RANK.TOPN b 5 WITHDATA JSON",
               r#""[{\"rank\":1,\"member\":\"bob\",\"score\":7,\"data\":null},{\"rank\":2,\"member\":\"ann\",\"score\":5,\"data\":{\"name\":\"Ann\"}}]""#);
        expect(&mut server.connect_resp3(), "RANK.GET b ann WITHDATA", r#"[2, "ann", 5f, {"name": "Ann"}]"#);
        for group in ["QUERY b ann", "STATS b"] {
            expect(&mut con, &format!("RANK.{group} WITHDATA"), "ERR unknown option 'WITHDATA'");
        }
    }

    fn they_leave_with_their_member(server: Server) {
        let mut con = server.connect();
        for (leave, back) in [
            ("RANK.REM b ann", "RANK.ADD b 5 ann"),
            ("RANK.TRIM b 1", "RANK.ADD b 5 ann"),
            ("RANK.CLEAR b", "RANK.ADD b 5 ann"),
            ("RANK.ADD b KEEP 2 9 eve", "RANK.ADD b 5 ann"),
            // What a core command removed is hidden, and does not come back with the name.
            ("ZREM b ann", "RANK.ADD b 5 ann"),
        ] {
            script(&mut con, "FLUSHALL => +OK\n RANK.ADD b 5 ann 7 bob => 2\n RANK.SETDATA b ann k v => 1");
            reply(&mut con, leave);
            expect(&mut con, "RANK.GETDATA b ann", "nil");
            reply(&mut con, back);
            expect(&mut con, "RANK.GETDATA b ann", "[]");
        }
    }

    fn a_sorted_set_has_a_marker_as_long_as_it_has_attributes(server: Server) {
        script(&mut server.connect(), r#"
            ZADD z -inf low 5 ann => 2
            RANK.SETDATA z ann k v => 1
            ZCARD z => 3
            RANK.COUNT z => 2
            RANK.TOPN z 5 => [[1, "ann", "5"], [2, "low", "-inf"]]
            RANK.TOPN z 5 ASC => [[1, "low", "-inf"], [2, "ann", "5"]]
            HLEN rank:data:{z} => 2
            RANK.DELDATA z ann => 1
            ZRANGE z 0 -1 => ["low", "ann"]
            EXISTS rank:data:{z} => 0
            RANK.SETDATA z ann k v => 1
            RANK.REM z ann low => 2
            EXISTS z rank:data:{z} => 0
        "#);
    }

    fn a_change_of_attributes_ends_a_watch_of_the_board(server: Server) {
        let (mut con, mut other) = (server.connect(), server.connect());
        script(&mut con, "RANK.ADD b 5 ann => 1\n RANK.SETDATA b ann k v => 1");
        for (change, ends) in [("RANK.SETDATA b ann k w", true), ("RANK.SETDATA b ann k w", false), ("RANK.DELDATA b ann", true)] {
            expect(&mut con, "WATCH b", "+OK");
            reply(&mut other, change);
            let expected = if ends { "nil" } else { "[+PONG]" };
            script(&mut con, &format!("MULTI => +OK\n PING => +QUEUED\n EXEC => {expected}"));
        }
    }

    /// Whoever took the last attributes away.
    fn a_sorted_set_without_attributes_has_no_marker(server: Server) {
        let mut con = server.connect();
        for mended in ["RANK.ADD d 5 a", "RANK.VERIFY d REPAIR"] {
            script(&mut con, "RANK.ADD d 1 a 2 b => 2\n RANK.SETDATA d a k v => 1\n ZCARD d => 3\n ZREM d a => 1");
            reply(&mut con, mended);
            script(&mut con, "ZRANGEBYSCORE d -inf -inf => []\n EXISTS rank:data:{d} => 0\n FLUSHALL => +OK");
        }
        script(&mut con, "RANK.ADD d 1 a => 1\n RANK.SETDATA d a k v => 1\n DEL rank:data:{d} => 1\n RANK.ADD d 2 b => 1");
        expect(&mut con, "ZRANGE d 0 -1", r#"["a", "b"]"#);
        script(&mut con, "DEL d => 1\n RANK.ADD d 1 a => 1\n RANK.SETDATA d a k v => 1\n ZREM d a => 1");
        reply(&mut con, "RANK.VERIFY d REPAIR");
        expect(&mut con, "EXISTS d rank:data:{d}", "0");
    }

    fn attributes_of_another_board_go_with_the_next_newcomer(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE x => +OK
            RANK.ADD x 1 a => 1
            HSET rank:data:{x} id 0123456789abcdef :a {"k":"v"} => 2
            RANK.GETDATA x a => []
            RANK.ADD x 2 b => 1
            EXISTS rank:data:{x} => 0
        "#);
    }
}
