//! The clients in clients/ and the programs in examples/, against real servers: each as its users use it.

use std::env;
use std::process::{Command, Stdio};

use crate::support::programs::*;
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

/// What each of the examples of delayed jobs prints.
const MAILS: &str = "\
mail:ann, attempt 1: Hello Ann
mail:bob, attempt 1: the mail server is busy
mail:eve, attempt 1: Hello Eve
mail:bob, attempt 2: Hello Bob
";

const PYTEST: [&str; 5] = ["-m", "pytest", "-q", "-pno:cacheprovider", "clients/python/tests"];

on_every_server! {
    fn the_python_client_works(kind: Kind) {
        let Some(mut command) = python_with(".servers/python") else { return };
        output(with_server(&mut command, kind).args(PYTEST));
    }

    fn the_javascript_client_works(kind: Kind) {
        let Some(mut command) = javascript("clients/javascript") else { return };
        output(with_server(&mut command, kind).arg("clients/javascript/test/run.js"));
    }

    fn boards_over_many_keys_survive_in_python(kind: Kind) {
        let Some(mut command) = python_with(".servers/python") else { return };
        test_failover(kind, command.args(["-W", "ignore", "-m", "unittest", "-f", "failover"]));
    }

    fn the_python_example_works(kind: Kind) {
        let Some(mut command) = python("examples/python/leaderboard.py") else { return };
        let server = Server::builder(kind).tcp().start();
        assert_prints_the_result(command.arg(url(&server)));
    }

    fn the_python_example_works_in_a_cluster(kind: Kind) {
        let Some(mut command) = python("examples/python/leaderboard.py") else { return };
        let cluster = Cluster::start(kind, false);
        assert_prints_the_result(command.arg("--cluster").arg(url(&cluster.nodes[0])));
        let used = cluster.nodes.iter().filter(|node| reply(&mut node.connect(), "DBSIZE") != "0").count();
        assert!(used > 1, "all keys are on one node");
    }

    fn the_javascript_example_works(kind: Kind) {
        let Some(mut command) = javascript("examples/javascript") else { return };
        let server = Server::builder(kind).tcp().start();
        assert_prints_the_result(command.arg("examples/javascript/leaderboard.js").arg(url(&server)));
    }

    fn the_examples_of_delayed_jobs_work(kind: Kind) {
        let server = Server::builder(kind).tcp().start();
        let programs = [
            python("examples/python/jobs.py"),
            javascript("examples/javascript").map(|mut node| {
                node.arg("examples/javascript/jobs.js");
                node
            }),
        ];
        for mut command in programs.into_iter().flatten() {
            assert_eq!(output(command.arg(url(&server)).stderr(Stdio::null())), MAILS);
            expect(&mut server.connect(), "DBSIZE", "0");
        }
    }

    fn the_rust_program_for_any_client_works(kind: Kind) {
        let server = Server::builder(kind).tcp().start();
        assert_eq!(output(rust("any_client").env("REDIS_URL", url(&server))), "1 bob 70\n2 ann 50\nallowed\n");
        // The page shows what runs.
        let program = include_str!("../examples/rust/any_client.rs").split_once("\n\n").expect("a program").1;
        assert!(include_str!("../docs/guides/any-client.md").contains(&format!("```rust\n{program}```\n")));
    }

    fn the_rust_example_works(kind: Kind) {
        let server = Server::builder(kind).tcp().start();
        assert_prints_the_result(rust("leaderboard").env("REDIS_URL", url(&server)));
    }
}

/// On one server: what differs is redis-py, not the server.
#[test]
fn the_python_client_works_with_the_oldest_redis_py() {
    let Some(mut command) = python_with(".servers/python-oldest") else { return };
    // Types and packages are tested with the newest, and hiredis too.
    let options = ["--ignore=clients/python/tests/test_package.py"];
    output(with_server(&mut command, Kind::Redis).env("WITHOUT_HIREDIS", "1").args(PYTEST).args(options));
}

/// A bundler renames classes and functions. The libraries are what differs, not the server.
#[test]
fn the_javascript_client_works_bundled_and_minified() {
    let Some(mut command) = javascript("clients/javascript") else { return };
    let tests = ["board", "declared", "rate"].map(|name| format!("clients/javascript/test/{name}.test.js"));
    output(with_server(&mut command, Kind::Redis).args(["clients/javascript/test/run.js", "--bundled"]).args(tests));
}

/// Tests of a client start servers themselves.
fn with_server(command: &mut Command, kind: Kind) -> &mut Command {
    command.env("REDIS_SERVER", kind.binary().expect("a server")).env("REDIS_RANK_SO", module_path())
}

/// Runs a program that moves slots and shuts down nodes of a cluster.
#[track_caller]
fn test_failover(kind: Kind, command: &mut Command) {
    let mut cluster = Cluster::start_with(kind, true, |builder| builder.config("cluster-node-timeout 2000"));
    // The first nodes are primaries, of which two will end.
    let url = url(&cluster.nodes[2]);
    output(command.env("REDIS_URL", &url).env("REDIS_CLUSTER_URL", &url));
    cluster.nodes.iter_mut().for_each(Server::kill9);
}

#[track_caller]
fn assert_prints_the_result(command: &mut Command) {
    let printed = output(command);
    assert!(printed == RESULT, "{command:?} printed\n{printed}\ninstead of\n{RESULT}");
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
