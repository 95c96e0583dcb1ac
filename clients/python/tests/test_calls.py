"""What is sent, word by word, for each command of the module."""

import os
import time
import unittest
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from support import Case

import redis_rank.board
from redis_rank import Claim, Period, call
from redis_rank.board import BoardCalls
from redis_rank.due import ScheduleCalls
from redis_rank.rate import LeaseCalls, LimiterCalls
from redis_rank.call import READS
from redis_rank.shards import ShardedCalls

# With hiredis some replies are read as arrays; what is sent otherwise is the same.
_with_hiredis, redis_rank.board.HIREDIS_AVAILABLE = redis_rank.board.HIREDIS_AVAILABLE, False  # type: ignore[attr-defined]
board = BoardCalls("b", {})
declared = BoardCalls("{b}", {
    "fields": ["gold DIGITS 3", "time ASC INT"], "ties": "FIRST S", "keep": 9, "update": "BEST", "data": "{b}:d",
    "owned": True, "periods": [Period("day", "{b}:day:", 7), Period("EVERY 14d FROM 1767225600000", "{b}:season:")],
    "offset": "+09:00",
})  # fmt: skip
limits = LimiterCalls(["5/1s", "100/1h"], {"algorithm": "GCRA"}, "l:")
lease = LeaseCalls("k", 3, 30)
due = ScheduleCalls("s")
paid = ScheduleCalls("s", data="h")
sharded = ShardedCalls("game", 2, {}, 1)
noon = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)

CALLS = {
    "RANK.CREATE {b} FIELD gold DIGITS 3 FIELD time ASC INT TIES FIRST S KEEP 9 UPDATE BEST DATA {b}:d OWNED "
    "PERIOD day {b}:day: PAST 7 PERIOD EVERY 14d FROM 1767225600000 {b}:season: OFFSET +09:00": declared.create(),
    "RANK.CREATE b ASC ADOPT": BoardCalls("b", {"order": "ASC"}).create(adopt=True),
    "RANK.CREATE b TIES FIRST SINCE 1767268800000 ADOPT": BoardCalls("b", {"ties": "FIRST", "since": noon}).create(adopt=True),
    "RANK.CREATE b TIES LAST SINCE 0": BoardCalls("b", {"ties": "LAST", "since": 0}).create(),
    "RANK.CREATE b LIKE other": board.create_like("other"),
    "RANK.ADD {b} BOARD 2 5 * ann": declared.add("ann", {"gold": 5}),
    "RANK.ADD {b} BOARD 2 WITHRANK NX 5 7 ann": declared.add_ranked("ann", (5, 7), nx=True),
    "RANK.INCR {b} BOARD 2 1 0 ann": declared.incr("ann", (1, 0)),
    "RANK.LOAD {b} BOARD 2 {}": declared.load(["{}"]),
    "RANK.SCORE b ann PERIOD day -1": board.score("ann", period=("day", -1)),
    "RANK.COUNT b 1 5 PERIOD day": board.count(1, 5, period="day"),
    "RANK.PERCENTILE b ann PERIOD day": board.percentile("ann", period="day"),
    "RANK.SCOREAT b 50 PERIOD day": board.score_at(50, period="day"),
    "RANK.FORSCORE b 5 PERIOD day": board.for_score(5, period="day"),
    "RANK.ALTER b UPDATE BEST NOKEEP NODATA NOPERIOD day": board.alter(keep=None, update="BEST", data=None, drop_periods=["day"]),
    "RANK.ALTER b KEEP 5 DATA h OWNED PERIOD week w:": board.alter(keep=5, data="h", owned=True, periods=[Period("week", "w:")]),
    "RANK.INFO b": board.info(),
    "RANK.CLEAR b": board.clear(),
    "RANK.ROTATE b old DATA h": board.rotate("old", data="h"),
    "RANK.VERIFY b REPAIR CURSOR 7 COUNT 10": board.verify(repair=True, cursor="7", count=10),
    "RANK.PERIODS b day NOW 1767268800000": board.periods("day", now=noon),
    "RANK.ADD b NX KEEP 3 CH AT 1767268800000 5 ann": board.add("ann", 5, nx=True, keep=3, ch=True, at=noon),
    "RANK.ADD b 5 6.5 ann -1 2 bob": board.add_many({"ann": (5, 6.5), "bob": (-1, 2)}),
    'RANK.ADD b WITHRANK PERIOD day BEST DATA {"x":"é"} 5 ann': board.add_ranked("ann", 5, period="day", update="BEST", data={"x": "é"}),
    "RANK.ADD b WITHRANK XX 5 ann": board.add_many_ranked({"ann": 5}, xx=True),
    "RANK.ADD b BEST * 6.5 * ann 1 * 2 bob": board.add_many({"ann": (None, 6.5, None), "bob": [1, None, 2]}, update="BEST"),
    "RANK.ADD b WITHRANK 5 * ann": board.add_ranked("ann", (5, None)),
    "RANK.MULTISET b 5 6 ann": board.multiset({"ann": (5, 6)}),
    "RANK.INCR b AT 9 1 2 ann": board.incr("ann", (1, 2), at=0.009),
    "RANK.INCR b WITHRANK PERIOD day 1 ann": board.incr_ranked("ann", 1, period="day"),
    "RANK.REM b ann bob": board.remove("ann", "bob"),
    "RANK.TRIM b 5": board.trim(5),
    "RANK.TRIM b 5 RETURN": board.trim_returning(5),
    "RANK.POP b 2 WORST ORDINAL WITHDATA WITHTIME JSON": board.pop(2, worst=True, kind="ORDINAL", data=True, time=True),
    "RANK.LOAD b NX {} {}": board.load(["{}", "{}"], nx=True),
    "RANK.GET b ann PERIOD day -1 JSON": board.get("ann", period=("day", -1)),
    "RANK.SCORE b ann": board.score("ann"),
    "RANK.QUERY b ann LIMIT 0 5 DENSE JSON": board.query("ann", limit=(0, 5), kind="DENSE"),
    "RANK.STATS b LIMIT 0 5 JSON": board.stats(limit=(0, 5)),
    "RANK.TOPN b 5 PERIOD day ASC JSON": board.top(5, period="day", order="ASC"),
    "RANK.RANGE b 1 -1 JSON": board.range(1, -1),
    "RANK.PAGE b 2 10 JSON": board.page(2, 10),
    "RANK.AROUND b ann 2 FILL JSON": board.around("ann", 2, fill=True),
    "RANK.BYSCORE b (5 inf LIMIT 0 3 JSON": board.by_score("(5", float("inf"), limit=(0, 3)),
    "RANK.AMONG b 2 ann bob JSON": board.among(["ann", "bob"]),
    "RANK.AFTER b 5 7 AT 9 MEMBER ann WITHTIME JSON": board.after(5, 7, at=0.009, member="ann", time=True),
    "RANK.BEFORE b 5 7 8 JSON": board.before(5, (7, 8)),
    "RANK.SCAN b 0 COUNT 10 WITHTIME WITHDATA JSON": board.scan(count=10, time=True, data=True),
    "RANK.SCAN b x JSON": board.scan_lines("x"),
    "RANK.COUNT b": board.count(),
    "RANK.COUNT b -inf 5": board.count(high=5),
    "RANK.FORSCORE b 5 ORDINAL AT 9 MEMBER ann": board.for_score(5, kind="ORDINAL", at=0.009, member="ann"),
    "RANK.PERCENTILE b ann": board.percentile("ann"),
    "RANK.SCOREAT b 99.5": board.score_at(99.5),
    "RANK.SETDATA b ann NX name Ann": board.set_data("ann", {"name": "Ann"}, nx=True),
    'RANK.PUTDATA b ann {"age":7}': board.put_data("ann", {"age": 7}),
    "RANK.GETDATA b ann": board.get_data("ann"),
    "RANK.GETDATA b ann name": board.get_attributes("ann", "name"),
    "RANK.DELDATA b ann name": board.del_data("ann", "name"),
    "RATE.CHECK l:ann 5/1s 100/1h GCRA COST 2 FORCE PENALTY 300000ms NOW 9 EACH JSON": limits.check("ann", cost=2, force=True, penalty="5m", now=0.009),
    "RATE.PEEK l:ann 5/1s 100/1h GCRA COST 2 EACH JSON": limits.peek("ann", cost=2),
    "RATE.REFUND l:ann 5/1s 100/1h GCRA EACH JSON": limits.refund("ann"),
    "RATE.ALL 2 l:ann l:all 5/1s 9/1s GCRA EACH JSON": limits.check_all({"ann": "5/1s", "all": "9/1s"}),
    "RATE.CHECK l:ann 5/1s 100/1h GCRA COST 9 STAMP EACH JSON": limits.reserve("ann", 9),
    "RATE.SETTLE l:ann 5/1s 100/1h GCRA COST 9 ACTUAL 7 AT 5 EACH JSON": limits.settle("ann", 9, 7, at_ms=5),
    "CL.THROTTLE l:ann 15 30 60 1": limits.throttle("ann", 15, 30, 60),
    "RANK.SHARDS game 2": sharded.shards(),
    "RANK.SHARD game 2 ann": sharded.shard("ann"),
    "RATE.CHECK k 5/1m 9/1h 7/1d 3/7d EACH JSON": LimiterCalls(["5/minute", "9/HOUR", "7/day", "3/week"], {}).check("k"),
    "RATE.CHECK k 5/1s/9 GCRA": LimiterCalls(["5/second/9"], {"algorithm": "GCRA"}).check("k"),
    "RATE.CHECK k 5/day CALENDAR": LimiterCalls(["5/day"], {"algorithm": "CALENDAR"}).check("k"),
    "RATE.RESET l:ann": limits.reset("ann"),
    "RATE.ACQUIRE k 3 30000ms": lease.acquire(),
    "RATE.RENEW k 7 60000ms": lease.renew_token(7, lease=timedelta(minutes=1)),
    "RATE.RELEASE k 7 8": lease.release(7, 8),
    "RATE.HELD k NOW 9": lease.held(now=0.009),
    "DUE.ADD s NX AT 1767268800000 a b": due.add("a", "b", at=noon, nx=True),
    "DUE.ADD s XX IN 500ms a": due.add("a", after=0.5, xx=True),
    "DUE.CLAIM s COUNT 5 LEASE 10000ms ATTEMPTS 3 DEAD d BLOCK 0ms NOW 9": due.claim(5, lease="10s", attempts=3, dead="d", block=0, now=0.009),
    "DUE.POP s COUNT 5 BLOCK 1000ms": due.pop(5, block=1),
    'DUE.ADD s DATA h {"to":["é",null]} IN 0ms a': paid.add("a", after=0, data={"to": ["é", None]}),
    'DUE.ADD s DATA h "text" AGAIN a': paid.again("a", data="text"),
    "DUE.ADD s DATA h text IN 0ms a": ScheduleCalls("s", data="h", payload=str).add("a", after=0, data="text"),
    "DUE.CLAIM s ATTEMPTS 3 DEAD d RATE l 5/1m GCRA": ScheduleCalls("s", dead="d").claim(attempts=3, rate=("l", "5/1m", "GCRA")),
    "DUE.ACK s DATA h AT 1767268800000 7 a": paid.ack(Claim("a", 7, 1, 0), at=noon),
    "DUE.ACK s IN 60000ms 7 a": due.ack(Claim("a", 7, 1, 0), after="1m"),
    "DUE.ADD s AGAIN a b": due.again("a", "b"),
    "DUE.CLAIM s DATA h": paid.claim(),
    "DUE.POP s DATA h": paid.pop(),
    "DUE.ACK s DATA h 7 a": paid.ack(Claim("a", 7, 1, 0)),
    "DUE.ACK s 7 a 8 b": due.ack(Claim("a", 7, 1, 0), Claim("b", 8, 1, 0)),
    "DUE.MOVE s IN 60000ms 7 a": due.move(Claim("a", 7, 1, 0), after="1m"),
    "DUE.INFO s": due.info(),
}  # fmt: skip
redis_rank.board.HIREDIS_AVAILABLE = _with_hiredis  # type: ignore[attr-defined]


class Calls(unittest.TestCase):
    def test_every_word(self) -> None:
        for words, made in CALLS.items():
            with self.subTest(words):
                self.assertEqual(b" ".join([made.name.encode(), *made.args]).decode(), words)

    def test_what_is_no_number_or_name_is_refused(self) -> None:
        for value in (True, None, object(), "50", b"50"):
            with self.subTest(value=value), self.assertRaises(TypeError):
                board.add("ann", value)  # type: ignore[arg-type]
        with self.assertRaises(ValueError):
            due.add("a")

    def test_messages_say_what_to_pass(self) -> None:
        mistakes: dict[str, Any] = {
            "fields= takes a list, got 'gold INT'": lambda: BoardCalls("b", {"fields": "gold INT"}),
            "expected an int or a float": lambda: board.add("ann", Decimal("1.5")),  # type: ignore[arg-type]
            "or one for each field, got Decimal": lambda: board.for_score(Decimal("1.5")),  # type: ignore[arg-type]
            "each an argument of its own": lambda: LimiterCalls([["5/1s"]], {}),  # type: ignore[list-item]
            "got 5: convert it|expected a str": lambda: board.score(None),  # type: ignore[arg-type]
            "attempts= and dead= go together": lambda: due.claim(attempts=3),
            "a time is a datetime or Unix time in seconds": lambda: due.add("a", at=1767268800000),
        }
        for message, make in mistakes.items():
            with self.subTest(message), self.assertRaisesRegex((TypeError, ValueError), message):
                make()

    def test_a_datetime_without_a_zone_is_local_time(self) -> None:
        naive = datetime(2026, 7, 1, 12)
        self.assertEqual(call.moment(naive), naive.timestamp() * 1000)
        self.assertEqual(call.moment(naive), call.moment(naive.astimezone(timezone.utc)))
        zone = os.environ.get("TZ")
        try:
            # Not a name such as Asia/Tokyo: a machine may have no time zones.
            os.environ["TZ"] = "JST-9"
            time.tzset()
            self.assertEqual(call.moment(naive), datetime(2026, 7, 1, 3, tzinfo=timezone.utc).timestamp() * 1000)
        finally:
            os.environ.pop("TZ") if zone is None else os.environ.update(TZ=zone)
            time.tzset()


class Completeness(Case):
    def test_each_command_of_the_module_has_a_method(self) -> None:
        listed = {call.text(name).upper() for name in self.redis.execute_command("COMMAND LIST FILTERBY MODULE rank")}
        names = {made.name for made in CALLS.values()}
        self.assertLessEqual(listed, names)

    def test_reads_are_what_the_server_calls_so(self) -> None:
        listed = self.redis.execute_command("COMMAND LIST FILTERBY MODULE rank")
        for name in map(call.text, listed):
            [info] = self.redis.execute_command("COMMAND INFO", name)
            with self.subTest(name):
                self.assertEqual("readonly" in map(call.text, info[2]), name.upper() in READS)
