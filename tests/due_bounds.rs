//! DUE: whatever a schedule holds and however many clients wait, others are served in between, and what is looked at is
//! bounded. Counted is work: elements, turns, bytes. No test measures time.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use redis::Connection;

use crate::due_crowd::possible;
use crate::support::*;

const CROWD: usize = 4_000;

/// Two crowds at once would be too many files.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The lowest score of a claim.
const LOWEST: i64 = -(1 << 53);

fn count(server: &Server, field: &str) -> u64 {
    server.info(field).parse().expect("a count")
}

/// Elements that are no times, in front of all claims: each has another score, of a claim without attempts.
fn add_invalid(con: &mut Connection, key: &str, elements: i64) {
    for first in (0..elements).step_by(500) {
        let last = elements.min(first + 500);
        let pairs: Vec<String> = (first..last).map(|i| format!("{} odd{i}", LOWEST + i * 4096)).collect();
        assert!(!is_error(&reply(con, &format!("ZADD {key} {}", pairs.join(" ")))));
    }
}

/// Clients that wait, in the order in which they came.
struct Crowd(Vec<UnixStream>);

impl Crowd {
    fn new(server: &Server, size: usize, line: impl Fn(usize) -> String) -> Crowd {
        let before = server.blocked();
        let connect = |i| {
            let mut stream = UnixStream::connect(server.socket()).expect("a connection");
            stream.set_read_timeout(Some(deadline())).expect("a time-out");
            stream.write_all(format!("{}\r\n", line(i)).as_bytes()).expect("a request");
            stream
        };
        let streams = (0..size).map(connect).collect();
        wait_until(|| server.blocked() == before + size);
        Crowd(streams)
    }

    fn assert_served(&mut self) {
        for stream in &mut self.0 {
            let mut buffer = [0; 200];
            let length = stream.read(&mut buffer).expect("a reply");
            assert!(buffer[..length].starts_with(b"*1\r\n*"), "{}", buffer[..length].escape_ascii());
        }
    }
}

/// Does something that makes all waiting clients due at once. Another client must see, between two turns, that some are
/// served and some are not.
fn is_served_in_turns(server: &Server, mut crowd: Crowd, begin: impl FnOnce(&mut Connection)) {
    let size = crowd.0.len();
    let turns = count(server, "rank_due_turns");
    let (is_over, mut watching) = (AtomicBool::new(false), server.connect());
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut ran_between = false;
            while !is_over.load(Ordering::Relaxed) {
                let info = reply(&mut watching, "INFO clients");
                let left =
                    info.split("blocked_clients:").nth(1).and_then(|rest| rest.split("\\r").next()?.parse().ok());
                ran_between |= left.is_some_and(|left: usize| left > 0 && left < size);
            }
            ran_between
        });
        begin(&mut server.connect());
        crowd.assert_served();
        is_over.store(true, Ordering::Relaxed);
        assert!(watcher.join().expect("the watcher"), "no other client ran while {size} were served");
    });
    let turns = count(server, "rank_due_turns") - turns;
    assert!(turns >= 4, "{size} clients were served in {turns} turns");
}

fn items(size: usize) -> String {
    (0..size).map(|i| format!(" i{i}")).collect()
}

on_every_server! {
    fn others_run_while_a_crowd_is_served(kind: Kind) {
        let _turn = ONE_AT_A_TIME.lock();
        let size = possible(CROWD);
        let server = Server::builder(kind).config("maxclients 20000").start();
        let mut con = server.connect();
        let add_later = |con: &mut Connection, ms: u64| expect(con, &format!("DUE.ADD q IN {ms}ms{}", items(size)), &size.to_string());

        // As many keys, due at the same time.
        let crowd = Crowd::new(&server, size, |i| format!("DUE.POP q{i} BLOCK 0"));
        is_served_in_turns(&server, crowd, |con| {
            let adds: Vec<String> = (0..size).map(|i| format!("redis.call('ZADD', 'q{i}', 1, 'x')")).collect();
            for lines in adds.chunks(100) {
                expect(con, &format!("EVAL \"{}\" 0", lines.join(" ")), "nil");
            }
        });
        // One key, by the timer.
        let crowd = Crowd::new(&server, size, |_| "DUE.POP q BLOCK 0".into());
        is_served_in_turns(&server, crowd, |con| add_later(con, 50));
        // One key, by an addition.
        let crowd = Crowd::new(&server, size, |_| "DUE.CLAIM q BLOCK 0".into());
        is_served_in_turns(&server, crowd, |con| add_later(con, 0));
        expect(&mut con, "DEL q", "1");
        // By the claim of another client: what is due belongs to those who wait.
        let crowd = Crowd::new(&server, size, |_| "DUE.POP q BLOCK 0".into());
        is_served_in_turns(&server, crowd, |con| {
            let mut pipeline = redis::pipe();
            pipeline.cmd("DUE.ADD").arg("q").arg("AT").arg(1);
            (0..size).for_each(|i| _ = pipeline.arg(format!("i{i}")));
            pipeline.cmd("DUE.POP").arg(&["q", "COUNT", "10000"]);
            let (_, got): (u64, Vec<(String, u64)>) = pipeline.query(con).expect("two replies");
            assert!(got.is_empty(), "{got:?}");
        });
        // Many waits that time out together, and then one who claims.
        let crowd = Crowd::new(&server, size, |_| "DUE.POP none BLOCK 1d".into());
        drop(crowd);
        wait_until(|| server.blocked() == 0);
    }

    fn elements_that_are_no_times_cost_little(server: Server) {
        let mut con = server.connect();
        // 300,000 with one score, which is among those of claims: one look-up passes them all.
        for first in (0..300_000).step_by(5_000) {
            let pairs: String = (first..first + 5_000).map(|i| format!(" -9000000000000.5 odd{i}")).collect();
            expect(&mut con, &format!("ZADD q{pairs}"), "5000");
        }
        let before = count(&server, "rank_due_elements");
        expect(&mut con, "DUE.CLAIM q", "[]");
        expect(&mut con, "DUE.POP q BLOCK 1ms", "[]");
        let looked_at = count(&server, "rank_due_elements") - before;
        assert!(looked_at < 20, "{looked_at} elements");
        // An item behind them.
        expect(&mut con, "DUE.ADD q AT 1 a", "1");
        expect(&mut con, "DUE.POP q", r#"[["a", 1]]"#);

        // Twenty keys with more scores than a call looks at, and a client that waits for each.
        for key in 0..20 {
            add_invalid(&mut con, &format!("k{key}"), 2_500);
        }
        let _crowd = Crowd::new(&server, 20, |i| format!("DUE.CLAIM k{i} BLOCK 0"));
        let (start, before) = (time_of(&mut con), count(&server, "rank_due_elements"));
        let checks = count(&server, "rank_due_checks");
        wait_until(|| count(&server, "rank_due_checks") >= checks + 60);
        let (ms, checks) = (time_of(&mut con) - start, count(&server, "rank_due_checks") - checks);
        let looked_at = count(&server, "rank_due_elements") - before;
        let seconds = u64::try_from(ms / 1_000).expect("a time") + 2;
        assert!(checks <= 21 * seconds, "{checks} checks in {ms} ms");
        // A look, and the claim of a client. The checks of the other keys may be under way.
        assert!(looked_at <= 2_100 * (checks + 20), "{looked_at} elements in {checks} checks");
    }

    /// A lease that ended behind more such elements than a call looks at.
    fn a_lapsed_lease_comes_back_behind_any_number_of_them(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q AT 1 a", "1");
        expect(&mut con, "DUE.ADD polled AT 1 a", "1");
        for key in ["q", "polled"] {
            assert_ne!(reply(&mut con, &format!("DUE.CLAIM {key} LEASE 1ms")), "[]");
            add_invalid(&mut con, key, 1_300);
        }
        wait_until(|| reply(&mut con, "DUE.CLAIM polled").starts_with("[[\"a\", "));
        let row = reply(&mut con, "DUE.CLAIM q BLOCK 0");
        assert!(row.starts_with("[[\"a\", ") && row.contains(", 2, "), "{row}");
        assert!(reply(&mut con, "DUE.INFO polled").contains("\"claimed\", 1, \"invalid\", 1300"));
    }

    /// Names and options are the client's own strings, kept once. (The server makes two clients of its own for each client
    /// that a module blocks, which is left out here.)
    fn the_words_of_a_waiter_take_little_more_memory_than_those_of_a_list(kind: Kind) {
        let taken = |line: &str, length: usize| {
            let server = Server::builder(kind).start();
            let before = count(&server, "used_memory");
            let name = "n".repeat(length);
            let _crowd = Crowd::new(&server, 40, |i| line.replace("NAME", &format!("{name}{i}")));
            count(&server, "used_memory").saturating_sub(before)
        };
        let of_words = |line| taken(line, 50_000).saturating_sub(taken(line, 10));
        let (list, schedule) = (of_words("BLPOP NAME 0"), of_words("DUE.CLAIM NAME BLOCK 0"));
        assert!(list > 1_000_000 && schedule <= 2 * list, "{schedule} bytes, {list} of BLPOP");
    }
}
