//! Small C sources of the tests, compiled to shared libraries.

use std::path::Path;
use std::process::Command;

use tempfile::NamedTempFile;

/// The library that a source of the project compiles to. It is deleted with the guard.
#[track_caller]
pub fn compiled(source: &Path) -> NamedTempFile {
    let library = tempfile::Builder::new().suffix(".so").tempfile().expect("a temporary file");
    // Servers of another processor need another compiler: scripts/test-arm.sh.
    let compiler = std::env::var_os("TEST_CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .arg(library.path())
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(source))
        .arg("-ldl")
        .status();
    assert!(status.expect("cc, which scripts/setup.sh installs").success(), "{} does not compile", source.display());
    // Servers do not load what they cannot execute.
    let executable = Command::new("chmod").arg("755").arg(library.path()).status();
    assert!(executable.is_ok_and(|status| status.success()));
    library
}
