//! Random calls, with stored data that was tampered with in between: no crash, no hang, and no key touched that the call
//! did not name.
//!
//! `RANK_FUZZ_CALLS=0` goes on until something is found (`make fuzz`); `RANK_FUZZ_SEED` repeats a run.

use std::env;

use redis::{Connection, Value};

use crate::calls::{begin_chapter, generator, items, without_waiting};
use crate::flood::Flood;
use crate::script::Dice;
use crate::support::*;
use crate::workload::{all_keys, bytes};

/// On each of two servers.
const CALLS: u64 = 60_000;

/// A chapter begins with keys that are made anew, and so many calls that fill them. What is stored then is what comes
/// back, changed, in the calls that follow: one in six of them is a core command that tampers.
const FILLING: u64 = 150;
const TAMPERING: u64 = 250;

/// Keys that no call names, nor any schema: they must stay as they are.
const FOREIGN: &[&str] = &[
    "SET foreign-string x",
    "HSET foreign-hash a {}",
    "ZADD {foreign}z 1 x",
    "HSET rank:data:{foreign} :x {}",
    "RPUSH rank:other:{plain} x",
    "HSET rank:data:{plain} a {}",
    "HSET rank:members:{spilled} a b",
    "HSET plain:data a {}",
];

/// What the calls before have stored.
#[derive(Default)]
struct Stored {
    keys: Vec<Vec<u8>>,
    /// Elements of all sorted sets, with their scores.
    elements: Vec<(Vec<u8>, Vec<u8>)>,
    /// Strings: most of them are limiters.
    texts: Vec<Vec<u8>>,
}

impl Stored {
    fn read(con: &mut Connection) -> Stored {
        let foreign = foreign_keys();
        let keys = all_keys(con).into_iter().filter(|key| !foreign.iter().any(|it| it.as_bytes() == key));
        let mut stored = Stored { keys: keys.collect(), ..Stored::default() };
        for key in &stored.keys {
            let command = |name: &'static [u8]| -> Vec<&[u8]> { vec![name, key] };
            if let Ok(text @ Value::BulkString(_)) = cmdv(con, &command(b"GET")) {
                stored.texts.push(bytes(&text));
            }
            let range = [command(b"ZRANGE").as_slice(), &[b"0", b"30", b"WITHSCORES"]].concat();
            if let Ok(elements) = cmdv(con, &range) {
                stored.elements.extend(items(&elements).chunks(2).map(|pair| (bytes(&pair[0]), bytes(&pair[1]))));
            }
        }
        stored
    }

    /// A core command that does what no command of the module would.
    fn tamper(&self, dice: &mut Dice) -> Vec<Vec<u8>> {
        let one = |dice: &mut Dice| self.keys[dice.roll(self.keys.len())].clone();
        let (key, other) = (one(dice), one(dice));
        let (mut element, mut score) = self.elements[dice.roll(self.elements.len())].clone();
        let mut text = self.texts[dice.roll(self.texts.len())].clone();
        for part in [&mut element, &mut text] {
            if dice.once_in(2) {
                change(part, dice);
            }
        }
        if dice.once_in(3) {
            score = self.elements[dice.roll(self.elements.len())].1.clone();
        } else if dice.once_in(4) {
            let near = String::from_utf8_lossy(&score).parse().unwrap_or(0.0_f64);
            let near = [near.next_up(), -near, near + 0.5, f64::INFINITY, f64::NEG_INFINITY, 1e300][dice.roll(6)];
            score = near.to_string().into_bytes();
        }
        let rank = (dice.roll(8) as i64 - 4).to_string().into_bytes();
        let place = dice.roll(40).to_string().into_bytes();
        let words: &[&[u8]] = match dice.roll(18) {
            0..=5 => &[b"ZADD", &key, &score, &element],
            6 => &[b"ZREM", &key, &element],
            7 => &[b"ZINCRBY", &key, &score, &element],
            8 => &[b"ZREMRANGEBYRANK", &key, &rank, &rank],
            9 => &[b"ZUNIONSTORE", &key, b"2", &key, &other, b"AGGREGATE", [b"SUM", b"MIN", b"MAX"][dice.roll(3)]],
            10 => &[b"SET", &key, &text],
            11 | 12 => &[b"SETRANGE", &key, &place, &text[text.len().saturating_sub(3)..]],
            13 => &[b"HSET", &key, &element, &text],
            14 => &[b"HDEL", &key, &element],
            15 => &[b"COPY", &key, &other, b"REPLACE"],
            16 => &[b"RENAME", &key, &other],
            _ => &[b"DEL", &key],
        };
        words.iter().map(|word| word.to_vec()).collect()
    }
}

/// Changes, removes or adds a few bytes.
fn change(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..1 + dice.roll(3) {
        let at = dice.roll(bytes.len() + 1);
        let byte = match dice.roll(3) {
            0 => u8::try_from(dice.roll(256)).expect("a byte"),
            1 => bytes.get(dice.roll(bytes.len() + 1)).copied().unwrap_or(0),
            _ => b"0123456789abcdefghijklmnopqrstuvwxyz +/"[dice.roll(39)],
        };
        match dice.roll(3) {
            _ if at == bytes.len() => bytes.push(byte),
            0 => drop(bytes.remove(at)),
            1 => bytes.insert(at, byte),
            _ => bytes[at] = byte,
        }
    }
}

fn foreign_keys() -> Vec<&'static str> {
    FOREIGN.iter().map(|command| command.split(' ').nth(1).expect("a key")).collect()
}

fn setting(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

on_every_server! {
    fn no_call_and_no_tampering_ends_the_server_or_reaches_another_key(server: Server) {
        let mut con = server.connect();
        let seed = setting("RANK_FUZZ_SEED").unwrap_or(6);
        let calls = setting("RANK_FUZZ_CALLS").unwrap_or(CALLS);
        let mut generator = generator(&mut con);
        generator.garbled = 4;
        let foreign = |con: &mut Connection| -> Vec<String> {
            foreign_keys().iter().map(|key| reply(con, &format!("DUMP {key}"))).collect()
        };
        let mut flood = Flood::connect(&server);
        let (mut sent, mut chapter) = (0, seed.wrapping_mul(1_000_003));
        while calls == 0 || sent < calls {
            // The number of a chapter alone repeats it.
            chapter += 1;
            let mut dice = Dice::new(chapter);
            begin_chapter(&mut generator, &mut con);
            for command in FOREIGN {
                reply(&mut con, command);
            }
            let before = foreign(&mut con);
            assert!(!before.iter().any(|dump| dump == "nil"), "{before:?}");
            let (mut history, mut lives) = (Vec::new(), true);
            let mut stored = None;
            for number in 0..FILLING + TAMPERING {
                if number == FILLING {
                    lives = lives && flood.flush();
                    stored = lives.then(|| Stored::read(&mut con));
                }
                let args = match &stored {
                    Some(stored) if dice.once_in(6) => stored.tamper(&mut dice),
                    _ => without_waiting(&generator.call(&mut dice)),
                };
                lives = lives && flood.send(&args);
                history.push(args);
            }
            sent += FILLING + TAMPERING;
            if !(lives && flood.flush()) {
                let shown = |args: &Vec<Vec<u8>>| args.iter().map(|arg| format!("\"{}\"", arg.escape_ascii())).collect::<Vec<_>>().join(" ");
                let path = env::temp_dir().join(format!("rank-fuzz-{chapter}.txt"));
                std::fs::write(&path, history.iter().map(shown).collect::<Vec<_>>().join("\n")).expect("a file");
                panic!("the server is gone or hangs, chapter {chapter}: its calls are in {}", path.display());
            }
            assert_eq!(foreign(&mut con), before, "chapter {chapter} reached another key");
            if calls == 0 && chapter.is_multiple_of(1000) {
                println!("{sent} calls");
            }
        }
        assert!(!server.log().contains("panicked at"), "a handler panicked: {}", server.log());
        // It reached what it was written for: damage was met, and every command did its work nevertheless.
        let count = |field| server.info(field).parse::<u64>().expect("a count");
        assert!(count("rank_damaged") > sent / 1000, "damage was met {} times", count("rank_damaged"));
        for name in generator.commands() {
            let stats = server.info(&format!("cmdstat_{name}"));
            let number = |field: &str| -> u64 {
                let value = stats.split(',').find_map(|part| part.strip_prefix(field)?.strip_prefix('='));
                value.expect("a count").parse().expect("a number")
            };
            let (calls, failed) = (number("calls"), number("failed_calls"));
            assert!(calls > failed, "{name}: {calls} calls, of which {failed} failed");
        }
    }
}
