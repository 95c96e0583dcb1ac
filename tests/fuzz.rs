//! Random argument lists over all commands and key types, with state that was tampered with in
//! between: no crash, no hang, and no key touched that the call did not name.
//!
//! `RANK_FUZZ_CALLS=0` goes on until something is found (`make fuzz`); `RANK_FUZZ_SEED` repeats a run.

use std::env;

use redis::Value;

use crate::flood::Flood;
use crate::script::Dice;
use crate::support::*;
use crate::workload::bytes;

/// On each of two servers; one in six is a core command that tampers, so that a hundred thousand are calls of ours.
const CALLS: u64 = 60_000;

/// So many calls on keys that were made anew.
const CHAPTER: u64 = 200;

/// Keys that calls name: boards of all layouts, other types, limiters, names that are odd.
const KEYS: &[&[u8]] = &[
    b"plain",
    b"packed",
    b"coded",
    b"late",
    b"wide",
    b"attributes",
    b"string",
    b"list",
    b"hash",
    b"set",
    b"stream",
    b"none",
    b"",
    b"a}b",
    b"{}x",
    b"{t}a",
    b"{t}b",
    b"\x00\xff%s%n",
    b"limit",
    b"limit2",
    b"limit3",
    b"limit4",
    b"players",
    b"owned",
    b"rank:data:{late}",
];

/// Keys that no call names, nor any schema: they must stay as they are.
const FOREIGN: &[&str] = &[
    "SET foreign-string x",
    "HSET foreign-hash a {}",
    "ZADD {foreign}z 1 x",
    "HSET rank:data:{foreign} :x {}",
    "RPUSH rank:other:{plain} x",
    "HSET rank:data:{plain} a {}",
    "HSET rank:members:{coded} a b",
    "HSET plain:data a {}",
];

const WORDS: &[&[u8]] = &[
    b"NX",
    b"XX",
    b"SET",
    b"BEST",
    b"KEEP",
    b"CH",
    b"WITHRANK",
    b"BOARD",
    b"*",
    b"AT",
    b"ASC",
    b"DESC",
    b"FIELD",
    b"FLOAT",
    b"INT",
    b"BITS",
    b"DIGITS",
    b"RANGE",
    b"TIES",
    b"SHARED",
    b"FIRST",
    b"LAST",
    b"JOINED",
    b"MS",
    b"S",
    b"UPDATE",
    b"ADOPT",
    b"SINCE",
    b"LIKE",
    b"DATA",
    b"OWNED",
    b"NODATA",
    b"{}",
    b"{\"k\":[1,null,{}]}",
    b"players",
    b"NOKEEP",
    b"REPAIR",
    b"CURSOR",
    b"COUNT",
    b"RETURN",
    b"COMPETITION",
    b"DENSE",
    b"ORDINAL",
    b"WITHDATA",
    b"JSON",
    b"LIMIT",
    b"FILL",
    b"SLIDING",
    b"FIXED",
    b"COUNTER",
    b"GCRA",
    b"BURST",
    b"COST",
    b"NOW",
    b"100/1m",
    b"5/1s",
    b"3/1h",
    b"10/366d",
    b"10/1s/20",
    b"5/day",
    b"CALENDAR",
    b"OFFSET",
    b"+01:00",
    b"FORCE",
    b"PENALTY",
    b"EACH",
    b"1m",
    b"1ms",
];

const NUMBERS: &[&[u8]] = &[
    b"0",
    b"1",
    b"2",
    b"3",
    b"5",
    b"10",
    b"60",
    b"-1",
    b"-5",
    b"007",
    b"1.5",
    b"-0",
    b"-0.0",
    b"1e3",
    b"1e308",
    b"-1e308",
    b"5e-324",
    b"1e400",
    b"inf",
    b"-inf",
    b"+inf",
    b"nan",
    b"0x10",
    b"(5",
    b"(-inf",
    b"1023",
    b"1024",
    b"4503599627370497",
    b"9007199254740993",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"18446744073709551615",
    b"99999999999999999999999",
    b"1700000000000",
    b"62",
    b"63",
    b"+5",
    b"",
];

const MEMBERS: &[&[u8]] = &[
    b"a",
    b"b",
    b"c",
    b"x",
    b"",
    b"\x00rank 2 FIELD a DESC INT",
    b"\x00rank 2 FIELD a DESC INT DATA players OWNED coded",
    b"\x00rank 1 FIELD a DESC INT",
    b"\x00rank 2 FIELD a DESC INT TIES FIRST SINCE 1700000000000",
    b"\x01",
    b"\x01\0a",
    b"\x01\0b",
    b"\x01\0c",
    b"\x01\x01c",
    b"\x01\xffb",
    b"\x02",
    b"\x02\0a",
    b"\x02\x01",
    b"\x02\x01\0b",
    b"\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfec",
    b"\x00rank ",
    b"\x00rank 9 ",
    b"\x00",
    b"\xff\xfe",
    b"%s%n%p",
    b"a\r\nb",
    b"id",
    b":a",
    b"{\"k\":\"v\"}",
    b"\xf0\x9f\x98\x80",
];

struct Fuzzer {
    dice: Dice,
    commands: Vec<Vec<u8>>,
}

impl Fuzzer {
    fn bytes(&mut self) -> Vec<u8> {
        let length = [0, 1, 7, 8, 9, 15, 16, 17, 24, 300][self.dice.roll(10)];
        (0..length).map(|_| u8::try_from(self.dice.roll(256)).expect("a byte")).collect()
    }

    fn word(&mut self) -> Vec<u8> {
        match self.dice.roll(20) {
            0..=5 => self.dice.pick(NUMBERS).to_vec(),
            6..=9 => self.dice.pick(WORDS).to_vec(),
            10..=16 => self.dice.pick(MEMBERS).to_vec(),
            17 => self.dice.pick(KEYS).to_vec(),
            18 => self.dice.roll(1 << 40).to_string().into_bytes(),
            _ => self.bytes(),
        }
    }

    fn call(&mut self) -> Vec<Vec<u8>> {
        let command = self.commands[self.dice.roll(self.commands.len())].clone();
        let key = self.dice.pick(KEYS).to_vec();
        let count = [0, 1, 2, 3, 4, 5, 6, 8, 12, 40][self.dice.roll(10)];
        let mut args = vec![command, key];
        // Scores and members in turn now and then, so that calls succeed too.
        if self.dice.once_in(3) {
            for at in 0..count {
                args.push(if at % 2 == 0 && self.dice.once_in(4) {
                    // Too long for a score.
                    self.dice.pick(&[&b"9223372036854775807"[..], b"-9000000000000000000", b"0.1234567"]).to_vec()
                } else if at % 2 == 0 {
                    self.dice.pick(&NUMBERS[..8]).to_vec()
                } else {
                    self.dice.pick(MEMBERS).to_vec()
                });
            }
        } else {
            args.extend((0..count).map(|_| self.word()));
        }
        if self.dice.once_in(30) {
            args.truncate(self.dice.roll(3).max(1));
        }
        args
    }

    /// A core command that does what no command of the module would.
    fn tamper(&mut self) -> Vec<Vec<u8>> {
        let board =
            self.dice.pick(&[&b"plain"[..], b"packed", b"coded", b"late", b"wide", b"attributes", b"{t}a"]).to_vec();
        let hash = self.dice.pick(&[&b"players"[..], b"owned"]).to_vec();
        let limiter = self.dice.pick(&[&b"limit"[..], b"limit2", b"limit3", b"limit4"]).to_vec();
        let (member, value) = (self.dice.pick(MEMBERS).to_vec(), self.word());
        let (state, (time, element), place) = (self.limiter_text(), self.log_entry(), self.number(40));
        let (last, token) = ([b"-", self.number(1 << 54).as_slice()].concat(), self.number(1 << 54));
        let (random, score) = (self.bytes(), self.dice.pick(NUMBERS).to_vec());
        let command = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect::<Vec<_>>();
        // Near the scores of members, and of index entries.
        let code = match self.dice.roll(3) {
            0 => f64::from_bits((self.dice.roll(1 << 62) as u64) + (1 << 52)),
            1 => -f64::from_bits((self.dice.roll(1 << 62) as u64) + (1 << 52)),
            _ => -f64::from_bits((1 << 62) + (1 << 52) + (self.dice.roll(1 << 61) as u64)),
        };
        let code = code.to_string().into_bytes();
        let rank = (self.dice.roll(8) as i64 - 4).to_string().into_bytes();
        let other = self.dice.pick(&[&b"coded"[..], b"late", b"wide", b"packed"]).to_vec();
        let aggregate = self.dice.pick(&[&b"SUM"[..], b"MIN", b"MAX"]).to_vec();
        match self.dice.roll(27) {
            21 => command(&[b"ZADD", &board, &code, &member]),
            22 => command(&[b"ZADD", &board, &code, &random]),
            23 => command(&[b"ZINCRBY", &board, &code, &member]),
            24 => command(&[b"ZUNIONSTORE", &board, b"2", &board, &other, b"AGGREGATE", &aggregate]),
            25 => command(&[b"ZREMRANGEBYRANK", &board, &rank, &rank]),
            26 => command(&[b"ZREM", &board, &member]),
            0 => command(&[b"HSET", &hash, &member, &value]),
            1 => command(&[b"HSET", &hash, &member, &random]),
            2 | 14 => command(&[b"SET", &limiter, &state]),
            3 => command(&[b"HDEL", &hash, &member]),
            4 => command(&[b"DEL", &hash]),
            5 => command(&[b"SET", &hash, &value]),
            6 | 7 => {
                let marker = [b"\0rank ".as_slice(), &self.marker()].concat();
                command(&[b"ZADD", &board, b"-inf", &marker])
            }
            8 => command(&[b"ZADD", &board, &score, &random]),
            9 => command(&[b"ZADD", &board, b"1", &value]),
            // What could be taken for an index entry, or for a member's element.
            10 => command(&[b"ZADD", &board, b"-inf", &member]),
            11 => command(&[b"ZPOPMIN", &board]),
            12 => command(&[b"ZREMRANGEBYRANK", &board, b"1", b"1"]),
            13 => command(&[b"ZPOPMAX", &board]),
            15 => command(&[b"ZADD", &limiter, &score, &value]),
            16 => command(&[b"ZADD", &limiter, &time, &element]),
            17 => command(&[b"ZADD", &limiter, &last, b"last", &time, &token]),
            18 => command(&[b"SETRANGE", &limiter, &place, &member]),
            19 => command(&[b"DEL", if self.dice.once_in(2) { &limiter } else { &board }]),
            _ => command(&[b"COPY", &board, self.dice.pick(&[&b"plain"[..], b"coded", b"owned"]), b"REPLACE"]),
        }
    }

    fn number(&mut self, below: usize) -> Vec<u8> {
        self.dice.roll(below).to_string().into_bytes()
    }

    /// The text of a string limiter: one that a limiter could have written, or nearly.
    fn limiter_text(&mut self) -> Vec<u8> {
        let names: &[&str] = &[
            "fixed1m",
            "fixed366d",
            "counter1m",
            "counter1ms",
            "gcra1s",
            "gcra1m",
            "gcra366d",
            "day",
            "year-23:59",
            "closed",
        ];
        let mut text = self.dice.pick(&[&b"rate 1"[..], b"rate 1", b"rate 1", b"rate 2", b"rate"]).to_vec();
        for _ in 0..self.dice.roll(12) {
            let name = self.dice.pick(names);
            let numbers = match name {
                "closed" => 1,
                name if name.starts_with("counter") => 3,
                _ => 2,
            };
            text.extend_from_slice(format!(" {name}").as_bytes());
            for _ in 0..numbers {
                let digits: String = (0..1 + self.dice.roll(9)).map(|_| self.digit()).collect();
                text.extend_from_slice(format!(" {digits}").as_bytes());
            }
        }
        if self.dice.once_in(4) {
            let at = self.dice.roll(text.len());
            text[at] = u8::try_from(self.dice.roll(256)).expect("a byte");
        }
        text
    }

    fn digit(&mut self) -> char {
        char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[self.dice.roll(36)])
    }

    /// The score and the element of a call in a log.
    fn log_entry(&mut self) -> (Vec<u8>, Vec<u8>) {
        let total: String = (0..1 + self.dice.roll(13)).map(|_| self.digit()).collect();
        let cost = if self.dice.once_in(2) { String::new() } else { format!("+{}", self.digit()) };
        let window = self.dice.pick(&["1s", "1m", "1500ms", "366d", "60s"]);
        let length = char::from_digit(u32::try_from(total.len()).expect("a length"), 36).expect("a digit");
        (self.number(1 << 54), format!("{length}{total}{cost}/{window}").into_bytes())
    }

    fn marker(&mut self) -> Vec<u8> {
        let texts: &[&[u8]] = &[
            b"2 FIELD a DESC INT",
            b"2",
            b"2 ",
            b"2 xyz",
            b"1 FIELD a DESC INT",
            b" ",
            b"2 FIELD a DESC DIGITS 18 FIELD b ASC DIGITS 18 TIES FIRST MS KEEP 3 SINCE 5",
            b"2 FIELD a DESC INT TIES LAST S SINCE 9007199254740991",
            b"2 FIELD a DESC INT TIES LAST SINCE -1",
            b"2 FIELD a DESC RANGE -9223372036854775808 9223372036854775806 FIELD b ASC FLOAT SINCE 5",
            b"2 FIELD a DESC BITS 63",
            b"2 FIELD a DESC RANGE 5 5",
            b"2 KEEP 0",
            b"2 FIELD a ASC FLOAT KEEP 18446744073709551615",
            b"2 FIELD a DESC FLOAT DATA players",
            b"2 FIELD a DESC INT FIELD b DESC INT DATA owned OWNED coded",
            b"2 FIELD a DESC FLOAT DATA owned OWNED",
            b"2 FIELD a DESC FLOAT DATA %6",
            b"2 FIELD a DESC FLOAT DATA %zz OWNED %",
        ];
        match self.dice.roll(3) {
            0 => self.bytes(),
            1 => {
                let mut text = self.dice.pick(texts).to_vec();
                let at = self.dice.roll(text.len());
                text[at] = u8::try_from(self.dice.roll(256)).expect("a byte");
                text
            }
            _ => self.dice.pick(texts).to_vec(),
        }
    }
}

/// Makes every kind of key anew: what was damaged stays damaged otherwise, and answers with nothing but errors.
fn set_up(con: &mut redis::Connection) {
    let all = [[b"DEL".as_slice()].as_slice(), KEYS].concat();
    cmdv(con, &all).expect("DEL");
    for command in [
        "RANK.ADD plain 1 a 2 b 3 c",
        "RANK.CREATE packed FIELD a DIGITS 3 FIELD b DIGITS 3",
        "RANK.ADD packed 1 2 a 3 4 b",
        "RANK.CREATE coded FIELD a INT FIELD b INT DATA owned OWNED",
        "RANK.ADD coded DATA {\"k\":\"v\"} 1 2 a",
        "RANK.ADD coded 1 9000000000000000000 b 9000000000000000000 9000000000000000000 c",
        "RANK.CREATE late FIELD a INT FIELD b FLOAT TIES LAST KEEP 5",
        "RANK.ADD late 1 2 a 3 4 b",
        "RANK.ADD late AT 5 1 0.1234567 c",
        "RANK.CREATE wide FIELD a BITS 31 FIELD b BITS 31",
        "RANK.ADD wide 1 2 a 3 4 \"\\x01\"",
        "RANK.CREATE attributes KEEP 9 DATA players",
        "RANK.ADD attributes DATA {\"n\":1} 1 a",
        "RANK.MULTISET {t}a 1 2 a",
        "RATE.CHECK limit 5/1s 100/1m",
        "RATE.CHECK limit2 5/1s 100/1m GCRA",
        "RATE.CHECK limit3 3/1h FIXED",
        "RATE.ACQUIRE limit4 3 1m NOW 1700000000000",
        "SET string x",
        "RPUSH list x",
        "HSET hash a b",
        "SADD set x",
        "XADD stream * a b",
    ] {
        reply(con, command);
    }
}

fn setting(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

on_every_server! {
    fn no_call_and_no_tampering_ends_the_server_or_reaches_another_key(server: Server) {
        let mut con = server.connect();
        let Ok(Value::Array(names)) = cmd(&mut con, "COMMAND LIST FILTERBY MODULE rank") else { panic!("no commands") };
        let seed = setting("RANK_FUZZ_SEED").unwrap_or(6);
        let mut fuzzer = Fuzzer { dice: Dice::new(seed), commands: names.iter().map(bytes).collect() };
        let calls = setting("RANK_FUZZ_CALLS").unwrap_or(CALLS);
        for command in FOREIGN {
            reply(&mut con, command);
        }
        let foreign = |con: &mut redis::Connection| -> Vec<String> {
            FOREIGN.iter().map(|command| reply(con, &format!("DUMP {}", command.split(' ').nth(1).expect("a key")))).collect()
        };
        let before = foreign(&mut con);
        assert!(!before.iter().any(|dump| dump == "nil"), "{before:?}");

        let mut flood = Flood::connect(&server);
        let mut call = 0;
        while calls == 0 || call < calls {
            // Every few calls are a chapter of their own, which its number alone repeats.
            let chapter = seed.wrapping_mul(1_000_003).wrapping_add(call / CHAPTER);
            fuzzer.dice = Dice::new(chapter);
            set_up(&mut con);
            let mut history = Vec::new();
            let mut lives = true;
            for _ in 0..CHAPTER {
                call += 1;
                let args = if fuzzer.dice.once_in(6) { fuzzer.tamper() } else { fuzzer.call() };
                lives = lives && flood.send(&args);
                history.push(args);
            }
            if !(lives && flood.flush()) {
                let shown = |args: &Vec<Vec<u8>>| args.iter().map(|arg| format!("\"{}\"", arg.escape_ascii())).collect::<Vec<_>>().join(" ");
                let path = env::temp_dir().join(format!("rank-fuzz-{chapter}.txt"));
                std::fs::write(&path, history.iter().map(shown).collect::<Vec<_>>().join("\n")).expect("a file");
                panic!("the server is gone or hangs, chapter {chapter}: its calls are in {}", path.display());
            }
            assert_eq!(foreign(&mut con), before, "chapter {chapter} reached another key");
            if call % 1_000_000 == 0 {
                println!("{call} calls");
            }
        }
        assert!(!server.log().contains("panicked at"), "a handler panicked: {}", server.log());
        // Enough of them get past the arguments to be worth it.
        let count = |field| server.info(field).parse::<u64>().expect("a count");
        let (all, wrong) = (count("rank_calls"), count("rank_errors"));
        assert!((all - wrong) * 10 > all, "{wrong} of {all} calls were errors");
        expect(&mut con, "PING", "+PONG");
    }
}
