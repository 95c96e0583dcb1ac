//! Shards: the keys of a board that is spread over a cluster, and which of them a member belongs to.
//!
//! The slots of a cluster are divided into `n` equal parts, and the key of shard `i` is in part `i`. So the shards are
//! spread over the nodes in the same way as the slots.

use crate::error::{Error, Result};
use crate::slot::{crc16, slot_of_tag, SLOTS};

/// The fewest shards of a board.
pub const FEWEST: u16 = 2;
/// The most shards of a board.
pub const MOST: u16 = 1024;

/// One of the shards of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 0.
    index: u16,
    /// Of how many, a power of two.
    count: u16,
}

/// The number of shards of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(u16);

impl Count {
    /// `None` unless the number is a power of two from `FEWEST` to `MOST`.
    pub fn new(count: i64) -> Option<Count> {
        let count = u16::try_from(count).ok()?;
        (count.is_power_of_two() && (FEWEST..=MOST).contains(&count)).then_some(Count(count))
    }

    /// The number itself.
    pub fn get(self) -> u16 {
        self.0
    }

    /// All shards, in order.
    pub fn shards(self) -> impl Iterator<Item = Shard> {
        (0..self.0).map(move |index| Shard { index, count: self.0 })
    }

    /// The shard at an index from 0.
    pub fn shard(self, index: i64) -> Option<Shard> {
        let index = u16::try_from(index).ok().filter(|index| *index < self.0)?;
        Some(Shard { index, count: self.0 })
    }

    /// The shard that a member belongs to. It depends on all bytes: braces in a member are not a hash tag.
    pub fn shard_of(self, member: &[u8]) -> Shard {
        Shard { index: crc16(member) & (self.0 - 1), count: self.0 }
    }
}

impl Shard {
    /// Which one, from 0.
    pub fn index(self) -> u16 {
        self.index
    }

    /// Of how many.
    pub fn count(self) -> u16 {
        self.count
    }

    /// Whether a member belongs here.
    pub fn has(self, member: &[u8]) -> bool {
        Count(self.count).shard_of(member) == self
    }

    /// The hash tag of its key: the smallest number whose slot is in the part of this shard.
    pub fn tag(self) -> u16 {
        let width = usize::from(MOST / self.count);
        let first = usize::from(self.index) * width;
        // The table is for the largest number of shards. A larger part consists of several of these: take the
        // smallest.
        FINEST_TAGS.iter().skip(first).take(width).copied().min().unwrap_or_default()
    }

    /// The key of this shard, for a board with this name.
    pub fn key(self, name: &[u8]) -> Vec<u8> {
        [name, self.suffix().as_bytes()].concat()
    }

    /// The part of the key after the name of the board.
    pub fn suffix(self) -> String {
        format!(":{}:{{{}}}", self.count, self.tag())
    }

    /// The name of the board, if this is a key of the shard.
    pub fn name_in(self, key: &[u8]) -> Option<&[u8]> {
        key.strip_suffix(self.suffix().as_bytes()).filter(|name| is_name(name))
    }

    /// Returns an error if a member belongs to another shard. `key` is the key of this shard.
    pub fn check(self, member: &[u8], key: &[u8]) -> Result<()> {
        if self.has(member) {
            return Ok(());
        }
        let right = Count(self.count).shard_of(member);
        Err(Error::other_shard(member, right, self.name_in(key)))
    }
}

/// Whether a name can be used: braces would change the hash tag of the key.
pub fn is_name(name: &[u8]) -> bool {
    !name.iter().any(|byte| matches!(byte, b'{' | b'}'))
}

/// For each of `MOST` equal parts of all slots, the smallest number whose slot, as decimal digits, is in this part.
static FINEST_TAGS: [u16; MOST as usize] = finest_tags();

const fn finest_tags() -> [u16; MOST as usize] {
    const NONE: u16 = u16::MAX;
    let mut tags = [NONE; MOST as usize];
    let (mut number, mut left) = (0, MOST);
    while left > 0 {
        let part = (slot_of_tag(number) / (SLOTS / MOST)) as usize;
        if tags[part] == NONE {
            tags[part] = number;
            left -= 1;
        }
        number += 1;
    }
    tags
}

#[cfg(test)]
mod tests;
