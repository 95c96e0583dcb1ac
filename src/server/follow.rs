//! Companions go along with a board that was renamed or moved.

use std::os::raw::c_int;

use super::context::Ctx;
use super::hash::Hash;
use super::journey::{Place, SOME_DB};
use super::key::Access;
use super::text::Text;
use super::zset::ZSet;
use crate::board::{Companion, Id, Marker, Part};
use crate::error::Result;
use crate::stats;

/// So many names are tried for a companion that must get out of another's way.
const MOST_NAMES_ASIDE: usize = 8;

/// The id of the board that is there now.
pub fn board_id(ctx: Ctx, board: &Text) -> Option<Id> {
    let zset = ZSet::open(ctx, board.clone(), Access::Peek).ok()?;
    Marker::find(&zset).ok()?.map(|marker| marker.id)
}

/// Looks through the databases for a board of which only its name is known, by the stamp of what it left behind.
pub fn find_db(ctx: Ctx, from: &Place, to: &mut Place) {
    if to.db != SOME_DB {
        return;
    }
    let (old, new) = (Text::new(&from.key), Text::new(&to.key));
    let dbs = (0..).take_while(|db| ctx.select(*db)).filter(|db| *db != from.db);
    let left_behind = |id| {
        Part::ALL.iter().any(|part| {
            ctx.select(from.db);
            let hash = Hash::open(ctx, *part, &old, Access::Peek);
            hash.is_ok_and(|hash| matches!(hash.state(&id), Companion::Stamped(_)))
        })
    };
    for db in dbs {
        if board_id(ctx, &new).is_some_and(left_behind) {
            to.db = db;
            return;
        }
    }
}

/// A companion on its way.
struct Moving {
    db: c_int,
    from: Text<'static>,
    to_db: c_int,
    to: Text<'static>,
}

/// Takes companions along to where their boards are now.
pub fn follow(ctx: Ctx, moved: &[(&Place, &Place)]) {
    let mut moving: Vec<Moving> = moved
        .iter()
        .flat_map(|(from, to)| Part::ALL.map(|part| companion_to_move(ctx, part, from, to)))
        .flatten()
        .collect();
    if moved.len() > 1 {
        // Boards may have changed places: out of each other's way first.
        for companion in &mut moving {
            ctx.select(companion.db);
            companion.step_aside(ctx);
        }
    }
    for companion in moving {
        if companion.go(ctx).is_ok() {
            stats::FOLLOWED.add(1);
        }
    }
}

/// The companion under the board's old name, if it is the board's.
fn companion_to_move(ctx: Ctx, part: Part, from: &Place, to: &Place) -> Option<Moving> {
    let (old, new) = (Text::new(&from.key), Text::new(&to.key));
    let id = if ctx.select(to.db) { board_id(ctx, &new)? } else { return None };
    let target = part.key(new.bytes())?;
    ctx.select(from.db);
    let hash = Hash::open(ctx, part, &old, Access::Peek).ok()?;
    let ours = matches!(hash.state(&id), Companion::Stamped(_)) && board_id(ctx, &old) != Some(id);
    ctx.select(to.db);
    let free = Hash::check_free(ctx, part, &new).is_ok();
    (ours && free).then(|| Moving { db: from.db, from: hash.name().clone(), to_db: to.db, to: Text::new(&target) })
}

impl Moving {
    /// To a name in the same slot that nobody uses.
    fn step_aside(&mut self, ctx: Ctx) {
        for tildes in 1..=MOST_NAMES_ASIDE {
            let aside = Text::new(&[self.from.bytes(), &b"~".repeat(tildes)].concat());
            let renamed = ctx.write(c"RENAMENX", &mut [self.from.raw(), aside.raw()]);
            if renamed.is_ok_and(|reply| reply.count() == 1) {
                self.from = aside;
                return;
            }
        }
    }

    fn go(&self, ctx: Ctx) -> Result<()> {
        ctx.select(self.db);
        if self.db != self.to_db {
            // MOVE keeps the name, and moves nothing onto a key that is there.
            if self.from.bytes() != self.to.bytes() {
                ctx.rename(&self.from, &self.to)?;
            }
            ctx.select(self.to_db);
            ctx.write(c"UNLINK", &mut [self.to.raw()])?;
            ctx.select(self.db);
            let db = Text::new(self.to_db.to_string().as_bytes());
            return ctx.write(c"MOVE", &mut [self.to.raw(), db.raw()]).map(drop);
        }
        ctx.rename(&self.from, &self.to)
    }
}
