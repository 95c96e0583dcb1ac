//! `MODULE UNLOAD rank` and `MODULE LOAD` in place, under load: no crash, the same data, and really the new code.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::script::script;
use crate::support::*;
use crate::workload::{check_boards, Workload};

/// Redis 8 remembers the last command of each client. A client that repeats a command of the module after the unload
/// calls code that is gone, and the server crashes, whatever the module (since redis/redis#13764).
fn remembers_commands(server: &Server) -> bool {
    server.kind() == Kind::Redis && server.version() >= (8, 0)
}

/// Nothing runs in the background that an unload would have to wait for. Where the server remembers commands, all other
/// clients are disconnected in the same transaction, so that none of them sends anything in between.
#[track_caller]
fn unload(server: &Server) {
    let mut con = server.connect();
    if !remembers_commands(server) {
        return expect(&mut con, "MODULE UNLOAD rank", "+OK");
    }
    script(&mut con, "MULTI => +OK\n CLIENT KILL TYPE normal SKIPME yes => +QUEUED\n MODULE UNLOAD rank => +QUEUED");
    let done = reply(&mut con, "EXEC");
    assert!(done.ends_with(", +OK]"), "{done}");
}

/// Ends the writers also when the test fails, which would wait for them forever.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A server that loads the module from a file of its own, which a test may replace.
fn with_own_copy(kind: Kind) -> (Server, String) {
    let server = Server::builder(kind).without_module().config("hz 100").config("notify-keyspace-events KEA").start();
    let path = server.dir().join("rank.so");
    fs::copy(module_path(), &path).expect("a copy of the module");
    let path = path.to_str().expect("a UTF-8 path").to_string();
    expect(&mut server.connect(), &format!("MODULE LOAD {path}"), "+OK");
    (server, path)
}

on_every_server! {
    fn unloading_and_loading_under_load_keeps_everything(kind: Kind) {
        let (server, path) = with_own_copy(kind);
        let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let workload = Workload::new(&mut server.connect(), 70, "");
        workload.set_up(&mut server.connect());
        let is_disconnected = remembers_commands(&server);
        let write = &|writer: u64| {
            let mut con = server.connect();
            let mut workload = Workload::new(&mut con, 70 + writer, "");
            let mut unknown = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                let command = workload.next_command();
                let answer = reply(&mut con, &command);
                if is_disconnected && answer.starts_with("CLIENT") {
                    con = server.connect();
                    continue;
                }
                assert!(!answer.starts_with("CLIENT") && !answer.contains("internal"), "{command}: {answer}");
                unknown += u64::from(answer.contains("unknown command"));
                done.fetch_add(1, Ordering::Relaxed);
            }
            unknown
        };
        let go_on = |more| {
            let goal = done.load(Ordering::Relaxed) + more;
            wait_until(|| done.load(Ordering::Relaxed) >= goal);
        };
        let unknown: u64 = thread::scope(|scope| {
            let end = End(&stop);
            let writers: Vec<_> = (0..3).map(|writer| scope.spawn(move || write(writer))).collect();
            for _ in 0..5 {
                go_on(300);
                unload(&server);
                go_on(100);
                expect(&mut server.connect(), &format!("MODULE LOAD {path}"), "+OK");
            }
            go_on(300);
            drop(end);
            writers.into_iter().map(|writer| writer.join().expect("no writer fails")).sum()
        });
        assert!(unknown > 0, "no call came while the module was away");
        check_boards(&mut server.connect(), false);
        // What was done while the module was away was done by core commands, as on any key.
        let mut con = server.connect();
        script(&mut con, "FLUSHALL => +OK\n RANK.MULTISET b 1 2 x => 1\n RANK.MULTISET c 1 2 x => 1");
        unload(&server);
        let mut con = server.connect();
        script(&mut con, "DEL b => 1\n RENAME c d => +OK\n COPY d e => 1");
        expect(&mut con, &format!("MODULE LOAD {path}"), "+OK");
        script(&mut con, "RANK.SCORE d x => [1, 2]\n RANK.ADD e 3 4 x => 0\n RANK.SCORE e x => [3, 4]\n RANK.SCORE d x => [1, 2]\n DBSIZE => 2");
    }

    fn a_newer_file_under_the_same_name_is_what_runs_after_a_reload(kind: Kind) {
        let (server, path) = with_own_copy(kind);
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE s FIELD a INT FIELD b INT DATA h OWNED => +OK\n RANK.ADD s 1 2 x => 1\n RANK.SETDATA s x k v => 1\n RANK.TOPN s 1 => [[1, \"x\", 1, 2]]");
        let maps = format!("/proc/{}/maps", server.info("process_id"));
        if !Path::new(&maps).exists() {
            return;
        }
        let is_mapped = || fs::read_to_string(&maps).expect("the server's memory").contains(&path);
        assert!(is_mapped());
        unload(&server);
        // As long as the old file is in memory, loading the same path gives the old code again.
        assert!(!is_mapped(), "the module is unloaded, but its code stays: a newer file would not be used");
        let newer = format!("{path}.new");
        fs::copy(module_path(), &newer).expect("a copy");
        fs::rename(&newer, &path).expect("the file can be replaced");
        let mut con = server.connect();
        expect(&mut con, &format!("MODULE LOAD {path}"), "+OK");
        script(&mut con, "RANK.SCORE s x => [1, 2]\n RANK.GETDATA s x => [\"k\", \"v\"]");
    }

    fn an_unload_right_behind_a_deletion_is_safe(kind: Kind) {
        let (server, path) = with_own_copy(kind);
        let mut con = server.connect();
        for _ in 0..5 {
            script(&mut con, "RANK.MULTISET b 1 2 x => 1\n MULTI => +OK\n DEL b => +QUEUED\n MODULE UNLOAD rank => +QUEUED\n EXEC => [1, +OK]");
            assert!(!server.has_module());
            script(&mut con, &format!("DBSIZE => 0\n MODULE LOAD {path} => +OK"));
        }
    }
}
