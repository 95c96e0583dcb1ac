//! What the server calls when it loads and unloads the module.
//!
//! The macro of redis-module would do the same, but logs a warning on servers that cannot defragment modules, and does not
//! check load arguments.

use std::os::raw::c_int;

use redis_module::configuration::{register_bool_configuration, register_i64_configuration, ConfigurationFlags};
use redis_module::raw::{self, RedisModuleCtx, RedisModuleString};
use redis_module::Context;

use super::guarded;
use crate::board::forget_schemas;
use crate::server::api::{args_of, Ctx};
use crate::{config, start};

/// Of the command names and of the options.
const NAME: &std::ffi::CStr = c"rank";

/// The crate's version as the server shows it: 1.2.3 is 10203.
fn version() -> c_int {
    let mut parts = env!("CARGO_PKG_VERSION").split('.').map(|part| part.parse::<c_int>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    next() * 10_000 + next() * 100 + next()
}

#[no_mangle]
unsafe extern "C" fn RedisModule_OnLoad(
    ctx: *mut RedisModuleCtx,
    argv: *mut *mut RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the server passes a live context. Nothing is allocated before this call, which makes the allocator work.
    let initialized =
        unsafe { raw::Export_RedisModule_Init(ctx, NAME.as_ptr(), version(), raw::REDISMODULE_APIVER_1 as c_int) };
    if initialized != raw::REDISMODULE_OK as c_int {
        return initialized;
    }
    // SAFETY: the server passes that many live strings.
    let args = unsafe {
        let args: &[_] = if argc > 0 { std::slice::from_raw_parts(argv, argc as usize) } else { &[] };
        args_of(args)
    };
    let mut is_loaded = false;
    guarded(|| {
        let context = Context::new(ctx);
        let started = config::read_load_arguments(args.map(|arg| arg.bytes())).and_then(|()| {
            register_options(&context);
            // SAFETY: the context lives while the module is being loaded.
            start(unsafe { Ctx::new(ctx) })
        });
        if let Err(problem) = &started {
            // The server takes the message for a format.
            context.log_warning(&problem.replace('%', "%%"));
        }
        is_loaded = started.is_ok();
    });
    (if is_loaded { raw::REDISMODULE_OK } else { raw::REDISMODULE_ERR }) as c_int
}

/// Load arguments are the defaults: what a configuration file says is stronger.
fn register_options(context: &Context) {
    for option in config::NUMBERS {
        let (value, flags) = (&option.value, ConfigurationFlags::DEFAULT);
        register_i64_configuration(context, option.name, value, option.get(), option.min, option.max, flags, None);
    }
    let (option, flags) = (&config::CL_THROTTLE, ConfigurationFlags::IMMUTABLE);
    register_bool_configuration(context, option.name, &option.value, config::cl_throttle(), flags, None);
    // SAFETY: the context is alive.
    unsafe { api!(RedisModule_LoadConfigs)(context.get_raw()) };
}

#[no_mangle]
extern "C" fn RedisModule_OnUnload(_: *mut RedisModuleCtx) -> c_int {
    guarded(forget_schemas);
    raw::REDISMODULE_OK as c_int
}
