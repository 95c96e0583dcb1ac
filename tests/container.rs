//! What the Dockerfiles do, without Docker: their steps are make targets, which run here, and the servers start with the
//! commands that they name. The images themselves are not built here.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::programs::*;
use crate::support::*;

const DOCKERFILES: [&str; 2] = ["Dockerfile", "Dockerfile.alpine"];

/// What follows an instruction, each time that it is in a Dockerfile.
fn instructions(file: &str, name: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(str::to_owned).collect()
}

/// Runs the make targets of a Dockerfile with another place in place of `/stage`, and returns the words of its first
/// `CMD`, which start a server with the module from there.
fn build(file: &str, stage: &Path) -> Vec<String> {
    let steps = instructions(file, "RUN");
    let targets: Vec<&str> = steps.iter().filter_map(|step| step.strip_prefix("make ")).collect();
    assert!(targets.contains(&"build"), "{file}: {steps:?}");
    let is_done = |target: &str| target == "build" || target == "page-setup" && !can_serve_the_page();
    for target in targets.into_iter().filter(|target| !is_done(target)) {
        let line = target.replace("/stage", path(stage));
        make(&line.split(' ').collect::<Vec<_>>());
    }
    let command = instructions(file, "CMD").remove(0);
    let words: Vec<String> = serde_json::from_str(&command).unwrap_or_else(|error| panic!("{file}: {error}"));
    let module = format!("{}/usr/lib/redis/modules/", path(stage));
    words.iter().map(|word| word.replace("/usr/lib/redis/modules/", &module)).collect()
}

on_every_server! {
    fn the_images_start_a_server_with_the_module(kind: Kind) {
        for file in DOCKERFILES {
            let dir = tempfile::tempdir().expect("a directory");
            let words = build(file, dir.path());
            let [program, option, module] = &words[..] else { panic!("{file}: {words:?}") };
            assert_eq!((program.as_str(), option.as_str()), ("redis-server", "--loadmodule"), "{file}");
            let server = Server::builder(kind).without_module().config(&format!("loadmodule {module}")).start();
            expect(&mut server.connect(), "RANK.ADD game 50 ann 70 bob", "2");
        }
    }

    /// Docker asks whether a container is healthy, also with a password, which it does not know.
    fn a_server_is_healthy_when_it_answers(kind: Kind) {
        let server = Server::builder(kind).tcp().start();
        let mut con = server.connect();
        for password in ["", "secret"] {
            expect(&mut con, &format!("CONFIG SET requirepass '{password}'"), "+OK");
            for file in DOCKERFILES {
                let check = instructions(file, "HEALTHCHECK").remove(0);
                let check = check.split_once("CMD ").expect("a command").1.to_owned();
                let is_healthy = |port: u16| {
                    let here = check.replace("redis-cli", &format!("{} -p {port}", redis_cli().display()));
                    Command::new("sh").args(["-c", &here]).status().expect("a shell").success()
                };
                assert!(is_healthy(server.port()) && !is_healthy(1), "{file}");
            }
        }
    }

    fn the_page_works_with_a_server_elsewhere(kind: Kind) {
        if !can_serve_the_page() {
            return;
        }
        let primary = Server::builder(kind).tcp().start();
        let port = TcpListener::bind("127.0.0.1:0").and_then(|probe| probe.local_addr()).expect("a port").port();
        let mut command = make_command(&["page"]);
        command.env("REDIS_URL", format!("redis://127.0.0.1:{}", primary.port()));
        command.env("WEB_HOST", "0.0.0.0").env("WEB_PORT", port.to_string());
        let running = Running(command.stdout(Stdio::null()).spawn().expect("make"));
        // Not 127.0.0.1, since Docker comes to the container from outside.
        let get = || -> Option<String> {
            let mut page = TcpStream::connect(("127.0.0.2", port)).ok()?;
            page.write_all(b"GET / HTTP/1.0\r\nHost: 127.0.0.1:8080\r\n\r\n").ok()?;
            let mut text = String::new();
            page.read_to_string(&mut text).ok()?;
            Some(text)
        };
        wait_until(|| get().is_some_and(|text| text.starts_with("HTTP/1.1 200") && text.contains("<html")));
        wait_until(|| reply(&mut primary.connect(), "DBSIZE") != "0");
        // It ends with what started it.
        drop(running);
        wait_until(|| TcpStream::connect(("127.0.0.1", port)).is_err());
    }
}

/// A program that is ended as Docker ends a container.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}
