//! The body of every write of scores: `RANK.ADD`, `RANK.MULTISET`, `RANK.INCR` and `RANK.LOAD`.
//!
//! A command reads its words into [`WriteOptions`] and pairs. From there on all are the same: open everything that the write
//! touches, with the caller's permission (the hash of attributes, the boards of current periods); plan the write on every
//! board, which finds whatever could fail; then change them all. The reply is the command's own.

use super::periods::{plan_periods, PeriodWrite};
use super::{open_hash, owns_hash, ServerBoard};
use crate::board::{
    check_unreserved, is_object, Board, Detail, Marker, MemberChange, Pair, Pairs, PeriodUnit, Schema, Scores, Turn,
    Update, WriteRequest, WriteResult,
};
use crate::config::check_rows;
use crate::error::{set_once as once, set_one_of as one_of};
use crate::error::{Error, Result};
use crate::number::{parse_extended, parse_finite};
use crate::server::{Access, Arg, Args, Call, Reply, Text, ZSet};
use crate::stats;
use crate::words::Word;
use crate::zset::{Condition, PutResult, SortedSet};

/// The board that `WITHRANK` answers about: a period, or the board itself.
pub type RanksOf = Option<PeriodUnit>;

/// What a client says before the scores.
#[derive(Default)]
pub struct WriteOptions<'a> {
    /// `BOARD n`: the board must have a schema with as many fields.
    pub fields: Option<usize>,
    pub only: Condition,
    pub update: Option<Update>,
    pub keep: Option<u64>,
    pub count_changed: bool,
    pub with_rank: Option<RanksOf>,
    pub at: Option<i64>,
    pub json: Option<&'a [u8]>,
    /// Whether there are any.
    pub is_given: bool,
}

/// The options that `RANK.INCR` does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    All,
    OfIncrements,
}

impl<'a> WriteOptions<'a> {
    /// Reads the options in front of the scores, if there are any.
    #[inline]
    pub fn parse(args: &mut Args<'a>, allowed: Allowed) -> Result<WriteOptions<'a>> {
        if begins_with_word(args) {
            WriteOptions::parse_words(args, allowed)
        } else {
            Ok(WriteOptions::default())
        }
    }

    fn parse_words(args: &mut Args<'a>, allowed: Allowed) -> Result<WriteOptions<'a>> {
        let mut options = WriteOptions::default();
        let (mut only, mut update, mut changed) = (None, None, None);
        while begins_with_word(args) {
            if args.next_if("WITHRANK") {
                let unit = if args.next_if("PERIOD") { Some(PeriodUnit::read(args, "PERIOD")?) } else { None };
                once(&mut options.with_rank, unit, "WITHRANK")?;
            } else if args.next_if("AT") {
                once(&mut options.at, args.value_of("AT")?.time("AT")?, "AT")?;
            } else if args.next_if("BOARD") {
                once(&mut options.fields, number_of_fields(args)?, "BOARD")?;
            } else if allowed == Allowed::OfIncrements {
                break;
            } else if args.next_if("NX") {
                one_of(&mut only, Condition::New, "NX")?;
            } else if args.next_if("XX") {
                one_of(&mut only, Condition::Existing, "XX")?;
            } else if args.next_if("SET") {
                one_of(&mut update, Update::Set, "SET")?;
            } else if args.next_if("BEST") {
                one_of(&mut update, Update::Best, "BEST")?;
            } else if args.next_if("KEEP") {
                once(&mut options.keep, args.value_of("KEEP")?.count("KEEP", 1)?, "KEEP")?;
            } else if args.next_if("CH") {
                once(&mut changed, (), "CH")?;
            } else if args.next_if("DATA") {
                let json = args.value_of("DATA")?.bytes();
                once(&mut options.json, check_object(json)?, "DATA")?;
            } else {
                break;
            }
        }
        options.only = only.map_or(Condition::Any, |(only, _)| only);
        options.update = update.map(|(update, _)| update);
        if options.only == Condition::New && options.update == Some(Update::Best) {
            return Err(Error::mutually_exclusive("NX", "BEST"));
        }
        options.count_changed = changed.is_some();
        options.is_given = true;
        Ok(options)
    }

    /// What is written to a board of this schema.
    #[inline]
    pub fn write(&self, call: &Call, schema: &Schema, scores: Scores) -> Result<WriteRequest> {
        let keep = match (schema.rules.keep, self.keep) {
            (Some(keep), Some(_)) => return Err(Error::has_own_keep(keep)),
            (keep, option) => option.or(keep),
        };
        if let Some(Some(unit)) = self.with_rank {
            schema.rules.periods.of(unit)?;
        }
        let update = match scores {
            Scores::Set => self.update.unwrap_or(schema.rules.update),
            Scores::Add => Update::Set,
        };
        // The clock is read once, and only if ties need it.
        let now = if schema.layout.has_time() { self.at.unwrap_or_else(|| call.ctx.now()) } else { 0 };
        let detail = if self.with_rank == Some(None) { Detail::Ranks } else { Detail::Nothing };
        Ok(WriteRequest { scores, only: self.only, update, keep, now, detail })
    }
}

/// The value of `BOARD`.
pub fn number_of_fields(args: &mut Args) -> Result<usize> {
    let fields = args.value_of("BOARD")?.count("BOARD", 1)?;
    Ok(usize::try_from(fields).unwrap_or(usize::MAX))
}

/// Checks that a board is the one that a client declared: it has a schema, with as many fields.
#[inline]
pub fn check_declared(board: &ServerBoard, fields: Option<usize>) -> Result<()> {
    let Some(fields) = fields else { return Ok(()) };
    if board.schema_text().is_none() {
        return Err(Error::no_board());
    }
    match board.schema().fields().len() {
        own if own == fields => Ok(()),
        own => Err(Error::other_fields(own, fields)),
    }
}

/// The board of a write, or what is left of it.
pub enum Opened<'c> {
    /// One number was written to a sorted set without a schema: whether the member is new, and its score.
    Done(bool, f64),
    Board(ServerBoard<'c>),
}

/// Opens the board of a write. The most common write is done at once: one number, one member, no options, no schema.
/// (Through the body of all writes `RANK.ADD` and `RANK.INCR` would take 15 % more instructions: callgrind, 10,000 members.)
#[inline]
pub fn open_for<'c>(
    call: &'c Call<'c>,
    key: Text<'c>,
    options: &WriteOptions,
    args: &Args<'c>,
    scores: Scores,
) -> Result<Opened<'c>> {
    let mut store = ZSet::open(call, key, Access::Write)?;
    if scores == Scores::Add {
        store.announce_as(c"zincr");
    }
    let marker = Marker::find(&mut store)?;
    if let (None, false, Some((number, member))) = (&marker, options.is_given, number_and_member(args)) {
        check_unreserved(member.bytes())?;
        let old = if scores == Scores::Add { store.score(&member) } else { None };
        let score = old.unwrap_or(0.0) + number + 0.0;
        // A sum that is not finite is an error, which the body of all writes reports.
        if score.is_finite() {
            let is_new = old != Some(score) && store.put(&member, score, Condition::Any) == PutResult::Added;
            return Ok(Opened::Done(is_new, score));
        }
    }
    Ok(Opened::Board(Board::with_marker(store, marker)))
}

/// A finite number and a member, if that is all there is.
#[inline]
fn number_and_member<'a>(args: &Args<'a>) -> Option<(f64, Text<'a>)> {
    let mut pair = args.clone();
    match (args.len(), pair.next(), pair.next()) {
        (2, Some(number), Some(member)) => Some((parse_finite(number.bytes())?, member.text())),
        _ => None,
    }
}

/// The arguments as scores and members: one score per field, then a member, and so on.
#[inline]
pub fn pairs<'a>(schema: &Schema, mut args: Args<'a>) -> Result<Pairs<Text<'a>>> {
    let fields = schema.fields().len();
    if args.is_empty() || !args.len().is_multiple_of(fields + 1) {
        return Err(wrong_count(args, |got| Error::score_count(fields, got)));
    }
    let mut pairs = Pairs::new();
    while !args.is_empty() {
        let (values, kept) = schema.parse_scores(args.take_first(fields).map(Arg::bytes))?;
        pairs.push(Pair { kept, ..Pair::new(values, args.text()?) });
    }
    Ok(pairs)
}

/// Whether a text can only be a score: a number, or `*` for a field that stays as it is.
pub fn is_score(text: &[u8]) -> bool {
    text == b"*" || parse_extended(text).is_some()
}

/// The error for a wrong number of arguments. If the first is a word, it is more likely an option that does not exist.
#[cold]
pub fn wrong_count(mut args: Args, wrong: impl FnOnce(usize) -> Error) -> Error {
    let got = args.len();
    match args.next() {
        Some(word) if !is_score(word.bytes()) => Error::unknown_option(word.bytes()),
        _ => wrong(got),
    }
}

/// Whether the next argument may be an option. Scores begin with a digit, a sign, a dot or `*`; only `inf` looks like a word.
pub fn begins_with_word(args: &Args) -> bool {
    args.peek().is_some_and(|arg| arg.bytes().first().is_some_and(u8::is_ascii_alphabetic))
}

/// Checks that the text is a JSON object, and returns it unchanged.
pub fn check_object(json: &[u8]) -> Result<&[u8]> {
    if is_object(json) {
        Ok(json)
    } else {
        Err(Error::takes("json", "a JSON object", json))
    }
}

/// Attributes to write, for each pair.
pub enum Records<'r> {
    None,
    /// For members that are on the board afterwards, or on one of its periods.
    OfMembers(&'r [Option<&'r [u8]>]),
    /// For members that are on the board afterwards and were not before.
    OfNewMembers(&'r [Option<&'r [u8]>]),
}

/// Where a write goes, besides the board itself.
pub enum Periods<'o> {
    /// `RANK.LOAD` restores one board.
    None,
    Current(&'o WriteOptions<'o>),
}

/// What a write did to the board, and to each of its current periods.
pub struct Done<'c> {
    pub written: WriteResult,
    periods: Vec<PeriodWrite<'c>>,
}

impl Done<'_> {
    /// What happened on the board that the client asked about, for each pair; nothing if that is a period which was not
    /// written to.
    pub fn changes(&self, ranks_of: RanksOf) -> &[MemberChange] {
        let Some(unit) = ranks_of else { return &self.written.changes };
        self.periods.iter().find(|period| period.unit == unit).map_or(&[], |period| &period.written.changes)
    }
}

/// Writes pairs to a board and its periods, with their attributes. All of it, or nothing.
pub fn write<'c>(
    call: &'c Call<'c>,
    board: &mut ServerBoard<'c>,
    mut write: WriteRequest,
    pairs: &[Pair<Text<'c>>],
    records: Records,
    periods: Periods,
) -> Result<Done<'c>> {
    let may_depart = match write.keep {
        Some(keep) => {
            let members = board.members()?;
            if members > keep {
                // Perhaps very many.
                call.take_time();
            }
            members.saturating_add(pairs.len() as u64) > keep && owns_hash(board.schema(), board.store.name())
        }
        None => false,
    };
    let (texts, only_new) = match records {
        Records::None => (&[][..], false),
        Records::OfMembers(texts) => (texts, false),
        Records::OfNewMembers(texts) => (texts, true),
    };
    let has_records = texts.iter().any(Option::is_some);
    if has_records {
        write.detail = write.detail.max(Detail::Scores);
    }
    let mut hash = if has_records || may_depart { Some(open_hash(call, board, Access::Write)?) } else { None };
    if may_depart {
        board.note_departures();
    }
    let mut periods = match periods {
        Periods::Current(options) if !board.schema().rules.periods.is_empty() => {
            plan_periods(call, board, &write, options, pairs)?
        }
        _ => Vec::new(),
    };
    let mut plan = board.plan(&write, pairs, Turn::First)?;
    // Everything was checked, on every board.
    let written = board.commit(&write, pairs, &mut plan)?;
    count_written(&written);
    periods.iter_mut().try_for_each(|period| period.commit(pairs))?;
    if let Some(hash) = &mut hash {
        let is_shared = !owns_hash(board.schema(), board.store.name());
        let mut recorded = std::collections::HashSet::new();
        for ((pair, text), change) in pairs.iter().zip(texts).zip(&written.changes) {
            let Some(text) = text else { continue };
            let is_there = change.after.is_some() || is_shared && periods.iter().any(|it| it.board.has(&pair.member));
            let is_first = !only_new || change.before.is_none() && recorded.insert(pair.member.bytes());
            if is_there && is_first {
                hash.set(pair.member.bytes(), text);
            }
        }
        board.departed().iter().for_each(|member| hash.remove(member.bytes()));
    }
    Ok(Done { written, periods })
}

/// Updates the counters of `INFO`.
pub fn count_written(written: &WriteResult) {
    if written.refused + written.evicted > 0 {
        stats::RANK.denied.add(written.refused);
        stats::EVICTED.add(written.evicted);
    }
    if written.overflowed > 0 {
        stats::OVERFLOWED.add(written.overflowed);
    }
}

/// Checks that a reply of `WITHRANK` is not too long.
pub fn check_changes(options: &WriteOptions, pairs: usize) -> Result<()> {
    if options.with_rank.is_some() {
        check_rows(pairs as u64)
    } else {
        Ok(())
    }
}

/// `[rank, previous rank, member, score..., previous score...]`
pub fn reply_change(board: &ServerBoard, member: &Text, change: Option<&MemberChange>, reply: &Reply) {
    let fields = board.schema().fields().len();
    let (before, after) = change.map_or((None, None), |change| (change.before.as_ref(), change.after.as_ref()));
    reply.array(3 + 2 * fields as u64);
    reply.count_or_null(after.and_then(|standing| standing.rank));
    reply.count_or_null(before.and_then(|standing| standing.rank));
    reply.bulk(member.bytes());
    for standing in [after, before] {
        match standing {
            Some(standing) => standing.values.iter().for_each(|value| reply.value(*value)),
            None => (0..fields).for_each(|_| reply.null()),
        }
    }
}
