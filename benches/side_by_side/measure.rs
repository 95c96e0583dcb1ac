//! Rounds, and what they say.

use std::time::Duration;

/// One side of one round.
#[derive(Clone, Copy)]
pub struct Timing {
    pub jobs: u64,
    pub wall: Duration,
    /// What the server's main thread took of the processor; a busy neighbour leaves it alone.
    pub cpu: Duration,
}

pub struct Round {
    pub ours: Timing,
    pub theirs: Timing,
}

/// Speeds are jobs a second.
pub struct Outcome {
    pub ours: f64,
    pub theirs: f64,
    /// Of the medians of the speeds.
    pub ratio: f64,
    /// The quartiles of the rounds' own ratios.
    pub spread: (f64, f64),
    /// Of the medians of the processor's time for a job.
    pub cpu_ratio: f64,
}

impl Timing {
    pub fn speed(self) -> f64 {
        self.jobs as f64 / self.wall.as_secs_f64()
    }

    fn cpu_speed(self) -> f64 {
        self.jobs as f64 / self.cpu.as_secs_f64()
    }
}

impl Outcome {
    pub fn of(rounds: &[Round]) -> Outcome {
        let quantile_of = |value: &dyn Fn(&Round) -> f64, q: f64| quantile(rounds.iter().map(value).collect(), q);
        let median = |value: &dyn Fn(&Round) -> f64| quantile_of(value, 0.5);
        let ours = median(&|round| round.ours.speed());
        let theirs = median(&|round| round.theirs.speed());
        let of_round = |round: &Round| round.ours.speed() / round.theirs.speed();
        Outcome {
            ours,
            theirs,
            ratio: ours / theirs,
            spread: (quantile_of(&of_round, 0.25), quantile_of(&of_round, 0.75)),
            cpu_ratio: median(&|round| round.ours.cpu_speed()) / median(&|round| round.theirs.cpu_speed()),
        }
    }
}

/// Linear between neighbours.
pub fn quantile(mut values: Vec<f64>, q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = q * (values.len() - 1) as f64;
    let (low, high) = (values[place.floor() as usize], values[place.ceil() as usize]);
    low + (high - low) * place.fract()
}
