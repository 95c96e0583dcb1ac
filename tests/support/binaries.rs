//! Where the servers and the module are.

use std::env;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The two families of servers that every guarantee is tested on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Redis,
    Valkey,
}

impl Kind {
    /// The server's program: from the environment, from what `make test` unpacked, or from `PATH`.
    pub fn binary(self) -> Option<PathBuf> {
        let (variable, program) = match self {
            Kind::Redis => ("REDIS_SERVER", "redis-server"),
            Kind::Valkey => ("VALKEY_SERVER", "valkey-server"),
        };
        let named = env::var_os(variable).filter(|path| !path.is_empty());
        if let Some(path) = named.as_ref().map(Path::new).filter(|path| path.components().count() > 1) {
            // Absolute, since each server runs in a directory of its own; but with its links as they are: Debian's
            // redis-server is a link to redis-check-rdb, a program that acts by the name it is called by.
            return std::path::absolute(path).ok();
        }
        let unpacked = project_root().join(".servers").join(program);
        if named.is_none() && unpacked.is_file() {
            return Some(unpacked);
        }
        let program = named.unwrap_or_else(|| program.into());
        env::split_paths(&env::var_os("PATH")?).map(|directory| directory.join(&program)).find(|path| path.is_file())
    }

    /// Only the second server may be missing, and only on a person's machine.
    pub fn is_available_or_skip(self, test: &str) -> bool {
        if self.binary().is_some() || self == Kind::Redis {
            return true;
        }
        assert!(
            env::var("CI").as_deref() != Ok("true"),
            "no valkey-server, and CI=true: run `make test`, or set VALKEY_SERVER"
        );
        skip(test, "no valkey-server (`make test` fetches one, or set VALKEY_SERVER)");
        false
    }

    /// All servers of this kind that are here, the one that is tested and those of `make test-servers`.
    pub fn programs(self) -> Vec<PathBuf> {
        let (prefix, program) = match self {
            Kind::Redis => ("redis-", "redis-server"),
            Kind::Valkey => ("valkey-", "valkey-server"),
        };
        let fetched = std::fs::read_dir(project_root().join(".servers")).into_iter().flatten().flatten();
        let fetched = fetched
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
            .map(|entry| entry.path().join(program))
            .filter(|path| path.is_file());
        self.binary().into_iter().chain(fetched).collect()
    }
}

/// Says why a test is left out.
pub fn skip(test: &str, reason: &str) {
    // Not eprintln!, whose output the test harness hides when a test passes.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
}

/// The program redis-cli: as `REDIS_CLI` says, beside the Redis server, or from `PATH`.
pub fn redis_cli() -> PathBuf {
    if let Some(path) = env::var_os("REDIS_CLI").filter(|path| !path.is_empty()) {
        return path.into();
    }
    let beside = Kind::Redis.binary().map(|server| server.with_file_name("redis-cli"));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| "redis-cli".into())
}

/// The module under test: the one that people load, not a debug build of it. `REDIS_RANK_SO` names one; without it, as in a
/// plain `cargo test`, it is built first, so that nobody tests yesterday's.
pub fn module_path() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = match env::var_os("REDIS_RANK_SO").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => BUILT.get_or_init(build).clone(),
    };
    // Absolute, since each server runs in a directory of its own.
    path.canonicalize().unwrap_or_else(|_| panic!("there is no module at {}: run `make build`", path.display()))
}

fn build() -> PathBuf {
    // Not eprintln!, whose output the test harness hides.
    let _ = writeln!(std::io::stderr(), "REDIS_RANK_SO is not set: building the module with cargo build --release");
    let status = Command::new(env!("CARGO")).args(["build", "--release", "--lib"]).current_dir(project_root()).status();
    assert!(status.is_ok_and(|status| status.success()), "the module does not build: run `make build`");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| project_root().join("target"), PathBuf::from);
    target.join("release").join(format!("{DLL_PREFIX}redis_rank{DLL_SUFFIX}"))
}

fn project_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
