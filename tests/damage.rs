//! What core commands do to a board behind the module's back: every command answers what the elements say, or with an
//! error that names the way out; a write that reports damage changes nothing; `RANK.VERIFY` finds it, and `REPAIR` mends it.
//! One thing no look-up can know: that somebody is there whose index entry was removed by `ZREM`.

use std::collections::{BTreeMap, BTreeSet};

use redis::{Connection, Value};

use crate::script::{script, Dice};
use crate::support::boards::{elements, replyv};
use crate::support::codes::{self, Coder, TOP_OF_INDEX};
use crate::support::*;
use crate::workload::verify;

type Element = (Vec<u8>, f64);

/// A member as an element has it: what `RANK.ADD` takes in front of the name, and the name.
type Member = (String, Vec<u8>);

/// A schema, with a decoder of its own.
struct Shape {
    schema: &'static str,
    fields: usize,
    ascending: bool,
    /// A `coded` board, whose members may have index entries.
    coded: bool,
    /// What a person types for two numbers, of which the second one is a member's own.
    scores: fn(usize, usize) -> String,
    decode: fn(&Shape, &[u8], f64) -> Option<Member>,
}

const MARKER: &[u8] = b"\0rank ";
const LOOKED_BEHIND: usize = 17;
/// Too long for a score, together with anything else.
const LONG: usize = 1_000_000_000_000_001;

fn decode_coded(shape: &Shape, element: &[u8], score: f64) -> Option<Member> {
    let member = Coder::new(shape.schema, 0).decode(element, score)?;
    let at = member.time.map_or(String::new(), |time| format!("AT {time} "));
    Some((at + &member.scores.join(" "), member.name))
}

const CODED: Shape = Shape {
    schema: "",
    fields: 1,
    ascending: false,
    coded: true,
    scores: |first, _| first.to_string(),
    decode: decode_coded,
};

/// All of them fit.
const SHORT: Shape = Shape {
    schema: "FIELD a INT FIELD b ASC INT",
    fields: 2,
    scores: |first, second| format!("{first} {second}"),
    ..CODED
};

/// None of them does, and each has three entries.
const LONG_ONES: Shape = Shape {
    schema: "FIELD a INT FIELD b ASC INT FIELD c INT",
    fields: 3,
    scores: |first, second| format!("{} {} {}", first * LONG, second * LONG, LONG),
    ..CODED
};

/// Some fit, others have an entry.
const MIXED: Shape = Shape {
    schema: "FIELD a ASC INT FIELD b ASC FLOAT",
    fields: 2,
    ascending: true,
    scores: |first, second| {
        if second % 2 == 0 {
            format!("{first} {second}")
        } else {
            format!("{first} 0.{second}000000000000000{second}")
        }
    },
    ..CODED
};

const TIMED: Shape = Shape {
    schema: "FIELD a FLOAT TIES FIRST SINCE 1700000000000",
    scores: |first, second| if second % 2 == 0 { first.to_string() } else { format!("{first}.0000001") },
    ..CODED
};

const PACKED: Shape = Shape {
    schema: "FIELD a DIGITS 3 FIELD b DIGITS 3",
    fields: 2,
    coded: false,
    scores: |first, second| format!("{first} {second}"),
    decode: |_, element, score| {
        let whole = score.fract() == 0.0 && (0.0..1e6).contains(&score);
        whole.then(|| (format!("{} {}", score as u64 / 1000, score as u64 % 1000), element.to_vec()))
    },
    ..CODED
};

const PLAIN: Shape = Shape {
    schema: "FIELD a",
    coded: false,
    decode: |_, element, score| score.is_finite().then(|| (score.to_string(), element.to_vec())),
    ..CODED
};

const WITH_INDEX: [Shape; 4] = [SHORT, LONG_ONES, MIXED, TIMED];
const WITHOUT_INDEX: [Shape; 2] = [PACKED, PLAIN];

impl Shape {
    fn decode(&self, element: &[u8], score: f64) -> Option<Member> {
        (self.decode)(self, element, score)
    }

    fn at(&self, second: usize) -> String {
        if self.schema.contains("TIES") {
            format!("AT {}", 1_700_000_000_000 + second)
        } else {
            String::new()
        }
    }

    /// Whether a score is that of a marker or of an index entry.
    fn is_below_members(&self, score: f64) -> bool {
        score == f64::NEG_INFINITY || self.coded && score <= TOP_OF_INDEX
    }

    /// A board of this schema, `m1` the first of its members; some are equal on their first field.
    #[track_caller]
    fn fill(&self, con: &mut Connection, key: &str, members: std::ops::Range<usize>, shift: usize) {
        expect(con, &format!("RANK.CREATE {key} {}", self.schema), "+OK");
        for number in members {
            let scores = (self.scores)(shift + number % 70 * 10, shift + number);
            expect(con, &format!("RANK.ADD {key} {} {scores} m{number}", self.at(number)), "1");
        }
    }
}

/// What a sorted set is, by its lowest elements.
#[derive(PartialEq)]
enum State {
    Board,
    /// A marker that is not this shape's: another schema; or another version, or nonsense.
    Foreign {
        answers: bool,
    },
    /// The marker is behind others or not alone at -inf, or gone while index entries lead to members.
    Displaced {
        marker: bool,
    },
    /// No marker: a sorted set like any other.
    Bare,
}

/// What the elements say, by this file's own account.
struct Truth {
    state: State,
    /// All that decode, with the place of the element among those of the same name: 0 for the one that a look-up finds.
    members: Vec<(Member, usize)>,
    /// Names that have elements of which a look-up finds none.
    lost: BTreeSet<Vec<u8>>,
    /// Names with a first entry that leads to no element: a look-up meets it.
    astray: BTreeSet<Vec<u8>>,
    /// Not a member's, nor an entry.
    undecodable: Vec<Vec<u8>>,
    /// Those of them that no member could have: by their form, or at -inf.
    impossible: usize,
    missing: usize,
    /// Entries that lead nowhere.
    orphaned: usize,
    duplicated: usize,
    /// Entries that lead to an element that does not decode: once it is gone they are nobody's.
    doubtful: usize,
}

/// All elements by their bytes.
type There<'a> = BTreeMap<&'a [u8], f64>;

/// The tail that the entries of a name give, and how many they are; none if one of them is missing or no entry.
fn follow(there: &There, name: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut tail = Vec::new();
    for at in 0..=255 {
        let entry = [&[1, at], name].concat();
        let (_, _, groups, has_more) = codes::read_entry(&entry, *there.get(entry.as_slice())?)?;
        tail.extend(groups.iter().map(|group| group * 2 + 1));
        if !has_more {
            *tail.last_mut()? -= 1;
            return Some((tail, usize::from(at) + 1));
        }
    }
    None
}

/// The elements of a name that a look-up can find: the one under its own name first.
fn found(there: &There, name: &[u8]) -> Vec<Vec<u8>> {
    let bare = Some(name.to_vec()).filter(|name| !codes::is_special(name));
    let wrapped = follow(there, name).map(|(tail, _)| codes::wrap(&tail, name));
    bare.into_iter().chain(wrapped).filter(|element| there.contains_key(element.as_slice())).collect()
}

fn state(shape: &Shape, marker: &[u8], elements: &[Element], there: &There) -> State {
    let lowest: Vec<&[u8]> = elements.iter().filter(|it| it.1 == f64::NEG_INFINITY).map(|it| it.0.as_slice()).collect();
    let seen = &lowest[..lowest.len().min(LOOKED_BEHIND)];
    let found = seen.iter().find(|element| element.starts_with(MARKER));
    match (lowest.first(), found) {
        (Some(_), Some(found)) if *found == marker => {
            if lowest.len() == 1 {
                State::Board
            } else {
                State::Displaced { marker: true }
            }
        }
        (Some(_), Some(found)) => {
            State::Foreign { answers: found.starts_with(b"\0rank 2 FIELD ") && lowest.len() == 1 }
        }
        (None, Some(_)) => unreachable!("it is one of them"),
        (Some(_), None) => State::Bare,
        (None, None) => {
            let is_lost = elements.first().filter(|_| shape.coded).is_some_and(|(element, score)| {
                let name = codes::read_entry(element, *score).map(|entry| entry.1);
                name.and_then(|name| Some(codes::wrap(&follow(there, name)?.0, name)))
                    .is_some_and(|element| there.contains_key(element.as_slice()))
            });
            if is_lost {
                State::Displaced { marker: false }
            } else {
                State::Bare
            }
        }
    }
}

fn truth(shape: &Shape, marker: &[u8], elements: &[Element]) -> Truth {
    let there: There = elements.iter().map(|(element, score)| (element.as_slice(), *score)).collect();
    let state = state(shape, marker, elements, &there);
    let mut truth = Truth {
        state,
        members: Vec::new(),
        lost: BTreeSet::new(),
        astray: BTreeSet::new(),
        undecodable: Vec::new(),
        impossible: 0,
        missing: 0,
        orphaned: 0,
        duplicated: 0,
        doubtful: 0,
    };
    let mut by_name: BTreeMap<Vec<u8>, Vec<(Member, &Element)>> = BTreeMap::new();
    for it in elements.iter().filter(|it| it.0 != marker || it.1 != f64::NEG_INFINITY) {
        let (element, score) = (it.0.as_slice(), it.1);
        let entry = codes::read_entry(element, score).filter(|_| shape.coded);
        let is_stray = score == f64::NEG_INFINITY;
        if let Some((at, name, ..)) = entry {
            let target = follow(&there, name).filter(|(_, count)| usize::from(at) < *count);
            match target.map(|(tail, _)| codes::wrap(&tail, name)).and_then(|element| {
                let score = *there.get(element.as_slice()).filter(|score| **score != f64::NEG_INFINITY)?;
                Some(shape.decode(&element, score).is_some())
            }) {
                Some(decodes) => truth.doubtful += usize::from(!decodes),
                None => {
                    truth.orphaned += 1;
                    let is_first = at == 0 && !there.contains_key(name);
                    truth.astray.extend(is_first.then(|| name.to_vec()));
                }
            }
        } else if let Some(member) = shape.decode(element, score).filter(|_| !is_stray) {
            by_name.entry(member.1.clone()).or_default().push((member, it));
        } else {
            let is_impossible = is_stray || shape.coded && matches!(element.first(), Some(0 | 1));
            truth.impossible += usize::from(is_impossible);
            truth.undecodable.push(element.to_vec());
        }
    }
    for (name, mut same) in by_name {
        // Outside a coded board an element is its name.
        let found = if shape.coded { found(&there, &name) } else { vec![name.clone()] };
        for (_, element) in &same {
            if !found.contains(&element.0) && found.is_empty() {
                truth.missing += 1;
            }
            truth.duplicated += usize::from(found.first().is_some_and(|first| *first != element.0));
        }
        if found.is_empty() {
            truth.lost.insert(name);
        }
        // The one that is found first, then the best.
        let place = |it: &Element| found.first() != Some(&it.0);
        same.sort_by(|a, b| place(a.1).cmp(&place(b.1)).then_with(|| best_first(shape, a.1, b.1)));
        // If what a look-up finds does not decode, all of these are twins of it.
        let first = usize::from(found.first().is_some_and(|found| same.iter().all(|it| it.1 .0 != *found)));
        truth.members.extend(same.into_iter().enumerate().map(|(at, (member, _))| (member, at + first)));
    }
    truth
}

fn best_first(shape: &Shape, a: &Element, b: &Element) -> std::cmp::Ordering {
    let order = a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0));
    if shape.ascending {
        order
    } else {
        order.reverse()
    }
}

impl Truth {
    fn is_damaged(&self) -> bool {
        !self.undecodable.is_empty() || self.can_be_mended()
    }

    /// Whether a command asks for somebody whom no look-up finds, or for somebody who is there and cannot be read.
    fn cannot_know(&self, command: &str) -> bool {
        let asks = |name: &[u8]| command.split(' ').any(|word| word.as_bytes() == name);
        self.lost.iter().any(|name| asks(name))
            || self.undecodable.iter().any(|element| asks(codes::split(element).map_or(element, |it| it.1)))
    }

    fn can_be_mended(&self) -> bool {
        self.missing + self.orphaned + self.impossible + self.duplicated > 0
    }

    /// The members once the better of two was kept, by what `RANK.ADD` takes.
    fn mended(&self, shape: &Shape, elements: &[Element]) -> BTreeSet<Member> {
        let mut best: BTreeMap<Vec<u8>, (Member, &Element)> = BTreeMap::new();
        for element in elements.iter().filter(|it| it.1 != f64::NEG_INFINITY) {
            let Some(member) = shape.decode(&element.0, element.1) else { continue };
            match best.get(&member.1) {
                Some((_, known)) if best_first(shape, known, element).is_lt() => {}
                _ => {
                    best.insert(member.1.clone(), (member, element));
                }
            }
        }
        best.into_values().map(|(member, _)| member).collect()
    }
}

/// Builds `key` anew with these members; of several with one name the others get a `~` behind it.
#[track_caller]
fn rebuild<'a>(con: &mut Connection, shape: &Shape, key: &str, members: impl Iterator<Item = (&'a Member, usize)>) {
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
const READS: &[&str] = &[
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
const WRITES: &[&str] = &[
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
const BOUNDED: &[&str] = &[
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

fn names_a_way_out(answer: &str) -> bool {
    answer.starts_with("DAMAGED the board is damaged: ") && (answer.contains("RANK.VERIFY") || answer.contains("ADOPT"))
        || answer.starts_with("DAMAGED element ") && answer.contains("RANK.VERIFY")
        || answer.starts_with("SCHEMA ADOPT: element ") && answer.contains("ZREM")
}

/// A marker that this module did not write says what it is.
fn names_the_marker(answer: &str) -> bool {
    answer.starts_with("SCHEMA the board has format version ")
        || answer.starts_with("DAMAGED the board's marker is not a schema: ")
}

#[track_caller]
fn dump(con: &mut Connection, key: &str) -> Option<Vec<u8>> {
    match cmdv(con, &["DUMP", key]) {
        Ok(Value::BulkString(dump)) => Some(dump),
        _ => None,
    }
}

/// The keys `b` and `b.old` (or those of the reference), whatever they hold.
fn digest(con: &mut Connection, key: &str) -> String {
    reply(con, &format!("DEBUG DIGEST-VALUE {key} {key}.old"))
}

struct Survey<'a> {
    shape: &'a Shape,
    marker: Vec<u8>,
    damage: String,
    /// All that was wrong, not only the first of it.
    problems: Vec<String>,
}

impl Survey<'_> {
    /// All members of `b` and `b.old`, or of the reference's.
    fn members(&self, con: &mut Connection, key: &str) -> Vec<(bool, Member)> {
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
    fn ask_all(&mut self, con: &mut Connection) {
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

    fn truth(&self, con: &mut Connection) -> Truth {
        truth(self.shape, &self.marker, &elements(con, "b"))
    }

    /// One command on `b`, and if it answers, on the sound board too; whether it was refused.
    #[track_caller]
    fn ask(&mut self, con: &mut Connection, truth: &Truth, command: &str) -> bool {
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

    fn check(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if !is_right {
            self.problems.push(format!("{} | {} | {}", self.shape.schema, self.damage, what()));
        }
    }

    fn line(&self, command: &str, key: &str) -> String {
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
    fn mend(&self, con: &mut Connection) {
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
    fn is_sound(&self, con: &mut Connection, expected: &BTreeSet<Member>) {
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

/// Commands as one would send them.
type Damage = (String, Vec<Vec<Vec<u8>>>);

fn command(words: &[&[u8]]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.to_vec()).collect()
}

/// What anybody can do to any board.
fn damages(all: &[Element]) -> Vec<Damage> {
    let mut damages: Vec<Damage> = Vec::new();
    let mut add = |words: &[&[u8]]| damages.push((words.join(&b' ').escape_ascii().to_string(), vec![command(words)]));
    let marker = all[0].0.as_slice();
    let member = &all[all.len() - 3].0;
    add(&[b"ZADD", b"b", b"1000", b"", b"1001", b"\0a"]);
    add(&[b"ZPOPMAX", b"b", b"2"]);
    for count in [b"1".as_slice(), b"2", b"3", b"4", b"100000"] {
        add(&[b"ZPOPMIN", b"b", count]);
    }
    add(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"c"]);
    add(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"c", b"AGGREGATE", b"MIN"]);
    add(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"other"]);
    add(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"long"]);
    add(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"mixed"]);
    add(&[b"ZUNIONSTORE", b"b", b"1", b"b", b"WEIGHTS", b"2"]);
    add(&[b"ZINTERSTORE", b"b", b"2", b"b", b"c"]);
    add(&[b"ZDIFFSTORE", b"b", b"2", b"b", b"c"]);
    add(&[b"ZREMRANGEBYSCORE", b"b", b"(-inf", b"+inf"]);
    add(&[b"ZREMRANGEBYSCORE", b"b", b"-inf", b"-inf"]);
    add(&[b"ZREMRANGEBYSCORE", b"b", b"-inf", b"-4"]);
    add(&[b"ZREMRANGEBYSCORE", b"b", b"(-inf", b"-4"]);
    for score in [b"-inf".as_slice(), b"inf", b"1.5", b"30", b"-30", b"-4", b"0"] {
        for element in [b"".as_slice(), b"zzz", b"\0a", b"\x01\0a", b"\x02short", b"\x02\0zzz", member] {
            add(&[b"ZADD", b"b", score, element]);
        }
    }
    for text in [
        "0 x",
        "3 x",
        "1 FIELD a DESC INT",
        "2 A",
        "2 z",
        "2",
        "",
        "20 FIELD a DESC INT",
        "2 FIELD A DESC INT",
        "2 FIELD z DESC INT",
        "2 FIELD A DESC FLOAT",
    ] {
        add(&[b"ZADD", b"b", b"-inf", &[MARKER, text.as_bytes()].concat()]);
    }
    add(&[b"ZREM", b"b", member]);
    for before in [1, 15, 16, 17, 40] {
        let mut words = command(&[b"ZADD", b"b"]);
        (0..before).for_each(|at| words.extend(command(&[b"-inf", format!("\0{at}").as_bytes()])));
        damages.push((format!("{before} names before the marker"), vec![words]));
    }
    damages.push((
        "another marker".into(),
        vec![command(&[b"ZREM", b"b", marker]), command(&[b"ZADD", b"b", b"-inf", b"\0rank 3 x"])],
    ));
    damages.push((
        "another schema".into(),
        vec![command(&[b"ZREM", b"b", marker]), command(&[b"ZADD", b"b", b"-inf", b"\0rank 2 FIELD z ASC INT"])],
    ));
    damages
}

/// What can be done to an index.
fn index_damages(shape: &Shape, all: &[Element]) -> Vec<Damage> {
    let members: Vec<(&Element, Member)> = all.iter().filter_map(|it| Some((it, shape.decode(&it.0, it.1)?))).collect();
    let mut damages: Vec<Damage> = Vec::new();
    let mut add = |what: &str, commands: Vec<Vec<Vec<u8>>>| damages.push((what.into(), commands));
    let text = |score: f64| score.to_string().into_bytes();
    let remove = |elements: &[&[u8]]| command(&[&[b"ZREM".as_slice(), b"b"], elements].concat());
    let put = |score: f64, element: &[u8]| command(&[b"ZADD", b"b", &text(score), element]);
    let tail = |element: &Element| codes::split(&element.0).map(|it| it.0.to_vec());
    // Another element of the same name: with another's code, which is worse or better.
    let two = members.iter().find(|it| it.1 .1 == b"m2").expect("the member");
    for ((end, _), kind) in [members.first(), members.last()].into_iter().flatten().zip(["lowest", "highest"]) {
        let (name, tail) = (two.1 .1.as_slice(), tail(end));
        let element = tail.as_ref().map_or(name.to_vec(), |tail| codes::wrap(tail, name));
        if element == two.0 .0 {
            continue;
        }
        let second = put(end.1, &element);
        let entries: Vec<_> = tail
            .iter()
            .flat_map(|tail| codes::entries_of(tail, name))
            .map(|(entry, score)| put(score, &entry))
            .collect();
        add(&format!("a second element, {kind}"), vec![second.clone()]);
        add(&format!("the entries of a second element, {kind}"), entries.clone());
        add(&format!("a second element and its entries, {kind}"), [vec![second], entries].concat());
    }
    let wrapped: Vec<(&Element, Vec<Element>)> = members
        .iter()
        .filter_map(|(element, member)| Some((*element, codes::entries_of(&tail(element)?, &member.1))))
        .collect();
    let [(one, its), (other, others), ..] = wrapped.as_slice() else { return damages };
    let (first, last) = (&its[0], &its[its.len() - 1]);
    let all_of_it: Vec<&[u8]> = its.iter().map(|entry| entry.0.as_slice()).collect();
    add("an element gone", vec![remove(&[&one.0])]);
    add("two elements gone", vec![remove(&[&one.0, &other.0])]);
    add("an entry gone", vec![remove(&[&first.0])]);
    add("the last entry gone", vec![remove(&[&last.0])]);
    add("all entries of a member gone", vec![remove(&all_of_it)]);
    add("entries of two gone", vec![remove(&[&first.0, &others[0].0])]);
    add("an element and another's entry gone", vec![remove(&[&one.0, &others[0].0])]);
    add("the marker above -inf", vec![put(5.0, &all[0].0)]);
    add("the marker at -5", vec![put(-5.0, &all[0].0)]);
    add("a marker above -inf", vec![put(3.0, b"\0rank 2 x")]);
    for score in [3.0, -4.0, -5.0, -1e300, f64::NEG_INFINITY, f64::INFINITY, others[0].1, last.1] {
        add(&format!("an entry at {score}"), vec![put(score, &first.0)]);
        add(&format!("the last entry at {score}"), vec![put(score, &last.0)]);
        add(&format!("an entry at {score}, another gone"), vec![put(score, &first.0), remove(&[&others[0].0])]);
        add(&format!("an element at {score}"), vec![put(score, &one.0)]);
    }
    let name = &first.0[2..];
    add("one entry more", vec![put(codes::score_of((1 << 61) + 5), &[b"\x01\x07", name].concat())]);
    add("an entry of nobody", vec![put(first.1, b"\x01\0nobody")]);
    add("a later entry of nobody", vec![put(codes::score_of((1 << 61) + 5), b"\x01\x01nobody")]);
    add("half an entry", vec![put(first.1, b"\x01")]);
    damages
}

/// Removes, adds or moves an element of the board, or one that is nearly the same.
fn any_damage(dice: &mut Dice, shape: &Shape, all: &[Element]) -> Vec<Vec<u8>> {
    let mut element = all[dice.roll(all.len())].0.clone();
    if dice.once_in(3) {
        let at = dice.roll(element.len());
        element[at] = element[at].wrapping_add(u8::try_from(1 + dice.roll(3)).expect("a byte"));
    }
    let other = all[dice.roll(all.len())].1.to_string();
    let mut score = dice.pick(&["-inf", "inf", "5", "-10", &other, &other, &other]);
    // Whether a marker's name may be a member's, where names are elements, is not asked here.
    if !shape.coded && element.starts_with(b"\0") {
        score = "-inf";
    }
    let rank = (dice.roll(8) as i64 - 4).to_string();
    let [rank, score] = [rank.as_bytes(), score.as_bytes()];
    match dice.roll(18) {
        0..=4 => command(&[b"ZREM", b"b", &element]),
        5 => command(&[b"ZINCRBY", b"b", score, &element]),
        // Where the marker is gone too, a plain board with another's index entries in it can be no board again.
        6 if shape.coded => {
            command(&[b"ZUNIONSTORE", b"b", b"2", b"b", dice.pick(&[b"c".as_slice(), b"long", b"mixed"])])
        }
        7 => command(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"c", b"AGGREGATE", b"MAX"]),
        8 => command(&[b"ZREMRANGEBYRANK", b"b", rank, rank]),
        9 => command(&[if dice.once_in(2) { b"ZPOPMIN" } else { b"ZPOPMAX" }, b"b"]),
        _ => command(&[b"ZADD", b"b", score, &element]),
    }
}

/// The board `b`, and others to make unions with.
#[track_caller]
fn prepare(con: &mut Connection, shape: &Shape, members: usize) -> Vec<u8> {
    expect(con, "FLUSHALL", "+OK");
    shape.fill(con, "b", 1..members + 1, 0);
    shape.fill(con, "c", 2..6, 5);
    LONG_ONES.fill(con, "long", 3..9, 5);
    MIXED.fill(con, "mixed", 3..9, 5);
    script(
        con,
        "RANK.CREATE other FIELD x ASC RANGE -50 50 TIES FIRST => +OK\n RANK.ADD other AT 1700000000000 5 m1 6 x => 2",
    );
    dump(con, "b").expect("a board")
}

/// Does damage to the board, asks everything of it, and mends it; tells what was wrong.
fn try_damage(
    con: &mut Connection,
    shape: &Shape,
    intact: &[u8],
    marker: &[u8],
    (damage, commands): Damage,
) -> Vec<String> {
    assert_eq!(replyv(con, &[b"RESTORE".as_slice(), b"b", b"0", intact, b"REPLACE"]), "+OK");
    for command in commands {
        let answer = replyv(con, &command);
        assert!(!answer.contains("ERR") || answer.contains("NaN"), "{damage}: {answer}");
    }
    let mut survey = Survey { shape, marker: marker.to_vec(), damage, problems: Vec::new() };
    survey.ask_all(con);
    if reply(con, "EXISTS b") == "1" {
        let mended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| survey.mend(con)));
        if let Err(problem) = mended {
            survey.problems.push(problem.downcast_ref::<String>().cloned().unwrap_or_default());
        }
    }
    survey.problems
}

#[track_caller]
fn no_problems(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Does to boards of these shapes all that can be done.
#[track_caller]
fn damage_and_mend(con: &mut Connection, shapes: &[Shape], members: usize) {
    let mut problems = Vec::new();
    for shape in shapes {
        let intact = prepare(con, shape, members);
        let all = elements(con, "b");
        let mut list = damages(&all);
        if shape.coded {
            list.extend(index_damages(shape, &all));
        }
        for damage in list {
            problems.extend(try_damage(con, shape, &intact, &all[0].0, damage));
        }
    }
    no_problems(&problems);
}

#[track_caller]
fn report(con: &mut Connection, arguments: &str, expected: &str) {
    let got = reply(con, &format!("RANK.VERIFY {arguments}"));
    assert!(got.ends_with(expected), "{arguments}: {got}");
}

on_every_server! {
    fn a_damaged_index_never_makes_a_small_board_lie(server: Server) {
        let mut con = server.connect();
        damage_and_mend(&mut con, &WITH_INDEX, 6);
    }

    fn a_damaged_index_never_makes_a_large_board_lie(server: Server) {
        let mut con = server.connect();
        // More than the compact encoding holds.
        expect(&mut con, "CONFIG SET zset-max-listpack-entries 8", "+OK");
        damage_and_mend(&mut con, &WITH_INDEX, 12);
    }

    fn damage_never_makes_a_board_without_an_index_lie(server: Server) {
        let mut con = server.connect();
        for entries in ["128", "4"] {
            expect(&mut con, &format!("CONFIG SET zset-max-listpack-entries {entries}"), "+OK");
            damage_and_mend(&mut con, &WITHOUT_INDEX, 6);
        }
    }

    fn damage_of_any_kind_at_any_place_is_found_and_mended(server: Server) {
        let mut con = server.connect();
        let mut dice = Dice::new(26);
        let rounds = match std::env::var("RANK_DAMAGE_ROUNDS") {
            Ok(rounds) => rounds.parse().expect("a number"),
            Err(_) if server_wrapper().is_some() => 4,
            Err(_) => 30,
        };
        let mut problems = Vec::new();
        for shape in WITH_INDEX.iter().chain(&WITHOUT_INDEX) {
            let intact = prepare(&mut con, shape, 5);
            let all = elements(&mut con, "b");
            for round in 0..rounds {
                let commands: Vec<_> = (0..1 + dice.roll(4)).map(|_| any_damage(&mut dice, shape, &all)).collect();
                let shown: Vec<String> = commands.iter().map(|words| words.join(&b' ').escape_ascii().to_string()).collect();
                let damage = (format!("round {round}: {}", shown.join("; ")), commands);
                problems.extend(try_damage(&mut con, shape, &intact, &all[0].0, damage));
            }
        }
        no_problems(&problems);
    }

    fn the_errors_say_what_to_do(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE p FIELD a DIGITS 3 => +OK
            RANK.ADD p 1 a 2 b => 2
            ZADD p -inf "" => 1
            RANK.GET p a => DAMAGED the board is damaged: elements at -inf come before its marker; run RANK.VERIFY key REPAIR, or ZREM them and use RANK.CREATE key ... ADOPT
            RANK.ADD p 1 c => DAMAGED the board is damaged: elements at -inf come before its marker; run RANK.VERIFY key REPAIR, or ZREM them and use RANK.CREATE key ... ADOPT
            ZREM p "" => 1
            ZADD p -inf zzz => 1
            RANK.TOPN p 5 => DAMAGED the board is damaged: an element other than its marker is at -inf; run RANK.VERIFY key REPAIR
        "#);
        report(&mut con, "p REPAIR", r#""undecodable", 1, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 1, "examples", ["zzz"]]"#);
        script(&mut con, r#"
            ZADD p 1.5 bad => 1
            RANK.TOPN p 5 => DAMAGED element 'bad' does not decode under the board's schema: ZREM it; RANK.VERIFY lists all such elements
        "#);
        report(&mut con, "p REPAIR", r#""undecodable", 1, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", ["bad"]]"#);
        script(&mut con, r#"
            RANK.REM p bad => 1
            RANK.TOPN p 5 => [[1, "b", 2], [2, "a", 1]]
            RANK.CREATE s FIELD a INT FIELD b INT => +OK
            RANK.ADD s 1 1 a 2 1000000000000001 b 3 1000000000000001 c => 3
        "#);
        reply(&mut con, "ZPOPMAX s");
        script(&mut con, r#"
            RANK.SCORE s c => DAMAGED the board is damaged: its index entries and its elements differ at 'c'; run RANK.VERIFY key REPAIR
            RANK.ADD s 1 1 c => DAMAGED the board is damaged: its index entries and its elements differ at 'c'; run RANK.VERIFY key REPAIR
            RANK.REM s a c => DAMAGED the board is damaged: its index entries and its elements differ at 'c'; run RANK.VERIFY key REPAIR
            # The others are as they were.
            RANK.COUNT s => 2
            RANK.ADD s 1 1 a => 0
            RANK.TOPN s 5 => [[1, "b", 2, 1000000000000001], [2, "a", 1, 1]]
        "#);
        report(&mut con, "s REPAIR", r#""undecodable", 0, "missing", 0, "orphaned", 1, "duplicated", 0, "repaired", 1, "examples", ["c"]]"#);
        script(&mut con, r#"
            RANK.SCORE s c => nil
            ZPOPMIN s => ["\x00rank 2 FIELD a DESC INT FIELD b DESC INT", "-inf"]
            RANK.COUNT s => DAMAGED the board is damaged: it has index entries but no marker; restore its schema with RANK.CREATE key ... ADOPT, then run RANK.VERIFY key REPAIR
        "#);
        for wrong in ["FIELD a INT", "FIELD a INT FIELD b INT FIELD c INT", "FIELD a", "FIELD a DIGITS 3"] {
            let answer = reply(&mut con, &format!("RANK.CREATE s {wrong} ADOPT"));
            assert!(answer.starts_with("SCHEMA ADOPT: element '"), "{wrong}: {answer}");
            assert!(answer.ends_with("' does not decode under this schema: ZREM it, or use the schema the board had"), "{answer}");
        }
        script(&mut con, r#"
            RANK.CREATE s FIELD a INT FIELD b INT ADOPT => +OK
            RANK.TOPN s 5 => [[1, "b", 2, 1000000000000001], [2, "a", 1, 1]]
            ZADD v -inf "\x00rank 3 FIELD a DESC INT" => 1
            RANK.COUNT v => SCHEMA the board has format version 3, this module reads version 2: upgrade redis-rank
        "#);
    }

    /// An error inside an array would be read as one of its elements, and everything behind it as the rest.
    fn an_error_is_the_whole_reply(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b DATA players => +OK\n RANK.ADD b 1 a 2 b 3 c => 3\n SET players x => +OK");
        let wrong_type = "WRONGTYPE the board keeps its attributes in 'players', which is not a hash";
        for read in ["TOPN b 3", "GET b a", "AMONG b 2 a b", "PAGE b 1 2", "AROUND b a 1", "RANGE b 1 2", "BYSCORE b 1 2", "QUERY b a", "STATS b"] {
            for json in ["", " JSON"] {
                script(&mut con, &format!("RANK.{read} WITHDATA{json} => {wrong_type}\n PING => +PONG"));
            }
        }
        let answer = reply(&mut con, "EVAL \"return redis.pcall('RANK.TOPN', KEYS[1], 3, 'WITHDATA')\" 1 b");
        assert!(answer.starts_with(wrong_type), "{answer}");
        expect(&mut con, "EVAL \"return redis.call('PING')\" 0", "+PONG");
        script(&mut con, "RANK.CREATE p FIELD a DIGITS 3 => +OK\n RANK.ADD p 1 a 2 b => 2\n ZADD p 2.5 bad => 1");
        for read in ["PAGE p 3 1 DENSE", "RANGE p 3 3 DENSE", "STATS p LIMIT 2 1 DENSE", "GET p a DENSE", "TOPN p 3"] {
            let answer = reply(&mut con, &format!("RANK.{read}"));
            assert!(answer.starts_with("DAMAGED element "), "{read}: {answer}");
            expect(&mut con, "PING", "+PONG");
        }
    }

    fn a_batch_that_meets_a_bad_element_writes_nothing(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a DIGITS 3", "FIELD a DIGITS 3 TIES FIRST S", "FIELD a DIGITS 3 KEEP 2"] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE p {schema} => +OK\n ZADD p 1.5 bad => 1"));
            for write in ["ADD p CH 5 ok 6 bad", "ADD p 5 ok 6 bad", "ADD p WITHRANK 5 ok 6 bad"] {
                let before = reply(&mut con, "DEBUG DIGEST");
                let answer = reply(&mut con, &format!("RANK.{write}"));
                if is_error(&answer) {
                    assert_eq!(reply(&mut con, "DEBUG DIGEST"), before, "{schema}: {write}");
                } else {
                    // A score may be set over a bad one where nothing needs to know it: then all of it is written.
                    script(&mut con, "RANK.SCORE p bad => 6\n RANK.SCORE p ok => 5\n ZADD p 1.5 bad => 0\n ZREM p ok => 1");
                }
            }
        }
    }

    fn a_bad_element_can_be_removed_by_its_name(server: Server) {
        let mut con = server.connect();
        for schema in ["FIELD a DIGITS 3", "FIELD a BITS 30 FIELD b BITS 30", "FIELD a DIGITS 3 TIES FIRST S"] {
            script(&mut con, &format!("FLUSHALL => +OK\n RANK.CREATE p {schema} => +OK\n ZADD p 1.5 bad 1.25 worse => 2"));
            script(&mut con, "RANK.REM p nobody bad => 1\n RANK.REM p worse => 1\n RANK.COUNT p => 0\n ZCARD p => 1");
        }
    }

    fn calls_that_met_damage_are_counted(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b FIELD a INT FIELD b INT => +OK\n RANK.ADD b 1 1000000000000001 x 2 2 y => 2\n RANK.SCORE b y => [2, 2]");
        assert_eq!(server.info("rank_damaged"), "0");
        expect(&mut con, "ZREMRANGEBYRANK b 0 0", "1");
        for command in ["RANK.GET b x", "RANK.ADD b 1 1 z"] {
            assert!(names_a_way_out(&reply(&mut con, command)), "{command}");
        }
        assert_eq!(server.info("rank_damaged"), "2");
    }

    fn a_changed_score_does_not_cost_a_member_its_entry(server: Server) {
        let mut con = server.connect();
        script(&mut con, "RANK.CREATE b FIELD a INT FIELD b INT => +OK\n RANK.ADD b 5 5 x 6 1000000000000001 y => 2");
        let (element, _) = elements(&mut con, "b").pop().expect("an element");
        assert!(element.starts_with(b"\x02") && element.ends_with(b"y"));
        assert_eq!(replyv(&mut con, &[b"ZADD".as_slice(), b"b", b"100", &element]), "0");
        let shown = show(&Value::BulkString(element.clone()));
        script(&mut con, "RANK.ADD b 1 1 z => 1");
        report(&mut con, "b REPAIR", &format!(r#""undecodable", 1, "missing", 0, "orphaned", 0, "duplicated", 0, "repaired", 0, "examples", [{shown}]]"#));
        script(&mut con, "RANK.ADD b 1 1 w => 1\n RANK.SCORE b x => [5, 5]");
        let answer = reply(&mut con, "RANK.SCORE b y");
        assert!(answer.starts_with("DAMAGED element '\\x02") && names_a_way_out(&answer), "{answer}");
        script(&mut con, "RANK.REM b y => 1\n RANK.SCORE b y => nil\n RANK.COUNT b => 3");
        assert_eq!(verify(&mut con, b"b", false), [0; 5]);
    }

    fn what_reports_damage_has_changed_nothing(server: Server) {
        let mut con = server.connect();
        const LONG: &str = "9000000000000000001";
        let coder = Coder::new("FIELD a INT FIELD b INT", 0);
        let stored = |a: &str, name: &str| coder.stored(&[a, LONG], 0, name.as_bytes());
        let put = |(element, score): (Vec<u8>, f64)| command(&[b"ZADD", b"b", score.to_string().as_bytes(), &element]);
        let remove = |element: &[u8]| command(&[b"ZREM", b"b", element]);
        let another_tail = coder.stored(&["1", "9000000000000000000"], 0, b"m1");
        for (damage, write) in [
            // Whoever has to leave has lost its entry, or has the element of another.
            (vec![remove(&stored("1", "m1").1[0].0)], "RANK.TRIM b 2"),
            (vec![remove(&stored("1", "m1").1[0].0)], "RANK.ADD b KEEP 3 9 9 new 8 8 newer"),
            (vec![remove(&stored("8", "m8").1[0].0)], "RANK.POP b 2"),
            (vec![remove(&stored("1", "m1").1[0].0)], "RANK.POP b 2 WORST"),
            (vec![remove(&stored("8", "m8").0.0)], "RANK.REM b m7 m8"),
            (vec![remove(&stored("8", "m8").0.0)], "RANK.ADD b 1 1 new 2 2 m8"),
            (vec![put(another_tail.0.clone())], "RANK.ALTER b KEEP 1"),
            (vec![put(another_tail.1[0].clone())], "RANK.ADD b 5 5 m3 5 5 m1"),
            (vec![put(another_tail.1[0].clone())], "RANK.INCR b 1 1 m1"),
            // The place that a member is to take is taken by an element which its entries do not lead to.
            (vec![remove(&stored("1", "m1").1[0].0)], "RANK.ADD b 5 5 m3 1 9000000000000000001 m1"),
            (vec![put(stored("1", "nobody").0)], "RANK.ADD b 3 3 m2 1 9000000000000000001 nobody"),
            (vec![put(stored("1", "nobody").0)], r#"RANK.LOAD b {"member":"a","scores":{"a":1,"b":1}} {"member":"nobody","scores":{"a":1,"b":9000000000000000001}}"#),
        ] {
            script(&mut con, "FLUSHALL => +OK\n RANK.CREATE b FIELD a INT FIELD b INT DATA h OWNED => +OK\n HSET h m1 {} m8 {} => 2");
            for member in 1..9 {
                expect(&mut con, &format!("RANK.ADD b {member} {LONG} m{member}"), "1");
            }
            for words in &damage {
                assert_eq!(replyv(&mut con, words).len(), 1, "{write}");
            }
            let state = |con: &mut redis::Connection| [reply(con, "ZRANGE b 0 -1 WITHSCORES"), reply(con, "HGETALL h")];
            let before = state(&mut con);
            let answer = reply(&mut con, write);
            assert!(names_a_way_out(&answer), "{write}: {answer}");
            assert_eq!(state(&mut con), before, "{write}: {answer}");
        }
    }
}
