//! One server with its data, and a connection that keeps time.

use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use redis::{Connection, Value};

use crate::comparison::{scripts, Key};
use crate::server::{Server, Setting};
use crate::template::{Batch, Source, Template};

/// Jobs sent at once while keys are filled.
const FILL: u64 = 200;

/// How long to measure.
#[derive(Clone, Copy)]
pub struct Effort {
    pub rounds: usize,
    /// What a side of a round takes, about. Short, and many of them: what disturbs one side disturbs the other.
    pub slice: Duration,
}

/// What so many jobs took.
#[derive(Clone, Copy)]
pub struct Timing {
    jobs: f64,
    wall: Duration,
    /// Of the server's main thread: a busy neighbour leaves it alone.
    cpu: Duration,
}

impl Timing {
    /// Microseconds of the processor for a job.
    pub fn cpu_us(self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.jobs
    }

    pub fn wall_us(self) -> f64 {
        self.wall.as_secs_f64() * 1e6 / self.jobs
    }
}

pub struct Session {
    // Ends before the server that it follows.
    replica: Option<Server>,
    pub server: Server,
    pub setting: Setting,
    pub con: Connection,
    pub source: Source,
    pub name: String,
    /// The number of the next job: none is used twice.
    next: u64,
}

impl Session {
    pub fn start(program: &Path, members: u64, setting: Setting) -> Session {
        let (server, replica) = Server::with(program, setting);
        let mut con = server.connect();
        let mut source = Source::new(members);
        for (name, text) in scripts() {
            let digest: String =
                redis::cmd("SCRIPT").arg("LOAD").arg(text).query(&mut con).expect("a script that loads");
            source.digests.insert(name, digest);
        }
        let name = server.name();
        Session { replica, server, setting, con, source, name, next: 0 }
    }

    pub fn members(&self) -> u64 {
        self.source.members
    }

    pub fn template(&self, text: &str) -> Template {
        Template::new(text, &self.source)
    }

    /// Fills all keys side by side: none has its elements closer together in memory than another.
    pub fn fill(&mut self, keys: &[&Key]) {
        let mut fills: Vec<(&str, u64, Template)> = Vec::new();
        for key in keys {
            if fills.iter().any(|(text, ..)| *text == key.fill) {
                continue;
            }
            if let Some(create) = key.create {
                self.ask(&self.template(create), 0);
            }
            fills.push((key.fill, key.count.of(self.members()), self.template(key.fill)));
        }
        let longest = fills.iter().map(|(_, count, _)| *count).max().unwrap_or(0);
        for first in (0..longest).step_by(FILL as usize) {
            for (_, count, template) in &fills {
                let last = *count.min(&(first + FILL));
                if first < last {
                    run(&mut self.con, template.batches(&self.source, first..last, FILL));
                }
            }
        }
        self.let_the_replica_catch_up();
        self.next = self.next.max(longest);
    }

    /// Numbers for so many jobs.
    pub fn numbers(&mut self, jobs: u64) -> Range<u64> {
        self.next += jobs;
        self.next - jobs..self.next
    }

    pub fn time(&mut self, side: &Template, numbers: Range<u64>, batch: u64) -> Timing {
        let jobs = (numbers.end - numbers.start) as f64;
        let batches: Vec<Batch> = side.batches(&self.source, numbers, batch).collect();
        let (before, start) = (self.cpu_time(), Instant::now());
        run(&mut self.con, batches.into_iter());
        let wall = start.elapsed();
        let cpu = self.cpu_time().saturating_sub(before);
        // What one side left to be done must not slow the other.
        self.let_the_replica_catch_up();
        Timing { jobs, wall, cpu }
    }

    /// How many jobs of each of these sides take a slice a side. At least so many run before, so that the processor's
    /// caches have seen the keys, but not for longer than all rounds take.
    pub fn jobs_in_a_slice(&mut self, sides: &[&Template], batch: u64, effort: Effort, warm: u64) -> u64 {
        let wanted = effort.slice.as_secs_f64() * sides.len() as f64;
        let patience = effort.slice * 2 * effort.rounds as u32;
        let (mut jobs, mut done, start) = (1, 0, Instant::now());
        loop {
            let numbers = self.numbers(jobs);
            let taken: f64 = sides.iter().map(|side| self.time(side, numbers.clone(), batch).cpu.as_secs_f64()).sum();
            done += jobs;
            if taken * 4.0 < wanted {
                jobs *= 4;
                continue;
            }
            jobs = (jobs as f64 * wanted / taken).max(1.0) as u64;
            if jobs > batch {
                jobs = jobs.next_multiple_of(batch);
            }
            if done >= warm || start.elapsed() > patience {
                return jobs;
            }
        }
    }

    /// Bytes that these jobs send to the replica, each.
    pub fn sent_bytes(&mut self, side: &Template, numbers: Range<u64>) -> f64 {
        let jobs = (numbers.end - numbers.start) as f64;
        let offset = |session: &Session| session.server.info("master_repl_offset").parse::<f64>().expect("an offset");
        let before = offset(self);
        run(&mut self.con, side.batches(&self.source, numbers, FILL));
        (offset(self) - before) / jobs
    }

    fn let_the_replica_catch_up(&mut self) {
        if self.replica.is_some() {
            redis::cmd("WAIT").arg(1).arg(0).query::<u64>(&mut self.con).expect("WAIT");
        }
    }

    fn cpu_time(&mut self) -> Duration {
        let info: String = redis::cmd("INFO").arg("cpu").query(&mut self.con).expect("INFO");
        let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.parse().ok());
        let seconds = |kind: &str| -> f64 {
            // Only Linux tells threads apart.
            field(&format!("used_cpu_{kind}_main_thread")).or_else(|| field(&format!("used_cpu_{kind}"))).unwrap_or(0.0)
        };
        Duration::from_secs_f64(seconds("user") + seconds("sys"))
    }

    /// The reply to a job; an array of them if it has several commands.
    pub fn ask(&mut self, template: &Template, number: u64) -> Value {
        let batch = template.batches(&self.source, number..number + 1, 1).next().expect("one job");
        self.con.send_packed_command(&batch.bytes).expect("the server reads");
        let mut replies: Vec<Value> = (0..batch.replies).map(|_| receive(&mut self.con)).collect();
        match replies.len() {
            1 => replies.remove(0),
            _ => Value::Array(replies),
        }
    }
}

/// Sends each batch before the replies to the one before it are read: the server never waits for the client.
pub fn run(con: &mut Connection, batches: impl Iterator<Item = Batch>) {
    let mut expected = 0;
    for batch in batches {
        con.send_packed_command(&batch.bytes).expect("the server reads");
        (0..expected).for_each(|_| drop(receive(con)));
        expected = batch.replies;
    }
    (0..expected).for_each(|_| drop(receive(con)));
}

/// A benchmark of errors is worthless: one is the end.
fn receive(con: &mut Connection) -> Value {
    match con.recv_response() {
        Ok(Value::ServerError(error)) => panic!("the server replied: {error}"),
        Ok(value) => value,
        Err(error) => panic!("the server replied: {error}"),
    }
}
