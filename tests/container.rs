//! The Dockerfile and compose.yaml, without Docker: every step is a copy or a make target, the targets run here, and the
//! servers start as they would in their containers.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use yaml_rust2::{Yaml, YamlLoader};

use crate::clients::can_serve_the_page;
use crate::packaging::{make, make_command, path, root};
use crate::support::*;

/// Where the image is put together.
const STAGE: &str = "/stage";

/// An instruction of the Dockerfile, in the stage that it belongs to.
struct Step {
    stage: String,
    name: String,
    rest: String,
}

/// The instructions: one a line, without comments. `ARG` before the first stage belongs to none.
fn steps() -> Vec<Step> {
    let text = fs::read_to_string(root().join("Dockerfile")).expect("a Dockerfile");
    let mut stage = String::new();
    let mut steps = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        assert!(!line.ends_with('\\') && !line.starts_with(' '), "one line for each instruction: {line}");
        let (name, rest) = line.split_once(' ').unwrap_or_else(|| panic!("an instruction: {line}"));
        if name == "FROM" {
            stage = rest.split(" AS ").nth(1).unwrap_or_else(|| panic!("a stage has a name: {line}")).into();
        }
        steps.push(Step { stage: stage.clone(), name: name.into(), rest: rest.into() });
    }
    steps
}

fn is_stage(name: &str) -> bool {
    steps().iter().any(|step| step.name == "FROM" && step.stage == name)
}

/// The words of `CMD ["a", "b"]`, which is JSON.
fn words(list: &str) -> Vec<String> {
    serde_json::from_str(list).unwrap_or_else(|error| panic!("{list}: {error}"))
}

/// Runs the make targets of the Dockerfile with another place in place of `/stage`.
fn build_in(stage: &Path) {
    for step in steps().iter().filter(|step| step.name == "RUN") {
        let line = step.rest.replace(STAGE, path(stage));
        let args: Vec<&str> = line.strip_prefix("make ").expect("a make target").split(' ').collect();
        // `make test` has built the module before it runs the tests.
        if step.stage == "build" && args != ["build"] {
            make(&args);
        }
    }
}

/// What a server's command line says, as lines of a configuration file, in the way that the server reads them itself.
fn configuration(words: &[String]) -> Vec<String> {
    assert_eq!(words[0], "redis-server");
    let line = words[1..].join(" ");
    line.split("--").skip(1).map(|option| option.trim().to_owned()).collect()
}

#[test]
fn every_step_is_a_make_target_or_a_copy() {
    for Step { stage, name, rest } in steps() {
        let at = format!("{stage}: {name} {rest}");
        match name.as_str() {
            "RUN" => assert_make(&rest),
            "CMD" => {
                let words = words(&rest);
                let is_server =
                    words[0] == "redis-server" && words.iter().any(|word| word.ends_with("libredis_rank.so"));
                assert!(is_server || words[0] == "make", "{at}");
                if words[0] == "make" {
                    assert_make(&words.join(" "));
                }
            }
            "COPY" => {
                let words: Vec<&str> = rest.split(' ').collect();
                let sources = &words[..words.len() - 1];
                match sources[0].strip_prefix("--from=") {
                    Some(from) => assert!(is_stage(from) && sources[1].starts_with(STAGE), "{at}"),
                    None => {
                        sources.iter().for_each(|source| assert!(root().join(source).exists(), "{at}: no {source}"))
                    }
                }
            }
            "ARG" | "FROM" | "WORKDIR" | "HEALTHCHECK" | "ENV" | "EXPOSE" | "USER" => {}
            _ => panic!("what is this? {at}"),
        }
    }
}

/// What is not sent to Docker is not needed by any of its steps, and is not in the repository or is not code.
#[test]
fn what_docker_does_not_see_is_not_needed() {
    let ignored = fs::read_to_string(root().join(".dockerignore")).expect("a .dockerignore");
    let ignored: Vec<&str> = ignored.lines().filter(|line| !line.starts_with('#')).collect();
    let tracked = fs::read_to_string(root().join(".gitignore")).expect("a .gitignore");
    for name in ignored {
        let is_untracked = tracked.lines().any(|line| line.trim_start_matches('/') == name.trim_start_matches("**/"));
        assert!(is_untracked || [".git", "rust-toolchain.toml"].contains(&name), "{name} may be needed");
    }
}

on_every_server! {
    fn the_services_work_together(kind: Kind) {
        let dir = tempfile::tempdir().expect("a directory");
        build_in(dir.path());
        let copy = steps().into_iter().find(|step| step.rest.starts_with("--from=build")).expect("the module is copied");
        let [_, from, to] = copy.rest.split(' ').collect::<Vec<_>>()[..] else { panic!("{}", copy.rest) };
        let there = from.replace(STAGE, path(dir.path()));
        let compose = compose();
        let start = |service: &str, primary: Option<&Server>| {
            let command = strings(&compose["services"][service]["command"]);
            let lines = configuration(&command).into_iter().map(|line| match primary {
                Some(primary) => line.replace("primary 6379", &format!("127.0.0.1 {}", primary.port())),
                None => line,
            });
            lines.fold(Server::builder(kind).without_module().tcp(), |builder, line| builder.config(&line.replace(to, &there))).start()
        };
        let primary = start("primary", None);
        let replica = start("replica", Some(&primary));
        expect(&mut primary.connect(), "RANK.ADD game 50 ann 70 bob", "2");
        replica.wait_for_sync(&primary);
        expect(&mut replica.connect(), "RANK.GET game ann", r#"[2, "ann", "50"]"#);
        assert_eq!(primary.info("aof_enabled"), "1");

        // Healthy with and without a password, and not when there is no server.
        let check = steps().into_iter().find(|step| step.name == "HEALTHCHECK" && step.stage == "server").expect("a check");
        let check = check.rest.split_once("CMD ").expect("a command").1.to_owned();
        let is_healthy = |port: u16| {
            let here = check.replace("redis-cli", &format!("{} -p {port}", redis_cli().display()));
            Command::new("sh").args(["-c", &here]).status().expect("a shell").success()
        };
        assert!(is_healthy(primary.port()) && is_healthy(replica.port()));
        expect(&mut primary.connect(), "CONFIG SET requirepass secret", "+OK");
        assert!(is_healthy(primary.port()));
        let port = primary.port();
        drop(primary);
        assert!(!is_healthy(port));
    }
}

on_every_server! {
    fn the_page_works_with_a_server_elsewhere(kind: Kind) {
        if !can_serve_the_page() {
            return;
        }
        let setup = steps().into_iter().find(|step| step.name == "RUN" && step.stage == "page").expect("a step");
        make(&[setup.rest.strip_prefix("make ").expect("a make target")]);
        let primary = Server::builder(kind).tcp().start();
        let compose = compose();
        let page = &compose["services"]["page"];
        let words = strings(&page["command"]);
        let port = TcpListener::bind("127.0.0.1:0").and_then(|probe| probe.local_addr()).expect("a port").port();
        let mut command = make_command(&words[1..].iter().map(String::as_str).collect::<Vec<_>>());
        for (name, value) in page["environment"].as_hash().expect("an environment") {
            let value = value.as_str().expect("a string").replace("primary:6379", &format!("127.0.0.1:{}", primary.port()));
            command.env(name.as_str().expect("a name"), value);
        }
        let running = Running(command.env("WEB_PORT", port.to_string()).stdout(Stdio::null()).spawn().expect("make"));
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
        let check = steps().into_iter().find(|step| step.name == "HEALTHCHECK" && step.stage == "page").expect("a check");
        let check = check.rest.split_once("CMD ").expect("a command").1.replace("127.0.0.1:8080", &format!("127.0.0.1:{port}"));
        assert!(Command::new("sh").args(["-c", &check]).status().expect("a shell").success());
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

#[test]
fn the_services_are_built_here_and_only_this_machine_reaches_them() {
    let compose = compose();
    let services = compose["services"].as_hash().expect("services");
    let names: Vec<&str> = services.keys().filter_map(Yaml::as_str).collect();
    for (name, service) in services {
        let name = name.as_str().expect("a name");
        let target = service["build"]["target"].as_str().expect("a stage");
        assert!(is_stage(target) && service["build"]["context"].as_str() == Some("."), "{name}");
        let has_check = steps().iter().any(|step| step.name == "HEALTHCHECK" && step.stage == target);
        assert!(has_check, "{name} is waited for, and has no check");
        let commands = strings(&service["command"]);
        assert!(
            commands.is_empty() || ["redis-server", "make"].contains(&commands[0].as_str()),
            "{name}: {commands:?}"
        );
        for port in strings(&service["ports"]) {
            assert!(name == "page" && port.starts_with("127.0.0.1:"), "{name} publishes {port}");
        }
        for volume in strings(&service["volumes"]) {
            let volume = volume.split(':').next().unwrap_or_default();
            assert!(!compose["volumes"][volume].is_badvalue(), "{name}: the volume {volume} is not declared");
        }
        for needed in service["depends_on"].as_hash().into_iter().flat_map(|needed| needed.keys()) {
            assert!(names.contains(&needed.as_str().expect("a name")), "{name} needs {needed:?}");
        }
    }
}

/// A line is `make`, targets that exist, and variables.
#[track_caller]
pub fn assert_make(line: &str) {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("a Makefile");
    let rest = line.strip_prefix("make ").unwrap_or_else(|| panic!("not a make target: {line}"));
    let (variables, targets): (Vec<&str>, Vec<&str>) = rest.split(' ').partition(|word| word.contains('='));
    assert!(!targets.is_empty(), "{line}");
    for target in targets {
        let is_target = makefile.lines().any(|line| line.starts_with(&format!("{target}:")));
        assert!(is_target, "{line}: the Makefile has no target {target}");
    }
    for variable in variables {
        let name = variable.split('=').next().unwrap_or_default();
        assert!(makefile.contains(&format!("$({name})")), "{line}: the Makefile has no variable {name}");
    }
}

fn compose() -> Yaml {
    yaml("compose.yaml")
}

/// The only document of a YAML file.
pub fn yaml(file: &str) -> Yaml {
    let text = fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut documents = YamlLoader::load_from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert_eq!(documents.len(), 1, "{file}");
    documents.remove(0)
}

/// A list of strings, or nothing.
pub fn strings(yaml: &Yaml) -> Vec<String> {
    yaml.as_vec().into_iter().flatten().map(|word| word.as_str().expect("a string").to_owned()).collect()
}
