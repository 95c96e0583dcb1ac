//! Companions follow their board: dropped soon after it is gone, taken along when it is renamed or moved.
//!
//! Nothing depends on it for correctness, the id in the marker makes a stale companion harmless; this is about not
//! leaving garbage. All decisions look at what is there when they are made, never at what an event said: between an
//! event and its job a transaction may have made the board anew.
//!
//! The keeper knows which boards have companions, so that deleting any other key costs one look-up in a small table.
//! It learns them from writes, and from a scan in small steps after a start or a promotion. What no event tells (`SET`
//! over a board, say) a slow sweep over the table finds.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent, RedisModuleString};

use super::context::Ctx;
use super::hash::Hash;
use super::key::Access;
use super::propagation;
use super::text::Text;
use super::zset::ZSet;
use crate::board::{Companion, Id, Marker, Part};
use crate::error::Result;
use crate::stats;

/// Keys looked at by one step of the scan, some tenths of a millisecond.
const SCANNED_AT_ONCE: u64 = 1000;
/// Boards looked at by one step of the sweep.
const SWEPT_AT_ONCE: usize = 20;

/// A key of one of the server's databases.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    db: c_int,
    key: Box<[u8]>,
}

/// Where the scan for companions stands.
struct Scan {
    db: c_int,
    cursor: u64,
}

#[derive(Default)]
struct Keeper {
    boards: HashSet<Place>,
    /// The same boards, in the order the sweep takes them.
    sweep: VecDeque<Place>,
    scan: Option<Scan>,
    serving: bool,
    /// The first half of a rename or move; the second event names the target.
    leaving: Option<Place>,
}

thread_local! {
    /// All callbacks come on the server's main thread.
    static KEEPER: RefCell<Keeper> = RefCell::default();
}

enum Job {
    Tend(Place),
    Follow { from: Place, to: Place },
}

/// Remembers that a board has companions.
pub fn note_companions(ctx: Ctx, board: &Text) {
    note(Place { db: ctx.db(), key: board.bytes().into() });
}

fn note(place: Place) {
    KEEPER.with_borrow_mut(|keeper| {
        if keeper.boards.insert(place.clone()) {
            keeper.sweep.push_back(place);
        }
    });
}

/// Subscribes to what the keeper needs to hear of. Whether the server let it.
pub fn start(ctx: Ctx) -> bool {
    let classes = raw::REDISMODULE_NOTIFY_GENERIC | raw::REDISMODULE_NOTIFY_EXPIRED | raw::REDISMODULE_NOTIFY_EVICTED;
    let event = |id| RedisModuleEvent { id, dataver: 1 };
    // SAFETY: the context lives while the module is being loaded; the callbacks live as long as the module.
    unsafe {
        let subscribed = api!(RedisModule_SubscribeToKeyspaceEvents)(ctx.raw(), classes, Some(on_key_event));
        let subscribe = api!(RedisModule_SubscribeToServerEvent);
        let cron = subscribe(ctx.raw(), event(raw::REDISMODULE_EVENT_CRON_LOOP), Some(on_cron));
        let swap = subscribe(ctx.raw(), event(raw::REDISMODULE_EVENT_SWAPDB), Some(on_swap));
        [subscribed, cron, swap].iter().all(|status| *status == raw::REDISMODULE_OK as c_int)
    }
}

unsafe extern "C" fn on_key_event(
    ctx: *mut RedisModuleCtx,
    _: c_int,
    event: *const c_char,
    key: *mut RedisModuleString,
) -> c_int {
    if KEEPER.with_borrow(|keeper| keeper.boards.is_empty()) {
        return raw::REDISMODULE_OK as c_int;
    }
    // SAFETY: the server passes a live context, event name and key.
    let (ctx, event, key) = unsafe { (Ctx::new(ctx), CStr::from_ptr(event), Text::share(key)) };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if let Some(job) = job_for(event.to_bytes(), || Place { db: ctx.db(), key: key.bytes().into() }) {
            schedule(ctx, job);
        }
    }));
    raw::REDISMODULE_OK as c_int
}

fn job_for(event: &[u8], place: impl Fn() -> Place) -> Option<Job> {
    KEEPER.with_borrow_mut(|keeper| match event {
        b"del" | b"expired" | b"evicted" => Some(place()).filter(|gone| keeper.boards.contains(gone)).map(Job::Tend),
        b"rename_from" | b"move_from" => {
            keeper.leaving = Some(place()).filter(|from| keeper.boards.contains(from));
            None
        }
        b"rename_to" | b"move_to" => {
            let to = place();
            match keeper.leaving.take() {
                Some(from) => Some(Job::Follow { from, to }),
                None => Some(to).filter(|to| keeper.boards.contains(to)).map(Job::Tend),
            }
        }
        _ => None,
    })
}

/// After the command, or the whole transaction: a handler must not write.
fn schedule(ctx: Ctx, job: Job) {
    let job: *mut c_void = Box::into_raw(Box::new(job)).cast();
    // SAFETY: the job is owned by whoever runs or frees it, which happens once.
    unsafe {
        match raw::RedisModule_AddPostNotificationJob {
            Some(add) => {
                if add(ctx.raw(), Some(run_job), job, Some(free_job)) != raw::REDISMODULE_OK as c_int {
                    // Loading, or a replica: its primary sees to it.
                    free_job(job);
                }
            }
            None => {
                api!(RedisModule_CreateTimer)(ctx.raw(), 0, Some(run_and_free_job), job);
            }
        }
    }
}

unsafe extern "C" fn run_job(ctx: *mut RedisModuleCtx, job: *mut c_void) {
    // SAFETY: the server passes what `schedule` gave it, and a live context.
    let (ctx, job) = unsafe { (Ctx::new(ctx), &*job.cast::<Job>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if ctx.is_serving_primary() {
            match job {
                Job::Tend(place) => tend(ctx, place),
                Job::Follow { from, to } => follow(ctx, from, to),
            }
        }
    }));
}

unsafe extern "C" fn free_job(job: *mut c_void) {
    // SAFETY: the box that `schedule` made, freed once.
    drop(unsafe { Box::from_raw(job.cast::<Job>()) });
}

unsafe extern "C" fn run_and_free_job(ctx: *mut RedisModuleCtx, job: *mut c_void) {
    // SAFETY: as both of them.
    unsafe {
        run_job(ctx, job);
        free_job(job);
    }
}

/// The id of the board that is there now.
fn board_id(ctx: Ctx, board: &Text) -> Option<Id> {
    let zset = ZSet::open(ctx, board.clone(), Access::Peek).ok()?;
    Marker::find(&zset).ok()?.map(|marker| marker.id)
}

/// Drops what is not the board's, and forgets boards that have nothing left.
fn tend(ctx: Ctx, place: &Place) {
    if !ctx.select(place.db) {
        return;
    }
    let board = Text::new(&place.key);
    if ctx.exists(&[&board]).is_err() {
        // The slot is moving: a board that is gone from here may have been taken elsewhere, its companions follow.
        return;
    }
    let id = board_id(ctx, &board);
    let mut left = false;
    for part in Part::ALL {
        let Ok(mut hash) = Hash::open(ctx, part, &board, Access::Write) else { continue };
        match id.map_or(hash.stamp_state(), |id| hash.state(&id)) {
            Companion::Absent => {}
            Companion::Stamped(_) if id.is_some() => left = true,
            Companion::Stamped(_) | Companion::Foreign => {
                hash.unlink();
                stats::DROPPED.add(1);
            }
        }
    }
    KEEPER.with_borrow_mut(|keeper| {
        if left {
            return;
        }
        keeper.boards.remove(place);
        keeper.sweep.retain(|other| other != place);
    });
    if left {
        note(place.clone());
    }
}

/// Takes the companions of a board along to its new name.
fn follow(ctx: Ctx, from: &Place, to: &Place) {
    let (old, new) = (Text::new(&from.key), Text::new(&to.key));
    let id = if ctx.select(to.db) { board_id(ctx, &new) } else { None };
    if let Some(id) = id {
        for part in Part::ALL {
            if follow_part(ctx, part, &id, (from.db, &old), (to.db, &new)).unwrap_or(false) {
                stats::FOLLOWED.add(1);
            }
        }
    }
    tend(ctx, from);
    note(to.clone());
    tend(ctx, to);
}

fn follow_part(
    ctx: Ctx,
    part: Part,
    id: &Id,
    (old_db, old): (c_int, &Text),
    (new_db, new): (c_int, &Text),
) -> Result<bool> {
    ctx.select(old_db);
    let (Some(source), Some(target)) = (part.key(old.bytes()), part.key(new.bytes())) else { return Ok(false) };
    let stamped = matches!(Hash::open(ctx, part, old, Access::Peek)?.state(id), Companion::Stamped(_));
    if !stamped || board_id(ctx, old) == Some(*id) {
        return Ok(false);
    }
    let (source, target) = (Text::new(&source), Text::new(&target));
    if old_db == new_db {
        ctx.rename(&source, &target)?;
    } else {
        ctx.select(new_db);
        ctx.write(c"UNLINK", &mut [target.raw()])?;
        ctx.select(old_db);
        let db = Text::new(new_db.to_string().as_bytes());
        ctx.write(c"MOVE", &mut [source.raw(), db.raw()])?;
    }
    Ok(true)
}

unsafe extern "C" fn on_swap(_: *mut RedisModuleCtx, _: RedisModuleEvent, _: u64, _: *mut c_void) {
    // Every board may be in another database now: learn them anew.
    KEEPER.with_borrow_mut(|keeper| keeper.serving = false);
}

unsafe extern "C" fn on_cron(ctx: *mut RedisModuleCtx, _: RedisModuleEvent, _: u64, _: *mut c_void) {
    // SAFETY: the server passes a live context.
    let ctx = unsafe { Ctx::new(ctx) };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        propagation::tick(ctx);
        let serving = ctx.is_serving_primary();
        KEEPER.with_borrow_mut(|keeper| {
            if serving && !keeper.serving {
                // Just started, or promoted: what was known is from another time.
                keeper.boards.clear();
                keeper.sweep.clear();
                keeper.scan = Some(Scan { db: 0, cursor: 0 });
            }
            keeper.serving = serving;
        });
        if serving {
            scan_step(ctx);
            sweep_step(ctx);
        }
    }));
}

fn scan_step(ctx: Ctx) {
    let Some(scan) = KEEPER.with_borrow_mut(|keeper| keeper.scan.take()) else { return };
    if !ctx.select(scan.db) {
        return;
    }
    let Ok((cursor, keys)) = ctx.scan_keys(scan.cursor, "rank:*", SCANNED_AT_ONCE) else { return };
    for key in keys {
        if let Some(board) = Part::board_of(key.bytes()) {
            tend(ctx, &Place { db: scan.db, key: board.into() });
        }
    }
    let next = if cursor == 0 { Scan { db: scan.db + 1, cursor: 0 } } else { Scan { cursor, ..scan } };
    KEEPER.with_borrow_mut(|keeper| keeper.scan = Some(next));
}

fn sweep_step(ctx: Ctx) {
    let places: Vec<Place> = KEEPER.with_borrow_mut(|keeper| {
        let count = keeper.sweep.len().min(SWEPT_AT_ONCE);
        keeper.sweep.rotate_left(count);
        keeper.sweep.iter().rev().take(count).cloned().collect()
    });
    places.iter().for_each(|place| tend(ctx, place));
}
