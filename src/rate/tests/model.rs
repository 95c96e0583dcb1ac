//! Naive limiters that keep every call, know nothing of totals or formulas, and find waits by trying one after the other.

use super::*;

#[derive(Clone, Copy, Debug)]
pub(super) struct ModelRule {
    pub limit: u64,
    pub window_ms: u64,
}

impl ModelRule {
    fn window(self) -> i64 {
        self.window_ms as i64 * 1_000
    }
}

#[derive(Clone, Debug)]
pub(super) struct ModelCall {
    pub rules: Vec<ModelRule>,
    pub burst: Option<u64>,
    pub cost: u64,
    pub mode: Mode,
    pub now: i64,
}

/// A call that passed, as a window remembers it.
#[derive(Clone, Copy, Debug)]
struct Taken {
    at: i64,
    cost: u64,
    limit: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    algorithm: &'static str,
    /// By window in ms; `SLIDING` has one log for all of them, under 0.
    taken: BTreeMap<u64, Vec<Taken>>,
}

impl Model {
    pub fn new(algorithm: &'static str) -> Model {
        Model { algorithm, taken: BTreeMap::new() }
    }

    fn place(&self, rule: ModelRule) -> u64 {
        if self.algorithm == "SLIDING" {
            0
        } else {
            rule.window_ms
        }
    }

    fn history(&self, rule: ModelRule) -> &[Taken] {
        self.taken.get(&self.place(rule)).map_or(&[], Vec::as_slice)
    }

    /// Start and units of each fixed window.
    fn fixed_windows(&self, rule: ModelRule) -> Vec<(i64, u64)> {
        let mut windows: Vec<(i64, u64)> = vec![];
        for taken in self.history(rule) {
            match windows.last_mut() {
                Some((start, used)) if taken.at < *start + rule.window() => *used += taken.cost,
                _ => windows.push((taken.at, taken.cost)),
            }
        }
        windows
    }

    fn newest(&self, rule: ModelRule) -> Option<i64> {
        if self.algorithm == "FIXED" {
            self.fixed_windows(rule).last().map(|(start, _)| *start)
        } else {
            self.history(rule).last().map(|taken| taken.at)
        }
    }

    fn left(&self, rule: ModelRule, capacity: u64, at: i64) -> u64 {
        let history = self.history(rule).iter();
        let window = rule.window();
        let used: i128 = match self.algorithm {
            "SLIDING" => history.filter(|taken| taken.at > at - window).map(|taken| taken.cost as i128).sum(),
            "FIXED" => match self.fixed_windows(rule).last() {
                Some((start, used)) if at < start + window => *used as i128,
                _ => 0,
            },
            "COUNTER" => {
                let units = |index: i64| -> i128 {
                    let inside = history.clone().filter(|taken| taken.at / window == index);
                    inside.map(|taken| taken.cost as i128).sum()
                };
                let index = at / window;
                let to_end = i128::from(window - at % window);
                let weight = units(index - 1) * to_end + units(index) * i128::from(window);
                (weight + i128::from(window) - 1) / i128::from(window)
            }
            _ => {
                let unit = i128::from(window) * 1_000;
                let mut debt = 0_i128;
                let mut since = 0;
                for taken in history {
                    debt -= i128::from(taken.at - since) * 1_000 * taken.limit as i128;
                    debt = debt.max(0) + taken.cost as i128 * unit;
                    since = taken.at;
                }
                debt = (debt - i128::from(at - since) * 1_000 * rule.limit as i128).max(0);
                (debt + unit - 1) / unit
            }
        };
        (capacity as i128 - used).max(0) as u64
    }

    pub fn run(&mut self, call: &ModelCall) -> [i64; 6] {
        // A clock behind what a window has seen stands still for that window.
        let newest: Vec<i64> = call.rules.iter().map(|rule| self.newest(*rule).unwrap_or(0)).collect();
        let ats: Vec<i64> = newest.iter().map(|newest| call.now.max(*newest)).collect();
        let left = |(rule, at): (&ModelRule, &i64)| self.left(*rule, call.burst.unwrap_or(rule.limit), *at);
        let lefts: Vec<_> = call.rules.iter().zip(&ats).map(left).collect();
        let denied = lefts.iter().any(|left| call.cost > *left);
        let consumes = !denied && call.cost > 0 && call.mode == Mode::Check;
        if consumes {
            self.take(call, &ats);
        }
        // From here on the state is the one to tell about.
        let waits: Vec<_> = call
            .rules
            .iter()
            .zip(&lefts)
            .zip(&newest)
            .map(|((rule, left), newest)| {
                let capacity = call.burst.unwrap_or(rule.limit);
                if call.cost <= *left {
                    0
                } else if call.cost > capacity {
                    i64::MAX
                } else {
                    let passes = |at| self.left(*rule, capacity, at) >= call.cost;
                    first_micro(call.now, *newest, passes)
                }
            })
            .collect();
        let chosen = if denied {
            (0..waits.len()).rev().max_by_key(|index| waits[*index]).unwrap()
        } else {
            (0..lefts.len()).min_by_key(|index| lefts[*index]).unwrap()
        };
        let rule = call.rules[chosen];
        let capacity = call.burst.unwrap_or(rule.limit);
        let at = ats[chosen];
        let newest = newest[chosen].max(if consumes { at } else { 0 });
        let as_new = |at| self.left(rule, capacity, at) == capacity;
        let reset = if as_new(at) { 0 } else { first_milli(call.now, newest, as_new) };
        [
            i64::from(denied),
            capacity as i64,
            self.left(rule, capacity, at) as i64,
            if waits[chosen] == i64::MAX { -1 } else { (waits[chosen] + 999) / 1_000 },
            reset,
            chosen as i64 + 1,
        ]
    }

    fn take(&mut self, call: &ModelCall, ats: &[i64]) {
        let longest = call.rules.iter().map(|rule| rule.window()).max().unwrap();
        let place = |(rule, at): (&ModelRule, &i64)| (self.place(*rule), (rule.limit, *at));
        let places: BTreeMap<_, _> = call.rules.iter().zip(ats).map(place).collect();
        for (place, (limit, at)) in places {
            let history = self.taken.entry(place).or_default();
            history.push(Taken { at, cost: call.cost, limit });
            if self.algorithm == "SLIDING" {
                history.retain(|taken| taken.at > at - longest);
            }
        }
    }
}

fn first_milli(now: i64, newest: i64, holds: impl Fn(i64) -> bool) -> i64 {
    (1..100_000).find(|ms| holds(newest.max(now + ms * 1_000))).expect("waits end")
}

fn first_micro(now: i64, newest: i64, holds: impl Fn(i64) -> bool) -> i64 {
    let last = first_milli(now, newest, &holds) * 1_000;
    (last - 999..=last).find(|micros| holds(newest.max(now + micros))).expect("waits end")
}
