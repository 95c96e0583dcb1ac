//! `RANK.QUERY` and `RANK.STATS`: members that share a rank.

use super::open_to_read;
use super::options::{AllowedOptions, ReadOptions, ROWS_COST};
use super::rows::{json_integer, JsonList, RowFormat};
use crate::board::{Group, RankKind};
use crate::command;
use crate::config::{check_rows, MAX_ROWS};
use crate::docs::Doc;
use crate::error::Result;
use crate::server::{Call, Reply};

macro_rules! group_options {
    () => {
        "[LIMIT offset count] kind:[COMPETITION|DENSE|ORDINAL] [WITHDATA] [PERIOD unit which:[index|id]] order:[ASC|DESC] [JSON]"
    };
}

command! { QUERY = query;
    Doc::read("rank.query", concat!("key member ", group_options!()),
    "Returns the rank of a member and all members with the same scores.", ROWS_COST)
}

command! { STATS = stats;
    Doc::read("rank.stats", concat!("key ", group_options!()),
    "Returns ranks and the members that share them, best first.",
    "O(N), or O(S*log(N)+M) with LIMIT, where S is the groups that it skips and M the members that it returns.")
}

fn query<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let member = args.text()?;
    let options = ReadOptions::parse(args, AllowedOptions::GROUPS)?;
    let mut board = open_to_read(call, key)?;
    let hash = options.apply_to(call, &mut board)?;
    let Some(found) = board.find(&member)? else {
        call.reply().null();
        return Ok(());
    };
    let group = board.group_positions(&found.decoded.values, &found)?;
    let rank = match options.group_kind() {
        RankKind::Competition | RankKind::Ordinal => group.0 + 1,
        RankKind::Dense => board.rank(&found, RankKind::Dense)?,
    };
    let limit = options.limit;
    check_rows((group.1 - group.0).saturating_sub(limit.offset).min(limit.count))?;
    let group = board.group_names(group, limit.offset, limit.count, rank)?;
    let shown = options.shown(board.schema(), hash.as_ref());
    let reply = call.reply();
    if options.json {
        let mut json = b"{\"rank\":".to_vec();
        json_integer(group.rank, &mut json);
        json.extend_from_slice(b",\"users\":");
        json_names(&shown, &group, &mut json);
        json.push(b'}');
        reply.bulk(&json);
    } else {
        resp_group(&shown, &group, &reply);
    }
    Ok(())
}

fn stats<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let options = ReadOptions::parse(args, AllowedOptions::GROUPS)?;
    let mut board = open_to_read(call, key)?;
    let hash = options.apply_to(call, &mut board)?;
    if board.members()? == 0 {
        call.reply().null();
        return Ok(());
    }
    let first = board.skip_groups(0, options.limit.offset)?;
    // Each group has a row, so more groups than rows that are allowed need not be looked for.
    let end = board.skip_groups(first, options.limit.count.min(MAX_ROWS.bound().saturating_add(1)))?;
    check_rows(end.saturating_sub(first))?;
    let schema = board.schema().clone();
    let shown = options.shown(&schema, hash.as_ref());
    let (skipped, kind) = (options.limit.offset, options.group_kind());
    if options.json {
        let mut json = Vec::new();
        let mut list = JsonList::begin(&mut json);
        board.groups(first, end, skipped, kind, &mut |group| json_group(&shown, group, list.next()))?;
        list.end();
        call.reply().bulk(&json);
        return Ok(());
    }
    // Nothing may fail once the reply has begun.
    let mut groups = Vec::new();
    board.groups(first, end, skipped, kind, &mut |group| groups.push(group.clone()))?;
    let reply = call.reply();
    reply.array(groups.len() as u64);
    groups.iter().for_each(|group| resp_group(&shown, group, &reply));
    Ok(())
}

fn resp_group(shown: &RowFormat, group: &Group, reply: &Reply) {
    let names = group.names();
    reply.array(2);
    reply.count(group.rank);
    reply.array(names.len() as u64);
    names.for_each(|name| shown.resp_name(name, reply));
}

/// `[rank,[name,…]]`
fn json_group(shown: &RowFormat, group: &Group, json: &mut Vec<u8>) {
    json.push(b'[');
    json_integer(group.rank, json);
    json.push(b',');
    json_names(shown, group, json);
    json.push(b']');
}

fn json_names(shown: &RowFormat, group: &Group, json: &mut Vec<u8>) {
    let mut list = JsonList::begin(json);
    group.names().for_each(|name| shown.json_name(name, list.next()));
    list.end();
}
