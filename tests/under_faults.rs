//! Clients that claim items, take a lock and count, while the server is killed, stopped and failed over; and a checker that
//! looks at nothing but what they were told. See [`crate::history`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use redis::{Connection, Value};

use crate::history::{Ask, Call, History, Row, Told};
use crate::script::Dice;
use crate::support::*;
use crate::workload::{assert_same, bytes, snapshot};

const CLIENTS: u64 = 8;
const CLAIM_MS: i64 = 500;
const LEASE_MS: i64 = 60;
const COUNTERS: u64 = 3;
/// See [`Pair::fault`].
const KINDS_OF_FAULTS: usize = 5;
/// How long the traffic is left alone between two faults.
const QUIET: Duration = Duration::from_millis(500);

pub fn now_micros() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_micros() as i64
}

/// Where clients find their server, and for how long they go on.
pub struct Scene {
    sockets: Vec<PathBuf>,
    primary: AtomicUsize,
    end: Instant,
    /// How many faults there were; the run is not over before each kind was there.
    faults: AtomicUsize,
    stopped: AtomicBool,
    items: AtomicU64,
}

impl Scene {
    pub fn new(sockets: Vec<PathBuf>, time: Duration) -> Scene {
        Scene {
            sockets,
            primary: AtomicUsize::new(0),
            end: Instant::now() + time,
            faults: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            items: AtomicU64::new(0),
        }
    }

    /// Says which server is the primary from now on.
    pub fn primary(&self, server: usize) {
        self.primary.store(server, Ordering::Relaxed);
    }

    /// Ends it before its time.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        let all_were_there = self.faults.load(Ordering::Relaxed) >= KINDS_OF_FAULTS;
        (Instant::now() >= self.end && all_were_there) || self.stopped.load(Ordering::Relaxed)
    }

    /// Runs the clients beside `faults`, which is called again and again until the time is over, and is told when each one
    /// began and was over; `true` if what was not replicated may be lost.
    #[track_caller]
    pub fn run(&self, mut faults: impl FnMut(&Scene) -> bool) -> Recorded {
        let mut recorded = Recorded::default();
        thread::scope(|scope| {
            let clients: Vec<_> =
                (0..CLIENTS).map(|number| scope.spawn(move || Client::new(self, number).work())).collect();
            while !self.is_over() {
                let quiet = Instant::now();
                wait_until(|| quiet.elapsed() > QUIET);
                if self.is_over() {
                    break;
                }
                let begin = now_micros();
                let may_lose = faults(self);
                let fault = (begin, now_micros());
                recorded.faults.push(fault);
                self.faults.fetch_add(1, Ordering::Relaxed);
                recorded.history.losses.extend(may_lose.then_some(fault));
            }
            for client in clients {
                recorded.history.calls.extend(client.join().expect("no client fails"));
            }
        });
        recorded
    }
}

/// What the clients of a run were told, and when something was done to the servers.
#[derive(Default)]
pub struct Recorded {
    pub history: History,
    pub faults: Vec<(i64, i64)>,
}

impl Recorded {
    /// Adds what is there in the end, and checks it all.
    #[track_caller]
    pub fn check(mut self, name: &str, con: &mut Connection) {
        let Ok(Value::Array(items)) = cmd(con, "ZRANGE q 0 -1") else { panic!("no schedule") };
        let number = |item: &Value| String::from_utf8_lossy(&bytes(item))[1..].parse().expect("a number");
        self.history.items_left = items.iter().map(number).collect::<BTreeSet<u64>>();
        let count =
            |counter: u64| (counter, reply(con, &format!("RANK.SCORE counters c{counter}")).parse().unwrap_or(0));
        self.history.counters = (0..COUNTERS).map(count).collect::<BTreeMap<u64, i64>>();
        (self.history.claim_ms, self.history.lease_ms) = (CLAIM_MS, LEASE_MS);
        self.print(name);
        let violations = self.history.violations();
        let shown: Vec<&String> = violations.iter().take(20).collect();
        let faults = &self.faults;
        assert!(
            violations.is_empty(),
            "{name}: {} violations, among them {shown:#?}; the faults were {faults:?}",
            violations.len()
        );
    }

    fn print(&self, name: &str) {
        let calls = &self.history.calls;
        let count = |is: &dyn Fn(&Call) -> bool| calls.iter().filter(|call| is(call)).count();
        println!(
            "{name}: {} calls, {} unknown, {} refused, {} known to be replicated; {} faults, {} of which may lose writes",
            calls.len(),
            count(&|call| call.told == Told::Unknown),
            count(&|call| call.told == Told::Refused),
            count(&|call| call.replicated),
            self.faults.len(),
            self.history.losses.len(),
        );
        let claims = count(&|call| matches!(&call.told, Told::Rows(rows) if !rows.is_empty()));
        let acks = count(&|call| matches!(call.ask, Ask::Ack { .. }) && call.told == Told::Number(1));
        let locks = count(&|call| call.ask == Ask::Acquire && matches!(call.told, Told::Number(1..)));
        let counts = count(&|call| matches!(call.ask, Ask::Count { .. }) && matches!(call.told, Told::Number(_)));
        println!("{name}: {claims} claims, {acks} items acknowledged, {locks} locks granted, {counts} increments");
        // Claims are to wake up in time when nothing is wrong, and has not been wrong just before.
        let is_calm =
            |from: i64, to: i64| !self.faults.iter().any(|(begin, end)| *begin <= to && from <= end + 200_000);
        let late = calls.iter().filter_map(|call| match &call.told {
            Told::Rows(rows) => Some((call, rows.first()?)),
            _ => None,
        });
        let mut late: Vec<i64> = late
            .filter(|(call, row)| {
                row.attempt == 1 && call.start < row.due_ms * 1_000 && is_calm(row.due_ms * 1_000, call.end)
            })
            .map(|(call, row)| call.end - row.due_ms * 1_000)
            .collect();
        late.sort_unstable();
        let at = |part: f64| late.get(((late.len() as f64 * part) as usize).min(late.len().saturating_sub(1)));
        let ms = |part| at(part).map_or(f64::NAN, |micros| *micros as f64 / 1_000.0);
        println!(
            "{name}: {} claims that waited were served this late: p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms",
            late.len(),
            ms(0.5),
            ms(0.99),
            ms(0.999)
        );
    }
}

/// A client that writes down what it is told.
struct Client<'s> {
    scene: &'s Scene,
    dice: Dice,
    con: Option<(usize, Connection)>,
    calls: Vec<Call>,
    /// From here on it does not know what is replicated.
    unsure: usize,
    /// Tokens that it did not use.
    kept: Vec<(u64, i64)>,
}

impl<'s> Client<'s> {
    fn new(scene: &'s Scene, number: u64) -> Client<'s> {
        Client { scene, dice: Dice::new(number), con: None, calls: Vec::new(), unsure: 0, kept: Vec::new() }
    }

    /// To the server that is said to be the primary.
    fn connection(&mut self) -> Option<&mut Connection> {
        let primary = self.scene.primary.load(Ordering::Relaxed);
        if self.con.is_none() {
            self.con = try_connect(&self.scene.sockets[primary]).map(|con| (primary, con));
            // What was written on another connection is not known by WAIT on this one.
            self.unsure = self.calls.len();
        }
        self.con.as_mut().map(|(_, con)| con)
    }

    fn call(&mut self, ask: Ask, line: &str) -> Told {
        let Some(con) = self.connection() else {
            thread::sleep(Duration::from_millis(2));
            return Told::Refused;
        };
        let start = now_micros();
        let result = cmd(con, line);
        let end = now_micros();
        let told = match &result {
            Ok(Value::Int(number)) => Told::Number(*number),
            Ok(Value::Array(rows)) if ask == Ask::Claim => Told::Rows(rows.iter().map(row).collect()),
            Ok(Value::Array(verdict)) => match (&verdict[0], &verdict[5]) {
                (Value::Int(0), Value::Int(token)) => Told::Number(*token),
                _ => Told::Number(0),
            },
            Ok(other) => panic!("{line}: {}", show(other)),
            Err(_) => {
                let error = show_result(&result);
                self.con = None;
                assert!(!error.contains("internal error"), "{line}: {error}");
                if error.starts_with("CLIENT") {
                    Told::Unknown
                } else {
                    let expected = ["READONLY", "LOADING", "UNBLOCKED", "MASTERDOWN", "NOREPLICAS"];
                    assert!(expected.iter().any(|code| error.starts_with(code)), "{line}: {error}");
                    Told::Refused
                }
            }
        };
        self.calls.push(Call { start, end, ask, told: told.clone(), replicated: false });
        told
    }

    /// Whether the replica has all that this connection has written.
    fn wait_for_replica(&mut self) {
        let Some(con) = self.connection() else { return };
        match cmd(con, "WAIT 1 300") {
            Ok(Value::Int(1..)) => {
                self.calls[self.unsure..].iter_mut().for_each(|call| call.replicated = true);
                self.unsure = self.calls.len();
            }
            Ok(_) => {}
            Err(_) => self.con = None,
        }
    }

    fn work(mut self) -> Vec<Call> {
        while !self.scene.is_over() {
            self.add();
            self.claim();
            self.lock();
            let counter = self.dice.roll(COUNTERS as usize) as u64;
            self.call(Ask::Count { counter }, &format!("RANK.INCR counters 1 c{counter}"));
            if self.dice.once_in(3) {
                self.wait_for_replica();
            }
            let primary = self.scene.primary.load(Ordering::Relaxed);
            // Mostly at once; but some stay with the old one for as long as that lets them.
            if self.dice.once_in(20) && self.con.as_ref().is_some_and(|(at, _)| *at != primary) {
                self.con = None;
            }
        }
        self.calls
    }

    fn add(&mut self) {
        for _ in 0..1 + self.dice.roll(2) {
            let item = self.scene.items.fetch_add(1, Ordering::Relaxed);
            let at = now_micros() / 1_000 + self.dice.roll(150) as i64;
            self.call(Ask::Add { item }, &format!("DUE.ADD q AT {at} i{item}"));
        }
    }

    fn claim(&mut self) {
        let count = 1 + self.dice.roll(3);
        let line = format!("DUE.CLAIM q COUNT {count} LEASE {CLAIM_MS}ms BLOCK 150ms");
        let Told::Rows(rows) = self.call(Ask::Claim, &line) else { return };
        for Row { item, mut token, .. } in rows {
            match self.dice.roll(10) {
                // It dies.
                0 => {}
                1 => self.kept.push((item, token)),
                2 | 3 => {
                    let line = format!("DUE.MOVE q IN {CLAIM_MS}ms {token} i{item}");
                    if let Told::Number(moved @ 1..) = self.call(Ask::Move { item, token }, &line) {
                        token = moved;
                    }
                    self.acknowledge(item, token);
                }
                _ => self.acknowledge(item, token),
            }
        }
        // Late, and mostly after somebody else claimed it.
        if self.dice.once_in(4) && !self.kept.is_empty() {
            let (item, token) = self.kept.remove(0);
            self.acknowledge(item, token);
        }
    }

    fn acknowledge(&mut self, item: u64, token: i64) {
        self.call(Ask::Ack { item, token }, &format!("DUE.ACK q {token} i{item}"));
    }

    fn lock(&mut self) {
        let Told::Number(token @ 1..) = self.call(Ask::Acquire, &format!("RATE.ACQUIRE lock 1 {LEASE_MS}ms")) else {
            return;
        };
        if self.dice.once_in(3) {
            self.call(Ask::Renew { token }, &format!("RATE.RENEW lock {token} {LEASE_MS}ms"));
        }
        // Otherwise it dies.
        if !self.dice.once_in(4) {
            self.call(Ask::Release { token }, &format!("RATE.RELEASE lock {token}"));
        }
    }
}

fn row(row: &Value) -> Row {
    let Value::Array(parts) = row else { panic!("no row: {}", show(row)) };
    let [item, Value::Int(token), Value::Int(attempt), Value::Int(due_ms)] = parts.as_slice() else {
        panic!("no row: {}", show(row))
    };
    let item = String::from_utf8_lossy(&bytes(item))[1..].parse().expect("an item's number");
    Row { item, token: *token, attempt: attempt.unsigned_abs(), due_ms: *due_ms }
}

/// A primary and a replica, which change places.
struct Pair {
    servers: [Server; 2],
    at: usize,
}

impl Pair {
    fn start(kind: Kind, config: &[&str]) -> Pair {
        let builder = || {
            let builder = Server::builder(kind).tcp().appendonly().config("appendfsync always");
            config.iter().fold(builder, |builder, line| builder.config(line))
        };
        let primary = builder().start();
        let replica = builder().replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        expect(&mut primary.connect(), "RANK.CREATE counters FIELD count INT", "+OK");
        Pair { servers: [primary, replica], at: 0 }
    }

    fn scene(&self, time: Duration) -> Scene {
        Scene::new(self.servers.iter().map(Server::socket).collect(), time)
    }

    fn primary(&mut self) -> &mut Server {
        &mut self.servers[self.at]
    }

    /// The other one is the primary from now on; a restart does not change that.
    fn change_places(&mut self, scene: &Scene) {
        self.at = 1 - self.at;
        scene.primary(self.at);
    }

    fn follow(&self) {
        let (primary, replica) = (&self.servers[self.at], &self.servers[1 - self.at]);
        expect(&mut replica.connect(), &format!("REPLICAOF 127.0.0.1 {}", primary.port()), "+OK");
    }

    fn settle(&self) {
        let (primary, replica) = (&self.servers[self.at], &self.servers[1 - self.at]);
        wait_until(|| replica.info("role") == "slave" && replica.info("master_link_status") == "up");
        replica.wait_for_sync(primary);
        for server in &self.servers {
            if server.loses_its_aof_in_a_full_sync() {
                server.wait_for_aof_rewrite();
            }
            expect(&mut server.connect(), "CONFIG REWRITE", "+OK");
        }
    }

    /// One fault, until all is well again. Whether what was not replicated may be lost.
    fn fault(&mut self, scene: &Scene, number: usize) -> bool {
        match number % KINDS_OF_FAULTS {
            // The server stands still.
            0 => {
                self.primary().signal(libc::SIGSTOP);
                thread::sleep(Duration::from_millis(200));
                self.primary().signal(libc::SIGCONT);
                false
            }
            // It dies, and comes back with its file.
            1 => {
                self.primary().kill9();
                self.primary().restart();
                self.settle();
                false
            }
            // A failover by hand.
            2 => {
                let port = self.servers[1 - self.at].port();
                let command = format!("FAILOVER TO 127.0.0.1 {port} TIMEOUT 20000");
                expect(&mut self.primary().connect(), &command, "+OK");
                let replica = &self.servers[1 - self.at];
                wait_until(|| replica.info("role") == "master");
                self.change_places(scene);
                self.settle();
                false
            }
            // It dies, and the replica takes over.
            3 => {
                self.primary().kill9();
                expect(&mut self.servers[1 - self.at].connect(), "REPLICAOF NO ONE", "+OK");
                self.change_places(scene);
                self.servers[1 - self.at].restart();
                self.follow();
                self.settle();
                true
            }
            // It stands still, the replica takes over, and for a while there are two primaries.
            _ => {
                self.primary().signal(libc::SIGSTOP);
                expect(&mut self.servers[1 - self.at].connect(), "REPLICAOF NO ONE", "+OK");
                self.change_places(scene);
                thread::sleep(Duration::from_millis(100));
                self.servers[1 - self.at].signal(libc::SIGCONT);
                thread::sleep(Duration::from_millis(100));
                self.follow();
                self.settle();
                true
            }
        }
    }
}

/// All of it on one kind of server, with these lines of configuration.
pub fn check_history(name: &str, kind: Kind, config: &[&str], time: Duration) {
    let mut pair = Pair::start(kind, config);
    let scene = pair.scene(time);
    let mut number = 0;
    let recorded = scene.run(|scene| {
        number += 1;
        pair.fault(scene, number - 1)
    });
    recorded.check(&format!("{name}, {kind:?}"), &mut pair.primary().connect());
    pair.settle();
    let [ours, theirs] = [pair.at, 1 - pair.at].map(|at| snapshot(&mut pair.servers[at].connect()));
    assert_same(&ours, &theirs, "the replica");
}

on_every_server! {
    fn what_clients_were_told_is_as_promised(kind: Kind) {
        check_history("a checked history", kind, &[], Duration::from_secs(12));
    }
}
