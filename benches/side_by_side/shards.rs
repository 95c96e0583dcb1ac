//! One board as one key, and cut into shards over the nodes of a real cluster.
//!
//! A client for each node runs at the same time as all others: what the machine's cores can do together is the result.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use redis::{Connection, Value};

use crate::client::{Client, Load};
use crate::console::Console;
use crate::measure::quantile;
use crate::options::Effort;
use crate::results::Shards;
use crate::session::server_name;
use crate::support::shards::{crc16, keys_of, Kind as RankKind, Round, Sharded, Words};
use crate::support::{cmdv, Cluster, Kind, Server};
use crate::template::random;

/// How the board is spread: nodes, and shards; one shard is one key without any.
pub const CASES: &[(usize, usize)] = &[(1, 1), (1, 16), (3, 16), (6, 16), (3, 64), (6, 64)];
const SCHEMA: &str = "FIELD score RANGE 0 1000000000";
/// Commands sent at once.
const BATCH: usize = 100;
const PAGE: u64 = 10;

/// A board on its nodes.
struct Fleet {
    cluster: Cluster,
    keys: Vec<Vec<u8>>,
    /// For each key the place of its node.
    homes: Vec<usize>,
    members: u64,
}

/// Commands for one node, and how many.
#[derive(Default)]
struct Commands {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Commands {
    fn push(&mut self, words: &[&[u8]]) {
        self.bytes.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            self.bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            self.bytes.extend_from_slice(word);
            self.bytes.extend_from_slice(b"\r\n");
        }
        self.ends.push(self.bytes.len());
    }

    fn load(&self) -> Load {
        let mut load = Load::new(self.ends.len() as u64, 2);
        let mut start = 0;
        for ends in self.ends.chunks(BATCH) {
            let end = ends[ends.len() - 1];
            load.push(ends.len() as u64, |bytes| bytes.extend_from_slice(&self.bytes[start..end]));
            start = end;
        }
        load
    }
}

fn member(number: u64) -> Vec<u8> {
    format!("player:{number}").into_bytes()
}

fn score(number: u64) -> Vec<u8> {
    (random(number, 1) % 1_000_000_000).to_string().into_bytes()
}

impl Fleet {
    fn start(kind: Kind, nodes: usize, shards: usize, members: u64) -> Fleet {
        let cluster = Cluster::of(kind, nodes, false, |builder| builder.config("cluster-node-timeout 60000"));
        let mut client = cluster.client();
        let keys = if shards == 1 { vec![b"game".to_vec()] } else { keys_of(&mut client, "game", shards) };
        let slot = |key: &Vec<u8>| cluster.slot_of(&String::from_utf8_lossy(key));
        let owner = |key: &Vec<u8>| cluster.owner(slot(key)).port();
        let at = |port: u16| cluster.nodes.iter().position(|node| node.port() == port).expect("a node");
        let homes = keys.iter().map(|key| at(owner(key))).collect();
        for (shard, key) in keys.iter().enumerate() {
            let key = String::from_utf8_lossy(key);
            let part = if shards == 1 { String::new() } else { format!(" SHARD {shard} {shards}") };
            let answer = client.line(&format!("RANK.CREATE {key} {SCHEMA}{part}"));
            assert_eq!(answer, "+OK");
        }
        Fleet { cluster, keys, homes, members }
    }

    fn shard_of(&self, member: &[u8]) -> usize {
        crc16(member) % self.keys.len()
    }

    fn none(&self) -> Vec<Commands> {
        self.cluster.nodes.iter().map(|_| Commands::default()).collect()
    }

    /// One `RANK.ADD` for each member and its shard.
    fn writes(&self, numbers: Range<u64>, is_new: bool) -> Vec<Commands> {
        let mut commands = self.none();
        for number in numbers {
            let member = member(if is_new { number } else { random(number, 2) % self.members });
            let shard = self.shard_of(&member);
            commands[self.homes[shard]].push(&[b"RANK.ADD", &self.keys[shard], &score(number), &member]);
        }
        commands
    }

    /// The rank of one member after the other: its row from its own shard, and how many are better from all others.
    fn ranks(&self, numbers: Range<u64>) -> Vec<Commands> {
        let mut commands = self.none();
        for number in numbers {
            let member = member(random(number, 3) % self.members);
            let home = self.shard_of(&member);
            for (shard, key) in self.keys.iter().enumerate() {
                let node = &mut commands[self.homes[shard]];
                if shard == home {
                    node.push(&[b"RANK.GET", key, &member]);
                } else {
                    node.push(&[b"RANK.FORSCORE", key, &score(number)]);
                }
            }
        }
        commands
    }

    /// Runs what there is for each node at the same time.
    fn run(&self, commands: &[Commands]) -> Duration {
        let sockets = self.cluster.nodes.iter().map(Server::socket);
        let mut runs: Vec<(Client, Load)> =
            sockets.zip(commands).map(|(socket, commands)| (Client::connect(&socket), commands.load())).collect();
        let start = Instant::now();
        thread::scope(|scope| {
            for (client, load) in &mut runs {
                scope.spawn(move || client.run(load));
            }
        });
        start.elapsed()
    }
}

/// A client of all nodes that sends a round to all of them before it reads.
struct Clients {
    connections: Vec<Connection>,
    /// The node of each key.
    homes: Vec<(Vec<u8>, usize)>,
}

impl Round for Clients {
    fn round(&mut self, commands: &[Words]) -> Vec<Value> {
        let home = |words: &Words| self.homes.iter().find(|(key, _)| *key == words[1]).map_or(0, |(_, home)| *home);
        let homes: Vec<usize> = commands.iter().map(home).collect();
        for (at, connection) in self.connections.iter_mut().enumerate() {
            let mut pipeline = redis::pipe();
            for (words, home) in commands.iter().zip(&homes) {
                if *home == at {
                    let mut command = redis::Cmd::new();
                    words.iter().for_each(|word| {
                        command.arg(word);
                    });
                    pipeline.add_command(command);
                }
            }
            if !pipeline.is_empty() {
                connection.send_packed_command(&pipeline.get_packed_pipeline()).expect("the server reads");
            }
        }
        homes.iter().map(|home| self.connections[*home].recv_response().expect("a reply")).collect()
    }
}

pub fn measure(kind: Kind, case: (usize, usize), members: u64, effort: &Effort, console: &Console) -> Shards {
    let (nodes, shards) = case;
    let fleet = Fleet::start(kind, nodes, shards, members);
    for first in (0..members).step_by(100_000) {
        fleet.run(&fleet.writes(first..members.min(first + 100_000), true));
    }
    console.doing(&format!("{shards} shards on {nodes} nodes"));
    // About as long as a slice of other sections takes, ten times.
    let jobs = (effort.slice.as_micros() as u64 * 10).max(10_000);
    let rounds = effort.rounds.min(5) as u64;
    let median = |micros: Vec<f64>| quantile(micros, 0.5);
    let fewer = (jobs / shards as u64).max(500);
    let (mut writes, mut ranks) = (Vec::new(), Vec::new());
    let (mut write_cpu, mut rank_cpu) = (0.0, 0.0);
    for round in 0..rounds {
        let numbers = round * jobs..(round + 1) * jobs;
        let commands = fleet.writes(numbers.clone(), false);
        let (took, cpu) = fleet.with_cpu(|| fleet.run(&commands));
        writes.push(jobs as f64 / took.as_secs_f64());
        write_cpu += cpu;
        let commands = fleet.ranks(numbers.start..numbers.start + fewer);
        let (took, cpu) = fleet.with_cpu(|| fleet.run(&commands));
        ranks.push(fewer as f64 / took.as_secs_f64());
        rank_cpu += cpu;
    }
    let calls = rounds * 20;
    let ((rank_micros, _), _) = fleet.with_cpu(|| fleet.one_by_one(calls, Fleet::rank));
    let ((page_micros, page_rounds), page_cpu) = fleet.with_cpu(|| fleet.one_by_one(calls, Fleet::page));
    Shards {
        server: server_name(&fleet.cluster.nodes[0]),
        nodes,
        shards,
        members,
        writes: median(writes),
        ranks: median(ranks),
        write_cpu: write_cpu / (rounds * jobs) as f64,
        rank_cpu: rank_cpu / (rounds * fewer) as f64,
        page_cpu: page_cpu / calls as f64,
        rank_micros,
        page_micros,
        page_rounds,
    }
}

impl Fleet {
    /// What `act` gives, and what all servers together worked meanwhile, in µs: a busy machine does not change it much.
    fn with_cpu<T>(&self, act: impl FnOnce() -> T) -> (T, f64) {
        let seconds = |node: &Server| -> f64 {
            let field = |name| node.info(name).parse::<f64>().expect("seconds");
            field("used_cpu_user") + field("used_cpu_sys")
        };
        let cpu = || self.cluster.nodes.iter().map(seconds).sum::<f64>();
        let before = cpu();
        let result = act();
        (result, (cpu() - before) * 1e6)
    }

    /// What one waits for, the median in µs, and in how many rounds on average.
    fn one_by_one(&self, calls: u64, act: fn(&Fleet, &mut Clients, u64) -> usize) -> (f64, f64) {
        let connections = self.cluster.nodes.iter().map(Server::connect).collect();
        let homes = self.keys.iter().cloned().zip(self.homes.iter().copied()).collect();
        let mut clients = Clients { connections, homes };
        let (mut micros, mut rounds) = (Vec::new(), 0);
        for call in 0..calls {
            let start = Instant::now();
            rounds += act(self, &mut clients, call);
            micros.push(start.elapsed().as_secs_f64() * 1e6);
        }
        (quantile(micros, 0.5), rounds as f64 / calls as f64)
    }

    /// The rank of a member: in how many rounds.
    fn rank(&self, clients: &mut Clients, call: u64) -> usize {
        let member = member(random(call, 4) % self.members);
        if let [key] = self.keys.as_slice() {
            assert!(cmdv(&mut clients.connections[0], &[b"RANK.GET", key.as_slice(), &member]).is_ok());
            return 1;
        }
        let mut sharded = Sharded::with_keys(clients, self.keys.clone(), SCHEMA);
        assert!(sharded.rank(&member, RankKind::Competition).is_some());
        sharded.rounds
    }

    /// A page anywhere: in how many rounds.
    fn page(&self, clients: &mut Clients, call: u64) -> usize {
        let start = 1 + random(call, 5) % (self.members - PAGE);
        if let [key] = self.keys.as_slice() {
            let (start, last) = (start.to_string(), (start + PAGE - 1).to_string());
            let words: [&[u8]; 4] = [b"RANK.RANGE", key, start.as_bytes(), last.as_bytes()];
            assert!(cmdv(&mut clients.connections[0], &words).is_ok());
            return 1;
        }
        let mut sharded = Sharded::with_keys(clients, self.keys.clone(), SCHEMA);
        assert_eq!(sharded.range(start, PAGE, RankKind::Ordinal).len() as u64, PAGE);
        sharded.rounds
    }
}
