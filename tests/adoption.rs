//! `RANK.CREATE … ADOPT` of a large sorted set: its client waits, nobody else does; and it is as if it had happened at
//! one moment, whatever others do meanwhile. (What it takes and refuses: verify, boards.)

use std::thread::{self, JoinHandle};

use redis::Connection;

use crate::cluster::reshard;
use crate::flood::Flood;
use crate::script::script;
use crate::support::*;
use crate::workload::{assert_same, snapshot};

/// So many that looking at them takes many steps.
fn members() -> usize {
    // A slow server needs fewer.
    if server_wrapper().is_some() {
        12_000
    } else {
        100_000
    }
}

const SCHEMA: &str = "FIELD a DIGITS 7 FIELD b DIGITS 3";

/// A sorted set as a packed board leaves it once its marker is lost.
fn fill(server: &Server, key: &str, members: usize) {
    let mut flood = Flood::connect(server);
    for chunk in 0..members / 1000 {
        let mut command = vec!["ZADD".to_string(), key.to_string()];
        for member in chunk * 1000..(chunk + 1) * 1000 {
            command.extend([format!("{member}007"), format!("m{member}")]);
        }
        assert!(flood.send(&command));
    }
    assert!(flood.flush());
}

fn begin(server: &Server, command: &str) -> JoinHandle<String> {
    let (mut con, command) = (server.connect(), command.to_string());
    let client = thread::spawn(move || reply(&mut con, &command));
    wait_until(|| client.is_finished() || server.info("blocked_clients") != "0");
    client
}

fn adopt(server: &Server) -> JoinHandle<String> {
    begin(server, &format!("RANK.CREATE b {SCHEMA} ADOPT"))
}

/// Adoptions are over sooner than one thinks: a test that wants to be in between may have to try again.
const ATTEMPTS: usize = 20;

/// What some commands answer at one moment, and whether an adoption was going on then.
fn at_once(con: &mut Connection, commands: &[&str]) -> (bool, String) {
    script(con, "MULTI => +OK\n INFO clients => +QUEUED");
    for command in commands {
        expect(con, command, "+QUEUED");
    }
    let answers = reply(con, "EXEC");
    (!answers.contains("blocked_clients:0"), answers)
}

fn is_plain(server: &Server) -> bool {
    reply(&mut server.connect(), "RANK.INFO b").contains(r#""schema", nil"#)
}

on_every_server! {
    fn others_are_served_while_a_large_board_is_adopted(server: Server) {
        let mut con = server.connect();
        let (mut served, rank) = (0, members() - 7);
        for _ in 0..ATTEMPTS {
            script(&mut con, "FLUSHALL => +OK");
            fill(&server, "b", members());
            let client = adopt(&server);
            while !client.is_finished() {
                let (waits, answers) = at_once(&mut con, &["RANK.ADD other 1 x", "RANK.GET b m7", "RANK.REM other x"]);
                served += usize::from(waits);
                let score = if waits { "\"7007\"" } else { "7, 7" };
                assert!(answers.ends_with(&format!(", 1, [{rank}, \"m7\", {score}], 1]")), "{answers}");
            }
            assert_eq!(client.join().expect("an answer"), "+OK");
            script(&mut con, &format!("RANK.GET b m7 => [{rank}, \"m7\", 7, 7]\n RANK.COUNT b => {}\n RANK.ADD b 1 2 new => 1", members()));
            if served >= 3 {
                return;
            }
        }
        panic!("only {served} rounds while boards were adopted");
    }

    fn one_element_that_does_not_decode_is_found_wherever_it_is(server: Server) {
        fill(&server, "b", members());
        let mut con = server.connect();
        for score in ["-5", "0.5", "5000006.5", "99999999990", "1e300", "inf"] {
            script(&mut con, &format!("ZADD b {score} bad => 1"));
            let before = server.info("rank_writes");
            let answer = adopt(&server).join().expect("an answer");
            assert!(answer.contains("cannot decode 'bad'"), "{score}: {answer}");
            assert!(is_plain(&server), "{score}");
            assert_eq!(server.info("rank_writes"), before, "{score}: refused, and yet something changed");
            script(&mut con, "ZREM b bad => 1");
        }
    }

    fn there_must_be_a_moment_at_which_all_elements_decode(server: Server) {
        fill(&server, "b", members());
        let mut con = server.connect();
        // There is always one that does not: before the old one goes, another comes, here behind and there before where
        // the adoption may be.
        let bad = |round: usize| if round.is_multiple_of(2) { ("0.5", "low") } else { ("299999007.5", "high") };
        script(&mut con, &format!("ZADD b {} {} => 1", bad(0).0, bad(0).1));
        let client = adopt(&server);
        let mut round = 0;
        while !client.is_finished() {
            let (score, name) = bad(round + 1);
            script(&mut con, &format!("MULTI => +OK\n ZADD b {score} {name} => +QUEUED\n ZREM b {} => +QUEUED\n EXEC => [1, 1]", bad(round).1));
            round += 1;
        }
        let answer = client.join().expect("an answer");
        assert!(answer.contains("cannot decode"), "{answer}");
        assert!(is_plain(&server) && round > 0);
    }

    fn a_board_that_is_written_to_all_the_time_is_adopted_if_it_is_not_too_large(server: Server) {
        let mut con = server.connect();
        let mut adopt_under_writes = |members: usize| {
            script(&mut con, "FLUSHALL => +OK");
            fill(&server, "b", members);
            let client = adopt(&server);
            let mut round = 0;
            while !client.is_finished() {
                script(&mut con, &format!("ZADD b {round}001 extra{round} => 1"));
                round += 1;
            }
            (client.join().expect("an answer"), round)
        };
        let (answer, extra) = adopt_under_writes(19_000);
        assert_eq!(answer, "+OK");
        script(&mut server.connect(), &format!("RANK.COUNT b => {}\n RANK.SCORE b m7 => [7, 7]", 19_000 + extra));
        if server_wrapper().is_some() {
            return;
        }
        // A look at so many takes longer than any pause between two writes.
        let (answer, _) = adopt_under_writes(200_000);
        assert_eq!(answer, "ERR ADOPT looked at the members 10 times, and somebody wrote to the board each time: stop them first");
        assert!(is_plain(&server));
        assert_eq!(adopt(&server).join().expect("an answer"), "+OK");
    }

    fn a_transaction_and_a_script_do_it_at_once_or_not_at_all(server: Server) {
        let words: Vec<String> = SCHEMA.split(' ').map(|word| format!("'{word}'")).collect();
        let eval = format!("redis.call('RANK.CREATE', KEYS[1], {}, 'ADOPT') return redis.call('RANK.SCORE', KEYS[1], 'm5')", words.join(", "));
        let mut con = server.connect();
        fill(&server, "b", 11_000);
        fill(&server, "c", 11_000);
        script(&mut con, &format!("MULTI => +OK\n RANK.CREATE b {SCHEMA} ADOPT => +QUEUED\n RANK.SCORE b m5 => +QUEUED\n EXEC => [+OK, [5, 7]]"));
        assert_eq!(show_result(&cmdv(&mut con, &["EVAL", &eval, "1", "c"])), "[5, 7]");

        script(&mut con, "FLUSHALL => +OK");
        fill(&server, "b", 21_000);
        let refusal = "ERR ADOPT takes more than 20000 members in steps, for which no transaction or script waits: send it alone";
        let before = server.info("rank_writes");
        script(&mut con, &format!("MULTI => +OK\n RANK.CREATE b {SCHEMA} ADOPT => +QUEUED"));
        let answer = reply(&mut con, "EXEC");
        assert!(answer.contains(refusal), "{answer}");
        let answer = show_result(&cmdv(&mut con, &["EVAL", &eval, "1", "b"]));
        assert!(answer.starts_with(refusal), "{answer}");
        assert!(is_plain(&server));
        assert_eq!(server.info("rank_writes"), before);
    }

    fn what_becomes_of_the_key_meanwhile_is_what_counts(server: Server) {
        let mut con = server.connect();
        for (meanwhile, expected) in [
            ("DEL b", "+OK"),
            ("RENAME b other", "+OK"),
            ("SET b x", "WRONGTYPE Operation against a key holding the wrong kind of value"),
            ("SWAPDB 0 1", "+OK"),
            ("FLUSHALL", "+OK"),
            ("ZREMRANGEBYRANK b 5 -1", "+OK"),
            ("RANK.CREATE b", "ERR the board already has another schema: FIELD score DESC FLOAT"),
            ("CLIENT PAUSE 100 WRITE", "+OK"),
        ] {
            let answer = (0..ATTEMPTS).find_map(|_| {
                expect(&mut con, "FLUSHALL", "+OK");
                fill(&server, "b", members());
                let client = adopt(&server);
                let (waits, answers) = at_once(&mut con, &[meanwhile]);
                assert!(!answers.contains("ERR"), "{meanwhile}: {answers}");
                let answer = client.join().expect("an answer");
                waits.then_some(answer)
            });
            assert_eq!(answer.expect("an adoption that was still going on"), expected, "{meanwhile}");
            let schema = reply(&mut con, "RANK.INFO b");
            assert_eq!(schema.contains("DIGITS 7"), expected == "+OK", "{meanwhile}: {schema}");
        }
    }

    fn two_adoptions_of_one_board(server: Server) {
        fill(&server, "b", members());
        let (one, same) = (adopt(&server), adopt(&server));
        let other = begin(&server, "RANK.CREATE b FIELD a DIGITS 6 FIELD b DIGITS 4 ADOPT");
        assert_eq!((one.join().expect("an answer"), same.join().expect("an answer")), ("+OK".into(), "+OK".into()));
        let answer = other.join().expect("an answer");
        assert!(answer.starts_with("ERR the board already has another schema"), "{answer}");
    }

    fn a_client_that_goes_does_no_harm(server: Server) {
        fill(&server, "b", members());
        let mut con = server.connect();
        let kill = format!("CLIENT KILL ID {}", reply(&mut con, "CLIENT ID"));
        let client = thread::spawn(move || reply(&mut con, &format!("RANK.CREATE b {SCHEMA} ADOPT")));
        wait_until(|| client.is_finished() || server.info("blocked_clients") != "0");
        reply(&mut server.connect(), &kill);
        client.join().expect("an answer or none");
        wait_until(|| !is_plain(&server));
        script(&mut server.connect(), "RANK.SCORE b m7 => [7, 7]");
    }

    fn the_module_does_not_go_while_the_server_would_call_it_back(server: Server) {
        let mut con = server.connect();
        let load = format!("MODULE LOAD {}", module_path().to_str().expect("a UTF-8 path"));
        let refused = (0..ATTEMPTS).any(|_| {
            expect(&mut con, "FLUSHALL", "+OK");
            fill(&server, "b", members());
            let client = adopt(&server);
            let (waits, answers) = at_once(&mut con, &["MODULE UNLOAD rank"]);
            assert_eq!(client.join().expect("an answer"), "+OK");
            assert!(!waits || answers.contains("ERR"), "{answers}");
            if !server.has_module() {
                expect(&mut con, &load, "+OK");
            }
            waits
        });
        assert!(refused, "no unload met an adoption");
        wait_until(|| reply(&mut con, "MODULE UNLOAD rank") == "+OK");
        script(&mut con, "ZADD b 1 x => 1");
    }

    fn replicas_and_the_aof_have_the_adopted_board(kind: Kind) {
        let mut server = Server::builder(kind).tcp().appendonly().start();
        fill(&server, "b", 11_000);
        let replica = Server::builder(kind).without_module().replica_of(&server).start();
        replica.wait_for_sync(&server);
        assert_eq!(adopt(&server).join().expect("an answer"), "+OK");
        let before = snapshot(&mut server.connect());
        replica.wait_for_sync(&server);
        assert_same(&before, &snapshot(&mut replica.connect()), "the replica");
        server.kill9();
        server.restart();
        assert_same(&before, &snapshot(&mut server.connect()), "the restarted server");
        script(&mut server.connect(), "RANK.SCORE b m7 => [7, 7]");
    }

    fn a_board_that_moves_to_another_node_meanwhile_is_nobodys_here(kind: Kind) {
        let cluster = Cluster::start(kind, false);
        let slot = cluster.slot_of("b");
        let owner = cluster.owner(slot);
        fill(owner, "b", members());
        let client = adopt(owner);
        reshard(&cluster, slot, |_| {});
        // Whichever was faster; but nothing may be made where the board was.
        let answer = client.join().expect("an answer");
        assert!(answer == "+OK" || answer.starts_with("TRYAGAIN"), "{answer}");
        expect(&mut owner.connect(), &format!("CLUSTER COUNTKEYSINSLOT {slot}"), "0");
        let mut client = cluster.client();
        assert_eq!(client.line(&format!("RANK.CREATE b {SCHEMA} ADOPT")), "+OK");
        assert_eq!(client.line("RANK.SCORE b m7"), "[7, 7]");
    }

    fn bit_patterns_need_a_look_at_both_ends_only(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b FIELD a BITS 30 FIELD b BITS 30 => +OK\n RANK.ADD b 5 6 x 7 8 y 1073741823 1073741823 z => 3\n ZREMRANGEBYRANK b 0 0 => 1");
        for (score, bad) in [("1e-310", true), ("-1e-300", true), ("1", true), ("inf", true), ("2.3e-308", false)] {
            script(&mut con, &format!("ZADD b {score} added => 1"));
            let answer = reply(&mut con, "RANK.CREATE b FIELD a BITS 30 FIELD b BITS 30 ADOPT");
            assert_eq!(answer == "ERR ADOPT takes a sorted set that the schema decodes, and it cannot decode 'added'", bad, "{score}: {answer}");
            script(&mut con, "ZREM b added => 1");
        }
        script(&mut con, "RANK.SCORE b y => [7, 8]\n RANK.SCORE b z => [1073741823, 1073741823]");
    }
}
