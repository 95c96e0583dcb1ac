//! Both sides of a comparison in turns.

use std::time::{Duration, Instant};

use redis::Value;

use crate::comparison::Comparison;
use crate::listener::Listener;
use crate::measure::{Outcome, Round};
use crate::options::Effort;
use crate::results::{Pace, Ratio};
use crate::session::Session;
use crate::support::show;
use crate::template::{Pacing, Template};

/// Pairs of replies that are compared before anything is timed.
const SAMPLES: u64 = 50;
/// The number of members for which jobs are sent one by one too.
const ONE_BY_ONE: u64 = 100_000;
/// Jobs whose effects on a replica are counted.
const SENT: u64 = 200;
const FEWEST_ROUNDS: usize = 3;
/// Members for each batch of the warm-up.
const MEMBERS_WARMED: u64 = 800;

struct Duel<'a> {
    session: &'a mut Session,
    comparison: &'a Comparison,
    effort: &'a Effort,
    ours: Template,
    theirs: Template,
}

pub fn compare(session: &mut Session, comparison: &Comparison, effort: &Effort) -> Vec<Ratio> {
    let (ours, theirs) = (session.template(comparison.ours), session.template(comparison.theirs));
    Duel { session, comparison, effort, ours, theirs }.run()
}

impl Duel<'_> {
    fn run(mut self) -> Vec<Ratio> {
        let pipeline = self.comparison.pipeline;
        let start = Instant::now();
        for _ in 0..SAMPLES.min(pipeline) {
            self.check_replies();
            if start.elapsed() > self.effort.patience() {
                break;
            }
        }
        self.check_state();
        let warm = (self.session.members() / MEMBERS_WARMED * pipeline, self.effort.warm_up());
        let sent = (self.session.listener == Listener::Replica).then(|| {
            let numbers = self.session.numbers(SENT);
            (self.session.sent_by(&self.ours, numbers.clone()), self.session.sent_by(&self.theirs, numbers))
        });
        let mut ratios = vec![Ratio { sent, ..self.measure(Pace::Pipelined, Pacing::pipelined(pipeline), warm) }];
        // What is not worth a pipeline of its own has been sent one by one already. Whatever the size of the board and
        // whoever listens, it is the round trip that takes the time: once is enough.
        if pipeline > 1 && self.session.members() == ONE_BY_ONE && self.session.listener == Listener::Nobody {
            ratios.push(self.measure(Pace::OneByOne, Pacing::ONE_BY_ONE, (0, Duration::ZERO)));
        }
        self.check_state();
        ratios
    }

    fn measure(&mut self, pace: Pace, pacing: Pacing, warm: (u64, Duration)) -> Ratio {
        let (session, slice) = (&mut *self.session, self.effort.slice);
        let (ours, theirs) = if self.comparison.reads_only {
            let mut jobs = |side| session.jobs_in_a_slice(&[side], pacing, slice, warm);
            (jobs(&self.ours), jobs(&self.theirs))
        } else {
            let jobs = session.jobs_in_a_slice(&[&self.ours, &self.theirs], pacing, slice, warm);
            (jobs, jobs)
        };
        let start = Instant::now();
        let rounds: Vec<Round> = (0..self.effort.rounds)
            // What takes longer than a slice has fewer rounds.
            .take_while(|round| *round < FEWEST_ROUNDS || start.elapsed() < self.effort.patience())
            .map(|round| {
                let start = session.numbers(ours.max(theirs)).start;
                let our_turn = |session: &mut Session| session.time(&self.ours, start..start + ours, pacing);
                let their_turn = |session: &mut Session| session.time(&self.theirs, start..start + theirs, pacing);
                if round % 2 == 0 {
                    let ours = our_turn(session);
                    Round { ours, theirs: their_turn(session) }
                } else {
                    let theirs = their_turn(session);
                    Round { ours: our_turn(session), theirs }
                }
            })
            .collect();
        let outcome = Outcome::of(&rounds);
        Ratio {
            server: session.name.clone(),
            listener: session.listener,
            comparison: self.comparison.name.into(),
            members: session.members(),
            pace,
            ours: outcome.ours,
            theirs: outcome.theirs,
            ratio: outcome.ratio,
            spread: outcome.spread,
            cpu_ratio: outcome.cpu_ratio,
            sent: None,
        }
    }

    /// What is measured must do the same job.
    fn check_replies(&mut self) {
        let number = self.session.numbers(1).start;
        let (ours, theirs) = (self.session.ask(&self.ours, number), self.session.ask(&self.theirs, number));
        self.assert_same((self.comparison.replies)(&ours, &theirs), &ours, &theirs);
    }

    fn check_state(&mut self) {
        let Some(state) = &self.comparison.state else { return };
        let mut read = |text| self.session.ask(&self.session.template(text), 0);
        let (ours, theirs) = (read(state.ours), read(state.theirs));
        self.assert_same((state.same)(&ours, &theirs), &ours, &theirs);
    }

    fn assert_same(&self, is_same: bool, ours: &Value, theirs: &Value) {
        let short = |value: &Value| show(value).chars().take(500).collect::<String>();
        let name = self.comparison.name;
        assert!(is_same, "{name} is not the same:\n  ours:   {}\n  theirs: {}", short(ours), short(theirs));
    }
}
