//! Commands about a board as a whole.

use super::adopt::adopt_in_steps;
use super::args::{count, key, nothing_more, once, one_of, required, value_of};
use super::open;
use crate::board::{parse_update, Part, Rules, Schema};
use crate::error::{Error, Result, Shown};
use crate::server::{make_room, Access, Arg, Call, Hash, Key, KeyType, Reply, Text};

pub fn create(call: &Call) -> Result<()> {
    let mut args = call.args();
    if call.asks_for_keys() {
        call.tell_key(1);
        if args.nth(1).is_some_and(|arg| arg.is("LIKE")) && args.next().is_some() {
            call.tell_key(3);
        }
        return Ok(());
    }
    let key = key(&mut args)?;
    let (rules, adopt) = if args.next_if("LIKE") {
        let other = value_of(&mut args, "LIKE")?.text();
        if let Some(more) = args.next() {
            return Err(Error::UnknownOption(Shown::new(more.bytes())));
        }
        (rules_of(call, other)?, false)
    } else {
        Rules::parse_create(&args.map(Arg::bytes).collect::<Vec<_>>())?
    };
    let mut board = open(call, key.clone(), Access::Write)?;
    let id = call.ctx.random_id();
    if adopt && board.adopts_in_steps(&Schema::new(rules.clone())) {
        let members = board.members();
        if adopt_in_steps(call, &key, members, &rules, id)? {
            return Ok(());
        }
    }
    board.create(rules, adopt, id)?;
    Reply::new(call.ctx).ok();
    Ok(())
}

fn rules_of(call: &Call, key: Text) -> Result<Rules> {
    let board = open(call, key, Access::Read)?;
    if !board.store.exists() {
        return Err(Error::NoSuchKey);
    }
    explicit(board.schema()).map(|schema| schema.rules.clone())
}

fn explicit(schema: &Schema) -> Result<&Schema> {
    if schema.explicit {
        Ok(schema)
    } else {
        Err(Error::NoSchema)
    }
}

pub fn alter(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let (mut keep, mut update) = (None, None);
    if args.len() == 0 {
        return Err(Error::Arity);
    }
    while let Some(arg) = args.next() {
        match arg.bytes().to_ascii_uppercase().as_slice() {
            b"KEEP" => one_of(&mut keep, Some(count(value_of(&mut args, "KEEP")?, "KEEP", 1)?), "KEEP")?,
            b"NOKEEP" => one_of(&mut keep, None, "NOKEEP")?,
            b"UPDATE" => once(&mut update, parse_update(value_of(&mut args, "UPDATE")?.bytes())?, "UPDATE")?,
            _ => return Err(Error::UnknownOption(Shown::new(arg.bytes()))),
        }
    }
    let mut board = open(call, key, Access::Write)?;
    if !board.store.exists() {
        return Err(Error::NoSuchKey);
    }
    board.alter(keep.map(|(keep, _)| keep), update)?;
    Reply::new(call.ctx).ok();
    Ok(())
}

pub fn info(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    nothing_more(&args)?;
    let board = open(call, key, Access::Read)?;
    let reply = Reply::new(call.ctx);
    if !board.store.exists() {
        reply.null();
        return Ok(());
    }
    let schema = board.schema();
    let text = |name: &str, value: &str| {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    };
    reply.map(9);
    reply.bulk(b"members");
    reply.count(board.members());
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
    reply.bulk(b"bits");
    reply.count_or_null(schema.layout.bits().map(u64::from));
    reply.bulk(b"schema");
    match board.marker() {
        Some(marker) => reply.bulk(marker.text()),
        None => reply.null(),
    }
    reply.bulk(b"keys");
    // A key of another type under that name is no companion.
    let companions: Vec<Text> = companions(&board).unwrap_or_default().into_iter().map(|(_, name)| name).collect();
    reply.array(companions.len() as u64);
    companions.iter().for_each(|name| reply.bulk(name.bytes()));
    Ok(())
}

/// The companions that exist and are this board's.
fn companions<'a>(board: &super::ServerBoard<'a>) -> Result<Vec<(Part, Text<'a>)>> {
    let Some(marker) = board.marker() else { return Ok(Vec::new()) };
    let mut companions = Vec::new();
    for part in Part::ALL {
        if let Some(name) = board.store.companion_key(part, &marker.id)? {
            companions.push((part, name));
        }
    }
    Ok(companions)
}

pub fn clear(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    nothing_more(&args)?;
    let mut board = open(call, key, Access::Write)?;
    let members = board.clear()?;
    Reply::new(call.ctx).count(members);
    Ok(())
}

pub fn rotate(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let archive = required(&mut args).map(Arg::text)?;
    nothing_more(&args)?;
    let board = open(call, key.clone(), Access::Write)?;
    if !board.store.exists() {
        return Err(Error::NoSuchKey);
    }
    if Key::open(call.ctx, &archive, Access::Peek).is_some_and(|key| key.kind() != KeyType::Empty) {
        return Err(Error::ArchiveExists);
    }
    let mut renamed = vec![(key.clone(), archive.clone())];
    for (part, name) in companions(&board)? {
        let target = part.key(archive.bytes()).ok_or(Error::NoCompanionName)?;
        Hash::check_free(call.ctx, part, &archive)?;
        renamed.push((name, Text::new(&target)));
    }
    let members = board.members();
    let rules = explicit(board.schema()).map(|schema| schema.rules.clone()).ok();
    // No key may be open while it is renamed.
    drop(board);
    make_room(call.ctx, &archive);
    for (from, to) in &renamed {
        call.ctx.rename(from, to)?;
    }
    if let Some(rules) = rules {
        open(call, key, Access::Write)?.create(rules, false, call.ctx.random_id())?;
    }
    Reply::new(call.ctx).count(members);
    Ok(())
}
