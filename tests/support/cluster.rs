//! A real cluster on the loopback interface: three primaries or more, with a replica each if a test wants them.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use redis::{Connection, ProtocolVersion, RedisError, Value};

use super::server::connect_to;
use super::{cmdv, reply, show_result, wait_until, Builder, Kind, Server};

const PRIMARIES: usize = 3;
const SLOTS: usize = 16384;
/// After five seconds the server itself gives up a failover by hand.
const FAILOVER_GIVEN_UP: Duration = Duration::from_secs(6);
/// How often a client follows redirections before it gives up: a slot that moves is followed again and again.
const MOST_TRIES: usize = 2000;

pub struct Cluster {
    /// The primaries first, as the cluster was formed; a failover changes who is what.
    pub nodes: Vec<Server>,
    primaries: usize,
}

/// A client of all nodes, which follows redirections and tries again as a cluster's client does.
pub struct Client {
    connections: BTreeMap<u16, Connection>,
    /// To connect again.
    sockets: BTreeMap<u16, PathBuf>,
    /// Where commands are tried first.
    at: u16,
    /// Where a key was found last.
    homes: BTreeMap<Vec<u8>, u16>,
    /// How often it was told to try again.
    pub tried_again: usize,
}

fn node(kind: Kind, change: fn(Builder) -> Builder) -> Server {
    for _ in 0..10 {
        let bus =
            TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port();
        let builder = Server::builder(kind)
            .tcp()
            .config("cluster-enabled yes")
            .config("cluster-node-timeout 5000")
            .config(&format!("cluster-port {bus}"));
        match change(builder).try_start() {
            Ok(server) => return server,
            Err(log) => assert!(log.contains("in use") || log.contains("already"), "{log}"),
        }
    }
    panic!("no node could be started")
}

/// A node's view of the cluster, with the shard id of each replica's primary in place of the replica's own. A node may save
/// the file before it has heard of both, and Valkey 8.1.1 then refuses to start: "corrupted cluster config file"
/// (valkey-io/valkey#2171). Later versions correct it when they start.
pub(super) fn with_shard_ids_of_primaries(nodes: &str) -> String {
    let shard = |line: &str| {
        let id = line.split("shard-id=").nth(1)?;
        Some(id.split([',', ' ']).next().unwrap_or_default().to_string())
    };
    let shards: BTreeMap<&str, String> =
        nodes.lines().filter_map(|line| Some((line.split(' ').next()?, shard(line)?))).collect();
    let correct = |line: &str| {
        let primary = line.split(' ').nth(3).and_then(|primary| shards.get(primary));
        let ids = shard(line).zip(primary);
        ids.map_or_else(|| line.into(), |(own, primary)| line.replace(&format!("={own}"), &format!("={primary}")))
            + "\n"
    };
    nodes.lines().map(correct).collect()
}

impl Cluster {
    /// Three primaries, and as many replicas if they are asked for.
    #[track_caller]
    pub fn start(kind: Kind, with_replicas: bool) -> Cluster {
        Cluster::start_with(kind, with_replicas, |builder| builder)
    }

    #[track_caller]
    pub fn start_with(kind: Kind, with_replicas: bool, change: fn(Builder) -> Builder) -> Cluster {
        Cluster::of(kind, PRIMARIES, with_replicas, change)
    }

    /// So many primaries, each with an equal part of the slots.
    #[track_caller]
    pub fn of(kind: Kind, primaries: usize, with_replicas: bool, change: fn(Builder) -> Builder) -> Cluster {
        let count = if with_replicas { 2 * primaries } else { primaries };
        let cluster = Cluster { nodes: (0..count).map(|_| node(kind, change)).collect(), primaries };
        for (at, node) in cluster.nodes.iter().take(primaries).enumerate() {
            let (first, last) = (at * SLOTS / primaries, (at + 1) * SLOTS / primaries - 1);
            let command = format!("CLUSTER ADDSLOTSRANGE {first} {last}");
            assert_eq!(reply(&mut node.connect(), &command), "+OK");
            assert_eq!(reply(&mut node.connect(), &format!("CLUSTER SET-CONFIG-EPOCH {}", at + 1)), "+OK");
        }
        let mut first = cluster.nodes[0].connect();
        for node in &cluster.nodes[1..] {
            let bus = show_result(&cmdv(&mut node.connect(), &["CONFIG", "GET", "cluster-port"]));
            let bus: String = bus.chars().filter(char::is_ascii_digit).collect();
            assert_eq!(reply(&mut first, &format!("CLUSTER MEET 127.0.0.1 {} {bus}", node.port())), "+OK");
        }
        let known = format!("cluster_known_nodes:{count}\\r");
        wait_until(|| cluster.nodes.iter().all(|node| reply(&mut node.connect(), "CLUSTER INFO").contains(&known)));
        for (replica, primary) in cluster.nodes.iter().skip(primaries).zip(&cluster.nodes) {
            let command = format!("CLUSTER REPLICATE {}", cluster.id(primary));
            wait_until(|| reply(&mut replica.connect(), &command) == "+OK");
        }
        cluster.wait_until_whole();
        cluster.wait_for_replicas();
        cluster
    }

    /// Waits until every replica follows, and every node knows of it: only who knows that a node is a replica votes for it.
    #[track_caller]
    pub fn wait_for_replicas(&self) {
        let expected = self.nodes.len() - self.primaries;
        let seen = |node: &Server| reply(&mut node.connect(), "CLUSTER NODES").matches("slave ").count();
        let follows = |node: &Server| node.info("role") == "master" || node.info("master_link_status") == "up";
        wait_until(|| self.nodes.iter().all(|node| seen(node) == expected && follows(node)));
    }

    /// The place of a replica of the slot's owner.
    pub fn replica_of(&self, slot: u16) -> usize {
        let owner = self.owner(slot).port().to_string();
        let is_replica = |node: &Server| node.info("role") == "slave" && node.info("master_port") == owner;
        self.nodes.iter().position(is_replica).expect("a replica")
    }

    /// A failover by hand, during which the primary refuses no write but makes it wait.
    #[track_caller]
    pub fn fail_over(&self, slot: u16) {
        self.wait_for_replicas();
        let old = self.owner(slot).port();
        let mut replica = self.nodes[self.replica_of(slot)].connect();
        wait_until(|| reply(&mut replica, "CLUSTER FAILOVER") == "+OK");
        let mut asked = Instant::now();
        wait_until(|| {
            if asked.elapsed() > FAILOVER_GIVEN_UP {
                // An election can fail for want of votes.
                reply(&mut replica, "CLUSTER FAILOVER");
                asked = Instant::now();
            }
            self.owner(slot).port() != old
        });
    }

    /// Starts the node again that was killed.
    #[track_caller]
    pub fn restart(&mut self, at: usize) {
        let path = self.nodes[at].dir().join("nodes.conf");
        let nodes = fs::read_to_string(&path).expect("the node's view of the cluster");
        fs::write(&path, with_shard_ids_of_primaries(&nodes)).expect("the file can be written");
        self.nodes[at].restart();
    }

    pub fn id(&self, node: &Server) -> String {
        reply(&mut node.connect(), "CLUSTER MYID").trim_matches('"').to_string()
    }

    /// Waits until all nodes know all others and all slots.
    #[track_caller]
    pub fn wait_until_whole(&self) {
        wait_until(|| {
            self.nodes.iter().all(|node| {
                let info = reply(&mut node.connect(), "CLUSTER INFO");
                info.contains("cluster_state:ok")
                    && info.contains(&format!("cluster_known_nodes:{}\\r", self.nodes.len()))
                    && info.contains(&format!("cluster_slots_ok:{SLOTS}\\r"))
            })
        });
    }

    pub fn client(&self) -> Client {
        let connections = self.nodes.iter().map(|node| (node.port(), node.connect())).collect();
        let sockets = self.nodes.iter().map(|node| (node.port(), node.socket())).collect();
        let at = self.nodes[0].port();
        Client { connections, sockets, at, homes: BTreeMap::new(), tried_again: 0 }
    }

    pub fn slot_of(&self, key: &str) -> u16 {
        let slot = show_result(&cmdv(&mut self.nodes[0].connect(), &["CLUSTER", "KEYSLOT", key]));
        slot.parse().expect("a slot")
    }

    /// The primary that serves a slot, by its own account.
    #[track_caller]
    pub fn owner(&self, slot: u16) -> &Server {
        let mut owner = None;
        wait_until(|| {
            owner = self.nodes.iter().find(|node| {
                let nodes = reply(&mut node.connect(), "CLUSTER NODES");
                let own = nodes.split("\\n").find(|line| line.contains("myself,master"));
                own.is_some_and(|line| {
                    line.split(' ').skip(8).any(|range| {
                        let mut ends = range.split('-').map(|end| end.parse::<u16>().ok());
                        let first = ends.next().flatten();
                        let last = ends.next().map_or(first, |last| last);
                        first.zip(last).is_some_and(|(first, last)| (first..=last).contains(&slot))
                    })
                })
            });
            owner.is_some()
        });
        owner.expect("an owner")
    }

    /// A primary other than the owner of the slot.
    pub fn another_primary(&self, slot: u16) -> &Server {
        let owner = self.owner(slot).port();
        let other = self.nodes.iter().find(|node| node.port() != owner && node.info("role") == "master");
        other.expect("another primary")
    }
}

impl Client {
    /// One command, wherever it leads.
    #[track_caller]
    pub fn send<A: AsRef<[u8]>>(&mut self, args: &[A]) -> String {
        show_result(&self.follow(args))
    }

    /// The same, with the reply as it came.
    #[track_caller]
    pub fn follow<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Result<Value, RedisError> {
        let key = args.get(1).map(|key| key.as_ref().to_vec()).unwrap_or_default();
        let mut at = self.homes.get(&key).copied().unwrap_or(self.at);
        let (mut asking, mut answer) = (false, String::new());
        for _ in 0..MOST_TRIES {
            let con = self.connections.get_mut(&at).expect("a node");
            if asking {
                reply(con, "ASKING");
            }
            let result = cmdv(con, args);
            answer = match &result {
                Ok(_) => String::new(),
                error => show_result(error),
            };
            asking = answer.starts_with("ASK ");
            if asking || answer.starts_with("MOVED ") {
                at = answer.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
                if !asking {
                    self.at = at;
                    self.homes.insert(key.clone(), at);
                }
            } else if answer.starts_with("TRYAGAIN")
                || answer.starts_with("CLUSTERDOWN")
                || answer.starts_with("CLIENT")
            {
                self.tried_again += 1;
                self.homes.remove(&key);
                if answer.starts_with("CLIENT") {
                    // The node is gone: another one knows who took its place.
                    self.at = *self.connections.keys().find(|port| **port != at).expect("another node");
                    // Or it closed the connection alone, as it does when it becomes a replica.
                    if let Ok(con) = connect_to(self.sockets[&at].clone(), ProtocolVersion::RESP2) {
                        self.connections.insert(at, con);
                    }
                }
                at = self.at;
                std::thread::sleep(super::POLL);
            } else {
                return result;
            }
        }
        panic!("no end of redirections: {answer}")
    }

    /// One line, with plain words.
    #[track_caller]
    pub fn line(&mut self, line: &str) -> String {
        self.send(&line.split_whitespace().collect::<Vec<_>>())
    }
}
