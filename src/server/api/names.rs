//! A small cache of strings that calls need again and again: names of limiters' windows, ends of ranges.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use redis_module::raw::RedisModuleString;

use super::text::Text;

const PLACES: usize = 16;

/// The cache holds a reference to each. Only the main thread uses it.
static KEPT: [AtomicPtr<RedisModuleString>; PLACES] = [const { AtomicPtr::new(ptr::null_mut()) }; PLACES];

/// A string of these bytes. Another string that hashes to the same place replaces it.
pub fn kept(bytes: &[u8]) -> Text<'static> {
    // Names of windows differ in length, and in the digits in their middle.
    let middle = bytes.get(bytes.len() / 2).copied().map_or(0, usize::from);
    let Some(place) = KEPT.get((bytes.len() * 3 + middle) % PLACES) else { return Text::new(bytes) };
    let known = place.load(Relaxed);
    if !known.is_null() {
        // SAFETY: the reference of the place keeps it alive.
        let known = unsafe { Text::share(known) };
        if known.bytes() == bytes {
            return known;
        }
    }
    let made = Text::new(bytes);
    give_up(place.swap(made.clone().into_raw(), Relaxed));
    made
}

/// Frees them, before the module is unloaded.
pub fn forget_names() {
    KEPT.iter().for_each(|place| give_up(place.swap(ptr::null_mut(), Relaxed)));
}

fn give_up(old: *mut RedisModuleString) {
    // SAFETY: the cache held the reference, and no longer has the string.
    drop(unsafe { Text::take(old) });
}
