//! Whether this server is Redis or Valkey. This only decides which way is faster, never what a command does.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::context::Ctx;

static VALKEY: AtomicBool = AtomicBool::new(false);

/// Asks the server, once.
pub fn find_family(ctx: Ctx) {
    // SAFETY: context and names are alive; what the server made is freed once.
    unsafe {
        let info = api!(RedisModule_GetServerInfo)(ctx.raw(), c"server".as_ptr());
        if !info.is_null() {
            let version = api!(RedisModule_ServerInfoGetFieldC)(info, c"valkey_version".as_ptr());
            VALKEY.store(!version.is_null(), Relaxed);
            api!(RedisModule_FreeServerInfo)(ctx.raw(), info);
        }
    }
}

/// Valkey computes a rank by climbing up the skiplist from the element, through nodes that finding the element did not
/// touch. So on a large board every step up is a cache miss.
pub fn climbs_for_ranks() -> bool {
    VALKEY.load(Relaxed)
}
