//! Whether anybody receives what is propagated.
//!
//! `RM_Replicate` costs as much as the write itself, even without an AOF or a replica: it looks up the command and
//! copies the arguments before it checks. The core checks first. So does this module, where the answer is certain.
//!
//! The state *quiet* is entered only on a standalone primary that has no AOF and no child process, as the context's
//! flags say, and no replica and no backlog, as `INFO` says. From there a listener needs a fork first: a replica that attaches, and an AOF that is
//! switched on, start from a snapshot, and whatever is written before that is in it. So every fork, and every change of
//! role, ends the state at once; a later write may enter it again. In cluster mode slots may stream to other nodes in
//! ways `INFO` does not show: there it is never quiet.

use std::os::raw::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

use crate::server::api::Ctx;

static QUIET: AtomicBool = AtomicBool::new(false);
/// How many writes pass before `INFO` is asked again.
static WRITES_UNTIL_RECHECK: AtomicU32 = AtomicU32::new(0);

const WRITES_BETWEEN_CHECKS: u32 = 4096;

/// Whether it is certain that nobody receives what is propagated now.
pub fn is_unneeded(ctx: Ctx) -> bool {
    QUIET.load(Relaxed) || check(ctx)
}

/// The first write checks, then one in every `WRITES_BETWEEN_CHECKS`, until the state is quiet.
fn check(ctx: Ctx) -> bool {
    let writes = WRITES_UNTIL_RECHECK.load(Relaxed);
    if writes > 0 {
        WRITES_UNTIL_RECHECK.store(writes - 1, Relaxed);
        return false;
    }
    WRITES_UNTIL_RECHECK.store(WRITES_BETWEEN_CHECKS, Relaxed);
    let quiet = ctx.is_alone() && has_no_replication(ctx);
    QUIET.store(quiet, Relaxed);
    quiet
}

fn has_no_replication(ctx: Ctx) -> bool {
    // SAFETY: context and names are alive; what the server made is freed once.
    unsafe {
        let info = api!(RedisModule_GetServerInfo)(ctx.raw(), c"replication".as_ptr());
        if info.is_null() {
            return false;
        }
        let none = [c"connected_slaves", c"repl_backlog_active"].iter().all(|field| {
            let mut error: c_int = 0;
            let value = api!(RedisModule_ServerInfoGetFieldUnsigned)(info, field.as_ptr(), &mut error);
            error == raw::REDISMODULE_OK as c_int && value == 0
        });
        api!(RedisModule_FreeServerInfo)(ctx.raw(), info);
        none
    }
}

/// Subscribes to forks, roles, replicas and loading. Returns whether the server allowed it.
pub fn subscribe(ctx: Ctx) -> bool {
    let events = [
        raw::REDISMODULE_EVENT_FORK_CHILD,
        raw::REDISMODULE_EVENT_REPLICATION_ROLE_CHANGED,
        raw::REDISMODULE_EVENT_LOADING,
        raw::REDISMODULE_EVENT_REPLICA_CHANGE,
    ];
    events.iter().all(|id| {
        let event = RedisModuleEvent { id: *id, dataver: 1 };
        // SAFETY: the context lives while the module is being loaded; the callback lives as long as the module.
        let status = unsafe { api!(RedisModule_SubscribeToServerEvent)(ctx.raw(), event, Some(on_change)) };
        status == raw::REDISMODULE_OK as c_int
    })
}

unsafe extern "C" fn on_change(_: *mut RedisModuleCtx, _: RedisModuleEvent, _: u64, _: *mut c_void) {
    QUIET.store(false, Relaxed);
}
