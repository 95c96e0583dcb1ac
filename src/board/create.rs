//! Sets the schema of a board, and changes the parts of it that may change.
//!
//! Both write another marker and trim the board; members keep their elements. So a new schema is accepted only if the
//! elements that are there already decode under it.

use super::code::TOP_OF_INDEX;
use super::difference::other_schema;
use super::index::{is_entry, is_entry_of_member, split_wrapped};
use super::marker::marker_bytes;
use super::periods::is_period;
use super::schema::{Rules, Schema, Ties};
use super::schema_text::Creation;
use super::Board;
use crate::calendar::HOUR_MS;
use crate::error::{Error, ErrorKind, Result};
use crate::zset::{Condition, Direction, SortedSet};

/// Up to this many elements are all checked, which takes a few milliseconds.
const MAX_FULLY_CHECKED: u64 = 20_000;
/// If there are more, this many are checked, evenly spaced.
const SAMPLES: u64 = 1_000;

impl<S: SortedSet> Board<S> {
    /// Sets the schema of the board with this key. If it has this schema already, nothing changes. Tie times are counted
    /// from `now`, unless the client says otherwise.
    pub fn create(&mut self, Creation { rules, since, adopt }: Creation, key: &[u8], now: i64) -> Result<()> {
        if self.marker.is_some() {
            let own = self.schema.rules.seen_by(key);
            let is_same = own == rules && since.is_none_or(|since| since == self.since);
            return if is_same { Ok(()) } else { Err(other_schema((&own, self.since()), (&rules, since))) };
        }
        let schema = Schema::new(rules);
        if !self.store.is_empty() {
            if adopt && since.is_none() && schema.rules.ties != Ties::Shared {
                return Err(Error::adopt_without_since());
            }
            self.check_adoption(&schema, since.unwrap_or(0), adopt)?;
            self.check_shard(&schema)?;
            if schema.layout.is_coded() {
                self.entries = None;
            }
        }
        self.rewrite(&schema.rules, since.unwrap_or_else(|| default_since(now)));
        match self.trim(schema.rules.keep.unwrap_or(u64::MAX), false) {
            // An adopted board may be damaged and its schema still be right. RANK.VERIFY reports the damage.
            Err(error) if error.kind() == ErrorKind::Damaged => Ok(()),
            trimmed => trimmed.map(drop),
        }
    }

    fn check_adoption(&mut self, schema: &Schema, since: i64, adopt: bool) -> Result<()> {
        let card = self.store.len();
        let lowest = self.store.count_below(f64::NEG_INFINITY, true)?;
        if schema.layout.is_plain() {
            let highest = card.saturating_sub(self.store.count_below(f64::INFINITY, false)?);
            if lowest + highest > 0 {
                return Err(Error::infinite_scores());
            }
            // A coded board whose marker was lost: its scores are not values.
            return match self.store.first(..=TOP_OF_INDEX) {
                Some((element, score)) if is_entry_of_member(&self.store, element.as_ref(), score) => {
                    Err(Error::adopt_undecodable(element.as_ref()))
                }
                _ => Ok(()),
            };
        }
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
        let below = if schema.layout.is_coded() { self.store.count_below(TOP_OF_INDEX, true)? } else { lowest };
        self.check_elements(0, below, |element, score| {
            good(schema.layout.is_coded() && is_entry(element, score), element)
        })?;
        self.check_elements(below, card, |element, score| {
            good(schema.layout.decode(score, element, since).is_some(), element)
        })
    }

    /// Whether the members belong to the shard that the board becomes.
    fn check_shard(&mut self, schema: &Schema) -> Result<()> {
        let Some(shard) = schema.rules.shard else { return Ok(()) };
        let is_coded = schema.layout.is_coded();
        let below = if is_coded { self.store.count_below(TOP_OF_INDEX, true)? } else { 0 };
        let key = self.store.key().clone();
        self.check_elements(below, self.store.len(), |element, _| {
            let wrapped = split_wrapped(element).filter(|_| is_coded);
            shard.check(wrapped.map_or(element, |(_, name)| name), key.as_ref())
        })
    }

    /// Checks the elements between two indexes: all of them, or both ends and evenly spaced ones.
    fn check_elements(&mut self, first: u64, end: u64, check: impl Fn(&[u8], f64) -> Result<()>) -> Result<()> {
        let count = end.saturating_sub(first);
        if count == 0 {
            return Ok(());
        }
        if count <= MAX_FULLY_CHECKED {
            let mut walk = self.store.walk(first, Direction::Up)?;
            for _ in 0..count {
                let Some((element, score)) = walk.next_element()? else { break };
                check(element.as_ref(), score)?;
            }
            return Ok(());
        }
        for sample in 0..=SAMPLES {
            let index = first + (u128::from(count - 1) * u128::from(sample) / u128::from(SAMPLES)) as u64;
            if let Some((element, score)) = self.store.at(index)? {
                check(element.as_ref(), score)?;
            }
        }
        Ok(())
    }

    /// Gives the board other rules, with the same fields and ties.
    pub fn alter(&mut self, rules: Rules) -> Result<()> {
        // Check that members can be removed before the marker says that they are.
        let keep = rules.keep.unwrap_or(u64::MAX);
        if self.members()? > keep {
            self.check_leavers(keep)?;
        }
        if rules != self.schema.rules {
            self.rewrite(&rules, self.since);
        }
        self.trim(keep, false).map(drop)
    }

    /// Writes another marker. Adds before it removes, so that the key never vanishes in between.
    pub fn rewrite(&mut self, rules: &Rules, since: i64) {
        let marker = S::Element::from(&marker_bytes(rules, since));
        self.store.put(&marker, f64::NEG_INFINITY, Condition::Any);
        if let Some(old) = self.marker.replace(marker) {
            self.store.remove(&old);
        }
        self.assume(Schema::new(rules.clone()), since);
    }
}

/// What tie times of an emptied board are counted from. A period keeps its start.
pub fn renewed_since(key: &[u8], since: i64, now: i64) -> i64 {
    if is_period(key, since) {
        since
    } else {
        default_since(now)
    }
}

/// What tie times of a new board are counted from: now, rounded down to the hour, so that clients which create the same
/// board at about the same time write the same marker.
pub fn default_since(now: i64) -> i64 {
    now.max(0) / HOUR_MS * HOUR_MS
}
