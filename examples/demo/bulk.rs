//! Many writes, with a progress bar.

use std::error::Error;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use redis::{Connection, Pipeline};

/// Enough to keep the server busy, few enough for the bar to move.
const CALLS_AT_ONCE: usize = 1000;

/// Sends `count` calls, each as `call` adds it to a pipeline, and tells how long they took. The bar
/// is there at a terminal only.
pub fn load(
    connection: &mut Connection,
    what: &'static str,
    count: usize,
    mut call: impl FnMut(&mut Pipeline, usize),
) -> Result<Duration, Box<dyn Error>> {
    let style = ProgressStyle::with_template("{msg} {wide_bar:.cyan/blue} {human_pos}/{human_len} {per_sec}")?;
    let bar = ProgressBar::new(count as u64).with_style(style).with_message(what);
    let start = Instant::now();
    for first in (0..count).step_by(CALLS_AT_ONCE) {
        let mut pipeline = Pipeline::with_capacity(CALLS_AT_ONCE);
        let until = count.min(first + CALLS_AT_ONCE);
        for index in first..until {
            call(&mut pipeline, index);
        }
        pipeline.exec(connection)?;
        bar.set_position(until as u64);
    }
    bar.finish_and_clear();
    Ok(start.elapsed())
}

/// The same sequence in every run, so that everybody sees the same demo.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(seed)
    }

    /// From 0 to `sides` − 1.
    pub fn roll(&mut self, sides: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % sides
    }
}
