//! `RANK.LOAD`: members as lines of JSON.

use super::open_to_write;
use super::write::{write, WriteOptions};
use crate::board::{lines_of, LoadLine, Pair, WriteMode};
use crate::command;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::server::{Arg, Call, Text};

command! { LOAD = load;
    Doc::write("rank.load", "key [BOARD fields:n] [NX] line ...",
    "Adds members from lines of JSON, as RANK.SCAN returns them.",
    "O(log(N)) for each line.")
}

fn load<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    // A line begins with a brace, so it is never taken for an option.
    let mut options = WriteOptions::parse(call, &mut args)?;
    options.is_load = true;
    if args.is_empty() {
        return Err(Error::arity());
    }
    let board = open_to_write(call, key)?;
    options.check_declared(&board)?;
    let schema = board.schema().clone();
    let mut lines = Vec::new();
    for (number, text) in (1..).zip(lines_of(args.map(Arg::bytes))) {
        lines.push(LoadLine::parse(&schema, text).map_err(|error| error.in_line(number))?);
    }
    let pair = |line: &LoadLine| Pair { at: line.time, ..Pair::new(line.values.clone(), Text::new(&line.member)) };
    let pairs: Vec<Pair<Text>> = lines.iter().map(pair).collect();
    let attributes: Vec<Option<&[u8]>> = lines.iter().map(|line| line.data.as_deref()).collect();
    let written = write(call, board, None, &options, WriteMode::Set, &pairs, &attributes)?;
    call.reply().count(written.own.result.added);
    Ok(())
}
