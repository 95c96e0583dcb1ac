//! The commands: parse all arguments, act, reply.

mod adopt;
mod args;
mod attributes;
mod board;
mod groups;
mod lists;
mod member;
mod options;
mod rate;
mod rows;
mod score;
mod verify;
mod write;

pub use attributes::{deldata, getdata, setdata};
pub use board::{alter, clear, create, info, rotate};
pub use groups::{query, stats};
pub use lists::{around, byscore, page, range, topn};
pub use member::{among, get, percentile, score};
pub use rate::{check, peek, reset};
pub use score::{count, forscore, scoreat};
pub use verify::verify;
pub use write::{add, incr, multiset, rem, trim};

use crate::board::Board;
use crate::error::Result;
use crate::server::{Access, Call, Text, ZSet};

type ServerBoard<'a> = Board<ZSet<'a>>;

fn open<'a>(call: &Call<'a>, key: Text<'a>, access: Access) -> Result<ServerBoard<'a>> {
    Board::open(ZSet::open(call.ctx, key, access)?)
}
