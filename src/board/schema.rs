//! How a board orders its members: fields, tie rule, bound and update rule.
//!
//! [`Rules`] are what a client can say, and what a marker holds. A [`Schema`] is rules with the layout that follows from
//! them. Scores of clients are parsed, added and compared here, because the type of a field decides how.

use super::members::Layout;
use super::periods::Periods;
use super::value::{Tuple, Value};
use crate::error::{Error, Result};
use crate::number::{parse_extended, parse_finite, parse_integer};
use crate::shard::Shard;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Ascending,
    Descending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    Float,
    Int,
    Bits(u8),
    Digits(u8),
    Range(i64, i64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub order: Order,
    pub kind: FieldType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieRule {
    First,
    Last,
    Joined,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    Milliseconds,
    Seconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    Shared,
    ByTime(TieRule, TimeUnit),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    Set,
    Best,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataHash {
    pub hash: Vec<u8>,
    /// The key of the board that owns it. A board under another name, a copy say, shares it.
    pub owner: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    pub fields: Vec<Field>,
    pub ties: Ties,
    pub keep: Option<u64>,
    pub update: Update,
    pub data: Option<DataHash>,
    pub periods: Periods,
    pub shard: Option<Shard>,
}

#[derive(Debug)]
pub struct Schema {
    pub rules: Rules,
    pub layout: Layout,
    /// False for the rules of a sorted set that has none of its own: there scores may be infinite.
    pub explicit: bool,
}

impl FieldType {
    pub fn bounds(self) -> Option<(i64, i64)> {
        match self {
            FieldType::Float => None,
            FieldType::Int => Some((i64::MIN, i64::MAX)),
            FieldType::Bits(n) => Some((0, (1 << n) - 1)),
            FieldType::Digits(n) => Some((0, 10_i64.pow(u32::from(n)) - 1)),
            FieldType::Range(lo, hi) => Some((lo, hi)),
        }
    }
}

impl Field {
    pub fn takes(&self, explicit: bool) -> String {
        match self.kind {
            FieldType::Float if explicit => "a finite number".to_owned(),
            FieldType::Float => "a number, inf or -inf".to_owned(),
            FieldType::Int => "a signed 64-bit integer".to_owned(),
            FieldType::Bits(_) | FieldType::Digits(_) | FieldType::Range(..) => {
                let (lo, hi) = self.kind.bounds().unwrap_or_default();
                format!("{lo} to {hi}")
            }
        }
    }

    fn refuse(&self, text: &[u8], explicit: bool) -> Error {
        Error::field_takes(&self.name, &self.takes(explicit), text)
    }
}

impl Rules {
    /// The rules of a sorted set without a schema.
    pub fn implicit() -> Rules {
        let fields = vec![Field::score(Order::Descending)];
        Rules {
            fields,
            ties: Ties::Shared,
            keep: None,
            update: Update::Set,
            data: None,
            periods: Periods::default(),
            shard: None,
        }
    }

    /// The rules as they apply under this key: a board owns a hash only if the marker has the board's own key name.
    pub fn seen_by(&self, key: &[u8]) -> Rules {
        let mut rules = self.clone();
        if let Some(data) = &mut rules.data {
            data.owner = data.owner.take().filter(|owner| owner == key);
        }
        rules
    }

    /// The rules that a board made from this one inherits: all but periods and shard. It shares the hash, and does not own it.
    pub fn inherited(&self) -> Rules {
        let mut rules = Rules { periods: Periods::default(), shard: None, ..self.clone() };
        if let Some(data) = &mut rules.data {
            data.owner = None;
        }
        rules
    }

    /// The rules of a board that `RANK.MULTISET` creates.
    pub fn integers(fields: usize) -> Result<Rules> {
        let text: Vec<String> = (1..=fields).map(|i| format!("FIELD s{i} INT")).collect();
        let text = text.join(" ");
        Rules::parse(&text.split(' ').map(str::as_bytes).collect::<Vec<_>>())
    }
}

impl Field {
    pub(super) fn score(order: Order) -> Field {
        Field { name: "score".to_owned(), order, kind: FieldType::Float }
    }
}

impl Schema {
    pub fn new(rules: Rules) -> Schema {
        Schema { layout: Layout::choose(&rules), rules, explicit: true }
    }

    pub fn implicit() -> Schema {
        Schema { explicit: false, ..Schema::new(Rules::implicit()) }
    }

    pub fn fields(&self) -> &[Field] {
        &self.rules.fields
    }

    /// The direction of the first field, in which the board is read.
    pub fn order(&self) -> Order {
        self.rules.fields.first().map_or(Order::Descending, |field| field.order)
    }

    #[inline]
    pub fn parse_value(&self, field: &Field, text: &[u8]) -> Result<Value> {
        let value = match field.kind.bounds() {
            None if self.explicit => parse_finite(text).map(Value::Float),
            None => parse_extended(text).map(Value::Float),
            Some((lo, hi)) => parse_integer(text).filter(|value| (lo..=hi).contains(value)).map(Value::Integer),
        };
        value.ok_or_else(|| field.refuse(text, self.explicit))
    }

    /// One text for each field; the caller has counted them.
    pub fn parse_tuple<'a>(&self, texts: impl Iterator<Item = &'a [u8]>) -> Result<Tuple> {
        self.fields().iter().zip(texts).map(|(field, text)| self.parse_value(field, text)).collect()
    }

    /// One score for each field, and the fields whose score is `*`, one bit for each: they keep what they have.
    #[inline]
    pub fn parse_scores<'a>(&self, texts: impl Iterator<Item = &'a [u8]>) -> Result<(Tuple, u32)> {
        let (mut values, mut kept) = (Tuple::new(), 0_u32);
        for (i, (field, text)) in self.fields().iter().zip(texts).enumerate() {
            if text == b"*" && self.fields().len() > 1 {
                kept |= 1 << i;
                values.push(Value::Integer(0));
            } else {
                values.push(self.parse_value(field, text)?);
            }
        }
        if kept.count_ones() as usize == self.fields().len() {
            return Err(Error::all_kept());
        }
        Ok((values, kept))
    }

    #[inline]
    pub fn parse_delta(&self, field: &Field, text: &[u8]) -> Result<Value> {
        let (delta, takes) = match field.kind.bounds() {
            Some(_) => (parse_integer(text).map(Value::Integer), "a signed 64-bit integer"),
            None => (parse_finite(text).map(Value::Float), "a finite number"),
        };
        delta.ok_or_else(|| Error::takes("delta", takes, text))
    }

    pub fn parse_deltas<'a>(&self, texts: impl Iterator<Item = &'a [u8]>) -> Result<Tuple> {
        self.fields().iter().zip(texts).map(|(field, text)| self.parse_delta(field, text)).collect()
    }

    /// `base` with an increment for each field, or what is wrong with it.
    pub fn add(&self, base: &[Value], deltas: &[Value]) -> Result<Tuple> {
        let mut sums = Tuple::new();
        for ((field, base), delta) in self.fields().iter().zip(base).zip(deltas) {
            let sum = match (*base, *delta) {
                (Value::Integer(base), Value::Integer(delta)) => {
                    let (lo, hi) = field.kind.bounds().unwrap_or_default();
                    base.checked_add(delta).filter(|sum| (lo..=hi).contains(sum)).map(Value::Integer)
                }
                (base, delta) => {
                    Some(base.as_f64() + delta.as_f64() + 0.0).filter(|sum| sum.is_finite()).map(Value::Float)
                }
            };
            sums.push(sum.ok_or_else(|| {
                Error::increment_leaves(&field.name, &field.takes(true), &base.to_string(), &delta.to_string())
            })?);
        }
        Ok(sums)
    }

    /// Where a new member starts from when it is incremented: 0, or the nearest value in range.
    pub fn origin(&self) -> Tuple {
        let start = |field: &Field| match field.kind.bounds() {
            None => Value::Float(0.0),
            Some((lo, hi)) => Value::Integer(0.clamp(lo, hi)),
        };
        self.fields().iter().map(start).collect()
    }

    /// Whether new values are better than old ones. Fields count from left to right, each in its own direction.
    pub fn better(&self, new: &[Value], old: &[Value]) -> bool {
        for (field, (new, old)) in self.fields().iter().zip(new.iter().zip(old)) {
            let order = match field.order {
                Order::Descending => new.compare(*old),
                Order::Ascending => old.compare(*new),
            };
            if order.is_ne() {
                return order.is_gt();
            }
        }
        false
    }
}
