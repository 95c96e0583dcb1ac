//! Which clients wait, for which key, in which order, and which check of a key is next. It reads and writes no keys.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::ops::Bound;
use std::os::raw::c_int;
use std::rc::Rc;

use super::clock::{Budget, Now};
use super::gates::{GateName, Gates};
use super::Look;
use crate::server::api::{Blocked, Ctx, Text, Timer};

/// A client that waits, and the command to run for it when something is due.
pub struct Waiter {
    pub blocked: Blocked,
    /// The name of its user; `None` for a client that may do everything.
    pub user: Option<Text<'static>>,
    pub command: &'static CStr,
    /// All words of the command: the client's own strings, which it keeps while it waits.
    pub words: Box<[Text<'static>]>,
    /// The server refuses the command while it has no memory for it.
    pub needs_memory: bool,
    /// How many milliseconds its own clock, which it gave with `NOW`, is ahead of the monotonic one.
    pub own_clock: Option<i64>,
    /// When its wait times out, in ticks of the monotonic clock.
    pub deadline: Option<u64>,
    /// It also waits until a rule allows something.
    pub gate: Option<Rc<GateName>>,
}

/// The clients that wait for one key.
pub struct Queue {
    pub key: KeyName<'static>,
    /// How to find out when something is due.
    pub look: Look,
    /// The last look was costly.
    pub is_costly: bool,
    /// A number that grows: of the last client here that passed a gate.
    pub last_served: u64,
    /// In the order of arrival.
    waiters: BTreeMap<u64, Rc<Waiter>>,
    /// The deadline and the arrival of each client that has a deadline.
    deadlines: BTreeSet<(u64, u64)>,
    /// [`Waiter::own_clock`] and the arrival of each client that has one.
    own_clocks: BTreeSet<(i64, u64)>,
    /// When the key is checked next, in ticks of the monotonic clock.
    next_check: Option<u64>,
}

/// A key of a database. Names are shared, not copied.
#[derive(Clone)]
pub struct KeyName<'n> {
    pub database: c_int,
    pub name: Text<'n>,
}

impl KeyName<'_> {
    fn parts(&self) -> (c_int, &[u8]) {
        (self.database, self.name.bytes())
    }
}

impl PartialEq for KeyName<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for KeyName<'_> {}

impl PartialOrd for KeyName<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyName<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

pub struct Table {
    /// By their ids. An id is used again once nobody waits for its key.
    queues: BTreeMap<u64, Queue>,
    /// Lower ids that no queue has.
    free: BTreeSet<u64>,
    ids: BTreeMap<KeyName<'static>, u64>,
    /// The queue and the arrival of each client.
    positions: BTreeMap<Blocked, (u64, u64)>,
    last_arrival: u64,
    /// When the key of each queue is checked next, and the id of the queue.
    checks: BTreeSet<(u64, u64)>,
    pub gates: Gates,
    /// How many clients have passed a gate.
    passed: u64,
    /// When a timer fires, and the timer: one for the first check, or several for as many checks that are overdue.
    timers: Vec<(u64, Timer)>,
    /// What is left of the time of this turn, if another timer fires in it.
    pub turn: Option<Budget>,
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
            gates: Gates::new(),
            passed: 0,
            timers: Vec::new(),
            turn: None,
        }
    }

    pub fn len(&self) -> usize {
        self.positions.len()
    }

    pub fn keys(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub fn id_of(&self, key: &KeyName) -> Option<u64> {
        self.ids.get(key).copied()
    }

    pub fn queue(&mut self, id: u64) -> Option<&mut Queue> {
        self.queues.get_mut(&id)
    }

    /// Puts a client at the end of the queue of a key. Returns the id of the queue.
    pub fn add(&mut self, key: KeyName<'static>, look: Look, waiter: Waiter) -> u64 {
        self.last_arrival = self.last_arrival.wrapping_add(1);
        let (arrival, blocked) = (self.last_arrival, waiter.blocked);
        let id = self.id_of(&key).unwrap_or_else(|| self.add_queue(key, look));
        if let Some(queue) = self.queue(id) {
            queue.insert(arrival, waiter);
        }
        self.positions.insert(blocked, (id, arrival));
        id
    }

    fn add_queue(&mut self, key: KeyName<'static>, look: Look) -> u64 {
        let id = self.free.pop_first().unwrap_or(self.queues.len() as u64);
        self.ids.insert(key.clone(), id);
        self.queues.insert(id, Queue::new(key, look));
        id
    }

    fn remove_queue(&mut self, id: u64) {
        let Some(queue) = self.queues.remove(&id) else { return };
        self.ids.remove(&queue.key);
        if let Some(at) = queue.next_check {
            self.checks.remove(&(at, id));
        }
        self.free.insert(id);
        if self.ids.is_empty() {
            self.free.clear();
        }
    }

    /// Schedules a check of a queue's key for this time, unless an earlier one is scheduled.
    pub fn schedule_check(&mut self, id: u64, at: u64) {
        let Some(queue) = self.queue(id) else { return };
        if queue.next_check.is_some_and(|scheduled| scheduled <= at) {
            return;
        }
        if let Some(later) = queue.next_check.replace(at) {
            self.checks.remove(&(later, id));
        }
        self.checks.insert((at, id));
    }

    /// When the next check of any key is due.
    pub fn first_check(&self) -> Option<u64> {
        self.checks.first().map(|(at, _)| *at).into_iter().chain(self.gates.first_try()).min()
    }

    /// A client of a queue has passed a gate.
    pub fn passed(&mut self, id: u64) {
        self.passed = self.passed.wrapping_add(1);
        let passed = self.passed;
        if let Some(queue) = self.queue(id) {
            queue.last_served = passed;
        }
    }

    /// The first client of a queue that arrived after another and can be served, as far as gates are concerned. The queue
    /// stands in front of those that are closed.
    pub fn first_open(
        &mut self,
        id: u64,
        after: u64,
        ticks: u64,
        is_able: impl Fn(&Waiter) -> bool,
    ) -> Option<(u64, Rc<Waiter>)> {
        let Table { queues, gates, .. } = self;
        let queue = queues.get(&id)?;
        let mut ready = queue.waiters_after(after).filter(|(_, waiter)| is_able(waiter));
        let found = ready.find(|(_, waiter)| {
            let closed = waiter.gate.as_ref().filter(|gate| gates.is_closed(gate, ticks));
            if let Some(gate) = closed {
                gates.stand(gate, id, queue.last_served);
            }
            closed.is_none()
        });
        found.map(|(arrival, waiter)| (arrival, waiter.clone()))
    }

    /// Returns a queue whose check is due, and removes the check.
    pub fn take_due_check(&mut self, ticks: u64) -> Option<u64> {
        if let Some(id) = self.gates.take_due_try(ticks) {
            return Some(id);
        }
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
        if self.ids.is_empty() {
            self.gates.clear();
            self.stop_timers(ctx);
        }
        true
    }

    fn stop_timers(&mut self, ctx: Ctx) {
        self.timers.drain(..).for_each(|(_, timer)| timer.stop(ctx));
    }

    /// How many checks are overdue, at most `most`.
    pub fn overdue(&self, ticks: u64, most: usize) -> usize {
        let gates = self.gates.overdue(ticks, most);
        gates.saturating_add(self.checks.iter().take_while(|(at, _)| *at <= ticks).take(most).count()).min(most)
    }

    /// When the first timer fires.
    pub fn next_timer(&self) -> Option<u64> {
        self.timers.iter().map(|(at, _)| *at).min()
    }

    /// Replaces all timers by so many that fire at the same time.
    pub fn set_timers(&mut self, ctx: Ctx, at: u64, count: usize, start: impl Fn() -> Timer) {
        // The old ones first: the server sets its alarm anew only for a timer that is the first of all, and after a step of
        // the clock an old one may seem to be earlier.
        self.stop_timers(ctx);
        self.timers.extend((0..count).map(|_| (at, start())));
    }

    /// A timer has fired, which was the first. Returns whether another one fires at the same time.
    pub fn timer_fired(&mut self) -> bool {
        let Some(at) = self.next_timer() else { return false };
        if let Some(fired) = self.timers.iter().position(|(other, _)| *other == at) {
            self.timers.swap_remove(fired);
        }
        self.next_timer() == Some(at)
    }
}

impl Queue {
    fn new(key: KeyName<'static>, look: Look) -> Queue {
        Queue {
            key,
            look,
            is_costly: false,
            last_served: 0,
            waiters: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            own_clocks: BTreeSet::new(),
            next_check: None,
        }
    }

    fn insert(&mut self, arrival: u64, waiter: Waiter) {
        self.deadlines.extend(waiter.deadline.map(|deadline| (deadline, arrival)));
        self.own_clocks.extend(waiter.own_clock.map(|ahead| (ahead, arrival)));
        self.waiters.insert(arrival, Rc::new(waiter));
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

    pub fn first(&self) -> Option<Blocked> {
        self.waiters.first_key_value().map(|(_, waiter)| waiter.blocked)
    }

    /// The clients that arrived after this one, and when.
    pub fn waiters_after(&self, arrival: u64) -> impl Iterator<Item = (u64, &Rc<Waiter>)> {
        let after = (Bound::Excluded(arrival), Bound::Unbounded);
        self.waiters.range(after).map(|(arrival, waiter)| (*arrival, waiter))
    }

    pub fn deadline(&self) -> Option<u64> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// A client whose deadline has passed.
    pub fn ended_by(&self, ticks: u64) -> Option<Blocked> {
        let (_, arrival) = self.deadlines.first().filter(|(deadline, _)| *deadline <= ticks)?;
        self.waiters.get(arrival).map(|waiter| waiter.blocked)
    }

    /// The time on the clock that is furthest ahead.
    pub fn latest_clock(&self, now: &Now) -> i64 {
        let own = self.own_clocks.last().map(|(ahead, _)| now.on_own_clock(*ahead));
        let server = Some(now.server_ms).filter(|_| self.own_clocks.len() < self.waiters.len());
        own.max(server).unwrap_or(now.server_ms)
    }
}
