//! Random operations on boards of every layout, with a schema and without, step by step compared with a model too simple to
//! be wrong; with values that fit their score, values that do not, and both, in the small encoding and the large.

use std::cmp::Ordering;

use redis::{Connection, Value};

use crate::script::Dice;
use crate::support::boards::replyv;
use crate::support::codes::{is_special, Coder};
use crate::support::stored::info;
use crate::support::*;
use crate::workload::verify;

const SINCE: i64 = 1_700_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Int,
    Float,
}

/// A value: an `INT` is itself, a `FLOAT` is so many ten-millionths, so that sums are exact as the server has them or not
/// at all: increments are whole.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Score {
    Int(i64),
    Float(f64),
}

impl Score {
    fn text(self) -> String {
        match self {
            Score::Int(value) => value.to_string(),
            Score::Float(value) => value.to_string(),
        }
    }

    fn shown(self) -> String {
        match self {
            Score::Int(value) => value.to_string(),
            Score::Float(value) => format!("\"{value}\""),
        }
    }

    fn order(self, other: Score) -> Ordering {
        self.partial_cmp(&other).expect("no NaN")
    }
}

#[derive(Clone, Debug)]
struct Row {
    name: Vec<u8>,
    scores: Vec<Score>,
    time: i64,
}

/// Which values a board is given.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Fit,
    Long,
    Mixed,
}

#[derive(Clone)]
struct Model {
    schema: &'static str,
    /// Type, and whether lower is better.
    fields: Vec<(Type, bool)>,
    /// `FIRST`, `LAST`, `JOINED`, or nothing.
    ties: &'static str,
    unit: i64,
    keep: Option<usize>,
    best: bool,
    mode: Mode,
    rows: Vec<Row>,
}

type Words = Vec<Vec<u8>>;
/// A member, its scores and its time.
type Pair = (Vec<u8>, Vec<Option<Score>>, i64);

fn name(bytes: &[u8]) -> String {
    show(&Value::BulkString(bytes.to_vec()))
}

fn list<T: AsRef<str>>(items: &[T]) -> String {
    format!("[{}]", items.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", "))
}

impl Model {
    fn new(schema: &'static str, mode: Mode) -> Model {
        // Without a schema there is one FLOAT.
        let mut fields = if schema.is_empty() { vec![(Type::Float, false)] } else { Vec::new() };
        for field in schema.split("FIELD ").skip(1) {
            let own = field.split("TIES").next().unwrap_or_default();
            fields.push((if own.contains("INT") { Type::Int } else { Type::Float }, own.contains("ASC")));
        }
        let ties = ["FIRST", "LAST", "JOINED"].into_iter().find(|rule| schema.contains(&format!("TIES {rule}")));
        let keep = schema.split("KEEP ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        let unit = if schema.contains(" S ") { 1000 } else { 1 };
        let best = schema.contains("UPDATE BEST");
        Model { schema, fields, ties: ties.unwrap_or_default(), unit, keep, best, mode, rows: Vec::new() }
    }

    fn fields_order(&self, a: &[Score], b: &[Score]) -> Ordering {
        let mut order = Ordering::Equal;
        for ((_, ascending), (a, b)) in self.fields.iter().zip(a.iter().zip(b)) {
            order = order.then(if *ascending { a.order(*b) } else { b.order(*a) });
        }
        order
    }

    /// Best first, names aside.
    fn order(&self, (a, at): (&[Score], i64), (b, bt): (&[Score], i64)) -> Ordering {
        self.fields_order(a, b).then(match self.ties {
            "" => Ordering::Equal,
            "LAST" => bt.cmp(&at),
            _ => at.cmp(&bt),
        })
    }

    /// Names are in the sorted set's own order, read from the board's end.
    fn whole_order(&self, a: &Row, b: &Row) -> Ordering {
        let names = if self.fields[0].1 { a.name.cmp(&b.name) } else { b.name.cmp(&a.name) };
        self.order((&a.scores, a.time), (&b.scores, b.time)).then(names)
    }

    fn sorted(&self) -> Vec<Row> {
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| self.whole_order(a, b));
        rows
    }

    fn find(&self, name: &[u8]) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    fn default_kind(&self) -> &'static str {
        if self.ties.is_empty() {
            "COMPETITION"
        } else {
            "ORDINAL"
        }
    }

    fn rank(&self, row: &Row, kind: &str) -> usize {
        if kind == "ORDINAL" {
            return 1 + self.rows.iter().filter(|other| self.whole_order(other, row).is_lt()).count();
        }
        self.rank_of(&row.scores, kind)
    }

    fn rank_of(&self, scores: &[Score], kind: &str) -> usize {
        let mut better: Vec<&[Score]> = self.rows.iter().map(|row| row.scores.as_slice()).collect();
        better.retain(|other| self.fields_order(other, scores).is_lt());
        if kind == "DENSE" {
            better.sort_by(|a, b| self.fields_order(a, b));
            better.dedup();
        }
        1 + better.len()
    }

    fn shown(&self, row: &Row, kind: &str, with_time: bool) -> String {
        let mut parts = vec![self.rank(row, kind).to_string(), name(&row.name)];
        parts.extend(row.scores.iter().map(|score| score.shown()));
        if with_time {
            parts.push(if self.ties.is_empty() { "nil".into() } else { row.time.to_string() });
        }
        list(&parts)
    }

    fn shown_rows(&self, from: usize, to: usize, kind: &str) -> String {
        let rows = self.sorted();
        let to = to.min(rows.len());
        list(&rows[from.min(to)..to].iter().map(|row| self.shown(row, kind, false)).collect::<Vec<_>>())
    }

    fn shown_scores(&self, scores: &[Score]) -> String {
        match scores {
            [one] => one.shown(),
            _ => list(&scores.iter().map(|score| score.shown()).collect::<Vec<_>>()),
        }
    }

    fn group(&self, scores: &[Score], kind: &str) -> String {
        let mut rows: Vec<Row> = self.sorted().into_iter().filter(|row| row.scores == scores).collect();
        if self.ties.is_empty() {
            rows.sort_by(|a, b| a.name.cmp(&b.name));
        }
        let kind = if kind == "DENSE" { kind } else { "COMPETITION" };
        let names: Vec<String> = rows.iter().map(|row| name(&row.name)).collect();
        format!("[{}, {}]", self.rank_of(scores, kind), list(&names))
    }

    /// As the rules have it, whether the member is new or not.
    fn put(&mut self, member: &[u8], scores: Vec<Score>, at: i64, keep: Option<usize>) {
        let time = at / self.unit * self.unit;
        if let Some(row) = self.rows.iter_mut().find(|row| row.name == member) {
            if row.scores != scores {
                row.time = if self.ties == "JOINED" { row.time } else { time };
                row.scores = scores;
            }
            return;
        }
        if keep.is_some_and(|keep| self.rows.len() >= keep) {
            let worst = self.sorted().pop().expect("a full board has members");
            if !self.order((&scores, time), (&worst.scores, worst.time)).is_lt() {
                return;
            }
            self.rows.retain(|row| row.name != worst.name);
        }
        self.rows.push(Row { name: member.to_vec(), scores, time });
    }

    fn is_long(&self, dice: &mut Dice) -> bool {
        match self.mode {
            Mode::Fit => false,
            Mode::Long => true,
            Mode::Mixed => dice.once_in(2),
        }
    }

    fn scores(&self, dice: &mut Dice) -> Vec<Score> {
        let long = self.is_long(dice);
        let fields = self.fields.iter();
        fields
            .map(|(kind, _)| {
                let small = dice.roll(4) as i64;
                match (kind, long) {
                    (Type::Int, false) => Score::Int(small - 1),
                    (Type::Int, true) => {
                        Score::Int([i64::MAX / 2, i64::MIN / 2, 1_234_567_890_123][small as usize % 3] + small)
                    }
                    (Type::Float, false) => Score::Float(small as f64 / 2.0 - 0.5),
                    (Type::Float, true) => Score::Float(small as f64 - 1.0 + 0.123_456_7),
                }
            })
            .collect()
    }

    fn at(&self, dice: &mut Dice) -> i64 {
        let step = dice.roll(4) as i64 * self.unit + dice.roll(2) as i64;
        let start = match self.is_long(dice) {
            true => [5, SINCE - 10_000_000, SINCE + (1 << 52)][dice.roll(3)],
            false => SINCE,
        };
        start + step
    }

    fn name(&self, dice: &mut Dice) -> Vec<u8> {
        const ODD: [&[u8]; 5] = [b"", b"\0a", b"\x01\0m1", b"\x02\0m1", b"\xff"];
        match dice.roll(24) {
            odd @ 0..=4 => ODD[odd].to_vec(),
            number => format!("m{number}").into_bytes(),
        }
    }

    fn words(command: &str, words: &[&str]) -> Words {
        let mut all = vec![format!("RANK.{command}").into_bytes(), b"k".to_vec()];
        all.extend(words.iter().filter(|word| !word.is_empty()).map(|word| word.as_bytes().to_vec()));
        all
    }

    fn push_scores(words: &mut Words, scores: &[Score]) {
        words.extend(scores.iter().map(|score| score.text().into_bytes()));
    }

    /// A random write, and its reply.
    fn write(&mut self, dice: &mut Dice) -> (Words, String) {
        let member = self.name(dice);
        let at = self.at(dice);
        match dice.roll(24) {
            0 | 1 => {
                let mut words = Model::words("REM", &[]);
                words.push(member.clone());
                let count = usize::from(self.find(&member).is_some());
                self.rows.retain(|row| row.name != member);
                (words, count.to_string())
            }
            2 => {
                let n = 6 + dice.roll(10);
                let gone: Vec<Row> = self.sorted().into_iter().skip(n).collect();
                self.rows.retain(|row| gone.iter().all(|other| other.name != row.name));
                let gone: Vec<String> = gone.iter().map(|row| name(&row.name)).collect();
                (Model::words("TRIM", &[&n.to_string(), "RETURN"]), list(&gone))
            }
            3 => {
                let (n, worst) = (dice.roll(3), dice.once_in(2));
                let mut rows = self.sorted();
                if worst {
                    rows.reverse();
                }
                rows.truncate(n);
                let shown: Vec<String> = rows.iter().map(|row| self.shown(row, self.default_kind(), true)).collect();
                self.rows.retain(|row| rows.iter().all(|other| other.name != row.name));
                let worst = if worst { "WORST" } else { "" };
                (Model::words("POP", &[&n.to_string(), worst, "WITHTIME"]), list(&shown))
            }
            4 if dice.once_in(10) => {
                // Times are counted from now on afterwards: they are as exact as before, and longer.
                let count = self.rows.len();
                self.rows.clear();
                (Model::words("CLEAR", &[]), count.to_string())
            }
            5..=7 => {
                let deltas: Vec<i64> = self.fields.iter().map(|_| dice.roll(3) as i64 - 1).collect();
                let old = self.find(&member).map(|row| row.scores.clone());
                let add = |(at, delta): (usize, &i64)| match (old.as_ref().map(|old| old[at]), self.fields[at].0) {
                    (Some(Score::Int(old)), _) => Score::Int(old + delta),
                    (Some(Score::Float(old)), _) => Score::Float(old + *delta as f64 + 0.0),
                    (None, Type::Int) => Score::Int(*delta),
                    (None, Type::Float) => Score::Float(*delta as f64 + 0.0),
                };
                let sums: Vec<Score> = deltas.iter().enumerate().map(add).collect();
                let before = self.clone();
                let ranks = dice.pick(&["", "", "WITHRANK"]);
                let mut words = Model::words("INCR", &[ranks, "AT", &at.to_string()]);
                words.extend(deltas.iter().map(|delta| delta.to_string().into_bytes()));
                words.push(member.clone());
                self.put(&member, sums, at, self.keep);
                let reply = |row: &Row| match ranks {
                    "" => self.shown_scores(&row.scores),
                    _ => self.change(&before, &member),
                };
                (words, self.find(&member).map_or("nil".into(), reply))
            }
            8 | 9 => self.load(dice),
            _ => self.add(dice, at),
        }
    }

    /// A name that is given twice is written once, with what its pairs result in. A missing score keeps the field as it is.
    fn write_pairs(&mut self, pairs: &[Pair], condition: &str, best: bool, keep: Option<usize>) {
        for (number, (member, ..)) in pairs.iter().enumerate() {
            if pairs[..number].iter().any(|(other, ..)| other == member) {
                continue;
            }
            let before = self.find(member).map(|row| (row.scores.clone(), row.time));
            let mut result = before.clone();
            for (_, scores, at) in pairs.iter().filter(|(other, ..)| other == member) {
                let old = result.as_ref().map(|(scores, _)| scores);
                let start = |number: usize| match self.fields[number].0 {
                    Type::Int => Score::Int(0),
                    Type::Float => Score::Float(0.0),
                };
                let kept = |number: usize| old.map_or_else(|| start(number), |old| old[number]);
                let scores: Vec<Score> =
                    scores.iter().enumerate().map(|(number, score)| score.unwrap_or_else(|| kept(number))).collect();
                let wanted = match condition {
                    "NX" => old.is_none(),
                    "XX" => old.is_some(),
                    _ => true,
                };
                let is_better = |old: &Vec<Score>| self.fields_order(&scores, old).is_lt();
                if wanted && old.is_none_or(|old| *old != scores && (!best || is_better(old))) {
                    let joined = result.as_ref().filter(|_| self.ties == "JOINED").map(|(_, time)| *time);
                    result = Some((scores, joined.unwrap_or(*at)));
                }
            }
            if let Some((scores, at)) = result.filter(|(scores, _)| before.is_none_or(|(before, _)| before != *scores))
            {
                self.put(member, scores, at, keep);
            }
        }
    }

    fn load(&mut self, dice: &mut Dice) -> (Words, String) {
        let before = self.clone();
        let nx = dice.once_in(3);
        let mut words = Model::words("LOAD", &[if nx { "NX" } else { "" }]);
        let mut pairs = Vec::new();
        for _ in 0..1 + dice.roll(4) {
            let (member, scores, at) = (format!("m{}", dice.roll(24)), self.scores(dice), self.at(dice));
            let fields: Vec<String> =
                scores.iter().enumerate().map(|(at, score)| format!("\"f{at}\":{}", score.text())).collect();
            let scores_of_line = match scores.as_slice() {
                [one] => format!("\"score\":{}", one.text()),
                _ => format!("\"scores\":{{{}}}", fields.join(",")),
            };
            words.push(format!(r#"{{"member":"{member}",{scores_of_line},"time":{at}}}"#).into_bytes());
            pairs.push((member.into_bytes(), scores.into_iter().map(Some).collect(), at));
        }
        self.write_pairs(&pairs, if nx { "NX" } else { "" }, self.best && !nx, self.keep);
        let added = self.rows.iter().filter(|row| before.find(&row.name).is_none()).count();
        (words, added.to_string())
    }

    fn add(&mut self, dice: &mut Dice, at: i64) -> (Words, String) {
        let before = self.clone();
        let condition = dice.pick(&["", "", "NX", "XX"]);
        let rule = if condition == "NX" { "" } else { dice.pick(&["", "", "SET", "BEST"]) };
        let best = rule == "BEST" || (rule.is_empty() && self.best && condition != "NX");
        let own = self.rows.len().max(1) + dice.roll(3);
        let keep = if self.keep.is_none() && dice.once_in(5) { Some(own) } else { self.keep };
        let bound = if keep != self.keep { own.to_string() } else { String::new() };
        let (ch, ranks) = (dice.pick(&["", "CH"]), dice.pick(&["", "", "WITHRANK"]));
        let fields = self.fields.len();
        let declared = if dice.once_in(3) && !self.schema.is_empty() { format!("{fields}") } else { String::new() };
        let board = if declared.is_empty() { "" } else { "BOARD" };
        let keep_word = if bound.is_empty() { "" } else { "KEEP" };
        let options = [board, &declared, condition, rule, keep_word, &bound, ch, ranks, "AT", &at.to_string()];
        let (mut words, mut members) = (Model::words("ADD", &options), Vec::new());
        let mut pairs: Vec<Pair> = Vec::new();
        for _ in 0..1 + dice.roll(3) {
            let (member, scores) = (self.name(dice), self.scores(dice));
            // One field is always written.
            let (some_are_kept, written) = (dice.once_in(3), dice.roll(fields));
            let mut given = Vec::new();
            for (number, score) in scores.into_iter().enumerate() {
                let is_kept = some_are_kept && number != written && dice.once_in(2);
                words.push(if is_kept { b"*".to_vec() } else { score.text().into_bytes() });
                given.push(Some(score).filter(|_| !is_kept));
            }
            words.push(member.clone());
            members.push(member.clone());
            pairs.push((member, given, at));
        }
        self.write_pairs(&pairs, condition, best, keep);
        if !ranks.is_empty() {
            let changes: Vec<String> = members.iter().map(|member| self.change(&before, member)).collect();
            return (words, list(&changes));
        }
        let counts = |row: &&Row| match before.find(&row.name) {
            None => true,
            Some(then) => !ch.is_empty() && then.scores != row.scores,
        };
        let count = self.rows.iter().filter(counts).count();
        (words, count.to_string())
    }

    /// A row of `WITHRANK`.
    fn change(&self, before: &Model, member: &[u8]) -> String {
        let both = [self, before].map(|board| (board, board.find(member)));
        let rank = |(board, row): &(&Model, Option<&Row>)| {
            row.map_or("nil".into(), |row| board.rank(row, board.default_kind()).to_string())
        };
        let scores = |(_, row): &(&Model, Option<&Row>)| match row {
            Some(row) => row.scores.iter().map(|score| score.shown()).collect(),
            None => vec!["nil".to_string(); self.fields.len()],
        };
        let mut parts: Vec<String> = both.iter().map(rank).chain([name(member)]).collect();
        parts.extend(both.iter().flat_map(scores));
        list(&parts)
    }

    /// A random read.
    fn read(&self, dice: &mut Dice) -> (Words, String) {
        let kind = dice.pick(&["COMPETITION", "DENSE", "ORDINAL"]);
        let (member, other) = (self.name(dice), self.name(dice));
        let row = self.find(&member);
        let sorted = self.sorted();
        let position = row.and_then(|row| sorted.iter().position(|other| other.name == row.name)).unwrap_or(0);
        let or_nil = |reply: &dyn Fn(&Row) -> String| row.map_or("nil".into(), reply);
        let about = |command: &str, words: &[&str]| {
            let mut all = Model::words(command, &[]);
            all.push(member.clone());
            all.extend(words.iter().map(|word| word.as_bytes().to_vec()));
            all
        };
        let scores = self.scores(dice);
        match dice.roll(18) {
            0 => (about("GET", &[kind, "WITHTIME"]), or_nil(&|row| self.shown(row, kind, true))),
            1 => (about("SCORE", &[]), or_nil(&|row| self.shown_scores(&row.scores))),
            2 => (about("QUERY", &[kind]), or_nil(&|row| self.group(&row.scores, kind))),
            3 => {
                let mut groups: Vec<Vec<Score>> = sorted.iter().map(|row| row.scores.clone()).collect();
                groups.dedup();
                let shown: Vec<String> = groups.iter().map(|scores| self.group(scores, kind)).collect();
                (Model::words("STATS", &[kind]), if shown.is_empty() { "nil".into() } else { list(&shown) })
            }
            4 => {
                let n = dice.roll(30);
                (Model::words("TOPN", &[&n.to_string(), kind]), self.shown_rows(0, n, kind))
            }
            5 => {
                let (start, stop) = (1 + dice.roll(12), 1 + dice.roll(12));
                let end = (sorted.len() + 1).saturating_sub(stop).max(start - 1);
                let words = Model::words("RANGE", &[&start.to_string(), &format!("-{stop}"), kind]);
                (words, self.shown_rows(start - 1, end, kind))
            }
            6 => {
                let (page, size) = (1 + dice.roll(4), 1 + dice.roll(8));
                let rows = self.shown_rows((page - 1) * size, page * size, kind);
                let words = Model::words("PAGE", &[&page.to_string(), &size.to_string(), kind]);
                (words, format!("[{page}, {}, {}, {rows}]", sorted.len().div_ceil(size), sorted.len()))
            }
            7 => {
                let distance = dice.roll(5);
                let rows = |_: &Row| self.shown_rows(position.saturating_sub(distance), position + distance + 1, kind);
                (about("AROUND", &[&distance.to_string(), kind]), or_nil(&rows))
            }
            8 | 9 => {
                // Bounds on the first field, one of them exclusive.
                let (mut low, mut high) = (scores[0], self.scores(dice)[0]);
                if low.order(high).is_gt() {
                    std::mem::swap(&mut low, &mut high);
                }
                let within = |row: &Row| row.scores[0].order(low).is_gt() && row.scores[0].order(high).is_le();
                let bounds = [format!("({}", low.text()), high.text()];
                let rows: Vec<&Row> = sorted.iter().filter(|row| within(row)).collect();
                if dice.once_in(2) {
                    return (Model::words("COUNT", &[&bounds[0], &bounds[1]]), rows.len().to_string());
                }
                let rows: Vec<String> = rows.iter().map(|row| self.shown(row, kind, false)).collect();
                (Model::words("BYSCORE", &[&bounds[0], &bounds[1], kind]), list(&rows))
            }
            10 => {
                let mut words = Model::words("AMONG", &["2"]);
                words.extend([member.clone(), other.clone(), b"COMPETITION".to_vec()]);
                let mut found: Vec<&Row> = [&member, &other].iter().filter_map(|name| self.find(name)).collect();
                found.sort_by(|a, b| self.whole_order(a, b));
                found.dedup_by(|a, b| a.name == b.name);
                let place = |row: &Row| {
                    1 + found.iter().filter(|it| self.fields_order(&it.scores, &row.scores).is_lt()).count()
                };
                let rows: Vec<String> = found
                    .iter()
                    .map(|row| format!("[{}, {}", place(row), &self.shown(row, "COMPETITION", false)[1..]))
                    .collect();
                (words, list(&rows))
            }
            11 => {
                let mut words = Model::words("FORSCORE", &[]);
                Model::push_scores(&mut words, &scores);
                words.push(kind.as_bytes().to_vec());
                let equals = self.rows.iter().filter(|row| row.scores == scores).count();
                // Behind its equals; on a LAST board before them.
                let behind = if kind == "ORDINAL" && self.ties != "LAST" { equals } else { 0 };
                let kind = if kind == "ORDINAL" { "COMPETITION" } else { kind };
                (words, (self.rank_of(&scores, kind) + behind).to_string())
            }
            12 | 13 => {
                // A place with a time and a name, where somebody is or not.
                let place = match row {
                    Some(row) if dice.once_in(2) => row.clone(),
                    _ => Row { name: member.clone(), scores, time: self.at(dice) / self.unit * self.unit },
                };
                let is_after = dice.once_in(2);
                let mut words = Model::words(if is_after { "AFTER" } else { "BEFORE" }, &["3"]);
                Model::push_scores(&mut words, &place.scores);
                if !self.ties.is_empty() {
                    words.extend([b"AT".to_vec(), place.time.to_string().into_bytes()]);
                }
                words.extend([b"MEMBER".to_vec(), place.name.clone(), kind.as_bytes().to_vec()]);
                let before = sorted.iter().filter(|row| self.whole_order(row, &place).is_lt()).count();
                let there = usize::from(sorted.iter().any(|row| self.whole_order(row, &place).is_eq()));
                let (from, to) =
                    if is_after { (before + there, before + there + 3) } else { (before.saturating_sub(3), before) };
                (words, self.shown_rows(from, to, kind))
            }
            14 => {
                let worse = |row: &Row| {
                    let worse = self.rows.iter().filter(|other| self.fields_order(&row.scores, &other.scores).is_lt());
                    format!("\"{}\"", 100.0 * worse.count() as f64 / self.rows.len() as f64)
                };
                (about("PERCENTILE", &[]), or_nil(&worse))
            }
            15 => {
                let distance = dice.roll(5);
                let from = position.saturating_sub(distance).min(sorted.len().saturating_sub(2 * distance + 1));
                let rows = |_: &Row| self.shown_rows(from, from + 2 * distance + 1, kind);
                (about("AROUND", &[&distance.to_string(), "FILL", kind]), or_nil(&rows))
            }
            16 if self.fields.len() == 1 && self.mode == Mode::Fit => {
                let quarter = dice.roll(5);
                let place = quarter * sorted.len().saturating_sub(1);
                let score = |place: usize| match sorted.iter().rev().nth(place)?.scores[0] {
                    Score::Int(score) => Some(score as f64),
                    Score::Float(score) => Some(score),
                };
                let between = score(place / 4)
                    .map(|low| low + (score(place / 4 + 1).unwrap_or(low) - low) * (place % 4) as f64 / 4.0);
                let shown = between.map_or("nil".into(), |score| format!("\"{score}\""));
                (Model::words("SCOREAT", &[&(quarter * 25).to_string()]), shown)
            }
            _ => (Model::words("COUNT", &[]), self.rows.len().to_string()),
        }
    }

    /// How many members have index entries, by the plain reading of the format.
    fn overflow(&self, since: i64) -> usize {
        let is_plain = self.ties.is_empty() && matches!(self.fields[..], [(Type::Float, _)]);
        if is_plain {
            return 0;
        }
        // CLEAR has given the board another one.
        let coder = Coder::new(&self.schema.replace("SINCE 1700000000000", ""), since);
        let is_long = |row: &&Row| {
            let scores: Vec<String> = row.scores.iter().map(|score| score.text()).collect();
            is_special(&row.name) || coder.code(&scores, row.time).len() > 63
        };
        self.rows.iter().filter(is_long).count()
    }
}

const SCHEMAS: &[&str] = &[
    "",
    "FIELD f0 FLOAT KEEP 12",
    "FIELD f0 ASC FLOAT UPDATE BEST",
    "FIELD f0 ASC INT KEEP 12 UPDATE BEST",
    "FIELD f0 INT FIELD f1 ASC INT",
    "FIELD f0 ASC FLOAT FIELD f1 INT KEEP 9",
    "FIELD f0 INT FIELD f1 INT FIELD f2 FLOAT TIES FIRST SINCE 1700000000000 UPDATE BEST",
    "FIELD f0 FLOAT FIELD f1 INT TIES LAST S SINCE 1700000000000 KEEP 8",
    "FIELD f0 ASC INT FIELD f1 ASC FLOAT TIES JOINED SINCE 1700000000000",
];

fn compare(con: &mut Connection, model: &mut Model, dice: &mut Dice, steps: usize) {
    for step in 0..steps {
        let before = model.clone();
        let (words, expected) = if dice.once_in(2) { model.write(dice) } else { model.read(dice) };
        let got = replyv(con, &words);
        let line = words.join(&b' ').escape_ascii().to_string();
        assert!(
            got == expected,
            "step {step} of {} with {:?}\n  before: {:?}\n command: {line}\n     got: {got}\nexpected: {expected}\n",
            model.schema,
            model.mode,
            before.sorted()
        );
    }
    let all = model.shown_rows(0, usize::MAX, "COMPETITION");
    assert_eq!(reply(con, "RANK.TOPN k 999999 COMPETITION"), all, "{}", model.schema);
    assert_eq!(verify(con, b"k", false), [0; 5], "{}", model.schema);
    if model.schema.is_empty() {
        return;
    }
    let since = info(con, "k", "since").parse().unwrap_or(0);
    assert_eq!(info(con, "k", "overflow"), model.overflow(since).to_string(), "{}", model.schema);
}

on_every_server! {
    fn every_command_answers_as_the_model_does(server: Server) {
        let mut con = server.connect();
        let steps = if server_wrapper().is_some() { 40 } else { 1000 };
        for (number, schema) in SCHEMAS.iter().enumerate() {
            for (at, mode) in [Mode::Fit, Mode::Long, Mode::Mixed].into_iter().enumerate() {
                // Always the large encoding, the small one, and one that grows too large in between.
                for (entries, value) in [(0, 64), (128, 1000), (14, 1000)] {
                    expect(&mut con, &format!("CONFIG SET zset-max-listpack-entries {entries} zset-max-listpack-value {value}"), "+OK");
                    expect(&mut con, "FLUSHALL", "+OK");
                    if !schema.is_empty() {
                        expect(&mut con, &format!("RANK.CREATE k {schema}"), "+OK");
                    }
                    let mut model = Model::new(schema, mode);
                    compare(&mut con, &mut model, &mut Dice::new((number * 100 + at * 10 + entries) as u64), steps);
                }
            }
        }
    }

    /// Beyond the size at which ranks are counted in another way where that is quicker.
    fn ranks_on_a_large_board_agree_with_a_naive_count(server: Server) {
        const MEMBERS: usize = 60_000;
        let mut con = server.connect();
        let mut dice = Dice::new(60);
        expect(&mut con, "RANK.CREATE packed FIELD a BITS 20 FIELD b BITS 20 FIELD c BITS 20", "+OK");
        let scores: Vec<f64> = (0..MEMBERS).map(|_| dice.roll(40_000) as f64 / 4.0 - 2_000.0).collect();
        let tuples: Vec<[usize; 3]> =
            (0..MEMBERS).map(|_| [dice.roll(40), dice.roll(1 << 20), dice.roll(2)]).collect();
        for first in (0..MEMBERS).step_by(1000) {
            let (mut plain, mut packed) = (String::new(), String::new());
            for i in first..first + 1000 {
                let [a, b, c] = tuples[i];
                plain += &format!(" {} m{i}", scores[i]);
                packed += &format!(" {a} {b} {c} m{i}");
            }
            expect(&mut con, &format!("RANK.ADD plain{plain}"), "1000");
            expect(&mut con, &format!("RANK.ADD packed{packed}"), "1000");
        }
        for _ in 0..200 {
            let i = dice.roll(MEMBERS);
            let better = scores.iter().filter(|score| **score > scores[i]).count();
            expect(&mut con, &format!("RANK.GET plain m{i}"), &format!("[{}, \"m{i}\", \"{}\"]", better + 1, scores[i]));
            expect(&mut con, &format!("RANK.FORSCORE plain {}", scores[i]), &format!("{}", better + 1));
            let above = scores.iter().filter(|score| **score >= scores[i]).count();
            expect(&mut con, &format!("RANK.COUNT plain {} inf", scores[i]), &format!("{above}"));
            expect(&mut con, &format!("RANK.COUNT plain ({} inf", scores[i]), &format!("{better}"));
            let ([a, b, c], better) = (tuples[i], tuples.iter().filter(|tuple| **tuple > tuples[i]).count());
            expect(&mut con, &format!("RANK.GET packed m{i}"), &format!("[{}, \"m{i}\", {a}, {b}, {c}]", better + 1));
        }
    }
}
