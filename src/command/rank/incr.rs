//! `RANK.INCR`: the same way as `RANK.ADD`, with increments in place of scores.

use super::write::{put_score, reply_change, write, wrong_count, WriteOptions};
use crate::board::{Board, Pair, WriteMode};
use crate::command;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::server::{Access, Arg, Call, ZSet};

command! { INCR = incr;
    Doc::write("rank.incr", "key [BOARD fields:n] ranks:[WITHRANK [PERIOD period:unit]] [AT time:ms] [DATA json] delta ... member",
    "Increments the scores of a member.", "O(log(N))").fast()
}

fn incr<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let options = WriteOptions::parse(call, &mut args)?;
    let mut set = ZSet::open(call, key, Access::Write)?;
    set.announce_as(c"zincr");
    let mut board = Board::open(set)?;
    options.check_declared(&board)?;
    if put_score(&mut board, &options, WriteMode::Add, args.clone(), |_, sums| call.reply().scores(sums))? {
        return Ok(());
    }
    let schema = board.schema();
    let fields = schema.fields().len();
    if args.len() != fields + 1 {
        return Err(wrong_count(args, |got| Error::delta_count(fields, got)));
    }
    let deltas = schema.parse_deltas(args.take_first(fields).map(Arg::bytes))?;
    let pair = Pair::new(deltas, args.text()?);
    let pairs = std::slice::from_ref(&pair);
    let written = write(call, board, None, &options, WriteMode::Add, pairs, &[options.json])?;
    let reply = call.reply();
    let change = match options.with_rank {
        None => written.own.result.changes.first(),
        Some(ranks_of) => written.changes(ranks_of).first(),
    };
    match change.and_then(|change| change.after.as_ref()) {
        None => reply.null(),
        Some(after) if options.with_rank.is_none() => reply.scores(&after.values),
        Some(_) => reply_change(&written.own.board, &pair.member, change, &reply),
    }
    Ok(())
}
