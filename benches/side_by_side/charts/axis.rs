//! Where a value stands on a sheet, and what is written beside the lines.

#[derive(Clone, Copy)]
pub enum Scale {
    Linear,
    Log,
}

pub struct Axis {
    scale: Scale,
    values: (f64, f64),
    pixels: (f64, f64),
}

impl Axis {
    /// An axis from pixel to pixel that has room for all values.
    pub fn new(scale: Scale, values: impl Iterator<Item = f64>, pixels: (f64, f64)) -> Axis {
        let (mut low, mut high) = values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        match scale {
            Scale::Linear => high += (high - low) * 0.04,
            Scale::Log => {
                low /= 1.08;
                high *= 1.08;
            }
        }
        Axis { scale, values: (low, high), pixels }
    }

    pub fn at(&self, value: f64) -> f64 {
        let place = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Log => value.ln(),
        };
        let (low, high) = (place(self.values.0), place(self.values.1));
        self.pixels.0 + (place(value) - low) / (high - low) * (self.pixels.1 - self.pixels.0)
    }

    pub fn start(&self) -> f64 {
        self.values.0
    }

    pub fn ticks(&self) -> Vec<f64> {
        let (low, high) = self.values;
        let decades = (high / low.max(f64::MIN_POSITIVE)).log10();
        let steps: &[f64] = match self.scale {
            Scale::Linear => return linear_ticks(low, high),
            Scale::Log if decades < 1.2 => &[1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
            Scale::Log if decades < 1.7 => &[1.0, 2.0, 5.0],
            Scale::Log => &[1.0],
        };
        let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let all = exponents.flat_map(|exponent| steps.iter().map(move |step| step * 10_f64.powi(exponent)));
        all.filter(|tick| (low..=high).contains(tick)).collect()
    }
}

/// Up to eight round numbers.
fn linear_ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 8.0;
    let unit = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * unit).find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let first = (low / step).ceil() as i64;
    (first..).map(|number| number as f64 * step).take_while(|tick| *tick <= high).collect()
}

/// A number with three digits, and no more than it needs: `0.65`, `1.5`, `20k`.
pub fn short(value: f64) -> String {
    let trim = |text: String| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    };
    match value.abs() {
        1e6.. => format!("{}M", trim(format!("{:.1}", value / 1e6))),
        1e3.. => format!("{}k", trim(format!("{:.1}", value / 1e3))),
        100.0.. => format!("{value:.0}"),
        10.0.. => trim(format!("{value:.1}")),
        _ => trim(format!("{value:.2}")),
    }
}
