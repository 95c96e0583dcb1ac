//! `RANK.INCR`.

use super::add::{begins_with_word, clock, count_written, lone_pair, ranks_of, reply_standing, standings_of};
use super::args::{key, once, required, unix_time, wrong_count};
use super::periods::Feed;
use super::{forget_left, open_owned_hash};
use crate::board::{Board, Only, Scores, Start, Update, Write};
use crate::command;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::server::{Access, Arg, Call, ZSet};

command! { INCR = incr;
    Doc::write("rank.incr", "key ranks:[WITHRANK [PERIOD period:unit]] [AT time:ms] delta ... member",
    "Adds to each score of a member. Returns the new scores, or a row with old and new rank.", "O(log(N))").fast()
}

fn incr<'c>(call: &'c Call<'c>) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let lone = lone_pair(&args);
    let (mut with_rank, mut at) = (None, None);
    while lone.is_none() && begins_with_word(&args) {
        if args.next_if("WITHRANK") {
            once(&mut with_rank, ranks_of(&mut args)?, "WITHRANK")?;
        } else if args.next_if("AT") {
            once(&mut at, unix_time(&mut args)?, "AT")?;
        } else {
            break;
        }
    }
    let mut store = ZSet::open(call, key, Access::Write)?;
    store.announce_as(c"zincr");
    let mut board = match Board::begin(&mut store, Scores::Add, lone)? {
        Start::Done(_, sum) => {
            call.reply().float(sum);
            return Ok(());
        }
        Start::Board(marker) => Board::with_marker(store, marker),
    };
    let schema = board.schema();
    let fields = schema.fields().len();
    if args.len() != fields + 1 {
        return Err(wrong_count(args, |got| Error::DeltaCount { fields, got }));
    }
    if let Some(Some(unit)) = with_rank {
        schema.rules.periods.of(unit)?;
    }
    let deltas = schema.parse_deltas(args.take_first(fields).map(Arg::bytes))?;
    let member = required(&mut args)?.text();
    let write = Write {
        scores: Scores::Add,
        only: Only::Any,
        update: Update::Set,
        keep: schema.rules.keep,
        now: clock(call, schema, at),
        ranks: with_rank == Some(None),
    };
    let owned = match write.keep {
        // A member may have to leave.
        Some(keep) if board.members()? >= keep => open_owned_hash(call, &mut board)?,
        _ => None,
    };
    let pair = [(deltas, member)];
    let mut periods = if board.schema().rules.periods.is_empty() {
        Vec::new()
    } else {
        Feed { write, update: Some(Update::Set), keep: None, at, ranks: with_rank.flatten() }
            .prepare(call, &board, &pair)?
    };
    // The periods were prepared: if the board refuses the write, nothing was changed anywhere.
    let written = board.write(&write, &pair)?;
    count_written(&written);
    periods.iter_mut().try_for_each(|period| period.commit(&pair))?;
    forget_left(&board, owned);
    let reply = call.reply();
    let [(_, member)] = &pair;
    match (with_rank, &written.sum) {
        (None, Some(sum)) => reply.scores(sum),
        (None, None) => reply.null(),
        (Some(ranks_of), _) => match standings_of(ranks_of, &written, &periods).first() {
            Some(standing) if standing.after.is_some() => reply_standing(&board, member, Some(standing), &reply),
            _ => reply.null(),
        },
    }
    Ok(())
}
