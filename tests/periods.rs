//! Periods: what one write feeds, when each board begins and ends, and how they are read. (Random workloads:
//! periods_model. Permissions, clusters, replicas and restarts: periods_keys.)

use redis::Connection;

use crate::script::script;
use crate::support::codes::Coder;
use crate::support::*;
use crate::workload::{assert_same, check_boards, snapshot};

/// 2023-11-14T22:13:20Z
const AT: i64 = 1_700_000_000_000;
const DAY_MS: i64 = 86_400_000;
/// Periods that keep the time above for decades.
const LONG: &str = "PERIOD MONTH {g}:month: PAST 400 PERIOD YEAR {g}:year: PAST 50 \
    PERIOD EVERY 30d FROM 1696118400000 {g}:season: PAST 500";
/// The keys that a write of that time feeds.
const FED: [&str; 3] = ["{g}:month:2023-11", "{g}:year:2023", "{g}:season:2023-10-31T00:00:00"];

/// Midnight of the first day of a month, by counting days.
fn month_ms(year: i64, month: i64) -> i64 {
    let mut days = 0;
    for (y, m) in (1970..=year).flat_map(|y| (1..=12).map(move |m| (y, m))).take_while(|date| *date < (year, month)) {
        days += match m {
            4 | 6 | 9 | 11 => 30,
            2 if y % 4 == 0 && (y % 100 != 0 || y % 400 == 0) => 29,
            2 => 28,
            _ => 31,
        };
    }
    days * DAY_MS
}

#[track_caller]
fn create(con: &mut Connection, schema: &str) {
    expect(con, &format!("RANK.CREATE {{g}} {schema} {LONG}"), "+OK");
}

fn server_ms(con: &mut Connection) -> i64 {
    let time: (i64, i64) = redis::cmd("TIME").query(con).expect("TIME");
    time.0 * 1000 + time.1 / 1000
}

/// The keys of the periods that are kept, by `RANK.PERIODS`.
fn kept(con: &mut Connection, key: &str, unit: &str) -> Vec<(String, String, i64, i64, i64, i64)> {
    let rows: Vec<redis::Value> = redis::cmd("RANK.PERIODS").arg(key).arg(unit).query(con).expect("periods");
    let text = |value: &redis::Value| redis::from_redis_value::<String>(value.clone()).expect("text");
    let number = |value: &redis::Value| redis::from_redis_value::<i64>(value.clone()).expect("a number");
    let row = |row: &redis::Value| {
        let redis::Value::Array(row) = row else { panic!("no map: {row:?}") };
        let names: Vec<String> = row.iter().step_by(2).map(text).collect();
        assert_eq!(names, ["unit", "id", "key", "start", "end", "members", "expires"]);
        assert_eq!(text(&row[1]), unit);
        (text(&row[3]), text(&row[5]), number(&row[7]), number(&row[9]), number(&row[11]), number(&row[13]))
    };
    rows.iter().map(row).collect()
}

on_every_server! {
    fn one_write_feeds_the_board_and_each_period(server: Server) {
        let mut con = server.connect();
        create(&mut con, "");
        script(&mut con, &format!(r#"
            RANK.ADD {{g}} AT {AT} 5 ann 7 bob => 2
            RANK.TOPN {{g}} 5 => [[1, "bob", "7"], [2, "ann", "5"]]
            RANK.TOPN {{g}} 5 PERIOD month 2023-11 => [[1, "bob", "7"], [2, "ann", "5"]]
            RANK.TOPN {{g}} 5 PERIOD YEAR 2023 JSON => "[{{\"rank\":1,\"member\":\"bob\",\"score\":7}},{{\"rank\":2,\"member\":\"ann\",\"score\":5}}]"
            RANK.TOPN {{g}}:season:2023-10-31T00:00:00 5 => [[1, "bob", "7"], [2, "ann", "5"]]
            RANK.TOPN {{g}} 5 PERIOD every 2023-10-31T00:00:00 => [[1, "bob", "7"], [2, "ann", "5"]]
            # A month later: another month and season, the same year.
            RANK.INCR {{g}} AT {later} 2 ann => "7"
            RANK.SCORE {{g}} ann PERIOD month 2023-11 => "5"
            RANK.SCORE {{g}} ann PERIOD month 2023-12 => "2"
            RANK.SCORE {{g}} ann PERIOD year 2023 => "7"
            RANK.SCORE {{g}} ann PERIOD every 2023-11-30T00:00:00 => "2"
            DBSIZE => 6
        "#, later = AT + 30 * DAY_MS));
        // The marker of a period is that of a board without periods.
        expect(&mut con, "ZRANGE {g}:month:2023-11 0 0", r#"["\x00rank 2 FIELD score DESC FLOAT"]"#);
        for (key, expires) in FED.iter().zip([month_ms(2057, 4), month_ms(2074, 1), 1_698_710_400_000 + 501 * 30 * DAY_MS]) {
            expect(&mut con, &format!("PEXPIRETIME {key}"), &expires.to_string());
        }
        expect(&mut con, "PEXPIRETIME {g}", "-1");
        check_boards(&mut con, false);
    }

    fn the_clock_chooses_the_current_period(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE {g} PERIOD DAY {g}:day: PAST 7 PERIOD WEEK {g}:week: OFFSET +09:00", "+OK");
        // Not at midnight, where the two commands would be of two days.
        let mut days = Vec::new();
        wait_until(|| {
            days = kept(&mut con, "{g}", "day");
            reply(&mut con, "RANK.ADD {g} 5 ann");
            reply(&mut con, &format!("EXISTS {}", days[0].1)) == "1"
        });
        let (_, key, start, end, ..) = days[0].clone();
        let now = server_ms(&mut con);
        assert!(start <= now && now < end + DAY_MS && end - start == DAY_MS, "{start} {now} {end}");
        assert_eq!((start + 9 * 3_600_000) % DAY_MS, 0);
        assert_eq!(days.len(), 8);
        expect(&mut con, &format!("PEXPIRETIME {key}"), &(end + 7 * DAY_MS).to_string());
        let weeks = kept(&mut con, "{g}", "week");
        assert_eq!((weeks.len(), weeks[0].4, weeks[0].5), (2, 1, weeks[0].3 + 7 * DAY_MS));
        // 1970-01-05 was a Monday.
        assert_eq!((weeks[0].2 + 9 * 3_600_000 - 4 * DAY_MS) % (7 * DAY_MS), 0);
        expect(&mut con, "RANK.COUNT {g} PERIOD week -1", "0");
        check_boards(&mut con, false);
    }

    fn boundaries_belong_to_what_begins(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE {g} PERIOD MONTH m: PAST 400 PERIOD YEAR y: PAST 50 PERIOD EVERY 7d FROM 1703980800000 e: PAST 500 OFFSET -05:30", "+OK");
        // The end of 2023 at UTC-5:30.
        let boundary = month_ms(2024, 1) + 5 * 3_600_000 + 30 * 60_000;
        for (at, member, keys) in [
            (boundary - 1, "before", ["m:2023-12", "y:2023", "e:2023-12-31T00:00:00"]),
            (boundary, "at", ["m:2024-01", "y:2024", "e:2023-12-31T00:00:00"]),
            // EVERY is not moved by the offset, and feeds nothing before it begins.
            (1_703_980_800_000 - 1, "early", ["m:2023-12", "y:2023", "none"]),
            (1_703_980_800_000, "first", ["m:2023-12", "y:2023", "e:2023-12-31T00:00:00"]),
            (1_703_980_800_000 + 7 * DAY_MS - 1, "last", ["m:2024-01", "y:2024", "e:2023-12-31T00:00:00"]),
            (1_703_980_800_000 + 7 * DAY_MS, "next", ["m:2024-01", "y:2024", "e:2024-01-07T00:00:00"]),
        ] {
            expect(&mut con, &format!("RANK.ADD {{g}} AT {at} 1 {member}"), "1");
            let all: Vec<String> = redis::cmd("KEYS").arg("[mye]:*").query(&mut con).expect("keys");
            let holds = |key: &String| reply(&mut server.connect(), &format!("RANK.SCORE {key} {member}")) != "nil";
            let mut found: Vec<String> = all.into_iter().filter(holds).collect();
            let mut expected: Vec<String> = keys.iter().filter(|key| **key != "none").map(|key| (*key).to_owned()).collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{member}");
        }
    }

    fn best_and_set_and_keep_and_nx_are_judged_in_each_board(server: Server) {
        let mut con = server.connect();
        create(&mut con, "UPDATE BEST KEEP 2");
        let december = AT + 30 * DAY_MS;
        script(&mut con, &format!(r#"
            RANK.ADD {{g}} AT {AT} 50 ann 60 bob => 2
            # Worse than November's, the best of December.
            RANK.ADD {{g}} AT {december} 40 ann => 0
            RANK.SCORE {{g}} ann => "50"
            RANK.SCORE {{g}} ann PERIOD month 2023-12 => "40"
            RANK.SCORE {{g}} ann PERIOD year 2023 => "50"
            # The board is full for cid, December is not.
            RANK.ADD {{g}} AT {december} 10 cid => 0
            RANK.SCORE {{g}} cid => nil
            RANK.SCORE {{g}} cid PERIOD month 2023-12 => "10"
            RANK.ADD {{g}} AT {december} WITHRANK 11 cid => [[nil, nil, "cid", nil, nil]]
            RANK.ADD {{g}} AT {december} WITHRANK PERIOD month 12 cid => [[2, 2, "cid", "12", "11"]]
            RANK.ADD {{g}} AT {december} NX 99 bob => 0
            RANK.SCORE {{g}} bob => "60"
            RANK.GET {{g}} bob PERIOD month 2023-12 => [1, "bob", "99"]
            RANK.COUNT {{g}} PERIOD month 2023-12 => 2
            # SET overrides UPDATE BEST everywhere.
            RANK.ADD {{g}} AT {december} SET 1 bob => 0
            RANK.SCORE {{g}} bob => "1"
            RANK.SCORE {{g}} bob PERIOD month 2023-12 => "1"
            RANK.SCORE {{g}} bob PERIOD month 2023-11 => "60"
            # A period keeps the KEEP that it was made with.
            RANK.ALTER {{g}} NOKEEP => +OK
            RANK.ADD {{g}} AT {december} 100 dan 101 eve 102 fay => 3
            RANK.COUNT {{g}} => 5
            RANK.COUNT {{g}} PERIOD month 2023-12 => 2
            # XX makes no board.
            RANK.ADD {{g}} AT {january} XX 200 eve => 0
            RANK.SCORE {{g}} eve => "200"
            EXISTS {{g}}:month:2024-01 {{g}}:year:2024 => 0
            # A sum of one's own in each, and null where KEEP refused it.
            RANK.INCR {{g}} AT {december} WITHRANK PERIOD month 1 zoe => nil
            RANK.INCR {{g}} AT {december} WITHRANK PERIOD month 300 zoe => [1, nil, "zoe", "300", nil]
            RANK.SCORE {{g}} zoe => "301"
        "#, january = month_ms(2024, 1)));
        check_boards(&mut con, false);
    }

    fn a_time_that_is_not_kept_feeds_no_period(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE {g} TIES FIRST PERIOD DAY {g}:day: PAST 0 PERIOD EVERY 1d FROM 4102444800000 {g}:e:", "+OK");
        let now = server_ms(&mut con);
        script(&mut con, &format!(r#"
            RANK.ADD {{g}} AT {AT} 5 old => 1
            RANK.ADD {{g}} AT {tomorrow} 5 new => 1
            RANK.ADD {{g}} AT {AT} WITHRANK PERIOD day 6 old => [[nil, nil, "old", nil, nil]]
            RANK.INCR {{g}} AT {AT} WITHRANK PERIOD day 6 old => nil
            RANK.SCORE {{g}} old => "12"
            # Nothing has begun of a period that begins in 2100.
            RANK.TOPN {{g}} 5 PERIOD every => []
            RANK.TOPN {{g}} 5 PERIOD every -3 => []
            RANK.PERIODS {{g}} every => []
            RANK.INCR {{g}} WITHRANK PERIOD every 1 old => nil
        "#, tomorrow = now + 3 * DAY_MS));
        // Only the last command was of today.
        wait_until(|| reply(&mut con, "DBSIZE") == "2" || reply(&mut con, "RANK.INCR {g} 1 old").starts_with('"'));
        check_boards(&mut con, false);
    }

    fn attributes_are_in_the_hash_of_the_board(server: Server) {
        let mut con = server.connect();
        create(&mut con, "KEEP 1 DATA h");
        script(&mut con, &format!(r#"
            RANK.ADD {{g}} AT {AT} DATA {{"n":1}} 50 ann => 1
            RANK.GET {{g}} ann PERIOD month 2023-11 WITHDATA => [1, "ann", "50", ["n", "1"]]
            RANK.GET {{g}}:month:2023-11 ann WITHDATA => [1, "ann", "50", ["n", "1"]]
            # The board refuses bob; another month takes him, and shows his name.
            RANK.ADD {{g}} AT {december} DATA {{"n":2}} 5 bob => 0
            RANK.GET {{g}} bob PERIOD month 2023-12 WITHDATA JSON => "{{\"rank\":1,\"member\":\"bob\",\"score\":5,\"data\":{{\"n\":2}}}}"
            # Nobody takes cid.
            RANK.ADD {{g}} AT {december} DATA {{"n":3}} 1 cid => 0
            HEXISTS h cid => 0
            RANK.ALTER {{g}} DATA h OWNED => +OK
            RANK.ADD {{g}} AT {january} DATA {{"n":4}} 1 dan => 0
            RANK.SCORE {{g}} dan PERIOD month 2024-01 => "1"
            HEXISTS h dan => 0
            # Periods share a hash that the board owns.
            ZRANGE {{g}}:month:2024-01 0 0 => ["\x00rank 2 FIELD score DESC FLOAT KEEP 1 DATA h"]
            RANK.ADD {{g}} AT {january} 90 eve => 1
            HEXISTS h ann => 0
        "#, december = AT + 30 * DAY_MS, january = month_ms(2024, 1)));
    }

    fn a_ban_is_a_ban(server: Server) {
        let mut con = server.connect();
        for (number, schema) in boards::SCHEMAS.iter().filter(|schema| **schema != boards::BARE).enumerate() {
            expect(&mut con, "FLUSHALL", "+OK");
            create(&mut con, schema);
            let scores: Vec<String> = boards::scores(schema, 5, 6).iter().map(|score| String::from_utf8_lossy(score).into_owned()).collect();
            let scores = scores.join(" ");
            for at in [AT, AT + 30 * DAY_MS, month_ms(2024, 2)] {
                expect(&mut con, &format!("RANK.ADD {{g}} AT {at} {scores} ann"), if at == AT { "1" } else { "0" });
                reply(&mut con, &format!("RANK.ADD {{g}} AT {at} {scores} bob"));
            }
            expect(&mut con, "RANK.COUNT {g} PERIOD month 2024-02", "2");
            // A board of another name is none of these.
            expect(&mut con, &format!("RANK.CREATE {{g}}:month:1800-01 {schema}"), "+OK");
            expect(&mut con, &format!("RANK.ADD {{g}}:month:1800-01 {scores} ann"), "1");
            expect(&mut con, "RANK.REM {g} ann ann nobody", "1");
            for key in ["{g}:month:2023-11", "{g}:month:2023-12", "{g}:month:2024-02", "{g}:year:2023", "{g}:year:2024"] {
                expect(&mut con, &format!("RANK.COUNT {key}"), "1");
                expect(&mut con, &format!("RANK.SCORE {key} ann"), "nil");
            }
            expect(&mut con, "RANK.COUNT {g}:month:1800-01", "1");
            // Others act on the board alone.
            expect(&mut con, "RANK.TRIM {g} 0", "1");
            expect(&mut con, "RANK.CLEAR {g}", "0");
            expect(&mut con, "RANK.COUNT {g} PERIOD month 2023-11", "1");
            // Somebody who is on a period alone.
            expect(&mut con, "RANK.REM {g} bob", "0");
            expect(&mut con, "RANK.COUNT {g} PERIOD month 2023-11", "0");
            assert_eq!(reply(&mut con, "EXISTS {g}:month:2023-11"), "1", "{number}");
            check_boards(&mut con, false);
        }
    }

    fn what_is_wrong_in_one_board_writes_to_none(server: Server) {
        let mut con = server.connect();
        expect(&mut con, &format!("RANK.CREATE {{g}} FIELD a INT FIELD b RANGE 0 1000 TIES FIRST DATA h {LONG}"), "+OK");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} DATA {{}} 5 500 ann"), "1");
        let bare = format!("RANK.ADD {{g}} AT {AT} 6 6 ann");
        let writes = [
            bare.clone(),
            format!("RANK.ADD {{g}} AT {AT} DATA {{\"a\":1}} WITHRANK 7 7 new"),
            format!("RANK.MULTISET {{g}} AT {AT} CH 7 7 ann 8 8 bob"),
            format!("RANK.INCR {{g}} AT {AT} 1 1 ann"),
            format!("RANK.INCR {{g}} AT {AT} WITHRANK PERIOD year 1 1 ann"),
        ];
        let refuses = |con: &mut Connection, writes: &[String], expected: &str| {
            let before = snapshot(con);
            for write in writes {
                assert_eq!(reply(con, write), expected, "{write}");
                assert_same(&before, &snapshot(con), write);
            }
        };
        let season = FED[2];
        let with_rem = [writes.as_slice(), &["RANK.REM {g} ann".to_owned()]].concat();
        // A key of another type, under each of the names.
        for key in FED {
            expect(&mut con, &format!("RENAME {key} aside"), "+OK");
            expect(&mut con, &format!("SET {key} x"), "+OK");
            refuses(&mut con, &with_rem, &format!("WRONGTYPE '{key}', a period of the board, holds another type of value"));
            expect(&mut con, &format!("RENAME aside {key}"), "+OK");
        }
        // Other fields, other ties, none at all.
        for schema in ["FIELD a INT FIELD c RANGE 0 1000 TIES FIRST", "FIELD a INT FIELD b RANGE 0 1000 TIES LAST", "DESC"] {
            expect(&mut con, &format!("RENAME {season} aside"), "+OK");
            expect(&mut con, &format!("RANK.CREATE {season} {schema}"), "+OK");
            refuses(&mut con, &with_rem, &format!("SCHEMA '{season}', a period of the board, has other fields or ties: rename it, or change the prefix"));
            expect(&mut con, &format!("RENAME aside {season}"), "+OK");
        }
        // A sum that one board cannot hold.
        expect(&mut con, &format!("RANK.ADD {season} AT {AT} 5 999 ann"), "0");
        let overflow = [format!("RANK.INCR {{g}} AT {AT} 1 2 ann"), format!("RANK.INCR {{g}} AT {AT} WITHRANK 1 2 ann")];
        refuses(&mut con, &overflow, &format!("OUTOFRANGE in the board's period '{season}': field 'b' takes 0 to 1000: 999 cannot be incremented by 2"));
        // Damage: a marker that is not alone, an entry without its member, an element in another place.
        let bare_writes = writes.iter().filter(|write| !write.contains("new")).cloned().collect::<Vec<_>>();
        expect(&mut con, &format!("ZADD {season} -inf stray"), "1");
        let damaged = format!("DAMAGED in the board's period '{season}': the board is damaged: ");
        let before = snapshot(&mut con);
        for write in &with_rem {
            let answer = reply(&mut con, write);
            assert!(answer.starts_with(&damaged), "{write}: {answer}");
            assert_same(&before, &snapshot(&mut con), write);
        }
        expect(&mut con, &format!("ZREM {season} stray"), "1");
        // Too long for its score: from now on the member has an entry there.
        expect(&mut con, &format!("RANK.ADD {season} AT {AT} 9000000000000000000 999 ann"), "0");
        let elements = boards::elements(&mut con, season);
        assert_eq!(elements.len(), 3, "a marker, an entry, a member");
        for (element, score) in &elements[2..] {
            cmdv(&mut con, &[b"ZREM".as_slice(), season.as_bytes(), element]).expect("ZREM");
            let before = snapshot(&mut con);
            for write in bare_writes.iter().chain(&with_rem[writes.len()..]) {
                let answer = reply(&mut con, write);
                assert!(answer.starts_with(&damaged), "{write}: {answer}");
                assert_same(&before, &snapshot(&mut con), write);
            }
            let score = if *score == f64::NEG_INFINITY { "-inf".to_owned() } else { score.to_string() };
            cmdv(&mut con, &[b"ZADD".as_slice(), season.as_bytes(), score.as_bytes(), element]).expect("ZADD");
        }
        expect(&mut con, &bare, "0");
        check_boards(&mut con, false);
    }

    fn a_members_element_without_its_entry_writes_to_none(server: Server) {
        let mut con = server.connect();
        create(&mut con, "FIELD a INT FIELD b INT");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} 5 5 ann 6 6 bob"), "2");
        // An element in the very place that a newcomer is to take.
        let season = FED[2];
        let long = "9000000000000000000";
        let ((element, score), _) = Coder::new("FIELD a INT FIELD b INT", 0).stored(&["7", long], 0, b"eve");
        cmdv(&mut con, &[b"ZADD".as_slice(), season.as_bytes(), score.to_string().as_bytes(), &element]).expect("ZADD");
        let before = snapshot(&mut con);
        for write in [format!("7 {long} eve"), format!("1 1 ann 7 {long} eve")] {
            let answer = reply(&mut con, &format!("RANK.ADD {{g}} AT {AT} {write}"));
            assert!(answer.starts_with(&format!("DAMAGED in the board's period '{season}': the board is damaged")), "{answer}");
            assert_same(&before, &snapshot(&mut con), &write);
        }
    }

    fn the_expiry_is_set_once(server: Server) {
        let mut con = server.connect();
        create(&mut con, "");
        script(&mut con, &format!(r#"
            RANK.ADD {{g}} AT {AT} 5 ann => 1
            PERSIST {{g}}:month:2023-11 => 1
            PEXPIREAT {{g}}:year:2023 4102444800000 => 1
            RANK.ADD {{g}} AT {AT} 6 ann 7 bob => 1
            PTTL {{g}}:month:2023-11 => -1
            PEXPIRETIME {{g}}:year:2023 => 4102444800000
            # A board that somebody made is fed, and stays as long as they said.
            RANK.CREATE {{g}}:month:2023-12 KEEP 1 => +OK
            RANK.ADD {{g}} AT {december} 6 ann 7 bob => 0
            PTTL {{g}}:month:2023-12 => -1
            RANK.COUNT {{g}}:month:2023-12 => 1
            # So is a sorted set without a schema, which has the same field.
            ZADD {{g}}:month:2024-01 1 zoe => 1
            RANK.ADD {{g}} AT {january} 6 ann => 0
            ZRANGE {{g}}:month:2024-01 0 -1 => ["zoe", "ann"]
        "#, december = AT + 30 * DAY_MS, january = month_ms(2024, 1)));
    }

    fn every_read_takes_a_period(server: Server) {
        let mut con = server.connect();
        create(&mut con, "");
        let november = format!("RANK.ADD {{g}} AT {AT} 10 a 20 b 20 c 30 d");
        expect(&mut con, &november, "4");
        expect(&mut con, "RANK.ADD {g} AT 1 99 z 98 y", "2");
        for read in [
            "GET {} a", "GET {} nobody", "SCORE {} a", "QUERY {} b", "QUERY {} b LIMIT 0 1", "STATS {}", "STATS {} LIMIT 1 1 JSON", "TOPN {} 2",
            "TOPN {} 9 DENSE", "RANGE {} 2 -1 ORDINAL", "PAGE {} 1 2", "PAGE {} 1 2 JSON", "AROUND {} b 1", "AROUND {} a 1 FILL", "BYSCORE {} 20 inf LIMIT 0 1",
            "AMONG {} 2 a b", "COUNT {}", "COUNT {} 20 inf", "FORSCORE {} 25", "FORSCORE {} 20 DENSE", "PERCENTILE {} b", "SCOREAT {} 50",
        ] {
            let own = reply(&mut con, &format!("RANK.{}", read.replace("{}", FED[0])));
            assert!(!is_error(&own) && !own.starts_with("WRONG"), "{read}: {own}");
            for period in ["PERIOD month 2023-11", "period MONTH 2023-11"] {
                let through = reply(&mut con, &format!("RANK.{} {period}", read.replace("{}", "{g}")));
                assert_eq!(through, own, "{read} {period}");
            }
            // Nobody wrote to it: a board that is empty.
            let missing = reply(&mut con, &format!("RANK.{}", read.replace("{}", "missing")));
            let empty = reply(&mut con, &format!("RANK.{} PERIOD month -300", read.replace("{}", "{g}")));
            assert_eq!(empty, missing, "{read}");
            let board_missing = reply(&mut con, &format!("RANK.{} PERIOD month", read.replace("{}", "missing")));
            assert_eq!(board_missing, missing, "{read}");
            let unknown = reply(&mut con, &format!("RANK.{} PERIOD day", read.replace("{}", "{g}")));
            assert_eq!(unknown, "SCHEMA the board has no day period: add one with RANK.ALTER key PERIOD", "{read}");
        }
        // An index behind the last month of the calendar, or before the first of EVERY.
        script(&mut con, r#"
            RANK.TOPN {g} 5 PERIOD year -9223372036854775808 => []
            RANK.TOPN {g} 5 PERIOD every -1000000 => []
            RANK.TOPN {g} 5 PERIOD month 2023-11 PERIOD month => ERR PERIOD is specified more than once
            RANK.TOPN {g} 5 PERIOD => ERR PERIOD needs a value
            RANK.TOPN {g} 5 PERIOD fortnight => ERR PERIOD takes HOUR, DAY, WEEK, MONTH, YEAR or EVERY, got fortnight
            RANK.TOPN {g} 5 PERIOD month 2023-13 => ERR PERIOD takes 0, a negative index, or the id of a period, got 2023-13
            RANK.TOPN {g} 5 PERIOD month 2023 => ERR PERIOD takes 0, a negative index, or the id of a period, got 2023
            RANK.TOPN {g} 5 PERIOD month 1 => ERR PERIOD takes 0, a negative index, or the id of a period, got 1
            RANK.TOPN {g} 5 PERIOD every 2023-10-31 => ERR PERIOD takes 0, a negative index, or the id of a period, got 2023-10-31
            RANK.TOPN {g} 5 PERIOD month today => ERR unknown option 'today'
            ZADD plain 1 a => 1
            RANK.TOPN plain 5 PERIOD month => SCHEMA the board has no month period: add one with RANK.ALTER key PERIOD
            RANK.ADD plain WITHRANK PERIOD month 1 a => SCHEMA the board has no month period: add one with RANK.ALTER key PERIOD
            RANK.MULTISET nothing WITHRANK PERIOD month 1 2 a => SCHEMA the board has no month period: add one with RANK.ALTER key PERIOD
            RANK.INCR {g} WITHRANK PERIOD day 1 a => SCHEMA the board has no day period: add one with RANK.ALTER key PERIOD
            RANK.INCR {g} WITHRANK PERIOD x 1 a => ERR PERIOD takes HOUR, DAY, WEEK, MONTH, YEAR or EVERY, got x
            EXISTS nothing => 0
        "#);
        // A period that nobody wrote to has the fields of its board.
        expect(&mut con, "RANK.CREATE two FIELD a INT FIELD b INT PERIOD DAY two:", "+OK");
        expect(&mut con, "RANK.FORSCORE two 1 2 PERIOD day", "1");
    }

    fn the_list_of_periods(server: Server) {
        let mut con = server.connect();
        expect(&mut con, "RANK.CREATE {g} PERIOD DAY {g}:d: PAST 2 PERIOD WEEK {g}:w: PAST 0 PERIOD EVERY 36h FROM 1699833600000 {g}:e: PAST 1 OFFSET +01:00", "+OK");
        expect(&mut con, "RANK.CREATE {g}:d:2023-11-13", "+OK");
        expect(&mut con, "RANK.ADD {g}:d:2023-11-13 5 a 6 b", "2");
        // As of AT: Tuesday, 23:13 at UTC+1. By start, newest first.
        let row = |unit, key: &str, start: i64, end: i64, members, expires: &str| {
            let id = key.rsplit_once(":d:").or(key.rsplit_once(":w:")).or(key.rsplit_once(":e:")).expect("a key").1;
            format!(r#"["unit", "{unit}", "id", "{id}", "key", "{key}", "start", {start}, "end", {end}, "members", {members}, "expires", {expires}]"#)
        };
        let midnight = 1_699_916_400_000;
        let rows = [
            row("day", "{g}:d:2023-11-14", midnight, midnight + DAY_MS, 0, &(midnight + 3 * DAY_MS).to_string()),
            row("every", "{g}:e:2023-11-14T12:00:00", 1_699_963_200_000, 1_699_963_200_000 + DAY_MS * 3 / 2, 0, &(1_699_963_200_000 + DAY_MS * 3).to_string()),
            row("day", "{g}:d:2023-11-13", midnight - DAY_MS, midnight, 2, "nil"),
            row("week", "{g}:w:2023-11-13", midnight - DAY_MS, midnight + 6 * DAY_MS, 0, &(midnight + 6 * DAY_MS).to_string()),
            row("every", "{g}:e:2023-11-13T00:00:00", 1_699_833_600_000, 1_699_963_200_000, 0, &(1_699_963_200_000 + DAY_MS * 3 / 2).to_string()),
            row("day", "{g}:d:2023-11-12", midnight - 2 * DAY_MS, midnight - DAY_MS, 0, &(midnight + DAY_MS).to_string()),
        ];
        let [day, every, yesterday, week, season, before] = &rows;
        expect(&mut con, &format!("RANK.PERIODS {{g}} NOW {AT}"), &format!("[{every}, {day}, {season}, {yesterday}, {week}, {before}]"));
        expect(&mut con, &format!("RANK.PERIODS {{g}} DAY NOW {AT}"), &format!("[{day}, {yesterday}, {before}]"));
        expect(&mut con, &format!("RANK.PERIODS {{g}} NOW {AT} week JSON"), &format!(
            r#""[{{\"unit\":\"week\",\"id\":\"2023-11-13\",\"key\":\"{{g}}:w:2023-11-13\",\"start\":{},\"end\":{},\"members\":0,\"expires\":{}}}]""#,
            midnight - DAY_MS, midnight + 6 * DAY_MS, midnight + 6 * DAY_MS));
        let before_from = format!("RANK.PERIODS {{g}} every NOW {}", 1_699_833_599_999_i64);
        script(&mut con, &format!(r#"
            {before_from} => []
            RANK.PERIODS missing => []
            RANK.PERIODS {{g}} month => SCHEMA the board has no month period: add one with RANK.ALTER key PERIOD
            RANK.PERIODS {{g}} day week => ERR DAY and WEEK are mutually exclusive
            RANK.PERIODS {{g}} NOW => ERR NOW needs a value
            RANK.PERIODS {{g}} NOW -1 => ERR NOW takes 0 to 9007199254740991, got -1
            RANK.PERIODS {{g}} fortnight => ERR unknown option 'fortnight'
            CONFIG SET rank.max-rows 5 => +OK
            RANK.PERIODS {{g}} => TOOBIG the reply would have 6 rows, more than rank.max-rows (5): read fewer at a time
            CONFIG SET rank.max-rows 0 => +OK
            ZADD plain 1 a => 1
            RANK.PERIODS plain => []
        "#));
    }

    fn schemas_with_periods(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE {g} UPDATE BEST period Week {g}:week: PERIOD DAY {g}:day: PAST 7 PERIOD EVERY 336h FROM 1767225600000 "{g}:s %:" OFFSET +09:00 => +OK
            ZRANGE {g} 0 -1 => ["\x00rank 2 FIELD score DESC FLOAT UPDATE BEST PERIOD DAY {g}:day: PAST 7 PERIOD WEEK {g}:week: PERIOD EVERY 14d FROM 1767225600000 {g}:s%20%25: OFFSET +09:00 BOARD {g}"]
            # The same in another order is the same.
            RANK.CREATE {g} OFFSET +09:00 UPDATE BEST PERIOD EVERY 14d FROM 1767225600000 "{g}:s %:" PAST 1 PERIOD DAY {g}:day: PAST 7 PERIOD WEEK {g}:week: => +OK
            RANK.CREATE copy LIKE {g} => +OK
            ZRANGE copy 0 -1 => ["\x00rank 2 FIELD score DESC FLOAT UPDATE BEST"]
            RANK.ROTATE {g} {g}:old => SCHEMA a board with periods cannot be rotated
            RANK.ALTER {g} OFFSET +01:00 => SCHEMA OFFSET is set with the first period of a board: remove all periods with NOPERIOD to set another
            RANK.ALTER {g} PERIOD MONTH {g}:month: OFFSET +01:00 => SCHEMA OFFSET is set with the first period of a board: remove all periods with NOPERIOD to set another
            RANK.ALTER {g} NOPERIOD day NOPERIOD every PERIOD MONTH {g}:month: PAST 3 KEEP 9 => +OK
            ZRANGE {g} 0 -1 => ["\x00rank 2 FIELD score DESC FLOAT KEEP 9 UPDATE BEST PERIOD WEEK {g}:week: PERIOD MONTH {g}:month: PAST 3 OFFSET +09:00 BOARD {g}"]
            # Another prefix, another number.
            RANK.ALTER {g} PERIOD WEEK {g}:w: PAST 0 => +OK
            RANK.ALTER {g} NOPERIOD month NOPERIOD year => +OK
            ZRANGE {g} 0 -1 => ["\x00rank 2 FIELD score DESC FLOAT KEEP 9 UPDATE BEST PERIOD WEEK {g}:w: PAST 0 OFFSET +09:00 BOARD {g}"]
            RANK.ALTER {g} NOPERIOD WEEK => +OK
            ZRANGE {g} 0 -1 => ["\x00rank 2 FIELD score DESC FLOAT KEEP 9 UPDATE BEST"]
            RANK.ALTER {g} PERIOD HOUR {g}:h: OFFSET -02:30 => +OK
            ZRANGE {g} 0 -1 => ["\x00rank 2 FIELD score DESC FLOAT KEEP 9 UPDATE BEST PERIOD HOUR {g}:h: OFFSET -02:30 BOARD {g}"]
            RANK.ALTER {g} PERIOD HOUR a: PERIOD HOUR b: => ERR the hour period is specified more than once
            RANK.ALTER {g} PERIOD HOUR a: NOPERIOD HOUR => ERR the hour period is specified more than once
            RANK.ALTER {g} NOPERIOD => ERR NOPERIOD needs a value
            RANK.ALTER {g} NOPERIOD x => ERR NOPERIOD takes HOUR, DAY, WEEK, MONTH, YEAR or EVERY, got x
            RANK.ALTER copy OFFSET +01:00 => ERR OFFSET is only valid with PERIOD
            RANK.CREATE new OFFSET +01:00 => ERR OFFSET is only valid with PERIOD
            RANK.CREATE new PERIOD => ERR PERIOD needs a value
            RANK.CREATE new PERIOD day => ERR PERIOD needs a value
            RANK.CREATE new PERIOD fortnight p: => ERR PERIOD takes HOUR, DAY, WEEK, MONTH, YEAR or EVERY, got fortnight
            RANK.CREATE new PERIOD day LIKE => ERR PERIOD takes a prefix other than LIKE and DATA, got LIKE
            RANK.CREATE new PERIOD day data => ERR PERIOD takes a prefix other than LIKE and DATA, got data
            RANK.CREATE new PERIOD day a: PERIOD day b: => ERR the day period is specified more than once
            RANK.CREATE new PERIOD day a: PERIOD week a: => ERR a prefix cannot be another prefix, or another prefix followed by digits, got 'a:'
            RANK.CREATE new PERIOD day a: PERIOD week a:1 => ERR a prefix cannot be another prefix, or another prefix followed by digits, got 'a:1'
            RANK.CREATE new PERIOD day a: PAST 1001 => ERR PAST takes 0 to 1000, got 1001
            RANK.CREATE new PERIOD day a: PAST -1 => ERR PAST takes 0 to 1000, got -1
            RANK.CREATE new PERIOD day a: PAST 1000 PERIOD week b: => ERR PAST takes at most 1000 over all periods of a board, got 1001
            RANK.CREATE new PERIOD day a: OFFSET 1:00 => ERR OFFSET takes +hh:mm or -hh:mm, less than a day, got 1:00
            RANK.CREATE new PERIOD day a: OFFSET +24:00 => ERR OFFSET takes +hh:mm or -hh:mm, less than a day, got +24:00
            RANK.CREATE new PERIOD day a: OFFSET +01:00 OFFSET +01:00 => ERR OFFSET is specified more than once
            RANK.CREATE new PERIOD EVERY 90s FROM 0 a: => ERR EVERY takes 1m to 366d in whole minutes, got 90s
            RANK.CREATE new PERIOD EVERY 367d FROM 0 a: => ERR EVERY takes 1m to 366d in whole minutes, got 367d
            RANK.CREATE new PERIOD EVERY 1d a: => ERR EVERY ... FROM needs a value
            RANK.CREATE new PERIOD EVERY 1d FROM 500 a: => ERR FROM takes a Unix time in milliseconds, of a whole second, got 500
            RANK.CREATE new PERIOD EVERY 1d FROM -1000 a: => ERR FROM takes a Unix time in milliseconds, of a whole second, got -1000
            EXISTS new => 0
            RANK.CREATE most PERIOD day a: PAST 1000 PERIOD week b: PAST 0 => +OK
            RANK.CREATE empty PERIOD day "" => +OK
            COMMAND GETKEYS RANK.CREATE b PERIOD DAY p: PAST 7 DATA h => ["b", "h"]
            COMMAND GETKEYS RANK.ALTER b PERIOD DAY p: PAST 7 => ["b"]
        "#);
        let info = reply(&mut server.connect(), "RANK.INFO {g}");
        let periods = r#""periods", [["unit", "hour", "prefix", "{g}:h:", "past", 1, "offset", "-02:30", "every", nil, "from", nil]]"#;
        assert!(info.contains(periods), "{info}");
    }

    /// A prefix that leads to the board or its hash, now or after a rename.
    fn a_period_is_never_the_board_itself(server: Server) {
        let mut con = server.connect();
        create(&mut con, "DATA {g}:year:2023");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} 5 ann"), "SCHEMA '{g}:year:2023' is the key of a period, but also of the board or its hash: change the prefix");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} DATA {{}} 5 ann"), "SCHEMA '{g}:year:2023' is the key of a period, but also of the board or its hash: change the prefix");
        expect(&mut con, "RANK.ALTER {g} NODATA", "+OK");
        expect(&mut con, &format!("RENAME {{g}} {}", FED[0]), "+OK");
        expect(&mut con, &format!("RANK.ALTER {} {}", FED[0], LONG), "+OK");
        for command in [format!("RANK.ADD {} AT {AT} 5 ann", FED[0]), format!("RANK.REM {} ann", FED[0]), format!("RANK.TOPN {} 5 PERIOD month 2023-11", FED[0])] {
            expect(&mut con, &command, "SCHEMA '{g}:month:2023-11' is the key of a period, but also of the board or its hash: change the prefix");
        }
        expect(&mut con, "DBSIZE", "1");
    }

    fn periods_outlive_their_board(server: Server) {
        let mut con = server.connect();
        create(&mut con, "");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} 5 ann"), "1");
        expect(&mut con, "RENAME {g} {g}2", "+OK");
        script(&mut con, &format!(r#"
            RANK.TOPN {{g}}2 5 PERIOD month 2023-11 => [[1, "ann", "5"]]
            RANK.ALTER {{g}}2 {LONG} => +OK
            RANK.ADD {{g}}2 AT {AT} 6 bob => 1
            RANK.COUNT {{g}}:month:2023-11 => 2
            DEL {{g}}2 => 1
            RANK.COUNT {{g}}:month:2023-11 => 2
            RANK.REM {{g}}:month:2023-11 bob => 1
            RANK.REM {{g}}2 ann => 0
            RANK.COUNT {{g}}:month:2023-11 => 1
        "#));
        assert_ne!(reply(&mut con, "PEXPIRETIME {g}:month:2023-11"), "-1");
        // A period may have periods of its own, which only writes to it feed.
        expect(&mut con, "RANK.ALTER {g}:month:2023-11 PERIOD YEAR {g}:own: PAST 50", "+OK");
        create(&mut con, "");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {AT} 7 cid"), "1");
        expect(&mut con, "EXISTS {g}:own:2023", "0");
        expect(&mut con, &format!("RANK.ADD {{g}}:month:2023-11 AT {AT} 7 dan"), "1");
        expect(&mut con, "RANK.COUNT {g}:own:2023", "1");
        check_boards(&mut con, false);
    }

    /// Each command of a transaction or a script has its own time.
    fn a_transaction_across_a_boundary(server: Server) {
        let mut con = server.connect();
        create(&mut con, "");
        let boundary = month_ms(2023, 12);
        script(&mut con, &format!(r#"
            MULTI => +OK
            RANK.ADD {{g}} AT {before} 5 ann => +QUEUED
            RANK.INCR {{g}} AT {boundary} 6 ann => +QUEUED
            RANK.SCORE {{g}} ann PERIOD month 2023-12 => +QUEUED
            RANK.ADD {{g}} AT {boundary} WITHRANK PERIOD x 6 ann => +QUEUED
            EXEC => [1, "11", "6", ERR PERIOD takes HOUR, DAY, WEEK, MONTH, YEAR or EVERY, got x]
            RANK.SCORE {{g}} ann PERIOD month 2023-11 => "5"
            EVAL "redis.call('RANK.ADD', KEYS[1], 'AT', ARGV[1], 50, 'bob'); return redis.call('RANK.SCORE', KEYS[1], 'bob', 'PERIOD', 'month', '2023-12')" 1 {{g}} {boundary} => "50"
            EVAL "return redis.call('RANK.REM', KEYS[1], 'bob')" 1 {{g}} => 1
            RANK.COUNT {{g}} PERIOD month 2023-12 => 1
        "#, before = boundary - 1));
        // A period that changes ends a WATCH of it.
        let mut watcher = server.connect();
        expect(&mut watcher, "WATCH {g}:month:2023-12", "+OK");
        expect(&mut con, &format!("RANK.ADD {{g}} AT {boundary} 7 cid"), "1");
        expect(&mut watcher, "MULTI", "+OK");
        expect(&mut watcher, "PING", "+QUEUED");
        expect(&mut watcher, "EXEC", "nil");
    }
}
