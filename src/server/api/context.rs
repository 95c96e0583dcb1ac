//! The context of a running command: its clock, its flags, its effects.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::os::raw::c_int;
use std::time::{SystemTime, UNIX_EPOCH};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};
use smallvec::SmallVec;

use super::core_commands::CoreCommand;
use super::text::Text;

#[derive(Clone, Copy)]
pub struct Ctx<'c> {
    raw: *mut RedisModuleCtx,
    lives: PhantomData<&'c ()>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum EventClass {
    Generic,
    SortedSet,
    Hash,
    String,
}

impl<'c> Ctx<'c> {
    /// # Safety
    /// The pointer must be a context that lives for `'c`. During a command, or while the module is loaded, the server's
    /// clock does not advance, so no key expires while a handle of it is open. In a timer it may.
    pub unsafe fn new(raw: *mut RedisModuleCtx) -> Ctx<'c> {
        Ctx { raw, lives: PhantomData }
    }

    pub(in crate::server) fn raw(self) -> *mut RedisModuleCtx {
        self.raw
    }

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
        // Redis 7.0 gives modules milliseconds only.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX)
    }

    /// Microseconds on a clock that nobody can set.
    pub fn monotonic_micros(self) -> u64 {
        // SAFETY: reads a pointer that was set when the module was loaded, by every server since 7.0; takes nothing.
        unsafe { raw::RedisModule_MonotonicMicroseconds.map_or(0, |micros| micros()) }
    }

    pub(super) fn has_flag(self, flag: u32) -> bool {
        // SAFETY: the context is alive.
        let flags = unsafe { api!(RedisModule_GetContextFlags)(self.raw) };
        flags as u32 & flag != 0
    }

    pub fn is_resp3(self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_RESP3)
    }

    pub fn is_cluster(self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_CLUSTER)
    }

    /// Whether a command may wait here: not in transactions, scripts and functions.
    pub fn may_block(self) -> bool {
        !self.has_flag(raw::REDISMODULE_CTX_FLAGS_DENY_BLOCKING)
    }

    pub fn is_out_of_memory(self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_OOM)
    }

    /// Whether a timer may write. A write while clients are paused, or a failover is under way, would end the server.
    pub fn may_write_by_itself(self) -> bool {
        let barred = raw::REDISMODULE_CTX_FLAGS_LOADING
            | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING
            | raw::REDISMODULE_CTX_FLAGS_READONLY;
        // SAFETY: takes nothing.
        let paused = unsafe { api!(RedisModule_AvoidReplicaTraffic)() != 0 };
        !paused && !self.has_flag(barred)
    }

    pub fn database(self) -> c_int {
        // SAFETY: the context is alive.
        unsafe { api!(RedisModule_GetSelectedDb)(self.raw) }
    }

    pub fn select(self, database: c_int) {
        // SAFETY: the context is alive. A number that the server gave us is a database's.
        unsafe { api!(RedisModule_SelectDb)(self.raw, database) };
    }

    /// A standalone primary that is not loading, writes no AOF and has no child process.
    pub fn is_alone(self) -> bool {
        let busy = raw::REDISMODULE_CTX_FLAGS_LOADING
            | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING
            | raw::REDISMODULE_CTX_FLAGS_AOF
            | raw::REDISMODULE_CTX_FLAGS_ACTIVE_CHILD
            | raw::REDISMODULE_CTX_FLAGS_CLUSTER;
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_MASTER) && !self.has_flag(busy)
    }

    /// Tells `WATCH` and client-side caches that a key changed.
    pub fn signal_modified(self, key: &Text) {
        // SAFETY: context and string are alive.
        unsafe { api!(RedisModule_SignalModifiedKey)(self.raw, key.raw()) };
    }

    pub fn notify(self, class: EventClass, event: &CStr, key: &Text) {
        let class: c_int = match class {
            EventClass::Generic => raw::REDISMODULE_NOTIFY_GENERIC,
            EventClass::SortedSet => raw::REDISMODULE_NOTIFY_ZSET,
            EventClass::Hash => raw::REDISMODULE_NOTIFY_HASH,
            EventClass::String => raw::REDISMODULE_NOTIFY_STRING,
        };
        // SAFETY: context and strings are alive.
        unsafe { api!(RedisModule_NotifyKeyspaceEvent)(self.raw, class, event.as_ptr(), key.raw()) };
    }

    /// Counts a change for save points. Only while nobody listens: otherwise it would propagate the running command.
    pub fn count_change(self) {
        // SAFETY: the context is that of a running command.
        unsafe { api!(RedisModule_ReplicateVerbatim)(self.raw) };
    }

    /// Propagates a `ZADD` of one element, the most common effect. The server makes the string of the score. Where the
    /// module made it, and a list of arguments, commands with an AOF took 4 to 8 % more instructions.
    pub fn replicate_zadd(self, key: &Text, score: &str, element: &Text) {
        let (start, length) = (score.as_ptr(), score.len());
        // SAFETY: strings and buffer are alive; the server takes references or copies of its own.
        unsafe {
            let (command, format) = (CoreCommand::ZADD.name().as_ptr(), c"sbs".as_ptr());
            api!(RedisModule_Replicate)(self.raw, command, format, key.raw(), start, length, element.raw());
        }
    }

    /// Propagates a `SETRANGE` in the same way.
    pub fn replicate_setrange(self, key: &Text, offset: &str, bytes: &[u8]) {
        let (start, length) = (offset.as_ptr(), offset.len());
        // SAFETY: string and buffers are alive; the server takes references or copies of its own.
        unsafe {
            let (command, format) = (CoreCommand::SETRANGE.name().as_ptr(), c"sbb".as_ptr());
            let (first, count) = (bytes.as_ptr(), bytes.len());
            api!(RedisModule_Replicate)(self.raw, command, format, key.raw(), start, length, first, count);
        }
    }

    /// Propagates any other command.
    pub fn replicate(self, command: CoreCommand, args: &[Text]) {
        let command = command.name().as_ptr();
        let mut args: SmallVec<[*mut RedisModuleString; 8]> = args.iter().map(Text::raw).collect();
        // SAFETY: the strings are alive; the server takes references of its own.
        unsafe {
            api!(RedisModule_Replicate)(self.raw, command, c"v".as_ptr(), args.as_mut_ptr(), args.len());
        }
    }
}
