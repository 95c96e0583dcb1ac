//! Clients that wait for an item to be due.
//!
//! A client waits until the module releases it, because the server is given no timeout. A key that clients wait for is
//! checked when its first item is due, when the wait of a client times out, and every 100 to 500 ms, because a core
//! command may have changed the key. One timer does this for all keys: timers that fire at the same moment collide in
//! the server, and adding thousands of them would take millions of steps.
//!
//! When an item is due, the timer runs the command that the client sent once more, by a call that the server refuses
//! whenever it would refuse a client. So a client that waits gets nothing that it would not get by asking now, and the
//! write is propagated as that of any command.
//!
//! The table is locked only briefly, and never while a command runs, because that command may use the table.

mod clock;
mod table;

use std::ffi::CStr;
use std::os::raw::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use redis_module::raw::{self, RedisModuleBlockedClient, RedisModuleCtx, RedisModuleEvent, RedisModuleString};

use super::super::api::{on_cron, Blocked, Ctx, Refusal, Reply, SavedReply, Text, Timer};
use super::super::store::ZSet;
use super::super::Call;
use super::guarded;
use crate::due::{next_due, MAX_NOW_MS};
use crate::error::{Error, Result};
use crate::stats;
use clock::{regular_check, Now};
use table::{Table, Waiter};

/// How many keys are checked without a pause, which takes a few tenths of a millisecond.
const CHECKS_WITHOUT_PAUSE: usize = 256;
/// The pause in which the server runs what clients sent.
const PAUSE_MS: u64 = 1;
/// If a timer is later than this, the server's clock was set back, and the timer is started again.
const LATE_MS: u64 = 50;

static TABLE: Mutex<Table> = Mutex::new(Table::new());

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many clients wait. A crash report asks too, and must not wait for the table.
pub fn count() -> u64 {
    TABLE.try_lock().map_or(0, |table| table.len() as u64)
}

/// What a client waits for, and how long: see [`Waiter`].
pub struct WaitRequest<'a> {
    pub command: &'static CStr,
    pub args: Vec<Text<'a>>,
    pub needs_memory: bool,
    /// What the client gave with `NOW`.
    pub own_now: Option<i64>,
    /// Milliseconds; `None` for ever.
    pub timeout_ms: Option<u64>,
}

/// Makes the calling client wait for a key. `next` is when the first item of the key is due. Returns false if the server
/// does not let the client wait.
pub fn wait(call: &Call, key: &Text, wait: &WaitRequest, next: Option<i64>) -> bool {
    // This must come first: once the client is blocked, it no longer runs a command for which effects can be propagated.
    call.propagate_and_notify();
    let user = call.ctx.user_name();
    let Some(blocked) = Blocked::new(call.ctx, on_reply, on_unblock, free_answer, on_gone) else { return false };
    let now = Now::read(call.ctx);
    let waiter = Waiter {
        blocked,
        user,
        command: wait.command,
        args: wait.args.iter().map(|arg| Text::new(arg.bytes())).collect(),
        needs_memory: wait.needs_memory,
        own_clock: wait.own_now.map(|own| own.saturating_sub_unsigned(now.ticks)),
        // One more, because the current millisecond has already begun: the client must not time out early.
        deadline: wait.timeout_ms.map(|ms| now.ticks.saturating_add(ms).saturating_add(1)),
    };
    let mut table = table();
    let id = table.add(call.ctx.database(), key, waiter);
    plan(&mut table, &now, id, next);
    start_timer(&mut table, call.ctx, &now);
    true
}

/// Serves the clients that wait for a key, before the calling client takes what is due.
pub fn serve_waiters_first(call: &Call, key: &Text) {
    let id = table().id_of(call.ctx.database(), key.bytes());
    // In a transaction or a script, clients that wait are served after it. A command that `serve` runs counts as a script
    // here, so this does not call itself.
    if let Some(id) = id.filter(|_| call.ctx.may_block()) {
        let now = Now::read(call.ctx);
        end_timed_out(call.ctx, &now, id);
        serve(call.ctx, &now, id);
    }
}

/// Says that a key has an item that is due at this time, so that waiting clients get it.
pub fn notify_waiters(call: &Call, key: &Text, due: i64) {
    let mut table = table();
    if let Some(id) = table.id_of(call.ctx.database(), key.bytes()) {
        let now = Now::read(call.ctx);
        plan(&mut table, &now, id, Some(due));
        start_timer(&mut table, call.ctx, &now);
    }
}

/// Plans the next check of a key: when the item at `next` is due, when a wait times out, or at the next regular check.
fn plan(table: &mut Table, now: &Now, id: u64, next: Option<i64>) {
    let regular = regular_check(now.ticks, id, table.keys() as u64);
    let Some(queue) = table.queue(id) else { return };
    let until_due = next.map(|due| due.saturating_sub(queue.latest_clock(now)));
    let due = until_due.map(|ms| now.ticks.saturating_add(u64::try_from(ms).unwrap_or(0)));
    let at = due.into_iter().chain(queue.deadline()).fold(regular, u64::min);
    table.plan(id, at);
}

/// Starts the timer for the earliest planned check, unless it fires by then.
fn start_timer(table: &mut Table, ctx: Ctx, now: &Now) {
    let Some(at) = table.first_check() else { return };
    if table.timer.as_ref().is_some_and(|(_, fires)| *fires <= at) {
        return;
    }
    start_timer_at(table, ctx, now, at);
}

fn start_timer_at(table: &mut Table, ctx: Ctx, now: &Now, at: u64) {
    // The old one first: the server sets its alarm anew only for a timer that is the first of all, and after a step of the
    // clock the old one may seem to be earlier.
    if let Some((old, _)) = table.timer.take() {
        old.stop(ctx);
    }
    let timer = Timer::start(ctx, at.saturating_sub(now.ticks), on_timer, std::ptr::null_mut());
    table.timer = Some((timer, at));
}

/// What became of the clients that wait for a key.
#[derive(Default)]
struct Served {
    /// When the next item is due; `None` also if one is due now that no waiting client can have.
    next: Option<i64>,
    /// A command was run for one of them.
    changed: bool,
}

/// Gives waiting clients the items that are due, first come, first served.
fn serve(ctx: Ctx, now: &Now, id: u64) -> Served {
    let mut served = Served::default();
    let Some(name) = table().queue(id).map(|queue| queue.name.clone()) else { return served };
    // If the key holds another type, clients keep waiting, as with the core's blocking commands.
    let first_due = || ZSet::open_untouched(ctx, name.clone()).ok().and_then(|mut items| next_due(&mut items));
    while let Some(due) = first_due() {
        if table().queue(id).is_none_or(|queue| due > queue.latest_clock(now)) {
            served.next = Some(due);
            break;
        }
        let Some((waiter, own_now)) = first_ready(ctx, now, id, due) else { break };
        match run_for(ctx, &waiter, own_now) {
            CommandResult::NotPermitted => release(ctx, waiter.blocked, Err(Error::no_longer_permitted())),
            // The next check finds out whether it is still refused, or ends the wait if the key is elsewhere.
            CommandResult::Refused => break,
            CommandResult::Ran { reply, wrote } if reply.is_empty_array() => {
                // It moved dead items. There may be others behind them, which are for the next check.
                if wrote {
                    served.changed = true;
                    served.next = table().queue(id).map(|queue| queue.latest_clock(now).saturating_add(1));
                }
                break;
            }
            CommandResult::Ran { reply, .. } => {
                served.changed = true;
                release(ctx, waiter.blocked, Ok(reply));
            }
        }
    }
    served
}

/// The first client that can have an item with the time `due` now, and the time on its own clock.
fn first_ready(ctx: Ctx, now: &Now, id: u64, due: i64) -> Option<(Waiter, Option<i64>)> {
    let mut table = table();
    let no_memory = ctx.is_out_of_memory();
    let able = table.queue(id)?.waiters().filter(|waiter| !(no_memory && waiter.needs_memory));
    let mut ready = able.filter_map(|waiter| {
        let own_now = waiter.own_clock.map(|ahead| now.on_own_clock(ahead).clamp(0, MAX_NOW_MS));
        (due <= own_now.unwrap_or(now.server_ms)).then(|| (waiter.clone(), own_now))
    });
    ready.next()
}

/// What became of the command of a waiting client.
enum CommandResult {
    /// Its user may no longer run it.
    NotPermitted,
    /// The server did not run it.
    Refused,
    Ran {
        reply: SavedReply,
        /// It changed something.
        wrote: bool,
    },
}

/// Runs the command of a waiting client once more.
fn run_for(ctx: Ctx, waiter: &Waiter, own_now: Option<i64>) -> CommandResult {
    let now = own_now.map(|now| [Text::new(b"NOW"), Text::new(now.to_string().as_bytes())]);
    let args: Vec<&Text> = waiter.args.iter().chain(now.iter().flatten()).collect();
    // An error can be the server's or the command's. Only a command that ran is counted.
    let (calls, writes) = (stats::DUE.calls(), stats::WRITES.get());
    match ctx.run_for(waiter.user.as_ref(), waiter.command, &args) {
        None => CommandResult::NotPermitted,
        Some(_) if stats::DUE.calls() == calls => CommandResult::Refused,
        Some(reply) => CommandResult::Ran { reply, wrote: stats::WRITES.get() != writes },
    }
}

/// Ends the wait of a client with a reply.
fn release(ctx: Ctx, blocked: Blocked, answer: Result<SavedReply>) {
    if table().remove(ctx, blocked) {
        // SAFETY: the client was in the table. It is in there only once, and only until it is released.
        unsafe { blocked.release(Box::into_raw(Box::new(answer)).cast()) };
    }
}

/// Ends the wait of a client that has already got a reply, or is gone.
fn release_unanswered(ctx: Ctx, blocked: Blocked) {
    // A client that was released before is no longer in the table.
    if table().remove(ctx, blocked) {
        // SAFETY: the client was in the table. It is in there only once, and only until it is released.
        unsafe { blocked.release(std::ptr::null_mut()) };
    }
}

/// Ends all waits that have timed out, with an empty reply. This comes before anybody is served: a client whose wait is
/// over may no longer be there to take an item.
fn end_timed_out(ctx: Ctx, now: &Now, id: u64) {
    let ended = table().queue(id).map(|queue| queue.ended_by(now.ticks)).unwrap_or_default();
    ended.into_iter().for_each(|blocked| release(ctx, blocked, Ok(SavedReply::Array(Vec::new()))));
}

/// Ends all waits for a key with an error. Returns false: the key was not changed.
fn fail_all(ctx: Ctx, id: u64, error: fn() -> Error) -> bool {
    let all = |queue: &mut table::Queue| queue.waiters().map(|waiter| waiter.blocked).collect();
    let all: Vec<Blocked> = table().queue(id).map(all).unwrap_or_default();
    all.into_iter().for_each(|blocked| release(ctx, blocked, Err(error())));
    false
}

/// Checks the keys whose check is due, and stops after the first one that changed: all changes in one call of a timer
/// are propagated as one transaction, and changes of different keys should not be in the same transaction. If very many
/// checks are due, it pauses.
fn check_keys(ctx: Ctx) {
    table().timer = None;
    // Asked once, because nothing that is checked below changes it. The clock does not have to be read for each key.
    let now = Now::read(ctx);
    let (is_cluster, may_write) = (ctx.is_cluster(), ctx.may_write_by_itself());
    for _ in 0..CHECKS_WITHOUT_PAUSE {
        let Some(id) = table().take_due_check(now.ticks) else { break };
        if check_key(ctx, &now, id, is_cluster, may_write) {
            return start_timer(&mut table(), ctx, &Now::read(ctx));
        }
    }
    let (mut table, now) = (table(), Now::read(ctx));
    if let Some(at) = table.first_check() {
        start_timer_at(&mut table, ctx, &now, at.max(now.ticks.saturating_add(PAUSE_MS)));
    }
}

/// Ends waits for a key that timed out, serves the other clients, and plans the next check. Returns whether the
/// key was changed.
fn check_key(ctx: Ctx, now: &Now, id: u64, is_cluster: bool, may_write: bool) -> bool {
    let Some((database, name)) = table().queue(id).map(|queue| (queue.database, queue.name.clone())) else {
        return false;
    };
    stats::DUE_CHECKS.add(1);
    ctx.select(database);
    // The server ends the waits of its own blocking commands in the same cases.
    // In a cluster the key may be elsewhere by now.
    match is_cluster.then(|| ctx.refusal_to_read(&name)).flatten() {
        Some(Refusal::KeyMoved) => return fail_all(ctx, id, Error::key_moved),
        Some(Refusal::ClusterDown) => return fail_all(ctx, id, Error::cluster_down),
        _ => {}
    }
    end_timed_out(ctx, now, id);
    let served = if may_write { serve(ctx, now, id) } else { Served::default() };
    plan(&mut table(), now, id, served.next);
    served.changed
}

/// Subscribes to the server's cron, which fires even if the server's clock is set back. Returns whether that worked.
pub fn start(ctx: Ctx) -> bool {
    on_cron(ctx, Some(on_cron_event))
}

unsafe extern "C" fn on_timer(ctx: *mut RedisModuleCtx, _: *mut c_void) {
    // SAFETY: the context lives during the call.
    guarded(|| check_keys(unsafe { Ctx::new(ctx) }));
}

/// Starts the timer again if it is late. The server's timers fire by its clock: if that is set back, they wait until it
/// has caught up.
unsafe extern "C" fn on_cron_event(ctx: *mut RedisModuleCtx, _: RedisModuleEvent, _: u64, _: *mut c_void) {
    guarded(|| {
        let mut table = table();
        let Some(at) = table.first_check() else { return };
        // SAFETY: the context lives during the call.
        let ctx = unsafe { Ctx::new(ctx) };
        let now = Now::read(ctx);
        if at.saturating_add(LATE_MS) < now.ticks {
            start_timer_at(&mut table, ctx, &now, at);
        }
    });
}

unsafe extern "C" fn on_reply(ctx: *mut RedisModuleCtx, _: *mut *mut RedisModuleString, _: c_int) -> c_int {
    guarded(|| {
        // SAFETY: the context lives during the call, and the answer is ours until `free_answer`.
        let (ctx, answer) = unsafe {
            let ctx = Ctx::new(ctx);
            (ctx, ctx.answer().cast::<Result<SavedReply>>().as_ref())
        };
        let reply = Reply::new(ctx);
        match answer {
            Some(Ok(saved)) => reply.saved(saved),
            Some(Err(error)) => {
                stats::DUE.failed(error);
                reply.error(&error.to_string());
            }
            // The client is gone.
            None => {}
        }
    });
    raw::REDISMODULE_OK as c_int
}

/// Called for `CLIENT UNBLOCK`, which ends a wait like a timeout.
unsafe extern "C" fn on_unblock(ctx: *mut RedisModuleCtx, _: *mut *mut RedisModuleString, _: c_int) -> c_int {
    guarded(|| {
        // SAFETY: the context lives during the call.
        let ctx = unsafe { Ctx::new(ctx) };
        Reply::new(ctx).array(0);
        release_unanswered(ctx, ctx.blocked());
    });
    raw::REDISMODULE_OK as c_int
}

/// Called when the client was closed or killed, or when the server ended its wait with an error.
unsafe extern "C" fn on_gone(ctx: *mut RedisModuleCtx, blocked: *mut RedisModuleBlockedClient) {
    // SAFETY: the context lives during the call; the client is one of ours.
    guarded(|| unsafe { release_unanswered(Ctx::new(ctx), Blocked::of(blocked)) });
}

unsafe extern "C" fn free_answer(_: *mut RedisModuleCtx, answer: *mut c_void) {
    // SAFETY: made by `release`, and freed once.
    guarded(|| drop(unsafe { Box::from_raw(answer.cast::<Result<SavedReply>>()) }));
}
