//! `RANK.ADD` and `RANK.MULTISET`.
//!
//! options → open the board → pairs → `write::write` → reply. Only `RANK.MULTISET` may create a board.

use super::write::{check_changes, is_score, pairs, put_score, reply_change, write, CreatedBoard, WriteOptions};
use super::{open_to_write, ServerBoard};
use crate::board::{Rules, Schema, WriteMode};
use crate::command;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::number::parse_extended;
use crate::server::{Args, Call};
use crate::words::{check_name, MAX_MEMBER_NAME};
use crate::zset::PutResult;

const SYNTAX: &str = "key [BOARD fields:n] condition:[NX|XX] update:[SET|BEST] [KEEP keep:n] [CH] ranks:[WITHRANK [PERIOD period:unit]] [AT time:ms] [DATA json] \
    entry:{score ... member} ...";
const COST: &str = "O(log(N)) for each member.";

command! { ADD = add;
    Doc::write("rank.add", SYNTAX, "Sets the scores of one or more members.",
    COST).fast()
}

command! { MULTISET = multiset;
    Doc::write("rank.multiset", SYNTAX,
    "Sets several scores of a member, and creates the board if it does not exist.", COST).fast()
}

fn add<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let options = WriteOptions::parse(call, &mut args)?;
    let mut board = open_to_write(call, key)?;
    options.check_declared(&board)?;
    let reply = |put, _: &_| {
        let counts = put == PutResult::Added || put == PutResult::Changed && options.count_changed;
        call.reply().count(u64::from(counts));
    };
    if put_score(&mut board, &options, WriteMode::Set, args.clone(), reply)? {
        return Ok(());
    }
    set(call, board, None, &options, args)
}

fn multiset<'c>(call: &'c Call<'c>) -> Result<()> {
    let (key, mut args) = call.key_and_args()?;
    let options = WriteOptions::parse(call, &mut args)?;
    let mut board = open_to_write(call, key.clone())?;
    options.check_declared(&board)?;
    if board.exists() || args.len() < 3 {
        return set(call, board, None, &options, args);
    }
    if has_several_members(args.clone()) {
        return Err(Error::several_members_of_new_board());
    }
    let rules = Rules::integers(args.len().saturating_sub(1))?;
    // Check everything before the board is created.
    let schema = Schema::new(rules.clone());
    for pair in &pairs(&schema, args.clone())? {
        check_name("member", pair.member.bytes(), MAX_MEMBER_NAME)?;
        if pair.kept != 0 {
            return Err(Error::kept_on_new_board());
        }
    }
    options.request(call, &schema, WriteMode::Set)?;
    if options.json.is_some() {
        return Err(Error::no_data());
    }
    board.use_schema(schema, 0);
    set(call, board, Some(CreatedBoard { rules, expires: None }), &options, args)
}

/// Whether the arguments for a new board are probably several members: there is a name among the scores, or the last is a
/// number too, and they make pairs.
fn has_several_members(args: Args) -> bool {
    let all_are_scores = args.clone().take(args.len().saturating_sub(1)).all(|arg| is_score(arg.bytes()));
    let ends_with_number = args.clone().last().is_some_and(|arg| parse_extended(arg.bytes()).is_some());
    args.len() >= 4 && (!all_are_scores || ends_with_number && args.len().is_multiple_of(2))
}

fn set<'c>(
    call: &'c Call<'c>,
    board: ServerBoard<'c>,
    created: Option<CreatedBoard>,
    options: &WriteOptions,
    args: Args<'c>,
) -> Result<()> {
    let pairs = pairs(board.schema(), args)?;
    check_changes(options, pairs.len())?;
    if options.json.is_some() && pairs.len() > 1 {
        return Err(Error::data_takes_one_member());
    }
    let written = write(call, board, created, options, WriteMode::Set, &pairs, &[options.json])?;
    let reply = call.reply();
    let Some(ranks_of) = options.with_rank else {
        let result = &written.own.result;
        reply.count(result.added + if options.count_changed { result.changed } else { 0 });
        return Ok(());
    };
    let changes = written.changes(ranks_of);
    reply.array(pairs.len() as u64);
    for (i, pair) in pairs.iter().enumerate() {
        reply_change(&written.own.board, &pair.member, changes.get(i), &reply);
    }
    Ok(())
}
