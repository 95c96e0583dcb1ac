//! Parses arguments. Every error names the argument and what it takes.

use crate::board::{parse_time, FieldBound, Pair, Pairs, Schema, Value};
pub use crate::error::{set_once as once, set_one_of as one_of};
use crate::error::{Error, Result};
use crate::number::{floor_of_decimal, parse_extended, parse_finite, parse_integer};
use crate::server::{Arg, Args, Text};

/// The next argument, or the error for too few of them.
pub fn required<'a>(args: &mut Args<'a>) -> Result<Arg<'a>> {
    match args.next() {
        Some(arg) => Ok(arg),
        None => Err(Error::arity()),
    }
}

/// The board or limiter, always the first argument.
pub fn key<'a>(args: &mut Args<'a>) -> Result<Text<'a>> {
    required(args).map(Arg::text)
}

/// An error if there are arguments left.
pub fn nothing_more(args: &Args) -> Result<()> {
    if args.len() == 0 {
        Ok(())
    } else {
        Err(Error::arity())
    }
}

fn refuse(what: &'static str, takes: &'static str, arg: Arg) -> Error {
    Error::takes(what, takes, arg.bytes())
}

/// Any integer.
pub fn integer(arg: Arg, what: &'static str) -> Result<i64> {
    parse_integer(arg.bytes()).ok_or_else(|| refuse(what, "an integer", arg))
}

/// An integer of at least `least`, 0 or 1.
pub fn count(arg: Arg, what: &'static str, least: i64) -> Result<u64> {
    let takes = if least == 0 { "0 or more" } else { "1 or more" };
    let value = parse_integer(arg.bytes()).filter(|value| *value >= least);
    value.map(i64::unsigned_abs).ok_or_else(|| refuse(what, takes, arg))
}

/// A position from 1, or from the end.
pub fn position(arg: Arg, what: &'static str) -> Result<i64> {
    let takes = "a position from 1, or a negative one";
    parse_integer(arg.bytes()).filter(|value| *value != 0).ok_or_else(|| refuse(what, takes, arg))
}

/// From 0 to 100.
pub fn percentile(arg: Arg) -> Result<f64> {
    let value = parse_finite(arg.bytes()).filter(|value| (0.0..=100.0).contains(value));
    value.ok_or_else(|| refuse("percentile", "0 to 100", arg))
}

/// One end of a range over the first field.
pub fn bound(arg: Arg, what: &'static str) -> Result<FieldBound> {
    let (exclusive, text) = match arg.bytes() {
        [b'(', rest @ ..] => (true, rest),
        text => (false, text),
    };
    // Integers first: they are exact beyond 2^53.
    let value = parse_integer(text).map(Value::Integer).or_else(|| parse_extended(text).map(Value::Float));
    let takes = "a number, inf or -inf, or ( and a number to exclude it";
    let bound = FieldBound::new(value.ok_or_else(|| refuse(what, takes, arg))?, exclusive);
    Ok(FieldBound { floor: floor_of_decimal(text).unwrap_or(bound.floor), ..bound })
}

/// The arguments as scores and members: one score per field, then a member, and so on.
#[inline(always)]
pub fn pairs<'a>(schema: &Schema, mut args: Args<'a>) -> Result<Pairs<Text<'a>>> {
    let fields = schema.fields().len();
    if args.len() == 0 || !args.len().is_multiple_of(fields + 1) {
        return Err(wrong_count(args, |got| Error::score_count(fields, got)));
    }
    let mut pairs = Pairs::new();
    while args.len() > 0 {
        let (values, kept) = schema.parse_scores(args.take_first(fields).map(Arg::bytes))?;
        pairs.push(Pair { kept, ..Pair::new(values, required(&mut args)?.text()) });
    }
    Ok(pairs)
}

/// Whether a text can only be a score: a number, or `*` for a field that stays as it is.
pub fn is_score(text: &[u8]) -> bool {
    text == b"*" || parse_extended(text).is_some()
}

/// The error for a wrong number of arguments. If the first is a word, it is more likely an option that does not exist.
#[cold]
pub fn wrong_count(mut args: Args, wrong: impl FnOnce(usize) -> Error) -> Error {
    let got = args.len();
    match args.next() {
        Some(word) if !is_score(word.bytes()) => Error::unknown_option(word.bytes()),
        _ => wrong(got),
    }
}

/// The value of an option.
pub fn value_of<'a>(args: &mut Args<'a>, option: &'static str) -> Result<Arg<'a>> {
    args.next().ok_or_else(|| Error::without_value(option))
}

/// The value of `AT`, in Unix milliseconds.
pub fn unix_time(args: &mut Args) -> Result<i64> {
    parse_time(value_of(args, "AT")?.bytes(), "AT")
}
