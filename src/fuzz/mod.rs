//! The functions that cargo-fuzz calls with bytes. Each of them panics if something is wrong.
//!
//! They are here and not in fuzz/ so that they can use private items, and so that the unit tests run them too.

mod arguments;
mod codec;
mod input;
mod schema;
mod stored;

#[cfg(test)]
mod tests;

pub use arguments::arguments;
pub use codec::codec;
pub use schema::schema;
pub use stored::stored;

use std::fmt::Display;

/// Whatever a client sent, an error is one line of printable ASCII.
fn check_error(error: &impl Display) {
    let text = error.to_string();
    assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text:?}");
}
