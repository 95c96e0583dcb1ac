//! Sets the schema of a board, and changes the parts of it that may change.
//!
//! Both write another marker and trim the board; members stay as they are stored. So a new schema is accepted only if the
//! members that are there already decode under it.

use super::difference::other_schema;
use super::periods::is_period;
use super::schema::{Rules, Schema, Ties};
use super::schema_text::Creation;
use super::{Board, Stored};
use crate::calendar::HOUR_MS;
use crate::error::{Error, ErrorKind, Result};
use crate::zset::SortedSet;

impl<S: SortedSet> Board<S> {
    /// Sets the schema of the board with this key. If it has this schema already, nothing changes. Tie times are counted
    /// from `now`, unless the client says otherwise. Returns the members that `KEEP` removed, if they are wanted.
    pub fn create(
        &mut self,
        Creation { rules, since, adopt }: Creation,
        key: &[u8],
        now: i64,
        wanted: bool,
    ) -> Result<Vec<Stored<S::Element>>> {
        if self.schema_text().is_some() {
            self.schema().rules.periods.check_owner(key)?;
            let own = self.schema().rules.seen_by(key);
            let is_same = own == rules && since.is_none_or(|since| since == self.members.since());
            return if is_same { Ok(Vec::new()) } else { Err(other_schema((&own, self.since()), (&rules, since))) };
        }
        let schema = Schema::new(rules);
        if self.exists() {
            if adopt && since.is_none() && schema.rules.ties != Ties::Shared {
                return Err(Error::adopt_without_since());
            }
            self.members.check_adoption(&schema, since.unwrap_or(0), adopt)?;
        }
        self.set_rules(&schema.rules, since.unwrap_or_else(|| default_since(now)));
        match self.trim(schema.rules.keep.unwrap_or(u64::MAX), wanted) {
            // An adopted board may be damaged and its schema still be right. RANK.VERIFY reports the damage.
            Err(error) if error.kind() == ErrorKind::Damaged => Ok(Vec::new()),
            trimmed => trimmed.map(|(_, removed)| removed),
        }
    }

    /// Gives the board other rules, with the same fields and ties. Returns the members that had to go, if they are wanted.
    pub fn alter(&mut self, rules: Rules, wanted: bool) -> Result<Vec<Stored<S::Element>>> {
        // Check that members can be removed before the marker says that they are.
        let keep = rules.keep.unwrap_or(u64::MAX);
        let removed = self.members.len()?.saturating_sub(keep);
        self.members.check_removable(removed)?;
        if rules != self.schema().rules {
            self.set_rules(&rules, self.members.since());
        }
        self.trim(keep, wanted).map(|(_, removed)| removed)
    }

    /// Writes another marker.
    pub fn set_rules(&mut self, rules: &Rules, since: i64) {
        self.members.set_rules(rules, since);
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
