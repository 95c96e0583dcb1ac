//! Random operations on a real server, step by step compared with a model too simple to be wrong.

use redis::Connection;

use crate::script::Dice;
use crate::support::*;

/// A plain board: all members in a list, sorted whenever somebody looks.
#[derive(Clone)]
struct Model {
    members: Vec<(String, f64)>,
    ascending: bool,
    keep: Option<usize>,
    best: bool,
}

impl Model {
    /// Best first; equal scores in the sorted set's own order, read from the board's end.
    fn sorted(&self) -> Vec<(String, f64)> {
        let mut rows = self.members.clone();
        rows.sort_by(|(a, x), (b, y)| x.total_cmp(y).then(a.cmp(b)));
        if !self.ascending {
            rows.reverse();
        }
        rows
    }

    fn better(&self, a: f64, b: f64) -> bool {
        if self.ascending {
            a < b
        } else {
            a > b
        }
    }

    fn score(&self, member: &str) -> Option<f64> {
        self.members.iter().find(|(name, _)| name == member).map(|&(_, score)| score)
    }

    fn remove(&mut self, member: &str) -> bool {
        let before = self.members.len();
        self.members.retain(|(name, _)| name != member);
        self.members.len() < before
    }

    fn trim(&mut self, keep: usize) -> Vec<String> {
        let gone: Vec<String> = self.sorted().into_iter().skip(keep).map(|(name, _)| name).collect();
        self.members.retain(|(name, _)| !gone.contains(name));
        gone
    }

    fn put(&mut self, member: &str, score: f64) {
        if let Some(row) = self.members.iter_mut().find(|(name, _)| name == member) {
            row.1 = score;
            return;
        }
        if self.keep.is_some_and(|keep| self.members.len() >= keep) {
            let worst = self.sorted().last().map(|&(_, score)| score);
            if !worst.is_some_and(|worst| self.better(score, worst)) {
                return;
            }
            self.trim(self.members.len() - 1);
        }
        self.members.push((member.into(), score));
    }

    fn rank(&self, score: f64, kind: &str, member: Option<&str>) -> usize {
        let mut above: Vec<f64> = self.members.iter().map(|&(_, s)| s).filter(|&s| self.better(s, score)).collect();
        above.sort_by(f64::total_cmp);
        match (kind, member) {
            ("DENSE", _) => above.dedup(),
            ("ORDINAL", Some(member)) => {
                return 1 + self.sorted().iter().take_while(|(name, _)| name != member).count()
            }
            ("ORDINAL", None) => return 1 + self.members.iter().filter(|&&(_, s)| !self.better(score, s)).count(),
            _ => (),
        }
        1 + above.len()
    }

    fn rows(&self, from: usize, to: usize, kind: &str) -> String {
        let rows = self.sorted();
        let to = to.min(rows.len());
        let row = |(name, score): &(String, f64)| {
            format!("[{}, \"{name}\", \"{score}\"]", self.rank(*score, kind, Some(name)))
        };
        let shown: Vec<String> = rows[from.min(to)..to].iter().map(row).collect();
        format!("[{}]", shown.join(", "))
    }

    fn group(&self, score: f64, kind: &str) -> String {
        let mut names: Vec<&str> =
            self.members.iter().filter(|(_, s)| *s == score).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        // The first of the group has the group's position.
        let kind = if kind == "ORDINAL" { "COMPETITION" } else { kind };
        format!(
            "[{}, [{}]]",
            self.rank(score, kind, None),
            names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
        )
    }

    fn groups(&self, kind: &str) -> String {
        let mut scores: Vec<f64> = self.sorted().into_iter().map(|(_, score)| score).collect();
        scores.dedup();
        let groups: Vec<String> = scores.into_iter().map(|score| self.group(score, kind)).collect();
        if groups.is_empty() {
            "nil".into()
        } else {
            format!("[{}]", groups.join(", "))
        }
    }

    /// A random write: the command without the key, and its reply.
    fn write(&mut self, dice: &mut Dice, names: usize) -> (String, String) {
        let name = format!("m{:03}", dice.roll(names));
        let score = dice.roll(60) as f64 / 2.0 - 10.0;
        match dice.roll(20) {
            0 | 1 => (format!("REM {name}"), usize::from(self.remove(&name)).to_string()),
            2 => {
                let n = names / 2 + dice.roll(names / 2);
                let gone: Vec<String> = self.trim(n).iter().map(|name| format!("\"{name}\"")).collect();
                (format!("TRIM {n} RETURN"), format!("[{}]", gone.join(", ")))
            }
            3 if dice.once_in(20) => ("CLEAR".into(), self.trim(0).len().to_string()),
            4..=6 => {
                let new = self.score(&name).unwrap_or(0.0) + score;
                self.put(&name, new);
                let stored = self.score(&name).map_or("nil".into(), |stored| format!("\"{stored}\""));
                (format!("INCR {score} {name}"), stored)
            }
            _ => self.add(dice, names),
        }
    }

    fn add(&mut self, dice: &mut Dice, names: usize) -> (String, String) {
        let before = self.clone();
        let condition = dice.pick(&["", "", "NX ", "XX "]);
        let rule = if condition == "NX " { "" } else { dice.pick(&["", "", "SET ", "BEST "]) };
        let best = rule == "BEST " || (rule.is_empty() && self.best && condition != "NX ");
        // A bound for this command alone, where the board has none.
        let own_keep = self.keep;
        let keep = self.members.len().max(1) + dice.roll(3);
        let bound = if own_keep.is_none() && dice.once_in(6) { format!("KEEP {keep} ") } else { String::new() };
        if !bound.is_empty() {
            self.keep = Some(keep);
        }
        let (changes, ranks) = (dice.pick(&["", "CH "]), dice.pick(&["", "", "WITHRANK "]));
        let pairs: Vec<(f64, String)> =
            (0..1 + dice.roll(5)).map(|_| (dice.roll(40) as f64 - 10.0, format!("m{:03}", dice.roll(names)))).collect();
        for (score, name) in &pairs {
            let old = self.score(name);
            let wanted = match condition {
                "NX " => old.is_none(),
                "XX " => old.is_some(),
                _ => true,
            };
            if wanted && !(best && old.is_some_and(|old| !self.better(*score, old))) {
                self.put(name, *score);
            }
        }
        self.keep = own_keep;
        let words: String = pairs.iter().map(|(score, name)| format!(" {score} {name}")).collect();
        let command = format!("ADD {condition}{rule}{bound}{changes}{ranks}").trim_end().to_string() + &words;
        if ranks.is_empty() {
            let counts = |&(name, now): &(&String, f64)| match before.score(name) {
                None => true,
                Some(then) => !changes.is_empty() && then != now,
            };
            let count = self.members.iter().map(|(name, now)| (name, *now)).filter(counts).count();
            return (command, count.to_string());
        }
        let rank = |board: &Model, name: &str| match board.score(name) {
            Some(score) => board.rank(score, "", Some(name)).to_string(),
            None => "nil".into(),
        };
        let row = |(_, name): &(f64, String)| {
            let score = |board: &Model| board.score(name).map_or("nil".into(), |score| format!("\"{score}\""));
            format!("[{}, {}, \"{name}\", {}, {}]", rank(self, name), rank(&before, name), score(self), score(&before))
        };
        (command, format!("[{}]", pairs.iter().map(row).collect::<Vec<_>>().join(", ")))
    }

    /// A random read.
    fn read(&self, dice: &mut Dice, names: usize) -> (String, String) {
        let kind = dice.pick(&["COMPETITION", "DENSE", "ORDINAL"]);
        let name = format!("m{:03}", dice.roll(names));
        let (score, len) = (self.score(&name), self.members.len());
        let or_nil = |reply: &dyn Fn(f64) -> String| score.map_or("nil".into(), reply);
        let at = self.sorted().iter().position(|(other, _)| *other == name).unwrap_or(0);
        let bound = dice.roll(40) as f64 - 10.0;
        match dice.roll(14) {
            0 => {
                let row = |score| format!("[{}, \"{name}\", \"{score}\"]", self.rank(score, kind, Some(&name)));
                (format!("GET {name} {kind}"), or_nil(&row))
            }
            1 => (format!("SCORE {name}"), or_nil(&|score| format!("\"{score}\""))),
            2 => (format!("QUERY {name} {kind}"), or_nil(&|score| self.group(score, kind))),
            3 => (format!("STATS {kind}"), self.groups(kind)),
            4 => (format!("TOPN {bound} {kind}").replace("TOPN -", "TOPN "), self.rows(0, bound.abs() as usize, kind)),
            5 => {
                let (start, stop) = (1 + dice.roll(len + 2), 1 + dice.roll(len + 2));
                (
                    format!("RANGE {start} -{stop} {kind}"),
                    self.rows(start - 1, (len + 1).saturating_sub(stop).max(start - 1), kind),
                )
            }
            6 => {
                let (page, size) = (1 + dice.roll(6), 1 + dice.roll(20));
                let pages = len.div_ceil(size);
                (
                    format!("PAGE {page} {size} {kind}"),
                    format!("[{page}, {pages}, {len}, {}]", self.rows((page - 1) * size, page * size, kind)),
                )
            }
            7 => {
                let distance = dice.roll(8);
                let from = at.saturating_sub(distance).min(len.saturating_sub(2 * distance + 1));
                let filled = |_| self.rows(from, from + 2 * distance + 1, kind);
                (format!("AROUND {name} {distance} FILL {kind}"), or_nil(&filled))
            }
            8 => {
                let distance = dice.roll(8);
                let near = |_| self.rows(at.saturating_sub(distance), at + distance + 1, kind);
                (format!("AROUND {name} {distance} {kind}"), or_nil(&near))
            }
            9 => {
                let count = self.members.iter().filter(|(_, score)| *score > bound && *score <= bound + 5.0).count();
                (format!("COUNT ({bound} {}", bound + 5.0), count.to_string())
            }
            10 => {
                let within = |(_, score): &&(String, f64)| *score >= bound && *score < bound + 5.0;
                let rows = self.sorted();
                let from = rows.iter().position(|row| within(&row)).unwrap_or(0);
                let to = from + rows.iter().filter(within).count();
                (format!("BYSCORE {bound} ({} {kind}", bound + 5.0), self.rows(from, to, kind))
            }
            11 => {
                let quarter = dice.roll(5);
                let place = quarter * len.saturating_sub(1);
                let score = |place: usize| self.sorted().iter().rev().nth(place).map(|row| row.1);
                let (low, part) = (score(place / 4), (place % 4) as f64 / 4.0);
                let between = low.map(|low| low + (score(place / 4 + 1).unwrap_or(low) - low) * part);
                (format!("SCOREAT {}", quarter * 25), between.map_or("nil".into(), |score| format!("\"{score}\"")))
            }
            12 => (format!("FORSCORE {bound} {kind}"), self.rank(bound, kind, None).to_string()),
            _ => {
                let worse = |score: f64| self.members.iter().filter(|&&(_, s)| self.better(score, s)).count() as f64;
                (format!("PERCENTILE {name}"), or_nil(&|score| format!("\"{}\"", 100.0 * worse(score) / len as f64)))
            }
        }
    }
}

fn compare(con: &mut Connection, key: &str, model: &mut Model, dice: &mut Dice, names: usize, steps: usize) {
    let mut history = Vec::new();
    for _ in 0..steps {
        let before = model.sorted();
        let (line, expected) = if dice.once_in(2) { model.write(dice, names) } else { model.read(dice, names) };
        let (name, args) = line.split_once(' ').unwrap_or((&line, ""));
        let command = format!("RANK.{name} {key} {args}");
        let got = reply(con, &command);
        assert!(
            got == expected,
            "\n  before: {before:?}\n command: {command}\n     got: {got}\nexpected: {expected}\n"
        );
        history.push(command);
    }
    let all = model.rows(0, usize::MAX, "");
    assert_eq!(reply(con, &format!("RANK.TOPN {key} 999999")), all, "after {} steps on {key}", history.len());
}

on_every_server! {
    fn a_server_answers_as_the_model_does(server: Server) {
        let mut con = server.connect();
        // A marker is longer than what the small encoding takes by default.
        expect(&mut con, "CONFIG SET zset-max-listpack-value 1000", "+OK");
        for (encoding, entries, names) in [("listpack", 1000, 30), ("skiplist", 0, 30), ("skiplist", 128, 500)] {
            expect(&mut con, &format!("CONFIG SET zset-max-listpack-entries {entries}"), "+OK");
            for (at, (schema, ascending, keep, best)) in [
                ("", false, None, false),
                ("DESC", false, None, false),
                ("ASC UPDATE BEST", true, None, true),
                ("KEEP 12", false, Some(12), false),
                ("ASC KEEP 12 UPDATE BEST", true, Some(12), true),
            ].into_iter().enumerate() {
                let key = format!("{encoding}:{names}:{at}");
                if !schema.is_empty() {
                    expect(&mut con, &format!("RANK.CREATE {key} {schema}"), "+OK");
                }
                let mut model = Model { members: Vec::new(), ascending, keep, best };
                let mut dice = Dice::new(names as u64 * 10 + at as u64);
                if names > 100 && keep.is_none() {
                    let start: Vec<(String, f64)> = (0..300).map(|i| (format!("m{i:03}"), f64::from(i % 25))).collect();
                    let pairs: String = start.iter().map(|(name, score)| format!(" {score} {name}")).collect();
                    expect(&mut con, &format!("RANK.ADD {key}{pairs}"), "300");
                    model.members = start;
                }
                compare(&mut con, &key, &mut model, &mut dice, names, 400);
                if model.keep.is_none() || names < 100 {
                    expect(&mut con, &format!("OBJECT ENCODING {key}"), &format!("\"{encoding}\""));
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
