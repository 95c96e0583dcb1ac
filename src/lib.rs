//! redis-rank: leaderboards (`RANK.*`), rate limits (`RATE.*`) and schedules (`DUE.*`) for Redis and Valkey.
//!
//! This file is the module's table of commands. docs/design.md describes how a command runs through the code.

#![deny(unsafe_code)]

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
#[allow(unsafe_code)]
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

const COMMANDS: &[Command] = {
    use command::{due, rank, rate};
    &[
        rank::CREATE,
        rank::ALTER,
        rank::INFO,
        rank::CLEAR,
        rank::ROTATE,
        rank::VERIFY,
        rank::PERIODS,
        rank::ADD,
        rank::MULTISET,
        rank::INCR,
        rank::REM,
        rank::TRIM,
        rank::POP,
        rank::LOAD,
        rank::GET,
        rank::SCORE,
        rank::QUERY,
        rank::STATS,
        rank::TOPN,
        rank::RANGE,
        rank::PAGE,
        rank::AROUND,
        rank::BYSCORE,
        rank::AMONG,
        rank::AFTER,
        rank::BEFORE,
        rank::SCAN,
        rank::COUNT,
        rank::FORSCORE,
        rank::PERCENTILE,
        rank::SCOREAT,
        rank::SETDATA,
        rank::PUTDATA,
        rank::GETDATA,
        rank::DELDATA,
        rank::SHARDS,
        rank::SHARD,
        rate::CHECK,
        rate::PEEK,
        rate::ALL,
        rate::REFUND,
        rate::SETTLE,
        rate::RESET,
        rate::ACQUIRE,
        rate::RENEW,
        rate::RELEASE,
        rate::HELD,
        due::ADD,
        due::CLAIM,
        due::POP,
        due::ACK,
        due::MOVE,
        due::INFO,
    ]
};

/// Commands of other modules, registered only if an option says so: two modules cannot register the same name.
const CELL_COMMANDS: &[Command] = &[command::rate::THROTTLE];

/// Registers everything, when the module is loaded.
fn start(ctx: server::Ctx) -> Result<(), String> {
    command::due::start();
    let of_cell = if config::cl_throttle() { CELL_COMMANDS } else { &[] };
    server::start(ctx, COMMANDS.iter().chain(of_cell))
}
