//! `RANK.TOPN`, `RANK.RANGE`, `RANK.PAGE`, `RANK.AROUND`, `RANK.BYSCORE`, `RANK.AFTER` and `RANK.BEFORE`.

use super::options::{point_scores, row_options, ReadOptions, ROWS_COST};
use super::output::Output;
use super::{open_to_read, ServerBoard};
use crate::board::{Board, FieldBound, Point, Row};
use crate::command;
use crate::config::check_rows;
use crate::docs::Doc;
use crate::error::Result;
use crate::server::{Arg, Args, Call, Hash};
use crate::words::Word;

command! { TOPN = topn;
    Doc::read("rank.topn", concat!("key n ", row_options!()), "Returns the n best-ranked members.", ROWS_COST)
}

command! { RANGE = range;
    Doc::read("rank.range", concat!("key start stop ", row_options!()),
    "Returns members in a range of positions.", ROWS_COST)
}

command! { PAGE = page;
    Doc::read("rank.page", concat!("key page size ", row_options!()),
    "Returns one page of a board, with the number of pages and members.", ROWS_COST)
}

command! { AROUND = around;
    Doc::read("rank.around", concat!("key member distance [FILL] ", row_options!()),
    "Returns a member and its neighbours.", ROWS_COST)
}

command! { BYSCORE = byscore;
    Doc::read("rank.byscore", concat!("key min max [LIMIT offset count] ", row_options!()),
    "Returns members whose first field is in a range.", ROWS_COST)
}

command! { AFTER = after;
    Doc::read("rank.after", concat!("key n score ... [AT time:ms] [MEMBER name] ", row_options!()),
    "Returns the n members after a score.", ROWS_COST)
}

command! { BEFORE = before;
    Doc::read("rank.before", concat!("key n score ... [AT time:ms] [MEMBER name] ", row_options!()),
    "Returns the n members before a score.", ROWS_COST)
}

/// The rows at some positions; an error if they are more than a reply may hold.
fn rows_at<'c>(board: &mut ServerBoard<'c>, first: u64, count: u64, options: &ReadOptions) -> Result<Vec<Row>> {
    check_rows(board.rows_from(first, count)?)?;
    board.rows(first, count, options.kind(board))
}

fn reply_rows<'c>(
    call: &'c Call<'c>,
    board: &mut ServerBoard<'c>,
    hash: Option<&Hash<'c>>,
    (first, count): (u64, u64),
    options: &ReadOptions,
) -> Result<()> {
    let rows = rows_at(board, first, count, options)?;
    reply_with(call, board, hash, options, &rows)
}

fn reply_with<'c>(
    call: &'c Call<'c>,
    board: &ServerBoard<'c>,
    hash: Option<&Hash<'c>>,
    options: &ReadOptions,
    rows: &[Row],
) -> Result<()> {
    let reply = call.reply();
    let mut out = Output::new(&reply, options.json);
    options.format(board.schema(), hash).rows(rows, &mut out);
    out.send(&reply);
    Ok(())
}

fn topn<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let n = args.required()?.count("n", 0)?;
    let options = ReadOptions::parse(call.options(args))?;
    let mut board = open_to_read(call, key)?;
    let hash = options.apply_to(call, &mut board)?;
    reply_rows(call, &mut board, hash.as_ref(), (0, n), &options)
}

fn range<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let start = position(&mut args, "start")?;
    let stop = position(&mut args, "stop")?;
    let options = ReadOptions::parse(call.options(args))?;
    let mut board = open_to_read(call, key)?;
    let hash = options.apply_to(call, &mut board)?;
    let members = board.members()?;
    let first = from_either_end(start, members).saturating_sub(1);
    let end = from_either_end(stop, members);
    reply_rows(call, &mut board, hash.as_ref(), (first, end.saturating_sub(first)), &options)
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
    let (key, mut args) = call.key_and_args()?;
    let page = args.required()?.count("page", 1)?;
    let size = args.required()?.count("size", 1)?;
    let options = ReadOptions::parse(call.options(args))?;
    let mut board = open_to_read(call, key)?;
    let hash = options.apply_to(call, &mut board)?;
    let members = board.members()?;
    let pages = members.div_ceil(size);
    let rows = rows_at(&mut board, (page - 1).saturating_mul(size), size, &options)?;
    let reply = call.reply();
    let mut out = Output::new(&reply, options.json);
    out.record(4);
    for (name, value) in [("page", page), ("pages", pages), ("members", members)] {
        out.field(name);
        out.count(value);
    }
    out.field("rows");
    options.format(board.schema(), hash.as_ref()).rows(&rows, &mut out);
    out.end_record();
    out.send(&reply);
    Ok(())
}

fn around<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let member = args.text()?;
    let distance = args.required()?.count("distance", 0)?;
    let options = ReadOptions::parse(call.options(args))?;
    let mut board = open_to_read(call, key)?;
    let hash = options.apply_to(call, &mut board)?;
    let members = board.members()?;
    let Some(found) = board.find(&member)? else {
        call.reply().null();
        return Ok(());
    };
    let position = board.position(&found.element)?.unwrap_or(0);
    let width = distance.saturating_mul(2).saturating_add(1);
    let mut first = position.saturating_sub(distance);
    let mut end = position.saturating_add(distance).saturating_add(1).min(members);
    if options.fill {
        first = first.min(members.saturating_sub(width));
        end = first.saturating_add(width);
    }
    check_rows(board.rows_from(first, end - first)?)?;
    let rows = board.rows_near((&found, position), first, end - first, options.kind(&board))?;
    reply_with(call, &board, hash.as_ref(), &options, &rows)
}

fn byscore<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let min = FieldBound::parse(args.required()?.bytes(), "min")?;
    let max = FieldBound::parse(args.required()?.bytes(), "max")?;
    let options = ReadOptions::parse(call.options(args))?;
    let mut board = open_to_read(call, key)?;
    let hash = options.apply_to(call, &mut board)?;
    let (first, end) = board.first_field_positions(min, max)?;
    let first = first.saturating_add(options.limit.offset);
    let count = end.saturating_sub(first).min(options.limit.count);
    reply_rows(call, &mut board, hash.as_ref(), (first, count), &options)
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
    let (key, mut args) = call.key_and_args()?;
    let n = args.required()?.count("n", 0)?;
    let mut board = open_to_read(call, key)?;
    let scores = point_scores(&mut args, &board)?;
    let options = ReadOptions::parse(call.options(args))?;
    let point = options.point(board.schema().parse_tuple(scores.map(Arg::bytes))?);
    let hash = options.apply_to(call, &mut board)?;
    let range = if board.exists() { positions(&mut board, &point, n)? } else { (0, 0) };
    reply_rows(call, &mut board, hash.as_ref(), range, &options)
}
