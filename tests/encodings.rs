//! A server that keeps every sorted set as a listpack, and one that keeps none so: the same commands, the same replies, the
//! same elements.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use redis::{Connection, Value};

use crate::script::Dice;
use crate::support::boards::{elements, replyv, scores, BARE, SCHEMAS};
use crate::support::*;
use crate::workload::{all_keys, bytes, verify};

const YEAR_2023: usize = 1_700_000_000_000;
const NAMES: &[&[u8]] = &[b"", b"\0", b"\x01\0\0\0\x01a", b"\x02", b"a b\n%{}", b"\xff\xfe", b"12", b"-1.5"];

/// Both servers, and the commands that passed on both.
struct Both {
    small: Connection,
    large: Connection,
    passed: BTreeSet<String>,
}

type Words = Vec<Vec<u8>>;

/// Rows of claims without the texts of their items.
fn without_data(rows: &Value) -> Value {
    let Value::Array(rows) = rows else { panic!("no rows: {}", show(rows)) };
    let row = |row: &Value| match row {
        Value::Array(row) => Value::Array(row.iter().take(4).cloned().collect()),
        other => panic!("no row: {}", show(other)),
    };
    Value::Array(rows.iter().map(row).collect())
}

/// The score of an item that is due since the moment of the call, or any other score.
fn of_schedule(score: f64) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis() as f64;
    if (now - score).abs() < 3_600_000.0 {
        return f64::NAN;
    }
    score
}

impl Both {
    fn start(kind: Kind) -> ([Server; 2], Both) {
        let with = |entries: &str| {
            let builder = Server::builder(kind).config(&format!("zset-max-listpack-entries {entries}"));
            builder.config("zset-max-listpack-value 100000").start()
        };
        let servers = [with("100000"), with("0")];
        let both = Both { small: servers[0].connect(), large: servers[1].connect(), passed: BTreeSet::new() };
        (servers, both)
    }

    /// The same command to both, and the same reply from both.
    #[track_caller]
    fn send(&mut self, words: &Words) -> String {
        let (small, large) = (replyv(&mut self.small, words), replyv(&mut self.large, words));
        assert_eq!(small, large, "{}", words.join(&b' ').escape_ascii());
        if !is_error(&small) {
            self.passed.insert(String::from_utf8_lossy(&words[0]).into_owned());
        }
        small
    }

    #[track_caller]
    fn line(&mut self, line: &str) -> String {
        self.send(&words(line))
    }

    /// The same keys with the same elements and expiries, in one encoding here and in the other one there.
    #[track_caller]
    fn compare(&mut self, is_schedule: bool) {
        let keys = all_keys(&mut self.small);
        assert_eq!(keys, all_keys(&mut self.large));
        for key in keys {
            let key_of = |command: &str| words(command).into_iter().chain([key.clone()]).collect::<Words>();
            if self.send(&key_of("TYPE")) != "+zset" {
                continue;
            }
            let of = |con: &mut Connection| {
                let mut all = elements(con, &key);
                if is_schedule {
                    all.iter_mut().for_each(|(_, score)| *score = of_schedule(*score));
                    all.sort_by(|a, b| a.0.cmp(&b.0));
                }
                all.into_iter().map(|(element, score)| (element, score.to_bits())).collect::<Vec<_>>()
            };
            assert_eq!(of(&mut self.small), of(&mut self.large), "{}", key.escape_ascii());
            assert_eq!(replyv(&mut self.small, &key_of("OBJECT ENCODING")), "\"listpack\"");
            assert_eq!(replyv(&mut self.large, &key_of("OBJECT ENCODING")), "\"skiplist\"");
            self.send(&key_of("PEXPIRETIME"));
        }
    }

    /// All that a scan returns, in any order.
    #[track_caller]
    fn scan(&mut self, key: &str, options: &str) {
        let all = |con: &mut Connection| {
            let (mut rows, mut cursor) = (BTreeSet::new(), b"0".to_vec());
            loop {
                let mut line = words(&format!("RANK.SCAN {key}"));
                line.push(cursor);
                line.extend(words(options));
                let Ok(Value::Array(step)) = cmdv(con, &line) else { panic!("no step of a scan of {key}") };
                let Value::Array(found) = &step[1] else { panic!("no rows: {}", show(&step[1])) };
                rows.extend(found.iter().map(show));
                cursor = bytes(&step[0]);
                if cursor == b"0" {
                    return rows;
                }
            }
        };
        assert_eq!(all(&mut self.small), all(&mut self.large), "{key}");
        self.passed.insert("RANK.SCAN".into());
    }
}

/// One board and what is known of its schema.
struct Board {
    key: String,
    schema: &'static str,
    fields: usize,
    dice: Dice,
}

impl Board {
    fn member(&mut self) -> Vec<u8> {
        match self.dice.roll(4) {
            0 => NAMES[self.dice.roll(NAMES.len())].to_vec(),
            _ => format!("m{}", self.dice.roll(20)).into_bytes(),
        }
    }

    fn scores(&mut self) -> Words {
        let (first, second) = (self.dice.roll(30), self.dice.roll(30));
        scores(self.schema, first, second)
    }

    /// `AT` where times matter: the two servers have no common clock.
    fn at(&mut self) -> Words {
        if !self.schema.contains("TIES") {
            return Vec::new();
        }
        words(&format!("AT {}", YEAR_2023 + self.dice.roll(8) * 1000))
    }

    fn command(&mut self, name: &str) -> Words {
        words(&format!("RANK.{name} {}", self.key))
    }

    fn line(&mut self) -> Vec<u8> {
        let (member, scores) = (self.dice.roll(20), self.scores());
        let name = |field: usize| if self.schema == BARE { "score" } else { ["a", "b", "c", "d"][field] };
        let scores: Vec<String> = scores
            .iter()
            .enumerate()
            .map(|(field, score)| format!("\"{}\":{}", name(field), String::from_utf8_lossy(score)))
            .collect();
        let scores = match scores.as_slice() {
            [one] => format!("\"score\":{}", one.split(':').nth(1).unwrap_or_default()),
            all => format!("\"scores\":{{{}}}", all.join(",")),
        };
        let time = if self.schema.contains("TIES") {
            format!(",\"time\":{}", YEAR_2023 + member * 500)
        } else {
            String::new()
        };
        format!("{{\"member\":\"m{member}\",{scores}{time}}}").into_bytes()
    }

    /// A random command, but for those that scan.
    fn next(&mut self) -> Words {
        let (member, other, scores, at) = (self.member(), self.member(), self.scores(), self.at());
        let kind = words(self.dice.pick(&["COMPETITION", "DENSE", "ORDINAL"]));
        let n = |dice: &mut Dice| (1 + dice.roll(9)).to_string().into_bytes();
        let (one, two) = (n(&mut self.dice), n(&mut self.dice));
        let mut line: Words;
        match self.dice.roll(34) {
            0..=4 => {
                line = self.command("ADD");
                line.extend(words(self.dice.pick(&["", "NX", "XX", "BEST", "CH", "WITHRANK", "CH WITHRANK"])));
                line.extend(at.into_iter().chain(scores).chain([member]).chain(self.scores()).chain([other]));
            }
            5 | 6 => {
                line = self.command("MULTISET");
                line.extend(words(&format!("BOARD {}", self.fields)).into_iter().filter(|_| self.schema != BARE));
                line.extend(at.into_iter().chain(scores).chain([member]));
            }
            7 | 8 => {
                line = self.command("INCR");
                line.extend(words(self.dice.pick(&["", "WITHRANK"])));
                line.extend(at.into_iter().chain((0..self.fields).map(|_| b"1".to_vec())).chain([member]));
            }
            9 | 10 => {
                line = self.command("LOAD");
                line.extend([self.line(), self.line()]);
            }
            11 => {
                line = self.command("REM");
                line.extend([member, other]);
            }
            12 if self.dice.once_in(3) => {
                line = self.command("TRIM");
                line.extend(words(self.dice.pick(&["15 RETURN", "18", "20 RETURN"])));
            }
            12 | 13 => {
                line = self.command("POP");
                line.extend([one]);
                line.extend(words(self.dice.pick(&["", "WORST", "DENSE"])));
            }
            14 => {
                line = self.command("GET");
                line.extend([member].into_iter().chain(kind));
            }
            15 => {
                line = self.command("SCORE");
                line.push(member);
            }
            16 => {
                line = self.command("QUERY");
                line.extend([member].into_iter().chain(kind));
            }
            17 => {
                line = self.command("STATS");
                line.extend(kind.into_iter().chain(words("LIMIT 1 6")));
            }
            18 => {
                line = self.command("TOPN");
                line.extend([two].into_iter().chain(kind));
            }
            19 => {
                line = self.command("RANGE");
                line.extend([one, [b"-".to_vec(), two].concat()].into_iter().chain(kind));
            }
            20 => {
                line = self.command("PAGE");
                line.extend([one, two].into_iter().chain(kind));
            }
            21 => {
                line = self.command("AROUND");
                line.extend([member, one].into_iter().chain(words(self.dice.pick(&["", "FILL"]))).chain(kind));
            }
            22 => {
                line = self.command("BYSCORE");
                line.extend([[b"(".to_vec(), one].concat(), b"25".to_vec()].into_iter().chain(kind));
            }
            23 => {
                line = self.command("AMONG");
                line.extend([b"2".to_vec(), member, other]);
            }
            24 | 25 => {
                let direction = self.dice.pick(&["AFTER", "BEFORE"]);
                line = self.command(direction);
                line.extend([one].into_iter().chain(scores).chain(at).chain([b"MEMBER".to_vec(), member]));
            }
            26 => {
                line = self.command("COUNT");
                line.extend(words(self.dice.pick(&["", "3 20", "(3 (20", "-inf 7"])));
            }
            27 => {
                line = self.command("FORSCORE");
                line.extend(scores.into_iter().chain(kind));
            }
            28 => {
                line = self.command("PERCENTILE");
                line.push(member);
            }
            29 if self.fields == 1 => {
                line = self.command("SCOREAT");
                line.extend(words(self.dice.pick(&["0", "37.5", "50", "100"])));
            }
            30 if self.schema != BARE && self.dice.once_in(3) => {
                line = self.command("ALTER");
                line.extend(words(self.dice.pick(&["KEEP 16", "NOKEEP", "UPDATE BEST", "UPDATE SET"])));
            }
            // A board that is emptied or made again counts its times from now on.
            31 if !self.schema.contains("TIES") && self.dice.once_in(4) => line = self.command("CLEAR"),
            32 if !self.schema.contains("TIES") && self.schema != BARE && self.dice.once_in(4) => {
                line = self.command("ROTATE");
                line.push(format!("old{}", self.dice.roll(1_000_000)).into_bytes());
            }
            _ => line = self.command("INFO"),
        }
        line
    }
}

on_every_server! {
    fn boards_of_both_encodings_are_alike(kind: Kind) {
        let (_servers, mut both) = Both::start(kind);
        let steps = if server_wrapper().is_some() { 50 } else { 400 };
        for (number, schema) in SCHEMAS.iter().enumerate() {
            let key = format!("b{number}");
            let since = if schema.contains("TIES") { format!(" SINCE {}", YEAR_2023 - 5_000) } else { String::new() };
            if *schema != BARE {
                assert_eq!(both.line(&format!("RANK.CREATE {key} {schema}{since}")), "+OK");
            }
            let fields = schema.matches("FIELD").count().max(1);
            let mut board = Board { key, schema, fields, dice: Dice::new(number as u64) };
            for step in 0..steps {
                let line = board.next();
                both.send(&line);
                if step % 40 == 0 {
                    both.compare(false);
                    both.scan(&board.key, if schema.contains("TIES") { "COUNT 5 WITHTIME" } else { "COUNT 5" });
                    let key = board.key.as_bytes();
                    assert_eq!(verify(&mut both.small, key, false), verify(&mut both.large, key, false));
                }
            }
        }
        both.passed.insert("RANK.VERIFY".into());
        // Attributes and periods are keys of their own.
        for line in [
            "RANK.CREATE {p}all UPDATE BEST PERIOD DAY {p}day: PAST 1000 DATA {p}data",
            "RANK.ADD {p}all AT 1790000000000 DATA {\"a\":1} 5 ann",
            "RANK.ADD {p}all WITHRANK PERIOD day AT 1790000000000 7 bob",
            "RANK.SETDATA {p}all bob a 2", "RANK.PUTDATA {p}all bob {\"b\":3}", "RANK.GETDATA {p}all bob",
            "RANK.DELDATA {p}all ann a", "RANK.TOPN {p}all 9 WITHDATA", "RANK.TOPN {p}all 9 PERIOD day 2026-09-21 JSON",
            "RANK.PERIODS {p}all day NOW 1790000000000", "RANK.REM {p}all ann",
        ] {
            assert!(!is_error(&both.line(line)), "{line}");
            both.compare(false);
        }
        both.check_all_commands("RANK.", &["RANK.SHARDS", "RANK.SHARD"]);
    }

    fn logs_and_leases_of_both_encodings_are_alike(kind: Kind) {
        let (_servers, mut both) = Both::start(kind);
        let mut dice = Dice::new(3);
        // Ahead of every clock, so that nothing expires meanwhile.
        let mut now = 2_000_000_000_000_usize;
        let mut tokens = vec![1_i64];
        let steps = if server_wrapper().is_some() { 100 } else { 3000 };
        for step in 0..steps {
            now += dice.roll(800);
            let at = now - dice.roll(4) * 300;
            let (n, cost) = (dice.roll(3), 1 + dice.roll(3));
            let rules = dice.pick(&["40/10s", "90/30s 40/10s", "20/5s"]);
            let token = tokens[tokens.len().saturating_sub(1 + dice.roll(6))];
            let line = match dice.roll(14) {
                0..=3 => format!("RATE.CHECK l{n} {rules} COST {cost} NOW {at}"),
                4 => format!("RATE.CHECK l{n} {rules} COST {cost} FORCE EACH NOW {at}"),
                5 => format!("RATE.PEEK l{n} {rules} COST {cost} NOW {at}"),
                6 => format!("RATE.REFUND l{n} {rules} COST {cost} NOW {at}"),
                7 => format!("RATE.ALL 2 l0 l1 40/10s 40/10s COST {cost} NOW {at}"),
                8 if dice.once_in(20) => format!("RATE.RESET l{n}"),
                8..=10 => format!("RATE.ACQUIRE held {} {} NOW {at}", 20 + dice.roll(30), 1 + dice.roll(60)),
                11 => format!("RATE.RENEW held {token} {} NOW {at}", 1 + dice.roll(60)),
                12 => format!("RATE.RELEASE held {token} 77"),
                _ => format!("RATE.HELD held NOW {at}"),
            };
            let answer = both.line(&line);
            assert!(!is_error(&answer), "{line}: {answer}");
            if line.starts_with("RATE.ACQUIRE") && answer.starts_with("[0, ") {
                tokens.push(answer.trim_end_matches(']').rsplit(' ').next().and_then(|text| text.parse().ok()).expect("a token"));
            }
            if step % 100 == 0 {
                both.compare(false);
            }
        }
        // Not for logs.
        both.check_all_commands("RATE.", &["RATE.SETTLE"]);
    }

    fn schedules_of_both_encodings_are_alike(kind: Kind) {
        let (_servers, mut both) = Both::start(kind);
        let mut dice = Dice::new(8);
        let mut now = YEAR_2023;
        both.align_serial_numbers();
        let mut claims: Vec<(i64, String)> = Vec::new();
        let steps = if server_wrapper().is_some() { 100 } else { 3000 };
        for step in 0..steps {
            now = (now + dice.roll(800)).saturating_sub(dice.roll(300));
            let (item, at) = (format!("i{}", dice.roll(60)), now + dice.roll(4000));
            match dice.roll(12) {
                0..=4 => drop(both.line(&format!("DUE.ADD s {} AT {at} {item}", dice.pick(&["", "NX", "XX"])))),
                5 => {
                    drop(both.line(&format!("DUE.ADD s DATA d AT {at} {item}")));
                    drop(both.line(&format!("DUE.ADD s AGAIN {item}")));
                }
                6 | 7 => {
                    let options = dice.pick(&["", "ATTEMPTS 3 DEAD dead", "DATA d"]);
                    let count = 1 + dice.roll(8);
                    let line = words(&format!("DUE.CLAIM s COUNT {count} LEASE 2s {options} NOW {now}"));
                    claims.extend(both.claim(&line));
                }
                8 | 9 if !claims.is_empty() => {
                    let (token, item) = &claims[claims.len() - 1 - dice.roll(claims.len().min(8))];
                    let line = match dice.roll(3) {
                        0 => format!("DUE.ACK s {token} {item}"),
                        1 => format!("DUE.ACK s DATA d {token} {item} 77 {item}"),
                        _ => format!("DUE.MOVE s AT {at} {token} {item}"),
                    };
                    let answer = both.line(&line);
                    if line.starts_with("DUE.MOVE") && answer != "0" {
                        let (token, item) = (answer.parse().expect("a token"), item.clone());
                        claims.push((token, item));
                    }
                }
                // What became due by AGAIN is later than all that.
                10 => drop(both.line(&format!("DUE.POP s COUNT {} {} NOW {now}", 1 + dice.roll(3), dice.pick(&["", "DATA d"])))),
                _ => drop(both.line(&format!("DUE.INFO s NOW {now}"))),
            }
            if step % 100 == 0 {
                both.compare(true);
            }
        }
        both.check_all_commands("DUE.", &[]);
    }
}

impl Both {
    /// Claims, and what was claimed: the same items with the same tokens.
    #[track_caller]
    fn claim(&mut self, line: &Words) -> Vec<(i64, String)> {
        let rows = cmdv(&mut self.small, line).expect("rows");
        assert_eq!(show(&rows), replyv(&mut self.large, line));
        self.passed.insert("DUE.CLAIM".into());
        let rows: Vec<(String, i64, i64, i64)> =
            redis::from_redis_value(without_data(&rows)).expect("items with tokens, attempts and times");
        rows.into_iter().map(|(item, token, ..)| (token, item)).collect()
    }

    /// The serial numbers of claims begin with the clock of each server. Claims on one of them until both go on with the
    /// same number, and tokens are the same from then on.
    #[track_caller]
    fn align_serial_numbers(&mut self) {
        let next = |con: &mut Connection| {
            expect(con, "DUE.ADD aligned AT 1 item", "1");
            let row = reply(con, "DUE.CLAIM aligned LEASE 1s NOW 1700000000000");
            expect(con, "DEL aligned", "1");
            let token: i64 = row.split(", ").nth(1).and_then(|token| token.parse().ok()).expect("a token");
            token >> 5 & 63
        };
        let goal = next(&mut self.small);
        let mut steps = 0;
        while next(&mut self.large) != goal {
            steps += 1;
            assert!(steps < 64, "serial numbers do not come round");
        }
    }

    /// That every command of the module has passed, but for those that touch no sorted set.
    #[track_caller]
    fn check_all_commands(&mut self, prefix: &str, but: &[&str]) {
        let Ok(Value::Array(all)) = cmd(&mut self.small, "COMMAND LIST FILTERBY MODULE rank") else {
            panic!("no list")
        };
        let missing: Vec<String> = all
            .iter()
            .map(|name| String::from_utf8_lossy(&bytes(name)).to_uppercase())
            .filter(|name| name.starts_with(prefix) && !but.contains(&name.as_str()) && !self.passed.contains(name))
            .collect();
        assert!(missing.is_empty(), "not compared: {missing:?}");
    }
}
