//! `RANK.VERIFY` and `RANK.CREATE … ADOPT`: boards that core commands, lost markers and half a backup
//! have damaged are found out, mended, and mended in steps that stop nobody. (Which reads notice, and
//! which writes mend at once: companions.)

use std::fs;
use std::time::Duration;

use redis::{Connection, Value};

use crate::flood::Flood;
use crate::script::script;
use crate::support::*;
use crate::workload::{bytes, field, verify, verify_by};

/// undecodable, missing, orphaned, repaired
type Found = [i64; 4];
const CLEAN: Found = [0; 4];

/// A spilled board `b` with as many members, each with an attribute.
fn make(con: &mut Connection, members: usize) {
    expect(con, "RANK.CREATE b FIELD a INT FIELD b ASC INT", "+OK");
    for member in 0..members {
        script(con, &format!("RANK.ADD b {member} {member} m{member} => 1\n RANK.SETDATA b m{member} k v => 1"));
    }
}

/// The elements, the marker first.
fn elements(con: &mut Connection) -> Vec<Vec<u8>> {
    let Ok(Value::Array(elements)) = cmd(con, "ZRANGE b 0 -1") else { panic!("no elements") };
    elements.iter().map(bytes).collect()
}

fn core(con: &mut Connection, args: &[&[u8]]) {
    let answer = show_result(&cmdv(con, args));
    assert!(!answer.starts_with("ERR") && !answer.starts_with("WRONGTYPE"), "{answer}");
}

#[track_caller]
fn mends(con: &mut Connection, damage: &str, found: Found) {
    assert_eq!(verify(con, b"b", false), found, "{damage}");
    let repaired = verify(con, b"b", true);
    // A wrong entry is one that is missing, and one that belongs to nobody until it is mended.
    assert_eq!(repaired[..2], found[..2], "{damage}");
    assert!(repaired[3] > 0 || found[0] > 0, "{damage}: nothing repaired");
    assert_eq!(verify(con, b"b", false)[1..], CLEAN[1..], "{damage}: still there after the repair");
}

on_every_server! {
    fn every_damage_is_found_counted_and_mended(server: Server) {
        let mut con = server.connect();
        // 8 members stay in the compact encoding, 300 do not.
        for members in [8, 300] {
            expect(&mut con, "FLUSHALL", "+OK");
            make(&mut con, members);
            assert_eq!(verify(&mut con, b"b", false), CLEAN);
            let all = elements(&mut con);

            core(&mut con, &[b"ZREM", b"b", &all[3]]);
            mends(&mut con, "ZREM", [0, 0, 2, 0]);
            core(&mut con, &[b"ZADD", b"b", b"9000", &[&all[4][..16], b"new"].concat()]);
            let found = verify(&mut con, b"b", false);
            assert_eq!(found[0] + found[1], 1, "an element that came by ZADD");
            core(&mut con, &[b"ZREMRANGEBYSCORE", b"b", b"9000", b"9000"]);
            verify(&mut con, b"b", true);
            core(&mut con, &[b"HDEL", b"rank:members:{b}", b":m5", b":m6"]);
            mends(&mut con, "HDEL", [0, 2, 0, 0]);
            core(&mut con, &[b"HSET", b"rank:members:{b}", b":m5", b"nonsense"]);
            mends(&mut con, "a wrong entry", [0, 1, 1, 0]);
            core(&mut con, &[b"HSET", b"rank:data:{b}", b":nobody", b"{}"]);
            mends(&mut con, "an attribute of nobody", [0, 0, 1, 0]);
            core(&mut con, &[b"DEL", b"rank:members:{b}"]);
            let left = i64::try_from(members).expect("a count") - 1;
            mends(&mut con, "the whole companion gone", [0, left, 0, 0]);
            core(&mut con, &[b"HSET", b"rank:members:{b}", b"id", b"0123456789abcdef"]);
            mends(&mut con, "a companion of another board", [0, left, 0, 0]);
            core(&mut con, &[b"ZADD", b"b", b"5", b"short"]);
            let [undecodable, ..] = verify(&mut con, b"b", true);
            assert_eq!(undecodable, 1);
            // What cannot be decoded is shown, and stays: it is somebody's data.
            assert!(reply(&mut con, "RANK.VERIFY b COUNT 1000").contains("\"short\""));
            core(&mut con, &[b"ZREM", b"b", b"short"]);
            verify(&mut con, b"b", true);
            script(&mut con, "RANK.SCORE b m6 => [6, 6]\n RANK.GETDATA b m6 => [\"k\", \"v\"]");
        }
    }

    fn an_element_that_cannot_be_decoded_costs_nobody_their_attributes(server: Server) {
        let mut con = server.connect();
        make(&mut con, 3);
        script(&mut con, "ZADD b 5 short => 1");
        assert_eq!(verify(&mut con, b"b", true), [1, 0, 0, 0]);
        script(&mut con, "ZREM b short => 1\n RANK.GETDATA b m1 => [\"k\", \"v\"]\n HLEN rank:data:{b} => 4");
        // Nor does a member that is missing, as long as nobody asked for a repair.
        let element = elements(&mut con).pop().expect("an element");
        core(&mut con, &[b"ZREM", b"b", &element]);
        assert_eq!(verify(&mut con, b"b", false), [0, 0, 2, 0]);
        script(&mut con, "HLEN rank:data:{b} => 4");
    }

    /// Found by cargo-fuzz: such a field counts as an entry, and no repair saw it.
    fn a_field_that_is_no_members_is_an_orphan(server: Server) {
        let mut con = server.connect();
        make(&mut con, 300);
        core(&mut con, &[b"HSET", b"rank:members:{b}", b"stray", b"x", b"", b"y"]);
        core(&mut con, &[b"HSET", b"rank:data:{b}", b"stray", b"x"]);
        let answer = reply(&mut con, "RANK.SCORE b m5");
        assert!(answer.contains("out of step"), "{answer}");
        mends(&mut con, "fields that are no members'", [0, 0, 3, 0]);
        script(&mut con, "RANK.SCORE b m5 => [5, 5]\n HLEN rank:members:{b} => 301\n HLEN rank:data:{b} => 301");
    }

    fn a_step_looks_at_count_elements_and_hardly_more(server: Server) {
        let mut con = server.connect();
        make(&mut con, 2000);
        for count in [1, 50, 100, 333, 1000] {
            let (mut cursor, mut checked, mut steps) = (0, 0, 0);
            loop {
                let report = cmd(&mut con, &format!("RANK.VERIFY b CURSOR {cursor} COUNT {count}")).expect("a report");
                let number = |name| show(&field(&report, name)).parse::<i64>().expect("a number");
                cursor = number("cursor");
                checked += number("checked");
                steps += 1;
                // As SCAN, which gives whole buckets: a few more.
                assert!(number("checked") <= count + 50, "COUNT {count}: {}", show(&report));
                if cursor == 0 {
                    break;
                }
            }
            // Elements, their entries, their attributes. SCAN may show one twice.
            assert!((2000..2100).contains(&checked), "COUNT {count}: {checked} checked");
            assert!(steps >= 6000 / (count + 50), "COUNT {count}: {steps} steps");
        }
    }

    fn a_lost_marker_is_adopted_back(server: Server) {
        let mut con = server.connect();
        make(&mut con, 20);
        let top = reply(&mut con, "RANK.TOPN b 20");
        expect(&mut con, "ZREMRANGEBYRANK b 0 0", "1");
        // Without its marker it is a sorted set of strange names: a wrong guess is refused, nothing changes.
        let answer = reply(&mut con, "RANK.CREATE b FIELD a INT FIELD b ASC INT");
        assert!(answer.contains("ADOPT"), "{answer}");
        let answer = reply(&mut con, "RANK.CREATE b FIELD a INT FIELD b INT FIELD c INT ADOPT");
        assert!(answer.starts_with("ERR"), "{answer}");
        script(&mut con, &format!("RANK.CREATE b FIELD a INT FIELD b ASC INT ADOPT => +OK\n RANK.TOPN b 20 => {top}\n RANK.SCORE b m7 => [7, 7]"));
        assert_eq!(verify(&mut con, b"b", true)[..2], CLEAN[..2]);
        script(&mut con, "RANK.ADD b 1 1 new => 1\n RANK.COUNT b => 21\n RANK.SETDATA b new k w => 1\n RANK.GETDATA b new => [\"k\", \"w\"]");
        assert_eq!(verify(&mut con, b"b", false), CLEAN);
    }

    fn half_a_backup_is_mended(server: Server) {
        let mut con = server.connect();
        make(&mut con, 200);
        let dump = |con: &mut Connection, key: &str| match cmdv(con, &["DUMP", key]) {
            Ok(Value::BulkString(dump)) => dump,
            other => panic!("no dump: {other:?}"),
        };
        let (old_members, old_data) = (dump(&mut con, "rank:members:{b}"), dump(&mut con, "rank:data:{b}"));
        // The board goes on, then somebody restores the companions of yesterday.
        for member in 0..50 {
            script(&mut con, &format!("RANK.INCR b 1000 1 m{member} => [{}, {}]\n RANK.REM b m{} => 1", 1000 + member, member + 1, 199 - member));
        }
        core(&mut con, &[b"RESTORE", b"rank:members:{b}", b"0", &old_members, b"REPLACE"]);
        core(&mut con, &[b"RESTORE", b"rank:data:{b}", b"0", &old_data, b"REPLACE"]);
        let [undecodable, missing, orphaned, _] = verify(&mut con, b"b", true);
        assert_eq!((undecodable, missing), (0, 50));
        assert!(orphaned >= 100, "{orphaned}");
        assert_eq!(verify(&mut con, b"b", false), CLEAN);
        script(&mut con, "RANK.SCORE b m7 => [1007, 8]\n RANK.SCORE b m199 => nil\n RANK.GETDATA b m7 => [\"k\", \"v\"]\n RANK.GETDATA b m199 => nil\n HLEN rank:data:{b} => 151");
    }

    fn a_million_members_are_verified_and_repaired_in_short_steps(server: Server) {
        // Both kinds of server have the same code for it: one of them is asked for the whole million.
        let members: usize = if server.kind() == Kind::Redis { 1_000_000 } else { 200_000 };
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE b FIELD a INT FIELD b INT", "+OK");
        let mut flood = Flood::connect(&server);
        for chunk in 0..members / 1000 {
            let mut command = vec![b"ZADD".to_vec(), b"b".to_vec()];
            for member in chunk * 1000..(chunk + 1) * 1000 {
                // As the module writes them: the score is the first field, the rest is in front of the member.
                let field = (member as u64 ^ (1 << 63)).to_be_bytes();
                command.push(member.to_string().into_bytes());
                command.push([&field[..], &field, format!("m{member}").as_bytes()].concat());
            }
            assert!(flood.send(&command));
        }
        assert!(flood.flush());
        // Its companion does not exist: a write says so, and names the way.
        expect(&mut con, "RANK.COUNT b", &members.to_string());
        let answer = reply(&mut con, "RANK.ADD b 1 1 new");
        assert!(answer.contains("RANK.VERIFY"), "{answer}");
        let all = i64::try_from(members).expect("a count");
        for (repair, expected) in [(true, [0, all, 0, all]), (false, CLEAN)] {
            let process = server.info("process_id");
            let mut times = Vec::new();
            let mut looked_at: i64 = 0;
            let found = verify_by(&mut con, b"b", repair, |con, args| {
                let before = processor_time(&process);
                let report = cmdv(con, args);
                times.push(processor_time(&process).saturating_sub(before));
                if let Ok(Value::Int(checked)) = report.as_ref().map(|report| field(report, "checked")) {
                    looked_at = looked_at.max(checked);
                }
                report
            });
            assert_eq!(found, expected);
            // A thousand elements and entries together, and what shares a place of the server's table with the last.
            assert!((1..=1100).contains(&looked_at) && times.len() >= members / 550, "{} steps, up to {looked_at}", times.len());
            // Not the time on the wall: the machine that runs the tests is busy with other tests. And not the longest: a
            // virtual machine takes it for processor time when its host holds it up. (`make bench` tells the longest.)
            times.sort_unstable();
            let (typical, most) = (times[times.len() / 2], times[times.len() * 95 / 100]);
            println!("{members} members, repair {repair}: {} steps, {typical:?} each, most within {most:?}, the longest {:?}", times.len(), times[times.len() - 1]);
            assert!(typical < Duration::from_millis(5) && most < Duration::from_millis(10), "{typical:?} each, most within {most:?}");
        }
        script(&mut con, "RANK.ADD b 1 1 new => 1\n RANK.SCORE b m177777 => [177777, 177777]");
    }
}

/// What the server's main thread has spent on the processor; zero where the system does not tell.
fn processor_time(process: &str) -> Duration {
    let text = fs::read_to_string(format!("/proc/{process}/task/{process}/schedstat")).unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse().ok()).map_or(Duration::ZERO, Duration::from_nanos)
}
