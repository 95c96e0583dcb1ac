//! Reads and writes members from lines of JSON, as `RANK.SCAN` returns them.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use base64::prelude::{Engine, BASE64_STANDARD};
use serde_json::value::RawValue;
use serde_json::Value as Json;

use super::schema::{Field, Schema};
use super::store::{Only, Store};
use super::value::{Tuple, Value};
use super::write::{Plan, Scores, Write, Written};
use super::{parse_object, Board};
use crate::calendar::MAX_MS;
use crate::error::{LineProblem, Result, Shown};
use crate::number::parse_integer;

/// A member that was read from a line.
pub struct Line<'l> {
    /// Its name.
    pub member: Cow<'l, [u8]>,
    /// One value for each field.
    pub values: Tuple,
    /// The tie time in Unix milliseconds.
    pub time: Option<i64>,
    /// The attributes to write.
    pub data: Option<Cow<'l, [u8]>>,
}

/// The result of loading lines.
pub struct Loaded {
    /// Members that are on the board now and were not before.
    pub added: u64,
    /// The result of the writes.
    pub written: Written,
    /// For each line, whether its attributes are to be written.
    pub holds: Vec<bool>,
}

type Parts<'l> = BTreeMap<Cow<'l, str>, &'l RawValue>;

impl<'l> Line<'l> {
    /// Reads a line for a board of this schema.
    pub fn parse(schema: &Schema, text: &'l [u8]) -> Result<Line<'l>, LineProblem> {
        let parts: Parts<'l> = serde_json::from_slice(text).map_err(|_| LineProblem::NotAnObject(Shown::new(text)))?;
        // Rows of other reads also have ranks, which are not loaded.
        let known = ["member", "score", "scores", "time", "data", "rank", "place"];
        if let Some(unknown) = parts.keys().find(|name| !known.contains(&name.as_ref())) {
            return Err(LineProblem::Unknown(Shown::new(unknown.as_bytes())));
        }
        let member = parts.get("member").ok_or(LineProblem::Missing("member"))?;
        Ok(Line {
            member: parse_member(member)?,
            values: parse_scores(schema, &parts)?,
            time: parse_time(schema, parts.get("time").copied())?,
            data: parse_data(parts.get("data").copied())?,
        })
    }
}

fn shown(raw: &RawValue) -> Shown {
    Shown::new(raw.get().as_bytes())
}

fn parse_member<'l>(raw: &'l RawValue) -> Result<Cow<'l, [u8]>, LineProblem> {
    let refused = || LineProblem::Member(shown(raw));
    match serde_json::from_str(raw.get()) {
        Ok(Json::String(name)) => Ok(name.into_bytes().into()),
        Ok(Json::Object(object)) => match (object.len(), object.get("base64")) {
            (1, Some(Json::String(text))) => BASE64_STANDARD.decode(text).map(Cow::from).map_err(|_| refused()),
            _ => Err(refused()),
        },
        _ => Err(refused()),
    }
}

fn parse_scores(schema: &Schema, parts: &Parts) -> Result<Tuple, LineProblem> {
    let fields = schema.fields();
    match (parts.get("score"), parts.get("scores")) {
        (Some(score), None) => match fields {
            [field] => Ok(Tuple::from_slice(&[parse_score(schema, field, score)?])),
            _ => Err(LineProblem::SeveralFields(fields.len())),
        },
        (None, Some(_)) if !schema.explicit => Err(LineProblem::ScoresWithoutSchema),
        (None, Some(scores)) => {
            let scores: Parts = serde_json::from_str(scores.get()).map_err(|_| LineProblem::Scores(shown(scores)))?;
            if let Some(name) = scores.keys().find(|name| fields.iter().all(|field| field.name != name.as_ref())) {
                return Err(LineProblem::NoField(Shown::new(name.as_bytes())));
            }
            let score = |field: &Field| {
                let score = scores.get(field.name.as_str());
                let missing = || LineProblem::MissingField(Shown::new(field.name.as_bytes()));
                parse_score(schema, field, score.ok_or_else(missing)?)
            };
            fields.iter().map(score).collect()
        }
        (Some(_), Some(_)) => Err(LineProblem::ScoreAndScores),
        (None, None) => Err(LineProblem::Missing(if fields.len() == 1 { "score" } else { "scores" })),
    }
}

/// Parses a score: a number, or the strings `"inf"` and `"-inf"`, because JSON has no infinite numbers.
fn parse_score(schema: &Schema, field: &Field, raw: &RawValue) -> Result<Value, LineProblem> {
    let text: Cow<str> = match serde_json::from_str::<String>(raw.get()) {
        Ok(text) => text.into(),
        Err(_) => raw.get().into(),
    };
    schema.parse_value(field, text.as_bytes()).map_err(|error| LineProblem::Other(Box::new(error)))
}

fn parse_time(schema: &Schema, raw: Option<&RawValue>) -> Result<Option<i64>, LineProblem> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else { return Ok(None) };
    let time = parse_integer(raw.get().as_bytes()).filter(|time| (0..=MAX_MS).contains(time));
    let time = time.ok_or_else(|| LineProblem::Time(shown(raw)))?;
    Ok(schema.layout.has_time().then_some(time))
}

/// The value to store in the hash: the text of an object, or the contents of a string if the value was not an object.
fn parse_data<'l>(raw: Option<&'l RawValue>) -> Result<Option<Cow<'l, [u8]>>, LineProblem> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else { return Ok(None) };
    let text = raw.get().as_bytes();
    if parse_object(text).is_some() {
        return Ok(Some(text.into()));
    }
    let string = serde_json::from_str::<String>(raw.get());
    string.map(|text| Some(text.into_bytes().into())).map_err(|_| LineProblem::Data(shown(raw)))
}

impl<S: Store> Board<S> {
    /// Writes lines in order, either all or none. With `only_new`, members that are already on the board stay as they
    /// are. The time is used for lines that have none.
    pub fn load(&mut self, lines: &[Line], only_new: bool, now: i64) -> Result<Loaded> {
        let pairs: Vec<(Tuple, S::Name)> =
            lines.iter().map(|line| (line.values.clone(), self.store.name(&line.member))).collect();
        let rules = &self.schema.rules;
        let (update, keep) = (rules.update, rules.keep);
        let write = |line: &Line| Write {
            scores: Scores::Set,
            only: if only_new { Only::New } else { Only::Any },
            update,
            keep,
            now: line.time.unwrap_or(now),
            ranks: false,
        };
        let was_there = self.check_load(lines, &pairs, write)?;
        let mut loaded = Loaded { added: 0, written: Written::default(), holds: Vec::with_capacity(lines.len()) };
        for (line, pair) in lines.iter().zip(&pairs) {
            let written = self.write(&write(line), std::slice::from_ref(pair))?;
            loaded.written.refused += written.refused;
            loaded.written.evicted += written.evicted;
            loaded.written.overflowed += written.overflowed;
        }
        // A later line may have pushed a member out, or added it again.
        let mut is_there = HashSet::new();
        for (i, (_, member)) in pairs.iter().enumerate() {
            let known = is_there.contains(member.as_ref());
            let there = known || self.locate(member)?.is_some();
            let is_new = !was_there.get(i).copied().unwrap_or_default();
            loaded.holds.push(there && (!only_new || is_new && !known));
            if there && !known {
                is_there.insert(member.as_ref());
                loaded.added += u64::from(is_new);
            }
        }
        if let Some(left) = &mut self.left {
            left.retain(|member| !is_there.contains(member.as_ref()));
        }
        Ok(loaded)
    }

    /// Checks everything that can fail before the first line is written. Returns for each line whether its member is
    /// on the board.
    fn check_load(
        &self,
        lines: &[Line],
        pairs: &[(Tuple, S::Name)],
        write: impl Fn(&Line) -> Write,
    ) -> Result<Vec<bool>> {
        self.check_names(pairs)?;
        let mut plan = Plan::default();
        self.look_up_all(pairs, &mut plan)?;
        let states = || plan.places.iter().filter_map(|place| plan.states.get(*place));
        for ((line, pair), state) in lines.iter().zip(pairs).zip(states()) {
            self.check_pair(&write(line), pair, state)?;
        }
        if let Some(keep) = self.schema.rules.keep {
            if self.members()?.saturating_add(pairs.len() as u64) > keep {
                self.check_leavers(keep.saturating_sub(pairs.len() as u64))?;
            }
        }
        Ok(states().map(|state| state.before.is_some()).collect())
    }
}

/// All lines of these texts, without empty ones.
pub fn lines_of<'l>(texts: impl Iterator<Item = &'l [u8]>) -> impl Iterator<Item = &'l [u8]> {
    texts.flat_map(|text| text.split(|byte| *byte == b'\n')).filter(|line| !line.trim_ascii().is_empty())
}
