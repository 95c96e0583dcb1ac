//! `DUE.ADD`, `DUE.CLAIM`, `DUE.POP`, `DUE.ACK`, `DUE.MOVE` and `DUE.INFO`: arguments, keys, replies and waits. What
//! happens to the items is in [`crate::due`], and how a client waits in `server/module/waiting`.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::board::MARKER_START;
use crate::command;
use crate::config::check_rows;
use crate::docs::{Doc, KeySpec, KeyUse};
use crate::due::{
    acknowledge, add, add_again, next_due, prolong, tally, Acknowledged, Addition, ClaimRequest, Dead, LeaseEnd,
    Serials, TakenItem, MAX_DURATION_MS, MAX_NOW_MS, MAX_TIME_MS,
};
use crate::duration::duration_in;
use crate::error::{Error, Result};
use crate::server::{
    notify_waiters, serve_waiters_first, wait as wait_for, Access, Arg, Args, Call, Hash, Reply, Text, WaitRequest,
    ZSet,
};
use crate::stats;
use crate::words::{Setting, Word};
use crate::zset::{Condition, SortedSet};

command! { ADD = add_items;
    Doc::write("due.add", "key condition:[NX|XX] payload:[DATA hash text] time:{AT ms|IN duration|AGAIN} item ...",
    "Schedules items for a time.", "O(log(N)) for each item.")
    .fast().reports_keys().keys(&[KeySpec::at(1, KeyUse::Update), KeySpec::dynamic(KeyUse::Change)])
}

command! { CLAIM = claim;
    Doc::write("due.claim", "key [COUNT count:n] [LEASE lease] giveup:[ATTEMPTS attempts:n {DEAD dead:key}] [DATA hash] \
    [BLOCK timeout] [NOW ms]",
    "Leases due items, or blocks until one is due.",
    "O(M*log(N)) with M items claimed or dead-lettered.")
    .fast().blocking().reports_keys()
    .keys(&[KeySpec::at(1, KeyUse::Update), KeySpec::dynamic(KeyUse::Change), KeySpec::dynamic(KeyUse::Read)])
}

command! { POP = pop;
    Doc::remove("due.pop", "key [COUNT count:n] [DATA hash] [BLOCK timeout] [NOW ms]",
    "Removes and returns due items, or blocks until one is due.", "O(M*log(N)) with M items removed.")
    .fast().blocking().reports_keys().keys(&[KeySpec::at(1, KeyUse::Pop), KeySpec::dynamic(KeyUse::Pop)])
}

command! { ACK = ack;
    Doc::remove("due.ack", "key [DATA hash] claim:{token item} ...",
    "Removes claimed items that are done.", "O(log(N)) for each item.")
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

const DEFAULT_LEASE_MS: u64 = 30_000;
/// One call must not stop the server for long.
const MAX_COUNT: u64 = 10_000;
/// The largest value of `ATTEMPTS`. A score has room for one attempt more.
const MAX_ATTEMPTS: u64 = 30;

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
                let hash = other_key(call, &mut args, "DATA", KeyUse::Change, &[&key])?;
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
    others: &[&Text],
) -> Result<Text<'a>> {
    let key = args.value_of(option)?.text();
    call.report_key_use(call.args().len() - args.len(), usage);
    if others.iter().any(|other| other.is_same(&key)) {
        return Err(Error::takes(option, "a separate key", key.bytes()));
    }
    Ok(key)
}

fn claim<'c>(call: &'c Call<'c>) -> Result<()> {
    take(call, true)
}

fn pop<'c>(call: &'c Call<'c>) -> Result<()> {
    take(call, false)
}

fn take<'c>(call: &'c Call<'c>, claims: bool) -> Result<()> {
    let asked = call.asks_for_keys();
    let options = TakeOptions::parse(call, claims);
    if asked {
        return Ok(());
    }
    let options = options?;
    let key = options.key;
    let now = options.now.unwrap_or_else(|| call.ctx.now()).clamp(0, MAX_NOW_MS);
    let until = options.lease_ms.map(|ms| LeaseEnd::new(now.saturating_add(ms))).transpose()?;
    if options.count > 1 || options.dead.is_some() {
        call.start_timing();
    }
    // Clients that wait have arrived earlier, so they are served first.
    serve_waiters_first(call, &key);
    let mut schedule = open(call, key.clone(), Access::Write)?;
    let access = if claims { Access::Read } else { Access::Write };
    let mut hash = options.hash.map(|hash| Hash::of_command(call, hash, access)).transpose()?;
    let mut dead_items = options.dead.as_ref().map(|(_, dead)| open(call, dead.clone(), Access::Write)).transpose()?;
    let dead = dead_items.as_mut().zip(options.dead.as_ref());
    let dead = dead.map(|(items, (attempts, _))| Dead { attempts: *attempts, items });
    let taken = ClaimRequest { count: options.count, until }.take(&mut schedule, now, &SERIALS, dead);
    if let Some((_, dead)) = &options.dead {
        notify_waiters(call, dead, now);
    }
    if let (true, Some(ms)) = (taken.is_empty() && call.ctx.may_block(), options.block_ms) {
        let wait = WaitRequest {
            command: if claims { c"DUE.CLAIM" } else { c"DUE.POP" },
            args: std::iter::once(key.clone()).chain(options.args_to_repeat).collect(),
            needs_memory: claims,
            own_now: options.now,
            timeout_ms: Some(ms).filter(|ms| *ms > 0),
        };
        if wait_for(call, &key, &wait, next_due(&mut schedule)) {
            return Ok(());
        }
    }
    let texts = hash.as_mut().map(|hash| payloads(hash, &taken, !claims));
    reply_items(&call.reply(), &taken, texts.as_deref());
    Ok(())
}

/// The payloads of items that were claimed or popped. Those of popped items are removed.
fn payloads<'c>(hash: &mut Hash<'c>, taken: &[TakenItem<Text>], remove: bool) -> Vec<Option<Text<'c>>> {
    let payload = |taken: &TakenItem<Text>| {
        let text = hash.get(taken.item.bytes());
        if remove {
            hash.remove(taken.item.bytes());
        }
        text
    };
    taken.iter().map(payload).collect()
}

fn reply_items(reply: &Reply, taken: &[TakenItem<Text>], texts: Option<&[Option<Text>]>) {
    reply.array(taken.len() as u64);
    for (i, taken_item) in taken.iter().enumerate() {
        let text = texts.map(|texts| texts.get(i).and_then(Option::as_ref));
        reply.array(2 + 2 * u64::from(taken_item.claim.is_some()) + u64::from(text.is_some()));
        reply.bulk(taken_item.item.bytes());
        if let Some(claim) = taken_item.claim {
            reply.integer(claim.token());
            reply.integer(claim.attempt);
        }
        reply.integer(taken_item.due);
        match text {
            Some(Some(text)) => reply.bulk(text.bytes()),
            Some(None) => reply.null(),
            None => {}
        }
    }
}

fn ack<'c>(call: &'c Call<'c>) -> Result<()> {
    let asked = call.asks_for_keys();
    let request = parse_ack(call);
    if asked {
        return Ok(());
    }
    let (key, hash, claims) = request?;
    let mut schedule = open(call, key.clone(), Access::Write)?;
    let mut hash = hash.map(|hash| Hash::of_command(call, hash, Access::Write)).transpose()?;
    let now = call.ctx.now().clamp(0, MAX_NOW_MS);
    let Acknowledged { again, done } = acknowledge(&mut schedule, &claims, now);
    if let Some(hash) = &mut hash {
        done.iter().for_each(|item| hash.remove(item.bytes()));
    }
    if again > 0 {
        notify_waiters(call, &key, now);
    }
    let held = again + done.len();
    stats::DUE.denied.add((claims.len() - held) as u64);
    call.reply().count(held as u64);
    Ok(())
}

/// The schedule, the hash of payloads, tokens and items.
type AckArgs<'a> = (Text<'a>, Option<Text<'a>>, Vec<(i64, Text<'a>)>);

fn parse_ack<'a>(call: &'a Call<'a>) -> Result<AckArgs<'a>> {
    let mut args = call.args();
    let key = own_key(call, &mut args, KeyUse::Change)?;
    let mut hash = None;
    if args.next_if("DATA") {
        hash = Some(other_key(call, &mut args, "DATA", KeyUse::Delete, &[&key])?);
    }
    let mut claims = Vec::new();
    while !args.is_empty() || claims.is_empty() {
        let token = token(args.required()?)?;
        claims.push((token, args.text()?));
    }
    Ok((key, hash, claims))
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
    let next = next_due(&mut schedule);
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

struct TakeOptions<'a> {
    key: Text<'a>,
    count: usize,
    /// `None` for `DUE.POP`.
    lease_ms: Option<i64>,
    /// Attempts, and the key of items that were claimed as often.
    dead: Option<(i64, Text<'a>)>,
    hash: Option<Text<'a>>,
    block_ms: Option<u64>,
    now: Option<i64>,
    /// The arguments of all options but `BLOCK` and `NOW`: the command that is run for a client when its wait ends.
    args_to_repeat: Vec<Text<'a>>,
}

impl<'a> TakeOptions<'a> {
    fn parse(call: &'a Call<'a>, claims: bool) -> Result<TakeOptions<'a>> {
        let mut args = call.args();
        let (own_use, hash_use) = if claims { (KeyUse::Update, KeyUse::Read) } else { (KeyUse::Pop, KeyUse::Pop) };
        let key = own_key(call, &mut args, own_use)?;
        let (mut count, mut lease_ms, mut attempts) = (Setting::default(), Setting::default(), Setting::default());
        let (mut block_ms, mut now) = (Setting::default(), Setting::default());
        let (mut dead, mut hash) = (Setting::default(), Setting::default());
        let mut args_to_repeat = Vec::new();
        while let Some(arg) = args.next() {
            let value = args.peek();
            match arg.upper().as_slice() {
                b"COUNT" => count.set(args.value_of("COUNT")?.number_in("COUNT", 1..=MAX_COUNT)?, "COUNT")?,
                b"LEASE" if claims => lease_ms.set(duration(&mut args, "LEASE", 1)?, "LEASE")?,
                b"ATTEMPTS" if claims => {
                    attempts.set(args.value_of("ATTEMPTS")?.number_in("ATTEMPTS", 1..=MAX_ATTEMPTS)?, "ATTEMPTS")?;
                }
                b"DEAD" if claims => {
                    let others: Vec<&Text> = std::iter::once(&key).chain(hash.as_ref()).collect();
                    dead.set(other_key(call, &mut args, "DEAD", KeyUse::Change, &others)?, "DEAD")?;
                }
                b"DATA" => {
                    let others: Vec<&Text> = std::iter::once(&key).chain(dead.as_ref()).collect();
                    hash.set(other_key(call, &mut args, "DATA", hash_use, &others)?, "DATA")?;
                }
                b"BLOCK" => {
                    block_ms.set(duration(&mut args, "BLOCK", 0)?, "BLOCK")?;
                    continue;
                }
                b"NOW" => {
                    now.set(clock(&mut args)?, "NOW")?;
                    continue;
                }
                _ => return Err(Error::unknown_option(arg.bytes())),
            }
            args_to_repeat.extend(std::iter::once(arg).chain(value).map(Arg::text));
        }
        let count = count.get().unwrap_or(1);
        check_rows(count)?;
        if attempts.is_set() != dead.is_set() {
            return Err(Error::only_together("ATTEMPTS", "DEAD"));
        }
        Ok(TakeOptions {
            key,
            count: usize::try_from(count).unwrap_or(1),
            lease_ms: claims.then(|| lease_ms.get().unwrap_or(DEFAULT_LEASE_MS).cast_signed()),
            dead: attempts.get().map(u64::cast_signed).zip(dead.get()),
            hash: hash.get(),
            block_ms: block_ms.get(),
            now: now.get(),
            args_to_repeat,
        })
    }
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
