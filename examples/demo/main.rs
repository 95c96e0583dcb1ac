//! `make demo`: a server of its own, some boards and limiters, and what the commands reply.
//!
//! `DEMO_PAUSE` is how many seconds to wait after each reply: 1 at a terminal, otherwise 0.

mod bulk;
mod cli;
mod scenes;

// The tests' server guard: a process that ends with its owner is the same need here.
#[path = "../../tests/support/mod.rs"]
#[allow(dead_code, unused_imports, unused_macros, reason = "the tests use more of it")]
mod support;

use std::error::Error;
use std::io::{self, ErrorKind};
use std::process::ExitCode;

use cli::Cli;
use support::{Kind, Server};

/// What can end the demo early: the terminal or the server.
type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // Somebody has seen enough: `make demo | head`.
        Err(error) if error.downcast_ref().map(io::Error::kind) == Some(ErrorKind::BrokenPipe) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome {
    let server = Server::builder(Kind::Redis).try_start()?;
    let mut cli = Cli::new(server.connect())?;
    for scene in scenes::ALL {
        scene(&server, &mut cli)?;
    }
    Ok(())
}
