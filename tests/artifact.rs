//! What `make dist` builds: it runs on old systems, alone. `make test-dist` builds it and runs this.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::packaging::assert_loads;
use crate::support::programs::*;
use crate::support::*;

/// The oldest C library that it runs with: that of RHEL 7, and older than those of Debian 8 and Ubuntu 14.04.
const GLIBC: [u32; 2] = [2, 17];

/// What belongs to that C library.
const LIBC: [&str; 7] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

#[test]
#[ignore = "make test-dist runs it"]
fn it_needs_nothing_but_an_old_c_library() {
    let output = Command::new("readelf").args(["--wide", "--dynamic", "--version-info"]).arg(module_path()).output();
    let output = output.expect("readelf");
    let text = String::from_utf8_lossy(&output.stdout);
    let needed: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("(NEEDED)"))
        .map(|line| line.split(['[', ']']).nth(1).unwrap_or_else(|| panic!("a library: {line}")))
        .collect();
    assert!(needed.contains(&"libc.so.6") && needed.iter().all(|library| LIBC.contains(library)), "{needed:?}");

    // Lines such as `0x0030:   Name: GLIBC_2.17  Flags: none  Version: 4`.
    let (_, versions) = text.split_once("Version needs section").expect("versions of symbols");
    let versions: BTreeSet<&str> =
        versions.split("Name: ").skip(1).filter_map(|rest| rest.split_whitespace().next()).collect();
    let is_old = |version: &&str| {
        let numbers = version.strip_prefix("GLIBC_").map(|version| version.split('.').map(str::parse).collect());
        matches!(numbers, Some(Ok::<Vec<u32>, _>(numbers)) if numbers[..] <= GLIBC[..])
    };
    assert!(!versions.is_empty() && versions.iter().all(is_old), "{versions:?}");
}

on_every_server! {
    /// In an environment of its own, without a network.
    #[ignore = "make test-dist runs it"]
    fn the_wheel_brings_a_module_that_loads(kind: Kind) {
        let directory = PathBuf::from(env::var_os("RANK_DIST").expect("make test-dist sets RANK_DIST"));
        let start = format!("redis_rank_module-{}-py3-none-manylinux2014_", env!("CARGO_PKG_VERSION"));
        let name = names(&directory).into_iter().find(|name| name.starts_with(&start)).expect("a wheel");
        let dir = tempfile::tempdir().expect("a directory");
        let python = dir.path().join("bin/python");
        run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(dir.path()));
        run(Command::new("python3").args(["-m", "pip", "--python"]).arg(&python)
            .args(["install", "--quiet", "--no-index"]).arg(directory.join(name)));
        let shown = Command::new(&python).args(["-I", "-m", "redis_rank_module"]).output().expect("Python");
        let shown = String::from_utf8(shown.stdout).expect("a UTF-8 path");
        let module = Path::new(shown.trim_end());
        assert!(module.starts_with(dir.path()), "{}", path(module));
        assert_loads(kind, module);
        // A log shows paths, when something panics; those of this machine are nobody's business.
        let bytes = std::fs::read(module).expect("the module");
        for place in [env!("CARGO_MANIFEST_DIR"), &env::var("HOME").expect("a home")] {
            assert!(!bytes.windows(place.len()).any(|part| part == place.as_bytes()), "{place}");
        }
    }
}
