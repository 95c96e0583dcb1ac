//! What earlier versions stored, this one reads: tests/fixtures/VERSION.json holds keys as that version wrote them, and
//! what it answered about them.
//!
//! `make fixtures` writes the file of the version in Cargo.toml, once. From then on it is frozen: a change of what is
//! stored needs another format version, and code that reads both.

use std::fs;
use std::path::{Path, PathBuf};

use redis::{Connection, Value};
use serde::{Deserialize, Serialize};

use crate::support::*;

/// How a key is made, and what is then asked about it. All times are given, so that the answers never change.
struct Case {
    name: &'static str,
    keys: &'static [&'static str],
    make: &'static [&'static str],
    reads: &'static [&'static str],
    /// Run after the reads. `TOKEN` stands for the token in the replies to `make`.
    writes: &'static [&'static str],
}

// No replies that a later version may add to, such as RANK.INFO.
const BOARD_READS: &[&str] = &["RANK.RANGE b 1 -1 ORDINAL WITHTIME", "RANK.GET b ann", "RANK.COUNT b"];
const BOARD_WRITES: &[&str] = &["RANK.REM b ann", "RANK.GET b ann", "RANK.CLEAR b", "EXISTS b"];

const fn board(name: &'static str, make: &'static [&'static str]) -> Case {
    Case { name, keys: &["b"], make, reads: BOARD_READS, writes: BOARD_WRITES }
}

const CASES: &[Case] = &[
    board("a sorted set without a schema", &["RANK.ADD b 5 ann 7.25 bob -1e300 cid inf dan"]),
    board("plain", &["RANK.CREATE b ASC KEEP 3 UPDATE BEST", "RANK.ADD b 61.5 ann 60 bob 59.999 cid 70 dan"]),
    board(
        "packed, DIGITS",
        &[
            "RANK.CREATE b FIELD gold DIGITS 3 FIELD silver DIGITS 3 FIELD bronze DIGITS 3",
            "RANK.ADD b 46 37 38 ann 46 37 38 bob 0 0 999 cid",
        ],
    ),
    board(
        "packed, both directions",
        &["RANK.CREATE b FIELD a RANGE -5 5 FIELD b ASC BITS 10", "RANK.ADD b -5 1023 ann 5 0 bob 0 7 cid"],
    ),
    board(
        "coded, members that fit",
        &["RANK.CREATE b FIELD a INT FIELD b ASC INT FIELD c INT", "RANK.ADD b 99999 0 1 ann 99999 0 -1 bob -7 3 2 cid"],
    ),
    board(
        "coded, members that do not fit",
        &[
            "RANK.CREATE b FIELD a INT FIELD b FLOAT FIELD c ASC INT",
            "RANK.ADD b 9223372036854775807 0.1 -9223372036854775808 ann 1 1e300 5 bob 1 1e300 6 cid 2 3 4 \"\\x00rank\" 2 3 4 \"\\x01\\x02\"",
        ],
    ),
    board(
        "coded, first to the score",
        &[
            "RANK.CREATE b FIELD points INT TIES FIRST SINCE 1999999999000",
            "RANK.ADD b AT 2000000000000 5 ann",
            "RANK.ADD b AT 2000000000001 5 bob 12345678901 cid",
            "RANK.ADD b AT 1000000000000 5 dan",
        ],
    ),
    board(
        "coded, last to the score, in seconds",
        &[
            "RANK.CREATE b FIELD laps FLOAT ASC TIES LAST S SINCE 1999999999000",
            "RANK.ADD b AT 2000000000000 61.25 ann",
            "RANK.ADD b AT 2000000009999 61.25 bob 0.1 cid",
        ],
    ),
    board(
        "coded, first on the board",
        &[
            "RANK.CREATE b FIELD a BITS 22 TIES JOINED SINCE 1999999999000",
            "RANK.ADD b AT 2000000000000 5 ann",
            "RANK.ADD b AT 2000000000002 4194303 bob 5 cid",
            "RANK.ADD b AT 2000000000005 4194303 ann",
        ],
    ),
    // Past the size up to which sorted sets are kept in a compact form.
    large("large and plain", &["RANK.ADD b * 0.{n} m{n}"]),
    large("large and packed", &["RANK.CREATE b FIELD a DIGITS 3 FIELD b ASC BITS 8", "RANK.ADD b * {n} 7 m{n}"]),
    large("large and coded, members that fit", &["RANK.CREATE b FIELD a INT", "RANK.ADD b * {n}00 m{n}"]),
    large(
        "large and coded, members that do not fit",
        &[
            "RANK.CREATE b FIELD a INT FIELD b INT TIES FIRST SINCE 1999999999000",
            "RANK.ADD b AT 2000000000000 * {n}000000000 {n}000000000 m{n}",
        ],
    ),
    Case {
        name: "a shard",
        keys: &["b:2:{2}"],
        make: &["RANK.CREATE b:2:{2} FIELD a INT SHARD 0 2", "RANK.ADD b:2:{2} 5 ann"],
        reads: &["RANK.TOPN b:2:{2} 1"],
        writes: &["RANK.ADD b:2:{2} 6 ann"],
    },
    // Which period is written depends on the clock; its board is like any other.
    Case {
        name: "attributes and a period",
        keys: &["b", "names"],
        make: &[
            "RANK.CREATE b FIELD a INT DATA names OWNED PERIOD YEAR year: PAST 3 OFFSET +01:00",
            "RANK.ADD b AT 0 DATA {\"name\":\"Ann\",\"level\":3} 5 ann",
        ],
        reads: &["RANK.TOPN b 1 WITHDATA JSON"],
        writes: &["RANK.ADD b 6 ann", "RANK.TOPN b 1 PERIOD year WITHDATA JSON", "RANK.REM b ann", "EXISTS b names"],
    },
    limiter("SLIDING", &["RATE.CHECK l 5/1m 100/1d COST 3 NOW 2000000000000", "RATE.CHECK l 5/1m 100/1d NOW 2000000000500"],
        &["RATE.PEEK l 5/1m 100/1d NOW 2000000001000 EACH"], &["RATE.CHECK l 5/1m COST 2 NOW 2000000001000", "RATE.REFUND l 5/1m NOW 2000000001000"]),
    limiter("FIXED", &["RATE.CHECK l 5/1m 100/1d FIXED COST 3 NOW 2000000000000"],
        &["RATE.PEEK l 5/1m 100/1d FIXED NOW 2000000001000 EACH"], &["RATE.CHECK l 5/1m FIXED COST 3 NOW 2000000001000"]),
    limiter("CALENDAR", &["RATE.CHECK l 5/day 100/month CALENDAR OFFSET +05:30 COST 3 NOW 2000000000000"],
        &["RATE.PEEK l 5/day 100/month CALENDAR OFFSET +05:30 NOW 2000000001000 EACH"], &["RATE.CHECK l 5/day CALENDAR OFFSET +05:30 COST 3 NOW 2000000001000"]),
    limiter("COUNTER", &["RATE.CHECK l 5/1m COUNTER COST 3 NOW 2000000000000", "RATE.CHECK l 5/1m COUNTER NOW 2000000050000"],
        &["RATE.PEEK l 5/1m COUNTER NOW 2000000051000"], &["RATE.CHECK l 5/1m COUNTER COST 3 NOW 2000000051000"]),
    limiter("GCRA", &["RATE.CHECK l 10/1m/20 GCRA COST 13 NOW 2000000000000", "RATE.CHECK l 10/1m/20 GCRA NOW 2000000000001"],
        &["RATE.PEEK l 10/1m/20 GCRA NOW 2000000001000"], &["RATE.CHECK l 10/1m/20 GCRA COST 9 NOW 2000000001000"]),
    limiter("several algorithms and a penalty", &["RATE.CHECK l 5/1m FIXED NOW 2000000000000", "RATE.CHECK l 5/1m GCRA NOW 2000000000000",
            "RATE.CHECK l 1/1h FIXED COST 2 PENALTY 5m NOW 2000000000000"],
        &["RATE.PEEK l 5/1m FIXED NOW 2000000001000", "RATE.PEEK l 5/1m GCRA NOW 2000000300000"], &["RATE.CHECK l 5/1m GCRA NOW 2000000001000"]),
    Case {
        name: "leases",
        keys: &["l"],
        make: &["RATE.ACQUIRE l 3 1m NOW 2000000000000", "RATE.ACQUIRE l 3 2m NOW 2000000000000"],
        reads: &["RATE.HELD l NOW 2000000001000", "RATE.HELD l NOW 2000000070000"],
        writes: &["RATE.RENEW l TOKEN 3m NOW 2000000001000", "RATE.RELEASE l TOKEN", "RATE.HELD l NOW 2000000001000"],
    },
    Case {
        name: "a schedule",
        keys: &["s"],
        make: &[
            "ZADD s 1999999999000 early",
            "DUE.ADD s AT 2000000000000 now",
            "DUE.ADD s AT 2000000100000 later",
            "DUE.CLAIM s LEASE 30s NOW 2000000000000",
        ],
        reads: &[],
        writes: &[
            "DUE.CLAIM s COUNT 9 NOW 1999999999999",
            "DUE.MOVE s AT 2000000050000 1 early",
            "DUE.ACK s TOKEN early",
            "DUE.POP s COUNT 9 NOW 2000000200000",
        ],
    },
    Case {
        name: "a schedule with payloads, and a trigger during the work",
        keys: &["s", "p"],
        make: &[
            "DUE.ADD s DATA p 1 AT 2000000000001 one",
            "DUE.ADD s DATA p 2 AT 2000000000000 two",
            "DUE.ADD s DATA p {\"n\":3} AT 2000000100000 later",
            "DUE.CLAIM s LEASE 30s DATA p NOW 2000000000000",
            "DUE.ADD s DATA p 2b AGAIN two",
        ],
        reads: &["HGET p two", "ZSCORE s later"],
        writes: &[
            "DUE.ACK s DATA p TOKEN two",
            // It is due when its work ended, before this time.
            "ZRANGEBYSCORE s 1 1999999999999",
            "HMGET p one two later",
        ],
    },
    Case {
        name: "a schedule with an item that failed twice",
        keys: &["s"],
        make: &[
            "DUE.ADD s AT 2000000000000 ill",
            "DUE.CLAIM s LEASE 1s NOW 2000000000000",
            "DUE.CLAIM s LEASE 1s NOW 2000000002000",
        ],
        reads: &[],
        writes: &["DUE.CLAIM s ATTEMPTS 2 DEAD d NOW 2000000004000", "ZRANGE d 0 -1", "EXISTS s"],
    },
];

const fn large(name: &'static str, make: &'static [&'static str]) -> Case {
    let reads = &["RANK.RANGE b 40 45 ORDINAL WITHTIME", "RANK.GET b m77", "RANK.COUNT b"];
    Case { name, keys: &["b"], make, reads, writes: &["RANK.REM b m77", "RANK.GET b m78", "RANK.CLEAR b"] }
}

/// What stands behind ` *` is written for each n below 150.
fn expanded(command: &str) -> String {
    let Some((start, each)) = command.split_once(" *") else { return command.to_string() };
    (0..150).fold(start.to_string(), |line, n| line + &each.replace("{n}", &n.to_string()))
}

const fn limiter(
    name: &'static str,
    make: &'static [&'static str],
    reads: &'static [&'static str],
    writes: &'static [&'static str],
) -> Case {
    Case { name, keys: &["l"], make, reads, writes }
}

/// A file of fixtures, one for each version.
#[derive(Serialize, Deserialize)]
struct Frozen {
    version: String,
    fixtures: Vec<Fixture>,
}

#[derive(Serialize, Deserialize)]
struct Fixture {
    name: String,
    made_by: Vec<String>,
    /// Key and `DUMP`, in hexadecimal.
    keys: Vec<(String, String)>,
    /// Command and reply, in this order.
    replies: Vec<(String, String)>,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn file_of(version: &str) -> PathBuf {
    directory().join(format!("{version}.json"))
}

fn all_versions() -> Vec<Frozen> {
    let files = fs::read_dir(directory()).expect("the fixtures").map(|file| file.expect("a file").path());
    let frozen = files.filter(|file| file.extension().is_some_and(|extension| extension == "json"));
    frozen.map(|file| serde_json::from_slice(&fs::read(file).expect("a file")).expect("fixtures")).collect()
}

fn dump(con: &mut Connection, key: &str) -> String {
    match cmdv(con, &["DUMP", key]) {
        Ok(Value::BulkString(bytes)) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        other => panic!("DUMP {key}: {other:?}"),
    }
}

#[track_caller]
fn restore(con: &mut Connection, key: &str, dump: &str) {
    let bytes = dump.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hexadecimal"));
    let bytes: Vec<u8> = bytes.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal")).collect();
    assert_eq!(show_result(&cmdv(con, &[b"RESTORE".as_slice(), key.as_bytes(), b"0", &bytes])), "+OK", "{key}");
}

/// What a sorted set, a hash or a string holds, as core commands show it.
fn content(con: &mut Connection, key: &str) -> String {
    let read = match reply(con, &format!("TYPE {key}")).as_str() {
        "+zset" => format!("ZRANGE {key} 0 -1 WITHSCORES"),
        "+hash" => format!("HGETALL {key}"),
        _ => format!("GET {key}"),
    };
    reply(con, &read)
}

/// The token in replies that have nothing larger.
fn largest_number(replies: &[String]) -> String {
    let numbers = replies.iter().flat_map(|reply| reply.split(|letter: char| !letter.is_ascii_digit()));
    numbers.filter_map(|number| number.parse::<u64>().ok()).max().unwrap_or_default().to_string()
}

#[test]
fn the_version_has_its_fixtures() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(file_of(version).is_file(), "version {version} has no fixtures yet: make fixtures");
}

on_every_server! {
    fn keys_of_every_version_are_read_and_written(kind: Kind) {
        let server = Server::builder(kind).start();
        let mut con = server.connect();
        for Frozen { version, fixtures } in all_versions() {
            assert!(!fixtures.is_empty());
            for fixture in fixtures {
                expect(&mut con, "FLUSHALL", "+OK");
                fixture.keys.iter().for_each(|(key, dump)| restore(&mut con, key, dump));
                if version == "0.3.0" && fixture.name == "attributes and a period" {
                    // Its markers do not say which board feeds the periods.
                    expect(&mut con, "RANK.ALTER b PERIOD YEAR year: PAST 3", "+OK");
                }
                for (command, answer) in &fixture.replies {
                    assert_eq!(&reply(&mut con, command), answer, "{version}, {}: {command}", fixture.name);
                }
            }
        }
    }

    /// What the current version stores has not changed since its fixtures were made.
    fn the_same_commands_store_the_same_bytes(kind: Kind) {
        let server = Server::builder(kind).start();
        let mut con = server.connect();
        let current = all_versions().into_iter().find(|frozen| frozen.version == env!("CARGO_PKG_VERSION"));
        for fixture in current.expect("fixtures of this version").fixtures {
            expect(&mut con, "FLUSHALL", "+OK");
            // The counter in a claim starts from the clock.
            if fixture.made_by.iter().any(|command| command.starts_with("DUE.CLAIM")) {
                continue;
            }
            fixture.made_by.iter().for_each(|command| drop(reply(&mut con, command)));
            for (key, dump) in &fixture.keys {
                let now = content(&mut con, key);
                expect(&mut con, &format!("DEL {key}"), "1");
                restore(&mut con, key, dump);
                assert_eq!(now, content(&mut con, key), "{}: {key}", fixture.name);
            }
        }
    }
}

#[test]
#[ignore = "make fixtures"]
fn write_the_fixtures_of_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(!file_of(version).exists(), "the fixtures of {version} are frozen");
    let server = Server::builder(Kind::Redis).start();
    assert!(server.version() < (7, 1), "made by Redis 7.0, whose dumps all later servers can read");
    let mut con = server.connect();
    let fixtures = CASES.iter().map(|case| {
        expect(&mut con, "FLUSHALL", "+OK");
        let make: Vec<String> = case.make.iter().map(|command| expanded(command)).collect();
        let made = make.iter().map(|command| {
            let answer = reply(&mut con, command);
            assert!(!answer.starts_with("ERR "), "{}: {command}: {answer}", case.name);
            answer
        });
        let made: Vec<String> = made.collect();
        let keys: Vec<_> = case.keys.iter().map(|key| (key.to_string(), dump(&mut con, key))).collect();
        let token = largest_number(&made);
        // As the tests will find them: without what a DUMP leaves out.
        expect(&mut con, "FLUSHALL", "+OK");
        keys.iter().for_each(|(key, dump)| restore(&mut con, key, dump));
        let commands = case.reads.iter().chain(case.writes).map(|command| command.replace("TOKEN", &token));
        let replies = commands.map(|command| {
            let answer = reply(&mut con, &command);
            assert!(!answer.starts_with("ERR "), "{}: {command}: {answer}", case.name);
            (command, answer)
        });
        Fixture { name: case.name.into(), made_by: make, keys, replies: replies.collect() }
    });
    let frozen = Frozen { version: version.into(), fixtures: fixtures.collect() };
    let text = serde_json::to_string_pretty(&frozen).expect("JSON");
    fs::write(file_of(version), text + "\n").expect("a file");
}
