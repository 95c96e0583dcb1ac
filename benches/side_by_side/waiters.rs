//! How late blocked clients get what they wait for. Clients and server share a machine, and so a clock.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::{cmd, Connection};

use crate::results::{quantile, Record};
use crate::server::Setting;
use crate::session::{run, Effort, Session};
use crate::template::random;

const WAITERS: usize = 8;
/// Items a second.
const PACE: u64 = 500;
/// How far ahead items are scheduled, on average.
const AHEAD: Duration = Duration::from_millis(50);
/// The load of the busy server, in commands sent at once.
const BATCH: u64 = 50;

struct Case {
    name: &'static str,
    /// Whether items are due later, so that a timer wakes the waiter: else the command that adds one does.
    is_scheduled: bool,
    is_core: bool,
    is_busy: bool,
}

const CLAIM: Case = Case { name: "", is_scheduled: true, is_core: false, is_busy: false };

const CASES: &[Case] = &[
    Case { name: "DUE.CLAIM BLOCK, items due later", ..CLAIM },
    Case { name: "DUE.CLAIM BLOCK, items due later, busy server", is_busy: true, ..CLAIM },
    Case { name: "DUE.CLAIM BLOCK, items due at once", is_scheduled: false, ..CLAIM },
    Case { name: "BZPOPMIN", is_scheduled: false, is_core: true, ..CLAIM },
];

pub fn measure(program: &Path, effort: Effort, mut put: impl FnMut(Record)) {
    let mut session = Session::start(program, 100_000, Setting::Quiet);
    let items = effort.rounds * 130;
    for case in CASES {
        let late = case.run(&mut session, items);
        let of = |q| quantile(late.clone(), q);
        let figures = [("p50_ms", of(0.5)), ("p99_ms", of(0.99)), ("p999_ms", of(0.999)), ("max_ms", of(1.0))];
        put(Record::new("waiters", &session.name, case.name, items as u64, &figures));
    }
}

impl Case {
    /// How late each item was, in ms.
    fn run(&self, session: &mut Session, items: usize) -> Vec<f64> {
        let (received, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (mut producer, mut other) = (session.server.connect(), session.server.connect());
        let load = session.template("RANK.ADD other $score $member");
        let server = &session.server;
        thread::scope(|scope| {
            let received = &received;
            let waiters: Vec<_> = (0..WAITERS)
                .map(|_| {
                    let con = server.connect();
                    scope.spawn(move || self.wait(con, received, items))
                })
                .collect();
            let (source, is_over) = (&session.source, &is_over);
            scope.spawn(move || {
                let mut first = 0;
                while self.is_busy && !is_over.load(Ordering::Relaxed) {
                    run(&mut other, load.batches(source, first..first + BATCH, BATCH));
                    first += BATCH;
                }
            });
            for number in 0..items as u64 {
                thread::sleep(Duration::from_micros(random(number, 1) % (2_000_000 / PACE)));
                self.add(&mut producer, number);
            }
            let late = waiters.into_iter().flat_map(|waiter| waiter.join().expect("a waiter that finished")).collect();
            is_over.store(true, Ordering::Relaxed);
            late
        })
    }

    /// The time at which it is due is part of the item's name: exactly, where it is due at once.
    fn add(&self, con: &mut Connection, number: u64) {
        let now = now_ms();
        let ahead = if self.is_scheduled { random(number, 2) % (2 * AHEAD.as_millis() as u64) } else { 0 };
        let due = if self.is_scheduled { (now as u64 + ahead) as f64 } else { now };
        let item = format!("{number}:{due}");
        let mut command = if self.is_core { cmd("ZADD") } else { cmd("DUE.ADD") };
        let command = if self.is_core { command.arg("queue") } else { command.arg("jobs").arg("AT") };
        command.arg(due as u64).arg(item).query::<()>(con).expect("an item that was added");
    }

    fn wait(&self, mut con: Connection, received: &AtomicUsize, items: usize) -> Vec<f64> {
        let mut late = Vec::new();
        while received.load(Ordering::Relaxed) < items {
            let item = if self.is_core {
                let popped: Option<(String, String, f64)> =
                    cmd("BZPOPMIN").arg("queue").arg(1).query(&mut con).expect("BZPOPMIN");
                popped.map(|(_, item, _)| (item, 0))
            } else {
                let claimed: Vec<(String, i64, i64, i64)> =
                    cmd("DUE.CLAIM").arg("jobs").arg("BLOCK").arg("1s").query(&mut con).expect("DUE.CLAIM");
                claimed.into_iter().next().map(|(item, token, ..)| (item, token))
            };
            let now = now_ms();
            let Some((item, token)) = item else { continue };
            let (_, due) = item.split_once(':').expect("a time");
            late.push((now - due.parse::<f64>().expect("a time")).max(0.0));
            received.fetch_add(1, Ordering::Relaxed);
            if !self.is_core {
                cmd("DUE.ACK").arg("jobs").arg(token).arg(item).query::<()>(&mut con).expect("DUE.ACK");
            }
        }
        late
    }
}

fn now_ms() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock past 1970").as_secs_f64() * 1e3
}
