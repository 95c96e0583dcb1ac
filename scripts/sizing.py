#!/usr/bin/env python3
"""Measures what docs/guides/operations.md says about memory and about calls that block the server.

    scripts/sizing.py SERVER MODULE [memory|time]

SERVER is the program of a Redis or Valkey server, MODULE the path of the module. The server is started on a unix socket,
saves nothing, and ends with the script. Memory is the growth of used_memory divided by the number of members or keys.
Times are what the server's own SLOWLOG says; a busy machine makes them longer.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time

KEYS = 100_000
MEMBERS = 1_000_000
BATCH = 1_000
HOUR = "1h"


class Server:
    def __init__(self, program, module):
        self.dir = tempfile.TemporaryDirectory()
        path = os.path.join(self.dir.name, "s")
        options = ["--port", "0", "--unixsocket", path, "--dir", self.dir.name, "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(
            [program, *options, "--slowlog-log-slower-than", "0", "--slowlog-max-len", "1", "--loadmodule", module],
            stdout=subprocess.DEVNULL)
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                if self.process.poll() is not None:
                    sys.exit("the server did not start")
                time.sleep(0.05)
        self.file = self.socket.makefile("rb")

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def all(self, commands):
        """The replies to commands, sent in batches."""
        replies, batch = [], []
        for command in commands:
            batch.append(command)
            if len(batch) == BATCH:
                replies += self.send(batch)
                batch = []
        return replies + self.send(batch)

    def send(self, batch):
        out = bytearray()
        for command in batch:
            out += b"*%d\r\n" % len(command)
            for word in command:
                word = word if isinstance(word, bytes) else str(word).encode()
                out += b"$%d\r\n%s\r\n" % (len(word), word)
        self.socket.sendall(out)
        return [self.reply() for _ in batch]

    def reply(self):
        line = self.file.readline().rstrip()
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            sys.exit(f"the server says: {rest.decode()}")
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        return rest

    def call(self, *words):
        return self.send([words])[0]

    def used(self):
        info = self.call("INFO", "memory").decode()
        return int(next(line for line in info.splitlines() if line.startswith("used_memory:")).split(":")[1])

    def settle(self):
        """Waits until what was deleted has been freed, and hash tables have their size."""
        before = self.used()
        while True:
            time.sleep(0.3)
            now = self.used()
            # The buffers of this connection come and go.
            if abs(now - before) < 4096:
                return now
            before = now

    def grows_by(self, commands):
        self.call("FLUSHALL")
        before = self.settle()
        self.all(commands)
        return self.settle() - before


def member(i):
    return f"member:{i:06}"


def board(schema, scores, n=KEYS):
    yield from ([("RANK.CREATE", "b", *schema.split())] if schema else [])
    for i in range(n):
        yield ("RANK.ADD", "b", *scores(i), member(i))


def wide(i):
    """Spread over the 64-bit integers, so that it does not fit."""
    return (i + 1) * 0x9E3779B97F4A7C15 % 2**63


def memory(server):
    def show(what, commands, n=KEYS):
        print(f"{what:<52} {server.grows_by(commands) / n:7.0f} bytes", flush=True)

    mixed = lambda i: i * 7919 % 1_000_003
    three = lambda i: (mixed(i) % 1000, i % 1000, i % 7)
    show("ZADD, a sorted set without the module's help", (("ZADD", "b", mixed(i), member(i)) for i in range(KEYS)))
    show("member: no schema", board("", lambda i: (mixed(i),)))
    show("member: plain", board("FIELD score", lambda i: (mixed(i),)))
    show("member: packed", board("FIELD a DIGITS 3 FIELD b DIGITS 3 FIELD c DIGITS 3", three))
    show("member: coded, FLOAT and a time, fits", board("FIELD score TIES FIRST", lambda i: (mixed(i),)))
    show("member: coded, three INT, fits", board("FIELD a INT FIELD b INT FIELD c INT", three))
    show("member: coded, FLOAT with many decimals and a time", board("FIELD score TIES FIRST", lambda i: (wide(i) / 1e13,)))
    show("member: coded, a 64-bit INT and a time", board("FIELD a INT TIES FIRST", lambda i: (wide(i),)))
    show("member: coded, two 64-bit INT", board("FIELD a INT FIELD b INT", lambda i: (wide(i), wide(i + 1))))
    show("member: coded, three 64-bit INT",
         board("FIELD a INT FIELD b INT FIELD c INT", lambda i: (wide(i), wide(i + 1), wide(i + 2))))
    show("attributes of a member, 30 bytes of JSON",
         (("HSET", "h", member(i), '{"name":"Ann","country":"PT"}') for i in range(KEYS)))
    for algorithm in ["FIXED", "COUNTER", "GCRA"]:
        show(f"limiter: {algorithm}", (("RATE.CHECK", f"limit:{i:06}", f"100/{HOUR}", algorithm) for i in range(KEYS)))
    show("limiter: CALENDAR", (("RATE.CHECK", f"limit:{i:06}", "100/day", "CALENDAR") for i in range(KEYS)))
    show("limiter: GCRA, two rules",
         (("RATE.CHECK", f"limit:{i:06}", "10/1m", f"100/{HOUR}", "GCRA") for i in range(KEYS)))
    for calls in [1, 10, 100]:
        keys = KEYS // calls
        show(f"limiter: SLIDING, calls in the window: {calls}",
             (("RATE.CHECK", f"limit:{i % keys:06}", f"1000/{HOUR}") for i in range(KEYS)), keys)
    show("SLIDING: one call in a log of 100,000", (("RATE.CHECK", "limit", f"100000/{HOUR}") for i in range(KEYS)))
    show("leases: a key with one lease", (("RATE.ACQUIRE", f"lock:{i:06}", 1, HOUR) for i in range(KEYS)))
    show("leases: a key with 100 leases", (("RATE.ACQUIRE", f"pool:{i % 1000:06}", 100, HOUR) for i in range(KEYS)), 1000)
    show("leases: one lease of 100,000 on a key", (("RATE.ACQUIRE", "pool", KEYS, HOUR) for i in range(KEYS)))
    show("schedule: one entry of 100,000", (("DUE.ADD", "jobs", "IN", f"{i + 3600}s", f"job:{i:06}") for i in range(KEYS)))


def times(server):
    def show(what, *words):
        server.call(*words)
        entry = server.call("SLOWLOG", "GET", 1)[0]
        print(f"{what:<66} {entry[2] / 1000:9.2f} ms", flush=True)

    def fill(schema, scores, n=MEMBERS):
        server.call("FLUSHALL")
        server.settle()
        server.all(board(schema, scores, n))

    distinct = lambda i: (i * 7919 % 1_000_003,)
    for name, schema, scores in [
        ("plain", "FIELD score", distinct),
        ("does not fit", "FIELD score INT TIES FIRST SINCE 1700000000000", lambda i: (wide(i),)),
    ]:
        fill(schema, scores)
        worst = server.call("RANK.RANGE", "b", -1, -1)[0][1]
        show(f"{name}: RANK.GET of the worst member", "RANK.GET", "b", worst)
        show(f"{name}: RANK.TOPN 1000", "RANK.TOPN", "b", 1000)
        show(f"{name}: RANK.TOPN 100000", "RANK.TOPN", "b", 100000)
        show(f"{name}: RANK.RANGE b -100 -1", "RANK.RANGE", "b", -100, -1)
        edge = server.call("RANK.RANGE", "b", 99_999, 99_999)[0][1]
        show(f"{name}: RANK.GET DENSE past 100,000 scores, the default limit", "RANK.GET", "b", edge, "DENSE")
        show(f"{name}: RANK.STATS LIMIT 0 10", "RANK.STATS", "b", "LIMIT", 0, 10)
        show(f"{name}: RANK.STATS LIMIT 900000 10", "RANK.STATS", "b", "LIMIT", 900_000, 10)
        show(f"{name}: RANK.STATS, all groups", "RANK.STATS", "b")
        some = [member(i * 1000) for i in range(1000)]
        show(f"{name}: RANK.AMONG of 1,000 members", "RANK.AMONG", "b", 1000, *some)
        show(f"{name}: RANK.SCAN, a step", "RANK.SCAN", "b", 0, "COUNT", 1_000_000)
        show(f"{name}: RANK.VERIFY, a step", "RANK.VERIFY", "b", "COUNT", 1_000_000)
        server.call("ZPOPMIN", "b")
        show(f"{name}: RANK.CREATE ADOPT", "RANK.CREATE", "b", *schema.split(), "ADOPT")
        show(f"{name}: RANK.ADD of 1,000 members", "RANK.ADD", "b",
             *(word for i in range(1000) for word in (*scores(i + 1), member(i))))
        show(f"{name}: RANK.REM of 1,000 members", "RANK.REM", "b", *(member(i * 999 + 1) for i in range(1000)))
        show(f"{name}: RANK.POP 1000", "RANK.POP", "b", 1000)
        left = server.call("RANK.COUNT", "b") - 100_000
        show(f"{name}: RANK.TRIM, 100,000 leave", "RANK.TRIM", "b", left)
        show(f"{name}: RANK.CLEAR of some 900,000", "RANK.CLEAR", "b")
    server.call("FLUSHALL")
    server.call("RANK.CREATE", "{b}", "PERIOD", "HOUR", "{b}:", "PAST", 1000)
    now = int(time.time() * 1000)
    hundred = [member(i) for i in range(100)]
    scores = [word for name in ["ann", *hundred] for word in (1, name)]
    server.all(("RANK.ADD", "{b}", "AT", now - hour * 3_600_000, *scores) for hour in range(1000))
    show("RANK.PERIODS, 1,000 periods", "RANK.PERIODS", "{b}")
    show("RANK.REM of one member, 1,000 periods", "RANK.REM", "{b}", "ann")
    show("RANK.REM of 100 members, 1,000 periods", "RANK.REM", "{b}", *hundred)
    server.call("FLUSHALL")
    server.all(("DUE.ADD", "jobs", "AT", i, f"job:{i:06}") for i in range(MEMBERS))
    show("DUE.CLAIM COUNT 10000", "DUE.CLAIM", "jobs", "COUNT", 10_000)
    show("DUE.INFO with 10,000 claimed", "DUE.INFO", "jobs")
    show("DUE.POP COUNT 10000", "DUE.POP", "jobs", "COUNT", 10_000)
    for _ in range(98):
        server.call("DUE.CLAIM", "jobs", "COUNT", 10_000, "LEASE", "1h")
    show("DUE.INFO with 980,000 claimed", "DUE.INFO", "jobs")
    show("DUE.CLAIM, the same, nothing is due", "DUE.CLAIM", "jobs")
    server.call("FLUSHALL")
    server.all(("RATE.CHECK", "limit", "100000/1h", "NOW", 1_700_000_000_000) for _ in range(100_000))
    show("RATE.CHECK SLIDING, all of 100,000 calls have ended", "RATE.CHECK", "limit", "100000/1h", "NOW", 1_700_007_200_000)
    show("RATE.RESET of it", "RATE.RESET", "limit")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    server = Server(sys.argv[1], os.path.abspath(sys.argv[2]))
    try:
        lines = server.call("INFO", "server").decode().splitlines()
        print(*(line for line in lines if line.startswith(("redis_version", "valkey_version"))))
        for measure in {"memory": [memory], "time": [times]}.get("".join(sys.argv[3:4]), [memory, times]):
            measure(server)
    finally:
        server.stop()
