//! What a board needs of the server: one sorted set, and the companions beside it.
//!
//! `server::ZSet` implements it on an open key; `model::Model` in memory, for tests.

use super::marker::Id;
use crate::error::Result;

/// What a write may do to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Only {
    #[default]
    Any,
    New,
    Existing,
    /// New, or existing with a lower score.
    Raise,
    /// New, or existing with a higher score.
    Lower,
    ExistingRaise,
    ExistingLower,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    Added,
    Changed,
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Up,
    Down,
}

/// How the `members` companion stands to the sorted set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Companion {
    Absent,
    /// It carries the board's id; so many entries beside it.
    Stamped(u64),
    /// Left by another board under this name.
    Foreign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Members,
    Data,
}

/// Elements and their scores.
pub type Elements<N> = Vec<(N, f64)>;

/// A field of a companion and what it holds: a member's, unless somebody else wrote it.
pub type Entry = (Vec<u8>, Vec<u8>);

/// Indexes count from the lowest element, the marker included. Writes are recorded, and propagated and announced once
/// the command is over.
pub trait Store {
    type Name: AsRef<[u8]> + Clone;

    fn name(&self, bytes: &[u8]) -> Self::Name;

    fn card(&self) -> u64;
    fn score(&self, element: &Self::Name) -> Option<f64>;
    fn index(&self, element: &Self::Name) -> Result<Option<u64>>;
    /// How many elements have a score below (`inclusive`: or at) this one.
    fn count_below(&self, score: f64, inclusive: bool) -> Result<u64>;
    /// The same, where `own` is known to have this score.
    fn count_below_own(&self, _own: &Self::Name, score: f64, inclusive: bool) -> Result<u64> {
        self.count_below(score, inclusive)
    }
    fn at(&self, index: u64) -> Result<Option<(Self::Name, f64)>>;
    /// The nearest score strictly above or below.
    fn next_score(&self, score: f64, direction: Direction) -> Option<f64>;
    /// How many elements have exactly this score; counts up to `most`.
    fn count_at(&self, score: f64, most: u64) -> u64;
    /// Whether any element has a score between these two, and is neither.
    fn any_between(&self, low: f64, high: f64) -> bool;
    /// The first element at -inf, and whether there are more.
    fn lowest(&self) -> Option<(Self::Name, bool)>;
    /// The elements with exactly this score, from the highest (`Down`) or lowest (`Up`) on, until `visit` says false.
    fn walk_score(&self, score: f64, direction: Direction, visit: &mut dyn FnMut(Self::Name) -> bool);
    /// From an index on, until `visit` says false or the end.
    fn walk(
        &self,
        from: u64,
        direction: Direction,
        visit: &mut dyn FnMut(Self::Name, f64) -> Result<bool>,
    ) -> Result<()>;

    fn put(&mut self, element: &Self::Name, score: f64, only: Only) -> Put;
    fn remove(&mut self, element: &Self::Name) -> bool;
    /// Removes the elements from `first` to `last`, both included.
    fn remove_range(&mut self, first: u64, last: u64) -> Result<()>;

    /// Removes everything but the marker; the expiry stays.
    fn clear(&mut self, marker: Option<&Self::Name>) -> Result<()>;

    fn companion(&self, part: Part, id: &Id) -> Result<Companion>;
    /// What a companion holds for a member.
    fn entry(&self, part: Part, member: &[u8]) -> Result<Option<Self::Name>>;
    fn set_entry(&mut self, part: Part, id: &Id, member: &[u8], bytes: &[u8]) -> Result<()>;
    fn remove_entry(&mut self, part: Part, member: &[u8]) -> Result<()>;
    /// The same, and a companion that is another board's goes as a whole.
    fn remove_entry_or_foreign(&mut self, part: Part, id: &Id, member: &[u8]) -> Result<()>;
    /// Removes a field that is no member's.
    fn remove_field(&mut self, part: Part, field: &[u8]) -> Result<()>;
    fn drop_companion(&mut self, part: Part) -> Result<()>;

    /// About `count` elements, from the server's cursor on, and the cursor to go on with; 0 at the end.
    fn scan(&self, cursor: u64, count: u64) -> Result<(u64, Elements<Self::Name>)>;
    /// The same for a companion: its fields and what they hold, its stamp left out.
    fn scan_entries(&self, part: Part, cursor: u64, count: u64) -> Result<(u64, Vec<Entry>)>;

    /// For statistics: members that a bound pushed out.
    fn note_evicted(&mut self, _count: u64) {}
    /// For statistics: a companion that did not fit.
    fn note_rebuilt(&mut self) {}
}
