//! Members that share a rank.

use super::args::{key, required};
use super::lists::open_read;
use super::options::{ReadOptions, Takes};
use super::rows::{json_integer, json_name, JsonList};
use super::ServerBoard;
use crate::board::Kind;
use crate::config::check_rows;
use crate::error::Result;
use crate::server::{Arg, Call, Reply, Text};

pub fn query(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let member = required(&mut args).map(Arg::text)?;
    let options = ReadOptions::parse(args, Takes::GROUPS)?;
    let board = open_read(call, key, &options)?;
    let reply = Reply::new(call.ctx);
    let Some(found) = board.find(&member)? else {
        reply.null();
        return Ok(());
    };
    let group = board.group_positions(&found.decoded.values, &found)?;
    let rank = match options.group_kind() {
        Kind::Competition | Kind::Ordinal => group.0 + 1,
        Kind::Dense => board.rank(&found, Kind::Dense)?,
    };
    let limit = options.limit;
    let listed = (group.1 - group.0).saturating_sub(limit.offset).min(limit.count);
    check_rows(listed)?;
    if options.json {
        let mut json = b"{\"rank\":".to_vec();
        json_integer(rank, &mut json);
        json.extend_from_slice(b",\"users\":");
        let mut list = JsonList::begin(&mut json);
        board.group_names(group, limit.offset, limit.count, &mut |name| {
            json_name(name, list.next());
            Ok(())
        })?;
        list.end();
        json.push(b'}');
        reply.bulk(&json);
        return Ok(());
    }
    reply.array(2);
    reply.count(rank);
    reply.array(listed);
    board.group_names(group, limit.offset, limit.count, &mut |name| {
        reply.bulk(name);
        Ok(())
    })
}

pub fn stats(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let options = ReadOptions::parse(args, Takes::GROUPS)?;
    let board = open_read(call, key, &options)?;
    let reply = Reply::new(call.ctx);
    if board.members() == 0 {
        reply.null();
        return Ok(());
    }
    let first = board.skip_groups(0, options.limit.offset)?;
    let end = board.skip_groups(first, options.limit.count)?;
    check_rows(end.saturating_sub(first))?;
    if options.json {
        return json_stats(&board, first, end, options.group_kind(), &reply);
    }
    resp_stats(&board, first, end, options.group_kind(), &reply)
}

fn json_stats(board: &ServerBoard, first: u64, end: u64, kind: Kind, reply: &Reply) -> Result<()> {
    let mut json = Vec::new();
    let mut list = JsonList::begin(&mut json);
    board.groups(first, end, kind, |rank, elements: &[Text]| {
        let json = list.next();
        json.push(b'[');
        json_integer(rank, json);
        json.push(b',');
        let mut names = JsonList::begin(json);
        elements.iter().for_each(|element| json_name(board.name_of(element), names.next()));
        names.end();
        json.push(b']');
        Ok(())
    })?;
    list.end();
    reply.bulk(&json);
    Ok(())
}

fn resp_stats(board: &ServerBoard, first: u64, end: u64, kind: Kind, reply: &Reply) -> Result<()> {
    let mut groups = 0;
    board.check_rows_decode(first, end.saturating_sub(first))?;
    board.groups(first, end, kind, |rank, elements: &[Text]| {
        if groups == 0 {
            // Not earlier: by now nothing can go wrong any more.
            reply.begin_array();
        }
        groups += 1;
        reply.array(2);
        reply.count(rank);
        reply.array(elements.len() as u64);
        elements.iter().for_each(|element| reply.bulk(board.name_of(element)));
        Ok(())
    })?;
    if groups == 0 {
        reply.array(0);
    } else {
        reply.end_array(groups);
    }
    Ok(())
}
