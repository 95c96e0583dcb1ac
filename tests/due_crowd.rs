//! DUE: ten thousand clients that wait for as many keys cost little. What that is in time, the benchmarks measure.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

use crate::support::*;

const CROWD: usize = 10_000;

/// Two crowds at once would be too many files.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// How many connections this process can have, up to so many.
pub fn possible(wanted: usize) -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is valid for both calls.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
    // Some are for tests that run at the same time.
    wanted.min(usize::try_from(limit.rlim_max.saturating_sub(2000)).unwrap_or(wanted))
}

on_every_server! {
    fn ten_thousand_wait_for_as_many_keys(kind: Kind) {
        let _turn = ONE_AT_A_TIME.lock();
        let size = possible(CROWD);
        let server = Server::builder(kind).config("maxclients 20000").start();
        let mut con = server.connect();
        let mut crowd: Vec<UnixStream> = (0..size)
            .map(|_| {
                let stream = UnixStream::connect(server.socket()).expect("a connection");
                stream.set_read_timeout(Some(deadline())).expect("a time-out");
                stream
            })
            .collect();
        for (i, stream) in crowd.iter_mut().enumerate() {
            // Half of the keys are there, with something that is not due.
            if i % 2 == 0 {
                expect(&mut con, &format!("DUE.ADD q{i} IN 1d later"), "1");
            }
            stream.write_all(format!("DUE.POP q{i} BLOCK 0\r\n").as_bytes()).expect("a request");
        }
        wait_until(|| server.info("blocked_clients") == size.to_string());
        // Each key is looked at, and at most twice in each second of the server's own clock.
        let checks = || server.info("rank_due_checks").parse::<i64>().expect("a count");
        let (start, before) = (time_of(&mut con), checks());
        server.wait_for_due_checks(3 * size as u64);
        let (seen, ms) = (checks() - before, time_of(&mut con) - start);
        assert!(seen <= size as i64 * (ms / 500 + 2), "{seen} checks of {size} keys in {ms} ms");
        for i in (0..size).step_by(size.div_ceil(40)) {
            expect(&mut con, &format!("ZADD q{i} 5 x"), "1");
            let mut answer = [0; 24];
            let length = crowd[i].read(&mut answer).expect("a reply");
            assert_eq!(&answer[..length], b"*1\r\n*2\r\n$1\r\nx\r\n:5\r\n");
        }
    }
}
