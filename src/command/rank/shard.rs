//! `RANK.SHARDS` and `RANK.SHARD`: pure, so that any node answers.

use crate::command;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::server::{Args, Call};
use crate::shard::{is_name, Count};
use crate::words::{check_name, Word, MAX_KEY_NAME};

command! { SHARDS = shards;
    Doc::pure("rank.shards", "name shards:n", "Returns the keys of a board's shards.", "O(N) for N shards.")
}

command! { SHARD = shard;
    Doc::pure("rank.shard", "name shards:n member", "Returns the key of the shard that a member belongs to.", "O(1)").fast()
}

fn shards<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let (name, count) = name_and_count(&mut args)?;
    args.end()?;
    let reply = call.reply();
    reply.array(u64::from(count.get()));
    count.shards().for_each(|shard| reply.bulk(&shard.key(name)));
    Ok(())
}

fn shard<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let (name, count) = name_and_count(&mut args)?;
    let member = args.required()?.bytes();
    args.end()?;
    call.reply().bulk(&count.shard_of(member).key(name));
    Ok(())
}

fn name_and_count<'c>(args: &mut Args<'c>) -> Result<(&'c [u8], Count)> {
    let name = args.required()?.bytes();
    check_name("name", name, MAX_KEY_NAME)?;
    if !is_name(name) {
        return Err(Error::takes("name", "a name without braces", name));
    }
    let arg = args.required()?;
    let count = arg.integer("n").ok().and_then(Count::new);
    Ok((name, count.ok_or_else(|| Error::shard_count(arg.bytes()))?))
}
