//! redis-rank: native leaderboards (`RANK.*`) and rate limits (`RATE.*`) for Redis and Valkey.
//!
//! This file is the module's table; docs/design.md tells the way of a command through the code.

mod board;
mod command;
mod config;
mod docs;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod number;
mod rate;
mod server;
mod stats;

use redis_module::configuration::ConfigurationFlags;
use redis_module::{redis_module, Context, RedisString, Status};

use server::Command;

/// Under `cargo test` and `cargo fuzz` no server is there to allocate.
#[cfg(not(any(test, fuzzing)))]
use redis_module::alloc::RedisAlloc as Allocator;
#[cfg(any(test, fuzzing))]
use std::alloc::System as Allocator;

const COMMANDS: &[Command] = &[
    command!(docs::CREATE, command::create),
    command!(docs::ALTER, command::alter),
    command!(docs::INFO, command::info),
    command!(docs::CLEAR, command::clear),
    command!(docs::ROTATE, command::rotate),
    command!(docs::VERIFY, command::verify),
    command!(docs::ADD, command::add),
    command!(docs::MULTISET, command::multiset),
    command!(docs::INCR, command::incr),
    command!(docs::REM, command::rem),
    command!(docs::TRIM, command::trim),
    command!(docs::GET, command::get),
    command!(docs::SCORE, command::score),
    command!(docs::QUERY, command::query),
    command!(docs::STATS, command::stats),
    command!(docs::TOPN, command::topn),
    command!(docs::RANGE, command::range),
    command!(docs::PAGE, command::page),
    command!(docs::AROUND, command::around),
    command!(docs::BYSCORE, command::byscore),
    command!(docs::AMONG, command::among),
    command!(docs::COUNT, command::count),
    command!(docs::FORSCORE, command::forscore),
    command!(docs::PERCENTILE, command::percentile),
    command!(docs::SCOREAT, command::scoreat),
    command!(docs::SETDATA, command::setdata),
    command!(docs::GETDATA, command::getdata),
    command!(docs::DELDATA, command::deldata),
    command!(docs::CHECK, command::check),
    command!(docs::PEEK, command::peek),
    command!(docs::RESET, command::reset),
];

fn init(context: &Context, args: &[RedisString]) -> Status {
    let args: Vec<&[u8]> = args.iter().map(RedisString::as_slice).collect();
    if let Some(problem) = config::load_problem(&args) {
        context.log_warning(&problem.replace('%', "%%"));
        return Status::Err;
    }
    if server::start(context, COMMANDS) {
        Status::Ok
    } else {
        Status::Err
    }
}

fn deinit(_: &Context) -> Status {
    if server::stop() {
        Status::Ok
    } else {
        Status::Err
    }
}

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
        ],
        string: [],
        bool: [],
        enum: [],
        module_args_as_configuration: true,
    ]
}

/// The crate's version as the server shows it: 1.2.3 is 10203.
fn version() -> i32 {
    let mut parts = env!("CARGO_PKG_VERSION").split('.').map(|part| part.parse::<i32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    next() * 10_000 + next() * 100 + next()
}
