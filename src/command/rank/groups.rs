//! `RANK.QUERY` and `RANK.STATS`: members that share a rank.

use super::open_to_read;
use super::options::{ReadOptions, ROWS_COST};
use super::output::Output;
use super::rows::RowFormat;
use crate::board::{Group, RankKind};
use crate::command;
use crate::config::{check_rows, MAX_ROWS};
use crate::docs::Doc;
use crate::error::Result;
use crate::server::Call;

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
    "Returns members grouped by rank.",
    "O(N), or O(S*log(N)+M) with LIMIT, where S is the groups that it skips and M the members that it returns.")
}

fn query<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let member = args.text()?;
    let options = ReadOptions::parse(call.options(args))?;
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
    let format = options.format(board.schema(), hash.as_ref());
    let reply = call.reply();
    let mut out = Output::new(&reply, options.json);
    out.record(2);
    out.field("rank");
    out.count(group.rank);
    out.field("users");
    write_names(&format, &group, &mut out);
    out.end_record();
    out.send(&reply);
    Ok(())
}

fn stats<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, args) = call.key_and_args()?;
    let options = ReadOptions::parse(call.options(args))?;
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
    let format = options.format(&schema, hash.as_ref());
    let (skipped, kind) = (options.limit.offset, options.group_kind());
    let reply = call.reply();
    let mut out = Output::new(&reply, options.json);
    if options.json {
        out.list(0);
        board.groups(first, end, skipped, kind, &mut |group| write_group(&format, group, &mut out))?;
    } else {
        // Nothing may fail once the reply has begun.
        let mut groups = Vec::new();
        board.groups(first, end, skipped, kind, &mut |group| groups.push(group.clone()))?;
        out.list(groups.len() as u64);
        groups.iter().for_each(|group| write_group(&format, group, &mut out));
    }
    out.end_list();
    out.send(&reply);
    Ok(())
}

/// `[rank, [name, …]]`
fn write_group(format: &RowFormat, group: &Group, out: &mut Output) {
    out.list(2);
    out.count(group.rank);
    write_names(format, group, out);
    out.end_list();
}

fn write_names(format: &RowFormat, group: &Group, out: &mut Output) {
    let names = group.names();
    out.list(names.len() as u64);
    names.for_each(|name| format.name(name, out));
    out.end_list();
}
