//! `DUE.ADD`, `DUE.CLAIM`, `DUE.POP`, `DUE.ACK`, `DUE.MOVE` and `DUE.INFO`: arguments, keys and replies. What happens to
//! the items is in [`crate::due`], and how a client waits in `server/module/waiting`.

mod rate;
mod take;

use std::time::{SystemTime, UNIX_EPOCH};

use crate::board::MARKER_START;
use crate::command;
use crate::docs::{Doc, KeySpec, KeyUse};
use crate::due::{
    acknowledge, add, add_again, prolong, tally, Acknowledged, Addition, LeaseEnd, Serials, MAX_DURATION_MS,
    MAX_NOW_MS, MAX_TIME_MS,
};
use crate::duration::duration_in;
use crate::error::{Error, Result};
use crate::server::{notify_waiters, Access, Arg, Args, Call, Hash, Text, ZSet};
use crate::stats;
use crate::words::{Setting, Word};
use crate::zset::{Condition, SortedSet};

command! { ADD = add_items;
    Doc::write("due.add", "key condition:[NX|XX] payload:[DATA hash text] time:{AT ms|IN duration|AGAIN} item ...",
    "Schedules items for a time.", "O(log(N)) for each item.")
    .fast().reports_keys().keys(&[KeySpec::at(1, KeyUse::Update), KeySpec::dynamic(KeyUse::Change)])
}

command! { CLAIM = take::claim;
    Doc::write("due.claim", "key [COUNT count:n] [LEASE lease] giveup:[ATTEMPTS attempts:n {DEAD dead:key}] [DATA hash] \
    rate:[RATE limiter:key compact:rule [algorithm]] [BLOCK timeout] [NOW ms]",
    "Leases due items, or blocks until one is due.",
    "O(M*log(N)) with M items claimed or dead-lettered.")
    .fast().blocking().reports_keys()
    .keys(&[KeySpec::at(1, KeyUse::Update), KeySpec::dynamic(KeyUse::Change), KeySpec::dynamic(KeyUse::Read),
        KeySpec::dynamic(KeyUse::Update)])
}

command! { POP = take::pop;
    Doc::remove("due.pop", "key [COUNT count:n] [DATA hash] \
    rate:[RATE limiter:key compact:rule [algorithm]] [BLOCK timeout] [NOW ms]",
    "Removes and returns due items, or blocks until one is due.", "O(M*log(N)) with M items removed.")
    .fast().blocking().reports_keys().keys(&[KeySpec::at(1, KeyUse::Pop), KeySpec::dynamic(KeyUse::Pop),
        KeySpec::dynamic(KeyUse::Update)])
}

command! { ACK = ack;
    Doc::remove("due.ack", "key [DATA hash] time:[AT ms|IN duration] claim:{token item} ...",
    "Removes claimed items that are done, or makes them due again.", "O(log(N)) for each item.")
    .fast().reports_keys().keys(&[KeySpec::at(1, KeyUse::Change), KeySpec::dynamic(KeyUse::Delete)])
}

command! { MOVE = move_item;
    Doc::write("due.move", "key time:{AT ms|IN duration} token item",
    "Extends the lease of a claimed item, or retries it later.", "O(log(N)).")
    .fast()
}

command! { INFO = info;
    Doc::read("due.info", "key [NOW ms]", "Returns the number of items in a schedule, and when the next one is due.",
    "O(log(N)+C) with C items claimed.")
}

static SERIALS: Serials = Serials::starting_from(0);

/// Called when the module is loaded. The serial numbers of claims begin with the clock, so that those of a server that
/// was started again differ from the last ones before.
pub fn start() {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    SERIALS.restart_from(since_epoch.as_millis() as u64);
}

/// Opens a schedule. A board with a schema, whose marker is at -inf, is an error.
fn open<'c>(call: &'c Call<'c>, key: Text<'c>, access: Access) -> Result<ZSet<'c>> {
    let mut set = ZSet::open(call, key, access)?;
    match set.first(..=f64::NEG_INFINITY) {
        Some((element, _)) if element.bytes().starts_with(MARKER_START) => Err(Error::board_not_schedule()),
        _ => Ok(set),
    }
}

fn add_items<'c>(call: &'c Call<'c>) -> Result<()> {
    let asked = call.asks_for_keys();
    let request = AddArgs::parse(call);
    if asked {
        return Ok(());
    }
    let AddArgs { key, payload, when, items } = request?;
    let now = call.ctx.now().clamp(0, MAX_NOW_MS);
    let mut schedule = open(call, key.clone(), Access::Write)?;
    let mut hash = payload.as_ref().map(|(hash, _)| Hash::of_command(call, hash.clone(), Access::Write)).transpose()?;
    let due = match when {
        When::At(at, _) => at,
        When::Again => now,
    };
    let mut new = 0;
    for item in items.map(Arg::text) {
        let addition = match when {
            When::At(at, only) => add(&mut schedule, &item, at, now, only),
            When::Again => add_again(&mut schedule, &item, now),
        };
        new += u64::from(addition == Addition::New);
        if let (Some(hash), Some((_, text)), true) = (&mut hash, &payload, addition != Addition::Refused) {
            hash.set(item.bytes(), text.bytes());
        }
    }
    notify_waiters(call, &key, due);
    call.reply().count(new);
    Ok(())
}

#[derive(Clone, Copy)]
enum When {
    At(i64, Condition),
    Again,
}

struct AddArgs<'a> {
    key: Text<'a>,
    /// A hash, and the text for the item.
    payload: Option<(Text<'a>, Arg<'a>)>,
    when: When,
    items: Args<'a>,
}

impl<'a> AddArgs<'a> {
    fn parse(call: &'a Call<'a>) -> Result<AddArgs<'a>> {
        let mut args = call.args();
        let key = own_key(call, &mut args, KeyUse::Update)?;
        let (mut only, mut payload) = (Setting::default(), Setting::default());
        let when = loop {
            if args.next_if("NX") {
                only.set(Condition::New, "NX")?;
            } else if args.next_if("XX") {
                only.set(Condition::Existing, "XX")?;
            } else if args.next_if("DATA") {
                let hash = other_key(call, &mut args, "DATA", KeyUse::Change, &[Some(&key)])?;
                payload.set((hash, args.value_of("DATA")?), "DATA")?;
            } else if args.next_if("AGAIN") {
                only.set(Condition::Any, "AGAIN")?;
                break When::Again;
            } else {
                let at = time(&mut args, call.ctx.now())?;
                break When::At(at, only.get().unwrap_or(Condition::Any));
            }
        };
        match args.len() {
            0 => Err(Error::arity()),
            2.. if payload.is_set() => Err(Error::data_takes_one_item()),
            _ => Ok(AddArgs { key, payload: payload.get(), when, items: args }),
        }
    }
}

/// The schedule, always the first argument.
fn own_key<'a>(call: &Call, args: &mut Args<'a>, usage: KeyUse) -> Result<Text<'a>> {
    call.report_key_use(1, usage);
    args.text()
}

/// A key that is the value of an option. A key that is open twice could change its type behind the other handle.
fn other_key<'a>(
    call: &Call,
    args: &mut Args<'a>,
    option: &'static str,
    usage: KeyUse,
    others: &[Option<&Text>],
) -> Result<Text<'a>> {
    let key = args.value_of(option)?.text();
    call.report_key_use(call.args().len() - args.len(), usage);
    if others.iter().flatten().any(|other| other.is_same(&key)) {
        return Err(Error::takes(option, "a separate key", key.bytes()));
    }
    Ok(key)
}

fn ack<'c>(call: &'c Call<'c>) -> Result<()> {
    let asked = call.asks_for_keys();
    let request = AckArgs::parse(call);
    if asked {
        return Ok(());
    }
    let AckArgs { key, hash, again_at, claims } = request?;
    let mut schedule = open(call, key.clone(), Access::Write)?;
    let mut hash = hash.map(|hash| Hash::of_command(call, hash, Access::Write)).transpose()?;
    let now = call.ctx.now().clamp(0, MAX_NOW_MS);
    let Acknowledged { next_due, again, done } = acknowledge(&mut schedule, &claims, now, again_at);
    if let Some(hash) = &mut hash {
        done.iter().for_each(|item| hash.remove(item.bytes()));
    }
    if let Some(due) = next_due {
        notify_waiters(call, &key, due);
    }
    let held = again + done.len();
    stats::DUE.denied.add((claims.len() - held) as u64);
    call.reply().count(held as u64);
    Ok(())
}

struct AckArgs<'a> {
    key: Text<'a>,
    /// The hash of payloads.
    hash: Option<Text<'a>>,
    /// When the items are due again.
    again_at: Option<i64>,
    /// Tokens and items.
    claims: Vec<(i64, Text<'a>)>,
}

impl<'a> AckArgs<'a> {
    fn parse(call: &'a Call<'a>) -> Result<AckArgs<'a>> {
        let mut args = call.args();
        let key = own_key(call, &mut args, KeyUse::Change)?;
        let (mut hash, mut again_at) = (Setting::default(), Setting::default());
        loop {
            match args.peek() {
                Some(word) if word.is("AT") => again_at.set(time(&mut args, call.ctx.now())?, "AT")?,
                Some(word) if word.is("IN") => again_at.set(time(&mut args, call.ctx.now())?, "IN")?,
                Some(word) if word.is("DATA") => {
                    args.next();
                    hash.set(other_key(call, &mut args, "DATA", KeyUse::Delete, &[Some(&key)])?, "DATA")?;
                }
                _ => break,
            }
        }
        let mut claims = Vec::new();
        while !args.is_empty() || claims.is_empty() {
            let token = token(args.required()?)?;
            claims.push((token, args.text()?));
        }
        Ok(AckArgs { key, hash: hash.get(), again_at: again_at.get(), claims })
    }
}

fn move_item<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let at = time(&mut args, call.ctx.now())?;
    let token = token(args.required()?)?;
    let item = args.text()?;
    args.end()?;
    let until = LeaseEnd::new(at)?;
    let mut schedule = open(call, key.clone(), Access::Write)?;
    let moved = prolong(&mut schedule, token, &item, until, &SERIALS);
    if moved.is_some() {
        notify_waiters(call, &key, at);
    } else {
        stats::DUE.denied.add(1);
    }
    call.reply().integer(moved.unwrap_or(0));
    Ok(())
}

fn info<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let mut now = Setting::default();
    while let Some(arg) = args.next() {
        if !arg.is("NOW") {
            return Err(Error::unknown_option(arg.bytes()));
        }
        now.set(clock(&mut args)?, "NOW")?;
    }
    let now = now.get().unwrap_or_else(|| call.ctx.now()).clamp(0, MAX_NOW_MS);
    let mut schedule = open(call, key, Access::Read)?;
    let tally = tally(&mut schedule, now)?;
    let reply = call.reply();
    reply.map(5);
    let counts = [("items", tally.items), ("due", tally.due), ("claimed", tally.claimed), ("invalid", tally.invalid)];
    for (name, count) in counts {
        reply.bulk(name.as_bytes());
        reply.count(count);
    }
    reply.bulk(b"next_ms");
    reply.integer(tally.next_due.unwrap_or(-1));
    Ok(())
}

/// `AT ms` or `IN duration`, as a Unix time in milliseconds.
fn time(args: &mut Args, now: i64) -> Result<i64> {
    let word = args.required()?;
    if word.is("AT") {
        return args.value_of("AT")?.number_in("AT", 0..=MAX_TIME_MS.unsigned_abs()).map(u64::cast_signed);
    }
    if word.is("IN") {
        let ms = duration(args, "IN", 0)?;
        return Ok(now.clamp(0, MAX_NOW_MS).saturating_add_unsigned(ms));
    }
    Err(Error::no_time(word.bytes()))
}

fn clock(args: &mut Args) -> Result<i64> {
    args.value_of("NOW")?.number_in("NOW", 0..=MAX_NOW_MS.unsigned_abs()).map(u64::cast_signed)
}

/// The value of an option, in milliseconds.
fn duration(args: &mut Args, option: &'static str, least: u64) -> Result<u64> {
    duration_in(args.value_of(option)?, option, least..=MAX_DURATION_MS)
}

fn token(arg: Arg) -> Result<i64> {
    let takes = "an integer, as DUE.CLAIM returned it";
    arg.integer_in("token", takes, i64::MIN..=i64::MAX)
}
