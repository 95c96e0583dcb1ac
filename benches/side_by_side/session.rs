//! One server, filled once, and the comparisons that run on it.

use std::time::Duration;

use redis::{Connection, ConnectionLike, Value};

use crate::boards;
use crate::client::Client;
use crate::comparison::{Comparison, Count, Key, Memory, Scale, Script};
use crate::limits;
use crate::measure::{Outcome, Round, Timing};
use crate::options::Effort;
use crate::report::Report;
use crate::support::{cmd, cmdv, reply, show, Kind, Server};
use crate::template::{Source, Template};

const FILL_PIPELINE: u64 = 200;
/// Pairs of replies that are compared before anything is timed.
const SAMPLES: u64 = 50;
/// Members for each batch of the warm-up: counted, since in a time a busy machine would see fewer of them.
const MEMBERS_WARMED: u64 = 800;

pub struct Session<'a> {
    /// Ends with the session.
    _server: Server,
    con: Connection,
    client: Client,
    source: Source,
    effort: &'a Effort,
    report: &'a mut Report,
}

impl<'a> Session<'a> {
    pub fn start(kind: Kind, members: u64, effort: &'a Effort, report: &'a mut Report) -> Session<'a> {
        let server = Server::builder(kind).start();
        let mut con = server.connect();
        // Replies of a whole board take their time on a busy machine.
        con.set_read_timeout(Some(Duration::from_secs(600))).expect("a timeout");
        let mut source = Source::new(members);
        for Script { name, text } in boards::SCRIPTS.iter().chain(limits::SCRIPTS) {
            match cmdv(&mut con, &["SCRIPT", "LOAD", text]) {
                Ok(Value::BulkString(digest)) => source.digests.insert(name, String::from_utf8_lossy(&digest).into()),
                other => panic!("script {name}: {other:?}"),
            };
        }
        report.server(kind, &server.info(version_field(kind)), members);
        let client = Client::connect(&server.socket());
        Session { _server: server, con, client, source, effort, report }
    }

    pub fn run(mut self, comparisons: &[&Comparison], memory: &[&Memory]) {
        let (comparisons, absent): (Vec<&Comparison>, Vec<&Comparison>) =
            comparisons.iter().partition(|comparison| self.has_commands(comparison));
        for comparison in absent {
            self.report.skip(&format!("{}: the module has no such command yet", comparison.name));
        }
        let needs = comparisons.iter().flat_map(|comparison| comparison.needs);
        self.fill(needs.chain(memory.iter().flat_map(|memory| memory.needs)).copied());
        for memory in memory {
            self.weigh(memory);
        }
        for comparison in comparisons {
            self.compare(comparison);
        }
    }

    fn has_commands(&mut self, comparison: &Comparison) -> bool {
        [comparison.ours, comparison.theirs].iter().all(|template| {
            let command = template.split(' ').next().unwrap_or_default();
            reply(&mut self.con, &format!("COMMAND INFO {command}")) != "[nil]"
        })
    }

    /// Fills all keys side by side: none has its elements closer together in memory than another.
    fn fill(&mut self, needs: impl Iterator<Item = &'static Key>) {
        let mut keys: Vec<(&Key, Template)> = Vec::new();
        for key in needs {
            if keys.iter().any(|(known, _)| std::ptr::eq(*known, key)) {
                continue;
            }
            if let Some(create) = key.create {
                assert_eq!(reply(&mut self.con, create), "+OK", "{create}");
            }
            keys.push((key, Template::new(key.fill, &self.source)));
        }
        let members = self.source.members;
        let count = |key: &Key| match key.count {
            Count::Members => members,
            Count::Exactly(count) => count,
        };
        let longest = keys.iter().map(|(key, _)| count(key)).max().unwrap_or(0);
        self.report.begin("filling", longest);
        for first in (0..longest).step_by(FILL_PIPELINE as usize) {
            for (key, template) in &keys {
                let last = count(key).min(first + FILL_PIPELINE);
                if first < last {
                    self.client.run(&template.load(&self.source, first..last, FILL_PIPELINE));
                }
            }
            self.report.step(FILL_PIPELINE);
        }
        self.report.end();
    }

    fn weigh(&mut self, memory: &Memory) {
        let mut bytes = |keys: &[&str]| -> u64 {
            keys.iter()
                .map(|key| match cmd(&mut self.con, &format!("MEMORY USAGE {key} SAMPLES 0")) {
                    Ok(Value::Int(bytes)) => bytes.unsigned_abs(),
                    other => panic!("MEMORY USAGE {key}: {other:?}"),
                })
                .sum()
        };
        let (ours, theirs) = (bytes(memory.ours), bytes(memory.theirs));
        self.report.memory(memory, ours as f64, theirs as f64, self.source.members);
    }

    fn compare(&mut self, comparison: &Comparison) {
        let ours = Template::new(comparison.ours, &self.source);
        let theirs = Template::new(comparison.theirs, &self.source);
        self.report.begin(comparison.name, self.effort.rounds as u64);
        for number in 0..SAMPLES.min(comparison.pipeline) {
            self.check(comparison, number, &ours, &theirs);
        }
        self.check_state(comparison);

        // Both sides run the same numbers, so that their keys stay equal to the end.
        let (mut next, commands) = self.warm_up(comparison, &ours, &theirs);
        let mut rounds = Vec::with_capacity(self.effort.rounds);
        for round in 0..self.effort.rounds {
            let numbers = next..next + commands;
            next = numbers.end;
            let (first, second) = if round % 2 == 0 { (&ours, &theirs) } else { (&theirs, &ours) };
            let (first, second) = (
                self.time(first, numbers.clone(), comparison.pipeline),
                self.time(second, numbers, comparison.pipeline),
            );
            let (ours, theirs) = if round % 2 == 0 { (first, second) } else { (second, first) };
            rounds.push(Round { ours, theirs });
            self.report.step(1);
        }
        self.check_state(comparison);
        self.report.end();
        self.report.outcome(comparison, &Outcome::of(&rounds), self.source.members);
    }

    /// Runs both sides until the processor's caches have seen their keys, which is unfair to neither:
    /// some keys were used a moment ago, others not since they were filled. Returns the number of the
    /// first command that was not used up, and how many commands a round shall have.
    fn warm_up(&mut self, comparison: &Comparison, ours: &Template, theirs: &Template) -> (u64, u64) {
        let (mut next, mut commands) = (SAMPLES, comparison.pipeline);
        let wanted = self.effort.slice * 2;
        let batches = match comparison.scale {
            Scale::Growing => self.source.members / MEMBERS_WARMED,
            Scale::Fixed => 0,
        };
        let warm = SAMPLES + batches * comparison.pipeline;
        loop {
            let mut time = |side| self.time(side, next..next + commands, comparison.pipeline).wall;
            let both = time(ours) + time(theirs);
            next += commands;
            if both * 4 < wanted {
                commands *= 4;
                continue;
            }
            let fitting = commands as f64 * wanted.as_secs_f64() / both.as_secs_f64();
            commands = (fitting as u64).max(1).next_multiple_of(comparison.pipeline);
            if next >= warm {
                return (next, commands);
            }
        }
    }

    fn time(&mut self, side: &Template, numbers: std::ops::Range<u64>, pipeline: u64) -> Timing {
        let load = side.load(&self.source, numbers, pipeline);
        let before = self.cpu_time();
        let wall = self.client.run(&load);
        let cpu = self.cpu_time().saturating_sub(before);
        Timing { commands: load.commands(), wall, cpu }
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

    fn check(&mut self, comparison: &Comparison, number: u64, ours: &Template, theirs: &Template) {
        let mut run = |template: &Template| {
            let answer = self.con.req_packed_command(&template.command(&self.source, number));
            answer.unwrap_or_else(|error| panic!("{}: {error}", comparison.name))
        };
        let (ours, theirs) = (run(ours), run(theirs));
        assert!((comparison.replies)(&ours, &theirs), "{}: {}", comparison.name, difference(&ours, &theirs));
    }

    fn check_state(&mut self, comparison: &Comparison) {
        let Some(state) = &comparison.state else { return };
        let mut read = |line| cmd(&mut self.con, line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let (ours, theirs) = (read(state.ours), read(state.theirs));
        assert!((state.same)(&ours, &theirs), "{}, {}: {}", comparison.name, state.ours, difference(&ours, &theirs));
    }
}

fn version_field(kind: Kind) -> &'static str {
    match kind {
        Kind::Redis => "redis_version",
        Kind::Valkey => "valkey_version",
    }
}

fn difference(ours: &Value, theirs: &Value) -> String {
    let short = |value: &Value| show(value).chars().take(500).collect::<String>();
    format!("these do not mean the same:\n  ours:   {}\n  theirs: {}", short(ours), short(theirs))
}
