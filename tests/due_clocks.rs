//! DUE: a server's clock that is set while clients wait freezes nobody, and ends no wait early.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use crate::support::*;

const HOUR_MS: i64 = 3_600_000;

/// A server whose clock a test can set.
struct Clocked {
    server: Server,
    offset: File,
    _files: [NamedTempFile; 2],
}

impl Clocked {
    fn start(kind: Kind) -> Clocked {
        let library = compiled(Path::new("tests/fixtures/clock.c"));
        let file = NamedTempFile::new().expect("a temporary file");
        let offset = file.reopen().expect("the file");
        offset.write_all_at(&0_i64.to_ne_bytes(), 0).expect("the file");
        let server = Server::builder(kind)
            .variable("LD_PRELOAD", library.path().to_str().expect("a path"))
            .variable("RANK_TEST_CLOCK", file.path().to_str().expect("a path"))
            .start();
        Clocked { server, offset, _files: [library, file] }
    }

    /// Sets the clock to so many milliseconds ahead of the machine's.
    fn set(&self, ahead_ms: i64) {
        self.offset.write_all_at(&(ahead_ms * 1000).to_ne_bytes(), 0).expect("the file");
    }

    /// A client that waits, and its reply with the moment at which it came.
    fn wait(&self, line: &str) -> std::thread::JoinHandle<(String, Instant)> {
        let (before, mut con, line) = (self.server.blocked(), self.server.connect(), line.to_owned());
        let waiting = std::thread::spawn(move || (reply(&mut con, &line), Instant::now()));
        wait_until(|| self.server.blocked() > before || waiting.is_finished());
        waiting
    }
}

on_every_server! {
    /// At once after the first client began to wait, when the module knows nothing of the clock yet.
    fn a_clock_set_back_freezes_nobody(kind: Kind) {
        let clocked = Clocked::start(kind);
        let mut con = clocked.server.connect();
        let mut ahead = 0;
        for turn in 0..6 {
            // A change of a core command is seen, whether the clock is set before or after the client begins to wait.
            if turn % 2 == 1 {
                ahead -= HOUR_MS;
                clocked.set(ahead);
            }
            let (popping, begin) = (clocked.wait("DUE.POP q BLOCK 0"), Instant::now());
            let ending = clocked.wait("DUE.POP none BLOCK 700ms");
            ahead -= HOUR_MS;
            clocked.set(ahead);
            expect(&mut con, "ZADD q 5 a", "1");
            let (got, _) = popping.join().expect("a reply");
            assert_eq!(got, r#"[["a", 5]]"#);
            let (got, ended) = ending.join().expect("a reply");
            assert_eq!(got, "[]");
            assert!(ended >= begin + Duration::from_millis(700), "it ended early");
        }
        // What is due soon by the new clock wakes its client soon.
        let due = time_of(&mut con) + 300;
        let waiting = clocked.wait("DUE.POP q BLOCK 0");
        expect(&mut con, &format!("DUE.ADD q AT {due} b"), "1");
        assert_eq!(waiting.join().expect("a reply").0, format!("[[\"b\", {due}]]"));
    }

    fn a_clock_set_forward_wakes_nobody_early(kind: Kind) {
        let clocked = Clocked::start(kind);
        let mut con = clocked.server.connect();
        expect(&mut con, "DUE.ADD q IN 30m a", "1");
        expect(&mut con, "DUE.ADD later IN 2h b", "1");
        let popping = clocked.wait("DUE.POP q BLOCK 0");
        let begin = Instant::now();
        let ending = clocked.wait("DUE.POP later BLOCK 1500ms");
        clocked.set(HOUR_MS);
        // It is due by the clock as it is now.
        let (got, _) = popping.join().expect("a reply");
        assert!(got.starts_with("[[\"a\", "), "{got}");
        let (got, ended) = ending.join().expect("a reply");
        assert_eq!(got, "[]");
        assert!(ended >= begin + Duration::from_millis(1500), "it ended early");
        expect(&mut con, "ZCARD later", "1");
    }

    /// The clock of a client that gave `NOW` runs on by itself.
    fn a_clients_own_clock_does_not_follow_the_servers(kind: Kind) {
        let clocked = Clocked::start(kind);
        let mut con = clocked.server.connect();
        expect(&mut con, "DUE.ADD q AT 5000 a", "1");
        for step in [-HOUR_MS, HOUR_MS] {
            let begin = Instant::now();
            let waiting = clocked.wait("DUE.POP q NOW 4200 BLOCK 0");
            clocked.set(step);
            let (got, ended) = waiting.join().expect("a reply");
            assert_eq!(got, r#"[["a", 5000]]"#);
            assert!(ended >= begin + Duration::from_millis(790), "it was early");
            expect(&mut con, "DUE.ADD q AT 5000 a", "1");
        }
    }

    fn any_number_of_steps_do_no_harm(kind: Kind) {
        let clocked = Clocked::start(kind);
        let mut con = clocked.server.connect();
        let lines = ["DUE.POP q0 BLOCK 0", "DUE.POP q1 BLOCK 0", "DUE.POP q2 BLOCK 2s", "DUE.POP q3 BLOCK 2s"];
        let begin = Instant::now();
        let waiting: Vec<_> = lines.into_iter().map(|line| clocked.wait(line)).collect();
        let mut step = 1;
        // Steps from a second to a day, there and back, one every few milliseconds.
        for _ in 0..200 {
            step = step * 5 % 86_399_983;
            clocked.set(if step % 2 == 0 { step } else { -step });
            std::thread::sleep(Duration::from_millis(5));
        }
        for i in 0..2 {
            expect(&mut con, &format!("ZADD q{i} 1 x"), "1");
        }
        for (i, waiting) in waiting.into_iter().enumerate() {
            let (got, ended) = waiting.join().expect("a reply");
            assert_eq!(got, if i < 2 { r#"[["x", 1]]"# } else { "[]" });
            assert!(i < 2 || ended >= begin + Duration::from_secs(2), "it ended early");
        }
    }
}
