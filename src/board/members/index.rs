//! How members of a coded board that do not fit their score are stored, and found by name.
//!
//! A member whose code is longer than its score has the element `\x02`, tail, name: it is *wrapped*. A tail shows
//! where it ends, so two members never have the same element. To find it by name, each such member has *index entries*, which
//! hold its tail: the elements `\x01`, number, name, with eight groups of the tail in each score. So a look-up is a
//! `ZSCORE` or two, a change of the tail changes entries in place, and nothing has to be searched for.
//!
//! Names that begin with the bytes 0 to 2 would be mistaken for a marker, an entry or a wrapped member. They are always
//! wrapped.

use super::code::{number_of, score_of, Tail};
use super::{Members, Stored};
use crate::error::{Error, Result};
use crate::zset::{Condition, SortedSet};

pub(super) const ENTRY_TAG: u8 = 1;
pub(super) const WRAPPED_TAG: u8 = 2;

const GROUPS: usize = 8;
/// The number of an entry is 2^61, these flags, the number of groups less one, and the groups.
const ENTRY: u64 = 1 << 61;
const FIRST: u64 = 1 << 60;
const MORE: u64 = 1 << 59;
const COUNT_SHIFT: u32 = 56;

fn joined<S: SortedSet>(parts: [&[u8]; 3]) -> S::Element {
    let mut short = [0; 128];
    let Some(element) = short.get_mut(..parts.iter().map(|part| part.len()).sum()) else {
        return S::Element::from(&parts.concat());
    };
    let mut rest = &mut *element;
    for part in parts {
        let (to, behind) = rest.split_at_mut(part.len());
        to.copy_from_slice(part);
        rest = behind;
    }
    S::Element::from(element)
}

/// Whether a name, as an element of its own, would look like a marker, an entry or a wrapped member.
pub(super) fn needs_wrapping(name: &[u8]) -> bool {
    matches!(name.first(), Some(0..=WRAPPED_TAG))
}

/// The tail and the name of a wrapped member.
pub fn split_wrapped(element: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = element.strip_prefix(&[WRAPPED_TAG])?;
    let last = rest.iter().position(|group| group & 1 == 0)?;
    rest.split_at_checked(last + 1)
}

pub(super) fn wrapped<S: SortedSet>(tail: &[u8], name: &[u8]) -> S::Element {
    joined::<S>([&[WRAPPED_TAG], tail, name])
}

pub(super) fn entry<S: SortedSet>(number: u8, name: &[u8]) -> S::Element {
    joined::<S>([&[ENTRY_TAG, number], name, &[]])
}

pub fn split_entry(element: &[u8]) -> Option<(u8, &[u8])> {
    match element {
        [ENTRY_TAG, number, name @ ..] => Some((*number, name)),
        _ => None,
    }
}

/// The numbers and scores of the entries for a tail.
pub fn entry_scores(tail: &[u8]) -> impl Iterator<Item = (u8, f64)> + '_ {
    let entries = tail.len().div_ceil(GROUPS);
    tail.chunks(GROUPS).zip(0..=u8::MAX).map(move |(groups, number)| {
        let packed =
            (0..GROUPS).fold(0, |packed, i| packed << 7 | groups.get(i).map_or(0, |group| u64::from(group >> 1)));
        let first = if number == 0 { FIRST } else { 0 };
        let more = if usize::from(number) + 1 < entries { MORE } else { 0 };
        let count = (groups.len() as u64 - 1) << COUNT_SHIFT;
        (number, score_of(ENTRY + first + more + count + packed))
    })
}

/// The lowest score of a first entry: as many members overflow as there are scores from here to `TOP_OF_INDEX`.
pub(super) fn lowest_first_entry() -> f64 {
    score_of(ENTRY + FIRST)
}

/// Adds the groups of an entry to a tail. Returns whether another entry follows; `None` if it is not an entry.
fn read_entry(number: u8, score: f64, tail: &mut Tail) -> Option<bool> {
    let bits = number_of(score)?.checked_sub(ENTRY).filter(|bits| *bits < ENTRY)?;
    let (first, more, count) = (bits & FIRST != 0, bits & MORE != 0, (bits >> COUNT_SHIFT & 7) as usize + 1);
    let groups = (0..GROUPS).map(|i| (bits >> (7 * (GROUPS - 1 - i)) & 0x7f) as u8);
    let is_padded_with_zeros = groups.clone().skip(count).all(|group| group == 0);
    if first != (number == 0) || more && count < GROUPS || !is_padded_with_zeros {
        return None;
    }
    tail.extend(groups.take(count).map(|group| group << 1 | 1));
    Some(more)
}

/// Whether an element has the form of an entry.
pub(super) fn is_entry(element: &[u8], score: f64) -> bool {
    split_entry(element).is_some_and(|(number, _)| read_entry(number, score, &mut Tail::new()).is_some())
}

pub(super) enum Entries {
    Absent,
    Tail(Tail),
    /// One is missing, or is not an entry.
    Damaged,
}

pub(super) fn read_entries<S: SortedSet>(set: &S, name: &[u8]) -> Entries {
    let mut tail = Tail::new();
    for number in 0..=u8::MAX {
        let more = match set.score(&entry::<S>(number, name)) {
            None if number == 0 => return Entries::Absent,
            score => score.and_then(|score| read_entry(number, score, &mut tail)),
        };
        match more {
            Some(true) => {}
            Some(false) => {
                if let Some(last) = tail.last_mut() {
                    *last &= !1;
                }
                return Entries::Tail(tail);
            }
            None => break,
        }
    }
    Entries::Damaged
}

/// Whether an element is an entry, the first or a later one, of a member that is there.
pub(super) fn is_entry_of_member<S: SortedSet>(set: &S, element: &[u8], score: f64) -> bool {
    let Some((_, name)) = split_entry(element).filter(|_| is_entry(element, score)) else { return false };
    matches!(read_entries(set, name), Entries::Tail(tail) if set.score(&wrapped::<S>(&tail, name)).is_some())
}

/// The error for a name whose entries and elements disagree.
#[cold]
pub(super) fn misindexed(name: &[u8]) -> Error {
    Error::index_differs(name)
}

/// The wrapped element that the entries of a name lead to.
pub(super) fn look_up<S: SortedSet>(set: &S, name: &[u8]) -> Result<Option<Stored<S::Element>>> {
    let tail = match read_entries(set, name) {
        Entries::Absent => return Ok(None),
        Entries::Damaged => return Err(misindexed(name)),
        Entries::Tail(tail) => tail,
    };
    let element = wrapped::<S>(&tail, name);
    match set.score(&element) {
        Some(score) => Ok(Some(Stored { element, name_at: 1 + tail.len(), score })),
        None => Err(misindexed(name)),
    }
}

impl<S: SortedSet> Members<S> {
    /// Replaces the entries of an old element by those of a new one. Adds before it removes, so that the key never vanishes.
    pub(super) fn replace_entries(&mut self, old: Option<&Stored<S::Element>>, new: Option<&Stored<S::Element>>) {
        // An element that a core command wrote may have a longer tail than entries can hold.
        let count = |stored: Option<&Stored<S::Element>>| {
            stored.map_or(0, |stored| stored.tail().len().div_ceil(GROUPS).min(256))
        };
        let (had, has) = (count(old), count(new));
        if let Some(new) = new {
            for (number, score) in entry_scores(new.tail()) {
                let entry = entry::<S>(number, new.name());
                self.set.put(&entry, score, Condition::Any);
            }
        }
        if let Some(old) = old {
            for number in has..had {
                let entry = entry::<S>(number as u8, old.name());
                self.set.remove(&entry);
            }
        }
        self.entries = self.entries.map(|entries| (entries + has as u64).saturating_sub(had as u64));
    }

    /// Checks that a wrapped element is the one that the entries of its name lead to.
    pub(super) fn check_entries(&self, element: &S::Element) -> Result<()> {
        let Some((tail, name)) = self.split(element) else { return Ok(()) };
        match read_entries(&self.set, name) {
            Entries::Tail(own) if *own == *tail => Ok(()),
            _ => Err(misindexed(name)),
        }
    }
}
