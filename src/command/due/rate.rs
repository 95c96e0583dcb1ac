//! `RATE`: items are handed out as fast as a rule allows, and each takes one unit.

use smallvec::SmallVec;

use crate::config;
use crate::error::{Error, Result};
use crate::rate::{self, Clock, Request};
use crate::server::{Access, Arg, Args, Call, Limiter, Text};

/// What follows `RATE`.
pub struct RateOption<'a> {
    pub limiter: Text<'a>,
    request: Request,
    /// The limiter, and the words behind it.
    words: SmallVec<[Text<'a>; 3]>,
}

impl<'a> RateOption<'a> {
    /// Reads the words behind the limiter.
    pub fn parse(limiter: Text<'a>, args: &mut Args<'a>) -> Result<RateOption<'a>> {
        if args.peek().is_none() {
            return Err(Error::without_value("RATE"));
        }
        let (before, words) = (args.clone(), args.len());
        let request = Request::of_rate(args, None, config::RATE_MAX_LOG.bound())?;
        let behind = before.take(words - args.len()).map(Arg::text);
        let words = std::iter::once(limiter.clone()).chain(behind).collect();
        Ok(RateOption { limiter, request, words })
    }

    /// The words that are alike for all clients that wait for the same rule.
    pub fn words(&self) -> SmallVec<[Text<'a>; 3]> {
        self.words.clone()
    }

    /// The rule and its key, at the time of a call in Unix milliseconds if it names one; nothing is written yet.
    pub fn open<'c>(&self, call: &'c Call<'c>, now: Option<i64>) -> Rate<'c>
    where
        'a: 'c,
    {
        let now = now.map(|ms| ms.saturating_mul(1_000));
        let mut request = self.request.clone();
        request.now = now;
        let limiter = Limiter::open(call, self.limiter.clone(), Access::Write);
        Rate { clock: Clock::new(call.ctx.now_micros(), now), request, limiter }
    }
}

pub struct Rate<'c> {
    request: Request,
    limiter: Limiter<'c>,
    clock: Clock,
}

/// What a rule allows at this moment.
pub enum Allowance {
    /// Units for so many items were taken.
    Items(usize),
    /// It allows something in so many milliseconds.
    NothingFor(u64),
}

impl Rate<'_> {
    /// Takes units for so many items, as far as the rule allows.
    pub fn take(mut self, items: usize) -> Result<Allowance> {
        let allowance = rate::Allowance::evaluate(&self.request, self.clock, &mut self.limiter)?;
        if allowance.units() == 0 {
            let micros = allowance.next_unit().max(1);
            return Ok(Allowance::NothingFor(u64::try_from(micros.div_ceil(1_000)).unwrap_or(u64::MAX)));
        }
        let units = allowance.units().min(items as u64);
        allowance.take(units, &mut self.limiter);
        Ok(Allowance::Items(usize::try_from(units).unwrap_or(items)))
    }
}
