//! Calls of all commands of this crate, made from their documentation.

use std::sync::OnceLock;

use super::generator::{Call, Generator, Kind, Random, Shape};
use super::input::Input;
use crate::docs::{ArgType, Argument};
use crate::COMMANDS;

impl Random for Input<'_> {
    fn below(&mut self, bound: usize) -> usize {
        match bound {
            0..=256 => Input::below(self, bound),
            _ => self.word() as usize % bound,
        }
    }
}

pub fn generator() -> &'static Generator {
    static GENERATOR: OnceLock<Generator> = OnceLock::new();
    GENERATOR.get_or_init(|| {
        let shape_of = |args: Vec<Argument>| Shape::Sequence(args.iter().map(shape).collect());
        Generator::new(COMMANDS.iter().map(|it| (it.doc.name.to_owned(), shape_of(it.doc.args()))).collect())
    })
}

/// The arguments of a call of one of these commands, without the key, if they are what they should be.
pub fn arguments_of(commands: &[&str], input: &mut Input) -> (Call, Vec<Vec<u8>>) {
    let name = input.pick(commands);
    let at = COMMANDS.iter().position(|command| command.doc.name == name).expect("a command");
    let call = generator().call_of(at, input);
    let args = call.args.iter().skip(2).cloned().collect();
    (call, args)
}

fn shape(argument: &Argument) -> Shape {
    let parts = || argument.children.iter().map(shape).collect();
    let value = |kind| Shape::Value(argument.name.clone(), kind);
    let token = argument.token.as_deref();
    let (inner, token) = match argument.kind {
        ArgType::PureToken => (Shape::Token(token.unwrap_or_default().to_owned()), None),
        ArgType::OneOf => (Shape::Choice(parts()), token),
        ArgType::Block => (Shape::Sequence(parts()), token),
        ArgType::Key => (value(Kind::Key), token),
        ArgType::Integer => (value(Kind::Integer), token),
        ArgType::Double => (value(Kind::Double), token),
        ArgType::UnixTime => (value(Kind::Time), token),
        ArgType::String => (value(Kind::Text), token),
    };
    Shape::argument(inner, token, argument.optional, argument.multiple)
}
