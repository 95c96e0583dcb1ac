//! Attributes of members.

use super::args::{key, required};
use super::open;
use super::rows::resp_object;
use crate::error::{Error, Result, Shown};
use crate::server::{Access, Arg, Args, Call, Reply};

fn text<'a>(arg: Arg<'a>, what: &'static str) -> Result<&'a str> {
    std::str::from_utf8(arg.bytes()).map_err(|_| Error::NotText { what, got: Shown::new(arg.bytes()) })
}

pub fn setdata(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let member = required(&mut args)?.text();
    // An attribute may be named NX: an odd number of arguments tells the option.
    let keep_old = args.len() % 2 == 1;
    if keep_old && !args.next_if("NX") {
        return Err(Error::Arity);
    }
    let attributes = attributes(args)?;
    let mut board = open(call, key, Access::Write)?;
    let added = board.set_attributes(&member, &attributes, keep_old, call.ctx.random_id())?;
    Reply::new(call.ctx).count(added);
    Ok(())
}

fn attributes<'a>(mut args: Args<'a>) -> Result<Vec<(&'a str, &'a str)>> {
    if args.len() == 0 {
        return Err(Error::Arity);
    }
    let mut attributes = Vec::with_capacity(args.len() / 2);
    while args.len() > 0 {
        attributes.push((text(required(&mut args)?, "attr")?, text(required(&mut args)?, "value")?));
    }
    Ok(attributes)
}

pub fn getdata(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let member = required(&mut args)?.text();
    let board = open(call, key, Access::Read)?;
    let reply = Reply::new(call.ctx);
    if board.find(&member)?.is_none() {
        reply.null();
        return Ok(());
    }
    let map = board.attribute_map(&member)?;
    if args.len() == 0 {
        resp_object(&map, &reply);
        return Ok(());
    }
    reply.array(args.len() as u64);
    for name in args {
        let value = std::str::from_utf8(name.bytes()).ok().and_then(|name| map.get(name));
        match value {
            Some(value) => reply.json_value(value),
            None => reply.null(),
        }
    }
    Ok(())
}

pub fn deldata(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let member = required(&mut args)?.text();
    let names: Vec<&[u8]> = args.map(Arg::bytes).collect();
    let mut board = open(call, key, Access::Write)?;
    let removed = board.remove_attributes(&member, &names, call.ctx.random_id())?;
    Reply::new(call.ctx).count(removed);
    Ok(())
}
