//! Reads about one member, or some of them.

use super::args::{count, key, nothing_more, required};
use super::lists::open_read;
use super::options::{ReadOptions, Takes};
use super::rows::{json_integer, json_member, resp_member, row, JsonList};
use super::{open, ServerBoard};
use crate::board::{Found, Kind, Row, Tuple};
use crate::config::check_rows;
use crate::error::{Error, Result};
use crate::server::{Access, Arg, Call, Reply, Text};

pub fn get(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let member = required(&mut args).map(Arg::text)?;
    let options = ReadOptions::parse(args, Takes::ROWS)?;
    let board = open_read(call, key, &options)?;
    let reply = Reply::new(call.ctx);
    let Some(found) = board.find(&member)? else {
        reply.null();
        return Ok(());
    };
    let rank = board.rank(&found, options.kind(&board))?;
    row(&board, &Row { rank, member: member.bytes(), values: &found.decoded.values }, &options, &reply)
}

pub fn score(call: &Call) -> Result<()> {
    about_member(call, |_, found, reply| {
        reply.scores(&found.decoded.values);
        Ok(())
    })
}

pub fn percentile(call: &Call) -> Result<()> {
    about_member(call, |board, found, reply| {
        let worse = board.worse(&found.decoded.values)?;
        reply.float(100.0 * worse as f64 / board.members() as f64);
        Ok(())
    })
}

/// A read that takes a key and a member and no options; null for a stranger.
fn about_member<'a>(
    call: &Call<'a>,
    tell: impl Fn(&ServerBoard<'a>, &Found<Text<'a>>, &Reply) -> Result<()>,
) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let member = required(&mut args).map(Arg::text)?;
    nothing_more(&args)?;
    let board = open(call, key, Access::Read)?;
    let reply = Reply::new(call.ctx);
    match board.find(&member)? {
        Some(found) => tell(&board, &found, &reply),
        None => {
            reply.null();
            Ok(())
        }
    }
}

/// A member of the group, with its rank on the board and its place in the group.
struct Peer<'a> {
    member: Text<'a>,
    found: Found<Text<'a>>,
    rank: u64,
    place: u64,
}

pub fn among(call: &Call) -> Result<()> {
    let mut args = call.args();
    let key = key(&mut args)?;
    let named = count(required(&mut args)?, "nummembers", 1)?;
    if named > args.len() as u64 {
        return Err(Error::MemberCount { named, got: args.len() });
    }
    let names = args.take_first(named as usize);
    let options = ReadOptions::parse(args, Takes::ROWS)?;
    let board = open_read(call, key, &options)?;

    let kind = options.kind(&board);
    let mut peers = Vec::new();
    for name in names {
        let member = name.text();
        if let Some(found) = board.find(&member)? {
            peers.push(Peer { member, found, rank: 0, place: 0 });
        }
    }
    peers.sort_by(|a, b| board.compare(&a.found, &b.found));
    peers.dedup_by(|a, b| a.member.bytes() == b.member.bytes());
    check_rows(peers.len() as u64)?;
    rank_peers(&board, kind, &mut peers)?;
    reply_peers(&board, &peers, &options, &Reply::new(call.ctx))
}

/// The same counting as on the board, for a few members in its order.
fn rank_peers<'a>(board: &ServerBoard<'a>, kind: Kind, peers: &mut [Peer<'a>]) -> Result<()> {
    let mut groups = 0;
    let mut last: Option<(u64, u64, Tuple)> = None;
    for (i, peer) in peers.iter_mut().enumerate() {
        let values = &peer.found.decoded.values;
        let equal = last.as_ref().filter(|(.., tuple)| tuple == values);
        groups += u64::from(equal.is_none());
        (peer.rank, peer.place) = match (equal, kind) {
            (Some((rank, place, _)), Kind::Competition | Kind::Dense) => (*rank, *place),
            (_, Kind::Dense) => (board.rank(&peer.found, kind)?, groups),
            _ => (board.rank(&peer.found, kind)?, i as u64 + 1),
        };
        last = Some((peer.rank, peer.place, values.clone()));
    }
    Ok(())
}

fn reply_peers(board: &ServerBoard, peers: &[Peer], options: &ReadOptions, reply: &Reply) -> Result<()> {
    if options.json {
        let mut json = Vec::new();
        let mut list = JsonList::begin(&mut json);
        for peer in peers {
            let json = list.next();
            json.extend_from_slice(b"{\"place\":");
            json_integer(peer.place, json);
            json.push(b',');
            json_member(board, &peer.row(), options, json)?;
        }
        list.end();
        reply.bulk(&json);
        return Ok(());
    }
    reply.array(peers.len() as u64);
    for peer in peers {
        let row = peer.row();
        reply.array(3 + row.values.len() as u64 + u64::from(options.data));
        reply.count(peer.place);
        reply.count(peer.rank);
        resp_member(board, &row, options, reply)?;
    }
    Ok(())
}

impl Peer<'_> {
    fn row(&self) -> Row<'_> {
        Row { rank: self.rank, member: self.member.bytes(), values: &self.found.decoded.values }
    }
}
