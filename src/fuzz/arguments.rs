//! Argument lists of every command.

use super::check_error;
use super::input::Input;
use crate::error::Error;
use crate::server::tests::absent;
use crate::COMMANDS;

const WORDS: &[&str] = &[
    "NX",
    "XX",
    "SET",
    "BEST",
    "KEEP",
    "CH",
    "WITHRANK",
    "BOARD",
    "*",
    "AT",
    "ASC",
    "DESC",
    "FIELD",
    "FLOAT",
    "INT",
    "BITS",
    "DIGITS",
    "RANGE",
    "TIES",
    "SHARED",
    "FIRST",
    "LAST",
    "JOINED",
    "MS",
    "S",
    "UPDATE",
    "ADOPT",
    "LIKE",
    "NOKEEP",
    "REPAIR",
    "CURSOR",
    "COUNT",
    "RETURN",
    "COMPETITION",
    "DENSE",
    "ORDINAL",
    "WITHDATA",
    "WITHTIME",
    "MEMBER",
    "WORST",
    "JSON",
    "LIMIT",
    "FILL",
    "SLIDING",
    "FIXED",
    "COUNTER",
    "GCRA",
    "BURST",
    "COST",
    "NOW",
    "100/1m",
    "5/1s",
    "10/366d",
    "1m",
    "1ms",
    "a",
    "b",
    "DATA",
    "OWNED",
    "NODATA",
    "IN",
    "LEASE",
    "BLOCK",
    "{\"k\":1}",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "5",
    "60",
    "-1",
    "007",
    "1.5",
    "-0",
    "1e3",
    "1e308",
    "5e-324",
    "1e400",
    "inf",
    "-inf",
    "nan",
    "0x10",
    "(5",
    "(-inf",
    "62",
    "63",
    "4503599627370497",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "99999999999999999999999",
    "1700000000000",
    "+5",
    "",
    "(",
];

/// Every command accepts or refuses any arguments. A refusal is an error that says what is wrong, never a panic.
pub fn arguments(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let command = &COMMANDS[input.below(COMMANDS.len())];
    let asks_for_keys = input.byte() == 1;
    let mut args: Vec<Vec<u8>> = Vec::new();
    while !input.is_empty() {
        args.push(match input.below(4) {
            0 => input.pick(WORDS).as_bytes().to_vec(),
            1 => input.pick(WORDS).to_ascii_lowercase().into_bytes(),
            2 => input.pick(NUMBERS).as_bytes().to_vec(),
            _ => input.bytes().to_vec(),
        });
    }
    if let Some(error) = absent::call(command, &args, asks_for_keys) {
        check_error(&error);
        assert_ne!(error, Error::internal().to_string(), "{} {args:?}", command.doc.name);
    }
}
