//! Which family of servers this is: asked for speed alone, never for what a command does.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::context::Ctx;

static VALKEY: AtomicBool = AtomicBool::new(false);

/// Finds out, once.
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

/// Valkey finds a rank by climbing up from the element. A look for the element's neighbours came down another way, so on
/// a large board every step up waits for memory.
pub fn climbs_for_ranks() -> bool {
    VALKEY.load(Relaxed)
}
