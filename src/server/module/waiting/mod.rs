//! Clients that wait until something is due at a key.
//!
//! A client waits until the module releases it, because the server is given no timeout. A key that clients wait for is
//! checked when its first item is due, when the wait of a client times out, and every 100 to 500 ms, because a core
//! command may have changed the key. One timer does this for all keys: timers that fire at the same moment collide in
//! the server, and adding thousands of them would take millions of steps.
//!
//! When something is due, the timer asks the server to run the command that the client sent once more. It asks by name,
//! because only so the server refuses what it would refuse a client: there is no other way to ask it whether a write is
//! allowed now. What came of the command is returned by value (`turn`). So a client that waits gets nothing that it would
//! not get by asking now, and the write is propagated as that of any command.
//!
//! However many clients can be served, one turn of the timer takes a millisecond, or one client's command. Then the
//! server runs what others sent.
//!
//! The table is locked only briefly, and never while a command runs, because that command may use the table.

mod clock;
mod gates;
mod table;
mod turn;

use std::ffi::CStr;
use std::os::raw::{c_int, c_void};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redis_module::raw::{self, RedisModuleBlockedClient, RedisModuleCtx, RedisModuleEvent, RedisModuleString};

use super::super::api::{on_cron, Blocked, Ctx, Refusal, Reply, Text, Timer};
use super::super::Call;
use super::guarded;
use crate::error::{Error, Result};
use crate::stats;
use clock::{costly_check, regular_check, Budget, Now};
use gates::GateName;
use table::{KeyName, Table, Waiter};
pub use turn::{fail_turn, Turn};
use turn::{take_turn, Answer, Outcome};

/// The pause in which the server runs what clients sent.
const PAUSE_MS: u64 = 1;
/// So many keys may be changed in one turn: each by a timer of its own.
const KEYS_PER_TURN: usize = 64;
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

/// What a look at a key finds.
#[derive(Clone, Copy, Default)]
pub struct Head {
    /// When the first item is due.
    pub due: Option<i64>,
    /// Finding that out was so costly that it is done less often.
    pub is_costly: bool,
}

/// Looks at a key without touching it, and without calling a core command: a timer runs it.
pub type Look = fn(Ctx, Text) -> Head;

/// What a client waits for, and how long: see [`Waiter`].
pub struct WaitRequest {
    pub command: &'static CStr,
    pub look: Look,
    pub needs_memory: bool,
    /// What the client gave with `NOW`.
    pub own_now: Option<i64>,
    /// Milliseconds; `None` for ever.
    pub timeout_ms: Option<u64>,
    /// The rule that has to allow it, and in how many milliseconds it does so, if it denied the call.
    pub gate: Option<(Box<[Text<'static>]>, Option<u64>)>,
}

/// Makes the calling client wait for a key, at which a look has just found `head`. Returns false if the server does not let
/// the client wait.
pub fn wait(call: &Call, key: &Text, wait: WaitRequest, mut head: Head) -> bool {
    if !call.ctx.may_block() {
        return false;
    }
    // This must come first: once the client is blocked, it no longer runs a command for which effects can be propagated.
    call.propagate_and_notify();
    let user = call.ctx.user_name();
    let Some(blocked) = Blocked::new(call.ctx, on_reply, on_unblock, free_answer, on_gone) else { return false };
    let (now, database) = (Now::read(call.ctx), call.ctx.database());
    let (words, closed_ms) = wait.gate.unzip();
    let gate = words.map(|words| Rc::new(GateName { database, words }));
    let waiter = Waiter {
        blocked,
        user,
        command: wait.command,
        words: call.words(),
        needs_memory: wait.needs_memory,
        own_clock: wait.own_now.map(|own| own.saturating_sub_unsigned(now.ticks)),
        // One more, because the current millisecond has already begun: the client must not time out early.
        deadline: wait.timeout_ms.map(|ms| now.ticks.saturating_add(ms).saturating_add(1)),
        gate: gate.clone(),
    };
    let mut table = table();
    let key = KeyName { database, name: key.clone().into_static() };
    let id = table.add(key, wait.look, waiter);
    if let Some((gate, ms)) = gate.zip(closed_ms.flatten()) {
        stand_before(&mut table, &now, id, &gate, ms);
        // Others who wait for this key may not need the gate; they know when the item is due.
        head.due = None;
    }
    schedule_check(&mut table, &now, id, head);
    start_timer(&mut table, call.ctx, &now);
    true
}

/// A rule denies the clients of a queue for so many milliseconds.
fn stand_before(table: &mut Table, now: &Now, id: u64, gate: &Rc<GateName>, ms: u64) {
    let last_served = table.queue(id).map_or(0, |queue| queue.last_served);
    table.gates.close(gate, now.ticks, now.ticks.saturating_add(ms.max(1)));
    table.gates.stand(gate, id, last_served);
}

/// Serves the clients that wait for a key, and those that wait in front of a gate, before the calling client takes what is
/// due. Returns false if there are more of them than can be served in one turn: what is due is theirs.
pub fn serve_waiters_first(call: &Call, key: &Text, gate: Option<&[Text]>) -> bool {
    let at_key = awaited(call, key);
    let is_empty = at_key.is_none() && (gate.is_none() || table().is_empty());
    if is_empty {
        return true;
    }
    // In a transaction or a script, clients that wait are served after it. A command that `serve` runs counts as a script
    // here, so this does not call itself.
    if !call.ctx.may_block() {
        return true;
    }
    let (now, budget) = (Now::read(call.ctx), Budget::start(call.ctx));
    let serve_queue = |id: u64| {
        let served = if end_timed_out(call.ctx, &now, id, &budget) {
            serve(call.ctx, &now, id, &budget)
        } else {
            Served::unfinished(false)
        };
        let mut table = table();
        schedule_check(&mut table, &now, id, served.head);
        start_timer(&mut table, call.ctx, &now);
        !served.is_unfinished
    };
    if let Some(words) = gate {
        let words = words.iter().map(|word| word.clone().into_static()).collect();
        let gate = Rc::new(GateName { database: call.ctx.database(), words });
        // Until it is closed again. The key that was served least recently is first.
        let next = || {
            Some(table()).filter(|table| !table.gates.was_tried(&gate, now.ticks))?.gates.take_first(&gate, now.ticks)
        };
        while let Some(id) = next() {
            if !serve_queue(id) {
                return false;
            }
        }
    }
    at_key.is_none_or(serve_queue)
}

/// Says that a key has an item that is due at this time, so that waiting clients get it.
pub fn notify_waiters(call: &Call, key: &Text, due: i64) {
    if let Some(id) = awaited(call, key) {
        let mut table = table();
        let now = Now::read(call.ctx);
        schedule_check(&mut table, &now, id, Head { due: Some(due), is_costly: false });
        start_timer(&mut table, call.ctx, &now);
    }
}

/// The queue of a key, if clients wait for it.
fn awaited(call: &Call, key: &Text) -> Option<u64> {
    let table = table();
    if table.is_empty() {
        return None;
    }
    table.id_of(&KeyName { database: call.ctx.database(), name: key.clone() })
}

/// Schedules the next check of a key: when its first item is due, when a wait times out, or at the next regular check.
fn schedule_check(table: &mut Table, now: &Now, id: u64, head: Head) {
    let keys = table.keys() as u64;
    let Some(queue) = table.queue(id) else { return };
    let regular = if queue.is_costly { costly_check(now.ticks) } else { regular_check(now.ticks, id, keys) };
    let until_due = head.due.map(|due| due.saturating_sub(queue.latest_clock(now)));
    let due = until_due.map(|ms| now.ticks.saturating_add(u64::try_from(ms).unwrap_or(0)));
    let at = due.into_iter().chain(queue.deadline()).fold(regular, u64::min);
    table.schedule_check(id, at);
}

/// Starts the timer for the earliest check, unless it fires by then.
fn start_timer(table: &mut Table, ctx: Ctx, now: &Now) {
    let Some(at) = table.first_check() else { return };
    if table.next_timer().is_some_and(|fires| fires <= at) {
        return;
    }
    set_timers(table, ctx, now, at, 1);
}

fn set_timers(table: &mut Table, ctx: Ctx, now: &Now, at: u64, count: usize) {
    let wait = at.saturating_sub(now.ticks);
    table.set_timers(ctx, at, count, || Timer::start(ctx, wait, on_timer, std::ptr::null_mut()));
}

/// What became of the clients that wait for a key.
#[derive(Default)]
struct Served {
    /// `due` is when the next item is due; `None` also if one is due now that no waiting client can have.
    head: Head,
    /// A command was run for one of them, and changed something.
    changed: bool,
    /// The time was over before all of them were served.
    is_unfinished: bool,
}

impl Served {
    /// The next turn goes on at once.
    fn unfinished(changed: bool) -> Served {
        let head = Head { due: Some(i64::MIN), is_costly: false };
        Served { head, changed, is_unfinished: true }
    }
}

/// Gives waiting clients the items that are due, first come, first served.
fn serve(ctx: Ctx, now: &Now, id: u64, budget: &Budget) -> Served {
    let mut served = Served::default();
    let Some((name, look)) = table().queue(id).map(|queue| (queue.key.name.clone(), queue.look)) else { return served };
    let (mut is_first, mut after) = (true, 0);
    loop {
        let head = look(ctx, name.clone());
        if let Some(queue) = table().queue(id) {
            queue.is_costly = head.is_costly;
        }
        let Some(due) = head.due else { break };
        if table().queue(id).is_none_or(|queue| due > queue.latest_clock(now)) {
            served.head = head;
            break;
        }
        if !is_first && budget.is_spent(ctx) {
            return Served::unfinished(served.changed);
        }
        is_first = false;
        let Some((arrival, waiter, own_now)) = first_ready(ctx, now, id, after, due) else { break };
        let run = || ctx.run_for(waiter.user.as_ref(), waiter.command, &waiter.words);
        match take_turn(own_now, run) {
            (false, _) => release(ctx, waiter.blocked, Err(Error::no_longer_permitted())),
            // The next check finds out whether it is still refused, or ends the wait if the key is elsewhere.
            (true, Outcome::NotRun) => break,
            // Those behind it need not wait for the same rule.
            (true, Outcome::FoundNothing { closed_ms: Some(ms), .. }) => {
                if let Some(gate) = &waiter.gate {
                    stand_before(&mut table(), now, id, gate, ms);
                }
                after = arrival;
            }
            (true, Outcome::FoundNothing { wrote, .. }) => {
                // It moved dead items. There may be others behind them, which are for the next check.
                if wrote {
                    served.changed = true;
                    served.head.due = table().queue(id).map(|queue| queue.latest_clock(now).saturating_add(1));
                }
                break;
            }
            (true, Outcome::Answered(answer)) => {
                served.changed = true;
                if waiter.gate.is_some() {
                    table().passed(id);
                }
                release(ctx, waiter.blocked, answer);
            }
        }
    }
    served
}

/// The first client behind another that can have an item with the time `due` now: when it arrived, and the time on its own
/// clock.
fn first_ready(ctx: Ctx, now: &Now, id: u64, after: u64, due: i64) -> Option<(u64, Rc<Waiter>, Option<i64>)> {
    let no_memory = ctx.is_out_of_memory();
    let own_now = |waiter: &Waiter| waiter.own_clock.map(|ahead| now.on_own_clock(ahead));
    let is_able =
        |waiter: &Waiter| !(no_memory && waiter.needs_memory) && due <= own_now(waiter).unwrap_or(now.server_ms);
    let (arrival, waiter) = table().first_open(id, after, now.ticks, is_able)?;
    let own_now = own_now(&waiter);
    Some((arrival, waiter, own_now))
}

/// Ends the wait of a client with a reply.
fn release(ctx: Ctx, blocked: Blocked, answer: Result<Answer>) {
    if table().remove(ctx, blocked) {
        // SAFETY: the client was in the table. It is in there only once, and only until it is released.
        unsafe { blocked.release(Box::into_raw(Box::new(Some(answer))).cast()) };
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

/// Ends waits that have timed out, with an empty reply. This comes before anybody is served: a client whose wait is over may
/// no longer be there to take an item. Returns false if the time was over before all of them were ended.
fn end_timed_out(ctx: Ctx, now: &Now, id: u64, budget: &Budget) -> bool {
    let next = || table().queue(id).and_then(|queue| queue.ended_by(now.ticks));
    release_all(ctx, budget, next, || Ok(Box::new(|reply: &Reply| reply.array(0))))
}

/// Ends waits for a key with an error.
fn fail_all(ctx: Ctx, id: u64, budget: &Budget, error: fn() -> Error) -> Served {
    let is_done = release_all(ctx, budget, || table().queue(id).and_then(|queue| queue.first()), || Err(error()));
    if is_done {
        Served::default()
    } else {
        Served::unfinished(false)
    }
}

fn release_all(
    ctx: Ctx,
    budget: &Budget,
    next: impl Fn() -> Option<Blocked>,
    answer: impl Fn() -> Result<Answer>,
) -> bool {
    while let Some(blocked) = next() {
        release(ctx, blocked, answer());
        if budget.is_spent(ctx) {
            return next().is_none();
        }
    }
    true
}

/// One of the timers fired. Those that fire together share a millisecond, and the last of them starts the next ones.
fn on_time(ctx: Ctx) {
    let now = Now::read(ctx);
    let (is_last, budget) = {
        let mut table = table();
        let is_last = !table.timer_fired();
        let budget = table.turn.take().unwrap_or_else(|| {
            stats::DUE_TURNS.add(1);
            Budget::start(ctx)
        });
        (is_last, budget)
    };
    check_keys(ctx, &now, &budget);
    let mut table = table();
    if !is_last {
        table.turn = Some(budget);
        return;
    }
    let now = Now::read(ctx);
    let overdue = table.overdue(now.ticks, KEYS_PER_TURN);
    if overdue > 0 {
        set_timers(&mut table, ctx, &now, now.ticks.saturating_add(PAUSE_MS), overdue);
    } else {
        start_timer(&mut table, ctx, &now);
    }
}

/// Checks the keys whose check is due, until the time is over or a key was changed: all changes in one call of a timer are
/// propagated as one transaction, and changes of different keys should not be in the same transaction.
fn check_keys(ctx: Ctx, now: &Now, budget: &Budget) {
    // Asked once, because nothing that is checked below changes it. The clock does not have to be read for each key.
    let (is_cluster, may_write) = (ctx.is_cluster(), ctx.may_write_by_itself());
    while !budget.is_spent(ctx) {
        let Some(id) = table().take_due_check(now.ticks) else { break };
        let served = check_key(ctx, now, id, budget, is_cluster, may_write);
        schedule_check(&mut table(), now, id, served.head);
        if served.changed {
            break;
        }
    }
}

/// Ends waits for a key that timed out, and serves the other clients.
fn check_key(ctx: Ctx, now: &Now, id: u64, budget: &Budget, is_cluster: bool, may_write: bool) -> Served {
    stats::DUE_CHECKS.add(1);
    let Some(key) = table().queue(id).map(|queue| queue.key.clone()) else { return Served::default() };
    ctx.select(key.database);
    // The server ends the waits of its own blocking commands in the same cases.
    // In a cluster the key may be elsewhere by now.
    match is_cluster.then(|| ctx.refusal_to_read(&key.name)).flatten() {
        Some(Refusal::KeyMoved) => return fail_all(ctx, id, budget, Error::key_moved),
        Some(Refusal::ClusterDown) => return fail_all(ctx, id, budget, Error::cluster_down),
        _ => {}
    }
    if !end_timed_out(ctx, now, id, budget) {
        return Served::unfinished(false);
    }
    if may_write {
        serve(ctx, now, id, budget)
    } else {
        Served::default()
    }
}

/// Subscribes to the server's cron, which fires even if the server's clock is set back. Returns whether that worked.
pub fn start(ctx: Ctx) -> bool {
    on_cron(ctx, Some(on_cron_event))
}

unsafe extern "C" fn on_timer(ctx: *mut RedisModuleCtx, _: *mut c_void) {
    // SAFETY: the context lives during the call.
    guarded(|| on_time(unsafe { Ctx::new(ctx) }));
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
        if table.next_timer().is_some_and(|at| at.saturating_add(LATE_MS) < now.ticks) {
            set_timers(&mut table, ctx, &now, at, 1);
        }
    });
}

unsafe extern "C" fn on_reply(ctx: *mut RedisModuleCtx, _: *mut *mut RedisModuleString, _: c_int) -> c_int {
    guarded(|| {
        // SAFETY: the context lives during the call, and the answer is ours until `free_answer`.
        let (ctx, answer) = unsafe {
            let ctx = Ctx::new(ctx);
            (ctx, ctx.answer().cast::<Option<Result<Answer>>>().as_mut().and_then(Option::take))
        };
        let reply = Reply::new(ctx);
        match answer {
            Some(Ok(write)) => write(&reply),
            Some(Err(error)) => {
                stats::DUE.failed(&error);
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
    guarded(|| drop(unsafe { Box::from_raw(answer.cast::<Option<Result<Answer>>>()) }));
}
