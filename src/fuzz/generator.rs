//! Random calls whose words, options and shapes are those that the commands' own documentation gives. So a new option is
//! among them as soon as it is documented.
//!
//! This file uses nothing of the crate: the integration tests include it too, and read the documentation from a server
//! (`COMMAND DOCS`).

/// Where random numbers come from: a seed, or the bytes of a fuzzer.
pub trait Random {
    /// 0 … bound − 1. Zero is the plainest choice, so that a fuzzer whose bytes have run out ends soon.
    fn below(&mut self, bound: usize) -> usize;

    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) + 1 == times
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// What may be written, as the documentation says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    Token(String),
    Value(String, Kind),
    Choice(Vec<Shape>),
    Sequence(Vec<Shape>),
    Optional(Box<Shape>),
    Repeated(Box<Shape>),
}

/// What a value is, where its name says nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Key,
    Integer,
    Double,
    Time,
    Text,
}

impl Shape {
    /// An argument as servers and [`crate::docs`] describe it. A `token` precedes what it belongs to.
    pub fn argument(shape: Shape, token: Option<&str>, is_optional: bool, is_repeated: bool) -> Shape {
        let with_token = |shape| match token {
            Some(token) => Shape::Sequence(vec![Shape::Token(token.to_owned()), shape]),
            None => shape,
        };
        let shape = with_token(shape);
        let shape = if is_repeated { Shape::Repeated(Box::new(shape)) } else { shape };
        if is_optional {
            Shape::Optional(Box::new(shape))
        } else {
            shape
        }
    }

    fn begins_with(&self, token: &str) -> bool {
        match self {
            Shape::Token(own) => own == token,
            Shape::Sequence(parts) => parts.first().is_some_and(|part| part.begins_with(token)),
            _ => false,
        }
    }

    fn visit_tokens<'s>(&'s self, visit: &mut dyn FnMut(&'s str)) {
        match self {
            Shape::Token(token) => visit(token),
            Shape::Value(..) => {}
            Shape::Choice(parts) | Shape::Sequence(parts) => parts.iter().for_each(|part| part.visit_tokens(visit)),
            Shape::Optional(part) | Shape::Repeated(part) => part.visit_tokens(visit),
        }
    }
}

/// A board of the [`SET_UP`].
struct Board {
    name: &'static str,
    fields: usize,
    /// Scores that it takes beside small natural numbers.
    scores: &'static [&'static str],
}

const FLOATS: &[&str] = &["0.5", "-1.25", "0.1234567", "1e300", "-0"];
const INTEGERS: &[&str] = &["-7", "100000", "9000000000000000000", "-9223372036854775808", "9007199254740993"];

const BOARDS: &[Board] = &[
    Board { name: "bare", fields: 1, scores: FLOATS },
    Board { name: "plain", fields: 1, scores: FLOATS },
    Board { name: "bounded", fields: 1, scores: FLOATS },
    Board { name: "packed", fields: 2, scores: &["999", "007"] },
    Board { name: "timed", fields: 1, scores: &["-50", "50"] },
    Board { name: "wide", fields: 2, scores: &["1073741823"] },
    Board { name: "spilled", fields: 2, scores: INTEGERS },
    Board { name: "late", fields: 2, scores: &["12", "9007199254740991"] },
    Board { name: "joined", fields: 1, scores: INTEGERS },
    Board { name: "long", fields: 3, scores: INTEGERS },
    Board { name: "seasons", fields: 1, scores: FLOATS },
    Board { name: "terms", fields: 2, scores: INTEGERS },
    Board { name: "spare", fields: 2, scores: INTEGERS },
];

/// Makes what [`BOARDS`] and the other keys name. `@` stands for the prefix of keys.
pub const SET_UP: &[&str] = &[
    "RANK.ADD @bare 1 m1 2 m2 2 m3",
    "RANK.CREATE @plain DATA @players",
    "RANK.CREATE @bounded KEEP 3 DATA @bounded.data OWNED",
    "RANK.CREATE @packed FIELD a DIGITS 3 FIELD b ASC DIGITS 3 DATA @players",
    "RANK.CREATE @timed FIELD a RANGE -50 50 TIES FIRST S SINCE 1699999200000",
    "RANK.CREATE @wide FIELD a BITS 30 FIELD b BITS 30 DATA @wide.data OWNED",
    "RANK.CREATE @spilled FIELD a INT FIELD b ASC INT DATA @spilled.data OWNED",
    "RANK.CREATE @late FIELD a FLOAT FIELD b INT TIES LAST KEEP 4 UPDATE BEST DATA @players SINCE 1699999200000",
    "RANK.CREATE @joined FIELD a ASC INT TIES JOINED SINCE 1699999200000",
    "RANK.CREATE @long FIELD a INT FIELD b ASC FLOAT FIELD c INT TIES FIRST SINCE 1699999200000",
    "RANK.CREATE @seasons UPDATE BEST DATA @players PERIOD HOUR @seasons:hour: PERIOD DAY @seasons:day: PAST 2 \
     PERIOD EVERY 14d FROM 1699920000000 @seasons:season: OFFSET +01:00",
    "RANK.CREATE @terms FIELD a INT FIELD b INT TIES LAST KEEP 5 PERIOD WEEK @terms:week: PERIOD MONTH @terms:month: \
     PERIOD YEAR @terms:year: PAST 3 SINCE 1699999200000",
    "RANK.ADD @plain DATA {\"n\":1} 5 m1",
    "RANK.ADD @spilled 1 2 m1 9000000000000000000 9000000000000000000 m2 3 -4 m3",
    "RANK.ADD @terms AT 1700000000000 1 2 m1 3 4 m2",
    "RANK.ADD @seasons AT 1700000000000 1 m1 3 m2",
    "DUE.ADD @due0 AT 1700000000000 i1 i2",
    // Enough debt for later calls to be denied.
    "RATE.CHECK @text2 1000/1h 1000/2d 1000/366d GCRA FORCE COST 2000",
];

/// Of limiters, leases and schedules there are so many each.
const COPIES: usize = 3;

/// Keys of other types, and names that are odd.
pub const STRANGE_KEYS: &[&[u8]] =
    &[b"string", b"list", b"set", b"stream", b"none", b"", b"a}b", b"{}x", b"\0\xff%s%n"];

/// What an argument may be, whatever belongs there.
const ODD_WORDS: &[&[u8]] = &[
    b"",
    b"0",
    b"-1",
    b"+4",
    b"007",
    b"1.5",
    b"-0",
    b"1e",
    b"1e308",
    b"5e-324",
    b"1e400",
    b"inf",
    b"-inf",
    b"nan",
    b"0x10",
    b"(5",
    b"(-inf",
    b"(",
    b"*",
    b"62",
    b"63",
    b"1024",
    b"4294967296",
    b"4503599627370497",
    b"9007199254740992",
    b"9007199254740993",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"9223372036854775808",
    b"18446744073709551615",
    b"99999999999999999999999",
    b"1700000000000",
    b"366d",
    b"367d",
    b"0ms",
    b"1/day",
    b"1000000000/366d/1000000000",
    b"+24:00",
    b"2023-11-14",
    b"{}",
    b"{\"k\":[1,null,{}]}",
    b"[1]",
    b"\n",
    b"\0",
    b"\x01",
    b"\x01\0a",
    b"\x02",
    b"\x02\x01\0b",
    b"\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfec",
    b"\0rank ",
    b"\0rank 2 FIELD a DESC INT",
    b"\xff\xfe",
    b"\x7f\xc3\xa9",
    b"%s%n%p",
    b"a\r\nb",
];

/// A call, and which of the documented tokens it has.
pub struct Call {
    /// The name of the command comes first.
    pub args: Vec<Vec<u8>>,
    pub tokens: Vec<String>,
    /// Whether words were changed afterwards.
    pub is_garbled: bool,
}

impl Call {
    pub fn command(&self) -> &str {
        std::str::from_utf8(&self.args[0]).unwrap_or_default()
    }

    /// The command, and the command with each of its tokens, as [`Generator::options`] lists them; nothing for a call
    /// whose words are not what they were.
    pub fn options(&self) -> impl Iterator<Item = String> + '_ {
        let name = (!self.is_garbled).then(|| self.command().to_owned());
        let tokens = self.tokens.iter().filter(|_| !self.is_garbled);
        name.into_iter().chain(tokens.map(|token| format!("{} {token}", self.command())))
    }

    /// As one types it.
    pub fn text(&self) -> String {
        let shown = |arg: &Vec<u8>| match arg.iter().all(|byte| byte.is_ascii_graphic()) && !arg.is_empty() {
            true => String::from_utf8_lossy(arg).into_owned(),
            false => format!("\"{}\"", arg.escape_ascii()),
        };
        self.args.iter().map(shown).collect::<Vec<_>>().join(" ")
    }
}

/// What makes calls.
pub struct Generator {
    commands: Vec<(String, Shape)>,
    /// All tokens of all commands.
    words: Vec<String>,
    /// In front of every key.
    pub prefix: String,
    /// Times are near this one, in milliseconds.
    pub now: i64,
    /// One call in so many is garbled, and one value in ten times as many is odd; 0: none.
    pub garbled: usize,
    /// Nothing expires or ends within the next hour, so that two servers can be compared at leisure.
    pub is_lasting: bool,
    /// Keys, items (none for a lease) and tokens of what was handed out last.
    held: Vec<(Vec<u8>, Vec<u8>, i64)>,
}

/// So many claims and leases are remembered.
const MOST_HELD: usize = 40;

impl Generator {
    pub fn new(commands: Vec<(String, Shape)>) -> Generator {
        let mut words: Vec<String> = Vec::new();
        for (_, shape) in &commands {
            shape.visit_tokens(&mut |token| words.push(token.to_owned()));
        }
        words.sort();
        words.dedup();
        Generator {
            commands,
            words,
            prefix: String::new(),
            now: 1_700_000_000_000,
            garbled: 3,
            is_lasting: false,
            held: Vec::new(),
        }
    }

    /// Every command with every token of it, as `name TOKEN`: what a long run must have reached.
    pub fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        for (name, shape) in &self.commands {
            options.push(name.clone());
            shape.visit_tokens(&mut |token| options.push(format!("{name} {token}")));
        }
        options.sort();
        options.dedup();
        options
    }

    /// What makes the keys that calls name, as one types it.
    pub fn set_up(&self) -> impl Iterator<Item = String> + '_ {
        SET_UP.iter().map(|line| line.replace('@', &self.prefix))
    }

    /// An item was claimed, or a lease acquired (then without an item): later calls give it back.
    pub fn hold(&mut self, key: &[u8], item: &[u8], token: i64) {
        if self.held.len() >= MOST_HELD {
            self.held.remove(0);
        }
        self.held.push((key.to_vec(), item.to_vec(), token));
    }

    /// Whether this item was claimed, and nobody is known to have given it back.
    pub fn is_held(&self, key: &[u8], item: &[u8]) -> bool {
        self.held.iter().any(|(in_key, held, _)| in_key == key && held == item)
    }

    /// Nothing is claimed or leased any more.
    pub fn forget(&mut self) {
        self.held.clear();
    }

    /// The boards that [`Generator::set_up`] makes.
    pub fn boards(&self) -> impl Iterator<Item = String> + '_ {
        BOARDS.iter().filter(|board| board.name != "spare").map(|board| format!("{}{}", self.prefix, board.name))
    }

    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().map(|(name, _)| name.as_str())
    }

    /// Leaves out all other commands.
    pub fn only(&mut self, mut is_wanted: impl FnMut(&str) -> bool) {
        self.commands.retain(|(name, _)| is_wanted(name));
    }

    /// A call of any command.
    pub fn call(&self, random: &mut impl Random) -> Call {
        let at = random.below(self.commands.len());
        self.call_of(at, random)
    }

    /// A call of the command with this number.
    pub fn call_of(&self, command: usize, random: &mut impl Random) -> Call {
        let (name, shape) = &self.commands[command];
        let mut writer = Writer {
            generator: self,
            random,
            command: name,
            board: None,
            fields: 1,
            repeats: None,
            counted: None,
            algorithm: "",
            held: None,
            call: Call { args: vec![name.clone().into_bytes()], tokens: Vec::new(), is_garbled: false },
        };
        // Calendar windows end at their own time.
        writer.algorithm = writer.random.pick(&ALGORITHMS[..ALGORITHMS.len() - usize::from(self.is_lasting)]);
        writer.write(shape);
        let mut call = writer.call;
        if self.garbled > 0 && random.once_in(self.garbled) {
            self.garble(&mut call, random);
        }
        call
    }

    /// Changes, removes, adds and doubles a few words.
    fn garble(&self, call: &mut Call, random: &mut impl Random) {
        call.is_garbled = true;
        for _ in 0..1 + random.below(3) {
            let at = 1 + random.below(call.args.len());
            let word = match random.below(3) {
                0 => random.pick(ODD_WORDS).to_vec(),
                1 => self.words[random.below(self.words.len())].clone().into_bytes(),
                _ => call.args[at % call.args.len()].to_ascii_lowercase(),
            };
            match random.below(5) {
                _ if at >= call.args.len() => call.args.push(word),
                0 => drop(call.args.remove(at)),
                1 => call.args.insert(at, call.args[at].clone()),
                2 => call.args.insert(at, word),
                3 if random.once_in(4) => call.args.truncate(at),
                _ => call.args[at] = word,
            }
        }
        if random.once_in(200) {
            let last = call.args.last().cloned().unwrap_or_default();
            call.args.extend(std::iter::repeat_n(last, 100));
        }
    }
}

const ALGORITHMS: &[&str] = &["SLIDING", "FIXED", "COUNTER", "GCRA", "CALENDAR"];

/// Writes one call.
struct Writer<'g, R> {
    generator: &'g Generator,
    random: &'g mut R,
    command: &'g str,
    board: Option<&'static Board>,
    /// How many scores a member has.
    fields: usize,
    /// A count that was written before what it counts.
    repeats: Option<usize>,
    /// How many keys there are, if each of them has a rule.
    counted: Option<usize>,
    /// The algorithm of a limiter, which other words have to suit.
    algorithm: &'static str,
    /// A claim whose item or token was written.
    held: Option<&'g (Vec<u8>, Vec<u8>, i64)>,
    call: Call,
}

impl<'g, R: Random> Writer<'g, R> {
    fn write(&mut self, shape: &'g Shape) {
        match shape {
            Shape::Token(token) => {
                self.call.tokens.push(token.clone());
                self.call.args.push(token.clone().into_bytes());
            }
            Shape::Value(name, kind) => {
                let is_odd = self.generator.garbled > 0 && self.random.once_in(self.generator.garbled * 10);
                let value = if is_odd { self.random.pick(ODD_WORDS).to_vec() } else { self.value(name, *kind) };
                self.call.args.push(value);
            }
            Shape::Choice(parts) => {
                let at = match parts.iter().position(|part| part.begins_with(self.algorithm)) {
                    Some(at) => at,
                    None => self.random.below(parts.len()),
                };
                self.write(&parts[at]);
            }
            Shape::Sequence(parts) => self.sequence(parts),
            Shape::Optional(part) => {
                let is_wanted = match self.is_algorithm(part) {
                    true => self.algorithm != "SLIDING" || self.random.once_in(2),
                    false if matches!(self.command, "rank.create" | "rank.alter") => self.random.once_in(3),
                    false => self.random.once_in(4) && self.suits(part),
                };
                if is_wanted {
                    self.write(part);
                }
            }
            Shape::Repeated(part) => {
                let is_score = matches!(&**part, Shape::Value(name, _) if name == "score" || name == "delta");
                let times = match self.repeats.take().or_else(|| self.counted.take()) {
                    Some(times) => times,
                    None if is_score => self.fields,
                    None => self.random.pick(&[1, 1, 1, 1, 2, 2, 3, 6]),
                };
                for _ in 0..times {
                    self.write(part);
                }
            }
        }
    }

    fn is_algorithm(&self, option: &Shape) -> bool {
        match option {
            Shape::Choice(parts) => parts.iter().any(|part| part.begins_with(self.algorithm)),
            Shape::Value(name, _) => name == "algorithm",
            _ => false,
        }
    }

    /// Whether an option goes with the algorithm, or nothing is checked here.
    fn suits(&mut self, option: &Shape) -> bool {
        let is_limiter = self.command.starts_with("rate.");
        let suits = match option {
            _ if !is_limiter => true,
            option if option.begins_with("BURST") => self.algorithm == "GCRA",
            option if option.begins_with("OFFSET") => self.algorithm == "CALENDAR",
            option if option.begins_with("PENALTY") || option.begins_with("STAMP") => self.algorithm != "SLIDING",
            option if option.begins_with("WAIT") => self.algorithm == "GCRA",
            _ => true,
        };
        suits || (self.generator.garbled > 0 && self.random.once_in(10))
    }

    /// Options that follow each other may do so in any order.
    fn sequence(&mut self, parts: &'g [Shape]) {
        let mut order: Vec<&'g Shape> = parts.iter().collect();
        if self.random.once_in(3) {
            for at in 1..order.len() {
                let both = matches!((order[at - 1], order[at]), (Shape::Optional(_), Shape::Optional(_)));
                if both && self.random.once_in(2) {
                    order.swap(at - 1, at);
                }
            }
        }
        // Now and then a single option, and that for certain: some go with no other.
        let single = (order.len() > 1 && self.random.once_in(5)).then(|| self.random.below(order.len()));
        for (at, part) in order.into_iter().enumerate() {
            match (part, single) {
                (Shape::Optional(option), Some(single)) if at == single => self.write(option),
                (Shape::Optional(option), Some(_)) if !self.is_algorithm(option) => {}
                _ => self.write(part),
            }
        }
    }

    fn key(&self, name: &str) -> Vec<u8> {
        [&self.generator.prefix, name].concat().into_bytes()
    }

    fn one_of(&mut self, stem: &str) -> Vec<u8> {
        let number = self.random.below(COPIES);
        self.key(&format!("{stem}{number}"))
    }

    /// What the command is about.
    fn own_key(&mut self) -> Vec<u8> {
        if self.generator.garbled > 0 && self.random.once_in(30) {
            return self.random.pick(STRANGE_KEYS).to_vec();
        }
        match self.command {
            "rate.acquire" | "rate.renew" | "rate.release" | "rate.held" => {
                let key = self.one_of("lease");
                self.held = self.held_of(&key);
                key
            }
            "rate.reset" if self.random.once_in(4) => self.one_of("lease"),
            name if name.starts_with("rate.") => self.one_of(if self.algorithm == "SLIDING" { "log" } else { "text" }),
            // One that is not there yet, mostly.
            "rank.create" if !self.random.once_in(4) => {
                let number = self.random.below(40);
                self.key(&format!("new{number}"))
            }
            name if name.starts_with("cl.") => self.one_of("text"),
            name if name.starts_with("due.") => {
                let key = if self.random.once_in(20) { self.key("dead") } else { self.one_of("due") };
                self.held = self.held_of(&key);
                key
            }
            _ => self.board_key(),
        }
    }

    fn board_key(&mut self) -> Vec<u8> {
        if self.random.once_in(25) {
            // The board of a period, under its own name.
            let name =
                self.random.pick(&["seasons:day:2023-11-14", "seasons:hour:2023-11-14T23", "terms:week:2023-11-13"]);
            self.fields = if name.starts_with("terms") { 2 } else { 1 };
            return self.key(name);
        }
        let board = &BOARDS[self.random.below(BOARDS.len())];
        if self.board.is_none() {
            (self.board, self.fields) = (Some(board), board.fields);
        }
        if self.random.once_in(20) {
            return self.one_of("archive");
        }
        self.key(board.name)
    }

    fn held_of(&mut self, key: &[u8]) -> Option<&'g (Vec<u8>, Vec<u8>, i64)> {
        let held = &self.generator.held;
        let here: Vec<usize> = (0..held.len()).filter(|at| held[*at].0 == key).collect();
        (!here.is_empty()).then(|| &held[here[self.random.below(here.len())]])
    }

    fn number(&mut self, from: &[i64]) -> Vec<u8> {
        self.random.pick(from).to_string().into_bytes()
    }

    fn text(&mut self, from: &[&str]) -> Vec<u8> {
        self.random.pick(from).as_bytes().to_vec()
    }

    fn member(&mut self) -> Vec<u8> {
        match self.random.below(16) {
            15 => b"\x00\xff % {}".to_vec(),
            14 => b"\x01m1".to_vec(),
            number => format!("m{number}").into_bytes(),
        }
    }

    fn score(&mut self) -> Vec<u8> {
        let more = self.board.map_or(&[] as &[&str], |board| board.scores);
        match self.random.below(12) {
            11 if !more.is_empty() => self.text(more),
            10 if self.fields > 1 && matches!(self.command, "rank.add" | "rank.multiset") => b"*".to_vec(),
            _ => self.random.below(40).to_string().into_bytes(),
        }
    }

    fn json(&mut self) -> Vec<u8> {
        let (name, value) = (self.random.below(3), self.random.below(9));
        format!(r#"{{"a{name}":{value},"b":[true,null],"c":"x"}}"#).into_bytes()
    }

    /// A member as `RANK.LOAD` takes it.
    fn line(&mut self) -> Vec<u8> {
        let (member, score, time) = (self.random.below(12), self.random.below(40), self.generator.now);
        let names = ["a", "b", "c"];
        let scores: Vec<String> =
            names[..self.fields.min(3)].iter().map(|name| format!("\"{name}\":{score}")).collect();
        let scores = match self.fields {
            1 => format!(r#""score":{score}"#),
            _ => format!(r#""scores":{{{}}}"#, scores.join(",")),
        };
        let time =
            if self.random.once_in(2) { format!(r#","time":{}"#, time + score as i64 * 1000) } else { String::new() };
        let data =
            if self.random.once_in(4) { String::from_utf8_lossy(&self.json()).into_owned() } else { "null".into() };
        format!(r#"{{"member":"m{member}",{scores}{time},"data":{data}}}"#).into_bytes()
    }

    fn time(&mut self) -> Vec<u8> {
        let steps =
            [0, 0, 1, -1, 40, 1000, -1000, 61_000, 3_600_000, -86_400_000, 90_000_000, -2_000_000_000, 40_000_000_000];
        self.generator.now.saturating_add(self.random.pick(&steps)).max(0).to_string().into_bytes()
    }

    fn value(&mut self, name: &str, kind: Kind) -> Vec<u8> {
        const SMALL: &[i64] = &[0, 1, 2, 3, 5, 10];
        const COUNTS: &[i64] = &[1, 2, 3, 5, 9];
        match name {
            "key" => self.own_key(),
            "hash" if self.command.starts_with("due.") => self.key("texts"),
            "hash" if self.command == "rank.rotate" => {
                let number = self.random.below(40);
                self.key(&format!("archive.data{number}"))
            }
            "hash" => {
                let own = self.board.map_or("players", |board| board.name);
                let name = if self.random.once_in(2) { format!("{own}.data") } else { "players".into() };
                self.key(&name)
            }
            "other" => self.board_key(),
            "archive" => {
                let number = self.random.below(9);
                self.key(&format!("archive{number}"))
            }
            "dead" => self.key("dead"),
            "limiter" => self.one_of(if self.algorithm == "SLIDING" { "log" } else { "text" }),
            "item" => match self.held.take() {
                Some((_, item, _)) if !item.is_empty() => item.clone(),
                _ => format!("i{}", self.random.below(9)).into_bytes(),
            },
            "token" => match self.held {
                Some((_, _, token)) => token.to_string().into_bytes(),
                None => self.number(&[1, 2, 4_503_599_627_370_495]),
            },
            "member" => self.member(),
            "name" if self.command == "rank.create" => {
                let fields = self.call.tokens.iter().filter(|token| *token == "FIELD").count();
                format!("{}", char::from(b'a' + (fields % 26) as u8)).into_bytes()
            }
            "name" if self.command.starts_with("rank.shard") => self.text(&["game", "other game", "x"]),
            "name" => self.member(),
            "attr" => self.text(&["a0", "a1", "a2", "b"]),
            "text" | "value" => self.text(&["x", "", "{\"id\":1}", "\u{e9}"]),
            "json" => self.json(),
            "line" => self.line(),
            "score" | "delta" => self.score(),
            "min" => self.text(&["-inf", "0", "(3", "7", "1.5"]),
            "max" => self.text(&["inf", "+inf", "40", "(20", "7"]),
            "percentile" => self.text(&["0", "50", "99.9", "100"]),
            "fields" => self.fields.to_string().into_bytes(),
            "unit" | "period" | "noperiod" if !self.random.once_in(4) => match self.board.map(|board| board.name) {
                Some("seasons") => self.text(&["hour", "day", "every"]),
                _ => self.text(&["week", "month", "year"]),
            },
            "unit" | "period" | "noperiod" => self.text(&["hour", "day", "week", "month", "year", "every", "DAY"]),
            "index" => self.number(&[0, -1, -2]),
            "id" => self.text(&["2023-11-14", "2023-11-13", "2023-11", "2023", "2023-11-14T23", "2023-11-14T00:00:00"]),
            "utcoffset" | "zone" => self.text(&["+01:00", "-05:30", "+00:00"]),
            "prefix" => {
                let own = self.board.map_or("spare", |board| board.name);
                let unit = self.random.below(3);
                self.key(&format!("{own}:p{unit}:"))
            }
            // Seasons are in whole minutes.
            "duration" if self.command.starts_with("rank.") => self.text(&["14d", "1h", "90m"]),
            "duration" | "lease" | "timeout" | "wait" | "window" if self.generator.is_lasting => {
                self.text(&["1h", "2d", "366d"])
            }
            "compact" | "rule" if self.generator.is_lasting => self.text(&["20/1h", "5/2h", "100/1d"]),
            "past" if self.generator.is_lasting => self.number(&[1, 2, 30]),
            "duration" | "lease" | "timeout" | "wait" => self.text(&["1s", "1ms", "0ms", "500ms", "2", "1m", "1h"]),
            "window" if self.algorithm == "CALENDAR" => self.text(&["hour", "day", "week", "month", "year"]),
            "window" => self.text(&["1s", "1m", "60", "1500ms", "1h", "2d", "366d"]),
            "compact" | "rule" if self.algorithm == "CALENDAR" => self.text(&["4/hour", "6/day", "9/year"]),
            "compact" | "rule" if self.algorithm == "GCRA" => self.text(&["10/1s/20", "5/1h", "3/1m/1"]),
            "compact" | "rule" => self.text(&["5/1s", "3/1m", "20/1h", "9/500ms", "100/1d"]),
            "algorithm" => self.algorithm.as_bytes().to_vec(),
            "limit" | "burst" => self.number(&[1, 2, 3, 5, 20]),
            "cost" | "units" | "reserved" | "used" | "actual" => self.number(&[1, 1, 2, 3, 0, 7]),
            "cursor" => b"0".to_vec(),
            "start" => self.number(&[1, 1, 2, 5, -3]),
            "stop" => self.number(&[-1, 1, 3, 9]),
            "offset" | "n" => self.number(SMALL),
            "count" | "distance" | "page" | "size" | "keep" | "attempts" | "bits" | "digits" => self.number(COUNTS),
            "past" => self.number(&[0, 1, 2, 30]),
            "shards" => self.number(&[2, 4, 1024]),
            "part" => self.number(&[0, 1]),
            "lo" => self.number(&[-100, 0, 1]),
            "hi" => self.number(&[40, 100, 1_000_000]),
            "from" => self.number(&[0, 1_699_920_000_000]),
            name if name.starts_with("num") => {
                let times = 1 + self.random.below(3);
                self.repeats = Some(times);
                self.counted = (self.command == "rate.all").then_some(times);
                times.to_string().into_bytes()
            }
            _ => match kind {
                Kind::Key => self.own_key(),
                Kind::Integer => self.number(SMALL),
                Kind::Double => self.score(),
                Kind::Time => self.time(),
                Kind::Text => match self.random.below(3) {
                    0 => self.member(),
                    1 => self.number(SMALL),
                    _ => self.text(&["1s", "1m", "x", "day"]),
                },
            },
        }
    }
}
