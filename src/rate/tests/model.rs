//! Naive limiters that keep every call, know nothing of totals or formulas, and find waits by trying one after the other.

use std::collections::BTreeMap;

use super::*;

/// The longest window of any rule, which the first call of a log has.
pub(super) const LONGEST_MS: u64 = 20;

#[derive(Clone, Copy, Debug)]
pub(super) struct ModelRule {
    pub limit: u64,
    pub window_ms: u64,
    pub burst: Option<u64>,
}

impl ModelRule {
    fn window(self) -> i64 {
        self.window_ms as i64 * 1_000
    }

    pub fn capacity(self) -> u64 {
        self.burst.unwrap_or(self.limit)
    }

    /// The unit of the calendar that is as long as this window.
    fn unit(self) -> &'static str {
        match self.window_ms {
            3_600_000 => "hour",
            86_400_000 => "day",
            other => panic!("no unit of the calendar always has {other} ms"),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct ModelCall {
    pub rules: Vec<ModelRule>,
    pub cost: u64,
    pub action: Action,
    pub force: bool,
    pub penalty_ms: Option<u64>,
    pub now: i64,
}

impl ModelCall {
    pub fn words(&self, algorithm: &str) -> String {
        if algorithm == "CALENDAR" {
            let rules: Vec<_> = self.rules.iter().map(|rule| format!("{} {}", rule.limit, rule.unit())).collect();
            return self.with_options(&rules.join(" "), algorithm);
        }
        let rule = |rule: &ModelRule| {
            let burst = rule.burst.map_or(String::new(), |burst| format!("/{burst}"));
            format!("{}/{}ms{burst}", rule.limit, rule.window_ms)
        };
        let rules: Vec<_> = self.rules.iter().map(rule).collect();
        self.with_options(&rules.join(" "), algorithm)
    }

    fn with_options(&self, rules: &str, algorithm: &str) -> String {
        let force = if self.force { " FORCE" } else { "" };
        let penalty = self.penalty_ms.map_or(String::new(), |ms| format!(" PENALTY {ms}ms"));
        format!("{rules} {algorithm} COST {}{force}{penalty}", self.cost)
    }
}

/// What one window knows. `SLIDING` has one of these for all windows, under 0.
#[derive(Clone, Debug, Default, Hash)]
struct Known {
    /// Calls: when, and how many units are left of them.
    calls: Vec<(i64, u64)>,
    /// `FIXED` and `CALENDAR`: start and units of the last window.
    window: Option<(i64, u64)>,
    /// `GCRA`: newest unit, and the debt then.
    bucket: Option<(i64, i128)>,
}

#[derive(Clone, Debug, Hash)]
pub(super) struct Model {
    algorithm: &'static str,
    known: BTreeMap<u64, Known>,
    /// The end of a penalty, which closes the limiter for every algorithm.
    pub closed_until: i64,
}

impl Model {
    pub fn new(algorithm: &'static str) -> Model {
        Model { algorithm, known: BTreeMap::new(), closed_until: 0 }
    }

    fn place(&self, rule: ModelRule) -> u64 {
        if self.algorithm == "SLIDING" {
            0
        } else {
            rule.window_ms
        }
    }

    fn of(&self, rule: ModelRule) -> Known {
        self.known.get(&self.place(rule)).cloned().unwrap_or_default()
    }

    fn newest(&self, rule: ModelRule) -> i64 {
        let known = self.of(rule);
        match self.algorithm {
            "FIXED" | "CALENDAR" => known.window.map_or(0, |(start, _)| start),
            "GCRA" => known.bucket.map_or(0, |(newest, _)| newest),
            _ => known.calls.last().map_or(0, |(at, _)| *at),
        }
    }

    fn debt(&self, rule: ModelRule, at: i64) -> i128 {
        let (newest, debt) = self.of(rule).bucket.unwrap_or_default();
        (debt - i128::from(at - newest) * i128::from(rule.limit)).max(0)
    }

    fn left(&self, rule: ModelRule, at: i64) -> u64 {
        let window = rule.window();
        let known = self.of(rule);
        let calls = known.calls.iter();
        let used: i128 = match self.algorithm {
            "SLIDING" => calls.filter(|(call, _)| *call > at - window).map(|(_, cost)| i128::from(*cost)).sum(),
            "FIXED" | "CALENDAR" => match known.window {
                Some((start, used)) if at < start + window => i128::from(used),
                _ => 0,
            },
            "COUNTER" => {
                let units = |index: i64| -> i128 {
                    let inside = calls.clone().filter(|(call, _)| call / window == index);
                    inside.map(|(_, cost)| i128::from(*cost)).sum()
                };
                let index = at / window;
                let to_end = i128::from(window - at % window);
                let weight = units(index - 1) * to_end + units(index) * i128::from(window);
                (weight + i128::from(window) - 1) / i128::from(window)
            }
            _ => (self.debt(rule, at) + i128::from(window) - 1) / i128::from(window),
        };
        (i128::from(rule.capacity()) - used).max(0) as u64
    }

    /// For a call of this cost, the state as it is: `[limited, limit, remaining, retry, reset, rule]`.
    fn result(&self, call: &ModelCall, cost: u64) -> [i64; 6] {
        let closed = (self.closed_until - call.now).max(0);
        let of_rule = |(number, rule): (usize, &ModelRule)| {
            let (newest, capacity) = (self.newest(*rule), rule.capacity());
            let at = call.now.max(newest);
            let left = self.left(*rule, at);
            let wait = if cost <= left {
                0
            } else if cost > capacity {
                i64::MAX
            } else {
                first_micro(call.now, newest, |at| self.left(*rule, at) >= cost)
            };
            let as_new = |at| self.left(*rule, at) == capacity;
            let reset = if as_new(at) { 0 } else { first_milli(call.now, newest, as_new) };
            if closed > 0 {
                let wait = if cost == 0 { 0 } else { wait.max(closed) };
                return (wait, 0, capacity, reset.max((closed + 999) / 1_000), 0);
            }
            (wait, left, capacity, reset, number + 1)
        };
        let all: Vec<_> = call.rules.iter().enumerate().map(of_rule).collect();
        let longest = all.iter().map(|(wait, ..)| *wait).max().unwrap();
        let fewest = all.iter().map(|(_, left, ..)| *left).min().unwrap();
        let chosen = if longest > 0 {
            all.iter().find(|(wait, ..)| *wait == longest)
        } else {
            all.iter().find(|(_, left, ..)| *left == fewest)
        };
        let (wait, left, capacity, reset, rule) = chosen.unwrap();
        let retry = if *wait == i64::MAX { -1 } else { (wait + 999) / 1_000 };
        [i64::from(*wait > 0), *capacity as i64, *left as i64, retry, *reset, *rule as i64]
    }

    pub fn run(&mut self, call: &ModelCall) -> [i64; 6] {
        if call.action == Action::Refund {
            if call.cost > 0 {
                self.refund(call);
            }
            return self.result(call, 0);
        }
        let before = self.result(call, call.cost);
        if call.action == Action::Peek || call.cost == 0 {
            return before;
        }
        if before[0] == 0 {
            self.take(call);
            // What is left, and nothing to wait for.
            return self.result(call, 0);
        }
        let closed = self.closed_until > call.now;
        if call.force && !closed {
            self.take(call);
        }
        if let Some(ms) = call.penalty_ms.filter(|_| !closed) {
            self.closed_until = call.now + ms as i64 * 1_000;
        }
        self.result(call, call.cost)
    }

    /// The units that each rule of a call has left.
    pub fn all_left(&self, call: &ModelCall) -> Vec<u64> {
        call.rules.iter().map(|rule| self.left(*rule, call.now.max(self.newest(*rule)))).collect()
    }

    pub fn denies(&self, call: &ModelCall) -> bool {
        call.cost > 0 && (self.closed_until > call.now || self.all_left(call).iter().any(|left| *left < call.cost))
    }

    /// The same as [`Model::run`], without an answer: to find the waits takes long.
    pub fn apply(&mut self, call: &ModelCall) {
        let (denies, closed) = (self.denies(call), self.closed_until > call.now);
        match call.action {
            _ if call.cost == 0 => {}
            Action::Peek | Action::Settle => {}
            Action::Refund => self.refund(call),
            Action::Check => {
                if !denies || call.force && !closed {
                    self.take(call);
                }
                if let Some(ms) = call.penalty_ms.filter(|_| denies && !closed) {
                    self.closed_until = call.now + ms as i64 * 1_000;
                }
            }
        }
    }

    /// Forgets what makes no difference to any later call, so that models that behave alike are equal.
    pub fn forget(&mut self) {
        let algorithm = self.algorithm;
        for (window_ms, known) in &mut self.known {
            let window = (*window_ms as i64 * 1_000).max(1);
            if algorithm != "COUNTER" {
                known.calls.clear();
            } else {
                let newest = known.calls.last().map_or(0, |(at, _)| at / window);
                known.calls.retain(|(at, _)| at / window + 1 >= newest);
                known.calls.dedup_by(|next, first| {
                    let same = next.0 / window == first.0 / window;
                    if same {
                        *first = (next.0, first.1 + next.1);
                    }
                    same
                });
            }
            known.window = known.window.filter(|_| ["FIXED", "CALENDAR"].contains(&algorithm));
            known.bucket = known.bucket.filter(|_| algorithm == "GCRA");
        }
    }

    fn places(&self, call: &ModelCall) -> BTreeMap<u64, ModelRule> {
        call.rules.iter().map(|rule| (self.place(*rule), *rule)).collect()
    }

    fn take(&mut self, call: &ModelCall) {
        for (place, rule) in self.places(call) {
            let at = call.now.max(self.newest(rule));
            let debt = self.debt(rule, at);
            let window = i128::from(rule.window());
            let most = (2 * i128::from(rule.capacity()) * window).max(debt);
            let known = self.known.entry(place).or_default();
            known.calls.push((at, call.cost));
            if self.algorithm == "SLIDING" {
                // Which entry is the last one, a refund has to know.
                let is_stale = |taken: &(i64, u64)| taken.0 <= at - LONGEST_MS as i64 * 1_000;
                let units: u64 = known.calls.iter().map(|(_, cost)| cost).sum();
                let stale: u64 = known.calls.iter().filter(|taken| is_stale(taken)).map(|(_, cost)| cost).sum();
                if stale > 0 && stale * 8 >= units {
                    known.calls.retain(|taken| !is_stale(taken));
                }
            }
            known.window = match known.window {
                Some((start, used)) if at < start + rule.window() => Some((start, used + call.cost)),
                _ if self.algorithm == "CALENDAR" => Some((at / rule.window() * rule.window(), call.cost)),
                _ => Some((at, call.cost)),
            };
            known.bucket = Some((at, (debt + i128::from(call.cost) * window).min(most)));
        }
    }

    fn refund(&mut self, call: &ModelCall) {
        let longest = call.rules.iter().map(|rule| rule.window()).max().unwrap();
        for (place, rule) in self.places(call) {
            let at = call.now.max(self.newest(rule));
            let debt = self.debt(rule, at);
            let Some(known) = self.known.get_mut(&place) else { continue };
            let mut rest = call.cost;
            let since = match self.algorithm {
                "COUNTER" => (at / rule.window() - 1) * rule.window() - 1,
                _ => at - longest,
            };
            for (_, cost) in known.calls.iter_mut().rev().filter(|(at, _)| *at > since) {
                let back = rest.min(*cost);
                (*cost, rest) = (*cost - back, rest - back);
            }
            if self.algorithm == "SLIDING" {
                forget_empty(&mut known.calls);
            }
            if let Some((start, used)) = known.window.filter(|(start, _)| at < start + rule.window()) {
                known.window = Some((start, used.saturating_sub(call.cost))).filter(|(_, used)| *used > 0);
            }
            let paid = (debt - i128::from(call.cost) * i128::from(rule.window())).max(0);
            if debt > 0 {
                known.bucket = Some((at, paid)).filter(|_| paid > 0);
            }
            if self.algorithm == "COUNTER" && rest < call.cost {
                // What it was told of last is gone with its units; what is left was told again.
                let live = known.calls.iter().any(|(call, cost)| *call > since && *cost > 0);
                if live {
                    known.calls.push((at, 0));
                } else {
                    known.calls.clear();
                }
            }
        }
    }
}

/// The newest calls whose units are all given back, but never the first of all.
fn forget_empty(calls: &mut Vec<(i64, u64)>) {
    while calls.len() > 1 && calls.last().is_some_and(|(_, cost)| *cost == 0) {
        calls.pop();
    }
}

fn first_milli(now: i64, newest: i64, holds: impl Fn(i64) -> bool) -> i64 {
    (1..100_000).find(|ms| holds(newest.max(now + ms * 1_000))).expect("waits end")
}

fn first_micro(now: i64, newest: i64, holds: impl Fn(i64) -> bool) -> i64 {
    let last = first_milli(now, newest, &holds) * 1_000;
    (last - 999..=last).find(|micros| holds(newest.max(now + micros))).expect("waits end")
}
