//! DUE: a server's clock that is set while clients wait freezes nobody, and ends no wait early.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;

use crate::support::*;

const HOUR_MS: i64 = 3_600_000;
/// Far less than any step of a clock here, far more than a busy machine needs.
const SOON: Duration = Duration::from_secs(15);

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

    /// What the server takes for the time, in milliseconds.
    fn now(&self) -> i64 {
        let (seconds, micros): (i64, i64) =
            redis::from_redis_value(cmd(&mut self.server.connect(), "TIME").expect("a time")).expect("two numbers");
        seconds * 1000 + micros / 1000
    }

    fn blocked(&self) -> usize {
        self.server.info("blocked_clients").parse().expect("a number")
    }

    /// A client that waits, and its reply with how long it took.
    fn wait(&self, line: &str) -> std::thread::JoinHandle<(String, Duration)> {
        let (before, mut con, line) = (self.blocked(), self.server.connect(), line.to_owned());
        let waiting = std::thread::spawn(move || {
            let start = Instant::now();
            (reply(&mut con, &line), start.elapsed())
        });
        wait_until(|| self.blocked() > before || waiting.is_finished());
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
            let popping = clocked.wait("DUE.POP q BLOCK 0");
            let ending = clocked.wait("DUE.POP none BLOCK 700ms");
            ahead -= HOUR_MS;
            clocked.set(ahead);
            expect(&mut con, "ZADD q 5 a", "1");
            let (got, took) = popping.join().expect("a reply");
            assert_eq!(got, r#"[["a", 5]]"#);
            assert!(took < SOON, "{took:?}");
            let (got, took) = ending.join().expect("a reply");
            assert_eq!(got, "[]");
            assert!(took >= Duration::from_millis(700) && took < SOON, "{took:?}");
        }
        // What is due soon by the new clock wakes its client soon.
        let due = clocked.now() + 300;
        let waiting = clocked.wait("DUE.POP q BLOCK 0");
        expect(&mut con, &format!("DUE.ADD q AT {due} b"), "1");
        let (got, took) = waiting.join().expect("a reply");
        assert_eq!(got, format!("[[\"b\", {due}]]"));
        assert!(took < SOON, "{took:?}");
    }

    fn a_clock_set_forward_wakes_nobody_early(kind: Kind) {
        let clocked = Clocked::start(kind);
        let mut con = clocked.server.connect();
        expect(&mut con, "DUE.ADD q IN 30m a", "1");
        expect(&mut con, "DUE.ADD later IN 2h b", "1");
        let popping = clocked.wait("DUE.POP q BLOCK 0");
        let ending = clocked.wait("DUE.POP later BLOCK 1500ms");
        clocked.set(HOUR_MS);
        // It is due by the clock as it is now.
        let (got, took) = popping.join().expect("a reply");
        assert!(got.starts_with("[[\"a\", "), "{got}");
        assert!(took < SOON, "{took:?}");
        let (got, took) = ending.join().expect("a reply");
        assert_eq!(got, "[]");
        assert!(took >= Duration::from_millis(1500) && took < SOON, "{took:?}");
        expect(&mut con, "ZCARD later", "1");
    }

    /// The clock of a client that gave `NOW` runs on by itself.
    fn a_clients_own_clock_does_not_follow_the_servers(kind: Kind) {
        let clocked = Clocked::start(kind);
        let mut con = clocked.server.connect();
        expect(&mut con, "DUE.ADD q AT 5000 a", "1");
        for step in [-HOUR_MS, HOUR_MS] {
            let waiting = clocked.wait("DUE.POP q NOW 4200 BLOCK 0");
            clocked.set(step);
            let (got, took) = waiting.join().expect("a reply");
            assert_eq!(got, r#"[["a", 5000]]"#);
            assert!(took >= Duration::from_millis(790) && took < SOON, "{took:?}");
            expect(&mut con, "DUE.ADD q AT 5000 a", "1");
        }
    }

    fn any_number_of_steps_do_no_harm(kind: Kind) {
        let clocked = Clocked::start(kind);
        let mut con = clocked.server.connect();
        let lines = ["DUE.POP q0 BLOCK 0", "DUE.POP q1 BLOCK 0", "DUE.POP q2 BLOCK 2s", "DUE.POP q3 BLOCK 2s"];
        let waiting: Vec<_> = lines.into_iter().map(|line| clocked.wait(line)).collect();
        let start = Instant::now();
        let mut step = 1;
        // A step every few milliseconds, from a second to a day, there and back.
        wait_until(|| {
            step = step * 5 % 86_399_983;
            clocked.set(if step % 2 == 0 { step } else { -step });
            start.elapsed() > Duration::from_millis(1000)
        });
        for i in 0..2 {
            expect(&mut con, &format!("ZADD q{i} 1 x"), "1");
        }
        for (i, waiting) in waiting.into_iter().enumerate() {
            let (got, took) = waiting.join().expect("a reply");
            assert_eq!(got, if i < 2 { r#"[["x", 1]]"# } else { "[]" });
            assert!(took < SOON && (i < 2 || took >= Duration::from_secs(2)), "{took:?}");
        }
    }
}
