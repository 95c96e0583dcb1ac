//! What core commands do to a board behind the module's back: every command answers what the elements say, or with an
//! error that names the way out; a write that reports damage changes nothing; `RANK.VERIFY` finds it, and `REPAIR` mends it.

use std::collections::{BTreeMap, BTreeSet};

use redis::{Connection, Value};

use crate::script::{script, Dice};
use crate::support::boards::{elements, replyv};
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
    /// Bytes in front of the name; none if the board does not spill.
    spilled: Option<usize>,
    decode: fn(&[u8], f64) -> Option<Member>,
}

const MARKER: &[u8] = b"\0rank ";
const LOOKED_BEHIND: usize = 17;
const SIGN: u64 = 1 << 63;

fn name(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec()
}

/// The `at`th 8 bytes behind the first one.
fn word(element: &[u8], at: usize) -> Option<u64> {
    let bytes = element.strip_prefix(b"\x02")?.get(at * 8..at * 8 + 8)?;
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

fn signed(word: u64) -> i64 {
    (word ^ SIGN) as i64
}

const TWO_INTS: Shape = Shape {
    schema: "FIELD a INT FIELD b ASC INT",
    fields: 2,
    ascending: false,
    spilled: Some(16),
    decode: |element, score| {
        let (a, b) = (signed(word(element, 0)?), signed(!word(element, 1)?));
        (a as f64 == score).then(|| (format!("{a} {b}"), name(&element[17..])))
    },
};

const ASCENDING_INT: Shape = Shape {
    schema: "FIELD a ASC INT",
    fields: 1,
    ascending: true,
    spilled: Some(8),
    decode: |element, score| {
        let a = signed(word(element, 0)?);
        (a as f64 == score).then(|| (a.to_string(), name(&element[9..])))
    },
};

const TIMED_FLOAT: Shape = Shape {
    schema: "FIELD a FLOAT TIES FIRST",
    fields: 1,
    ascending: false,
    spilled: Some(8),
    decode: |element, score| {
        let time = signed(!word(element, 0)?);
        ((0..1 << 53).contains(&time) && score.is_finite()).then(|| (format!("AT {time} {score}"), name(&element[9..])))
    },
};

const PACKED: Shape = Shape {
    schema: "FIELD a DIGITS 3 FIELD b DIGITS 3",
    fields: 2,
    ascending: false,
    spilled: None,
    decode: |element, score| {
        let whole = score.fract() == 0.0 && (0.0..1e6).contains(&score);
        whole.then(|| (format!("{} {}", score as u64 / 1000, score as u64 % 1000), name(element)))
    },
};

const PACKED63: Shape = Shape {
    schema: "FIELD a BITS 30 FIELD b BITS 30",
    fields: 2,
    ascending: false,
    spilled: None,
    decode: |element, score| {
        let number = score.to_bits().checked_sub(1 << 52).filter(|number| number >> 60 == 0)?;
        Some((format!("{} {}", number >> 30, number % (1 << 30)), name(element)))
    },
};

const PLAIN: Shape = Shape {
    schema: "FIELD a",
    fields: 1,
    ascending: false,
    spilled: None,
    decode: |element, score| score.is_finite().then(|| (score.to_string(), name(element))),
};

const SPILLED: [Shape; 3] = [TWO_INTS, ASCENDING_INT, TIMED_FLOAT];
const NOT_SPILLED: [Shape; 3] = [PACKED, PACKED63, PLAIN];

impl Shape {
    /// What a person types for two numbers.
    fn scores(&self, first: usize, second: usize) -> String {
        if self.fields == 1 {
            first.to_string()
        } else {
            format!("{first} {second}")
        }
    }

    fn at(&self, second: usize) -> String {
        if self.schema.contains("TIES") {
            format!("AT {}", 1_700_000_000_000 + second)
        } else {
            String::new()
        }
    }

    /// The index entry of a member's element.
    fn entry(&self, element: &[u8]) -> Vec<u8> {
        let (bytes, name) = element[1..].split_at(self.spilled.expect("a spilled board"));
        let length = u32::try_from(name.len()).expect("a short name").to_be_bytes();
        [b"\x01", &length[..], name, bytes].concat()
    }

    /// The element that a well-formed index entry leads to.
    fn element(&self, entry: &[u8]) -> Option<Vec<u8>> {
        let rest = entry.strip_prefix(b"\x01")?;
        let length = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let (name, bytes) = (rest.get(4..4 + length)?, rest.get(4 + length..)?);
        (Some(bytes.len()) == self.spilled).then(|| [b"\x02", bytes, name].concat())
    }

    /// A board of this schema, `m1` the first of its members; some are equal on their first field.
    #[track_caller]
    fn fill(&self, con: &mut Connection, key: &str, members: std::ops::Range<usize>, shift: usize) {
        expect(con, &format!("RANK.CREATE {key} {}", self.schema), "+OK");
        for number in members {
            let scores = self.scores(shift + number % 70 * 10, shift + number);
            expect(con, &format!("RANK.ADD {key} {} {scores} m{number}", self.at(number)), "1");
        }
    }
}

/// What a sorted set is, by its elements at -inf.
enum State {
    Board,
    /// A marker that is not this shape's: another schema; or another version, or nonsense.
    Foreign {
        readable: bool,
    },
    /// The marker is behind others, or gone while index entries are there.
    Displaced {
        marker: bool,
    },
    /// No marker: a sorted set like any other.
    Bare,
}

/// What the elements say, by this file's own account.
struct Truth {
    state: State,
    /// All that decode, with the place of the element among those of the same name: 0 for the one that has an entry.
    members: Vec<(Member, usize)>,
    /// Names that have an element and no entry. Where the numbers fit all the same, a look-up cannot know of them.
    lost: BTreeSet<Vec<u8>>,
    /// As a write sees it: by the size alone.
    size_fits: bool,
    /// As a read sees it: by counting.
    count_fits: bool,
    /// Names that have several elements or several entries: a look-up cannot be right.
    ambiguous: BTreeSet<Vec<u8>>,
    /// Above -inf, and not a member's.
    undecodable: Vec<Vec<u8>>,
    /// Those of them that no spilled board could have written.
    impossible: usize,
    /// At -inf, and neither the marker nor an entry.
    strays: usize,
    missing: usize,
    /// Entries that lead nowhere.
    orphaned: usize,
    /// Entries that lead to an element that does not decode: it may count as nobody's.
    doubtful: usize,
}

fn truth(shape: &Shape, marker: &[u8], elements: &[Element]) -> Truth {
    let lowest: Vec<&[u8]> = elements.iter().filter(|it| it.1 == f64::NEG_INFINITY).map(|it| it.0.as_slice()).collect();
    let there: BTreeMap<&[u8], f64> = elements.iter().map(|(element, score)| (element.as_slice(), *score)).collect();
    let seen = &lowest[..lowest.len().min(LOOKED_BEHIND)];
    let state = match lowest.first() {
        Some(first) if *first == marker => State::Board,
        Some(first) if first.starts_with(MARKER) => foreign(first),
        _ => match seen.iter().find(|element| element.starts_with(MARKER)) {
            Some(found) if *found == marker => State::Displaced { marker: true },
            Some(other) => foreign(other),
            None if seen.iter().any(|element| looks_like_entry(element)) => State::Displaced { marker: false },
            None => State::Bare,
        },
    };
    let has_entry = |element: &[u8]| there.get(shape.entry(element).as_slice()) == Some(&f64::NEG_INFINITY);
    let mut by_name: BTreeMap<Vec<u8>, Vec<(Member, bool, &Element)>> = BTreeMap::new();
    let mut undecodable = Vec::new();
    for element in elements.iter().filter(|it| it.1 != f64::NEG_INFINITY) {
        match (shape.decode)(&element.0, element.1) {
            Some(member) => {
                let has_entry = shape.spilled.is_none() || has_entry(&element.0);
                by_name.entry(member.1.clone()).or_default().push((member, has_entry, element));
            }
            None => undecodable.push(element.0.clone()),
        }
    }
    let (mut strays, mut orphaned, mut doubtful) = (0, 0, 0);
    let mut entries: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for lowest in lowest.iter().filter(|element| **element != marker) {
        match shape.spilled.and_then(|_| shape.element(lowest)) {
            Some(element) => {
                let bytes = shape.spilled.unwrap_or_default();
                *entries.entry(element[1 + bytes..].to_vec()).or_default() += 1;
                match there.get(element.as_slice()).filter(|score| **score != f64::NEG_INFINITY) {
                    None => orphaned += 1,
                    Some(score) => doubtful += usize::from((shape.decode)(&element, *score).is_none()),
                }
            }
            None => strays += 1,
        }
    }
    let (mut members, mut missing, mut lost) = (Vec::new(), 0, BTreeSet::new());
    let mut ambiguous: BTreeSet<Vec<u8>> =
        entries.into_iter().filter(|entry| entry.1 > 1).map(|entry| entry.0).collect();
    for (name, mut same) in by_name {
        missing += same.iter().filter(|it| !it.1).count();
        // Those with an entry first, then the best.
        same.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| best_first(shape, a.2, b.2)));
        match same.iter().filter(|it| it.1).count() {
            0 => lost.insert(name),
            1 => false,
            _ => ambiguous.insert(name),
        };
        members.extend(same.into_iter().enumerate().map(|(at, (member, ..))| (member, at)));
    }
    let impossible =
        undecodable.iter().filter(|element| shape.spilled.is_some() && element.first() != Some(&2)).count();
    let size_fits = elements.len() % 2 == 1;
    let count_fits = elements.len() == 1 + 2 * (elements.len() - lowest.len());
    Truth {
        state,
        members,
        lost,
        size_fits,
        count_fits,
        ambiguous,
        undecodable,
        impossible,
        strays,
        missing,
        orphaned,
        doubtful,
    }
}

fn foreign(marker: &[u8]) -> State {
    State::Foreign { readable: marker.starts_with(b"\0rank 1 FIELD ") }
}

fn looks_like_entry(element: &[u8]) -> bool {
    let rest = element.strip_prefix(b"\x01").filter(|rest| rest.len() >= 4);
    let length = rest.and_then(|rest| Some(u32::from_be_bytes(rest.get(..4)?.try_into().ok()?) as usize));
    rest.zip(length)
        .and_then(|(rest, length)| rest.len().checked_sub(4 + length))
        .is_some_and(|left| left >= 8 && left % 8 == 0)
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

    /// Whether a command asks for somebody whom the index has lost, and nothing else tells; or for somebody who is there
    /// and cannot be read.
    fn cannot_know(&self, command: &str) -> bool {
        let asks = |name: &[u8]| command.split(' ').any(|word| word.as_bytes() == name);
        let fits = if READS.contains(&command) { self.count_fits } else { self.size_fits };
        fits && self.lost.iter().any(|name| asks(name)) || self.undecodable.iter().any(|name| asks(name))
    }

    fn can_be_mended(&self) -> bool {
        self.strays + self.missing + self.orphaned + self.impossible > 0 || self.has_twins()
    }

    fn has_twins(&self) -> bool {
        !self.ambiguous.is_empty() || self.members.iter().any(|(_, at)| *at > 0)
    }

    /// The members once the better of two was kept, by what `RANK.ADD` takes.
    fn mended(&self, shape: &Shape, elements: &[Element]) -> BTreeSet<Member> {
        let mut best: BTreeMap<Vec<u8>, (Member, &Element)> = BTreeMap::new();
        for element in elements.iter().filter(|it| it.1 != f64::NEG_INFINITY) {
            let Some(member) = (shape.decode)(&element.0, element.1) else { continue };
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
    "INFO K",
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
    "CLEAR K",
    "ALTER K KEEP 2",
    "ROTATE K K.old",
    "CREATE K.old LIKE K",
];

fn names_a_way_out(answer: &str) -> bool {
    answer.starts_with("ERR the board is damaged: ") && (answer.contains("RANK.VERIFY") || answer.contains("ADOPT"))
        || answer.starts_with("ERR element ") && answer.contains("RANK.VERIFY")
        || answer.starts_with("ERR ADOPT: element ") && answer.contains("ZREM")
}

/// A marker that this module did not write says what it is.
fn names_the_marker(answer: &str) -> bool {
    answer.starts_with("ERR the board has format version ")
        || answer.starts_with("ERR the board's marker is not a schema: ")
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
                if let Some((scores, name)) = (self.shape.decode)(&element, score) {
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
        let truth = truth(shape, &self.marker, &elements(con, "b"));
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

    /// One command on `b`, and if it answers, on the sound board too; whether it was refused.
    #[track_caller]
    fn ask(&mut self, con: &mut Connection, truth: &Truth, command: &str) -> bool {
        let got = reply(con, &self.line(command, "b"));
        let is_refused = names_a_way_out(&got) || names_the_marker(&got);
        let unsure = |what: &str| format!("{command}: {what}: {got}");
        match truth.state {
            State::Foreign { readable } => {
                // Under a schema that is not this one no answer is known here.
                self.check(is_refused || readable, || unsure("not refused"));
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
                let is_ambiguous = command.split(' ').any(|word| truth.ambiguous.contains(word.as_bytes()));
                self.check(!is_board || !is_ambiguous, || unsure("not refused, though nobody can know"));
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
            "S" => self.shape.scores(15, 3),
            "D" => self.shape.scores(1, 1),
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
            let truth = truth(shape, &self.marker, &all);
            let expected = truth.mended(shape, &all);
            match truth.state {
                State::Board | State::Displaced { marker: true } => {
                    let found = verify(con, b"b", false);
                    let [bad, missing, orphaned, doubtful] =
                        [truth.undecodable.len() + truth.strays, truth.missing, truth.orphaned, truth.doubtful]
                            .map(|count| i64::try_from(count).expect("a count"));
                    if !truth.has_twins() {
                        assert_eq!(found[..2], [bad, missing], "{context}: undecodable, missing");
                        assert!(
                            (orphaned..=orphaned + doubtful).contains(&found[2]),
                            "{context}: {found:?}, not {orphaned} orphaned"
                        );
                    }
                    assert_eq!(found[..3].iter().sum::<i64>() > 0, truth.is_damaged(), "{context}: {found:?}");
                    assert_eq!(found[3], 0, "{context}: repaired without being asked to");
                    let repaired = verify(con, b"b", true);
                    if doubtful == 0 || truth.can_be_mended() {
                        assert_eq!(
                            repaired[3] > 0,
                            truth.can_be_mended(),
                            "{context}: found {found:?}, then {repaired:?}"
                        );
                    }
                    let left = i64::try_from(truth.undecodable.len() - truth.impossible).expect("a count");
                    assert_eq!(verify(con, b"b", false), [left, 0, 0, 0], "{context}: after the repair");
                    let stays = |element: &&Vec<u8>| shape.spilled.is_none() || element.first() == Some(&2);
                    for element in truth.undecodable.iter().filter(stays) {
                        assert_eq!(replyv(con, &[b"ZREM".as_slice(), b"b", element]), "1", "{context}: it was to stay");
                    }
                    if doubtful > 0 {
                        verify(con, b"b", true);
                    }
                    assert_eq!(verify(con, b"b", false), [0; 4], "{context}: once all decodes");
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
                        assert!(truth.undecodable.len() + truth.strays > 0, "{context}: {answer}");
                        assert_eq!(digest(con, "b"), before, "{context}: refused, and yet changed");
                        // As it says: what does not decode is removed.
                        for (element, score) in &all {
                            let fits = match *score == f64::NEG_INFINITY {
                                true => {
                                    shape.spilled.is_some() && shape.element(element).is_some()
                                        || *element == self.marker
                                }
                                false => (shape.decode)(element, *score).is_some(),
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
        let line = format!("{} {} newcomer", self.shape.at(1), self.shape.scores(1, 1));
        expect(con, &format!("RANK.ADD b {line}"), "1");
        expect(con, "RANK.REM b newcomer", "1");
        assert_eq!(verify(con, b"b", false), [0; 4], "{context}");
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
    add(&[b"ZUNIONSTORE", b"b", b"2", b"b", b"spilled"]);
    add(&[b"ZUNIONSTORE", b"b", b"1", b"b", b"WEIGHTS", b"2"]);
    add(&[b"ZINTERSTORE", b"b", b"2", b"b", b"c"]);
    add(&[b"ZDIFFSTORE", b"b", b"2", b"b", b"c"]);
    add(&[b"ZREMRANGEBYSCORE", b"b", b"(-inf", b"+inf"]);
    add(&[b"ZREMRANGEBYSCORE", b"b", b"-inf", b"-inf"]);
    for score in [b"-inf".as_slice(), b"inf", b"1.5", b"30"] {
        for element in [b"".as_slice(), b"zzz", b"\0a", b"\x01\0\0\0\xffa", b"\x02short", member] {
            add(&[b"ZADD", b"b", score, element]);
        }
    }
    for text in [
        "0 x",
        "2 x",
        "1 A",
        "1 z",
        "1",
        "",
        "10 FIELD a DESC INT",
        "1 FIELD A DESC INT",
        "1 FIELD z DESC INT",
        "1 FIELD A DESC FLOAT",
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
    damages
}

/// What can be done to an index.
fn index_damages(shape: &Shape, all: &[Element]) -> Vec<Damage> {
    let bytes = shape.spilled.expect("a spilled board");
    let members: Vec<&Element> = all.iter().filter(|it| it.1 != f64::NEG_INFINITY).collect();
    let [one, two] =
        ["m1", "m2"].map(|name| *members.iter().find(|it| it.0[1 + bytes..] == *name.as_bytes()).expect("the member"));
    // Another element of the same name: with another's bytes and score, which are worse or better.
    let twin = |of: &Element, like: &Element| [&like.0[..=bytes], &of.0[1 + bytes..]].concat();
    let ends = [members[0], members[members.len() - 1]];
    let [entry_one, entry_two] = [one, two].map(|member| shape.entry(&member.0));
    let score = |member: &Element| member.1.to_string().into_bytes();
    let mut damages: Vec<Damage> = Vec::new();
    let mut add = |what: &str, commands: Vec<Vec<Vec<u8>>>| damages.push((what.into(), commands));
    let remove = |elements: &[&[u8]]| command(&[&[b"ZREM".as_slice(), b"b"], elements].concat());
    add("an element gone", vec![remove(&[&one.0])]);
    add("two elements gone", vec![remove(&[&one.0, &two.0])]);
    add("an entry gone", vec![remove(&[&entry_one])]);
    add("two entries gone", vec![remove(&[&entry_one, &entry_two])]);
    add("an element and another's entry gone", vec![remove(&[&one.0, &entry_two])]);
    add(
        "two elements and two entries of others gone",
        vec![remove(&[&one.0, &two.0, &shape.entry(&ends[0].0), &shape.entry(&ends[1].0)])],
    );
    add("the marker above -inf", vec![command(&[b"ZADD", b"b", b"5", &all[0].0])]);
    add("a marker above -inf", vec![command(&[b"ZADD", b"b", b"3", b"\0rank 2 x"])]);
    add("an entry above -inf", vec![command(&[b"ZADD", b"b", b"3", &entry_one])]);
    add(
        "an entry above -inf in place of another",
        vec![command(&[b"ZADD", b"b", b"3", &entry_one]), remove(&[&entry_two])],
    );
    add("an element at -inf", vec![command(&[b"ZADD", b"b", b"-inf", &one.0])]);
    add("half an entry", vec![command(&[b"ZADD", b"b", b"-inf", &entry_one[..entry_one.len() - 1]])]);
    for (end, kind) in ends.iter().zip(["lowest", "highest"]) {
        let element = twin(two, end);
        if element == two.0 {
            continue;
        }
        let second = command(&[b"ZADD", b"b", &score(end), &element]);
        let entry = command(&[b"ZADD", b"b", b"-inf", &shape.entry(&element)]);
        add(&format!("a second element, {kind}"), vec![second.clone()]);
        add(&format!("a second entry, {kind}"), vec![entry.clone()]);
        add(&format!("a second element and its entry, {kind}"), vec![second.clone(), entry.clone()]);
        add(&format!("a second element in place of an entry, {kind}"), vec![second.clone(), remove(&[&entry_one])]);
        add(&format!("a second element in place of its own entry, {kind}"), vec![second, remove(&[&entry_two])]);
        add(&format!("a second entry in place of another, {kind}"), vec![entry, remove(&[&entry_one])]);
    }
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
    let mut score = dice.pick(&["-inf", "inf", "5", "10", &other, &other, &other]);
    // Whether a marker's name may be a member's, where names are elements, is not asked here.
    if shape.spilled.is_none() && element.starts_with(b"\0") {
        score = "-inf";
    }
    match dice.roll(3) {
        0 => command(&[b"ZREM", b"b", &element]),
        _ => command(&[b"ZADD", b"b", score.as_bytes(), &element]),
    }
}

/// The board `b`, and others to make unions with.
#[track_caller]
fn prepare(con: &mut Connection, shape: &Shape, members: usize) -> Vec<u8> {
    expect(con, "FLUSHALL", "+OK");
    shape.fill(con, "b", 1..members + 1, 0);
    shape.fill(con, "c", 2..6, 5);
    TWO_INTS.fill(con, "spilled", 3..9, 5);
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
        assert!(!answer.contains("ERR"), "{damage}: {answer}");
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
        if shape.spilled.is_some() {
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
        damage_and_mend(&mut con, &SPILLED, 6);
    }

    fn a_damaged_index_never_makes_a_large_board_lie(server: Server) {
        let mut con = server.connect();
        // More than the compact encoding holds.
        expect(&mut con, "CONFIG SET zset-max-listpack-entries 8", "+OK");
        damage_and_mend(&mut con, &SPILLED, 12);
    }

    fn damage_never_makes_a_board_without_an_index_lie(server: Server) {
        let mut con = server.connect();
        for entries in ["128", "4"] {
            expect(&mut con, &format!("CONFIG SET zset-max-listpack-entries {entries}"), "+OK");
            damage_and_mend(&mut con, &NOT_SPILLED, 6);
        }
    }

    fn damage_of_any_kind_at_any_place_is_found_and_mended(server: Server) {
        let mut con = server.connect();
        let mut dice = Dice::new(26);
        let rounds = if server_wrapper().is_some() { 4 } else { 30 };
        let mut problems = Vec::new();
        for shape in SPILLED.iter().chain(&NOT_SPILLED) {
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
            RANK.GET p a => ERR the board is damaged: elements at -inf come before its marker; run RANK.VERIFY key REPAIR, or ZREM them and use RANK.CREATE key ... ADOPT
            RANK.ADD p 1 c => ERR the board is damaged: elements at -inf come before its marker; run RANK.VERIFY key REPAIR, or ZREM them and use RANK.CREATE key ... ADOPT
            ZREM p "" => 1
            ZADD p -inf zzz => 1
            RANK.TOPN p 5 => ERR the board is damaged: an element other than its marker is at -inf; run RANK.VERIFY key REPAIR
        "#);
        report(&mut con, "p REPAIR", r#""undecodable", 1, "missing", 0, "orphaned", 0, "repaired", 1, "examples", ["zzz"]]"#);
        script(&mut con, r#"
            ZADD p 1.5 bad => 1
            RANK.TOPN p 5 => ERR element 'bad' does not decode under the board's schema: ZREM it; RANK.VERIFY lists all such elements
        "#);
        report(&mut con, "p REPAIR", r#""undecodable", 1, "missing", 0, "orphaned", 0, "repaired", 0, "examples", ["bad"]]"#);
        script(&mut con, r#"
            RANK.REM p bad => 1
            RANK.TOPN p 5 => [[1, "b", 2], [2, "a", 1]]
            RANK.CREATE s FIELD a INT => +OK
            RANK.ADD s 1 a 2 b 3 c => 3
            ZPOPMAX s => ["\x02\x80\x00\x00\x00\x00\x00\x00\x03c", "3"]
            RANK.SCORE s c => ERR the board is damaged: its index and its members differ at 'c'; run RANK.VERIFY key REPAIR
            RANK.COUNT s => ERR the board is damaged: it has 2 members but 3 index entries; run RANK.VERIFY key REPAIR, then ZREM what it reports as undecodable
            RANK.ADD s 1 d => ERR the board is damaged: its size does not match its index; run RANK.VERIFY key REPAIR, then ZREM what it reports as undecodable
        "#);
        report(&mut con, "s REPAIR", r#""undecodable", 0, "missing", 0, "orphaned", 1, "repaired", 1, "examples", ["c"]]"#);
        script(&mut con, r#"
            RANK.COUNT s => 2
            ZPOPMIN s => ["\x00rank 1 FIELD a DESC INT", "-inf"]
            RANK.COUNT s => ERR the board is damaged: it has index entries but no marker; restore its schema with RANK.CREATE key ... ADOPT, then run RANK.VERIFY key REPAIR
        "#);
        let answer = reply(&mut con, "RANK.CREATE s FIELD a INT FIELD b INT ADOPT");
        assert!(answer.starts_with("ERR ADOPT: element '\\x0"), "{answer}");
        assert!(answer.ends_with("' does not decode under this schema: ZREM it, or use the schema the board had"), "{answer}");
        script(&mut con, r#"
            RANK.CREATE s FIELD a INT ADOPT => +OK
            RANK.TOPN s 5 => [[1, "b", 2], [2, "a", 1]]
            ZADD v -inf "\x00rank 2 FIELD a DESC INT" => 1
            RANK.COUNT v => ERR the board has format version 2, this module reads version 1: upgrade redis-rank
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
            assert!(answer.starts_with("ERR element "), "{read}: {answer}");
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
                if answer.starts_with("ERR") {
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
        script(&mut con, "RANK.CREATE b FIELD a INT => +OK\n RANK.ADD b 1 x 2 y => 2\n RANK.GET b x => [2, \"x\", 1]");
        assert_eq!(server.info("rank_damaged"), "0");
        expect(&mut con, "ZREMRANGEBYRANK b 0 0", "1");
        for command in ["RANK.GET b x", "RANK.ADD b 1 z"] {
            assert!(names_a_way_out(&reply(&mut con, command)));
        }
        assert_eq!(server.info("rank_damaged"), "2");
    }

    fn a_changed_score_does_not_cost_a_member_its_entry(server: Server) {
        let mut con = server.connect();
        script(&mut con, r#"
            RANK.CREATE b FIELD a INT => +OK
            RANK.ADD b 5 x 6 y => 2
            ZINCRBY b 1 "\x02\x80\x00\x00\x00\x00\x00\x00\x06y" => "7"
            RANK.ADD b 1 z => 1
        "#);
        report(&mut con, "b REPAIR", r#""undecodable", 1, "missing", 0, "orphaned", 0, "repaired", 0, "examples", ["\x02\x80\x00\x00\x00\x00\x00\x00\x06y"]]"#);
        script(&mut con, r#"
            RANK.ADD b 1 w => 1
            RANK.SCORE b x => 5
            RANK.SCORE b y => ERR element '\x02\x80\x00\x00\x00\x00\x00\x00\x06y' does not decode under the board's schema: ZREM it; RANK.VERIFY lists all such elements
        "#);
    }

    fn what_reports_damage_has_changed_nothing(server: Server) {
        let mut con = server.connect();
        for (damage, write) in [
            (r#"ZADD b -3 "\x01" -3 "\x01a""#, "RANK.REM b m8 m8"),
            (r#"ZADD b -inf "\x01\x00\x00\x00\x02m1\x80\x00\x00\x00\x00\x00\x00\x09" 9 "\x02\x80\x00\x00\x00\x00\x00\x00\x09qq""#, "RANK.TRIM b 2"),
            (r#"ZADD b 1 "\x02\x80\x00\x00\x00\x00\x00\x00\x01nn" -inf "\x01\x00\x00\x00\x02zz\x80\x00\x00\x00\x00\x00\x00\x01""#, "RANK.INCR b 1 nn"),
            (r#"ZADD b 1 "\x02\x80\x00\x00\x00\x00\x00\x00\x15m1" -inf "\x01\x00\x00\x00\x02zz\x80\x00\x00\x00\x00\x00\x00\x01""#, "RANK.ADD b 21 m1"),
        ] {
            script(&mut con, "FLUSHALL => +OK\n RANK.CREATE b FIELD a INT DATA h OWNED => +OK\n \
                              RANK.ADD b 1 m1 2 m2 3 m3 4 m4 5 m5 6 m6 7 m7 8 m8 => 8\n HSET h m1 {} m8 {} => 2");
            expect(&mut con, damage, "2");
            let state = |con: &mut redis::Connection| [reply(con, "ZRANGE b 0 -1 WITHSCORES"), reply(con, "HGETALL h")];
            let before = state(&mut con);
            let answer = reply(&mut con, write);
            if answer.starts_with("ERR") {
                assert_eq!(state(&mut con), before, "{write}: {answer}");
            }
        }
    }
}
