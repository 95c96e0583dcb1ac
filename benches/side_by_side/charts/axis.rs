//! Where values are, from one end of an axis to the other.

/// A linear axis begins at 0; a logarithmic one begins and ends at powers of ten.
#[derive(Clone, Copy)]
pub enum Axis {
    Linear { last: f64, step: f64 },
    Log { first: i32, last: i32 },
}

impl Axis {
    /// Up to this value, with at most `ticks` steps of 1, 2, 2.5 or 5 times a power of ten.
    pub fn linear(highest: f64, ticks: usize) -> Axis {
        let least = highest.max(1e-9) / ticks as f64;
        let power = 10_f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= least);
        let step = step.unwrap_or(least);
        Axis::Linear { last: step * (highest / step - 1e-9).ceil().max(1.0), step }
    }

    pub fn log(lowest: f64, highest: f64) -> Axis {
        let first = lowest.log10().floor() as i32;
        Axis::Log { first, last: (highest.log10().ceil() as i32).max(first + 1) }
    }

    /// 0 to 1
    pub fn place(self, value: f64) -> f64 {
        match self {
            Axis::Linear { last, .. } => value / last,
            Axis::Log { first, last } => (value.log10() - f64::from(first)) / f64::from(last - first),
        }
    }

    pub fn ticks(self) -> Vec<f64> {
        match self {
            Axis::Linear { last, step } => (0..=(last / step).round() as u32).map(|n| f64::from(n) * step).collect(),
            Axis::Log { first, last } => (first..=last).map(|power| 10_f64.powi(power)).collect(),
        }
    }
}
