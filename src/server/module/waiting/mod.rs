//! Clients that wait for an item to be due.
//!
//! A client waits until the module releases it, because the server is given no timeout. A key that clients wait for is
//! checked when its first item is due, when the wait of a client times out, and at least every 100 ms, because a core
//! command may have changed the key. One timer does this for all keys: timers that fire at the same moment collide in
//! the server, and adding thousands of them would take millions of steps. What the timer writes is propagated on its
//! own, like the write of a command.
//!
//! The table is locked only briefly, and never while changes are announced, because a listener may call the module.

mod clock;
mod table;

use std::os::raw::{c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError};

use redis_module::raw::{self, RedisModuleBlockedClient, RedisModuleCtx, RedisModuleEvent, RedisModuleString};

use super::super::api::{on_cron, Access, Blocked, Ctx, Reply, Text, Timer};
use super::super::store::Schedule;
use super::super::{Call, Moment};
use crate::due::{next_due, Demand, Row, MAX_NOW_MS};
use crate::error::{Error, Result};
use crate::stats;
use clock::{ticks, was_set_back};
use table::{Table, Waiter};

/// Writes the rows of a reply.
pub type Show = fn(&Reply, &[Row<Text>]);

/// Every key that clients wait for is checked at least this often. All keys are checked at the same moments.
const LOOK_EVERY_MS: u64 = 100;

static TABLE: Mutex<Table> = Mutex::new(Table::new());

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many clients wait. A crash report asks too, and must not wait for the table.
pub fn count() -> u64 {
    TABLE.try_lock().map_or(0, |table| table.len() as u64)
}

/// What a client waits for, and how long.
pub struct Wait {
    /// What it asks for.
    pub demand: Demand,
    /// How far its clock is ahead of the server's, in milliseconds.
    pub ahead: i64,
    /// Milliseconds; `None` for ever.
    pub timeout_ms: Option<u64>,
    /// Writes its reply.
    pub show: Show,
}

/// The reply for a client that waited.
struct Answer {
    rows: Result<Vec<Row<Text<'static>>>>,
    show: Show,
}

/// Makes the calling client wait for a key. `next` is when the first item of the key is due.
pub fn wait(call: &Call, key: &Text, wait: &Wait, next: Option<i64>) {
    let Some(blocked) = Blocked::new(call.ctx, on_reply, on_unblock, free_answer, on_gone) else {
        return (wait.show)(&call.reply(), &[]);
    };
    // One more, because the current millisecond has already begun: the client must not time out early.
    let deadline = wait.timeout_ms.map(|ms| ticks().saturating_add(ms).saturating_add(1));
    let client = call.ctx.client_id();
    let waiter = Waiter { blocked, client, demand: wait.demand, ahead: wait.ahead, deadline, show: wait.show };
    let mut table = table();
    let number = table.enter(call.ctx.database(), key, waiter);
    arm(&mut table, call.ctx, number, next);
}

/// Serves the clients that wait for a key, before the calling client takes what is due.
pub fn serve_first<'c>(call: &'c Call<'c>, key: &Text) {
    let number = table().number_of(call.ctx.database(), key.bytes());
    if let Some(number) = number.filter(|_| call.ctx.may_block()) {
        serve(call.moment(), number);
    }
}

/// Says that a key has an item that is due at this time, so that waiting clients get it.
pub fn tell(call: &Call, key: &Text, due: i64) {
    let mut table = table();
    if let Some(number) = table.number_of(call.ctx.database(), key.bytes()) {
        arm(&mut table, call.ctx, number, Some(due));
    }
}

/// Plans the next check of a key: when the item at `next` is due, when a wait times out, or after at most 100 ms.
fn arm(table: &mut Table, ctx: Ctx, number: u64, next: Option<i64>) {
    plan(table, ctx, number, next);
    start_timer(table, ctx);
}

fn plan(table: &mut Table, ctx: Ctx, number: u64, next: Option<i64>) {
    let Some(queue) = table.queue(number) else { return };
    let (ticks, now) = (ticks(), ctx.now().saturating_add(queue.furthest_ahead()));
    let until_due = next.map(|due| u64::try_from(due.saturating_sub(now)).unwrap_or(0));
    let until_deadline = queue.deadline().map(|deadline| deadline.saturating_sub(ticks));
    let until_look = LOOK_EVERY_MS.saturating_sub(ticks % LOOK_EVERY_MS);
    let ms = until_due.into_iter().chain(until_deadline).fold(until_look, u64::min);
    table.plan(number, ticks.saturating_add(ms));
}

/// Starts the timer for the earliest planned check, unless it fires by then.
fn start_timer(table: &mut Table, ctx: Ctx) {
    let Some(at) = table.first_look() else { return };
    if table.timer.as_ref().is_some_and(|(_, fires)| *fires <= at) {
        return;
    }
    let timer = Timer::start(ctx, at.saturating_sub(ticks()), on_timer, std::ptr::null_mut());
    if let Some((old, _)) = table.timer.replace((timer, at)) {
        old.stop(ctx);
    }
}

/// Gives waiting clients the items that are due, first come, first served. Returns when the next item is due; `None` also
/// if it is due now, but no waiting client can have it.
fn serve<'m>(moment: &'m Moment<'m>, number: u64) -> Option<i64> {
    let name = table().queue(number)?.name.clone();
    // If the key holds another type, clients keep waiting, as with the core's blocking commands.
    let mut next = next_due(&Schedule::open(moment, name.clone(), Access::Look).ok()?);
    let now = moment.ctx.now();
    let mut schedule = None;
    while let Some(waiter) = next.and_then(|due| first_ready(moment.ctx, number, now, due)) {
        if !moment.ctx.client_permits(waiter.client, &command_of(&waiter), &name) {
            release(moment.ctx, &waiter, Err(Error::NoLongerPermitted));
            continue;
        }
        let schedule = match &mut schedule {
            Some(schedule) => schedule,
            none => none.insert(Schedule::open(moment, name.clone(), Access::Write).ok()?),
        };
        let rows = waiter.demand.take(schedule, clock_of(&waiter, now));
        next = next_due(schedule);
        if rows.is_empty() {
            break;
        }
        let rows = rows.into_iter().map(|Row { item, due, hold }| Row { item: item.into_kept(), due, hold });
        release(moment.ctx, &waiter, Ok(rows.collect()));
    }
    let reached = now.saturating_add(table().queue(number)?.furthest_ahead());
    next.filter(|due| *due > reached)
}

/// The first client on whose clock an item with the time `due` is due now.
fn first_ready(ctx: Ctx, number: u64, now: i64, due: i64) -> Option<Waiter> {
    let mut table = table();
    let queue = table.queue(number)?;
    if due > now.saturating_add(queue.furthest_ahead()) {
        return None;
    }
    // A claim may need memory. If memory is short, it is not served, as the server would refuse the command.
    let scarce = ctx.is_out_of_memory();
    let mut ready = queue.waiters().filter(|waiter| due <= clock_of(waiter, now));
    ready.find(|waiter| !scarce || waiter.demand.lease_ms.is_none()).copied()
}

fn clock_of(waiter: &Waiter, now: i64) -> i64 {
    now.saturating_add(waiter.ahead).clamp(0, MAX_NOW_MS)
}

/// The command that a client is blocked in.
fn command_of(waiter: &Waiter) -> Text<'static> {
    Text::new(if waiter.demand.lease_ms.is_some() { b"DUE.CLAIM" } else { b"DUE.POP" })
}

/// Ends the wait of a client with a reply.
fn release(ctx: Ctx, waiter: &Waiter, rows: Result<Vec<Row<Text<'static>>>>) {
    if !table().leave(ctx, waiter.blocked) {
        return;
    }
    let answer = Box::new(Answer { rows, show: waiter.show });
    // SAFETY: the client was in the table. It is in there only once, and only until it is released.
    unsafe { waiter.blocked.release(Box::into_raw(answer).cast()) };
}

/// Ends the wait of a client that has already got a reply, or is gone.
fn forget(ctx: Ctx, blocked: Blocked) {
    // A client that was released before is no longer in the table.
    if table().leave(ctx, blocked) {
        // SAFETY: the client was in the table. It is in there only once, and only until it is released.
        unsafe { blocked.release(std::ptr::null_mut()) };
    }
}

/// Ends all waits that have timed out, with an empty reply.
fn end_waits(ctx: Ctx, number: u64) {
    let ticks = ticks();
    let ended = table().queue(number).map(|queue| queue.ended_by(ticks)).unwrap_or_default();
    ended.iter().for_each(|waiter| release(ctx, waiter, Ok(Vec::new())));
}

/// Ends all waits for a key whose slot was moved to another node.
fn send_away(ctx: Ctx, number: u64) {
    let all: Vec<Waiter> = table().queue(number).map(|queue| queue.waiters().copied().collect()).unwrap_or_default();
    all.iter().for_each(|waiter| release(ctx, waiter, Err(Error::KeyMoved)));
}

/// Checks the keys whose check is due, and stops after the first one that changed. All changes in one call of a timer
/// are propagated as one transaction, and changes of different keys should not be in the same transaction.
fn look_at_keys(ctx: Ctx) {
    table().timer = None;
    let ticks = ticks();
    loop {
        let Some(number) = table().take_look(ticks) else { break };
        if look(ctx, number) {
            break;
        }
    }
    start_timer(&mut table(), ctx);
}

/// Serves the clients that wait for a key, ends waits that timed out, and plans the next check. Returns whether the
/// key was changed.
fn look(ctx: Ctx, number: u64) -> bool {
    let Some((database, name)) = table().queue(number).map(|queue| (queue.database, queue.name.clone())) else {
        return false;
    };
    ctx.select(database);
    if ctx.is_cluster() && !ctx.serves(&name) {
        send_away(ctx, number);
        return false;
    }
    let (mut next, mut changed) = (None, false);
    if ctx.may_write_by_itself() {
        let served = Moment::outside(ctx, |moment| serve(moment, number));
        changed = served.changed;
        next = served.result.flatten();
    }
    end_waits(ctx, number);
    plan(&mut table(), ctx, number, next);
    changed
}

/// Stops the timer and starts it again.
fn restart_timer(ctx: Ctx) {
    let mut table = table();
    if let Some((timer, _)) = table.timer.take() {
        timer.stop(ctx);
    }
    start_timer(&mut table, ctx);
}

/// Subscribes to the server's cron, to notice when its clock is set back. Returns whether that worked.
pub fn start(ctx: Ctx) -> bool {
    on_cron(ctx, Some(on_turn))
}

/// Runs the body of a callback. A panic must not leave it, because it would abort the server.
fn guarded(act: impl FnOnce()) -> c_int {
    // The panic hook has already logged the panic.
    let _ = catch_unwind(AssertUnwindSafe(act));
    raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn on_timer(ctx: *mut RedisModuleCtx, _: *mut c_void) {
    // SAFETY: the context lives during the call.
    guarded(|| look_at_keys(unsafe { Ctx::new(ctx) }));
}

unsafe extern "C" fn on_turn(ctx: *mut RedisModuleCtx, _: RedisModuleEvent, _: u64, _: *mut c_void) {
    guarded(|| {
        if table().is_empty() {
            return;
        }
        // SAFETY: the context lives during the call.
        let ctx = unsafe { Ctx::new(ctx) };
        if was_set_back(ctx.now()) {
            restart_timer(ctx);
        }
    });
}

unsafe extern "C" fn on_reply(ctx: *mut RedisModuleCtx, _: *mut *mut RedisModuleString, _: c_int) -> c_int {
    guarded(|| {
        // SAFETY: the context lives during the call, and the answer is ours until `free_answer`.
        let (ctx, answer) = unsafe {
            let ctx = Ctx::new(ctx);
            (ctx, ctx.answer().cast::<Answer>().as_ref())
        };
        let reply = Reply::new(ctx);
        match answer {
            Some(Answer { rows: Ok(rows), show }) => show(&reply, rows),
            Some(Answer { rows: Err(error), .. }) => {
                stats::DUE.failed(error);
                reply.error(&error.to_string());
            }
            // The client is gone.
            None => {}
        }
    })
}

/// Called for `CLIENT UNBLOCK`, which ends a wait like a timeout.
unsafe extern "C" fn on_unblock(ctx: *mut RedisModuleCtx, _: *mut *mut RedisModuleString, _: c_int) -> c_int {
    guarded(|| {
        // SAFETY: the context lives during the call.
        let ctx = unsafe { Ctx::new(ctx) };
        Reply::new(ctx).array(0);
        forget(ctx, ctx.blocked());
    })
}

/// Called when the client was closed or killed, or when the server ended its wait with an error.
unsafe extern "C" fn on_gone(ctx: *mut RedisModuleCtx, blocked: *mut RedisModuleBlockedClient) {
    // SAFETY: the context lives during the call; the client is one of ours.
    guarded(|| unsafe { forget(Ctx::new(ctx), Blocked::of(blocked)) });
}

unsafe extern "C" fn free_answer(_: *mut RedisModuleCtx, answer: *mut c_void) {
    // SAFETY: made by `release`, and freed once.
    guarded(|| drop(unsafe { Box::from_raw(answer.cast::<Answer>()) }));
}
