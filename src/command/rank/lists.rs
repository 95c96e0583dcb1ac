//! `RANK.TOPN`, `RANK.RANGE`, `RANK.PAGE`, `RANK.AROUND`, `RANK.BYSCORE`, `RANK.AFTER` and `RANK.BEFORE`.

use super::options::{leading_numbers, read_rows, report_keys, row_options, Read, LIST_COST};
use super::ServerBoard;
use crate::board::{Board, FieldBound, Point};
use crate::command;
use crate::config::check_rows;
use crate::error::Result;
use crate::server::{Args, Call};
use crate::words::Word;

command! { TOPN = topn;
    read_rows("rank.topn", concat!("key n ", row_options!()), "Returns the n best-ranked members.", LIST_COST)
}

command! { RANGE = range;
    read_rows("rank.range", concat!("key start stop ", row_options!()),
    "Returns members in a range of positions.", LIST_COST)
}

command! { PAGE = page;
    read_rows("rank.page", concat!("key page size ", row_options!()),
    "Returns one page of a board, with the number of pages and members.", LIST_COST)
}

command! { AROUND = around;
    read_rows("rank.around", concat!("key member distance [FILL] ", row_options!()),
    "Returns a member and its neighbours.", LIST_COST)
}

command! { BYSCORE = byscore;
    read_rows("rank.byscore", concat!("key min max [LIMIT offset count] ", row_options!()),
    "Returns members whose first field is in a range.", LIST_COST)
}

command! { AFTER = after;
    read_rows("rank.after", concat!("key n score ... [AT time:ms] [MEMBER name] ", row_options!()),
    "Returns the n members after a score.", LIST_COST)
}

command! { BEFORE = before;
    read_rows("rank.before", concat!("key n score ... [AT time:ms] [MEMBER name] ", row_options!()),
    "Returns the n members before a score.", LIST_COST)
}

fn topn<'c>(call: &'c Call<'c>) -> Result<()> {
    if call.asks_for_keys() {
        return report_keys(call, 1);
    }
    let (key, mut args) = call.key_and_args()?;
    let n = args.required()?.count("n", 0)?;
    let mut read = Read::open(call, key, args)?;
    let rows = read.rows_at(0, n)?;
    read.reply_rows(&rows)
}

fn range<'c>(call: &'c Call<'c>) -> Result<()> {
    if call.asks_for_keys() {
        return report_keys(call, 2);
    }
    let (key, mut args) = call.key_and_args()?;
    let start = position(&mut args, "start")?;
    let stop = position(&mut args, "stop")?;
    let mut read = Read::open(call, key, args)?;
    let members = read.board.members()?;
    let first = from_either_end(start, members).saturating_sub(1);
    let end = from_either_end(stop, members);
    let rows = read.rows_at(first, end.saturating_sub(first))?;
    read.reply_rows(&rows)
}

fn position(args: &mut Args, what: &'static str) -> Result<i64> {
    let word = args.required()?;
    let takes = "a position from 1, or a negative one";
    word.integer(what).ok().filter(|value| *value != 0).ok_or_else(|| word.refuse(what, takes))
}

/// A position, starting at 1; 0 if it is before the first.
fn from_either_end(position: i64, members: u64) -> u64 {
    if position > 0 {
        return position.unsigned_abs();
    }
    (members + 1).saturating_sub(position.unsigned_abs())
}

fn page<'c>(call: &'c Call<'c>) -> Result<()> {
    if call.asks_for_keys() {
        return report_keys(call, 2);
    }
    let (key, mut args) = call.key_and_args()?;
    let page = args.required()?.count("page", 1)?;
    let size = args.required()?.count("size", 1)?;
    let mut read = Read::open(call, key, args)?;
    let members = read.board.members()?;
    let pages = members.div_ceil(size);
    let rows = read.rows_at((page - 1).saturating_mul(size), size)?;
    read.reply(rows.iter(), |format, out| {
        out.record(4);
        for (name, value) in [("page", page), ("pages", pages), ("members", members)] {
            out.field(name);
            out.count(value);
        }
        out.field("rows");
        format.rows(&rows, out);
        out.end_record();
    })
}

fn around<'c>(call: &'c Call<'c>) -> Result<()> {
    if call.asks_for_keys() {
        return report_keys(call, 2);
    }
    let (key, mut args) = call.key_and_args()?;
    let member = args.text()?;
    let distance = args.required()?.count("distance", 0)?;
    let mut read = Read::open(call, key, args)?;
    let members = read.board.members()?;
    let Some(found) = read.board.find(&member)? else {
        read.null();
        return Ok(());
    };
    let position = read.board.position(&found.stored)?;
    let width = distance.saturating_mul(2).saturating_add(1);
    let mut first = position.saturating_sub(distance);
    let mut end = position.saturating_add(distance).saturating_add(1).min(members);
    if read.options.fill {
        first = first.min(members.saturating_sub(width));
        end = first.saturating_add(width);
    }
    check_rows(read.board.rows_from(first, end - first)?)?;
    let kind = read.kind();
    let rows = read.board.rows_near((&found, position), first, end - first, kind)?;
    read.reply_rows(&rows)
}

fn byscore<'c>(call: &'c Call<'c>) -> Result<()> {
    if call.asks_for_keys() {
        return report_keys(call, 2);
    }
    let (key, mut args) = call.key_and_args()?;
    let min = FieldBound::parse(args.required()?.bytes(), "min")?;
    let max = FieldBound::parse(args.required()?.bytes(), "max")?;
    let mut read = Read::open(call, key, args)?;
    let (first, end) = read.board.first_field_positions(min, max)?;
    let limit = read.options.limit;
    let first = first.saturating_add(limit.offset);
    let rows = read.rows_at(first, end.saturating_sub(first).min(limit.count))?;
    read.reply_rows(&rows)
}

fn after<'c>(call: &'c Call<'c>) -> Result<()> {
    beside_point(call, Board::positions_after)
}

fn before<'c>(call: &'c Call<'c>) -> Result<()> {
    beside_point(call, Board::positions_before)
}

/// The rows on one side of a point.
fn beside_point<'c>(
    call: &'c Call<'c>,
    positions: impl Fn(&mut ServerBoard<'c>, &Point, u64) -> Result<(u64, u64)>,
) -> Result<()> {
    if call.asks_for_keys() {
        let mut args = call.args();
        args.take_first(2);
        return report_keys(call, 1 + leading_numbers(&args));
    }
    let (key, mut args) = call.key_and_args()?;
    let n = args.required()?.count("n", 0)?;
    let (mut read, point) = Read::open_at_point(call, key, args)?;
    let (first, count) = if read.board.exists() { positions(&mut read.board, &point, n)? } else { (0, 0) };
    let rows = read.rows_at(first, count)?;
    read.reply_rows(&rows)
}
