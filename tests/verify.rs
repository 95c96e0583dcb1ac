//! `RANK.VERIFY` looks at every element, in steps that stop nobody, and `RANK.CREATE … ADOPT` brings back a board whose
//! marker was lost, at once, whatever its size. (What damage there can be, and who notices: damage.)

use std::fs;
use std::time::Duration;

use redis::{Connection, Value};

use crate::flood::Flood;
use crate::script::script;
use crate::support::boards::*;
use crate::support::codes::{score_of, Coder, Element};
use crate::support::*;
use crate::workload::{assert_same, bytes, field, snapshot, verify, verify_by, Verified};

const CLEAN: Verified = [0; 5];

/// Of [`make`].
const MADE: &str = "FIELD a INT FIELD b ASC INT";
/// Too long for a score together with another field.
const LONG: usize = 1_000_000_000_000_000;

/// A board `b` with as many members, each of which has one index entry.
#[track_caller]
fn make(con: &mut Connection, members: usize) {
    expect(con, &format!("RANK.CREATE b {MADE}"), "+OK");
    let pairs: Vec<String> = (0..members).map(|member| format!("{member} {} m{member}", LONG + member)).collect();
    expect(con, &format!("RANK.ADD b {}", pairs.join(" ")), &members.to_string());
}

/// What [`make`] gave a member, as `RANK.SCORE` answers.
fn made(member: usize) -> String {
    format!("[{member}, {}]", LONG + member)
}

/// The element and the entries that a member of [`make`] with these scores has.
fn stored(a: usize, b: usize, name: &str) -> (Element, Vec<Element>) {
    Coder::new(MADE, 0).stored(&[a.to_string(), b.to_string()], 0, name.as_bytes())
}

#[track_caller]
fn core(con: &mut Connection, args: &[&[u8]]) {
    let answer = replyv(con, args);
    assert!(!is_error(&answer) && !answer.starts_with("WRONGTYPE"), "{answer}");
}

#[track_caller]
fn mends(con: &mut Connection, damage: &str, found: Verified) {
    assert_eq!(verify(con, b"b", false), found, "{damage}");
    let repaired = verify(con, b"b", true);
    assert_eq!(repaired[..4], found[..4], "{damage}");
    assert_eq!(repaired[4], found[1] + found[2] + found[3], "{damage}: as many repairs as there was to mend");
    assert_eq!(verify(con, b"b", false), [found[0], 0, 0, 0, 0], "{damage}: after the repair");
}

/// A sorted set as a packed board leaves it once its marker is lost: `m7` has the scores 7 and 7.
fn fill(server: &Server, key: &str, members: usize) {
    assert_eq!(members % 1000, 0);
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

const SCHEMA: &str = "FIELD a DIGITS 7 FIELD b DIGITS 3";

/// More than are all looked at.
fn many() -> usize {
    if server_wrapper().is_some() {
        24_000
    } else {
        100_000
    }
}

fn is_plain(con: &mut Connection) -> bool {
    reply(con, "RANK.INFO b").contains(r#""schema", nil"#)
}

on_every_server! {
    fn every_damage_is_found_counted_and_mended(server: Server) {
        let mut con = server.connect();
        // 8 members stay in the compact encoding, 300 do not.
        for members in [8, 300] {
            expect(&mut con, "FLUSHALL", "+OK");
            make(&mut con, members);
            assert_eq!(verify(&mut con, b"b", false), CLEAN);
            let all = elements(&mut con, "b");
            let (entries, last) = (&all[1..=members], &all[members * 2].0);
            assert!(entries.iter().all(|it| it.1 <= -4.0) && last.ends_with(format!("m{}", members - 1).as_bytes()));
            let count = i64::try_from(members).expect("a count");

            core(&mut con, &[b"ZREM", b"b", last]);
            mends(&mut con, "an element gone", [0, 0, 1, 0, 0]);
            core(&mut con, &[b"ZREM", b"b", &entries[1].0, &entries[2].0]);
            mends(&mut con, "two entries gone", [0, 2, 0, 0, 0]);
            core(&mut con, &[b"ZADD", b"b", entries[0].1.to_string().as_bytes(), b"\x01\0nobody"]);
            mends(&mut con, "an entry of nobody", [0, 0, 1, 0, 0]);
            let ((element, score), _) = stored(0, LONG, "new");
            core(&mut con, &[b"ZADD", b"b", score.to_string().as_bytes(), &element]);
            mends(&mut con, "an element that came by ZADD", [0, 1, 0, 0, 0]);
            expect(&mut con, "RANK.SCORE b new", &made(0));
            core(&mut con, &[b"ZADD", b"b", stored(9, 9, "new").0.1.to_string().as_bytes(), b"new"]);
            mends(&mut con, "another element that came by ZADD", [0, 0, 0, 1, 0]);
            expect(&mut con, "RANK.SCORE b new", "[9, 9]");
            expect(&mut con, &format!("RANK.ADD b 0 {LONG} new"), "0");
            core(&mut con, &[b"ZREMRANGEBYSCORE", b"b", b"-inf", b"-4"]);
            expect(&mut con, &format!("RANK.CREATE b {MADE} ADOPT"), "+OK");
            mends(&mut con, "the whole index gone", [0, count, 0, 0, 0]);
            let above = format!("({score}");
            core(&mut con, &[b"ZREMRANGEBYSCORE", b"b", above.as_bytes(), b"inf"]);
            mends(&mut con, "nearly all elements gone", [0, 0, count - 2, 0, 0]);
            // What can be no member's goes; what cannot be decoded is shown, and stays: it is somebody's data.
            core(&mut con, &[b"ZADD", b"b", b"5", b"\x01foreign", b"6", b"\x02short"]);
            assert_eq!(verify(&mut con, b"b", true), [2, 0, 0, 0, 1]);
            assert_eq!(verify(&mut con, b"b", true), [1, 0, 0, 0, 0]);
            assert!(reply(&mut con, "RANK.VERIFY b").ends_with(r#""examples", ["\x02short"]]"#));
            script(&mut con, "ZREM b \"\\x02short\" => 1\n RANK.TOPN b 9 => [[1, \"new\", 0, 1000000000000000], [1, \"m0\", 0, 1000000000000000]]\n ZCARD b => 5");
            assert_eq!(verify(&mut con, b"b", false), CLEAN);
        }
    }

    fn of_two_elements_for_one_name_the_better_stays(server: Server) {
        let mut con = server.connect();
        // Of ours and theirs none, one or both fit, and so lie under their own names.
        let long = 9_000_000_000_000_000_000_u64;
        for (low, high) in [((1, 1), (9, long)), ((1, long), (9, 9)), ((1, long), (9, long + 1))] {
            let shown = |(a, b): (u64, u64)| format!("[{a}, {b}]");
            for (schema, best) in [("FIELD a INT FIELD b INT", shown(high)), ("FIELD a ASC INT FIELD b ASC INT", shown(low))] {
                for (ours, theirs) in [(low, high), (high, low)] {
                    let text = |(a, b): (u64, u64)| format!("{a} {b}");
                    script(&mut con, &format!(r#"
                        FLUSHALL => +OK
                        RANK.CREATE b {schema} => +OK
                        RANK.CREATE c {schema} => +OK
                        RANK.ADD b {} ann 5 5 bob 5 {long} joe => 3
                        RANK.ADD c {} ann 3 3 eve 3 {long} sue => 2
                    "#, text(ours), text(theirs)).replace("sue => 2", "sue => 3"));
                    reply(&mut con, "ZUNIONSTORE b 2 b c AGGREGATE MAX");
                    let found = verify(&mut con, b"b", true);
                    assert!(found[4] > 0, "{found:?}");
                    assert_eq!(verify(&mut con, b"b", false), CLEAN);
                    script(&mut con, &format!("RANK.SCORE b ann => {best}\n RANK.COUNT b => 5\n RANK.SCORE b eve => [3, 3]"));
                }
            }
        }
    }

    /// No member has so many entries: 32 fields take 49.
    fn as_many_entries_as_there_can_be_are_nobodys(server: Server) {
        let mut con = server.connect();
        expect(&mut con, &format!("RANK.CREATE b {MADE}"), "+OK");
        for last in [255, 256] {
            let mut args = vec![b"ZADD".to_vec(), b"b".to_vec()];
            for number in 0..256_u64 {
                // Each says that another follows, but the last.
                let flags = (u64::from(number == 0) << 60) + (u64::from(number != last) << 59) + (7 << 56);
                args.push(score_of((1 << 61) + flags + number).to_string().into_bytes());
                args.push(vec![1, u8::try_from(number).expect("a byte"), b'x']);
            }
            assert_eq!(replyv(&mut con, &args), if last == 255 { "256" } else { "0" });
            for command in ["RANK.GET b x", "RANK.ADD b 1 1 x", "RANK.REM b x"] {
                let answer = reply(&mut con, command);
                assert!(answer.contains("damaged"), "{command}: {answer}");
            }
            script(&mut con, "RANK.COUNT b => 0\n RANK.ADD b 1 1 y => 1\n RANK.REM b y => 1");
            assert_eq!(verify(&mut con, b"b", false), [0, 0, 256, 0, 0]);
        }
        assert_eq!(verify(&mut con, b"b", true), [0, 0, 256, 0, 256]);
        expect(&mut con, "ZCARD b", "1");
    }

    fn ten_examples_are_enough(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE b FIELD a DIGITS 3", "+OK");
        for at in 0..20 {
            expect(&mut con, &format!("ZADD b 0.5 bad{at}"), "1");
        }
        let report = cmd(&mut con, "RANK.VERIFY b").expect("a report");
        let Value::Array(examples) = field(&report, "examples") else { panic!("no examples") };
        assert_eq!((examples.len(), show(&field(&report, "undecodable"))), (10, "20".into()));
        assert!(examples.iter().all(|name| bytes(name).starts_with(b"bad")));
    }

    fn sorted_sets_without_a_schema_and_missing_keys_are_never_damaged(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            ZADD z -inf low inf high 1.5 mid 0 "\x02" 1 "\x01" 2 "\x00rank 1" => 6
            RANK.VERIFY z REPAIR => ["cursor", 0, "checked", 6, "undecodable", 0, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", []]
            ZCARD z => 6
            RANK.VERIFY none REPAIR => ["cursor", 0, "checked", 0, "undecodable", 0, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", []]
            EXISTS none => 0
            SET s x => +OK
            RANK.VERIFY s => WRONGTYPE Operation against a key holding the wrong kind of value
        "#);
    }

    fn a_step_looks_at_count_elements_and_hardly_more(server: Server) {
        let mut con = server.connect();
        make(&mut con, 2000);
        for count in [1, 50, 100, 333, 1000] {
            let (mut cursor, mut checked, mut steps) = ("0".to_string(), 0, 0);
            loop {
                let report = cmd(&mut con, &format!("RANK.VERIFY b CURSOR {cursor} COUNT {count}")).expect("a report");
                let looked_at = show(&field(&report, "checked")).parse::<i64>().expect("a number");
                cursor = show(&field(&report, "cursor"));
                checked += looked_at;
                steps += 1;
                // As ZSCAN, which gives whole buckets: a few more.
                assert!(looked_at <= count + 50, "COUNT {count}: {}", show(&report));
                if cursor == "0" {
                    break;
                }
            }
            // Members, of which ZSCAN may show one twice; their entries are looked at as well.
            assert!((2000..2100).contains(&checked), "COUNT {count}: {checked} checked");
            assert!(steps >= 4001 / (count + 50), "COUNT {count}: {steps} steps");
        }
    }

    fn steps_and_writes_may_take_turns(server: Server) {
        let mut con = server.connect();
        make(&mut con, 3000);
        let all = elements(&mut con, "b");
        // Every third entry is gone; members come, change and leave while the repair goes on.
        for entry in all[1..=3000].iter().step_by(3) {
            core(&mut con, &[b"ZREM", b"b", &entry.0]);
        }
        let mut round = 0;
        let found = verify_by(&mut con, b"b", true, |con, args| {
            round += 1;
            let sound = (0..).map(|at| (round * 7 + at) % 3000).find(|member| is_found(con, *member)).expect("a member");
            for write in [format!("RANK.ADD b 5 {} new{round}", LONG + round), format!("RANK.INCR b 1 1 m{sound}"), format!("RANK.REM b new{}", round - 1)] {
                let answer = reply(con, &write);
                let is_damage = answer.starts_with("DAMAGED the board is damaged");
                assert!(is_damage || !is_error(&answer), "{write}: {answer}");
            }
            cmdv(con, &[args, &[b"COUNT".to_vec(), b"100".to_vec()]].concat())
        });
        assert!(round > 10 && found[1] >= 1000, "{round} rounds: {found:?}");
        assert_eq!(verify(&mut con, b"b", false), CLEAN);
        expect(&mut con, "RANK.SCORE b m2", &made(2));
    }

    fn verification_goes_in_short_steps(server: Server) {
        let members = if server_wrapper().is_some() { 3_000 } else { 150_000 };
        let mut con = server.connect();
        expect(&mut con, &format!("RANK.CREATE b {MADE}"), "+OK");
        let coder = Coder::new(MADE, 0);
        let mut flood = Flood::connect(&server);
        for chunk in 0..members / 1000 {
            let mut command = vec![b"ZADD".to_vec(), b"b".to_vec()];
            for member in chunk * 1000..(chunk + 1) * 1000 {
                // As the module writes them, but for their entries.
                let ((element, score), _) = coder.stored(&[member.to_string(), (LONG + member).to_string()], 0, format!("m{member}").as_bytes());
                command.push(score.to_string().into_bytes());
                command.push(element);
            }
            assert!(flood.send(&command));
        }
        assert!(flood.flush());
        // That they are there is seen. Whose they are is not known without their entries.
        script(&mut con, &format!("RANK.COUNT b => {members}\n RANK.SCORE b m1777 => nil"));
        let all = i64::try_from(members).expect("a count");
        let process = server.info("process_id");
        // By the default count, and by one that would take everything in one step if nothing looked at the clock.
        for (repair, count, expected) in [(true, "1000", [0, all, 0, 0, all]), (false, "1000", CLEAN), (false, "100000000", CLEAN)] {
            let mut times = Vec::new();
            let found = verify_by(&mut con, b"b", repair, |con, args| {
                let before = processor_time(&process);
                let report = cmdv(con, &[args, &[b"COUNT".to_vec(), count.as_bytes().to_vec()]].concat());
                times.push(processor_time(&process).saturating_sub(before));
                report
            });
            assert_eq!(found, expected);
            // Not the time on the wall: the machine that runs the tests is busy with other tests. And not the longest: a
            // virtual machine takes it for processor time when its host holds it up. (`make bench` tells the longest.)
            times.sort_unstable();
            let typical = times[times.len() / 2];
            println!("{members} members, repair {repair}: {} steps, {typical:?} each, the longest {:?}", times.len(), times[times.len() - 1]);
            // Not much more than COUNT in a step; the scan may see some of the entries it makes, and some not.
            assert!(count != "1000" || times.len() >= members / 1100, "{} steps", times.len());
            assert!(typical < Duration::from_millis(5) || server_wrapper().is_some(), "COUNT {count}: {typical:?} each");
        }
        script(&mut con, &format!("RANK.ADD b 1 1 new => 1\n RANK.SCORE b m1777 => {}\n RANK.COUNT b => {}", made(1777), members + 1));
    }

    fn a_lost_marker_is_adopted_back_on_every_layout(server: Server) {
        let mut con = server.connect();
        for schema in SCHEMAS.iter().filter(|schema| **schema != BARE) {
            for large in [false, true] {
                expect(&mut con, "FLUSHALL", "+OK");
                let board = if large { Filled::large(&mut con, "b", schema) } else { Filled::small(&mut con, "b", schema) };
                let (answers, before) = (board.answers(&mut con, "b"), elements(&mut con, "b"));
                let since = show(&field(&cmd(&mut con, "RANK.INFO b").expect("a board"), "since"));
                lose_marker(&mut con, "b");
                let without = elements(&mut con, "b");
                if layout_of(schema) != "plain" {
                    let answer = reply(&mut con, &format!("RANK.CREATE b {schema}"));
                    assert!(is_error(&answer) && answer.contains("ADOPT"), "{schema}: {answer}");
                    assert_eq!(elements(&mut con, "b"), without, "{schema}: refused, and yet changed");
                }
                let since = if since == "nil" { String::new() } else { format!("SINCE {since}") };
                if !since.is_empty() && !schema.contains("SINCE") {
                    expect(&mut con, &format!("RANK.CREATE b {schema} ADOPT"),
                        "ERR ADOPT of a board with tie times needs SINCE ms: the one that RANK.INFO showed, or 0 if it is not known");
                    assert_eq!(elements(&mut con, "b"), without, "{schema}: refused, and yet changed");
                }
                let since = if schema.contains("SINCE") { "" } else { since.as_str() };
                expect(&mut con, &format!("RANK.CREATE b {schema} {since} ADOPT"), "+OK");
                assert_eq!(elements(&mut con, "b"), before, "{schema}");
                board.assert_answers(&mut con, "b", &answers, "ADOPT");
                // Once more: it is the same schema, and nothing changes.
                expect(&mut con, &format!("RANK.CREATE b {schema} ADOPT"), "+OK");
                assert_eq!(elements(&mut con, "b"), before, "{schema}");
                board.assert_goes_on(&mut con, "b", "ADOPT");
            }
        }
    }

    fn a_marker_that_took_entries_along_is_adopted_back_and_mended(server: Server) {
        let mut con = server.connect();
        make(&mut con, 20);
        let top = reply(&mut con, "RANK.TOPN b 20");
        reply(&mut con, "ZPOPMIN b 4");
        let before = elements(&mut con, "b");
        for wrong in ["FIELD a INT FIELD b INT FIELD c INT", "FIELD a INT", "FIELD a DIGITS 3", "FIELD a FLOAT", "FIELD a BITS 60"] {
            let answer = reply(&mut con, &format!("RANK.CREATE b {wrong} ADOPT"));
            assert!(is_error(&answer), "{wrong}: {answer}");
            assert_eq!(elements(&mut con, "b"), before, "{wrong}");
        }
        expect(&mut con, "RANK.CREATE b FIELD a INT FIELD b ASC INT ADOPT", "+OK");
        mends(&mut con, "three entries gone", [0, 3, 0, 0, 0]);
        script(&mut con, &format!("RANK.TOPN b 20 => {top}\n RANK.SCORE b m7 => [7, 1000000000000007]\n RANK.ADD b 1 1 new => 1\n RANK.COUNT b => 21"));
        assert_eq!(verify(&mut con, b"b", false), CLEAN);
    }

    fn up_to_twenty_thousand_members_are_all_looked_at(server: Server) {
        let mut con = server.connect();
        fill(&server, "b", 19_000);
        for (score, found) in [("-5", true), ("0.5", true), ("5000006.5", true), ("99999999990", true), ("1e300", true), ("inf", true), ("-inf", true), ("18999008", false)] {
            script(&mut con, &format!("ZADD b {score} bad => 1"));
            let before = reply(&mut con, "DEBUG DIGEST-VALUE b");
            let answer = reply(&mut con, &format!("RANK.CREATE b {SCHEMA} ADOPT"));
            if found {
                assert_eq!(answer, "SCHEMA ADOPT: element 'bad' does not decode under this schema: ZREM it, or use the schema the board had", "{score}");
                assert_eq!(reply(&mut con, "DEBUG DIGEST-VALUE b"), before, "{score}: refused, and yet changed");
                assert!(is_plain(&mut con), "{score}");
                script(&mut con, "ZREM b bad => 1");
            } else {
                assert_eq!(answer, "+OK");
                script(&mut con, "RANK.SCORE b bad => [18999, 8]\n RANK.COUNT b => 19001\n RANK.GET b m18999 => [2, \"m18999\", 18999, 7]");
            }
        }
        // With an entry for each member there are twice as many elements.
        expect(&mut con, "FLUSHALL", "+OK");
        make(&mut con, 15_000);
        lose_marker(&mut con, "b");
        for at in [20_000, 25_000, 29_000] {
            let Ok(Value::Array(one)) = cmd(&mut con, &format!("ZRANGE b {at} {at} WITHSCORES")) else { panic!("no element") };
            let (element, score) = (bytes(&one[0]), bytes(&one[1]));
            // Its score says another thing than its bytes.
            core(&mut con, &[b"ZADD", b"b", b"100", &element]);
            let answer = reply(&mut con, "RANK.CREATE b FIELD a INT FIELD b ASC INT ADOPT");
            assert!(answer.starts_with("SCHEMA ADOPT: element '\\x02"), "{at}: {answer}");
            core(&mut con, &[b"ZADD", b"b", &score, &element]);
        }
        expect(&mut con, "RANK.CREATE b FIELD a INT FIELD b ASC INT ADOPT", "+OK");
        assert_eq!(verify(&mut con, b"b", false), CLEAN);
    }

    fn of_more_members_both_ends_and_many_between_are_looked_at(server: Server) {
        let mut con = server.connect();
        let members = many();
        fill(&server, "b", members);
        let middle = members / 2;
        for score in ["-5", "0.5", "99999999990", "1e300", "inf", "-inf"] {
            script(&mut con, &format!("ZADD b {score} bad => 1"));
            let answer = reply(&mut con, &format!("RANK.CREATE b {SCHEMA} ADOPT"));
            assert!(answer.contains("ADOPT: element 'bad'"), "{score}: {answer}");
            assert!(is_plain(&mut con), "{score}");
            script(&mut con, "ZREM b bad => 1");
        }
        // More in a row than lie between two places that are looked at.
        for at in 0..members / 1000 + 50 {
            expect(&mut con, &format!("ZADD b {middle}007.25 bad{at}"), "1");
        }
        let answer = reply(&mut con, &format!("RANK.CREATE b {SCHEMA} ADOPT"));
        assert!(answer.contains("ADOPT: element 'bad"), "{answer}");
        expect(&mut con, &format!("ZREMRANGEBYSCORE b {middle}007.25 {middle}007.25"), &(members / 1000 + 50).to_string());
        // A single one in between may be overlooked; the verification finds it.
        expect(&mut con, &format!("ZADD b {middle}007.25 bad"), "1");
        let answer = reply(&mut con, &format!("RANK.CREATE b {SCHEMA} ADOPT"));
        assert!(answer == "+OK" || answer.contains("ADOPT: element 'bad'"), "{answer}");
        if answer == "+OK" {
            assert_eq!(verify(&mut con, b"b", false), [1, 0, 0, 0, 0]);
        }
        script(&mut con, &format!("ZREM b bad => 1\n RANK.CREATE b {SCHEMA} ADOPT => +OK\n RANK.GET b m7 => [{}, \"m7\", 7, 7]", members - 7));
        assert_eq!(verify(&mut con, b"b", false), CLEAN);
    }

    fn transactions_and_scripts_adopt_boards_of_any_size(server: Server) {
        let words: Vec<String> = SCHEMA.split(' ').map(|word| format!("'{word}'")).collect();
        let eval = format!("redis.call('RANK.CREATE', KEYS[1], {}, 'ADOPT') return redis.call('RANK.SCORE', KEYS[1], 'm5')", words.join(", "));
        let mut con = server.connect();
        for members in [1000, many()] {
            expect(&mut con, "FLUSHALL", "+OK");
            fill(&server, "b", members);
            expect(&mut con, "COPY b c", "1");
            script(&mut con, &format!("MULTI => +OK\n RANK.CREATE b {SCHEMA} ADOPT => +QUEUED\n RANK.SCORE b m5 => +QUEUED\n EXEC => [+OK, [5, 7]]"));
            assert_eq!(replyv(&mut con, &["EVAL", &eval, "1", "c"]), "[5, 7]");
            script(&mut con, &format!("RANK.COUNT b => {members}\n RANK.COUNT c => {members}"));
        }
        assert_eq!(server.info("blocked_clients"), "0");
    }

    /// A board that expired while it was adopted was once written to after it was freed, and came back.
    fn a_board_that_expires_is_not_brought_back(kind: Kind) {
        let mut server = Server::builder(kind).appendonly().config("appendfsync always").config("lazyfree-lazy-expire yes").start();
        fill(&server, "all", 12_000);
        let mut con = server.connect();
        let mut adopted = 0;
        for round in 0..60 {
            let key = format!("b{round}");
            expect(&mut con, &format!("COPY all {key}"), "1");
            // At one moment, so that it is known whether the key was there.
            script(&mut con, "MULTI => +OK");
            for line in [format!("EXISTS {key}"), format!("RANK.CREATE {key} {SCHEMA} ADOPT"), format!("PTTL {key}")] {
                // In the end the board expires before the transaction, at the beginning after it.
                expect(&mut con, &line, "+QUEUED");
            }
            expect(&mut server.connect(), &format!("PEXPIRE {key} {}", 1 + round % 6), "1");
            let answer = reply(&mut con, "EXEC");
            let was_there = answer.starts_with("[1, +OK, ") && !answer.ends_with(", -1]");
            assert!(was_there || answer == "[0, +OK, -1]", "{answer}");
            if was_there {
                adopted += 1;
                wait_until(|| reply(&mut con, &format!("EXISTS {key}")) == "0");
            } else {
                // There was no such key any more: a new board, and nothing of the old one.
                script(&mut con, &format!("RANK.COUNT {key} => 0\n TTL {key} => -1"));
            }
            // And alone: whichever it was, the key is gone soon, or it is a new board.
            let key = format!("c{round}");
            expect(&mut con, &format!("COPY all {key}"), "1");
            let mut pipe = redis::pipe();
            pipe.cmd("PEXPIRE").arg(&key).arg(1 + round % 6).cmd("RANK.CREATE").arg(&key);
            SCHEMA.split(' ').chain(["ADOPT"]).for_each(|word| {
                pipe.arg(word);
            });
            let (_, created): (i64, String) = pipe.query(&mut con).expect("both work");
            assert_eq!(created, "OK");
            wait_until(|| {
                let state = reply(&mut con, &format!("PTTL {key}"));
                state == "-2" || state == "-1" && reply(&mut con, &format!("ZCARD {key}")) == "1"
            });
        }
        assert!(adopted > 0, "every key had expired before");
        let before = snapshot(&mut con);
        server.kill9();
        server.restart();
        assert_same(&before, &snapshot(&mut server.connect()), "the restarted server");
    }

    fn a_deleted_board_is_not_brought_back(server: Server) {
        let mut con = server.connect();
        fill(&server, "all", 12_000);
        script(&mut con, "COPY all b => 1\n DEL b => 1");
        // As RANK.CREATE of any key that does not exist: an empty board.
        script(&mut con, &format!("RANK.CREATE b {SCHEMA} ADOPT => +OK\n RANK.COUNT b => 0\n ZCARD b => 1"));
        script(&mut con, &format!("DEL b => 1\n SET b x => +OK\n RANK.CREATE b {SCHEMA} ADOPT => WRONGTYPE Operation against a key holding the wrong kind of value"));
    }

    fn a_sorted_set_takes_a_plain_schema(server: Server) {
        let mut con = server.connect();
        for adopt in ["", " ADOPT"] {
            script(&mut con, &format!(r#"
                FLUSHALL => +OK
                ZADD b 1 ann 2.5 bob 3 eve 0 joe => 4
                EXPIRE b 1000 => 1
                RANK.CREATE b FIELD points KEEP 3 UPDATE BEST{adopt} => +OK
                RANK.TOPN b 9 => [[1, "eve", "3"], [2, "bob", "2.5"], [3, "ann", "1"]]
                TTL b => 1000
                ZADD z -inf x 1 y => 2
                RANK.CREATE z KEEP 3{adopt} => SCHEMA the sorted set has infinite scores: a board with a schema takes finite scores only
                ZADD i inf x 1 y => 2
                RANK.CREATE i ASC{adopt} => SCHEMA the sorted set has infinite scores: a board with a schema takes finite scores only
                ZCARD z => 2
                ZCARD i => 2
            "#));
        }
        script(&mut con, "ZADD n 1 ann => 1");
        for schema in ["FIELD a INT", "FIELD a DIGITS 3", "FIELD a TIES FIRST", "FIELD a FIELD b"] {
            let answer = reply(&mut con, &format!("RANK.CREATE n {schema}"));
            assert!(is_error(&answer) && answer.contains("ADOPT"), "{schema}: {answer}");
        }
        expect(&mut con, "ZCARD n", "1");
    }

    fn an_adopted_board_is_trimmed_to_its_bound(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a INT FIELD b ASC INT KEEP 3", "FIELD a DIGITS 3 FIELD b DIGITS 3 KEEP 3", "FIELD a ASC INT TIES FIRST SINCE 1700000000000 KEEP 3"] {
            let scores = |number: usize| if schema.contains("FIELD b") { format!("{number} 1") } else { number.to_string() };
            expect(&mut con, "FLUSHALL", "+OK");
            expect(&mut con, &format!("RANK.CREATE b {}", schema.trim_end_matches(" KEEP 3")), "+OK");
            for number in 0..10 {
                expect(&mut con, &format!("RANK.ADD b {} m{number}", scores(number)), "1");
            }
            let best = reply(&mut con, "RANK.TOPN b 3");
            lose_marker(&mut con, "b");
            script(&mut con, &format!("RANK.CREATE b {schema} ADOPT => +OK\n RANK.COUNT b => 3\n RANK.TOPN b 9 => {best}"));
            assert_eq!(verify(&mut con, b"b", false), CLEAN, "{schema}");
        }
    }

    fn codes_are_looked_at_as_well(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b FIELD a BITS 30 FIELD b RANGE 0 999999999 => +OK\n RANK.ADD b 5 6 x 7 8 y 1073741823 999999999 z => 3");
        lose_marker(&mut con, "b");
        let coder = Coder::new("FIELD a BITS 30 FIELD b BITS 30", 0);
        // As if the second field had no upper bound, and one that is within it.
        let [beyond, within] = ["1000000000", "7"].map(|b| coder.stored(&["5", b], 0, b"").0.1.to_string());
        for (score, bad) in [("0", true), ("1e-310", true), ("-1e-300", true), ("1.1", true), ("4", true), ("inf", true), ("-5", true), (&beyond, true), (&within, false)] {
            script(&mut con, &format!("ZADD b {score} added => 1"));
            let answer = reply(&mut con, "RANK.CREATE b FIELD a BITS 30 FIELD b RANGE 0 999999999 ADOPT");
            assert_eq!(answer.starts_with("SCHEMA ADOPT: element 'added'"), bad, "{score}: {answer}");
            script(&mut con, "ZREM b added => 1");
        }
        script(&mut con, "RANK.SCORE b y => [7, 8]\n RANK.SCORE b z => [1073741823, 999999999]");
    }

    fn replicas_and_the_aof_have_what_was_adopted_and_mended(kind: Kind) {
        let mut server = Server::builder(kind).tcp().appendonly().config("appendfsync always").start();
        fill(&server, "p", 11_000);
        let replica = Server::builder(kind).without_module().replica_of(&server).start();
        let mut con = server.connect();
        make(&mut con, 300);
        let all = elements(&mut con, "b");
        core(&mut con, &[b"ZREM", b"b", &all[0].0, &all[3].0, &all[4].0, &all[600].0]);
        replica.wait_for_sync(&server);
        script(&mut con, &format!("RANK.CREATE p {SCHEMA} ADOPT => +OK\n RANK.CREATE b FIELD a INT FIELD b ASC INT ADOPT => +OK"));
        mends(&mut con, "an element and two entries gone", [0, 2, 1, 0, 0]);
        let before = snapshot(&mut con);
        replica.wait_for_sync(&server);
        assert_same(&before, &snapshot(&mut replica.connect()), "the replica");
        server.kill9();
        server.restart();
        let mut con = server.connect();
        assert_same(&before, &snapshot(&mut con), "the restarted server");
        script(&mut con, "RANK.SCORE p m7 => [7, 7]\n RANK.SCORE b m7 => [7, 1000000000000007]");
    }
}

/// Whether the member of [`make`] with this number is found. One whose entry is gone is not.
fn is_found(con: &mut Connection, member: usize) -> bool {
    reply(con, &format!("RANK.SCORE b m{member}")).starts_with('[')
}

/// What the server's main thread has spent on the processor; zero where the system does not tell.
fn processor_time(process: &str) -> Duration {
    let text = fs::read_to_string(format!("/proc/{process}/task/{process}/schedstat")).unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse().ok()).map_or(Duration::ZERO, Duration::from_nanos)
}
