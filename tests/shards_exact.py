"""The Python client's answers about a board over many keys, judged: tests/shards_exact.rs and tests/shards_cluster.rs run it.

    shards_exact.py URL equal              beside one board with the same members
    shards_exact.py URL meanwhile ROUNDS   while other connections write; with 0 rounds until its input is closed

With --cluster, the URL is that of a node. Prints a line for each round of questions that was answered.
"""

from __future__ import annotations

import random
import sys
import threading
from binascii import crc_hqx
from typing import Any

import redis
import redis.exceptions as exceptions

from redis_rank import Leaderboard, ShardedLeaderboard

SHARDS = 16
START = 1_700_000_000_000
# Every layout, both directions, every tie rule, bounded and unbounded fields.
SCHEMAS: list[tuple[list[str], str]] = [
    (["a"], ""),
    (["a ASC"], ""),
    (["a DIGITS 3", "b ASC DIGITS 3"], ""),
    (["a RANGE -500 500"], "FIRST"),
    (["a ASC BITS 6"], "LAST"),
    (["a BITS 30", "b BITS 30"], ""),
    (["a ASC BITS 10", "b BITS 6"], "JOINED"),
    (["a INT", "b ASC INT"], ""),
    (["a FLOAT"], "LAST"),
    (["a ASC INT"], "JOINED"),
    (["a ASC INT", "b FLOAT"], "FIRST"),
    (["a DIGITS 3", "b INT"], "LAST"),
]
ODD = [b"", b"\0", b"\x01", b"\x02", b"\xff", b"\xff\xff", b"{a}", b"a{b}c", b"a b\r\n%", b"rank"]


class Shards:
    """The sixteen keys of `many`, and who writes to them without the client."""

    def __init__(self, url: str, is_cluster: bool):
        self.client: Any = redis.RedisCluster.from_url(url, socket_timeout=5) if is_cluster else redis.Redis.from_url(url)
        self.is_cluster = is_cluster
        anyone = self.client.get_redis_connection(self.client.get_random_node()) if is_cluster else self.client
        self.keys: list[bytes] = anyone.execute_command("RANK.SHARDS", "many", SHARDS)

    def create(self, fields: list[str], ties: str) -> None:
        schema = [word for field in fields for word in ("FIELD", *field.split())] + (["TIES", ties] if ties else [])
        for shard, key in enumerate(self.keys):
            self.client.execute_command("RANK.CREATE", key, *schema, "SHARD", shard, SHARDS)

    def key_of(self, member: bytes) -> bytes:
        return self.keys[crc_hqx(member, 0) % SHARDS]

    def write(self, key: bytes, *words: Any) -> bool:
        """Whether it is certain that nothing of it will be lost: a replica has it too."""
        if not self.is_cluster:
            self.client.execute_command("RANK.ADD", key, *words)
            return True
        try:
            node = self.client.get_node_from_key(key)
            pipeline = self.client.get_redis_connection(node).pipeline(transaction=False)
            pipeline.execute_command("RANK.ADD", key, *words)
            pipeline.execute_command("WAIT", 1, 1000)
            added, replicas = pipeline.execute(raise_on_error=False)
            if not isinstance(added, Exception):
                return bool(replicas >= 1)
            moves = (exceptions.MovedError, exceptions.AskError, exceptions.TryAgainError, exceptions.ClusterDownError)
            assert isinstance(added, (*moves, exceptions.ReadOnlyError)), added
            self.client.nodes_manager.initialize()
        except (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.RedisClusterException, OSError):
            pass
        return False


# --- beside one board ------------------------------------------------------------------------------


def equal(url: str) -> None:
    client = redis.Redis.from_url(url)
    for seed, (fields, ties) in enumerate(SCHEMAS):
        # A few members leave shards empty, many are more than a shard sends at once.
        for members in (seed, 900):
            client.flushall()
            schema: dict[str, Any] = {"fields": fields} | ({"ties": ties} if ties else {})
            dice = random.Random(f"{seed} {members}")
            names = fill(client, fields, ties, members, dice)
            whole, cut = Leaderboard(client, "one", **schema), ShardedLeaderboard(client, "many", SHARDS, **schema)
            compare(whole, cut, dice.sample(names, min(12, len(names))) + [b"nobody"], len(names))
            print(f"{schema}: {len(names)} members", flush=True)
    lopsided(client)


def fill(client: Any, fields: list[str], ties: str, count: int, dice: random.Random) -> list[bytes]:
    """The same writes to the board `one` and to the shards: many equal scores, odd names, members written twice."""
    shards = Shards(url_of(client), False)
    shards.create(fields, ties)
    schema = [word for field in fields for word in ("FIELD", *field.split())] + (["TIES", ties] if ties else [])
    client.execute_command("RANK.CREATE", "one", *schema)
    names = [*ODD, *(b"m%d" % number for number in range(count))][:count]
    pipeline = client.pipeline(transaction=False)
    for name in [*names, *dice.choices(names, k=count // 2)] if names else []:
        scores = [dice.choice((dice.randrange(3), dice.randrange(40))) for _ in fields]
        words = [*(["AT", START + dice.randrange(9) * 1000] if ties else []), *scores, name]
        for key in (b"one", shards.key_of(name)):
            pipeline.execute_command("RANK.ADD", key, *words)
    for name in names[::20]:
        for key in (b"one", shards.key_of(name)):
            pipeline.execute_command("RANK.REM", key, name)
    pipeline.execute()
    return [name for at, name in enumerate(names) if at % 20]


def lopsided(client: Any) -> None:
    """The best of all are in one shard, the next best in another: nothing is as random as the way there hopes."""
    client.flushall()
    shards = Shards(url_of(client), False)
    shards.create(["a INT"], "")
    client.execute_command("RANK.CREATE", "one", "FIELD", "a", "INT")
    names = [b"player:%d" % number for number in range(20_000)]
    pipeline = client.pipeline(transaction=False)
    for number, name in enumerate(names):
        for key in (b"one", shards.key_of(name)):
            pipeline.execute_command("RANK.ADD", key, crc_hqx(name, 0) % SHARDS * 1_000_000 + number, name)
    pipeline.execute()
    schema = {"fields": ["a INT"]}
    compare(Leaderboard(client, "one", **schema), ShardedLeaderboard(client, "many", SHARDS, **schema), names[::4000], 20_000)
    print("lopsided", flush=True)


def compare(whole: Any, cut: Any, names: list[bytes], count: int) -> None:
    assert cut.count() == whole.count() == count
    for kind in ("COMPETITION", "ORDINAL"):
        timed = {"kind": kind, "time": True}
        for n in (1, 10, 100, 1000):
            same(cut.top(n, **timed), whole.top(n, **timed))
        for page, size in ((1, 10), (2, 25), (max(1, count // 50), 25), (max(1, count), 2), (count // 10 + 2, 10)):
            same(cut.page(page, size, **timed), whole.page(page, size, **timed))
        for name in names:
            same(cut.get(name, **timed), whole.get(name, **timed))
            for distance in (0, 1, 7, 40):
                same(cut.around(name, distance, **timed), whole.around(name, distance, **timed))
            row = whole.get(name, time=True)
            for place in [] if row is None else [(row.scores,), (row.scores, row.time, name), (row.scores, row.time)]:
                beside: dict[str, Any] = dict(zip(("score", "at", "member"), place))
                for n in (1, 30, 2000):
                    same(cut.after(n, **beside, **timed), whole.after(n, **beside, **timed))
                    same(cut.before(n, **beside, **timed), whole.before(n, **beside, **timed))
        for low, high in ((2, 20), ("(2", "(3"), ("-inf", 1), (39, "inf"), (0, 10_000_000)):
            for limit in (None, (0, 20), (15, 30)):
                same(cut.by_score(low, high, limit=limit, **timed), whole.by_score(low, high, limit=limit, **timed))
    for name in names:
        same(cut.percentile(name), whole.percentile(name))


def same(got: Any, expected: Any) -> None:
    assert got == expected, f"{got}\nin place of\n{expected}"


def url_of(client: Any) -> str:
    known = client.connection_pool.connection_kwargs
    return f"redis://{known['host']}:{known['port']}"


# --- while others write ----------------------------------------------------------------------------

# Two for each even score stand still, and those who climb have odd ones: so nobody who climbs has an equal on the way.
STANDING = 2000
CLIMBERS = 48
WRITERS = 2


class Climbers:
    """Members that only get better, and what is known of each at any time: the score that a write has begun to give it, and
    the one that it certainly has. Others join, at -1."""

    def __init__(self) -> None:
        self.begun = [1] * CLIMBERS
        self.done = [1] * CLIMBERS
        self.joining = [0] * WRITERS
        self.joined = [0] * WRITERS
        self.stop = False

    def fill(self, shards: Shards) -> None:
        parts: dict[bytes, list[Any]] = {}
        first = [(number // 2 * 2, b"s%d" % number) for number in range(STANDING)]
        for score, name in [*first, *((1, b"c%d" % at) for at in range(CLIMBERS))]:
            parts.setdefault(shards.key_of(name), []).extend((score, name))
        for key, words in parts.items():
            while not shards.write(key, *words):
                pass

    def climb(self, shards: Shards, writer: int) -> None:
        dice = random.Random(writer)
        while not self.stop:
            if dice.randrange(4) == 0:
                name = b"j%d-%d" % (writer, self.joining[writer])
                self.joining[writer] += 1
                self.joined[writer] += shards.write(shards.key_of(name), -1, name)
                continue
            at = dice.randrange(CLIMBERS // WRITERS) * WRITERS + writer
            name = b"c%d" % at
            self.begun[at] += 2 * (1 + dice.randrange(3))
            if shards.write(shards.key_of(name), self.begun[at], name):
                self.done[at] = self.begun[at]

    def certain(self) -> Moment:
        return Moment(list(self.done), sum(self.joined))

    def possible(self) -> Moment:
        return Moment(list(self.begun), sum(self.joining))


class Moment:
    """What was true when a call began, or when it ended."""

    def __init__(self, scores: list[int], joined: int):
        self.scores = scores
        self.members = STANDING + CLIMBERS + joined

    def above(self, score: int) -> int:
        return standing_above(score) + sum(climber > score for climber in self.scores)


def standing_above(score: int) -> int:
    return STANDING - min(STANDING, max(0, score // 2 + 1) * 2)


def within(least: float, got: float, most: float, what: Any) -> None:
    assert least - 1e-9 <= got <= most + 1e-9, f"{what}: {got}, not {least} to {most}"


def check_rows(rows: list[Any], start: int | None, low: Moment, high: Moment) -> None:
    """Rows that follow each other, each of which was where it is said to be at some moment of the call."""
    for at, row in enumerate(rows):
        [score] = row.scores
        if row.member[0] == "c":
            number = int(row.member[1:])
            within(low.scores[number], score, high.scores[number], row)
        if at:
            before = rows[at - 1]
            assert (before.scores[0], before.member) > (score, row.member) and before.rank + 1 == row.rank, (before, row)
        assert start is None or row.rank == start + at, (start, at, row)
        if score >= 0:
            # Everybody better, but for those with the same score, of whom there are few.
            equals = sum(other.scores[0] == score for other in rows) + (CLIMBERS if score % 2 else 2)
            within(low.above(score) + 1, row.rank, high.above(score) + equals + 1, row)


def ask(board: Any, climbers: Climbers, dice: random.Random) -> None:
    """One round of questions, each judged by what was true around it."""

    def timed(question: Any, *words: Any, **options: Any) -> tuple[Moment, Any, Moment]:
        return climbers.certain(), question(*words, **options), climbers.possible()

    number = dice.randrange(STANDING)
    score, name = number // 2 * 2, f"s{number}"
    for kind in ("COMPETITION", "ORDINAL"):
        low, row, high = timed(board.get, name, kind=kind)
        # Of those with the same score the greater name is first.
        tie = sum(f"s{other}" > name for other in (score, score + 1)) if kind == "ORDINAL" else 0
        within(low.above(score) + tie + 1, row.rank, high.above(score) + tie + 1, row)
    low, members, high = timed(board.count)
    within(low.members, members, high.members, "members")
    low, percentile, high = timed(board.percentile, name)
    # Not worse are the better ones, and the equals, which are two.
    least, most = (100 * (1 - (a.above(score) + 2) / b.members) for a, b in ((high, low), (low, high)))
    within(least, percentile, most, name)
    low, rows, high = timed(board.top, 30, kind="ORDINAL")
    assert len(rows) == 30
    check_rows(rows, 1, low, high)
    page = 1 + dice.randrange(STANDING // 20)
    low, found, high = timed(board.page, page, 20, kind="ORDINAL")
    assert len(found.rows) == 20
    check_rows(found.rows, (page - 1) * 20 + 1, low, high)
    low, rows, high = timed(board.around, name, 10, kind="ORDINAL")
    assert name in [row.member for row in rows], rows
    check_rows(rows, None, low, high)
    low, rows, high = timed(board.after, 30, score, member=name, kind="ORDINAL")
    check_rows(rows, None, low, high)
    assert all((row.scores[0], row.member) < (score, name) for row in rows), rows
    assert len(rows) == 30 or score < 30, rows
    low, rows, high = timed(board.before, 30, score, member=name, kind="ORDINAL")
    check_rows(rows, None, low, high)
    assert all((row.scores[0], row.member) > (score, name) for row in rows), rows
    assert len(rows) == 30 or score > STANDING - 32, rows
    low, rows, high = timed(board.by_score, score, score + 30, kind="ORDINAL")
    check_rows(rows, None, low, high)
    standing = [row.member for row in rows if row.member[0] == "s"]
    # Nobody who was there all the time is left out, whoever came and went meanwhile.
    expected = [f"s{other}" for other in range(score, min(score + 32, STANDING))]
    assert sorted(standing) == sorted(expected), (score, rows)


def meanwhile(url: str, is_cluster: bool, rounds: int) -> None:
    shards = Shards(url, is_cluster)
    shards.create(["a INT"], "")
    climbers = Climbers()
    climbers.fill(shards)
    board: Any = ShardedLeaderboard(shards.client, "many", SHARDS, fields=["a INT"], timeout=60)
    failed: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            climbers.climb(Shards(url, is_cluster), writer)
        except BaseException as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=[writer], daemon=True) for writer in range(WRITERS)]
    for writer in writers:
        writer.start()
    if not rounds:
        threading.Thread(target=lambda: (sys.stdin.read(), setattr(climbers, "stop", True)), daemon=True).start()
    dice = random.Random(99)
    answered = 0
    while not climbers.stop and not failed and (not rounds or answered < rounds):
        ask(board, climbers, dice)
        answered += 1
        print(f"answered {answered}", flush=True)
    climbers.stop = True
    for writer in writers:
        writer.join()
    assert not failed, failed
    # Nothing that is certain was lost.
    low, high = climbers.certain(), climbers.possible()
    for at in range(CLIMBERS):
        within(low.scores[at], board.get(f"c{at}").scores[0], high.scores[at], f"c{at}")
    within(low.members, board.count(), high.members, "members")
    assert sum(climbers.joined) > 0, "no write was acknowledged"
    print(f"done: {answered} rounds of questions, {sum(climbers.joined)} members joined", flush=True)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--cluster"]
    if words[1] == "equal":
        equal(words[0])
    else:
        meanwhile(words[0], "--cluster" in sys.argv, int(words[2]))
