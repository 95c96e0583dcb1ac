//! Sixteen shards answer as one board with the same members does, and while they are written to every answer lies between
//! what was true when it started and what was true when it ended.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::Arc;
use std::thread;

use redis::{Connection, Value};

use crate::script::Dice;
use crate::support::boards::{encode_as, ENCODINGS};
use crate::support::shards::{crc16, keys_of, must, BoardOrder, Kind as RankKind, Round, Row, Score, Sharded, Words};
use crate::support::*;

const SHARDS: usize = 16;
const KINDS: [RankKind; 2] = [RankKind::Competition, RankKind::Ordinal];
const YEAR_2023: usize = 1_700_000_000_000;

/// Every layout, both directions, every tie rule, bounded and unbounded fields.
const SCHEMAS: &[&str] = &[
    "FIELD a",
    "FIELD a ASC",
    "FIELD a DIGITS 3 FIELD b ASC DIGITS 3",
    "FIELD a RANGE -500 500 TIES FIRST S",
    "FIELD a ASC BITS 5 TIES LAST",
    "FIELD a BITS 30 FIELD b BITS 30",
    "FIELD a ASC BITS 10 FIELD b BITS 5 TIES JOINED",
    "FIELD a BITS 10 FIELD b ASC BITS 6 TIES LAST",
    "FIELD a INT FIELD b ASC INT",
    "FIELD a FLOAT TIES LAST",
    "FIELD a ASC INT TIES JOINED",
    "FIELD a ASC INT FIELD b FLOAT TIES FIRST",
    "FIELD a DIGITS 3 FIELD b INT TIES LAST S",
];

/// One board and its shards, which get the same writes.
struct Both {
    con: Connection,
    schema: &'static str,
    order: BoardOrder,
    keys: Vec<Vec<u8>>,
    members: Vec<Vec<u8>>,
    /// For the merge.
    rows_a_shard: u64,
}

fn words(line: &str) -> Words {
    line.split_whitespace().map(|word| word.as_bytes().to_vec()).collect()
}

impl Both {
    #[track_caller]
    fn create(server: &Server, schema: &'static str) -> Both {
        let mut con = server.connect();
        expect(&mut con, "FLUSHALL", "+OK");
        expect(&mut con, &format!("RANK.CREATE one {schema}"), "+OK");
        let keys = keys_of(&mut con, "many", SHARDS);
        for (shard, key) in keys.iter().enumerate() {
            let key = String::from_utf8_lossy(key);
            expect(&mut con, &format!("RANK.CREATE {key} {schema} SHARD {shard} {SHARDS}"), "+OK");
        }
        Both { con, schema, order: BoardOrder::parse(schema), keys, members: Vec::new(), rows_a_shard: 64 }
    }

    /// Scores of which many are equal, within the bounds of every schema here.
    fn scores(&self, dice: &mut Dice) -> Words {
        let bound = if self.schema.contains("BITS 5") { 32 } else { 40 };
        let score = |dice: &mut Dice| match dice.roll(3) {
            0 => dice.roll(3),
            _ => dice.roll(bound),
        };
        (0..self.schema.matches("FIELD").count()).map(|_| score(dice).to_string().into_bytes()).collect()
    }

    /// One command for the board, and the same for the shard of its member.
    #[track_caller]
    fn write(&mut self, command: &str, options: &[Vec<u8>], scores: &[Vec<u8>], member: &[u8]) {
        let behind = [options, scores, &[member.to_vec()]].concat();
        let mut write =
            |key: Vec<u8>| must(&mut self.con, &[vec![command.as_bytes().to_vec(), key], behind.clone()].concat());
        let expected = write(b"one".to_vec());
        let home = self.keys[crc16(member) % SHARDS].clone();
        assert_eq!(write(home), expected);
    }

    fn at(&self, dice: &mut Dice) -> Words {
        if !self.schema.contains("TIES") {
            return Words::new();
        }
        words(&format!("AT {}", YEAR_2023 + dice.roll(9) * 1000))
    }

    /// Members with odd names among others, written more than once.
    #[track_caller]
    fn fill(&mut self, count: usize, dice: &mut Dice) {
        let odd = [&b""[..], b"\0", b"\x01", b"\x02", b"\xff", b"\xff\xff", b"{a}", b"a{b}c", b"a b\r\n%", b"rank"];
        self.members = odd
            .map(<[u8]>::to_vec)
            .into_iter()
            .chain((odd.len()..count).map(|n| format!("m{n}").into_bytes()))
            .collect();
        for member in self.members.clone() {
            let (at, scores) = (self.at(dice), self.scores(dice));
            self.write("RANK.ADD", &at, &scores, &member);
        }
        for _ in 0..count / 2 {
            let member = self.members[dice.roll(count)].clone();
            let (at, scores) = (self.at(dice), self.scores(dice));
            self.write("RANK.ADD", &at, &scores, &member);
        }
        for _ in 0..count / 20 {
            let member = self.members.swap_remove(dice.roll(self.members.len()));
            self.write("RANK.REM", &[], &[], &member);
        }
    }

    /// What the one board says, as rows.
    fn one(&mut self, line: &str, more: &[Vec<u8>]) -> Vec<Row> {
        let words = [words(line), more.to_vec(), words("WITHTIME")].concat();
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        self.order.ask(&mut self.con, &words)
    }

    /// The row of a member, by its position in the one board.
    fn row(&mut self, member: &[u8], kind: RankKind) -> Option<Row> {
        let words =
            [words("RANK.GET one"), vec![member.to_vec()], words(&format!("{} WITHTIME", kind.word()))].concat();
        let reply = must(&mut self.con, &words);
        (reply != Value::Nil).then(|| self.order.parse_row(&reply))
    }

    fn sharded(&mut self) -> Sharded<'_, Connection> {
        let mut sharded = Sharded::new(&mut self.con, "many", SHARDS, self.schema);
        sharded.rows_a_shard = self.rows_a_shard;
        sharded
    }

    /// The member alone: rank of each kind, percentile, neighbours, and what is after and before it.
    #[track_caller]
    fn check_member(&mut self, member: &[u8], distances: &[u64]) {
        let (schema, name) = (self.schema, member.escape_ascii());
        for kind in KINDS {
            let expected = self.row(member, kind);
            assert_eq!(self.sharded().rank(member, kind), expected, "{schema}: {name} {kind:?}");
        }
        let percentile = must(&mut self.con, &[words("RANK.PERCENTILE one"), vec![member.to_vec()]].concat());
        let percentile = match percentile {
            Value::Nil => None,
            Value::BulkString(text) => Some(String::from_utf8_lossy(&text).parse::<f64>().expect("a number")),
            other => panic!("{}", show(&other)),
        };
        assert_eq!(self.sharded().percentile(member), percentile, "{schema}: {name}");
        let Some(row) = self.row(member, RankKind::Ordinal) else {
            assert_eq!(self.sharded().around(member, 5, RankKind::Ordinal), None, "{schema}: {name}");
            return;
        };
        for distance in distances {
            for kind in KINDS {
                let more = [vec![member.to_vec()], words(&format!("{distance} {}", kind.word()))].concat();
                let expected = self.one("RANK.AROUND one", &more);
                assert_eq!(
                    self.sharded().around(member, *distance, kind),
                    Some(expected),
                    "{schema}: {name} {distance} {kind:?}"
                );
            }
            let names = |rows: Vec<Row>| rows.into_iter().map(|row| row.member).collect::<Vec<_>>();
            let position = row.rank;
            let after = self.one(&format!("RANK.RANGE one {} {}", position + 1, position + distance), &[]);
            let after = if *distance == 0 { Vec::new() } else { after };
            let got = self.sharded().after(&row, *distance);
            assert_eq!(names(got), names(after), "{schema}: {distance} after {name}");
            let first = position.saturating_sub(*distance).max(1);
            let before = if position > first {
                self.one(&format!("RANK.RANGE one {first} {}", position - 1), &[])
            } else {
                Vec::new()
            };
            let got = self.sharded().before(&row, *distance);
            assert_eq!(names(got), names(before), "{schema}: {distance} before {name}");
        }
    }

    /// Rows by position. The rounds that were needed.
    #[track_caller]
    fn check_range(&mut self, start: u64, n: u64) -> usize {
        let mut rounds = 0;
        for kind in KINDS {
            let expected = self.one(&format!("RANK.RANGE one {start} {} {}", start + n - 1, kind.word()), &[]);
            let mut sharded = self.sharded();
            let got = sharded.range(start, n, kind);
            rounds = rounds.max(sharded.rounds);
            assert_eq!(got, expected, "{}: {n} from {start} {kind:?}", self.schema);
        }
        rounds
    }

    #[track_caller]
    fn check_top(&mut self, n: u64) {
        for kind in KINDS {
            let expected = self.one(&format!("RANK.TOPN one {n} {}", kind.word()), &[]);
            let got = self.sharded().top(n, kind);
            assert_eq!(got, expected, "{}: top {n} {kind:?}", self.schema);
        }
    }

    #[track_caller]
    fn check_page(&mut self, page: u64, size: u64) {
        for kind in KINDS {
            let words = words(&format!("RANK.PAGE one {page} {size} {} WITHTIME", kind.word()));
            let Value::Array(expected) = must(&mut self.con, &words) else { panic!("no page") };
            let rows = self.order.parse_rows(&expected[3]);
            let got = self.sharded().page(page, size, kind);
            let head = |number: u64| Value::Int(i64::try_from(number).expect("a number"));
            assert_eq!(expected[..3], [head(page), head(got.0), head(got.1)], "{}", self.schema);
            assert_eq!(got.2, rows, "{}: page {page} of {size} {kind:?}", self.schema);
        }
    }
}

/// The same scores for many members of both, by commands with many members. Names and scores.
fn load(both: &mut Both, members: Vec<(Words, Vec<u8>)>) {
    for at in 0..8 {
        let options =
            if both.schema.contains("TIES") { words(&format!("AT {}", YEAR_2023 + at * 1000)) } else { Words::new() };
        let mut parts: Vec<(Vec<u8>, Words)> = vec![(b"one".to_vec(), Words::new())];
        parts.extend(both.keys.iter().map(|key| (key.clone(), Words::new())));
        for (scores, member) in members.iter().skip(at).step_by(8) {
            for at in [0, 1 + crc16(member) % SHARDS] {
                parts[at].1.extend(scores.iter().cloned().chain([member.clone()]));
            }
        }
        let fields = both.schema.matches("FIELD").count() + 1;
        for (key, pairs) in parts {
            for pairs in pairs.chunks(fields * 500) {
                must(
                    &mut both.con,
                    &[vec![b"RANK.ADD".to_vec(), key.clone()], options.clone(), pairs.to_vec()].concat(),
                );
            }
        }
    }
    both.members = members.into_iter().map(|(_, member)| member).collect();
}

/// Both have the same number of members, and the rows of all of them.
#[track_caller]
fn check_all(both: &mut Both, dice: &mut Dice, members: usize, most_rounds: usize) {
    let total = both.members.len() as u64;
    assert_eq!(both.sharded().count(), total);
    for _ in 0..members {
        let member = both.members[dice.roll(both.members.len())].clone();
        both.check_member(&member, &[0, 1, 7, 40]);
    }
    both.check_member(b"nobody", &[1]);
    for n in [1, 2, 10, 100] {
        both.check_top(n);
    }
    for (page, size) in [(1, 10), (2, 25), (total / 50, 25), (total, 2), (total.div_ceil(10), 10)] {
        both.check_page(page.max(1), size);
    }
    let mut most = 0;
    for start in [1, 2, total / 3, total / 2, total - 1, total, total + 1, total + 1000] {
        most = most.max(both.check_range(start.max(1), 1 + dice.roll(30) as u64));
    }
    for _ in 0..members / 2 {
        most = most.max(both.check_range(1 + dice.roll(both.members.len()) as u64, 10));
    }
    println!("{}: {total} members, at most {most} rounds for a page", both.schema);
    assert!(most <= most_rounds, "{}: {most} rounds for a page of {total} members", both.schema);
}

on_every_server! {
    fn every_answer_is_that_of_one_board(server: Server) {
        for (seed, schema) in SCHEMAS.iter().enumerate() {
            let mut dice = Dice::new(seed as u64);
            encode_as(&mut server.connect(), ENCODINGS[seed % 2]);
            let mut both = Both::create(&server, schema);
            both.fill(600, &mut dice);
            // So that places are narrowed before rows are fetched, as on a large board.
            both.rows_a_shard = 1 + dice.roll(3) as u64;
            check_all(&mut both, &mut dice, 12, 20);
            both.check_top(1000);
            both.check_range(1, 600);
        }
    }

    /// The counts of each shard are needed, so an empty one must not be in the way.
    fn few_members_leave_shards_empty(server: Server) {
        for (members, schema) in SCHEMAS.iter().enumerate() {
            let mut dice = Dice::new(members as u64);
            let mut both = Both::create(&server, schema);
            for number in 0..members {
                let (at, scores, member) = (both.at(&mut dice), both.scores(&mut dice), format!("m{number}").into_bytes());
                both.write("RANK.ADD", &at, &scores, &member);
                both.members.push(member);
            }
            for member in both.members.clone() {
                both.check_member(&member, &[0, 1, 20]);
            }
            both.check_member(b"nobody", &[1]);
            for start in 1..=members as u64 + 2 {
                both.check_range(start, 3);
                both.check_top(start);
                both.check_page(start, 2);
            }
        }
    }

    fn a_hundred_thousand_members_need_few_rounds(server: Server) {
        for schema in ["FIELD a INT FIELD b ASC INT TIES FIRST", "FIELD a ASC BITS 10 FIELD b BITS 5 TIES LAST"] {
            let mut dice = Dice::new(5);
            let mut both = Both::create(&server, schema);
            let score = |dice: &mut Dice, bound| dice.roll(bound).to_string().into_bytes();
            let members = (0..100_000).map(|n| (vec![score(&mut dice, 1000), score(&mut dice, 30)], format!("player:{n}").into_bytes()));
            let members = members.collect();
            load(&mut both, members);
            check_all(&mut both, &mut dice, 10, 8);
        }
    }

    /// The best of all are in one shard, the next best in another: nothing is as random as the way there hopes.
    fn lopsided_shards_are_exact_too(server: Server) {
        let mut dice = Dice::new(9);
        let mut both = Both::create(&server, "FIELD a INT");
        let members = (0..20_000).map(|n| {
            let member = format!("player:{n}").into_bytes();
            let score = crc16(&member) % SHARDS * 1_000_000 + n;
            (vec![score.to_string().into_bytes()], member)
        });
        let members = members.collect();
        load(&mut both, members);
        for _ in 0..10 {
            let rounds = both.check_range(1 + dice.roll(20_000) as u64, 10);
            assert!(rounds <= 40, "{rounds} rounds");
            let member = both.members[dice.roll(20_000)].clone();
            both.check_member(&member, &[30]);
        }
        both.check_top(200);
    }
}

/// The lines of a whole board, as `RANK.SCAN` gives them.
fn lines_of(con: &mut Connection, key: &[u8]) -> Vec<String> {
    let (mut cursor, mut lines) = (b"0".to_vec(), Vec::new());
    loop {
        let step = [vec![b"RANK.SCAN".to_vec(), key.to_vec(), cursor], words("COUNT 100 WITHTIME JSON")].concat();
        let Value::Array(step) = must(con, &step) else { panic!("no step") };
        let [Value::BulkString(next), Value::BulkString(text)] = step.as_slice() else { panic!("{step:?}") };
        lines.extend(String::from_utf8_lossy(text).lines().map(str::to_owned));
        cursor = next.clone();
        if cursor == b"0" {
            return lines;
        }
    }
}

on_every_server! {
    /// As the guide describes it: scan the old shards, load each line into the new shard of its member.
    fn the_number_of_shards_can_change(server: Server) {
        for schema in ["FIELD a INT FIELD b ASC INT TIES FIRST", "FIELD a RANGE -500 500 TIES LAST S", "FIELD a"] {
            let mut dice = Dice::new(64);
            let mut both = Both::create(&server, schema);
            for number in 0..2000 {
                let (at, scores, member) = (both.at(&mut dice), both.scores(&mut dice), format!("m{number}").into_bytes());
                both.write("RANK.ADD", &at, &scores, &member);
                both.members.push(member);
            }
            let new_keys = keys_of(&mut both.con, "many", 64);
            for (shard, key) in new_keys.iter().enumerate() {
                expect(&mut both.con, &format!("RANK.CREATE {} {schema} SHARD {shard} 64", String::from_utf8_lossy(key)), "+OK");
            }
            for key in both.keys.clone() {
                for line in lines_of(&mut both.con, &key) {
                    let member = line.strip_prefix("{\"member\":\"").and_then(|rest| rest.split('"').next()).expect("a member");
                    let key = new_keys[crc16(member.as_bytes()) % 64].clone();
                    must(&mut both.con, &[b"RANK.LOAD".to_vec(), key, b"NX".to_vec(), line.into_bytes()]);
                }
            }
            let expected = both.one("RANK.RANGE one 1 -1 ORDINAL", &[]);
            let mut sharded = Sharded::new(&mut both.con, "many", 64, schema);
            assert_eq!(sharded.count(), 2000);
            assert_eq!(sharded.range(1, 2000, RankKind::Ordinal), expected, "{schema}");
            assert_eq!(sharded.range(777, 50, RankKind::Ordinal), expected[776..826], "{schema}");
        }
    }
}

/// Members that only ever get better, and what is known of each at any time: the score that a write has begun to give it,
/// and the one that it certainly has.
pub struct Climbers {
    names: Vec<Vec<u8>>,
    begun: Vec<AtomicI64>,
    done: Vec<AtomicI64>,
    /// Members that join at the end, at score -1.
    joining: AtomicI64,
    joined: AtomicI64,
}

/// The members that stand still: two for each even score, so that nobody who climbs has an equal on the way.
pub const STANDING: i64 = 2000;
pub const CLIMBERS: usize = 48;

pub fn standing(number: i64) -> (i64, Vec<u8>) {
    (number / 2 * 2, format!("s{number}").into_bytes())
}

/// What was true when a call began, or when it ended.
pub struct Moment {
    scores: Vec<i64>,
    joined: i64,
}

impl Climbers {
    pub fn new() -> Climbers {
        let names: Vec<Vec<u8>> = (0..CLIMBERS).map(|n| format!("c{n}").into_bytes()).collect();
        let zeros = || names.iter().map(|_| AtomicI64::new(1)).collect();
        Climbers { begun: zeros(), done: zeros(), names, joining: AtomicI64::new(0), joined: AtomicI64::new(0) }
    }

    /// All members at their first scores.
    pub fn first_writes(&self) -> Vec<(i64, Vec<u8>)> {
        (0..STANDING).map(standing).chain(self.names.iter().map(|name| (1, name.clone()))).collect()
    }

    /// One step of one climber, or a newcomer: `write` adds a score and a member, and says whether that is certain.
    pub fn step(&self, at: usize, dice: &mut Dice, write: &mut dyn FnMut(i64, &[u8]) -> bool) {
        if dice.once_in(4) {
            let number = self.joining.fetch_add(1, Ordering::SeqCst);
            if write(-1, format!("j{number}").as_bytes()) {
                self.joined.fetch_add(1, Ordering::SeqCst);
            }
            return;
        }
        // Odd scores; who is at the top goes on climbing above all others.
        let next = self.begun[at].load(Ordering::SeqCst) + 2 * (1 + dice.roll(3) as i64);
        self.begun[at].store(next, Ordering::SeqCst);
        if write(next, &self.names[at]) {
            self.done[at].store(next, Ordering::SeqCst);
        }
    }

    pub fn at_least(&self) -> Moment {
        let scores = self.done.iter().map(|score| score.load(Ordering::SeqCst)).collect();
        Moment { scores, joined: self.joined.load(Ordering::SeqCst) }
    }

    pub fn at_most(&self) -> Moment {
        let scores = self.begun.iter().map(|score| score.load(Ordering::SeqCst)).collect();
        Moment { scores, joined: self.joining.load(Ordering::SeqCst) }
    }

    /// Whether nothing that is certain was lost.
    #[track_caller]
    pub fn check<R: Round>(&self, round: &mut R, name: &str, schema: &str) {
        let mut sharded = Sharded::new(round, name, SHARDS, schema);
        let (from, to) = (self.at_least(), self.at_most());
        for (at, name) in self.names.iter().enumerate() {
            let row = sharded.rank(name, RankKind::Ordinal).expect("a climber");
            assert!((from.scores[at]..=to.scores[at]).contains(&score_of(&row)), "{row:?}: {}", from.scores[at]);
        }
        let members = sharded.count();
        assert!((from.members()..=to.members()).contains(&members), "{members}");
    }
}

impl Moment {
    fn climbers_above(&self, score: i64) -> u64 {
        self.scores.iter().filter(|climber| **climber > score).count() as u64
    }

    fn members(&self) -> u64 {
        STANDING as u64 + CLIMBERS as u64 + self.joined as u64
    }
}

/// So many of those that stand still are better.
fn standing_above(score: i64) -> u64 {
    (0..STANDING).filter(|number| standing(*number).0 > score).count() as u64
}

fn score_of(row: &Row) -> i64 {
    match row.scores[0] {
        Score::Integer(score) => score,
        Score::Float(score) => score as i64,
    }
}

/// Rows that follow each other, each of which was where it is said to be at some moment of the call.
#[track_caller]
fn check_rows(rows: &[Row], start: Option<u64>, from: &Moment, to: &Moment) {
    for (at, row) in rows.iter().enumerate() {
        let score = score_of(row);
        let name = String::from_utf8_lossy(&row.member).into_owned();
        if let Some(number) = name.strip_prefix('c').and_then(|number| number.parse::<usize>().ok()) {
            assert!(
                (from.scores[number]..=to.scores[number]).contains(&score),
                "{name} had never {score} in that time"
            );
        }
        if let Some(before) = at.checked_sub(1).map(|before| &rows[before]) {
            let in_order = score_of(before) > score || (score_of(before) == score && before.member > row.member);
            assert!(in_order && before.rank + 1 == row.rank, "{before:?} {row:?}");
        }
        if let Some(start) = start {
            assert_eq!(row.rank, start + at as u64);
        }
        // Everybody better, but for those with the same score, of whom there are few.
        let equal = rows.iter().filter(|other| score_of(other) == score).count() as u64;
        let least = standing_above(score) + from.climbers_above(score);
        let most =
            standing_above(score) + to.climbers_above(score) + equal + if score % 2 == 0 { 2 } else { CLIMBERS as u64 };
        let is_joiner = score == -1;
        assert!(is_joiner || (least + 1..=most + 1).contains(&row.rank), "{row:?}: {least} to {most} are better");
    }
}

/// One round of questions, each judged by what was true around it.
#[track_caller]
pub fn check_answers<R: Round>(round: &mut R, name: &str, schema: &str, climbers: &Climbers, dice: &mut Dice) {
    let mut sharded = Sharded::new(round, name, SHARDS, schema);
    let number = dice.roll(STANDING as usize) as i64;
    let (score, member) = standing(number);
    for kind in KINDS {
        let from = climbers.at_least();
        let row = sharded.rank(&member, kind).expect("a member that stands still");
        let to = climbers.at_most();
        let tie = if kind == RankKind::Ordinal { equals_before(score, &member) } else { 0 };
        let base = 1 + standing_above(score) + tie;
        let bounds = base + from.climbers_above(score)..=base + to.climbers_above(score);
        assert!(bounds.contains(&row.rank), "{kind:?} {row:?}: {bounds:?}");
    }

    let from = climbers.at_least();
    let members = sharded.count();
    let to = climbers.at_most();
    assert!((from.members()..=to.members()).contains(&members), "{members}");

    let from = climbers.at_least();
    let percentile = sharded.percentile(&member).expect("a member");
    let to = climbers.at_most();
    // Not worse are the better ones, and the equals, which are two.
    let not_worse = |moment: &Moment| (standing_above(score) + 2 + moment.climbers_above(score)) as f64;
    let least = 100.0 * (1.0 - not_worse(&to) / from.members() as f64);
    let most = 100.0 * (1.0 - not_worse(&from) / to.members() as f64);
    assert!((least - 1e-9..=most + 1e-9).contains(&percentile), "{percentile}: {least} to {most}");

    let from = climbers.at_least();
    let rows = sharded.top(30, RankKind::Ordinal);
    let to = climbers.at_most();
    assert_eq!(rows.len(), 30);
    check_rows(&rows, Some(1), &from, &to);

    let start = 1 + dice.roll(STANDING as usize) as u64;
    let from = climbers.at_least();
    let rows = sharded.range(start, 20, RankKind::Ordinal);
    let to = climbers.at_most();
    assert_eq!(rows.len(), 20);
    check_rows(&rows, Some(start), &from, &to);

    let from = climbers.at_least();
    let rows = sharded.around(&member, 10, RankKind::Ordinal).expect("a member");
    let to = climbers.at_most();
    assert!(rows.iter().any(|row| row.member == member), "{rows:?}");
    check_rows(&rows, None, &from, &to);
}

/// Of those with the same score the greater name is first.
fn equals_before(score: i64, member: &[u8]) -> u64 {
    (score..score + 2).filter(|number| standing(*number).1.as_slice() > member).count() as u64
}

on_every_server! {
    fn answers_during_writes_were_true_meanwhile(server: Server) {
        for schema in ["FIELD a INT", "FIELD a", "FIELD a RANGE -10 10000000"] {
            let mut con = server.connect();
            expect(&mut con, "FLUSHALL", "+OK");
            let keys = keys_of(&mut con, "many", SHARDS);
            for (shard, key) in keys.iter().enumerate() {
                expect(&mut con, &format!("RANK.CREATE {} {schema} SHARD {shard} {SHARDS}", String::from_utf8_lossy(key)), "+OK");
            }
            let climbers = Arc::new(Climbers::new());
            let write = |con: &mut Connection, keys: &[Vec<u8>], score: i64, member: &[u8]| {
                let key = keys[crc16(member) % SHARDS].clone();
                must(con, &[b"RANK.ADD".to_vec(), key, score.to_string().into_bytes(), member.to_vec()]);
                true
            };
            for (score, member) in climbers.first_writes() {
                write(&mut con, &keys, score, &member);
            }
            let stop = Arc::new(AtomicBool::new(false));
            let writers = (0..2).map(|writer| {
                let (climbers, stop, keys, mut con) = (climbers.clone(), stop.clone(), keys.clone(), server.connect());
                thread::spawn(move || {
                    let mut dice = Dice::new(writer as u64);
                    let mut steps = 0_u64;
                    while !stop.load(Ordering::Relaxed) {
                        // Each climber is one writer's.
                        let at = dice.roll(CLIMBERS / 2) * 2 + writer;
                        climbers.step(at, &mut dice, &mut |score, member| write(&mut con, &keys, score, member));
                        steps += 1;
                    }
                    steps
                })
            });
            let writers: Vec<_> = writers.collect();
            let mut dice = Dice::new(3);
            for _ in 0..10 {
                check_answers(&mut con, "many", schema, &climbers, &mut dice);
            }
            stop.store(true, Ordering::Relaxed);
            let steps: u64 = writers.into_iter().map(|writer| writer.join().expect("no writer fails")).sum();
            assert!(steps > 0);
            climbers.check(&mut con, "many", schema);
            println!("{schema}: ten rounds of questions during {steps} writes");
        }
    }
}
