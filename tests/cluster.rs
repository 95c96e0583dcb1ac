//! A real cluster: companions live in the slot of their board, move with it, and outlive a failover.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;

use redis::Value;

use crate::support::*;
use crate::workload::{all_keys, bytes, check_boards};

/// Boards in one slot (that of `s`), with a hash tag and without, with both companions.
const IN_SLOT: &[&str] = &["s", "{s}one", "two{s}", "x{s}y"];

/// A board with two fields and attributes, in which one member stands for a number.
fn write(client: &mut Client, board: &str, member: &str, number: u64) {
    let number = number.to_string();
    let added = client.send(&["RANK.MULTISET", board, &number, &number, member]);
    assert!(["0", "1"].contains(&added.as_str()), "{board}: {added}");
    let data = client.send(&["RANK.SETDATA", board, member, "number", &number]);
    assert!(["0", "1"].contains(&data.as_str()), "{board}: {data}");
}

/// The number that a member stands for, which score and attribute must agree on, but for a write in between.
#[track_caller]
fn read(client: &mut Client, board: &str, member: &str) -> u64 {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u64>().unwrap_or(0);
    let score = client.send(&["RANK.SCORE", board, member]);
    let data = client.send(&["RANK.GETDATA", board, member, "number"]);
    let number = digits(&data);
    assert_eq!(score, format!("[{number}, {number}]"), "{board} {member}: {data}");
    number
}

/// Writers that go on until they are stopped, on all boards of the slot: what they were told, in the end.
struct Load {
    stop: Arc<AtomicBool>,
    writers: Vec<thread::JoinHandle<(u64, usize)>>,
}

impl Load {
    fn start(cluster: &Cluster) -> Load {
        let stop = Arc::new(AtomicBool::new(false));
        let writers = (0..2).map(|writer| {
            let (mut client, stop) = (cluster.client(), stop.clone());
            thread::spawn(move || {
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    for board in IN_SLOT {
                        write(&mut client, board, &format!("w{writer}"), round);
                    }
                }
                (round, client.tried_again)
            })
        });
        Load { writers: writers.collect(), stop }
    }

    /// Ends the load; whether everything that was acknowledged is there. How often writers had to try again.
    #[track_caller]
    fn check(self, cluster: &Cluster) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        let mut client = cluster.client();
        let mut tried_again = 0;
        for (writer, handle) in self.writers.into_iter().enumerate() {
            let (round, tries) = handle.join().expect("no writer fails");
            assert!(round > 0);
            tried_again += tries;
            for board in IN_SLOT {
                assert_eq!(read(&mut client, board, &format!("w{writer}")), round, "{board} w{writer}");
            }
        }
        tried_again
    }
}

/// Every key is where it belongs, and every companion is its board's.
#[track_caller]
fn check(cluster: &Cluster) {
    cluster.wait_until_whole();
    let check = || {
        let address = format!("127.0.0.1:{}", cluster.nodes[0].port());
        let output = Command::new("redis-cli").args(["--cluster", "check", &address]).output().expect("redis-cli runs");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    // The nodes hear of each other's changes by gossip.
    wait_until(|| !check().1.contains("Nodes don't agree"));
    let (is_clean, text) = check();
    assert!(is_clean && text.contains("All 16384 slots covered") && !text.contains("[WARNING]"), "{text}");
    for node in cluster.nodes.iter().filter(|node| node.info("role") == "master") {
        let mut con = node.connect();
        for key in all_keys(&mut con) {
            let slot = cmdv(&mut con, &[b"CLUSTER".as_slice(), b"KEYSLOT", &key]).expect("a slot");
            let Value::Int(slot) = slot else { panic!("no slot") };
            let owner = cluster.owner(u16::try_from(slot).expect("a slot")).port();
            assert_eq!(owner, node.port(), "{} is misplaced", key.escape_ascii());
        }
        check_boards(&mut con, false);
    }
}

/// Moves a slot key by key, as `redis-cli --cluster reshard` does, with `between` after each key.
#[track_caller]
pub fn reshard(cluster: &Cluster, slot: u16, mut between: impl FnMut(&[u8])) {
    let (from, to) = (cluster.owner(slot), cluster.another_primary(slot));
    let (mut source, mut target) = (from.connect(), to.connect());
    expect(&mut target, &format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(from)), "+OK");
    expect(&mut source, &format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(to)), "+OK");
    loop {
        let Ok(Value::Array(keys)) = cmd(&mut source, &format!("CLUSTER GETKEYSINSLOT {slot} 1")) else {
            panic!("no keys")
        };
        let Some(key) = keys.first().map(bytes) else { break };
        let port = to.port().to_string();
        let args: [&[u8]; 6] = [b"MIGRATE", b"127.0.0.1", port.as_bytes(), &key, b"0", b"5000"];
        let answer = show_result(&cmdv(&mut source, &args));
        assert!(["+OK", "+NOKEY"].contains(&answer.as_str()), "{answer}");
        between(&key);
    }
    for con in [&mut target, &mut source] {
        expect(con, &format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(to)), "+OK");
    }
    // The others hear of it by gossip.
    wait_until(|| cluster.owner(slot).port() == to.port());
}

on_every_server! {
    fn companions_live_in_the_slot_of_their_board(kind: Kind) {
        let cluster = Cluster::start(kind, false);
        let mut client = cluster.client();
        for at in 0..40 {
            for board in [format!("board{at}"), format!("{{tag{at}}}x"), format!("a{at}{{b"), format!("{{{{x{at}}}}}")] {
                write(&mut client, &board, "m", at);
                assert_eq!(read(&mut client, &board, "m"), at);
            }
        }
        assert_eq!(client.send(&["RANK.ROTATE", "board1", "{board1}old"]), "1");
        assert_eq!(read(&mut client, "{board1}old", "m"), 1);
        assert_eq!(client.send(&["RANK.CREATE", "{board1}like", "LIKE", "{board1}old"]), "+OK");
        assert_eq!(client.send(&["RENAME", "board2", "{board2}new"]), "+OK");
        wait_until(|| client.send(&["EXISTS", "rank:data:{board2}"]) == "0");
        assert_eq!(read(&mut client, "{board2}new", "m"), 2);
        // Keys of two slots are the server's own error.
        for command in ["RANK.ROTATE board3 elsewhere", "RANK.CREATE board3x LIKE board4"] {
            let answer = client.line(command);
            assert!(answer.starts_with("CROSSSLOT"), "{command}: {answer}");
        }
        assert!(client.line("RANK.MULTISET a}b 1 2 m").contains("companion"));
        check(&cluster);
    }

    fn a_slot_that_moves_under_load_loses_nothing(kind: Kind) {
        let cluster = Cluster::start_with(kind, false, |builder| builder.config("hz 100"));
        let slot = cluster.slot_of("s");
        let mut client = cluster.client();
        for board in IN_SLOT {
            write(&mut client, board, "still", 7);
        }
        let load = Load::start(&cluster);
        for _ in 0..3 {
            reshard(&cluster, slot, |_| {});
        }
        let tried_again = load.check(&cluster);
        for board in IN_SLOT {
            assert_eq!(read(&mut client, board, "still"), 7, "{board}");
        }
        check(&cluster);
        println!("writers tried again {tried_again} times");
        // Where they came to, they are followed as well.
        for board in IN_SLOT {
            assert_eq!(client.send(&["DEL", board]), "1");
            for part in ["members", "data"] {
                let name = if board.contains('}') { format!(":{board}") } else { format!("{{{board}}}") };
                wait_until(|| client.send(&["EXISTS", &format!("rank:{part}:{name}")]) == "0");
            }
        }
    }

    fn a_board_that_is_split_between_two_nodes_says_try_again(kind: Kind) {
        let cluster = Cluster::start_with(kind, false, |builder| builder.config("hz 100"));
        let slot = cluster.slot_of("s");
        let mut client = cluster.client();
        write(&mut client, "s", "m", 5);
        let (from, to) = (cluster.owner(slot), cluster.another_primary(slot));
        let (mut source, mut target) = (from.connect(), to.connect());
        expect(&mut target, &format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(from)), "+OK");
        expect(&mut source, &format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(to)), "+OK");
        let migrate = |con: &mut redis::Connection, key: &str| {
            expect(con, &format!("MIGRATE 127.0.0.1 {} {key} 0 5000", to.port()), "+OK");
        };
        let asking = |con: &mut redis::Connection, line: &str| {
            expect(con, "ASKING", "+OK");
            reply(con, line)
        };
        // The companions first: the board is still at the source and cannot be answered for there.
        migrate(&mut source, "rank:members:{s}");
        for command in ["RANK.SCORE s m", "RANK.MULTISET s 6 6 m", "RANK.REM s m"] {
            let answer = reply(&mut source, command);
            assert!(answer.starts_with("TRYAGAIN"), "{command}: {answer}");
        }
        migrate(&mut source, "rank:data:{s}");
        for command in ["RANK.GETDATA s m", "RANK.SETDATA s m a b"] {
            let answer = reply(&mut source, command);
            assert!(answer.starts_with("TRYAGAIN"), "{command}: {answer}");
        }
        // What needs no companion is answered.
        expect(&mut source, "RANK.COUNT s", "1");
        migrate(&mut source, "s");
        // Many rounds of the keeper's on both sides: nothing is dropped while the slot is moving.
        let seconds = |server: &Server| server.info("uptime_in_seconds").parse::<u64>().expect("seconds");
        let start = seconds(from);
        wait_until(|| seconds(from) > start);
        assert!(reply(&mut source, "RANK.SCORE s m").starts_with("ASK "));
        assert_eq!(asking(&mut target, "RANK.SCORE s m"), "[5, 5]");
        assert_eq!(asking(&mut target, "RANK.GETDATA s m"), r#"["number", "5"]"#);
        for con in [&mut target, &mut source] {
            expect(con, &format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(to)), "+OK");
        }
        assert_eq!(read(&mut client, "s", "m"), 5);

        // And back, the board first: the companions wait at the source.
        expect(&mut source, &format!("CLUSTER SETSLOT {slot} IMPORTING {}", cluster.id(to)), "+OK");
        expect(&mut target, &format!("CLUSTER SETSLOT {slot} MIGRATING {}", cluster.id(from)), "+OK");
        expect(&mut target, &format!("MIGRATE 127.0.0.1 {} s 0 5000", from.port()), "+OK");
        let start = seconds(to);
        wait_until(|| seconds(to) > start);
        expect(&mut target, "EXISTS rank:members:{s}", "1");
        for command in ["RANK.SCORE s m", "RANK.MULTISET s 6 6 m", "RANK.GETDATA s m", "RANK.SETDATA s m a b"] {
            let answer = asking(&mut source, command);
            assert!(answer.starts_with("TRYAGAIN"), "{command}: {answer}");
        }
        for part in ["members", "data"] {
            expect(&mut target, &format!("MIGRATE 127.0.0.1 {} rank:{part}:{{s}} 0 5000", from.port()), "+OK");
        }
        for con in [&mut source, &mut target] {
            expect(con, &format!("CLUSTER SETSLOT {slot} NODE {}", cluster.id(from)), "+OK");
        }
        assert_eq!(read(&mut client, "s", "m"), 5);
        check(&cluster);
    }

    fn a_failover_under_load_keeps_every_board(kind: Kind) {
        let mut cluster = Cluster::start_with(kind, true, |builder| builder.config("cluster-node-timeout 2000"));
        let slot = cluster.slot_of("s");
        let mut client = cluster.client();
        for board in IN_SLOT {
            write(&mut client, board, "still", 7);
        }
        // By hand, twice, which loses nothing at all: writes are paused meanwhile.
        let load = Load::start(&cluster);
        for _ in 0..2 {
            cluster.fail_over(slot);
        }
        load.check(&cluster);
        check(&cluster);

        // By a power cut: what the replica had is there, and the node that comes back follows.
        let old = cluster.owner(slot).port();
        for board in IN_SLOT {
            write(&mut client, board, "last", 9);
        }
        let at = cluster.nodes.iter().position(|node| node.port() == old).expect("the owner");
        cluster.wait_for_replicas();
        let replica = cluster.replica_of(slot);
        cluster.nodes[replica].wait_for_sync(&cluster.nodes[at]);
        cluster.nodes[at].kill9();
        let mut con = cluster.nodes[replica].connect();
        wait_until(|| reply(&mut con, "ROLE").contains("master"));
        wait_until(|| reply(&mut con, "CLUSTER INFO").contains("cluster_state:ok"));
        cluster.nodes[at].restart();
        cluster.wait_until_whole();
        let mut client = cluster.client();
        for board in IN_SLOT {
            assert_eq!((read(&mut client, board, "still"), read(&mut client, board, "last")), (7, 9), "{board}");
            write(&mut client, board, "last", 10);
            assert_eq!(client.send(&["DEL", board]), "1");
        }
        let mut con = cluster.owner(slot).connect();
        wait_until(|| reply(&mut con, &format!("CLUSTER COUNTKEYSINSLOT {slot}")) == "0");
        check(&cluster);
    }
}

/// Valkey 9 moves whole slots at once, and asks modules whether they can live with that.
#[test]
fn atomic_slot_migration_takes_boards_along() {
    let kind = Kind::Valkey;
    if !kind.is_available_or_skip(module_path!()) {
        return;
    }
    let cluster = Cluster::start_with(kind, false, |builder| builder.config("hz 100"));
    let slot = cluster.slot_of("s");
    let mut client = cluster.client();
    for board in IN_SLOT {
        write(&mut client, board, "still", 7);
    }
    let load = Load::start(&cluster);
    // An odd number of times, so that it ends on a node that never made these boards.
    for _ in 0..3 {
        let (from, to) = (cluster.owner(slot), cluster.another_primary(slot));
        let command = format!("CLUSTER MIGRATESLOTS SLOTSRANGE {slot} {slot} NODE {}", cluster.id(to));
        expect(&mut from.connect(), &command, "+OK");
        wait_until(|| cluster.owner(slot).port() == to.port());
        wait_until(|| reply(&mut from.connect(), &format!("CLUSTER COUNTKEYSINSLOT {slot}")) == "0");
    }
    load.check(&cluster);
    for board in IN_SLOT {
        assert_eq!(read(&mut client, board, "still"), 7, "{board}");
    }
    check(&cluster);
    for board in IN_SLOT {
        assert_eq!(client.send(&["DEL", board]), "1");
    }
    let mut con = cluster.owner(slot).connect();
    wait_until(|| reply(&mut con, &format!("CLUSTER COUNTKEYSINSLOT {slot}")) == "0");
}
