//! The index of a spilled board: an entry at -inf for each member, found by the member's name.
//!
//! An entry is a tag, the length of the name, the name, and the bytes that are spilled in front of the member. Entries
//! sort by name, after the marker and before the members, both by score and by bytes. So an entry is found by its bytes,
//! with a search that is meant for sorted sets of equal scores. A foreign element with a low first byte can mislead that
//! search, so what it finds is proven here, never assumed.

use super::layout::MEMBER_TAG;
use super::store::{Direction, Store};
use super::{Board, Located};
use crate::error::{Damage, Error, Result, Shown};

pub(super) const ENTRY_TAG: u8 = 1;
const LENGTH_BYTES: usize = 4;
const SLOT_BYTES: usize = 8;

/// Most elements are shorter than this.
const SHORT: usize = 128;

/// Calls `make` with the concatenated parts.
#[inline]
pub(super) fn joined<T>(parts: [&[u8]; 3], make: impl FnOnce(&[u8]) -> T) -> T {
    let [a, b, c] = parts;
    let (first, second) = (a.len(), a.len() + b.len());
    let mut short = [0; SHORT];
    match short.get_mut(..second + c.len()) {
        Some(bytes) => {
            bytes[..first].copy_from_slice(a);
            bytes[first..second].copy_from_slice(b);
            bytes[second..].copy_from_slice(c);
            make(bytes)
        }
        None => make(&parts.concat()),
    }
}

/// What comes before the name in its entry.
pub(super) fn entry_start(name: &[u8]) -> [u8; 1 + LENGTH_BYTES] {
    let [a, b, c, d] = u32::try_from(name.len()).unwrap_or(u32::MAX).to_be_bytes();
    [ENTRY_TAG, a, b, c, d]
}

/// The name and the spilled bytes of an entry; `None` if it is not an entry.
pub(super) fn split_entry(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = entry.strip_prefix(&[ENTRY_TAG])?.split_first_chunk::<LENGTH_BYTES>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

/// Whether an element at -inf is an entry of some spilled board.
pub(super) fn looks_like_entry(element: &[u8]) -> bool {
    split_entry(element).is_some_and(|(_, spill)| !spill.is_empty() && spill.len().is_multiple_of(SLOT_BYTES))
}

impl<S: Store> Board<S> {
    /// The entry that belongs to a member's element.
    pub(super) fn entry_of(&self, element: &S::Name) -> S::Name {
        let (spill, name) = element.as_ref().split_at_checked(self.schema.layout.spill_len()).unwrap_or_default();
        let spill = spill.get(1..).unwrap_or_default();
        joined([&entry_start(name), name, spill], |entry| self.store.name(entry))
    }

    /// The member's element that an entry leads to.
    pub(super) fn element_of(&self, name: &[u8], spill: &[u8]) -> S::Name {
        joined([&[MEMBER_TAG], spill, name], |element| self.store.name(element))
    }

    /// Whether an entry at -inf has the form of this board's.
    pub(super) fn is_entry(&self, element: &[u8]) -> bool {
        let length = self.schema.layout.spill_len().saturating_sub(1);
        self.schema.layout.spills() && split_entry(element).is_some_and(|(_, spill)| spill.len() == length)
    }

    /// The element of a member of a spilled board.
    pub(super) fn look_up(&self, member: &S::Name) -> Result<Option<Located<S::Name>>> {
        joined([&entry_start(member.as_ref()), member.as_ref(), &[]], |start| self.look_up_from(start, member))
    }

    fn look_up_from(&self, start: &[u8], member: &S::Name) -> Result<Option<Located<S::Name>>> {
        let damaged = || Error::Damaged(Damage::Index(Shown::new(member.as_ref())));
        let (mut first, mut twice) = (None, false);
        self.store.walk_bytes(start, &mut |element: S::Name, score: f64| {
            let is_own = score == f64::NEG_INFINITY && element.as_ref().starts_with(start);
            if first.is_some() {
                twice = is_own;
                return false;
            }
            first = Some((element, score, is_own));
            is_own
        });
        let Some((entry, _, true)) = first else {
            return if self.is_proven_absent(first) { Ok(None) } else { Err(damaged()) };
        };
        let spill = entry.as_ref().get(start.len()..).unwrap_or_default();
        if twice || spill.len() + 1 != self.schema.layout.spill_len() {
            return Err(damaged());
        }
        let element = self.element_of(member.as_ref(), spill);
        let score = self.store.score(&element).filter(|score| *score > f64::NEG_INFINITY);
        score.map(|score| Some((element, score, Some(entry)))).ok_or_else(damaged)
    }

    /// The spilled bytes of each entry that a name has.
    pub(super) fn entries_of(&self, name: &S::Name, visit: &mut dyn FnMut(&[u8])) {
        let start = [&entry_start(name.as_ref()), name.as_ref()].concat();
        self.store.walk_bytes(&start, &mut |entry: S::Name, score: f64| {
            let spill = entry.as_ref().strip_prefix(start.as_slice()).filter(|_| score == f64::NEG_INFINITY);
            spill.filter(|spill| spill.len() + 1 == self.schema.layout.spill_len()).map(&mut *visit);
            spill.is_some()
        });
    }

    /// Whether a search for an entry that ended on `found` cannot have missed any.
    ///
    /// A search moves on only over elements with lower bytes than the entry's. So it is right if it never left the
    /// elements at -inf, which are in byte order: if it ended on one, or on the first element behind all of them.
    pub(super) fn is_proven_absent(&self, found: Option<(S::Name, f64, bool)>) -> bool {
        let first_member = || self.store.next(f64::NEG_INFINITY, Direction::Up);
        match found {
            Some((_, f64::NEG_INFINITY, _)) => true,
            Some((element, ..)) => first_member().is_some_and(|(first, _)| first.as_ref() == element.as_ref()),
            None => first_member().is_none(),
        }
    }
}
