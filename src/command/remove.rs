//! `RANK.REM` and `RANK.TRIM`.

use super::args::{count, key, required};
use super::{forget_left, open_owned_hash, open_to_write};
use crate::command;
use crate::config::check_rows;
use crate::docs::{Doc, KeySpec, KeyUse};
use crate::error::{Error, Result, Shown};
use crate::server::{Arg, Call, Text};

command! { REM = rem;
    Doc::remove("rank.rem", "key member ...", "Removes members from a board.", "O(log(N)) for each member.")
    .fast()
}

command! { TRIM = trim;
    Doc::remove("rank.trim", "key n [RETURN]", "Keeps the best n members. Returns how many left, or their names.",
    "O(log(N)+M) with M members removed; O(M*log(N)) on spilled boards.").keys(&[KeySpec::at(1, KeyUse::Pop)])
}

fn rem<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    if args.len() == 0 {
        return Err(Error::Arity);
    }
    let mut board = open_to_write(call, key)?;
    let owned = open_owned_hash(call, &mut board)?;
    let members: Vec<Text> = args.map(Arg::text).collect();
    let removed = board.remove(&members)?;
    forget_left(&mut board, owned);
    call.reply().count(removed);
    Ok(())
}

fn trim<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let keep = count(required(&mut args)?, "n", 0)?;
    let wanted = args.next_if("RETURN");
    if let Some(unknown) = args.next() {
        return Err(Error::UnknownOption(Shown::new(unknown.bytes())));
    }
    let mut board = open_to_write(call, key)?;
    if wanted {
        check_rows(board.members()?.saturating_sub(keep))?;
    }
    let owned = open_owned_hash(call, &mut board)?;
    let (count, leaving) = board.trim(keep, wanted)?;
    forget_left(&mut board, owned);
    let reply = call.reply();
    if !wanted {
        reply.count(count);
        return Ok(());
    }
    reply.array(leaving.len() as u64);
    leaving.iter().for_each(|element| reply.bulk(board.name_of(element)));
    Ok(())
}
