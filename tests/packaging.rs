//! What `make install`, `make tarball` and `make deb` leave: all that belongs to it, and a module that loads.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;
use std::process::Command;

use crate::support::programs::*;
use crate::support::*;

/// What they bring besides the module and the folders of documents.
const DOCUMENTS: [&str; 6] =
    ["CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", "redis.conf.example"];

on_every_server! {
    fn the_installed_module_loads(kind: Kind) {
        let dir = tempfile::tempdir().expect("a directory");
        let destination = format!("DESTDIR={}", path(dir.path()));
        make(&["install", &destination]);
        // Where Debian's unit allows code to be loaded from.
        let module = dir.path().join("usr/lib/redis/modules").join(module_name());
        assert_documents(&dir.path().join("usr/share/doc/redis-rank"));
        assert_loads(kind, &module);
        make(&["uninstall", &destination]);
        assert!(!module.exists() && !dir.path().join("usr/share/doc/redis-rank").exists());
    }
}

#[test]
fn the_tarball_is_complete() {
    let dir = tempfile::tempdir().expect("a directory");
    make(&["tarball", &format!("DIST_DIR={}", path(dir.path()))]);
    let all = names(dir.path());
    let [symbols, tarball] = &all[..] else { panic!("{all:?} in place of two files") };
    let name = tarball.strip_suffix(".tar.gz").expect("a tarball");
    assert_eq!(symbols, &format!("{name}.debug"));
    let start =
        format!("redis-rank-{}-{}", env!("CARGO_PKG_VERSION"), if cfg!(target_os = "linux") { "linux-" } else { "" });
    assert!(name.starts_with(&start), "{name}");

    run(Command::new("tar").arg("-xzf").arg(dir.path().join(tarball)).arg("-C").arg(dir.path()));
    let unpacked = dir.path().join(name);
    assert_documents(&unpacked);
    let module = module_name();
    assert_eq!(names(&unpacked).len(), DOCUMENTS.len() + ["docs", "examples", "clients", &module].len());
    let stripped = std::fs::metadata(unpacked.join(&module)).expect("the module").len();
    assert!(stripped < std::fs::metadata(module_path()).expect("the module here").len(), "symbols are still in it");
    // A debugger finds the symbols by the name that the module has for them.
    let bytes = std::fs::read(unpacked.join(&module)).expect("the module");
    assert!(bytes.windows(symbols.len()).any(|name| name == symbols.as_bytes()), "no link to {symbols}");
    assert_links(&unpacked);
    assert_loads(Kind::Redis, &unpacked.join(module));
}

/// In a copy of this system that is gone afterwards, and under what Debian's unit says of executable files.
#[test]
#[cfg(target_os = "linux")]
fn the_debian_package_installs_loads_upgrades_and_leaves() {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let has_dpkg = Command::new("dpkg-shlibdeps").arg("--version").output().is_ok();
    let has_server = Path::new("/usr/bin/redis-check-rdb").is_file();
    if !is_root || !has_dpkg || !has_server {
        // With another server than Debian's, the package is not what is being tested.
        let may_skip = std::env::var("CI").as_deref() != Ok("true") || std::env::var_os("REDIS_SERVER").is_some();
        assert!(may_skip, "CI runs as root, on Debian");
        eprintln!("skipped: needs root, and Debian's dpkg-dev and redis-tools");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let directory = format!("DIST_DIR={}", path(dir.path()));
    make(&["deb", &directory, "VERSION=0.0.1"]);
    make(&["deb", &directory]);
    let packages = names(dir.path());
    let [older, newer] = &packages[..] else { panic!("{packages:?} in place of two packages") };
    assert!(newer.starts_with(&format!("redis-rank_{}_", env!("CARGO_PKG_VERSION"))), "{newer}");
    run(Command::new("scripts/test-deb.sh").args([dir.path().join(older), dir.path().join(newer)]).current_dir(root()));
}

#[test]
fn installing_what_was_not_built_fails_and_says_so() {
    let output = make_command(&["install", "REDIS_RANK_SO=/no/such.so", "DESTDIR=/no/such"]).output().expect("make");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && message.contains("/no/such.so does not exist: run make build first"),
        "{message}"
    );
}

/// What has changed since, then what is in this version; and the clients have the version of the module.
#[test]
fn one_version_everywhere() {
    let version = env!("CARGO_PKG_VERSION");
    let read =
        |file: &str| std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let changes = read("CHANGELOG.md");
    let mut headings = changes.lines().filter_map(|line| line.strip_prefix("## ")).filter(|name| *name != "Unreleased");
    assert_eq!(headings.next(), Some(version));
    assert!(read("clients/python/pyproject.toml").contains(&format!("\nversion = \"{version}\"\n")));
    assert!(read("clients/javascript/package.json").contains(&format!("\"version\": \"{version}\"")));
    let oldest_rust = concat!("RUSTUP_TOOLCHAIN: \"", env!("CARGO_PKG_RUST_VERSION"), "\"");
    assert!(read(".github/workflows/test.yml").contains(oldest_rust), "another compiler is tested");
}

/// The module loads from there, works, and has the version that Cargo.toml says: 1.2.3 is 10203.
#[track_caller]
pub fn assert_loads(kind: Kind, module: &Path) {
    let server = Server::builder(kind).without_module().config(&format!("loadmodule {}", path(module))).start();
    let mut con = server.connect();
    let number = |part: &str| part.parse::<u32>().expect("a number");
    let version = number(env!("CARGO_PKG_VERSION_MAJOR")) * 10_000
        + number(env!("CARGO_PKG_VERSION_MINOR")) * 100
        + number(env!("CARGO_PKG_VERSION_PATCH"));
    let modules = reply(&mut con, "MODULE LIST");
    assert!(modules.contains(&format!(r#""name", "rank", "ver", {version},"#)), "{modules}");
    expect(&mut con, "RANK.ADD board 5 ann", "1");
}

/// The documents are there as they are here, with all of docs/.
#[track_caller]
fn assert_documents(dir: &Path) {
    for name in DOCUMENTS {
        let here = std::fs::read(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let there = std::fs::read(dir.join(name)).unwrap_or_else(|error| panic!("the installed {name}: {error}"));
        assert!(here == there && !here.is_empty(), "{name} is not what it should be");
    }
    for folder in ["docs", "examples", "clients"] {
        let mut diff = Command::new("diff");
        run(diff
            .args(["-r", "-x", "node_modules", "-x", "__pycache__", "-x", ".*", "-x", "dist"])
            .arg(root().join(folder))
            .arg(dir.join(folder)));
    }
}

/// Every link of the documents to a file leads to one.
#[track_caller]
fn assert_links(dir: &Path) {
    for entry in dir.read_dir().expect("a directory").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            assert_links(&entry);
        } else if entry.extension().is_some_and(|extension| extension == "md") {
            let text = std::fs::read_to_string(&entry).expect("text");
            let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
            for link in links.filter(|link| !link.contains("://")) {
                assert!(dir.join(link).exists(), "{}: there is no {link}", entry.display());
            }
        }
    }
}

fn module_name() -> String {
    format!("{DLL_PREFIX}redis_rank{DLL_SUFFIX}")
}
