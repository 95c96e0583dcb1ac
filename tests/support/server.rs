//! A server process, with a directory of its own, that ends with its guard.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use redis::{Connection, ConnectionAddr, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo, RedisError};
use tempfile::TempDir;

use super::binaries::{module_path, Kind};
use super::reply::{cmd, quoted, reply};
use super::{deadline, server_wrapper, wait_until, POLL};

/// How many lines of its log a server that failed, or whose test failed, shows.
const LOG_TAIL: usize = 40;

const PORT_ATTEMPTS: usize = 10;

/// What to start. Unless told otherwise: with the module, without load arguments, on a unix socket
/// alone (so tests run in parallel without a race for ports), saving nothing by itself.
#[derive(Clone)]
pub struct Builder {
    kind: Kind,
    /// The load arguments; `None` starts the server without the module.
    module: Option<Vec<String>>,
    config: Vec<String>,
    /// Environment variables of the process.
    variables: Vec<(String, String)>,
    tcp: bool,
    /// Whether that port speaks TLS.
    tls: bool,
    /// Another program than the one that is tested.
    program: Option<PathBuf>,
    /// What follows the configuration file on the command line.
    words: Vec<String>,
    /// Another build of the module than the one that is tested.
    build: Option<PathBuf>,
}

impl Builder {
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Load arguments of the module.
    pub fn args(mut self, args: &[&str]) -> Self {
        self.module = Some(args.iter().map(|arg| arg.to_string()).collect());
        self
    }

    pub fn without_module(mut self) -> Self {
        self.module = None;
        self
    }

    /// One more line of configuration, as a file has it: `maxmemory 10mb`.
    pub fn config(mut self, line: &str) -> Self {
        self.config.push(line.into());
        self
    }

    pub fn appendonly(self) -> Self {
        self.config("appendonly yes")
    }

    /// Listens on a free port of the loopback interface too, as a primary of replicas must.
    pub fn tcp(mut self) -> Self {
        self.tcp = true;
        self
    }

    /// The same port, but over TLS alone, with what [`super::Certificates::config`] says; replication too.
    pub fn tls(mut self) -> Self {
        (self.tcp, self.tls) = (true, true);
        self.config("tls-replication yes")
    }

    /// A server of another version.
    pub fn program(mut self, program: PathBuf) -> Self {
        self.program = Some(program);
        self
    }

    /// A server with another build of the module.
    pub fn build(mut self, path: PathBuf) -> Self {
        self.build = Some(path);
        self
    }

    /// A Sentinel that watches `primary`, under the name `ours`.
    pub fn sentinel_of(mut self, primary: &Server, quorum: usize) -> Self {
        self.words.push("--sentinel".into());
        self.without_module().tcp().config(&format!("sentinel monitor ours 127.0.0.1 {} {quorum}", primary.port()))
    }

    /// A replica of `primary`, which must have been started with [`Builder::tcp`].
    pub fn replica_of(self, primary: &Server) -> Self {
        self.config(&format!("replicaof 127.0.0.1 {}", primary.port()))
    }

    #[track_caller]
    pub fn start(self) -> Server {
        self.try_start().unwrap_or_else(|log| panic!("the server did not start:\n{log}"))
    }

    /// For servers that should refuse to start: the error is the end of the log.
    pub fn try_start(self) -> Result<Server, String> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut server = Server { options: self, dir, port: None, process: None };
        for _ in 0..PORT_ATTEMPTS {
            server.port = None;
            server.write_config();
            match server.spawn() {
                // Somebody else took the port between our finding it and the server's binding it.
                Err(log) if server.options.tcp && log.contains("Address already in use") => {
                    fs::remove_file(server.log_path()).expect("the log can go");
                }
                Err(log) => return Err(log),
                Ok(()) => return Ok(server),
            }
        }
        Err(format!("no port was free in {PORT_ATTEMPTS} attempts"))
    }

    /// A file, not the command line, so that `CONFIG REWRITE` works and outlives a restart.
    pub(super) fn config_text(&self, dir: &Path, socket: &Path, port: Option<u16>) -> String {
        let path = |path: &Path| quoted(path.to_str().expect("a UTF-8 path").as_bytes());
        let mut lines = vec![
            format!("dir {}", path(dir)),
            format!("unixsocket {}", path(socket)),
            "bind 127.0.0.1".into(),
            format!("port {}", port.filter(|_| !self.tls).unwrap_or(0)),
            "save \"\"".into(),
            "enable-debug-command yes".into(),
            "enable-module-command yes".into(),
            // The default lets a replica wait five seconds for others to come.
            "repl-diskless-sync-delay 0".into(),
        ];
        if let Some(args) = &self.module {
            let args = args.iter().map(|arg| quoted(arg.as_bytes()));
            let module = self.build.clone().unwrap_or_else(module_path);
            let words: Vec<String> = std::iter::once(path(&module)).chain(args).collect();
            lines.push(format!("loadmodule {}", words.join(" ")));
        }
        lines.extend(port.filter(|_| self.tls).map(|port| format!("tls-port {port}")));
        lines.extend(self.config.iter().cloned());
        lines.join("\n") + "\n"
    }
}

/// A running server; dropping it ends the process and removes its directory.
pub struct Server {
    options: Builder,
    dir: TempDir,
    port: Option<u16>,
    /// `None` after [`Server::kill9`] and [`Server::shutdown_save`].
    process: Option<Process>,
}

impl Server {
    pub fn builder(kind: Kind) -> Builder {
        Builder {
            kind,
            module: Some(Vec::new()),
            config: Vec::new(),
            variables: Vec::new(),
            tcp: false,
            tls: false,
            program: None,
            words: Vec::new(),
            build: None,
        }
    }

    pub fn kind(&self) -> Kind {
        self.options.kind
    }

    /// Where the server keeps its files.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    #[track_caller]
    pub fn port(&self) -> u16 {
        self.port.expect("this server was started without .tcp()")
    }

    /// The id of the process.
    #[track_caller]
    pub fn process_id(&self) -> u32 {
        self.process.as_ref().expect("a running server").child.id()
    }

    pub fn log(&self) -> String {
        let bytes = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// How often the module panicked, for a test that made it do so. The log is emptied: any other panic fails its test.
    pub fn take_panics(&self) -> usize {
        let panics = self.log().matches("panicked at").count();
        fs::write(self.log_path(), "").expect("the log can be emptied");
        panics
    }

    /// A connection that speaks RESP2.
    #[track_caller]
    pub fn connect(&self) -> Connection {
        self.try_connect(ProtocolVersion::RESP2).unwrap_or_else(|error| panic!("cannot connect: {error}"))
    }

    #[track_caller]
    pub fn connect_resp3(&self) -> Connection {
        self.try_connect(ProtocolVersion::RESP3).unwrap_or_else(|error| panic!("cannot connect: {error}"))
    }

    fn try_connect(&self, protocol: ProtocolVersion) -> Result<Connection, RedisError> {
        connect_to(self.socket(), protocol)
    }

    /// A field of `INFO`, such as `used_memory`.
    #[track_caller]
    pub fn info(&self, field: &str) -> String {
        let [value] = self.infos([field]);
        value
    }

    /// Several fields of the same `INFO`: what two calls say need never have been true at one time.
    #[track_caller]
    pub fn infos<const N: usize>(&self, fields: [&str; N]) -> [String; N] {
        let info = match cmd(&mut self.connect(), "INFO everything") {
            Ok(redis::Value::BulkString(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            other => panic!("INFO replied {other:?}"),
        };
        fields.map(|field| {
            info.lines()
                .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
                .unwrap_or_else(|| panic!("INFO has no field {field}:\n{info}"))
                .into()
        })
    }

    /// How many clients wait.
    #[track_caller]
    pub fn blocked(&self) -> usize {
        self.info("blocked_clients").parse().expect("a number")
    }

    /// Waits until the module has looked so many times at keys that clients wait for.
    #[track_caller]
    pub fn wait_for_due_checks(&self, times: u64) {
        let checks = || self.info("rank_due_checks").parse::<u64>().expect("a count");
        let goal = checks() + times;
        wait_until(|| checks() >= goal);
    }

    /// The first two numbers of the server's version.
    #[track_caller]
    pub fn version(&self) -> (u32, u32) {
        let field = match self.kind() {
            Kind::Redis => "redis_version",
            Kind::Valkey => "valkey_version",
        };
        let version = self.info(field);
        let mut numbers = version.split('.').map(|number| number.parse().expect("a number"));
        (numbers.next().expect("a major version"), numbers.next().expect("a minor version"))
    }

    /// Waits until no AOF rewrite runs or is due.
    #[track_caller]
    pub fn wait_for_aof_rewrite(&self) {
        wait_until(|| self.infos(["aof_rewrite_in_progress", "aof_rewrite_scheduled"]) == ["0", "0"]);
    }

    /// Whether this server, as it is configured by default, rewrites its AOF after a full sync and has no complete one until
    /// then: if it is promoted and killed meanwhile, it loses what it acknowledged (docs/guarantees.md).
    #[track_caller]
    pub fn loses_its_aof_in_a_full_sync(&self) -> bool {
        self.kind() == Kind::Redis || self.version() < (9, 1)
    }

    /// Whether signalling a change looks the key up like a client's read, and so counts a hit or a miss, as Redis 8.6 does
    /// until redis/redis#14925. Tried out, since a later 8.6 may have it fixed.
    #[track_caller]
    pub fn signals_count_as_look_ups(&self) -> bool {
        if self.kind() == Kind::Valkey || self.version() < (8, 6) {
            return false;
        }
        let mut con = self.connect();
        let hits = self.info("keyspace_hits");
        assert!(reply(&mut con, "RATE.CHECK probe 1 1h").starts_with("[0, "));
        let has_counted = self.info("keyspace_hits") != hits;
        assert_eq!(reply(&mut con, "DEL probe"), "1");
        has_counted
    }

    /// Whether the module is loaded; a server may have others of its own.
    #[track_caller]
    pub fn has_module(&self) -> bool {
        let modules = reply(&mut self.connect(), "MODULE LIST");
        assert!(modules.starts_with('['), "MODULE LIST replied {modules}");
        modules.contains(r#""name", "rank""#)
    }

    /// Waits until this replica has all that `primary` has written up to now.
    #[track_caller]
    pub fn wait_for_sync(&self, primary: &Server) {
        let offset = |server: &Server, field| server.info(field).parse::<u64>().expect("an offset");
        let goal = offset(primary, "master_repl_offset");
        wait_until(|| self.info("master_link_status") == "up" && offset(self, "slave_repl_offset") >= goal);
    }

    /// Sends a signal, such as `SIGSTOP`.
    #[track_caller]
    pub fn signal(&self, signal: libc::c_int) {
        // SAFETY: a signal to a process that this guard started, and that it has not waited for.
        let status = unsafe { libc::kill(self.process_id() as libc::pid_t, signal) };
        assert_eq!(status, 0);
    }

    /// Ends the server as a power cut would.
    pub fn kill9(&mut self) {
        drop(self.process.take().expect("a running server"));
    }

    /// Ends the server as an operator would, leaving an RDB file.
    #[track_caller]
    pub fn shutdown_save(&mut self) {
        let mut process = self.process.take().expect("a running server");
        let answer = reply(&mut self.connect(), "SHUTDOWN SAVE");
        assert!(answer.starts_with("CLIENT"), "SHUTDOWN SAVE: {answer}");
        wait_until(|| process.has_ended());
    }

    /// Starts the server again on the same files; one that still runs is shut down with
    /// [`Server::shutdown_save`] first.
    #[track_caller]
    pub fn restart(&mut self) {
        if self.process.is_some() {
            self.shutdown_save();
        }
        self.spawn().unwrap_or_else(|log| panic!("the server did not start again:\n{log}"));
    }

    /// [`Server::restart`] with other options, for example without the module.
    #[track_caller]
    pub fn restart_with(&mut self, change: impl FnOnce(Builder) -> Builder) {
        if self.process.is_some() {
            self.shutdown_save();
        }
        self.options = change(self.options.clone());
        self.write_config();
        self.restart();
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_TAIL)..].join("\n")
    }

    fn write_config(&mut self) {
        if self.options.tcp {
            // A restart keeps the port: replicas know it.
            self.port.get_or_insert_with(free_port);
        }
        let text = self.options.config_text(self.dir(), &self.socket(), self.port);
        fs::write(self.dir().join("conf"), text).expect("a configuration file");
    }

    /// Starts the process and waits until it serves; the error is the end of its log.
    fn spawn(&mut self) -> Result<(), String> {
        let program = self.options.program.clone();
        let binary = program
            .or_else(|| self.options.kind.binary())
            .ok_or_else(|| format!("there is no {:?} server here: run `make test`", self.options.kind))?;
        let log = File::options().create(true).append(true).open(self.log_path());
        let log = log.expect("a log file");
        let mut words = server_wrapper().unwrap_or_default().into_iter();
        let mut command = match words.next() {
            Some(wrapper) => {
                let mut command = Command::new(wrapper);
                command.args(words).arg(&binary);
                command
            }
            None => Command::new(&binary),
        };
        let child = command
            .arg(self.dir().join("conf"))
            .args(&self.options.words)
            .current_dir(self.dir())
            // Redis refuses to start where LANG names a locale that is not installed.
            .env("LC_ALL", "C")
            .envs(self.options.variables.iter().cloned())
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle of the log"))
            .stderr(log)
            .spawn()
            .map_err(|error| format!("{}: {error}", binary.display()))?;
        self.process = Some(Process::guard(child, self.dir.path()));

        let start = Instant::now();
        while !self.serves() {
            let ended = self.process.as_mut().is_none_or(Process::has_ended);
            if ended || start.elapsed() > deadline() {
                self.process = None;
                return Err(self.log_tail());
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Whether the server answers, and not that it is loading its data.
    fn serves(&self) -> bool {
        self.try_connect(ProtocolVersion::RESP2).is_ok_and(|mut con| reply(&mut con, "PING") == "+PONG")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that crashes writes its report first: it may still be there. A panic in the module ends no server, and
        // no test should have caused one.
        let crashed = self.process.as_mut().is_some_and(Process::has_ended)
            || self.log().contains("BUG REPORT START")
            || self.log().contains("panicked at");
        if std::thread::panicking() {
            eprintln!("--- the end of the {:?} server's log ---\n{}", self.kind(), self.log_tail());
        } else if crashed {
            // A test that did not look at the server after its last command must not pass.
            panic!("the server ended by itself, or a panic of the module's did not end it:\n{}", self.log_tail());
        }
        if let Some(process) = self.process.as_mut().filter(|_| server_wrapper().is_some()) {
            process.end_gently();
        }
    }
}

/// A server process that ends with its guard, and also when the tests are killed before any guard
/// can act.
struct Process {
    child: Child,
    /// Waits for the end of a pipe whose other end dies with this process.
    watchdog: Child,
}

impl Process {
    fn guard(mut child: Child, dir: &Path) -> Self {
        let watchdog = Command::new("sh")
            .args(["-c", "read -r _; kill -9 \"$1\"; rm -rf \"$2\"", "watchdog"])
            .arg(child.id().to_string())
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let watchdog = watchdog.unwrap_or_else(|error| {
            let _ = child.kill();
            panic!("cannot start the watchdog: {error}")
        });
        Process { child, watchdog }
    }

    /// As an operator would, so that what it runs under can say what it saw.
    fn end_gently(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let start = Instant::now();
        while !self.has_ended() && start.elapsed() < deadline() {
            std::thread::sleep(POLL);
        }
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The watchdog first, while the server's id is still the server's. By kill: Child::wait
        // closes the pipe, and the watchdog would take that for our end.
        for process in [&mut self.watchdog, &mut self.child] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A connection to the server with this socket.
pub(super) fn connect_to(socket: PathBuf, protocol: ProtocolVersion) -> Result<Connection, RedisError> {
    // Without CLIENT SETINFO, so that MONITOR and the statistics show the test's commands alone.
    let settings = RedisConnectionInfo::default().set_protocol(protocol).set_skip_set_lib_name();
    let info = ConnectionAddr::Unix(socket).into_connection_info()?.set_redis_settings(settings);
    let con = redis::Client::open(info)?.get_connection()?;
    // A server that hangs fails the test instead of hanging it.
    con.set_read_timeout(Some(deadline()))?;
    Ok(con)
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}
