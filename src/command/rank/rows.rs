//! Rows of members as replies: which fields they have, in which order, whatever the format.

use std::collections::HashMap;

use super::output::Output;
use crate::board::{Row, Schema};
use crate::server::{Hash, Text};

/// What is needed to show a row: the names of the fields, and what else to include.
pub struct RowFormat<'r, 'c> {
    pub schema: &'r Schema,
    pub attributes: AttributeSource<'r, 'c>,
    /// Whether rows have the tie time.
    pub time: bool,
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

impl<'c> RowFormat<'_, 'c> {
    pub fn rows(&self, rows: &[Row], out: &mut Output) {
        out.list(rows.len() as u64);
        rows.iter().for_each(|row| self.row(None, row, out));
        out.end_list();
    }

    /// `[place,] rank, member, score … [, time] [, attributes]`
    pub fn row(&self, place: Option<u64>, row: &Row, out: &mut Output) {
        let attributes = self.attributes.of(row.member());
        out.record(1 + u64::from(place.is_some()) + self.unranked_len(row));
        if let Some(place) = place {
            out.field("place");
            out.count(place);
        }
        out.field("rank");
        out.count(row.rank);
        self.fields(row, attributes, out);
        out.end_record();
    }

    /// A row without ranks.
    pub fn unranked(&self, row: &Row, attributes: Option<Option<Text>>, out: &mut Output) {
        out.record(self.unranked_len(row));
        self.fields(row, attributes, out);
        out.end_record();
    }

    fn unranked_len(&self, row: &Row) -> u64 {
        let has_attributes = !matches!(self.attributes, AttributeSource::None);
        1 + row.values.len() as u64 + u64::from(self.time) + u64::from(has_attributes)
    }

    #[inline]
    fn fields(&self, row: &Row, attributes: Option<Option<Text>>, out: &mut Output) {
        out.field("member");
        out.name(row.member());
        match row.values.as_slice() {
            [value] => {
                out.field("score");
                out.value(*value);
            }
            // In RESP the scores are elements of the row itself.
            values if !out.is_json() => values.iter().for_each(|value| out.value(*value)),
            values => {
                out.field("scores");
                out.record(values.len() as u64);
                for (field, value) in self.schema.fields().iter().zip(values) {
                    out.field(&field.name);
                    out.value(*value);
                }
                out.end_record();
            }
        }
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
