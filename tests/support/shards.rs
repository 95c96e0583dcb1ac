//! A whole board from its shards: what a client library does, as docs/design.md describes it ("One board over many keys").
//!
//! Every command stands for itself and is exact as of its own moment; nothing is kept between calls.

use std::cmp::Ordering;

use redis::{Connection, ConnectionLike, Value};

use super::{cmdv, show, show_result, Client};

/// The words of one command.
pub type Words = Vec<Vec<u8>>;

/// Whoever sends commands to where their keys are: one round to all shards at once.
pub trait Round {
    /// The replies, in order.
    fn round(&mut self, commands: &[Words]) -> Vec<Value>;
}

/// All shards on one server: a pipeline.
impl Round for Connection {
    #[track_caller]
    fn round(&mut self, commands: &[Words]) -> Vec<Value> {
        let mut pipeline = redis::pipe();
        for words in commands {
            pipeline.add_command(words.iter().fold(redis::Cmd::new(), |mut command, word| {
                command.arg(word);
                command
            }));
        }
        if commands.is_empty() {
            return Vec::new();
        }
        let replies = self.req_packed_commands(&pipeline.get_packed_pipeline(), 0, commands.len()).expect("replies");
        replies.into_iter().map(|reply| good(reply, commands)).collect()
    }
}

/// Shards on the nodes of a cluster, which move.
impl Round for Client {
    #[track_caller]
    fn round(&mut self, commands: &[Words]) -> Vec<Value> {
        let mut ask = |words: &Words| match self.follow(words) {
            Ok(value) => value,
            error => panic!("{}: {}", String::from_utf8_lossy(&words.concat()), show_result(&error)),
        };
        commands.iter().map(&mut ask).collect()
    }
}

#[track_caller]
fn good(reply: Value, commands: &[Words]) -> Value {
    assert!(
        !matches!(reply, Value::ServerError(_)),
        "{}: {}",
        String::from_utf8_lossy(&commands[0].concat()),
        show(&reply)
    );
    reply
}

/// A score as it was sent, and as it compares.
#[derive(Clone, Debug, PartialEq)]
pub enum Score {
    Integer(i64),
    Float(f64),
}

impl Score {
    fn compare(&self, other: &Score) -> Ordering {
        match (self, other) {
            (Score::Integer(a), Score::Integer(b)) => a.cmp(b),
            (a, b) => a.as_f64().total_cmp(&b.as_f64()),
        }
    }

    pub fn as_f64(&self) -> f64 {
        match self {
            Score::Integer(value) => *value as f64,
            Score::Float(value) => *value,
        }
    }

    fn text(&self) -> Vec<u8> {
        match self {
            Score::Integer(value) => value.to_string().into_bytes(),
            Score::Float(value) => format!("{value:?}").into_bytes(),
        }
    }
}

/// A row with its time: a member and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub rank: u64,
    pub member: Vec<u8>,
    pub scores: Vec<Score>,
    pub time: Option<i64>,
}

/// The kinds of rank that add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Competition,
    Ordinal,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Kind::Competition => "COMPETITION",
            Kind::Ordinal => "ORDINAL",
        }
    }
}

/// What of a schema says how rows compare.
#[derive(Clone, Debug)]
pub struct BoardOrder {
    /// For each field whether more is better.
    descending: Vec<bool>,
    floats: Vec<bool>,
    /// Whether a later time is better; none where ties are shared.
    later_first: Option<bool>,
}

impl BoardOrder {
    /// From the words of `RANK.CREATE`.
    pub fn parse(schema: &str) -> BoardOrder {
        let fields: Vec<&str> = schema.split("FIELD ").skip(1).collect();
        let has = |text: &str, words: &[&str]| text.split(' ').any(|word| words.contains(&word));
        let later_first = match schema.split("TIES ").nth(1) {
            Some(rule) if rule.starts_with("LAST") => Some(true),
            Some(rule) if rule.starts_with("FIRST") || rule.starts_with("JOINED") => Some(false),
            _ => None,
        };
        BoardOrder {
            descending: fields.iter().map(|field| !has(field, &["ASC"])).collect(),
            floats: fields.iter().map(|field| !has(field, &["INT", "BITS", "DIGITS", "RANGE"])).collect(),
            later_first,
        }
    }

    /// Best first, by the fields alone.
    pub fn by_fields(&self, a: &[Score], b: &[Score]) -> Ordering {
        let pairs = a.iter().zip(b).zip(&self.descending);
        let mut orders = pairs.map(|((a, b), descending)| if *descending { b.compare(a) } else { a.compare(b) });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Best first: fields, then time, then name.
    pub fn compare(&self, a: &Row, b: &Row) -> Ordering {
        let by_time = match self.later_first {
            Some(true) => b.time.cmp(&a.time),
            Some(false) => a.time.cmp(&b.time),
            None => Ordering::Equal,
        };
        let by_name = if self.descending[0] { b.member.cmp(&a.member) } else { a.member.cmp(&b.member) };
        self.by_fields(&a.scores, &b.scores).then(by_time).then(by_name)
    }

    /// A row with its time, from a reply.
    pub fn parse_row(&self, value: &Value) -> Row {
        let Value::Array(items) = value else { panic!("no row: {}", show(value)) };
        let fields = self.descending.len();
        assert_eq!(items.len(), fields + 3, "{}", show(value));
        let score = |(item, is_float): (&Value, &bool)| match (item, is_float) {
            (Value::Int(value), false) => Score::Integer(*value),
            (Value::BulkString(text), true) => {
                Score::Float(std::str::from_utf8(text).expect("text").parse().expect("a number"))
            }
            _ => panic!("no score: {}", show(item)),
        };
        let (Value::Int(rank), Value::BulkString(member)) = (&items[0], &items[1]) else { panic!("{}", show(value)) };
        let time = match &items[fields + 2] {
            Value::Int(time) => Some(*time),
            Value::Nil => None,
            other => panic!("no time: {}", show(other)),
        };
        Row {
            rank: u64::try_from(*rank).expect("a rank"),
            member: member.clone(),
            scores: items[2..].iter().zip(&self.floats).map(score).collect(),
            time,
        }
    }

    /// Rows with their times, from a reply.
    pub fn parse_rows(&self, value: &Value) -> Vec<Row> {
        let Value::Array(items) = value else { panic!("no rows: {}", show(value)) };
        items.iter().map(|item| self.parse_row(item)).collect()
    }

    /// `RANK.TOPN`, `RANK.RANGE` and the like, from a reply.
    pub fn ask<R: Round>(&self, round: &mut R, words: &[&[u8]]) -> Vec<Row> {
        self.parse_rows(&round.round(&[owned(words)])[0])
    }
}

fn owned(words: &[&[u8]]) -> Words {
    words.iter().map(|word| word.to_vec()).collect()
}

fn count(value: &Value) -> u64 {
    match value {
        Value::Int(count) => u64::try_from(*count).expect("a count"),
        other => panic!("no count: {}", show(other)),
    }
}

/// The keys of a board's shards.
pub fn keys_of<R: Round>(round: &mut R, name: &str, shards: usize) -> Vec<Vec<u8>> {
    let reply = round.round(&[owned(&[b"RANK.SHARDS", name.as_bytes(), shards.to_string().as_bytes()])]);
    let Value::Array(keys) = &reply[0] else { panic!("no keys: {}", show(&reply[0])) };
    keys.iter()
        .map(|key| match key {
            Value::BulkString(key) => key.clone(),
            other => panic!("no key: {}", show(other)),
        })
        .collect()
}

/// CRC16 as the cluster specification defines it, bit by bit: a member's shard is this modulo their number.
pub fn crc16(bytes: &[u8]) -> usize {
    let mut crc = 0_u16;
    for byte in bytes {
        for bit in (0..8).rev() {
            let carry = crc >> 15 ^ u16::from(byte >> bit & 1);
            crc = (crc << 1) ^ (carry * 0x1021);
        }
    }
    usize::from(crc)
}

/// Rows of one shard by position, all of one moment.
struct Window {
    /// The position of the first.
    first: u64,
    rows: Vec<Row>,
    /// Whether the shard ends with them.
    is_last: bool,
}

/// Neighbouring rows of the whole board. `before` are better than the first.
struct Merged {
    before: u64,
    rows: Vec<Row>,
    /// Whether the board ends with them.
    is_last: bool,
}

/// Where a position is: so many members of each shard are before it, at least and at most.
struct Located {
    low: Vec<u64>,
    high: Vec<u64>,
}

impl Located {
    fn width(&self) -> u64 {
        self.low.iter().zip(&self.high).map(|(low, high)| high - low).sum()
    }
}

/// A board that is cut into shards.
pub struct Sharded<'r, R> {
    round: &'r mut R,
    keys: Vec<Vec<u8>>,
    order: BoardOrder,
    /// How many rounds were needed so far.
    pub rounds: usize,
    /// `ROWS_A_SHARD`, or fewer to see places narrowed on small boards.
    pub rows_a_shard: u64,
}

/// So many rows of a shard are fetched, on average, rather than narrowed further.
const ROWS_A_SHARD: u64 = 64;
/// A member that is written so often that it is never seen twice at one place.
const MOST_TRIES: usize = 50;

impl<'r, R: Round> Sharded<'r, R> {
    pub fn new(round: &'r mut R, name: &str, shards: usize, schema: &str) -> Sharded<'r, R> {
        let keys = keys_of(round, name, shards);
        Sharded::with_keys(round, keys, schema)
    }

    /// Without asking for the keys, which do not change.
    pub fn with_keys(round: &'r mut R, keys: Vec<Vec<u8>>, schema: &str) -> Sharded<'r, R> {
        Sharded { round, keys, order: BoardOrder::parse(schema), rounds: 0, rows_a_shard: ROWS_A_SHARD }
    }

    fn ask(&mut self, commands: &[Words]) -> Vec<Value> {
        self.rounds += 1;
        self.round.round(commands)
    }

    /// The same words to every shard, behind its key.
    fn ask_all(&mut self, command: &str, words: &[Vec<u8>]) -> Vec<Value> {
        let call = |key: &Vec<u8>| [&[command.as_bytes().to_vec(), key.clone()], words].concat();
        let commands: Vec<Words> = self.keys.iter().map(call).collect();
        self.ask(&commands)
    }

    /// The words of a place, behind which is what follows all equals.
    fn place(row: &Row) -> Words {
        let mut words: Words = row.scores.iter().map(Score::text).collect();
        if let Some(time) = row.time {
            words.extend([b"AT".to_vec(), time.to_string().into_bytes()]);
        }
        words.extend([b"MEMBER".to_vec(), row.member.clone()]);
        words
    }

    /// A member's row in its own shard, with its position there.
    fn find(&mut self, member: &[u8], kind: Kind) -> Option<(usize, Row)> {
        let home = crc16(member) % self.keys.len();
        let key = self.keys[home].clone();
        let reply = self.ask(&[owned(&[b"RANK.GET", &key, member, kind.word().as_bytes(), b"WITHTIME"])]);
        (reply[0] != Value::Nil).then(|| (home, self.order.parse_row(&reply[0])))
    }

    pub fn count(&mut self) -> u64 {
        self.ask_all("RANK.COUNT", &[]).iter().map(count).sum()
    }

    /// Two rounds: the member's row, then how many are better in each other shard.
    pub fn rank(&mut self, member: &[u8], kind: Kind) -> Option<Row> {
        let (home, mut row) = self.find(member, kind)?;
        let mut words: Words = row.scores.iter().map(Score::text).collect();
        words.push(kind.word().as_bytes().to_vec());
        if kind == Kind::Ordinal {
            words = [Self::place(&row), vec![b"ORDINAL".to_vec()]].concat();
        }
        let others: Vec<Vec<u8>> =
            self.keys.iter().enumerate().filter(|(at, _)| *at != home).map(|(_, key)| key.clone()).collect();
        let calls: Vec<Words> =
            others.into_iter().map(|key| [vec![b"RANK.FORSCORE".to_vec(), key], words.clone()].concat()).collect();
        row.rank += self.ask(&calls).iter().map(|rank| count(rank) - 1).sum::<u64>();
        Some(row)
    }

    /// One round, if each shard has its share of them.
    pub fn top(&mut self, n: u64, kind: Kind) -> Vec<Row> {
        let mut rows = self.share(n);
        loop {
            let words = [rows.to_string(), kind.word().into(), "WITHTIME".into()].map(String::into_bytes);
            let replies = self.ask_all("RANK.TOPN", &words);
            let windows: Vec<Window> = replies.iter().map(|reply| self.window(1, rows, reply)).collect();
            if let Some(found) = self.merge(&windows, kind).and_then(|merged| cut(merged, 1, n)) {
                return found;
            }
            rows *= 2;
        }
    }

    /// So many of the next `n` rows does a shard hardly exceed.
    fn share(&self, n: u64) -> u64 {
        n.min(2 * n.div_ceil(self.keys.len() as u64) + 8)
    }

    fn window(&self, first: u64, asked: u64, reply: &Value) -> Window {
        let rows = self.order.parse_rows(reply);
        Window { first, is_last: (rows.len() as u64) < asked, rows }
    }

    /// Rows from `first` to `last` of each shard.
    fn windows(&mut self, bounds: &[(u64, u64)], kind: Kind) -> Vec<Window> {
        let call = |(key, (first, last)): (&Vec<u8>, &(u64, u64))| {
            let (first, last) = (first.to_string(), last.to_string());
            owned(&[b"RANK.RANGE", key, first.as_bytes(), last.as_bytes(), kind.word().as_bytes(), b"WITHTIME"])
        };
        let commands: Vec<Words> = self.keys.iter().zip(bounds).map(call).collect();
        let replies = self.ask(&commands);
        replies.iter().zip(bounds).map(|(reply, (first, last))| self.window(*first, last + 1 - first, reply)).collect()
    }

    /// The rows of which it is known how many are before them in every shard, with their ranks; none if there is a shard
    /// without any.
    fn merge(&self, windows: &[Window], kind: Kind) -> Option<Merged> {
        let order = &self.order;
        // Of a shard whose window does not begin with its first row, nothing is known of what is before the window.
        let mut floor: Option<&Row> = None;
        let mut ceiling: Option<&Row> = None;
        for window in windows {
            if window.first > 1 {
                let first = window.rows.first()?;
                floor = Some(floor.map_or(first, |row| if order.compare(row, first).is_lt() { first } else { row }));
            }
            if !window.is_last {
                let last = window.rows.last()?;
                ceiling = Some(ceiling.map_or(last, |row| if order.compare(row, last).is_gt() { last } else { row }));
            }
        }
        let is_known = |row: &&Row| {
            floor.is_none_or(|floor| order.compare(row, floor).is_ge())
                && ceiling.is_none_or(|ceiling| order.compare(row, ceiling).is_le())
        };
        let mut rows: Vec<Row> = windows.iter().flat_map(|window| &window.rows).filter(is_known).cloned().collect();
        rows.sort_by(|a, b| order.compare(a, b));
        // Those of a shard that are before a place, and is known to be beyond the first row of its window.
        let before = |window: &Window, is_before: &dyn Fn(&Row) -> bool| {
            window.first - 1 + window.rows.partition_point(|row| is_before(row)) as u64
        };
        let all_before = |row: &Row| {
            windows.iter().map(|window| before(window, &|other| order.compare(other, row).is_lt())).sum::<u64>()
        };
        let before_first = match rows.first() {
            Some(row) => all_before(row),
            None if floor.is_none() && ceiling.is_none() => 0,
            None => return None,
        };
        let better = |row: &Row| -> u64 {
            let better_in = |window: &Window| {
                let is_better = |other: &Row| order.by_fields(&other.scores, &row.scores).is_lt();
                let equal = window.rows.get(window.rows.partition_point(is_better));
                match equal.filter(|other| order.by_fields(&other.scores, &row.scores).is_eq()) {
                    // The shard itself said how many are better than this one.
                    Some(equal) => equal.rank - 1,
                    None => before(window, &|other| order.compare(other, row).is_lt()),
                }
            };
            windows.iter().map(better_in).sum()
        };
        let ranks: Vec<u64> = match kind {
            Kind::Ordinal => (before_first + 1..).take(rows.len()).collect(),
            Kind::Competition => rows.iter().map(|row| better(row) + 1).collect(),
        };
        rows.iter_mut().zip(ranks).for_each(|(row, rank)| row.rank = rank);
        Some(Merged { before: before_first, rows, is_last: ceiling.is_none() })
    }

    /// Rows by position in the whole board, from 1.
    pub fn range(&mut self, start: u64, n: u64, kind: Kind) -> Vec<Row> {
        let located = self.locate(start - 1);
        let (mut slack, mut share) = (1, self.share(n));
        loop {
            let bounds = located.low.iter().zip(&located.high);
            let bounds: Vec<(u64, u64)> =
                bounds.map(|(low, high)| ((low + 1).saturating_sub(slack).max(1), high + share + slack)).collect();
            let windows = self.windows(&bounds, kind);
            if let Some(found) = self.merge(&windows, kind).and_then(|merged| cut(merged, start, n)) {
                return found;
            }
            // A shard has more than its share of the rows, or somebody wrote meanwhile.
            (slack, share) = (slack * 4, share * 2);
        }
    }

    /// How many pages there are, how many members, and the rows of one page.
    pub fn page(&mut self, page: u64, size: u64, kind: Kind) -> (u64, u64, Vec<Row>) {
        let members = self.count();
        (members.div_ceil(size), members, self.range((page - 1) * size + 1, size, kind))
    }

    /// Where the member is that has so many before it: narrows what is possible in each shard, two rounds at a time.
    fn locate(&mut self, target: u64) -> Located {
        let high: Vec<u64> = self.ask_all("RANK.COUNT", &[]).iter().map(count).collect();
        let mut located = Located { low: vec![0; high.len()], high };
        if target == 0 {
            return Located { high: vec![0; self.keys.len()], ..located };
        }
        let mut halve = false;
        for _ in 0..64 {
            let width = located.width();
            if width <= self.rows_a_shard * self.keys.len() as u64 {
                break;
            }
            let pivots = self.pivots(&located, target, halve);
            if pivots.is_empty() {
                break;
            }
            let counts = self.counts_before(&pivots);
            for counts in counts {
                let before: u64 = counts.iter().sum();
                for (at, count) in counts.into_iter().enumerate() {
                    let (low, high) = (located.low[at], located.high[at]);
                    if before <= target {
                        located.low[at] = count.clamp(low, high);
                    }
                    if before >= target {
                        located.high[at] = count.clamp(located.low[at], high);
                    }
                }
            }
            halve = !halve && located.width() > width / 2;
        }
        located
    }

    /// Rows that are probably a little before and a little behind the target; with `halve` one that certainly leaves a
    /// quarter on each side.
    fn pivots(&mut self, located: &Located, target: u64, halve: bool) -> Vec<Row> {
        let width = located.width() as f64;
        let before: u64 = located.low.iter().sum();
        let share = (target.saturating_sub(before) as f64 / width).clamp(0.0, 1.0);
        // Shards are random parts of the board: how far a pivot is off grows with the root of the distance.
        let margin = (2.0 * (width * share * (1.0 - share)).sqrt() + self.keys.len() as f64) / width;
        let shares = if halve { vec![0.5] } else { vec![share - margin, share + margin] };
        let mut calls = Vec::new();
        for share in &shares {
            for (at, key) in self.keys.iter().enumerate() {
                let (low, high) = (located.low[at], located.high[at]);
                if high > low {
                    let index = low + ((high - low) as f64 * share.clamp(0.0, 1.0)) as u64;
                    let position = (index.min(high - 1) + 1).to_string();
                    calls.push((
                        at,
                        owned(&[b"RANK.RANGE", key, position.as_bytes(), position.as_bytes(), b"ORDINAL", b"WITHTIME"]),
                    ));
                }
            }
        }
        let replies = self.ask(&calls.iter().map(|(_, call)| call.clone()).collect::<Vec<_>>());
        let mut rows: Vec<(u64, Row)> = Vec::new();
        let mut pivots = Vec::new();
        let each = calls.len() / shares.len();
        for (at, ((shard, _), reply)) in calls.iter().zip(&replies).enumerate() {
            let weight = located.high[*shard] - located.low[*shard];
            rows.extend(self.order.parse_rows(reply).pop().map(|row| (weight, row)));
            if (at + 1) % each == 0 {
                pivots.extend(self.weighted_median(std::mem::take(&mut rows)));
            }
        }
        pivots
    }

    fn weighted_median(&self, mut rows: Vec<(u64, Row)>) -> Option<Row> {
        rows.sort_by(|(_, a), (_, b)| self.order.compare(a, b));
        let half = rows.iter().map(|(weight, _)| weight).sum::<u64>().div_ceil(2);
        let mut sum = 0;
        rows.into_iter().find_map(|(weight, row)| {
            sum += weight;
            (sum >= half).then_some(row)
        })
    }

    /// For each row how many are before it in each shard.
    fn counts_before(&mut self, rows: &[Row]) -> Vec<Vec<u64>> {
        let call = |row: &Row, key: &Vec<u8>| {
            [vec![b"RANK.FORSCORE".to_vec(), key.clone()], Self::place(row), vec![b"ORDINAL".to_vec()]].concat()
        };
        let calls: Vec<Words> = rows.iter().flat_map(|row| self.keys.iter().map(move |key| call(row, key))).collect();
        let counts: Vec<u64> = self.ask(&calls).iter().map(|rank| count(rank) - 1).collect();
        counts.chunks(self.keys.len()).map(<[u64]>::to_vec).collect()
    }

    /// The rows from `distance` above a member to `distance` below: three rounds.
    pub fn around(&mut self, member: &[u8], distance: u64, kind: Kind) -> Option<Vec<Row>> {
        for _ in 0..MOST_TRIES {
            let (_, row) = self.find(member, Kind::Ordinal)?;
            let before = self.counts_before(std::slice::from_ref(&row)).swap_remove(0);
            let mut share = self.share(distance) + 1;
            loop {
                let bounds: Vec<(u64, u64)> =
                    before.iter().map(|count| ((count + 1).saturating_sub(share).max(1), count + 1 + share)).collect();
                let windows = self.windows(&bounds, kind);
                let seen = windows.iter().flat_map(|window| &window.rows).any(|other| other.member == member);
                if !seen {
                    // It was written, and is somewhere else now.
                    break;
                }
                let merged = self.merge(&windows, kind);
                let at = merged.as_ref().and_then(|merged| merged.rows.iter().position(|row| row.member == member));
                if let (Some(merged), Some(at)) = (merged, at) {
                    let position = merged.before + 1 + at as u64;
                    let start = position.saturating_sub(distance).max(1);
                    if let Some(found) = cut(merged, start, position + distance + 1 - start) {
                        return Some(found);
                    }
                }
                share *= 2;
            }
        }
        panic!("{} is never twice at one place", member.escape_ascii())
    }

    /// The next rows behind a place: one round.
    pub fn after(&mut self, row: &Row, n: u64) -> Vec<Row> {
        let mut rows = self.neighbours("RANK.AFTER", row, n);
        rows.truncate(usize::try_from(n).expect("a length"));
        rows
    }

    /// The rows just before a place: one round.
    pub fn before(&mut self, row: &Row, n: u64) -> Vec<Row> {
        let rows = self.neighbours("RANK.BEFORE", row, n);
        rows[rows.len().saturating_sub(usize::try_from(n).expect("a length"))..].to_vec()
    }

    fn neighbours(&mut self, command: &str, row: &Row, n: u64) -> Vec<Row> {
        let words =
            [vec![n.to_string().into_bytes()], Self::place(row), vec![b"ORDINAL".to_vec(), b"WITHTIME".to_vec()]]
                .concat();
        let replies = self.ask_all(command, &words);
        let mut rows: Vec<Row> = replies.iter().flat_map(|reply| self.order.parse_rows(reply)).collect();
        rows.sort_by(|a, b| self.order.compare(a, b));
        rows
    }

    /// 100 × members worse on the fields / members: three rounds.
    pub fn percentile(&mut self, member: &[u8]) -> Option<f64> {
        let (_, row) = self.find(member, Kind::Competition)?;
        let (mut worse, mut members) = (0, 0);
        let mut open = self.keys.clone();
        while !open.is_empty() {
            // How many are not worse: those before the first that is, or all.
            let scores: Words = row.scores.iter().map(Score::text).collect();
            let mut calls = Vec::new();
            for key in &open {
                let after: Words =
                    [owned(&[b"RANK.AFTER", key, b"1"]), scores.clone(), owned(&[b"ORDINAL", b"WITHTIME"])].concat();
                calls.extend([after, owned(&[b"RANK.COUNT", key])]);
            }
            let replies = self.ask(&calls);
            let first_worse =
                |pair: &[Value]| self.order.parse_rows(&pair[0]).first().map_or(count(&pair[1]), |row| row.rank - 1);
            let not_worse: Vec<u64> = replies.chunks(2).map(first_worse).collect();
            // One reply tells whether that is so, and how many there are: a page with both rows of the border.
            let sizes: Vec<u64> = not_worse.iter().map(|count| page_size(*count)).collect();
            let page = |((key, n), size): ((&Vec<u8>, &u64), &u64)| {
                let (page, size) = ((n / size + 1).to_string(), size.to_string());
                owned(&[b"RANK.PAGE", key, page.as_bytes(), size.as_bytes(), b"ORDINAL", b"WITHTIME"])
            };
            let calls: Vec<Words> = open.iter().zip(&not_worse).zip(&sizes).map(page).collect();
            let replies = self.ask(&calls);
            let mut again = Vec::new();
            for ((key, not_worse), reply) in open.iter().zip(&not_worse).zip(&replies) {
                let Value::Array(page) = reply else { panic!("no page: {}", show(reply)) };
                let all = count(&page[2]);
                let is_worse = |position: u64| {
                    let rows = self.order.parse_rows(&page[3]);
                    let row_there = rows.iter().find(|row| row.rank == position);
                    row_there.map(|other| self.order.by_fields(&row.scores, &other.scores).is_lt())
                };
                let is_border = (*not_worse == 0 || is_worse(*not_worse) == Some(false))
                    && (all == *not_worse || is_worse(not_worse + 1) == Some(true));
                if is_border {
                    (worse, members) = (worse + all - not_worse, members + all);
                } else {
                    again.push(key.clone());
                }
            }
            open = again;
        }
        Some(100.0 * worse as f64 / members as f64)
    }
}

/// The smallest size of pages of which one holds this position and the next; 1 if there is only the next.
fn page_size(position: u64) -> u64 {
    if position == 0 {
        return 1;
    }
    (2..).find(|size| !position.is_multiple_of(*size)).expect("a number that does not divide it")
}

/// Rows by position, if these are among them, or the board ends before.
fn cut(merged: Merged, start: u64, n: u64) -> Option<Vec<Row>> {
    let end = merged.before + merged.rows.len() as u64;
    if merged.before >= start || (end < start + n - 1 && !merged.is_last) {
        return None;
    }
    let skip = usize::try_from(start - merged.before - 1).expect("a length");
    Some(merged.rows.into_iter().skip(skip).take(usize::try_from(n).expect("a length")).collect())
}

/// One command that must work.
#[track_caller]
pub fn must(con: &mut Connection, words: &[Vec<u8>]) -> Value {
    match cmdv(con, words) {
        Ok(value) => value,
        error => panic!(
            "{}: {}",
            words.iter().map(|word| word.escape_ascii().to_string()).collect::<Vec<_>>().join(" "),
            show_result(&error)
        ),
    }
}
