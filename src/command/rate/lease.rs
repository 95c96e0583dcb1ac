//! `RATE.ACQUIRE`, `RATE.RENEW`, `RATE.RELEASE` and `RATE.HELD`: arguments and replies. They limit how many clients hold a
//! lease at the same time; [`crate::rate`] decides.

use crate::command;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::rate::{self, Clock, Leases};
use crate::server::{Access, Arg, Args, Call, Limiter};
use crate::stats;

command! { ACQUIRE = acquire;
    Doc::write("rate.acquire", "key limit lease [NOW now:ms] [JSON]",
    "Acquires one of a limited number of leases.",
    "O(log(N)+M) for N leases, of which M have ended.").fast()
}

command! { RENEW = renew;
    Doc::write("rate.renew", "key token lease [NOW now:ms]", "Extends a lease.", "O(log(N)) for N leases.")
    .fast()
}

command! { RELEASE = release;
    Doc::remove("rate.release", "key token ...", "Releases leases.", "O(M*log(N)) for M tokens and N leases.")
    .fast()
}

command! { HELD = held;
    Doc::read("rate.held", "key [NOW now:ms]", "Returns how many leases are held, and when the next one ends.",
    "O(log(N)) for N leases.").fast()
}

fn acquire<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let limit = rate::parse_limit(args.required()?.bytes())?;
    let lease = lease(&mut args)?;
    let options = LeaseOptions::parse(call, args)?;
    let mut limiter = Limiter::open(call, key, Access::Write);
    let verdict = Leases::new(limiter.leases()?, options.clock(call))?.acquire(limit, lease)?;
    stats::LEASES.add(verdict.limited);
    let reply = call.reply();
    if options.json {
        reply.bulk(verdict.lease_json().as_bytes());
    } else {
        reply.integers(&verdict.reply());
    }
    Ok(())
}

fn renew<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let token = token(args.required()?)?;
    let lease = lease(&mut args)?;
    let options = LeaseOptions::parse(call, args)?;
    let mut limiter = Limiter::open(call, key, Access::Write);
    let renewed = Leases::new(limiter.leases()?, options.clock(call))?.renew(token, lease)?;
    call.reply().integer(i64::from(renewed));
    Ok(())
}

fn release<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let mut tokens = args.map(token).collect::<Result<Vec<i64>>>()?;
    if tokens.is_empty() {
        return Err(Error::arity());
    }
    tokens.sort_unstable();
    tokens.dedup();
    let mut limiter = Limiter::open(call, key, Access::Write);
    let clock = Clock::new(call.ctx.now_micros(), None);
    let released = Leases::new(limiter.leases()?, clock)?.release(&tokens)?;
    call.reply().count(released);
    Ok(())
}

fn held<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let options = LeaseOptions::parse(call, args)?;
    let mut limiter = Limiter::open(call, key, Access::Read);
    let (held, next_ms) = Leases::new(limiter.leases()?, options.clock(call))?.held_ms()?;
    call.reply().integers(&[i64::try_from(held).unwrap_or(i64::MAX), next_ms]);
    Ok(())
}

fn lease(args: &mut Args) -> Result<u64> {
    rate::parse_duration("lease", args.required()?)
}

fn token(arg: Arg) -> Result<i64> {
    let takes = "a token of RATE.ACQUIRE";
    rate::token(arg.bytes()).ok_or_else(|| Error::takes("token", takes, arg.bytes()))
}

#[derive(Default)]
struct LeaseOptions {
    now: Option<i64>,
    json: bool,
}

impl LeaseOptions {
    fn parse<'c>(call: &'c Call<'c>, args: Args<'c>) -> Result<LeaseOptions> {
        let (mut options, mut given) = (call.options(args), LeaseOptions::default());
        while let Some(option) = options.next()? {
            match option {
                "NOW" => given.now = Some(rate::parse_now(options.value()?)?),
                "JSON" => given.json = true,
                _ => return Err(options.unknown()),
            }
        }
        Ok(given)
    }

    fn clock(&self, call: &Call) -> Clock {
        Clock::new(call.ctx.now_micros(), self.now)
    }
}
