//! A few elements of a sorted set, removed one by one.

use std::ptr;

use smallvec::SmallVec;

use crate::server::api::{Key, Text};

/// For more, one call of the core is cheaper.
const FEW: usize = 16;

/// The elements with scores from 0 up to and including this one, `None` if there are more than a few. They are removed
/// later: a sorted set must not change under an iterator.
pub fn elements_through<'a>(key: &Key, micros: i64) -> Option<SmallVec<[Text<'a>; FEW]>> {
    let mut elements = SmallVec::new();
    // SAFETY: the key is an open sorted set, which nothing changes while the iterator lives; elements are ours.
    unsafe {
        api!(RedisModule_ZsetFirstInScoreRange)(key.raw(), 0.0, micros as f64, 0, 0);
        while elements.len() <= FEW && api!(RedisModule_ZsetRangeEndReached)(key.raw()) == 0 {
            elements.extend(Text::take(api!(RedisModule_ZsetRangeCurrentElement)(key.raw(), ptr::null_mut())));
            api!(RedisModule_ZsetRangeNext)(key.raw());
        }
        api!(RedisModule_ZsetRangeStop)(key.raw());
    }
    (elements.len() <= FEW).then_some(elements)
}

pub fn remove(key: &Key, element: &Text) {
    // SAFETY: the key is a sorted set, opened for writing.
    unsafe { api!(RedisModule_ZsetRem)(key.raw(), element.raw(), ptr::null_mut()) };
}
