// The class for an error that the server sent.

import {
  CommandError, DamagedBoard, ModuleNotLoaded, NotPermitted, RankError, SchemaError, ValueOutOfRange, WrongType,
} from './errors.js';

// The first that matches the server's text decides. Names of fields and members are in quotes, and decide nothing.
const BY_TEXT = [
  [/^NOPERM /, NotPermitted],
  [/^WRONGTYPE /, WrongType],
  [/^unknown command /, ModuleNotLoaded],
  [/^(in the board's period '.*': )?field '.*' takes /, ValueOutOfRange],
  [/ RANK.VERIFY /, DamagedBoard],
  [/^((CROSSSLOT )?the board|the sorted set|ADOPT|[^']* schema)/, SchemaError],
  [/^/, CommandError],
];

/** The class of this package for what the server said; other errors are as they were. */
export function translate(error) {
  if (error instanceof RankError || !/^(ERR|WRONGTYPE|NOPERM|CROSSSLOT) /.test(error?.message)) return error;
  const message = error.message.replace(/^ERR /, '');
  const [, Kind] = BY_TEXT.find(([text]) => text.test(message));
  return new Kind(message, { cause: error });
}
