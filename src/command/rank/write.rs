//! The body of every write of scores: `RANK.ADD`, `RANK.MULTISET`, `RANK.INCR` and `RANK.LOAD`.
//!
//! A command reads its words into [`WriteOptions`] and pairs. From there on all are the same: open everything that the write
//! touches, with the caller's permission (the hash of attributes, the boards of current periods); plan the write on every
//! board, which finds whatever could fail; then change them all. The reply is the command's own.

use super::periods::plan_periods;
use super::{open_hash, owns_hash, ServerBoard};
use crate::board::{
    is_object, MemberChange, Pair, Pairs, PeriodUnit, Plan, ReportLevel, Rules, Schema, Update, Value, WriteMode,
    WriteRequest, WriteResult,
};
use crate::config::check_rows;
use crate::error::{Error, Result};
use crate::number::parse_extended;
use crate::server::{Access, Arg, Args, Call, Options, Reply, Text};
use crate::stats;
use crate::words::Word;
use crate::zset::{Condition, PutResult};

/// The board that `WITHRANK` answers about: a period, or the board itself.
pub type RanksOf = Option<PeriodUnit>;

/// The options before the scores.
#[derive(Default)]
pub struct WriteOptions<'a> {
    /// `BOARD n`: the board must have a schema with as many fields.
    fields: Option<usize>,
    pub condition: Condition,
    update: Option<Update>,
    keep: Option<u64>,
    pub count_changed: bool,
    pub with_rank: Option<RanksOf>,
    pub at: Option<i64>,
    pub json: Option<&'a [u8]>,
    /// `RANK.LOAD` restores one board: its periods stay as they are, and `NX` leaves the attributes of existing members alone.
    pub is_load: bool,
}

impl<'a> WriteOptions<'a> {
    /// Reads the options in front of the scores, up to a word that is none.
    #[inline]
    pub fn parse(call: &Call<'a>, args: &mut Args<'a>) -> Result<WriteOptions<'a>> {
        if begins_with_letter(args) {
            WriteOptions::read(call.options_in_front(args.clone()), args)
        } else {
            Ok(WriteOptions::default())
        }
    }

    #[cold]
    fn read(mut options: Options<'a>, args: &mut Args<'a>) -> Result<WriteOptions<'a>> {
        let mut write = WriteOptions::default();
        while let Some(option) = options.next()? {
            match option {
                "BOARD" => {
                    let fields = options.value()?.count("BOARD", 1)?;
                    write.fields = Some(usize::try_from(fields).unwrap_or(usize::MAX));
                }
                "WITHRANK" => {
                    let period = options.words.next_if("PERIOD");
                    let unit = if period { Some(PeriodUnit::read(&mut options.words, "PERIOD")?) } else { None };
                    write.with_rank = Some(unit);
                }
                "AT" => write.at = Some(options.value()?.time("AT")?),
                "NX" => write.condition = Condition::New,
                "XX" => write.condition = Condition::Existing,
                "SET" => write.update = Some(Update::Set),
                "BEST" => write.update = Some(Update::Best),
                "KEEP" => write.keep = Some(options.value()?.count("KEEP", 1)?),
                "CH" => write.count_changed = true,
                "DATA" => write.json = Some(check_object(Arg::bytes(options.value()?))?),
                _ => return Err(options.unknown()),
            }
        }
        if write.condition == Condition::New && write.update == Some(Update::Best) {
            return Err(Error::mutually_exclusive("NX", "BEST"));
        }
        *args = options.words;
        Ok(write)
    }

    /// The update rule on a board of this schema. Increments ignore it.
    pub fn update_on(&self, schema: &Schema, mode: WriteMode) -> Update {
        match mode {
            WriteMode::Set => self.update.unwrap_or(schema.rules.update),
            WriteMode::Add => Update::Set,
        }
    }

    /// The bound on a board of this schema.
    pub fn keep_on(&self, schema: &Schema) -> Option<u64> {
        schema.rules.keep.or(self.keep)
    }

    /// Checks that a board is the one that a client declared: it has a schema, with as many fields.
    pub fn check_declared(&self, board: &ServerBoard) -> Result<()> {
        let Some(fields) = self.fields else { return Ok(()) };
        if board.schema_text().is_none() {
            return Err(Error::no_board());
        }
        match board.schema().fields().len() {
            own if own == fields => Ok(()),
            own => Err(Error::other_fields(own, fields)),
        }
    }

    /// What is written to a board of this schema.
    pub fn request(&self, call: &Call, schema: &Schema, mode: WriteMode) -> Result<WriteRequest> {
        if let (Some(keep), true) = (schema.rules.keep, self.keep.is_some()) {
            return Err(Error::has_own_keep(keep));
        }
        if let Some(Some(unit)) = self.with_rank {
            schema.rules.periods.of(unit)?;
        }
        let report = match mode {
            _ if self.with_rank == Some(None) => ReportLevel::Ranks,
            WriteMode::Add => ReportLevel::Scores,
            WriteMode::Set => ReportLevel::Nothing,
        };
        Ok(WriteRequest {
            mode,
            condition: self.condition,
            update: self.update_on(schema, mode),
            keep: self.keep_on(schema),
            // The clock is read once, and only if ties need it.
            now: if schema.layout.has_time() { self.at.unwrap_or_else(|| call.ctx.now()) } else { 0 },
            report,
            names_removed: false,
        })
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
pub fn begins_with_letter(args: &Args) -> bool {
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

/// A board that a call writes to: the client's own, or that of a current period.
pub struct BoardWrite<'c> {
    pub board: ServerBoard<'c>,
    plan: Option<Plan<Text<'c>>>,
    created: Option<CreatedBoard>,
    pub result: WriteResult<Text<'c>>,
}

/// What a write that creates its board gives it.
pub struct CreatedBoard {
    pub rules: Rules,
    pub expires: Option<i64>,
}

impl<'c> BoardWrite<'c> {
    /// Finds whatever could fail. Nothing is changed.
    pub fn plan(
        mut board: ServerBoard<'c>,
        created: Option<CreatedBoard>,
        request: &WriteRequest,
        pairs: &[Pair<Text<'c>>],
    ) -> Result<BoardWrite<'c>> {
        let plan = Some(board.plan(request, pairs)?);
        // `XX` adds no members, so it does not create a board.
        let created = created.filter(|_| request.condition != Condition::Existing);
        Ok(BoardWrite { board, plan, created, result: WriteResult::default() })
    }

    /// Writes what was planned.
    fn commit(&mut self, pairs: &[Pair<Text<'c>>]) {
        let Some(plan) = self.plan.take() else { return };
        if let Some(CreatedBoard { rules, .. }) = &self.created {
            let since = self.board.since().unwrap_or(0);
            self.board.set_rules(rules, since);
        }
        self.result = self.board.commit(plan, pairs);
        count_result(&self.result);
        if let Some(CreatedBoard { expires: Some(expires), .. }) = self.created {
            self.board.expire_at(expires);
        }
    }
}

/// What a call wrote to the board, and to each of its current periods.
pub struct Written<'c> {
    pub own: BoardWrite<'c>,
    periods: Vec<(PeriodUnit, BoardWrite<'c>)>,
}

impl Written<'_> {
    /// What happened on the board that the client asked about, for each pair; nothing if that is a period which was not
    /// written to.
    pub fn changes(&self, ranks_of: RanksOf) -> &[MemberChange] {
        let Some(unit) = ranks_of else { return &self.own.result.changes };
        self.periods.iter().find(|(own, _)| *own == unit).map_or(&[], |(_, period)| &period.result.changes)
    }
}

/// Writes a single pair if [`Board::put_score`] can, and replies with what that did and the scores. Returns whether it could.
///
/// [`Board::put_score`]: crate::board::Board::put_score
#[inline]
pub fn put_score<'c>(
    board: &mut ServerBoard<'c>,
    options: &WriteOptions,
    mode: WriteMode,
    mut args: Args<'c>,
    reply: impl FnOnce(PutResult, &[Value]),
) -> Result<bool> {
    let schema = board.schema();
    let fields = schema.fields().len();
    let has_options = options.condition != Condition::Any || options.with_rank.is_some() || options.json.is_some();
    let is_bounded = options.keep_on(schema).is_some();
    let has_more = schema.layout.has_time() || !schema.rules.periods.is_empty();
    if args.len() != fields + 1 || has_options || is_bounded || has_more {
        return Ok(false);
    }
    let update = options.update_on(schema, mode);
    let mut words = args.take_first(fields).map(Arg::bytes);
    let member = args.text()?;
    if let ([field], Some(word)) = (schema.fields(), words.clone().next()) {
        // By far the most common board needs no list of values.
        let mut values = [match mode {
            WriteMode::Set => schema.parse_value(field, word)?,
            WriteMode::Add => schema.parse_delta(field, word)?,
        }];
        let put = board.put_score(&member, &mut values, mode, update)?;
        return Ok(put.map(|put| reply(put, &values)).is_some());
    }
    let (mut values, kept) = match mode {
        WriteMode::Set => schema.parse_scores(&mut words)?,
        WriteMode::Add => (schema.parse_deltas(words)?, 0),
    };
    let put = if kept == 0 { board.put_score(&member, &mut values, mode, update)? } else { None };
    Ok(put.map(|put| reply(put, &values)).is_some())
}

/// Writes pairs to a board and its periods, and the attributes of each pair to the board's hash: all of it, or nothing.
pub fn write<'c>(
    call: &'c Call<'c>,
    mut board: ServerBoard<'c>,
    created: Option<CreatedBoard>,
    options: &WriteOptions,
    mode: WriteMode,
    pairs: &[Pair<Text<'c>>],
    attributes: &[Option<&[u8]>],
) -> Result<Written<'c>> {
    let mut request = options.request(call, board.schema(), mode)?;
    let is_owner = owns_hash(board.schema(), board.key());
    if let Some(keep) = request.keep {
        let members = board.members()?;
        if members > keep {
            // The board may have far more members than it is to keep, and removing them takes time.
            call.start_timing();
        }
        request.names_removed = is_owner && members.saturating_add(pairs.len() as u64) > keep;
    }
    let has_attributes = attributes.iter().any(Option::is_some);
    if has_attributes {
        request.report = request.report.max(ReportLevel::Scores);
    }
    let needs_hash = has_attributes || request.names_removed;
    let mut hash = if needs_hash { Some(open_hash(call, &board, Access::Write)?) } else { None };
    let mut periods = Vec::new();
    if !options.is_load && !board.schema().rules.periods.is_empty() {
        board.schema().rules.periods.check_owner(board.key().bytes())?;
        periods = plan_periods(call, &board, &request, options, pairs)?;
    }
    let mut own = BoardWrite::plan(board, created, &request, pairs)?;
    // Everything was checked, on every board.
    own.commit(pairs);
    periods.iter_mut().for_each(|(_, period)| period.commit(pairs));
    if let Some(hash) = &mut hash {
        let only_new = options.is_load && options.condition == Condition::New;
        let mut written = std::collections::HashSet::new();
        for ((pair, text), change) in pairs.iter().zip(attributes).zip(&own.result.changes) {
            let Some(text) = text else { continue };
            let is_in_period = || periods.iter().any(|(_, period)| period.board.has(&pair.member));
            let is_there = change.after.is_some() || !is_owner && is_in_period();
            let is_first = !only_new || change.before.is_none() && written.insert(pair.member.bytes());
            if is_there && is_first {
                hash.set(pair.member.bytes(), text);
            }
        }
        own.result.removed.iter().for_each(|member| hash.remove(member.name()));
    }
    Ok(Written { own, periods })
}

/// Updates the counters of `INFO`.
fn count_result(written: &WriteResult<Text>) {
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
    reply.count_or_null(after.and_then(|after| after.rank));
    reply.count_or_null(before.and_then(|before| before.rank));
    reply.bulk(member.bytes());
    for scores in [after, before] {
        match scores {
            Some(scores) => scores.values.iter().for_each(|value| reply.value(*value)),
            None => (0..fields).for_each(|_| reply.null()),
        }
    }
}
