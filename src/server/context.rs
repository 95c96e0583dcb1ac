//! The running command: its arguments, its clock, its effects.

use std::ffi::CStr;
use std::os::raw::c_int;
use std::time::{SystemTime, UNIX_EPOCH};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::propagation::nobody_listens;
use super::text::{Args, Text};

#[derive(Clone, Copy)]
pub struct Ctx {
    raw: *mut RedisModuleCtx,
    /// That of a running command, not of an event.
    command: bool,
}

/// One call of a command.
pub struct Call<'a> {
    pub ctx: Ctx,
    args: &'a [*mut RedisModuleString],
}

/// Classes of keyspace events.
#[derive(Clone, Copy)]
pub enum EventClass {
    Generic,
    SortedSet,
    Hash,
}

impl<'a> Call<'a> {
    /// # Safety
    /// The pointers are those the server called the command with, and live for `'a`.
    pub unsafe fn new(ctx: *mut RedisModuleCtx, args: &'a [*mut RedisModuleString]) -> Call<'a> {
        Call { ctx: Ctx { raw: ctx, command: true }, args }
    }

    /// The server wants to know the command's keys, not to run it; only for commands with `getkeys-api`.
    pub fn asks_for_keys(&self) -> bool {
        // SAFETY: the context is alive.
        unsafe { api!(RedisModule_IsKeysPositionRequest)(self.ctx.raw) != 0 }
    }

    /// Tells the position of a key, counted from the command's name.
    pub fn tell_key(&self, position: c_int) {
        // SAFETY: the context is that of a request for keys.
        unsafe { api!(RedisModule_KeyAtPos)(self.ctx.raw, position) };
    }

    /// The arguments behind the command's name.
    pub fn args(&self) -> Args<'a> {
        // SAFETY: the arguments live as long as the call.
        unsafe { Args::new(self.args.get(1..).unwrap_or_default()) }
    }
}

impl Ctx {
    /// # Safety
    /// The pointer must be a live context.
    pub unsafe fn new(raw: *mut RedisModuleCtx) -> Ctx {
        Ctx { raw, command: false }
    }

    pub fn raw(self) -> *mut RedisModuleCtx {
        self.raw
    }

    /// Unix milliseconds.
    pub fn now(self) -> i64 {
        // SAFETY: takes nothing.
        unsafe { api!(RedisModule_Milliseconds)() }
    }

    /// Unix microseconds, where the server has them as of the command's start: it judges expiry by the same clock.
    pub fn now_micros(self) -> i64 {
        // SAFETY: reads a pointer that was set when the module was loaded; the function takes nothing.
        if let Some(cached) = unsafe { raw::RedisModule_CachedMicroseconds } {
            // SAFETY: as above.
            return unsafe { cached() };
        }
        // 7.0 tells a module milliseconds alone.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX)
    }

    fn has_flag(self, flag: u32) -> bool {
        // SAFETY: the context is alive.
        let flags = unsafe { api!(RedisModule_GetContextFlags)(self.raw) };
        flags as u32 & flag != 0
    }

    pub fn is_resp3(self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_RESP3)
    }

    /// A primary that is not loading: the one who may clean up.
    pub fn is_serving_primary(self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_MASTER)
            && !self.has_flag(raw::REDISMODULE_CTX_FLAGS_LOADING | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING)
    }

    /// Whether a command may let its client wait: not inside a transaction or a script, where the core's own do not.
    pub fn may_wait(self) -> bool {
        !self.has_flag(
            raw::REDISMODULE_CTX_FLAGS_MULTI
                | raw::REDISMODULE_CTX_FLAGS_LUA
                | raw::REDISMODULE_CTX_FLAGS_DENY_BLOCKING,
        )
    }

    /// An AOF is written, or a child process is at work.
    pub fn persists_commands(self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_AOF | raw::REDISMODULE_CTX_FLAGS_ACTIVE_CHILD)
    }

    /// Before a failover: nothing may be propagated.
    pub fn writes_are_paused(self) -> bool {
        // SAFETY: takes nothing.
        unsafe { api!(RedisModule_AvoidReplicaTraffic)() != 0 }
    }

    pub fn is_cluster(self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_CLUSTER)
    }

    /// The number of the selected database.
    pub fn db(self) -> c_int {
        // SAFETY: the context is alive.
        unsafe { api!(RedisModule_GetSelectedDb)(self.raw) }
    }

    /// Whether there is such a database.
    pub fn select(self, db: c_int) -> bool {
        // SAFETY: the context is alive.
        unsafe { api!(RedisModule_SelectDb)(self.raw, db) == raw::REDISMODULE_OK as c_int }
    }

    /// Sixteen random hexadecimal digits.
    pub fn random_id(self) -> [u8; 16] {
        let mut id = [b'0'; 16];
        // SAFETY: writes just as many characters as there is room.
        unsafe { api!(RedisModule_GetRandomHexChars)(id.as_mut_ptr().cast(), id.len()) };
        id
    }

    pub fn signal_modified(self, key: &Text) {
        // SAFETY: context and string are alive.
        unsafe { api!(RedisModule_SignalModifiedKey)(self.raw, key.raw()) };
    }

    pub fn notify(self, class: EventClass, event: &CStr, key: &Text) {
        let class: c_int = match class {
            EventClass::Generic => raw::REDISMODULE_NOTIFY_GENERIC,
            EventClass::SortedSet => raw::REDISMODULE_NOTIFY_ZSET,
            EventClass::Hash => raw::REDISMODULE_NOTIFY_HASH,
        };
        // SAFETY: context and strings are alive.
        unsafe { api!(RedisModule_NotifyKeyspaceEvent)(self.raw, class, event.as_ptr(), key.raw()) };
    }

    /// Where nobody listens to what is propagated, marks the data set as changed, and says so: see `propagation`.
    pub fn changed_unheard(self) -> bool {
        let unheard = self.command && nobody_listens();
        if unheard {
            // SAFETY: the context is that of a running command.
            unsafe { api!(RedisModule_ReplicateVerbatim)(self.raw) };
        }
        unheard
    }

    /// Propagates the commonest of all effects, without a list of arguments.
    pub fn replicate_zadd(self, key: &Text, score: &str, element: &Text) {
        // SAFETY: strings and buffer are alive; the server takes references or copies of its own.
        unsafe {
            api!(RedisModule_Replicate)(
                self.raw,
                c"ZADD".as_ptr(),
                c"sbs".as_ptr(),
                key.raw(),
                score.as_ptr(),
                score.len(),
                element.raw(),
            );
        }
    }

    /// Propagates a command to the AOF and the replicas.
    pub fn replicate(self, command: &CStr, args: &mut [*mut RedisModuleString]) {
        // SAFETY: the strings are alive; the server takes references of its own.
        unsafe {
            api!(RedisModule_Replicate)(self.raw, command.as_ptr(), c"v".as_ptr(), args.as_mut_ptr(), args.len());
        }
    }
}
