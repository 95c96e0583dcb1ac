//! `RANK.INFO`, `RANK.CLEAR` and `RANK.ROTATE`.

use super::create::report_key_positions;
use super::{open_hash, open_to_read, open_to_write, owns_hash};
use crate::board::{client_data, renewed_since, Creation, Period, Rules};
use crate::calendar::Cycle;
use crate::command;
use crate::docs::{Doc, KeySpec, KeyUse};
use crate::error::{Error, Result};
use crate::server::{Access, Call, Reply, Text, ZSet};

command! { INFO = info;
    Doc::read("rank.info", "key", "Returns the size, schema and layout of a board.",
    "O(log(N))").fast()
}

command! { CLEAR = clear;
    Doc::remove("rank.clear", "key", "Removes all members of a board and keeps its schema.",
    "O(1), the memory is freed in the background.")
}

command! { ROTATE = rotate;
    Doc::remove("rank.rotate", "key archive [DATA hash]",
    "Renames a board and starts an empty one with the same schema.", "O(1)").reports_keys()
    .keys(&[KeySpec::at(1, KeyUse::Update), KeySpec::at(2, KeyUse::Insert), KeySpec::behind("DATA", 3,
    KeyUse::Insert)])
}

fn info<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, args) = call.key_and_args()?;
    args.end()?;
    let mut board = open_to_read(call, key)?;
    if !board.exists() {
        call.reply().null();
        return Ok(());
    }
    let (members, overflow, schema) = (board.members()?, board.overflow()?, board.schema());
    let reply = call.reply();
    let text = |name: &str, value: &str| {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    };
    reply.map(12);
    reply.bulk(b"members");
    reply.count(members);
    reply.bulk(b"fields");
    reply.array(schema.fields().len() as u64);
    for field in schema.fields() {
        reply.map(3);
        text("name", &field.name);
        text("order", &field.order.to_string());
        text("type", &field.kind.to_string());
    }
    text("ties", &schema.rules.ties.to_string());
    reply.bulk(b"keep");
    reply.count_or_null(schema.rules.keep);
    text("update", &schema.rules.update.to_string());
    text("layout", schema.layout.name());
    reply.bulk(b"overflow");
    reply.count(overflow);
    reply.bulk(b"since");
    reply.count_or_null(board.since().map(i64::unsigned_abs));
    reply.bulk(b"data");
    bulk_or_null(&reply, schema.rules.data.as_ref().map(|data| data.hash.as_slice()));
    reply.bulk(b"periods");
    reply.array(schema.rules.periods.iter().len() as u64);
    schema.rules.periods.iter().for_each(|period| show_period(period, &reply));
    reply.bulk(b"shard");
    match schema.rules.shard {
        Some(shard) => reply.integers(&[i64::from(shard.index()), i64::from(shard.count())]),
        None => reply.null(),
    }
    reply.bulk(b"schema");
    bulk_or_null(&reply, board.schema_text());
    Ok(())
}

fn show_period(period: &Period, reply: &Reply) {
    let (offset, every) = match period.cycle {
        Cycle::Calendar(_, offset) => (Some(offset.to_string()), None),
        Cycle::Every { length_ms, from_ms } => (None, Some((length_ms.unsigned_abs(), from_ms.unsigned_abs()))),
    };
    reply.map(6);
    reply.bulk(b"unit");
    reply.bulk(period.unit().name().as_bytes());
    reply.bulk(b"prefix");
    reply.bulk(&period.prefix);
    reply.bulk(b"past");
    reply.count(u64::from(period.past));
    reply.bulk(b"offset");
    bulk_or_null(reply, offset.as_ref().map(String::as_bytes));
    reply.bulk(b"every");
    reply.count_or_null(every.map(|(length_ms, _)| length_ms));
    reply.bulk(b"from");
    reply.count_or_null(every.map(|(_, from_ms)| from_ms));
}

fn bulk_or_null(reply: &Reply, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => reply.bulk(bytes),
        None => reply.null(),
    }
}

fn clear<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, args) = call.key_and_args()?;
    args.end()?;
    let mut board = open_to_write(call, key)?;
    let owned =
        if owns_hash(board.schema(), board.key()) { Some(open_hash(call, &board, Access::Write)?) } else { None };
    let since = renewed_since(board.key().bytes(), board.since().unwrap_or(0), call.ctx.now());
    let members = board.clear(since)?;
    if let Some(mut hash) = owned {
        hash.unlink();
    }
    call.reply().count(members);
    Ok(())
}

fn rotate<'c>(call: &'c Call<'c>) -> Result<()> {
    if call.asks_for_keys() {
        report_key_positions(call, &["DATA"], 3);
        call.report_key_position(2);
        return Ok(());
    }
    let (key, mut args) = call.key_and_args()?;
    let archive = args.text()?;
    let hash_archive = if args.next_if("DATA") { Some(args.value_of("DATA")?.text()) } else { None };
    if let Some(more) = args.next() {
        return Err(Error::unknown_option(more.bytes()));
    }
    let mut board = open_to_write(call, key.clone())?;
    if !board.exists() {
        return Err(Error::no_such_key());
    }
    if !board.schema().rules.periods.is_empty() {
        return Err(Error::has_periods());
    }
    if board.schema().rules.shard.is_some() {
        return Err(Error::is_shard());
    }
    match (owns_hash(board.schema(), board.key()), &hash_archive) {
        (true, None) => return Err(Error::owned_hash()),
        (false, Some(_)) => return Err(Error::no_owned_hash()),
        _ => {}
    }
    let own_hash = board.schema().rules.data.as_ref().map(|data| data.hash.as_slice());
    let new_names = [Some(archive.bytes()), hash_archive.as_ref().map(Text::bytes)];
    if new_names.iter().flatten().any(|name| Some(*name) == own_hash) || new_names.first() == new_names.last() {
        return Err(Error::archive_names());
    }
    let is_taken = |name: &Text<'c>| ZSet::is_taken(call, name);
    if is_taken(&archive) || hash_archive.as_ref().is_some_and(is_taken) {
        return Err(Error::archive_exists());
    }
    let members = board.members()?;
    let rules = board.schema_text().is_some().then(|| board.schema().rules.clone());
    let since = renewed_since(key.bytes(), board.since().unwrap_or(0), call.ctx.now());
    match &hash_archive {
        Some(name) => {
            let data = client_data(name.bytes(), true, archive.bytes())?;
            let hash = open_hash(call, &board, Access::Write)?;
            let since = board.since().unwrap_or(0);
            board.set_rules(&Rules { data: Some(data), ..board.schema().rules.clone() }, since);
            board.into_set().rename(&archive)?;
            hash.rename(name)?;
        }
        None => board.into_set().rename(&archive)?,
    }
    if let Some(rules) = rules {
        let creation = Creation { rules, since: Some(since), adopt: false };
        open_to_write(call, key.clone())?.create(creation, key.bytes(), since, false)?;
    }
    call.reply().count(members);
    Ok(())
}
