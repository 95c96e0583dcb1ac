//! How a board orders its members: fields, tie rule, bound and update rule, and their text.

use std::fmt;

use super::layout::Layout;
use super::value::{Tuple, Value};
use crate::error::{Error, Result, Shown};
use crate::number::{parse_extended, parse_finite, parse_integer};

const MAX_FIELDS: usize = 32;
const MAX_NAME: usize = 64;

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

/// What a schema says, before a layout was chosen for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    pub fields: Vec<Field>,
    pub ties: Ties,
    pub keep: Option<u64>,
    pub update: Update,
}

#[derive(Debug)]
pub struct Schema {
    pub rules: Rules,
    pub layout: Layout,
    /// False for the rules of a sorted set that has none of its own: there scores may be infinite.
    pub explicit: bool,
}

impl FieldType {
    /// The bounds of an integer type.
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
    /// What the field takes, for error messages.
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
        Error::FieldTakes { field: self.name.clone(), takes: self.takes(explicit), got: Shown::new(text) }
    }
}

impl Rules {
    /// The rules of a sorted set without a schema.
    pub fn implicit() -> Rules {
        Rules { fields: vec![Field::score(Order::Descending)], ties: Ties::Shared, keep: None, update: Update::Set }
    }

    pub fn parse(words: &[&[u8]]) -> Result<Rules> {
        let mut reader = RulesReader::default();
        let mut words = Words { rest: words };
        while let Some(word) = words.next() {
            reader.read(word, &mut words)?;
        }
        reader.finish()
    }

    /// The rules of `RANK.CREATE`, and whether they came with `ADOPT`.
    pub fn parse_create(words: &[&[u8]]) -> Result<(Rules, bool)> {
        let mut reader = RulesReader::default();
        let mut words = Words { rest: words };
        let mut adopt = None;
        while let Some(word) = words.next() {
            if word.eq_ignore_ascii_case(b"ADOPT") {
                put_once(&mut adopt, (), "ADOPT")?;
            } else {
                reader.read(word, &mut words)?;
            }
        }
        Ok((reader.finish()?, adopt.is_some()))
    }

    /// What `RANK.MULTISET` makes of a new key.
    pub fn integers(fields: usize) -> Result<Rules> {
        let text: Vec<String> = (1..=fields).map(|i| format!("FIELD s{i} INT")).collect();
        let text = text.join(" ");
        Rules::parse(&text.split(' ').map(str::as_bytes).collect::<Vec<_>>())
    }
}

impl Field {
    fn score(order: Order) -> Field {
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

    pub fn order(&self) -> Order {
        self.rules.fields.first().map_or(Order::Descending, |field| field.order)
    }

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
        let mut values = Tuple::new();
        for (field, text) in self.fields().iter().zip(texts) {
            values.push(self.parse_value(field, text)?);
        }
        Ok(values)
    }

    /// `base` with an increment for each field, or what is wrong with it.
    pub fn increment<'a>(&self, base: &[Value], deltas: impl Iterator<Item = &'a [u8]>) -> Result<Tuple> {
        let fields = self.fields().iter().zip(base);
        fields.zip(deltas).map(|((field, base), delta)| self.increment_field(field, *base, delta)).collect()
    }

    fn increment_field(&self, field: &Field, base: Value, delta: &[u8]) -> Result<Value> {
        let sum = match (base, field.kind.bounds()) {
            (Value::Integer(base), Some((lo, hi))) => parse_integer(delta)
                .ok_or_else(|| Error::Takes { what: "delta", takes: "a signed 64-bit integer", got: Shown::new(delta) })
                .map(|delta| base.checked_add(delta).filter(|sum| (lo..=hi).contains(sum)).map(Value::Integer))?,
            _ => parse_finite(delta)
                .ok_or_else(|| Error::Takes { what: "delta", takes: "a finite number", got: Shown::new(delta) })
                .map(|delta| Some(base.as_f64() + delta + 0.0).filter(|sum| sum.is_finite()).map(Value::Float))?,
        };
        sum.ok_or_else(|| Error::IncrementLeaves {
            field: field.name.clone(),
            takes: field.takes(true),
            from: base.to_string(),
            by: Shown::new(delta),
        })
    }

    /// Where a new member starts from when it is incremented: 0, or the nearest value in range.
    pub fn origin(&self) -> Tuple {
        let start = |field: &Field| match field.kind.bounds() {
            None => Value::Float(0.0),
            Some((lo, hi)) => Value::Integer(0.clamp(lo, hi)),
        };
        self.fields().iter().map(start).collect()
    }

    /// Whole tuples, left to right, each field in its own direction.
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

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::Ascending => "ASC",
            Order::Descending => "DESC",
        })
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldType::Float => f.write_str("FLOAT"),
            FieldType::Int => f.write_str("INT"),
            FieldType::Bits(n) => write!(f, "BITS {n}"),
            FieldType::Digits(n) => write!(f, "DIGITS {n}"),
            FieldType::Range(lo, hi) => write!(f, "RANGE {lo} {hi}"),
        }
    }
}

impl fmt::Display for Ties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ties::ByTime(rule, unit) = self else { return f.write_str("SHARED") };
        f.write_str(match rule {
            TieRule::First => "FIRST",
            TieRule::Last => "LAST",
            TieRule::Joined => "JOINED",
        })?;
        f.write_str(match unit {
            TimeUnit::Milliseconds => "",
            TimeUnit::Seconds => " S",
        })
    }
}

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Update::Set => "SET",
            Update::Best => "BEST",
        })
    }
}

/// The canonical text: what `RANK.CREATE` would take, defaults left out. Two equal rules have one text.
impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, field) in self.fields.iter().enumerate() {
            let gap = if i == 0 { "" } else { " " };
            write!(f, "{gap}FIELD {} {} {}", field.name, field.order, field.kind)?;
        }
        if self.ties != Ties::Shared {
            write!(f, " TIES {}", self.ties)?;
        }
        if let Some(keep) = self.keep {
            write!(f, " KEEP {keep}")?;
        }
        if self.update == Update::Best {
            write!(f, " UPDATE BEST")?;
        }
        Ok(())
    }
}

/// Words still to be read; keywords are in any case.
struct Words<'w, 'b> {
    rest: &'w [&'b [u8]],
}

impl<'b> Words<'_, 'b> {
    fn next(&mut self) -> Option<&'b [u8]> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn next_if(&mut self, keyword: &str) -> bool {
        let found = self.rest.first().is_some_and(|word| word.eq_ignore_ascii_case(keyword.as_bytes()));
        if found {
            self.next();
        }
        found
    }

    fn order(&mut self) -> Option<Order> {
        if self.next_if("ASC") {
            Some(Order::Ascending)
        } else if self.next_if("DESC") {
            Some(Order::Descending)
        } else {
            None
        }
    }

    fn integer(&mut self, what: &'static str, takes: &'static str, lo: i64, hi: i64) -> Result<i64> {
        let word = self.next().ok_or(Error::OptionWithoutValue(what))?;
        parse_integer(word).filter(|n| (lo..=hi).contains(n)).ok_or(Error::Takes { what, takes, got: Shown::new(word) })
    }

    fn kind(&mut self) -> Result<Option<FieldType>> {
        Ok(Some(if self.next_if("FLOAT") {
            FieldType::Float
        } else if self.next_if("INT") {
            FieldType::Int
        } else if self.next_if("BITS") {
            FieldType::Bits(self.integer("BITS", "1 to 62", 1, 62)? as u8)
        } else if self.next_if("DIGITS") {
            FieldType::Digits(self.integer("DIGITS", "1 to 18", 1, 18)? as u8)
        } else if self.next_if("RANGE") {
            let takes = "a signed 64-bit integer on each side";
            let lo = self.integer("RANGE", takes, i64::MIN, i64::MAX)?;
            let hi = self.integer("RANGE", takes, i64::MIN, i64::MAX)?;
            if lo >= hi {
                return Err(Error::Schema(format!("RANGE takes lo below hi, got {lo} {hi}")));
            }
            FieldType::Range(lo, hi)
        } else {
            return Ok(None);
        }))
    }
}

#[derive(Default)]
struct RulesReader {
    order: Option<Order>,
    fields: Vec<Field>,
    ties: Option<Ties>,
    keep: Option<u64>,
    update: Option<Update>,
}

impl RulesReader {
    fn read(&mut self, word: &[u8], words: &mut Words) -> Result<()> {
        match word.to_ascii_uppercase().as_slice() {
            b"ASC" => put_once(&mut self.order, Order::Ascending, "the order"),
            b"DESC" => put_once(&mut self.order, Order::Descending, "the order"),
            b"FIELD" => self.field(words),
            b"TIES" => put_once(&mut self.ties, read_ties(words)?, "TIES"),
            b"KEEP" => {
                put_once(&mut self.keep, words.integer("KEEP", "1 or more", 1, i64::MAX)?.unsigned_abs(), "KEEP")
            }
            b"UPDATE" => put_once(&mut self.update, read_update(words)?, "UPDATE"),
            _ => Err(Error::UnknownOption(Shown::new(word))),
        }
    }

    fn field(&mut self, words: &mut Words) -> Result<()> {
        let name = words.next().ok_or(Error::OptionWithoutValue("FIELD"))?;
        let valid = (1..=MAX_NAME).contains(&name.len())
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if !valid {
            let takes = "a name of 1 to 64 of A-Z a-z 0-9 _ -";
            return Err(Error::Takes { what: "FIELD", takes, got: Shown::new(name) });
        }
        let name = String::from_utf8_lossy(name).into_owned();
        if self.fields.iter().any(|field| field.name == name) {
            return Err(Error::Schema(format!("field '{name}' is given twice")));
        }
        if self.fields.len() == MAX_FIELDS {
            return Err(Error::Schema(format!("a board takes at most {MAX_FIELDS} fields, got one more: '{name}'")));
        }
        let mut order = words.order();
        let kind = words.kind()?.unwrap_or(FieldType::Float);
        if order.is_none() {
            order = words.order();
        }
        self.fields.push(Field { name, order: order.unwrap_or(Order::Descending), kind });
        Ok(())
    }

    fn finish(mut self) -> Result<Rules> {
        if self.fields.is_empty() {
            self.fields.push(Field::score(self.order.unwrap_or(Order::Descending)));
        } else if self.order.is_some() {
            return Err(Error::Schema("ASC and DESC before the fields are for boards without FIELD".to_owned()));
        }
        Ok(Rules {
            fields: self.fields,
            ties: self.ties.unwrap_or(Ties::Shared),
            keep: self.keep,
            update: self.update.unwrap_or(Update::Set),
        })
    }
}

fn put_once<T>(place: &mut Option<T>, value: T, what: &'static str) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::OptionTwice(what)),
    }
}

fn read_ties(words: &mut Words) -> Result<Ties> {
    let word = words.next().ok_or(Error::OptionWithoutValue("TIES"))?;
    let rule = match word.to_ascii_uppercase().as_slice() {
        b"SHARED" => return Ok(Ties::Shared),
        b"FIRST" => TieRule::First,
        b"LAST" => TieRule::Last,
        b"JOINED" => TieRule::Joined,
        _ => {
            return Err(Error::Takes { what: "TIES", takes: "SHARED, FIRST, LAST or JOINED", got: Shown::new(word) });
        }
    };
    let unit = if words.next_if("S") {
        TimeUnit::Seconds
    } else {
        words.next_if("MS");
        TimeUnit::Milliseconds
    };
    Ok(Ties::ByTime(rule, unit))
}

pub fn parse_update(word: &[u8]) -> Result<Update> {
    match word.to_ascii_uppercase().as_slice() {
        b"SET" => Ok(Update::Set),
        b"BEST" => Ok(Update::Best),
        _ => Err(Error::Takes { what: "UPDATE", takes: "SET or BEST", got: Shown::new(word) }),
    }
}

fn read_update(words: &mut Words) -> Result<Update> {
    parse_update(words.next().ok_or(Error::OptionWithoutValue("UPDATE"))?)
}
