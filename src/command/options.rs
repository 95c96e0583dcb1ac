//! The options of every read.

use super::periods::Choice;
use super::rows::{Data, Shown};
use super::{open_hash, open_to_read, ServerBoard};
use crate::board::{Board, Kind, Order, Point, Schema, Tuple};
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
pub struct Takes {
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

impl Takes {
    const NONE: Takes =
        Takes { members: false, time: false, limit: false, fill: false, point: false, worst: false, period: false };
    pub const ROWS: Takes = Takes { members: true, time: true, period: true, ..Takes::NONE };
    pub const ROWS_LIMIT: Takes = Takes { limit: true, ..Takes::ROWS };
    pub const ROWS_FILL: Takes = Takes { fill: true, ..Takes::ROWS };
    pub const ROWS_POINT: Takes = Takes { point: true, ..Takes::ROWS };
    pub const ROWS_WORST: Takes = Takes { worst: true, period: false, ..Takes::ROWS };
    pub const GROUPS: Takes = Takes { members: true, limit: true, period: true, ..Takes::NONE };
    pub const POINT: Takes = Takes { point: true, period: true, ..Takes::NONE };
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
    kind: Option<Kind>,
    order: Option<Order>,
    period: Option<Choice>,
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
    pub fn parse(mut args: Args<'a>, takes: Takes) -> Result<ReadOptions<'a>> {
        let (mut kind, mut order) = (None, None);
        let (mut json, mut data, mut time, mut fill, mut worst) = (None, None, None, None, None);
        let (mut limit, mut at, mut member, mut period) = (None, None, None, None);
        while let Some(arg) = args.next() {
            match arg.bytes().to_ascii_uppercase().as_slice() {
                b"COMPETITION" => one_of(&mut kind, Kind::Competition, "COMPETITION")?,
                b"DENSE" => one_of(&mut kind, Kind::Dense, "DENSE")?,
                b"ORDINAL" => one_of(&mut kind, Kind::Ordinal, "ORDINAL")?,
                b"ASC" if takes.members => one_of(&mut order, Order::Ascending, "ASC")?,
                b"DESC" if takes.members => one_of(&mut order, Order::Descending, "DESC")?,
                b"JSON" if takes.members => once(&mut json, (), "JSON")?,
                b"WITHDATA" if takes.members => once(&mut data, (), "WITHDATA")?,
                b"WITHTIME" if takes.time => once(&mut time, (), "WITHTIME")?,
                b"PERIOD" if takes.period => once(&mut period, Choice::parse(&mut args)?, "PERIOD")?,
                b"FILL" if takes.fill => once(&mut fill, (), "FILL")?,
                b"WORST" if takes.worst => once(&mut worst, (), "WORST")?,
                b"AT" if takes.point => once(&mut at, args.value_of("AT")?.time("AT")?, "AT")?,
                b"MEMBER" if takes.point => once(&mut member, args.value_of("MEMBER")?, "MEMBER")?,
                b"LIMIT" if takes.limit => {
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
    pub fn look_at<'c>(&self, call: &'c Call<'c>, board: &mut ServerBoard<'c>) -> Result<Option<Hash<'c>>> {
        if self.kind == Some(Kind::Dense) {
            // What follows counts distinct scores, up to rank.max-hops of them.
            call.take_time();
        }
        self.order.map_or(Ok(()), |order| board.read_from(order))?;
        // A missing board reads as an empty one, with or without attributes.
        let wants_hash = self.data && board.store.exists();
        let hash = if wants_hash { Some(open_hash(call, board, Access::Read)?) } else { None };
        if let Some(choice) = &self.period {
            choice.turn_to(call, board)?;
        }
        Ok(hash)
    }

    /// How rows of a board with this schema are shown.
    pub fn shown<'r, 'c>(&self, schema: &'r Schema, hash: Option<&'r Hash<'c>>) -> Shown<'r, 'c> {
        let data = hash.map_or(Data::Unwanted, Data::Hash);
        Shown { schema, data, time: self.time, json: self.json }
    }

    /// The kind of rank to show.
    pub fn kind<S: SortedSet>(&self, board: &Board<S>) -> Kind {
        self.kind.unwrap_or_else(|| board.default_kind())
    }

    /// Members of a group have equal fields, so the default is a competition rank.
    pub fn group_kind(&self) -> Kind {
        self.kind.unwrap_or(Kind::Competition)
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
    let choice = if args.next_if("PERIOD") { Some(Choice::parse(&mut args)?) } else { None };
    args.end()?;
    let mut board = open_to_read(call, key)?;
    if let Some(choice) = choice {
        choice.turn_to(call, &mut board)?;
    }
    Ok(board)
}
