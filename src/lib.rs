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
#[cfg(test)]
mod explore;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod number;
pub mod rate;
pub mod server;
pub mod shard;
pub mod slot;
pub mod stats;
pub mod words;
pub mod zset;

use server::Command;

/// Under `cargo test` and `cargo fuzz` there is no server to allocate memory.
#[cfg(not(any(test, fuzzing)))]
use redis_module::alloc::RedisAlloc as Allocator;
#[cfg(any(test, fuzzing))]
use std::alloc::System as Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

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

/// Registers everything, when the module is loaded.
fn start(ctx: server::Ctx) -> Result<(), String> {
    command::due::start();
    let of_cell = if config::cl_throttle() { CELL_COMMANDS } else { &[] };
    server::start(ctx, COMMANDS.iter().chain(of_cell))
}
