"""RATE.*: limiters and leases, as values; and a limiter in memory for when the server is away."""

from __future__ import annotations

import sys
import json
import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from .call import Call, Duration, Moment, Name, Words, argument, at, done, duration, encode, flags, known, milliseconds
from .call import Pause, Steps, option, seconds
from .errors import is_outage
from .values import Grant, Held, Verdict

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Algorithm = Literal["SLIDING", "FIXED", "COUNTER", "GCRA", "CALENDAR"]
Failing = Literal["open", "closed", "local"]

# A month and a year have no fixed length; these are for a limiter in memory.
_CALENDAR = {"hour": 3600, "day": 86400, "week": 604800, "month": 2_592_000, "year": 31_536_000}
_SHORT = {"second": 1, "minute": 60}
# The same as durations, for limiters whose windows are not those of the calendar.
_WORDS = {"second": "1s", "minute": "1m", "hour": "1h", "day": "1d", "week": "7d"}
_RULE = re.compile(r"(\d+)/(?:(\d+(?:ms|[smhd]?))|(second|minute|hour|day|week|month|year))(?:/(\d+))?", re.I)


class Limits(TypedDict, total=False):
    """How a limiter counts."""

    algorithm: Algorithm
    burst: int
    offset: str


class Spend(TypedDict, total=False):
    """The options of one call. `force` counts it even if it is denied; `penalty` then closes the limiter."""

    cost: int
    force: bool
    penalty: Duration
    now: Moment


class Parsed:
    """A rule such as 100/1m, 10/1s/20 or 5/minute, as a client can understand it."""

    def __init__(self, rule: str):
        if not isinstance(rule, str):
            raise TypeError(f'a rule is text, and each an argument of its own, such as "5/1s", "100/1h": got {rule!r}')
        match = _RULE.fullmatch(rule)
        if not match or not int(match[1]):
            raise ValueError(f"a rule is limit/window, such as 100/1m, got {rule!r}")
        self.limit = int(match[1])
        word = match[3] and match[3].lower()
        self.window = milliseconds(match[2]) / 1000 if match[2] else float(_CALENDAR.get(word) or _SHORT[word])
        self.is_calendar = word in _CALENDAR
        self.has_fixed_length = word not in ("month", "year")
        self.burst = int(match[4]) if match[4] else None
        if not 0.001 <= self.window <= 366 * 86400:
            raise ValueError(f"a window is 1ms to 366d, got {rule!r}")


def check_rules(rules: Iterable[str], limits: Limits) -> None:
    """A mistake in a rule is an error at once, and does not pass for a server that does not answer."""
    known(limits, Limits)
    algorithm = limits.get("algorithm", "SLIDING").upper()
    if algorithm not in ("SLIDING", "FIXED", "COUNTER", "GCRA", "CALENDAR"):
        raise ValueError(f"algorithm is SLIDING, FIXED, COUNTER, GCRA or CALENDAR, got {algorithm!r}")
    for rule in rules:
        parsed = Parsed(rule)
        if algorithm == "CALENDAR" and not parsed.is_calendar:
            raise ValueError(f"CALENDAR takes the windows hour, day, week, month and year, got {rule!r}")
        if algorithm != "CALENDAR" and not parsed.has_fixed_length:
            raise ValueError(f"the windows month and year go with CALENDAR alone, got {rule!r}")
        if parsed.burst and algorithm != "GCRA":
            raise ValueError(f"a burst goes with GCRA alone, got {rule!r}")


def as_sent(rule: str, algorithm: str) -> str:
    """5/minute is 5/1m, and so is 5/hour unless hours are those of the calendar."""
    limit, _, rest = rule.partition("/")
    window, slash, burst = rest.partition("/")
    if algorithm != "CALENDAR":
        window = _WORDS.get(window.lower(), window)
    return f"{limit}/{window}{slash}{burst}"


def total(states: Sequence[Verdict]) -> Verdict:
    """The verdict of several rules: the longest wait, or the fewest units left."""
    denied = [state for state in states if state.limited]
    if denied:
        worst = max(denied, key=lambda state: math.inf if state.retry_after is None else state.retry_after)
    else:
        worst = min(states, key=lambda state: state.remaining)
    return replace(worst, rules=tuple(states))


def _spend(options: Spend) -> Words:
    if not options:
        return []
    known(options, Spend)
    penalty = options.get("penalty")
    words = option("COST", options.get("cost")) + flags(force=options.get("force"))
    words += option("PENALTY", None if penalty is None else duration(penalty))
    return words + at(options.get("now"), "NOW")


def _verdict(reply: Any) -> Verdict:
    limited, limit, remaining, retry, reset, rule = reply[:6]
    return Verdict(not limited, bool(limited), limit, remaining, None if retry < 0 else retry / 1000, reset / 1000, rule)


_FIELDS = ("limited", "limit", "remaining", "retry_after_ms", "reset_after_ms", "rule")


def _one_rule(reply: Any) -> Verdict:
    verdict = _verdict(reply)
    # The rule that the verdict is about is 0 while a penalty lasts.
    verdict.rules = (replace(verdict, rule=1),)
    return verdict


def _several_rules(reply: Any) -> Verdict:
    answer = json.loads(reply)
    verdict = _verdict([answer[field] for field in _FIELDS])
    verdict.rules = tuple([_verdict([rule[field] for field in _FIELDS]) for rule in answer["rules"]])
    return verdict


class LimiterCalls:
    """The commands of limiters that share their rules. Each method returns a Call."""

    def __init__(self, rules: Sequence[str], limits: Limits, prefix: str = ""):
        check_rules(rules, limits)
        self.rules = rules
        self.prefix = prefix
        self.algorithm = limits.get("algorithm", "SLIDING").upper()
        self._limits: Words = [limits["algorithm"]] if "algorithm" in limits else []
        self._limits += option("BURST", limits.get("burst")) + option("OFFSET", limits.get("offset"))
        # With several rules, each one's state.
        self._tail = encode([*(as_sent(rule, self.algorithm) for rule in rules), *self._limits])
        self._end = encode(["EACH", "JSON"]) if len(rules) != 1 else ()
        self._parse = _several_rules if self._end else _one_rule

    def key(self, key: Name) -> bytes:
        return self.prefix.encode() + argument(key)

    def _ask(self, name: str, key: Name, options: Words) -> Call[Verdict]:
        words = (self.key(key), *self._tail, *encode(options), *self._end)
        return Call(name, words, self._parse)

    def check(self, key: Name, **options: Unpack[Spend]) -> Call[Verdict]:
        """RATE.CHECK: whether this call may pass. If so, it is counted."""
        return self._ask("RATE.CHECK", key, _spend(options))

    def peek(self, key: Name, *, cost: int | None = None, now: Moment | None = None) -> Call[Verdict]:
        """RATE.PEEK: the same verdict, without counting; runs on replicas."""
        return self._ask("RATE.PEEK", key, option("COST", cost) + at(now, "NOW"))

    def refund(self, key: Name, *, cost: int | None = None, now: Moment | None = None) -> Call[Verdict]:
        """RATE.REFUND: give units back. Returns the state afterwards."""
        return self._ask("RATE.REFUND", key, option("COST", cost) + at(now, "NOW"))

    def check_all(
        self, rules: Mapping[str, str] | Sequence[tuple[Name, str]], **options: Unpack[Spend]
    ) -> Call[Verdict]:
        """RATE.ALL: several keys, each with its own rule. The call counts for all of them or for none."""
        pairs: list[tuple[Name, str]] = list(rules.items() if isinstance(rules, Mapping) else rules)
        keys: Words = [len(pairs), *(self.key(key) for key, _ in pairs)]
        words = [*keys, *(as_sent(rule, self.algorithm) for _, rule in pairs), *self._limits, *_spend(options), "EACH", "JSON"]
        return Call("RATE.ALL", encode(words), _several_rules)

    def reserve(self, key: Name, cost: int) -> Call[tuple[Verdict, int]]:
        """RATE.CHECK … STAMP: the verdict, and the time in ms at which the units count."""
        self._refuse_sliding("reserve")

        def parse(reply: Any) -> tuple[Verdict, int]:
            at = json.loads(reply)["at_ms"] if self._end else reply[6]
            return self._parse(reply), int(at)

        words = (self.key(key), *self._tail, *encode(["COST", cost, "STAMP"]), *self._end)
        return Call("RATE.CHECK", words, parse)

    def settle(self, key: Name, reserved: int, used: int, *, at_ms: int) -> Call[Verdict]:
        """RATE.SETTLE: of units that were reserved at a time, tell how many were used. Returns the state afterwards."""
        self._refuse_sliding("settle")
        words: Words = ["COST", reserved, "ACTUAL", used, "AT", at_ms]
        return self._ask("RATE.SETTLE", key, words)

    def wait(self, key: Name, timeout: Duration, *, cost: int | None = None) -> Steps[Verdict]:
        """RATE.CHECK … WAIT: take a place in the queue, and wait for it; denied at once if that takes too long.

        Who is cancelled while waiting has spent the units. Only with the algorithm GCRA.
        """
        if self.algorithm != "GCRA":
            raise ValueError(f"wait goes with the algorithm GCRA, and this limiter has {self.algorithm}")

        def parse(reply: Any) -> tuple[Verdict, float]:
            wait = json.loads(reply)["wait_ms"] if self._end else reply[6]
            return self._parse(reply), wait / 1000

        words = (self.key(key), *self._tail, *encode([*option("COST", cost), "WAIT", duration(timeout)]), *self._end)
        return self._waiting(Call("RATE.CHECK", words, parse))

    @staticmethod
    def _waiting(call: Call[tuple[Verdict, float]]) -> Steps[Verdict]:
        [result] = yield [call]
        if isinstance(result, Exception):
            raise result
        verdict: Verdict = result[0]
        if result[1]:
            yield Pause(result[1])
        return verdict

    def _refuse_sliding(self, name: str) -> None:
        if self.algorithm == "SLIDING":
            raise ValueError(f"{name} does not go with SLIDING: use GCRA, COUNTER, FIXED or CALENDAR")

    def reset(self, key: Name) -> Call[bool]:
        """RATE.RESET: delete the limiter. True if there was one."""
        return Call("RATE.RESET", (self.key(key),), bool)

    def throttle(self, key: Name, max_burst: int, count: int, period: int, quantity: int = 1) -> Call[list[int]]:
        """CL.THROTTLE, redis-cell's command, if rank.cl-throttle is on."""
        return Call("CL.THROTTLE", encode([self.key(key), max_burst, count, period, quantity]), list)


class Fallback:
    """What decides while the server is away: "open", "closed", or "local", a bounded GCRA limiter in this process."""

    def __init__(self, failing: Failing, most: int = 10_000):
        if failing not in ("open", "closed", "local"):
            raise ValueError(f"failing is 'open', 'closed' or 'local', got {failing!r}")
        self.failing = failing
        self._most = most
        self._full_at: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def verdict(
        self, error: BaseException, pairs: Sequence[tuple[bytes, str]], cost: int, burst: int | None = None
    ) -> Verdict:
        """The verdict for keys and their rules; raises the error if it is no outage."""
        if not is_outage(error):
            raise error
        rules = [Parsed(rule) for _, rule in pairs]
        if self.failing != "local":
            is_open = self.failing == "open"
            states = [
                Verdict(is_open, not is_open, rule.limit, rule.limit * is_open, 0 if is_open else 1, 0, at, self.failing)
                for at, rule in enumerate(rules, 1)
            ]
        else:
            states = self._local([key for key, _ in pairs], rules, cost, burst)
        return total(states)

    def _local(self, keys: Sequence[bytes], rules: Sequence[Parsed], cost: int, burst: int | None) -> list[Verdict]:
        now = time.monotonic()
        with self._lock:
            debts = []
            for key, rule in zip(keys, rules):
                bucket, each = rule.burst or burst or rule.limit, rule.window / rule.limit
                debt = max(0.0, self._full_at.get(b"%b %g" % (key, rule.window), 0.0) - now)
                debts.append((bucket, each, debt, debt + cost * each - bucket * each))
            passes = all(excess <= 1e-9 for *_, excess in debts)
            states = []
            for at, (key, rule, (bucket, each, debt, excess)) in enumerate(zip(keys, rules, debts), 1):
                if passes:
                    debt += cost * each
                    name = b"%b %g" % (key, rule.window)
                    self._full_at[name] = now + debt
                    self._full_at.move_to_end(name)
                fits = excess <= 1e-9
                retry = None if cost > bucket else 0.0 if fits else excess
                left = max(0, int(bucket - debt / each + 1e-9))
                states.append(Verdict(fits, not fits, bucket, left, retry, debt, at, "local"))
            while len(self._full_at) > self._most:
                self._full_at.popitem(last=False)
        return states


class Denied:
    """Calls that were denied, until they may pass: the same call need not be asked again. For at most `most` keys."""

    def __init__(self, most: int):
        if isinstance(most, bool) or most < 1:
            raise ValueError(f"remember_denied is True, or for how many keys at most, got {most!r}")
        self._most = most
        # By key, and by all words of the call: other rules and costs are other calls.
        self._until: OrderedDict[bytes, dict[tuple[bytes, ...], tuple[float, Verdict]]] = OrderedDict()
        self._lock = threading.Lock()

    def look_up(self, call: Call[Verdict]) -> Verdict | None:
        if call.name != "RATE.CHECK" or not (known := self._until.get(call.args[0])):
            return None
        until, verdict = known.get(call.args, (0.0, None))
        left = until - time.monotonic()
        if verdict is None or left <= 0:
            return None
        passed = (verdict.retry_after or 0) - left
        return replace(verdict, retry_after=left, reset_after=max(left, verdict.reset_after - passed), source="memory")

    def note(self, call: Call[Verdict], verdict: Verdict, sent: float) -> None:
        key, now = call.args[0], time.monotonic()
        with self._lock:
            if call.name != "RATE.CHECK":
                # Units came back: what was denied may pass.
                self._until.pop(key, None)
            # What would be counted although it is denied must be asked, and so must what has a clock of its own.
            elif verdict.limited and verdict.retry_after and not {b"FORCE", b"PENALTY", b"NOW"} & set(call.args[1:]):
                calls = {words: known for words, known in self._until.pop(key, {}).items() if known[0] > now}
                if len(calls) < 16:
                    calls[call.args] = (sent + verdict.retry_after, verdict)
                self._until[key] = calls
                while len(self._until) > self._most:
                    self._until.popitem(last=False)


class LeaseCalls:
    """The commands of the leases of one key. Each method returns a Call."""

    def __init__(self, key: Name, limit: int, lease: Duration):
        self.key = key
        self.limit = limit
        self.lease = duration(lease)

    def _call(self, name: str, words: Iterable[Name | float], parse: Callable[[Any], T]) -> Call[T]:
        return Call(name, encode([self.key, *words]), parse)

    def acquire(self, *, now: Moment | None = None) -> Call[Grant]:
        """RATE.ACQUIRE: a lease, if fewer than `limit` are held."""

        def parse(reply: Any) -> Grant:
            limited, limit, remaining, retry, reset, token = map(int, reply[:6])
            return Grant(not limited, bool(limited), limit, remaining, seconds(retry), reset / 1000, token)

        return self._call("RATE.ACQUIRE", [self.limit, self.lease, *at(now, "NOW")], parse)

    def renew_token(self, token: int, *, lease: Duration | None = None, now: Moment | None = None) -> Call[bool]:
        """RATE.RENEW: extend a lease, counted from now. False if it is no longer held."""
        words = [token, self.lease if lease is None else duration(lease), *at(now, "NOW")]
        return self._call("RATE.RENEW", words, bool)

    def release(self, *tokens: int) -> Call[int]:
        """RATE.RELEASE: give leases back. Returns how many were still held."""
        return self._call("RATE.RELEASE", tokens, int) if tokens else done(0)

    def held(self, *, now: Moment | None = None) -> Call[Held]:
        """RATE.HELD: how many leases are held."""
        return self._call("RATE.HELD", at(now, "NOW"), lambda reply: Held(reply[0], seconds(reply[1])))
