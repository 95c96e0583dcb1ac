//! `RANK.REM`, `RANK.TRIM` and `RANK.POP`.

use super::options::{row_options, Read, ReadOptions};
use super::output::Output;
use super::periods::open_kept;
use super::rows::{AttributeSource, RowFormat};
use super::write::begins_with_letter;
use super::{forget, open_owned_hash, open_to_write};
use crate::board::Row;
use crate::command;
use crate::config::{self, check_rows};
use crate::docs::{Doc, KeySpec, KeyUse};
use crate::error::{Error, Result};
use crate::server::{Arg, Call, Text};
use crate::words::Word;

command! { REM = rem;
    Doc::remove("rank.rem", "key member ...", "Removes members from a board.",
    "O(log(N)) for each member, on the board and on each retained period.")
    .fast()
}

command! { TRIM = trim;
    Doc::remove("rank.trim", "key n [RETURN]", "Removes all but the n best members.",
    "O(log(N)+M) with M members removed; O(M*log(N)) where members overflow.").keys(&[KeySpec::at(1, KeyUse::Pop)])
}

command! { POP = pop;
    Doc::remove("rank.pop", concat!("key [n] [WORST] ", row_options!(board)),
    "Removes and returns the n best or worst members.",
    "O(M*log(N)) with M members removed; with DENSE O(D*log(N)) more for D better scores.")
    .keys(&[KeySpec::at(1, KeyUse::Pop)])
}

fn rem<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, args) = call.key_and_args()?;
    if args.is_empty() {
        return Err(Error::arity());
    }
    let mut board = open_to_write(call, key)?;
    let owned = open_owned_hash(call, &board)?;
    let members: Vec<Text> = args.map(Arg::text).collect();
    let mut periods = Vec::new();
    if !board.schema().rules.periods.is_empty() {
        board.schema().rules.periods.check_owner(board.key().bytes())?;
        call.start_timing();
        for period in open_kept(call, &board)? {
            let found = period.prepare_removal(&members);
            let found = found.map_err(|error| error.in_period(period.key().bytes()))?;
            periods.push((period, found));
        }
    }
    let found = board.prepare_removal(&members)?;
    let removed = board.commit_removal(&found);
    for (mut period, found) in periods {
        period.commit_removal(&found);
    }
    forget(&found, owned);
    call.reply().count(removed);
    Ok(())
}

fn trim<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let keep = args.required()?.count("n", 0)?;
    let wanted = args.next_if("RETURN");
    if let Some(unknown) = args.next() {
        return Err(Error::unknown_option(unknown.bytes()));
    }
    let mut board = open_to_write(call, key)?;
    if wanted {
        check_rows(board.members()?.saturating_sub(keep))?;
    }
    let owned = open_owned_hash(call, &board)?;
    let (count, removed) = board.trim(keep, wanted || owned.is_some())?;
    forget(&removed, owned);
    let reply = call.reply();
    if !wanted {
        reply.count(count);
        return Ok(());
    }
    reply.array(removed.len() as u64);
    removed.iter().for_each(|member| reply.bulk(member.name()));
    Ok(())
}

fn pop<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let n = if begins_with_letter(&args) { None } else { args.next() };
    let n = n.map_or(Ok(1), |n| n.count("n", 0))?;
    let options = ReadOptions::parse(call, args)?;
    let mut board = open_to_write(call, key)?;
    board.set_max_hops(config::MAX_HOPS.bound());
    let mut read = Read::of(call, board, options)?;
    let (first, count) = read.board.positions_at_end(n, read.options.worst)?;
    let mut rows = read.rows_at(first, count)?;
    let Read { mut board, options, hash, .. } = read;
    if options.worst {
        // The worst member comes first in the reply, as in that of ZPOPMIN.
        rows.reverse();
    }
    // A hash that the board owns is changed below: what it holds is read before, and its handle given up.
    let records = hash.map(|hash| {
        let record = |row: &Row| Some((row.member().to_vec(), hash.get(row.member())?));
        AttributeSource::Taken(rows.iter().filter_map(record).collect())
    });
    let owned = open_owned_hash(call, &board)?;
    let removed = board.remove_rows(&rows)?;
    forget(&removed, owned);
    let format = RowFormat::new(board.schema(), records.unwrap_or(AttributeSource::None), options.time, None);
    let reply = call.reply();
    let mut out = Output::new(&reply, options.json);
    format.rows(&rows, &mut out);
    out.send(&reply);
    Ok(())
}
