//! Rows of a board by position, around a member, by score.

use super::args::{bound, count, integer, key, position, required};
use super::options::{ReadOptions, Takes};
use super::rows::{json_integer, json_rows, resp_rows, rows};
use super::{open, ServerBoard};
use crate::error::Result;
use crate::server::{Access, Arg, Call, Reply, Text};

/// Opens a board to be read as the options want it.
pub(super) fn open_read<'a>(call: &Call<'a>, key: Text<'a>, options: &ReadOptions) -> Result<ServerBoard<'a>> {
    let mut board = open(call, key, Access::Read)?;
    options.apply(&mut board)?;
    if options.data {
        board.has_attributes()?;
    }
    Ok(board)
}

pub fn topn(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let n = count(required(&mut args)?, "n", 0)?;
    let options = ReadOptions::parse(args, Takes::ROWS)?;
    let board = open_read(call, key, &options)?;
    rows(&board, 0, n, &options, &Reply::new(call.ctx))
}

pub fn range(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let start = position(required(&mut args)?, "start")?;
    let stop = position(required(&mut args)?, "stop")?;
    let options = ReadOptions::parse(args, Takes::ROWS)?;
    let board = open_read(call, key, &options)?;
    let first = from_either_end(start, board.members()).saturating_sub(1);
    let end = from_either_end(stop, board.members());
    rows(&board, first, end.saturating_sub(first), &options, &Reply::new(call.ctx))
}

/// A position from 1 on; 0 for one that lies before the first.
fn from_either_end(position: i64, members: u64) -> u64 {
    if position > 0 {
        return position.unsigned_abs();
    }
    (members + 1).saturating_sub(position.unsigned_abs())
}

pub fn page(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let page = integer(required(&mut args)?, "page")?;
    let size = count(required(&mut args)?, "size", 1)?;
    let options = ReadOptions::parse(args, Takes::ROWS)?;
    let board = open_read(call, key, &options)?;
    let reply = Reply::new(call.ctx);

    let members = board.members();
    let pages = members.div_ceil(size).max(1);
    let page = u64::try_from(page).unwrap_or(0).clamp(1, pages);
    let first = (page - 1) * size;
    if options.json {
        let mut json = Vec::new();
        for (name, value) in [("{\"page\":", page), (",\"pages\":", pages), (",\"members\":", members)] {
            json.extend_from_slice(name.as_bytes());
            json_integer(value, &mut json);
        }
        json.extend_from_slice(b",\"rows\":");
        json_rows(&board, first, size, &options, &mut json)?;
        json.push(b'}');
        reply.bulk(&json);
        return Ok(());
    }
    resp_rows(&board, first, size, &options, &reply, || {
        reply.array(4);
        [page, pages, members].iter().for_each(|number| reply.count(*number));
    })
}

pub fn around(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let member = required(&mut args).map(Arg::text)?;
    let distance = count(required(&mut args)?, "distance", 0)?;
    let options = ReadOptions::parse(args, Takes::ROWS_FILL)?;
    let board = open_read(call, key, &options)?;
    let reply = Reply::new(call.ctx);
    let position = match board.find(&member)? {
        Some(found) => board.position(&found.element)?,
        None => None,
    };
    let Some(position) = position else {
        reply.null();
        return Ok(());
    };
    let width = distance.saturating_mul(2).saturating_add(1);
    let mut first = position.saturating_sub(distance);
    let mut end = position.saturating_add(distance).saturating_add(1).min(board.members());
    if options.fill {
        first = first.min(board.members().saturating_sub(width));
        end = first.saturating_add(width);
    }
    rows(&board, first, end - first, &options, &reply)
}

pub fn byscore(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let min = bound(required(&mut args)?, "min")?;
    let max = bound(required(&mut args)?, "max")?;
    let options = ReadOptions::parse(args, Takes::ROWS_LIMIT)?;
    let board = open_read(call, key, &options)?;
    let (first, end) = board.first_field_positions(min, max)?;
    let first = first.saturating_add(options.limit.offset);
    let count = end.saturating_sub(first).min(options.limit.count);
    rows(&board, first, count, &options, &Reply::new(call.ctx))
}
