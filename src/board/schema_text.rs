//! The text of a schema, in `RANK.CREATE` and in the marker.

use std::fmt;

use super::periods::{read_offset, read_period, Period, Periods};
use super::schema::{Data, Field, FieldType, Order, Rules, TieRule, Ties, TimeUnit, Update};
use crate::calendar::{Offset, MAX_MS};
use crate::error::{set_once, set_one_of, Error, Result};
use crate::number::parse_integer;
use crate::shard::{Count, Shard};

const MAX_FIELDS: usize = 32;
const MAX_NAME: usize = 64;

impl Rules {
    pub fn parse(words: &[&[u8]]) -> Result<Rules> {
        let mut reader = RulesReader::default();
        let mut words = Words { rest: words, board: None };
        while let Some(word) = words.next() {
            reader.read(word, &mut words)?;
        }
        reader.finish()
    }

    /// What `RANK.CREATE` says about a board of this name.
    pub fn parse_create(board: &[u8], words: &[&[u8]]) -> Result<Creation> {
        let mut reader = RulesReader::default();
        let mut words = Words::of_client(words, board);
        let (mut since, mut adopt) = (None, None);
        while let Some(word) = words.next() {
            if word.eq_ignore_ascii_case(b"ADOPT") {
                set_once(&mut adopt, (), "ADOPT")?;
            } else if word.eq_ignore_ascii_case(b"SINCE") {
                let word = words.next().ok_or_else(|| Error::without_value("SINCE"))?;
                set_once(&mut since, parse_time(word, "SINCE")?, "SINCE")?;
            } else {
                reader.read(word, &mut words)?;
            }
        }
        let rules = reader.finish()?;
        if since.is_some() && rules.ties == Ties::Shared {
            return Err(Error::since_without_times());
        }
        Ok(Creation { rules, since, adopt: adopt.is_some() })
    }
}

pub struct Creation {
    pub rules: Rules,
    /// What tie times are counted from, if the client said so.
    pub since: Option<i64>,
    pub adopt: bool,
}

pub fn parse_time(word: &[u8], what: &'static str) -> Result<i64> {
    let time = parse_integer(word).filter(|ms| (0..=MAX_MS).contains(ms));
    time.ok_or_else(|| Error::takes_between(what, 0, MAX_MS.unsigned_abs(), word))
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
        if let Some(data) = &self.data {
            write!(f, " DATA {}", Encoded(&data.hash))?;
            if let Some(owner) = &data.owner {
                write!(f, " OWNED {}", Encoded(owner))?;
            }
        }
        if let Some(shard) = self.shard {
            write!(f, " SHARD {} {}", shard.index(), shard.count())?;
        }
        self.periods.fmt(f)
    }
}

/// A key name as one word of a marker's line: `%` and all bytes that are not printable ASCII become `%0A`. An empty
/// name becomes `%`.
pub(super) struct Encoded<'n>(pub &'n [u8]);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("%");
        }
        self.0.iter().try_for_each(|byte| match byte {
            b'%' => f.write_str("%25"),
            b'!'..=b'~' => write!(f, "{}", char::from(*byte)),
            _ => write!(f, "%{byte:02X}"),
        })
    }
}

/// The name that a word of a marker's line stands for.
pub(super) fn decode(word: &[u8]) -> Option<Vec<u8>> {
    if word == b"%" {
        return Some(Vec::new());
    }
    let mut name = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        name.push(match byte {
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                rest = after;
                let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
                u8::from_str_radix(digits, 16).ok()?
            }
            byte => *byte,
        });
    }
    Some(name)
}

/// Words that the key specs of a command look for: as a name, each would make the next word a key.
pub fn is_key_word(name: &[u8]) -> bool {
    [&b"LIKE"[..], b"DATA"].iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// The hash of a `DATA` option, and whether `OWNED` follows, for a board of this name.
pub fn client_data(hash: &[u8], owned: bool, board: &[u8]) -> Result<Data> {
    if is_key_word(hash) || hash == board {
        let takes =
            if hash == board { "a key other than the board's own" } else { "a key name other than LIKE and DATA" };
        return Err(Error::takes("DATA", takes, hash));
    }
    Ok(Data { hash: hash.to_vec(), owner: owned.then(|| board.to_vec()) })
}

/// Words that are still to be read. Keywords are case-insensitive.
pub(super) struct Words<'w, 'b> {
    rest: &'w [&'b [u8]],
    /// The board's name, where a client wrote the words; `None` for those of a marker, where names are encoded.
    pub board: Option<&'b [u8]>,
}

impl<'w, 'b> Words<'w, 'b> {
    pub fn of_client(rest: &'w [&'b [u8]], board: &'b [u8]) -> Words<'w, 'b> {
        Words { rest, board: Some(board) }
    }

    pub fn len(&self) -> usize {
        self.rest.len()
    }

    pub fn next(&mut self) -> Option<&'b [u8]> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    pub fn next_if(&mut self, keyword: &str) -> bool {
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

    pub fn integer(&mut self, what: &'static str, takes: &'static str, lo: i64, hi: i64) -> Result<i64> {
        let word = self.next().ok_or_else(|| Error::without_value(what))?;
        parse_integer(word).filter(|n| (lo..=hi).contains(n)).ok_or_else(|| Error::takes(what, takes, word))
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
                return Err(Error::range_order(lo, hi));
            }
            FieldType::Range(lo, hi)
        } else {
            return Ok(None);
        }))
    }
}

#[derive(Default)]
struct RulesReader {
    order: Option<(Order, &'static str)>,
    fields: Vec<Field>,
    ties: Option<Ties>,
    keep: Option<u64>,
    update: Option<Update>,
    data: Option<Data>,
    periods: Vec<Period>,
    offset: Option<Offset>,
    shard: Option<Shard>,
}

impl RulesReader {
    fn read(&mut self, word: &[u8], words: &mut Words) -> Result<()> {
        match word.to_ascii_uppercase().as_slice() {
            b"ASC" => set_one_of(&mut self.order, Order::Ascending, "ASC"),
            b"DESC" => set_one_of(&mut self.order, Order::Descending, "DESC"),
            b"FIELD" => self.field(words),
            b"TIES" => set_once(&mut self.ties, read_ties(words)?, "TIES"),
            b"KEEP" => {
                set_once(&mut self.keep, words.integer("KEEP", "1 or more", 1, i64::MAX)?.unsigned_abs(), "KEEP")
            }
            b"UPDATE" => set_once(&mut self.update, read_update(words)?, "UPDATE"),
            b"DATA" => set_once(&mut self.data, read_data(words)?, "DATA"),
            b"PERIOD" => {
                self.periods.push(read_period(words)?);
                Ok(())
            }
            b"OFFSET" => set_once(&mut self.offset, read_offset(words)?, "OFFSET"),
            b"SHARD" => set_once(&mut self.shard, read_shard(words)?, "SHARD"),
            _ => Err(Error::unknown_option(word)),
        }
    }

    fn field(&mut self, words: &mut Words) -> Result<()> {
        let name = words.next().ok_or_else(|| Error::without_value("FIELD"))?;
        let valid = (1..=MAX_NAME).contains(&name.len())
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if !valid || is_key_word(name) {
            let takes = "a name of 1 to 64 characters A-Z a-z 0-9 _ - other than LIKE and DATA";
            return Err(Error::takes("FIELD", takes, name));
        }
        let name = String::from_utf8_lossy(name).into_owned();
        if self.fields.iter().any(|field| field.name == name) {
            return Err(Error::field_twice(&name));
        }
        if self.fields.len() == MAX_FIELDS {
            return Err(Error::too_many_fields(MAX_FIELDS, &name));
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
            self.fields.push(Field::score(self.order.map_or(Order::Descending, |(order, _)| order)));
        } else if self.order.is_some() {
            return Err(Error::order_with_fields());
        }
        Ok(Rules {
            fields: self.fields,
            ties: self.ties.unwrap_or(Ties::Shared),
            keep: self.keep,
            update: self.update.unwrap_or(Update::Set),
            data: self.data,
            periods: Periods::new(self.periods, self.offset)?,
            shard: self.shard,
        })
    }
}

fn read_ties(words: &mut Words) -> Result<Ties> {
    let word = words.next().ok_or_else(|| Error::without_value("TIES"))?;
    let rule = match word.to_ascii_uppercase().as_slice() {
        b"SHARED" => return Ok(Ties::Shared),
        b"FIRST" => TieRule::First,
        b"LAST" => TieRule::Last,
        b"JOINED" => TieRule::Joined,
        _ => {
            return Err(Error::takes("TIES", "SHARED, FIRST, LAST or JOINED", word));
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
        _ => Err(Error::takes("UPDATE", "SET or BEST", word)),
    }
}

fn read_update(words: &mut Words) -> Result<Update> {
    parse_update(words.next().ok_or_else(|| Error::without_value("UPDATE"))?)
}

fn read_data(words: &mut Words) -> Result<Data> {
    let hash = words.next().ok_or_else(|| Error::without_value("DATA"))?;
    let owned = words.next_if("OWNED");
    if let Some(board) = words.board {
        return client_data(hash, owned, board);
    }
    let name = |word: &[u8]| decode(word).ok_or_else(|| Error::takes("DATA", "an encoded name", word));
    let owner = if owned { Some(name(words.next().ok_or_else(|| Error::without_value("OWNED"))?)?) } else { None };
    Ok(Data { hash: name(hash)?, owner })
}

/// `i n`. A client's board must have the key of that shard.
fn read_shard(words: &mut Words) -> Result<Shard> {
    let index = words.next().ok_or_else(|| Error::without_value("SHARD"))?;
    let count = words.next().ok_or_else(|| Error::without_value("SHARD"))?;
    let shards = parse_integer(count).and_then(Count::new).ok_or_else(|| Error::shard_count(count))?;
    let shard = parse_integer(index).and_then(|index| shards.shard(index));
    let shard = shard.ok_or_else(|| Error::takes("SHARD", "a shard from 0 to n - 1", index))?;
    match words.board {
        Some(key) if shard.name_in(key).is_none() => Err(Error::not_the_shard(shard, key)),
        _ => Ok(shard),
    }
}
