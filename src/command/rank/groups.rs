//! `RANK.QUERY` and `RANK.STATS`: members that share a rank.

use super::options::{Read, ROWS_COST};
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
    let mut read = Read::open(call, key, args)?;
    let Some(found) = read.board.find(&member)? else {
        read.null();
        return Ok(());
    };
    let (kind, limit) = (read.group_kind(), read.options.limit);
    let group = read.board.group_positions(&found)?;
    let rank = match kind {
        RankKind::Competition | RankKind::Ordinal => group.0 + 1,
        RankKind::Dense => read.board.rank(&found, RankKind::Dense)?,
    };
    check_rows((group.1 - group.0).saturating_sub(limit.offset).min(limit.count))?;
    let group = read.board.group_names(group, limit.offset, limit.count, rank)?;
    read.reply(std::iter::empty(), |format, out| {
        out.record(2);
        out.field("rank");
        out.count(group.rank);
        out.field("users");
        write_names(format, &group, out);
        out.end_record();
    })
}

fn stats<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, args) = call.key_and_args()?;
    let mut read = Read::open(call, key, args)?;
    if read.board.members()? == 0 {
        read.null();
        return Ok(());
    }
    let (kind, limit) = (read.group_kind(), read.options.limit);
    let first = read.board.skip_groups(0, limit.offset)?;
    // Each group has a row, so more groups than rows that are allowed need not be looked for.
    let end = read.board.skip_groups(first, limit.count.min(MAX_ROWS.bound().saturating_add(1)))?;
    check_rows(end.saturating_sub(first))?;
    let Read { mut board, options, hash, .. } = read;
    let schema = board.schema().clone();
    let format = options.format(&schema, hash.as_ref(), None);
    let reply = call.reply();
    let mut out = Output::new(&reply, options.json);
    if options.json {
        out.list(0);
        board.groups(first, end, limit.offset, kind, &mut |group| write_group(&format, group, &mut out))?;
    } else {
        // Nothing may fail once the reply has begun.
        let mut groups = Vec::new();
        board.groups(first, end, limit.offset, kind, &mut |group| groups.push(group.clone()))?;
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
