//! The options of every read.

use super::args::{count, integer, once, one_of, value_of};
use super::{open_hash, open_to_read, ServerBoard};
use crate::board::{Board, Kind, Order, Store};
use crate::error::{Error, Result, Shown};
use crate::server::{Access, Args, Call, Hash, Text};

/// The syntax of what every read of rows takes.
macro_rules! row_options {
    () => {
        "kind:[COMPETITION|DENSE|ORDINAL] [WITHDATA] order:[ASC|DESC] [JSON]"
    };
}
pub(super) use row_options;

pub(super) const RANK_COST: &str = "O(log(N)); with DENSE O(D*log(N)) for D better scores.";
pub(super) const ROWS_COST: &str = "O(log(N)+M) with M rows returned; with DENSE O(D*log(N)) more for D better scores.";

/// Options that only some reads take.
#[derive(Clone, Copy, Default)]
pub struct Takes {
    pub data: bool,
    pub limit: bool,
    pub fill: bool,
}

impl Takes {
    pub const ROWS: Takes = Takes { data: true, limit: false, fill: false };
    pub const ROWS_LIMIT: Takes = Takes { data: true, limit: true, fill: false };
    pub const ROWS_FILL: Takes = Takes { data: true, limit: false, fill: true };
}

/// `LIMIT`, everything unless a client says otherwise.
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
pub struct ReadOptions {
    kind: Option<Kind>,
    order: Option<Order>,
    pub json: bool,
    pub data: bool,
    pub fill: bool,
    pub limit: Limit,
}

impl ReadOptions {
    /// Reads what follows the required arguments.
    pub fn parse(mut args: Args, takes: Takes) -> Result<ReadOptions> {
        let (mut kind, mut order) = (None, None);
        let (mut json, mut data, mut fill, mut limit) = (None, None, None, None);
        while let Some(arg) = args.next() {
            match arg.bytes().to_ascii_uppercase().as_slice() {
                b"COMPETITION" => one_of(&mut kind, Kind::Competition, "COMPETITION")?,
                b"DENSE" => one_of(&mut kind, Kind::Dense, "DENSE")?,
                b"ORDINAL" => one_of(&mut kind, Kind::Ordinal, "ORDINAL")?,
                b"ASC" => one_of(&mut order, Order::Ascending, "ASC")?,
                b"DESC" => one_of(&mut order, Order::Descending, "DESC")?,
                b"JSON" => once(&mut json, (), "JSON")?,
                b"WITHDATA" if takes.data => once(&mut data, (), "WITHDATA")?,
                b"FILL" if takes.fill => once(&mut fill, (), "FILL")?,
                b"LIMIT" if takes.limit => {
                    let offset = count(value_of(&mut args, "LIMIT")?, "LIMIT offset", 0)?;
                    let count = integer(value_of(&mut args, "LIMIT")?, "LIMIT count")?;
                    // As in ZRANGE, a negative count is all of them.
                    let count = u64::try_from(count).unwrap_or(u64::MAX);
                    once(&mut limit, Limit { offset, count }, "LIMIT")?;
                }
                _ => return Err(Error::UnknownOption(Shown::new(arg.bytes()))),
            }
        }
        Ok(ReadOptions {
            kind: kind.map(|(kind, _)| kind),
            order: order.map(|(order, _)| order),
            json: json.is_some(),
            data: data.is_some(),
            fill: fill.is_some(),
            limit: limit.unwrap_or_default(),
        })
    }

    /// Opens a board to be read as the options want it, and the hash of its attributes if they want that.
    pub fn open<'c>(&self, call: &'c Call<'c>, key: Text<'c>) -> Result<(ServerBoard<'c>, Option<Hash<'c>>)> {
        let mut board = open_to_read(call, key)?;
        self.order.map_or(Ok(()), |order| board.read_from(order))?;
        // A missing board reads as an empty one, whatever it would have.
        let wants_hash = self.data && board.store.exists();
        let hash = if wants_hash { Some(open_hash(call, &board, Access::Read)?) } else { None };
        Ok((board, hash))
    }

    /// The kind of rank to show.
    pub fn kind<S: Store>(&self, board: &Board<S>) -> Kind {
        self.kind.unwrap_or_else(|| board.default_kind())
    }

    /// Groups are of members equal on the fields, so they have competition ranks unless told otherwise.
    pub fn group_kind(&self) -> Kind {
        self.kind.unwrap_or(Kind::Competition)
    }
}

/// `COMPETITION`, `DENSE` or `ORDINAL`.
pub fn kind(args: Args) -> Result<Option<Kind>> {
    let options = ReadOptions::parse(args.clone(), Takes::default())?;
    if options.json || options.order.is_some() {
        let wrong = args.clone().find(|arg| ["JSON", "ASC", "DESC"].iter().any(|word| arg.is(word)));
        return Err(Error::UnknownOption(Shown::new(wrong.map_or(b"", |arg| arg.bytes()))));
    }
    Ok(options.kind)
}
