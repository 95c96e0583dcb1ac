//! redis-rank: leaderboards (`RANK.*`), rate limits (`RATE.*`) and schedules (`DUE.*`) for Redis and Valkey.
//!
//! This file is the module's table of commands. docs/design.md describes how a command runs through the code.

pub mod board;
pub mod calendar;
pub mod command;
pub mod config;
pub mod docs;
pub mod due;
pub mod duration;
pub mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod number;
pub mod rate;
pub mod server;
pub mod shard;
pub mod slot;
pub mod stats;
pub mod zset;

use redis_module::configuration::ConfigurationFlags;
use redis_module::{redis_module, Context, RedisString, Status};

use server::Command;

/// Under `cargo test` and `cargo fuzz` there is no server to allocate memory.
#[cfg(not(any(test, fuzzing)))]
use redis_module::alloc::RedisAlloc as Allocator;
#[cfg(any(test, fuzzing))]
use std::alloc::System as Allocator;

const COMMANDS: &[Command] = &[
    command::CREATE,
    command::ALTER,
    command::INFO,
    command::CLEAR,
    command::ROTATE,
    command::VERIFY,
    command::PERIODS,
    command::ADD,
    command::MULTISET,
    command::INCR,
    command::REM,
    command::TRIM,
    command::POP,
    command::LOAD,
    command::GET,
    command::SCORE,
    command::QUERY,
    command::STATS,
    command::TOPN,
    command::RANGE,
    command::PAGE,
    command::AROUND,
    command::BYSCORE,
    command::AMONG,
    command::AFTER,
    command::BEFORE,
    command::SCAN,
    command::COUNT,
    command::FORSCORE,
    command::PERCENTILE,
    command::SCOREAT,
    command::SETDATA,
    command::PUTDATA,
    command::GETDATA,
    command::DELDATA,
    command::SHARDS,
    command::SHARD,
    command::CHECK,
    command::PEEK,
    command::ALL,
    command::REFUND,
    command::RESET,
    command::ACQUIRE,
    command::RENEW,
    command::RELEASE,
    command::HELD,
    command::due::ADD,
    command::due::CLAIM,
    command::due::POP,
    command::due::ACK,
    command::due::MOVE,
    command::due::INFO,
];

/// Commands of other modules, registered only if an option says so: two modules cannot register the same name.
const CELL_COMMANDS: &[Command] = &[command::THROTTLE];

fn init(context: &Context, args: &[RedisString]) -> Status {
    let args: Vec<&[u8]> = args.iter().map(RedisString::as_slice).collect();
    if let Some(problem) = config::load_problem(&args) {
        context.log_warning(&problem.replace('%', "%%"));
        return Status::Err;
    }
    if let Some(command) = server::missing_command(context) {
        context.log_warning(&format!(
            "redis-rank writes to replicas and the AOF with {command}, which rename-command has renamed or disabled here. \
             Remove that line, and deny the command to users by ACL instead"
        ));
        return Status::Err;
    }
    command::due::start();
    let of_cell = if config::cl_throttle() { CELL_COMMANDS } else { &[] };
    if server::start(context, COMMANDS.iter().chain(of_cell)) {
        Status::Ok
    } else {
        Status::Err
    }
}

fn deinit(_: &Context) -> Status {
    server::stop();
    Status::Ok
}

/// What the server looks for when it loads the module.
mod entry {
    use super::*;

    redis_module! {
        name: "rank",
        version: version(),
        allocator: (Allocator, Allocator),
        data_types: [],
        init: init,
        deinit: deinit,
        configurations: [
            i64: [
                [config::MAX_ROWS.name, &config::MAX_ROWS.value, config::MAX_ROWS.default,
                 config::MAX_ROWS.min, config::MAX_ROWS.max, ConfigurationFlags::DEFAULT, None],
                [config::RATE_MAX_LOG.name, &config::RATE_MAX_LOG.value, config::RATE_MAX_LOG.default,
                 config::RATE_MAX_LOG.min, config::RATE_MAX_LOG.max, ConfigurationFlags::DEFAULT, None],
                [config::MAX_HOPS.name, &config::MAX_HOPS.value, config::MAX_HOPS.default,
                 config::MAX_HOPS.min, config::MAX_HOPS.max, ConfigurationFlags::DEFAULT, None],
            ],
            string: [],
            bool: [
                [config::CL_THROTTLE.name, &config::CL_THROTTLE.value, false, ConfigurationFlags::IMMUTABLE, None],
            ],
            enum: [],
            module_args_as_configuration: true,
        ]
    }
}

/// The crate's version as the server shows it: 1.2.3 is 10203.
fn version() -> i32 {
    let mut parts = env!("CARGO_PKG_VERSION").split('.').map(|part| part.parse::<i32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    next() * 10_000 + next() * 100 + next()
}
