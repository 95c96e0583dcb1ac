//! All interleavings of what two clients, one of whose clocks is ahead, do with one string limiter, while the server's clock
//! goes forward and back and the key expires. Verdicts are those of the naive model: so no more is let through than by the
//! rule.

use std::hash::Hash;

use smallvec::SmallVec;

use super::model::{Model, ModelCall, ModelRule};
use super::*;
use crate::explore::{self, explore};

const MICROS_OF_MS: i64 = 1_000;

/// What may happen in a world.
struct Options {
    algorithms: &'static [&'static str],
    rules: Vec<Vec<ModelRule>>,
    costs: &'static [u64],
    /// When the clock begins. Nothing is earlier, and nothing much later.
    start_ms: i64,
    end_ms: i64,
    /// How far the clock moves at once, forward and back.
    tick_ms: i64,
    /// How far ahead the second client's clock is.
    ahead_ms: i64,
    /// For each algorithm and each of the rules: to parse it again for every step would take most of the time.
    requests: Vec<Vec<Request>>,
}

impl Options {
    fn parsed(mut self) -> Options {
        let request = |algorithm: &str, rules: &Vec<ModelRule>| {
            let (rules, action) = (rules.clone(), Action::Check);
            let call = ModelCall { rules, cost: 1, action, force: false, penalty_ms: None, now: 0 };
            parse(&call.words(algorithm)).expect("a request")
        };
        let of = |algorithm: &&str| self.rules.iter().map(|rules| request(algorithm, rules)).collect();
        self.requests = self.algorithms.iter().map(of).collect();
        self
    }

    fn request(&self, algorithm: usize, call: &ModelCall) -> Request {
        let windows = |rules: &[ModelRule]| rules.iter().map(|rule| rule.window_ms).collect::<SmallVec<[u64; 2]>>();
        let known = self.rules.iter().position(|rules| windows(rules) == windows(&call.rules)).expect("known rules");
        let ModelCall { cost, action, force, penalty_ms, .. } = *call;
        Request { cost, action, force, penalty_ms, ..self.requests[algorithm][known].clone() }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Call {
        algorithm: usize,
        call: ModelCall,
    },
    /// To a time in milliseconds.
    Clock(i64),
    Reset,
}

#[derive(Clone)]
struct Limited<'o> {
    options: &'o Options,
    limiter: Limiter,
    /// One for each algorithm.
    models: Vec<Model>,
    now_ms: i64,
}

impl<'o> Limited<'o> {
    fn new(options: &'o Options) -> Limited<'o> {
        let models = options.algorithms.iter().map(|algorithm| Model::new(algorithm)).collect();
        Limited { options, limiter: Limiter::default(), models, now_ms: options.start_ms }
    }

    fn run(&mut self, algorithm: usize, call: &ModelCall) -> Vec<Verdict> {
        let request = self.options.request(algorithm, call);
        let clock = Clock::new(self.now_ms * MICROS_OF_MS, Some(call.now));
        self.limiter.run_by(&request, clock).expect("an answer").each().collect()
    }

    fn call(&mut self, algorithm: usize, call: &ModelCall) {
        let (model, before) = (&mut self.models[algorithm], self.limiter.clone());
        let denies = model.denies(call);
        model.apply(call);
        let after = model.all_left(call);
        let closed = model.closed_until;
        self.models.iter_mut().for_each(|model| model.closed_until = closed);
        let verdicts = self.run(algorithm, call);
        let is_closed = closed > call.now;
        for (verdict, left) in verdicts.iter().zip(after) {
            assert_eq!(verdict.remaining, if is_closed { 0 } else { left }, "{verdict:?}");
        }
        if call.action == Action::Check {
            assert_eq!(verdicts.iter().any(|verdict| verdict.limited), denies, "{verdicts:?}");
            if denies && !call.force && call.penalty_ms.is_none() {
                assert_eq!(self.limiter, before, "a denied call wrote");
            }
        }
    }

    /// A peek changes nothing, and says what the model says; and after the wait that it tells, and no earlier, the call
    /// passes.
    fn peek(&mut self, algorithm: usize, call: &ModelCall) {
        let before = self.limiter.clone();
        let verdicts = self.run(algorithm, call);
        let limited = verdicts.iter().any(|verdict| verdict.limited);
        assert_eq!(limited, self.models[algorithm].denies(call), "{verdicts:?} of {call:?}");
        let retry = verdicts.iter().map(|verdict| verdict.reply()[3]).max().unwrap_or(0);
        let never = verdicts.iter().any(|verdict| verdict.reply()[3] == -1);
        if limited && !never {
            let mut is_limited_after = |ms: i64| {
                let later = ModelCall { now: call.now + ms * MICROS_OF_MS, ..call.clone() };
                self.run(algorithm, &later).iter().any(|verdict| verdict.limited)
            };
            assert!(!is_limited_after(retry) && is_limited_after(retry - 1), "{verdicts:?} of {call:?}");
        }
        assert_eq!(self.limiter, before, "a peek wrote");
    }

    fn peeks(&self) -> Vec<(usize, ModelCall)> {
        let now = self.now_ms * MICROS_OF_MS;
        let call = |rules: &Vec<ModelRule>, cost| ModelCall {
            rules: rules.clone(),
            cost,
            action: Action::Peek,
            force: false,
            penalty_ms: None,
            now,
        };
        let algorithms = 0..self.models.len();
        let of =
            |algorithm| self.options.rules.iter().map(move |rules| (algorithm, call(rules, self.options.costs[0])));
        algorithms.flat_map(of).collect()
    }

    /// The server removes the key after its expiry. By then it must not matter any more.
    fn expire(&mut self) {
        if self.limiter.log.expiry().is_none_or(|at_ms| self.now_ms <= at_ms) {
            return;
        }
        for (algorithm, call) in self.peeks() {
            let model = &self.models[algorithm];
            let full: Vec<u64> = call.rules.iter().map(|rule| rule.capacity()).collect();
            assert_eq!(model.all_left(&call), full, "the key expired while it mattered");
            assert!(model.closed_until <= call.now, "the key expired during a penalty");
        }
        *self = Limited { now_ms: self.now_ms, ..Limited::new(self.options) };
    }
}

impl explore::World for Limited<'_> {
    type Step = Step;

    fn steps(&self) -> Vec<Step> {
        let Options { start_ms, end_ms, tick_ms, ahead_ms, .. } = *self.options;
        let ticks = [-tick_ms, tick_ms, 2 * tick_ms].map(|tick| self.now_ms + tick);
        let mut steps: Vec<Step> =
            ticks.into_iter().filter(|to| (start_ms..=end_ms).contains(to)).map(Step::Clock).collect();
        if self.limiter.text.is_some() {
            steps.push(Step::Reset);
        }
        for algorithm in 0..self.models.len() {
            for (rules, cost) in
                self.options.rules.iter().flat_map(|rules| self.options.costs.iter().map(move |cost| (rules, *cost)))
            {
                for now_ms in [self.now_ms, self.now_ms + ahead_ms] {
                    let mut add = |action, force, penalty_ms| {
                        let now = now_ms * MICROS_OF_MS;
                        let call = ModelCall { rules: rules.clone(), cost, action, force, penalty_ms, now };
                        steps.push(Step::Call { algorithm, call });
                    };
                    let penalty = Some(2 * tick_ms as u64);
                    add(Action::Check, false, None);
                    add(Action::Check, true, None);
                    add(Action::Check, false, penalty);
                    add(Action::Check, true, penalty);
                    add(Action::Refund, false, None);
                }
            }
        }
        steps
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Call { algorithm, call } => self.call(*algorithm, call),
            Step::Clock(to) => {
                self.now_ms = *to;
                self.expire();
            }
            Step::Reset => *self = Limited { now_ms: self.now_ms, ..Limited::new(self.options) },
        }
        for (algorithm, call) in self.peeks() {
            self.peek(algorithm, &call);
        }
        if let Some(text) = &self.limiter.text {
            assert!(is_string_limiter(text), "a text that can be read");
        }
        self.models.iter_mut().for_each(Model::forget);
    }

    fn key(&self) -> impl Hash {
        (self.limiter.text.clone(), self.limiter.log.expiry(), self.models.clone(), self.now_ms)
    }
}

fn rule(limit: u64, window_ms: u64) -> ModelRule {
    ModelRule { limit, window_ms, burst: None }
}

/// In windows of a few milliseconds.
fn short(algorithms: &'static [&'static str], rules: Vec<Vec<ModelRule>>, costs: &'static [u64]) -> Options {
    // Three windows of 4 ms begin here.
    let start_ms = 1_200_000;
    let requests = Vec::new();
    Options { algorithms, rules, costs, start_ms, end_ms: start_ms + 9, tick_ms: 1, ahead_ms: 2, requests }.parsed()
}

fn alone(algorithm: &'static [&'static str], depth: usize) {
    let rules = vec![vec![rule(2, 2)], vec![rule(3, 4)], vec![rule(2, 2), rule(3, 4)]];
    let options = short(algorithm, rules, &[1, 2]);
    let explored = explore(algorithm[0], Limited::new(&options), depth);
    assert!(explored.states > 300, "{} states", explored.states);
}

#[test]
fn fixed_lets_no_more_through_in_any_interleaving() {
    alone(&["FIXED"], 3);
}

#[test]
fn counter_lets_no_more_through_in_any_interleaving() {
    alone(&["COUNTER"], 3);
}

#[test]
fn gcra_lets_no_more_through_in_any_interleaving() {
    alone(&["GCRA"], 3);
}

/// Several algorithms on one key let no more through than each by itself.
#[test]
fn algorithms_that_share_a_key_let_no_more_through_in_any_interleaving() {
    let options = short(&["FIXED", "COUNTER", "GCRA"], vec![vec![rule(2, 2)]], &[1]);
    let explored = explore("FIXED, COUNTER and GCRA", Limited::new(&options), 3);
    assert!(explored.states > 300, "{} states", explored.states);
}

#[test]
fn calendar_lets_no_more_through_in_any_interleaving() {
    const HOUR_MS: i64 = 3_600_000;
    let start_ms = 1_767_225_600_000 - 2 * HOUR_MS;
    let rules =
        vec![vec![rule(2, 3_600_000)], vec![rule(3, 86_400_000)], vec![rule(2, 3_600_000), rule(3, 86_400_000)]];
    let options = Options {
        algorithms: &["CALENDAR"],
        rules,
        costs: &[1, 2],
        start_ms,
        // Into the second day after the next midnight.
        end_ms: start_ms + 28 * HOUR_MS,
        tick_ms: HOUR_MS / 2,
        ahead_ms: HOUR_MS,
        requests: Vec::new(),
    };
    let options = options.parsed();
    let explored = explore("CALENDAR", Limited::new(&options), 3);
    assert!(explored.states > 300, "{} states", explored.states);
}
