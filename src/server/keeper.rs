//! Companions follow their board: dropped soon after it is gone, taken along when it is renamed or moved.
//!
//! Nothing depends on it for correctness, the id in the marker makes a stale companion harmless; this is about not
//! leaving garbage. All decisions look at what is there when they are made, never at what an event said: between an
//! event and its job a transaction may have made the board anew.
//!
//! The keeper knows which boards have companions, so that deleting any other key costs one look-up in a small table.
//! It learns them from writes, and from a scan in small steps after a start or a promotion. What no event tells (`SET`
//! over a board, say) a slow sweep over the table finds.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::CStr;
use std::os::raw::{c_char, c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent, RedisModuleString};

use super::context::Ctx;
use super::filter::Filter;
use super::follow::{board_id, find_db, follow};
use super::hash::Hash;
use super::journey::{journeys, Event, Fate, Place, SOME_DB};
use super::key::Access;
use super::propagation;
use super::text::Text;
use super::watch;
use crate::board::{Companion, Part};
use crate::stats;

/// Keys looked at by one step of the scan, some tenths of a millisecond.
const SCANNED_AT_ONCE: u64 = 1000;
/// In a cluster slots arrive, with companions no event tells of: a scan that ended starts again after so many ticks.
const TICKS_BETWEEN_SCANS: u32 = 100;
/// Boards looked at by one step of the sweep.
const SWEPT_AT_ONCE: usize = 20;
/// What every companion's key starts with.
const COMPANION_START: &[u8] = b"rank:";

/// Where the scan for companions stands.
enum Scan {
    At { db: c_int, cursor: u64 },
    Waiting(u32),
}

struct Keeper {
    /// The boards that have companions, as far as is known, by database.
    boards: HashMap<c_int, HashSet<Box<[u8]>>>,
    /// The same boards, in the order the sweep takes them, and some that are gone.
    sweep: VecDeque<Place>,
    scan: Scan,
    serving: bool,
    /// The first half of a rename or move; the second event names the target.
    leaving: Option<Place>,
    events: Vec<Event>,
    job_is_scheduled: bool,
}

/// Not thread-local, though only the main thread comes here: a thread-local with a destructor would keep the module's
/// code in memory after `MODULE UNLOAD`, and a newer file of the same name would not be used.
static KEEPER: LazyLock<Mutex<Keeper>> = LazyLock::new(|| {
    Mutex::new(Keeper {
        boards: HashMap::new(),
        sweep: VecDeque::new(),
        scan: Scan::At { db: 0, cursor: 0 },
        serving: false,
        leaving: None,
        events: Vec::new(),
        job_is_scheduled: false,
    })
});

/// The names of all boards in the table, of whatever database, and of some that were.
static NAMES: Filter = Filter::new();

/// Never held while something is called that may come back here.
fn keeper() -> MutexGuard<'static, Keeper> {
    KEEPER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Keeper {
    fn note(&mut self, place: Place) {
        NAMES.enter(&place.key);
        if self.boards.entry(place.db).or_default().insert(place.key.clone()) {
            self.sweep.push_back(place);
        }
    }

    fn knows(&self, db: c_int, key: &[u8]) -> bool {
        self.boards.get(&db).is_some_and(|boards| boards.contains(key))
    }

    /// A place in a database that is not known, if a board came to one with this name and nothing was done about it yet.
    fn arrived_somewhere(&self, key: &[u8]) -> Option<Place> {
        self.events.iter().find_map(|event| match event {
            Event::Renamed(_, to) if to.db == SOME_DB && *to.key == *key => Some(to.clone()),
            _ => None,
        })
    }

    fn forget(&mut self, place: &Place) {
        if let Some(boards) = self.boards.get_mut(&place.db) {
            boards.remove(&place.key);
        }
    }
}

/// Remembers that a board has companions.
pub fn note_companions(ctx: Ctx, board: &Text) {
    keeper().note(Place { db: ctx.db(), key: board.bytes().into() });
}

/// Frees a name for a board that is about to get it: what earlier boards left there is dropped first.
pub fn make_room(ctx: Ctx, board: &Text) {
    settle(ctx);
    tend(ctx, &Place { db: ctx.db(), key: board.bytes().into() });
}

/// Whether no job of the keeper's is waiting in the server.
pub fn may_stop() -> bool {
    !keeper().job_is_scheduled
}

/// Gives up all tables, before the module goes.
pub fn forget() {
    let mut keeper = keeper();
    keeper.boards = HashMap::new();
    keeper.sweep = VecDeque::new();
    keeper.events = Vec::new();
    keeper.leaving = None;
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
    // SAFETY: the server passes a live context, event name and key.
    let (ctx, event, key) = unsafe { (Ctx::new(ctx), CStr::from_ptr(event).to_bytes(), Text::borrow(key)) };
    // Every key that is deleted or given an expiry comes by here: what is nothing to us must cost next to nothing.
    let concerns_us = match event {
        b"expire" | b"persist" => false,
        b"del" | b"expired" | b"evicted" => NAMES.may_have(key.bytes()),
        _ => true,
    };
    if concerns_us {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            if take_event(event, key.bytes(), ctx) {
                schedule(ctx);
            }
        }));
    }
    raw::REDISMODULE_OK as c_int
}

/// Whether there is something to be done once the command is over.
fn take_event(event: &[u8], key: &[u8], ctx: Ctx) -> bool {
    let db = ctx.db();
    let mut keeper = keeper();
    let arrives = matches!(event, b"restore" | b"rename_to" | b"move_to" | b"copy_to");
    if arrives && key.starts_with(COMPANION_START) {
        // A companion that came without its board's commands, from a backup or another node.
        if let Some(board) = Part::board_of(key) {
            keeper.note(Place { db, key: board.into() });
        }
    }
    if keeper.boards.is_empty() {
        return false;
    }
    let place = || Place { db, key: key.into() };
    let known = keeper.knows(db, key);
    let happened = match event {
        b"del" | b"expired" | b"evicted" => known.then(|| Event::Gone(place())),
        b"rename_from" | b"move_from" => {
            keeper.leaving = if known { Some(place()) } else { keeper.arrived_somewhere(key) };
            None
        }
        b"rename_to" | b"move_to" => match keeper.leaving.take() {
            // Inside a transaction Valkey 9 shows the client's database in place of the one that was moved to.
            Some(from) if from.db == SOME_DB || event == b"move_to" && from.db == db => {
                Some(Event::Renamed(from, Place { db: SOME_DB, key: key.into() }))
            }
            Some(from) => {
                // It may be renamed again before anything is done about it.
                keeper.note(place());
                Some(Event::Renamed(from, place()))
            }
            None => known.then(|| Event::Overwritten(place())),
        },
        b"copy_to" => known.then(|| Event::Overwritten(place())),
        _ => None,
    };
    let Some(happened) = happened else { return false };
    if !ctx.is_serving_primary() {
        // What an AOF or a primary replays, it replays with its consequences.
        return false;
    }
    if let Event::Renamed(from, to) = &happened {
        if known && from != to {
            keeper.events.push(Event::Overwritten(to.clone()));
        }
    }
    keeper.events.push(happened);
    !std::mem::replace(&mut keeper.job_is_scheduled, true)
}

/// A handler must not write: that is for after the command, or the whole transaction.
fn schedule(ctx: Ctx) {
    let nothing = std::ptr::null_mut();
    // SAFETY: the context is that of a running handler; the job needs no data.
    unsafe {
        match raw::RedisModule_AddPostNotificationJob {
            Some(add) => {
                if add(ctx.raw(), Some(run_job), nothing, None) != raw::REDISMODULE_OK as c_int {
                    // Loading, or a replica: its primary sees to it.
                    let mut keeper = keeper();
                    keeper.events.clear();
                    keeper.job_is_scheduled = false;
                }
            }
            None => {
                api!(RedisModule_CreateTimer)(ctx.raw(), 0, Some(run_job), nothing);
            }
        }
    }
}

unsafe extern "C" fn run_job(ctx: *mut RedisModuleCtx, _: *mut c_void) {
    // SAFETY: the server passes a live context.
    let ctx = unsafe { Ctx::new(ctx) };
    keeper().job_is_scheduled = false;
    let _ = catch_unwind(AssertUnwindSafe(|| settle(ctx)));
}

/// Deals with what happened to boards up to now. A command that is about to write a companion does so first: inside a
/// transaction a board may have been renamed away and made anew under its old name.
pub fn settle(ctx: Ctx) {
    if keeper().events.is_empty() {
        return;
    }
    if !ctx.is_serving_primary() {
        keeper().events.clear();
        return;
    }
    if ctx.writes_are_paused() {
        // The server would end itself over a write now. The cron tries again.
        return;
    }
    let db = ctx.db();
    let events = std::mem::take(&mut keeper().events);
    let mut journeys = journeys(events);
    for (from, fate) in &mut journeys {
        if let Fate::At(to) = fate {
            find_db(ctx, from, to);
        }
    }
    for (from, fate) in &journeys {
        if *fate == Fate::Overwritten {
            // Even if it has the same id: a copy that came over its original has members of its own.
            drop_companions(ctx, from);
        }
    }
    let moved: Vec<(&Place, &Place)> = journeys
        .iter()
        .filter_map(|(from, fate)| match fate {
            Fate::At(to) => Some((from, to)),
            Fate::Deleted | Fate::Overwritten => None,
        })
        .collect();
    follow(ctx, &moved);
    for (from, fate) in &journeys {
        tend(ctx, from);
        if let Fate::At(to) = fate {
            tend(ctx, to);
        }
    }
    ctx.select(db);
}

/// The slot is moving: a board that is gone from here may have been taken elsewhere, and its companions follow.
fn slot_is_moving(ctx: Ctx, board: &Text) -> bool {
    ctx.is_cluster() && ctx.exists(&[board]).is_err()
}

fn drop_companions(ctx: Ctx, place: &Place) {
    let board = Text::new(&place.key);
    if !ctx.select(place.db) || slot_is_moving(ctx, &board) {
        return;
    }
    for part in Part::ALL {
        if let Ok(mut hash) = Hash::open(ctx, part, &board, Access::Write) {
            drop_if_stamped(&mut hash);
        }
    }
}

fn drop_if_stamped(hash: &mut Hash) {
    if hash.is_stamped() {
        hash.unlink();
        stats::DROPPED.add(1);
    }
}

/// Drops what is not the board's, and forgets boards that have nothing left.
fn tend(ctx: Ctx, place: &Place) {
    if !ctx.select(place.db) {
        return;
    }
    let board = Text::new(&place.key);
    if slot_is_moving(ctx, &board) {
        return;
    }
    let id = board_id(ctx, &board);
    let mut left = false;
    for part in Part::ALL {
        let Ok(mut hash) = Hash::open(ctx, part, &board, Access::Write) else { continue };
        if id.is_some_and(|id| matches!(hash.state(&id), Companion::Stamped(_))) {
            left = true;
        } else {
            drop_if_stamped(&mut hash);
        }
    }
    let mut keeper = keeper();
    if left {
        keeper.note(place.clone());
    } else {
        keeper.forget(place);
    }
}

unsafe extern "C" fn on_swap(_: *mut RedisModuleCtx, _: RedisModuleEvent, _: u64, _: *mut c_void) {
    // Every board may be in another database now: learn them anew.
    keeper().serving = false;
    watch::everything_changed();
}

unsafe extern "C" fn on_cron(ctx: *mut RedisModuleCtx, _: RedisModuleEvent, _: u64, _: *mut c_void) {
    // SAFETY: the server passes a live context.
    let ctx = unsafe { Ctx::new(ctx) };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        propagation::tick(ctx);
        let serving = ctx.is_serving_primary();
        {
            let mut keeper = keeper();
            if serving && !keeper.serving {
                // Just started, or promoted: what was known is from another time.
                keeper.boards.clear();
                NAMES.empty();
                keeper.sweep.clear();
                keeper.scan = Scan::At { db: 0, cursor: 0 };
            }
            keeper.serving = serving;
        }
        if serving && !ctx.writes_are_paused() {
            settle(ctx);
            scan_step(ctx);
            sweep_step(ctx);
        }
    }));
}

fn scan_step(ctx: Ctx) {
    let (db, cursor) = match &mut keeper().scan {
        Scan::At { db, cursor } => (*db, *cursor),
        Scan::Waiting(0) => (0, 0),
        Scan::Waiting(ticks) => {
            *ticks -= u32::from(ctx.is_cluster());
            return;
        }
    };
    let next = if ctx.select(db) {
        let Ok((cursor, keys)) = ctx.scan_keys(cursor, "rank:*", SCANNED_AT_ONCE) else { return };
        for key in keys {
            if let Some(board) = Part::board_of(key.bytes()) {
                tend(ctx, &Place { db, key: board.into() });
            }
        }
        Scan::At { db: if cursor == 0 { db + 1 } else { db }, cursor }
    } else {
        Scan::Waiting(TICKS_BETWEEN_SCANS)
    };
    keeper().scan = next;
}

fn sweep_step(ctx: Ctx) {
    for _ in 0..SWEPT_AT_ONCE {
        let place = {
            let mut keeper = keeper();
            let Some(place) = keeper.sweep.pop_front() else { return };
            if !keeper.knows(place.db, &place.key) {
                continue;
            }
            keeper.sweep.push_back(place.clone());
            place
        };
        tend(ctx, &place);
    }
}
