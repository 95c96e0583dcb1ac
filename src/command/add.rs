//! `RANK.ADD` and `RANK.MULTISET`.

use super::args::{count, key, once, one_of, pairs, unix_time, value_of};
use super::periods::{Fed, Feed};
use super::{forget_left, open_hash, open_owned_hash, open_to_write, owns_hash, ServerBoard};
use crate::board::{
    parse_object, parse_unit, Board, Creation, Only, Pairs, PeriodUnit, Rules, Schema, Scores, Standing, Start, Update,
    Write, Written,
};
use crate::command;
use crate::config::check_rows;
use crate::docs::Doc;
use crate::error::{Error, Result, Shown};
use crate::number::{parse_extended, parse_finite};
use crate::server::{Access, Args, Call, Hash, Reply, Text, ZSet};
use crate::stats;

const SYNTAX: &str = "key condition:[NX|XX] update:[SET|BEST] [KEEP keep:n] [CH] ranks:[WITHRANK [PERIOD period:unit]] [AT time:ms] [DATA json] \
    entry:{score ... member} ...";
const COST: &str = "O(log(N)) for each member.";

command! { ADD = add;
    Doc::write("rank.add", SYNTAX, "Sets the scores of members. Returns how many are new, or old and new ranks.",
    COST).fast()
}

command! { MULTISET = multiset;
    Doc::write("rank.multiset", SYNTAX,
    "Sets scores like RANK.ADD. A new board gets one INT field for each score.", COST).fast()
}

/// The board that `WITHRANK` answers about: a period, or the board itself.
type RanksOf = Option<PeriodUnit>;

/// What follows `WITHRANK`.
pub fn ranks_of(args: &mut Args) -> Result<RanksOf> {
    if !args.next_if("PERIOD") {
        return Ok(None);
    }
    parse_unit(value_of(args, "PERIOD")?.bytes(), "PERIOD").map(Some)
}

#[derive(Default)]
struct Options<'a> {
    only: Only,
    update: Option<Update>,
    keep: Option<u64>,
    count_changed: bool,
    with_rank: Option<RanksOf>,
    at: Option<i64>,
    json: Option<&'a [u8]>,
}

impl<'a> Options<'a> {
    /// Reads the options in front of the scores, if there are any.
    #[inline(always)]
    fn parse(args: &mut Args<'a>) -> Result<Options<'a>> {
        if begins_with_word(args) {
            Options::parse_words(args)
        } else {
            Ok(Options::default())
        }
    }

    fn parse_words(args: &mut Args<'a>) -> Result<Options<'a>> {
        let mut options = Options::default();
        let (mut only, mut update, mut changed) = (None, None, None);
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
                once(&mut options.keep, count(value_of(args, "KEEP")?, "KEEP", 1)?, "KEEP")?;
            } else if args.next_if("CH") {
                once(&mut changed, (), "CH")?;
            } else if args.next_if("WITHRANK") {
                once(&mut options.with_rank, ranks_of(args)?, "WITHRANK")?;
            } else if args.next_if("AT") {
                once(&mut options.at, unix_time(args)?, "AT")?;
            } else if args.next_if("DATA") {
                let json = value_of(args, "DATA")?.bytes();
                once(&mut options.json, check_object(json)?, "DATA")?;
            } else {
                break;
            }
        }
        options.only = only.map_or(Only::Any, |(only, _)| only);
        options.update = update.map(|(update, _)| update);
        if options.only == Only::New && options.update == Some(Update::Best) {
            return Err(Error::OptionsConflict("NX", "BEST"));
        }
        options.count_changed = changed.is_some();
        Ok(options)
    }

    #[inline(always)]
    fn write(&self, call: &Call, schema: &Schema) -> Result<Write> {
        let keep = match (schema.rules.keep, self.keep) {
            (Some(keep), Some(_)) => return Err(Error::KeepTwice(keep)),
            (keep, option) => option.or(keep),
        };
        if let Some(Some(unit)) = self.with_rank {
            schema.rules.periods.of(unit)?;
        }
        Ok(Write {
            scores: Scores::Set,
            only: self.only,
            update: self.update.unwrap_or(schema.rules.update),
            keep,
            now: clock(call, schema, self.at),
            ranks: self.with_rank == Some(None),
        })
    }
}

/// Whether the next argument may be an option. Scores begin with a digit, a sign or a dot; only `inf` looks like a word.
pub fn begins_with_word(args: &Args) -> bool {
    args.peek().is_some_and(|arg| arg.bytes().first().is_some_and(u8::is_ascii_alphabetic))
}

/// Checks that the text is a JSON object, and returns it unchanged.
pub fn check_object(json: &[u8]) -> Result<&[u8]> {
    match parse_object(json) {
        Some(_) => Ok(json),
        None => Err(Error::Takes { what: "json", takes: "a JSON object", got: Shown::new(json) }),
    }
}

/// The time for ties. The clock is read once per command, and only if ties need it.
#[inline(always)]
pub fn clock(call: &Call, schema: &Schema, at: Option<i64>) -> i64 {
    if !schema.layout.has_time() {
        return 0;
    }
    at.unwrap_or_else(|| call.ctx.now())
}

fn add<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let lone = lone_pair(&args);
    let options = if lone.is_some() { Options::default() } else { Options::parse(&mut args)? };
    let mut store = ZSet::open(call, key, Access::Write)?;
    match Board::begin(&mut store, Scores::Set, lone)? {
        Start::Done(added, _) => {
            call.reply().count(u64::from(added));
            Ok(())
        }
        Start::Board(marker) => {
            let mut board = Board::with_marker(store, marker);
            let pairs = pairs(board.schema(), args)?;
            write_pairs(call, &mut board, &options, &pairs)
        }
    }
}

/// A finite number and a member, if that is all there is.
#[inline(always)]
pub fn lone_pair<'a>(args: &Args<'a>) -> Option<(f64, Text<'a>)> {
    let mut pair = args.clone();
    match (args.len(), pair.next(), pair.next()) {
        (2, Some(number), Some(member)) => Some((parse_finite(number.bytes())?, member.text())),
        _ => None,
    }
}

fn multiset<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let options = Options::parse(&mut args)?;
    let mut board = open_to_write(call, key.clone())?;
    if board.store.exists() || args.len() < 3 {
        let pairs = pairs(board.schema(), args)?;
        return write_pairs(call, &mut board, &options, &pairs);
    }
    if has_several_members(args.clone()) {
        return Err(Error::SeveralMembersOfNewBoard);
    }
    let rules = Rules::integers(args.len().saturating_sub(1))?;
    // Check everything before the board is created.
    let schema = Schema::new(rules.clone());
    let pairs = pairs(&schema, args)?;
    options.write(call, &schema)?;
    if options.json.is_some() {
        return Err(Error::NoData);
    }
    if options.only == Only::Existing {
        board.assume(schema, 0);
    } else {
        board.create(Creation { rules, since: None, adopt: false }, key.bytes(), 0)?;
    }
    write_pairs(call, &mut board, &options, &pairs)
}

/// Whether the arguments for a new board are probably several members: there is a name among the scores, or all of them
/// are numbers.
fn has_several_members(args: Args) -> bool {
    let names = args.clone().filter(|arg| parse_extended(arg.bytes()).is_none()).count();
    let ends_with_name = args.clone().last().is_some_and(|arg| parse_extended(arg.bytes()).is_none());
    args.len() >= 4 && (names > usize::from(ends_with_name) || names == 0 && args.len().is_multiple_of(2))
}

#[inline(never)]
fn write_pairs<'c>(
    call: &'c Call<'c>,
    board: &mut ServerBoard<'c>,
    options: &Options,
    pairs: &Pairs<Text<'c>>,
) -> Result<()> {
    let write = options.write(call, board.schema())?;
    if options.with_rank.is_some() {
        check_rows(pairs.len() as u64)?;
    }
    let record = match (options.json, pairs.as_slice()) {
        (None, _) => None,
        (Some(json), [(_, member)]) => Some((open_hash(call, board, Access::Write)?, member, json)),
        (Some(_), _) => return Err(Error::DataTakesOneMember),
    };
    let owned = match write.keep {
        // Members may have to leave.
        Some(keep) if board.members()? + pairs.len() as u64 > keep => {
            if board.members()? > keep {
                // Perhaps very many.
                call.take_time();
            }
            open_owned_hash(call, board)?
        }
        _ => None,
    };
    let mut periods = if board.schema().rules.periods.is_empty() {
        Vec::new()
    } else {
        let (update, keep, at) = (options.update, options.keep, options.at);
        Feed { write, update, keep, at, ranks: options.with_rank.flatten() }.prepare(call, board, pairs)?
    };
    // The periods were prepared: if the board refuses the write, nothing was changed anywhere.
    let written = board.write(&write, pairs)?;
    count_written(&written);
    periods.iter_mut().try_for_each(|period| period.commit(pairs))?;
    if let Some((hash, member, json)) = record {
        write_record(board, &periods, hash, member, json);
    }
    forget_left(board, owned);
    let reply = call.reply();
    let Some(ranks_of) = options.with_rank else {
        reply.count(written.added + if options.count_changed { written.changed } else { 0 });
        return Ok(());
    };
    let standings = standings_of(ranks_of, &written, &periods);
    reply.array(pairs.len() as u64);
    for (i, (_, member)) in pairs.iter().enumerate() {
        reply_standing(board, member, standings.get(i), &reply);
    }
    Ok(())
}

/// Writes attributes only if the member is now on the board or on one of its periods. A hash that the board owns is only
/// for members of the board itself.
fn write_record<'c>(board: &ServerBoard<'c>, periods: &[Fed<'c>], mut hash: Hash<'c>, member: &Text<'c>, json: &[u8]) {
    let shares = !owns_hash(board.schema(), board.store.name());
    if board.has(member) || shares && periods.iter().any(|period| period.board.has(member)) {
        hash.set(member.bytes(), json);
    }
}

/// The ranks on the board that the client asked about; none if it is a period that was not written to.
pub fn standings_of<'w>(ranks_of: RanksOf, written: &'w Written, periods: &'w [Fed]) -> &'w [Standing] {
    let Some(unit) = ranks_of else { return &written.standings };
    periods.iter().find(|period| period.unit == unit).map_or(&[], |period| &period.written.standings)
}

/// Updates the counters of `INFO`.
pub fn count_written(written: &Written) {
    if written.refused + written.evicted > 0 {
        stats::RANK.denied.add(written.refused);
        stats::EVICTED.add(written.evicted);
    }
    if written.overflowed > 0 {
        stats::OVERFLOWED.add(written.overflowed);
    }
}

/// `[rank, previous rank, member, score...]`
pub fn reply_standing(board: &ServerBoard, member: &Text, standing: Option<&Standing>, reply: &Reply) {
    let fields = board.schema().fields().len();
    let after = standing.and_then(|standing| standing.after.as_ref());
    reply.array(3 + fields as u64);
    reply.count_or_null(after.map(|(rank, _)| *rank));
    reply.count_or_null(standing.and_then(|standing| standing.before));
    reply.bulk(member.bytes());
    match after {
        Some((_, values)) => values.iter().for_each(|value| reply.value(*value)),
        None => (0..fields).for_each(|_| reply.null()),
    }
}
