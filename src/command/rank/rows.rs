//! Rows of members as replies: which fields they have, in which order, whatever the format.

use std::collections::HashMap;
use std::sync::Arc;

use super::output::Output;
use crate::board::{Row, Schema, Value};
use crate::server::{Hash, Text};

/// What is needed to show a row: the names of the fields, and what else to include.
pub struct RowFormat<'r, 'c> {
    schema: &'r Schema,
    pub attributes: AttributeSource<'r, 'c>,
    /// Whether rows have the tie time.
    time: bool,
    /// Where the members stand on the board that `VERSUS` names.
    versus: Option<Standings>,
    /// How many parts rows have behind the scores.
    more: u64,
}

/// Where the members of some rows stand on another board, in the order of the rows.
pub struct Standings {
    schema: Arc<Schema>,
    rows: Vec<Option<Row>>,
}

impl Standings {
    pub fn new(schema: Arc<Schema>, rows: Vec<Option<Row>>) -> Standings {
        Standings { schema, rows }
    }
}

/// Where the attributes in rows come from.
pub enum AttributeSource<'r, 'c> {
    /// Rows have none.
    None,
    /// The hash, as it is.
    Hash(&'r Hash<'c>),
    /// What the hash held for each member before it was changed.
    Taken(HashMap<Vec<u8>, Text<'c>>),
}

impl<'c> AttributeSource<'_, 'c> {
    /// The attributes to show for a member. The outer `None`: rows have no attributes; the inner: this member has none.
    #[inline]
    pub fn of(&self, member: &[u8]) -> Option<Option<Text<'c>>> {
        match self {
            AttributeSource::None => None,
            AttributeSource::Hash(hash) => Some(hash.get(member)),
            AttributeSource::Taken(texts) => Some(texts.get(member).cloned()),
        }
    }
}

impl<'r, 'c> RowFormat<'r, 'c> {
    #[inline]
    pub fn new(
        schema: &'r Schema,
        attributes: AttributeSource<'r, 'c>,
        time: bool,
        versus: Option<Standings>,
    ) -> RowFormat<'r, 'c> {
        let has_attributes = !matches!(attributes, AttributeSource::None);
        let more = u64::from(time) + u64::from(has_attributes) + u64::from(versus.is_some());
        RowFormat { schema, attributes, time, versus, more }
    }

    pub fn rows(&self, rows: &[Row], out: &mut Output) {
        out.list(rows.len() as u64);
        rows.iter().enumerate().for_each(|(index, row)| self.row(index, None, row, out));
        out.end_list();
    }

    /// `[place,] rank, member, score … [, time] [, attributes] [, versus]`, where the row is in the reply.
    #[inline]
    pub fn row(&self, index: usize, place: Option<u64>, row: &Row, out: &mut Output) {
        let attributes = self.attributes.of(row.member());
        out.record(1 + u64::from(place.is_some()) + self.unranked_len(row));
        if let Some(place) = place {
            out.field("place");
            out.count(place);
        }
        out.field("rank");
        out.count(row.rank);
        self.fields(row, attributes, out);
        if let Some(standings) = &self.versus {
            standing(standings, index, out);
        }
        out.end_record();
    }

    /// A row without ranks.
    pub fn unranked(&self, row: &Row, attributes: Option<Option<Text>>, out: &mut Output) {
        out.record(self.unranked_len(row));
        self.fields(row, attributes, out);
        out.end_record();
    }

    fn unranked_len(&self, row: &Row) -> u64 {
        1 + row.values.len() as u64 + self.more
    }

    #[inline]
    fn fields(&self, row: &Row, attributes: Option<Option<Text>>, out: &mut Output) {
        out.field("member");
        out.name(row.member());
        scores(self.schema, &row.values, out);
        if self.time {
            out.field("time");
            out.integer_or_null(row.time);
        }
        if let Some(text) = attributes {
            out.field("data");
            out.attributes(text.as_ref());
        }
    }

    /// A name inside a group: `member`, or with attributes `[member, attributes]`.
    pub fn name(&self, name: &[u8], out: &mut Output) {
        let Some(text) = self.attributes.of(name) else { return out.name(name) };
        out.record(2);
        out.field("member");
        out.name(name);
        out.field("data");
        out.attributes(text.as_ref());
        out.end_record();
    }
}

#[inline]
fn scores(schema: &Schema, values: &[Value], out: &mut Output) {
    match values {
        [value] => {
            out.field("score");
            out.value(*value);
        }
        // In RESP the scores are elements of the row itself.
        values if !out.is_json() => values.iter().for_each(|value| out.value(*value)),
        values => {
            out.field("scores");
            out.record(values.len() as u64);
            for (field, value) in schema.fields().iter().zip(values) {
                out.field(&field.name);
                out.value(*value);
            }
            out.end_record();
        }
    }
}

/// `rank, score …` on the other board, or null.
#[cold]
fn standing(standings: &Standings, index: usize, out: &mut Output) {
    out.field("versus");
    let Some(row) = standings.rows.get(index).and_then(Option::as_ref) else { return out.null() };
    out.record(1 + row.values.len() as u64);
    out.field("rank");
    out.count(row.rank);
    scores(&standings.schema, &row.values, out);
    out.end_record();
}
