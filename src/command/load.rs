//! `RANK.LOAD`: members as lines of JSON.

use super::open_to_write;
use super::write::{begins_with_word, check_declared, number_of_fields, write, Periods, Records, WriteOptions};
use crate::board::{lines_of, LoadLine, Pair, Scores};
use crate::command;
use crate::docs::Doc;
use crate::error::set_once as once;
use crate::error::{Error, Result};
use crate::server::{Arg, Call, Text};
use crate::zset::Condition;

command! { LOAD = load;
    Doc::write("rank.load", "key [BOARD fields:n] [NX] line ...",
    "Adds members from lines of JSON, as RANK.SCAN returns them. Returns how many are new.",
    "O(log(N)) for each line.").since("0.2.0")
}

fn load<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let (mut fields, mut new_only) = (None, None);
    // Lines begin with a brace.
    while begins_with_word(&args) {
        if args.next_if("BOARD") {
            once(&mut fields, number_of_fields(&mut args)?, "BOARD")?;
        } else if args.next_if("NX") {
            once(&mut new_only, (), "NX")?;
        } else {
            break;
        }
    }
    let only = if new_only.is_some() { Condition::New } else { Condition::Any };
    if args.is_empty() {
        return Err(Error::arity());
    }
    let mut board = open_to_write(call, key)?;
    check_declared(&board, fields)?;
    let schema = board.schema().clone();
    let mut lines = Vec::new();
    for (number, text) in (1..).zip(lines_of(args.map(Arg::bytes))) {
        lines.push(LoadLine::parse(&schema, text).map_err(|error| error.in_line(number))?);
    }
    let pair = |line: &LoadLine| Pair { at: line.time, ..Pair::new(line.values.clone(), Text::new(&line.member)) };
    let pairs: Vec<Pair<Text>> = lines.iter().map(pair).collect();
    let texts: Vec<Option<&[u8]>> = lines.iter().map(|line| line.data.as_deref()).collect();
    let records = if only == Condition::New { Records::OfNewMembers(&texts) } else { Records::OfMembers(&texts) };
    let options = WriteOptions { only, ..WriteOptions::default() };
    let rules = options.write(call, &schema, Scores::Set)?;
    let done = write(call, &mut board, rules, &pairs, records, Periods::None)?;
    call.reply().count(done.written.added);
    Ok(())
}
