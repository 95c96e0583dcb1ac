//! Blocked clients, timers and the cron event, as the API has them. Who waits for what is in `server/module/waiting`.

use std::os::raw::{c_int, c_void};
use std::ptr;

use redis_module::raw::{self, RedisModuleBlockedClient, RedisModuleCtx, RedisModuleString, RedisModuleTimerID};

use super::context::Ctx;

pub type ClientCallback = unsafe extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;

/// A client that waits. It must be released exactly once, even if the client has disconnected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blocked {
    raw: *mut RedisModuleBlockedClient,
}

// SAFETY: only the main thread uses it.
unsafe impl Send for Blocked {}

impl Blocked {
    /// Lets the client of a running command wait. `on_reply` writes the reply when it is released with an answer,
    /// `on_unblock` when `CLIENT UNBLOCK` ends the wait, and `on_gone` is called if the client disconnects.
    pub fn new(
        ctx: Ctx,
        on_reply: ClientCallback,
        on_unblock: ClientCallback,
        free_answer: unsafe extern "C" fn(*mut RedisModuleCtx, *mut c_void),
        on_gone: unsafe extern "C" fn(*mut RedisModuleCtx, *mut RedisModuleBlockedClient),
    ) -> Option<Blocked> {
        // No time-out of the server's: it would look every 100 ms only.
        let forever = 0;
        // SAFETY: the context is that of a running command, and the callbacks live as long as the module, which the
        // server does not unload while a client waits.
        unsafe {
            let raw =
                api!(RedisModule_BlockClient)(ctx.raw(), Some(on_reply), Some(on_unblock), Some(free_answer), forever);
            if raw.is_null() {
                return None;
            }
            api!(RedisModule_SetDisconnectCallback)(raw, Some(on_gone));
            Some(Blocked { raw })
        }
    }

    /// # Safety
    /// The pointer is one that the server passed to a callback of a client that waits.
    pub unsafe fn of(raw: *mut RedisModuleBlockedClient) -> Blocked {
        Blocked { raw }
    }

    /// Ends the wait. The reply is written from the answer before the server sleeps. The answer is null if the client
    /// already has its reply, or has disconnected.
    ///
    /// # Safety
    /// Once for each client. The answer is what `on_reply` and `free_answer` take.
    pub unsafe fn release(self, answer: *mut c_void) {
        // SAFETY: as the caller says.
        unsafe { api!(RedisModule_UnblockClient)(self.raw, answer) };
    }
}

impl Ctx<'_> {
    pub fn blocked(self) -> Blocked {
        // SAFETY: the context is alive.
        Blocked { raw: unsafe { api!(RedisModule_GetBlockedClientHandle)(self.raw()) } }
    }

    pub fn answer(self) -> *mut c_void {
        // SAFETY: the context is alive.
        unsafe { api!(RedisModule_GetBlockedClientPrivateData)(self.raw()) }
    }
}

/// A timer that fires once. After that it does not have to be stopped.
pub struct Timer {
    id: RedisModuleTimerID,
}

impl Timer {
    /// Fires after this many milliseconds. One that is started by a timer fires in a later turn of the server's loop.
    pub fn start(
        ctx: Ctx,
        ms: u64,
        fire: unsafe extern "C" fn(*mut RedisModuleCtx, *mut c_void),
        data: *mut c_void,
    ) -> Timer {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        // SAFETY: the context is alive; the callback lives as long as the module, which the server does not unload while
        // it has a timer.
        Timer { id: unsafe { api!(RedisModule_CreateTimer)(ctx.raw(), ms, Some(fire), data) } }
    }

    pub fn stop(self, ctx: Ctx) {
        // SAFETY: the context is alive. The server knows its timers, and ignores other ids.
        unsafe { api!(RedisModule_StopTimer)(ctx.raw(), self.id, ptr::null_mut()) };
    }
}

/// Calls a function on every run of the server's cron, which changes of the clock do not delay. Returns whether the
/// server accepted it.
pub fn on_cron(ctx: Ctx, turn: raw::RedisModuleEventCallback) -> bool {
    let event = raw::RedisModuleEvent { id: raw::REDISMODULE_EVENT_CRON_LOOP, dataver: 1 };
    // SAFETY: the context lives while the module is being loaded; the callback lives as long as the module.
    let status = unsafe { api!(RedisModule_SubscribeToServerEvent)(ctx.raw(), event, turn) };
    status == raw::REDISMODULE_OK as c_int
}
