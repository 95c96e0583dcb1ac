//! `RATE.CHECK`, `RATE.PEEK` and `RATE.RESET`.

use super::args::{key, nothing_more};
use crate::command;
use crate::config;
use crate::docs::Doc;
use crate::error::Result;
use crate::rate::{check_hash, check_log, Algorithm, Clock, Mode, Request};
use crate::server::{Access, Arg, Call, Limiter};
use crate::stats;

const SYNTAX: &str = "key rule:{pair:{limit window}|compact:rule} ... algorithm:[SLIDING|FIXED|COUNTER|GCRA] \
    [BURST burst:n] [COST cost:n] [NOW now:ms]";
const COST: &str = "O(R*log(N)) for R rules and N calls in a SLIDING log; O(R) with FIXED, COUNTER and GCRA.";

command! { CHECK = check;
    Doc::write("rate.check", SYNTAX, "Takes units from a rate limiter, or says how long to wait for them.", COST)
    .fast()
}

command! { PEEK = peek;
    Doc::read("rate.peek", SYNTAX, "Says what RATE.CHECK would say, and takes nothing.", COST).fast()
}

command! { RESET = reset;
    Doc::remove("rate.reset", "key", "Forgets a rate limiter.", "O(1), the memory is freed in the background.")
    .fast()
}

fn check<'c>(call: &'c Call<'c>) -> Result<()> {
    judge(call, Mode::Check, Access::Write)
}

fn peek<'c>(call: &'c Call<'c>) -> Result<()> {
    judge(call, Mode::Peek, Access::Read)
}

fn judge<'c>(call: &'c Call<'c>, mode: Mode, access: Access) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let request = Request::parse(args.map(Arg::bytes), config::rate_max_log())?;
    let clock = Clock::new(call.ctx.now_micros(), request.now);
    let mut limiter = Limiter::open(call, key, access);
    let verdict = if request.algorithm == Algorithm::Sliding {
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
        let verdicts = match request.algorithm {
            Algorithm::Sliding => &stats::SLIDING,
            Algorithm::Fixed => &stats::FIXED,
            Algorithm::Counter => &stats::COUNTER,
            Algorithm::Gcra => &stats::GCRA,
        };
        verdicts.add(verdict.limited);
    }
    call.reply().integers(&verdict.reply());
    Ok(())
}

fn reset<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    nothing_more(&args)?;
    let forgotten = Limiter::open(call, key, Access::Write).forget()?;
    call.reply().integer(i64::from(forgotten));
    Ok(())
}
