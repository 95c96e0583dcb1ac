//! Members as lines of JSON, as `RANK.SCAN` returns them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::prelude::{Engine, BASE64_STANDARD};
use serde_json::value::RawValue;
use serde_json::Value as Json;

use super::parse_object;
use super::schema::{Field, Schema};
use super::value::{Tuple, Value};
use crate::calendar::MAX_MS;
use crate::error::{LineProblem, Result, Shown};
use crate::number::parse_integer;

pub struct Line<'l> {
    pub member: Cow<'l, [u8]>,
    pub values: Tuple,
    pub time: Option<i64>,
    pub data: Option<Cow<'l, [u8]>>,
}

type Parts<'l> = BTreeMap<Cow<'l, str>, &'l RawValue>;

impl<'l> Line<'l> {
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

/// All lines of these texts, without empty ones.
pub fn lines_of<'l>(texts: impl Iterator<Item = &'l [u8]>) -> impl Iterator<Item = &'l [u8]> {
    texts.flat_map(|text| text.split(|byte| *byte == b'\n')).filter(|line| !line.trim_ascii().is_empty())
}
