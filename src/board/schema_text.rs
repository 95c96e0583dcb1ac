//! The text of a schema: one grammar for `RANK.CREATE`, for `RANK.ALTER`, which takes a part of it, and for the marker.
//!
//! A schema is printed in one canonical form, which is what a marker holds. Names of keys are encoded there, because the
//! words of a marker are separated by spaces.

use std::fmt;

use super::periods::{read_offset, read_period, Period, PeriodUnit};
use super::schema::{DataHash, Field, FieldType, Order, Rules, TieRule, Ties, TimeUnit, Update};
use crate::calendar::Offset;
use crate::docs::Keywords;
use crate::error::{Error, Result};
use crate::shard::{Count, Shard};
use crate::words::{check_name, Options, Word, Words, MAX_KEY_NAME};

const MAX_FIELDS: usize = 32;
const MAX_NAME: usize = 64;

/// What `RANK.CREATE` takes. The text of a marker has all of it but the key, `LIKE`, `SINCE` and `ADOPT`.
pub const CREATE_SYNTAX: &str = "key fields:[order:{ASC|DESC}|{FIELD name direction:[ascending:ASC|descending:DESC] \
    type:[FLOAT|INT|BITS bits:n|DIGITS digits:n|RANGE lo hi]} ...] \
    [TIES ties:{SHARED|timed:{rule:{FIRST|LAST|JOINED} unit:[MS|S]}}] [KEEP keep:n] [UPDATE update:{SET|BEST}] \
    [LIKE other] [DATA hash [OWNED]] \
    [PERIOD cycle:{HOUR|DAY|WEEK|MONTH|YEAR|EVERY duration {FROM from:ms}} prefix [PAST past:n]] ... [OFFSET utcoffset] \
    [SHARD part:i shards:n] [SINCE since:ms] [ADOPT]";

pub const ALTER_SYNTAX: &str = "key bound:[KEEP keep:n|NOKEEP] [UPDATE update:{SET|BEST}] attributes:[DATA hash [OWNED]|NODATA] \
    periods:[PERIOD cycle:{HOUR|DAY|WEEK|MONTH|YEAR|EVERY duration {FROM from:ms}} prefix [PAST past:n]|NOPERIOD noperiod:unit] ... \
    [OFFSET utcoffset]";

static CREATE_KEYWORDS: Keywords = Keywords::of(CREATE_SYNTAX);
static ALTER_KEYWORDS: Keywords = Keywords::of(ALTER_SYNTAX);

/// What `RANK.CREATE` says about a board.
pub struct Creation {
    pub rules: Rules,
    /// What tie times are counted from, if the client said so.
    pub since: Option<i64>,
    pub adopt: bool,
}

/// What `RANK.ALTER` changes. `RANK.CREATE` changes the defaults in the same way.
#[derive(Default)]
pub struct Alteration {
    /// The inner `None` of this and of `data` removes what the board has.
    keep: Option<Option<u64>>,
    update: Option<Update>,
    pub data: Option<Option<DataHash>>,
    /// For each unit that is named, its period, or none.
    periods: Vec<(PeriodUnit, Option<Period>)>,
    offset: Option<Offset>,
}

impl Rules {
    /// Parses the text of a marker.
    pub fn parse(words: &[&[u8]]) -> Result<Rules> {
        let (words, owner) = match words {
            [words @ .., b"BOARD", owner] => (words, decode(owner).filter(|owner| owner.len() <= MAX_KEY_NAME)),
            _ => (words, None),
        };
        let mut rules = read_schema(Words::new(words), None)?.rules;
        rules.periods.set_owner(owner.as_deref());
        Ok(rules)
    }
}

impl Creation {
    /// Parses what a client says about a board with this key.
    pub fn parse(board: &[u8], words: Words<impl Word>) -> Result<Creation> {
        read_schema(words, Some(board))
    }
}

/// `board` is the key of the client's board. There is none for the words of a marker, whose names are encoded.
fn read_schema(words: Words<impl Word>, board: Option<&[u8]>) -> Result<Creation> {
    let (mut order, mut ties, mut shard, mut since, mut adopt) = (None, Ties::Shared, None, None, false);
    let (mut fields, mut changes) = (Vec::new(), Alteration::default());
    let mut options = Options::new(words, &CREATE_KEYWORDS);
    while let Some(option) = options.next()? {
        match option {
            "ASC" => order = Some(Order::Ascending),
            "DESC" => order = Some(Order::Descending),
            "FIELD" => read_field(&mut options.words, &mut fields)?,
            "TIES" => ties = read_ties(&mut options.words)?,
            "SHARD" => shard = Some(read_shard(&mut options.words, board)?),
            "SINCE" if board.is_some() => since = Some(options.value()?.time("SINCE")?),
            "ADOPT" if board.is_some() => adopt = true,
            _ => changes.read(option, &mut options, board)?,
        }
    }
    if fields.is_empty() {
        fields.push(Field::score(order.unwrap_or(Order::Descending)));
    } else if order.is_some() {
        return Err(Error::order_with_fields());
    }
    if since.is_some() && ties == Ties::Shared {
        return Err(Error::since_without_times());
    }
    let rules = changes.apply(&Rules { fields, ties, shard, ..Rules::implicit() }, board.unwrap_or_default())?;
    Ok(Creation { rules, since, adopt })
}

impl Alteration {
    /// Parses what a client says about a board with this key.
    pub fn parse(board: &[u8], words: Words<impl Word>) -> Result<Alteration> {
        let mut changes = Alteration::default();
        let mut options = Options::new(words, &ALTER_KEYWORDS);
        while let Some(option) = options.next()? {
            match option {
                "NOKEEP" => changes.keep = Some(None),
                "NODATA" => changes.data = Some(None),
                "NOPERIOD" => changes.set_period(PeriodUnit::read(&mut options.words, "NOPERIOD")?, None)?,
                _ => changes.read(option, &mut options, Some(board))?,
            }
        }
        Ok(changes)
    }

    fn read<W: Word>(&mut self, option: &str, options: &mut Options<W>, board: Option<&[u8]>) -> Result<()> {
        match option {
            "KEEP" => self.keep = Some(Some(options.value()?.count("KEEP", 1)?)),
            "UPDATE" => self.update = Some(read_update(&mut options.words)?),
            "DATA" => self.data = Some(Some(read_data(&mut options.words, board)?)),
            "PERIOD" => {
                let period = read_period(&mut options.words, board)?;
                self.set_period(period.unit(), Some(period))?;
            }
            "OFFSET" => self.offset = Some(read_offset(&mut options.words)?),
            _ => return Err(options.unknown()),
        }
        Ok(())
    }

    fn set_period(&mut self, unit: PeriodUnit, period: Option<Period>) -> Result<()> {
        if self.periods.iter().any(|(other, _)| *other == unit) {
            return Err(Error::period_twice(unit.name()));
        }
        self.periods.push((unit, period));
        Ok(())
    }

    /// The rules of the board with this key after the change.
    pub fn apply(self, rules: &Rules, key: &[u8]) -> Result<Rules> {
        let mut rules = rules.clone();
        rules.keep = self.keep.unwrap_or(rules.keep);
        rules.update = self.update.unwrap_or(rules.update);
        rules.data = self.data.unwrap_or(rules.data);
        rules.periods = rules.periods.altered(self.periods, self.offset, key)?;
        Ok(rules)
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
pub fn client_data(hash: &[u8], owned: bool, board: &[u8]) -> Result<DataHash> {
    if is_key_word(hash) || hash == board {
        let takes =
            if hash == board { "a key other than the board's own" } else { "a key name other than LIKE and DATA" };
        return Err(Error::takes("DATA", takes, hash));
    }
    check_name("DATA", hash, MAX_KEY_NAME)?;
    if owned {
        // The marker records it.
        check_name("the key of a board with OWNED", board, MAX_KEY_NAME)?;
    }
    Ok(DataHash { hash: hash.to_vec(), owner: owned.then(|| board.to_vec()) })
}

fn read_field(words: &mut Words<impl Word>, fields: &mut Vec<Field>) -> Result<()> {
    let word = words.value_of("FIELD")?;
    let name = String::from_utf8_lossy(word.bytes()).into_owned();
    let valid = (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if !valid || is_key_word(name.as_bytes()) {
        let takes = "a name of 1 to 64 characters A-Z a-z 0-9 _ - other than LIKE and DATA";
        return Err(word.refuse("FIELD", takes));
    }
    if fields.iter().any(|field| field.name == name) {
        return Err(Error::field_twice(&name));
    }
    if fields.len() == MAX_FIELDS {
        return Err(Error::too_many_fields(MAX_FIELDS, &name));
    }
    let order = read_order(words);
    let kind = read_field_type(words)?;
    let order = order.or_else(|| read_order(words)).unwrap_or(Order::Descending);
    fields.push(Field { name, order, kind });
    Ok(())
}

fn read_order(words: &mut Words<impl Word>) -> Option<Order> {
    if words.next_if("ASC") {
        Some(Order::Ascending)
    } else {
        words.next_if("DESC").then_some(Order::Descending)
    }
}

fn read_field_type(words: &mut Words<impl Word>) -> Result<FieldType> {
    Ok(if words.next_if("INT") {
        FieldType::Int
    } else if words.next_if("BITS") {
        FieldType::Bits(words.value_of("BITS")?.integer_in("BITS", "1 to 62", 1..=62)? as u8)
    } else if words.next_if("DIGITS") {
        FieldType::Digits(words.value_of("DIGITS")?.integer_in("DIGITS", "1 to 18", 1..=18)? as u8)
    } else if words.next_if("RANGE") {
        let mut side = || {
            let takes = "a signed 64-bit integer on each side";
            words.value_of("RANGE")?.integer_in("RANGE", takes, i64::MIN..=i64::MAX)
        };
        let (lo, hi) = (side()?, side()?);
        if lo >= hi {
            return Err(Error::range_order(lo, hi));
        }
        FieldType::Range(lo, hi)
    } else {
        words.next_if("FLOAT");
        FieldType::Float
    })
}

fn read_ties(words: &mut Words<impl Word>) -> Result<Ties> {
    let word = words.value_of("TIES")?;
    let rule = match word.upper().as_slice() {
        b"SHARED" => return Ok(Ties::Shared),
        b"FIRST" => TieRule::First,
        b"LAST" => TieRule::Last,
        b"JOINED" => TieRule::Joined,
        _ => return Err(word.refuse("TIES", "SHARED, FIRST, LAST or JOINED")),
    };
    if words.next_if("S") {
        return Ok(Ties::ByTime(rule, TimeUnit::Seconds));
    }
    words.next_if("MS");
    Ok(Ties::ByTime(rule, TimeUnit::Milliseconds))
}

fn read_update(words: &mut Words<impl Word>) -> Result<Update> {
    let word = words.value_of("UPDATE")?;
    match word.upper().as_slice() {
        b"SET" => Ok(Update::Set),
        b"BEST" => Ok(Update::Best),
        _ => Err(word.refuse("UPDATE", "SET or BEST")),
    }
}

fn read_data(words: &mut Words<impl Word>, board: Option<&[u8]>) -> Result<DataHash> {
    let hash = words.value_of("DATA")?;
    let owned = words.next_if("OWNED");
    if let Some(board) = board {
        return client_data(hash.bytes(), owned, board);
    }
    let name = |word: &[u8]| {
        let name = decode(word).ok_or_else(|| Error::takes("DATA", "an encoded name", word))?;
        check_name("DATA", &name, MAX_KEY_NAME).map(|()| name)
    };
    let owner = if owned { Some(name(words.value_of("OWNED")?.bytes())?) } else { None };
    Ok(DataHash { hash: name(hash.bytes())?, owner })
}

/// `i n`. A client's board must have the key of that shard.
fn read_shard(words: &mut Words<impl Word>, board: Option<&[u8]>) -> Result<Shard> {
    let (index, count) = (words.value_of("SHARD")?, words.value_of("SHARD")?);
    let shards = count.integer("SHARD").ok().and_then(Count::new).ok_or_else(|| Error::shard_count(count.bytes()))?;
    let shard = index.integer("SHARD").ok().and_then(|index| shards.shard(index));
    let shard = shard.ok_or_else(|| index.refuse("SHARD", "a shard from 0 to n - 1"))?;
    if let Some(key) = board {
        check_name("the key of a shard", key, MAX_KEY_NAME + shard.suffix().len())?;
    }
    match board {
        Some(key) if shard.name_in(key).is_none() => Err(Error::not_the_shard(shard, key)),
        _ => Ok(shard),
    }
}
