//! Jobs with blanks: a command, or several with ` ; ` between them. Words are separated by spaces; one may end in a blank:
//!
//! | blank | value |
//! |---|---|
//! | `$each` | the members one by one |
//! | `$member` | a random one of them |
//! | `$stranger` | a random one of a million names |
//! | `$score` | a random integer below 10^9: mostly distinct |
//! | `$tied` | a random integer below 1000 |
//! | `$low` | a random integer below 100,000 |
//! | `$points` | a random integer below 1,000,000 |
//! | `$wide` | a random integer of 63 bits |
//! | `$delta` | a random integer, 1 to 1000 |
//! | `$bits20` | a random integer of 20 bits |
//! | `$key` | a random one of 100,000 numbers |
//! | `$slot` | the numbers below 1000, one by one |
//! | `$number` | the job's number |
//! | `$now` | Unix milliseconds, one more for each thousand jobs |
//! | `$ago` | ten minutes before that |
//! | `$tick` | Unix milliseconds of tomorrow, one more for each job |
//! | `$claim` | minus the score of an item that was claimed at that time, with a lease of 30 seconds and serial number 0 |
//! | `$token` | the token of that claim |
//! | `@name` | the digest of a script |
//!
//! A value depends on the job's number alone, not on the order of the words, so that job 17 of one side asks for the same
//! as job 17 of the other, and so does each command of it.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::client::Load;

const MEMBER: &str = "player:";
const STRANGERS: u64 = 1_000_000;
const A_DAY_MS: u64 = 86_400_000;
const TEN_MINUTES_MS: u64 = 600_000;
const LEASE_MS: u64 = 30_000;
const LEASE_EPOCH_MS: u64 = 1_577_836_800_000;

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

    fn tick(&self, number: u64) -> u64 {
        self.start_ms + A_DAY_MS + number
    }

    /// Of attempt 1, with serial number 0.
    fn token(&self, number: u64) -> u64 {
        (self.tick(number) + LEASE_MS - LEASE_EPOCH_MS) << 11 | 1
    }
}

#[derive(Clone, Copy)]
enum Blank {
    Each,
    Member,
    Stranger,
    Score,
    Tied,
    Low,
    Points,
    Wide,
    Delta,
    Bits20,
    Key,
    Slot,
    Number,
    Now,
    Ago,
    Tick,
    Claim,
    Token,
}

impl Blank {
    fn named(name: &str) -> Blank {
        match name {
            "each" => Blank::Each,
            "member" => Blank::Member,
            "stranger" => Blank::Stranger,
            "score" => Blank::Score,
            "tied" => Blank::Tied,
            "low" => Blank::Low,
            "points" => Blank::Points,
            "wide" => Blank::Wide,
            "delta" => Blank::Delta,
            "bits20" => Blank::Bits20,
            "key" => Blank::Key,
            "slot" => Blank::Slot,
            "number" => Blank::Number,
            "now" => Blank::Now,
            "ago" => Blank::Ago,
            "tick" => Blank::Tick,
            "claim" => Blank::Claim,
            "token" => Blank::Token,
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
            Blank::Low => random % 100_000,
            Blank::Points => random % 1_000_000,
            Blank::Wide => random >> 1,
            Blank::Delta => 1 + random % 1000,
            Blank::Bits20 => random % (1 << 20),
            Blank::Key => random % 100_000,
            Blank::Slot => number % 1000,
            Blank::Number => number,
            Blank::Now => source.start_ms + number / 1000,
            Blank::Ago => source.start_ms + number / 1000 - TEN_MINUTES_MS,
            Blank::Tick => source.tick(number),
            Blank::Claim => (1 << 53) - 2 * source.token(number),
            Blank::Token => source.token(number),
        }
    }
}

/// Random bits that are a function of their place: xorshift between multiplications (splitmix64).
pub fn random(number: u64, stream: u64) -> u64 {
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

/// A job whose blanks are still to be filled.
pub struct Template {
    words: Vec<Word>,
    /// How many commands it has, and so replies.
    pub commands: u64,
}

/// How jobs go over the wire.
#[derive(Clone, Copy)]
pub struct Pacing {
    /// Jobs sent at once.
    pub batch: u64,
    /// Batches on their way.
    pub in_flight: usize,
}

impl Pacing {
    pub const ONE_BY_ONE: Pacing = Pacing { batch: 1, in_flight: 1 };

    /// The server has the next batch at hand when it is done with one.
    pub const fn pipelined(batch: u64) -> Pacing {
        Pacing { batch, in_flight: 2 }
    }
}

impl Template {
    pub fn new(text: &str, source: &Source) -> Template {
        let mut template = Template { words: Vec::new(), commands: 0 };
        for command in text.split(" ; ") {
            let count = command.split_whitespace().count();
            template.words.push(Word::Fixed(format!("*{count}\r\n").into_bytes()));
            template.commands += 1;
            let mut seen: HashMap<&str, u64> = HashMap::new();
            for word in command.split_whitespace() {
                let word = if let Some(script) = word.strip_prefix('@') {
                    Word::Fixed(bulk(&source.digests[script]))
                } else if let Some((prefix, name)) = word.split_once('$') {
                    let blank = Blank::named(name);
                    let count = seen.entry(name).or_default();
                    *count += 1;
                    Word::Filled { prefix: format!("{prefix}{}", blank.prefix()), blank, nth: *count }
                } else {
                    Word::Fixed(bulk(word))
                };
                template.words.push(word);
            }
        }
        template
    }

    /// Appends the job with this number.
    pub fn write(&self, source: &Source, number: u64, out: &mut Vec<u8>) {
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

    /// Jobs ready to be sent.
    pub fn load(&self, source: &Source, numbers: std::ops::Range<u64>, pacing: Pacing) -> Load {
        let mut load = Load::new(numbers.end - numbers.start, pacing.in_flight);
        let mut first = numbers.start;
        while first < numbers.end {
            let last = numbers.end.min(first + pacing.batch);
            let replies = (last - first) * self.commands;
            load.push(replies, |bytes| (first..last).for_each(|number| self.write(source, number, bytes)));
            first = last;
        }
        load
    }
}

fn bulk(word: &str) -> Vec<u8> {
    format!("${}\r\n{word}\r\n", word.len()).into_bytes()
}
