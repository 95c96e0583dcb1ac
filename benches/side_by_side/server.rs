//! Servers, each in a directory of its own, that end with this process.

use std::env;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use redis::{Connection, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

/// The servers that are measured, and where they are: see scripts/servers.sh.
const KNOWN: &[(&str, &str)] = &[
    ("redis-7.0", "redis-server"),
    ("redis-8.6", ".servers/redis-8.6/redis-server"),
    ("valkey-9.1", ".servers/valkey-9.1/valkey-server"),
];
const PATIENCE: Duration = Duration::from_secs(30);

/// Who hears of every write besides the client that makes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Setting {
    Quiet,
    /// An append-only file, synced every second.
    Aof,
    /// A second server on the same machine, without the module.
    Replica,
}

pub const SETTINGS: [Setting; 3] = [Setting::Quiet, Setting::Aof, Setting::Replica];

pub struct Server {
    dir: TempDir,
    port: u16,
    /// A shell that ends the server, and removes its directory, as soon as its input ends: however this process ends.
    guard: Child,
}

impl Server {
    pub fn start(program: &Path, lines: &[String]) -> Server {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
        let mut text = format!(
            "dir {}\nunixsocket {}\nbind 127.0.0.1\nport {port}\nsave \"\"\nrepl-diskless-sync-delay 0\n",
            dir.path().display(),
            dir.path().join("s").display()
        );
        lines.iter().for_each(|line| text += &format!("{line}\n"));
        fs::write(dir.path().join("conf"), text).expect("a configuration file");
        let log = File::create(dir.path().join("log")).expect("a log");
        let guard = Command::new("sh")
            .args(["-c", "\"$1\" \"$2/conf\" & read -r _; kill -9 $!; rm -rf \"$2\"", "guard"])
            .arg(program)
            .arg(dir.path())
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("the log again"))
            .stderr(log)
            .spawn()
            .expect("a shell");
        let server = Server { dir, port, guard };
        let start = Instant::now();
        while !server.try_connect().is_ok_and(|mut con| redis::cmd("PING").query::<String>(&mut con).is_ok()) {
            if start.elapsed() > PATIENCE {
                let log = fs::read_to_string(server.dir.path().join("log")).unwrap_or_default();
                panic!("{} did not start:\n{log}", program.display());
            }
            thread::sleep(Duration::from_millis(5));
        }
        server
    }

    /// With the module; and its replica.
    pub fn with(program: &Path, setting: Setting) -> (Server, Option<Server>) {
        // A replica that falls behind while boards are filled must not be thrown out.
        let unbounded = || "client-output-buffer-limit replica 0 0 0".to_owned();
        let mut lines = vec![format!("loadmodule {}", module().display()), unbounded()];
        if setting == Setting::Aof {
            // A rewrite is a fork now and then, which would hit one side of a round alone.
            lines.extend(["appendonly yes", "appendfsync everysec", "auto-aof-rewrite-percentage 0"].map(String::from));
        }
        let server = Server::start(program, &lines);
        let replica = (setting == Setting::Replica).then(|| {
            let replica = Server::start(program, &[format!("replicaof 127.0.0.1 {}", server.port), unbounded()]);
            let start = Instant::now();
            while replica.info("master_link_status") != "up" {
                assert!(start.elapsed() < PATIENCE, "the replica did not connect");
                thread::sleep(Duration::from_millis(5));
            }
            replica
        });
        (server, replica)
    }

    pub fn connect(&self) -> Connection {
        self.try_connect().expect("the server accepts connections")
    }

    fn try_connect(&self) -> redis::RedisResult<Connection> {
        let settings = RedisConnectionInfo::default().set_skip_set_lib_name();
        let info = ConnectionAddr::Unix(self.dir.path().join("s")).into_connection_info()?;
        redis::Client::open(info.set_redis_settings(settings))?.get_connection()
    }

    pub fn info(&self, field: &str) -> String {
        let info: String = redis::cmd("INFO").query(&mut self.connect()).expect("INFO");
        let value = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        value.unwrap_or_default().into()
    }

    /// `Redis 7.0.15`
    pub fn name(&self) -> String {
        match self.info("valkey_version").as_str() {
            "" => format!("Redis {}", self.info("redis_version")),
            version => format!("Valkey {version}"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        // It has ended in any case.
        let _ = self.guard.wait();
    }
}

/// The programs with these names or paths; without any, all that are known. Those that are not there are the error.
pub fn programs(names: &[String]) -> Vec<Result<PathBuf, String>> {
    let known = KNOWN.iter().map(|(name, _)| name.to_string()).collect();
    let names = if names.is_empty() { known } else { names.to_vec() };
    names.iter().map(|name| program(name)).collect()
}

fn program(name: &str) -> Result<PathBuf, String> {
    let path = match (KNOWN.iter().find(|(known, _)| *known == name), env::var_os("REDIS_SERVER")) {
        (Some((_, "redis-server")), Some(path)) if !path.is_empty() => path.into(),
        (Some((_, path)), _) => PathBuf::from(path),
        (None, _) => PathBuf::from(name),
    };
    let runs = Command::new(&path).arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !runs {
        return Err(format!("{name}: {} cannot be run (see scripts/servers.sh)", path.display()));
    }
    // A name without a directory is looked up by the shell.
    Ok(if path.components().count() > 1 { std::path::absolute(&path).expect("a directory") } else { path })
}

fn module() -> PathBuf {
    let path = env::var_os("REDIS_RANK_SO").map_or_else(|| "target/release/libredis_rank.so".into(), PathBuf::from);
    path.canonicalize().unwrap_or_else(|_| panic!("there is no module at {}: run make build", path.display()))
}
