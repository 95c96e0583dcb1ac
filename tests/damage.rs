//! What core commands do to a board behind the module's back: every command answers what the elements say, or with an
//! error that names the way out; a write that reports damage changes nothing; `RANK.VERIFY` finds it, and `REPAIR` mends it.
//! One thing no look-up can know: that somebody is there whose index entry was removed by `ZREM`.

mod kinds;
mod survey;
mod truth;

use redis::{Connection, Value};

use self::kinds::*;
use self::survey::*;
use self::truth::*;
use crate::script::{script, Dice};
use crate::support::boards::{elements, replyv};
use crate::support::codes::Coder;
use crate::support::*;
use crate::workload::verify;

/// The board `b`, and others to make unions with.
#[track_caller]
fn prepare(con: &mut Connection, shape: &Shape, members: usize) -> Vec<u8> {
    expect(con, "FLUSHALL", "+OK");
    shape.fill(con, "b", 1..members + 1, 0);
    shape.fill(con, "c", 2..6, 5);
    LONG_ONES.fill(con, "long", 3..9, 5);
    MIXED.fill(con, "mixed", 3..9, 5);
    script(
        con,
        "RANK.CREATE other FIELD x ASC RANGE -50 50 TIES FIRST => +OK\n RANK.ADD other AT 1700000000000 5 m1 6 x => 2",
    );
    dump(con, "b").expect("a board")
}

/// Does damage to the board, asks everything of it, and mends it; tells what was wrong.
fn try_damage(
    con: &mut Connection,
    shape: &Shape,
    intact: &[u8],
    marker: &[u8],
    (damage, commands): Damage,
) -> Vec<String> {
    assert_eq!(replyv(con, &[b"RESTORE".as_slice(), b"b", b"0", intact, b"REPLACE"]), "+OK");
    for command in commands {
        let answer = replyv(con, &command);
        assert!(!answer.contains("ERR") || answer.contains("NaN"), "{damage}: {answer}");
    }
    let mut survey = Survey { shape, marker: marker.to_vec(), damage, problems: Vec::new() };
    survey.ask_all(con);
    if reply(con, "EXISTS b") == "1" {
        let mended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| survey.mend(con)));
        if let Err(problem) = mended {
            survey.problems.push(problem.downcast_ref::<String>().cloned().unwrap_or_default());
        }
    }
    survey.problems
}

#[track_caller]
fn no_problems(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Does to boards of these shapes all that can be done.
#[track_caller]
fn damage_and_mend(con: &mut Connection, shapes: &[Shape], members: usize) {
    let mut problems = Vec::new();
    for shape in shapes {
        let intact = prepare(con, shape, members);
        let all = elements(con, "b");
        let mut list = damages(&all);
        if shape.coded {
            list.extend(index_damages(shape, &all));
        }
        for damage in list {
            problems.extend(try_damage(con, shape, &intact, &all[0].0, damage));
        }
    }
    no_problems(&problems);
}

#[track_caller]
fn report(con: &mut Connection, arguments: &str, expected: &str) {
    let got = reply(con, &format!("RANK.VERIFY {arguments}"));
    assert!(got.ends_with(expected), "{arguments}: {got}");
}

on_every_server! {
    fn a_damaged_index_never_makes_a_small_board_lie(server: Server) {
        let mut con = server.connect();
        damage_and_mend(&mut con, &WITH_INDEX, 6);
    }

    fn a_damaged_index_never_makes_a_large_board_lie(server: Server) {
        let mut con = server.connect();
        // More than the compact encoding holds.
        expect(&mut con, "CONFIG SET zset-max-listpack-entries 8", "+OK");
        damage_and_mend(&mut con, &WITH_INDEX, 12);
    }

    fn damage_never_makes_a_board_without_an_index_lie(server: Server) {
        let mut con = server.connect();
        for entries in ["128", "4"] {
            expect(&mut con, &format!("CONFIG SET zset-max-listpack-entries {entries}"), "+OK");
            damage_and_mend(&mut con, &WITHOUT_INDEX, 6);
        }
    }

    fn damage_of_any_kind_at_any_place_is_found_and_mended(server: Server) {
        let mut con = server.connect();
        let mut dice = Dice::new(26);
        let rounds = match std::env::var("RANK_DAMAGE_ROUNDS") {
            Ok(rounds) => rounds.parse().expect("a number"),
            Err(_) if server_wrapper().is_some() => 4,
            Err(_) => 30,
        };
        let mut problems = Vec::new();
        for shape in WITH_INDEX.iter().chain(&WITHOUT_INDEX) {
            let intact = prepare(&mut con, shape, 5);
            let all = elements(&mut con, "b");
            for round in 0..rounds {
                let commands: Vec<_> = (0..1 + dice.roll(4)).map(|_| any_damage(&mut dice, shape, &all)).collect();
                let shown: Vec<String> = commands.iter().map(|words| words.join(&b' ').escape_ascii().to_string()).collect();
                let damage = (format!("round {round}: {}", shown.join("; ")), commands);
                problems.extend(try_damage(&mut con, shape, &intact, &all[0].0, damage));
            }
        }
        no_problems(&problems);
    }

    fn the_errors_say_what_to_do(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE p FIELD a DIGITS 3 => +OK
            RANK.ADD p 1 a 2 b => 2
            ZADD p -inf "" => 1
            RANK.GET p a => DAMAGED the board is damaged: elements at -inf come before its marker; run RANK.VERIFY key REPAIR, or ZREM them and use RANK.CREATE key ... ADOPT
            RANK.ADD p 1 c => DAMAGED the board is damaged: elements at -inf come before its marker; run RANK.VERIFY key REPAIR, or ZREM them and use RANK.CREATE key ... ADOPT
            ZREM p "" => 1
            ZADD p -inf zzz => 1
            RANK.TOPN p 5 => DAMAGED the board is damaged: an element other than its marker is at -inf; run RANK.VERIFY key REPAIR
        "#);
        report(&mut con, "p REPAIR", r#""undecodable", 1, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 1, "examples", ["zzz"]]"#);
        script(&mut con, r#"
            ZADD p 1.5 bad => 1
            RANK.TOPN p 5 => DAMAGED element 'bad' does not decode under the board's schema: ZREM it; RANK.VERIFY finds the others
        "#);
        report(&mut con, "p REPAIR", r#""undecodable", 1, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", ["bad"]]"#);
        script(&mut con, r#"
            RANK.REM p bad => 1
            RANK.TOPN p 5 => [[1, "b", 2], [2, "a", 1]]
            RANK.CREATE s FIELD a INT FIELD b INT => +OK
            RANK.ADD s 1 1 a 2 1000000000000001 b 3 1000000000000001 c => 3
        "#);
        reply(&mut con, "ZPOPMAX s");
        script(&mut con, r#"
            RANK.SCORE s c => DAMAGED the board is damaged: index and element do not match at 'c'; run RANK.VERIFY key REPAIR
            RANK.ADD s 1 1 c => DAMAGED the board is damaged: index and element do not match at 'c'; run RANK.VERIFY key REPAIR
            RANK.REM s a c => DAMAGED the board is damaged: index and element do not match at 'c'; run RANK.VERIFY key REPAIR
            # The others are as they were.
            RANK.COUNT s => 2
            RANK.ADD s 1 1 a => 0
            RANK.TOPN s 5 => [[1, "b", 2, 1000000000000001], [2, "a", 1, 1]]
        "#);
        report(&mut con, "s REPAIR", r#""undecodable", 0, "missing", 0, "orphaned", 1, "duplicated", 0, "repaired", 1, "examples", ["c"]]"#);
        script(&mut con, r#"
            RANK.SCORE s c => nil
            ZPOPMIN s => ["\x00rank 2 FIELD a DESC INT FIELD b DESC INT", "-inf"]
            RANK.COUNT s => DAMAGED the board is damaged: it has index entries but no marker; restore its schema with RANK.CREATE key ... ADOPT, then run RANK.VERIFY key REPAIR
        "#);
        for wrong in ["FIELD a INT", "FIELD a INT FIELD b INT FIELD c INT", "FIELD a", "FIELD a DIGITS 3"] {
            let answer = reply(&mut con, &format!("RANK.CREATE s {wrong} ADOPT"));
            assert!(answer.starts_with("SCHEMA ADOPT: element '"), "{wrong}: {answer}");
            assert!(answer.ends_with("' does not decode under this schema: ZREM it, or use the schema the board had"), "{answer}");
        }
        script(&mut con, r#"
            RANK.CREATE s FIELD a INT FIELD b INT ADOPT => +OK
            RANK.TOPN s 5 => [[1, "b", 2, 1000000000000001], [2, "a", 1, 1]]
            ZADD v -inf "\x00rank 3 FIELD a DESC INT" => 1
            RANK.COUNT v => SCHEMA the board has format version 3, this module reads version 2: upgrade redis-rank
        "#);
    }

    /// An error inside an array would be read as one of its elements, and everything behind it as the rest.
    fn an_error_is_the_whole_reply(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b DATA players => +OK\n RANK.ADD b 1 a 2 b 3 c => 3\n SET players x => +OK");
        let wrong_type = "WRONGTYPE the board keeps its attributes in 'players', which is not a hash";
        for read in ["TOPN b 3", "GET b a", "AMONG b 2 a b", "PAGE b 1 2", "AROUND b a 1", "RANGE b 1 2", "BYSCORE b 1 2", "QUERY b a", "STATS b"] {
            for json in ["", " JSON"] {
                script(&mut con, &format!("RANK.{read} WITHDATA{json} => {wrong_type}\n PING => +PONG"));
            }
        }
        let answer = reply(&mut con, "EVAL \"return redis.pcall('RANK.TOPN', KEYS[1], 3, 'WITHDATA')\" 1 b");
        assert!(answer.starts_with(wrong_type), "{answer}");
        expect(&mut con, "EVAL \"return redis.call('PING')\" 0", "+PONG");
        script(&mut con, "RANK.CREATE p FIELD a DIGITS 3 => +OK\n RANK.ADD p 1 a 2 b => 2\n ZADD p 2.5 bad => 1");
        for read in ["PAGE p 3 1 DENSE", "RANGE p 3 3 DENSE", "STATS p LIMIT 2 1 DENSE", "GET p a DENSE", "TOPN p 3"] {
            let answer = reply(&mut con, &format!("RANK.{read}"));
            assert!(answer.starts_with("DAMAGED element "), "{read}: {answer}");
            expect(&mut con, "PING", "+PONG");
        }
    }

    fn a_batch_that_meets_a_bad_element_writes_nothing(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a DIGITS 3", "FIELD a DIGITS 3 TIES FIRST S", "FIELD a DIGITS 3 KEEP 2"] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE p {schema} => +OK\n ZADD p 1.5 bad => 1"));
            for write in ["ADD p CH 5 ok 6 bad", "ADD p 5 ok 6 bad", "ADD p WITHRANK 5 ok 6 bad"] {
                let before = reply(&mut con, "DEBUG DIGEST");
                let answer = reply(&mut con, &format!("RANK.{write}"));
                if is_error(&answer) {
                    assert_eq!(reply(&mut con, "DEBUG DIGEST"), before, "{schema}: {write}");
                } else {
                    // A score may be set over a bad one where nothing needs to know it: then all of it is written.
                    script(&mut con, "RANK.SCORE p bad => 6\n RANK.SCORE p ok => 5\n ZADD p 1.5 bad => 0\n ZREM p ok => 1");
                }
            }
        }
    }

    fn a_bad_element_can_be_removed_by_its_name(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a DIGITS 3", "FIELD a BITS 30 FIELD b BITS 30", "FIELD a DIGITS 3 TIES FIRST S"] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE p {schema} => +OK\n ZADD p 1.5 bad 1.25 worse => 2"));
            script(&mut con, "RANK.REM p nobody bad => 1\n RANK.REM p worse => 1\n RANK.COUNT p => 0\n ZCARD p => 1");
        }
    }

    fn calls_that_met_damage_are_counted(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b FIELD a INT FIELD b INT => +OK\n RANK.ADD b 1 1000000000000001 x 2 2 y => 2\n RANK.SCORE b y => [2, 2]");
        assert_eq!(server.info("rank_damaged"), "0");
        expect(&mut con, "ZREMRANGEBYRANK b 0 0", "1");
        for command in ["RANK.GET b x", "RANK.ADD b 1 1 z"] {
            assert!(names_a_way_out(&reply(&mut con, command)), "{command}");
        }
        assert_eq!(server.info("rank_damaged"), "2");
    }

    fn a_changed_score_does_not_cost_a_member_its_entry(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b FIELD a INT FIELD b INT => +OK\n RANK.ADD b 5 5 x 6 1000000000000001 y => 2");
        let (element, _) = elements(&mut con, "b").pop().expect("an element");
        assert!(element.starts_with(b"\x02") && element.ends_with(b"y"));
        assert_eq!(replyv(&mut con, &[b"ZADD".as_slice(), b"b", b"100", &element]), "0");
        let shown = show(&Value::BulkString(element.clone()));
        script(&mut con, "RANK.ADD b 1 1 z => 1");
        report(&mut con, "b REPAIR", &format!(r#""undecodable", 1, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", [{shown}]]"#));
        script(&mut con, "RANK.ADD b 1 1 w => 1\n RANK.SCORE b x => [5, 5]");
        let answer = reply(&mut con, "RANK.SCORE b y");
        assert!(answer.starts_with("DAMAGED element '\\x02") && names_a_way_out(&answer), "{answer}");
        script(&mut con, "RANK.REM b y => 1\n RANK.SCORE b y => nil\n RANK.COUNT b => 3");
        assert_eq!(verify(&mut con, b"b", false), [0; 5]);
    }

    fn what_reports_damage_has_changed_nothing(server: Server) {
        let mut con = server.connect();
        const LONG: &str = "9000000000000000001";
        let coder = Coder::new("FIELD a INT FIELD b INT", 0);
        let stored = |a: &str, name: &str| coder.stored(&[a, LONG], 0, name.as_bytes());
        let put = |(element, score): (Vec<u8>, f64)| command(&[b"ZADD", b"b", score.to_string().as_bytes(), &element]);
        let remove = |element: &[u8]| command(&[b"ZREM", b"b", element]);
        let another_tail = coder.stored(&["1", "9000000000000000000"], 0, b"m1");
        for (damage, write) in [
            // Whoever has to leave has lost its entry, or has the element of another.
            (vec![remove(&stored("1", "m1").1[0].0)], "RANK.TRIM b 2"),
            (vec![remove(&stored("1", "m1").1[0].0)], "RANK.ADD b KEEP 3 9 9 new 8 8 newer"),
            (vec![remove(&stored("8", "m8").1[0].0)], "RANK.POP b 2"),
            (vec![remove(&stored("1", "m1").1[0].0)], "RANK.POP b 2 WORST"),
            (vec![remove(&stored("8", "m8").0.0)], "RANK.REM b m7 m8"),
            (vec![remove(&stored("8", "m8").0.0)], "RANK.ADD b 1 1 new 2 2 m8"),
            (vec![put(another_tail.0.clone())], "RANK.ALTER b KEEP 1"),
            (vec![put(another_tail.1[0].clone())], "RANK.ADD b 5 5 m3 5 5 m1"),
            (vec![put(another_tail.1[0].clone())], "RANK.INCR b 1 1 m1"),
            // The place that a member is to take is taken by an element which its entries do not lead to.
            (vec![remove(&stored("1", "m1").1[0].0)], "RANK.ADD b 5 5 m3 1 9000000000000000001 m1"),
            (vec![put(stored("1", "nobody").0)], "RANK.ADD b 3 3 m2 1 9000000000000000001 nobody"),
            (vec![put(stored("1", "nobody").0)], r#"RANK.LOAD b {"member":"a","scores":{"a":1,"b":1}} {"member":"nobody","scores":{"a":1,"b":9000000000000000001}}"#),
        ] {
            script(&mut con, "FLUSHALL => +OK\n RANK.CREATE b FIELD a INT FIELD b INT DATA h OWNED => +OK\n HSET h m1 {} m8 {} => 2");
            for member in 1..9 {
                expect(&mut con, &format!("RANK.ADD b {member} {LONG} m{member}"), "1");
            }
            for words in &damage {
                assert_eq!(replyv(&mut con, words).len(), 1, "{write}");
            }
            let state = |con: &mut redis::Connection| [reply(con, "ZRANGE b 0 -1 WITHSCORES"), reply(con, "HGETALL h")];
            let before = state(&mut con);
            let answer = reply(&mut con, write);
            assert!(names_a_way_out(&answer), "{write}: {answer}");
            assert_eq!(state(&mut con), before, "{write}: {answer}");
        }
    }
}
