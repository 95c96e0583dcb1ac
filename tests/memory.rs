//! No leak: used_memory returns to its base after very many writes and deletes of every kind.

use crate::flood::Flood;
use crate::support::*;
use crate::workload::Workload;

/// Commands of a round; `RANK_MEMORY_ROUND` makes it a million.
const ROUND: usize = 30_000;

/// What may stay: tables that keep their size, the allocator's own; far less than a leaked byte for each command.
const SLACK: i64 = 150_000;

fn used(server: &Server) -> i64 {
    server.info("used_memory").parse().expect("bytes")
}

fn settled(server: &Server) -> i64 {
    let mut con = server.connect();
    expect(&mut con, "FLUSHALL", "+OK");
    // UNLINK frees in the background.
    let mut before = i64::MAX;
    wait_until(|| {
        let idle = server.info("lazyfree_pending_objects") == "0";
        let now = used(server);
        let is_settled = idle && (now - before).abs() < 2_000;
        before = now;
        std::thread::sleep(std::time::Duration::from_millis(50));
        is_settled
    });
    before
}

/// One kind of write and delete after the other, then all of them at random.
fn round(server: &Server, count: usize) {
    let mut workload = Workload::new(&mut server.connect(), 80, "");
    workload.set_up(&mut server.connect());
    let mut flood = Flood::connect(server);
    let mut send = |line: &str| assert!(flood.send(&words(line)), "the server is gone");
    let creations: Vec<String> = workload.generator.set_up().filter(|line| line.starts_with("RANK.CREATE ")).collect();
    for creation in &creations {
        send(creation);
        let name = creation.split(' ').nth(1).expect("a key");
        let fields = creation.matches("FIELD").count().max(1);
        for at in 0..count / 60 {
            let scores = format!("{} ", at % 40).repeat(fields);
            for line in [
                format!("RANK.ADD {name} {scores} member-{at}"),
                format!("RANK.INCR {name} {} member-{at}", "1 ".repeat(fields)),
                format!("RANK.SETDATA {name} member-{at} attribute value-{at}"),
                format!("RANK.ADD {name} DATA {{\"n\":{at}}} {scores} member-{at}"),
                format!("RANK.PUTDATA {name} member-{at} {{\"list\":[{at},{{}}]}}"),
                format!("RANK.GET {name} member-{at} WITHDATA JSON"),
                format!("RANK.ADD {name} nonsense member-{at}"),
                format!("RANK.AROUND {name} member-{at} 3 FILL WITHDATA"),
                format!("RANK.REM {name} member-{at}"),
            ] {
                send(&line);
            }
        }
        send(&format!("RANK.CLEAR {name}"));
    }
    for at in 0..count / 20 {
        // Many boards, gone in several ways; each with a schema of its own, since it says who owns the hash. No more of
        // them than schemas are kept parsed, or what stays would depend on the moment.
        let (at, kind) = (at % 2000, at % 4);
        send(&format!("DEL archive-{at} archived-{at}"));
        send(&format!(
            "RANK.CREATE board-{at} FIELD field-{at} INT FIELD b INT KEEP {} DATA data-{at} OWNED",
            1 + at % 100
        ));
        send(&format!("RANK.ADD board-{at} DATA {{\"k\":\"v\"}} 1 2 x"));
        match kind {
            0 => send(&format!("DEL board-{at}")),
            1 => send(&format!("RENAME board-{at} renamed")),
            2 => send(&format!("RANK.ROTATE board-{at} archive-{at} DATA archived-{at}")),
            _ => send(&format!("SET board-{at} x")),
        }
        send(&format!("DEL board-{at} data-{at}"));
    }
    for _ in 0..count / 2 {
        send(&workload.next_command());
    }
    assert!(flood.flush(), "the server is gone");
}

on_every_server! {
    fn used_memory_returns_to_its_base(kind: Kind) {
        let server = Server::builder(kind).start();
        let count = std::env::var("RANK_MEMORY_ROUND").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUND);
        // What is made once (interned schemas, the server's own tables) is there after the first round.
        round(&server, count);
        let base = settled(&server);
        round(&server, count);
        let (once, peak) = (settled(&server), server.info("used_memory_peak"));
        round(&server, count);
        let twice = settled(&server);
        println!("{count} commands: base {base}, then {once}, then {twice}; peak {peak}");
        assert!(once - base < SLACK && twice - once < SLACK, "base {base}, then {once}, then {twice}");
    }

    /// Whatever the server's own rhythm: nothing is kept about a board that is gone, so there is nothing to forget.
    fn a_board_that_comes_and_goes_leaves_nothing(kind: Kind) {
        const CYCLES: usize = 60_000;
        let server = Server::builder(kind).config("maxmemory 20mb").config("hz 1").start();
        let cycles = |count: usize| {
            let mut flood = Flood::connect(&server);
            for _ in 0..count {
                for line in ["RANK.CREATE b FIELD a INT FIELD b INT DATA h OWNED", "RANK.ADD b DATA {} 1 2 x", "DEL b h"] {
                    assert!(flood.send(&words(line)), "the server is gone");
                }
            }
            assert!(flood.flush(), "the server is gone");
        };
        cycles(1_000);
        let base = settled(&server);
        cycles(CYCLES);
        // None of them met a full memory.
        expect(&mut server.connect(), "RANK.CREATE b FIELD a INT", "+OK");
        let after = settled(&server);
        assert!(after - base < SLACK, "{base}, then {after}");
    }
}
