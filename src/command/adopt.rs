//! `RANK.CREATE … ADOPT` on a large sorted set: its elements are looked at in steps.

use std::os::raw::c_int;
use std::time::Duration;

use crate::board::{Board, Id, Rules, Schema};
use crate::error::{Error, Result};
use crate::server::{Access, Call, Ctx, Job, Progress, Stopwatch, Text, Watch, ZSet};

/// What one step may take.
const MOST_TIME: Duration = Duration::from_millis(2);
/// So many members are looked at in far less than 10 ms: at once, where steps lead to nothing.
const MOST_AT_ONCE: u64 = 20_000;
/// Attempts to look at a board that somebody keeps writing to, before that.
const MOST_ATTEMPTS: u32 = 10;

struct Adoption {
    db: c_int,
    key: Text<'static>,
    schema: Schema,
    id: Id,
    watch: Watch,
    attempt: u32,
    /// Elements before this one decode.
    next: u64,
    /// As many as there were when the first one was looked at.
    members: u64,
}

/// Goes on with an adoption in steps, if the client may wait for it: whether it does.
pub fn adopt_in_steps(call: &Call, key: &Text, members: u64, rules: &Rules, id: Id) -> Result<bool> {
    let watch = if call.ctx.may_wait() { Watch::begin(call.ctx, key) } else { None };
    let Some(watch) = watch else {
        return if members > MOST_AT_ONCE { Err(Error::AdoptWaits { most: MOST_AT_ONCE }) } else { Ok(false) };
    };
    call.in_steps(Box::new(Adoption {
        db: call.ctx.db(),
        // The argument does not live as long.
        key: Text::new(key.bytes()),
        schema: Schema::new(rules.clone()),
        id,
        watch,
        attempt: 0,
        next: 0,
        members: 0,
    }));
    Ok(true)
}

impl Job for Adoption {
    fn step(&mut self, ctx: Ctx) -> Result<Progress> {
        if ctx.writes_are_paused() {
            return Ok(Progress::More);
        }
        ctx.check_is_serving(self.db, &self.key)?;
        let mut board = Board::open(ZSet::open(ctx, self.key.clone(), Access::Write)?)?;
        if self.watch.take_changed() || board.members() != self.members || self.attempt == 0 {
            self.attempt += 1;
            (self.next, self.members) = (0, board.members());
        }
        // Somebody was faster, or there is not much left of it.
        let mut at_once = !board.adopts_in_steps(&self.schema);
        if !at_once && self.attempt > MOST_ATTEMPTS {
            if self.members > MOST_AT_ONCE {
                return Err(Error::AdoptMeetsWriters { attempts: MOST_ATTEMPTS });
            }
            at_once = true;
        }
        if at_once {
            board.create(self.schema.rules.clone(), true, self.id)?;
            return Ok(Progress::Done);
        }
        let stopwatch = Stopwatch::start();
        let late = || stopwatch.elapsed() > MOST_TIME;
        match board.check_decodes(&self.schema, self.next, late)? {
            Some(next) => {
                self.next = next;
                Ok(Progress::More)
            }
            None => {
                board.create_checked(self.schema.rules.clone(), self.id)?;
                Ok(Progress::Done)
            }
        }
    }
}
