//! What boards with damaged elements should answer, by a decoder and rules of the tests' own.

use std::collections::{BTreeMap, BTreeSet};

use redis::Connection;

use crate::support::codes::{self, Coder, TOP_OF_INDEX};
use crate::support::*;

pub type Element = (Vec<u8>, f64);

/// A member as an element has it: what `RANK.ADD` takes in front of the name, and the name.
pub type Member = (String, Vec<u8>);

/// A schema, with a decoder of its own.
pub struct Shape {
    pub schema: &'static str,
    pub fields: usize,
    pub ascending: bool,
    /// A `coded` board, whose members may have index entries.
    pub coded: bool,
    /// What a person types for two numbers, of which the second one is a member's own.
    pub scores: fn(usize, usize) -> String,
    pub decode: fn(&Shape, &[u8], f64) -> Option<Member>,
}

pub const MARKER: &[u8] = b"\0rank ";
pub const LOOKED_BEHIND: usize = 17;
/// Too long for a score, together with anything else.
pub const LONG: usize = 1_000_000_000_000_001;

pub fn decode_coded(shape: &Shape, element: &[u8], score: f64) -> Option<Member> {
    let member = Coder::new(shape.schema, 0).decode(element, score)?;
    let at = member.time.map_or(String::new(), |time| format!("AT {time} "));
    Some((at + &member.scores.join(" "), member.name))
}

pub const CODED: Shape = Shape {
    schema: "",
    fields: 1,
    ascending: false,
    coded: true,
    scores: |first, _| first.to_string(),
    decode: decode_coded,
};

/// All of them fit.
pub const SHORT: Shape = Shape {
    schema: "FIELD a INT FIELD b ASC INT",
    fields: 2,
    scores: |first, second| format!("{first} {second}"),
    ..CODED
};

/// None of them does, and each has three entries.
pub const LONG_ONES: Shape = Shape {
    schema: "FIELD a INT FIELD b ASC INT FIELD c INT",
    fields: 3,
    scores: |first, second| format!("{} {} {}", first * LONG, second * LONG, LONG),
    ..CODED
};

/// Some fit, others have an entry.
pub const MIXED: Shape = Shape {
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

pub const TIMED: Shape = Shape {
    schema: "FIELD a FLOAT TIES FIRST SINCE 1700000000000",
    scores: |first, second| if second % 2 == 0 { first.to_string() } else { format!("{first}.0000001") },
    ..CODED
};

pub const PACKED: Shape = Shape {
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

pub const PLAIN: Shape = Shape {
    schema: "FIELD a",
    coded: false,
    decode: |_, element, score| score.is_finite().then(|| (score.to_string(), element.to_vec())),
    ..CODED
};

pub const WITH_INDEX: [Shape; 4] = [SHORT, LONG_ONES, MIXED, TIMED];
pub const WITHOUT_INDEX: [Shape; 2] = [PACKED, PLAIN];

impl Shape {
    pub fn decode(&self, element: &[u8], score: f64) -> Option<Member> {
        (self.decode)(self, element, score)
    }

    pub fn at(&self, second: usize) -> String {
        if self.schema.contains("TIES") {
            format!("AT {}", 1_700_000_000_000 + second)
        } else {
            String::new()
        }
    }

    /// Whether a score is that of a marker or of an index entry.
    pub fn is_below_members(&self, score: f64) -> bool {
        score == f64::NEG_INFINITY || self.coded && score <= TOP_OF_INDEX
    }

    /// A board of this schema, `m1` the first of its members; some are equal on their first field.
    #[track_caller]
    pub fn fill(&self, con: &mut Connection, key: &str, members: std::ops::Range<usize>, shift: usize) {
        expect(con, &format!("RANK.CREATE {key} {}", self.schema), "+OK");
        for number in members {
            let scores = (self.scores)(shift + number % 70 * 10, shift + number);
            expect(con, &format!("RANK.ADD {key} {} {scores} m{number}", self.at(number)), "1");
        }
    }
}

/// What a sorted set is, by its lowest elements.
#[derive(PartialEq)]
pub enum State {
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
pub struct Truth {
    pub state: State,
    /// All that decode, with the place of the element among those of the same name: 0 for the one that a look-up finds.
    pub members: Vec<(Member, usize)>,
    /// Names that have elements of which a look-up finds none.
    pub lost: BTreeSet<Vec<u8>>,
    /// Names with a first entry that leads to no element: a look-up meets it.
    pub astray: BTreeSet<Vec<u8>>,
    /// Not a member's, nor an entry.
    pub undecodable: Vec<Vec<u8>>,
    /// Those of them that no member could have: by their form, or at -inf.
    pub impossible: usize,
    pub missing: usize,
    /// Entries that lead nowhere.
    pub orphaned: usize,
    pub duplicated: usize,
    /// Entries that lead to an element that does not decode: once it is gone they are nobody's.
    pub doubtful: usize,
}

/// All elements by their bytes.
pub type There<'a> = BTreeMap<&'a [u8], f64>;

/// The tail that the entries of a name give, and how many they are; none if one of them is missing or no entry.
pub fn follow(there: &There, name: &[u8]) -> Option<(Vec<u8>, usize)> {
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
pub fn found(there: &There, name: &[u8]) -> Vec<Vec<u8>> {
    let bare = Some(name.to_vec()).filter(|name| !codes::is_special(name));
    let wrapped = follow(there, name).map(|(tail, _)| codes::wrap(&tail, name));
    bare.into_iter().chain(wrapped).filter(|element| there.contains_key(element.as_slice())).collect()
}

pub fn state(shape: &Shape, marker: &[u8], elements: &[Element], there: &There) -> State {
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

pub fn truth(shape: &Shape, marker: &[u8], elements: &[Element]) -> Truth {
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

pub fn best_first(shape: &Shape, a: &Element, b: &Element) -> std::cmp::Ordering {
    let order = a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0));
    if shape.ascending {
        order
    } else {
        order.reverse()
    }
}

impl Truth {
    pub fn is_damaged(&self) -> bool {
        !self.undecodable.is_empty() || self.can_be_mended()
    }

    /// Whether a command asks for somebody whom no look-up finds, or for somebody who is there and cannot be read.
    pub fn cannot_know(&self, command: &str) -> bool {
        let asks = |name: &[u8]| command.split(' ').any(|word| word.as_bytes() == name);
        self.lost.iter().any(|name| asks(name))
            || self.undecodable.iter().any(|element| asks(codes::split(element).map_or(element, |it| it.1)))
    }

    pub fn can_be_mended(&self) -> bool {
        self.missing + self.orphaned + self.impossible + self.duplicated > 0
    }

    /// The members once the better of two was kept, by what `RANK.ADD` takes.
    pub fn mended(&self, shape: &Shape, elements: &[Element]) -> BTreeSet<Member> {
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
