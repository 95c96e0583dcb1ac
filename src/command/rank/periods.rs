//! The boards of periods: writes to the main board also go to them, reads with `PERIOD` open them, and `RANK.PERIODS`
//! lists them.

use std::ffi::CStr;

use super::output::Output;
use super::write::{BoardWrite, CreatedBoard, WriteOptions};
use super::{open_to_read, ServerBoard};
use crate::board::{Board, Pair, Period, PeriodUnit, Periods, ReportLevel, Schema, WriteMode, WriteRequest};
use crate::calendar::Span;
use crate::command;
use crate::config::{check_rows, MAX_HOPS};
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::number::parse_integer;
use crate::server::{Access, Args, Call, Caller, Text, ZSet};
use crate::slot::{slot_of, slot_of_all};
use crate::words::Word;

command! { PERIODS = periods;
    Doc::read("rank.periods", "key unit:[HOUR|DAY|WEEK|MONTH|YEAR|EVERY] [NOW now:ms] [JSON]",
    "Lists the retained periods of a board, newest first.", "O(P) for P retained periods.")
}

/// Checks that all keys of periods are in the slot of the board, if the server is in cluster mode.
pub fn check_prefixes(call: &Call, board: &Text, periods: &Periods) -> Result<()> {
    if !call.ctx.is_cluster() {
        return Ok(());
    }
    let slot = slot_of(board.bytes());
    match periods.iter().find(|period| slot_of_all(&period.prefix) != Some(slot)) {
        Some(period) => Err(Error::other_slot(&period.prefix)),
        None => Ok(()),
    }
}

/// Opens the boards of periods. The caller's user is looked up once for all of them.
struct Opener<'c> {
    call: &'c Call<'c>,
    caller: Caller,
    access: Access,
    /// The event of a changed score.
    event: &'static CStr,
}

impl<'c> Opener<'c> {
    fn new(call: &'c Call<'c>, access: Access) -> Opener<'c> {
        Opener { call, caller: call.ctx.caller(), access, event: c"zadd" }
    }

    /// Opens the board for a span. It may not exist. If it does, its fields and ties must be those of the main board.
    fn open(&self, parent: &ServerBoard<'c>, period: &Period, span: Span) -> Result<ServerBoard<'c>> {
        let key = period.key(span);
        let (rules, own_key) = (&parent.schema().rules, parent.key());
        if *key == *own_key.bytes() || rules.data.as_ref().is_some_and(|data| *data.hash == *key) {
            return Err(Error::period_is_own_key(&key));
        }
        let opened = ZSet::open_period(self.call, &self.caller, own_key, Text::new(&key), self.access);
        let announced = opened.map(|mut set| {
            set.announce_as(self.event);
            set
        });
        let board = announced.and_then(Board::open).map_err(|error| error.in_period(&key))?;
        let theirs = &board.schema().rules;
        if board.exists() && (theirs.fields != rules.fields || theirs.ties != rules.ties) {
            return Err(Error::period_differs(&key));
        }
        Ok(board)
    }

    /// An error unless the caller may also read the board for a span: `WITHRANK PERIOD` shows ranks and scores of it.
    fn check_readable(&self, period: &Period, span: Span) -> Result<()> {
        let key = period.key(span);
        if self.caller.may(&Text::new(&key), Access::Read) {
            Ok(())
        } else {
            Err(Error::no_permission(&key))
        }
    }
}

/// Opens the current board of each period, and plans there what is written to the main board. Nothing is changed.
#[cold]
pub fn plan_periods<'c>(
    call: &'c Call<'c>,
    parent: &ServerBoard<'c>,
    request: &WriteRequest,
    options: &WriteOptions,
    pairs: &[Pair<Text<'c>>],
) -> Result<Vec<(PeriodUnit, BoardWrite<'c>)>> {
    let schema = parent.schema();
    let now = match options.at {
        // Use the same time as the ties, if they have already read the clock.
        None if schema.layout.has_time() => request.now,
        _ => call.ctx.now(),
    };
    let event = if request.mode == WriteMode::Add { c"zincr" } else { c"zadd" };
    let opener = Opener { event, ..Opener::new(call, Access::Write) };
    let mut writes = Vec::with_capacity(schema.rules.periods.iter().len());
    for period in schema.rules.periods.iter() {
        let Some((span, expires)) = period.span_of_write(options.at.unwrap_or(now), now) else { continue };
        let wants_ranks = options.with_rank == Some(Some(period.unit()));
        if wants_ranks {
            opener.check_readable(period, span)?;
        }
        let mut board = opener.open(parent, period, span)?;
        let mut created = None;
        if !board.exists() {
            let rules = schema.rules.inherited();
            board.use_schema(Schema::new(rules.clone()), span.start.max(0));
            created = Some(CreatedBoard { rules, expires: Some(expires) });
        }
        // Each board has its own rules, unless the client says otherwise.
        let request = WriteRequest {
            update: options.update_on(board.schema(), request.mode),
            keep: options.keep_on(board.schema()),
            report: if wants_ranks { ReportLevel::Ranks } else { ReportLevel::Nothing },
            names_removed: false,
            ..*request
        };
        let key = board.key().clone();
        let write = BoardWrite::plan(board, created, &request, pairs);
        writes.push((period.unit(), write.map_err(|error| error.in_period(key.bytes()))?));
    }
    Ok(writes)
}

/// Opens the boards of all periods that are kept and exist.
#[cold]
pub fn open_kept<'c>(call: &'c Call<'c>, parent: &ServerBoard<'c>) -> Result<Vec<ServerBoard<'c>>> {
    let (now, opener) = (call.ctx.now(), Opener::new(call, Access::Write));
    let mut kept = Vec::new();
    for period in parent.schema().rules.periods.iter() {
        for span in period.kept(now) {
            let board = opener.open(parent, period, span)?;
            if board.exists() {
                kept.push(board);
            }
        }
    }
    Ok(kept)
}

/// The board of a period that a client wants to read.
pub struct PeriodSelector {
    unit: PeriodUnit,
    which: PeriodIndex,
}

enum PeriodIndex {
    /// 0 for the current period, -1 for the one before it.
    Index(i64),
    Id(Vec<u8>),
}

impl PeriodSelector {
    /// Parses the arguments after `PERIOD`.
    pub fn parse(args: &mut Args) -> Result<PeriodSelector> {
        let unit = PeriodUnit::read(args, "PERIOD")?;
        // Indexes and ids begin with a digit or a sign. Options do not.
        let is_value = |first: &u8| first.is_ascii_digit() || matches!(first, b'+' | b'-');
        let which = match args.peek().map(|arg| arg.bytes()).filter(|bytes| bytes.first().is_some_and(is_value)) {
            None => PeriodIndex::Index(0),
            Some(text) => {
                args.next();
                match parse_integer(text) {
                    Some(index) if index <= 0 => PeriodIndex::Index(index),
                    _ => PeriodIndex::Id(text.to_vec()),
                }
            }
        };
        Ok(PeriodSelector { unit, which })
    }

    /// Replaces the main board by the chosen one. If the main board does not exist, all its periods are empty.
    #[cold]
    pub fn switch_to<'c>(&self, call: &'c Call<'c>, board: &mut ServerBoard<'c>) -> Result<()> {
        if board.exists() {
            *board = self.open(call, board)?;
        }
        Ok(())
    }

    /// Opens the chosen board. It is empty if it does not exist.
    fn open<'c>(&self, call: &'c Call<'c>, parent: &ServerBoard<'c>) -> Result<ServerBoard<'c>> {
        let period = parent.schema().rules.periods.of(self.unit)?;
        let span = match &self.which {
            PeriodIndex::Index(index) => {
                let current = period.cycle.containing(call.ctx.now());
                current.and_then(|span| period.cycle.neighbour(span, *index))
            }
            PeriodIndex::Id(id) => {
                let takes = "0, a negative index, or the id of a period";
                let wrong = || Error::takes("PERIOD", takes, id);
                Some(period.cycle.named(id).ok_or_else(wrong)?)
            }
        };
        let mut board = match span {
            Some(span) => Opener::new(call, Access::Read).open(parent, period, span)?,
            // `EVERY` has no period before its start.
            None => Board::open(ZSet::absent(call, parent.key().clone()))?,
        };
        if !board.exists() {
            board.use_schema(Schema::new(parent.schema().rules.inherited()), 0);
        }
        board.set_max_hops(MAX_HOPS.bound());
        Ok(board)
    }
}

/// A row of `RANK.PERIODS`.
struct PeriodInfo {
    unit: PeriodUnit,
    id: String,
    key: Vec<u8>,
    span: Span,
    members: u64,
    expires: Option<i64>,
}

fn periods<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, args) = call.key_and_args()?;
    let (mut unit, mut now, mut json) = (None, None, false);
    let mut options = call.options(args);
    while let Some(option) = options.next()? {
        match option {
            "NOW" => now = Some(options.value()?.time("NOW")?),
            "JSON" => json = true,
            _ => unit = PeriodUnit::parse(option.as_bytes()),
        }
    }
    let board = open_to_read(call, key)?;
    let listed =
        if board.exists() { list(call, &board, unit, now.unwrap_or_else(|| call.ctx.now()))? } else { Vec::new() };
    let reply = call.reply();
    let mut out = Output::new(&reply, json);
    out.list(listed.len() as u64);
    listed.iter().for_each(|info| info.write(&mut out));
    out.end_list();
    out.send(&reply);
    Ok(())
}

fn list<'c>(
    call: &'c Call<'c>,
    board: &ServerBoard<'c>,
    unit: Option<PeriodUnit>,
    now: i64,
) -> Result<Vec<PeriodInfo>> {
    let all = &board.schema().rules.periods;
    let wanted: Vec<&Period> = match unit {
        Some(unit) => vec![all.of(unit)?],
        None => all.iter().collect(),
    };
    check_rows(wanted.iter().map(|period| period.kept(now).count() as u64).sum())?;
    let (mut listed, opener) = (Vec::new(), Opener::new(call, Access::Read));
    for period in wanted {
        for span in period.kept(now) {
            let mut opened = opener.open(board, period, span)?;
            let name = opened.key().clone();
            listed.push(PeriodInfo {
                unit: period.unit(),
                id: period.cycle.id(span),
                key: name.bytes().to_vec(),
                span,
                members: opened.members().map_err(|error| error.in_period(name.bytes()))?,
                expires: if opened.exists() { opened.expiry() } else { Some(period.expires(span)) },
            });
        }
    }
    // The sort is stable: periods with the same start stay in the order of their units, shortest first.
    listed.sort_by_key(|line| std::cmp::Reverse(line.span.start));
    Ok(listed)
}

impl PeriodInfo {
    fn write(&self, out: &mut Output) {
        out.map(7);
        for (field, value) in [("unit", self.unit.name().as_bytes()), ("id", self.id.as_bytes()), ("key", &self.key)] {
            out.map_field(field);
            out.name(value);
        }
        for (field, value) in [("start", self.span.start), ("end", self.span.end)] {
            out.map_field(field);
            out.integer(value);
        }
        out.map_field("members");
        out.count(self.members);
        out.map_field("expires");
        out.integer_or_null(self.expires);
        out.end_record();
    }
}
