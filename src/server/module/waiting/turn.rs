//! What passes between the timer and the command that the server runs for a waiting client: the server calls commands by
//! name and returns a reply, but whether it ran the command, and what came of it, are values of this file.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::super::super::api::Reply;
use super::super::super::Call;
use crate::error::{Error, Result};

/// Writes the reply of a client.
pub type Answer = Box<dyn FnOnce(&Reply)>;

/// How the command of a waiting client ended.
pub enum Outcome {
    /// The server did not run it.
    NotRun,
    Answered(Result<Answer>),
    /// There was nothing for the client, which waits on.
    FoundNothing {
        /// It changed something all the same.
        wrote: bool,
        /// A rule allows nothing for so many milliseconds.
        closed_ms: Option<u64>,
    },
}

enum State {
    Idle,
    /// The server is asked to run a command for a client with this clock of its own.
    Asked(Option<i64>),
    Ended(Outcome),
}

/// Only the main thread uses it. The lock satisfies the compiler.
struct Slot(Mutex<State>);

// SAFETY: as above.
unsafe impl Sync for Slot {}

static SLOT: Slot = Slot(Mutex::new(State::Idle));
/// A command of a waiting client is being run. Most commands look no further.
static IS_ASKED: AtomicBool = AtomicBool::new(false);

impl Slot {
    fn replace(&self, state: State) -> State {
        std::mem::replace(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), state)
    }
}

/// Runs something that makes the server run the command of a waiting client. Returns what came of it, and how it ended.
pub fn take_turn<T>(own_now: Option<i64>, run: impl FnOnce() -> T) -> (T, Outcome) {
    SLOT.replace(State::Asked(own_now));
    IS_ASKED.store(true, Relaxed);
    let returned = run();
    IS_ASKED.store(false, Relaxed);
    match SLOT.replace(State::Idle) {
        State::Ended(outcome) => (returned, outcome),
        State::Idle | State::Asked(_) => (returned, Outcome::NotRun),
    }
}

/// The command of a waiting client, while it runs. It must end with an answer, or with nothing.
pub struct Turn {
    /// The time on the client's own clock, if it gave one with `NOW`.
    pub own_now: Option<i64>,
}

impl Turn {
    /// `None` for the command of a client that does not wait.
    #[inline]
    pub fn begin() -> Option<Turn> {
        if !IS_ASKED.load(Relaxed) {
            return None;
        }
        match SLOT.replace(State::Idle) {
            State::Asked(own_now) => Some(Turn { own_now }),
            other => {
                SLOT.replace(other);
                None
            }
        }
    }

    pub fn answer(self, call: &Call, write: impl FnOnce(&Reply) + 'static) {
        end(call, |_| Outcome::Answered(Ok(Box::new(write))));
    }

    pub fn found_nothing(self, call: &Call, closed_ms: Option<u64>) {
        end(call, |wrote| Outcome::FoundNothing { wrote, closed_ms });
    }
}

/// The command of a waiting client failed.
pub fn fail_turn(call: &Call, error: Error) {
    end(call, |_| Outcome::Answered(Err(error)));
}

fn end(call: &Call, outcome: impl FnOnce(bool) -> Outcome) {
    // What the call replies to the server is not read.
    call.reply().null();
    SLOT.replace(State::Ended(outcome(call.has_written())));
}
