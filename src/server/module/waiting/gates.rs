//! What several keys share: clients that wait for items at a rate take units from one limiter.
//!
//! A gate is closed until its rule allows a unit again. Everybody in front of it is told apart by the key for which they
//! wait; when it opens, the key that was served least recently is first. So keys take turns, and a client that is in front
//! of a closed gate costs nothing: one attempt finds out for all of them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::os::raw::c_int;
use std::rc::Rc;

use crate::server::api::Text;

/// The words that say which limiter, and by which rule, in a database.
pub struct GateName {
    pub database: c_int,
    pub words: Box<[Text<'static>]>,
}

impl Ord for GateName {
    fn cmp(&self, other: &Self) -> Ordering {
        let words = self.words.iter().map(Text::bytes);
        self.database.cmp(&other.database).then_with(|| words.cmp(other.words.iter().map(Text::bytes)))
    }
}

impl PartialOrd for GateName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for GateName {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for GateName {}

/// The keys in front of one gate.
#[derive(Default)]
struct Gate {
    /// When its rule allows a unit again, in ticks.
    closed_until: u64,
    /// When it was found closed.
    tried_at: u64,
    /// When it is tried next.
    next_try: u64,
    /// When each key was served last, and the id of its queue.
    order: BTreeSet<(u64, u64)>,
    places: BTreeMap<u64, u64>,
}

#[derive(Default)]
pub struct Gates {
    gates: BTreeMap<Rc<GateName>, Gate>,
    tries: BTreeSet<(u64, Rc<GateName>)>,
}

/// A gate is tried this often, in milliseconds, because units may have been given back: few gates often, many less often.
const SHORTEST_MS: u64 = 100;
const LONGEST_MS: u64 = 500;

impl Gates {
    pub const fn new() -> Gates {
        Gates { gates: BTreeMap::new(), tries: BTreeSet::new() }
    }

    pub fn clear(&mut self) {
        self.gates.clear();
        self.tries.clear();
    }

    pub fn is_closed(&self, name: &GateName, ticks: u64) -> bool {
        !self.gates.is_empty() && self.gates.get(name).is_some_and(|gate| gate.closed_until > ticks)
    }

    /// A rule allows nothing until this time.
    pub fn close(&mut self, name: &Rc<GateName>, ticks: u64, until: u64) {
        let every = (self.gates.len() as u64).clamp(SHORTEST_MS, LONGEST_MS);
        let gate = self.gates.entry(name.clone()).or_default();
        (gate.closed_until, gate.tried_at) = (until, ticks);
        self.try_at(name, until.clamp(ticks.saturating_add(1), ticks.saturating_add(every)));
    }

    fn try_at(&mut self, name: &Rc<GateName>, at: u64) {
        let Some(gate) = self.gates.get_mut(name) else { return };
        self.tries.remove(&(gate.next_try, name.clone()));
        gate.next_try = at;
        self.tries.insert((at, name.clone()));
    }

    /// Whether a gate was found closed at this moment.
    pub fn was_tried(&self, name: &GateName, ticks: u64) -> bool {
        self.gates.get(name).is_some_and(|gate| gate.tried_at == ticks && gate.closed_until > ticks)
    }

    /// The clients of a queue stand in front of a gate.
    pub fn stand(&mut self, name: &GateName, id: u64, last_served: u64) {
        let Some(gate) = self.gates.get_mut(name) else { return };
        if let Some(before) = gate.places.insert(id, last_served) {
            gate.order.remove(&(before, id));
        }
        gate.order.insert((last_served, id));
    }

    /// When the next gate is tried.
    pub fn first_try(&self) -> Option<u64> {
        self.tries.first().map(|(at, _)| *at)
    }

    /// How many gates are to be tried by now, at most `most`.
    pub fn overdue(&self, ticks: u64, most: usize) -> usize {
        self.tries.iter().take_while(|(at, _)| *at <= ticks).take(most).count()
    }

    /// The queue that is to try a gate whose time has come.
    pub fn take_due_try(&mut self, ticks: u64) -> Option<u64> {
        loop {
            let (_, name) = self.tries.first().filter(|(at, _)| *at <= ticks)?.clone();
            if let Some(id) = self.take_first(&name, ticks) {
                return Some(id);
            }
        }
    }

    /// The queue that is first at a gate, which is open from now on. The others try it next, unless it is closed again.
    pub fn take_first(&mut self, name: &Rc<GateName>, ticks: u64) -> Option<u64> {
        let gate = self.gates.get_mut(name)?;
        gate.closed_until = 0;
        match gate.order.pop_first() {
            Some((_, id)) => {
                gate.places.remove(&id);
                self.try_at(name, ticks);
                Some(id)
            }
            None => {
                let next_try = gate.next_try;
                self.tries.remove(&(next_try, name.clone()));
                self.gates.remove(name);
                None
            }
        }
    }
}
