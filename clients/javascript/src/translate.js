// The class for an error that the server sent.

import {
  CommandError, DamagedBoard, ModuleNotLoaded, NotPermitted, RankError, SchemaError, ValueOutOfRange, WrongType,
} from './errors.js';

// The first whose words are in the server's text decides.
const BY_TEXT = [
  ['NOPERM', NotPermitted],
  ['WRONGTYPE', WrongType],
  ['unknown command', ModuleNotLoaded],
  ['RANK.VERIFY', DamagedBoard],
  ['schema', SchemaError],
  ["field '", ValueOutOfRange],
  ['', CommandError],
];

/** The class of this package for what the server said; other errors are as they were. */
export function translate(error) {
  if (error instanceof RankError || !/^(ERR|WRONGTYPE|NOPERM) /.test(error?.message)) return error;
  const message = error.message.replace(/^ERR /, '');
  const [, Kind] = BY_TEXT.find(([words]) => message.includes(words));
  return new Kind(message, { cause: error });
}
