//! `RANK.GET`, `RANK.SCORE`, `RANK.PERCENTILE` and `RANK.AMONG`.

use super::options::{open_board_or_period, period_option, read_rows, report_keys, row_options, Read, RANK_COST};
use super::ServerBoard;
use crate::board::{Member, RankKind, Row};
use crate::command;
use crate::config::check_rows;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::server::{Call, Text};
use crate::words::Word;

command! { GET = get;
    read_rows("rank.get", concat!("key member ", row_options!()),
    "Returns the rank and scores of a member.", RANK_COST).fast()
}

command! { SCORE = score;
    Doc::read("rank.score", concat!("key member", period_option!()), "Returns the scores of a member.",
    "O(1)").fast()
}

command! { PERCENTILE = percentile;
    Doc::read("rank.percentile", concat!("key member", period_option!()),
    "Returns the percentage of members that a member beats.",
    "O(log(N))").fast()
}

command! { AMONG = among;
    read_rows("rank.among", concat!("key nummembers member ... ", row_options!()),
    "Ranks the members of a group, such as friends.",
    "O(M*log(N)) for M members; with DENSE O(D*log(N)) more for D better scores.")
}

fn get<'c>(call: &'c Call<'c>) -> Result<()> {
    if call.asks_for_keys() {
        return report_keys(call, 1);
    }
    let (key, mut args) = call.key_and_args()?;
    let member = args.text()?;
    let mut read = Read::open(call, key, args)?;
    let Some(found) = read.board.find(&member)? else {
        read.null();
        return Ok(());
    };
    let kind = read.kind();
    let row = read.board.row(found, kind)?;
    read.reply(std::iter::once(&row), |format, out| format.row(0, None, &row, out))
}

/// A board and one of its members, for a read whose only option is a period; `None` if the member is not on the board.
fn board_and_member<'c>(call: &'c Call<'c>) -> Result<Option<(ServerBoard<'c>, Member<Text<'c>>)>> {
    let (key, mut args) = call.key_and_args()?;
    let member = args.text()?;
    let board = open_board_or_period(call, key, args)?;
    let found = board.find(&member)?;
    Ok(found.map(|found| (board, found)))
}

fn score<'c>(call: &'c Call<'c>) -> Result<()> {
    match board_and_member(call)? {
        Some((_, found)) => call.reply().scores(&found.values),
        None => call.reply().null(),
    }
    Ok(())
}

fn percentile<'c>(call: &'c Call<'c>) -> Result<()> {
    let Some((mut board, found)) = board_and_member(call)? else {
        call.reply().null();
        return Ok(());
    };
    let (worse, members) = (board.worse(&found.values)?, board.members()?);
    call.reply().float(100.0 * worse as f64 / members as f64);
    Ok(())
}

fn among<'c>(call: &'c Call<'c>) -> Result<()> {
    if call.asks_for_keys() {
        let named = call.args().nth(1).and_then(|named| named.count("nummembers", 1).ok());
        return report_keys(call, named.and_then(|named| usize::try_from(named).ok()).map_or(1, |named| 1 + named));
    }
    let (key, mut args) = call.key_and_args()?;
    let named = args.required()?.count("nummembers", 1)?;
    if named > args.len() as u64 {
        return Err(Error::member_count(named, args.len()));
    }
    let names = args.take_first(named as usize);
    let mut read = Read::open(call, key, args)?;

    let mut peers = Vec::new();
    for name in names {
        peers.extend(read.board.find(&name.text())?);
    }
    peers.sort_by(|a, b| read.board.compare(&a.stored, &b.stored));
    peers.dedup_by(|a, b| a.stored.name() == b.stored.name());
    check_rows(peers.len() as u64)?;
    let kind = read.kind();
    let rows = rank_peers(&mut read.board, kind, peers)?;
    read.reply(rows.iter().map(|(_, row)| row), |format, out| {
        out.list(rows.len() as u64);
        rows.iter().enumerate().for_each(|(index, (place, row))| format.row(index, Some(*place), row, out));
        out.end_list();
    })
}

/// The row of each member with its place among these, which are sorted, best first. The place is of the same kind as the
/// rank. For `DENSE` no distinct score is counted twice.
pub fn rank_peers<'c>(
    board: &mut ServerBoard<'c>,
    kind: RankKind,
    peers: Vec<Member<Text<'c>>>,
) -> Result<Vec<(u64, Row)>> {
    let mut rows: Vec<(u64, Row)> = Vec::with_capacity(peers.len());
    let mut groups = 0;
    for peer in peers {
        let position = rows.len() as u64 + 1;
        let last = rows.last().map(|(place, row)| (*place, row.rank, &row.values));
        let (place, rank) = match (last, kind) {
            (Some((place, rank, values)), RankKind::Competition | RankKind::Dense) if *values == peer.values => {
                (place, rank)
            }
            (Some((_, rank, values)), RankKind::Dense) => {
                groups += 1;
                (groups, rank + board.better_groups(&peer.values, Some(values))?)
            }
            (None, RankKind::Dense) => {
                groups = 1;
                (1, board.rank(&peer, kind)?)
            }
            _ => (position, board.rank(&peer, kind)?),
        };
        rows.push((place, Row::of(peer, rank)));
    }
    Ok(rows)
}
