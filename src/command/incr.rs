//! `RANK.INCR`.

use super::write::{
    check_declared, open_for, reply_change, write, wrong_count, Allowed, Opened, Periods, Records, WriteOptions,
};
use crate::board::{Detail, Pair, Scores};
use crate::command;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::server::{Arg, Call};

command! { INCR = incr;
    Doc::write("rank.incr", "key [BOARD fields:n] ranks:[WITHRANK [PERIOD period:unit]] [AT time:ms] delta ... member",
    "Adds to each score of a member. Returns the new scores, or a row with old and new rank and scores.", "O(log(N))").fast()
}

fn incr<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = args.text()?;
    let options = WriteOptions::parse(&mut args, Allowed::OfIncrements)?;
    let mut board = match open_for(call, key, &options, &args, Scores::Add)? {
        Opened::Done(_, sum) => {
            call.reply().float(sum);
            return Ok(());
        }
        Opened::Board(board) => board,
    };
    check_declared(&board, options.fields)?;
    let schema = board.schema();
    let fields = schema.fields().len();
    if args.len() != fields + 1 {
        return Err(wrong_count(args, |got| Error::delta_count(fields, got)));
    }
    let mut rules = options.write(call, schema, Scores::Add)?;
    rules.detail = rules.detail.max(Detail::Scores);
    let deltas = schema.parse_deltas(args.take_first(fields).map(Arg::bytes))?;
    let pair = Pair::new(deltas, args.text()?);
    let pairs = std::slice::from_ref(&pair);
    let done = write(call, &mut board, rules, pairs, Records::None, Periods::Current(&options))?;
    let reply = call.reply();
    let change = match options.with_rank {
        None => done.written.changes.first(),
        Some(ranks_of) => done.changes(ranks_of).first(),
    };
    match change.and_then(|change| change.after.as_ref()) {
        None => reply.null(),
        Some(after) if options.with_rank.is_none() => reply.scores(&after.values),
        Some(_) => reply_change(&board, &pair.member, change, &reply),
    }
    Ok(())
}
