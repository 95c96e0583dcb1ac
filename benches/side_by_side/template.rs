//! Jobs with blanks: a command, or several with ` ; ` between them. Words are separated by spaces; one may end in a blank
//! such as `$member`. `@name` is the digest of a script.
//!
//! A value depends on the job's number alone, so that job 17 of one side asks for the same as job 17 of the other.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

const DAY_MS: u64 = 86_400_000;
const TEN_MINUTES_MS: u64 = 600_000;
const LEASE_MS: u64 = 30_000;
const LEASE_EPOCH_MS: u64 = 1_577_836_800_000;

/// What blanks are filled from.
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

    fn now(&self, number: u64) -> u64 {
        self.start_ms + number / 1000
    }

    fn tomorrow(&self, number: u64) -> u64 {
        self.start_ms + DAY_MS + number
    }

    /// The token of an item claimed at that time, by the first attempt, with serial number 0.
    fn token(&self, number: u64) -> u64 {
        (self.tomorrow(number) + LEASE_MS - LEASE_EPOCH_MS) << 11 | 1
    }
}

/// From the job's number and a random number.
type Value = fn(&Source, u64, u64) -> u64;

/// Each with what comes before its value.
const BLANKS: &[(&str, &str, Value)] = &[
    // The members one by one, and a random one.
    ("each", "player:", |source, number, _| number % source.members),
    ("member", "player:", |source, _, random| random % source.members),
    ("stranger", "player:", |_, _, random| random % 1_000_000),
    // Scores: mostly distinct; a thousand of them; and how many bits they need.
    ("score", "", |_, _, random| random % 1_000_000_000),
    ("tied", "", |_, _, random| random % 1000),
    ("low", "", |_, _, random| random % 100_000),
    ("points", "", |_, _, random| random % 1_000_000),
    ("bits20", "", |_, _, random| random >> 44),
    ("wide", "", |_, _, random| random >> 1),
    ("delta", "", |_, _, random| 1 + random % 1000),
    // Parts of names of keys: a random one of 20,000, and a thousand one by one.
    ("key", "", |_, _, random| random % 20_000),
    ("slot", "", |_, number, _| number % 1000),
    ("number", "", |_, number, _| number),
    // Unix milliseconds that advance once for a thousand jobs, and ten minutes before that.
    ("now", "", |source, number, _| source.now(number)),
    ("ago", "", |source, number, _| source.now(number) - TEN_MINUTES_MS),
    // Unix milliseconds of tomorrow, one more for each job.
    ("tick", "", |source, number, _| source.tomorrow(number)),
    ("token", "", |source, number, _| source.token(number)),
    // Minus the score of the item that has this token.
    ("claim", "", |source, number, _| (1 << 53) - 2 * source.token(number)),
];

/// Random bits that are a function of their place (splitmix64).
pub fn random(number: u64, stream: u64) -> u64 {
    let mut x = number.wrapping_add(stream << 40).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

enum Word {
    Fixed(String),
    /// What comes before it, its value, and the stream of its random numbers.
    Blank(String, Value, u64),
}

/// A job whose blanks are still to be filled.
pub struct Template {
    commands: Vec<Vec<Word>>,
}

/// Commands that are sent at once, and how many replies they get.
pub struct Batch {
    pub bytes: Vec<u8>,
    pub replies: u64,
}

impl Template {
    pub fn new(text: &str, source: &Source) -> Template {
        let command = |command: &str| {
            let mut seen: HashMap<&str, u64> = HashMap::new();
            command.split_whitespace().map(|word| Word::new(word, source, &mut seen)).collect()
        };
        Template { commands: text.split(" ; ").map(command).collect() }
    }

    /// Appends the job with this number.
    fn write(&self, source: &Source, number: u64, out: &mut Vec<u8>) {
        for words in &self.commands {
            let mut command = redis::Cmd::new();
            for word in words {
                match word {
                    Word::Fixed(text) => command.arg(text),
                    Word::Blank(prefix, value, stream) => {
                        command.arg(format!("{prefix}{}", value(source, number, random(number, *stream))))
                    }
                };
            }
            out.extend(command.get_packed_command());
        }
    }

    /// The jobs with these numbers, so many at once.
    pub fn batches<'a>(
        &'a self,
        source: &'a Source,
        numbers: Range<u64>,
        size: u64,
    ) -> impl Iterator<Item = Batch> + 'a {
        numbers.clone().step_by(size as usize).map(move |first| {
            let last = numbers.end.min(first + size);
            let mut bytes = Vec::new();
            (first..last).for_each(|number| self.write(source, number, &mut bytes));
            Batch { bytes, replies: (last - first) * self.commands.len() as u64 }
        })
    }
}

impl Word {
    /// `seen` counts the blanks of one command by their names: each has random numbers of its own.
    fn new<'a>(word: &'a str, source: &Source, seen: &mut HashMap<&'a str, u64>) -> Word {
        if let Some(script) = word.strip_prefix('@') {
            return Word::Fixed(source.digests[script].clone());
        }
        let Some((before, name)) = word.split_once('$') else { return Word::Fixed(word.into()) };
        let found = BLANKS.iter().position(|(known, ..)| *known == name);
        let place = found.unwrap_or_else(|| panic!("there is no blank ${name}"));
        let (_, prefix, value) = BLANKS[place];
        let nth = seen.entry(name).or_default();
        *nth += 1;
        Word::Blank(format!("{before}{prefix}"), value, (place as u64) << 8 | (*nth & 0xff))
    }
}
