//! `RATE.ACQUIRE`, `RATE.RENEW`, `RATE.RELEASE` and `RATE.HELD`: arguments and replies. They limit how many clients hold a
//! lease at the same time; [`crate::rate`] decides.

use crate::command;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::rate::{self, Clock, Holders};
use crate::server::{Access, Arg, Args, Call, Limiter};
use crate::stats;
use crate::words::{Setting, Word};

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
    let options = LeaseOptions::parse(args, true)?;
    let mut limiter = Limiter::open(call, key, Access::Write);
    let verdict = Holders::new(limiter.leases()?, options.clock(call))?.acquire(limit, lease)?;
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
    let options = LeaseOptions::parse(args, false)?;
    let mut limiter = Limiter::open(call, key, Access::Write);
    let renewed = Holders::new(limiter.leases()?, options.clock(call))?.renew(token, lease)?;
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
    let released = Holders::new(limiter.leases()?, clock)?.release(&tokens)?;
    call.reply().count(released);
    Ok(())
}

fn held<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let options = LeaseOptions::parse(args, false)?;
    let mut limiter = Limiter::open(call, key, Access::Read);
    let (held, next_ms) = Holders::new(limiter.leases()?, options.clock(call))?.held_ms()?;
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

struct LeaseOptions {
    now: Option<i64>,
    json: bool,
}

impl LeaseOptions {
    fn parse(mut args: Args, takes_json: bool) -> Result<LeaseOptions> {
        let (mut now, mut json) = (Setting::default(), Setting::default());
        while let Some(arg) = args.next() {
            match arg.upper().as_slice() {
                b"NOW" => now.set(rate::parse_now(args.value_of("NOW")?)?, "NOW")?,
                b"JSON" if takes_json => json.set((), "JSON")?,
                _ => return Err(Error::unknown_option(arg.bytes())),
            }
        }
        Ok(LeaseOptions { now: now.get(), json: json.is_set() })
    }

    fn clock(&self, call: &Call) -> Clock {
        Clock::new(call.ctx.now_micros(), self.now)
    }
}
