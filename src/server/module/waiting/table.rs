//! Which clients wait, for which key, in which order, and which check of a key is next. It reads and writes no keys.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::os::raw::c_int;

use super::clock::Now;
use crate::server::api::{Blocked, Ctx, Text, Timer};

/// A client that waits, and the command to run for it when something is due.
#[derive(Clone)]
pub struct Waiter {
    pub blocked: Blocked,
    /// The name of its user; `None` for a client that may do everything.
    pub user: Option<Text<'static>>,
    pub command: &'static CStr,
    /// Without `BLOCK` and `NOW`.
    pub args: Vec<Text<'static>>,
    /// The server refuses the command while it has no memory for it.
    pub needs_memory: bool,
    /// How many milliseconds its own clock, which it gave with `NOW`, is ahead of the monotonic one.
    pub own_clock: Option<i64>,
    /// When its wait times out, in ticks of the monotonic clock.
    pub deadline: Option<u64>,
}

/// The clients that wait for one key.
pub struct Queue {
    pub database: c_int,
    pub name: Text<'static>,
    /// In the order of arrival.
    waiters: BTreeMap<u64, Waiter>,
    /// The deadline and the arrival of each client that has a deadline.
    deadlines: BTreeSet<(u64, u64)>,
    /// [`Waiter::own_clock`] and the arrival of each client that has one.
    own_clocks: BTreeSet<(i64, u64)>,
    /// When the key is checked next, in ticks of the monotonic clock.
    next_check: Option<u64>,
}

pub struct Table {
    /// By their ids. An id is used again once nobody waits for its key.
    queues: BTreeMap<u64, Queue>,
    /// Lower ids that no queue has.
    free: BTreeSet<u64>,
    ids: BTreeMap<(c_int, Vec<u8>), u64>,
    /// The queue and the arrival of each client.
    positions: BTreeMap<Blocked, (u64, u64)>,
    last_arrival: u64,
    /// When the key of each queue is checked next, and the id of the queue.
    checks: BTreeSet<(u64, u64)>,
    /// The timer for the first of these checks, and when it fires.
    pub timer: Option<(Timer, u64)>,
}

// SAFETY: only the main thread uses the table. The lock around it only satisfies the compiler.
unsafe impl Send for Table {}

impl Table {
    pub const fn new() -> Table {
        Table {
            queues: BTreeMap::new(),
            free: BTreeSet::new(),
            ids: BTreeMap::new(),
            positions: BTreeMap::new(),
            last_arrival: 0,
            checks: BTreeSet::new(),
            timer: None,
        }
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    pub fn keys(&self) -> usize {
        self.ids.len()
    }

    pub fn id_of(&self, database: c_int, name: &[u8]) -> Option<u64> {
        if self.ids.is_empty() {
            return None;
        }
        self.ids.get(&(database, name.to_vec())).copied()
    }

    pub fn queue(&mut self, id: u64) -> Option<&mut Queue> {
        self.queues.get_mut(&id)
    }

    /// Puts a client at the end of the queue of a key. Returns the id of the queue.
    pub fn add(&mut self, database: c_int, name: &Text, waiter: Waiter) -> u64 {
        self.last_arrival = self.last_arrival.wrapping_add(1);
        let (arrival, blocked) = (self.last_arrival, waiter.blocked);
        let id = self.id_of(database, name.bytes()).unwrap_or_else(|| self.add_queue(database, name));
        if let Some(queue) = self.queue(id) {
            queue.insert(arrival, waiter);
        }
        self.positions.insert(blocked, (id, arrival));
        id
    }

    fn add_queue(&mut self, database: c_int, name: &Text) -> u64 {
        let id = self.free.pop_first().unwrap_or(self.queues.len() as u64);
        self.queues.insert(id, Queue::new(database, name));
        self.ids.insert((database, name.bytes().to_vec()), id);
        id
    }

    fn remove_queue(&mut self, id: u64) {
        let Some(queue) = self.queues.remove(&id) else { return };
        self.ids.remove(&(queue.database, queue.name.bytes().to_vec()));
        if let Some(at) = queue.next_check {
            self.checks.remove(&(at, id));
        }
        self.free.insert(id);
        if self.ids.is_empty() {
            self.free.clear();
        }
    }

    /// Plans a check of a queue's key at this time, unless an earlier one is planned.
    pub fn plan(&mut self, id: u64, at: u64) {
        let Some(queue) = self.queue(id) else { return };
        if queue.next_check.is_some_and(|planned| planned <= at) {
            return;
        }
        if let Some(later) = queue.next_check.replace(at) {
            self.checks.remove(&(later, id));
        }
        self.checks.insert((at, id));
    }

    /// When the next check of any key is planned.
    pub fn first_check(&self) -> Option<u64> {
        self.checks.first().map(|(at, _)| *at)
    }

    /// Returns a queue whose check is due, and removes the check from the plan.
    pub fn take_due_check(&mut self, ticks: u64) -> Option<u64> {
        let (_, id) = self.checks.first().filter(|(at, _)| *at <= ticks).copied()?;
        self.checks.pop_first();
        if let Some(queue) = self.queue(id) {
            queue.next_check = None;
        }
        Some(id)
    }

    /// Removes a client, and returns whether it was in the table. The last client of a queue removes the queue, and
    /// the last queue stops the timer.
    pub fn remove(&mut self, ctx: Ctx, blocked: Blocked) -> bool {
        let Some((id, arrival)) = self.positions.remove(&blocked) else { return false };
        let Some(queue) = self.queue(id) else { return false };
        queue.remove(arrival);
        if queue.waiters.is_empty() {
            self.remove_queue(id);
        }
        if let Some((timer, _)) = self.timer.take_if(|_| self.ids.is_empty()) {
            timer.stop(ctx);
        }
        true
    }
}

impl Queue {
    fn new(database: c_int, name: &Text) -> Queue {
        Queue {
            database,
            name: Text::new(name.bytes()),
            waiters: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            own_clocks: BTreeSet::new(),
            next_check: None,
        }
    }

    fn insert(&mut self, arrival: u64, waiter: Waiter) {
        self.deadlines.extend(waiter.deadline.map(|deadline| (deadline, arrival)));
        self.own_clocks.extend(waiter.own_clock.map(|ahead| (ahead, arrival)));
        self.waiters.insert(arrival, waiter);
    }

    fn remove(&mut self, arrival: u64) {
        let Some(waiter) = self.waiters.remove(&arrival) else { return };
        if let Some(ahead) = waiter.own_clock {
            self.own_clocks.remove(&(ahead, arrival));
        }
        if let Some(deadline) = waiter.deadline {
            self.deadlines.remove(&(deadline, arrival));
        }
    }

    pub fn waiters(&self) -> impl Iterator<Item = &Waiter> {
        self.waiters.values()
    }

    pub fn deadline(&self) -> Option<u64> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// The clients whose deadline has passed.
    pub fn ended_by(&self, ticks: u64) -> Vec<Blocked> {
        let ended = self.deadlines.iter().take_while(|(deadline, _)| *deadline <= ticks);
        ended.filter_map(|(_, arrival)| self.waiters.get(arrival)).map(|waiter| waiter.blocked).collect()
    }

    /// The time on the clock that is furthest ahead.
    pub fn latest_clock(&self, now: &Now) -> i64 {
        let own = self.own_clocks.last().map(|(ahead, _)| now.on_own_clock(*ahead));
        let server = Some(now.server_ms).filter(|_| self.own_clocks.len() < self.waiters.len());
        own.max(server).unwrap_or(now.server_ms)
    }
}
