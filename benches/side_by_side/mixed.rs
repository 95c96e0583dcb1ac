//! Mixed traffic: several clients, each with one request on its way, two reads for each write.

use std::thread;
use std::time::Instant;

use crate::client::Load;
use crate::comparison::keys::{OURS, THEIRS};
use crate::comparison::Key;
use crate::measure::quantile;
use crate::options::Effort;
use crate::results::Mixed;
use crate::session::Session;
use crate::template::{random, Template};

const CONNECTIONS: usize = 4;

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

struct Side {
    is_ours: bool,
    templates: Vec<Template>,
    rounds: Vec<Round>,
}

struct Round {
    /// In µs.
    p50: f64,
    p99: f64,
    p999: f64,
    per_second: f64,
}

/// Both sides in turns, so that what disturbs one disturbs the other.
pub fn measure(session: &mut Session, effort: &Effort) -> Vec<Mixed> {
    let side = |is_ours, pick: fn(&Share) -> &'static str| Side {
        is_ours,
        templates: TRAFFIC.iter().map(|share| session.template(pick(share))).collect(),
        rounds: Vec::new(),
    };
    let mut sides = [side(true, |share| share.1), side(false, |share| share.2)];
    // The first one warms up.
    for round in 0..=effort.mixed_rounds {
        for side in &mut sides {
            let result = side.round(session, effort.mixed_requests);
            side.rounds.extend((round > 0).then_some(result));
        }
        sides.reverse();
    }
    sides.sort_by_key(|side| !side.is_ours);
    sides.into_iter().map(|side| side.record(session)).collect()
}

impl Side {
    fn round(&self, session: &mut Session, requests: u64) -> Round {
        let loads: Vec<Load> = (0..CONNECTIONS).map(|_| self.load(session, requests)).collect();
        let mut clients: Vec<_> = loads.iter().map(|load| (session.another_client(), load)).collect();
        let start = Instant::now();
        let latencies: Vec<f64> = thread::scope(|scope| {
            let run = |(client, load): &mut (crate::client::Client, &Load)| {
                let mut latencies = Vec::with_capacity(requests as usize);
                client.run_noting(load, |latency| latencies.push(latency.as_secs_f64() * 1e6));
                latencies
            };
            let threads: Vec<_> = clients.iter_mut().map(|client| scope.spawn(move || run(client))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("a client that finished")).collect()
        });
        let taken = start.elapsed();
        let of = |q| quantile(latencies.clone(), q);
        let per_second = latencies.len() as f64 / taken.as_secs_f64();
        Round { p50: of(0.5), p99: of(0.99), p999: of(0.999), per_second }
    }

    fn load(&self, session: &mut Session, requests: u64) -> Load {
        let mut load = Load::new(requests, 1);
        for number in session.numbers(requests) {
            load.push(1, |bytes| self.pick(number).write(&session.source, number, bytes));
        }
        load
    }

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
        let of = |figure: fn(&Round) -> f64, q| quantile(self.rounds.iter().map(figure).collect(), q);
        Mixed {
            server: session.name.clone(),
            is_ours: self.is_ours,
            members: session.members(),
            rounds: self.rounds.len(),
            per_second: of(|round| round.per_second, 0.5),
            p50: of(|round| round.p50, 0.5),
            p99: of(|round| round.p99, 0.5),
            p999: of(|round| round.p999, 0.5),
            p999_spread: (of(|round| round.p999, 0.25), of(|round| round.p999, 0.75)),
        }
    }
}
