"""Copies leaderboards from layouts that people use today to boards of redis-rank.

docs/guides/moving.md says which function is for which layout. Import what you need:

    from migrate import move_negated
    move_negated(redis.Redis(), "old", "new", "players", since=1700000000000)

Nothing in the old keys is changed. Stop writes to them while you copy. If you cannot, write to both boards first, and
use RANK.ADD ... NX here, so that the copy does not overwrite newer scores.
"""

import json
import struct


def send(r, commands, batch=1000):
    """Sends commands in batches, so that no other client waits long."""
    pipe = r.pipeline(transaction=False)
    for command in commands:
        pipe.execute_command(*command)
        if len(pipe) == batch:
            pipe.execute()
    pipe.execute()


def rows(r, board, *options):
    """All rows of a board, best first, to compare with the old keys."""
    return json.loads(r.execute_command("RANK.RANGE", board, 1, -1, *options, "JSON"))


def move_top_n(r, board, n):
    """A sorted set that writers trim to the n best. It stays where it is, and gets a schema."""
    r.execute_command("RANK.CREATE", board, "KEEP", n)


def move_agoragames(r, name, reverse=False):
    """The leaderboard gem and PyPI package: the scores stay where they are, and the schema names the existing hash."""
    order = ["ASC"] if reverse else []
    r.execute_command("RANK.CREATE", name, *order, "DATA", name + ":member_data")


def move_negated(r, old, new, players, since):
    """Negated scores, members `timestamp:user`, and a hash `user:NAME` for each user with the field `ts`.

    Timestamps are when a user entered the board, in milliseconds: multiply seconds by 1000. `since` is any time before
    the oldest one, so that the times take little space.
    """
    r.execute_command("RANK.CREATE", new, "TIES", "JOINED", "DATA", players, "SINCE", since)

    def commands():
        for element, score in r.zscan_iter(old):
            joined, user = element.split(b":", 1)
            profile = r.hgetall(b"user:" + user)
            data = {name.decode(): value.decode() for name, value in profile.items() if name != b"ts"}
            yield "RANK.ADD", new, "AT", joined, "DATA", json.dumps(data), -score, user

    send(r, commands())


def move_bytes(r, old_hash, new):
    """Scores as big-endian bytes in front of the member, here two for a level and four for the experience.

    A hash maps each user to these bytes. Choose types as wide as your bytes. A field that is stored inverted, so that
    lower is better, becomes an ASC field: invert it back.
    """
    r.execute_command("RANK.CREATE", new, "FIELD", "level", "BITS", 16, "FIELD", "xp", "BITS", 32)

    def commands():
        for user, packed in r.hscan_iter(old_hash):
            level, xp = struct.unpack(">HI", packed)
            yield "RANK.ADD", new, level, xp, user

    send(r, commands())


def move_three_keys(r, users, new):
    """A hash of users, a sorted set of scores, and a hash with a JSON list of users for each score.

    The new board needs no schema. In the old lists, users are in the order in which they came; here they are sorted by
    name. TIES FIRST keeps the order of arrival.
    """
    send(r, (("RANK.ADD", new, score, user) for user, score in r.hscan_iter(users)))


def move_tair(r, members, new, fields):
    """TairZset: `members` yields pairs of a member and its score, such as b"46#37#38", from EXZRANGE ... WITHSCORES.

    `fields` is the schema, such as ["FIELD", "gold", "DIGITS", 3, "FIELD", "silver", "DIGITS", 3].
    """
    r.execute_command("RANK.CREATE", new, *fields)
    send(r, (("RANK.ADD", new, *score.split(b"#"), member) for member, score in members))
