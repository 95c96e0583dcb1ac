//! `RANK.*`: boards, their members and attributes.
//!
//! `write` is the body of all writes of scores; `options`, `rows` and `output` are shared by the reads.

mod add;
mod attributes;
mod board;
mod create;
mod groups;
mod incr;
mod lists;
mod load;
mod member;
mod options;
mod output;
mod periods;
mod remove;
mod rows;
mod scan;
mod scores;
mod shard;
mod verify;
mod versus;
mod write;

pub use add::{ADD, MULTISET};
pub use attributes::{DELDATA, GETDATA, PUTDATA, SETDATA};
pub use board::{CLEAR, INFO, ROTATE};
pub use create::{ALTER, CREATE};
pub use groups::{QUERY, STATS};
pub use incr::INCR;
pub use lists::{AFTER, AROUND, BEFORE, BYSCORE, PAGE, RANGE, TOPN};
pub use load::LOAD;
pub use member::{AMONG, GET, PERCENTILE, SCORE};
pub use periods::PERIODS;
pub use remove::{POP, REM, TRIM};
pub use scan::SCAN;
pub use scores::{COUNT, FORSCORE, SCOREAT};
pub use shard::{SHARD, SHARDS};
pub use verify::VERIFY;

use crate::board::{Board, Schema, Stored};
use crate::config;
use crate::error::{Error, Result};
use crate::server::{Access, Call, Hash, Text, ZSet};

type ServerBoard<'c> = Board<ZSet<'c>>;

#[inline]
fn open_to_read<'c>(call: &'c Call<'c>, key: Text<'c>) -> Result<ServerBoard<'c>> {
    let mut board = Board::open(ZSet::open(call, key, Access::Read)?)?;
    board.set_max_hops(config::MAX_HOPS.bound());
    Ok(board)
}

#[inline]
fn open_to_write<'c>(call: &'c Call<'c>, key: Text<'c>) -> Result<ServerBoard<'c>> {
    Board::open(ZSet::open(call, key, Access::Write)?)
}

/// The hash of the board's attributes; an error if it has none.
fn open_hash<'c>(call: &'c Call<'c>, board: &ServerBoard<'c>, access: Access) -> Result<Hash<'c>> {
    let data = board.schema().rules.data.as_ref().ok_or_else(Error::no_data)?;
    Hash::open(call, board.key(), &data.hash, access)
}

/// The hash that the board owns, if it does. It is opened before members are removed, so that their attributes can be too.
#[inline]
fn open_owned_hash<'c>(call: &'c Call<'c>, board: &ServerBoard<'c>) -> Result<Option<Hash<'c>>> {
    if owns_hash(board.schema(), board.key()) {
        open_hash(call, board, Access::Write).map(Some)
    } else {
        Ok(None)
    }
}

#[inline]
fn owns_hash(schema: &Schema, key: &Text) -> bool {
    let owner = schema.rules.data.as_ref().and_then(|data| data.owner.as_deref());
    owner.is_some_and(|owner| owner == key.bytes())
}

/// Removes the attributes of removed members from hashes that the board owns.
#[inline]
fn forget<'c>(removed: &[Stored<Text<'c>>], owned: impl IntoIterator<Item = Hash<'c>>) {
    for mut hash in owned {
        removed.iter().for_each(|member| hash.remove(member.name()));
    }
}
