//! The log of a `SLIDING` limiter and the ends of any limiter's sorted set, read by low-level calls.

use super::limiter::not_a_log;
use crate::error::Result;
use crate::rate::{last_token, lease_end, token, Entry, Log};
use crate::server::api::{Ctx, Key, Text};

#[derive(Clone, Copy)]
pub enum End {
    First,
    Last,
}

/// The element at one end of those with scores above this one, with its score.
pub fn element_above<'a>(key: &Key, above: f64, end: End) -> Option<(f64, Text<'a>)> {
    let mut score = 0.0;
    // SAFETY: the key is an open sorted set, which nothing changes while the iterator lives; the element is ours.
    let element = unsafe {
        let start = match end {
            End::First => api!(RedisModule_ZsetFirstInScoreRange),
            End::Last => api!(RedisModule_ZsetLastInScoreRange),
        };
        let without_min = i32::from(above > f64::NEG_INFINITY);
        start(key.raw(), above, f64::INFINITY, without_min, 0);
        Text::take(api!(RedisModule_ZsetRangeCurrentElement)(key.raw(), &mut score))
    };
    element.map(|element| (score, element))
}

fn at_end<'a>(key: &Key, end: End) -> Option<(f64, Text<'a>)> {
    element_above(key, f64::NEG_INFINITY, end)
}

/// Whether a sorted set is one of leases, by both its ends.
pub fn is_leases(key: &Key) -> bool {
    let Some((score, first)) = at_end(key, End::First) else { return false };
    last_token(score, first.bytes()).is_some()
        && at_end(key, End::Last).is_some_and(|(score, last)| {
            last.bytes() == first.bytes() || (lease_end(score).is_some() && token(last.bytes()).is_some())
        })
}

/// Whether a sorted set is a log, by both its ends.
pub fn is_log(key: &Key) -> bool {
    let is_entry = |end| at_end(key, end).is_some_and(|(score, element)| Entry::decode(score, element.bytes()).is_ok());
    is_entry(End::First) && is_entry(End::Last)
}

pub struct LogKey<'a> {
    ctx: Ctx<'a>,
    name: &'a Text<'a>,
    key: &'a Key<'a>,
}

impl<'a> LogKey<'a> {
    pub fn new(ctx: Ctx<'a>, name: &'a Text<'a>, key: &'a Key<'a>) -> LogKey<'a> {
        LogKey { ctx, name, key }
    }

    fn entry(&self, above: f64, end: End) -> Result<Option<Entry>> {
        let Some((score, element)) = element_above(self.key, above, end) else { return Ok(None) };
        Entry::decode(score, element.bytes()).map(Some).map_err(|_| not_a_log(self.key))
    }
}

impl Log for LogKey<'_> {
    fn oldest(&mut self) -> Result<Option<Entry>> {
        self.entry(f64::NEG_INFINITY, End::First)
    }

    fn newest(&mut self) -> Result<Option<Entry>> {
        self.entry(f64::NEG_INFINITY, End::Last)
    }

    fn first_after(&mut self, micros: i64) -> Result<Option<Entry>> {
        self.entry(micros as f64, End::First)
    }

    fn entries(&mut self) -> u64 {
        self.key.len()
    }

    fn len_through(&mut self, micros: i64) -> Result<u64> {
        self.ctx.zcount_below(self.name, micros as f64, true)
    }

    fn walk_back(&mut self, visit: &mut dyn FnMut(Entry) -> bool) -> Result<()> {
        let raw = self.key.raw();
        // SAFETY: the key is an open sorted set, which nothing changes while the iterator lives; elements are ours.
        unsafe {
            api!(RedisModule_ZsetLastInScoreRange)(raw, f64::NEG_INFINITY, f64::INFINITY, 0, 0);
            while api!(RedisModule_ZsetRangeEndReached)(raw) == 0 {
                let mut score = 0.0;
                let element = Text::take(api!(RedisModule_ZsetRangeCurrentElement)(raw, &mut score));
                let Some(element) = element else { break };
                if !visit(Entry::decode(score, element.bytes())?) {
                    break;
                }
                api!(RedisModule_ZsetRangePrev)(raw);
            }
            api!(RedisModule_ZsetRangeStop)(raw);
        }
        Ok(())
    }
}
