//! Instructions of one job, counted by callgrind while the server processes commands: no neighbour on the machine can
//! disturb that.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::comparison::{Comparison, Key, Topic};
use crate::console::Console;
use crate::listener::Listener;
use crate::results::Instructions;
use crate::session::Session;
use crate::support::Kind;
use crate::template::{Pacing, Template};

pub const MEMBERS: u64 = 5000;
/// A server under valgrind is some fifty times slower.
const JOBS: u64 = 1000;
const PACING: Pacing = Pacing::pipelined(100);

/// Whole boards take minutes there, and their time is no secret.
pub fn is_hot(comparison: &Comparison) -> bool {
    comparison.pipeline > 1 && comparison.topic != Topic::ThreeKeys
}

/// Why it cannot be done here.
pub fn obstacle() -> Option<String> {
    let is_here = |program: &str| {
        let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let missing = ["valgrind", "callgrind_control"].into_iter().find(|program| !is_here(program))?;
    Some(format!("Instructions: there is no {missing} here"))
}

pub struct Callgrind {
    pub session: Session,
    /// Where counts are dumped.
    dir: TempDir,
    server: String,
}

impl Callgrind {
    pub fn start(kind: Kind, listener: Listener, needs: &[&'static Key], console: &Console) -> Callgrind {
        let dir = tempfile::tempdir().expect("a temporary directory");
        console.doing(&format!("{kind:?}: a server under valgrind"));
        let session = under_valgrind(kind, dir.path(), || Session::start(kind, MEMBERS, listener));
        let server = session.info("process_id");
        let mut callgrind = Callgrind { session, dir, server };
        // Some ten times faster than what is counted.
        callgrind.session.fill(needs, console);
        callgrind.control("--instr=on");
        callgrind
    }

    /// `None` if nothing is counted: the server's program has no names in it, so that callgrind cannot know when to begin.
    pub fn measure(&mut self, comparison: &Comparison) -> Option<Instructions> {
        let numbers = self.session.numbers(JOBS);
        let mut count = |text| {
            let template = self.session.template(text);
            Some(self.count(&template, numbers.clone())).filter(|count| *count > 0)
        };
        Some(Instructions {
            ours: count(comparison.ours)?,
            theirs: count(comparison.theirs)?,
            server: self.session.name.clone(),
            comparison: comparison.name.into(),
            listener: self.session.listener,
            members: MEMBERS,
        })
    }

    fn count(&mut self, template: &Template, numbers: Range<u64>) -> u64 {
        let load = template.load(&self.session.source, numbers, PACING);
        self.control("--zero");
        self.session.client.run(&load);
        self.control("--dump");
        let dumps = self.dir.path().read_dir().expect("a directory").map(|entry| entry.expect("a dump").path());
        let dumps: Vec<_> = dumps.filter(|path| path.extension().is_some_and(|name| name != "sh")).collect();
        let total = dumps.iter().filter_map(|path| total(path)).sum::<u64>();
        dumps.iter().for_each(|path| fs::remove_file(path).expect("a dump can go"));
        total / JOBS
    }

    fn control(&self, what: &str) {
        let output = Command::new("callgrind_control").arg(what).arg(&self.server).output().expect("callgrind_control");
        assert!(output.status.success(), "callgrind_control {what}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Starts a server through a script that takes the program's place.
fn under_valgrind(kind: Kind, dir: &Path, start: impl FnOnce() -> Session) -> Session {
    let variable = match kind {
        Kind::Redis => "REDIS_SERVER",
        Kind::Valkey => "VALKEY_SERVER",
    };
    let binary = kind.binary().expect("a server");
    let script = dir.join("server.sh");
    let text = format!(
        "#!/bin/sh\nexec valgrind --tool=callgrind --callgrind-out-file='{}/out' --instr-atstart=no --collect-atstart=no \
         --toggle-collect=processCommand '{}' \"$@\"\n",
        dir.display(),
        binary.display()
    );
    fs::write(&script, text).expect("a script");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a script that may run");
    let before = std::env::var_os(variable);
    std::env::set_var(variable, &script);
    let session = start();
    match before {
        Some(value) => std::env::set_var(variable, value),
        None => std::env::remove_var(variable),
    }
    session
}

fn total(dump: &Path) -> Option<u64> {
    let text = fs::read_to_string(dump).ok()?;
    let line =
        text.lines().find_map(|line| line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")))?;
    line.trim().parse().ok()
}
