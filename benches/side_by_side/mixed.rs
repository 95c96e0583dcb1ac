//! Mixed traffic: several clients, each with one request on its way, two reads for each write.

use std::thread;
use std::time::{Duration, Instant};

use crate::client::Load;
use crate::comparison::keys::{OURS, THEIRS};
use crate::comparison::Key;
use crate::measure::quantile;
use crate::results::Mixed;
use crate::session::Session;
use crate::template::{random, Template};

const CONNECTIONS: usize = 4;
/// Requests of each client before it is the other side's turn.
const TURN: u64 = 1000;

/// Of a hundred requests so many, as we do it, and as one does it today.
struct Share(u64, &'static str, &'static str);

const TRAFFIC: &[Share] = &[
    Share(17, "RANK.ADD ours $score $member", "ZADD theirs $score $member"),
    Share(17, "RANK.INCR ours WITHRANK $delta $member", "EVALSHA @incr_with_rank 1 theirs $delta $member"),
    Share(40, "RANK.GET ours $member", "EVALSHA @rank 1 theirs $member"),
    Share(13, "RANK.TOPN ours 10", "ZREVRANGE theirs 0 9 WITHSCORES"),
    Share(13, "RANK.AROUND ours $member 5", "EVALSHA @around 1 theirs $member 5"),
];

pub const NEEDS: &[&Key] = &[&OURS, &THEIRS];
pub const STEPS: u64 = 2;

struct Side {
    name: &'static str,
    templates: Vec<Template>,
    /// In µs.
    latencies: Vec<f64>,
    taken: Duration,
}

/// Both sides, in turns.
pub fn measure(session: &mut Session, duration: Duration) -> Vec<Mixed> {
    let side = |name, pick: fn(&Share) -> &'static str| Side {
        name,
        templates: TRAFFIC.iter().map(|share| session.template(pick(share))).collect(),
        latencies: Vec::new(),
        taken: Duration::ZERO,
    };
    let mut sides = [side("redis-rank", |share| share.1), side("core commands and scripts", |share| share.2)];
    let start = Instant::now();
    while start.elapsed() < duration {
        for side in &mut sides {
            side.turn(session);
        }
    }
    sides.into_iter().map(|side| side.record(session)).collect()
}

impl Side {
    fn turn(&mut self, session: &mut Session) {
        let loads: Vec<Load> = (0..CONNECTIONS).map(|_| self.load(session)).collect();
        let mut clients: Vec<_> = loads.iter().map(|load| (session.another_client(), load)).collect();
        let start = Instant::now();
        let latencies: Vec<f64> = thread::scope(|scope| {
            let run = |(client, load): &mut (crate::client::Client, &Load)| {
                let mut latencies = Vec::with_capacity(TURN as usize);
                client.run_noting(load, |latency| latencies.push(latency.as_secs_f64() * 1e6));
                latencies
            };
            let threads: Vec<_> = clients.iter_mut().map(|client| scope.spawn(move || run(client))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("a client that finished")).collect()
        });
        self.taken += start.elapsed();
        self.latencies.extend(latencies);
    }

    fn load(&self, session: &mut Session) -> Load {
        let mut load = Load::new(TURN, 1);
        for number in session.numbers(TURN) {
            load.push(1, |bytes| self.pick(number).write(&session.source, number, bytes));
        }
        load
    }

    /// The job with this number, which is of the same kind on both sides.
    fn pick(&self, number: u64) -> &Template {
        let mut draw = random(number, u64::MAX >> 40) % 100;
        for (Share(percent, ..), template) in TRAFFIC.iter().zip(&self.templates) {
            match draw.checked_sub(*percent) {
                Some(rest) => draw = rest,
                None => return template,
            }
        }
        unreachable!("the shares are a hundred")
    }

    fn record(self, session: &Session) -> Mixed {
        let quantile = |q| quantile(self.latencies.clone(), q);
        Mixed {
            server: session.name.clone(),
            side: self.name.into(),
            members: session.members(),
            connections: CONNECTIONS,
            per_second: self.latencies.len() as f64 / self.taken.as_secs_f64(),
            p50: quantile(0.5),
            p99: quantile(0.99),
            p999: quantile(0.999),
            longest: quantile(1.0),
        }
    }
}
