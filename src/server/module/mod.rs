//! Registers the commands, and runs every call of them.

mod command_info;
mod waiting;

use std::ffi::CString;
use std::mem::ManuallyDrop;
use std::os::raw::c_int;
use std::panic::{catch_unwind, AssertUnwindSafe};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleInfoCtx, RedisModuleString};
use redis_module::Context;

use command_info::set_command_info;
pub use waiting::{serve_first, tell, wait, Wait};

use super::api::{find_family, forget_names, Ctx};
use super::store::listen;
use super::Call;
use crate::board::forget_schemas;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::stats;

/// What the server calls.
pub type Shim = unsafe extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;
/// What a command does.
pub type Handler = for<'c> fn(&'c Call<'c>) -> Result<()>;

/// A line of the module's table.
pub struct Command {
    /// What it does and takes.
    pub doc: Doc,
    /// What the server calls.
    pub shim: Shim,
}

/// A command: its handler and its documentation.
#[macro_export]
macro_rules! command {
    ($name:ident = $handler:path; $doc:expr) => {
        /// The command of this name.
        pub const $name: $crate::server::Command = {
            // SAFETY: only the server calls it, with the arguments of a command.
            unsafe extern "C" fn shim(
                ctx: *mut redis_module::raw::RedisModuleCtx,
                argv: *mut *mut redis_module::raw::RedisModuleString,
                argc: std::os::raw::c_int,
            ) -> std::os::raw::c_int {
                // SAFETY: as above.
                unsafe { $crate::server::run($handler, ctx, argv, argc) }
            }
            $crate::server::Command { doc: $doc, shim }
        };
    };
}

/// Runs a handler, and catches its panics: a panic in the server's code would end the server.
///
/// # Safety
/// The arguments are those the server called a command with.
pub unsafe fn run(handler: Handler, ctx: *mut RedisModuleCtx, argv: *mut *mut RedisModuleString, argc: c_int) -> c_int {
    // SAFETY: the server passes `argc` live strings.
    let call = unsafe { Call::new(ctx, std::slice::from_raw_parts(argv, argc.max(0) as usize)) };
    // The call is borrowed for as long as it lives; propagating its effects empties its notes.
    let call = ManuallyDrop::new(call);
    let result = catch_unwind(AssertUnwindSafe(|| handler(&call)));
    stats::CALLS.add(u64::from(call.was_run()));
    match result {
        Ok(Ok(())) => {
            call.make_known();
            raw::REDISMODULE_OK as c_int
        }
        Ok(Err(error)) => fail(&call, &error),
        Err(_) => fail(&call, &Error::Internal),
    }
}

#[cold]
fn fail<'c>(call: &'c Call<'c>, error: &Error) -> c_int {
    stats::ERRORS.add(1);
    stats::DAMAGED.add(u64::from(error.is_damage()));
    let reply = call.reply();
    match error {
        Error::Arity => reply.wrong_arity(),
        error => reply.error(&error.to_string()),
    }
}

/// Registers the commands. Returns whether the server accepted all of them.
pub fn start<'a>(context: &Context, mut commands: impl Iterator<Item = &'a Command>) -> bool {
    // SAFETY: the context lives while the module is being loaded.
    let ctx = unsafe { Ctx::new(context.get_raw()) };
    set_module_options(ctx);
    register_info(ctx);
    find_family(ctx);
    commands.all(|command| create(ctx, command)) && listen(ctx) && waiting::start(ctx)
}

/// Frees what the module keeps, before it is unloaded.
pub fn stop() {
    forget_names();
    forget_schemas();
}

/// The module's section of `INFO`.
fn register_info(ctx: Ctx) {
    // SAFETY: the context is alive, and the callback lives as long as the module.
    unsafe { api!(RedisModule_RegisterInfoFunc)(ctx.raw(), Some(show_info)) };
}

unsafe extern "C" fn show_info(ctx: *mut RedisModuleInfoCtx, _: c_int) {
    // SAFETY: the server passes a live context; it copies the names.
    unsafe {
        api!(RedisModule_InfoAddSection)(ctx, c"".as_ptr());
        for counter in stats::ALL {
            if let Ok(name) = CString::new(counter.name) {
                api!(RedisModule_InfoAddFieldULongLong)(ctx, name.as_ptr(), counter.get());
            }
        }
    }
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
