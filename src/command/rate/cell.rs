//! `CL.THROTTLE`: redis-cell's command, on `GCRA`.

use super::check::verdict_counters;
use crate::command;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::number::parse_integer;
use crate::rate::{self, Clock, KeyRules, Request};
use crate::server::{Access, Args, Call, Limiter};

command! { THROTTLE = throttle;
    Doc::write("cl.throttle", "key max_burst count period [quantity]",
    "Checks a limit like redis-cell's CL.THROTTLE.", "O(1)")
    .fast()
}

fn throttle<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let max_burst = integer(&mut args)?;
    let count = integer(&mut args)?;
    let period = integer(&mut args)?;
    let quantity = if !args.is_empty() { integer(&mut args)? } else { 1 };
    args.end()?;
    let request = Request::of_cell(max_burst, count, period, quantity)?;
    let key_rules = KeyRules::whole(Limiter::open(call, key, Access::Write), &request);
    let clock = Clock::new(call.ctx.now_micros(), None);
    let verdict = rate::run(&request, clock, &mut [key_rules])?.verdict()?;
    verdict_counters(request.algorithm).add(verdict.limited);
    call.reply().integers(&verdict.cell_reply());
    Ok(())
}

fn integer(args: &mut Args) -> Result<i64> {
    let arg = args.required()?;
    parse_integer(arg.bytes()).ok_or_else(|| Error::cell_integer(arg.bytes()))
}
