//! `RANK.LOAD`: members as lines of JSON.

use super::add::{clock, count_written};
use super::args::key;
use super::{open_hash, open_to_write, owns_hash};
use crate::board::{lines_of, Line};
use crate::command;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::server::{Access, Arg, Call};

command! { LOAD = load;
    Doc::write("rank.load", "key [NX] line ...",
    "Writes members from lines of JSON, as RANK.SCAN returns them. Returns how many are new.",
    "O(log(N)) for each line.").since("0.2.0")
}

fn load<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let only_new = args.next_if("NX");
    if args.len() == 0 {
        return Err(Error::Arity);
    }
    let mut board = open_to_write(call, key)?;
    let schema = board.schema().clone();
    let mut lines = Vec::new();
    for (number, text) in (1..).zip(lines_of(args.map(Arg::bytes))) {
        lines.push(Line::parse(&schema, text).map_err(|problem| Error::Line { number, problem })?);
    }
    let now = clock(call, &schema, None);

    let members = lines.len() as u64;
    let may_leave = match schema.rules.keep {
        Some(keep) => board.members()?.saturating_add(members) > keep,
        None => false,
    };
    let owned = may_leave && owns_hash(&schema, board.store.name());
    if owned {
        board.note_leavers();
    }
    let wants_hash = owned || lines.iter().any(|line| line.data.is_some());
    let mut hash = if wants_hash { Some(open_hash(call, &board, Access::Write)?) } else { None };

    let loaded = board.load(&lines, only_new, now)?;
    count_written(&loaded.written);
    if let Some(hash) = &mut hash {
        for (line, holds) in lines.iter().zip(&loaded.holds) {
            if let (Some(data), true) = (&line.data, holds) {
                hash.set(&line.member, data);
            }
        }
        board.left().iter().for_each(|member| hash.remove(member.bytes()));
    }
    call.reply().count(loaded.added);
    Ok(())
}
