//! What the server calls: loading and unloading, every command, `INFO`, and the callbacks of clients that wait.
//!
//! A panic that leaves a function which the server calls aborts the server. So each of these functions runs its body in
//! [`guarded`], and a handler that panics is an error of one call.

mod command_info;
mod entry;
mod waiting;

use std::ffi::CString;
use std::mem::ManuallyDrop;
use std::os::raw::c_int;
use std::panic::{catch_unwind, AssertUnwindSafe};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleInfoCtx, RedisModuleString};

pub(super) use command_info::flags_of;
use command_info::set_command_info;
pub use waiting::{notify_waiters, serve_waiters_first, wait, Head, Turn, WaitRequest};

use super::api::{CoreCommand, Ctx};
use super::store::subscribe;
use super::Call;
use crate::docs::{Doc, Keywords};
use crate::error::{Error, ErrorKind, Result};
use crate::stats::{self, Family};

/// The C function of a command, which the server calls.
pub type Shim = unsafe extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;
pub type Handler = for<'c> fn(&'c Call<'c>) -> Result<()>;

/// What a call of a command needs to know of the command.
pub struct Runner {
    handler: Handler,
    name: &'static str,
    family: &'static Family,
    is_fast: bool,
    keywords: Keywords,
}

impl Runner {
    pub const fn new(doc: &Doc, handler: Handler) -> Runner {
        let keywords = Keywords::of(doc.syntax);
        Runner { handler, name: doc.name, family: Family::of(doc.name), is_fast: doc.is_fast, keywords }
    }
}

/// A call with more arguments is timed, whatever its command.
const FEW_ARGS: usize = 16;

/// A command as `lib.rs` lists it.
pub struct Command {
    pub doc: Doc,
    pub shim: Shim,
}

/// Defines a command from its handler and its documentation.
#[macro_export]
macro_rules! command {
    ($name:ident = $handler:path; $doc:expr) => {
        pub const $name: $crate::server::Command = {
            struct Definition;
            impl $crate::server::Definition for Definition {
                const DOC: $crate::docs::Doc = $doc;
                const RUNNER: &'static $crate::server::Runner = {
                    static RUNNER: $crate::server::Runner =
                        $crate::server::Runner::new(&<Definition as $crate::server::Definition>::DOC, $handler);
                    &RUNNER
                };
            }
            $crate::server::Command::new::<Definition>()
        };
    };
}

/// What [`command!`] makes of a command: a type, so that each has a C function of its own.
pub trait Definition {
    const DOC: Doc;
    const RUNNER: &'static Runner;
}

impl Command {
    pub const fn new<D: Definition>() -> Command {
        Command { doc: D::DOC, shim: shim::<D> }
    }
}

/// # Safety
/// Only the server calls it, with the arguments of a command.
unsafe extern "C" fn shim<D: Definition>(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: as above.
    unsafe { run(D::RUNNER, ctx, argv, argc) }
}

/// Runs the body of a function that the server calls. Returns whether it did not panic. The panic hook has already logged
/// the panic.
fn guarded(act: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(act)).is_ok()
}

/// Runs a handler.
///
/// # Safety
/// The arguments are those the server called a command with.
unsafe fn run(
    runner: &'static Runner,
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the server passes `argc` live strings.
    let call = unsafe { Call::new(ctx, std::slice::from_raw_parts(argv, argc.max(0) as usize), &runner.keywords) };
    // The call is borrowed for as long as it lives; propagating its effects empties its notes.
    let call = ManuallyDrop::new(call);
    if !guarded(|| handle(&call, runner)) {
        guarded(|| {
            runner.family.called();
            fail(&call, runner, Error::internal());
        });
    }
    raw::REDISMODULE_OK as c_int
}

#[inline]
fn handle<'c>(call: &'c Call<'c>, runner: &Runner) {
    if !runner.is_fast || call.args().len() >= FEW_ARGS {
        call.start_timing();
    }
    let result = (runner.handler)(call);
    if call.was_run() {
        runner.family.called();
    }
    match result {
        Ok(()) => call.propagate_and_notify(),
        Err(error) => fail(call, runner, error),
    }
    if let Some(micros) = call.time_taken() {
        stats::SLOWEST.note(runner.name, micros);
    }
}

#[cold]
fn fail<'c>(call: &'c Call<'c>, runner: &Runner, error: Error) {
    runner.family.failed(&error);
    let reply = call.reply();
    if call.is_for_waiter() {
        return waiting::fail_turn(call, error);
    }
    match error.kind() {
        ErrorKind::Arity => reply.wrong_arity(),
        _ => reply.error(&error.to_string()),
    };
}

/// Registers the commands, or returns what prevents that.
pub fn start<'a>(ctx: Ctx, mut commands: impl Iterator<Item = &'a Command>) -> Result<(), String> {
    if let Some(missing) = CoreCommand::ALL.iter().find(|command| !ctx.has_command(**command)) {
        return Err(format!(
            "redis-rank needs the command {}, which rename-command has renamed or disabled here. Remove that line, and \
             deny the command to users by ACL instead",
            missing.name().to_string_lossy()
        ));
    }
    set_module_options(ctx);
    register_info(ctx);
    match commands.find(|command| !create(ctx, command)) {
        Some(Command { doc, .. }) => Err(format!("the server refused {}: does another module have it?", doc.name)),
        None if subscribe(ctx) && waiting::start(ctx) => Ok(()),
        None => Err("the server refused to tell of its events".to_owned()),
    }
}

/// The module's section of `INFO`.
fn register_info(ctx: Ctx) {
    // SAFETY: the context is alive, and the callback lives as long as the module.
    unsafe { api!(RedisModule_RegisterInfoFunc)(ctx.raw(), Some(show_info)) };
}

unsafe extern "C" fn show_info(ctx: *mut RedisModuleInfoCtx, _: c_int) {
    // SAFETY: the server passes a live context; it copies the names.
    guarded(|| unsafe {
        api!(RedisModule_InfoAddSection)(ctx, c"".as_ptr());
        let number = |name: &str, value| {
            if let Ok(name) = CString::new(name) {
                api!(RedisModule_InfoAddFieldULongLong)(ctx, name.as_ptr(), value);
            }
        };
        stats::all().for_each(|(name, value)| number(name, value));
        number("waiters", waiting::count());
        let (micros, command) = stats::SLOWEST.get();
        if let Ok(command) = CString::new(command) {
            api!(RedisModule_InfoAddFieldCString)(ctx, c"slowest_call".as_ptr(), command.as_ptr());
        }
        number("slowest_call_us", micros);
    });
}

fn create(ctx: Ctx, command: &Command) -> bool {
    let doc = &command.doc;
    let (Ok(name), Ok(flags), Ok(categories)) =
        (CString::new(doc.name), CString::new(doc.flags()), CString::new(doc.categories()))
    else {
        return false;
    };
    // Key positions, as servers before 7.0 used them. The key specs say the same and more.
    let (first, last) = (1, doc.keys.len().min(1) as c_int);
    // SAFETY: context and strings are alive; the server copies the strings.
    unsafe {
        let created = api!(RedisModule_CreateCommand)(
            ctx.raw(),
            name.as_ptr(),
            Some(command.shim),
            flags.as_ptr(),
            first,
            last,
            1,
        );
        if created != raw::REDISMODULE_OK as c_int {
            return false;
        }
        let made = api!(RedisModule_GetCommand)(ctx.raw(), name.as_ptr());
        if made.is_null() || !set_command_info(made, doc) {
            return false;
        }
        match raw::RedisModule_SetCommandACLCategories {
            Some(set) => set(made, categories.as_ptr()) == raw::REDISMODULE_OK as c_int,
            None => true,
        }
    }
}

/// Valkey 9: atomic slot migration may move our keys. Other servers ignore the bit.
const HANDLE_ATOMIC_SLOT_MIGRATION: u32 = 1 << 5;

/// What the module promises the server; see docs/design.md.
fn set_module_options(ctx: Ctx) {
    let options = raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED
        | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD
        | HANDLE_ATOMIC_SLOT_MIGRATION;
    // SAFETY: the context is alive.
    unsafe { api!(RedisModule_SetModuleOptions)(ctx.raw(), options as c_int) };
}
