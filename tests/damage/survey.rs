//! Every command on a damaged board, held against what its elements say.

use std::collections::BTreeSet;

use redis::{Connection, Value};

use super::truth::*;
use crate::support::boards::{elements, replyv};
use crate::support::*;
use crate::workload::verify;

/// Builds `key` anew with these members; of several with one name the others get a `~` behind it.
#[track_caller]
pub fn rebuild<'a>(con: &mut Connection, shape: &Shape, key: &str, members: impl Iterator<Item = (&'a Member, usize)>) {
    reply(con, &format!("DEL {key}"));
    expect(con, &format!("RANK.CREATE {key} {}", shape.schema), "+OK");
    for ((scores, name), twin) in members {
        let mut args = vec![b"RANK.ADD".to_vec(), key.as_bytes().to_vec()];
        args.extend(scores.split(' ').map(|word| word.as_bytes().to_vec()));
        args.push([name.as_slice(), "~".repeat(twin).as_bytes()].concat());
        assert_eq!(replyv(con, &args), "1", "{scores} {}", name.escape_ascii());
    }
}

/// Every command, on the board `K`, with scores `S`, deltas `D` and a time `A` where the board has some.
pub const READS: &[&str] = &[
    "GET K m1",
    "GET K m2 DENSE",
    "GET K m3 ORDINAL JSON",
    "GET K nobody",
    "SCORE K m1",
    "SCORE K m2",
    "SCORE K nobody",
    "QUERY K m1",
    "QUERY K nobody",
    "STATS K",
    "STATS K LIMIT 1 2 JSON",
    "TOPN K 3",
    "TOPN K 1000",
    "TOPN K 3 JSON",
    "RANGE K 1 -1",
    "RANGE K -2 -1",
    "RANGE K 2 3 DENSE",
    "PAGE K 1 4",
    "PAGE K 2 2",
    "AROUND K m2 1",
    "AROUND K m1 2 FILL",
    "AROUND K nobody 1",
    "BYSCORE K -inf inf",
    "BYSCORE K 10 30",
    "AFTER K 2 S",
    "BEFORE K 2 S",
    "COUNT K",
    "COUNT K 10 30",
    "AMONG K 3 m1 m2 nobody",
    "FORSCORE K S",
    "FORSCORE K S ORDINAL",
    "PERCENTILE K m1",
    "PERCENTILE K nobody",
    "SCOREAT K 50",
];
pub const WRITES: &[&str] = &[
    "ADD K A S nobody",
    "ADD K A S m1",
    "ADD K CH A S m2 S n1 S n2",
    "ADD K NX A S m2",
    "ADD K XX A S m3",
    "ADD K BEST A S m1",
    "ADD K WITHRANK A S m1",
    "MULTISET K A S m4",
    "MULTISET K WITHRANK A S n1",
    "INCR K A D m1",
    "INCR K WITHRANK A D nobody",
    "REM K m1",
    "REM K nobody",
    "REM K m1 m2 m3",
    "CREATE K SCHEMA",
    "CREATE K SCHEMA ADOPT",
    "ALTER K UPDATE BEST",
];
/// Those for which every element counts.
pub const BOUNDED: &[&str] = &[
    "ADD K KEEP 3 A S nobody",
    "ADD K KEEP 1000 A S nobody",
    "TRIM K 2",
    "TRIM K 2 RETURN",
    "TRIM K 1000",
    "POP K",
    "POP K 2 WORST",
    "CLEAR K",
    "ALTER K KEEP 2",
    "ROTATE K K.old",
    "CREATE K.old LIKE K",
];

pub fn names_a_way_out(answer: &str) -> bool {
    answer.starts_with("DAMAGED the board is damaged: ") && (answer.contains("RANK.VERIFY") || answer.contains("ADOPT"))
        || answer.starts_with("DAMAGED element ") && answer.contains("RANK.VERIFY")
        || answer.starts_with("SCHEMA ADOPT: element ") && answer.contains("ZREM")
}

/// A marker that this module did not write says what it is.
pub fn names_the_marker(answer: &str) -> bool {
    answer.starts_with("SCHEMA the board has format version ")
        || answer.starts_with("DAMAGED the board's marker is not a schema: ")
}

#[track_caller]
pub fn dump(con: &mut Connection, key: &str) -> Option<Vec<u8>> {
    match cmdv(con, &["DUMP", key]) {
        Ok(Value::BulkString(dump)) => Some(dump),
        _ => None,
    }
}

/// The keys `b` and `b.old` (or those of the reference), whatever they hold.
pub fn digest(con: &mut Connection, key: &str) -> String {
    reply(con, &format!("DEBUG DIGEST-VALUE {key} {key}.old"))
}

pub struct Survey<'a> {
    pub shape: &'a Shape,
    pub marker: Vec<u8>,
    pub damage: String,
    /// All that was wrong, not only the first of it.
    pub problems: Vec<String>,
}

impl Survey<'_> {
    /// All members of `b` and `b.old`, or of the reference's.
    pub fn members(&self, con: &mut Connection, key: &str) -> Vec<(bool, Member)> {
        let mut members = Vec::new();
        for (is_old, key) in [(false, key.to_string()), (true, format!("{key}.old"))] {
            for (element, score) in elements(con, &key).into_iter().filter(|it| it.1 != f64::NEG_INFINITY) {
                if let Some((scores, name)) = self.shape.decode(&element, score) {
                    let name = name.iter().copied().filter(|byte| *byte != b'~').collect();
                    members.push((is_old, (scores, name)));
                }
            }
        }
        members.sort();
        members
    }

    /// Asks everything of `b`, which is damaged, and of a sound board with the same members.
    #[track_caller]
    pub fn ask_all(&mut self, con: &mut Connection) {
        let shape = self.shape;
        let truth = self.truth(con);
        let damaged = dump(con, "b");
        reply(con, "DEL ref");
        match truth.state {
            // Whatever its elements are, they are members.
            State::Bare => assert_eq!(reply(con, "COPY b ref") == "1", damaged.is_some()),
            _ => rebuild(con, shape, "ref", truth.members.iter().map(|(member, at)| (member, *at))),
        }
        let reference = dump(con, "ref");
        let before = digest(con, "b");
        for command in READS {
            self.ask(con, &truth, command);
        }
        self.check(digest(con, "b") == before, || "a read has written".into());
        for command in WRITES.iter().chain(BOUNDED) {
            let is_refused = self.ask(con, &truth, command);
            if is_refused {
                self.check(digest(con, "b") == before, || format!("{command}: refused, and yet changed"));
                continue;
            }
            let counts = truth.undecodable.is_empty() || WRITES.contains(command);
            if counts && matches!(truth.state, State::Board) && !truth.cannot_know(command) {
                let (got, expected) = (self.members(con, "b"), self.members(con, "ref"));
                self.check(got == expected, || {
                    format!("{command}: the members afterwards\n    {got:?}\n and not\n    {expected:?}")
                });
            }
            for (key, content) in [("b", &damaged), ("ref", &reference)] {
                reply(con, &format!("DEL {key} {key}.old"));
                if let Some(content) = content {
                    assert_eq!(replyv(con, &[b"RESTORE", key.as_bytes(), b"0", content]), "+OK");
                }
            }
        }
    }

    pub fn truth(&self, con: &mut Connection) -> Truth {
        truth(self.shape, &self.marker, &elements(con, "b"))
    }

    /// One command on `b`, and if it answers, on the sound board too; whether it was refused.
    #[track_caller]
    pub fn ask(&mut self, con: &mut Connection, truth: &Truth, command: &str) -> bool {
        let got = reply(con, &self.line(command, "b"));
        let is_refused = names_a_way_out(&got) || names_the_marker(&got);
        let unsure = |what: &str| format!("{command}: {what}: {got}");
        match truth.state {
            State::Foreign { answers } => {
                // Under a schema that is not this one no answer is known here.
                self.check(is_refused || answers, || unsure("not refused"));
                self.check(!got.starts_with("CLIENT") && !got.contains("internal error"), || unsure("failed"));
            }
            State::Displaced { marker: false } if command.ends_with("ADOPT") => {
                self.check(is_refused || got == "+OK", || unsure("not refused"));
            }
            State::Displaced { .. } => self.check(is_refused, || unsure("not refused")),
            State::Board if is_refused => self.check(truth.is_damaged(), || unsure("nothing is damaged")),
            State::Board | State::Bare => {
                let expected = reply(con, &self.line(command, "ref")).replace('~', "");
                let is_board = matches!(truth.state, State::Board);
                let is_astray = command.split(' ').any(|word| truth.astray.contains(word.as_bytes()));
                self.check(!is_board || !is_astray, || unsure("not refused, though entries of this name lead nowhere"));
                // What does not decode may count as somebody, or not.
                let counts = truth.undecodable.is_empty() || command.starts_with("SCORE ");
                if !is_board || counts && !truth.cannot_know(command) {
                    self.check(got == expected, || format!("{command}\n     got: {got}\nexpected: {expected}"));
                }
            }
        }
        is_refused
    }

    pub fn check(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if !is_right {
            self.problems.push(format!("{} | {} | {}", self.shape.schema, self.damage, what()));
        }
    }

    pub fn line(&self, command: &str, key: &str) -> String {
        let words = command.split(' ').map(|word| match word {
            "K" => key.to_string(),
            "K.old" => format!("{key}.old"),
            "S" => (self.shape.scores)(15, 3),
            "D" => vec!["1"; self.shape.fields].join(" "),
            "A" => self.shape.at(3),
            "SCHEMA" => self.shape.schema.into(),
            other => other.into(),
        });
        format!("RANK.{}", words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
    }

    /// Follows the errors' advice until the board is sound, and holds the members that it should.
    #[track_caller]
    pub fn mend(&self, con: &mut Connection) {
        let shape = self.shape;
        let context = format!("{} | {}", shape.schema, self.damage);
        for _ in 0..9 {
            let all = elements(con, "b");
            let truth = self.truth(con);
            let expected = truth.mended(shape, &all);
            match truth.state {
                State::Board | State::Displaced { marker: true } => {
                    let found = verify(con, b"b", false);
                    let counts = [truth.undecodable.len(), truth.missing, truth.orphaned, truth.duplicated, 0];
                    assert_eq!(found, counts.map(|count| i64::try_from(count).expect("a count")), "{context}: found");
                    let repaired = verify(con, b"b", true);
                    assert_eq!(repaired[4] > 0, truth.can_be_mended(), "{context}: found {found:?}, then {repaired:?}");
                    let left = self.truth(con);
                    assert!(!left.can_be_mended(), "{context}: once is not enough: {:?}", verify(con, b"b", false));
                    let shown = i64::try_from(left.undecodable.len()).expect("a count");
                    assert_eq!(verify(con, b"b", false), [shown, 0, 0, 0, 0], "{context}: after the repair");
                    // What has the form of a member's element is somebody's data: it is shown, and stays.
                    for element in &left.undecodable {
                        assert!(truth.undecodable.contains(element), "{context}: {}", element.escape_ascii());
                        assert_eq!(replyv(con, &[b"ZREM".as_slice(), b"b", element]), "1", "{context}");
                    }
                    if left.doubtful > 0 {
                        verify(con, b"b", true);
                    }
                    assert_eq!(verify(con, b"b", false), [0; 5], "{context}: once all decodes");
                    return self.is_sound(con, &expected);
                }
                State::Foreign { .. } => {
                    let answer = reply(con, "RANK.VERIFY b");
                    assert!(!answer.starts_with("CLIENT"), "{context}: {answer}");
                    let marker = all.iter().find(|it| it.0.starts_with(MARKER) && it.1 == f64::NEG_INFINITY);
                    let marker = &marker.expect("a marker").0;
                    assert_eq!(replyv(con, &[b"ZREM".as_slice(), b"b", marker]), "1", "{context}");
                }
                State::Displaced { marker: false } | State::Bare => {
                    if matches!(truth.state, State::Displaced { .. }) {
                        let answer = reply(con, "RANK.VERIFY b");
                        assert!(answer.contains("ADOPT"), "{context}: {answer}");
                    }
                    let before = digest(con, "b");
                    let answer = reply(con, &format!("RANK.CREATE b {} ADOPT", shape.schema));
                    if answer != "+OK" {
                        assert!(names_a_way_out(&answer) || answer.contains("infinite scores"), "{context}: {answer}");
                        assert!(!truth.undecodable.is_empty(), "{context}: {answer}");
                        assert_eq!(digest(con, "b"), before, "{context}: refused, and yet changed");
                        // As it says: what does not decode is removed.
                        for (element, score) in &all {
                            let fits = match shape.is_below_members(*score) {
                                true => shape.coded && codes::read_entry(element, *score).is_some(),
                                false => shape.decode(element, *score).is_some(),
                            };
                            if !fits {
                                assert_eq!(replyv(con, &[b"ZREM".as_slice(), b"b", element]), "1", "{context}");
                            }
                        }
                    }
                }
            }
        }
        panic!("{context}: there is no end of it");
    }

    /// That `b` holds these members, and tells all of them what a fresh board would.
    #[track_caller]
    pub fn is_sound(&self, con: &mut Connection, expected: &BTreeSet<Member>) {
        let context = format!("{} | {}", self.shape.schema, self.damage);
        let members: BTreeSet<Member> = self.members(con, "b").into_iter().map(|it| it.1).collect();
        assert_eq!(&members, expected, "{context}");
        rebuild(con, self.shape, "ref", expected.iter().map(|member| (member, 0)));
        let mut reads: Vec<Vec<Vec<u8>>> = Vec::new();
        for (_, name) in expected {
            reads.push(vec![b"RANK.GET".to_vec(), b"K".to_vec(), name.clone(), b"ORDINAL".to_vec()]);
            reads.push(vec![b"RANK.QUERY".to_vec(), b"K".to_vec(), name.clone()]);
        }
        for line in ["TOPN K 1000", "STATS K", "INFO K", "COUNT K", "GET K nobody"] {
            reads.push(format!("RANK.{line}").split(' ').map(|word| word.as_bytes().to_vec()).collect());
        }
        for mut read in reads {
            let [got, wanted] = ["b", "ref"].map(|key| {
                read[1] = key.as_bytes().to_vec();
                replyv(con, &read)
            });
            assert_eq!(got, wanted, "{context}: {}", read.join(&b' ').escape_ascii());
        }
        let line = format!("{} {} newcomer", self.shape.at(1), (self.shape.scores)(1, 1));
        expect(con, &format!("RANK.ADD b {line}"), "1");
        expect(con, "RANK.REM b newcomer", "1");
        assert_eq!(verify(con, b"b", false), [0; 5], "{context}");
        expect(con, "KEYS rank:*", "[]");
    }
}
