//! A command that would stop the server for too long goes on in steps, while its client waits for the reply.

use std::os::raw::{c_int, c_longlong, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};

use redis_module::raw::{self, RedisModuleBlockedClient, RedisModuleCtx, RedisModuleString};

use super::context::{Call, Ctx};
use super::reply::Reply;
use super::watch;
use crate::error::{Error, Result};
use crate::stats;

/// Others get their turn in between.
const PAUSE_MS: c_longlong = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    More,
    /// The reply is `OK`.
    Done,
}

/// What is done in steps. No step is part of a command or transaction of anybody's.
pub trait Job {
    fn step(&mut self, ctx: Ctx) -> Result<Progress>;
}

struct Waiting {
    client: *mut RedisModuleBlockedClient,
    job: Box<dyn Job>,
}

static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Whether no job waits in the server for its next step.
pub fn none_waits() -> bool {
    WAITING.load(Ordering::Relaxed) == 0
}

impl Call<'_> {
    /// Does the job in steps; its client, and nobody else, waits. Only where the client [may wait](Ctx::may_wait).
    pub fn in_steps(&self, job: Box<dyn Job>) {
        // SAFETY: the context is that of a running command; the callbacks live as long as the module, which the server
        // does not unload while clients wait.
        let client = unsafe { api!(RedisModule_BlockClient)(self.ctx.raw(), Some(answer), None, Some(forget), 0) };
        WAITING.fetch_add(1, Ordering::Relaxed);
        schedule(self.ctx, Box::new(Waiting { client, job }));
    }
}

fn schedule(ctx: Ctx, waiting: Box<Waiting>) {
    // SAFETY: the context is alive; the timer hands the box on to `step`.
    unsafe { api!(RedisModule_CreateTimer)(ctx.raw(), PAUSE_MS, Some(step), Box::into_raw(waiting).cast()) };
}

unsafe extern "C" fn step(ctx: *mut RedisModuleCtx, waiting: *mut c_void) {
    // SAFETY: the server passes a live context, and what `schedule` gave it, once.
    let (ctx, mut waiting) = unsafe { (Ctx::new(ctx), Box::from_raw(waiting.cast::<Waiting>())) };
    let result = catch_unwind(AssertUnwindSafe(|| waiting.job.step(ctx))).unwrap_or(Err(Error::Internal));
    if matches!(result, Ok(Progress::More)) {
        return schedule(ctx, waiting);
    }
    let client = waiting.client;
    drop(waiting);
    watch::rest(ctx);
    WAITING.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: the client is unblocked once; `forget` takes the result back. A client that has gone is no error.
    unsafe { api!(RedisModule_UnblockClient)(client, Box::into_raw(Box::new(result)).cast()) };
}

unsafe extern "C" fn answer(ctx: *mut RedisModuleCtx, _: *mut *mut RedisModuleString, _: c_int) -> c_int {
    // SAFETY: the server passes a live context, and keeps the result until it calls `forget`.
    let (ctx, result) = unsafe {
        let result = api!(RedisModule_GetBlockedClientPrivateData)(ctx).cast::<Result<Progress>>();
        (Ctx::new(ctx), result.as_ref())
    };
    match result {
        Some(Err(error)) => {
            stats::ERRORS.add(1);
            Reply::new(ctx).error(&error.to_string())
        }
        _ => {
            Reply::new(ctx).ok();
            raw::REDISMODULE_OK as c_int
        }
    }
}

unsafe extern "C" fn forget(_: *mut RedisModuleCtx, result: *mut c_void) {
    if !result.is_null() {
        // SAFETY: the box that `step` gave away; the server calls this once.
        drop(unsafe { Box::from_raw(result.cast::<Result<Progress>>()) });
    }
}
