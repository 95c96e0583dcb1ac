//! Whether a sorted set changed between two steps of ours.
//!
//! Only while something is watched do events of sorted sets concern us: the server is asked for them the first time, and
//! where it can be asked to stop, it is. (Where not, every change of a sorted set costs one more call that returns at once,
//! until the module is loaded anew.)

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};

use super::context::Ctx;
use super::text::Text;

/// Everything that may change what a sorted set holds, or put another in its place.
const CLASSES: c_int = raw::REDISMODULE_NOTIFY_ZSET
    | raw::REDISMODULE_NOTIFY_GENERIC
    | raw::REDISMODULE_NOTIFY_EXPIRED
    | raw::REDISMODULE_NOTIFY_EVICTED;

struct Watched {
    db: c_int,
    key: Box<[u8]>,
    changed: Arc<AtomicBool>,
}

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());
/// Events concern somebody: asked for every one of them.
static ANY: AtomicBool = AtomicBool::new(false);
static SUBSCRIBED: AtomicBool = AtomicBool::new(false);

fn watched() -> MutexGuard<'static, Vec<Watched>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub struct Watch {
    changed: Arc<AtomicBool>,
}

impl Watch {
    /// Watches a key of the selected database from now on. `None` if the server does not let us.
    pub fn begin(ctx: Ctx, key: &Text) -> Option<Watch> {
        if !SUBSCRIBED.swap(true, Ordering::Relaxed) {
            // SAFETY: the context is alive, and the callback lives as long as the module.
            let status = unsafe { api!(RedisModule_SubscribeToKeyspaceEvents)(ctx.raw(), CLASSES, Some(on_event)) };
            if status != raw::REDISMODULE_OK as c_int {
                SUBSCRIBED.store(false, Ordering::Relaxed);
                return None;
            }
        }
        let changed = Arc::new(AtomicBool::new(false));
        watched().push(Watched { db: ctx.db(), key: key.bytes().into(), changed: Arc::clone(&changed) });
        ANY.store(true, Ordering::Relaxed);
        Some(Watch { changed })
    }

    /// Whether something happened to the key since this was asked last.
    pub fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut watched = watched();
        watched.retain(|other| !Arc::ptr_eq(&other.changed, &self.changed));
        ANY.store(!watched.is_empty(), Ordering::Relaxed);
    }
}

/// Asks the server to spare us the events, if it can, once nobody watches anything.
pub fn rest(ctx: Ctx) {
    if ANY.load(Ordering::Relaxed) || !SUBSCRIBED.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: reads a pointer that was set when the module was loaded; the context is alive, and no event is being told.
    unsafe {
        if let Some(unsubscribe) = raw::RedisModule_UnsubscribeFromKeyspaceEvents {
            unsubscribe(ctx.raw(), CLASSES, Some(on_event));
            SUBSCRIBED.store(false, Ordering::Relaxed);
        }
    }
}

/// For what the server announces without naming keys: databases that change places.
pub fn everything_changed() {
    watched().iter().for_each(|watched| watched.changed.store(true, Ordering::Relaxed));
}

unsafe extern "C" fn on_event(
    ctx: *mut RedisModuleCtx,
    _: c_int,
    _: *const c_char,
    key: *mut RedisModuleString,
) -> c_int {
    if ANY.load(Ordering::Relaxed) {
        // SAFETY: the server passes a live context and key.
        let (db, key) = unsafe { (Ctx::new(ctx).db(), Text::borrow(key)) };
        for watched in watched().iter().filter(|watched| watched.db == db && *watched.key == *key.bytes()) {
            watched.changed.store(true, Ordering::Relaxed);
        }
    }
    raw::REDISMODULE_OK as c_int
}
