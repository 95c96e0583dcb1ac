//! The options of every read.

use super::args::{count, integer, once, one_of, value_of};
use crate::board::{Board, Kind, Order, Store};
use crate::error::{Error, Result, Shown};
use crate::server::Args;

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
    pub const GROUPS: Takes = Takes { data: false, limit: true, fill: false };
}

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

pub struct ReadOptions {
    kind: Option<Kind>,
    order: Option<Order>,
    pub json: bool,
    pub data: bool,
    pub fill: bool,
    pub limit: Limit,
}

impl ReadOptions {
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

    pub fn apply<S: Store>(&self, board: &mut Board<S>) -> Result<()> {
        self.order.map_or(Ok(()), |order| board.read_from(order))
    }

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
