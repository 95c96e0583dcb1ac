//! The shell scripts: one that fails says which command in which line it was.

use std::fs;
use std::process::Command;

use crate::support::programs::root;

/// Fails without a word of its own.
const SILENT: &str = "sed -n p /no/such 2>/dev/null | tr a b";
const STRICT: &str = "scripts/strict.sh";

/// Each script in a copy, with the silent line before its work begins.
#[test]
fn a_script_that_fails_says_where() {
    let copy = tempfile::tempdir().expect("a directory");
    for folder in [".ci", "scripts"] {
        fs::create_dir(copy.path().join(folder)).expect("a directory");
    }
    fs::copy(root().join(STRICT), copy.path().join(STRICT)).expect("a copy");
    let found = Command::new("grep")
        .args(["-rl", "--exclude-dir=node_modules", "^#!.*sh$", ".ci", "scripts", "packaging", "examples"])
        .current_dir(root())
        .output()
        .expect("grep");
    let scripts = String::from_utf8_lossy(&found.stdout);
    assert!(scripts.lines().any(|script| script == ".ci/run"), "{scripts}");
    for script in scripts.lines() {
        let text = fs::read_to_string(root().join(script)).expect("a script");
        let mut lines: Vec<_> = text.lines().collect();
        let first = lines.iter().position(|line| !line.starts_with('#')).expect("a command");
        lines.insert(first + 1, SILENT);
        fs::write(copy.path().join(script), lines.join("\n")).expect("a copy");

        let output = Command::new("bash").arg(script).current_dir(copy.path()).output().expect("bash");
        let expected = format!("{script}: line {} failed with exit code 2: tr a b\n", first + 2);
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected, "{script} does not begin with {STRICT}");
        assert_eq!(output.status.code(), Some(2), "{script}");
    }
}
