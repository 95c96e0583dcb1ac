//! Argument lists of every command.

use super::documented::generator;
use super::generator::Random;
use super::input::Input;
use super::{check_error, reached};
use crate::error::Error;
use crate::server::tests::absent;
use crate::COMMANDS;

/// Every command accepts or refuses any arguments. A refusal is an error that says what is wrong, never a panic.
pub fn arguments(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let number = Random::below(&mut input, COMMANDS.len());
    let asks_for_keys = input.byte() == 1;
    let call = generator().call_of(number, &mut input);
    match absent::call(&COMMANDS[number], &call.args[1..], asks_for_keys) {
        Some(error) => {
            check_error(&error);
            assert_ne!(error, Error::internal().to_string(), "{}", call.text());
        }
        None => call.options().for_each(reached),
    }
}
