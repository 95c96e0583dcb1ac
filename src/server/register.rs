//! Commands become known to the server here, and every call of them comes in here.

use std::ffi::CString;
use std::os::raw::c_int;
use std::panic::{catch_unwind, AssertUnwindSafe};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleInfoCtx, RedisModuleString};
use redis_module::Context;

use super::context::{Call, Ctx};
use super::family;
use super::info::set_command_info;
use super::keeper;
use super::names;
use super::propagation;
use super::reply::Reply;
use super::steps;
use crate::board::forget_schemas;
use crate::docs::Doc;
use crate::error::{Error, Result};
use crate::stats;

pub type Shim = unsafe extern "C" fn(*mut RedisModuleCtx, *mut *mut RedisModuleString, c_int) -> c_int;
pub type Handler = fn(&Call) -> Result<()>;

pub struct Command {
    pub doc: Doc,
    pub shim: Shim,
}

/// A line of the module's table: a command's documentation and its handler.
#[macro_export]
macro_rules! command {
    ($doc:expr, $handler:path) => {{
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
    }};
}

/// Runs a handler. No panic gets past here: it would end the server.
///
/// # Safety
/// The arguments are those the server called a command with.
pub unsafe fn run(handler: Handler, ctx: *mut RedisModuleCtx, argv: *mut *mut RedisModuleString, argc: c_int) -> c_int {
    // SAFETY: the server passes `argc` live strings.
    let call = unsafe { Call::new(ctx, std::slice::from_raw_parts(argv, argc.max(0) as usize)) };
    let result = catch_unwind(AssertUnwindSafe(|| handler(&call)));
    stats::CALLS.add(1);
    match result {
        Ok(Ok(())) => raw::REDISMODULE_OK as c_int,
        Ok(Err(error)) => fail(call.ctx, &error),
        Err(_) => fail(call.ctx, &Error::Internal),
    }
}

#[cold]
fn fail(ctx: Ctx, error: &Error) -> c_int {
    stats::ERRORS.add(1);
    let reply = Reply::new(ctx);
    match error {
        Error::Arity => reply.wrong_arity(),
        error => reply.error(&error.to_string()),
    }
}

/// Makes the commands known. Whether the server took all of them.
pub fn start(context: &Context, commands: &[Command]) -> bool {
    // SAFETY: the context lives while the module is being loaded.
    let ctx = unsafe { Ctx::new(context.get_raw()) };
    set_module_options(ctx);
    register_info(ctx);
    family::start(ctx);
    commands.iter().all(|command| create(ctx, command)) && keeper::start(ctx) && propagation::start(ctx)
}

/// Whether the module may go: not while the server holds a job of ours, which it would run without its code.
pub fn stop() -> bool {
    let may_stop = keeper::may_stop() && steps::none_waits();
    if may_stop {
        names::forget();
        keeper::forget();
        forget_schemas();
    }
    may_stop
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
        (CString::new(doc.name), CString::new(doc.flags), CString::new(doc.categories))
    else {
        return false;
    };
    // Key positions of old: the specs say the same and more.
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

/// Valkey 9's name for "atomic slot migration may take our keys along"; other servers ignore the bit.
const HANDLE_ATOMIC_SLOT_MIGRATION: u32 = 1 << 5;

/// What the module promises the server; see docs/design.md.
fn set_module_options(ctx: Ctx) {
    let options = raw::REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED
        | raw::REDISMODULE_OPTIONS_HANDLE_REPL_ASYNC_LOAD
        | HANDLE_ATOMIC_SLOT_MIGRATION;
    // SAFETY: the context is alive.
    unsafe { api!(RedisModule_SetModuleOptions)(ctx.raw(), options as c_int) };
}
