//! Real servers for the integration tests.
//!
//! ```ignore
//! use crate::support::*;
//!
//! on_every_server! {
//!     fn the_best_come_first(server: Server) {
//!         let mut con = server.connect();
//!         expect(&mut con, "RANK.ADD b 5 a 7 b", "2");
//!         expect(&mut con, "RANK.TOPN b 1", r#"[[1, "b", "7"]]"#);
//!     }
//! }
//! ```

pub mod attributes;
mod binaries;
pub mod boards;
pub mod calls;
mod cluster;
pub mod codes;
mod compiled;
pub mod programs;
mod reply;
pub mod script;
mod server;
pub mod stored;
mod tls;
pub mod workload;

mod harness;

use std::path::Path;
use std::time::{Duration, Instant};

pub use binaries::{module_path, redis_cli, skip, Kind};
pub use cluster::{Client, Cluster};
pub use compiled::compiled;
pub use reply::{cmd, cmdv, expect, is_error, reply, show, show_result, words};
pub use server::{Builder, Server};
pub use tls::Certificates;

/// A connection to the server with this socket, if it answers: for clients of a server that may be gone.
pub fn try_connect(socket: &Path) -> Option<redis::Connection> {
    server::connect_to(socket.into(), redis::ProtocolVersion::RESP2).ok()
}

/// How long anything may take before a test gives up on it.
pub fn deadline() -> Duration {
    // A server under valgrind is slower by a factor of thirty or more.
    Duration::from_secs(if server_wrapper().is_some() { 600 } else { 120 })
}

/// A program that servers are to run under, with its arguments: `RANK_SERVER_WRAPPER='valgrind -q'`. (`make valgrind`)
pub fn server_wrapper() -> Option<Vec<String>> {
    let wrapper = std::env::var("RANK_SERVER_WRAPPER").ok()?;
    let words: Vec<String> = wrapper.split_whitespace().map(str::to_string).collect();
    (!words.is_empty()).then_some(words)
}

/// What a server takes for the time, in milliseconds.
#[track_caller]
pub fn time_of(con: &mut redis::Connection) -> i64 {
    let time = cmd(con, "TIME").expect("a time");
    let (seconds, micros): (i64, i64) = redis::from_redis_value(time).expect("two numbers");
    seconds * 1000 + micros / 1000
}

/// How often a condition is tried.
const POLL: Duration = Duration::from_millis(5);

/// Polls until `condition` holds: tests wait for what they need, never for a time.
#[track_caller]
pub fn wait_until(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < deadline(), "the condition did not hold within {:?}", deadline());
        std::thread::sleep(POLL);
    }
}

/// What a test of [`on_every_server!`] may take: a fresh server with the module, or only the kind,
/// for tests that start their servers themselves.
pub trait TestInput {
    fn of(kind: Kind) -> Self;
}

impl TestInput for Kind {
    fn of(kind: Kind) -> Self {
        kind
    }
}

impl TestInput for Server {
    fn of(kind: Kind) -> Self {
        Server::builder(kind).start()
    }
}

/// The body of each test that [`on_every_server!`] makes.
pub fn run_on<T: TestInput>(kind: Kind, test: &str, body: impl FnOnce(T)) {
    if kind.is_available_or_skip(test) {
        body(T::of(kind));
    }
}

/// Makes of each `fn name(server: Server) { … }` (or `fn name(kind: Kind) { … }`) the tests
/// `name::redis` and `name::valkey`.
macro_rules! on_every_server {
    ($($(#[$attribute:meta])* fn $name:ident($($input:ident)+: $type:ty) $body:block)+) => {$(
        mod $name {
            use super::*;

            fn body($($input)+: $type) $body

            #[test]
            $(#[$attribute])*
            fn redis() {
                $crate::support::run_on(Kind::Redis, module_path!(), body);
            }

            #[test]
            $(#[$attribute])*
            fn valkey() {
                $crate::support::run_on(Kind::Valkey, module_path!(), body);
            }
        }
    )+};
}

pub(crate) use on_every_server;
