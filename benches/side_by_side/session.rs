//! One server with its data, and a connection that keeps time.

use std::ops::Range;
use std::time::{Duration, Instant};

use redis::{Connection, ConnectionLike, Value};

use crate::client::{Client, Load};
use crate::comparison::{scripts, Count, Key, Script};
use crate::console::Console;
use crate::listener::Listener;
use crate::measure::Timing;
use crate::results::Sent;
use crate::support::{cmd, cmdv, reply, Kind, Server};
use crate::template::{Pacing, Source, Template};

const FILL: Pacing = Pacing::pipelined(200);
/// Keys of this many members are one step of the progress bar.
const MEMBERS_A_STEP: u64 = 50_000;

pub struct Session {
    // Ends before the server that it follows.
    replica: Option<Server>,
    server: Server,
    pub listener: Listener,
    pub con: Connection,
    pub client: Client,
    pub source: Source,
    /// `Redis 7.0.15`
    pub name: String,
    /// The number of the next job: none is used twice.
    next: u64,
}

impl Session {
    pub fn start(kind: Kind, members: u64, listener: Listener) -> Session {
        let (server, replica) = listener.start(kind);
        let mut con = server.connect();
        // Replies of a whole board take their time on a busy machine.
        con.set_read_timeout(Some(Duration::from_secs(600))).expect("a timeout");
        let mut source = Source::new(members);
        for Script { name, text } in scripts() {
            match cmdv(&mut con, &["SCRIPT", "LOAD", text]) {
                Ok(Value::BulkString(digest)) => source.digests.insert(name, String::from_utf8_lossy(&digest).into()),
                other => panic!("script {name}: {other:?}"),
            };
        }
        let name = server_name(&server);
        let client = Client::connect(&server.socket());
        Session { replica, server, listener, con, client, source, name, next: 0 }
    }

    pub fn members(&self) -> u64 {
        self.source.members
    }

    /// One more connection, for another thread.
    pub fn another_client(&self) -> Client {
        Client::connect(&self.server.socket())
    }

    pub fn info(&self, field: &str) -> String {
        self.server.info(field)
    }

    pub fn template(&self, text: &str) -> Template {
        Template::new(text, &self.source)
    }

    /// How many steps of the progress bar [`Session::fill`] takes.
    pub fn steps_to_fill(needs: &[&'static Key], members: u64) -> u64 {
        distinct(needs).iter().map(|key| count(key, members)).sum::<u64>() / MEMBERS_A_STEP + 1
    }

    /// Fills all keys side by side: none has its elements closer together in memory than another.
    pub fn fill(&mut self, needs: &[&'static Key], console: &Console) {
        let members = self.members();
        let keys: Vec<(u64, Template)> = distinct(needs)
            .iter()
            .map(|key| {
                if let Some(create) = key.create {
                    assert_eq!(reply(&mut self.con, create), "+OK", "{create}");
                }
                (count(key, members), self.template(key.fill))
            })
            .collect();
        let longest = keys.iter().map(|(count, _)| *count).max().unwrap_or(0);
        console.doing(&format!("{}: filling {} keys with {members} members", self.name, keys.len()));
        let (steps, mut stepped, mut filled) = (Session::steps_to_fill(needs, members), 0, 0);
        for first in (0..longest).step_by(FILL.batch as usize) {
            for (count, template) in &keys {
                let last = *count.min(&(first + FILL.batch));
                if first < last {
                    self.client.run(&template.load(&self.source, first..last, FILL));
                    filled += last - first;
                }
            }
            let due = (filled / MEMBERS_A_STEP).min(steps);
            console.step(due - stepped);
            stepped = due;
        }
        console.step(steps - stepped);
        self.let_the_replica_catch_up();
        self.next = self.next.max(longest);
    }

    /// Numbers for so many jobs.
    pub fn numbers(&mut self, jobs: u64) -> Range<u64> {
        self.next += jobs;
        self.next - jobs..self.next
    }

    pub fn time(&mut self, side: &Template, numbers: Range<u64>, pacing: Pacing) -> Timing {
        let load = side.load(&self.source, numbers, pacing);
        let before = self.cpu_time();
        let wall = self.client.run(&load);
        let cpu = self.cpu_time().saturating_sub(before);
        // What one side left to be done must not slow the other.
        self.let_the_replica_catch_up();
        Timing { jobs: load.jobs, wall, cpu }
    }

    /// How many jobs of each of these sides, run one after the other, take a slice a side. Before it knows, it runs at
    /// least `warm` of them (counted, since in a time a busy machine would see fewer), but not longer than `patience`:
    /// until the processor's caches have seen the keys, which is unfair to neither. Some keys were used a moment ago,
    /// others not since they were filled.
    pub fn jobs_in_a_slice(
        &mut self,
        sides: &[&Template],
        pacing: Pacing,
        slice: Duration,
        (warm, patience): (u64, Duration),
    ) -> u64 {
        let wanted = slice * sides.len() as u32;
        let (mut jobs, mut done, start) = (1, 0, Instant::now());
        loop {
            let numbers = self.numbers(jobs);
            let taken: Duration = sides.iter().map(|side| self.time(side, numbers.clone(), pacing).wall).sum();
            done += jobs;
            if taken * 4 < wanted {
                jobs *= 4;
                continue;
            }
            let fitting = (jobs as f64 * wanted.as_secs_f64() / taken.as_secs_f64()).max(1.0) as u64;
            jobs = if fitting > pacing.batch { fitting.next_multiple_of(pacing.batch) } else { fitting };
            if done >= warm || start.elapsed() > patience {
                return jobs;
            }
        }
    }

    fn let_the_replica_catch_up(&mut self) {
        if self.replica.is_some() {
            self.run(&["WAIT", "1", "0"].map(String::from));
        }
    }

    /// What one of these jobs makes the server send to its replica.
    pub fn sent_by(&mut self, side: &Template, numbers: Range<u64>) -> Sent {
        let jobs = (numbers.end - numbers.start) as f64;
        let (bytes, calls) = (self.replicated_bytes(), self.replicated_commands());
        let load = side.load(&self.source, numbers, FILL);
        self.client.run(&load);
        let bytes = self.replicated_bytes() - bytes;
        self.let_the_replica_catch_up();
        let mut commands = self.replicated_commands();
        for (name, before) in calls {
            if let Some((_, count)) = commands.iter_mut().find(|(known, _)| *known == name) {
                *count -= before;
            }
        }
        let a_job = |count: f64| count / jobs;
        commands.iter_mut().for_each(|(_, count)| *count = a_job(*count));
        // What a replica gets now and then, whoever writes: a ping, a question how far it is.
        commands.retain(|(name, count)| *count > 0.02 && !["info", "replconf", "ping", "select"].contains(&&**name));
        // In the order in which a replica runs them, as far as one can tell: a transaction is around the rest.
        commands.sort_by_key(|(name, _)| (name == "exec", name != "multi", name.clone()));
        Sent { bytes: a_job(bytes), commands }
    }

    fn replicated_bytes(&self) -> f64 {
        self.info("master_repl_offset").parse().expect("an offset")
    }

    /// How often the replica has run each command.
    fn replicated_commands(&self) -> Vec<(String, f64)> {
        let replica = self.replica.as_ref().expect("a replica");
        let Ok(Value::BulkString(info)) = cmd(&mut replica.connect(), "INFO commandstats") else { panic!("no INFO") };
        let info = String::from_utf8_lossy(&info);
        let entry = |line: &str| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
        };
        info.lines().filter_map(entry).collect()
    }

    fn cpu_time(&mut self) -> Duration {
        let Ok(Value::BulkString(info)) = cmd(&mut self.con, "INFO cpu") else { panic!("INFO cpu") };
        let info = String::from_utf8_lossy(&info);
        let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.parse().ok());
        let seconds = |kind: &str| -> f64 {
            field(&format!("used_cpu_{kind}_main_thread")).or_else(|| field(&format!("used_cpu_{kind}"))).unwrap_or(0.0)
        };
        Duration::from_secs_f64(seconds("user") + seconds("sys"))
    }

    /// The reply to a job; an array of them if it has several commands.
    pub fn ask(&mut self, template: &Template, number: u64) -> Value {
        let mut bytes = Vec::new();
        template.write(&self.source, number, &mut bytes);
        let replies = self.con.req_packed_commands(&bytes, 0, template.commands as usize);
        let mut replies = replies.unwrap_or_else(|error| panic!("{}: {error}", String::from_utf8_lossy(&bytes)));
        match replies.len() {
            1 => replies.remove(0),
            _ => Value::Array(replies),
        }
    }

    /// Runs one command, whatever the size of its reply.
    pub fn run(&mut self, words: &[String]) {
        let mut load = Load::new(1, 1);
        load.push(1, |bytes| {
            let mut command = redis::Cmd::new();
            words.iter().for_each(|word| {
                command.arg(word);
            });
            bytes.extend(command.get_packed_command());
        });
        self.client.run(&load);
    }
}

fn distinct(needs: &[&'static Key]) -> Vec<&'static Key> {
    let mut keys: Vec<&Key> = Vec::new();
    for key in needs {
        if !keys.iter().any(|known| known.fill == key.fill) {
            keys.push(key);
        }
    }
    keys
}

fn count(key: &Key, members: u64) -> u64 {
    match key.count {
        Count::Members => members,
        Count::Exactly(count) => count,
    }
}

/// Its kind and version.
pub fn server_name(server: &Server) -> String {
    format!("{:?} {}", server.kind(), server.info(version_field(server.kind())))
}

fn version_field(kind: Kind) -> &'static str {
    match kind {
        Kind::Redis => "redis_version",
        Kind::Valkey => "valkey_version",
    }
}
