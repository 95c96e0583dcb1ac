//! `FIXED`: a window [start, start + window) that opens with its first unit. Stored as `start used`.

use super::clock::MAX_MICROS;
use super::hash::{Judged, Window};
use super::request::Request;
use super::rule::{Rule, MAX_LIMIT};
use super::text::{read_numbers, within, Text};
use super::verdict::{wait_for, Standing};
use crate::error::Result;

/// The state of one window of `FIXED`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    start: i64,
    used: u64,
}

impl Window for Fixed {
    const HEADER: &'static str = "v1 fixed";
    const PREFIX: &'static str = "fixed:";

    fn parse(value: &[u8], _: Rule) -> Option<Fixed> {
        let [start, used] = read_numbers(value)?;
        Some(Fixed { start: within(start, 0..=MAX_MICROS)?, used: within(used, 1..=MAX_LIMIT)? })
    }

    fn push(&self, value: &mut Text) {
        value.push_spaced(self.start);
        value.push_spaced(self.used);
    }

    /// Within a window it makes no difference when a unit was taken, so the start is all that is known.
    fn newest(&self) -> i64 {
        self.start
    }

    fn judge(state: Option<Fixed>, request: &Request, rule: Rule, at: i64) -> Result<Judged<Fixed>> {
        let open = state.filter(|state| at < rule.window_after(state.start));
        let Fixed { start, used } = open.unwrap_or(Fixed { start: at, used: 0 });
        let closes = u128::try_from(rule.window_after(start).saturating_sub(at)).unwrap_or(0);
        let left = rule.limit.saturating_sub(used);
        Ok(Judged {
            standing: Standing {
                capacity: rule.limit,
                left,
                wait: wait_for(request.cost, left, rule.limit, || Ok(closes))?,
                reset: if open.is_some() { closes } else { 0 },
                reset_if_taken: closes,
            },
            taken: Fixed { start, used: used.saturating_add(request.cost) },
            ends_as_before: open.is_some(),
        })
    }
}
