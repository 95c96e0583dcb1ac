//! Rate limits.

use super::args::{key, nothing_more};
use crate::config;
use crate::error::Result;
use crate::rate::{check_hash, check_log, Algorithm, Clock, Mode, Request};
use crate::server::{Access, Arg, Call, Limiter, Reply};
use crate::stats;

pub fn check(call: &Call) -> Result<()> {
    judge(call, Mode::Check, Access::Write)
}

pub fn peek(call: &Call) -> Result<()> {
    judge(call, Mode::Peek, Access::Read)
}

fn judge(call: &Call, mode: Mode, access: Access) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let request = Request::parse(args.map(Arg::bytes), config::rate_max_log())?;
    let clock = Clock::new(call.ctx.now_micros(), request.now());
    let mut limiter = Limiter::open(call.ctx, key, access);
    let verdict = if request.algorithm() == Algorithm::Sliding {
        let (verdict, append) = check_log(&request, mode, clock, limiter.log()?.as_mut())?;
        if let Some(append) = append {
            limiter.append(&append);
        }
        verdict
    } else {
        let (verdict, write) = check_hash(&request, mode, clock, limiter.hash()?.as_mut())?;
        if let Some(write) = write {
            limiter.write(&write);
        }
        verdict
    };
    if mode == Mode::Check {
        let verdicts = match request.algorithm() {
            Algorithm::Sliding => &stats::SLIDING,
            Algorithm::Fixed => &stats::FIXED,
            Algorithm::Counter => &stats::COUNTER,
            Algorithm::Gcra => &stats::GCRA,
        };
        verdicts.add(verdict.limited);
    }
    Reply::new(call.ctx).integers(&verdict.reply());
    Ok(())
}

pub fn reset(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    nothing_more(&args)?;
    let forgotten = Limiter::open(call.ctx, key, Access::Write).forget()?;
    Reply::new(call.ctx).integer(i64::from(forgotten));
    Ok(())
}
