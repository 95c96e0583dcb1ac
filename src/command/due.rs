//! `DUE.ADD`, `DUE.CLAIM`, `DUE.POP`, `DUE.ACK`, `DUE.MOVE` and `DUE.INFO`.

use std::time::{SystemTime, UNIX_EPOCH};

use super::args::{key, nothing_more, once, one_of, required, value_of};
use crate::command;
use crate::config::check_rows;
use crate::docs::{Doc, KeySpec, KeyUse};
use crate::due::{
    acknowledge, add, next_due, prolong, tally, Demand, LeaseEnd, Only, Row, Serials, MAX_DURATION_MS, MAX_NOW_MS,
    MAX_TIME_MS,
};
use crate::duration::parse_duration;
use crate::error::{Error, Result};
use crate::number::parse_integer;
use crate::server::{serve_first, tell, wait as wait_for, Access, Arg, Args, Call, Reply, Schedule, Text, Wait};
use crate::stats;

command! { ADD = add_items;
    Doc::write("due.add", "key condition:[NX|XX] time:{AT ms|IN duration} item ...",
    "Schedules items for a time. Returns how many are new.", "O(log(N)) for each item.").fast().since(SINCE)
}

command! { CLAIM = claim;
    Doc::write("due.claim", "key [COUNT count:n] [LEASE lease] [BLOCK timeout] [NOW ms]",
    "Claims items that are due, or waits for them. A claim lasts for a lease.", "O(M*log(N)) with M items claimed.")
    .fast().blocking().since(SINCE)
}

command! { POP = pop;
    Doc::remove("due.pop", "key [COUNT count:n] [BLOCK timeout] [NOW ms]",
    "Removes and returns items that are due, or waits for them.", "O(M*log(N)) with M items removed.")
    .fast().blocking().since(SINCE).keys(&[KeySpec::at(1, KeyUse::Pop)])
}

command! { ACK = ack;
    Doc::remove("due.ack", "key claim:{token item} ...",
    "Removes claimed items that are done. Returns how many were removed.", "O(log(N)) for each item.")
    .fast().since(SINCE)
}

command! { MOVE = move_item;
    Doc::write("due.move", "key time:{AT ms|IN duration} token item",
    "Changes the end of a claimed item's lease, to hold the item longer or to retry it later.", "O(log(N)).")
    .fast().since(SINCE)
}

command! { INFO = info;
    Doc::read("due.info", "key [NOW ms]", "Returns the number of items in a schedule, and when the next one is due.",
    "O(log(N)+C) with C items claimed.").since(SINCE)
}

const SINCE: &str = "0.2.0";
const DEFAULT_LEASE_MS: i64 = 30_000;
/// One call must not stop the server for long.
const MAX_COUNT: u64 = 10_000;

static SERIALS: Serials = Serials::starting_from(0);

/// Called when the module is loaded. The serial numbers of claims begin with the clock, so that those of a server that
/// was started again differ from the last ones before.
pub fn start() {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    SERIALS.restart_from(since_epoch.as_millis() as u64);
}

fn add_items<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let mut only = None;
    loop {
        if args.next_if("NX") {
            one_of(&mut only, Only::New, "NX")?;
        } else if args.next_if("XX") {
            one_of(&mut only, Only::Existing, "XX")?;
        } else {
            break;
        }
    }
    let now = call.ctx.now();
    let at = time(&mut args, now)?;
    if args.len() == 0 {
        return Err(Error::arity());
    }
    let only = only.map_or(Only::Any, |(only, _)| only);
    let mut schedule = Schedule::open(call, key.clone(), Access::Write)?;
    let new = args.filter(|item| add(&mut schedule, &item.text(), at, now, only)).count();
    tell(call, &key, at);
    call.reply().count(new as u64);
    Ok(())
}

fn claim<'c>(call: &'c Call<'c>) -> Result<()> {
    take(call, true)
}

fn pop<'c>(call: &'c Call<'c>) -> Result<()> {
    take(call, false)
}

fn take<'c>(call: &'c Call<'c>, claims: bool) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let options = TakeOptions::parse(args, claims)?;
    let now = options.now.unwrap_or_else(|| call.ctx.now()).clamp(0, MAX_NOW_MS);
    let until = options.lease_ms.map(|ms| LeaseEnd::new(now.saturating_add(ms))).transpose()?;
    if options.count > 1 {
        call.take_time();
    }
    // Clients that wait have arrived earlier, so they are served first.
    serve_first(call, &key);
    let mut schedule = Schedule::open(call, key.clone(), Access::Write)?;
    let rows = Demand { count: options.count, until }.take(&mut schedule, now, &SERIALS);
    if let (true, Some(ms)) = (rows.is_empty() && call.ctx.may_block(), options.block_ms) {
        let wait = Wait {
            command: if claims { c"DUE.CLAIM" } else { c"DUE.POP" },
            args: std::iter::once(key.clone()).chain(options.others).collect(),
            needs_memory: claims,
            own_now: options.now,
            timeout_ms: Some(ms).filter(|ms| *ms > 0),
        };
        if wait_for(call, &key, &wait, next_due(&schedule)) {
            return Ok(());
        }
    }
    let reply = call.reply();
    if claims {
        show_claimed(&reply, &rows);
    } else {
        show_popped(&reply, &rows);
    }
    Ok(())
}

fn show_claimed(reply: &Reply, rows: &[Row<Text>]) {
    reply.array(rows.len() as u64);
    for row in rows {
        let (token, attempt) = row.hold.map_or((0, 0), |hold| (hold.token(), hold.attempt));
        reply.array(4);
        reply.bulk(row.item.bytes());
        [token, attempt, row.due].into_iter().for_each(|number| reply.integer(number));
    }
}

fn show_popped(reply: &Reply, rows: &[Row<Text>]) {
    reply.array(rows.len() as u64);
    for row in rows {
        reply.array(2);
        reply.bulk(row.item.bytes());
        reply.integer(row.due);
    }
}

fn ack<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let mut pairs = Vec::new();
    while args.len() > 0 || pairs.is_empty() {
        let token = token(required(&mut args)?)?;
        pairs.push((token, required(&mut args)?.text()));
    }
    let mut schedule = Schedule::open(call, key, Access::Write)?;
    let held = pairs.iter().filter(|(token, item)| acknowledge(&mut schedule, *token, item)).count();
    stats::DUE.denied.add((pairs.len() - held) as u64);
    call.reply().count(held as u64);
    Ok(())
}

fn move_item<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let at = time(&mut args, call.ctx.now())?;
    let token = token(required(&mut args)?)?;
    let item = required(&mut args)?.text();
    nothing_more(&args)?;
    let until = LeaseEnd::new(at)?;
    let mut schedule = Schedule::open(call, key.clone(), Access::Write)?;
    let moved = prolong(&mut schedule, token, &item, until, &SERIALS);
    if moved.is_some() {
        tell(call, &key, at);
    } else {
        stats::DUE.denied.add(1);
    }
    call.reply().integer(moved.unwrap_or(0));
    Ok(())
}

fn info<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let mut now = None;
    while let Some(arg) = args.next() {
        if !arg.is("NOW") {
            return Err(Error::unknown_option(arg.bytes()));
        }
        once(&mut now, clock(&mut args)?, "NOW")?;
    }
    let now = now.unwrap_or_else(|| call.ctx.now()).clamp(0, MAX_NOW_MS);
    let schedule = Schedule::open(call, key, Access::Read)?;
    let tally = tally(&schedule, now)?;
    let next = next_due(&schedule);
    let reply = call.reply();
    reply.map(5);
    let counts = [("items", tally.items), ("due", tally.due), ("claimed", tally.claimed), ("invalid", tally.invalid)];
    for (name, count) in counts {
        reply.bulk(name.as_bytes());
        reply.count(count);
    }
    reply.bulk(b"next_ms");
    reply.integer(next.unwrap_or(-1));
    Ok(())
}

/// The options of `DUE.CLAIM` and `DUE.POP`.
struct TakeOptions<'a> {
    count: usize,
    /// `None` for `DUE.POP`.
    lease_ms: Option<i64>,
    block_ms: Option<u64>,
    now: Option<i64>,
    /// The words of all options but `BLOCK` and `NOW`, for a client that waits.
    others: Vec<Text<'a>>,
}

impl<'a> TakeOptions<'a> {
    fn parse(mut args: Args<'a>, claims: bool) -> Result<TakeOptions<'a>> {
        let (mut count, mut lease_ms, mut block_ms, mut now) = (None, None, None, None);
        let mut others = Vec::new();
        while let Some(arg) = args.next() {
            let value = args.peek();
            match arg.bytes().to_ascii_uppercase().as_slice() {
                b"COUNT" => once(&mut count, within(value_of(&mut args, "COUNT")?, "COUNT", 1, MAX_COUNT)?, "COUNT")?,
                b"LEASE" if claims => once(&mut lease_ms, duration(&mut args, "LEASE", 1)?, "LEASE")?,
                b"BLOCK" => {
                    once(&mut block_ms, duration(&mut args, "BLOCK", 0)?, "BLOCK")?;
                    continue;
                }
                b"NOW" => {
                    once(&mut now, clock(&mut args)?, "NOW")?;
                    continue;
                }
                _ => return Err(Error::unknown_option(arg.bytes())),
            }
            others.extend(std::iter::once(arg).chain(value).map(Arg::text));
        }
        let count = count.unwrap_or(1);
        check_rows(count)?;
        let lease_ms = lease_ms.map_or(DEFAULT_LEASE_MS, u64::cast_signed);
        let (count, lease_ms) = (usize::try_from(count).unwrap_or(1), claims.then_some(lease_ms));
        Ok(TakeOptions { count, lease_ms, block_ms, now, others })
    }
}

/// `AT ms` or `IN duration`, as a Unix time in milliseconds.
fn time(args: &mut Args, now: i64) -> Result<i64> {
    let word = required(args)?;
    if word.is("AT") {
        return within(value_of(args, "AT")?, "AT", 0, MAX_TIME_MS.unsigned_abs()).map(u64::cast_signed);
    }
    if word.is("IN") {
        let ms = duration(args, "IN", 0)?;
        return Ok(now.clamp(0, MAX_NOW_MS).saturating_add_unsigned(ms));
    }
    Err(Error::no_time(word.bytes()))
}

/// The value of `NOW`.
fn clock(args: &mut Args) -> Result<i64> {
    within(value_of(args, "NOW")?, "NOW", 0, MAX_NOW_MS.unsigned_abs()).map(u64::cast_signed)
}

fn within(arg: Arg, what: &'static str, least: u64, most: u64) -> Result<u64> {
    let value = parse_integer(arg.bytes()).and_then(|value| u64::try_from(value).ok());
    let value = value.filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| Error::takes_between(what, least, most, arg.bytes()))
}

/// The value of an option, in milliseconds.
fn duration(args: &mut Args, option: &'static str, least: u64) -> Result<u64> {
    let takes = if least == 0 {
        "0 to 36500d, a whole number with ms, s, m, h, d or none for seconds"
    } else {
        "1ms to 36500d, a whole number with ms, s, m, h, d or none for seconds"
    };
    let arg = value_of(args, option)?;
    let ms = parse_duration(arg.bytes(), least..=MAX_DURATION_MS);
    ms.ok_or_else(|| Error::takes(option, takes, arg.bytes()))
}

fn token(arg: Arg) -> Result<i64> {
    let takes = "an integer, as DUE.CLAIM returned it";
    parse_integer(arg.bytes()).ok_or_else(|| Error::takes("token", takes, arg.bytes()))
}
