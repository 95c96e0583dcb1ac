//! A quick no to "is this key one of ours", for events of keys that are not.

use std::sync::atomic::{AtomicU64, Ordering};

const WORDS: usize = 1 << 12;
const BITS: u32 = (WORDS * u64::BITS as usize).trailing_zeros();

/// Bits for keys that were entered: 32 KB, which say no to nine of ten strangers beside 20,000 keys. Who is not told no
/// has to look: it is no secret which keys share a bit, so nothing but a look-up may depend on it.
pub struct Filter {
    words: [AtomicU64; WORDS],
}

impl Filter {
    pub const fn new() -> Filter {
        Filter { words: [const { AtomicU64::new(0) }; WORDS] }
    }

    fn place(&self, key: &[u8]) -> Option<(&AtomicU64, u64)> {
        let bit = hash(key) >> (u64::BITS - BITS);
        let word = self.words.get((bit / u64::from(u64::BITS)) as usize)?;
        Some((word, 1 << (bit % u64::from(u64::BITS))))
    }

    pub fn enter(&self, key: &[u8]) {
        if let Some((word, bit)) = self.place(key) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// False only for a key that was never entered since the filter was emptied.
    pub fn may_have(&self, key: &[u8]) -> bool {
        self.place(key).is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    pub fn empty(&self) {
        self.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

/// Eight bytes at a time; a table that must withstand chosen keys would need a better one.
fn hash(key: &[u8]) -> u64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let (chunks, rest) = key.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let words = chunks.iter().chain(std::iter::once(&last)).map(|bytes| u64::from_le_bytes(*bytes));
    words.fold(key.len() as u64, |hash, word| (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_entered_is_never_denied_and_most_strangers_are() {
        let filter = Filter::new();
        let key = |kind: &str, i: u32| format!("{kind}:{i}").into_bytes();
        for i in 0..20_000 {
            filter.enter(&key("board", i));
        }
        filter.enter(b"");
        assert!((0..20_000).all(|i| filter.may_have(&key("board", i))) && filter.may_have(b""));
        for kind in ["board", "session", "a-rather-long-name-of-a-key-in-some-application"] {
            let strangers = (20_000..120_000).filter(|i| filter.may_have(&key(kind, *i))).count();
            assert!(strangers < 15_000, "{strangers} of 100,000 keys like {kind} share a bit");
        }
        filter.empty();
        assert!((0..20_000).all(|i| !filter.may_have(&key("board", i))));
    }
}
