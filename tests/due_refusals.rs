//! DUE: a client that waits gets nothing while the server would refuse its command, and gets it once it would not.

use redis::Connection;
use std::thread::JoinHandle;

use crate::support::*;

fn wait_in_thread(mut con: Connection, line: &str) -> JoinHandle<String> {
    let line = line.to_owned();
    std::thread::spawn(move || reply(&mut con, &line))
}

/// `forbid` makes the server refuse writes with an error that begins with `code`, and `allow` makes it accept them.
#[track_caller]
fn is_not_served(server: &Server, forbid: &str, allow: &str, code: &str) {
    let mut con = server.connect();
    for command in ["DUE.POP q BLOCK 0", "DUE.CLAIM q BLOCK 0"] {
        // Once more if the machine was held up until the item was due.
        let waiting = loop {
            expect(&mut con, allow, "+OK");
            expect(&mut con, "DUE.ADD q IN 500ms a", "1");
            let waiting = wait_in_thread(server.connect(), command);
            wait_until(|| server.blocked() == 1 || waiting.is_finished());
            expect(&mut con, forbid, "+OK");
            if !waiting.is_finished() && reply(&mut con, "DUE.INFO q").contains(r#""items", 1, "due", 0, "claimed", 0"#)
            {
                break waiting;
            }
            expect(&mut con, allow, "+OK");
            waiting.join().expect("a reply");
            reply(&mut con, "DEL q");
        };
        wait_until(|| reply(&mut con, "DUE.INFO q").contains(r#""due", 1"#));
        let refused = reply(&mut con, command);
        assert!(refused.starts_with(code), "{command}: {refused}");
        server.wait_for_due_checks(4);
        assert!(!waiting.is_finished() && server.blocked() == 1, "{command} after {forbid}");
        assert!(reply(&mut con, "DUE.INFO q").contains(r#""items", 1, "due", 1, "claimed", 0"#));
        expect(&mut con, allow, "+OK");
        let got = waiting.join().expect("a reply");
        assert!(got.starts_with("[[\"a\", "), "{got}");
        reply(&mut con, "DEL q");
    }
}

on_every_server! {
    fn without_enough_replicas(server: Server) {
        is_not_served(&server, "CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS");
    }

    fn after_a_failed_save(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "CONFIG SET stop-writes-on-bgsave-error no save \"3600 1\"", "+OK");
        // A file cannot take the place of a directory.
        std::fs::create_dir(server.dir().join("dump.rdb")).expect("a directory");
        expect(&mut con, "SET a b", "+OK");
        expect(&mut con, "BGSAVE", "+Background saving started");
        wait_until(|| server.info("rdb_last_bgsave_status") == "err");
        let set = |value| format!("CONFIG SET stop-writes-on-bgsave-error {value}");
        is_not_served(&server, &set("yes"), &set("no"), "MISCONF");
    }

    fn on_a_replica_that_is_read_only(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        let server = Server::builder(kind).replica_of(&primary).config("replica-read-only no").start();
        server.wait_for_sync(&primary);
        is_not_served(&server, "CONFIG SET replica-read-only yes", "CONFIG SET replica-read-only no", "READONLY");
    }

    /// The server itself runs no timers while it loads, and afterwards the keys are others.
    fn after_loading(kind: Kind) {
        let server = Server::builder(kind).config("save 3600 1").start();
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q IN 300ms a", "1");
        let waiting = wait_in_thread(server.connect(), "DUE.POP q BLOCK 0");
        wait_until(|| server.blocked() == 1 || waiting.is_finished());
        expect(&mut con, "DEBUG RELOAD", "+OK");
        assert!(waiting.join().expect("a reply").starts_with("[[\"a\", "));
        expect(&mut con, "EXISTS q", "0");
    }

    fn by_a_user_who_may_no_longer(server: Server) {
        let mut con = server.connect();
        for (change, is_served) in [
            ("ACL SETUSER worker -due.pop", false),
            ("ACL SETUSER worker resetkeys", false),
            ("ACL SETUSER worker resetkeys %R~q", false),
            ("ACL SETUSER worker nocommands", false),
            // Such a user cannot log in, but connections that are there work on.
            ("ACL SETUSER worker off", true),
            ("ACL SETUSER worker resetkeys ~other ~q", true),
        ] {
            expect(&mut con, "ACL SETUSER worker reset on nopass +due.pop ~q", "+OK");
            let mut worker = server.connect();
            expect(&mut worker, "AUTH worker x", "+OK");
            let waiting = wait_in_thread(worker, "DUE.POP q BLOCK 0");
            wait_until(|| server.blocked() == 1);
            expect(&mut con, change, "+OK");
            expect(&mut con, "DUE.ADD q AT 1 a", "1");
            let got = waiting.join().expect("a reply");
            if is_served {
                assert_eq!(got, r#"[["a", 1]]"#, "{change}");
            } else {
                let error = "NOPERM this user lost the permission to run this command on this key while waiting";
                assert_eq!(got, error, "{change}");
                expect(&mut con, "DUE.POP q", r#"[["a", 1]]"#);
            }
        }
    }

    /// The server closes the connections of a user who is deleted.
    fn by_a_user_who_is_gone(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "ACL SETUSER worker reset on nopass +due.pop ~q", "+OK");
        let mut worker = server.connect();
        expect(&mut worker, "AUTH worker x", "+OK");
        let waiting = wait_in_thread(worker, "DUE.POP q BLOCK 0");
        wait_until(|| server.blocked() == 1);
        let mut pipeline = redis::pipe();
        pipeline.cmd("ACL").arg(&["DELUSER", "worker"]).cmd("DUE.ADD").arg(&["q", "AT", "1", "a"]);
        let _: (i64, i64) = pipeline.query(&mut con).expect("two numbers");
        let got = waiting.join().expect("a reply");
        assert!(got.starts_with("CLIENT") || got.starts_with("NOPERM"), "{got}");
        expect(&mut con, "DUE.POP q", r#"[["a", 1]]"#);
    }
}
