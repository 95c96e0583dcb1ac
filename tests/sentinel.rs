//! A real Sentinel: what limits, leases, schedules and clients that wait do when it fails over.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::*;
use crate::under_faults::Scene;

const SENTINELS: usize = 3;

struct Watched {
    servers: [Server; 2],
    sentinels: Vec<Server>,
}

impl Watched {
    /// A primary, its replica, and three Sentinels that agree by two.
    fn start(kind: Kind) -> Watched {
        let builder = || Server::builder(kind).tcp().appendonly().config("appendfsync always");
        let primary = builder().start();
        let replica = builder().replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        let sentinel = |_| {
            let sentinel = Server::builder(kind).sentinel_of(&primary, 2);
            sentinel
                .config("sentinel down-after-milliseconds ours 1000")
                .config("sentinel failover-timeout ours 5000")
                .start()
        };
        let watched = Watched { sentinels: (0..SENTINELS).map(sentinel).collect(), servers: [primary, replica] };
        watched.wait_until_all_are_known();
        watched
    }

    /// Every Sentinel knows the replica and the others, without whom it elects nobody.
    #[track_caller]
    fn wait_until_all_are_known(&self) {
        let knows = |sentinel: &Server| {
            let known = reply(&mut sentinel.connect(), "SENTINEL MASTER ours");
            known.contains(r#""flags", "master""#)
                && known.contains(r#""num-slaves", "1""#)
                && known.contains(&format!(r#""num-other-sentinels", "{}""#, SENTINELS - 1))
        };
        wait_until(|| self.sentinels.iter().all(knows));
    }

    /// Who is the primary, by what all Sentinels say.
    fn primary(&self) -> Option<usize> {
        let says = |sentinel: &Server| reply(&mut sentinel.connect(), "SENTINEL GET-MASTER-ADDR-BY-NAME ours");
        let is = |server: &Server| {
            let address = format!(r#"["127.0.0.1", "{}"]"#, server.port());
            self.sentinels.iter().all(|sentinel| says(sentinel) == address)
        };
        self.servers.iter().position(is)
    }

    /// Waits until the other server is the primary.
    #[track_caller]
    fn wait_for_failover(&self, old: usize) {
        wait_until(|| {
            self.primary() == Some(1 - old) && info(&self.servers[1 - old], "role").as_deref() == Some("master")
        });
    }

    /// Starts the old primary again, behind the new one. Sentinel would see to that too, after ten seconds.
    #[track_caller]
    fn restart_as_replica(&mut self, old: usize) {
        let new = 1 - old;
        let follow = format!("replicaof 127.0.0.1 {}", self.servers[new].port());
        self.servers[old].restart_with(|builder| builder.config(&follow));
        let (primary, replica) = (&self.servers[new], &self.servers[1 - new]);
        let offset = |server: &Server, field: &str| info(server, field).and_then(|offset| offset.parse::<u64>().ok());
        let goal = offset(primary, "master_repl_offset");
        wait_until(|| {
            info(replica, "master_link_status").as_deref() == Some("up") && offset(replica, "slave_repl_offset") >= goal
        });
    }
}

/// A field of `INFO`; none while the server is away or closes its connections, as Sentinel makes it do.
fn info(server: &Server, field: &str) -> Option<String> {
    let info = reply(&mut try_connect(&server.socket())?, "INFO replication");
    let line = info.split("\\r\\n").find_map(|line| line.strip_prefix(field)?.strip_prefix(':').map(str::to_string));
    line
}

/// The token in a reply of `RATE.ACQUIRE`, or of a claim of one item.
fn token(answer: &str, place: usize) -> &str {
    answer.split(", ").nth(place).expect("a token").trim_end_matches(']')
}

on_every_server! {
    fn limits_leases_and_waiters_follow_a_failover(kind: Kind) {
        let mut watched = Watched::start(kind);
        let mut con = watched.servers[0].connect();
        for (line, expected) in [
            ("RANK.CREATE b FIELD a INT FIELD b INT TIES FIRST", "+OK"),
            ("RANK.ADD b 5 6 ann", "1"),
            ("RATE.CHECK sliding 3/1h COST 2", "[0, 3, 1, 0, 3600000, 1]"),
            ("RATE.CHECK bucket 3/1h GCRA COST 2", "[0, 3, 1, 0, 2400000, 1]"),
            ("DUE.ADD q AT 1 claimed", "1"),
            ("DUE.ADD q AT 2 waiting", "1"),
        ] {
            expect(&mut con, line, expected);
        }
        let lock = reply(&mut con, "RATE.ACQUIRE lock 1 1h");
        let claim = reply(&mut con, "DUE.CLAIM q LEASE 1h");
        expect(&mut con, "WAIT 1 10000", "1");

        // The primary dies while a client waits: the client is told that its connection is gone.
        let mut waiting = watched.servers[0].connect();
        let waiting = thread::spawn(move || reply(&mut waiting, "DUE.POP empty BLOCK 0"));
        wait_until(|| watched.servers[0].info("blocked_clients") == "1");
        watched.servers[0].kill9();
        let answer = waiting.join().expect("an answer");
        assert!(answer.starts_with("CLIENT "), "{answer}");
        watched.wait_for_failover(0);

        // The new primary knows all that it had acknowledged.
        let mut con = watched.servers[1].connect();
        for (line, expected) in [
            ("RANK.GET b ann".into(), "[1, \"ann\", 5, 6]"),
            ("RATE.CHECK sliding 3/1h COST 2".into(), "[1, 3, 1, "),
            ("RATE.CHECK bucket 3/1h GCRA COST 2".into(), "[1, 3, 1, "),
            ("RATE.ACQUIRE lock 1 1h".into(), "[1, 1, 0, "),
            (format!("RATE.RENEW lock {} 1h", token(&lock, 5)), "1"),
            ("DUE.CLAIM q LEASE 1h COUNT 5".into(), "[[\"waiting\", "),
            (format!("DUE.ACK q {} claimed", token(&claim, 1)), "1"),
        ] {
            let answer = reply(&mut con, &line);
            assert!(answer.starts_with(expected), "{line}: {answer}");
        }
        expect(&mut con, &format!("RATE.RELEASE lock {}", token(&lock, 5)), "1");
        let later = reply(&mut con, "RATE.ACQUIRE lock 1 1h");
        let number = |answer: &str| token(answer, 5).parse::<i64>().expect("a token");
        assert!(number(&later) > number(&lock), "{later} after {lock}");

        // The old one comes back, and follows. Then a failover by hand: who waits is told so.
        watched.restart_as_replica(0);
        watched.wait_until_all_are_known();
        let mut waiting = watched.servers[1].connect();
        let waiting = thread::spawn(move || reply(&mut waiting, "DUE.POP empty BLOCK 0"));
        wait_until(|| watched.servers[1].info("blocked_clients") == "1");
        // It refuses for as long as it is busy with the last failover, and gives up one that takes too long.
        let begin = Instant::now();
        while watched.primary() != Some(0) || info(&watched.servers[0], "role").as_deref() != Some("master") {
            let said = reply(&mut watched.sentinels[0].connect(), "SENTINEL FAILOVER ours");
            assert!(begin.elapsed() < 3 * deadline(), "SENTINEL FAILOVER: {said}");
            thread::sleep(Duration::from_millis(200));
        }
        let answer = waiting.join().expect("an answer");
        // Where Sentinel closes the connections of clients it may be that.
        assert!(answer.starts_with("UNBLOCKED ") || answer.starts_with("CLIENT "), "{answer}");
        expect(&mut watched.servers[0].connect(), "RANK.GET b ann", "[1, \"ann\", 5, 6]");
    }

    /// Writes go on while the primary dies. What the replica had not got may be lost; nothing else.
    fn what_clients_were_told_is_as_promised(kind: Kind) {
        let mut watched = Watched::start(kind);
        expect(&mut watched.servers[0].connect(), "RANK.CREATE counters FIELD count INT", "+OK");
        let scene = Scene::new(watched.servers.iter().map(Server::socket).collect(), deadline());
        let failed_over = Cell::new(false);
        let recorded = scene.run(|scene| {
            if failed_over.replace(true) {
                scene.stop();
                return false;
            }
            watched.servers[0].kill9();
            watched.wait_for_failover(0);
            scene.primary(1);
            thread::sleep(Duration::from_millis(200));
            watched.restart_as_replica(0);
            true
        });
        assert!(failed_over.get());
        recorded.check(&format!("a checked history with Sentinel, {kind:?}"), &mut watched.servers[1].connect());
    }
}
