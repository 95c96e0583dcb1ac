//! Whether anybody listens to what is propagated.
//!
//! `RM_Replicate` costs as much as the write itself, also when there is no AOF and no replica: it looks up the command
//! and copies the arguments before it asks. The core asks first. So do we, where the answer is certain.
//!
//! The state *quiet* is entered only on a standalone primary that, asked by `INFO`, has no AOF, no replica, no
//! backlog and no child process. From there a listener needs a fork first: a replica that attaches, and an AOF that is
//! switched on, start from a snapshot, and whatever is written before that is in it. So every fork, and every change of
//! role, ends the state at once; `INFO` may find it again later. In cluster mode slots may stream to other nodes in
//! ways `INFO` does not show: there it is never quiet.
//!
//! In the state quiet a write is still marked as a change of the data set (for the next RDB) by propagating the
//! command itself, which the server drops because nobody listens. Should all of the above be wrong one day, a replica
//! would get the module's command instead of plain ones, not nothing.

use std::os::raw::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

use super::context::Ctx;

static QUIET: AtomicBool = AtomicBool::new(false);
/// Ticks of the cron until `INFO` is asked again.
static PATIENCE: AtomicU32 = AtomicU32::new(0);

const TICKS_BETWEEN_QUESTIONS: u32 = 10;

pub fn nobody_listens() -> bool {
    QUIET.load(Relaxed)
}

/// Whether the server let us hear of forks, roles and loading.
pub fn start(ctx: Ctx) -> bool {
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

/// From the cron: asks again, now and then, whether anybody listens.
pub fn tick(ctx: Ctx) {
    if QUIET.load(Relaxed) {
        return;
    }
    let patience = PATIENCE.load(Relaxed);
    if patience > 0 {
        PATIENCE.store(patience - 1, Relaxed);
        return;
    }
    PATIENCE.store(TICKS_BETWEEN_QUESTIONS, Relaxed);
    let quiet = ctx.is_serving_primary() && !ctx.is_cluster() && !ctx.persists_commands() && has_no_replication(ctx);
    QUIET.store(quiet, Relaxed);
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
