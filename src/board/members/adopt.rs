//! Whether the elements of a sorted set that has no schema yet decode under one.

use super::code::TOP_OF_INDEX;
use super::index::{is_entry, is_entry_of_member, split_wrapped};
use super::Members;
use crate::board::schema::Schema;
use crate::error::{Error, Result};
use crate::zset::{Direction, SortedSet};

/// Up to this many elements are all checked, which takes a few milliseconds.
const MAX_FULLY_CHECKED: u64 = 20_000;
/// If there are more, this many are checked, evenly spaced.
const SAMPLES: u64 = 1_000;

impl<S: SortedSet> Members<S> {
    /// Checks that the elements are what they would be under a schema. With `adopt` any schema may be tried.
    pub fn check_adoption(&mut self, schema: &Schema, since: i64, adopt: bool) -> Result<()> {
        let card = self.set.len();
        let lowest = self.set.count_below(f64::NEG_INFINITY, true)?;
        let is_coded = schema.layout.is_coded();
        let below = if is_coded { self.set.count_below(TOP_OF_INDEX, true)? } else { lowest };
        if schema.layout.is_plain() {
            let highest = card.saturating_sub(self.set.count_below(f64::INFINITY, false)?);
            if lowest + highest > 0 {
                return Err(Error::infinite_scores());
            }
            // A coded board whose marker was lost: its scores are not values.
            if let Some((element, score)) = self.set.first(..=TOP_OF_INDEX) {
                if is_entry_of_member(&self.set, element.as_ref(), score) {
                    return Err(Error::adopt_undecodable(element.as_ref()));
                }
            }
        } else {
            if !adopt {
                return Err(Error::has_members());
            }
            let good = |is_good: bool, element: &[u8]| {
                if is_good {
                    Ok(())
                } else {
                    Err(Error::adopt_undecodable(element))
                }
            };
            self.check_elements(0, below, |element, score| good(is_coded && is_entry(element, score), element))?;
            self.check_elements(below, card, |element, score| {
                good(schema.layout.decode(score, element, since).is_some(), element)
            })?;
        }
        // The members belong to the shard that the board becomes.
        if let Some(shard) = schema.rules.shard {
            let key = self.set.key().clone();
            self.check_elements(below, card, |element, _| {
                let wrapped = split_wrapped(element).filter(|_| is_coded);
                shard.check(wrapped.map_or(element, |(_, name)| name), key.as_ref())
            })?;
        }
        if is_coded {
            self.entries = None;
        }
        Ok(())
    }

    /// Checks the elements between two indexes: all of them, or both ends and evenly spaced ones.
    fn check_elements(&mut self, first: u64, end: u64, check: impl Fn(&[u8], f64) -> Result<()>) -> Result<()> {
        let count = end.saturating_sub(first);
        if count == 0 {
            return Ok(());
        }
        if count <= MAX_FULLY_CHECKED {
            let mut walk = self.set.walk(first, Direction::Up)?;
            for _ in 0..count {
                let Some((element, score)) = walk.next_element()? else { break };
                check(element.as_ref(), score)?;
            }
            return Ok(());
        }
        for sample in 0..=SAMPLES {
            let index = first + (u128::from(count - 1) * u128::from(sample) / u128::from(SAMPLES)) as u64;
            if let Some((element, score)) = self.set.at(index)? {
                check(element.as_ref(), score)?;
            }
        }
        Ok(())
    }
}
