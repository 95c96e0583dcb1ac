//! Commands that change members.

use std::collections::HashMap;

use super::args::{count, key, once, one_of, pairs, required, value_of};
use super::{open, ServerBoard};
use crate::board::{
    Board, Found, Leavers, Marker, Only, Outcome, Put, Rules, Schema, Store, Tuple, Update, WriteRules,
};
use crate::error::{Error, Result};
use crate::number::parse_finite;
use crate::server::{Access, Arg, Args, Call, Reply, Text, ZSet};
use crate::stats;

#[derive(Default)]
struct AddOptions {
    only: Only,
    update: Option<Update>,
    keep: Option<u64>,
    count_changed: bool,
    with_rank: bool,
    at: Option<i64>,
}

impl AddOptions {
    /// Reads the options in front of the scores.
    fn parse(args: &mut Args) -> Result<AddOptions> {
        let (mut only, mut update) = (None, None);
        let (mut keep, mut changed, mut with_rank, mut at) = (None, None, None, None);
        while begins_with_word(args) {
            if args.next_if("NX") {
                one_of(&mut only, Only::New, "NX")?;
            } else if args.next_if("XX") {
                one_of(&mut only, Only::Existing, "XX")?;
            } else if args.next_if("SET") {
                one_of(&mut update, Update::Set, "SET")?;
            } else if args.next_if("BEST") {
                one_of(&mut update, Update::Best, "BEST")?;
            } else if args.next_if("KEEP") {
                once(&mut keep, count(value_of(args, "KEEP")?, "KEEP", 1)?, "KEEP")?;
            } else if args.next_if("CH") {
                once(&mut changed, (), "CH")?;
            } else if args.next_if("WITHRANK") {
                once(&mut with_rank, (), "WITHRANK")?;
            } else if args.next_if("AT") {
                once(&mut at, unix_time(args)?, "AT")?;
            } else {
                break;
            }
        }
        let only = only.map_or(Only::Any, |(only, _)| only);
        let update = update.map(|(update, _)| update);
        if only == Only::New && update == Some(Update::Best) {
            return Err(Error::OptionsConflict("NX", "BEST"));
        }
        let (count_changed, with_rank) = (changed.is_some(), with_rank.is_some());
        Ok(AddOptions { only, update, keep, count_changed, with_rank, at })
    }

    fn write_rules(&self, call: &Call, schema: &Schema) -> Result<WriteRules> {
        let keep = match (schema.rules.keep, self.keep) {
            (Some(keep), Some(_)) => return Err(Error::KeepTwice(keep)),
            (keep, option) => option.or(keep),
        };
        let update = self.update.unwrap_or(schema.rules.update);
        Ok(WriteRules { only: self.only, update, keep, now: clock(call, schema, self.at) })
    }
}

/// Scores begin with a digit, a sign or a dot, options do not: `inf` is the one word to be tried in vain.
fn is_word(arg: &[u8]) -> bool {
    arg.first().is_some_and(u8::is_ascii_alphabetic)
}

fn begins_with_word(args: &Args) -> bool {
    args.peek().is_some_and(|arg| is_word(arg.bytes()))
}

fn unix_time(args: &mut Args) -> Result<i64> {
    let ms = count(value_of(args, "AT")?, "AT", 0)?;
    Ok(i64::try_from(ms).unwrap_or(i64::MAX))
}

/// Read once a command, and only where ties need it.
fn clock(call: &Call, schema: &Schema, at: Option<i64>) -> i64 {
    match at {
        Some(at) => at,
        None if schema.layout.has_time() => call.ctx.now(),
        None => 0,
    }
}

pub fn add(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let first = args.peek().map_or(&[][..], Arg::bytes);
    if is_word(first) {
        let options = AddOptions::parse(&mut args)?;
        return add_to(call, &mut open(call, key, Access::Write)?, &options, args);
    }
    let mut store = ZSet::open(call.ctx, key, Access::Write)?;
    let marker = Marker::find(&store)?;
    if marker.is_none() {
        if let Some((score, member)) = lone_pair(first, &args) {
            // No schema, no options: a ZADD, and nothing in between.
            let added = store.put(&member, score, Only::Any) == Put::Added;
            Reply::new(call.ctx).count(u64::from(added));
            return Ok(());
        }
    }
    add_to(call, &mut Board::marked(store, marker), &AddOptions::default(), args)
}

/// A finite score, the first argument's bytes, and a member: the commonest of all arguments.
fn lone_pair<'a>(first: &[u8], args: &Args<'a>) -> Option<(f64, Text<'a>)> {
    if args.len() != 2 {
        return None;
    }
    Some((parse_finite(first)?, args.clone().nth(1)?.text()))
}

pub fn multiset(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let options = AddOptions::parse(&mut args)?;
    let mut board = open(call, key, Access::Write)?;
    let scores = args.len().saturating_sub(1);
    if !board.store.exists() && scores > 1 {
        let rules = Rules::integers(scores)?;
        // Whatever is wrong with the call must be known before the board is made.
        let schema = Schema::new(rules.clone());
        pairs(&schema, args.clone())?;
        options.write_rules(call, &schema)?;
        if options.only != Only::Existing {
            board.create(rules, false, call.ctx.random_id())?;
        } else {
            board.assume(schema);
        }
    }
    add_to(call, &mut board, &options, args)
}

fn add_to<'a>(call: &Call<'a>, board: &mut ServerBoard<'a>, options: &AddOptions, args: Args<'a>) -> Result<()> {
    let rules = options.write_rules(call, board.schema())?;
    // A board that is larger than its bound may lose the very member that is written.
    let overfull = rules.keep.is_some_and(|keep| board.members() > keep);
    if args.len() == board.schema().fields().len() + 1 && !options.with_rank && !overfull {
        add_one(call, board, options, &rules, args)
    } else {
        add_several(call, board, options, &rules, overfull, args)
    }
}

/// The commonest of all writes: one member, of which nothing is to be remembered.
fn add_one<'a>(
    call: &Call<'a>,
    board: &mut ServerBoard<'a>,
    options: &AddOptions,
    rules: &WriteRules,
    mut args: Args<'a>,
) -> Result<()> {
    let fields = board.schema().fields().len();
    let values = board.schema().parse_tuple(args.take_first(fields).map(Arg::bytes))?;
    let member = required(&mut args)?.text();
    board.check_member(&member, &values)?;
    board.prepare_write([].iter())?;
    let counts = match board.set(&member, &values, rules)? {
        Outcome::Added => true,
        Outcome::Changed => options.count_changed,
        Outcome::Refused => {
            stats::REFUSED.add(1);
            false
        }
        Outcome::Unchanged => false,
    };
    Reply::new(call.ctx).count(u64::from(counts));
    Ok(())
}

fn add_several<'a>(
    call: &Call<'a>,
    board: &mut ServerBoard<'a>,
    options: &AddOptions,
    rules: &WriteRules,
    overfull: bool,
    args: Args<'a>,
) -> Result<()> {
    let pairs = pairs(board.schema(), args)?;
    for (values, member) in &pairs {
        board.check_member(member, values)?;
    }
    board.prepare_write(pairs.iter().map(|(_, member)| member))?;

    let reply = Reply::new(call.ctx);
    let before = if options.with_rank { standings(board, &pairs)? } else { Vec::new() };
    let several = pairs.len() > 1 && (options.count_changed || rules.keep.is_some());
    let mut tally = (several || overfull).then(Tally::default);
    if let Some(tally) = &mut tally {
        // All of them first: one may push another out before its turn.
        pairs.iter().try_for_each(|(_, member)| tally.note(board, member))?;
    }
    let (mut added, mut changed) = (0, 0);
    for (values, member) in &pairs {
        match board.set(member, values, rules)? {
            Outcome::Added => added += 1,
            Outcome::Changed => changed += 1,
            Outcome::Refused => stats::REFUSED.add(1),
            Outcome::Unchanged => {}
        }
    }
    if let Some(tally) = tally {
        (added, changed) = tally.count(board)?;
    }
    if options.with_rank {
        return reply_standings(board, &pairs, &before, &reply);
    }
    reply.count(if options.count_changed { added + changed } else { added });
    Ok(())
}

/// What members had before a command that may name one twice, or let one in and out again.
#[derive(Default)]
struct Tally<'a> {
    before: HashMap<Vec<u8>, (Text<'a>, Option<Tuple>)>,
}

impl<'a> Tally<'a> {
    fn note(&mut self, board: &ServerBoard<'a>, member: &Text<'a>) -> Result<()> {
        if !self.before.contains_key(member.bytes()) {
            let values = board.find(member)?.map(|found| found.decoded.values);
            self.before.insert(member.bytes().to_vec(), (member.clone(), values));
        }
        Ok(())
    }

    /// How many members are new, and how many have another score.
    fn count(&self, board: &ServerBoard<'a>) -> Result<(u64, u64)> {
        let (mut added, mut changed) = (0, 0);
        for (member, before) in self.before.values() {
            let after = board.find(member)?.map(|found| found.decoded.values);
            match (before, after) {
                (None, Some(_)) => added += 1,
                (Some(before), Some(after)) if *before != after => changed += 1,
                _ => {}
            }
        }
        Ok((added, changed))
    }
}

/// The rank of each pair's member, in the board's default kind.
fn standings<'a>(board: &mut ServerBoard<'a>, pairs: &[(Tuple, Text<'a>)]) -> Result<Vec<Option<u64>>> {
    for (_, member) in pairs {
        board.find_or_mend(member)?;
    }
    pairs.iter().map(|(_, member)| Ok(standing(board, member)?.map(|(rank, _)| rank))).collect()
}

fn standing<'a>(board: &ServerBoard<'a>, member: &Text<'a>) -> Result<Option<(u64, Found<Text<'a>>)>> {
    let Some(found) = board.find(member)? else { return Ok(None) };
    Ok(Some((board.rank(&found, board.default_kind())?, found)))
}

fn reply_standings<'a>(
    board: &ServerBoard<'a>,
    pairs: &[(Tuple, Text<'a>)],
    before: &[Option<u64>],
    reply: &Reply,
) -> Result<()> {
    let mut after = Vec::with_capacity(pairs.len());
    for (_, member) in pairs {
        after.push(standing(board, member)?);
    }
    reply.array(pairs.len() as u64);
    for (((_, member), before), after) in pairs.iter().zip(before).zip(&after) {
        reply_standing(board, member, *before, after.as_ref(), reply);
    }
    Ok(())
}

/// `[rank, previous rank, member, score...]`
fn reply_standing(
    board: &ServerBoard,
    member: &Text,
    before: Option<u64>,
    after: Option<&(u64, Found<Text>)>,
    reply: &Reply,
) {
    let fields = board.schema().fields().len();
    reply.array(3 + fields as u64);
    reply.count_or_null(after.map(|(rank, _)| *rank));
    reply.count_or_null(before);
    reply.bulk(member.bytes());
    match after {
        Some((_, found)) => found.decoded.values.iter().for_each(|value| reply.value(*value)),
        None => (0..fields).for_each(|_| reply.null()),
    }
}

pub fn incr(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let (mut with_rank, mut at) = (None, None);
    while begins_with_word(&args) {
        if args.next_if("WITHRANK") {
            once(&mut with_rank, (), "WITHRANK")?;
        } else if args.next_if("AT") {
            once(&mut at, unix_time(&mut args)?, "AT")?;
        } else {
            break;
        }
    }
    let mut store = ZSet::open(call.ctx, key, Access::Write)?;
    store.announce_as(c"zincr");
    let marker = Marker::find(&store)?;
    if marker.is_none() && with_rank.is_none() {
        let first = args.peek().map_or(&[][..], Arg::bytes);
        let sum = lone_pair(first, &args).and_then(|(delta, member)| increment_bare(&mut store, delta, &member));
        if let Some(sum) = sum {
            Reply::new(call.ctx).float(sum);
            return Ok(());
        }
    }
    let mut board = Board::marked(store, marker);
    let schema = board.schema().clone();
    let fields = schema.fields().len();
    if args.len() != fields + 1 {
        return Err(Error::ScoreCount { fields, got: args.len() });
    }
    let deltas = args.take_first(fields).map(Arg::bytes);
    let member = required(&mut args)?.text();
    board.prepare_write([].iter())?;
    let found = board.find_or_mend(&member)?;
    let values = match &found {
        Some(found) => schema.increment(&found.decoded.values, deltas)?,
        None => schema.increment(&schema.origin(), deltas)?,
    };
    board.check_member(&member, &values)?;
    let before = match &found {
        Some(found) if with_rank.is_some() => Some(board.rank(found, board.default_kind())?),
        _ => None,
    };
    let rules =
        WriteRules { only: Only::Any, update: Update::Set, keep: schema.rules.keep, now: clock(call, &schema, at) };
    let overfull = rules.keep.is_some_and(|keep| board.members() > keep);
    let outcome = board.place(&member, found, &values, &rules)?;
    let reply = Reply::new(call.ctx);
    if outcome == Outcome::Refused || overfull && board.find(&member)?.is_none() {
        stats::REFUSED.add(1);
        reply.null();
    } else if with_rank.is_some() {
        reply_standing(&board, &member, before, standing(&board, &member)?.as_ref(), &reply);
    } else {
        reply.scores(&values);
    }
    Ok(())
}

/// On a sorted set without a schema: the new score, `None` with nothing done if it would not be finite.
fn increment_bare<'a>(store: &mut ZSet<'a>, delta: f64, member: &Text<'a>) -> Option<f64> {
    let old = store.score(member);
    let sum = Some(old.unwrap_or(0.0) + delta + 0.0).filter(|sum| sum.is_finite())?;
    if old != Some(sum) {
        store.put(member, sum, Only::Any);
    }
    Some(sum)
}

pub fn rem(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    if args.len() == 0 {
        return Err(Error::Arity);
    }
    let mut board = open(call, key, Access::Write)?;
    let members: Vec<Text> = args.map(Arg::text).collect();
    board.prepare_removal(members.iter())?;
    let mut removed = 0;
    for member in &members {
        removed += u64::from(board.remove(member)?);
    }
    Reply::new(call.ctx).count(removed);
    Ok(())
}

pub fn trim(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let keep = count(required(&mut args)?, "n", 0)?;
    let leavers = if args.next_if("RETURN") { Leavers::Named } else { Leavers::Unnamed };
    if let Some(unknown) = args.next() {
        return Err(Error::UnknownOption(crate::error::Shown::new(unknown.bytes())));
    }
    let mut board = open(call, key, Access::Write)?;
    board.prepare_write([].iter())?;
    let (count, names) = board.trim(keep, leavers)?;
    let reply = Reply::new(call.ctx);
    if leavers == Leavers::Unnamed {
        reply.count(count);
        return Ok(());
    }
    reply.array(names.len() as u64);
    names.iter().for_each(|element| reply.bulk(board.name_of(element)));
    Ok(())
}
