//! One call of a command: its arguments, what it changed, its reply. A handler has nothing else of the server, so it
//! cannot reply before its changes are propagated.

use std::cell::{Cell, RefCell};
use std::os::raw::c_int;

use redis_module::raw::{RedisModuleCtx, RedisModuleString};

use super::api::{args_of, Args, Ctx, Options, Reply, Text};
use super::module::{flags_of, Turn};
use super::store::{Effect, Effects};
use crate::docs::{KeyUse, Keywords};
use crate::error::Result;

/// A running command. It borrows its arguments for as long as it lives, so effects can be noted without copies.
pub struct Call<'a> {
    pub ctx: Ctx<'a>,
    args: &'a [*mut RedisModuleString],
    keywords: &'static Keywords,
    /// The server only asked for the command's keys.
    asked: Cell<bool>,
    /// Microseconds on the server's monotonic clock, if the call is timed.
    began: Cell<Option<u64>>,
    effects: RefCell<Effects<'a>>,
    /// The server runs the command for a client that waited.
    is_for_waiter: Cell<bool>,
}

impl<'a> Call<'a> {
    /// # Safety
    /// The pointers are those the server called the command with, and live for `'a`.
    pub unsafe fn new(
        ctx: *mut RedisModuleCtx,
        args: &'a [*mut RedisModuleString],
        keywords: &'static Keywords,
    ) -> Call<'a> {
        // SAFETY: as the caller says.
        let ctx = unsafe { Ctx::new(ctx) };
        Call {
            ctx,
            args,
            keywords,
            asked: Cell::new(false),
            began: Cell::new(None),
            effects: RefCell::default(),
            is_for_waiter: Cell::new(false),
        }
    }

    /// The server wants to know the command's keys, not to run it; only for commands with `getkeys-api`.
    pub fn asks_for_keys(&self) -> bool {
        // SAFETY: the context is alive.
        self.asked.set(unsafe { api!(RedisModule_IsKeysPositionRequest)(self.ctx.raw()) != 0 });
        self.asked.get()
    }

    /// Whether the command was run, not only asked for its keys.
    pub fn was_run(&self) -> bool {
        !self.asked.get()
    }

    /// Times this call from here on, for `INFO`. Use it for work that may block the server: reading the clock twice would
    /// cost a fast command a tenth of its time.
    pub fn start_timing(&self) {
        if self.began.get().is_none() {
            self.began.set(Some(self.ctx.monotonic_micros()));
        }
    }

    /// Microseconds, if the call is timed and was run.
    pub(super) fn time_taken(&self) -> Option<u64> {
        let began = self.began.get().filter(|_| self.was_run())?;
        Some(self.ctx.monotonic_micros().saturating_sub(began))
    }

    /// Tells the position of a key, counted from the command's name.
    pub fn report_key_position(&self, position: usize) {
        // SAFETY: the context is that of a request for keys.
        unsafe { api!(RedisModule_KeyAtPos)(self.ctx.raw(), c_int::try_from(position).unwrap_or(c_int::MAX)) };
    }

    /// Tells the position of a key, and what happens to it, if the server only asked for that.
    pub fn report_key_use(&self, position: usize, usage: KeyUse) {
        if self.asked.get() {
            let position = c_int::try_from(position).unwrap_or(c_int::MAX);
            let flags = flags_of(usage).cast_signed();
            // SAFETY: the context is that of a request for keys.
            unsafe { api!(RedisModule_KeyAtPosWithFlags)(self.ctx.raw(), position, flags) };
        }
    }

    pub fn args(&self) -> Args<'a> {
        // SAFETY: the arguments live as long as the call.
        unsafe { args_of(self.args.get(1..).unwrap_or_default()) }
    }

    /// Arguments that are the options of this command.
    #[inline]
    pub fn options(&self, args: Args<'a>) -> Options<'a> {
        Options::new(args, self.keywords)
    }

    /// Arguments that may begin with options of this command.
    #[inline]
    pub fn options_in_front(&self, args: Args<'a>) -> Options<'a> {
        Options::in_front(args, self.keywords)
    }

    /// The key, which is the first argument of almost all commands, and the others.
    pub fn key_and_args(&self) -> Result<(Text<'a>, Args<'a>)> {
        let mut args = self.args();
        Ok((args.text()?, args))
    }

    /// Notes a change of a key, which was made.
    pub(super) fn note(&self, key: &Text<'a>, change: Effect<'a>) {
        self.effects.borrow_mut().note(key, change);
    }

    /// Propagates what was changed so far, and sends its events.
    pub(super) fn propagate_and_notify(&self) {
        self.effects.borrow_mut().propagate_and_notify(self.ctx);
    }

    /// All words of the command, its name first, to be kept.
    pub(super) fn words(&self) -> Box<[Text<'static>]> {
        // SAFETY: the arguments live as long as the call.
        unsafe { args_of(self.args) }.map(|arg| arg.text().into_static()).collect()
    }

    /// For a command that a client waited for: tells that the server runs it.
    pub fn turn(&self) -> Option<Turn> {
        let turn = Turn::begin();
        self.is_for_waiter.set(turn.is_some());
        turn
    }

    pub(super) fn is_for_waiter(&self) -> bool {
        self.is_for_waiter.get()
    }

    /// Whether anything was changed, as far as it is propagated.
    pub(super) fn has_written(&self) -> bool {
        self.effects.borrow().wrote
    }

    /// The reply. All changes are propagated and announced before it begins.
    pub fn reply(&self) -> Reply<'a> {
        self.propagate_and_notify();
        Reply::new(self.ctx)
    }
}
