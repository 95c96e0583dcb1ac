//! For the tests in tests/damage.rs: damage of every kind, and what is true of a damaged board.

mod kinds;
mod survey;
mod truth;

pub use kinds::*;
pub use survey::*;
pub use truth::*;
