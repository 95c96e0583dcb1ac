//! The functions that cargo-fuzz calls with bytes. Each of them panics if something is wrong.
//!
//! They are here and not in fuzz/ so that they can use private items, and so that the unit tests run them too.

mod arguments;
mod codec;
mod documented;
// The integration tests use more of it.
#[allow(dead_code)]
mod generator;
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

#[cfg(test)]
thread_local! {
    static REACHED: std::cell::RefCell<std::collections::BTreeSet<String>> = const { std::cell::RefCell::new(std::collections::BTreeSet::new()) };
}

/// Says that a case was reached. The unit tests fail if one was not.
fn reached(case: impl Into<String>) {
    #[cfg(test)]
    REACHED.with_borrow_mut(|reached| reached.insert(case.into()));
    #[cfg(not(test))]
    drop(case.into());
}
