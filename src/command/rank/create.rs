//! `RANK.CREATE` and `RANK.ALTER`.

use super::periods::check_prefixes;
use super::{forget, open_to_read, open_to_write, ServerBoard};
use crate::board::{Alteration, Board, Creation, Rules, ALTER_SYNTAX, CREATE_SYNTAX};
use crate::command;
use crate::docs::{Doc, KeySpec, KeyUse};
use crate::error::{Error, Result};
use crate::server::{Access, Args, Call, Hash, Text, ZSet};
use crate::words::Word;

command! { CREATE = create;
    Doc::write("rank.create", CREATE_SYNTAX,
    "Creates a board or sets its schema.",
    "O(1) on a new board; O(log(N)+M) where KEEP removes M members; O(N) with ADOPT, for N up to 20,000.")
    .reports_keys().keys(&[KeySpec::at(1, KeyUse::Update), KeySpec::behind("LIKE", 2, KeyUse::Read),
    KeySpec::behind("DATA", 2, KeyUse::Read)])
}

command! { ALTER = alter;
    Doc::write("rank.alter", ALTER_SYNTAX,
    "Changes the size limit, update rule, attribute hash or periods of a board.",
    "O(1), or O(log(N)+M) where KEEP removes M members.").reports_keys().keys(&[KeySpec::at(1, KeyUse::Update),
    KeySpec::behind("DATA", 2, KeyUse::Read)])
}

/// Reports the positions of the keys after these words, which are at this index or later.
pub fn report_key_positions(call: &Call, words: &[&str], from: usize) {
    call.report_key_position(1);
    let args = call.args();
    for word in words {
        let at = args.clone().skip(from - 1).position(|arg| arg.is(word));
        if let Some(at) = at.filter(|at| at + from < args.len()) {
            call.report_key_position(at + from + 1);
        }
    }
}

fn create<'c>(call: &'c Call<'c>) -> Result<()> {
    if call.asks_for_keys() {
        report_key_positions(call, &["LIKE", "DATA"], 2);
        return Ok(());
    }
    let (key, mut args) = call.key_and_args()?;
    let creation = if args.next_if("LIKE") {
        Creation { rules: rules_of(call, args)?, since: None, adopt: false }
    } else {
        Creation::parse(key.bytes(), args)?
    };
    let rules = &creation.rules;
    check_prefixes(call, &key, &rules.periods)?;
    let set = ZSet::open(call, key.clone(), Access::Write)?;
    let mut board = if creation.adopt { Board::open_to_adopt(set)? } else { Board::open(set)? };
    check_may_own(call, rules)?;
    let owned = open_hashes_to_trim(call, &mut board, rules)?;
    let removed = board.create(creation, key.bytes(), call.ctx.now(), !owned.is_empty())?;
    forget(&removed, owned);
    call.reply().ok();
    Ok(())
}

fn check_may_own<'c>(call: &'c Call<'c>, rules: &Rules) -> Result<()> {
    match rules.data.as_ref().filter(|data| data.owner.is_some()) {
        Some(data) => Hash::check_may_own(call, &data.hash),
        None => Ok(()),
    }
}

/// The hashes that the board owns, and will own, if these rules make members leave.
fn open_hashes_to_trim<'c>(call: &'c Call<'c>, board: &mut ServerBoard<'c>, rules: &Rules) -> Result<Vec<Hash<'c>>> {
    match rules.keep {
        Some(keep) if board.members()? > keep => {}
        _ => return Ok(Vec::new()),
    }
    let key = board.key().clone();
    let owned_by = |rules: &Rules| {
        let data = rules.data.as_ref().filter(|data| data.owner.as_deref() == Some(key.bytes()));
        data.map(|data| data.hash.clone())
    };
    let mut names: Vec<Vec<u8>> = [&board.schema().rules, rules].into_iter().filter_map(owned_by).collect();
    names.dedup();
    names.iter().map(|name| Hash::open(call, &key, name, Access::Write)).collect()
}

/// The rules that another board may take over from the one that is named behind `LIKE`.
fn rules_of<'c>(call: &'c Call<'c>, mut args: Args<'c>) -> Result<Rules> {
    let other: Text = args.value_of("LIKE")?.text();
    if let Some(more) = args.next() {
        return Err(Error::unknown_option(more.bytes()));
    }
    let board = open_to_read(call, other)?;
    if board.schema_text().is_none() {
        return Err(Error::no_board());
    }
    Ok(board.schema().rules.inherited())
}

fn alter<'c>(call: &'c Call<'c>) -> Result<()> {
    if call.asks_for_keys() {
        report_key_positions(call, &["DATA"], 2);
        return Ok(());
    }
    let (key, args) = call.key_and_args()?;
    if args.is_empty() {
        return Err(Error::arity());
    }
    let alteration = Alteration::parse(key.bytes(), args)?;
    let mut board = open_to_write(call, key)?;
    if board.schema_text().is_none() {
        return Err(Error::no_board());
    }
    let gets_hash = alteration.data.is_some();
    let rules = alteration.apply(&board.schema().rules, board.key().bytes())?;
    if gets_hash {
        check_may_own(call, &rules)?;
    }
    check_prefixes(call, board.key(), &rules.periods)?;
    let owned = open_hashes_to_trim(call, &mut board, &rules)?;
    let removed = board.alter(rules, !owned.is_empty())?;
    forget(&removed, owned);
    call.reply().ok();
    Ok(())
}
