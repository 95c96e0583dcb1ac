//! `FIXED`: a window [start, start + window) that opens with its first unit. Stored as `start used`.

use super::clock::MAX_MICROS;
use super::error::RateError;
use super::hash::{push_micros, Call, Judged, Window};
use super::request::Algorithm;
use super::rule::{Rule, MAX_LIMIT};
use super::text::{push_number, stored_number, words, Text};
use super::verdict::{wait_for, Standing};

#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    start: i64,
    used: u64,
}

impl Window for Fixed {
    const ALGORITHM: Algorithm = Algorithm::Fixed;
    const PREFIX: &'static str = "fixed:";

    fn parse(value: &[u8], _: Rule) -> Option<Fixed> {
        let [start, used] = words(value)?;
        let start = stored_number(start, 0..=MAX_MICROS as u64)?;
        let used = stored_number(used, 1..=MAX_LIMIT)?;
        Some(Fixed { start: i64::try_from(start).ok()?, used })
    }

    fn push(&self, value: &mut Text) {
        push_micros(value, self.start);
        value.push(b" ");
        push_number(value, self.used);
    }

    /// Within a window it makes no difference when a unit was taken, so the start is all that is known.
    fn newest(&self) -> i64 {
        self.start
    }

    fn judge(state: Option<Fixed>, call: &Call, at: i64) -> Result<Judged<Fixed>, RateError> {
        let open = state.filter(|state| at < call.rule.window_after(state.start));
        let Fixed { start, used } = open.unwrap_or(Fixed { start: at, used: 0 });
        let closes = u128::try_from(call.rule.window_after(start).saturating_sub(at)).unwrap_or(0);
        let capacity = call.rule.limit();
        let left = capacity.saturating_sub(used);
        Ok(Judged {
            standing: Standing {
                capacity,
                left,
                wait: wait_for(call.cost, left, capacity, || Ok::<_, RateError>(closes))?,
                reset: if open.is_some() { closes } else { 0 },
                reset_if_taken: closes,
            },
            taken: Fixed { start, used: used.saturating_add(call.cost) },
            ends_as_before: open.is_some(),
        })
    }
}
