//! What a board needs of the server: one sorted set.
//!
//! `server::ZSet` implements it on an open key; `tests::Model` in memory.

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

pub struct Spot<N> {
    pub index: u64,
    /// This element and its score, if they are known: looking them up costs as much as many steps.
    pub element: Option<(N, f64)>,
}

impl<N> From<u64> for Spot<N> {
    fn from(index: u64) -> Spot<N> {
        Spot { index, element: None }
    }
}

pub struct Lowest<N> {
    pub element: N,
    pub score: f64,
    /// The score of the next element, if the lowest one is at -inf and the next one also has at most the score asked for.
    pub next: Option<f64>,
}

/// One sorted set. Indexes count from the lowest element, whatever it is.
pub trait Store {
    type Name: AsRef<[u8]> + Clone;

    /// An element of these bytes, to be asked for or written.
    fn name(&self, bytes: &[u8]) -> Self::Name;

    fn key_name(&self) -> &[u8];

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
    /// How many elements have exactly this score; counts up to `most`.
    fn count_at(&self, score: f64, most: u64) -> u64;
    /// Whether any element has a score between these two, and is neither.
    fn any_between(&self, low: f64, high: f64) -> bool;
    /// The lowest element, if its score is at most this one.
    fn lowest(&self, most: f64) -> Option<Lowest<Self::Name>>;
    /// The elements with exactly this score, from the highest (`Down`) or lowest (`Up`) on, until `visit` says false.
    fn walk_score(&self, score: f64, direction: Direction, visit: &mut dyn FnMut(Self::Name) -> bool);
    /// The element this many steps from one whose score is known, if it is near enough to step there.
    fn step(&self, from: (&Self::Name, f64), steps: u64, direction: Direction) -> Option<(Self::Name, f64)>;
    /// From a spot on, until `visit` says false or the end.
    fn walk(
        &self,
        from: Spot<Self::Name>,
        direction: Direction,
        visit: &mut dyn FnMut(Self::Name, f64) -> Result<bool>,
    ) -> Result<()>;
    /// About `count` elements from the server's cursor on, and the next cursor; 0 at the end.
    fn scan(&self, cursor: u64, count: u64) -> Result<(u64, Vec<Self::Name>)>;

    fn put(&mut self, element: &Self::Name, score: f64, only: Only) -> Put;
    /// Whether the element was there.
    fn remove(&mut self, element: &Self::Name) -> bool;
    /// Removes the elements from `first` to `last`, both included.
    fn remove_range(&mut self, first: u64, last: u64) -> Result<()>;
    /// Removes everything but the marker; the expiry stays.
    fn clear(&mut self, marker: Option<&Self::Name>) -> Result<()>;
}
