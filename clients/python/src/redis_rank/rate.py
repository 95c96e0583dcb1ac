"""RATE.*: limiters and leases, as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from .call import Call, Duration, Moment, Name, Number, duration, encode, flags, json_value, moment, option
from .values import Grant, Held, Verdict

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Arguments = list[Name | Number]
Algorithm = Literal["SLIDING", "FIXED", "COUNTER", "GCRA", "CALENDAR"]


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


def _now(now: Moment | None) -> Arguments:
    return option("NOW", None if now is None else moment(now))


def _spend(options: Spend) -> Arguments:
    penalty = options.get("penalty")
    words = option("COST", options.get("cost")) + flags(force=options.get("force"))
    words += option("PENALTY", None if penalty is None else duration(penalty))
    return words + _now(options.get("now"))


def _verdict(answer: dict[str, Any]) -> Verdict:
    rules = tuple(_verdict(rule) for rule in answer.pop("rules", ()))
    return Verdict(**answer, rules=rules)


def _parse(reply: Any) -> Verdict:
    return _verdict(json_value(reply))


class LimiterCalls:
    """The commands of limiters that share their rules. Each method returns a Call."""

    def __init__(self, rules: Sequence[str], limits: Limits, prefix: str = ""):
        self.rules = rules
        self.prefix = prefix
        self._limits: Arguments = [limits["algorithm"]] if "algorithm" in limits else []
        self._limits += option("BURST", limits.get("burst")) + option("OFFSET", limits.get("offset"))

    def _key(self, key: Name) -> Name:
        return self.prefix + key if isinstance(key, str) else self.prefix.encode() + key

    def _call(self, name: str, words: Iterable[Name | Number], parse: Callable[[Any], T]) -> Call[T]:
        return Call(f"RATE.{name}", encode(words), parse)

    def _ask(self, name: str, keys: Arguments, rules: Sequence[str], options: Arguments) -> Call[Verdict]:
        return self._call(name, [*keys, *rules, *self._limits, *options, "EACH", "JSON"], _parse)

    def check(self, key: Name, **options: Unpack[Spend]) -> Call[Verdict]:
        """RATE.CHECK: whether this call may pass. If so, it is counted."""
        return self._ask("CHECK", [self._key(key)], self.rules, _spend(options))

    def peek(self, key: Name, *, cost: int | None = None, now: Moment | None = None) -> Call[Verdict]:
        """RATE.PEEK: the same verdict, without counting; runs on replicas."""
        return self._ask("PEEK", [self._key(key)], self.rules, option("COST", cost) + _now(now))

    def refund(self, key: Name, *, cost: int | None = None, now: Moment | None = None) -> Call[Verdict]:
        """RATE.REFUND: give units back. Returns the state afterwards."""
        return self._ask("REFUND", [self._key(key)], self.rules, option("COST", cost) + _now(now))

    def check_all(
        self, rules: Mapping[str, str] | Sequence[tuple[Name, str]], **options: Unpack[Spend]
    ) -> Call[Verdict]:
        """RATE.ALL: several keys, each with its own rule. The call counts for all of them or for none."""
        pairs: list[tuple[Name, str]] = list(rules.items() if isinstance(rules, Mapping) else rules)
        keys: Arguments = [len(pairs), *(self._key(key) for key, _ in pairs)]
        return self._ask("ALL", keys, [rule for _, rule in pairs], _spend(options))

    def reset(self, key: Name) -> Call[bool]:
        """RATE.RESET: delete the limiter. True if there was one."""
        return self._call("RESET", [self._key(key)], bool)

    def throttle(self, key: Name, max_burst: int, count: int, period: int, quantity: int = 1) -> Call[list[int]]:
        """CL.THROTTLE, redis-cell's command, if rank.cl-throttle is on."""
        return Call("CL.THROTTLE", encode([self._key(key), max_burst, count, period, quantity]), list)


class LeaseCalls:
    """The commands of the leases of one key. Each method returns a Call."""

    def __init__(self, key: Name, limit: int, lease: Duration):
        self.key = key
        self.limit = limit
        self.lease = lease

    def _call(self, name: str, words: Iterable[Name | Number], parse: Callable[[Any], T]) -> Call[T]:
        return Call(f"RATE.{name}", encode([self.key, *words]), parse)

    def acquire(self, *, now: Moment | None = None) -> Call[Grant]:
        """RATE.ACQUIRE: a lease, if fewer than `limit` are held."""
        words = [self.limit, duration(self.lease), *_now(now)]
        return self._call("ACQUIRE", words, lambda reply: Grant(bool(reply[0]), *map(int, reply[1:])))

    def renew_token(self, token: int, *, lease: Duration | None = None, now: Moment | None = None) -> Call[bool]:
        """RATE.RENEW: extend a lease, counted from now. False if it is no longer held."""
        return self._call("RENEW", [token, duration(self.lease if lease is None else lease), *_now(now)], bool)

    def release(self, *tokens: int) -> Call[int]:
        """RATE.RELEASE: give leases back. Returns how many were still held."""
        return self._call("RELEASE", tokens, int)

    def held(self, *, now: Moment | None = None) -> Call[Held]:
        """RATE.HELD: how many leases are held."""
        return self._call("HELD", _now(now), lambda reply: Held(reply[0], None if reply[1] < 0 else reply[1]))
