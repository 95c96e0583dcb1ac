//! Servers that speak TLS alone: clients, clients that wait, replication, a failover.

use std::process::Command;

use crate::support::*;
use crate::workload::{assert_same_bytes, snapshot};

/// What redis-cli prints for one command.
fn answer(client: &mut Command, line: &str) -> String {
    let output = client.args(line.split(' ')).output().expect("redis-cli runs");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).trim_end().replace('\n', " ")
}

fn builder(kind: Kind, certificates: &Certificates) -> Builder {
    certificates.config().iter().fold(Server::builder(kind).tls(), |builder, line| builder.config(line))
}

on_every_server! {
    fn everything_works_over_tls_alone(kind: Kind) {
        let Some(certificates) = Certificates::make_or_skip(module_path!()) else { return };
        let primary = match builder(kind, &certificates).try_start() {
            Ok(server) => server,
            Err(log) => {
                let lacks_tls = ["Failed finding TLS support", "Missing implement of connection type tls", "Bad directive"];
                assert!(lacks_tls.iter().any(|text| log.contains(text)), "{log}");
                return skip(module_path!(), &format!("this {kind:?} server was built without TLS"));
            }
        };
        let replica = builder(kind, &certificates).replica_of(&primary).start();
        replica.wait_for_sync(&primary);
        let client = |server: &Server| certificates.client(server.port());
        for (line, expected) in [
            ("RANK.CREATE b FIELD a INT FIELD b INT TIES FIRST DATA d", "OK"),
            ("RANK.ADD b DATA {\"x\":1} WITHRANK 5 6 ann", "1  ann 5 6"),
            ("RANK.GET b ann WITHDATA JSON", "{\"rank\":1,\"member\":\"ann\",\"scores\":{\"a\":5,\"b\":6},\"data\":{\"x\":1}}"),
            ("RATE.CHECK limit 2/1h", "0 2 1 0 3600000 1"),
            ("RATE.CHECK limit 2/1h GCRA", "WRONGTYPE the key holds a SLIDING limiter, a sorted set: RATE.RESET it or use another key"),
            ("DUE.ADD q AT 1 item", "1"),
        ] {
            assert_eq!(answer(&mut client(&primary), line), expected, "{line}");
        }
        // A reply of many packets.
        let members: String = (0..20_000).map(|i| format!(" {i} m{i}")).collect();
        expect(&mut primary.connect(), &format!("RANK.ADD many{members}"), "20000");
        let rows = answer(&mut client(&primary), "RANK.TOPN many 20000 JSON");
        assert_eq!(rows.matches("\"member\"").count(), 20_000);

        // A client without TLS, and one without a certificate, have no answer.
        let port = primary.port().to_string();
        for words in [&["-p", &port][..], &["-p", &port, "--tls", "--insecure"]] {
            let refused = answer(Command::new(redis_cli()).args(words), "RANK.COUNT b");
            assert!(refused.contains("rror"), "{refused}");
        }

        // A client that waits is served by a timer, over TLS.
        assert!(answer(&mut client(&primary), "DUE.POP q").starts_with("item"));
        let blocked = |server: &Server| server.info("blocked_clients");
        let wait = |mut client: Command| std::thread::spawn(move || answer(&mut client, "DUE.CLAIM q LEASE 1h BLOCK 0"));
        let waiting = wait(client(&primary));
        wait_until(|| blocked(&primary) == "1");
        assert_eq!(answer(&mut client(&primary), "DUE.ADD q IN 50ms job"), "1");
        let row = waiting.join().expect("a row");
        let token = row.split(' ').nth(1).expect("a token").to_owned();
        assert!(row.starts_with("job "), "{row}");

        // The replica has the same, over TLS, and takes over.
        replica.wait_for_sync(&primary);
        let ours = snapshot(&mut primary.connect());
        assert_same_bytes(&ours, &snapshot(&mut replica.connect()), "the replica");
        assert_eq!(answer(&mut client(&replica), "RANK.GET b ann"), "1 ann 5 6");
        let waiting = wait(client(&primary));
        wait_until(|| blocked(&primary) == "1");
        let failover = format!("FAILOVER TO 127.0.0.1 {} TIMEOUT 20000", replica.port());
        assert_eq!(answer(&mut client(&primary), &failover), "OK");
        wait_until(|| replica.info("role") == "master");
        assert!(waiting.join().expect("an answer").starts_with("UNBLOCKED "));
        for (line, expected) in [(format!("DUE.ACK q {token} job"), "1"), ("RANK.INCR b 1 1 ann".into(), "6 7"), ("RATE.CHECK limit 2/1h".into(), "0 2 0")] {
            let got = answer(&mut client(&replica), &line);
            assert!(got.starts_with(expected), "{line}: {got}");
        }
        primary.wait_for_sync(&replica);
        let theirs = snapshot(&mut replica.connect());
        assert_same_bytes(&theirs, &snapshot(&mut primary.connect()), "the former primary");
    }
}
