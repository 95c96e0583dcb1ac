//! DUE: BLOCK waits until something is due, whatever happens to the key, the client or the server meanwhile.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use redis::Connection;

use crate::support::*;

/// A client that waits, in a thread of its own; its reply.
type Waiting = JoinHandle<String>;

/// Returns when the client waits, or has its reply already: a machine may stop for seconds.
#[track_caller]
fn wait_for(server: &Server, line: &str) -> Waiting {
    let before = server.blocked();
    let (mut con, line) = (server.connect(), line.to_owned());
    let waiting = std::thread::spawn(move || reply(&mut con, &line));
    wait_until(|| server.blocked() > before || waiting.is_finished());
    waiting
}

#[track_caller]
fn answer(waiting: Waiting) -> String {
    waiting.join().expect("a reply")
}

/// That the only client that waits has its reply after a few turns of the server, in each of which this client has a
/// command run. Without being told that something is due, the module would let thousands of them pass.
#[track_caller]
fn wakes_within_a_few_turns(con: &mut Connection) {
    let turns = (0..1000).position(|_| reply(con, "INFO clients").contains("blocked_clients:0"));
    assert!(turns.is_some() || server_wrapper().is_some(), "it still waits after a thousand turns");
}

/// The number of the one client that runs a command.
#[track_caller]
fn client_in(con: &mut Connection, command: &str) -> String {
    let list = reply(con, "CLIENT LIST");
    let line = list.split("\\n").find(|line| line.contains(&format!(" cmd={command} "))).expect("the client");
    line.split("id=").nth(1).and_then(|rest| rest.split(' ').next()).expect("an id").to_owned()
}

/// Many clients without a thread each.
struct Crowd(Vec<UnixStream>);

impl Crowd {
    fn new(server: &Server, size: usize, line: impl Fn(usize) -> String) -> Crowd {
        let connect = |i| {
            let mut stream = UnixStream::connect(server.socket()).expect("a connection");
            stream.set_read_timeout(Some(deadline())).expect("a time-out");
            stream.write_all(format!("{}\r\n", line(i)).as_bytes()).expect("a request");
            // In the order in which they came.
            if i % 100 == 99 {
                wait_until(|| server.blocked() == i + 1);
            }
            stream
        };
        Crowd((0..size).map(connect).collect())
    }

    fn answer(&mut self, i: usize) -> String {
        let mut buffer = [0; 200];
        let length = self.0[i].read(&mut buffer).expect("a reply");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }
}

on_every_server! {
    fn a_waiter_wakes_when_something_is_due(server: Server) {
        let mut con = server.connect();
        for i in 0..20 {
            let due = time_of(&mut con) + 60;
            if i % 2 == 0 {
                expect(&mut con, &format!("DUE.ADD q AT {due} x"), "1");
            }
            let waiting = wait_for(&server, "DUE.POP q BLOCK 0");
            if i % 2 == 1 {
                expect(&mut con, &format!("DUE.ADD q AT {due} x"), "1");
            }
            while time_of(&mut con) < due {}
            wakes_within_a_few_turns(&mut con);
            assert_eq!(answer(waiting), format!("[[\"x\", {due}]]"));
        }
    }

    fn an_earlier_addition_wakes_at_once(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q IN 1d later", "1");
        for _ in 0..20 {
            let waiting = wait_for(&server, "DUE.POP q BLOCK 0");
            expect(&mut con, "DUE.ADD q AT 1 now", "1");
            wakes_within_a_few_turns(&mut con);
            assert_eq!(answer(waiting), r#"[["now", 1]]"#);
        }
    }

    fn what_the_core_changes_is_seen(server: Server) {
        let mut con = server.connect();
        let waiting = wait_for(&server, "DUE.POP q BLOCK 0");
        expect(&mut con, "ZADD q 5.5 a", "1");
        assert_eq!(answer(waiting), r#"[["a", 5]]"#);
        let waiting = wait_for(&server, "DUE.CLAIM q BLOCK 0");
        expect(&mut con, "ZADD other 7 b", "1");
        expect(&mut con, "RENAME other q", "+OK");
        assert!(answer(waiting).starts_with("[[\"b\", "));
    }

    /// A lease that another client let lapse, and one that its holder gives up.
    fn what_others_give_up_is_claimed(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q AT 1 a", "1");
        assert_ne!(reply(&mut con, "DUE.CLAIM q LEASE 500ms"), "[]");
        let row = answer(wait_for(&server, "DUE.CLAIM q BLOCK 0 LEASE 1d"));
        let (token, attempt) = (row.split(", ").nth(1).unwrap(), row.split(", ").nth(2).unwrap());
        assert_eq!(attempt, "2", "{row}");
        let waiting = wait_for(&server, "DUE.CLAIM q BLOCK 0 LEASE 1d");
        assert_ne!(reply(&mut con, &format!("DUE.MOVE q IN 0 {token} a")), "0");
        let row = answer(waiting);
        assert_eq!(row.split(", ").nth(2).unwrap(), "3", "{row}");
    }

    fn first_come_first_served(server: Server) {
        let mut con = server.connect();
        let waiting: Vec<Waiting> = (0..5).map(|i| wait_for(&server, &format!("DUE.POP q BLOCK 0 COUNT {}", 1 + i % 2))).collect();
        expect(&mut con, "DUE.ADD q AT 7 a b c d", "4");
        let answers: Vec<String> = waiting.into_iter().take(3).map(answer).collect();
        assert_eq!(answers, [r#"[["a", 7]]"#, r#"[["b", 7], ["c", 7]]"#, r#"[["d", 7]]"#]);
        wait_until(|| server.blocked() == 2);
        // One who comes later does not overtake those who wait, not even in the same turn of the server.
        let mut pipeline = redis::pipe();
        pipeline.cmd("DUE.ADD").arg(&["q", "AT", "8", "e", "f", "g", "h"]);
        pipeline.cmd("DUE.POP").arg(&["q", "COUNT", "9"]);
        let got: (i64, Vec<(String, i64)>) = pipeline.query(&mut con).unwrap();
        assert_eq!(got, (4, vec![("h".into(), 8)]));
    }

    fn a_wait_ends_with_nothing(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q IN 1d later", "1");
        for (line, ms) in [("DUE.CLAIM q BLOCK 30ms", 30), ("DUE.POP q COUNT 3 BLOCK 250ms", 250)] {
            let end = time_of(&mut con) + ms;
            expect(&mut con, line, "[]");
            assert!(time_of(&mut con) >= end, "{line} ended early");
        }
        expect(&mut server.connect_resp3(), "DUE.POP none BLOCK 10ms", "[]");
        assert_eq!(server.blocked(), 0);
        // A caller's own clock runs on while it waits.
        expect(&mut con, "DUE.ADD own AT 1100 a", "1");
        expect(&mut con, "DUE.POP own NOW 1000 BLOCK 0", r#"[["a", 1100]]"#);
    }

    fn clients_that_go_take_nothing(server: Server) {
        let mut con = server.connect();
        let gone = wait_for(&server, "DUE.POP q BLOCK 0");
        let id = client_in(&mut con, "due.pop");
        expect(&mut con, &format!("CLIENT KILL ID {id}"), "1");
        assert!(answer(gone).starts_with("CLIENT"));

        let crowd = Crowd::new(&server, 100, |_| "DUE.POP q BLOCK 0".into());
        drop(crowd);
        wait_until(|| server.blocked() == 0);

        let unblocked = wait_for(&server, "DUE.CLAIM q BLOCK 0");
        let id = client_in(&mut con, "due.claim");
        expect(&mut con, &format!("CLIENT UNBLOCK {id}"), "1");
        assert_eq!(answer(unblocked), "[]");
        let unblocked = wait_for(&server, "DUE.CLAIM q BLOCK 0");
        let id = client_in(&mut con, "due.claim");
        expect(&mut con, &format!("CLIENT UNBLOCK {id} ERROR"), "1");
        assert_eq!(answer(unblocked), "UNBLOCKED client unblocked via CLIENT UNBLOCK");

        let last = wait_for(&server, "DUE.POP q BLOCK 0");
        expect(&mut con, "DUE.ADD q AT 1 a", "1");
        assert_eq!(answer(last), r#"[["a", 1]]"#);
        // Nobody is kept, and no timer.
        wait_until(|| reply(&mut con, "MODULE UNLOAD rank") == "+OK");
    }

    /// Answered, or released by the server, in the same turn of its loop.
    fn an_answer_and_an_end_in_one_turn_do_no_harm(server: Server) {
        let mut con = server.connect();
        // Redis 7.2 ends if a client that any module has released is unblocked in the same turn (fixed in 7.4, redis/redis#13015).
        let has_bug = server.kind() == Kind::Redis && server.info("redis_version").starts_with("7.2.");
        for end in ["CLIENT UNBLOCK {id}", "CLIENT UNBLOCK {id} ERROR", "CLIENT KILL ID {id}"] {
            if has_bug && end.starts_with("CLIENT UNBLOCK") {
                continue;
            }
            for add_first in [true, false] {
                let waiting = wait_for(&server, "DUE.CLAIM q BLOCK 0");
                let id = client_in(&mut con, "due.claim");
                let (add, end) = ("DUE.ADD q AT 1 a", end.replace("{id}", &id));
                // The claim in a third command makes the server serve those who wait within this turn.
                let lines = if add_first { [add, "DUE.CLAIM q", &end] } else { [&end, add, "DUE.CLAIM q"] };
                let mut pipeline = redis::pipe();
                for line in lines {
                    let mut words = line.split(' ');
                    pipeline.cmd(words.next().unwrap()).arg(words.collect::<Vec<_>>());
                }
                let _: redis::Value = pipeline.query(&mut con).unwrap();
                let _ = waiting.join().unwrap();
                wait_until(|| server.blocked() == 0);
                expect(&mut con, "ZCARD q", "1");
                expect(&mut con, "DEL q", "1");
            }
        }
    }

    fn the_module_stays_while_anybody_waits(server: Server) {
        let mut con = server.connect();
        let waiting = wait_for(&server, "DUE.POP q BLOCK 0");
        let refused = reply(&mut con, "MODULE UNLOAD rank");
        assert!(refused.contains("blocked clients"), "{refused}");
        expect(&mut con, "DUE.ADD q AT 1 a", "1");
        assert_eq!(answer(waiting), r#"[["a", 1]]"#);
        wait_until(|| reply(&mut con, "MODULE UNLOAD rank") == "+OK");
    }

    fn keys_may_come_and_go_and_change_their_type(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "DUE.ADD q IN 1d a", "1");
        let waiting = wait_for(&server, "DUE.POP q BLOCK 0");
        for line in ["DEL q", "SET q x", "DEL q", "HSET q a b", "FLUSHALL", "RPUSH q a", "FLUSHDB", "SWAPDB 0 1"] {
            let got = reply(&mut con, line);
            assert!(!is_error(&got), "{line}: {got}");
        }
        // In another database it is another key.
        expect(&mut con, "SELECT 1", "+OK");
        expect(&mut con, "DUE.ADD q AT 1 other", "1");
        expect(&mut con, "SELECT 0", "+OK");
        expect(&mut con, "DUE.ADD list AT 5 b", "1");
        assert_eq!(server.blocked(), 1);
        expect(&mut con, "RENAME list q", "+OK");
        assert_eq!(answer(waiting), r#"[["b", 5]]"#);
        let waiting = wait_for(&server, "DUE.POP q BLOCK 0");
        expect(&mut con, "SWAPDB 0 1", "+OK");
        assert_eq!(answer(waiting), r#"[["other", 1]]"#);
    }

    /// With an AOF, a write by a timer while clients are paused would end the server.
    fn nothing_is_written_while_writes_are_paused(kind: Kind) {
        let server = Server::builder(kind).appendonly().start();
        let mut con = server.connect();
        // Once more if the machine was held up until the item was due.
        let waiting = loop {
            expect(&mut con, "DUE.ADD q IN 1s a", "1");
            let waiting = wait_for(&server, "DUE.POP q BLOCK 0");
            expect(&mut con, "CLIENT PAUSE 60000 WRITE", "+OK");
            if reply(&mut con, "ZCARD q") == "1" {
                break waiting;
            }
            expect(&mut con, "CLIENT UNPAUSE", "+OK");
            answer(waiting);
        };
        wait_until(|| reply(&mut con, "DUE.INFO q").contains(r#""due", 1"#));
        server.wait_for_due_checks(4);
        expect(&mut con, "ZCARD q", "1");
        assert_eq!(server.blocked(), 1);
        expect(&mut con, "CLIENT UNPAUSE", "+OK");
        assert!(answer(waiting).starts_with("[[\"a\", "));
        expect(&mut con, "EXISTS q", "0");
    }

    /// A wait may end: that writes nothing.
    fn a_wait_ends_while_writes_are_paused(kind: Kind) {
        let server = Server::builder(kind).appendonly().start();
        let mut con = server.connect();
        let waiting = wait_for(&server, "DUE.POP q BLOCK 500ms");
        expect(&mut con, "CLIENT PAUSE 60000 WRITE", "+OK");
        assert_eq!(answer(waiting), "[]");
        expect(&mut con, "CLIENT UNPAUSE", "+OK");
    }

    fn a_change_of_role_ends_the_wait(kind: Kind) {
        let primary = Server::builder(kind).tcp().start();
        let server = Server::builder(kind).tcp().start();
        let waiting = wait_for(&server, "DUE.CLAIM q BLOCK 0");
        expect(&mut server.connect(), &format!("REPLICAOF 127.0.0.1 {}", primary.port()), "+OK");
        let got = answer(waiting);
        assert!(got.starts_with("UNBLOCKED"), "{got}");
        wait_until(|| server.blocked() == 0);
        expect(&mut server.connect(), "REPLICAOF NO ONE", "+OK");
        expect(&mut server.connect(), "DUE.ADD q AT 1 a", "1");
        expect(&mut server.connect(), "DUE.POP q BLOCK 0", r#"[["a", 1]]"#);
    }

    fn a_failover_ends_the_wait_and_loses_nothing(kind: Kind) {
        let primary = Server::builder(kind).tcp().appendonly().start();
        let replica = Server::builder(kind).tcp().replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        let mut con = primary.connect();
        expect(&mut con, "DUE.ADD q IN 100ms a", "1");
        expect(&mut con, "DUE.ADD q IN 1d b", "1");
        let waiting = wait_for(&primary, "DUE.CLAIM q BLOCK 0 COUNT 5");
        expect(&mut con, "FAILOVER", "+OK");
        wait_until(|| replica.info("role") == "master");
        let got = answer(waiting);
        assert!(got.starts_with("UNBLOCKED") || got.starts_with("[[\"a\", "), "{got}");
        expect(&mut replica.connect(), "ZCARD q", "2");
        let at_once = reply(&mut replica.connect(), "DUE.CLAIM q BLOCK 5 LEASE 1d");
        assert_eq!(at_once.starts_with("[[\"a\", "), got.starts_with("UNBLOCKED"), "{at_once} after {got}");
    }

    fn a_user_who_loses_a_permission_is_not_served(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "ACL SETUSER worker on nopass +due.pop ~q", "+OK");
        let mut worker = server.connect();
        expect(&mut worker, "AUTH worker x", "+OK");
        let waiting = std::thread::spawn(move || reply(&mut worker, "DUE.POP q BLOCK 0"));
        wait_until(|| server.blocked() == 1);
        let behind = wait_for(&server, "DUE.POP q BLOCK 0");
        expect(&mut con, "ACL SETUSER worker -due.pop", "+OK");
        expect(&mut con, "DUE.ADD q AT 1 a", "1");
        let got = waiting.join().unwrap();
        assert!(got.starts_with("NOPERM "), "{got}");
        assert_eq!(answer(behind), r#"[["a", 1]]"#);
    }

    fn a_claim_waits_for_memory_and_a_removal_does_not(server: Server) {
        let mut con = server.connect();
        // Once more if the machine was held up until the items were due.
        let claimer = loop {
            let claimer = wait_for(&server, "DUE.CLAIM q BLOCK 0");
            expect(&mut con, "DUE.ADD q IN 1s a b", "2");
            expect(&mut con, "CONFIG SET maxmemory 1", "+OK");
            if server.blocked() == 1 {
                break claimer;
            }
            expect(&mut con, "CONFIG SET maxmemory 0", "+OK");
            expect(&mut con, "DEL q", "1");
        };
        assert!(reply(&mut con, "DUE.CLAIM q BLOCK 0").starts_with("OOM "));
        assert!(answer(wait_for(&server, "DUE.POP q BLOCK 0")).starts_with("[[\"a\", "));
        assert_eq!(server.blocked(), 1);
        expect(&mut con, "CONFIG SET maxmemory 0", "+OK");
        assert!(answer(claimer).starts_with("[[\"b\", "));
    }

    /// The server does not redirect those who wait. They are told to try again, and then it does.
    fn a_slot_that_moves_takes_those_who_wait_along(kind: Kind) {
        let cluster = Cluster::start(kind, false);
        let slot = cluster.slot_of("q");
        let (from, to) = (cluster.owner(slot), cluster.another_primary(slot));
        let mut con = from.connect();
        let stays = wait_for(from, "DUE.POP q BLOCK 200ms");
        assert_eq!(answer(stays), "[]");
        let served = wait_for(from, "DUE.POP q BLOCK 0");
        expect(&mut con, "DUE.ADD q IN 100ms a", "1");
        assert!(answer(served).starts_with("[[\"a\", "));
        let moves = wait_for(from, "DUE.POP q BLOCK 0");
        for node in [to, from] {
            expect(&mut node.connect(), &format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(to)), "+OK");
        }
        let got = answer(moves);
        assert_eq!(got, "TRYAGAIN the key's slot moved to another node while the client was waiting");
        assert!(reply(&mut con, "DUE.POP q BLOCK 0").starts_with("MOVED "));
        expect(&mut to.connect(), "DUE.ADD q AT 1 b", "1");
        let mut client = cluster.client();
        assert_eq!(client.line("DUE.POP q BLOCK 0"), r#"[["b", 1]]"#);
    }

    fn looks_leave_no_trace(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "CONFIG SET maxmemory-policy allkeys-lru", "+OK");
        expect(&mut con, "DUE.ADD q IN 1d a", "1");
        let waiting = [wait_for(&server, "DUE.POP q BLOCK 0"), wait_for(&server, "DUE.POP none BLOCK 0")];
        expect(&mut con, "CONFIG RESETSTAT", "+OK");
        let dirty = server.info("rdb_changes_since_last_save");
        wait_until(|| reply(&mut con, "OBJECT IDLETIME q").parse::<u64>().is_ok_and(|seconds| seconds >= 2));
        assert_eq!((server.info("keyspace_misses").as_str(), server.info("expired_keys").as_str()), ("0", "0"));
        assert_eq!(server.info("rdb_changes_since_last_save"), dirty);
        for key in ["q", "none"] {
            expect(&mut con, &format!("DUE.ADD {key} AT 1 x"), "1");
        }
        waiting.into_iter().for_each(|waiting| assert_eq!(answer(waiting), r#"[["x", 1]]"#));
    }

    fn a_thousand_wait_on_one_key(server: Server) {
        let mut con = server.connect();
        let mut crowd = Crowd::new(&server, 1000, |_| "DUE.POP q BLOCK 0".into());
        wait_until(|| server.blocked() == 1000);
        let items: Vec<String> = (0..1000).map(|i| format!("i{i:03}")).collect();
        expect(&mut con, &format!("DUE.ADD q AT 5 {}", items.join(" ")), "1000");
        for (i, item) in items.iter().enumerate() {
            assert_eq!(crowd.answer(i), format!("*1\r\n*2\r\n$4\r\n{item}\r\n:5\r\n"));
        }
        expect(&mut con, "EXISTS q", "0");
    }

    fn two_thousand_wait_on_as_many_keys(server: Server) {
        let mut con = server.connect();
        let mut crowd = Crowd::new(&server, 2000, |i| format!("DUE.POP q{i:04} BLOCK 0"));
        wait_until(|| server.blocked() == 2000);
        for i in 0..2000 {
            expect(&mut con, &format!("ZADD q{i:04} {i} x"), "1");
        }
        for i in 0..2000 {
            assert_eq!(crowd.answer(i), format!("*1\r\n*2\r\n$1\r\nx\r\n:{i}\r\n"));
        }
    }
}
