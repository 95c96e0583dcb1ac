//! Members as lines of JSON, as `RANK.SCAN` returns them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::prelude::{Engine, BASE64_STANDARD};
use serde_json::value::RawValue;

use super::attributes::{as_string, is_object};
use super::schema::{Field, Schema};
use super::value::{Tuple, Value};
use crate::calendar::MAX_MS;
use crate::error::{Error, Result};
use crate::number::parse_integer;

pub struct LoadLine<'l> {
    pub member: Cow<'l, [u8]>,
    pub values: Tuple,
    pub time: Option<i64>,
    pub data: Option<Cow<'l, [u8]>>,
}

type Parts<'l> = BTreeMap<Cow<'l, str>, &'l RawValue>;

impl<'l> LoadLine<'l> {
    pub fn parse(schema: &Schema, text: &'l [u8]) -> Result<LoadLine<'l>> {
        let parts: Parts<'l> = serde_json::from_slice(text).map_err(|_| Error::not_an_object(text))?;
        // Rows of other reads also have ranks, which are not loaded.
        let known = ["member", "score", "scores", "time", "data", "rank", "place"];
        if let Some(unknown) = parts.keys().find(|name| !known.contains(&name.as_ref())) {
            return Err(Error::unknown_name(unknown.as_bytes()));
        }
        let member = parts.get("member").ok_or_else(|| Error::missing("member"))?;
        Ok(LoadLine {
            member: parse_member(member)?,
            values: parse_scores(schema, &parts)?,
            time: parse_time(schema, parts.get("time").copied())?,
            data: parse_data(parts.get("data").copied())?,
        })
    }
}

fn parse_member<'l>(raw: &'l RawValue) -> Result<Cow<'l, [u8]>> {
    if let Some(name) = as_string(raw) {
        return Ok(name.into_bytes().into());
    }
    let object: Option<BTreeMap<String, String>> = serde_json::from_str(raw.get()).ok();
    let base64 = object.filter(|object| object.len() == 1).and_then(|mut object| object.remove("base64"));
    let name = base64.and_then(|text| BASE64_STANDARD.decode(text).ok());
    name.map(Cow::from).ok_or_else(|| Error::bad_member(raw.get().as_bytes()))
}

fn parse_scores(schema: &Schema, parts: &Parts) -> Result<Tuple> {
    let fields = schema.fields();
    match (parts.get("score"), parts.get("scores")) {
        (Some(score), None) => match fields {
            [field] => Ok(Tuple::from_slice(&[parse_score(schema, field, score)?])),
            _ => Err(Error::several_fields(fields.len())),
        },
        (None, Some(_)) if !schema.explicit => Err(Error::scores_without_schema()),
        (None, Some(scores)) => {
            let scores: Parts =
                serde_json::from_str(scores.get()).map_err(|_| Error::bad_scores(scores.get().as_bytes()))?;
            if let Some(name) = scores.keys().find(|name| fields.iter().all(|field| field.name != name.as_ref())) {
                return Err(Error::no_field(name.as_bytes()));
            }
            let score = |field: &Field| {
                let score = scores.get(field.name.as_str());
                let missing = || Error::field_without_score(&field.name);
                parse_score(schema, field, score.ok_or_else(missing)?)
            };
            fields.iter().map(score).collect()
        }
        (Some(_), Some(_)) => Err(Error::score_and_scores()),
        (None, None) => Err(Error::missing(if fields.len() == 1 { "score" } else { "scores" })),
    }
}

/// Parses a score: a number, or the strings `"inf"` and `"-inf"`, because JSON has no infinite numbers.
fn parse_score(schema: &Schema, field: &Field, raw: &RawValue) -> Result<Value> {
    let text: Cow<str> = as_string(raw).map_or_else(|| raw.get().into(), Cow::from);
    schema.parse_value(field, text.as_bytes())
}

fn parse_time(schema: &Schema, raw: Option<&RawValue>) -> Result<Option<i64>> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else { return Ok(None) };
    let time = parse_integer(raw.get().as_bytes()).filter(|time| (0..=MAX_MS).contains(time));
    let time = time.ok_or_else(|| Error::bad_time(raw.get().as_bytes()))?;
    Ok(schema.layout.has_time().then_some(time))
}

/// The value to store in the hash: the text of an object, or the contents of a string if the value was not an object.
fn parse_data<'l>(raw: Option<&'l RawValue>) -> Result<Option<Cow<'l, [u8]>>> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else { return Ok(None) };
    let text = raw.get().as_bytes();
    if is_object(text) {
        return Ok(Some(text.into()));
    }
    as_string(raw).map(|string| Some(string.into_bytes().into())).ok_or_else(|| Error::bad_data(text))
}

/// All lines of these texts, without empty ones.
pub fn lines_of<'l>(texts: impl Iterator<Item = &'l [u8]>) -> impl Iterator<Item = &'l [u8]> {
    texts.flat_map(|text| text.split(|byte| *byte == b'\n')).filter(|line| !line.trim_ascii().is_empty())
}
