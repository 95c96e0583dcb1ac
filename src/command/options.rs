//! The options of every read.

use super::periods::PeriodSelector;
use super::rows::{Data, RowFormat};
use super::{open_hash, open_to_read, ServerBoard};
use crate::board::{Board, Order, Point, RankKind, Schema, Tuple};
use crate::error::{set_once as once, set_one_of as one_of};
use crate::error::{Error, Result};
use crate::number::parse_extended;
use crate::server::{Access, Arg, Args, Call, Hash, Text};
use crate::words::Word;
use crate::zset::SortedSet;

/// The syntax of what every read of rows takes.
macro_rules! row_options {
    () => {
        "kind:[COMPETITION|DENSE|ORDINAL] [WITHTIME] [WITHDATA] [PERIOD unit which:[index|id]] order:[ASC|DESC] [JSON]"
    };
    // Of the board alone.
    (board) => {
        "kind:[COMPETITION|DENSE|ORDINAL] [WITHTIME] [WITHDATA] order:[ASC|DESC] [JSON]"
    };
}
pub(super) use row_options;

/// The syntax of what a period is chosen by.
macro_rules! period_option {
    () => {
        " [PERIOD unit which:[index|id]]"
    };
}
pub(super) use period_option;

pub(super) const RANK_COST: &str = "O(log(N)); with DENSE O(D*log(N)) for D better scores.";
pub(super) const ROWS_COST: &str = "O(log(N)+M) with M rows returned; with DENSE O(D*log(N)) more for D better scores.";

/// Options that only some reads take.
#[derive(Clone, Copy, Default)]
pub struct AllowedOptions {
    /// `JSON`, `ASC`, `DESC` and `WITHDATA`.
    pub members: bool,
    /// `WITHTIME`.
    pub time: bool,
    pub limit: bool,
    pub fill: bool,
    /// `AT` and `MEMBER`.
    pub point: bool,
    pub worst: bool,
    /// `PERIOD`.
    pub period: bool,
}

impl AllowedOptions {
    const NONE: AllowedOptions = AllowedOptions {
        members: false,
        time: false,
        limit: false,
        fill: false,
        point: false,
        worst: false,
        period: false,
    };
    pub const ROWS: AllowedOptions = AllowedOptions { members: true, time: true, period: true, ..AllowedOptions::NONE };
    pub const ROWS_LIMIT: AllowedOptions = AllowedOptions { limit: true, ..AllowedOptions::ROWS };
    pub const ROWS_FILL: AllowedOptions = AllowedOptions { fill: true, ..AllowedOptions::ROWS };
    pub const ROWS_POINT: AllowedOptions = AllowedOptions { point: true, ..AllowedOptions::ROWS };
    pub const ROWS_WORST: AllowedOptions = AllowedOptions { worst: true, period: false, ..AllowedOptions::ROWS };
    pub const GROUPS: AllowedOptions =
        AllowedOptions { members: true, limit: true, period: true, ..AllowedOptions::NONE };
    pub const POINT: AllowedOptions = AllowedOptions { point: true, period: true, ..AllowedOptions::NONE };
}

/// `LIMIT`; the default is everything.
#[derive(Clone, Copy)]
pub struct Limit {
    pub offset: u64,
    pub count: u64,
}

impl Default for Limit {
    fn default() -> Limit {
        Limit { offset: 0, count: u64::MAX }
    }
}

/// What a client said about a read.
pub struct ReadOptions<'a> {
    kind: Option<RankKind>,
    order: Option<Order>,
    period: Option<PeriodSelector>,
    pub json: bool,
    pub data: bool,
    pub time: bool,
    pub fill: bool,
    pub worst: bool,
    pub limit: Limit,
    at: Option<i64>,
    member: Option<Arg<'a>>,
}

impl<'a> ReadOptions<'a> {
    /// Reads what follows the required arguments.
    pub fn parse(mut args: Args<'a>, allowed: AllowedOptions) -> Result<ReadOptions<'a>> {
        let (mut kind, mut order) = (None, None);
        let (mut json, mut data, mut time, mut fill, mut worst) = (None, None, None, None, None);
        let (mut limit, mut at, mut member, mut period) = (None, None, None, None);
        while let Some(arg) = args.next() {
            match arg.bytes().to_ascii_uppercase().as_slice() {
                b"COMPETITION" => one_of(&mut kind, RankKind::Competition, "COMPETITION")?,
                b"DENSE" => one_of(&mut kind, RankKind::Dense, "DENSE")?,
                b"ORDINAL" => one_of(&mut kind, RankKind::Ordinal, "ORDINAL")?,
                b"ASC" if allowed.members => one_of(&mut order, Order::Ascending, "ASC")?,
                b"DESC" if allowed.members => one_of(&mut order, Order::Descending, "DESC")?,
                b"JSON" if allowed.members => once(&mut json, (), "JSON")?,
                b"WITHDATA" if allowed.members => once(&mut data, (), "WITHDATA")?,
                b"WITHTIME" if allowed.time => once(&mut time, (), "WITHTIME")?,
                b"PERIOD" if allowed.period => once(&mut period, PeriodSelector::parse(&mut args)?, "PERIOD")?,
                b"FILL" if allowed.fill => once(&mut fill, (), "FILL")?,
                b"WORST" if allowed.worst => once(&mut worst, (), "WORST")?,
                b"AT" if allowed.point => once(&mut at, args.value_of("AT")?.time("AT")?, "AT")?,
                b"MEMBER" if allowed.point => once(&mut member, args.value_of("MEMBER")?, "MEMBER")?,
                b"LIMIT" if allowed.limit => {
                    let offset = args.value_of("LIMIT")?.count("LIMIT offset", 0)?;
                    let count = args.value_of("LIMIT")?.integer("LIMIT count")?;
                    // As in ZRANGE, a negative count is all of them.
                    let count = u64::try_from(count).unwrap_or(u64::MAX);
                    once(&mut limit, Limit { offset, count }, "LIMIT")?;
                }
                _ => return Err(Error::unknown_option(arg.bytes())),
            }
        }
        Ok(ReadOptions {
            kind: kind.map(|(kind, _)| kind),
            order: order.map(|(order, _)| order),
            period,
            json: json.is_some(),
            data: data.is_some(),
            time: time.is_some(),
            fill: fill.is_some(),
            worst: worst.is_some(),
            limit: limit.unwrap_or_default(),
            at,
            member,
        })
    }

    /// Applies the options to an open board: its direction, its period, and the hash of its attributes.
    #[inline]
    pub fn apply_to<'c>(&self, call: &'c Call<'c>, board: &mut ServerBoard<'c>) -> Result<Option<Hash<'c>>> {
        if self.kind == Some(RankKind::Dense) {
            // What follows counts distinct scores, up to rank.max-hops of them.
            call.take_time();
        }
        self.order.map_or(Ok(()), |order| board.read_from(order))?;
        // A missing board reads as an empty one, with or without attributes.
        let wants_hash = self.data && board.store.exists();
        let hash = if wants_hash { Some(open_hash(call, board, Access::Read)?) } else { None };
        if let Some(choice) = &self.period {
            choice.switch_to(call, board)?;
        }
        Ok(hash)
    }

    /// How rows of a board with this schema are shown.
    pub fn shown<'r, 'c>(&self, schema: &'r Schema, hash: Option<&'r Hash<'c>>) -> RowFormat<'r, 'c> {
        let data = hash.map_or(Data::Unwanted, Data::Hash);
        RowFormat { schema, data, time: self.time, json: self.json }
    }

    /// The kind of rank to show.
    pub fn kind<S: SortedSet>(&self, board: &Board<S>) -> RankKind {
        self.kind.unwrap_or_else(|| board.default_kind())
    }

    /// Members of a group have equal fields, so the default is a competition rank.
    pub fn group_kind(&self) -> RankKind {
        self.kind.unwrap_or(RankKind::Competition)
    }

    /// The point in the order of a board that scores, `AT` and `MEMBER` make up.
    pub fn point(&self, values: Tuple) -> Point<'a> {
        Point { values, at: self.at, member: self.member.map(Arg::bytes) }
    }
}

/// Takes the scores of a point from the arguments: one for each field of the board, or all leading numbers if the board
/// does not exist.
pub fn point_scores<'a>(args: &mut Args<'a>, board: &ServerBoard) -> Result<Args<'a>> {
    let numbers = args.clone().take_while(|arg| parse_extended(arg.bytes()).is_some()).count();
    let fields = if board.store.exists() { board.schema().fields().len() } else { numbers.max(1) };
    if args.len() < fields || numbers > fields {
        return Err(Error::scores_alone(fields, numbers.max(args.len().min(fields))));
    }
    Ok(args.take_first(fields))
}

/// Opens a board to read it, or the board of a period, for commands that take no other option.
pub fn open_board_or_period<'c>(call: &'c Call<'c>, key: Text<'c>, mut args: Args<'c>) -> Result<ServerBoard<'c>> {
    let choice = if args.next_if("PERIOD") { Some(PeriodSelector::parse(&mut args)?) } else { None };
    args.end()?;
    let mut board = open_to_read(call, key)?;
    if let Some(choice) = choice {
        choice.switch_to(call, &mut board)?;
    }
    Ok(board)
}
