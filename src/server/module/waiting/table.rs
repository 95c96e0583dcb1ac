//! Which clients wait, for which key, in which order.

use std::collections::{BTreeMap, BTreeSet};
use std::os::raw::c_int;

use crate::due::Demand;
use crate::server::api::{Blocked, Ctx, Text, Timer};

use super::Show;

/// A client that waits.
#[derive(Clone, Copy)]
pub struct Waiter {
    pub blocked: Blocked,
    /// The id that the server gave the client.
    pub client: u64,
    pub demand: Demand,
    /// How far its clock is ahead of the server's, in milliseconds.
    pub ahead: i64,
    /// When its wait times out, on the clock of [`ticks`](super::clock::ticks).
    pub deadline: Option<u64>,
    /// Writes its reply.
    pub show: Show,
}

/// The clients that wait for one key.
pub struct Queue {
    pub database: c_int,
    pub name: Text<'static>,
    /// In the order of arrival.
    waiters: BTreeMap<u64, Waiter>,
    /// The deadline and the arrival of each client that has a deadline.
    deadlines: BTreeSet<(u64, u64)>,
    /// How far the clock of each client is ahead, and its arrival.
    ahead: BTreeSet<(i64, u64)>,
    /// When the key is checked next, on the clock of [`ticks`](super::clock::ticks).
    look: Option<u64>,
}

/// All waiting clients.
pub struct Table {
    queues: BTreeMap<u64, Queue>,
    /// The number of a key's queue.
    numbers: BTreeMap<(c_int, Vec<u8>), u64>,
    /// The queue and the arrival of each client.
    places: BTreeMap<Blocked, (u64, u64)>,
    last_number: u64,
    /// When the key of each queue is checked next, and the number of the queue.
    looks: BTreeSet<(u64, u64)>,
    /// The timer for the first of these checks, and when it fires.
    pub timer: Option<(Timer, u64)>,
}

// SAFETY: only the main thread uses the table. The lock around it only satisfies the compiler.
unsafe impl Send for Table {}

impl Table {
    pub const fn new() -> Table {
        Table {
            queues: BTreeMap::new(),
            numbers: BTreeMap::new(),
            places: BTreeMap::new(),
            last_number: 0,
            looks: BTreeSet::new(),
            timer: None,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// How many clients wait.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The number of a key's queue.
    pub fn number_of(&self, database: c_int, name: &[u8]) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        self.numbers.get(&(database, name.to_vec())).copied()
    }

    pub fn queue(&mut self, number: u64) -> Option<&mut Queue> {
        self.queues.get_mut(&number)
    }

    /// Puts a client at the end of the queue of a key. Returns the number of the queue.
    pub fn enter(&mut self, database: c_int, name: &Text, waiter: Waiter) -> u64 {
        self.last_number = self.last_number.wrapping_add(1);
        let arrival = self.last_number;
        let number = *self.numbers.entry((database, name.bytes().to_vec())).or_insert(arrival);
        self.queues.entry(number).or_insert_with(|| Queue::new(database, name)).insert(arrival, waiter);
        self.places.insert(waiter.blocked, (number, arrival));
        number
    }

    /// Plans a check of a queue's key at this time, unless an earlier one is planned.
    pub fn plan(&mut self, number: u64, at: u64) {
        let Some(queue) = self.queues.get_mut(&number) else { return };
        if queue.look.is_some_and(|planned| planned <= at) {
            return;
        }
        if let Some(later) = queue.look.replace(at) {
            self.looks.remove(&(later, number));
        }
        self.looks.insert((at, number));
    }

    /// When the next check of any key is planned.
    pub fn first_look(&self) -> Option<u64> {
        self.looks.first().map(|(at, _)| *at)
    }

    /// Returns a queue whose check is due, and removes the check from the plan.
    pub fn take_look(&mut self, ticks: u64) -> Option<u64> {
        let (_, number) = self.looks.first().filter(|(at, _)| *at <= ticks).copied()?;
        self.looks.pop_first();
        if let Some(queue) = self.queues.get_mut(&number) {
            queue.look = None;
        }
        Some(number)
    }

    /// Removes a client, and returns whether it was in the table. The last client of a queue removes the queue, and
    /// the last queue stops the timer.
    pub fn leave(&mut self, ctx: Ctx, blocked: Blocked) -> bool {
        let Some((number, arrival)) = self.places.remove(&blocked) else { return false };
        let Some(queue) = self.queues.get_mut(&number) else { return false };
        queue.remove(arrival);
        if queue.waiters.is_empty() {
            self.numbers.remove(&(queue.database, queue.name.bytes().to_vec()));
            if let Some(at) = queue.look {
                self.looks.remove(&(at, number));
            }
            self.queues.remove(&number);
        }
        if let Some((timer, _)) = self.timer.take_if(|_| self.queues.is_empty()) {
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
            ahead: BTreeSet::new(),
            look: None,
        }
    }

    fn insert(&mut self, arrival: u64, waiter: Waiter) {
        self.deadlines.extend(waiter.deadline.map(|deadline| (deadline, arrival)));
        self.ahead.insert((waiter.ahead, arrival));
        self.waiters.insert(arrival, waiter);
    }

    fn remove(&mut self, arrival: u64) {
        let Some(waiter) = self.waiters.remove(&arrival) else { return };
        self.ahead.remove(&(waiter.ahead, arrival));
        if let Some(deadline) = waiter.deadline {
            self.deadlines.remove(&(deadline, arrival));
        }
    }

    /// The clients, in the order of arrival.
    pub fn waiters(&self) -> impl Iterator<Item = &Waiter> {
        self.waiters.values()
    }

    /// The earliest deadline.
    pub fn deadline(&self) -> Option<u64> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// The clients whose deadline has passed.
    pub fn ended_by(&self, ticks: u64) -> Vec<Waiter> {
        let ended = self.deadlines.iter().take_while(|(deadline, _)| *deadline <= ticks);
        ended.filter_map(|(_, arrival)| self.waiters.get(arrival).copied()).collect()
    }

    /// How far the client's clock that is furthest ahead is ahead of the server's.
    pub fn furthest_ahead(&self) -> i64 {
        self.ahead.last().map_or(0, |(ahead, _)| *ahead)
    }
}
