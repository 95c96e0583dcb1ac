//! A moment in which the module may change keys.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::panic::{catch_unwind, AssertUnwindSafe};

use super::api::{Ctx, Text};
use super::store::{Change, Effects};

/// A running command, or a timer of the module. It notes changes, and makes them known in one place.
///
/// In a timer on Redis 7.0, the server's clock advances, so a call of a core command could expire an open key. Code that
/// takes a `Moment` and not a [`Call`](super::Call) also works there: it calls no core command while a key is open.
pub struct Moment<'a> {
    /// The server's context.
    pub ctx: Ctx<'a>,
    effects: RefCell<Effects<'a>>,
}

/// What was done outside of commands.
pub struct Done<R> {
    /// `None` if it panicked.
    pub result: Option<R>,
    /// Whether it changed a key.
    pub changed: bool,
}

impl<'a> Moment<'a> {
    /// That of a running command.
    pub(super) fn of_command(ctx: Ctx<'a>) -> Moment<'a> {
        Moment { ctx, effects: RefCell::default() }
    }

    /// A moment outside of commands. When `act` ends, even by a panic, its changes are made known.
    pub(super) fn outside<R>(ctx: Ctx<'a>, act: impl for<'m> FnOnce(&'m Moment<'m>) -> R) -> Done<R> {
        // It is borrowed for as long as it lives. What it noted is gone once that is known.
        let moment = ManuallyDrop::new(Moment { ctx, effects: RefCell::new(Effects::outside_commands()) });
        let result = catch_unwind(AssertUnwindSafe(|| act(&moment)));
        let changed = !moment.effects.borrow().is_empty();
        moment.make_known();
        Done { result: result.ok(), changed }
    }

    /// Notes a change of a key, which was made.
    pub(super) fn note(&self, key: &Text<'a>, change: Change<'a>) {
        self.effects.borrow_mut().note(key, change);
    }

    /// Makes known what was changed so far.
    pub(super) fn make_known(&self) {
        self.effects.borrow_mut().make_known(self.ctx);
    }
}
