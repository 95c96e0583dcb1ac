//! Visits every state that a small world can reach: not some walks at random, but all of them, up to a number of steps.
//!
//! States that behave alike are visited once. `RANK_EXPLORE_SECONDS` explores deeper than the fixed depth, one step more
//! at a time, for about so long (`make explore`).

use std::collections::hash_map::RandomState;
use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};

/// A small world: some clients, one key, a clock.
pub trait World: Clone {
    type Step: Clone + Debug;

    /// All that can happen next.
    fn steps(&self) -> Vec<Self::Step>;

    /// Lets it happen. Panics if anything is then as it must not be.
    fn take(&mut self, step: &Self::Step);

    /// What tells this world from others. Worlds with equal keys must behave alike from here on.
    fn key(&self) -> impl Hash;
}

/// How much was visited.
pub struct Explored {
    pub states: usize,
    pub steps: usize,
    pub depth: usize,
}

/// Tells the way to the state at which a step panicked.
struct Way<'w, S: Debug> {
    origins: &'w [(usize, Option<S>)],
    at: usize,
    step: &'w S,
}

impl<S: Debug> Drop for Way<'_, S> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let (mut steps, mut at) = (vec![format!("{:?}", self.step)], self.at);
        while let (before, Some(step)) = &self.origins[at] {
            steps.push(format!("{step:?}"));
            at = *before;
        }
        steps.reverse();
        eprintln!("after these steps, the last of which failed:\n  {}", steps.join("\n  "));
    }
}

/// Explores a world breadth first: so the first failure has the shortest way to it.
pub fn explore<W: World>(name: &str, start: W, depth: usize) -> Explored {
    let seconds = std::env::var("RANK_EXPLORE_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    // 128 bits of each key instead of the keys, which would not fit into memory. That two of a billion states share them
    // has a probability of 10^-21.
    let hashers = [RandomState::new(), RandomState::new()];
    let hash = |world: &W| hashers.each_ref().map(|hasher| hasher.hash_one(world.key()));
    let mut seen = HashSet::from([hash(&start)]);
    let mut origins: Vec<(usize, Option<W::Step>)> = vec![(0, None)];
    let mut level = vec![(0, start)];
    let mut explored = Explored { states: 1, steps: 0, depth: 0 };
    let is_wanted = |explored: &Explored, began: Instant| match end {
        // The next level takes several times as long as the last one.
        Some(end) => Instant::now() + 3 * began.elapsed() < end,
        None => explored.depth < depth,
    };
    let mut began = Instant::now();
    while !level.is_empty() && is_wanted(&explored, began) {
        began = Instant::now();
        let mut next = Vec::new();
        for (at, world) in level {
            for step in world.steps() {
                let mut after = world.clone();
                let way = Way { origins: &origins, at, step: &step };
                after.take(&step);
                drop(way);
                explored.steps += 1;
                if seen.insert(hash(&after)) {
                    next.push((origins.len(), after));
                    origins.push((at, Some(step)));
                }
            }
        }
        level = next;
        explored.states = seen.len();
        explored.depth += 1;
    }
    let all = if level.is_empty() { ", which are all there are" } else { "" };
    println!("{name}: {} states{all}, {} steps, depth {}", explored.states, explored.steps, explored.depth);
    explored
}
