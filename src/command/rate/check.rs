//! `RATE.CHECK`, `RATE.PEEK`, `RATE.ALL`, `RATE.REFUND`, `RATE.SETTLE` and `RATE.RESET`: keys and replies. The options and the verdict
//! are those of [`crate::rate`].

use smallvec::{smallvec, SmallVec};

use crate::command;
use crate::config;
use crate::docs::{Doc, KeySpec, KeyUse};
use crate::error::{Error, Result};
use crate::rate::{self, Action, Algorithm, Clock, KeyRules, More, Request, RuleList, Verdict};
use crate::server::{Access, Arg, Call, Limiter, Options, Reply};
use crate::stats;
use crate::words::Word;

/// What every call on limiters takes behind its keys.
macro_rules! rules {
    ($keys:literal, $cost:literal) => {
        concat!(
            $keys,
            " rule:{pair:{limit window}|compact:rule} ... algorithm:[SLIDING|FIXED|COUNTER|GCRA|CALENDAR] ",
            "[BURST burst:n] [OFFSET zone] ",
            $cost,
            " [NOW now:ms] [EACH] [JSON]"
        )
    };
}

const COST: &str = "O(R*log(N)) for R rules and N calls in a SLIDING log; O(R) with the other algorithms.";

command! { CHECK = check;
    Doc::write("rate.check", rules!("key", "[COST units:n [UPTO]] [FORCE] [PENALTY duration] [WAIT wait:duration] [STAMP]"),
    "Checks a limit and consumes from it if allowed.", COST).fast()
}

command! { PEEK = peek;
    Doc::read("rate.peek", rules!("key", "[COST units:n [UPTO]] [WAIT wait:duration]"), "Returns a limit's state without consuming.", COST).fast()
}

command! { ALL = all;
    Doc::write("rate.all", rules!("numkeys key ...", "[COST units:n [UPTO]] [FORCE] [PENALTY duration] [STAMP]"),
    "Checks limits of several keys and consumes from all of them or from none.", COST)
    .fast().reports_keys().keys(&[KeySpec::numbered(1, KeyUse::Update)])
}

command! { REFUND = refund;
    Doc::write("rate.refund", rules!("key", "[COST cost:n]"), "Gives units back to a limit.",
    "O(R*log(N)+M) for R rules, N calls in a SLIDING log and M calls that are given back; O(R) with the other algorithms.")
}

command! { SETTLE = settle;
    Doc::write("rate.settle", rules!("key", "{COST reserved:n} {ACTUAL used:n} {AT at:ms}"),
    "Corrects what an earlier call consumed, once it is known what was used.", "O(R) for R rules.").fast()
}

command! { RESET = reset;
    Doc::remove("rate.reset", "key", "Deletes the limiter or the leases of a key.", "O(1), the memory is freed in the background.")
    .fast()
}

fn check<'c>(call: &'c Call<'c>) -> Result<()> {
    on_one_key(call, Action::Check, Access::Write)
}

fn peek<'c>(call: &'c Call<'c>) -> Result<()> {
    on_one_key(call, Action::Peek, Access::Read)
}

fn refund<'c>(call: &'c Call<'c>) -> Result<()> {
    on_one_key(call, Action::Refund, Access::Write)
}

fn settle<'c>(call: &'c Call<'c>) -> Result<()> {
    on_one_key(call, Action::Settle, Access::Write)
}

fn on_one_key<'c>(call: &'c Call<'c>, action: Action, access: Access) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let request = parse(call.options_in_front(args), action)?;
    Request::check_windows(request.rules.iter())?;
    let key_rules = KeyRules::whole(Limiter::open(call, key, access), &request);
    run(call, &request, &mut [key_rules])
}

fn all<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let named = rate::parse_key_count(args.required()?);
    if call.asks_for_keys() {
        let keys = named.ok().and_then(|named| usize::try_from(named).ok()).unwrap_or(0).min(args.len());
        (2..).take(keys).for_each(|position| call.report_key_position(position));
        return Ok(());
    }
    let named = named?;
    let keys = args.take_first(usize::try_from(named).unwrap_or(usize::MAX));
    if keys.len() as u64 != named {
        return Err(Error::key_count(named, keys.len()));
    }
    let request = parse(call.options_in_front(args), Action::Check)?;
    if request.rules.len() as u64 != named {
        return Err(Error::rule_count(named, request.rules.len()));
    }
    // A key may be named more than once. Each distinct key gets the rules at its positions.
    let mut distinct_keys: SmallVec<[(Arg, SmallVec<[usize; 2]>); 4]> = SmallVec::new();
    for (position, key) in keys.enumerate() {
        match distinct_keys.iter_mut().find(|(known, _)| known.bytes() == key.bytes()) {
            Some((_, positions)) => positions.push(position),
            None => distinct_keys.push((key, smallvec![position])),
        }
    }
    let rules: SmallVec<[RuleList; 4]> =
        distinct_keys.iter().map(|(_, positions)| request.rules_at(positions)).collect::<Result<_>>()?;
    let mut keys: SmallVec<[KeyRules<Limiter>; 4]> = SmallVec::new();
    for ((key, positions), rules) in distinct_keys.iter().zip(&rules) {
        keys.push(KeyRules::some(Limiter::open(call, key.text(), Access::Write), rules, positions));
    }
    run(call, &request, &mut keys)
}

fn parse(options: Options, action: Action) -> Result<Request> {
    Request::parse(options, action, config::RATE_MAX_LOG.bound())
}

fn run<'c>(call: &'c Call<'c>, request: &Request, keys: &mut [KeyRules<'_, Limiter<'c>>]) -> Result<()> {
    let clock = Clock::new(call.ctx.now_micros(), request.now);
    let answer = rate::run(request, clock, keys)?;
    let verdict = answer.verdict()?;
    if request.action == Action::Check {
        verdict_counters(request.algorithm).add(verdict.limited);
    }
    let reply = call.reply();
    if request.json {
        reply.bulk(answer.json(request.each)?.as_bytes());
    } else if request.each {
        let each = answer.each();
        reply.array(each.len() as u64);
        each.for_each(|verdict| reply_verdict(&reply, &verdict));
    } else {
        reply_verdict(&reply, &verdict);
    }
    Ok(())
}

#[inline]
fn reply_verdict(reply: &Reply, verdict: &Verdict) {
    let six = verdict.reply();
    if verdict.more == More::default() {
        return reply.integers(&six);
    }
    let mut all: SmallVec<[i64; 8]> = SmallVec::from_slice(&six);
    all.extend(verdict.more.iter().map(|(_, value)| value));
    reply.integers(&all);
}

pub(super) fn verdict_counters(algorithm: Algorithm) -> &'static stats::Verdicts {
    match algorithm {
        Algorithm::Sliding => &stats::SLIDING,
        Algorithm::Fixed => &stats::FIXED,
        Algorithm::Counter => &stats::COUNTER,
        Algorithm::Gcra => &stats::GCRA,
        Algorithm::Calendar => &stats::CALENDAR,
    }
}

fn reset<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    args.end()?;
    let was_there = Limiter::open(call, key, Access::Write).reset()?;
    call.reply().integer(i64::from(was_there));
    Ok(())
}
