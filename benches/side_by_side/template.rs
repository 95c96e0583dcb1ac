//! Commands with blanks. The words of a template are separated by spaces; a word may end in a blank:
//!
//! | blank | value |
//! |---|---|
//! | `$each` | the members one by one |
//! | `$member` | a random one of them |
//! | `$stranger` | a random one of a million names |
//! | `$score` | a random integer below 10^9: mostly distinct |
//! | `$tied` | a random integer below 1000 |
//! | `$delta` | a random integer, 1 to 1000 |
//! | `$bits20` | a random integer of 20 bits |
//! | `$key` | a random one of 100,000 numbers |
//! | `$slot` | the numbers below 1000, one by one |
//! | `$number` | the command's number |
//! | `$now` | Unix milliseconds, one more for each thousand commands |
//! | `$tick` | Unix milliseconds of tomorrow, one more for each command |
//! | `@name` | the digest of a script |
//!
//! A value depends on the command's number alone, not on the order of the words, so that command 17
//! of one side asks for the same as command 17 of the other.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::client::Load;

const MEMBER: &str = "player:";
const STRANGERS: u64 = 1_000_000;
const A_DAY_MS: u64 = 86_400_000;

/// What blanks are filled from.
#[derive(Clone)]
pub struct Source {
    pub members: u64,
    pub digests: HashMap<&'static str, String>,
    start_ms: u64,
}

impl Source {
    pub fn new(members: u64) -> Source {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock past 1970");
        Source { members, digests: HashMap::new(), start_ms: since_epoch.as_millis() as u64 }
    }
}

#[derive(Clone, Copy)]
enum Blank {
    Each,
    Member,
    Stranger,
    Score,
    Tied,
    Delta,
    Bits20,
    Key,
    Slot,
    Number,
    Now,
    Tick,
}

impl Blank {
    fn named(name: &str) -> Blank {
        match name {
            "each" => Blank::Each,
            "member" => Blank::Member,
            "stranger" => Blank::Stranger,
            "score" => Blank::Score,
            "tied" => Blank::Tied,
            "delta" => Blank::Delta,
            "bits20" => Blank::Bits20,
            "key" => Blank::Key,
            "slot" => Blank::Slot,
            "number" => Blank::Number,
            "now" => Blank::Now,
            "tick" => Blank::Tick,
            _ => panic!("no blank is called ${name}"),
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Blank::Each | Blank::Member | Blank::Stranger => MEMBER,
            _ => "",
        }
    }

    /// `nth` tells apart the blanks of one kind in one command.
    fn value(self, source: &Source, number: u64, nth: u64) -> u64 {
        let random = random(number, (self as u64) << 8 | nth);
        match self {
            Blank::Each => number % source.members,
            Blank::Member => random % source.members,
            Blank::Stranger => random % STRANGERS,
            Blank::Score => random % 1_000_000_000,
            Blank::Tied => random % 1000,
            Blank::Delta => 1 + random % 1000,
            Blank::Bits20 => random % (1 << 20),
            Blank::Key => random % 100_000,
            Blank::Slot => number % 1000,
            Blank::Number => number,
            Blank::Now => source.start_ms + number / 1000,
            Blank::Tick => source.start_ms + A_DAY_MS + number,
        }
    }
}

/// Random bits that are a function of their place: xorshift between multiplications (splitmix64).
fn random(number: u64, stream: u64) -> u64 {
    let mut x = number.wrapping_add(stream << 40).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

enum Word {
    /// As it goes over the wire.
    Fixed(Vec<u8>),
    Filled {
        prefix: String,
        blank: Blank,
        nth: u64,
    },
}

/// A command whose blanks are still to be filled.
pub struct Template {
    head: Vec<u8>,
    words: Vec<Word>,
}

impl Template {
    pub fn new(text: &str, source: &Source) -> Template {
        let mut seen: HashMap<&str, u64> = HashMap::new();
        let words: Vec<Word> = text
            .split_whitespace()
            .map(|word| {
                if let Some(script) = word.strip_prefix('@') {
                    return Word::Fixed(bulk(&source.digests[script]));
                }
                let Some((prefix, name)) = word.split_once('$') else { return Word::Fixed(bulk(word)) };
                let blank = Blank::named(name);
                let count = seen.entry(name).or_default();
                *count += 1;
                Word::Filled { prefix: format!("{prefix}{}", blank.prefix()), blank, nth: *count }
            })
            .collect();
        Template { head: format!("*{}\r\n", words.len()).into_bytes(), words }
    }

    /// Appends the command with this number.
    pub fn write(&self, source: &Source, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        let mut digits = itoa::Buffer::new();
        let mut length = itoa::Buffer::new();
        for word in &self.words {
            match word {
                Word::Fixed(bytes) => out.extend_from_slice(bytes),
                Word::Filled { prefix, blank, nth } => {
                    let value = digits.format(blank.value(source, number, *nth));
                    out.push(b'$');
                    out.extend_from_slice(length.format(prefix.len() + value.len()).as_bytes());
                    for part in ["\r\n", prefix, value, "\r\n"] {
                        out.extend_from_slice(part.as_bytes());
                    }
                }
            }
        }
    }

    pub fn command(&self, source: &Source, number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(source, number, &mut bytes);
        bytes
    }

    /// Commands ready to be sent, so many at once.
    pub fn load(&self, source: &Source, numbers: std::ops::Range<u64>, pipeline: u64) -> Load {
        let mut load = Load::default();
        let mut first = numbers.start;
        while first < numbers.end {
            let last = numbers.end.min(first + pipeline);
            load.push(last - first, |bytes| (first..last).for_each(|number| self.write(source, number, bytes)));
            first = last;
        }
        load
    }
}

fn bulk(word: &str) -> Vec<u8> {
    format!("${}\r\n{word}\r\n", word.len()).into_bytes()
}
