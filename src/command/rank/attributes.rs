//! `RANK.SETDATA`, `RANK.PUTDATA`, `RANK.GETDATA` and `RANK.DELDATA`: attributes of members.

use super::output::reply_object;
use super::write::check_object;
use super::{open_hash, open_to_read, owns_hash, ServerBoard};
use crate::board::{parse_object, remove_attributes, set_attributes, Attributes};
use crate::command;
use crate::docs::{Doc, KeySpec, KeyUse};
use crate::error::{Error, Result};
use crate::server::{Access, Arg, Args, Call, Hash, Text};
use crate::words::{check_name, MAX_MEMBER_NAME};

const COST: &str = "O(M) for M attributes of the member.";
/// The command reads the board to find the hash, and does not change the board.
const READS_BOARD: &[KeySpec] = &[KeySpec::at(1, KeyUse::Read)];

command! { SETDATA = setdata;
    Doc::write("rank.setdata", "key member [NX] attribute:{attr value} ...",
    "Sets attributes of a member.", COST).keys(READS_BOARD)
}

command! { PUTDATA = putdata;
    Doc::write("rank.putdata", "key member json", "Replaces all attributes of a member with a JSON object.", COST)
    .keys(READS_BOARD)
}

command! { GETDATA = getdata;
    Doc::read("rank.getdata", "key member [attr ...]", "Returns all or some attributes of a member.", COST)
}

command! { DELDATA = deldata;
    Doc::remove("rank.deldata", "key member [attr ...]", "Removes all or some attributes of a member.", COST)
    .keys(READS_BOARD)
}

fn text<'a>(arg: Arg<'a>, what: &'static str) -> Result<&'a str> {
    std::str::from_utf8(arg.bytes()).map_err(|_| Error::not_text(what, arg.bytes()))
}

/// The hash that holds a member's attributes, and whether the member may have any: in a hash that the board owns, only
/// its members do.
fn open<'c>(call: &'c Call<'c>, key: Text<'c>, member: &Text<'c>, access: Access) -> Result<(Hash<'c>, bool)> {
    let board: ServerBoard<'c> = open_to_read(call, key)?;
    let hash = open_hash(call, &board, access)?;
    let may_have = !owns_hash(board.schema(), board.key()) || board.find(member)?.is_some();
    Ok((hash, may_have))
}

fn attributes_of(hash: &Hash, member: &Text) -> Result<Attributes> {
    match hash.get(member.bytes()) {
        None => Ok(Attributes::new()),
        Some(text) => parse_object(text.bytes()).ok_or_else(|| Error::bad_attributes(member.bytes())),
    }
}

fn setdata<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let member = args.text()?;
    // An attribute may be named NX. An odd number of arguments means that NX is the option.
    let keep_old = args.len() % 2 == 1;
    if keep_old && !args.next_if("NX") {
        return Err(Error::arity());
    }
    let pairs = attribute_pairs(args)?;
    let (mut hash, may_have) = open(call, key, &member, Access::Write)?;
    check_name("member", member.bytes(), MAX_MEMBER_NAME)?;
    if !may_have {
        return Err(Error::no_such_member(member.bytes()));
    }
    let mut attributes = attributes_of(&hash, &member)?;
    let (added, changed) = set_attributes(&mut attributes, &pairs, keep_old);
    if changed {
        hash.set(member.bytes(), &serde_json::to_vec(&attributes).map_err(|_| Error::internal())?);
    }
    call.reply().count(added);
    Ok(())
}

fn attribute_pairs<'a>(mut args: Args<'a>) -> Result<Vec<(&'a str, &'a str)>> {
    if args.is_empty() {
        return Err(Error::arity());
    }
    let mut pairs = Vec::with_capacity(args.len() / 2);
    while !args.is_empty() {
        pairs.push((text(args.required()?, "attr")?, text(args.required()?, "value")?));
    }
    Ok(pairs)
}

fn putdata<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let member = args.text()?;
    let json = check_object(args.required()?.bytes())?;
    args.end()?;
    let (mut hash, may_have) = open(call, key, &member, Access::Write)?;
    check_name("member", member.bytes(), MAX_MEMBER_NAME)?;
    if !may_have {
        return Err(Error::no_such_member(member.bytes()));
    }
    hash.set(member.bytes(), json);
    call.reply().ok();
    Ok(())
}

fn getdata<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let member = args.text()?;
    let (hash, may_have) = open(call, key, &member, Access::Read)?;
    if !may_have {
        call.reply().null();
        return Ok(());
    }
    let attributes = attributes_of(&hash, &member)?;
    let reply = call.reply();
    if args.is_empty() {
        reply_object(&attributes, &reply);
        return Ok(());
    }
    reply.array(args.len() as u64);
    for name in args {
        let value = std::str::from_utf8(name.bytes()).ok().and_then(|name| attributes.get(name));
        match value {
            Some(value) => reply.json_value(value),
            None => reply.null(),
        }
    }
    Ok(())
}

fn deldata<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let member = args.text()?;
    let names: Vec<&[u8]> = args.map(Arg::bytes).collect();
    let (mut hash, may_have) = open(call, key, &member, Access::Write)?;
    let mut removed = 0;
    if may_have && names.is_empty() && attributes_of(&hash, &member).is_err() {
        // It is removed, whatever it is.
        hash.remove(member.bytes());
        removed = 1;
    } else if may_have {
        let mut attributes = attributes_of(&hash, &member)?;
        removed = remove_attributes(&mut attributes, &names);
        if names.is_empty() || removed > 0 && attributes.is_empty() {
            hash.remove(member.bytes());
        } else if removed > 0 {
            hash.set(member.bytes(), &serde_json::to_vec(&attributes).map_err(|_| Error::internal())?);
        }
    }
    call.reply().count(removed);
    Ok(())
}
