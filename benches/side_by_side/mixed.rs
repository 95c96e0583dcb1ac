//! Mixed traffic: several clients, each with one request on its way, two reads for each write.

use std::thread;
use std::time::Instant;

use crate::comparison::keys::{OURS, THEIRS};
use crate::comparison::Key;
use crate::results::{quantile, Record};
use crate::session::{run, Effort, Session};
use crate::template::{random, Batch, Template};

const CLIENTS: u64 = 4;

/// Of a hundred requests so many, as redis-rank does it, and as one does it today.
const TRAFFIC: &[(u64, &str, &str)] = &[
    (17, "RANK.ADD ours $score $member", "ZADD theirs $score $member"),
    (17, "RANK.INCR ours WITHRANK $delta $member", "EVALSHA @incr_with_rank 1 theirs $delta $member"),
    (40, "RANK.GET ours $member", "EVALSHA @rank 1 theirs $member"),
    (13, "RANK.TOPN ours 10", "ZREVRANGE theirs 0 9 WITHSCORES"),
    (13, "RANK.AROUND ours $member 5", "EVALSHA @around 1 theirs $member 5"),
];

pub const NEEDS: &[&Key] = &[&OURS, &THEIRS];

/// Both sides in turns.
pub fn measure(session: &mut Session, effort: Effort, mut put: impl FnMut(Record)) {
    let requests = effort.slice.as_millis() as u64 * 500;
    let ours: Vec<Template> = TRAFFIC.iter().map(|(_, ours, _)| session.template(ours)).collect();
    let theirs: Vec<Template> = TRAFFIC.iter().map(|(_, _, theirs)| session.template(theirs)).collect();
    let mut sides = [("redis-rank", ours, Vec::new()), ("core commands and scripts", theirs, Vec::new())];
    // The first one warms up.
    for number in 0..=effort.rounds / 2 {
        for (_, templates, rounds) in &mut sides {
            rounds.push(round(session, templates, requests));
            rounds.drain(..usize::from(number == 0));
        }
        sides.reverse();
    }
    for (name, _, rounds) in &sides {
        let median = |place: usize| quantile(rounds.iter().map(|round| round[place]).collect(), 0.5);
        let figures = [("p50_us", median(0)), ("p99_us", median(1)), ("p999_us", median(2)), ("per_second", median(3))];
        put(Record::new("mixed", &session.name, name, session.members(), &figures));
    }
}

/// Three percentiles of the time that a request took, and requests a second.
fn round(session: &mut Session, templates: &[Template], requests: u64) -> [f64; 4] {
    let loads: Vec<Vec<Batch>> = (0..CLIENTS)
        .map(|_| {
            let numbers = session.numbers(requests);
            numbers.flat_map(|number| pick(templates, number).batches(&session.source, number..number + 1, 1)).collect()
        })
        .collect();
    let server = &session.server;
    let start = Instant::now();
    let client = |load: Vec<Batch>| {
        let mut con = server.connect();
        let timed = load.into_iter().map(|batch| {
            let start = Instant::now();
            run(&mut con, std::iter::once(batch));
            start.elapsed().as_secs_f64() * 1e6
        });
        timed.collect::<Vec<f64>>()
    };
    let micros: Vec<f64> = thread::scope(|scope| {
        let clients: Vec<_> = loads.into_iter().map(|load| scope.spawn(move || client(load))).collect();
        clients.into_iter().flat_map(|client| client.join().expect("a client that finished")).collect()
    });
    let per_second = micros.len() as f64 / start.elapsed().as_secs_f64();
    let of = |q| quantile(micros.clone(), q);
    [of(0.5), of(0.99), of(0.999), per_second]
}

fn pick(templates: &[Template], number: u64) -> &Template {
    let mut draw = random(number, u64::MAX >> 40) % 100;
    let place = TRAFFIC.iter().position(|(percent, ..)| match draw.checked_sub(*percent) {
        Some(rest) => {
            draw = rest;
            false
        }
        None => true,
    });
    &templates[place.expect("the shares are a hundred")]
}
