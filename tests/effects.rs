//! What a write leaves besides the data: plain commands for the AOF, each once and as few as possible, events, and the
//! end of a WATCH; and that a call without a change leaves nothing. (That replicas and restarts have the same data:
//! replication, restarts.)

mod observed;

use self::observed::*;
use crate::script::script;
use crate::support::codes::Coder;
use crate::support::stored::marker;
use crate::support::*;

on_every_server! {
    fn writes_reach_the_aof_as_core_commands_and_notify_as_they_do(kind: Kind) {
        let mut observed = Observed::new(kind);
        for (command, effects, events) in [
            ("RANK.ADD b 5 a", &["ZADD b 5 a"][..], &["zadd b"][..]),
            ("RANK.ADD b CH 5 a 6 b 0.1 c", &["ZADD b 6 b 0.1 c"], &["zadd b"]),
            ("RANK.ADD b -0 z", &["ZADD b 0 z"], &["zadd b"]),
            ("RANK.ADD b WITHRANK 7 a", &["ZADD b 7 a"], &["zadd b"]),
            ("RANK.ADD b 1 d 2 d", &["ZADD b 2 d"], &["zadd b"]),
            ("RANK.INCR b 0.5 a", &["ZADD b 7.5 a"], &["zincr b"]),
            ("RANK.INCR b 3 new", &["ZADD b 3 new"], &["zincr b"]),
            ("RANK.REM b new nobody z", &["ZREM b new z"], &["zrem b"]),
            ("RANK.TRIM b 3", &["ZREMRANGEBYRANK b 0 0"], &["zremrangebyrank b"]),
            // Added before removed, so that the key never vanishes in between.
            ("RANK.ADD b KEEP 3 9 x", &["ZADD b 9 x", "ZREM b d"], &["zadd b", "zrem b"]),
            ("RANK.CREATE b KEEP 2", &["ZADD b -inf ~FIELD score DESC FLOAT KEEP 2", "ZREMRANGEBYRANK b 1 1"], &["zadd b", "zremrangebyrank b"]),
            ("RANK.ALTER b UPDATE BEST",
             &["ZADD b -inf ~FIELD score DESC FLOAT KEEP 2 UPDATE BEST", "ZREM b ~FIELD score DESC FLOAT KEEP 2"],
             &["zadd b", "zrem b"]),
            ("RANK.ADD b 1 x 99 y", &["ZADD b 99 y", "ZREM b a"], &["zadd b", "zrem b"]),
            ("RANK.ROTATE b old", &["RENAME b old", "ZADD b -inf ~FIELD score DESC FLOAT KEEP 2 UPDATE BEST"],
             &["rename_from b", "rename_to old", "zadd b"]),
            ("RANK.ADD plain 1 a", &["ZADD plain 1 a"], &["zadd plain"]),
            ("RANK.REM plain a", &["ZREM plain a"], &["zrem plain", "del plain"]),
            (r#"RANK.LOAD plain {"member":"a","score":1} {"member":"b","score":2} {"member":"c","score":3} {"member":"d","score":4}"#,
             &["ZADD plain 1 a 2 b 3 c 4 d"], &["zadd plain"]),
            (r#"RANK.LOAD plain {"member":"a","score":1}"#, &[], &[]),
            ("RANK.POP plain", &["ZREM plain d"], &["zrem plain"]),
            ("RANK.POP plain 2 WORST", &["ZREM plain a b"], &["zrem plain"]),
            ("RANK.POP plain 9", &["ZREM plain c"], &["zrem plain", "del plain"]),
            ("RANK.CREATE medals FIELD gold DIGITS 3 FIELD silver DIGITS 3", &["ZADD medals -inf ~FIELD gold DESC DIGITS 3 FIELD silver DESC DIGITS 3"], &["zadd medals"]),
            ("RANK.ADD medals BOARD 2 5 * a", &["ZADD medals 5000 a"], &["zadd medals"]),
            ("RANK.ADD medals BOARD 2 CH * 7 a 5 * a", &["ZADD medals 5007 a"], &["zadd medals"]),
            ("RANK.ADD medals WITHRANK * 7 a", &[], &[]),
            ("RANK.ADD medals BEST * 6 a 4 * a", &[], &[]),
            ("RANK.ADD medals BOARD 3 * 6 1 a", &[], &[]),
            ("RANK.INCR medals BOARD 2 0 1 a", &["ZADD medals 5008 a"], &["zincr medals"]),
            ("RANK.ADD none BOARD 2 5 6 a", &[], &[]),
            ("RANK.MULTISET none BOARD 2 5 6 a", &[], &[]),
            ("RANK.CREATE like LIKE b", &["ZADD like -inf ~FIELD score DESC FLOAT KEEP 2 UPDATE BEST"], &["zadd like"]),
        ] {
            let (answer, seen) = observed.events(command);
            assert_eq!((observed.journal(), seen), (strings(effects), strings(events)), "{command} replied {answer}");
        }
    }

    fn attributes_reach_the_aof_as_writes_of_their_hash(kind: Kind) {
        let mut observed = Observed::new(kind);
        script(&mut observed.con, r#"
            RANK.CREATE b DATA h => +OK
            RANK.CREATE own KEEP 3 DATA oh OWNED => +OK
            RANK.ADD b 5 ann => 1
            RANK.ADD own 5 ann 6 bob 7 joe => 3
            HSET oh ann {"n":1} bob {"n":2} joe {"n":3} => 3
        "#);
        observed.journal();
        for (command, effects, events) in [
            ("RANK.SETDATA b ann k v", &[r#"HSET h ann {"k":"v"}"#][..], &["hset h"][..]),
            ("RANK.SETDATA b ann k v l w", &[r#"HSET h ann {"k":"v","l":"w"}"#], &["hset h"]),
            ("RANK.DELDATA b ann k", &[r#"HSET h ann {"l":"w"}"#], &["hset h"]),
            ("RANK.DELDATA b ann", &["HDEL h ann"], &["hdel h", "del h"]),
            (r#"RANK.PUTDATA b zoe {"n":[1]}"#, &[r#"HSET h zoe {"n":[1]}"#], &["hset h"]),
            (r#"RANK.ADD b DATA {"n":1} 6 ann"#, &["ZADD b 6 ann", r#"HSET h ann {"n":1}"#], &["zadd b", "hset h"]),
            (r#"RANK.ADD b DATA {"n":2} 6 ann"#, &[r#"HSET h ann {"n":2}"#], &["hset h"]),
            (r#"RANK.ADD b DATA {"n":2} 7 ann"#, &["ZADD b 7 ann"], &["zadd b"]),
            ("RANK.REM b ann", &["ZREM b ann"], &["zrem b"]),
            (r#"RANK.LOAD b "{\"member\":\"ann\",\"score\":1,\"data\":{\"n\": 3}}""#, &["ZADD b 1 ann", r#"HSET h ann {"n": 3}"#], &["zadd b", "hset h"]),
            (r#"RANK.LOAD b "{\"member\":\"ann\",\"score\":1,\"data\":{\"n\": 3}}""#, &[], &[]),
            ("RANK.POP b WITHDATA", &["ZREM b ann"], &["zrem b"]),
            ("RANK.REM own ann nobody", &["ZREM own ann", "HDEL oh ann"], &["zrem own", "hdel oh"]),
            ("RANK.TRIM own 1", &["ZREMRANGEBYRANK own 1 1", "HDEL oh bob"], &["zremrangebyrank own", "hdel oh"]),
            ("RANK.ADD own 1 x 2 y", &["ZADD own 1 x 2 y"], &["zadd own"]),
            ("RANK.POP own 2 WORST WITHDATA", &["ZREM own x y"], &["zrem own"]),
            ("RANK.POP own WITHDATA", &["ZREM own joe", "HDEL oh joe"], &["zrem own", "hdel oh", "del oh"]),
            (r#"RANK.LOAD own {"member":"joe","score":7,"data":{"n":3}} {"member":"x","score":1} {"member":"y","score":2}"#,
             &["ZADD own 7 joe 1 x 2 y", r#"HSET oh joe {"n":3}"#], &["zadd own", "hset oh"]),
            // Who had no attributes leaves none.
            ("RANK.ADD own 9 z", &["ZADD own 9 z", "ZREM own x"], &["zadd own", "zrem own"]),
            (r#"RANK.ADD own DATA {"n":4} 8 w"#, &["ZADD own 8 w", "ZREM own y", r#"HSET oh w {"n":4}"#], &["zadd own", "zrem own", "hset oh"]),
            ("RANK.ALTER b NODATA", &["ZADD b -inf ~FIELD score DESC FLOAT", "ZREM b ~FIELD score DESC FLOAT DATA h"], &["zadd b", "zrem b"]),
        ] {
            let (answer, seen) = observed.events(command);
            assert_eq!((observed.journal(), seen), (strings(effects), strings(events)), "{command} replied {answer}");
        }
        expect(&mut observed.con, "RANK.ALTER own KEEP 2", "+OK");
        let effects = [
            "ZADD own -inf ~FIELD score DESC FLOAT KEEP 2 DATA oh OWNED own", "ZREM own ~FIELD score DESC FLOAT KEEP 3 DATA oh OWNED own",
            "ZREMRANGEBYRANK own 1 1", "HDEL oh joe",
        ];
        assert_eq!(observed.journal(), strings(&effects));
        // A hash of thousands goes in one command, and is freed in the background.
        let (answer, _) = observed.events("RANK.CLEAR own");
        let journal = observed.journal();
        let mut verbs: Vec<&str> = journal.iter().filter_map(|line| line.split(" -inf").next()).collect();
        verbs.sort_unstable();
        assert_eq!((answer.as_str(), verbs), ("2", vec!["UNLINK oh", "UNLINK own", "ZADD own"]), "{journal:?}");
    }

    /// A rename propagates itself. What was changed before it comes before it, on a replica too.
    fn a_rotation_renames_the_board_and_its_hash_in_order(kind: Kind) {
        let mut observed = Observed::new(kind);
        script(&mut observed.con, r#"
            RANK.CREATE own DATA oh OWNED => +OK
            RANK.ADD own DATA {"n":1} 5 ann => 1
        "#);
        observed.journal();
        expect(&mut observed.con, "RANK.ROTATE own old DATA oh:old", "1");
        let schema = "~FIELD score DESC FLOAT DATA";
        let effects = [
            format!("ZADD own -inf {schema} oh:old OWNED old"),
            format!("ZREM own {schema} oh OWNED own"),
            "RENAME own old".into(),
            "RENAME oh oh:old".into(),
            format!("ZADD own -inf {schema} oh OWNED own"),
        ];
        assert_eq!(observed.journal(), effects);
    }

    /// An update of a member that fits is one `ZADD` of one element; of one that does not, one `ZADD` of element and
    /// entries, and one `ZREM` of what is no longer needed.
    fn a_coded_write_is_as_few_commands_as_can_be(kind: Kind) {
        let mut observed = Observed::new(kind);
        let schema = "FIELD a DESC INT FIELD b DESC INT FIELD c DESC INT";
        let coder = Coder::new(schema, 0);
        let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect::<Command>();
        let all = |scores: [i64; 3], name: &str| {
            let (element, entries) = coder.stored(&scores.map(|score| score.to_string()), 0, name.as_bytes());
            [vec![element], entries].concat()
        };
        let zadd = |elements: &[(Vec<u8>, f64)]| {
            let mut command = words(&[b"ZADD", b"b"]);
            for (element, score) in elements {
                command.extend([score.to_string().into_bytes(), element.clone()]);
            }
            command
        };
        let zrem = |elements: &[(Vec<u8>, f64)]| {
            [words(&[b"ZREM", b"b"]), elements.iter().map(|it| it.0.clone()).collect()].concat()
        };
        let long = 9_000_000_000_000_000_000;
        let created = vec![(marker(schema), f64::NEG_INFINITY)];
        let both = [all([3, 4, 5], "y"), all([5, 6, 7], "z")].concat();
        // Its tail stays the same where only the head changes. Of several entries those change whose part of the tail does.
        let (first, other_head, other_tail) = (all([1, long, long], "x"), all([2, long, long], "x"), all([2, long, long - 1], "x"));
        assert_eq!((first.len(), first[0].0 == other_head[0].0), (3, true));
        for (command, expected) in [
            (format!("RANK.CREATE b {schema}"), vec![zadd(&created)]),
            ("RANK.ADD b 1 2 3 x".into(), vec![zadd(&all([1, 2, 3], "x"))]),
            ("RANK.ADD b 3 4 5 y 5 6 7 z".into(), vec![zadd(&both)]),
            ("RANK.ADD b 99999 99999 99999 x".into(), vec![zadd(&all([99_999; 3], "x"))]),
            ("RANK.INCR b 0 0 -1 x".into(), vec![zadd(&all([99_999, 99_999, 99_998], "x"))]),
            ("RANK.ADD b 99999 99999 99998 x".into(), vec![]),
            // It ceases to fit, changes, and fits again.
            (format!("RANK.ADD b 1 {long} {long} x"), vec![zadd(&first), zrem(&all([1, 2, 3], "x")[..1])]),
            (format!("RANK.ADD b 2 {long} {long} x"), vec![zadd(&other_head[..1])]),
            ("RANK.INCR b 0 0 -1 x".into(), vec![zadd(&[other_tail[0].clone(), other_tail[2].clone()]), zrem(&other_head[..1])]),
            ("RANK.ADD b 9 9 9 x".into(), vec![zadd(&all([9; 3], "x")), zrem(&other_tail)]),
            (format!("RANK.ADD b KEEP 3 10 {long} 9 w"), vec![zadd(&all([10, long, 9], "w")), zrem(&all([3, 4, 5], "y"))]),
            ("RANK.ADD b KEEP 3 11 1 1 v".into(), vec![zadd(&all([11, 1, 1], "v")), zrem(&all([5, 6, 7], "z"))]),
            ("RANK.REM b w nobody".into(), vec![zrem(&all([10, long, 9], "w"))]),
        ] {
            let (answer, _) = observed.events(&command);
            let journal: Vec<_> = observed.new_commands().into_iter().filter(|command| command.len() > 1).collect();
            let shown: Vec<String> = journal.iter().map(line).collect();
            let same_number = |command: &Command| {
                let mut command = command.clone();
                if command[0] == b"ZADD" {
                    // A double may be written in several ways.
                    for score in command.iter_mut().skip(2).step_by(2) {
                        let number: f64 = String::from_utf8_lossy(score).parse().expect("a score");
                        *score = number.to_bits().to_string().into_bytes();
                    }
                }
                unordered(&command)
            };
            let (journal, expected): (Vec<_>, Vec<_>) = (journal.iter().map(same_number).collect(), expected.iter().map(same_number).collect());
            assert_eq!(journal, expected, "{command} replied {answer}: {shown:?}");
        }
        // However many leave at once, whether they fit or not.
        for long in [1, long] {
            let many: Vec<String> = (0..500).map(|number| format!("1 {number} {long} m{number}")).collect();
            expect(&mut observed.con, &format!("RANK.ADD b {}", many.join(" ")), "500");
            assert_eq!(observed.journal().len(), 1);
            expect(&mut observed.con, "RANK.TRIM b 2", "500");
            let journal = observed.new_commands();
            assert!(journal.len() <= 4, "{} commands", journal.len());
            script(&mut observed.con, "ZCARD b => 3\n RANK.TOPN b 9 => [[1, \"v\", 11, 1, 1], [2, \"x\", 9, 9, 9]]");
        }
    }

    /// Save points count what changed, whether or not anybody listens.
    fn every_element_counts_for_save_points(kind: Kind) {
        let pairs: String = (0..1000).map(|number| format!(" {number} m{number}")).collect();
        let changes = |server: &Server| server.info("rdb_changes_since_last_save").parse::<u64>().expect("a number");
        let server = Server::builder(kind).start();
        let mut con = server.connect();
        for schema in ["", "FIELD a", "FIELD a DIGITS 4", "FIELD a BITS 60", "FIELD a BITS 20 TIES FIRST"] {
            expect(&mut con, "DEL k", if schema.is_empty() { "0" } else { "1" });
            if !schema.is_empty() {
                expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
            }
            let before = changes(&server);
            expect(&mut con, &format!("RANK.ADD k{pairs}"), "1000");
            assert_eq!(changes(&server) - before, 1000, "{schema}");
            let before = changes(&server);
            expect(&mut con, &format!("RANK.ADD k{pairs}"), "0");
            assert_eq!(changes(&server), before, "{schema}");
            expect(&mut con, "RANK.ADD k 5000 m1 6000 m2", "0");
            expect(&mut con, "RANK.REM k m1 m2 m3", "3");
            assert_eq!(changes(&server) - before, 5, "{schema}");
        }
        // With an entry for each member there are twice as many elements.
        script(&mut con, "DEL k => 1\n RANK.CREATE k FIELD a INT TIES FIRST => +OK");
        let pairs: String = (0..1000).map(|number| format!(" 9000000000000000{number:03} m{number}")).collect();
        let before = changes(&server);
        expect(&mut con, &format!("RANK.ADD k{pairs}"), "1000");
        assert_eq!(changes(&server) - before, 2000);
        expect(&mut con, "ZCARD k", "2001");
    }

    fn the_effects_of_one_command_are_one_transaction(kind: Kind) {
        let mut observed = Observed::new(kind);
        expect(&mut observed.con, "RANK.ADD b 5 a", "1");
        observed.journal();
        expect(&mut observed.con, "RANK.ADD b KEEP 1 9 x", "1");
        assert_eq!(observed.whole_journal(), strings(&["MULTI", "ZADD b 9 x", "ZREM b a", "EXEC"]));
        script(&mut observed.con, r#"
            MULTI => +OK
            RANK.ADD b KEEP 1 10 y => +QUEUED
            RANK.GET b y => +QUEUED
            RANK.INCR b 1 y => +QUEUED
            EXEC => [1, [1, "y", "10"], "11"]
        "#);
        let effects = ["MULTI", "ZADD b 10 y", "ZREM b x", "ZADD b 11 y", "EXEC"];
        assert_eq!(observed.whole_journal(), strings(&effects));
    }

    /// A board and its periods, the first write of a period with its marker and expiry.
    fn a_write_to_several_boards_is_one_transaction(kind: Kind) {
        let mut observed = Observed::new(kind);
        expect(&mut observed.con, "RANK.CREATE b PERIOD YEAR y: PAST 50 PERIOD EVERY 366d FROM 0 e: PAST 900", "+OK");
        observed.journal();
        let (answer, events) = observed.events("RANK.ADD b AT 1700000000000 5 a");
        assert_eq!(answer, "1");
        assert_eq!(
            observed.whole_journal(),
            strings(&[
                "MULTI", "ZADD b 5 a", "ZADD y:2023 -inf ~FIELD score DESC FLOAT 5 a", "PEXPIREAT y:2023 3281990400000",
                "ZADD e:2023-02-10T00:00:00 -inf ~FIELD score DESC FLOAT 5 a", "PEXPIREAT e:2023-02-10T00:00:00 30167769600000", "EXEC",
            ])
        );
        let mut seen = events;
        seen.sort();
        seen.retain(|event| !event.starts_with("new"));
        assert_eq!(seen, strings(&["expire e:2023-02-10T00:00:00", "expire y:2023", "zadd b", "zadd e:2023-02-10T00:00:00", "zadd y:2023"]));
        // The expiry is set once; what changes nothing is not told.
        expect(&mut observed.con, "RANK.INCR b AT 1700000000000 2 a", "\"7\"");
        assert_eq!(observed.whole_journal(), strings(&["MULTI", "ZADD b 7 a", "ZADD y:2023 7 a", "ZADD e:2023-02-10T00:00:00 7 a", "EXEC"]));
        expect(&mut observed.con, "RANK.ADD b AT 1700000000000 BEST 7 a", "0");
        assert!(!observed.ends_watch("RANK.ADD b AT 1700000000000 NX 9 a", "b y:2023"));
        assert_eq!(observed.whole_journal(), strings(&[]));
        expect(&mut observed.con, "RANK.REM b a", "1");
        assert_eq!(observed.whole_journal(), strings(&["MULTI", "ZREM b a", "ZREM y:2023 a", "ZREM e:2023-02-10T00:00:00 a", "EXEC"]));
    }

    /// Also if there are very many changes: each key has each event once.
    fn a_removal_from_many_periods_is_announced_once_for_each(kind: Kind) {
        let mut observed = Observed::new(kind);
        expect(&mut observed.con, "RANK.CREATE b PERIOD YEAR y: PAST 500", "+OK");
        let years: Vec<String> = (2000..2025).map(|year| format!("y:{year}")).collect();
        for age in (0..25).rev() {
            // From the middle of 2024 back.
            let at = 1_719_792_000_000_i64 - age * 31_557_600_000;
            expect(&mut observed.con, &format!("RANK.ADD b AT {at} 1 a 2 b"), if age == 24 { "2" } else { "0" });
        }
        observed.journal();
        let (answer, mut events) = observed.events("RANK.REM b a b");
        let mut expected: Vec<String> = years.iter().map(|year| format!("zrem {year}")).collect();
        expected.insert(0, "zrem b".into());
        events.sort();
        assert_eq!((answer.as_str(), events), ("2", expected));
        let mut effects = vec!["MULTI".to_string(), "ZREM b a b".into()];
        effects.extend(years.iter().rev().map(|year| format!("ZREM {year} a b")));
        effects.push("EXEC".into());
        assert_eq!(observed.whole_journal(), effects);
    }

    fn an_expired_board_is_gone(kind: Kind) {
        let mut observed = Observed::new(kind);
        for command in ["RANK.ADD b 1 x", "RANK.INCR b 1 x", "RANK.CREATE b"] {
            script(&mut observed.con, r#"
                DEBUG SET-ACTIVE-EXPIRE 0 => +OK
                RANK.CREATE b KEEP 1 => +OK
                RANK.ADD b 5 a => 1
                PEXPIRE b 1 => 1
                DEBUG SLEEP 0.01 => +OK
                RANK.TOPN b 9 => []
                RANK.INFO b => nil
            "#);
            let answer = reply(&mut observed.con, command);
            assert!(!is_error(&answer), "{command}: {answer}");
            expect(&mut observed.con, "PTTL b", "-1");
            expect(&mut observed.con, "ZCARD b", "1");
            expect(&mut observed.con, "DEL b", "1");
        }
    }

    fn every_way_to_empty_a_sorted_set_deletes_it_like_the_core(kind: Kind) {
        let mut observed = Observed::new(kind);
        for command in ["RANK.REM b a b", "RANK.TRIM b 0"] {
            expect(&mut observed.con, "RANK.ADD b 1 a 2 b", "2");
            observed.journal();
            let (_, events) = observed.events(command);
            assert_eq!(events.last().map(String::as_str), Some("del b"), "{command}: {events:?}");
            let journal = observed.journal();
            let name = journal.first().and_then(|line| line.strip_suffix(" b").or(line.split(" b ").next()));
            assert!(name.is_some_and(|name| !name.contains("RANK.")), "{command}: {journal:?}");
            expect(&mut observed.con, "EXISTS b", "0");
        }
    }

    fn a_board_with_a_schema_never_vanishes(kind: Kind) {
        let mut observed = Observed::new(kind);
        for command in ["RANK.REM b a b", "RANK.TRIM b 0"] {
            expect(&mut observed.con, "RANK.CREATE b", "+OK");
            expect(&mut observed.con, "RANK.ADD b 1 a 2 b", "2");
            observed.journal();
            let (_, events) = observed.events(command);
            let journal = observed.journal();
            let vanished = journal.iter().any(|line| line.starts_with("DEL") || line.starts_with("UNLINK"));
            assert!(!vanished && !events.contains(&"del b".into()), "{command}: {journal:?} {events:?}");
        }
    }

    /// A million members must not stop the server: their memory is freed in the background, in one transaction with
    /// the marker and the expiry of the board that is there again.
    fn a_board_that_is_cleared_is_there_again_in_the_same_transaction(kind: Kind) {
        let mut observed = Observed::new(kind);
        script(&mut observed.con, "RANK.CREATE b => +OK\n RANK.ADD b 1 a 2 b => 2\n PEXPIREAT b 4000000000000 => 1");
        observed.journal();
        let (answer, _) = observed.events("RANK.CLEAR b");
        assert_eq!(answer, "2");
        let journal = observed.journal();
        let verbs: Vec<&str> = journal.iter().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(verbs, ["UNLINK", "ZADD", "PEXPIREAT"], "{journal:?}");
        script(&mut observed.con, "PEXPIRETIME b => 4000000000000\n RANK.COUNT b => 0\n ZCARD b => 1");
    }

    fn what_changes_nothing_leaves_nothing(kind: Kind) {
        let mut observed = Observed::new(kind);
        script(&mut observed.con, r#"
            RANK.ADD b 5 a 7 b => 2
            RANK.CREATE full KEEP 2 => +OK
            RANK.ADD full 5 a 7 b => 2
            RANK.CREATE empty => +OK
            SET s x => +OK
            RANK.CREATE sp FIELD a INT FIELD b INT KEEP 2 DATA h OWNED => +OK
            RANK.ADD sp 1 2 a 3 4 b => 2
            RANK.PUTDATA sp a {"k":"v"} => +OK
        "#);
        observed.journal();
        for command in [
            "ADD sp 1 2 a", "ADD sp CH 3 4 b 1 2 a", "ADD sp 1 2 x", "INCR sp 0 0 a", "INCR sp 1 1 x", "REM sp nobody", "TRIM sp 2",
            "ADD sp BEST 1 1 a", "ADD sp DATA {\"k\":\"v\"} 1 2 a", "ADD sp DATA {} 0 0 x", "ADD sp XX DATA {} 9 9 x", "SETDATA sp a k v",
            "SETDATA sp a NX k w", "PUTDATA sp a {\"k\":\"v\"}", "DELDATA sp a none", "DELDATA sp b", "DELDATA sp nobody", "VERIFY sp", "VERIFY sp REPAIR",
            "ALTER sp DATA h OWNED", "ALTER sp KEEP 2", "CREATE sp FIELD a INT FIELD b INT KEEP 2 DATA h OWNED",
            "SETDATA sp nobody k v", "SETDATA b a k v", "PUTDATA sp a x", "ADD sp DATA x 9 9 a", "ADD sp 9 9 x x 9 y", "ROTATE sp archive", "ALTER sp DATA like",
            "GET sp a WITHDATA", "TOPN sp 9 WITHDATA", "STATS sp WITHDATA", "QUERY sp a WITHDATA", "GETDATA sp a", "INFO sp",
            "ADD b 5 a", "ADD b CH WITHRANK 7 b 5 a", "ADD b NX 9 a", "ADD b XX 9 x", "ADD b BEST 4 a",
            "ADD b KEEP 2 5 x", "ADD full 5 x",
            "INCR b 0 a", "INCR full 1 x", "INCR full WITHRANK 5 x", "REM b nobody", "REM none a", "TRIM b 2",
            "TRIM b 9 RETURN", "POP b 0", "POP none", "POP empty 9 WITHTIME", "LOAD b \"\"",
            "LOAD b NX {\"member\":\"a\",\"score\":9}",
            "TRIM none 0", "CLEAR none", "CLEAR empty", "CREATE full KEEP 2", "CREATE full LIKE full",
            "ALTER full KEEP 2", "ALTER full UPDATE SET",
            // Errors.
            "ADD b 9 x y z", "ADD b 9 x nan y", "ADD s 1 a", "INCR b x a", "CREATE full", "CREATE new LIKE none",
            "ROTATE b full", "ROTATE none x",
            "ALTER b KEEP 1", "TRIM b -1", "POP b -1", "POP b x", "LOAD b {\"member\":\"x\",\"score\":1} x", "INCR b 1e308 a b",
            // Reads.
            "INFO b", "GET b a", "SCORE b a", "QUERY b a", "STATS b", "TOPN b 9", "RANGE b 1 2", "PAGE b 1 1",
            "AROUND b a 1", "BYSCORE b 1 9", "AFTER b 9 9", "BEFORE b 9 -9", "SCAN b 0", "SCAN sp 0 COUNT 1",
            "AMONG b 1 a", "COUNT b", "FORSCORE b 5", "PERCENTILE b a", "SCOREAT b 50", "TOPN full 9",
            "STATS full DENSE JSON",
        ] {
            let command = format!("RANK.{command}");
            let (answer, events) = observed.events(&command);
            assert_eq!(events, strings(&[]), "events of {command}, which replied {answer}");
            assert!(!observed.ends_watch(&command, "b full empty none new s sp h"), "{command} ended a WATCH");
            assert_eq!(observed.journal(), strings(&[]), "effects of {command}, which replied {answer}");
        }
    }

    /// A name that is given twice is written once, with what its pairs result in.
    fn pairs_that_cancel_out_write_nothing(kind: Kind) {
        let mut observed = Observed::new(kind);
        expect(&mut observed.con, "RANK.ADD b 5 a", "1");
        let (answer, events) = observed.events("RANK.ADD b CH 9 a 5 a");
        assert_eq!((answer.as_str(), events), ("0", strings(&[])));
        assert_eq!(observed.journal(), strings(&["ZADD b 5 a"]));
        expect(&mut observed.con, "RANK.SCORE b a", "\"5\"");
    }

    fn a_change_ends_a_watch(kind: Kind) {
        let mut observed = Observed::new(kind);
        for (command, key) in [
            ("ADD b 5 a 1 b", "b"), ("ADD b 6 a", "b"), ("INCR b 1 a", "b"), ("TRIM b 1", "b"),
            ("LOAD b {\"member\":\"z\",\"score\":0}", "b"), ("POP b WORST", "b"),
            ("CREATE b KEEP 2", "b"), ("ALTER b KEEP 3", "b"),
            ("CREATE c LIKE b", "c"), ("ROTATE b archive", "b"), ("ADD b 1 a", "b"), ("ROTATE b archive2", "archive2"),
            ("ADD b 1 a", "b"),
            ("REM b a", "b"), ("ADD b 1 a", "b"), ("CLEAR b", "b"), ("ALTER b DATA h OWNED", "b"), ("ADD b DATA {} 1 a", "h"),
            ("SETDATA b a k v", "h"), ("DELDATA b a k", "h"), ("PUTDATA b a {\"k\":1}", "h"), ("REM b a", "h"),
        ] {
            assert!(observed.ends_watch(&format!("RANK.{command}"), key), "{command} did not end the WATCH of {key}");
        }
    }

    fn look_ups_of_missing_keys_are_no_misses(kind: Kind) {
        let mut observed = Observed::new(kind);
        let counts_signals = observed.server.signals_count_as_look_ups();
        expect(&mut observed.con, "CONFIG SET notify-keyspace-events KEAm", "+OK");
        let mut misses = Vec::new();
        for command in [
            "ADD none XX 1 a", "REM none a", "TRIM none 1", "CLEAR none", "INFO none", "GET none a", "TOPN none 3",
            "STATS none", "COUNT none",
            "PAGE none 1 1", "AFTER none 1 1", "POP none", "SCAN none 0", "BYSCORE none 1 2", "SCOREAT none 5", "FORSCORE none 1", "ROTATE none other",
            "CREATE new LIKE none", "ADD new 1 a", "CREATE d DATA h OWNED", "ADD d 1 a", "GET d a WITHDATA", "GETDATA d a", "DELDATA d a", "TOPN d 9 WITHDATA",
            "STATS d WITHDATA", "SETDATA d a k v", "REM d a", "ADD d DATA {} 1 a", "CLEAR d", "CLEAR d", "ROTATE d e DATA i",
        ] {
            let (_, events) = observed.events(&format!("RANK.{command}"));
            misses.extend(events.iter().any(|event| event.starts_with("keymiss")).then_some(command));
        }
        // These remove the last field of a hash, and then signal a key that is gone.
        let of_signals: &[&str] = if counts_signals { &["REM d a", "CLEAR d"] } else { &[] };
        assert_eq!(misses, of_signals, "these emit keymiss");
        assert_eq!(observed.server.info("keyspace_misses"), of_signals.len().to_string());
    }

    fn a_key_keeps_its_expiry_through_every_write(kind: Kind) {
        let mut observed = Observed::new(kind);
        script(&mut observed.con, r#"
            RANK.ADD b 5 a => 1
            RANK.CREATE s KEEP 1 => +OK
            PEXPIREAT b 4000000000000 => 1
            PEXPIREAT s 4000000000000 => 1
        "#);
        for command in [
            "ADD b KEEP 1 6 b", "INCR b 1 b", "ADD b 3 c", "REM b b", "TRIM b 1", "ADD b KEEP 1 9 d",
            "CREATE b KEEP 1", "ADD b 10 e", "ALTER b KEEP 3",
            "ADD s 1 a", "ADD s 2 b", "REM s b", "ALTER s UPDATE BEST", "CLEAR s", "ADD s 5 a", "CLEAR s",
        ] {
            let answer = reply(&mut observed.con, &format!("RANK.{command}"));
            assert!(!is_error(&answer), "{command}: {answer}");
            expect(&mut observed.con, "PEXPIRETIME b", "4000000000000");
            expect(&mut observed.con, "PEXPIRETIME s", "4000000000000");
        }
        observed.server.kill9();
        observed.server.restart_with(Builder::without_module);
        let mut con = observed.server.connect();
        script(&mut con, "PEXPIRETIME b => 4000000000000\n PEXPIRETIME s => 4000000000000\n ZCARD b => 2");
    }

    fn who_waits_for_a_sorted_set_wakes_up(kind: Kind) {
        let server = Server::builder(kind).start();
        let mut waiting = server.connect();
        let waiter = std::thread::spawn(move || reply(&mut waiting, "BZPOPMIN b 20"));
        wait_until(|| server.info("blocked_clients") == "1");
        expect(&mut server.connect(), "RANK.ADD b 5 a", "1");
        assert_eq!(waiter.join().expect("an answer"), r#"["b", "a", "5"]"#);
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}
