#!/usr/bin/env python3
"""Prints a board as lines of JSON, best first, from a server that need not have the module.

    read_board.py KEY [URL]

It reads the schema from the board's marker, decodes every element, and needs redis-py only. docs/design.md describes
the format.
"""

import json
import struct
import sys

MARKER = b"\0rank 2 "
TYPES = {"FLOAT": 0, "INT": 0, "BITS": 1, "DIGITS": 1, "RANGE": 2}
WIDTHS = [7, 10, 12, 17, 20, 24, 32]


class Field:
    """Of a schema: `low` and `high` are None unless the type has bounds."""

    def __init__(self, name, is_ascending, kind, numbers):
        self.name, self.is_ascending, self.kind = name, is_ascending, kind
        bounds = {"BITS": lambda n: (0, 2**n - 1), "DIGITS": lambda n: (0, 10**n - 1), "RANGE": lambda low, high: (low, high)}
        self.low, self.high = bounds[kind](*numbers) if kind in bounds else (None, None)

    def read(self, code):
        if self.low is not None:
            distance, code = take(code, (self.high - self.low).bit_length())
            return self.low + distance, code
        return read_int(code) if self.kind == "INT" else read_float(code)


class Schema:
    def __init__(self, text=""):
        words = text.split()
        self.fields, self.ties, self.unit, self.since = [], "SHARED", 1, 0
        # Fields come first, then the tie rule, and SINCE is at the end: names of keys between them can be any words.
        while words and words[0] == "FIELD":
            name, order, kind = words[1], "DESC", "FLOAT"
            del words[:2]
            if words and words[0] in ("ASC", "DESC"):
                order = words.pop(0)
            if words and words[0] in TYPES:
                kind = words.pop(0)
            numbers = [int(words.pop(0)) for _ in range(TYPES[kind])]
            self.fields.append(Field(name, order == "ASC", kind, numbers))
        if words and words[0] == "TIES":
            self.ties, self.unit = words[1], 1000 if words[2:3] == ["S"] else 1
            self.since = int(words[-1])
        self.fields = self.fields or [Field("score", False, "FLOAT", [])]

    def is_inverted(self, field):
        return field.is_ascending != self.fields[0].is_ascending

    @property
    def layout(self):
        if self.ties == "SHARED" and [field.kind for field in self.fields] == ["FLOAT"]:
            return "plain"
        if self.ties == "SHARED" and all(field.low is not None for field in self.fields):
            first, *rest = self.fields
            size = 1
            for field in rest:
                size *= field.high - field.low + 1
            if max(-first.low * size, first.high * size + size - 1) <= 2**53:
                return "packed"
        return "coded"


def as_bits(number):
    return struct.unpack(">Q", struct.pack(">d", number))[0]


def as_float(bits):
    return struct.unpack(">d", struct.pack(">Q", bits))[0]


# A code is a text of 0 and 1. What reads a value returns it with the rest of the code.


def flip(code):
    return code.translate({48: 49, 49: 48})


def take(code, width):
    return int(code[:width], 2), code[width:]


def read_natural(code):
    size, code = take(code, 3)
    if size == 7:
        return None, code
    number, code = take(code, WIDTHS[size])
    return sum(2**width for width in WIDTHS[:size]) + number, code


def read_int(code):
    if code[0] == "0":
        number, code = read_int(flip(code))
        return -number - 1, flip(code)
    number, code = read_natural(code[1:])
    return take(code, 63) if number is None else (number, code)


def read_float(code):
    if code[0] == "0":
        number, code = read_float(flip(code))
        return -number, flip(code)
    whole, code = read_natural(code[1:])
    if whole is None:
        bits, code = take(code, 63)
        return as_float(bits), code
    if code[0] == "0":
        return float(whole), code[1:]
    thousandths, code = take(code[1:], 10)
    if code[0] == "0":
        return (1000 * whole + thousandths) / 1000, code[1:]
    bits, code = take(code[1:], 53 - whole.bit_length() if whole else 62)
    return as_float(as_bits(whole) | bits), code


def read_time(code, since, unit):
    before = 0
    for prefix, width in zip(("001", "01", "10", "110"), (20, 25, 27, 31) if unit == 1000 else (30, 33, 36, 38)):
        if code.startswith(prefix):
            number, _ = take(code[len(prefix):], width)
            return (since // unit + before + number) * unit
        before += 2**width
    number, _ = take(code[3:], 53)
    return (since // unit + number - (2**53 if code[0] == "0" else 0)) * unit


def code_of(element, score):
    """The code that score and element hold together, and the member."""
    bits = as_bits(score)
    head = bits - 2**52 + 2**62 if score > 0 else 3 * 2**62 + 2**52 - 1 - bits
    code = format(head, "063b")
    if element[:1] == b"\x02":
        more, element = 1, element[1:]
        while more:
            code += format(element[0] >> 1, "07b")
            more, element = element[0] & 1, element[1:]
    return code, element


def decode(schema, element, score):
    """The member, its scores and its tie time (None on a SHARED board)."""
    if schema.layout == "plain":
        return element, [score], None
    if schema.layout == "packed":
        number, values = int(score), []
        for field in reversed(schema.fields[1:]):
            number, digit = divmod(number, field.high - field.low + 1)
            values.insert(0, field.high - digit if schema.is_inverted(field) else field.low + digit)
        return element, [number, *values], None
    code, member = code_of(element, score)
    values = []
    for field in schema.fields:
        value, code = field.read(flip(code) if schema.is_inverted(field) else code)
        code = flip(code) if schema.is_inverted(field) else code
        values.append(value)
    if schema.ties == "SHARED":
        return member, values, None
    is_inverted = (schema.ties != "LAST") != schema.fields[0].is_ascending
    return member, values, read_time(flip(code) if is_inverted else code, schema.since, schema.unit)


def read_board(r, key):
    """Yields (member, scores, time) for every member of a board, best first."""
    elements = r.zrange(key, 0, -1, withscores=True)
    schema = Schema()
    if elements and elements[0][0].startswith(b"\0rank "):
        marker = elements.pop(0)[0]
        if not marker.startswith(MARKER):
            raise ValueError(f"this script reads format version 2: {marker!r}")
        schema = Schema(marker[len(MARKER):].decode())
    if schema.layout == "coded":
        # The others are index entries.
        elements = [(element, score) for element, score in elements if score > -4]
    if not schema.fields[0].is_ascending:
        elements.reverse()
    for element, score in elements:
        yield decode(schema, element, score)


def main():
    import redis

    r = redis.Redis.from_url(sys.argv[2] if len(sys.argv) > 2 else "redis://127.0.0.1:6379")
    for member, scores, time in read_board(r, sys.argv[1]):
        line = {"member": member.decode(errors="backslashreplace"), "scores": scores}
        print(json.dumps(line if time is None else {**line, "time": time}))


if __name__ == "__main__":
    main()
