//! `DUE.CLAIM` and `DUE.POP`: items that are due, at once or after a wait.

use super::rate::{Allowance, RateOption};
use super::{clock, duration, open, other_key, own_key, SERIALS};
use crate::config::check_rows;
use crate::docs::KeyUse;
use crate::due::{next_due, ClaimRequest, Dead, LeaseEnd, NextDue, TakenItem, MAX_NOW_MS};
use crate::error::{Error, Result};
use crate::server::{
    notify_waiters, serve_waiters_first, wait, Access, Call, Ctx, Hash, Head, Reply, Text, WaitRequest, ZSet,
};
use crate::words::Word;

const DEFAULT_LEASE_MS: u64 = 30_000;
/// One call must not stop the server for long.
const MAX_COUNT: u64 = 10_000;
/// The largest value of `ATTEMPTS`. A score has room for one attempt more.
const MAX_ATTEMPTS: u64 = 30;

pub fn claim<'c>(call: &'c Call<'c>) -> Result<()> {
    take(call, true)
}

pub fn pop<'c>(call: &'c Call<'c>) -> Result<()> {
    take(call, false)
}

fn take<'c>(call: &'c Call<'c>, claims: bool) -> Result<()> {
    let asked = call.asks_for_keys();
    // The server may be running this for a client that waited.
    let turn = if asked { None } else { call.turn() };
    let options = TakeOptions::parse(call, claims);
    if asked {
        return Ok(());
    }
    let mut options = options?;
    if let Some(turn) = &turn {
        options.now = turn.own_now;
    }
    let now = options.now.unwrap_or_else(|| call.ctx.now()).clamp(0, MAX_NOW_MS);
    let until = options.lease_ms.map(|ms| LeaseEnd::new(now.saturating_add(ms))).transpose()?;
    if options.count > 1 || options.dead.is_some() {
        call.start_timing();
    }
    // Clients that wait have arrived earlier, so they are served first. If that takes long, this one waits like them.
    let words = options.rate.as_ref().map(RateOption::words);
    let all_served = serve_waiters_first(call, &options.key, words.as_deref());
    let mut schedule = open(call, options.key.clone(), Access::Write)?;
    let access = if claims { Access::Read } else { Access::Write };
    let mut hash = options.hash.clone().map(|hash| Hash::of_command(call, hash, access)).transpose()?;
    let mut dead_items = options.dead.as_ref().map(|(_, dead)| open(call, dead.clone(), Access::Write)).transpose()?;
    let rate = options.rate.as_ref().map(|rate| rate.open(call, options.now));
    let (mut taken, mut denied_ms) = (Vec::new(), None);
    if all_served {
        let allow = |found| match rate.map(|rate| rate.take(found)).transpose()? {
            None => Ok(Some(found)),
            Some(Allowance::Items(items)) => Ok(Some(items)),
            Some(Allowance::NothingFor(ms)) => {
                denied_ms = Some(ms);
                Ok(None)
            }
        };
        let dead = dead_items.as_mut().zip(options.dead.as_ref());
        let dead = dead.map(|(items, (attempts, _))| Dead { attempts: *attempts, items });
        taken = ClaimRequest { count: options.count, until }.take(&mut schedule, now, &SERIALS, dead, allow)?;
    }
    if let Some((_, dead)) = &options.dead {
        notify_waiters(call, dead, now);
    }
    if let (true, Some(request)) = (taken.is_empty() && turn.is_none(), options.wait(claims, denied_ms)) {
        if wait(call, &options.key, request, head(&mut schedule)) {
            return Ok(());
        }
    }
    let texts = hash.as_mut().map(|hash| payloads(hash, &taken, !claims));
    let rows = Rows::new(taken, texts);
    match turn {
        None => rows.reply(&call.reply()),
        Some(turn) if rows.items.is_empty() => turn.found_nothing(call, denied_ms),
        Some(turn) => turn.answer(call, move |reply| rows.reply(reply)),
    }
    Ok(())
}

/// What the timer looks at while clients wait for a key.
fn look(ctx: Ctx, key: Text) -> Head {
    // If the key holds another type, clients keep waiting, as with the core's blocking commands.
    ZSet::open_untouched(ctx, key).map_or(Head::default(), |mut schedule| head(&mut schedule))
}

fn head(schedule: &mut ZSet) -> Head {
    let NextDue { at, met_invalid } = next_due(schedule);
    Head { due: at, is_costly: met_invalid }
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

/// The reply. It may outlive the call, for a client that waited.
struct Rows {
    items: Vec<TakenItem<Text<'static>>>,
    /// With `DATA`: the payload of each item.
    texts: Option<Vec<Option<Text<'static>>>>,
}

impl Rows {
    fn new(taken: Vec<TakenItem<Text>>, texts: Option<Vec<Option<Text>>>) -> Rows {
        let keep = |TakenItem { item, due, claim }| TakenItem { item: Text::into_static(item), due, claim };
        let keep_texts = |texts: Vec<Option<Text>>| texts.into_iter().map(|text| text.map(Text::into_static)).collect();
        Rows { items: taken.into_iter().map(keep).collect(), texts: texts.map(keep_texts) }
    }

    fn reply(&self, reply: &Reply) {
        reply.array(self.items.len() as u64);
        for (i, taken) in self.items.iter().enumerate() {
            let text = self.texts.as_ref().map(|texts| texts.get(i).and_then(Option::as_ref));
            reply.array(2 + 2 * u64::from(taken.claim.is_some()) + u64::from(text.is_some()));
            reply.bulk(taken.item.bytes());
            if let Some(claim) = taken.claim {
                reply.integer(claim.token());
                reply.integer(claim.attempt);
            }
            reply.integer(taken.due);
            match text {
                Some(Some(text)) => reply.bulk(text.bytes()),
                Some(None) => reply.null(),
                None => {}
            }
        }
    }
}

struct TakeOptions<'a> {
    key: Text<'a>,
    count: usize,
    /// `None` for `DUE.POP`.
    lease_ms: Option<i64>,
    /// Attempts, and the key of items that were claimed as often.
    dead: Option<(i64, Text<'a>)>,
    hash: Option<Text<'a>>,
    rate: Option<RateOption<'a>>,
    block_ms: Option<u64>,
    now: Option<i64>,
}

impl<'a> TakeOptions<'a> {
    fn parse(call: &'a Call<'a>, claims: bool) -> Result<TakeOptions<'a>> {
        let mut args = call.args();
        let (own_use, hash_use) = if claims { (KeyUse::Update, KeyUse::Read) } else { (KeyUse::Pop, KeyUse::Pop) };
        let key = own_key(call, &mut args, own_use)?;
        let (mut count, mut lease_ms, mut attempts, mut dead) = (1, DEFAULT_LEASE_MS, None, None);
        let (mut hash, mut rate, mut block_ms, mut now) = (None, None::<RateOption>, None, None);
        let mut options = call.options(args);
        while let Some(option) = options.next()? {
            let words = &mut options.words;
            match option {
                "COUNT" => count = words.value_of("COUNT")?.number_in("COUNT", 1..=MAX_COUNT)?,
                "LEASE" => lease_ms = duration(words, "LEASE", 1)?,
                "ATTEMPTS" => attempts = Some(words.value_of("ATTEMPTS")?.number_in("ATTEMPTS", 1..=MAX_ATTEMPTS)?),
                "DEAD" => {
                    let others = [Some(&key), hash.as_ref(), rate.as_ref().map(|rate| &rate.limiter)];
                    dead = Some(other_key(call, words, "DEAD", KeyUse::Change, &others)?);
                }
                "DATA" => {
                    let others = [Some(&key), dead.as_ref(), rate.as_ref().map(|rate| &rate.limiter)];
                    hash = Some(other_key(call, words, "DATA", hash_use, &others)?);
                }
                "RATE" => {
                    let others = [Some(&key), dead.as_ref(), hash.as_ref()];
                    let limiter = other_key(call, words, "RATE", KeyUse::Update, &others)?;
                    rate = Some(RateOption::parse(limiter, words)?);
                }
                "BLOCK" => block_ms = Some(duration(words, "BLOCK", 0)?),
                "NOW" => now = Some(clock(words)?),
                _ => return Err(options.unknown()),
            }
        }
        check_rows(count)?;
        if attempts.is_some() != dead.is_some() {
            return Err(Error::only_together("ATTEMPTS", "DEAD"));
        }
        Ok(TakeOptions {
            key,
            count: usize::try_from(count).unwrap_or(1),
            lease_ms: claims.then_some(lease_ms.cast_signed()),
            dead: attempts.map(u64::cast_signed).zip(dead),
            hash,
            rate,
            block_ms,
            now,
        })
    }

    /// The wait that the client asked for.
    fn wait(&self, claims: bool, denied_ms: Option<u64>) -> Option<WaitRequest> {
        let timeout_ms = self.block_ms?;
        Some(WaitRequest {
            command: if claims { c"DUE.CLAIM" } else { c"DUE.POP" },
            look,
            needs_memory: claims,
            own_now: self.now,
            timeout_ms: Some(timeout_ms).filter(|ms| *ms > 0),
            gate: self.rate.as_ref().map(|rate| (rate.words().into_iter().map(Text::into_static).collect(), denied_ms)),
        })
    }
}
